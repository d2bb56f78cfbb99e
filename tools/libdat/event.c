// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * event.c - translate events of the ring into DAT_EVENTs
 *
 * A connection request creates the entry of its CR in the table. A connection
 * event with private data asks the kernel for the data.
 */
#include <string.h>

#include "libdat.h"

/**
 * libdat_status_to_user - translate the status of a completion
 * @status: the kernel's
 *
 * DAT 2.0 has one more status: a local memory operation failed.
 *
 * Return: a status of DAT 1.2.
 */
DAT_DTO_COMPLETION_STATUS libdat_status_to_user(__u32 status)
{
	return status <= DAT_RMR_OPERATION_FAILED ?
		       (DAT_DTO_COMPLETION_STATUS)status :
		       DAT_RMR_OPERATION_FAILED;
}

static void dto_to_user(DAT_DTO_COMPLETION_EVENT_DATA *out,
			const struct dat_dev_event *in)
{
	out->ep_handle = libdat_to_user(in->handle);
	out->user_cookie.as_64 = in->cookie;
	out->status = libdat_status_to_user(in->status);
	out->transfered_length = in->length;
}

static void rmr_bind_to_user(DAT_RMR_BIND_COMPLETION_EVENT_DATA *out,
			     const struct dat_dev_event *in)
{
	out->rmr_handle = libdat_to_user(in->handle);
	out->user_cookie.as_64 = in->cookie;
	out->status = libdat_status_to_user(in->status);
}

/*
 * Add the CR to the table. The program gets the handle from this event, so no
 * other thread can have freed the CR. Without memory dat_cr_query() fails.
 */
static void cr_arrival_to_user(DAT_CR_ARRIVAL_EVENT_DATA *out,
			       const struct dat_dev_event *in, __u32 ia_handle)
{
	struct libdat_cr *cr = libdat_object_alloc(LIBDAT_CR);
	struct libdat_ia *ia;

	if (cr)
		libdat_object_add(&cr->object, in->cr, ia_handle);

	out->sp_handle.psp_handle = libdat_to_user(in->handle);
	out->conn_qual = in->cookie;
	out->cr_handle = libdat_to_user(in->cr);
	ia = libdat_object_lock(ia_handle, LIBDAT_IA);
	if (ia) {
		out->local_ia_address_ptr = &ia->addr.generic;
		libdat_object_unlock(ia_handle);
	}
}

/* Copy the private data into the entry of the EP, unless the EP was freed. */
static void private_data_to_user(DAT_CONNECTION_EVENT_DATA *out,
				 const struct dat_dev_event *in)
{
	struct dat_dev_ep_query query = {
		.size = sizeof(query),
		.ep = in->handle,
	};
	struct libdat_ep *ep;

	if (libdat_call(DAT_DEV_EP_QUERY, &query) != DAT_SUCCESS ||
	    query.private_data_size > sizeof(ep->private_data))
		return;
	ep = libdat_object_lock(in->handle, LIBDAT_EP);
	if (!ep)
		return;
	memcpy(ep->private_data, query.private_data, query.private_data_size);
	out->private_data = ep->private_data;
	out->private_data_size = (DAT_COUNT)query.private_data_size;
	libdat_object_unlock(in->handle);
}

static void connection_to_user(DAT_CONNECTION_EVENT_DATA *out,
			       const struct dat_dev_event *in)
{
	out->ep_handle = libdat_to_user(in->handle);
	if (in->length && (in->number == DAT_CONNECTION_EVENT_ESTABLISHED ||
			   in->number == DAT_CONNECTION_EVENT_PEER_REJECTED))
		private_data_to_user(out, in);
}

/**
 * libdat_event_to_user - translate an event
 * @out: the program's event
 * @in: the kernel's event
 * @evd: the kernel's handle of the EVD of the event
 * @ia: the kernel's handle of the IA of the EVD
 *
 * Makes a system call only for a connection event with private data. The caller
 * must not hold a lock of the table. Thread safe. See dat_evd_dequeue(3DAT).
 */
void libdat_event_to_user(DAT_EVENT *out, const struct dat_dev_event *in,
			  __u32 evd, __u32 ia)
{
	DAT_EVENT_DATA *data = &out->event_data;

	memset(out, 0, sizeof(*out));
	out->event_number = (DAT_EVENT_NUMBER)in->number;
	out->evd_handle = libdat_to_user(evd);

	switch (in->number) {
	case DAT_DEV_IB_DTO_EVENT:
	case DAT_DTO_COMPLETION_EVENT:
		out->event_number = DAT_DTO_COMPLETION_EVENT;
		dto_to_user(&data->dto_completion_event_data, in);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		rmr_bind_to_user(&data->rmr_completion_event_data, in);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		cr_arrival_to_user(&data->cr_arrival_event_data, in, ia);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED ... DAT_CONNECTION_EVENT_UNREACHABLE:
		connection_to_user(&data->connect_event_data, in);
		break;
	case DAT_SOFTWARE_EVENT:
		data->software_event_data.pointer =
			(DAT_PVOID)(uintptr_t)in->cookie;
		break;
	default:
		data->asynch_error_event_data.dat_handle =
			libdat_to_user(in->handle);
		data->asynch_error_event_data.reason = (DAT_COUNT)in->status;
		break;
	}
	libdat_event_finish(out, in);
}

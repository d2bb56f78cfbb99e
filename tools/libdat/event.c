// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * event.c - an event of the ring as a DAT_EVENT
 */
#include <string.h>

#include "libdat.h"

/* DAT 2.0 has one status more: a local memory operation failed. */
static DAT_DTO_COMPLETION_STATUS status_out(__u32 status)
{
	return status <= DAT_RMR_OPERATION_FAILED ?
		       (DAT_DTO_COMPLETION_STATUS)status :
		       DAT_RMR_OPERATION_FAILED;
}

static void dto_out(DAT_DTO_COMPLETION_EVENT_DATA *out,
		    const struct dat_dev_event *in)
{
	out->ep_handle = libdat_handle_out(in->handle);
	out->user_cookie.as_64 = in->cookie;
	out->status = status_out(in->status);
	out->transfered_length = in->length;
}

static void rmr_bind_out(DAT_RMR_BIND_COMPLETION_EVENT_DATA *out,
			 const struct dat_dev_event *in)
{
	out->rmr_handle = libdat_handle_out(in->handle);
	out->user_cookie.as_64 = in->cookie;
	out->status = status_out(in->status);
}

/*
 * The program learns of the CR from this event, so nobody can have freed it:
 * now is the time for the memory that dat_cr_query() hands out. If there is
 * none, dat_cr_query() will say so.
 */
static void cr_arrival_out(DAT_CR_ARRIVAL_EVENT_DATA *out,
			   const struct dat_dev_event *in, __u32 ia_handle)
{
	struct libdat_cr *cr = libdat_object_alloc(LIBDAT_CR);
	struct libdat_ia *ia;

	if (cr)
		libdat_object_add(&cr->object, in->cr, ia_handle);

	out->sp_handle.psp_handle = libdat_handle_out(in->handle);
	out->conn_qual = in->cookie;
	out->cr_handle = libdat_handle_out(in->cr);
	ia = libdat_object_lock(ia_handle, LIBDAT_IA);
	if (ia) {
		out->local_ia_address_ptr = &ia->addr.generic;
		libdat_object_unlock(ia_handle);
	}
}

/* What the peer said, if the EP is still there to keep it */
static void private_data_out(DAT_CONNECTION_EVENT_DATA *out,
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

static void connection_out(DAT_CONNECTION_EVENT_DATA *out,
			   const struct dat_dev_event *in)
{
	out->ep_handle = libdat_handle_out(in->handle);
	if (in->length && (in->number == DAT_CONNECTION_EVENT_ESTABLISHED ||
			   in->number == DAT_CONNECTION_EVENT_PEER_REJECTED))
		private_data_out(out, in);
}

static void async_out(DAT_ASYNCH_ERROR_EVENT_DATA *out,
		      const struct dat_dev_event *in)
{
	out->dat_handle = libdat_handle_out(in->handle);
	out->reason = (DAT_COUNT)in->status;
}

/**
 * libdat_event_out - translate an event
 * @out: the program's
 * @in: the kernel's
 * @evd: the kernel's handle of the EVD that it came from
 * @ia: the kernel's handle of that EVD's IA
 *
 * A connection event with private data, and only that one, makes a system
 * call. Thread safe; no EVD may be locked. See dat_evd_dequeue(3DAT).
 */
void libdat_event_out(DAT_EVENT *out, const struct dat_dev_event *in,
		      __u32 evd, __u32 ia)
{
	DAT_EVENT_DATA *data = &out->event_data;

	memset(out, 0, sizeof(*out));
	out->event_number = (DAT_EVENT_NUMBER)in->number;
	out->evd_handle = libdat_handle_out(evd);

	switch (in->number) {
	case DAT_DEV_IB_DTO_EVENT:
		/* To a program that knows no immediate data it is a receive. */
		out->event_number = DAT_DTO_COMPLETION_EVENT;
		dto_out(&data->dto_completion_event_data, in);
		break;
	case DAT_DTO_COMPLETION_EVENT:
		dto_out(&data->dto_completion_event_data, in);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		rmr_bind_out(&data->rmr_completion_event_data, in);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		cr_arrival_out(&data->cr_arrival_event_data, in, ia);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		connection_out(&data->connect_event_data, in);
		break;
	case DAT_SOFTWARE_EVENT:
		data->software_event_data.pointer =
			(DAT_PVOID)(uintptr_t)in->cookie;
		break;
	default:
		async_out(&data->asynch_error_event_data, in);
		break;
	}
	libdat_event_more(out, in);
}

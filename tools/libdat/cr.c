// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cr.c - connection requests
 */
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/* Whether the CR went now or was gone before: nobody may ask for it again. */
static DAT_RETURN forget_if_gone(DAT_RETURN ret, __u32 cr)
{
	if (ret == DAT_SUCCESS ||
	    ret == DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR))
		libdat_object_drop(cr, LIBDAT_CR);
	return ret;
}

/* The EP that a CR has come with, or NO_HANDLE */
static __u32 ep_of(__u32 cr)
{
	struct dat_dev_cr_query arg = { .size = sizeof(arg), .cr = cr };

	return libdat_call(DAT_DEV_CR_QUERY, &arg) == DAT_SUCCESS ? arg.ep :
								    NO_HANDLE;
}

/*
 * The provider has made an EP for the request, of which the program may have
 * learned nothing yet. It is the provider's as long as it is not accepted.
 */
static void learn_ep(struct libdat_foreign *cr)
{
	DAT_CR_PARAM param = { .local_ep_handle = DAT_HANDLE_NULL };

	if (FOREIGN_CALL(cr, cr_query_func, cr->handle,
			 DAT_CR_FIELD_LOCAL_EP_HANDLE, &param) == DAT_SUCCESS)
		libdat_foreign_learn(cr, param.local_ep_handle,
				     DAT_HANDLE_TYPE_EP);
}

/**
 * dat_cr_query - who wants to connect, and what they say
 * @cr_handle: the CR
 * @cr_param_mask: what is wanted; all is filled in
 * @cr_param: out; what it points to is good until the CR has been accepted or
 *	rejected, or the IA closed
 *
 * Thread safe. See dat_cr_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES if there was no memory when the CR arrived.
 */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
			DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	struct dat_dev_cr_query arg = {
		.size = sizeof(arg),
		.cr = libdat_handle_in(cr_handle),
	};
	struct libdat_foreign foreign;
	struct libdat_cr *cr;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, cr_handle, DAT_HANDLE_TYPE_CR)) {
		ret = FOREIGN_CALL(&foreign, cr_query_func, cr_handle,
				   cr_param_mask, cr_param);
		if (ret == DAT_SUCCESS &&
		    (cr_param_mask & DAT_CR_FIELD_LOCAL_EP_HANDLE))
			libdat_foreign_learn(&foreign,
					     cr_param->local_ep_handle,
					     DAT_HANDLE_TYPE_EP);
		return ret;
	}
	if (cr_param_mask & ~DAT_CR_FIELD_ALL)
		return BAD_ARG(2);
	if (!cr_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_CR_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return forget_if_gone(ret, arg.cr);
	if (arg.private_data_size > sizeof(cr->private_data))
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);

	cr = libdat_object_lock(arg.cr, LIBDAT_CR);
	if (!cr)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	cr->remote.dev = arg.remote_address;
	memcpy(cr->private_data, arg.private_data, arg.private_data_size);

	memset(cr_param, 0, sizeof(*cr_param));
	cr_param->remote_ia_address_ptr = &cr->remote.generic;
	cr_param->remote_port_qual = arg.remote_port;
	cr_param->private_data_size = (DAT_COUNT)arg.private_data_size;
	cr_param->local_ep_handle = libdat_handle_out(arg.ep);
	if (arg.private_data_size)
		cr_param->private_data = cr->private_data;
	libdat_object_unlock(arg.cr);
	return DAT_SUCCESS;
}

/**
 * dat_cr_accept - accept a connection request
 * @cr_handle: the CR; gone on DAT_SUCCESS
 * @ep_handle: the EP to connect; DAT_HANDLE_NULL if the request came with one
 * @private_data_size: bytes of @private_data
 * @private_data: for the peer
 *
 * Thread safe. See dat_cr_accept(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_INVALID_STATE.
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const DAT_PVOID private_data)
{
	struct dat_dev_cr_accept arg = {
		.size = sizeof(arg),
		.cr = libdat_handle_in(cr_handle),
		.ep = libdat_handle_in(ep_handle),
		.private_data_size = (__u32)private_data_size,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, cr_handle, DAT_HANDLE_TYPE_CR)) {
		if (ep_handle == DAT_HANDLE_NULL)
			learn_ep(&foreign);
		libdat_foreign_beside(&foreign, ep_handle, DAT_HANDLE_TYPE_EP,
				      DAT_INVALID_HANDLE_EP);
		return FOREIGN_FREE(&foreign, cr_accept_func, cr_handle,
				    ep_handle, private_data_size, private_data);
	}
	if (private_data_size < 0 ||
	    (size_t)private_data_size > sizeof(arg.private_data))
		return BAD_ARG(3);
	if (private_data_size && !private_data)
		return BAD_ARG(4);
	if (private_data_size)
		memcpy(arg.private_data, private_data,
		       (size_t)private_data_size);

	return forget_if_gone(libdat_call(DAT_DEV_CR_ACCEPT, &arg), arg.cr);
}

/**
 * libdat_cr_dismiss - refuse a connection request, or pass it on
 * @cmd: the ioctl that does it
 * @arg: its structure
 * @cr: the CR that it is about
 *
 * An EP that came with the request goes with it. Thread safe.
 *
 * Return: as libdat_call().
 */
DAT_RETURN libdat_cr_dismiss(unsigned long cmd, void *arg, __u32 cr)
{
	__u32 ep = ep_of(cr);
	DAT_RETURN ret = libdat_call(cmd, arg);

	if (ret == DAT_SUCCESS)
		libdat_ep_forget_if_gone(ep);
	return forget_if_gone(ret, cr);
}

/**
 * dat_cr_reject - refuse a connection request
 * @cr_handle: the CR; gone on DAT_SUCCESS
 *
 * Thread safe. See dat_cr_reject(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	struct dat_dev_free arg = {
		.size = sizeof(arg),
		.handle = libdat_handle_in(cr_handle),
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, cr_handle, DAT_HANDLE_TYPE_CR))
		return FOREIGN_END(&foreign, cr_reject_func, cr_handle);
	return libdat_cr_dismiss(DAT_DEV_CR_REJECT, &arg, arg.handle);
}

/**
 * dat_cr_handoff - pass a connection request on to another service point
 * @cr_handle: the CR; gone on DAT_SUCCESS
 * @handoff: connection qualifier that somebody on this host listens on
 *
 * Thread safe. See dat_cr_handoff(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER if nobody
 * listens there, DAT_INSUFFICIENT_RESOURCES. If the EVD there is full the request
 * is rejected.
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	struct dat_dev_cr_handoff arg = {
		.size = sizeof(arg),
		.cr = libdat_handle_in(cr_handle),
		.conn_qual = handoff,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, cr_handle, DAT_HANDLE_TYPE_CR))
		return FOREIGN_END(&foreign, cr_handoff_func, cr_handle,
				   handoff);
	return libdat_cr_dismiss(DAT_DEV_CR_HANDOFF, &arg, arg.cr);
}

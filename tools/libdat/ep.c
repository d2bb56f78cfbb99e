// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep.c - EPs: create, query, modify, and their entries in the table
 *
 * The entry of an EP has the memory of its addresses and private data. It also
 * has the completion flags, because an EP that feeds an EVD without notification
 * changes how libdat looks for events (see libdat_evd_unnotified()).
 */
#include <string.h>

#include "libdat.h"

/* Add @count EPs like @ep to the EVDs that @ep feeds without notification. */
static void count_unnotified(const struct libdat_ep *ep, int count)
{
	libdat_evd_unnotified(ep->recv_evd, ep->recv_flags, count);
	libdat_evd_unnotified(ep->request_evd, ep->request_flags, count);
}

static void set_evds(struct libdat_ep *ep, __u32 recv_evd, __u32 request_evd,
		     const struct dat_dev_ep_attr *attr)
{
	ep->recv_evd = recv_evd;
	ep->recv_flags = attr->recv_completion_flags;
	ep->request_evd = request_evd;
	ep->request_flags = attr->request_completion_flags &
			    DAT_COMPLETION_UNSIGNALLED_FLAG;
}

/**
 * libdat_ep_create_common - create an EP with or without an SRQ
 * @ia_handle: the IA
 * @pz_handle: the PZ
 * @recv_evd_handle: EVD of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD of requests, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD of connection events, or DAT_HANDLE_NULL
 * @srq: the kernel's handle of the SRQ, or NO_HANDLE
 * @attr: attributes, or NULL; 0 in a field asks for the default
 * @bad_attr: return value for bad attributes; @ep_handle is the next argument
 * @ep_handle: out
 *
 * Thread safe. See dat_ep_create(3DAT).
 *
 * Return: as dat_ep_create().
 */
DAT_RETURN libdat_ep_create_common(DAT_IA_HANDLE ia_handle,
				   DAT_PZ_HANDLE pz_handle,
				   DAT_EVD_HANDLE recv_evd_handle,
				   DAT_EVD_HANDLE request_evd_handle,
				   DAT_EVD_HANDLE connect_evd_handle,
				   __u32 srq, const DAT_EP_ATTR *attr,
				   DAT_RETURN bad_attr,
				   DAT_EP_HANDLE *ep_handle)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = libdat_to_kernel(ia_handle),
		.pz = libdat_to_kernel(pz_handle),
		.recv_evd = libdat_to_kernel(recv_evd_handle),
		.request_evd = libdat_to_kernel(request_evd_handle),
		.connect_evd = libdat_to_kernel(connect_evd_handle),
		.has_attr = attr ? 1 : 0,
		.srq = srq,
	};
	struct libdat_ep *ep;
	DAT_RETURN ret;

	if (attr && !libdat_ep_attr_to_kernel(&arg.attr, attr,
					      DAT_EP_FIELD_EP_ATTR_ALL))
		return bad_attr;
	if (!ep_handle)
		return bad_attr + 1;
	ep = libdat_object_alloc(LIBDAT_EP);
	ret = libdat_object_call(&ep->object, DAT_DEV_EP_CREATE, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	set_evds(ep, arg.recv_evd, arg.request_evd, &arg.attr);
	count_unnotified(ep, 1);
	/* Last, because another thread may free the EP from now on. */
	libdat_object_add(&ep->object, arg.ep, arg.ia);
	*ep_handle = libdat_to_user(arg.ep);
	return DAT_SUCCESS;
}

/*
 * Find the entry of an existing EP and lock it. Creates the entry of an EP that
 * the kernel created for a connection request.
 */
static struct libdat_ep *find_or_add(__u32 handle, __u32 ia)
{
	struct libdat_ep *ep = libdat_object_lock(handle, LIBDAT_EP);

	if (ep)
		return ep;
	ep = libdat_object_alloc(LIBDAT_EP);
	if (!ep)
		return NULL;
	libdat_object_add(&ep->object, handle, ia);
	return libdat_object_lock(handle, LIBDAT_EP);
}

/**
 * libdat_ep_param_to_user - translate the result of DAT_DEV_EP_QUERY
 * @out: the program's parameters; the addresses are valid until the EP is freed
 * @in: the kernel's parameters
 *
 * Without memory for an entry the addresses are NULL. Thread safe.
 */
void libdat_ep_param_to_user(DAT_EP_PARAM *out,
			     const struct dat_dev_ep_query *in)
{
	struct libdat_ep *ep;

	memset(out, 0, sizeof(*out));
	out->ia_handle = libdat_to_user(in->ia);
	out->ep_state = (DAT_EP_STATE)in->state;
	out->local_port_qual = in->local_port;
	out->remote_port_qual = in->remote_port;
	out->pz_handle = libdat_to_user(in->pz);
	out->recv_evd_handle = libdat_to_user(in->recv_evd);
	out->request_evd_handle = libdat_to_user(in->request_evd);
	out->connect_evd_handle = libdat_to_user(in->connect_evd);
	out->srq_handle = libdat_to_user(in->srq);
	libdat_ep_attr_to_user(&out->ep_attr, &in->attr);

	ep = find_or_add(in->ep, in->ia);
	if (ep) {
		ep->local.dev = in->local_address;
		ep->remote.dev = in->remote_address;
		out->local_ia_address_ptr = &ep->local.generic;
		out->remote_ia_address_ptr = &ep->remote.generic;
		libdat_object_unlock(in->ep);
	}
}

#if DAT_VERSION_MAJOR < 2
#define DAT_EP_FIELD_COMM	0
#endif

/* DAT 2.0, and so the kernel, has one more field after the state, which cannot be modified. */
static __u64 mask_to_kernel(DAT_EP_PARAM_MASK mask)
{
	const DAT_EP_PARAM_MASK first = DAT_EP_FIELD_IA_HANDLE |
					DAT_EP_FIELD_EP_STATE;
	const DAT_EP_PARAM_MASK moved =
		DAT_EP_FIELD_COMM | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR |
		DAT_EP_FIELD_LOCAL_PORT_QUAL |
		DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR |
		DAT_EP_FIELD_REMOTE_PORT_QUAL | DAT_EP_FIELD_PZ_HANDLE |
		DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
		DAT_EP_FIELD_CONNECT_EVD_HANDLE | DAT_EP_FIELD_SRQ_HANDLE;

	return (mask & first) | (mask & moved) << (DAT_VERSION_MAJOR < 2) |
	       (mask & DAT_EP_FIELD_EP_ATTR_ALL);
}

/* The EP may feed other EVDs now, or have other completion flags. */
static void refresh(__u32 handle)
{
	struct dat_dev_ep_query arg = { .size = sizeof(arg), .ep = handle };
	struct libdat_ep *ep, old, new;

	if (libdat_call(DAT_DEV_EP_QUERY, &arg) != DAT_SUCCESS)
		return;
	ep = find_or_add(handle, arg.ia);
	if (!ep)
		return;
	old = *ep;
	set_evds(ep, arg.recv_evd, arg.request_evd, &arg.attr);
	new = *ep;
	libdat_object_unlock(handle);
	count_unnotified(&new, 1);
	count_unnotified(&old, -1);
}

DAT_RETURN libdat_ep_modify(DAT_EP_HANDLE ep_handle,
			    DAT_EP_PARAM_MASK ep_param_mask,
			    const DAT_EP_PARAM *ep_param)
{
	struct dat_dev_ep_modify arg = {
		.size = sizeof(arg),
		.ep = libdat_to_kernel(ep_handle),
		.mask = mask_to_kernel(ep_param_mask),
	};
	DAT_RETURN ret;

	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return BAD_ARG(2);
	if (!ep_param)
		return BAD_ARG(3);
	arg.pz = libdat_to_kernel(ep_param->pz_handle);
	arg.recv_evd = libdat_to_kernel(ep_param->recv_evd_handle);
	arg.request_evd = libdat_to_kernel(ep_param->request_evd_handle);
	arg.connect_evd = libdat_to_kernel(ep_param->connect_evd_handle);
	if (!libdat_ep_attr_to_kernel(&arg.attr, &ep_param->ep_attr,
				      ep_param_mask))
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_EP_MODIFY, &arg);
	if (ret == DAT_SUCCESS)
		refresh(arg.ep);
	return ret;
}

/**
 * libdat_ep_remove - remove the entry of an EP that was freed
 * @handle: the kernel's handle of the EP
 *
 * Thread safe.
 */
void libdat_ep_remove(__u32 handle)
{
	struct libdat_ep copy, *ep = libdat_object_lock(handle, LIBDAT_EP);

	if (!ep)
		return;
	copy = *ep;
	libdat_object_unlock(handle);
	libdat_object_remove(handle, LIBDAT_EP);
	count_unnotified(&copy, -1);
}

/**
 * libdat_ep_remove_if_freed - a connection request ended, maybe with its EP
 * @handle: the kernel's handle of the EP of the request, or NO_HANDLE
 *
 * The kernel frees an EP that it created for a request, but none that the
 * program created. Thread safe.
 */
void libdat_ep_remove_if_freed(__u32 handle)
{
	struct dat_dev_ep_status arg = { .size = sizeof(arg), .ep = handle };

	if (handle != NO_HANDLE &&
	    libdat_call(DAT_DEV_EP_GET_STATUS, &arg) != DAT_SUCCESS)
		libdat_ep_remove(handle);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep.c - endpoints
 */
#include <string.h>

#include "libdat.h"

/**
 * dat_ep_create - make an EP
 * @ia_handle: the IA
 * @pz_handle: the PZ
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for all other completions, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @ep_attributes: wishes, or NULL; 0 in a field asks for the default
 * @ep_handle: out
 *
 * Thread safe. See dat_ep_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle,
			 DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.pz = libdat_handle_in(pz_handle),
		.recv_evd = libdat_handle_in(recv_evd_handle),
		.request_evd = libdat_handle_in(request_evd_handle),
		.connect_evd = libdat_handle_in(connect_evd_handle),
		.has_attr = ep_attributes ? 1 : 0,
	};
	struct libdat_ep *ep;
	DAT_RETURN ret;

	if (ep_attributes && !libdat_ep_attr_in(&arg.attr, ep_attributes))
		return BAD_ARG(6);
	if (!ep_handle)
		return BAD_ARG(7);

	ep = libdat_object_alloc(LIBDAT_EP);
	if (!ep)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);

	ret = libdat_call(DAT_DEV_EP_CREATE, &arg);
	if (ret != DAT_SUCCESS) {
		libdat_object_discard(&ep->object);
		return ret;
	}

	ep->recv_evd = arg.recv_evd;
	ep->recv_flags = arg.attr.recv_completion_flags;
	ep->request_evd = arg.request_evd;
	ep->request_flags = arg.attr.request_completion_flags &
			    DAT_COMPLETION_UNSIGNALLED_FLAG;
	libdat_evd_unnotified(ep->recv_evd, ep->recv_flags, 1);
	libdat_evd_unnotified(ep->request_evd, ep->request_flags, 1);
	/* Last: from now on another thread may free it. */
	libdat_object_add(&ep->object, arg.ep, arg.ia);
	*ep_handle = libdat_handle_out(arg.ep);
	return DAT_SUCCESS;
}

/**
 * dat_ep_query - everything about an EP
 * @ep_handle: the EP
 * @ep_param_mask: what is wanted; all is filled in
 * @ep_param: out; the addresses are good until the EP is freed or the IA closed
 *
 * Thread safe. See dat_ep_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
			DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	struct dat_dev_ep_query arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
	};
	struct libdat_ep *ep;
	DAT_RETURN ret;

	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return BAD_ARG(2);
	if (!ep_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_EP_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	memset(ep_param, 0, sizeof(*ep_param));
	ep_param->ia_handle = libdat_handle_out(arg.ia);
	ep_param->ep_state = (DAT_EP_STATE)arg.state;
	ep_param->local_port_qual = arg.local_port;
	ep_param->remote_port_qual = arg.remote_port;
	ep_param->pz_handle = libdat_handle_out(arg.pz);
	ep_param->recv_evd_handle = libdat_handle_out(arg.recv_evd);
	ep_param->request_evd_handle = libdat_handle_out(arg.request_evd);
	ep_param->connect_evd_handle = libdat_handle_out(arg.connect_evd);
	libdat_ep_attr_out(&ep_param->ep_attr, &arg.attr);

	ep = libdat_object_lock(arg.ep, LIBDAT_EP);
	if (ep) {
		ep->local.dev = arg.local_address;
		ep->remote.dev = arg.remote_address;
		ep_param->local_ia_address_ptr = &ep->local.generic;
		ep_param->remote_ia_address_ptr = &ep->remote.generic;
		libdat_object_unlock(arg.ep);
	}
	return DAT_SUCCESS;
}

/**
 * dat_ep_connect - ask a remote service point for a connection
 * @ep_handle: the EP
 * @remote_ia_address: struct sockaddr_in or sockaddr_in6 of the remote IA
 * @remote_conn_qual: connection qualifier there
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes of @private_data
 * @private_data: for the peer
 * @qos: quality of service
 * @connect_flags: multipathing
 *
 * The outcome is an event. Thread safe. See dat_ep_connect(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER,
 * DAT_INVALID_ADDRESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE,
 * DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
			  DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data, DAT_QOS qos,
			  DAT_CONNECT_FLAGS connect_flags)
{
	struct dat_dev_ep_connect arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
		.timeout = timeout,
		.conn_qual = remote_conn_qual,
		.qos = qos,
		.flags = connect_flags,
		.private_data_size = (__u32)private_data_size,
	};
	DAT_RETURN ret;

	if (!remote_ia_address)
		return BAD_ARG(2);
	if (private_data_size < 0 ||
	    (size_t)private_data_size > sizeof(arg.private_data))
		return BAD_ARG(5);
	if (private_data_size && !private_data)
		return BAD_ARG(6);

	ret = libdat_addr_in(&arg.remote_address, remote_ia_address);
	if (ret != DAT_SUCCESS)
		return ret;
	if (private_data_size)
		memcpy(arg.private_data, private_data,
		       (size_t)private_data_size);

	return libdat_call(DAT_DEV_EP_CONNECT, &arg);
}

/**
 * dat_ep_disconnect - end a connection
 * @ep_handle: the EP
 * @disconnect_flags: DAT_CLOSE_GRACEFUL_FLAG lets posted DTOs finish
 *
 * Thread safe. See dat_ep_disconnect(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE.
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle,
			     DAT_CLOSE_FLAGS disconnect_flags)
{
	struct dat_dev_ep_disconnect arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
		.flags = disconnect_flags,
	};

	return libdat_call(DAT_DEV_EP_DISCONNECT, &arg);
}

/**
 * dat_ep_get_status - the state of an EP
 * @ep_handle: the EP
 * @ep_state: out
 * @recv_idle: out: DAT_TRUE if no receive is outstanding
 * @request_idle: out: DAT_TRUE if no other DTO or bind is outstanding
 *
 * Thread safe. See dat_ep_get_status(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct dat_dev_ep_status arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
	};
	DAT_RETURN ret;

	if (!ep_state)
		return BAD_ARG(2);
	if (!recv_idle)
		return BAD_ARG(3);
	if (!request_idle)
		return BAD_ARG(4);

	ret = libdat_call(DAT_DEV_EP_GET_STATUS, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	*ep_state = (DAT_EP_STATE)arg.state;
	*recv_idle = arg.recv_idle ? DAT_TRUE : DAT_FALSE;
	*request_idle = arg.request_idle ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

/**
 * dat_ep_free - free an EP
 * @ep_handle: the EP; a connection is broken
 *
 * What pointers from dat_ep_query() and from connection events point to is gone
 * afterwards. Thread safe. See dat_ep_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	__u32 handle = libdat_handle_in(ep_handle);
	struct libdat_ep copy, *ep;
	DAT_RETURN ret;

	ret = libdat_free_call(DAT_DEV_EP_FREE, ep_handle);
	if (ret != DAT_SUCCESS)
		return ret;
	ep = libdat_object_lock(handle, LIBDAT_EP);
	if (!ep)
		return ret;
	copy = *ep;
	libdat_object_unlock(handle);
	libdat_object_drop(handle, LIBDAT_EP);
	libdat_evd_unnotified(copy.recv_evd, copy.recv_flags, -1);
	libdat_evd_unnotified(copy.request_evd, copy.request_flags, -1);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_connect.c - connecting and disconnecting endpoints
 */
#include <string.h>

#include "libdat.h"
#include "foreign.h"

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
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_connect_func, ep_handle,
				    remote_ia_address, remote_conn_qual,
				    timeout, private_data_size, private_data,
				    qos, connect_flags);
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
 * dat_ep_dup_connect - connect an EP where another one is connected
 * @ep_handle: the EP
 * @ep_dup_handle: the EP that is connected
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes of @private_data
 * @private_data: for the peer
 * @qos: quality of service
 *
 * The outcome is an event. Thread safe. See dat_ep_dup_connect(3DAT).
 *
 * Return: as dat_ep_connect().
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE ep_dup_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS qos)
{
	struct dat_dev_ep_dup_connect arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
		.dup = libdat_handle_in(ep_dup_handle),
		.timeout = timeout,
		.qos = qos,
		.private_data_size = (__u32)private_data_size,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP)) {
		libdat_foreign_beside(&foreign, ep_dup_handle,
				      DAT_HANDLE_TYPE_EP, DAT_INVALID_HANDLE2);
		return FOREIGN_CALL(&foreign, ep_dup_connect_func, ep_handle,
				    ep_dup_handle, timeout, private_data_size,
				    private_data, qos);
	}
	if (private_data_size < 0 ||
	    (size_t)private_data_size > sizeof(arg.private_data))
		return BAD_ARG(4);
	if (private_data_size && !private_data)
		return BAD_ARG(5);
	if (private_data_size)
		memcpy(arg.private_data, private_data,
		       (size_t)private_data_size);

	return libdat_call(DAT_DEV_EP_DUP_CONNECT, &arg);
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
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_disconnect_func, ep_handle,
				    disconnect_flags);
	return libdat_call(DAT_DEV_EP_DISCONNECT, &arg);
}

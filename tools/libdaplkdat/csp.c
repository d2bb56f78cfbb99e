// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * csp.c - common service points, and connecting to them
 */
#include <string.h>

#include "kdat.h"

/**
 * kdat_csp_create - dat_csp_create()
 * @ia_handle: the IA
 * @comm: arguments of socket()
 * @address: of the IA, with the port; 0 for one that is free
 * @evd_handle: where connection requests go
 * @csp_handle: out
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_INVALID_ADDRESS, DAT_COMM_NOT_SUPPORTED,
 * DAT_PORT_IN_USE.
 */
DAT_RETURN kdat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			   DAT_IA_ADDRESS_PTR address,
			   DAT_EVD_HANDLE evd_handle,
			   DAT_CSP_HANDLE *csp_handle)
{
	struct dat_dev_csp_create arg = {
		.size = sizeof(arg),
		.ia = libdat_to_kernel(ia_handle),
		.evd = libdat_to_kernel(evd_handle),
	};
	struct libdat_csp *csp;
	DAT_RETURN ret;

	if (!comm)
		return BAD_ARG(2);
	if (!address)
		return BAD_ARG(3);
	if (!csp_handle)
		return BAD_ARG(5);
	arg.domain = comm->domain;
	arg.type = comm->type;
	arg.protocol = comm->protocol;
	ret = libdat_addr_to_kernel(&arg.address, address);
	if (ret != DAT_SUCCESS)
		return ret;

	/* dat_csp_query() hands out pointers. */
	csp = libdat_object_alloc(LIBDAT_CSP);
	if (!csp)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	ret = libdat_call(DAT_DEV_CSP_CREATE, &arg);
	if (ret != DAT_SUCCESS) {
		libdat_object_destroy(&csp->object);
		return ret;
	}
	csp->comm = *comm;
	csp->address.dev = arg.address;
	libdat_object_add(&csp->object, arg.csp, arg.ia);
	*csp_handle = libdat_to_user(arg.csp);
	kdat_handle_set_ia(*csp_handle, ia_handle);
	kdat_count_ia(*csp_handle, DCNT_IA_CM_LISTEN);
	return DAT_SUCCESS;
}

/**
 * kdat_csp_query - dat_csp_query()
 * @csp_handle: the CSP
 * @csp_param_mask: what is wanted; all is filled in
 * @csp_param: out; its pointers are good until the CSP is freed
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdat_csp_query(DAT_CSP_HANDLE csp_handle,
			  DAT_CSP_PARAM_MASK csp_param_mask,
			  DAT_CSP_PARAM *csp_param)
{
	struct dat_dev_csp_create arg = {
		.size = sizeof(arg),
		.csp = libdat_to_kernel(csp_handle),
	};
	struct libdat_csp *csp;
	DAT_RETURN ret;

	if (csp_param_mask & ~DAT_CSP_FIELD_ALL)
		return BAD_ARG(2);
	if (!csp_param)
		return BAD_ARG(3);
	ret = libdat_call(DAT_DEV_CSP_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	csp = libdat_object_lock(arg.csp, LIBDAT_CSP);
	if (!csp)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	csp_param->ia_handle = libdat_to_user(arg.ia);
	csp_param->evd_handle = libdat_to_user(arg.evd);
	csp_param->comm = &csp->comm;
	csp_param->address_ptr = &csp->address.generic;
	libdat_object_unlock(arg.csp);
	return DAT_SUCCESS;
}

/**
 * kdat_ep_common_connect - dat_ep_common_connect()
 * @ep_handle: the EP
 * @remote_ia_address: of the remote CSP, with its port
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes of @private_data
 * @private_data: for the peer
 *
 * The outcome is an event. Thread safe.
 *
 * Return: as dat_ep_connect().
 */
DAT_RETURN kdat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				  DAT_IA_ADDRESS_PTR remote_ia_address,
				  DAT_TIMEOUT timeout,
				  DAT_COUNT private_data_size,
				  const DAT_PVOID private_data)
{
	struct dat_dev_ep_connect arg = {
		.size = sizeof(arg),
		.ep = libdat_to_kernel(ep_handle),
		.timeout = timeout,
		.private_data_size = (__u32)private_data_size,
	};
	DAT_RETURN ret;

	if (!remote_ia_address)
		return BAD_ARG(2);
	if (private_data_size < 0 ||
	    (size_t)private_data_size > sizeof(arg.private_data))
		return BAD_ARG(4);
	if (private_data_size && !private_data)
		return BAD_ARG(5);
	ret = libdat_addr_to_kernel(&arg.remote_address, remote_ia_address);
	if (ret != DAT_SUCCESS)
		return ret;
	if (private_data_size)
		memcpy(arg.private_data, private_data,
		       (size_t)private_data_size);
	kdat_handle_set_asked(ep_handle, true);
	return kdat_count_connect(libdat_call(DAT_DEV_EP_COMMON_CONNECT, &arg),
				  ep_handle);
}

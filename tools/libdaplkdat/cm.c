// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm.c - CSPs, connecting to them, and connection requests
 *
 * The calls of DAT 2.0 that DAT 1.2 does not have or has with other arguments. The
 * answer to a connection request retires the handle of the CR.
 */
#include "kdat.h"

/**
 * kdat_csp_create - dat_csp_create()
 * @ia_handle: the IA
 * @comm: the arguments of socket()
 * @address: address of the IA, with the port; port 0 chooses a free one
 * @evd_handle: EVD of the connection requests
 * @csp_handle: out: the CSP
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

	/* dat_csp_query() returns pointers into this entry. */
	csp = libdat_object_alloc(LIBDAT_CSP);
	ret = libdat_object_call(&csp->object, DAT_DEV_CSP_CREATE, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
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
 * @csp_param_mask: the wanted fields; all are filled in
 * @csp_param: out; its pointers are valid until the CSP is freed
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
 * @remote_ia_address: address of the remote CSP, with its port
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes of @private_data
 * @private_data: private data for the peer
 *
 * An event reports the result. Thread safe.
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
	ret = libdat_private_data_to_kernel(arg.private_data, private_data_size,
					    private_data, BAD_ARG(4));
	if (ret != DAT_SUCCESS)
		return ret;
	ret = libdat_addr_to_kernel(&arg.remote_address, remote_ia_address);
	if (ret != DAT_SUCCESS)
		return ret;
	kdat_handle_set_active(ep_handle, true);
	return kdat_count_connect(libdat_call(DAT_DEV_EP_COMMON_CONNECT, &arg),
				  ep_handle);
}

/**
 * kdat_csp_free - dat_csp_free()
 * @csp_handle: the CSP
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	__u32 handle = libdat_to_kernel(csp_handle);
	DAT_RETURN ret = libdat_free_call(DAT_DEV_CSP_FREE, handle);

	if (ret == DAT_SUCCESS) {
		libdat_object_remove(handle, LIBDAT_CSP);
		kdat_handle_remove(csp_handle);
	}
	return ret;
}

/* The request has ended now, or before; or the handle is no CR. */
static DAT_RETURN end_request(DAT_CR_HANDLE cr_handle, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		kdat_handle_remove(cr_handle);
	else if (ret == DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR))
		kdat_handle_remove_if_freed(cr_handle);
	return ret;
}

/* The EP that the kernel created for a request, or that its RSP has, or DAT_HANDLE_NULL */
static DAT_EP_HANDLE ep_of(DAT_CR_HANDLE cr_handle)
{
	struct dat_dev_cr_query arg = {
		.size = sizeof(arg),
		.cr = libdat_to_kernel(cr_handle),
	};

	if (libdat_call(DAT_DEV_CR_QUERY, &arg) != DAT_SUCCESS)
		return DAT_HANDLE_NULL;
	return libdat_to_user(arg.ep);
}

/* As end_request(); the kernel may have freed the EP of the request with it. */
static DAT_RETURN end_dismissed(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		kdat_handle_remove_if_freed(ep_handle);
	return end_request(cr_handle, ret);
}

static void count_rejected(DAT_CR_HANDLE cr_handle)
{
	kdat_count_ia(cr_handle, DCNT_IA_SP_CR_REJECTED);
	kdat_count_ia(cr_handle, DCNT_IA_CM_USER_REJ_TX);
}

/**
 * kdat_cr_accept - dat_cr_accept()
 * @cr_handle: the CR, which ends on success
 * @ep_handle: the EP to connect, or DAT_HANDLE_NULL
 * @private_data_size: bytes of @private_data
 * @private_data: private data for the peer
 *
 * Thread safe.
 *
 * Return: as libdat_cr_accept().
 */
DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data)
{
	DAT_RETURN ret;

	kdat_handle_set_active(ep_handle, false);
	ret = libdat_cr_accept(cr_handle, ep_handle, private_data_size,
			       private_data);
	if (ret == DAT_SUCCESS) {
		kdat_count_ia(cr_handle, DCNT_IA_SP_CR_ACCEPTED);
		kdat_count_ia(cr_handle, DCNT_IA_CM_REP_TX);
	}
	return end_request(cr_handle, ret);
}

/**
 * kdat_cr_reject - dat_cr_reject()
 * @cr_handle: the CR, which ends on success
 * @private_data_size: bytes of @private_data
 * @private_data: private data for the peer
 *
 * Thread safe.
 *
 * Return: as libdat_cr_reject(), DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const DAT_PVOID private_data)
{
	struct dat_dev_cr_accept arg = {
		.size = sizeof(arg),
		.cr = libdat_to_kernel(cr_handle),
		.private_data_size = (__u32)private_data_size,
	};
	DAT_EP_HANDLE ep_handle;
	DAT_RETURN ret;

	ret = libdat_private_data_to_kernel(arg.private_data, private_data_size,
					    private_data, BAD_ARG(2));
	if (ret != DAT_SUCCESS)
		return ret;
	ep_handle = ep_of(cr_handle);
	if (private_data_size)
		ret = libdat_cr_dismiss(DAT_DEV_CR_REJECT_WITH_DATA, &arg, cr_handle);
	else
		ret = libdat_cr_reject(cr_handle);
	if (ret == DAT_SUCCESS)
		count_rejected(cr_handle);
	return end_dismissed(cr_handle, ep_handle, ret);
}

/**
 * kdat_cr_handoff - dat_cr_handoff()
 * @cr_handle: the CR, which ends on success
 * @handoff: connection qualifier of another service point of this host
 *
 * Thread safe.
 *
 * Return: as libdat_cr_handoff().
 */
DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	DAT_EP_HANDLE ep_handle = ep_of(cr_handle);

	return end_dismissed(cr_handle, ep_handle, libdat_cr_handoff(cr_handle, handoff));
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * csp.c - common service points: listen on an address and port, as a socket does
 *
 * Consumers create and free CSPs in process context; a query also works in softirq. sp.c
 * has the parts shared with PSPs and RSPs.
 */
#include <linux/kernel.h>

#include "base/calls.h"
#include "cm/cm.h"
#include "dev/addr.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "queue/evd.h"

static DAT_RETURN check(const DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			const DAT_CSP_HANDLE *csp_handle)
{
	DAT_RETURN ret;

	if (!comm)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!address)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!csp_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ret = dat_comm_check(comm);
	if (ret)
		return ret;
	if (address->sa_family != comm->domain || !dat_addr_is_valid(address))
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_UNSUPPORTED);
	return DAT_SUCCESS;
}

static DAT_RETURN listen_as_socket(struct dat_sp *sp, const DAT_COMM *comm,
				   DAT_IA_ADDRESS_PTR address)
{
	struct sockaddr_storage addr = {};
	DAT_RETURN ret;

	sp->comm = *comm;
	memcpy(&addr, address, dat_addr_size(address));
	ret = dat_sp_listen(sp, &addr);
	/* A CSP reports a connection qualifier as a port. */
	if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ||
	    DAT_GET_TYPE(ret) == DAT_CONN_QUAL_UNAVAILABLE)
		ret = DAT_ERROR(DAT_PORT_IN_USE, DAT_NO_SUBTYPE);
	return ret;
}

/**
 * kdapl_csp_create - listen on an address and port, as a socket does
 * @ia_handle: the IA
 * @comm: the kind of socket: AF_INET or AF_INET6, SOCK_STREAM, 0 or
 *	IPPROTO_TCP
 * @address: an address that leads to the IA's port, of the family of @comm, and the
 *	port to listen on; port 0 for a free one
 * @evd_handle: EVD for connection requests; while it is full kdapl rejects requests
 * @csp_handle: out: the handle
 *
 * Peers connect to this address and port with dat_ep_common_connect() or
 * dat_ep_connect(). Specification: dat_csp_create(), DAT 2.0.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_ADDRESS (the address does not lead to the IA), DAT_PORT_IN_USE,
 * DAT_COMM_NOT_SUPPORTED, DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the
 * device is removed).
 */
DAT_RETURN kdapl_csp_create(DAT_IA_HANDLE ia_handle,
			    DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			    DAT_EVD_HANDLE evd_handle,
			    DAT_CSP_HANDLE *csp_handle)
{
	struct dat_object *ia_obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	might_sleep();
	ret = check(comm, address, csp_handle);
	if (ret)
		return ret;
	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ret = dat_sp_new(to_ia(ia_obj), DAT_HANDLE_TYPE_CSP, evd_handle, &sp);
	if (ret)
		goto leave;
	ret = listen_as_socket(sp, comm, address);
	if (ret)
		dat_sp_drop(sp);
	else
		*csp_handle = sp->obj.handle;
	dat_object_put(&sp->obj);
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

/**
 * kdapl_csp_query - query the parameters of a CSP
 * @csp_handle: the CSP
 * @csp_param_mask: DAT_CSP_FIELD_*; kdapl fills in all fields
 * @csp_param: out: the parameters; the pointers are valid until the CSP is
 *	freed
 *
 * The address includes the port, also if dat_csp_create() chose the port.
 * Specification: dat_csp_query(), DAT 2.0.
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_csp_query(DAT_CSP_HANDLE csp_handle,
			   DAT_CSP_PARAM_MASK csp_param_mask,
			   DAT_CSP_PARAM *csp_param)
{
	struct dat_object *obj;
	struct dat_sp *sp;

	if (csp_param_mask & ~DAT_CSP_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!csp_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get(csp_handle, DAT_HANDLE_TYPE_CSP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	sp = to_sp(obj);
	*csp_param = (struct dat_csp_param){
		.ia_handle = obj->ia->obj.handle,
		.comm = &sp->comm,
		.address_ptr = (DAT_SOCK_ADDR *)&sp->addr,
		.evd_handle = sp->evd->obj.handle,
	};
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_csp_free - stop listening, and free the CSP
 * @csp_handle: the CSP
 *
 * The consumer can still answer requests that have arrived. Specification:
 * dat_csp_free(), DAT 2.0.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_csp_free(DAT_CSP_HANDLE csp_handle)
{
	might_sleep();
	return dat_object_free(csp_handle, DAT_HANDLE_TYPE_CSP,
			       DAT_INVALID_HANDLE_CSP, DAT_NO_SUBTYPE);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rsp.c - reserved service points
 */
#include "libdat.h"
#include "foreign.h"

/**
 * dat_rsp_create - listen for one connection request
 * @ia_handle: the IA
 * @conn_qual: the connection qualifier, a port of RDMA_PS_TCP
 * @ep_handle: the EP that will be connected; DAT_HANDLE_NULL has the kernel make
 *	one
 * @evd_handle: where the connection request goes
 * @rsp_handle: out
 *
 * Thread safe. See dat_rsp_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_CONN_QUAL_IN_USE.
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle)
{
	struct dat_dev_rsp_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.evd = libdat_handle_in(evd_handle),
		.conn_qual = conn_qual,
		.ep = libdat_handle_in(ep_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		libdat_foreign_beside(&foreign, ep_handle, DAT_HANDLE_TYPE_EP,
				      DAT_INVALID_HANDLE_EP);
		libdat_foreign_beside(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD,
				      DAT_INVALID_HANDLE_EVD_CR);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_RSP, rsp_handle,
				    rsp_create_func, ia_handle, conn_qual,
				    ep_handle, evd_handle, rsp_handle);
	}
	if (!rsp_handle)
		return BAD_ARG(5);

	ret = libdat_call(DAT_DEV_RSP_CREATE, &arg);
	if (ret == DAT_SUCCESS)
		*rsp_handle = libdat_handle_out(arg.rsp);
	return ret;
}

/**
 * dat_rsp_query - everything about an RSP
 * @rsp_handle: the RSP
 * @rsp_param_mask: what is wanted; all is filled in
 * @rsp_param: out; an EP that the kernel made is DAT_HANDLE_NULL until its
 *	request has come
 *
 * Thread safe. See dat_rsp_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	struct dat_dev_rsp_create arg = {
		.size = sizeof(arg),
		.rsp = libdat_handle_in(rsp_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, rsp_handle, DAT_HANDLE_TYPE_RSP)) {
		ret = FOREIGN_CALL(&foreign, rsp_query_func, rsp_handle,
				   rsp_param_mask, rsp_param);
		if (ret == DAT_SUCCESS &&
		    (rsp_param_mask & DAT_RSP_FIELD_EP_HANDLE))
			libdat_foreign_learn(&foreign, rsp_param->ep_handle,
					     DAT_HANDLE_TYPE_EP);
		return ret;
	}
	if (rsp_param_mask & ~DAT_RSP_FIELD_ALL)
		return BAD_ARG(2);
	if (!rsp_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_RSP_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	rsp_param->ia_handle = libdat_handle_out(arg.ia);
	rsp_param->conn_qual = arg.conn_qual;
	rsp_param->evd_handle = libdat_handle_out(arg.evd);
	rsp_param->ep_handle = libdat_handle_out(arg.ep);
	return DAT_SUCCESS;
}

/**
 * dat_rsp_free - stop listening
 * @rsp_handle: the RSP
 *
 * A connection request that has arrived stays. Thread safe. See
 * dat_rsp_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, rsp_handle, DAT_HANDLE_TYPE_RSP))
		return FOREIGN_FREE(&foreign, rsp_free_func, rsp_handle);
	return libdat_free_call(DAT_DEV_RSP_FREE, rsp_handle);
}

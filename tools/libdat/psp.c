// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * psp.c - public service points
 */
#include "libdat.h"
#include "foreign.h"

/**
 * dat_psp_create - listen for connection requests
 * @ia_handle: the IA
 * @conn_qual: the connection qualifier, a port of RDMA_PS_TCP
 * @evd_handle: where connection requests go
 * @psp_flags: who makes the EPs
 * @psp_handle: out
 *
 * Thread safe. See dat_psp_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_CONN_QUAL_IN_USE, DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	struct dat_dev_psp_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.evd = libdat_handle_in(evd_handle),
		.conn_qual = conn_qual,
		.flags = psp_flags,
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		libdat_foreign_beside(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD,
				      DAT_INVALID_HANDLE_EVD_CR);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_PSP, psp_handle,
				    psp_create_func, ia_handle, conn_qual,
				    evd_handle, psp_flags, psp_handle);
	}
	if (!psp_handle)
		return BAD_ARG(5);

	ret = libdat_call(DAT_DEV_PSP_CREATE, &arg);
	if (ret == DAT_SUCCESS)
		*psp_handle = libdat_handle_out(arg.psp);
	return ret;
}

/**
 * dat_psp_free - stop listening
 * @psp_handle: the PSP
 *
 * Connection requests that have arrived stay. Thread safe. See
 * dat_psp_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, psp_handle, DAT_HANDLE_TYPE_PSP))
		return FOREIGN_FREE(&foreign, psp_free_func, psp_handle);
	return libdat_free_call(DAT_DEV_PSP_FREE, psp_handle);
}

/**
 * dat_psp_create_any - listen on a connection qualifier that nobody uses
 * @ia_handle: the IA
 * @conn_qual: out: which one that is
 * @evd_handle: where connection requests go
 * @psp_flags: who makes the EPs
 * @psp_handle: out
 *
 * Thread safe. See dat_psp_create_any(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_CONN_QUAL_UNAVAILABLE.
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	struct dat_dev_psp_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.evd = libdat_handle_in(evd_handle),
		.flags = psp_flags,
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		libdat_foreign_beside(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD,
				      DAT_INVALID_HANDLE_EVD_CR);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_PSP, psp_handle,
				    psp_create_any_func, ia_handle, conn_qual,
				    evd_handle, psp_flags, psp_handle);
	}
	if (!conn_qual)
		return BAD_ARG(2);
	if (!psp_handle)
		return BAD_ARG(5);

	ret = libdat_call(DAT_DEV_PSP_CREATE_ANY, &arg);
	if (ret == DAT_SUCCESS) {
		*conn_qual = arg.conn_qual;
		*psp_handle = libdat_handle_out(arg.psp);
	}
	return ret;
}

/**
 * dat_psp_query - everything about a PSP
 * @psp_handle: the PSP
 * @psp_param_mask: what is wanted; all is filled in
 * @psp_param: out
 *
 * Thread safe. See dat_psp_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
			 DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	struct dat_dev_psp_create arg = {
		.size = sizeof(arg),
		.psp = libdat_handle_in(psp_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, psp_handle, DAT_HANDLE_TYPE_PSP))
		return FOREIGN_CALL(&foreign, psp_query_func, psp_handle,
				    psp_param_mask, psp_param);
	if (psp_param_mask & ~DAT_PSP_FIELD_ALL)
		return BAD_ARG(2);
	if (!psp_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_PSP_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	psp_param->ia_handle = libdat_handle_out(arg.ia);
	psp_param->conn_qual = arg.conn_qual;
	psp_param->evd_handle = libdat_handle_out(arg.evd);
	psp_param->psp_flags = (DAT_PSP_FLAGS)arg.flags;
	return DAT_SUCCESS;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * psp.c - public service points
 */
#include "libdat.h"

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
	DAT_RETURN ret;

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
	return libdat_free_call(DAT_DEV_PSP_FREE, psp_handle);
}

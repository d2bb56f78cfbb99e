// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pz.c - protection zones
 */
#include "libdat.h"
#include "foreign.h"

/**
 * dat_pz_create - make a PZ
 * @ia_handle: the IA
 * @pz_handle: out
 *
 * Thread safe. See dat_pz_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct dat_dev_pz_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA))
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_PZ, pz_handle,
				    pz_create_func, ia_handle, pz_handle);
	if (!pz_handle)
		return BAD_ARG(2);

	ret = libdat_call(DAT_DEV_PZ_CREATE, &arg);
	if (ret == DAT_SUCCESS)
		*pz_handle = libdat_handle_out(arg.pz);
	return ret;
}

/**
 * dat_pz_query - which IA a PZ belongs to
 * @pz_handle: the PZ
 * @pz_param_mask: what is wanted; all is filled in
 * @pz_param: out
 *
 * Thread safe. See dat_pz_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle,
			DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	struct dat_dev_pz_create arg = {
		.size = sizeof(arg),
		.pz = libdat_handle_in(pz_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, pz_handle, DAT_HANDLE_TYPE_PZ))
		return FOREIGN_CALL(&foreign, pz_query_func, pz_handle,
				    pz_param_mask, pz_param);
	if (pz_param_mask & ~DAT_PZ_FIELD_ALL)
		return BAD_ARG(2);
	if (!pz_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_PZ_QUERY, &arg);
	if (ret == DAT_SUCCESS)
		pz_param->ia_handle = libdat_handle_out(arg.ia);
	return ret;
}

/**
 * dat_pz_free - free a PZ
 * @pz_handle: the PZ
 *
 * Thread safe. See dat_pz_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE if it is in use.
 */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, pz_handle, DAT_HANDLE_TYPE_PZ))
		return FOREIGN_FREE(&foreign, pz_free_func, pz_handle);
	return libdat_free_call(DAT_DEV_PZ_FREE, pz_handle);
}

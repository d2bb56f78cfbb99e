// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr.c - remote memory regions: windows onto local ones
 */
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/**
 * dat_rmr_create - make an RMR
 * @pz_handle: the PZ
 * @rmr_handle: out
 *
 * Thread safe. See dat_rmr_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct dat_dev_rmr_create arg = {
		.size = sizeof(arg),
		.pz = libdat_handle_in(pz_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, pz_handle, DAT_HANDLE_TYPE_PZ))
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_RMR, rmr_handle,
				    rmr_create_func, pz_handle, rmr_handle);
	if (!rmr_handle)
		return BAD_ARG(2);

	ret = libdat_call(DAT_DEV_RMR_CREATE, &arg);
	if (ret == DAT_SUCCESS)
		*rmr_handle = libdat_handle_out(arg.rmr);
	return ret;
}

/**
 * dat_rmr_query - everything about an RMR
 * @rmr_handle: the RMR
 * @rmr_param_mask: what is wanted; all is filled in
 * @rmr_param: out; lmr_triplet has a length of 0 if it is not bound
 *
 * Thread safe. See dat_rmr_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	struct dat_dev_rmr_create arg = {
		.size = sizeof(arg),
		.rmr = libdat_handle_in(rmr_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, rmr_handle, DAT_HANDLE_TYPE_RMR))
		return FOREIGN_CALL(&foreign, rmr_query_func, rmr_handle,
				    rmr_param_mask, rmr_param);
	if (rmr_param_mask & ~DAT_RMR_FIELD_ALL)
		return BAD_ARG(2);
	if (!rmr_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_RMR_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	memset(rmr_param, 0, sizeof(*rmr_param));
	rmr_param->ia_handle = libdat_handle_out(arg.ia);
	rmr_param->pz_handle = libdat_handle_out(arg.pz);
	rmr_param->lmr_triplet.lmr_context = arg.segment.lmr_context;
	rmr_param->lmr_triplet.virtual_address = arg.segment.virtual_address;
	rmr_param->lmr_triplet.segment_length = arg.segment.length;
	rmr_param->mem_priv = (DAT_MEM_PRIV_FLAGS)(arg.privileges &
						      DAT_MEM_PRIV_ALL_FLAG);
	rmr_param->rmr_context = arg.rmr_context;
	return DAT_SUCCESS;
}

/**
 * dat_rmr_bind - let a peer at a range of an LMR
 * @rmr_handle: the RMR
 * @lmr_triplet: the range; a length of 0 withdraws the one before
 * @mem_privileges: what the peer may do
 * @ep_handle: the EP that the bind is posted to
 * @user_cookie: comes back in the completion event
 * @completion_flags: how it is to be completed
 * @rmr_context: out: for the peer
 *
 * @lmr_triplet is the caller's again on return. Thread safe. See
 * dat_rmr_bind(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER,
 * DAT_INVALID_HANDLE, DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED,
 * DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION.
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	struct dat_dev_segment segment;
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RMR_BIND,
		.ep = libdat_handle_in(ep_handle),
		.flags = completion_flags,
		.num_segments = 1,
		.segments = (uintptr_t)&segment,
		.cookie = user_cookie.as_64,
		.rmr = libdat_handle_in(rmr_handle),
		.privileges = libdat_priv_in(mem_privileges),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, rmr_handle, DAT_HANDLE_TYPE_RMR)) {
		libdat_foreign_beside(&foreign, ep_handle, DAT_HANDLE_TYPE_EP,
				      DAT_INVALID_HANDLE_EP);
		return FOREIGN_CALL(&foreign, rmr_bind_func, rmr_handle,
				    lmr_triplet, mem_privileges, ep_handle,
				    user_cookie, completion_flags, rmr_context);
	}
	if (!lmr_triplet || !libdat_segment_in(&segment, lmr_triplet))
		return BAD_ARG(2);
	if (libdat_priv_is_wrong(dto.privileges))
		return BAD_ARG(3);
	if (!rmr_context)
		return BAD_ARG(7);

	ret = libdat_post(&dto);
	if (ret == DAT_SUCCESS)
		*rmr_context = dto.rmr_context;
	return ret;
}

/**
 * dat_rmr_free - free an RMR
 * @rmr_handle: the RMR
 *
 * Thread safe. See dat_rmr_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, rmr_handle, DAT_HANDLE_TYPE_RMR))
		return FOREIGN_FREE(&foreign, rmr_free_func, rmr_handle);
	return libdat_free_call(DAT_DEV_RMR_FREE, rmr_handle);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * memory.c - the calls of LMRs and RMRs that differ in DAT 2.0
 *
 * DAT 2.0 adds zero-based addresses and RMRs for one EP. Its calls have more
 * arguments, so the argument numbers in return values move.
 */
#include "kdat.h"

/* Add @places to the number of an argument from @first on. */
static DAT_RETURN move_arg(DAT_RETURN ret, DAT_RETURN_SUBTYPE first,
			   unsigned int places)
{
	if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER ||
	    DAT_GET_SUBTYPE(ret) < first ||
	    DAT_GET_SUBTYPE(ret) + places > DAT_INVALID_ARG10)
		return ret;
	return ret + places;
}

/* The privileges for the kernel, which include the type of the address */
static DAT_MEM_PRIV_FLAGS with_va_type(DAT_MEM_PRIV_FLAGS privileges,
				       DAT_VA_TYPE va_type)
{
	int flags = privileges;

	if (va_type == DAT_VA_TYPE_ZB)
		flags |= DAT_DEV_PRIV_ZERO_BASED;
	return (DAT_MEM_PRIV_FLAGS)flags;
}

static DAT_VA_TYPE va_type_out(__u32 privileges)
{
	if (privileges & DAT_DEV_PRIV_ZERO_BASED)
		return DAT_VA_TYPE_ZB;
	return DAT_VA_TYPE_VA;
}

/**
 * kdat_lmr_create - dat_lmr_create()
 * @ia_handle: the IA
 * @mem_type: DAT_MEM_TYPE_VIRTUAL, DAT_MEM_TYPE_LMR, DAT_MEM_TYPE_SHARED_VIRTUAL
 * @region_description: the memory
 * @length: bytes; ignored for DAT_MEM_TYPE_LMR
 * @pz_handle: the PZ
 * @mem_privileges: local and remote privileges
 * @va_type: DAT_VA_TYPE_VA, or DAT_VA_TYPE_ZB for addresses that start at 0
 * @lmr_handle: out
 * @lmr_context: out
 * @rmr_context: out, may be NULL
 * @registered_size: out, may be NULL
 * @registered_address: out, may be NULL
 *
 * Thread safe.
 *
 * Return: as libdat_lmr_create(); DAT_MODEL_NOT_SUPPORTED if zero-based memory
 * does not start on a page boundary.
 */
DAT_RETURN kdat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description,
			   DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			   DAT_MEM_PRIV_FLAGS mem_privileges,
			   DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle,
			   DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *registered_size,
			   DAT_VADDR *registered_address)
{
	DAT_RETURN ret;

	if (mem_type > DAT_MEM_TYPE_SHARED_VIRTUAL)
		return BAD_ARG(2);
	if (mem_privileges & DAT_DEV_PRIV_ZERO_BASED)
		return BAD_ARG(6);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return BAD_ARG(7);

	ret = libdat_lmr_create(ia_handle, mem_type, region_description, length,
				pz_handle, with_va_type(mem_privileges, va_type),
				lmr_handle, lmr_context,
				rmr_context, registered_size, registered_address);
	kdat_count_create(ret, lmr_handle, ia_handle, DCNT_IA_LMR_CREATE);
	return move_arg(ret, DAT_INVALID_ARG7, 1);
}

/**
 * kdat_lmr_query - dat_lmr_query()
 * @lmr_handle: the LMR
 * @lmr_param_mask: the wanted fields; all are filled in
 * @lmr_param: out
 *
 * Thread safe.
 *
 * Return: as libdat_lmr_query().
 */
DAT_RETURN kdat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			  DAT_LMR_PARAM_MASK lmr_param_mask,
			  DAT_LMR_PARAM *lmr_param)
{
	struct dat_dev_lmr_create arg = {
		.size = sizeof(arg),
		.lmr = libdat_to_kernel(lmr_handle),
	};
	DAT_RETURN ret = libdat_lmr_query(lmr_handle, lmr_param_mask, lmr_param);

	if (ret == DAT_SUCCESS)
		ret = libdat_call(DAT_DEV_LMR_QUERY, &arg);
	if (ret == DAT_SUCCESS)
		lmr_param->va_type = va_type_out(arg.privileges);
	return ret;
}

/**
 * kdat_rmr_create_for_ep - dat_rmr_create_for_ep()
 * @pz_handle: the PZ
 * @rmr_handle: out: an RMR that can be bound on one EP at a time
 *
 * Thread safe.
 *
 * Return: as dat_rmr_create().
 */
DAT_RETURN kdat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				  DAT_RMR_HANDLE *rmr_handle)
{
	struct dat_dev_rmr_create arg = {
		.size = sizeof(arg),
		.pz = libdat_to_kernel(pz_handle),
	};
	DAT_RETURN ret;

	if (!rmr_handle)
		return BAD_ARG(2);
	ret = libdat_call(DAT_DEV_RMR_CREATE_FOR_EP, &arg);
	if (ret == DAT_SUCCESS)
		*rmr_handle = libdat_to_user(arg.rmr);
	return kdat_count_create(ret, rmr_handle, pz_handle, DCNT_IA_RMR_CREATE);
}

/**
 * kdat_rmr_query - dat_rmr_query()
 * @rmr_handle: the RMR
 * @rmr_param_mask: the wanted fields; all are filled in
 * @rmr_param: out
 *
 * Thread safe.
 *
 * Return: as libdat_rmr_query().
 */
DAT_RETURN kdat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			  DAT_RMR_PARAM_MASK rmr_param_mask,
			  DAT_RMR_PARAM *rmr_param)
{
	struct dat_dev_rmr_create arg = {
		.size = sizeof(arg),
		.rmr = libdat_to_kernel(rmr_handle),
	};
	DAT_RETURN ret = libdat_rmr_query(rmr_handle, rmr_param_mask, rmr_param);

	if (ret == DAT_SUCCESS)
		ret = libdat_call(DAT_DEV_RMR_QUERY, &arg);
	if (ret == DAT_SUCCESS) {
		rmr_param->rmr_scope = arg.privileges & DAT_DEV_PRIV_FOR_EP ?
			DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ;
		rmr_param->va_type = va_type_out(arg.privileges);
	}
	return ret;
}

/* A zero-based bind passes the handle of the LMR, not only its context. */
static DAT_RETURN bind_zero_based(DAT_RMR_HANDLE rmr_handle, __u32 lmr,
				  const DAT_LMR_TRIPLET *lmr_triplet,
				  DAT_MEM_PRIV_FLAGS mem_privileges,
				  DAT_EP_HANDLE ep_handle,
				  DAT_RMR_COOKIE user_cookie,
				  DAT_COMPLETION_FLAGS completion_flags,
				  DAT_RMR_CONTEXT *rmr_context)
{
	struct dat_dev_segment segment;
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RMR_BIND,
		.ep = libdat_to_kernel(ep_handle),
		.flags = completion_flags,
		.num_segments = 1,
		.segments = (uintptr_t)&segment,
		.cookie = user_cookie.as_64,
		.remote_context = lmr,
		.rmr = libdat_to_kernel(rmr_handle),
		.privileges = libdat_priv_to_kernel(mem_privileges) |
			      DAT_DEV_PRIV_ZERO_BASED,
	};
	DAT_RETURN ret;

	if (!libdat_segment_to_kernel(&segment, lmr_triplet))
		return BAD_ARG(3);
	ret = libdat_post(&dto);
	if (ret == DAT_SUCCESS)
		*rmr_context = dto.rmr_context;
	return ret;
}

/**
 * kdat_rmr_bind - dat_rmr_bind()
 * @rmr_handle: the RMR
 * @lmr_handle: the LMR of @lmr_triplet
 * @lmr_triplet: the range; length 0 unbinds the RMR
 * @mem_privileges: remote privileges
 * @va_type: type of the addresses that the peer uses
 * @ep_handle: the EP that the bind is posted to
 * @user_cookie: cookie of the completion event
 * @completion_flags: completion flags
 * @rmr_context: out: context for the peer
 *
 * Thread safe.
 *
 * Return: as libdat_rmr_bind(); DAT_MODEL_NOT_SUPPORTED if a zero-based range does
 * not start on a page boundary; DAT_INVALID_HANDLE if @lmr_handle is invalid.
 */
DAT_RETURN kdat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *lmr_triplet,
			 DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
			 DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			 DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *rmr_context)
{
	__u32 lmr = libdat_to_kernel(lmr_handle);
	DAT_RETURN ret;

	if (!lmr_triplet)
		return BAD_ARG(3);
	if (mem_privileges & DAT_DEV_PRIV_ZERO_BASED)
		return BAD_ARG(4);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return BAD_ARG(5);
	if (!rmr_context)
		return BAD_ARG(9);
	/* Unbinding needs no LMR. */
	if (lmr_triplet->segment_length &&
	    (lmr == NO_HANDLE || lmr == BAD_HANDLE))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);

	if (va_type == DAT_VA_TYPE_ZB && lmr_triplet->segment_length)
		return bind_zero_based(rmr_handle, lmr, lmr_triplet,
				       mem_privileges, ep_handle, user_cookie,
				       completion_flags, rmr_context);
	ret = libdat_rmr_bind(rmr_handle, lmr_triplet, mem_privileges, ep_handle,
			      user_cookie, completion_flags, rmr_context);
	return move_arg(move_arg(ret, DAT_INVALID_ARG4, 1), DAT_INVALID_ARG2,
			1);
}

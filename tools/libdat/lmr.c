// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr.c - local memory regions
 */
#include <string.h>

#include "libdat.h"

/* One call synchronizes this many segments at most, longer arrays take more. */
#define SYNC_CHUNK	64
#define SYNC_MAX	1048576

/**
 * dat_lmr_create - pin and register memory
 * @ia_handle: the IA
 * @mem_type: DAT_MEM_TYPE_VIRTUAL, or DAT_MEM_TYPE_SO_VIRTUAL, which is the
 *	same: registered memory is strongly ordered
 * @region_description: for_va is where it begins
 * @length: bytes
 * @pz_handle: the PZ
 * @mem_privileges: who may do what
 * @lmr_handle: out
 * @lmr_context: out: for the iovs of DTOs
 * @rmr_context: out, may be NULL: for the peer; 0 without remote privileges
 * @registered_size: out, may be NULL
 * @registered_address: out, may be NULL
 *
 * Thread safe. See dat_lmr_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER,
 * DAT_INVALID_HANDLE, DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED for other
 * types of memory.
 */
DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description,
			  DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			  DAT_MEM_PRIV_FLAGS mem_privileges,
			  DAT_LMR_HANDLE *lmr_handle,
			  DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context,
			  DAT_VLEN *registered_size,
			  DAT_VADDR *registered_address)
{
	struct dat_dev_lmr_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.pz = libdat_handle_in(pz_handle),
		.mem_type = mem_type,
		.privileges = libdat_priv_in(mem_privileges),
		.length = length,
	};
	DAT_RETURN ret;

	if (!lmr_handle)
		return BAD_ARG(7);
	if (!lmr_context)
		return BAD_ARG(8);

	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_SO_VIRTUAL:
		arg.mem_type = DAT_MEM_TYPE_VIRTUAL;
		arg.address = (uintptr_t)region_description.for_va;
		break;
	case DAT_MEM_TYPE_LMR:
		arg.address =
			libdat_handle_in(region_description.for_lmr_handle);
		break;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		arg.address = (uintptr_t)
			region_description.for_shared_memory.virtual_address;
		break;
	default:
		/* The kernel gives other numbers other meanings. */
		return BAD_ARG(2);
	}

	ret = libdat_call(DAT_DEV_LMR_CREATE, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	*lmr_handle = libdat_handle_out(arg.lmr);
	*lmr_context = arg.lmr_context;
	if (rmr_context)
		*rmr_context = arg.rmr_context;
	if (registered_size)
		*registered_size = arg.registered_size;
	if (registered_address)
		*registered_address = arg.registered_address;
	return DAT_SUCCESS;
}

/**
 * dat_lmr_query - everything about an LMR
 * @lmr_handle: the LMR
 * @lmr_param_mask: what is wanted; all is filled in
 * @lmr_param: out
 *
 * Thread safe. See dat_lmr_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	struct dat_dev_lmr_create arg = {
		.size = sizeof(arg),
		.lmr = libdat_handle_in(lmr_handle),
	};
	DAT_RETURN ret;

	if (lmr_param_mask & ~DAT_LMR_FIELD_ALL)
		return BAD_ARG(2);
	if (!lmr_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_LMR_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	memset(lmr_param, 0, sizeof(*lmr_param));
	lmr_param->ia_handle = libdat_handle_out(arg.ia);
	lmr_param->mem_type = (DAT_MEM_TYPE)arg.mem_type;
	lmr_param->region_desc.for_va = (DAT_PVOID)(uintptr_t)arg.address;
	lmr_param->length = arg.length;
	lmr_param->pz_handle = libdat_handle_out(arg.pz);
	lmr_param->mem_priv = (DAT_MEM_PRIV_FLAGS)arg.privileges;
	lmr_param->lmr_context = arg.lmr_context;
	lmr_param->rmr_context = arg.rmr_context;
	lmr_param->registered_size = arg.registered_size;
	lmr_param->registered_address = arg.registered_address;
	return DAT_SUCCESS;
}

/**
 * dat_lmr_free - unregister and unpin memory
 * @lmr_handle: the LMR
 *
 * Thread safe. See dat_lmr_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE if an RMR is bound
 * to it.
 */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	return libdat_free_call(DAT_DEV_LMR_FREE, lmr_handle);
}

/* Translate up to SYNC_CHUNK triplets, of which empty ones are left out. */
static DAT_RETURN sync_chunk(struct dat_dev_lmr_sync *arg,
			     const DAT_LMR_TRIPLET *triplet, __u64 count)
{
	struct dat_dev_segment segments[SYNC_CHUNK];
	__u64 i;

	arg->segments = (uintptr_t)segments;
	arg->num_segments = 0;
	for (i = 0; i < count; i++) {
		if (!triplet[i].segment_length)
			continue;
		if (!libdat_segment_in(&segments[arg->num_segments],
				       &triplet[i]))
			return BAD_ARG(2);
		arg->num_segments++;
	}
	return libdat_call(DAT_DEV_LMR_SYNC, arg);
}

static DAT_RETURN sync_segments(DAT_IA_HANDLE ia_handle,
				const DAT_LMR_TRIPLET *local_segments,
				DAT_VLEN num_segments, __u32 direction)
{
	struct dat_dev_lmr_sync arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.direction = direction,
	};
	DAT_RETURN ret;
	__u64 count;

	if (num_segments && !local_segments)
		return BAD_ARG(2);
	if (num_segments > SYNC_MAX)
		return BAD_ARG(3);

	/* Once even without segments: the IA's handle may be invalid. */
	do {
		count = num_segments < SYNC_CHUNK ? num_segments : SYNC_CHUNK;
		ret = sync_chunk(&arg, local_segments, count);
		if (count)
			local_segments += count;
		num_segments -= count;
	} while (ret == DAT_SUCCESS && num_segments);
	return ret;
}

/**
 * dat_lmr_sync_rdma_read - make local writes visible to incoming RDMA Reads
 * @ia_handle: the IA
 * @local_segments: which memory
 * @num_segments: entries of @local_segments, up to 1048576
 *
 * Thread safe. See dat_lmr_sync_rdma_read(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	return sync_segments(ia_handle, local_segments, num_segments,
			     DAT_DEV_SYNC_READ);
}

/**
 * dat_lmr_sync_rdma_write - make incoming RDMA Writes visible to local reads
 * @ia_handle: the IA
 * @local_segments: which memory
 * @num_segments: entries of @local_segments, up to 1048576
 *
 * Thread safe. See dat_lmr_sync_rdma_write(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	return sync_segments(ia_handle, local_segments, num_segments,
			     DAT_DEV_SYNC_WRITE);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr.c - local memory regions
 */
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/* One call synchronizes this many segments at most, longer arrays take more. */
#define SYNC_CHUNK	64
#define SYNC_MAX	1048576

/* Unless the program says that it copes with it, there is no relaxed ordering. */
static __u32 ordering(DAT_IA_HANDLE ia_handle, DAT_MEM_PRIV_FLAGS privileges)
{
	__u32 handle = libdat_handle_in(ia_handle);
	struct libdat_ia *ia;
	__u32 flags = 0;

	if (privileges & DAT_MEM_PRIV_RO_DISABLE_FLAG)
		return 0;
	ia = libdat_object_lock(handle, LIBDAT_IA);
	if (!ia)
		return 0;
	if (ia->is_ro_aware)
		flags = DAT_DEV_PRIV_RELAXED;
	libdat_object_unlock(handle);
	return flags;
}

/* Where the memory is, by the type of its description */
static DAT_RETURN region_in(struct dat_dev_lmr_create *arg,
			    DAT_MEM_TYPE mem_type,
			    const DAT_REGION_DESCRIPTION *region)
{
	const DAT_SHARED_MEMORY *shared = &region->for_shared_memory;

	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_SO_VIRTUAL:
		arg->mem_type = DAT_DEV_MEM_VIRTUAL;
		arg->address = (uintptr_t)region->for_va;
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_LMR:
		arg->mem_type = DAT_DEV_MEM_LMR;
		arg->base = libdat_handle_in(region->for_lmr_handle);
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		if (!shared->shared_memory_id)
			return BAD_ARG(3);
		arg->mem_type = DAT_DEV_MEM_SHARED;
		arg->address = (uintptr_t)shared->virtual_address;
		memcpy(arg->cookie, *shared->shared_memory_id,
		       sizeof(arg->cookie));
		return DAT_SUCCESS;
	default:
		/* The kernel gives other numbers other meanings. */
		return BAD_ARG(2);
	}
}

/* dat_lmr_query() hands out a pointer to the cookie. */
static DAT_RETURN create(struct dat_dev_lmr_create *arg)
{
	struct libdat_lmr *lmr;
	DAT_RETURN ret;

	if (arg->mem_type != DAT_DEV_MEM_SHARED)
		return libdat_call(DAT_DEV_LMR_CREATE, arg);
	lmr = libdat_object_alloc(LIBDAT_LMR);
	if (!lmr)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	memcpy(lmr->cookie, arg->cookie, sizeof(lmr->cookie));
	ret = libdat_call(DAT_DEV_LMR_CREATE, arg);
	if (ret == DAT_SUCCESS)
		libdat_object_add(&lmr->object, arg->lmr, arg->ia);
	else
		libdat_object_discard(&lmr->object);
	return ret;
}

/**
 * dat_lmr_create - pin and register memory
 * @ia_handle: the IA
 * @mem_type: DAT_MEM_TYPE_VIRTUAL; DAT_MEM_TYPE_SO_VIRTUAL, which is the same
 *	without relaxed ordering, whatever the IA was opened as;
 *	DAT_MEM_TYPE_LMR; DAT_MEM_TYPE_SHARED_VIRTUAL
 * @region_description: for_va is where it begins, for_lmr_handle whose memory it
 *	is, for_shared_memory where the shared mapping begins and what all who
 *	share it call it
 * @length: bytes; not looked at for DAT_MEM_TYPE_LMR
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
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER (also:
 * the cookie is that of other memory of this user's), DAT_INVALID_HANDLE,
 * DAT_INVALID_STATE if memory of DAT_MEM_TYPE_SHARED_VIRTUAL is not shared.
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
		.privileges = libdat_priv_in(mem_privileges),
		.length = length,
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		libdat_foreign_beside(&foreign, pz_handle, DAT_HANDLE_TYPE_PZ,
				      DAT_INVALID_HANDLE_PZ);
		if (mem_type == DAT_MEM_TYPE_LMR)
			libdat_foreign_beside(&foreign,
					      region_description.for_lmr_handle,
					      DAT_HANDLE_TYPE_LMR,
					      DAT_INVALID_HANDLE_LMR);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_LMR, lmr_handle,
				    lmr_create_func, ia_handle, mem_type,
				    region_description, length, pz_handle,
				    mem_privileges, lmr_handle, lmr_context,
				    rmr_context, registered_size,
				    registered_address);
	}
	if (!lmr_handle)
		return BAD_ARG(7);
	if (!lmr_context)
		return BAD_ARG(8);
	if (libdat_priv_is_wrong(arg.privileges))
		return BAD_ARG(6);
	ret = region_in(&arg, mem_type, &region_description);
	if (ret != DAT_SUCCESS)
		return ret;
	if (mem_type == DAT_MEM_TYPE_VIRTUAL)
		arg.privileges |= ordering(ia_handle, mem_privileges);

	ret = create(&arg);
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

static void region_out(DAT_REGION_DESCRIPTION *out,
		       const struct dat_dev_lmr_create *in)
{
	DAT_SHARED_MEMORY *shared = &out->for_shared_memory;
	struct libdat_lmr *lmr;

	switch (in->mem_type) {
	case DAT_DEV_MEM_LMR:
		out->for_lmr_handle = libdat_handle_out(in->base);
		break;
	case DAT_DEV_MEM_SHARED:
		shared->virtual_address = (DAT_PVOID)(uintptr_t)in->address;
		lmr = libdat_object_lock(in->lmr, LIBDAT_LMR);
		if (lmr) {
			shared->shared_memory_id = &lmr->cookie;
			libdat_object_unlock(in->lmr);
		}
		break;
	default:
		out->for_va = (DAT_PVOID)(uintptr_t)in->address;
		break;
	}
}

/**
 * dat_lmr_query - everything about an LMR
 * @lmr_handle: the LMR
 * @lmr_param_mask: what is wanted; all is filled in
 * @lmr_param: out; shared_memory_id is good until the LMR is freed
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
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, lmr_handle, DAT_HANDLE_TYPE_LMR))
		return FOREIGN_CALL(&foreign, lmr_query_func, lmr_handle,
				    lmr_param_mask, lmr_param);
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
	region_out(&lmr_param->region_desc, &arg);
	lmr_param->length = arg.length;
	lmr_param->pz_handle = libdat_handle_out(arg.pz);
	lmr_param->mem_priv = (DAT_MEM_PRIV_FLAGS)(arg.privileges &
						   DAT_MEM_PRIV_ALL_FLAG);
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
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, lmr_handle, DAT_HANDLE_TYPE_LMR))
		return FOREIGN_FREE(&foreign, lmr_free_func, lmr_handle);
	ret = libdat_free_call(DAT_DEV_LMR_FREE, lmr_handle);
	if (ret == DAT_SUCCESS)
		libdat_object_drop(libdat_handle_in(lmr_handle), LIBDAT_LMR);
	return ret;
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
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA))
		return FOREIGN_CALL(&foreign, lmr_sync_rdma_read_func,
				    ia_handle, local_segments, num_segments);
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
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA))
		return FOREIGN_CALL(&foreign, lmr_sync_rdma_write_func,
				    ia_handle, local_segments, num_segments);
	return sync_segments(ia_handle, local_segments, num_segments,
			     DAT_DEV_SYNC_WRITE);
}

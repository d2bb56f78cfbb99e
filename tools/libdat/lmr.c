// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr.c - LMRs: register, query, synchronize
 *
 * Only an LMR of shared memory has an entry in the table, because
 * dat_lmr_query() returns a pointer to its cookie.
 */
#include <string.h>

#include "libdat.h"

/* Segments of one ioctl, and of one call, which makes several ioctls */
#define SYNC_CHUNK	64
#define SYNC_MAX	1048576

/* The flag for relaxed ordering, if the program opened the IA with RO_AWARE_ */
static __u32 ordering(DAT_IA_HANDLE ia_handle, DAT_MEM_PRIV_FLAGS privileges)
{
	__u32 handle = libdat_to_kernel(ia_handle);
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

/* Copy the description of the memory. */
static DAT_RETURN region_to_kernel(struct dat_dev_lmr_create *arg,
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
		arg->base = libdat_to_kernel(region->for_lmr_handle);
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
		/* The kernel has other types with these numbers. */
		return BAD_ARG(2);
	}
}

/* Create an LMR, and the entry of one of shared memory. */
static DAT_RETURN create(struct dat_dev_lmr_create *arg)
{
	struct libdat_lmr *lmr;
	DAT_RETURN ret;

	if (arg->mem_type != DAT_DEV_MEM_SHARED)
		return libdat_call(DAT_DEV_LMR_CREATE, arg);
	lmr = libdat_object_alloc(LIBDAT_LMR);
	if (lmr)
		memcpy(lmr->cookie, arg->cookie, sizeof(lmr->cookie));
	ret = libdat_object_call(&lmr->object, DAT_DEV_LMR_CREATE, arg);
	if (ret == DAT_SUCCESS)
		libdat_object_add(&lmr->object, arg->lmr, arg->ia);
	return ret;
}

DAT_RETURN libdat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
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
		.ia = libdat_to_kernel(ia_handle),
		.pz = libdat_to_kernel(pz_handle),
		.privileges = libdat_priv_to_kernel(mem_privileges),
		.length = length,
	};
	DAT_RETURN ret;

	if (!lmr_handle)
		return BAD_ARG(7);
	if (!lmr_context)
		return BAD_ARG(8);
	if (libdat_priv_is_reserved(arg.privileges))
		return BAD_ARG(6);
	ret = region_to_kernel(&arg, mem_type, &region_description);
	if (ret != DAT_SUCCESS)
		return ret;
	if (mem_type == DAT_MEM_TYPE_VIRTUAL)
		arg.privileges |= ordering(ia_handle, mem_privileges);

	ret = create(&arg);
	if (ret != DAT_SUCCESS)
		return ret;

	*lmr_handle = libdat_to_user(arg.lmr);
	*lmr_context = arg.lmr_context;
	if (rmr_context)
		*rmr_context = arg.rmr_context;
	if (registered_size)
		*registered_size = arg.registered_size;
	if (registered_address)
		*registered_address = arg.registered_address;
	return DAT_SUCCESS;
}

static void region_to_user(DAT_REGION_DESCRIPTION *out,
			   const struct dat_dev_lmr_create *in)
{
	DAT_SHARED_MEMORY *shared = &out->for_shared_memory;
	struct libdat_lmr *lmr;

	switch (in->mem_type) {
	case DAT_DEV_MEM_LMR:
		out->for_lmr_handle = libdat_to_user(in->base);
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
 * libdat_lmr_param_to_user - translate the result of DAT_DEV_LMR_QUERY
 * @out: the program's parameters
 * @in: the kernel's parameters
 *
 * Thread safe.
 */
void libdat_lmr_param_to_user(DAT_LMR_PARAM *out,
			      const struct dat_dev_lmr_create *in)
{
	memset(out, 0, sizeof(*out));
	out->ia_handle = libdat_to_user(in->ia);
	out->mem_type = (DAT_MEM_TYPE)in->mem_type;
	region_to_user(&out->region_desc, in);
	out->length = in->length;
	out->pz_handle = libdat_to_user(in->pz);
	out->mem_priv = (DAT_MEM_PRIV_FLAGS)(in->privileges &
					     DAT_MEM_PRIV_ALL_FLAG);
	out->lmr_context = in->lmr_context;
	out->rmr_context = in->rmr_context;
	out->registered_size = in->registered_size;
	out->registered_address = in->registered_address;
}

/* Synchronize up to SYNC_CHUNK triplets. Skips those of length 0. */
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
		if (!libdat_segment_to_kernel(&segments[arg->num_segments],
					      &triplet[i]))
			return BAD_ARG(2);
		arg->num_segments++;
	}
	return libdat_call(DAT_DEV_LMR_SYNC, arg);
}

/**
 * libdat_lmr_sync - synchronize memory with RDMA Reads or Writes of peers
 * @ia_handle: the IA
 * @local_segments: the memory
 * @num_segments: entries of @local_segments, up to 1048576
 * @direction: DAT_DEV_SYNC_READ or DAT_DEV_SYNC_WRITE
 *
 * Thread safe. See dat_lmr_sync_rdma_read(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN libdat_lmr_sync(DAT_IA_HANDLE ia_handle,
			   const DAT_LMR_TRIPLET *local_segments,
			   DAT_VLEN num_segments, __u32 direction)
{
	struct dat_dev_lmr_sync arg = {
		.size = sizeof(arg),
		.ia = libdat_to_kernel(ia_handle),
		.direction = direction,
	};
	DAT_RETURN ret;
	__u64 count;

	if (num_segments && !local_segments)
		return BAD_ARG(2);
	if (num_segments > SYNC_MAX)
		return BAD_ARG(3);

	/* At least once, so that the kernel checks the IA. */
	do {
		count = num_segments < SYNC_CHUNK ? num_segments : SYNC_CHUNK;
		ret = sync_chunk(&arg, local_segments, count);
		if (count)
			local_segments += count;
		num_segments -= count;
	} while (ret == DAT_SUCCESS && num_segments);
	return ret;
}

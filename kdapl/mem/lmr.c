// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr.c - creates, queries and frees local memory regions
 *
 * Implements dat_lmr_kcreate(), dat_ia_reserved_lmr(), dat_lmr_query() and
 * dat_lmr_free(), all in process context. Owns the order of the steps; the other
 * lmr_*.c files implement one step each: describe, map, register and look up.
 *
 * The reserved LMR is all memory, addressed by DMA addresses. Its context is not a key
 * of the device. On some devices the key that opens all memory depends on the PZ.
 * dat_iov_copy() inserts that key when a request is posted.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/lmr.h"
#include "mem/pz.h"
#include "mem/rmr.h"

static void lmr_shutdown(struct dat_object *obj)
{
	struct dat_lmr *lmr = to_lmr(obj);

	/* The LMR is not in the table if it could not be inserted. */
	dat_lmr_remove(lmr);
	dat_lmr_wait_for_accesses(lmr);
	dat_lmr_recharge(lmr);
	if (lmr->mr)
		dat_dev_dereg_mr(lmr->mr);
	dat_lmr_unmap(lmr);
	dat_lmr_let_go_of_base(lmr);
	dat_object_use_put(&lmr->pz->obj);
}

static void lmr_release(struct dat_object *obj)
{
	struct dat_lmr *lmr = to_lmr(obj);

	if (lmr->base)
		dat_object_put(&lmr->base->obj);
	dat_object_put(&lmr->pz->obj);
	kfree(lmr);
}

static const struct dat_object_ops lmr_ops = {
	.shutdown = lmr_shutdown,
	.release = lmr_release,
};

/* Charge the pages of the MR, and those of the table unless it is shared. */
static DAT_RETURN lmr_charge(struct dat_lmr *lmr)
{
	u64 pages = PFN_UP(offset_in_page(lmr->start) + lmr->length);
	u64 bytes = sizeof(*lmr) + DAT_BYTES_HANDLE + dat_bytes_mr(pages);

	if (!lmr->is_lent && lmr->mapped == lmr)
		bytes += (u64)lmr->sgt.orig_nents * DAT_BYTES_SG;
	if (bytes > LONG_MAX || !dat_object_charge(&lmr->obj, bytes))
		return dat_no_memory();
	if (!dat_object_charge_hca(&lmr->obj, DAT_HCA_OBJECT, 1))
		return dat_no_mr();
	return DAT_SUCCESS;
}

static DAT_RETURN register_error(const struct dat_lmr *lmr, int err)
{
	switch (err) {
	case -ESTALE:
		return lmr->base ?
		       DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE) :
		       DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	case -EINTR:
		return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	default:
		return dat_no_mr();
	}
}

static DAT_RETURN lmr_register(struct dat_lmr *lmr)
{
	DAT_RETURN ret;
	int err;

	ret = dat_lmr_map(lmr);
	if (ret)
		return ret;
	if (lmr->mem_type == DAT_MEM_TYPE_BYPASS) {
		lmr->lkey = lmr->pz->pd->local_dma_lkey;
		return DAT_SUCCESS;
	}
	ret = lmr_charge(lmr);
	if (ret) {
		dat_lmr_unmap(lmr);
		return ret;
	}
	err = dat_lmr_register(lmr);
	if (!err)
		return DAT_SUCCESS;
	dat_object_uncharge_hca(&lmr->obj);
	dat_lmr_unmap(lmr);
	return register_error(lmr, err);
}

static DAT_RMR_CONTEXT lmr_rmr_context(const struct dat_lmr *lmr)
{
	return lmr->privileges & DAT_MEM_PRIV_REMOTE_FLAGS ? lmr->rkey : 0;
}

/**
 * dat_lmr_new - allocate an LMR in a PZ
 * @ia: the IA
 * @pz: the PZ; of the same IA
 * @size: bytes of the structure that begins with the LMR
 * @ops: its functions; release() must put the PZ, and shutdown() the use of it
 * @ret: out: the reason if the call fails, else undefined: DAT_INVALID_HANDLE,
 *	DAT_INSUFFICIENT_RESOURCES
 *
 * Context: process, may sleep.
 * Return: the LMR, which no look-up finds, or NULL.
 */
struct dat_lmr *dat_lmr_new(struct dat_ia *ia, DAT_PZ_HANDLE pz, size_t size,
			    const struct dat_object_ops *ops, DAT_RETURN *ret)
{
	struct dat_object *obj = dat_object_get(pz, DAT_HANDLE_TYPE_PZ);
	struct dat_lmr *lmr;

	*ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!obj)
		return NULL;
	if (obj->ia != ia || !dat_object_use_get(obj))
		goto put;
	*ret = dat_no_memory();
	lmr = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!lmr)
		goto unuse;
	dat_object_init(&lmr->obj, DAT_HANDLE_TYPE_LMR, &ia->owner, ops);
	lmr->pz = to_pz(obj);
	return lmr;

unuse:
	dat_object_use_put(obj);
put:
	dat_object_put(obj);
	return NULL;
}

/* Reverse dat_lmr_new(), for an LMR that has not been registered. */
static void lmr_discard(struct dat_lmr *lmr)
{
	dat_lmr_let_go_of_base(lmr);
	dat_object_use_put(&lmr->pz->obj);
	dat_object_put(&lmr->obj);
}

static DAT_RETURN lmr_publish(struct dat_lmr *lmr)
{
	DAT_RETURN ret = dat_object_publish(&lmr->obj);

	if (ret) {
		dat_object_shutdown(&lmr->obj);
		dat_object_put(&lmr->obj);
		return ret;
	}
	/* Last step: from now on a caller that guesses the context can use the LMR. */
	if (!dat_lmr_insert(lmr))
		return DAT_SUCCESS;
	dat_object_claim(&lmr->obj);
	dat_object_retire(&lmr->obj);
	return dat_no_memory();
}

#define OPTIMIZE_FLAGS	(DAT_MEM_OPTIMIZE_IA | \
			 DAT_MEM_OPTIMIZE_MIN_EXPOSURE | \
			 DAT_MEM_OPTIMIZE_EXACT_EXPOSURE)

#define PRIV_FLAGS	(DAT_MEM_PRIV_ALL_FLAG | DAT_MEM_PRIV_RELAXED_FLAG | \
			 DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/**
 * kdapl_lmr_kcreate - register memory
 * @ia_handle: the IA
 * @mem_type: type of @region_description; see below
 * @region_description: description of the memory
 * @length: its length, at least 1, in the unit of @mem_type; a length of at most
 *	max_lmr_block_size of the IA always fits into one registration
 * @pz_handle: the PZ; of the same IA
 * @mem_privileges: privileges of the region
 * @va_type: DAT_VA_TYPE_VA, or DAT_VA_TYPE_ZB: triplets count from 0. DAT_VA_TYPE_ZB
 *	requires memory that begins a page, unless the device takes lists of pieces
 *	instead of pages (IB_MR_TYPE_SG_GAPS).
 * @mem_optimization: DAT_MEM_OPTIMIZE_IA: use the largest pages that the memory allows,
 *	so that the device has the fewest to look up. The other flags have no effect:
 *	kdapl never registers a byte beyond @length.
 * @lmr_handle: out: the handle
 * @lmr_context: out: context for local buffers of DTOs, and for binds
 * @rmr_context: out: context for a peer; 0 without remote privileges; may be NULL
 * @registered_size: out: number of bytes registered; may be NULL
 * @registered_address: out: address of the first byte in triplets; may be NULL
 *
 * The memory types, each with its description, the unit of @length, and the address of
 * the first byte in triplets (for DAT_VA_TYPE_VA):
 *
 * DAT_MEM_TYPE_VIRTUAL: for_va, an address of kmalloc(), vmalloc() or page allocator
 * memory, not of a stack and not of a module; bytes; that address.
 *
 * DAT_MEM_TYPE_PHYSICAL: for_physical, an array of the physical addresses of pages of
 * PAGE_SIZE; pages; the address of the first page. kdapl does not use the array after
 * the call.
 *
 * DAT_MEM_TYPE_PHYSICAL_VAR_PAGES: for_array, the same with pages of another size, a
 * multiple of PAGE_SIZE.
 *
 * DAT_MEM_TYPE_PLATFORM: for_platform, a &struct dat_platform_region: pages that are
 * already pinned; bytes; its virtual_address.
 *
 * DAT_MEM_TYPE_IA: for_ia, a DMA address of the device, for example from
 * ib_dma_map_single(); bytes; that address.
 *
 * DAT_MEM_TYPE_BYPASS: for_ia, as for DAT_MEM_TYPE_IA; bytes; that address. Nothing is
 * registered: @lmr_context is the device's key for local access to all memory. kdapl
 * checks the LMR's extent and privileges when a DTO is posted. Remote privileges are
 * not supported, because the same key would open all memory to a peer. dat_lmr_free()
 * does not stop a DTO that has been posted before.
 *
 * DAT_MEM_TYPE_LMR: for_lmr_handle, an LMR of the same IA: its memory with another PZ
 * and other privileges; @length is ignored; the first address of that LMR. That LMR
 * cannot be freed before this one. If it was registered as DAT_MEM_TYPE_PLATFORM
 * without write privileges, this one cannot have them either.
 *
 * A region is one registration. It may need more pages than the device can list. Then
 * its memory must be contiguous on the bus in larger pages, and its address must have
 * the same alignment as its memory. dat_ia_memtype_hint() reports the alignment.
 * vmalloc() memory beyond max_lmr_block_size cannot be registered.
 *
 * Memory of the calling process, if the &struct dat_platform_region declares it so, can
 * be registered with any layout; so can an LMR over it. The device then looks up the
 * pages by address, so the process must still have the same pages mapped there.
 *
 * The memory must exist until dat_lmr_free() has returned. Specification:
 * dat_lmr_kcreate(), kDAPL; dat_lmr_create(), uDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE (an
 * LMR of dat_lmr_allocate(); or the process has other pages mapped where those of the
 * LMR were), DAT_INSUFFICIENT_RESOURCES (also: the memory does not fit into one
 * registration), DAT_MODEL_NOT_SUPPORTED (remote privileges or DAT_VA_TYPE_ZB are not
 * supported here), DAT_INTERRUPTED_CALL (a signal arrived; only for memory of a
 * process), DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_lmr_kcreate(DAT_IA_HANDLE ia_handle,
			     DAT_MEM_TYPE mem_type,
			     DAT_REGION_DESCRIPTION region_description,
			     DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			     DAT_MEM_PRIV_FLAGS mem_privileges,
			     DAT_VA_TYPE va_type,
			     DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			     DAT_LMR_HANDLE *lmr_handle,
			     DAT_LMR_CONTEXT *lmr_context,
			     DAT_RMR_CONTEXT *rmr_context,
			     DAT_VLEN *registered_size,
			     DAT_VADDR *registered_address)
{
	struct dat_object *ia_obj;
	struct dat_lmr *lmr;
	DAT_RETURN ret;

	might_sleep();
	if (mem_privileges & ~PRIV_FLAGS || !dat_lmr_priv_agree(mem_privileges))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (mem_optimization & ~OPTIMIZE_FLAGS)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	if (!lmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
	if (!lmr_context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG10);

	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	lmr = dat_lmr_new(to_ia(ia_obj), pz_handle, sizeof(*lmr), &lmr_ops, &ret);
	if (!lmr)
		goto leave;
	lmr->mem_type = mem_type;
	lmr->region = region_description;
	lmr->region_length = length;
	lmr->privileges = mem_privileges;
	lmr->va_type = va_type;
	lmr->optimization = mem_optimization;
	ret = dat_dev_check_priv(dat_ia_ibdev(to_ia(ia_obj)), mem_privileges) ?:
	      dat_lmr_describe(lmr);
	if (!ret)
		ret = lmr_register(lmr);
	if (ret) {
		lmr_discard(lmr);
		goto leave;
	}
	ret = lmr_publish(lmr);
	if (ret)
		goto leave;

	*lmr_handle = lmr->obj.handle;
	*lmr_context = lmr->lkey;
	if (rmr_context)
		*rmr_context = lmr_rmr_context(lmr);
	if (registered_size)
		*registered_size = lmr->length;
	if (registered_address)
		*registered_address = lmr->address;
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

static void reserved_shutdown(struct dat_object *obj)
{
	WRITE_ONCE(obj->ia->reserved_lmr, NULL);
}

static void reserved_release(struct dat_object *obj)
{
	kfree(to_lmr(obj));
}

static const struct dat_object_ops reserved_ops = {
	.shutdown = reserved_shutdown,
	.release = reserved_release,
};

static DAT_RETURN reserved_create(struct dat_ia *ia)
{
	struct dat_lmr *lmr = kzalloc(sizeof(*lmr), GFP_KERNEL_ACCOUNT);
	DAT_RETURN ret;

	if (!lmr)
		return dat_no_memory();
	dat_object_init(&lmr->obj, DAT_HANDLE_TYPE_LMR, &ia->owner,
			&reserved_ops);
	lmr->obj.implicit = true;
	lmr->mem_type = DAT_MEM_TYPE_IA;
	lmr->length = U64_MAX;
	lmr->privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG |
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	lmr->lkey = DAT_RESERVED_CONTEXT;
	ret = dat_object_publish(&lmr->obj);
	if (ret)
		dat_object_put(&lmr->obj);
	else
		WRITE_ONCE(ia->reserved_lmr, lmr);
	return ret;
}

/**
 * kdapl_ia_reserved_lmr - report the LMR that covers all memory
 * @ia_handle: the IA
 * @lmr_handle: out: its handle; only dat_ia_close() frees it
 * @lmr_context: out: context for local buffers of DTOs on any EP of the IA
 *
 * A triplet with this context has a DMA address of the device as virtual_address. The
 * consumer has mapped it; kdapl does not check it. No RMR can be bound to the reserved
 * LMR, and peers cannot access it. On iWARP no RDMA read can use it as a buffer,
 * because the peer would learn the key.
 *
 * Specification: dat_ia_reserved_lmr(), kDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ia_reserved_lmr(DAT_IA_HANDLE ia_handle,
				 DAT_LMR_HANDLE *lmr_handle,
				 DAT_LMR_CONTEXT *lmr_context)
{
	static DEFINE_MUTEX(lock);
	struct dat_object *obj;
	struct dat_ia *ia;
	DAT_RETURN ret;

	might_sleep();
	if (!lmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!lmr_context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!obj)
		return ret;
	ia = to_ia(obj);

	mutex_lock(&lock);
	if (!ia->reserved_lmr)
		ret = reserved_create(ia);
	if (!ret) {
		*lmr_handle = ia->reserved_lmr->obj.handle;
		*lmr_context = DAT_RESERVED_CONTEXT;
	}
	mutex_unlock(&lock);
	dat_object_put_live(obj);
	return ret;
}

/**
 * kdapl_lmr_query - report the parameters of an LMR
 * @lmr_handle: the LMR
 * @lmr_param_mask: DAT_LMR_FIELD_*; all parameters are filled in
 * @lmr_param: out: the parameters
 *
 * Specification: dat_lmr_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INTERNAL_ERROR
 * (the device is removed).
 */
DAT_RETURN kdapl_lmr_query(DAT_LMR_HANDLE lmr_handle,
			   DAT_LMR_PARAM_MASK lmr_param_mask,
			   DAT_LMR_PARAM *lmr_param)
{
	struct dat_object *obj;
	struct dat_lmr *lmr;
	DAT_RETURN ret;

	might_sleep();
	if (lmr_param_mask & ~DAT_LMR_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!lmr_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(lmr_handle, DAT_HANDLE_TYPE_LMR,
				  DAT_INVALID_HANDLE_LMR, &ret);
	if (!obj)
		return ret;

	lmr = to_lmr(obj);
	*lmr_param = (struct dat_lmr_param){
		.ia_handle = obj->ia->obj.handle,
		.mem_type = lmr->mem_type,
		.region_desc = lmr->region,
		.length = lmr->region_length,
		.pz_handle = dat_lmr_is_reserved(lmr) ?
			DAT_HANDLE_NULL : lmr->pz->obj.handle,
		.mem_priv = lmr->privileges,
		.va_type = lmr->va_type,
		.lmr_context = lmr->lkey,
		.rmr_context = lmr_rmr_context(lmr),
		.registered_size = lmr->length,
		.registered_address = lmr->address,
		.lmr_state = {
			.fmr_support = lmr->fmr ? DAT_TRUE : DAT_FALSE,
			.bound = atomic_read(&obj->users) >
				 atomic_read(&lmr->over),
		},
	};
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_lmr_free - deregister memory and free the LMR
 * @lmr_handle: the LMR
 *
 * After the call returns, neither of the LMR's contexts permits access any more, and
 * the device no longer accesses the memory. Specification: dat_lmr_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE (an RMR is bound to it, or
 * there is an LMR over it), DAT_RESERVED_LMR (dat_ia_close() frees the reserved LMR).
 */
DAT_RETURN kdapl_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct dat_object *obj;
	bool reserved = false;

	might_sleep();
	obj = dat_object_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (obj) {
		reserved = dat_lmr_is_reserved(to_lmr(obj));
		dat_rmr_wait_for_repair(to_lmr(obj));
		dat_object_put(obj);
	}
	if (reserved)
		return DAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	return dat_object_free(lmr_handle, DAT_HANDLE_TYPE_LMR,
			       DAT_INVALID_HANDLE_LMR,
			       DAT_INVALID_STATE_LMR_IN_USE);
}

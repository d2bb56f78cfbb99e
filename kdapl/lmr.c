// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr.c - making, querying and freeing local memory regions
 */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "device.h"
#include "ia.h"
#include "lmr.h"
#include "pz.h"
#include "rmr.h"

static void lmr_shutdown(struct dat_object *obj)
{
	struct dat_lmr *lmr = to_lmr(obj);

	/* Not there yet if it could not be inserted. */
	dat_lmr_remove(lmr);
	dat_lmr_wait_for_syncs(lmr);
	/* Both keys are dead when this returns. */
	ib_dereg_mr(lmr->mr);
	dat_lmr_unmap(lmr);
	dat_object_unuse(&lmr->pz->obj);
}

static void lmr_release(struct dat_object *obj)
{
	struct dat_lmr *lmr = to_lmr(obj);

	dat_object_put(&lmr->pz->obj);
	kfree(lmr);
}

static const struct dat_object_ops lmr_ops = {
	.shutdown = lmr_shutdown,
	.release = lmr_release,
};

/* The address of the region's first byte, and whether all of it makes sense. */
static DAT_RETURN lmr_address(DAT_MEM_TYPE mem_type,
			      const DAT_REGION_DESCRIPTION *region,
			      DAT_VLEN length, DAT_VADDR *address)
{
	DAT_VADDR end;

	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		*address = (uintptr_t)region->for_va;
		break;
	case DAT_MEM_TYPE_PLATFORM: {
		const struct dat_platform_region *p = region->for_platform;

		if (!p || !p->pages || p->first_offset >= PAGE_SIZE ||
		    offset_in_page(p->virtual_address) != p->first_offset)
			return DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG3);
		*address = p->virtual_address;
		break;
	}
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}

	if (!length || check_add_overflow(*address, length, &end))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return DAT_SUCCESS;
}

static u64 lmr_num_pages(DAT_VADDR address, DAT_VLEN length)
{
	return PFN_UP(offset_in_page(address) + length);
}

/* Writing from afar is writing, and verbs want to be told so. */
static int lmr_access(DAT_MEM_PRIV_FLAGS privileges)
{
	int access = 0;

	if (privileges & DAT_MEM_PRIV_WRITE_FLAG)
		access |= IB_ACCESS_LOCAL_WRITE;
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	return access;
}

static DAT_RETURN lmr_register(struct dat_lmr *lmr)
{
	DAT_RETURN ret;

	ret = dat_lmr_map(lmr);
	if (ret)
		return ret;

	lmr->mr = dat_dev_alloc_mr(lmr->pz->pd,
				   lmr_num_pages(lmr->address, lmr->length));
	if (IS_ERR(lmr->mr))
		goto unmap;
	if (dat_lmr_map_mr(lmr, lmr->mr, lmr->address, lmr->length) ||
	    dat_regqp_register(&lmr->pz->reg, lmr->mr,
			       lmr_access(lmr->privileges)))
		goto dereg;
	lmr->lkey = lmr->mr->lkey;
	lmr->rkey = lmr->mr->rkey;
	return DAT_SUCCESS;

dereg:
	ib_dereg_mr(lmr->mr);
unmap:
	dat_lmr_unmap(lmr);
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			 DAT_RESOURCE_MEMORY_REGION);
}

/* The PZ must be of the same IA. */
static struct dat_object *enter_pz(DAT_PZ_HANDLE handle, struct dat_ia *ia,
				   DAT_RETURN *ret)
{
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_PZ);

	if (obj && obj->ia == ia && dat_object_use(obj))
		return obj;
	if (obj)
		dat_object_put(obj);
	*ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	return NULL;
}

static DAT_RMR_CONTEXT lmr_rmr_context(const struct dat_lmr *lmr)
{
	return lmr->privileges & DAT_MEM_PRIV_REMOTE_FLAGS ? lmr->rkey : 0;
}

/**
 * dat_lmr_kcreate - register memory
 * @ia_handle: the IA
 * @mem_type: DAT_MEM_TYPE_VIRTUAL: kmalloc() or vmalloc() memory;
 *	DAT_MEM_TYPE_PLATFORM: pages that somebody else has pinned
 * @region_description: for_va: its address; for_platform: a
 *	&struct dat_platform_region
 * @length: bytes, at least 1, at most max_lmr_block_size of the IA
 * @pz_handle: the PZ; of the same IA
 * @mem_privileges: what it may be used for
 * @va_type: DAT_VA_TYPE_VA
 * @mem_optimization: a hint, heeded by none of the types above
 * @lmr_handle: out: the handle
 * @lmr_context: out: for local buffers of DTOs, and for binds
 * @rmr_context: out: for a peer; 0 without remote privileges; may be NULL
 * @registered_size: out: bytes registered, which is @length; may be NULL
 * @registered_address: out: where they begin; may be NULL
 *
 * The memory must stay until dat_lmr_free() has returned. Specification:
 * dat_lmr_kcreate(), kDAPL; dat_lmr_create(), uDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the
 * device has gone).
 */
DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle,
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
	struct dat_object *ia_obj, *pz_obj;
	struct dat_lmr *lmr;
	DAT_VADDR address;
	DAT_RETURN ret;

	if (mem_privileges & ~DAT_MEM_PRIV_ALL_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (va_type == DAT_VA_TYPE_ZB)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (va_type != DAT_VA_TYPE_VA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (!lmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
	if (!lmr_context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG10);
	ret = lmr_address(mem_type, &region_description, length, &address);
	if (ret)
		return ret;

	ia_obj = dat_object_enter(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	pz_obj = enter_pz(pz_handle, to_ia(ia_obj), &ret);
	if (!pz_obj)
		goto leave;

	if (length > U32_MAX || lmr_num_pages(address, length) >
			dat_dev_max_pages(dat_ia_ibdev(to_ia(ia_obj)))) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY_REGION);
		goto put_pz;
	}

	lmr = kzalloc(sizeof(*lmr), GFP_KERNEL_ACCOUNT);
	if (!lmr) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto put_pz;
	}
	dat_object_init(&lmr->obj, DAT_HANDLE_TYPE_LMR, to_ia(ia_obj),
			&lmr_ops);
	lmr->pz = to_pz(pz_obj);
	lmr->mem_type = mem_type;
	lmr->region = region_description;
	lmr->address = address;
	lmr->length = length;
	lmr->privileges = mem_privileges;
	lmr->dma_dir = mem_privileges & DAT_MEM_PRIV_WRITE_FLAG ?
			       DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	ret = lmr_register(lmr);
	if (ret) {
		dat_object_unuse(pz_obj);
		dat_object_put(&lmr->obj);
		goto leave;
	}
	ret = dat_object_publish(&lmr->obj);
	if (ret) {
		dat_object_shutdown(&lmr->obj);
		dat_object_put(&lmr->obj);
		goto leave;
	}
	/* Last: whoever guesses the context may use it at once. */
	if (dat_lmr_insert(lmr)) {
		dat_object_claim(&lmr->obj);
		dat_object_retire(&lmr->obj);
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto leave;
	}

	*lmr_handle = lmr->obj.handle;
	*lmr_context = lmr->lkey;
	if (rmr_context)
		*rmr_context = lmr_rmr_context(lmr);
	if (registered_size)
		*registered_size = length;
	if (registered_address)
		*registered_address = address;
	goto leave;

put_pz:
	dat_object_unuse(pz_obj);
	dat_object_put(pz_obj);
leave:
	dat_object_leave(ia_obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_kcreate);

/**
 * dat_lmr_query - the parameters of an LMR
 * @lmr_handle: the LMR
 * @lmr_param_mask: DAT_LMR_FIELD_*; all are filled in
 * @lmr_param: out: the parameters
 *
 * Specification: dat_lmr_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	struct dat_object *obj;
	struct dat_lmr *lmr;
	DAT_RETURN ret;

	if (lmr_param_mask & ~DAT_LMR_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!lmr_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_enter(lmr_handle, DAT_HANDLE_TYPE_LMR,
			       DAT_INVALID_HANDLE_LMR, &ret);
	if (!obj)
		return ret;

	lmr = to_lmr(obj);
	*lmr_param = (struct dat_lmr_param){
		.ia_handle = obj->ia->obj.handle,
		.mem_type = lmr->mem_type,
		.region_desc = lmr->region,
		.length = lmr->length,
		.pz_handle = lmr->pz->obj.handle,
		.mem_priv = lmr->privileges,
		.va_type = DAT_VA_TYPE_VA,
		.lmr_context = lmr->lkey,
		.rmr_context = lmr_rmr_context(lmr),
		.registered_size = lmr->length,
		.registered_address = lmr->address,
		.lmr_state = {
			.fmr_support = DAT_FALSE,
			.bound = atomic_read(&obj->users) > 0,
		},
	};
	dat_object_leave(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_lmr_query);

/**
 * dat_lmr_free - end the registration of memory
 * @lmr_handle: the LMR
 *
 * When it returns, neither of the LMR's contexts gives access any more, and
 * the device no longer touches the memory. Specification: dat_lmr_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE (an RMR is bound
 * to it).
 */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct dat_object *obj;

	obj = dat_object_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (obj) {
		dat_rmr_wait_for_repair(to_lmr(obj));
		dat_object_put(obj);
	}
	return dat_object_free(lmr_handle, DAT_HANDLE_TYPE_LMR,
			       DAT_INVALID_HANDLE_LMR,
			       DAT_INVALID_STATE_LMR_IN_USE);
}
EXPORT_SYMBOL_GPL(dat_lmr_free);

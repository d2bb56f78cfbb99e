// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fmr.c - LMRs that are registered by posting: create, complete and free
 *
 * Implements dat_lmr_allocate(). The two slots of such an LMR alternate, so that the LMR
 * can be registered again behind its own invalidation. The posting code takes slots, and
 * completions return them, both in any context. frmr.c owns the MRs of the slots.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/fmr.h"
#include "mem/pz.h"

/**
 * dat_fmr_forget - record that the LMR has no memory any more
 * @fmr: the LMR, locked
 *
 * Context: any.
 */
void dat_fmr_forget(struct dat_fmr *fmr)
{
	struct dat_lmr *lmr = &fmr->lmr;

	/* No MR has the index 0. */
	WRITE_ONCE(lmr->lkey, 0);
	WRITE_ONCE(lmr->rkey, 0);
	fmr->pair.current_frmr = DAT_FRMR_NONE;
	/*
	 * Either a bind sees that the context is invalid, or this sees the bind's use
	 * count.
	 */
	smp_mb();
	if (atomic_read(&lmr->obj.users) > 0)
		return;
	lmr->address = 0;
	lmr->length = 0;
	lmr->privileges = DAT_MEM_PRIV_NONE_FLAG;
	memset(&lmr->sgt, 0, sizeof(lmr->sgt));
}

/* Make a slot idle again if nothing uses it. */
static void slot_settle(struct dat_fmr *fmr, struct dat_fmr_slot *slot)
{
	/* The MR of a bound RMR still shows these pages to peers. */
	bool bound = atomic_read(&fmr->lmr.obj.users) > 0;

	switch (slot->frmr.state) {
	case DAT_FRMR_DEAD:
		if (!bound)
			dat_fmr_unmap(fmr, slot);
		if (!slot->frmr.pending && !slot->sgt.nents)
			slot->frmr.state = DAT_FRMR_IDLE;
		break;
	case DAT_FRMR_BROKEN:
		if (!slot->frmr.pending && !bound)
			dat_frmr_repair_later(&fmr->pair);
		break;
	default:
		break;
	}
}

/**
 * dat_fmr_idle - find the slot for the next registration
 * @fmr: the LMR, locked
 *
 * Context: any.
 * Return: its index, or DAT_FRMR_NONE.
 */
unsigned int dat_fmr_idle(struct dat_fmr *fmr)
{
	unsigned int i;

	for (i = 0; i < DAT_FRMR_PAIR; i++)
		slot_settle(fmr, &fmr->slots[i]);
	return dat_frmr_idle(&fmr->pair);
}

static void slot_done(struct dat_fmr *fmr, struct dat_fmr_slot *slot,
		      DAT_DTOS op, enum ib_wc_status status)
{
	if (status != IB_WC_SUCCESS) {
		/*
		 * The device may have executed a flushed request all the same. A slot
		 * that the peer has invalidated is certainly dead.
		 */
		if (slot->frmr.state == DAT_FRMR_DEAD)
			return;
		slot->frmr.state = DAT_FRMR_BROKEN;
		if (slot - fmr->slots == fmr->pair.current_frmr)
			dat_fmr_forget(fmr);
	} else if (op == DAT_DTO_LMR_INVALIDATE &&
		   slot->frmr.state == DAT_FRMR_INVALIDATING) {
		/* An RMR that is bound to the LMR is bound to a later registration. */
		dat_fmr_unmap(fmr, slot);
		slot->frmr.state = DAT_FRMR_DEAD;
	}
}

/**
 * dat_fmr_done - process the completion of a registration or an invalidation
 * @lmr: the LMR; the reference of the request is returned
 * @index: its slot in the LMR, or DAT_FRMR_NONE
 * @op: DAT_DTO_LMR_FMR or DAT_DTO_LMR_INVALIDATE
 * @status: status of the completion
 *
 * Context: any; the lock of the EVD is held.
 */
void dat_fmr_done(struct dat_lmr *lmr, u8 index, DAT_DTOS op,
		  enum ib_wc_status status)
{
	struct dat_fmr *fmr = lmr->fmr;
	struct dat_object *ep = NULL;

	spin_lock_bh(&fmr->pair.lock);
	if (index != DAT_FRMR_NONE) {
		struct dat_fmr_slot *slot = &fmr->slots[index];

		ep = dat_frmr_completed(&slot->frmr);
		slot_done(fmr, slot, op, status);
		slot_settle(fmr, slot);
	}
	spin_unlock_bh(&fmr->pair.lock);

	if (ep)
		dat_object_put(ep);
	dat_object_put(&lmr->obj);
}

/**
 * dat_fmr_revoke - process the invalidation of a registration by a peer
 * @lmr: the LMR
 * @context: the rmr_context that the peer has invalidated
 *
 * Context: any; in an RCU read-side section.
 */
void dat_fmr_revoke(struct dat_lmr *lmr, DAT_RMR_CONTEXT context)
{
	struct dat_fmr *fmr = lmr->fmr;

	spin_lock_bh(&fmr->pair.lock);
	if (!lmr->obj.is_down && lmr->rkey == context &&
	    fmr->pair.current_frmr != DAT_FRMR_NONE) {
		struct dat_fmr_slot *slot = &fmr->slots[fmr->pair.current_frmr];

		slot->frmr.state = DAT_FRMR_DEAD;
		dat_fmr_forget(fmr);
		slot_settle(fmr, slot);
	}
	spin_unlock_bh(&fmr->pair.lock);
}

/* A device may support only pages smaller than PAGE_SIZE. */
static u64 pages_of_device(const struct ib_device *ibdev, u32 num_pages)
{
	u32 size = min_t(u32, dat_dev_page_size(ibdev), PAGE_SIZE);

	return (u64)num_pages * (PAGE_SIZE / size);
}

static int fmr_insert_mr(struct dat_object *obj, const struct ib_mr *mr)
{
	return dat_lmr_insert_key(to_lmr(obj), mr->lkey);
}

static void fmr_remove_mr(struct dat_object *obj, const struct ib_mr *mr)
{
	dat_lmr_remove_key(to_lmr(obj), mr->lkey);
}

static bool slot_is_busy(const struct dat_frmr_pair *pair,
			 const struct dat_frmr *frmr)
{
	return frmr->pending || atomic_read(&pair->obj->users) > 0;
}

static void slot_release(struct dat_frmr_pair *pair, struct dat_frmr *frmr)
{
	struct dat_fmr *fmr = to_lmr(pair->obj)->fmr;

	spin_lock_bh(&pair->lock);
	dat_fmr_unmap(fmr, container_of(frmr, struct dat_fmr_slot, frmr));
	spin_unlock_bh(&pair->lock);
}

static const struct dat_frmr_ops fmr_frmr_ops = {
	.insert_mr = fmr_insert_mr,
	.remove_mr = fmr_remove_mr,
	.is_busy = slot_is_busy,
	.release = slot_release,
};

static void fmr_shutdown(struct dat_object *obj)
{
	struct dat_lmr *lmr = to_lmr(obj);
	struct dat_fmr *fmr = lmr->fmr;

	dat_frmr_stop(&fmr->pair);
	spin_lock_bh(&fmr->pair.lock);
	dat_fmr_forget(fmr);
	spin_unlock_bh(&fmr->pair.lock);
	dat_lmr_wait_for_accesses(lmr);
	dat_frmr_destroy(&fmr->pair);
	dat_object_use_put(&lmr->pz->obj);
}

static void fmr_release(struct dat_object *obj)
{
	struct dat_fmr *fmr = to_lmr(obj)->fmr;
	unsigned int i;

	for (i = 0; i < DAT_FRMR_PAIR; i++)
		kvfree(fmr->slots[i].sgl);
	dat_object_put(&fmr->lmr.pz->obj);
	kfree(fmr);
}

static const struct dat_object_ops fmr_ops = {
	.shutdown = fmr_shutdown,
	.release = fmr_release,
};

static bool slots_alloc(struct dat_fmr *fmr)
{
	unsigned int i;

	for (i = 0; i < DAT_FRMR_PAIR; i++) {
		fmr->slots[i].sgl = kvcalloc(fmr->max_pages,
					     sizeof(struct scatterlist),
					     GFP_KERNEL_ACCOUNT);
		if (!fmr->slots[i].sgl)
			return false;
	}
	return true;
}

static DAT_RETURN fmr_create(struct dat_lmr *lmr, u32 max_pages, u32 list_len)
{
	struct dat_fmr *fmr = container_of(lmr, struct dat_fmr, lmr);
	DAT_RETURN ret;

	lmr->fmr = fmr;
	fmr->max_pages = max_pages;
	fmr->pair = (struct dat_frmr_pair){
		.obj = &lmr->obj,
		.ops = &fmr_frmr_ops,
		.pd = lmr->pz->pd,
		.list_len = list_len,
		.frmr = { &fmr->slots[0].frmr, &fmr->slots[1].frmr },
	};
	dat_frmr_init(&fmr->pair);

	ret = dat_frmr_create(&fmr->pair, sizeof(*fmr) + DAT_BYTES_HANDLE +
			      DAT_FRMR_PAIR * (size_t)max_pages * DAT_BYTES_SG);
	if (!ret && !slots_alloc(fmr))
		ret = dat_no_mr();
	ret = ret ?: dat_object_publish(&lmr->obj);
	if (ret) {
		dat_object_shutdown(&lmr->obj);
		dat_object_put(&lmr->obj);
	}
	return ret;
}

static DAT_RETURN fmr_allocate(struct dat_ia *ia, DAT_PZ_HANDLE pz_handle,
			       u32 num_pages, DAT_LMR_HANDLE *lmr_handle)
{
	struct ib_device *ibdev = dat_ia_ibdev(ia);
	u64 list_len = pages_of_device(ibdev, num_pages);
	struct dat_lmr *lmr;
	DAT_RETURN ret;

	if (list_len > dat_dev_max_pages(ibdev))
		return dat_no_mr();
	lmr = dat_lmr_new(ia, pz_handle, sizeof(struct dat_fmr), &fmr_ops, &ret);
	if (!lmr)
		return ret;
	ret = fmr_create(lmr, num_pages, list_len);
	if (!ret)
		*lmr_handle = lmr->obj.handle;
	return ret;
}

/**
 * kdapl_lmr_allocate - create an LMR without memory, for dat_lmr_fmr()
 * @ia_handle: the IA
 * @pz_handle: its PZ; of the same IA
 * @num_pages: maximum number of pages of a registration, at least 1
 * @lmr_scope: DAT_LMR_SCOPE_PZ
 * @lmr_handle: out: the handle
 *
 * Verbs have no registration that is valid for one EP only, so DAT_LMR_SCOPE_EP is not
 * supported. Specification: dat_lmr_allocate(), kDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES (also: more pages than the device can register),
 * DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			      DAT_COUNT num_pages, DAT_LMR_SCOPE lmr_scope,
			      DAT_LMR_HANDLE *lmr_handle)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	might_sleep();
	if (num_pages < 1)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (lmr_scope == DAT_LMR_SCOPE_EP)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (lmr_scope != DAT_LMR_SCOPE_PZ)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!lmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!obj)
		return ret;
	ret = fmr_allocate(to_ia(obj), pz_handle, num_pages, lmr_handle);
	dat_object_put_live(obj);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fmr.c - LMRs that are registered by posting: create, complete, repair and free
 *
 * Implements dat_lmr_allocate() and owns the two MRs ("slots") of such an LMR. The
 * slots alternate, as those of an RMR do, so that the LMR can be registered again
 * behind its own invalidation. The posting code takes slots, and completions return
 * them, both in any context. The repair work replaces MRs in process context.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "base/workqueue.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/fmr.h"
#include "mem/lmr.h"
#include "mem/pz.h"

/**
 * dat_fmr_forget - record that the LMR has no memory any more
 * @fmr: the registration state of the LMR, locked
 *
 * Context: any.
 */
void dat_fmr_forget(struct dat_fmr *fmr)
{
	struct dat_lmr *lmr = fmr->lmr;

	/* No MR has the index 0. */
	WRITE_ONCE(lmr->lkey, 0);
	WRITE_ONCE(lmr->rkey, 0);
	fmr->current_slot = DAT_FMR_NO_SLOT;
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

static void repair_later(struct dat_fmr *fmr)
{
	kref_get(&fmr->lmr->obj.ref);
	if (!queue_work(kdapl_mr_wq, &fmr->repair_work))
		dat_object_put(&fmr->lmr->obj);
}

/**
 * dat_fmr_settle - make a slot idle again if nothing uses it
 * @fmr: the registration state of the LMR, locked
 * @slot: the slot
 *
 * Context: any.
 */
void dat_fmr_settle(struct dat_fmr *fmr, struct dat_fmr_slot *slot)
{
	/* The MR of a bound RMR still shows these pages to peers. */
	bool bound = atomic_read(&fmr->lmr->obj.users) > 0;

	switch (slot->state) {
	case DAT_FMR_DEAD:
		if (!bound)
			dat_fmr_unmap(fmr, slot);
		if (!slot->pending && !slot->sgt.nents)
			slot->state = DAT_FMR_IDLE;
		break;
	case DAT_FMR_BROKEN:
		if (!slot->pending && !bound)
			repair_later(fmr);
		break;
	default:
		break;
	}
}

/* Return false if all contexts of the MR are used up and no spare MR is ready. */
static bool slot_renew(struct dat_fmr *fmr, struct dat_fmr_slot *slot)
{
	if (!dat_frmr_renew(&slot->mr, &slot->keys)) {
		slot->state = DAT_FMR_BROKEN;
		repair_later(fmr);
		return false;
	}
	if (unlikely(!slot->keys.used))
		slot->dead_key = slot->mr->rkey;
	if (unlikely(dat_frmr_wants_work(&slot->keys)))
		repair_later(fmr);
	return true;
}

/**
 * dat_fmr_idle_slot - find the slot for the next registration
 * @fmr: the registration state of the LMR, locked
 *
 * Context: any.
 * Return: its number, or DAT_FMR_NO_SLOT.
 */
unsigned int dat_fmr_idle_slot(struct dat_fmr *fmr)
{
	unsigned int i;

	for (i = 0; i < DAT_FMR_SLOTS; i++) {
		dat_fmr_settle(fmr, &fmr->slots[i]);
		if (fmr->slots[i].state == DAT_FMR_IDLE &&
		    slot_renew(fmr, &fmr->slots[i]))
			break;
	}
	return i;
}

static void slot_done(struct dat_fmr *fmr, struct dat_fmr_slot *slot,
		      DAT_DTOS op, enum ib_wc_status status)
{
	if (status != IB_WC_SUCCESS) {
		/*
		 * The device may have executed a flushed request all the same. A slot
		 * that the peer has invalidated is certainly dead.
		 */
		if (slot->state == DAT_FMR_DEAD)
			return;
		slot->state = DAT_FMR_BROKEN;
		if (slot - fmr->slots == fmr->current_slot)
			dat_fmr_forget(fmr);
	} else if (op == DAT_DTO_LMR_INVALIDATE &&
		   slot->state == DAT_FMR_INVALIDATING) {
		/* An RMR that is bound to the LMR is bound to a later registration. */
		dat_fmr_unmap(fmr, slot);
		slot->state = DAT_FMR_DEAD;
	}
}

/**
 * dat_fmr_done - process the completion of a registration or an invalidation
 * @lmr: the LMR; the reference of the request is returned
 * @index: its slot in the LMR, or DAT_FMR_NO_SLOT
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

	spin_lock_bh(&fmr->lock);
	if (index != DAT_FMR_NO_SLOT) {
		struct dat_fmr_slot *slot = &fmr->slots[index];

		if (!--slot->pending)
			swap(ep, slot->ep);
		slot_done(fmr, slot, op, status);
		dat_fmr_settle(fmr, slot);
	}
	spin_unlock_bh(&fmr->lock);

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

	spin_lock_bh(&fmr->lock);
	if (!lmr->obj.is_down && lmr->rkey == context &&
	    fmr->current_slot != DAT_FMR_NO_SLOT) {
		struct dat_fmr_slot *slot = &fmr->slots[fmr->current_slot];

		slot->state = DAT_FMR_DEAD;
		dat_fmr_forget(fmr);
		dat_fmr_settle(fmr, slot);
	}
	spin_unlock_bh(&fmr->lock);
}

/* A device may support only pages smaller than PAGE_SIZE. */
static u64 pages_of_device(const struct ib_device *ibdev, u32 num_pages)
{
	u32 size = min_t(u32, dat_dev_page_size(ibdev), PAGE_SIZE);

	return (u64)num_pages * (PAGE_SIZE / size);
}

static struct ib_mr *fmr_alloc_mr(struct dat_fmr *fmr)
{
	struct ib_mr *mr = dat_dev_alloc_mr(fmr->lmr->pz->pd, fmr->list_len);

	if (IS_ERR(mr) || !dat_lmr_insert_key(fmr->lmr, mr->lkey))
		return mr;
	ib_dereg_mr(mr);
	return ERR_PTR(-ENOMEM);
}

static int slot_alloc_mr(struct dat_fmr *fmr, struct dat_fmr_slot *slot)
{
	struct ib_mr *mr = fmr_alloc_mr(fmr);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	slot->mr = mr;
	slot->dead_key = mr->rkey;
	return 0;
}

/*
 * Remove the key first: the next MR may receive the index once this MR is deregistered.
 */
static void fmr_free_mr(struct dat_fmr *fmr, struct ib_mr *mr)
{
	if (!mr)
		return;
	dat_lmr_remove_key(fmr->lmr, mr->lkey);
	dat_dev_dereg_mr(mr);
}

/* Free all MRs of a slot. The caller has exclusive use of the slot. */
static void slot_free_mrs(struct dat_fmr *fmr, struct dat_fmr_slot *slot)
{
	fmr_free_mr(fmr, slot->mr);
	fmr_free_mr(fmr, slot->keys.spare);
	fmr_free_mr(fmr, slot->keys.old);
	slot->mr = NULL;
	memset(&slot->keys, 0, sizeof(slot->keys));
}

/* Deregister the used-up MR, and allocate the next spare before it is needed. */
static void slot_renew_spare(struct dat_fmr *fmr, struct dat_fmr_slot *slot)
{
	struct ib_mr *old = NULL, *spare;
	bool wanted;

	spin_lock_bh(&fmr->lock);
	swap(old, slot->keys.old);
	wanted = dat_frmr_wants_spare(&slot->keys);
	spin_unlock_bh(&fmr->lock);
	fmr_free_mr(fmr, old);
	if (!wanted)
		return;
	spare = fmr_alloc_mr(fmr);
	if (IS_ERR(spare))
		return;
	/* Only this work sets the spare. */
	spin_lock_bh(&fmr->lock);
	slot->keys.spare = spare;
	spin_unlock_bh(&fmr->lock);
}

static void fmr_repair(struct work_struct *work)
{
	struct dat_fmr *fmr = container_of(work, struct dat_fmr, repair_work);
	unsigned int i;

	/* The device still exists: fmr_shutdown() waits for this work. */
	for (i = 0; i < DAT_FMR_SLOTS; i++) {
		struct dat_fmr_slot *slot = &fmr->slots[i];

		if (READ_ONCE(slot->state) != DAT_FMR_BROKEN)
			slot_renew_spare(fmr, slot);
		/* Only this work uses a broken slot that has no request outstanding. */
		if (READ_ONCE(slot->state) != DAT_FMR_BROKEN ||
		    slot->pending || atomic_read(&fmr->lmr->obj.users) > 0)
			continue;
		slot_free_mrs(fmr, slot);
		spin_lock_bh(&fmr->lock);
		dat_fmr_unmap(fmr, slot);
		spin_unlock_bh(&fmr->lock);
		if (slot_alloc_mr(fmr, slot))
			continue;
		spin_lock_bh(&fmr->lock);
		slot->state = DAT_FMR_IDLE;
		spin_unlock_bh(&fmr->lock);
	}
	dat_object_put(&fmr->lmr->obj);
}

/* Return the EP of an outstanding request, referenced; NULL if there is none. */
static struct dat_object *pending_ep(struct dat_fmr *fmr)
{
	struct dat_object *ep = NULL;
	unsigned int i;

	spin_lock_bh(&fmr->lock);
	for (i = 0; i < DAT_FMR_SLOTS && !ep; i++)
		ep = fmr->slots[i].ep;
	if (ep)
		kref_get(&ep->ref);
	spin_unlock_bh(&fmr->lock);
	return ep;
}

static void fmr_shutdown(struct dat_object *obj)
{
	struct dat_lmr *lmr = to_lmr(obj);
	struct dat_fmr *fmr = lmr->fmr;
	unsigned int i, waited = 0;
	struct dat_object *ep;

	/* Posts that hold the lock complete; later posts see is_down. */
	while ((ep = pending_ep(fmr))) {
		ep->ops->progress(ep, waited++);
		dat_object_put(ep);
	}
	if (cancel_work_sync(&fmr->repair_work))
		dat_object_put(obj);
	spin_lock_bh(&fmr->lock);
	dat_fmr_forget(fmr);
	spin_unlock_bh(&fmr->lock);
	dat_lmr_wait_for_syncs(lmr);
	for (i = 0; i < DAT_FMR_SLOTS; i++) {
		slot_free_mrs(fmr, &fmr->slots[i]);
		dat_fmr_unmap(fmr, &fmr->slots[i]);
	}
	dat_object_use_put(&lmr->pz->obj);
}

static void fmr_release(struct dat_object *obj)
{
	struct dat_lmr *lmr = to_lmr(obj);
	unsigned int i;

	for (i = 0; i < DAT_FMR_SLOTS; i++)
		kvfree(lmr->fmr->slots[i].sgl);
	kfree(lmr->fmr);
	dat_object_put(&lmr->pz->obj);
	kfree(lmr);
}

static const struct dat_object_ops fmr_ops = {
	.shutdown = fmr_shutdown,
	.release = fmr_release,
};

static int slots_alloc(struct dat_fmr *fmr)
{
	unsigned int i;

	for (i = 0; i < DAT_FMR_SLOTS; i++) {
		struct dat_fmr_slot *slot = &fmr->slots[i];

		slot->sgl = kvcalloc(fmr->max_pages, sizeof(*slot->sgl),
				     GFP_KERNEL_ACCOUNT);
		if (!slot->sgl || slot_alloc_mr(fmr, slot))
			return -ENOMEM;
	}
	dat_fmr_forget(fmr);
	return 0;
}

static size_t fmr_bytes(const struct dat_fmr *fmr)
{
	return sizeof(struct dat_lmr) + sizeof(*fmr) + DAT_BYTES_HANDLE +
	       DAT_FMR_SLOTS * (DAT_FRMR_MRS * dat_bytes_mr(fmr->list_len) +
				(size_t)fmr->max_pages * DAT_BYTES_SG);
}

static DAT_RETURN fmr_create(struct dat_pz *pz, u32 max_pages,
			     DAT_LMR_HANDLE *handle)
{
	struct dat_lmr *lmr = kzalloc(sizeof(*lmr), GFP_KERNEL_ACCOUNT);
	struct dat_fmr *fmr = kzalloc(sizeof(*fmr), GFP_KERNEL_ACCOUNT);
	DAT_RETURN ret;

	if (!lmr || !fmr) {
		kfree(fmr);
		kfree(lmr);
		dat_object_use_put(&pz->obj);
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	}
	dat_object_init(&lmr->obj, DAT_HANDLE_TYPE_LMR, pz->obj.owner, &fmr_ops);
	kref_get(&pz->obj.ref);
	lmr->pz = pz;
	lmr->fmr = fmr;
	fmr->lmr = lmr;
	fmr->max_pages = max_pages;
	fmr->list_len = pages_of_device(dat_ia_ibdev(pz->obj.ia), max_pages);
	spin_lock_init(&fmr->lock);
	INIT_WORK(&fmr->repair_work, fmr_repair);

	/* From here on dat_object_shutdown() undoes a failure. */
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			DAT_RESOURCE_MEMORY_REGION);
	if (!dat_object_charge(&lmr->obj, fmr_bytes(fmr)))
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
	else if (dat_object_charge_hca(&lmr->obj, DAT_HCA_OBJECT,
				       DAT_FMR_SLOTS * DAT_FRMR_MRS) &&
		 !slots_alloc(fmr))
		ret = dat_object_publish(&lmr->obj);
	if (ret) {
		dat_object_shutdown(&lmr->obj);
		dat_object_put(&lmr->obj);
		return ret;
	}
	*handle = lmr->obj.handle;
	return DAT_SUCCESS;
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
	struct dat_object *ia_obj, *pz_obj;
	struct ib_device *ibdev;
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

	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ibdev = dat_ia_ibdev(to_ia(ia_obj));
	if (pages_of_device(ibdev, num_pages) > dat_dev_max_pages(ibdev)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY_REGION);
		goto leave;
	}
	pz_obj = dat_object_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (pz_obj && pz_obj->ia == to_ia(ia_obj) && dat_object_use_get(pz_obj))
		ret = fmr_create(to_pz(pz_obj), num_pages, lmr_handle);
	else
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (pz_obj)
		dat_object_put(pz_obj);
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * frmr.c - allocates, renews, repairs and destroys pairs of MRs
 *
 * A context consists of the index of an MR and a key of 8 bits. Each registration
 * advances the key. After 255 registrations the next context would be one that a peer
 * has already had, so the MR is replaced before. A work allocates a spare MR in advance
 * and deregisters the used-up one. The spare replaces the MR under the lock of the pair.
 * Registrations that are faster than the work are refused until the work has run. The
 * same work replaces MRs whose request has failed, or whose page list is too short.
 * Posts and completions call dat_frmr_idle(), _posted() and _completed() in any context.
 */
#include "base/account.h"
#include "base/workqueue.h"
#include "dev/device.h"
#include "mem/frmr.h"
#include "mem/lmr.h"

/* Registrations of an MR. The key that the MR is allocated with is never used. */
#define KEYS		255
/* Number of registrations after which a spare is allocated. */
#define SPARE_AT	64
/* MRs that are charged: each MR, and its spare or its predecessor. */
#define NUM_MRS		(DAT_FRMR_PAIR * 2)

static size_t charge_of(u32 list_len)
{
	return NUM_MRS * dat_bytes_mr(list_len);
}

static struct ib_mr *frmr_alloc_mr(struct dat_frmr_pair *pair, u32 *list_len)
{
	struct ib_mr *mr;

	*list_len = READ_ONCE(pair->list_len);
	mr = dat_dev_alloc_mr(pair->pd, *list_len);
	if (IS_ERR(mr))
		return NULL;
	if (!pair->ops->insert_mr(pair->obj, mr))
		return mr;
	ib_dereg_mr(mr);
	return NULL;
}

/*
 * Remove the key first: the next MR may receive the index once this MR is deregistered.
 */
static void frmr_free_mr(struct dat_frmr_pair *pair, struct ib_mr *mr)
{
	if (!mr)
		return;
	pair->ops->remove_mr(pair->obj, mr);
	dat_dev_dereg_mr(mr);
}

static bool frmr_alloc(struct dat_frmr_pair *pair, struct dat_frmr *frmr)
{
	u32 list_len;
	struct ib_mr *mr = frmr_alloc_mr(pair, &list_len);

	if (!mr)
		return false;
	spin_lock_bh(&pair->lock);
	frmr->mr = mr;
	frmr->list_len = list_len;
	frmr->dead_key = mr->rkey;
	frmr->state = DAT_FRMR_IDLE;
	spin_unlock_bh(&pair->lock);
	return true;
}

/* The caller has exclusive use of the MR. */
static void frmr_free(struct dat_frmr_pair *pair, struct dat_frmr *frmr)
{
	frmr_free_mr(pair, frmr->mr);
	frmr_free_mr(pair, frmr->spare);
	frmr_free_mr(pair, frmr->old);
	frmr->mr = NULL;
	frmr->spare = NULL;
	frmr->old = NULL;
	frmr->used = 0;
	pair->ops->release(pair, frmr);
}

static bool frmr_wants_spare(const struct dat_frmr *frmr)
{
	return frmr->used >= SPARE_AT && !frmr->spare;
}

/* Deregister the used-up MR, and allocate the next spare before it is needed. */
static void frmr_renew_spare(struct dat_frmr_pair *pair, struct dat_frmr *frmr)
{
	struct ib_mr *old = NULL, *spare;
	u32 list_len;
	bool wanted;

	spin_lock_bh(&pair->lock);
	swap(old, frmr->old);
	wanted = frmr_wants_spare(frmr);
	spin_unlock_bh(&pair->lock);
	frmr_free_mr(pair, old);
	spare = wanted ? frmr_alloc_mr(pair, &list_len) : NULL;
	if (!spare)
		return;
	/* Only this work sets the spare. */
	spin_lock_bh(&pair->lock);
	frmr->spare = spare;
	frmr->spare_len = list_len;
	spin_unlock_bh(&pair->lock);
}

static void frmr_repair(struct work_struct *work)
{
	struct dat_frmr_pair *pair =
		container_of(work, struct dat_frmr_pair, repair_work);
	unsigned int i;

	/* The device still exists: dat_frmr_stop() waits for this work. */
	for (i = 0; i < DAT_FRMR_PAIR; i++) {
		struct dat_frmr *frmr = pair->frmr[i];
		bool is_broken;

		spin_lock_bh(&pair->lock);
		is_broken = frmr->state == DAT_FRMR_BROKEN;
		spin_unlock_bh(&pair->lock);
		/* Only this work uses a broken MR that is not busy. */
		if (!is_broken) {
			frmr_renew_spare(pair, frmr);
		} else if (!pair->ops->is_busy ||
			   !pair->ops->is_busy(pair, frmr)) {
			frmr_free(pair, frmr);
			frmr_alloc(pair, frmr);
		}
	}
	dat_object_put(pair->obj);
}

/**
 * dat_frmr_repair_later - replace broken MRs and allocate spares, in a work
 * @pair: the pair, locked
 *
 * Context: any.
 */
void dat_frmr_repair_later(struct dat_frmr_pair *pair)
{
	kref_get(&pair->obj->ref);
	if (!queue_work(kdapl_mr_wq, &pair->repair_work))
		dat_object_put(pair->obj);
}

/* Return false if all keys of the MR are used up and no spare is ready. */
static bool frmr_renew(struct dat_frmr_pair *pair, struct dat_frmr *frmr)
{
	if (unlikely(frmr->used >= KEYS)) {
		if (!frmr->spare || frmr->old)
			return false;
		frmr->old = frmr->mr;
		frmr->mr = frmr->spare;
		frmr->list_len = frmr->spare_len;
		frmr->dead_key = frmr->mr->rkey;
		frmr->spare = NULL;
		frmr->used = 0;
	}
	if (unlikely(frmr->old || frmr_wants_spare(frmr)))
		dat_frmr_repair_later(pair);
	return true;
}

/**
 * dat_frmr_idle - find the MR for the next registration
 * @pair: the pair, locked; the caller must no longer need the other MR
 *
 * Context: any.
 * Return: its index, or DAT_FRMR_NONE.
 */
unsigned int dat_frmr_idle(struct dat_frmr_pair *pair)
{
	unsigned int i;

	for (i = 0; i < DAT_FRMR_PAIR; i++) {
		struct dat_frmr *frmr = pair->frmr[i];

		if (frmr->state == DAT_FRMR_IDLE) {
			if (frmr_renew(pair, frmr))
				break;
			frmr->state = DAT_FRMR_BROKEN;
		}
		/* Also retry a replacement that failed for lack of memory. */
		if (frmr->state == DAT_FRMR_BROKEN)
			dat_frmr_repair_later(pair);
	}
	return i;
}

/**
 * dat_frmr_enlarge - replace an MR whose page list is too short, in a work
 * @pair: the pair, locked
 * @frmr: the MR, idle
 * @pages: entries that it needs, more than it has, at most dat_dev_max_pages()
 *
 * Later MRs of the pair are as large.
 *
 * Context: any.
 * Return: DAT_INSUFFICIENT_RESOURCES; with DAT_RESOURCE_MEMORY_REGION until the work has
 * run, with DAT_RESOURCE_MEMORY if the account refuses the charge.
 */
DAT_RETURN dat_frmr_enlarge(struct dat_frmr_pair *pair, struct dat_frmr *frmr,
			    u32 pages)
{
	u32 list_len = min_t(u32, roundup_pow_of_two(pages),
			     dat_dev_max_pages(pair->pd->device));

	if (list_len > pair->list_len) {
		if (!dat_object_try_charge(pair->obj,
					   charge_of(list_len) - charge_of(pair->list_len)))
			return dat_no_memory();
		WRITE_ONCE(pair->list_len, list_len);
	}
	frmr->state = DAT_FRMR_BROKEN;
	dat_frmr_repair_later(pair);
	return dat_no_mr();
}

/**
 * dat_frmr_posted - count a request that has been posted
 * @pair: the pair, locked; the request takes a reference to its owner
 * @frmr: the MR that counts the request
 * @ep: the EP; that of all requests which the MR counts
 *
 * Context: any.
 */
void dat_frmr_posted(struct dat_frmr_pair *pair, struct dat_frmr *frmr,
		     struct dat_object *ep)
{
	kref_get(&pair->obj->ref);
	if (!frmr->pending++) {
		kref_get(&ep->ref);
		frmr->ep = ep;
	}
}

/**
 * dat_frmr_completed - reverse dat_frmr_posted(), except for the reference to the owner
 * @frmr: the MR that has counted the request, locked
 *
 * Context: any.
 * Return: the EP, for dat_object_put() after unlocking, or NULL.
 */
struct dat_object *dat_frmr_completed(struct dat_frmr *frmr)
{
	struct dat_object *ep = NULL;

	if (!--frmr->pending)
		swap(ep, frmr->ep);
	return ep;
}

/**
 * dat_frmr_init - initialise a pair without MRs
 * @pair: the pair, with the fields before @lock set
 */
void dat_frmr_init(struct dat_frmr_pair *pair)
{
	spin_lock_init(&pair->lock);
	pair->current_frmr = DAT_FRMR_NONE;
	INIT_WORK(&pair->repair_work, frmr_repair);
}

/**
 * dat_frmr_create - charge the owner of a pair for its MRs, and allocate them
 * @pair: from dat_frmr_init()
 * @bytes: what the owner is charged for in addition, in bytes
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES; dat_frmr_destroy() undoes both.
 */
DAT_RETURN dat_frmr_create(struct dat_frmr_pair *pair, size_t bytes)
{
	if (!dat_object_charge(pair->obj, bytes + charge_of(pair->list_len)))
		return dat_no_memory();
	/* A pair that is never registered twice in a row needs one MR. */
	pair->frmr[1]->state = DAT_FRMR_BROKEN;
	if (!dat_object_charge_hca(pair->obj, DAT_HCA_OBJECT, NUM_MRS) ||
	    !frmr_alloc(pair, pair->frmr[0]) ||
	    (!pair->renews && !frmr_alloc(pair, pair->frmr[1])))
		return dat_no_mr();
	return DAT_SUCCESS;
}

/* Return the EP of an outstanding request, referenced; NULL if there is none. */
static struct dat_object *pending_ep(struct dat_frmr_pair *pair)
{
	struct dat_object *ep;

	spin_lock_bh(&pair->lock);
	ep = pair->frmr[0]->ep ?: pair->frmr[1]->ep;
	if (ep)
		kref_get(&ep->ref);
	spin_unlock_bh(&pair->lock);
	return ep;
}

/*
 * Calls of ops->progress(), of a millisecond each. It breaks the connection after 2 s. What a
 * device has not flushed 5 s later is lost, as for dat_ep_qp_destroy().
 */
#define LOST_AFTER	7000

/**
 * dat_frmr_stop - wait until neither a request nor the repair work uses a pair
 * @pair: the pair; its owner is_down
 *
 * An MR must not be destroyed while a queued work request names it. Requests complete by
 * themselves. If they do not, ops->progress() breaks their connection. If the device does not
 * flush them then, it executes nothing any more. Posts that hold the lock complete; later
 * posts see is_down.
 *
 * Context: process, may sleep.
 */
void dat_frmr_stop(struct dat_frmr_pair *pair)
{
	struct dat_object *ep;
	unsigned int waited;

	for (waited = 0; (ep = pending_ep(pair)) && waited < LOST_AFTER; waited++) {
		ep->ops->progress(ep, waited);
		dat_object_put(ep);
	}
	if (ep) {
		pr_warn_ratelimited("kdapl: %s: a bind or registration does not complete\n",
				    pair->pd->device->name);
		dat_object_put(ep);
	}
	if (cancel_work_sync(&pair->repair_work))
		dat_object_put(pair->obj);
}

/**
 * dat_frmr_destroy - destroy the MRs of a pair and release their memory
 * @pair: the pair, after dat_frmr_stop()
 *
 * Context: process, may sleep.
 */
void dat_frmr_destroy(struct dat_frmr_pair *pair)
{
	unsigned int i;

	for (i = 0; i < DAT_FRMR_PAIR; i++) {
		frmr_free(pair, pair->frmr[i]);
		pair->frmr[i]->state = DAT_FRMR_BROKEN;
	}
}

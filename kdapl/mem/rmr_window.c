// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_window.c - changes the state of the two windows of an RMR
 *
 * Maps an LMR into a window before a bind, and processes completions of binds and
 * invalidations by peers. The posting code and the completion code call it, in any
 * context. If a bind fails, this file marks windows as broken, and the repair work in
 * rmr.c replaces their MRs.
 */
#include "base/workqueue.h"
#include "dev/device.h"
#include "mem/lmr.h"
#include "mem/rmr.h"

static void rmr_repair_later(struct dat_rmr *rmr)
{
	kref_get(&rmr->obj.ref);
	if (!queue_work(kdapl_mr_wq, &rmr->repair_work))
		dat_object_put(&rmr->obj);
}

static bool is_same(const struct dat_shown *a, const struct dat_shown *b)
{
	return a->pages == b->pages && a->address == b->address &&
	       a->length == b->length && a->iova == b->iova;
}

/**
 * dat_window_map - list the pages of a part of an LMR in a window's MR
 * @window: the window, invalid for peers; its MR receives the next key
 * @lmr: the LMR, used
 * @part: the part
 * @iova: address of the first byte for peers
 *
 * A consumer may bind the same part repeatedly, for example each buffer after it is
 * filled. The pages are then listed only once for each window. The key counts as used
 * even if the bind fails later.
 *
 * Context: any; the RMR's lock is held.
 * Return: as dat_lmr_map_mr().
 */
int dat_window_map(struct dat_window *window, const struct dat_lmr *lmr,
		   const DAT_LMR_TRIPLET *part, u64 iova)
{
	const struct dat_shown shown = {
		.pages = lmr->pages,
		.address = part->virtual_address,
		.length = part->segment_length,
		.iova = iova,
	};
	struct ib_mr *mr = window->mr;
	int err;

	if (is_same(&window->shown, &shown)) {
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		window->keys.used++;
		return 0;
	}
	/* Even if the mapping fails, the old page list is no longer valid. */
	window->shown.pages = 0;
	err = dat_lmr_map_mr(lmr, mr, shown.address, shown.length, iova);
	if (err)
		return err;
	window->keys.used++;
	if (dat_dev_keeps_pages(mr->device))
		window->shown = shown;
	return 0;
}

/**
 * dat_window_clear - release a window's LMR
 * @window: the window, invalid for peers
 *
 * Context: any.
 */
void dat_window_clear(struct dat_window *window)
{
	struct dat_lmr *lmr = window->lmr;

	window->lmr = NULL;
	memset(&window->triplet, 0, sizeof(window->triplet));
	window->privileges = DAT_MEM_PRIV_NONE_FLAG;
	window->revoked = false;
	if (lmr) {
		dat_object_use_put(&lmr->obj);
		dat_object_put(&lmr->obj);
	}
}

static void window_retire(struct dat_window *window)
{
	dat_window_clear(window);
	window->state = DAT_WINDOW_IDLE;
}

static void window_bound(struct dat_window *window)
{
	if (window->revoked)
		window_retire(window);
	else
		window->state = DAT_WINDOW_BOUND;
}

static void window_break(struct dat_rmr *rmr, struct dat_window *window)
{
	window->state = DAT_WINDOW_BROKEN;
	if (window->lmr)
		atomic_inc(&window->lmr->broken);
	rmr_repair_later(rmr);
}

static unsigned int rmr_open_window(const struct dat_rmr *rmr)
{
	unsigned int i, found = DAT_RMR_NO_WINDOW;

	for (i = 0; i < DAT_RMR_WINDOWS; i++)
		if ((rmr->windows[i].state == DAT_WINDOW_BINDING &&
		     !rmr->windows[i].revoked) ||
		    (rmr->windows[i].state == DAT_WINDOW_BOUND &&
		     found == DAT_RMR_NO_WINDOW))
			found = i;
	return found;
}

/*
 * The connection is broken, and the device may have executed a flushed request all the
 * same: rxe, for example, flushes requests that it has already executed. kdapl
 * therefore trusts neither window and closes both by replacing their MRs.
 */
static void rmr_bind_failed(struct dat_rmr *rmr, u8 bind)
{
	unsigned int new = DAT_BIND_NEW(bind), old = DAT_BIND_OLD(bind);

	/* The window is already broken if the bind that should have opened it failed. */
	if (old != DAT_RMR_NO_WINDOW &&
	    rmr->windows[old].state == DAT_WINDOW_UNBINDING)
		window_break(rmr, &rmr->windows[old]);
	if (new != DAT_RMR_NO_WINDOW)
		window_break(rmr, &rmr->windows[new]);
	rmr->current_window = rmr_open_window(rmr);
}

/**
 * dat_rmr_bound - process the completion of a bind
 * @rmr: the RMR; the reference of the bind is returned
 * @bind: its windows, as in &struct dat_dto
 * @status: status of the completion
 *
 * Context: any; the lock of the EVD is held.
 */
void dat_rmr_bound(struct dat_rmr *rmr, u8 bind, enum ib_wc_status status)
{
	struct dat_object *ep = NULL;

	spin_lock_bh(&rmr->lock);
	if (status != IB_WC_SUCCESS) {
		rmr_bind_failed(rmr, bind);
	} else {
		unsigned int new = DAT_BIND_NEW(bind);
		unsigned int old = DAT_BIND_OLD(bind);

		/* The next bind may already have begun to unbind the window. */
		if (new != DAT_RMR_NO_WINDOW &&
		    rmr->windows[new].state == DAT_WINDOW_BINDING)
			window_bound(&rmr->windows[new]);
		if (old != DAT_RMR_NO_WINDOW &&
		    rmr->windows[old].state == DAT_WINDOW_UNBINDING)
			window_retire(&rmr->windows[old]);
	}
	if (!--rmr->outstanding)
		swap(ep, rmr->bind_ep);
	spin_unlock_bh(&rmr->lock);

	if (ep)
		dat_object_put(ep);
	dat_object_put(&rmr->obj);
}

/**
 * dat_rmr_revoke - process the invalidation of a window by a peer
 * @rmr: the RMR
 * @context: the context that the peer has invalidated
 *
 * If the context belonged to the open window, the RMR is no longer bound.
 *
 * Context: any; in an RCU read-side section.
 */
void dat_rmr_revoke(struct dat_rmr *rmr, DAT_RMR_CONTEXT context)
{
	unsigned int i;

	spin_lock_bh(&rmr->lock);
	for (i = 0; i < DAT_RMR_WINDOWS && !rmr->obj.is_down; i++) {
		struct dat_window *window = &rmr->windows[i];

		if (window->dead_key != context)
			continue;
		/* An invalidation that is already posted does no harm. */
		if (window->state == DAT_WINDOW_BOUND)
			window_retire(window);
		else if (window->state == DAT_WINDOW_BINDING)
			window->revoked = true;
		else
			continue;
		if (rmr->current_window == i)
			rmr->current_window = DAT_RMR_NO_WINDOW;
	}
	spin_unlock_bh(&rmr->lock);
}

/* Return false if all contexts of the MR are used up and no spare MR is ready. */
static bool window_renew(struct dat_rmr *rmr, struct dat_window *window)
{
	if (!dat_frmr_renew(&window->mr, &window->keys)) {
		window->state = DAT_WINDOW_BROKEN;
		rmr_repair_later(rmr);
		return false;
	}
	if (unlikely(!window->keys.used && window->mr)) {
		window->dead_key = window->mr->rkey;
		window->shown.pages = 0;
	}
	if (unlikely(dat_frmr_wants_work(&window->keys)))
		rmr_repair_later(rmr);
	return true;
}

/**
 * dat_rmr_idle_window - find the window for the next bind
 * @rmr: the RMR; the caller holds its lock
 *
 * The caller must no longer need the other window.
 *
 * Context: any.
 * Return: its index, or DAT_RMR_NO_WINDOW.
 */
unsigned int dat_rmr_idle_window(struct dat_rmr *rmr)
{
	unsigned int i;

	for (i = 0; i < DAT_RMR_WINDOWS; i++) {
		if (rmr->windows[i].state == DAT_WINDOW_IDLE &&
		    window_renew(rmr, &rmr->windows[i]))
			break;
		/* Retry a replacement that failed for lack of memory. */
		if (rmr->windows[i].state == DAT_WINDOW_BROKEN)
			rmr_repair_later(rmr);
	}
	return i;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_window.c - changes the state of the two windows of an RMR
 *
 * Maps an LMR into a window before a bind, and processes completions of binds and
 * invalidations by peers. The posting code and the completion code call it, in any
 * context. If a bind fails, this file marks windows as broken, and the repair work of
 * frmr.c replaces their MRs.
 */
#include "dev/device.h"
#include "mem/lmr.h"
#include "mem/rmr.h"

static bool is_same(const struct dat_shown *a, const struct dat_shown *b)
{
	return a->pages == b->pages && a->address == b->address &&
	       a->length == b->length && a->iova == b->iova;
}

/* No page list has smaller pages. */
#define SMALL_PAGE_SHIFT	12

/**
 * dat_window_make_room - replace the MR of a window if its page list is too short
 * @rmr: the RMR, locked
 * @window: its window, idle
 * @iova: address of the first byte for peers
 * @length: bytes to map
 *
 * Context: any.
 * Return: DAT_SUCCESS, or as dat_frmr_enlarge().
 */
DAT_RETURN dat_window_make_room(struct dat_rmr *rmr, struct dat_window *window, u64 iova,
				u32 length)
{
	struct ib_device *ibdev = rmr->pair.pd->device;
	u32 page_size, pages;

	if (likely((length >> SMALL_PAGE_SHIFT) + 2 <= window->frmr.list_len))
		return DAT_SUCCESS;
	page_size = dat_dev_page_size(ibdev);
	pages = min_t(u64, ((iova & (page_size - 1)) + length + page_size - 1) >>
			   ilog2(page_size), dat_dev_max_pages(ibdev));
	return pages <= window->frmr.list_len ? DAT_SUCCESS :
			dat_frmr_enlarge(&rmr->pair, &window->frmr, pages);
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
	struct ib_mr *mr = window->frmr.mr;
	int err;

	/* The page list of a new MR is empty. */
	if (window->frmr.used && is_same(&window->shown, &shown)) {
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		window->frmr.used++;
		return 0;
	}
	/* Even if the mapping fails, the old page list is no longer valid. */
	window->shown.pages = 0;
	err = dat_lmr_map_mr(lmr, mr, shown.address, shown.length, iova);
	if (err)
		return err;
	window->frmr.used++;
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
	window->frmr.state = DAT_FRMR_IDLE;
}

static void window_bound(struct dat_window *window)
{
	if (window->revoked)
		window_retire(window);
	else
		window->frmr.state = DAT_FRMR_VALID;
}

/* Two binds that fail may both name the window: the LMR counts it once. */
static void window_break(struct dat_rmr *rmr, struct dat_window *window)
{
	if (window->frmr.state == DAT_FRMR_BROKEN)
		return;
	window->frmr.state = DAT_FRMR_BROKEN;
	if (window->lmr)
		atomic_inc(&window->lmr->broken);
	dat_frmr_repair_later(&rmr->pair);
}

static unsigned int rmr_open_window(const struct dat_rmr *rmr)
{
	unsigned int i, found = DAT_FRMR_NONE;

	for (i = 0; i < DAT_FRMR_PAIR; i++) {
		const struct dat_window *w = &rmr->windows[i];

		if ((w->frmr.state == DAT_FRMR_POSTED && !w->revoked) ||
		    (w->frmr.state == DAT_FRMR_VALID && found == DAT_FRMR_NONE))
			found = i;
	}
	return found;
}

/* Return a window of a bind, if it is in the state that the bind has set; or NULL. */
static struct dat_window *window_of(struct dat_rmr *rmr, unsigned int i,
				    enum dat_frmr_state state)
{
	return i != DAT_FRMR_NONE && rmr->windows[i].frmr.state == state ?
		       &rmr->windows[i] : NULL;
}

/*
 * The connection is broken, and the device may have executed a flushed request all the
 * same: rxe, for example, flushes requests that it has already executed. kdapl
 * therefore trusts neither window and closes both by replacing their MRs.
 */
static void rmr_bind_failed(struct dat_rmr *rmr, unsigned int new,
			    struct dat_window *closed)
{
	if (closed)
		window_break(rmr, closed);
	if (new != DAT_FRMR_NONE)
		window_break(rmr, &rmr->windows[new]);
	rmr->pair.current_frmr = rmr_open_window(rmr);
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
	struct dat_window *opened, *closed;
	struct dat_object *ep;

	spin_lock_bh(&rmr->pair.lock);
	/*
	 * The next bind may already have begun to unbind the new window. The old one is
	 * already broken if the bind that should have opened it failed.
	 */
	opened = window_of(rmr, DAT_BIND_NEW(bind), DAT_FRMR_POSTED);
	closed = window_of(rmr, DAT_BIND_OLD(bind), DAT_FRMR_INVALIDATING);
	if (status != IB_WC_SUCCESS) {
		rmr_bind_failed(rmr, DAT_BIND_NEW(bind), closed);
	} else {
		if (opened)
			window_bound(opened);
		if (closed)
			window_retire(closed);
	}
	ep = dat_frmr_completed(&rmr->windows[0].frmr);
	spin_unlock_bh(&rmr->pair.lock);

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

	spin_lock_bh(&rmr->pair.lock);
	for (i = 0; i < DAT_FRMR_PAIR && !rmr->obj.is_down; i++) {
		struct dat_window *window = &rmr->windows[i];

		if (window->frmr.dead_key != context)
			continue;
		/* An invalidation that is already posted does no harm. */
		if (window->frmr.state == DAT_FRMR_VALID)
			window_retire(window);
		else if (window->frmr.state == DAT_FRMR_POSTED)
			window->revoked = true;
		else
			continue;
		if (rmr->pair.current_frmr == i)
			rmr->pair.current_frmr = DAT_FRMR_NONE;
	}
	spin_unlock_bh(&rmr->pair.lock);
}

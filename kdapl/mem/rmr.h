/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rmr.h - remote memory regions
 */
#ifndef _KDAPL_RMR_H
#define _KDAPL_RMR_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "base/object.h"
#include "mem/frmr.h"

struct dat_ia;
struct dat_lmr;
struct dat_pz;

#define DAT_RMR_WINDOWS		2
#define DAT_RMR_NO_WINDOW	DAT_RMR_WINDOWS

/* In dto->bind: the window being bound, and above it the one being unbound. */
#define DAT_BIND_NEW(bind)	((bind) & 3)
#define DAT_BIND_OLD(bind)	((bind) >> 2)
#define DAT_BIND(new, old)	((new) | (old) << 2)

/**
 * enum dat_window_state - what a window of an RMR is
 * @DAT_WINDOW_IDLE: dead to peers, free for the next bind
 * @DAT_WINDOW_BINDING: its registration has been posted
 * @DAT_WINDOW_BOUND: open to peers
 * @DAT_WINDOW_UNBINDING: its invalidation has been posted
 * @DAT_WINDOW_BROKEN: a bind failed and nobody knows what the device has done;
 *	it keeps its LMR until its MR is gone, and gets a new one
 */
enum dat_window_state {
	DAT_WINDOW_IDLE,
	DAT_WINDOW_BINDING,
	DAT_WINDOW_BOUND,
	DAT_WINDOW_UNBINDING,
	DAT_WINDOW_BROKEN,
};

/**
 * struct dat_shown - what an MR's list of pages is
 * @pages: number of the pages, or 0 if it is none
 * @address: where the part of them that it shows begins
 * @length: bytes
 * @iova: what peers call the first of them
 */
struct dat_shown {
	u64 pages;
	u64 address;
	u64 length;
	u64 iova;
};

/**
 * struct dat_window - one of the MRs of an RMR
 * @mr: the MR; NULL when the device has gone, or no new one could be had
 * @state: guarded by rmr->lock
 * @keys: those that it has had
 * @dead_key: the key that the device last knew it by
 * @lmr: what it shows a part of, referenced and used unless idle
 * @triplet: the part
 * @address: what peers call its first byte
 * @va_type: how they count
 * @privileges: what peers may do
 * @revoked: a peer has invalidated it before the bind's completion was seen
 * @shown: what @mr would show if it were registered as it is
 */
struct dat_window {
	struct ib_mr *mr;
	enum dat_window_state state;
	struct dat_frmr_keys keys;
	u32 dead_key;
	struct dat_lmr *lmr;
	DAT_LMR_TRIPLET triplet;
	u64 address;
	DAT_VA_TYPE va_type;
	DAT_MEM_PRIV_FLAGS privileges;
	bool revoked;
	struct dat_shown shown;
};

/**
 * struct dat_rmr - a remote memory region
 * @obj: head
 * @pz: its PZ, used
 * @scope: DAT_RMR_SCOPE_PZ or DAT_RMR_SCOPE_EP
 * @lock: guards the windows, @current_window, @scope_ep, @bind_ep, @outstanding
 * @windows: the MRs; mapping pages into an MR rewrites it at once, so the next
 *	bind must not touch the one that peers can still reach
 * @current_window: the window of the latest bind, or DAT_RMR_NO_WINDOW
 * @scope_ep: EP of the latest bind, which a @scope of an EP is about
 * @bind_ep: EP of the latest bind, referenced while @outstanding
 * @outstanding: binds that have not completed
 * @repair_work: gives broken windows new MRs, and others their spares
 */
struct dat_rmr {
	struct dat_object obj;
	struct dat_pz *pz;
	DAT_RMR_SCOPE scope;
	spinlock_t lock;
	struct dat_window windows[DAT_RMR_WINDOWS];
	u8 current_window;
	DAT_EP_HANDLE scope_ep;
	struct dat_object *bind_ep;
	unsigned int outstanding;
	struct work_struct repair_work;
};

static inline struct dat_rmr *to_rmr(struct dat_object *obj)
{
	return container_of(obj, struct dat_rmr, obj);
}

/* rmr_window.c */
void dat_rmr_bound(struct dat_rmr *rmr, u8 bind, enum ib_wc_status status);
int dat_window_map(struct dat_window *window, const struct dat_lmr *lmr,
		   const DAT_LMR_TRIPLET *part, u64 iova);
void dat_window_clear(struct dat_window *window);
void dat_rmr_revoke(struct dat_rmr *rmr, DAT_RMR_CONTEXT context);
unsigned int dat_rmr_idle_window(struct dat_rmr *rmr);

/* rmr.c */
DAT_HANDLE dat_rmr_handle(const struct dat_rmr *rmr);
void dat_rmr_wait_for_repair(struct dat_lmr *lmr);

/* rmr_find.c */
int dat_rmr_insert_key(struct dat_rmr *rmr, u32 key);
void dat_rmr_remove_key(struct dat_rmr *rmr, u32 key);
void dat_context_revoked(struct dat_ia *ia, DAT_RMR_CONTEXT context);
DAT_RETURN dat_remote_check(struct dat_ia *ia, const struct dat_pz *pz,
			    const DAT_RMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS privilege, u32 *lkey);

#endif /* _KDAPL_RMR_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rmr.h - remote memory regions
 *
 * Declares struct dat_rmr and its two windows. rmr.c owns their MRs, rmr_window.c their
 * states, and rmr_find.c the lookup by rmr_context.
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

/* In dto->bind: the window that is bound, and above it the one that is unbound. */
#define DAT_BIND_NEW(bind)	((bind) & 3)
#define DAT_BIND_OLD(bind)	((bind) >> 2)
#define DAT_BIND(new, old)	((new) | (old) << 2)

/**
 * enum dat_window_state - state of a window of an RMR
 * @DAT_WINDOW_IDLE: invalid for peers, free for the next bind
 * @DAT_WINDOW_BINDING: its registration has been posted
 * @DAT_WINDOW_BOUND: open to peers
 * @DAT_WINDOW_UNBINDING: its invalidation has been posted
 * @DAT_WINDOW_BROKEN: a bind has failed, and the state of the MR in the device is
 *	unknown; the window keeps its LMR until its MR is deregistered and replaced
 */
enum dat_window_state {
	DAT_WINDOW_IDLE,
	DAT_WINDOW_BINDING,
	DAT_WINDOW_BOUND,
	DAT_WINDOW_UNBINDING,
	DAT_WINDOW_BROKEN,
};

/**
 * struct dat_shown - content of an MR's page list
 * @pages: identifier of the pages, see dat_lmr_new_pages(); 0 if the list is not valid
 * @address: first address of the listed part
 * @length: length of the part, in bytes
 * @iova: address of the first byte for peers
 */
struct dat_shown {
	u64 pages;
	u64 address;
	u64 length;
	u64 iova;
};

/**
 * struct dat_window - one of the MRs of an RMR
 * @mr: the MR; NULL after the device is removed, or if no new MR could be allocated
 * @state: state of the window; protected by rmr->lock
 * @keys: the keys of @mr that have been used
 * @dead_key: the key under which the device last knew @mr
 * @lmr: the LMR that it shows a part of, referenced and used unless idle
 * @triplet: the part
 * @address: address of the first byte for peers
 * @va_type: address type for peers
 * @privileges: privileges of peers
 * @revoked: a peer has invalidated it before kdapl processed the bind's completion
 * @shown: content of the page list of @mr
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
 * @lock: protects the windows, @current_window, @scope_ep, @bind_ep, @outstanding
 * @windows: the MRs; mapping pages into an MR rewrites it at once, so the next bind
 *	must not use the MR that peers can still access
 * @current_window: the window of the latest bind, or DAT_RMR_NO_WINDOW
 * @scope_ep: EP of the latest bind, for DAT_RMR_SCOPE_EP
 * @bind_ep: EP of the latest bind, referenced while @outstanding is not 0
 * @outstanding: number of binds that have not completed
 * @repair_work: replaces the MRs of broken windows and allocates spares for others
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

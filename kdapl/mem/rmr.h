/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rmr.h - remote memory regions
 *
 * Declares struct dat_rmr and its two windows. rmr.c creates, looks up and frees it;
 * rmr_window.c owns the states of the windows.
 */
#ifndef _KDAPL_RMR_H
#define _KDAPL_RMR_H

#include <rdma/ib_verbs.h>

#include "base/object.h"
#include "mem/frmr.h"

struct dat_ia;
struct dat_lmr;
struct dat_pz;

/* In dto->bind: the window that is bound, and above it the one that is unbound. */
#define DAT_BIND_NEW(bind)	((bind) & 3)
#define DAT_BIND_OLD(bind)	((bind) >> 2)
#define DAT_BIND(new, old)	((new) | (old) << 2)

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
 * @frmr: the MR; open to peers in the state DAT_FRMR_VALID
 * @lmr: the LMR that it shows a part of, referenced and used unless idle
 * @triplet: the part
 * @address: address of the first byte for peers
 * @va_type: address type for peers
 * @privileges: privileges of peers
 * @revoked: a peer has invalidated it before kdapl processed the bind's completion
 * @shown: content of the MR's page list
 */
struct dat_window {
	struct dat_frmr frmr;
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
 * @pair: the MRs of @windows; its lock protects the fields below
 * @windows: the windows; the first counts all outstanding binds, which are on one EP
 * @scope_ep: EP of the latest bind, for DAT_RMR_SCOPE_EP
 */
struct dat_rmr {
	struct dat_object obj;
	struct dat_pz *pz;
	DAT_RMR_SCOPE scope;
	struct dat_frmr_pair pair;
	struct dat_window windows[DAT_FRMR_PAIR];
	DAT_EP_HANDLE scope_ep;
};

static inline struct dat_rmr *to_rmr(struct dat_object *obj)
{
	return container_of(obj, struct dat_rmr, obj);
}

/**
 * dat_rmr_handle - return the handle of an RMR
 * @rmr: the RMR
 */
static inline DAT_HANDLE dat_rmr_handle(const struct dat_rmr *rmr)
{
	return rmr->obj.handle;
}

/**
 * dat_rmr_window - return the open window of an RMR, or NULL
 * @rmr: the RMR; the lock of its pair is held
 */
static inline struct dat_window *dat_rmr_window(struct dat_rmr *rmr)
{
	return rmr->pair.current_frmr == DAT_FRMR_NONE ? NULL :
		       &rmr->windows[rmr->pair.current_frmr];
}

/* rmr_window.c */
void dat_rmr_bound(struct dat_rmr *rmr, u8 bind, enum ib_wc_status status);
DAT_RETURN dat_window_make_room(struct dat_rmr *rmr, struct dat_window *window, u64 iova,
				u32 length);
int dat_window_map(struct dat_window *window, const struct dat_lmr *lmr,
		   const DAT_LMR_TRIPLET *part, u64 iova);
void dat_window_clear(struct dat_window *window);
void dat_rmr_revoke(struct dat_rmr *rmr, DAT_RMR_CONTEXT context);

/* rmr.c */
void dat_rmr_wait_for_repair(struct dat_lmr *lmr);
void dat_context_revoked(struct dat_ia *ia, DAT_RMR_CONTEXT context);
DAT_RETURN dat_remote_check(struct dat_ia *ia, const struct dat_pz *pz,
			    const DAT_RMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS privilege, u32 *lkey);

#endif /* _KDAPL_RMR_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * frmr.h - pairs of MRs that are registered by posting
 *
 * RMRs and LMRs of dat_lmr_allocate() own such a pair. Mapping pages into an MR rewrites
 * its page list at once, so the two MRs alternate: the next registration uses the MR that
 * peers can no longer access. frmr.c owns the MRs; rmr_window.c and fmr.c own the memory
 * that they show.
 */
#ifndef _KDAPL_FRMR_H
#define _KDAPL_FRMR_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "base/object.h"

struct dat_frmr_pair;

#define DAT_FRMR_PAIR	2
#define DAT_FRMR_NONE	DAT_FRMR_PAIR

/**
 * enum dat_frmr_state - state of an MR of a pair
 * @DAT_FRMR_IDLE: invalid for peers, free for the next registration
 * @DAT_FRMR_POSTED: its registration has been posted
 * @DAT_FRMR_VALID: its registration has completed; for RMRs only
 * @DAT_FRMR_INVALIDATING: its invalidation has been posted
 * @DAT_FRMR_DEAD: invalid, but not yet idle: a request has not completed, or an RMR is
 *	bound to the memory; for LMRs only
 * @DAT_FRMR_BROKEN: a request has failed, and the state of the MR in the device is
 *	unknown, or its page list is too short, or it is not allocated yet; it keeps its
 *	memory until the MR is deregistered and replaced
 */
enum dat_frmr_state {
	DAT_FRMR_IDLE,
	DAT_FRMR_POSTED,
	DAT_FRMR_VALID,
	DAT_FRMR_INVALIDATING,
	DAT_FRMR_DEAD,
	DAT_FRMR_BROKEN,
};

/**
 * struct dat_frmr - an MR of a pair, with its successor and its predecessor
 * @mr: the MR; NULL after the device is removed, or if no new MR could be allocated
 * @state: its state
 * @used: number of keys of @mr that have been used
 * @dead_key: the key under which the device last knew @mr
 * @list_len: entries of its page list
 * @spare: replaces @mr when its keys are used up; never registered; or NULL
 * @spare_len: entries of its page list
 * @old: the previous MR, used up, with no work request outstanding; or NULL
 * @ep: EP on which requests are outstanding, referenced; or NULL
 * @pending: number of these requests. Requests of an LMR count in the MR that they name,
 *	those of an RMR in its first.
 */
struct dat_frmr {
	struct ib_mr *mr;
	enum dat_frmr_state state;
	u32 used;
	u32 dead_key;
	u32 list_len;
	struct ib_mr *spare;
	struct ib_mr *old;
	struct dat_object *ep;
	u32 spare_len;
	unsigned int pending;
};

/**
 * struct dat_frmr_ops - functions of the owner of a pair
 * @insert_mr: makes lookups find the owner by the index of the MR's keys
 * @remove_mr: reverses @insert_mr
 * @is_busy: must a broken MR not be replaced yet? Or NULL
 * @release: releases the memory that a destroyed MR has shown
 *
 * All are called in process context, without the lock of the pair.
 */
struct dat_frmr_ops {
	int (*insert_mr)(struct dat_object *obj, const struct ib_mr *mr);
	void (*remove_mr)(struct dat_object *obj, const struct ib_mr *mr);
	bool (*is_busy)(const struct dat_frmr_pair *pair,
			const struct dat_frmr *frmr);
	void (*release)(struct dat_frmr_pair *pair, struct dat_frmr *frmr);
};

/**
 * struct dat_frmr_pair - two MRs that alternate
 * @obj: the owner
 * @ops: its functions
 * @pd: PD of the MRs
 * @frmr: the MRs
 * @lock: protects the fields below, those of the MRs, and the owner's description of
 *	their memory
 * @renews: constant: the consumer waits for the repair work and tries again, so MRs are
 *	allocated when they are needed
 * @list_len: entries of the page lists of MRs that are allocated next
 * @current_frmr: index of the MR of the latest registration; DAT_FRMR_NONE after an
 *	invalidation
 * @repair_work: replaces broken MRs and allocates spares
 */
struct dat_frmr_pair {
	struct dat_object *obj;
	const struct dat_frmr_ops *ops;
	struct ib_pd *pd;
	struct dat_frmr *frmr[DAT_FRMR_PAIR];
	spinlock_t lock;
	bool renews;
	u32 list_len;
	unsigned int current_frmr;
	struct work_struct repair_work;
};

void dat_frmr_init(struct dat_frmr_pair *pair);
DAT_RETURN dat_frmr_create(struct dat_frmr_pair *pair, size_t bytes);
void dat_frmr_stop(struct dat_frmr_pair *pair);
void dat_frmr_destroy(struct dat_frmr_pair *pair);
unsigned int dat_frmr_idle(struct dat_frmr_pair *pair);
DAT_RETURN dat_frmr_enlarge(struct dat_frmr_pair *pair, struct dat_frmr *frmr,
			    u32 pages);
void dat_frmr_repair_later(struct dat_frmr_pair *pair);
void dat_frmr_posted(struct dat_frmr_pair *pair, struct dat_frmr *frmr,
		     struct dat_object *ep);
struct dat_object *dat_frmr_completed(struct dat_frmr *frmr);

#endif /* _KDAPL_FRMR_H */

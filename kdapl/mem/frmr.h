/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * frmr.h - keeps the former contexts of fast registrations dead
 *
 * A context is the index of an MR and a key of 8 bits, which moves on with each
 * registration. After 255 of them the next would be a context that a peer has had. So
 * the MR is replaced before: a work allocates a spare in good time, which takes the MR's
 * place under the lock of its owner, and deregisters the MR that is used up. Should
 * registrations outrun the work, they are refused until it has run.
 *
 * RMRs and LMRs of dat_lmr_allocate() own such MRs.
 */
#ifndef _KDAPL_FRMR_H
#define _KDAPL_FRMR_H

#include <rdma/ib_verbs.h>

/* Registrations of an MR; the key that it is allocated with is never given out. */
#define DAT_FRMR_KEYS		255
/* After so many a spare is wanted. */
#define DAT_FRMR_SPARE_AT	64
/* What is charged for: an MR, and its spare or the one before it. */
#define DAT_FRMR_MRS		2

/**
 * struct dat_frmr_keys - the keys of an MR that have been given out
 * @used: how many
 * @spare: takes the place of the MR when it is used up; never registered; or NULL
 * @old: the MR before, used up, with no work request outstanding; or NULL
 *
 * The lock of the owner guards all of it.
 */
struct dat_frmr_keys {
	u32 used;
	struct ib_mr *spare;
	struct ib_mr *old;
};

/**
 * dat_frmr_renew - have an MR that has another key
 * @mr: the MR, dead to peers, and with no work request outstanding; replaced by the
 *	spare if it is used up
 * @keys: its keys
 *
 * Context: any; the lock of the owner is held.
 * Return: false if it has no other key and cannot be replaced yet.
 */
static inline bool dat_frmr_renew(struct ib_mr **mr, struct dat_frmr_keys *keys)
{
	if (likely(keys->used < DAT_FRMR_KEYS))
		return true;
	if (!keys->spare || keys->old)
		return false;
	keys->old = *mr;
	keys->used = 0;
	*mr = keys->spare;
	keys->spare = NULL;
	return true;
}

/**
 * dat_frmr_wants_spare - is it time to allocate a spare?
 * @keys: the keys of an MR
 *
 * Context: any; the lock of the owner is held.
 */
static inline bool dat_frmr_wants_spare(const struct dat_frmr_keys *keys)
{
	return keys->used >= DAT_FRMR_SPARE_AT && !keys->spare;
}

/**
 * dat_frmr_wants_work - has the work of the owner something to do?
 * @keys: the keys of an MR
 *
 * Context: any; the lock of the owner is held.
 */
static inline bool dat_frmr_wants_work(const struct dat_frmr_keys *keys)
{
	return keys->old || dat_frmr_wants_spare(keys);
}

#endif /* _KDAPL_FRMR_H */

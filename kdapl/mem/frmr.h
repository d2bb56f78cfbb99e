/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * frmr.h - prevents the reuse of former contexts of fast registrations
 *
 * A context consists of the index of an MR and a key of 8 bits. Each registration
 * advances the key. After 255 registrations the next context would be one that a peer
 * has already had, so the MR is replaced before. A work allocates a spare MR in advance
 * and deregisters the used-up one. The spare replaces the MR under the lock of the
 * owner. Registrations that are faster than the work are refused until the work has
 * run. RMRs and LMRs of dat_lmr_allocate() own such MRs.
 */
#ifndef _KDAPL_FRMR_H
#define _KDAPL_FRMR_H

#include <rdma/ib_verbs.h>

/* Registrations of an MR. The key that the MR is allocated with is never used. */
#define DAT_FRMR_KEYS		255
/* Number of registrations after which a spare is allocated. */
#define DAT_FRMR_SPARE_AT	64
/* MRs that are charged: an MR, and its spare or its predecessor. */
#define DAT_FRMR_MRS		2

/**
 * struct dat_frmr_keys - the keys of an MR that have been used
 * @used: number of used keys, from 0 to DAT_FRMR_KEYS
 * @spare: replaces the MR when it is used up; never registered; or NULL
 * @old: the previous MR, used up, with no work request outstanding; or NULL
 *
 * The lock of the owner protects all fields.
 */
struct dat_frmr_keys {
	u32 used;
	struct ib_mr *spare;
	struct ib_mr *old;
};

/**
 * dat_frmr_renew - ensure that an MR has an unused key
 * @mr: the MR, invalid for peers and with no work request outstanding; replaced by the
 *	spare if it is used up
 * @keys: its keys
 *
 * Context: any; the lock of the owner is held.
 * Return: false if the MR is used up and cannot be replaced yet.
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
 * dat_frmr_wants_spare - must the owner allocate a spare?
 * @keys: the keys of an MR
 *
 * Context: any; the lock of the owner is held.
 * Return: true if it must.
 */
static inline bool dat_frmr_wants_spare(const struct dat_frmr_keys *keys)
{
	return keys->used >= DAT_FRMR_SPARE_AT && !keys->spare;
}

/**
 * dat_frmr_wants_work - must the work of the owner run?
 * @keys: the keys of an MR
 *
 * Context: any; the lock of the owner is held.
 * Return: true if it must.
 */
static inline bool dat_frmr_wants_work(const struct dat_frmr_keys *keys)
{
	return keys->old || dat_frmr_wants_spare(keys);
}

#endif /* _KDAPL_FRMR_H */

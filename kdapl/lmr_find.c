// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_find.c - from an lmr_context to the LMR
 *
 * Each open IA has its own table: a context that another consumer got is not
 * found.
 */
#include "ia.h"
#include "lmr.h"

/* The low 8 bits of a key are the owner's to change; the rest is unique. */
static unsigned long key_index(u32 key)
{
	return key >> 8;
}

/**
 * dat_lmr_insert - make an LMR known by its context
 * @lmr: the LMR
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dat_lmr_insert(struct dat_lmr *lmr)
{
	return xa_insert_bh(&lmr->obj.ia->lmrs, key_index(lmr->lkey), lmr,
			    GFP_KERNEL_ACCOUNT);
}

/**
 * dat_lmr_remove - the reverse of dat_lmr_insert()
 * @lmr: the LMR
 *
 * Context: process.
 */
void dat_lmr_remove(struct dat_lmr *lmr)
{
	xa_erase_bh(&lmr->obj.ia->lmrs, key_index(lmr->lkey));
}

/**
 * dat_lmr_find - find an LMR by its context
 * @ia: the IA
 * @context: what a consumer passed
 *
 * Context: any; the caller is in an RCU read-side section, to which the LMR's
 * memory is tied. Only dat_object_use() keeps it from being freed.
 * Return: the LMR, or NULL.
 */
struct dat_lmr *dat_lmr_find(struct dat_ia *ia, DAT_LMR_CONTEXT context)
{
	struct dat_lmr *lmr = xa_load(&ia->lmrs, key_index(context));

	return lmr && lmr->lkey == context ? lmr : NULL;
}

/**
 * dat_lmr_covers - is a range within an LMR?
 * @lmr: the LMR
 * @address: where the range begins
 * @length: bytes
 *
 * Return: true if all of it is.
 */
bool dat_lmr_covers(const struct dat_lmr *lmr, u64 address, u64 length)
{
	return address >= lmr->address && length <= lmr->length &&
	       address - lmr->address <= lmr->length - length;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_find.c - from an lmr_context to the LMR
 *
 * Each open IA has its own table: a context that another consumer got is not
 * found. Registered memory has a context of its own. LMRs that are not registered
 * share one; they are told apart by what they cover.
 */
#include "dev/ia.h"
#include "mem/lmr.h"

static struct dat_lmr *next_of(const struct dat_lmr *lmr)
{
	return rcu_dereference_check(lmr->same_key, rcu_read_lock_bh_held());
}

static struct dat_lmr *next_locked(struct xarray *lmrs, struct dat_lmr *lmr)
{
	return rcu_dereference_protected(lmr->same_key,
					 lockdep_is_held(&lmrs->xa_lock));
}

/*
 * An empty slot of the table may be one that is kept; what needs it has to have
 * it emptied. The lock is held.
 */
static void free_slot(struct xarray *lmrs, unsigned long index)
{
	__xa_cmpxchg(lmrs, index, XA_ZERO_ENTRY, NULL, GFP_ATOMIC);
}

/*
 * Devices count their MRs, so that the next one is mostly in the same nodes of the
 * table, and these need not be freed and allocated again. The lock is held.
 */
static void keep_slot(struct dat_ia *ia, unsigned long index)
{
	__xa_store(&ia->lmrs, index, XA_ZERO_ENTRY, GFP_ATOMIC);
	if (ia->kept_lmr != index)
		free_slot(&ia->lmrs, ia->kept_lmr);
	ia->kept_lmr = index;
}

static int insert(struct dat_lmr *lmr, unsigned long index)
{
	struct dat_ia *ia = lmr->obj.ia;
	int ret;

	xa_lock_bh(&ia->lmrs);
	/* This may let go of the lock, but not after it has stored. */
	ret = __xa_insert(&ia->lmrs, index, lmr, GFP_KERNEL_ACCOUNT);
	if (!ret)
		dat_lookup_cache_add(&ia->lmr_cache, index, lmr);
	xa_unlock_bh(&ia->lmrs);
	return ret;
}

/* Memory that is not registered has the key of its PD, or of its device. */
static int lmr_chain(struct xarray *lmrs, struct dat_lmr *lmr)
{
	struct dat_lmr *first;
	int ret = 0;

	xa_lock_bh(lmrs);
	first = xa_load(lmrs, dat_key_index(lmr->lkey));
	if (!first) {
		free_slot(lmrs, dat_key_index(lmr->lkey));
		ret = -EAGAIN;
	} else if (first->lkey != lmr->lkey) {
		ret = -EBUSY;
	} else {
		RCU_INIT_POINTER(lmr->same_key, next_locked(lmrs, first));
		rcu_assign_pointer(first->same_key, lmr);
	}
	xa_unlock_bh(lmrs);
	return ret;
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
	struct xarray *lmrs = &lmr->obj.ia->lmrs;
	int ret;

	do {
		ret = insert(lmr, dat_key_index(lmr->lkey));
		if (ret == -EBUSY)
			ret = lmr_chain(lmrs, lmr);
		/* What was in its way has gone. */
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * dat_lmr_remove - the reverse of dat_lmr_insert(), if that was done
 * @lmr: the LMR
 *
 * Context: process.
 */
void dat_lmr_remove(struct dat_lmr *lmr)
{
	struct xarray *lmrs = &lmr->obj.ia->lmrs;
	unsigned long index = dat_key_index(lmr->lkey);
	struct dat_lmr *prev;

	xa_lock_bh(lmrs);
	dat_lookup_cache_remove(&lmr->obj.ia->lmr_cache, index, lmr);
	prev = xa_load(lmrs, index);
	/* It takes no memory to store in the place of another. */
	if (prev == lmr && next_locked(lmrs, lmr)) {
		__xa_store(lmrs, index, next_locked(lmrs, lmr), GFP_ATOMIC);
	} else if (prev == lmr) {
		keep_slot(lmr->obj.ia, index);
	} else {
		while (prev && next_locked(lmrs, prev) != lmr)
			prev = next_locked(lmrs, prev);
		if (prev)
			rcu_assign_pointer(prev->same_key,
					   next_locked(lmrs, lmr));
	}
	xa_unlock_bh(lmrs);
}

/**
 * dat_lmr_insert_key - make an LMR known by the index part of a context
 * @lmr: the LMR
 * @key: any context with that index; only lmr->lkey finds it
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dat_lmr_insert_key(struct dat_lmr *lmr, u32 key)
{
	struct xarray *lmrs = &lmr->obj.ia->lmrs;
	int ret = insert(lmr, dat_key_index(key));

	if (ret != -EBUSY)
		return ret;
	/* The slot may have been kept. */
	xa_cmpxchg_bh(lmrs, dat_key_index(key), XA_ZERO_ENTRY, NULL, GFP_ATOMIC);
	return insert(lmr, dat_key_index(key));
}

/**
 * dat_lmr_remove_key - the reverse of dat_lmr_insert_key()
 * @lmr: the LMR
 * @key: what was given then
 *
 * Context: process or softirq.
 */
void dat_lmr_remove_key(struct dat_lmr *lmr, u32 key)
{
	struct dat_ia *ia = lmr->obj.ia;

	xa_lock_bh(&ia->lmrs);
	__xa_cmpxchg(&ia->lmrs, dat_key_index(key), lmr, NULL, GFP_ATOMIC);
	dat_lookup_cache_remove(&ia->lmr_cache, dat_key_index(key), lmr);
	xa_unlock_bh(&ia->lmrs);
}

/**
 * dat_lmr_find - find an LMR by its context
 * @ia: the IA
 * @context: what a consumer passed
 *
 * Context: any; the caller is in an RCU read-side section, to which the LMR's
 * memory is tied. Only dat_object_use_get() keeps it from being freed.
 * Return: the LMR, or NULL.
 */
struct dat_lmr *dat_lmr_find(struct dat_ia *ia, DAT_LMR_CONTEXT context)
{
	struct dat_lmr *lmr = dat_lmr_find_cached(ia, context);
	unsigned long index = dat_key_index(context);

	if (likely(lmr))
		return lmr;
	lmr = xa_load(&ia->lmrs, index);
	if (!lmr || READ_ONCE(lmr->lkey) != context)
		return NULL;
	dat_lookup_cache_refill(&ia->lmr_cache, &ia->lmrs, index, lmr);
	return lmr;
}

/**
 * dat_lmr_find_range - find an LMR that holds a range
 * @ia: the IA
 * @pz: PZ of the LMR, or NULL for any
 * @segment: the range, by the context of the LMR
 *
 * Context: as dat_lmr_find().
 * Return: the LMR, or NULL.
 */
struct dat_lmr *dat_lmr_find_range(struct dat_ia *ia, const struct dat_pz *pz,
				   const DAT_LMR_TRIPLET *segment)
{
	struct dat_lmr *lmr = dat_lmr_find(ia, segment->lmr_context);

	while (lmr && ((pz && lmr->pz != pz) ||
		       !dat_lmr_covers(lmr, segment->virtual_address,
				       segment->segment_length)))
		lmr = next_of(lmr);
	return lmr;
}

static DAT_RETURN protection_violation(bool write)
{
	return DAT_ERROR(DAT_PROTECTION_VIOLATION,
			 write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
}

static DAT_RETURN check_one(const struct dat_lmr *lmr, const struct dat_pz *pz,
			    const DAT_LMR_TRIPLET *segment,
			    DAT_MEM_PRIV_FLAGS privilege)
{
	bool write = privilege == DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (unlikely(lmr->pz != pz))
		return protection_violation(write);
	if (unlikely(!dat_lmr_covers(lmr, segment->virtual_address,
				     segment->segment_length)))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (unlikely(!(lmr->privileges & privilege)))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 write ? DAT_PRIVILEGES_WRITE :
					 DAT_PRIVILEGES_READ);
	return DAT_SUCCESS;
}

/**
 * dat_lmr_check - may a DTO use this memory?
 * @ia: the IA
 * @pz: PZ of the EP
 * @segment: the memory, of one byte at least
 * @privilege: DAT_MEM_PRIV_LOCAL_READ_FLAG or DAT_MEM_PRIV_LOCAL_WRITE_FLAG
 *
 * A PD of the kernel has keys that open all of memory, /dev/dat posts what any
 * process gives it, and some devices report a bad key as a flush. So no context
 * goes into a work request that has not been found here.
 *
 * Context: any; in an RCU read-side section.
 * Return: DAT_SUCCESS, DAT_PROTECTION_VIOLATION (no LMR of this IA, or of
 * another PZ), DAT_INVALID_PARAMETER (outside the LMR),
 * DAT_PRIVILEGES_VIOLATION.
 */
DAT_RETURN dat_lmr_check(struct dat_ia *ia, const struct dat_pz *pz,
			 const DAT_LMR_TRIPLET *segment,
			 DAT_MEM_PRIV_FLAGS privilege)
{
	const struct dat_lmr *lmr;
	DAT_RETURN ret;

	lmr = dat_lmr_find(ia, segment->lmr_context);
	if (unlikely(!lmr))
		return protection_violation(privilege ==
					    DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	ret = check_one(lmr, pz, segment, privilege);
	while (unlikely(ret)) {
		lmr = next_of(lmr);
		if (!lmr)
			break;
		if (!check_one(lmr, pz, segment, privilege))
			return DAT_SUCCESS;
	}
	return ret;
}

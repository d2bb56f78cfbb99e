// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_find.c - looks up LMRs by their lmr_context, and checks the segments of a DTO
 *
 * Each open IA has its own table, so a lookup does not find contexts of another
 * consumer. Registered memory has a unique context. LMRs that are not registered share
 * one context; the lookup distinguishes them by the range that they cover. Create and
 * free calls change the table in process context, and every DTO looks it up in any
 * context.
 *
 * The PD of a kernel consumer has a key that opens all memory. The rule is therefore: a
 * segment of a consumer reaches ib_post_send(), ib_post_recv() or ib_post_srq_recv()
 * only if its context was looked up here and its length is not 0. post_wr.h checks the
 * length again in kernels with debugging.
 */
#include <linux/build_bug.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "dev/ia.h"
#include "mem/iov.h"
#include "mem/lmr.h"

/* ib_post_send() receives the consumer's segments unchanged. */
static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct ib_sge));
static_assert(offsetof(DAT_LMR_TRIPLET, virtual_address) ==
	      offsetof(struct ib_sge, addr));
static_assert(offsetof(DAT_LMR_TRIPLET, segment_length) ==
	      offsetof(struct ib_sge, length));
static_assert(offsetof(DAT_LMR_TRIPLET, lmr_context) ==
	      offsetof(struct ib_sge, lkey));

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
 * The slot may be reserved by keep_slot(): release it, so that an insert can use it.
 * The lock is held.
 */
static void free_slot(struct xarray *lmrs, unsigned long index)
{
	__xa_cmpxchg(lmrs, index, XA_ZERO_ENTRY, NULL, GFP_ATOMIC);
}

/*
 * Devices number their MRs in sequence, so the next MR mostly uses the same nodes of
 * the table. The reserved slot keeps these nodes allocated. The lock is held.
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
	/* __xa_insert() may drop the lock, but not after it has stored the entry. */
	ret = __xa_insert(&ia->lmrs, index, lmr, GFP_KERNEL_ACCOUNT);
	if (!ret)
		dat_lookup_cache_add(&ia->lmr_cache, index, lmr);
	xa_unlock_bh(&ia->lmrs);
	return ret;
}

/* Unregistered memory shares the key of its PD, or of its device. */
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
 * dat_lmr_insert - insert an LMR into the table by its context
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
		/* Retry: another thread has removed the entry of that index. */
	} while (ret == -EAGAIN);
	return ret;
}

/**
 * dat_lmr_remove - reverse dat_lmr_insert(), if that succeeded
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
	/* Replacing an entry allocates no memory. */
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
 * dat_lmr_insert_key - insert an LMR into the table by the index of a key
 * @lmr: the LMR
 * @key: any context with that index; a lookup finds only lmr->lkey
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
	/* keep_slot() may have reserved the slot. */
	xa_cmpxchg_bh(lmrs, dat_key_index(key), XA_ZERO_ENTRY, NULL, GFP_ATOMIC);
	return insert(lmr, dat_key_index(key));
}

/**
 * dat_lmr_remove_key - reverse dat_lmr_insert_key()
 * @lmr: the LMR
 * @key: the key that was passed to dat_lmr_insert_key()
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

static struct dat_lmr *lmr_find(struct dat_ia *ia, DAT_LMR_CONTEXT context)
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
 * dat_lmr_exists - does a context belong to an LMR?
 * @ia: the IA
 * @context: any value
 *
 * Context: any.
 */
bool dat_lmr_exists(struct dat_ia *ia, DAT_LMR_CONTEXT context)
{
	bool exists;

	rcu_read_lock();
	exists = lmr_find(ia, context);
	rcu_read_unlock();
	return exists;
}

/**
 * dat_lmr_find_range - look up an LMR that covers a range
 * @ia: the IA
 * @pz: PZ of the LMR, or NULL for any
 * @segment: the range, with the context of the LMR
 *
 * Context: any; in an RCU read-side section that protects the memory of the LMR. Only
 * dat_object_use_get() prevents its free.
 * Return: the LMR, or NULL.
 */
struct dat_lmr *dat_lmr_find_range(struct dat_ia *ia, const struct dat_pz *pz,
				   const DAT_LMR_TRIPLET *segment)
{
	struct dat_lmr *lmr = lmr_find(ia, segment->lmr_context);

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
	if (unlikely(privilege & ~lmr->privileges))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	return DAT_SUCCESS;
}

/*
 * May a DTO use this memory? A work request contains only contexts that this function
 * has found, for three reasons:
 *
 * - The PD of a kernel consumer has keys that open all memory.
 * - /dev/dat posts the segments of any process.
 * - Some devices report an invalid key as a flush.
 *
 * Return DAT_PROTECTION_VIOLATION if the context belongs to no LMR of this IA, or to one
 * of another PZ, DAT_INVALID_PARAMETER outside the LMR, or DAT_PRIVILEGES_VIOLATION.
 */
static DAT_RETURN check_segment(struct dat_ia *ia, const struct dat_pz *pz,
				const DAT_LMR_TRIPLET *segment,
				DAT_MEM_PRIV_FLAGS privilege)
{
	const struct dat_lmr *lmr;
	DAT_RETURN ret;

	lmr = lmr_find(ia, segment->lmr_context);
	if (unlikely(!lmr))
		return protection_violation(privilege ==
					    DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	ret = check_one(lmr, pz, segment, privilege);
	while (unlikely(ret) && (lmr = next_of(lmr)))
		if (!check_one(lmr, pz, segment, privilege))
			ret = DAT_SUCCESS;
	return ret;
}

static bool is_reserved(const struct dat_ia *ia, const DAT_LMR_TRIPLET *segment)
{
	return segment->lmr_context == DAT_RESERVED_CONTEXT &&
	       READ_ONCE(ia->reserved_lmr);
}

/**
 * dat_iov_check_all - slow path of dat_iov_check()
 * @ia: see dat_iov_check()
 * @pz: see dat_iov_check()
 * @iov: see dat_iov_check()
 * @max_num: see dat_iov_check()
 * @max_length: see dat_iov_check()
 * @lengthp: see dat_iov_check()
 *
 * Context: as dat_iov_check().
 * Return: as dat_iov_check().
 */
DAT_RETURN dat_iov_check_all(struct dat_ia *ia, const struct dat_pz *pz,
			     const struct dat_iov *iov, DAT_COUNT max_num,
			     DAT_SEG_LENGTH max_length, u32 *lengthp)
{
	DAT_RETURN form = DAT_SUCCESS;
	u64 length = 0;
	DAT_COUNT i;

	if (unlikely(iov->num < 0 || iov->num > max_num))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (unlikely(iov->num && !iov->segments))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (i = 0; i < iov->num; i++) {
		const DAT_LMR_TRIPLET *segment = &iov->segments[i];
		DAT_RETURN ret;

		/* The other fields of an empty segment have no meaning. */
		if (unlikely(!segment->segment_length)) {
			form = form ?: dat_iov_sparse();
			continue;
		}
		ret = check_segment(ia, pz, segment, iov->privilege);
		if (unlikely(ret && is_reserved(ia, segment))) {
			form = dat_iov_reserved();
		} else if (unlikely(ret)) {
			/* Device removal removes the LMRs. */
			return READ_ONCE(ia->unplugged) ?
				       DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE) : ret;
		}
		length += segment->segment_length;
	}
	if (unlikely(length > max_length))
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	*lengthp = length;
	return form;
}

/**
 * dat_iov_copy - copy the segments of a request into a form that the device accepts
 * @lkey: the key that opens all memory, of the PD of the request
 * @iov: segments that passed dat_iov_check()
 * @num: in: number of segments; out: number of segments in the copy
 *
 * Empty segments are dropped: dat_iov_check() has not looked up their contexts, and
 * some devices (mlx5) read a length of 0 as 2 GiB. Segments of the reserved LMR receive
 * @lkey.
 *
 * Context: any; does not sleep.
 * Return: the copy, for kfree(), or NULL.
 */
struct ib_sge *dat_iov_copy(u32 lkey, const struct ib_sge *iov, int *num)
{
	struct ib_sge *copy = kmalloc_array(*num, sizeof(*copy),
					    GFP_ATOMIC | __GFP_ACCOUNT);
	int i, copied = 0;

	if (!copy)
		return NULL;
	for (i = 0; i < *num; i++) {
		if (!iov[i].length)
			continue;
		copy[copied] = iov[i];
		if (copy[copied].lkey == DAT_RESERVED_CONTEXT)
			copy[copied].lkey = lkey;
		copied++;
	}
	*num = copied;
	return copy;
}

/*
 * Can the CPU read the memory at the addresses of its pages? IOMMUs may merge segments: then the
 * pages of a DMA segment are not in the same entry of the table.
 */
static bool has_pages(const struct dat_lmr *lmr)
{
	return !lmr->fmr && !IS_ENABLED(CONFIG_HIGHMEM) && !dat_lmr_is_mapped(lmr->mapped) &&
	       lmr->sgt.nents == lmr->sgt.orig_nents;
}

static bool copy_pages(const struct dat_lmr *lmr, u64 offset, u32 length, u8 *to)
{
	unsigned int nents;
	u32 sg_offset, num;
	struct scatterlist *sg;

	sg = dat_lmr_find_sg(lmr, offset, &sg_offset, &nents);
	for (; length; length -= num) {
		/* Memory of a device, which may be no memory to the CPU */
		if (unlikely(is_zone_device_page(sg_page(sg))))
			return false;
		num = min(length, sg->length - sg_offset);
		/* The consumer and peers may write to it at any time. */
		data_race(memcpy(to, sg_virt(sg) + sg_offset, num));
		to += num;
		sg_offset = 0;
		sg = sg_next(sg);
	}
	return true;
}

/**
 * dat_iov_gather - copy the data of segments
 * @ia: the IA
 * @pz: the PZ of their LMRs
 * @iov: segments that passed dat_iov_check() in the same RCU read-side section, without
 *	dat_iov_needs_copy()
 * @to: buffer for all their data
 *
 * Context: any; in an RCU read-side section.
 * Return: false if the CPU cannot read all of the memory, or an LMR is being freed.
 */
bool dat_iov_gather(struct dat_ia *ia, const struct dat_pz *pz, const struct dat_iov *iov,
		    u8 *to)
{
	DAT_COUNT i;

	for (i = 0; i < iov->num; i++) {
		const DAT_LMR_TRIPLET *segment = &iov->segments[i];
		struct dat_lmr *lmr = dat_lmr_find_range(ia, pz, segment);
		bool ok;

		if (unlikely(!lmr || !dat_lmr_access_get(lmr)))
			return false;
		ok = has_pages(lmr) &&
		     copy_pages(lmr, segment->virtual_address - lmr->address,
				segment->segment_length, to);
		dat_lmr_access_put(lmr);
		if (unlikely(!ok))
			return false;
		to += segment->segment_length;
	}
	return true;
}

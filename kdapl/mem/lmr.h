/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * lmr.h - local memory regions
 */
#ifndef _KDAPL_LMR_H
#define _KDAPL_LMR_H

#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_ib_extensions.h>

#include "base/object.h"
#include "dev/ia.h"

struct dat_fmr;
struct dat_ia;
struct dat_pz;

/* DMA segments from one mark of an LMR's index to the next. */
#define DAT_SG_STEP	64

/**
 * struct dat_sg_mark - where one of the DMA segments of an LMR begins
 * @offset: bytes from the beginning of the LMR
 * @sg: the segment
 */
struct dat_sg_mark {
	u64 offset;
	struct scatterlist *sg;
};

/**
 * struct dat_lmr - a local memory region
 * @obj: head; its users are the RMRs that are bound to it, and the LMRs over it
 * @pz: its PZ, used; NULL of the reserved LMR
 * @mem_type: how the consumer described it
 * @region: the description
 * @region_length: its length, in the unit of @mem_type
 * @va_type: how triplets count
 * @optimization: what the consumer would like
 * @start: where it begins, by the description
 * @address: address of the first byte, as triplets give it
 * @length: bytes
 * @privileges: what it may be used for
 * @sgt: its pages, mapped for the device
 * @dma_dir: how they are mapped
 * @is_lent: the consumer has made @sgt, and will free it
 * @pages: a number for these pages, mapped so; never 0, and never used again
 * @base: the LMR that it is over, referenced and used; or NULL
 * @index: finds segments of @sgt; NULL if there are few, shared as @sgt is
 * @mapped: the LMR whose mapping @sgt is: itself or a base of its, which @base
 *	keeps
 * @mappings: as @mapped, LMRs whose @sgt is this mapping
 * @over: LMRs over this one
 * @mr: its registration; NULL if it has none, DAT_MEM_TYPE_BYPASS
 * @user_mm: whose memory it is, if the device may look for its pages itself; only
 *	compared with that of a process
 * @lkey: its lmr_context; kept here because look-ups outlive @mr
 * @rkey: its rmr_context; likewise
 * @same_key: next LMR with the same lmr_context
 * @broken: broken windows that show a part of it, and are being closed
 * @syncs: calls that synchronise a part of it
 * @fmr: what it has if it is registered by posting, else NULL
 */
struct dat_lmr {
	struct dat_object obj;
	struct dat_pz *pz;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN region_length;
	DAT_VA_TYPE va_type;
	DAT_MEM_OPTIMIZE_FLAGS optimization;
	u64 start;
	DAT_VADDR address;
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS privileges;
	struct sg_table sgt;
	enum dma_data_direction dma_dir;
	bool is_lent;
	u64 pages;
	struct dat_lmr *base;
	struct dat_sg_mark *index;
	struct dat_lmr *mapped;
	atomic_t mappings;
	atomic_t over;
	struct ib_mr *mr;
	const struct mm_struct *user_mm;
	u32 lkey;
	u32 rkey;
	struct dat_lmr __rcu *same_key;
	atomic_t broken;
	atomic_t syncs;
	struct dat_fmr *fmr;
};

static inline struct dat_lmr *to_lmr(struct dat_object *obj)
{
	return container_of(obj, struct dat_lmr, obj);
}

/* Writing from afar is writing, and verbs want to be told so. */
static inline int dat_lmr_access(DAT_MEM_PRIV_FLAGS privileges)
{
	int access = 0;

	if (privileges & DAT_MEM_PRIV_WRITE_FLAG)
		access |= IB_ACCESS_LOCAL_WRITE;
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	if (privileges & DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	if (privileges & DAT_MEM_PRIV_RELAXED_FLAG)
		access |= IB_ACCESS_RELAXED_ORDERING;
	return access;
}

/* Who changes a number writes. */
static inline bool dat_lmr_priv_agree(DAT_MEM_PRIV_FLAGS privileges)
{
	return !(privileges & DAT_IB_MEM_PRIV_REMOTE_ATOMIC) ||
	       privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
}

#define DAT_MEM_PRIV_REMOTE_FLAGS \
	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | \
	 DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/**
 * struct dat_lmr_fit - how memory fits into a fast registration
 * @type: type of the MR
 * @page_size: bytes
 * @num: pages, or pieces if that is what the type has
 */
struct dat_lmr_fit {
	enum ib_mr_type type;
	u32 page_size;
	u32 num;
};

/* lmr_desc.c */
DAT_RETURN dat_lmr_describe(struct dat_lmr *lmr);
void dat_lmr_let_go_of_base(struct dat_lmr *lmr);

/* lmr_pages.c */
struct page *dat_virtual_page(const void *address);
struct page **dat_lmr_pages(const struct dat_lmr *lmr, unsigned int num,
			    DAT_RETURN *ret);
void dat_lmr_put_pages(const struct dat_lmr *lmr, struct page **pages);

/* lmr_fit.c */
bool dat_lmr_fit_pages(const struct ib_device *ibdev, u32 max_pages, u64 address,
		       u64 iova, u64 length, struct dat_lmr_fit *fit);
int dat_lmr_fit(const struct ib_device *ibdev, u32 max_pages, bool large,
		struct scatterlist *sgl, unsigned int nents, u64 iova,
		u64 length, struct dat_lmr_fit *fit);

/* lmr_user.c */
struct ib_mr *dat_lmr_reg_user_mr(struct dat_lmr *lmr);

/* lmr_mr.c */
int dat_lmr_register(struct dat_lmr *lmr);

/* lmr_map.c */
u64 dat_lmr_new_pages(void);
DAT_RETURN dat_lmr_map(struct dat_lmr *lmr);
void dat_lmr_unmap(struct dat_lmr *lmr);
struct scatterlist *dat_lmr_find_sg(const struct dat_lmr *lmr, u64 offset,
				    u32 *sg_offset, unsigned int *nents);
int dat_lmr_map_mr(const struct dat_lmr *lmr, struct ib_mr *mr, u64 address,
		   u32 length, u64 iova);

/* sync.c */
void dat_lmr_wait_for_syncs(struct dat_lmr *lmr);

/* lmr_find.c */
int dat_lmr_insert(struct dat_lmr *lmr);
void dat_lmr_remove(struct dat_lmr *lmr);
int dat_lmr_insert_key(struct dat_lmr *lmr, u32 key);
void dat_lmr_remove_key(struct dat_lmr *lmr, u32 key);
struct dat_lmr *dat_lmr_find(struct dat_ia *ia, DAT_LMR_CONTEXT context);
struct dat_lmr *dat_lmr_find_range(struct dat_ia *ia, const struct dat_pz *pz,
				   const DAT_LMR_TRIPLET *segment);
DAT_RETURN dat_lmr_check(struct dat_ia *ia, const struct dat_pz *pz,
			 const DAT_LMR_TRIPLET *segment,
			 DAT_MEM_PRIV_FLAGS privilege);

/* The low 8 bits of a key are the owner's to change; the rest is unique. */
static inline unsigned long dat_key_index(u32 key)
{
	return key >> 8;
}

/**
 * dat_lmr_find_cached - find an LMR by its context if that is done at once
 * @ia: the IA
 * @context: what a consumer passed
 *
 * Context: as dat_lmr_find().
 * Return: the LMR, or NULL, and then dat_lmr_find() may find it nevertheless.
 */
static inline struct dat_lmr *dat_lmr_find_cached(const struct dat_ia *ia,
						  DAT_LMR_CONTEXT context)
{
	struct dat_lmr *lmr = dat_lookup_cache_find(&ia->lmr_cache,
						    dat_key_index(context));

	/* That is the context, too, of whatever has no memory. */
	if (unlikely(!context))
		return NULL;
	return lmr && READ_ONCE(lmr->lkey) == context ? lmr : NULL;
}

/**
 * dat_lmr_covers - is a range within an LMR?
 * @lmr: the LMR
 * @address: where the range begins
 * @length: bytes
 *
 * Return: true if all of it is.
 */
static inline bool dat_lmr_covers(const struct dat_lmr *lmr, u64 address,
				  u64 length)
{
	return address >= lmr->address && length <= lmr->length &&
	       address - lmr->address <= lmr->length - length;
}

/**
 * dat_lmr_allows - may a DTO use this memory, if that is told at once?
 * @ia: the IA
 * @pz: PZ of the EP
 * @segment: the memory
 * @privilege: DAT_MEM_PRIV_LOCAL_READ_FLAG or DAT_MEM_PRIV_LOCAL_WRITE_FLAG
 *
 * Context: as dat_lmr_check().
 * Return: true if it may; if not, dat_lmr_check() tells why, or that it may.
 */
static inline bool dat_lmr_allows(const struct dat_ia *ia,
				  const struct dat_pz *pz,
				  const DAT_LMR_TRIPLET *segment,
				  DAT_MEM_PRIV_FLAGS privilege)
{
	const struct dat_lmr *lmr;

	lmr = dat_lmr_find_cached(ia, segment->lmr_context);
	return lmr && lmr->pz == pz && lmr->privileges & privilege &&
	       dat_lmr_covers(lmr, segment->virtual_address,
			      segment->segment_length);
}

/* The lmr_context of the reserved LMR. */
#define DAT_RESERVED_CONTEXT	U32_MAX

/* Only the reserved LMR is in no PZ. */
static inline bool dat_lmr_is_reserved(const struct dat_lmr *lmr)
{
	return !lmr->pz;
}

#endif /* _KDAPL_LMR_H */

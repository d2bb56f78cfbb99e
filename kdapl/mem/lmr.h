/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * lmr.h - local memory regions
 *
 * Declares struct dat_lmr, the interfaces between the lmr_*.c files, and the inline
 * fast path of the lookup by context, which each DTO runs.
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

/* Number of DMA segments from one mark of an LMR's index to the next. */
#define DAT_SG_STEP	64

/**
 * struct dat_sg_mark - position of one of the DMA segments of an LMR
 * @offset: offset from the beginning of the LMR, in bytes
 * @sg: the segment
 */
struct dat_sg_mark {
	u64 offset;
	struct scatterlist *sg;
};

/*
 * LMRs that an LMR may be over, one over the other. The end of the last may release the
 * others, each from within the release of the one over it.
 */
#define DAT_LMR_MAX_DEPTH	16

/**
 * struct dat_lmr - a local memory region
 * @obj: head; its users are the RMRs that are bound to it, and the LMRs over it
 * @pz: its PZ, used; NULL for the reserved LMR
 * @mem_type: type of @region
 * @region: the consumer's description of the memory
 * @region_length: its length, in the unit of @mem_type
 * @va_type: address type of triplets: from @start, or from 0
 * @optimization: the consumer's DAT_MEM_OPTIMIZE_* flags
 * @start: address of the first byte in the description
 * @address: address of the first byte in triplets
 * @length: length in bytes
 * @privileges: privileges of the region
 * @sgt: its pages, mapped for the device
 * @dma_dir: DMA direction of the mapping
 * @is_lent: the consumer has allocated @sgt, and will free it
 * @pages: number that identifies this mapping of pages; never 0, and never reused
 * @base: the LMR that it is over, referenced and used; or NULL
 * @depth: LMRs that it is over: @base, its base, and so on
 * @index: finds segments of @sgt; NULL if there are few; shared if @sgt is
 * @mapped: the LMR that owns the mapping @sgt: itself, or a base of it, which @base
 *	keeps
 * @mappings: number of LMRs whose @mapped is this LMR
 * @over: number of LMRs over this one
 * @mr: its registration; NULL if there is none, as for DAT_MEM_TYPE_BYPASS
 * @user_mm: owner of the memory, if the device may look up its pages itself; only
 *	compared with the mm of a process
 * @uncharged_mm: the mm that ib_umem has charged for @mr, although it is charged for the LMR's
 *	base; referenced; or NULL
 * @uncharged: the pages of that charge
 * @lkey: its lmr_context; stored here because lookups may outlive @mr
 * @rkey: its rmr_context; stored here for the same reason
 * @same_key: next LMR with the same lmr_context
 * @broken: number of broken windows that show a part of it and are being closed
 * @accesses: number of calls that are synchronising or copying a part of it
 * @fmr: the structure that it begins if it is registered by posting, else NULL
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
	u32 depth;
	struct dat_sg_mark *index;
	struct dat_lmr *mapped;
	atomic_t mappings;
	atomic_t over;
	struct ib_mr *mr;
	const struct mm_struct *user_mm;
	struct mm_struct *uncharged_mm;
	unsigned long uncharged;
	u32 lkey;
	u32 rkey;
	struct dat_lmr __rcu *same_key;
	atomic_t broken;
	atomic_t accesses;
	struct dat_fmr *fmr;
};

static inline struct dat_lmr *to_lmr(struct dat_object *obj)
{
	return container_of(obj, struct dat_lmr, obj);
}

/* The consumer has mapped the memory, or declares that it needs no mapping. */
static inline bool dat_lmr_is_mapped(const struct dat_lmr *lmr)
{
	return lmr->mem_type == DAT_MEM_TYPE_IA ||
	       lmr->mem_type == DAT_MEM_TYPE_BYPASS;
}

/* Verbs require local write access for all remote write access. */
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

/* A remote atomic operation writes, so it needs the remote write privilege. */
static inline bool dat_lmr_priv_agree(DAT_MEM_PRIV_FLAGS privileges)
{
	return !(privileges & DAT_IB_MEM_PRIV_REMOTE_ATOMIC) ||
	       privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
}

/* The kernel has no memory, or the consumer refuses the charge for it. */
static inline DAT_RETURN dat_no_memory(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* No MR of the device is free, or none can hold the memory. */
static inline DAT_RETURN dat_no_mr(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			 DAT_RESOURCE_MEMORY_REGION);
}

#define DAT_MEM_PRIV_REMOTE_FLAGS \
	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | \
	 DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/**
 * struct dat_lmr_fit - layout of memory in a fast registration
 * @type: type of the MR
 * @page_size: page size in bytes
 * @num: number of pages, or of pieces if @type is a list of pieces
 */
struct dat_lmr_fit {
	enum ib_mr_type type;
	u32 page_size;
	u32 num;
};

/* lmr.c */
struct dat_lmr *dat_lmr_new(struct dat_ia *ia, DAT_PZ_HANDLE pz, size_t size,
			    const struct dat_object_ops *ops, DAT_RETURN *ret);

/* lmr_desc.c */
DAT_RETURN dat_lmr_describe(struct dat_lmr *lmr);
void dat_lmr_let_go_of_base(struct dat_lmr *lmr);
struct page *dat_virtual_page(const void *address);
struct page **dat_lmr_pages(const struct dat_lmr *lmr, unsigned int num,
			    DAT_RETURN *ret);
void dat_lmr_put_pages(const struct dat_lmr *lmr, struct page **pages);

/* lmr_register.c */
int dat_lmr_fit(const struct ib_device *ibdev, u32 max_pages, bool large,
		struct scatterlist *sgl, unsigned int nents, u64 iova,
		u64 length, struct dat_lmr_fit *fit);
int dat_lmr_register(struct dat_lmr *lmr);

/* lmr_user.c */
struct ib_mr *dat_lmr_reg_user_mr(struct dat_lmr *lmr);
void dat_lmr_recharge(struct dat_lmr *lmr);

/* lmr_map.c */
u64 dat_lmr_new_pages(void);
DAT_RETURN dat_lmr_map(struct dat_lmr *lmr);
void dat_lmr_unmap(struct dat_lmr *lmr);
struct scatterlist *dat_lmr_find_sg(const struct dat_lmr *lmr, u64 offset,
				    u32 *sg_offset, unsigned int *nents);
int dat_lmr_map_mr(const struct dat_lmr *lmr, struct ib_mr *mr, u64 address,
		   u32 length, u64 iova);

/* sync.c */
bool dat_lmr_access_get(struct dat_lmr *lmr);
void dat_lmr_access_put(struct dat_lmr *lmr);
void dat_lmr_wait_for_accesses(struct dat_lmr *lmr);

/* lmr_find.c */
int dat_lmr_insert(struct dat_lmr *lmr);
void dat_lmr_remove(struct dat_lmr *lmr);
int dat_lmr_insert_key(struct dat_lmr *lmr, u32 key);
void dat_lmr_remove_key(struct dat_lmr *lmr, u32 key);
bool dat_lmr_exists(struct dat_ia *ia, DAT_LMR_CONTEXT context);
struct dat_lmr *dat_lmr_find_range(struct dat_ia *ia, const struct dat_pz *pz,
				   const DAT_LMR_TRIPLET *segment);

/* The owner may change the low 8 bits of a key; the other bits are unique. */
static inline unsigned long dat_key_index(u32 key)
{
	return key >> 8;
}

/**
 * dat_lmr_find_cached - look up an LMR by its context in the cache only
 * @ia: the IA
 * @context: context from the consumer; any value
 *
 * Context: as dat_lmr_find_range().
 * Return: the LMR, or NULL; the table may still have it.
 */
static inline struct dat_lmr *dat_lmr_find_cached(const struct dat_ia *ia,
						  DAT_LMR_CONTEXT context)
{
	struct dat_lmr *lmr = dat_lookup_cache_find(&ia->lmr_cache,
						    dat_key_index(context));

	/* An LMR without memory also has the context 0. */
	if (unlikely(!context))
		return NULL;
	return lmr && READ_ONCE(lmr->lkey) == context ? lmr : NULL;
}

/**
 * dat_lmr_covers - is a range within an LMR?
 * @lmr: the LMR
 * @address: first address of the range, as in triplets
 * @length: length of the range, in bytes
 *
 * Return: true if the whole range is.
 */
static inline bool dat_lmr_covers(const struct dat_lmr *lmr, u64 address,
				  u64 length)
{
	return address >= lmr->address && length <= lmr->length &&
	       address - lmr->address <= lmr->length - length;
}

/**
 * dat_lmr_allows - may a DTO use this memory?
 * @ia: the IA
 * @pz: PZ of the EP
 * @segment: the memory
 * @privilege: DAT_MEM_PRIV_LOCAL_WRITE_FLAG; DAT_MEM_PRIV_NONE_FLAG to read, which every
 *	LMR allows
 *
 * Context: as dat_lmr_find_range().
 * Return: true if it may; false if dat_iov_check_all() must decide.
 */
static inline bool dat_lmr_allows(const struct dat_ia *ia,
				  const struct dat_pz *pz,
				  const DAT_LMR_TRIPLET *segment,
				  DAT_MEM_PRIV_FLAGS privilege)
{
	const struct dat_lmr *lmr;

	lmr = dat_lmr_find_cached(ia, segment->lmr_context);
	return lmr && lmr->pz == pz && !(privilege & ~lmr->privileges) &&
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

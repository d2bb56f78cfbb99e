/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fmr.h - LMRs that are registered by posting
 *
 * Declares such an LMR and its two slots. fmr.c manages the slots, and fmr_map.c maps
 * memory into them.
 */
#ifndef _KDAPL_FMR_H
#define _KDAPL_FMR_H

#include <linux/scatterlist.h>

#include "mem/frmr.h"
#include "mem/lmr.h"

/**
 * struct dat_fmr_slot - one of the MRs of an LMR, and its memory
 * @frmr: the MR
 * @sgl: room for the pages
 * @sgt: the pages, mapped for the device; empty if there are none
 * @dma_dir: DMA direction of the mapping
 * @is_dma: the consumer passed DMA addresses, so kdapl has mapped nothing
 */
struct dat_fmr_slot {
	struct dat_frmr frmr;
	struct scatterlist *sgl;
	struct sg_table sgt;
	enum dma_data_direction dma_dir;
	bool is_dma;
};

/**
 * struct dat_fmr - an LMR that is registered by posting
 * @lmr: head; lmr.fmr points to this structure
 * @max_pages: maximum number of pages of a registration, of PAGE_SIZE
 * @pair: the MRs of @slots; its lock protects @slots and the memory of @lmr
 * @slots: the MRs and their memory
 */
struct dat_fmr {
	struct dat_lmr lmr;
	u32 max_pages;
	struct dat_frmr_pair pair;
	struct dat_fmr_slot slots[DAT_FRMR_PAIR];
};

/**
 * struct dat_fmr_memory - memory that a registration maps into a slot
 * @mem_type: type of @region
 * @region: the consumer's description of the memory
 * @num_pages: number of pages, in the unit of @mem_type; out: those of a table
 * @privileges: privileges of the registration
 * @va_type: address type of triplets: from the first byte, or from 0
 * @address: out: address of the first byte in triplets
 * @length: out: length in bytes
 * @nents: out: number of segments
 * @lkey: out: its lmr_context
 * @rkey: out: its rmr_context
 */
struct dat_fmr_memory {
	DAT_MEM_TYPE mem_type;
	const DAT_REGION_DESCRIPTION *region;
	DAT_VLEN num_pages;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_VA_TYPE va_type;
	DAT_VADDR address;
	DAT_VLEN length;
	unsigned int nents;
	u32 lkey;
	u32 rkey;
};

/* fmr.c */
unsigned int dat_fmr_idle(struct dat_fmr *fmr);
void dat_fmr_forget(struct dat_fmr *fmr);
void dat_fmr_done(struct dat_lmr *lmr, u8 index, DAT_DTOS op,
		  enum ib_wc_status status);
void dat_fmr_revoke(struct dat_lmr *lmr, DAT_RMR_CONTEXT context);

/* fmr_map.c */
DAT_RETURN dat_fmr_map(struct dat_fmr *fmr, struct dat_fmr_slot *slot,
		       struct dat_fmr_memory *mem);
void dat_fmr_unmap(struct dat_fmr *fmr, struct dat_fmr_slot *slot);

#endif /* _KDAPL_FMR_H */

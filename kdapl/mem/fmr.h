/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fmr.h - LMRs that are registered by posting
 */
#ifndef _KDAPL_FMR_H
#define _KDAPL_FMR_H

#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "base/object.h"
#include "mem/frmr.h"

struct dat_lmr;

#define DAT_FMR_SLOTS	2
#define DAT_FMR_NO_SLOT	DAT_FMR_SLOTS

/**
 * enum dat_fmr_state - what a slot of an LMR is
 * @DAT_FMR_IDLE: free for the next registration
 * @DAT_FMR_VALID: its registration has been posted
 * @DAT_FMR_INVALIDATING: its invalidation has been posted
 * @DAT_FMR_DEAD: invalidated, but not yet idle: something posted has not
 *	completed, or an RMR is bound to the memory
 * @DAT_FMR_BROKEN: what was posted has failed and nobody knows what the device
 *	has done; it keeps its memory until its MR is gone, and gets a new one
 */
enum dat_fmr_state {
	DAT_FMR_IDLE,
	DAT_FMR_VALID,
	DAT_FMR_INVALIDATING,
	DAT_FMR_DEAD,
	DAT_FMR_BROKEN,
};

/**
 * struct dat_fmr_slot - one of the MRs of an LMR
 * @mr: the MR; NULL when the device has gone, or no new one could be had
 * @state: what it is
 * @keys: those that it has had
 * @dead_key: the key that the device last knew it by
 * @sgl: room for the pages
 * @sgt: the pages, mapped for the device; empty if there are none
 * @dma_dir: how they are mapped
 * @is_dma: the consumer gave DMA addresses, nothing was mapped
 * @ep: where something that names it is outstanding, referenced
 * @pending: how much of that there is
 */
struct dat_fmr_slot {
	struct ib_mr *mr;
	enum dat_fmr_state state;
	struct dat_frmr_keys keys;
	u32 dead_key;
	struct scatterlist *sgl;
	struct sg_table sgt;
	enum dma_data_direction dma_dir;
	bool is_dma;
	struct dat_object *ep;
	unsigned int pending;
};

/**
 * struct dat_fmr - what an LMR has that is registered by posting
 * @lock: guards all below, and what the LMR says of its memory
 * @lmr: the LMR
 * @max_pages: pages that it can show
 * @list_len: entries of the page list for them, in pages of dat_dev_page_size()
 * @slots: the MRs; mapping pages into an MR rewrites it at once, so the next
 *	registration must not touch the one whose invalidation is under way
 * @current_slot: the slot whose registration is valid, or DAT_FMR_NO_SLOT
 * @repair_work: gives broken slots new MRs, and others their spares
 */
struct dat_fmr {
	spinlock_t lock;
	struct dat_lmr *lmr;
	u32 max_pages;
	u32 list_len;
	struct dat_fmr_slot slots[DAT_FMR_SLOTS];
	unsigned int current_slot;
	struct work_struct repair_work;
};

/**
 * struct dat_fmr_memory - memory that a slot shall show
 * @mem_type: how the consumer described it
 * @region: the description
 * @num_pages: its pages
 * @privileges: what it may be used for
 * @va_type: how triplets address it
 * @address: out: address of the first byte, as triplets give it
 * @length: out: bytes
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
	u32 lkey;
	u32 rkey;
};

/* fmr.c */
void dat_fmr_settle(struct dat_fmr *fmr, struct dat_fmr_slot *slot);
unsigned int dat_fmr_idle_slot(struct dat_fmr *fmr);
void dat_fmr_forget(struct dat_fmr *fmr);
void dat_fmr_done(struct dat_lmr *lmr, u8 index, DAT_DTOS op,
		  enum ib_wc_status status);
void dat_fmr_revoke(struct dat_lmr *lmr, DAT_RMR_CONTEXT context);

/* fmr_map.c */
DAT_RETURN dat_fmr_map(struct dat_fmr *fmr, struct dat_fmr_slot *slot,
		       struct dat_fmr_memory *mem);
void dat_fmr_unmap(struct dat_fmr *fmr, struct dat_fmr_slot *slot);

#endif /* _KDAPL_FMR_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fmr.h - LMRs that are registered by posting
 *
 * Declares the slots of such an LMR and their states. fmr.c manages the slots, and
 * fmr_map.c maps memory into them.
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
 * enum dat_fmr_state - state of a slot of an LMR
 * @DAT_FMR_IDLE: free for the next registration
 * @DAT_FMR_VALID: its registration has been posted
 * @DAT_FMR_INVALIDATING: its invalidation has been posted
 * @DAT_FMR_DEAD: invalidated, but not yet idle: a request has not completed, or an RMR
 *	is bound to the memory
 * @DAT_FMR_BROKEN: a request has failed, and the state of the MR in the device is
 *	unknown; the slot keeps its memory until its MR is deregistered and replaced
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
 * @mr: the MR; NULL after the device is removed, or if no new MR could be allocated
 * @state: state of the slot
 * @keys: the keys of @mr that have been used
 * @dead_key: the key under which the device last knew @mr
 * @sgl: room for the pages
 * @sgt: the pages, mapped for the device; empty if there are none
 * @dma_dir: DMA direction of the mapping
 * @is_dma: the consumer passed DMA addresses, so kdapl has mapped nothing
 * @ep: EP on which requests that name the slot are outstanding, referenced
 * @pending: number of these requests
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
 * struct dat_fmr - the part of an LMR that only registration by posting needs
 * @lock: protects all fields below, and the LMR's description of its memory
 * @lmr: the LMR
 * @max_pages: maximum number of pages of a registration, of PAGE_SIZE
 * @list_len: entries that the page list needs, in pages of dat_dev_page_size()
 * @slots: the MRs; mapping pages into an MR rewrites it at once, so the next
 *	registration must not use the MR whose invalidation is outstanding
 * @current_slot: the slot whose registration is valid, or DAT_FMR_NO_SLOT
 * @repair_work: replaces the MRs of broken slots and allocates spares for others
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
 * struct dat_fmr_memory - memory that a registration maps into a slot
 * @mem_type: type of @region
 * @region: the consumer's description of the memory
 * @num_pages: number of pages, in the unit of @mem_type
 * @privileges: privileges of the registration
 * @va_type: address type of triplets: from the first byte, or from 0
 * @address: out: address of the first byte in triplets
 * @length: out: length in bytes
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

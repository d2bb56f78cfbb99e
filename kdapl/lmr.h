/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * lmr.h - local memory regions
 */
#ifndef _KDAPL_LMR_H
#define _KDAPL_LMR_H

#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#include "object.h"

struct dat_ia;
struct dat_pz;

/**
 * struct dat_lmr - a local memory region
 * @obj: head; its users are the RMRs that are bound to it
 * @pz: its PZ, used
 * @mem_type: how the consumer described it
 * @region: the description
 * @address: address of the first byte, as triplets give it
 * @length: bytes
 * @privileges: what it may be used for
 * @sgt: its pages, mapped for the device
 * @dma_dir: how they are mapped
 * @mr: its registration
 * @lkey: its lmr_context; kept here because look-ups outlive @mr
 * @rkey: its rmr_context; likewise
 * @broken: broken windows that show a part of it, and are being closed
 * @syncs: calls that synchronise a part of it
 */
struct dat_lmr {
	struct dat_object obj;
	struct dat_pz *pz;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS privileges;
	struct sg_table sgt;
	enum dma_data_direction dma_dir;
	struct ib_mr *mr;
	u32 lkey;
	u32 rkey;
	atomic_t broken;
	atomic_t syncs;
};

static inline struct dat_lmr *to_lmr(struct dat_object *obj)
{
	return container_of(obj, struct dat_lmr, obj);
}

#define DAT_MEM_PRIV_REMOTE_FLAGS \
	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* lmr_map.c */
DAT_RETURN dat_lmr_map(struct dat_lmr *lmr);
void dat_lmr_unmap(struct dat_lmr *lmr);
struct scatterlist *dat_lmr_find_sg(const struct dat_lmr *lmr, u64 offset,
				    u32 *sg_offset, unsigned int *nents);
int dat_lmr_map_mr(const struct dat_lmr *lmr, struct ib_mr *mr, u64 address,
		   u32 length);

/* sync.c */
void dat_lmr_wait_for_syncs(struct dat_lmr *lmr);

/* lmr_find.c */
int dat_lmr_insert(struct dat_lmr *lmr);
void dat_lmr_remove(struct dat_lmr *lmr);
struct dat_lmr *dat_lmr_find(struct dat_ia *ia, DAT_LMR_CONTEXT context);
bool dat_lmr_covers(const struct dat_lmr *lmr, u64 address, u64 length);
DAT_RETURN dat_lmr_check(struct dat_ia *ia, const struct dat_pz *pz,
			 const DAT_LMR_TRIPLET *segment,
			 DAT_MEM_PRIV_FLAGS privilege);

#endif /* _KDAPL_LMR_H */

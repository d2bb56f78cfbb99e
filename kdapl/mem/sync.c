// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sync.c - makes memory and RDMA agree on machines that are not coherent
 */
#include <linux/dma-map-ops.h>
#include <linux/kernel.h>
#include <linux/wait.h>

#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/fmr.h"
#include "mem/lmr.h"

/*
 * Do caches have to be written back? If the device is coherent and the DMA API has
 * work nevertheless, then it copies to and from bounce buffers.
 */
static bool has_caches(const struct ib_device *ibdev)
{
	return !ib_uses_virt_dma((struct ib_device *)ibdev) &&
	       !dev_is_dma_coherent(ibdev->dma_device);
}

/*
 * For peers' writes there are two occasions: a peer has written, or will write where
 * the CPU has. What the CPU wrote must be in memory by then, or the cache would
 * write it over what the peer has put there. On the first occasion the cache has
 * nothing to write back, so that the order serves both. A bounce buffer cannot be
 * served so: it would be filled with what was there before the peer wrote.
 */
static void sync_for_writes(struct ib_device *ibdev, u64 dma, u32 length)
{
	if (has_caches(ibdev))
		ib_dma_sync_single_for_device(ibdev, dma, length,
					      DMA_TO_DEVICE);
	ib_dma_sync_single_for_cpu(ibdev, dma, length, DMA_FROM_DEVICE);
}

/* On machines that are coherent these calls of the DMA API do nothing. */
static void sync_range(struct dat_lmr *lmr, u64 address, u32 length,
		       enum dma_data_direction dir)
{
	struct ib_device *ibdev = dat_ia_ibdev(lmr->obj.ia);
	struct scatterlist *sg;
	unsigned int nents;
	u32 offset;

	/* What peers cannot write to has nothing new for us. */
	if (dir == DMA_FROM_DEVICE && lmr->dma_dir == DMA_TO_DEVICE)
		return;

	sg = dat_lmr_find_sg(lmr, address - lmr->address, &offset, &nents);
	while (length) {
		u32 len = min(length, sg_dma_len(sg) - offset);
		u64 dma = sg_dma_address(sg) + offset;

		if (dir == DMA_FROM_DEVICE)
			sync_for_writes(ibdev, dma, len);
		else
			ib_dma_sync_single_for_device(ibdev, dma, len, dir);
		length -= len;
		offset = 0;
		sg = sg_next(sg);
	}
}

static DECLARE_WAIT_QUEUE_HEAD(sync_wq);

static void end_sync(struct dat_lmr *lmr)
{
	if (atomic_dec_and_test(&lmr->syncs))
		wake_up_all(&sync_wq);
	dat_object_put(&lmr->obj);
}

/**
 * dat_lmr_wait_for_syncs - wait until nobody synchronises an LMR
 * @lmr: the LMR, which can no longer be found
 *
 * Context: process, may sleep.
 */
void dat_lmr_wait_for_syncs(struct dat_lmr *lmr)
{
	wait_event(sync_wq, !atomic_read(&lmr->syncs));
}

/*
 * Finds the LMR of a segment. It is not used as a bind uses it: that would
 * make dat_lmr_free() fail, and here it shall but wait.
 */
static struct dat_lmr *begin_sync(struct dat_ia *ia, const DAT_LMR_TRIPLET *seg)
{
	struct dat_lmr *lmr;

	rcu_read_lock();
	lmr = dat_lmr_find_range(ia, NULL, seg);
	if (lmr && !kref_get_unless_zero(&lmr->obj.ref))
		lmr = NULL;
	rcu_read_unlock();
	if (!lmr)
		return NULL;

	atomic_inc(&lmr->syncs);
	/* Either the one who frees it sees the count, or this sees the claim. */
	smp_mb__after_atomic();
	if (atomic_read(&lmr->obj.users) >= 0)
		return lmr;
	end_sync(lmr);
	return NULL;
}

/* The memory of an LMR that is registered by posting may go at any time. */
static bool sync_fmr(struct dat_lmr *lmr, const DAT_LMR_TRIPLET *seg,
		     enum dma_data_direction dir, bool check_only)
{
	bool ok;

	spin_lock_bh(&lmr->fmr->lock);
	ok = lmr->lkey == seg->lmr_context &&
	     dat_lmr_covers(lmr, seg->virtual_address, seg->segment_length);
	if (ok && !check_only)
		sync_range(lmr, seg->virtual_address, seg->segment_length, dir);
	spin_unlock_bh(&lmr->fmr->lock);
	return ok;
}

static DAT_RETURN sync_segment(struct dat_ia *ia, const DAT_LMR_TRIPLET *seg,
			       enum dma_data_direction dir, bool check_only)
{
	struct dat_lmr *lmr;
	bool ok = true;

	/* With a length of zero the rest of a triplet has no meaning. */
	if (!seg->segment_length)
		return DAT_SUCCESS;
	lmr = begin_sync(ia, seg);
	if (!lmr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (lmr->fmr)
		ok = sync_fmr(lmr, seg, dir, check_only);
	else if (!check_only)
		sync_range(lmr, seg->virtual_address, seg->segment_length, dir);
	end_sync(lmr);
	return ok ? DAT_SUCCESS :
		    DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

static DAT_RETURN sync_segments(DAT_IA_HANDLE ia_handle,
				const DAT_LMR_TRIPLET *segs, DAT_VLEN num,
				enum dma_data_direction dir)
{
	struct dat_object *obj;
	bool check_only = true;
	DAT_RETURN ret;
	DAT_VLEN i;

	if (num && !segs)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!obj)
		return ret;
	/* All or none: the first round only looks. */
	do {
		for (i = 0; i < num && !ret; i++)
			ret = sync_segment(to_ia(obj), &segs[i], dir,
					   check_only);
		check_only = !check_only;
	} while (!check_only && !ret);
	dat_object_put_live(obj);
	return ret;
}

/**
 * kdapl_lmr_sync_rdma_read - let peers read what was written locally
 * @ia_handle: the IA
 * @local_segments: what was written; parts of any LMRs of the IA
 * @num_segments: how many
 *
 * To be called after a local write, before a peer's RDMA read. Specification:
 * dat_lmr_sync_rdma_read().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (then no
 * segment has been synchronised), DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN kdapl_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				    const DAT_LMR_TRIPLET *local_segments,
				    DAT_VLEN num_segments)
{
	might_sleep();
	return sync_segments(ia_handle, local_segments, num_segments,
			     DMA_TO_DEVICE);
}

/**
 * kdapl_lmr_sync_rdma_write - see locally what peers have written
 * @ia_handle: the IA
 * @local_segments: what was written; parts of any LMRs of the IA
 * @num_segments: how many
 *
 * To be called after a peer's RDMA write, before a local read or write, and
 * after a local write, before a peer's RDMA write. If the device is coherent but
 * its memory is bounced, dat_lmr_sync_rdma_read() is for the second: one call
 * cannot tell which copy is the newer. Specification: dat_lmr_sync_rdma_write().
 *
 * Context: process, may sleep.
 * Return: as dat_lmr_sync_rdma_read().
 */
DAT_RETURN kdapl_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				     const DAT_LMR_TRIPLET *local_segments,
				     DAT_VLEN num_segments)
{
	might_sleep();
	return sync_segments(ia_handle, local_segments, num_segments,
			     DMA_FROM_DEVICE);
}

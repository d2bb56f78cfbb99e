// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sync.c - synchronises memory with RDMA on machines that are not coherent
 *
 * Implements dat_lmr_sync_rdma_read() and dat_lmr_sync_rdma_write(), in process
 * context. Both check all segments before they synchronise the first. On coherent
 * machines the calls of the DMA API do nothing.
 */
#include <linux/dma-map-ops.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/wait.h>

#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/fmr.h"

/*
 * Must caches be written back? On a coherent device the DMA API has work only if it
 * copies to and from bounce buffers.
 */
static bool has_caches(const struct ib_device *ibdev)
{
	return !ib_uses_virt_dma((struct ib_device *)ibdev) &&
	       !dev_is_dma_coherent(ibdev->dma_device);
}

/*
 * A consumer synchronises for writes of peers in two cases: a peer has written, or a
 * peer will write where the CPU has written. In the second case the CPU's data must be
 * in memory first. Otherwise the cache would later overwrite the peer's data. In the
 * first case the cache has nothing to write back, so this order serves both. It does
 * not serve bounce buffers: they would be filled with data from before the peer's
 * write.
 */
static void sync_for_writes(struct ib_device *ibdev, u64 dma, u32 length)
{
	if (has_caches(ibdev))
		ib_dma_sync_single_for_device(ibdev, dma, length,
					      DMA_TO_DEVICE);
	ib_dma_sync_single_for_cpu(ibdev, dma, length, DMA_FROM_DEVICE);
}

/*
 * Page by page: an IOMMU joins pages to a segment that are not neighbours in memory. On
 * coherent machines these calls of the DMA API do nothing.
 */
static void sync_range(struct dat_lmr *lmr, u64 address, u32 length,
		       enum dma_data_direction dir)
{
	struct ib_device *ibdev = dat_ia_ibdev(lmr->obj.ia);
	struct scatterlist *sg;
	unsigned int nents;
	u32 offset;

	/* Peers cannot have written to this memory. */
	if (dir == DMA_FROM_DEVICE && lmr->dma_dir == DMA_TO_DEVICE)
		return;

	sg = dat_lmr_find_sg(lmr, address - lmr->address, &offset, &nents);
	while (length) {
		u64 dma = sg_dma_address(sg) + offset;
		u32 len = min3(length, sg_dma_len(sg) - offset,
			       (u32)(PAGE_SIZE - offset_in_page(dma)));

		if (dir == DMA_FROM_DEVICE)
			sync_for_writes(ibdev, dma, len);
		else
			ib_dma_sync_single_for_device(ibdev, dma, len, dir);
		length -= len;
		offset += len;
		if (offset == sg_dma_len(sg)) {
			offset = 0;
			sg = sg_next(sg);
		}
	}
}

static DECLARE_WAIT_QUEUE_HEAD(access_wq);

/**
 * dat_lmr_access_get - keep the mapping of an LMR while its memory is accessed
 * @lmr: the LMR
 *
 * A use count would let dat_lmr_free() fail, but it only has to wait. Posts do not keep the
 * device from being removed, so the removal also waits.
 *
 * Context: any; the caller keeps the memory of @lmr itself.
 * Return: false if the shutdown of the LMR has begun. Otherwise call dat_lmr_access_put().
 */
bool dat_lmr_access_get(struct dat_lmr *lmr)
{
	atomic_inc(&lmr->accesses);
	/* Either the shutdown sees the count, or this sees the shutdown. */
	smp_mb__after_atomic();
	if (likely(!READ_ONCE(lmr->obj.is_down)))
		return true;
	dat_lmr_access_put(lmr);
	return false;
}

/**
 * dat_lmr_access_put - reverse dat_lmr_access_get()
 * @lmr: the LMR
 *
 * Context: any.
 */
void dat_lmr_access_put(struct dat_lmr *lmr)
{
	if (atomic_dec_and_test(&lmr->accesses) && wq_has_sleeper(&access_wq))
		wake_up_all(&access_wq);
}

/**
 * dat_lmr_wait_for_accesses - wait until no call accesses the memory of an LMR
 * @lmr: the LMR, whose shutdown has begun
 *
 * Context: process, may sleep.
 */
void dat_lmr_wait_for_accesses(struct dat_lmr *lmr)
{
	wait_event(access_wq, !atomic_read(&lmr->accesses));
}

static void end_sync(struct dat_lmr *lmr)
{
	dat_lmr_access_put(lmr);
	dat_object_put(&lmr->obj);
}

static struct dat_lmr *begin_sync(struct dat_ia *ia, const DAT_LMR_TRIPLET *seg)
{
	struct dat_lmr *lmr;

	rcu_read_lock();
	lmr = dat_lmr_find_range(ia, NULL, seg);
	if (lmr && !kref_get_unless_zero(&lmr->obj.ref))
		lmr = NULL;
	rcu_read_unlock();
	if (!lmr || dat_lmr_access_get(lmr))
		return lmr;
	dat_object_put(&lmr->obj);
	return NULL;
}

/* The memory of an LMR that is registered by posting may change at any time. */
static bool sync_fmr(struct dat_lmr *lmr, const DAT_LMR_TRIPLET *seg,
		     enum dma_data_direction dir, bool check_only)
{
	bool ok;

	spin_lock_bh(&lmr->fmr->pair.lock);
	ok = lmr->lkey == seg->lmr_context &&
	     dat_lmr_covers(lmr, seg->virtual_address, seg->segment_length);
	if (ok && !check_only)
		sync_range(lmr, seg->virtual_address, seg->segment_length, dir);
	spin_unlock_bh(&lmr->fmr->pair.lock);
	return ok;
}

static DAT_RETURN sync_segment(struct dat_ia *ia, const DAT_LMR_TRIPLET *seg,
			       enum dma_data_direction dir, bool check_only)
{
	struct dat_lmr *lmr;
	bool ok = true;

	/* With a length of 0 the other fields of a triplet have no meaning. */
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
	/*
	 * The first pass only checks, so that the call synchronises all segments or
	 * none.
	 */
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
 * kdapl_lmr_sync_rdma_read - make local writes visible to RDMA reads of peers
 * @ia_handle: the IA
 * @local_segments: the memory that was written; parts of any LMRs of the IA
 * @num_segments: number of segments
 *
 * Call it after a local write and before a peer's RDMA read. A post writes back no cache,
 * so call it also before a Send or RDMA Write with data that have changed. Specification:
 * dat_lmr_sync_rdma_read().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (then no segment has
 * been synchronised), DAT_INTERNAL_ERROR (the device is removed).
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
 * kdapl_lmr_sync_rdma_write - make RDMA writes of peers visible to the CPU
 * @ia_handle: the IA
 * @local_segments: the memory that was written; parts of any LMRs of the IA
 * @num_segments: number of segments
 *
 * Call it in two cases:
 *
 * - after a peer's RDMA write, or a receive or RDMA read of the consumer, before a local
 *   read or write
 * - after a local write, before a peer's RDMA write
 *
 * If the device is coherent but its memory is bounced, call dat_lmr_sync_rdma_read() in
 * the second case: one call cannot determine which copy is newer. Specification:
 * dat_lmr_sync_rdma_write().
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

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ulmr_sync.c - the ioctl of dat_lmr_sync_rdma_read() and _write()
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "file.h"

/* Segments that a sync copies in at once. */
#define SYNC_BATCH	64

static DAT_RETURN sync_batch(struct dat_dev_lmr_sync *p, DAT_IA_HANDLE kia,
			     const DAT_LMR_TRIPLET *segments, u64 num)
{
	if (p->direction == DAT_DEV_SYNC_READ)
		return dat_lmr_sync_rdma_read(kia, segments, num);
	return dat_lmr_sync_rdma_write(kia, segments, num);
}

/* dat_lmr_sync_rdma_read(), dat_lmr_sync_rdma_write() */
int dat_ioctl_lmr_sync(struct dat_file *file, void *arg)
{
	const struct dat_dev_segment __user *usegments;
	struct dat_dev_lmr_sync *p = arg;
	DAT_LMR_TRIPLET *segments;
	DAT_IA_HANDLE kia;
	u64 done = 0;
	int ret = 0;

	/* A process's segment has the layout of the kernel's triplet. */
	BUILD_BUG_ON(sizeof(*segments) != sizeof(*usegments));
	if (p->direction > DAT_DEV_SYNC_WRITE)
		return -EOPNOTSUPP;
	kia = dat_uobj_khandle(file, p->ia, DAT_HANDLE_TYPE_IA);
	usegments = u64_to_user_ptr(p->segments);
	segments = kmalloc_array(SYNC_BATCH, sizeof(*segments), GFP_KERNEL);
	if (!segments)
		return -ENOMEM;
	do {
		u64 num = min_t(u64, p->num_segments - done, SYNC_BATCH);

		if (copy_from_user(segments, usegments + done,
				   num * sizeof(*segments))) {
			ret = -EFAULT;
			break;
		}
		p->result = sync_batch(p, kia, segments, num);
		done += num;
		cond_resched();
	} while (!p->result && done < p->num_segments &&
		 !fatal_signal_pending(current));
	kfree(segments);
	return ret;
}

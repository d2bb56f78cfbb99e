// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * quirks.c - capabilities and known defects of RDMA devices
 *
 * Derives limits from the attributes of a device and lists the defects of its driver.
 * All layers call it. No function sleeps, except dat_dev_alloc_mr() and
 * dat_dev_dereg_mr().
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>

#include "base/compat.h"
#include "dev/device.h"

/**
 * dat_dev_max_lmr_pages - maximum number of pages in the fast registration of an LMR
 * @ibdev: the device
 *
 * Return: the number, 0 if the device has no fast registrations.
 */
u32 dat_dev_max_lmr_pages(const struct ib_device *ibdev)
{
	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !ibdev->attrs.max_fast_reg_page_list_len)
		return 0;
	return min_t(u32, ibdev->attrs.max_fast_reg_page_list_len - 1,
		     DAT_MAX_LMR_PAGES);
}

/**
 * dat_dev_max_pages - maximum number of pages in the fast registration of a window
 * @ibdev: the device
 *
 * A window's MR is allocated before a bind determines its memory, so it must have the
 * maximum size. DAT_MAX_FRWR_PAGES limits its cost. An LMR's MR has the size of its
 * memory.
 *
 * Return: the number, 0 if the device has no fast registrations.
 */
u32 dat_dev_max_pages(const struct ib_device *ibdev)
{
	return min_t(u32, dat_dev_max_lmr_pages(ibdev), DAT_MAX_FRWR_PAGES);
}

/**
 * dat_dev_page_size - page size of the page lists of fast registrations
 * @ibdev: the device
 *
 * The size is the largest supported one that is at most PAGE_SIZE. If a device has
 * none, it is the smallest supported one. dat_lmr_fit() chooses larger pages for memory
 * that has more pages than a list has entries.
 *
 * Context: any.
 * Return: bytes, a power of two.
 */
u32 dat_dev_page_size(const struct ib_device *ibdev)
{
	u64 sizes = ibdev->attrs.page_size_cap ?: PAGE_SIZE;
	u64 small = sizes & GENMASK_ULL(PAGE_SHIFT, 0);

	return small ? BIT_ULL(__fls(small)) : BIT_ULL(__ffs64(sizes));
}

/**
 * dat_dev_quirks - report the defects of a driver that kdapl works around
 * @ibdev: the device
 *
 * Context: any.
 * Return: a mask of enum dat_quirk.
 */
u32 dat_dev_quirks(const struct ib_device *ibdev)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_RXE:
		/*
		 * - A retransmission executes the registrations behind the message
		 *   again and fails.
		 * - rxe looks up all memory in the PD of the QP.
		 * - In Linux 6.12 rxe splits larger pages and allocates memory for
		 *   that.
		 * - In Linux 6.1 rxe never reports the last WQE; in Linux 6.12 it
		 *   forgets some.
		 * - In both it completes a receive before it answers the peer, even if
		 *   the receive fails and breaks the connection.
		 */
		return DAT_QUIRK_INVALIDATE_FIRST |
		       DAT_QUIRK_LARGE_PAGES_SLEEP | DAT_QUIRK_SRQ_SAME_PZ |
		       DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_SRQ_FORGETS |
		       DAT_QUIRK_LATE_ANSWERS;
	case RDMA_DRIVER_SIW:
		/*
		 * - siw keeps the page index of the first segment for the second. It
		 *   may send foreign memory that lies in front of a page of the second.
		 * - It passes the pages themselves to TCP if no request is signalled.
		 * - It never checks whether a peer may read.
		 * - A request behind a read completes before the read. A read that is
		 *   flushed while siw is about to send it completes twice.
		 * - It treats a read with a fence as an error.
		 * - Its MRs are lists of pieces.
		 * - It never reports the last WQE.
		 * - It drops the solicited flag of a message.
		 * - It may write for a moment to memory that has been deregistered.
		 * - It counts a completion and then checks whether the CQ is armed,
		 *   without a barrier between the two.
		 */
		return DAT_QUIRK_ONE_SEGMENT | DAT_QUIRK_SIGNAL_ALL |
		       DAT_QUIRK_UNCHECKED_READS | DAT_QUIRK_UNORDERED |
		       DAT_QUIRK_NO_READ_FENCE | DAT_QUIRK_PIECES |
		       DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_NO_SOLICITED |
		       DAT_QUIRK_LATE_WRITES | DAT_QUIRK_MISSED_EVENTS;
	default:
		return 0;
	}
}

/*
 * ib_reg_user_mr() passes no udata, and a PD of the kernel. Some drivers access the
 * udata nevertheless (irdma, mthca), or treat the memory as kernel memory (hns). The
 * drivers in the list were reviewed in Linux 6.1 and 6.12.
 */
static bool takes_user_mr(const struct ib_device *ibdev)
{
	/*
	 * The device looks up pages by address; lmr_user.c verifies that they are the
	 * same.
	 */
	if (!ibdev->ops.reg_user_mr || !IS_ENABLED(CONFIG_MMU_NOTIFIER))
		return false;
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_MLX5:
	case RDMA_DRIVER_MLX4:
	case RDMA_DRIVER_CXGB4:
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_OCRDMA:
	case RDMA_DRIVER_VMW_PVRDMA:
	case RDMA_DRIVER_QEDR:
	case RDMA_DRIVER_HFI1:
	case RDMA_DRIVER_QIB:
	case RDMA_DRIVER_RXE:
	case RDMA_DRIVER_SIW:
	case RDMA_DRIVER_ERDMA:
		return true;
	default:
		return false;
	}
}

/**
 * dat_dev_max_user_mr - maximum size of a region that the device pins itself
 * @ibdev: the device
 *
 * Return: bytes, for any alignment; 0 if the device cannot pin memory itself.
 */
u64 dat_dev_max_user_mr(const struct ib_device *ibdev)
{
	u64 max = min_t(u64, ibdev->attrs.max_mr_size, TASK_SIZE_MAX);

	if (!takes_user_mr(ibdev))
		return 0;
	/* siw reports the memlock limit of the task that created the device. */
	if (ibdev->ops.driver_id == RDMA_DRIVER_SIW)
		max = TASK_SIZE_MAX;
	/* rxe reports no limit, but allocates 16 bytes per page with kmalloc(). */
	if (ibdev->ops.driver_id == RDMA_DRIVER_RXE)
		max = min_t(u64, max, KMALLOC_MAX_SIZE / 16 * PAGE_SIZE);
	return max > PAGE_SIZE ? max - PAGE_SIZE : 0;
}

/**
 * dat_dev_keeps_pages - can the page list of an MR be registered a second time?
 * @ibdev: the device
 *
 * cxgb4, for example, byte-swaps the list in place when it posts a registration. The
 * drivers in the list were reviewed in Linux 6.1 and 6.12.
 *
 * Context: any.
 * Return: true if ib_map_mr_sg() need not be called again for the same pages.
 */
bool dat_dev_keeps_pages(const struct ib_device *ibdev)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_MLX5:
	case RDMA_DRIVER_MLX4:
	case RDMA_DRIVER_BNXT_RE:
	case RDMA_DRIVER_IRDMA:
	case RDMA_DRIVER_ERDMA:
	case RDMA_DRIVER_RXE:
	case RDMA_DRIVER_SIW:
		return true;
	default:
		return false;
	}
}

/**
 * dat_dev_max_send_sge - maximum number of segments of a Send or an RDMA write
 * @ibdev: the device
 *
 * Return: the number.
 */
int dat_dev_max_send_sge(const struct ib_device *ibdev)
{
	return dat_dev_quirks(ibdev) & DAT_QUIRK_ONE_SEGMENT ?
		       1 : dat_limit(ibdev->attrs.max_send_sge);
}

/**
 * dat_dev_alloc_mr - allocate an MR for fast registrations
 * @pd: its PD
 * @num_pages: number of pages that it must be able to map, at most
 *	dat_dev_max_lmr_pages()
 *
 * For versions of rxe that read past the page list, the list gets one spare entry.
 *
 * Context: process, may sleep.
 * Return: the MR, for ib_dereg_mr(), or an ERR_PTR().
 */
struct ib_mr *dat_dev_alloc_mr(struct ib_pd *pd, u32 num_pages)
{
	if (pd->device->ops.driver_id == RDMA_DRIVER_RXE)
		num_pages += DAT_RXE_SPARE_PAGES;
	return ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, num_pages);
}

/**
 * dat_dev_dereg_mr - deregister memory that peers may be writing to
 * @mr: the MR; after the return its keys are invalid and the device writes nothing more
 *
 * Context: process, may sleep.
 */
void dat_dev_dereg_mr(struct ib_mr *mr)
{
	bool is_written_late = dat_dev_quirks(mr->device) &
			       DAT_QUIRK_LATE_WRITES;

	ib_dereg_mr(mr);
	/* A running softirq counts as an RCU read-side section. */
	if (is_written_late)
		synchronize_rcu_expedited();
}

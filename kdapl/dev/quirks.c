// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * quirks.c - what an RDMA device can do, and what it is known to do wrong
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>

#include "base/compat.h"
#include "dev/device.h"

/**
 * dat_dev_max_lmr_pages - pages that the fast registration of an LMR can map
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
 * dat_dev_max_pages - pages that the fast registration of a window can map
 * @ibdev: the device
 *
 * Unlike an LMR's, a window's MR is made before anybody knows what it will
 * show, so it is as large as can be, and that must not cost too much.
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
 * This is the largest supported size that is at most PAGE_SIZE. A device without
 * one gets its smallest size. dat_lmr_fit() chooses larger pages for memory that has
 * more pages than a list has entries.
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
 * dat_dev_quirks - the defects of a driver that have to be got round
 * @ibdev: the device
 *
 * Context: any.
 * Return: of enum dat_quirk.
 */
u32 dat_dev_quirks(const struct ib_device *ibdev)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_RXE:
		/*
		 * When it sends a message again it carries out once more the
		 * registrations behind it, and fails. It looks for all memory
		 * in the PD of the QP. In 6.12 it takes larger pages to pieces,
		 * for which it has to find room. That of 6.1 never tells of the
		 * last WQE; the one in 6.12 forgets it. Both complete a receive
		 * before they answer the peer, also if the receive fails and
		 * breaks the connection.
		 */
		return DAT_QUIRK_INVALIDATE_FIRST |
		       DAT_QUIRK_LARGE_PAGES_SLEEP | DAT_QUIRK_SRQ_SAME_PZ |
		       DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_SRQ_FORGETS |
		       DAT_QUIRK_LATE_ANSWERS;
	case RDMA_DRIVER_SIW:
		/*
		 * From one segment to the next it goes on counting in the page
		 * list of the first, and sends what lies in front of a page of
		 * the second, whosever that is. It gives TCP the pages
		 * themselves if nothing is signalled. It never asks whether a
		 * peer may read. What comes behind a read completes in front of
		 * it, and a read that is flushed when it was about to be sent
		 * completes twice. It takes a read with a fence for an error.
		 * Its MRs are lists of pieces. It never tells of the last WQE.
		 * It forgets that a message was solicited. Memory that has been
		 * deregistered is still written to for a moment. Whoever
		 * completes counts the completion, and then looks whether the CQ
		 * is armed; between the two there is no barrier.
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
 * ib_reg_user_mr() passes no udata, and a PD that is the kernel's. There are drivers
 * that look into it all the same (irdma, mthca), or take the memory for the
 * kernel's (hns). These have been read, of 6.1 and of 6.12.
 */
static bool takes_user_mr(const struct ib_device *ibdev)
{
	/* It is looked up by address: lmr_user.c sees to it that it stays the same. */
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
 * dat_dev_max_user_mr - how large a region that the device pins itself can be
 * @ibdev: the device
 *
 * Return: bytes, whatever the alignment; 0 if it cannot do that.
 */
u64 dat_dev_max_user_mr(const struct ib_device *ibdev)
{
	u64 max = min_t(u64, ibdev->attrs.max_mr_size, TASK_SIZE_MAX);

	if (!takes_user_mr(ibdev))
		return 0;
	/* It names what whoever made the device could lock. */
	if (ibdev->ops.driver_id == RDMA_DRIVER_SIW)
		max = TASK_SIZE_MAX;
	/* What it says is that there is no limit; it kmalloc()s 16 bytes a page. */
	if (ibdev->ops.driver_id == RDMA_DRIVER_RXE)
		max = min_t(u64, max, KMALLOC_MAX_SIZE / 16 * PAGE_SIZE);
	return max > PAGE_SIZE ? max - PAGE_SIZE : 0;
}

/**
 * dat_dev_keeps_pages - is an MR's list of pages good for a second registration?
 * @ibdev: the device
 *
 * cxgb4 for one turns the list round, where it is, when it posts a registration.
 * These have been read, of 6.1 and of 6.12.
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
 * dat_dev_max_send_sge - segments that a Send or an RDMA write can have
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
 * @num_pages: pages that it must be able to map, at most
 *	dat_dev_max_lmr_pages()
 *
 * If rxe looks at what comes behind the list, there is room for one more.
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
 * @mr: the MR; its keys are dead when this returns, and nothing is written any
 *	more
 *
 * Context: process, may sleep.
 */
void dat_dev_dereg_mr(struct ib_mr *mr)
{
	bool is_written_late = dat_dev_quirks(mr->device) &
			       DAT_QUIRK_LATE_WRITES;

	ib_dereg_mr(mr);
	/* A softirq that has begun counts as an RCU read-side section. */
	if (is_written_late)
		synchronize_rcu_expedited();
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * drivers.c - what each RDMA driver does unlike the verbs specification
 *
 * The table has a row for each driver that kdapl knows, with the places in Linux 6.12
 * that prove it, below drivers/infiniband/hw unless another folder is named. No other
 * file names a driver: the others ask for the behaviour. A driver without a row gets what
 * can do no harm, and one line in the log.
 *
 * All layers call these functions. None sleeps, except dat_dev_alloc_mr() and
 * dat_dev_dereg_mr().
 */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "base/compat.h"
#include "dev/device.h"

/**
 * enum user_mr - ib_reg_user_mr() with a PD of the kernel and without udata
 * @USER_MR_NONE: must not be called
 * @USER_MR_START: the region counts from its address
 * @USER_MR_ANY: peers may address the region otherwise
 */
enum user_mr {
	USER_MR_NONE,
	USER_MR_START,
	USER_MR_ANY,
};

/**
 * enum inline_data - IB_SEND_INLINE in a request of the kernel
 * @INLINE_NONE: must not be used
 * @INLINE_SEGMENTS: the post copies the data, at most DAT_MAX_INLINE bytes, from the addresses
 *	of the segments to the place of the segments in the queue
 * @INLINE_ALWAYS: the same, to a place that each request has
 */
enum inline_data {
	INLINE_NONE,
	INLINE_SEGMENTS,
	INLINE_ALWAYS,
};

/**
 * struct dat_driver - a row of the table
 * @name: name of the driver; NULL in rows that are empty
 * @refused: why no device of the driver is an IA, or NULL
 * @quirks: enum dat_quirk
 * @no_fence: requests on which the driver ignores a fence, enum dat_fence
 * @max_list: entries of a page list that work; 0: as many as the device reports
 * @user_mr: what ib_reg_user_mr() can do
 * @max_user_mr: bytes of such a region; 0: as many as the device reports
 * @max_cqe: entries of a CQ; 0: as many as the device reports
 * @inline_data: what IB_SEND_INLINE does in a request of the kernel
 * @keeps_pages: see dat_dev_keeps_pages()
 */
struct dat_driver {
	const char *name;
	const char *refused;
	u32 quirks;
	u32 no_fence;
	u32 max_list;
	enum user_mr user_mr;
	u64 max_user_mr;
	u32 max_cqe;
	enum inline_data inline_data;
	bool keeps_pages;
};

static const struct dat_driver drivers[] = {
	[RDMA_DRIVER_MLX5] = {
		.name = "mlx5",
		/*
		 * mlx5/wr.c:946: atomic operations return -EOPNOTSUPP.
		 * mlx5/wr.c:1107: REG_MR has a fence of its own and ignores ours.
		 * mlx5/mr.c:2434: a list has a multiple of 4 entries, at most 65,535.
		 * mlx5/wr.c:652: on some hosts REG_MR with relaxed ordering returns
		 * -EINVAL; mr.c:2247: such registrations are always relaxed.
		 * mlx5/wr.c:260, qp.c:608: inline data.
		 */
		.quirks = DAT_QUIRK_NO_ATOMIC_REQUESTS | DAT_QUIRK_NO_RELAXED_REG,
		.no_fence = DAT_FENCE_REG,
		.max_list = 65532,
		.inline_data = INLINE_SEGMENTS,
		.user_mr = USER_MR_ANY,
		.keeps_pages = true,
	},
	[RDMA_DRIVER_MLX4] = {
		.name = "mlx4",
		/* mlx4/mr.c:427: the layout is computed from the start of the memory. */
		.user_mr = USER_MR_START,
		.keeps_pages = true,
	},
	[RDMA_DRIVER_CXGB4] = {
		.name = "cxgb4",
		/*
		 * cxgb4/qp.c:1183, 834: no fence on RDMA writes and on REG_MR.
		 * cxgb4/qp.c:2443: SRQ limit events do not reach the SRQ; qp.c:1370: a
		 * full SRQ does not tell which buffer it refused.
		 * cxgb4/qp.c:847: posting swaps the bytes of the page list in place.
		 * cxgb4/mem.c:54: a region has less than 8 GiB.
		 * cxgb4/qp.c:414: inline data.
		 */
		.quirks = DAT_QUIRK_NO_SRQ | DAT_QUIRK_NO_LAST_WQE,
		.no_fence = DAT_FENCE_WRITE | DAT_FENCE_ATOMIC | DAT_FENCE_REG,
		.inline_data = INLINE_ALWAYS,
		.user_mr = USER_MR_ANY,
		.max_user_mr = SZ_8G - 1,
	},
	[RDMA_DRIVER_BNXT_RE] = {
		.name = "bnxt_re",
		/*
		 * bnxt_re/ib_verbs.c:2609, 2637: LOCAL_INV and REG_MR ignore fences.
		 * bnxt_re/ib_verbs.c:3959, 4007: a list of a number of entries that is no
		 * power of two overflows its memory.
		 * bnxt_re/main.c:1162: the last WQE is reported for some errors only; in
		 * Linux 6.1 (main.c:844) for each error of a QP with an SRQ.
		 * bnxt_re/ib_verbs.c:3661 of Linux 7.3: kmalloc() of 80 bytes for each entry
		 * of a CQ, of which 4 MiB is the limit.
		 * bnxt_re/ib_verbs.c:2659: inline data.
		 */
		.quirks = DAT_QUIRK_LIST_POW2 | DAT_QUIRK_NO_LAST_WQE |
			  DAT_QUIRK_FALSE_LAST_WQE,
		.max_cqe = SZ_4M / 80 - 1,
		.inline_data = INLINE_SEGMENTS,
		.no_fence = DAT_FENCE_INV | DAT_FENCE_REG,
		.max_list = 512,
		.user_mr = USER_MR_ANY,
		.keeps_pages = true,
	},
	[RDMA_DRIVER_IRDMA] = {
		.name = "irdma",
		/*
		 * irdma/verbs.c:2716, 3572: REG_MR takes a longer list for a short one.
		 * irdma/verbs.c:3037: reg_user_mr dereferences the udata.
		 * irdma/uk.c:1271 of Linux 7.3: the completion of an SRQ takes the wr_id for
		 * an address of its own.
		 * irdma/verbs.c:4265 of Linux 7.3: REG_MR never permits atomic operations.
		 */
		.quirks = DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_NO_SRQ |
			  DAT_QUIRK_NO_ATOMIC_MEMORY,
		.max_list = 512,
		.keeps_pages = true,
	},
	[RDMA_DRIVER_QEDR] = {
		.name = "qedr",
		/*
		 * qedr/verbs.c:3155: a list with more entries overwrites its directory.
		 * No place reports the last WQE.
		 */
		.quirks = DAT_QUIRK_NO_LAST_WQE,
		.max_list = 8192,
		.user_mr = USER_MR_ANY,
	},
	[RDMA_DRIVER_ERDMA] = {
		.name = "erdma",
		/*
		 * erdma/erdma_hw.h:617, erdma_verbs.c:1135: REG_MR has no page size.
		 * erdma/erdma_qp.c:465: a read has exactly one segment.
		 * erdma/erdma_qp.c:467 of Linux 6.1: nothing flushes a request that is
		 * posted in the error state; since Linux 6.2 erdma_qp.c:651 does.
		 * erdma/erdma_verbs.c:169: a region has less than 4 GiB, unless its page
		 * table has several levels.
		 * erdma/erdma_qp.c:325: inline data.
		 */
		.quirks = DAT_QUIRK_PAGE_SIZE_ONLY | DAT_QUIRK_READ_ONE_SEGMENT |
			  DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_NO_LATE_POSTS,
		.max_list = 512,
		.inline_data = INLINE_ALWAYS,
		.user_mr = USER_MR_ANY,
		.max_user_mr = U32_MAX,
		.keeps_pages = true,
	},
	[RDMA_DRIVER_VMW_PVRDMA] = {
		.name = "vmw_pvrdma",
		/*
		 * vmw_pvrdma/pvrdma_mr.c:256: all pages have PAGE_SIZE.
		 * vmw_pvrdma/pvrdma_mr.c:216: a list has at most 128 entries.
		 * vmw_pvrdma/pvrdma_mr.c:167: a user MR counts from its start; :137: it has
		 * at most 262,144 pages.
		 * vmw_pvrdma/pvrdma_srq.c:113: the kernel gets no SRQ.
		 */
		.quirks = DAT_QUIRK_PAGE_SIZE_ONLY | DAT_QUIRK_NO_SRQ |
			  DAT_QUIRK_NO_LAST_WQE,
		.max_list = 128,
		.user_mr = USER_MR_START,
		.max_user_mr = 262143ULL * PAGE_SIZE,
		.keeps_pages = true,
	},
	[RDMA_DRIVER_HNS] = {
		.name = "hns",
		/* hns/hns_roce_hw_v2.c:544: LOCAL_INV returns -EINVAL. */
		.refused = "its driver cannot invalidate memory",
	},
	[RDMA_DRIVER_OCRDMA] = {
		.name = "ocrdma",
		/* ocrdma/ocrdma_verbs.c:2049: a region counts from its DMA address. */
		.refused = "its driver registers memory by DMA address only",
	},
	[RDMA_DRIVER_HFI1] = {
		.name = "hfi1",
		/*
		 * sw/rdmavt/mr.c:361: local keys are checked against the addresses of
		 * the mapping; mr.c:840: peers can use the key 0 for all memory of the
		 * kernel.
		 */
		.refused = "its driver lets peers use all memory",
	},
	[RDMA_DRIVER_RXE] = {
		.name = "rxe",
		/*
		 * Below sw/rxe:
		 * - A retransmission executes the registrations behind the message
		 *   again and fails.
		 * - rxe looks up all memory in the PD of the QP.
		 * - In Linux 6.12 rxe splits larger pages and allocates memory for
		 *   that.
		 * - In Linux 6.1 rxe never reports the last WQE; in Linux 6.12 it
		 *   forgets some.
		 * - In both it completes a receive before it answers the peer, even if
		 *   the receive fails and breaks the connection. If the QP becomes an
		 *   error in between, it never answers: the peer's Send is flushed
		 *   (rxe_resp.c, do_complete()).
		 * - A Send with invalidate ends a fast registration of any PD, with or
		 *   without privileges for peers (rxe_mr.c, rxe_invalidate_mr()). Before
		 *   Linux 6.3 rxe has a type of its own, which kdapl cannot change.
		 * - It uses a QP after it has given away the reference of a packet
		 *   (rxe_resp.c, rxe_resp_queue_pkt(); rxe_comp.c, rxe_comp_queue_pkt()).
		 * - A message that is longer than its receive is an error of the QP, as is
		 *   a receive without memory (rxe_mr.c, copy_data(); rxe_resp.c,
		 *   send_data_in()).
		 * - Inline data: rxe_verbs.c, copy_inline_data_to_wqe().
		 */
		.quirks = DAT_QUIRK_INVALIDATE_FIRST |
			  DAT_QUIRK_LARGE_PAGES_SLEEP | DAT_QUIRK_SRQ_SAME_PZ |
			  DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_SRQ_FORGETS |
			  DAT_QUIRK_LATE_ANSWERS | DAT_QUIRK_READ_PAST_LIST |
			  DAT_QUIRK_FOREIGN_INVALIDATE | DAT_QUIRK_LENGTH_IS_QP_ERROR,
		.inline_data = INLINE_SEGMENTS,
		.user_mr = USER_MR_ANY,
		/* It reports no limit, but allocates 16 bytes per page with kmalloc(). */
		.max_user_mr = (u64)KMALLOC_MAX_SIZE / 16 * PAGE_SIZE,
		.keeps_pages = true,
	},
	[RDMA_DRIVER_SIW] = {
		.name = "siw",
		/*
		 * Below sw/siw:
		 * - siw keeps the page index of the first segment for the second. It
		 *   may send foreign memory that lies in front of a page of the second.
		 * - It passes the pages themselves to TCP if no request is signalled.
		 * - It never checks whether a peer may read.
		 * - A request behind a read completes before the read. A read that is
		 *   flushed while siw is about to send it completes twice.
		 * - A receive or request that is posted during a flush completes in front of
		 *   those that are not yet flushed (siw_verbs.c, siw_post_receive();
		 *   siw_qp.c, siw_qp_llp_close()).
		 * - It treats a read with a fence as an error.
		 * - A post can fail without bad_wr although the request is queued
		 *   (siw_verbs.c, siw_post_send()). While the QP becomes connected, a receive
		 *   fails with -ENOTCONN (siw_cm.c, siw_accept()).
		 * - Its MRs are lists of pieces.
		 * - It never reports the last WQE.
		 * - It drops the solicited flag of a message.
		 * - It may write for a moment to memory that has been deregistered.
		 * - It counts a completion and then checks whether the CQ is armed,
		 *   without a barrier between the two.
		 * - A user MR counts from its start (siw_verbs.c, siw_reg_user_mr()).
		 * - Of memory that crosses a page, a request of at most 24 bytes sends other
		 *   bytes (siw_qp_tx.c, siw_try_1seg()).
		 * - It fails a request that is being sent, or has just been sent, when the
		 *   peer disconnects (siw_qp_tx.c, siw_qp_sq_proc_tx(): tx_suspend).
		 * - It has inline data (siw_verbs.c, siw_copy_inline_sgl()), but with them a
		 *   connection has broken under load. The cause is not known.
		 */
		.quirks = DAT_QUIRK_ONE_SEGMENT | DAT_QUIRK_SIGNAL_ALL |
			  DAT_QUIRK_UNCHECKED_READS | DAT_QUIRK_UNORDERED |
			  DAT_QUIRK_NO_READ_FENCE | DAT_QUIRK_PIECES |
			  DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_NO_SOLICITED |
			  DAT_QUIRK_LATE_WRITES | DAT_QUIRK_MISSED_EVENTS |
			  DAT_QUIRK_CLOSE_FAILS_REQUEST,
		.user_mr = USER_MR_START,
		.keeps_pages = true,
	},
#ifdef DAT_HAS_IONIC
	[RDMA_DRIVER_IONIC] = {
		.name = "ionic",
		/*
		 * Read in Linux 7.3.
		 * ionic/ionic_datapath.c:1049: the length of the segment overwrites the
		 * operands of an atomic operation.
		 */
		.quirks = DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_NO_ATOMIC_REQUESTS,
		.user_mr = USER_MR_ANY,
	},
#endif
};

/* Assume nothing of drivers without a row. */
static const struct dat_driver unknown = {
	.name = "unknown",
	.quirks = DAT_QUIRK_UNKNOWN_DRIVER | DAT_QUIRK_PAGE_SIZE_ONLY |
		  DAT_QUIRK_NO_LAST_WQE | DAT_QUIRK_MISSED_EVENTS |
		  DAT_QUIRK_NO_LATE_POSTS | DAT_QUIRK_NO_SRQ |
		  DAT_QUIRK_NO_ATOMIC_REQUESTS | DAT_QUIRK_NO_ATOMIC_MEMORY |
		  DAT_QUIRK_LIST_POW2 | DAT_QUIRK_NO_RELAXED_REG,
	.max_list = 256,
	.no_fence = DAT_FENCE_SEND | DAT_FENCE_WRITE | DAT_FENCE_ATOMIC |
		    DAT_FENCE_INV | DAT_FENCE_REG,
};

static char *model;
module_param(model, charp, 0444);
MODULE_PARM_DESC(model, "driver whose limits rxe gets besides its own, for tests");

/* The row of rxe with that of the model */
static struct dat_driver modelled;

/**
 * dat_dev_model_init - let rxe have the defects of the driver that a parameter names, too
 *
 * selftests/modules/model.c makes rxe behave so.
 *
 * Context: process, before dat_dev_register_client().
 * Return: 0; -EINVAL if no row has the name.
 */
int dat_dev_model_init(void)
{
	const struct dat_driver *row = NULL;
	unsigned int i;

	if (!model)
		return 0;
	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		if (drivers[i].name && !strcmp(model, drivers[i].name))
			row = &drivers[i];
	if (!strcmp(model, unknown.name))
		row = &unknown;
	if (!row)
		return -EINVAL;
	modelled = drivers[RDMA_DRIVER_RXE];
	modelled.refused = row->refused;
	modelled.quirks |= row->quirks;
	modelled.no_fence |= row->no_fence;
	modelled.max_list = min_not_zero(modelled.max_list, row->max_list);
	modelled.user_mr = min(modelled.user_mr, row->user_mr);
	modelled.max_user_mr = min_not_zero(modelled.max_user_mr, row->max_user_mr);
	modelled.max_cqe = min_not_zero(modelled.max_cqe, row->max_cqe);
	modelled.inline_data = min(modelled.inline_data, row->inline_data);
	modelled.keeps_pages &= row->keeps_pages;
	return 0;
}

static const struct dat_driver *driver_of(const struct ib_device *ibdev)
{
	u32 id = ibdev->ops.driver_id;

	if (unlikely(modelled.name) && id == RDMA_DRIVER_RXE)
		return &modelled;
	return id < ARRAY_SIZE(drivers) && drivers[id].name ? &drivers[id] : &unknown;
}

/**
 * dat_dev_max_lmr_pages - maximum number of pages in the fast registration of an LMR
 * @ibdev: the device
 *
 * Return: the number, 0 if the device has no fast registrations.
 */
u32 dat_dev_max_lmr_pages(const struct ib_device *ibdev)
{
	u32 max = ibdev->attrs.max_fast_reg_page_list_len;

	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) || !max)
		return 0;
	/* dat_dev_alloc_mr() rounds up. */
	if (dat_dev_quirks(ibdev) & DAT_QUIRK_LIST_POW2)
		max = rounddown_pow_of_two(max);
	return min3(max - 1,
		    driver_of(ibdev)->max_list ? driver_of(ibdev)->max_list - 1 : U32_MAX,
		    (u32)DAT_MAX_LMR_PAGES);
}

/**
 * dat_dev_max_pages - maximum number of pages in the fast registration of a window
 * @ibdev: the device
 *
 * A window's MR is allocated before a bind determines its memory, and a bind may not
 * sleep to replace it, so it has the maximum size unless the consumer renews it (&struct
 * dat_account_ops). DAT_MAX_FRWR_PAGES limits its cost. An LMR's MR has the size of its
 * memory.
 *
 * Return: the number, 0 if the device has no fast registrations.
 */
u32 dat_dev_max_pages(const struct ib_device *ibdev)
{
	return min_t(u32, dat_dev_max_lmr_pages(ibdev), DAT_MAX_FRWR_PAGES);
}

/**
 * dat_dev_page_sizes - page sizes that a page list may have
 * @ibdev: the device
 *
 * Context: any.
 * Return: the sizes in bytes, powers of two, as a mask; 0 if there is none.
 */
u64 dat_dev_page_sizes(const struct ib_device *ibdev)
{
	u64 sizes = ibdev->attrs.page_size_cap ?: PAGE_SIZE;

	return dat_dev_quirks(ibdev) & DAT_QUIRK_PAGE_SIZE_ONLY ?
		       sizes & PAGE_SIZE : sizes;
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
	u64 sizes = dat_dev_page_sizes(ibdev) ?: PAGE_SIZE;
	u64 small = sizes & GENMASK_ULL(PAGE_SHIFT, 0);

	return small ? BIT_ULL(__fls(small)) : BIT_ULL(__ffs64(sizes));
}

/**
 * dat_dev_refusal - why kdapl does not use a device
 * @ibdev: the device
 *
 * Context: any.
 * Return: the reason, for the log; NULL if kdapl uses the device.
 */
const char *dat_dev_refusal(const struct ib_device *ibdev)
{
	if (driver_of(ibdev)->refused)
		return driver_of(ibdev)->refused;
	if (!dat_dev_max_pages(ibdev))
		return "it has no fast registrations";
	if (!dat_dev_page_sizes(ibdev))
		return "it has no pages of the size of the kernel's";
	return NULL;
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
	return driver_of(ibdev)->quirks;
}

/**
 * dat_dev_no_fence - the requests on which a driver ignores IB_SEND_FENCE
 * @ibdev: the device
 *
 * Context: any.
 * Return: a mask of enum dat_fence.
 */
u32 dat_dev_no_fence(const struct ib_device *ibdev)
{
	return driver_of(ibdev)->no_fence;
}

/**
 * dat_dev_max_inline - bytes of data that a request can carry, without a larger queue
 * @ibdev: the device
 * @segments: segments that a request can have
 *
 * The driver copies the data from an address of the kernel when the request is posted, and
 * uses no lkey.
 *
 * Context: any.
 * Return: bytes; 0 if the driver has no inline data.
 */
u32 dat_dev_max_inline(const struct ib_device *ibdev, u32 segments)
{
	switch (driver_of(ibdev)->inline_data) {
	case INLINE_SEGMENTS:
		/* mlx5 (wr.c:266) has four bytes of header in the same place. */
		return segments ? min_t(u32, DAT_MAX_INLINE,
					segments * sizeof(struct ib_sge) - 4) : 0;
	case INLINE_ALWAYS:
		return DAT_MAX_INLINE;
	default:
		return 0;
	}
}

/**
 * dat_dev_max_user_mr - maximum size of a region that the device pins itself
 * @ibdev: the device
 *
 * ib_reg_user_mr() passes no udata, and a PD of the kernel. Some drivers access the
 * udata nevertheless, or take the memory for kernel memory.
 *
 * Return: bytes, for any alignment; 0 if the device cannot pin memory itself.
 */
u64 dat_dev_max_user_mr(const struct ib_device *ibdev)
{
	const struct dat_driver *driver = driver_of(ibdev);
	u64 max = min_t(u64, ibdev->attrs.max_mr_size, TASK_SIZE_MAX);

	/*
	 * The device looks up pages by address; lmr_user.c verifies that they are the
	 * same.
	 */
	if (!driver->user_mr || !ibdev->ops.reg_user_mr ||
	    !IS_ENABLED(CONFIG_MMU_NOTIFIER))
		return 0;
	if (driver->max_user_mr)
		max = min(max, driver->max_user_mr);
	return max > PAGE_SIZE ? max - PAGE_SIZE : 0;
}

/**
 * dat_dev_user_mr_fits - can ib_reg_user_mr() register memory with another address?
 * @ibdev: the device
 * @start: address of the memory in the process
 * @iova: address of its first byte in the region
 *
 * Context: any.
 * Return: true if so. No driver can change the offset within a page.
 */
bool dat_dev_user_mr_fits(const struct ib_device *ibdev, u64 start, u64 iova)
{
	return start == iova || (driver_of(ibdev)->user_mr == USER_MR_ANY &&
				 !offset_in_page(start ^ iova));
}

/**
 * dat_dev_keeps_pages - can the page list of an MR be registered a second time?
 * @ibdev: the device
 *
 * Context: any.
 * Return: true if ib_map_mr_sg() need not be called again for the same pages.
 */
bool dat_dev_keeps_pages(const struct ib_device *ibdev)
{
	return driver_of(ibdev)->keeps_pages;
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
 * dat_dev_max_cqe - maximum number of entries of a CQ
 * @ibdev: the device
 *
 * Context: any.
 * Return: the number, at most INT_MAX.
 */
u32 dat_dev_max_cqe(const struct ib_device *ibdev)
{
	u32 max = dat_limit(ibdev->attrs.max_cqe);

	return driver_of(ibdev)->max_cqe ? min(driver_of(ibdev)->max_cqe, max) : max;
}

/**
 * dat_dev_reg_access - access flags for a fast registration
 * @ibdev: the device
 * @access: IB_ACCESS_*, as for ib_reg_user_mr()
 *
 * Context: any.
 * Return: the flags without those that the driver refuses.
 */
int dat_dev_reg_access(const struct ib_device *ibdev, int access)
{
	return dat_dev_quirks(ibdev) & DAT_QUIRK_NO_RELAXED_REG ?
		       access & ~IB_ACCESS_RELAXED_ORDERING : access;
}

/**
 * dat_dev_alloc_mr - allocate an MR for fast registrations
 * @pd: its PD
 * @num_pages: number of pages that it must be able to map, at most
 *	dat_dev_max_lmr_pages()
 *
 * With DAT_QUIRK_READ_PAST_LIST the list gets spare entries.
 *
 * Context: process, may sleep.
 * Return: the MR, for ib_dereg_mr(), or an ERR_PTR().
 */
struct ib_mr *dat_dev_alloc_mr(struct ib_pd *pd, u32 num_pages)
{
	u32 quirks = dat_dev_quirks(pd->device);

	if (quirks & DAT_QUIRK_READ_PAST_LIST)
		num_pages += DAT_RXE_SPARE_PAGES;
	if (quirks & DAT_QUIRK_LIST_POW2)
		num_pages = roundup_pow_of_two(num_pages);
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

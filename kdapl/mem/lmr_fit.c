// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_fit.c - chooses the page size with which memory fits into one fast registration
 *
 * A fast registration is a list of pages of one size. The device locates a byte by the
 * bits of its address above the page size. Memory and addresses must therefore have the
 * same offset within a page, and only the two ends may lie inside a page. lmr_mr.c and
 * lmr_map.c call this file, in any context.
 */
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>

#include "dev/device.h"
#include "mem/lmr.h"

/* The maximum that struct ib_mr can hold. */
#define MAX_PAGE_SHIFT	31

/*
 * Return the bits in which memory and addresses differ, or in which pieces do not join.
 */
static u64 misalignment(struct scatterlist *sgl, unsigned int nents, u64 iova)
{
	u64 bits = sg_dma_address(sgl) ^ iova, end = 0;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(sgl, sg, nents, i) {
		u64 begin = sg_dma_address(sg);

		if (i && begin != end)
			bits |= begin | end;
		end = begin + sg_dma_len(sg);
	}
	return bits;
}

static u64 num_pages(u64 begin, u64 length, unsigned int shift)
{
	u64 offset = begin & (BIT_ULL(shift) - 1);

	return (offset + length + BIT_ULL(shift) - 1) >> shift;
}

/**
 * dat_lmr_fit_pages - layout of memory whose pieces are whole pages
 * @ibdev: the device
 * @max_pages: maximum number of pages
 * @address: DMA address of the first byte
 * @iova: address of the first byte in the registration
 * @length: length in bytes
 * @fit: out: parameters for ib_alloc_mr() and ib_map_mr_sg()
 *
 * The pieces are whole pages, except with bounce buffers. ib_map_mr_sg() checks each
 * piece. If it maps fewer than all, the caller calls dat_lmr_fit(), which checks the
 * pieces beforehand.
 *
 * Context: any.
 * Return: false if the caller must call dat_lmr_fit().
 */
bool dat_lmr_fit_pages(const struct ib_device *ibdev, u32 max_pages, u64 address,
		       u64 iova, u64 length, struct dat_lmr_fit *fit)
{
	u32 page_size = dat_dev_page_size(ibdev);
	u64 num = num_pages(address, length, ilog2(page_size));

	if (page_size > PAGE_SIZE || offset_in_page(address ^ iova) ||
	    num > max_pages || dat_dev_quirks(ibdev) & DAT_QUIRK_PIECES)
		return false;
	fit->type = IB_MR_TYPE_MEM_REG;
	fit->page_size = page_size;
	fit->num = num;
	return true;
}

/**
 * dat_lmr_fit - choose the page size of a fast registration
 * @ibdev: the device
 * @max_pages: maximum number of pages
 * @large: true: choose the page size with the fewest pages, so that the device has the
 *	fewest to look up; false: choose the smallest page size
 * @sgl: the memory, mapped for the device
 * @nents: number of its pieces
 * @iova: address of the first byte in the registration
 * @length: length in bytes
 * @fit: out: parameters for ib_alloc_mr() and ib_map_mr_sg()
 *
 * Context: any.
 * Return: 0, or -E2BIG if no list can hold this memory.
 */
int dat_lmr_fit(const struct ib_device *ibdev, u32 max_pages, bool large,
		struct scatterlist *sgl, unsigned int nents, u64 iova,
		u64 length, struct dat_lmr_fit *fit)
{
	u64 bits = misalignment(sgl, nents, iova) | BIT_ULL(MAX_PAGE_SHIFT);
	unsigned int shift = ilog2(dat_dev_page_size(ibdev));
	unsigned int last = __ffs64(bits);
	u64 sizes = ibdev->attrs.page_size_cap | BIT_ULL(shift);

	fit->type = IB_MR_TYPE_MEM_REG;
	fit->page_size = 0;
	for (; shift <= last; shift++) {
		u64 num = num_pages(sg_dma_address(sgl), length, shift);

		if (!(sizes & BIT_ULL(shift)))
			continue;
		if (dat_dev_quirks(ibdev) & DAT_QUIRK_PIECES)
			num = nents;
		if (num > max_pages)
			continue;
		/* Among sizes with the same number of pages, choose the smallest. */
		if (!fit->page_size || num < fit->num) {
			fit->page_size = BIT(shift);
			fit->num = num;
		}
		if (!large || BIT_ULL(shift) >= length)
			return 0;
	}
	if (fit->page_size)
		return 0;

	/* Some devices accept a list of pieces of any size and alignment. */
	if (!(ibdev->attrs.kernel_cap_flags & IBK_SG_GAPS_REG) ||
	    nents > max_pages)
		return -E2BIG;
	fit->type = IB_MR_TYPE_SG_GAPS;
	fit->page_size = dat_dev_page_size(ibdev);
	fit->num = nents;
	return 0;
}

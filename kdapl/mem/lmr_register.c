// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_register.c - registers the memory of an LMR, and chooses the page size for that
 *
 * A fast registration is a list of pages of one size. The device locates a byte by the
 * bits of its address above the page size. Memory and addresses must therefore have the
 * same offset within a page, and only the two ends may lie inside a page. One
 * registration holds a limited number of pages, so a long region needs larger pages and
 * their alignment: dat_ia_memtype_hint() reports them in advance. dat_lmr_kcreate()
 * calls dat_lmr_register() in process context; lmr_map.c calls dat_lmr_fit() in any
 * context.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>

#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/lmr.h"
#include "mem/pz.h"

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
	u64 sizes = dat_dev_page_sizes(ibdev) | BIT_ULL(shift);

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
	    dat_dev_quirks(ibdev) & DAT_QUIRK_UNKNOWN_DRIVER ||
	    nents > max_pages)
		return -E2BIG;
	fit->type = IB_MR_TYPE_SG_GAPS;
	fit->page_size = dat_dev_page_size(ibdev);
	fit->num = nents;
	return 0;
}

static int set_mr(struct dat_lmr *lmr, struct ib_mr *mr)
{
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	lmr->mr = mr;
	lmr->lkey = mr->lkey;
	lmr->rkey = mr->rkey;
	return 0;
}

/*
 * The peers of an LMR with privileges for them may invalidate it, of another no peer. Nothing
 * but such an invalidation asks for the type of a registration that its owner ends with
 * ib_dereg_mr().
 */
static void forbid_invalidate(const struct dat_lmr *lmr, struct ib_mr *mr)
{
	if (dat_dev_quirks(mr->device) & DAT_QUIRK_FOREIGN_INVALIDATE &&
	    !(lmr->privileges & DAT_MEM_PRIV_REMOTE_FLAGS))
		mr->type = IB_MR_TYPE_USER;
}

/* Return -ERANGE if the memory does not fit with this layout. */
static int register_fit(struct dat_lmr *lmr, const struct dat_lmr_fit *fit)
{
	struct ib_pd *pd = lmr->pz->pd;
	struct ib_mr *mr = fit->type == IB_MR_TYPE_MEM_REG ?
				   dat_dev_alloc_mr(pd, fit->num) :
				   ib_alloc_mr(pd, fit->type, fit->num);
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = ib_map_mr_sg(mr, lmr->sgt.sgl, lmr->sgt.nents, NULL,
			   fit->page_size);
	if (ret != lmr->sgt.nents) {
		ret = ret < 0 ? ret : -ERANGE;
		goto dereg;
	}
	/* Register the consumer's addresses with the device. */
	mr->iova = lmr->address;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	ret = dat_regqp_register(&lmr->pz->reg, mr,
				 dat_dev_reg_access(mr->device,
						    dat_lmr_access(lmr->privileges)));
	if (!ret) {
		forbid_invalidate(lmr, mr);
		return set_mr(lmr, mr);
	}

dereg:
	ib_dereg_mr(mr);
	return ret;
}

/*
 * Lay out memory whose pieces are whole pages, as they are except with bounce buffers.
 * ib_map_mr_sg() checks each piece. If it maps fewer than all, or if this function
 * returns false, the caller calls dat_lmr_fit(), which checks the pieces beforehand.
 */
static bool fit_pages(const struct ib_device *ibdev, u32 max_pages, u64 address,
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
 * dat_lmr_register - register the memory of a new LMR with its device
 * @lmr: the LMR, from dat_lmr_map()
 *
 * Tries whole pages first (not with DAT_MEM_OPTIMIZE_IA), then a page size from
 * dat_lmr_fit(), and last a region that the device pins itself. dat_dev_dereg_mr()
 * destroys the MR.
 *
 * Context: process, may sleep.
 * Return: 0; -E2BIG if no registration can hold the memory; -ESTALE if the process now
 * has other pages mapped there; -EINTR if a signal arrived first; another negative
 * errno.
 */
int dat_lmr_register(struct dat_lmr *lmr)
{
	struct ib_device *ibdev = lmr->pz->pd->device;
	bool large = lmr->optimization & DAT_MEM_OPTIMIZE_IA;
	u32 max_pages = dat_dev_max_lmr_pages(ibdev);
	struct dat_lmr_fit fit;
	int ret;

	if (lmr->length > U32_MAX)
		return set_mr(lmr, dat_lmr_reg_user_mr(lmr));
	if (!large && fit_pages(ibdev, max_pages, sg_dma_address(lmr->sgt.sgl),
				lmr->address, lmr->length, &fit)) {
		ret = register_fit(lmr, &fit);
		if (likely(ret != -ERANGE))
			return ret;
	}
	if (dat_lmr_fit(ibdev, max_pages, large, lmr->sgt.sgl, lmr->sgt.nents,
			lmr->address, lmr->length, &fit))
		return set_mr(lmr, dat_lmr_reg_user_mr(lmr));
	return register_fit(lmr, &fit);
}

#define ALL_MEM_TYPES	(DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | \
			 DAT_MEM_TYPE_PHYSICAL | DAT_MEM_TYPE_PLATFORM | \
			 DAT_MEM_TYPE_IA | DAT_MEM_TYPE_BYPASS | \
			 DAT_MEM_TYPE_PHYSICAL_VAR_PAGES)

#define EXPOSURE_FLAGS	(DAT_MEM_OPTIMIZE_MIN_EXPOSURE | \
			 DAT_MEM_OPTIMIZE_EXACT_EXPOSURE)

static bool is_mem_type(DAT_MEM_TYPE type)
{
	return !(type & ~ALL_MEM_TYPES) && !(type & (type - 1));
}

/* Both are described in pages. */
static bool is_physical(DAT_MEM_TYPE type)
{
	return type == DAT_MEM_TYPE_PHYSICAL ||
	       type == DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
}

/* Return the smallest page size with which one registration can hold @length, or 0. */
static u64 page_size_for(const struct ib_device *ibdev, u64 length)
{
	u64 max_pages = dat_dev_max_lmr_pages(ibdev);
	u64 size = dat_dev_page_size(ibdev);
	u64 sizes = dat_dev_page_sizes(ibdev) | size;

	/* Any contiguous memory is one piece. */
	if (dat_dev_quirks(ibdev) & DAT_QUIRK_PIECES)
		sizes = U32_MAX;
	for (; size <= sizes; size <<= 1)
		if (sizes & size && div64_u64(length - 1, size) < max_pages)
			return size;
	return 0;
}

static DAT_RETURN hint(struct dat_ia *ia, DAT_MEM_TYPE type, DAT_VLEN length,
		       DAT_MEM_OPTIMIZE_FLAGS optimization,
		       DAT_VLEN *preferred_length, DAT_VADDR *alignment)
{
	const u64 unit = is_physical(type) ? PAGE_SIZE : 1;
	u64 size;

	if (type == DAT_MEM_TYPE_LMR) {
		*preferred_length = length;
		*alignment = 1;
		return DAT_SUCCESS;
	}
	if (length > div64_u64(U32_MAX, unit))
		return dat_no_mr();
	size = page_size_for(dat_ia_ibdev(ia), length * unit);
	/* Nothing is registered, so the device has no pages to look up. */
	if (type == DAT_MEM_TYPE_BYPASS)
		size = 1;
	if (!size)
		return dat_no_mr();
	/*
	 * Without alignment the region takes one page more. That is harmless, unless
	 * its length needs all pages of the list and therefore pages larger than
	 * PAGE_SIZE.
	 */
	if (optimization & EXPOSURE_FLAGS && size <= PAGE_SIZE)
		size = unit;
	*preferred_length = optimization & EXPOSURE_FLAGS ?
			    length : round_up(length * unit, size) / unit;
	*alignment = size;
	return DAT_SUCCESS;
}

/**
 * kdapl_ia_memtype_hint - report what memory to allocate for a region
 * @ia_handle: the IA
 * @mem_type: type of the future description of the memory
 * @length: length of the region, in the unit of dat_lmr_kcreate() for @mem_type; pages
 *	of PAGE_SIZE for both physical types
 * @mem_optimization: flags of the future call of dat_lmr_kcreate()
 * @preferred_length: out: how much to allocate, in the same unit: @length rounded up to
 *	whole pages of the registration. With one of the exposure flags it is @length,
 *	because a registration never exceeds that.
 * @preferred_alignment: out: bytes, a power of two. The memory and its address should
 *	begin at a multiple of it. If it exceeds PAGE_SIZE, one registration holds the
 *	region only if its memory has this alignment and consists of contiguous pieces
 *	of this size.
 *
 * registered_size and registered_address are always the length and the beginning that
 * the consumer requested, even for memory that ignores the hint. Specification:
 * dat_ia_memtype_hint(), kDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES (no region of this length can be registered),
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ia_memtype_hint(DAT_IA_HANDLE ia_handle,
				 DAT_MEM_TYPE mem_type, DAT_VLEN length,
				 DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
				 DAT_VLEN *preferred_length,
				 DAT_VADDR *preferred_alignment)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	might_sleep();
	if (!is_mem_type(mem_type))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!length)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (mem_optimization & ~(DAT_MEM_OPTIMIZE_IA | EXPOSURE_FLAGS))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!preferred_length)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!preferred_alignment)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!obj)
		return ret;
	ret = hint(to_ia(obj), mem_type, length, mem_optimization,
		   preferred_length, preferred_alignment);
	dat_object_put_live(obj);
	return ret;
}

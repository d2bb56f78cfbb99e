// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_hint.c - reports the size and alignment of memory that registers best
 *
 * Implements dat_ia_memtype_hint(), in process context. One registration holds a
 * limited number of pages, so a long region needs larger pages and their alignment.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>

#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/lmr.h"

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
	u64 sizes = ibdev->attrs.page_size_cap | size;

	/* Any contiguous memory is one piece. */
	if (dat_dev_quirks(ibdev) & DAT_QUIRK_PIECES)
		sizes = U32_MAX;
	for (; size <= sizes; size <<= 1)
		if (sizes & size && div64_u64(length - 1, size) < max_pages)
			return size;
	return 0;
}

static DAT_RETURN too_long(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			 DAT_RESOURCE_MEMORY_REGION);
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
		return too_long();
	size = page_size_for(dat_ia_ibdev(ia), length * unit);
	/* Nothing is registered, so the device has no pages to look up. */
	if (type == DAT_MEM_TYPE_BYPASS)
		size = 1;
	if (!size)
		return too_long();
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

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_desc.c - checks a consumer's description of memory and finds its pages
 *
 * dat_lmr_kcreate() calls dat_lmr_describe() in process context, before it maps or
 * charges memory. For an LMR over another one this file owns the use of the base.
 * lmr_map.c calls dat_lmr_pages() to build the scatterlist of an LMR; fmr_map.c calls
 * dat_virtual_page() in any context. This file takes no references to pages: the
 * consumer guarantees that the memory exists.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "dev/ia.h"
#include "mem/lmr.h"

static DAT_RETURN bad_region(void)
{
	return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

/* Does the table cover the region, without gaps, in segments that the device accepts? */
static bool is_whole_table(const struct dat_lmr *lmr,
			   const struct dat_platform_region *p)
{
	u32 most = ib_dma_max_seg_size(dat_ia_ibdev(lmr->obj.ia));
	const unsigned int begin = p->first_offset;
	unsigned int i;
	struct scatterlist *sg;
	u64 length = 0;

	for_each_sgtable_sg(p->table, sg, i) {
		/*
		 * The previous segment must end at a page boundary, and this one begins
		 * a page.
		 */
		if (i && offset_in_page(begin + length))
			return false;
		if (offset_in_page(sg->offset) != (i ? 0 : begin) ||
		    !sg_page(sg) || !sg->length || sg->length > most)
			return false;
		length += sg->length;
	}
	return length == lmr->region_length;
}

static DAT_RETURN describe_platform(struct dat_lmr *lmr)
{
	const struct dat_platform_region *p = lmr->region.for_platform;

	if (!p || !p->pages == !p->table || p->first_offset >= PAGE_SIZE ||
	    offset_in_page(p->virtual_address) != p->first_offset ||
	    (p->table && !p->is_whole && !is_whole_table(lmr, p)))
		return bad_region();
	lmr->start = p->virtual_address;
	lmr->length = lmr->region_length;
	lmr->user_mm = p->is_user ? current->mm : NULL;
	return DAT_SUCCESS;
}

/* Physical memory has no address except that of its first page. */
static DAT_RETURN describe_physical(struct dat_lmr *lmr,
				    const DAT_PADDR *pages, u64 page_size)
{
	/* A page list cannot hold pieces that are smaller than a page. */
	if (!pages || !page_size || !PAGE_ALIGNED(page_size))
		return bad_region();
	if (!lmr->region_length ||
	    check_mul_overflow(lmr->region_length, page_size, &lmr->length))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	lmr->start = pages[0];
	return DAT_SUCCESS;
}

/*
 * The consumer is responsible for the meaning of a DMA address. A software device
 * dereferences it, however, so it must be valid.
 */
static bool bus_memory_exists(const struct dat_lmr *lmr)
{
	u64 page;

	if (!ib_uses_virt_dma(dat_ia_ibdev(lmr->obj.ia)))
		return true;
	for (page = lmr->start & PAGE_MASK; page < lmr->start + lmr->length;
	     page += PAGE_SIZE)
		if (!virt_addr_valid((void *)(uintptr_t)page))
			return false;
	return true;
}

static DAT_RETURN use_base(struct dat_lmr *lmr)
{
	struct dat_object *obj = dat_object_get(lmr->region.for_lmr_handle,
						DAT_HANDLE_TYPE_LMR);
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);

	if (!obj)
		return ret;
	if (obj->ia != lmr->obj.ia)
		goto put;
	lmr->depth = to_lmr(obj)->depth + 1;
	if (lmr->depth > DAT_LMR_MAX_DEPTH)
		ret = dat_no_mr();
	else if (dat_object_use_get(obj))
		ret = DAT_SUCCESS;
	if (ret)
		goto put;
	lmr->base = to_lmr(obj);
	atomic_inc(&lmr->base->over);
	return DAT_SUCCESS;

put:
	dat_object_put(obj);
	return ret;
}

static bool is_for_writing(const struct dat_lmr *lmr)
{
	return lmr->privileges & DAT_MEM_PRIV_WRITE_FLAG;
}

/* Pages that were pinned for reading must not be written to. */
static bool is_read_only(const struct dat_lmr *lmr)
{
	while (lmr->base)
		lmr = lmr->base;
	return lmr->mem_type == DAT_MEM_TYPE_PLATFORM && !is_for_writing(lmr);
}

static DAT_RETURN describe_base(struct dat_lmr *lmr)
{
	DAT_RETURN ret = use_base(lmr);

	if (ret)
		return ret;
	/* The memory of an LMR that is registered by posting may change at any time. */
	if (lmr->base->fmr)
		return DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	if (dat_lmr_is_reserved(lmr->base))
		return bad_region();
	if (is_for_writing(lmr) && is_read_only(lmr->base))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	lmr->start = lmr->base->start;
	lmr->length = lmr->base->length;
	lmr->user_mm = lmr->base->user_mm;
	return DAT_SUCCESS;
}

/**
 * dat_lmr_let_go_of_base - release the base that dat_lmr_describe() has taken
 * @lmr: the LMR
 *
 * The LMR keeps its reference to the base until the LMR itself is released.
 */
void dat_lmr_let_go_of_base(struct dat_lmr *lmr)
{
	if (!lmr->base)
		return;
	atomic_dec(&lmr->base->over);
	dat_object_use_put(&lmr->base->obj);
}

static DAT_RETURN describe(struct dat_lmr *lmr)
{
	switch (lmr->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		lmr->start = (uintptr_t)lmr->region.for_va;
		lmr->length = lmr->region_length;
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_PLATFORM:
		return describe_platform(lmr);
	case DAT_MEM_TYPE_PHYSICAL:
		return describe_physical(lmr, lmr->region.for_physical,
					 PAGE_SIZE);
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		return describe_physical(lmr, lmr->region.for_array.pages,
					 lmr->region.for_array.page_size);
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
		lmr->start = lmr->region.for_ia;
		lmr->length = lmr->region_length;
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_LMR:
		return describe_base(lmr);
	default:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
}

/*
 * A device with page lists counts from the beginning of a page. Address 0 is therefore
 * the begin of a page, even if the region begins inside the page.
 */
static bool zero_is_at_a_page(const struct dat_lmr *lmr)
{
	const struct ib_device_attr *dev =
		&dat_ia_ibdev(lmr->obj.ia)->attrs;

	return !offset_in_page(lmr->start) ||
	       dev->kernel_cap_flags & IBK_SG_GAPS_REG;
}

/*
 * The only key that verbs have for unregistered memory opens all memory. kdapl checks
 * local use against the LMR when a DTO is posted. It cannot check a peer's use, and the
 * device does not translate addresses.
 */
static bool is_supported(const struct dat_lmr *lmr)
{
	if (lmr->mem_type == DAT_MEM_TYPE_BYPASS)
		return !(lmr->privileges & DAT_MEM_PRIV_REMOTE_FLAGS) &&
		       lmr->va_type == DAT_VA_TYPE_VA;
	return lmr->va_type == DAT_VA_TYPE_VA || zero_is_at_a_page(lmr);
}

/**
 * dat_lmr_describe - check the description of a new LMR and compute its extent
 * @lmr: the LMR, with all parameters of the consumer; @start, @address, @length and
 *	@base are filled in
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES (too large for any device), DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_lmr_describe(struct dat_lmr *lmr)
{
	DAT_RETURN ret = describe(lmr);
	u64 end;

	if (ret)
		return ret;
	if (!lmr->length || check_add_overflow(lmr->start, lmr->length, &end))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	/* The length of a triplet has 32 bits. A process may use several triplets. */
	if (lmr->length > U32_MAX && !lmr->user_mm)
		return dat_no_mr();
	if (dat_lmr_is_mapped(lmr) && !bus_memory_exists(lmr))
		return bad_region();
	if (!is_supported(lmr))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);

	lmr->address = lmr->va_type == DAT_VA_TYPE_ZB ? 0 : lmr->start;
	lmr->dma_dir = is_for_writing(lmr) ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	return DAT_SUCCESS;
}

/* Memory from ioremap() has an address, but no struct page. */
static struct page *vmalloc_page(const void *address)
{
	struct page *page = vmalloc_to_page(address);

	return page && pfn_valid(page_to_pfn(page)) ? page : NULL;
}

/**
 * dat_virtual_page - find the page of a kernel address
 * @address: directly mapped or from vmalloc()
 *
 * Context: any.
 * Return: the page, or NULL if there is no memory.
 */
struct page *dat_virtual_page(const void *address)
{
	if (is_vmalloc_addr(address))
		return vmalloc_page(address);
	if (virt_addr_valid(address))
		return virt_to_page((void *)address);
	return NULL;
}

static bool virtual_pages(const struct dat_lmr *lmr, struct page **pages,
			  unsigned int num)
{
	const void *first = (void *)((uintptr_t)lmr->start & PAGE_MASK);
	unsigned int i;

	for (i = 0; i < num; i++) {
		const void *address = first + (unsigned long)i * PAGE_SIZE;

		/* Stack memory ends with the call and shares cache lines. */
		if (object_is_on_stack(address))
			return false;
		pages[i] = dat_virtual_page(address);
		if (!pages[i])
			return false;
	}
	return true;
}

/* The consumer's array is used as it is; it must have no holes. */
static struct page **platform_pages(const struct dat_lmr *lmr, unsigned int num)
{
	const struct dat_platform_region *region = lmr->region.for_platform;
	unsigned int i;

	for (i = 0; i < num; i++)
		if (!region->pages[i])
			return NULL;
	return region->pages;
}

static bool physical_pages(const DAT_PADDR *addresses, u64 page_size,
			   struct page **pages, unsigned int num)
{
	const unsigned int each = page_size >> PAGE_SHIFT;
	unsigned int i;

	for (i = 0; i < num; i++) {
		unsigned long pfn = PHYS_PFN(addresses[i / each]) + i % each;

		if (!PAGE_ALIGNED(addresses[i / each]) || !pfn_valid(pfn))
			return false;
		pages[i] = pfn_to_page(pfn);
	}
	return true;
}

static bool base_pages(const struct dat_lmr *lmr, struct page **pages,
		       unsigned int num)
{
	struct sg_page_iter iter;
	unsigned int i = 0;

	for_each_sgtable_page(&lmr->base->sgt, &iter, 0)
		if (i < num)
			pages[i++] = sg_page_iter_page(&iter);
	return i == num;
}

static bool find_pages(const struct dat_lmr *lmr, struct page **pages,
		       unsigned int num)
{
	switch (lmr->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		return virtual_pages(lmr, pages, num);
	case DAT_MEM_TYPE_PHYSICAL:
		return physical_pages(lmr->region.for_physical, PAGE_SIZE,
				      pages, num);
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		return physical_pages(lmr->region.for_array.pages,
				      lmr->region.for_array.page_size,
				      pages, num);
	case DAT_MEM_TYPE_LMR:
		return base_pages(lmr, pages, num);
	default:
		return false;
	}
}

/**
 * dat_lmr_pages - find the pages of a new LMR
 * @lmr: the LMR, with its description checked; not of the types without pages,
 *	DAT_MEM_TYPE_IA and DAT_MEM_TYPE_BYPASS
 * @num: number of its pages
 * @ret: out: the reason if the call fails: DAT_INVALID_PARAMETER (there is no memory),
 *	DAT_INSUFFICIENT_RESOURCES
 *
 * Context: process, may sleep.
 * Return: the pages, for dat_lmr_put_pages(), or NULL.
 */
struct page **dat_lmr_pages(const struct dat_lmr *lmr, unsigned int num,
			    DAT_RETURN *ret)
{
	struct page **pages;

	if (lmr->mem_type == DAT_MEM_TYPE_PLATFORM) {
		pages = platform_pages(lmr, num);
		if (!pages)
			*ret = bad_region();
		return pages;
	}
	pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages) {
		*ret = dat_no_memory();
		return NULL;
	}
	if (find_pages(lmr, pages, num))
		return pages;
	kvfree(pages);
	*ret = bad_region();
	return NULL;
}

/**
 * dat_lmr_put_pages - reverse dat_lmr_pages()
 * @lmr: the LMR
 * @pages: its pages
 *
 * Context: process, may sleep.
 */
void dat_lmr_put_pages(const struct dat_lmr *lmr, struct page **pages)
{
	if (lmr->mem_type != DAT_MEM_TYPE_PLATFORM)
		kvfree(pages);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_pages.c - finds the struct pages of each kind of memory
 *
 * lmr_map.c calls it in process context to build the scatterlist of an LMR; fmr_map.c
 * calls dat_virtual_page() in any context. It takes no references: the consumer
 * guarantees that the memory exists.
 */
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mem/lmr.h"

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

static DAT_RETURN no_pages(void)
{
	return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
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
			*ret = no_pages();
		return pages;
	}
	pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages) {
		*ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
		return NULL;
	}
	if (find_pages(lmr, pages, num))
		return pages;
	kvfree(pages);
	*ret = no_pages();
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

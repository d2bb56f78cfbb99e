// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fmr_map.c - maps the pages of a registration that is posted
 *
 * Translates a consumer's description into pages, maps them for the device and lists
 * them in an MR. No function sleeps or allocates: the consumer may be in softirq
 * context, and dat_lmr_allocate() has allocated the room for the pages.
 */
#include <linux/log2.h>
#include <linux/mm.h>

#include "dev/device.h"
#include "dev/ia.h"
#include "mem/fmr.h"

static DAT_RETURN bad_region(void)
{
	return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

static DAT_RETURN bad_length(void)
{
	return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
}

static struct page *physical_page(DAT_PADDR address)
{
	unsigned long pfn = PHYS_PFN(address);

	return pfn_valid(pfn) ? pfn_to_page(pfn) : NULL;
}

/* The range starts at the byte @offset of the first page and ends with the last page. */
static DAT_RETURN set_range(struct dat_fmr_memory *mem, DAT_VADDR address,
			    u64 page_size)
{
	u64 offset = address & (page_size - 1);

	mem->length = mem->num_pages * page_size - offset;
	mem->address = address;
	if (mem->va_type == DAT_VA_TYPE_VA)
		return address + mem->length > address ? DAT_SUCCESS :
							 bad_region();
	/* The device counts pages from the address, so address 0 must begin a page. */
	mem->address = 0;
	return offset ? bad_region() : DAT_SUCCESS;
}

static DAT_RETURN fill_virtual(struct scatterlist *sgl,
			       struct dat_fmr_memory *mem)
{
	const void *first = PTR_ALIGN_DOWN(mem->region->for_va, PAGE_SIZE);
	unsigned long offset = offset_in_page(mem->region->for_va);
	unsigned int i;

	for (i = 0; i < mem->num_pages; i++) {
		struct page *page = dat_virtual_page(first + i * PAGE_SIZE);

		if (!page)
			return bad_region();
		sg_set_page(&sgl[i], page, PAGE_SIZE - offset, offset);
		offset = 0;
	}
	return set_range(mem, (uintptr_t)mem->region->for_va, PAGE_SIZE);
}

/* The range ends where the table does. */
static DAT_RETURN fill_table(struct scatterlist *sgl, struct dat_fmr_memory *mem,
			     const struct dat_platform_region *p)
{
	unsigned int i, offset, last = mem->nents - 1;
	struct scatterlist *sg;
	DAT_VLEN pages = 0, length = 0;
	DAT_RETURN ret;

	if (offset_in_page(p->table->sgl->offset) != p->first_offset)
		return bad_region();
	for_each_sg(p->table->sgl, sg, mem->nents, i) {
		offset = offset_in_page(sg->offset);
		if (!sg->length || (i && offset) ||
		    (i < last && offset_in_page(offset + sg->length)))
			return bad_region();
		pages += PFN_UP((u64)offset + sg->length);
		if (pages > mem->num_pages)
			return bad_length();
		sg_set_page(&sgl[i], sg_page(sg), sg->length, sg->offset);
		length += sg->length;
	}
	mem->num_pages = pages;
	ret = set_range(mem, p->virtual_address, PAGE_SIZE);
	mem->length = length;
	return ret;
}

static DAT_RETURN fill_platform(struct scatterlist *sgl,
				struct dat_fmr_memory *mem)
{
	const struct dat_platform_region *p = mem->region->for_platform;
	unsigned int i, offset;

	if (!p || !p->pages == !p->table || p->first_offset >= PAGE_SIZE ||
	    offset_in_page(p->virtual_address) != p->first_offset)
		return bad_region();
	if (p->table)
		return fill_table(sgl, mem, p);
	offset = p->first_offset;
	for (i = 0; i < mem->num_pages; i++) {
		sg_set_page(&sgl[i], p->pages[i], PAGE_SIZE - offset, offset);
		offset = 0;
	}
	return set_range(mem, p->virtual_address, PAGE_SIZE);
}

static DAT_RETURN fill_physical(struct scatterlist *sgl,
				struct dat_fmr_memory *mem,
				const DAT_PADDR *pages, u64 page_size)
{
	unsigned int i;

	if (!pages)
		return bad_region();
	for (i = 0; i < mem->num_pages; i++) {
		struct page *page = physical_page(pages[i]);

		if (!page || pages[i] & (page_size - 1))
			return bad_region();
		sg_set_page(&sgl[i], page, page_size, 0);
	}
	return set_range(mem, pages[0], page_size);
}

static DAT_RETURN fill(const struct dat_fmr *fmr, struct scatterlist *sgl,
		       struct dat_fmr_memory *mem)
{
	const DAT_PHYSICAL_VAR_PAGES *var = &mem->region->for_array;

	switch (mem->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		return fill_virtual(sgl, mem);
	case DAT_MEM_TYPE_PLATFORM:
		return fill_platform(sgl, mem);
	case DAT_MEM_TYPE_PHYSICAL:
		return fill_physical(sgl, mem, mem->region->for_physical,
				     PAGE_SIZE);
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		if (var->page_size < PAGE_SIZE ||
		    !is_power_of_2(var->page_size))
			return bad_region();
		if (mem->num_pages > fmr->max_pages /
					     (var->page_size >> PAGE_SHIFT))
			return bad_length();
		return fill_physical(sgl, mem, var->pages, var->page_size);
	case DAT_MEM_TYPE_IA:
		sg_dma_address(sgl) = mem->region->for_ia & PAGE_MASK;
		sg_dma_len(sgl) = mem->num_pages * PAGE_SIZE;
		sg_dma_address(sgl) += offset_in_page(mem->region->for_ia);
		sg_dma_len(sgl) -= offset_in_page(mem->region->for_ia);
		return set_range(mem, mem->region->for_ia, PAGE_SIZE);
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_BYPASS:
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
}

/* The segments that describe the memory: one for each page, unless it has a table. */
static unsigned int num_segments(const struct dat_fmr_memory *mem)
{
	const struct dat_platform_region *p = mem->region->for_platform;

	if (mem->mem_type == DAT_MEM_TYPE_IA)
		return 1;
	if (mem->mem_type == DAT_MEM_TYPE_PLATFORM && p && p->table)
		return p->table->orig_nents;
	return mem->num_pages;
}

/**
 * dat_fmr_map - map memory for the device and into the MR of an idle slot
 * @fmr: the LMR, locked
 * @slot: the slot; its MR receives the next key
 * @mem: the memory; its address and length are filled in
 *
 * Context: any.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_fmr_map(struct dat_fmr *fmr, struct dat_fmr_slot *slot,
		       struct dat_fmr_memory *mem)
{
	bool is_dma = mem->mem_type == DAT_MEM_TYPE_IA;
	DAT_RETURN ret;
	int mapped;

	if (!mem->num_pages || mem->num_pages > fmr->max_pages)
		return bad_length();
	mem->nents = num_segments(mem);
	if (!mem->nents)
		return bad_region();
	if (mem->nents > mem->num_pages)
		return bad_length();
	sg_init_table(slot->sgl, mem->nents);
	ret = fill(fmr, slot->sgl, mem);
	if (ret)
		return ret;

	slot->is_dma = is_dma;
	slot->dma_dir = mem->privileges & DAT_MEM_PRIV_WRITE_FLAG ?
				DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	slot->sgt.sgl = slot->sgl;
	slot->sgt.orig_nents = mem->nents;
	slot->sgt.nents = mem->nents;
	if (!is_dma && ib_dma_map_sgtable_attrs(dat_ia_ibdev(fmr->lmr.obj.ia),
						&slot->sgt, slot->dma_dir, 0)) {
		memset(&slot->sgt, 0, sizeof(slot->sgt));
		goto no_resources;
	}

	mapped = ib_map_mr_sg(slot->frmr.mr, slot->sgl, slot->sgt.nents, NULL,
			      dat_dev_page_size(slot->frmr.mr->device));
	if (mapped != slot->sgt.nents) {
		dat_fmr_unmap(fmr, slot);
		goto no_resources;
	}
	/* Register the consumer's addresses with the device. */
	slot->frmr.mr->iova = mem->address;
	ib_update_fast_reg_key(slot->frmr.mr, ib_inc_rkey(slot->frmr.mr->rkey));
	slot->frmr.used++;
	return DAT_SUCCESS;

no_resources:
	return dat_no_mr();
}

/**
 * dat_fmr_unmap - reverse dat_fmr_map(), if the slot has memory mapped
 * @fmr: the LMR, locked
 * @slot: the slot; the device no longer accesses its memory
 *
 * Context: any.
 */
void dat_fmr_unmap(struct dat_fmr *fmr, struct dat_fmr_slot *slot)
{
	if (slot->sgt.nents && !slot->is_dma)
		ib_dma_unmap_sgtable_attrs(dat_ia_ibdev(fmr->lmr.obj.ia),
					   &slot->sgt, slot->dma_dir, 0);
	memset(&slot->sgt, 0, sizeof(slot->sgt));
}

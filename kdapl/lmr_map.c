// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_map.c - the pages of an LMR, as the device sees them
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ia.h"
#include "lmr.h"

/* Linux has struct page for directly mapped and for vmalloc memory. */
static struct page *virtual_page(const void *address)
{
	if (is_vmalloc_addr(address))
		return vmalloc_to_page(address);
	if (virt_addr_valid(address))
		return virt_to_page((void *)address);
	return NULL;
}

static DAT_RETURN map_virtual(struct dat_lmr *lmr, unsigned int num_pages)
{
	const void *start = lmr->region.for_va;
	unsigned int i;
	struct page **pages;
	DAT_RETURN ret;

	pages = kvmalloc_array(num_pages, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	for (i = 0; i < num_pages; i++) {
		pages[i] = virtual_page(PTR_ALIGN_DOWN(start, PAGE_SIZE) +
					(unsigned long)i * PAGE_SIZE);
		if (!pages[i]) {
			ret = DAT_ERROR(DAT_INVALID_PARAMETER,
					DAT_INVALID_ARG3);
			goto free;
		}
	}
	ret = DAT_SUCCESS;
	if (sg_alloc_table_from_pages(&lmr->sgt, pages, num_pages,
				      offset_in_page(start), lmr->length,
				      GFP_KERNEL_ACCOUNT))
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
free:
	kvfree(pages);
	return ret;
}

static DAT_RETURN map_platform(struct dat_lmr *lmr, unsigned int num_pages)
{
	const struct dat_platform_region *region = lmr->region.for_platform;

	if (sg_alloc_table_from_pages(&lmr->sgt, region->pages, num_pages,
				      region->first_offset, lmr->length,
				      GFP_KERNEL_ACCOUNT))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	return DAT_SUCCESS;
}

/**
 * dat_lmr_map - find the pages of a new LMR and map them for its device
 * @lmr: the LMR, with its description, address, length and direction
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (there is no memory),
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_lmr_map(struct dat_lmr *lmr)
{
	unsigned int num_pages =
		PFN_UP(offset_in_page(lmr->address) + lmr->length);
	DAT_RETURN ret;

	if (lmr->mem_type == DAT_MEM_TYPE_PLATFORM)
		ret = map_platform(lmr, num_pages);
	else
		ret = map_virtual(lmr, num_pages);
	if (ret)
		return ret;

	if (ib_dma_map_sgtable_attrs(dat_ia_ibdev(lmr->obj.ia), &lmr->sgt,
				     lmr->dma_dir, 0)) {
		sg_free_table(&lmr->sgt);
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	}
	return DAT_SUCCESS;
}

/**
 * dat_lmr_unmap - the reverse of dat_lmr_map()
 * @lmr: the LMR
 *
 * Context: process, may sleep.
 */
void dat_lmr_unmap(struct dat_lmr *lmr)
{
	ib_dma_unmap_sgtable_attrs(dat_ia_ibdev(lmr->obj.ia), &lmr->sgt,
				   lmr->dma_dir, 0);
	sg_free_table(&lmr->sgt);
}

/**
 * dat_lmr_find_sg - find the DMA segment that holds a byte of an LMR
 * @lmr: the LMR
 * @offset: of the byte from the LMR's beginning; within the LMR
 * @sg_offset: out: of the byte from the segment's beginning
 * @nents: out: segments from this one to the last
 *
 * Context: any.
 * Return: the segment.
 */
struct scatterlist *dat_lmr_find_sg(const struct dat_lmr *lmr, u64 offset,
				    u32 *sg_offset, unsigned int *nents)
{
	struct scatterlist *sg = lmr->sgt.sgl;
	unsigned int left = lmr->sgt.nents;

	while (offset >= sg_dma_len(sg)) {
		offset -= sg_dma_len(sg);
		sg = sg_next(sg);
		left--;
	}
	*sg_offset = offset;
	*nents = left;
	return sg;
}

/* Copies DMA segments that hold a range, cut to the range at both ends. */
static void cut_sg(struct scatterlist *to, struct scatterlist *from,
		   unsigned int num, u32 offset, u32 length)
{
	unsigned int i;

	sg_init_table(to, num);
	for (i = 0; i < num; i++) {
		u32 len = min(length, sg_dma_len(from) - offset);

		sg_dma_address(&to[i]) = sg_dma_address(from) + offset;
		sg_dma_len(&to[i]) = len;
		length -= len;
		offset = 0;
		from = sg_next(from);
	}
}

/* Enough for memory that is in one or two pieces. */
#define FEW_SEGMENTS	4

/**
 * dat_lmr_map_mr - map a range of an LMR into an MR that nobody uses
 * @lmr: the LMR
 * @mr: the MR; its key is moved on, so that what it was before stays dead
 * @address: where the range begins; within the LMR
 * @length: bytes, not 0
 *
 * Context: any.
 * Return: 0 or a negative errno.
 */
int dat_lmr_map_mr(const struct dat_lmr *lmr, struct ib_mr *mr, u64 address,
		   u32 length)
{
	struct scatterlist few[FEW_SEGMENTS], *cut = few, *first;
	u64 offset = address - lmr->address;
	unsigned int num, left, left_of_last;
	u32 sg_offset, last_offset;
	int mapped;

	first = dat_lmr_find_sg(lmr, offset, &sg_offset, &left);
	dat_lmr_find_sg(lmr, offset + length - 1, &last_offset, &left_of_last);
	num = left - left_of_last + 1;
	if (num > FEW_SEGMENTS) {
		cut = kmalloc_array(num, sizeof(*cut), GFP_ATOMIC);
		if (!cut)
			return -ENOMEM;
	}
	/* Not an offset: there are drivers that overlook it. */
	cut_sg(cut, first, num, sg_offset, length);
	mapped = ib_map_mr_sg(mr, cut, num, NULL, PAGE_SIZE);
	if (cut != few)
		kfree(cut);
	if (mapped != num)
		return mapped < 0 ? mapped : -ENOMEM;

	/* The device shall know the memory by the consumer's addresses. */
	mr->iova = address;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return 0;
}

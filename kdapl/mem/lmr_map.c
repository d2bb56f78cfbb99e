// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_map.c - maps the pages of an LMR for its device
 *
 * Owns the scatterlist, the DMA mapping and the index of an LMR. Create and free calls
 * map and unmap in process context. Binds and syncs look up DMA segments by offset and
 * map ranges into MRs, in any context and without sleeping.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "dev/device.h"
#include "dev/ia.h"
#include "mem/lmr.h"

static DAT_RETURN map_bus_memory(struct dat_lmr *lmr)
{
	if (sg_alloc_table(&lmr->sgt, 1, GFP_KERNEL_ACCOUNT))
		return dat_no_memory();
	sg_dma_address(lmr->sgt.sgl) = lmr->start;
	sg_dma_len(lmr->sgt.sgl) = lmr->length;
	return DAT_SUCCESS;
}

/* Return the consumer's table of the pages, or NULL. */
static const struct sg_table *lent_table(const struct dat_lmr *lmr)
{
	const struct dat_platform_region *p = lmr->region.for_platform;

	return lmr->mem_type == DAT_MEM_TYPE_PLATFORM ? p->table : NULL;
}

static DAT_RETURN make_table(struct dat_lmr *lmr)
{
	struct ib_device *ibdev = dat_ia_ibdev(lmr->obj.ia);
	u64 num = PFN_UP(offset_in_page(lmr->start) + lmr->length);
	struct page **pages;
	DAT_RETURN ret;
	int err;

	/* Scatterlists count entries in an int. */
	if (num > INT_MAX)
		return dat_no_memory();
	pages = dat_lmr_pages(lmr, num, &ret);
	if (!pages)
		return ret;
	err = sg_alloc_table_from_pages_segment(&lmr->sgt, pages, num,
						offset_in_page(lmr->start),
						lmr->length,
						ib_dma_max_seg_size(ibdev),
						GFP_KERNEL_ACCOUNT);
	dat_lmr_put_pages(lmr, pages);
	return err ? dat_no_memory() : DAT_SUCCESS;
}

static void free_table(struct dat_lmr *lmr)
{
	if (!lmr->is_lent)
		sg_free_table(&lmr->sgt);
}

static DAT_RETURN map_pages(struct dat_lmr *lmr)
{
	const struct sg_table *lent = lent_table(lmr);
	DAT_RETURN ret = DAT_SUCCESS;

	lmr->is_lent = lent;
	if (lent)
		lmr->sgt = *lent;
	else
		ret = make_table(lmr);
	if (ret)
		return ret;
	if (ib_dma_map_sgtable_attrs(dat_ia_ibdev(lmr->obj.ia), &lmr->sgt,
				     lmr->dma_dir, 0)) {
		free_table(lmr);
		return dat_no_memory();
	}
	return DAT_SUCCESS;
}

static void unmap_pages(struct dat_lmr *lmr)
{
	ib_dma_unmap_sgtable_attrs(dat_ia_ibdev(lmr->obj.ia), &lmr->sgt,
				   lmr->dma_dir, 0);
}

/*
 * Binds and syncs may begin at any byte and may run in softirq, where a walk over a
 * million segments is not acceptable.
 */
static int make_index(struct dat_lmr *lmr)
{
	unsigned int i, num = DIV_ROUND_UP(lmr->sgt.nents, DAT_SG_STEP);
	struct scatterlist *sg;
	u64 offset = 0;

	lmr->index = NULL;
	if (num <= 1)
		return 0;
	lmr->index = kvmalloc_array(num, sizeof(*lmr->index),
				    GFP_KERNEL_ACCOUNT);
	if (!lmr->index)
		return -ENOMEM;
	for_each_sgtable_dma_sg(&lmr->sgt, sg, i) {
		if (i % DAT_SG_STEP == 0)
			lmr->index[i / DAT_SG_STEP] =
				(struct dat_sg_mark){ offset, sg };
		offset += sg_dma_len(sg);
	}
	return 0;
}

/**
 * dat_lmr_new_pages - allocate an identifier for pages that are mapped for a device
 *
 * Context: any.
 * Return: the identifier; never 0.
 */
u64 dat_lmr_new_pages(void)
{
	static atomic64_t last;

	return atomic64_inc_return(&last);
}

/* Does the base's mapping permit all access that this LMR needs? */
static bool can_share(const struct dat_lmr *lmr)
{
	return lmr->base && (dat_lmr_is_mapped(lmr->base->mapped) ||
			     lmr->base->dma_dir == DMA_BIDIRECTIONAL ||
			     lmr->dma_dir == DMA_TO_DEVICE);
}

static void share_mapping(struct dat_lmr *lmr)
{
	struct dat_lmr *from = lmr->base->mapped;

	atomic_inc(&from->mappings);
	lmr->mapped = from;
	lmr->sgt = from->sgt;
	lmr->index = from->index;
	lmr->dma_dir = from->dma_dir;
}

/**
 * dat_lmr_map - find the pages of a new LMR and map them for its device
 * @lmr: the LMR, from dat_lmr_describe()
 *
 * An LMR over another one shares the other's mapping, unless this LMR permits writing
 * and the mapping does not.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (there is no memory),
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_lmr_map(struct dat_lmr *lmr)
{
	DAT_RETURN ret = DAT_SUCCESS;

	lmr->pages = dat_lmr_new_pages();
	if (can_share(lmr)) {
		share_mapping(lmr);
		return DAT_SUCCESS;
	}
	ret = dat_lmr_is_mapped(lmr) ? map_bus_memory(lmr) : map_pages(lmr);
	if (ret)
		return ret;
	lmr->mapped = lmr;
	atomic_set(&lmr->mappings, 1);
	if (!make_index(lmr))
		return DAT_SUCCESS;
	dat_lmr_unmap(lmr);
	return dat_no_memory();
}

/**
 * dat_lmr_unmap - reverse dat_lmr_map()
 * @lmr: the LMR
 *
 * dat_ia_close() frees LMRs in any order, so an LMR may be freed before the LMRs over
 * it. The last of them removes the mapping.
 *
 * Context: process, may sleep.
 */
void dat_lmr_unmap(struct dat_lmr *lmr)
{
	struct dat_lmr *mapped = lmr->mapped;

	if (!atomic_dec_and_test(&mapped->mappings))
		return;
	kvfree(mapped->index);
	if (!dat_lmr_is_mapped(mapped))
		unmap_pages(mapped);
	free_table(mapped);
}

/* Return the last mark that is not behind @offset. */
static unsigned int find_mark(const struct dat_lmr *lmr, u64 offset)
{
	unsigned int low = 0, high = DIV_ROUND_UP(lmr->sgt.nents, DAT_SG_STEP);

	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (lmr->index[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/**
 * dat_lmr_find_sg - find the DMA segment that holds a byte of an LMR
 * @lmr: the LMR
 * @offset: offset of the byte from the LMR's beginning, in bytes; within the LMR
 * @sg_offset: out: offset of the byte from the segment's beginning, in bytes
 * @nents: out: number of segments from this one to the last
 *
 * The cost is O(log n) for n segments.
 *
 * Context: any.
 * Return: the segment.
 */
struct scatterlist *dat_lmr_find_sg(const struct dat_lmr *lmr, u64 offset,
				    u32 *sg_offset, unsigned int *nents)
{
	struct scatterlist *sg = lmr->sgt.sgl;
	unsigned int left = lmr->sgt.nents;

	if (lmr->index) {
		unsigned int mark = find_mark(lmr, offset);

		sg = lmr->index[mark].sg;
		offset -= lmr->index[mark].offset;
		left -= mark * DAT_SG_STEP;
	}
	while (offset >= sg_dma_len(sg)) {
		offset -= sg_dma_len(sg);
		sg = sg_next(sg);
		left--;
	}
	*sg_offset = offset;
	*nents = left;
	return sg;
}

/*
 * Copy DMA segments, beginning with @from, and cut them to a range at both ends. Return
 * their number, or 0 if there are more than @most.
 */
static unsigned int cut_sg(struct scatterlist *to, unsigned int most,
			   struct scatterlist *from, u32 offset, u32 length)
{
	unsigned int num;

	for (num = 0; length && num < most; num++) {
		u32 len = min(length, sg_dma_len(from) - offset);

		to[num].page_link = 0;
		sg_dma_address(&to[num]) = sg_dma_address(from) + offset;
		sg_dma_len(&to[num]) = len;
		length -= len;
		offset = 0;
		from = sg_next(from);
	}
	sg_mark_end(&to[num - 1]);
	return length ? 0 : num;
}

/*
 * Return the number of DMA segments in a range. Return 0 if the range does not end with
 * a segment, or if there are more than @most.
 */
static unsigned int whole_sg(struct scatterlist *sg, u32 length,
			     unsigned int most)
{
	unsigned int num;

	for (num = 0; length; num++) {
		if (sg_dma_len(sg) > length || num == most)
			return 0;
		length -= sg_dma_len(sg);
		sg = sg_next(sg);
	}
	return num;
}

/* For memory that has more pages than the MR has entries. Must not sleep. */
static u32 larger_pages(struct ib_device *ibdev, struct scatterlist *sgl,
			unsigned int num, u64 address, u32 length)
{
	struct dat_lmr_fit fit;

	if (dat_lmr_fit(ibdev, dat_dev_max_pages(ibdev), false, sgl, num,
			address, length, &fit) ||
	    fit.type != IB_MR_TYPE_MEM_REG ||
	    (fit.page_size != dat_dev_page_size(ibdev) &&
	     dat_dev_quirks(ibdev) & DAT_QUIRK_LARGE_PAGES_SLEEP))
		return 0;
	return fit.page_size;
}

static int map_pieces(struct ib_mr *mr, struct scatterlist *sgl,
		      unsigned int num, u64 address, u32 length)
{
	u32 page_size = dat_dev_page_size(mr->device);
	u64 num_pages = ((address & (page_size - 1)) + length + page_size - 1) >>
			ilog2(page_size);
	int mapped;

	/*
	 * The region counts from 0, but a page list must keep the offset within the
	 * page.
	 */
	if (unlikely((address ^ sg_dma_address(sgl)) & (page_size - 1)))
		return -EINVAL;
	if (unlikely(num_pages > dat_dev_max_pages(mr->device)))
		page_size = larger_pages(mr->device, sgl, num, address, length);
	if (unlikely(!page_size))
		return -E2BIG;
	/* No offset parameter: some drivers ignore it. */
	mapped = ib_map_mr_sg(mr, sgl, num, NULL, page_size);
	if (mapped == num)
		return 0;
	return mapped < 0 ? mapped : -ENOMEM;
}

/* Sufficient for memory in one or two pieces. */
#define FEW_SEGMENTS	4

/**
 * dat_lmr_map_mr - map a range of an LMR into an unused MR
 * @lmr: the LMR
 * @mr: the MR, for dat_dev_max_pages() pages; it receives the next key, so that its
 *	former context remains invalid
 * @address: first address of the range in the LMR's triplets; within the LMR
 * @length: length in bytes, not 0
 * @iova: address of the first byte for peers
 *
 * Context: any.
 * Return: 0 or a negative errno; -EINVAL if @iova and the byte have different offsets
 * within a page.
 */
int dat_lmr_map_mr(const struct dat_lmr *lmr, struct ib_mr *mr, u64 address,
		   u32 length, u64 iova)
{
	struct scatterlist few[FEW_SEGMENTS], *sgl = few, *first, *many = NULL;
	unsigned int num, most, left;
	u32 sg_offset, page_offset;
	int err;

	first = dat_lmr_find_sg(lmr, address - lmr->address, &sg_offset, &left);
	/*
	 * Each segment, except the first and the last, is at least a page. A page list
	 * never has fewer entries than the range has segments. Stop at the number of
	 * entries that the list can have.
	 */
	page_offset = offset_in_page(sg_dma_address(first) + sg_offset);
	most = min3(PFN_UP(page_offset + (u64)length), (u64)left,
		    (u64)dat_dev_max_pages(mr->device));
	num = cut_sg(few, FEW_SEGMENTS, first, sg_offset, length);
	if (!num && !sg_offset) {
		sgl = first;
		num = whole_sg(first, length, most);
	}
	if (!num) {
		many = kmalloc_array(most, sizeof(*many),
				     GFP_ATOMIC | __GFP_ACCOUNT);
		if (!many)
			return -ENOMEM;
		sgl = many;
		num = cut_sg(many, most, first, sg_offset, length);
	}
	if (!num) {
		kfree(many);
		return -E2BIG;
	}
	err = map_pieces(mr, sgl, num, iova, length);
	kfree(many);
	if (err)
		return err;

	mr->iova = iova;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_mr.c - registration of unusual LMRs
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../kdapl/mem/lmr.h"
#include "../../../kdapl/mem/pz.h"

#define ADDRESS		0x7f1200000000ULL
#define NUM_SEGMENTS	3

static struct scatterlist sgl[NUM_SEGMENTS];
static struct dat_lmr lmr;
static struct dat_pz pz;
static struct ib_pd pd;
static unsigned int maps;

/* As ib_sg_to_pages(): maps up to the first segment that is not contiguous. */
static int map_what_joins(struct ib_mr *mr, struct scatterlist *list, int num,
			  unsigned int *sg_offset)
{
	int i;

	maps++;
	for (i = 1; mr->type == IB_MR_TYPE_MEM_REG && i < num; i++)
		if (offset_in_page(sg_dma_address(&list[i - 1]) +
				   sg_dma_len(&list[i - 1])) ||
		    offset_in_page(sg_dma_address(&list[i])))
			return i;
	return num;
}

static int lmr_mr_test_init(struct kunit *test)
{
	unsigned int i;

	fake_reset();
	maps = 0;
	fake.ibdev.ops.map_mr_sg = map_what_joins;
	fake.ibdev.attrs.page_size_cap = PAGE_SIZE;
	memset(&lmr, 0, sizeof(lmr));
	memset(&pd, 0, sizeof(pd));
	pd.device = &fake.ibdev;
	pz.pd = &pd;
	lmr.pz = &pz;
	sg_init_table(sgl, NUM_SEGMENTS);
	for (i = 0; i < NUM_SEGMENTS; i++) {
		sg_dma_address(&sgl[i]) = 0x10000 + i * 0x10000;
		sg_dma_len(&sgl[i]) = PAGE_SIZE;
	}
	lmr.sgt.sgl = sgl;
	lmr.sgt.nents = NUM_SEGMENTS;
	lmr.address = ADDRESS;
	lmr.length = NUM_SEGMENTS * PAGE_SIZE;
	return 0;
}

static void aligned_segments_map_once(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, dat_lmr_register(&lmr));
	KUNIT_EXPECT_EQ(test, 1u, maps);
	KUNIT_EXPECT_EQ(test, NUM_SEGMENTS, fake.mr_pages);
	KUNIT_EXPECT_EQ(test, 1u, fake.registrations);
	KUNIT_EXPECT_EQ(test, ADDRESS, lmr.mr->iova);
	KUNIT_EXPECT_EQ(test, lmr.mr->lkey, lmr.lkey);
	KUNIT_EXPECT_EQ(test, lmr.mr->rkey, lmr.rkey);
	KUNIT_EXPECT_EQ(test, 0u, fake.freed_mrs);
}

/* Segments such as bounce buffers may have. */
static void register_gaps_e2big(struct kunit *test)
{
	sg_dma_address(&sgl[1]) += 0x800;
	KUNIT_EXPECT_EQ(test, -E2BIG, dat_lmr_register(&lmr));
	KUNIT_EXPECT_EQ(test, 0u, fake.registrations);
	KUNIT_EXPECT_EQ(test, 1u, fake.freed_mrs);
	KUNIT_EXPECT_PTR_EQ(test, NULL, lmr.mr);
}

static void register_sg_gaps_mr(struct kunit *test)
{
	fake.ibdev.attrs.kernel_cap_flags = IBK_SG_GAPS_REG;
	sg_dma_address(&sgl[1]) += 0x800;
	KUNIT_ASSERT_EQ(test, 0, dat_lmr_register(&lmr));
	KUNIT_EXPECT_EQ(test, 2u, maps);
	KUNIT_EXPECT_EQ(test, IB_MR_TYPE_SG_GAPS, lmr.mr->type);
	KUNIT_EXPECT_EQ(test, 1u, fake.registrations);
	KUNIT_EXPECT_EQ(test, 1u, fake.freed_mrs);
}

/* A device cannot map a byte to another offset in its page. */
static void register_page_offset_mismatch(struct kunit *test)
{
	lmr.address += 8;
	KUNIT_EXPECT_EQ(test, -E2BIG, dat_lmr_register(&lmr));
	KUNIT_EXPECT_EQ(test, 0u, maps);
}

static void register_failure_frees_mr(struct kunit *test)
{
	fake.register_result = -EIO;
	KUNIT_EXPECT_EQ(test, -EIO, dat_lmr_register(&lmr));
	KUNIT_EXPECT_EQ(test, 1u, fake.freed_mrs);
	KUNIT_EXPECT_PTR_EQ(test, NULL, lmr.mr);
}

static struct kunit_case lmr_mr_test_cases[] = {
	KUNIT_CASE(aligned_segments_map_once),
	KUNIT_CASE(register_gaps_e2big),
	KUNIT_CASE(register_sg_gaps_mr),
	KUNIT_CASE(register_page_offset_mismatch),
	KUNIT_CASE(register_failure_frees_mr),
	{}
};

static struct kunit_suite lmr_mr_test_suite = {
	.name = "kdapl_lmr_mr",
	.init = lmr_mr_test_init,
	.test_cases = lmr_mr_test_cases,
};

kunit_test_suite(lmr_mr_test_suite);

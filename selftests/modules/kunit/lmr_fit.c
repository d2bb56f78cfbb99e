// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_fit.c - how memory is fitted into a fast registration
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "fake.h"

/* The core's function updates statistics of registered devices only. */
#define ib_alloc_mr		fake_alloc_mr
#include "../../../kdapl/mem/lmr_register.c"

#define MAX_PAGES	16
#define MAX_PIECES	20

static struct scatterlist sgl[MAX_PIECES];
static unsigned int nents;
static u64 length;
static struct dat_lmr_fit fit;

static int lmr_fit_test_init(struct kunit *test)
{
	fake_reset();
	fake.ibdev.attrs.page_size_cap = 0xfffff000;
	sg_init_table(sgl, MAX_PIECES);
	memset(&fit, 0, sizeof(fit));
	nents = 0;
	length = 0;
	return 0;
}

static void add(u64 address, u32 len)
{
	sg_dma_address(&sgl[nents]) = address;
	sg_dma_len(&sgl[nents++]) = len;
	length += len;
}

static int do_fit(bool large, u64 iova)
{
	return dat_lmr_fit(&fake.ibdev, MAX_PAGES, large, sgl, nents, iova,
			   length, &fit);
}

static void expect(struct kunit *test, u32 page_size, u32 num)
{
	KUNIT_EXPECT_EQ(test, IB_MR_TYPE_MEM_REG, fit.type);
	KUNIT_EXPECT_EQ(test, page_size, fit.page_size);
	KUNIT_EXPECT_EQ(test, num, fit.num);
}

static void fit_smallest_page_size(struct kunit *test)
{
	add(0x100000, MAX_PAGES * SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0x7f0000100000));
	expect(test, SZ_4K, MAX_PAGES);
	/* One byte into the next page. */
	length++;
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0x7f0000100000));
	expect(test, SZ_8K, MAX_PAGES / 2 + 1);
}

static void fit_unaligned_ends(struct kunit *test)
{
	add(0x100fff, MAX_PAGES * SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0xfff));
	/* From the first 4 KiB of the first 8 KiB page to the first 4 KiB of the last. */
	expect(test, SZ_8K, MAX_PAGES / 2 + 1);
}

static void fit_large_pages(struct kunit *test)
{
	add(0x40000000, SZ_64K);
	KUNIT_EXPECT_EQ(test, 0, do_fit(true, 0x40000000));
	expect(test, SZ_64K, 1);
	KUNIT_EXPECT_EQ(test, 0, do_fit(true, 0x40000000 + SZ_16K));
	expect(test, SZ_16K, 4);
}

/* Half of the memory is in each of two large pages, of any size. */
static void fit_page_size_limit(struct kunit *test)
{
	add(0x3ffff000, SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, do_fit(true, 0x3ffff000));
	expect(test, SZ_4K, 2);
	sg_dma_address(sgl) = 0x3fffe000;
	length = sg_dma_len(sgl) = SZ_4K * 3;
	KUNIT_EXPECT_EQ(test, 0, do_fit(true, 0x3fffe000));
	expect(test, SZ_8K, 2);
}

static void fit_device_page_size_cap(struct kunit *test)
{
	fake.ibdev.attrs.page_size_cap = SZ_4K | SZ_2M;
	add(0x40000000, MAX_PAGES * SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0x40000000));
	expect(test, SZ_2M, 1);
	KUNIT_EXPECT_EQ(test, -E2BIG, do_fit(false, 0x40100000));
}

static void fit_iova_alignment(struct kunit *test)
{
	add(0x40000000, MAX_PAGES * SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0x1234567890000000));
	expect(test, SZ_8K, MAX_PAGES);
	KUNIT_EXPECT_EQ(test, -E2BIG, do_fit(false, 0x1234567890001000));
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0x1234567890002000));
	expect(test, SZ_8K, MAX_PAGES);
}

static void fit_contiguous_pieces(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < MAX_PIECES; i++)
		add(0x40000000 + i * SZ_4K, SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0x40000000));
	expect(test, SZ_8K, MAX_PIECES / 2);
}

static void fit_non_contiguous_pieces(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < MAX_PIECES; i++)
		add(0x40000000 + i * SZ_8K, SZ_4K);
	KUNIT_EXPECT_EQ(test, -E2BIG, do_fit(false, 0x40000000));
	nents = MAX_PAGES;
	length = MAX_PAGES * SZ_4K;
	KUNIT_EXPECT_EQ(test, 0, do_fit(true, 0x40000000));
	expect(test, SZ_4K, MAX_PAGES);
}

static void fit_hole_in_page(struct kunit *test)
{
	add(0x40000000, 100);
	add(0x40001000, 100);
	KUNIT_EXPECT_EQ(test, -E2BIG, do_fit(false, 0));
	KUNIT_EXPECT_EQ(test, -E2BIG, do_fit(true, 0));
}

static void fit_sg_gaps_device(struct kunit *test)
{
	fake.ibdev.attrs.kernel_cap_flags = IBK_SG_GAPS_REG;
	add(0x40000123, 100);
	add(0x40001000, SZ_1M);
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0));
	KUNIT_EXPECT_EQ(test, IB_MR_TYPE_SG_GAPS, fit.type);
	KUNIT_EXPECT_EQ(test, 2, fit.num);
	/* But not for memory that fits into a list of pages. */
	nents = 0;
	length = 0;
	add(0x40000123, 100);
	KUNIT_EXPECT_EQ(test, 0, do_fit(false, 0x123));
	expect(test, SZ_4K, 1);
	while (nents < MAX_PAGES + 1)
		add(0x50000000 + nents * SZ_8K, 100);
	KUNIT_EXPECT_EQ(test, -E2BIG, do_fit(false, 0x123));
}

static void fit_siw_pieces(struct kunit *test)
{
	fake.quirks = DAT_QUIRK_PIECES;
	add(0x40000000, SZ_1G);
	KUNIT_EXPECT_EQ(test, 0, do_fit(true, 0x40000000));
	expect(test, SZ_4K, 1);
}

/* A device with half pages, as one with 4 KiB pages on a kernel with 16 KiB pages */
static void fit_pages_below_page_size(struct kunit *test)
{
	const u32 half = PAGE_SIZE / 2;

	fake.list_page = half;
	fake.ibdev.attrs.page_size_cap = half;
	KUNIT_EXPECT_TRUE(test, fit_pages(&fake.ibdev, MAX_PAGES, 0x40000000,
					  0x1000000000, PAGE_SIZE + 1, &fit));
	expect(test, half, 3);
	KUNIT_EXPECT_FALSE(test, fit_pages(&fake.ibdev, 2, 0x40000000,
					   0x1000000000, PAGE_SIZE + 1, &fit));
	add(0x40000000, MAX_PAGES * half);
	KUNIT_EXPECT_EQ(test, 0, do_fit(true, 0x40000000));
	expect(test, half, MAX_PAGES);
	length++;
	KUNIT_EXPECT_EQ(test, -E2BIG, do_fit(true, 0x40000000));
}

static struct kunit_case lmr_fit_cases[] = {
	KUNIT_CASE(fit_smallest_page_size),
	KUNIT_CASE(fit_unaligned_ends),
	KUNIT_CASE(fit_large_pages),
	KUNIT_CASE(fit_page_size_limit),
	KUNIT_CASE(fit_device_page_size_cap),
	KUNIT_CASE(fit_iova_alignment),
	KUNIT_CASE(fit_contiguous_pieces),
	KUNIT_CASE(fit_non_contiguous_pieces),
	KUNIT_CASE(fit_hole_in_page),
	KUNIT_CASE(fit_sg_gaps_device),
	KUNIT_CASE(fit_siw_pieces),
	KUNIT_CASE(fit_pages_below_page_size),
	{}
};

static struct kunit_suite lmr_fit_suite = {
	.name = "kdapl_lmr_fit",
	.init = lmr_fit_test_init,
	.test_cases = lmr_fit_cases,
};

kunit_test_suite(lmr_fit_suite);

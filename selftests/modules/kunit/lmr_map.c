// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_map.c - how a range of an LMR is mapped from its segments
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../kdapl/mem/lmr_map.c"

#define ADDRESS		0x7f1200000123ULL
#define KEY		0x00abcdffu

/* Of different lengths, so that a wrong segment is detected. */
static const struct ib_sge segments[] = {
	{ .addr = 0x10123, .length = 0xedd },
	{ .addr = 0x20000, .length = 0x1000 },
	{ .addr = 0x30000, .length = 0x3000 },
	{ .addr = 0x40000, .length = 0x2000 },
	{ .addr = 0x50000, .length = 0x1000 },
	{ .addr = 0x60000, .length = 0x123 },
};

#define NUM_SEGMENTS	ARRAY_SIZE(segments)
#define LENGTH		0x8000u

static struct scatterlist sgl[ARRAY_SIZE(segments)];
static struct dat_lmr lmr;
static struct ib_mr mr;

static int lmr_map_test_init(struct kunit *test)
{
	unsigned int i;

	fake_reset();
	memset(&lmr, 0, sizeof(lmr));
	memset(&mr, 0, sizeof(mr));
	sg_init_table(sgl, NUM_SEGMENTS);
	for (i = 0; i < NUM_SEGMENTS; i++) {
		sg_dma_address(&sgl[i]) = segments[i].addr;
		sg_dma_len(&sgl[i]) = segments[i].length;
	}
	lmr.address = ADDRESS;
	lmr.length = LENGTH;
	lmr.sgt.sgl = sgl;
	lmr.sgt.nents = NUM_SEGMENTS;
	mr.device = &fake.ibdev;
	mr.lkey = KEY;
	mr.rkey = KEY;
	return 0;
}

static void find_sg_every_segment(struct kunit *test)
{
	u64 offset = 0;
	unsigned int i;

	for (i = 0; i < NUM_SEGMENTS; offset += segments[i++].length) {
		const u32 last = segments[i].length - 1;
		unsigned int nents = 0;
		u32 sg_offset = U32_MAX;

		KUNIT_EXPECT_PTR_EQ(test, &sgl[i],
				    dat_lmr_find_sg(&lmr, offset, &sg_offset,
						    &nents));
		KUNIT_EXPECT_EQ(test, 0, sg_offset);
		KUNIT_EXPECT_EQ(test, NUM_SEGMENTS - i, nents);
		KUNIT_EXPECT_PTR_EQ(test, &sgl[i],
				    dat_lmr_find_sg(&lmr, offset + last,
						    &sg_offset, &nents));
		KUNIT_EXPECT_EQ(test, last, sg_offset);
		KUNIT_EXPECT_EQ(test, NUM_SEGMENTS - i, nents);
	}
	KUNIT_EXPECT_EQ(test, LENGTH, offset);
}

#define MANY		1000u
#define STEP		DAT_SG_STEP

/* Creates an LMR of many segments of one page, of which no two are contiguous. */
static struct scatterlist *make_many(struct kunit *test)
{
	struct scatterlist *list = kunit_kcalloc(test, MANY, sizeof(*list),
						 GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, list);
	sg_init_table(list, MANY);
	for (i = 0; i < MANY; i++) {
		sg_dma_address(&list[i]) = 0x100000 + i * 2 * PAGE_SIZE;
		sg_dma_len(&list[i]) = PAGE_SIZE;
	}
	lmr.address = 0;
	lmr.length = MANY * PAGE_SIZE;
	lmr.sgt.sgl = list;
	lmr.sgt.nents = MANY;
	KUNIT_ASSERT_EQ(test, 0, make_index(&lmr));
	KUNIT_ASSERT_NOT_NULL(test, lmr.index);
	return list;
}

static void find_sg_walks_one_step(struct kunit *test)
{
	struct scatterlist *list = make_many(test);
	unsigned int i, j, nents;
	u32 offset;

	for (i = 0; i < MANY; i++) {
		/* Lengths that give a wrong result if the code reads these segments. */
		for (j = 0; j < MANY; j++)
			sg_dma_len(&list[j]) =
				j / STEP == i / STEP ? PAGE_SIZE : 0;
		KUNIT_EXPECT_PTR_EQ(test, &list[i],
				    dat_lmr_find_sg(&lmr, i * PAGE_SIZE + 5,
						    &offset, &nents));
		KUNIT_EXPECT_EQ(test, 5, offset);
		KUNIT_EXPECT_EQ(test, MANY - i, nents);
	}
	kvfree(lmr.index);
}

static void map_too_many_segments(struct kunit *test)
{
	const u32 most = dat_dev_max_pages(&fake.ibdev);
	struct scatterlist *list = make_many(test);

	KUNIT_ASSERT_LT(test, most + 1, MANY);
	/* If read, the segment behind the last one that fits would end the range. */
	sg_dma_len(&list[most + 1]) = U32_MAX;
	KUNIT_EXPECT_EQ(test, -E2BIG,
			dat_lmr_map_mr(&lmr, &mr, 0, lmr.length, 0));
	KUNIT_EXPECT_EQ(test, -E2BIG,
			dat_lmr_map_mr(&lmr, &mr, 1, lmr.length - 2, 1));
	KUNIT_EXPECT_EQ(test, 0, fake.maps);
	kvfree(lmr.index);
}

static u64 bus_address(u64 offset)
{
	unsigned int i;

	for (i = 0; offset >= segments[i].length; i++)
		offset -= segments[i].length;
	return segments[i].addr + offset;
}

/* Checks that the MR maps these bytes of the LMR in order. */
static bool shows(u64 offset, u32 length)
{
	unsigned int i;

	for (i = 0; i < fake.num_segments; i++) {
		const struct ib_sge *seg = &fake.segments[i];

		if (!seg->length || seg->length > length ||
		    seg->addr != bus_address(offset) ||
		    seg->addr + seg->length - 1 !=
			    bus_address(offset + seg->length - 1))
			return false;
		offset += seg->length;
		length -= seg->length;
	}
	return !length;
}

/* Maps a window whose peers use the owner's addresses. */
static int map(u64 address, u32 length)
{
	return dat_lmr_map_mr(&lmr, &mr, address, length, address);
}

/* From and to the first, the second, the last but one and the last byte. */
static void map_every_range(struct kunit *test)
{
	static const int near[] = { 0, 1, -2, -1 };
	u32 begins[NUM_SEGMENTS + 1] = {};
	unsigned int i, j, k, l;

	for (i = 0; i < NUM_SEGMENTS; i++)
		begins[i + 1] = begins[i] + segments[i].length;

	for (i = 0; i < NUM_SEGMENTS * 4; i++) {
		k = near[i % 4] < 0;
		for (j = 0; j < NUM_SEGMENTS * 4; j++) {
			u32 from = begins[i / 4 + k] + near[i % 4];
			u32 to;

			l = near[j % 4] < 0;
			to = begins[j / 4 + l] + near[j % 4];
			if (to < from)
				continue;
			KUNIT_ASSERT_EQ(test, 0,
					map(ADDRESS + from, to - from + 1));
			KUNIT_ASSERT_TRUE_MSG(test, shows(from, to - from + 1),
					      "%#x to %#x", from, to);
			KUNIT_ASSERT_EQ(test, j / 4 - i / 4 + 1,
					fake.num_segments);
		}
	}
}

static void map_iova_is_owner_address(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, map(ADDRESS + 5, 7));
	KUNIT_EXPECT_EQ(test, ADDRESS + 5, mr.iova);
}

static void map_other_iova(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EINVAL,
			dat_lmr_map_mr(&lmr, &mr, ADDRESS + 5, 7, 0));
	KUNIT_EXPECT_EQ(test, KEY, mr.rkey);
	KUNIT_EXPECT_EQ(test, 0,
			dat_lmr_map_mr(&lmr, &mr, ADDRESS + 5, 7,
				       offset_in_page(ADDRESS + 5)));
	KUNIT_EXPECT_EQ(test, offset_in_page(ADDRESS + 5), mr.iova);
	KUNIT_EXPECT_TRUE(test, shows(5, 7));
}

/* Only the low eight bits change, so 0 follows 0xff. */
static void map_changes_key(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, map(ADDRESS, 1));
	KUNIT_EXPECT_EQ(test, 0x00abcd00u, mr.rkey);
	KUNIT_EXPECT_EQ(test, 0x00abcd00u, mr.lkey);
	KUNIT_EXPECT_EQ(test, 0, map(ADDRESS, 1));
	KUNIT_EXPECT_EQ(test, 0x00abcd01u, mr.rkey);
}

static void map_failure_keeps_key(struct kunit *test)
{
	fake.map_result = -EINVAL;
	KUNIT_EXPECT_EQ(test, -EINVAL, map(ADDRESS, LENGTH));
	/* The device maps fewer segments than requested. */
	fake.map_result = NUM_SEGMENTS - 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, map(ADDRESS, LENGTH));
	KUNIT_EXPECT_EQ(test, KEY, mr.rkey);
	KUNIT_EXPECT_EQ(test, 0, mr.iova);
}

/* Six contiguous pieces, for which a window's list of small pages is too short. */
static void large_ranges(void)
{
	unsigned int i;

	for (i = 0; i < NUM_SEGMENTS; i++) {
		sg_dma_address(&sgl[i]) = 0x40000000 + i * 0x100000;
		sg_dma_len(&sgl[i]) = 0x100000;
	}
	lmr.address = 0x7f1200000000;
	lmr.length = NUM_SEGMENTS * 0x100000;
	fake.ibdev.attrs.page_size_cap = 0xfffff000;
}

static void map_large_range_page_size(struct kunit *test)
{
	const u32 small = DAT_MAX_FRWR_PAGES * PAGE_SIZE;

	large_ranges();
	KUNIT_EXPECT_EQ(test, 0, map(lmr.address, small));
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, fake.page_size);
	KUNIT_EXPECT_EQ(test, 0, map(lmr.address, small + 1));
	KUNIT_EXPECT_EQ(test, 2 * PAGE_SIZE, fake.page_size);
	/* The bind may run in softirq. */
	fake.quirks = DAT_QUIRK_LARGE_PAGES_SLEEP;
	KUNIT_EXPECT_EQ(test, -E2BIG, map(lmr.address, small + 1));
	KUNIT_EXPECT_EQ(test, 0, map(lmr.address + 1, small - 1));
	fake.quirks = DAT_QUIRK_PIECES;
	KUNIT_EXPECT_EQ(test, 0, map(lmr.address, small + 1));
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, fake.page_size);
}

static void map_page_offset_mismatch(struct kunit *test)
{
	lmr.address = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, map(0, 1));
	KUNIT_EXPECT_EQ(test, KEY, mr.rkey);
}

static struct kunit_case lmr_map_cases[] = {
	KUNIT_CASE(map_large_range_page_size),
	KUNIT_CASE(map_page_offset_mismatch),
	KUNIT_CASE(find_sg_every_segment),
	KUNIT_CASE(find_sg_walks_one_step),
	KUNIT_CASE(map_too_many_segments),
	KUNIT_CASE(map_every_range),
	KUNIT_CASE(map_iova_is_owner_address),
	KUNIT_CASE(map_other_iova),
	KUNIT_CASE(map_changes_key),
	KUNIT_CASE(map_failure_keeps_key),
	{}
};

static struct kunit_suite lmr_map_suite = {
	.name = "kdapl_lmr_map",
	.init = lmr_map_test_init,
	.test_cases = lmr_map_cases,
};

kunit_test_suite(lmr_map_suite);

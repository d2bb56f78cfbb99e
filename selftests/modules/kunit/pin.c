// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pin.c - how pinned pages are merged into segments
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../chardev/pin.c"

#define ORDER		9
#define NUM_PAGES	(1U << ORDER)
#define MAX_RUNS	8

static struct page *block;
static struct page *list[NUM_PAGES];
static struct dat_pin pin;

static int pin_test_init(struct kunit *test)
{
	memset(&pin, 0, sizeof(pin));
	block = alloc_pages(GFP_KERNEL, ORDER);
	return block ? 0 : -ENOMEM;
}

static void pin_test_exit(struct kunit *test)
{
	sg_free_append_table(&pin.table);
	if (block)
		__free_pages(block, ORDER);
}

/* Lists runs of pages, with one page left out between two runs. Returns the total. */
static unsigned int list_runs(const unsigned int *runs)
{
	unsigned int i, j, num = 0, at = 0;

	for (i = 0; i < MAX_RUNS && runs[i]; i++, at++)
		for (j = 0; j < runs[i]; j++)
			list[num++] = block + at++;
	return num;
}

/* Adds @at_once pages per call, as pin_user_pages_fast() may return them. */
static void add(struct kunit *test, unsigned int num, unsigned int at_once)
{
	unsigned int i, n;

	for (i = 0; i < num; i += n) {
		n = min(at_once, num - i);
		KUNIT_ASSERT_EQ(test, 0,
				append_pages(&pin, list + i, n, num - i - n));
	}
	pin.num_pages = num;
}

static void expect_segments(struct kunit *test, const unsigned int *runs)
{
	struct scatterlist *sg;
	unsigned int i, num = 0;

	for_each_sgtable_sg(&pin.table.sgt, sg, i) {
		KUNIT_ASSERT_LT(test, i, MAX_RUNS);
		KUNIT_EXPECT_PTR_EQ(test, list[num], sg_page(sg));
		KUNIT_EXPECT_EQ(test, 0, sg->offset);
		KUNIT_EXPECT_EQ(test, runs[i] * PAGE_SIZE, sg->length);
		num += runs[i];
	}
	KUNIT_EXPECT_EQ(test, pin.num_pages, num);
	KUNIT_EXPECT_TRUE(test, sg_is_last(pin.table.prv));
}

static void append_merges_contiguous_pages(struct kunit *test)
{
	static const unsigned int runs[][MAX_RUNS] = {
		{ 1 }, { 15 }, { 16 }, { 17 }, { NUM_PAGES },
		{ 1, 1, 1 }, { 1, 16, 1 }, { 16, 16 }, { 15, 17, 15, 17 },
		{ 1, 2, 3, 100, 4, 5, 200 }, { 200, 100 }, { 16, 1, 1, 16 },
	};
	static const unsigned int at_once[] = { 1, 2, 15, 16, 17, 100, 512 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		for (j = 0; j < ARRAY_SIZE(at_once); j++) {
			add(test, list_runs(runs[i]), at_once[j]);
			expect_segments(test, runs[i]);
			sg_free_append_table(&pin.table);
			memset(&pin.table, 0, sizeof(pin.table));
		}
	}
}

static void append_splits_unordered_pages(struct kunit *test)
{
	static const unsigned int runs[] = { 16, 0 };
	static const unsigned int segments[MAX_RUNS] = { 7, 1, 1, 7 };
	unsigned int num = list_runs(runs);

	swap(list[7], list[8]);
	add(test, num, num);
	expect_segments(test, segments);
}

static void cut_ends_unaligned_range(struct kunit *test)
{
	static const unsigned int runs[] = { 1, 20, 0 };
	struct scatterlist *first;

	add(test, list_runs(runs), 100);
	first = pin.table.sgt.sgl;
	cut_ends(&pin, 3 * PAGE_SIZE + 17, 20 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 17, first->offset);
	KUNIT_EXPECT_EQ(test, PAGE_SIZE - 17, first->length);
	KUNIT_EXPECT_EQ(test, 0, sg_next(first)->offset);
	KUNIT_EXPECT_EQ(test, 19 * PAGE_SIZE + 17, sg_next(first)->length);
}

static void cut_ends_within_page(struct kunit *test)
{
	static const unsigned int runs[] = { 1, 0 };

	add(test, list_runs(runs), 1);
	cut_ends(&pin, 3 * PAGE_SIZE + 17, 5);
	KUNIT_EXPECT_EQ(test, 17, pin.table.prv->offset);
	KUNIT_EXPECT_EQ(test, 5, pin.table.prv->length);
}

static struct kunit_case pin_cases[] = {
	KUNIT_CASE(append_merges_contiguous_pages),
	KUNIT_CASE(append_splits_unordered_pages),
	KUNIT_CASE(cut_ends_unaligned_range),
	KUNIT_CASE(cut_ends_within_page),
	{}
};

static struct kunit_suite pin_suite = {
	.name = "kdapl_pin",
	.init = pin_test_init,
	.exit = pin_test_exit,
	.test_cases = pin_cases,
};

kunit_test_suite(pin_suite);

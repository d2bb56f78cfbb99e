// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_find.c - lookup and checks of the LMR of a triplet
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../kdapl/mem/lmr_find.c"
#include "../../../kdapl/mem/pz.h"

#define ADDRESS		0x123450ULL
#define LENGTH		0x2345ULL
#define KEY		0x00abcd12u

static struct dat_ia ia, other_ia;
static struct dat_pz pz, other_pz;
static struct dat_lmr lmr;

static int lmr_find_test_init(struct kunit *test)
{
	memset(&lmr, 0, sizeof(lmr));
	xa_init_flags(&ia.lmrs, XA_FLAGS_LOCK_BH);
	xa_init_flags(&other_ia.lmrs, XA_FLAGS_LOCK_BH);
	lmr.obj.ia = &ia;
	lmr.pz = &pz;
	lmr.address = ADDRESS;
	lmr.length = LENGTH;
	lmr.lkey = KEY;
	lmr.privileges = DAT_MEM_PRIV_ALL_FLAG;
	return dat_lmr_insert(&lmr);
}

static void lmr_find_test_exit(struct kunit *test)
{
	unsigned long index = 0;

	dat_lmr_remove(&lmr);
	KUNIT_EXPECT_NULL(test, xa_find(&ia.lmrs, &index, ULONG_MAX,
					XA_PRESENT));
	xa_destroy(&ia.lmrs);
	xa_destroy(&other_ia.lmrs);
}

/* Returns the LMR for comparison only. */
static struct dat_lmr *found(struct dat_ia *in, u32 key)
{
	struct dat_lmr *it;

	rcu_read_lock();
	it = lmr_find(in, key);
	rcu_read_unlock();
	return it;
}

static void covers_range_bounds(struct kunit *test)
{
	static const struct {
		u64 address;
		u64 length;
		bool covered;
	} ranges[] = {
		{ ADDRESS, LENGTH, true },
		{ ADDRESS, 1, true },
		{ ADDRESS + LENGTH - 1, 1, true },
		{ ADDRESS + 1, LENGTH - 1, true },
		{ ADDRESS, LENGTH - 1, true },
		{ ADDRESS, LENGTH + 1, false },
		{ ADDRESS - 1, 1, false },
		{ ADDRESS - 1, 2, false },
		{ ADDRESS - 1, LENGTH, false },
		{ ADDRESS - 1, LENGTH + 2, false },
		{ ADDRESS + 1, LENGTH, false },
		{ ADDRESS + LENGTH - 1, 2, false },
		{ ADDRESS + LENGTH, 1, false },
		{ 0, 1, false },
		{ 0, ADDRESS + LENGTH, false },
		{ U64_MAX, 1, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		KUNIT_EXPECT_EQ_MSG(test, ranges[i].covered,
				    dat_lmr_covers(&lmr, ranges[i].address,
						   ranges[i].length),
				    "range %u", i);
}

/* In these triplets address + length overflows to a small value, or into the LMR. */
static void covers_range_wraps(struct kunit *test)
{
	static const u64 ranges[][2] = {
		{ ADDRESS, U64_MAX },
		{ ADDRESS, U64_MAX - ADDRESS },
		{ ADDRESS, U64_MAX - ADDRESS + 1 },
		{ ADDRESS + 1, U64_MAX },
		{ ADDRESS + 1, U64_MAX - ADDRESS + LENGTH },
		{ ADDRESS + LENGTH, U64_MAX },
		{ ADDRESS + LENGTH - 1, U64_MAX - ADDRESS - LENGTH + 2 },
		{ U64_MAX, 2 },
		{ U64_MAX, ADDRESS + 2 },
		{ U64_MAX - 1, LENGTH },
		{ U64_MAX, U64_MAX },
		{ 1ULL << 63, 1ULL << 63 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		KUNIT_EXPECT_FALSE_MSG(test,
				       dat_lmr_covers(&lmr, ranges[i][0],
						      ranges[i][1]),
				       "range %u", i);
}

static void covers_end_of_address_space(struct kunit *test)
{
	lmr.address = U64_MAX - 0xfff;
	lmr.length = 0x1000;
	KUNIT_EXPECT_TRUE(test, dat_lmr_covers(&lmr, U64_MAX - 0xfff, 0x1000));
	KUNIT_EXPECT_TRUE(test, dat_lmr_covers(&lmr, U64_MAX, 1));
	KUNIT_EXPECT_FALSE(test, dat_lmr_covers(&lmr, U64_MAX, 2));
	KUNIT_EXPECT_FALSE(test, dat_lmr_covers(&lmr, U64_MAX - 0xfff, 0x1001));
	KUNIT_EXPECT_FALSE(test, dat_lmr_covers(&lmr, 0, 1));
	lmr.address = 0;
	KUNIT_EXPECT_TRUE(test, dat_lmr_covers(&lmr, 0, 0x1000));
	KUNIT_EXPECT_FALSE(test, dat_lmr_covers(&lmr, U64_MAX, 2));
	lmr.length = U64_MAX;
	KUNIT_EXPECT_TRUE(test, dat_lmr_covers(&lmr, 0, U64_MAX));
	KUNIT_EXPECT_FALSE(test, dat_lmr_covers(&lmr, 1, U64_MAX));
}

static void covers_empty_range(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, dat_lmr_covers(&lmr, ADDRESS, 0));
	KUNIT_EXPECT_TRUE(test, dat_lmr_covers(&lmr, ADDRESS + LENGTH, 0));
	KUNIT_EXPECT_FALSE(test, dat_lmr_covers(&lmr, ADDRESS - 1, 0));
	KUNIT_EXPECT_FALSE(test, dat_lmr_covers(&lmr, ADDRESS + LENGTH + 1, 0));
}

static void find_compares_all_bits(struct kunit *test)
{
	unsigned int bit;

	KUNIT_EXPECT_PTR_EQ(test, &lmr, found(&ia, KEY));
	for (bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_NULL(test, found(&ia, KEY ^ BIT(bit)));
	KUNIT_EXPECT_NULL(test, found(&other_ia, KEY));
	dat_lmr_remove(&lmr);
	KUNIT_EXPECT_NULL(test, found(&ia, KEY));
}

/* Another LMR has the index now. */
static void remove_keeps_other_lmr(struct kunit *test)
{
	static struct dat_lmr other;

	other = lmr;
	other.lkey = KEY ^ 1;
	KUNIT_EXPECT_EQ(test, -EBUSY, dat_lmr_insert(&other));
	dat_lmr_remove(&other);
	KUNIT_EXPECT_PTR_EQ(test, &lmr, found(&ia, KEY));
}

/* LMRs of unregistered memory share a context and are distinguished by their ranges. */
static void find_shared_context(struct kunit *test)
{
	static struct dat_lmr others[2];
	DAT_LMR_TRIPLET segment = { .segment_length = 1, .lmr_context = KEY };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		others[i] = lmr;
		others[i].address = ADDRESS + (i + 1) * LENGTH;
		KUNIT_ASSERT_EQ(test, 0, dat_lmr_insert(&others[i]));
	}
	others[1].pz = &other_pz;
	rcu_read_lock();
	segment.virtual_address = ADDRESS + 2 * LENGTH - 1;
	KUNIT_EXPECT_PTR_EQ(test, &others[0],
			    dat_lmr_find_range(&ia, &pz, &segment));
	KUNIT_EXPECT_NULL(test, dat_lmr_find_range(&ia, &other_pz, &segment));
	segment.virtual_address++;
	KUNIT_EXPECT_NULL(test, dat_lmr_find_range(&ia, &pz, &segment));
	KUNIT_EXPECT_PTR_EQ(test, &others[1],
			    dat_lmr_find_range(&ia, NULL, &segment));
	rcu_read_unlock();
	dat_lmr_remove(&lmr);
	rcu_read_lock();
	KUNIT_EXPECT_PTR_EQ(test, &others[1],
			    dat_lmr_find_range(&ia, NULL, &segment));
	rcu_read_unlock();
	/* Removing twice has no effect. */
	dat_lmr_remove(&lmr);
	dat_lmr_remove(&others[0]);
	KUNIT_EXPECT_PTR_EQ(test, &others[1], found(&ia, KEY));
	dat_lmr_remove(&others[1]);
}

static void find_colliding_contexts(struct kunit *test)
{
	static struct dat_lmr others[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		others[i] = lmr;
		others[i].lkey = KEY + ((i + 1) * DAT_LOOKUP_CACHE_SLOTS << 8);
		KUNIT_ASSERT_EQ(test, 0, dat_lmr_insert(&others[i]));
	}
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_PTR_EQ(test, &others[i],
				    found(&ia, others[i].lkey));
	KUNIT_EXPECT_PTR_EQ(test, &lmr, found(&ia, KEY));
	/* The last LMR is found first. */
	for (i = 2; i-- > 0;) {
		dat_lmr_remove(&others[i]);
		KUNIT_EXPECT_NULL(test, found(&ia, others[i].lkey));
		KUNIT_EXPECT_PTR_EQ(test, &lmr, found(&ia, KEY));
	}
	/* For LMRs that are registered by posting. */
	KUNIT_EXPECT_EQ(test, 0, dat_lmr_insert_key(&others[0], others[0].lkey));
	KUNIT_EXPECT_PTR_EQ(test, &others[0],
			    found(&ia, others[0].lkey));
	KUNIT_EXPECT_PTR_EQ(test, &lmr, found(&ia, KEY));
	dat_lmr_remove_key(&others[0], others[0].lkey);
	KUNIT_EXPECT_NULL(test, found(&ia, others[0].lkey));
}

/* An LMR without memory has context 0, which may also belong to another LMR. */
static void find_context_zero(struct kunit *test)
{
	static struct dat_lmr empty, bypass;
	const u32 key = DAT_LOOKUP_CACHE_SLOTS << 8;

	empty = lmr;
	empty.lkey = 0;
	bypass = empty;
	KUNIT_ASSERT_EQ(test, 0, dat_lmr_insert_key(&empty, key));
	KUNIT_EXPECT_NULL(test, found(&ia, 0));
	KUNIT_ASSERT_EQ(test, 0, dat_lmr_insert(&bypass));
	KUNIT_EXPECT_PTR_EQ(test, &bypass, found(&ia, 0));
	empty.lkey = key;
	KUNIT_EXPECT_PTR_EQ(test, &empty, found(&ia, key));
	empty.lkey = 0;
	dat_lmr_remove(&bypass);
	KUNIT_EXPECT_NULL(test, found(&ia, 0));
	dat_lmr_remove_key(&empty, key);
}

static int entries(struct xarray *xa)
{
	XA_STATE(xas, xa, 0);
	int num = 0;

	rcu_read_lock();
	while (xas_find(&xas, ULONG_MAX))
		num++;
	rcu_read_unlock();
	return num;
}

/* The slot of the last freed LMR is kept for the next LMR. */
static void remove_keeps_one_slot(struct kunit *test)
{
	static struct dat_lmr next;
	unsigned int i;

	next = lmr;
	for (i = 0; i < 3; i++) {
		dat_lmr_remove(&lmr);
		KUNIT_EXPECT_EQ(test, 1, entries(&ia.lmrs));
		KUNIT_EXPECT_NULL(test, found(&ia, KEY));
		KUNIT_ASSERT_EQ(test, 0, dat_lmr_insert(&lmr));
		KUNIT_EXPECT_EQ(test, 1, entries(&ia.lmrs));
	}
	/* An LMR in a slot that was kept remains when the next slot is kept. */
	for (i = 1; i < 4; i++) {
		next.lkey = KEY + 256 * i;
		KUNIT_ASSERT_EQ(test, 0, dat_lmr_insert(&next));
		dat_lmr_remove(&next);
		KUNIT_EXPECT_EQ(test, 2, entries(&ia.lmrs));
		KUNIT_EXPECT_PTR_EQ(test, &lmr, found(&ia, KEY));
		KUNIT_EXPECT_NULL(test, found(&ia, next.lkey));
	}
	/* For LMRs that are registered by posting. */
	KUNIT_EXPECT_EQ(test, -EBUSY, dat_lmr_insert_key(&next, KEY));
	KUNIT_EXPECT_EQ(test, 0, dat_lmr_insert_key(&next, next.lkey));
	KUNIT_EXPECT_PTR_EQ(test, &next, found(&ia, next.lkey));
	dat_lmr_remove_key(&next, next.lkey);
	KUNIT_EXPECT_EQ(test, 1, entries(&ia.lmrs));
}

static DAT_RETURN check(struct dat_ia *in, struct dat_pz *of, u64 address,
			u32 length, u32 key, DAT_MEM_PRIV_FLAGS privilege)
{
	DAT_LMR_TRIPLET segment = {
		.virtual_address = address,
		.segment_length = length,
		.lmr_context = key,
	};
	DAT_RETURN ret;
	bool allowed;

	rcu_read_lock();
	ret = check_segment(in, of, &segment, privilege);
	allowed = dat_lmr_allows(in, of, &segment, privilege);
	rcu_read_unlock();
	/* All LMRs here are in the lookup cache. */
	return !ret == allowed ? ret : DAT_INTERNAL_ERROR;
}

/* Every LMR allows it. */
#define LOCAL_READ	DAT_MEM_PRIV_NONE_FLAG
#define LOCAL_WRITE	DAT_MEM_PRIV_LOCAL_WRITE_FLAG

static void check_whole_lmr(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			check(&ia, &pz, ADDRESS, LENGTH, KEY, LOCAL_READ));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			check(&ia, &pz, ADDRESS, LENGTH, KEY, LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			check(&ia, &pz, ADDRESS + LENGTH - 1, 1, KEY, LOCAL_READ));
}

static void check_outside_lmr(struct kunit *test)
{
	DAT_RETURN bad = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);

	KUNIT_EXPECT_EQ(test, bad,
			check(&ia, &pz, ADDRESS - 1, 1, KEY, LOCAL_READ));
	KUNIT_EXPECT_EQ(test, bad,
			check(&ia, &pz, ADDRESS, LENGTH + 1, KEY, LOCAL_READ));
	KUNIT_EXPECT_EQ(test, bad,
			check(&ia, &pz, ADDRESS + LENGTH, 1, KEY, LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, bad,
			check(&ia, &pz, ADDRESS, U32_MAX, KEY, LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, bad,
			check(&ia, &pz, U64_MAX, ADDRESS + 2, KEY, LOCAL_READ));
}

static void check_other_pz_or_ia(struct kunit *test)
{
	DAT_RETURN no_read = DAT_ERROR(DAT_PROTECTION_VIOLATION,
				       DAT_PROTECTION_READ);
	DAT_RETURN no_write = DAT_ERROR(DAT_PROTECTION_VIOLATION,
					DAT_PROTECTION_WRITE);

	KUNIT_EXPECT_EQ(test, no_read,
			check(&ia, &other_pz, ADDRESS, 1, KEY, LOCAL_READ));
	KUNIT_EXPECT_EQ(test, no_write,
			check(&ia, &other_pz, ADDRESS, 1, KEY, LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, no_read,
			check(&other_ia, &pz, ADDRESS, 1, KEY, LOCAL_READ));
	KUNIT_EXPECT_EQ(test, no_write,
			check(&ia, &pz, ADDRESS, 1, KEY + 1, LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, no_read,
			check(&ia, &pz, ADDRESS, 1, 0, LOCAL_READ));
	/* The error must not reveal the range of the LMR either. */
	KUNIT_EXPECT_EQ(test, no_read,
			check(&ia, &other_pz, 0, U32_MAX, KEY, LOCAL_READ));
}

static void check_every_privilege(struct kunit *test)
{
	unsigned int privileges;

	for (privileges = 0; privileges <= DAT_MEM_PRIV_ALL_FLAG; privileges++) {
		bool may_write = privileges & 0x10;

		if (privileges & ~DAT_MEM_PRIV_ALL_FLAG)
			continue;
		lmr.privileges = privileges;
		KUNIT_EXPECT_EQ_MSG(test, DAT_SUCCESS,
				    check(&ia, &pz, ADDRESS, 1, KEY, LOCAL_READ),
				    "privileges %#x", privileges);
		KUNIT_EXPECT_EQ_MSG(test, may_write ? DAT_SUCCESS : 0x800b005au,
				    check(&ia, &pz, ADDRESS, 1, KEY, LOCAL_WRITE),
				    "privileges %#x", privileges);
	}
}

static struct kunit_case lmr_find_cases[] = {
	KUNIT_CASE(covers_range_bounds),
	KUNIT_CASE(covers_range_wraps),
	KUNIT_CASE(covers_end_of_address_space),
	KUNIT_CASE(covers_empty_range),
	KUNIT_CASE(find_compares_all_bits),
	KUNIT_CASE(remove_keeps_other_lmr),
	KUNIT_CASE(find_shared_context),
	KUNIT_CASE(find_colliding_contexts),
	KUNIT_CASE(find_context_zero),
	KUNIT_CASE(remove_keeps_one_slot),
	KUNIT_CASE(check_whole_lmr),
	KUNIT_CASE(check_outside_lmr),
	KUNIT_CASE(check_other_pz_or_ia),
	KUNIT_CASE(check_every_privilege),
	{}
};

static struct kunit_suite lmr_find_suite = {
	.name = "kdapl_lmr_find",
	.init = lmr_find_test_init,
	.exit = lmr_find_test_exit,
	.test_cases = lmr_find_cases,
};

kunit_test_suite(lmr_find_suite);

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * recent.c - the lookup cache in front of a table
 */
#include <kunit/test.h>

#include "../../../kdapl/include/lookup_cache.h"

#define INDEX		5
#define OTHER_INDEX	(INDEX + DAT_LOOKUP_CACHE_SLOTS)

static struct dat_lookup_cache recent;
static struct xarray table;
static int one, other;

static void store(struct kunit *test, unsigned long index, int *entry)
{
	KUNIT_ASSERT_EQ(test, 0, xa_insert_bh(&table, index, entry, GFP_KERNEL));
	xa_lock_bh(&table);
	dat_lookup_cache_add(&recent, index, entry);
	xa_unlock_bh(&table);
}

static int recent_test_init(struct kunit *test)
{
	memset(&recent, 0, sizeof(recent));
	xa_init_flags(&table, XA_FLAGS_LOCK_BH);
	store(test, INDEX, &one);
	store(test, OTHER_INDEX, &other);
	return 0;
}

static void recent_test_exit(struct kunit *test)
{
	xa_destroy(&table);
}

static int *found(unsigned long index)
{
	int *entry;

	rcu_read_lock();
	entry = dat_lookup_cache_find(&recent, index);
	rcu_read_unlock();
	return entry;
}

static void walk(unsigned int times, unsigned long index, int *entry)
{
	rcu_read_lock();
	while (times--)
		dat_lookup_cache_refill(&recent, &table, index, entry);
	rcu_read_unlock();
}

static void add_replaces_entry(struct kunit *test)
{
	KUNIT_EXPECT_PTR_EQ(test, &other, found(OTHER_INDEX));
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
	KUNIT_EXPECT_NULL(test, found(INDEX + 1));
}

static void remove_keeps_other_entry(struct kunit *test)
{
	xa_lock_bh(&table);
	dat_lookup_cache_remove(&recent, INDEX, &one);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
	dat_lookup_cache_remove(&recent, OTHER_INDEX, &other);
	KUNIT_EXPECT_NULL(test, found(INDEX));
	xa_unlock_bh(&table);
}

static void refill_with_frequent_entry(struct kunit *test)
{
	walk(DAT_LOOKUP_CACHE_REFILL * num_possible_cpus(), INDEX, &one);
	KUNIT_EXPECT_PTR_EQ(test, &one, found(INDEX));
	walk(DAT_LOOKUP_CACHE_REFILL * num_possible_cpus(), OTHER_INDEX, &other);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

static void refill_alternating_entries(struct kunit *test)
{
	unsigned int i, changes = 0;
	int *before, *after;

	/* Stay on one processor: the refill counter is per CPU. */
	migrate_disable();
	for (i = 0; i < 4 * DAT_LOOKUP_CACHE_REFILL; i++) {
		before = found(INDEX);
		walk(1, before == &one ? OTHER_INDEX : INDEX,
		     before == &one ? &other : &one);
		after = found(INDEX);
		changes += before != after;
	}
	migrate_enable();
	KUNIT_EXPECT_GT(test, changes, 0u);
	KUNIT_EXPECT_LE(test, changes, 5u);
}

static void refill_skips_erased_entry(struct kunit *test)
{
	xa_lock_bh(&table);
	__xa_erase(&table, INDEX);
	dat_lookup_cache_remove(&recent, INDEX, &one);
	xa_unlock_bh(&table);
	walk(4 * DAT_LOOKUP_CACHE_REFILL * num_possible_cpus(), INDEX, &one);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

/* The lock holder may be erasing the entry. A lookup must not wait for the lock. */
static void refill_with_table_locked(struct kunit *test)
{
	xa_lock_bh(&table);
	walk(2 * DAT_LOOKUP_CACHE_REFILL, INDEX, &one);
	xa_unlock_bh(&table);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

static void refill_with_irqs_off(struct kunit *test)
{
	unsigned long flags;

	local_irq_save(flags);
	walk(2 * DAT_LOOKUP_CACHE_REFILL, INDEX, &one);
	local_irq_restore(flags);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

static struct kunit_case recent_cases[] = {
	KUNIT_CASE(add_replaces_entry),
	KUNIT_CASE(remove_keeps_other_entry),
	KUNIT_CASE(refill_with_frequent_entry),
	KUNIT_CASE(refill_alternating_entries),
	KUNIT_CASE(refill_skips_erased_entry),
	KUNIT_CASE(refill_with_table_locked),
	KUNIT_CASE(refill_with_irqs_off),
	{}
};

static struct kunit_suite recent_suite = {
	.name = "kdapl_recent",
	.init = recent_test_init,
	.exit = recent_test_exit,
	.test_cases = recent_cases,
};

kunit_test_suite(recent_suite);

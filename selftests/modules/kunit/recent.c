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

static void the_last_that_was_stored_is_found(struct kunit *test)
{
	KUNIT_EXPECT_PTR_EQ(test, &other, found(OTHER_INDEX));
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
	KUNIT_EXPECT_NULL(test, found(INDEX + 1));
}

static void removing_spares_another(struct kunit *test)
{
	xa_lock_bh(&table);
	dat_lookup_cache_remove(&recent, INDEX, &one);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
	dat_lookup_cache_remove(&recent, OTHER_INDEX, &other);
	KUNIT_EXPECT_NULL(test, found(INDEX));
	xa_unlock_bh(&table);
}

static void who_is_looked_up_often_takes_the_place(struct kunit *test)
{
	walk(DAT_LOOKUP_CACHE_REFILL * num_possible_cpus(), INDEX, &one);
	KUNIT_EXPECT_PTR_EQ(test, &one, found(INDEX));
	walk(DAT_LOOKUP_CACHE_REFILL * num_possible_cpus(), OTHER_INDEX, &other);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

static void two_in_turn_seldom_change_places(struct kunit *test)
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

static void what_was_erased_does_not_come_back(struct kunit *test)
{
	xa_lock_bh(&table);
	__xa_erase(&table, INDEX);
	dat_lookup_cache_remove(&recent, INDEX, &one);
	xa_unlock_bh(&table);
	walk(4 * DAT_LOOKUP_CACHE_REFILL * num_possible_cpus(), INDEX, &one);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

/* The lock holder may be erasing the entry. A lookup must not wait for the lock. */
static void nobody_waits_for_the_table(struct kunit *test)
{
	xa_lock_bh(&table);
	walk(2 * DAT_LOOKUP_CACHE_REFILL, INDEX, &one);
	xa_unlock_bh(&table);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

static void interrupts_may_be_off(struct kunit *test)
{
	unsigned long flags;

	local_irq_save(flags);
	walk(2 * DAT_LOOKUP_CACHE_REFILL, INDEX, &one);
	local_irq_restore(flags);
	KUNIT_EXPECT_PTR_EQ(test, &other, found(INDEX));
}

static struct kunit_case recent_cases[] = {
	KUNIT_CASE(the_last_that_was_stored_is_found),
	KUNIT_CASE(removing_spares_another),
	KUNIT_CASE(who_is_looked_up_often_takes_the_place),
	KUNIT_CASE(two_in_turn_seldom_change_places),
	KUNIT_CASE(what_was_erased_does_not_come_back),
	KUNIT_CASE(nobody_waits_for_the_table),
	KUNIT_CASE(interrupts_may_be_off),
	{}
};

static struct kunit_suite recent_suite = {
	.name = "kdapl_recent",
	.init = recent_test_init,
	.exit = recent_test_exit,
	.test_cases = recent_cases,
};

kunit_test_suite(recent_suite);

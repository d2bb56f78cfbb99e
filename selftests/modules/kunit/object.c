// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * object.c - handles, references and release of objects
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "fake.h"

#include "../../../kdapl/base/object.c"
#include "../../../kdapl/dev/ia.h"

#define NUM_OBJECTS	3

/**
 * struct thing - an object of any type
 * @obj: base object
 * @published: the object is in the handle table
 * @shutdowns: calls of its shutdown operation
 * @releases: calls of its release operation
 */
struct thing {
	struct dat_object obj;
	bool published;
	int shutdowns;
	int releases;
};

static struct dat_ia ia;
static int ia_releases;
static struct thing things[NUM_OBJECTS];

static struct thing *to_thing(struct dat_object *obj)
{
	return container_of(obj, struct thing, obj);
}

static void thing_shutdown(struct dat_object *obj)
{
	to_thing(obj)->shutdowns++;
}

static void thing_release(struct dat_object *obj)
{
	to_thing(obj)->releases++;
}

static const struct dat_object_ops thing_ops = {
	.shutdown = thing_shutdown,
	.release = thing_release,
};

static void ia_release(struct dat_object *obj)
{
	ia_releases++;
}

static const struct dat_object_ops ia_ops = {
	.release = ia_release,
};

static void make(struct kunit *test, struct thing *thing, DAT_HANDLE_TYPE type)
{
	memset(thing, 0, sizeof(*thing));
	dat_object_init(&thing->obj, type, &ia.owner, &thing_ops);
	KUNIT_ASSERT_EQ(test, DAT_SUCCESS, dat_object_publish(&thing->obj));
	thing->published = true;
}

static void retire(struct thing *thing)
{
	dat_object_claim(&thing->obj);
	dat_object_retire(&thing->obj);
	thing->published = false;
}

/* Counts the objects in the lists of the IA. */
static int num_listed(void)
{
	struct list_head *node;
	int type, num = 0;

	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++)
		list_for_each(node, &ia.owner.objects[type])
			num++;
	return num;
}

/* Releasing an object puts its IA, which is released later. */
static void wait_for_releases(void)
{
	rcu_barrier();
	rcu_barrier();
}

static int object_test_init(struct kunit *test)
{
	fake_reset();
	ia_releases = 0;
	memset(&ia, 0, sizeof(ia));
	memset(things, 0, sizeof(things));
	dat_owner_init(&ia.owner, &ia, &ia.obj);
	dat_object_init(&ia.obj, DAT_HANDLE_TYPE_IA, &ia.owner, &ia_ops);
	make(test, &things[0], DAT_HANDLE_TYPE_LMR);
	make(test, &things[1], DAT_HANDLE_TYPE_EP);
	make(test, &things[2], DAT_HANDLE_TYPE_LMR);
	return 0;
}

/* Releases all objects that a test has created. */
static void object_test_exit(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NUM_OBJECTS; i++)
		if (things[i].published)
			retire(&things[i]);
	KUNIT_EXPECT_EQ(test, 0, num_listed());
	KUNIT_EXPECT_EQ(test, 0, fake.live);
	dat_object_put(&ia.obj);
	wait_for_releases();
	KUNIT_EXPECT_EQ(test, 1, ia_releases);
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&dat_live_objects));
	/* With leaked objects, destroying the table would wait for ever. */
	if (!atomic_long_read(&dat_live_objects))
		dat_object_table_destroy();
}

static bool is_found(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct dat_object *peeked, *got;

	rcu_read_lock();
	peeked = dat_object_lookup(handle, type);
	rcu_read_unlock();
	got = dat_object_get(handle, type);
	if (got)
		dat_object_put(got);
	return peeked || got;
}

static bool is_found_by_any_type(DAT_HANDLE handle)
{
	struct dat_object *obj;
	unsigned int type;

	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++)
		if (is_found(handle, type))
			return true;
	rcu_read_lock();
	obj = dat_object_lookup_any(handle);
	rcu_read_unlock();
	return obj;
}

static void lookup_by_handle(struct kunit *test)
{
	struct dat_object *obj;
	unsigned int i;

	for (i = 0; i < NUM_OBJECTS; i++) {
		struct dat_object *mine = &things[i].obj;

		rcu_read_lock();
		KUNIT_EXPECT_PTR_EQ(test, mine,
				    dat_object_lookup_any(mine->handle));
		KUNIT_EXPECT_PTR_EQ(test, mine,
				    dat_object_lookup(mine->handle, mine->type));
		rcu_read_unlock();
		obj = dat_object_get(mine->handle, mine->type);
		KUNIT_EXPECT_PTR_EQ(test, mine, obj);
		KUNIT_EXPECT_EQ(test, 2, kref_read(&mine->ref));
		if (obj)
			dat_object_put(obj);
		KUNIT_EXPECT_EQ(test, 1, kref_read(&mine->ref));
	}
}

static void object_walk_visits_all(struct kunit *test)
{
	unsigned int i, seen[NUM_OBJECTS] = {};
	struct dat_object *obj;
	unsigned long index;

	retire(&things[1]);
	for (index = 0; (obj = dat_object_next(&index)); index++) {
		seen[to_thing(obj) - things]++;
		dat_object_put(obj);
	}
	for (i = 0; i < NUM_OBJECTS; i++)
		KUNIT_EXPECT_EQ(test, i != 1, seen[i]);
}

static void lookup_wrong_type(struct kunit *test)
{
	unsigned int type;

	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++) {
		KUNIT_EXPECT_EQ(test, type == DAT_HANDLE_TYPE_LMR,
				is_found(things[0].obj.handle, type));
		KUNIT_EXPECT_EQ(test, type == DAT_HANDLE_TYPE_EP,
				is_found(things[1].obj.handle, type));
	}
	KUNIT_EXPECT_EQ(test, 1, kref_read(&things[0].obj.ref));
}

/* These handles include the indices of the other objects. */
static void lookup_forged_handle(struct kunit *test)
{
	unsigned long handle;
	unsigned int i, bit;

	KUNIT_EXPECT_FALSE(test, is_found_by_any_type(DAT_HANDLE_NULL));
	KUNIT_EXPECT_FALSE(test, is_found_by_any_type((DAT_HANDLE)-1L));
	KUNIT_EXPECT_FALSE(test, is_found_by_any_type(&things[0].obj));
	for (i = 0; i < NUM_OBJECTS; i++) {
		handle = (unsigned long)things[i].obj.handle;
		for (bit = 0; bit < BITS_PER_LONG; bit++)
			KUNIT_ASSERT_FALSE_MSG(test,
					       is_found_by_any_type((DAT_HANDLE)
						(handle ^ BIT(bit))),
					       "bit %u", bit);
		handle = handle_index(things[i].obj.handle);
		KUNIT_ASSERT_FALSE(test,
				   is_found_by_any_type((DAT_HANDLE)handle));
	}
}

/* Index of one object with the generation of the other. */
static void lookup_mixed_index_and_generation(struct kunit *test)
{
	unsigned long a = (unsigned long)things[0].obj.handle;
	unsigned long b = (unsigned long)things[2].obj.handle;
	unsigned long mixed = (a & HANDLE_INDEX_MASK) | (b & ~HANDLE_INDEX_MASK);

	KUNIT_EXPECT_FALSE(test, is_found_by_any_type((DAT_HANDLE)mixed));
}

static void lookup_freed_handle(struct kunit *test)
{
	DAT_HANDLE freed = things[1].obj.handle;

	retire(&things[1]);
	KUNIT_EXPECT_FALSE(test, is_found_by_any_type(freed));
	wait_for_releases();
	KUNIT_EXPECT_FALSE(test, is_found_by_any_type(freed));
	KUNIT_EXPECT_TRUE(test, is_found(things[0].obj.handle,
					 DAT_HANDLE_TYPE_LMR));
}

static void reused_slot_new_handle(struct kunit *test)
{
	DAT_HANDLE old = things[1].obj.handle, new;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		retire(&things[1]);
		wait_for_releases();
		make(test, &things[1], DAT_HANDLE_TYPE_EP);
		new = things[1].obj.handle;
		KUNIT_EXPECT_EQ(test, handle_index(old), handle_index(new));
		KUNIT_EXPECT_FALSE(test, is_found_by_any_type(old));
		KUNIT_EXPECT_TRUE(test, is_found(new, DAT_HANDLE_TYPE_EP));
		old = new;
	}
}

/* Objects that share a slot of the lookup cache are all found. */
static void lookup_cache_collisions(struct kunit *test)
{
	unsigned int i, num = 3 * DAT_LOOKUP_CACHE_SLOTS;
	struct thing *many = kvcalloc(num, sizeof(*many), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, many);
	for (i = 0; i < num; i++)
		make(test, &many[i], DAT_HANDLE_TYPE_PZ);
	for (i = 0; i < num; i++)
		KUNIT_EXPECT_TRUE(test, is_found(many[i].obj.handle,
						 DAT_HANDLE_TYPE_PZ));
	/* Objects in the middle: neither the first nor the last of a slot. */
	for (i = DAT_LOOKUP_CACHE_SLOTS; i < 2 * DAT_LOOKUP_CACHE_SLOTS; i++)
		retire(&many[i]);
	for (i = 0; i < num; i++)
		KUNIT_EXPECT_EQ(test, many[i].published,
				is_found_by_any_type(many[i].obj.handle));
	for (i = num; i-- > 0;) {
		DAT_HANDLE handle = many[i].obj.handle;

		if (many[i].published)
			retire(&many[i]);
		KUNIT_EXPECT_FALSE(test, is_found_by_any_type(handle));
	}
	wait_for_releases();
	kvfree(many);
}

static bool found_too_early;

static void look_too_early(struct dat_object *obj)
{
	unsigned long handle = (unsigned long)obj->handle;

	found_too_early = is_found_by_any_type(obj->handle) ||
			  is_found_by_any_type((DAT_HANDLE)(handle &
						HANDLE_INDEX_MASK));
}

static void lookup_reserved_slot(struct kunit *test)
{
	retire(&things[1]);
	wait_for_releases();
	found_too_early = true;
	fake.added = look_too_early;
	make(test, &things[1], DAT_HANDLE_TYPE_EP);
	KUNIT_EXPECT_FALSE(test, found_too_early);
}

/* Sets the next generation. */
static void set_generation(unsigned long generation)
{
	atomic_long_set(&dat_generation, generation - 1);
}

static void generation_bits_distinguish_handles(struct kunit *test)
{
	unsigned long start = atomic_long_read(&dat_generation) + 1;
	unsigned int bit;
	DAT_HANDLE first;

	retire(&things[1]);
	wait_for_releases();
	set_generation(start);
	make(test, &things[1], DAT_HANDLE_TYPE_EP);
	first = things[1].obj.handle;
	for (bit = 0; bit < BITS_PER_LONG - HANDLE_INDEX_BITS; bit++) {
		retire(&things[1]);
		wait_for_releases();
		set_generation(start + BIT(bit));
		make(test, &things[1], DAT_HANDLE_TYPE_EP);
		KUNIT_EXPECT_EQ(test, handle_index(first),
				handle_index(things[1].obj.handle));
		KUNIT_EXPECT_FALSE_MSG(test, is_found_by_any_type(first),
				       "bit %u", bit);
	}
	set_generation(start);
}

/* With generation 0 the handle is an index, which is not the null handle. */
static void generation_wraps(struct kunit *test)
{
	unsigned long start = atomic_long_read(&dat_generation) + 1;
	unsigned long end = 1UL << (BITS_PER_LONG - HANDLE_INDEX_BITS);
	unsigned long generation;
	DAT_HANDLE old, new;

	for (generation = end - 2; generation != end + 2; generation++) {
		old = things[1].obj.handle;
		retire(&things[1]);
		wait_for_releases();
		set_generation(generation);
		make(test, &things[1], DAT_HANDLE_TYPE_EP);
		new = things[1].obj.handle;
		KUNIT_EXPECT_PTR_NE(test, DAT_HANDLE_NULL, new);
		KUNIT_EXPECT_EQ(test, handle_index(old), handle_index(new));
		KUNIT_EXPECT_EQ(test, generation % end,
				(unsigned long)new >> HANDLE_INDEX_BITS);
		KUNIT_EXPECT_FALSE(test, is_found_by_any_type(old));
		KUNIT_EXPECT_TRUE(test, is_found(new, DAT_HANDLE_TYPE_EP));
	}
	set_generation(start);
}

static void claim_twice_fails(struct kunit *test)
{
	struct dat_object *obj = &things[0].obj;

	KUNIT_EXPECT_TRUE(test, dat_object_claim(obj));
	KUNIT_EXPECT_FALSE(test, dat_object_claim(obj));
	KUNIT_EXPECT_FALSE(test, dat_object_use_get(obj));
	KUNIT_EXPECT_LT(test, atomic_read(&obj->users), 0);
	/* Retiring withdraws the handle, claiming does not. */
	KUNIT_EXPECT_TRUE(test, is_found(obj->handle, DAT_HANDLE_TYPE_LMR));
}

static void claim_in_use_fails(struct kunit *test)
{
	struct dat_object *obj = &things[0].obj;

	KUNIT_EXPECT_TRUE(test, dat_object_use_get(obj));
	KUNIT_EXPECT_TRUE(test, dat_object_use_get(obj));
	KUNIT_EXPECT_FALSE(test, dat_object_claim(obj));
	dat_object_use_put(obj);
	KUNIT_EXPECT_FALSE(test, dat_object_claim(obj));
	KUNIT_EXPECT_TRUE(test, dat_object_use_get(obj));
	dat_object_use_put(obj);
	dat_object_use_put(obj);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&obj->users));
	KUNIT_EXPECT_TRUE(test, dat_object_claim(obj));
}

static void shutdown_runs_once(struct kunit *test)
{
	dat_object_shutdown(&things[0].obj);
	dat_object_shutdown(&things[0].obj);
	KUNIT_EXPECT_EQ(test, 1, things[0].shutdowns);
	KUNIT_EXPECT_EQ(test, 0, things[2].shutdowns);
	retire(&things[0]);
	retire(&things[2]);
	KUNIT_EXPECT_EQ(test, 1, things[0].shutdowns);
	KUNIT_EXPECT_EQ(test, 1, things[2].shutdowns);
}

static void release_waits_for_reference(struct kunit *test)
{
	struct dat_object *obj = &things[0].obj;
	struct dat_object *got = dat_object_get(obj->handle, obj->type);

	KUNIT_EXPECT_PTR_EQ(test, obj, got);
	retire(&things[0]);
	wait_for_releases();
	KUNIT_EXPECT_EQ(test, 0, things[0].releases);
	if (got)
		dat_object_put(got);
	wait_for_releases();
	KUNIT_EXPECT_EQ(test, 1, things[0].releases);
}

static void release_waits_for_grace_period(struct kunit *test)
{
	rcu_read_lock();
	retire(&things[0]);
	KUNIT_EXPECT_EQ(test, 0, things[0].releases);
	rcu_read_unlock();
	wait_for_releases();
	KUNIT_EXPECT_EQ(test, 1, things[0].releases);
}

/* Between the last reference and the release. */
static void get_dying_object_fails(struct kunit *test)
{
	struct dat_object *obj = &things[0].obj;

	refcount_set(&obj->ref.refcount, 0);
	KUNIT_EXPECT_NULL(test, dat_object_get(obj->handle, obj->type));
	KUNIT_EXPECT_EQ(test, 0, kref_read(&obj->ref));
	kref_init(&obj->ref);
}

static void object_holds_ia_reference(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1 + NUM_OBJECTS, kref_read(&ia.obj.ref));
	KUNIT_EXPECT_EQ(test, NUM_OBJECTS, num_listed());
	retire(&things[0]);
	wait_for_releases();
	KUNIT_EXPECT_EQ(test, NUM_OBJECTS, kref_read(&ia.obj.ref));
	KUNIT_EXPECT_EQ(test, NUM_OBJECTS - 1, num_listed());
	KUNIT_EXPECT_EQ(test, 0, ia_releases);
}

static int unload(void *data)
{
	dat_object_table_destroy();
	complete(data);
	return 0;
}

/* Waits some seconds until the thread sleeps, and checks that it stays asleep. */
static bool comes_to_sleep(struct task_struct *task)
{
	int i, seen = 0;

	for (i = 0; i < 2000 && seen < 20; i++) {
		seen = READ_ONCE(task->__state) == TASK_IDLE ? seen + 1 : 0;
		usleep_range(1000, 2000);
	}
	return seen == 20;
}

static void unload_waits_for_objects(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&dat_live_by_type[DAT_HANDLE_TYPE_LMR]));
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&dat_live_by_type[DAT_HANDLE_TYPE_EP]));
	task = kthread_run(unload, &done, "kdapl_unload");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_TRUE(test, comes_to_sleep(task));
	KUNIT_EXPECT_FALSE(test, completion_done(&done));
	for (i = 0; i < NUM_OBJECTS; i++)
		retire(&things[i]);
	dat_object_put(&ia.obj);
	wait_for_completion(&done);
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&dat_live_by_type[DAT_HANDLE_TYPE_LMR]));
	/* Needed by the exit function */
	ia_releases = 0;
	dat_object_init(&ia.obj, DAT_HANDLE_TYPE_IA, &ia.owner, &ia_ops);
}

static struct kunit_case object_cases[] = {
	KUNIT_CASE(lookup_by_handle),
	KUNIT_CASE(object_walk_visits_all),
	KUNIT_CASE(lookup_wrong_type),
	KUNIT_CASE(lookup_forged_handle),
	KUNIT_CASE(lookup_mixed_index_and_generation),
	KUNIT_CASE(lookup_freed_handle),
	KUNIT_CASE(reused_slot_new_handle),
	KUNIT_CASE(lookup_cache_collisions),
	KUNIT_CASE(lookup_reserved_slot),
	KUNIT_CASE(generation_bits_distinguish_handles),
	KUNIT_CASE(generation_wraps),
	KUNIT_CASE(claim_twice_fails),
	KUNIT_CASE(claim_in_use_fails),
	KUNIT_CASE(shutdown_runs_once),
	KUNIT_CASE(release_waits_for_reference),
	KUNIT_CASE(release_waits_for_grace_period),
	KUNIT_CASE(get_dying_object_fails),
	KUNIT_CASE(object_holds_ia_reference),
	KUNIT_CASE(unload_waits_for_objects),
	{}
};

static struct kunit_suite object_suite = {
	.name = "kdapl_object",
	.init = object_test_init,
	.exit = object_test_exit,
	.test_cases = object_cases,
};

kunit_test_suite(object_suite);

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uobj.c - the handles of an open file
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../chardev/uobj.c"

static struct dat_file file, other_file;
static DAT_CONTEXT khandle;

static void make_file(struct dat_file *f)
{
	memset(f, 0, sizeof(*f));
	xa_init_flags(&f->objects, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
}

static int uobj_test_init(struct kunit *test)
{
	fake_reset();
	make_file(&file);
	make_file(&other_file);
	return 0;
}

static void unmake_file(struct kunit *test, struct dat_file *f)
{
	unsigned long index = 0;

	dat_uobj_remove_all(f, NULL);
	KUNIT_EXPECT_NULL(test, xa_find(&f->objects, &index, ULONG_MAX,
					XA_PRESENT));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&f->num_objects));
	xa_destroy(&f->objects);
}

static void uobj_test_exit(struct kunit *test)
{
	unmake_file(test, &file);
	unmake_file(test, &other_file);
}

static u32 make(struct kunit *test, struct dat_file *in, DAT_HANDLE_TYPE type)
{
	struct dat_uobj *uobj;

	uobj = dat_uobj_alloc(in, sizeof(*uobj), type, NULL, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, uobj);
	KUNIT_ASSERT_EQ(test, 0, dat_uobj_reserve(uobj, GFP_KERNEL));
	dat_uobj_publish(uobj, &khandle);
	return uobj->handle;
}

static bool is_found(struct dat_file *in, u32 handle, DAT_HANDLE_TYPE type)
{
	struct dat_uobj *uobj = dat_uobj_get(in, handle, type);
	bool looked_up;

	if (uobj)
		dat_uobj_put(uobj);
	rcu_read_lock();
	looked_up = dat_uobj_lookup(in, handle, type);
	rcu_read_unlock();
	return uobj || looked_up;
}

static void take_away(struct dat_file *from, u32 handle)
{
	struct dat_uobj *uobj = dat_uobj_get_any(from, handle);

	if (!uobj)
		return;
	dat_uobj_remove(uobj);
	dat_uobj_put(uobj);
}

static void lookup_wrong_type_or_file(struct kunit *test)
{
	u32 handle = make(test, &file, DAT_HANDLE_TYPE_LMR);
	unsigned int type;

	for (type = 0; type <= DAT_HANDLE_TYPE_CSP; type++) {
		KUNIT_EXPECT_EQ(test, type == DAT_HANDLE_TYPE_LMR,
				is_found(&file, handle, type));
		KUNIT_EXPECT_FALSE(test, is_found(&other_file, handle, type));
	}
	KUNIT_EXPECT_FALSE(test, is_found(&file, 0, DAT_HANDLE_TYPE_LMR));
	KUNIT_EXPECT_FALSE(test, is_found(&file, handle + 1,
					  DAT_HANDLE_TYPE_LMR));
	KUNIT_EXPECT_FALSE(test, is_found(&file, U32_MAX, DAT_HANDLE_TYPE_LMR));
}

/* Objects that share a slot of the lookup cache are all found. */
static void lookup_cache_collisions(struct kunit *test)
{
	u32 handles[3];
	unsigned int i, j;

	for (i = 0; i < 3; i++) {
		handles[i] = make(test, &file, DAT_HANDLE_TYPE_EP);
		file.next_handle = handles[i] + DAT_LOOKUP_CACHE_SLOTS;
	}
	KUNIT_ASSERT_EQ(test, handles[0] + 2 * DAT_LOOKUP_CACHE_SLOTS, handles[2]);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, is_found(&file, handles[i],
						 DAT_HANDLE_TYPE_EP));
	KUNIT_EXPECT_FALSE(test, is_found(&file,
					  handles[2] + DAT_LOOKUP_CACHE_SLOTS,
					  DAT_HANDLE_TYPE_EP));
	/* Remove the last object, which is found first, and then the others. */
	for (i = 3; i-- > 0;) {
		take_away(&file, handles[i]);
		for (j = 0; j < 3; j++)
			KUNIT_EXPECT_EQ(test, j < i,
					is_found(&file, handles[j],
						 DAT_HANDLE_TYPE_EP));
	}
}

static void freed_handle_not_reused(struct kunit *test)
{
	u32 old = make(test, &file, DAT_HANDLE_TYPE_EP), new;
	unsigned int i;

	/* DAT 1.2 reserves small handle values. */
	KUNIT_EXPECT_EQ(test, 16, old);
	for (i = 0; i < 10; i++) {
		take_away(&file, old);
		KUNIT_EXPECT_FALSE(test,
				   is_found(&file, old, DAT_HANDLE_TYPE_EP));
		new = make(test, &file, DAT_HANDLE_TYPE_EP);
		KUNIT_EXPECT_EQ(test, old + 1, new);
		KUNIT_EXPECT_FALSE(test,
				   is_found(&file, old, DAT_HANDLE_TYPE_EP));
		old = new;
	}
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

/* The kept slot keeps the xarray nodes that the next handle needs. */
static void freed_slot_kept(struct kunit *test)
{
	u32 first = make(test, &file, DAT_HANDLE_TYPE_EP);
	unsigned int i;
	u32 handle;

	for (i = 0; i < 3; i++) {
		handle = make(test, &file, DAT_HANDLE_TYPE_LMR);
		take_away(&file, handle);
		KUNIT_EXPECT_EQ(test, 2, entries(&file.objects));
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&file.num_objects));
	}
	/* Not reused even when all other handles are in use. */
	file.next_handle = handle;
	KUNIT_EXPECT_EQ(test, handle + 1,
			make(test, &file, DAT_HANDLE_TYPE_LMR));
	KUNIT_EXPECT_TRUE(test, is_found(&file, first, DAT_HANDLE_TYPE_EP));
}

static void handle_wrap_skips_used(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 16, make(test, &file, DAT_HANDLE_TYPE_EP));
	file.next_handle = INT_MAX;
	KUNIT_EXPECT_EQ(test, INT_MAX, make(test, &file, DAT_HANDLE_TYPE_EP));
	KUNIT_EXPECT_EQ(test, 17, make(test, &file, DAT_HANDLE_TYPE_EP));
	KUNIT_EXPECT_EQ(test, 3, atomic_read(&file.num_objects));
}

static void lookup_reserved_handle(struct kunit *test)
{
	struct dat_uobj *uobj;

	uobj = dat_uobj_alloc(&file, sizeof(*uobj), DAT_HANDLE_TYPE_EP, NULL,
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, uobj);
	KUNIT_ASSERT_EQ(test, 0, dat_uobj_reserve(uobj, GFP_KERNEL));
	KUNIT_EXPECT_FALSE(test, is_found(&file, uobj->handle,
					  DAT_HANDLE_TYPE_EP));
	dat_uobj_unreserve(uobj);
}

static void reserve_over_object_limit(struct kunit *test)
{
	struct dat_uobj *uobj;

	uobj = dat_uobj_alloc(&file, sizeof(*uobj), DAT_HANDLE_TYPE_EP, NULL,
			      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, uobj);
	atomic_set(&file.num_objects, 65536);
	KUNIT_EXPECT_EQ(test, -ENOSPC, dat_uobj_reserve(uobj, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 65536, atomic_read(&file.num_objects));
	atomic_set(&file.num_objects, 65535);
	KUNIT_EXPECT_EQ(test, 0, dat_uobj_reserve(uobj, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 65536, atomic_read(&file.num_objects));
	dat_uobj_unreserve(uobj);
	KUNIT_EXPECT_EQ(test, 65535, atomic_read(&file.num_objects));
	atomic_set(&file.num_objects, 0);
}

static void remove_twice(struct kunit *test)
{
	u32 handle = make(test, &file, DAT_HANDLE_TYPE_EP);
	struct dat_uobj *uobj = dat_uobj_get_any(&file, handle);

	KUNIT_ASSERT_NOT_NULL(test, uobj);
	KUNIT_EXPECT_EQ(test, 2, kref_read(&uobj->ref));
	dat_uobj_remove(uobj);
	dat_uobj_remove(uobj);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&uobj->ref));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&file.num_objects));
	dat_uobj_put(uobj);
}

static void bad_khandle_not_null(struct kunit *test)
{
	u32 handle = make(test, &file, DAT_HANDLE_TYPE_EP);

	KUNIT_EXPECT_PTR_EQ(test, (DAT_HANDLE)&khandle,
			    dat_uobj_khandle(&file, handle,
					     DAT_HANDLE_TYPE_EP));
	KUNIT_EXPECT_PTR_EQ(test, (DAT_HANDLE)-1L,
			    dat_uobj_khandle(&file, handle,
					     DAT_HANDLE_TYPE_EVD));
	KUNIT_EXPECT_PTR_EQ(test, (DAT_HANDLE)-1L,
			    dat_uobj_khandle(&file, handle + 1,
					     DAT_HANDLE_TYPE_EP));
	KUNIT_EXPECT_PTR_EQ(test, DAT_HANDLE_NULL,
			    dat_uobj_khandle(&file, 0, DAT_HANDLE_TYPE_EP));
	KUNIT_EXPECT_EQ(test, handle, dat_uobj_user_handle(&khandle));
	KUNIT_EXPECT_EQ(test, 0, dat_uobj_user_handle(DAT_HANDLE_NULL));
}

static struct kunit_case uobj_cases[] = {
	KUNIT_CASE(lookup_wrong_type_or_file),
	KUNIT_CASE(lookup_cache_collisions),
	KUNIT_CASE(freed_handle_not_reused),
	KUNIT_CASE(freed_slot_kept),
	KUNIT_CASE(handle_wrap_skips_used),
	KUNIT_CASE(lookup_reserved_handle),
	KUNIT_CASE(reserve_over_object_limit),
	KUNIT_CASE(remove_twice),
	KUNIT_CASE(bad_khandle_not_null),
	{}
};

static struct kunit_suite uobj_suite = {
	.name = "kdapl_uobj",
	.init = uobj_test_init,
	.exit = uobj_test_exit,
	.test_cases = uobj_cases,
};

kunit_test_suite(uobj_suite);

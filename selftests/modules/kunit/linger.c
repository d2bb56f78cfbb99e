// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of linger.c: limits of ended connections that are kept until the peer answers
 */
#include <kunit/test.h>
#include <rdma/rdma_cm.h>

#include "fake.h"

/* Counts destroyed ids; there is no real connection. */
static unsigned int destroyed;

static void fake_lock(struct rdma_cm_id *id)
{
}

static int fake_leave(struct rdma_cm_id *id)
{
	return 0;
}

static void fake_destroy(struct rdma_cm_id *id)
{
	destroyed++;
}

#define rdma_lock_handler	fake_lock
#define rdma_unlock_handler	fake_lock
#define rdma_disconnect		fake_leave
#define rdma_destroy_id		fake_destroy

#include "../../../kdapl/dev/linger.c"

static struct dat_user root, users[6];
static struct rdma_cm_id *id;

static void user_init(struct dat_user *user, uid_t uid)
{
	memset(user, 0, sizeof(*user));
	user->uid = KUIDT_INIT(uid);
	refcount_set(&user->ref, 1);
}

static int linger_test_init(struct kunit *test)
{
	unsigned int i;

	fake_reset();
	destroyed = 0;
	user_init(&root, 0);
	for (i = 0; i < ARRAY_SIZE(users); i++)
		user_init(&users[i], 1000 + i);
	id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	return id ? 0 : -ENOMEM;
}

static void linger_test_exit(struct kunit *test)
{
	unsigned int i;

	dat_linger_exit();
	KUNIT_EXPECT_EQ(test, 0, count);
	KUNIT_EXPECT_EQ(test, 0, root.lingering);
	for (i = 0; i < ARRAY_SIZE(users); i++) {
		KUNIT_EXPECT_EQ(test, 0, users[i].lingering);
		KUNIT_EXPECT_EQ(test, 1, refcount_read(&users[i].ref));
	}
}

/* Ends @num connections of a user and returns how many of them are kept. */
static unsigned int kept(struct dat_user *user, unsigned int num)
{
	unsigned int before = destroyed, i;
	const bool owed = true;

	for (i = 0; i < num; i++)
		dat_linger(id, user, &owed, false);
	return num - (destroyed - before);
}

static void limit_per_user(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, LINGER_MAX_USER, kept(&users[0], 2000));
	KUNIT_EXPECT_EQ(test, 10, kept(&users[1], 10));
	KUNIT_EXPECT_EQ(test, 10, kept(&root, 10));
}

static void limit_all_users(struct kunit *test)
{
	unsigned int i, num = 0;

	for (i = 0; i < ARRAY_SIZE(users); i++)
		num += kept(&users[i], 2000);
	KUNIT_EXPECT_EQ(test, LINGER_MAX, num);
}

static void limit_root_separate(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(users); i++)
		kept(&users[i], 2000);
	KUNIT_EXPECT_EQ(test, LINGER_MAX, kept(&root, 2000));
}

static void answer_frees_quota(struct kunit *test)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_DISCONNECTED };

	KUNIT_EXPECT_EQ(test, LINGER_MAX_USER, kept(&users[0], 2000));
	KUNIT_EXPECT_EQ(test, 0, kept(&users[0], 1));
	/* Event of the connection that was kept last. */
	id->event_handler(id, &event);
	flush_delayed_work(&linger_work);
	KUNIT_EXPECT_EQ(test, 1, kept(&users[0], 2));
}

static void destroy_if_no_answer_owed(struct kunit *test)
{
	const bool owed = false;

	dat_linger(id, &users[0], &owed, false);
	KUNIT_EXPECT_EQ(test, 1, destroyed);
	KUNIT_EXPECT_EQ(test, 0, users[0].lingering);
}

static struct kunit_case linger_cases[] = {
	KUNIT_CASE(limit_per_user),
	KUNIT_CASE(limit_all_users),
	KUNIT_CASE(limit_root_separate),
	KUNIT_CASE(answer_frees_quota),
	KUNIT_CASE(destroy_if_no_answer_owed),
	{}
};

static struct kunit_suite linger_suite = {
	.name = "kdapl_linger",
	.init = linger_test_init,
	.exit = linger_test_exit,
	.test_cases = linger_cases,
};

kunit_test_suite(linger_suite);

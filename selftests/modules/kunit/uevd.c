// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uevd.c - the ring that a process maps and can overwrite
 */
#include <kunit/test.h>

#include "fake.h"

#include <linux/sched.h>

/* Called where other threads may run between batches. */
static void (*between_batches)(void);

#undef cond_resched
#define cond_resched()				\
	do {					\
		if (between_batches)		\
			between_batches();	\
	} while (0)

#include "../../../chardev/uevd.c"
#include "../../../chardev/uevd_ioctl.c"
#include "../../../chardev/uring.c"

/* No test here posts before it waits. */
int dat_ioctl_post(struct dat_file *f, void *arg)
{
	return 0;
}

#define RING_SIZE	4

static struct dat_file file;
static struct dat_uia ia;
static struct dat_uevd *evd, *async_evd;

static struct dat_uevd *alloc(struct kunit *test, u32 qlen)
{
	struct dat_uevd *new;
	int ret;

	new = dat_uevd_alloc(&file, NULL, qlen, &ret);
	KUNIT_ASSERT_NOT_NULL(test, new);
	return new;
}

static int uevd_test_init(struct kunit *test)
{
	fake_reset();
	memset(&file, 0, sizeof(file));
	memset(&ia, 0, sizeof(ia));
	kref_init(&ia.uobj.ref);
	evd = alloc(test, RING_SIZE);
	async_evd = alloc(test, RING_SIZE);
	ia.async_evd = async_evd;
	kref_get(&ia.uobj.ref);
	evd->uobj.ia = &ia;
	evd->uobj.handle = 17;
	kref_get(&ia.uobj.ref);
	async_evd->uobj.ia = &ia;
	return 0;
}

static void uevd_test_exit(struct kunit *test)
{
	dat_uobj_put(&evd->uobj);
	dat_uobj_put(&async_evd->uobj);
	KUNIT_EXPECT_EQ(test, 0, fake.charged);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&ia.uobj.ref));
}

/* Empties the ring and sets its counters to the state after @count events. */
static void rewind_to(u32 count)
{
	evd->ring->mem->head = count;
	evd->ring->mem->tail = count;
	evd->tail = count;
}

static bool push(u64 cookie)
{
	struct dat_dev_event event = { .cookie = cookie };

	return dat_uevd_push(evd, &event);
}

/* Takes an event the way libdat does. */
static u64 pop(struct dat_uevd *from)
{
	struct dat_dev_ring *ring = from->ring->mem;
	u64 cookie;

	if (ring->head == ring->tail)
		return U64_MAX;
	cookie = ring->events[ring->head % from->ring->entries].cookie;
	ring->head++;
	return cookie;
}

static const u32 starts[] = { 0, 1, 3, S32_MAX, U32_MAX - 3, U32_MAX };

static void full_ring_rejects_push(struct kunit *test)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		rewind_to(starts[i]);
		KUNIT_EXPECT_EQ(test, 0, dat_uevd_used(evd));
		for (j = 0; j < RING_SIZE; j++) {
			KUNIT_EXPECT_TRUE(test, push(j));
			KUNIT_EXPECT_EQ(test, j + 1, dat_uevd_used(evd));
		}
		KUNIT_EXPECT_FALSE(test, push(99));
		KUNIT_EXPECT_EQ(test, starts[i] + RING_SIZE, evd->ring->mem->tail);
		for (j = 0; j < RING_SIZE; j++)
			KUNIT_EXPECT_EQ(test, j, pop(evd));
		KUNIT_EXPECT_EQ(test, U64_MAX, pop(evd));
		KUNIT_EXPECT_EQ(test, 0, dat_uevd_used(evd));
	}
}

static void event_order_at_counter_wrap(struct kunit *test)
{
	unsigned int fill, in, out;

	for (fill = 1; fill <= RING_SIZE; fill++) {
		rewind_to(U32_MAX - 9);
		in = 0;
		for (out = 0; out < 20; out++) {
			while (in < out + fill)
				KUNIT_ASSERT_TRUE(test, push(in++));
			KUNIT_ASSERT_EQ(test, out, pop(evd));
		}
	}
}

/* The kernel must not write outside the ring, nor over an unread event. */
static void corrupt_head_stops_push(struct kunit *test)
{
	static const u32 heads[] = {
		1, 2, RING_SIZE, 0x80000000, U32_MAX - RING_SIZE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		rewind_to(0);
		evd->ring->mem->head = heads[i];
		KUNIT_EXPECT_EQ(test, RING_SIZE, dat_uevd_used(evd));
		KUNIT_EXPECT_FALSE(test, push(99));
		KUNIT_EXPECT_EQ(test, 0, evd->tail);
		evd->ring->mem->head = 0;
		KUNIT_EXPECT_TRUE(test, push(1));
	}
}

/* The kernel uses its own copy of the tail. */
static void corrupt_tail_is_rewritten(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, push(1));
	evd->ring->mem->tail = 0x12345678;
	KUNIT_EXPECT_TRUE(test, push(2));
	KUNIT_EXPECT_EQ(test, 2, evd->ring->mem->tail);
	KUNIT_EXPECT_EQ(test, 1, pop(evd));
	KUNIT_EXPECT_EQ(test, 2, pop(evd));
}

static void overflow_reported_once(struct kunit *test)
{
	struct dat_dev_event *event = &async_evd->ring->mem->events[0];
	unsigned int i;

	for (i = 0; i < RING_SIZE; i++)
		push(i);
	KUNIT_EXPECT_EQ(test, 0, dat_uevd_used(async_evd));
	push(99);
	push(99);
	KUNIT_EXPECT_EQ(test, 1, dat_uevd_used(async_evd));
	KUNIT_EXPECT_EQ(test, DAT_ASYNC_ERROR_EVD_OVERFLOW, event->number);
	KUNIT_EXPECT_EQ(test, 17, event->handle);
	/* A successful push ends the overflow; the next overflow is reported again. */
	pop(evd);
	push(4);
	KUNIT_EXPECT_EQ(test, 1, dat_uevd_used(async_evd));
	KUNIT_EXPECT_EQ(test, 1, fake.losses);
	push(99);
	KUNIT_EXPECT_EQ(test, 2, dat_uevd_used(async_evd));
	KUNIT_EXPECT_EQ(test, 2, fake.losses);
}

static void async_evd_overflow_not_reported(struct kunit *test)
{
	struct dat_dev_event event = {};
	unsigned int i;

	for (i = 0; i < RING_SIZE; i++)
		KUNIT_EXPECT_TRUE(test, dat_uevd_push(async_evd, &event));
	KUNIT_EXPECT_FALSE(test, dat_uevd_push(async_evd, &event));
	KUNIT_EXPECT_EQ(test, RING_SIZE, async_evd->tail);
}

static void ring_size_and_charge(struct kunit *test)
{
	static const u32 sizes[][2] = {
		{ 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 5, 8 },
		{ 1000, 1024 },
	};
	long before = fake.charged;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct dat_uevd *new = alloc(test, sizes[i][0]);

		KUNIT_EXPECT_EQ(test, sizes[i][0], new->qlen);
		KUNIT_EXPECT_EQ(test, sizes[i][1], new->ring->entries);
		KUNIT_EXPECT_GE(test, new->ring->bytes, 128 + 64 * sizes[i][1]);
		KUNIT_EXPECT_EQ(test, 0, new->ring->bytes % PAGE_SIZE);
		KUNIT_EXPECT_GE(test, fake.charged, before + new->ring->bytes);
		dat_uobj_put(&new->uobj);
		KUNIT_EXPECT_EQ(test, before, fake.charged);
	}
}

static void ring_over_limit_enospc(struct kunit *test)
{
	static const u32 sizes[] = {
		1 << 20, (1 << 20) + 1, S32_MAX, 1U << 31, U32_MAX,
	};
	long before = fake.charged;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ret = 0;
		KUNIT_EXPECT_NULL(test, dat_uevd_alloc(&file, NULL, sizes[i],
						       &ret));
		KUNIT_EXPECT_EQ(test, -ENOSPC, ret);
	}
	/* With one byte less than a page below the limit, no ring fits. */
	fake.charged = FAKE_MOST_CHARGED - PAGE_SIZE + 1;
	KUNIT_EXPECT_NULL(test, dat_uevd_alloc(&file, NULL, 1, &ret));
	KUNIT_EXPECT_EQ(test, -ENOSPC, ret);
	KUNIT_EXPECT_EQ(test, FAKE_MOST_CHARGED - PAGE_SIZE + 1, fake.charged);
	fake.charged = before;
	dat_uobj_put(&alloc(test, 1)->uobj);
	KUNIT_EXPECT_EQ(test, before, fake.charged);
}

static void second_waiter_rejected(struct kunit *test)
{
	/* The threshold must be at least 1 and at most the requested queue length. */
	KUNIT_EXPECT_EQ(test, DAT_INVALID_PARAMETER,
			DAT_GET_TYPE(begin_wait(evd, 0)));
	KUNIT_EXPECT_EQ(test, DAT_INVALID_PARAMETER,
			DAT_GET_TYPE(begin_wait(evd, RING_SIZE + 1)));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, begin_wait(evd, 2));
	KUNIT_EXPECT_EQ(test, 1, evd->ring->mem->waiting);
	KUNIT_EXPECT_EQ(test,
			DAT_ERROR(DAT_INVALID_STATE,
				  DAT_INVALID_STATE_EVD_WAITER),
			begin_wait(evd, 1));
	KUNIT_EXPECT_EQ(test, 2, evd->threshold);
	end_wait(evd);
	KUNIT_EXPECT_EQ(test, 0, evd->ring->mem->waiting);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, begin_wait(evd, 1));
	end_wait(evd);
}

static void threshold_ends_wait(struct kunit *test)
{
	DAT_RETURN timeout = DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);

	rewind_to(U32_MAX);
	push(0);
	KUNIT_EXPECT_TRUE(test, wait_is_over(evd, 1));
	KUNIT_EXPECT_FALSE(test, wait_is_over(evd, 2));
	KUNIT_EXPECT_EQ(test, timeout, wait_result(evd, 2, -ETIME));
	push(1);
	KUNIT_EXPECT_TRUE(test, wait_is_over(evd, 2));
	KUNIT_EXPECT_FALSE(test, wait_is_over(evd, 3));
	/* If enough events are queued, timeout and signals are ignored. */
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, wait_result(evd, 2, -ETIME));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, wait_result(evd, 2, -ERESTARTSYS));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE),
			wait_result(evd, 3, -ERESTARTSYS));
}

static void kill_ends_wait(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, wait_is_over(evd, 1));
	dat_uevd_kill(evd);
	KUNIT_EXPECT_TRUE(test, wait_is_over(evd, 1));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE),
			wait_result(evd, 1, 0));
	push(1);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, wait_result(evd, 1, 0));
}

static void unwaitable_ends_wait(struct kunit *test)
{
	const DAT_RETURN unwaitable = DAT_ERROR(DAT_INVALID_STATE,
					DAT_INVALID_STATE_EVD_UNWAITABLE);

	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, begin_wait(evd, 1));
	dat_uevd_set_state(evd, DAT_DEV_EVD_UNWAITABLE, DAT_DEV_EVD_UNWAITABLE);
	KUNIT_EXPECT_TRUE(test, wait_is_over(evd, 1));
	KUNIT_EXPECT_EQ(test, unwaitable, wait_result(evd, 1, 0));
	end_wait(evd);
	KUNIT_EXPECT_EQ(test, unwaitable, begin_wait(evd, 1));
	KUNIT_EXPECT_EQ(test, DAT_DEV_EVD_UNWAITABLE, evd->ring->mem->state);
	dat_uevd_set_state(evd, DAT_DEV_EVD_UNWAITABLE, 0);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, begin_wait(evd, 1));
	end_wait(evd);
}

/* Never dereferenced: fake.c only counts calls. */
static struct dat_ucno *const cno = (struct dat_ucno *)1;

static void event_triggers_cno(struct kunit *test)
{
	dat_uevd_set_cno(evd, cno, false);
	KUNIT_EXPECT_EQ(test, 0, fake.triggers);
	push(1);
	KUNIT_EXPECT_EQ(test, 1, fake.triggers);
	KUNIT_EXPECT_EQ(test, 17, fake.trigger);
	push(2);
	KUNIT_EXPECT_EQ(test, 2, fake.triggers);
	/* While a thread waits on the EVD, the CNO is not triggered. */
	begin_wait(evd, 4);
	push(3);
	end_wait(evd);
	KUNIT_EXPECT_EQ(test, 2, fake.triggers);
	push(4);
	KUNIT_EXPECT_EQ(test, 3, fake.triggers);
	/* A lost event does not trigger the CNO. */
	push(5);
	KUNIT_EXPECT_EQ(test, 3, fake.triggers);
	dat_uevd_set_cno(evd, NULL, false);
	KUNIT_EXPECT_EQ(test, 1, fake.detaches);
}

static void set_cno_with_queued_events(struct kunit *test)
{
	push(1);
	dat_uevd_set_cno(evd, cno, false);
	KUNIT_EXPECT_EQ(test, 1, fake.triggers);
	dat_uevd_set_state(evd, DAT_DEV_EVD_DISABLED, DAT_DEV_EVD_DISABLED);
	push(2);
	KUNIT_EXPECT_EQ(test, 1, fake.triggers);
	dat_uevd_set_state(evd, DAT_DEV_EVD_DISABLED, 0);
	KUNIT_EXPECT_EQ(test, 2, fake.triggers);
	/* The state has not changed. */
	dat_uevd_set_state(evd, DAT_DEV_EVD_DISABLED, 0);
	KUNIT_EXPECT_EQ(test, 2, fake.triggers);
	dat_uevd_kill(evd);
	KUNIT_EXPECT_EQ(test, 1, fake.detaches);
	/* An EVD that has been freed takes no CNO. */
	dat_uevd_set_cno(evd, cno, false);
	KUNIT_EXPECT_EQ(test, 2, fake.detaches);
	KUNIT_EXPECT_NULL(test, evd->cno);
}

static bool swap_to(struct kunit *test, u32 qlen)
{
	struct dat_uring *new, *old;
	int ret;

	new = dat_uring_alloc(&file, qlen, &ret);
	KUNIT_ASSERT_NOT_NULL(test, new);
	old = dat_uevd_swap_ring(evd, new, qlen);
	if (old != new) {
		KUNIT_EXPECT_EQ(test, 1, old->mem->is_old);
		KUNIT_EXPECT_EQ(test, old->mem->head, old->mem->tail);
	}
	dat_uring_put(old);
	return old != new;
}

static void swap_ring_keeps_events(struct kunit *test)
{
	static const u32 sizes[] = { 3, 4, 8, 64, 5, 3 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		rewind_to(starts[i]);
		push(0);
		push(1);
		push(2);
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			KUNIT_EXPECT_TRUE(test, swap_to(test, sizes[j]));
			KUNIT_EXPECT_EQ(test, sizes[j], evd->qlen);
			KUNIT_EXPECT_EQ(test, 3, dat_uevd_used(evd));
			KUNIT_EXPECT_EQ(test, 0, evd->ring->mem->is_old);
		}
		/* Rejected if the events do not fit. */
		KUNIT_EXPECT_FALSE(test, swap_to(test, 2));
		KUNIT_EXPECT_EQ(test, 3, evd->qlen);
		/* Rejected if the threshold of the waiter does not fit. */
		begin_wait(evd, 3);
		pop(evd);
		KUNIT_EXPECT_FALSE(test, swap_to(test, 2));
		KUNIT_EXPECT_TRUE(test, swap_to(test, 3));
		end_wait(evd);
		rewind_to(starts[i]);
		for (j = 0; j < 3; j++)
			push(j);
		KUNIT_EXPECT_TRUE(test, push(3));
		for (j = 0; j < 4; j++)
			KUNIT_EXPECT_EQ(test, j, pop(evd));
		KUNIT_EXPECT_TRUE(test, swap_to(test, RING_SIZE));
	}
}

#define MANY	1024

static struct {
	unsigned int rounds;
	u64 in;
	u64 out;
	bool in_order;
} meanwhile;

/* Pushes fewer events than it pops. */
static void push_and_pop(void)
{
	unsigned int i;

	meanwhile.rounds++;
	for (i = 0; i < 20; i++)
		meanwhile.in_order &= push(meanwhile.in++);
	for (i = 0; i < 30; i++)
		meanwhile.in_order &= pop(evd) == meanwhile.out++;
}

static void swap_ring_with_concurrent_events(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		KUNIT_ASSERT_TRUE(test, swap_to(test, MANY));
		rewind_to(starts[i]);
		memset(&meanwhile, 0, sizeof(meanwhile));
		meanwhile.in_order = true;
		while (meanwhile.in < MANY - 100)
			KUNIT_ASSERT_TRUE(test, push(meanwhile.in++));
		between_batches = push_and_pop;
		KUNIT_EXPECT_TRUE(test, swap_to(test, 2 * MANY));
		KUNIT_EXPECT_LE(test, MANY / SWAP_BATCH - 1, meanwhile.rounds);
		KUNIT_EXPECT_TRUE(test, swap_to(test, MANY));
		between_batches = NULL;
		KUNIT_EXPECT_TRUE(test, meanwhile.in_order);
		while (meanwhile.out < meanwhile.in)
			KUNIT_ASSERT_EQ(test, meanwhile.out++, pop(evd));
		KUNIT_EXPECT_EQ(test, 0, dat_uevd_used(evd));
	}
}

static struct kunit_case uevd_cases[] = {
	KUNIT_CASE(swap_ring_with_concurrent_events),
	KUNIT_CASE(unwaitable_ends_wait),
	KUNIT_CASE(event_triggers_cno),
	KUNIT_CASE(set_cno_with_queued_events),
	KUNIT_CASE(swap_ring_keeps_events),
	KUNIT_CASE(full_ring_rejects_push),
	KUNIT_CASE(event_order_at_counter_wrap),
	KUNIT_CASE(corrupt_head_stops_push),
	KUNIT_CASE(corrupt_tail_is_rewritten),
	KUNIT_CASE(overflow_reported_once),
	KUNIT_CASE(async_evd_overflow_not_reported),
	KUNIT_CASE(ring_size_and_charge),
	KUNIT_CASE(ring_over_limit_enospc),
	KUNIT_CASE(second_waiter_rejected),
	KUNIT_CASE(threshold_ends_wait),
	KUNIT_CASE(kill_ends_wait),
	{}
};

static struct kunit_suite uevd_suite = {
	.name = "kdapl_uevd",
	.init = uevd_test_init,
	.exit = uevd_test_exit,
	.test_cases = uevd_cases,
};

kunit_test_suite(uevd_suite);

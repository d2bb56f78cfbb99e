// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_queue.c - the ring of an EVD, and the CQ behind it
 */
#include <kunit/test.h>

#include "fake.h"

#include <linux/sched.h>
#include <linux/vmalloc.h>

/* Called where other threads may run between batches. */
static void (*between_batches)(void);

#undef cond_resched
#define cond_resched()				\
	do {					\
		if (between_batches)		\
			between_batches();	\
	} while (0)

#include "../../../kdapl/queue/evd_queue.c"
#include "../../../kdapl/ep/ep.h"

#define RING_SIZE	4

static struct dat_evd evd;
static struct dat_evd_entry ring[RING_SIZE];
static struct dat_evd_entry entry;
static struct ib_wc wcs[DAT_EVD_BATCH];
static struct ib_cq cq;
static struct dat_ep ep;

static int evd_queue_test_init(struct kunit *test)
{
	fake_reset();
	memset(&evd, 0, sizeof(evd));
	memset(&cq, 0, sizeof(cq));
	memset(&ep, 0, sizeof(ep));
	spin_lock_init(&evd.lock);
	evd.ring = ring;
	evd.wcs = wcs;
	evd.mask = RING_SIZE - 1;
	evd.qlen = RING_SIZE;
	cq.device = &fake.ibdev;
	ep.obj.owner = &fake_owner;
	return dat_workq_init(&ep.sq, &ep.obj, &ep.state, &fake_workq_ops,
			      FAKE_MAX_COMPLETIONS);
}

static void evd_queue_test_exit(struct kunit *test)
{
	dat_workq_destroy(&ep.sq);
}

/* Empties the ring and sets its counters to the state after @count events. */
static void rewind_to(u32 count)
{
	evd.head = count;
	evd.tail = count;
}

static bool push(u32 reason)
{
	DAT_EVENT_DATA data = { .asynch_error_event_data.reason = reason };

	return dat_evd_post(&evd, DAT_SOFTWARE_EVENT, &data);
}

static bool push_silent(u32 reason)
{
	struct dat_evd_entry unsignalled = {
		.number = DAT_SOFTWARE_EVENT,
		.unsignalled = true,
		.data.asynch_error_event_data.reason = reason,
	};
	bool ok;

	spin_lock_bh(&evd.lock);
	ok = ring_push(&evd, &unsignalled);
	spin_unlock_bh(&evd.lock);
	return ok;
}

#define NOTHING	(-1)

static int pop(void)
{
	DAT_EVENT event;
	bool ok;

	local_bh_disable();
	ok = evd_pop(&evd, evd.obj.handle, &event);
	local_bh_enable();
	if (!ok)
		return NOTHING;
	entry = evd.popped;
	if (event.event_number == DAT_DTO_COMPLETION_EVENT)
		return event.event_data.dto_completion_event_data.user_cookie.as_64;
	return event.event_data.asynch_error_event_data.reason;
}

static int pop_another_for_upcall(bool *more, bool *drained)
{
	DAT_UPCALL_OBJECT upcall;

	if (!dat_evd_pop_for_upcall(&evd, &entry, &upcall, more, drained))
		return NOTHING;
	if (entry.number == DAT_DTO_COMPLETION_EVENT)
		return entry.data.dto_completion_event_data.user_cookie.as_64;
	return entry.data.asynch_error_event_data.reason;
}

static int pop_for_upcall(bool *more)
{
	bool drained = false;

	return pop_another_for_upcall(more, &drained);
}

/* Puts the completion of a Send into the CQ. */
static void send_done(struct kunit *test, u32 cookie, bool unsignalled)
{
	struct dat_dto *dto = dat_workq_slot(&ep.sq);

	KUNIT_ASSERT_NOT_NULL(test, dto);
	dto->cookie.as_64 = cookie;
	dto->op = DAT_DTO_SEND;
	dto->unsignalled = unsignalled;
	dto->suppress = false;
	ep.sq.head++;
	evd.cq = &cq;
	fake_complete(dat_dto_wr_id(dto), IB_WC_SUCCESS);
}

static const u32 starts[] = { 0, 1, 3, S32_MAX, U32_MAX - 3, U32_MAX };

static void an_empty_ring_gives_nothing(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		rewind_to(starts[i]);
		KUNIT_EXPECT_EQ(test, NOTHING, pop());
		KUNIT_EXPECT_EQ(test, starts[i], evd.head);
		KUNIT_EXPECT_FALSE(test, dat_evd_is_full(&evd));
	}
}

static void it_holds_as_many_as_it_has_entries(struct kunit *test)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		rewind_to(starts[i]);
		for (j = 0; j < RING_SIZE; j++) {
			KUNIT_ASSERT_FALSE(test, ring_is_full(&evd));
			KUNIT_ASSERT_TRUE(test, push(100 + j));
		}
		KUNIT_EXPECT_TRUE(test, ring_is_full(&evd));
		KUNIT_EXPECT_TRUE(test, dat_evd_is_full(&evd));
		KUNIT_EXPECT_FALSE(test, push(200));
		for (j = 0; j < RING_SIZE; j++)
			KUNIT_ASSERT_EQ(test, 100 + j, pop());
		KUNIT_EXPECT_EQ(test, NOTHING, pop());
		KUNIT_EXPECT_EQ(test, starts[i] + RING_SIZE, evd.tail);
	}
}

/* For every number of queued events, past the wrap of the 32-bit counters. */
static void order_is_kept_while_counters_wrap(struct kunit *test)
{
	unsigned int fill, in, out;

	for (fill = 1; fill <= RING_SIZE; fill++) {
		rewind_to(U32_MAX - 9);
		in = 0;
		for (out = 0; out < 20; out++) {
			while (in < out + fill)
				KUNIT_ASSERT_TRUE(test, push(in++));
			KUNIT_ASSERT_EQ(test, out, pop());
		}
		while (out < in)
			KUNIT_ASSERT_EQ(test, out++, pop());
		KUNIT_ASSERT_EQ(test, NOTHING, pop());
	}
	KUNIT_EXPECT_EQ(test, 0, fake.overflows);
}

static void an_overflow_is_reported_once(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < RING_SIZE; i++)
		push(i);
	KUNIT_EXPECT_EQ(test, 0, fake.overflows);
	KUNIT_EXPECT_FALSE(test, push(RING_SIZE));
	KUNIT_EXPECT_FALSE(test, push(RING_SIZE));
	KUNIT_EXPECT_EQ(test, 1, fake.overflows);
	/* Dequeuing ends the overflow; the next overflow is reported again. */
	KUNIT_EXPECT_EQ(test, 0, pop());
	KUNIT_EXPECT_TRUE(test, push(RING_SIZE));
	KUNIT_EXPECT_EQ(test, 1, fake.overflows);
	KUNIT_EXPECT_FALSE(test, push(RING_SIZE));
	KUNIT_EXPECT_EQ(test, 2, fake.overflows);
}

/* The queue length may be less than the entries of the ring. */
static void the_queue_length_makes_it_full(struct kunit *test)
{
	evd.qlen = RING_SIZE - 1;
	rewind_to(U32_MAX - 1);
	push(0);
	push(1);
	KUNIT_EXPECT_FALSE(test, dat_evd_is_full(&evd));
	push(2);
	KUNIT_EXPECT_TRUE(test, dat_evd_is_full(&evd));
	KUNIT_EXPECT_FALSE(test, ring_is_full(&evd));
}

static void every_post_kicks(struct kunit *test)
{
	push(0);
	KUNIT_EXPECT_EQ(test, 1, fake.kicks);
	pop();
	KUNIT_EXPECT_EQ(test, 1, fake.kicks);
}

static void the_ring_is_older_than_the_cq(struct kunit *test)
{
	push(1);
	send_done(test, 2, false);
	send_done(test, 3, false);
	KUNIT_EXPECT_EQ(test, 1, pop());
	KUNIT_EXPECT_EQ(test, 2, pop());
	/* The completion in the CQ is older than this event. */
	push(4);
	KUNIT_EXPECT_EQ(test, 3, pop());
	KUNIT_EXPECT_EQ(test, 4, pop());
	KUNIT_EXPECT_EQ(test, NOTHING, pop());
}

static void a_full_ring_leaves_completions_in_the_cq(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < RING_SIZE + 2; i++)
		send_done(test, i, false);
	dat_evd_collect(&evd);
	KUNIT_EXPECT_EQ(test, RING_SIZE, fake.next_completion);
	KUNIT_EXPECT_EQ(test, 0, fake.overflows);
	/* Only completions can wait in the CQ; other events overflow. */
	KUNIT_EXPECT_FALSE(test, push(99));
	KUNIT_EXPECT_EQ(test, 1, fake.overflows);
	KUNIT_EXPECT_EQ(test, RING_SIZE, fake.next_completion);
	for (i = 0; i < RING_SIZE + 2; i++)
		KUNIT_EXPECT_EQ(test, i, pop());
	KUNIT_EXPECT_EQ(test, NOTHING, pop());
}

static void draining_empties_the_cq(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < RING_SIZE + 2; i++)
		send_done(test, i, false);
	dat_evd_drain(&evd);
	KUNIT_EXPECT_EQ(test, RING_SIZE + 2, fake.next_completion);
	KUNIT_EXPECT_EQ(test, 1, fake.overflows);
	KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(&ep.sq));
	for (i = 0; i < RING_SIZE; i++)
		KUNIT_EXPECT_EQ(test, i, pop());
	KUNIT_EXPECT_EQ(test, NOTHING, pop());
}

static void no_upcall_unless_the_policy_says_so(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_DISABLE;
	push(1);
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_EXPECT_TRUE(test, more);
	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	KUNIT_EXPECT_FALSE(test, more);
}

static void more_tells_of_what_follows(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	rewind_to(U32_MAX);
	push(1);
	push(2);
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	KUNIT_EXPECT_TRUE(test, more);
	KUNIT_EXPECT_EQ(test, 2, pop_for_upcall(&more));
	KUNIT_EXPECT_FALSE(test, more);
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_EXPECT_FALSE(test, more);
}

static void silent_events_wait_for_one_that_is_not(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	send_done(test, 1, true);
	send_done(test, 2, true);
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_EXPECT_FALSE(test, more);
	KUNIT_EXPECT_EQ(test, 0, evd.notify);
	send_done(test, 3, false);
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	KUNIT_EXPECT_TRUE(test, more);
	KUNIT_EXPECT_EQ(test, 2, pop_for_upcall(&more));
	KUNIT_EXPECT_TRUE(test, more);
	KUNIT_EXPECT_EQ(test, 3, pop_for_upcall(&more));
	KUNIT_EXPECT_FALSE(test, more);
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
}

static void a_ring_full_of_silent_events_moves_on(struct kunit *test)
{
	unsigned int i;
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	rewind_to(U32_MAX - 1);
	for (i = 0; i < RING_SIZE - 1; i++)
		KUNIT_ASSERT_TRUE(test, push_silent(i));
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_ASSERT_TRUE(test, push_silent(i));
	KUNIT_EXPECT_EQ(test, 0, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 1, pop());
}

static void silent_events_come_when_they_are_asked_for(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	push_silent(1);
	send_done(test, 2, true);
	evd.deliver_unsignalled = true;
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 2, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	/* When all have been delivered, later completions wait again. */
	push_silent(3);
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
}

static void upcalls_poll_once_for_many(struct kunit *test)
{
	bool more, drained = false;
	unsigned int i;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	for (i = 0; i < 3; i++)
		send_done(test, i, false);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, i, pop_another_for_upcall(&more, &drained));
		KUNIT_EXPECT_TRUE(test, drained);
		KUNIT_EXPECT_EQ(test, i < 2, dat_evd_upcall_pending(&evd));
	}
	/* This completion raises an interrupt. */
	send_done(test, 3, false);
	KUNIT_EXPECT_EQ(test, NOTHING, pop_another_for_upcall(&more, &drained));
	KUNIT_EXPECT_EQ(test, 1, fake.polls);
	KUNIT_EXPECT_EQ(test, 3, pop_for_upcall(&more));
}

/* A completion between the last poll of the CQ and its arming raises no interrupt. */
static void who_looks_again_finds_what_nobody_tells_of(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	KUNIT_EXPECT_FALSE(test, dat_evd_look_again(&evd));
	send_done(test, 1, false);
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	KUNIT_EXPECT_FALSE(test, dat_evd_look_again(&evd));
	send_done(test, 2, false);
	send_done(test, 3, false);
	KUNIT_EXPECT_TRUE(test, dat_evd_look_again(&evd));
	/* Looking again does not dequeue the completion. */
	KUNIT_EXPECT_TRUE(test, dat_evd_look_again(&evd));
	send_done(test, 4, false);
	KUNIT_EXPECT_EQ(test, 2, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 3, pop());
	KUNIT_EXPECT_EQ(test, 4, pop());
	KUNIT_EXPECT_FALSE(test, dat_evd_look_again(&evd));
}

static void what_upcalls_have_taken_is_older_than_the_cq(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	push(1);
	send_done(test, 2, false);
	send_done(test, 3, false);
	send_done(test, 4, false);
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 2, pop_for_upcall(&more));
	send_done(test, 5, false);
	KUNIT_EXPECT_EQ(test, 3, pop());
	/* The event is queued behind all earlier ones. */
	push(6);
	KUNIT_EXPECT_EQ(test, 4, pop());
	KUNIT_EXPECT_EQ(test, 5, pop());
	KUNIT_EXPECT_EQ(test, 6, pop());
	KUNIT_EXPECT_EQ(test, NOTHING, pop());
}

static void what_upcalls_have_taken_goes_with_the_cq(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	send_done(test, 1, false);
	send_done(test, 2, false);
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	evd.cq = NULL;
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, NOTHING, pop());
}

#define MANY	4096

static struct {
	unsigned int rounds;
	u32 in;
	u32 out;
	bool in_order;
} meanwhile;

/* Pushes fewer events than it pops, so that the swap finishes. */
static void push_and_pop(void)
{
	unsigned int i;

	meanwhile.rounds++;
	for (i = 0; i < 40; i++)
		meanwhile.in_order &= push(meanwhile.in++);
	for (i = 0; i < 60; i++)
		meanwhile.in_order &= pop() == meanwhile.out++;
}

static void fill_up(struct kunit *test, u32 num)
{
	memset(&meanwhile, 0, sizeof(meanwhile));
	meanwhile.in_order = true;
	while (meanwhile.in < num)
		KUNIT_ASSERT_TRUE(test, push(meanwhile.in++));
}

static void expect_the_rest(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, meanwhile.in_order);
	while (meanwhile.out < meanwhile.in)
		KUNIT_ASSERT_EQ(test, meanwhile.out++, pop());
	KUNIT_EXPECT_EQ(test, NOTHING, pop());
	KUNIT_EXPECT_EQ(test, 0, fake.overflows);
}

/* Swaps to a ring of @entries. The old ring remains the caller's. */
static bool swap_to(struct dat_evd_entry **rings, unsigned int which, u32 entries)
{
	return dat_evd_swap_ring(&evd, rings[which], entries, entries) !=
	       rings[which];
}

static void events_move_while_others_come_and_go(struct kunit *test)
{
	struct dat_evd_entry *rings[2];
	unsigned int i;

	rings[0] = vzalloc(array_size(MANY, sizeof(*ring)));
	rings[1] = vzalloc(array_size(2 * MANY, sizeof(*ring)));
	KUNIT_ASSERT_TRUE(test, rings[0] && rings[1]);
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		evd.ring = rings[0];
		evd.mask = MANY - 1;
		evd.qlen = MANY;
		rewind_to(starts[i]);
		fill_up(test, MANY - 100);
		between_batches = push_and_pop;
		KUNIT_EXPECT_TRUE(test, swap_to(rings, 1, 2 * MANY));
		KUNIT_EXPECT_LE(test, MANY / SWAP_BATCH - 2, meanwhile.rounds);
		KUNIT_EXPECT_PTR_EQ(test, rings[1], evd.ring);
		KUNIT_EXPECT_TRUE(test, swap_to(rings, 0, MANY));
		between_batches = NULL;
		KUNIT_EXPECT_PTR_EQ(test, rings[0], evd.ring);
		expect_the_rest(test);
	}
	evd.ring = ring;
	vfree(rings[0]);
	vfree(rings[1]);
}

/* The swap checks again before each batch that all events fit. */
static void events_stay_if_too_many_come_meanwhile(struct kunit *test)
{
	struct dat_evd_entry *rings[2];

	rings[0] = vzalloc(array_size(MANY, sizeof(*ring)));
	rings[1] = vzalloc(array_size(MANY / 2, sizeof(*ring)));
	KUNIT_ASSERT_TRUE(test, rings[0] && rings[1]);
	evd.ring = rings[0];
	evd.mask = MANY - 1;
	evd.qlen = MANY;
	rewind_to(U32_MAX - 1000);
	fill_up(test, MANY / 2 + 1);
	KUNIT_EXPECT_FALSE(test, swap_to(rings, 1, MANY / 2));
	KUNIT_EXPECT_PTR_EQ(test, rings[0], evd.ring);
	KUNIT_EXPECT_EQ(test, MANY, evd.qlen);
	expect_the_rest(test);
	evd.ring = ring;
	vfree(rings[0]);
	vfree(rings[1]);
}

static struct kunit_case evd_queue_cases[] = {
	KUNIT_CASE(events_move_while_others_come_and_go),
	KUNIT_CASE(events_stay_if_too_many_come_meanwhile),
	KUNIT_CASE(upcalls_poll_once_for_many),
	KUNIT_CASE(who_looks_again_finds_what_nobody_tells_of),
	KUNIT_CASE(what_upcalls_have_taken_is_older_than_the_cq),
	KUNIT_CASE(what_upcalls_have_taken_goes_with_the_cq),
	KUNIT_CASE(an_empty_ring_gives_nothing),
	KUNIT_CASE(it_holds_as_many_as_it_has_entries),
	KUNIT_CASE(order_is_kept_while_counters_wrap),
	KUNIT_CASE(an_overflow_is_reported_once),
	KUNIT_CASE(the_queue_length_makes_it_full),
	KUNIT_CASE(every_post_kicks),
	KUNIT_CASE(the_ring_is_older_than_the_cq),
	KUNIT_CASE(a_full_ring_leaves_completions_in_the_cq),
	KUNIT_CASE(draining_empties_the_cq),
	KUNIT_CASE(no_upcall_unless_the_policy_says_so),
	KUNIT_CASE(more_tells_of_what_follows),
	KUNIT_CASE(silent_events_wait_for_one_that_is_not),
	KUNIT_CASE(a_ring_full_of_silent_events_moves_on),
	KUNIT_CASE(silent_events_come_when_they_are_asked_for),
	{}
};

static struct kunit_suite evd_queue_suite = {
	.name = "kdapl_evd_queue",
	.init = evd_queue_test_init,
	.exit = evd_queue_test_exit,
	.test_cases = evd_queue_cases,
};

kunit_test_suite(evd_queue_suite);

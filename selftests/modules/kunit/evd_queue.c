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
static struct dat_cq evd_cq;
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
	INIT_LIST_HEAD(&evd.cqs);
	evd_cq.cq = &cq;
	list_add(&evd_cq.node, &evd.cqs);
	evd.num_cqs = 1;
	evd.poll_limit = FAKE_MAX_COMPLETIONS + DAT_EVD_BATCH;
	cq.device = &fake.ibdev;
	cq.cqe = FAKE_MAX_COMPLETIONS;
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

/* Completions that the last pop has passed to evd.completion */
static int taken;

static int pop_another_for_upcall(bool *more, bool *drained)
{
	DAT_UPCALL_OBJECT upcall;

	if (!dat_evd_pop_for_upcall(&evd, &entry, &upcall, more, drained, &taken))
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
	evd.cq = &evd_cq;
	fake_complete(dat_dto_wr_id(dto), IB_WC_SUCCESS);
}

static const u32 starts[] = { 0, 1, 3, S32_MAX, U32_MAX - 3, U32_MAX };

static void pop_empty_ring(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		rewind_to(starts[i]);
		KUNIT_EXPECT_EQ(test, NOTHING, pop());
		KUNIT_EXPECT_EQ(test, starts[i], evd.head);
		KUNIT_EXPECT_FALSE(test, dat_evd_is_full(&evd));
	}
}

static void ring_holds_all_entries(struct kunit *test)
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
static void ring_order_counter_wrap(struct kunit *test)
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

static void overflow_reported_once(struct kunit *test)
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
static void full_at_queue_length(struct kunit *test)
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

static void post_kicks_upcalls(struct kunit *test)
{
	push(0);
	KUNIT_EXPECT_EQ(test, 1, fake.kicks);
	pop();
	KUNIT_EXPECT_EQ(test, 1, fake.kicks);
}

static void ring_before_cq(struct kunit *test)
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

static void full_ring_leaves_cq(struct kunit *test)
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

static void drain_empties_cq(struct kunit *test)
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

static void upcall_policy_disable(struct kunit *test)
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

static void upcall_more_flag(struct kunit *test)
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

static void unsignalled_waits_for_signalled(struct kunit *test)
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

static void ring_full_of_unsignalled(struct kunit *test)
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

static void unsignalled_delivered_on_request(struct kunit *test)
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

static void upcalls_poll_cq_once(struct kunit *test)
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

static u64 last_taken;

static void take(DAT_PVOID instance_data, const struct dat_completion *completion)
{
	last_taken = completion->user_cookie.as_64;
}

/* The function takes plain completions until another event is in front of them. */
static void completion_function_keeps_order(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	evd.completion = take;
	send_done(test, 1, false);
	send_done(test, 2, false);
	send_done(test, 3, true);
	send_done(test, 4, false);
	KUNIT_EXPECT_EQ(test, 3, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 2, taken);
	KUNIT_EXPECT_EQ(test, 2, last_taken);
	/* 4 is in the ring, where it made the unsignalled 3 due. */
	KUNIT_EXPECT_EQ(test, 4, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 0, taken);
	/* An event in the ring comes first. */
	push(5);
	send_done(test, 6, false);
	KUNIT_EXPECT_EQ(test, 5, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 0, taken);
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 1, taken);
	KUNIT_EXPECT_EQ(test, 6, last_taken);
	evd.completion = NULL;
}

/* A completion between the last poll of the CQ and its arming raises no interrupt. */
static void look_again_finds_completion(struct kunit *test)
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

static void upcall_batch_before_cq(struct kunit *test)
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

static void upcall_batch_dropped_with_cq(struct kunit *test)
{
	bool more;

	evd.policy = DAT_UPCALL_SINGLE_INSTANCE;
	send_done(test, 1, false);
	send_done(test, 2, false);
	KUNIT_EXPECT_EQ(test, 1, pop_for_upcall(&more));
	evd.cq = NULL;
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	/* The slots of these DTOs may be free. */
	evd.completion = take;
	KUNIT_EXPECT_EQ(test, NOTHING, pop_for_upcall(&more));
	KUNIT_EXPECT_EQ(test, 0, taken);
	evd.completion = NULL;
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

static void swap_ring_during_push_pop(struct kunit *test)
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
static void swap_ring_too_small(struct kunit *test)
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

/* Completions that each of two CQs still has */
static u32 num_left[2];

static int poll_two(struct ib_cq *polled, int num, struct ib_wc *wc)
{
	u32 *left = &num_left[polled != &cq];
	u32 took = min_t(u32, num, *left);

	fake.polls++;
	*left -= took;
	return took;
}

/* No CQ is polled for more than a batch while another has completions. */
static void polls_go_round_the_cqs(struct kunit *test)
{
	struct ib_cq other = { .device = &fake.ibdev };
	struct dat_cq second = { .cq = &other };
	unsigned int i;

	list_add_tail(&second.node, &evd.cqs);
	evd.num_cqs = 2;
	evd.cq = &evd_cq;
	fake.ibdev.ops.poll_cq = poll_two;
	num_left[0] = 100;
	num_left[1] = 20;
	for (i = 0; i < DAT_EVD_BATCH; i++)
		KUNIT_EXPECT_EQ(test, 1, cq_poll(&evd, 1));
	KUNIT_EXPECT_EQ(test, 84, num_left[0]);
	KUNIT_EXPECT_EQ(test, DAT_EVD_BATCH, cq_poll(&evd, DAT_EVD_BATCH));
	KUNIT_EXPECT_EQ(test, 4, num_left[1]);
	KUNIT_EXPECT_EQ(test, DAT_EVD_BATCH, cq_poll(&evd, DAT_EVD_BATCH));
	KUNIT_EXPECT_EQ(test, 68, num_left[0]);
	KUNIT_EXPECT_EQ(test, 4, cq_poll(&evd, DAT_EVD_BATCH));
	/* An empty one gives way at once. */
	KUNIT_EXPECT_EQ(test, DAT_EVD_BATCH, cq_poll(&evd, DAT_EVD_BATCH));
	KUNIT_EXPECT_EQ(test, 52, num_left[0]);
	num_left[0] = 0;
	fake.polls = 0;
	KUNIT_EXPECT_EQ(test, 0, cq_poll(&evd, 1));
	KUNIT_EXPECT_EQ(test, 2, fake.polls);
}

static struct kunit_case evd_queue_cases[] = {
	KUNIT_CASE(polls_go_round_the_cqs),
	KUNIT_CASE(swap_ring_during_push_pop),
	KUNIT_CASE(swap_ring_too_small),
	KUNIT_CASE(upcalls_poll_cq_once),
	KUNIT_CASE(completion_function_keeps_order),
	KUNIT_CASE(look_again_finds_completion),
	KUNIT_CASE(upcall_batch_before_cq),
	KUNIT_CASE(upcall_batch_dropped_with_cq),
	KUNIT_CASE(pop_empty_ring),
	KUNIT_CASE(ring_holds_all_entries),
	KUNIT_CASE(ring_order_counter_wrap),
	KUNIT_CASE(overflow_reported_once),
	KUNIT_CASE(full_at_queue_length),
	KUNIT_CASE(post_kicks_upcalls),
	KUNIT_CASE(ring_before_cq),
	KUNIT_CASE(full_ring_leaves_cq),
	KUNIT_CASE(drain_empties_cq),
	KUNIT_CASE(upcall_policy_disable),
	KUNIT_CASE(upcall_more_flag),
	KUNIT_CASE(unsignalled_waits_for_signalled),
	KUNIT_CASE(ring_full_of_unsignalled),
	KUNIT_CASE(unsignalled_delivered_on_request),
	{}
};

static struct kunit_suite evd_queue_suite = {
	.name = "kdapl_evd_queue",
	.init = evd_queue_test_init,
	.exit = evd_queue_test_exit,
	.test_cases = evd_queue_cases,
};

kunit_test_suite(evd_queue_suite);

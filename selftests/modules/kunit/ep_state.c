// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_state.c - states of an EP
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../kdapl/ep/ep_state.c"

/* The last two states are for EPs with several paths, which kdapl does not support. */
#define NUM_STATES	(DAT_EP_STATE_COMPLETION_PENDING + 1)

static struct dat_ep ep;
static int notified;

static void count_notify(struct work_struct *work)
{
	notified++;
}

static int ep_state_test_init(struct kunit *test)
{
	fake_reset();
	notified = 0;
	memset(&ep, 0, sizeof(ep));
	spin_lock_init(&ep.state_lock);
	INIT_DELAYED_WORK(&ep.notify_work, count_notify);
	ep.obj.owner = &fake_owner;
	return 0;
}

static void heard_allows_answer(struct kunit *test)
{
	unsigned int state;

	for (state = 0; state < NUM_STATES; state++) {
		bool pending = state == DAT_EP_STATE_COMPLETION_PENDING;

		ep.state = state;
		notified = 0;
		KUNIT_EXPECT_FALSE(test, dat_ep_may_answer(&ep, state));
		dat_ep_heard(&ep.obj);
		flush_delayed_work(&ep.notify_work);
		dat_ep_heard(&ep.obj);
		flush_delayed_work(&ep.notify_work);
		KUNIT_EXPECT_EQ(test, pending, notified);
		KUNIT_EXPECT_EQ(test, pending, dat_ep_may_answer(&ep, state));
		/* The EP is CONNECTED when the transport has reported it. */
		KUNIT_EXPECT_EQ(test, state, ep.state);
		ep.heard = false;
	}
}

/* The target state varies with the mask, so that every pair of states is tested. */
static void move_only_from_mask(struct kunit *test)
{
	unsigned int from, mask, to;

	for (from = 0; from < NUM_STATES; from++) {
		for (mask = 0; mask < BIT(NUM_STATES); mask++) {
			bool expected = mask >> from & 1;

			to = (from + mask) % NUM_STATES;
			ep.state = from;
			KUNIT_ASSERT_EQ(test, expected,
					dat_ep_move(&ep, mask, to));
			KUNIT_ASSERT_EQ(test, expected ? to : from, ep.state);
		}
	}
}

static void move_every_state_pair(struct kunit *test)
{
	unsigned int from, to;

	for (from = 0; from < NUM_STATES; from++) {
		for (to = 0; to < NUM_STATES; to++) {
			ep.state = from;
			KUNIT_ASSERT_TRUE(test, dat_ep_move(&ep, BIT(from), to));
			KUNIT_ASSERT_EQ(test, to, dat_ep_state(&ep));
			ep.state = from;
			KUNIT_ASSERT_FALSE(test,
					   dat_ep_move(&ep, ~BIT(from), to));
			KUNIT_ASSERT_EQ(test, from, dat_ep_state(&ep));
		}
	}
}

static void move_mask_of_two_states(struct kunit *test)
{
	unsigned int mask = EP_IN(CONNECTED) | EP_IN(DISCONNECT_PENDING);

	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
	KUNIT_EXPECT_TRUE(test,
			  dat_ep_move(&ep, mask, DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_FALSE(test,
			   dat_ep_move(&ep, mask, DAT_EP_STATE_CONNECTED));
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED, dat_ep_state(&ep));
}

/* Literal numbers, as a consumer compares them: names would repeat the code's table. */
static const u32 errors[] = {
	[DAT_EP_STATE_UNCONNECTED]			= 0x8007002f,
	[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING]	= 0x80070030,
	[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING]	= 0x80070031,
	[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING]	= 0x80070032,
	[DAT_EP_STATE_CONNECTED]			= 0x80070033,
	[DAT_EP_STATE_DISCONNECTED]			= 0x80070034,
	[DAT_EP_STATE_RESERVED]				= 0x80070035,
	[DAT_EP_STATE_COMPLETION_PENDING]		= 0x80070036,
	[DAT_EP_STATE_DISCONNECT_PENDING]		= 0x80070037,
	[DAT_EP_STATE_UNCONFIGURED_UNCONNECTED]		= 0x8007003f,
	[DAT_EP_STATE_UNCONFIGURED_RESERVED]		= 0x80070040,
	[DAT_EP_STATE_UNCONFIGURED_PASSIVE]		= 0x80070041,
	[DAT_EP_STATE_UNCONFIGURED_TENTATIVE]		= 0x80070042,
};

static void state_error_values(struct kunit *test)
{
	unsigned int state;

	KUNIT_ASSERT_EQ(test, NUM_STATES, ARRAY_SIZE(errors));
	KUNIT_ASSERT_EQ(test, NUM_STATES, ARRAY_SIZE(state_subtype));
	for (state = 0; state < NUM_STATES; state++)
		KUNIT_EXPECT_EQ_MSG(test, errors[state],
				    dat_ep_state_error(state), "state %u",
				    state);
}

static struct kunit_case ep_state_cases[] = {
	KUNIT_CASE(heard_allows_answer),
	KUNIT_CASE(move_only_from_mask),
	KUNIT_CASE(move_every_state_pair),
	KUNIT_CASE(move_mask_of_two_states),
	KUNIT_CASE(state_error_values),
	{}
};

static struct kunit_suite ep_state_suite = {
	.name = "kdapl_ep_state",
	.init = ep_state_test_init,
	.test_cases = ep_state_cases,
};

kunit_test_suite(ep_state_suite);

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * connect.c - how an EP handles the messages of its peer, in any order
 *
 * ib_cm can deliver messages out of order if it handles them on two processors. A test
 * with real devices cannot force that.
 */
#include <kunit/test.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "fake.h"

/* Counts disconnects; there is no real connection. */
static unsigned int leaves;

static int fake_leave(struct rdma_cm_id *id)
{
	leaves++;
	return 0;
}

#define rdma_disconnect		fake_leave

#include "../../../kdapl/cm/connect.c"

static struct dat_ep *ep;
static struct rdma_cm_id *id;

static int connect_test_init(struct kunit *test)
{
	fake_reset();
	leaves = 0;
	ep = kunit_kzalloc(test, sizeof(*ep), GFP_KERNEL);
	id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	if (!ep || !id)
		return -ENOMEM;
	spin_lock_init(&ep->state_lock);
	init_waitqueue_head(&ep->idle_wq);
	INIT_DELAYED_WORK(&ep->timeout_work, NULL);
	return 0;
}

static void happens(enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = { .event = type };

	connect_event(ep, id, &event);
}

static void expect_events(struct kunit *test, DAT_EVENT_NUMBER first,
			  DAT_EVENT_NUMBER second)
{
	KUNIT_ASSERT_EQ(test, second ? 2 : 1, fake.num_events);
	KUNIT_EXPECT_EQ(test, first, fake.events[0]);
	KUNIT_EXPECT_EQ(test, second, fake.events[1]);
}

static void unreachable_when_connected(struct kunit *test)
{
	/* As a change of the peer's hardware address reports it */
	ep->state = DAT_EP_STATE_CONNECTED;
	ep->linger_owed = true;
	happens(RDMA_CM_EVENT_UNREACHABLE);
	KUNIT_EXPECT_TRUE(test, ep->linger_owed);
	KUNIT_EXPECT_EQ(test, 0, fake.num_events);
	happens(RDMA_CM_EVENT_DISCONNECTED);
	KUNIT_EXPECT_FALSE(test, ep->linger_owed);
}

static void accept_established(struct kunit *test)
{
	ep->passive = true;
	ep->state = DAT_EP_STATE_COMPLETION_PENDING;
	happens(RDMA_CM_EVENT_ESTABLISHED);
	expect_events(test, DAT_CONNECTION_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_CONNECTED, dat_ep_state(ep));
}

/* A peer disconnects only when connected, so ESTABLISHED is reported before. */
static void disconnect_before_established(struct kunit *test)
{
	ep->passive = true;
	ep->state = DAT_EP_STATE_COMPLETION_PENDING;
	happens(RDMA_CM_EVENT_DISCONNECTED);
	expect_events(test, DAT_CONNECTION_EVENT_ESTABLISHED,
		      DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED, dat_ep_state(ep));
	KUNIT_EXPECT_EQ(test, 1, leaves);
}

static void unreachable_fails_accept(struct kunit *test)
{
	ep->passive = true;
	ep->state = DAT_EP_STATE_COMPLETION_PENDING;
	happens(RDMA_CM_EVENT_UNREACHABLE);
	expect_events(test, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, 0);
	KUNIT_EXPECT_EQ(test, DAT_EP_STATE_DISCONNECTED, dat_ep_state(ep));
}

static void disconnect_reported_once(struct kunit *test)
{
	ep->state = DAT_EP_STATE_CONNECTED;
	happens(RDMA_CM_EVENT_DISCONNECTED);
	happens(RDMA_CM_EVENT_DISCONNECTED);
	expect_events(test, DAT_CONNECTION_EVENT_DISCONNECTED, 0);
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(unreachable_when_connected),
	KUNIT_CASE(accept_established),
	KUNIT_CASE(disconnect_before_established),
	KUNIT_CASE(unreachable_fails_accept),
	KUNIT_CASE(disconnect_reported_once),
	{}
};

static struct kunit_suite connect_suite = {
	.name = "kdapl_connect",
	.init = connect_test_init,
	.test_cases = connect_cases,
};

kunit_test_suite(connect_suite);

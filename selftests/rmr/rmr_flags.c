// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_flags.c - dat_rmr_bind(3DAT): its completion flags
 */
#include "harness.h"

#include "pair.h"
#include "software_event.h"

#define REGION		65536
#define RW		(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* How long a waiter is given to be woken by what must not wake it. */
#define SILENCE		(300 * 1000)

FIXTURE(rmr_flags)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
};

FIXTURE_SETUP(rmr_flags)
{
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &self->rmr));
}

FIXTURE_TEARDOWN(rmr_flags)
{
	pair_close(&self->pair);
}

/* New EPs with other request completion flags, connected. */
static DAT_RETURN reconnect_with(struct pair *pair, DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.request_completion_flags = flags,
	};
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	ret = dat_evd_create(pair->ia, 64, DAT_HANDLE_NULL,
			     DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &evd);
	if (!ret)
		ret = dat_ep_free(pair->b.ep);
	if (!ret)
		ret = dat_ep_create(pair->ia, pair->b.pz, evd, evd,
				    pair->b.conn_evd, &attr, &pair->b.ep);
	pair->b.dto_evd = evd;
	if (!ret)
		ret = wait_number(pair->a.conn_evd,
				  DAT_CONNECTION_EVENT_DISCONNECTED);
	if (!ret)
		ret = dat_ep_free(pair->a.ep);
	if (!ret)
		ret = dat_ep_create(pair->ia, pair->a.pz, pair->a.dto_evd,
				    pair->a.dto_evd, pair->a.conn_evd, NULL,
				    &pair->a.ep);
	return ret ?: pair_connect(pair);
}

TEST_F(rmr_flags, suppressed_success_no_event)
{
	DAT_EVENT event;

	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, 1, DAT_COMPLETION_SUPPRESS_FLAG,
			       &self->context));
	ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 0, 8, 2));
	ASSERT_DAT(post_send(self->pair.b.ep, &self->b, 0, 8, 3));
	/* The send completes after the bind, so it would come second. */
	ASSERT_DAT(wait_for(self->pair.b.dto_evd, DAT_DTO_COMPLETION_EVENT,
			    &event));
	EXPECT_EQ(3, event.event_data.dto_completion_event_data
			     .user_cookie.as_64);
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->pair.b.dto_evd, &event));
	/* It was carried out all the same. */
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, self->context,
			       self->b.buf, 4096));
}

TEST_F(rmr_flags, suppressed_binds_free_queue_entries)
{
	unsigned int i;

	for (i = 0; i < 300; i++) {
		DAT_RETURN ret;

		/* The one before may be under way still. */
		do {
			ret = bind_window(self->rmr, &self->b, i, 4096, RW,
					  self->pair.b.ep, 1,
					  DAT_COMPLETION_SUPPRESS_FLAG,
					  &self->context);
		} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
		ASSERT_EQ(DAT_SUCCESS, ret) {
			TH_LOG("bind %u", i);
		}
	}
	EXPECT_DAT(bind_window(self->rmr, &self->b, 0, 0, RW, self->pair.b.ep,
			       2, DAT_COMPLETION_DEFAULT_FLAG, &self->context));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.b.dto_evd, 2));
}

TEST_F(rmr_flags, suppressed_failure_reported)
{
	DAT_EVENT event;

	ASSERT_DAT(dat_ep_disconnect(self->pair.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_number(self->pair.b.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, 1, DAT_COMPLETION_SUPPRESS_FLAG,
			       &self->context));
	ASSERT_DAT(wait_for(self->pair.b.dto_evd, DAT_RMR_BIND_COMPLETION_EVENT,
			    &event));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
		  event.event_data.rmr_completion_event_data.status);
}

TEST_F(rmr_flags, default_flag_wakes_waiter)
{
	struct evd_waiter w = {
		.evd = self->pair.b.dto_evd,
		.timeout = PAIR_TIMEOUT,
		.threshold = 1,
	};

	evd_waiter_start(&w);
	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, 1, DAT_COMPLETION_DEFAULT_FLAG,
			       &self->context));
	evd_waiter_end(&w);
	ASSERT_DAT(w.ret);
	EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, w.event.event_number);
}

TEST_F(rmr_flags, unsignalled_does_not_wake_waiter)
{
	struct evd_waiter w = {
		.evd = self->pair.b.dto_evd,
		.timeout = SILENCE,
		.threshold = 1,
	};
	DAT_EVENT event;

	evd_waiter_start(&w);
	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, 1,
			       DAT_COMPLETION_UNSIGNALLED_FLAG,
			       &self->context));
	evd_waiter_end(&w);
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED, w.ret);
	/* It is an event none the less, and the window is open. */
	ASSERT_DAT(dat_evd_dequeue(self->pair.b.dto_evd, &event));
	EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
	EXPECT_EQ(1, event.event_data.rmr_completion_event_data
			     .user_cookie.as_64);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, self->context,
			       self->b.buf, 4096));
}

TEST_F(rmr_flags, unsignalled_event_in_later_wait)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_EVENT event;
	DAT_COUNT nmore;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		ASSERT_DAT(bind_window(self->rmr, &self->b, i, 4096, RW,
				       self->pair.b.ep, i,
				       DAT_COMPLETION_UNSIGNALLED_FLAG,
				       &self->context));
		/* By its own account it has completed, so there is an event. */
		do {
			ASSERT_DAT(dat_ep_get_status(self->pair.b.ep, &state,
						     &recv_idle,
						     &request_idle));
		} while (!request_idle);
		ASSERT_EQ(DAT_SUCCESS, dat_evd_wait(self->pair.b.dto_evd, 0, 1,
						    &event, &nmore)) {
			TH_LOG("bind %u", i);
		}
		EXPECT_EQ(i, event.event_data.rmr_completion_event_data
				     .user_cookie.as_64);
	}
}

TEST_F(rmr_flags, unsignalled_event_dequeued)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		ASSERT_DAT(bind_window(self->rmr, &self->b, i, 4096, RW,
				       self->pair.b.ep, i,
				       DAT_COMPLETION_UNSIGNALLED_FLAG,
				       &self->context));
		do {
			ASSERT_DAT(dat_ep_get_status(self->pair.b.ep, &state,
						     &recv_idle,
						     &request_idle));
		} while (!request_idle);
		ASSERT_EQ(DAT_SUCCESS,
			  dat_evd_dequeue(self->pair.b.dto_evd, &event)) {
			TH_LOG("bind %u", i);
		}
		EXPECT_EQ(i, event.event_data.rmr_completion_event_data
				     .user_cookie.as_64);
	}
}

TEST_F(rmr_flags, notification_after_unsignalled)
{
	struct evd_waiter w = {
		.evd = self->pair.b.dto_evd,
		.timeout = PAIR_TIMEOUT,
		.threshold = 1,
	};
	DAT_EVENT event;
	unsigned int i;

	evd_waiter_start(&w);
	for (i = 0; i < 3; i++) {
		DAT_RETURN ret;

		do {
			ret = bind_window(self->rmr, &self->b, i, 4096, RW,
					  self->pair.b.ep, i, i < 2 ?
					  DAT_COMPLETION_UNSIGNALLED_FLAG :
					  DAT_COMPLETION_DEFAULT_FLAG,
					  &self->context);
		} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
		ASSERT_DAT(ret);
	}
	evd_waiter_end(&w);
	ASSERT_DAT(w.ret);
	/* In the order posted, whoever was notified. */
	EXPECT_EQ(0, w.event.event_data.rmr_completion_event_data
			     .user_cookie.as_64);
	for (i = 1; i < 3; i++) {
		ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
		EXPECT_EQ(i, event.event_data.rmr_completion_event_data
				     .user_cookie.as_64);
	}
}

TEST_F(rmr_flags, unsignalled_without_ep_flag)
{
	ASSERT_DAT(reconnect_with(&self->pair, DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			bind_window(self->rmr, &self->b, 0, 4096, RW,
				    self->pair.b.ep, 1,
				    DAT_COMPLETION_UNSIGNALLED_FLAG,
				    &self->context));
	/* Nothing came of it. */
	EXPECT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, 2, DAT_COMPLETION_DEFAULT_FLAG,
			       &self->context));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.b.dto_evd, 2));
}

TEST_F(rmr_flags, suppress_fence_without_ep_flag)
{
	ASSERT_DAT(reconnect_with(&self->pair, DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, 1,
			       DAT_COMPLETION_SUPPRESS_FLAG |
				       DAT_COMPLETION_BARRIER_FENCE_FLAG,
			       &self->context));
}

TEST_F(rmr_flags, barrier_fence_waits_for_reads)
{
	DAT_EVENT event;
	unsigned int i;

	memset(self->a.buf, 0xaa, REGION);
	/* All of max_rdma_read_out, and as large as the region allows. */
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(post_read(self->pair.b.ep, &self->b, i * 16384,
				     16384, self->a.rmr_context,
				     self->a.buf + i * 16384, i));
	}
	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, i,
			       DAT_COMPLETION_BARRIER_FENCE_FLAG,
			       &self->context));
	for (i = 0; i < 5; i++) {
		ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
		EXPECT_EQ(i == 4 ? DAT_RMR_BIND_COMPLETION_EVENT :
				   DAT_DTO_COMPLETION_EVENT,
			  event.event_number);
		EXPECT_EQ(DAT_DTO_SUCCESS,
			  event.event_data.rmr_completion_event_data.status);
	}
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, REGION));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, self->context,
			       self->b.buf, 4096));
}

TEST(flag_values)
{
	EXPECT_EQ(0x00, DAT_COMPLETION_DEFAULT_FLAG);
	EXPECT_EQ(0x01, DAT_COMPLETION_SUPPRESS_FLAG);
	EXPECT_EQ(0x04, DAT_COMPLETION_UNSIGNALLED_FLAG);
	EXPECT_EQ(0x08, DAT_COMPLETION_BARRIER_FENCE_FLAG);
}

TEST_F(rmr_flags, unknown_flags_rejected)
{
	static const unsigned int flags[] = {
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		0x20, 0x40, 0x80, 1U << 16, 1U << 31, ~0U,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		EXPECT_EQ(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER |
				  DAT_INVALID_ARG6,
			  bind_window(self->rmr, &self->b, 0, 4096, RW,
				      self->pair.b.ep, 1, flags[i],
				      &self->context)) {
			TH_LOG("flags %#x", flags[i]);
		}
	}
}

TEST_HARNESS_MAIN

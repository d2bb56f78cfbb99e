// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_take.c - dat_evd_wait(3DAT), dat_evd_dequeue(3DAT): who takes events
 */
#include "harness.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "pair.h"

#define QLEN		128
#define THREADS		4
#define EVENTS		2000

/* In microseconds: what must not happen is given this long to happen. */
#define SILENCE		(500 * 1000)

/* Side a's completions go to @evd. */
FIXTURE(take)
{
	struct pair pair;
	struct region a, b;
	DAT_EVD_HANDLE evd;
};

static DAT_RETURN make_ep(struct pair *pair, DAT_EVD_HANDLE evd,
			  DAT_COMPLETION_FLAGS recv_flags, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = recv_flags,
		.max_request_dtos = 32,
	};

	return dat_ep_create(pair->ia, pair->a.pz, evd, evd, pair->a.conn_evd,
			     &attr, ep);
}

FIXTURE_SETUP(take)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_evd_create(pair->ia, QLEN, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &self->evd));
	ASSERT_DAT(dat_ep_free(pair->a.ep));
	ASSERT_DAT(make_ep(pair, self->evd, 0, &pair->a.ep));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, 4096,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(take)
{
	pair_close(&self->pair);
}

/* Makes one event with this cookie on side a's EVD. */
static DAT_RETURN make_event(FIXTURE_DATA(take) *self, DAT_UINT64 cookie)
{
	return post_write(self->pair.a.ep, &self->a, 0, 8,
			  self->b.rmr_context, self->b.buf, cookie);
}

static DAT_UINT64 cookie_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

struct waiter {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->ret = dat_evd_wait(w->evd, DAT_TIMEOUT_INFINITE, 1, &w->event,
			      &w->nmore);
	return NULL;
}

static bool is_waited_for(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_INVALID_STATE;
}

TEST_F(take, infinite_timeout_waits_for_event)
{
	struct waiter w = { .evd = self->evd };

	ASSERT_EQ(0, pthread_create(&w.thread, NULL, waiter_main, &w));
	while (!is_waited_for(self->evd))
		sched_yield();
	usleep(SILENCE);
	EXPECT_TRUE(is_waited_for(self->evd));
	ASSERT_DAT(make_event(self, 7));
	pthread_join(w.thread, NULL);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(7, cookie_of(&w.event));
	EXPECT_EQ(0, w.nmore);
}

TEST_F(take, event_fields_filled_in)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i;

	for (i = 0; i < 2; i++) {
		memset(&event, 0xff, sizeof(event));
		d = &event.event_data.dto_completion_event_data;
		ASSERT_DAT(make_event(self, i));
		if (i)
			while (dat_evd_dequeue(self->evd, &event))
				sched_yield();
		else
			ASSERT_DAT(dat_evd_wait(self->evd, PAIR_TIMEOUT, 1,
						&event, &nmore));
		EXPECT_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
		EXPECT_EQ(self->evd, event.evd_handle);
		EXPECT_EQ(self->pair.a.ep, d->ep_handle);
		EXPECT_EQ(i, d->user_cookie.as_64);
		EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
		EXPECT_EQ(8, d->transfered_length);
	}
}

/*
 * Who finds an EVD empty does not lock it. Neither may that miss an event, nor look
 * at what is not there any more.
 */
#define ROUNDS	100

struct poller {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	unsigned int found;
	DAT_RETURN ret;
};

static void *poller_main(void *arg)
{
	struct poller *poller = arg;
	DAT_EVENT event;

	do {
		poller->ret = dat_evd_dequeue(poller->evd, &event);
		if (poller->ret == DAT_SUCCESS)
			__atomic_fetch_add(&poller->found, 1,
					   __ATOMIC_RELAXED);
	} while (poller->ret == DAT_SUCCESS ||
		 DAT_GET_TYPE(poller->ret) == DAT_QUEUE_EMPTY);
	return NULL;
}

TEST_F(take, dequeue_races_resize_and_free)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct poller pollers[2];
	unsigned int round, i;

	for (round = 0; round < ROUNDS; round++) {
		DAT_EVD_HANDLE evd;

		ASSERT_DAT(dat_evd_create(self->pair.ia, 8, DAT_HANDLE_NULL,
					  DAT_EVD_SOFTWARE_FLAG, &evd));
		for (i = 0; i < ARRAY_LEN(pollers); i++) {
			pollers[i] = (struct poller){ .evd = evd };
			ASSERT_EQ(0, pthread_create(&pollers[i].thread, NULL,
						    poller_main, &pollers[i]));
		}
		for (i = 0; i < 4; i++) {
			EXPECT_DAT(dat_evd_post_se(evd, &event));
			EXPECT_DAT(dat_evd_resize(evd, i % 2 ? 8 : 2000));
		}
		/* What is in it when it is freed is lost. */
		while (__atomic_load_n(&pollers[0].found, __ATOMIC_RELAXED) +
		       __atomic_load_n(&pollers[1].found, __ATOMIC_RELAXED) < 4)
			sched_yield();
		EXPECT_DAT(dat_evd_free(evd));
		for (i = 0; i < ARRAY_LEN(pollers); i++) {
			pthread_join(pollers[i].thread, NULL);
			EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, pollers[i].ret);
		}
		EXPECT_EQ(4, pollers[0].found + pollers[1].found);
	}
}

TEST_F(take, wait_threshold_unsignalled_recvs)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT nmore;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	ASSERT_DAT(dat_evd_create(self->pair.ia, QLEN, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &evd));
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(evd, 0, 2, &event, &nmore));
	ASSERT_DAT(make_ep(&self->pair, evd, DAT_COMPLETION_UNSIGNALLED_FLAG,
			   &ep));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			dat_evd_wait(evd, 0, 2, &event, &nmore));
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(evd, 0, 1, &event, &nmore));
}

static struct {
	DAT_EVD_HANDLE evd;
	atomic_uint taken[EVENTS];
	atomic_uint total;
	atomic_uint wrong;
} shared;

/* Half of them wait, which only one can do at a time. */
static void *taker_main(void *arg)
{
	bool waits = arg;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_UINT64 i;

	while (atomic_load(&shared.total) < EVENTS) {
		DAT_RETURN ret = waits ? dat_evd_wait(shared.evd, 1000, 1,
						      &event, &nmore) :
					 dat_evd_dequeue(shared.evd, &event);

		switch (DAT_GET_TYPE(ret)) {
		case DAT_SUCCESS:
			i = cookie_of(&event);
			if (i >= EVENTS)
				atomic_fetch_add(&shared.wrong, 1);
			else
				atomic_fetch_add(&shared.taken[i], 1);
			atomic_fetch_add(&shared.total, 1);
			break;
		case DAT_QUEUE_EMPTY:
		case DAT_TIMEOUT_EXPIRED:
		case DAT_INVALID_STATE:
			sched_yield();
			break;
		default:
			atomic_fetch_add(&shared.wrong, 1);
			return NULL;
		}
	}
	return NULL;
}

TEST_F(take, event_taken_by_one_thread)
{
	pthread_t thread[THREADS];
	DAT_UINT64 i;

	shared.evd = self->evd;
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, taker_main,
					    (void *)(uintptr_t)(i % 2)));
	}
	for (i = 0; i < EVENTS; i++) {
		DAT_RETURN ret;

		/* No more at a time than the EVD has room for. */
		while (i - atomic_load(&shared.total) >= QLEN / 2)
			sched_yield();
		do
			ret = make_event(self, i);
		while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
		ASSERT_DAT(ret);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, atomic_load(&shared.wrong));
	EXPECT_EQ(EVENTS, atomic_load(&shared.total));
	for (i = 0; i < EVENTS; i++)
		ASSERT_EQ(1, atomic_load(&shared.taken[i]));
}

/* Freeing an EVD does nothing to what once fed it. */
TEST_F(take, request_outlives_evd)
{
	struct pair *pair = &self->pair;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	ASSERT_DAT(make_ep(pair, self->evd, 0, &ep));
	ASSERT_DAT(connect_to(pair, ep, pair->qual));
	ASSERT_DAT(wait_event(pair->cr_evd, &event));
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ASSERT_DAT(dat_psp_free(pair->psp));
	ASSERT_DAT(dat_evd_free(pair->cr_evd));
	EXPECT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	EXPECT_DAT(dat_cr_reject(cr));
	EXPECT_DAT(wait_number(pair->a.conn_evd,
			       DAT_CONNECTION_EVENT_PEER_REJECTED));
}

TEST_HARNESS_MAIN

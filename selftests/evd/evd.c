// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd.c - dat_evd_wait(3DAT), dat_evd_dequeue(3DAT): events, waiters, overflow
 */
#include <errno.h>
#include "harness.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "link.h"
#include "pair.h"

#define REGION		4096
#define QLEN		8

/* In microseconds: what must not happen is given this long to happen. */
#define SILENCE		(100 * 1000)
/* And this much later than it should may something come. */
#define LATE		(1000 * 1000)

/*
 * Side a's completions go to @evd. Its EP is without suppression of
 * notification, with which only a threshold of 1 is allowed.
 */
FIXTURE(evd)
{
	struct pair pair;
	struct region a, b;
	DAT_EVD_HANDLE evd;
};

FIXTURE_SETUP(evd)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 4,
		.max_request_dtos = 32,
	};
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_evd_create(pair->ia, QLEN, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				  &self->evd));
	ASSERT_DAT(dat_ep_free(pair->a.ep));
	ASSERT_DAT(dat_ep_create(pair->ia, pair->a.pz, self->evd, self->evd,
				 pair->a.conn_evd, &attr, &pair->a.ep));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(evd)
{
	pair_close(&self->pair);
}

/* Makes one event with this cookie on side a's EVD. */
static DAT_RETURN make_event(FIXTURE_DATA(evd) *self, DAT_UINT64 cookie)
{
	return post_write(self->pair.a.ep, &self->a, 0, 8,
			  self->b.rmr_context, self->b.buf, cookie);
}

/* Returns when there are @count events, taking none. */
static DAT_RETURN await_count(DAT_EVD_HANDLE evd, DAT_COUNT count)
{
	time_t give_up = time(NULL) + 10;
	DAT_COUNT nmore = 0;
	DAT_EVENT event;

	/* More than can come, so that none is taken. */
	while (nmore < count && time(NULL) < give_up)
		dat_evd_wait(evd, 1000, QLEN, &event, &nmore);
	return nmore == count ? DAT_SUCCESS : DAT_INTERNAL_ERROR;
}

static DAT_UINT64 cookie_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

static long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

struct waiter {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->nmore = -1;
	w->ret = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event,
			      &w->nmore);
	return NULL;
}

static bool is_waited_for(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_INVALID_STATE;
}

/* Returns when the thread waits on the EVD, which has been empty. */
static void waiter_start(struct waiter *w)
{
	pthread_create(&w->thread, NULL, waiter_main, w);
	while (!is_waited_for(w->evd))
		sched_yield();
}

TEST_F(evd, dequeue_empty_evd)
{
	DAT_EVENT event;

	EXPECT_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(self->evd, &event));
	ASSERT_DAT(make_event(self, 1));
	ASSERT_DAT(await_count(self->evd, 1));
	EXPECT_DAT(dat_evd_dequeue(self->evd, &event));
	EXPECT_EQ(1, cookie_of(&event));
	EXPECT_EQ(self->evd, event.evd_handle);
	EXPECT_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(self->evd, &event));
}

TEST_F(evd, wait_threshold_returns_first)
{
	DAT_COUNT n;

	for (n = 1; n <= QLEN; n++) {
		struct waiter w = {
			.evd = self->evd, .threshold = n,
			.timeout = PAIR_TIMEOUT,
		};
		DAT_EVENT event;
		DAT_COUNT i;

		waiter_start(&w);
		for (i = 0; i < n - 1; i++) {
			ASSERT_DAT(make_event(self, i));
		}
		/* One is missing: it waits. */
		usleep(SILENCE / QLEN);
		EXPECT_TRUE(is_waited_for(self->evd));
		ASSERT_DAT(make_event(self, n - 1));
		pthread_join(w.thread, NULL);
		ASSERT_DAT(w.ret);
		EXPECT_EQ(0, cookie_of(&w.event));
		EXPECT_EQ(n - 1, w.nmore);
		for (i = 1; i < n; i++) {
			ASSERT_DAT(dat_evd_dequeue(self->evd, &event));
			EXPECT_EQ(i, cookie_of(&event));
		}
	}
}

TEST_F(evd, wait_nmore_counts_remaining)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_DAT(make_event(self, i));
	}
	ASSERT_DAT(await_count(self->evd, 5));
	for (i = 0; i < 5; i++) {
		ASSERT_DAT(dat_evd_wait(self->evd, 0, 1, &event, &nmore));
		EXPECT_EQ(i, cookie_of(&event));
		EXPECT_EQ(4 - i, nmore);
	}
}

TEST_F(evd, wait_bad_threshold)
{
	static const DAT_COUNT bad[] = { 0, -1, INT32_MIN, QLEN + 1, INT32_MAX };
	DAT_EVENT event;
	DAT_COUNT nmore;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			  dat_evd_wait(self->evd, 0, bad[i], &event, &nmore)) {
			TH_LOG("threshold %d", bad[i]);
		}
	}
	/* An event that is there makes no difference. */
	ASSERT_DAT(make_event(self, 1));
	ASSERT_DAT(await_count(self->evd, 1));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       dat_evd_wait(self->evd, 0, bad[i], &event,
					    &nmore));
	}
}

/* The ring behind it has a power of two of entries, which is another matter. */
TEST_F(evd, wait_threshold_non_pow2_qlen)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i;

	ASSERT_DAT(dat_evd_create(self->pair.ia, 5, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &evd));
	ASSERT_DAT(dat_ep_free(self->pair.a.ep));
	ASSERT_DAT(dat_ep_create(self->pair.ia, self->pair.a.pz, evd, evd,
				 self->pair.a.conn_evd, NULL,
				 &self->pair.a.ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_evd_wait(evd, 0, 6, &event, &nmore));
	/* Nor if so many have come, of which the ring takes 8. */
	ASSERT_DAT(wait_number(self->pair.b.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(dat_ep_free(self->pair.b.ep));
	ASSERT_DAT(dat_ep_create(self->pair.ia, self->pair.b.pz,
				 self->pair.b.dto_evd, self->pair.b.dto_evd,
				 self->pair.b.conn_evd, NULL,
				 &self->pair.b.ep));
	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < 6; i++) {
		ASSERT_DAT(make_event(self, i));
	}
	usleep(SILENCE);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_evd_wait(evd, 0, 6, &event, &nmore));
}

TEST_F(evd, wait_threshold_suppressing_ep)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	/* Side b's EP does, see side_open(). */
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, dat_evd_wait(self->pair.b.dto_evd, 0,
							2, &event, &nmore));
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(self->pair.b.dto_evd, 0, 1, &event,
				     &nmore));
}

TEST_F(evd, wait_threshold_after_ep_free)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	ASSERT_DAT(dat_ep_free(self->pair.b.ep));
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(self->pair.b.dto_evd, 0, 2, &event,
				     &nmore));
}

TEST_F(evd, null_pointers_invalid)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_evd_wait(self->evd, 0, 1, NULL, &nmore));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_evd_wait(self->evd, 0, 1, &event, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_evd_dequeue(self->evd, NULL));
}

TEST_F(evd, bad_handles_invalid)
{
	DAT_EVD_HANDLE bad[] = {
		DAT_HANDLE_NULL, self->pair.a.ep, self->pair.ia, &bad,
		(DAT_HANDLE)UINTPTR_MAX, (char *)self->evd + HIGH_BIT,
	};
	DAT_EVENT event;
	DAT_COUNT nmore;
	unsigned int i;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "libdat2 follows a handle to its provider");
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
				dat_evd_wait(bad[i], 0, 1, &event, &nmore));
		EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
				dat_evd_dequeue(bad[i], &event));
		EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_evd_free(bad[i]));
	}
}

TEST_F(evd, wait_timeout_microseconds)
{
	static const DAT_TIMEOUT timeouts[] = { 1500, 20000, 100000 };
	DAT_EVENT event;
	DAT_COUNT nmore;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(timeouts); i++) {
		long start = now_us(), took;

		EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
				dat_evd_wait(self->evd, timeouts[i], 1, &event,
					     &nmore));
		took = now_us() - start;
		EXPECT_GE(took, timeouts[i]);
		EXPECT_LT(took, timeouts[i] + LATE);
	}
}

TEST_F(evd, wait_timeout_zero)
{
	DAT_COUNT nmore = -1;
	DAT_EVENT event;
	long start;

	start = now_us();
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	EXPECT_LT(now_us() - start, LATE);
	EXPECT_EQ(0, nmore);
	ASSERT_DAT(make_event(self, 1));
	ASSERT_DAT(await_count(self->evd, 1));
	EXPECT_DAT(dat_evd_wait(self->evd, 0, 1, &event, &nmore));
}

TEST_F(evd, wait_timeout_keeps_events)
{
	DAT_COUNT nmore = -1;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(make_event(self, 0));
	ASSERT_DAT(make_event(self, 1));
	ASSERT_DAT(await_count(self->evd, 2));
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(self->evd, 10000, 3, &event, &nmore));
	EXPECT_EQ(2, nmore);
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(dat_evd_dequeue(self->evd, &event));
		EXPECT_EQ(i, cookie_of(&event));
	}
}

TEST_F(evd, waiter_excludes_wait_and_dequeue)
{
	struct waiter w = {
		.evd = self->evd, .threshold = 1, .timeout = PAIR_TIMEOUT,
	};
	DAT_EVENT event;
	DAT_COUNT nmore;

	waiter_start(&w);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
		       dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
		       dat_evd_dequeue(self->evd, &event));
	/* Another EVD is another matter. */
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->pair.b.dto_evd, &event));
	ASSERT_DAT(make_event(self, 1));
	pthread_join(w.thread, NULL);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(1, cookie_of(&w.event));
	/* It is anybody's again. */
	EXPECT_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(self->evd, &event));
}

static void on_signal(int signal __attribute__((unused)))
{
}

TEST_F(evd, signal_interrupts_wait)
{
	struct waiter w = {
		.evd = self->evd, .threshold = 2, .timeout = PAIR_TIMEOUT,
	};
	/* Even if it asks that system calls go on afterwards. */
	struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = SA_RESTART,
	};
	long start;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	waiter_start(&w);
	ASSERT_DAT(make_event(self, 1));
	usleep(SILENCE / 2);
	start = now_us();
	/* Again and again: it may not have been asleep the first time. */
	do {
		pthread_kill(w.thread, SIGUSR1);
		usleep(1000);
	} while (pthread_tryjoin_np(w.thread, NULL));
	EXPECT_LT(now_us() - start, LATE);
	EXPECT_DAT_TYPE(DAT_INTERRUPTED_CALL, w.ret);
	EXPECT_EQ(1, w.nmore);
	EXPECT_DAT(dat_evd_dequeue(self->evd, &w.event));
	EXPECT_EQ(1, cookie_of(&w.event));
}

TEST_F(evd, evd_free_aborts_wait)
{
	struct waiter w = { .threshold = 1, .timeout = PAIR_TIMEOUT };

	/* One that nothing feeds, for only that can be freed. */
	ASSERT_DAT(dat_evd_create(self->pair.ia, 4, DAT_HANDLE_NULL,
				  DAT_EVD_CONNECTION_FLAG, &w.evd));
	waiter_start(&w);
	/* It may be on its way only. */
	usleep(SILENCE / 2);
	EXPECT_DAT(dat_evd_free(w.evd));
	pthread_join(w.thread, NULL);
	EXPECT_DAT_TYPE(DAT_ABORT, w.ret);
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_evd_dequeue(w.evd, &w.event));
}

TEST_F(evd, ia_close_aborts_wait)
{
	struct waiter w = {
		.evd = self->evd, .threshold = 1, .timeout = PAIR_TIMEOUT,
	};

	waiter_start(&w);
	usleep(SILENCE / 2);
	EXPECT_DAT(dat_ia_close(self->pair.ia, DAT_CLOSE_ABRUPT_FLAG));
	self->pair.ia = DAT_HANDLE_NULL;
	pthread_join(w.thread, NULL);
	EXPECT_DAT_TYPE(DAT_ABORT, w.ret);
}

TEST_F(evd, evd_free_in_use)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
		       dat_evd_free(self->evd));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
		       dat_evd_free(self->pair.a.conn_evd));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
		       dat_evd_free(self->pair.cr_evd));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, dat_evd_free(self->pair.async_evd));
	ASSERT_DAT(dat_ep_free(self->pair.a.ep));
	EXPECT_DAT(dat_evd_free(self->evd));
}

TEST_F(evd, overflow_reports_async_event)
{
	DAT_EVENT event;
	int i;

	/* More than it and what is behind it can hold. */
	for (i = 0; i < 32; i++) {
		ASSERT_DAT(make_event(self, i));
	}
	ASSERT_DAT(wait_for(self->pair.async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW,
			    &event));
	EXPECT_EQ(self->evd,
		  event.event_data.asynch_error_event_data.dat_handle);
	EXPECT_EQ(DAT_EVD_OVERFLOW_ERROR,
		  event.event_data.asynch_error_event_data.reason);
	/* What came in time is there, in order: no less than asked for. */
	for (i = 0; i < QLEN; i++) {
		ASSERT_DAT(dat_evd_dequeue(self->evd, &event));
		EXPECT_EQ(i, cookie_of(&event));
	}
}

/* What is lost is lost, but it must not hold anything up. */
TEST_F(evd, ep_free_after_overflow)
{
	DAT_EVENT event;
	long start;
	int i;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	/* Nobody receives them, so that all are flushed at the same moment. */
	for (i = 0; i < 32; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, i));
	}
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_for(self->pair.async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW,
			    &event));
	start = now_us();
	EXPECT_DAT(dat_ep_free(self->pair.a.ep));
	EXPECT_LT(now_us() - start, LATE);
}

TEST_F(evd, qlen_events_no_overflow)
{
	DAT_EVENT event;
	int i, round;

	for (round = 0; round < 5; round++) {
		for (i = 0; i < QLEN; i++) {
			ASSERT_DAT(make_event(self, i));
		}
		for (i = 0; i < QLEN; i++) {
			ASSERT_DAT(wait_event(self->evd, &event));
			EXPECT_EQ(i, cookie_of(&event));
		}
	}
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->pair.async_evd, &event));
}

FIXTURE(merged)
{
	struct pair pair;
	struct region a, b;
	DAT_EVD_HANDLE evd;
};

/* Every stream of both sides goes to one EVD. */
FIXTURE_SETUP(merged)
{
	struct pair *pair = &self->pair;
	struct side *sides[] = { &pair->a, &pair->b };
	int i;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_evd_create(pair->ia, 256, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG |
					  DAT_EVD_CONNECTION_FLAG |
					  DAT_EVD_RMR_BIND_FLAG,
				  &self->evd));
	ASSERT_DAT(dat_psp_free(pair->psp));
	ASSERT_DAT(dat_psp_create(pair->ia, pair->qual, self->evd,
				  DAT_PSP_CONSUMER_FLAG, &pair->psp));
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(dat_ep_free(sides[i]->ep));
		ASSERT_DAT(dat_ep_create(pair->ia, sides[i]->pz, self->evd,
					 self->evd, self->evd, NULL,
					 &sides[i]->ep));
	}
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(merged)
{
	pair_close(&self->pair);
}

TEST_F(merged, merged_streams_keep_order)
{
	struct pair *pair = &self->pair;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr[10];
	DAT_EVENT event;
	DAT_UINT64 i;

	ASSERT_DAT(connect_to(pair, pair->a.ep, pair->qual));
	ASSERT_DAT(wait_for(self->evd, DAT_CONNECTION_REQUEST_EVENT, &event));
	ASSERT_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				 pair->b.ep, 0, NULL));
	ASSERT_DAT(wait_number(self->evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	ASSERT_DAT(wait_number(self->evd, DAT_CONNECTION_EVENT_ESTABLISHED));

	for (i = 0; i < 40; i++) {
		if (i % 4) {
			ASSERT_DAT(post_write(pair->a.ep, &self->a, 0, 8,
					      self->b.rmr_context, self->b.buf,
					      i));
			continue;
		}
		ASSERT_DAT(dat_rmr_create(pair->a.pz, &rmr[i / 4]));
		ASSERT_DAT(bind_window(rmr[i / 4], &self->a, 0, 10,
				       DAT_MEM_PRIV_REMOTE_READ_FLAG,
				       pair->a.ep, i,
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
	}
	for (i = 0; i < 40; i++) {
		ASSERT_DAT(wait_event(self->evd, &event));
		EXPECT_EQ(i % 4 ? DAT_DTO_COMPLETION_EVENT :
				  DAT_RMR_BIND_COMPLETION_EVENT,
			  event.event_number);
		EXPECT_EQ(i, cookie_of(&event));
	}

	/* The end of the connection comes behind what was posted before it. */
	for (i = 0; i < 40; i++) {
		ASSERT_DAT(post_write(pair->a.ep, &self->a, 0, 8,
				      self->b.rmr_context, self->b.buf, i));
	}
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (i = 0; i < 40; i++) {
		ASSERT_DAT(wait_for(self->evd, DAT_DTO_COMPLETION_EVENT,
				    &event));
		EXPECT_EQ(i, cookie_of(&event));
		EXPECT_EQ(DAT_DTO_SUCCESS,
			  event.event_data.dto_completion_event_data.status);
	}
	EXPECT_DAT(wait_number(self->evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_DAT(wait_number(self->evd, DAT_CONNECTION_EVENT_DISCONNECTED));
}

/* From now on every system call of this thread is a signal. */
static int forbid_system_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog prog = { .len = ARRAY_LEN(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* Results of a thread: this kernel has no seccomp; the thread has made a system call */
#define NO_SECCOMP	77
#define CALLED		78

/* Five events: two dequeues, two waits, one more, and none. */
static int take_events(FIXTURE_DATA(evd) *self)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_UINT64 i;

	for (i = 0; i < 5; i++) {
		DAT_RETURN ret;

		if (i % 2)
			ret = dat_evd_wait(self->evd, PAIR_TIMEOUT, 5 - i,
					   &event, &nmore);
		else
			ret = dat_evd_dequeue(self->evd, &event);
		if (ret || cookie_of(&event) != i)
			return 1;
	}
	return dat_evd_dequeue(self->evd, &event) ? 0 : 1;
}

/* The part of a test that must make no system call */
static struct {
	FIXTURE_DATA(evd) *self;
	int (*fn)(FIXTURE_DATA(evd) *);
	atomic_int status;
} silent;

/* The thread cannot end without system calls: it ends with the process. */
static void stay(int status)
{
	atomic_store(&silent.status, status);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void on_call(int signal)
{
	(void)signal;
	stay(CALLED);
}

static void *silent_main(void *arg)
{
	(void)arg;
	stay(forbid_system_calls() ? NO_SECCOMP : silent.fn(silent.self));
	return NULL;
}

static int run_without_system_calls(FIXTURE_DATA(evd) *self,
				    int (*fn)(FIXTURE_DATA(evd) *))
{
	pthread_t thread;

	signal(SIGSYS, on_call);
	silent.self = self;
	silent.fn = fn;
	atomic_store(&silent.status, -1);
	if (pthread_create(&thread, NULL, silent_main, NULL))
		return -1;
	while (atomic_load(&silent.status) == -1)
		usleep(1000);
	return atomic_load(&silent.status);
}

static int get_status(FIXTURE_DATA(evd) *self)
{
	return ep_state(self->pair.a.ep) == DAT_EP_STATE_CONNECTED ? 0 : 1;
}

TEST_F(evd, take_events_without_syscall)
{
	int i, status;

	for (i = 0; i < 5; i++) {
		ASSERT_DAT(make_event(self, i));
	}
	ASSERT_DAT(await_count(self->evd, 5));
	status = run_without_system_calls(self, take_events);
	if (status == NO_SECCOMP)
		SKIP(return, "no seccomp");
	EXPECT_EQ(0, status);
	/* The filter does catch a call that enters the kernel. */
	EXPECT_EQ(CALLED, run_without_system_calls(self, get_status));
}

TEST_HARNESS_MAIN

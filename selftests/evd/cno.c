// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cno.c - dat_cno_create(3DAT), _query, _wait, _modify_agent, _free
 */
#include "harness.h"
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "ioctls.h"
#include "pair.h"
#include "software_event.h"

#define QLEN		8
#define WAITERS		3

#define ERROR(type, subtype)	(DAT_CLASS_ERROR | (type) | (subtype))
#define BAD_CNO		ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)
#define EMPTY		DAT_QUEUE_EMPTY

/* In microseconds: what must not happen is given this long to happen. */
#define SILENCE		(100 * 1000)

/* A CNO that one EVD of software events triggers. */
FIXTURE(cno)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
};

FIXTURE_SETUP(cno)
{
	self->ia = DAT_HANDLE_NULL;
	self->async_evd = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &self->async_evd,
			       &self->ia));
	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &self->cno));
	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &self->evd));
}

FIXTURE_TEARDOWN(cno)
{
	if (self->ia)
		dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

static long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* The same, but gives one that should not come some time to come. */
static DAT_RETURN await_nothing(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd;

	return dat_cno_wait(cno, SILENCE, &evd);
}

/* A thread in dat_cno_wait(). */
struct waiter {
	struct sleeper sleeper;
	DAT_CNO_HANDLE cno;
	DAT_TIMEOUT timeout;
	DAT_RETURN ret;
	DAT_EVD_HANDLE evd;
	atomic_bool returned;
};

static void waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->ret = dat_cno_wait(w->cno, w->timeout, &w->evd);
	atomic_store(&w->returned, true);
}

/* Returns when the thread waits for the CNO, which has not been triggered. */
static void waiter_start(struct waiter *w, DAT_CNO_HANDLE cno)
{
	w->cno = cno;
	w->timeout = DAT_TIMEOUT_INFINITE;
	w->evd = w;
	atomic_store(&w->returned, false);
	sleeper_start(&w->sleeper, waiter_main, w);
	sleeper_await(&w->sleeper, SLEEP_CNO_WAIT);
}

static void waiter_end(struct waiter *w)
{
	pthread_join(w->sleeper.thread, NULL);
}

static int count_returned(struct waiter *w, int num)
{
	int i, count = 0;

	for (i = 0; i < num; i++)
		count += atomic_load(&w[i].returned);
	return count;
}

TEST_F(cno, create_without_agent)
{
	DAT_HANDLE_TYPE type;
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM param;

	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &cno));
	EXPECT_NE(DAT_HANDLE_NULL, cno);
	EXPECT_NE(self->cno, cno);
	EXPECT_DAT(dat_get_handle_type(cno, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_CNO, type);
	memset(&param, 0xff, sizeof(param));
	EXPECT_DAT(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	EXPECT_EQ(self->ia, param.ia_handle);
	EXPECT_EQ(NULL, param.agent.instance_data);
	EXPECT_TRUE(!param.agent.proxy_agent_func);
	EXPECT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(EMPTY, await_nothing(cno));
	/* With EVDs or waiters it would not be freed. */
	EXPECT_DAT(dat_cno_free(cno));
}

TEST_F(cno, null_pointer_or_unknown_field)
{
	DAT_CNO_PARAM param;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				      NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_cno_wait(self->cno, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_cno_query(self->cno, DAT_CNO_FIELD_ALL, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cno_query(self->cno, 0x4, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cno_query(self->cno, ~0, &param));
}

static void no_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	abort();
}

TEST_F(cno, create_bad_ia_handle)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { NULL, no_agent };
	DAT_IA_HANDLE bad[] = {
		DAT_HANDLE_NULL, self->evd, self->cno, &bad,
		(DAT_HANDLE)UINTPTR_MAX, (char *)self->ia + HIGH_BIT,
		self->ia,
	};
	DAT_CNO_HANDLE cno;
	unsigned int i;

	/* The last one was an IA once. */
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
			       dat_cno_create(bad[i], agent, &cno));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
			       dat_cno_create(bad[i],
					      DAT_OS_WAIT_PROXY_AGENT_NULL,
					      &cno));
	}
	usleep(SILENCE);
}

TEST_F(cno, bad_cno_handle_invalid)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { NULL, no_agent };
	DAT_CNO_HANDLE cno, bad[] = {
		DAT_HANDLE_NULL, self->evd, self->ia, &bad,
		(DAT_HANDLE)UINTPTR_MAX, (char *)self->cno + HIGH_BIT,
		NULL, NULL,
	};
	DAT_EVD_HANDLE async_evd, evd;
	DAT_CNO_PARAM param;
	DAT_IA_HANDLE ia;
	unsigned int i;

	/* One that has been freed, and one whose IA has been closed. */
	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &cno));
	ASSERT_DAT(dat_cno_free(cno));
	bad[ARRAY_LEN(bad) - 2] = cno;
	async_evd = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd, &ia));
	ASSERT_DAT(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	ASSERT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	bad[ARRAY_LEN(bad) - 1] = cno;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_EQ(BAD_CNO,
			  dat_cno_query(bad[i], DAT_CNO_FIELD_ALL, &param)) {
			TH_LOG("handle %u", i);
		}
		EXPECT_EQ(BAD_CNO, dat_cno_wait(bad[i], 0, &evd));
		EXPECT_EQ(BAD_CNO, dat_cno_modify_agent(bad[i], agent));
		EXPECT_EQ(BAD_CNO,
			  dat_cno_modify_agent(bad[i],
					       DAT_OS_WAIT_PROXY_AGENT_NULL));
		EXPECT_EQ(BAD_CNO, dat_cno_free(bad[i]));
		/* Where none is allowed. */
		if (bad[i]) {
			EXPECT_EQ(BAD_CNO, se_create(self->ia, QLEN, bad[i],
						     &evd));
			EXPECT_EQ(BAD_CNO, dat_evd_modify_cno(self->evd,
							      bad[i]));
		}
	}
	/* Nothing has happened to the EVD. */
	EXPECT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(self->evd, cno_take(self->cno));
}

TEST_F(cno, cno_of_other_ia_invalid)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, evd, own;
	DAT_IA_HANDLE ia;

	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd, &ia));
	EXPECT_EQ(BAD_CNO, se_create(ia, QLEN, self->cno, &evd));
	ASSERT_DAT(se_create(ia, QLEN, DAT_HANDLE_NULL, &own));
	EXPECT_EQ(BAD_CNO, dat_evd_modify_cno(own, self->cno));
	/* They have left no reference behind. */
	EXPECT_DAT(dat_evd_free(self->evd));
	EXPECT_DAT(dat_cno_free(self->cno));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST_F(cno, query_each_field)
{
	DAT_CNO_PARAM param;
	unsigned int mask;

	for (mask = 0; mask <= DAT_CNO_FIELD_ALL; mask++) {
		memset(&param, 0xff, sizeof(param));
		EXPECT_DAT(dat_cno_query(self->cno, mask, &param));
		if (mask & DAT_CNO_FIELD_IA_HANDLE)
			EXPECT_EQ(self->ia, param.ia_handle);
		if (mask & DAT_CNO_FIELD_AGENT)
			EXPECT_TRUE(!param.agent.proxy_agent_func);
	}
}

TEST_F(cno, wait_returns_triggering_evd)
{
	struct waiter w;

	waiter_start(&w, self->cno);
	usleep(SILENCE);
	EXPECT_FALSE(atomic_load(&w.returned));
	ASSERT_DAT(se_post(self->evd, 7));
	waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(self->evd, w.evd);
	/* Of a notification the event is not part. */
	EXPECT_EQ(7, se_take(self->evd));
}

TEST_F(cno, wait_timeout_null_handle)
{
	static const DAT_TIMEOUT timeouts[] = { 0, 1500, 20000, 100000 };
	DAT_EVD_HANDLE evd;
	unsigned int i;
	long start;

	for (i = 0; i < ARRAY_LEN(timeouts); i++) {
		evd = &evd;
		start = now_us();
		EXPECT_EQ(EMPTY, dat_cno_wait(self->cno, timeouts[i], &evd));
		EXPECT_GE(now_us() - start, timeouts[i]);
		EXPECT_LT(now_us() - start, timeouts[i] + PAIR_TIMEOUT);
		EXPECT_EQ(DAT_HANDLE_NULL, evd);
	}
}

TEST_F(cno, trigger_kept_until_one_wait)
{
	DAT_EVD_HANDLE evd = &evd;

	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_DAT(dat_cno_wait(self->cno, PAIR_TIMEOUT, &evd));
	EXPECT_EQ(self->evd, evd);
	/* Though the event is still there. */
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
	EXPECT_EQ(1, se_take(self->evd));
	/* The next one triggers it again, be the EVD empty or not. */
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	ASSERT_DAT(se_post(self->evd, 3));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
}

TEST_F(cno, wait_returns_first_evd)
{
	DAT_EVD_HANDLE other;

	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &other));
	ASSERT_DAT(se_post(other, 1));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_EQ(other, cno_take(self->cno));
	/* That was for both of them. */
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
	ASSERT_DAT(se_post(self->evd, 3));
	ASSERT_DAT(se_post(other, 4));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(2, se_take(self->evd));
	EXPECT_EQ(3, se_take(self->evd));
	EXPECT_EQ(1, se_take(other));
	EXPECT_EQ(4, se_take(other));
}

TEST_F(cno, wait_may_return_empty_evd)
{
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(1, se_take(self->evd));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(-1, se_take(self->evd));
}

TEST_F(cno, trigger_wakes_one_waiter)
{
	struct waiter w[WAITERS];
	int i;

	for (i = 0; i < WAITERS; i++)
		waiter_start(&w[i], self->cno);
	for (i = 1; i <= WAITERS; i++) {
		ASSERT_DAT(se_post(self->evd, i));
		while (count_returned(w, WAITERS) < i)
			sched_yield();
		usleep(SILENCE);
		EXPECT_EQ(i, count_returned(w, WAITERS));
	}
	for (i = 0; i < WAITERS; i++) {
		waiter_end(&w[i]);
		EXPECT_DAT(w[i].ret);
		EXPECT_EQ(self->evd, w[i].evd);
	}
}

static void on_signal(int signal __attribute__((unused)))
{
}

TEST_F(cno, signal_interrupts_wait)
{
	/* Even if it asks that system calls go on afterwards. */
	struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = SA_RESTART,
	};
	struct waiter w;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	waiter_start(&w, self->cno);
	pthread_kill(w.sleeper.thread, SIGUSR1);
	waiter_end(&w);
	EXPECT_EQ(ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE), w.ret);
	EXPECT_EQ(DAT_HANDLE_NULL, w.evd);
	/* It waits no more. */
	ASSERT_DAT(dat_evd_free(self->evd));
	EXPECT_DAT(dat_cno_free(self->cno));
}

TEST_F(cno, evd_waiter_preempts_cno)
{
	struct evd_waiter w = {
		.evd = self->evd,
		.timeout = DAT_TIMEOUT_INFINITE,
		.threshold = 2,
	};

	evd_waiter_start(&w);
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
	ASSERT_DAT(se_post(self->evd, 2));
	evd_waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(1, se_number(&w.event));
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
	/* Now it has gone. */
	ASSERT_DAT(se_post(self->evd, 3));
	EXPECT_EQ(self->evd, cno_take(self->cno));
}

TEST_F(cno, last_evd_free_wakes_waiters)
{
	struct waiter w[WAITERS];
	DAT_EVD_HANDLE other;
	int i;

	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &other));
	for (i = 0; i < WAITERS; i++)
		waiter_start(&w[i], self->cno);
	ASSERT_DAT(dat_evd_free(self->evd));
	usleep(SILENCE);
	EXPECT_EQ(0, count_returned(w, WAITERS));
	ASSERT_DAT(dat_evd_free(other));
	for (i = 0; i < WAITERS; i++) {
		waiter_end(&w[i]);
		EXPECT_DAT(w[i].ret);
		EXPECT_EQ(DAT_HANDLE_NULL, w[i].evd);
	}
	/* Who comes later waits for other EVDs. */
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
	waiter_start(&w[0], self->cno);
	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &other));
	ASSERT_DAT(se_post(other, 1));
	waiter_end(&w[0]);
	EXPECT_DAT(w[0].ret);
	EXPECT_EQ(other, w[0].evd);
}

TEST_F(cno, modify_cno_keeps_waiter)
{
	struct waiter w;

	waiter_start(&w, self->cno);
	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	usleep(SILENCE);
	EXPECT_FALSE(atomic_load(&w.returned));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, self->cno));
	ASSERT_DAT(se_post(self->evd, 1));
	waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(self->evd, w.evd);
}

TEST_F(cno, ia_close_wakes_waiters)
{
	struct waiter w[2 * WAITERS];
	DAT_CNO_HANDLE lonely;
	int i;

	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &lonely));
	for (i = 0; i < 2 * WAITERS; i++)
		waiter_start(&w[i], i < WAITERS ? self->cno : lonely);
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	for (i = 0; i < 2 * WAITERS; i++) {
		waiter_end(&w[i]);
		EXPECT_DAT(w[i].ret);
		EXPECT_EQ(DAT_HANDLE_NULL, w[i].evd);
	}
	EXPECT_EQ(BAD_CNO, dat_cno_free(self->cno));
	EXPECT_EQ(BAD_CNO, dat_cno_free(lonely));
}

TEST_F(cno, graceful_ia_close_with_cno)
{
	ASSERT_DAT(dat_evd_free(self->evd));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE),
		       dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT(dat_cno_free(self->cno));
	EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	self->ia = DAT_HANDLE_NULL;
}

TEST_F(cno, free_with_evd_in_use)
{
	DAT_EVD_HANDLE other;

	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &other));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
		       dat_cno_free(self->cno));
	ASSERT_DAT(dat_evd_free(other));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
		       dat_cno_free(self->cno));
	/* It has not been changed. */
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	EXPECT_DAT(dat_cno_free(self->cno));
	/* Giving an EVD the CNO that it has counts once. */
	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &self->cno));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, self->cno));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, self->cno));
	ASSERT_DAT(dat_evd_free(self->evd));
	EXPECT_DAT(dat_cno_free(self->cno));
}

TEST_F(cno, failed_evd_create_releases_cno)
{
	DAT_EVD_HANDLE evd;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       se_create(self->ia, 0, self->cno, &evd));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			se_create(self->ia, MAX_QLEN + 1, self->cno, &evd));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			se_create(self->ia, INT32_MAX, self->cno, &evd));
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
	EXPECT_DAT(dat_evd_free(self->evd));
	EXPECT_DAT(dat_cno_free(self->cno));
}

/* The manual page says how its user gets rid of the waiter, then. */
TEST_F(cno, free_with_waiter_in_use)
{
	struct waiter w;

	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	waiter_start(&w, self->cno);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
		       dat_cno_free(self->cno));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, self->cno));
	ASSERT_DAT(se_post(self->evd, 1));
	waiter_end(&w);
	EXPECT_DAT(w.ret);
	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	EXPECT_DAT(dat_cno_free(self->cno));
	EXPECT_DAT(dat_evd_free(self->evd));
}

/* Waits as another process does that was given the file. */
TEST_F(cno, wait_in_other_process)
{
	struct dat_dev_cno_wait wait = {
		.size = sizeof(wait),
		.cno = handle_number(self->cno),
		.timeout = PAIR_TIMEOUT,
	};
	int fd = library_fd(), status;
	pid_t pid;

	/* The library does not notice, so the child keeps the file. */
	pid = _Fork();
	if (!pid)
		_exit(dev_type(fd, DAT_DEV_CNO_WAIT, &wait) ||
		      wait.evd != handle_number(self->evd));
	ASSERT_LT(0, pid);
	EXPECT_DAT(se_post(self->evd, 5));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(5, se_take(self->evd));
}

#define EVDS		3
#define POSTERS		2
#define EVENTS		400

static struct {
	DAT_EVD_HANDLE evd[EVDS];
	atomic_int failed;
} posts;

static void *poster_main(void *arg)
{
	uintptr_t first = (uintptr_t)arg, i;
	DAT_RETURN ret;

	for (i = first; i < first + EVENTS; i++) {
		while ((ret = se_post(posts.evd[i % EVDS], i)) &&
		       DAT_GET_TYPE(ret) == DAT_QUEUE_FULL)
			sched_yield();
		if (ret)
			atomic_fetch_add(&posts.failed, 1);
	}
	return NULL;
}

/* As the manual page wants it: whatever the hint, look at all EVDs. */
TEST_F(cno, trigger_no_lost_event)
{
	static int seen[POSTERS * EVENTS];
	pthread_t thread[POSTERS];
	int total = 0;
	long i, n;

	posts.evd[0] = self->evd;
	for (i = 1; i < EVDS; i++) {
		ASSERT_DAT(se_create(self->ia, QLEN, self->cno,
				     &posts.evd[i]));
	}
	for (i = 0; i < POSTERS; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, poster_main,
					    (void *)(i * EVENTS)));
	}
	while (total < POSTERS * EVENTS) {
		DAT_EVD_HANDLE hint = DAT_HANDLE_NULL;

		ASSERT_DAT(dat_cno_wait(self->cno, PAIR_TIMEOUT, &hint));
		EXPECT_NE(DAT_HANDLE_NULL, hint);
		for (i = 0; i < EVDS; i++) {
			while ((n = se_take(posts.evd[i])) >= 0) {
				ASSERT_LT(n, POSTERS * EVENTS);
				seen[n]++;
				total++;
			}
		}
	}
	for (i = 0; i < POSTERS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, atomic_load(&posts.failed));
	for (i = 0; i < POSTERS * EVENTS; i++) {
		ASSERT_EQ(1, seen[i]);
	}
}

/* OS Wait Proxy Agents */

static struct {
	sem_t called;
	atomic_int calls;
	DAT_PVOID data;
	DAT_EVD_HANDLE evd;
	pid_t tid;
	sigset_t blocked;
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret;
	int rounds;
} duty;

static void agent_main(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	atomic_fetch_add(&duty.calls, 1);
	duty.data = data;
	duty.evd = evd;
	duty.tid = gettid();
	pthread_sigmask(SIG_SETMASK, NULL, &duty.blocked);
	sem_post(&duty.called);
}

/* Comes again, and looks at what has come in between, as it has to. */
static void returning_agent_main(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { data, returning_agent_main };

	if (--duty.rounds)
		duty.ret |= dat_cno_modify_agent(duty.cno, agent);
	agent_main(data, evd);
}

static DAT_OS_WAIT_PROXY_AGENT agent_with(DAT_PVOID data)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { data, agent_main };

	return agent;
}

static bool await_agent(void)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += PAIR_TIMEOUT / 1000000;
	return !sem_timedwait(&duty.called, &limit);
}

/* The thread of an agent that is not needed any more ends. */
static bool await_threads(int count)
{
	time_t give_up = time(NULL) + PAIR_TIMEOUT / 1000000;

	while (count_threads() != count && time(NULL) < give_up)
		usleep(1000);
	return count_threads() == count;
}

static DAT_AGENT_FUNC agent_of(DAT_CNO_HANDLE cno)
{
	DAT_CNO_PARAM param;

	if (dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param))
		return no_agent;
	return param.agent.proxy_agent_func;
}

/* A CNO with an agent, made before it had an EVD. */
FIXTURE(agent)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int threads;
};

FIXTURE_SETUP(agent)
{
	memset(&duty, 0, sizeof(duty));
	ASSERT_EQ(0, sem_init(&duty.called, 0, 0));
	self->ia = DAT_HANDLE_NULL;
	self->async_evd = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &self->async_evd,
			       &self->ia));
	self->threads = count_threads();
	ASSERT_DAT(dat_cno_create(self->ia, agent_with(self), &self->cno));
	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &self->evd));
}

FIXTURE_TEARDOWN(agent)
{
	if (self->ia)
		dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

TEST_F(agent, query_agent_until_called)
{
	DAT_CNO_PARAM param;

	EXPECT_DAT(dat_cno_query(self->cno, DAT_CNO_FIELD_ALL, &param));
	EXPECT_EQ(self->ia, param.ia_handle);
	EXPECT_EQ(self, param.agent.instance_data);
	EXPECT_TRUE(param.agent.proxy_agent_func == agent_main);
	usleep(SILENCE);
	EXPECT_EQ(0, atomic_load(&duty.calls));
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_TRUE(await_agent());
	EXPECT_DAT(dat_cno_query(self->cno, DAT_CNO_FIELD_ALL, &param));
	EXPECT_EQ(NULL, param.agent.instance_data);
	EXPECT_TRUE(!param.agent.proxy_agent_func);
	EXPECT_TRUE(await_threads(self->threads));
}

TEST_F(agent, agent_called_once_own_thread)
{
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_TRUE(await_agent());
	EXPECT_EQ(self, duty.data);
	EXPECT_EQ(self->evd, duty.evd);
	EXPECT_NE(gettid(), duty.tid);
	/* The program's signals are for the program's threads. */
	EXPECT_EQ(1, sigismember(&duty.blocked, SIGINT));
	EXPECT_EQ(1, sigismember(&duty.blocked, SIGCHLD));
	pthread_sigmask(SIG_SETMASK, NULL, &duty.blocked);
	EXPECT_EQ(0, sigismember(&duty.blocked, SIGINT));
	/* The event is not taken. */
	EXPECT_EQ(1, se_take(self->evd));
	ASSERT_DAT(se_post(self->evd, 2));
	usleep(SILENCE);
	EXPECT_EQ(1, atomic_load(&duty.calls));
	EXPECT_TRUE(await_threads(self->threads));
}

TEST_F(agent, trigger_reaches_agent_and_waiter)
{
	struct waiter w;

	waiter_start(&w, self->cno);
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(self->evd, duty.evd);
	waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(self->evd, w.evd);
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
}

TEST_F(agent, agent_leaves_trigger_for_wait)
{
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_TRUE(await_agent());
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
}

TEST_F(agent, disabled_evd_no_agent_call)
{
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	usleep(SILENCE);
	EXPECT_EQ(0, atomic_load(&duty.calls));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(self->evd, duty.evd);
}

TEST_F(agent, modify_agent_replaces)
{
	DAT_CNO_PARAM param;
	int other;

	ASSERT_DAT(dat_cno_modify_agent(self->cno, agent_with(&other)));
	EXPECT_DAT(dat_cno_query(self->cno, DAT_CNO_FIELD_AGENT, &param));
	EXPECT_EQ(&other, param.agent.instance_data);
	EXPECT_TRUE(param.agent.proxy_agent_func == agent_main);
	/* There is one at most. */
	EXPECT_TRUE(await_threads(self->threads + 1));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(&other, duty.data);
	usleep(SILENCE);
	EXPECT_EQ(1, atomic_load(&duty.calls));
	EXPECT_TRUE(await_threads(self->threads));
}

TEST_F(agent, modify_agent_to_null)
{
	ASSERT_DAT(dat_cno_modify_agent(self->cno,
					DAT_OS_WAIT_PROXY_AGENT_NULL));
	EXPECT_TRUE(!agent_of(self->cno));
	EXPECT_TRUE(await_threads(self->threads));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	usleep(SILENCE);
	EXPECT_EQ(0, atomic_load(&duty.calls));
	/* And given again. */
	ASSERT_DAT(dat_cno_modify_agent(self->cno, agent_with(NULL)));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(NULL, duty.data);
}

TEST_F(agent, new_agent_ignores_old_trigger)
{
	ASSERT_DAT(dat_cno_modify_agent(self->cno,
					DAT_OS_WAIT_PROXY_AGENT_NULL));
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(dat_cno_modify_agent(self->cno, agent_with(self)));
	usleep(SILENCE);
	EXPECT_EQ(0, atomic_load(&duty.calls));
	/* Even if nobody has waited for the other meanwhile. */
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(self->evd, cno_take(self->cno));
}

TEST_F(agent, agent_rearms_itself)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { self, returning_agent_main };
	int i;

	duty.cno = self->cno;
	duty.rounds = 10;
	ASSERT_DAT(dat_cno_modify_agent(self->cno, agent));
	for (i = 1; i <= 10; i++) {
		ASSERT_DAT(se_post(self->evd, i));
		ASSERT_TRUE(await_agent());
		EXPECT_EQ(i, atomic_load(&duty.calls));
		EXPECT_EQ(i, se_take(self->evd));
	}
	EXPECT_DAT(duty.ret);
	ASSERT_DAT(se_post(self->evd, i));
	usleep(SILENCE);
	EXPECT_EQ(10, atomic_load(&duty.calls));
	EXPECT_TRUE(await_threads(self->threads));
}

TEST_F(agent, last_evd_free_calls_agent)
{
	DAT_EVD_HANDLE other;

	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &other));
	duty.evd = self;
	ASSERT_DAT(dat_evd_free(self->evd));
	usleep(SILENCE);
	EXPECT_EQ(0, atomic_load(&duty.calls));
	ASSERT_DAT(dat_evd_free(other));
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(self, duty.data);
	EXPECT_EQ(DAT_HANDLE_NULL, duty.evd);
	EXPECT_TRUE(!agent_of(self->cno));
	EXPECT_TRUE(await_threads(self->threads));
}

TEST_F(agent, ia_close_calls_agent)
{
	duty.evd = self;
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	EXPECT_TRUE(await_agent());
	EXPECT_EQ(self, duty.data);
	EXPECT_EQ(DAT_HANDLE_NULL, duty.evd);
	EXPECT_TRUE(await_threads(self->threads));
	EXPECT_EQ(1, atomic_load(&duty.calls));
}

/* Its thread may not even have started. */
TEST_F(agent, ia_close_races_agent_start)
{
	int i;

	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	ASSERT_TRUE(await_agent());
	for (i = 2; i < 20; i++) {
		DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
		DAT_CNO_HANDLE cno;
		DAT_IA_HANDLE ia;

		ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd, &ia));
		ASSERT_DAT(dat_cno_create(ia, agent_with(self), &cno));
		duty.evd = self;
		ASSERT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		ASSERT_TRUE(await_agent());
		EXPECT_EQ(i, atomic_load(&duty.calls));
		EXPECT_EQ(DAT_HANDLE_NULL, duty.evd);
	}
	EXPECT_TRUE(await_threads(self->threads));
}

TEST_F(agent, freed_cno_no_agent_call)
{
	DAT_CNO_HANDLE cno;
	int i;

	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	/* One whose thread waits, and many whose thread may just begin to. */
	usleep(SILENCE);
	ASSERT_DAT(dat_cno_free(self->cno));
	for (i = 0; i < 100; i++) {
		ASSERT_DAT(dat_cno_create(self->ia, agent_with(self), &cno));
		ASSERT_DAT(dat_cno_free(cno));
	}
	EXPECT_TRUE(await_threads(self->threads));
	EXPECT_EQ(0, atomic_load(&duty.calls));
}

TEST_F(agent, failed_free_keeps_agent)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
		       dat_cno_free(self->cno));
	EXPECT_TRUE(agent_of(self->cno) == agent_main);
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	EXPECT_TRUE(await_agent());
}

TEST_F(agent, agent_thread_create_fails)
{
	DAT_RETURN created, modified;
	DAT_CNO_HANDLE cno, other;
	pthread_attr_t attr, huge;

	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &cno));
	ASSERT_EQ(0, pthread_getattr_default_np(&attr));
	ASSERT_EQ(0, pthread_getattr_default_np(&huge));
	/* No stack is as large as that. */
	ASSERT_EQ(0, pthread_attr_setstacksize(&huge, SIZE_MAX / 4));
	ASSERT_EQ(0, pthread_setattr_default_np(&huge));
	created = dat_cno_create(self->ia, agent_with(self), &other);
	modified = dat_cno_modify_agent(cno, agent_with(self));
	ASSERT_EQ(0, pthread_setattr_default_np(&attr));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, created);
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, modified);
	EXPECT_TRUE(!agent_of(cno));
	/* There is no CNO but those that are known. */
	EXPECT_DAT(dat_cno_free(cno));
	EXPECT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	EXPECT_DAT(dat_cno_free(self->cno));
	EXPECT_DAT(dat_evd_free(self->evd));
	EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	self->ia = DAT_HANDLE_NULL;
	EXPECT_TRUE(await_threads(self->threads));
	EXPECT_EQ(0, atomic_load(&duty.calls));
}

/* Notifications of what a device does. */

FIXTURE(streams)
{
	struct pair pair;
	struct region a, b;
	DAT_CNO_HANDLE cno;
};

FIXTURE_SETUP(streams)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_cno_create(pair->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &self->cno));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, 4096,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(streams)
{
	pair_close(&self->pair);
}

/* Waits for a trigger, which must be of this EVD, and takes its event. */
static DAT_EVENT_NUMBER await_number(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd,
				     DAT_EVENT *event)
{
	DAT_EVD_HANDLE hint = DAT_HANDLE_NULL;

	if (dat_cno_wait(cno, PAIR_TIMEOUT, &hint) || hint != evd ||
	    dat_evd_dequeue(evd, event))
		return 0;
	return event->event_number;
}

TEST_F(streams, every_event_kind_triggers)
{
	struct pair *pair = &self->pair;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(dat_evd_modify_cno(pair->cr_evd, self->cno));
	ASSERT_DAT(dat_evd_modify_cno(pair->a.conn_evd, self->cno));
	ASSERT_DAT(dat_evd_modify_cno(pair->b.dto_evd, self->cno));
	ASSERT_DAT(connect_to(pair, pair->a.ep, pair->qual));
	ASSERT_EQ(DAT_CONNECTION_REQUEST_EVENT,
		  await_number(self->cno, pair->cr_evd, &event));
	ASSERT_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				 pair->b.ep, 0, NULL));
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED,
		  await_number(self->cno, pair->a.conn_evd, &event));
	ASSERT_DAT(wait_number(pair->b.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	for (i = 0; i < 10; i++) {
		ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 8, i));
		ASSERT_DAT(post_send(pair->a.ep, &self->a, 0, 8, i));
		ASSERT_EQ(DAT_DTO_COMPLETION_EVENT,
			  await_number(self->cno, pair->b.dto_evd, &event));
		EXPECT_EQ(i, event.event_data.dto_completion_event_data
				     .user_cookie.as_64);
	}
	ASSERT_DAT(dat_ep_disconnect(pair->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED,
		  await_number(self->cno, pair->a.conn_evd, &event));
}

TEST_F(streams, unsignalled_completion_no_trigger)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET to;

	ASSERT_DAT(dat_evd_modify_cno(pair->a.dto_evd, self->cno));
	ASSERT_DAT(pair_connect(pair));
	seg = segment(&self->a, 0, 8);
	to = remote(self->b.rmr_context, self->b.buf, 8);
	ASSERT_DAT(dat_ep_post_rdma_write(pair->a.ep, 1, &seg, cookie, &to,
					  DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(EMPTY, await_nothing(self->cno));
	/* It is there for who looks. */
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->a.dto_evd, 5));
}

TEST_F(streams, overflow_event_triggers_cno)
{
	struct pair *pair = &self->pair;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_request_dtos = 32,
	};
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(dat_evd_modify_cno(pair->async_evd, self->cno));
	ASSERT_DAT(dat_evd_create(pair->ia, QLEN, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &evd));
	ASSERT_DAT(dat_ep_free(pair->a.ep));
	ASSERT_DAT(dat_ep_create(pair->ia, pair->a.pz, evd, evd,
				 pair->a.conn_evd, &attr, &pair->a.ep));
	ASSERT_DAT(pair_connect(pair));
	for (i = 0; i < 32; i++) {
		ASSERT_DAT(post_write(pair->a.ep, &self->a, 0, 8,
				      self->b.rmr_context, self->b.buf, i));
	}
	EXPECT_EQ(DAT_ASYNC_ERROR_EVD_OVERFLOW,
		  await_number(self->cno, pair->async_evd, &event));
	EXPECT_EQ(evd, event.event_data.asynch_error_event_data.dat_handle);
}

TEST_HARNESS_MAIN

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * software_event.h - software events, and threads that sleep, for tests
 */
#ifndef SELFTESTS_SOFTWARE_EVENT_H
#define SELFTESTS_SOFTWARE_EVENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>

/* Events that an EVD can hold at most, if the limits of the file allow it */
#define MAX_QLEN	(4 * 1024 * 1024)

/**
 * enum sleep_call - the system call in which a thread is to sleep
 * @SLEEP_EVD_WAIT: DAT_DEV_EVD_WAIT
 * @SLEEP_CNO_WAIT: DAT_DEV_CNO_WAIT
 * @SLEEP_POLL: poll()
 * @SLEEP_SELECT: select()
 * @SLEEP_EPOLL: epoll_wait()
 */
enum sleep_call {
	SLEEP_EVD_WAIT,
	SLEEP_CNO_WAIT,
	SLEEP_POLL,
	SLEEP_SELECT,
	SLEEP_EPOLL,
};

/**
 * struct sleeper - a thread that is about to sleep in a call
 * @thread: the thread
 * @tid: its number, once it does nothing but the call any more
 * @returned: the call has returned
 * @fn: makes the call
 * @arg: for @fn
 */
struct sleeper {
	pthread_t thread;
	atomic_int tid;
	atomic_bool returned;
	void (*fn)(void *arg);
	void *arg;
};

/**
 * struct evd_waiter - a thread in dat_evd_wait()
 * @evd: the EVD
 * @timeout: of the call, in microseconds
 * @threshold: of the call
 * @ret: out: what the call returned
 * @event: out: its event
 * @nmore: out: number of further events
 * @sleeper: the thread
 */
struct evd_waiter {
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
	struct sleeper sleeper;
};

DAT_RETURN se_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
		     DAT_EVD_HANDLE *evd);
DAT_RETURN se_post(DAT_EVD_HANDLE evd, uintptr_t number);
long se_number(const DAT_EVENT *event);
DAT_EVD_HANDLE cno_take(DAT_CNO_HANDLE cno);
long se_take(DAT_EVD_HANDLE evd);

void sleeper_start(struct sleeper *s, void (*fn)(void *arg), void *arg);
void sleeper_await(const struct sleeper *s, enum sleep_call call);

void evd_waiter_start(struct evd_waiter *w);
void evd_waiter_end(struct evd_waiter *w);

int count_threads(void);

#endif /* SELFTESTS_SOFTWARE_EVENT_H */

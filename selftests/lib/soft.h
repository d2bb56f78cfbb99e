/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * soft.h - software events, and threads that sleep, for tests
 */
#ifndef SELFTESTS_SOFT_H
#define SELFTESTS_SOFT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>

/**
 * struct sleeper - a thread that is about to sleep in a call
 * @thread: the thread
 * @tid: its number, once it does nothing but the call any more
 * @fn: makes the call
 * @arg: for @fn
 */
struct sleeper {
	pthread_t thread;
	atomic_int tid;
	void (*fn)(void *arg);
	void *arg;
};

DAT_RETURN soft_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
		       DAT_EVD_HANDLE *evd);
DAT_RETURN soft_post(DAT_EVD_HANDLE evd, uintptr_t number);
long soft_number(const DAT_EVENT *event);
DAT_EVD_HANDLE cno_take(DAT_CNO_HANDLE cno);
long soft_take(DAT_EVD_HANDLE evd);

void sleeper_start(struct sleeper *s, void (*fn)(void *arg), void *arg);
bool sleeper_sleeps(const struct sleeper *s);
void sleeper_await(const struct sleeper *s);

int count_threads(void);

#endif /* SELFTESTS_SOFT_H */

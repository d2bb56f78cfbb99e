// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * software_event.c - software events, and threads that sleep, for tests
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "software_event.h"

/**
 * se_create - make an EVD that takes software events
 * @ia: the IA
 * @qlen: how many
 * @cno: its CNO, or DAT_HANDLE_NULL
 * @evd: out
 */
DAT_RETURN se_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
		     DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(ia, qlen, cno, DAT_EVD_SOFTWARE_FLAG, evd);
}

/**
 * se_post - post a software event that carries a number
 * @evd: the EVD
 * @number: the number, in place of a pointer
 */
DAT_RETURN se_post(DAT_EVD_HANDLE evd, uintptr_t number)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	event.event_data.software_event_data.pointer = (DAT_PVOID)number;
	return dat_evd_post_se(evd, &event);
}

/**
 * se_number - the number that a software event carries
 * @event: the event
 *
 * Return: the number, or -2 if it is another event.
 */
long se_number(const DAT_EVENT *event)
{
	if (event->event_number != DAT_SOFTWARE_EVENT)
		return -2;
	return (long)event->event_data.software_event_data.pointer;
}

/**
 * se_take - take a software event
 * @evd: the EVD
 *
 * Return: its number, -1 if there is none.
 */
long se_take(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(evd, &event))
		return -1;
	return se_number(&event);
}

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;

	atomic_store(&s->tid, gettid());
	s->fn(s->arg);
	atomic_store(&s->returned, true);
	return NULL;
}

/**
 * cno_take - take the trigger of a CNO, if there is one
 * @cno: the CNO
 *
 * Return: the EVD that the CNO names, or DAT_HANDLE_NULL.
 */
DAT_EVD_HANDLE cno_take(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = &evd;

	return dat_cno_wait(cno, 0, &evd) ? DAT_HANDLE_NULL : evd;
}

/**
 * sleeper_start - start a thread that will sleep
 * @s: the thread
 * @fn: what it does: nothing that sleeps but the call that is meant to
 * @arg: for @fn
 */
void sleeper_start(struct sleeper *s, void (*fn)(void *arg), void *arg)
{
	atomic_store(&s->tid, 0);
	atomic_store(&s->returned, false);
	s->fn = fn;
	s->arg = arg;
	if (pthread_create(&s->thread, NULL, sleeper_main, s))
		abort();
}

/**
 * sleeper_sleeps - does a thread sleep in its call?
 * @s: the thread
 */
bool sleeper_sleeps(const struct sleeper *s)
{
	char path[64], stat[512], *name_end;
	size_t len;
	FILE *file;
	int tid;

	tid = atomic_load(&s->tid);
	if (!tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	len = fread(stat, 1, sizeof(stat) - 1, file);
	fclose(file);
	stat[len] = '\0';
	name_end = strrchr(stat, ')');
	return name_end && !strncmp(name_end, ") S", 3);
}

/**
 * sleeper_await - return when a thread sleeps in its call, or the call has returned
 * @s: the thread
 */
void sleeper_await(const struct sleeper *s)
{
	while (!sleeper_sleeps(s) && !atomic_load(&s->returned))
		usleep(1000);
}

static void evd_waiter_main(void *arg)
{
	struct evd_waiter *w = arg;

	w->ret = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event,
			      &w->nmore);
}

/**
 * evd_waiter_start - start a thread that waits on an EVD; return when it sleeps
 * @w: the thread
 *
 * Until it sleeps, dat_evd_wait() also returns with an event that causes no notification.
 */
void evd_waiter_start(struct evd_waiter *w)
{
	sleeper_start(&w->sleeper, evd_waiter_main, w);
	sleeper_await(&w->sleeper);
}

/**
 * evd_waiter_end - wait until the call of a thread has returned
 * @w: the thread
 */
void evd_waiter_end(struct evd_waiter *w)
{
	pthread_join(w->sleeper.thread, NULL);
}

/**
 * count_threads - how many threads does this process have?
 */
int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

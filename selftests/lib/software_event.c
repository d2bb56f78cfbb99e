// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * software_event.c - software events, and threads that sleep, for tests
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/dat.h>

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
 * @fn: what it does: the call in which it is to sleep, once
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

/*
 * The system calls of each enum sleep_call. A request of 0 stands for any second argument.
 * uring/ioctl_by_uring.c turns waits into requests of io_uring, for which a thread sleeps in
 * io_uring_enter(). Which call poll() and its like make depends on architecture and C library.
 */
static const struct {
	enum sleep_call call;
	long nr;
	unsigned int request;
} system_calls[] = {
	{ SLEEP_EVD_WAIT, __NR_ioctl, DAT_DEV_EVD_WAIT },
	{ SLEEP_EVD_WAIT, __NR_io_uring_enter },
	{ SLEEP_CNO_WAIT, __NR_ioctl, DAT_DEV_CNO_WAIT },
	{ SLEEP_CNO_WAIT, __NR_io_uring_enter },
#ifdef __NR_poll
	{ SLEEP_POLL, __NR_poll },
#endif
	{ SLEEP_POLL, __NR_ppoll },
#ifdef __NR_ppoll_time64
	{ SLEEP_POLL, __NR_ppoll_time64 },
#endif
#ifdef __NR_select
	{ SLEEP_SELECT, __NR_select },
#endif
#ifdef __NR__newselect
	{ SLEEP_SELECT, __NR__newselect },
#endif
	{ SLEEP_SELECT, __NR_pselect6 },
#ifdef __NR_pselect6_time64
	{ SLEEP_SELECT, __NR_pselect6_time64 },
#endif
#ifdef __NR_epoll_wait
	{ SLEEP_EPOLL, __NR_epoll_wait },
#endif
	{ SLEEP_EPOLL, __NR_epoll_pwait },
};

/* Reads a file of a thread in /proc as text. Empty if the thread has ended. */
static void read_task(int tid, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *file;
	size_t len;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	file = fopen(path, "r");
	if (!file)
		return;
	len = fread(text, 1, size - 1, file);
	fclose(file);
	text[len] = '\0';
}

/* Is a thread blocked in one of the system calls of @call? */
static bool is_in_call(int tid, enum sleep_call call)
{
	unsigned long args[2];
	char text[256];
	size_t i;
	long nr;

	read_task(tid, "syscall", text, sizeof(text));
	/* "running" if the thread is not blocked */
	if (sscanf(text, "%ld %lx %lx", &nr, &args[0], &args[1]) != 3)
		return false;
	for (i = 0; i < sizeof(system_calls) / sizeof(system_calls[0]); i++)
		if (system_calls[i].call == call && system_calls[i].nr == nr &&
		    (!system_calls[i].request ||
		     system_calls[i].request == (unsigned int)args[1]))
			return true;
	return false;
}

static bool is_interruptible(int tid)
{
	char text[512], *name_end;

	read_task(tid, "stat", text, sizeof(text));
	name_end = strrchr(text, ')');
	return name_end && !strncmp(name_end, ") S", 3);
}

/*
 * In this order: a lock in the call, or a page of its argument, may block the thread before it
 * waits, but not interruptibly.
 */
static bool sleeper_sleeps(const struct sleeper *s, enum sleep_call call)
{
	int tid = atomic_load(&s->tid);

	return tid && is_in_call(tid, call) && is_interruptible(tid);
}

/**
 * sleeper_await - return when a thread sleeps in a call, or the call has returned
 * @s: the thread
 * @call: the call
 *
 * A thread may also sleep on its way to the call: on a mutex, or in another ioctl of the same
 * function of libdat. dat_evd_wait() takes an event that arrives there, and does not wait.
 */
void sleeper_await(const struct sleeper *s, enum sleep_call call)
{
	if (access("/proc/self/syscall", R_OK)) {
		perror("/proc/self/syscall");
		abort();
	}
	while (!sleeper_sleeps(s, call) && !atomic_load(&s->returned))
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
	sleeper_await(&w->sleeper, SLEEP_EVD_WAIT);
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

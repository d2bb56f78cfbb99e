// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ioctl_by_uring.c - a library for LD_PRELOAD: posts and waits of a program go by io_uring
 *
 * With it the tests of posts and waits run over the second way into the kernel. Each thread
 * has a ring. If there is none, the program ends: no ioctl may stand in for a request.
 */
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/dat.h>

#define REQUEST		1
#define CANCEL		2

struct thread_ring {
	struct io_uring ring;
	pid_t pid;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(const char *what, int err)
{
	fprintf(stderr, "ioctl_by_uring: %s: %s\n", what, strerror(-err));
	abort();
}

static void end_thread(void *arg)
{
	struct thread_ring *t = arg;

	if (t->pid == getpid())
		io_uring_queue_exit(&t->ring);
	free(t);
}

static void make_key(void)
{
	pthread_key_create(&key, end_thread);
}

/* The child of fork() has the rings of its parent, and makes its own. */
static struct io_uring *ring_of_thread(void)
{
	struct thread_ring *t;
	int err;

	pthread_once(&once, make_key);
	t = pthread_getspecific(key);
	if (t && t->pid == getpid())
		return &t->ring;
	t = calloc(1, sizeof(*t));
	if (!t)
		fail("calloc", -errno);
	t->pid = getpid();
	err = io_uring_queue_init(4, &t->ring, 0);
	if (err)
		fail("io_uring_queue_init", err);
	pthread_setspecific(key, t);
	return &t->ring;
}

static void prepare(struct io_uring *ring, int fd, unsigned long cmd, void *arg)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct dat_dev_uring *payload = (void *)sqe->cmd;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = cmd;
	sqe->user_data = REQUEST;
	payload->argument = (uintptr_t)arg;
}

/* A signal ends a wait, as it ends an ioctl. */
static void cancel(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_cancel64(sqe, REQUEST, 0);
	sqe->user_data = CANCEL;
}

static int by_uring(int fd, unsigned long cmd, void *arg)
{
	struct io_uring *ring = ring_of_thread();
	bool cancelled = false, done = false, seen_cancel = false;
	struct io_uring_cqe *cqe;
	int err, result = 0;

	prepare(ring, fd, cmd, arg);
	while (!done || cancelled != seen_cancel) {
		/* Not in one call: its result would hide the signal. */
		err = io_uring_submit(ring);
		if (err < 0)
			fail("io_uring_submit", err);
		err = io_uring_wait_cqe(ring, &cqe);
		if (err == -EINTR && !cancelled) {
			cancel(ring);
			cancelled = true;
		} else if (err && err != -EINTR) {
			fail("io_uring_wait_cqe", err);
		}
		while (!io_uring_peek_cqe(ring, &cqe)) {
			if (cqe->user_data == REQUEST) {
				result = cqe->res;
				done = true;
			} else {
				seen_cancel = true;
			}
			io_uring_cqe_seen(ring, cqe);
		}
	}
	if (result >= 0)
		return result;
	errno = result == -ECANCELED ? EINTR : -result;
	return -1;
}

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	switch (cmd) {
	case DAT_DEV_POST:
	case DAT_DEV_EVD_WAIT:
	case DAT_DEV_CNO_WAIT:
		return by_uring(fd, cmd, arg);
	default:
		return syscall(SYS_ioctl, fd, cmd, arg);
	}
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * queue.c - what event and completion queues have in common: an EVD, and how to wait for it
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "kfi.h"

/* Room that is not reserved, and where a queue begins */
#define SPARE	64

/**
 * kfi_close_fd - close a descriptor
 * @fd: the descriptor, or a negative value
 */
void kfi_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/**
 * kfi_add_fd - make a descriptor of epoll(7) readable when another descriptor is
 * @epoll_fd: the descriptor of epoll
 * @fd: the other one
 *
 * Return: 0 or a negative errno.
 */
int kfi_add_fd(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/**
 * kfi_poll_fd - create a descriptor that is readable when one of two others is
 * @fd: one of them
 * @other: the other one; if it is negative, errno says why
 *
 * Return: the descriptor or a negative errno.
 */
int kfi_poll_fd(int fd, int other)
{
	int epoll_fd = other < 0 ? -1 : epoll_create1(EPOLL_CLOEXEC);
	int ret = epoll_fd < 0 ? -errno : 0;

	ret = ret ?: kfi_add_fd(epoll_fd, fd);
	ret = ret ?: kfi_add_fd(epoll_fd, other);
	if (!ret)
		return epoll_fd;
	kfi_close_fd(epoll_fd);
	return ret;
}

static void close_fds(struct kfi_queue *queue)
{
	kfi_close_fd(queue->fd);
	kfi_close_fd(queue->evd_fd);
	kfi_close_fd(queue->event_fd);
}

/* Other threads may take events out of an EVD. An eventfd then wakes the readers of the queue. */
static int open_fds(struct kfi_queue *queue)
{
	int ret;

	ret = kfi_failed("dat_linux_get_fd", dat_linux_get_fd(queue->evd, &queue->evd_fd));
	if (ret)
		return ret;
	queue->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	queue->fd = kfi_poll_fd(queue->evd_fd, queue->event_fd);
	if (queue->fd >= 0)
		return 0;
	ret = queue->fd;
	close_fds(queue);
	return ret;
}

/**
 * kfi_queue_open - create the EVD of a queue
 * @queue: out: the queue
 * @ia: its IA
 * @qlen: where the EVD begins to grow, see kfi_queue_reserve()
 * @flags: streams of the EVD
 * @wait_obj: what the program can wait with; FI_WAIT_UNSPEC becomes FI_WAIT_FD
 *
 * Return: 0, -FI_ENOSYS for a wait object that the provider does not have, another error.
 */
int kfi_queue_open(struct kfi_queue *queue, DAT_IA_HANDLE ia, DAT_COUNT qlen, int flags,
		   enum fi_wait_obj wait_obj)
{
	int ret;

	if (wait_obj != FI_WAIT_NONE && wait_obj != FI_WAIT_UNSPEC && wait_obj != FI_WAIT_FD)
		return -FI_ENOSYS;
	queue->fd = -1;
	queue->evd_fd = -1;
	queue->event_fd = -1;
	queue->wait_obj = wait_obj == FI_WAIT_UNSPEC ? FI_WAIT_FD : wait_obj;
	queue->qlen = qlen > SPARE ? qlen : SPARE;
	queue->reserved = SPARE;
	ret = kfi_failed("dat_evd_create",
			 dat_evd_create(ia, queue->qlen, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags,
					&queue->evd));
	if (ret)
		return ret;
	ret = wait_obj == FI_WAIT_NONE ? 0 : open_fds(queue);
	if (ret) {
		dat_evd_free(queue->evd);
		return ret;
	}
	pthread_mutex_init(&queue->lock, NULL);
	return 0;
}

/**
 * kfi_queue_close - free what kfi_queue_open() has created
 * @queue: the queue
 */
void kfi_queue_close(struct kfi_queue *queue)
{
	close_fds(queue);
	dat_evd_free(queue->evd);
	pthread_mutex_destroy(&queue->lock);
}

/**
 * kfi_queue_add_evd - let those who wait for a queue also wait for another EVD
 * @queue: the queue
 * @evd: the EVD
 * @fd: out: its descriptor, or -1 for a queue that has none
 *
 * Return: 0 or an error.
 */
int kfi_queue_add_evd(struct kfi_queue *queue, DAT_EVD_HANDLE evd, int *fd)
{
	int ret;

	*fd = -1;
	if (queue->fd < 0)
		return 0;
	ret = kfi_failed("dat_linux_get_fd", dat_linux_get_fd(evd, fd));
	if (ret)
		return ret;
	ret = kfi_add_fd(queue->fd, *fd);
	if (ret)
		close(*fd);
	return ret;
}

/**
 * kfi_queue_flag - wake those who wait: what they wait for is no longer in the EVD
 * @queue: the queue, locked
 *
 * They stay awake until kfi_queue_unflag().
 */
void kfi_queue_flag(struct kfi_queue *queue)
{
	if (queue->is_flagged || queue->event_fd < 0)
		return;
	eventfd_write(queue->event_fd, 1);
	queue->is_flagged = true;
}

/**
 * kfi_queue_unflag - all that was taken out of the EVD has been read
 * @queue: the queue, locked
 */
void kfi_queue_unflag(struct kfi_queue *queue)
{
	eventfd_t value;

	if (!queue->is_flagged)
		return;
	eventfd_read(queue->event_fd, &value);
	queue->is_flagged = false;
}

/**
 * kfi_queue_leave - wake other threads if there is something left to read
 * @queue: the queue, locked
 * @is_left: something was taken out of the EVD and is not yet read
 */
void kfi_queue_leave(struct kfi_queue *queue, bool is_left)
{
	if (is_left && __atomic_load_n(&queue->waiters, __ATOMIC_RELAXED))
		kfi_queue_flag(queue);
}

/**
 * kfi_queue_may_poll - from now on the program may wait with the descriptor
 * @queue: the queue, locked
 *
 * The provider does not see when it does.
 */
void kfi_queue_may_poll(struct kfi_queue *queue)
{
	if (queue->is_polled || queue->wait_obj != FI_WAIT_FD)
		return;
	queue->is_polled = true;
	kfi_get(&queue->waiters);
}

/**
 * kfi_queue_reserve - make room for more events
 * @queue: the queue
 * @num: unread events that a new user may cause
 *
 * A full EVD loses events.
 *
 * Return: 0, -FI_ENOMEM, another error.
 */
int kfi_queue_reserve(struct kfi_queue *queue, DAT_COUNT num)
{
	DAT_COUNT qlen;
	int ret = 0;

	pthread_mutex_lock(&queue->lock);
	qlen = queue->qlen;
	if (num > INT32_MAX / 2 - queue->reserved) {
		ret = -FI_ENOMEM;
	} else if (queue->reserved + num > queue->qlen) {
		/* More than that, because others will follow. */
		qlen = queue->reserved + num;
		qlen += qlen / 4;
		ret = kfi_failed("dat_evd_resize", dat_evd_resize(queue->evd, qlen));
	}
	if (!ret) {
		queue->qlen = qlen;
		queue->reserved += num;
	}
	pthread_mutex_unlock(&queue->lock);
	return ret;
}

/**
 * kfi_queue_release - give back the room of a user
 * @queue: the queue
 * @num: as in kfi_queue_reserve()
 */
void kfi_queue_release(struct kfi_queue *queue, DAT_COUNT num)
{
	pthread_mutex_lock(&queue->lock);
	queue->reserved -= num;
	pthread_mutex_unlock(&queue->lock);
}

/**
 * kfi_wait_control - see fi_control(3)
 * @wait_obj: what the program can wait with
 * @fd: the descriptor
 * @command: FI_GETWAIT, FI_GETWAITOBJ
 * @arg: its argument
 *
 * Return: 0, -FI_ENODATA without a descriptor, -FI_ENOSYS.
 */
int kfi_wait_control(enum fi_wait_obj wait_obj, int fd, int command, void *arg)
{
	switch (command) {
	case FI_GETWAIT:
		if (wait_obj != FI_WAIT_FD)
			return -FI_ENODATA;
		*(int *)arg = fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/**
 * kfi_deadline - the end of a time limit
 * @timeout: milliseconds from now; negative without a limit
 *
 * Return: the end, for kfi_time_left().
 */
int64_t kfi_deadline(int timeout)
{
	return timeout < 0 ? -1 : now_ms() + timeout;
}

/**
 * kfi_time_left - the rest of a time limit
 * @deadline: from kfi_deadline()
 *
 * Return: milliseconds; -1 without a limit.
 */
int kfi_time_left(int64_t deadline)
{
	int64_t left;

	if (deadline < 0)
		return -1;
	left = deadline - now_ms();
	return left > 0 ? (int)left : 0;
}

/**
 * kfi_queue_wait - wait until there is something to read
 * @queue: the queue
 * @deadline: from kfi_deadline()
 *
 * Return: 0, -FI_EAGAIN after the time limit, -FI_EINTR, -FI_ENODEV if the device was removed.
 */
int kfi_queue_wait(struct kfi_queue *queue, int64_t deadline)
{
	struct pollfd pollfds[2] = {
		{ .fd = queue->evd_fd },
		{ .fd = queue->fd, .events = POLLIN },
	};

	if (poll(pollfds, 2, kfi_time_left(deadline)) < 0)
		return -errno;
	if (pollfds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return -FI_ENODEV;
	return pollfds[1].revents ? 0 : -FI_EAGAIN;
}

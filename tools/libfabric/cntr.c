// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cntr.c - a counter of completions
 *
 * DAT has no counters. A counter watches the CQs of its endpoints: who reads the counter, or
 * waits for it, takes completions out of their EVDs, and leaves them in the CQs. An endpoint
 * without a CQ gets one that belongs to the counter, whose completions only count.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "kfi.h"

/**
 * struct kfi_watch - a CQ that a counter watches
 * @next: the next one
 * @cq: the CQ
 * @users: endpoints that have the counter and the CQ
 * @fd: descriptor of the EVD
 */
struct kfi_watch {
	struct kfi_watch *next;
	struct kfi_cq *cq;
	int users;
	int fd;
};

/* The value has changed. */
static void changed(struct kfi_cntr *cntr)
{
	if (__atomic_load_n(&cntr->waiters, __ATOMIC_SEQ_CST))
		eventfd_write(cntr->wake_fd, 1);
	if (cntr->event_fd >= 0)
		eventfd_write(cntr->event_fd, 1);
}

/* Has the value changed since the last call? */
static bool take_change(int event_fd)
{
	eventfd_t value;

	return event_fd >= 0 && !eventfd_read(event_fd, &value);
}

/**
 * kfi_cntr_count - count a completion
 * @cntr: the counter
 * @is_error: it is an error
 */
void kfi_cntr_count(struct kfi_cntr *cntr, bool is_error)
{
	__atomic_add_fetch(is_error ? &cntr->errors : &cntr->value, 1, __ATOMIC_SEQ_CST);
	changed(cntr);
}

static int add_watch(struct kfi_cntr *cntr, struct kfi_cq *cq)
{
	struct kfi_watch *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return -FI_ENOMEM;
	ret = kfi_failed("dat_linux_get_fd", dat_linux_get_fd(cq->queue.evd, &w->fd));
	if (ret)
		goto free;
	ret = kfi_add_fd(cntr->evds_fd, w->fd);
	if (ret)
		goto close;
	w->cq = cq;
	w->users = 1;
	w->next = cntr->watches;
	cntr->watches = w;
	return 0;

close:
	close(w->fd);
free:
	free(w);
	return ret;
}

/**
 * kfi_cntr_watch - an endpoint with a counter begins to use a CQ
 * @cntr: the counter
 * @cq: the CQ
 *
 * Return: 0 or an error.
 */
int kfi_cntr_watch(struct kfi_cntr *cntr, struct kfi_cq *cq)
{
	struct kfi_watch *w;
	int ret = 0;

	pthread_mutex_lock(&cntr->lock);
	for (w = cntr->watches; w && w->cq != cq;)
		w = w->next;
	if (w)
		w->users++;
	else
		ret = add_watch(cntr, cq);
	pthread_mutex_unlock(&cntr->lock);
	return ret;
}

/**
 * kfi_cntr_unwatch - an endpoint no longer uses a CQ
 * @cntr: the counter
 * @cq: the CQ, of kfi_cntr_watch()
 */
void kfi_cntr_unwatch(struct kfi_cntr *cntr, struct kfi_cq *cq)
{
	struct kfi_watch **link, *w;

	pthread_mutex_lock(&cntr->lock);
	for (link = &cntr->watches; (*link)->cq != cq;)
		link = &(*link)->next;
	w = *link;
	if (!--w->users) {
		*link = w->next;
		/* Closing its last descriptor takes the EVD out of the epoll. */
		close(w->fd);
		free(w);
	}
	pthread_mutex_unlock(&cntr->lock);
}

/**
 * kfi_cntr_cq - the CQ for an endpoint that has a counter alone
 * @cntr: the counter
 * @cq: out: the CQ, which the counter closes
 *
 * Return: 0 or an error.
 */
int kfi_cntr_cq(struct kfi_cntr *cntr, struct kfi_cq **cq)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fid_cq *fid;
	int ret = 0;

	pthread_mutex_lock(&cntr->lock);
	if (!cntr->own) {
		ret = kfi_cq_open(&cntr->domain->fid, &attr, &fid, NULL);
		if (!ret) {
			cntr->own = kfi_container(fid, struct kfi_cq, fid);
			cntr->own->only_counts = true;
		}
	}
	*cq = cntr->own;
	pthread_mutex_unlock(&cntr->lock);
	return ret;
}

/* Counts what is in the EVDs. */
static void progress(struct kfi_cntr *cntr)
{
	struct kfi_watch *w;

	pthread_mutex_lock(&cntr->lock);
	for (w = cntr->watches; w; w = w->next)
		kfi_cq_progress(w->cq);
	pthread_mutex_unlock(&cntr->lock);
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);

	progress(cntr);
	return __atomic_load_n(&cntr->value, __ATOMIC_SEQ_CST);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);

	progress(cntr);
	return __atomic_load_n(&cntr->errors, __ATOMIC_SEQ_CST);
}

static int add(struct kfi_cntr *cntr, uint64_t *counter, uint64_t value)
{
	__atomic_add_fetch(counter, value, __ATOMIC_SEQ_CST);
	changed(cntr);
	return 0;
}

static int set(struct kfi_cntr *cntr, uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_SEQ_CST);
	changed(cntr);
	return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);

	return add(cntr, &cntr->value, value);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);

	return set(cntr, &cntr->value, value);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);

	return add(cntr, &cntr->errors, value);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);

	return set(cntr, &cntr->errors, value);
}

/* Waits until an EVD has an event, or the value has changed. */
static int sleep_once(struct kfi_cntr *cntr, int64_t deadline)
{
	struct pollfd pollfds[2] = {
		{ .fd = cntr->evds_fd, .events = POLLIN },
		{ .fd = cntr->wake_fd, .events = POLLIN },
	};
	struct epoll_event event;
	int num;

	num = poll(pollfds, 2, kfi_time_left(deadline));
	if (num < 0)
		return -errno;
	if (!num)
		return -FI_ETIMEDOUT;
	if (epoll_wait(cntr->evds_fd, &event, 1, 0) == 1 &&
	    event.events & (EPOLLHUP | EPOLLERR))
		return -FI_ENODEV;
	take_change(cntr->wake_fd);
	return 0;
}

/* One thread sleeps for all, and wakes up the others. Called with the lock of the waiters. */
static int sleep_or_follow(struct kfi_cntr *cntr, int64_t deadline)
{
	struct timespec end = { .tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000 };
	int ret;

	if (cntr->is_watched) {
		ret = deadline < 0 ? pthread_cond_wait(&cntr->woken, &cntr->wait_lock) :
				     pthread_cond_clockwait(&cntr->woken, &cntr->wait_lock,
							    CLOCK_MONOTONIC, &end);
		return ret == ETIMEDOUT ? -FI_ETIMEDOUT : -ret;
	}
	cntr->is_watched = true;
	pthread_mutex_unlock(&cntr->wait_lock);
	ret = sleep_once(cntr, deadline);
	pthread_mutex_lock(&cntr->wait_lock);
	cntr->is_watched = false;
	pthread_cond_broadcast(&cntr->woken);
	return ret;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid);
	uint64_t errors = __atomic_load_n(&cntr->errors, __ATOMIC_SEQ_CST);
	int64_t deadline = kfi_deadline(timeout);
	int ret = 0;

	__atomic_add_fetch(&cntr->waiters, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&cntr->wait_lock);
	while (!ret && cntr_read(fid) < threshold) {
		if (__atomic_load_n(&cntr->errors, __ATOMIC_SEQ_CST) != errors)
			ret = -FI_EAVAIL;
		else
			ret = sleep_or_follow(cntr, deadline);
	}
	pthread_mutex_unlock(&cntr->wait_lock);
	__atomic_sub_fetch(&cntr->waiters, 1, __ATOMIC_SEQ_CST);
	return ret;
}

/**
 * kfi_cntr_is_quiet - test whether the descriptor of a counter may be waited for
 * @cntr: the counter
 *
 * Return: true if the value has not changed since the last call.
 */
bool kfi_cntr_is_quiet(struct kfi_cntr *cntr)
{
	bool is_quiet = !take_change(cntr->event_fd);

	progress(cntr);
	return !take_change(cntr->event_fd) && is_quiet;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid.fid);

	return kfi_wait_control(cntr->wait_obj, cntr->fd, command, arg);
}

static void close_fds(struct kfi_cntr *cntr)
{
	kfi_close_fd(cntr->fd);
	kfi_close_fd(cntr->event_fd);
	kfi_close_fd(cntr->wake_fd);
	kfi_close_fd(cntr->evds_fd);
}

static int cntr_close(struct fid *fid)
{
	struct kfi_cntr *cntr = kfi_container(fid, struct kfi_cntr, fid.fid);

	if (kfi_is_used(&cntr->refs))
		return -FI_EBUSY;
	if (cntr->own)
		fi_close(&cntr->own->fid.fid);
	close_fds(cntr);
	pthread_cond_destroy(&cntr->woken);
	pthread_mutex_destroy(&cntr->wait_lock);
	pthread_mutex_destroy(&cntr->lock);
	kfi_put(&cntr->domain->refs);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fi_ops = {
	.size = sizeof(cntr_fi_ops),
	.close = cntr_close,
	.bind = kfi_no_bind,
	.control = cntr_control,
	.ops_open = kfi_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(cntr_ops),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

static int open_fds(struct kfi_cntr *cntr)
{
	int ret = 0;

	cntr->evds_fd = epoll_create1(EPOLL_CLOEXEC);
	cntr->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	cntr->event_fd = -1;
	cntr->fd = -1;
	if (cntr->evds_fd < 0 || cntr->wake_fd < 0)
		ret = -errno;
	if (!ret && cntr->wait_obj == FI_WAIT_FD) {
		cntr->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		cntr->fd = kfi_poll_fd(cntr->evds_fd, cntr->event_fd);
		ret = cntr->fd < 0 ? cntr->fd : 0;
	}
	if (ret)
		close_fds(cntr);
	return ret;
}

/**
 * kfi_cntr_open - see fi_cntr(3)
 * @domain: its domain
 * @attr: what it counts, and its wait object
 * @cntr: out
 * @context: of the program
 *
 * Return: 0, -FI_ENOSYS for what the provider does not have, -FI_ENOMEM, another error.
 */
int kfi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		  void *context)
{
	struct kfi_domain *d = kfi_container(domain, struct kfi_domain, fid);
	struct kfi_cntr *c;
	int ret;

	if (attr->events != FI_CNTR_EVENTS_COMP || attr->flags ||
	    (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	     attr->wait_obj != FI_WAIT_FD))
		return -FI_ENOSYS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	c->wait_obj = attr->wait_obj == FI_WAIT_UNSPEC ? FI_WAIT_FD : attr->wait_obj;
	ret = open_fds(c);
	if (ret) {
		free(c);
		return ret;
	}
	c->domain = d;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->wait_lock, NULL);
	pthread_cond_init(&c->woken, NULL);
	c->fid.fid.fclass = FI_CLASS_CNTR;
	c->fid.fid.context = context;
	c->fid.fid.ops = &cntr_fi_ops;
	c->fid.ops = &cntr_ops;
	kfi_get(&d->refs);
	*cntr = &c->fid;
	return 0;
}

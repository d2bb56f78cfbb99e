// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fi_wait.c - the provider for libfabric: who waits is awakened, whatever another thread reads
 *
 * A test is one thread, which does what several would do: fi_trywait() allows it to poll, then it
 * reads as another thread, and then it polls.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

#include "fi_pair.h"

FIXTURE(fi_wait)
{
	struct fi_pair p;
	struct fid *fid;
	int fd;
};

FIXTURE_SETUP(fi_wait)
{
	struct fi_pair *p = &self->p;

	p->hints = fi_pair_hints();
	ASSERT_EQ(0, fi_pair_open(p));
	ASSERT_EQ(0, open_ep(p, &p->a, p->info));
	ASSERT_EQ(0, fi_pair_connect(p));
	ASSERT_EQ(0, recv_to(&p->b, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&p->b, 0, 64, 2));
	self->fid = &p->b.cq->fid;
	ASSERT_EQ(0, fi_control(self->fid, FI_GETWAIT, &self->fd));
	ASSERT_EQ(0, fi_trywait(p->fabric, &self->fid, 1));
}

FIXTURE_TEARDOWN(fi_wait)
{
	EXPECT_EQ(0, fi_pair_close(&self->p));
}

static int poll_in(int fd, int timeout)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, timeout);
}

TEST_F(fi_wait, reader_leaves_a_completion)
{
	struct fi_cq_data_entry entry;
	struct fi_pair *p = &self->p;

	ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	/* Mostly both are there then, and one read takes both out of the EVD. */
	usleep(50000);
	ASSERT_EQ(0, completion(&p->b, &entry));
	EXPECT_EQ(1, poll_in(self->fd, FI_TIMEOUT_MS));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, &self->fid, 1));
	ASSERT_EQ(0, completion(&p->b, &entry));
	EXPECT_EQ(0, fi_trywait(p->fabric, &self->fid, 1));
	EXPECT_EQ(0, poll_in(self->fd, 0));
}

TEST_F(fi_wait, reader_reads_nothing)
{
	struct fi_pair *p = &self->p;

	ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	ASSERT_EQ(1, poll_in(self->fd, FI_TIMEOUT_MS));
	EXPECT_EQ(0, fi_cq_read(p->b.cq, NULL, 0));
	EXPECT_EQ(1, poll_in(self->fd, 0));
}

TEST_F(fi_wait, another_tries_to_wait)
{
	struct fi_cq_data_entry entry;
	struct fi_pair *p = &self->p;

	ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	ASSERT_EQ(1, poll_in(self->fd, FI_TIMEOUT_MS));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, &self->fid, 1));
	EXPECT_EQ(1, poll_in(self->fd, 0));
	ASSERT_EQ(1, fi_cq_read(p->b.cq, &entry, 1));
	EXPECT_EQ(0, poll_in(self->fd, 0));
}

TEST_F(fi_wait, error_is_left)
{
	struct fi_cq_err_entry error = { .err_data_size = 0 };
	struct fi_cq_data_entry entry;
	struct fi_pair *p = &self->p;

	ASSERT_EQ(0, fi_shutdown(p->a.ep, 0));
	ASSERT_EQ(0, expect_event(p->b.eq, FI_SHUTDOWN, &p->b.ep->fid));
	ASSERT_EQ(1, poll_in(self->fd, FI_TIMEOUT_MS));
	EXPECT_EQ(-FI_EAVAIL, fi_cq_sread(p->b.cq, &entry, 1, NULL, FI_TIMEOUT_MS));
	EXPECT_EQ(1, poll_in(self->fd, FI_TIMEOUT_MS));
	ASSERT_EQ(1, fi_cq_readerr(p->b.cq, &error, 0));
	EXPECT_EQ(1, poll_in(self->fd, FI_TIMEOUT_MS));
	ASSERT_EQ(-FI_EAVAIL, completion(&p->b, &entry));
	ASSERT_EQ(1, fi_cq_readerr(p->b.cq, &error, 0));
	EXPECT_EQ(0, poll_in(self->fd, 0));
}

TEST_F(fi_wait, event_is_looked_at)
{
	struct fi_eq_cm_entry entry;
	struct fi_pair *p = &self->p;
	struct fid *fid = &p->b.eq->fid;
	uint32_t type;
	int fd;

	ASSERT_EQ(0, fi_control(fid, FI_GETWAIT, &fd));
	ASSERT_EQ(0, fi_trywait(p->fabric, &fid, 1));
	EXPECT_EQ(0, poll_in(fd, 0));
	ASSERT_EQ(0, fi_shutdown(p->a.ep, 0));
	ASSERT_EQ(1, poll_in(fd, FI_TIMEOUT_MS));
	ASSERT_EQ(sizeof(entry), fi_eq_read(p->b.eq, &type, &entry, sizeof(entry), FI_PEEK));
	EXPECT_EQ(1, poll_in(fd, 0));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, &fid, 1));
	ASSERT_EQ(0, expect_event(p->b.eq, FI_SHUTDOWN, &p->b.ep->fid));
	EXPECT_EQ(0, poll_in(fd, 0));
}

/* An event that a program writes, and a request of a peer, wake it up. */
TEST_F(fi_wait, events_of_all_kinds)
{
	struct fi_eq_entry in = { .data = 42 }, out;
	struct fi_pair *p = &self->p;
	struct fid *fid = &p->b.eq->fid;
	struct fid_ep *first = p->a.ep;
	struct fi_eq_cm_entry entry;
	uint32_t type;
	int fd;

	ASSERT_EQ(0, fi_control(fid, FI_GETWAIT, &fd));
	ASSERT_EQ(0, fi_trywait(p->fabric, &fid, 1));
	ASSERT_EQ(sizeof(in), fi_eq_write(p->b.eq, FI_NOTIFY, &in, sizeof(in), 0));
	EXPECT_EQ(1, poll_in(fd, 0));
	ASSERT_EQ(sizeof(out), fi_eq_read(p->b.eq, &type, &out, sizeof(out), 0));
	EXPECT_EQ(0, poll_in(fd, 0));
	ASSERT_EQ(0, open_ep(p, &p->a, p->info));
	ASSERT_EQ(0, fi_connect(p->a.ep, &p->address, NULL, 0));
	EXPECT_EQ(1, poll_in(fd, FI_TIMEOUT_MS));
	ASSERT_EQ(0, next_event(p->b.eq, &type, &entry, NULL, 0));
	EXPECT_EQ(FI_CONNREQ, type);
	ASSERT_EQ(0, fi_reject(p->pep, entry.info->handle, NULL, 0));
	fi_freeinfo(entry.info);
	EXPECT_EQ(0, fi_close(&first->fid));
}

#define PEERS	200

/* Peers without an answer take no room from the events of an endpoint. */
TEST_F_TIMEOUT(fi_wait, requests_leave_room_for_events, 120)
{
	struct fid_ep *eps[PEERS], *first = self->p.a.ep;
	unsigned int requests = 0, refused = 0, i;
	struct fi_pair *p = &self->p;
	struct fi_eq_err_entry error = { .err_data_size = 0 };
	struct fi_eq_cm_entry entry;
	uint32_t type;
	ssize_t ret;

	p->info->tx_attr->size = 1;
	p->info->rx_attr->size = 1;
	for (i = 0; i < PEERS; i++) {
		ASSERT_EQ(0, open_ep(p, &p->a, p->info));
		eps[i] = p->a.ep;
		ASSERT_EQ(0, fi_connect(eps[i], &p->address, NULL, 0));
	}
	p->a.ep = first;
	/* A refusal says that the queue is full. */
	ASSERT_EQ(-FI_EAVAIL, next_event(p->a.eq, &type, &entry, NULL, 0));
	ASSERT_EQ(0, fi_shutdown(first, 0));
	do {
		ret = next_event(p->b.eq, &type, &entry, NULL, 0);
		ASSERT_EQ(0, ret);
		if (type != FI_CONNREQ)
			break;
		requests++;
		ASSERT_EQ(0, fi_reject(p->pep, entry.info->handle, NULL, 0));
		fi_freeinfo(entry.info);
	} while (requests < PEERS);
	EXPECT_EQ(FI_SHUTDOWN, type);
	EXPECT_EQ(&p->b.ep->fid, entry.fid);
	/* Every peer gets an answer. */
	while (refused < PEERS) {
		ret = fi_eq_read(p->a.eq, &type, &entry, sizeof(entry), 0);
		if (ret == -FI_EAVAIL && fi_eq_readerr(p->a.eq, &error, 0) > 0)
			refused++;
		if (fi_eq_read(p->b.eq, &type, &entry, sizeof(entry), 0) < 0)
			continue;
		ASSERT_EQ(FI_CONNREQ, type);
		ASSERT_EQ(0, fi_reject(p->pep, entry.info->handle, NULL, 0));
		fi_freeinfo(entry.info);
	}
	for (i = 0; i < PEERS; i++)
		EXPECT_EQ(0, fi_close(&eps[i]->fid));
}

#define COUNTS	300

static void *wait_for_each(void *arg)
{
	uint64_t i;
	int ret;

	for (i = 1; i <= COUNTS; i++) {
		ret = fi_cntr_wait(arg, i, FI_TIMEOUT_MS);
		if (ret)
			return (void *)(intptr_t)ret;
	}
	return NULL;
}

/* fi_trywait() takes no wake-up from a thread in fi_cntr_wait(). */
TEST_F(fi_wait, counter_is_polled_and_waited_for)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_FD };
	struct fi_pair *p = &self->p;
	struct fid_cntr *cntr;
	pthread_t thread;
	struct fid *fid;
	void *ret;
	int i;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &attr, &cntr, NULL));
	fid = &cntr->fid;
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_each, cntr));
	for (i = 0; i < COUNTS; i++) {
		/* Let the thread fall asleep. */
		usleep(1000);
		ASSERT_EQ(0, fi_cntr_add(cntr, 1));
		fi_trywait(p->fabric, &fid, 1);
	}
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(0, (intptr_t)ret);
	EXPECT_EQ(0, fi_close(fid));
}

static void *wait_for_one(void *arg)
{
	return (void *)(intptr_t)fi_cntr_wait(arg, 1, FI_TIMEOUT_MS);
}

/* Nor does fi_cntr_wait() take one from a thread that polls. */
TEST_F(fi_wait, counter_is_waited_for_and_polled)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_FD };
	struct fi_pair *p = &self->p;
	struct fid_cntr *cntr;
	pthread_t thread;
	struct fid *fid;
	void *ret;
	int fd;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &attr, &cntr, NULL));
	fid = &cntr->fid;
	ASSERT_EQ(0, fi_control(fid, FI_GETWAIT, &fd));
	ASSERT_EQ(0, fi_trywait(p->fabric, &fid, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_one, cntr));
	/* Mostly it sleeps then. */
	usleep(50000);
	ASSERT_EQ(0, fi_cntr_add(cntr, 1));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(0, (intptr_t)ret);
	EXPECT_EQ(1, poll_in(fd, 0));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, &fid, 1));
	EXPECT_EQ(0, poll_in(fd, 0));
	EXPECT_EQ(0, fi_close(fid));
}

TEST_HARNESS_MAIN

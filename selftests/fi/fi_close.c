// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fi_close.c - the provider for libfabric: what is left of an endpoint that was closed
 */
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "harness.h"

#include "fi_pair.h"

FIXTURE(fi_close)
{
	struct fi_pair p;
};

FIXTURE_SETUP(fi_close)
{
	self->p.hints = fi_pair_hints();
	ASSERT_EQ(0, fi_pair_open(&self->p));
}

FIXTURE_TEARDOWN(fi_close)
{
	EXPECT_EQ(0, fi_pair_close(&self->p));
}

static int connect_ends(struct fi_pair *p)
{
	return open_ep(p, &p->a, p->info) ?: fi_pair_connect(p);
}

static int close_ep(struct fi_end *end)
{
	int ret = fi_close(&end->ep->fid);

	end->ep = NULL;
	return ret;
}

/* Waits until a completion is in the queue, and does not read it. */
static int await_completion(struct fi_end *end)
{
	struct pollfd pollfd = { .events = POLLIN };
	int ret = fi_control(&end->cq->fid, FI_GETWAIT, &pollfd.fd);

	return ret ?: poll(&pollfd, 1, FI_TIMEOUT_MS) == 1 ? 0 : -FI_ETIMEDOUT;
}

/*
 * ofi_rxm posts to an endpoint that it has closed when it reads the last messages from there.
 * An error would make it drop the other messages, and its buffers.
 */
TEST_F(fi_close, closed_endpoint_flushes_posts)
{
	struct fi_cq_data_entry entry;
	struct fi_end closed;

	ASSERT_EQ(0, connect_ends(&self->p));
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 1));
	ASSERT_EQ(0, send_from(&self->p.a, 0, 8, 2));
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	ASSERT_EQ(0, await_completion(&self->p.b));
	closed = self->p.b;
	ASSERT_EQ(0, close_ep(&self->p.b));
	EXPECT_EQ(0, recv_to(&closed, 0, 64, 3));
	EXPECT_EQ(0, send_from(&closed, 0, 8, 4));
	EXPECT_EQ(0, fi_inject(closed.ep, closed.buf, 8, 0));
	ASSERT_EQ(0, completion(&self->p.b, &entry));
	EXPECT_EQ(1, (uintptr_t)entry.op_context);
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.b));
	EXPECT_EQ(0, recv_to(&closed, 0, 64, 3));
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.b));
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.b));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->p.b.cq, &entry, 1));
}

/* fi_endpoint(3): their contexts may no longer be there. */
TEST_F(fi_close, outstanding_operations_are_discarded)
{
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, connect_ends(&self->p));
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 1));
	ASSERT_EQ(0, close_ep(&self->p.b));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->p.b.cq, &entry, 1));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->p.b.cq, &entry, 1, NULL, 50));
}

/* A message that is there stays there, also between what was discarded. */
TEST_F(fi_close, message_outlives_endpoint)
{
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, connect_ends(&self->p));
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 2));
	ASSERT_EQ(0, send_from(&self->p.a, 0, 8, 3));
	ASSERT_EQ(0, await_completion(&self->p.b));
	ASSERT_EQ(0, close_ep(&self->p.b));
	ASSERT_EQ(0, completion(&self->p.b, &entry));
	EXPECT_EQ(1, (uintptr_t)entry.op_context);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->p.b.cq, &entry, 1));
}

/* Another endpoint of the queue loses nothing. */
TEST_F(fi_close, other_endpoint_keeps_its_completions)
{
	struct fi_cq_data_entry entry;
	struct fi_pair *p = &self->p;
	struct fi_end first;
	struct fid_ep *a;

	ASSERT_EQ(0, connect_ends(p));
	first = p->b;
	a = p->a.ep;
	ASSERT_EQ(0, connect_ends(p));
	ASSERT_EQ(0, recv_to(&first, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&p->b, 64, 64, 2));
	ASSERT_EQ(0, recv_to(&p->b, 128, 64, 3));
	ASSERT_EQ(0, send_from(&p->a, 0, 8, 4));
	ASSERT_EQ(0, await_completion(&p->b));
	ASSERT_EQ(0, close_ep(&first));
	ASSERT_EQ(0, fi_shutdown(p->a.ep, 0));
	ASSERT_EQ(0, completion(&p->b, &entry));
	EXPECT_EQ(2, (uintptr_t)entry.op_context);
	EXPECT_EQ(FI_ECANCELED, failure(&p->b));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->b.cq, &entry, 1));
	EXPECT_EQ(0, fi_close(&a->fid));
}

/* An unread completion counts, and a silent one stays silent. */
TEST_F(fi_close, counter_of_a_closed_endpoint)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_cq_data_entry entry;
	struct fi_pair *p = &self->p;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &attr, &p->a.cntr, NULL));
	p->a.counts = FI_WRITE;
	p->a.tx_flags = FI_SELECTIVE_COMPLETION;
	ASSERT_EQ(0, connect_ends(p));
	ASSERT_EQ(0, fi_inject_write(p->a.ep, p->a.buf, 8, 0, (uintptr_t)p->b.buf,
				     fi_mr_key(p->b.mr)));
	ASSERT_EQ(0, await_completion(&p->a));
	ASSERT_EQ(0, close_ep(&p->a));
	EXPECT_EQ(1, fi_cntr_read(p->a.cntr));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->a.cq, &entry, 1));
}

/* A lock as in ofi_rxm: a thread looks for an event without it, and reads the event with it. */
struct watch {
	struct fi_pair *p;
	pthread_mutex_t lock;
	struct fi_info *request;
	bool stop;
	unsigned int events, wrong;
};

/* Is the event one of side b, whose endpoint is open? */
static void note_event(struct watch *w, fid_t fid)
{
	w->events++;
	if (fid->context != &w->p->b && fid->context != w->p)
		w->wrong++;
}

static void read_event(struct watch *w)
{
	unsigned char buf[sizeof(struct fi_eq_cm_entry) + 256];
	struct fi_eq_cm_entry *entry = (void *)buf;
	struct fi_eq_err_entry error = { .err_data_size = 0 };
	uint32_t type;
	ssize_t ret;

	ret = fi_eq_read(w->p->b.eq, &type, buf, sizeof(buf), 0);
	if (ret > 0)
		note_event(w, entry->fid);
	if (ret > 0 && type == FI_CONNREQ)
		__atomic_store_n(&w->request, entry->info, __ATOMIC_RELEASE);
	if (ret == -FI_EAVAIL && fi_eq_readerr(w->p->b.eq, &error, 0) > 0)
		note_event(w, error.fid);
}

static void *watch_events(void *arg)
{
	unsigned char buf[sizeof(struct fi_eq_cm_entry) + 256];
	struct watch *w = arg;
	uint32_t type;

	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		fi_eq_sread(w->p->b.eq, &type, buf, sizeof(buf), 10, FI_PEEK);
		pthread_mutex_lock(&w->lock);
		read_event(w);
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

/* Side b accepts and closes at once; in every second round the peer also ends the connection. */
static int come_and_go(struct watch *w, bool shutdown)
{
	struct fi_pair *p = w->p;
	struct fi_info *request;
	int ret;

	w->request = NULL;
	ret = fi_connect(p->a.ep, &p->address, NULL, 0);
	while (!ret && !(request = __atomic_load_n(&w->request, __ATOMIC_ACQUIRE)))
		usleep(100);
	if (ret)
		return ret;
	pthread_mutex_lock(&w->lock);
	ret = open_ep(p, &p->b, request) ?: fi_accept(p->b.ep, NULL, 0);
	pthread_mutex_unlock(&w->lock);
	fi_freeinfo(request);
	ret = ret ?: expect_event(p->a.eq, FI_CONNECTED, &p->a.ep->fid);
	if (!ret && shutdown)
		ret = fi_shutdown(p->a.ep, 0);
	pthread_mutex_lock(&w->lock);
	ret = ret ?: fi_close(&p->b.ep->fid);
	p->b.ep = NULL;
	pthread_mutex_unlock(&w->lock);
	ret = ret ?: fi_close(&p->a.ep->fid);
	return ret ?: open_ep(p, &p->a, p->info);
}

/* No event names a closed endpoint. malloc() overwrites freed memory, so a late event shows. */
TEST_F_TIMEOUT(fi_close, close_while_another_thread_reads, 120)
{
	struct watch w = { .p = &self->p, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;
	unsigned int i;

	mallopt(M_PERTURB, 0x5a);
	ASSERT_EQ(0, open_ep(&self->p, &self->p.a, self->p.info));
	ASSERT_EQ(0, pthread_create(&thread, NULL, watch_events, &w));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, come_and_go(&w, i % 2));
	__atomic_store_n(&w.stop, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_LE(100, w.events);
	EXPECT_EQ(0, w.wrong);
}

TEST_HARNESS_MAIN

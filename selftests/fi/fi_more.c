// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fi_more.c - the provider for libfabric: data of completions, shared receive contexts, counters,
 * and DTOs that wait for more of them
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#include "link.h"

#include "fi_pair.h"

FIXTURE(fi_more)
{
	struct fi_pair p;
};

FIXTURE_SETUP(fi_more)
{
	self->p.hints = fi_pair_hints();
	self->p.hints->mode = FI_RX_CQ_DATA;
	ASSERT_EQ(0, fi_pair_open(&self->p));
}

FIXTURE_TEARDOWN(fi_more)
{
	EXPECT_EQ(0, fi_pair_close(&self->p));
}

static int connect_ends(struct fi_pair *p)
{
	return open_ep(p, &p->a, p->info) ?: fi_pair_connect(p);
}

static struct fi_cntr_attr counts_completions = {
	.events = FI_CNTR_EVENTS_COMP,
	.wait_obj = FI_WAIT_UNSPEC,
};

static ssize_t write_to_b(struct fi_pair *p, size_t at, size_t len, uintptr_t context)
{
	return fi_write(p->a.ep, p->a.buf + at, len, fi_mr_desc(p->a.mr), 0,
			(uintptr_t)p->b.buf + at, fi_mr_key(p->b.mr), (void *)context);
}

/* iWARP has no data in completions, and the entry shows this. */
TEST_F(fi_more, data_of_a_message)
{
	struct fi_cq_data_entry entry;

	EXPECT_EQ(link_is_iwarp() ? 0 : 4, self->p.info->domain_attr->cq_data_size);
	ASSERT_EQ(0, connect_ends(&self->p));
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 1));
	memset(self->p.a.buf, 3, 32);
	if (link_is_iwarp()) {
		EXPECT_EQ(-FI_ENOSYS, fi_senddata(self->p.a.ep, self->p.a.buf, 32,
						  fi_mr_desc(self->p.a.mr), 77, 0, NULL));
		return;
	}
	ASSERT_EQ(0, fi_senddata(self->p.a.ep, self->p.a.buf, 32, fi_mr_desc(self->p.a.mr),
				 0x89abcdef, 0, (void *)2));
	ASSERT_EQ(0, completion(&self->p.b, &entry));
	EXPECT_EQ(FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA, entry.flags);
	EXPECT_EQ(0x89abcdef, entry.data);
	EXPECT_EQ(32, entry.len);
	EXPECT_EQ(0, memcmp(self->p.a.buf, self->p.b.buf, 32));
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	EXPECT_EQ(FI_SEND | FI_MSG, entry.flags);

	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 1));
	ASSERT_EQ(0, fi_injectdata(self->p.a.ep, self->p.a.buf, 8, 5, 0));
	ASSERT_EQ(0, completion(&self->p.b, &entry));
	EXPECT_EQ(5, entry.data);
	EXPECT_EQ(8, entry.len);
}

/* It consumes a receive, whose buffer stays as it is. */
TEST_F(fi_more, data_of_a_write)
{
	struct fi_cq_data_entry entry;

	if (link_is_iwarp())
		SKIP(return, "iWARP has no immediate data");
	EXPECT_TRUE(self->p.info->rx_attr->mode & FI_RX_CQ_DATA);
	ASSERT_EQ(0, connect_ends(&self->p));
	memset(self->p.a.buf, 9, 100);
	ASSERT_EQ(0, recv_to(&self->p.b, 4096, 64, 1));
	ASSERT_EQ(0, fi_writedata(self->p.a.ep, self->p.a.buf, 100, fi_mr_desc(self->p.a.mr),
				  12345, 0, (uintptr_t)self->p.b.buf, fi_mr_key(self->p.b.mr),
				  (void *)2));
	ASSERT_EQ(0, completion(&self->p.b, &entry));
	EXPECT_EQ(FI_REMOTE_WRITE | FI_RMA | FI_REMOTE_CQ_DATA, entry.flags);
	EXPECT_EQ(12345, entry.data);
	EXPECT_EQ(100, entry.len);
	EXPECT_EQ(0, memcmp(self->p.a.buf, self->p.b.buf, 100));
	EXPECT_EQ(0, self->p.b.buf[4096]);
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	EXPECT_EQ(FI_WRITE | FI_RMA, entry.flags);
}

/* A program that does not know about the receive gets no data with RMA. */
TEST_F(fi_more, data_need_the_mode)
{
	struct fi_info *info;

	self->p.hints->mode = 0;
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, self->p.hints, &info));
	EXPECT_EQ(0, info->domain_attr->cq_data_size);
	fi_freeinfo(info);
	self->p.hints->caps = FI_MSG;
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, self->p.hints, &info));
	EXPECT_EQ(link_is_iwarp() ? 0 : 4, info->domain_attr->cq_data_size);
	fi_freeinfo(info);
}

/* Side b has two endpoints, which take their receives from one queue. */
TEST_F(fi_more, shared_receives)
{
	struct fi_rx_attr attr = { .size = 32, .iov_limit = 1 };
	struct fid_ep *first[2], *from;
	struct fi_pair *p = &self->p;
	struct fi_cq_data_entry entry;
	uintptr_t i;

	ASSERT_EQ(0, fi_srx_context(p->domain, &attr, &p->b.srx, NULL));
	EXPECT_EQ(-FI_EOPBADSTATE, fi_send(p->b.srx, p->b.buf, 8, NULL, 0, NULL));
	EXPECT_EQ(-FI_EOPBADSTATE, fi_ep_bind(p->b.srx, &p->b.cq->fid, FI_RECV));
	ASSERT_EQ(0, connect_ends(p));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->b.srx->fid));
	EXPECT_EQ(-FI_EOPBADSTATE, recv_to(&p->b, 0, 64, 1));
	first[0] = p->a.ep;
	first[1] = p->b.ep;
	ASSERT_EQ(0, connect_ends(p));
	for (i = 0; i < 32; i++)
		ASSERT_EQ(0, fi_recv(p->b.srx, p->b.buf + i * 64, 64, fi_mr_desc(p->b.mr), 0,
				     (void *)i));
	for (i = 0; i < 32; i++) {
		from = i % 2 ? p->a.ep : first[0];
		ASSERT_EQ(0, fi_inject(from, p->a.buf, 8, 0));
		ASSERT_EQ(0, completion(&p->b, &entry));
		EXPECT_EQ(i, (uintptr_t)entry.op_context);
		EXPECT_EQ(FI_RECV | FI_MSG, entry.flags);
		EXPECT_EQ(8, entry.len);
	}
	EXPECT_EQ(0, fi_close(&first[0]->fid));
	EXPECT_EQ(0, fi_close(&first[1]->fid));
}

TEST_F(fi_more, shared_context_must_be_bound)
{
	struct fi_info *info;

	self->p.hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, self->p.hints, &info));
	EXPECT_EQ(FI_SHARED_CONTEXT, info->ep_attr->rx_ctx_cnt);
	EXPECT_EQ(-FI_EINVAL, open_ep(&self->p, &self->p.a, info));
	fi_freeinfo(info);
}

/* The completions come to the CQ too, but for those that the program does not want to see. */
TEST_F(fi_more, counter_beside_a_queue)
{
	struct fi_cq_data_entry entry;
	struct fi_pair *p = &self->p;
	uintptr_t i;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &counts_completions, &p->a.cntr, NULL));
	p->a.counts = FI_WRITE | FI_SEND;
	p->a.tx_flags = FI_SELECTIVE_COMPLETION;
	ASSERT_EQ(0, open_ep(p, &p->a, p->info) ?: fi_pair_connect(p));
	EXPECT_EQ(-FI_EBUSY, fi_close(&p->a.cntr->fid));
	for (i = 1; i <= 100; i++) {
		struct iovec iov = { .iov_base = p->a.buf, .iov_len = 8 };
		struct fi_rma_iov to = { (uintptr_t)p->b.buf, 8, fi_mr_key(p->b.mr) };
		void *desc = fi_mr_desc(p->a.mr);
		struct fi_msg_rma msg = { &iov, &desc, 1, 0, &to, 1, (void *)i, 0 };

		ASSERT_EQ(0, fi_writemsg(p->a.ep, &msg, i % 10 ? 0 : FI_COMPLETION));
	}
	ASSERT_EQ(0, fi_cntr_wait(p->a.cntr, 100, FI_TIMEOUT_MS));
	EXPECT_EQ(100, fi_cntr_read(p->a.cntr));
	EXPECT_EQ(0, fi_cntr_readerr(p->a.cntr));
	for (i = 10; i <= 100; i += 10) {
		ASSERT_EQ(0, completion(&p->a, &entry));
		EXPECT_EQ(i, (uintptr_t)entry.op_context);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->a.cq, &entry, 1));
}

/* More requests than the queue has room for. No CQ returns their completions. */
TEST_F(fi_more, counter_without_a_queue)
{
	struct fi_pair *p = &self->p;
	struct fi_cq_data_entry entry;
	unsigned int sent = 0;
	ssize_t ret;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &counts_completions, &p->a.cntr, NULL));
	p->a.counts = FI_WRITE | FI_READ | FI_SEND;
	p->a.not_seen = FI_TRANSMIT;
	ASSERT_EQ(0, connect_ends(p));
	while (sent < 3000) {
		ret = write_to_b(p, 0, 8, 1);
		ASSERT_TRUE(!ret || ret == -FI_EAGAIN);
		sent += !ret;
	}
	ASSERT_EQ(0, fi_cntr_wait(p->a.cntr, 3000, FI_TIMEOUT_MS));
	EXPECT_EQ(3000, fi_cntr_read(p->a.cntr));
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->a.cq, &entry, 1));
}

static void *wait_for_two(void *arg)
{
	return (void *)(intptr_t)fi_cntr_wait(arg, 2, FI_TIMEOUT_MS);
}

/* Each of them has its own threshold, and one thread sleeps for both. */
TEST_F(fi_more, counter_wakes_all_waiters)
{
	struct fi_pair *p = &self->p;
	pthread_t threads[2];
	void *ret[2];
	int i;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &counts_completions, &p->b.cntr, NULL));
	p->b.counts = FI_RECV;
	p->b.not_seen = FI_RECV;
	ASSERT_EQ(0, connect_ends(p));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, recv_to(&p->b, 0, 64, 1));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_for_two, p->b.cntr));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], &ret[i]));
		EXPECT_EQ(0, (intptr_t)ret[i]);
	}
	EXPECT_EQ(-FI_ETIMEDOUT, fi_cntr_wait(p->b.cntr, 3, 50));
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, wait_for_two, p->b.cntr));
	ASSERT_EQ(0, fi_cntr_set(p->b.cntr, 7));
	ASSERT_EQ(0, pthread_join(threads[0], &ret[0]));
	EXPECT_EQ(0, fi_cntr_add(p->b.cntr, 3));
	EXPECT_EQ(10, fi_cntr_read(p->b.cntr));
}

TEST_F(fi_more, counter_counts_errors)
{
	struct fi_pair *p = &self->p;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &counts_completions, &p->a.cntr, NULL));
	p->a.counts = FI_RECV;
	ASSERT_EQ(0, connect_ends(p));
	ASSERT_EQ(0, recv_to(&p->a, 0, 64, 1));
	ASSERT_EQ(0, fi_shutdown(p->b.ep, 0));
	EXPECT_EQ(-FI_EAVAIL, fi_cntr_wait(p->a.cntr, 1, FI_TIMEOUT_MS));
	EXPECT_EQ(1, fi_cntr_readerr(p->a.cntr));
	EXPECT_EQ(0, fi_cntr_read(p->a.cntr));
	EXPECT_EQ(FI_ECANCELED, failure(&p->a));
}

TEST_F(fi_more, descriptor_of_a_counter)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_FD };
	struct fi_pair *p = &self->p;
	struct pollfd pollfd = { .events = POLLIN };
	struct fid *fid;
	int tries;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &attr, &p->b.cntr, NULL));
	p->b.counts = FI_RECV;
	ASSERT_EQ(0, connect_ends(p));
	fid = &p->b.cntr->fid;
	ASSERT_EQ(0, fi_control(fid, FI_GETWAIT, &pollfd.fd));
	ASSERT_EQ(0, recv_to(&p->b, 0, 64, 1));
	ASSERT_EQ(0, fi_trywait(p->fabric, &fid, 1));
	EXPECT_EQ(0, poll(&pollfd, 1, 0));
	ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	/* The first event may be one that does not count. */
	for (tries = 0; tries < 5 && !fi_cntr_read(p->b.cntr); tries++)
		if (!fi_trywait(p->fabric, &fid, 1))
			ASSERT_EQ(1, poll(&pollfd, 1, FI_TIMEOUT_MS));
	EXPECT_EQ(1, fi_cntr_read(p->b.cntr));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, &fid, 1));
	EXPECT_EQ(0, fi_trywait(p->fabric, &fid, 1));
}

/* Each of two threads gets one of two completions, whoever takes both out of the EVD. */
static void *read_one(void *arg)
{
	struct fi_cq_data_entry entry;
	struct fi_end *end = arg;

	return (void *)fi_cq_sread(end->cq, &entry, 1, NULL, FI_TIMEOUT_MS);
}

TEST_F(fi_more, two_readers)
{
	struct fi_pair *p = &self->p;
	pthread_t threads[2];
	int i, round;
	void *ret;

	ASSERT_EQ(0, connect_ends(p));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, recv_to(&p->b, 0, 64, 1));
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, read_one, &p->b));
		}
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
		for (i = 0; i < 2; i++) {
			ASSERT_EQ(0, pthread_join(threads[i], &ret));
			EXPECT_EQ(1, (ssize_t)ret);
		}
	}
}

/* A completion wakes the reader of the CQ, though a counter has taken it out of the EVD. */
TEST_F(fi_more, counter_wakes_reader)
{
	struct fi_pair *p = &self->p;
	struct pollfd pollfd = { .events = POLLIN };
	struct fi_cq_data_entry entry;
	struct fid *fid;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, fi_cntr_open(p->domain, &counts_completions, &p->b.cntr, NULL));
	p->b.counts = FI_RECV;
	ASSERT_EQ(0, connect_ends(p));
	fid = &p->b.cq->fid;
	ASSERT_EQ(0, fi_control(fid, FI_GETWAIT, &pollfd.fd));
	ASSERT_EQ(0, recv_to(&p->b, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&p->b, 0, 64, 2));
	ASSERT_EQ(0, fi_trywait(p->fabric, &fid, 1));
	ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	ASSERT_EQ(0, fi_cntr_wait(p->b.cntr, 1, FI_TIMEOUT_MS));
	EXPECT_EQ(1, poll(&pollfd, 1, 0));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(p->fabric, &fid, 1));
	ASSERT_EQ(0, completion(&p->b, &entry));
	EXPECT_EQ(0, fi_trywait(p->fabric, &fid, 1));
	EXPECT_EQ(0, poll(&pollfd, 1, 0));

	ASSERT_EQ(0, pthread_create(&thread, NULL, read_one, &p->b));
	ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
	ASSERT_EQ(0, fi_cntr_wait(p->b.cntr, 2, FI_TIMEOUT_MS));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(1, (ssize_t)ret);
}

/* Nothing is posted before the last one, and then all in order. */
TEST_F(fi_more, batch_is_posted_at_its_end)
{
	struct fi_pair *p = &self->p;
	struct iovec iov = { .iov_base = p->b.buf, .iov_len = 64 };
	void *desc = fi_mr_desc(p->b.mr);
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };
	struct fi_cq_data_entry entry;
	uintptr_t i;

	ASSERT_EQ(0, connect_ends(p));
	for (i = 0; i < 40; i++) {
		iov.iov_base = p->b.buf + i * 64;
		msg.context = (void *)i;
		ASSERT_EQ(0, fi_recvmsg(p->b.ep, &msg, i < 39 ? FI_MORE : 0));
	}
	desc = fi_mr_desc(p->a.mr);
	for (i = 0; i < 40; i++) {
		p->a.buf[i * 64] = (unsigned char)(i + 1);
		iov.iov_base = p->a.buf + i * 64;
		msg.context = (void *)i;
		ASSERT_EQ(0, fi_sendmsg(p->a.ep, &msg, (i % 10 < 9 ? FI_MORE : 0) |
					(i % 3 ? 0 : FI_INJECT)));
		/* The program may change injected data. */
		if (!(i % 3))
			p->a.buf[i * 64] = 0;
	}
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, completion(&p->a, &entry));
		EXPECT_EQ(i, (uintptr_t)entry.op_context);
		ASSERT_EQ(0, completion(&p->b, &entry));
		EXPECT_EQ(i, (uintptr_t)entry.op_context);
		EXPECT_EQ(i + 1, p->b.buf[i * 64]);
	}
}

/* A request that was accepted and cannot be posted fails; the others are posted. */
TEST_F(fi_more, batch_with_a_bad_entry)
{
	struct fi_pair *p = &self->p;
	struct iovec iov = { .iov_base = p->b.buf, .iov_len = 64 };
	void *good = fi_mr_desc(p->b.mr), *bad = (void *)((uintptr_t)good ^ 0x100), *desc;
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };
	struct fi_cq_err_entry error = { .err_data_size = 0 };
	struct fi_cq_data_entry entry;
	uintptr_t i;

	ASSERT_EQ(0, connect_ends(p));
	for (i = 0; i < 4; i++) {
		desc = i == 1 ? bad : good;
		msg.context = (void *)i;
		ASSERT_EQ(0, fi_recvmsg(p->b.ep, &msg, i < 3 ? FI_MORE : 0));
	}
	ASSERT_EQ(-FI_EAVAIL, completion(&p->b, &entry));
	ASSERT_EQ(1, fi_cq_readerr(p->b.cq, &error, 0));
	EXPECT_EQ(1, (uintptr_t)error.op_context);
	EXPECT_EQ(FI_RECV | FI_MSG, error.flags);
	EXPECT_EQ(FI_EIO, error.err);
	/* The last one has its own result. */
	msg.context = (void *)8;
	ASSERT_EQ(0, fi_recvmsg(p->b.ep, &msg, FI_MORE));
	desc = bad;
	EXPECT_GT(0, fi_recvmsg(p->b.ep, &msg, 0));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
		ASSERT_EQ(0, completion(&p->b, &entry));
		EXPECT_EQ(i == 0 ? 0 : i == 3 ? 8 : i + 1, (uintptr_t)entry.op_context);
	}
}

/* Without a queue only the counter shows it. */
TEST_F(fi_more, counter_counts_a_bad_entry)
{
	struct fi_pair *p = &self->p;
	struct iovec iov = { .iov_base = p->b.buf, .iov_len = 64 };
	void *good = fi_mr_desc(p->b.mr), *bad = (void *)((uintptr_t)good ^ 0x100), *desc = bad;
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };

	ASSERT_EQ(0, fi_cntr_open(p->domain, &counts_completions, &p->b.cntr, NULL));
	p->b.counts = FI_RECV;
	p->b.not_seen = FI_RECV;
	ASSERT_EQ(0, connect_ends(p));
	ASSERT_EQ(0, fi_recvmsg(p->b.ep, &msg, FI_MORE));
	desc = good;
	ASSERT_EQ(0, fi_recvmsg(p->b.ep, &msg, 0));
	EXPECT_EQ(1, fi_cntr_readerr(p->b.cntr));
	EXPECT_EQ(0, fi_cntr_read(p->b.cntr));
}

/* A full queue refuses the last request of a batch. Each one that was taken arrives once. */
TEST_F(fi_more, batches_until_full)
{
	struct fi_pair *p = &self->p;
	struct iovec iov = { .iov_base = p->a.buf, .iov_len = 8 };
	struct fi_rma_iov to = { (uintptr_t)p->b.buf, 8, fi_mr_key(p->b.mr) };
	void *desc = fi_mr_desc(p->a.mr);
	struct fi_msg_rma msg = { &iov, &desc, 1, 0, &to, 1, NULL, 0 };
	struct fi_cq_data_entry entry;
	unsigned int num = 0, sent = 0, full = 0;
	ssize_t ret;

	ASSERT_EQ(0, connect_ends(p));
	while (sent < 3000) {
		msg.context = (void *)(uintptr_t)sent;
		ret = fi_writemsg(p->a.ep, &msg, sent % 7 && sent < 2999 ? FI_MORE : 0);
		ASSERT_TRUE(!ret || ret == -FI_EAGAIN);
		sent += !ret;
		full += !!ret;
		if (!ret)
			continue;
		while (!completion(&p->a, &entry) && (uintptr_t)entry.op_context == num) {
			num++;
			if (num == sent || num % 50 == 0)
				break;
		}
	}
	EXPECT_LT(0, full);
	for (; num < 3000; num++) {
		ASSERT_EQ(0, completion(&p->a, &entry));
		ASSERT_EQ(num, (uintptr_t)entry.op_context);
	}
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(p->a.cq, &entry, 1));
}

#define MANY	70

/* The events of all connections wait in the queue of each side, and none is lost. */
TEST_F(fi_more, events_of_many_endpoints)
{
	struct fid_ep *eps[2 * MANY];
	struct fi_pair *p = &self->p;
	struct fi_eq_cm_entry entry;
	uint32_t type;
	int i;

	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, connect_ends(p));
		eps[i] = p->a.ep;
		eps[MANY + i] = p->b.ep;
	}
	p->a.ep = NULL;
	p->b.ep = NULL;
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, fi_shutdown(eps[i], 0));
	for (i = 0; i < 2 * MANY; i++) {
		ASSERT_EQ(0, next_event(i % 2 ? p->b.eq : p->a.eq, &type, &entry, NULL, 0));
		EXPECT_EQ(FI_SHUTDOWN, type);
	}
	for (i = 0; i < 2 * MANY; i++)
		EXPECT_EQ(0, fi_close(&eps[i]->fid));
}

#define LIMIT	"/sys/module/kdapl/parameters/max_file_bytes"

/* The limit for the memory that the kernel has for a process; returns the old one. */
static unsigned long set_limit(unsigned long bytes)
{
	FILE *file = fopen(LIMIT, "r+");
	unsigned long old = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lu", &old) != 1)
		old = 0;
	rewind(file);
	fprintf(file, "%lu", bytes);
	return fclose(file) ? 0 : old;
}

/* Nothing new, with an error for each; and what is there works on. */
TEST_F(fi_more, memory_limit)
{
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_pair *p = &self->p;
	struct fi_cq_data_entry entry;
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	unsigned long old;

	ASSERT_EQ(0, connect_ends(p));
	old = set_limit(1);
	ASSERT_LT(0, old);
	EXPECT_EQ(-FI_ENOMEM, fi_mr_reg(p->domain, p->a.buf, 4096, FI_SEND, 0, 0, 0, &mr, NULL));
	EXPECT_EQ(-FI_ENOMEM, fi_cq_open(p->domain, &cq_attr, &cq, NULL));
	EXPECT_EQ(-FI_ENOMEM, fi_eq_open(p->fabric, &eq_attr, &eq, NULL));
	EXPECT_EQ(-FI_ENOMEM, fi_inject(p->a.ep, p->a.buf, 8, 0));
	EXPECT_EQ(0, fi_endpoint(p->domain, p->info, &ep, NULL));
	EXPECT_EQ(0, fi_ep_bind(ep, &p->a.eq->fid, 0));
	EXPECT_EQ(0, fi_ep_bind(ep, &p->a.cq->fid, FI_TRANSMIT | FI_RECV));
	EXPECT_EQ(-FI_ENOMEM, fi_enable(ep));
	EXPECT_EQ(0, recv_to(&p->b, 0, 64, 1));
	EXPECT_EQ(0, send_from(&p->a, 0, 8, 2));
	EXPECT_EQ(0, completion(&p->b, &entry));
	set_limit(old);
	EXPECT_EQ(0, fi_enable(ep));
	EXPECT_EQ(0, fi_close(&ep->fid));
	EXPECT_EQ(0, fi_inject(p->a.ep, p->a.buf, 8, 0));
}

TEST_HARNESS_MAIN

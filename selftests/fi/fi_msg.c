// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fi_msg.c - the provider for libfabric: connections, messages, RMA, and how they end
 *
 * Side a connects, side b listens. Both are in one process, on one fabric.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "harness.h"

#include "link.h"
#include "process.h"

#define TIMEOUT_MS	20000
#define SIZE		65536

/**
 * struct end - one end of a connection
 * @eq: its events
 * @cq: completions of both kinds
 * @ep: the endpoint
 * @mr: its memory
 * @buf: the memory
 */
struct end {
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	unsigned char *buf;
};

FIXTURE(fi_msg)
{
	struct fi_info *hints, *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_pep *pep;
	struct sockaddr_storage address;
	struct end a, b;
};

/* libfabric looks for the provider beside this program. */
static __attribute__((constructor)) void set_path(void)
{
	setenv("FI_PROVIDER_PATH", "/selftests/fi/lib", 1);
}

static struct fi_info *make_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->domain_attr->name = strdup(ia_name());
	hints->fabric_attr->prov_name = strdup("kdapl");
	return hints;
}

static int open_end(FIXTURE_DATA(fi_msg) *self, struct end *end)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	int ret;

	end->buf = aligned_alloc(PAGE, SIZE);
	memset(end->buf, 0, SIZE);
	ret = fi_eq_open(self->fabric, &eq_attr, &end->eq, NULL);
	ret = ret ?: fi_cq_open(self->domain, &cq_attr, &end->cq, NULL);
	return ret ?: fi_mr_reg(self->domain, end->buf, SIZE,
				FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
				FI_REMOTE_WRITE, 0, 0, 0, &end->mr, NULL);
}

/* @flags of the binding for transmissions */
static int open_ep(FIXTURE_DATA(fi_msg) *self, struct end *end, struct fi_info *info,
		   uint64_t flags)
{
	int ret = fi_endpoint(self->domain, info, &end->ep, end);

	ret = ret ?: fi_ep_bind(end->ep, &end->eq->fid, 0);
	ret = ret ?: fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | flags);
	ret = ret ?: fi_ep_bind(end->ep, &end->cq->fid, FI_RECV);
	return ret ?: fi_enable(end->ep);
}

FIXTURE_SETUP(fi_msg)
{
	size_t size = sizeof(self->address);

	self->hints = make_hints();
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, self->hints, &self->info));
	ASSERT_EQ(0, fi_fabric(self->info->fabric_attr, &self->fabric, NULL));
	ASSERT_EQ(0, fi_domain(self->fabric, self->info, &self->domain, NULL));
	ASSERT_EQ(0, open_end(self, &self->a));
	ASSERT_EQ(0, open_end(self, &self->b));
	ASSERT_EQ(0, fi_passive_ep(self->fabric, self->info, &self->pep, self));
	ASSERT_EQ(0, fi_pep_bind(self->pep, &self->b.eq->fid, 0));
	ASSERT_EQ(0, fi_listen(self->pep));
	ASSERT_EQ(0, fi_getname(&self->pep->fid, &self->address, &size));
	ASSERT_EQ(0, open_ep(self, &self->a, self->info, 0));
}

static int close_end(struct end *end)
{
	int ret = 0;

	if (end->ep)
		ret = fi_close(&end->ep->fid);
	ret = ret ?: fi_close(&end->mr->fid);
	ret = ret ?: fi_close(&end->cq->fid);
	ret = ret ?: fi_close(&end->eq->fid);
	free(end->buf);
	return ret;
}

/* Everything can be closed, in whatever state it is. */
FIXTURE_TEARDOWN(fi_msg)
{
	EXPECT_EQ(0, close_end(&self->a));
	EXPECT_EQ(0, fi_close(&self->pep->fid));
	EXPECT_EQ(0, close_end(&self->b));
	EXPECT_EQ(0, fi_close(&self->domain->fid));
	EXPECT_EQ(0, fi_close(&self->fabric->fid));
	fi_freeinfo(self->info);
	fi_freeinfo(self->hints);
}

/* The next event, with private data in @data; its bytes, or an error. */
static ssize_t next_event(struct fid_eq *eq, uint32_t *type, struct fi_eq_cm_entry *entry,
			  void *data, size_t size)
{
	unsigned char buf[sizeof(*entry) + 256];
	ssize_t ret = fi_eq_sread(eq, type, buf, sizeof(buf), TIMEOUT_MS, 0);

	if (ret < (ssize_t)sizeof(*entry))
		return ret < 0 ? ret : -FI_EOTHER;
	memcpy(entry, buf, sizeof(*entry));
	ret -= sizeof(*entry);
	if (data)
		memcpy(data, buf + sizeof(*entry), (size_t)ret < size ? (size_t)ret : size);
	return ret;
}

static int expect_event(struct fid_eq *eq, uint32_t want, fid_t fid)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;
	ssize_t ret = next_event(eq, &type, &entry, NULL, 0);

	if (ret < 0)
		return (int)ret;
	return type == want && entry.fid == fid ? 0 : -FI_EOTHER;
}

/* Side a asks; side b has the request. */
static int ask(FIXTURE_DATA(fi_msg) *self, struct fi_info **info)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;
	ssize_t len;
	int ret;

	ret = fi_connect(self->a.ep, &self->address, NULL, 0);
	if (ret)
		return ret;
	len = next_event(self->b.eq, &type, &entry, NULL, 0);
	if (len || type != FI_CONNREQ || entry.fid != &self->pep->fid)
		return len < 0 ? (int)len : -FI_EOTHER;
	*info = entry.info;
	return 0;
}

static int connect_ends(FIXTURE_DATA(fi_msg) *self)
{
	struct fi_info *info;
	int ret = ask(self, &info);

	if (ret)
		return ret;
	ret = open_ep(self, &self->b, info, FI_SELECTIVE_COMPLETION);
	fi_freeinfo(info);
	ret = ret ?: fi_accept(self->b.ep, NULL, 0);
	ret = ret ?: expect_event(self->a.eq, FI_CONNECTED, &self->a.ep->fid);
	return ret ?: expect_event(self->b.eq, FI_CONNECTED, &self->b.ep->fid);
}

static int completion(struct end *end, struct fi_cq_data_entry *entry)
{
	ssize_t ret = fi_cq_sread(end->cq, entry, 1, NULL, TIMEOUT_MS);

	return ret == 1 ? 0 : ret < 0 ? (int)ret : -FI_EOTHER;
}

/* The error of the next completion, which must be one. */
static int failure(struct end *end)
{
	struct fi_cq_err_entry entry = { .err_data_size = 0 };
	struct fi_cq_data_entry good;
	int ret = completion(end, &good);

	if (ret != -FI_EAVAIL)
		return ret ?: -FI_EOTHER;
	return fi_cq_readerr(end->cq, &entry, 0) == 1 ? entry.err : -FI_EOTHER;
}

static ssize_t recv_to(struct end *end, size_t at, size_t len, uintptr_t context)
{
	return fi_recv(end->ep, end->buf + at, len, fi_mr_desc(end->mr), FI_ADDR_UNSPEC,
		       (void *)context);
}

static ssize_t send_from(struct end *end, size_t at, size_t len, uintptr_t context)
{
	return fi_send(end->ep, end->buf + at, len, fi_mr_desc(end->mr), FI_ADDR_UNSPEC,
		       (void *)context);
}

TEST_F(fi_msg, send_and_receive)
{
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, connect_ends(self));
	memset(self->a.buf, 0x5a, 1000);
	ASSERT_EQ(0, recv_to(&self->b, 0, 4096, 0x11));
	ASSERT_EQ(0, send_from(&self->a, 0, 1000, 0x22));
	ASSERT_EQ(0, completion(&self->b, &entry));
	EXPECT_EQ(0x11, (uintptr_t)entry.op_context);
	EXPECT_EQ(FI_RECV | FI_MSG, entry.flags);
	EXPECT_EQ(1000, entry.len);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 1000));
	ASSERT_EQ(0, completion(&self->a, &entry));
	EXPECT_EQ(0x22, (uintptr_t)entry.op_context);
	EXPECT_EQ(FI_SEND | FI_MSG, entry.flags);
}

TEST_F(fi_msg, rma_write_and_read)
{
	struct fi_cq_data_entry entry;
	uint64_t at, key;

	ASSERT_EQ(0, connect_ends(self));
	at = (uintptr_t)self->b.buf;
	key = fi_mr_key(self->b.mr);
	memset(self->a.buf, 0xa5, 4096);
	ASSERT_EQ(0, fi_write(self->a.ep, self->a.buf, 4096, fi_mr_desc(self->a.mr), 0, at, key,
			      (void *)1));
	ASSERT_EQ(0, completion(&self->a, &entry));
	EXPECT_EQ(FI_WRITE | FI_RMA, entry.flags);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 4096));
	ASSERT_EQ(0, fi_read(self->a.ep, self->a.buf + 8192, 4096, fi_mr_desc(self->a.mr), 0, at,
			     key, (void *)2));
	ASSERT_EQ(0, completion(&self->a, &entry));
	EXPECT_EQ(FI_READ | FI_RMA, entry.flags);
	EXPECT_EQ(2, (uintptr_t)entry.op_context);
	EXPECT_EQ(0, memcmp(self->a.buf + 8192, self->b.buf, 4096));
}

/* More injections than the queue has room for: each arrives with its own data. */
TEST_F(fi_msg, inject_until_full)
{
	unsigned int sent = 0, num = 0, full = 0;
	struct fi_cq_data_entry entry;
	ssize_t ret;
	uint32_t word;

	ASSERT_EQ(0, connect_ends(self));
	for (num = 0; num < 256; num++)
		ASSERT_EQ(0, recv_to(&self->b, num * 64, 64, num));
	for (num = 0; num < 2000;) {
		word = sent;
		ret = sent < 2000 ? fi_inject(self->a.ep, &word, sizeof(word), 0) : -FI_EAGAIN;
		full += ret == -FI_EAGAIN;
		ASSERT_TRUE(!ret || ret == -FI_EAGAIN);
		sent += !ret;
		ret = sent - num > 200 || ret ? completion(&self->b, &entry) : -FI_EAGAIN;
		if (ret == -FI_EAGAIN)
			continue;
		ASSERT_EQ(0, ret);
		memcpy(&word, self->b.buf + (uintptr_t)entry.op_context * 64, sizeof(word));
		ASSERT_EQ(num, word);
		ASSERT_EQ(0, recv_to(&self->b, (uintptr_t)entry.op_context * 64, 64,
				     (uintptr_t)entry.op_context));
		num++;
	}
	/* Injections do not complete. */
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->a.cq, &entry, 1));
	EXPECT_EQ(-FI_EMSGSIZE, fi_inject(self->a.ep, self->a.buf, 65, 0));
}

TEST_F(fi_msg, selective_completion)
{
	struct fi_cq_data_entry entry;
	struct iovec iov = { .iov_len = 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	void *desc;

	ASSERT_EQ(0, connect_ends(self));
	iov.iov_base = self->b.buf;
	desc = fi_mr_desc(self->b.mr);
	msg.desc = &desc;
	ASSERT_EQ(0, recv_to(&self->a, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&self->a, 0, 64, 2));
	ASSERT_EQ(0, send_from(&self->b, 0, 8, 3));
	msg.context = (void *)4;
	ASSERT_EQ(0, fi_sendmsg(self->b.ep, &msg, FI_COMPLETION | FI_FENCE));
	ASSERT_EQ(0, completion(&self->b, &entry));
	EXPECT_EQ(4, (uintptr_t)entry.op_context);
	EXPECT_EQ(-FI_EBADFLAGS, fi_sendmsg(self->b.ep, &msg, FI_REMOTE_CQ_DATA));
}

TEST_F(fi_msg, private_data)
{
	unsigned char from_a[55], from_b[20], got[256];
	struct fi_eq_cm_entry entry;
	size_t max, size = sizeof(max);
	uint32_t type;

	ASSERT_EQ(0, fi_getopt(&self->a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &max,
			       &size));
	ASSERT_LE(sizeof(from_a), max);
	memset(from_a, 0, sizeof(from_a));
	from_a[0] = 7;
	memset(from_b, 9, sizeof(from_b));
	EXPECT_EQ(-FI_EINVAL, fi_connect(self->a.ep, &self->address, got, max + 1));
	ASSERT_EQ(0, fi_connect(self->a.ep, &self->address, from_a, sizeof(from_a)));
	ASSERT_EQ(sizeof(from_a), next_event(self->b.eq, &type, &entry, got, sizeof(got)));
	EXPECT_EQ(0, memcmp(got, from_a, sizeof(from_a)));
	ASSERT_EQ(0, open_ep(self, &self->b, entry.info, 0));
	fi_freeinfo(entry.info);
	ASSERT_EQ(0, fi_accept(self->b.ep, from_b, sizeof(from_b)));
	ASSERT_EQ(sizeof(from_b), next_event(self->a.eq, &type, &entry, got, sizeof(got)));
	EXPECT_EQ(FI_CONNECTED, type);
	EXPECT_EQ(0, memcmp(got, from_b, sizeof(from_b)));
}

static int refusal(FIXTURE_DATA(fi_msg) *self)
{
	struct fi_eq_err_entry error = { .err_data_size = 0 };
	struct fi_eq_cm_entry entry;
	uint32_t type;
	ssize_t ret = next_event(self->a.eq, &type, &entry, NULL, 0);

	if (ret != -FI_EAVAIL)
		return ret < 0 ? (int)ret : -FI_EOTHER;
	if (fi_eq_readerr(self->a.eq, &error, 0) != sizeof(error) ||
	    error.fid != &self->a.ep->fid || error.context != &self->a)
		return -FI_EOTHER;
	return error.err;
}

TEST_F(fi_msg, rejection)
{
	struct fi_info *info;

	ASSERT_EQ(0, ask(self, &info));
	ASSERT_EQ(0, fi_reject(self->pep, info->handle, NULL, 0));
	fi_freeinfo(info);
	EXPECT_EQ(FI_ECONNREFUSED, refusal(self));
}

/* The request gets no answer. */
TEST_F(fi_msg, request_is_refused_at_close)
{
	struct fi_info *info;

	ASSERT_EQ(0, ask(self, &info));
	fi_freeinfo(info);
	ASSERT_EQ(0, fi_close(&self->pep->fid));
	EXPECT_EQ(FI_ECONNREFUSED, refusal(self));
	ASSERT_EQ(0, fi_passive_ep(self->fabric, self->info, &self->pep, self));
}

/* An endpoint keeps its request when the passive endpoint ends, and gives it back. */
TEST_F(fi_msg, request_of_a_closed_endpoint)
{
	struct fi_info *info;
	struct fid_ep *other;

	ASSERT_EQ(0, ask(self, &info));
	ASSERT_EQ(0, open_ep(self, &self->b, info, 0));
	EXPECT_EQ(-FI_EINVAL, fi_endpoint(self->domain, info, &other, NULL));
	EXPECT_EQ(-FI_EINVAL, fi_reject(self->pep, info->handle, NULL, 0));
	ASSERT_EQ(0, fi_close(&self->b.ep->fid));
	ASSERT_EQ(0, open_ep(self, &self->b, info, 0));
	fi_freeinfo(info);
	ASSERT_EQ(0, fi_close(&self->pep->fid));
	ASSERT_EQ(0, fi_close(&self->b.ep->fid));
	self->b.ep = NULL;
	EXPECT_EQ(FI_ECONNREFUSED, refusal(self));
	ASSERT_EQ(0, fi_passive_ep(self->fabric, self->info, &self->pep, self));
}

TEST_F(fi_msg, nobody_listens)
{
	ASSERT_EQ(0, fi_close(&self->pep->fid));
	ASSERT_EQ(0, fi_connect(self->a.ep, &self->address, NULL, 0));
	EXPECT_EQ(FI_ECONNREFUSED, refusal(self));
	ASSERT_EQ(0, fi_passive_ep(self->fabric, self->info, &self->pep, self));
}

TEST_F(fi_msg, shutdown_flushes_receives)
{
	ASSERT_EQ(0, connect_ends(self));
	ASSERT_EQ(0, recv_to(&self->a, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&self->b, 0, 64, 1));
	ASSERT_EQ(0, fi_shutdown(self->a.ep, 0));
	EXPECT_EQ(0, expect_event(self->a.eq, FI_SHUTDOWN, &self->a.ep->fid));
	EXPECT_EQ(0, expect_event(self->b.eq, FI_SHUTDOWN, &self->b.ep->fid));
	EXPECT_EQ(FI_ECANCELED, failure(&self->a));
	EXPECT_EQ(FI_ECANCELED, failure(&self->b));
	/* Later requests are flushed too, as verbs flush them. */
	ASSERT_EQ(0, send_from(&self->a, 0, 64, 2));
	EXPECT_EQ(FI_ECANCELED, failure(&self->a));
}

TEST_F(fi_msg, bad_key_is_an_error)
{
	ASSERT_EQ(0, connect_ends(self));
	ASSERT_EQ(0, fi_write(self->a.ep, self->a.buf, 64, fi_mr_desc(self->a.mr), 0,
			      (uintptr_t)self->b.buf, fi_mr_key(self->b.mr) ^ 0x100, NULL));
	EXPECT_EQ(FI_EACCES, failure(&self->a));
	EXPECT_EQ(0, expect_event(self->a.eq, FI_SHUTDOWN, &self->a.ep->fid));
}

TEST_F(fi_msg, descriptors_poll)
{
	struct fid *fids[2] = { &self->a.cq->fid, &self->a.eq->fid };
	struct pollfd pollfd[2];
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, connect_ends(self));
	pollfd[0].events = POLLIN;
	pollfd[1].events = POLLIN;
	ASSERT_EQ(0, fi_control(fids[0], FI_GETWAIT, &pollfd[0].fd));
	ASSERT_EQ(0, fi_control(fids[1], FI_GETWAIT, &pollfd[1].fd));
	ASSERT_EQ(0, fi_trywait(self->fabric, fids, 2));
	EXPECT_EQ(0, poll(pollfd, 2, 0));
	ASSERT_EQ(0, recv_to(&self->a, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&self->a, 0, 64, 2));
	ASSERT_EQ(0, fi_inject(self->b.ep, self->b.buf, 8, 0));
	ASSERT_EQ(0, fi_inject(self->b.ep, self->b.buf, 8, 0));
	ASSERT_EQ(1, poll(pollfd, 2, TIMEOUT_MS));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(self->fabric, fids, 2));
	ASSERT_EQ(0, completion(&self->a, &entry));
	ASSERT_EQ(0, completion(&self->a, &entry));
	EXPECT_EQ(0, fi_trywait(self->fabric, fids, 2));
	ASSERT_EQ(0, fi_shutdown(self->b.ep, 0));
	ASSERT_EQ(1, poll(pollfd + 1, 1, TIMEOUT_MS));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(self->fabric, fids, 2));
}

static void *read_thread(void *arg)
{
	struct fi_cq_data_entry entry;
	struct end *end = arg;

	return (void *)fi_cq_sread(end->cq, &entry, 1, NULL, -1);
}

TEST_F(fi_msg, signal_wakes_a_reader)
{
	struct fi_cq_data_entry entry;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, read_thread, &self->a));
	ASSERT_EQ(0, fi_cq_signal(self->a.cq));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(-FI_EAGAIN, (ssize_t)ret);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->a.cq, &entry, 1, NULL, 10));
}

TEST_F(fi_msg, written_events_are_read)
{
	struct fi_eq_entry in = { .data = 42 }, out = { .data = 0 };
	uint32_t type = 0;

	ASSERT_EQ(sizeof(in), fi_eq_write(self->a.eq, FI_NOTIFY, &in, sizeof(in), 0));
	ASSERT_EQ(sizeof(out), fi_eq_sread(self->a.eq, &type, &out, sizeof(out), TIMEOUT_MS,
					   FI_PEEK));
	ASSERT_EQ(sizeof(out), fi_eq_read(self->a.eq, &type, &out, sizeof(out), 0));
	EXPECT_EQ(FI_NOTIFY, type);
	EXPECT_EQ(42, out.data);
	EXPECT_EQ(-FI_EAGAIN, fi_eq_read(self->a.eq, &type, &out, sizeof(out), 0));
}

TEST_F(fi_msg, objects_in_use_stay)
{
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->fabric->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->domain->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->a.cq->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->a.eq->fid));
}

/* Each hint that cannot be met leaves no entry. */
TEST_F(fi_msg, hints_that_do_not_fit)
{
	struct fi_info *info, *hints = self->hints;

#define REFUSES(_set, _reset)							\
	do {									\
		_set;								\
		EXPECT_EQ(-FI_ENODATA, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, \
						  &info)) TH_LOG(#_set);	\
		_reset;								\
	} while (0)
	REFUSES(hints->caps |= FI_TAGGED, hints->caps &= ~FI_TAGGED);
	REFUSES(hints->ep_attr->type = FI_EP_DGRAM, hints->ep_attr->type = FI_EP_MSG);
	REFUSES(hints->domain_attr->mr_mode &= ~FI_MR_LOCAL,
		hints->domain_attr->mr_mode |= FI_MR_LOCAL);
	REFUSES(hints->domain_attr->mr_mode &= ~FI_MR_PROV_KEY,
		hints->domain_attr->mr_mode |= FI_MR_PROV_KEY);
	REFUSES(hints->tx_attr->inject_size = 65, hints->tx_attr->inject_size = 0);
	REFUSES(hints->tx_attr->size = 1 << 30, hints->tx_attr->size = 0);
	REFUSES(hints->rx_attr->iov_limit = 1000, hints->rx_attr->iov_limit = 0);
	REFUSES(hints->domain_attr->cq_data_size = 4, hints->domain_attr->cq_data_size = 0);
	REFUSES(hints->addr_format = FI_SOCKADDR_IB, hints->addr_format = FI_FORMAT_UNSPEC);
	REFUSES(hints->ep_attr->max_msg_size = SIZE_MAX, hints->ep_attr->max_msg_size = 0);
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	EXPECT_EQ(4, info->domain_attr->mr_key_size);
	EXPECT_STREQ("kdapl", info->fabric_attr->prov_name);
	EXPECT_STREQ(ia_name(), info->fabric_attr->name);
	fi_freeinfo(info);
}

/* A process of its own, which connects and then stays. */
static int peer(const struct sockaddr_storage *address)
{
	FIXTURE_DATA(fi_msg) self = { .hints = make_hints() };
	int ret;

	ret = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, self.hints, &self.info) ?:
	      fi_fabric(self.info->fabric_attr, &self.fabric, NULL) ?:
	      fi_domain(self.fabric, self.info, &self.domain, NULL) ?: open_end(&self, &self.a) ?:
	      open_ep(&self, &self.a, self.info, 0) ?:
	      fi_connect(self.a.ep, address, NULL, 0);
	if (ret)
		return 1;
	for (;;)
		pause();
}

TEST_F(fi_msg, peer_is_killed)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;
	pid_t child = fork();

	if (!child)
		_exit(peer(&self->address));
	ASSERT_LT(0, child);
	ASSERT_EQ(0, next_event(self->b.eq, &type, &entry, NULL, 0));
	ASSERT_EQ(0, open_ep(self, &self->b, entry.info, 0));
	fi_freeinfo(entry.info);
	ASSERT_EQ(0, recv_to(&self->b, 0, 64, 1));
	ASSERT_EQ(0, fi_accept(self->b.ep, NULL, 0));
	ASSERT_EQ(0, expect_event(self->b.eq, FI_CONNECTED, &self->b.ep->fid));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT_EQ(0, expect_event(self->b.eq, FI_SHUTDOWN, &self->b.ep->fid));
	EXPECT_EQ(FI_ECANCELED, failure(&self->b));
}

TEST_F(fi_msg, device_is_removed)
{
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, connect_ends(self));
	ASSERT_EQ(0, recv_to(&self->a, 0, 64, 1));
	ASSERT_EQ(0, link_delete());
	EXPECT_EQ(0, expect_event(self->a.eq, FI_SHUTDOWN, &self->a.ep->fid));
	EXPECT_EQ(FI_ECANCELED, failure(&self->a));
	EXPECT_GT(0, send_from(&self->a, 0, 64, 2));
	EXPECT_GT(0, fi_cq_read(self->a.cq, &entry, 1));
	ASSERT_EQ(0, link_add());
}

TEST_HARNESS_MAIN

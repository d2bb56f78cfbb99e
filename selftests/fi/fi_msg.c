// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fi_msg.c - the provider for libfabric: connections, messages, RMA, and how they end
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "link.h"
#include "process.h"

#include "fi_pair.h"

FIXTURE(fi_msg)
{
	struct fi_pair p;
};

FIXTURE_SETUP(fi_msg)
{
	self->p.hints = fi_pair_hints();
	self->p.b.tx_flags = FI_SELECTIVE_COMPLETION;
	ASSERT_EQ(0, fi_pair_open(&self->p));
	ASSERT_EQ(0, open_ep(&self->p, &self->p.a, self->p.info));
}

FIXTURE_TEARDOWN(fi_msg)
{
	EXPECT_EQ(0, fi_pair_close(&self->p));
}

TEST_F(fi_msg, send_and_receive)
{
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, fi_pair_connect(&self->p));
	memset(self->p.a.buf, 0x5a, 1000);
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 4096, 0x11));
	ASSERT_EQ(0, send_from(&self->p.a, 0, 1000, 0x22));
	ASSERT_EQ(0, completion(&self->p.b, &entry));
	EXPECT_EQ(0x11, (uintptr_t)entry.op_context);
	EXPECT_EQ(FI_RECV | FI_MSG, entry.flags);
	EXPECT_EQ(1000, entry.len);
	EXPECT_EQ(0, memcmp(self->p.a.buf, self->p.b.buf, 1000));
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	EXPECT_EQ(0x22, (uintptr_t)entry.op_context);
	EXPECT_EQ(FI_SEND | FI_MSG, entry.flags);
}

TEST_F(fi_msg, rma_write_and_read)
{
	struct fi_cq_data_entry entry;
	uint64_t at, key;

	ASSERT_EQ(0, fi_pair_connect(&self->p));
	at = (uintptr_t)self->p.b.buf;
	key = fi_mr_key(self->p.b.mr);
	memset(self->p.a.buf, 0xa5, 4096);
	ASSERT_EQ(0, fi_write(self->p.a.ep, self->p.a.buf, 4096, fi_mr_desc(self->p.a.mr), 0, at,
			      key, (void *)1));
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	EXPECT_EQ(FI_WRITE | FI_RMA, entry.flags);
	EXPECT_EQ(0, memcmp(self->p.a.buf, self->p.b.buf, 4096));
	ASSERT_EQ(0, fi_read(self->p.a.ep, self->p.a.buf + 8192, 4096, fi_mr_desc(self->p.a.mr), 0,
			     at, key, (void *)2));
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	EXPECT_EQ(FI_READ | FI_RMA, entry.flags);
	EXPECT_EQ(2, (uintptr_t)entry.op_context);
	EXPECT_EQ(0, memcmp(self->p.a.buf + 8192, self->p.b.buf, 4096));
}

/* More injections than the queue has room for: each arrives with its own data. */
TEST_F(fi_msg, inject_until_full)
{
	unsigned int sent = 0, num = 0, full = 0;
	struct fi_cq_data_entry entry;
	ssize_t ret;
	uint32_t word;

	ASSERT_EQ(0, fi_pair_connect(&self->p));
	for (num = 0; num < 256; num++)
		ASSERT_EQ(0, recv_to(&self->p.b, num * 64, 64, num));
	for (num = 0; num < 2000;) {
		word = sent;
		ret = sent < 2000 ? fi_inject(self->p.a.ep, &word, sizeof(word), 0) : -FI_EAGAIN;
		full += ret == -FI_EAGAIN;
		ASSERT_TRUE(!ret || ret == -FI_EAGAIN);
		sent += !ret;
		ret = sent - num > 200 || ret ? completion(&self->p.b, &entry) : -FI_EAGAIN;
		if (ret == -FI_EAGAIN)
			continue;
		ASSERT_EQ(0, ret);
		memcpy(&word, self->p.b.buf + (uintptr_t)entry.op_context * 64, sizeof(word));
		ASSERT_EQ(num, word);
		ASSERT_EQ(0, recv_to(&self->p.b, (uintptr_t)entry.op_context * 64, 64,
				     (uintptr_t)entry.op_context));
		num++;
	}
	/* Injections do not complete. */
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->p.a.cq, &entry, 1));
	EXPECT_EQ(-FI_EMSGSIZE, fi_inject(self->p.a.ep, self->p.a.buf, 65, 0));
}

/* Side b has no receives. A failed injection has no entry: it has no context of the program. */
TEST_F(fi_msg, injection_ends_unseen)
{
	struct fi_cq_err_entry error = { .err_data_size = 0 };
	struct fi_cq_data_entry entry;
	int i, ret;

	ASSERT_EQ(0, fi_pair_connect(&self->p));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, fi_inject(self->p.a.ep, self->p.a.buf, 8, 0));
	ASSERT_EQ(0, send_from(&self->p.a, 0, 8, 7));
	ASSERT_EQ(0, fi_close(&self->p.b.ep->fid));
	self->p.b.ep = NULL;
	ret = completion(&self->p.a, &entry);
	/* On iWARP a Send succeeds when it is on its way. */
	if (ret == -FI_EAVAIL) {
		ASSERT_EQ(1, fi_cq_readerr(self->p.a.cq, &error, 0));
		entry.op_context = error.op_context;
		ret = 0;
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(7, (uintptr_t)entry.op_context);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_read(self->p.a.cq, &entry, 1));
}

TEST_F(fi_msg, selective_completion)
{
	struct fi_cq_data_entry entry;
	struct iovec iov = { .iov_len = 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	void *desc;

	ASSERT_EQ(0, fi_pair_connect(&self->p));
	iov.iov_base = self->p.b.buf;
	desc = fi_mr_desc(self->p.b.mr);
	msg.desc = &desc;
	ASSERT_EQ(0, recv_to(&self->p.a, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&self->p.a, 0, 64, 2));
	ASSERT_EQ(0, send_from(&self->p.b, 0, 8, 3));
	msg.context = (void *)4;
	ASSERT_EQ(0, fi_sendmsg(self->p.b.ep, &msg, FI_COMPLETION | FI_FENCE));
	ASSERT_EQ(0, completion(&self->p.b, &entry));
	EXPECT_EQ(4, (uintptr_t)entry.op_context);
	EXPECT_EQ(-FI_EBADFLAGS, fi_sendmsg(self->p.b.ep, &msg, FI_MULTI_RECV));
}

TEST_F(fi_msg, private_data)
{
	unsigned char from_a[55], from_b[20], got[256];
	struct fi_eq_cm_entry entry;
	size_t max, size = sizeof(max);
	uint32_t type;

	ASSERT_EQ(0, fi_getopt(&self->p.a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &max,
			       &size));
	ASSERT_LE(sizeof(from_a), max);
	memset(from_a, 0, sizeof(from_a));
	from_a[0] = 7;
	memset(from_b, 9, sizeof(from_b));
	EXPECT_EQ(-FI_EINVAL, fi_connect(self->p.a.ep, &self->p.address, got, max + 1));
	ASSERT_EQ(0, fi_connect(self->p.a.ep, &self->p.address, from_a, sizeof(from_a)));
	ASSERT_EQ(sizeof(from_a), next_event(self->p.b.eq, &type, &entry, got, sizeof(got)));
	EXPECT_EQ(0, memcmp(got, from_a, sizeof(from_a)));
	ASSERT_EQ(0, open_ep(&self->p, &self->p.b, entry.info));
	fi_freeinfo(entry.info);
	ASSERT_EQ(0, fi_accept(self->p.b.ep, from_b, sizeof(from_b)));
	ASSERT_EQ(sizeof(from_b), next_event(self->p.a.eq, &type, &entry, got, sizeof(got)));
	EXPECT_EQ(FI_CONNECTED, type);
	EXPECT_EQ(0, memcmp(got, from_b, sizeof(from_b)));
}

static int refusal(struct fi_pair *p)
{
	struct fi_eq_err_entry error = { .err_data_size = 0 };
	struct fi_eq_cm_entry entry;
	uint32_t type;
	ssize_t ret = next_event(p->a.eq, &type, &entry, NULL, 0);

	if (ret != -FI_EAVAIL)
		return ret < 0 ? (int)ret : -FI_EOTHER;
	if (fi_eq_readerr(p->a.eq, &error, 0) != sizeof(error) ||
	    error.fid != &p->a.ep->fid || error.context != &p->a)
		return -FI_EOTHER;
	return error.err;
}

TEST_F(fi_msg, rejection)
{
	struct fi_info *info;

	ASSERT_EQ(0, ask(&self->p, &info));
	ASSERT_EQ(0, fi_reject(self->p.pep, info->handle, NULL, 0));
	fi_freeinfo(info);
	EXPECT_EQ(FI_ECONNREFUSED, refusal(&self->p));
}

/* The request gets no answer. */
TEST_F(fi_msg, request_is_refused_at_close)
{
	struct fi_info *info;

	ASSERT_EQ(0, ask(&self->p, &info));
	fi_freeinfo(info);
	ASSERT_EQ(0, fi_close(&self->p.pep->fid));
	EXPECT_EQ(FI_ECONNREFUSED, refusal(&self->p));
	ASSERT_EQ(0, fi_passive_ep(self->p.fabric, self->p.info, &self->p.pep, self));
}

/* An endpoint keeps its request when the passive endpoint ends, and gives it back. */
TEST_F(fi_msg, request_of_a_closed_endpoint)
{
	struct fi_info *info;
	struct fid_ep *other;

	ASSERT_EQ(0, ask(&self->p, &info));
	ASSERT_EQ(0, open_ep(&self->p, &self->p.b, info));
	EXPECT_EQ(-FI_EINVAL, fi_endpoint(self->p.domain, info, &other, NULL));
	EXPECT_EQ(-FI_EINVAL, fi_reject(self->p.pep, info->handle, NULL, 0));
	ASSERT_EQ(0, fi_close(&self->p.b.ep->fid));
	ASSERT_EQ(0, open_ep(&self->p, &self->p.b, info));
	fi_freeinfo(info);
	ASSERT_EQ(0, fi_close(&self->p.pep->fid));
	ASSERT_EQ(0, fi_close(&self->p.b.ep->fid));
	self->p.b.ep = NULL;
	EXPECT_EQ(FI_ECONNREFUSED, refusal(&self->p));
	ASSERT_EQ(0, fi_passive_ep(self->p.fabric, self->p.info, &self->p.pep, self));
}

TEST_F(fi_msg, nobody_listens)
{
	ASSERT_EQ(0, fi_close(&self->p.pep->fid));
	ASSERT_EQ(0, fi_connect(self->p.a.ep, &self->p.address, NULL, 0));
	EXPECT_EQ(FI_ECONNREFUSED, refusal(&self->p));
	ASSERT_EQ(0, fi_passive_ep(self->p.fabric, self->p.info, &self->p.pep, self));
}

/* The guest has no route for IPv6. That is an event too, as with other providers. */
TEST_F(fi_msg, unreachable_peer)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(5000) };

	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	ASSERT_EQ(0, fi_connect(self->p.a.ep, &in6, NULL, 0));
	EXPECT_EQ(FI_EHOSTUNREACH, refusal(&self->p));
	/* A mistake of the program is none. */
	in6.sin6_family = AF_UNIX;
	EXPECT_EQ(-FI_EINVAL, fi_connect(self->p.a.ep, &in6, NULL, 0));
}

/* The event goes with its endpoint. */
TEST_F(fi_msg, unreachable_peer_is_forgotten)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(5000) };
	struct fi_eq_cm_entry entry;
	uint32_t type;

	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	ASSERT_EQ(0, fi_connect(self->p.a.ep, &in6, NULL, 0));
	ASSERT_EQ(0, fi_close(&self->p.a.ep->fid));
	self->p.a.ep = NULL;
	EXPECT_EQ(-FI_EAGAIN, fi_eq_read(self->p.a.eq, &type, &entry, sizeof(entry), 0));
	EXPECT_EQ(-FI_EAGAIN, fi_eq_sread(self->p.a.eq, &type, &entry, sizeof(entry), 10, 0));
}

TEST_F(fi_msg, shutdown_flushes_receives)
{
	ASSERT_EQ(0, fi_pair_connect(&self->p));
	ASSERT_EQ(0, recv_to(&self->p.a, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 1));
	ASSERT_EQ(0, fi_shutdown(self->p.a.ep, 0));
	EXPECT_EQ(0, expect_event(self->p.a.eq, FI_SHUTDOWN, &self->p.a.ep->fid));
	EXPECT_EQ(0, expect_event(self->p.b.eq, FI_SHUTDOWN, &self->p.b.ep->fid));
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.a));
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.b));
	/* Later requests are flushed too, as verbs flush them. */
	ASSERT_EQ(0, send_from(&self->p.a, 0, 64, 2));
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.a));
}

TEST_F(fi_msg, bad_key_is_an_error)
{
	ASSERT_EQ(0, fi_pair_connect(&self->p));
	ASSERT_EQ(0, fi_write(self->p.a.ep, self->p.a.buf, 64, fi_mr_desc(self->p.a.mr), 0,
			      (uintptr_t)self->p.b.buf, fi_mr_key(self->p.b.mr) ^ 0x100, NULL));
	/* On iWARP the Write has completed when its refusal arrives. */
	if (!link_is_iwarp())
		EXPECT_EQ(FI_EACCES, failure(&self->p.a));
	EXPECT_EQ(0, expect_event(self->p.a.eq, FI_SHUTDOWN, &self->p.a.ep->fid));
}

TEST_F(fi_msg, descriptors_poll)
{
	struct fid *fids[2] = { &self->p.a.cq->fid, &self->p.a.eq->fid };
	struct pollfd pollfd[2];
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, fi_pair_connect(&self->p));
	pollfd[0].events = POLLIN;
	pollfd[1].events = POLLIN;
	ASSERT_EQ(0, fi_control(fids[0], FI_GETWAIT, &pollfd[0].fd));
	ASSERT_EQ(0, fi_control(fids[1], FI_GETWAIT, &pollfd[1].fd));
	ASSERT_EQ(0, fi_trywait(self->p.fabric, fids, 2));
	EXPECT_EQ(0, poll(pollfd, 2, 0));
	ASSERT_EQ(0, recv_to(&self->p.a, 0, 64, 1));
	ASSERT_EQ(0, recv_to(&self->p.a, 0, 64, 2));
	ASSERT_EQ(0, fi_inject(self->p.b.ep, self->p.b.buf, 8, 0));
	ASSERT_EQ(0, fi_inject(self->p.b.ep, self->p.b.buf, 8, 0));
	ASSERT_EQ(1, poll(pollfd, 2, FI_TIMEOUT_MS));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(self->p.fabric, fids, 2));
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	ASSERT_EQ(0, completion(&self->p.a, &entry));
	EXPECT_EQ(0, fi_trywait(self->p.fabric, fids, 2));
	ASSERT_EQ(0, fi_shutdown(self->p.b.ep, 0));
	ASSERT_EQ(1, poll(pollfd + 1, 1, FI_TIMEOUT_MS));
	EXPECT_EQ(-FI_EAGAIN, fi_trywait(self->p.fabric, fids, 2));
}

static void *read_thread(void *arg)
{
	struct fi_cq_data_entry entry;
	struct fi_end *end = arg;

	return (void *)fi_cq_sread(end->cq, &entry, 1, NULL, -1);
}

TEST_F(fi_msg, signal_wakes_a_reader)
{
	struct fi_cq_data_entry entry;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, read_thread, &self->p.a));
	ASSERT_EQ(0, fi_cq_signal(self->p.a.cq));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(-FI_EAGAIN, (ssize_t)ret);
	EXPECT_EQ(-FI_EAGAIN, fi_cq_sread(self->p.a.cq, &entry, 1, NULL, 10));
}

TEST_F(fi_msg, written_events_are_read)
{
	struct fi_eq_entry in = { .data = 42 }, out = { .data = 0 };
	uint32_t type = 0;

	ASSERT_EQ(sizeof(in), fi_eq_write(self->p.a.eq, FI_NOTIFY, &in, sizeof(in), 0));
	ASSERT_EQ(sizeof(out), fi_eq_sread(self->p.a.eq, &type, &out, sizeof(out), FI_TIMEOUT_MS,
					   FI_PEEK));
	ASSERT_EQ(sizeof(out), fi_eq_read(self->p.a.eq, &type, &out, sizeof(out), 0));
	EXPECT_EQ(FI_NOTIFY, type);
	EXPECT_EQ(42, out.data);
	EXPECT_EQ(-FI_EAGAIN, fi_eq_read(self->p.a.eq, &type, &out, sizeof(out), 0));
}

TEST_F(fi_msg, objects_in_use_stay)
{
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->p.fabric->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->p.domain->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->p.a.cq->fid));
	EXPECT_EQ(-FI_EBUSY, fi_close(&self->p.a.eq->fid));
}

/* Each hint that cannot be met leaves no entry. */
TEST_F(fi_msg, hints_that_do_not_fit)
{
	struct fi_info *info, *hints = self->p.hints;

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

#define CONF	"/tmp/fi_dat_conf"
#define LINE	"%s %s threadsafe default libdat.so.1 dapl.1.2 %s \"\"\n"

/* A name that dat.conf(5) has for two versions of DAT is one entry. */
TEST(repeated_name_in_dat_conf)
{
	struct fi_info *info, *hints = fi_pair_hints();
	FILE *file = fopen(CONF, "we");

	ASSERT_NE(NULL, file);
	fprintf(file, LINE LINE LINE, "twice", "u1.2", ia_name(), "twice", "u1.1", ia_name(),
		"last", "u1.2", ia_name());
	ASSERT_EQ(0, fclose(file));
	ASSERT_EQ(0, setenv("DAT_OVERRIDE", CONF, 1));
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup("twice");
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	EXPECT_EQ(NULL, info->next);
	fi_freeinfo(info);
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup("last");
	ASSERT_EQ(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	EXPECT_STREQ("last", info->fabric_attr->name);
	fi_freeinfo(info);
	fi_freeinfo(hints);
	unlink(CONF);
}

/* A process of its own, which connects and then stays. */
static int peer(const struct sockaddr_storage *address)
{
	struct fi_pair p = { .hints = fi_pair_hints() };
	int ret;

	ret = fi_pair_domain(&p) ?: open_end(&p, &p.a) ?: open_ep(&p, &p.a, p.info) ?:
	      fi_connect(p.a.ep, address, NULL, 0);
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
		_exit(peer(&self->p.address));
	ASSERT_LT(0, child);
	ASSERT_EQ(0, next_event(self->p.b.eq, &type, &entry, NULL, 0));
	ASSERT_EQ(0, open_ep(&self->p, &self->p.b, entry.info));
	fi_freeinfo(entry.info);
	ASSERT_EQ(0, recv_to(&self->p.b, 0, 64, 1));
	ASSERT_EQ(0, fi_accept(self->p.b.ep, NULL, 0));
	ASSERT_EQ(0, expect_event(self->p.b.eq, FI_CONNECTED, &self->p.b.ep->fid));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT_EQ(0, expect_event(self->p.b.eq, FI_SHUTDOWN, &self->p.b.ep->fid));
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.b));
}

TEST_F(fi_msg, device_is_removed)
{
	struct fi_cq_data_entry entry;

	ASSERT_EQ(0, fi_pair_connect(&self->p));
	ASSERT_EQ(0, recv_to(&self->p.a, 0, 64, 1));
	ASSERT_EQ(0, link_delete());
	EXPECT_EQ(0, expect_event(self->p.a.eq, FI_SHUTDOWN, &self->p.a.ep->fid));
	EXPECT_EQ(FI_ECANCELED, failure(&self->p.a));
	EXPECT_GT(0, send_from(&self->p.a, 0, 64, 2));
	EXPECT_GT(0, fi_cq_read(self->p.a.cq, &entry, 1));
	ASSERT_EQ(0, link_add());
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * disconnect.c - dat_ep_disconnect(3DAT): what becomes of what was posted
 *
 * What else there is to it is in connect.c.
 */
#include "harness.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "pair.h"

#define REGION		65536
#define MESSAGES	32
#define SIZE		(REGION / MESSAGES)

PAIR_FIXTURE(disconnect, pair_open, REGION)

/* MESSAGES from side a to side b. */
static DAT_RETURN send_all(struct pair *pair, const struct region *a,
			   const struct region *b)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int i;

	for (i = 0; i < MESSAGES && !ret; i++)
		ret = post_recv(pair->b.ep, b, i * SIZE, SIZE, i);
	for (i = 0; i < MESSAGES && !ret; i++)
		ret = post_send(pair->a.ep, a, i * SIZE, SIZE, i);
	return ret;
}

/* Both sides know that it is over. */
static DAT_RETURN wait_end(struct pair *pair)
{
	return wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Each completes, in order, and none succeeds behind one that has failed. */
static int successes_first(struct __test_metadata *_metadata,
			   DAT_EVD_HANDLE evd)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	int i, succeeded = 0;
	DAT_EVENT event;

	d = &event.event_data.dto_completion_event_data;
	for (i = 0; i < MESSAGES; i++) {
		EXPECT_DAT(wait_for(evd, DAT_DTO_COMPLETION_EVENT, &event));
		EXPECT_EQ(i, d->user_cookie.as_64);
		if (d->status != DAT_DTO_SUCCESS)
			continue;
		EXPECT_EQ(i, succeeded);
		succeeded++;
	}
	EXPECT_TRUE(is_empty(evd));
	return succeeded;
}

TEST_F(disconnect, disconnect_default_is_abrupt)
{
	DAT_CLOSE_FLAGS flags = DAT_CLOSE_DEFAULT;

	EXPECT_EQ(DAT_CLOSE_ABRUPT_FLAG, flags);
	ASSERT_DAT(pair_connect(&self->pair));
	if (!link_is_iwarp()) {
		/* For which a graceful one would wait. */
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, 1));
	}
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, flags));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	if (!link_is_iwarp()) {
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
			  wait_dto(self->pair.a.dto_evd, 1));
	}
}

TEST_F_TIMEOUT(disconnect, abrupt_no_success_after_flush, 600)
{
	int round, sent, received;

	for (round = 0; round < 10; round++) {
		ASSERT_DAT(round ? pair_reconnect(&self->pair)
				 : pair_connect(&self->pair));
		ASSERT_DAT(send_all(&self->pair, &self->a, &self->b));
		usleep(round * 100);
		ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep,
					     DAT_CLOSE_ABRUPT_FLAG));
		ASSERT_DAT(wait_end(&self->pair));
		sent = successes_first(_metadata, self->pair.a.dto_evd);
		received = successes_first(_metadata, self->pair.b.dto_evd);
		/* An acknowledged message has arrived. */
		if (!link_is_iwarp())
			EXPECT_LE(sent, received);
	}
}

TEST_F(disconnect, graceful_completes_binds_and_reads)
{
	struct pair *pair = &self->pair;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	int i, binds = 0;

	memset(self->b.buf, 0xbb, REGION);
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_rmr_create(pair->a.pz, &rmr));
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(post_read(pair->a.ep, &self->a, i * SIZE, SIZE,
				     self->b.rmr_context,
				     self->b.buf + i * SIZE, i));
	}
	ASSERT_DAT(bind_window(rmr, &self->a, 0, 64,
			       DAT_MEM_PRIV_REMOTE_READ_FLAG, pair->a.ep, 4,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	/* siw tells of the bind before the reads. */
	for (i = 0; i < 5; i++) {
		DAT_EVENT event;

		ASSERT_DAT(wait_event(pair->a.dto_evd, &event));
		if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
			EXPECT_EQ(DAT_RMR_BIND_SUCCESS,
				  event.event_data.rmr_completion_event_data.status);
			binds++;
		} else {
			EXPECT_EQ(DAT_DTO_SUCCESS,
				  event.event_data.dto_completion_event_data.status);
		}
	}
	EXPECT_EQ(1, binds);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 4 * SIZE));
	EXPECT_DAT(wait_number(pair->a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
}

FIXTURE(one_evd)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_VARIANT(one_evd)
{
	DAT_CLOSE_FLAGS flags;
};

FIXTURE_VARIANT_ADD(one_evd, abrupt)
{
	.flags = DAT_CLOSE_ABRUPT_FLAG,
};

FIXTURE_VARIANT_ADD(one_evd, graceful)
{
	.flags = DAT_CLOSE_GRACEFUL_FLAG,
};

/* A side has one EVD for everything. */
static DAT_RETURN merge(struct pair *pair, struct side *side)
{
	DAT_RETURN ret;

	ret = dat_evd_create(pair->ia, 256, DAT_HANDLE_NULL,
			     DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
			     DAT_EVD_RMR_BIND_FLAG, &side->dto_evd);
	side->conn_evd = side->dto_evd;
	if (!ret)
		ret = dat_ep_free(side->ep);
	return ret ?: dat_ep_create(pair->ia, side->pz, side->dto_evd,
				    side->dto_evd, side->conn_evd, NULL,
				    &side->ep);
}

FIXTURE_SETUP(one_evd)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(merge(pair, &pair->a));
	ASSERT_DAT(merge(pair, &pair->b));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(one_evd)
{
	pair_close(&self->pair);
}

static void expect_end_behind_successes(struct __test_metadata *_metadata,
					DAT_EVD_HANDLE evd)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	bool ended = false;
	DAT_EVENT event;
	int i;

	d = &event.event_data.dto_completion_event_data;
	for (i = 0; i < MESSAGES + 1; i++) {
		ASSERT_DAT(wait_event(evd, &event));
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED) {
			EXPECT_FALSE(ended);
			ended = true;
		} else {
			ASSERT_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
			if (ended)
				EXPECT_NE(DAT_DTO_SUCCESS, d->status);
		}
	}
	EXPECT_TRUE(ended);
}

TEST_F_TIMEOUT(one_evd, disconnected_event_after_successes, 600)
{
	struct pair *pair = &self->pair;
	int round;

	for (round = 0; round < 10; round++) {
		ASSERT_DAT(round ? pair_reconnect(pair) : pair_connect(pair));
		ASSERT_DAT(send_all(pair, &self->a, &self->b));
		usleep(round * 100);
		ASSERT_DAT(dat_ep_disconnect(pair->a.ep, variant->flags));
		expect_end_behind_successes(_metadata, pair->a.conn_evd);
		expect_end_behind_successes(_metadata, pair->b.conn_evd);
	}
}

/*
 * A TCP port that answers no SYN, because its queue is full. The address is that of the IA.
 * Returns the listening socket, or -1.
 */
static int silent_port(struct pair *pair, DAT_CONN_QUAL *port)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	DAT_IA_ADDRESS_PTR ia;
	int fd, other, i;

	if (ia_address(pair->ia, &ia) || ((struct sockaddr *)ia)->sa_family != AF_INET)
		return -1;
	memcpy(&addr, ia, sizeof(addr));
	addr.sin_port = 0;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) || listen(fd, 0) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len))
		return -1;
	/* These sockets stay open until the process ends. */
	for (i = 0; i < 4; i++) {
		other = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (other < 0 ||
		    (connect(other, (struct sockaddr *)&addr, len) && errno != EINPROGRESS))
			return -1;
	}
	*port = ntohs(addr.sin_port);
	return fd;
}

/* Sockets of this network namespace that wait for an answer of the port */
static int num_unanswered(DAT_CONN_QUAL port)
{
	unsigned int to, state;
	FILE *f = fopen("/proc/net/tcp", "r");
	char line[256];
	int num = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %*d: %*x:%*x %*x:%x %x", &to, &state) == 2 && to == port &&
		    state == TCP_SYN_SENT)
			num++;
	if (f)
		fclose(f);
	return num;
}

/* The call does not wait for the peer, nor on what rdma_cm frees when TCP fails. */
TEST_F_TIMEOUT(disconnect, silent_peer_does_not_delay, 120)
{
	struct pair *pair = &self->pair;
	DAT_CONN_QUAL port;
	int fd, num;

	if (!link_is_iwarp())
		SKIP(return, "no TCP");
	fd = silent_port(pair, &port);
	ASSERT_LE(0, fd);
	num = num_unanswered(port);
	ASSERT_LE(1, num);
	ASSERT_DAT(connect_to(pair, pair->a.ep, port));
	while (num_unanswered(port) == num)
		usleep(1000);
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	/* TCP still waits. */
	EXPECT_LT(num, num_unanswered(port));
	close(fd);
	EXPECT_DAT(wait_number(pair->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
}

/* Other EPs connect meanwhile. */
TEST_F_TIMEOUT(disconnect, silent_peer_delays_no_other, 120)
{
	struct pair *pair = &self->pair, other = {};
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_CONN_QUAL port;
	int fd, num;

	if (!link_is_iwarp())
		SKIP(return, "no TCP");
	fd = silent_port(pair, &port);
	ASSERT_LE(0, fd);
	num = num_unanswered(port);
	ASSERT_DAT(connect_to(pair, pair->a.ep, port));
	while (num_unanswered(port) == num)
		usleep(1000);
	ASSERT_DAT(pair_open_connected(&other));
	ASSERT_DAT(dat_ep_get_status(pair->a.ep, &state, &recv_idle, &request_idle));
	EXPECT_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, state);
	pair_close(&other);
	close(fd);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * hostile_connect.c - a peer sends any private data, and vanishes at each step of a connection
 */
#include "harness.h"
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "host.h"
#include "link.h"
#include "process.h"

/*
 * The longest private data of a request, of an acceptance and of a rejection, in bytes. siw
 * adds 4 bytes and keeps the sum in 8 bits (siw_send_mpareqrep()), so it cannot send 252.
 */
#define MAX_SIW		251
#define MAX_REQUEST	(link_is_iwarp() ? MAX_SIW : 56)
#define MAX_ACCEPT	(link_is_iwarp() ? MAX_SIW : 196)
#define MAX_REJECT	(link_is_iwarp() ? MAX_SIW : 148)

FIXTURE(hostile_connect)
{
	struct host host;
};

FIXTURE_SETUP(hostile_connect)
{
	ASSERT_DAT(host_open(&self->host));
}

FIXTURE_TEARDOWN(hostile_connect)
{
	EXPECT_TRUE(host_unharmed(&self->host));
	host_close(&self->host);
}

static void random_data(struct raw_order *order, unsigned int length)
{
	unsigned int i;

	order->data_len = length;
	for (i = 0; i < length; i++)
		order->data[i] = random();
}

static bool is_zero(const unsigned char *bytes, unsigned int length)
{
	return !length || is_filled_with(bytes, length, 0);
}

/* InfiniBand pads private data with zeros. */
static bool is_data(const struct raw_order *order, const void *data, unsigned int length)
{
	const unsigned char *bytes = data;

	if (length < order->data_len || (link_is_iwarp() && length != order->data_len) ||
	    (length && memcmp(bytes, order->data, order->data_len)) ||
	    !is_zero(bytes + order->data_len, length - order->data_len)) {
		fprintf(stderr, "# %u bytes of private data for %u\n", length, order->data_len);
		return false;
	}
	return true;
}

/* Answers a request and waits until raw knows. */
static DAT_RETURN reject(struct host *host, DAT_CR_HANDLE cr, unsigned int conn)
{
	DAT_RETURN ret = dat_cr_reject(cr);

	if (!ret && raw_event(host, conn) != RDMA_CM_EVENT_REJECTED)
		ret = DAT_INTERNAL_ERROR;
	return ret;
}

TEST_F(hostile_connect, private_data_of_requests)
{
	struct host *host = &self->host;
	unsigned int length;

	TH_LOG("KDAPL_SEED=%u", random_seed());
	for (length = 0; length <= MAX_REQUEST; length++) {
		struct raw_order order = { .op = RAW_CONNECT, .to = host->address, .retries = 7 };
		struct raw_answer answer;
		DAT_CR_HANDLE cr;
		DAT_CR_PARAM param;

		random_data(&order, length);
		ASSERT_TRUE(raw_do(host, &order, &answer));
		ASSERT_DAT(next_cr(&host->pair, &cr));
		ASSERT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		ASSERT_TRUE(is_data(&order, param.private_data, param.private_data_size));
		ASSERT_DAT(reject(host, cr, 0));
		ASSERT_TRUE(raw_order(host, RAW_CLOSE, 0));
	}
}

/* Lets the host connect to raw, which has received the request when this returns. */
static DAT_RETURN connect_to_raw(struct host *host, unsigned int conn, __u32 port)
{
	struct raw_order order = { .op = RAW_REQUEST, .conn = conn };
	struct raw_answer answer;
	DAT_RETURN ret = victim_open(host, conn);

	ret = ret ?: connect_to(&host->pair, host->victims[conn].ep, port);
	if (!ret && !raw_do(host, &order, &answer))
		ret = DAT_INTERNAL_ERROR;
	return ret;
}

static __u32 listen_port(struct host *host)
{
	struct raw_order order = { .op = RAW_LISTEN };
	struct raw_answer answer = { 0 };

	return raw_do(host, &order, &answer) ? answer.port : 0;
}

/* Raw answers a request of the host, with private data of this length. */
static bool answer_arrives(struct host *host, __u32 port, enum raw_op op, unsigned int length)
{
	struct raw_order order = { .op = op, .retries = 7, .rnr_retry = 7 };
	DAT_EVENT_NUMBER number = op == RAW_ACCEPT ? DAT_CONNECTION_EVENT_ESTABLISHED :
						     DAT_CONNECTION_EVENT_PEER_REJECTED;
	DAT_CONNECTION_EVENT_DATA *data;
	struct raw_answer answer;
	DAT_EVENT event;

	random_data(&order, length);
	if (connect_to_raw(host, 0, port) || !raw_do(host, &order, &answer) ||
	    wait_for(host->victims[0].conn_evd, number, &event))
		return false;
	data = &event.event_data.connect_event_data;
	return is_data(&order, data->private_data, data->private_data_size) &&
	       (op != RAW_ACCEPT || raw_event(host, 0) == RDMA_CM_EVENT_ESTABLISHED) &&
	       victim_close(host, 0);
}

TEST_F(hostile_connect, private_data_of_answers)
{
	struct host *host = &self->host;
	__u32 port = listen_port(host);
	unsigned int length, step = rounds(8, 1);

	ASSERT_NE(0, port);
	TH_LOG("KDAPL_SEED=%u", random_seed());
	for (length = 0; length <= MAX_ACCEPT; length += step)
		ASSERT_TRUE(answer_arrives(host, port, RAW_ACCEPT, length));
	for (length = 0; length <= MAX_REJECT; length += step)
		ASSERT_TRUE(answer_arrives(host, port, RAW_REJECT, length));
}

/* How raw vanishes */
enum vanish { BY_CLOSE, BY_KILL };

static bool vanish(struct host *host, enum vanish how, unsigned int conn)
{
	if (how == BY_CLOSE)
		return raw_order(host, RAW_CLOSE, conn);
	raw_kill(host);
	return true;
}

static DAT_EVENT_NUMBER next_number(struct host *host, unsigned int conn)
{
	DAT_EVENT event;

	return wait_event(host->victims[conn].conn_evd, &event) ? 0 : event.event_number;
}

FIXTURE(vanish)
{
	struct host host;
};

FIXTURE_VARIANT(vanish)
{
	enum vanish how;
};

FIXTURE_VARIANT_ADD(vanish, by_close)
{
	.how = BY_CLOSE,
};

FIXTURE_VARIANT_ADD(vanish, by_sigkill)
{
	.how = BY_KILL,
};

FIXTURE_SETUP(vanish)
{
	ASSERT_DAT(host_open(&self->host));
}

/* Each test leaves the host able to serve the next peer. */
FIXTURE_TEARDOWN(vanish)
{
	struct host *host = &self->host;

	if (!host->raw)
		EXPECT_DAT(raw_restart(host));
	EXPECT_DAT(victim_connect(host, 1));
	EXPECT_TRUE(victim_close(host, 1));
	EXPECT_TRUE(host_unharmed(host));
	host_close(host);
}

TEST_F(vanish, after_request)
{
	struct host *host = &self->host;
	struct raw_order order = { .op = RAW_CONNECT, .to = host->address, .retries = 7 };
	struct raw_answer answer;
	DAT_CR_HANDLE cr;

	ASSERT_DAT(victim_open(host, 0));
	ASSERT_TRUE(raw_do(host, &order, &answer));
	ASSERT_DAT(next_cr(&host->pair, &cr));
	ASSERT_TRUE(vanish(host, variant->how, 0));
	ASSERT_DAT(dat_cr_accept(cr, host->victims[0].ep, 0, NULL));
	EXPECT_TRUE(victim_accept_failed(host, 0));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(host->victims[0].ep));
	EXPECT_TRUE(victim_flushed(host, 0, 0));
	EXPECT_DAT(dat_ep_free(host->victims[0].ep));
}

TEST_F(vanish, after_accept)
{
	struct host *host = &self->host;
	struct raw_order order = { .op = RAW_CONNECT, .to = host->address, .retries = 7 };
	struct raw_answer answer;

	ASSERT_DAT(victim_open(host, 0));
	ASSERT_TRUE(raw_do(host, &order, &answer));
	ASSERT_DAT(victim_accept(host, 0));
	/* Raw confirms when it takes the event, which it does not. */
	ASSERT_TRUE(vanish(host, variant->how, 0));
	EXPECT_TRUE(victim_accept_failed(host, 0));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(host->victims[0].ep));
	EXPECT_TRUE(victim_flushed(host, 0, 0));
	EXPECT_DAT(dat_ep_free(host->victims[0].ep));
}

TEST_F(vanish, after_established)
{
	struct host *host = &self->host;

	ASSERT_DAT(victim_connect(host, 0));
	ASSERT_TRUE(vanish(host, variant->how, 0));
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, next_number(host, 0));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(host->victims[0].ep));
	EXPECT_TRUE(victim_flushed(host, 0, 0));
	EXPECT_DAT(dat_ep_free(host->victims[0].ep));
}

/* The host has Sends outstanding: raw has posted no receive. */
TEST_F(vanish, during_sends)
{
	struct host *host = &self->host;
	unsigned int i, num;

	ASSERT_DAT(victim_connect(host, 0));
	if (link_is_iwarp()) {
		/* The side that connects must send first. */
		struct raw_order order = { .op = RAW_POST, .opcode = IBV_WR_SEND };
		struct raw_answer answer;

		ASSERT_TRUE(raw_do(host, &order, &answer));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(host->victims[0].dto_evd, 0));
	}
	/* On iWARP the first Send ends the connection. */
	num = link_is_iwarp() ? 1 : 8;
	for (i = 0; i < num; i++)
		ASSERT_DAT(post_send(host->victims[0].ep, &host->arena, 0, 4096, 100 + i));
	ASSERT_TRUE(vanish(host, variant->how, 0));
	EXPECT_DAT(wait_event(host->victims[0].conn_evd, &(DAT_EVENT){ 0 }));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(host->victims[0].ep));
	/* Not -1, which is no completion */
	for (i = 0; i < num && !link_is_iwarp(); i++)
		EXPECT_LT(DAT_DTO_SUCCESS, wait_dto(host->victims[0].dto_evd, 100 + i));
	EXPECT_DAT(dat_ep_free(host->victims[0].ep));
}

/* The host connects, raw receives the request and leaves. */
TEST_F(vanish, before_answer)
{
	struct host *host = &self->host;
	__u32 port = listen_port(host);
	DAT_EVENT_NUMBER number;

	ASSERT_NE(0, port);
	ASSERT_DAT(connect_to_raw(host, 0, port));
	ASSERT_TRUE(vanish(host, variant->how, 0));
	number = next_number(host, 0);
	TH_LOG("event %#x", number);
	EXPECT_TRUE(number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
		    number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
		    number == DAT_CONNECTION_EVENT_UNREACHABLE);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(host->victims[0].ep));
	EXPECT_TRUE(victim_flushed(host, 0, 0));
	EXPECT_DAT(dat_ep_free(host->victims[0].ep));
}

/* Raw destroys its QP and keeps the connection manager silent. */
TEST_F(hostile_connect, qp_destroyed_without_disconnect)
{
	struct host *host = &self->host;
	struct raw_order order = { .op = RAW_POST, .opcode = IBV_WR_SEND };
	/* With few retries, the host finds out sooner. */
	struct raw_order how = { .conn = 0, .retries = 3, .rnr_retry = 7 };
	struct raw_answer answer;
	int status;

	ASSERT_DAT(victim_connect_as(host, &how));
	ASSERT_TRUE(raw_do(host, &order, &answer));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(host->victims[0].dto_evd, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, raw_status(host, RAW_SENT, 0));
	ASSERT_TRUE(raw_order(host, RAW_DROP_QP, 0));
	if (link_is_iwarp()) {
		EXPECT_DAT(wait_broken(host->victims[0].conn_evd));
	} else {
		/* The host finds out when it sends. */
		EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(host->victims[0].ep));
		ASSERT_DAT(post_send(host->victims[0].ep, &host->arena, 0, 64, 100));
		status = wait_dto(host->victims[0].dto_evd, 100);
		EXPECT_EQ(DAT_DTO_ERR_TRANSPORT, status);
		EXPECT_TRUE(victim_broken(host, 0));
		EXPECT_TRUE(victim_flushed(host, 0, 1));
	}
	EXPECT_TRUE(victim_close(host, 0));
}

TEST_HARNESS_MAIN

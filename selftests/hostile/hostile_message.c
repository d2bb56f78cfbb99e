// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * hostile_message.c - a peer sends messages that are too long, unexpected or never received
 */
#include "harness.h"
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "counts.h"
#include "host.h"
#include "link.h"

/* What raw sends */

FIXTURE(hostile_message)
{
	struct host host;
};

FIXTURE_SETUP(hostile_message)
{
	ASSERT_DAT(host_open(&self->host));
}

FIXTURE_TEARDOWN(hostile_message)
{
	EXPECT_TRUE(host_unharmed(&self->host));
	host_close(&self->host);
}

static bool post(struct host *host, unsigned int conn, __u32 opcode, __u32 length)
{
	struct raw_order order = {
		.op = RAW_POST,
		.conn = conn,
		.opcode = opcode,
		.length = length,
		.address = ADDR(host->arena.buf) + WINDOW_AT,
		.rkey = host->window,
		.imm = 0x12345678,
	};
	struct raw_answer answer;

	memset(host_slot(host, conn), THEIRS, RAW_SLOT);
	return raw_do(host, &order, &answer);
}

/*
 * A device may have begun to fill a buffer when it refuses the message. Whatever it wrote
 * came from raw and is in this buffer.
 */
static bool accept_partial(struct host *host, unsigned int conn, unsigned int recv)
{
	size_t i, from = inbox_of(conn, recv);

	for (i = from; i < from + RECV_LEN; i++) {
		if (host->arena.buf[i] != host->shadow[i] && host->arena.buf[i] != THEIRS)
			return false;
		host->shadow[i] = host->arena.buf[i];
	}
	return true;
}

/* The next completion of a connection; its status, or -1 */
static int next_dto(struct host *host, unsigned int conn, __u64 cookie, DAT_VLEN *length)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (wait_event(host->victims[conn].dto_evd, &event))
		return -1;
	dto = &event.event_data.dto_completion_event_data;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT || dto->user_cookie.as_64 != cookie) {
		fprintf(stderr, "# event %#x, cookie %llu\n", event.event_number,
			(unsigned long long)dto->user_cookie.as_64);
		return -1;
	}
	*length = dto->transfered_length;
	return dto->status;
}

TEST_F(hostile_message, sends_as_long_as_receives)
{
	static const __u32 lengths[] = { 0, RECV_LEN };
	struct host *host = &self->host;
	unsigned int i;
	DAT_VLEN length;

	ASSERT_DAT(victim_connect(host, 0));
	for (i = 0; i < RECVS; i++) {
		ASSERT_TRUE(post(host, 0, IBV_WR_SEND, lengths[i]));
		EXPECT_EQ(IBV_WC_SUCCESS, raw_status(host, RAW_SENT, 0));
		EXPECT_EQ(DAT_DTO_SUCCESS, next_dto(host, 0, i, &length));
		EXPECT_EQ(lengths[i], length);
		memset(host->shadow + inbox_of(0, i), THEIRS, lengths[i]);
		EXPECT_TRUE(host_unharmed(host));
	}
	EXPECT_TRUE(victim_close(host, 0));
}

TEST_F(hostile_message, sends_longer_than_receives)
{
	static const __u32 lengths[] = {
		RECV_LEN + 1, RECV_LEN + 4, 2 * RECV_LEN, 4096, 65536, RAW_SLOT
	};
	struct host *host = &self->host;
	DAT_VLEN length;
	unsigned int i;
	int status;

	for (i = 0; i < ARRAY_LEN(lengths); i++) {
		ASSERT_DAT(victim_connect(host, i));
		ASSERT_TRUE(post(host, i, IBV_WR_SEND, lengths[i]));
		EXPECT_EQ(DAT_DTO_ERR_LOCAL_LENGTH, next_dto(host, i, 0, &length));
		EXPECT_TRUE(victim_broken(host, i));
		EXPECT_TRUE(victim_flushed(host, i, 1));
		if (!link_is_iwarp()) {
			status = raw_status(host, RAW_SENT, i);
			EXPECT_NE(IBV_WC_SUCCESS, status);
			EXPECT_NE(RAW_NONE, status);
		}
		EXPECT_TRUE(accept_partial(host, i, 0));
		EXPECT_TRUE(victim_close(host, i));
		EXPECT_TRUE(host_unharmed(host));
	}
}

/* DAT 1.2 has no immediate data: a message with it is a plain message. */
TEST_F(hostile_message, send_with_immediate)
{
	struct host *host = &self->host;
	DAT_VLEN length;

	if (link_is_iwarp())
		SKIP(return, "siw has no immediate data");
	ASSERT_DAT(victim_connect(host, 0));
	ASSERT_TRUE(post(host, 0, IBV_WR_SEND_WITH_IMM, 100));
	EXPECT_EQ(IBV_WC_SUCCESS, raw_status(host, RAW_SENT, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, next_dto(host, 0, 0, &length));
	EXPECT_EQ(100, length);
	memset(host->shadow + inbox_of(0, 0), THEIRS, 100);
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(host->victims[0].ep));
	EXPECT_TRUE(victim_close(host, 0));
}

/*
 * An RDMA Write with immediate data takes a receive without filling it. A consumer that
 * believed the length of the Write would read behind its buffer.
 */
TEST_F(hostile_message, write_with_immediate)
{
	static const __u32 lengths[] = { WINDOW_LEN, 0 };
	struct host *host = &self->host;
	DAT_VLEN length;
	unsigned int i;

	if (link_is_iwarp())
		SKIP(return, "siw has no immediate data");
	ASSERT_DAT(victim_connect(host, 0));
	for (i = 0; i < RECVS; i++) {
		ASSERT_TRUE(post(host, 0, IBV_WR_RDMA_WRITE_WITH_IMM, lengths[i]));
		EXPECT_EQ(IBV_WC_SUCCESS, raw_status(host, RAW_SENT, 0));
		EXPECT_EQ(DAT_DTO_SUCCESS, next_dto(host, 0, i, &length));
		EXPECT_EQ(0, length);
		memset(host->shadow + WINDOW_AT, THEIRS, lengths[i]);
	}
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(host->victims[0].ep));
	EXPECT_TRUE(victim_close(host, 0));
}

/* Each takes a receive that is not there. The host is not to blame and stays connected. */
TEST_F(hostile_message, no_receive_posted)
{
	static const __u32 opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_SEND_WITH_INV,
	};
	struct host *host = &self->host;
	unsigned int i;

	host->recvs = 0;
	for (i = 0; i < ARRAY_LEN(opcodes); i++) {
		struct raw_order how = { .conn = i, .retries = 7, .rnr_retry = 0 };

		how.mtu = link_is_iwarp() ? 0 : IBV_MTU_1024;
		if (link_is_iwarp() && opcodes[i] != IBV_WR_SEND)
			continue;
		ASSERT_DAT(victim_connect_as(host, &how));
		ASSERT_TRUE(post(host, i, opcodes[i], 64));
		if (link_is_iwarp()) {
			EXPECT_TRUE(victim_broken(host, i));
		} else {
			EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, raw_status(host, RAW_SENT, i));
			EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(host->victims[i].ep));
		}
		EXPECT_TRUE(is_empty(host->victims[i].dto_evd));
		EXPECT_TRUE(victim_close(host, i));
	}
}

/* How often the device has answered that no receive was posted */
static long long rnr_answers(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/send_rnr_err",
		 ia_name());
	return number_in(path, "");
}

TEST_F(hostile_message, receive_posted_late)
{
	struct host *host = &self->host;
	long long before;
	DAT_VLEN length;

	if (link_is_iwarp())
		SKIP(return, "iWARP does not retry");
	host->recvs = 0;
	ASSERT_DAT(victim_connect(host, 0));
	before = rnr_answers();
	ASSERT_GE(before, 0);
	ASSERT_TRUE(post(host, 0, IBV_WR_SEND, 64));
	while (rnr_answers() < before + 3)
		usleep(10000);
	ASSERT_DAT(post_recv(host->victims[0].ep, &host->arena, inbox_of(0, 0), RECV_LEN, 7));
	EXPECT_EQ(DAT_DTO_SUCCESS, next_dto(host, 0, 7, &length));
	EXPECT_EQ(64, length);
	EXPECT_EQ(IBV_WC_SUCCESS, raw_status(host, RAW_SENT, 0));
	memset(host->shadow + inbox_of(0, 0), THEIRS, 64);
	EXPECT_TRUE(victim_close(host, 0));
}

/* The CQ of raw overflows, since raw does not poll it. */
TEST_F(hostile_message, peer_never_polls)
{
	struct raw_order how = { .conn = 0, .depth = 4, .retries = 0, .rnr_retry = 7 };
	struct raw_order recv = { .op = RAW_RECV, .length = 64 };
	struct host *host = &self->host;
	struct raw_answer answer;
	unsigned int i, failed = 0;
	DAT_EVENT event;
	DAT_VLEN length;

	if (link_is_iwarp())
		SKIP(return, "siw acknowledges nothing, so it need not notice");
	ASSERT_DAT(victim_connect_as(host, &how));
	ASSERT_TRUE(post(host, 0, IBV_WR_SEND, 0));
	ASSERT_EQ(DAT_DTO_SUCCESS, next_dto(host, 0, 0, &length));
	for (i = 0; i < 32; i++) {
		recv.offset = 64 * i;
		ASSERT_TRUE(raw_do(host, &recv, &answer));
	}
	for (i = 0; i < 32; i++)
		ASSERT_DAT(post_send(host->victims[0].ep, &host->arena, 0, 64, 100 + i));
	for (i = 0; i < 32 + 1; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

		ASSERT_DAT(wait_event(host->victims[0].dto_evd, &event));
		failed += dto->status != DAT_DTO_SUCCESS;
		if (dto->user_cookie.as_64 < 100)
			EXPECT_EQ(DAT_DTO_ERR_FLUSHED, dto->status);
	}
	EXPECT_GT(failed, 1);
	EXPECT_TRUE(victim_broken(host, 0));
	EXPECT_TRUE(victim_close(host, 0));
}

/* rxe accepts a Send of small packets on 6.1; newer kernels may refuse it. */
static bool whole_or_refused(struct host *host, unsigned int conn, unsigned int recv)
{
	int status = raw_status(host, RAW_SENT, conn);
	DAT_VLEN length;

	if (status == IBV_WC_SUCCESS) {
		memset(host->shadow + inbox_of(conn, recv), THEIRS, RECV_LEN);
		return next_dto(host, conn, recv, &length) == DAT_DTO_SUCCESS &&
		       length == RECV_LEN;
	}
	return status == IBV_WC_REM_INV_REQ_ERR && victim_broken(host, conn) &&
	       next_dto(host, conn, recv, &length) > DAT_DTO_SUCCESS &&
	       accept_partial(host, conn, recv);
}

/* Packets of another size than the host expects */
TEST_F(hostile_message, other_path_mtu)
{
	static const struct {
		enum ibv_mtu mtu;
		__u32 opcode;
		__u32 length;
	} cases[] = {
		{ IBV_MTU_256, IBV_WR_RDMA_WRITE, WINDOW_LEN },
		{ IBV_MTU_512, IBV_WR_RDMA_WRITE, WINDOW_LEN },
		{ IBV_MTU_4096, IBV_WR_RDMA_WRITE, WINDOW_LEN },
		{ IBV_MTU_256, IBV_WR_SEND, RECV_LEN },
		{ IBV_MTU_512, IBV_WR_SEND, RECV_LEN },
	};
	struct host *host = &self->host;
	DAT_VLEN length;
	unsigned int i;

	if (link_is_iwarp())
		SKIP(return, "iWARP has no path MTU");
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		struct raw_order how = {
			.conn = i,
			.mtu = cases[i].mtu,
			.retries = 7,
			.rnr_retry = 7,
		};

		ASSERT_DAT(victim_connect_as(host, &how));
		/* One packet in any case */
		ASSERT_TRUE(post(host, i, IBV_WR_SEND, 64));
		ASSERT_EQ(IBV_WC_SUCCESS, raw_status(host, RAW_SENT, i));
		ASSERT_EQ(DAT_DTO_SUCCESS, next_dto(host, i, 0, &length));
		memset(host->shadow + inbox_of(i, 0), THEIRS, 64);

		ASSERT_TRUE(post(host, i, cases[i].opcode, cases[i].length));
		if (cases[i].opcode == IBV_WR_SEND) {
			EXPECT_TRUE(whole_or_refused(host, i, 1));
		} else {
			EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, raw_status(host, RAW_SENT, i));
			EXPECT_TRUE(victim_broken(host, i));
			EXPECT_TRUE(victim_flushed(host, i, 1));
		}
		EXPECT_TRUE(victim_close(host, i));
		EXPECT_TRUE(host_unharmed(host));
	}
}

TEST_HARNESS_MAIN

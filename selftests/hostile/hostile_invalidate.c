// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * hostile_invalidate.c - a peer sends with invalidate of contexts that it was not given
 *
 * rxe checks neither the PZ nor the privileges of such a Send (Documentation/transports.rst),
 * so any peer of the host can close a window. kdapl must then report the window as unbound, and
 * the owner must be able to open the memory again.
 */
#include "harness.h"
#include <string.h>

#include <infiniband/verbs.h>

#include "attack.h"
#include "host.h"
#include "link.h"
#include "process.h"

FIXTURE(hostile_invalidate)
{
	struct host host;
};

FIXTURE_SETUP(hostile_invalidate)
{
	ASSERT_DAT(host_open(&self->host));
}

FIXTURE_TEARDOWN(hostile_invalidate)
{
	EXPECT_TRUE(host_unharmed(&self->host));
	host_close(&self->host);
}

enum outcome { NEITHER, EXECUTED, REFUSAL };

/*
 * Lets raw invalidate @context on a connection of its own. The device executes it, and the
 * message arrives; or it refuses, and the connection is broken.
 */
static enum outcome invalidate(struct host *host, unsigned int conn, DAT_RMR_CONTEXT context)
{
	struct raw_order order = {
		.op = RAW_POST,
		.conn = conn,
		.opcode = IBV_WR_SEND_WITH_INV,
		.length = 64,
		.rkey = context,
	};
	struct raw_answer answer;
	size_t at = inbox_of(conn, 0);
	enum outcome outcome;
	int status;

	memset(host_slot(host, conn), THEIRS, RAW_SLOT);
	if (victim_connect(host, conn) || !raw_do(host, &order, &answer))
		return NEITHER;
	status = wait_dto(host->victims[conn].dto_evd, 0);
	if (status == DAT_DTO_SUCCESS) {
		outcome = EXECUTED;
		memset(host->shadow + at, THEIRS, 64);
	} else {
		/* The device may have filled the buffer before it refused. */
		outcome = status > 0 && victim_broken(host, conn) &&
			  victim_flushed(host, conn, 1) ? REFUSAL : NEITHER;
		if (is_filled_with(host->arena.buf + at, 64, THEIRS))
			memset(host->shadow + at, THEIRS, 64);
	}
	if (outcome == EXECUTED &&
	    ep_state(host->victims[conn].ep) != DAT_EP_STATE_CONNECTED)
		outcome = NEITHER;
	return victim_close(host, conn) ? outcome : NEITHER;
}

static bool is_bound(DAT_RMR_HANDLE rmr)
{
	DAT_RMR_PARAM param = { .rmr_context = 0 };

	return !dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param) &&
	       param.lmr_triplet.segment_length;
}

/* Raw writes and reads through a window of the host. */
static bool attack_window(struct host *host, DAT_RMR_CONTEXT context, __u32 expected)
{
	__u64 address = ADDR(host->arena.buf) + WINDOW_AT;
	struct attack attacks[] = {
		{ IBV_WR_RDMA_WRITE, address, 64, context, expected },
		{ IBV_WR_RDMA_READ, address, 64, context, expected },
	};

	return attack_all(host, attacks, ARRAY_LEN(attacks));
}

/* The context that the peer was given for this */
TEST_F(hostile_invalidate, own_window)
{
	struct host *host = &self->host;
	DAT_RMR_CONTEXT before = host->window;

	ASSERT_TRUE(attack_window(host, host->window, ATTACK_ALLOWED));
	ASSERT_EQ(EXECUTED, invalidate(host, 0, host->window));
	EXPECT_FALSE(is_bound(host->rmr));
	ASSERT_TRUE(attack_window(host, before, REFUSED));
	ASSERT_DAT(host_bind(host, host->rmr, WINDOW_AT, WINDOW_LEN, REMOTE_RW, &host->window));
	EXPECT_NE(before, host->window);
	ASSERT_TRUE(attack_window(host, host->window, ATTACK_ALLOWED));
	EXPECT_TRUE(attack_window(host, before, REFUSED));
}

/* Dead contexts: of a former bind, of a freed RMR, and those that never existed */
TEST_F(hostile_invalidate, dead_contexts)
{
	struct host *host = &self->host;
	DAT_RMR_CONTEXT former, freed;
	DAT_RMR_HANDLE rmr;

	ASSERT_DAT(dat_rmr_create(host->pair.b.pz, &rmr));
	ASSERT_DAT(host_bind(host, rmr, WINDOW_AT, WINDOW_LEN, REMOTE_RW, &freed));
	ASSERT_DAT(dat_rmr_free(rmr));
	former = host->window;
	ASSERT_DAT(host_bind(host, host->rmr, WINDOW_AT, WINDOW_LEN, REMOTE_RW, &host->window));

	EXPECT_EQ(REFUSAL, invalidate(host, 0, freed));
	EXPECT_EQ(REFUSAL, invalidate(host, 1, 0));
	EXPECT_EQ(REFUSAL, invalidate(host, 2, UINT32_MAX));
	/* siw compares the index alone. */
	if (!link_is_iwarp()) {
		EXPECT_NE(NEITHER, invalidate(host, 3, former));
		EXPECT_EQ(REFUSAL, invalidate(host, 4, host->window ^ 0x80));
	}
	EXPECT_TRUE(is_bound(host->rmr));
	EXPECT_TRUE(attack_window(host, host->window, ATTACK_ALLOWED));
}

/*
 * Another PZ of the same host: side b of the pair uses a window of side a. Raw has neither that
 * PZ nor that context.
 */
static DAT_RETURN open_other_pz(struct host *host, struct region *a, DAT_RMR_HANDLE *rmr,
				DAT_RMR_CONTEXT *context)
{
	struct pair *pair = &host->pair;

	return pair_connect(pair) ?:
	       region_open(pair, pair->a.pz, a, 8192, DAT_MEM_PRIV_ALL_FLAG) ?:
	       dat_rmr_create(pair->a.pz, rmr) ?:
	       bind_window(*rmr, a, 0, 4096, REMOTE_RW, pair->a.ep, 5,
			   DAT_COMPLETION_DEFAULT_FLAG, context);
}

TEST_F(hostile_invalidate, window_of_other_pz)
{
	struct host *host = &self->host;
	struct pair *pair = &host->pair;
	struct region a, b;
	DAT_RMR_CONTEXT context;
	enum outcome outcome;
	DAT_RMR_HANDLE rmr;

	ASSERT_DAT(open_other_pz(host, &a, &rmr, &context));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_bind(pair->a.dto_evd, 5));
	outcome = invalidate(host, 0, context);
	TH_LOG("the device has %s it", outcome == EXECUTED ? "executed" : "refused");
	ASSERT_NE(NEITHER, outcome);
	EXPECT_EQ(outcome == REFUSAL, is_bound(rmr));
	EXPECT_TRUE(is_filled_with(a.buf, a.len, 0));

	/* The owner of the window is not disturbed, and opens it again. */
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(pair->a.ep));
	ASSERT_DAT(bind_window(rmr, &a, 0, 4096, REMOTE_RW, pair->a.ep, 6,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_bind(pair->a.dto_evd, 6));
	ASSERT_DAT(region_open(pair, pair->b.pz, &b, 8192, DAT_MEM_PRIV_ALL_FLAG));
	memset(b.buf, 0x5a, 64);
	if (!link_is_iwarp()) {
		ASSERT_DAT(post_write(pair->b.ep, &b, 0, 64, context, a.buf, 7));
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, 7));
		EXPECT_TRUE(is_filled_with(a.buf, 64, 0x5a));
	}
}

/* An LMR without privileges for peers, by its local key: no peer was given it. */
TEST_F(hostile_invalidate, local_key_of_lmr)
{
	struct host *host = &self->host;
	DAT_REGION_DESCRIPTION desc;
	enum outcome outcome;
	struct region local;
	DAT_VADDR address;
	DAT_VLEN size;
	DAT_RETURN ret;

	ASSERT_DAT(region_open(&host->pair, host->pair.b.pz, &local, 8192, LOCAL_RW));
	outcome = invalidate(host, 0, local.lmr_context);
	TH_LOG("the device has %s it", outcome == EXECUTED ? "executed" : "refused");
	ASSERT_NE(NEITHER, outcome);
	/* siw knows no privileges here. */
	if (!link_is_iwarp() && !kernel_is_before(6, 3))
		EXPECT_EQ(REFUSAL, outcome);
	EXPECT_TRUE(is_filled_with(local.buf, local.len, 0));
	ASSERT_DAT(victim_connect(host, 1));
	ret = post_recv(host->victims[1].ep, &local, 0, 64, 9);
	EXPECT_EQ(outcome == REFUSAL, !ret);
	EXPECT_TRUE(victim_close(host, 1));

	/* The process can register its memory again. */
	EXPECT_DAT(dat_lmr_free(local.lmr));
	desc.for_va = local.buf;
	ASSERT_DAT(dat_lmr_create(host->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc, local.len,
				  host->pair.b.pz, LOCAL_RW, &local.lmr, &local.lmr_context,
				  &local.rmr_context, &size, &address));
	ASSERT_DAT(victim_connect(host, 1));
	ASSERT_DAT(post_recv(host->victims[1].ep, &local, 0, 64, 9));
	EXPECT_TRUE(victim_close(host, 1));
}

/*
 * The same of another user, who has no connection with raw. The bystander's messages show
 * whether its registration is still there.
 */
TEST_F(hostile_invalidate, local_key_of_other_user)
{
	struct host *host = &self->host;

	/* Documentation/transports.rst */
	if (!link_is_iwarp() && kernel_is_before(6, 3))
		SKIP(return, "rxe of this kernel executes it");
	EXPECT_EQ(REFUSAL, invalidate(host, 0, host->other.local_context));
	EXPECT_TRUE(host_unharmed(host));
}

/* The LMR of another connection of the same PZ, whose context peers know */
TEST_F(hostile_invalidate, rmr_context_of_lmr)
{
	struct host *host = &self->host;
	__u64 address = ADDR(host->open.buf);
	struct attack attacks[] = {
		{ IBV_WR_RDMA_WRITE, address, 64, host->open.rmr_context, ATTACK_ALLOWED },
		{ IBV_WR_RDMA_READ, address, 64, host->open.rmr_context, ATTACK_ALLOWED },
	};
	enum outcome outcome;
	unsigned int i;
	DAT_RETURN ret;

	outcome = invalidate(host, 0, host->open.rmr_context);
	TH_LOG("the device has %s it", outcome == EXECUTED ? "executed" : "refused");
	ASSERT_NE(NEITHER, outcome);
	for (i = 0; i < ARRAY_LEN(attacks) && outcome == EXECUTED; i++)
		attacks[i].expected = REFUSED;
	EXPECT_TRUE(attack_all(host, attacks, ARRAY_LEN(attacks)));
	/* kdapl refuses a request with a dead LMR rather than break the connection. */
	ASSERT_DAT(victim_connect(host, 1));
	ret = post_recv(host->victims[1].ep, &host->open, 0, 64, 9);
	EXPECT_EQ(outcome == REFUSAL, !ret);
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(host->victims[1].ep));
	EXPECT_TRUE(victim_close(host, 1));
	EXPECT_DAT(dat_lmr_free(host->open.lmr));
}

TEST_HARNESS_MAIN

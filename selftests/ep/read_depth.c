// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * read_depth.c - how many RDMA Reads a peer serves: max_rdma_read_in and max_rdma_read_out
 */
#include "harness.h"

#include "link.h"
#include "pair.h"

#define REGION	4096

FIXTURE(read_depth)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_SETUP(read_depth)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(read_depth)
{
	pair_close(&self->pair);
}

/* An EP in the place of the side's */
static DAT_RETURN replace_ep(struct pair *pair, struct side *side, DAT_COUNT in, DAT_COUNT out)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = in,
		.max_rdma_read_out = out,
	};

	return dat_ep_free(side->ep) ?:
	       dat_ep_create(pair->ia, side->pz, side->dto_evd, side->dto_evd, side->conn_evd,
			     &attr, &side->ep);
}

/* A read is refused, and a Send behind it arrives: its status at the sender, or -1 */
static int send_behind_read(struct __test_metadata *_metadata, const struct side *side,
			    const struct region *from, const struct region *to,
			    const struct side *peer)
{
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS),
		       post_read(side->ep, from, 0, 8, to->rmr_context, to->buf, 1));
	if (post_recv(peer->ep, to, 0, 8, 2) || post_send(side->ep, from, 0, 8, 3) ||
	    wait_dto(peer->dto_evd, 2) != DAT_DTO_SUCCESS)
		return -1;
	return wait_dto(side->dto_evd, 3);
}

TEST_F(read_depth, active_peer_serves_none)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(replace_ep(pair, &pair->a, 0, 4));
	ASSERT_DAT(replace_ep(pair, &pair->b, 4, 4));
	ASSERT_DAT(pair_connect(pair));
	/* On iWARP the side that connects sends first. */
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(pair, &self->a, self->b.rmr_context, self->b.buf,
						8));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  send_behind_read(_metadata, &pair->b, &self->b, &self->a, &pair->a));
	EXPECT_EQ(DAT_DTO_SUCCESS, read_status(pair, &self->a, self->b.rmr_context, self->b.buf,
					       8));
}

TEST_F(read_depth, passive_peer_serves_none)
{
	struct pair *pair = &self->pair;

	if (link_is_iwarp())
		SKIP(return, "iWARP: only the passive side knows");
	ASSERT_DAT(replace_ep(pair, &pair->a, 4, 4));
	ASSERT_DAT(replace_ep(pair, &pair->b, 0, 4));
	ASSERT_DAT(pair_connect(pair));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  send_behind_read(_metadata, &pair->a, &self->a, &self->b, &pair->b));
}

TEST_F(read_depth, next_peer_serves)
{
	struct pair *pair = &self->pair;

	if (link_is_iwarp())
		SKIP(return, "iWARP: only the passive side knows");
	ASSERT_DAT(replace_ep(pair, &pair->b, 0, 4));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(replace_ep(pair, &pair->b, 4, 4));
	ASSERT_DAT(dat_ep_reset(pair->a.ep));
	ASSERT_DAT(pair_connect(pair));
	EXPECT_EQ(DAT_DTO_SUCCESS, read_status(pair, &self->a, self->b.rmr_context, self->b.buf,
					       8));
}

#define READS	4

/* Each read ends with an event, also if the device forgets it. */
TEST_F(read_depth, reads_into_freed_lmr_complete)
{
	struct pair *pair = &self->pair;
	struct region to;
	DAT_EVENT event;
	int i, round;

	ASSERT_DAT(pair_connect(pair));
	for (round = 0; round < 5; round++) {
		ASSERT_DAT(region_open(pair, pair->a.pz, &to, READS * REGION,
				       DAT_MEM_PRIV_ALL_FLAG));
		for (i = 0; i < READS; i++) {
			ASSERT_DAT(post_read(pair->a.ep, &to, i * REGION, REGION,
					     self->b.rmr_context, self->b.buf, i));
		}
		EXPECT_DAT(dat_lmr_free(to.lmr));
		/* The answers may have ended the connection already. */
		dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG);
		ASSERT_DAT(wait_any_end(pair->a.conn_evd));
		ASSERT_DAT(wait_any_end(pair->b.conn_evd));
		ASSERT_DAT(dat_ep_reset(pair->a.ep));
		ASSERT_DAT(dat_ep_reset(pair->b.ep));
		for (i = 0; i < READS; i++) {
			ASSERT_DAT(dat_evd_dequeue(pair->a.dto_evd, &event));
		}
		EXPECT_TRUE(is_empty(pair->a.dto_evd));
		ASSERT_DAT(pair_connect(pair));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_bind.c - dat_rmr_bind(3DAT): contexts, completions and their order
 *
 * The peer of all tests is side a, which uses the window; side b binds it.
 */
#include "harness.h"

#include "link.h"
#include "pair.h"

/* As large as goes on every device: siw has 255 pages, not all of use. */
#define REGION		(960 << 10)
#define RW		(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

FIXTURE(rmr_bind)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
};

FIXTURE_SETUP(rmr_bind)
{
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &self->a, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(region_open(&self->pair, self->pair.b.pz, &self->b, REGION,
			       DAT_MEM_PRIV_LOCAL_READ_FLAG |
				       DAT_MEM_PRIV_LOCAL_WRITE_FLAG));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &self->rmr));
	memset(self->a.buf, 0xaa, REGION);
}

FIXTURE_TEARDOWN(rmr_bind)
{
	pair_close(&self->pair);
}

/* Binds on side b, and waits. Return: the status, or -1. */
static int bind_b(struct pair *pair, DAT_RMR_HANDLE rmr,
		  const struct region *region, size_t offset, size_t len,
		  DAT_RMR_CONTEXT *context)
{
	if (bind_window(rmr, region, offset, len, RW, pair->b.ep, 0xb,
			DAT_COMPLETION_DEFAULT_FLAG, context))
		return -1;
	return wait_bind(pair->b.dto_evd, 0xb);
}

TEST_F(rmr_bind, completion_event_fields)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *d;
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;

	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, REGION, RW,
			       self->pair.b.ep, 0x0123456789abcdef,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
	d = &event.event_data.rmr_completion_event_data;
	EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
	EXPECT_EQ(self->pair.b.dto_evd, event.evd_handle);
	EXPECT_EQ(self->rmr, d->rmr_handle);
	EXPECT_EQ(0x0123456789abcdef, d->user_cookie.as_64);
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, d->status);
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->pair.b.dto_evd, &event));
}

TEST_F(rmr_bind, completion_on_request_evd_only)
{
	struct side *b = &self->pair.b;
	DAT_EVD_HANDLE request_evd;
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;

	/* Now dto_evd gets the receives alone. */
	ASSERT_DAT(dat_evd_create(self->pair.ia, 16, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				  &request_evd));
	ASSERT_DAT(dat_ep_free(b->ep));
	ASSERT_DAT(dat_ep_create(self->pair.ia, b->pz, b->dto_evd, request_evd,
				 b->conn_evd, NULL, &b->ep));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(dat_ep_free(self->pair.a.ep));
	ASSERT_DAT(dat_ep_create(self->pair.ia, self->pair.a.pz,
				 self->pair.a.dto_evd, self->pair.a.dto_evd,
				 self->pair.a.conn_evd, NULL,
				 &self->pair.a.ep));
	ASSERT_DAT(pair_connect(&self->pair));

	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, REGION, RW, b->ep, 7,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(request_evd, 7));
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY, dat_evd_dequeue(b->dto_evd, &event));
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY, dat_evd_dequeue(b->conn_evd, &event));
}

TEST_F(rmr_bind, opaque_cookies)
{
	static const DAT_UINT64 cookies[] = {
		0, UINT64_MAX, 1ULL << 63, 1, 1, 0,
	};
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(cookies); i++) {
		ASSERT_DAT(bind_window(self->rmr, &self->b, i, 100, RW,
				       self->pair.b.ep, cookies[i],
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
		ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
		EXPECT_EQ(cookies[i],
			  event.event_data.rmr_completion_event_data
				  .user_cookie.as_64);
	}
}

TEST_F(rmr_bind, completions_in_posting_order)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE second;
	DAT_EVENT event;
	DAT_UINT64 i;

	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &second));
	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 100, RW, self->pair.b.ep,
			       0, DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_DAT(post_write(self->pair.b.ep, &self->b, 0, 8192,
			      self->a.rmr_context, self->a.buf, 1));
	ASSERT_DAT(bind_window(second, &self->b, 0, 100, RW, self->pair.b.ep, 2,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_DAT(post_read(self->pair.b.ep, &self->b, 0, 8192,
			     self->a.rmr_context, self->a.buf, 3));
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
		/* The cookie is at the same place in both kinds of event. */
		EXPECT_EQ(i % 2 ? DAT_DTO_COMPLETION_EVENT :
				  DAT_RMR_BIND_COMPLETION_EVENT,
			  event.event_number);
		EXPECT_EQ(i, event.event_data.dto_completion_event_data
				     .user_cookie.as_64);
	}
}

TEST_F(rmr_bind, new_context_per_bind)
{
	/* A context is 24 bits of an MR and 8 that count, of two MRs. */
	DAT_RMR_CONTEXT recent[64] = {}, context;
	unsigned int i, j;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(&self->pair, self->rmr, &self->b, i, 1000,
				 &context));
		for (j = 0; j < 64 && j < i; j++) {
			ASSERT_NE(recent[j], context) {
				TH_LOG("bind %u", i);
			}
		}
		recent[i % 64] = context;
	}
}

TEST_F(rmr_bind, new_context_after_unbind)
{
	DAT_RMR_CONTEXT context, last = 0, junk;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(&self->pair, self->rmr, &self->b, 0, 1000,
				 &context));
		ASSERT_NE(last, context);
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(&self->pair, self->rmr, &self->b, 0, 0,
				 &junk));
		last = context;
	}
}

TEST_F(rmr_bind, send_behind_bind)
{
	DAT_RMR_CONTEXT *got = (void *)(self->a.buf + 4096);
	DAT_RMR_CONTEXT *sent = (void *)(self->b.buf + 4096);
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		size_t offset = 8192 + i % 7 * 1009;
		DAT_RMR_CONTEXT context;

		ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 4096,
				     sizeof(*got), 1));
		/* No wait between these two. */
		ASSERT_DAT(bind_window(self->rmr, &self->b, offset, 64, RW,
				       self->pair.b.ep, 2,
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
		*sent = context;
		ASSERT_DAT(post_send(self->pair.b.ep, &self->b, 4096,
				     sizeof(*sent), 3));

		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
		*(uint32_t *)self->a.buf = i;
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  write_status(&self->pair, &self->a, *got,
				       self->b.buf + offset, 64)) {
			TH_LOG("round %u", i);
		}
		ASSERT_EQ(0, memcmp(self->a.buf, self->b.buf + offset, 64));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 3));
	}
}

TEST_F(rmr_bind, rdma_write_behind_bind)
{
	DAT_RMR_CONTEXT *got = (void *)(self->a.buf + 4096);
	DAT_RMR_CONTEXT *sent = (void *)(self->b.buf + 4096);
	unsigned int i;

	for (i = 0; i < 100; i++) {
		size_t offset = 8192 + i % 7 * 1009;
		DAT_RMR_CONTEXT context;

		*got = 0;
		ASSERT_DAT(bind_window(self->rmr, &self->b, offset, 64, RW,
				       self->pair.b.ep, 2,
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
		*sent = context;
		ASSERT_DAT(post_write(self->pair.b.ep, &self->b, 4096,
				      sizeof(*sent), self->a.rmr_context, got,
				      3));
		/*
		 * The peer takes it from memory; no event delays it. rxe may
		 * write it a byte at a time.
		 */
		while (__atomic_load_n(got, __ATOMIC_ACQUIRE) != context)
			;
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  write_status(&self->pair, &self->a, *got,
				       self->b.buf + offset, 64)) {
			TH_LOG("round %u", i);
		}
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 3));
	}
}

/* With one PZ for all, what goes over the connection can come back to us. */
TEST_F(rmr_bind, rdma_read_behind_bind)
{
	unsigned char *ours = self->a.buf + 8192;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	unsigned int i;

	self->pair.b.pz = self->pair.a.pz;
	ASSERT_DAT(pair_reconnect(&self->pair));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &rmr));
	for (i = 0; i < 100; i++) {
		size_t offset = i % 7 * 1009;

		memset(self->a.buf, 0, 64);
		memset(ours + offset, i + 1, 64);
		ASSERT_DAT(bind_window(rmr, &self->a, 8192 + offset, 64, RW,
				       self->pair.b.ep, 2,
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
		ASSERT_DAT(post_read(self->pair.b.ep, &self->a, 0, 64, context,
				     ours + offset, 3));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 3)) {
			TH_LOG("round %u", i);
		}
		ASSERT_EQ(0, memcmp(self->a.buf, ours + offset, 64));
	}
}

TEST_F(rmr_bind, zero_length_unbinds)
{
	DAT_RMR_CONTEXT context, junk;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 4096, &context));
	ASSERT_EQ(DAT_DTO_SUCCESS, write_status(&self->pair, &self->a, context,
						self->b.buf, 4096));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 0, &junk));
	memset(self->b.buf, 0xbb, 4096);
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, context, self->b.buf,
			       4096));
	EXPECT_EQ(0xbb, self->b.buf[0]);
	EXPECT_EQ(0xbb, self->b.buf[4095]);
}

TEST_F(rmr_bind, unbind_ignores_context_and_address)
{
	DAT_LMR_TRIPLET junk = {
		.lmr_context = 0xdeadbeef,
		.virtual_address = UINT64_MAX,
		.segment_length = 0,
	};
	DAT_RMR_COOKIE cookie = { .as_64 = 5 };
	DAT_RMR_CONTEXT context;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 4096, &context));
	ASSERT_DAT(dat_rmr_bind(self->rmr, &junk, RW, self->pair.b.ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, &context));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.b.dto_evd, 5));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
}

TEST_F(rmr_bind, lmr_in_use_until_unbind)
{
	DAT_RMR_CONTEXT context;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 4096, &context));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, dat_lmr_free(self->b.lmr));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 0, &context));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
}

TEST_F(rmr_bind, lmr_in_use_until_rebind)
{
	DAT_RMR_CONTEXT context;
	struct region other;

	ASSERT_DAT(region_open(&self->pair, self->pair.b.pz, &other, 4096,
			       DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 4096, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &other, 0, 4096, &context));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, dat_lmr_free(other.lmr));
}

TEST_F(rmr_bind, unbind_unbound_rmr_completes)
{
	DAT_RMR_CONTEXT context;
	unsigned int i;

	/* The first never was bound, the second has been unbound. */
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 0, RW,
				       self->pair.b.ep, 40 + i,
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
		EXPECT_EQ(DAT_RMR_BIND_SUCCESS,
			  wait_bind(self->pair.b.dto_evd, 40 + i));
	}
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.b.ep));
}

TEST_F(rmr_bind, back_to_back_binds)
{
	DAT_RMR_CONTEXT first, second, used;
	DAT_RETURN ret;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
				       self->pair.b.ep, 1,
				       DAT_COMPLETION_DEFAULT_FLAG, &first));
		ret = bind_window(self->rmr, &self->b, 8192, 4096, RW,
				  self->pair.b.ep, 2,
				  DAT_COMPLETION_DEFAULT_FLAG, &second);
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  wait_bind(self->pair.b.dto_evd, 1));
		used = first;
		if (ret) {
			ASSERT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, ret);
		} else {
			ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
				  wait_bind(self->pair.b.dto_evd, 2));
			ASSERT_NE(first, second);
			used = second;
		}
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  write_status(&self->pair, &self->a, used,
				       self->b.buf + (ret ? 0 : 8192), 4096));
	}
	/* The first of all, if not for the second, is dead after a third. */
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 16384, 4096,
			 &second));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, first, self->b.buf,
			       4096));
}

TEST_F(rmr_bind, bind_other_ep_same_pz)
{
	struct pair other = self->pair;
	DAT_RMR_CONTEXT old, new;
	unsigned int i;

	/* A second connection between the same PZs, with EVDs of its own. */
	ASSERT_DAT(side_open(&self->pair, &other.a));
	ASSERT_DAT(side_open(&self->pair, &other.b));
	for (i = 0; i < 2; i++) {
		struct side *side = i ? &other.b : &other.a;
		DAT_EP_PARAM param;

		ASSERT_DAT(dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &param));
		ASSERT_DAT(dat_ep_free(side->ep));
		side->pz = i ? self->pair.b.pz : self->pair.a.pz;
		ASSERT_DAT(dat_ep_create(self->pair.ia, side->pz, side->dto_evd,
					 side->dto_evd, side->conn_evd,
					 &param.ep_attr, &side->ep));
	}
	ASSERT_DAT(pair_connect(&other));

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 4096, &old));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&other, self->rmr, &self->b, 8192, 4096, &new));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(&other, &self->a, new,
						self->b.buf + 8192, 4096));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, old, self->b.buf,
			       4096));
	/* The connection of the offender broke, the other did not. */
	EXPECT_DAT(wait_refusal(&self->pair));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(other.a.ep));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(other.b.ep));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(&other, &self->a, new,
						self->b.buf + 8192, 4096));
}

TEST_F(rmr_bind, failed_bind_keeps_window)
{
	DAT_RMR_CONTEXT context, junk = 0x5a5a5a5a;
	struct pair *pair = &self->pair;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(pair, self->rmr, &self->b, 100, 200, &context));
	EXPECT_NE(DAT_SUCCESS,
		  bind_window(self->rmr, &self->b, 0, REGION + 1, RW,
			      pair->b.ep, 1, DAT_COMPLETION_DEFAULT_FLAG,
			      &junk));
	EXPECT_NE(DAT_SUCCESS,
		  bind_window(self->rmr, &self->b, 0, 10, RW, pair->b.ep, 1,
			      0x80, &junk));
	EXPECT_NE(DAT_SUCCESS,
		  bind_window(self->rmr, &self->b, 0, 10, RW, pair->a.ep, 1,
			      DAT_COMPLETION_DEFAULT_FLAG, &junk));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(pair, &self->a, context,
						self->b.buf + 100, 200));
	/* And the RMR is as usable as before. */
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(pair, self->rmr, &self->b, 1000, 200, &junk));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(pair, &self->a, junk,
						self->b.buf + 1000, 200));
}

/*
 * The device may begin a bind before a Send that was posted earlier has been
 * received, and has to send that one again.
 */
TEST_F(rmr_bind, bind_behind_retried_send)
{
	DAT_RMR_CONTEXT context;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_DAT(post_send(self->pair.b.ep, &self->b, 0, 8, 1));
	ASSERT_DAT(bind_window(self->rmr, &self->b, 0, 4096, RW,
			       self->pair.b.ep, 2, DAT_COMPLETION_DEFAULT_FLAG,
			       &context));
	/* The receiver comes late, but it comes. */
	usleep(50 * 1000);
	ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 0, 8, 3));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 1));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.b.dto_evd, 2));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.b.ep));
}

TEST_F(rmr_bind, bind_request_queue_full)
{
	DAT_RMR_CONTEXT context, junk;
	unsigned int i;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 100, &context));
	/* As many as side_open() asks for, and nobody receives them. */
	for (i = 0; i < 64; i++) {
		ASSERT_DAT(post_send(self->pair.b.ep, &self->b, 0, 8, i));
	}
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			bind_window(self->rmr, &self->b, 1000, 100, RW,
				    self->pair.b.ep, 100,
				    DAT_COMPLETION_DEFAULT_FLAG, &junk));
	for (i = 0; i < 64; i++) {
		ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 4096, 8, i));
	}
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 63));
	/* The window is where it was, and can be moved now. */
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(&self->pair, &self->a, context,
						self->b.buf, 100));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 1000, 100, &junk));
}

TEST_F(rmr_bind, max_request_dtos_binds)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
	};
	struct side *sides[] = { &self->pair.b, &self->pair.a };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr[4];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_DAT(dat_ep_free(sides[i]->ep));
		ASSERT_DAT(dat_ep_create(self->pair.ia, sides[i]->pz,
					 sides[i]->dto_evd, sides[i]->dto_evd,
					 sides[i]->conn_evd, &attr,
					 &sides[i]->ep));
		if (sides[i] == &self->pair.b)
			ASSERT_DAT(wait_number(self->pair.a.conn_evd,
					       DAT_CONNECTION_EVENT_DISCONNECTED));
	}
	ASSERT_DAT(pair_connect(&self->pair));

	/* Bound already: a rebind needs most of the send queue. */
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &rmr[i]));
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(&self->pair, rmr[i], &self->b, 0, 100,
				 &context));
	}

	/* Takes a while, and what is posted behind it completes later. */
	ASSERT_DAT(post_write(self->pair.b.ep, &self->b, 0, REGION,
			      self->a.rmr_context, self->a.buf, 100));
	for (i = 0; i < 3; i++) {
		ASSERT_DAT(bind_window(rmr[i], &self->b, 1000, 100, RW,
				       self->pair.b.ep, i,
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
	}
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 100));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(DAT_RMR_BIND_SUCCESS,
			  wait_bind(self->pair.b.dto_evd, i));
	}
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, rmr[3], &self->b, 1000, 100, &context));
}

/* Page lists grow with what is bound, also those of the MRs that are allocated in advance. */
TEST_F(rmr_bind, window_sizes_change)
{
	static const size_t sizes[] = { 1, 262144, 262145, 4096, REGION, 100, REGION / 2, REGION };
	DAT_RMR_CONTEXT context;
	unsigned int i, size;

	for (size = 0; size < ARRAY_LEN(sizes); size++) {
		/* A spare is allocated after 64 binds of an MR, there are two MRs. */
		for (i = 0; i < 140; i++) {
			size_t len = sizes[size], at = i % 2 ? REGION - len : 0;

			ASSERT_EQ(DAT_RMR_BIND_SUCCESS, bind_b(&self->pair, self->rmr, &self->b, at,
							       len, &context));
			if (i % 70)
				continue;
			memset(self->b.buf, 0, REGION);
			ASSERT_EQ(DAT_DTO_SUCCESS, write_status(&self->pair, &self->a, context,
								self->b.buf + at, len));
			EXPECT_EQ(0xaa, self->b.buf[at]);
			EXPECT_EQ(0xaa, self->b.buf[at + len - 1]);
			EXPECT_EQ(len == REGION ? 0xaa : 0, self->b.buf[(at + len) % REGION]);
		}
	}
}

/* dat_ep_modify() replaces the QP. */
TEST_F(rmr_bind, bind_after_ep_modify)
{
	struct side *b = &self->pair.b;
	DAT_EP_PARAM param = { .ep_attr.max_request_dtos = 32 };
	DAT_RMR_CONTEXT context = 0;

	ASSERT_DAT(dat_ep_free(b->ep));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(dat_ep_create(self->pair.ia, b->pz, b->dto_evd, b->dto_evd, b->conn_evd,
				 NULL, &b->ep));
	ASSERT_DAT(dat_ep_modify(b->ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	ASSERT_DAT(dat_ep_reset(self->pair.a.ep));
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 100, &context));
	EXPECT_NE(0, context);
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(&self->pair, &self->a, context,
						self->b.buf, 100));
}

/* An EP of side b whose requests go to @evd; the sides are connected again. */
static DAT_RETURN replace_ep(struct pair *pair, DAT_EVD_HANDLE evd, DAT_COUNT max_request_dtos)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 4,
		.max_request_dtos = max_request_dtos,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct side *b = &pair->b;
	DAT_EVD_HANDLE recv_evd;

	b->dto_evd = evd;
	/* One EVD need not have room for the deepest queue and another. */
	return dat_ep_free(b->ep) ?:
	       wait_number(pair->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED) ?:
	       dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &recv_evd) ?:
	       dat_ep_create(pair->ia, b->pz, recv_evd, evd, b->conn_evd, &attr, &b->ep) ?:
	       dat_ep_reset(pair->a.ep) ?:
	       pair_connect(pair);
}

/* There is room for one bind that replaces a window, besides the requests. */
static void expect_one_bind_at_a_time(struct __test_metadata *_metadata,
				      FIXTURE_DATA(rmr_bind) *self)
{
	struct side *b = &self->pair.b;
	DAT_RMR_CONTEXT context, junk;
	DAT_RMR_HANDLE other;

	ASSERT_DAT(dat_rmr_create(b->pz, &other));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 100, &junk));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, other, &self->b, 0, 100, &context));

	/* Without a receive, this and all later requests stay in the queue. */
	ASSERT_DAT(post_send(b->ep, &self->b, 0, 8, 1));
	ASSERT_DAT(bind_window(self->rmr, &self->b, 1000, 100, RW, b->ep, 2,
			       DAT_COMPLETION_DEFAULT_FLAG, &junk));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			bind_window(other, &self->b, 1000, 100, RW, b->ep, 3,
				    DAT_COMPLETION_DEFAULT_FLAG, &junk));
	/* A request of one work request still fits. */
	ASSERT_DAT(post_send(b->ep, &self->b, 0, 8, 4));
	ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 4096, 8, 1));
	ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 4096, 8, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(b->dto_evd, 1));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(b->dto_evd, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(b->dto_evd, 4));
	/* The refused bind has changed nothing, and can be repeated. */
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(&self->pair, &self->a, context,
						self->b.buf, 100));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, other, &self->b, 1000, 100, &junk));
}

/* The send queue of the device is full. */
TEST_F(rmr_bind, deepest_ep_binds_one_at_a_time)
{
	DAT_IA_ATTR limits;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL, DAT_IA_FIELD_ALL, &limits,
				DAT_PROVIDER_FIELD_NONE, NULL));
	ASSERT_DAT(replace_ep(&self->pair, self->pair.b.dto_evd, limits.max_dto_per_ep));
	expect_one_bind_at_a_time(_metadata, self);
}

/* The process has not asked for more. */
TEST_F(rmr_bind, evd_without_bind_flag_binds_one_at_a_time)
{
	DAT_EVD_HANDLE evd;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_DAT(dat_evd_create(self->pair.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_DAT(replace_ep(&self->pair, evd, 16));
	expect_one_bind_at_a_time(_metadata, self);
}

TEST_HARNESS_MAIN

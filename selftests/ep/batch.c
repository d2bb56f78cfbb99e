// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * batch.c - dat_linux_post(): many DTOs and binds with one call
 *
 * There are two connections, each from side a to side b.
 */
#include "harness.h"

#include <dat/dat_linux.h>

#include "link.h"
#include "pair.h"

#define REGION		4096
#define MANY		32

FIXTURE(batch)
{
	struct pair pair;
	struct region a, b;
	DAT_EP_HANDLE a2, b2;
};

FIXTURE_SETUP(batch)
{
	struct pair *pair = &self->pair, second;
	int i;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(pair_connect(pair));
	second = *pair;
	ASSERT_DAT(ep_like(pair, &pair->a, &self->a2));
	ASSERT_DAT(ep_like(pair, &pair->b, &self->b2));
	second.a.ep = self->a2;
	second.b.ep = self->b2;
	ASSERT_DAT(pair_connect(&second));
	for (i = 0; i < REGION; i++)
		self->a.buf[i] = i * 7 + i / 251;
}

FIXTURE_TEARDOWN(batch)
{
	pair_close(&self->pair);
}

/* What an operation has no use for is garbage. */
static DAT_LINUX_DTO dto(DAT_LINUX_OP op, DAT_HANDLE handle, DAT_COUNT num,
			 DAT_LMR_TRIPLET *iov, uint64_t cookie)
{
	DAT_LINUX_DTO d;

	memset(&d, 0xa5, sizeof(d));
	d.op = op;
	d.handle = handle;
	d.num_segments = num;
	d.local_iov = iov;
	d.user_cookie.as_64 = cookie;
	if (op != DAT_LINUX_SRQ_RECV)
		d.completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	return d;
}

TEST_F(batch, post_to_several_eps)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET to[] = {
		segment(&self->b, 0, 64), segment(&self->b, 64, 64),
	};
	DAT_LMR_TRIPLET from[] = {
		segment(&self->a, 0, 64), segment(&self->a, 64, 64),
	};
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, pair->b.ep, 1, &to[0], 1),
		dto(DAT_LINUX_RECV, self->b2, 1, &to[1], 2),
		dto(DAT_LINUX_SEND, self->a2, 1, &from[1], 3),
		dto(DAT_LINUX_SEND, pair->a.ep, 1, &from[0], 4),
	};
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	bool seen[2] = {};
	DAT_COUNT num = 77;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(dat_linux_post(4, dtos, &num));
	EXPECT_EQ(4, num);
	d = &event.event_data.dto_completion_event_data;
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(wait_event(pair->b.dto_evd, &event));
		EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
		EXPECT_EQ(d->user_cookie.as_64 == 1 ? pair->b.ep : self->b2,
			  d->ep_handle);
		seen[d->user_cookie.as_64 & 1] = true;
	}
	EXPECT_TRUE(seen[0] && seen[1]);
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(wait_event(pair->a.dto_evd, &event));
		EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
		EXPECT_EQ(d->user_cookie.as_64 == 4 ? pair->a.ep : self->a2,
			  d->ep_handle);
	}
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 128));
}

TEST_F(batch, post_keeps_order)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET to[MANY], from[MANY];
	DAT_LINUX_DTO dtos[2 * MANY];
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;
	DAT_COUNT num;
	int i;

	for (i = 0; i < MANY; i++) {
		to[i] = segment(&self->b, i * 64, 64);
		from[i] = segment(&self->a, i * 64, 64);
		dtos[i] = dto(DAT_LINUX_RECV, pair->b.ep, 1, &to[i], i);
		dtos[MANY + i] = dto(DAT_LINUX_SEND, pair->a.ep, 1, &from[i],
				     100 + i);
	}
	ASSERT_DAT(dat_linux_post(2 * MANY, dtos, &num));
	EXPECT_EQ(2 * MANY, num);
	d = &event.event_data.dto_completion_event_data;
	for (i = 0; i < MANY; i++) {
		ASSERT_DAT(wait_event(pair->b.dto_evd, &event));
		EXPECT_EQ(i, d->user_cookie.as_64);
		EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
		ASSERT_DAT(wait_event(pair->a.dto_evd, &event));
		EXPECT_EQ(100 + i, d->user_cookie.as_64);
		EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
	}
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, MANY * 64));
}

/* Of several elements, some with several segments, and some of no length. */
TEST_F(batch, post_segments_per_element)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET first[] = {
		segment(&self->b, 100, 10), { .lmr_context = 0xdead },
		segment(&self->b, 0, 20),
	};
	DAT_LMR_TRIPLET second = segment(&self->b, 200, 64);
	DAT_LMR_TRIPLET none[] = { { .lmr_context = 0xdead } };
	DAT_LMR_TRIPLET from[] = {
		segment(&self->a, 0, 15), segment(&self->a, 64, 8),
	};
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, pair->b.ep, 3, first, 1),
		dto(DAT_LINUX_RECV, pair->b.ep, 0, NULL, 2),
		dto(DAT_LINUX_RECV, pair->b.ep, 1, &second, 3),
		dto(DAT_LINUX_SEND, pair->a.ep, 1, &from[0], 4),
		dto(DAT_LINUX_SEND, pair->a.ep, 1, none, 5),
		dto(DAT_LINUX_SEND, pair->a.ep, 1, &from[1], 6),
	};
	DAT_COUNT num;
	int i;

	ASSERT_DAT(dat_linux_post(6, dtos, &num));
	EXPECT_EQ(6, num);
	/* They are ours again. */
	memset(first, 0xff, sizeof(first));
	memset(from, 0xff, sizeof(from));
	for (i = 1; i <= 3; i++)
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, i));
	for (i = 4; i <= 6; i++)
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->a.dto_evd, i));
	EXPECT_EQ(0, memcmp(self->b.buf + 100, self->a.buf, 10));
	EXPECT_EQ(0, memcmp(self->b.buf, self->a.buf + 10, 5));
	EXPECT_EQ(0, self->b.buf[5]);
	EXPECT_EQ(0, memcmp(self->b.buf + 200, self->a.buf + 64, 8));
	EXPECT_EQ(0, self->b.buf[208]);
}

TEST_F(batch, post_writes_and_reads)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET out = segment(&self->a, 0, 64);
	DAT_LMR_TRIPLET in = segment(&self->a, 1024, 64);
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RDMA_WRITE, pair->a.ep, 1, &out, 1),
		dto(DAT_LINUX_RDMA_READ, pair->a.ep, 1, &in, 2),
	};
	DAT_COUNT num;

	memset(self->a.buf + 1024, 0, 64);
	dtos[0].remote_buffer = remote(self->b.rmr_context, self->b.buf + 8,
				       64);
	/* Of what was there before; what was written is behind it. */
	memcpy(self->b.buf + 512, "there before", 12);
	dtos[1].remote_buffer = remote(self->b.rmr_context, self->b.buf + 512,
				       64);
	ASSERT_DAT(dat_linux_post(2, dtos, &num));
	EXPECT_EQ(2, num);
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->a.dto_evd, 2));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + 8, 64));
	EXPECT_EQ(0, memcmp("there before", self->a.buf + 1024, 12));
}

TEST_F(batch, post_flags_per_element)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET to = segment(&self->b, 0, 64);
	DAT_LMR_TRIPLET from = segment(&self->a, 0, 64);
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, pair->b.ep, 1, &to, 1),
		dto(DAT_LINUX_RECV, pair->b.ep, 1, &to, 2),
		dto(DAT_LINUX_SEND, pair->a.ep, 1, &from, 3),
		dto(DAT_LINUX_SEND, pair->a.ep, 1, &from, 4),
	};
	DAT_EVENT event;
	DAT_COUNT num;

	dtos[2].completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	ASSERT_DAT(dat_linux_post(4, dtos, &num));
	ASSERT_DAT(wait_event(pair->a.dto_evd, &event));
	EXPECT_EQ(4, event.event_data.dto_completion_event_data
			     .user_cookie.as_64);
	EXPECT_TRUE(is_empty(pair->a.dto_evd));
	dtos[2].completion_flags = (DAT_COMPLETION_FLAGS)0x1000;
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER, dat_linux_post(4, dtos, &num));
	EXPECT_EQ(2, num);
}

TEST_F(batch, post_bind_returns_rmr_context)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET window = segment(&self->b, 100, 64);
	DAT_LMR_TRIPLET nothing = {};
	DAT_LMR_TRIPLET to = segment(&self->a, 1024, 64);
	DAT_LMR_TRIPLET from = segment(&self->b, 1024, 64);
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, pair->a.ep, 1, &to, 1),
		dto(DAT_LINUX_RMR_BIND, pair->b.ep, 1, &window, 2),
		dto(DAT_LINUX_SEND, pair->b.ep, 1, &from, 3),
	};
	const DAT_RMR_CONTEXT garbage = dtos[0].rmr_context;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;
	DAT_COUNT num;

	ASSERT_DAT(dat_rmr_create(pair->b.pz, &rmr));
	dtos[1].rmr_handle = rmr;
	dtos[1].mem_privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	ASSERT_DAT(dat_linux_post(3, dtos, &num));
	EXPECT_EQ(3, num);
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->a.dto_evd, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_bind(pair->b.dto_evd, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, 3));
	EXPECT_EQ(garbage, dtos[0].rmr_context);
	EXPECT_EQ(garbage, dtos[2].rmr_context);
	ASSERT_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(param.rmr_context, dtos[1].rmr_context);
	EXPECT_EQ(64, param.lmr_triplet.segment_length);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(pair, &self->a, dtos[1].rmr_context,
			       self->b.buf + 100, 64));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + 100, 64));

	/* One that fails tells of none. */
	dtos[1].rmr_handle = pair->psp;
	dtos[1].rmr_context = garbage;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
		       dat_linux_post(1, &dtos[1], &num));
	EXPECT_EQ(0, num);
	EXPECT_EQ(garbage, dtos[1].rmr_context);
	/* No length, unlike elsewhere, means something. */
	dtos[1] = dto(DAT_LINUX_RMR_BIND, pair->b.ep, 1, &nothing, 4);
	dtos[1].rmr_handle = rmr;
	dtos[1].mem_privileges = DAT_MEM_PRIV_NONE_FLAG;
	ASSERT_DAT(dat_linux_post(1, &dtos[1], &num));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_bind(pair->b.dto_evd, 4));
	ASSERT_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(0, param.lmr_triplet.segment_length);
	/* It has one range, no more and no less. */
	dtos[1].num_segments = 0;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_linux_post(1, &dtos[1], &num));
}

TEST_F(batch, post_recvs_to_srq)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_LMR_TRIPLET to[] = {
		segment(&self->b, 0, 64), segment(&self->b, 64, 64),
	};
	DAT_LMR_TRIPLET from = segment(&self->a, 0, 64);
	struct pair *pair = &self->pair, third = *pair;
	DAT_EP_ATTR ep_attr = {};
	DAT_LINUX_DTO dtos[3];
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM param;
	DAT_EP_HANDLE ep;
	DAT_COUNT num;

	ASSERT_DAT(dat_srq_create(pair->ia, pair->b.pz, &attr, &srq));
	ASSERT_DAT(dat_ep_create_with_srq(pair->ia, pair->b.pz, pair->b.dto_evd,
					  pair->b.dto_evd, pair->b.conn_evd,
					  srq, &ep_attr, &third.b.ep));
	ASSERT_DAT(ep_like(pair, &pair->a, &ep));
	third.a.ep = ep;
	ASSERT_DAT(pair_connect(&third));
	dtos[0] = dto(DAT_LINUX_SRQ_RECV, srq, 1, &to[0], 1);
	dtos[1] = dto(DAT_LINUX_SRQ_RECV, srq, 1, &to[1], 2);
	dtos[2] = dto(DAT_LINUX_SEND, ep, 1, &from, 3);
	ASSERT_DAT(dat_linux_post(3, dtos, &num));
	EXPECT_EQ(3, num);
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->a.dto_evd, 3));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 64));
	ASSERT_DAT(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(1, param.available_dto_count);
	/* An EP is no SRQ, and an SRQ no EP. */
	dtos[1].handle = third.b.ep;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ),
		       dat_linux_post(2, dtos, &num));
	EXPECT_EQ(1, num);
	dtos[2].handle = srq;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_linux_post(1, &dtos[2], &num));
	EXPECT_EQ(0, num);
}

/* How many receives wait at an EP. */
static DAT_COUNT receives(DAT_EP_HANDLE ep)
{
	DAT_COUNT num = -1;

	dat_ep_recv_query(ep, &num, NULL);
	return num;
}

TEST_F(batch, post_stops_at_first_error)
{
	const DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET good = segment(&self->b, 0, 64);
	DAT_LMR_TRIPLET beyond = segment(&self->b, REGION - 7, 8);
	DAT_LMR_TRIPLET foreign = segment(&self->a, 0, 8);
	DAT_LMR_TRIPLET many[33];
	DAT_EP_HANDLE fresh;
	DAT_DTO_COOKIE c = {};
	DAT_LINUX_DTO dtos[5];
	DAT_COUNT num;
	unsigned int i;

	ASSERT_DAT(ep_like(pair, &pair->b, &fresh));
	for (i = 0; i < ARRAY_LEN(many); i++)
		many[i] = segment(&self->b, i, 1);
	const struct {
		DAT_LINUX_DTO dto;
		DAT_RETURN ret;
	} bad[] = {
		{ dto(DAT_LINUX_RECV, pair->psp, 1, &good, 0),
		  dat_ep_post_recv(pair->psp, 1, &good, c, none) },
		{ dto(DAT_LINUX_RECV, DAT_HANDLE_NULL, 1, &good, 0),
		  dat_ep_post_recv(DAT_HANDLE_NULL, 1, &good, c, none) },
		{ dto(DAT_LINUX_RECV, fresh, 1, &beyond, 0),
		  dat_ep_post_recv(fresh, 1, &beyond, c, none) },
		{ dto(DAT_LINUX_RECV, fresh, 1, &foreign, 0),
		  dat_ep_post_recv(fresh, 1, &foreign, c, none) },
		{ dto(DAT_LINUX_RECV, fresh, 33, many, 0),
		  dat_ep_post_recv(fresh, 33, many, c, none) },
		{ dto(DAT_LINUX_RECV, fresh, 5, many, 0),
		  dat_ep_post_recv(fresh, 5, many, c, none) },
		/* It is not connected. */
		{ dto(DAT_LINUX_SEND, fresh, 1, &good, 0),
		  dat_ep_post_send(fresh, 1, &good, c, none) },
	};

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		int j;

		for (j = 0; j < 5; j++)
			dtos[j] = dto(DAT_LINUX_RECV, fresh, 1, &good, j);
		dtos[2] = bad[i].dto;
		ASSERT_NE(DAT_SUCCESS, bad[i].ret);
		EXPECT_EQ(bad[i].ret, dat_linux_post(5, dtos, &num)) {
			TH_LOG("%u: %s", i, dat_str(bad[i].ret));
		}
		EXPECT_EQ(2, num);
		EXPECT_EQ(2 * (i + 1), receives(fresh));
		/* The first, and there is none before it. */
		EXPECT_EQ(bad[i].ret, dat_linux_post(3, &dtos[2], &num));
		EXPECT_EQ(0, num);
	}
	EXPECT_EQ(2 * ARRAY_LEN(bad), receives(fresh));
}

TEST_F(batch, post_stops_at_full_queue)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET seg = segment(&self->b, 0, 64);
	DAT_LINUX_DTO dtos[100];
	DAT_EP_HANDLE fresh;
	DAT_COUNT num;
	int i;

	ASSERT_DAT(ep_like(pair, &pair->b, &fresh));
	for (i = 0; i < 100; i++)
		dtos[i] = dto(DAT_LINUX_RECV, fresh, 1, &seg, i);
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP),
		       dat_linux_post(100, dtos, &num));
	EXPECT_EQ(64, num);
	EXPECT_EQ(64, receives(fresh));
}

TEST_F(batch, post_malformed_element_posts_none)
{
	const DAT_RETURN bad = ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	DAT_EP_HANDLE ep = self->pair.b.ep;
	DAT_LMR_TRIPLET seg = segment(&self->b, 0, 64), large = seg;
	DAT_LINUX_DTO dtos[3];
	DAT_COUNT num;
	int i;

	large.segment_length = UINT64_C(1) << 32;
	for (i = 0; i < 3; i++)
		dtos[i] = dto(DAT_LINUX_RECV, ep, 1, &seg, i);
	dtos[2].op = (DAT_LINUX_OP)(DAT_LINUX_RECV_WRITE_IMMED + 1);
	num = 77;
	EXPECT_EQ(bad, dat_linux_post(3, dtos, &num));
	EXPECT_EQ(0, num);
	dtos[2].op = (DAT_LINUX_OP)-1;
	EXPECT_EQ(bad, dat_linux_post(3, dtos, &num));
	dtos[2] = dto(DAT_LINUX_RECV, ep, -1, &seg, 2);
	EXPECT_EQ(bad, dat_linux_post(3, dtos, &num));
	dtos[2] = dto(DAT_LINUX_RECV, ep, 4097, &seg, 2);
	EXPECT_EQ(bad, dat_linux_post(3, dtos, &num));
	dtos[2] = dto(DAT_LINUX_RECV, ep, 1, NULL, 2);
	EXPECT_EQ(bad, dat_linux_post(3, dtos, &num));
	dtos[2] = dto(DAT_LINUX_RECV, ep, 1, &large, 2);
	EXPECT_EQ(bad, dat_linux_post(3, dtos, &num));
	dtos[2] = dto(DAT_LINUX_RDMA_READ, self->pair.a.ep, 1, &seg, 2);
	dtos[2].remote_buffer = remote(self->b.rmr_context, self->b.buf, 0);
	dtos[2].remote_buffer.segment_length = UINT64_C(1) << 32;
	num = 77;
	EXPECT_EQ(bad, dat_linux_post(3, dtos, &num));
	EXPECT_EQ(0, num);
	EXPECT_EQ(0, receives(ep));
}

TEST_F(batch, post_bad_args)
{
	DAT_EP_HANDLE ep = self->pair.b.ep;
	DAT_LMR_TRIPLET seg = segment(&self->b, 0, 64);
	DAT_LINUX_DTO d = dto(DAT_LINUX_RECV, ep, 1, &seg, 1);
	DAT_COUNT num = 77;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_linux_post(-1, &d, &num));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_linux_post(1, NULL, &num));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_linux_post(1, &d, NULL));
	EXPECT_EQ(0, receives(ep));
	/* Nothing is nothing. */
	num = 77;
	EXPECT_DAT(dat_linux_post(0, NULL, &num));
	EXPECT_EQ(0, num);
	EXPECT_DAT(dat_linux_post(1, &d, &num));
	EXPECT_EQ(1, num);
	EXPECT_EQ(1, receives(ep));
}

#if UINTPTR_MAX == UINT32_MAX
/* Its entries share their segments, which the kernel would get one by one. */
TEST_F(batch, post_oversized_batch_no_memory)
{
	const DAT_COUNT num = 1 << 16, num_segments = 4096;
	DAT_LMR_TRIPLET *iov = calloc(num_segments, sizeof(*iov));
	DAT_LINUX_DTO *dtos = calloc(num, sizeof(*dtos));
	DAT_COUNT num_posted = 77;
	int i;

	ASSERT_NE(NULL, iov);
	ASSERT_NE(NULL, dtos);
	for (i = 0; i < num_segments; i++)
		iov[i] = segment(&self->b, 0, 1);
	for (i = 0; i < num; i++)
		dtos[i] = dto(DAT_LINUX_RECV, self->pair.b.ep, num_segments,
			      iov, 1);
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY),
		       dat_linux_post(num, dtos, &num_posted));
	EXPECT_EQ(0, num_posted);
	EXPECT_EQ(0, receives(self->pair.b.ep));
}
#endif

TEST_HARNESS_MAIN

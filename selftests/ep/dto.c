// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dto.c - dat_ep_post_send(3DAT) and its kin: data, completions, limits
 *
 * Side a sends, writes and reads; side b is its peer.
 */
#include "harness.h"
#include <sched.h>
#include <time.h>

#include "link.h"
#include "pair.h"

#define REGION		65536
#define MAX_DTOS	64	/* as side_open() asks */
#define MAX_IOV		4

FIXTURE(dto)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_SETUP(dto)
{
	size_t i;

	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	/* No two neighbours alike, nor two packets. */
	for (i = 0; i < REGION; i++)
		self->a.buf[i] = i * 7 + i / 251;
}

FIXTURE_TEARDOWN(dto)
{
	pair_close(&self->pair);
}

/* What all four calls have in common, so that a test can go through them. */
enum op { SEND, RECV, WRITE, READ, NUM_OPS };

static const char *const op_names[] = { "send", "recv", "write", "read" };

/* Posts on side a, to or from the beginning of side b's memory. */
static DAT_RETURN post(struct pair *pair, const struct region *b, enum op op,
		       DAT_COUNT num, DAT_LMR_TRIPLET *iov, DAT_VLEN remote_len,
		       DAT_UINT64 cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET there = remote(b->rmr_context, b->buf, remote_len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	switch (op) {
	case SEND:
		return dat_ep_post_send(pair->a.ep, num, iov, c, flags);
	case RECV:
		return dat_ep_post_recv(pair->a.ep, num, iov, c, flags);
	case WRITE:
		return dat_ep_post_rdma_write(pair->a.ep, num, iov, c, &there,
					      flags);
	default:
		return dat_ep_post_rdma_read(pair->a.ep, num, iov, c, &there,
					     flags);
	}
}

static DAT_RETURN disconnect(struct pair *pair)
{
	DAT_RETURN ret = dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG);

	if (!ret)
		ret = wait_number(pair->a.conn_evd,
				  DAT_CONNECTION_EVENT_DISCONNECTED);
	return ret;
}

/* One for reads on iWARP, and for most on siw. */
static DAT_COUNT max_iov(DAT_EP_HANDLE ep, enum op op)
{
	DAT_EP_PARAM param = {};

	dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);
	switch (op) {
	case RECV:
		return param.ep_attr.max_recv_iov;
	case SEND:
		return param.ep_attr.max_request_iov;
	case WRITE:
		return param.ep_attr.max_rdma_write_iov;
	default:
		return param.ep_attr.max_rdma_read_iov;
	}
}

static bool all_zero(const unsigned char *buf, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i])
			return false;
	return true;
}

TEST_F(dto, send_data_and_completions)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 100, 10000, 0xfeed));
	ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 1, 9999, 0xc0de));

	ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
	d = &event.event_data.dto_completion_event_data;
	EXPECT_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	EXPECT_EQ(self->pair.b.dto_evd, event.evd_handle);
	EXPECT_EQ(self->pair.b.ep, d->ep_handle);
	EXPECT_EQ(0xfeed, d->user_cookie.as_64);
	EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
	EXPECT_EQ(9999, d->transfered_length);
	EXPECT_EQ(0, memcmp(self->a.buf + 1, self->b.buf + 100, 9999));
	EXPECT_TRUE(all_zero(self->b.buf, 100));
	EXPECT_TRUE(all_zero(self->b.buf + 10099, REGION - 10099));

	ASSERT_DAT(wait_for(self->pair.a.dto_evd, DAT_DTO_COMPLETION_EVENT,
			    &event));
	EXPECT_EQ(self->pair.a.ep, d->ep_handle);
	EXPECT_EQ(0xc0de, d->user_cookie.as_64);
	EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
	EXPECT_EQ(9999, d->transfered_length);
}

TEST_F(dto, rdma_write_exact_range)
{
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 3, 9999,
			      self->b.rmr_context, self->b.buf + 4097, 1));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
	EXPECT_EQ(0, memcmp(self->a.buf + 3, self->b.buf + 4097, 9999));
	EXPECT_TRUE(all_zero(self->b.buf, 4097));
	EXPECT_TRUE(all_zero(self->b.buf + 14096, REGION - 14096));
}

TEST_F(dto, rdma_read_exact_range)
{
	ASSERT_DAT(pair_connect(&self->pair));
	memcpy(self->b.buf, self->a.buf, REGION);
	memset(self->a.buf, 0, REGION);
	ASSERT_DAT(post_read(self->pair.a.ep, &self->a, 4097, 9999,
			     self->b.rmr_context, self->b.buf + 3, 1));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
	EXPECT_EQ(0, memcmp(self->b.buf + 3, self->a.buf + 4097, 9999));
	EXPECT_TRUE(all_zero(self->a.buf, 4097));
	EXPECT_TRUE(all_zero(self->a.buf + 14096, REGION - 14096));
}

TEST_F(dto, iov_several_lmrs_in_order)
{
	size_t len[2][3] = {
		{ 1000, 1, 3000 },	/* sent: 4001 bytes in all */
		{ 17, 3500, 2000 },	/* received: the last is not filled */
	};
	DAT_COUNT sends = 3;
	DAT_LMR_TRIPLET iov[2][3];
	struct region region[2][3];
	unsigned char sent[4001], received[5517] = {};
	size_t side, i, at;
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	DAT_EVENT event;

	ASSERT_DAT(pair_connect(&self->pair));
	if (max_iov(self->pair.a.ep, SEND) < 3) {
		sends = 1;
		len[0][0] = 4001;
		len[0][1] = 0;
		len[0][2] = 0;
	}
	for (side = 0; side < 2; side++) {
		for (i = 0; i < 3; i++) {
			struct region *r = &region[side][i];

			ASSERT_DAT(region_open(&self->pair, side ?
					       self->pair.b.pz :
					       self->pair.a.pz, r, 8192,
					       DAT_MEM_PRIV_LOCAL_READ_FLAG |
					       DAT_MEM_PRIV_LOCAL_WRITE_FLAG));
			iov[side][i] = segment(r, 4000, len[side][i]);
		}
	}
	for (at = i = 0; i < 3; at += len[0][i++]) {
		memcpy(sent + at, self->a.buf + at, len[0][i]);
		memcpy(region[0][i].buf + 4000, sent + at, len[0][i]);
	}

	ASSERT_DAT(dat_ep_post_recv(self->pair.b.ep, 3, iov[1], c,
				    DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(dat_ep_post_send(self->pair.a.ep, sends, iov[0], c,
				    DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  event.event_data.dto_completion_event_data.status);
	EXPECT_EQ(4001, event.event_data.dto_completion_event_data
				.transfered_length);
	for (at = i = 0; i < 3; at += len[1][i++])
		memcpy(received + at, region[1][i].buf + 4000, len[1][i]);
	EXPECT_EQ(0, memcmp(sent, received, 4001));
	EXPECT_TRUE(all_zero(received + 4001, sizeof(received) - 4001));
	EXPECT_TRUE(all_zero(region[1][0].buf + 4017, 8192 - 4017));
}

/* Small requests carry their data: see dat_lmr_free(3DAT). */
TEST_F(dto, small_writes_of_every_length)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_TRIPLET to = remote(self->b.rmr_context, self->b.buf + 8, 0);
	/* siw sends other bytes for a small request of memory that crosses a page. */
	size_t len, at, page = link_is_iwarp() ? 12288 + 1024 : 12288;
	DAT_COUNT most, num, i;

	ASSERT_DAT(pair_connect(&self->pair));
	most = max_iov(self->pair.a.ep, WRITE) < 3 ? 1 : 3;
	for (num = 1; num <= most; num += 2) {
		for (len = num; len < 200; len++) {
			DAT_LMR_TRIPLET iov[3];
			unsigned char sent[200];

			/* The segments are in reverse order, and one crosses a page. */
			for (at = i = 0; i < num; at += iov[i++].segment_length) {
				size_t part = i == num - 1 ? len - at : len / num;

				iov[i] = segment(&self->a, page - 4096 * i - part / 2, part);
				memcpy(sent + at, self->a.buf + page - 4096 * i - part / 2, part);
			}
			memset(self->b.buf, 0, 256);
			to.segment_length = len;
			ASSERT_DAT(dat_ep_post_rdma_write(self->pair.a.ep, num, iov, cookie, &to,
							  DAT_COMPLETION_DEFAULT_FLAG));
			ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1)) {
				TH_LOG("%zu bytes in %d segments", len, num);
			}
			/* iWARP reports a write when it has been sent. */
			for (i = 0; i < 20000 && link_is_iwarp() &&
			     memcmp(self->b.buf + 8, sent, len); i++)
				usleep(1000);
			ASSERT_EQ(0, memcmp(self->b.buf + 8, sent, len)) {
				TH_LOG("%zu bytes in %d segments", len, num);
			}
			EXPECT_TRUE(all_zero(self->b.buf, 8));
			EXPECT_TRUE(all_zero(self->b.buf + 8 + len, 200 - len));
		}
	}
}

TEST_F(dto, zero_size_send_without_segment)
{
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	DAT_EVENT event;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_ep_post_recv(self->pair.b.ep, 0, NULL, c,
				    DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(dat_ep_post_send(self->pair.a.ep, 0, NULL, c,
				    DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  event.event_data.dto_completion_event_data.status);
	EXPECT_EQ(0, event.event_data.dto_completion_event_data
			     .transfered_length);
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
}

TEST_F(dto, zero_length_segment_not_checked)
{
	DAT_LMR_TRIPLET iov[3] = {
		{ .lmr_context = 0xdeadbeef, .virtual_address = 1 },
		segment(&self->a, 0, 100),
		{ .lmr_context = 0, .virtual_address = UINT64_MAX },
	};
	DAT_COUNT num = 3;

	ASSERT_DAT(pair_connect(&self->pair));
	if (max_iov(self->pair.a.ep, SEND) < 3) {
		num = 1;
		iov[0] = iov[1];
	}
	ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 100, 1));
	ASSERT_DAT(post(&self->pair, &self->b, SEND, num, iov, 0, 2,
			DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 1));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 100));
}

TEST_F(dto, zero_size_rdma_succeeds)
{
	unsigned char before[REGION];
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	memcpy(before, self->a.buf, REGION);
	for (op = WRITE; op <= READ; op++) {
		ASSERT_DAT(post(&self->pair, &self->b, op, 0, NULL, 0, op,
				DAT_COMPLETION_DEFAULT_FLAG));
		EXPECT_EQ(DAT_DTO_SUCCESS,
			  wait_dto(self->pair.a.dto_evd, op)) {
			TH_LOG("%s", op_names[op]);
		}
	}
	EXPECT_TRUE(all_zero(self->b.buf, REGION));
	EXPECT_EQ(0, memcmp(before, self->a.buf, REGION));
}

TEST_F(dto, send_over_recv_length_error)
{
	int status;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 99, 1));
	ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 100, 2));
	EXPECT_EQ(DAT_DTO_ERR_LOCAL_LENGTH, wait_dto(self->pair.b.dto_evd, 1));
	status = wait_dto(self->pair.a.dto_evd, 2);
	if (!link_is_iwarp())
		EXPECT_NE(DAT_DTO_SUCCESS, status);
	EXPECT_NE(-1, status);
	EXPECT_DAT(wait_refusal(&self->pair));
	EXPECT_TRUE(all_zero(self->b.buf + 99, REGION - 99));
}

TEST_F(dto, rdma_cookie_opaque_not_unique)
{
	static const DAT_UINT64 cookies[] = {
		0, UINT64_MAX, 1ULL << 63, 1, 1, 0,
	};
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	DAT_EVENT event;
	unsigned int i;
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	for (op = WRITE; op <= READ; op++) {
		for (i = 0; i < ARRAY_LEN(cookies); i++) {
			ASSERT_DAT(post(&self->pair, &self->b, op, 1, &seg, 8,
					cookies[i],
					DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (i = 0; i < ARRAY_LEN(cookies); i++) {
			ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
			EXPECT_EQ(cookies[i],
				  event.event_data.dto_completion_event_data
					  .user_cookie.as_64);
		}
	}
}

TEST_F(dto, suppressed_success_no_event)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	DAT_EVENT event;
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 8, 1));
	for (op = 0; op < NUM_OPS; op++) {
		if (op == RECV)
			continue;
		ASSERT_DAT(post(&self->pair, &self->b, op, 1, &seg, 8, op,
				DAT_COMPLETION_SUPPRESS_FLAG));
	}
	ASSERT_DAT(post(&self->pair, &self->b, WRITE, 1, &seg, 8, 99,
			DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
	EXPECT_EQ(99, event.event_data.dto_completion_event_data
			      .user_cookie.as_64);
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->pair.a.dto_evd, &event));
}

TEST_F(dto, suppressed_failure_reported)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	struct region closed;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(region_open(&self->pair, self->pair.b.pz, &closed, 4096,
			       DAT_MEM_PRIV_LOCAL_READ_FLAG));
	/* On iWARP a write would not learn that it was refused. */
	ASSERT_DAT(post(&self->pair, &closed, link_is_iwarp() ? READ : WRITE, 1,
			&seg, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	EXPECT_EQ(link_is_iwarp() ? DAT_DTO_ERR_FLUSHED :
				    DAT_DTO_ERR_REMOTE_ACCESS,
		  wait_dto(self->pair.a.dto_evd, 1));
}

TEST_F(dto, unsignalled_without_ep_attr_invalid)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_rdma_read_out = 1,
	};
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	enum op op;

	ASSERT_DAT(dat_ep_free(self->pair.a.ep));
	ASSERT_DAT(dat_ep_create(self->pair.ia, self->pair.a.pz,
				 self->pair.a.dto_evd, self->pair.a.dto_evd,
				 self->pair.a.conn_evd, &attr,
				 &self->pair.a.ep));
	ASSERT_DAT(pair_connect(&self->pair));
	for (op = 0; op < NUM_OPS; op++) {
		EXPECT_EQ(DAT_INVALID_PARAMETER,
			  DAT_GET_TYPE(post(&self->pair, &self->b, op, 1, &seg,
					    8, 1,
					    DAT_COMPLETION_UNSIGNALLED_FLAG))) {
			TH_LOG("%s", op_names[op]);
		}
	}
}

TEST_F(dto, post_bad_completion_flags)
{
	/* Suppression and fences are for requests, solicited wait for sends. */
	static const unsigned int bad[NUM_OPS][5] = {
		[SEND] = { 0x10, 0x20, 0x80, 1U << 31, ~0U },
		[RECV] = { 0x01, 0x02, 0x08, 0x10, 1U << 31 },
		[WRITE] = { 0x02, 0x10, 0x20, 1U << 31, ~0U },
		[READ] = { 0x02, 0x10, 0x20, 1U << 31, ~0U },
	};
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	unsigned int i;
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	for (op = 0; op < NUM_OPS; op++) {
		for (i = 0; i < ARRAY_LEN(bad[op]); i++) {
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  DAT_GET_TYPE(post(&self->pair, &self->b, op,
						    1, &seg, 8, 1,
						    bad[op][i]))) {
				TH_LOG("%s %#x", op_names[op], bad[op][i]);
			}
		}
	}
}

TEST_F(dto, post_too_many_segments)
{
	DAT_LMR_TRIPLET iov[MAX_IOV + 1];
	unsigned int i;
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < ARRAY_LEN(iov); i++)
		iov[i] = segment(&self->a, i * 8, 8);
	for (op = 0; op < NUM_OPS; op++) {
		EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			  post(&self->pair, &self->b, op, MAX_IOV + 1, iov,
			       1000, 1, DAT_COMPLETION_DEFAULT_FLAG)) {
			TH_LOG("%s", op_names[op]);
		}
		EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			  post(&self->pair, &self->b, op, -1, iov, 1000, 1,
			       DAT_COMPLETION_DEFAULT_FLAG)) {
			TH_LOG("%s", op_names[op]);
		}
	}
	ASSERT_DAT(post(&self->pair, &self->b, WRITE,
			max_iov(self->pair.a.ep, WRITE), iov, 1000, 1,
			DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
}

TEST_F(dto, post_null_pointer_bad_handle)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	DAT_RMR_TRIPLET there = remote(self->b.rmr_context, self->b.buf, 8);
	struct pair wrong = self->pair;
	DAT_DTO_COOKIE c = {};
	unsigned int i;
	enum op op;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "libdat2 follows a handle to its provider");
	ASSERT_DAT(pair_connect(&self->pair));
	for (op = 0; op < NUM_OPS; op++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       post(&self->pair, &self->b, op, 1, NULL, 8, 1,
				    DAT_COMPLETION_DEFAULT_FLAG));
		DAT_EP_HANDLE bad[] = {
			DAT_HANDLE_NULL, self->pair.a.pz, self->a.lmr,
			(DAT_HANDLE)UINTPTR_MAX, &wrong,
		};
		for (i = 0; i < ARRAY_LEN(bad); i++) {
			wrong.a.ep = bad[i];
			EXPECT_EQ(ERROR(DAT_INVALID_HANDLE,
					DAT_INVALID_HANDLE_EP),
				  post(&wrong, &self->b, op, 1, &seg, 8, 1,
				       DAT_COMPLETION_DEFAULT_FLAG)) {
				TH_LOG("%s", op_names[op]);
			}
		}
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_ep_post_rdma_write(self->pair.a.ep, 1, &seg, c, NULL,
					      0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_ep_post_rdma_read(self->pair.a.ep, 1, &seg, c, NULL,
					     0));
	there.segment_length = 1ULL << 32;
	EXPECT_NE(DAT_SUCCESS,
		  dat_ep_post_rdma_read(self->pair.a.ep, 1, &seg, c, &there,
					DAT_COMPLETION_SUPPRESS_FLAG |
					0x40));
}

TEST_F(dto, segment_outside_lmr_invalid)
{
	DAT_LMR_TRIPLET iov[2] = { segment(&self->a, 0, 8) };
	const DAT_LMR_TRIPLET bad[] = {
		segment(&self->a, -1, 1),
		segment(&self->a, REGION, 1),
		segment(&self->a, 1, REGION),
		segment(&self->a, 0, REGION + 1),
		segment(&self->a, 1, UINT32_MAX),
	};
	unsigned int i;
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	for (op = 0; op < NUM_OPS; op++) {
		bool two = max_iov(self->pair.a.ep, op) > 1;

		for (i = 0; i < ARRAY_LEN(bad); i++) {
			/* The last is looked at as the first is. */
			iov[two] = bad[i];
			EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER,
					DAT_INVALID_ARG3),
				  post(&self->pair, &self->b, op, 1 + two, iov,
				       UINT32_MAX, 1,
				       DAT_COMPLETION_DEFAULT_FLAG)) {
				TH_LOG("%s %u", op_names[op], i);
			}
		}
	}
}

TEST_F(dto, foreign_lmr_protection_violation)
{
	DAT_LMR_TRIPLET other = segment(&self->b, 0, 8);
	DAT_LMR_TRIPLET freed = segment(&self->a, 0, 8);
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_lmr_free(self->a.lmr));
	for (op = 0; op < NUM_OPS; op++) {
		EXPECT_EQ(DAT_PROTECTION_VIOLATION,
			  DAT_GET_TYPE(post(&self->pair, &self->b, op, 1,
					    &other, 8, 1,
					    DAT_COMPLETION_DEFAULT_FLAG))) {
			TH_LOG("%s", op_names[op]);
		}
		EXPECT_EQ(DAT_PROTECTION_VIOLATION,
			  DAT_GET_TYPE(post(&self->pair, &self->b, op, 1,
					    &freed, 8, 1,
					    DAT_COMPLETION_DEFAULT_FLAG))) {
			TH_LOG("%s", op_names[op]);
		}
	}
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.a.ep));
}

TEST_F(dto, lmr_local_privileges_violation)
{
	struct region none, no_write;
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &none, 4096,
			       DAT_MEM_PRIV_NONE_FLAG));
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &no_write, 4096,
			       DAT_MEM_PRIV_LOCAL_READ_FLAG));
	for (op = 0; op < NUM_OPS; op++) {
		bool reads = op == SEND || op == WRITE;
		DAT_LMR_TRIPLET bad = segment(reads ? &none : &no_write, 0,
					      8);

		EXPECT_EQ(reads ? DAT_SUCCESS : DAT_PRIVILEGES_VIOLATION,
			  DAT_GET_TYPE(post(&self->pair, &self->b, op, 1, &bad,
					    8, 1,
					    DAT_COMPLETION_DEFAULT_FLAG))) {
			TH_LOG("%s", op_names[op]);
		}
	}
}

TEST_F(dto, rdma_short_buffer_length_error)
{
	DAT_LMR_TRIPLET iov[3] = {
		segment(&self->a, 0, 60), segment(&self->a, 100, 40),
		segment(&self->a, 0, 100),
	};
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	for (op = WRITE; op <= READ; op++) {
		bool two = max_iov(self->pair.a.ep, op) > 1;
		DAT_LMR_TRIPLET *local = two ? iov : &iov[2];
		/* Too much for where it goes, and no more than that. */
		int bad = op == WRITE ? 99 : 101, good = op == WRITE ? 101 : 99;

		EXPECT_DAT_TYPE(DAT_LENGTH_ERROR,
				post(&self->pair, &self->b, op, 1 + two, local,
				     bad, 1, DAT_COMPLETION_DEFAULT_FLAG));
		EXPECT_DAT(post(&self->pair, &self->b, op, 1 + two, local, 100,
				2, DAT_COMPLETION_DEFAULT_FLAG));
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 2));
		EXPECT_DAT(post(&self->pair, &self->b, op, 1 + two, local, good,
				3, DAT_COMPLETION_DEFAULT_FLAG));
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 3));
	}
}

TEST_F(dto, max_request_dtos_enforced)
{
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int i;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_DAT(pair_connect(&self->pair));
	/* Nobody receives them, so none completes. */
	for (i = 0; i < MAX_DTOS; i++) {
		ASSERT_EQ(DAT_SUCCESS,
			  post_send(self->pair.a.ep, &self->a, i, 8, i)) {
			TH_LOG("send %u", i);
		}
	}
	ret = post_send(self->pair.a.ep, &self->a, 0, 8, 1000);
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, ret);
	for (i = 0; i < MAX_DTOS; i++) {
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, i * 8, 8, i));
	}
	for (i = 0; i < MAX_DTOS; i++) {
		DAT_EVENT event;

		ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
		EXPECT_EQ(i, event.event_data.dto_completion_event_data
				     .user_cookie.as_64);
		EXPECT_EQ(DAT_DTO_SUCCESS,
			  event.event_data.dto_completion_event_data.status);
		EXPECT_EQ(0, memcmp(self->a.buf + i, self->b.buf + i * 8, 8));
	}
	/* And all of the queue is there again. */
	for (i = 0; i < MAX_DTOS; i++) {
		ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 8,
				      self->b.rmr_context, self->b.buf, i));
	}
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  wait_dto(self->pair.a.dto_evd, MAX_DTOS - 1));
}

TEST_F(dto, max_recv_dtos_enforced)
{
	DAT_RETURN ret;
	unsigned int i;

	/* Any state will do. */
	for (i = 0; i < MAX_DTOS; i++) {
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, i * 8, 8, i));
	}
	ret = post_recv(self->pair.b.ep, &self->b, 0, 8, 1000);
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, ret);

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 0));
	EXPECT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 8, 1000));
	ret = post_recv(self->pair.b.ep, &self->b, 0, 8, 1001);
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, ret);
}

TEST_F(dto, unconnected_ep_recvs_only)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	enum op op;

	for (op = 0; op < NUM_OPS; op++) {
		EXPECT_EQ(op == RECV ? DAT_SUCCESS :
			  ERROR(DAT_INVALID_STATE,
				DAT_INVALID_STATE_EP_UNCONNECTED),
			  post(&self->pair, &self->b, op, 1, &seg, 8, 1,
			       DAT_COMPLETION_DEFAULT_FLAG)) {
			TH_LOG("%s", op_names[op]);
		}
	}
}

TEST_F(dto, disconnected_ep_flushes_posts)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	DAT_EVENT event;
	DAT_COUNT nmore;
	enum op op;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(disconnect(&self->pair));
	for (op = 0; op < NUM_OPS; op++) {
		ASSERT_DAT(post(&self->pair, &self->b, op, 1, &seg, 8, 7 + op,
				DAT_COMPLETION_DEFAULT_FLAG));
		ASSERT_EQ(DAT_SUCCESS,
			  dat_evd_wait(self->pair.a.dto_evd, 1000 * 1000, 1,
				       &event, &nmore)) {
			TH_LOG("%s", op_names[op]);
		}
		EXPECT_EQ(7 + op, event.event_data.dto_completion_event_data
					  .user_cookie.as_64);
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
			  event.event_data.dto_completion_event_data.status);
	}
}

TEST_F(dto, recvs_before_connect_in_order)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, i * 100, 100,
				     i));
	}
	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < 8; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, i * 100, 100,
				     i));
	}
	for (i = 0; i < 8; i++) {
		DAT_EVENT event;

		ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
		EXPECT_EQ(i, event.event_data.dto_completion_event_data
				     .user_cookie.as_64);
	}
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 800));
}

TEST_F(dto, broken_connection_flushes_in_order)
{
	DAT_EVENT event;
	unsigned int i;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < 20; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, i));
	}
	for (i = 0; i < 20; i++) {
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, REGION / 2 + i,
				     1, 100 + i));
	}
	/* Too small, so the first one is the end of the connection. */
	for (i = 0; i < 20; i++) {
		ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
		EXPECT_EQ(i, event.event_data.dto_completion_event_data
				     .user_cookie.as_64);
		EXPECT_NE(DAT_DTO_SUCCESS,
			  event.event_data.dto_completion_event_data.status);
		ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
		EXPECT_EQ(100 + i, event.event_data.dto_completion_event_data
					   .user_cookie.as_64);
		if (i) {
			EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
				  event.event_data.dto_completion_event_data
					  .status);
		}
	}
}

TEST_F(dto, abrupt_disconnect_flushes_in_order)
{
	/* Nobody receives them; on iWARP that alone ends the connection. */
	unsigned int i, sends = link_is_iwarp() ? 0 : 8;
	DAT_EVENT event;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < 8; i++) {
		ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, i, 1, i));
	}
	for (i = 0; i < sends; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, 100 + i));
	}
	ASSERT_DAT(disconnect(&self->pair));
	/* Each queue keeps its order; the two may be mixed. */
	DAT_UINT64 next_recv = 0, next_send = 100;

	for (i = 0; i < 8 + sends; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA *d =
			&event.event_data.dto_completion_event_data;

		ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, d->status);
		if (d->user_cookie.as_64 < 100) {
			EXPECT_EQ(next_recv++, d->user_cookie.as_64);
		} else {
			EXPECT_EQ(next_send++, d->user_cookie.as_64);
		}
	}
	EXPECT_EQ(8, next_recv);
	EXPECT_EQ(100 + sends, next_send);
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->pair.a.dto_evd, &event));
}

TEST_F(dto, get_status_idle_flags)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_ep_get_status(self->pair.a.ep, &state, &recv_idle,
				     &request_idle));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, state);
	EXPECT_EQ(DAT_TRUE, recv_idle);
	EXPECT_EQ(DAT_TRUE, request_idle);

	/* Nobody receives it yet; on iWARP there must be somebody. */
	if (link_is_iwarp())
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 8, 3));
	ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, 1));
	ASSERT_DAT(dat_ep_get_status(self->pair.a.ep, &state, &recv_idle,
				     &request_idle));
	EXPECT_EQ(DAT_TRUE, recv_idle);
	if (!link_is_iwarp())
		EXPECT_EQ(DAT_FALSE, request_idle);

	ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 0, 8, 2));
	ASSERT_DAT(dat_ep_get_status(self->pair.a.ep, &state, &recv_idle,
				     &request_idle));
	EXPECT_EQ(DAT_FALSE, recv_idle);

	if (!link_is_iwarp())
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 8, 3));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
	ASSERT_DAT(dat_ep_get_status(self->pair.a.ep, &state, &recv_idle,
				     &request_idle));
	EXPECT_EQ(DAT_FALSE, recv_idle);
	EXPECT_EQ(DAT_TRUE, request_idle);

	ASSERT_DAT(post_send(self->pair.b.ep, &self->b, 0, 8, 4));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 2));
	ASSERT_DAT(dat_ep_get_status(self->pair.a.ep, &state, &recv_idle,
				     &request_idle));
	EXPECT_EQ(DAT_TRUE, recv_idle);
}

TEST_F(dto, suppressed_requests_free_slots)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	DAT_EVENT event;
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < 4 * MAX_DTOS; i++) {
		time_t give_up = time(NULL) + 10;
		DAT_RETURN ret;

		/* Four times as many as fit; no event tells when one is done. */
		do {
			ret = post(&self->pair, &self->b, WRITE, 1, &seg, 8, i,
				   DAT_COMPLETION_SUPPRESS_FLAG);
		} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
			 time(NULL) < give_up);
		ASSERT_EQ(DAT_SUCCESS, ret) {
			TH_LOG("write %u", i);
		}
	}
	do {
		i = post(&self->pair, &self->b, WRITE, 1, &seg, 8, 1000,
			 DAT_COMPLETION_DEFAULT_FLAG);
	} while (DAT_GET_TYPE(i) == DAT_INSUFFICIENT_RESOURCES);
	ASSERT_EQ(DAT_SUCCESS, i);
	ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
	EXPECT_EQ(1000, event.event_data.dto_completion_event_data
				.user_cookie.as_64);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  event.event_data.dto_completion_event_data.status);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 8));
}

TEST_F(dto, fenced_send_waits_for_read)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 4096);
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 1; i <= 50; i++) {
		memset(self->b.buf, i, 4096);
		memset(self->a.buf, 0, 4096);
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 8192, 4096, 1));
		ASSERT_DAT(post(&self->pair, &self->b, READ, 1, &seg, 4096, 2,
				DAT_COMPLETION_DEFAULT_FLAG));
		/* From the buffer that the read fills. */
		ASSERT_DAT(post(&self->pair, &self->b, SEND, 1, &seg, 0, 3,
				DAT_COMPLETION_BARRIER_FENCE_FLAG));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 1));
		ASSERT_EQ(0, memcmp(self->b.buf, self->b.buf + 8192, 4096)) {
			TH_LOG("round %u", i);
		}
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 3));
	}
}

TEST_F(dto, max_message_size_enforced)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = 1000,
		.max_rdma_size = 2000,
	};

	ASSERT_DAT(dat_ep_free(self->pair.a.ep));
	ASSERT_DAT(dat_ep_create(self->pair.ia, self->pair.a.pz,
				 self->pair.a.dto_evd, self->pair.a.dto_evd,
				 self->pair.a.conn_evd, &attr,
				 &self->pair.a.ep));
	ASSERT_DAT(pair_connect(&self->pair));
	EXPECT_DAT_TYPE(DAT_LENGTH_ERROR,
			post_send(self->pair.a.ep, &self->a, 0, 1001, 1));
	EXPECT_DAT_TYPE(DAT_LENGTH_ERROR,
			post_write(self->pair.a.ep, &self->a, 0, 2001,
				   self->b.rmr_context, self->b.buf, 1));
	ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 2000,
			      self->b.rmr_context, self->b.buf, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 2));
	ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 1000, 3));
	ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 1000, 4));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 4));
}

TEST_HARNESS_MAIN

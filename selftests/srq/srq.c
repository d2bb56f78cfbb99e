// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq.c - dat_srq_create(3DAT) and its like, dat_ep_create_with_srq(3DAT)
 *
 * Side a has an EP for each of side b, and those share an SRQ.
 */
#include "harness.h"

#include "link.h"
#include "pair.h"

#define REGION		4096
#define BUF		64
#define MAX		16
#define LINKS		2

/* What must not happen is given this many microseconds to happen. */
#define SILENCE		(50 * 1000)

FIXTURE(srq)
{
	struct pair pair;
	struct region a, b;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE from[LINKS], to[LINKS];
};

static DAT_RETURN create(struct pair *pair, DAT_COUNT max, DAT_COUNT low,
			 DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = max,
		.max_recv_iov = 2,
		.low_watermark = low,
	};

	return dat_srq_create(pair->ia, pair->b.pz, &attr, srq);
}

static DAT_RETURN ep_with(struct pair *pair, DAT_SRQ_HANDLE srq,
			  DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {};

	return dat_ep_create_with_srq(pair->ia, pair->b.pz, pair->b.dto_evd,
				      pair->b.dto_evd, pair->b.conn_evd, srq,
				      &attr, ep);
}

static DAT_RETURN connect_link(FIXTURE_DATA(srq) *self, int i)
{
	struct pair link = self->pair;

	link.a.ep = self->from[i];
	link.b.ep = self->to[i];
	return pair_connect(&link);
}

FIXTURE_SETUP(srq)
{
	struct pair *pair = &self->pair;
	int i;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(create(pair, MAX, 0, &self->srq));
	for (i = 0; i < LINKS; i++) {
		ASSERT_DAT(ep_like(pair, &pair->a, &self->from[i]));
		ASSERT_DAT(ep_with(pair, self->srq, &self->to[i]));
		ASSERT_DAT(connect_link(self, i));
	}
}

FIXTURE_TEARDOWN(srq)
{
	pair_close(&self->pair);
}

static DAT_RETURN post(FIXTURE_DATA(srq) *self, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET seg = segment(&self->b, cookie * BUF, BUF);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_srq_post_recv(self->srq, 1, &seg, c);
}

static void post_many(struct __test_metadata *_metadata,
		      FIXTURE_DATA(srq) *self, int num)
{
	while (num--)
		ASSERT_DAT(post(self, num));
}

/* A message that consists of one number. */
static int send_word(FIXTURE_DATA(srq) *self, int i, DAT_UINT32 word)
{
	memcpy(self->a.buf, &word, sizeof(word));
	if (post_send(self->from[i], &self->a, 0, sizeof(word), word))
		return -1;
	return wait_dto(self->pair.a.dto_evd, word);
}

/* The next message, which is for that EP. Returns in which buffer it is. */
static DAT_UINT64 receive(struct __test_metadata *_metadata,
			  FIXTURE_DATA(srq) *self, int i, DAT_UINT32 word)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event = {};
	DAT_UINT32 got;

	d = &event.event_data.dto_completion_event_data;
	EXPECT_DAT(wait_for(self->pair.b.dto_evd, DAT_DTO_COMPLETION_EVENT,
			    &event));
	EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
	EXPECT_EQ(self->to[i], d->ep_handle);
	EXPECT_EQ(sizeof(word), d->transfered_length);
	EXPECT_GT(MAX, d->user_cookie.as_64);
	memcpy(&got, self->b.buf + d->user_cookie.as_64 % MAX * BUF,
	       sizeof(got));
	EXPECT_EQ(word, got);
	return d->user_cookie.as_64;
}

static DAT_COUNT available(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	return dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param) ? -1 :
	       param.available_dto_count;
}

/* A message may be acknowledged before the buffer is known to be taken. */
static bool becomes_available(DAT_SRQ_HANDLE srq, DAT_COUNT num)
{
	int i;

	for (i = 0; i < PAIR_TIMEOUT / 10000; i++) {
		if (available(srq) == num)
			return true;
		usleep(10000);
	}
	return false;
}

TEST_F(srq, buffers_shared_by_eps)
{
	bool used[MAX] = {};
	DAT_UINT64 cookie;
	int i;

	post_many(_metadata, self, MAX);
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ),
		       post(self, 0));
	/* The first EP takes more of them than the second. */
	for (i = 0; i < MAX; i++) {
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  send_word(self, i % 3 == 1, 1000 + i));
		cookie = receive(_metadata, self, i % 3 == 1, 1000 + i);
		ASSERT_GT(MAX, cookie);
		EXPECT_FALSE(used[cookie]);
		used[cookie] = true;
	}
	EXPECT_EQ(0, available(self->srq));
	/* And round again. */
	post_many(_metadata, self, MAX);
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 1, 77));
	receive(_metadata, self, 1, 77);
	EXPECT_EQ(MAX - 1, available(self->srq));
}

TEST_F(srq, segments_filled_in_order)
{
	DAT_LMR_TRIPLET iov[2];
	DAT_DTO_COOKIE c = { .as_64 = 5 };
	int i;

	for (i = 0; i < 64; i++)
		self->a.buf[i] = i + 1;
	iov[0] = segment(&self->b, 100, 10);
	iov[1] = segment(&self->b, 0, 20);
	ASSERT_DAT(dat_srq_post_recv(self->srq, 2, iov, c));
	/* The segments are ours again. */
	memset(iov, 0xff, sizeof(iov));
	ASSERT_DAT(post_send(self->from[0], &self->a, 0, 15, 9));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 5));
	EXPECT_EQ(0, memcmp(self->b.buf + 100, self->a.buf, 10));
	EXPECT_EQ(0, memcmp(self->b.buf, self->a.buf + 10, 5));
	EXPECT_EQ(0, self->b.buf[5]);
	EXPECT_EQ(0, self->b.buf[110]);
	/* None at all, for a message of no bytes. */
	c.as_64 = UINT64_MAX;
	ASSERT_DAT(dat_srq_post_recv(self->srq, 0, NULL, c));
	ASSERT_DAT(post_send(self->from[1], &self->a, 0, 0, 9));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, UINT64_MAX));
}

TEST_F(srq, ep_reports_srq)
{
	DAT_COUNT num = 77, span = 77;
	DAT_EP_HANDLE fresh;
	DAT_HANDLE_TYPE type;
	DAT_EP_PARAM param;

	ASSERT_DAT(dat_get_handle_type(self->srq, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_SRQ, type);
	ASSERT_DAT(dat_ep_query(self->to[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(self->srq, param.srq_handle);
	EXPECT_EQ(2, param.ep_attr.max_recv_iov);
	ASSERT_DAT(dat_ep_query(self->from[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(DAT_HANDLE_NULL, param.srq_handle);
	/* They take no buffers themselves, and cannot say how many they have. */
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE),
		       post_recv(self->to[0], &self->b, 0, 64, 1));
	ASSERT_DAT(dat_ep_recv_query(self->to[0], &num, &span));
	EXPECT_EQ(DAT_VALUE_UNKNOWN, num);
	EXPECT_EQ(DAT_VALUE_UNKNOWN, span);
	ASSERT_DAT(ep_with(&self->pair, self->srq, &fresh));
	ASSERT_DAT(dat_ep_recv_query(fresh, &num, &span));
	EXPECT_EQ(0, num);
	EXPECT_EQ(0, span);
}

TEST_F(srq, ep_modify_reset_keep_srq)
{
	DAT_EP_PARAM param, seen;
	struct pair *pair = &self->pair;

	memset(&param, 0xa5, sizeof(param));
	ASSERT_DAT(dat_ep_disconnect(self->to[0], DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(dat_ep_reset(self->to[0]));
	ASSERT_DAT(dat_ep_reset(self->from[0]));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_ep_modify(self->to[0], DAT_EP_FIELD_SRQ_HANDLE,
				     &param));
	param.ep_attr.max_request_dtos = 5;
	ASSERT_DAT(dat_ep_modify(self->to[0],
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				 &param));
	ASSERT_DAT(dat_ep_query(self->to[0], DAT_EP_FIELD_ALL, &seen));
	EXPECT_EQ(self->srq, seen.srq_handle);
	EXPECT_EQ(5, seen.ep_attr.max_request_dtos);
	ASSERT_DAT(connect_link(self, 0));
	post_many(_metadata, self, 2);
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 0, 4));
	receive(_metadata, self, 0, 4);
	EXPECT_EQ(1, available(self->srq));
}

static void expect_field(struct __test_metadata *_metadata,
			 FIXTURE_DATA(srq) *self, unsigned int mask,
			 const DAT_SRQ_PARAM *p)
{
	if (mask & DAT_SRQ_FIELD_IA_HANDLE)
		EXPECT_EQ(TOLD_IA(self->pair.ia), p->ia_handle);
	if (mask & DAT_SRQ_FIELD_SRQ_STATE)
		EXPECT_EQ(DAT_SRQ_STATE_OPERATIONAL, p->srq_state);
	if (mask & DAT_SRQ_FIELD_PZ_HANDLE)
		EXPECT_EQ(self->pair.b.pz, p->pz_handle);
	if (mask & DAT_SRQ_FIELD_MAX_RECV_DTO)
		EXPECT_EQ(MAX, p->max_recv_dtos);
	if (mask & DAT_SRQ_FIELD_MAX_RECV_IOV)
		EXPECT_EQ(2, p->max_recv_iov);
	if (mask & DAT_SRQ_FIELD_LOW_WATERMARK)
		EXPECT_EQ(1, p->low_watermark);
	if (mask & DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT)
		EXPECT_EQ(3, p->available_dto_count);
	if (mask & DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT)
		EXPECT_EQ(3, p->outstanding_dto_count);
}

TEST_F(srq, query_each_field)
{
	DAT_SRQ_PARAM param;
	unsigned int mask;

	post_many(_metadata, self, 3);
	ASSERT_DAT(dat_srq_set_lw(self->srq, 1));
	for (mask = 0; mask <= DAT_SRQ_FIELD_ALL; mask++) {
		memset(&param, 0xff, sizeof(param));
		ASSERT_DAT(dat_srq_query(self->srq, mask, &param));
		expect_field(_metadata, self, mask, &param);
	}
	for (mask = DAT_SRQ_FIELD_ALL + 1; mask; mask <<= 1) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_srq_query(self->srq, mask, &param));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, NULL));
}

/* What the process has been told of is its own again. */
TEST_F(srq, query_counts)
{
	DAT_SRQ_PARAM param;

	post_many(_metadata, self, 3);
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 0, 42));
	EXPECT_TRUE(becomes_available(self->srq, 2));
	receive(_metadata, self, 0, 42);
	ASSERT_DAT(dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(2, param.available_dto_count);
	EXPECT_EQ(2, param.outstanding_dto_count);
}

TEST_F(srq, resize_limits_posts)
{
	DAT_SRQ_PARAM param;
	DAT_RETURN ret;
	int i;

	post_many(_metadata, self, 6);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE),
		       dat_srq_resize(self->srq, 5));
	ASSERT_DAT(dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(MAX, param.max_recv_dtos);
	ASSERT_DAT(dat_srq_resize(self->srq, 6));
	ASSERT_DAT(dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(6, param.max_recv_dtos);
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ),
		       post(self, 6));
	ASSERT_DAT(dat_srq_resize(self->srq, MAX));
	for (i = 6; i < MAX; i++)
		ASSERT_DAT(post(self, i));
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ),
		       post(self, 0));

	/* Larger than it ever was. */
	ret = dat_srq_resize(self->srq, 200);
	if (link_is_iwarp()) {
		EXPECT_EQ(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ),
			  ret);
	} else {
		EXPECT_DAT(ret);
		for (i = MAX; i < 200; i++)
			ASSERT_DAT(post(self, i % MAX));
		EXPECT_EQ(200, available(self->srq));
		EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES,
				     DAT_RESOURCE_SRQ),
			       post(self, 0));
	}
	/* What was posted before is there yet. */
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 1, 3));
	receive(_metadata, self, 1, 3);
}

/* The CQ of the first EP on an EVD has room for it. */
TEST_F(srq, grows_to_length_of_evd)
{
	struct pair *pair = &self->pair;
	DAT_EP_ATTR attr = {};
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	ASSERT_DAT(create(pair, MAX, 0, &srq));
	ASSERT_DAT(dat_evd_create(pair->ia, 900, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_DAT(dat_ep_create_with_srq(pair->ia, pair->b.pz, evd, evd, pair->b.conn_evd, srq,
					  &attr, &ep));
	ret = dat_srq_resize(srq, 900);
	EXPECT_EQ(link_is_iwarp() ? ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ) :
				    DAT_SUCCESS, ret);
	ASSERT_DAT(dat_ep_free(ep));
	EXPECT_DAT(dat_srq_free(srq));
	EXPECT_DAT(dat_evd_free(evd));
}

static void expect_told(struct __test_metadata *_metadata,
			FIXTURE_DATA(srq) *self, DAT_HANDLE handle,
			DAT_COUNT reason)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT event;

	ASSERT_DAT(wait_event(self->pair.async_evd, &event));
	d = &event.event_data.asynch_error_event_data;
	EXPECT_EQ(DAT_ASYNC_ERROR_EP_BROKEN, event.event_number);
	EXPECT_EQ(handle, d->dat_handle);
	EXPECT_EQ(reason, d->reason);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.async_evd));
}

TEST_F(srq, low_watermark_fires_once)
{
	DAT_SRQ_PARAM param;

	post_many(_metadata, self, 6);
	ASSERT_DAT(dat_srq_set_lw(self->srq, 4));
	ASSERT_DAT(dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(4, param.low_watermark);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE),
		       dat_srq_resize(self->srq, 3));
	/* Four left are not below four; three are. */
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 0, 1));
	receive(_metadata, self, 0, 1);
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 1, 2));
	receive(_metadata, self, 1, 2);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.async_evd));
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 0, 3));
	receive(_metadata, self, 0, 3);
	expect_told(_metadata, self, self->srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 0, 4));
	receive(_metadata, self, 0, 4);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.async_evd));
	/* Armed again there are too few already. */
	ASSERT_DAT(dat_srq_set_lw(self->srq, 3));
	expect_told(_metadata, self, self->srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	ASSERT_DAT(dat_srq_set_lw(self->srq, DAT_SRQ_LW_DEFAULT));
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.async_evd));
}

/* The event may come before the call returns. */
TEST_F(srq, create_low_watermark_event)
{
	DAT_SRQ_HANDLE other;
	DAT_EVENT event;
	int i;

	for (i = 0; i < 200; i++) {
		ASSERT_DAT(create(&self->pair, MAX, 1, &other));
		ASSERT_DAT(wait_event(self->pair.async_evd, &event));
		ASSERT_EQ(other, event.event_data.asynch_error_event_data
					 .dat_handle);
		ASSERT_DAT(dat_srq_free(other));
	}
}

TEST_F(srq, high_watermarks_per_ep)
{
	DAT_EP_PARAM param;
	DAT_EVENT event;
	int status;

	post_many(_metadata, self, 6);
	ASSERT_DAT(dat_ep_set_watermark(self->to[0], 0,
					DAT_WATERMARK_INFINITE));
	ASSERT_DAT(dat_ep_query(self->to[0], DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(0, param.ep_attr.srq_soft_hw);
	/* What the other takes does not count. */
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 1, 1));
	receive(_metadata, self, 1, 1);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.async_evd));
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 0, 2));
	expect_told(_metadata, self, self->to[0],
		    DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	receive(_metadata, self, 0, 2);
	/* The hard one costs the connection, and nobody else's. */
	ASSERT_DAT(dat_ep_set_watermark(self->to[0], DAT_WATERMARK_INFINITE,
					0));
	status = send_word(self, 0, 3);
	/* The word that it has arrived may go with the connection. */
	ASSERT_TRUE(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_FLUSHED)
		TH_LOG("status %d", status);
		ASSERT_DAT(wait_for(self->pair.b.conn_evd,
				    DAT_CONNECTION_EVENT_BROKEN, &event));
		EXPECT_EQ(self->to[0],
			  event.event_data.connect_event_data.ep_handle);
		receive(_metadata, self, 0, 3);
		ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 1, 4));
		receive(_metadata, self, 1, 4);
}

TEST_F(srq, free_in_use)
{
	struct pair *pair = &self->pair;

	post_many(_metadata, self, 3);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE),
		       dat_srq_free(self->srq));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE),
		       dat_pz_free(pair->b.pz));
	ASSERT_DAT(dat_ep_free(self->to[0]));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE),
		       dat_srq_free(self->srq));
	/* It is as good as before. */
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 1, 4));
	receive(_metadata, self, 1, 4);
	ASSERT_DAT(dat_ep_free(self->to[1]));
	/* What was posted goes with it. */
	EXPECT_DAT(dat_srq_free(self->srq));
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(pair->b.dto_evd));
	ASSERT_DAT(dat_ep_free(pair->b.ep));
	ASSERT_DAT(dat_lmr_free(self->b.lmr));
	EXPECT_DAT(dat_pz_free(pair->b.pz));
}

static void expect_no_srq(struct __test_metadata *_metadata,
			  FIXTURE_DATA(srq) *self, DAT_SRQ_HANDLE bad)
{
	const DAT_RETURN none = ERROR(DAT_INVALID_HANDLE,
				      DAT_INVALID_HANDLE_SRQ);
	DAT_DTO_COOKIE c = {};
	DAT_SRQ_PARAM param;
	DAT_EP_HANDLE ep;

	EXPECT_EQ(none, dat_srq_free(bad));
	EXPECT_EQ(none, dat_srq_query(bad, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(none, dat_srq_resize(bad, 10));
	EXPECT_EQ(none, dat_srq_set_lw(bad, 1));
	EXPECT_EQ(none, dat_srq_post_recv(bad, 0, NULL, c));
	EXPECT_EQ(none, ep_with(&self->pair, bad, &ep));
}

TEST_F(srq, bad_handles_rejected)
{
	DAT_SRQ_HANDLE freed;
	DAT_EP_HANDLE ep;
	struct pair other;
	DAT_SRQ_HANDLE foreign;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "libdat2 follows a handle to its provider");
	ASSERT_DAT(create(&self->pair, 1, 0, &freed));
	ASSERT_DAT(dat_srq_free(freed));
	expect_no_srq(_metadata, self, freed);
	/* Which to the ioctl would mean an EP without one. */
	expect_no_srq(_metadata, self, DAT_HANDLE_NULL);
	expect_no_srq(_metadata, self, (DAT_HANDLE)0x1234567);
	expect_no_srq(_metadata, self,
		      (DAT_HANDLE)((uintptr_t)self->srq | 1UL << 40));
	expect_no_srq(_metadata, self, self->pair.b.pz);
	expect_no_srq(_metadata, self, self->to[0]);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_free(self->srq));
	/* Of another IA. */
	ASSERT_DAT(pair_open(&other));
	ASSERT_DAT(create(&other, 1, 0, &foreign));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ),
		       ep_with(&self->pair, foreign, &ep));
	pair_close(&other);
	expect_no_srq(_metadata, self, foreign);
}

static DAT_RETURN create_as(struct pair *pair, DAT_COUNT max, DAT_COUNT iov,
			    DAT_COUNT low)
{
	DAT_SRQ_ATTR attr = { max, iov, low };
	DAT_SRQ_HANDLE srq;

	return dat_srq_create(pair->ia, pair->b.pz, &attr, &srq);
}

TEST_F(srq, create_bad_parameters)
{
	const DAT_RETURN bad = ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	struct pair *pair = &self->pair, other;
	DAT_SRQ_ATTR attr = { MAX, 2, 0 };
	DAT_SRQ_HANDLE srq = NULL;
	DAT_IA_ATTR ia;

	ASSERT_DAT(dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_ALL, &ia, 0,
				NULL));
	EXPECT_EQ(bad, create_as(pair, 0, 1, 0));
	EXPECT_EQ(bad, create_as(pair, -1, 1, 0));
	EXPECT_EQ(bad, create_as(pair, ia.max_recv_per_srq + 1, 1, 0));
	EXPECT_EQ(bad, create_as(pair, INT32_MAX, 1, 0));
	EXPECT_EQ(bad, create_as(pair, MAX, 0, 0));
	EXPECT_EQ(bad, create_as(pair, MAX, -1, 0));
	EXPECT_EQ(bad, create_as(pair, MAX, INT32_MAX, 0));
	EXPECT_EQ(bad, create_as(pair, MAX, 1, MAX + 1));
	EXPECT_EQ(bad, create_as(pair, MAX, 1, -1));
	EXPECT_EQ(bad, dat_srq_create(pair->ia, pair->b.pz, NULL, &srq));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_srq_create(pair->ia, pair->b.pz, &attr, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		       dat_srq_create(pair->b.pz, pair->b.pz, &attr, &srq));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		       dat_srq_create(DAT_HANDLE_NULL, pair->b.pz, &attr,
				      &srq));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		       dat_srq_create(pair->ia, self->srq, &attr, &srq));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		       dat_srq_create(pair->ia, DAT_HANDLE_NULL, &attr, &srq));
	ASSERT_DAT(pair_open(&other));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		       dat_srq_create(pair->ia, other.b.pz, &attr, &srq));
	pair_close(&other);
	EXPECT_EQ(NULL, srq);
	/* As many as it says it can have. */
	EXPECT_DAT(create_as(pair, ia.max_recv_per_srq, 1,
			     ia.max_recv_per_srq));
}

TEST_F(srq, resize_and_watermark_bad_values)
{
	const DAT_RETURN bad = ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	DAT_SRQ_PARAM param;
	DAT_IA_ATTR ia;

	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL, DAT_IA_FIELD_ALL, &ia, 0,
				NULL));
	EXPECT_EQ(bad, dat_srq_resize(self->srq, 0));
	EXPECT_EQ(bad, dat_srq_resize(self->srq, -1));
	EXPECT_EQ(bad, dat_srq_resize(self->srq, ia.max_recv_per_srq + 1));
	EXPECT_EQ(bad, dat_srq_set_lw(self->srq, MAX + 1));
	EXPECT_EQ(bad, dat_srq_set_lw(self->srq, -1));
	EXPECT_EQ(bad, dat_srq_set_lw(self->srq, INT32_MIN));
	ASSERT_DAT(dat_srq_query(self->srq, DAT_SRQ_FIELD_ALL, &param));
	EXPECT_EQ(MAX, param.max_recv_dtos);
	EXPECT_EQ(0, param.low_watermark);
}

/* One file may have only so much in all its queues together. */
TEST_F(srq, failed_resize_not_charged)
{
	DAT_SRQ_HANDLE srq;
	int i;

	for (i = 0; i < 40; i++) {
		ASSERT_DAT(create(&self->pair, 4, 0, &srq));
		ASSERT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_srq_resize(srq, INT32_MAX));
		ASSERT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       create_as(&self->pair, INT32_MAX, 1, 0));
	}
	EXPECT_DAT(create(&self->pair, MAX, 0, &srq));
}

TEST_F(srq, post_bad_parameters)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET seg[3];
	DAT_DTO_COOKIE c = {};
	struct region read_only;

	seg[0] = segment(&self->b, 0, 8);
	seg[1] = seg[0];
	seg[2] = seg[0];
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_srq_post_recv(self->srq, 3, seg, c));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_srq_post_recv(self->srq, -1, seg, c));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_srq_post_recv(self->srq, 5000, seg, c));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_srq_post_recv(self->srq, 1, NULL, c));
	seg[0].segment_length = UINT64_C(1) << 32;
	if (!IS_CUT(UINT64_C(1) << 32, seg[0].segment_length))
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       dat_srq_post_recv(self->srq, 1, seg, c));
	seg[0] = segment(&self->b, REGION - 7, 8);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_srq_post_recv(self->srq, 1, seg, c));
	/* Of another PZ; of none; and not for writing. */
	seg[0] = segment(&self->a, 0, 8);
	EXPECT_DAT_RET(ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE),
		       dat_srq_post_recv(self->srq, 1, seg, c));
	seg[0].lmr_context ^= 0xff00;
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			dat_srq_post_recv(self->srq, 1, seg, c));
	ASSERT_DAT(region_open(pair, pair->b.pz, &read_only, REGION,
			       DAT_MEM_PRIV_LOCAL_READ_FLAG));
	seg[0] = segment(&read_only, 0, 8);
	EXPECT_DAT_RET(ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE),
		       dat_srq_post_recv(self->srq, 1, seg, c));
	EXPECT_EQ(0, available(self->srq));
	region_close(&read_only);
}

TEST_F(srq, ep_create_bad_parameters)
{
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE ep = NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_EP_ATTR attr = {};
	DAT_RETURN ret;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		       dat_ep_create_with_srq(pair->ia, pair->b.pz,
					      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, self->srq, NULL,
					      &ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8),
		       dat_ep_create_with_srq(pair->ia, pair->b.pz,
					      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, self->srq, &attr,
					      NULL));
	attr.max_request_dtos = -1;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		       dat_ep_create_with_srq(pair->ia, pair->b.pz,
					      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, self->srq, &attr,
					      &ep));
	attr.max_request_dtos = 1 << 30;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		       dat_ep_create_with_srq(pair->ia, pair->b.pz,
					      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, self->srq, &attr,
					      &ep));
	attr.max_request_dtos = 0;
	attr.srq_soft_hw = -3;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		       dat_ep_create_with_srq(pair->ia, pair->b.pz,
					      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, self->srq, &attr,
					      &ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		       dat_ep_create_with_srq(pair->psp, pair->b.pz,
					      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, self->srq, &attr,
					      &ep));
	attr.srq_soft_hw = 0;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		       dat_ep_create_with_srq(pair->ia, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					      DAT_HANDLE_NULL, self->srq, &attr,
					      &ep));
	EXPECT_EQ(NULL, ep);
	/* Of another PZ, only if the provider says so. */
	ASSERT_DAT(dat_ia_query(pair->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
				&provider));
	ret = dat_ep_create_with_srq(pair->ia, pair->a.pz, DAT_HANDLE_NULL,
				     DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				     self->srq, &attr, &ep);
	EXPECT_EQ(provider.srq_ep_pz_difference_supported ? DAT_SUCCESS :
		  ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), ret);
}

TEST_F(srq, ia_srq_attributes)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR ia;

	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL, DAT_IA_FIELD_ALL, &ia,
				DAT_PROVIDER_FIELD_ALL, &provider));
	EXPECT_LT(0, ia.max_srqs);
	EXPECT_LT(1, ia.max_ep_per_srq);
	EXPECT_LE(MAX, ia.max_recv_per_srq);
	EXPECT_EQ(DAT_TRUE, provider.srq_supported);
	EXPECT_EQ(0x111, provider.srq_watermarks_supported);
	EXPECT_EQ(0x11, provider.srq_info_supported);
	EXPECT_EQ(0, provider.ep_recv_info_supported);
	EXPECT_EQ(DAT_PSP_CREATES_EP_IFASKED, provider.ep_creator);
	EXPECT_EQ(link_is_iwarp(), provider.srq_ep_pz_difference_supported);
}

TEST_F(srq, ia_close_frees_srq)
{
	DAT_DTO_COOKIE c = {};

	post_many(_metadata, self, 4);
	ASSERT_EQ(DAT_DTO_SUCCESS, send_word(self, 0, 1));
	pair_close(&self->pair);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ),
		       dat_srq_post_recv(self->srq, 0, NULL, c));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ),
		       dat_srq_free(self->srq));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post.c - dat_ep_post_send(3DAT) and its kin: flags, fences, order, ownership
 *
 * Both EPs can be silent about what they complete.
 */
#include "harness.h"

#include "link.h"
#include "pair.h"
#include "software_event.h"

#define REGION		65536
#define MAX_DTOS	16

/* How long a waiter is given to be woken by what must not wake it. */
#define SILENCE		(300 * 1000)

enum op { SEND, RECV, WRITE, READ, NUM_OPS };

static const char *const op_names[] = { "send", "recv", "write", "read" };

FIXTURE(post)
{
	struct pair pair;
	struct region a, b;
};

static DAT_RETURN silent_ep(struct pair *pair, struct side *side)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.max_recv_dtos = MAX_DTOS,
		.max_request_dtos = MAX_DTOS,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
	};

	return dat_ep_free(side->ep) ?:
	       dat_ep_create(pair->ia, side->pz, side->dto_evd, side->dto_evd,
			     side->conn_evd, &attr, &side->ep);
}

static DAT_RETURN open_all(struct pair *pair, struct region *a,
			   struct region *b)
{
	DAT_RETURN ret = pair_open(pair) ?: silent_ep(pair, &pair->a) ?:
			 silent_ep(pair, &pair->b) ?: pair_connect(pair) ?:
			 region_open(pair, pair->a.pz, a, REGION,
				     DAT_MEM_PRIV_ALL_FLAG) ?:
			 region_open(pair, pair->b.pz, b, REGION,
				     DAT_MEM_PRIV_ALL_FLAG);
	size_t i;

	for (i = 0; !ret && i < REGION; i++)
		a->buf[i] = i * 7 + i / 251;
	return ret;
}

FIXTURE_SETUP(post)
{
	ASSERT_DAT(open_all(&self->pair, &self->a, &self->b));
}

FIXTURE_TEARDOWN(post)
{
	pair_close(&self->pair);
}

/* Posts on side a, to or from @there at side b. */
static DAT_RETURN post_iov(struct pair *pair, enum op op, DAT_COUNT num,
			   DAT_LMR_TRIPLET *iov, DAT_RMR_TRIPLET *there,
			   DAT_UINT64 cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	switch (op) {
	case SEND:
		return dat_ep_post_send(pair->a.ep, num, iov, c, flags);
	case RECV:
		return dat_ep_post_recv(pair->a.ep, num, iov, c, flags);
	case WRITE:
		return dat_ep_post_rdma_write(pair->a.ep, num, iov, c, there,
					      flags);
	default:
		return dat_ep_post_rdma_read(pair->a.ep, num, iov, c, there,
					     flags);
	}
}

static DAT_RETURN post(struct pair *pair, enum op op, const struct region *a,
		       size_t offset, const struct region *b, size_t there,
		       size_t len, DAT_UINT64 cookie,
		       DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = segment(a, offset, len);
	DAT_RMR_TRIPLET r = remote(b->rmr_context, b->buf + there, len);

	return post_iov(pair, op, 1, &seg, &r, cookie, flags);
}

static DAT_UINT64 cookie_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

static DAT_DTO_COMPLETION_STATUS status_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.status;
}

static bool all_are(const unsigned char *buf, size_t len, unsigned char byte)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != byte)
			return false;
	return true;
}

TEST_F(post, message_cookie_opaque_not_unique)
{
	static const DAT_UINT64 cookies[] = {
		0, UINT64_MAX, 1ULL << 63, 1, 1, 0,
	};
	unsigned int i, num = ARRAY_LEN(cookies);
	DAT_EVENT event;

	for (i = 0; i < num; i++) {
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, i * 8, 8,
				     cookies[i]));
	}
	for (i = 0; i < num; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, i * 8, 8,
				     cookies[num - 1 - i]));
	}
	for (i = 0; i < num; i++) {
		ASSERT_DAT(wait_event(self->pair.b.dto_evd, &event));
		EXPECT_EQ(cookies[i], cookie_of(&event));
		ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
		EXPECT_EQ(cookies[num - 1 - i], cookie_of(&event));
	}
}

TEST_F(post, short_message_keeps_recv_tail)
{
	DAT_LMR_TRIPLET iov[] = {
		segment(&self->b, 1000, 100), segment(&self->b, 2000, 200),
		segment(&self->b, 3000, 300),
	};
	DAT_DTO_COOKIE c = { .as_64 = 1 };

	memset(self->b.buf, 0x55, REGION);
	ASSERT_DAT(dat_ep_post_recv(self->pair.b.ep, 3, iov, c,
				    DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 150, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 1));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + 1000, 100));
	EXPECT_TRUE(all_are(self->b.buf + 1100, 900, 0x55));
	EXPECT_EQ(0, memcmp(self->a.buf + 100, self->b.buf + 2000, 50));
	EXPECT_TRUE(all_are(self->b.buf + 2050, REGION - 2050, 0x55));
}

TEST_F(post, flushed_requests_not_suppressed)
{
	DAT_EVENT event;
	enum op op;

	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	for (op = 0; op < NUM_OPS; op++) {
		if (op == RECV)
			continue;
		ASSERT_DAT(post(&self->pair, op, &self->a, 0, &self->b, 0, 8,
				op, DAT_COMPLETION_SUPPRESS_FLAG));
		ASSERT_EQ(DAT_SUCCESS,
			  wait_event(self->pair.a.dto_evd, &event)) {
			TH_LOG("%s", op_names[op]);
		}
		EXPECT_EQ(op, cookie_of(&event));
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, status_of(&event));
	}
}

/* Whoever has dequeued it has dequeued all before it, and may reset the EP. */
TEST_F(post, disconnected_ep_marker_completes_last)
{
	/* Nobody receives them; on iWARP that alone ends the connection. */
	unsigned int i, sends = link_is_iwarp() ? 0 : 8;
	DAT_UINT64 next_recv = 0, next_request = 100;
	DAT_EVENT event;

	for (i = 0; i < 8; i++) {
		ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 0, 8, i));
	}
	for (i = 0; i < sends; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, 100 + i));
	}
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(post(&self->pair, RECV, &self->a, 0, &self->b, 0, 8, 8,
			DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(post(&self->pair, WRITE, &self->a, 0, &self->b, 0, 8,
			100 + sends, DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < 8 + sends + 2; i++) {
		ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
		if (cookie_of(&event) < 100) {
			EXPECT_EQ(next_recv++, cookie_of(&event));
		} else {
			EXPECT_EQ(next_request++, cookie_of(&event));
		}
	}
	EXPECT_EQ(9, next_recv);
	EXPECT_EQ(101 + sends, next_request);
}

TEST_F(post, all_requests_share_queue)
{
	enum op op;
	int i;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	/* Nobody receives them. */
	for (i = 0; i < MAX_DTOS; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, i));
	}
	for (op = 0; op < NUM_OPS; op++) {
		EXPECT_EQ(op == RECV ? DAT_SUCCESS :
				       DAT_INSUFFICIENT_RESOURCES,
			  DAT_GET_TYPE(post(&self->pair, op, &self->a, 0,
					    &self->b, 0, 8, 100 + op,
					    DAT_COMPLETION_DEFAULT_FLAG))) {
			TH_LOG("%s", op_names[op]);
		}
	}
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.a.ep));
}

/* The iov alone: its memory is the device's until completion. */
TEST_F(post, iov_reusable_after_post)
{
	DAT_RMR_TRIPLET r = remote(self->b.rmr_context, self->b.buf + 4096,
				   4096);
	static DAT_PROVIDER_ATTR provider;
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	DAT_LMR_TRIPLET seg;
	enum op op;

	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL, 0, NULL,
				DAT_PROVIDER_FIELD_ALL, &provider));
	EXPECT_EQ(DAT_IOV_CONSUMER, provider.iov_ownership_on_return);

	seg = segment(&self->b, 0, 4096);
	ASSERT_DAT(dat_ep_post_recv(self->pair.b.ep, 1, &seg, c,
				    DAT_COMPLETION_DEFAULT_FLAG));
	memset(&seg, 0xff, sizeof(seg));
	for (op = 0; op < NUM_OPS; op++) {
		if (op == RECV)
			continue;
		seg = segment(&self->a, op == READ ? 8192 : 0, 4096);
		ASSERT_DAT(post_iov(&self->pair, op, 1, &seg, &r, op,
				    DAT_COMPLETION_DEFAULT_FLAG));
		memset(&seg, 0xff, sizeof(seg));
		EXPECT_EQ(DAT_DTO_SUCCESS,
			  wait_dto(self->pair.a.dto_evd, op)) {
			TH_LOG("%s", op_names[op]);
		}
	}
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 1));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 4096));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + 4096, 4096));
	EXPECT_EQ(0, memcmp(self->a.buf, self->a.buf + 8192, 4096));
}

TEST_F(post, fenced_write_waits_for_read)
{
	unsigned int i;

	for (i = 1; i <= 50; i++) {
		memset(self->b.buf, i, 4096);
		memset(self->a.buf, 0, 12288);
		ASSERT_DAT(post(&self->pair, READ, &self->a, 0, &self->b, 0,
				4096, 1, DAT_COMPLETION_DEFAULT_FLAG));
		/* From the buffer that the read fills. */
		ASSERT_DAT(post(&self->pair, WRITE, &self->a, 0, &self->b, 8192,
				4096, 2, DAT_COMPLETION_BARRIER_FENCE_FLAG));
		/* On iWARP only that it comes back tells that it went. */
		ASSERT_DAT(post(&self->pair, READ, &self->a, 8192, &self->b,
				8192, 4096, 3, DAT_COMPLETION_DEFAULT_FLAG));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 3));
		ASSERT_TRUE(all_are(self->b.buf + 8192, 4096, i)) {
			TH_LOG("round %u", i);
		}
	}
}

/* The second read is of the memory that the first one fills. */
TEST_F(post, fenced_read_waits_for_read)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = self->a.buf };
	struct region shared = self->a;
	unsigned int i;

	if (link_is_iwarp())
		SKIP(return, "siw takes no fence with a read");
	ASSERT_DAT(dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc,
				  REGION, self->pair.b.pz,
				  DAT_MEM_PRIV_ALL_FLAG, &shared.lmr,
				  &shared.lmr_context, &shared.rmr_context,
				  NULL, NULL));
	for (i = 1; i <= 50; i++) {
		memset(self->b.buf, i, 32768);
		memset(self->a.buf, 0, REGION);
		ASSERT_DAT(post(&self->pair, READ, &self->a, 0, &self->b, 0,
				32768, 1, DAT_COMPLETION_DEFAULT_FLAG));
		ASSERT_DAT(post(&self->pair, READ, &self->a, 32768, &shared, 0,
				32768, 2, DAT_COMPLETION_BARRIER_FENCE_FLAG));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 2));
		ASSERT_TRUE(all_are(self->a.buf + 32768, 32768, i)) {
			TH_LOG("round %u", i);
		}
	}
}

TEST_F(post, read_over_buffer_length_error)
{
	DAT_RMR_TRIPLET r = remote(self->b.rmr_context, self->b.buf, 100);
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 99);

	EXPECT_DAT_TYPE(DAT_LENGTH_ERROR,
			post_iov(&self->pair, READ, 1, &seg, &r, 1,
				 DAT_COMPLETION_DEFAULT_FLAG));
}

TEST_F(post, short_read_keeps_buffer_tail)
{
	DAT_RMR_TRIPLET r = remote(self->b.rmr_context, self->b.buf, 100);
	DAT_LMR_TRIPLET seg[] = {
		segment(&self->a, 0, 70), segment(&self->a, 100, 40),
		segment(&self->a, 200, 50),
	};
	int num = link_is_iwarp() ? 1 : 3;
	DAT_EVENT event;

	if (num == 1)
		seg[0].segment_length = 130;
	memset(self->a.buf, 0x55, 300);
	memset(self->b.buf, 0x66, 200);
	ASSERT_DAT(post_iov(&self->pair, READ, num, seg, &r, 1,
			    DAT_COMPLETION_DEFAULT_FLAG));
	ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  event.event_data.dto_completion_event_data.status);
	EXPECT_EQ(100, event.event_data.dto_completion_event_data
						.transfered_length);
	if (num == 1) {
		EXPECT_TRUE(all_are(self->a.buf, 100, 0x66));
		EXPECT_TRUE(all_are(self->a.buf + 100, 100, 0x55));
		return;
	}
	EXPECT_TRUE(all_are(self->a.buf, 70, 0x66));
	EXPECT_TRUE(all_are(self->a.buf + 70, 30, 0x55));
	EXPECT_TRUE(all_are(self->a.buf + 100, 30, 0x66));
	EXPECT_TRUE(all_are(self->a.buf + 130, 170, 0x55));
}

TEST_F(post, read_other_pz_access_error)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = self->b.buf };
	struct region other = self->b;
	DAT_PZ_HANDLE pz;

	memset(self->a.buf, 0x55, 4096);
	ASSERT_DAT(dat_pz_create(self->pair.ia, &pz));
	ASSERT_DAT(dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc,
				  REGION, pz, DAT_MEM_PRIV_ALL_FLAG, &other.lmr,
				  &other.lmr_context, &other.rmr_context, NULL,
				  NULL));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  read_status(&self->pair, &self->a, other.rmr_context,
			      other.buf, 4096));
	EXPECT_TRUE(all_are(self->a.buf, 4096, 0x55));
}

/* Who waits for a completion, by the kind of what completes. */
FIXTURE(waiter)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_VARIANT(waiter)
{
	enum op op;
};

FIXTURE_VARIANT_ADD(waiter, send)
{
	.op = SEND,
};

FIXTURE_VARIANT_ADD(waiter, recv)
{
	.op = RECV,
};

FIXTURE_VARIANT_ADD(waiter, write)
{
	.op = WRITE,
};

FIXTURE_VARIANT_ADD(waiter, read)
{
	.op = READ,
};

FIXTURE_SETUP(waiter)
{
	ASSERT_DAT(open_all(&self->pair, &self->a, &self->b));
	ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 8, 1));
}

FIXTURE_TEARDOWN(waiter)
{
	pair_close(&self->pair);
}

/* On side a; a receive gets its message. */
static DAT_RETURN post_whole(FIXTURE_DATA(waiter) *self, enum op op,
			     DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret = post(&self->pair, op, &self->a, 0, &self->b, 0, 8, 7,
			      flags);

	if (!ret && op == RECV)
		ret = post_send(self->pair.b.ep, &self->b, 0, 8, 8);
	return ret;
}

TEST_F(waiter, unsignalled_completion_no_wakeup)
{
	struct evd_waiter w = {
		.evd = self->pair.a.dto_evd,
		.timeout = SILENCE,
		.threshold = 1,
	};
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event;
	int i;

	evd_waiter_start(&w);
	ASSERT_DAT(post_whole(self, variant->op,
			      DAT_COMPLETION_UNSIGNALLED_FLAG));
	evd_waiter_end(&w);
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED, w.ret);
	/* It is an event none the less. */
	for (i = 0; i < PAIR_TIMEOUT / 1000; i++) {
		ret = dat_evd_dequeue(self->pair.a.dto_evd, &event);
		if (!ret)
			break;
		usleep(1000);
	}
	ASSERT_DAT(ret);
	EXPECT_EQ(7, cookie_of(&event));
	EXPECT_EQ(DAT_DTO_SUCCESS, status_of(&event));
}

/* Both EPs anew; side b waits for solicited messages, on an EVD of their own. */
static DAT_RETURN solicited_side(struct pair *pair, DAT_EVD_HANDLE *recv_evd)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	/* The last events come before those of the next ones. */
	return dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG) ?:
	       wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED) ?:
	       dat_ep_free(pair->b.ep) ?:
	       dat_ep_free(pair->a.ep) ?:
	       dat_evd_create(pair->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			      recv_evd) ?:
	       dat_ep_create(pair->ia, pair->a.pz, pair->a.dto_evd,
			     pair->a.dto_evd, pair->a.conn_evd, NULL,
			     &pair->a.ep) ?:
	       dat_ep_create(pair->ia, pair->b.pz, *recv_evd,
			     pair->b.dto_evd, pair->b.conn_evd, &attr,
			     &pair->b.ep);
}

TEST_F(post, solicited_wait_unsolicited_no_wakeup)
{
	struct pair *pair = &self->pair;
	struct evd_waiter w = { .timeout = SILENCE, .threshold = 1 };
	DAT_EVENT event;
	int i;

	if (link_is_iwarp())
		SKIP(return, "siw forgets that a message was solicited");
	ASSERT_DAT(solicited_side(pair, &w.evd));
	for (i = 0; i < 2; i++)
		ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 8, i));
	ASSERT_DAT(pair_connect(pair));

	evd_waiter_start(&w);
	ASSERT_DAT(post_send(pair->a.ep, &self->a, 0, 8, 7));
	evd_waiter_end(&w);
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED, w.ret);
	ASSERT_DAT(dat_evd_dequeue(w.evd, &event));
	EXPECT_EQ(0, cookie_of(&event));

	w.timeout = PAIR_TIMEOUT;
	evd_waiter_start(&w);
	ASSERT_DAT(post(pair, SEND, &self->a, 0, &self->b, 0, 8, 8,
			DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	evd_waiter_end(&w);
	ASSERT_DAT(w.ret);
	EXPECT_EQ(1, cookie_of(&w.event));
}

TEST_F(waiter, default_completion_wakes_waiter)
{
	struct evd_waiter w = {
		.evd = self->pair.a.dto_evd,
		.timeout = PAIR_TIMEOUT,
		.threshold = 1,
	};

	evd_waiter_start(&w);
	ASSERT_DAT(post_whole(self, variant->op, DAT_COMPLETION_DEFAULT_FLAG));
	evd_waiter_end(&w);
	ASSERT_DAT(w.ret);
	EXPECT_EQ(7, cookie_of(&w.event));
}

/*
 * Receives whose completions take a while. One softirq polls a few hundred of them, and the
 * kernel leaves the rest for later.
 */
#define MANY	16000

/* An EP with an EVD of its own and MANY receives posted */
static DAT_RETURN ep_of_many(struct pair *pair, const struct region *region,
			     DAT_EVD_HANDLE *evd, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = MANY,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_RETURN ret;
	unsigned int i;

	ret = dat_evd_create(pair->ia, 2 * MANY, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, evd) ?:
	      dat_ep_create(pair->ia, pair->a.pz, *evd, *evd, pair->a.conn_evd, &attr, ep);
	for (i = 0; i < MANY && !ret; i++)
		ret = post_recv(*ep, region, 0, 8, i);
	return ret;
}

/* How many events are flushed receives, in order, without waiting for one */
static unsigned int flushed(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; !dat_evd_dequeue(evd, &event); i++)
		if (cookie_of(&event) != i || status_of(&event) != DAT_DTO_ERR_FLUSHED)
			break;
	return i;
}

TEST_F(post, free_returns_after_flush)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	ASSERT_DAT(ep_of_many(&self->pair, &self->a, &evd, &ep));
	ASSERT_DAT(dat_ep_free(ep));
	EXPECT_EQ(MANY, flushed(evd));
	EXPECT_DAT(dat_evd_free(evd));
}

TEST_F(post, reset_returns_after_flush)
{
	struct pair *pair = &self->pair;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	ASSERT_DAT(ep_of_many(pair, &self->a, &evd, &ep));
	ASSERT_DAT(connect_to(pair, ep, pair->qual));
	ASSERT_DAT(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(dat_ep_reset(ep));
	EXPECT_EQ(MANY, flushed(evd));
	EXPECT_DAT(dat_ep_free(ep));
	EXPECT_DAT(dat_evd_free(evd));
}

/* Posted while the device flushes the others */
#define LATE	32

/*
 * Posts LATE receives once the first of MANY is flushed, or fewer where the device refuses
 * them by then. Counts the events of all by cookie in @seen.
 */
static DAT_RETURN post_into_flush(const struct region *region, DAT_EVD_HANDLE evd,
				  DAT_EP_HANDLE ep, unsigned int *posted,
				  unsigned char *seen)
{
	unsigned int got = 0, wanted = MANY + LATE;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event;

	for (*posted = MANY; got < wanted && !ret; got++) {
		ret = wait_event(evd, &event);
		if (!ret && cookie_of(&event) < MANY + LATE)
			seen[cookie_of(&event)]++;
		while (*posted < wanted && !ret) {
			ret = post_recv(ep, region, 0, 8, *posted);
			if (!ret)
				(*posted)++;
			else if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
				wanted = *posted;
			/* Events are taken before their slots are free. */
			else if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
				break;
			ret = DAT_SUCCESS;
		}
	}
	return ret;
}

TEST_F(post, recvs_posted_during_flush)
{
	static unsigned char seen[MANY + LATE];
	struct pair *pair = &self->pair;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_HANDLE ep, peer;
	DAT_EVD_HANDLE evd;
	DAT_EP_STATE state;
	DAT_CR_HANDLE cr;
	unsigned int i, posted;

	ASSERT_DAT(ep_of_many(pair, &self->a, &evd, &ep));
	ASSERT_DAT(ep_like(pair, &pair->b, &peer));
	ASSERT_DAT(connect_to(pair, ep, pair->qual));
	ASSERT_DAT(next_cr(pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, peer, 0, NULL));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	ASSERT_DAT(dat_ep_disconnect(peer, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(post_into_flush(&self->a, evd, ep, &posted, seen));
	for (i = 0; i < posted; i++) {
		ASSERT_EQ(1, seen[i]) {
			TH_LOG("receive %u", i);
		}
	}
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	EXPECT_EQ(DAT_TRUE, recv_idle);
	/* No slot is lost. */
	ASSERT_DAT(dat_ep_reset(ep));
	for (i = 0; i < MANY; i++) {
		ASSERT_DAT(post_recv(ep, &self->a, 0, 8, i));
	}
	EXPECT_DAT(dat_ep_free(ep));
	EXPECT_DAT(dat_ep_free(peer));
	EXPECT_DAT(dat_evd_free(evd));
}

TEST_HARNESS_MAIN

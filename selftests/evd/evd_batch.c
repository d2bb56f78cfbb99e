// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_batch.c - dat_linux_dequeue(3DAT)
 */
#include <dat/dat_linux.h>
#include <pthread.h>
#include <time.h>

#include "harness.h"

#include "link.h"
#include "pair.h"

#define MANY	40

/* All events of side a, and of connections, come to @evd. */
FIXTURE(evd_batch)
{
	struct pair pair;
	struct region a, b;
	DAT_EVD_HANDLE evd;
	DAT_LINUX_COMPLETION got[MANY];
	DAT_COUNT num;
};

FIXTURE_SETUP(evd_batch)
{
	struct pair *pair = &self->pair;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = MANY,
		.max_request_dtos = MANY,
		.max_rdma_read_out = 1,
	};

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_evd_create(pair->ia, MANY, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
				  DAT_EVD_SOFTWARE_FLAG, &self->evd));
	ASSERT_DAT(dat_ep_free(pair->a.ep));
	ASSERT_DAT(dat_ep_create(pair->ia, pair->a.pz, self->evd, self->evd,
				 pair->a.conn_evd, &attr, &pair->a.ep));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, 4096, DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(evd_batch)
{
	pair_close(&self->pair);
}

static DAT_RETURN take(FIXTURE_DATA(evd_batch) *self, DAT_COUNT max)
{
	return dat_linux_dequeue(self->evd, max, self->got, &self->num);
}

/* Takes so many completions, some at a time, into @got. */
static DAT_RETURN take_all(FIXTURE_DATA(evd_batch) *self, DAT_COUNT want)
{
	DAT_LINUX_COMPLETION some[7];
	time_t end = time(NULL) + 20;
	DAT_COUNT have = 0, num, i;
	DAT_RETURN ret;

	while (have < want && time(NULL) < end) {
		ret = dat_linux_dequeue(self->evd, want - have < 7 ? want - have : 7, some, &num);
		if (ret && ret != DAT_QUEUE_EMPTY)
			return ret;
		if (num < 0 || num > 7)
			return DAT_ABORT;
		for (i = 0; i < num; i++)
			self->got[have++] = some[i];
	}
	return have == want ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
}

/* RDMA Writes with the cookies from 1 on. */
static DAT_RETURN write_many(FIXTURE_DATA(evd_batch) *self, unsigned int num)
{
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int i;

	for (i = 1; i <= num && !ret; i++)
		ret = post_write(self->pair.a.ep, &self->a, 0, i, self->b.rmr_context,
				 self->b.buf, i);
	return ret;
}

static DAT_RETURN post_software_event(FIXTURE_DATA(evd_batch) *self, void *pointer)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	event.event_data.software_event_data.pointer = pointer;
	return dat_evd_post_se(self->evd, &event);
}

TEST_F(evd_batch, takes_oldest_first)
{
	unsigned int i;

	ASSERT_DAT(write_many(self, MANY));
	ASSERT_DAT(take_all(self, MANY));
	for (i = 0; i < MANY; i++) {
		EXPECT_EQ(i + 1, self->got[i].user_cookie.as_64);
		EXPECT_EQ(DAT_DTO_SUCCESS, self->got[i].status);
		EXPECT_EQ(i + 1, self->got[i].transfered_length);
		EXPECT_EQ(self->pair.a.ep, self->got[i].handle);
	}
	EXPECT_DAT_RET(DAT_QUEUE_EMPTY, take(self, 1));
	EXPECT_EQ(0, self->num);
}

TEST_F(evd_batch, tells_operations)
{
	struct pair *pair = &self->pair;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	ASSERT_DAT(dat_rmr_create(pair->a.pz, &rmr));
	ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 64, 1));
	ASSERT_DAT(post_recv(pair->a.ep, &self->a, 0, 64, 5));
	ASSERT_DAT(post_write(pair->a.ep, &self->a, 0, 8, self->b.rmr_context, self->b.buf, 1));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(DAT_LINUX_RDMA_WRITE, self->got[0].op);
	ASSERT_DAT(post_read(pair->a.ep, &self->a, 0, 8, self->b.rmr_context, self->b.buf, 2));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(DAT_LINUX_RDMA_READ, self->got[0].op);
	ASSERT_DAT(bind_window(rmr, &self->a, 0, 64, DAT_MEM_PRIV_ALL_FLAG, pair->a.ep, 3,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(DAT_LINUX_RMR_BIND, self->got[0].op);
	EXPECT_EQ(rmr, self->got[0].handle);
	ASSERT_DAT(post_send(pair->a.ep, &self->a, 0, 8, 4));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(DAT_LINUX_SEND, self->got[0].op);
	ASSERT_DAT(post_send(pair->b.ep, &self->b, 0, 13, 1));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(DAT_LINUX_RECV, self->got[0].op);
	EXPECT_EQ(5, self->got[0].user_cookie.as_64);
	EXPECT_EQ(13, self->got[0].transfered_length);
}

TEST_F(evd_batch, tells_operations_of_failures)
{
	DAT_COUNT i;

	for (i = 0; i < 3; i++)
		ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 0, 64, i));
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(take_all(self, 3));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(DAT_LINUX_RECV, self->got[i].op);
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, self->got[i].status);
		EXPECT_EQ(i, self->got[i].user_cookie.as_64);
	}
}

/* One DTO of @pair->b; side a has the completion. */
static DAT_RETURN post_immed(FIXTURE_DATA(evd_batch) *self, DAT_LINUX_OP op, size_t len,
			     DAT_UINT32 data)
{
	DAT_LMR_TRIPLET seg = segment(&self->b, 0, len);
	DAT_LINUX_DTO dto = {
		.op = op,
		.handle = self->pair.b.ep,
		.num_segments = 1,
		.local_iov = &seg,
		.remote_buffer = remote(self->a.rmr_context, self->a.buf + 256, len),
		.rmr_context = data,
		.completion_flags = DAT_COMPLETION_SUPPRESS_FLAG,
	};
	DAT_COUNT posted;

	return dat_linux_post(1, &dto, &posted);
}

TEST_F(evd_batch, immediate_data)
{
	DAT_EP_HANDLE ep = self->pair.a.ep;
	DAT_EVENT event;

	if (link_is_iwarp()) {
		EXPECT_DAT_RET(ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE),
			       post_immed(self, DAT_LINUX_SEND_IMMED, 8, 1));
		EXPECT_DAT_RET(ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE),
			       post_immed(self, DAT_LINUX_RDMA_WRITE_IMMED, 8, 1));
		return;
	}
	memset(self->b.buf, 7, 32);
	ASSERT_DAT(post_recv(ep, &self->a, 0, 64, 1));
	ASSERT_DAT(post_immed(self, DAT_LINUX_SEND_IMMED, 13, 0x12345678));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(DAT_LINUX_RECV_SEND_IMMED, self->got[0].op);
	EXPECT_EQ(0x12345678, self->got[0].immediate_data);
	EXPECT_EQ(13, self->got[0].transfered_length);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 13));

	ASSERT_DAT(post_recv(ep, &self->a, 0, 64, 2));
	ASSERT_DAT(post_immed(self, DAT_LINUX_RDMA_WRITE_IMMED, 32, 0xfedcba98));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(DAT_LINUX_RECV_WRITE_IMMED, self->got[0].op);
	EXPECT_EQ(0xfedcba98, self->got[0].immediate_data);
	EXPECT_EQ(2, self->got[0].user_cookie.as_64);
	EXPECT_EQ(32, self->got[0].transfered_length);
	EXPECT_EQ(0, memcmp(self->a.buf + 256, self->b.buf, 32));

	/* DAT 1.2 has no such event: the receive is a plain one. */
	ASSERT_DAT(post_recv(ep, &self->a, 0, 64, 3));
	ASSERT_DAT(post_immed(self, DAT_LINUX_SEND_IMMED, 13, 1));
	ASSERT_DAT(wait_event(self->evd, &event));
	EXPECT_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	EXPECT_EQ(13, event.event_data.dto_completion_event_data.transfered_length);
}

/* The operations of completions alone cannot be posted. */
TEST_F(evd_batch, immediate_receives_are_not_posted)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       post_immed(self, DAT_LINUX_RECV_SEND_IMMED, 8, 1));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       post_immed(self, DAT_LINUX_RECV_WRITE_IMMED, 8, 1));
}

TEST_F(evd_batch, other_events_stay)
{
	DAT_EVENT event;

	ASSERT_DAT(post_software_event(self, self));
	ASSERT_DAT(take(self, MANY));
	EXPECT_EQ(0, self->num);
	ASSERT_DAT(take(self, MANY));
	EXPECT_EQ(0, self->num);
	ASSERT_DAT(dat_evd_dequeue(self->evd, &event));
	EXPECT_EQ(self, event.event_data.software_event_data.pointer);
	EXPECT_DAT_RET(DAT_QUEUE_EMPTY, take(self, MANY));

	ASSERT_DAT(write_many(self, 1));
	ASSERT_DAT(take_all(self, 1));
	EXPECT_EQ(1, self->got[0].user_cookie.as_64);
}

TEST_F(evd_batch, bad_args)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		       dat_linux_dequeue(self->pair.ia, 1, self->got, &self->num));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		       dat_linux_dequeue(DAT_HANDLE_NULL, 1, self->got, &self->num));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), take(self, 0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), take(self, -1));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_linux_dequeue(self->evd, 1, NULL, &self->num));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_linux_dequeue(self->evd, 1, self->got, NULL));
}

static void *wait_thread(void *arg)
{
	FIXTURE_DATA(evd_batch) *self = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	dat_evd_wait(self->evd, PAIR_TIMEOUT, 1, &event, &more);
	return NULL;
}

TEST_F(evd_batch, waiter_keeps_others_out)
{
	DAT_RETURN waiting = ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	pthread_t thread;
	DAT_RETURN ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_thread, self));
	do
		ret = take(self, 1);
	while (ret == DAT_QUEUE_EMPTY);
	EXPECT_DAT_RET(waiting, ret);
	EXPECT_DAT(post_software_event(self, NULL));
	pthread_join(thread, NULL);
	EXPECT_DAT_RET(DAT_QUEUE_EMPTY, take(self, 1));
}

TEST_HARNESS_MAIN

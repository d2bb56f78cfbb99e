// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uring.c - dat_linux_prep_post(3DAT), dat_linux_prep_wait(3DAT): requests of io_uring
 *
 * Other programs test posts and waits, and run.sh runs them over io_uring too
 * (uring/PROGRAM). This program tests what only requests have: rings, cancelling, ends.
 */
#include "harness.h"

#include <dat/dat_linux.h>
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

#include <linux/dat.h>

#include "counts.h"
#include "pair.h"

#define REGION		(512 << 10)
#define RW		(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define INTERRUPTED	ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE)

/* More than the queue of an EP, so that the next request finds it full or drained */
#define ENTRIES		128

FIXTURE(uring)
{
	struct pair pair;
	struct region a, b;
	struct io_uring ring;
};

FIXTURE_SETUP(uring)
{
	int i;

	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	for (i = 0; i < REGION; i++)
		self->a.buf[i] = i * 7 + i / 251;
	ASSERT_EQ(0, io_uring_queue_init(ENTRIES, &self->ring, 0));
}

FIXTURE_TEARDOWN(uring)
{
	if (self->ring.ring_fd)
		io_uring_queue_exit(&self->ring);
	pair_close(&self->pair);
}

/* An RDMA Write of 8 bytes at @offset */
static DAT_LINUX_DTO write_dto(FIXTURE_DATA(uring) *self, DAT_LMR_TRIPLET *iov, size_t offset,
			       uint64_t cookie)
{
	*iov = segment(&self->a, offset, 8);
	return (DAT_LINUX_DTO){
		.op = DAT_LINUX_RDMA_WRITE,
		.handle = self->pair.a.ep,
		.num_segments = 1,
		.local_iov = iov,
		.user_cookie.as_64 = cookie,
		.remote_buffer = remote(self->b.rmr_context, self->b.buf + offset, 8),
	};
}

/* The result of the next completion; *data is what identifies it. */
static int next_result(struct io_uring *ring, DAT_UINT64 *data)
{
	struct __kernel_timespec limit = { .tv_sec = PAIR_TIMEOUT / 1000000 };
	struct io_uring_cqe *cqe;
	int result = io_uring_wait_cqe_timeout(ring, &cqe, &limit);

	if (result)
		return result;
	result = cqe->res;
	*data = cqe->user_data;
	io_uring_cqe_seen(ring, cqe);
	return result;
}

/* Submits one request and waits for its result. */
static int run(struct io_uring *ring, const DAT_LINUX_REQUEST *request)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	DAT_UINT64 data;

	dat_linux_prep(sqe, request);
	if (io_uring_submit(ring) != 1)
		return -EIO;
	return next_result(ring, &data);
}

static DAT_RETURN take(DAT_EVD_HANDLE evd, uint64_t cookie)
{
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(evd, &event);

	if (ret)
		return ret;
	return event.event_data.dto_completion_event_data.user_cookie.as_64 == cookie ?
		       DAT_SUCCESS : DAT_INTERNAL_ERROR;
}

/* dat_linux_prep() has no header of the kernel. */
TEST(entry_is_that_of_the_kernel)
{
	DAT_LINUX_REQUEST request = { .fd = 7, .op = DAT_DEV_POST };
	struct dat_dev_uring *payload;
	struct io_uring_sqe sqe;

	memset(&sqe, 0xff, sizeof(sqe));
	dat_linux_prep(&sqe, &request);
	EXPECT_EQ(IORING_OP_URING_CMD, sqe.opcode);
	EXPECT_EQ(7, sqe.fd);
	EXPECT_EQ(DAT_DEV_POST, sqe.cmd_op);
	EXPECT_EQ(0, sqe.flags);
	EXPECT_EQ(0, sqe.user_data);
	EXPECT_EQ(0, sqe.ioprio);
	EXPECT_EQ(0, sqe.rw_flags);
	payload = (void *)sqe.cmd;
	EXPECT_EQ(ADDR(request.space), payload->argument);
	EXPECT_EQ(0, payload->__reserved);
}

TEST_F(uring, post_and_wait_in_one_submission)
{
	DAT_LINUX_REQUEST post, wait;
	DAT_LMR_TRIPLET iov;
	DAT_LINUX_DTO dto = write_dto(self, &iov, 64, 5);
	struct io_uring_sqe *sqe;
	DAT_COUNT posted = 0;
	DAT_UINT64 data;
	int i, result;

	sqe = io_uring_get_sqe(&self->ring);
	ASSERT_DAT(dat_linux_prep_wait(sqe, self->pair.a.dto_evd, PAIR_TIMEOUT, 1, &wait));
	sqe->user_data = 1;
	sqe = io_uring_get_sqe(&self->ring);
	ASSERT_DAT(dat_linux_prep_post(sqe, 1, &dto, &post));
	sqe->user_data = 2;
	ASSERT_EQ(2, io_uring_submit(&self->ring));
	for (i = 0; i < 2; i++) {
		result = next_result(&self->ring, &data);
		ASSERT_EQ(0, result);
		if (data == 1)
			EXPECT_DAT(dat_linux_end_wait(&wait, result, NULL));
		else
			EXPECT_DAT(dat_linux_end_post(&post, result, &posted));
	}
	EXPECT_EQ(1, posted);
	EXPECT_DAT(take(self->pair.a.dto_evd, 5));
	EXPECT_EQ(0, memcmp(self->a.buf + 64, self->b.buf + 64, 8));
}

/* A hundred posts of many EPs, by one system call */
TEST_F(uring, many_posts_of_many_eps)
{
	enum { EPS = 4, POSTS = 100 };
	struct pair other[EPS];
	DAT_LINUX_REQUEST request[POSTS];
	DAT_LMR_TRIPLET iov[POSTS];
	DAT_LINUX_DTO dto[POSTS];
	DAT_COUNT posted;
	DAT_UINT64 data;
	int i;

	for (i = 0; i < EPS; i++) {
		other[i] = self->pair;
		ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &other[i].a.ep));
		ASSERT_DAT(ep_like(&self->pair, &self->pair.b, &other[i].b.ep));
		ASSERT_DAT(pair_connect(&other[i]));
	}
	for (i = 0; i < POSTS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

		dto[i] = write_dto(self, &iov[i], i * 8, i);
		dto[i].handle = other[i % EPS].a.ep;
		/* The queue of an EP holds fewer: only failures have events. */
		dto[i].completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
		ASSERT_DAT(dat_linux_prep_post(sqe, 1, &dto[i], &request[i]));
		sqe->user_data = i;
	}
	ASSERT_EQ(POSTS, io_uring_submit(&self->ring));
	for (i = 0; i < POSTS; i++) {
		int result = next_result(&self->ring, &data);
		DAT_RETURN ret;

		ASSERT_EQ(0, result);
		ASSERT_GT(POSTS, data);
		ret = dat_linux_end_post(&request[data], result, &posted);
		/* Full queues drain by themselves. */
		while (ret == ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP))
			ret = dat_linux_post(1, &dto[data], &posted);
		EXPECT_DAT(ret);
		EXPECT_EQ(1, posted);
	}
	for (i = 0; i < EPS; i++) {
		ASSERT_DAT(post_write(other[i].a.ep, &self->a, 0, 8, self->b.rmr_context,
				      self->b.buf, 200 + i));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 200 + i));
	}
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, POSTS * 8));
}

/* The thread of the ring posts; the program makes no system call. */
TEST_F(uring, sqpoll_posts)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = 60 * 1000,
	};
	DAT_LINUX_REQUEST request;
	struct io_uring ring;
	DAT_LMR_TRIPLET iov;
	DAT_LINUX_DTO dto;
	DAT_COUNT posted;
	DAT_UINT64 data;
	int i, result;

	ASSERT_EQ(0, io_uring_queue_init_params(8, &ring, &params));
	for (i = 0; i < 50; i++) {
		dto = write_dto(self, &iov, i * 8, i);
		ASSERT_DAT(dat_linux_prep_post(io_uring_get_sqe(&ring), 1, &dto, &request));
		/* The thread may not yet have said that it took the previous one. */
		ASSERT_LE(1, io_uring_submit(&ring));
		result = next_result(&ring, &data);
		ASSERT_EQ(0, result);
		ASSERT_DAT(dat_linux_end_post(&request, result, &posted));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, i));
	}
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 50 * 8));
	io_uring_queue_exit(&ring);
}

/* A request that has completed can be submitted again. */
TEST_F(uring, request_used_again)
{
	DAT_LINUX_REQUEST request;
	DAT_LMR_TRIPLET iov[2];
	DAT_LINUX_DTO dto[2];
	DAT_COUNT posted;
	int i, result = 0;

	dto[0] = write_dto(self, &iov[0], 0, 1);
	dto[1] = write_dto(self, &iov[1], 8, 2);
	ASSERT_DAT(dat_linux_begin_post(2, dto, &request));
	for (i = 0; i < 100; i++) {
		result = run(&self->ring, &request);
		ASSERT_EQ(0, result);
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 2));
	}
	EXPECT_DAT(dat_linux_end_post(&request, result, &posted));
	EXPECT_EQ(2, posted);
}

TEST_F(uring, first_failure_ends_post)
{
	DAT_LINUX_REQUEST request;
	DAT_LMR_TRIPLET iov[4];
	DAT_LINUX_DTO dto[4];
	DAT_COUNT posted = 9;
	int i;

	for (i = 0; i < 4; i++)
		dto[i] = write_dto(self, &iov[i], i * 8, i);
	dto[2].handle = self->pair.a.dto_evd;
	ASSERT_DAT(dat_linux_begin_post(4, dto, &request));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_linux_end_post(&request, run(&self->ring, &request), &posted));
	EXPECT_EQ(2, posted);
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
	EXPECT_TRUE(is_empty(self->pair.a.dto_evd));
}

TEST_F(uring, bad_arguments)
{
	DAT_LINUX_REQUEST request;
	DAT_LMR_TRIPLET iov;
	DAT_LINUX_DTO dto = write_dto(self, &iov, 0, 1);
	DAT_COUNT posted = 7;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_linux_begin_post(-1, &dto, &request));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_linux_begin_post(1, NULL, &request));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_linux_begin_post(1, &dto, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_linux_begin_wait(self->pair.a.dto_evd, 0, 1, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_linux_begin_wait(self->pair.a.dto_evd, 0, 0, &request));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		       dat_linux_begin_wait(self->pair.a.ep, 0, 1, &request));
	dto.num_segments = -1;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_linux_begin_post(1, &dto, &request));
	/* A bad segment among many DTOs: nothing remains to be freed. */
	dto.num_segments = 1;
	if (sizeof(iov.segment_length) > 4) {
		DAT_LINUX_DTO many[2] = { dto, dto };

		iov.segment_length = 1ULL << 32;
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_linux_begin_post(2, many, &request));
		EXPECT_DAT_RET(INTERRUPTED, dat_linux_end_post(&request, -ECANCELED, &posted));
		iov.segment_length = 8;
	}
	/* Begun and not submitted: its memory is freed. */
	ASSERT_DAT(dat_linux_begin_post(1, &dto, &request));
	EXPECT_DAT_RET(INTERRUPTED, dat_linux_end_post(&request, -ECANCELED, &posted));
	EXPECT_EQ(0, posted);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_linux_end_post(&request, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE),
		       dat_linux_end_wait(&request, -EOPNOTSUPP, NULL));
}

/* Nothing but posts and waits, in the form of <linux/dat.h> */
TEST_F(uring, other_requests_refused)
{
	struct dat_dev_evd_query query = { .size = sizeof(query) };
	struct dat_dev_post post = { .size = sizeof(post), .dto_size = sizeof(struct dat_dev_dto) };
	const struct {
		unsigned int cmd;
		DAT_UINT64 argument, reserved;
		int result;
	} bad[] = {
		{ DAT_DEV_EVD_QUERY, ADDR(&query), 0, -EOPNOTSUPP },
		{ DAT_DEV_LMR_CREATE, ADDR(&query), 0, -EOPNOTSUPP },
		{ DAT_DEV_IA_CLOSE, ADDR(&query), 0, -EOPNOTSUPP },
		{ 0, ADDR(&query), 0, -EOPNOTSUPP },
		{ ~0U, ADDR(&query), 0, -EOPNOTSUPP },
		{ DAT_DEV_POST, ADDR(&post), 1, -EOPNOTSUPP },
		{ DAT_DEV_EVD_WAIT, ADDR(&post), 1, -EOPNOTSUPP },
		{ DAT_DEV_POST, 0, 0, -EFAULT },
		{ DAT_DEV_POST, UINT64_MAX - 7, 0, -EFAULT },
		{ DAT_DEV_EVD_WAIT, 8, 0, -EFAULT },
		{ DAT_DEV_POST, ADDR(&post), 0, 0 },
	};
	DAT_UINT64 data;
	size_t i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
		struct dat_dev_uring *payload = (void *)sqe->cmd;

		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = IORING_OP_URING_CMD;
		sqe->fd = library_fd();
		sqe->cmd_op = bad[i].cmd;
		payload->argument = bad[i].argument;
		payload->__reserved = bad[i].reserved;
		ASSERT_EQ(1, io_uring_submit(&self->ring));
		EXPECT_EQ(bad[i].result, next_result(&self->ring, &data))
			TH_LOG("entry %zu", i);
	}
}

/* Requests are submitted from a full ring whose MRs need renewing, see dat_rmr_bind(3DAT). */
TEST_F(uring, many_binds)
{
	DAT_LINUX_REQUEST request;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_TRIPLET iov;
	DAT_COUNT posted;
	int i;

	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &rmr));
	for (i = 0; i < 600; i++) {
		DAT_LINUX_DTO dto = {
			.op = DAT_LINUX_RMR_BIND,
			.handle = self->pair.b.ep,
			.num_segments = 1,
			.local_iov = &iov,
			.user_cookie.as_64 = i,
			.rmr_handle = rmr,
			.mem_privileges = RW,
		};

		iov = segment(&self->b, 0, i < 300 ? 4096 : REGION);
		ASSERT_DAT(dat_linux_begin_post(1, &dto, &request));
		ASSERT_DAT(dat_linux_end_post(&request, run(&self->ring, &request), &posted));
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.b.dto_evd, i));
		if (i % 100 == 99) {
			ASSERT_EQ(DAT_DTO_SUCCESS,
				  write_status(&self->pair, &self->a, dto.rmr_context,
					       self->b.buf, iov.segment_length));
		}
	}
	EXPECT_DAT(dat_rmr_free(rmr));
}

/* Begins a wait that nothing ends by itself. */
static DAT_RETURN begin_wait(FIXTURE_DATA(uring) *self, DAT_LINUX_REQUEST *request)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);
	DAT_RETURN ret;

	ret = dat_linux_prep_wait(sqe, self->pair.a.dto_evd, DAT_TIMEOUT_INFINITE, 1, request);
	if (ret)
		return ret;
	sqe->user_data = 1;
	return io_uring_submit(&self->ring) == 1 ? DAT_SUCCESS : DAT_INTERNAL_ERROR;
}

/* Until a wait is in the kernel, a second one is accepted. */
static bool wait_until_waiting(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	do
		ret = dat_evd_dequeue(evd, &event);
	while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	return ret == ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
}

TEST_F(uring, wait_cancelled)
{
	DAT_LINUX_REQUEST request;
	struct io_uring_sqe *sqe;
	DAT_UINT64 data = 0;
	int result = 0, i;

	ASSERT_DAT(begin_wait(self, &request));
	ASSERT_TRUE(wait_until_waiting(self->pair.a.dto_evd));
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	sqe->user_data = 2;
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	for (i = 0; i < 2; i++) {
		int r = next_result(&self->ring, &data);

		if (data == 1)
			result = r;
		else
			EXPECT_TRUE(r == 0 || r == -EALREADY);
	}
	EXPECT_DAT_RET(INTERRUPTED, dat_linux_end_wait(&request, result, NULL));
	/* The EVD has no waiter any more. */
	ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 8, self->b.rmr_context,
			      self->b.buf, 3));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 3));
}

TEST_F(uring, second_wait_refused)
{
	DAT_LINUX_REQUEST first, second;
	DAT_UINT64 data;

	ASSERT_DAT(dat_linux_begin_wait(self->pair.a.dto_evd, DAT_TIMEOUT_INFINITE, 1, &second));
	ASSERT_DAT(begin_wait(self, &first));
	ASSERT_TRUE(wait_until_waiting(self->pair.a.dto_evd));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
		       dat_linux_end_wait(&second, run(&self->ring, &second), NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
		       dat_linux_begin_wait(self->pair.a.dto_evd, 0, 1, &second));
	ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 8, self->b.rmr_context,
			      self->b.buf, 3));
	EXPECT_DAT(dat_linux_end_wait(&first, next_result(&self->ring, &data), NULL));
	EXPECT_DAT(take(self->pair.a.dto_evd, 3));
}

TEST_F(uring, wait_expires)
{
	DAT_LINUX_REQUEST request;

	ASSERT_DAT(dat_linux_begin_wait(self->pair.a.dto_evd, 1000, 1, &request));
	EXPECT_DAT_RET(ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE),
		       dat_linux_end_wait(&request, run(&self->ring, &request), NULL));
}

TEST_F(uring, closed_ia_ends_wait)
{
	DAT_LINUX_REQUEST request;
	DAT_UINT64 data;

	ASSERT_DAT(begin_wait(self, &request));
	ASSERT_TRUE(wait_until_waiting(self->pair.a.dto_evd));
	ASSERT_DAT(dat_ia_close(self->pair.ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT_RET(ERROR(DAT_ABORT, DAT_NO_SUBTYPE),
		       dat_linux_end_wait(&request, next_result(&self->ring, &data), NULL));
	ASSERT_DAT(pair_open_connected(&self->pair));
}

TEST_F(uring, closed_ring_ends_wait)
{
	DAT_LINUX_REQUEST request;

	ASSERT_DAT(begin_wait(self, &request));
	ASSERT_TRUE(wait_until_waiting(self->pair.a.dto_evd));
	io_uring_queue_exit(&self->ring);
	self->ring.ring_fd = 0;
	/* The ring is taken apart in the background. */
	ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 8, self->b.rmr_context,
			      self->b.buf, 3));
	for (;;) {
		DAT_RETURN ret = take(self->pair.a.dto_evd, 3);

		if (!ret)
			break;
		ASSERT_TRUE(DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ||
			    ret == ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER));
	}
	ASSERT_EQ(0, io_uring_queue_init(ENTRIES, &self->ring, 0));
}

TEST_F(uring, cno_wait)
{
	DAT_EVD_HANDLE evd, triggered;
	DAT_LINUX_REQUEST request;
	struct io_uring_sqe *sqe;
	DAT_CNO_HANDLE cno;
	DAT_EVENT event = {};
	DAT_UINT64 data;

	ASSERT_DAT(dat_cno_create(self->pair.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	ASSERT_DAT(dat_evd_create(self->pair.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	sqe = io_uring_get_sqe(&self->ring);
	ASSERT_DAT(dat_linux_prep_wait(sqe, cno, PAIR_TIMEOUT, 0, &request));
	ASSERT_EQ(1, io_uring_submit(&self->ring));
	event.event_number = DAT_SOFTWARE_EVENT;
	ASSERT_DAT(dat_evd_post_se(evd, &event));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_linux_end_wait(&request, 0, NULL));
	ASSERT_DAT(dat_linux_end_wait(&request, next_result(&self->ring, &data), &triggered));
	EXPECT_EQ(evd, triggered);
	EXPECT_DAT(dat_evd_dequeue(evd, &event));
	EXPECT_DAT(dat_evd_free(evd));
	EXPECT_DAT(dat_cno_free(cno));
}

/* In a child: waits for ever, tells the parent, and posts until it dies. */
static void post_until_killed(int told)
{
	FIXTURE_DATA(uring) self;
	DAT_LINUX_REQUEST wait, post;
	DAT_LMR_TRIPLET iov;
	DAT_LINUX_DTO dto;

	if (pair_open_connected(&self.pair) ||
	    regions_open(&self.pair, &self.a, &self.b, REGION, DAT_MEM_PRIV_ALL_FLAG) ||
	    io_uring_queue_init(ENTRIES, &self.ring, 0) ||
	    dat_linux_prep_wait(io_uring_get_sqe(&self.ring), self.pair.b.dto_evd,
				DAT_TIMEOUT_INFINITE, 1, &wait) ||
	    io_uring_submit(&self.ring) != 1 || write(told, "", 1) != 1)
		_exit(1);
	dto = write_dto(&self, &iov, 0, 1);
	dto.completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	if (dat_linux_begin_post(1, &dto, &post))
		_exit(1);
	for (;;)
		run(&self.ring, &post);
}

/* A process dies with requests in flight, and its objects with it. */
TEST(killed_with_requests)
{
	int i, told[2], status;
	char byte;
	pid_t pid;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, pipe(told));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			post_until_killed(told[1]);
		close(told[1]);
		ASSERT_EQ(1, read(told[0], &byte, 1));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		close(told[0]);
	}
}

TEST_HARNESS_MAIN

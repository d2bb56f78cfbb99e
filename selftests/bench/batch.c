// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * batch.c - what the calls of <dat/dat_linux.h> cost: RDMA Writes posted by dat_linux_post() and
 * by io_uring, and a ping-pong of dat_linux_post_wait()
 *
 * Prints lines as bench.c does, whose case u-batch-64-x32 is the same work with what DAT has
 * words for: on libdaplofa, which knows no other.
 */
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dat/dat_linux.h>

#include "pair.h"

#define MANY		32
#define LEN		64
#define COUNT		50
/* Calls of one function by measure() */
#define ROUNDS		(COUNT / 10 + COUNT)
#define REGION		4096

static struct pair pair;
static struct region from, to;
/* The case that runs, for messages */
static const char *current = "setup";

static void must(DAT_RETURN ret, const char *what)
{
	if (ret == DAT_SUCCESS)
		return;
	fprintf(stderr, "batch: %s: %s: %s\n", current, what, dat_str(ret));
	exit(1);
}

static struct io_uring ring;

static DAT_LINUX_DTO write_dto(DAT_LMR_TRIPLET *iov, DAT_COMPLETION_FLAGS flags)
{
	return (DAT_LINUX_DTO){
		.op = DAT_LINUX_RDMA_WRITE,
		.handle = pair.a.ep,
		.num_segments = 1,
		.local_iov = iov,
		.remote_buffer = remote(to.rmr_context, to.buf, LEN),
		.completion_flags = flags,
	};
}

static void prepare(DAT_LMR_TRIPLET *iov, DAT_LINUX_DTO *dtos)
{
	int i;

	*iov = segment(&from, 0, LEN);
	for (i = 0; i < MANY; i++)
		dtos[i] = write_dto(iov, i < MANY - 1 ? DAT_COMPLETION_SUPPRESS_FLAG :
							DAT_COMPLETION_DEFAULT_FLAG);
}

static void take_event(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(pair.a.dto_evd, &event) != DAT_SUCCESS)
		;
	must(event.event_data.dto_completion_event_data.status ?
		     DAT_INTERNAL_ERROR : DAT_SUCCESS, "an RDMA write");
}

static void write_batch(void)
{
	DAT_LINUX_DTO dtos[MANY];
	DAT_LMR_TRIPLET iov;
	DAT_COUNT posted;

	prepare(&iov, dtos);
	must(dat_linux_post(MANY, dtos, &posted), "dat_linux_post");
	take_event();
}

static void end_post(DAT_LINUX_REQUEST *requests)
{
	struct io_uring_cqe *cqe;
	DAT_COUNT posted;

	while (io_uring_peek_cqe(&ring, &cqe))
		;
	must(dat_linux_end_post(&requests[cqe->user_data], cqe->res, &posted),
	     "a request of io_uring");
	io_uring_cqe_seen(&ring, cqe);
}

/* As many requests, as of many EPs, with one system call */
static void write_requests(void)
{
	DAT_LINUX_REQUEST requests[MANY];
	DAT_LINUX_DTO dtos[MANY];
	DAT_LMR_TRIPLET iov;
	int i;

	prepare(&iov, dtos);
	for (i = 0; i < MANY; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		must(dat_linux_prep_post(sqe, 1, &dtos[i], &requests[i]), "dat_linux_prep_post");
		sqe->user_data = i;
	}
	io_uring_submit(&ring);
	for (i = 0; i < MANY; i++)
		end_post(requests);
	take_event();
}

/* One write, which the thread of the ring posts */
static void write_polled(void)
{
	DAT_LMR_TRIPLET iov = segment(&from, 0, LEN);
	DAT_LINUX_DTO dto = write_dto(&iov, DAT_COMPLETION_DEFAULT_FLAG);
	DAT_LINUX_REQUEST request;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	must(dat_linux_prep_post(sqe, 1, &dto, &request), "dat_linux_prep_post");
	io_uring_submit(&ring);
	end_post(&request);
	take_event();
}

/* One call posts the answer and the receive for the next message, and waits for that. */
static void answer_and_wait(struct side *side, struct region *region)
{
	DAT_LMR_TRIPLET iov = segment(region, 0, LEN);
	DAT_LINUX_DTO dtos[2] = {
		{ .op = DAT_LINUX_RECV, .handle = side->ep, .num_segments = 1, .local_iov = &iov },
		{ .op = DAT_LINUX_SEND, .handle = side->ep, .num_segments = 1, .local_iov = &iov,
		  .completion_flags = DAT_COMPLETION_SUPPRESS_FLAG },
	};
	DAT_COUNT posted, nmore;
	DAT_EVENT event;
	DAT_RETURN ret;

	ret = dat_linux_post_wait(2, dtos, &posted, side->dto_evd, DAT_TIMEOUT_INFINITE, 1, &event,
				  &nmore);
	/* io_uring still frees the ring of the case before, which interrupts a wait. */
	if (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL && posted == 2)
		ret = dat_evd_wait(side->dto_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	must(ret, "dat_linux_post_wait");
}

static void pingpong_wait(void)
{
	answer_and_wait(&pair.a, &from);
}

/* No request completes without notification, so a wait need not look for such completions. */
static void notify_always(struct side *side)
{
	DAT_EP_PARAM param;

	must(dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &param), "dat_ep_query");
	param.ep_attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	must(dat_ep_free(side->ep), "dat_ep_free");
	must(dat_ep_create(pair.ia, side->pz, side->dto_evd, side->dto_evd, side->conn_evd,
			   &param.ep_attr, &side->ep), "dat_ep_create");
}

/* The peer of pingpong_wait(), which measure() calls so often */
static void *answer(void *arg)
{
	DAT_EVENT event;
	int i;

	must(wait_event(pair.b.dto_evd, &event), "dat_evd_wait");
	for (i = 1; i < ROUNDS; i++)
		answer_and_wait(&pair.b, &to);
	must(post_send(pair.b.ep, &to, 0, LEN, 0), "dat_ep_post_send");
	return arg;
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void measure(const char *name, void (*one)(void), int writes)
{
	unsigned long long start;
	int i;

	current = name;
	for (i = 0; i < COUNT / 10; i++)
		one();
	start = now();
	for (i = 0; i < COUNT; i++)
		one();
	printf("%s %llu\n", name, (now() - start) / COUNT / writes);
	fflush(stdout);
}

static void make_ring(unsigned int flags)
{
	struct io_uring_params params = { .flags = flags, .sq_thread_idle = 10000 };
	int err = io_uring_queue_init_params(MANY, &ring, &params);

	if (err) {
		fprintf(stderr, "batch: io_uring: %s\n", strerror(-err));
		exit(1);
	}
}

int main(void)
{
	pthread_t answerer;

	must(pair_open(&pair), "dat_ia_open");
	must(region_open(&pair, pair.a.pz, &from, REGION,
			 DAT_MEM_PRIV_ALL_FLAG), "dat_lmr_create");
	must(region_open(&pair, pair.b.pz, &to, REGION,
			 DAT_MEM_PRIV_ALL_FLAG), "dat_lmr_create");
	notify_always(&pair.a);
	notify_always(&pair.b);
	must(pair_connect(&pair), "a connection");
	measure("u-batch-64-x32", write_batch, MANY);
	make_ring(0);
	measure("u-uring-64-x32", write_requests, MANY);
	io_uring_queue_exit(&ring);
	/* On one processor the thread of the ring and the program wait for each other. */
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		make_ring(IORING_SETUP_SQPOLL);
		measure("u-uring-sqpoll-64", write_polled, 1);
		io_uring_queue_exit(&ring);
	} else {
		printf("u-uring-sqpoll-64 -\n");
	}
	must(post_recv(pair.a.ep, &from, 0, LEN, 0), "dat_ep_post_recv");
	must(post_recv(pair.b.ep, &to, 0, LEN, 0), "dat_ep_post_recv");
	if (pthread_create(&answerer, NULL, answer, NULL))
		return 1;
	measure("u-pingpong-wait-64", pingpong_wait, 1);
	pthread_join(answerer, NULL);
	pair_close(&pair);
	return 0;
}

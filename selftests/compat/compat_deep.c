// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * compat_deep.c - a network benchmark: as many DTOs in flight as the adapter allows, or 20,000
 *
 * Stands for benchmarks of DAT 1.2. Such a program reads the limits with dat_ia_query() and
 * creates EPs with deep queues. The receiver posts all receives, the sender posts all Sends,
 * and only then do both reap completions. The program uses <dat/udat.h> alone; the test at the
 * end runs it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>

/* Each function returns 0, or 1 after it has printed what failed. */
#define COMPAT_FAILED	return 1
#include "compat.h"

#define DEPTH		20000
#define MIN_DEPTH	64
#define SIZE		32
#define FIRST_QUAL	7100

/* In microseconds. Only a program that hangs waits as long as that. */
#define HANG		(300 * 1000000U)

struct bench {
	DAT_IA_HANDLE ia;
	DAT_IA_ADDRESS_PTR address;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, recv_evd, request_evd, conn_evd, cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	unsigned char *buf;
	/* DTOs: the limit of the adapter, the queues of this side, the messages of a run */
	DAT_COUNT limit, created, depth;
};

/* The private data of request and answer */
struct greeting {
	DAT_UINT32 depth;
};

#define DO(step)	REQUIRE(!(step))

static int read_limits(struct bench *b)
{
	DAT_IA_ATTR attr;

	CALL(dat_ia_query(b->ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
	b->address = attr.ia_address_ptr;
	b->limit = attr.max_dto_per_ep;
	if (b->limit > attr.max_evd_qlen)
		b->limit = attr.max_evd_qlen;
	REQUIRE(b->limit >= MIN_DEPTH);
	return 0;
}

/* Creates the EP and the EVDs of its completions, or nothing. */
static DAT_RETURN create_ep(struct bench *b, DAT_COUNT depth)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	ret = dat_evd_create(b->ia, depth, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &b->recv_evd);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dat_evd_create(b->ia, depth, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &b->request_evd);
	if (ret != DAT_SUCCESS)
		goto free_recv_evd;
	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_recv_dtos = depth;
	attr.max_request_dtos = depth;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	ret = dat_ep_create(b->ia, b->pz, b->recv_evd, b->request_evd, b->conn_evd, &attr,
			    &b->ep);
	if (ret == DAT_SUCCESS)
		return ret;
	dat_evd_free(b->request_evd);
free_recv_evd:
	dat_evd_free(b->recv_evd);
	return ret;
}

/* @may_shrink: a limit of the administrator may allow less than the adapter does. */
static int open_bench(struct bench *b, const char *ia, int may_shrink)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr_context;
	DAT_EP_PARAM param;
	DAT_VADDR address;
	DAT_RETURN ret;
	DAT_VLEN size;

	memset(b, 0, sizeof(*b));
	CALL(dat_ia_open((DAT_NAME_PTR)ia, 8, &b->async_evd, &b->ia));
	DO(read_limits(b));
	CALL(dat_pz_create(b->ia, &b->pz));
	CALL(dat_evd_create(b->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &b->conn_evd));
	CALL(dat_evd_create(b->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &b->cr_evd));

	b->created = b->limit < DEPTH ? b->limit : DEPTH;
	ret = create_ep(b, b->created);
	while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES && may_shrink &&
	       b->created / 2 >= MIN_DEPTH) {
		b->created /= 2;
		ret = create_ep(b, b->created);
	}
	CALL(ret);
	CALL(dat_ep_query(b->ep, DAT_EP_FIELD_ALL, &param));
	REQUIRE(param.ep_attr.max_recv_dtos >= b->created);
	REQUIRE(param.ep_attr.max_request_dtos >= b->created);

	/* A slot for each message, and one for the confirmation */
	b->buf = calloc(b->created + 1, SIZE);
	REQUIRE(b->buf);
	region.for_va = b->buf;
	CALL(dat_lmr_create(b->ia, DAT_MEM_TYPE_VIRTUAL, region,
			    (DAT_VLEN)(b->created + 1) * SIZE, b->pz,
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &b->lmr, &b->context, &rmr_context,
			    &size, &address));
	return 0;
}

static int close_bench(struct bench *b)
{
	DAT_EVD_HANDLE evds[] = { b->recv_evd, b->request_evd, b->conn_evd, b->cr_evd };
	DAT_EVENT event;
	unsigned int i;

	/* No EVD has overflowed. */
	REQUIRE(dat_evd_dequeue(b->async_evd, &event) == DAT_QUEUE_EMPTY);
	if (b->psp != DAT_HANDLE_NULL)
		CALL(dat_psp_free(b->psp));
	CALL(dat_ep_free(b->ep));
	CALL(dat_lmr_free(b->lmr));
	for (i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
		REQUIRE(dat_evd_dequeue(evds[i], &event) == DAT_QUEUE_EMPTY);
		CALL(dat_evd_free(evds[i]));
	}
	CALL(dat_pz_free(b->pz));
	CALL(dat_ia_close(b->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(b->buf);
	return 0;
}

static int bench_wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT nmore;

	CALL(dat_evd_wait(evd, HANG, 1, event, &nmore));
	REQUIRE(event->event_number == number);
	return 0;
}

/* Each message has its number in each word. */
static void fill(struct bench *b, int number)
{
	DAT_UINT32 words[SIZE / sizeof(DAT_UINT32)];
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = number * 16 + i;
	memcpy(b->buf + number * SIZE, words, SIZE);
}

/* The message with this number has arrived in this slot. */
static int check(struct bench *b, int slot, int number)
{
	DAT_UINT32 words[SIZE / sizeof(DAT_UINT32)];
	unsigned int i;

	memcpy(words, b->buf + slot * SIZE, SIZE);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		REQUIRE(words[i] == number * 16 + i);
	return 0;
}

static int check_completion(struct bench *b, const DAT_EVENT *event, int number)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	REQUIRE(event->event_number == DAT_DTO_COMPLETION_EVENT);
	REQUIRE(dto->status == DAT_DTO_SUCCESS);
	REQUIRE(dto->ep_handle == b->ep);
	REQUIRE(dto->user_cookie.as_64 == (DAT_UINT64)number);
	REQUIRE(dto->transfered_length == SIZE);
	return 0;
}

/* Reaps completions with cookies from @first to @last, in this order. */
static int reap(struct bench *b, DAT_EVD_HANDLE evd, int first, int last)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret;
	int i;

	for (i = first; i <= last; i++) {
		ret = dat_evd_dequeue(evd, &event);
		if (ret == DAT_QUEUE_EMPTY)
			ret = dat_evd_wait(evd, HANG, 1, &event, &nmore);
		CALL(ret);
		DO(check_completion(b, &event, i));
		if (evd == b->recv_evd && i < b->depth)
			DO(check(b, i, i));
	}
	return 0;
}

static int post(struct bench *b, int number, int receive)
{
	DAT_LMR_TRIPLET iov;
	DAT_DTO_COOKIE cookie;

	iov.lmr_context = b->context;
	iov.virtual_address = (DAT_VADDR)(uintptr_t)(b->buf + number * SIZE);
	iov.segment_length = SIZE;
	cookie.as_64 = number;
	if (receive)
		CALL(dat_ep_post_recv(b->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	else
		CALL(dat_ep_post_send(b->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	return 0;
}

/* The receiver listens, and @fd carries the connection qualifier to the sender. */
static int run_receiver(const char *ia, int may_shrink, int fd)
{
	DAT_CONN_QUAL qual = FIRST_QUAL;
	DAT_DTO_COMPLETION_STATUS status;
	struct greeting greeting;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	struct bench b;
	DAT_RETURN ret;
	int i;

	DO(open_bench(&b, ia, may_shrink));
	while ((ret = dat_psp_create(b.ia, qual, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &b.psp)) !=
	       DAT_SUCCESS) {
		REQUIRE(DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE);
		qual++;
	}
	REQUIRE(write(fd, &qual, sizeof(qual)) == sizeof(qual));
	DO(bench_wait(b.cr_evd, DAT_CONNECTION_REQUEST_EVENT, &event));
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	CALL(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	REQUIRE(param.private_data_size >= (DAT_COUNT)sizeof(greeting));
	memcpy(&greeting, param.private_data, sizeof(greeting));
	b.depth = b.created;
	if ((DAT_UINT32)b.depth > greeting.depth)
		b.depth = greeting.depth;

	for (i = 0; i < b.depth; i++)
		DO(post(&b, i, 1));
	greeting.depth = b.depth;
	CALL(dat_cr_accept(cr, b.ep, sizeof(greeting), &greeting));
	DO(bench_wait(b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event));
	DO(reap(&b, b.recv_evd, 0, b.depth - 1));

	/* One message confirms all. Its acknowledgment can be lost when the sender disconnects. */
	fill(&b, b.depth);
	DO(post(&b, b.depth, 0));
	DO(bench_wait(b.request_evd, DAT_DTO_COMPLETION_EVENT, &event));
	status = event.event_data.dto_completion_event_data.status;
	REQUIRE(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_FLUSHED);
	DO(bench_wait(b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event));
	return close_bench(&b);
}

static int run_sender(struct bench *b, const char *ia, int may_shrink, int fd)
{
	struct greeting greeting;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	int i;

	DO(open_bench(b, ia, may_shrink));
	REQUIRE(read(fd, &qual, sizeof(qual)) == sizeof(qual));
	greeting.depth = b->created;
	/* For the confirmation */
	DO(post(b, b->created, 1));
	CALL(dat_ep_connect(b->ep, b->address, qual, HANG, sizeof(greeting), &greeting,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	DO(bench_wait(b->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event));
	REQUIRE(event.event_data.connect_event_data.private_data_size >=
		(DAT_COUNT)sizeof(greeting));
	memcpy(&greeting, event.event_data.connect_event_data.private_data, sizeof(greeting));
	b->depth = greeting.depth;
	REQUIRE(b->depth >= MIN_DEPTH && b->depth <= b->created);

	for (i = 0; i < b->depth; i++)
		fill(b, i);
	for (i = 0; i < b->depth; i++)
		DO(post(b, i, 0));
	DO(reap(b, b->request_evd, 0, b->depth - 1));

	DO(reap(b, b->recv_evd, b->created, b->created));
	DO(check(b, b->created, b->depth));
	CALL(dat_ep_disconnect(b->ep, DAT_CLOSE_GRACEFUL_FLAG));
	DO(bench_wait(b->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event));
	return close_bench(b);
}

/* The program ends here. */

#include "harness.h"
#include <signal.h>
#include <sys/wait.h>

#include "counts.h"
#include "process.h"

/*
 * More than kdapl charges for one side. On rxe two EVDs and an EP of 20,000 DTOs cost 35 MB,
 * because rxe rounds queues up to powers of two. See Documentation/admin.rst.
 */
#define ENOUGH_BYTES	(64LL << 20)
#define MAX_FILE_BYTES	"/sys/module/kdapl/parameters/max_file_bytes"

TEST(compat_deep_20000_dtos)
{
	long long allowed = number_in(MAX_FILE_BYTES, "");
	int may_shrink = allowed >= 0 && allowed < ENOUGH_BYTES;
	int ready[2], status, ret;
	struct bench b = {};
	pid_t receiver;

	ASSERT_EQ(0, pipe(ready));
	receiver = fork_child();
	ASSERT_LE(0, receiver);
	if (!receiver) {
		close(ready[0]);
		_exit(run_receiver(ia_name(), may_shrink, ready[1]));
	}
	close(ready[1]);
	ret = run_sender(&b, ia_name(), may_shrink, ready[0]);
	EXPECT_EQ(0, ret) {
		kill(receiver, SIGKILL);
	}
	close(ready[0]);
	ASSERT_EQ(receiver, waitpid(receiver, &status, 0));
	EXPECT_EQ(0, status);

	if (b.limit < DEPTH)
		TH_LOG("the adapter allows %d DTOs", b.limit);
	if (may_shrink)
		TH_LOG("max_file_bytes is %lld: %d DTOs", allowed, b.depth);
	else
		EXPECT_EQ(b.limit < DEPTH ? b.limit : DEPTH, b.depth);
}

TEST_HARNESS_MAIN

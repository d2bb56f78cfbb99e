// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * compat_loop.c - a DAT 1.2 program: a client sends requests, and a server returns them
 *
 * Stands for the test programs of DAT 1.2. Client and server are two processes. Both poll
 * their EVDs with dat_evd_dequeue() and compare return values without DAT_GET_TYPE() where
 * such programs do. The program uses <dat/udat.h> alone; the tests at the end run it.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>

/* Each function returns 0, or 1 after it has printed what failed. */
#define COMPAT_FAILED	return 1
#include "compat.h"

#define QLEN		16
#define ROUNDS		1000
#define RECVS		2
#define MAX_SIZE	16384
#define BYE_SIZE	1
#define FIRST_QUAL	7000

/* In seconds. Only a program that hangs waits as long as that. */
#define HANG		300

/* DAT 1.2 leaves this macro to programs. */
#define DAT_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

static const char hello[] = "loop 1.2", welcome[] = "at your service";
static const DAT_COUNT sizes[] = { 1, 17, 256, 1000, 4096, 16384, 3 };

static unsigned char send_buf[MAX_SIZE];
static unsigned char recv_buf[RECVS][MAX_SIZE];

struct host {
	DAT_IA_HANDLE ia;
	DAT_IA_ADDRESS_PTR address;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, recv_evd, request_evd, conn_evd, cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE send_lmr, recv_lmr;
	DAT_LMR_CONTEXT send_context, recv_context;
};

#define DO(step)	REQUIRE(!(step))

static int poll_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	time_t end = time(NULL) + HANG;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(evd, event)) == DAT_QUEUE_EMPTY) {
		REQUIRE(time(NULL) < end);
		sched_yield();
	}
	CALL(ret);
	REQUIRE(event->evd_handle == evd);
	return 0;
}

static int poll_dto(struct host *h, DAT_EVD_HANDLE evd, DAT_UINT64 cookie,
		    DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	DO(poll_event(evd, &event));
	REQUIRE(event.event_number == DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	REQUIRE(dto->ep_handle == h->ep);
	REQUIRE(dto->user_cookie.as_64 == cookie);
	/* The client can disconnect before the acknowledgment of the last reply arrives. */
	if (evd == h->request_evd && h->psp != DAT_HANDLE_NULL && cookie == ROUNDS - 1 &&
	    dto->status == DAT_DTO_ERR_FLUSHED)
		return 0;
	REQUIRE(dto->status == status);
	REQUIRE(status != DAT_DTO_SUCCESS || dto->transfered_length == length);
	return 0;
}

static int poll_connection(struct host *h, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DO(poll_event(h->conn_evd, event));
	REQUIRE(event->event_number == number);
	REQUIRE(event->event_data.connect_event_data.ep_handle == h->ep);
	return 0;
}

static int register_buffer(struct host *h, void *buf, DAT_VLEN length,
			   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN size;

	region.for_va = buf;
	CALL(dat_lmr_create(h->ia, DAT_MEM_TYPE_VIRTUAL, region, length, h->pz,
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, lmr, context, &rmr_context,
			    &size, &address));
	REQUIRE(size >= length && address <= (DAT_VADDR)(uintptr_t)buf);
	return 0;
}

static int open_host(struct host *h, const char *ia)
{
	DAT_EP_ATTR attr;
	DAT_IA_ATTR ia_attr;

	memset(h, 0, sizeof(*h));
	CALL(dat_ia_open((DAT_NAME_PTR)ia, QLEN, &h->async_evd, &h->ia));
	CALL(dat_ia_query(h->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &ia_attr,
			  DAT_PROVIDER_FIELD_NONE, NULL));
	h->address = ia_attr.ia_address_ptr;
	CALL(dat_pz_create(h->ia, &h->pz));
	CALL(dat_evd_create(h->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &h->recv_evd));
	CALL(dat_evd_create(h->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			    &h->request_evd));
	CALL(dat_evd_create(h->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &h->conn_evd));
	CALL(dat_evd_create(h->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &h->cr_evd));
	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = MAX_SIZE;
	attr.max_rdma_size = MAX_SIZE;
	attr.max_recv_dtos = QLEN;
	attr.max_request_dtos = QLEN;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	CALL(dat_ep_create(h->ia, h->pz, h->recv_evd, h->request_evd, h->conn_evd, &attr,
			   &h->ep));
	DO(register_buffer(h, send_buf, sizeof(send_buf), &h->send_lmr, &h->send_context));
	DO(register_buffer(h, recv_buf, sizeof(recv_buf), &h->recv_lmr, &h->recv_context));
	return 0;
}

static int close_host(struct host *h)
{
	DAT_EVD_HANDLE evds[] = { h->recv_evd, h->request_evd, h->conn_evd, h->cr_evd };
	DAT_EVENT event;
	unsigned int i;

	if (h->psp != DAT_HANDLE_NULL)
		CALL(dat_psp_free(h->psp));
	CALL(dat_ep_free(h->ep));
	CALL(dat_lmr_free(h->send_lmr));
	CALL(dat_lmr_free(h->recv_lmr));
	for (i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
		REQUIRE(dat_evd_dequeue(evds[i], &event) == DAT_QUEUE_EMPTY);
		CALL(dat_evd_free(evds[i]));
	}
	REQUIRE(dat_evd_dequeue(h->async_evd, &event) == DAT_QUEUE_EMPTY);
	CALL(dat_pz_free(h->pz));
	CALL(dat_ia_close(h->ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}

static int loop_recv(struct host *h, DAT_UINT64 number)
{
	DAT_LMR_TRIPLET iov;
	DAT_DTO_COOKIE cookie;

	iov.lmr_context = h->recv_context;
	iov.virtual_address = (DAT_VADDR)(uintptr_t)recv_buf[number % RECVS];
	iov.segment_length = MAX_SIZE;
	cookie.as_64 = number;
	CALL(dat_ep_post_recv(h->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	return 0;
}

static int loop_send(struct host *h, DAT_UINT64 number, DAT_VLEN length)
{
	DAT_LMR_TRIPLET iov;
	DAT_DTO_COOKIE cookie;

	iov.lmr_context = h->send_context;
	iov.virtual_address = (DAT_VADDR)(uintptr_t)send_buf;
	iov.segment_length = length;
	cookie.as_64 = number;
	CALL(dat_ep_post_send(h->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	return 0;
}

static DAT_COUNT size_of(int number)
{
	return sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
}

static unsigned char byte_of(int number, int at)
{
	return number * 13 + at * 31 + at / 251;
}

static void fill(int number, unsigned char mask)
{
	int i;

	for (i = 0; i < size_of(number); i++)
		send_buf[i] = byte_of(number, i) ^ mask;
}

static int check(int number, unsigned char mask)
{
	const unsigned char *buf = recv_buf[number % RECVS];
	int i;

	for (i = 0; i < size_of(number); i++)
		REQUIRE(buf[i] == (unsigned char)(byte_of(number, i) ^ mask));
	return 0;
}

/* Waits in vain for an event of an EVD that gets none yet. */
static int time_out(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout)
{
	DAT_EVENT event;
	DAT_COUNT nmore = -1;
	DAT_RETURN ret;

	ret = dat_evd_wait(evd, timeout, 1, &event, &nmore);
	REQUIRE(ret != DAT_SUCCESS);
	REQUIRE(DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED);
	REQUIRE(nmore == 0);
	return 0;
}

static int listen_for_client(struct host *h, int fd)
{
	DAT_CONN_QUAL qual = FIRST_QUAL;
	DAT_RETURN ret;

	for (;;) {
		ret = dat_psp_create(h->ia, qual, h->cr_evd, DAT_PSP_CONSUMER_FLAG, &h->psp);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
		qual++;
	}
	CALL(ret);
	REQUIRE(write(fd, &qual, sizeof(qual)) == sizeof(qual));
	return 0;
}

static int serve(const char *ia, int fd)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	struct host h;
	int i;

	DO(open_host(&h, ia));
	DO(listen_for_client(&h, fd));
	DO(poll_event(h.cr_evd, &event));
	REQUIRE(event.event_number == DAT_CONNECTION_REQUEST_EVENT);
	REQUIRE(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == h.psp);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	CALL(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	REQUIRE(param.private_data_size >= (DAT_COUNT)sizeof(hello));
	REQUIRE(!memcmp(param.private_data, hello, sizeof(hello)));
	for (i = 0; i < RECVS; i++)
		DO(loop_recv(&h, i));
	CALL(dat_cr_accept(cr, h.ep, sizeof(welcome), (DAT_PVOID)welcome));
	DO(poll_connection(&h, DAT_CONNECTION_EVENT_ESTABLISHED, &event));

	for (i = 0; i < ROUNDS; i++) {
		DO(poll_dto(&h, h.recv_evd, i, DAT_DTO_SUCCESS, size_of(i)));
		DO(check(i, 0));
		DO(loop_recv(&h, i + RECVS));
		fill(i, 0xff);
		DO(loop_send(&h, i, size_of(i)));
		DO(poll_dto(&h, h.request_evd, i, DAT_DTO_SUCCESS, size_of(i)));
	}

	/* The last message arrives before the disconnection; the other receive is flushed. */
	DO(poll_connection(&h, DAT_CONNECTION_EVENT_DISCONNECTED, &event));
	DO(poll_dto(&h, h.recv_evd, ROUNDS, DAT_DTO_SUCCESS, BYE_SIZE));
	DO(poll_dto(&h, h.recv_evd, ROUNDS + 1, DAT_DTO_ERR_FLUSHED, 0));
	return close_host(&h);
}

static int request(const char *ia, int fd)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_CONNECTION_EVENT_DATA *conn;
	DAT_EP_STATE state;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	struct host h;
	int i;

	DO(open_host(&h, ia));
	REQUIRE(read(fd, &qual, sizeof(qual)) == sizeof(qual));
	DO(loop_recv(&h, 0));
	CALL(dat_ep_connect(h.ep, h.address, qual, DAT_TIMEOUT_INFINITE, sizeof(hello),
			    (DAT_PVOID)hello, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	DO(poll_connection(&h, DAT_CONNECTION_EVENT_ESTABLISHED, &event));
	conn = &event.event_data.connect_event_data;
	REQUIRE(conn->private_data_size >= (DAT_COUNT)sizeof(welcome));
	REQUIRE(!memcmp(conn->private_data, welcome, sizeof(welcome)));
	DO(time_out(h.recv_evd, 0));
	DO(time_out(h.recv_evd, 2000));
	DO(time_out(h.request_evd, 2000));

	for (i = 0; i < ROUNDS; i++) {
		if (i + 1 < ROUNDS)
			DO(loop_recv(&h, i + 1));
		fill(i, 0);
		DO(loop_send(&h, i, size_of(i)));
		DO(poll_dto(&h, h.request_evd, i, DAT_DTO_SUCCESS, size_of(i)));
		DO(poll_dto(&h, h.recv_evd, i, DAT_DTO_SUCCESS, size_of(i)));
		DO(check(i, 0xff));
	}

	/* A graceful disconnect completes the message that was posted before it. */
	DO(loop_send(&h, ROUNDS, BYE_SIZE));
	CALL(dat_ep_disconnect(h.ep, DAT_CLOSE_GRACEFUL_FLAG));
	DO(poll_connection(&h, DAT_CONNECTION_EVENT_DISCONNECTED, &event));
	DO(poll_dto(&h, h.request_evd, ROUNDS, DAT_DTO_SUCCESS, BYE_SIZE));
	CALL(dat_ep_get_status(h.ep, &state, &recv_idle, &request_idle));
	REQUIRE(state == DAT_EP_STATE_DISCONNECTED);
	REQUIRE(recv_idle == DAT_TRUE && request_idle == DAT_TRUE);
	return close_host(&h);
}

/* The return values that programs compare, without a connection. */
static int compare_values(const char *ia)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	struct host h;
	DAT_RETURN ret;

	DO(open_host(&h, ia));
	ret = dat_evd_dequeue(h.recv_evd, &event);
	REQUIRE(ret == DAT_QUEUE_EMPTY);
	ret = dat_evd_wait(h.conn_evd, 1000, 1, &event, &nmore);
	REQUIRE(DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED);
	ret = dat_ep_disconnect(h.ep, DAT_CLOSE_GRACEFUL_FLAG);
	REQUIRE(ret == DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED));
	REQUIRE(!DAT_IS_WARNING(ret));
	ret = dat_evd_free(h.recv_evd);
	REQUIRE(DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
	ret = dat_ia_close(h.ia, DAT_CLOSE_GRACEFUL_FLAG);
	REQUIRE(DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
	ret = dat_lmr_free(h.ep);
	REQUIRE(DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE);
	ret = dat_evd_wait(h.recv_evd, 0, 0, &event, &nmore);
	REQUIRE(ret == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	return close_host(&h);
}

/* The program ends here. */

#include "harness.h"
#include <signal.h>
#include <sys/wait.h>

#include "process.h"

TEST(compat_loop_bare_return_values)
{
	EXPECT_EQ(0, compare_values(ia_name()));
}

TEST(compat_loop_round_trips)
{
	int ready[2], status, ret;
	pid_t server;

	ASSERT_EQ(0, pipe(ready));
	server = fork_child();
	ASSERT_LE(0, server);
	if (!server) {
		close(ready[0]);
		_exit(serve(ia_name(), ready[1]));
	}
	close(ready[1]);
	ret = request(ia_name(), ready[0]);
	EXPECT_EQ(0, ret) {
		kill(server, SIGKILL);
	}
	close(ready[0]);
	ASSERT_EQ(server, waitpid(server, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN

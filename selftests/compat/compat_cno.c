// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * compat_cno.c - a server and a client that wait for all their EVDs with one CNO
 *
 * Stands for programs that dispatch the events of an IA from one thread: connection requests,
 * connections, completions, software events and asynchronous errors. The thread waits with
 * dat_cno_wait(), or a proxy agent wakes it. Then it dequeues from every EVD until
 * DAT_QUEUE_EMPTY. The program uses <dat/udat.h> alone; the tests at the end run it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>

/* An error ends the process. */
#define COMPAT_FAILED	_exit(1)
#include "compat.h"

#define CONNS		5
#define MESSAGES	50
#define SIZE		512
#define RECVS		2
#define QLEN		(CONNS * 2 * RECVS)
#define FIRST_QUAL	7200
/* In seconds. Only a program that hangs waits as long as that. */
#define HANG		300

/*
 * The last connection carries no messages. The client disconnects it immediately. Its flushed
 * receives do not fit into their EVD.
 */
#define GREEDY		(CONNS - 1)
#define GREEDY_QLEN	8
#define GREEDY_RECVS	32

struct conn {
	struct node *node;
	DAT_EP_HANDLE ep;
	/* RECVS buffers to receive, and one to send */
	unsigned char (*buf)[SIZE];
	int sent, completed, received, flushed;
	int established, leaving;
};

struct node {
	int serves;
	DAT_IA_HANDLE ia;
	DAT_IA_ADDRESS_PTR address;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, dto_evd, soft_evd, greedy_evd;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_CONN_QUAL qual;
	struct conn conns[CONNS];
	unsigned char mem[CONNS][RECVS + 1][SIZE];
	int requests, ended, completed, flushed, overflows, leaving, stopped;

	/* The lock guards the two numbers. */
	int has_agent, agent_calls, agent_stops;
	pthread_mutex_t lock;
	sem_t wake;
};

/* The library calls the agent once. To be called again, the agent installs itself. */
static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	DAT_OS_WAIT_PROXY_AGENT again = { data, agent };
	struct node *n = data;

	(void)evd;
	pthread_mutex_lock(&n->lock);
	n->agent_calls++;
	if (!n->agent_stops)
		CALL(dat_cno_modify_agent(n->cno, again));
	pthread_mutex_unlock(&n->lock);
	sem_post(&n->wake);
}

static void create_ep(struct node *n, DAT_EVD_HANDLE recv_evd, DAT_COUNT recvs,
		      DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = recvs,
		.max_request_dtos = RECVS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};

	CALL(dat_ep_create(n->ia, n->pz, recv_evd, n->dto_evd, n->conn_evd, &attr, ep));
}

/* Posts the receive or the Send with this number. Odd cookies are of receives. */
static void post(struct conn *c, int number, int receives)
{
	unsigned char *message = c->buf[receives ? number % RECVS : RECVS];
	DAT_DTO_COOKIE cookie = { .as_64 = number * 2 + receives };
	DAT_LMR_TRIPLET iov = {
		.lmr_context = c->node->context,
		.virtual_address = (DAT_VADDR)(uintptr_t)message,
		.segment_length = SIZE,
	};

	if (receives)
		CALL(dat_ep_post_recv(c->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	else
		CALL(dat_ep_post_send(c->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void open_node(struct node *n, const char *ia)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = { n, n->has_agent ? agent : NULL };
	DAT_REGION_DESCRIPTION region;
	int greedy, recvs, i, k;
	DAT_IA_ATTR attr;

	REQUIRE(!sem_init(&n->wake, 0, 0) && !pthread_mutex_init(&n->lock, NULL));
	CALL(dat_ia_open((DAT_NAME_PTR)ia, 8, &n->async_evd, &n->ia));
	CALL(dat_ia_query(n->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			  DAT_PROVIDER_FIELD_NONE, NULL));
	n->address = attr.ia_address_ptr;
	CALL(dat_pz_create(n->ia, &n->pz));
	CALL(dat_cno_create(n->ia, proxy, &n->cno));
	CALL(dat_evd_modify_cno(n->async_evd, n->cno));
	CALL(dat_evd_create(n->ia, QLEN, n->cno, DAT_EVD_CR_FLAG, &n->cr_evd));
	CALL(dat_evd_create(n->ia, QLEN, n->cno, DAT_EVD_CONNECTION_FLAG, &n->conn_evd));
	CALL(dat_evd_create(n->ia, QLEN, n->cno, DAT_EVD_DTO_FLAG, &n->dto_evd));
	CALL(dat_evd_create(n->ia, QLEN, n->cno, DAT_EVD_SOFTWARE_FLAG, &n->soft_evd));
	CALL(dat_evd_create(n->ia, GREEDY_QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			    &n->greedy_evd));
	region.for_va = n->mem;
	CALL(dat_lmr_create(n->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(n->mem), n->pz,
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &n->lmr, &n->context, NULL, NULL,
			    NULL));
	for (i = 0; i < CONNS; i++) {
		n->conns[i].node = n;
		n->conns[i].buf = n->mem[i];
		greedy = i == GREEDY && !n->serves;
		recvs = greedy ? GREEDY_RECVS : RECVS;
		create_ep(n, greedy ? n->greedy_evd : n->dto_evd, recvs, &n->conns[i].ep);
		for (k = 0; k < recvs; k++)
			post(&n->conns[i], k, 1);
	}
}

static void close_node(struct node *n)
{
	DAT_EVD_HANDLE evds[] = { n->cr_evd, n->conn_evd, n->dto_evd, n->soft_evd };
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
	unsigned int i, kept = 0;
	DAT_EVENT event;

	if (n->has_agent) {
		pthread_mutex_lock(&n->lock);
		n->agent_stops = 1;
		REQUIRE(n->agent_calls > 0);
		CALL(dat_cno_modify_agent(n->cno, none));
		pthread_mutex_unlock(&n->lock);
	}
	if (n->serves)
		CALL(dat_psp_free(n->psp));
	for (i = 0; i < CONNS; i++)
		CALL(dat_ep_free(n->conns[i].ep));
	/* The EVD that was too short has kept the first events. */
	while (dat_evd_dequeue(n->greedy_evd, &event) == DAT_SUCCESS)
		kept++;
	REQUIRE(n->serves || (kept >= GREEDY_QLEN && kept < GREEDY_RECVS));
	CALL(dat_evd_free(n->greedy_evd));
	CALL(dat_lmr_free(n->lmr));
	for (i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
		REQUIRE(dat_evd_dequeue(evds[i], &event) == DAT_QUEUE_EMPTY);
		CALL(dat_evd_free(evds[i]));
	}
	CALL(dat_evd_modify_cno(n->async_evd, DAT_HANDLE_NULL));
	CALL(dat_cno_free(n->cno));
	CALL(dat_pz_free(n->pz));
	CALL(dat_ia_close(n->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static unsigned char byte_of(int number, int at)
{
	return number * 7 + at * 3;
}

/* The client begins; then each side sends when it has received. The client disconnects. */
static void go_on(struct conn *c)
{
	int client = !c->node->serves, i;

	/* A message can arrive before ESTABLISHED, and before the last Send completes. */
	if (!c->established || c->completed < c->sent || c->leaving)
		return;
	if (c == &c->node->conns[GREEDY]) {
		c->leaving = 1;
		if (client)
			CALL(dat_ep_disconnect(c->ep, DAT_CLOSE_ABRUPT_FLAG));
	} else if (c->sent < MESSAGES && c->sent < c->received + client) {
		for (i = 0; i < SIZE; i++)
			c->buf[RECVS][i] = byte_of(c->sent, i);
		post(c, c->sent++, 0);
	} else if (client && c->received == MESSAGES) {
		c->leaving = 1;
		CALL(dat_ep_disconnect(c->ep, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

static void on_request(struct node *n, DAT_EVENT *event)
{
	REQUIRE(event->event_number == DAT_CONNECTION_REQUEST_EVENT && n->requests < CONNS);
	CALL(dat_cr_accept(event->event_data.cr_arrival_event_data.cr_handle,
			   n->conns[n->requests++].ep, 0, NULL));
}

static struct conn *conn_of(struct node *n, DAT_EP_HANDLE ep)
{
	int i = 0;

	while (i < CONNS - 1 && n->conns[i].ep != ep)
		i++;
	REQUIRE(n->conns[i].ep == ep);
	return &n->conns[i];
}

static void on_connection(struct node *n, DAT_EVENT *event)
{
	struct conn *c = conn_of(n, event->event_data.connect_event_data.ep_handle);

	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		REQUIRE(!c->established);
		c->established = 1;
		go_on(c);
	} else {
		if (event->event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
			fprintf(stderr, "# connection event %#x\n", event->event_number);
		/* The last Send, when it fails, breaks the connection. */
		REQUIRE(event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			(event->event_number == DAT_CONNECTION_EVENT_BROKEN && c->node->serves &&
			 c->sent == MESSAGES));
		REQUIRE(c->established);
		n->ended++;
	}
}

static void on_receive(struct conn *c, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	int i;

	REQUIRE(dto->user_cookie.as_64 / 2 == c->received + c->flushed);
	if (dto->status == DAT_DTO_ERR_FLUSHED) {
		c->flushed++;
		c->node->flushed++;
		return;
	}
	REQUIRE(dto->status == DAT_DTO_SUCCESS && !c->flushed);
	REQUIRE(dto->transfered_length == SIZE);
	for (i = 0; i < SIZE; i++)
		REQUIRE(c->buf[c->received % RECVS][i] == byte_of(c->received, i));
	post(c, c->received + RECVS, 1);
	c->received++;
}

static int is_last_send(struct conn *c)
{
	return c->node->serves && c->completed == MESSAGES;
}

static void on_send(struct conn *c, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	REQUIRE(dto->user_cookie.as_64 / 2 == c->completed);
	c->completed++;
	c->node->completed++;
	/*
	 * The client can disconnect before the acknowledgment of the last message arrives. Then
	 * the Send is flushed, or on siw it fails.
	 */
	if (is_last_send(c))
		return;
	if (dto->status != DAT_DTO_SUCCESS)
		fprintf(stderr, "# Send %d: status %d\n", c->completed, dto->status);
	REQUIRE(dto->status == DAT_DTO_SUCCESS);
}

static void on_completion(struct node *n, DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct conn *c = conn_of(n, dto->ep_handle);

	REQUIRE(event->event_number == DAT_DTO_COMPLETION_EVENT);
	if (dto->user_cookie.as_64 % 2)
		on_receive(c, dto);
	else
		on_send(c, dto);
	go_on(c);
}

static void on_software(struct node *n, DAT_EVENT *event)
{
	REQUIRE(event->event_number == DAT_SOFTWARE_EVENT);
	REQUIRE(event->event_data.software_event_data.pointer == n);
	n->stopped = 1;
}

static void on_async(struct node *n, DAT_EVENT *event)
{
	REQUIRE(event->event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW);
	REQUIRE(event->event_data.asynch_error_event_data.dat_handle == n->greedy_evd);
	n->overflows++;
}

static void drain(struct node *n, DAT_EVD_HANDLE evd,
		  void (*handle)(struct node *n, DAT_EVENT *event))
{
	DAT_EVENT event;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(evd, &event)) == DAT_SUCCESS) {
		REQUIRE(event.evd_handle == evd);
		handle(n, &event);
	}
	REQUIRE(ret == DAT_QUEUE_EMPTY);
}

static void wait_for_trigger(struct node *n)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	struct timespec end;

	if (n->has_agent) {
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += HANG;
		REQUIRE(!sem_timedwait(&n->wake, &end));
	} else {
		CALL(dat_cno_wait(n->cno, HANG * 1000000U, &evd));
		REQUIRE(evd != DAT_HANDLE_NULL);
	}
}

static void connect_one(struct conn *c)
{
	CALL(dat_ep_connect(c->ep, c->node->address, c->node->qual, DAT_TIMEOUT_INFINITE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void run_loop(struct node *n)
{
	int greedy = n->serves;
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	event.event_data.software_event_data.pointer = n;
	while (!n->stopped) {
		wait_for_trigger(n);
		drain(n, n->async_evd, on_async);
		drain(n, n->cr_evd, on_request);
		drain(n, n->conn_evd, on_connection);
		drain(n, n->dto_evd, on_completion);
		drain(n, n->soft_evd, on_software);
		if (n->ended == GREEDY && !greedy++)
			connect_one(&n->conns[GREEDY]);
		if (n->ended == CONNS && n->overflows == !n->serves &&
		    n->completed == GREEDY * MESSAGES &&
		    n->flushed == (GREEDY + n->serves) * RECVS && !n->leaving) {
			n->leaving = 1;
			CALL(dat_evd_post_se(n->soft_evd, &event));
		}
	}
	close_node(n);
}

static void run_server(struct node *n, const char *ia, int fd)
{
	DAT_RETURN ret;

	n->serves = 1;
	open_node(n, ia);
	n->qual = FIRST_QUAL;
	while ((ret = dat_psp_create(n->ia, n->qual, n->cr_evd, DAT_PSP_CONSUMER_FLAG,
				     &n->psp)) != DAT_SUCCESS) {
		REQUIRE(DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE);
		n->qual++;
	}
	REQUIRE(write(fd, &n->qual, sizeof(n->qual)) == sizeof(n->qual));
	run_loop(n);
}

static void run_client(struct node *n, const char *ia, int fd)
{
	DAT_EVD_HANDLE evd = n;
	int i;

	open_node(n, ia);
	if (!n->has_agent) {
		/* There are no events yet. */
		REQUIRE(dat_cno_wait(n->cno, 0, &evd) == DAT_QUEUE_EMPTY);
		REQUIRE(dat_cno_wait(n->cno, 2000, &evd) == DAT_QUEUE_EMPTY);
		REQUIRE(evd == DAT_HANDLE_NULL);
	}
	REQUIRE(read(fd, &n->qual, sizeof(n->qual)) == sizeof(n->qual));
	for (i = 0; i < GREEDY; i++)
		connect_one(&n->conns[i]);
	run_loop(n);
}

/* The program ends here. */

#include "harness.h"
#include <sys/wait.h>

#include "process.h"

/* An error of the client ends the test, and with it the server. */
static void run_both(struct __test_metadata *_metadata, int has_agent)
{
	static struct node node;
	int ready[2], status;
	pid_t server;

	node.has_agent = has_agent;
	ASSERT_EQ(0, pipe(ready));
	server = fork_child();
	ASSERT_LE(0, server);
	if (!server) {
		close(ready[0]);
		run_server(&node, ia_name(), ready[1]);
		_exit(0);
	}
	close(ready[1]);
	run_client(&node, ia_name(), ready[0]);
	close(ready[0]);
	ASSERT_EQ(server, waitpid(server, &status, 0));
	EXPECT_EQ(0, status);
}

TEST(compat_cno_waits_for_all_evds)
{
	run_both(_metadata, 0);
}

TEST(compat_cno_agent_wakes_thread)
{
	run_both(_metadata, 1);
}

TEST_HARNESS_MAIN

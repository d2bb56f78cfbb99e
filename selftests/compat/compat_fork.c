// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * compat_fork.c - a server that forks a worker for each connection, and its clients
 *
 * Stands for servers in the way of inetd. The server listens, and forks for each request. The
 * worker opens the IA, takes the request over with dat_cr_handoff(), and returns each message
 * until the client disconnects. Nobody polls: each process waits for one EVD that takes all its
 * events. The server finds its qualifier as MPI libraries do: from its process id, plus 1024
 * until it can listen. The program uses <dat/udat.h> alone; the test at the end runs it.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

/* An error ends the process. */
#define COMPAT_FAILED	_exit(1)
#include "compat.h"

#define CLIENTS		24
#define AT_ONCE		6
#define MESSAGES	20
#define SIZE		1024
/* In microseconds. Only a program that hangs waits as long as that. */
#define HANG		(300 * 1000 * 1000)

struct end {
	DAT_IA_HANDLE ia;
	DAT_IA_ADDRESS_PTR address;
	DAT_EVD_HANDLE async_evd, evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_EP_HANDLE ep;
	int sent, received;
	/* One buffer to receive, and one to send */
	unsigned char mem[2][SIZE];
};

static void open_end(struct end *e, const char *name)
{
	DAT_IA_ATTR attr;

	e->async_evd = DAT_HANDLE_NULL;
	CALL(dat_ia_open((char *)name, 8, &e->async_evd, &e->ia));
	CALL(dat_ia_query(e->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	e->address = attr.ia_address_ptr;
	CALL(dat_evd_create(e->ia, 16, DAT_HANDLE_NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
			    &e->evd));
}

/* What only a connection needs */
static void open_connection(struct end *e)
{
	DAT_REGION_DESCRIPTION region = { .for_va = e->mem };
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN size;

	CALL(dat_pz_create(e->ia, &e->pz));
	CALL(dat_lmr_create(e->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(e->mem), e->pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &e->lmr,
			    &e->context, &rmr_context, &size, &address));
	CALL(dat_ep_create(e->ia, e->pz, e->evd, e->evd, e->evd, NULL, &e->ep));
}

static void close_end(struct end *e)
{
	CALL(dat_ep_free(e->ep));
	CALL(dat_lmr_free(e->lmr));
	CALL(dat_pz_free(e->pz));
	CALL(dat_evd_free(e->evd));
	CALL(dat_ia_close(e->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void next_event(struct end *e, DAT_EVENT *event)
{
	DAT_COUNT nmore;

	CALL(dat_evd_wait(e->evd, HANG, 1, event, &nmore));
}

static void expect_event(struct end *e, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	next_event(e, event);
	REQUIRE(event->event_number == number);
}

static void post(struct end *e, int receive)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = e->context,
		.virtual_address = (uintptr_t)e->mem[!receive],
		.segment_length = SIZE,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = receive };

	if (receive)
		CALL(dat_ep_post_recv(e->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	else
		CALL(dat_ep_post_send(e->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/*
 * Waits until so many sends and receives have completed since the beginning; returns 0 if the peer
 * has disconnected. A message may arrive before the news that the connection is established.
 */
static int complete(struct end *e, int sends, int receives)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	while (e->sent < sends || e->received < receives) {
		next_event(e, &event);
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			continue;
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			return 0;
		REQUIRE(event.event_number == DAT_DTO_COMPLETION_EVENT);
		dto = &event.event_data.dto_completion_event_data;
		/*
		 * The receive that is left when the peer disconnects, and a Send that the peer has
		 * received and not acknowledged. The event of the end follows.
		 */
		if (dto->status == DAT_DTO_ERR_FLUSHED)
			continue;
		REQUIRE(dto->status == DAT_DTO_SUCCESS);
		if (dto->user_cookie.as_64)
			e->received++;
		else
			e->sent++;
	}
	return 1;
}

/* The worker: returns messages until the client disconnects. */
static int work(const char *name, int to_server)
{
	static struct end e;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	int i;

	open_end(&e, name);
	open_connection(&e);
	post(&e, 1);
	CALL(dat_psp_create_any(e.ia, &qual, e.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	REQUIRE(write(to_server, &qual, sizeof(qual)) == sizeof(qual));
	expect_event(&e, DAT_CONNECTION_REQUEST_EVENT, &event);
	CALL(dat_psp_free(psp));
	CALL(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, e.ep, 0, NULL));
	for (i = 0; complete(&e, i, i + 1); i++) {
		memcpy(e.mem[1], e.mem[0], SIZE);
		post(&e, 1);
		post(&e, 0);
	}
	REQUIRE(i == MESSAGES);
	close_end(&e);
	return 0;
}

/* Forks a worker for a request, and hands the request to it. */
static void employ(const char *name, DAT_CR_HANDLE cr)
{
	DAT_CONN_QUAL qual;
	int fds[2];
	pid_t pid;

	REQUIRE(!pipe(fds));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		_exit(work(name, fds[1]));
	close(fds[1]);
	REQUIRE(read(fds[0], &qual, sizeof(qual)) == sizeof(qual));
	close(fds[0]);
	CALL(dat_cr_handoff(cr, qual));
}

static int serve(const char *name, int to_clients)
{
	DAT_CONN_QUAL qual = 65536 + getpid();
	DAT_PSP_HANDLE psp;
	static struct end e;
	DAT_RETURN ret;
	DAT_EVENT event;
	int i, status;

	open_end(&e, name);
	while ((ret = dat_psp_create(e.ia, qual, e.evd, DAT_PSP_CONSUMER_FLAG, &psp)) ==
	       (DAT_CLASS_ERROR | DAT_CONN_QUAL_IN_USE))
		qual += 1024;
	CALL(ret);
	for (i = 0; i < CLIENTS; i++)
		REQUIRE(write(to_clients, &qual, sizeof(qual)) == sizeof(qual));
	for (i = 0; i < CLIENTS; i++) {
		expect_event(&e, DAT_CONNECTION_REQUEST_EVENT, &event);
		REQUIRE(event.event_data.cr_arrival_event_data.conn_qual == qual);
		employ(name, event.event_data.cr_arrival_event_data.cr_handle);
	}
	for (i = 0; i < CLIENTS; i++) {
		REQUIRE(wait(&status) > 0);
		REQUIRE(status == 0);
	}
	CALL(dat_psp_free(psp));
	CALL(dat_evd_free(e.evd));
	CALL(dat_ia_close(e.ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}

static int ask(const char *name, int from_server)
{
	static struct end e;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	int i;

	REQUIRE(read(from_server, &qual, sizeof(qual)) == sizeof(qual));
	open_end(&e, name);
	open_connection(&e);
	CALL(dat_ep_connect(e.ep, e.address, qual, DAT_TIMEOUT_INFINITE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect_event(&e, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	for (i = 0; i < MESSAGES; i++) {
		memset(e.mem[0], 0, SIZE);
		memset(e.mem[1], getpid() + i, SIZE);
		post(&e, 1);
		post(&e, 0);
		REQUIRE(complete(&e, i + 1, i + 1));
		REQUIRE(!memcmp(e.mem[0], e.mem[1], SIZE));
	}
	CALL(dat_ep_disconnect(e.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_event(&e, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	close_end(&e);
	return 0;
}

/* The program ends here. */

#include "harness.h"

#include "process.h"

/* AT_ONCE clients at a time */
static bool all_clients(int from_server)
{
	int running = 0, started = 0, status;

	while (started < CLIENTS || running) {
		if (started < CLIENTS && running < AT_ONCE) {
			if (!fork_child())
				_exit(ask(ia_name(), from_server));
			started++;
			running++;
			continue;
		}
		if (wait(&status) < 0 || status)
			return false;
		running--;
	}
	return true;
}

TEST(compat_fork_24_clients)
{
	pid_t server, clients;
	int fds[2], status;

	ASSERT_EQ(0, pipe(fds));
	server = fork_child();
	if (!server)
		_exit(serve(ia_name(), fds[1]));
	clients = fork_child();
	if (!clients)
		_exit(!all_clients(fds[0]));
	ASSERT_EQ(clients, waitpid(clients, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(server, waitpid(server, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN

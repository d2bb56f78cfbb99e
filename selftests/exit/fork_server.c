// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fork_server.c - a server that forks a worker for each connection, and the end of each of them
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pair.h"
#include "process.h"

#include <dat/dat_linux.h>

#define WORKERS	200
#define LENGTH	64
#define QUICK	2000	/* ms until a peer hears of the end of a process */

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Message of the server for each worker */
struct worker {
	pid_t pid;
	DAT_CONN_QUAL qual;
};

/*
 * A message there and one back, at the side of the worker. The second message may take long, and
 * the peer disconnects when it has the answer, perhaps before the Send has completed.
 */
static bool answer(struct pair *pair, const struct region *region, bool is_last)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	return !dat_evd_wait(pair->b.dto_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) &&
	       !event.event_data.dto_completion_event_data.status &&
	       !post_recv(pair->b.ep, region, 0, LENGTH, 1) &&
	       !post_send(pair->b.ep, region, 0, LENGTH, 2) &&
	       (is_last || !wait_dto(pair->b.dto_evd, 2));
}

/*
 * Opens an IA of its own, takes over the request that the server hands to it, and answers two
 * messages. In between the EVD of @fd has to end with the server, unless @fd is -1.
 */
static int work(int to_server, int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	struct region region;
	struct pair pair;
	DAT_CR_HANDLE cr;

	if (pair_open(&pair) ||
	    region_open(&pair, pair.b.pz, &region, LENGTH, DAT_MEM_PRIV_ALL_FLAG) ||
	    post_recv(pair.b.ep, &region, 0, LENGTH, 1) ||
	    write(to_server, &pair.qual, sizeof(pair.qual)) != sizeof(pair.qual))
		return 1;
	if (next_cr(&pair, &cr) || dat_cr_accept(cr, pair.b.ep, 0, NULL) ||
	    wait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED))
		return 2;
	if (!answer(&pair, &region, false))
		return 3;
	if (fd >= 0 && (poll(&pollfd, 1, PAIR_TIMEOUT / 1000) != 1 ||
			!(pollfd.revents & POLLHUP)))
		return 4;
	if (!answer(&pair, &region, true))
		return 5;
	return wait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED) ? 6 : 0;
}

/* Forks a worker for the next request, and hands the request to it. */
static int employ(struct pair *pair, int to_test, int fd)
{
	struct worker worker;
	DAT_CR_HANDLE cr;
	int fds[2];

	if (next_cr(pair, &cr) || pipe(fds))
		return 1;
	worker.pid = fork();
	if (!worker.pid)
		_exit(work(fds[1], fd));
	close(fds[1]);
	if (worker.pid < 0 ||
	    read(fds[0], &worker.qual, sizeof(worker.qual)) != sizeof(worker.qual) ||
	    dat_cr_handoff(cr, worker.qual) ||
	    write(to_test, &worker, sizeof(worker)) != sizeof(worker))
		return 2;
	close(fds[0]);
	return 0;
}

/* Lives until the test closes its end of @from_test. */
static int serve(int from_test, int to_test)
{
	int i, status, ended = 0, killed = 0;
	struct pair pair;
	char c;

	if (pair_open(&pair) || write(to_test, &pair.qual, sizeof(pair.qual)) < 0)
		return 10;
	for (i = 0; i < WORKERS; i++)
		if (employ(&pair, to_test, -1))
			return 11;
	for (i = 0; i < WORKERS; i++) {
		if (wait(&status) < 0)
			return 12;
		ended += status == 0;
		killed += WIFSIGNALED(status);
		if (status && !WIFSIGNALED(status))
			fprintf(stderr, "# a worker has returned %d\n", WEXITSTATUS(status));
	}
	if (ended != WORKERS / 2 || killed != WORKERS / 2)
		return 13;
	/* All workers are dead, and the server has what it had. */
	if (write(to_test, "", 1) != 1 || read(from_test, &c, 1) != 0)
		return 14;
	return 0;
}

/* The peers: EPs of the test with one EVD for the ends of connections */
FIXTURE(server)
{
	struct pair pair;
	struct region region;
	DAT_EP_HANDLE eps[WORKERS];
	int to_server[2], to_test[2];
};

FIXTURE_SETUP(server)
{
	ASSERT_EQ(0, pipe(self->to_server));
	ASSERT_EQ(0, pipe(self->to_test));
	/* Workers that outlive the server become children of this process. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
}

FIXTURE_TEARDOWN(server)
{
	pair_close(&self->pair);
}

static void open_peers(struct __test_metadata *_metadata, FIXTURE_DATA(server) *self, int num)
{
	struct pair *p = &self->pair;
	int i;

	ASSERT_DAT(pair_open(p));
	ASSERT_DAT(region_open(p, p->a.pz, &self->region, LENGTH, DAT_MEM_PRIV_ALL_FLAG));
	for (i = 0; i < num; i++)
		ASSERT_DAT(ep_like(p, &p->a, &self->eps[i]));
}

/* The send may complete after the answer to it. */
static bool exchange(FIXTURE_DATA(server) *self, DAT_EP_HANDLE ep)
{
	DAT_UINT64 cookies = 0;
	DAT_EVENT event;
	int i;

	if (post_recv(ep, &self->region, 0, LENGTH, 1) ||
	    post_send(ep, &self->region, 0, LENGTH, 2))
		return false;
	for (i = 0; i < 2; i++) {
		if (wait_event(self->pair.a.dto_evd, &event) ||
		    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			return false;
		cookies += event.event_data.dto_completion_event_data.user_cookie.as_64;
	}
	return cookies == 1 + 2;
}

static void hire(struct __test_metadata *_metadata, FIXTURE_DATA(server) *self, DAT_EP_HANDLE ep,
		 DAT_CONN_QUAL qual, struct worker *worker)
{
	struct pair *p = &self->pair;

	ASSERT_DAT(connect_to(p, ep, qual));
	ASSERT_EQ(sizeof(*worker), read(self->to_test[0], worker, sizeof(*worker)));
	ASSERT_DAT(wait_number(p->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	ASSERT_TRUE(exchange(self, ep));
}

/* The peer hears soon of the end of a process. */
static long long kill_and_hear(struct __test_metadata *_metadata, FIXTURE_DATA(server) *self,
			       DAT_EP_HANDLE ep, pid_t pid)
{
	long long began = now_ms();
	DAT_EVENT event;

	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_DAT(wait_event(self->pair.a.conn_evd, &event));
	EXPECT_EQ(ep, event.event_data.connect_event_data.ep_handle);
	EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED, event.event_number);
	return now_ms() - began;
}

TEST_F(server, killed_workers)
{
	struct worker workers[WORKERS];
	struct pair *p = &self->pair;
	long long most = 0, took;
	char before[512], c;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	int i, status;
	pid_t server;

	server = fork_child();
	if (!server) {
		close(self->to_server[1]);
		_exit(serve(self->to_server[0], self->to_test[1]));
	}
	close(self->to_test[1]);
	ASSERT_EQ(sizeof(qual), read(self->to_test[0], &qual, sizeof(qual)));
	/* So that the library has opened the device. */
	ASSERT_DAT(pair_open(p));
	pair_close(p);
	stock_take(before, sizeof(before));
	open_peers(_metadata, self, WORKERS);

	for (i = 0; i < WORKERS; i++)
		hire(_metadata, self, self->eps[i], qual, &workers[i]);
	for (i = 0; i < WORKERS; i += 2) {
		took = kill_and_hear(_metadata, self, self->eps[i], workers[i].pid);
		most = took > most ? took : most;
	}
	TH_LOG("a peer heard after at most %lld ms", most);
	EXPECT_GT(QUICK, most);
	for (i = 1; i < WORKERS; i += 2) {
		EXPECT_TRUE(exchange(self, self->eps[i]));
		EXPECT_DAT(dat_ep_disconnect(self->eps[i], DAT_CLOSE_GRACEFUL_FLAG));
		EXPECT_DAT(wait_number(p->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	}

	/* The server lives, and nothing is left of the workers and of their peers. */
	ASSERT_EQ(1, read(self->to_test[0], &c, 1));
	pair_close(p);
	EXPECT_TRUE(stock_returns_to(before));
	ASSERT_DAT(pair_open(p));
	for (i = 0; i < WORKERS; i++) {
		EXPECT_DAT(dat_psp_create(p->ia, workers[i].qual, p->cr_evd,
					  DAT_PSP_CONSUMER_FLAG, &psp));
		EXPECT_DAT(dat_psp_free(psp));
	}
	close(self->to_server[1]);
	ASSERT_EQ(server, waitpid(server, &status, 0));
	EXPECT_EQ(0, status);
}

/* Has a connection of its own, and descriptors that its worker inherits. */
static int serve_two(int to_test)
{
	struct pair pair;
	DAT_CR_HANDLE cr;
	int fd, cno_fd;
	DAT_CNO_HANDLE cno;

	if (pair_open(&pair) || write(to_test, &pair.qual, sizeof(pair.qual)) < 0 ||
	    dat_cno_create(pair.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno) ||
	    dat_linux_get_fd(pair.b.conn_evd, &fd) || dat_linux_get_fd(cno, &cno_fd) ||
	    next_cr(&pair, &cr) || dat_cr_accept(cr, pair.b.ep, 0, NULL) ||
	    wait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED) ||
	    employ(&pair, to_test, fd))
		return 1;
	for (;;)
		pause();
}

TEST_F(server, worker_outlives_server)
{
	struct pair *p = &self->pair;
	struct worker worker;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	int status;
	pid_t server;

	server = fork_child();
	if (!server)
		_exit(serve_two(self->to_test[1]));
	close(self->to_test[1]);
	ASSERT_EQ(sizeof(qual), read(self->to_test[0], &qual, sizeof(qual)));
	open_peers(_metadata, self, 2);
	ASSERT_DAT(connect_to(p, self->eps[0], qual));
	ASSERT_DAT(wait_number(p->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	hire(_metadata, self, self->eps[1], qual, &worker);

	EXPECT_GT(QUICK, kill_and_hear(_metadata, self, self->eps[0], server));
	ASSERT_EQ(server, waitpid(server, &status, 0));
	EXPECT_DAT(dat_psp_create(p->ia, qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_TRUE(exchange(self, self->eps[1]));
	EXPECT_DAT(dat_ep_disconnect(self->eps[1], DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT(wait_number(p->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_EQ(worker.pid, waitpid(worker.pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fork.c - a child of fork() is a process of its own: inherited handles, its own IA, its end
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pair.h"
#include "process.h"

/* The page size, at most */
#define REGION	65536

/* In a child: leave with 1, and say why. */
#define MUST(condition) do {						\
	if (!(condition)) {						\
		fprintf(stderr, "# fork.c:%d: %s\n", __LINE__, #condition);	\
		return 1;						\
	}								\
} while (0)

#define MUST_DAT(call) do {						\
	DAT_RETURN _ret = (call);					\
									\
	if (_ret) {							\
		fprintf(stderr, "# fork.c:%d: %s: %s\n", __LINE__, #call, dat_str(_ret)); \
		return 1;						\
	}								\
} while (0)

#define IS_INVALID(call)	(DAT_GET_TYPE(call) == DAT_INVALID_HANDLE)

/* The objects of a process: two EPs that are connected, and one of each other type */
struct own {
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;
	DAT_CNO_HANDLE cno;
	DAT_RSP_HANDLE rsp;
	DAT_IA_ADDRESS_PTR address;
};

static int own_open(struct own *own)
{
	struct pair *p = &own->pair;
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = 4,
		.max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_EP_HANDLE ep;

	MUST_DAT(pair_open_connected(p));
	MUST_DAT(regions_open(p, &own->a, &own->b, REGION, DAT_MEM_PRIV_ALL_FLAG));
	MUST_DAT(dat_rmr_create(p->a.pz, &own->rmr));
	MUST_DAT(dat_srq_create(p->ia, p->a.pz, &attr, &own->srq));
	MUST_DAT(dat_cno_create(p->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &own->cno));
	MUST_DAT(ep_like(p, &p->b, &ep));
	MUST_DAT(dat_rsp_create(p->ia, p->qual + 20000, ep, p->cr_evd, &own->rsp));
	MUST_DAT(ia_address(p->ia, &own->address));
	return 0;
}

static bool own_works(struct own *own)
{
	struct pair *p = &own->pair;

	memset(own->a.buf, 0x11, 64);
	memset(own->b.buf, 0x22, 64);
	return carries(p, p->a.ep, p->b.ep, &own->a, &own->b) &&
	       write_status(p, &own->a, own->b.rmr_context, own->b.buf, 64) == DAT_DTO_SUCCESS;
}

/* No call accepts a handle that this process has inherited. */
static int all_invalid(struct own *parents)
{
	struct pair *p = &parents->pair;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;
	DAT_COUNT nmore;

	MUST(IS_INVALID(dat_pz_create(p->ia, &pz)));
	MUST(IS_INVALID(dat_evd_dequeue(p->a.dto_evd, &event)));
	MUST(IS_INVALID(dat_evd_dequeue(p->async_evd, &event)));
	MUST(IS_INVALID(dat_evd_wait(p->a.conn_evd, 0, 1, &event, &nmore)));
	MUST(IS_INVALID(dat_evd_resize(p->a.conn_evd, 64)));
	MUST(IS_INVALID(dat_ep_get_status(p->a.ep, &state, &recv_idle, &request_idle)));
	MUST(IS_INVALID(post_send(p->a.ep, &parents->a, 0, 64, 1)));
	MUST(IS_INVALID(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG)));
	MUST(IS_INVALID(dat_cno_free(parents->cno)));
	MUST(IS_INVALID(dat_rsp_free(parents->rsp)));
	MUST(IS_INVALID(dat_psp_free(p->psp)));
	MUST(IS_INVALID(dat_rmr_free(parents->rmr)));
	MUST(IS_INVALID(dat_lmr_free(parents->a.lmr)));
	MUST(IS_INVALID(dat_srq_free(parents->srq)));
	MUST(IS_INVALID(dat_ep_free(p->b.ep)));
	MUST(IS_INVALID(dat_evd_free(p->b.dto_evd)));
	MUST(IS_INVALID(dat_pz_free(p->b.pz)));
	MUST(IS_INVALID(dat_ia_close(p->ia, DAT_CLOSE_GRACEFUL_FLAG)));
	MUST(IS_INVALID(dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG)));
	return 0;
}

static bool succeeds(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

FIXTURE(forked)
{
	struct own own;
	pthread_t thread;
	unsigned int written;
	bool stop;
	int status;
};

/* Each Write arrives before the next one. */
static void *traffic(void *arg)
{
	FIXTURE_DATA(forked) *self = arg;
	struct own *own = &self->own;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED) && !self->status) {
		memset(own->a.buf, 1 + self->written % 250, 256);
		self->status = write_status(&own->pair, &own->a, own->b.rmr_context,
					    own->b.buf, 256);
		if (!self->status && memcmp(own->a.buf, own->b.buf, 256))
			self->status = -1;
		__atomic_add_fetch(&self->written, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

FIXTURE_SETUP(forked)
{
	ASSERT_EQ(0, own_open(&self->own));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, traffic, self));
}

/* The children have changed none of the parent's objects. */
FIXTURE_TEARDOWN(forked)
{
	unsigned int before = __atomic_load_n(&self->written, __ATOMIC_RELAXED);

	while (__atomic_load_n(&self->written, __ATOMIC_RELAXED) < before + 2 && !self->status)
		usleep(1000);
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	pthread_join(self->thread, NULL);
	EXPECT_EQ(0, self->status);
	EXPECT_TRUE(own_works(&self->own));
	EXPECT_DAT(dat_rsp_free(self->own.rsp));
	EXPECT_DAT(dat_cno_free(self->own.cno));
	EXPECT_DAT(dat_ia_close(self->own.pair.ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST_F(forked, inherited_handles_invalid)
{
	pid_t pid = fork_child();

	if (!pid)
		_exit(all_invalid(&self->own));
	EXPECT_TRUE(succeeds(pid));
}

/* The kernel gives the objects of the child the numbers that those of the parent have. */
static int own_and_inherited(struct own *parents)
{
	struct own own = { 0 };

	MUST(!own_open(&own));
	MUST(own.pair.ia != parents->pair.ia);
	MUST(own.pair.a.ep != parents->pair.a.ep);
	MUST(!all_invalid(parents));
	MUST(own_works(&own));
	MUST_DAT(dat_ia_close(own.pair.ia, DAT_CLOSE_ABRUPT_FLAG));
	return all_invalid(parents);
}

TEST_F(forked, inherited_handles_invalid_beside_own)
{
	pid_t pid = fork_child();

	if (!pid)
		_exit(own_and_inherited(&self->own));
	EXPECT_TRUE(succeeds(pid));
}

static int each_generation(struct own *grandparents, struct own *parents)
{
	struct own own = { 0 };
	pid_t pid;

	MUST(!own_open(&own));
	MUST(!all_invalid(grandparents));
	if (!parents) {
		pid = fork_child();
		if (!pid)
			_exit(each_generation(grandparents, &own));
		MUST(succeeds(pid));
	} else {
		MUST(!all_invalid(parents));
	}
	MUST(own_works(&own));
	return 0;
}

TEST_F(forked, child_forks_again)
{
	pid_t pid = fork_child();

	if (!pid)
		_exit(each_generation(&self->own, NULL));
	EXPECT_TRUE(succeeds(pid));
}

/* The rest of the family outlives a child in the middle. */
static int orphan(int from_parent, int to_grandparent)
{
	struct own own = { 0 };
	char c = 0;

	MUST(!own_open(&own));
	MUST(write(to_grandparent, &c, 1) == 1);
	/* The parent is dead when the pipe has no other end. */
	MUST(read(from_parent, &c, 1) == 0);
	MUST(own_works(&own));
	MUST(write(to_grandparent, &c, 1) == 1);
	return 0;
}

TEST_F(forked, grandchild_outlives_child)
{
	int alive[2], said[2];
	char c;
	pid_t pid;

	ASSERT_EQ(0, pipe(said));
	pid = fork_child();
	if (!pid) {
		struct own own = { 0 };

		if (own_open(&own) || pipe(alive))
			_exit(1);
		if (!fork()) {
			close(alive[1]);
			_exit(orphan(alive[0], said[1]));
		}
		for (;;)
			pause();
	}
	close(said[1]);
	ASSERT_EQ(1, read(said[0], &c, 1));
	EXPECT_TRUE(kill_child(pid));
	EXPECT_EQ(1, read(said[0], &c, 1));
	EXPECT_EQ(0, read(said[0], &c, 1));
}

/* The address that the parent asked for remains readable, and the parent is the peer. */
static int ask_parent(struct own *parents, int fd)
{
	struct region region;
	struct pair pair;

	MUST_DAT(pair_open(&pair));
	MUST_DAT(region_open(&pair, pair.a.pz, &region, 16 * REGION, DAT_MEM_PRIV_ALL_FLAG));
	MUST_DAT(dat_ep_connect(pair.a.ep, parents->address, parents->pair.qual,
				DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	MUST_DAT(wait_number(pair.a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	MUST(write(fd, &pair.qual, sizeof(pair.qual)) == sizeof(pair.qual));
	for (;;)
		pause();
}

TEST_F(forked, killed_child_disconnects)
{
	struct pair *p = &self->own.pair;
	DAT_CR_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	long long pinned;
	int fds[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(fds));
	ASSERT_DAT(ep_like(p, &p->b, &ep));
	pinned = pinned_pages();
	pid = fork_child();
	if (!pid)
		_exit(ask_parent(&self->own, fds[1]));
	ASSERT_DAT(next_cr(p, &cr));
	ASSERT_DAT(dat_cr_accept(cr, ep, 0, NULL));
	ASSERT_DAT(wait_number(p->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	ASSERT_EQ(sizeof(qual), read(fds[0], &qual, sizeof(qual)));
	EXPECT_EQ(pinned + 16 * REGION / (long long)PAGE, pinned_pages());
	EXPECT_TRUE(kill_child(pid));
	EXPECT_DAT(wait_number(p->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	/* The memory and the port of the child are free while the parent lives. */
	EXPECT_EQ(pinned, pinned_pages());
	EXPECT_DAT(dat_psp_create(p->ia, qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

static pid_t spawn(const char *const argv[])
{
	pid_t pid;

	return posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) ? -1 : pid;
}

/* A program that a child executes has no file of ours. */
TEST_F(forked, exec_closes_device)
{
	static const char *const argv[] = {
		"/bin/sh", "-c", "! ls -l /proc/self/fd | grep -q /dev/dat", NULL,
	};
	pid_t pid;

	EXPECT_TRUE(succeeds(spawn(argv)));
	pid = vfork();
	if (!pid) {
		execv(argv[0], (char *const *)argv);
		_exit(1);
	}
	EXPECT_TRUE(succeeds(pid));
	pid = fork_child();
	if (!pid) {
		execv(argv[0], (char *const *)argv);
		_exit(1);
	}
	EXPECT_TRUE(succeeds(pid));
}

/* The library has nothing open in a child, until the child asks for something. */
static int asks_registry(void)
{
	DAT_PROVIDER_INFO infos[8], *list[8];
	DAT_COUNT num, i;

	for (i = 0; i < 8; i++)
		list[i] = &infos[i];
	MUST(library_fd() == -1);
	MUST_DAT(dat_registry_list_providers(8, &num, list));
	MUST(num >= 1);
	MUST(HANDLES_ARE_POINTERS || library_fd() >= 0);
	return 0;
}

TEST_F(forked, child_asks_registry)
{
	pid_t pid = fork_child();

	if (!pid)
		_exit(asks_registry());
	EXPECT_TRUE(succeeds(pid));
}

#define NUM_THREADS	4

/* Threads that are in the library whenever the process forks */
static void *busy(void *arg)
{
	FIXTURE_DATA(forked) *self = arg;
	struct pair *p = &self->own.pair;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		ret = dat_evd_create(p->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd);
		if (ret)
			return (void *)dat_str(ret);
		dat_evd_dequeue(evd, &event);
		dat_evd_wait(evd, 500, 1, &event, &nmore);
		dat_evd_resize(evd, 64);
		ret = dat_evd_free(evd);
		if (ret)
			return (void *)dat_str(ret);
	}
	return NULL;
}

static int short_life(void)
{
	struct own own = { 0 };

	MUST(!own_open(&own));
	MUST(own_works(&own));
	return 0;
}

TEST_F(forked, threads_inside_library)
{
	pthread_t threads[NUM_THREADS];
	int count = rounds(10, 100), i;
	void *wrong;
	pid_t pid;

	for (i = 0; i < NUM_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, busy, self));
	for (i = 0; i < count; i++) {
		pid = fork_child();
		if (!pid)
			_exit(short_life());
		EXPECT_TRUE(succeeds(pid));
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < NUM_THREADS; i++) {
		pthread_join(threads[i], &wrong);
		EXPECT_EQ(NULL, wrong)
			TH_LOG("%s", (char *)wrong);
	}
	/* The flag has also stopped the traffic. */
	pthread_join(self->thread, NULL);
	self->stop = false;
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, traffic, self));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exit_share.c - a file that goes to another process, by a Unix socket or by fork()
 *
 * With KDAPL_THOROUGH=1 there are more rounds.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "ioctls.h"
#include "objects.h"
#include "pair.h"
#include "process.h"

#define REGION		OBJECTS_REGION
/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		600

/* Kilobytes that a process is charged for. */
static long long charged(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return number_in(path, "VmPin:");
}

static const unsigned char any_order[NUM_OBJECTS] = {
	PZ, EVD, PSP, EP, LMR, RMR,
};

#define THEIRS	0x3c
#define OURS	0xa5

/* Makes everything, gives the file away, and waits for its end. */
static void giver(int socket)
{
	struct objects r = { 0 };

	r.buf = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(r.buf, THEIRS, REGION);
	if (objects_make_all(&r, any_order, false) ||
	    !send_fd(socket, r.fd, &r, sizeof(r)))
		_exit(1);
	for (;;)
		pause();
}

/*
 * The receiver reaches the memory of the giver as a peer does: from a
 * connection of its own, by way of an EP of the file that it was given.
 */
FIXTURE(passed)
{
	int sockets[2];
	pid_t giver;
	struct objects objects;
	struct pair pair;
	struct region region;
	long long pinned;
};

FIXTURE_VARIANT(passed)
{
	bool closes;
};

FIXTURE_VARIANT_ADD(passed, frees)
{
	.closes = false,
};

FIXTURE_VARIANT_ADD(passed, closes)
{
	.closes = true,
};

FIXTURE_SETUP(passed)
{
	struct pair *p = &self->pair;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sockets));
	self->giver = fork_child();
	if (!self->giver)
		giver(self->sockets[1]);
	ASSERT_DAT(pair_open(p));
	ASSERT_DAT(region_open(p, p->a.pz, &self->region, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	self->objects.fd = -1;
	self->objects.fd = receive_fd(self->sockets[0], &self->objects,
				      sizeof(self->objects));
	ASSERT_LE(0, self->objects.fd);
	self->pinned = pinned_pages();
}

FIXTURE_TEARDOWN(passed)
{
	kill_child(self->giver);
	close(self->objects.fd);
	pair_close(&self->pair);
}

TEST_F(passed, passed_fd_outlives_sender)
{
	struct objects *r = &self->objects, mine;
	struct pair *p = &self->pair;
	struct region *region = &self->region;
	struct dat_dev_lmr_create query = {
		.size = sizeof(query),
		.lmr = r->lmr,
	};
	const long pages = REGION / PAGE;
	int status;

	/* Who registered memory pays for it. */
	EXPECT_EQ(REGION / 1024, charged(self->giver));
	EXPECT_EQ(REGION / 1024, charged(getpid()));

	ASSERT_DAT(connect_to(p, p->a.ep, r->qual));
	ASSERT_EQ(0, objects_accept(r, r->ep));
	ASSERT_DAT(wait_number(p->a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	ASSERT_EQ(0, objects_wait(r, r->conn_evd, 1));
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
	EXPECT_TRUE(is_filled_with(region->buf, REGION, THEIRS));

	/* In the middle of a transfer. */
	ASSERT_DAT(post_read(p->a.ep, region, 0, REGION, r->rmr_context, r->buf,
			     1));
	ASSERT_EQ(0, kill(self->giver, SIGKILL));
	ASSERT_EQ(self->giver, waitpid(self->giver, &status, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->a.dto_evd, 1));
	EXPECT_EQ(self->pinned, pinned_pages());

	/* The memory keeps its contents and remains writable. */
	memset(region->buf, 0, REGION);
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
	EXPECT_TRUE(is_filled_with(region->buf, REGION, THEIRS));
	memset(region->buf, OURS, REGION);
	ASSERT_EQ(DAT_DTO_SUCCESS, write_status(p, region, r->rmr_context,
						r->buf, REGION));
	memset(region->buf, 0, REGION);
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
	EXPECT_TRUE(is_filled_with(region->buf, REGION, OURS));

	/* The receiver can send from the LMR. */
	ASSERT_EQ(0, dev_type(r->fd, DAT_DEV_LMR_QUERY, &query));
	EXPECT_EQ(REGION, query.length);
	EXPECT_EQ(ADDR(r->buf), query.address);
	memset(region->buf, 0, REGION);
	ASSERT_DAT(post_recv(p->a.ep, region, 0, REGION, 2));
	ASSERT_EQ(0, objects_post(r, DAT_DEV_SEND, 4096));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->a.dto_evd, 2));
	EXPECT_TRUE(is_filled_with(region->buf, 4096, OURS));
	EXPECT_EQ(0, objects_wait(r, r->dto_evd, 1));
	EXPECT_EQ(0, objects_post(r, DAT_DEV_RMR_BIND, 4096));
	EXPECT_EQ(0, objects_wait(r, r->dto_evd, 2));

	/* Memory that is registered now is the receiver's. */
	mine = *r;
	mine.buf = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, objects_lmr(&mine));
	EXPECT_EQ(2 * REGION / 1024, charged(getpid()));
	EXPECT_EQ(self->pinned + pages, pinned_pages());
	EXPECT_EQ(0, dev_free(mine.fd, DAT_DEV_LMR_FREE, mine.lmr));
	EXPECT_EQ(self->pinned, pinned_pages());

	if (variant->closes) {
		ASSERT_EQ(0, close(r->fd));
	} else {
		ASSERT_EQ(0, dev_free(r->fd, DAT_DEV_RMR_FREE, r->rmr));
		ASSERT_EQ(0, dev_free(r->fd, DAT_DEV_LMR_FREE, r->lmr));
	}
	EXPECT_EQ(self->pinned - pages, pinned_pages());
	EXPECT_EQ(REGION / 1024, charged(getpid()));
	EXPECT_NE(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
}

/* A process that forks while its memory is registered and in use. */

FIXTURE(forked)
{
	struct pair pair;
	struct region a, b;
	struct region quiet;
	unsigned int written;
	unsigned int wrong;
	int status;
	bool stop;
};

FIXTURE_SETUP(forked)
{
	struct pair *p = &self->pair;

	ASSERT_DAT(pair_open_connected(p));
	ASSERT_DAT(regions_open(p, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(region_open(p, p->b.pz, &self->quiet, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(forked)
{
	pair_close(&self->pair);
}

/* Each write says something new, and has to be seen where it went. */
static void *parents_traffic(void *arg)
{
	FIXTURE_DATA(forked) *self = arg;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		unsigned char value = 1 + self->written % 250;

		memset(self->a.buf, value, REGION / 4);
		self->status = write_status(&self->pair, &self->a,
					    self->b.rmr_context, self->b.buf,
					    REGION / 4);
		if (self->status)
			break;
		self->wrong += !is_filled_with(self->b.buf, REGION / 4, value);
		__atomic_add_fetch(&self->written, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F_TIMEOUT(forked, fork_memory_stays_parents, LIMIT)
{
	struct pair *p = &self->pair;
	long long pinned = pinned_pages();
	int count = rounds(12, 60), i, status;
	unsigned int before;
	pthread_t thread;
	pid_t pid;

	memset(self->quiet.buf, OURS, REGION);
	ASSERT_EQ(0, pthread_create(&thread, NULL, parents_traffic, self));
	for (i = 0; i < count; i++) {
		before = __atomic_load_n(&self->written, __ATOMIC_RELAXED);
		pid = fork_child();
		if (!pid) {
			/* Copies, if all is well. */
			memset(self->a.buf, 0xff, REGION);
			memset(self->b.buf, 0xff, REGION);
			memset(self->quiet.buf, 0xff, REGION);
			switch (i % 4) {
			case 0:
				execl("/bin/true", "true", NULL);
				_exit(1);
			case 1:
				_exit(DAT_GET_TYPE(dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG)) !=
				      DAT_INVALID_HANDLE);
			case 2:
				_exit(munmap(self->a.buf, REGION) ||
				      munmap(self->b.buf, REGION));
			default:
				kill(getpid(), SIGKILL);
			}
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(i % 4 == 3 ? SIGKILL : 0, status);
		/* Memory without writes in the meantime is unchanged. */
		EXPECT_TRUE(is_filled_with(self->quiet.buf, REGION, OURS));
		while (__atomic_load_n(&self->written, __ATOMIC_RELAXED) ==
		       before && !self->status)
			usleep(1000);
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_DTO_SUCCESS, self->status);
	EXPECT_EQ(0, self->wrong);
	EXPECT_EQ(pinned, pinned_pages());
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(p->a.ep));
	TH_LOG("%d children, %u writes", count, self->written);

	/* A device goes to the memory itself; what it finds is the parent's. */
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, &self->a,
					       self->quiet.rmr_context,
					       self->quiet.buf, REGION));
	EXPECT_TRUE(is_filled_with(self->a.buf, REGION, OURS));
}

TEST_HARNESS_MAIN

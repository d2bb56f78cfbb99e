// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_pages.c - an LMR is one set of pages, whatever the process maps there later
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pages.h"

#define NOT_THE_SAME	ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE)
#define CHANGED		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)

/* Other memory at the same addresses. */
static void replace(unsigned char *buf, size_t len)
{
	if (mmap(buf, len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != buf)
		abort();
	memset(buf, 1, len);
}

FIXTURE(pages)
{
	struct pair pair;
	struct region a;
	unsigned char *buf;
	struct region base;
};

FIXTURE_SETUP(pages)
{
	struct pair *p = &self->pair;

	ASSERT_TRUE(lift_limit());
	ASSERT_DAT(pair_open_connected(p));
	ASSERT_DAT(region_open(p, p->a.pz, &self->a, 2 * PAGE, ALL));
	self->buf = map_scattered();
}

FIXTURE_TEARDOWN(pages)
{
	pair_close(&self->pair);
}

/* The first byte of a page of an LMR, as a peer reads it; -1 if it cannot. */
static int peer_reads(FIXTURE_DATA(pages) *self, DAT_RMR_CONTEXT context,
		      const unsigned char *addr)
{
	memset(self->a.buf, 0xff, 8);
	if (read_status(&self->pair, &self->a, context, addr, 8))
		return -1;
	return self->a.buf[0];
}

TEST_F(pages, lmr_over_lmr_same_pages)
{
	struct pair *p = &self->pair;
	struct region over;
	pid_t child;

	ASSERT_DAT(create_base(p, self->buf, &self->base));
	/* All this leaves the pages where they are. */
	child = fork();
	if (!child)
		_exit(0);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	ASSERT_EQ(0, mprotect(self->buf, LEN, PROT_READ));
	ASSERT_EQ(0, mprotect(self->buf, LEN, PROT_READ | PROT_WRITE));
	self->buf[LEN / 2] = 77;
	ASSERT_DAT(create_over(p, &self->base, ALL, &over));
	EXPECT_EQ(LEN, over.len);
	EXPECT_EQ(77, peer_reads(self, over.rmr_context, self->buf + LEN / 2));
	ASSERT_DAT(dat_lmr_free(over.lmr));
	ASSERT_DAT(create_over(p, &self->base, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			       &over));
	EXPECT_EQ(77, peer_reads(self, over.rmr_context, self->buf + LEN / 2));
}

TEST_F(pages, lmr_over_lmr_pages_replaced)
{
	long long pinned = pinned_pages(), charged = charged_pages();
	struct pair *p = &self->pair;
	struct region over;

	ASSERT_DAT(create_base(p, self->buf, &self->base));
	replace(self->buf + LEN / 2, PAGE);
	EXPECT_EQ(NOT_THE_SAME, create_over(p, &self->base, ALL, &over));
	replace(self->buf, LEN);
	EXPECT_EQ(NOT_THE_SAME, create_over(p, &self->base, ALL, &over));
	EXPECT_EQ(NOT_THE_SAME,
		  create_over(p, &self->base, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			      &over));
	ASSERT_EQ(0, munmap(self->buf, LEN));
	EXPECT_EQ(NOT_THE_SAME, create_over(p, &self->base, ALL, &over));
	EXPECT_EQ(charged + (long long)(LEN / PAGE), charged_pages());
	ASSERT_DAT(dat_lmr_free(self->base.lmr));
	EXPECT_EQ(pinned, pinned_pages());
	EXPECT_EQ(charged, charged_pages());
}

static void count_tick(int sig)
{
	(void)sig;
}

/* The first such LMR of a process takes locks that no signal may interrupt. */
TEST_F(pages, create_during_signals)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = {};
	struct sigaction action = { .sa_handler = count_tick };
	DAT_RETURN ret;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	ret = create_base(&self->pair, self->buf, &self->base);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	EXPECT_DAT(ret);
}

/* Each LMR over the LMR would pin other pages, which the user is not charged for. */
TEST_F(pages, lmr_over_lmr_memlock_limit)
{
	struct rlimit limit = { 3 * LEN, 3 * LEN };
	struct pair *p = &self->pair;
	struct region over[8];
	long long pinned;
	unsigned int i;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, seteuid(65534));
	ASSERT_DAT(create_base(p, self->buf, &self->base));
	ASSERT_EQ(0, seteuid(0));
	pinned = pinned_pages();
	ASSERT_EQ(0, seteuid(65534));
	for (i = 0; i < 8; i++) {
		replace(self->buf, LEN);
		EXPECT_NE(DAT_SUCCESS,
			  create_over(p, &self->base, ALL, &over[i]));
	}
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(pinned, pinned_pages());
}

/**
 * struct swapper - a thread that maps one file and another at the same address
 * @fds: the files
 * @buf: where
 * @stop: set to end it
 */
struct swapper {
	int fds[2];
	unsigned char *buf;
	atomic_bool stop;
};

static void map_file(const struct swapper *s, int which)
{
	if (mmap(s->buf, LEN, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_POPULATE, s->fds[which],
		 0) != s->buf)
		abort();
}

static void *swap_files(void *arg)
{
	struct swapper *s = arg;
	unsigned int i;

	for (i = 0; !atomic_load(&s->stop); i++) {
		map_file(s, i & 1);
		usleep(rand() % 4000);
	}
	return NULL;
}

static bool make_files(struct swapper *s)
{
	int i;

	for (i = 0; i < 2; i++) {
		s->fds[i] = memfd_create("pages", MFD_CLOEXEC);
		if (s->fds[i] < 0 || ftruncate(s->fds[i], LEN))
			return false;
		map_file(s, i);
		touch_scattered(s->buf, i + 1);
	}
	return true;
}

/* A window shows the LMR's own pages, whatever the device has looked up. */
static bool window_agrees(FIXTURE_DATA(pages) *self, size_t at)
{
	struct pair *p = &self->pair;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	int window = -1, lmr;

	if (dat_rmr_create(p->b.pz, &rmr))
		return false;
	if (!bind_window(rmr, &self->base, at, PAGE,
			 DAT_MEM_PRIV_REMOTE_READ_FLAG, p->b.ep, 1,
			 DAT_COMPLETION_DEFAULT_FLAG, &context) &&
	    wait_bind(p->b.dto_evd, 1) == DAT_RMR_BIND_SUCCESS)
		window = peer_reads(self, context, self->buf + at);
	lmr = peer_reads(self, self->base.rmr_context, self->buf + at);
	return !dat_rmr_free(rmr) && window > 0 && window == lmr;
}

TEST_F_TIMEOUT(pages, create_during_remapping, 600)
{
	struct swapper swapper = { .buf = self->buf };
	unsigned int i, made = 0;
	pthread_t thread;
	DAT_RETURN ret;

	ASSERT_TRUE(make_files(&swapper));
	ASSERT_EQ(0, pthread_create(&thread, NULL, swap_files, &swapper));
	for (i = 0; i < 60; i++) {
		ret = create_base(&self->pair, self->buf, &self->base);
		if (ret) {
			EXPECT_EQ(CHANGED, ret);
			continue;
		}
		made++;
		EXPECT_TRUE(window_agrees(self, 0));
		EXPECT_TRUE(window_agrees(self, LEN / 2));
		EXPECT_TRUE(window_agrees(self, LEN - PAGE));
		ASSERT_DAT(dat_lmr_free(self->base.lmr));
	}
	atomic_store(&swapper.stop, true);
	pthread_join(thread, NULL);
	TH_LOG("%u of %u were registered", made, i);
	ASSERT_DAT(create_base(&self->pair, self->buf, &self->base));
}

TEST_HARNESS_MAIN

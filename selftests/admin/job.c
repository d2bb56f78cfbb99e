// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * job.c - what a job of MPI takes, and how much of it an ordinary user gets
 *
 * Each of 64 ranks is connected to each other rank by two EPs. Documentation/admin.rst, "What a
 * job takes", has the figures; the Makefile makes job_table.h from that table.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pair.h"
#include "process.h"

#define RANKS		64
#define EPS		126
#define RECVS		8
#define REQUESTS	76
/* For one EP of the full size and one with a few requests, of each peer */
#define QLEN		6426
#define EVENTS		256
#define LMR		65536
#define FIRST_QUAL	20000

#define MAX_USER_BYTES	"/sys/module/kdapl/parameters/max_user_bytes"
#define MB		(1LL << 20)
#define NOBODY		65534

/*
 * Tasks of a rank. Each but TELL answers how many objects it has made. The first ones have the
 * order of the rows of the table. JOIN is MAKE_EPS and CONNECT.
 */
enum task { OPEN, JOIN, REGISTER, ROWS, MAKE_EPS, CONNECT, TELL };

/* Bytes of an object */
static const struct { const char *what; long long memory, charge; } table[] = {
#include "job_table.h"
};

static int num_eps = EPS;

/* A rank */
static struct pair pair;
static DAT_EP_HANDLE eps[EPS];
static DAT_RETURN last;
static char buf[LMR] __attribute__((aligned(MAX_PAGE)));

static DAT_RETURN open_rank(void)
{
	DAT_RETURN ret;

	pair.qual = FIRST_QUAL + getpid();
	ret = dat_ia_open((char *)ia_name(), EVENTS, &pair.async_evd, &pair.ia) ?:
	      dat_pz_create(pair.ia, &pair.a.pz) ?:
	      dat_evd_create(pair.ia, EVENTS, DAT_HANDLE_NULL,
			     DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &pair.cr_evd) ?:
	      dat_evd_create(pair.ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			     &pair.a.dto_evd);
	while (!ret) {
		ret = dat_psp_create(pair.ia, pair.qual, pair.cr_evd, DAT_PSP_CONSUMER_FLAG,
				     &pair.psp);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
		pair.qual += 1024;
		ret = DAT_SUCCESS;
	}
	return ret;
}

static DAT_RETURN make_ep(DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = RECVS,
		.max_request_dtos = REQUESTS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};

	return dat_ep_create(pair.ia, pair.a.pz, pair.a.dto_evd, pair.a.dto_evd, pair.cr_evd,
			     &attr, ep);
}

/* The rank stands for its peers too. */
static DAT_RETURN connect_two(DAT_EP_HANDLE *two)
{
	DAT_CR_HANDLE cr;

	return connect_to(&pair, two[0], pair.qual) ?:
	       next_cr(&pair, &cr) ?:
	       dat_cr_accept(cr, two[1], 0, NULL) ?:
	       wait_number(pair.cr_evd, DAT_CONNECTION_EVENT_ESTABLISHED) ?:
	       wait_number(pair.cr_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_RETURN register_one(void)
{
	DAT_REGION_DESCRIPTION description = { .for_va = buf };
	struct region region;
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_create(pair.ia, DAT_MEM_TYPE_VIRTUAL, description, LMR, pair.a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &region.lmr, &region.lmr_context,
			      &region.rmr_context, &size, &address);
}

static int carry_out(int task)
{
	int num = 0;

	if (task == TELL)
		return last;
	if (task == JOIN)
		return carry_out(MAKE_EPS) < num_eps ? 0 : carry_out(CONNECT);
	for (last = DAT_SUCCESS; !last && num < num_eps; num++) {
		if (task == OPEN)
			return !(last = open_rank());
		if (task == MAKE_EPS)
			last = make_ep(&eps[num]);
		else if (task == REGISTER)
			last = register_one();
		else if (!(num % 2))
			last = connect_two(&eps[num]);
	}
	return last ? num - 1 : num;
}

static bool begin(const void *arg)
{
	const bool *is_root = arg;

	/* The pages of the LMRs are the program's, and so are not measured. */
	memset(buf, 1, LMR);
	return *is_root || (!setgid(NOBODY) && !setuid(NOBODY));
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		perror(path);
	close(fd);
}

/* Each processor keeps up to 28 MB of free pages for itself, or as few as the kernel permits. */
static void keep_pages(bool few)
{
	write_file("/proc/sys/vm/percpu_pagelist_high_fraction", few ? "1000000" : "0");
}

/* Memory is freed after a grace period. */
static long long available(void)
{
	long long before, now = 0;

	do {
		before = now;
		usleep(500000);
		write_file("/proc/sys/vm/drop_caches", "1");
		now = number_in("/proc/meminfo", "MemAvailable:");
	} while (llabs(now - before) > 64);
	return now * 1024;
}

FIXTURE(job)
{
	struct servant rank[RANKS];
	mode_t mode;
};

FIXTURE_SETUP(job)
{
	struct stat st;

	if (geteuid())
		SKIP(return, "only root becomes another user");
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		SKIP(return, "sanitizers need more memory than the objects");
	ASSERT_EQ(0, stat("/dev/dat", &st));
	self->mode = st.st_mode & 07777;
	ASSERT_EQ(0, chmod("/dev/dat", 0666));
	keep_pages(true);
}

FIXTURE_TEARDOWN(job)
{
	if (!self->mode)
		return;
	keep_pages(false);
	EXPECT_EQ(0, chmod("/dev/dat", self->mode));
}

#define FEW_EPS	32

/* All ranks do @task. The memory and the charge of one object are as the table says. */
static void measure(struct __test_metadata *_metadata, FIXTURE_DATA(job) *self, enum task task)
{
	long long memory = available(), charge = 0;
	int i, num = task == OPEN ? 1 : FEW_EPS, total = num * RANKS;

	for (i = 0; i < RANKS; i++)
		charge -= charged_bytes(self->rank[i].pid);
	for (i = 0; i < RANKS; i++)
		ASSERT_EQ(num, servant_tell(&self->rank[i], task));
	memory -= available();
	for (i = 0; i < RANKS; i++)
		charge += charged_bytes(self->rank[i].pid);
	TH_LOG("%s: %lld bytes of memory, %lld charged", table[task].what, memory / total,
	       charge / total);
	/* The factor that Documentation/admin.rst promises; and what others allocate meanwhile. */
	EXPECT_GE(charge + charge / 4 + MB / 4, memory);
	EXPECT_GE(table[task].memory * total * 6 / 5 + MB / 4, memory);
	/* The caches of earlier objects may serve again. Later kernels need less for an LMR. */
	if (kernel_is_before(6, 12)) {
		EXPECT_LE(table[task].memory * total * 3 / 5, memory);
	}
	EXPECT_GE(table[task].charge * total / 10,
		  llabs(charge - table[task].charge * total));
}

TEST_F(job, takes_what_the_table_says)
{
	const bool is_root = true;
	enum task task;
	int i;

	if (strncmp(ia_name(), "rxe", 3))
		SKIP(return, "the table is for rxe");
	ASSERT_EQ(ROWS, (int)ARRAY_LEN(table));
	num_eps = FEW_EPS;
	for (i = 0; i < RANKS; i++)
		ASSERT_TRUE(servant_start(&self->rank[i], begin, carry_out, &is_root));
	for (task = OPEN; task < ROWS; task++)
		measure(_metadata, self, task);
	for (i = 0; i < RANKS; i++)
		servant_end(&self->rank[i]);
}

/*
 * The job needs more than its user may have. So it ends with an error of DAT, the host keeps
 * most of its memory, and another user still works.
 */
TEST_F(job, of_a_user_is_refused_in_time)
{
	long long before, after, promised = number_in(MAX_USER_BYTES, "");
	long long need = RANKS * (table[OPEN].charge + EPS * table[JOIN].charge);
	int i, num, refused = 0, total = 0;
	long long sum = 0, of_root = 0;
	const bool is_root = false;
	struct pair other;

	if (need < promised + promised / 4)
		SKIP(return, "on this host the user may have that much");
	before = available();
	for (i = 0; i < RANKS; i++) {
		ASSERT_TRUE(servant_start(&self->rank[i], begin, carry_out, &is_root));
		num = servant_tell(&self->rank[i], OPEN);
		if (num > 0) {
			num = servant_tell(&self->rank[i], MAKE_EPS);
			ASSERT_LE(0, num);
			total += num;
		}
		if (num < EPS) {
			refused++;
			EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES,
				  DAT_GET_TYPE(servant_tell(&self->rank[i], TELL)));
		} else {
			EXPECT_EQ(EPS, servant_tell(&self->rank[i], CONNECT)) {
				TH_LOG("%s", dat_str(servant_tell(&self->rank[i], TELL)));
			}
		}
	}
	after = available();
	for (i = 0; i < RANKS; i++)
		sum += charged_bytes(self->rank[i].pid);
	TH_LOG("%d EPs, %d of %d ranks refused; charged %lld of %lld bytes, %lld of %lld less",
	       total, refused, RANKS, sum, promised, before - after, before);
	EXPECT_LT(0, refused);
	EXPECT_GE(promised, sum);
	EXPECT_LT(promised * 3 / 4, sum);
	EXPECT_GE(promised + promised / 4 + RANKS * 2 * MB, before - after);
	of_root = charged_bytes(getpid());
	EXPECT_DAT(pair_open_connected(&other));
	EXPECT_LT(of_root, charged_bytes(getpid()));
	pair_close(&other);
	for (i = 0; i < RANKS; i++)
		servant_end(&self->rank[i]);
	/* It comes back; the harness ends a test that takes too long. */
	while (before - available() > RANKS * MB / 2)
		TH_LOG("%lld bytes are still missing", before - available());
}

TEST_HARNESS_MAIN

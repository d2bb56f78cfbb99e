// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * memlock.c - RLIMIT_MEMLOCK: what the processes of a user can pin together
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pair.h"
#include "process.h"

#define LIMIT		32
#define SOMEBODY	65534
#define SOMEBODY_ELSE	65533

/* What a worker is told: pages to register, or one of these. */
enum {
	FREE_ALL = -1,		/* frees every LMR */
	BECOME_ELSE = -2,	/* becomes another user */
};

#define MAX_LMRS	64

struct work {
	struct pair pair;
	DAT_LMR_HANDLE lmrs[MAX_LMRS];
	int num_lmrs;
	unsigned char *buf;
};

/* Another user's process would outlive a test that ends early. */
static bool become(uid_t uid)
{
	return !seteuid(0) && !setresuid(uid, uid, 0) &&
	       !prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static DAT_RETURN do_create(struct work *w, int pages)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = w->buf };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_RETURN ret;
	DAT_VLEN size;

	if (w->num_lmrs == MAX_LMRS)
		return DAT_INTERNAL_ERROR;
	ret = dat_lmr_create(w->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc,
			     pages * PAGE, w->pair.a.pz, DAT_MEM_PRIV_ALL_FLAG,
			     &w->lmrs[w->num_lmrs], &lmr_context, &rmr_context,
			     &size, &address);
	w->num_lmrs += ret == DAT_SUCCESS;
	return ret;
}

static DAT_RETURN do_free_all(struct work *w)
{
	DAT_RETURN ret = DAT_SUCCESS;

	while (ret == DAT_SUCCESS && w->num_lmrs)
		ret = dat_lmr_free(w->lmrs[--w->num_lmrs]);
	return ret;
}

/* Of a worker */
static struct work worker;

/* The type of what the call returned. */
static int do_what(int what)
{
	switch (what) {
	case FREE_ALL:
		return DAT_GET_TYPE(do_free_all(&worker));
	case BECOME_ELSE:
		return become(SOMEBODY_ELSE) ? DAT_SUCCESS : DAT_INTERNAL_ERROR;
	default:
		return DAT_GET_TYPE(do_create(&worker, what));
	}
}

static bool begin(const void *uid)
{
	const struct rlimit limit = { LIMIT * PAGE, LIMIT * PAGE };

	worker.buf = mmap(NULL, LIMIT * 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return worker.buf != MAP_FAILED && !pair_open(&worker.pair) &&
	       !setrlimit(RLIMIT_MEMLOCK, &limit) && become(*(const uid_t *)uid);
}

/* No parent of workers may have the device open. */
static bool worker_start(struct servant *servant, uid_t uid)
{
	return servant_start(servant, begin, do_what, &uid);
}

TEST(limit_shared_within_user)
{
	struct servant a, b;

	ASSERT_TRUE(worker_start(&a, SOMEBODY));
	ASSERT_TRUE(worker_start(&b, SOMEBODY));
	ASSERT_DAT(servant_tell(&a, LIMIT - 12));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&b, 13));
	EXPECT_DAT(servant_tell(&b, 12));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&b, 1));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&a, 1));
	/* What is freed is there for the other. */
	EXPECT_DAT(servant_tell(&a, FREE_ALL));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&b, LIMIT - 11));
	EXPECT_DAT(servant_tell(&b, LIMIT - 12));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&a, 1));
	servant_end(&a);
	servant_end(&b);
}

TEST(limit_separate_per_user)
{
	struct servant a, b;

	ASSERT_TRUE(worker_start(&a, SOMEBODY));
	ASSERT_TRUE(worker_start(&b, SOMEBODY_ELSE));
	ASSERT_DAT(servant_tell(&a, LIMIT));
	EXPECT_DAT(servant_tell(&b, LIMIT));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&a, 1));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&b, 1));
	servant_end(&a);
	servant_end(&b);
}

TEST(killed_process_uncharged)
{
	struct servant a, b;
	unsigned int i;

	ASSERT_TRUE(worker_start(&b, SOMEBODY));
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(worker_start(&a, SOMEBODY));
		ASSERT_DAT(servant_tell(&a, LIMIT));
		EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&b, 1));
		servant_end(&a);
		ASSERT_DAT(servant_tell(&b, LIMIT));
		ASSERT_DAT(servant_tell(&b, FREE_ALL));
	}
	servant_end(&b);
}

TEST(setuid_uncharges_original_user)
{
	struct servant a, b;

	ASSERT_TRUE(worker_start(&a, SOMEBODY));
	ASSERT_TRUE(worker_start(&b, SOMEBODY));
	ASSERT_DAT(servant_tell(&a, LIMIT));
	ASSERT_DAT(servant_tell(&a, BECOME_ELSE));
	/* The process has pinned as much as it may, whoever it is. */
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&a, 1));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&b, 1));
	ASSERT_DAT(servant_tell(&a, FREE_ALL));
	EXPECT_DAT(servant_tell(&b, LIMIT));
	EXPECT_DAT(servant_tell(&a, LIMIT));
	servant_end(&a);
	servant_end(&b);
}

TEST(failed_create_not_charged)
{
	struct servant a, b;
	unsigned int i;

	ASSERT_TRUE(worker_start(&a, SOMEBODY));
	ASSERT_TRUE(worker_start(&b, SOMEBODY));
	for (i = 0; i < 20; i++) {
		/* Beyond the limit, and beyond the memory. */
		EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(&a, LIMIT + 1));
		EXPECT_DAT(servant_tell(&a, i % LIMIT + 1));
		EXPECT_DAT(servant_tell(&a, FREE_ALL));
	}
	EXPECT_DAT(servant_tell(&b, LIMIT));
	servant_end(&a);
	servant_end(&b);
}

/* Who may exceed the limit takes nothing from those who may not. */
TEST(root_not_charged)
{
	struct work w = {};
	struct servant a;

	ASSERT_TRUE(worker_start(&a, 0));
	EXPECT_DAT(servant_tell(&a, LIMIT + 1));
	EXPECT_DAT(servant_tell(&a, LIMIT + 1));
	w.buf = mmap(NULL, LIMIT * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_DAT(pair_open(&w.pair));
	ASSERT_EQ(0, charged_pages());
	/* Of the same user as that one, but without its privilege. */
	ASSERT_EQ(0, seteuid(SOMEBODY));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK,
			       &(struct rlimit){ LIMIT * PAGE, LIMIT * PAGE }));
	EXPECT_DAT(do_create(&w, LIMIT));
	EXPECT_EQ(LIMIT, charged_pages());
	EXPECT_DAT(do_free_all(&w));
	EXPECT_EQ(0, charged_pages());
	ASSERT_EQ(0, seteuid(0));
	pair_close(&w.pair);
	servant_end(&a);
}

TEST_HARNESS_MAIN

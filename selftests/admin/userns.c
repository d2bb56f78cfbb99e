// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * userns.c - a user gets nothing more by ids in user namespaces: Documentation/admin.rst
 */
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pair.h"
#include "process.h"

/* No other id in use begins with these digits: see has_queue(). */
#define OWNER		4321
/* The first subordinate id of the owner, and of another range */
#define SUBORDINATE	100000
#define OTHERS		200000
#define NUM_IDS		8

/* RLIMIT_MEMLOCK of a worker, in pages */
#define LIMIT		32

#define MAX_USER_BYTES	"/sys/module/kdapl/parameters/max_user_bytes"
#define MB		(1LL << 20)
#define BYTES		(8 * MB)
/* An EVD of a worker takes less. */
#define EVD_BYTES	(MB / 4)

/* A task of a worker: pages to register, or one of these. */
enum {
	FREE_ALL = -1,		/* frees every LMR */
	TAKE_BYTES = -2,	/* creates EVDs until one is refused */
};

#define MAX_LMRS	8
#define MAX_EVDS	1024

/**
 * struct userns - a user namespace
 * @owner: the id that creates the namespace, and becomes 0 in it
 * @first: the id that becomes 1; more ids follow
 * @num: number of ids from @first
 * @pages: RLIMIT_MEMLOCK of the process that creates the namespace, in pages
 */
struct userns {
	uid_t owner;
	uid_t first;
	unsigned int num;
	unsigned int pages;
};

/**
 * struct place - where a worker lives
 * @depth: number of nested namespaces
 * @ns: the namespaces, from the outer one
 * @uid: id of the worker in the inner one
 */
struct place {
	int depth;
	struct userns ns[2];
	uid_t uid;
};

static const struct place outside = { .uid = OWNER };

static struct place inside(uid_t uid)
{
	return (struct place){ 1, { { OWNER, SUBORDINATE, NUM_IDS, LIMIT } }, uid };
}

/* The owner of the inner namespace is the id 1 of the outer one. */
static struct place nested(uid_t uid, unsigned int pages)
{
	return (struct place){
		2, { { OWNER, SUBORDINATE, NUM_IDS, LIMIT }, { 1, 2, 2, pages } }, uid
	};
}

static struct place container_of_root(uid_t uid)
{
	return (struct place){ 1, { { 0, OTHERS, NUM_IDS, LIMIT } }, uid };
}

static bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) > 0;

	close(fd);
	return ok;
}

static bool set_memlock(unsigned int pages)
{
	const struct rlimit limit = { pages * PAGE, LIMIT * PAGE };

	return !setrlimit(RLIMIT_MEMLOCK, &limit);
}

static bool write_maps(pid_t pid, const struct userns *ns)
{
	char path[64], map[64];

	snprintf(map, sizeof(map), "0 %u 1\n1 %u %u\n", ns->owner, ns->first,
		 ns->num);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (!write_file(path, map))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	return write_file(path, "0 0 1\n");
}

/*
 * Creates a namespace as its owner. A child that has the privilege to map ids stands
 * in for newuidmap(1).
 */
static bool enter(const struct userns *ns)
{
	pid_t self = getpid(), mapper;
	int ready[2], status;
	char c;

	if (pipe(ready))
		return false;
	mapper = fork();
	if (!mapper) {
		close(ready[1]);
		_exit(read(ready[0], &c, 1) != 1 || !write_maps(self, ns));
	}
	/* Who is not dumpable belongs to root, also its maps. */
	if (!set_memlock(ns->pages) || setresuid(ns->owner, ns->owner, ns->owner) ||
	    unshare(CLONE_NEWUSER) || prctl(PR_SET_DUMPABLE, 1) ||
	    write(ready[1], "", 1) != 1) {
		kill_child(mapper);
		return false;
	}
	close(ready[0]);
	close(ready[1]);
	return waitpid(mapper, &status, 0) == mapper && !status;
}

static struct {
	DAT_EVD_HANDLE async_evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmrs[MAX_LMRS];
	int num_lmrs;
	char *buf;
} worker;

/* The worker opens its file where it lives. */
static bool begin(const void *arg)
{
	const struct place *place = arg;
	int i;

	if (!set_memlock(LIMIT))
		return false;
	for (i = 0; i < place->depth; i++)
		if (!enter(&place->ns[i]))
			return false;
	worker.buf = mmap(NULL, 2 * LIMIT * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return set_memlock(LIMIT) &&
	       !setresuid(place->uid, place->uid, place->uid) &&
	       worker.buf != MAP_FAILED &&
	       !dat_ia_open((char *)ia_name(), 8, &worker.async_evd, &worker.ia) &&
	       !dat_pz_create(worker.ia, &worker.pz);
}

static DAT_RETURN pin(int pages)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = worker.buf };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_RETURN ret;
	DAT_VLEN size;

	if (worker.num_lmrs == MAX_LMRS)
		return DAT_INTERNAL_ERROR;
	ret = dat_lmr_create(worker.ia, DAT_MEM_TYPE_VIRTUAL, desc, pages * PAGE,
			     worker.pz, DAT_MEM_PRIV_ALL_FLAG,
			     &worker.lmrs[worker.num_lmrs], &lmr_context,
			     &rmr_context, &size, &address);
	worker.num_lmrs += ret == DAT_SUCCESS;
	return ret;
}

static DAT_RETURN free_all(void)
{
	DAT_RETURN ret = DAT_SUCCESS;

	while (ret == DAT_SUCCESS && worker.num_lmrs)
		ret = dat_lmr_free(worker.lmrs[--worker.num_lmrs]);
	return ret;
}

static DAT_RETURN take_bytes(void)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVD_HANDLE evd;
	int i;

	for (i = 0; i < MAX_EVDS && ret == DAT_SUCCESS; i++)
		ret = dat_evd_create(worker.ia, 1024, DAT_HANDLE_NULL,
				     DAT_EVD_SOFTWARE_FLAG, &evd);
	return ret;
}

static int carry_out(int what)
{
	switch (what) {
	case FREE_ALL:
		return DAT_GET_TYPE(free_all());
	case TAKE_BYTES:
		return DAT_GET_TYPE(take_bytes());
	default:
		return DAT_GET_TYPE(pin(what));
	}
}

/* No parent of workers may have the device open. */
static bool worker_start(struct servant *servant, struct place place)
{
	return servant_start(servant, begin, carry_out, &place);
}

FIXTURE(userns)
{
	long long user_bytes;
	mode_t mode;
};

FIXTURE_SETUP(userns)
{
	struct stat st;

	if (geteuid())
		SKIP(return, "only root can map ids of others");
	if (access("/proc/self/ns/user", F_OK))
		SKIP(return, "this kernel has no user namespaces");
	self->user_bytes = number_in(MAX_USER_BYTES, "");
	ASSERT_EQ(0, stat("/dev/dat", &st));
	self->mode = st.st_mode & 07777;
	ASSERT_EQ(0, chmod("/dev/dat", 0666));
}

static bool set_user_bytes(long long bytes)
{
	char number[32];

	snprintf(number, sizeof(number), "%lld", bytes);
	return write_file(MAX_USER_BYTES, number);
}

FIXTURE_TEARDOWN(userns)
{
	if (!self->mode)
		return;
	EXPECT_TRUE(set_user_bytes(self->user_bytes));
	EXPECT_EQ(0, chmod("/dev/dat", self->mode));
}

#define EXPECT_REFUSED(servant, what) \
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, servant_tell(servant, what))

TEST_F(userns, pinned_pages_shared_by_ids)
{
	struct servant ids[NUM_IDS], owner;
	int i;

	for (i = 0; i < NUM_IDS; i++)
		ASSERT_TRUE(worker_start(&ids[i], inside(i)));
	for (i = 0; i < NUM_IDS; i++)
		EXPECT_DAT(servant_tell(&ids[i], LIMIT / NUM_IDS));
	for (i = 0; i < NUM_IDS; i++)
		EXPECT_REFUSED(&ids[i], 1);
	for (i = 0; i < NUM_IDS; i++)
		servant_end(&ids[i]);
	/* All of it comes back. */
	ASSERT_TRUE(worker_start(&owner, outside));
	EXPECT_DAT(servant_tell(&owner, LIMIT));
	servant_end(&owner);
}

TEST_F(userns, pinned_pages_shared_with_outside)
{
	struct servant owner, id;

	ASSERT_TRUE(worker_start(&owner, outside));
	ASSERT_TRUE(worker_start(&id, inside(1)));
	ASSERT_DAT(servant_tell(&owner, LIMIT - 5));
	EXPECT_REFUSED(&id, 6);
	EXPECT_DAT(servant_tell(&id, 5));
	EXPECT_REFUSED(&owner, 1);
	/* A refusal charges neither the owner nor the id. */
	EXPECT_DAT(servant_tell(&owner, FREE_ALL));
	EXPECT_DAT(servant_tell(&id, LIMIT - 5));
	EXPECT_REFUSED(&owner, 1);
	EXPECT_DAT(servant_tell(&id, FREE_ALL));
	EXPECT_DAT(servant_tell(&owner, LIMIT));
	servant_end(&owner);
	servant_end(&id);
}

/* Half of the limit for all ids of the inner namespace together */
TEST_F(userns, pinned_pages_nested)
{
	struct servant owner, a, b;

	ASSERT_TRUE(worker_start(&owner, outside));
	ASSERT_TRUE(worker_start(&a, nested(1, LIMIT / 2)));
	ASSERT_TRUE(worker_start(&b, nested(2, LIMIT / 2)));
	EXPECT_REFUSED(&a, LIMIT / 2 + 1);
	EXPECT_DAT(servant_tell(&a, LIMIT / 2));
	EXPECT_REFUSED(&b, 1);
	EXPECT_REFUSED(&owner, LIMIT / 2 + 1);
	EXPECT_DAT(servant_tell(&owner, LIMIT / 2));
	EXPECT_DAT(servant_tell(&a, FREE_ALL));
	EXPECT_DAT(servant_tell(&b, LIMIT / 2));
	EXPECT_REFUSED(&owner, 1);
	servant_end(&a);
	servant_end(&b);
	EXPECT_DAT(servant_tell(&owner, LIMIT / 2));
	servant_end(&owner);
}

TEST_F(userns, pinned_pages_of_roots_containers_separate)
{
	struct servant a, b;

	ASSERT_TRUE(worker_start(&a, container_of_root(1)));
	ASSERT_TRUE(worker_start(&b, container_of_root(2)));
	ASSERT_DAT(servant_tell(&a, LIMIT));
	EXPECT_DAT(servant_tell(&b, LIMIT));
	EXPECT_REFUSED(&a, 1);
	EXPECT_REFUSED(&b, 1);
	servant_end(&a);
	servant_end(&b);
}

/* Whether a new process of the owner gets nearly all that the owner may have. */
static bool owner_gets_all(void)
{
	struct servant owner;
	bool refused;

	if (!worker_start(&owner, outside))
		return false;
	/* Memory of the dead is freed after a grace period; the harness ends what hangs. */
	do
		refused = servant_tell(&owner, TAKE_BYTES) ==
			  DAT_INSUFFICIENT_RESOURCES;
	while (refused && charged_bytes(owner.pid) < BYTES - EVD_BYTES);
	servant_end(&owner);
	return refused;
}

TEST_F(userns, bytes_shared_by_all_ids)
{
	struct place places[] = {
		inside(0), inside(1), inside(2), nested(1, LIMIT),
		nested(2, LIMIT), outside,
	};
	struct servant ids[ARRAY_LEN(places)];
	long long sum = 0;
	size_t i;

	ASSERT_TRUE(set_user_bytes(BYTES));
	for (i = 0; i < ARRAY_LEN(places); i++)
		ASSERT_TRUE(worker_start(&ids[i], places[i]));
	for (i = 0; i < ARRAY_LEN(places); i++)
		EXPECT_REFUSED(&ids[i], TAKE_BYTES);
	for (i = 0; i < ARRAY_LEN(places); i++)
		sum += charged_bytes(ids[i].pid);
	EXPECT_GE(BYTES, sum);
	EXPECT_LT(BYTES - EVD_BYTES, sum);
	for (i = 0; i < ARRAY_LEN(places); i++)
		servant_end(&ids[i]);
	EXPECT_TRUE(owner_gets_all());
}

TEST_F(userns, bytes_of_roots_containers_separate)
{
	struct servant ids[2];
	int i;

	ASSERT_TRUE(set_user_bytes(BYTES));
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(worker_start(&ids[i], container_of_root(i + 1)));
	for (i = 0; i < 2; i++) {
		EXPECT_REFUSED(&ids[i], TAKE_BYTES);
		EXPECT_LT(BYTES - EVD_BYTES, charged_bytes(ids[i].pid));
	}
	for (i = 0; i < 2; i++)
		servant_end(&ids[i]);
}

/*
 * Whether a user has a work queue: its rescuer is a thread with the name of the queue,
 * since Linux 6.3 behind "kworker/R-".
 */
static bool has_queue(uid_t uid)
{
	char name[32], comm[128];
	bool found = false;
	ssize_t len;
	glob_t g;
	size_t i;
	int fd;

	snprintf(name, sizeof(name), "kdapl-%u", uid);
	if (glob("/proc/[0-9]*/comm", GLOB_NOSORT, NULL, &g))
		return false;
	for (i = 0; i < g.gl_pathc && !found; i++) {
		fd = open(g.gl_pathv[i], O_RDONLY);
		len = read(fd, comm, sizeof(comm) - 1);
		comm[len > 0 ? len : 0] = '\0';
		found = strstr(comm, name);
		close(fd);
	}
	globfree(&g);
	return found;
}

TEST_F(userns, work_queue_shared_by_ids)
{
	struct place places[] = {
		inside(1), inside(2), nested(1, LIMIT), container_of_root(1),
	};
	struct servant ids[ARRAY_LEN(places)];
	size_t i;

	for (i = 0; i < ARRAY_LEN(places); i++)
		ASSERT_TRUE(worker_start(&ids[i], places[i]));
	EXPECT_TRUE(has_queue(OWNER));
	EXPECT_FALSE(has_queue(SUBORDINATE));
	EXPECT_FALSE(has_queue(SUBORDINATE + 1));
	/* Of the container of root */
	EXPECT_TRUE(has_queue(OTHERS));
	for (i = 0; i < ARRAY_LEN(places); i++)
		servant_end(&ids[i]);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * charge.c - what a process makes the kernel allocate is charged to its file and
 * its user, and given back: Documentation/admin.rst
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include <linux/dat.h>

#include "counts.h"
#include "pair.h"
#include "process.h"

#define PARAMETERS	"/sys/module/kdapl/parameters/"

#define NO_MEMORY	ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)
#define MB		(1LL << 20)
#define NOBODY		65534
#define WORKERS		20

static bool set(const char *name, long long value)
{
	char path[128], number[32];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(number, sizeof(number), "%lld", value);
	fd = open(path, O_WRONLY);
	ok = write(fd, number, strlen(number)) > 0;
	close(fd);
	return ok;
}

static long long get(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	return number_in(path, "");
}

/* An IA, with limits that are put back. */
FIXTURE(charge)
{
	long long file_bytes;
	long long user_bytes;
	DAT_EVD_HANDLE async_evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	mode_t mode;
};

FIXTURE_SETUP(charge)
{
	struct stat st;

	if (geteuid())
		SKIP(return, "only root can set limits");
	self->file_bytes = get("max_file_bytes");
	self->user_bytes = get("max_user_bytes");
	ASSERT_EQ(0, stat("/dev/dat", &st));
	self->mode = st.st_mode & 07777;
	ASSERT_EQ(0, chmod("/dev/dat", 0666));
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &self->async_evd,
			       &self->ia));
	ASSERT_DAT(dat_pz_create(self->ia, &self->pz));
}

FIXTURE_TEARDOWN(charge)
{
	if (!self->ia)
		return;
	EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_TRUE(set("max_file_bytes", self->file_bytes));
	EXPECT_TRUE(set("max_user_bytes", self->user_bytes));
	EXPECT_EQ(0, chmod("/dev/dat", self->mode));
}

static long long charged(void)
{
	return charged_bytes(getpid());
}

/* Creates with @create until that is refused, at most @max times. */
#define UNTIL_REFUSED(max, create)					\
({									\
	DAT_RETURN __ret = DAT_SUCCESS;					\
	int __num;							\
									\
	for (__num = 0; __num < (max); __num++) {			\
		__ret = (create);					\
		if (__ret)						\
			break;						\
	}								\
	EXPECT_EQ(NO_MEMORY, __ret) {					\
		TH_LOG("%s, %d times: %s", #create, __num,		\
		       dat_str(__ret));					\
	}								\
	__num;								\
})

static DAT_RETURN large_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_SRQ_ATTR attr = { 16384, 1, DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq;

	return dat_srq_create(ia, pz, &attr, &srq) ?: dat_srq_resize(srq, 1);
}

TEST_F(charge, srq_shrink_stays_charged)
{
	ASSERT_TRUE(set("max_file_bytes", charged() + 16 * MB));
	/* Each has a queue of 2 MB at least. */
	EXPECT_GE(8, UNTIL_REFUSED(100, large_srq(self->ia, self->pz)));
}

TEST_F(charge, srq_grow_charged)
{
	DAT_SRQ_ATTR attr = { 16, 1, DAT_SRQ_LW_DEFAULT };
	long long before, grown;
	DAT_SRQ_HANDLE srq;
	DAT_RETURN ret;

	ASSERT_DAT(dat_srq_create(self->ia, self->pz, &attr, &srq));
	before = charged();
	ret = dat_srq_resize(srq, 8192);
	if (ret == ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ))
		SKIP(return, "the device cannot make an SRQ larger");
	ASSERT_DAT(ret);
	grown = charged();
	EXPECT_LE(before + MB / 2, grown);
	ASSERT_DAT(dat_srq_resize(srq, 1));
	EXPECT_EQ(grown, charged());
	ASSERT_TRUE(set("max_file_bytes", grown));
	EXPECT_DAT(dat_srq_resize(srq, 8192));
	EXPECT_EQ(NO_MEMORY, dat_srq_resize(srq, 16384));
}

static DAT_RETURN ep_on(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE evd, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 8192, .max_request_dtos = 1 };

	return dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL, &attr, ep);
}

/* An EVD of one event, whose CQ is large */
static DAT_RETURN large_cq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	return dat_evd_create(ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) ?:
	       ep_on(ia, pz, evd, &ep);
}

/* The first EP fills its CQ. So the second needs another, twice as large, and the third none. */
TEST_F(charge, cq_charged_until_last_ep)
{
	long long none, before, with_cq, without;
	DAT_EP_HANDLE ep[3];
	DAT_EVD_HANDLE evd;
	int i;

	ASSERT_DAT(dat_evd_create(self->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	none = charged();
	ASSERT_DAT(ep_on(self->ia, self->pz, evd, &ep[0]));
	before = charged();
	ASSERT_DAT(ep_on(self->ia, self->pz, evd, &ep[1]));
	with_cq = charged() - before;
	before = charged();
	ASSERT_DAT(ep_on(self->ia, self->pz, evd, &ep[2]));
	without = charged() - before;
	EXPECT_LE(without + MB, with_cq);
	for (i = 0; i < 3; i++)
		ASSERT_DAT(dat_ep_free(ep[i]));
	/* After a grace period; the harness ends a test that takes too long. */
	while (charged() > none)
		usleep(10000);
}

static DAT_RETURN large_ep(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 8192,
		.max_request_dtos = 8192,
		.max_recv_iov = 30,
		.max_request_iov = 30,
	};
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	ret = dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			    DAT_HANDLE_NULL, &attr, &ep);
	if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER)
		return ret;
	/* siw takes fewer segments. */
	attr.max_recv_iov = 6;
	attr.max_request_iov = 1;
	return dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			     DAT_HANDLE_NULL, &attr, &ep);
}

TEST_F(charge, ep_charged_for_segments)
{
	ASSERT_TRUE(set("max_file_bytes", charged() + 64 * MB));
	EXPECT_GE(8, UNTIL_REFUSED(64, large_ep(self->ia, self->pz)));
}

static DAT_RETURN pz_with_lmr(DAT_IA_HANDLE ia)
{
	static char page[MAX_PAGE] __attribute__((aligned(MAX_PAGE)));
	DAT_REGION_DESCRIPTION region = { .for_va = page };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	DAT_PZ_HANDLE pz;
	DAT_VLEN size;

	return dat_pz_create(ia, &pz) ?:
	       dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE, pz,
			      DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context,
			      &rmr_context, &size, &address);
}

TEST_F(charge, pz_charged_for_hidden_qp)
{
	ASSERT_TRUE(set("max_file_bytes", charged() + 4 * MB));
	/* 20 KB each at least. */
	EXPECT_GE(205, UNTIL_REFUSED(1000, pz_with_lmr(self->ia)));
}

static DAT_RETURN one_rmr(DAT_PZ_HANDLE pz)
{
	DAT_RMR_HANDLE rmr;

	return dat_rmr_create(pz, &rmr);
}

TEST_F(charge, ia_close_uncharges_all)
{
	long long before;

	before = charged();
	EXPECT_LT(0, before);
	EXPECT_DAT(one_rmr(self->pz));
	EXPECT_DAT(large_srq(self->ia, self->pz));
	EXPECT_DAT(large_ep(self->ia, self->pz));
	EXPECT_DAT(large_cq(self->ia, self->pz));
	EXPECT_DAT(pz_with_lmr(self->ia));
	EXPECT_LT(before, charged());
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	/* After a grace period; the harness ends a test that takes too long. */
	while (charged())
		usleep(10000);
	self->async_evd = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &self->async_evd,
			       &self->ia));
}

/* Processes of an unprivileged user, each with its own file. */
FIXTURE(user)
{
	long long user_bytes;
	mode_t mode;
	int done[2];
	int hold[2];
};

FIXTURE_SETUP(user)
{
	struct stat st;

	if (geteuid())
		SKIP(return, "only root can set limits");
	self->user_bytes = get("max_user_bytes");
	ASSERT_EQ(0, stat("/dev/dat", &st));
	self->mode = st.st_mode & 07777;
	ASSERT_EQ(0, chmod("/dev/dat", 0666));
	ASSERT_EQ(0, pipe(self->done));
	ASSERT_EQ(0, pipe(self->hold));
}

FIXTURE_TEARDOWN(user)
{
	if (geteuid())
		return;
	EXPECT_TRUE(set("max_user_bytes", self->user_bytes));
	EXPECT_EQ(0, chmod("/dev/dat", self->mode));
}

/* For a child process. */
static bool become_nobody(void)
{
	return !setgid(NOBODY) && !setuid(NOBODY);
}

/* Takes all that it gets, in various ways; false if it gets all it wants. */
static bool take_all(unsigned int how)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_RETURN ret, last = DAT_SUCCESS;
	unsigned int i, refused = 0;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	if (dat_ia_open((char *)ia_name(), 8, &async_evd, &ia) ||
	    dat_pz_create(ia, &pz))
		return true;
	/* After a refusal it goes on with other objects. */
	for (i = 0; i < 100000 && refused < 5; i++) {
		switch ((how + refused) % 5) {
		case 0:
			ret = large_ep(ia, pz);
			break;
		case 1:
			ret = large_srq(ia, pz);
			break;
		case 2:
			ret = large_cq(ia, pz);
			break;
		case 3:
			ret = one_rmr(pz);
			break;
		default:
			ret = pz_with_lmr(ia);
			break;
		}
		if (ret) {
			refused++;
			last = ret;
		}
	}
	return DAT_GET_TYPE(last) == DAT_INSUFFICIENT_RESOURCES;
}

/* A child that takes all it gets, and holds it until @hold is closed. */
static pid_t taker(unsigned int how, const int done[2], const int hold[2])
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	close(hold[1]);
	c = become_nobody() && take_all(how) ? 'y' : 'n';
	if (write(done[1], &c, 1) != 1)
		_exit(1);
	_exit(read(hold[0], &c, 1));
}

/* Ends the children, which then give all back. */
static void end_all(const int hold[2], const pid_t *pids, int num)
{
	int i, status;

	close(hold[1]);
	for (i = 0; i < num; i++)
		waitpid(pids[i], &status, 0);
}

TEST_F(user, max_user_bytes_two_processes)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	long long first, second;
	DAT_IA_HANDLE ia;
	pid_t pids[2];
	char c;

	ASSERT_TRUE(set("max_user_bytes", 16 * MB));
	pids[0] = taker(3, self->done, self->hold);
	ASSERT_EQ(1, read(self->done[0], &c, 1));
	EXPECT_EQ('y', c);
	first = charged_bytes(pids[0]);
	EXPECT_LT(15 * MB, first);
	EXPECT_GE(16 * MB, first);
	pids[1] = taker(3, self->done, self->hold);
	ASSERT_EQ(1, read(self->done[0], &c, 1));
	EXPECT_EQ('y', c);
	second = charged_bytes(pids[1]);
	EXPECT_LE(0, second);
	/* The first may have freed memory meanwhile. */
	EXPECT_GE(16 * MB, charged_bytes(pids[0]) + second);
	/* Another user has a limit of its own; and root has none. */
	ASSERT_TRUE(set("max_user_bytes", 0));
	EXPECT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd, &ia));
	end_all(self->hold, pids, 2);
}

/* Takes RMRs until it is refused, tells how many, and waits for its end. */
static int take_rmrs(int said)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	int num = 0;

	if (dat_ia_open((char *)ia_name(), 8, &async_evd, &ia) || dat_pz_create(ia, &pz))
		return 1;
	while (!one_rmr(pz))
		num++;
	if (write(said, &num, sizeof(num)) != sizeof(num))
		return 2;
	for (;;)
		pause();
}

/*
 * A server of nobody whose workers take all that the user may have, and are killed: each gets
 * as much as the one before. Tells how much that was, -1 if it differed.
 */
static int employ_takers(int said, int hold)
{
	int i, num, first = 0, taken[2];
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	pid_t pid;

	if (!become_nobody() || dat_ia_open((char *)ia_name(), 8, &async_evd, &ia))
		return 1;
	for (i = 0; i < WORKERS; i++) {
		if (pipe(taken))
			return 2;
		pid = fork_child();
		if (!pid)
			_exit(take_rmrs(taken[1]));
		close(taken[1]);
		if (read(taken[0], &num, sizeof(num)) != sizeof(num) || !kill_child(pid))
			return 3;
		close(taken[0]);
		if (first && num != first)
			fprintf(stderr, "# worker 0 took %d RMRs, worker %d %d\n", first, i, num);
		first = i && num != first ? -1 : num;
	}
	return write(said, &first, sizeof(first)) == sizeof(first) && !read(hold, &num, 1) ? 0 : 4;
}

TEST_F(user, killed_workers_are_uncharged)
{
	int num, status;
	pid_t server;

	ASSERT_TRUE(set("max_user_bytes", 16 * MB));
	server = fork_child();
	if (!server) {
		close(self->hold[1]);
		_exit(employ_takers(self->done[1], self->hold[0]));
	}
	close(self->done[1]);
	ASSERT_EQ(sizeof(num), read(self->done[0], &num, sizeof(num)));
	EXPECT_LT(100, num);
	close(self->hold[1]);
	ASSERT_EQ(server, waitpid(server, &status, 0));
	EXPECT_EQ(0, status);
}

static long long available(void)
{
	/* Memory is freed after a grace period. */
	usleep(500000);
	return number_in("/proc/meminfo", "MemAvailable:") * 1024;
}

#define FILES	64

/*
 * The promise of Documentation/admin.rst: all files of a user take no more than
 * max_user_bytes, up to an error of 25 percent, and 2 MB for each file for what is
 * not kdapl's: the processes, the tables of handles, what the allocators round up.
 */
TEST_F(user, max_user_bytes_many_files)
{
	long long before, after, promised = get("max_user_bytes");
	long long sum = 0;
	pid_t pids[FILES];
	char c;
	int i;

	before = available();
	if (before < 2 * promised)
		SKIP(return, "not enough memory to be sure");
	for (i = 0; i < FILES; i++) {
		pids[i] = taker(i, self->done, self->hold);
		ASSERT_EQ(1, read(self->done[0], &c, 1));
		EXPECT_EQ('y', c);
	}
	after = available();
	for (i = 0; i < FILES; i++)
		sum += charged_bytes(pids[i]);
	TH_LOG("charged %lld of %lld bytes, %lld bytes less are available", sum,
	       promised, before - after);
	EXPECT_GE(promised, sum);
	EXPECT_LT(promised * 3 / 4, sum);
	EXPECT_GE(promised + promised / 4 + FILES * 2 * MB, before - after);
	end_all(self->hold, pids, FILES);
	/* All of it comes back. */
	EXPECT_GE(FILES * MB / 2, before - available());
}

/* A ring of @qlen events, and where it is mapped, without the library. */
static void *map_evd(int fd, __u32 ia, __u32 qlen, __u32 *evd, size_t *len)
{
	struct dat_dev_evd_create arg = {
		.size = sizeof(arg),
		.ia = ia,
		.min_qlen = qlen,
		.flags = DAT_EVD_SOFTWARE_FLAG,
	};

	if (ioctl(fd, DAT_DEV_EVD_CREATE, &arg) || arg.result)
		return MAP_FAILED;
	*evd = arg.evd;
	*len = sizeof(struct dat_dev_ring) +
	       arg.ring_entries * sizeof(struct dat_dev_event);
	*len = (*len + PAGE - 1) / PAGE * PAGE;
	return mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)arg.evd * PAGE);
}

static int free_evd(int fd, __u32 evd)
{
	struct dat_dev_free arg = { .size = sizeof(arg), .handle = evd };

	return ioctl(fd, DAT_DEV_EVD_FREE, &arg) ?: arg.result;
}

static int open_raw(__u32 *ia)
{
	struct dat_dev_ia_open arg = {
		.size = sizeof(arg),
		.dat_major = 1,
		.dat_minor = 2,
		.async_evd_qlen = 8,
	};
	int fd = open("/dev/dat", O_RDWR);

	snprintf(arg.name, sizeof(arg.name), "%s", ia_name());
	if (ioctl(fd, DAT_DEV_IA_OPEN, &arg) || arg.result)
		return -1;
	*ia = arg.ia;
	return fd;
}

#define RING_EVENTS	16384
#define RING_BYTES	(RING_EVENTS * 64)

/* Maps rings and frees their EVDs until it is refused; how many that were. */
static int map_and_free(int fd, __u32 ia, void **at, size_t *len, int max)
{
	__u32 evd;
	int num;

	for (num = 0; num < max; num++) {
		at[num] = map_evd(fd, ia, RING_EVENTS, &evd, len);
		if (at[num] == MAP_FAILED || free_evd(fd, evd))
			break;
	}
	return num;
}

/* The charge once it no longer changes. */
static long long settled(void)
{
	long long before, now = charged();

	do {
		before = now;
		usleep(100000);
		now = charged();
	} while (now != before);
	return now;
}

TEST_F(charge, ring_charged_while_mapped)
{
	void *at[64], *moved;
	long long before;
	size_t len;
	int fd, num;
	__u32 ia;

	fd = open_raw(&ia);
	ASSERT_LE(0, fd);
	/* The ring in the kernel is freed with the EVD. */
	before = settled();
	ASSERT_TRUE(set("max_file_bytes", before + 16 * MB));
	num = map_and_free(fd, ia, at, &len, 64);
	EXPECT_LT(4, num);
	EXPECT_GE(16, num);
	EXPECT_LE(before + num * (long long)RING_BYTES, settled());

	/* A part of it is all of it; so is one that has moved. */
	ASSERT_EQ(0, munmap(at[0], len / 2 / PAGE * PAGE));
	EXPECT_LE(before + num * (long long)RING_BYTES, settled());
	ASSERT_EQ(0, munmap((char *)at[0] + len / 2 / PAGE * PAGE,
			    len - len / 2 / PAGE * PAGE));
	moved = mremap(at[1], len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at[0]);
	ASSERT_EQ(at[0], moved);
	EXPECT_LE(before + (num - 1) * (long long)RING_BYTES, settled());
	while (--num > 1)
		ASSERT_EQ(0, munmap(at[num], len));
	EXPECT_LE(before + RING_BYTES, settled());
	ASSERT_EQ(0, munmap(moved, len));
	EXPECT_EQ(before, settled());
	close(fd);
}

/* The mapping of a child would keep the open file of its parent. */
TEST_F(charge, child_inherits_no_ring)
{
	int fd, hold[2], said[2], status;
	long long before;
	size_t len;
	void *at;
	__u32 ia, evd;
	pid_t child;
	char c;

	ASSERT_EQ(0, pipe(hold));
	ASSERT_EQ(0, pipe(said));
	fd = open_raw(&ia);
	ASSERT_LE(0, fd);
	before = settled();
	at = map_evd(fd, ia, RING_EVENTS, &evd, &len);
	ASSERT_NE(MAP_FAILED, at);
	child = fork();
	if (!child) {
		close(hold[1]);
		c = msync(at, len, MS_ASYNC) ? 'n' : 'y';
		if (write(said[1], &c, 1) != 1)
			_exit(1);
		_exit(read(hold[0], &c, 1));
	}
	ASSERT_EQ(1, read(said[0], &c, 1));
	EXPECT_EQ('n', c);
	ASSERT_EQ(0, free_evd(fd, evd));
	ASSERT_EQ(0, munmap(at, len));
	EXPECT_EQ(before, settled());
	close(hold[1]);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	close(fd);
}

TEST_HARNESS_MAIN

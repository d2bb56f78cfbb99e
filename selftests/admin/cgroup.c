// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cgroup.c - the rdma cgroup bounds what a process has of a device
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pair.h"
#include "process.h"

#define ROOT	"/tmp/kdapl_cgroup"
#define GROUP	ROOT "/kdapl"

#define REFUSED(subtype)	ERROR(DAT_INSUFFICIENT_RESOURCES, subtype)

static bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) > 0;

	close(fd);
	return ok;
}

static bool has_rdma(void)
{
	return number_in(ROOT "/cgroup.controllers", "rdma") >= 0;
}

static bool limit_to(const char *what, const char *max)
{
	char line[128];

	snprintf(line, sizeof(line), "%.*s %s=%s",
		 (int)strcspn(ia_name(), ":"), ia_name(), what, max);
	return write_file(GROUP "/rdma.max", line);
}

static bool limit(const char *what, int max)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", max);
	return limit_to(what, number);
}

static void unlimit(void)
{
	limit_to("hca_handle", "max");
	limit_to("hca_object", "max");
}

FIXTURE(cgroup)
{
	bool mounted;
};

FIXTURE_SETUP(cgroup)
{
	if (geteuid())
		SKIP(return, "only root can mount cgroups");
	mkdir(ROOT, 0700);
	if (mount("none", ROOT, "cgroup2", 0, NULL))
		SKIP(return, "this kernel has no cgroup2");
	self->mounted = true;
	if (!has_rdma())
		SKIP(return, "the rdma controller is not there");
	ASSERT_TRUE(write_file(ROOT "/cgroup.subtree_control", "+rdma"));
	rmdir(GROUP);
	ASSERT_EQ(0, mkdir(GROUP, 0700));
}

FIXTURE_TEARDOWN(cgroup)
{
	if (!self->mounted)
		return;
	/* Linux 6.1 does not forget a device for which there is a limit. */
	unlimit();
	rmdir(GROUP);
	write_file(ROOT "/cgroup.subtree_control", "-rdma");
	umount(ROOT);
}

static long long used(const char *what)
{
	long long number = number_in(GROUP "/rdma.current", what);

	return number < 0 ? 0 : number;
}

/* Runs in the cgroup; what it returns is 0, or the line that went wrong. */
static int run_in_group(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(write_file(GROUP "/cgroup.procs", "0") ? fn() : 255);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ?
		       WEXITSTATUS(status) : 254;
}

#define MUST_BE(value, call)				\
	do {						\
		if ((call) != (value)) {		\
			fprintf(stderr, "# %s is not %s\n", #call, #value); \
			return __LINE__ & 0xff ?: 1;	\
		}					\
	} while (0)

static DAT_IA_HANDLE ia;

static DAT_RETURN open_ia(void)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

	return dat_ia_open((char *)ia_name(), 8, &async_evd, &ia);
}

/* A PZ has a PD, and a hidden QP and its CQ; on iWARP another QP. */
static int everything_is_counted(void)
{
	DAT_SRQ_ATTR srq_attr = { 16, 1, DAT_SRQ_LW_DEFAULT };
	static char page[MAX_PAGE] __attribute__((aligned(MAX_PAGE)));
	DAT_REGION_DESCRIPTION region = { .for_va = page };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_VADDR address;
	DAT_VLEN size;
	long long num;

	MUST_BE(DAT_SUCCESS, open_ia());
	MUST_BE(1, used("hca_handle="));
	MUST_BE(0, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_pz_create(ia, &pz));
	num = used("hca_object=");
	MUST_BE(true, num == 3 || num == 4);
	/* An EVD has a CQ while EPs feed it. */
	MUST_BE(DAT_SUCCESS, dat_evd_create(ia, 8, DAT_HANDLE_NULL,
					    DAT_EVD_DTO_FLAG, &evd));
	MUST_BE(num, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL,
					   NULL, &ep));
	MUST_BE(num + 2, used("hca_object="));
	MUST_BE(DAT_SUCCESS,
		dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, PAGE, pz,
			       DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context,
			       &rmr_context, &size, &address));
	MUST_BE(num + 3, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_rmr_create(pz, &rmr));
	MUST_BE(num + 7, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_srq_create(ia, pz, &srq_attr, &srq));
	MUST_BE(num + 8, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_rmr_free(rmr));
	MUST_BE(num + 4, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_ep_free(ep));
	MUST_BE(num + 2, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	MUST_BE(0, used("hca_object="));
	MUST_BE(0, used("hca_handle="));
	return 0;
}

TEST_F(cgroup, hca_handles_objects_charged)
{
	EXPECT_EQ(0, run_in_group(everything_is_counted));
	EXPECT_EQ(0, used("hca_object="));
}

static int objects_are_refused(void)
{
	DAT_SRQ_ATTR srq_attr = { 16, 1, DAT_SRQ_LW_DEFAULT };
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz[2];
	DAT_EP_HANDLE ep;

	MUST_BE(DAT_SUCCESS, open_ia());
	MUST_BE(DAT_SUCCESS, dat_pz_create(ia, &pz[0]));
	MUST_BE(true, limit("hca_object", used("hca_object=") + 1));
	MUST_BE(REFUSED(DAT_RESOURCE_PROTECTION_DOMAIN),
		dat_pz_create(ia, &pz[1]));
	MUST_BE(REFUSED(DAT_RESOURCE_MEMORY_REGION),
		dat_rmr_create(pz[0], &rmr));
	MUST_BE(DAT_SUCCESS, dat_evd_create(ia, 8, DAT_HANDLE_NULL,
					    DAT_EVD_DTO_FLAG, &evd));
	/* A CQ, but no QP; then no CQ. */
	MUST_BE(REFUSED(DAT_RESOURCE_TEP),
		dat_ep_create(ia, pz[0], evd, evd, DAT_HANDLE_NULL, NULL, &ep));
	MUST_BE(true, limit("hca_object", used("hca_object=")));
	MUST_BE(REFUSED(DAT_RESOURCE_TEVD),
		dat_ep_create(ia, pz[0], evd, evd, DAT_HANDLE_NULL, NULL, &ep));
	MUST_BE(REFUSED(DAT_RESOURCE_SRQ),
		dat_srq_create(ia, pz[0], &srq_attr, &srq));
	return 0;
}

TEST_F(cgroup, hca_object_limit_enforced)
{
	EXPECT_EQ(0, run_in_group(objects_are_refused));
	/* The process has ended, and with it its file. */
	EXPECT_EQ(0, used("hca_object="));
	EXPECT_EQ(0, used("hca_handle="));
}

#define ROUNDS		1000

/* Five EPs at a time: each time CQs come, and go. */
static int eps_come_and_go(void)
{
	DAT_EP_HANDLE standing, ep[5];
	long long objects, bytes;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	int round;
	size_t i;

	MUST_BE(DAT_SUCCESS, open_ia());
	MUST_BE(DAT_SUCCESS, dat_pz_create(ia, &pz));
	MUST_BE(DAT_SUCCESS, dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	objects = used("hca_object=");
	bytes = settled_charge();
	MUST_BE(DAT_SUCCESS,
		dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL, NULL, &standing));
	for (round = 0; round < ROUNDS / 5; round++) {
		for (i = 0; i < ARRAY_LEN(ep); i++)
			MUST_BE(DAT_SUCCESS, dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL,
							   NULL, &ep[i]));
		for (i = 0; i < ARRAY_LEN(ep); i++)
			MUST_BE(DAT_SUCCESS, dat_ep_free(ep[i]));
	}
	/* The EP, its CQ, and the newest CQ. */
	MUST_BE(objects + 3, used("hca_object="));
	MUST_BE(DAT_SUCCESS, dat_ep_free(standing));
	MUST_BE(objects, used("hca_object="));
	MUST_BE(bytes, settled_charge());
	return 0;
}

TEST_F(cgroup, eps_that_come_and_go_leave_no_cq)
{
	EXPECT_EQ(0, run_in_group(eps_come_and_go));
	EXPECT_EQ(0, used("hca_object="));
}

#define WORKERS		20

/* One object of each kind, then waits for its end. */
static int work(int ready)
{
	DAT_SRQ_ATTR srq_attr = { 16, 1, DAT_SRQ_LW_DEFAULT };
	struct region region;
	struct pair pair;
	DAT_SRQ_HANDLE srq;
	DAT_RMR_HANDLE rmr;

	MUST_BE(DAT_SUCCESS, pair_open_connected(&pair));
	MUST_BE(DAT_SUCCESS, region_open(&pair, pair.a.pz, &region, PAGE, DAT_MEM_PRIV_ALL_FLAG));
	MUST_BE(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &rmr));
	MUST_BE(DAT_SUCCESS, dat_srq_create(pair.ia, pair.a.pz, &srq_attr, &srq));
	MUST_BE(1, write(ready, "", 1));
	for (;;)
		pause();
}

/* The workers of a server that lives on */
static int workers_are_killed(void)
{
	long long handles, objects;
	int i, ready[2];
	pid_t pid;
	char c;

	MUST_BE(DAT_SUCCESS, open_ia());
	handles = used("hca_handle=");
	objects = used("hca_object=");
	for (i = 0; i < WORKERS; i++) {
		MUST_BE(0, pipe(ready));
		pid = fork_child();
		if (!pid)
			_exit(work(ready[1]));
		close(ready[1]);
		MUST_BE(1, read(ready[0], &c, 1));
		close(ready[0]);
		MUST_BE(handles + 1, used("hca_handle="));
		MUST_BE(true, used("hca_object=") > objects + 10);
		MUST_BE(true, kill_child(pid));
		MUST_BE(handles, used("hca_handle="));
		MUST_BE(objects, used("hca_object="));
	}
	return 0;
}

TEST_F(cgroup, killed_workers_leave_nothing)
{
	EXPECT_EQ(0, run_in_group(workers_are_killed));
	EXPECT_EQ(0, used("hca_object="));
	EXPECT_EQ(0, used("hca_handle="));
}

static int an_ia_is_refused(void)
{
	MUST_BE(REFUSED(DAT_RESOURCE_DEVICE), open_ia());
	return 0;
}

TEST_F(cgroup, hca_handle_limit_enforced)
{
	ASSERT_TRUE(limit("hca_handle", 0));
	EXPECT_EQ(0, run_in_group(an_ia_is_refused));
}

TEST_HARNESS_MAIN

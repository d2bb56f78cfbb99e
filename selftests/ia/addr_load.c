// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * addr_load.c - a user with a network namespace of many addresses searches those of IAs
 *
 * The child is not root, and has all capabilities in its own user namespace only.
 */
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include <linux/dat.h>

#include "counts.h"
#include "ioctls.h"
#include "link.h"
#include "process.h"

#define NOBODY		65534
#define ADDRESSES	10000
#define THREADS		100
/* In KiB. The objects of an IA take 40. */
#define MAX_GROWTH	16384
/* In ms. It takes some hundred, on an idle machine. */
#define LONGEST_REMOVAL	5000
/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		600

/* What the child and the test share */
struct shared {
	bool failed;
	bool go;
	unsigned int running;
	unsigned int calls;
};

static struct shared *shared;

FIXTURE(addr_load)
{
	mode_t mode;
	pid_t pid;
};

FIXTURE_SETUP(addr_load)
{
	struct stat st;

	if (geteuid())
		SKIP(return, "only root can open /dev/dat to all users");
	if (access("/proc/self/ns/user", F_OK))
		SKIP(return, "this kernel has no user namespaces");
	ASSERT_EQ(0, stat("/dev/dat", &st));
	self->mode = st.st_mode & 07777;
	ASSERT_EQ(0, chmod("/dev/dat", 0666));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
}

FIXTURE_TEARDOWN(addr_load)
{
	if (geteuid())
		return;
	if (self->pid > 0)
		EXPECT_TRUE(kill_child(self->pid));
	EXPECT_EQ(0, chmod("/dev/dat", self->mode));
	munmap(shared, sizeof(*shared));
}

/* Gives lo, the interface with index 1, an address. Returns whether it worked. */
static bool add_address(int netlink, unsigned int number)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg addr;
		struct rtattr attr;
		__be32 local;
	} msg = {
		.head = {
			.nlmsg_len = sizeof(msg),
			.nlmsg_type = RTM_NEWADDR,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK,
		},
		.addr = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 },
		.attr = { RTA_LENGTH(sizeof(__be32)), IFA_LOCAL },
		.local = htonl(0x0a000001 + number),
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
		char rest[256];
	} answer;

	return send(netlink, &msg, sizeof(msg), 0) == sizeof(msg) &&
	       recv(netlink, &answer, sizeof(answer), 0) > 0 &&
	       answer.head.nlmsg_type == NLMSG_ERROR && !answer.err.error;
}

static bool enter_namespace(void)
{
	unsigned int i;
	int netlink;
	bool ok;

	if (setgid(NOBODY) || setuid(NOBODY) || unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ok = netlink >= 0;
	for (i = 0; i < ADDRESSES && ok; i++)
		ok = add_address(netlink, i);
	close(netlink);
	return ok;
}

static DAT_UINT32 query(int fd, __u32 ia)
{
	struct dat_dev_ia_query arg = { .size = sizeof(arg), .ia = ia };

	return dev_type(fd, DAT_DEV_IA_QUERY, &arg);
}

static void await_go(void)
{
	__atomic_fetch_add(&shared->running, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&shared->go, __ATOMIC_ACQUIRE))
		usleep(10000);
}

/* Opens, queries and closes an IA of its own. */
static void *open_and_close(void *unused)
{
	int fd = dev_open();
	struct dat_dev_ia_open ia;

	await_go();
	while (!dev_ia_open(fd, &ia) && !query(fd, ia.ia) &&
	       !dev_ia_close(fd, ia.ia, DAT_CLOSE_ABRUPT_FLAG))
		__atomic_fetch_add(&shared->calls, 1, __ATOMIC_RELAXED);
	return unused;
}

/*
 * For the child, which stays until it is killed. All others run first: the tests measure what waits
 * for the searches, not what waits for a processor.
 */
static void run_threads(void)
{
	const struct sched_param param = {};
	pthread_t thread;
	int i;

	/* The change of the user has cleared the signal. */
	if (!enter_namespace() || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    sched_setscheduler(0, SCHED_IDLE, &param))
		shared->failed = true;
	for (i = 0; i < THREADS && !shared->failed; i++)
		if (pthread_create(&thread, NULL, open_and_close, NULL))
			shared->failed = true;
	for (;;)
		pause();
}

static bool start(pid_t *pid)
{
	memset(shared, 0, sizeof(*shared));
	*pid = fork_child();
	if (!*pid)
		run_threads();
	while (!__atomic_load_n(&shared->failed, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&shared->running, __ATOMIC_RELAXED) < THREADS)
		usleep(10000);
	return *pid > 0 && !shared->failed;
}

/* In KiB: what the kernel allocates for itself */
static long long kernel_memory(void)
{
	return number_in("/proc/meminfo", "\nSUnreclaim:") +
	       number_in("/proc/meminfo", "\nVmallocUsed:");
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

TEST_F_TIMEOUT(addr_load, open_takes_bounded_memory, LIMIT)
{
	long long before, most = 0, begun;

	ASSERT_TRUE(start(&self->pid));
	before = kernel_memory();
	begun = now_ms();
	__atomic_store_n(&shared->go, true, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->calls, __ATOMIC_RELAXED) < 2 * THREADS &&
	       most < 4 * MAX_GROWTH && now_ms() - begun < 60000) {
		long long growth = kernel_memory() - before;

		most = growth > most ? growth : most;
		usleep(5000);
	}
	EXPECT_GE(MAX_GROWTH, most);
	EXPECT_LE(2 * THREADS, shared->calls);
	TH_LOG("%u IAs opened in %lld ms, kernel memory grew by %lld KiB", shared->calls,
	       now_ms() - begun, most);
}

TEST_F_TIMEOUT(addr_load, removal_waits_for_no_search, LIMIT)
{
	long long begun, took;

	if (!link_is_there())
		SKIP(return, "not a software device, which could be taken away");
	ASSERT_TRUE(start(&self->pid));
	__atomic_store_n(&shared->go, true, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->calls, __ATOMIC_RELAXED) < THREADS)
		usleep(1000);
	begun = now_ms();
	EXPECT_EQ(0, link_delete());
	took = now_ms() - begun;
	TH_LOG("the device was removed in %lld ms", took);
	EXPECT_GT(LONGEST_REMOVAL, took);
	EXPECT_EQ(0, link_add());
}

TEST_HARNESS_MAIN

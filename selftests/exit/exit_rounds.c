// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exit_rounds.c - processes open an IA, work and close in rounds, while the device is unplugged,
 * the module reloaded, or their network namespace ends with them
 *
 * With KDAPL_LONG=1 there are 2000 rounds of each.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "ioctls.h"
#include "link.h"
#include "objects.h"
#include "process.h"

/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		3600
#define WORKERS		2
/* In milliseconds: a worker rests as long, so that sometimes no worker has an open file. */
#define REST		300

/* What the workers and the test share */
struct shared {
	bool stop;
	unsigned int rounds;
	unsigned int worked;
	unsigned int bad;
};

static DAT_UINT32 work(struct objects *r)
{
	DAT_UINT32 ret = objects_open_ia(r);
	unsigned int object;

	for (object = PZ; object < NUM_OBJECTS && !ret; object++)
		ret = objects_make(r, object);
	return ret ?: objects_busy(r);
}

static void do_rounds(struct shared *shared, unsigned char *buf)
{
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		struct objects r = { .fd = open("/dev/dat", O_RDWR | O_CLOEXEC), .buf = buf };

		/* There is no module at the moment. */
		if (r.fd < 0 && errno != ENOENT && errno != ENODEV && errno != ENXIO)
			__atomic_fetch_add(&shared->bad, 1, __ATOMIC_RELAXED);
		if (r.fd >= 0) {
			if (!work(&r))
				__atomic_fetch_add(&shared->worked, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&shared->rounds, 1, __ATOMIC_RELAXED);
			close(r.fd);
		}
		usleep(random_below(REST) * 1000);
	}
	_exit(0);
}

FIXTURE(rounds)
{
	struct shared *shared;
	unsigned char *buf;
	pid_t pids[WORKERS];
	unsigned int count;
	long long pinned;
};

FIXTURE_SETUP(rounds)
{
	random_seed();
	self->count = getenv("KDAPL_LONG") ? 2000 : 10;
	self->pinned = pinned_pages();
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	self->buf = mmap(NULL, OBJECTS_REGION, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_NE(MAP_FAILED, self->buf);
}

FIXTURE_TEARDOWN(rounds)
{
	EXPECT_EQ(self->pinned, pinned_pages());
	munmap(self->shared, sizeof(*self->shared));
	munmap(self->buf, OBJECTS_REGION);
}

static bool start_workers(struct shared *shared, unsigned char *buf, pid_t *pids)
{
	unsigned int i;

	for (i = 0; i < WORKERS; i++) {
		unsigned int seed = random_below(1 << 30);

		pids[i] = fork_child();
		if (!pids[i]) {
			srandom(seed);
			do_rounds(shared, buf);
		}
		if (pids[i] < 0)
			return false;
	}
	return true;
}

/* Returns whether all workers have ended well. */
static bool stop_workers(struct shared *shared, const pid_t *pids)
{
	int i, status;
	bool ok = true;

	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < WORKERS; i++)
		ok &= waitpid(pids[i], &status, 0) == pids[i] && !status;
	return ok && !shared->bad;
}

static unsigned int rounds_done(struct shared *shared)
{
	return __atomic_load_n(&shared->rounds, __ATOMIC_RELAXED);
}

/* Waits for a round that begins now and reaches its end. */
static void await_work(struct shared *shared)
{
	unsigned int before = __atomic_load_n(&shared->worked, __ATOMIC_RELAXED) + WORKERS;

	while (__atomic_load_n(&shared->worked, __ATOMIC_RELAXED) <= before)
		usleep(1000);
}

TEST_F_TIMEOUT(rounds, device_is_unplugged, LIMIT)
{
	unsigned int unplugs = 0;

	ASSERT_TRUE(start_workers(self->shared, self->buf, self->pids));
	while (rounds_done(self->shared) < self->count || !unplugs) {
		usleep(random_below(2 * REST) * 1000);
		ASSERT_EQ(0, link_delete());
		ASSERT_EQ(0, link_add());
		unplugs++;
	}
	/* The next test finds a device that works. */
	await_work(self->shared);
	EXPECT_TRUE(stop_workers(self->shared, self->pids));
	TH_LOG("%u rounds, %u of them to the end, %u unplugs", self->shared->rounds,
	       self->shared->worked, unplugs);
}

TEST_F_TIMEOUT(rounds, module_is_reloaded, LIMIT)
{
	unsigned int reloads = 0, least = 1 + self->count / 20;
	int ret;

	if (!getenv("KDAPL_INSMOD"))
		SKIP(return, "KDAPL_INSMOD does not say which module to load");
	if (number_in("/sys/module/kdapl/refcnt", "") != 0)
		SKIP(return, "somebody else uses the module");
	ASSERT_TRUE(start_workers(self->shared, self->buf, self->pids));
	while (rounds_done(self->shared) < self->count || reloads < least ||
	       !__atomic_load_n(&self->shared->worked, __ATOMIC_RELAXED)) {
		usleep(random_below(10) * 1000);
		ret = syscall(SYS_delete_module, "kdapl", O_NONBLOCK) ? errno : 0;
		if (ret) {
			ASSERT_EQ(EWOULDBLOCK, ret);
			continue;
		}
		/* The others, if there are any, are still there. */
		ASSERT_NE(-1, system("for f in $KDAPL_INSMOD; do insmod $f; done 2>/dev/null"));
		ASSERT_EQ(0, access("/dev/dat", F_OK));
		reloads++;
	}
	EXPECT_TRUE(stop_workers(self->shared, self->pids));
	TH_LOG("%u rounds, %u of them to the end, %u reloads", self->shared->rounds,
	       self->shared->worked, reloads);
}

/* Works in a network namespace of its own, which has an interface that it shares. */
static void work_in_namespace(unsigned char *buf, int ready, int go)
{
	struct objects r = { .buf = buf };
	unsigned int object;
	char c;

	if (unshare(CLONE_NEWNET) || write(ready, "x", 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	r.fd = open("/dev/dat", O_RDWR);
	if (r.fd < 0 || objects_open_ia(&r))
		_exit(2);
	/* There is no address to listen at, and none for the QP that registers on iWARP. */
	for (object = PZ; object < NUM_OBJECTS; object++)
		if (objects_make(&r, object) && object != PSP && !link_is_iwarp())
			_exit(3 + object);
	_exit(0);
}

/* The interface ends with the namespace, and the namespace with the last IA that uses it. */
static bool namespace_has_ended(void)
{
	unsigned int i;

	for (i = 0; i < 60000 && !access("/sys/class/net/kdaplns", F_OK); i++)
		usleep(1000);
	return access("/sys/class/net/kdaplns", F_OK);
}

TEST_F_TIMEOUT(rounds, network_namespaces_end, LIMIT)
{
	int ready[2], go[2], status;
	char command[120], c;
	unsigned int round;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	for (round = 0; round < self->count; round++) {
		pid = fork_child();
		if (!pid)
			work_in_namespace(self->buf, ready[1], go[0]);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		snprintf(command, sizeof(command),
			 "ip link add kdaplns type veth peer name peer netns %d", pid);
		if (system(command)) {
			kill_child(pid);
			if (!round)
				SKIP(return, "this kernel has no veth");
			ASSERT_TRUE(false) {
				TH_LOG("round %u: %s", round, command);
			}
		}
		ASSERT_EQ(1, write(go[1], "x", 1));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status) {
			TH_LOG("round %u, status %#x", round, status);
		}
		ASSERT_TRUE(namespace_has_ended()) {
			TH_LOG("round %u", round);
		}
	}
}

TEST_HARNESS_MAIN

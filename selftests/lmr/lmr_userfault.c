// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_userfault.c - registers pages that do not come, by userfaultfd(2)
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include <linux/dat.h>

#include "link.h"
#include "pages.h"

/* Memory whose pages come when a process likes, that is, never. */
static int hold_back(void *buf)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)buf, LEN },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return -1;
	if (mmap(buf, LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != buf ||
	    ioctl(fd, UFFDIO_REGISTER, &reg))
		abort();
	return fd;
}

/* Does the process, or thread, wait in the kernel? */
static bool is_blocked(const char *path)
{
	char stat[512] = "", *name_end;
	FILE *file = fopen(path, "r");

	if (!file)
		return false;
	stat[fread(stat, 1, sizeof(stat) - 1, file)] = '\0';
	fclose(file);
	name_end = strrchr(stat, ')');
	return name_end && (name_end[2] == 'S' || name_end[2] == 'D');
}

/* Registers what does not come. A kernel that does not wait refuses at once. */
static int register_what_does_not_come(int ready)
{
	struct region base, over;
	struct pair pair = {};
	unsigned char *buf = map_scattered();

	if (!lift_limit() || pair_open(&pair) || create_base(&pair, buf, &base) ||
	    hold_back(buf) < 0 || write(ready, "", 1) != 1)
		return 1;
	return create_over(&pair, &base, ALL, &over) == DAT_SUCCESS;
}

TEST(removal_with_userfault_pending)
{
	unsigned char *buf = map_scattered();
	int fd = hold_back(buf), ready[2], status;
	char path[64], c;
	pid_t child;

	if (fd < 0)
		SKIP(return, "no userfaultfd(2)");
	close(fd);
	if (!link_is_there())
		SKIP(return, "not a software device, which could be taken away");
	ASSERT_EQ(0, pipe(ready));
	child = fork();
	if (!child)
		_exit(register_what_does_not_come(ready[1]));
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	snprintf(path, sizeof(path), "/proc/%d/stat", child);
	while (!is_blocked(path) && !waitpid(child, &status, WNOHANG))
		usleep(1000);
	EXPECT_EQ(0, link_delete());
	if (waitpid(child, &status, 0) == child) {
		EXPECT_TRUE(WIFSIGNALED(status) ?
			    WTERMSIG(status) == SIGKILL : !status);
	}
	ASSERT_EQ(0, link_add());
}

struct stalled {
	struct pair pair;
	unsigned char *buf;
	atomic_int tid;
	DAT_RETURN ret;
	atomic_bool done;
};

static void *stall(void *arg)
{
	struct stalled *s = arg;
	struct region r;

	atomic_store(&s->tid, gettid());
	s->ret = create_base(&s->pair, s->buf, &r);
	atomic_store(&s->done, true);
	return NULL;
}

/* A call that closes an IA waits until those have ended that make objects. */
static pid_t start_closer(void)
{
	struct dat_dev_ia_close arg = { .size = sizeof(arg), .ia = 77 };
	/* The library does not notice, so the child keeps the file. */
	pid_t pid = _Fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ioctl(library_fd(), DAT_DEV_IA_CLOSE, &arg);
		_exit(0);
	}
	return pid;
}

TEST(kill_with_userfault_pending)
{
	static struct stalled s;
	struct uffdio_range range;
	pthread_t thread;
	char path[64];
	int fd, status;
	pid_t pid;

	s.buf = map_scattered();
	ASSERT_TRUE(lift_limit());
	ASSERT_DAT(pair_open(&s.pair));
	fd = hold_back(s.buf);
	if (fd < 0)
		SKIP(return, "no userfaultfd(2)");
	ASSERT_EQ(0, pthread_create(&thread, NULL, stall, &s));
	while (!atomic_load(&s.tid))
		usleep(1000);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
		 atomic_load(&s.tid));
	while (!is_blocked(path) && !atomic_load(&s.done))
		usleep(1000);
	usleep(100000);
	if (!is_blocked(path) || atomic_load(&s.done)) {
		pthread_join(thread, NULL);
		SKIP(return, "this kernel does not wait for a page to pin");
	}
	pid = start_closer();
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (!is_blocked(path))
		usleep(1000);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	range = (struct uffdio_range){ (uintptr_t)s.buf, LEN };
	ASSERT_EQ(0, ioctl(fd, UFFDIO_UNREGISTER, &range));
	pthread_join(thread, NULL);
	EXPECT_DAT(s.ret);
	pair_close(&s.pair);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exit_module.c - kdapl.ko cannot be unloaded while a process uses it
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "ioctls.h"
#include "objects.h"
#include "process.h"

/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		600

static int delete_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

static bool load_module(void)
{
	/* The others, if there are any, are still there. */
	return system("for f in $KDAPL_INSMOD; do insmod $f; done") != -1 &&
	       !access("/dev/dat", F_OK);
}

/* Resources of a process; each value includes those before it. */
enum use {
	USE_FILE,
	USE_IA,
	USE_EP,
	USE_CONNECTION,
	USE_RING,
	USE_SOCKET,
	NUM_USES,
};

static bool start_use(enum use use, struct objects *r, int *sockets)
{
	switch (use) {
	case USE_FILE:
		r->fd = open("/dev/dat", O_RDWR);
		return r->fd >= 0;
	case USE_IA:
		return !objects_open_ia(r);
	case USE_EP:
		return !objects_make(r, PZ) && !objects_make(r, EVD) &&
		       !objects_make(r, PSP) && !objects_make(r, EP) &&
		       !objects_make(r, LMR) && !objects_make(r, RMR);
	case USE_CONNECTION:
		return !objects_busy(r);
	case USE_RING:
		return objects_ring(r, r->cr_evd) != MAP_FAILED;
	default:
		/* On the way between two processes. */
		return send_fd(sockets[0], r->fd, "x", 1) && !close(r->fd);
	}
}

FIXTURE(in_use)
{
	struct objects objects;
	int sockets[2];
};

FIXTURE_SETUP(in_use)
{
	if (!getenv("KDAPL_INSMOD"))
		SKIP(return, "KDAPL_INSMOD does not say which module to load");
	if (number_in("/sys/module/kdapl/refcnt", "") != 0)
		SKIP(return, "somebody else uses the module");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sockets));
	self->objects.buf = mmap(NULL, OBJECTS_REGION, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->objects.buf);
}

FIXTURE_TEARDOWN(in_use)
{
	if (access("/dev/dat", F_OK))
		EXPECT_TRUE(load_module());
}

TEST_F_TIMEOUT(in_use, module_unload_while_in_use, LIMIT)
{
	int round, use, status, go[2], done[2];
	pid_t pid;
	char c;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, pipe(go));
		ASSERT_EQ(0, pipe(done));
		pid = fork_child();
		if (!pid) {
			for (use = 0; use < NUM_USES; use++)
				if (read(go[0], &c, 1) != 1 ||
				    !start_use(use, &self->objects,
					       self->sockets) ||
				    write(done[1], "x", 1) != 1)
					_exit(1);
			if (read(go[0], &c, 1) != 1)
				_exit(1);
			if (round == 1)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		close(done[1]);
		for (use = 0; use < NUM_USES; use++) {
			ASSERT_EQ(1, write(go[1], "x", 1));
			ASSERT_EQ(1, read(done[0], &c, 1)) {
				TH_LOG("use %d", use);
			}
			/* "Resource temporarily unavailable": rmmod(8). */
			EXPECT_EQ(EWOULDBLOCK, delete_module("kdapl"));
		}
		ASSERT_EQ(1, write(go[1], "x", 1));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(round == 1 ? SIGKILL : 0, status);
		/* It is still in the socket. */
		EXPECT_EQ(EWOULDBLOCK, delete_module("kdapl"));
		self->objects.fd = receive_fd(self->sockets[1], &c, 1);
		ASSERT_LE(0, self->objects.fd);
		EXPECT_EQ(EWOULDBLOCK, delete_module("kdapl"));
		ASSERT_EQ(0, close(self->objects.fd));

		ASSERT_EQ(0, delete_module("kdapl"));
		EXPECT_NE(0, access("/dev/dat", F_OK));
		ASSERT_TRUE(load_module());
		close(done[0]);
		close(go[0]);
		close(go[1]);
	}
}

TEST_HARNESS_MAIN

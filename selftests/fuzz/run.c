// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * run.c - datfuzz: runs a sequence in a process and waits for the end of that process
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"

/* After these seconds the process is killed, and it must be dead after those. */
#define LIMIT_S		20
#define KILL_LIMIT_S	180

/* Waits for the process itself; false if it outlives the time. */
static bool wait_for(pid_t pid, int pidfd, int seconds, int *status)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	while (poll(&pfd, 1, seconds * 1000) < 0 && errno == EINTR)
		;
	return waitpid(pid, status, WNOHANG) == pid;
}

/* Processes that the sequence has forked are now children of this one. */
static bool reap_orphans(void)
{
	int i;

	for (i = 0; i < KILL_LIMIT_S * 100; i++) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return true;
		if (!pid)
			usleep(10000);
	}
	return false;
}

/* Prints the stacks of all threads in state D. */
static void stacks_of_blocked(void)
{
	if (system("grep -l '^State:.D' /proc/[0-9]*/task/[0-9]*/status |\n"
		   "while read -r f; do\n"
		   "	sed 's/^/#  /' ${f%/*}/comm ${f%/*}/stack\n"
		   "done"))
		errno = 0;
}

/* The step "unplug" may have been killed half way. False if the device does not come back. */
static bool replug(void)
{
	int len = strcspn(ia_name(), "0123456789"), lock, i;
	char cmd[160], path[96];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", ia_name());
	if (!access(path, F_OK))
		return true;
	lock = open("/tmp/datfuzz.unplug", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0)
		return false;
	flock(lock, LOCK_EX);
	snprintf(cmd, sizeof(cmd), "rdma link add %s type %.*s netdev eth0 >/dev/null 2>&1",
		 ia_name(), len, ia_name());
	for (i = 0; i < 100 && access(path, F_OK); i++) {
		if (system(cmd))
			usleep(100000);
	}
	close(lock);
	return !access(path, F_OK);
}

/**
 * run_seq - run a sequence in a process of its own
 * @seq: the sequence
 * @run: out: report, in shared memory
 *
 * Return: NULL, or what went wrong.
 */
const char *run_seq(const struct seq *seq, struct run *run)
{
	static bool is_reaper;
	bool ended = true;
	int pidfd, status = 0;
	pid_t pid;

	if (!is_reaper)
		is_reaper = !prctl(PR_SET_CHILD_SUBREAPER, 1);
	memset(run, 0, sizeof(*run));
	cover_reset();
	fflush(NULL);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execute(seq, run);
	}
	if (pid < 0)
		return "fork() fails";
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (!wait_for(pid, pidfd, LIMIT_S, &status)) {
		kill(pid, SIGKILL);
		ended = wait_for(pid, pidfd, KILL_LIMIT_S, &status);
	}
	kill(-pid, SIGKILL);
	ended = ended && reap_orphans();
	close(pidfd);
	if (!ended) {
		stacks_of_blocked();
		return "a process cannot be killed";
	}
	if ((WIFEXITED(status) && WEXITSTATUS(status) == UNPREPARED) ||
	    (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT))
		return "a process could not begin";
	if (run->stale) {
		printf("# datfuzz: %s\n", api->ops[run->stale - 1].name);
		fflush(stdout);
		return "a call with a freed handle succeeds";
	}
	return replug() ? NULL : "the device does not come back";
}

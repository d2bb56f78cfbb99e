// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tricks_process.c - datfuzz: forks, signals, passed files, removal of the device
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"
#include "process.h"

#define MAX_FORKS	3

/* A child does not inherit the rings: it maps those that it uses. */
static void forget_rings(void)
{
	unsigned int file, i;

	for (file = 0; file < NUM_FILES; file++)
		for (i = 0; i < MAX_OBJECTS; i++)
			proc.objs[file][T_EVD][i].ring = NULL;
}

/* The steps of the thread that follow, in a process of their own */
static void run_fork(struct worker *w, unsigned int num)
{
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The other threads do not exist here. */
	pthread_mutex_init(&proc.lock, NULL);
	proc.is_fork = true;
	forget_rings();
	w->fail_fd = -1;
	for (i = w->at + 1; i < w->seq->num && num; i++) {
		if (w->seq->steps[i].thread != w->seq->steps[w->at].thread)
			continue;
		execute_step(w, &w->seq->steps[i]);
		num--;
	}
	_exit(0);
}

/**
 * trick_fork - fork; both processes execute the steps that follow
 */
void trick_fork(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	pid_t pid;

	if (proc.is_fork || w->in_start ||
	    __atomic_fetch_add(proc.forks, 1, __ATOMIC_RELAXED) >= MAX_FORKS)
		return;
	pthread_mutex_lock(&proc.lock);
	pid = fork();
	if (!pid)
		run_fork(w, t->a[0]);
	pthread_mutex_unlock(&proc.lock);
	/* A signal of the main thread ends the wait. */
	if (pid > 0 && t->a[1])
		waitpid(pid, NULL, 0);
}

/**
 * trick_signal - interrupt a thread
 */
void trick_signal(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	struct worker *to = &proc.workers[t->a[0] % MAX_THREADS];

	if (!proc.is_fork && to->num < proc.num_workers && !to->done)
		pthread_kill(to->thread, SIGUSR1);
}

/**
 * trick_kill - kill the process
 */
void trick_kill(struct worker *w, void *arg)
{
	kill(getpid(), SIGKILL);
}

/**
 * trick_pass_fd - send the file over a socket, and receive it or not
 *
 * Bit 0 of the argument: close the file while it is in the socket. Bit 1: do not receive.
 */
void trick_pass_fd(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	int pair[2], fd = -1;
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return;
	if (send_fd(pair[0], proc.fds[w->file], &byte, 1)) {
		if (t->a[0] & 1)
			close(proc.fds[w->file]);
		if (!(t->a[0] & 2))
			fd = receive_fd(pair[1], &byte, 1);
		if (fd >= 0)
			proc.fds[w->file] = fd;
	}
	close(pair[0]);
	close(pair[1]);
}

/**
 * trick_reopen - close the file and open the device again
 */
void trick_reopen(struct worker *w, void *arg)
{
	int fd = open(api->device, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	dup2(fd, proc.fds[w->file]);
	close(fd);
}

/**
 * trick_pause - do nothing for 0 to 6.4 ms
 */
void trick_pause(struct worker *w, void *arg)
{
	const struct trick *t = arg;

	usleep(50U << (t->a[0] & 7));
}

/**
 * trick_read_debugfs - read a file of kdapl in debugfs
 */
void trick_read_debugfs(struct worker *w, void *arg)
{
	static const char * const files[] = { "files", "objects", "counters" };
	const struct trick *t = arg;
	char path[64], text[4096];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kdapl/%s",
		 files[t->a[0] % ARRAY_LEN(files)]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
}

/**
 * trick_unplug - remove the device and make it again
 *
 * run.c makes it again if this process is killed meanwhile.
 */
void trick_unplug(struct worker *w, void *arg)
{
	int lock = open("/tmp/datfuzz.unplug", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int len = strcspn(ia_name(), "0123456789");
	char cmd[256];

	if (lock < 0)
		return;
	snprintf(cmd, sizeof(cmd),
		 "rdma link delete %s >/dev/null 2>&1; rdma link add %s type %.*s netdev eth0 >/dev/null 2>&1",
		 ia_name(), ia_name(), len, ia_name());
	if (!flock(lock, LOCK_EX) && system(cmd))
		errno = 0;
	close(lock);
}

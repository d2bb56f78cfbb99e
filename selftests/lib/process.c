// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * process.c - child processes, random numbers and descriptors, for stress tests
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

/**
 * rounds - the number of rounds of a test
 * @few: by default
 * @many: with KDAPL_THOROUGH=1
 */
int rounds(int few, int many)
{
	const char *thorough = getenv("KDAPL_THOROUGH");

	return thorough && !strcmp(thorough, "1") ? many : few;
}

/**
 * random_seed - seed random(), with KDAPL_SEED if it is set
 *
 * Return: the seed, for the log.
 */
unsigned int random_seed(void)
{
	const char *given = getenv("KDAPL_SEED");
	unsigned int n = given ? strtoul(given, NULL, 0) :
				 (unsigned int)time(NULL) ^ getpid() << 16;

	srandom(n);
	return n;
}

/**
 * random_below - a random number
 * @limit: more than the largest
 */
unsigned int random_below(unsigned int limit)
{
	return random() % limit;
}

/**
 * fork_child - fork() a child that dies with the caller
 */
pid_t fork_child(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	/* The child must not outlive a test that fails. */
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/**
 * kill_child - kill a child and wait for it
 * @pid: the child
 *
 * Return: false if it was dead before.
 */
bool kill_child(pid_t pid)
{
	int status;

	return !kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid &&
	       WIFSIGNALED(status);
}

/* The first answer is that it is ready. */
static void serve(int in, int out, int (*carry_out)(int what))
{
	int what, answer = 0;

	while (write(out, &answer, sizeof(answer)) == sizeof(answer) &&
	       read(in, &what, sizeof(what)) == sizeof(what))
		answer = carry_out(what);
}

static bool hear(const struct servant *servant, int *answer)
{
	return read(servant->from, answer, sizeof(*answer)) == sizeof(*answer);
}

/**
 * servant_start - fork() a child that carries out tasks
 * @servant: out
 * @begin: the child calls it first, and ends if it returns false
 * @carry_out: the child calls it for each servant_tell()
 * @arg: argument of @begin
 *
 * The child ends when the caller does. Return: false if @begin did.
 */
bool servant_start(struct servant *servant, bool (*begin)(const void *arg),
		   int (*carry_out)(int what), const void *arg)
{
	int to[2], from[2], answer;

	if (pipe(to) || pipe(from))
		return false;
	fflush(NULL);
	servant->pid = fork();
	if (!servant->pid) {
		close(to[1]);
		close(from[0]);
		if (begin(arg))
			serve(to[0], from[1], carry_out);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	servant->to = to[1];
	servant->from = from[0];
	return servant->pid > 0 && hear(servant, &answer);
}

/**
 * servant_tell - let a child carry out a task, and wait for the answer
 * @servant: the child
 * @what: the task
 *
 * Return: what the child answers; -1 if it is dead.
 */
int servant_tell(const struct servant *servant, int what)
{
	int answer;

	if (write(servant->to, &what, sizeof(what)) != sizeof(what) ||
	    !hear(servant, &answer))
		return -1;
	return answer;
}

/**
 * servant_end - kill the child, and wait for its end
 * @servant: the child
 */
void servant_end(struct servant *servant)
{
	kill_child(servant->pid);
	close(servant->to);
	close(servant->from);
}

/**
 * kernel_is_before - is this Linux older than a version?
 * @major: first number of the version
 * @minor: second number
 */
bool kernel_is_before(unsigned int major, unsigned int minor)
{
	unsigned int first, second;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &first, &second) != 2)
		return false;
	return first < major || (first == major && second < minor);
}

/**
 * send_fd - send a descriptor over a Unix socket
 * @socket: the socket
 * @fd: the descriptor
 * @data: data to go with it, at least one byte
 * @len: bytes of @data
 */
bool send_fd(int socket, int fd, const void *data, size_t len)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == (ssize_t)len;
}

/**
 * receive_fd - receive what send_fd() sent
 * @socket: the socket
 * @data: out
 * @len: bytes of @data
 *
 * Return: the descriptor, or -1.
 */
int receive_fd(int socket, void *data, size_t len)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd = -1;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) == (ssize_t)len &&
	    CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/**
 * is_filled_with - whether each byte of a buffer has one value
 * @buf: the buffer
 * @len: its bytes, at least 2
 * @value: the value
 */
bool is_filled_with(const unsigned char *buf, size_t len, unsigned char value)
{
	return buf[0] == value && !memcmp(buf, buf + 1, len - 1);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * scale.c - what an EP costs in a process with many of them: to create, connect, disconnect
 * and free it, and to leave all that to the end of the process
 *
 * scale NUMBER...: for each number of EPs prints a line of microseconds per EP, and how much longer
 * the last tenth of the EPs took to connect than the first.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many.h"

#define DTOS	4

static struct many m;

/* Prints the microseconds per EP since @from, which is then now. */
static void print(const char *what, double *from, unsigned int num)
{
	printf(" %s %.0f", what, (many_now() - *from) / num);
	fflush(stdout);
	*from = many_now();
}

/* Forks a child that connects everything, and returns when it has. */
static pid_t connected_child(unsigned int num)
{
	int fds[2];
	char byte;
	pid_t pid;

	if (pipe(fds))
		exit(1);
	pid = fork();
	if (!pid) {
		many_open(&m, num, DTOS);
		many_create(&m);
		many_connect(&m);
		if (write(fds[1], "", 1) == 1)
			pause();
		exit(1);
	}
	close(fds[1]);
	if (pid < 0 || read(fds[0], &byte, 1) != 1)
		exit(1);
	close(fds[0]);
	return pid;
}

static void measure(unsigned int num)
{
	pid_t pid = connected_child(num);
	double from = many_now();

	printf("scale-%u:", num);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	print("killed", &from, num);

	many_open(&m, num, DTOS);
	from = many_now();
	many_create(&m);
	print("create", &from, num);
	many_connect(&m);
	print("connect", &from, num);
	many_disconnect(&m);
	print("disconnect", &from, num);
	many_free(&m);
	print("free", &from, num);
	many_close(&m);
	print("close", &from, num);
	printf(" us, last/first %.2f\n", m.last_tenth / m.first_tenth);
}

int main(int argc, char **argv)
{
	unsigned int num;
	int i;

	for (i = 1; i < argc; i++) {
		num = strtoul(argv[i], NULL, 0) / 2 * 2;
		if (num)
			measure(num);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * counts.c - numbers that the kernel tells in files
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counts.h"

static long long number_in_fd(int fd, const char *name)
{
	static char text[16384];
	char *found;
	ssize_t len;

	len = pread(fd, text, sizeof(text) - 1, 0);
	if (len < 0)
		return -1;
	text[len] = '\0';
	found = strstr(text, name);
	return found ? atoll(found + strlen(name)) : -1;
}

/* The number behind a name in a file, -1 if there is none. */
long long number_in(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY);
	long long number = number_in_fd(fd, name);

	close(fd);
	return number;
}

/*
 * Each processor keeps a count of its own until this is read, which takes root:
 * run.sh, for those who are not.
 */
static void fold_counts(void)
{
	int ask, done;
	char c = '\n';

	if (!access("/proc/sys/vm/stat_refresh", R_OK)) {
		number_in("/proc/sys/vm/stat_refresh", "");
		return;
	}
	ask = open("/tmp/refresh.ask", O_WRONLY);
	done = open("/tmp/refresh.done", O_RDONLY);
	if (write(ask, &c, 1) != 1 || read(done, &c, 1) != 1)
		abort();
	close(ask);
	close(done);
}

/* Pages that are pinned, by whomever. */
long long pinned_pages(void)
{
	fold_counts();
	return number_in("/proc/vmstat", "\nnr_foll_pin_acquired ") -
	       number_in("/proc/vmstat", "\nnr_foll_pin_released ");
}

/* Pages that this process is charged for. */
long long charged_pages(void)
{
	static int status = -1;
	static pid_t owner;
	long long kbytes;

	/* A user who is not root may have no way to the file. */
	if (status < 0 || owner != getpid()) {
		status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
		owner = getpid();
	}
	kbytes = number_in_fd(status, "\nVmPin:");
	return kbytes < 0 ? -1 : kbytes * 1024 / getpagesize();
}

#define OPEN_FILES	"/sys/kernel/debug/kdapl/files"

/* In a line of that file, from 0: behind the process id and the objects by type. */
#define CHARGED_COLUMN	14

/* The charge of all files that a process has opened; -1 unless root asks. */
long long charged_bytes(pid_t pid)
{
	FILE *f = fopen(OPEN_FILES, "r");
	long long sum = 0;
	char line[1024];
	int column;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		char *rest = line, *word = strsep(&rest, " ");

		if (atoi(word) != pid)
			continue;
		for (column = 0; word && column < CHARGED_COLUMN; column++)
			word = strsep(&rest, " ");
		sum += word ? atoll(word) : 0;
	}
	fclose(f);
	return sum;
}

/* The charge of this process once it no longer changes: memory is freed after a grace period. */
long long settled_charge(void)
{
	long long before, now = charged_bytes(getpid());

	do {
		before = now;
		usleep(100000);
		now = charged_bytes(getpid());
	} while (now != before);
	return now;
}

/**
 * stock_take - count pinned pages, references to kdapl and RDMA resources
 * @text: out, one line to compare
 * @size: bytes of @text
 */
void stock_take(char *text, size_t size)
{
	size_t len;
	FILE *f;

	len = snprintf(text, size, "%lld pages, %lld references; ",
		       pinned_pages(),
		       number_in("/sys/module/kdapl/refcnt", ""));
	f = popen("rdma resource show", "r");
	if (!f)
		return;
	len += fread(text + len, 1, size - len - 1, f);
	text[len] = '\0';
	pclose(f);
}

/**
 * stock_returns_to - wait until stock_take() counts the same as before
 * @before: from stock_take()
 *
 * The kernel releases some resources shortly after the process is dead. Return:
 * false if they are still there after ten seconds.
 */
bool stock_returns_to(const char *before)
{
	char now[512];
	int tries;

	for (tries = 0; tries < 100; tries++) {
		stock_take(now, sizeof(now));
		if (!strcmp(before, now))
			return true;
		usleep(100000);
	}
	fprintf(stderr, "# before: %s# now: %s", before, now);
	return false;
}

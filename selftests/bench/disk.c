// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * disk.c - times reads and writes of a disk
 *
 * usage: disk DEVICE CASE NUMBER THREADS
 *
 * CASE is srp-{randread,randwrite}-4k or srp-{read,write}-1m. Each thread does NUMBER of
 * them, directly, one after another, at addresses that are the same in every run. Prints
 * "CASE NANOSECONDS": the time divided by the operations of all threads.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SMALL	4096
#define LARGE	(1 << 20)
/* The disk must be as large as that. */
#define EXTENT	(32 << 20)

static int fd, number, writes;
static size_t size;

static void *work(void *seed)
{
	unsigned int state = (uintptr_t)seed;
	ssize_t done;
	off_t where;
	void *buf;
	int i;

	if (posix_memalign(&buf, SMALL, size))
		exit(1);
	memset(buf, 0x5a, size);
	for (i = 0; i < number; i++) {
		state = state * 1664525 + 1013904223;
		where = (off_t)(state >> 8) % (EXTENT / size) * size;
		done = writes ? pwrite(fd, buf, size, where) : pread(fd, buf, size, where);
		if (done != (ssize_t)size) {
			perror("disk");
			exit(1);
		}
	}
	free(buf);
	return NULL;
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int num_threads = argc == 5 ? atoi(argv[4]) : 0, i;
	pthread_t threads[64];
	unsigned long long began;

	if (num_threads < 1 || num_threads > 64) {
		fprintf(stderr, "usage: disk DEVICE CASE NUMBER THREADS\n");
		return 2;
	}
	number = atoi(argv[3]);
	writes = !!strstr(argv[2], "write");
	size = strstr(argv[2], "-1m") ? LARGE : SMALL;
	fd = open(argv[1], O_RDWR | O_DIRECT);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	began = now();
	for (i = 0; i < num_threads; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (i = 0; i < num_threads; i++)
		pthread_join(threads[i], NULL);
	printf("%s %llu\n", argv[2],
	       (now() - began) / number / num_threads);
	return 0;
}

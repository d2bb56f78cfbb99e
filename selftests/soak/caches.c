// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * caches.c - the objects of each slab cache, before and after the run
 *
 * A leak of one object per connection hides in the sum of all caches, but not in its own cache.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "soak.h"

#define MAX_CACHES	1024

struct cache {
	char name[40];
	long long objects;
	long long size;
};

static struct cache saved[MAX_CACHES];
static unsigned int num_saved;

/**
 * caches_shrink - free all that caches keep without using it
 *
 * Drops inodes and dentries. Shrinking a cache frees its empty slabs, and with KASAN the objects
 * that the quarantine holds. Afterwards /proc/slabinfo counts used objects only.
 */
void caches_shrink(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	struct dirent *entry;
	char path[320];
	DIR *dir;

	if (write(fd, "3", 1) != 1)
		printf("# drop_caches does not work\n");
	close(fd);
	dir = opendir("/sys/kernel/slab");
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", entry->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (write(fd, "1", 1) != 1)
			printf("# %s cannot be shrunk\n", entry->d_name);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

static unsigned int read_caches(struct cache *caches)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	unsigned int num = 0;
	char line[512];

	while (f && num < MAX_CACHES && fgets(line, sizeof(line), f)) {
		struct cache *c = &caches[num];

		if (sscanf(line, "%39s %lld %*d %lld", c->name, &c->objects, &c->size) == 3)
			num++;
	}
	if (f)
		fclose(f);
	return num;
}

/**
 * caches_save - remember the objects of each cache
 */
void caches_save(void)
{
	num_saved = read_caches(saved);
}

static long long saved_objects(const char *name)
{
	unsigned int i;

	for (i = 0; i < num_saved; i++)
		if (!strcmp(saved[i].name, name))
			return saved[i].objects;
	return 0;
}

/* Their objects describe other objects and remain in pools. */
static bool is_of_debugging(const char *name)
{
	return !strncmp(name, "kmemleak", 8) || !strncmp(name, "debug_objects", 13);
}

/**
 * caches_compare - print the caches that have grown since caches_save()
 * @tolerance: objects by which a cache may grow
 *
 * Return: number of caches that have grown by more.
 */
unsigned int caches_compare(unsigned int tolerance)
{
	static struct cache now[MAX_CACHES];
	unsigned int num = read_caches(now), i, bad = 0;

	for (i = 0; i < num; i++) {
		long long grown = now[i].objects - saved_objects(now[i].name);
		bool is_bad = grown > tolerance && !is_of_debugging(now[i].name);

		if (is_bad || grown > tolerance / 4)
			printf("# cache %s: %lld objects of %lld bytes more, of %lld\n",
			       now[i].name, grown, now[i].size, now[i].objects);
		bad += is_bad;
	}
	return bad;
}

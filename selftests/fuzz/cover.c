// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cover.c - datfuzz: which blocks of kdapl a sequence reaches, by KCOV
 *
 * Each thread of a sequence has a KCOV buffer, which the process that forks it opens and
 * reads. A program counter of kdapl is a point, and so is an operation with its outcome, so
 * that a kernel without KCOV also guides the fuzzer. All jobs share the set of points.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kcov.h>

#include "fuzz.h"

#define ENTRIES		(1UL << 15)
/* Points: offsets of program counters, then hashes of outcomes */
#define NUM_BLOCKS	(1U << 22)
#define NUM_RESULTS	(1U << 16)
#define NUM_POINTS	(NUM_BLOCKS + NUM_RESULTS)

static struct slot {
	int fd;
	uint64_t *pcs;
} slots[MAX_THREADS + 1];
static unsigned int num_slots;
/* The slot of this thread */
static __thread int here = -1;

/* Where the code of kdapl begins, and its bytes with its data */
static uint64_t base;
static uint64_t code_size = NUM_BLOCKS;
/* The number of the execution that reached a point last */
static uint32_t *stamps, stamp;

static struct shared {
	uint32_t num_blocks;
	uint32_t num_results;
	uint8_t seen[NUM_POINTS];
} *shared;

static uint64_t lowest_section(void)
{
	const char *dir = "/sys/module/kdapl/sections";
	uint64_t lowest = 0, address;
	struct dirent *entry;
	char path[320];
	DIR *d = opendir(dir);
	FILE *f;

	while (d && (entry = readdir(d)) != NULL) {
		if (strncmp(entry->d_name, ".text", 5))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%lx", &address) == 1 && (!lowest || address < lowest))
			lowest = address;
		fclose(f);
	}
	if (d)
		closedir(d);
	return lowest;
}

/* Other modules with KCOV may be near. */
static void find_size(void)
{
	FILE *f = fopen("/sys/module/kdapl/coresize", "r");
	uint64_t size;

	if (f && fscanf(f, "%lu", &size) == 1 && size < NUM_BLOCKS)
		code_size = size;
	if (f)
		fclose(f);
}

static bool open_slot(struct slot *slot)
{
	slot->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (slot->fd < 0 || ioctl(slot->fd, KCOV_INIT_TRACE, ENTRIES))
		return false;
	slot->pcs = mmap(NULL, ENTRIES * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
			 slot->fd, 0);
	return slot->pcs != MAP_FAILED;
}

/**
 * cover_init - allocate the set of points, or open the KCOV buffers of this job
 * @num: number of buffers; 0 to allocate the set, which all jobs do share
 *
 * Return: false if the kernel has no KCOV; then outcomes are all that counts.
 */
bool cover_init(unsigned int num)
{
	if (!num) {
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (shared == MAP_FAILED)
			exit(2);
		base = lowest_section();
		find_size();
		return true;
	}
	stamps = mmap(NULL, NUM_POINTS * sizeof(*stamps), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stamps == MAP_FAILED)
		exit(2);
	madvise(stamps, NUM_POINTS * sizeof(*stamps), MADV_DONTFORK);
	while (num_slots < num && num_slots < ARRAY_LEN(slots)) {
		if (!open_slot(&slots[num_slots]))
			return false;
		num_slots++;
	}
	return true;
}

/**
 * cover_on - record the program counters of this thread
 * @slot: its buffer
 */
void cover_on(unsigned int slot)
{
	if (slot < num_slots && !ioctl(slots[slot].fd, KCOV_ENABLE, KCOV_TRACE_PC))
		here = slot;
}

/**
 * cover_off - end what cover_on() has begun
 */
void cover_off(void)
{
	if (here >= 0)
		ioctl(slots[here].fd, KCOV_DISABLE, 0);
	here = -1;
}

/**
 * cover_reset - empty the buffers before an execution
 */
void cover_reset(void)
{
	unsigned int i;

	for (i = 0; i < num_slots; i++)
		slots[i].pcs[0] = 0;
}

static unsigned int add_point(uint32_t point, uint32_t *fresh, unsigned int num, unsigned int max)
{
	if (point >= NUM_POINTS || stamps[point] == stamp)
		return num;
	stamps[point] = stamp;
	if (!shared->seen[point] && num < max)
		fresh[num++] = point;
	return num;
}

/**
 * cover_collect - find the points of the last execution that are new
 * @run: its report
 * @fresh: out: new points
 * @max: entries of @fresh
 *
 * Return: number of new points.
 */
unsigned int cover_collect(const struct run *run, uint32_t *fresh, unsigned int max)
{
	unsigned int num = 0, i, j, results;

	stamp++;
	for (i = 0; i < num_slots; i++) {
		uint64_t len = slots[i].pcs[0];

		for (j = 0; j < len && j < ENTRIES - 1; j++)
			if (slots[i].pcs[j + 1] - base < code_size)
				num = add_point(slots[i].pcs[j + 1] - base, fresh, num, max);
	}
	results = run->num_results < ARRAY_LEN(run->results) ? run->num_results :
							       ARRAY_LEN(run->results);
	for (i = 0; i < results; i++)
		num = add_point(NUM_BLOCKS + (run->results[i] >> 16), fresh, num, max);
	return num;
}

/**
 * cover_includes - whether the last execution reached points
 * @fresh: the points
 * @num: number of @fresh
 */
bool cover_includes(const uint32_t *fresh, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		if (stamps[fresh[i]] != stamp)
			return false;
	return true;
}

/**
 * cover_merge - add points to the set
 * @fresh: the points
 * @num: number of @fresh
 */
void cover_merge(const uint32_t *fresh, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++) {
		if (__atomic_exchange_n(&shared->seen[fresh[i]], 1, __ATOMIC_RELAXED))
			continue;
		__atomic_fetch_add(fresh[i] < NUM_BLOCKS ? &shared->num_blocks :
				   &shared->num_results, 1, __ATOMIC_RELAXED);
	}
}

/**
 * cover_is_block - whether a point is a program counter
 * @point: the point
 */
bool cover_is_block(uint32_t point)
{
	return point < NUM_BLOCKS;
}

/**
 * cover_blocks - number of program counters of kdapl that were reached
 */
unsigned int cover_blocks(void)
{
	return shared->num_blocks;
}

/**
 * cover_results - number of operations with different outcomes that were seen
 */
unsigned int cover_results(void)
{
	return shared->num_results;
}

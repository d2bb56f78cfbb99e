// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * values.c - what the supervisor measures: memory, pinned pages, files, charges, RDMA objects
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counts.h"
#include "soak.h"

static char memory_current[128], rdma_current[128];

static const char * const names[NUM_VALUES] = {
	[PROCESSES] = "processes",
	[SLAB] = "slab_kib",
	[VMALLOC] = "vmalloc_kib",
	[PINNED] = "pinned_pages",
	[FILES] = "files",
	[SOCKETS] = "sockets",
	[MEMCG] = "memcg_kib",
	[RDMACG] = "rdmacg_objects",
	[CHARGED] = "charged_kib",
	[QPS] = "qps",
	[CQS] = "cqs",
	[MRS] = "mrs",
	[PDS] = "pds",
	[SRQS] = "srqs",
	[CM_IDS] = "cm_ids",
	[REFERENCES] = "references",
};

/**
 * values_open - set the control group of the children
 * @group: its directory, or NULL
 */
void values_open(const char *group)
{
	if (!group)
		return;
	snprintf(memory_current, sizeof(memory_current), "%s/memory.current", group);
	snprintf(rdma_current, sizeof(rdma_current), "%s/rdma.current", group);
}

/**
 * value_name - the name of a value, with its unit
 * @value: which
 */
const char *value_name(enum value value)
{
	return names[value];
}

/**
 * value_exists - whether this kernel has the value
 * @values: from values_sample()
 * @value: which
 */
bool value_exists(const long long *values, enum value value)
{
	return values[value] >= 0;
}

/* Adds the numbers behind a word on all lines. */
static long long sum_of(FILE *f, const char *word)
{
	long long sum = 0;
	char line[512];

	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		char *found = strstr(line, word);

		if (found)
			sum += atoll(found + strlen(word));
	}
	return sum;
}

static void sample_rdma(long long *values)
{
	static const struct {
		enum value value;
		const char *word;
	} words[] = {
		{ QPS, " qp " }, { CQS, " cq " }, { MRS, " mr " }, { PDS, " pd " },
		{ SRQS, " srq " }, { CM_IDS, " cm_id " },
	};
	char text[2048] = "";
	unsigned int i;
	size_t len;
	FILE *f;

	f = popen("rdma resource show", "r");
	len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		pclose(f);
	f = fmemopen(text, len + 1, "r");
	if (!f)
		return;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		values[words[i].value] = sum_of(f, words[i].word);
	fclose(f);
}

/* What kdapl charges to all open files. In a line: a process id, twelve counts, two sums. */
static long long charged(void)
{
	FILE *f = fopen("/sys/kernel/debug/kdapl/files", "r");
	long long sum = 0, bytes;
	char line[1024];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %lld",
			   &bytes) == 1)
			sum += bytes;
	fclose(f);
	return sum / 1024;
}

static void sample_groups(long long *values)
{
	FILE *f;

	values[MEMCG] = number_in(memory_current, "");
	if (values[MEMCG] >= 0)
		values[MEMCG] /= 1024;
	f = rdma_current[0] ? fopen(rdma_current, "r") : NULL;
	values[RDMACG] = f ? sum_of(f, "hca_object=") : -1;
	if (f)
		fclose(f);
}

/**
 * values_sample - read all values
 * @values: out; -1 for those that this kernel does not have
 */
void values_sample(long long *values)
{
	values[PROCESSES] = crew_alive();
	values[SLAB] = number_in("/proc/meminfo", "\nSlab:");
	values[VMALLOC] = number_in("/proc/meminfo", "\nVmallocUsed:");
	values[PINNED] = pinned_pages();
	values[FILES] = number_in("/proc/sys/fs/file-nr", "");
	values[SOCKETS] = number_in("/proc/net/sockstat", "sockets: used ");
	values[REFERENCES] = number_in("/sys/module/kdapl/refcnt", "");
	values[CHARGED] = charged();
	sample_groups(values);
	sample_rdma(values);
}

/**
 * values_print - print a sample as one line
 * @values: from values_sample()
 * @when: seconds since the begin of the run
 */
void values_print(const long long *values, double when)
{
	unsigned int i;

	printf("# sample seconds=%.1f", when);
	for (i = 0; i < NUM_VALUES; i++)
		if (value_exists(values, i))
			printf(" %s=%lld", names[i], values[i]);
	printf(" unplugs=%u killed=%u connections=%llu mbytes=%llu\n", num_unplugs, num_killed,
	       (unsigned long long)board->counters[CONNECTED],
	       (unsigned long long)board->counters[BYTES] >> 20);
}

/**
 * value_tolerance - by how much a value may differ at the end of the run from its start
 * @value: which
 * @start: at the start
 * @peak: the most during the run
 *
 * Objects, pages and charges of objects are exact. Of files each processor keeps up to 32 in a
 * count of its own, which the file does not include. The other values are sums of pages which
 * the kernel fills with objects of all kinds, so a part of what they grew by may remain: slabs
 * that a few long-lived objects share, vmalloc areas and stacks that are freed lazily, and pages
 * that each processor has charged in advance. caches.c finds what hides in there.
 */
long long value_tolerance(enum value value, const long long *start, const long long *peak)
{
	long long grown = peak[value] - start[value];

	switch (value) {
	case SLAB:
		return 2048 + grown / 20;
	case VMALLOC:
		return 1024 + grown / 20;
	case MEMCG:
		return 1024;
	case FILES:
		return 32 * sysconf(_SC_NPROCESSORS_ONLN);
	default:
		return 0;
	}
}

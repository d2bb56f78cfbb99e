// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * batch.c - what RDMA writes cost that are posted by dat_linux_post()
 *
 * Prints a line as bench.c does, whose case of this name is the same work with what
 * DAT has words for: on libdaplofa, which knows no other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <dat/dat_linux.h>

#include "pair.h"

#define MANY		32
#define LEN		64
#define COUNT		50
#define REGION		4096

static struct pair pair;
static struct region from, to;

static void must(DAT_RETURN ret, const char *what)
{
	if (ret == DAT_SUCCESS)
		return;
	fprintf(stderr, "batch: %s: %s\n", what, dat_str(ret));
	exit(1);
}

static void write_many(void)
{
	DAT_LMR_TRIPLET segment_of = segment(&from, 0, LEN);
	DAT_LINUX_DTO dtos[MANY];
	DAT_EVENT event;
	DAT_COUNT posted;
	int i;

	for (i = 0; i < MANY; i++)
		dtos[i] = (DAT_LINUX_DTO){
			.op = DAT_LINUX_RDMA_WRITE,
			.handle = pair.a.ep,
			.num_segments = 1,
			.local_iov = &segment_of,
			.remote_buffer = remote(to.rmr_context, to.buf, LEN),
			.completion_flags = i < MANY - 1 ?
				DAT_COMPLETION_SUPPRESS_FLAG :
				DAT_COMPLETION_DEFAULT_FLAG,
		};
	must(dat_linux_post(MANY, dtos, &posted), "dat_linux_post");
	while (dat_evd_dequeue(pair.a.dto_evd, &event) != DAT_SUCCESS)
		;
	must(event.event_data.dto_completion_event_data.status ?
		     DAT_INTERNAL_ERROR : DAT_SUCCESS, "an RDMA write");
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

int main(void)
{
	unsigned long long start;
	int i;

	must(pair_open(&pair), "dat_ia_open");
	must(region_open(&pair, pair.a.pz, &from, REGION,
			 DAT_MEM_PRIV_ALL_FLAG), "dat_lmr_create");
	must(region_open(&pair, pair.b.pz, &to, REGION,
			 DAT_MEM_PRIV_ALL_FLAG), "dat_lmr_create");
	must(pair_connect(&pair), "a connection");
	for (i = 0; i < COUNT / 10; i++)
		write_many();
	start = now();
	for (i = 0; i < COUNT; i++)
		write_many();
	printf("u-batch-64-x32 %llu\n",
	       (now() - start) / COUNT / MANY);
	pair_close(&pair);
	return 0;
}

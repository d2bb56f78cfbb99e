// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dequeue.c - what completions cost on an EVD with 2, 16 and 1,024 EPs
 *
 * Prints lines as bench.c does: "u-write-N-eps", an RDMA Write of 64 bytes and its completion, each
 * on another EP; "u-dequeue-N-eps", the call alone, for a completion that is there. verbs.c has the
 * same cases.
 */
#include <stdio.h>
#include <stdlib.h>

#include "many.h"
#include "pair.h"

#define BYTES	64
/* Completions that wait at once, at least */
#define BATCH	64

static struct many m;
static struct region region;
static unsigned int next;

/* Posts on each EP of the first half in turn. */
static void post(void)
{
	DAT_RMR_TRIPLET there = remote(region.rmr_context, region.buf + BYTES, BYTES);
	DAT_LMR_TRIPLET here = segment(&region, 0, BYTES);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	many_must(dat_ep_post_rdma_write(m.eps[next], 1, &here, cookie, &there,
					 DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_rdma_write");
	next = (next + 1) % (m.num / 2);
}

static void check(const DAT_EVENT *event)
{
	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		many_must(DAT_ABORT, "RDMA Write");
}

/* Returns the microseconds of all. */
static double write_some(unsigned int count)
{
	double start = many_now();
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < count; i++) {
		post();
		while (dat_evd_dequeue(m.dto_evd, &event) != DAT_SUCCESS)
			;
		check(&event);
	}
	return many_now() - start;
}

/* Returns the microseconds of the calls. */
static double dequeue_some(unsigned int batch)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	unsigned int i;
	double start;

	for (i = 0; i < batch; i++)
		post();
	many_must(dat_evd_wait(m.dto_evd, DAT_TIMEOUT_INFINITE, batch, &event, &nmore),
		  "dat_evd_wait");
	start = many_now();
	for (i = 1; i < batch; i++) {
		many_must(dat_evd_dequeue(m.dto_evd, &event), "dat_evd_dequeue");
		check(&event);
	}
	return many_now() - start;
}

static void measure(unsigned int num)
{
	unsigned int batch = num / 2 < BATCH ? BATCH : num / 2;
	unsigned int rounds = getenv("BENCH_SMOKE") ? 1 : 8, i;
	struct pair pair = {};
	double us = 0;

	many_open(&m, num, BATCH);
	many_create(&m);
	many_connect(&m);
	pair.ia = m.ia;
	many_must(region_open(&pair, m.pz, &region, 2 * BYTES, DAT_MEM_PRIV_ALL_FLAG),
		  "dat_lmr_create");
	next = 0;
	write_some(batch);
	printf("u-write-%u-eps %.0f\n", num, 1000 * write_some(rounds * batch) / (rounds * batch));
	dequeue_some(batch);
	for (i = 0; i < rounds; i++)
		us += dequeue_some(batch);
	printf("u-dequeue-%u-eps %.0f\n", num, 1000 * us / (rounds * (batch - 1)));
	fflush(stdout);
	region_close(&region);
	many_close(&m);
}

int main(void)
{
	static const unsigned int nums[] = { 2, 16, 1024 };
	size_t i;

	for (i = 0; i < ARRAY_LEN(nums); i++)
		measure(nums[i]);
	return 0;
}

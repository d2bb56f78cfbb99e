// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * minimise.c - datfuzz: removes steps that a sequence does not need for its new points
 */
#include <string.h>

#include "fuzz.h"

#define MAX_RUNS	16

/* Keeps the points that a second execution reaches again. */
static unsigned int confirm(const struct seq *seq, run_fn *run, uint32_t *fresh, unsigned int num)
{
	unsigned int kept = 0, i;

	if (!run(seq))
		return 0;
	for (i = 0; i < num; i++)
		if (cover_includes(&fresh[i], 1))
			fresh[kept++] = fresh[i];
	return kept;
}

/**
 * minimise - make a sequence shorter that has reached new points
 * @seq: the sequence
 * @run: runs a sequence and collects its points; false if it must not run
 * @fresh: the points; only those remain that it reaches twice
 * @num: number of @fresh
 *
 * Return: the number of @fresh that remain.
 */
unsigned int minimise(struct seq *seq, run_fn *run, uint32_t *fresh, unsigned int num)
{
	unsigned int runs = 0, len, at;
	struct seq shorter;

	num = confirm(seq, run, fresh, num);
	if (!num)
		return 0;
	for (len = seq->num / 2; len; len /= 2) {
		for (at = 0; at + len <= seq->num && runs < MAX_RUNS; runs++) {
			shorter = *seq;
			remove_steps(&shorter, at, len);
			if (run(&shorter) && cover_includes(fresh, num))
				*seq = shorter;
			else
				at += len;
		}
	}
	for (at = 0; at < seq->num && runs < MAX_RUNS + 4; at++) {
		if (!seq->steps[at].fail)
			continue;
		runs++;
		shorter = *seq;
		shorter.steps[at].fail = 0;
		if (run(&shorter) && cover_includes(fresh, num))
			*seq = shorter;
	}
	return num;
}

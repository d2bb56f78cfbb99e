// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * bench.c - measures what kdapl costs in the kernel, beside raw verbs
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "bench.h"
#include "report.h"

static bool repeat(bool (*fn)(void), unsigned int times)
{
	while (times--) {
		if (!fn())
			return false;
		cond_resched();
	}
	return true;
}

/* A line "NAME SIDE NANOSECONDS", of one of @per_call operations. */
static bool measure(const struct bench *b, const char *name, bool (*fn)(void),
		    unsigned int times, unsigned int per_call)
{
	u64 start;

	if (!repeat(fn, times / 10 + 1))
		return false;
	start = ktime_get_ns();
	if (!repeat(fn, times))
		return false;
	report("%s %s %llu\n", name, b->name,
	       div_u64(ktime_get_ns() - start, times * per_call));
	return true;
}

static bool measure_pingpong(const struct bench *b)
{
	u64 start;

	if (!b->pingpong(BENCH_ROUNDS / 10))
		return false;
	start = ktime_get_ns();
	if (!b->pingpong(BENCH_ROUNDS))
		return false;
	report("k-pingpong-64 %s %llu\n", b->name,
	       div_u64(ktime_get_ns() - start, BENCH_ROUNDS));
	return true;
}

static bool measure_writes(const struct bench *b)
{
	return measure(b, "k-write-64", b->write_one, BENCH_WRITES, 1) &&
	       measure(b, "k-write-64-x32", b->write_many, BENCH_BATCHES,
		       BENCH_MANY);
}

static void run(const struct bench *b)
{
	if (!b->open(false) || !measure_writes(b))
		report("# %s: writes have failed\n", b->name);
	b->close();
	if (!b->open(true) || !measure_pingpong(b))
		report("# %s: ping-pong has failed\n", b->name);
	b->close();
}

static int __init bench_init(void)
{
	int ret = report_open("kdapl_bench");

	if (ret)
		return ret;
	run(&bench_raw);
	run(&bench_ours);
	return 0;
}

static void __exit bench_exit(void)
{
	report_close();
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("Measures kdapl beside raw verbs");
MODULE_LICENSE("Dual BSD/GPL");

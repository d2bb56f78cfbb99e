// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * bench.c - measures the cost of kdapl in the kernel and compares it with raw verbs
 *
 * Loading the module runs the same operations on both sides (bench_ours.c, bench_raw.c)
 * and reports the time of each in debugfs.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "bench.h"
#include "report.h"

static char *only_side = "", *only_case = "";
module_param(only_side, charp, 0444);
MODULE_PARM_DESC(only_side, "measure this side alone");
module_param(only_case, charp, 0444);
MODULE_PARM_DESC(only_case, "measure this case alone");

static unsigned int times = 1;
module_param(times, uint, 0444);
MODULE_PARM_DESC(times, "measure each so often");

static bool is_wanted(const char *name, const char *only)
{
	return !*only || !strcmp(name, only);
}

static bool repeat(bool (*fn)(void), unsigned int num)
{
	while (num--) {
		if (!fn())
			return false;
		cond_resched();
	}
	return true;
}

/* Reports "NAME SIDE NANOSECONDS", the time of one of @per_call operations. */
static bool measure_once(const struct bench *b, const char *name,
			 bool (*fn)(void), unsigned int num,
			 unsigned int per_call)
{
	u64 start;

	if (!repeat(fn, num / 10 + 1))
		return false;
	start = ktime_get_ns();
	if (!repeat(fn, num))
		return false;
	report("%s %s %llu\n", name, b->name,
	       div_u64(ktime_get_ns() - start, num * per_call));
	return true;
}

static void fail(const struct bench *b, const char *what)
{
	report("# failed: %s: %s\n", b->name, what);
}

static void measure(const struct bench *b, const char *name, bool (*fn)(void),
		    unsigned int num, unsigned int per_call)
{
	unsigned int i;

	if (!is_wanted(name, only_case))
		return;
	for (i = 0; i < times; i++) {
		if (!measure_once(b, name, fn, num, per_call)) {
			fail(b, name);
			break;
		}
	}
}

static const struct bench *pingpong;

static bool pingpong_rounds(void)
{
	return pingpong->pingpong(BENCH_ROUNDS);
}

static void measure_pingpong(const struct bench *b)
{
	pingpong = b;
	measure(b, "k-pingpong-64", pingpong_rounds, 1, BENCH_ROUNDS);
}

static void measure_writes(const struct bench *b)
{
	measure(b, "k-write-64", b->write_one, BENCH_WRITES, 1);
	measure(b, "k-write-64-x32", b->write_many, BENCH_BATCHES, BENCH_MANY);
}

static void run(const struct bench *b)
{
	if (!is_wanted(b->name, only_side))
		return;
	if (b->open(false))
		measure_writes(b);
	else
		fail(b, "k-write-64 k-write-64-x32: no connection");
	b->close();
	if (b->open(true))
		measure_pingpong(b);
	else
		fail(b, "k-pingpong-64: no connection");
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

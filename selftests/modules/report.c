// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * report.c - results of a test module, as a file in debugfs
 *
 * A test module opens the report at load, runs its tests and closes it at unload, in
 * process context. selftests/run.sh reads the file.
 */
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "report.h"

#define REPORT_SIZE	(64 * 1024)
/* Seconds from which a test's duration is reported. */
#define SLOW		5

static struct debugfs_blob_wrapper blob;
static struct dentry *dir;

/**
 * report_open - create the report, /sys/kernel/debug/MODULE/results
 * @module: name of the module
 *
 * Return: 0 or a negative errno.
 */
int report_open(const char *module)
{
	blob.data = kzalloc(REPORT_SIZE, GFP_KERNEL);
	if (!blob.data)
		return -ENOMEM;
	blob.size = 0;
	dir = debugfs_create_dir(module, NULL);
	debugfs_create_blob("results", 0444, dir, &blob);
	return 0;
}
EXPORT_SYMBOL_GPL(report_open);

/**
 * report_close - remove the report
 */
void report_close(void)
{
	debugfs_remove_recursive(dir);
	kfree(blob.data);
}
EXPORT_SYMBOL_GPL(report_close);

/**
 * report - append to the report
 * @fmt: format, as for printk()
 */
void report(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	blob.size += vscnprintf(blob.data + blob.size, REPORT_SIZE - blob.size,
				fmt, args);
	va_end(args);
}
EXPORT_SYMBOL_GPL(report);

/**
 * report_run - run tests and report them as TAP
 * @suite: name of the suite
 * @tests: array of tests
 * @num: number of tests
 *
 * The kernel's log names each test when it begins, so that complaints can be told apart.
 */
void report_run(const char *suite, const struct ktest *tests, unsigned int num)
{
	unsigned int i;

	report("TAP version 13\n1..%u\n", num);
	for (i = 0; i < num; i++) {
		u64 seconds, start = ktime_get_ns();
		bool ok;

		pr_info("%s.%s\n", suite, tests[i].name);
		ok = tests[i].fn();
		seconds = div_u64(ktime_get_ns() - start, NSEC_PER_SEC);
		report("%sok %u %s.%s\n", ok ? "" : "not ", i + 1, suite,
		       tests[i].name);
		if (seconds >= SLOW)
			report("# which took %llu s\n", seconds);
	}
}
EXPORT_SYMBOL_GPL(report_run);

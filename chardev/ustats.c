// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ustats.c - counts and traces ioctls, errors and ring overflows
 *
 * Owns a per-CPU counter of calls and a counter of errors for each ioctl. dat_ioctl()
 * counts in process context, upcalls count overflows in any context.
 */
#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>

#include "chardev.h"
#include "uevd.h"
#include "ustats.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Per CPU, because posts on several CPUs must not share a cache line. */
static DEFINE_PER_CPU(unsigned long, calls[DAT_NUM_IOCTLS]);
static atomic_long_t errors[DAT_NUM_IOCTLS];
static atomic_long_t overflows;

static void trace_error(unsigned int nr, int err, DAT_RETURN result)
{
	const char *type = "", *subtype = "";

	if (!err)
		dat_strerror(result, &type, &subtype);
	trace_dat_ioctl_error(dat_ioctl_name(nr), err, result, type, subtype);
}

/**
 * dat_ustats_ioctl - count an ioctl, and trace it if it failed
 * @nr: number of the ioctl, less than DAT_NUM_IOCTLS
 * @err: 0 or a negative errno
 * @result: the DAT result returned to the process if @err is 0
 *
 * Context: process.
 */
void dat_ustats_ioctl(unsigned int nr, int err, DAT_RETURN result)
{
	this_cpu_inc(calls[nr]);
	if (likely(!err && DAT_GET_TYPE(result) == DAT_SUCCESS))
		return;
	atomic_long_inc(&errors[nr]);
	if (trace_dat_ioctl_error_enabled())
		trace_error(nr, err, result);
}

/**
 * dat_ustats_overflow - count and trace an event lost because a ring was full
 * @evd: the EVD of the ring
 *
 * Context: process or softirq.
 */
void dat_ustats_overflow(const struct dat_uevd *evd)
{
	atomic_long_inc(&overflows);
	trace_dat_ring_overflow(evd);
}

static unsigned long num_calls(unsigned int nr)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(calls[nr], cpu);
	return sum;
}

/**
 * dat_chardev_show - print the counters of /dev/dat, one per line
 * @m: output
 *
 * Context: process, may sleep.
 */
void dat_chardev_show(struct seq_file *m)
{
	unsigned int nr;

	seq_printf(m, "ring_overflow %ld\n", atomic_long_read(&overflows));
	seq_puts(m, "ioctl calls errors\n");
	for (nr = 0; nr < DAT_NUM_IOCTLS; nr++)
		seq_printf(m, "%s %lu %ld\n", dat_ioctl_name(nr), num_calls(nr),
			   atomic_long_read(&errors[nr]));
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ustats.c - what an administrator sees of /dev/dat: counters, tracepoints, open files
 *
 * Owns a per-CPU counter of calls and a counter of errors for each ioctl. dat_ioctl()
 * counts in process context, upcalls count overflows in any context.
 *
 * Owns the list of open files; open and release in chardev.c add and remove them. In
 * debugfs, kdapl/files has a line for each open file. The first line names the columns.
 * dat-info(8) prints it.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "chardev.h"
#include "charge.h"
#include "uevd.h"

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

static LIST_HEAD(files);
static DEFINE_MUTEX(files_lock);

static const struct {
	DAT_HANDLE_TYPE type;
	const char *name;
} columns[] = {
	{ DAT_HANDLE_TYPE_IA, "ia" },
	{ DAT_HANDLE_TYPE_PZ, "pz" },
	{ DAT_HANDLE_TYPE_EVD, "evd" },
	{ DAT_UOBJ_CNO, "cno" },
	{ DAT_HANDLE_TYPE_PSP, "psp" },
	{ DAT_HANDLE_TYPE_RSP, "rsp" },
	{ DAT_HANDLE_TYPE_CSP, "csp" },
	{ DAT_HANDLE_TYPE_CR, "cr" },
	{ DAT_HANDLE_TYPE_EP, "ep" },
	{ DAT_HANDLE_TYPE_SRQ, "srq" },
	{ DAT_HANDLE_TYPE_LMR, "lmr" },
	{ DAT_HANDLE_TYPE_RMR, "rmr" },
};

static void show_file(struct seq_file *m, struct dat_file *file)
{
	unsigned int counts[ARRAY_SIZE(columns)] = {};
	struct dat_uobj *uobj;
	unsigned long index;
	size_t i;

	dat_for_each_uobj(file, index, uobj) {
		for (i = 0; i < ARRAY_SIZE(columns); i++)
			counts[i] += uobj->type == columns[i].type;
		dat_uobj_put(uobj);
	}
	seq_printf(m, "%d", file->pid);
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		seq_printf(m, " %u", counts[i]);
	seq_printf(m, " %ld %ld ", atomic_long_read(&file->pinned_bytes),
		   atomic_long_read(&file->charge->bytes));
	/* Last column, because the name may contain any character. */
	seq_escape(m, file->comm, " \t\n\\");
	seq_putc(m, '\n');
}

static int files_show(struct seq_file *m, void *v)
{
	struct dat_file *file;
	size_t i;

	seq_puts(m, "pid");
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		seq_printf(m, " %s", columns[i].name);
	seq_puts(m, " pinned_bytes charged_bytes command\n");
	mutex_lock(&files_lock);
	list_for_each_entry(file, &files, node)
		show_file(m, file);
	mutex_unlock(&files_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(files);

/**
 * dat_files_add - add a file that the current process opens to the list
 * @file: the file
 *
 * Context: process, may sleep.
 */
void dat_files_add(struct dat_file *file)
{
	file->pid = task_tgid_nr(current);
	get_task_comm(file->comm, current);
	mutex_lock(&files_lock);
	list_add_tail(&file->node, &files);
	mutex_unlock(&files_lock);
}

/**
 * dat_files_del - remove a file from the list before it is closed
 * @file: the file
 *
 * Context: process, may sleep.
 */
void dat_files_del(struct dat_file *file)
{
	mutex_lock(&files_lock);
	list_del(&file->node);
	mutex_unlock(&files_lock);
}

/**
 * dat_chardev_debugfs - create the debugfs file that lists open files
 * @dir: debugfs directory of the module
 *
 * Context: process, may sleep.
 */
void dat_chardev_debugfs(struct dentry *dir)
{
	debugfs_create_file("files", 0400, dir, NULL, &files_fops);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * debugfs.c - counters and objects for the administrator, in /sys/kernel/debug/kdapl
 *
 * Each file has lines of words; the first line names the columns: see
 * Documentation/admin.rst.
 * Module init creates the files; root reads them in process context.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "../../chardev/chardev.h"
#include "api/debugfs.h"
#include "base/object.h"
#include "base/stats.h"
#include "dev/ia.h"

static struct dentry *dir;

static int counters_show(struct seq_file *m, void *v)
{
	dat_stats_show(m);
	dat_chardev_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/*
 * No lock is held while a process reads the list. A reference keeps only the object
 * that is being shown. The position in the file is the index in the table of handles.
 */
static void *objects_start(struct seq_file *m, loff_t *pos)
{
	unsigned long index = *pos;
	struct dat_object *obj;

	if (!index)
		return SEQ_START_TOKEN;
	obj = dat_object_next(&index);
	*pos = index;
	return obj;
}

static void objects_stop(struct seq_file *m, void *v)
{
	if (v && v != SEQ_START_TOKEN)
		dat_object_put(v);
}

static void *objects_next(struct seq_file *m, void *v, loff_t *pos)
{
	objects_stop(m, v);
	++*pos;
	return objects_start(m, pos);
}

static int objects_show(struct seq_file *m, void *v)
{
	struct dat_object *obj = v;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "type handle ia state\n");
		return 0;
	}
	seq_printf(m, "%s %#lx %s %s\n", dat_type_name(obj->type),
		   (unsigned long)obj->handle, obj->owner->name,
		   obj->ops->state ? obj->ops->state(obj) : "-");
	return 0;
}

static const struct seq_operations objects_sops = {
	.start = objects_start,
	.next = objects_next,
	.stop = objects_stop,
	.show = objects_show,
};
DEFINE_SEQ_ATTRIBUTE(objects);

/**
 * dat_debugfs_init - create the directory and its files
 *
 * Context: process, may sleep.
 */
void dat_debugfs_init(void)
{
	dir = debugfs_create_dir("kdapl", NULL);
	debugfs_create_file("counters", 0400, dir, NULL, &counters_fops);
	debugfs_create_file("objects", 0400, dir, NULL, &objects_fops);
	dat_chardev_debugfs(dir);
#ifdef _KDAPL_FAIL_H
	dat_fail_init(dir);
#endif
}

/**
 * dat_debugfs_exit - remove the directory and its files
 *
 * Context: process, may sleep.
 */
void dat_debugfs_exit(void)
{
	debugfs_remove_recursive(dir);
}

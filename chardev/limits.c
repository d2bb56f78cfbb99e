// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * limits.c - bounds on what an open file and a user can have, as parameters of the
 * module
 *
 * They are looked at when something is made: what there is already stays.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "limits.h"

/* Of all memory of the host, where the administrator does not say. */
#define FILE_PART	8
#define USER_PART	4

static unsigned long limits[] = {
	[DAT_LIMIT_OBJECTS] = 65536,
	[DAT_LIMIT_FILE_BYTES] = 0,
	[DAT_LIMIT_USER_BYTES] = 0,
};

/* The administrator has set it; 0 is a limit. */
static bool is_set[ARRAY_SIZE(limits)];

/* Up to what sums and sizes cannot overflow. */
#define MOST	(LONG_MAX / 4)

static int limit_set(const char *val, const struct kernel_param *kp)
{
	unsigned long *limit = kp->arg;
	unsigned long value;
	int ret = kstrtoul(val, 0, &value);

	if (ret)
		return ret;
	if (value > MOST)
		return -EINVAL;
	is_set[limit - limits] = true;
	WRITE_ONCE(*limit, value);
	return 0;
}

static const struct kernel_param_ops limit_ops = {
	.set = limit_set,
	.get = param_get_ulong,
};

module_param_cb(max_objects, &limit_ops, &limits[DAT_LIMIT_OBJECTS], 0644);
__MODULE_PARM_TYPE(max_objects, "ulong");
MODULE_PARM_DESC(max_objects, "Objects that one open file can have");

module_param_cb(max_file_bytes, &limit_ops, &limits[DAT_LIMIT_FILE_BYTES],
		0644);
__MODULE_PARM_TYPE(max_file_bytes, "ulong");
MODULE_PARM_DESC(max_file_bytes,
		 "Bytes of kernel and device memory that one open file can take");

module_param_cb(max_user_bytes, &limit_ops, &limits[DAT_LIMIT_USER_BYTES],
		0644);
__MODULE_PARM_TYPE(max_user_bytes, "ulong");
MODULE_PARM_DESC(max_user_bytes,
		 "Bytes of kernel and device memory that all open files of a user can take");

static void preset(enum dat_limit which, unsigned int part)
{
	if (!is_set[which])
		limits[which] = min_t(u64, (u64)totalram_pages() * PAGE_SIZE /
					   part, MOST);
}

/**
 * dat_limits_init - set the limits that depend on the size of the host
 *
 * Context: process.
 */
void dat_limits_init(void)
{
	preset(DAT_LIMIT_FILE_BYTES, FILE_PART);
	preset(DAT_LIMIT_USER_BYTES, USER_PART);
}

/**
 * dat_limit - how much of something can be had now
 * @which: of what
 *
 * Context: any.
 * Return: the limit.
 */
unsigned long dat_limit(enum dat_limit which)
{
	return READ_ONCE(limits[which]);
}

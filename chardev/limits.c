// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * limits.c - module parameters that limit an open file and a user
 *
 * Code that creates objects or charges memory reads the limits, from any context.
 * A change applies to new objects only. Existing objects remain.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "limits.h"

/* Default limits: 1/8 and 1/4 of the host's memory. */
#define FILE_PART	8
#define USER_PART	4

static unsigned long limits[] = {
	[DAT_LIMIT_OBJECTS] = 65536,
	[DAT_LIMIT_FILE_BYTES] = 0,
	[DAT_LIMIT_USER_BYTES] = 0,
};

/* Set by the administrator. 0 is a valid limit. */
static bool is_set[ARRAY_SIZE(limits)];

/* Largest limit for which sums and sizes cannot overflow. */
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
 * dat_limit - return the current value of a limit
 * @which: the limit
 *
 * Context: any.
 * Return: the limit, in the unit of @which.
 */
unsigned long dat_limit(enum dat_limit which)
{
	return READ_ONCE(limits[which]);
}

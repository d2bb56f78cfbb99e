// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * limits.c - bounds on what one open file can have, as parameters of the module
 *
 * They are looked at when something is made: what there is already stays.
 */
#include <linux/bits.h>
#include <linux/moduleparam.h>

#include "limits.h"

static unsigned int limits[] = {
	[DAT_LIMIT_OBJECTS] = 65536,
	[DAT_LIMIT_RING_BYTES] = 64 << 20,
	/* Devices do not say whom their queues and windows are charged to. */
	[DAT_LIMIT_QUEUE_ENTRIES] = 1024 * 1024,
	[DAT_LIMIT_RMRS] = 8192,
};

/* Up to what sums and sizes cannot overflow. */
static int limit_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, BIT(30));
}

static const struct kernel_param_ops limit_ops = {
	.set = limit_set,
	.get = param_get_uint,
};

module_param_cb(max_objects, &limit_ops, &limits[DAT_LIMIT_OBJECTS], 0644);
__MODULE_PARM_TYPE(max_objects, "uint");
MODULE_PARM_DESC(max_objects, "Objects that one open file can have");

module_param_cb(max_ring_bytes, &limit_ops, &limits[DAT_LIMIT_RING_BYTES],
		0644);
__MODULE_PARM_TYPE(max_ring_bytes, "uint");
MODULE_PARM_DESC(max_ring_bytes,
		 "Bytes that the event rings of one open file can take");

module_param_cb(max_queue_entries, &limit_ops,
		&limits[DAT_LIMIT_QUEUE_ENTRIES], 0644);
__MODULE_PARM_TYPE(max_queue_entries, "uint");
MODULE_PARM_DESC(max_queue_entries,
		 "DTOs that one open file can have outstanding");

module_param_cb(max_rmrs, &limit_ops, &limits[DAT_LIMIT_RMRS], 0644);
__MODULE_PARM_TYPE(max_rmrs, "uint");
MODULE_PARM_DESC(max_rmrs, "RMRs that one open file can have");

/**
 * dat_limit - how much of something one open file can have now
 * @which: of what
 *
 * Context: any.
 * Return: the limit.
 */
unsigned int dat_limit(enum dat_limit which)
{
	return READ_ONCE(limits[which]);
}

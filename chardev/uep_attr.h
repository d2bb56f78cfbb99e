/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * uep_attr.h - conversions for the ioctls that create EPs and SRQs
 */
#ifndef _CHARDEV_UEP_ATTR_H
#define _CHARDEV_UEP_ATTR_H

#include <linux/minmax.h>

#include "file.h"

/* Clamp, so that a value beyond DAT_COUNT is rejected as too large, not as negative. */
static inline DAT_COUNT dat_to_count(u32 value)
{
	return min_t(u32, value, INT_MAX);
}

void dat_uep_attr_from_user(const struct dat_dev_ep_attr *u, DAT_EP_ATTR *k);
void dat_uep_attr_to_user(const DAT_EP_ATTR *k, struct dat_dev_ep_attr *u);

#endif /* _CHARDEV_UEP_ATTR_H */

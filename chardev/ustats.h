/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ustats.h - counters of ioctls, errors and ring overflows
 */
#ifndef _CHARDEV_USTATS_H
#define _CHARDEV_USTATS_H

#include <dat/kdat.h>
#include <linux/dat.h>

/* ioctl.c asserts at build time that this covers all ioctls. */
#define DAT_NUM_IOCTLS	(DAT_DEV_CMD_EP_COMMON_CONNECT + 1)

struct dat_uevd;

void dat_ustats_ioctl(unsigned int nr, int err, DAT_RETURN result);
void dat_ustats_overflow(const struct dat_uevd *evd);

/* ioctl.c */
const char *dat_ioctl_name(unsigned int nr);

#endif /* _CHARDEV_USTATS_H */

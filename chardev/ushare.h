/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ushare.h - memory that several processes register under one cookie
 */
#ifndef _CHARDEV_USHARE_H
#define _CHARDEV_USHARE_H

#include "file.h"

struct dat_ushare;

int dat_ushare_init(void);
void dat_ushare_exit(void);
DAT_RETURN dat_ushare_get(const struct dat_dev_lmr_create *p,
			  struct dat_ushare **sharep);
void dat_ushare_put(struct dat_ushare *share);

#endif /* _CHARDEV_USHARE_H */

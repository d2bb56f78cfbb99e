/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * chardev.h - /dev/dat, as the rest of the module sees it
 */
#ifndef _CHARDEV_CHARDEV_H
#define _CHARDEV_CHARDEV_H

int dat_chardev_init(void);
void dat_chardev_exit(void);

#endif /* _CHARDEV_CHARDEV_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * debugfs.h - files below /sys/kernel/debug/kdapl
 *
 * main.c creates and removes them at module init and exit; see debugfs.c.
 */
#ifndef _KDAPL_DEBUGFS_H
#define _KDAPL_DEBUGFS_H

void dat_debugfs_init(void);
void dat_debugfs_exit(void);

#endif /* _KDAPL_DEBUGFS_H */

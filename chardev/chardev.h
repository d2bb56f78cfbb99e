/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * chardev.h - interface of /dev/dat to the rest of the module
 */
#ifndef _CHARDEV_CHARDEV_H
#define _CHARDEV_CHARDEV_H

struct dentry;
struct seq_file;

int dat_chardev_init(void);
void dat_chardev_exit(void);
void dat_chardev_debugfs(struct dentry *dir);
void dat_chardev_show(struct seq_file *m);

#endif /* _CHARDEV_CHARDEV_H */

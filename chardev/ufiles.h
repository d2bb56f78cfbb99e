/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ufiles.h - the list of open files of /dev/dat
 */
#ifndef _CHARDEV_UFILES_H
#define _CHARDEV_UFILES_H

#include "file.h"

void dat_files_add(struct dat_file *file);
void dat_files_del(struct dat_file *file);

#endif /* _CHARDEV_UFILES_H */

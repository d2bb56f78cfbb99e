/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * usimple.h - helpers of the ioctls that create and free objects
 */
#ifndef _CHARDEV_USIMPLE_H
#define _CHARDEV_USIMPLE_H

#include "file.h"

void *dat_usimple_alloc(struct dat_file *file, size_t size,
			DAT_HANDLE_TYPE type, struct dat_uia *ia);
void dat_usimple_finish(struct dat_uobj *uobj, DAT_RETURN result,
			DAT_HANDLE khandle);
int dat_usimple_free(struct dat_file *file, struct dat_dev_free *p,
		     DAT_HANDLE_TYPE type, DAT_RETURN (*free)(DAT_HANDLE));

#endif /* _CHARDEV_USIMPLE_H */

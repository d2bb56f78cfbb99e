/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * limits.h - limits of an open file and a user
 */
#ifndef _CHARDEV_LIMITS_H
#define _CHARDEV_LIMITS_H

/**
 * enum dat_limit - limits
 * @DAT_LIMIT_OBJECTS: objects of all types per file
 * @DAT_LIMIT_FILE_BYTES: bytes of memory charged to a file
 * @DAT_LIMIT_USER_BYTES: bytes of memory charged to all files of a user
 */
enum dat_limit {
	DAT_LIMIT_OBJECTS,
	DAT_LIMIT_FILE_BYTES,
	DAT_LIMIT_USER_BYTES,
};

unsigned long dat_limit(enum dat_limit which);
void dat_limits_init(void);

#endif /* _CHARDEV_LIMITS_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * limits.h - bounds on what an open file and a user can have
 */
#ifndef _CHARDEV_LIMITS_H
#define _CHARDEV_LIMITS_H

/**
 * enum dat_limit - what is bounded
 * @DAT_LIMIT_OBJECTS: objects of all types together, of a file
 * @DAT_LIMIT_FILE_BYTES: memory that a file is charged for
 * @DAT_LIMIT_USER_BYTES: memory that all files of a user are charged for
 */
enum dat_limit {
	DAT_LIMIT_OBJECTS,
	DAT_LIMIT_FILE_BYTES,
	DAT_LIMIT_USER_BYTES,
};

unsigned long dat_limit(enum dat_limit which);
void dat_limits_init(void);

#endif /* _CHARDEV_LIMITS_H */

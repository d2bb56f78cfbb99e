/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * charge.h - limits what an open file and its user can allocate
 */
#ifndef _CHARDEV_CHARGE_H
#define _CHARDEV_CHARGE_H

#include <linux/refcount.h>
#include <linux/types.h>

#include <dat/kdat_linux.h>

struct dat_payers;

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

/**
 * struct dat_ucharge - memory counters of an open file
 * @account: passed to dat_ia_set_account()
 * @ref: one for the file, one for each IA and for each ring
 * @bytes: bytes charged to the file
 * @payers: the users of the process that opened the file; charged for the same bytes
 * @is_privileged: the user's limit does not apply
 */
struct dat_ucharge {
	struct dat_account account;
	refcount_t ref;
	atomic_long_t bytes;
	struct dat_payers *payers;
	bool is_privileged;
};

unsigned long dat_limit_value(enum dat_limit which);
void dat_limits_init(void);
struct dat_ucharge *dat_ucharge_open(void);
void dat_ucharge_get(struct dat_ucharge *charge);
void dat_ucharge_put(struct dat_ucharge *charge);
bool dat_charge(struct dat_ucharge *charge, size_t bytes, gfp_t gfp);
void dat_uncharge(struct dat_ucharge *charge, size_t bytes);

#endif /* _CHARDEV_CHARGE_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * owner.h - the owner of DAT objects: one open IA, without its device
 *
 * Every object belongs to one open IA. struct dat_owner is the part of the IA that
 * objects need: the list of objects, the account that is charged, and the user. struct
 * dat_ia contains a struct dat_owner.
 */
#ifndef _KDAPL_OWNER_H
#define _KDAPL_OWNER_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include <dat/kdat_linux.h>

#include "base/user.h"

#define DAT_NUM_HANDLE_TYPES	(DAT_HANDLE_TYPE_CSP + 1)

struct dat_account;
struct dat_ia;
struct dat_object;
struct rdmacg_device;

/**
 * struct dat_owner - one open IA
 * @obj: the object of the IA itself; every other object holds a reference to it
 * @ia: the IA
 * @name: name of the IA when it was opened
 * @user: the user who opened the IA, referenced
 * @account: charged for the objects, referenced; NULL without an account
 * @cg_device: the device for the rdma cgroup
 * @lock: protects @objects and @account
 * @objects: published objects, by type
 */
struct dat_owner {
	struct dat_object *obj;
	struct dat_ia *ia;
	char name[DAT_NAME_MAX_LENGTH];
	struct dat_user *user;
	struct dat_account *account;
	struct rdmacg_device *cg_device;
	spinlock_t lock;
	struct list_head objects[DAT_NUM_HANDLE_TYPES];
};

void dat_owner_init(struct dat_owner *owner, struct dat_ia *ia,
		    struct dat_object *obj);

#endif /* _KDAPL_OWNER_H */

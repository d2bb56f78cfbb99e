/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * user.h - state that all IAs of one user share
 *
 * Holds the work queue of a user and the count of the user's lingering connections.
 */
#ifndef _KDAPL_USER_H
#define _KDAPL_USER_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct dat_object;

/**
 * struct dat_user - a user with an open IA or a lingering connection
 * @node: in the list of users
 * @uid: uid of the user
 * @ref: one for each open IA and for each lingering connection
 * @wq: runs the works of the user's objects
 * @lingering: number of the user's ended connections in linger.c
 * @free_work: destroys @wq and frees the user
 */
struct dat_user {
	struct list_head node;
	kuid_t uid;
	refcount_t ref;
	struct workqueue_struct *wq;
	unsigned int lingering;
	struct work_struct free_work;
};

struct dat_user *dat_user_find(void);
void dat_user_get(struct dat_user *user);
void dat_user_put(struct dat_user *user);

#endif /* _KDAPL_USER_H */

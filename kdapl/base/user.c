// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * user.c - isolates the users of the module from each other
 *
 * Each user with an open IA has a work queue for the works of the user's objects. A
 * work that waits for a peer or in an upcall delays only works of the same user. kdapl
 * looks up a user by uid. It frees the user with the last open IA and the last
 * lingering connection. ia.c and linger.c call this file.
 */
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "base/workqueue.h"
#include "base/user.h"

/*
 * Maximum number of works of a user that run at once. Root has the kernel's default
 * limit: in-kernel consumers run as root, and their upcalls may wait for each other.
 */
#define WORKS_OF_A_USER	32

static LIST_HEAD(dat_users);
/* Protects dat_users. A freed user is no longer on the list. */
static DEFINE_SPINLOCK(dat_users_lock);

static void user_free_work(struct work_struct *work)
{
	struct dat_user *user = container_of(work, struct dat_user, free_work);

	destroy_workqueue(user->wq);
	kfree(user);
}

static struct dat_user *user_new(kuid_t uid)
{
	struct dat_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->uid = uid;
	refcount_set(&user->ref, 1);
	INIT_WORK(&user->free_work, user_free_work);
	user->wq = alloc_workqueue("kdapl-%u", WQ_UNBOUND | WQ_MEM_RECLAIM,
				   uid_eq(uid, GLOBAL_ROOT_UID) ?
					   0 : WORKS_OF_A_USER,
				   __kuid_val(uid));
	if (user->wq)
		return user;
	kfree(user);
	return NULL;
}

/* Skip a user without references: dat_user_put() is about to remove it from the list. */
static struct dat_user *user_get_known(kuid_t uid)
{
	struct dat_user *user;

	lockdep_assert_held(&dat_users_lock);
	list_for_each_entry(user, &dat_users, node)
		if (uid_eq(user->uid, uid) && refcount_inc_not_zero(&user->ref))
			return user;
	return NULL;
}

/*
 * In a user namespace a user can have thousands of ids, which must share one work queue.
 * So the user is the owner of the outermost namespace. Root owns the namespaces of many
 * containers, which must not share one.
 */
static kuid_t outermost_owner(void)
{
	struct user_namespace *ns;
	kuid_t uid = current_uid();

	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	return uid;
}

/**
 * dat_user_find - look up the user of the current process, or create it
 *
 * Context: process, may sleep.
 * Return: the user, for dat_user_put(); NULL if there is no memory.
 */
struct dat_user *dat_user_find(void)
{
	kuid_t uid = outermost_owner();
	struct dat_user *user, *new;

	spin_lock_bh(&dat_users_lock);
	user = user_get_known(uid);
	spin_unlock_bh(&dat_users_lock);
	if (user)
		return user;
	new = user_new(uid);
	if (!new)
		return NULL;
	spin_lock_bh(&dat_users_lock);
	user = user_get_known(uid);
	if (!user)
		list_add(&new->node, &dat_users);
	spin_unlock_bh(&dat_users_lock);
	if (!user)
		return new;
	/* Another thread has added the same user meanwhile. */
	destroy_workqueue(new->wq);
	kfree(new);
	return user;
}

/**
 * dat_user_get - take another reference
 * @user: the user
 *
 * Context: any.
 */
void dat_user_get(struct dat_user *user)
{
	refcount_inc(&user->ref);
}

/**
 * dat_user_put - return a reference
 * @user: the user
 *
 * Context: process or softirq.
 */
void dat_user_put(struct dat_user *user)
{
	if (!refcount_dec_and_test(&user->ref))
		return;
	spin_lock_bh(&dat_users_lock);
	list_del(&user->node);
	spin_unlock_bh(&dat_users_lock);
	/* Not in the user's own queue: destroy_workqueue() would wait for this work. */
	queue_work(kdapl_wq, &user->free_work);
}

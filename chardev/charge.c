// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * charge.c - bounds the memory that an open file and its user can cause
 *
 * Two counters in bytes: one of each file, one of each user that has files open.
 * kdapl charges them for what objects cost (dat_ia_set_account()), /dev/dat for
 * its own structures and the rings. Pinned memory is charged elsewhere: pin.c.
 * The counters outlive the file, until all that they count has been freed.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "charge.h"
#include "limits.h"

/**
 * struct dat_charged_user - a user that has files open
 * @node: in users
 * @ref: one of each of its files' counters; guarded by users_lock
 * @uid: who it is
 * @bytes: what its files have been charged for
 */
struct dat_charged_user {
	struct list_head node;
	unsigned int ref;
	kuid_t uid;
	atomic_long_t bytes;
};

static LIST_HEAD(users);
static DEFINE_SPINLOCK(users_lock);

static struct dat_charged_user *lookup_user(kuid_t uid)
{
	struct dat_charged_user *user;

	list_for_each_entry(user, &users, node)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct dat_charged_user *user_get(kuid_t uid)
{
	struct dat_charged_user *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	struct dat_charged_user *user;

	if (!new)
		return NULL;
	new->uid = uid;
	spin_lock_bh(&users_lock);
	user = lookup_user(uid);
	if (!user) {
		swap(user, new);
		list_add(&user->node, &users);
	}
	user->ref++;
	spin_unlock_bh(&users_lock);
	kfree(new);
	return user;
}

static void user_put(struct dat_charged_user *user)
{
	bool last;

	spin_lock_bh(&users_lock);
	last = !--user->ref;
	if (last)
		list_del(&user->node);
	spin_unlock_bh(&users_lock);
	if (!last)
		return;
	WARN_ON_ONCE(atomic_long_read(&user->bytes));
	kfree(user);
}

static bool add(atomic_long_t *counter, long bytes, unsigned long limit)
{
	if (atomic_long_add_return(bytes, counter) <= limit)
		return true;
	atomic_long_sub(bytes, counter);
	return false;
}

static bool charge_both(struct dat_ucharge *charge, size_t bytes)
{
	unsigned long most = charge->is_privileged ? LONG_MAX :
				     dat_limit(DAT_LIMIT_USER_BYTES);

	if (bytes > LONG_MAX / 2 ||
	    !add(&charge->bytes, bytes, dat_limit(DAT_LIMIT_FILE_BYTES)))
		return false;
	if (add(&charge->user->bytes, bytes, most))
		return true;
	atomic_long_sub(bytes, &charge->bytes);
	return false;
}

/**
 * dat_charge - charge a file and its user for memory
 * @charge: the counters
 * @bytes: how much
 * @gfp: whether it may wait for objects that are being freed
 *
 * Context: as @gfp says.
 * Return: false if that is beyond a limit; nothing is charged then.
 */
bool dat_charge(struct dat_ucharge *charge, size_t bytes, gfp_t gfp)
{
	if (gfpflags_allow_blocking(gfp))
		return dat_account_charge(&charge->account, bytes);
	return charge_both(charge, bytes);
}

/**
 * dat_uncharge - the reverse of dat_charge()
 * @charge: the counters
 * @bytes: how much
 *
 * Context: any.
 */
void dat_uncharge(struct dat_ucharge *charge, size_t bytes)
{
	atomic_long_sub(bytes, &charge->bytes);
	atomic_long_sub(bytes, &charge->user->bytes);
}

static struct dat_ucharge *to_charge(struct dat_account *account)
{
	return container_of(account, struct dat_ucharge, account);
}

static bool account_charge(struct dat_account *account, size_t bytes)
{
	return charge_both(to_charge(account), bytes);
}

static void account_uncharge(struct dat_account *account, size_t bytes)
{
	dat_uncharge(to_charge(account), bytes);
}

static void account_get(struct dat_account *account)
{
	dat_ucharge_get(to_charge(account));
}

static void account_put(struct dat_account *account)
{
	dat_ucharge_put(to_charge(account));
}

static const struct dat_account_ops account_ops = {
	.charge = account_charge,
	.uncharge = account_uncharge,
	.get = account_get,
	.put = account_put,
};

/**
 * dat_ucharge_open - counters for a file that the current process opens
 *
 * Context: process, may sleep.
 * Return: the counters, for dat_ucharge_put(), or NULL.
 */
struct dat_ucharge *dat_ucharge_open(void)
{
	struct dat_ucharge *charge = kzalloc(sizeof(*charge),
					     GFP_KERNEL_ACCOUNT);

	if (!charge)
		return NULL;
	charge->user = user_get(current_uid());
	if (!charge->user) {
		kfree(charge);
		return NULL;
	}
	charge->account.ops = &account_ops;
	refcount_set(&charge->ref, 1);
	charge->is_privileged = capable(CAP_SYS_RESOURCE);
	return charge;
}

/**
 * dat_ucharge_get - take a reference
 * @charge: the counters
 *
 * Context: any.
 */
void dat_ucharge_get(struct dat_ucharge *charge)
{
	refcount_inc(&charge->ref);
}

/**
 * dat_ucharge_put - give a reference back
 * @charge: the counters
 *
 * Context: any.
 */
void dat_ucharge_put(struct dat_ucharge *charge)
{
	if (!refcount_dec_and_test(&charge->ref))
		return;
	user_put(charge->user);
	kfree(charge);
}

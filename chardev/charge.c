// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * charge.c - limits what an open file and its user can allocate
 *
 * Module parameters limit the objects and the memory. Any context reads them. A change
 * applies to new objects only. Existing objects remain.
 *
 * Owns two byte counters: one per open file, one per user with open files. kdapl
 * charges them for the memory of objects (dat_ia_set_account()). /dev/dat charges
 * them for its own structures and for rings. pin.c charges pinned memory separately.
 * The counters outlive the file until all charged memory is freed.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "charge.h"

/* Default limits: 1/8 and 1/4 of the host's memory. */
#define FILE_PART	8
#define USER_PART	4

static unsigned long limits[] = {
	[DAT_LIMIT_OBJECTS] = 65536,
	[DAT_LIMIT_FILE_BYTES] = 0,
	[DAT_LIMIT_USER_BYTES] = 0,
};

/* Set by the administrator. 0 is a valid limit. */
static bool is_set[ARRAY_SIZE(limits)];

/* Largest limit for which sums and sizes cannot overflow. */
#define MOST	(LONG_MAX / 4)

static int limit_set(const char *val, const struct kernel_param *kp)
{
	unsigned long *limit = kp->arg;
	unsigned long value;
	int ret = kstrtoul(val, 0, &value);

	if (ret)
		return ret;
	if (value > MOST)
		return -EINVAL;
	is_set[limit - limits] = true;
	WRITE_ONCE(*limit, value);
	return 0;
}

static const struct kernel_param_ops limit_ops = {
	.set = limit_set,
	.get = param_get_ulong,
};

module_param_cb(max_objects, &limit_ops, &limits[DAT_LIMIT_OBJECTS], 0644);
__MODULE_PARM_TYPE(max_objects, "ulong");
MODULE_PARM_DESC(max_objects, "Objects that one open file can have");

module_param_cb(max_file_bytes, &limit_ops, &limits[DAT_LIMIT_FILE_BYTES],
		0644);
__MODULE_PARM_TYPE(max_file_bytes, "ulong");
MODULE_PARM_DESC(max_file_bytes,
		 "Bytes of kernel and device memory that one open file can take");

module_param_cb(max_user_bytes, &limit_ops, &limits[DAT_LIMIT_USER_BYTES],
		0644);
__MODULE_PARM_TYPE(max_user_bytes, "ulong");
MODULE_PARM_DESC(max_user_bytes,
		 "Bytes of kernel and device memory that all open files of a user can take");

static void preset(enum dat_limit which, unsigned int part)
{
	if (!is_set[which])
		limits[which] = min_t(u64, (u64)totalram_pages() * PAGE_SIZE /
					   part, MOST);
}

/**
 * dat_limits_init - set the limits that depend on the size of the host
 *
 * Context: process.
 */
void dat_limits_init(void)
{
	preset(DAT_LIMIT_FILE_BYTES, FILE_PART);
	preset(DAT_LIMIT_USER_BYTES, USER_PART);
}

/**
 * dat_limit_value - return the current value of a limit
 * @which: the limit
 *
 * Context: any.
 * Return: the limit, in the unit of @which.
 */
unsigned long dat_limit_value(enum dat_limit which)
{
	return READ_ONCE(limits[which]);
}

/**
 * struct dat_charged_user - a user with open files
 * @node: in the list users
 * @ref: one for the counters of each file of the user; guarded by users_lock
 * @uid: the user's id
 * @bytes: bytes charged to all files of the user
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
				     dat_limit_value(DAT_LIMIT_USER_BYTES);

	if (bytes > LONG_MAX / 2 ||
	    !add(&charge->bytes, bytes, dat_limit_value(DAT_LIMIT_FILE_BYTES)))
		return false;
	if (add(&charge->user->bytes, bytes, most))
		return true;
	atomic_long_sub(bytes, &charge->bytes);
	return false;
}

/**
 * dat_charge - charge a file and its user for memory
 * @charge: the counters
 * @bytes: bytes to charge
 * @gfp: whether the call may wait for objects that are being freed
 *
 * Context: depends on @gfp.
 * Return: true; false beyond a limit, then nothing is charged.
 */
bool dat_charge(struct dat_ucharge *charge, size_t bytes, gfp_t gfp)
{
	if (gfpflags_allow_blocking(gfp))
		return dat_account_charge(&charge->account, bytes);
	return charge_both(charge, bytes);
}

/**
 * dat_uncharge - reverse dat_charge()
 * @charge: the counters
 * @bytes: bytes to uncharge
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
	.renews = true,
};

/**
 * dat_ucharge_open - create the counters of a file that the current process opens
 *
 * Context: process, may sleep.
 * Return: the counters, for dat_ucharge_put(), or NULL without memory.
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
 * dat_ucharge_put - drop a reference
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

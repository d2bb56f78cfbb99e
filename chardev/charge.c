// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * charge.c - limits what an open file and its user can allocate
 *
 * Module parameters limit the objects and the memory. Any context reads them. A change
 * applies to new objects only. Existing objects remain.
 *
 * Owns a byte counter of each open file. payers.c owns those of the users. kdapl
 * charges both for the memory of objects (dat_ia_set_account()). /dev/dat charges
 * them for its own structures and for rings. pin.c charges pinned memory separately.
 * The counters outlive the file until all charged memory is freed.
 */
#include <linux/capability.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "charge.h"
#include "payers.h"

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

static bool charge_both(struct dat_ucharge *charge, size_t bytes)
{
	unsigned long most = charge->is_privileged ? LONG_MAX :
				     dat_limit_value(DAT_LIMIT_USER_BYTES);

	if (bytes > LONG_MAX / 2 ||
	    !dat_add_within(&charge->bytes, bytes,
			    dat_limit_value(DAT_LIMIT_FILE_BYTES)))
		return false;
	if (dat_payers_charge(charge->payers, bytes, most))
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
	dat_payers_uncharge(charge->payers, bytes);
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
	charge->payers = dat_payers_open();
	if (!charge->payers) {
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
	dat_payers_put(charge->payers);
	kfree(charge);
}

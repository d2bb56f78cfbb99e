// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * account.c - charges what objects cost
 *
 * The engine knows what an object costs, and its consumer decides whether it may
 * have that: dat_ia_set_account(). An object is charged before it takes memory.
 * kdapl gives the charge back when the memory is freed, after the last reference.
 * The rdma cgroup of the calling task is charged for handles and objects of the
 * device until these have been destroyed.
 */
#include <linux/atomic.h>
#include <linux/cgroup_rdma.h>
#include <linux/rcupdate.h>

#include "base/account.h"
#include "base/object.h"

/**
 * dat_object_try_charge - charge an object's IA for memory
 * @obj: the object; it is charged for @bytes more
 * @bytes: how much
 *
 * Context: any.
 * Return: false if the consumer does not allow that; nothing is charged then.
 */
bool dat_object_try_charge(struct dat_object *obj, size_t bytes)
{
	struct dat_account *account = obj->owner->account;

	if (account && !account->ops->charge(account, bytes))
		return false;
	atomic_long_add(bytes, &obj->charged);
	return true;
}

/**
 * dat_account_charge - charge an account, after what is being freed if need be
 * @account: the account
 * @bytes: how much
 *
 * A consumer that frees an object to create another need not know that it is freed
 * after an RCU grace period, and what it refers to a period later: a CR has an EP,
 * which has EVDs, which have CNOs. No specification has it.
 *
 * Context: process, may sleep.
 * Return: false if the account does not allow that; nothing is charged then.
 */
bool dat_account_charge(struct dat_account *account, size_t bytes)
{
	unsigned int generations = 4;

	might_sleep();
	while (!account->ops->charge(account, bytes)) {
		if (!generations--)
			return false;
		rcu_barrier();
	}
	return true;
}
EXPORT_SYMBOL_GPL(dat_account_charge);

/**
 * dat_object_charge - as dat_object_try_charge(), after what is being freed
 * @obj: the object; it is charged for @bytes more
 * @bytes: how much
 *
 * Context: process, may sleep.
 * Return: false if the consumer does not allow that; nothing is charged then.
 */
bool dat_object_charge(struct dat_object *obj, size_t bytes)
{
	struct dat_account *account = obj->owner->account;

	might_sleep();
	if (account && !dat_account_charge(account, bytes))
		return false;
	atomic_long_add(bytes, &obj->charged);
	return true;
}

/**
 * dat_object_uncharge - an object has freed some of its memory
 * @obj: the object
 * @bytes: how much
 *
 * Context: any.
 */
void dat_object_uncharge(struct dat_object *obj, size_t bytes)
{
	atomic_long_sub(bytes, &obj->charged);
	dat_owner_uncharge(obj->owner, bytes);
}

/**
 * dat_owner_uncharge - return the charge of an object that was freed
 * @owner: its IA
 * @bytes: the charge, in bytes
 *
 * Context: any.
 */
void dat_owner_uncharge(struct dat_owner *owner, long bytes)
{
	if (owner->account && bytes)
		owner->account->ops->uncharge(owner->account, bytes);
}

/**
 * dat_owner_put_account - return the reference of an IA to its account
 * @owner: the IA, whose objects have all been freed
 *
 * Context: any.
 */
void dat_owner_put_account(struct dat_owner *owner)
{
	if (owner->account)
		owner->account->ops->put(owner->account);
	owner->account = NULL;
}

#ifdef CONFIG_CGROUP_RDMA

static const enum rdmacg_resource_type hca_types[] = {
	[DAT_HCA_HANDLE] = RDMACG_RESOURCE_HCA_HANDLE,
	[DAT_HCA_OBJECT] = RDMACG_RESOURCE_HCA_OBJECT,
};

static void uncharge_hca(struct dat_object *obj, struct rdma_cgroup *cg,
			 unsigned int num)
{
	while (num--)
		rdmacg_uncharge(cg, obj->owner->cg_device, hca_types[obj->hca]);
}

/**
 * dat_object_charge_hca - charge the rdma cgroup for an object
 * @obj: the object, which has not been charged yet; only its caller knows it
 * @what: what for
 * @num: how many of these, at most DAT_MAX_HCA
 *
 * Context: process, may sleep; of the task that is charged.
 * Return: false beyond the limit of the cgroup.
 */
bool dat_object_charge_hca(struct dat_object *obj, enum dat_hca what,
			   unsigned int num)
{
	struct rdma_cgroup *cgs[DAT_MAX_HCA];
	unsigned int i;

	obj->hca = what;
	for (i = 0; i < num; i++) {
		if (rdmacg_try_charge(&cgs[i], obj->owner->cg_device,
				      hca_types[what]))
			goto undo;
		/* The task was moved just now: not worth a second attempt. */
		if (cgs[i] != cgs[0]) {
			uncharge_hca(obj, cgs[i], 1);
			goto undo;
		}
	}
	obj->cgroup = cgs[0];
	obj->num_hca = num;
	return true;

undo:
	uncharge_hca(obj, cgs[0], i);
	return false;
}

/**
 * dat_object_uncharge_hca - what an object had of the device is destroyed
 * @obj: the object; it may not have been charged, or not any more
 *
 * Context: process, may sleep; the device is there.
 */
void dat_object_uncharge_hca(struct dat_object *obj)
{
	unsigned int num = xchg(&obj->num_hca, 0);

	uncharge_hca(obj, obj->cgroup, num);
}

#else /* CONFIG_CGROUP_RDMA */

bool dat_object_charge_hca(struct dat_object *obj, enum dat_hca what,
			   unsigned int num)
{
	return true;
}

void dat_object_uncharge_hca(struct dat_object *obj)
{
}

#endif /* CONFIG_CGROUP_RDMA */

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * account.c - charges the cost of objects to accounts and to the rdma cgroup
 *
 * The engine computes the cost of an object in bytes. Its consumer accepts or refuses
 * the charge: see dat_ia_set_account(). Create calls charge an object before they
 * allocate its memory. object.c uncharges it after the last reference, when the memory
 * is freed. The rdma cgroup of the calling task is charged for handles and objects of
 * the device until kdapl has destroyed them.
 */
#include <linux/atomic.h>
#include <linux/cgroup_rdma.h>
#include <linux/rcupdate.h>

#include "base/account.h"
#include "base/object.h"

/**
 * dat_object_try_charge - charge an object's IA for memory
 * @obj: the object; its charge grows by @bytes
 * @bytes: the charge, in bytes
 *
 * Context: any.
 * Return: false if the consumer refuses the charge; nothing is charged then.
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
 * dat_account_charge - charge an account; wait for pending frees if it is full
 * @account: the account
 * @bytes: the charge, in bytes
 *
 * An object is freed one RCU grace period after its last reference. The objects that it
 * references are freed one period later. The longest chain is CR, EP, EVD, CNO. No
 * specification mentions this delay, so a consumer may free an object and create
 * another at once. The call therefore waits for up to four periods.
 *
 * Context: process, may sleep.
 * Return: false if the account refuses the charge; nothing is charged then.
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
 * dat_object_charge - like dat_object_try_charge(), but wait for pending frees
 * @obj: the object; its charge grows by @bytes
 * @bytes: the charge, in bytes
 *
 * Context: process, may sleep.
 * Return: false if the consumer refuses the charge; nothing is charged then.
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
 * dat_object_uncharge - return the charge for memory that an object has freed
 * @obj: the object
 * @bytes: the charge to return, in bytes
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
 * @owner: the owner of the object: its IA
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
 * @owner: the IA; all its objects have been freed
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
 * @obj: the object; not charged yet, and not visible to other threads
 * @what: the resource to charge: DAT_HCA_HANDLE or DAT_HCA_OBJECT
 * @num: number of these resources, from 1 to DAT_MAX_HCA
 *
 * Context: process, may sleep; in the task that is charged.
 * Return: false if the charge exceeds the limit of the cgroup; nothing is charged then.
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
		/*
		 * The task has just moved to another cgroup: fail, it is not worth a
		 * second attempt.
		 */
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
 * dat_object_uncharge_hca - return the rdma cgroup charge of an object
 * @obj: the object, whose device resources are destroyed; it may be uncharged already
 *
 * Context: process, may sleep; the device still exists.
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

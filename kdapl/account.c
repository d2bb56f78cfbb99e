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

#include "account.h"
#include "evd.h"
#include "gate.h"
#include "ia.h"

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
	struct dat_account *account = obj->ia->account;

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
	struct dat_account *account = obj->ia->account;

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
	dat_ia_uncharge(obj->ia, bytes);
}

/**
 * dat_ia_uncharge - an object has freed its memory
 * @ia: its IA
 * @bytes: how much
 *
 * Context: any.
 */
void dat_ia_uncharge(struct dat_ia *ia, long bytes)
{
	if (ia->account && bytes)
		ia->account->ops->uncharge(ia->account, bytes);
}

/**
 * dat_account_end - an IA needs its account no more
 * @ia: the IA, whose objects have all been freed
 *
 * Context: any.
 */
void dat_account_end(struct dat_ia *ia)
{
	if (ia->account)
		ia->account->ops->put(ia->account);
	ia->account = NULL;
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
		rdmacg_uncharge(cg, &dat_ia_ibdev(obj->ia)->cg_device,
				hca_types[obj->hca]);
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
		if (rdmacg_try_charge(&cgs[i],
				      &dat_ia_ibdev(obj->ia)->cg_device,
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

/* The gate is closed. What the IA and its asynchronous EVD cost so far. */
static DAT_RETURN set_account(struct dat_ia *ia, struct dat_account *account)
{
	long bytes;

	if (ia->account || dat_ia_has_consumer_objects(ia))
		return DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_IA_IN_USE);
	bytes = atomic_long_read(&ia->obj.charged);
	if (ia->own_async_evd)
		bytes += atomic_long_read(&ia->async_evd->obj.charged);
	if (!dat_account_charge(account, bytes))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	account->ops->get(account);
	ia->account = account;
	return DAT_SUCCESS;
}

/**
 * dat_ia_set_account - have what the objects of an IA cost charged to an account
 * @ia_handle: the IA, just opened: without objects of the consumer
 * @account: the account. The IA holds a reference on it until its last object has
 *	been freed, which may be after dat_ia_close().
 *
 * For consumers that act for others, and have to bound what these take. kdapl
 * estimates what the device and it allocate for an object, in bytes, and charges
 * that before it allocates. A call that is refused returns
 * DAT_INSUFFICIENT_RESOURCES, with DAT_RESOURCE_MEMORY. No specification has it.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE (the IA has objects, or an account), DAT_INTERNAL_ERROR (it
 * is being closed, or the device is removed), DAT_INSUFFICIENT_RESOURCES (the
 * account refuses what the IA itself costs).
 */
DAT_RETURN dat_ia_set_account(DAT_IA_HANDLE ia_handle,
			      struct dat_account *account)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	struct dat_object *obj;
	struct dat_ia *ia;

	might_sleep();
	if (!account)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	obj = dat_object_get(ia_handle, DAT_HANDLE_TYPE_IA);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = to_ia(obj);
	/* Calls wait meanwhile, so that no object is charged in part. */
	mutex_lock(&ia->end_lock);
	if (ia->gate == DAT_IA_OPEN && !ia->unplugged) {
		dat_ia_gate_close(ia, DAT_IA_UNPLUGGING);
		ret = set_account(ia, account);
		dat_ia_gate_open(ia);
	}
	mutex_unlock(&ia->end_lock);
	dat_object_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_set_account);

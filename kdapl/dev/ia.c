// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia.c - an open IA: its objects, its asynchronous events and its device
 *
 * Owns the memory of struct dat_ia and the order in which the objects of an IA are
 * destroyed. dat_ia_open() and dat_ia_close() call it in process context; device.c
 * calls dat_ia_unplug() when ib_core removes the device. dat_ia_async_event() also runs
 * in softirq.
 */
#include <linux/cred.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "base/account.h"
#include "base/stats.h"
#include "base/user.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/quiesce.h"
#include "dev/ia.h"

/* The order in which objects are destroyed: users before the objects that they use. */
static const DAT_HANDLE_TYPE ia_end_order[] = {
	DAT_HANDLE_TYPE_PSP,
	DAT_HANDLE_TYPE_RSP,
	DAT_HANDLE_TYPE_CSP,
	DAT_HANDLE_TYPE_CR,
	DAT_HANDLE_TYPE_EP,
	DAT_HANDLE_TYPE_SRQ,
	DAT_HANDLE_TYPE_RMR,
	DAT_HANDLE_TYPE_LMR,
	DAT_HANDLE_TYPE_EVD,
	DAT_HANDLE_TYPE_PZ,
};

/**
 * dat_ia_ibdev - return the device of an IA
 * @ia: the IA; the caller holds a live reference to it, or has quiesced it
 *
 * Return: the device.
 */
struct ib_device *dat_ia_ibdev(struct dat_ia *ia)
{
	return ia->dev->ibdev;
}

/**
 * dat_ia_async_event - post an asynchronous event to the consumer
 * @ia: the IA
 * @number: the event number
 * @handle: the object that the event concerns
 * @reason: the reason code of the event
 *
 * Context: process or softirq.
 */
void dat_ia_async_event(struct dat_ia *ia, DAT_EVENT_NUMBER number,
			DAT_HANDLE handle, DAT_COUNT reason)
{
	DAT_EVENT_DATA data = {
		.asynch_error_event_data = {
			.dat_handle = handle,
			.reason = reason,
		},
	};
	struct dat_object *evd;

	dat_stats_async_event(&ia->owner, number, handle, reason);
	spin_lock_bh(&ia->owner.lock);
	evd = ia->async_evd;
	if (evd)
		kref_get(&evd->ref);
	spin_unlock_bh(&ia->owner.lock);
	if (!evd)
		return;
	ia->ops->async_event(evd, number, &data);
	dat_object_put(evd);
}

static struct dat_object *ia_first_object(struct dat_ia *ia,
					  DAT_HANDLE_TYPE type)
{
	struct dat_object *obj;

	spin_lock_bh(&ia->owner.lock);
	obj = list_first_entry_or_null(&ia->owner.objects[type], struct dat_object,
				       node);
	spin_unlock_bh(&ia->owner.lock);
	return obj;
}

/**
 * dat_ia_has_consumer_objects - does an IA have objects that the consumer created?
 * @ia: the IA, quiesced
 *
 * Context: process.
 * Return: false if the IA has only implicit objects.
 */
bool dat_ia_has_consumer_objects(struct dat_ia *ia)
{
	struct dat_object *obj;
	DAT_HANDLE_TYPE type;
	bool found = false;

	spin_lock_bh(&ia->owner.lock);
	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++)
		list_for_each_entry(obj, &ia->owner.objects[type], node)
			found |= !obj->implicit;
	spin_unlock_bh(&ia->owner.lock);
	return found;
}

/* Nothing is registered any more. Not at the release, which may run in softirq. */
static void ia_put_watched_mm(struct dat_ia *ia)
{
	struct mm_struct *mm = xchg(&ia->watched_mm, NULL);

	if (mm)
		mmdrop(mm);
}

/**
 * dat_ia_destroy_objects - destroy all objects of an IA
 * @ia: the IA, quiesced
 *
 * Context: process, may sleep.
 */
void dat_ia_destroy_objects(struct dat_ia *ia)
{
	struct dat_object *obj;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ia_end_order); i++)
		while ((obj = ia_first_object(ia, ia_end_order[i]))) {
			atomic_set(&obj->users, INT_MIN / 2);
			dat_object_retire(obj);
		}
	ia_put_watched_mm(ia);
}

static void ia_unplug_object(struct dat_object *obj)
{
	if (!obj->ops->unplug) {
		dat_object_shutdown(obj);
		return;
	}
	obj->ops->unplug(obj);
	/* Uncharge now: the rdma cgroup forgets the device at its removal. */
	dat_object_uncharge_hca(obj);
}

/**
 * dat_ia_unplug - return all device resources of an open IA at device removal
 * @ia: the IA
 *
 * The handles remain valid until the consumer frees them. All other calls on them fail
 * from now on.
 *
 * Context: process, may sleep; called only by the remove function of the ib_client.
 */
void dat_ia_unplug(struct dat_ia *ia)
{
	struct dat_object *obj;
	size_t i;

	mutex_lock(&ia->end_lock);
	if (ia->live_state == DAT_IA_CLOSING)
		goto unlock;

	dat_ia_quiesce(ia, DAT_IA_UNPLUGGING);
	WRITE_ONCE(ia->unplugged, true);
	dat_ia_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, ia->obj.handle,
			   DAT_IA_CATASTROPHIC_ERROR);
	/*
	 * No lock on the lists: no object can leave them until dat_ia_resume(), because
	 * free calls need a live reference. Only CRs can be added, until the listeners
	 * are down.
	 */
	for (i = 0; i < ARRAY_SIZE(ia_end_order); i++)
		list_for_each_entry(obj, &ia->owner.objects[ia_end_order[i]], node)
			ia_unplug_object(obj);
	ia_put_watched_mm(ia);
	dat_object_uncharge_hca(&ia->obj);
	dat_ia_resume(ia);
unlock:
	mutex_unlock(&ia->end_lock);
}

static void ia_shutdown(struct dat_object *obj)
{
}

static void ia_release(struct dat_object *obj)
{
	struct dat_ia *ia = to_ia(obj);

	xa_destroy(&ia->lmrs);
	xa_destroy(&ia->rmrs);
	dat_addr_destroy(ia);
	put_net(ia->net);
	dat_owner_put_account(&ia->owner);
	dat_dev_put(ia->dev);
	dat_user_put(ia->owner.user);
	kfree(ia);
}

static const char *ia_state(struct dat_object *obj)
{
	return READ_ONCE(to_ia(obj)->unplugged) ? "UNPLUGGED" : "OPEN";
}

static const struct dat_object_ops ia_ops = {
	.shutdown = ia_shutdown,
	.release = ia_release,
	.state = ia_state,
};

/**
 * dat_ia_alloc - allocate an IA that is not open yet
 * @dev: its device; the device reference passes to the IA on success
 * @port: its port, from 1
 * @ops: functions of the layers above
 *
 * The IA belongs to the user and the network namespace of the calling task.
 *
 * Context: process, may sleep.
 * Return: the IA, for dat_object_put(), or NULL.
 */
struct dat_ia *dat_ia_alloc(struct dat_dev *dev, u32 port,
			    const struct dat_ia_ops *ops)
{
	struct dat_ia *ia = kzalloc(sizeof(*ia), GFP_KERNEL_ACCOUNT);

	if (!ia)
		return NULL;
	dat_owner_init(&ia->owner, ia, &ia->obj);
	ia->owner.user = dat_user_find();
	if (!ia->owner.user) {
		kfree(ia);
		return NULL;
	}
	ia->owner.cg_device = dat_dev_cgroup(dev);
	dat_object_init(&ia->obj, DAT_HANDLE_TYPE_IA, &ia->owner, &ia_ops);
	ia->ops = ops;
	ia->dev = dev;
	ia->port = port;
	ia->net = get_net(current->nsproxy->net_ns);
	ia->uid = current_uid();
	mutex_init(&ia->end_lock);
	xa_init_flags(&ia->lmrs, XA_FLAGS_LOCK_BH);
	xa_init_flags(&ia->rmrs, XA_FLAGS_LOCK_BH);
	INIT_LIST_HEAD(&ia->dev_node);
	dat_ia_live_init(ia);
	dat_addr_init(ia);
	/* The IA has no account yet, so the charge cannot fail. */
	dat_object_charge(&ia->obj, sizeof(*ia) + DAT_BYTES_HANDLE);
	return ia;
}


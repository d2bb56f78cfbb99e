// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia.c - opening and closing interface adapters
 */
#include <linux/cred.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "account.h"
#include "addr.h"
#include "device.h"
#include "evd.h"
#include "gate.h"
#include "ia.h"
#include "lmr.h"
#include "registry.h"
#include "stats.h"
#include "user.h"

/* The order in which objects end: users before what they use. */
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
 * dat_ia_ibdev - the device under an IA
 * @ia: the IA; the caller has passed its gate, or ends it
 *
 * Return: the device.
 */
struct ib_device *dat_ia_ibdev(struct dat_ia *ia)
{
	return ia->dev->ibdev;
}

/**
 * dat_wq - where the works of an object run
 * @obj: the object
 *
 * Context: any.
 * Return: the work queue of the user who has opened the IA.
 */
struct workqueue_struct *dat_wq(const struct dat_object *obj)
{
	return obj->ia->user->wq;
}

/**
 * dat_ia_add_object - an object was published
 * @obj: the object
 *
 * Each object keeps its IA's memory. Context: process.
 */
void dat_ia_add_object(struct dat_object *obj)
{
	struct dat_ia *ia = obj->ia;

	if (obj == &ia->obj)
		return;
	spin_lock_bh(&ia->lock);
	list_add_tail(&obj->node, &ia->objects[obj->type]);
	spin_unlock_bh(&ia->lock);
}

/**
 * dat_ia_del_object - an object was withdrawn
 * @obj: the object
 *
 * Context: process.
 */
void dat_ia_del_object(struct dat_object *obj)
{
	spin_lock_bh(&obj->ia->lock);
	list_del_init(&obj->node);
	spin_unlock_bh(&obj->ia->lock);
}

/**
 * dat_ia_async_event - tell the consumer of something that it did not ask for
 * @ia: the IA
 * @number: the event
 * @handle: the object that it concerns
 * @reason: what happened to it
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
	struct dat_evd *evd;

	dat_stats_async_event(ia, number, handle, reason);
	spin_lock_bh(&ia->lock);
	evd = ia->async_evd;
	if (evd)
		kref_get(&evd->obj.ref);
	spin_unlock_bh(&ia->lock);
	if (!evd)
		return;
	dat_evd_post(evd, number, &data);
	dat_object_put(&evd->obj);
}

static struct dat_object *ia_first_object(struct dat_ia *ia,
					  DAT_HANDLE_TYPE type)
{
	struct dat_object *obj;

	spin_lock_bh(&ia->lock);
	obj = list_first_entry_or_null(&ia->objects[type], struct dat_object,
				       node);
	spin_unlock_bh(&ia->lock);
	return obj;
}

/**
 * dat_ia_has_consumer_objects - has the consumer created anything with an IA?
 * @ia: the IA, whose gate is closed
 *
 * Context: process.
 * Return: false if it has no objects but those that come with it.
 */
bool dat_ia_has_consumer_objects(struct dat_ia *ia)
{
	DAT_HANDLE_TYPE type;
	bool found = false;

	spin_lock_bh(&ia->lock);
	for (type = 0; type < DAT_NUM_HANDLE_TYPES && !found; type++) {
		struct dat_object *obj;

		list_for_each_entry(obj, &ia->objects[type], node) {
			if (ia->own_async_evd && obj == &ia->async_evd->obj)
				continue;
			if (ia->reserved_lmr && obj == &ia->reserved_lmr->obj)
				continue;
			found = true;
			break;
		}
	}
	spin_unlock_bh(&ia->lock);
	return found;
}

/* The gate is closed: nobody else touches the objects. */
static void ia_destroy_objects(struct dat_ia *ia)
{
	struct dat_object *obj;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ia_end_order); i++) {
		while ((obj = ia_first_object(ia, ia_end_order[i]))) {
			atomic_set(&obj->users, INT_MIN / 2);
			dat_object_retire(obj);
		}
	}
}

static void ia_unplug_object(struct dat_object *obj)
{
	if (!obj->ops->unplug) {
		dat_object_shutdown(obj);
		return;
	}
	obj->ops->unplug(obj);
	/* The cgroup forgets the device. */
	dat_object_uncharge_hca(obj);
}

/**
 * dat_ia_unplug - the device goes away under an open IA
 * @ia: the IA
 *
 * Gives back all that the IA has of the device. The handles stay until the
 * consumer frees them; other calls on them fail from now on.
 *
 * Context: process, may sleep; from the ib_client's remove only.
 */
void dat_ia_unplug(struct dat_ia *ia)
{
	struct dat_object *obj;
	size_t i;

	mutex_lock(&ia->end_lock);
	if (ia->gate == DAT_IA_CLOSING)
		goto unlock;

	dat_ia_gate_close(ia, DAT_IA_UNPLUGGING);
	WRITE_ONCE(ia->unplugged, true);
	dat_ia_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, ia->obj.handle,
			   DAT_IA_CATASTROPHIC_ERROR);
	/*
	 * No lock on the lists: what is on them cannot leave while the gate is
	 * closed, and the only ones to come are CRs, until the listeners are down.
	 */
	for (i = 0; i < ARRAY_SIZE(ia_end_order); i++)
		list_for_each_entry(obj, &ia->objects[ia_end_order[i]], node)
			ia_unplug_object(obj);
	dat_object_uncharge_hca(&ia->obj);
	dat_ia_gate_open(ia);
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
	dat_account_end(ia);
	dat_dev_put(ia->dev);
	dat_user_put(ia->user);
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

static struct dat_ia *ia_alloc(struct dat_dev *dev, u32 port)
{
	struct dat_ia *ia = kzalloc(sizeof(*ia), GFP_KERNEL_ACCOUNT);
	DAT_HANDLE_TYPE type;

	if (!ia)
		return NULL;
	ia->user = dat_user_find(current_uid());
	if (!ia->user) {
		kfree(ia);
		return NULL;
	}
	dat_object_init(&ia->obj, DAT_HANDLE_TYPE_IA, ia, &ia_ops);
	ia->dev = dev;
	ia->port = port;
	ia->net = get_net(current->nsproxy->net_ns);
	mutex_init(&ia->end_lock);
	spin_lock_init(&ia->lock);
	xa_init_flags(&ia->lmrs, XA_FLAGS_LOCK_BH);
	xa_init_flags(&ia->rmrs, XA_FLAGS_LOCK_BH);
	INIT_LIST_HEAD(&ia->dev_node);
	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++)
		INIT_LIST_HEAD(&ia->objects[type]);
	dat_ia_gate_init(ia);
	dat_addr_init(ia);
	/* It has no account yet that could refuse. */
	dat_object_charge(&ia->obj, sizeof(*ia) + DAT_BYTES_HANDLE);
	return ia;
}

static DAT_RETURN ia_check_version(DAT_UINT32 major, DAT_UINT32 minor)
{
	if (major != 1 && major != 2)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	if (minor > (major == 1 ? 2 : 0))
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	return DAT_SUCCESS;
}

/* Takes over the consumer's EVD for asynchronous events, or makes one. */
static DAT_RETURN ia_set_async_evd(struct dat_ia *ia, DAT_COUNT qlen,
				   DAT_HANDLE handle)
{
	struct dat_object *obj;

	if (!handle) {
		ia->own_async_evd = true;
		return dat_evd_new(ia, qlen, DAT_EVD_ASYNC_FLAG, 0,
				   &ia->async_evd);
	}

	obj = dat_object_get(handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		goto invalid;
	if (!(to_evd(obj)->flags & DAT_EVD_ASYNC_FLAG) || !dat_object_use(obj))
		goto put;
	ia->async_evd = to_evd(obj);
	return DAT_SUCCESS;
put:
	dat_object_put(obj);
invalid:
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
}

/* The reference that ia->async_evd stands for. */
static void ia_put_async_evd(struct dat_ia *ia)
{
	struct dat_evd *evd;

	spin_lock_bh(&ia->lock);
	evd = ia->async_evd;
	ia->async_evd = NULL;
	spin_unlock_bh(&ia->lock);

	if (!ia->own_async_evd)
		dat_object_unuse(&evd->obj);
	dat_object_put(&evd->obj);
}

/**
 * dat_ia_openv - open an IA
 * @ia_name: name of the RDMA device, with ":port" where it has several ports;
 *	or of an IA of another provider, see dat_registry_add_provider()
 * @async_evd_min_qlen: events that a new asynchronous EVD must hold, at least 1
 * @async_evd_handle: in: DAT_HANDLE_NULL to have an EVD for asynchronous events
 *	made, or the handle of one; out: its handle
 * @ia_handle: out: the handle
 * @dat_major: version of DAT that the consumer was written for: 1 or 2
 * @dat_minor: the same: up to 1.2 or 2.0
 * @thread_safety: whether the consumer needs it; it is there in any case
 *
 * The IA belongs to the network namespace of the caller. Specification:
 * dat_ia_open().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_PROVIDER_NOT_FOUND,
 * DAT_INVALID_HANDLE, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name,
			DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major, DAT_UINT32 dat_minor,
			DAT_BOOLEAN thread_safety)
{
	struct dat_dev *dev;
	struct dat_ia *ia;
	DAT_RETURN ret;
	u32 port;

	might_sleep();
	if (!ia_name)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async_evd_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!*async_evd_handle && async_evd_min_qlen < 1)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ia_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);

	dev = dat_dev_get(ia_name, current->nsproxy->net_ns, &port);
	if (!dev)
		return dat_registry_open(ia_name, async_evd_min_qlen,
					 async_evd_handle, ia_handle,
					 dat_major, dat_minor, thread_safety);
	ret = ia_check_version(dat_major, dat_minor);
	if (ret) {
		dat_dev_put(dev);
		return ret;
	}

	ia = ia_alloc(dev, port);
	if (!ia) {
		dat_dev_put(dev);
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	}

	/* From here on the device waits for us: dat_ia_unplug(). */
	mutex_lock(&ia->end_lock);
	if (!dat_dev_add_ia(dev, ia)) {
		ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				DAT_NAME_NOT_REGISTERED);
		goto unlock;
	}
	if (!dat_object_charge_hca(&ia->obj, DAT_HCA_HANDLE, 1)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_DEVICE);
		goto del_ia;
	}
	dat_dev_ia_name(dev, port, ia->name);
	if (dat_addr_find(ia)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto del_ia;
	}

	ret = ia_set_async_evd(ia, async_evd_min_qlen, *async_evd_handle);
	if (ret)
		goto del_ia;
	if (ia->own_async_evd) {
		ret = dat_object_publish(&ia->async_evd->obj);
		if (ret)
			goto put_evd;
		kref_get(&ia->async_evd->obj.ref);
		/* It goes with the IA and no sooner. */
		dat_object_use(&ia->async_evd->obj);
	}

	kref_get(&ia->obj.ref);
	ret = dat_object_publish(&ia->obj);
	if (ret)
		goto put_ia;

	*async_evd_handle = ia->async_evd->obj.handle;
	*ia_handle = ia->obj.handle;
	mutex_unlock(&ia->end_lock);
	dat_object_put(&ia->obj);
	return DAT_SUCCESS;

put_ia:
	dat_object_put(&ia->obj);
	ia_destroy_objects(ia);
put_evd:
	ia_put_async_evd(ia);
del_ia:
	dat_object_uncharge_hca(&ia->obj);
	ia->gate = DAT_IA_CLOSING;
	mutex_unlock(&ia->end_lock);
	dat_dev_del_ia(dev, ia);
	mutex_lock(&ia->end_lock);
unlock:
	mutex_unlock(&ia->end_lock);
	dat_object_put(&ia->obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_openv);

/**
 * dat_ia_close - close an IA
 * @ia_handle: the IA
 * @close_flags: DAT_CLOSE_ABRUPT_FLAG destroys every object that was made with
 *	it; DAT_CLOSE_GRACEFUL_FLAG fails if there is one
 *
 * Must not be called from an upcall. Specification: dat_ia_close().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle,
			DAT_CLOSE_FLAGS close_flags)
{
	struct dat_object *obj;
	struct dat_ia *ia;
	DAT_RETURN ret;

	might_sleep();
	if (close_flags != DAT_CLOSE_ABRUPT_FLAG &&
	    close_flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);

	obj = dat_object_get(ia_handle, DAT_HANDLE_TYPE_IA);
	if (!obj)
		return dat_registry_close(ia_handle, close_flags);
	ia = to_ia(obj);

	mutex_lock(&ia->end_lock);
	if (ia->gate == DAT_IA_CLOSING) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
		goto unlock;
	}
	/* A gate closed for a look only: calls wait, they do not fail. */
	dat_ia_gate_close(ia, close_flags == DAT_CLOSE_ABRUPT_FLAG ?
			      DAT_IA_CLOSING : DAT_IA_UNPLUGGING);
	if (close_flags == DAT_CLOSE_GRACEFUL_FLAG) {
		if (dat_ia_has_consumer_objects(ia)) {
			dat_ia_gate_open(ia);
			ret = DAT_ERROR(DAT_INVALID_STATE,
					DAT_INVALID_STATE_IA_IN_USE);
			goto unlock;
		}
		dat_ia_gate_seal(ia);
	}

	ia_destroy_objects(ia);
	ia_put_async_evd(ia);
	/* The device may go as soon as it does not know the IA. */
	dat_object_uncharge_hca(obj);
	mutex_unlock(&ia->end_lock);

	dat_dev_del_ia(ia->dev, ia);
	atomic_set(&obj->users, INT_MIN / 2);
	dat_object_retire(obj);
	dat_object_put(obj);
	return DAT_SUCCESS;

unlock:
	mutex_unlock(&ia->end_lock);
	dat_object_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_close);

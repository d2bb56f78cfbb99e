// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia.c - opens and closes IAs, and charges them to an account
 *
 * An IA needs an EVD for its asynchronous events, so this file lies above the layers of
 * devices and of queues. registry.c and consumers call it in process context.
 */
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/quiesce.h"
#include "dev/ia.h"
#include "queue/evd.h"

static void post_async_event(struct dat_object *evd, DAT_EVENT_NUMBER number,
			     const DAT_EVENT_DATA *data)
{
	dat_evd_post(to_evd(evd), number, data);
}

static const struct dat_ia_ops ia_ops = {
	.async_event = post_async_event,
	.in_upcall = dat_evd_in_upcall,
};

static DAT_RETURN ia_check_version(DAT_UINT32 major, DAT_UINT32 minor)
{
	if (major != 1 && major != 2)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	if (minor > (major == 1 ? 2 : 0))
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	return DAT_SUCCESS;
}

/* Uses the consumer's EVD for asynchronous events, or creates one. */
static DAT_RETURN ia_set_async_evd(struct dat_ia *ia, DAT_COUNT qlen,
				   DAT_HANDLE handle)
{
	struct dat_object *obj;
	struct dat_evd *evd;
	DAT_RETURN ret;

	if (!handle) {
		ret = dat_evd_new(ia, qlen, DAT_EVD_ASYNC_FLAG, &evd);
		if (ret)
			return ret;
		evd->obj.implicit = true;
		ia->async_evd = &evd->obj;
		return DAT_SUCCESS;
	}

	obj = dat_object_get(handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		goto invalid;
	if (!(to_evd(obj)->flags & DAT_EVD_ASYNC_FLAG) || !dat_object_use_get(obj))
		goto put;
	ia->async_evd = obj;
	return DAT_SUCCESS;
put:
	dat_object_put(obj);
invalid:
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
}

/* Returns false if the consumer passed the EVD of another IA. */
static bool owns_async_evd(const struct dat_ia *ia)
{
	return ia->async_evd->ia == ia;
}

/* Puts the reference of ia->async_evd. */
static void ia_put_async_evd(struct dat_ia *ia)
{
	struct dat_object *evd;

	spin_lock_bh(&ia->owner.lock);
	evd = ia->async_evd;
	ia->async_evd = NULL;
	spin_unlock_bh(&ia->owner.lock);

	if (evd->ia != ia)
		dat_object_use_put(evd);
	dat_object_put(evd);
}

/*
 * Publishes an IA and its asynchronous EVD. The caller holds end_lock, and the device
 * has the IA in its list.
 */
static DAT_RETURN ia_publish(struct dat_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE async_evd)
{
	DAT_RETURN ret;

	if (!dat_object_charge_hca(&ia->obj, DAT_HCA_HANDLE, 1))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	dat_dev_ia_name(ia->dev, ia->port, ia->owner.name);
	dat_ia_named_init(ia);
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (dat_addr_find(ia))
		goto uncharge;
	ret = ia_set_async_evd(ia, qlen, async_evd);
	if (ret)
		goto uncharge;
	if (owns_async_evd(ia)) {
		ret = dat_object_publish(ia->async_evd);
		if (ret)
			goto put_evd;
		kref_get(&ia->async_evd->ref);
		/* The use lets only dat_ia_close() destroy the EVD. */
		dat_object_use_get(ia->async_evd);
	}
	kref_get(&ia->obj.ref);
	ret = dat_object_publish(&ia->obj);
	if (!ret)
		return DAT_SUCCESS;

	dat_object_put(&ia->obj);
	dat_ia_destroy_objects(ia);
put_evd:
	ia_put_async_evd(ia);
uncharge:
	dat_object_uncharge_hca(&ia->obj);
	return ret;
}

/**
 * kdapl_ia_openv - open an IA
 * @ia_name: name of the RDMA device, with ":port" where it has several ports
 * @async_evd_min_qlen: events that a new asynchronous EVD must hold, at least 1
 * @async_evd_handle: in: DAT_HANDLE_NULL to create an EVD for asynchronous events, or
 *	the handle of an existing EVD; out: its handle
 * @ia_handle: out: the handle
 * @dat_major: major version of DAT that the consumer was written for: 1 or 2
 * @dat_minor: minor version of DAT: at most 2 for major version 1, 0 for 2
 * @thread_safety: whether the consumer needs thread safety; kdapl is always thread-safe
 *
 * The IA belongs to the network namespace of the caller. Specification:
 * dat_ia_open().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_PROVIDER_NOT_FOUND,
 * DAT_INVALID_HANDLE, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdapl_ia_openv(const DAT_NAME_PTR ia_name,
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
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				 DAT_NAME_NOT_REGISTERED);
	ret = ia_check_version(dat_major, dat_minor);
	if (ret)
		goto put_dev;
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ia = dat_ia_alloc(dev, port, &ia_ops);
	if (!ia)
		goto put_dev;

	mutex_lock(&ia->end_lock);
	/* From here removal of the device waits for this IA: dat_ia_unplug(). */
	if (dat_dev_add_ia(dev, ia))
		ret = ia_publish(ia, async_evd_min_qlen, *async_evd_handle);
	else
		ret = DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (ret) {
		ia->live_state = DAT_IA_CLOSING;
	} else {
		*async_evd_handle = ia->async_evd->handle;
		*ia_handle = ia->obj.handle;
	}
	mutex_unlock(&ia->end_lock);
	if (ret)
		dat_dev_del_ia(dev, ia);
	dat_object_put(&ia->obj);
	return ret;

put_dev:
	dat_dev_put(dev);
	return ret;
}

/**
 * kdapl_ia_close - close an IA
 * @ia_handle: the IA
 * @close_flags: DAT_CLOSE_ABRUPT_FLAG destroys all objects of the IA;
 *	DAT_CLOSE_GRACEFUL_FLAG fails if the consumer has objects
 *
 * Must not be called from an upcall. Specification: dat_ia_close().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE.
 */
DAT_RETURN kdapl_ia_close(DAT_IA_HANDLE ia_handle,
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
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = to_ia(obj);

	mutex_lock(&ia->end_lock);
	if (ia->live_state == DAT_IA_CLOSING) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
		goto unlock;
	}
	/* A graceful close may fail: let calls wait for a live reference, not fail. */
	dat_ia_quiesce(ia, close_flags == DAT_CLOSE_ABRUPT_FLAG ?
			      DAT_IA_CLOSING : DAT_IA_UNPLUGGING);
	if (close_flags == DAT_CLOSE_GRACEFUL_FLAG) {
		if (dat_ia_has_consumer_objects(ia)) {
			dat_ia_resume(ia);
			ret = DAT_ERROR(DAT_INVALID_STATE,
					DAT_INVALID_STATE_IA_IN_USE);
			goto unlock;
		}
		dat_ia_kill(ia);
	}

	dat_ia_destroy_objects(ia);
	ia_put_async_evd(ia);
	/* The device may be removed as soon as the IA is not in its list. */
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

/* Charges the IA and its own asynchronous EVD. The IA is quiesced: dat_ia_quiesce(). */
static DAT_RETURN set_account(struct dat_ia *ia, struct dat_account *account)
{
	long bytes;

	if (ia->owner.account || dat_ia_has_consumer_objects(ia))
		return DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_IA_IN_USE);
	bytes = atomic_long_read(&ia->obj.charged);
	if (owns_async_evd(ia))
		bytes += atomic_long_read(&ia->async_evd->charged);
	if (!dat_account_charge(account, bytes))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	account->ops->get(account);
	ia->owner.account = account;
	return DAT_SUCCESS;
}

/**
 * dat_ia_set_account - charge the objects of an IA to an account
 * @ia_handle: the IA, just opened: without objects of the consumer
 * @account: the account. The IA holds a reference on it until its last object has
 *	been freed, which may be after dat_ia_close().
 *
 * For consumers that act for others, and must limit their resources. kdapl estimates the
 * bytes that the device and kdapl allocate for an object, and charges them before it
 * allocates. If the account refuses, a call returns DAT_INSUFFICIENT_RESOURCES with
 * DAT_RESOURCE_MEMORY. Extension of kdapl, in no specification.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE (the IA has objects, or an account), DAT_INTERNAL_ERROR (the
 * IA is being closed, or the device is removed), DAT_INSUFFICIENT_RESOURCES (the
 * account refuses the charge of the IA itself).
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
	/* Quiesce the IA, so that each object is charged wholly to one account. */
	mutex_lock(&ia->end_lock);
	if (ia->live_state == DAT_IA_OPEN && !ia->unplugged) {
		dat_ia_quiesce(ia, DAT_IA_UNPLUGGING);
		ret = set_account(ia, account);
		dat_ia_resume(ia);
	}
	mutex_unlock(&ia->end_lock);
	dat_object_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_set_account);

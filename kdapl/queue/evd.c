// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd.c - creates and destroys event dispatchers
 *
 * An EVD owns a ring of events and, while EPs feed it, CQs. Consumers create an EVD
 * with kdapl_evd_kcreate(); an EP without an EVD of its own creates a private EVD with
 * dat_evd_new(). All run in process context, except the overflow report and software
 * events.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "queue/evd.h"

#define EVD_ALL_FLAGS	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG)

/**
 * dat_evd_overflow - report that an event was lost
 * @evd: the EVD
 *
 * The report is an asynchronous event, from a work item.
 *
 * Context: any.
 */
void dat_evd_overflow(struct dat_evd *evd)
{
	kref_get(&evd->obj.ref);
	if (!queue_work(dat_wq(&evd->obj), &evd->overflow_work))
		dat_object_put(&evd->obj);
}

static void evd_overflow_work(struct work_struct *work)
{
	struct dat_evd *evd = container_of(work, struct dat_evd, overflow_work);

	pr_warn_ratelimited("kdapl: an EVD of %d events has overflown\n",
			    evd->qlen);
	dat_ia_async_event(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW,
			   evd->obj.handle, DAT_EVD_OVERFLOW_ERROR);
	dat_object_put(&evd->obj);
}

/* Events in the ring remain for the consumer. */
static void evd_unplug(struct dat_object *obj)
{
	dat_evd_unplug(to_evd(obj));
}

static void evd_shutdown(struct dat_object *obj)
{
	struct dat_evd *evd = to_evd(obj);

	dat_evd_upcall_stop(evd);
	evd_unplug(obj);
	dat_evd_upcall_stop(evd);
}

/* Ring entries of an IA's asynchronous EVD beyond those that the consumer requests. */
static u32 evd_spare(DAT_EVD_FLAGS flags)
{
	return flags & DAT_EVD_ASYNC_FLAG ? 1 : 0;
}

static void evd_release(struct dat_object *obj)
{
	struct dat_evd *evd = to_evd(obj);

	kvfree(evd->ring);
	kfree(evd);
}

static const struct dat_object_ops evd_ops = {
	.shutdown = evd_shutdown,
	.unplug = evd_unplug,
	.release = evd_release,
};

static void evd_irq_work(struct irq_work *work)
{
	dat_poll_sched(&container_of(work, struct dat_evd, irq_work)->poll);
}

static size_t ring_bytes(u32 entries)
{
	return entries * sizeof(struct dat_evd_entry);
}

/**
 * dat_evd_alloc_ring - allocate a ring for an EVD, and charge the EVD for it
 * @evd: the EVD
 * @qlen: events that the ring must hold, at most DAT_MAX_EVD_QLEN
 * @entries: out: entries of the ring
 *
 * Context: process, may sleep.
 * Return: the ring, for dat_evd_free_ring(), or NULL.
 */
struct dat_evd_entry *dat_evd_alloc_ring(struct dat_evd *evd, DAT_COUNT qlen,
					 u32 *entries)
{
	struct dat_evd_entry *ring;

	*entries = roundup_pow_of_two(qlen + evd_spare(evd->flags));
	if (!dat_object_charge(&evd->obj, ring_bytes(*entries)))
		return NULL;
	ring = kvmalloc_array(*entries, sizeof(struct dat_evd_entry),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ring)
		dat_object_uncharge(&evd->obj, ring_bytes(*entries));
	return ring;
}

/**
 * dat_evd_free_ring - free a ring that the EVD does not use
 * @evd: the EVD
 * @ring: the ring
 * @entries: entries of @ring
 *
 * Context: process, may sleep.
 */
void dat_evd_free_ring(struct dat_evd *evd, struct dat_evd_entry *ring,
		       u32 entries)
{
	kvfree(ring);
	dat_object_uncharge(&evd->obj, ring_bytes(entries));
}

/**
 * dat_evd_new - create an EVD without handle
 * @ia: the IA
 * @qlen: events that the EVD must hold, at most DAT_MAX_EVD_QLEN
 * @flags: event streams that may feed the EVD, DAT_EVD_*_FLAG
 * @evdp: out: the EVD, with a reference
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_evd_new(struct dat_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		       struct dat_evd **evdp)
{
	struct dat_evd *evd;
	u32 entries;

	if (qlen > DAT_MAX_EVD_QLEN)
		goto no_memory;
	evd = kzalloc(sizeof(*evd), GFP_KERNEL_ACCOUNT);
	if (!evd)
		goto no_memory;
	dat_object_init(&evd->obj, DAT_HANDLE_TYPE_EVD, &ia->owner, &evd_ops);
	spin_lock_init(&evd->lock);
	mutex_init(&evd->size_lock);
	INIT_WORK(&evd->overflow_work, evd_overflow_work);
	init_irq_work(&evd->irq_work, evd_irq_work);
	dat_evd_upcall_init(evd);
	evd->qlen = qlen;
	evd->flags = flags;
	/* A process tells what it does by the flags. Drivers register memory on any EVD. */
	evd->binds = flags & DAT_EVD_RMR_BIND_FLAG || !ia->owner.account;
	evd->polls = flags & DAT_EVD_CQ_FLAGS;
	INIT_LIST_HEAD(&evd->cqs);
	evd->spare = evd_spare(flags);
	evd->may_miss = dat_dev_quirks(dat_ia_ibdev(ia)) &
			DAT_QUIRK_MISSED_EVENTS;

	if (!dat_object_charge(&evd->obj, sizeof(*evd) + DAT_BYTES_HANDLE))
		goto put;
	evd->ring = dat_evd_alloc_ring(evd, qlen, &entries);
	if (!evd->ring)
		goto put;
	evd->mask = entries - 1;
	*evdp = evd;
	return DAT_SUCCESS;

put:
	dat_object_put(&evd->obj);
no_memory:
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/**
 * dat_evd_drop - destroy an EVD that never had a handle
 * @evd: the EVD
 *
 * Context: process, may sleep.
 */
void dat_evd_drop(struct dat_evd *evd)
{
	dat_object_shutdown(&evd->obj);
	dat_object_put(&evd->obj);
}

/**
 * kdapl_evd_kcreate - create an EVD
 * @ia_handle: the IA
 * @evd_min_qlen: events that the EVD must hold, from 1 to DAT_MAX_EVD_QLEN
 * @upcall_policy: DAT_UPCALL_DISABLE, DAT_UPCALL_SINGLE_INSTANCE or
 *	DAT_UPCALL_MANY, see dat_evd_modify_upcall()
 * @upcall: function to call; ignored with DAT_UPCALL_DISABLE
 * @evd_flags: event streams that may feed the EVD; any mixture, at least one
 * @evd_handle: out: the handle
 *
 * Specification: dat_evd_kcreate(), kDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the
 * device is removed).
 */
DAT_RETURN kdapl_evd_kcreate(DAT_IA_HANDLE ia_handle,
			     DAT_COUNT evd_min_qlen,
			     DAT_UPCALL_POLICY upcall_policy,
			     const DAT_UPCALL_OBJECT *upcall,
			     DAT_EVD_FLAGS evd_flags,
			     DAT_EVD_HANDLE *evd_handle)
{
	struct dat_object *ia_obj;
	struct dat_evd *evd;
	DAT_RETURN ret;

	might_sleep();
	if (evd_min_qlen < 1)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!evd_flags || evd_flags & ~EVD_ALL_FLAGS)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!evd_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	/* A new EVD has no upcall that could be torn down. */
	if (upcall_policy == DAT_UPCALL_TEARDOWN)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = dat_evd_check_upcall(upcall_policy, upcall, DAT_INVALID_ARG3,
				   DAT_INVALID_ARG4);
	if (ret)
		return ret;

	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;

	ret = dat_evd_new(to_ia(ia_obj), evd_min_qlen, evd_flags, &evd);
	if (ret)
		goto leave;

	if (upcall_policy != DAT_UPCALL_DISABLE) {
		evd->upcall = *upcall;
		evd->policy = upcall_policy;
	}
	ret = dat_object_publish(&evd->obj);
	if (ret) {
		dat_evd_drop(evd);
		goto leave;
	}
	*evd_handle = evd->obj.handle;
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

/**
 * kdapl_evd_post_se - queue a software event
 * @evd_handle: the EVD, with DAT_EVD_SOFTWARE_FLAG
 * @event: the event: its number is DAT_SOFTWARE_EVENT, its data
 *	software_event_data; kdapl copies the pointer, not the data behind the pointer
 *
 * If the EVD is full the call fails, and this does not count as an overflow.
 * Specification: dat_evd_post_se().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: the EVD
 * takes no software events), DAT_QUEUE_FULL.
 */
DAT_RETURN kdapl_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	DAT_EVENT_DATA data = {};
	struct dat_object *obj;
	DAT_RETURN ret;

	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	data.software_event_data = event->event_data.software_event_data;

	obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!(to_evd(obj)->flags & DAT_EVD_SOFTWARE_FLAG))
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	else if (dat_evd_post_unless_full(to_evd(obj), event->event_number,
					  &data))
		ret = DAT_SUCCESS;
	else
		ret = DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	dat_object_put(obj);
	return ret;
}

/**
 * kdapl_evd_free - destroy an EVD
 * @evd_handle: the EVD
 *
 * Events in the EVD are lost. When the call returns, no upcall of the EVD is running,
 * unless an upcall of the EVD made the call. An upcall that may sleep may free its own
 * EVD and is then the last. Specification: dat_evd_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE (an EP, PSP, RSP,
 * CSP or IA feeds it; freeing an IA destroys its asynchronous EVD).
 */
DAT_RETURN kdapl_evd_free(DAT_EVD_HANDLE evd_handle)
{
	might_sleep();
	return dat_object_free(evd_handle, DAT_HANDLE_TYPE_EVD,
			       DAT_INVALID_HANDLE1,
			       DAT_INVALID_STATE_EVD_IN_USE);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_param.c - queries an EVD and changes its size
 *
 * A resize replaces the ring. The CQs depend on the EPs alone. size_lock serialises the
 * calls. Consumers call both functions in process context.
 */
#include <linux/kernel.h>
#include <linux/mm.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "queue/evd.h"

/**
 * kdapl_evd_query - query the parameters of an EVD
 * @evd_handle: the EVD
 * @evd_param_mask: DAT_EVD_FIELD_*; kdapl fills in all fields
 * @evd_param: out: the parameters
 *
 * After DAT_UPCALL_TEARDOWN the policy is DAT_UPCALL_DISABLE, and the upcall
 * DAT_UPCALL_NULL. Specification: dat_evd_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_evd_query(DAT_EVD_HANDLE evd_handle,
			   DAT_EVD_PARAM_MASK evd_param_mask,
			   DAT_EVD_PARAM *evd_param)
{
	struct dat_object *obj;
	struct dat_evd *evd;
	DAT_RETURN ret;

	might_sleep();
	if (evd_param_mask & ~DAT_EVD_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!evd_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(evd_handle, DAT_HANDLE_TYPE_EVD,
				  DAT_INVALID_HANDLE1, &ret);
	if (!obj)
		return ret;
	evd = to_evd(obj);

	spin_lock_bh(&evd->lock);
	*evd_param = (struct dat_evd_param){
		.ia_handle = obj->ia->obj.handle,
		.evd_qlen = evd->qlen,
		.upcall_policy = evd->policy,
		.upcall = evd->upcall,
		.evd_flags = evd->flags,
	};
	spin_unlock_bh(&evd->lock);
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_resize_ring(struct dat_evd *evd, DAT_COUNT qlen)
{
	struct dat_evd_entry *ring, *other;
	u32 before = evd->mask + 1;
	u32 entries;

	ring = dat_evd_alloc_ring(evd, qlen, &entries);
	if (!ring)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	other = dat_evd_swap_ring(evd, ring, entries, qlen);
	dat_evd_free_ring(evd, other, other == ring ? entries : before);
	return other == ring ? DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE) :
			       DAT_SUCCESS;
}

/**
 * kdapl_evd_resize - change how many events an EVD can hold
 * @evd_handle: the EVD; it may be in use
 * @evd_min_qlen: events that the EVD must hold, from 1 to DAT_MAX_EVD_QLEN
 *
 * No event is lost, and the order of events is kept. EPs may feed it, and events may be
 * queued. Specification: dat_evd_resize().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_STATE (more events are queued),
 * DAT_INTERNAL_ERROR (the device is removed). Unless successful, nothing has
 * changed.
 */
DAT_RETURN kdapl_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	struct dat_object *obj;
	struct dat_evd *evd;
	DAT_RETURN ret;

	might_sleep();
	if (evd_min_qlen < 1)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (evd_min_qlen > DAT_MAX_EVD_QLEN)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	obj = dat_object_get_live(evd_handle, DAT_HANDLE_TYPE_EVD,
				  DAT_INVALID_HANDLE1, &ret);
	if (!obj)
		return ret;
	evd = to_evd(obj);

	mutex_lock(&evd->size_lock);
	ret = evd_resize_ring(evd, evd_min_qlen);
	mutex_unlock(&evd->size_lock);
	dat_object_put_live(obj);
	return ret;
}

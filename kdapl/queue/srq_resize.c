// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_resize.c - changes the number of buffers that a shared receive queue can hold
 *
 * The device SRQ, the slots and the CQs of the EPs only grow; a smaller size only lowers
 * the limit on posted buffers. Consumers call kdapl_srq_resize() in process context.
 */
#include <linux/kernel.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "queue/evd.h"
#include "queue/srq.h"

/*
 * Makes room for @max buffers in the CQs of the EPs. What it got stays reserved, even if another CQ
 * or the device has no room.
 */
static bool grow_feeds(struct dat_srq *srq, u32 max)
{
	struct dat_srq_feed *feed;

	list_for_each_entry(feed, &srq->feeds, node) {
		if (feed->room >= max)
			continue;
		if (!dat_cq_grow(feed->cq, max - feed->room))
			return false;
		feed->room = max;
	}
	return true;
}

/* Makes room for @max buffers, in the device and in the CQs of the EPs. */
static DAT_RETURN srq_grow(struct dat_srq *srq, u32 max)
{
	struct ib_srq_attr attr = { .max_wr = max };
	size_t bytes = dat_srq_bytes(srq, max) -
		       dat_srq_bytes(srq, srq->num_slots);
	DAT_RETURN ret;

	lockdep_assert_held(&srq->mutex);
	/* The memory, and so its charge, remains until the SRQ is freed. */
	if (!dat_object_charge(&srq->obj, bytes))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (!grow_feeds(srq, max))
		goto undo;
	if (ib_modify_srq(srq->srq, &attr, IB_SRQ_MAX_WR)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
		goto undo;
	}
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (!dat_srq_add_slots(srq, max - srq->num_slots))
		return DAT_SUCCESS;

undo:
	dat_object_uncharge(&srq->obj, bytes);
	return ret;
}

/* Both outstanding buffers and completions not yet dequeued count. */
static DAT_RETURN srq_resize(struct dat_srq *srq, u32 max)
{
	DAT_RETURN ret = DAT_SUCCESS;

	dat_srq_collect(srq);
	if (max > srq->num_slots)
		ret = srq_grow(srq, max);
	if (ret)
		return ret;

	spin_lock_bh(&srq->wq.lock);
	if (max < srq->low_watermark ||
	    max < srq->num_posted + srq->num_ringed)
		ret = DAT_ERROR(DAT_INVALID_STATE,
				DAT_INVALID_STATE_SRQ_IN_USE);
	else
		srq->max = max;
	spin_unlock_bh(&srq->wq.lock);
	return ret;
}

/**
 * kdapl_srq_resize - change the number of buffers that an SRQ can hold
 * @srq_handle: the SRQ
 * @srq_max_recv_dto: buffers, at least 1
 *
 * The SRQ keeps its largest size, so it can always grow back to that size. Growing
 * beyond depends on the device: rxe can grow, siw and many adapters cannot. The CQs that
 * the EPs have then must have room: see dat_cq_join().
 * Specification: dat_srq_resize().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (more than the
 * IA supports), DAT_INVALID_STATE (fewer than the low watermark, or than are
 * outstanding: not completed or not dequeued), DAT_INSUFFICIENT_RESOURCES
 * (also: the device cannot do it, DAT_RESOURCE_SRQ, or a CQ of an EP has no room,
 * DAT_RESOURCE_TEVD), DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_srq_resize(DAT_SRQ_HANDLE srq_handle,
			    DAT_COUNT srq_max_recv_dto)
{
	struct dat_object *obj;
	struct dat_srq *srq;
	DAT_RETURN ret;

	might_sleep();
	obj = dat_object_get_live(srq_handle, DAT_HANDLE_TYPE_SRQ,
				  DAT_INVALID_HANDLE_SRQ, &ret);
	if (!obj)
		return ret;
	srq = to_srq(obj);
	if (srq_max_recv_dto < 1 ||
	    srq_max_recv_dto > dat_srq_max_dtos(dat_ia_ibdev(obj->ia))) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		goto leave;
	}
	mutex_lock(&srq->mutex);
	ret = srq_resize(srq, srq_max_recv_dto);
	mutex_unlock(&srq->mutex);
leave:
	dat_object_put_live(obj);
	return ret;
}

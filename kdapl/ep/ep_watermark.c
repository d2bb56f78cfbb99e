// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_watermark.c - counts and limits the receive buffers of an EP
 *
 * An EP without SRQ has the buffers that were posted and have not completed. An EP with
 * SRQ has the buffers that it took and that the consumer has not dequeued. While such an
 * EP has a watermark, the EVD moves completions to its ring on arrival, where they are
 * counted. Consumers set watermarks in process context; posts and completions check them.
 */
#include <linux/kernel.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "queue/evd.h"
#include "queue/srq.h"

/**
 * dat_watermark_is_valid - is a value a valid high watermark?
 * @watermark: the watermark
 *
 * Context: any.
 * Return: true if it is a number of buffers, or DAT_WATERMARK_INFINITE.
 */
bool dat_watermark_is_valid(DAT_COUNT watermark)
{
	return watermark >= 0 || watermark == DAT_WATERMARK_INFINITE;
}

static spinlock_t *watermark_lock(struct dat_ep *ep)
{
	return ep->srq ? &ep->recv_evd->lock : &ep->rq.lock;
}

/* Sets the number of buffers above which check() must run. Infinite is the highest. */
static void set_trap(struct dat_ep *ep)
{
	struct dat_watermarks *w = &ep->watermarks;

	w->trap = min(w->soft_armed ? (u32)w->soft : U32_MAX, (u32)w->hard);
	/*
	 * The post path already checks for a full queue. So a lower rq.max catches the
	 * watermark without cost for EPs that have none. With an SRQ rq is always full.
	 */
	ep->rq.max = ep->srq ? 0 : min_t(u32, ep->attr.max_recv_dtos, w->trap);
}

static void check(struct dat_ep *ep, u32 num)
{
	struct dat_watermarks *w = &ep->watermarks;

	if (w->soft_armed && num > (u32)w->soft) {
		w->soft_armed = false;
		queue_work(dat_wq(&ep->obj), &w->work);
	}
	if (num > (u32)w->hard)
		dat_ep_break_soon(ep);
	set_trap(ep);
}

static u32 count(struct dat_ep *ep)
{
	if (ep->srq)
		return ep->srq_ep.ringed;
	return ep->rq.head - READ_ONCE(ep->rq.tail);
}

static void watermark_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(work, struct dat_ep, watermarks.work);

	dat_ia_async_event(ep->obj.ia, DAT_SRQ_EVENT, ep->obj.handle,
			   DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

/**
 * dat_watermarks_took - check the watermarks when an EP has taken a buffer of its SRQ
 * @obj: the EP
 *
 * Context: any; the lock of the receive EVD is held, and the event of the
 * buffer is not in the ring yet.
 */
void dat_watermarks_took(struct dat_object *obj)
{
	struct dat_ep *ep = to_ep(obj);

	if (unlikely(count(ep) >= ep->watermarks.trap))
		check(ep, count(ep) + 1);
}

/**
 * dat_watermarks_slot - get a slot although rq.max is reached, and check the watermarks
 * @ep: the EP; the lock of its receive queue is held
 *
 * Context: any.
 * Return: the slot, as from dat_workq_slot(); NULL if the queue has max_recv_dtos
 * receives, or the EP has an SRQ.
 */
struct dat_dto *dat_watermarks_slot(struct dat_ep *ep)
{
	struct dat_dto *dto;

	if (ep->srq)
		return NULL;
	ep->rq.max = ep->attr.max_recv_dtos;
	dto = dat_workq_slot(&ep->rq);
	if (dto)
		check(ep, count(ep) + 1);
	else
		set_trap(ep);
	return dto;
}

/**
 * dat_watermarks_exceeded - has an EP more buffers than the hard watermark?
 * @ep: the EP
 *
 * Context: process.
 * Return: true if so.
 */
bool dat_watermarks_exceeded(struct dat_ep *ep)
{
	spinlock_t *lock = watermark_lock(ep);
	bool exceeded;

	spin_lock_bh(lock);
	exceeded = ep->watermarks.hard != DAT_WATERMARK_INFINITE &&
		   count(ep) > ep->watermarks.hard;
	spin_unlock_bh(lock);
	return exceeded;
}

/* Watches the receive EVD while @reason is true, see dat_evd_watch(). */
static void watch(struct dat_ep *ep, bool reason)
{
	struct dat_watermarks *w = &ep->watermarks;

	if (reason && !w->watching)
		dat_evd_watch(ep->recv_evd);
	if (!reason && w->watching)
		dat_evd_unwatch(ep->recv_evd);
	w->watching = reason;
}

static bool must_watch(const struct dat_ep *ep)
{
	return ep->srq && (ep->watermarks.soft != DAT_WATERMARK_INFINITE ||
			   ep->watermarks.hard != DAT_WATERMARK_INFINITE);
}

static void set_watermarks(struct dat_ep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dat_watermarks *w = &ep->watermarks;

	lockdep_assert_held(&ep->mutex);
	ep->attr.srq_soft_hw = soft;
	spin_lock_bh(watermark_lock(ep));
	w->soft = soft;
	w->hard = hard;
	w->soft_armed = soft != DAT_WATERMARK_INFINITE;
	check(ep, count(ep));
	spin_unlock_bh(watermark_lock(ep));
	watch(ep, must_watch(ep));
}

/**
 * dat_watermarks_init - initialise a new EP without watermarks
 * @ep: the EP
 *
 * Context: process.
 */
void dat_watermarks_init(struct dat_ep *ep)
{
	INIT_WORK(&ep->watermarks.work, watermark_work);
	ep->watermarks.soft = DAT_WATERMARK_INFINITE;
	ep->watermarks.hard = DAT_WATERMARK_INFINITE;
	ep->watermarks.trap = U32_MAX;
}

/**
 * dat_watermarks_preset - set the soft high watermark of a new EP
 * @ep: the EP; it has no handle and no QP yet
 * @soft: the watermark, see dat_watermark_is_valid()
 *
 * Context: process.
 */
void dat_watermarks_preset(struct dat_ep *ep, DAT_COUNT soft)
{
	ep->watermarks.soft = soft;
	ep->watermarks.soft_armed = soft != DAT_WATERMARK_INFINITE;
}

/**
 * dat_watermarks_start - activate the watermarks for a new QP
 * @ep: the EP, with a QP, an empty receive queue and a receive EVD; its mutex is held, or
 *	it has no handle yet
 *
 * The watermarks do not change. Context: process.
 */
void dat_watermarks_start(struct dat_ep *ep)
{
	spin_lock_bh(watermark_lock(ep));
	set_trap(ep);
	spin_unlock_bh(watermark_lock(ep));
	watch(ep, must_watch(ep));
}

/**
 * dat_watermarks_stop - stop watching the receive EVD before it is replaced
 * @ep: the EP; its mutex is held
 *
 * Context: process.
 */
void dat_watermarks_stop(struct dat_ep *ep)
{
	watch(ep, false);
}

/**
 * dat_watermarks_end - stop the watermarks of an EP that has no buffers any more
 * @ep: the EP, without QP
 *
 * Context: process, may sleep.
 */
void dat_watermarks_end(struct dat_ep *ep)
{
	/* kdapl_ep_set_watermark() checks for a QP under the same mutex. */
	mutex_lock(&ep->mutex);
	watch(ep, false);
	mutex_unlock(&ep->mutex);
	cancel_work_sync(&ep->watermarks.work);
}

/**
 * kdapl_ep_set_watermark - limit the receive buffers of an EP
 * @ep_handle: the EP, in any state
 * @soft_high_watermark: buffers, at least 0. kdapl reports an event once, when the EP has
 *	more buffers; at once if it already has. DAT_WATERMARK_INFINITE for no event.
 * @hard_high_watermark: buffers, at least 0. The connection is BROKEN when the EP has
 *	more buffers. DAT_WATERMARK_INFINITE for no limit.
 *
 * An EP with an SRQ has the buffers that it has taken from the SRQ and that the consumer
 * has not dequeued. An EP without SRQ has the buffers that were posted and have not
 * completed. The event is DAT_ASYNC_ERROR_EP_BROKEN on the asynchronous EVD, with the
 * handle of the EP and the reason DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT. The event does not
 * change the EP. Specification:
 * dat_ep_set_watermark().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT soft_high_watermark,
				  DAT_COUNT hard_high_watermark)
{
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;

	might_sleep();
	if (!dat_watermark_is_valid(soft_high_watermark))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!dat_watermark_is_valid(hard_high_watermark))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);

	mutex_lock(&ep->mutex);
	/* An unconfigured EP has no receive EVD. */
	if (ep->recv_evd)
		dat_evd_collect(ep->recv_evd);
	/* An EP with SRQ but without QP is being freed, and must not watch its EVD. */
	if (ep->qp || !ep->srq)
		set_watermarks(ep, soft_high_watermark, hard_high_watermark);
	mutex_unlock(&ep->mutex);
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_recv_query - query the number of receive buffers of an EP
 * @ep_handle: the EP
 * @nbufs_allocated: out: buffers that have not completed; may be NULL
 * @bufs_alloc_span: out: messages that these buffers can receive; may be NULL
 *
 * Only the device can tell which buffers of an SRQ messages are arriving in. So for
 * a connected EP with an SRQ both values are DAT_VALUE_UNKNOWN.
 * Specification: dat_ep_recv_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INTERNAL_ERROR (the device is
 * removed).
 */
DAT_RETURN kdapl_ep_recv_query(DAT_EP_HANDLE ep_handle,
			       DAT_COUNT *nbufs_allocated,
			       DAT_COUNT *bufs_alloc_span)
{
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;
	DAT_COUNT num;

	might_sleep();
	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);

	if (!ep->srq) {
		mutex_lock(&ep->mutex);
		if (ep->recv_evd)
			dat_evd_collect(ep->recv_evd);
		mutex_unlock(&ep->mutex);
		spin_lock_bh(&ep->rq.lock);
		num = count(ep);
		spin_unlock_bh(&ep->rq.lock);
	} else {
		num = READ_ONCE(ep->srq_ep.may_receive) ? DAT_VALUE_UNKNOWN : 0;
	}
	if (nbufs_allocated)
		*nbufs_allocated = num;
	if (bufs_alloc_span)
		*bufs_alloc_span = num;
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_reset.c - resets a disconnected EP for another connection
 *
 * A reset replaces the QP and lets the old id linger. Consumers call kdapl_ep_reset() in
 * process context.
 */
#include <linux/kernel.h>
#include <linux/wait_bit.h>

#include "base/calls.h"
#include "dev/linger.h"
#include "dev/ia.h"
#include "ep/ep.h"

/* Replaces the QP: the old peer may still send to the number of the old QP. */
static DAT_RETURN replace_qp(struct dat_ep *ep)
{
	struct dat_ep_parts parts = dat_ep_parts(ep);
	struct rdma_cm_id *id = NULL;
	DAT_RETURN ret;

	/* Handlers of the id access the EP, and on iWARP the id holds the QP. */
	swap(id, ep->cm_id);
	if (id)
		dat_linger(id, ep->obj.owner->user, &ep->linger_owed,
			   ep->dreq_owed);
	ep->dreq_owed = false;
	/* The end of the old connection must be reported before events of the next. */
	dat_ep_wait_disconnected(ep);
	ret = dat_ep_qp_create(ep, &parts);
	if (ret)
		return ret;
	ep->failed = false;
	ep->qp_failed = false;
	dat_ep_end_flush(ep);
	ep->linger_owed = false;
	ep->passive = false;
	ep->in_data_len = 0;
	dat_ep_set_peer(ep, NULL, 0);
	return DAT_SUCCESS;
}

/*
 * Takes the mutex when no handler of ep->old_id can run any more: the handler may still
 * modify the QP that is to be replaced. The wait is not under the mutex: on iWARP it may
 * last until TCP stops trying to connect.
 */
static void lock_when_unattended(struct dat_ep *ep)
{
	for (;;) {
		mutex_lock(&ep->mutex);
		/* Pairs with ep_timeout_work(). */
		if (!smp_load_acquire(&ep->old_id))
			return;
		mutex_unlock(&ep->mutex);
		wait_var_event(&ep->old_id, !READ_ONCE(ep->old_id));
	}
}

static DAT_RETURN ep_reset(struct dat_ep *ep)
{
	DAT_EP_STATE state;
	DAT_RETURN ret;

	lock_when_unattended(ep);
	state = dat_ep_state(ep);
	if (state == DAT_EP_STATE_DISCONNECTED)
		ret = replace_qp(ep);
	else if (state == DAT_EP_STATE_UNCONNECTED)
		ret = DAT_SUCCESS;
	else
		ret = dat_ep_state_error(state);
	mutex_unlock(&ep->mutex);
	if (ret || state == DAT_EP_STATE_UNCONNECTED)
		return ret;

	/* The work items belong to the old connection, and take the mutex. */
	dat_ep_disconnect_cancel(ep);
	mutex_lock(&ep->mutex);
	if (dat_ep_move(ep, EP_IN(DISCONNECTED), DAT_EP_STATE_UNCONNECTED)) {
		ep->failed = false;
		dat_ep_qp_start(ep);
	}
	mutex_unlock(&ep->mutex);
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_reset - reset a DISCONNECTED EP to UNCONNECTED
 * @ep_handle: the EP, DISCONNECTED or UNCONNECTED; an UNCONNECTED EP does not change and
 *	keeps its receives
 *
 * kdapl flushes posted requests. The consumer dequeues their events as usual, as far as
 * the EVD has room for them. Specification: dat_ep_reset().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES (it is still DISCONNECTED), DAT_INTERNAL_ERROR
 * (the device is removed).
 */
DAT_RETURN kdapl_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	might_sleep();
	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	/* The use keeps the EP from being freed while the mutex is released. */
	if (dat_object_use_get(obj)) {
		/* A second call would cancel work items of the next connection. */
		mutex_lock(&to_ep(obj)->reset_mutex);
		ret = ep_reset(to_ep(obj));
		mutex_unlock(&to_ep(obj)->reset_mutex);
		dat_object_use_put(obj);
	} else {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	dat_object_put_live(obj);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_disconnect.c - ends connections: graceful, abrupt, broken, timed out
 *
 * Owns the delayed work items of an EP and the order of the end: QP to the error state,
 * flush, then one connection event. Consumers, handlers of rdma_cm and the removal of a
 * device call it in process context. Completions and device events call it in any
 * context; for them a work item disconnects.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/wait_bit.h>

#include "base/calls.h"
#include "base/stats.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "queue/evd.h"

/* Time for posted requests to complete before dat_ep_progress() breaks the connection. */
#define PATIENCE_MS	2000

/*
 * Completions wake up the waiters for the flush. If an EVD is full or the device loses
 * completions, no completion wakes them up. SETTLE_INTERVAL is the interval of the check
 * for a full EVD. After SETTLE_TIMEOUT missing completions count as lost.
 */
#define SETTLE_INTERVAL	msecs_to_jiffies(20)
#define SETTLE_TIMEOUT	(30 * HZ)

/*
 * DAT_QUIRK_LATE_ANSWERS: the QP stays alive for ANSWER_DELAY, so that it answers the
 * peer: a processor of a virtual machine may stand still for tens of milliseconds. The
 * DREQ is sent DREQ_DELAY later, so that it does not overtake the answer.
 */
#define ANSWER_DELAY	msecs_to_jiffies(50)
#define DREQ_DELAY	msecs_to_jiffies(100)

/* ib_cm handles a report of data at once, unless the end of the connection has overtaken it. */
#define NOTIFY_TIMEOUT	HZ

/**
 * dat_ep_fail_qp - move the QP to the error state, which flushes all posted requests
 * @ep: the EP
 *
 * Context: process, may sleep.
 */
void dat_ep_fail_qp(struct dat_ep *ep)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (ep->no_late_posts)
		dat_ep_qp_stop(ep);
	if (!ib_modify_qp(ep->qp, &attr, IB_QP_STATE))
		WRITE_ONCE(ep->qp_failed, true);
	else
		pr_warn_ratelimited("kdapl: %s: QP %u cannot be stopped\n",
				    ep->qp->device->name,
				    ep->qp->qp_num);
}

/**
 * dat_ep_connect_event - post an event to the EP's connect EVD
 * @ep: the EP
 * @number: event number, DAT_CONNECTION_EVENT_*
 *
 * Context: process or softirq.
 */
void dat_ep_connect_event(struct dat_ep *ep, DAT_EVENT_NUMBER number)
{
	DAT_EVENT_DATA data = {
		.connect_event_data = { .ep_handle = ep->obj.handle },
	};

	if (number == DAT_CONNECTION_EVENT_BROKEN)
		dat_stats_broken(&ep->obj);
	if (!ep->connect_evd)
		return;
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED ||
	    number == DAT_CONNECTION_EVENT_PEER_REJECTED) {
		data.connect_event_data.private_data_size = ep->in_data_len;
		data.connect_event_data.private_data =
			ep->in_data_len ? ep->in_data : NULL;
	}
	dat_evd_post(ep->connect_evd, number, &data);
}

/**
 * dat_ep_has_failed - has a DTO failed, or the QP?
 * @ep: the EP
 *
 * With DAT_QUIRK_CLOSE_FAILS_REQUEST the device also reports that the QP has failed when the peer
 * disconnects. The request then completes before the report.
 *
 * Context: process.
 * Return: true if the connection is broken.
 */
bool dat_ep_has_failed(struct dat_ep *ep)
{
	if (READ_ONCE(ep->fatal)) {
		dat_ep_collect(ep);
		if (!READ_ONCE(ep->sq.closed))
			WRITE_ONCE(ep->failed, true);
	}
	return READ_ONCE(ep->failed);
}

/*
 * A QP in the error state before any disconnect message shows that the connection broke
 * locally, for instance by a refused access. iWARP has no disconnect message: the QP is
 * in the error state in any case, so only QP events and failed DTOs count.
 */
static bool qp_has_failed(struct dat_ep *ep)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (dat_ep_has_failed(ep))
		return true;
	return !ep->iwarp && !ib_query_qp(ep->qp, &attr, IB_QP_STATE, &init) &&
	       attr.qp_state == IB_QPS_ERR;
}

/**
 * dat_ep_poll_start - process the completions of an EP on arrival
 * @ep: the EP, with a QP
 *
 * After this call dat_ep_drained() is called for idle queues, whether the consumer
 * dequeues events or not. Context: process.
 */
void dat_ep_poll_start(struct dat_ep *ep)
{
	if (test_and_set_bit(0, &ep->watching))
		return;
	WRITE_ONCE(ep->sq.waited, true);
	WRITE_ONCE(ep->rq.waited, true);
	dat_evd_watch(ep->request_evd);
	if (ep->recv_evd != ep->request_evd)
		dat_evd_watch(ep->recv_evd);
}

/**
 * dat_ep_poll_stop - undo dat_ep_poll_start(), if it was called
 * @ep: the EP
 *
 * Context: process.
 */
void dat_ep_poll_stop(struct dat_ep *ep)
{
	if (!test_and_clear_bit(0, &ep->watching))
		return;
	if (ep->recv_evd != ep->request_evd)
		dat_evd_unwatch(ep->recv_evd);
	dat_evd_unwatch(ep->request_evd);
}

/**
 * dat_ep_drained - proceed with a disconnect when a queue is idle
 * @obj: the EP
 *
 * Context: any; the lock of an EVD may be held.
 */
void dat_ep_drained(struct dat_object *obj)
{
	struct dat_ep *ep = to_ep(obj);

	spin_lock_bh(&ep->state_lock);
	/* After that state no work may be queued: see dat_ep_disconnect_cancel(). */
	if (ep->ending && dat_ep_is_idle(ep))
		mod_delayed_work(dat_wq(&ep->obj), &ep->settle_work, 0);
	else if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING &&
		 dat_workq_is_idle(&ep->sq))
		mod_delayed_work(dat_wq(&ep->obj), &ep->drain_work, 0);
	spin_unlock_bh(&ep->state_lock);
	wake_up_all(&ep->idle_wq);
}

/* Is an end to be reported? Then has_settled() sees its deadline. */
static bool is_ending(const struct dat_ep *ep)
{
	/* Pairs with ep_settle(). */
	return smp_load_acquire(&ep->ending);
}

/* Have all requests completed, or can no more complete? */
static bool has_settled(struct dat_ep *ep)
{
	return dat_ep_is_idle(ep) || dat_ep_is_full(ep) ||
	       time_after(jiffies, ep->settle_deadline);
}

/* Reports the end, unless another thread does. */
static void report_end(struct dat_ep *ep)
{
	DAT_EVENT_NUMBER number;

	spin_lock_bh(&ep->state_lock);
	number = ep->end_number;
	ep->end_number = 0;
	spin_unlock_bh(&ep->state_lock);
	if (!number)
		return;
	if (number == DAT_CONNECTION_EVENT_DISCONNECTED &&
	    ep->end_may_be_broken && dat_ep_has_failed(ep))
		number = DAT_CONNECTION_EVENT_BROKEN;
	dat_ep_poll_stop(ep);
	dat_ep_connect_event(ep, number);
	spin_lock_bh(&ep->state_lock);
	WRITE_ONCE(ep->ending, false);
	spin_unlock_bh(&ep->state_lock);
	wake_up_all(&ep->idle_wq);
}

static bool try_report_end(struct dat_ep *ep)
{
	dat_ep_collect(ep);
	if (!has_settled(ep))
		return false;
	report_end(ep);
	return true;
}

static void ep_settle_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(to_delayed_work(work), struct dat_ep,
					 settle_work);

	if (is_ending(ep) && !try_report_end(ep))
		queue_delayed_work(dat_wq(&ep->obj), &ep->settle_work,
				   SETTLE_INTERVAL);
}

/**
 * dat_ep_wait_disconnected - wait until the end of a connection has been reported
 * @ep: the EP
 *
 * The function does not wait for an end that begins after the call. It reports the end
 * itself when the queues are flushed, so that an upcall may call it even if upcalls
 * occupy all workers.
 *
 * Context: process, may sleep, for as long as the device needs to flush the queues.
 */
void dat_ep_wait_disconnected(struct dat_ep *ep)
{
	while (is_ending(ep)) {
		if (!try_report_end(ep))
			wait_event_timeout(ep->idle_wq, !READ_ONCE(ep->ending) ||
					   dat_ep_is_idle(ep),
					   SETTLE_INTERVAL);
		else
			wait_event(ep->idle_wq, !READ_ONCE(ep->ending));
	}
}

/*
 * The QP is in the error state. rxe may still complete a request successfully. The event
 * of the end follows all completions, unless an EVD is full. On iWARP requests need not
 * complete in order, so the event does not wait there.
 */
static void ep_settle(struct dat_ep *ep, DAT_EVENT_NUMBER number,
		      bool may_be_broken)
{
	spin_lock_bh(&ep->state_lock);
	ep->end_may_be_broken = may_be_broken;
	ep->settle_deadline = jiffies + SETTLE_TIMEOUT;
	ep->end_number = number;
	/* Pairs with is_ending(). */
	smp_store_release(&ep->ending, true);
	spin_unlock_bh(&ep->state_lock);
	if (ep->iwarp) {
		report_end(ep);
		return;
	}
	dat_ep_poll_start(ep);
	/* A drain completes after requests that succeeded unsignaled. */
	if (!dat_workq_is_idle(&ep->sq))
		dat_post_drain(ep);
	if (!try_report_end(ep))
		queue_delayed_work(dat_wq(&ep->obj), &ep->settle_work,
				   SETTLE_INTERVAL);
}

/**
 * dat_ep_disconnected - handle the end of a connection or of an attempt to connect
 * @ep: the EP
 * @from: EP_IN() of the states in which the call has an effect
 * @number: event to report; DAT_CONNECTION_EVENT_DISCONNECTED becomes BROKEN if the
 *	connection had failed before
 *
 * The event is reported later, when the queues have been flushed.
 *
 * Context: process, may sleep.
 */
void dat_ep_disconnected(struct dat_ep *ep, unsigned int from, DAT_EVENT_NUMBER number)
{
	bool broken;

	if (!dat_ep_move(ep, from, DAT_EP_STATE_DISCONNECTED))
		return;
	broken = qp_has_failed(ep);
	dat_ep_begin_flush(ep);
	dat_ep_fail_qp(ep);
	if (number == DAT_CONNECTION_EVENT_DISCONNECTED && broken)
		number = DAT_CONNECTION_EVENT_BROKEN;
	ep_settle(ep, number, true);
}

static void ep_disconnect(struct dat_ep *ep, unsigned int from,
			  DAT_EVENT_NUMBER number)
{
	bool breaks = number == DAT_CONNECTION_EVENT_BROKEN;
	bool connecting;

	mutex_lock(&ep->mutex);
	/* Only another call that holds the mutex can make it connect. */
	connecting = ep->qp && dat_ep_move(ep, from & EP_IN(ACTIVE_CONNECTION_PENDING),
					   DAT_EP_STATE_DISCONNECTED);
	if (connecting || (ep->qp && dat_ep_move(ep, from, DAT_EP_STATE_DISCONNECTED))) {
		dat_ep_begin_flush(ep);
		dat_ep_fail_qp(ep);
		ep_settle(ep, number, false);
		if (breaks && ep->late_answers && ep->cm_id) {
			ep->dreq_owed = true;
			queue_delayed_work(dat_wq(&ep->obj), &ep->dreq_work,
					   DREQ_DELAY);
		} else if (ep->cm_id && !connecting) {
			/*
			 * An id that connects has nothing to disconnect: its handler ends
			 * what comes of it. Meanwhile rdma_cm may free the connection of
			 * iWARP that rdma_disconnect() would wait for (cma.c,
			 * cma_connect_iw()).
			 */
			rdma_disconnect(ep->cm_id);
		}
	}
	mutex_unlock(&ep->mutex);
}

static void ep_dreq_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(to_delayed_work(work), struct dat_ep,
					 dreq_work);

	mutex_lock(&ep->mutex);
	if (ep->dreq_owed && ep->cm_id)
		rdma_disconnect(ep->cm_id);
	ep->dreq_owed = false;
	mutex_unlock(&ep->mutex);
}

/**
 * dat_ep_break - disconnect a connection that has failed
 * @ep: the EP
 *
 * Context: process, may sleep; not from a handler of rdma_cm.
 */
void dat_ep_break(struct dat_ep *ep)
{
	ep_disconnect(ep, EP_IN(CONNECTED) | EP_IN(DISCONNECT_PENDING),
		      DAT_CONNECTION_EVENT_BROKEN);
}

/**
 * dat_ep_progress - wait about 1 ms for the posted requests of an EP
 * @obj: the EP
 * @waited: number of calls before this one
 *
 * For callers that must wait until the requests of an EP have completed. After
 * PATIENCE_MS calls the function breaks the connection. After that it drains the EVDs,
 * even if events are lost.
 *
 * Context: process, sleeps for a millisecond; once, when it breaks the connection, for a
 * tenth of a second.
 */
void dat_ep_progress(struct dat_object *obj, unsigned int waited)
{
	struct dat_ep *ep = to_ep(obj);

	dat_ep_collect(ep);
	if (waited == PATIENCE_MS)
		dat_ep_break(ep);
	/* A consumer that does not dequeue must not block the caller for ever. */
	if (waited > PATIENCE_MS)
		dat_ep_drain(ep);
	usleep_range(1000, 1500);
}

static void ep_connect_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(work, struct dat_ep, connect_work);

	ep->connect_step(ep);
}

static void ep_error_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(to_delayed_work(work), struct dat_ep, error_work);

	/* If the device has reported nothing, the caller had another reason. */
	if (dat_ep_has_failed(ep) || !READ_ONCE(ep->fatal))
		dat_ep_break(ep);
}

/**
 * dat_ep_break_soon - queue the work item that disconnects a failed connection
 * @ep: the EP
 *
 * With DAT_QUIRK_LATE_ANSWERS the work item runs after ANSWER_DELAY.
 *
 * Context: any.
 */
void dat_ep_break_soon(struct dat_ep *ep)
{
	queue_delayed_work(dat_wq(&ep->obj), &ep->error_work,
			   ep->late_answers ? ANSWER_DELAY : 0);
}

/*
 * The last message of the set-up is lost: report to rdma_cm that data has arrived.
 *
 * Until ib_cm has handled the report, it does not know that its own last message was
 * answered. An id that is disconnected or destroyed in between lasts until ib_cm has
 * repeated that message for 69 seconds (cm.c, cm_establish()). So keep the mutex, without
 * which nothing ends the id. The handler does not take it.
 */
static void ep_notify_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(to_delayed_work(work), struct dat_ep, notify_work);

	mutex_lock(&ep->mutex);
	/* iw_cm ignores the report. */
	if (ep->cm_id && !ep->iwarp &&
	    dat_ep_state(ep) == DAT_EP_STATE_COMPLETION_PENDING &&
	    !rdma_notify(ep->cm_id, IB_EVENT_COMM_EST))
		wait_event_timeout(ep->idle_wq, READ_ONCE(ep->cm_event), NOTIFY_TIMEOUT);
	mutex_unlock(&ep->mutex);
}

/**
 * dat_ep_dto_failed - break the connection after a DTO or bind has failed
 * @obj: the EP
 * @status: status of the failed work request
 *
 * Context: any.
 */
void dat_ep_dto_failed(struct dat_object *obj, enum ib_wc_status status)
{
	struct dat_ep *ep = to_ep(obj);
	DAT_EP_STATE state = dat_ep_state(ep);

	/* A disconnect flushes as well, and on iWARP a disconnect of the peer. */
	if (status == IB_WC_WR_FLUSH_ERR &&
	    (ep->iwarp || state == DAT_EP_STATE_DISCONNECTED))
		return;
	/* Also before the connection is established: it then counts as failed. */
	WRITE_ONCE(ep->failed, true);
	if (state == DAT_EP_STATE_CONNECTED ||
	    state == DAT_EP_STATE_DISCONNECT_PENDING)
		dat_ep_break_soon(ep);
}

/* Proceeds with a graceful disconnect when all posted requests have completed. */
static void ep_drain_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(to_delayed_work(work), struct dat_ep,
					 drain_work);

	dat_ep_collect(ep);
	if (dat_workq_is_idle(&ep->sq) ||
	    time_after(jiffies, ep->drain_deadline))
		ep_disconnect(ep, EP_IN(DISCONNECT_PENDING),
			      DAT_CONNECTION_EVENT_DISCONNECTED);
	else if (dat_ep_state(ep) == DAT_EP_STATE_DISCONNECT_PENDING)
		queue_delayed_work(dat_wq(&ep->obj), &ep->drain_work,
				   SETTLE_INTERVAL);
}

static void ep_timeout_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(to_delayed_work(work), struct dat_ep,
					 timeout_work);
	struct rdma_cm_id *id = NULL;

	mutex_lock(&ep->mutex);
	if (ep->qp && dat_ep_move(ep, EP_IN(ACTIVE_CONNECTION_PENDING),
				  DAT_EP_STATE_DISCONNECTED)) {
		swap(id, ep->cm_id);
		WRITE_ONCE(ep->old_id, id);
		dat_ep_fail_qp(ep);
		dat_ep_connect_event(ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	}
	mutex_unlock(&ep->mutex);
	if (!id)
		return;
	/* On iWARP this waits until the attempt to connect has timed out. */
	cancel_work_sync(&ep->connect_work);
	/* From here no handler answers the peer. */
	rdma_destroy_id(id);
	/* Pairs with ep_reset(): the handlers no longer access the QP. */
	smp_store_release(&ep->old_id, NULL);
	/* Pairs with the barrier of wait_var_event() there. */
	smp_mb();
	wake_up_var(&ep->old_id);
}

/**
 * dat_ep_disconnect_init - initialise the work items of a new EP
 * @ep: the EP
 *
 * Context: process.
 */
void dat_ep_disconnect_init(struct dat_ep *ep)
{
	init_waitqueue_head(&ep->idle_wq);
	INIT_DELAYED_WORK(&ep->error_work, ep_error_work);
	INIT_DELAYED_WORK(&ep->notify_work, ep_notify_work);
	INIT_WORK(&ep->connect_work, ep_connect_work);
	INIT_DELAYED_WORK(&ep->drain_work, ep_drain_work);
	INIT_DELAYED_WORK(&ep->settle_work, ep_settle_work);
	INIT_DELAYED_WORK(&ep->dreq_work, ep_dreq_work);
	INIT_DELAYED_WORK(&ep->timeout_work, ep_timeout_work);
}

/**
 * dat_ep_disconnect_cancel - cancel all work items of an EP and wait for them
 * @ep: the EP, whose mutex is not held
 *
 * Context: process, may sleep.
 */
void dat_ep_disconnect_cancel(struct dat_ep *ep)
{
	cancel_delayed_work_sync(&ep->error_work);
	cancel_delayed_work_sync(&ep->notify_work);
	cancel_work_sync(&ep->connect_work);
	cancel_delayed_work_sync(&ep->drain_work);
	cancel_delayed_work_sync(&ep->settle_work);
	cancel_delayed_work_sync(&ep->dreq_work);
	cancel_delayed_work_sync(&ep->timeout_work);
}

#define ESTABLISHING	(EP_IN(ACTIVE_CONNECTION_PENDING) | \
			 EP_IN(COMPLETION_PENDING))

/* Time limit of a graceful disconnect: longer than the retries of any transport. */
#define DRAIN_TIMEOUT	(60 * HZ)

static void disconnect_gracefully(struct dat_ep *ep)
{
	mutex_lock(&ep->mutex);
	if (dat_ep_move(ep, EP_IN(CONNECTED),
			DAT_EP_STATE_DISCONNECT_PENDING)) {
		dat_ep_poll_start(ep);
		/* The drain completes even if the last requests are unsignaled. */
		if (!dat_workq_is_idle(&ep->sq))
			dat_post_drain(ep);
		ep->drain_deadline = jiffies + DRAIN_TIMEOUT;
		queue_delayed_work(dat_wq(&ep->obj), &ep->drain_work, 0);
	}
	mutex_unlock(&ep->mutex);
}

/**
 * kdapl_ep_disconnect - disconnect, or stop an attempt to connect
 * @ep_handle: the EP
 * @disconnect_flags: DAT_CLOSE_ABRUPT_FLAG, or DAT_CLOSE_GRACEFUL_FLAG to
 *	complete posted requests first
 *
 * kdapl reports the end as DAT_CONNECTION_EVENT_DISCONNECTED on the connect EVD.
 * Specification: dat_ep_disconnect().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS (also, without effect, if it is DISCONNECTED),
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE (UNCONNECTED),
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ep_disconnect(DAT_EP_HANDLE ep_handle,
			       DAT_CLOSE_FLAGS disconnect_flags)
{
	struct dat_object *obj;
	DAT_EP_STATE state;
	struct dat_ep *ep;
	DAT_RETURN ret;

	might_sleep();
	if (disconnect_flags != DAT_CLOSE_ABRUPT_FLAG &&
	    disconnect_flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);

	state = dat_ep_state(ep);
	switch (state) {
	case DAT_EP_STATE_DISCONNECTED:
		break;
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
		if (disconnect_flags == DAT_CLOSE_GRACEFUL_FLAG &&
		    !(ESTABLISHING & BIT(state)))
			disconnect_gracefully(ep);
		else
			ep_disconnect(ep, ESTABLISHING | EP_IN(CONNECTED) |
						  EP_IN(DISCONNECT_PENDING),
				      DAT_CONNECTION_EVENT_DISCONNECTED);
		/* The event is queued when the call returns. */
		if (disconnect_flags == DAT_CLOSE_ABRUPT_FLAG)
			dat_ep_wait_disconnected(ep);
		break;
	default:
		ret = dat_ep_state_error(state);
		break;
	}
	dat_object_put_live(obj);
	return ret;
}

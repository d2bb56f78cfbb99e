// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_qp.c - creates, connects and destroys the queue pair of an EP
 *
 * Owns the QP and the slots of both queues. Creation, change, reset and shutdown of an
 * EP call these functions in process context. QP events arrive in any context.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "dev/linger.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/pz.h"
#include "queue/evd.h"
#include "queue/srq.h"

/* Work requests for which every device has room. */
#define LONG_QUEUE		4096U

/* A QP in the error state flushes at once. After this, completions count as lost. */
#define FLUSH_TIMEOUT		(5 * HZ)

/*
 * Interval of the check while waiting for a flush. No completion wakes it up if an
 * EVD is full, or for buffers of an SRQ with DAT_QUIRK_NO_LAST_WQE.
 */
#define FLUSH_INTERVAL		msecs_to_jiffies(8)

/**
 * struct new_qp - a QP that no EP uses yet
 * @qp: the QP, in INIT; its context is the EP
 * @sq: slots of the send queue
 * @rq: slots of the receive queue
 * @wrs: work requests that fit into the send queue of the device
 * @max_inline: bytes of data in a request
 * @qp_bytes: charged for @qp and its queues
 * @slot_bytes: charged for @sq and @rq
 */
struct new_qp {
	struct ib_qp *qp;
	struct dat_dto *sq;
	struct dat_dto *rq;
	u32 wrs;
	u32 max_inline;
	size_t qp_bytes;
	size_t slot_bytes;
};

static void qp_event(struct ib_event *event, void *context)
{
	struct dat_ep *ep = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		dat_ep_notify_soon(ep);
		break;
	case IB_EVENT_QP_FATAL:
		WRITE_ONCE(ep->fatal, true);
		dat_ep_break_soon(ep);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		WRITE_ONCE(ep->failed, true);
		dat_ep_break_soon(ep);
		break;
	case IB_EVENT_QP_LAST_WQE_REACHED:
		if (dat_dev_quirks(event->device) & DAT_QUIRK_FALSE_LAST_WQE)
			break;
		WRITE_ONCE(ep->srq_ep.last_wqe, true);
		wake_up_all(&ep->idle_wq);
		if (ep->srq && ep->srq->forgetful)
			dat_srq_raise(ep->srq, DAT_SRQ_MISSING);
		break;
	default:
		break;
	}
}

/* Consumers may post receives before the connection is established; INIT allows this. */
static int qp_to_init(struct ib_qp *qp, u32 port)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = port,
		.qp_access_flags = IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
	};

	if (dat_dev_has_atomics(qp->device))
		attr.qp_access_flags |= IB_ACCESS_REMOTE_ATOMIC;

	/* iWARP QPs accept receives in every state, and have no partitions. */
	if (rdma_protocol_iwarp(qp->device, port))
		return ib_modify_qp(qp, &attr,
				    IB_QP_STATE | IB_QP_ACCESS_FLAGS);
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
				       IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static u32 max_send_sge(const DAT_EP_ATTR *attr)
{
	return max3(attr->max_request_iov, attr->max_rdma_read_iov, attr->max_rdma_write_iov);
}

/*
 * Bytes of data in a request. Memory that has to be synchronised with the device is not copied:
 * the CPU may have another copy than the device.
 */
static u32 qp_max_inline(const struct dat_ep_parts *p)
{
	if (p->pz->obj.ia->dev->needs_sync)
		return 0;
	return dat_dev_max_inline(p->pz->pd->device, max_send_sge(&p->attr));
}

static enum ib_sig_type sig_type(const struct ib_device *ibdev)
{
	return dat_dev_quirks(ibdev) & (DAT_QUIRK_SIGNAL_ALL | DAT_QUIRK_NO_LATE_POSTS) ?
		       IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
}

/*
 * A device may report more work requests than it has room for, depending on their segments.
 * If all requests as binds do not fit in a long queue, the least number may.
 */
static struct ib_qp *create_qp(void *context, const struct dat_ep_parts *p,
			       struct new_qp *new)
{
	u32 least = dat_ep_min_wrs(p->pz->pd->device, &p->attr);
	const DAT_EP_ATTR *attr = &p->attr;
	struct ib_qp_init_attr init = {
		.event_handler = qp_event,
		.qp_context = context,
		.send_cq = p->request_cq->cq,
		.recv_cq = p->recv_cq->cq,
		.srq = p->srq ? p->srq->srq : NULL,
		.cap = {
			.max_send_wr = dat_ep_max_wrs(p),
			.max_recv_wr = p->srq ? 0 : attr->max_recv_dtos,
			.max_send_sge = max_send_sge(attr),
			.max_recv_sge = p->srq ? 0 : attr->max_recv_iov,
			.max_inline_data = qp_max_inline(p),
		},
		.sq_sig_type = sig_type(p->pz->pd->device),
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;

	new->max_inline = init.cap.max_inline_data;
	new->wrs = init.cap.max_send_wr;
	qp = ib_create_qp(p->pz->pd, &init);
	if (IS_ERR(qp) && new->wrs > max(least, LONG_QUEUE)) {
		new->wrs = least;
		init.cap.max_send_wr = least;
		qp = ib_create_qp(p->pz->pd, &init);
	}
	if (IS_ERR(qp))
		return NULL;
	if (qp_to_init(qp, p->pz->obj.ia->port)) {
		ib_destroy_qp(qp);
		return NULL;
	}
	return qp;
}

/* Bytes of the QP and its queues. */
static size_t qp_bytes(const struct dat_ep_parts *p)
{
	const DAT_EP_ATTR *attr = &p->attr;
	u32 max_recv = p->srq ? 1 : attr->max_recv_dtos;

	return DAT_BYTES_QP +
	       dat_bytes_queue(dat_ep_max_wrs(p),
			       max_send_sge(attr), DAT_BYTES_SEND_WQE) +
	       dat_bytes_queue(max_recv, attr->max_recv_iov,
			       DAT_BYTES_RECV_WQE);
}

/*
 * Everything that a QP consists of comes from the parts. The EP, which may still have others, is
 * only the context of the QP, and the object to charge.
 */
static DAT_RETURN new_qp_make(struct dat_object *obj, void *context,
			      const struct dat_ep_parts *p, struct new_qp *new)
{
	u32 max_send = p->attr.max_request_dtos;
	u32 max_recv = p->srq ? 1 : p->attr.max_recv_dtos;
	DAT_RETURN ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				   DAT_RESOURCE_MEMORY);

	*new = (struct new_qp){
		.qp_bytes = qp_bytes(p),
		.slot_bytes = (roundup_pow_of_two(max_send + 1) +
			       roundup_pow_of_two(max_recv)) * sizeof(struct dat_dto),
	};
	if (!dat_object_charge(obj, new->qp_bytes + new->slot_bytes))
		return ret;
	new->sq = dat_workq_alloc(max_send + 1);
	new->rq = dat_workq_alloc(max_recv);
	if (!new->sq || !new->rq)
		goto free;
	new->qp = create_qp(context, p, new);
	if (new->qp)
		return DAT_SUCCESS;
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
free:
	kvfree(new->sq);
	kvfree(new->rq);
	dat_object_uncharge(obj, new->qp_bytes + new->slot_bytes);
	return ret;
}

/*
 * Caches the properties of the device that posts depend on. A consumer may post after the
 * removal of the device, so a post must not follow a pointer to the device.
 */
static void cache_caps(struct dat_ep *ep, const struct ib_qp *qp)
{
	ep->iwarp = rdma_protocol_iwarp(qp->device, ep->obj.ia->port);
	ep->has_atomics = dat_dev_has_atomics(qp->device);
	ep->requests_atomics = dat_dev_requests_atomics(qp->device);
	ep->fences_reads = !(dat_dev_quirks(qp->device) &
			     DAT_QUIRK_NO_READ_FENCE);
	ep->reads_one_sge = ep->iwarp || dat_dev_quirks(qp->device) &
					 DAT_QUIRK_READ_ONE_SEGMENT;
	ep->no_fence = dat_dev_no_fence(qp->device);
	ep->all_memory_lkey = qp->pd->local_dma_lkey;
	ep->late_answers = dat_dev_quirks(qp->device) & DAT_QUIRK_LATE_ANSWERS;
	ep->no_late_posts = dat_dev_quirks(qp->device) & DAT_QUIRK_NO_LATE_POSTS;
	ep->sq.unordered = dat_dev_quirks(qp->device) & DAT_QUIRK_UNORDERED;
	ep->sq.close_fails = dat_dev_quirks(qp->device) & DAT_QUIRK_CLOSE_FAILS_REQUEST;
	ep->rq.hides_length = dat_dev_quirks(qp->device) & DAT_QUIRK_LENGTH_IS_QP_ERROR;
	ep->rq.unordered = ep->sq.unordered;
}

/* The EP has no QP, and has the parts of @new. */
static void use_qp(struct dat_ep *ep, const struct new_qp *new)
{
	u32 max_send = ep->attr.max_request_dtos;

	ep->qp = new->qp;
	ep->qp_bytes = new->qp_bytes;
	ep->slot_bytes = new->slot_bytes;
	ep->max_inline = new->max_inline;
	cache_caps(ep, new->qp);
	WRITE_ONCE(ep->qp_failed, false);
	ep->sq.waited = false;
	ep->rq.waited = false;
	ep->srq_ep.may_receive = false;
	ep->srq_ep.last_wqe = false;
	if (ep->srq)
		dat_srq_attach(&ep->srq_ep, ep->srq, &ep->rq, ep->recv_evd,
			       ep->qp);
	dat_workq_set(&ep->sq, new->sq, max_send + 1);
	dat_workq_set(&ep->rq, new->rq, ep->srq ? 1 : ep->attr.max_recv_dtos);
	/* The last slot of the send queue is reserved for dat_post_drain(). */
	ep->sq.max = max_send;
	ep->sq.max_extra = new->wrs - (max_send + 1);
}

/**
 * dat_ep_qp_create - create the QP of an EP, with the slots of its queues, and set its parts
 * @ep: the EP; it has no connection. An existing QP is flushed and destroyed.
 * @p: PZ, EVDs, SRQ and attributes of the new QP; their references pass to the EP, which
 *	keeps those that it has already
 *
 * Nothing can be posted until dat_ep_qp_start().
 *
 * Context: process, may sleep; the mutex of the EP is held, or it has no handle yet.
 * Return: DAT_SUCCESS, or DAT_INSUFFICIENT_RESOURCES, and then nothing has
 * changed.
 */
DAT_RETURN dat_ep_qp_create(struct dat_ep *ep, const struct dat_ep_parts *p)
{
	struct new_qp new;
	DAT_RETURN ret;

	/* A QP that replaces another keeps the charge of the old one. */
	if (!ep->qp && !dat_object_charge_hca(&ep->obj, DAT_HCA_OBJECT, 1))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ret = new_qp_make(&ep->obj, ep, p, &new);
	if (ret) {
		if (!ep->qp)
			dat_object_uncharge_hca(&ep->obj);
		return ret;
	}
	dat_ep_qp_destroy(ep);
	dat_object_uncharge(&ep->obj, ep->qp_bytes + ep->slot_bytes);
	dat_watermarks_stop(ep);
	dat_ep_set_parts(ep, p);
	use_qp(ep, &new);
	return DAT_SUCCESS;
}

static void workq_use(struct dat_workq *wq, struct ib_qp *qp)
{
	spin_lock_bh(&wq->lock);
	wq->qp = qp;
	spin_unlock_bh(&wq->lock);
}

/**
 * dat_ep_qp_start - allow posting
 * @ep: the EP, from dat_ep_qp_create(), with the PZ and EVDs of its QP; its mutex is
 *	held, or it has no handle yet
 *
 * Context: process.
 */
void dat_ep_qp_start(struct dat_ep *ep)
{
	dat_watermarks_start(ep);
	workq_use(&ep->sq, ep->qp);
	workq_use(&ep->rq, ep->qp);
}

/**
 * dat_ep_qp_stop - refuse posts until dat_ep_qp_start()
 * @ep: the EP
 *
 * Requests that are posted remain. Context: process.
 */
void dat_ep_qp_stop(struct dat_ep *ep)
{
	workq_use(&ep->sq, NULL);
	workq_use(&ep->rq, NULL);
}

/**
 * dat_ep_is_idle - have all posted requests and receives completed?
 * @ep: the EP
 *
 * For buffers of an SRQ see dat_ep_srq_is_quiet(). Context: any.
 * Return: true if so.
 */
bool dat_ep_is_idle(const struct dat_ep *ep)
{
	return dat_workq_is_idle(&ep->sq) && dat_workq_is_idle(&ep->rq);
}

static void wait_for_flush(struct dat_ep *ep)
{
	unsigned long begin = jiffies;
	bool quiet;

	for (;;) {
		/* Check first, so that the drain includes the completions. */
		quiet = dat_ep_srq_is_quiet(ep, jiffies_to_msecs(jiffies - begin));
		dat_ep_drain(ep);
		if ((dat_ep_is_idle(ep) && quiet) ||
		    time_after(jiffies, begin + FLUSH_TIMEOUT))
			return;
		wait_event_timeout(ep->idle_wq, dat_ep_is_idle(ep) &&
				   dat_ep_srq_is_quiet(ep, 0), FLUSH_INTERVAL);
	}
}

static void reap(struct dat_ep *ep, struct dat_workq *wq, struct dat_evd *evd,
		 u32 qpn)
{
	u32 lost = dat_workq_reap(wq, evd);

	if (!lost)
		return;
	pr_err("kdapl: %s: QP %u lost %u completions; their memory is kept\n",
	       dat_ia_ibdev(ep->obj.ia)->name, qpn, lost);
	dat_workq_keep(wq);
}

/**
 * dat_ep_qp_destroy - flush and destroy the QP
 * @ep: the EP, which has no connection any more
 *
 * Waits until all posted requests have completed, so that the device names no slot
 * afterwards. If the device loses completions, destroying the QP stops the device. The
 * consumer gets the events of these requests. The slots are then kept, because a late
 * completion may name them.
 *
 * Context: process, may sleep.
 */
void dat_ep_qp_destroy(struct dat_ep *ep)
{
	u32 qpn;

	if (!ep->qp)
		return;
	dat_ep_fail_qp(ep);
	/*
	 * The last requests may have succeeded unsignaled. A QP in the error state
	 * completes the request of the drain that is posted now. With
	 * DAT_QUIRK_NO_LATE_POSTS all requests are signalled, and there is no drain.
	 */
	if (!dat_workq_is_idle(&ep->sq))
		dat_post_drain(ep);
	dat_ep_qp_stop(ep);
	dat_ep_poll_start(ep);
	wait_for_flush(ep);
	dat_ep_poll_stop(ep);
	qpn = ep->qp->qp_num;
	if (ib_destroy_qp(ep->qp))
		pr_err("kdapl: %s: QP %u cannot be destroyed\n",
		       ep->qp->device->name, qpn);
	ep->qp = NULL;

	dat_ep_drain(ep);
	if (ep->srq)
		dat_srq_detach(&ep->srq_ep);
	reap(ep, &ep->sq, ep->request_evd, qpn);
	reap(ep, &ep->rq, ep->recv_evd, qpn);
}

/**
 * dat_ep_qp_connect - move the QP to RTR and RTS with the attributes of a connection
 * @ep: the EP
 * @id: the connection
 *
 * On iWARP the connection itself moves the QP.
 *
 * Context: process, may sleep; the lock of @id's handler is held.
 * Return: 0 or a negative errno.
 */
int dat_ep_qp_connect(struct dat_ep *ep, struct rdma_cm_id *id)
{
	static const enum ib_qp_state steps[] = {
		IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS,
	};
	size_t i;

	WRITE_ONCE(ep->srq_ep.may_receive, true);
	if (ep->iwarp) {
		WRITE_ONCE(ep->no_reads, ep->passive && !ep->conn.initiator_depth);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct ib_qp_attr attr = { .qp_state = steps[i] };
		int mask, ret;

		ret = rdma_init_qp_attr(id, &attr, &mask);
		if (ret)
			return ret;
		if (ep->passive && steps[i] == IB_QPS_RTR)
			attr.max_dest_rd_atomic = ep->conn.responder_resources;
		if (ep->passive && steps[i] == IB_QPS_RTS)
			attr.max_rd_atomic = ep->conn.initiator_depth;
		if (steps[i] == IB_QPS_RTS)
			WRITE_ONCE(ep->no_reads, !attr.max_rd_atomic);
		/* The peer may have requested more retries. */
		if (mask & IB_QP_RETRY_CNT)
			attr.retry_cnt = min_t(u8, attr.retry_cnt,
					       DAT_EP_RETRIES);
		ret = ib_modify_qp(ep->qp, &attr, mask);
		if (ret)
			return ret;
	}
	return 0;
}

/* A failure of the old connection does not count for the next. */
static void forget_failure(struct dat_ep *ep)
{
	ep->failed = false;
	ep->fatal = false;
	ep->sq.closed = false;
}

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
	forget_failure(ep);
	dat_ep_end_flush(ep);
	ep->linger_owed = false;
	ep->passive = false;
	WRITE_ONCE(ep->no_reads, false);
	/* Before the next COMPLETION_PENDING, for dat_ep_may_answer(). */
	WRITE_ONCE(ep->heard, false);
	WRITE_ONCE(ep->cm_event, false);
	ep->in_data_len = 0;
	dat_ep_set_peer(ep, NULL, 0);
	return DAT_SUCCESS;
}

/*
 * Takes the mutex when no handler of ep->old_id can run any more: the handler may still
 * modify the QP that is to be replaced; and of a DISCONNECTED EP, when no work item uses the
 * id that is to be destroyed. The wait is not under the mutex: on iWARP it may last until
 * TCP stops trying to connect.
 */
static void lock_when_unattended(struct dat_ep *ep)
{
	bool ended;

	for (;;) {
		ended = dat_ep_state(ep) == DAT_EP_STATE_DISCONNECTED;
		if (ended)
			cancel_work_sync(&ep->connect_work);
		mutex_lock(&ep->mutex);
		if (!ended && dat_ep_state(ep) == DAT_EP_STATE_DISCONNECTED) {
			mutex_unlock(&ep->mutex);
			continue;
		}
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
		forget_failure(ep);
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

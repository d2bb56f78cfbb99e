// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_qp.c - the queue pair of an EP
 */
#include <linux/delay.h>

#include "device.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "kdapl.h"
#include "post.h"
#include "pz.h"

/* A queue pair in the error state flushes at once, unless its CQ is full. */
#define FLUSH_TIMEOUT_MS	2000

static void qp_event(struct ib_event *event, void *context)
{
	struct dat_ep *ep = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		queue_work(kdapl_wq, &ep->notify_work);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		WRITE_ONCE(ep->failed, true);
		queue_work(kdapl_wq, &ep->error_work);
		break;
	default:
		break;
	}
}

/* Receives may be posted before there is a connection; INIT allows them. */
static int qp_to_init(struct dat_ep *ep)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = ep->obj.ia->port,
		.qp_access_flags = IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
	};

	/* iWARP's QPs take receives from the start, and have no partitions. */
	if (ep->iwarp)
		return ib_modify_qp(ep->qp, &attr,
				    IB_QP_STATE | IB_QP_ACCESS_FLAGS);
	return ib_modify_qp(ep->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
					   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/**
 * dat_ep_qp_create - make the QP of a new EP, and the slots of its queues
 * @ep: the EP, with its PZ, EVDs and attributes
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS or DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ep_qp_create(struct dat_ep *ep)
{
	u32 quirks = dat_dev_quirks(ep->pz->pd->device);
	const DAT_EP_ATTR *attr = &ep->attr;
	struct ib_qp_init_attr init = {
		.event_handler = qp_event,
		.qp_context = ep,
		.send_cq = ep->request_evd->cq,
		.recv_cq = ep->recv_evd->cq,
		.cap = {
			/* A bind takes two, a graceful disconnect one. */
			.max_send_wr = 2 * attr->max_request_dtos + 1,
			.max_recv_wr = attr->max_recv_dtos,
			.max_send_sge = max3(attr->max_request_iov,
					     attr->max_rdma_read_iov,
					     attr->max_rdma_write_iov),
			.max_recv_sge = attr->max_recv_iov,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;

	if (dat_workq_init(&ep->sq, ep, attr->max_request_dtos + 1) ||
	    dat_workq_init(&ep->rq, ep, attr->max_recv_dtos))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	/* The last slot of the send queue is the disconnect's. */
	ep->sq.max = attr->max_request_dtos;

	if (quirks & DAT_QUIRK_SIGNAL_ALL)
		init.sq_sig_type = IB_SIGNAL_ALL_WR;
	ep->sq.unordered = quirks & DAT_QUIRK_UNORDERED;
	qp = ib_create_qp(ep->pz->pd, &init);
	if (IS_ERR(qp))
		goto no_tep;
	ep->qp = qp;
	ep->iwarp = rdma_protocol_iwarp(qp->device, ep->obj.ia->port);
	if (qp_to_init(ep)) {
		ib_destroy_qp(qp);
		ep->qp = NULL;
		goto no_tep;
	}
	ep->sq.qp = qp;
	ep->rq.qp = qp;
	return DAT_SUCCESS;

no_tep:
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
}

static void workq_stop(struct dat_workq *wq)
{
	spin_lock_bh(&wq->lock);
	wq->qp = NULL;
	spin_unlock_bh(&wq->lock);
}

static bool ep_is_idle(const struct dat_ep *ep)
{
	return dat_workq_is_idle(&ep->sq) && dat_workq_is_idle(&ep->rq);
}

/**
 * dat_ep_qp_destroy - flush and free the QP
 * @ep: the EP, which has no connection any more
 *
 * Waits until everything that was posted has completed, so that nothing looks
 * at the slots afterwards. Completions that a CQ was too small for are given up.
 *
 * Context: process, may sleep.
 */
void dat_ep_qp_destroy(struct dat_ep *ep)
{
	unsigned int waited;
	u32 lost;

	if (!ep->qp)
		return;
	dat_ep_fail_qp(ep);
	/*
	 * The last ones may have succeeded without a completion. A QP in the
	 * error state gives one for whatever is posted now.
	 */
	if (!dat_workq_is_idle(&ep->sq))
		dat_post_marker(ep);
	workq_stop(&ep->sq);
	workq_stop(&ep->rq);

	for (waited = 0; waited < FLUSH_TIMEOUT_MS; waited++) {
		dat_ep_drain(ep);
		if (ep_is_idle(ep))
			break;
		usleep_range(1000, 1500);
	}
	ib_destroy_qp(ep->qp);
	ep->qp = NULL;

	dat_ep_drain(ep);
	lost = dat_workq_reap(&ep->sq, ep->request_evd) +
	       dat_workq_reap(&ep->rq, ep->recv_evd);
	if (lost)
		pr_warn_ratelimited("kdapl: %s lost %u completions\n",
				    dev_name(&dat_ia_ibdev(ep->obj.ia)->dev),
				    lost);
}

/**
 * dat_ep_qp_connect - take the QP to RTR and RTS, as the connection demands
 * @ep: the EP
 * @id: the connection
 *
 * On iWARP the connection does that itself.
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

	if (ep->iwarp)
		return 0;
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
		/* The peer may have asked for more. */
		if (mask & IB_QP_RETRY_CNT)
			attr.retry_cnt = min_t(u8, attr.retry_cnt,
					       DAT_EP_RETRIES);
		ret = ib_modify_qp(ep->qp, &attr, mask);
		if (ret)
			return ret;
	}
	return 0;
}

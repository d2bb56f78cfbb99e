// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * loopback.c - connects two QPs of an IA to each other through rdma_cm
 *
 * An iWARP QP is connected only when its TCP connection is; ib_modify_qp() alone cannot
 * do that. The IA therefore connects to its own address. regqp.c calls this file in
 * process context and keeps the connection until it destroys the QPs.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "dev/addr.h"
#include "dev/ia.h"
#include "mem/loopback.h"

#define STEP_TIMEOUT_MS	2000
#define NONCE_SIZE	16

/**
 * struct dat_loopback - a connection of the host to itself
 * @listener: waits for the near end; NULL once the near end has connected
 * @near: the end that connects
 * @far: the end that accepts
 * @far_qp: number of the QP at the far end
 * @nonce: random private data of the near end; the far end rejects any other request
 * @step: completed by each event at the near end
 * @event: the latest event at the near end
 */
struct dat_loopback {
	struct rdma_cm_id *listener;
	struct rdma_cm_id *near;
	struct rdma_cm_id *far;
	u32 far_qp;
	u8 nonce[NONCE_SIZE];
	struct completion step;
	enum rdma_cm_event_type event;
};

static int accept_near_end(struct dat_loopback *lb, struct rdma_cm_id *id,
			   const struct rdma_conn_param *request)
{
	struct rdma_conn_param param = { .qp_num = lb->far_qp };
	int ret;

	/* Transports may pad the private data, so it may be longer. */
	if (lb->far || request->private_data_len < NONCE_SIZE ||
	    memcmp(request->private_data, lb->nonce, NONCE_SIZE))
		return -ECONNREFUSED;
	ret = rdma_accept(id, &param);
	if (!ret)
		lb->far = id;
	return ret;
}

static int far_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	return accept_near_end(id->context, id, &event->param.conn);
}

static int near_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dat_loopback *lb = id->context;

	lb->event = event->event;
	complete(&lb->step);
	return 0;
}

static int await(struct dat_loopback *lb, enum rdma_cm_event_type event)
{
	if (!wait_for_completion_timeout(&lb->step,
					 msecs_to_jiffies(STEP_TIMEOUT_MS)))
		return -ETIMEDOUT;
	return lb->event == event ? 0 : -ECONNREFUSED;
}

static int listen_at(struct dat_loopback *lb, struct net *net,
		     struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(net, far_handler, lb, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	lb->listener = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)addr);
	return ret ?: rdma_listen(id, 1);
}

static int connect_to(struct dat_loopback *lb, struct net *net,
		      struct sockaddr_storage *from,
		      struct sockaddr_storage *to, struct ib_qp *qp)
{
	struct rdma_conn_param param = {
		.private_data = lb->nonce,
		.private_data_len = NONCE_SIZE,
		.qp_num = qp->qp_num,
	};
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(net, near_handler, lb, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	lb->near = id;
	ret = rdma_resolve_addr(id, (struct sockaddr *)from,
				(struct sockaddr *)to, STEP_TIMEOUT_MS);
	ret = ret ?: await(lb, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (!ret && id->device != qp->device)
		ret = -ENETUNREACH;
	ret = ret ?: rdma_resolve_route(id, STEP_TIMEOUT_MS);
	ret = ret ?: await(lb, RDMA_CM_EVENT_ROUTE_RESOLVED);
	ret = ret ?: rdma_connect(id, &param);
	return ret ?: await(lb, RDMA_CM_EVENT_ESTABLISHED);
}

static struct dat_loopback *loopback_try(struct dat_ia *ia, struct ib_qp *near,
					 struct ib_qp *far)
{
	struct sockaddr_storage from, to;
	struct dat_loopback *lb;
	int ret;

	dat_addr_find(ia);
	from = *dat_addr(ia);
	if (from.ss_family == AF_UNSPEC)
		return ERR_PTR(-ENETUNREACH);

	lb = kzalloc(sizeof(*lb), GFP_KERNEL);
	if (!lb)
		return ERR_PTR(-ENOMEM);
	init_completion(&lb->step);
	get_random_bytes(lb->nonce, NONCE_SIZE);
	lb->far_qp = far->qp_num;

	ret = listen_at(lb, ia->net, &from);
	if (ret)
		goto drop;
	to = lb->listener->route.addr.src_addr;
	ret = connect_to(lb, ia->net, &from, &to, near);
	if (ret)
		goto drop;
	rdma_destroy_id(lb->listener);
	lb->listener = NULL;
	return lb;

drop:
	dat_loopback_drop(lb);
	return ERR_PTR(ret);
}

/**
 * struct attempt - an attempt to connect, and its result
 * @work: connects
 * @ia: the IA
 * @near: the QP that connects
 * @far: the QP that accepts
 * @lb: out: the connection, or an ERR_PTR()
 * @done: completed when @lb is set
 */
struct attempt {
	struct work_struct work;
	struct dat_ia *ia;
	struct ib_qp *near;
	struct ib_qp *far;
	struct dat_loopback *lb;
	struct completion done;
};

static void attempt_worker(struct work_struct *work)
{
	struct attempt *a = container_of(work, struct attempt, work);
	int tries;

	for (tries = 0; tries < DAT_PORT_TRIES; tries++) {
		a->lb = loopback_try(a->ia, a->near, a->far);
		if (PTR_ERR_OR_ZERO(a->lb) != -EADDRINUSE)
			break;
	}
	complete(&a->done);
}

/**
 * dat_loopback_make - connect two QPs of an IA to each other
 * @ia: the IA; both ends use its address
 * @near: the QP that connects; it can send after the call returns
 * @far: the QP that accepts
 *
 * Context: process, sleeps, at most some seconds.
 * Return: the connection, for dat_loopback_drop(), or an ERR_PTR().
 */
struct dat_loopback *dat_loopback_make(struct dat_ia *ia, struct ib_qp *near,
				       struct ib_qp *far)
{
	struct attempt a = {
		.ia = ia,
		.near = near,
		.far = far,
		.done = COMPLETION_INITIALIZER_ONSTACK(a.done),
	};

	/* Not in the calling task: a signal would interrupt TCP's connect(). */
	INIT_WORK_ONSTACK(&a.work, attempt_worker);
	/*
	 * Not in the user's queue either: upcalls run there and may wait for the
	 * caller.
	 */
	queue_work(system_unbound_wq, &a.work);
	wait_for_completion(&a.done);
	destroy_work_on_stack(&a.work);
	return a.lb;
}

/**
 * dat_loopback_drop - destroy the connection; the QPs remain
 * @lb: from dat_loopback_make(), or NULL
 *
 * Context: process, may sleep.
 */
void dat_loopback_drop(struct dat_loopback *lb)
{
	if (!lb)
		return;
	/* Destroy the listener first: its handler sets lb->far. */
	if (lb->listener)
		rdma_destroy_id(lb->listener);
	if (lb->near)
		rdma_destroy_id(lb->near);
	if (lb->far)
		rdma_destroy_id(lb->far);
	kfree(lb);
}

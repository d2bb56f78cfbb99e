// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * regqp.c - registers memory through a QP that is connected to itself
 *
 * A fast registration is a work request, so it needs a QP in the PD of the memory. This
 * hidden QP belongs to the PZ and carries nothing else. It can fail like any other QP
 * (a link event, a reset of the device). The current registration then fails or times
 * out, and the next one creates a new QP. A QP without registrations for IDLE_TIME is
 * destroyed: most programs register their memory once. lmr_register.c calls this file in
 * process context.
 *
 * An iWARP QP is connected only when its TCP connection is; ib_modify_qp() alone cannot
 * do that. There the IA connects to its own address through rdma_cm, from this QP to a
 * second one, and keeps the connection until it destroys the QPs.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "base/user.h"
#include "dev/addr.h"
#include "dev/ia.h"
#include "mem/post_wr.h"
#include "mem/regqp.h"

#define REG_TIMEOUT	(60 * HZ)
#define REG_SPIN_US	50
#define REG_QUEUE_LEN	4
#define IDLE_TIME	(10 * HZ)
#define STEP_TIMEOUT_MS	60000
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

/* Destroy the connection, if there is one; the QPs remain. */
static void loopback_drop(struct dat_loopback *lb)
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
	loopback_drop(lb);
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

/* Connect two QPs of an IA to each other. Return the connection or an ERR_PTR(). */
static struct dat_loopback *loopback_make(struct dat_ia *ia, struct ib_qp *near,
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

static void regqp_drop(struct dat_regqp *reg)
{
	loopback_drop(reg->loopback);
	if (reg->far_qp)
		ib_destroy_qp(reg->far_qp);
	if (reg->qp)
		ib_destroy_qp(reg->qp);
	if (reg->cq)
		ib_destroy_cq(reg->cq);
	reg->loopback = NULL;
	reg->far_qp = NULL;
	reg->qp = NULL;
	reg->cq = NULL;
}

/* In the queue of the user: it is the user who makes PZs and lets them idle. */
static void queue_idle_work(struct dat_regqp *reg, unsigned long delay)
{
	queue_delayed_work(reg->ia->owner.user->wq, &reg->idle_work, delay);
}

static void idle_worker(struct work_struct *work)
{
	struct dat_regqp *reg = container_of(to_delayed_work(work), struct dat_regqp,
					     idle_work);
	unsigned long end;

	/* Upcalls need the workers of the queue, and the holder may take seconds. */
	if (!mutex_trylock(&reg->lock)) {
		queue_idle_work(reg, IDLE_TIME);
		return;
	}
	end = reg->last_use + IDLE_TIME;
	if (time_before(jiffies, end))
		queue_idle_work(reg, end - jiffies);
	else
		regqp_drop(reg);
	mutex_unlock(&reg->lock);
}

/**
 * dat_regqp_init - initialise; the first registration creates the QP
 * @reg: out: the registration QP
 * @ia: the IA
 * @pd: the PD
 */
void dat_regqp_init(struct dat_regqp *reg, struct dat_ia *ia, struct ib_pd *pd)
{
	mutex_init(&reg->lock);
	init_completion(&reg->done);
	INIT_DELAYED_WORK(&reg->idle_work, idle_worker);
	reg->ia = ia;
	reg->pd = pd;
}

/**
 * dat_regqp_destroy - destroy the QP, if there is one
 * @reg: from dat_regqp_init()
 *
 * Context: process, may sleep.
 */
void dat_regqp_destroy(struct dat_regqp *reg)
{
	cancel_delayed_work_sync(&reg->idle_work);
	mutex_lock(&reg->lock);
	regqp_drop(reg);
	mutex_unlock(&reg->lock);
}

static const struct ib_gid_attr *gid_of_type(struct ib_device *ibdev, u32 port,
					     enum ib_gid_type type)
{
	const struct ib_gid_attr *gid;
	int i;

	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		gid = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == type)
			return gid;
		rdma_put_gid_attr(gid);
	}
	return NULL;
}

/* Find a GID of the port itself; on RoCE one of version 2, if there is one. */
static const struct ib_gid_attr *own_gid(struct ib_device *ibdev, u32 port)
{
	if (!rdma_protocol_roce(ibdev, port))
		return gid_of_type(ibdev, port, IB_GID_TYPE_IB);
	return gid_of_type(ibdev, port, IB_GID_TYPE_ROCE_UDP_ENCAP) ?:
	       gid_of_type(ibdev, port, IB_GID_TYPE_ROCE);
}

/* Fill in the address that leads from the port back to it. */
static int own_address(struct ib_device *ibdev, u32 port, u16 lid,
		       struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid = own_gid(ibdev, port);
	int ret = 0;

	if (!gid)
		return -ENETUNREACH;
	ah->type = rdma_ah_find_type(ibdev, port);
	rdma_ah_set_port_num(ah, port);
	rdma_ah_set_grh(ah, (union ib_gid *)&gid->gid, 0, gid->index, 64, 0);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE)
		ret = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
	else
		rdma_ah_set_dlid(ah, lid);
	rdma_put_gid_attr(gid);
	return ret;
}

static int connect_to_itself(struct dat_regqp *reg, struct ib_qp *qp)
{
	struct ib_device *ibdev = reg->pd->device;
	u32 portnum = reg->ia->port;
	struct ib_qp_attr attr = {};
	struct ib_port_attr port;
	int ret;

	ret = ib_query_port(ibdev, portnum, &port);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_INIT;
	attr.port_num = portnum;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
				      IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTR;
	/* Requests carry no data. */
	attr.path_mtu = IB_MTU_256;
	attr.dest_qp_num = qp->qp_num;
	attr.min_rnr_timer = 12;
	ret = own_address(ibdev, portnum, port.lid, &attr.ah_attr);
	if (ret)
		return ret;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV |
				      IB_QP_PATH_MTU | IB_QP_DEST_QPN |
				      IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				      IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
				       IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
				       IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static struct ib_qp *regqp_create_qp(struct dat_regqp *reg)
{
	struct ib_qp_init_attr init = {
		.send_cq = reg->cq,
		.recv_cq = reg->cq,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.cap = {
			.max_send_wr = REG_QUEUE_LEN,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	return ib_create_qp(reg->pd, &init);
}

static int connect_to_far_qp(struct dat_regqp *reg, struct ib_qp *qp)
{
	struct dat_loopback *loopback;
	struct ib_qp *far;

	far = regqp_create_qp(reg);
	if (IS_ERR(far))
		return PTR_ERR(far);
	reg->far_qp = far;
	loopback = loopback_make(reg->ia, qp, far);
	if (IS_ERR(loopback))
		return PTR_ERR(loopback);
	reg->loopback = loopback;
	return 0;
}

static void reg_done(struct ib_cq *cq, void *context)
{
	struct dat_regqp *reg = context;

	complete(&reg->done);
}

static int regqp_make(struct dat_regqp *reg)
{
	struct ib_cq_init_attr attr = { .cqe = 2 * REG_QUEUE_LEN };
	struct ib_qp *qp;
	int ret;

	reg->cq = ib_create_cq(reg->pd->device, reg_done, NULL, reg, &attr);
	if (IS_ERR(reg->cq)) {
		ret = PTR_ERR(reg->cq);
		reg->cq = NULL;
		return ret;
	}
	qp = regqp_create_qp(reg);
	if (IS_ERR(qp)) {
		ret = PTR_ERR(qp);
		goto drop;
	}
	reg->qp = qp;
	if (rdma_protocol_iwarp(qp->device, reg->ia->port))
		ret = connect_to_far_qp(reg, qp);
	else
		ret = connect_to_itself(reg, qp);
	if (!ret) {
		queue_idle_work(reg, IDLE_TIME);
		return 0;
	}
drop:
	regqp_drop(reg);
	return ret;
}

/* Busy-poll for at most REG_SPIN_US. Return the status of the completion, or -EAGAIN. */
static int regqp_spin(struct dat_regqp *reg)
{
	ktime_t end = ktime_add_us(ktime_get(), REG_SPIN_US);
	struct ib_wc wc;

	do {
		if (ib_poll_cq(reg->cq, 1, &wc) > 0)
			return wc.status;
		cpu_relax();
	} while (!need_resched() && ktime_before(ktime_get(), end));
	return -EAGAIN;
}

/*
 * Poll here first: most registrations take less time than scheduling a polling context
 * and then the waiter.
 *
 * Return: the status of the next completion, or -ETIMEDOUT.
 */
static int regqp_poll(struct dat_regqp *reg)
{
	unsigned long left = REG_TIMEOUT;
	struct ib_wc wc;
	int ret;

	ret = regqp_spin(reg);
	if (ret != -EAGAIN)
		return ret;
	reinit_completion(&reg->done);
	for (;;) {
		ib_req_notify_cq(reg->cq, IB_CQ_NEXT_COMP);
		/* No event reports a completion from before the arming, so poll again. */
		if (ib_poll_cq(reg->cq, 1, &wc) > 0)
			return wc.status;
		if (!left)
			return -ETIMEDOUT;
		left = wait_for_completion_timeout(&reg->done, left);
	}
}

static int regqp_post(struct dat_regqp *reg, struct ib_mr *mr, int access)
{
	struct ib_reg_wr wr = {
		.wr = {
			.opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};
	int ret;

	/* A software device runs when bottom halves are enabled again. */
	local_bh_disable();
	ret = dat_wr_post_send(reg->qp, &wr.wr, NULL);
	local_bh_enable();
	if (ret)
		return ret;

	ret = regqp_poll(reg);
	/*
	 * Destroy the QP: the next registration would take a late completion for its
	 * own.
	 */
	if (ret == -ETIMEDOUT)
		regqp_drop(reg);
	return ret > 0 ? -EIO : ret;
}

/**
 * dat_regqp_register - register memory
 * @reg: the registration QP
 * @mr: an MR with its pages mapped and its key updated
 * @access: IB_ACCESS_*
 *
 * Context: process, sleeps for as long as the device needs, at most a minute.
 * Return: 0 or a negative errno; then @mr may be registered or not, and the caller
 * frees it.
 */
int dat_regqp_register(struct dat_regqp *reg, struct ib_mr *mr, int access)
{
	int ret, tries;

	mutex_lock(&reg->lock);
	/* If the QP has failed since its last use, the first attempt detects it. */
	for (tries = 0; tries < 2; tries++) {
		ret = reg->qp ? 0 : regqp_make(reg);
		if (ret)
			break;
		reg->last_use = jiffies;
		ret = regqp_post(reg, mr, access);
		if (!ret || ret == -ETIMEDOUT)
			break;
		regqp_drop(reg);
	}
	mutex_unlock(&reg->lock);
	return ret;
}

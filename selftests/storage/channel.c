// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * channel.c - the connection of a channel: its DAT objects, its login, its buffers
 *
 * Login request and response travel as private data of the connection. The receives are
 * posted before, so that the target finds them when it answers. dat_ia_close() destroys
 * all objects at once, in any state (target.c); so no function here undoes another.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "srp.h"

#define CONNECT_TIMEOUT_US	10000000
/* The last event of a connection that is being made comes after its timeout at the latest. */
#define LOGIN_TIMEOUT		(30 * HZ)
/* Connection events of an EP: it is established, and it ends. */
#define CONN_QLEN		4

/* Receives: of every request, of task management, and what the target asks for. */
static unsigned int num_recvs(const struct srp_target *target)
{
	return target->queue_size + SRP_TM_CREDITS + SRP_ANSWERS;
}

static size_t ius_size(const struct srp_target *target)
{
	return (size_t)target->iu_size * 2 * num_recvs(target);
}

/**
 * srp_iu_received - return a buffer of a receive
 * @ch: the channel
 * @index: index of the receive
 */
void *srp_iu_received(struct srp_channel *ch, unsigned int index)
{
	return ch->ius + (size_t)ch->target->iu_size * index;
}

/**
 * srp_iu_of_req - return the buffer of a request's command
 * @ch: the channel
 * @index: index of the request
 */
void *srp_iu_of_req(struct srp_channel *ch, unsigned int index)
{
	return srp_iu_received(ch, num_recvs(ch->target) + index);
}

/**
 * srp_iu_of_tm - return the buffer of task management
 * @ch: the channel
 */
void *srp_iu_of_tm(struct srp_channel *ch)
{
	return srp_iu_of_req(ch, ch->target->queue_size);
}

/**
 * srp_iu_of_answer - return the buffer of an answer
 * @ch: the channel
 * @index: index of the answer
 */
void *srp_iu_of_answer(struct srp_channel *ch, unsigned int index)
{
	return srp_iu_of_req(ch, ch->target->queue_size + SRP_TM_CREDITS + index);
}

static DAT_LMR_TRIPLET segment_of(struct srp_channel *ch, const void *iu, unsigned int length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = iu - (void *)ch->ius,
		.segment_length = length,
		.lmr_context = ch->iu_context,
	};
}

/**
 * srp_post_iu - send an IU
 * @ch: the channel
 * @iu: the IU, in a buffer of the channel
 * @length: in bytes
 * @cookie: SRP_COOKIE()
 * @flags: DAT_COMPLETION_*
 *
 * Context: process or softirq.
 * Return: 0; -EAGAIN: the queue is full; -ENOTCONN.
 */
int srp_post_iu(struct srp_channel *ch, const void *iu, unsigned int length, u64 cookie,
		DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = segment_of(ch, iu, length);
	DAT_RETURN ret;

	ret = dat_ep_post_send(ch->ep, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = cookie }, flags);
	if (!ret)
		return 0;
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ? -EAGAIN : -ENOTCONN;
}

/**
 * srp_post_recv - post a receive
 * @ch: the channel
 * @index: index of its buffer
 *
 * Context: process or softirq.
 * Return: 0 or -ENOTCONN.
 */
int srp_post_recv(struct srp_channel *ch, unsigned int index)
{
	DAT_LMR_TRIPLET segment = segment_of(ch, srp_iu_received(ch, index),
						    ch->target->iu_size);
	DAT_DTO_COOKIE cookie = { .as_64 = SRP_COOKIE(SRP_COOKIE_RECV, index) };

	return dat_ep_post_recv(ch->ep, 1, &segment, cookie, 0) ? -ENOTCONN : 0;
}

/**
 * srp_channel_poll - process the completions of a channel without upcalls
 * @ch: the channel
 *
 * Context: process or softirq. While one thread polls, others find nothing.
 * Return: number of completions.
 */
int srp_channel_poll(struct srp_channel *ch)
{
	DAT_EVENT event;
	int num = 0;

	if (!spin_trylock_bh(&ch->poll_lock))
		return 0;
	while (READ_ONCE(ch->connected) &&
	       dat_evd_dequeue(ch->dto_evd, &event) == DAT_SUCCESS) {
		srp_dto_upcall(ch, &event, DAT_FALSE);
		num++;
	}
	spin_unlock_bh(&ch->poll_lock);
	return num;
}

/**
 * srp_channel_quiesce - refuse new commands, and wait for a thread that polls
 * @ch: the channel
 *
 * srp_transport_quiesce() waits for the commands that have begun.
 *
 * Context: process.
 */
void srp_channel_quiesce(struct srp_channel *ch)
{
	spin_lock_bh(&ch->lock);
	WRITE_ONCE(ch->connected, false);
	spin_unlock_bh(&ch->lock);
	spin_lock_bh(&ch->poll_lock);
	spin_unlock_bh(&ch->poll_lock);
}

static void poll_worker(struct work_struct *work)
{
	struct srp_channel *ch = container_of(to_delayed_work(work), struct srp_channel,
					      poll_work);
	bool busy = false;
	unsigned int i;

	srp_channel_poll(ch);
	spin_lock_bh(&ch->lock);
	for (i = 0; i < ch->target->queue_size; i++)
		busy |= srp_req_busy(&ch->reqs[i]);
	busy &= ch->connected;
	spin_unlock_bh(&ch->lock);
	if (busy)
		queue_delayed_work(srp_wq, &ch->poll_work, 1);
}

static int rejected(struct srp_channel *ch, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct srp_login_rej *rej = data->private_data;
	u32 reason;

	if (data->private_data_size < sizeof(*rej) || rej->opcode != SRP_LOGIN_REJ) {
		shost_printk(KERN_ERR, ch->target->shost, "the target refuses connections\n");
		return -ECONNREFUSED;
	}
	reason = be32_to_cpu(rej->reason);
	shost_printk(KERN_ERR, ch->target->shost, "login refused, reason %#x%s\n", reason,
		     reason == SRP_LOGIN_REJ_UNABLE_ASSOCIATE_CHANNEL ?
			     ": no such target port" :
		     reason == SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES ?
			     ": the target has no resources, or is disabled" :
		     reason == SRP_LOGIN_REJ_CHANNEL_LIMIT_REACHED ?
			     ": no more channels, or not permitted" :
		     reason == SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE ?
			     ": IUs too long" : "");
	switch (reason) {
	case SRP_LOGIN_REJ_INSUFFICIENT_RESOURCES:
		return -EAGAIN;
	case SRP_LOGIN_REJ_REQ_IT_IU_LENGTH_TOO_LARGE:
		return -EMSGSIZE;
	default:
		return -ECONNREFUSED;
	}
}

static int accepted(struct srp_channel *ch, const DAT_CONNECTION_EVENT_DATA *data)
{
	const struct srp_login_rsp *rsp = data->private_data;
	struct Scsi_Host *shost = ch->target->shost;
	s32 credits;

	if (data->private_data_size < sizeof(*rsp) || rsp->opcode != SRP_LOGIN_RSP) {
		shost_printk(KERN_ERR, shost, "the target's login response is not of SRP\n");
		return -EPROTO;
	}
	credits = be32_to_cpu(rsp->req_lim_delta);
	if (be32_to_cpu(rsp->max_it_iu_len) < SRP_IU_SIZE ||
	    be32_to_cpu(rsp->max_ti_iu_len) > ch->target->iu_size || credits <= SRP_TM_CREDITS ||
	    !(be16_to_cpu(rsp->buf_fmt) & SRP_BUF_FORMAT_DIRECT)) {
		shost_printk(KERN_ERR, shost,
			     "login response: IUs of %u and %u bytes, %d credits, formats %#x\n",
			     be32_to_cpu(rsp->max_it_iu_len), be32_to_cpu(rsp->max_ti_iu_len),
			     credits, be16_to_cpu(rsp->buf_fmt));
		return -EPROTO;
	}
	spin_lock_bh(&ch->lock);
	ch->credits = min(credits, SRP_MAX_CREDITS);
	ch->imm_data = 0;
	if (rsp->rsp_flags & SRP_LOGIN_RSP_IMMED_SUPP)
		ch->imm_data = min_t(u32, ch->target->imm_data,
				     be32_to_cpu(rsp->max_it_iu_len) - SRP_IMM_OFFSET);
	WRITE_ONCE(ch->connected, true);
	spin_unlock_bh(&ch->lock);
	return 0;
}

static void login_done(struct srp_channel *ch, int result)
{
	ch->login = result;
	complete(&ch->step);
}

/* In process context. Events of one EVD come one after another. */
static void conn_upcall(DAT_PVOID ptr, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	struct srp_channel *ch = ptr;
	bool was_connected;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		login_done(ch, accepted(ch, data));
		return;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		login_done(ch, rejected(ch, data));
		return;
	default:
		break;
	}
	spin_lock_bh(&ch->lock);
	was_connected = ch->connected;
	WRITE_ONCE(ch->connected, false);
	spin_unlock_bh(&ch->lock);
	if (was_connected)
		srp_connection_lost(ch->target);
	/* The login has failed, or srp_logout() waits for the end. */
	login_done(ch, event->event_number == DAT_CONNECTION_EVENT_TIMED_OUT ?
			       -ETIMEDOUT : -EHOSTUNREACH);
}

/* The login request in the form that fits into the private data of rdma_cm */
static int login(struct srp_channel *ch, bool first)
{
	struct srp_target *target = ch->target;
	struct srp_login_req_rdma req = {
		.opcode = SRP_LOGIN_REQ,
		.req_it_iu_len = cpu_to_be32(max(SRP_IU_SIZE, SRP_IMM_OFFSET + target->imm_data)),
		.req_buf_fmt = cpu_to_be16(SRP_BUF_FORMAT_DIRECT | SRP_BUF_FORMAT_INDIRECT),
		.req_flags = first ? SRP_MULTICHAN_SINGLE : SRP_MULTICHAN_MULTI,
	};
	int ret;

	if (target->imm_data) {
		req.req_flags |= SRP_IMMED_REQUESTED;
		req.imm_data_offset = cpu_to_be16(SRP_IMM_OFFSET);
	}
	memcpy(req.initiator_port_id, target->port_id, sizeof(target->port_id));
	memcpy(req.target_port_id, &target->id_ext, 8);
	memcpy(req.target_port_id + 8, &target->ioc_guid, 8);

	reinit_completion(&ch->step);
	ch->login = -EINPROGRESS;
	ret = SRP_CHECK(dat_ep_connect(ch->ep, (DAT_IA_ADDRESS_PTR)&target->address,
				       target->qual, CONNECT_TIMEOUT_US, sizeof(req), &req,
				       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&ch->step, LOGIN_TIMEOUT))
		ch->login = -ETIMEDOUT;
	if (ch->login == -ETIMEDOUT || ch->login == -EHOSTUNREACH)
		shost_printk(KERN_ERR, target->shost, "the target %s\n",
			     ch->login == -ETIMEDOUT ? "does not answer" : "cannot be reached");
	return ch->login;
}

static int open_objects(struct srp_channel *ch)
{
	struct srp_target *target = ch->target;
	DAT_UPCALL_OBJECT dto = { ch, srp_dto_upcall }, conn = { ch, conn_upcall };
	unsigned int mrs = target->mrs_per_req;
	DAT_COUNT qlen;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = num_recvs(target),
		/* Of each request: its registrations, their invalidations, and the Send */
		.max_request_dtos = target->queue_size * (2 * mrs + 1) + SRP_TM_CREDITS +
				    SRP_ANSWERS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		/* The target reads what is written to the disk. */
		.max_rdma_read_in = 4,
	};
	DAT_REGION_DESCRIPTION region = { .for_va = ch->ius };

	qlen = attr.max_recv_dtos + attr.max_request_dtos;
	return SRP_CHECK(dat_evd_kcreate(target->ia, qlen,
					 ch->polled ? DAT_UPCALL_DISABLE :
						      DAT_UPCALL_SINGLE_INSTANCE,
					 ch->polled ? NULL : &dto, DAT_EVD_DTO_FLAG,
					 &ch->dto_evd)) ?:
	       SRP_CHECK(dat_evd_kcreate(target->ia, CONN_QLEN, DAT_UPCALL_SINGLE_INSTANCE, &conn,
					 DAT_EVD_CONNECTION_FLAG, &ch->conn_evd)) ?:
	       SRP_CHECK(dat_ep_create(target->ia, target->pz, ch->dto_evd, ch->dto_evd,
				       ch->conn_evd, &attr, &ch->ep)) ?:
	       SRP_CHECK(dat_lmr_kcreate(target->ia, DAT_MEM_TYPE_VIRTUAL, region,
					 ius_size(target), target->pz,
					 DAT_MEM_PRIV_LOCAL_READ_FLAG |
					 DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_ZB, 0,
					 &ch->iu_lmr, &ch->iu_context, NULL, NULL, NULL));
}

static int allocate_mrs(struct srp_channel *ch)
{
	struct srp_target *target = ch->target;
	unsigned int i, k;
	int ret;

	for (i = 0; i < target->queue_size; i++) {
		for (k = 0; k < target->mrs_per_req; k++) {
			ret = SRP_CHECK(dat_lmr_allocate(target->ia, target->pz, target->lmr_pages,
							 DAT_LMR_SCOPE_PZ,
							 &ch->reqs[i].mrs[k].lmr));
			if (ret)
				return ret;
		}
	}
	return 0;
}

/**
 * srp_channel_open - create the objects of a channel, and log in
 * @ch: the channel
 * @first: the target ends all other channels of this initiator
 *
 * Context: process, under rport->mutex, or before the rport exists.
 * Return: 0 or a negative errno; then the caller closes the IA.
 */
int srp_channel_open(struct srp_channel *ch, bool first)
{
	unsigned int i;
	int ret;

	ch->credits = 0;
	ch->answers_busy = 0;
	ret = open_objects(ch) ?: allocate_mrs(ch);
	for (i = 0; !ret && i < num_recvs(ch->target); i++)
		ret = srp_post_recv(ch, i);
	return ret ?: login(ch, first);
}

static int init_req(struct srp_target *target, struct srp_req *req)
{
	req->mrs = kcalloc(target->mrs_per_req, sizeof(*req->mrs), GFP_KERNEL);
	if (!req->mrs)
		return -ENOMEM;
	if (target->mrs_per_req == 1)
		return 0;
	req->sgl = kvcalloc(target->lmr_pages, sizeof(*req->sgl), GFP_KERNEL);
	return req->sgl ? 0 : -ENOMEM;
}

/**
 * srp_channel_init - allocate what a channel keeps while it is not connected
 * @ch: the channel, zeroed
 * @target: the target
 * @polled: it gets no upcalls for completions
 *
 * Context: process.
 * Return: 0 or -ENOMEM; srp_channel_destroy() is needed in both cases.
 */
int srp_channel_init(struct srp_channel *ch, struct srp_target *target, bool polled)
{
	unsigned int i;
	int ret = 0;

	ch->target = target;
	ch->polled = polled;
	spin_lock_init(&ch->lock);
	spin_lock_init(&ch->poll_lock);
	init_completion(&ch->tm_done);
	init_completion(&ch->step);
	init_waitqueue_head(&ch->eh_wait);
	INIT_DELAYED_WORK(&ch->poll_work, poll_worker);
	ch->ius = vzalloc(ius_size(target));
	ch->reqs = kcalloc(target->queue_size, sizeof(*ch->reqs), GFP_KERNEL);
	if (!ch->ius || !ch->reqs)
		return -ENOMEM;
	for (i = 0; !ret && i < target->queue_size; i++)
		ret = init_req(target, &ch->reqs[i]);
	return ret;
}

/**
 * srp_channel_destroy - free what srp_channel_init() has allocated
 * @ch: the channel, whose IA is closed
 *
 * Context: process.
 */
void srp_channel_destroy(struct srp_channel *ch)
{
	unsigned int i;

	if (!ch->target)
		return;
	cancel_delayed_work_sync(&ch->poll_work);
	for (i = 0; ch->reqs && i < ch->target->queue_size; i++) {
		kfree(ch->reqs[i].mrs);
		kvfree(ch->reqs[i].sgl);
	}
	kfree(ch->reqs);
	vfree(ch->ius);
}

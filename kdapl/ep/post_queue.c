// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post_queue.c - posts work requests to the queues of an EP, and receives
 *
 * Takes a slot for each request, posts under the lock of the queue and raises the head of
 * the ring. The other files of ep/ call it in process or softirq context, in an RCU
 * read-side section.
 */
#include <linux/slab.h>

#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/post_wr.h"
#include "queue/evd.h"

static DAT_RETURN queue_full(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
}

/*
 * Converts the error of a post. On iWARP a QP whose connection ends refuses requests,
 * even to flush them. The event of the end may not have arrived yet. A device may refuse
 * a receive with the same error for a moment while the QP becomes connected.
 */
static DAT_RETURN not_taken(struct dat_ep *ep, int err)
{
	const unsigned int connected = EP_IN(CONNECTED) | EP_IN(DISCONNECT_PENDING) |
				       EP_IN(DISCONNECTED);

	if (err == -ENOTCONN && BIT(dat_ep_state(ep)) & connected)
		return dat_ep_state_error(DAT_EP_STATE_DISCONNECTED);
	return queue_full();
}

static DAT_RETURN device_removed(void)
{
	return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

/* The device is removed, or the EP is unconfigured, or dat_ep_modify() is changing it. */
static DAT_RETURN no_qp(struct dat_ep *ep)
{
	if (READ_ONCE(ep->obj.ia->unplugged))
		return device_removed();
	return dat_ep_state_error(dat_ep_state(ep));
}

/**
 * dat_post_check_state - may requests be posted in the EP's state?
 * @ep: the EP
 *
 * Removal of the device leaves every EP DISCONNECTED, including unconfigured EPs, which
 * have neither PZ nor QP.
 *
 * Context: any.
 * Return: DAT_SUCCESS, DAT_INVALID_STATE or DAT_INTERNAL_ERROR (the device is
 * removed).
 */
DAT_RETURN dat_post_check_state(struct dat_ep *ep)
{
	DAT_EP_STATE state = READ_ONCE(ep->state);

	if (likely(state == DAT_EP_STATE_CONNECTED))
		return DAT_SUCCESS;
	if (READ_ONCE(ep->obj.ia->unplugged))
		return device_removed();
	if (state == DAT_EP_STATE_DISCONNECTED)
		return DAT_SUCCESS;
	return dat_ep_may_answer(ep, state) ? DAT_SUCCESS :
					      dat_ep_state_error(state);
}

/**
 * dat_post_allows - do the attributes of an EP permit completion flags?
 * @ep: the EP
 * @flags: completion flags of a request
 *
 * Context: any.
 * Return: false for DAT_COMPLETION_UNSIGNALLED_FLAG on an EP without that attribute.
 */
bool dat_post_allows(const struct dat_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	return !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG) ||
	       ep->attr.request_completion_flags &
		       DAT_COMPLETION_UNSIGNALLED_FLAG;
}

static enum dat_fence fence_of(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return DAT_FENCE_WRITE;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return DAT_FENCE_ATOMIC;
	case IB_WR_LOCAL_INV:
		return DAT_FENCE_INV;
	case IB_WR_REG_MR:
		return DAT_FENCE_REG;
	default:
		return DAT_FENCE_SEND;
	}
}

/* Must the request, which is to have a fence, stand behind another that can have one? */
static bool needs_fence_wr(const struct dat_ep *ep, enum ib_wr_opcode opcode)
{
	return ep->no_fence & fence_of(opcode) & (DAT_FENCE_INV | DAT_FENCE_REG) &&
	       !(ep->no_fence & DAT_FENCE_WRITE);
}

/* Gives a request a fence; false if the device has none for it. */
static bool apply_fence(const struct dat_ep *ep, struct ib_send_wr *wr)
{
	/* Peers answer reads in the order posted, so a read needs no fence behind reads. */
	if (wr->opcode == IB_WR_RDMA_READ) {
		if (ep->fences_reads)
			wr->send_flags |= IB_SEND_FENCE;
		return true;
	}
	if (ep->no_fence & fence_of(wr->opcode))
		return false;
	wr->send_flags |= IB_SEND_FENCE;
	return true;
}

/* Sets the send flags for the device, if the EP and the device permit the flags. */
static noinline DAT_RETURN apply_flags(const struct dat_ep *ep, const struct dat_post *post,
				       struct ib_send_wr *first, struct ib_send_wr *last)
{
	if (!dat_post_allows(ep, post->flags))
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 post->op == DAT_DTO_SEND ? DAT_INVALID_ARG5 :
							    DAT_INVALID_ARG6);
	if (post->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		last->send_flags |= IB_SEND_SOLICITED;
	if (post->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG && !apply_fence(ep, first))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/* As dat_post_send_queue(), with bottom halves off. */
static __always_inline DAT_RETURN
post_send_queue(struct dat_ep *ep, const struct dat_post *post,
		struct ib_send_wr *first, struct ib_send_wr *last)
{
	struct dat_workq *wq = &ep->sq;
	/* A driver may queue the request, fail and not set it. */
	const struct ib_send_wr *bad = NULL;
	DAT_RETURN ret = DAT_SUCCESS;
	struct ib_send_wr *wr;
	struct dat_dto *dto;
	int err;

	if (unlikely(post->flags)) {
		ret = apply_flags(ep, post, first, last);
		if (ret)
			return ret;
	}

	spin_lock(&wq->lock);
	if (unlikely(!wq->qp)) {
		ret = no_qp(ep);
		goto unlock;
	}
	dto = dat_workq_slot(wq);
	if (unlikely(!dto)) {
		ret = queue_full();
		goto unlock;
	}
	dto->op = post->op;
	dto->cookie = post->cookie;
	dto->length = post->length;
	dto->rmr = post->rmr;
	dto->bind = post->bind;
	if (unlikely(post->flags)) {
		dto->suppress = post->flags & DAT_COMPLETION_SUPPRESS_FLAG;
		dto->unsignalled = post->flags & DAT_COMPLETION_UNSIGNALLED_FLAG;
	}

	last->wr_id = dat_dto_wr_id(dto);
	for (wr = first; wr != last; wr = wr->next) {
		wr->wr_id = last->wr_id | DAT_DTO_WR_FIRST;
		dto->extra++;
	}
	if (unlikely(dto->extra && !dat_workq_has_extra(wq, dto->extra))) {
		ret = queue_full();
		goto unlock;
	}
	/*
	 * Signal a request now and then: without completions no slot is freed. A bind
	 * is always signalled: its completion frees the old window.
	 */
	if (!dto->suppress || dto->rmr || wq->since_signaled >= wq->max / 2)
		last->send_flags |= IB_SEND_SIGNALED;

	err = dat_wr_post_send(wq->qp, first, &bad);
	if (unlikely(err)) {
		if (bad == first) {
			ret = not_taken(ep, err);
			goto unlock;
		}
		/* Half a bind cannot be undone: break the connection. */
		dat_ep_dto_failed(&ep->obj, IB_WC_GENERAL_ERR);
	}
	if (last->send_flags & IB_SEND_SIGNALED)
		wq->since_signaled = 0;
	else
		wq->since_signaled++;
	wq->extra_head += dto->extra;
	WRITE_ONCE(wq->head, wq->head + 1);
unlock:
	spin_unlock(&wq->lock);
	return ret;
}

/**
 * dat_post_send_queue - post a request
 * @ep: the EP; the caller has checked its state
 * @post: the request
 * @first: first of one to three work requests, with opcode and operands
 * @last: last of these work requests
 *
 * If the device ignores the fence of an invalidation or registration, a fenced write of
 * 0 bytes is posted in front of it.
 *
 * Context: process or softirq; the caller's RCU read-side section keeps the EP's
 * memory.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (flags that the EP's attributes do not
 * permit), DAT_MODEL_NOT_SUPPORTED (the device has no fence for the request),
 * DAT_INVALID_STATE (the connection is ending),
 * DAT_INSUFFICIENT_RESOURCES (queue full), DAT_INTERNAL_ERROR (the device is
 * removed).
 */
DAT_RETURN dat_post_send_queue(struct dat_ep *ep, const struct dat_post *post,
			       struct ib_send_wr *first,
			       struct ib_send_wr *last)
{
	struct ib_rdma_wr fence = { .wr = { .next = first, .opcode = IB_WR_RDMA_WRITE } };
	DAT_RETURN ret;

	if (post->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG &&
	    needs_fence_wr(ep, first->opcode))
		first = &fence.wr;
	local_bh_disable();
	ret = post_send_queue(ep, post, first, last);
	local_bh_enable();
	return ret;
}

/**
 * dat_post_drain - post a request that completes after all others
 * @ep: the EP
 *
 * The request is a zero-length Write without event. Context: process or softirq.
 * Return: false if it could not be posted.
 */
bool dat_post_drain(struct dat_ep *ep)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	struct dat_workq *wq = &ep->sq;
	struct dat_dto *dto;
	bool ok = false;

	spin_lock_bh(&wq->lock);
	/* The drain is the last request, so it may take the slot reserved for it. */
	wq->max++;
	dto = wq->qp ? dat_workq_slot(wq) : NULL;
	wq->max--;
	if (dto) {
		dto->op = DAT_DTO_RDMA_WRITE;
		dto->drain = true;
		wr.wr.wr_id = dat_dto_wr_id(dto);
		ok = !dat_wr_post_send(wq->qp, &wr.wr, NULL);
		if (ok)
			WRITE_ONCE(wq->head, wq->head + 1);
	}
	spin_unlock_bh(&wq->lock);
	return ok;
}

/**
 * dat_post_dto - post a request of one work request; processes completions if the queue
 * is full
 * @ep: the EP; the caller has checked its state
 * @post: the request
 * @wr: the work request, with opcode and operands
 *
 * Context: bottom halves are off; the caller's RCU read-side section keeps the EP's
 * memory.
 * Return: as dat_post_send_queue().
 */
DAT_RETURN dat_post_dto(struct dat_ep *ep, const struct dat_post *post,
			struct ib_send_wr *wr)
{
	DAT_RETURN ret = post_send_queue(ep, post, wr, wr);

	if (likely(ret != queue_full()))
		return ret;
	/* With all completions suppressed the consumer does not dequeue: process them. */
	dat_evd_collect(READ_ONCE(ep->request_evd));
	return post_send_queue(ep, post, wr, wr);
}

/* Posts a receive, with the context and the return values of dat_post_dto(). */
static DAT_RETURN post_recv_queue(struct dat_ep *ep, struct ib_recv_wr *wr,
				  DAT_DTO_COOKIE user_cookie,
				  DAT_COMPLETION_FLAGS completion_flags,
				  u32 length)
{
	struct dat_workq *wq = &ep->rq;
	DAT_RETURN ret = DAT_SUCCESS;
	struct dat_dto *dto;
	int err;

	if (unlikely(completion_flags &&
		     !(ep->attr.recv_completion_flags &
		       DAT_COMPLETION_UNSIGNALLED_FLAG)))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	spin_lock(&wq->lock);
	if (unlikely(!wq->qp)) {
		ret = no_qp(ep);
		goto unlock;
	}
	dto = dat_workq_slot(wq);
	if (unlikely(!dto))
		dto = dat_watermarks_slot(ep);
	if (unlikely(!dto)) {
		ret = ep->srq ? DAT_ERROR(DAT_INVALID_STATE,
					  DAT_INVALID_STATE_SRQ_IN_USE) :
				queue_full();
		goto unlock;
	}
	dto->op = DAT_DTO_RECEIVE;
	dto->cookie = user_cookie;
	dto->length = length;
	dto->context = wr->num_sge ? wr->sg_list->lkey : 0;
	dto->unsignalled = completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG;
	wr->wr_id = dat_dto_wr_id(dto);
	err = dat_wr_post_recv(wq->qp, wr);
	if (unlikely(err))
		ret = not_taken(ep, err);
	else
		WRITE_ONCE(wq->head, wq->head + 1);
unlock:
	spin_unlock(&wq->lock);
	return ret;
}

static noinline DAT_RETURN post_recv_copied(struct dat_ep *ep,
					    struct ib_recv_wr *wr,
					    DAT_DTO_COOKIE user_cookie,
					    DAT_COMPLETION_FLAGS flags,
					    u32 length)
{
	struct ib_sge *iov;
	DAT_RETURN ret;

	iov = dat_iov_copy(ep->all_memory_lkey, wr->sg_list, &wr->num_sge);
	if (!iov)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	wr->sg_list = iov;
	ret = post_recv_queue(ep, wr, user_cookie, flags, length);
	kfree(iov);
	return ret;
}

/**
 * kdapl_ep_post_recv - post a buffer for a message
 * @ep_handle: the EP, in any state, except an unconfigured EP, and except on iWARP an EP
 *	whose connection is ending
 * @num_segments: segments in @local_iov, at most max_recv_iov
 * @local_iov: the buffer, see dat_ep_post_send()
 * @user_cookie: reported in the completion event
 * @completion_flags: DAT_COMPLETION_UNSIGNALLED_FLAG
 *
 * Specification: dat_ep_post_recv().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send(), except that DAT_INVALID_STATE means: the EP
 * receives from an SRQ, see dat_srq_post_recv(), or takes no receives in its state.
 */
DAT_RETURN kdapl_ep_post_recv(DAT_EP_HANDLE ep_handle,
			      DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov,
			      DAT_DTO_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags)
{
	const struct dat_iov iov = {
		.num = num_segments,
		.segments = local_iov,
		.privilege = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	};
	struct ib_recv_wr wr = {
		.sg_list = (struct ib_sge *)local_iov,
		.num_sge = num_segments,
	};
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;
	u32 length = 0;

	if (unlikely(completion_flags & ~DAT_COMPLETION_UNSIGNALLED_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	rcu_read_lock_bh();
	obj = dat_object_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (unlikely(!obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		goto unlock;
	}
	ep = to_ep(obj);
	ret = dat_iov_check(ep->obj.ia, ep->pz, &iov, ep->attr.max_recv_iov,
			    U32_MAX, &length);
	if (likely(!ret))
		ret = post_recv_queue(ep, &wr, user_cookie, completion_flags,
				      length);
	else if (dat_iov_needs_copy(ret))
		ret = post_recv_copied(ep, &wr, user_cookie, completion_flags,
				       length);
unlock:
	rcu_read_unlock_bh();
	return ret;
}

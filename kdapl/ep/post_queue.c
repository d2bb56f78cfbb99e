// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post_queue.c - putting work requests on the queues of an EP
 */
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
 * Why the device did not take a work request. On iWARP a connection that is
 * just ending, which we have yet to be told, takes none, not even to flush it.
 */
static DAT_RETURN not_taken(int err)
{
	if (err == -ENOTCONN)
		return dat_ep_state_error(DAT_EP_STATE_DISCONNECTED);
	return queue_full();
}

static DAT_RETURN device_removed(void)
{
	return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

/* The device has been removed, or the EP is unconfigured, or is being changed. */
static DAT_RETURN no_qp(struct dat_ep *ep)
{
	if (ep->obj.ia->unplugged)
		return device_removed();
	return dat_ep_state_error(dat_ep_state(ep));
}

/**
 * dat_post_check_state - may requests be posted in the EP's state?
 * @ep: the EP
 *
 * Removal of the device leaves every EP DISCONNECTED, the unconfigured ones as well,
 * which have neither PZ nor QP.
 *
 * Context: any.
 * Return: DAT_SUCCESS, DAT_INVALID_STATE or DAT_INTERNAL_ERROR (the device has been
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
 * dat_post_allows - was the EP made for these flags?
 * @ep: the EP
 * @flags: of a request
 *
 * Context: any.
 * Return: false if they ask for silence that the EP was not made for.
 */
bool dat_post_allows(const struct dat_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	return !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG) ||
	       ep->attr.request_completion_flags &
		       DAT_COMPLETION_UNSIGNALLED_FLAG;
}

/* Reads are answered in the order posted, so one needs no fence behind others. */
static bool can_fence(const struct dat_ep *ep, const struct ib_send_wr *wr)
{
	return wr->opcode != IB_WR_RDMA_READ ||
	       ep->fences_reads;
}

/* What the device has to know of the flags; false if the EP takes them not. */
static bool apply_flags(const struct dat_ep *ep, const struct dat_post *post,
			struct ib_send_wr *first, struct ib_send_wr *last)
{
	if (post->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG &&
	    can_fence(ep, first))
		first->send_flags |= IB_SEND_FENCE;
	if (post->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		last->send_flags |= IB_SEND_SOLICITED;
	return dat_post_allows(ep, post->flags);
}

/* As dat_post_send_queue(), with bottom halves off. */
static __always_inline DAT_RETURN
post_send_queue(struct dat_ep *ep, const struct dat_post *post,
		struct ib_send_wr *first, struct ib_send_wr *last)
{
	struct dat_workq *wq = &ep->sq;
	const struct ib_send_wr *bad;
	DAT_RETURN ret = DAT_SUCCESS;
	struct dat_dto *dto;
	int err;

	if (unlikely(post->flags && !apply_flags(ep, post, first, last)))
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 post->op == DAT_DTO_SEND ? DAT_INVALID_ARG5 :
							    DAT_INVALID_ARG6);

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
		dto->silent = post->flags & DAT_COMPLETION_UNSIGNALLED_FLAG;
	}

	last->wr_id = dat_dto_wr_id(dto);
	if (first != last)
		first->wr_id = last->wr_id | DAT_DTO_WR_FIRST;
	/*
	 * Now and then one must complete, or no slot is ever given back; and a
	 * bind must, to give its old window back.
	 */
	if (!dto->suppress || dto->rmr || wq->unsignalled >= wq->max / 2)
		last->send_flags |= IB_SEND_SIGNALED;

	err = dat_wr_post_send(wq->qp, first, &bad);
	if (unlikely(err)) {
		if (bad == first) {
			ret = not_taken(err);
			goto unlock;
		}
		/* Half a bind cannot be taken back; it ends with the EP. */
		dat_ep_dto_failed(&ep->obj, IB_WC_GENERAL_ERR);
	}
	if (last->send_flags & IB_SEND_SIGNALED)
		wq->unsignalled = 0;
	else
		wq->unsignalled++;
	WRITE_ONCE(wq->head, wq->head + 1);
unlock:
	spin_unlock(&wq->lock);
	return ret;
}

/**
 * dat_post_send_queue - post a request
 * @ep: the EP; the caller has checked its state
 * @post: what it is
 * @first: first of one or two work requests, with opcode and operands
 * @last: last of them
 *
 * Context: process or softirq; the EP's memory is tied to the caller's RCU
 * read-side section.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (flags that the EP was not made
 * for), DAT_INVALID_STATE (the connection is ending),
 * DAT_INSUFFICIENT_RESOURCES (queue full), DAT_INTERNAL_ERROR (the device has
 * gone).
 */
DAT_RETURN dat_post_send_queue(struct dat_ep *ep, const struct dat_post *post,
			       struct ib_send_wr *first,
			       struct ib_send_wr *last)
{
	DAT_RETURN ret;

	local_bh_disable();
	ret = post_send_queue(ep, post, first, last);
	local_bh_enable();
	return ret;
}

/**
 * dat_post_drain - post something that completes after all that was posted
 * @ep: the EP
 *
 * It makes no event. Context: process or softirq.
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
	/* No DTO follows, so it may have the slot that they must leave. */
	wq->max++;
	dto = wq->qp ? dat_workq_slot(wq) : NULL;
	wq->max--;
	if (dto) {
		dto->op = DAT_DTO_RDMA_WRITE;
		dto->marker = true;
		wr.wr.wr_id = dat_dto_wr_id(dto);
		ok = !dat_wr_post_send(wq->qp, &wr.wr, NULL);
		if (ok)
			WRITE_ONCE(wq->head, wq->head + 1);
	}
	spin_unlock_bh(&wq->lock);
	return ok;
}

/**
 * dat_post_dto - post a request of one work request, even if the queue is full
 *	only because nobody has looked
 * @ep: the EP; the caller has checked its state
 * @post: what it is
 * @wr: the work request, with opcode and operands
 *
 * Context: bottom halves are off; the EP's memory is tied to the caller's RCU read-side
 * section.
 * Return: as dat_post_send_queue().
 */
DAT_RETURN dat_post_dto(struct dat_ep *ep, const struct dat_post *post,
			struct ib_send_wr *wr)
{
	DAT_RETURN ret = post_send_queue(ep, post, wr, wr);

	if (likely(ret != queue_full()))
		return ret;
	/* With all completions suppressed nobody looks how far it has come. */
	dat_evd_collect(ep->request_evd);
	return post_send_queue(ep, post, wr, wr);
}

/**
 * dat_post_recv_queue - post a receive
 * @ep: the EP
 * @wr: the work request
 * @user_cookie: the consumer's
 * @completion_flags: as the consumer gave them
 * @length: bytes of all segments
 *
 * Context: as dat_post_dto().
 * Return: as dat_post_send_queue(); DAT_INVALID_STATE also: it receives from an
 * SRQ.
 */
DAT_RETURN dat_post_recv_queue(struct dat_ep *ep, struct ib_recv_wr *wr,
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
	dto->silent = completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG;
	wr->wr_id = dat_dto_wr_id(dto);
	err = dat_wr_post_recv(wq->qp, wr);
	if (unlikely(err))
		ret = not_taken(err);
	else
		WRITE_ONCE(wq->head, wq->head + 1);
unlock:
	spin_unlock(&wq->lock);
	return ret;
}

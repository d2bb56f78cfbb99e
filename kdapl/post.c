// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post.c - posting DTOs
 */
#include <linux/build_bug.h>

#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "lmr.h"
#include "post.h"

/* The consumer's segments go to ib_post_send() as they are. */
static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct ib_sge));
static_assert(offsetof(DAT_LMR_TRIPLET, virtual_address) ==
	      offsetof(struct ib_sge, addr));
static_assert(offsetof(DAT_LMR_TRIPLET, segment_length) ==
	      offsetof(struct ib_sge, length));
static_assert(offsetof(DAT_LMR_TRIPLET, lmr_context) ==
	      offsetof(struct ib_sge, lkey));

#define REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

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

static DAT_RETURN gone(void)
{
	return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

/**
 * dat_post_check_state - may requests be posted in the EP's state?
 * @ep: the EP
 *
 * Context: any.
 * Return: DAT_SUCCESS or DAT_INVALID_STATE.
 */
DAT_RETURN dat_post_check_state(struct dat_ep *ep)
{
	DAT_EP_STATE state = READ_ONCE(ep->state);

	if (likely(state == DAT_EP_STATE_CONNECTED ||
		   state == DAT_EP_STATE_DISCONNECTED))
		return DAT_SUCCESS;
	return dat_ep_state_error(state);
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
	struct dat_workq *wq = &ep->sq;
	const struct ib_send_wr *bad;
	DAT_RETURN ret = DAT_SUCCESS;
	struct dat_dto *dto;
	int err;

	if (unlikely(post->flags & DAT_COMPLETION_UNSIGNALLED_FLAG &&
		     !(ep->attr.request_completion_flags &
		       DAT_COMPLETION_UNSIGNALLED_FLAG)))
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 post->op == DAT_DTO_SEND ? DAT_INVALID_ARG5 :
							    DAT_INVALID_ARG6);

	if (post->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		first->send_flags |= IB_SEND_FENCE;
	if (post->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		last->send_flags |= IB_SEND_SOLICITED;

	spin_lock_bh(&wq->lock);
	if (unlikely(!wq->qp)) {
		ret = gone();
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
	dto->suppress = post->flags & DAT_COMPLETION_SUPPRESS_FLAG;
	dto->silent = post->flags & DAT_COMPLETION_UNSIGNALLED_FLAG;

	last->wr_id = dat_dto_wr_id(dto);
	if (first != last)
		first->wr_id = last->wr_id | DAT_DTO_WR_FIRST;
	/*
	 * Now and then one must complete, or no slot is ever given back; and a
	 * bind must, to give its old window back.
	 */
	if (!dto->suppress || dto->rmr || wq->unsignalled >= wq->max / 2)
		last->send_flags |= IB_SEND_SIGNALED;

	err = ib_post_send(wq->qp, first, &bad);
	if (unlikely(err)) {
		if (bad == first) {
			ret = not_taken(err);
			goto unlock;
		}
		/* Half a bind cannot be taken back; it ends with the EP. */
		dat_ep_dto_failed(ep, IB_WC_GENERAL_ERR);
	}
	if (last->send_flags & IB_SEND_SIGNALED)
		wq->unsignalled = 0;
	else
		wq->unsignalled++;
	WRITE_ONCE(wq->head, wq->head + 1);
unlock:
	spin_unlock_bh(&wq->lock);
	return ret;
}

/**
 * dat_post_marker - post something that completes after all that was posted
 * @ep: the EP
 *
 * It makes no event. Context: process or softirq.
 * Return: false if it could not be posted.
 */
bool dat_post_marker(struct dat_ep *ep)
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
		ok = !ib_post_send(wq->qp, &wr.wr, NULL);
		if (ok)
			WRITE_ONCE(wq->head, wq->head + 1);
	}
	spin_unlock_bh(&wq->lock);
	return ok;
}

static DAT_RETURN check_iov(struct dat_ep *ep, DAT_COUNT num_segments,
			    const DAT_LMR_TRIPLET *iov, DAT_COUNT max,
			    DAT_MEM_PRIV_FLAGS privilege,
			    DAT_SEG_LENGTH max_length, u32 *lengthp)
{
	u64 length = 0;
	DAT_COUNT i;

	if (unlikely(num_segments < 0 || num_segments > max))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (unlikely(num_segments && !iov))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (i = 0; i < num_segments; i++) {
		DAT_RETURN ret = dat_lmr_check(ep->obj.ia, ep->pz, &iov[i],
					       privilege);

		if (unlikely(ret))
			return ret;
		length += iov[i].segment_length;
	}
	if (unlikely(length > max_length))
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	*lengthp = length;
	return DAT_SUCCESS;
}

static DAT_RETURN post_dto(struct dat_ep *ep, const struct dat_post *post,
			   struct ib_send_wr *wr)
{
	DAT_RETURN ret = dat_post_send_queue(ep, post, wr, wr);

	if (likely(ret != queue_full()))
		return ret;
	/* With all completions suppressed nobody looks how far it has come. */
	dat_evd_collect(ep->request_evd);
	return dat_post_send_queue(ep, post, wr, wr);
}

static struct dat_ep *peek_ep(DAT_EP_HANDLE handle, DAT_RETURN *ret)
{
	struct dat_object *obj = dat_object_peek(handle, DAT_HANDLE_TYPE_EP);

	*ret = DAT_SUCCESS;
	if (likely(obj))
		return to_ep(obj);
	*ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NULL;
}

/**
 * dat_ep_post_send - send a message
 * @ep_handle: the EP, CONNECTED or DISCONNECTED
 * @num_segments: segments in @local_iov
 * @local_iov: the message; may be forgotten when the call returns, but the
 *	memory that it describes belongs to the device until completion
 * @user_cookie: comes back in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_SOLICITED_WAIT_FLAG, _BARRIER_FENCE_FLAG
 *
 * Specification: dat_ep_post_send().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: a
 * segment is outside its LMR), DAT_INVALID_STATE, DAT_LENGTH_ERROR,
 * DAT_PROTECTION_VIOLATION (a context is of no LMR of the IA, or its LMR of
 * another PZ), DAT_PRIVILEGES_VIOLATION, DAT_INSUFFICIENT_RESOURCES (queue
 * full), DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle,
			    DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct ib_send_wr wr = {
		.sg_list = (struct ib_sge *)local_iov,
		.num_sge = num_segments,
		.opcode = IB_WR_SEND,
	};
	struct dat_post post = {
		.op = DAT_DTO_SEND,
		.flags = completion_flags,
		.cookie = user_cookie,
	};
	struct dat_ep *ep;
	DAT_RETURN ret;

	if (unlikely(completion_flags &
		     ~(REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	rcu_read_lock();
	ep = peek_ep(ep_handle, &ret);
	if (ep)
		ret = dat_post_check_state(ep);
	if (!ret)
		ret = check_iov(ep, num_segments, local_iov,
				ep->attr.max_request_iov,
				DAT_MEM_PRIV_LOCAL_READ_FLAG,
				ep->attr.max_message_size, &post.length);
	if (!ret)
		ret = post_dto(ep, &post, &wr);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_post_send);

static DAT_RETURN post_rdma(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    const DAT_RMR_TRIPLET *remote,
			    DAT_COMPLETION_FLAGS completion_flags, DAT_DTOS op)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.sg_list = (struct ib_sge *)local_iov,
			.num_sge = num_segments,
			.opcode = op == DAT_DTO_RDMA_READ ?
					  IB_WR_RDMA_READ : IB_WR_RDMA_WRITE,
		},
	};
	struct dat_post post = {
		.op = op,
		.flags = completion_flags,
		.cookie = user_cookie,
	};
	/* iWARP's reads have one segment, no more and no less. */
	static struct ib_sge nothing;
	bool read = op == DAT_DTO_RDMA_READ;
	struct dat_ep *ep;
	DAT_RETURN ret;

	if (unlikely(!remote))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (unlikely(completion_flags & ~REQUEST_FLAGS))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	wr.remote_addr = remote->virtual_address;
	wr.rkey = remote->rmr_context;

	rcu_read_lock();
	ep = peek_ep(ep_handle, &ret);
	if (ep)
		ret = dat_post_check_state(ep);
	if (!ret)
		ret = check_iov(ep, num_segments, local_iov,
				read ? ep->attr.max_rdma_read_iov :
				       ep->attr.max_rdma_write_iov,
				read ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
				       DAT_MEM_PRIV_LOCAL_READ_FLAG,
				ep->attr.max_rdma_size, &post.length);
	if (!ret && unlikely(remote->segment_length < post.length))
		ret = DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (!ret && unlikely(read && !ep->attr.max_rdma_read_out))
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_CREDITS);
	if (!ret && unlikely(read && !num_segments && ep->iwarp)) {
		wr.wr.sg_list = &nothing;
		wr.wr.num_sge = 1;
	}
	if (!ret)
		ret = post_dto(ep, &post, &wr.wr);
	rcu_read_unlock();
	return ret;
}

/**
 * dat_ep_post_rdma_write - write into memory of the peer
 * @ep_handle: the EP, CONNECTED or DISCONNECTED
 * @num_segments: segments in @local_iov
 * @local_iov: where the data is
 * @user_cookie: comes back in the completion event
 * @remote_buffer: where the data goes; at least as long
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG
 *
 * Specification: dat_ep_post_rdma_write().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send().
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	return post_rdma(ep_handle, num_segments, local_iov, user_cookie,
			 remote_buffer, completion_flags, DAT_DTO_RDMA_WRITE);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_write);

/**
 * dat_ep_post_rdma_read - read from memory of the peer
 * @ep_handle: the EP, CONNECTED or DISCONNECTED, with max_rdma_read_out > 0
 * @num_segments: segments in @local_iov
 * @local_iov: where the data goes
 * @user_cookie: comes back in the completion event
 * @remote_buffer: where the data is; at least as long
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG
 *
 * Specification: dat_ep_post_rdma_read().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send().
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	return post_rdma(ep_handle, num_segments, local_iov, user_cookie,
			 remote_buffer, completion_flags, DAT_DTO_RDMA_READ);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read);

static DAT_RETURN post_recv(struct dat_ep *ep, struct ib_recv_wr *wr,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags, u32 length)
{
	struct dat_workq *wq = &ep->rq;
	DAT_RETURN ret = DAT_SUCCESS;
	struct dat_dto *dto;
	int err;

	if (unlikely(completion_flags &&
		     !(ep->attr.recv_completion_flags &
		       DAT_COMPLETION_UNSIGNALLED_FLAG)))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	spin_lock_bh(&wq->lock);
	if (unlikely(!wq->qp)) {
		ret = gone();
		goto unlock;
	}
	dto = dat_workq_slot(wq);
	if (unlikely(!dto)) {
		ret = queue_full();
		goto unlock;
	}
	dto->op = DAT_DTO_RECEIVE;
	dto->cookie = user_cookie;
	dto->length = length;
	dto->suppress = false;
	dto->silent = completion_flags & DAT_COMPLETION_UNSIGNALLED_FLAG;
	wr->wr_id = dat_dto_wr_id(dto);
	err = ib_post_recv(wq->qp, wr, NULL);
	if (unlikely(err))
		ret = not_taken(err);
	else
		WRITE_ONCE(wq->head, wq->head + 1);
unlock:
	spin_unlock_bh(&wq->lock);
	return ret;
}

/**
 * dat_ep_post_recv - give a buffer for a message
 * @ep_handle: the EP, in any state; but iWARP takes none while a connection ends
 * @num_segments: segments in @local_iov
 * @local_iov: the buffer
 * @user_cookie: comes back in the completion event
 * @completion_flags: DAT_COMPLETION_UNSIGNALLED_FLAG
 *
 * Specification: dat_ep_post_recv().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send().
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle,
			    DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct ib_recv_wr wr = {
		.sg_list = (struct ib_sge *)local_iov,
		.num_sge = num_segments,
	};
	struct dat_ep *ep;
	DAT_RETURN ret;
	u32 length = 0;

	if (unlikely(completion_flags & ~DAT_COMPLETION_UNSIGNALLED_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	rcu_read_lock();
	ep = peek_ep(ep_handle, &ret);
	if (ep)
		ret = check_iov(ep, num_segments, local_iov,
				ep->attr.max_recv_iov,
				DAT_MEM_PRIV_LOCAL_WRITE_FLAG, U32_MAX,
				&length);
	if (!ret)
		ret = post_recv(ep, &wr, user_cookie, completion_flags, length);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_post_recv);

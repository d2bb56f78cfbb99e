// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post.c - posts sends, RDMA reads and writes, and receives
 *
 * The hot path of an EP: look up the EP, check state and segments, post. All under
 * RCU; the only lock is that of the queue. Consumers call it in process or softirq
 * context.
 */
#include <linux/slab.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/lmr.h"

#define REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* Did dat_iov_check() accept the segments, with or without a copy? */
static bool passed(DAT_RETURN ret)
{
	return likely(!ret) || dat_iov_needs_copy(ret);
}

/* Cuts the segments to @length bytes. Returns the number of segments. */
static int cut_iov(struct ib_sge *iov, u32 length)
{
	int num;

	for (num = 0; length; num++) {
		iov[num].length = min(iov[num].length, length);
		length -= iov[num].length;
	}
	return num;
}

/**
 * dat_post_copied - post a request with a copy of its segments
 * @ep: the EP, as for dat_post_dto()
 * @post: the request
 * @wr: the work request. Either its segments need dat_iov_copy(), or it is a read that is
 *	shorter than its segments.
 *
 * Context: process or softirq.
 * Return: as dat_post_dto(), DAT_INSUFFICIENT_RESOURCES.
 */
noinline DAT_RETURN dat_post_copied(struct dat_ep *ep,
				    const struct dat_post *post,
				    struct ib_send_wr *wr)
{
	struct ib_sge *iov;
	DAT_RETURN ret;

	if (!post->length) {
		wr->num_sge = 0;
		return dat_post_dto(ep, post, wr);
	}
	iov = dat_iov_copy(ep->all_memory_lkey, wr->sg_list, &wr->num_sge);
	if (!iov)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	wr->sg_list = iov;
	if (wr->opcode == IB_WR_RDMA_READ)
		wr->num_sge = cut_iov(iov, post->length);
	ret = dat_post_dto(ep, post, wr);
	kfree(iov);
	return ret;
}

static DAT_RETURN check_state(struct dat_ep *ep)
{
	if (likely(READ_ONCE(ep->state) == DAT_EP_STATE_CONNECTED))
		return DAT_SUCCESS;
	return dat_post_check_state(ep);
}

static struct dat_ep *peek_ep(DAT_EP_HANDLE handle, DAT_RETURN *ret)
{
	struct dat_object *obj = dat_object_lookup(handle, DAT_HANDLE_TYPE_EP);

	*ret = DAT_SUCCESS;
	if (likely(obj))
		return to_ep(obj);
	*ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return NULL;
}

static __always_inline DAT_RETURN
post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	  DAT_COMPLETION_FLAGS completion_flags, enum ib_wr_opcode opcode,
	  DAT_RMR_CONTEXT context)
{
	struct ib_send_wr wr = {
		.sg_list = (struct ib_sge *)local_iov,
		.num_sge = num_segments,
		.opcode = opcode,
		.ex.invalidate_rkey = context,
	};
	const struct dat_iov iov = {
		.num = num_segments,
		.segments = local_iov,
		.privilege = DAT_MEM_PRIV_LOCAL_READ_FLAG,
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

	rcu_read_lock_bh();
	ep = peek_ep(ep_handle, &ret);
	if (ep)
		ret = check_state(ep);
	if (!ret)
		ret = dat_iov_check(ep->obj.ia, ep->pz, &iov,
				    ep->attr.max_request_iov,
				    ep->attr.max_message_size, &post.length);
	if (likely(!ret))
		ret = dat_post_dto(ep, &post, &wr);
	else if (dat_iov_needs_copy(ret))
		ret = dat_post_copied(ep, &post, &wr);
	rcu_read_unlock_bh();
	return ret;
}

/**
 * kdapl_ep_post_send - send a message
 * @ep_handle: the EP, CONNECTED or DISCONNECTED
 * @num_segments: segments in @local_iov, at most max_request_iov
 * @local_iov: the message. The caller may reuse the array when the call returns. The
 *	memory of the segments belongs to the device until completion.
 * @user_cookie: reported in the completion event
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
 * full), DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ep_post_send(DAT_EP_HANDLE ep_handle,
			      DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov,
			      DAT_DTO_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags)
{
	return post_send(ep_handle, num_segments, local_iov, user_cookie,
			 completion_flags, IB_WR_SEND, 0);
}

/**
 * kdapl_ep_post_send_with_invalidate - send a message, invalidate a context of the peer
 * @ep_handle: the EP, CONNECTED or DISCONNECTED
 * @num_segments: segments in @local_iov, at most max_request_iov
 * @local_iov: the message, see dat_ep_post_send()
 * @user_cookie: reported in the completion event
 * @completion_flags: as for dat_ep_post_send()
 * @invalidate_flag: DAT_TRUE; with DAT_FALSE the call is dat_ep_post_send()
 * @rmr_context: a context of the peer, in the PZ of the peer's EP
 *
 * When the peer receives its event, DAT_DTO_RECEIVE_WITH_INVALIDATE, the context is
 * invalid: an RMR is unbound, an LMR of dat_lmr_allocate() has no memory, and any other
 * LMR can only be freed. If the peer has no such context, its device disconnects.
 *
 * Specification: dat_ep_post_send_with_invalidate(), DAT 2.0.
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send().
 */
DAT_RETURN
kdapl_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
				   DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov,
				   DAT_DTO_COOKIE user_cookie,
				   DAT_COMPLETION_FLAGS completion_flags,
				   DAT_BOOLEAN invalidate_flag,
				   DAT_RMR_CONTEXT rmr_context)
{
	if (invalidate_flag != DAT_TRUE && invalidate_flag != DAT_FALSE)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	return post_send(ep_handle, num_segments, local_iov, user_cookie,
			 completion_flags,
			 invalidate_flag ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
			 rmr_context);
}

static DAT_RETURN length_error(void)
{
	return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
}

/* The remote segment must hold all local data. */
static DAT_RETURN check_write(const struct dat_ep *ep, u32 length,
			      const DAT_RMR_TRIPLET *remote)
{
	if (unlikely(length > remote->segment_length ||
		     length > ep->attr.max_rdma_size))
		return length_error();
	return DAT_SUCCESS;
}

/* The local segments must hold the whole remote segment; they may be larger. */
static DAT_RETURN check_read(const struct dat_ep *ep, u32 length,
			     const DAT_RMR_TRIPLET *remote, bool reserved)
{
	if (unlikely(remote->segment_length > length ||
		     remote->segment_length > ep->attr.max_rdma_size))
		return length_error();
	if (unlikely(!ep->attr.max_rdma_read_out))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_CREDITS);
	/* On iWARP a read request names the local key, and this key is not for peers. */
	if (unlikely(reserved && ep->iwarp))
		return DAT_ERROR(DAT_PROTECTION_VIOLATION,
				 DAT_PROTECTION_WRITE);
	return DAT_SUCCESS;
}

static __always_inline DAT_RETURN
post_rdma(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	  const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS completion_flags,
	  DAT_DTOS op)
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
	bool read = op == DAT_DTO_RDMA_READ;
	const struct dat_iov iov = {
		.num = num_segments,
		.segments = local_iov,
		.privilege = read ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
				    DAT_MEM_PRIV_LOCAL_READ_FLAG,
	};
	static struct ib_sge nothing;
	struct dat_ep *ep;
	DAT_RETURN ret;
	u32 local = 0;
	bool copied, reserved;

	if (unlikely(!remote))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (unlikely(completion_flags & ~REQUEST_FLAGS))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	wr.remote_addr = remote->virtual_address;
	wr.rkey = remote->rmr_context;

	rcu_read_lock_bh();
	ep = peek_ep(ep_handle, &ret);
	if (unlikely(!ep)) {
		rcu_read_unlock_bh();
		return ret;
	}
	ret = check_state(ep);
	if (!ret)
		ret = dat_iov_check(ep->obj.ia, ep->pz, &iov,
				    read ? ep->attr.max_rdma_read_iov :
					   ep->attr.max_rdma_write_iov,
				    U32_MAX, &local);
	copied = dat_iov_needs_copy(ret);
	reserved = ret == dat_iov_reserved();
	if (likely(passed(ret)))
		ret = read ? check_read(ep, local, remote, reserved) :
			     check_write(ep, local, remote);
	if (unlikely(ret))
		goto unlock;

	post.length = read ? remote->segment_length : local;
	if (unlikely(read && !post.length)) {
		/* A read of iWARP has exactly one segment. */
		wr.wr.sg_list = &nothing;
		wr.wr.num_sge = ep->iwarp;
		copied = false;
	} else if (unlikely(post.length != local)) {
		copied = true;
	}
	ret = unlikely(copied) ? dat_post_copied(ep, &post, &wr.wr) :
				 dat_post_dto(ep, &post, &wr.wr);
unlock:
	rcu_read_unlock_bh();
	return ret;
}

/**
 * kdapl_ep_post_rdma_write - write into memory of the peer
 * @ep_handle: the EP, CONNECTED or DISCONNECTED
 * @num_segments: segments in @local_iov, at most max_rdma_write_iov
 * @local_iov: the data, see dat_ep_post_send()
 * @user_cookie: reported in the completion event
 * @remote_buffer: destination at the peer; at least as long as the data
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG
 *
 * Specification: dat_ep_post_rdma_write().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send().
 */
DAT_RETURN kdapl_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				    DAT_COUNT num_segments,
				    DAT_LMR_TRIPLET *local_iov,
				    DAT_DTO_COOKIE user_cookie,
				    const DAT_RMR_TRIPLET *remote_buffer,
				    DAT_COMPLETION_FLAGS completion_flags)
{
	return post_rdma(ep_handle, num_segments, local_iov, user_cookie,
			 remote_buffer, completion_flags, DAT_DTO_RDMA_WRITE);
}

/**
 * kdapl_ep_post_rdma_read - read from memory of the peer
 * @ep_handle: the EP, CONNECTED or DISCONNECTED, with max_rdma_read_out > 0
 * @num_segments: segments in @local_iov, at most max_rdma_read_iov
 * @local_iov: destination, filled from the first segment on; bytes beyond the data do
 *	not change
 * @user_cookie: reported in the completion event
 * @remote_buffer: source at the peer; kdapl reads all of it; at most as long as
 *	@local_iov
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG
 *
 * Specification: dat_ep_post_rdma_read().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send().
 */
DAT_RETURN kdapl_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				   DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov,
				   DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS completion_flags)
{
	return post_rdma(ep_handle, num_segments, local_iov, user_cookie,
			 remote_buffer, completion_flags, DAT_DTO_RDMA_READ);
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
	ret = dat_post_recv_queue(ep, wr, user_cookie, flags, length);
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
	struct dat_ep *ep;
	DAT_RETURN ret;
	u32 length = 0;

	if (unlikely(completion_flags & ~DAT_COMPLETION_UNSIGNALLED_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	rcu_read_lock_bh();
	ep = peek_ep(ep_handle, &ret);
	if (unlikely(!ep)) {
		rcu_read_unlock_bh();
		return ret;
	}
	ret = dat_iov_check(ep->obj.ia, ep->pz, &iov, ep->attr.max_recv_iov,
			    U32_MAX, &length);
	if (likely(!ret))
		ret = dat_post_recv_queue(ep, &wr, user_cookie,
					  completion_flags, length);
	else if (dat_iov_needs_copy(ret))
		ret = post_recv_copied(ep, &wr, user_cookie, completion_flags,
				       length);
	rcu_read_unlock_bh();
	return ret;
}

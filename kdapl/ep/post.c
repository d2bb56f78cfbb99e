// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post.c - posts sends, RDMA reads and writes, and atomic operations
 *
 * The hot path of an EP: look up the EP, check state, segments and length, post. All
 * under RCU; the only lock is that of the queue. Each call is post_request(), inlined for
 * its opcode. Consumers call them in process or softirq context.
 */
#include <linux/align.h>
#include <linux/slab.h>

#include <dat/dat_ib_extensions.h>

#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/lmr.h"
#include "mem/rmr.h"

#define REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* Bytes that an atomic operation changes, and fetches. */
#define ATOMIC_SIZE	sizeof(u64)

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

/*
 * Posts a request with a copy of its segments: either they need dat_iov_copy(), or it is
 * a read that is shorter than its segments.
 */
static noinline DAT_RETURN post_copied(struct dat_ep *ep,
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

/*
 * Posts a request that carries its data, which are at most ep->max_inline bytes. The device
 * need not look up and read the memory, and the request no longer uses the LMR.
 */
static noinline DAT_RETURN post_inline(struct dat_ep *ep, const struct dat_post *post,
				       struct ib_send_wr *wr, const struct dat_iov *iov)
{
	u8 data[DAT_MAX_INLINE];
	struct ib_sge sge = { .addr = (uintptr_t)data, .length = post->length };

	if (likely(dat_iov_gather(ep->obj.ia, ep->pz, iov, data))) {
		wr->sg_list = &sge;
		wr->num_sge = 1;
		wr->send_flags |= IB_SEND_INLINE;
	}
	return dat_post_dto(ep, post, wr);
}

static bool is_send(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_SEND || opcode == IB_WR_SEND_WITH_INV ||
	       opcode == IB_WR_SEND_WITH_IMM;
}

/* Drivers need not have inline data in other opcodes: siw (siw_qp.c) has none. */
static bool may_carry_data(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_SEND || opcode == IB_WR_RDMA_WRITE;
}

static bool is_atomic(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == IB_WR_ATOMIC_CMP_AND_SWP;
}

static bool has_opcode(const struct dat_ep *ep, enum ib_wr_opcode opcode)
{
	if (opcode == IB_WR_RDMA_WRITE_WITH_IMM || opcode == IB_WR_SEND_WITH_IMM)
		return !ep->iwarp;
	return !is_atomic(opcode) || ep->requests_atomics;
}

static DAT_COUNT max_iov(const struct dat_ep *ep, enum ib_wr_opcode opcode)
{
	if (is_send(opcode))
		return ep->attr.max_request_iov;
	if (is_atomic(opcode))
		return 1;
	return opcode == IB_WR_RDMA_READ ? ep->attr.max_rdma_read_iov :
					   ep->attr.max_rdma_write_iov;
}

static DAT_RETURN length_error(void)
{
	return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
}

/* Reads and atomic operations. */
static DAT_RETURN check_credits(const struct dat_ep *ep)
{
	if (likely(dat_ep_may_read(ep)))
		return DAT_SUCCESS;
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
}

/* The local segments must hold the whole remote segment; they may be larger. */
static DAT_RETURN check_read(const struct dat_ep *ep, u32 length,
			     const DAT_RMR_TRIPLET *remote)
{
	if (unlikely(remote->segment_length > length ||
		     remote->segment_length > ep->attr.max_rdma_size))
		return length_error();
	return check_credits(ep);
}

/* Do the local segments, which have @length bytes, fit the remote one? */
static __always_inline DAT_RETURN
check_remote(const struct dat_ep *ep, enum ib_wr_opcode opcode, u32 length,
	     const DAT_RMR_TRIPLET *remote)
{
	if (is_send(opcode))
		return DAT_SUCCESS;
	if (opcode == IB_WR_RDMA_READ)
		return check_read(ep, length, remote);
	if (is_atomic(opcode))
		return length != ATOMIC_SIZE ||
		       remote->segment_length < ATOMIC_SIZE ?
			       length_error() : check_credits(ep);
	/* The remote segment must hold all local data. */
	if (unlikely(length > remote->segment_length ||
		     length > ep->attr.max_rdma_size))
		return length_error();
	return DAT_SUCCESS;
}

static struct dat_ep *lookup_ep(DAT_EP_HANDLE handle, DAT_RETURN *ret)
{
	struct dat_object *obj = dat_object_lookup(handle, DAT_HANDLE_TYPE_EP);

	if (unlikely(!obj)) {
		*ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		return NULL;
	}
	*ret = likely(READ_ONCE(to_ep(obj)->state) == DAT_EP_STATE_CONNECTED) ?
		       DAT_SUCCESS : dat_post_check_state(to_ep(obj));
	return to_ep(obj);
}

/* @wr has an opcode and its operands, @post all but the length. */
static __always_inline DAT_RETURN
post_request(DAT_EP_HANDLE ep_handle, struct dat_post *post,
	     struct ib_send_wr *wr, DAT_COUNT num_segments,
	     const DAT_LMR_TRIPLET *local_iov, const DAT_RMR_TRIPLET *remote)
{
	const enum ib_wr_opcode opcode = wr->opcode;
	bool read = opcode == IB_WR_RDMA_READ;
	const struct dat_iov iov = {
		.num = num_segments,
		.segments = local_iov,
		.privilege = read || is_atomic(opcode) ?
				     DAT_MEM_PRIV_LOCAL_WRITE_FLAG :
				     DAT_MEM_PRIV_NONE_FLAG,
	};
	static struct ib_sge nothing;
	DAT_RETURN ret, form;
	struct dat_ep *ep;
	bool copied;

	wr->sg_list = (struct ib_sge *)local_iov;
	wr->num_sge = num_segments;

	rcu_read_lock_bh();
	ep = lookup_ep(ep_handle, &ret);
	if (!ret && !has_opcode(ep, opcode))
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (unlikely(ret))
		goto unlock;
	form = dat_iov_check(ep->obj.ia, ep->pz, &iov, max_iov(ep, opcode),
			     is_send(opcode) ? ep->attr.max_message_size :
					       U32_MAX, &post->length);
	copied = dat_iov_needs_copy(form);
	ret = likely(!form || copied) ?
		      check_remote(ep, opcode, post->length, remote) : form;
	/* On iWARP a read request names the local key, and this key is not for peers. */
	if (read && !ret && unlikely(form == dat_iov_reserved() && ep->iwarp))
		ret = DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	if (unlikely(ret))
		goto unlock;

	if (read && unlikely(!remote->segment_length)) {
		wr->sg_list = &nothing;
		wr->num_sge = ep->reads_one_sge;
		copied = false;
	} else if (read && unlikely(remote->segment_length != post->length)) {
		copied = true;
	}
	if (read)
		post->length = remote->segment_length;
	if (unlikely(copied))
		ret = post_copied(ep, post, wr);
	else if (may_carry_data(opcode) && post->length - 1 < ep->max_inline)
		ret = post_inline(ep, post, wr, &iov);
	else
		ret = dat_post_dto(ep, post, wr);
unlock:
	rcu_read_unlock_bh();
	return ret;
}

/* @ex is what the opcode sends beside the message. */
static __always_inline DAT_RETURN
post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	  DAT_COMPLETION_FLAGS completion_flags, enum ib_wr_opcode opcode, u32 ex)
{
	struct ib_send_wr wr = { .opcode = opcode };
	struct dat_post post = {
		.op = DAT_DTO_SEND,
		.flags = completion_flags,
		.cookie = user_cookie,
	};

	if (unlikely(completion_flags &
		     ~(REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (opcode == IB_WR_SEND_WITH_IMM)
		wr.ex.imm_data = (__force __be32)ex;
	else
		wr.ex.invalidate_rkey = ex;
	return post_request(ep_handle, &post, &wr, num_segments, local_iov,
			    NULL);
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

static __always_inline DAT_RETURN
post_rdma(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	  const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS completion_flags,
	  DAT_DTOS op)
{
	struct ib_rdma_wr wr = {
		.wr.opcode = op == DAT_DTO_RDMA_READ ? IB_WR_RDMA_READ :
						       IB_WR_RDMA_WRITE,
	};
	struct dat_post post = {
		.op = op,
		.flags = completion_flags,
		.cookie = user_cookie,
	};

	if (unlikely(!remote))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (unlikely(completion_flags & ~REQUEST_FLAGS))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	wr.remote_addr = remote->virtual_address;
	wr.rkey = remote->rmr_context;
	return post_request(ep_handle, &post, &wr.wr, num_segments, local_iov,
			    remote);
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

/**
 * kdapl_ep_post_rdma_read_to_rmr - read from memory of the peer into a window
 * @ep_handle: the EP, CONNECTED or DISCONNECTED, with max_rdma_read_out > 0
 * @local_iov: destination: part of a bound RMR, or of an LMR by its rmr_context,
 *	with DAT_MEM_PRIV_REMOTE_WRITE_FLAG
 * @user_cookie: reported in the completion event
 * @remote_buffer: source at the peer; kdapl reads all of it; at most as long as
 *	@local_iov
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG
 *
 * The RMR must stay bound until the read has completed. A bind, an unbind or a
 * dat_lmr_invalidate() of its memory may be posted behind the read only with
 * DAT_COMPLETION_BARRIER_FENCE_FLAG.
 *
 * On iWARP the read request contains the context of the destination, so pass a context
 * that the peer may have. The provider attribute rdma_read_lmr_rmr_context_exposure
 * reports this. Specification: dat_ep_post_rdma_read_to_rmr(), DAT 2.0.
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send().
 */
DAT_RETURN
kdapl_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
			       const DAT_RMR_TRIPLET *local_iov,
			       DAT_DTO_COOKIE user_cookie,
			       const DAT_RMR_TRIPLET *remote_buffer,
			       DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_RETURN bad_flags = DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG5);
	struct dat_post post = {
		.op = DAT_DTO_RDMA_READ,
		.flags = completion_flags,
		.cookie = user_cookie,
	};
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_READ };
	struct ib_sge sge = {};
	struct dat_ep *ep;
	DAT_RETURN ret;
	u32 lkey = 0;

	if (!local_iov)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!remote_buffer)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (completion_flags & ~REQUEST_FLAGS)
		return bad_flags;
	wr.remote_addr = remote_buffer->virtual_address;
	wr.rkey = remote_buffer->rmr_context;
	post.length = remote_buffer->segment_length;

	rcu_read_lock_bh();
	ep = lookup_ep(ep_handle, &ret);
	if (!ret && !dat_post_allows(ep, completion_flags))
		ret = bad_flags;
	/* With a length of 0 the other fields of a triplet have no meaning. */
	if (!ret && local_iov->segment_length)
		ret = dat_remote_check(ep->obj.ia, ep->pz, local_iov,
				       DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &lkey);
	if (!ret)
		ret = check_read(ep, local_iov->segment_length, remote_buffer);
	if (!ret) {
		if (post.length) {
			sge.addr = local_iov->virtual_address;
			sge.length = post.length;
			sge.lkey = lkey;
		}
		wr.wr.sg_list = &sge;
		wr.wr.num_sge = post.length || ep->reads_one_sge;
		ret = dat_post_dto(ep, &post, &wr.wr);
	}
	rcu_read_unlock_bh();
	return ret;
}

/**
 * dat_ib_post_rdma_write_immed - write into memory of the peer, with immediate data
 * @ep_handle: the EP, CONNECTED or DISCONNECTED
 * @num_segments: segments in @local_iov, at most max_rdma_write_iov
 * @local_iov: the data, see dat_ep_post_send()
 * @user_cookie: reported in the completion event
 * @remote_buffer: destination at the peer; at least as long as the data
 * @immediate_data: value reported to the peer, with its bytes in the order of local
 *	memory: libdaplofa does the same, and kdapl must interoperate with it
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG, _SOLICITED_WAIT_FLAG
 *
 * The write completes one receive of the peer without changing its buffer. Both sides
 * receive a DAT_IB_DTO_EVENT. Specification: dat_ib_post_rdma_write_immed().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_rdma_write(), DAT_MODEL_NOT_SUPPORTED (iWARP).
 */
DAT_RETURN dat_ib_post_rdma_write_immed(DAT_EP_HANDLE ep_handle,
					DAT_COUNT num_segments,
					DAT_LMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_buffer,
					DAT_UINT32 immediate_data,
					DAT_COMPLETION_FLAGS completion_flags)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.ex.imm_data = (__force __be32)immediate_data,
		},
	};
	struct dat_post post = {
		.op = DAT_IB_DTO_RDMA_WRITE_IMMED,
		.flags = completion_flags,
		.cookie = user_cookie,
	};

	if (!remote_buffer)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (completion_flags &
	    ~(REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	wr.remote_addr = remote_buffer->virtual_address;
	wr.rkey = remote_buffer->rmr_context;
	return post_request(ep_handle, &post, &wr.wr, num_segments, local_iov,
			    remote_buffer);
}
EXPORT_SYMBOL_GPL(dat_ib_post_rdma_write_immed);

/**
 * dat_ib_post_send_immed - send a message with immediate data
 * @ep_handle: the EP, CONNECTED or DISCONNECTED
 * @num_segments: segments in @local_iov, at most max_request_iov
 * @local_iov: the message, see dat_ep_post_send()
 * @user_cookie: reported in the completion event
 * @completion_flags: as for dat_ep_post_send()
 * @immediate_data: as for dat_ib_post_rdma_write_immed()
 *
 * The receive of the peer completes with a DAT_IB_DTO_EVENT that has the immediate data. The
 * Send completes as one of dat_ep_post_send(). An addition of kdapl.
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_send(), DAT_MODEL_NOT_SUPPORTED (iWARP).
 */
DAT_RETURN dat_ib_post_send_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  DAT_COMPLETION_FLAGS completion_flags,
				  DAT_UINT32 immediate_data)
{
	return post_send(ep_handle, num_segments, local_iov, user_cookie, completion_flags,
			 IB_WR_SEND_WITH_IMM, immediate_data);
}
EXPORT_SYMBOL_GPL(dat_ib_post_send_immed);

/* @arg is the position of @local_iov among the arguments of the exported call. */
static DAT_RETURN post_atomic(DAT_EP_HANDLE ep_handle, struct ib_atomic_wr *wr,
			      DAT_DTOS op, DAT_LMR_TRIPLET *local_iov,
			      DAT_DTO_COOKIE user_cookie,
			      const DAT_RMR_TRIPLET *remote,
			      DAT_COMPLETION_FLAGS flags, int arg)
{
	struct dat_post post = {
		.op = op,
		.flags = flags,
		.cookie = user_cookie,
	};

	if (!local_iov)
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg - 1);
	if (!remote || !IS_ALIGNED(remote->virtual_address, ATOMIC_SIZE))
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg + 1);
	if (flags & ~REQUEST_FLAGS)
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg + 2);
	wr->remote_addr = remote->virtual_address;
	wr->rkey = remote->rmr_context;
	return post_request(ep_handle, &post, &wr->wr, 1, local_iov, remote);
}

/**
 * dat_ib_post_fetch_and_add - atomically add to a number in memory of the peer
 * @ep_handle: the EP, CONNECTED or DISCONNECTED, with max_rdma_read_out > 0
 * @add_value: the number to add
 * @local_iov: 8 bytes, which receive the previous number
 * @user_cookie: reported in the completion event
 * @remote_buffer: the number at the peer: 8 bytes, aligned to 8 bytes; with
 *	DAT_IB_MEM_PRIV_REMOTE_ATOMIC
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG
 *
 * Each number is in the byte order of its host. Specification:
 * dat_ib_post_fetch_and_add().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ep_post_rdma_read(), DAT_MODEL_NOT_SUPPORTED (the device has no
 * atomic operations).
 */
DAT_RETURN dat_ib_post_fetch_and_add(DAT_EP_HANDLE ep_handle,
				     DAT_UINT64 add_value,
				     DAT_LMR_TRIPLET *local_iov,
				     DAT_DTO_COOKIE user_cookie,
				     const DAT_RMR_TRIPLET *remote_buffer,
				     DAT_COMPLETION_FLAGS completion_flags)
{
	struct ib_atomic_wr wr = {
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
		.compare_add = add_value,
	};

	return post_atomic(ep_handle, &wr, DAT_IB_DTO_FETCH_ADD, local_iov,
			   user_cookie, remote_buffer, completion_flags, 3);
}
EXPORT_SYMBOL_GPL(dat_ib_post_fetch_and_add);

/**
 * dat_ib_post_cmp_and_swap - atomically compare and replace a number of the peer
 * @ep_handle: as for dat_ib_post_fetch_and_add()
 * @compare_value: replace the number only if it has this value
 * @swap_value: the new number
 * @local_iov: as for dat_ib_post_fetch_and_add()
 * @user_cookie: as for dat_ib_post_fetch_and_add()
 * @remote_buffer: as for dat_ib_post_fetch_and_add()
 * @completion_flags: as for dat_ib_post_fetch_and_add()
 *
 * Specification: dat_ib_post_cmp_and_swap().
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_ib_post_fetch_and_add().
 */
DAT_RETURN dat_ib_post_cmp_and_swap(DAT_EP_HANDLE ep_handle,
				    DAT_UINT64 compare_value,
				    DAT_UINT64 swap_value,
				    DAT_LMR_TRIPLET *local_iov,
				    DAT_DTO_COOKIE user_cookie,
				    const DAT_RMR_TRIPLET *remote_buffer,
				    DAT_COMPLETION_FLAGS completion_flags)
{
	struct ib_atomic_wr wr = {
		.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP,
		.compare_add = compare_value,
		.swap = swap_value,
	};

	return post_atomic(ep_handle, &wr, DAT_IB_DTO_CMP_SWAP, local_iov,
			   user_cookie, remote_buffer, completion_flags, 4);
}
EXPORT_SYMBOL_GPL(dat_ib_post_cmp_and_swap);

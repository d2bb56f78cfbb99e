// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post_read_to_rmr.c - posts RDMA reads whose destination is an RMR
 *
 * Consumers call it in process or softirq context. The file owns no state.
 */
#include "base/calls.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/rmr.h"

#define READ_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

static DAT_RETURN check_read(const struct dat_ep *ep, u32 length,
			     const DAT_RMR_TRIPLET *remote)
{
	if (remote->segment_length > length ||
	    remote->segment_length > ep->attr.max_rdma_size)
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (!ep->attr.max_rdma_read_out)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_CREDITS);
	return DAT_SUCCESS;
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
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;
	u32 lkey = 0;

	if (!local_iov)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!remote_buffer)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (completion_flags & ~READ_FLAGS)
		return bad_flags;
	wr.remote_addr = remote_buffer->virtual_address;
	wr.rkey = remote_buffer->rmr_context;
	post.length = remote_buffer->segment_length;

	rcu_read_lock_bh();
	obj = dat_object_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (unlikely(!obj)) {
		rcu_read_unlock_bh();
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	ep = to_ep(obj);
	ret = dat_post_check_state(ep);
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
		wr.wr.num_sge = post.length || ep->iwarp;
		ret = dat_post_dto(ep, &post, &wr.wr);
	}
	rcu_read_unlock_bh();
	return ret;
}

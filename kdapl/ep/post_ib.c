// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post_ib.c - posts requests of the InfiniBand extensions: immediate data and atomics
 *
 * Consumers call these functions in process or softirq context. The file owns no state.
 */
#include <linux/align.h>

#include <dat/dat_ib_extensions.h>

#include "dev/ia.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/lmr.h"

#define REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* Bytes that an atomic operation changes, and fetches. */
#define ATOMIC_SIZE	sizeof(u64)

static DAT_RETURN not_supported(void)
{
	return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

/* Looks up an EP whose state allows requests; in an RCU read-side section. */
static struct dat_ep *peek_ep(DAT_EP_HANDLE handle, DAT_RETURN *ret)
{
	struct dat_object *obj = dat_object_lookup(handle, DAT_HANDLE_TYPE_EP);

	if (!obj) {
		*ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		return NULL;
	}
	*ret = dat_post_check_state(to_ep(obj));
	return *ret ? NULL : to_ep(obj);
}

static DAT_RETURN post_checked(struct dat_ep *ep, const struct dat_post *post,
			       struct ib_send_wr *wr, DAT_RETURN ret)
{
	if (dat_iov_needs_copy(ret))
		return dat_post_copied(ep, post, wr);
	return ret ?: dat_post_dto(ep, post, wr);
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
			.sg_list = (struct ib_sge *)local_iov,
			.num_sge = num_segments,
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.ex.imm_data = (__force __be32)immediate_data,
		},
	};
	const struct dat_iov iov = {
		.num = num_segments,
		.segments = local_iov,
		.privilege = DAT_MEM_PRIV_LOCAL_READ_FLAG,
	};
	struct dat_post post = {
		.op = DAT_IB_DTO_RDMA_WRITE_IMMED,
		.flags = completion_flags,
		.cookie = user_cookie,
	};
	struct dat_ep *ep;
	DAT_RETURN ret;

	if (!remote_buffer)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (completion_flags &
	    ~(REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	wr.remote_addr = remote_buffer->virtual_address;
	wr.rkey = remote_buffer->rmr_context;

	rcu_read_lock_bh();
	ep = peek_ep(ep_handle, &ret);
	if (ep && ep->iwarp)
		ret = not_supported();
	if (ret)
		goto unlock;
	ret = dat_iov_check(ep->obj.ia, ep->pz, &iov,
			    ep->attr.max_rdma_write_iov, U32_MAX, &post.length);
	if ((!ret || dat_iov_needs_copy(ret)) &&
	    (post.length > remote_buffer->segment_length ||
	     post.length > ep->attr.max_rdma_size))
		ret = DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	ret = post_checked(ep, &post, &wr.wr, ret);
unlock:
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ib_post_rdma_write_immed);

static DAT_RETURN check_atomic(const struct dat_ep *ep, u32 length,
			       const DAT_RMR_TRIPLET *remote)
{
	if (length != ATOMIC_SIZE || remote->segment_length < ATOMIC_SIZE)
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (!ep->attr.max_rdma_read_out)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_CREDITS);
	return DAT_SUCCESS;
}

/* @arg is the position of @local_iov among the arguments of the exported call. */
static DAT_RETURN post_atomic(DAT_EP_HANDLE ep_handle, struct ib_atomic_wr *wr,
			      DAT_DTOS op, DAT_LMR_TRIPLET *local_iov,
			      DAT_DTO_COOKIE user_cookie,
			      const DAT_RMR_TRIPLET *remote,
			      DAT_COMPLETION_FLAGS flags, int arg)
{
	const struct dat_iov iov = {
		.num = 1,
		.segments = local_iov,
		.privilege = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	};
	struct dat_post post = {
		.op = op,
		.flags = flags,
		.cookie = user_cookie,
	};
	struct dat_ep *ep;
	DAT_RETURN ret;

	if (!local_iov)
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg - 1);
	if (!remote || !IS_ALIGNED(remote->virtual_address, ATOMIC_SIZE))
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg + 1);
	if (flags & ~REQUEST_FLAGS)
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg + 2);
	wr->wr.sg_list = (struct ib_sge *)local_iov;
	wr->wr.num_sge = 1;
	wr->remote_addr = remote->virtual_address;
	wr->rkey = remote->rmr_context;

	rcu_read_lock_bh();
	ep = peek_ep(ep_handle, &ret);
	if (ep && !ep->has_atomics)
		ret = not_supported();
	if (ret)
		goto unlock;
	ret = dat_iov_check(ep->obj.ia, ep->pz, &iov, 1, U32_MAX, &post.length);
	if (!ret || dat_iov_needs_copy(ret)) {
		DAT_RETURN fits = check_atomic(ep, post.length, remote);

		ret = fits ?: ret;
	}
	ret = post_checked(ep, &post, &wr->wr, ret);
unlock:
	rcu_read_unlock_bh();
	return ret;
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

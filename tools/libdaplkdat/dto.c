// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dto.c - DTOs that DAT 1.2 does not have
 */
#include "kdat.h"

/**
 * kdat_ep_post_send_with_invalidate - dat_ep_post_send_with_invalidate()
 * @ep_handle: the EP
 * @num_segments: entries of @local_iov, 0 to 4096
 * @local_iov: what to send
 * @user_cookie: comes back in the completion event
 * @flags: how it is to be completed
 * @invalidate_flag: DAT_FALSE sends, and nothing more
 * @rmr_context: what the peer shall lose
 *
 * Thread safe.
 *
 * Return: as dat_ep_post_send(); DAT_INVALID_PARAMETER if @invalidate_flag is
 * neither DAT_TRUE nor DAT_FALSE.
 */
DAT_RETURN kdat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					     DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context)
{
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_SEND_INVALIDATE,
		.ep = libdat_to_kernel(ep_handle),
		.flags = flags,
		.cookie = user_cookie.as_64,
		.remote_context = rmr_context,
	};

	if (invalidate_flag != DAT_TRUE && invalidate_flag != DAT_FALSE)
		return BAD_ARG(6);
	if (!invalidate_flag)
		return kdat_ep_post_send(ep_handle, num_segments, local_iov,
					 user_cookie, flags);
	return kdat_count_post_data(libdat_post_iov(&dto, num_segments,
						    local_iov),
				    ep_handle, DCNT_EP_POST_SEND, num_segments,
				    local_iov);
}

/**
 * kdat_ep_post_rdma_read_to_rmr - dat_ep_post_rdma_read_to_rmr()
 * @ep_handle: the EP
 * @local_buffer: where to put it: memory that is open to peers
 * @user_cookie: comes back in the completion event
 * @remote_buffer: what to read
 * @flags: how it is to be completed
 *
 * Thread safe.
 *
 * Return: as dat_ep_post_rdma_read().
 */
DAT_RETURN kdat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					 const DAT_RMR_TRIPLET *local_buffer,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_buffer,
					 DAT_COMPLETION_FLAGS flags)
{
	struct dat_dev_segment segment;
	DAT_RETURN ret;
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RDMA_READ_TO_RMR,
		.ep = libdat_to_kernel(ep_handle),
		.flags = flags,
		.num_segments = 1,
		.segments = (uintptr_t)&segment,
		.cookie = user_cookie.as_64,
	};

	if (!local_buffer)
		return BAD_ARG(2);
	if (!remote_buffer)
		return BAD_ARG(4);
	segment.virtual_address = local_buffer->virtual_address;
	segment.length = local_buffer->segment_length;
	segment.lmr_context = local_buffer->rmr_context;
	dto.remote_address = remote_buffer->virtual_address;
	dto.remote_length = remote_buffer->segment_length;
	dto.remote_context = remote_buffer->rmr_context;
	ret = libdat_post(&dto);
	if (ret == DAT_SUCCESS)
		kdat_count(ep_handle, KDAT_COUNTED_EP, DCNT_EP_POST_READ_DATA,
			   local_buffer->segment_length);
	return kdat_count_post(ret, ep_handle, DCNT_EP_POST_READ);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post.c - posting DTOs
 */
#include "libdat.h"
#include "foreign.h"

/**
 * libdat_post - post one DTO or bind
 * @dto: what to post; rmr_context is out for a bind
 *
 * Thread safe.
 *
 * Return: as libdat_call().
 */
DAT_RETURN libdat_post(struct dat_dev_dto *dto)
{
	struct dat_dev_post arg = {
		.size = sizeof(arg),
		.dtos = (uintptr_t)dto,
		.num_dtos = 1,
		.dto_size = sizeof(*dto),
	};

	return libdat_call(DAT_DEV_POST, &arg);
}

/**
 * libdat_post_iov - post a DTO with an iov
 * @dto: all but its segments
 * @num_segments: entries of @local_iov
 * @local_iov: the program's iov
 *
 * Thread safe.
 *
 * Return: as libdat_call(), DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN libdat_post_iov(struct dat_dev_dto *dto, DAT_COUNT num_segments,
			   const DAT_LMR_TRIPLET *local_iov)
{
	struct libdat_iov iov;
	DAT_RETURN ret;

	ret = libdat_iov_in(&iov, local_iov, num_segments);
	if (ret != DAT_SUCCESS)
		return ret;
	dto->segments = (uintptr_t)iov.segments;
	dto->num_segments = iov.count;

	ret = libdat_post(dto);
	libdat_iov_free(&iov);
	return ret;
}

static DAT_RETURN post_rdma(struct dat_dev_dto *dto, DAT_COUNT num_segments,
			    const DAT_LMR_TRIPLET *local_iov,
			    const DAT_RMR_TRIPLET *remote_buffer)
{
	if (!remote_buffer || remote_buffer->segment_length > UINT32_MAX)
		return BAD_ARG(5);
	dto->remote_address = remote_buffer->target_address;
	dto->remote_length = (__u32)remote_buffer->segment_length;
	dto->remote_context = remote_buffer->rmr_context;
	return libdat_post_iov(dto, num_segments, local_iov);
}

/**
 * dat_ep_post_send - post a Send
 * @ep_handle: the EP
 * @num_segments: entries of @local_iov, 0 to 4096
 * @local_iov: what to send
 * @user_cookie: comes back in the completion event
 * @completion_flags: how it is to be completed
 *
 * @local_iov is the caller's again on return. Thread safe. See
 * dat_ep_post_send(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER,
 * DAT_INVALID_HANDLE, DAT_INVALID_STATE, DAT_LENGTH_ERROR,
 * DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION.
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_SEND,
		.ep = libdat_handle_in(ep_handle),
		.flags = completion_flags,
		.cookie = user_cookie.as_64,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_post_send_func, ep_handle,
				    num_segments, local_iov, user_cookie,
				    completion_flags);
	return libdat_post_iov(&dto, num_segments, local_iov);
}

/**
 * dat_ep_post_recv - post a receive
 * @ep_handle: the EP
 * @num_segments: entries of @local_iov, 0 to 4096
 * @local_iov: where to receive
 * @user_cookie: comes back in the completion event
 * @completion_flags: how it is to be completed
 *
 * @local_iov is the caller's again on return. Thread safe. See
 * dat_ep_post_recv(3DAT).
 *
 * Return: as dat_ep_post_send().
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RECV,
		.ep = libdat_handle_in(ep_handle),
		.flags = completion_flags,
		.cookie = user_cookie.as_64,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_post_recv_func, ep_handle,
				    num_segments, local_iov, user_cookie,
				    completion_flags);
	return libdat_post_iov(&dto, num_segments, local_iov);
}

/**
 * dat_ep_post_rdma_read - post an RDMA Read
 * @ep_handle: the EP
 * @num_segments: entries of @local_iov, 0 to 4096
 * @local_iov: where to put it
 * @user_cookie: comes back in the completion event
 * @remote_buffer: what to read
 * @completion_flags: how it is to be completed
 *
 * @local_iov and @remote_buffer are the caller's again on return. Thread safe.
 * See dat_ep_post_rdma_read(3DAT).
 *
 * Return: as dat_ep_post_send().
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RDMA_READ,
		.ep = libdat_handle_in(ep_handle),
		.flags = completion_flags,
		.cookie = user_cookie.as_64,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_post_rdma_read_func, ep_handle,
				    num_segments, local_iov, user_cookie,
				    remote_buffer, completion_flags);
	return post_rdma(&dto, num_segments, local_iov, remote_buffer);
}

/**
 * dat_ep_post_rdma_write - post an RDMA Write
 * @ep_handle: the EP
 * @num_segments: entries of @local_iov, 0 to 4096
 * @local_iov: what to write
 * @user_cookie: comes back in the completion event
 * @remote_buffer: where to put it
 * @completion_flags: how it is to be completed
 *
 * @local_iov and @remote_buffer are the caller's again on return. Thread safe.
 * See dat_ep_post_rdma_write(3DAT).
 *
 * Return: as dat_ep_post_send().
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RDMA_WRITE,
		.ep = libdat_handle_in(ep_handle),
		.flags = completion_flags,
		.cookie = user_cookie.as_64,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_post_rdma_write_func,
				    ep_handle, num_segments, local_iov,
				    user_cookie, remote_buffer,
				    completion_flags);
	return post_rdma(&dto, num_segments, local_iov, remote_buffer);
}

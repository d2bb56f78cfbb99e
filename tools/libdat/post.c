// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post.c - post DTOs and binds: one ioctl for each call
 *
 * The kernel checks the segments and the state of the EP. dat_linux_post() in
 * linux.c posts many DTOs by one ioctl.
 */
#include "libdat.h"

/**
 * libdat_post - post one DTO or bind
 * @dto: the DTO; its rmr_context is an output of a bind
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
 * @dto: the DTO without its segments
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

	ret = libdat_iov_to_kernel(&iov, local_iov, num_segments);
	if (ret != DAT_SUCCESS)
		return ret;
	dto->segments = (uintptr_t)iov.segments;
	dto->num_segments = iov.count;

	ret = libdat_post(dto);
	libdat_iov_free(&iov);
	return ret;
}

/**
 * libdat_remote_to_kernel - copy the remote triplet of an RDMA Read or Write
 * @dto: the DTO
 * @in: the program's triplet
 *
 * Thread safe.
 *
 * Return: false if its length does not fit in 32 bits.
 */
bool libdat_remote_to_kernel(struct dat_dev_dto *dto, const DAT_RMR_TRIPLET *in)
{
	dto->remote_address = in->target_address;
	dto->remote_length = (__u32)in->segment_length;
	dto->remote_context = in->rmr_context;
	return in->segment_length <= UINT32_MAX;
}

/**
 * libdat_post_dto - post a DTO of DAT 1.2
 * @opcode: DAT_DEV_SEND, RECV, RDMA_READ, RDMA_WRITE, or SRQ_RECV
 * @handle: the EP or SRQ
 * @num_segments: entries of @local_iov
 * @local_iov: the program's iov
 * @user_cookie: cookie of the completion event
 * @remote: argument 5 of an RDMA Read or Write, else unused
 * @completion_flags: completion flags
 *
 * Thread safe.
 *
 * Return: as libdat_post_iov().
 */
DAT_RETURN libdat_post_dto(__u32 opcode, DAT_HANDLE handle,
			   DAT_COUNT num_segments,
			   const DAT_LMR_TRIPLET *local_iov,
			   DAT_DTO_COOKIE user_cookie,
			   const DAT_RMR_TRIPLET *remote,
			   DAT_COMPLETION_FLAGS completion_flags)
{
	struct dat_dev_dto dto = {
		.opcode = opcode,
		.ep = libdat_to_kernel(handle),
		.flags = completion_flags,
		.cookie = user_cookie.as_64,
	};

	if ((opcode == DAT_DEV_RDMA_READ || opcode == DAT_DEV_RDMA_WRITE) &&
	    (!remote || !libdat_remote_to_kernel(&dto, remote)))
		return BAD_ARG(5);
	return libdat_post_iov(&dto, num_segments, local_iov);
}

DAT_RETURN libdat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			   const DAT_LMR_TRIPLET *lmr_triplet,
			   DAT_MEM_PRIV_FLAGS mem_privileges,
			   DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			   DAT_COMPLETION_FLAGS completion_flags,
			   DAT_RMR_CONTEXT *rmr_context)
{
	struct dat_dev_segment segment;
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RMR_BIND,
		.ep = libdat_to_kernel(ep_handle),
		.flags = completion_flags,
		.num_segments = 1,
		.segments = (uintptr_t)&segment,
		.cookie = user_cookie.as_64,
		.rmr = libdat_to_kernel(rmr_handle),
		.privileges = libdat_priv_to_kernel(mem_privileges),
	};
	DAT_RETURN ret;

	if (!lmr_triplet || !libdat_segment_to_kernel(&segment, lmr_triplet))
		return BAD_ARG(2);
	if (libdat_priv_is_reserved(dto.privileges))
		return BAD_ARG(3);
	if (!rmr_context)
		return BAD_ARG(7);

	ret = libdat_post(&dto);
	if (ret == DAT_SUCCESS)
		*rmr_context = dto.rmr_context;
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dto.c - DTOs that DAT 1.2 does not have, and the InfiniBand extensions
 *
 * dat_extension_op() of libdat2 passes the arguments of each extension of
 * dat_ib_extensions.h as a va_list.
 */
#include "kdat.h"

/**
 * kdat_ep_post_send_with_invalidate - dat_ep_post_send_with_invalidate()
 * @ep_handle: the EP
 * @num_segments: entries of @local_iov, 0 to 4096
 * @local_iov: the data
 * @user_cookie: cookie of the completion event
 * @flags: completion flags
 * @invalidate_flag: DAT_TRUE to invalidate @rmr_context, DAT_FALSE for a Send
 * @rmr_context: RMR context that the peer invalidates
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
 * @local_buffer: destination; needs remote write privileges
 * @user_cookie: cookie of the completion event
 * @remote_buffer: source
 * @flags: completion flags
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

/* The arguments of a call, because a va_list is invalid after it was passed on */
struct ext {
	struct dat_dev_dto dto;
	DAT_COUNT num_segments;
	DAT_LMR_TRIPLET *local_iov;
	const DAT_RMR_TRIPLET *remote;
	/* Number of the argument @remote of the call */
	int remote_arg;
	DAT_EP_COUNTERS counter;
};

static DAT_RETURN post(struct ext *ext, DAT_EP_HANDLE ep)
{
	DAT_RETURN ret;

	if (!ext->remote)
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + ext->remote_arg - 1);
	ext->dto.remote_address = ext->remote->virtual_address;
	ext->dto.remote_length = ext->remote->segment_length;
	ext->dto.remote_context = ext->remote->rmr_context;
	ret = libdat_post_iov(&ext->dto, ext->num_segments, ext->local_iov);
	/* The bytes of atomics are not counted: always 8. */
	return ext->counter == DCNT_EP_POST_WRITE_IMM ?
		       kdat_count_post_data(ret, ep, ext->counter,
					    ext->num_segments,
					    ext->local_iov) :
		       kdat_count_post(ret, ep, ext->counter);
}

/* Get the arguments that all posting calls have. */
static void get_common(struct ext *ext, va_list *args)
{
	ext->local_iov = va_arg(*args, DAT_LMR_TRIPLET *);
	ext->dto.cookie = va_arg(*args, DAT_DTO_COOKIE).as_64;
	ext->remote = va_arg(*args, DAT_RMR_TRIPLET *);
}

static DAT_RETURN counters(DAT_HANDLE handle, DAT_IB_OP op, va_list *args)
{
	int counter = va_arg(*args, int);
	DAT_UINT64 *values;

	switch (op) {
	case DAT_IB_QUERY_COUNTERS_OP:
		values = va_arg(*args, DAT_UINT64 *);
		return kdat_counters_query(handle, counter, values,
					   va_arg(*args, int));
	case DAT_IB_PRINT_COUNTERS_OP:
		return kdat_counters_print(handle, counter, va_arg(*args, int));
	case DAT_IB_START_COUNTERS_OP:
		return kdat_port_start(handle, counter);
	default:
		return kdat_port_stop(handle, counter);
	}
}

/**
 * kdat_extended_op - dat_extension_op()
 * @handle: the object of @op
 * @op: DAT_IB_*_OP
 * @args: the other arguments of @op
 *
 * Thread safe.
 *
 * Return: as dat_ep_post_rdma_write(), dat_ep_post_rdma_read(), or
 * kdat_counters_query(); DAT_MODEL_NOT_SUPPORTED if the device or kdapl does not
 * have @op.
 */
DAT_RETURN kdat_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	struct ext ext = {
		.dto.ep = libdat_to_kernel(handle),
		.num_segments = 1,
	};
	DAT_RETURN ret;
	va_list rest;

	va_copy(rest, args);
	switch (op) {
	case DAT_IB_FETCH_AND_ADD_OP:
		ext.dto.opcode = DAT_DEV_FETCH_ADD;
		ext.counter = DCNT_EP_POST_FETCH_ADD;
		ext.dto.compare_add = va_arg(rest, DAT_UINT64);
		ext.remote_arg = 5;
		get_common(&ext, &rest);
		break;
	case DAT_IB_CMP_AND_SWAP_OP:
		ext.dto.opcode = DAT_DEV_CMP_SWAP;
		ext.counter = DCNT_EP_POST_CMP_SWAP;
		ext.dto.compare_add = va_arg(rest, DAT_UINT64);
		ext.dto.swap = va_arg(rest, DAT_UINT64);
		ext.remote_arg = 6;
		get_common(&ext, &rest);
		break;
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		ext.dto.opcode = DAT_DEV_RDMA_WRITE_IMMED;
		ext.counter = DCNT_EP_POST_WRITE_IMM;
		ext.num_segments = va_arg(rest, DAT_COUNT);
		ext.remote_arg = 5;
		get_common(&ext, &rest);
		ext.dto.immediate = va_arg(rest, DAT_UINT32);
		break;
	case DAT_IB_QUERY_COUNTERS_OP:
	case DAT_IB_PRINT_COUNTERS_OP:
	case DAT_IB_START_COUNTERS_OP:
	case DAT_IB_STOP_COUNTERS_OP:
		ret = counters(handle, (DAT_IB_OP)op, &rest);
		va_end(rest);
		return ret;
	default:
		va_end(rest);
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	}
	ext.dto.flags = va_arg(rest, DAT_COMPLETION_FLAGS);
	va_end(rest);
	return post(&ext, handle);
}

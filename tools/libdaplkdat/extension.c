// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * extension.c - calls of dat_ib_extensions.h
 */
#include "kdat.h"

/* Kept in a structure, as a va_list cannot be handed on and then gone on with. */
struct ext {
	struct dat_dev_dto dto;
	DAT_COUNT num_segments;
	DAT_LMR_TRIPLET *local_iov;
	const DAT_RMR_TRIPLET *remote;
	/* The number of @remote among the arguments of the call */
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
	/* Of atomic operations the bytes are not counted: they are always eight. */
	return ext->counter == DCNT_EP_POST_WRITE_IMM ?
		       kdat_count_post_data(ret, ep, ext->counter,
					    ext->num_segments,
					    ext->local_iov) :
		       kdat_count_post(ret, ep, ext->counter);
}

/* What all of these calls have behind what is their own, but for @immediate. */
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
 * @handle: what @op is for
 * @op: DAT_IB_*_OP
 * @args: what else @op takes
 *
 * Thread safe.
 *
 * Return: as dat_ep_post_rdma_write() or _read(), as kdat_counters_query() and
 * its like, DAT_MODEL_NOT_SUPPORTED if the device, or kdapl, does not have it.
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

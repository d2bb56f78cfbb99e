// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq.c - shared receive queues
 */
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/* The kernel's, which are not DAT 1.2's: there is one more, and no order. */
#define DAT2_SRQ_STATE_OPERATIONAL	1

/**
 * dat_srq_create - make an SRQ
 * @ia_handle: the IA
 * @pz_handle: the PZ
 * @srq_attr: how much it must hold, and its low watermark
 * @srq_handle: out
 *
 * Thread safe. See dat_srq_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	struct dat_dev_srq_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.pz = libdat_handle_in(pz_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		libdat_foreign_beside(&foreign, pz_handle, DAT_HANDLE_TYPE_PZ,
				      DAT_INVALID_HANDLE_PZ);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_SRQ, srq_handle,
				    srq_create_func, ia_handle, pz_handle,
				    srq_attr, srq_handle);
	}
	if (!srq_attr || srq_attr->max_recv_dtos < 0 ||
	    srq_attr->max_recv_iov < 0 || srq_attr->low_watermark < 0)
		return BAD_ARG(3);
	if (!srq_handle)
		return BAD_ARG(4);
	arg.max_recv_dtos = (__u32)srq_attr->max_recv_dtos;
	arg.max_recv_iov = (__u32)srq_attr->max_recv_iov;
	arg.low_watermark = (__u32)srq_attr->low_watermark;

	ret = libdat_call(DAT_DEV_SRQ_CREATE, &arg);
	if (ret == DAT_SUCCESS)
		*srq_handle = libdat_handle_out(arg.srq);
	return ret;
}

/**
 * dat_srq_query - everything about an SRQ
 * @srq_handle: the SRQ
 * @srq_param_mask: what is wanted; all is filled in
 * @srq_param: out
 *
 * Thread safe. See dat_srq_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	struct dat_dev_srq_query arg = {
		.size = sizeof(arg),
		.srq = libdat_handle_in(srq_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, srq_handle, DAT_HANDLE_TYPE_SRQ))
		return FOREIGN_CALL(&foreign, srq_query_func, srq_handle,
				    srq_param_mask, srq_param);
	if (srq_param_mask & ~DAT_SRQ_FIELD_ALL)
		return BAD_ARG(2);
	if (!srq_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_SRQ_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	srq_param->ia_handle = libdat_handle_out(arg.ia);
	srq_param->srq_state = DAT_SRQ_STATE_ERROR;
	if (arg.state == DAT2_SRQ_STATE_OPERATIONAL)
		srq_param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
	srq_param->pz_handle = libdat_handle_out(arg.pz);
	srq_param->max_recv_dtos = (DAT_COUNT)arg.max_recv_dtos;
	srq_param->max_recv_iov = (DAT_COUNT)arg.max_recv_iov;
	srq_param->low_watermark = (DAT_COUNT)arg.low_watermark;
	/* DAT_VALUE_UNKNOWN is below zero. */
	srq_param->available_dto_count = (DAT_COUNT)arg.available;
	srq_param->outstanding_dto_count = (DAT_COUNT)arg.outstanding;
	return DAT_SUCCESS;
}

static DAT_RETURN set(unsigned long cmd, DAT_SRQ_HANDLE srq_handle,
		      DAT_COUNT value)
{
	struct dat_dev_srq_set arg = {
		.size = sizeof(arg),
		.srq = libdat_handle_in(srq_handle),
		.value = (__u32)value,
	};

	if (value < 0)
		return BAD_ARG(2);
	return libdat_call(cmd, &arg);
}

/**
 * dat_srq_resize - change how many receives an SRQ can hold
 * @srq_handle: the SRQ
 * @srq_max_recv_dto: how many
 *
 * Thread safe. See dat_srq_resize(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_STATE if it holds more.
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, srq_handle, DAT_HANDLE_TYPE_SRQ))
		return FOREIGN_CALL(&foreign, srq_resize_func, srq_handle,
				    srq_max_recv_dto);
	return set(DAT_DEV_SRQ_RESIZE, srq_handle, srq_max_recv_dto);
}

/**
 * dat_srq_set_lw - ask to be told when an SRQ runs low
 * @srq_handle: the SRQ
 * @low_watermark: fewer receives than these are an event, once; 0 for none
 *
 * Thread safe. See dat_srq_set_lw(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, srq_handle, DAT_HANDLE_TYPE_SRQ))
		return FOREIGN_CALL(&foreign, srq_set_lw_func, srq_handle,
				    low_watermark);
	return set(DAT_DEV_SRQ_SET_LW, srq_handle, low_watermark);
}

/**
 * dat_srq_post_recv - post a receive to an SRQ
 * @srq_handle: the SRQ
 * @num_segments: entries of @local_iov, 0 to 4096
 * @local_iov: where to receive
 * @user_cookie: comes back in the completion event
 *
 * @local_iov is the caller's again on return. Thread safe. See
 * dat_srq_post_recv(3DAT).
 *
 * Return: as dat_ep_post_recv().
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie)
{
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_SRQ_RECV,
		.ep = libdat_handle_in(srq_handle),
		.cookie = user_cookie.as_64,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, srq_handle, DAT_HANDLE_TYPE_SRQ))
		return FOREIGN_CALL(&foreign, srq_post_recv_func, srq_handle,
				    num_segments, local_iov, user_cookie);
	return libdat_post_iov(&dto, num_segments, local_iov);
}

/**
 * dat_srq_free - free an SRQ
 * @srq_handle: the SRQ
 *
 * Thread safe. See dat_srq_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE if an EP uses it.
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, srq_handle, DAT_HANDLE_TYPE_SRQ))
		return FOREIGN_FREE(&foreign, srq_free_func, srq_handle);
	return libdat_free_call(DAT_DEV_SRQ_FREE, srq_handle);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_param.c - event dispatchers: queried, and changed while in use
 */
#include "libdat.h"
#include "foreign.h"

static DAT_EVD_STATE state_out(const struct libdat_evd *evd, __u32 state)
{
	int out = DAT_EVD_STATE_ENABLED;

	if (state & DAT_DEV_EVD_DISABLED)
		out = DAT_EVD_STATE_DISABLED;
	out |= state & DAT_DEV_EVD_UNWAITABLE ? DAT_EVD_STATE_UNWAITABLE :
						DAT_EVD_STATE_WAITABLE;
	/* What decides when a thread in dat_evd_wait() wakes up. */
	if (evd->solicited > 0)
		out |= DAT_EVD_STATE_CONFIG_SOLICITED;
	else if (evd->unnotified > 0)
		out |= DAT_EVD_STATE_CONFIG_NOTIFY;
	else
		out |= DAT_EVD_STATE_CONFIG_THRESHOLD;
	return (DAT_EVD_STATE)out;
}

/**
 * dat_evd_query - everything about an EVD
 * @evd_handle: the EVD
 * @evd_param_mask: what is wanted; all is filled in
 * @evd_param: out
 *
 * Thread safe. See dat_evd_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	struct dat_dev_evd_query arg = {
		.size = sizeof(arg),
		.evd = libdat_handle_in(evd_handle),
	};
	struct libdat_foreign foreign;
	struct libdat_evd *evd;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_CALL(&foreign, evd_query_func, evd_handle,
				    evd_param_mask, evd_param);
	if (evd_param_mask & ~DAT_EVD_FIELD_ALL)
		return BAD_ARG(2);
	if (!evd_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_EVD_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	evd = libdat_object_lock(arg.evd, LIBDAT_EVD);
	if (!evd)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	evd_param->ia_handle = libdat_handle_out(arg.ia);
	evd_param->evd_qlen = libdat_count_out(arg.qlen);
	evd_param->evd_state = state_out(evd, arg.state);
	evd_param->cno_handle = libdat_handle_out(arg.cno);
	evd_param->evd_flags = (DAT_EVD_FLAGS)arg.flags;
	libdat_object_unlock(arg.evd);
	return DAT_SUCCESS;
}

/**
 * dat_evd_resize - change how many events an EVD can hold
 * @evd_handle: the EVD; it may be in use
 * @evd_min_qlen: how many events it must hold at least
 *
 * No event is lost. Thread safe. See dat_evd_resize(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_STATE if it holds more.
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	struct dat_dev_evd_resize arg = {
		.size = sizeof(arg),
		.evd = libdat_handle_in(evd_handle),
		.min_qlen = (__u32)evd_min_qlen,
	};
	struct libdat_foreign foreign;
	struct libdat_evd *evd;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_CALL(&foreign, evd_resize_func, evd_handle,
				    evd_min_qlen);
	if (evd_min_qlen < 0)
		return BAD_ARG(2);
	evd = libdat_object_lock(arg.evd, LIBDAT_EVD);
	if (!evd)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	/* Nobody may take or miss an event that is just being moved. */
	libdat_peek_hide(evd);
	ret = libdat_call(DAT_DEV_EVD_RESIZE, &arg);
	if (ret == DAT_SUCCESS)
		libdat_ring_renew(evd);
	libdat_peek_show(evd);
	libdat_object_unlock(arg.evd);
	return ret;
}

/**
 * dat_evd_post_se - queue a software event
 * @evd_handle: the EVD, with DAT_EVD_SOFTWARE_FLAG
 * @event: a DAT_SOFTWARE_EVENT
 *
 * What its pointer points to is not looked at. Thread safe. See
 * dat_evd_post_se(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_QUEUE_FULL.
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	struct dat_dev_evd_post_se arg = {
		.size = sizeof(arg),
		.evd = libdat_handle_in(evd_handle),
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_CALL(&foreign, evd_post_se_func, evd_handle,
				    event);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return BAD_ARG(2);
	arg.pointer =
		(uintptr_t)event->event_data.software_event_data.pointer;
	return libdat_call(DAT_DEV_EVD_POST_SE, &arg);
}

/**
 * dat_evd_modify_cno - give an EVD another CNO
 * @evd_handle: the EVD
 * @cno_handle: the CNO, or DAT_HANDLE_NULL
 *
 * If the EVD is enabled and holds events, the new CNO is triggered. Thread
 * safe. See dat_evd_modify_cno(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle,
			      DAT_CNO_HANDLE cno_handle)
{
	struct dat_dev_evd_modify_cno arg = {
		.size = sizeof(arg),
		.evd = libdat_handle_in(evd_handle),
		.cno = libdat_handle_in(cno_handle),
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD)) {
		libdat_foreign_beside(&foreign, cno_handle, DAT_HANDLE_TYPE_CNO,
				      DAT_INVALID_HANDLE_CNO);
		return FOREIGN_CALL(&foreign, evd_modify_cno_func, evd_handle,
				    cno_handle);
	}
	return libdat_call(DAT_DEV_EVD_MODIFY_CNO, &arg);
}

static DAT_RETURN set(DAT_EVD_HANDLE evd_handle, __u32 mask, __u32 state)
{
	struct dat_dev_evd_set arg = {
		.size = sizeof(arg),
		.evd = libdat_handle_in(evd_handle),
		.mask = mask,
		.state = state,
	};

	return libdat_call(DAT_DEV_EVD_SET, &arg);
}

/**
 * dat_evd_enable - let an EVD trigger its CNO
 * @evd_handle: the EVD
 *
 * If it holds events it does so now. Thread safe. See dat_evd_enable(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_CALL(&foreign, evd_enable_func, evd_handle);
	return set(evd_handle, DAT_DEV_EVD_DISABLED, 0);
}

/**
 * dat_evd_disable - keep an EVD from triggering its CNO
 * @evd_handle: the EVD
 *
 * Thread safe. See dat_evd_disable(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_CALL(&foreign, evd_disable_func, evd_handle);
	return set(evd_handle, DAT_DEV_EVD_DISABLED, DAT_DEV_EVD_DISABLED);
}

/**
 * dat_evd_set_unwaitable - let nobody wait for an EVD
 * @evd_handle: the EVD
 *
 * Who waits returns with DAT_INVALID_STATE. Thread safe. See
 * dat_evd_set_unwaitable(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_CALL(&foreign, evd_set_unwaitable_func,
				    evd_handle);
	return set(evd_handle, DAT_DEV_EVD_UNWAITABLE, DAT_DEV_EVD_UNWAITABLE);
}

/**
 * dat_evd_clear_unwaitable - the reverse of dat_evd_set_unwaitable()
 * @evd_handle: the EVD
 *
 * Thread safe. See dat_evd_clear_unwaitable(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_CALL(&foreign, evd_clear_unwaitable_func,
				    evd_handle);
	return set(evd_handle, DAT_DEV_EVD_UNWAITABLE, 0);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd.c - the calls and events of EVDs that differ in DAT 2.0
 *
 * The functions call those of libdat, count, and add the fields that only DAT 2.0
 * has to events.
 */
#include "kdat.h"

/**
 * kdat_evd_create - dat_evd_create()
 * @ia_handle: the IA
 * @evd_min_qlen: minimum queue length
 * @cno_handle: the CNO that its events trigger, or DAT_HANDLE_NULL
 * @evd_flags: event streams that may feed the EVD
 * @evd_handle: out
 *
 * The kernel reports events of extensions as DTO completions. Thread safe.
 *
 * Return: as libdat_evd_create().
 */
DAT_RETURN kdat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			   DAT_EVD_HANDLE *evd_handle)
{
	int flags = evd_flags;

	if (flags & DAT_EVD_EXTENSION_BASE) {
		flags &= ~DAT_EVD_EXTENSION_BASE;
		flags |= DAT_EVD_DTO_FLAG;
	}
	return kdat_count_create(libdat_evd_create(ia_handle, evd_min_qlen,
						   cno_handle, (DAT_EVD_FLAGS)flags,
						   evd_handle),
				 evd_handle, ia_handle, DCNT_IA_EVD_CREATE);
}

static void count(DAT_EVD_HANDLE evd_handle, DAT_EVD_COUNTERS counter)
{
	kdat_count(evd_handle, KDAT_COUNTED_EVD, counter, 1);
}

/* Returns true unless the ring has @threshold events. */
static bool would_block(DAT_EVD_HANDLE evd_handle, DAT_COUNT threshold)
{
	__u32 handle = libdat_to_kernel(evd_handle);
	struct libdat_evd *evd = libdat_object_lock(handle, LIBDAT_EVD);
	bool is_there;

	if (!evd)
		return false;
	is_there = evd->ring && threshold > 0 &&
		   libdat_ring_count(evd) >= (__u32)threshold;
	libdat_object_unlock(handle);
	return !is_there;
}

/**
 * kdat_evd_wait - dat_evd_wait()
 * @evd_handle: the EVD
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @threshold: number of events to wait for
 * @event: out: the first event
 * @nmore: out: number of further events
 *
 * Thread safe.
 *
 * Return: as libdat_evd_wait().
 */
DAT_RETURN kdat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			 DAT_COUNT threshold, DAT_EVENT *event,
			 DAT_COUNT *nmore)
{
	bool blocked = would_block(evd_handle, threshold);
	DAT_RETURN ret = libdat_evd_wait(evd_handle, timeout, threshold, event,
					 nmore);

	if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
		return ret;
	count(evd_handle, DCNT_EVD_WAIT);
	if (blocked)
		count(evd_handle, DCNT_EVD_WAIT_BLOCKED);
	if (ret != DAT_SUCCESS)
		return ret;
	if (blocked)
		count(evd_handle, DCNT_EVD_WAIT_NOTIFY);
	kdat_count_event(evd_handle, event);
	return ret;
}

static void count_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVD_COUNTERS result)
{
	struct kdat_counter *counters =
		kdat_counters_of(evd_handle, KDAT_COUNTED_EVD);

	if (!counters)
		return;
	kdat_counter_add(&counters[DCNT_EVD_DEQUEUE], 1);
	kdat_counter_add(&counters[result], 1);
}

/**
 * kdat_evd_dequeue - dat_evd_dequeue()
 * @evd_handle: the EVD
 * @event: out
 *
 * Thread safe.
 *
 * Return: as libdat_evd_dequeue().
 */
DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	DAT_RETURN ret = libdat_evd_dequeue(evd_handle, event);

	if (ret == DAT_QUEUE_EMPTY) {
		count_dequeue(evd_handle, DCNT_EVD_DEQUEUE_NOT_FOUND);
	} else if (ret == DAT_SUCCESS) {
		count_dequeue(evd_handle, DCNT_EVD_DEQUEUE_FOUND);
		kdat_count_event(evd_handle, event);
	} else if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE) {
		count(evd_handle, DCNT_EVD_DEQUEUE);
	}
	return ret;
}

static DAT_IB_EXT_TYPE ext_type(__u32 operation)
{
	switch (operation) {
	case DAT_IB_DTO_RDMA_WRITE_IMMED:
		return DAT_IB_RDMA_WRITE_IMMED;
	case DAT_IB_DTO_RECV_IMMED:
		return DAT_IB_RDMA_WRITE_IMMED_DATA;
	case DAT_IB_DTO_RECV_MSG_IMMED:
		return DAT_IB_RECV_IMMED_DATA;
	case DAT_IB_DTO_FETCH_ADD:
		return DAT_IB_FETCH_AND_ADD;
	default:
		return DAT_IB_CMP_AND_SWAP;
	}
}

/**
 * libdat_event_finish - add the fields that DAT 1.2 does not have
 * @out: the program's event, complete for DAT 1.2
 * @in: the kernel's event
 *
 * libdat_event_to_user() calls this function. Thread safe.
 */
void libdat_event_finish(DAT_EVENT *out, const struct dat_dev_event *in)
{
	DAT_IB_EXTENSION_EVENT_DATA *ext =
		(DAT_IB_EXTENSION_EVENT_DATA *)out->event_extension_data;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;

	switch (in->number) {
	case DAT_DEV_IB_DTO_EVENT:
		out->event_number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
		dto = &out->event_data.dto_completion_event_data;
		dto->operation = (DAT_DTOS)in->operation;
		ext->type = ext_type(in->operation);
		ext->status = (DAT_IB_STATUS)in->status;
		ext->val.immed.data = in->rmr_context;
		break;
	case DAT_DTO_COMPLETION_EVENT:
		dto = &out->event_data.dto_completion_event_data;
		dto->operation = (DAT_DTOS)in->operation;
		dto->rmr_context = in->rmr_context;
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		if (in->flags & DAT_DEV_EVENT_TRUNCATED)
			out->event_data.cr_arrival_event_data.truncate_flag =
				DAT_TRUE;
		break;
	default:
		break;
	}
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd.c - EVDs as programs of DAT 2.0 know them
 */
#include "kdat.h"

/**
 * kdat_evd_create - dat_evd_create()
 * @ia_handle: the IA
 * @evd_min_qlen: how many events it must hold at least
 * @cno_handle: the CNO that its events trigger, or DAT_HANDLE_NULL
 * @evd_flags: which event streams may feed it
 * @evd_handle: out
 *
 * Events of extensions are DTO completions to the kernel. Thread safe.
 *
 * Return: as libdat's.
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
	return kdat_count_made(libdat_evd_create(ia_handle, evd_min_qlen,
					      cno_handle, (DAT_EVD_FLAGS)flags,
					      evd_handle),
			       evd_handle, ia_handle, DCNT_IA_EVD_CREATE);
}

static void count(DAT_EVD_HANDLE evd_handle, DAT_EVD_COUNTERS counter)
{
	kdat_count(evd_handle, KDAT_COUNTED_EVD, counter, 1);
}

/* What is there can be taken without waiting. */
static bool must_wait(DAT_EVD_HANDLE evd_handle, DAT_COUNT threshold)
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
 * @threshold: how many events must be there
 * @event: out
 * @nmore: out: how many more there are
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			 DAT_COUNT threshold, DAT_EVENT *event,
			 DAT_COUNT *nmore)
{
	bool blocked = must_wait(evd_handle, threshold);
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
 * Return: as libdat's, but DAT_QUEUE_EMPTY as it is, of no class: libdaplofa
 * says it like that, and programs compare with it, Debian's dtest among them.
 */
DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	DAT_RETURN ret = libdat_evd_dequeue(evd_handle, event);

	if (ret == DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE)) {
		count_dequeue(evd_handle, DCNT_EVD_DEQUEUE_NOT_FOUND);
		return DAT_QUEUE_EMPTY;
	}
	if (ret == DAT_SUCCESS) {
		count_dequeue(evd_handle, DCNT_EVD_DEQUEUE_FOUND);
		kdat_count_event(evd_handle, event);
	} else if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE) {
		count(evd_handle, DCNT_EVD_DEQUEUE);
	}
	return ret;
}

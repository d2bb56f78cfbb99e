// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd.c - event dispatchers: made, freed, emptied
 */
#include "libdat.h"
#include "foreign.h"

static DAT_RETURN bad_evd(void)
{
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/**
 * libdat_evd_add - map the ring of a new EVD, and remember it
 * @evd: from libdat_object_alloc(); stays the caller's on failure
 * @handle: the kernel's handle
 * @ia: the kernel's handle of its IA
 * @entries: of the ring
 * @qlen: the queue length that was asked for
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR.
 */
DAT_RETURN libdat_evd_add(struct libdat_evd *evd, __u32 handle, __u32 ia,
			  __u32 entries, DAT_COUNT qlen)
{
	if (!entries || entries & (entries - 1))
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);

	evd->entries = entries;
	evd->qlen = (__u32)qlen;
	evd->ring = libdat_map_ring(handle, entries);
	if (!evd->ring)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);

	libdat_object_add(&evd->object, handle, ia);
	return DAT_SUCCESS;
}

/**
 * libdat_evd_unnotified - an EP will not notify an EVD of all events, or has gone
 * @handle: the kernel's handle of the EVD, or NO_HANDLE
 * @flags: completion flags of the EP for the stream that feeds the EVD
 * @count: 1 for an EP that was made, -1 for one that was freed
 *
 * From now on an empty ring does not mean that there are no events, not even
 * when the EP has gone. Thread safe.
 */
void libdat_evd_unnotified(__u32 handle, __u32 flags, int count)
{
	struct libdat_evd *evd;

	if (!(flags & (DAT_COMPLETION_UNSIGNALLED_FLAG |
		       DAT_COMPLETION_SOLICITED_WAIT_FLAG)))
		return;
	evd = libdat_object_lock(handle, LIBDAT_EVD);
	if (!evd)
		return;
	__atomic_store_n(&evd->pull, true, __ATOMIC_RELAXED);
	evd->unnotified += count;
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		evd->solicited += count;
	libdat_object_unlock(handle);
}

/**
 * dat_evd_create - make an EVD
 * @ia_handle: the IA
 * @evd_min_qlen: how many events it must hold at least
 * @cno_handle: the CNO that its events trigger, or DAT_HANDLE_NULL
 * @evd_flags: which event streams may feed it
 * @evd_handle: out
 *
 * Thread safe. See dat_evd_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle)
{
	struct dat_dev_evd_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.min_qlen = (__u32)evd_min_qlen,
		.flags = evd_flags,
		.cno = libdat_handle_in(cno_handle),
	};
	struct libdat_foreign foreign;
	struct libdat_evd *evd;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		libdat_foreign_beside(&foreign, cno_handle, DAT_HANDLE_TYPE_CNO,
				      DAT_INVALID_HANDLE_CNO);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_EVD, evd_handle,
				    evd_create_func, ia_handle, evd_min_qlen,
				    cno_handle, evd_flags, evd_handle);
	}
	if (evd_min_qlen < 0)
		return BAD_ARG(2);
	if (!evd_handle)
		return BAD_ARG(5);

	evd = libdat_object_alloc(LIBDAT_EVD);
	if (!evd)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);

	ret = libdat_call(DAT_DEV_EVD_CREATE, &arg);
	if (ret != DAT_SUCCESS)
		goto discard;
	ret = libdat_evd_add(evd, arg.evd, arg.ia, arg.ring_entries,
			     evd_min_qlen);
	if (ret != DAT_SUCCESS)
		goto free_evd;

	*evd_handle = libdat_handle_out(arg.evd);
	return DAT_SUCCESS;

free_evd:
	libdat_free_call(DAT_DEV_EVD_FREE, libdat_handle_out(arg.evd));
discard:
	libdat_object_discard(&evd->object);
	/* The flags are the fifth argument of the kernel's call. */
	return ret == BAD_ARG(5) ? BAD_ARG(4) : ret;
}

/* How many events there are, counting those that nobody was notified of */
static DAT_RETURN count_events(struct libdat_evd *evd, __u32 wanted,
			       __u32 *count)
{
	struct dat_dev_evd_wait arg = {
		.size = sizeof(arg),
		.evd = evd->object.handle,
	};
	DAT_RETURN ret = DAT_SUCCESS;

	*count = libdat_ring_count(evd);
	if (*count < wanted && evd->pull) {
		ret = libdat_call(DAT_DEV_EVD_PULL, &arg);
		*count = libdat_ring_count(evd);
	}
	return ret;
}

/* Apart from its caller, which is in a hurry if there is nothing. */
static __attribute__((noinline)) DAT_RETURN take_first(__u32 handle,
						       DAT_EVENT *event)
{
	struct dat_dev_event raw;
	struct libdat_evd *evd;
	DAT_RETURN ret;
	__u32 count;
	__u32 ia;

	evd = libdat_object_lock(handle, LIBDAT_EVD);
	if (!evd)
		return bad_evd();

	libdat_ring_check(evd);
	if (libdat_ring_has_waiter(evd)) {
		ret = DAT_ERROR(DAT_INVALID_STATE,
				DAT_INVALID_STATE_EVD_WAITER);
		goto unlock;
	}
	ret = count_events(evd, 1, &count);
	if (!count) {
		if (ret == DAT_SUCCESS)
			ret = DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
		goto unlock;
	}

	libdat_ring_consume(evd, &raw);
	ia = evd->object.ia;
	libdat_object_unlock(handle);

	libdat_event_out(event, &raw, handle, ia);
	return DAT_SUCCESS;

unlock:
	libdat_object_unlock(handle);
	return ret;
}

/**
 * dat_evd_dequeue - take the first event
 * @evd_handle: the EVD
 * @event: out
 *
 * No system call is made, unless the EVD is empty and an EP feeds it without
 * notification, or the event carries private data. Thread safe. See
 * dat_evd_dequeue(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_QUEUE_EMPTY, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_INVALID_STATE if a thread waits.
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	__u32 handle = libdat_handle_in(evd_handle);
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD)) {
		ret = FOREIGN_CALL(&foreign, evd_dequeue_func, evd_handle,
				   event);
		return libdat_foreign_event(&foreign, event, ret);
	}
	if (!event)
		return BAD_ARG(2);
	if (libdat_peek_is_empty(handle))
		return DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	return take_first(handle, event);
}

/*
 * Sleep in the kernel. The EVD is unlocked meanwhile; if it has gone, the
 * answer is NULL and DAT_ABORT.
 */
static struct libdat_evd *wait_unlocked(struct libdat_evd *evd,
					DAT_TIMEOUT timeout, __u32 threshold,
					DAT_RETURN *ret)
{
	struct dat_dev_evd_wait arg = {
		.size = sizeof(arg),
		.evd = evd->object.handle,
		.timeout = timeout,
		.threshold = threshold,
	};
	unsigned long serial = evd->object.serial;

	__atomic_store_n(&evd->waiting, true, __ATOMIC_RELAXED);
	libdat_object_unlock(arg.evd);

	*ret = libdat_call(DAT_DEV_EVD_WAIT, &arg);

	evd = libdat_object_lock(arg.evd, LIBDAT_EVD);
	if (evd && evd->object.serial != serial) {
		libdat_object_unlock(arg.evd);
		evd = NULL;
	}
	if (evd)
		__atomic_store_n(&evd->waiting, false, __ATOMIC_RELAXED);
	else
		*ret = DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE);
	return evd;
}

/* May this thread wait for @threshold events? */
static DAT_RETURN check_wait(const struct libdat_evd *evd, DAT_COUNT threshold)
{
	if (threshold <= 0 || (__u32)threshold > evd->qlen)
		return BAD_ARG(3);
	if (libdat_ring_is_unwaitable(evd))
		return DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_EVD_UNWAITABLE);
	if (libdat_ring_has_waiter(evd))
		return DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_EVD_WAITER);
	if (threshold > 1 && evd->unnotified > 0)
		return DAT_ERROR(DAT_INVALID_STATE, evd->solicited > 0 ?
				 DAT_INVALID_STATE_EVD_CONFIG_SOLICITED :
				 DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	return DAT_SUCCESS;
}

/**
 * dat_evd_wait - wait for events, and take the first
 * @evd_handle: the EVD
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @threshold: how many events to wait for
 * @event: out
 * @nmore: out, also for DAT_TIMEOUT_EXPIRED and DAT_INTERRUPTED_CALL: how many
 *	events are left
 *
 * No system call is made if there are enough events already. Thread safe, but
 * only one thread may wait at a time. See dat_evd_wait(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_TIMEOUT_EXPIRED, DAT_INTERRUPTED_CALL, DAT_ABORT if
 * the EVD or its IA went away meanwhile, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_INVALID_STATE if another thread waits, the EVD is
 * unwaitable, or for a threshold over 1 on an EVD that is not notified of all its events.
 */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	__u32 handle = libdat_handle_in(evd_handle);
	struct libdat_foreign foreign;
	struct dat_dev_event raw;
	struct libdat_evd *evd;
	DAT_RETURN ret;
	__u32 count;
	__u32 ia;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD)) {
		ret = FOREIGN_CALL(&foreign, evd_wait_func, evd_handle,
				   timeout, threshold, event, nmore);
		return libdat_foreign_event(&foreign, event, ret);
	}
	if (!event)
		return BAD_ARG(4);
	if (!nmore)
		return BAD_ARG(5);
	evd = libdat_object_lock(handle, LIBDAT_EVD);
	if (!evd)
		return bad_evd();

	libdat_ring_check(evd);
	ret = check_wait(evd, threshold);
	if (ret != DAT_SUCCESS)
		goto unlock;

	/* If there are too few, the kernel says what is wrong, not this. */
	count_events(evd, (__u32)threshold, &count);
	if (count < (__u32)threshold) {
		evd = wait_unlocked(evd, timeout, (__u32)threshold, &ret);
		if (!evd)
			return ret;
		count = libdat_ring_count(evd);
	}
	/* Another process that shares the file can have been quicker. */
	if (ret == DAT_SUCCESS && !count)
		ret = DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	*nmore = libdat_count_out(count);
	if (ret != DAT_SUCCESS)
		goto unlock;

	libdat_ring_consume(evd, &raw);
	*nmore = libdat_count_out(count - 1);
	ia = evd->object.ia;
	libdat_object_unlock(handle);

	libdat_event_out(event, &raw, handle, ia);
	return DAT_SUCCESS;

unlock:
	libdat_object_unlock(handle);
	return ret;
}

/**
 * dat_evd_free - free an EVD
 * @evd_handle: the EVD
 *
 * Events that are left in it are lost. Thread safe. See dat_evd_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE if it is in use.
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, evd_handle, DAT_HANDLE_TYPE_EVD))
		return FOREIGN_FREE(&foreign, evd_free_func, evd_handle);
	ret = libdat_free_call(DAT_DEV_EVD_FREE, evd_handle);
	if (ret == DAT_SUCCESS)
		libdat_object_drop(libdat_handle_in(evd_handle), LIBDAT_EVD);
	return ret;
}

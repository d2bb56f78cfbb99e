// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd.c - EVDs: create, take events, wait, query, resize
 *
 * An EVD is a ring in memory that the process maps: the kernel produces events,
 * libdat consumes them. libdat makes no system call while the ring has events.
 * The entry of the EVD in the table has the mapping and is locked while a thread
 * uses the ring, but not while the thread sleeps in the kernel.
 */
#include "libdat.h"

#define BAD_EVD	DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)

/**
 * libdat_evd_add - map the ring of a new EVD, and add the EVD to the table
 * @evd: from libdat_object_alloc(); still the caller's after a failure
 * @handle: the kernel's handle of the EVD
 * @ia: the kernel's handle of its IA
 * @entries: entries of the ring
 * @qlen: the requested queue length
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
		return NO_MEMORY;

	libdat_object_add(&evd->object, handle, ia);
	return DAT_SUCCESS;
}

/**
 * libdat_evd_unnotified - count the EPs that feed an EVD without notification
 * @handle: the kernel's handle of the EVD, or NO_HANDLE
 * @flags: completion flags of the EP for this EVD
 * @count: 1 for a new EP, -1 for one that was freed
 *
 * From now on an empty ring does not prove that the EVD has no events, not even
 * after the EP is freed. Thread safe.
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

DAT_RETURN libdat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			     DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			     DAT_EVD_HANDLE *evd_handle)
{
	struct dat_dev_evd_create arg = {
		.size = sizeof(arg),
		.ia = libdat_to_kernel(ia_handle),
		.min_qlen = (__u32)evd_min_qlen,
		.flags = evd_flags,
		.cno = libdat_to_kernel(cno_handle),
	};
	struct libdat_evd *evd;
	DAT_RETURN ret;

	if (evd_min_qlen < 0)
		return BAD_ARG(2);
	if (!evd_handle)
		return BAD_ARG(5);

	evd = libdat_object_alloc(LIBDAT_EVD);
	ret = libdat_object_call(&evd->object, DAT_DEV_EVD_CREATE, &arg);
	/* The flags are argument 5 of the kernel's call and 4 of this one. */
	if (ret != DAT_SUCCESS)
		return ret == BAD_ARG(5) ? BAD_ARG(4) : ret;
	ret = libdat_evd_add(evd, arg.evd, arg.ia, arg.ring_entries,
			     evd_min_qlen);
	if (ret == DAT_SUCCESS) {
		*evd_handle = libdat_to_user(arg.evd);
	} else {
		libdat_free_call(DAT_DEV_EVD_FREE, arg.evd);
		libdat_object_destroy(&evd->object);
	}
	return ret;
}

/* The number of events, including those that came without notification */
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

/*
 * Lock an EVD that has an event and no waiter, and count its events. After a failure it is
 * not locked.
 */
static DAT_RETURN lock_with_event(__u32 handle, struct libdat_evd **evd, __u32 *count)
{
	DAT_RETURN ret;

	*evd = libdat_object_lock(handle, LIBDAT_EVD);
	if (!*evd)
		return BAD_EVD;

	libdat_ring_check(*evd);
	if (libdat_ring_has_waiter(*evd)) {
		ret = DAT_ERROR(DAT_INVALID_STATE,
				DAT_INVALID_STATE_EVD_WAITER);
		goto unlock;
	}
	ret = count_events(*evd, 1, count);
	if (*count)
		return DAT_SUCCESS;
	if (ret == DAT_SUCCESS)
		ret = DAT_QUEUE_EMPTY;

unlock:
	libdat_object_unlock(handle);
	return ret;
}

/* Not inline: keeps the registers of this out of the path of an empty EVD. */
static __attribute__((noinline)) DAT_RETURN take_first(__u32 handle,
						       DAT_EVENT *event)
{
	struct dat_dev_event raw;
	struct libdat_evd *evd;
	DAT_RETURN ret;
	__u32 count;
	__u32 ia;

	ret = lock_with_event(handle, &evd, &count);
	if (ret != DAT_SUCCESS)
		return ret;
	libdat_ring_consume(evd, &raw);
	ia = evd->object.ia;
	libdat_object_unlock(handle);

	libdat_event_to_user(event, &raw, handle, ia);
	return DAT_SUCCESS;
}

static bool is_completion(const struct dat_dev_event *raw)
{
	return raw->number == DAT_DTO_COMPLETION_EVENT || raw->number == DAT_DEV_IB_DTO_EVENT ||
	       raw->number == DAT_RMR_BIND_COMPLETION_EVENT;
}

/**
 * libdat_evd_take - take completions out of an EVD
 * @handle: the EVD
 * @max: entries of @raw
 * @raw: out: the completions
 * @num: out: their number; an event that is no completion ends them
 *
 * Thread safe. Makes no system call, unless events come without notification.
 *
 * Return: as dat_evd_dequeue(); DAT_SUCCESS if there is an event.
 */
DAT_RETURN libdat_evd_take(__u32 handle, __u32 max, struct dat_dev_event *raw, __u32 *num)
{
	struct libdat_evd *evd;
	DAT_RETURN ret;
	__u32 count;

	*num = 0;
	if (libdat_lockless_is_empty(handle))
		return DAT_QUEUE_EMPTY;
	ret = lock_with_event(handle, &evd, &count);
	if (ret != DAT_SUCCESS)
		return ret;
	for (; *num < max && *num < count; (*num)++) {
		libdat_ring_first(evd, &raw[*num]);
		if (!is_completion(&raw[*num]))
			break;
		libdat_ring_advance(evd);
	}
	libdat_object_unlock(handle);
	return DAT_SUCCESS;
}

DAT_RETURN libdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	__u32 handle = libdat_to_kernel(evd_handle);

	if (!event)
		return BAD_ARG(2);
	if (libdat_lockless_is_empty(handle))
		return DAT_QUEUE_EMPTY;
	return take_first(handle, event);
}

/*
 * Sleep in the kernel with the EVD unlocked, after the post, if there is one. If the EVD is
 * freed meanwhile, return NULL and set @ret to DAT_ABORT.
 */
static struct libdat_evd *wait_unlocked(struct libdat_evd *evd, struct dat_dev_post *post,
					DAT_TIMEOUT timeout, __u32 threshold,
					DAT_RETURN *ret)
{
	struct dat_dev_evd_wait arg = {
		.size = offsetof(struct dat_dev_evd_wait, dtos),
		.evd = evd->object.handle,
		.timeout = timeout,
		.threshold = threshold,
	};
	unsigned long serial = evd->object.serial;

	if (post) {
		arg.size = sizeof(arg);
		arg.dtos = post->dtos;
		arg.num_dtos = post->num_dtos;
		arg.dto_size = post->dto_size;
	}

	__atomic_store_n(&evd->waiting, true, __ATOMIC_RELAXED);
	libdat_object_unlock(arg.evd);

	*ret = libdat_call(DAT_DEV_EVD_WAIT, &arg);
	if (post)
		post->posted = arg.posted;

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

/* Returns DAT_SUCCESS if a thread may wait for @threshold events, @range if no thread may. */
static DAT_RETURN check_wait(const struct libdat_evd *evd, DAT_COUNT threshold,
			     DAT_RETURN range)
{
	if (threshold <= 0 || (__u32)threshold > evd->qlen)
		return range;
	if (__atomic_load_n(&evd->ring->state, __ATOMIC_RELAXED) &
	    DAT_DEV_EVD_UNWAITABLE)
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
 * libdat_evd_begin_wait - prepare a wait for another thread
 * @handle: the EVD
 * @timeout: in microseconds
 * @threshold: events to wait for
 * @arg: out: argument of DAT_DEV_EVD_WAIT
 *
 * Thread safe.
 *
 * Return: as dat_evd_wait() before it waits.
 */
DAT_RETURN libdat_evd_begin_wait(__u32 handle, DAT_TIMEOUT timeout,
				 DAT_COUNT threshold, struct dat_dev_evd_wait *arg)
{
	struct libdat_evd *evd = libdat_object_lock(handle, LIBDAT_EVD);
	DAT_RETURN ret;
	__u32 count;

	if (!evd)
		return BAD_EVD;
	libdat_ring_check(evd);
	ret = check_wait(evd, threshold, BAD_ARG(3));
	if (ret == DAT_SUCCESS) {
		count_events(evd, (__u32)threshold, &count);
		*arg = (struct dat_dev_evd_wait){
			.size = sizeof(*arg),
			.evd = handle,
			.timeout = timeout,
			.threshold = (__u32)threshold,
		};
	}
	libdat_object_unlock(handle);
	return ret;
}

/**
 * libdat_evd_post_wait - post DTOs, and wait for an event
 * @evd_handle: the EVD
 * @post: the DTOs of dat_linux_post_wait(), posted is an output; NULL for dat_evd_wait()
 * @timeout: in microseconds
 * @threshold: events to wait for
 * @event: out: the first event
 * @nmore: out: how many events remain
 *
 * Thread safe. Makes one system call; without DTOs none if there are enough events.
 *
 * Return: as dat_evd_wait(); as dat_linux_post() if not all DTOs were posted.
 */
DAT_RETURN libdat_evd_post_wait(DAT_EVD_HANDLE evd_handle, struct dat_dev_post *post,
				DAT_TIMEOUT timeout, DAT_COUNT threshold,
				DAT_EVENT *event, DAT_COUNT *nmore)
{
	__u32 handle = libdat_to_kernel(evd_handle);
	struct dat_dev_event raw;
	struct libdat_evd *evd;
	DAT_RETURN ret;
	__u32 count;
	__u32 ia;

	evd = libdat_object_lock(handle, LIBDAT_EVD);
	if (!evd)
		return BAD_EVD;

	libdat_ring_check(evd);
	ret = check_wait(evd, threshold, post ? BAD_ARG(6) : BAD_ARG(3));
	if (ret != DAT_SUCCESS)
		goto unlock;

	/* Ignore errors: DAT_DEV_EVD_WAIT reports them if events are missing. */
	count_events(evd, (__u32)threshold, &count);
	if ((post && post->num_dtos) || count < (__u32)threshold) {
		evd = wait_unlocked(evd, post, timeout, (__u32)threshold, &ret);
		if (!evd)
			return ret;
		count = libdat_ring_count(evd);
	}
	/* Another process that shares the file may have taken the event. */
	if (ret == DAT_SUCCESS && !count)
		ret = DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	*nmore = libdat_count_to_user(count);
	if (ret != DAT_SUCCESS)
		goto unlock;

	libdat_ring_consume(evd, &raw);
	*nmore = libdat_count_to_user(count - 1);
	ia = evd->object.ia;
	libdat_object_unlock(handle);

	libdat_event_to_user(event, &raw, handle, ia);
	return DAT_SUCCESS;

unlock:
	libdat_object_unlock(handle);
	return ret;
}

DAT_RETURN libdat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			   DAT_COUNT threshold, DAT_EVENT *event,
			   DAT_COUNT *nmore)
{
	if (!event)
		return BAD_ARG(4);
	if (!nmore)
		return BAD_ARG(5);
	return libdat_evd_post_wait(evd_handle, NULL, timeout, threshold, event, nmore);
}

static DAT_EVD_STATE state_to_user(const struct libdat_evd *evd, __u32 state)
{
	int out = DAT_EVD_STATE_ENABLED;

	if (state & DAT_DEV_EVD_DISABLED)
		out = DAT_EVD_STATE_DISABLED;
	out |= state & DAT_DEV_EVD_UNWAITABLE ? DAT_EVD_STATE_UNWAITABLE :
						DAT_EVD_STATE_WAITABLE;
	/* The condition that wakes a thread in dat_evd_wait() */
	if (evd->solicited > 0)
		out |= DAT_EVD_STATE_CONFIG_SOLICITED;
	else if (evd->unnotified > 0)
		out |= DAT_EVD_STATE_CONFIG_NOTIFY;
	else
		out |= DAT_EVD_STATE_CONFIG_THRESHOLD;
	return (DAT_EVD_STATE)out;
}

/**
 * libdat_evd_param_to_user - translate the result of DAT_DEV_EVD_QUERY
 * @out: the program's parameters
 * @in: the kernel's parameters
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE if another thread freed the EVD.
 */
DAT_RETURN libdat_evd_param_to_user(DAT_EVD_PARAM *out,
				    const struct dat_dev_evd_query *in)
{
	struct libdat_evd *evd = libdat_object_lock(in->evd, LIBDAT_EVD);

	if (!evd)
		return BAD_EVD;
	out->ia_handle = libdat_to_user(in->ia);
	out->evd_qlen = libdat_count_to_user(in->qlen);
	out->evd_state = state_to_user(evd, in->state);
	out->cno_handle = libdat_to_user(in->cno);
	out->evd_flags = (DAT_EVD_FLAGS)in->flags;
	libdat_object_unlock(in->evd);
	return DAT_SUCCESS;
}

DAT_RETURN libdat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	struct dat_dev_evd_resize arg = {
		.size = sizeof(arg),
		.evd = libdat_to_kernel(evd_handle),
		.min_qlen = (__u32)evd_min_qlen,
	};
	struct libdat_evd *evd;
	DAT_RETURN ret;

	if (evd_min_qlen < 0)
		return BAD_ARG(2);
	evd = libdat_object_lock(arg.evd, LIBDAT_EVD);
	if (!evd)
		return BAD_EVD;
	/* No thread may take or miss an event while the kernel moves it. */
	libdat_lockless_withdraw(evd);
	ret = libdat_call(DAT_DEV_EVD_RESIZE, &arg);
	if (ret == DAT_SUCCESS)
		libdat_ring_renew(evd);
	libdat_lockless_publish(evd);
	libdat_object_unlock(arg.evd);
	return ret;
}

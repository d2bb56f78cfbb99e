// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ring.c - the consumer's end of an EVD's ring
 *
 * All of these are called with the EVD locked.
 */
#include "libdat.h"

/**
 * libdat_ring_renew - map the ring of an EVD that has been resized
 * @evd: the EVD, locked
 *
 * If that fails the old ring stays, which is empty, and the next one who looks
 * for events tries again.
 */
void libdat_ring_renew(struct libdat_evd *evd)
{
	struct dat_dev_evd_query query = {
		.size = sizeof(query),
		.evd = evd->object.handle,
	};
	struct dat_dev_ring *ring;

	if (libdat_call(DAT_DEV_EVD_QUERY, &query) != DAT_SUCCESS)
		return;
	ring = libdat_map_ring(query.evd, query.ring_entries);
	if (!ring)
		return;
	libdat_peek_hide(evd);
	libdat_unmap_ring(evd->ring, evd->entries);
	evd->ring = ring;
	evd->entries = query.ring_entries;
	evd->qlen = query.qlen;
	libdat_peek_show(evd);
}

/**
 * libdat_ring_check - see to it that the ring is the one that the EVD has now
 * @evd: the EVD, locked
 *
 * Another process that shares the file may have resized it. What an old ring
 * says of waiters and states is never true again.
 */
void libdat_ring_check(struct libdat_evd *evd)
{
	if (__builtin_expect(__atomic_load_n(&evd->ring->is_old,
					     __ATOMIC_RELAXED), 0))
		libdat_ring_renew(evd);
}

/**
 * libdat_ring_count - how many events are in the ring
 * @evd: the EVD, locked
 *
 * Return: the number, at most the size of the ring, whatever the shared memory
 * says.
 */
__u32 libdat_ring_count(struct libdat_evd *evd)
{
	__u32 tail, head, count;

	libdat_ring_check(evd);
	tail = __atomic_load_n(&evd->ring->tail, __ATOMIC_ACQUIRE);
	head = __atomic_load_n(&evd->ring->head, __ATOMIC_RELAXED);
	count = tail - head;
	return count <= evd->entries ? count : evd->entries;
}

/**
 * libdat_ring_consume - take the first event out of the ring
 * @evd: the EVD, locked; its ring is not empty
 * @event: out
 */
void libdat_ring_consume(struct libdat_evd *evd, struct dat_dev_event *event)
{
	__u32 head = __atomic_load_n(&evd->ring->head, __ATOMIC_RELAXED);

	*event = evd->ring->events[head & (evd->entries - 1)];
	__atomic_store_n(&evd->ring->head, head + 1, __ATOMIC_RELEASE);
}

/**
 * libdat_ring_has_waiter - does anybody wait for events
 * @evd: the EVD, locked
 *
 * The kernel's word counts, too: the file may be shared with another process.
 *
 * Return: true if a thread is in dat_evd_wait().
 */
bool libdat_ring_has_waiter(const struct libdat_evd *evd)
{
	return evd->waiting ||
	       __atomic_load_n(&evd->ring->waiting, __ATOMIC_RELAXED);
}

/**
 * libdat_ring_is_unwaitable - has dat_evd_set_unwaitable() been called
 * @evd: the EVD, locked
 *
 * Return: true if nobody may wait.
 */
bool libdat_ring_is_unwaitable(const struct libdat_evd *evd)
{
	return __atomic_load_n(&evd->ring->state, __ATOMIC_RELAXED) &
	       DAT_DEV_EVD_UNWAITABLE;
}

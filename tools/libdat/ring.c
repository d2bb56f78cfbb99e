// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ring.c - the ring of an EVD, from the side of the consumer
 *
 * The kernel writes the events and the tail, libdat writes the head. Callers hold
 * the lock of the EVD. The ring is shared memory, so every value that libdat
 * reads from it is checked.
 */
#include "libdat.h"

/**
 * libdat_ring_renew - map the new ring of an EVD that was resized
 * @evd: the EVD, locked
 *
 * After a failure the old ring stays mapped. The old ring is empty, and the next
 * look for events tries again.
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
	libdat_lockless_withdraw(evd);
	libdat_unmap_ring(evd->ring, evd->entries);
	evd->ring = ring;
	evd->entries = query.ring_entries;
	evd->qlen = query.qlen;
	libdat_lockless_publish(evd);
}

/**
 * libdat_ring_check - map the new ring if another process resized the EVD
 * @evd: the EVD, locked
 *
 * The kernel no longer updates the waiters and the state in an old ring.
 */
void libdat_ring_check(struct libdat_evd *evd)
{
	if (__builtin_expect(__atomic_load_n(&evd->ring->is_old,
					     __ATOMIC_RELAXED), 0))
		libdat_ring_renew(evd);
}

/**
 * libdat_ring_count - the number of events in the ring
 * @evd: the EVD, locked
 *
 * Return: the number, at most the entries of the ring.
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
 * libdat_ring_first - copy the first event of the ring
 * @evd: the EVD, locked; its ring is not empty
 * @event: out: the event
 */
void libdat_ring_first(const struct libdat_evd *evd, struct dat_dev_event *event)
{
	__u32 head = __atomic_load_n(&evd->ring->head, __ATOMIC_RELAXED);

	*event = evd->ring->events[head & (evd->entries - 1)];
}

/**
 * libdat_ring_advance - remove the first event of the ring
 * @evd: the EVD, locked; its ring is not empty
 */
void libdat_ring_advance(struct libdat_evd *evd)
{
	__u32 head = __atomic_load_n(&evd->ring->head, __ATOMIC_RELAXED);

	__atomic_store_n(&evd->ring->head, head + 1, __ATOMIC_RELEASE);
}

/**
 * libdat_ring_consume - take the first event out of the ring
 * @evd: the EVD, locked; its ring is not empty
 * @event: out: the event
 */
void libdat_ring_consume(struct libdat_evd *evd, struct dat_dev_event *event)
{
	libdat_ring_first(evd, event);
	libdat_ring_advance(evd);
}

/**
 * libdat_ring_has_waiter - test whether a thread waits for events
 * @evd: the EVD, locked
 *
 * The waiter may be a thread of another process that shares the file.
 *
 * Return: true if a thread is in dat_evd_wait().
 */
bool libdat_ring_has_waiter(const struct libdat_evd *evd)
{
	return evd->waiting ||
	       __atomic_load_n(&evd->ring->waiting, __ATOMIC_RELAXED);
}

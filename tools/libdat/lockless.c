// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lockless.c - test whether an EVD is empty without its lock
 *
 * Programs that poll ask this most of the time. Each bucket of table.c has a
 * slot with one of its EVDs: the EVD that was added or resized last. The other
 * EVDs of the bucket are tested under the lock. A reader counts itself in the
 * slot. To unmap a ring, withdraw the EVD from its slot, and wait until the slot
 * has no readers.
 */
#include <sched.h>
#include <stdatomic.h>

#include "libdat.h"

static struct slot {
	atomic_uint readers;
	struct libdat_evd *_Atomic evd;
} __attribute__((aligned(64))) slots[LIBDAT_NUM_BUCKETS];

/**
 * libdat_lockless_publish - let readers find an EVD
 * @evd: the EVD, in the table, locked
 */
void libdat_lockless_publish(struct libdat_evd *evd)
{
	struct slot *slot = &slots[libdat_bucket_of(evd->object.handle)];

	atomic_store(&slot->evd, evd);
}

/**
 * libdat_lockless_withdraw - hide an EVD, and wait for its readers
 * @evd: the EVD, locked
 */
void libdat_lockless_withdraw(struct libdat_evd *evd)
{
	struct slot *slot = &slots[libdat_bucket_of(evd->object.handle)];
	struct libdat_evd *shown;

	/*
	 * A reader may have found this EVD before another one replaced it, so
	 * wait in any case. Empty the slot meanwhile, so that no new readers of
	 * the other EVD prolong the wait.
	 */
	shown = atomic_exchange(&slot->evd, NULL);
	while (atomic_load(&slot->readers))
		sched_yield();
	if (shown != evd)
		atomic_store(&slot->evd, shown);
}

/**
 * libdat_lockless_disown - forget all EVDs and readers
 *
 * For a child of fork(): not thread safe.
 */
void libdat_lockless_disown(void)
{
	int i;

	for (i = 0; i < LIBDAT_NUM_BUCKETS; i++) {
		atomic_store(&slots[i].evd, NULL);
		atomic_store(&slots[i].readers, 0);
	}
}

/* No thread waits, and the kernel has no events that are not in the ring. */
static bool is_simply_empty(const struct libdat_evd *evd)
{
	const struct dat_dev_ring *ring = evd->ring;

	return !__atomic_load_n(&evd->pull, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&evd->waiting, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&ring->waiting, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&ring->is_old, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) ==
		       __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
}

/**
 * libdat_lockless_is_empty - test whether dat_evd_dequeue() finds no event
 * @handle: the kernel's handle of the EVD, or any other number
 *
 * Thread safe.
 *
 * Return: true if dat_evd_dequeue() returns DAT_QUEUE_EMPTY; false if the EVD
 * must be locked to find out.
 */
bool libdat_lockless_is_empty(__u32 handle)
{
	struct slot *slot = &slots[libdat_bucket_of(handle)];
	struct libdat_evd *evd;
	bool is_empty;

	atomic_fetch_add(&slot->readers, 1);
	evd = atomic_load(&slot->evd);
	is_empty = evd && evd->object.handle == handle && is_simply_empty(evd);
	atomic_fetch_sub_explicit(&slot->readers, 1, memory_order_release);
	return is_empty;
}

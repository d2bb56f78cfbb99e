// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * peek.c - looks whether an EVD is empty without locking it
 *
 * A program that polls asks nothing else most of the time. There is a slot for
 * each bucket of table.c, and in it one EVD of that bucket, the one that was
 * added or resized last; the others are locked to be looked at. Who looks says so in the slot. Who
 * takes the EVD, or its ring, away first takes it out of the slot, and then
 * waits until nobody is looking. The slots themselves are always there.
 */
#include <sched.h>
#include <stdatomic.h>

#include "libdat.h"

static struct slot {
	atomic_uint lookers;
	struct libdat_evd *_Atomic evd;
} __attribute__((aligned(64))) slots[LIBDAT_NUM_BUCKETS];

/**
 * libdat_peek_show - an EVD may be looked at from now on
 * @evd: the EVD, in its place in the table, locked
 */
void libdat_peek_show(struct libdat_evd *evd)
{
	struct slot *slot = &slots[libdat_bucket_of(evd->object.handle)];

	atomic_store(&slot->evd, evd);
}

/**
 * libdat_peek_hide - nobody looks at an EVD any more when this returns
 * @evd: the EVD, locked
 */
void libdat_peek_hide(struct libdat_evd *evd)
{
	struct slot *slot = &slots[libdat_bucket_of(evd->object.handle)];
	struct libdat_evd *shown;

	/*
	 * Even if another one is in the slot by now, somebody may have found this
	 * one there before. Those who look at the other must not go on for ever.
	 */
	shown = atomic_exchange(&slot->evd, NULL);
	while (atomic_load(&slot->lookers))
		sched_yield();
	if (shown != evd)
		atomic_store(&slot->evd, shown);
}

/**
 * libdat_peek_after_fork - in a child none of those who looked is there
 *
 * It is the only thread.
 */
void libdat_peek_after_fork(void)
{
	int i;

	for (i = 0; i < LIBDAT_NUM_BUCKETS; i++)
		atomic_store(&slots[i].lookers, 0);
}

/* Nobody waits, and all the events there are would be in the ring. */
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
 * libdat_peek_is_empty - has an EVD no events, and nothing else to be said?
 * @handle: the kernel's handle of it, or what a program takes for one
 *
 * Thread safe.
 *
 * Return: true if dat_evd_dequeue() is to say DAT_QUEUE_EMPTY; false if the EVD
 * must be locked to tell.
 */
bool libdat_peek_is_empty(__u32 handle)
{
	struct slot *slot = &slots[libdat_bucket_of(handle)];
	struct libdat_evd *evd;
	bool is_empty;

	atomic_fetch_add(&slot->lookers, 1);
	evd = atomic_load(&slot->evd);
	is_empty = evd && evd->object.handle == handle && is_simply_empty(evd);
	atomic_fetch_sub_explicit(&slot->lookers, 1, memory_order_release);
	return is_empty;
}

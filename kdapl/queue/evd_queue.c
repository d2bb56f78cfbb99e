// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_queue.c - the queue of an EVD: a ring and, behind it, a CQ
 *
 * Completions wait in the CQ until a dequeue or an upcall takes them. Other events wait
 * in the ring. Events in the ring are older than completions in the CQ. evd->lock guards
 * both. Consumers dequeue in process or softirq context; the other layers post events and
 * collect completions.
 */
#include "base/calls.h"
#include "dev/ia.h"
#include "queue/dto.h"
#include "queue/evd.h"
#include "queue/srq.h"

static bool ring_is_full(const struct dat_evd *evd)
{
	return READ_ONCE(evd->tail) - READ_ONCE(evd->head) >
	       READ_ONCE(evd->mask) - evd->spare;
}

static void ring_add(struct dat_evd *evd, const struct dat_evd_entry *entry)
{
	evd->ring[evd->tail & evd->mask] = *entry;
	WRITE_ONCE(evd->tail, evd->tail + 1);
	if (!entry->unsignalled)
		WRITE_ONCE(evd->notify, evd->notify + 1);
}

/*
 * Reports a loss of events once. Other EVDs report on the asynchronous EVD of their IA.
 * That EVD has a spare entry for its own losses. The spare entry is free when it is
 * needed, because each dequeue makes room for one more event.
 */
static void ring_overflow(struct dat_evd *evd)
{
	struct dat_evd_entry entry = {
		.number = DAT_ASYNC_ERROR_EVD_OVERFLOW,
		.data.asynch_error_event_data = {
			.dat_handle = evd->obj.handle,
			.reason = DAT_EVD_OVERFLOW_ERROR,
		},
	};

	if (evd->overflown)
		return;
	evd->overflown = true;
	if (!evd->spare || READ_ONCE(evd->obj.ia->async_evd) != &evd->obj) {
		dat_evd_overflow(evd);
		return;
	}
	ring_add(evd, &entry);
}

static bool ring_push(struct dat_evd *evd, const struct dat_evd_entry *entry)
{
	lockdep_assert_held(&evd->lock);
	if (ring_is_full(evd)) {
		ring_overflow(evd);
		return false;
	}
	ring_add(evd, entry);
	if (unlikely(entry->shared))
		dat_srq_ringed(entry, 1);
	return true;
}

static bool ring_pop(struct dat_evd *evd, struct dat_evd_entry *entry)
{
	lockdep_assert_held(&evd->lock);
	if (evd->head == evd->tail)
		return false;
	*entry = evd->ring[evd->head & evd->mask];
	WRITE_ONCE(evd->head, evd->head + 1);
	evd->overflown = false;
	if (!entry->unsignalled)
		WRITE_ONCE(evd->notify, evd->notify - 1);
	if (unlikely(entry->shared))
		dat_srq_ringed(entry, -1);
	return true;
}

/*
 * With several CQs: an empty one gives way to the next at once, and others after
 * DAT_EVD_BATCH completions, so that none starves. Returns 0 if all are empty.
 */
static noinline int poll_others(struct dat_evd *evd, u32 max, int num)
{
	u32 i;

	for (i = 1; i < evd->num_cqs && num <= 0; i++) {
		dat_evd_next_cq(evd);
		num = ib_poll_cq(evd->cq->cq, max, evd->wcs);
	}
	if (num > 0) {
		evd->polled += num;
		if (evd->polled >= DAT_EVD_BATCH)
			dat_evd_next_cq(evd);
	}
	return num;
}

/* Takes up to @max completions out of a CQ. Returns their number. */
static __always_inline u32 cq_poll(struct dat_evd *evd, u32 max)
{
	int num = ib_poll_cq(evd->cq->cq, max, evd->wcs);

	if (unlikely(evd->num_cqs > 1))
		num = poll_others(evd, max, num);
	WRITE_ONCE(evd->next_wc, 0);
	WRITE_ONCE(evd->end_wc, num > 0 ? num : 0);
	return evd->end_wc;
}

/* Takes the next completion of the last poll. */
static __always_inline const struct ib_wc *next_wc(struct dat_evd *evd)
{
	const struct ib_wc *wc = &evd->wcs[evd->next_wc];

	WRITE_ONCE(evd->next_wc, evd->next_wc + 1);
	return wc;
}

/*
 * Takes the next completion with an event. Hot path of every DTO. Completions without an event
 * may arrive as fast as they are taken. The function takes no more of them than can have been
 * in the CQs when it was called.
 */
static __always_inline bool cq_pop(struct dat_evd *evd, struct dat_evd_entry *entry)
{
	u32 skipped = 0;

	lockdep_assert_held(&evd->lock);
	if (unlikely(!evd->cq))
		return false;
	while (evd->next_wc != evd->end_wc || cq_poll(evd, 1)) {
		if (dat_dto_complete(next_wc(evd), entry))
			return true;
		if (unlikely(++skipped > evd->poll_limit))
			return false;
	}
	return false;
}

/* Takes a batch out of a CQ. Returns whether the poll has emptied all CQs. */
static __always_inline bool cq_poll_batch(struct dat_evd *evd)
{
	u32 num = cq_poll(evd, DAT_EVD_BATCH);

	return likely(evd->num_cqs == 1) ? num < DAT_EVD_BATCH : !num;
}

/* As cq_pop(), but polls no more once a poll has emptied all CQs. */
static bool cq_pop_batch(struct dat_evd *evd, struct dat_evd_entry *entry,
			 bool *drained)
{
	if (evd->next_wc == evd->end_wc) {
		if (*drained || unlikely(!evd->cq))
			return false;
		*drained = cq_poll_batch(evd);
		if (evd->next_wc == evd->end_wc)
			return false;
	}
	return cq_pop(evd, entry);
}

/* Moves one completion from a CQ to the ring, if the ring has room. */
static bool cq_to_ring(struct dat_evd *evd)
{
	struct dat_evd_entry entry;

	return !ring_is_full(evd) && cq_pop(evd, &entry) &&
	       ring_push(evd, &entry);
}

/**
 * dat_evd_has_events - is an event queued, in the ring or in a CQ?
 * @evd: the EVD
 *
 * An event in a CQ moves to the ring.
 *
 * Context: process or softirq; the caller holds evd->lock.
 * Return: true if so.
 */
bool dat_evd_has_events(struct dat_evd *evd)
{
	return evd->head != evd->tail || cq_to_ring(evd);
}

/**
 * dat_evd_post - queue an event that is not a completion
 * @evd: the EVD
 * @number: event number
 * @data: event data
 *
 * Completions that are already in a CQ stay in front of the event.
 *
 * Context: process or softirq.
 * Return: false if the queue was full; kdapl reports the loss as an asynchronous
 * event.
 */
bool dat_evd_post(struct dat_evd *evd, DAT_EVENT_NUMBER number,
		  const DAT_EVENT_DATA *data)
{
	struct dat_evd_entry entry = { .number = number, .data = *data };
	bool ok;

	spin_lock_bh(&evd->lock);
	while (cq_to_ring(evd))
		;
	ok = ring_push(evd, &entry);
	spin_unlock_bh(&evd->lock);
	dat_evd_schedule_upcall(evd);
	return ok;
}

/**
 * dat_evd_post_unless_full - queue an event, or drop it without an overflow
 * @evd: the EVD
 * @number: event number
 * @data: event data
 *
 * Unlike dat_evd_post(), the function limits the queue to evd->qlen events. The caller
 * learns of a full queue from the return value, so a full queue is no overflow.
 *
 * Context: process or softirq.
 * Return: false if the queue was full.
 */
bool dat_evd_post_unless_full(struct dat_evd *evd, DAT_EVENT_NUMBER number,
			      const DAT_EVENT_DATA *data)
{
	struct dat_evd_entry entry = { .number = number, .data = *data };
	bool ok;

	spin_lock_bh(&evd->lock);
	while (cq_to_ring(evd))
		;
	ok = evd->tail - evd->head < evd->qlen && ring_push(evd, &entry);
	spin_unlock_bh(&evd->lock);
	dat_evd_schedule_upcall(evd);
	return ok;
}

/* Events moved in one critical section, with bottom halves off for about 10 us. */
#define SWAP_BATCH	256U

/*
 * Copies up to SWAP_BATCH queued events to their place in a ring of @entries entries,
 * starting at event @from or at the head, whichever is later. Entries in a ring do not
 * change, so a copy remains valid. Returns the number of the first event not copied.
 */
static u32 copy_some(const struct dat_evd *evd, struct dat_evd_entry *ring,
		     u32 entries, u32 from)
{
	u32 num, i;

	if ((s32)(evd->head - from) > 0)
		from = evd->head;
	num = min_t(u32, evd->tail - from, SWAP_BATCH);
	for (i = from; i != from + num; i++)
		ring[i & (entries - 1)] = evd->ring[i & evd->mask];
	return i;
}

static bool gather_some(struct dat_evd *evd)
{
	unsigned int num = 0;

	/* Fewer than copy_some() copies in one pass, so that the copying catches up. */
	while (num < SWAP_BATCH / 2 && cq_to_ring(evd))
		num++;
	return num == SWAP_BATCH / 2;
}

/**
 * dat_evd_swap_ring - replace the ring of an EVD
 * @evd: the EVD
 * @ring: the new ring
 * @entries: entries in @ring, a power of 2
 * @qlen: events that the EVD is to hold, at most @entries - evd->spare
 *
 * All queued events remain, in their order. The function moves them in batches. Between
 * two batches other CPUs may post and dequeue events.
 *
 * Context: process, may sleep; the caller holds evd->size_lock.
 * Return: the unused ring: the old one, or @ring if more than @qlen events are
 * queued.
 */
struct dat_evd_entry *dat_evd_swap_ring(struct dat_evd *evd,
					struct dat_evd_entry *ring,
					u32 entries, DAT_COUNT qlen)
{
	u32 copied;
	bool more;

	spin_lock_bh(&evd->lock);
	copied = evd->head;
	for (;;) {
		more = gather_some(evd);
		if (evd->tail - evd->head > qlen)
			goto unlock;
		copied = copy_some(evd, ring, entries, copied);
		if (!more && copied == evd->tail)
			break;
		spin_unlock_bh(&evd->lock);
		cond_resched();
		spin_lock_bh(&evd->lock);
	}
	swap(evd->ring, ring);
	WRITE_ONCE(evd->mask, entries - 1);
	evd->qlen = qlen;
unlock:
	spin_unlock_bh(&evd->lock);
	/* Completions have moved to the ring: schedule the upcalls that are due. */
	dat_evd_schedule_upcall(evd);
	return ring;
}

/**
 * dat_evd_gather - dat_evd_collect() for the upcall path, schedules no upcall
 * @evd: the EVD
 *
 * Context: process or softirq.
 */
void dat_evd_gather(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	while (cq_to_ring(evd))
		;
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_collect - process the completions that are in the CQs
 * @evd: the EVD
 *
 * For callers that need the progress of an EP while its consumer does not dequeue. The
 * events wait for the consumer in the ring. Context: process.
 */
void dat_evd_collect(struct dat_evd *evd)
{
	dat_evd_gather(evd);
	dat_evd_schedule_upcall(evd);
}

/* Processes up to @max completions. Returns false if the CQs were empty. */
static bool drain_some(struct dat_evd *evd, u32 max)
{
	struct dat_evd_entry entry;
	bool more = true;

	spin_lock_bh(&evd->lock);
	while (max-- && more) {
		more = cq_pop(evd, &entry);
		if (more)
			ring_push(evd, &entry);
	}
	spin_unlock_bh(&evd->lock);
	return more;
}

/**
 * dat_evd_drain - process the completions that are in the CQs
 * @evd: the EVD
 *
 * Other EPs may complete as fast as the function works. It ends when it has processed as many
 * as can have been there when it was called.
 *
 * Events without room in the ring are lost, and reported as an overflow.
 * Context: process, may sleep.
 */
void dat_evd_drain(struct dat_evd *evd)
{
	u32 left;

	might_sleep();
	spin_lock_bh(&evd->lock);
	left = evd->poll_limit;
	spin_unlock_bh(&evd->lock);
	while (left && drain_some(evd, min(left, SWAP_BATCH))) {
		left -= min(left, SWAP_BATCH);
		cond_resched();
	}
	dat_evd_schedule_upcall(evd);
}

/* Takes the first event, if there is one; bottom halves are off. */
static __always_inline bool evd_pop(struct dat_evd *evd, DAT_EVD_HANDLE handle,
				    DAT_EVENT *event)
{
	struct dat_evd_entry *entry = &evd->popped;
	bool ok;

	spin_lock(&evd->lock);
	ok = evd->head != evd->tail ? ring_pop(evd, entry) : cq_pop(evd, entry);
	if (ok)
		dat_evd_event(entry, handle, event);
	spin_unlock(&evd->lock);
	return ok;
}

/**
 * kdapl_evd_dequeue - take the first event out of an EVD
 * @evd_handle: the EVD
 * @event: out: the event; kdapl writes event_extension_data only for
 *	DAT_IB_DTO_EVENT
 *
 * Specification: dat_evd_dequeue().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_QUEUE_EMPTY (on an EVD of another provider also: no memory to accept a
 * connection request).
 */
DAT_RETURN kdapl_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct dat_object *obj;
	bool popped;

	if (unlikely(!event))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);

	rcu_read_lock_bh();
	obj = dat_object_lookup(evd_handle, DAT_HANDLE_TYPE_EVD);
	popped = obj && evd_pop(to_evd(obj), evd_handle, event);
	rcu_read_unlock_bh();
	if (likely(popped))
		return DAT_SUCCESS;
	/* Without a class: consumers compare with the bare value. */
	return obj ? DAT_QUEUE_EMPTY :
		     DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/* Passes the next completions to evd->completion, as long as they are plain ones. */
static int take_completions(struct dat_evd *evd, bool *drained)
{
	struct dat_completion completion;
	int num = 0;

	if (unlikely(!evd->cq))
		return 0;
	if (evd->next_wc == evd->end_wc && !*drained)
		*drained = cq_poll_batch(evd);
	while (evd->next_wc != evd->end_wc &&
	       dat_dto_complete_plain(&evd->wcs[evd->next_wc], &completion)) {
		next_wc(evd);
		evd->completion(evd->upcall.instance_data, &completion);
		num++;
	}
	return num;
}

/**
 * dat_evd_pop_for_upcall - take the first event out if an upcall is due
 * @evd: the EVD
 * @entry: out: the event
 * @upcall: out: function to call
 * @more: out: true if another event is known to follow
 * @drained: in, out: true if the last poll emptied the CQs; false at the first call
 * @taken: out: number of completions that evd->completion took, in front of the event
 *
 * Unsignalled events wait until an event arrives that notifies.
 *
 * Context: process or softirq.
 * Return: false if no upcall is due.
 */
bool dat_evd_pop_for_upcall(struct dat_evd *evd, struct dat_evd_entry *entry,
			    DAT_UPCALL_OBJECT *upcall, bool *more,
			    bool *drained, int *taken)
{
	bool ok = false;

	*taken = 0;
	spin_lock_bh(&evd->lock);
	if (!dat_evd_makes_upcalls(evd))
		goto unlock;
	*upcall = evd->upcall;
	if (evd->deliver_unsignalled) {
		ok = ring_pop(evd, entry) || cq_pop(evd, entry);
		WRITE_ONCE(evd->deliver_unsignalled, ok);
	} else if (likely(evd->head == evd->tail)) {
		/* The common case: bypass the ring. */
		if (evd->completion) {
			*taken = take_completions(evd, drained);
			if (*taken && evd->next_wc == evd->end_wc)
				goto unlock;
		}
		if (!cq_pop_batch(evd, entry, drained))
			goto unlock;
		ok = !entry->unsignalled;
		if (!ok)
			ring_push(evd, entry);
	}
	if (!ok) {
		while (!evd->notify && cq_to_ring(evd))
			;
		/* A ring full of unsignalled events must not block. */
		ok = (evd->notify || ring_is_full(evd)) && ring_pop(evd, entry);
	}
	/* Helpers can only run upcalls for events that are in the ring. */
	if (unlikely(evd->policy == DAT_UPCALL_MANY))
		while (ok && !evd->notify && cq_to_ring(evd))
			;
unlock:
	*more = evd->notify;
	spin_unlock_bh(&evd->lock);
	return ok;
}

/**
 * dat_evd_upcall_pending - is an upcall due for an event that is not in a CQ?
 * @evd: the EVD, whose events run upcalls
 *
 * Does not take evd->lock: the caller checks again when an event is queued.
 *
 * Context: any.
 * Return: true if dat_evd_pop_for_upcall() would return an event.
 */
bool dat_evd_upcall_pending(const struct dat_evd *evd)
{
	bool is_empty = READ_ONCE(evd->tail) == READ_ONCE(evd->head);

	if (unlikely(READ_ONCE(evd->next_wc) != READ_ONCE(evd->end_wc)))
		return true;
	return !is_empty &&
	       (READ_ONCE(evd->notify) || READ_ONCE(evd->deliver_unsignalled) ||
		ring_is_full(evd));
}

/**
 * dat_evd_look_again - has something completed while the CQs were being armed?
 * @evd: the EVD
 *
 * For devices with @evd->may_miss, which do not report missed events. Polling takes the
 * lock of the CQ: a later holder of this lock sees that the CQ is armed.
 *
 * Context: process or softirq.
 * Return: true if dat_evd_dequeue() would find a completion.
 */
bool dat_evd_look_again(struct dat_evd *evd)
{
	bool found;

	spin_lock_bh(&evd->lock);
	found = evd->next_wc != evd->end_wc ||
		(evd->cq && cq_poll(evd, DAT_EVD_BATCH));
	spin_unlock_bh(&evd->lock);
	return found;
}

/**
 * dat_evd_is_full - has the EVD no room for another event?
 * @evd: the EVD
 *
 * Context: process or softirq.
 * Return: true if evd->qlen events are queued.
 */
bool dat_evd_is_full(struct dat_evd *evd)
{
	bool full;

	spin_lock_bh(&evd->lock);
	full = evd->tail - evd->head >= evd->qlen;
	spin_unlock_bh(&evd->lock);
	return full;
}

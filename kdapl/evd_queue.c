// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_queue.c - the queue of an EVD: a ring and, behind it, a CQ
 *
 * Completions wait in the CQ until somebody takes them out. Everything else
 * waits in the ring. Whatever is in the ring is older than what is in the CQ.
 */
#include "dto.h"
#include "evd.h"
#include "ia.h"

static bool ring_is_full(const struct dat_evd *evd)
{
	return evd->tail - evd->head > evd->mask;
}

static bool ring_push(struct dat_evd *evd, const struct dat_evd_entry *entry)
{
	lockdep_assert_held(&evd->lock);
	if (ring_is_full(evd)) {
		if (!evd->overflown) {
			evd->overflown = true;
			dat_evd_overflow(evd);
		}
		return false;
	}
	evd->ring[evd->tail++ & evd->mask] = *entry;
	if (!entry->silent)
		evd->notify++;
	return true;
}

static bool ring_pop(struct dat_evd *evd, struct dat_evd_entry *entry)
{
	lockdep_assert_held(&evd->lock);
	if (evd->head == evd->tail)
		return false;
	*entry = evd->ring[evd->head++ & evd->mask];
	evd->overflown = false;
	if (!entry->silent)
		evd->notify--;
	return true;
}

/* The next completion that makes an event. */
static bool cq_pop(struct dat_evd *evd, struct dat_evd_entry *entry)
{
	struct ib_wc wc;

	lockdep_assert_held(&evd->lock);
	while (evd->cq && ib_poll_cq(evd->cq, 1, &wc) > 0)
		if (dat_dto_complete(&wc, entry))
			return true;
	return false;
}

/* One completion from the CQ into the ring, as long as there is room. */
static bool cq_to_ring(struct dat_evd *evd)
{
	struct dat_evd_entry entry;

	return !ring_is_full(evd) && cq_pop(evd, &entry) &&
	       ring_push(evd, &entry);
}

/**
 * dat_evd_post - queue an event that is not a completion
 * @evd: the EVD
 * @number: what happened
 * @data: the details
 *
 * Completions that are there already stay in front of it.
 *
 * Context: process or softirq.
 * Return: false if the queue was full; that is reported as an asynchronous
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
	dat_evd_kick(evd);
	return ok;
}

/**
 * dat_evd_collect - process the completions that are there by now
 * @evd: the EVD
 *
 * For those who must know how far an EP has come although its consumer does
 * not look. The events wait for the consumer in the ring. Context: process.
 */
void dat_evd_collect(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	while (cq_to_ring(evd))
		;
	spin_unlock_bh(&evd->lock);
	dat_evd_kick(evd);
}

/**
 * dat_evd_drain - process the completions that are there by now, all of them
 * @evd: the EVD
 *
 * Events that the ring has no room for are lost, and reported as an overflow.
 * Context: process.
 */
void dat_evd_drain(struct dat_evd *evd)
{
	struct dat_evd_entry entry;

	spin_lock_bh(&evd->lock);
	while (cq_pop(evd, &entry))
		ring_push(evd, &entry);
	spin_unlock_bh(&evd->lock);
	dat_evd_kick(evd);
}

/**
 * dat_evd_pop - take the first event out
 * @evd: the EVD
 * @entry: out: the event
 *
 * Context: process or softirq.
 * Return: false if there is none.
 */
bool dat_evd_pop(struct dat_evd *evd, struct dat_evd_entry *entry)
{
	bool ok;

	spin_lock_bh(&evd->lock);
	ok = ring_pop(evd, entry) || cq_pop(evd, entry);
	spin_unlock_bh(&evd->lock);
	return ok;
}

/**
 * dat_evd_pop_for_upcall - take the first event out if an upcall is due
 * @evd: the EVD
 * @entry: out: the event
 * @more: out: whether another is known to follow
 *
 * Silent events wait until one comes that is not.
 *
 * Context: process or softirq.
 * Return: false if no upcall is due.
 */
bool dat_evd_pop_for_upcall(struct dat_evd *evd, struct dat_evd_entry *entry,
			    bool *more)
{
	bool ok = false;

	spin_lock_bh(&evd->lock);
	if (evd->policy != DAT_UPCALL_SINGLE_INSTANCE)
		goto unlock;
	if (evd->deliver_silent) {
		ok = ring_pop(evd, entry) || cq_pop(evd, entry);
		evd->deliver_silent = ok;
	} else if (evd->head == evd->tail && cq_pop(evd, entry)) {
		/* The common case: no detour through the ring. */
		ok = !entry->silent;
		if (!ok)
			ring_push(evd, entry);
	}
	if (!ok) {
		while (!evd->notify && cq_to_ring(evd))
			;
		/* A ring full of silent events must not stand still. */
		ok = (evd->notify || ring_is_full(evd)) && ring_pop(evd, entry);
	}
unlock:
	*more = evd->notify;
	spin_unlock_bh(&evd->lock);
	return ok;
}

/**
 * dat_evd_is_full - is there no room for another event?
 * @evd: the EVD
 *
 * Context: process or softirq.
 * Return: true if the next dat_evd_post() would overflow.
 */
bool dat_evd_is_full(struct dat_evd *evd)
{
	bool full;

	spin_lock_bh(&evd->lock);
	full = evd->tail - evd->head >= evd->qlen;
	spin_unlock_bh(&evd->lock);
	return full;
}

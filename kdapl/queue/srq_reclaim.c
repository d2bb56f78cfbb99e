// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_reclaim.c - finds and flushes buffers of an SRQ that a device has lost
 *
 * When a connection ends while a message arrives, rxe of Linux 6.12 does not complete the
 * buffer of this message. But rxe takes buffers in posting order, one at a time for each
 * QP, and can report each buffer that it takes. A taken buffer is lost if no live QP can
 * still have it, because each has completed a later one. This file flushes lost buffers.
 * Device events call it in process or softirq context, completions under the SRQ's lock.
 */
#include "dev/ia.h"
#include "queue/evd.h"
#include "queue/srq.h"

/* Numbers wrap around. */
static bool is_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/**
 * dat_srq_arm_limit - request an event from the device for the next buffer taken
 * @srq: the SRQ
 *
 * Context: any in which rxe reports events.
 */
void dat_srq_arm_limit(struct dat_srq *srq)
{
	/* Fewer buffers than slots are left whenever one is taken, so the limit fires. */
	struct ib_srq_attr attr = { .srq_limit = READ_ONCE(srq->num_slots) };

	ib_modify_srq(srq->srq, &attr, IB_SRQ_LIMIT);
}

/**
 * dat_srq_limit_reached - count a buffer that an EP has taken
 * @srq: the SRQ
 *
 * If an EP takes another buffer before the limit is armed again, its completion corrects
 * the count, see dat_srq_note_completion().
 *
 * Context: process or softirq.
 */
void dat_srq_limit_reached(struct dat_srq *srq)
{
	spin_lock_bh(&srq->wq.lock);
	if (!srq->inexact)
		srq->num_taken++;
	if (srq->next_number - srq->num_taken < READ_ONCE(srq->low_watermark))
		dat_srq_raise(srq, DAT_SRQ_LW_REACHED);
	spin_unlock_bh(&srq->wq.lock);
	dat_srq_arm_limit(srq);
}

/* The number of the first buffer that has not completed. */
static u32 first_number(const struct dat_srq *srq)
{
	if (list_empty(&srq->posted))
		return srq->next_number;
	return list_first_entry(&srq->posted, struct dat_srq_slot,
				node)->number;
}

/**
 * dat_srq_note_completion - correct the count of taken buffers by a completion
 * @srq: the SRQ; its lock is held
 * @at: the EP that had the buffer
 * @number: number of the buffer
 *
 * A QP reports a buffer before it completes it. If an unreported buffer completes, its
 * report is lost or still to come. Until all taken buffers have completed,
 * dat_srq_limit_reached() therefore counts nothing. A count that is too low is
 * safe; a count that is too high is not.
 *
 * Context: any.
 */
void dat_srq_note_completion(struct dat_srq *srq, struct dat_srq_ep *at, u32 number)
{
	WRITE_ONCE(at->number, number + 1);
	if (is_before(srq->num_taken, number + 1)) {
		srq->num_taken = number + 1;
		srq->inexact = true;
	}
	if (!is_before(first_number(srq), srq->num_taken))
		srq->inexact = false;
	if (srq->missing)
		dat_srq_raise(srq, DAT_SRQ_MISSING);
}

/**
 * struct lost - which buffers are lost, once all completions have been collected
 * @end: no QP can complete buffers with lower numbers any more
 * @ended: the ended EP that may have had the oldest of them; NULL for none
 */
struct lost {
	u32 end;
	struct dat_srq_ep *ended;
};

/* Has a buffer been taken that has not completed? Otherwise the search is over. */
static bool some_are_missing(struct dat_srq *srq)
{
	lockdep_assert_held(&srq->wq.lock);
	if (is_before(first_number(srq), srq->num_taken))
		return true;
	srq->missing = false;
	return false;
}

/*
 * Looks at all EPs, without the lock that completions wait for. The numbers of EPs only grow,
 * and an EP that may receive from now on takes no buffer below the first value of @end.
 * Returns false if no buffer is missing.
 */
static bool find_lost(struct dat_srq *srq, struct lost *lost)
{
	struct dat_srq_ep *at;
	u32 number;
	bool some;
	size_t i;

	lockdep_assert_held(&srq->mutex);
	spin_lock_bh(&srq->wq.lock);
	some = some_are_missing(srq);
	lost->end = srq->num_taken;
	spin_unlock_bh(&srq->wq.lock);
	if (!some)
		return false;
	lost->ended = NULL;
	for (i = 0; i < ARRAY_SIZE(srq->eps); i++) {
		hlist_for_each_entry(at, &srq->eps[i], node) {
			if (!READ_ONCE(at->may_receive))
				continue;
			number = READ_ONCE(at->number);
			if (!READ_ONCE(at->last_wqe)) {
				if (is_before(number, lost->end))
					lost->end = number;
			} else if (!lost->ended ||
				   is_before(number, READ_ONCE(lost->ended->number))) {
				lost->ended = at;
			}
		}
		cond_resched();
	}
	return true;
}

/*
 * Removes the first buffer, if it is lost. Returns the EVD, and in @data the event, that report
 * it. An EP that has lost its QP has had the buffers that no EP with a QP can have had.
 */
static struct dat_evd *take_lost(struct dat_srq *srq, const struct lost *lost,
				 DAT_EVENT_DATA *data)
{
	struct dat_srq_ep *at = NULL;
	struct dat_srq_slot *slot;
	struct dat_evd *evd;

	if (!some_are_missing(srq))
		return NULL;
	slot = list_first_entry_or_null(&srq->posted, struct dat_srq_slot, node);
	if (!slot || !is_before(slot->number, lost->end))
		return NULL;
	if (lost->ended && (!srq->lost_evd || !is_before(slot->number, lost->ended->number)))
		at = lost->ended;
	evd = at ? at->evd : srq->lost_evd;
	if (!evd)
		return NULL;
	kref_get(&evd->obj.ref);
	data->dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = at ? at->wq->ep->handle : srq->lost_ep,
		.user_cookie = slot->dto.cookie,
		.status = DAT_DTO_ERR_FLUSHED,
		.operation = DAT_DTO_RECEIVE,
	};
	list_move(&slot->node, &srq->free);
	srq->num_posted--;
	return evd;
}

/* A completion that is not processed yet must not count as lost. */
static bool all_is_collected(struct dat_srq *srq)
{
	struct dat_srq_feed *feed;

	dat_srq_collect(srq);
	list_for_each_entry(feed, &srq->feeds, node)
		if (dat_evd_is_full(feed->cq->evd))
			return false;
	return true;
}

/**
 * dat_srq_reclaim - flush the buffers that can no longer complete
 * @srq: the SRQ
 *
 * Context: process, may sleep.
 */
void dat_srq_reclaim(struct dat_srq *srq)
{
	DAT_EVENT_DATA data = {};
	struct dat_evd *evd;
	struct lost lost;

	mutex_lock(&srq->mutex);
	/* In this order: an EP that has ended has completed all that it will complete. */
	if (!find_lost(srq, &lost))
		goto unlock;
	while (all_is_collected(srq)) {
		spin_lock_bh(&srq->wq.lock);
		evd = take_lost(srq, &lost, &data);
		spin_unlock_bh(&srq->wq.lock);
		if (!evd)
			break;
		dat_evd_post(evd, DAT_DTO_COMPLETION_EVENT, &data);
		dat_object_put(&evd->obj);
	}
unlock:
	mutex_unlock(&srq->mutex);
}

/**
 * dat_srq_ep_ended - start the search for lost buffers of an EP
 * @at: the EP; its QP is destroyed
 *
 * The search continues until the lost buffers are found, or all buffers have completed.
 *
 * Context: process, may sleep.
 */
void dat_srq_ep_ended(struct dat_srq_ep *at)
{
	struct dat_srq *srq = at->srq;
	struct dat_evd *old;

	kref_get(&at->evd->obj.ref);
	spin_lock_bh(&srq->wq.lock);
	old = srq->lost_evd;
	srq->lost_evd = at->evd;
	srq->lost_ep = at->wq->ep->handle;
	srq->missing = true;
	spin_unlock_bh(&srq->wq.lock);
	if (old)
		dat_object_put(&old->obj);
	dat_srq_reclaim(srq);
}

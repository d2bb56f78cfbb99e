// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_ep.c - the EPs that are attached to an SRQ, and their CQs
 *
 * A completion names the QP that took a buffer. The SRQ looks up the EP by the QP. A CQ
 * of the EPs must hold as many completions as the SRQ has buffers. EPs call these in
 * process context; completions look up their EP in any context.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "queue/evd.h"
#include "queue/srq.h"

static struct dat_srq_feed *find_feed(const struct dat_srq *srq, const struct dat_cq *cq)
{
	struct dat_srq_feed *feed;

	lockdep_assert_held(&srq->mutex);
	list_for_each_entry(feed, &srq->feeds, node)
		if (feed->cq == cq)
			return feed;
	return NULL;
}

/**
 * dat_srq_feeds - do EPs of an SRQ report their receives to a CQ?
 * @srq: the SRQ; its mutex is held
 * @cq: the CQ
 *
 * The EPs share the buffers. So such a CQ has room for the receives of another EP.
 *
 * Context: process.
 */
bool dat_srq_feeds(const struct dat_srq *srq, const struct dat_cq *cq)
{
	return find_feed(srq, cq);
}

/**
 * dat_srq_feed - note that an EP of an SRQ reports its receives to a CQ
 * @srq: the SRQ; its mutex is held
 * @cq: the CQ
 * @room: completions that the CQ has room for, if dat_srq_feeds() is false; at least the buffers
 *	of the SRQ
 *
 * Context: process, may sleep.
 * Return: false if there is no memory.
 */
bool dat_srq_feed(struct dat_srq *srq, struct dat_cq *cq, u32 room)
{
	struct dat_srq_feed *feed = find_feed(srq, cq);

	if (!feed) {
		feed = kzalloc(sizeof(*feed), GFP_KERNEL_ACCOUNT);
		if (!feed)
			return false;
		feed->cq = cq;
		feed->room = room;
		list_add_tail(&feed->node, &srq->feeds);
	}
	feed->eps++;
	return true;
}

/**
 * dat_srq_unfeed - undo dat_srq_feed()
 * @srq: the SRQ; its mutex is held
 * @cq: the CQ
 *
 * Context: process.
 * Return: the completions that the CQ need not have room for any more.
 */
u32 dat_srq_unfeed(struct dat_srq *srq, struct dat_cq *cq)
{
	struct dat_srq_feed *feed = find_feed(srq, cq);
	u32 room = feed->room;

	if (--feed->eps)
		return 0;
	list_del(&feed->node);
	kfree(feed);
	return room;
}

static struct hlist_head *qp_bucket(struct dat_srq *srq,
				    const struct ib_qp *qp)
{
	return &srq->eps[hash_ptr(qp, DAT_SRQ_HASH_BITS)];
}

/**
 * dat_srq_attach - let completions of a QP find their EP, before the QP takes buffers
 * @at: the attachment, zeroed or detached
 * @srq: the SRQ of the EP
 * @wq: receive queue of the EP
 * @evd: receive EVD of the EP, which the attachment references
 * @qp: the QP
 *
 * Context: process.
 */
void dat_srq_attach(struct dat_srq_ep *at, struct dat_srq *srq,
		    struct dat_workq *wq, struct dat_evd *evd, struct ib_qp *qp)
{
	kref_get(&evd->obj.ref);
	mutex_lock(&srq->mutex);
	spin_lock_bh(&srq->wq.lock);
	at->srq = srq;
	at->wq = wq;
	at->evd = evd;
	at->qp = qp;
	/* Buffers with lower numbers were taken by other QPs. */
	at->number = srq->num_taken;
	hlist_add_head(&at->node, qp_bucket(srq, qp));
	spin_unlock_bh(&srq->wq.lock);
	mutex_unlock(&srq->mutex);
}

/**
 * dat_srq_detach - remove an EP whose QP has no completions left
 * @at: the attachment
 *
 * Context: process.
 */
void dat_srq_detach(struct dat_srq_ep *at)
{
	struct dat_srq *srq = at->srq;

	mutex_lock(&srq->mutex);
	spin_lock_bh(&srq->wq.lock);
	hlist_del_init(&at->node);
	at->qp = NULL;
	srq->num_ringed -= at->ringed;
	at->ringed = 0;
	spin_unlock_bh(&srq->wq.lock);
	mutex_unlock(&srq->mutex);
	if (srq->forgetful)
		dat_srq_ep_ended(at);
	dat_object_put(&at->evd->obj);
	at->evd = NULL;
}

/**
 * dat_srq_find_ep - look up the EP of a completion
 * @srq: the SRQ; its lock is held
 * @qp: the QP; it may be destroyed, so only its address is used
 *
 * Context: any.
 * Return: the attachment of the EP, or NULL.
 */
struct dat_srq_ep *dat_srq_find_ep(struct dat_srq *srq, const struct ib_qp *qp)
{
	struct dat_srq_ep *at;

	hlist_for_each_entry(at, qp_bucket(srq, qp), node)
		if (at->qp == qp)
			return at;
	return NULL;
}

/**
 * dat_srq_ringed - count a receive that enters or leaves the ring of its EVD
 * @entry: the event of the receive
 * @num: 1 when the event enters the ring, -1 when it leaves
 *
 * Until the consumer has dequeued the event, the buffer counts for the SRQ and for the
 * EP. Once the EP has lost its QP, the buffer counts for neither.
 *
 * Context: any; the lock of the EVD is held.
 */
void dat_srq_ringed(const struct dat_evd_entry *entry, int num)
{
	struct dat_object *obj;
	struct dat_srq_ep *at;
	struct dat_srq *srq;

	rcu_read_lock();
	obj = dat_object_lookup(entry->data.dto_completion_event_data.ep_handle,
				DAT_HANDLE_TYPE_EP);
	if (!obj)
		goto unlock;
	at = obj->ops->srq_ep(obj);
	srq = at->srq;
	spin_lock(&srq->wq.lock);
	/* A receive of an earlier QP of the EP is not counted. */
	if (at->qp && (num > 0 || at->ringed)) {
		at->ringed += num;
		srq->num_ringed += num;
	}
	spin_unlock(&srq->wq.lock);
unlock:
	rcu_read_unlock();
}

/**
 * dat_srq_collect - process the completions on all EVDs of the EPs
 * @srq: the SRQ; its mutex is held
 *
 * Context: process.
 */
void dat_srq_collect(struct dat_srq *srq)
{
	struct dat_srq_feed *feed;

	lockdep_assert_held(&srq->mutex);
	list_for_each_entry(feed, &srq->feeds, node)
		dat_evd_collect(feed->cq->evd);
}


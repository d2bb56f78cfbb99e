// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_ep.c - EPs that receive from a shared receive queue
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "device.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "pz.h"
#include "registry.h"
#include "srq.h"

/*
 * How long a QP in the error state may take to complete the buffers that it has
 * taken, in milliseconds, where the device does not say when it has.
 */
#define QUIET_MS	5

/**
 * dat_srq_suits - can EPs of this PZ receive from an SRQ?
 * @srq: the SRQ
 * @pz: the PZ
 *
 * Context: any.
 * Return: false if the device wants both to be of the same PZ.
 */
bool dat_srq_suits(const struct dat_srq *srq, const struct dat_pz *pz)
{
	return srq->pz == pz ||
	       !(dat_dev_quirks(pz->pd->device) & DAT_QUIRK_SRQ_SAME_PZ);
}

/**
 * dat_srq_join - let a new EP use an SRQ
 * @ia: the IA
 * @p: the EP's PZ and attributes; out: @p->srq, used and referenced; not set if
 *	the call fails
 * @handle: what the consumer passed
 *
 * Context: any.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (the device
 * wants the SRQ to be of the EP's PZ).
 */
DAT_RETURN dat_srq_join(struct dat_ia *ia, struct dat_ep_parts *p,
			DAT_SRQ_HANDLE handle)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_SRQ);

	if (!obj)
		return ret;
	if (obj->ia != ia || !dat_object_use(obj))
		goto put;
	if (!dat_srq_suits(to_srq(obj), p->pz)) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		goto unuse;
	}
	p->srq = to_srq(obj);
	p->attr.max_recv_iov = p->srq->max_iov;
	return DAT_SUCCESS;

unuse:
	dat_object_unuse(obj);
put:
	dat_object_put(obj);
	return ret;
}

static struct dat_srq_feed *find_feed(struct dat_srq *srq,
				      const struct dat_evd *evd)
{
	struct dat_srq_feed *feed;

	lockdep_assert_held(&srq->mutex);
	list_for_each_entry(feed, &srq->feeds, node)
		if (feed->evd == evd)
			return feed;
	return NULL;
}

/**
 * dat_srq_feed - the receives of an EP are about to feed its EVD
 * @srq: the SRQ of the EP
 * @evd: the EVD
 * @more: completions that the EP will expect on it next
 *
 * Whatever number of EPs shares an EVD, it gets no more completions at once
 * than there are buffers.
 *
 * Context: process, may sleep.
 * Return: as dat_evd_expect().
 */
DAT_RETURN dat_srq_feed(struct dat_srq *srq, struct dat_evd *evd, u32 more)
{
	struct dat_srq_feed *feed;
	DAT_RETURN ret = DAT_SUCCESS;

	mutex_lock(&srq->mutex);
	feed = find_feed(srq, evd);
	if (feed) {
		feed->eps++;
		goto unlock;
	}
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	feed = kzalloc(sizeof(*feed), GFP_KERNEL_ACCOUNT);
	if (!feed)
		goto unlock;
	ret = dat_evd_expect(evd, srq->num_slots, more);
	if (ret) {
		kfree(feed);
		goto unlock;
	}
	feed->evd = evd;
	feed->eps = 1;
	list_add_tail(&feed->node, &srq->feeds);
unlock:
	mutex_unlock(&srq->mutex);
	return ret;
}

/**
 * dat_srq_unfeed - the reverse of dat_srq_feed()
 * @srq: the SRQ of the EP
 * @evd: the EVD
 *
 * Context: process, may sleep.
 */
void dat_srq_unfeed(struct dat_srq *srq, struct dat_evd *evd)
{
	struct dat_srq_feed *feed;

	mutex_lock(&srq->mutex);
	feed = find_feed(srq, evd);
	if (!--feed->eps) {
		dat_evd_unexpect(feed->evd, srq->num_slots);
		list_del(&feed->node);
		kfree(feed);
	}
	mutex_unlock(&srq->mutex);
}

static struct hlist_head *qp_bucket(struct dat_srq *srq,
				    const struct ib_qp *qp)
{
	return &srq->eps[hash_ptr(qp, DAT_SRQ_HASH_BITS)];
}

/**
 * dat_srq_attach - the QP of an EP can take buffers from now on
 * @ep: the EP
 *
 * Context: process.
 */
void dat_srq_attach(struct dat_ep *ep)
{
	struct dat_srq *srq = ep->srq;

	spin_lock_bh(&srq->wq.lock);
	hlist_add_head(&ep->srq_node, qp_bucket(srq, ep->qp));
	ep->srq_qp = ep->qp;
	/* What has been taken already is not its. */
	ep->srq_number = srq->num_taken;
	spin_unlock_bh(&srq->wq.lock);
}

/**
 * dat_srq_detach - none of the completions of an EP's QP is left
 * @ep: the EP
 *
 * Context: process.
 */
void dat_srq_detach(struct dat_ep *ep)
{
	struct dat_srq *srq = ep->srq;

	spin_lock_bh(&srq->wq.lock);
	hlist_del_init(&ep->srq_node);
	ep->srq_qp = NULL;
	srq->num_ringed -= ep->srq_ringed;
	ep->srq_ringed = 0;
	spin_unlock_bh(&srq->wq.lock);
	if (srq->forgetful)
		dat_srq_ep_ended(ep);
}

/**
 * dat_srq_find_ep - find the EP to which a completion belongs
 * @srq: the SRQ; its lock is held
 * @qp: the QP; it may have been destroyed since, so nobody looks into it
 *
 * Context: any.
 * Return: the EP, or NULL.
 */
struct dat_ep *dat_srq_find_ep(struct dat_srq *srq, const struct ib_qp *qp)
{
	struct dat_ep *ep;

	hlist_for_each_entry(ep, qp_bucket(srq, qp), srq_node)
		if (ep->srq_qp == qp)
			return ep;
	return NULL;
}

/**
 * dat_srq_is_quiet - has a QP completed all buffers that it had taken?
 * @ep: the EP; its QP is in the error state
 * @waited_ms: how long it has been, in milliseconds
 *
 * Context: any.
 * Return: true if no more will complete.
 */
bool dat_srq_is_quiet(const struct dat_ep *ep, unsigned int waited_ms)
{
	if (!ep->srq || !READ_ONCE(ep->may_receive) ||
	    READ_ONCE(ep->last_wqe))
		return true;
	return dat_dev_quirks(ep->srq->pz->pd->device) &
	       DAT_QUIRK_NO_LAST_WQE && waited_ms >= QUIET_MS;
}

/**
 * dat_srq_ringed - a receive waits in the ring of its EVD, or no longer does
 * @entry: its event
 * @num: 1 or -1
 *
 * Until the consumer has dequeued it, its buffer counts as the SRQ's and as the
 * EP's. Once the EP has lost its QP it is nobody's.
 *
 * Context: any; the lock of the EVD is held.
 */
void dat_srq_ringed(const struct dat_evd_entry *entry, int num)
{
	struct dat_object *obj;
	struct dat_srq *srq;
	struct dat_ep *ep;

	rcu_read_lock();
	obj = dat_object_peek(entry->data.dto_completion_event_data.ep_handle,
			      DAT_HANDLE_TYPE_EP);
	if (!obj)
		goto unlock;
	ep = to_ep(obj);
	srq = ep->srq;
	spin_lock(&srq->wq.lock);
	/* Or it was there before a new QP came. */
	if (ep->srq_qp && (num > 0 || ep->srq_ringed)) {
		ep->srq_ringed += num;
		srq->num_ringed += num;
	}
	spin_unlock(&srq->wq.lock);
unlock:
	rcu_read_unlock();
}

/**
 * dat_srq_collect - process what has completed on any of the EPs
 * @srq: the SRQ; its mutex is held
 *
 * Context: process.
 */
void dat_srq_collect(struct dat_srq *srq)
{
	struct dat_srq_feed *feed;

	lockdep_assert_held(&srq->mutex);
	list_for_each_entry(feed, &srq->feeds, node)
		dat_evd_collect(feed->evd);
}

/**
 * dat_ep_create_with_srq - make an endpoint that receives from an SRQ
 * @ia_handle: the IA
 * @pz_handle: its PZ; on rxe that of the SRQ, elsewhere any
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for completions of all else that is posted, or
 *	DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @srq_handle: the SRQ
 * @ep_attributes: wishes, see dat_ep_attr_check(), not NULL; max_recv_iov does
 *	not matter. srq_soft_hw is the soft high watermark, 0 and DAT_HW_DEFAULT
 *	for none.
 * @ep_handle: out: the handle; the EP is UNCONNECTED
 *
 * Specification: dat_ep_create_with_srq().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: the PZ
 * is not that of the SRQ, and the device cannot do that),
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the
 * device has gone).
 */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes,
				  DAT_EP_HANDLE *ep_handle)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	might_sleep();
	if (!ep_attributes)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (!ep_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	attr = *ep_attributes;
	/* That of its receives is the SRQ's. */
	attr.max_recv_iov = 0;
	if (!attr.srq_soft_hw)
		attr.srq_soft_hw = DAT_HW_DEFAULT;
	if (!dat_watermark_is_valid(attr.srq_soft_hw))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	ret = dat_ep_make(ia_handle, pz_handle, recv_evd_handle,
			  request_evd_handle, connect_evd_handle, &srq_handle,
			  &attr, ep_handle);
	/* Attributes stand one further to the right here. */
	if (ret == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6))
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (ret != DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA))
		return ret;
	return dat_foreign_make(ret, ia_handle, DAT_HANDLE_TYPE_IA,
				DAT_HANDLE_TYPE_EP, ep_handle,
				dat_foreign_is(parent, pz_handle,
					       DAT_HANDLE_TYPE_PZ) &&
				dat_foreign_is(parent, recv_evd_handle,
					       DAT_HANDLE_TYPE_EVD) &&
				dat_foreign_is(parent, request_evd_handle,
					       DAT_HANDLE_TYPE_EVD) &&
				dat_foreign_is(parent, connect_evd_handle,
					       DAT_HANDLE_TYPE_EVD) &&
				dat_foreign_is(parent, srq_handle,
					       DAT_HANDLE_TYPE_SRQ),
				ep_create_with_srq_func, ia_handle, pz_handle,
				recv_evd_handle, request_evd_handle,
				connect_evd_handle, srq_handle, ep_attributes,
				ep_handle);
}
EXPORT_SYMBOL_GPL(dat_ep_create_with_srq);

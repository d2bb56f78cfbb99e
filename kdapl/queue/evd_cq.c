// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_cq.c - the completion queues of an EVD
 *
 * A CQ has room for every completion that its EPs can have outstanding, so it never overruns.
 * Devices cannot resize a kernel CQ (none can since Linux 7.1), and a QP keeps its CQs. So an
 * EVD has as many CQs as its EPs need. An EP joins the newest with room for it. If there is
 * none, the EVD creates one, twice as large as the last. evd->size_lock serialises all changes.
 * EPs and SRQs call these functions in process context; evd_queue.c polls the CQs, and upcall.c
 * arms them.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/compat.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "queue/evd.h"
#include "queue/srq.h"

static DAT_RETURN no_room(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
}

static DAT_RETURN no_memory(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

static void evd_cq_comp(struct ib_cq *cq, void *context)
{
	struct dat_evd *evd = context;

	/*
	 * rxe completes in a task since Linux 6.4. A softirq raised in a task runs in
	 * ksoftirqd, which a polling consumer may delay. irq_work runs the softirq at
	 * the end of an interrupt instead.
	 */
	if (DAT_SOFTIRQS_NEST || in_interrupt())
		dat_poll_sched(&evd->poll);
	else
		irq_work_queue(&evd->irq_work);
}

/* The only event of a CQ is its overflow. */
static void evd_cq_event(struct ib_event *event, void *context)
{
	struct dat_evd *evd = context;

	dat_evd_overflow(evd);
}

static void cq_release(struct dat_object *obj)
{
	kfree(container_of(obj, struct dat_cq, obj));
}

static const struct dat_object_ops cq_ops = {
	.release = cq_release,
};

static DAT_RETURN create_ib_cq(struct dat_cq *cq, u32 cqe)
{
	struct ib_device *ibdev = dat_ia_ibdev(cq->obj.ia);
	static atomic_t next_vector;
	struct ib_cq_init_attr attr = {
		.cqe = cqe,
		/* Round robin, like ib_alloc_cq_any(). */
		.comp_vector = (u32)atomic_inc_return(&next_vector) %
			       ibdev->num_comp_vectors,
	};

	if (!dat_object_charge(&cq->obj, sizeof(*cq) + dat_bytes_cq(cqe)))
		return no_memory();
	if (!dat_object_charge_hca(&cq->obj, DAT_HCA_OBJECT, 1))
		return no_room();
	cq->cq = ib_create_cq(ibdev, evd_cq_comp, evd_cq_event, cq->evd, &attr);
	if (!IS_ERR(cq->cq))
		return DAT_SUCCESS;
	return PTR_ERR(cq->cq) == -ENOMEM ? no_memory() : no_room();
}

static void put_cq(struct dat_cq *cq)
{
	dat_object_uncharge_hca(&cq->obj);
	dat_object_put(&cq->obj);
}

#define WCS_BYTES	(DAT_EVD_BATCH * sizeof(struct ib_wc))

/* The first CQ needs it. */
static bool alloc_wcs(struct dat_evd *evd)
{
	if (evd->wcs)
		return true;
	if (!dat_object_charge(&evd->obj, WCS_BYTES))
		return false;
	evd->wcs = kmalloc(WCS_BYTES, GFP_KERNEL_ACCOUNT);
	if (!evd->wcs)
		dat_object_uncharge(&evd->obj, WCS_BYTES);
	return evd->wcs;
}

static void free_wcs_unless_needed(struct dat_evd *evd)
{
	if (evd->num_cqs || !evd->wcs)
		return;
	kfree(evd->wcs);
	evd->wcs = NULL;
	dat_object_uncharge(&evd->obj, WCS_BYTES);
}

/* Polls go round the CQs, so as many as this reach the last entry of the largest. */
static void set_poll_limit(struct dat_evd *evd)
{
	struct dat_cq *cq;
	u64 largest = 0;

	lockdep_assert_held(&evd->lock);
	list_for_each_entry(cq, &evd->cqs, node)
		largest = max_t(u64, largest, cq->cq->cqe);
	evd->poll_limit = min_t(u64, evd->num_cqs * (largest + DAT_EVD_BATCH), U32_MAX);
}

/* Creates a CQ and lets the EVD poll it. */
static DAT_RETURN add_cq(struct dat_evd *evd, u32 cqe, struct dat_cq **cqp)
{
	struct dat_cq *cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	DAT_RETURN ret;

	lockdep_assert_held(&evd->size_lock);
	if (!cq)
		return no_memory();
	dat_object_init(&cq->obj, DAT_HANDLE_TYPE_EVD, evd->obj.owner, &cq_ops);
	cq->evd = evd;
	ret = alloc_wcs(evd) ? create_ib_cq(cq, cqe) : no_memory();
	if (ret) {
		free_wcs_unless_needed(evd);
		put_cq(cq);
		return ret;
	}
	spin_lock_bh(&evd->lock);
	list_add_tail_rcu(&cq->node, &evd->cqs);
	if (!evd->cq)
		evd->cq = cq;
	evd->num_cqs++;
	set_poll_limit(evd);
	spin_unlock_bh(&evd->lock);
	*cqp = cq;
	return DAT_SUCCESS;
}

/* A caller of arm() may still use a CQ that has left the list. */
static void wait_for_arming(struct dat_evd *evd)
{
	/* Pairs with arm(). */
	smp_mb();
	while (atomic_read_acquire(&evd->arming))
		usleep_range(20, 50);
}

/* Nothing can complete on the CQ any more: it has no QP. */
static void remove_cq(struct dat_cq *cq)
{
	struct dat_evd *evd = cq->evd;

	lockdep_assert_held(&evd->size_lock);
	spin_lock_bh(&evd->lock);
	evd->num_cqs--;
	if (!evd->num_cqs) {
		evd->cq = NULL;
		/* No request is left that they could name. */
		WRITE_ONCE(evd->next_wc, evd->end_wc);
	} else if (evd->cq == cq) {
		dat_evd_next_cq(evd);
	}
	list_del_rcu(&cq->node);
	set_poll_limit(evd);
	spin_unlock_bh(&evd->lock);
	wait_for_arming(evd);
	free_wcs_unless_needed(evd);
	ib_destroy_cq(cq->cq);
	put_cq(cq);
}

/*
 * The last CQ stays while other EPs feed the EVD, so that an EP that comes and goes does not
 * create and destroy a large one each time.
 */
static void remove_unused(struct dat_evd *evd)
{
	struct dat_cq *cq, *next, *last;
	bool fed = false;

	if (list_empty(&evd->cqs))
		return;
	list_for_each_entry(cq, &evd->cqs, node)
		fed |= cq->users;
	last = list_last_entry(&evd->cqs, struct dat_cq, node);
	list_for_each_entry_safe(cq, next, &evd->cqs, node)
		if (!cq->users && (cq != last || !fed))
			remove_cq(cq);
}

/* Finds a CQ with room for @completions, and for @room of @srq unless it has room for those. */
static struct dat_cq *find_room(struct dat_evd *evd, u32 completions, struct dat_srq *srq,
				u32 room)
{
	struct dat_cq *cq;

	list_for_each_entry_reverse(cq, &evd->cqs, node) {
		u64 needs = (u64)completions + (srq && !dat_srq_feeds(srq, cq) ? room : 0);

		if (needs <= cq->cq->cqe - cq->expected)
			return cq;
	}
	return NULL;
}

/* Adds a CQ twice as large as the last, or as large as the device has it. */
static DAT_RETURN add_larger_cq(struct dat_evd *evd, u64 wanted, struct dat_cq **cqp)
{
	u32 max = dat_dev_max_cqe(dat_ia_ibdev(evd->obj.ia));

	if (!list_empty(&evd->cqs))
		wanted = max(wanted,
			     2ULL * list_last_entry(&evd->cqs, struct dat_cq, node)->cq->cqe);
	return add_cq(evd, min_t(u64, wanted, max), cqp);
}

static DAT_RETURN find_or_add(struct dat_evd *evd, u32 completions, struct dat_srq *srq, u32 room,
			      struct dat_cq **cqp)
{
	u64 least = (u64)completions + (srq ? srq->num_slots : 0);
	DAT_RETURN ret;

	if (least > dat_dev_max_cqe(dat_ia_ibdev(evd->obj.ia)))
		return no_room();
	*cqp = find_room(evd, completions, srq, room);
	if (*cqp)
		return DAT_SUCCESS;
	ret = add_larger_cq(evd, (u64)completions + room, cqp);
	if (!ret)
		return DAT_SUCCESS;
	*cqp = srq ? find_room(evd, completions, srq, srq->num_slots) : NULL;
	return *cqp ? DAT_SUCCESS : add_cq(evd, least, cqp);
}

static DAT_RETURN join(struct dat_evd *evd, u32 completions, struct dat_srq *srq,
		       struct dat_cq **cqp)
{
	/* An SRQ may grow: to twice its buffers, or to the length of the EVD. */
	u32 room = srq ? max_t(u32, 2 * srq->num_slots, evd->qlen) : 0;
	struct dat_cq *cq;
	DAT_RETURN ret;

	ret = find_or_add(evd, completions, srq, room, &cq);
	if (ret)
		return ret;
	if (srq && !dat_srq_feeds(srq, cq)) {
		room = min_t(u32, room, cq->cq->cqe - cq->expected - completions);
		completions += room;
	}
	if (srq && !dat_srq_feed(srq, cq, room)) {
		remove_unused(evd);
		return no_memory();
	}
	cq->expected += completions;
	cq->users++;
	*cqp = cq;
	return DAT_SUCCESS;
}

/**
 * dat_cq_join - reserve room for the completions of an EP
 * @evd: the EVD, which takes completions; its device is present
 * @completions: completions of the EP that may wait at once, besides those of @srq
 * @srq: the SRQ of the EP, if its receives complete here, or NULL
 * @cqp: out: the CQ, for the QP and for dat_cq_leave()
 *
 * When a connection breaks, all outstanding requests complete at once, even if the
 * consumer suppressed their completions. The CQ must have room for them all. The first EP of @srq
 * on a CQ reserves room for twice the buffers of @srq, or for the length of @evd, if the device has
 * it: @srq may grow.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, or DAT_INSUFFICIENT_RESOURCES with DAT_RESOURCE_TEVD (the device has no
 * CQ as large, or no other CQ, or the rdma cgroup refuses it) or DAT_RESOURCE_MEMORY (also: the
 * account of the user). After an error nothing is reserved.
 */
DAT_RETURN dat_cq_join(struct dat_evd *evd, u32 completions, struct dat_srq *srq,
		       struct dat_cq **cqp)
{
	DAT_RETURN ret;

	if (srq)
		mutex_lock(&srq->mutex);
	mutex_lock(&evd->size_lock);
	ret = join(evd, completions, srq, cqp);
	mutex_unlock(&evd->size_lock);
	if (srq)
		mutex_unlock(&srq->mutex);
	return ret;
}

/**
 * dat_cq_leave - release the room that dat_cq_join() reserved
 * @cq: the CQ, with none of the EP's completions left; destroyed if no other EP uses it
 * @completions: the value passed to dat_cq_join()
 * @srq: the value passed to dat_cq_join()
 *
 * Context: process, may sleep.
 */
void dat_cq_leave(struct dat_cq *cq, u32 completions, struct dat_srq *srq)
{
	struct dat_evd *evd = cq->evd;

	if (srq)
		mutex_lock(&srq->mutex);
	mutex_lock(&evd->size_lock);
	cq->expected -= completions + (srq ? dat_srq_unfeed(srq, cq) : 0);
	cq->users--;
	remove_unused(evd);
	mutex_unlock(&evd->size_lock);
	if (srq)
		mutex_unlock(&srq->mutex);
}

/**
 * dat_cq_grow - reserve more room for an SRQ whose EPs use a CQ
 * @cq: the CQ
 * @completions: how much more
 *
 * Context: process, may sleep.
 * Return: false if the CQ has no room.
 */
bool dat_cq_grow(struct dat_cq *cq, u32 completions)
{
	bool ok;

	mutex_lock(&cq->evd->size_lock);
	ok = completions <= cq->cq->cqe - cq->expected;
	if (ok)
		cq->expected += completions;
	mutex_unlock(&cq->evd->size_lock);
	return ok;
}

/**
 * dat_evd_unplug - stop the poller of an EVD, and destroy what is left of its CQs
 * @evd: the EVD, which no EP feeds any more
 *
 * From here a work item runs the upcalls.
 *
 * Context: process, may sleep.
 */
void dat_evd_unplug(struct dat_evd *evd)
{
	mutex_lock(&evd->size_lock);
	if (!evd->polls)
		goto unlock;
	remove_unused(evd);
	WARN_ON_ONCE(evd->num_cqs);
	dat_poll_disable(&evd->poll);
	irq_work_sync(&evd->irq_work);
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->polls, false);
	spin_unlock_bh(&evd->lock);
	dat_evd_schedule_upcall(evd);
unlock:
	mutex_unlock(&evd->size_lock);
}

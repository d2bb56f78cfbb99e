// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_cq.c - creates, resizes and destroys the completion queue of an EVD
 *
 * A CQ has room for every completion that the EPs of its EVD can have outstanding, so it
 * never overruns. Devices cannot resize a kernel CQ (none can since Linux 7.1). kdapl
 * therefore replaces a CQ by a larger one while no EP feeds the EVD, and refuses an EP
 * whose completions do not fit. evd->size_lock serialises all changes of evd->cq. EVDs
 * and EPs call these functions in process context.
 */
#include <linux/kernel.h>
#include <linux/rcupdate.h>

#include "base/account.h"
#include "base/compat.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "queue/evd.h"

/*
 * Room for EPs that are created later: for SPARE_EPS EPs like the first, at most
 * SPARE_COMPLETIONS. The limit keeps the CQ of the default EP below 2048 entries.
 */
#define SPARE_EPS		15
#define SPARE_COMPLETIONS	1792

static DAT_RETURN no_room(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
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

static DAT_RETURN no_memory(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

static DAT_RETURN create_cq(struct dat_evd *evd, u32 cqe, struct ib_cq **cqp)
{
	struct ib_device *ibdev = dat_ia_ibdev(evd->obj.ia);
	static atomic_t next_vector;
	struct ib_cq_init_attr attr = {
		.cqe = cqe,
		/* Round robin, like ib_alloc_cq_any(). */
		.comp_vector = (u32)atomic_inc_return(&next_vector) %
			       ibdev->num_comp_vectors,
	};
	struct ib_cq *cq;

	if (!dat_object_charge(&evd->obj, dat_bytes_cq(cqe)))
		return no_memory();
	cq = ib_create_cq(ibdev, evd_cq_comp, evd_cq_event, evd, &attr);
	if (IS_ERR(cq)) {
		dat_object_uncharge(&evd->obj, dat_bytes_cq(cqe));
		return PTR_ERR(cq) == -ENOMEM ? no_memory() : no_room();
	}
	*cqp = cq;
	return DAT_SUCCESS;
}

/* No EP feeds the EVD: the old CQ is empty, and no QP uses it. */
static DAT_RETURN replace_cq(struct dat_evd *evd, u32 cqe)
{
	size_t before = evd->cq_bytes;
	struct ib_cq *old = evd->cq, *cq;
	DAT_RETURN ret;

	lockdep_assert_held(&evd->size_lock);
	ret = create_cq(evd, cqe, &cq);
	if (ret)
		return ret;
	evd->cq_bytes = dat_bytes_cq(cqe);
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->cq, cq);
	spin_unlock_bh(&evd->lock);
	/* The poller, or dat_evd_arm(), may be about to arm the old CQ. */
	synchronize_rcu();
	ib_destroy_cq(old);
	dat_object_uncharge(&evd->obj, before);
	return DAT_SUCCESS;
}

static u32 max_cqe(struct dat_evd *evd)
{
	return dat_dev_max_cqe(dat_ia_ibdev(evd->obj.ia));
}

/* CQ entries for an EVD of @qlen events. */
static u32 cqe_for(struct dat_evd *evd, DAT_COUNT qlen)
{
	return min(dat_evd_cq_size(evd, qlen), max_cqe(evd));
}

/**
 * dat_evd_cq_create - create the CQ of a new EVD
 * @evd: the EVD; the function sets evd->cq
 * @completions: completions that may wait at once; 0 if not known: evd->qlen then
 *	determines the size
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_evd_cq_create(struct dat_evd *evd, u32 completions)
{
	u32 cqe = completions ?: cqe_for(evd, evd->qlen);
	DAT_RETURN ret;

	if (evd->qlen > max_cqe(evd) || completions > max_cqe(evd) ||
	    !dat_object_charge_hca(&evd->obj, DAT_HCA_OBJECT, 1))
		return no_room();
	ret = create_cq(evd, cqe, &evd->cq);
	if (ret)
		dat_object_uncharge_hca(&evd->obj);
	else
		evd->cq_bytes = dat_bytes_cq(cqe);
	return ret;
}

/* Returns whether there was a CQ to detach. */
static bool detach_cq(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->size_lock);
	if (!evd->cq)
		return false;
	dat_evd_collect(evd);
	dat_poll_disable(&evd->poll);
	evd->detached_cq = evd->cq;
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->cq, NULL);
	spin_unlock_bh(&evd->lock);
	return true;
}

/**
 * dat_evd_cq_detach - detach the CQ of an EVD, if it has one
 * @evd: the EVD, which no EP feeds any more
 *
 * After an RCU grace period the CQ is no longer used, and dat_evd_cq_destroy() destroys it without
 * waiting. Calls that resize the EVD may still be running.
 *
 * Context: process, may sleep.
 */
void dat_evd_cq_detach(struct dat_evd *evd)
{
	mutex_lock(&evd->size_lock);
	detach_cq(evd);
	mutex_unlock(&evd->size_lock);
}

/**
 * dat_evd_cq_destroy - destroy the CQ of an EVD, if it has one
 * @evd: the EVD, which no EP feeds any more; if dat_evd_cq_detach() was called for it, an
 *	RCU grace period ago
 *
 * Calls that resize the EVD may still be running.
 *
 * Context: process, may sleep.
 */
void dat_evd_cq_destroy(struct dat_evd *evd)
{
	mutex_lock(&evd->size_lock);
	/* The poller may have finished and be about to arm the CQ. */
	if (detach_cq(evd))
		synchronize_rcu();
	if (evd->detached_cq) {
		ib_destroy_cq(evd->detached_cq);
		evd->detached_cq = NULL;
		dat_object_uncharge(&evd->obj, evd->cq_bytes);
		irq_work_sync(&evd->irq_work);
		dat_evd_schedule_upcall(evd);
	}
	mutex_unlock(&evd->size_lock);
}

/**
 * dat_evd_cq_resize - replace the CQ of an EVD by one for another queue length
 * @evd: the EVD, whose size_lock is held; it may have no CQ
 * @qlen: events that the EVD is to hold, at least 1
 *
 * A CQ that EPs feed is kept: it has room for all that can be outstanding.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_evd_cq_resize(struct dat_evd *evd, DAT_COUNT qlen)
{
	u32 cqe;

	lockdep_assert_held(&evd->size_lock);
	if (!evd->cq)
		return DAT_SUCCESS;
	if (qlen > max_cqe(evd))
		return no_room();
	cqe = cqe_for(evd, qlen);
	if (atomic_read(&evd->expected) ||
	    (cqe <= evd->cq->cqe && cqe >= evd->cq->cqe / 2))
		return DAT_SUCCESS;
	return replace_cq(evd, cqe);
}

/* Makes room in the CQ for @needed completions; @fed: EPs feed the EVD already. */
static DAT_RETURN make_room(struct dat_evd *evd, u64 needed, bool fed)
{
	u32 spare, roomy;
	DAT_RETURN ret;

	if (needed > max_cqe(evd))
		return no_room();
	if (fed)
		return needed <= evd->cq->cqe ? DAT_SUCCESS : no_room();
	spare = min_t(u64, SPARE_EPS * needed, SPARE_COMPLETIONS);
	roomy = min_t(u64, needed + spare, max_cqe(evd));
	/* An EVD without a handle is private to one EP, so it needs no spare room. */
	if (roomy <= evd->cq->cqe ||
	    (!evd->obj.handle && needed <= evd->cq->cqe))
		return DAT_SUCCESS;
	ret = replace_cq(evd, roomy);
	if (!ret || needed <= evd->cq->cqe)
		return DAT_SUCCESS;
	return replace_cq(evd, needed);
}

/**
 * dat_evd_expect - reserve room for the completions of an EP
 * @evd: the EVD, which has a CQ
 * @completions: completions of the EP that may wait at once
 * @more: completions that the same EP will reserve with its next call
 *
 * When a connection breaks, all outstanding requests complete at once, even if the
 * consumer suppressed their completions. The CQ must have room for them all.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, or DAT_INSUFFICIENT_RESOURCES with DAT_RESOURCE_TEVD (the
 * CQ is too small, and EPs use it or the device has none as large) or
 * DAT_RESOURCE_MEMORY. After an error nothing is reserved.
 */
DAT_RETURN dat_evd_expect(struct dat_evd *evd, u32 completions, u32 more)
{
	DAT_RETURN ret = DAT_SUCCESS;
	u32 fed;

	/* Without the lock two EPs could reserve the same room. */
	mutex_lock(&evd->size_lock);
	fed = atomic_read(&evd->expected);
	if (completions)
		ret = make_room(evd, (u64)fed + completions + more, fed);
	if (!ret)
		atomic_add(completions, &evd->expected);
	mutex_unlock(&evd->size_lock);
	return ret;
}

/**
 * dat_evd_unexpect - release the room that dat_evd_expect() reserved
 * @evd: the EVD, with none of the EP's completions left in its CQ
 * @completions: the value passed to dat_evd_expect()
 *
 * Context: any.
 */
void dat_evd_unexpect(struct dat_evd *evd, u32 completions)
{
	atomic_sub(completions, &evd->expected);
}

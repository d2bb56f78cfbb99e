// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * upcall.c - makes the upcalls of an EVD, one at a time
 *
 * An EVD with a CQ makes them from irq_poll, which ib_core's own CQs use as
 * well: completions are processed where the interrupt left them. One without a
 * CQ makes them from a work item, where they may sleep.
 */
#include "evd.h"
#include "ia.h"
#include "kdapl.h"

#define UPCALL_BUDGET	256

static bool evd_upcall(struct dat_evd *evd)
{
	struct dat_evd_entry entry;
	DAT_EVENT event;
	bool more;

	if (!dat_evd_pop_for_upcall(evd, &entry, &more))
		return false;

	event.event_number = entry.number;
	event.evd_handle = evd->obj.handle;
	event.event_data = entry.data;
	evd->upcall.upcall_func(evd->upcall.instance_data, &event,
				more ? DAT_TRUE : DAT_FALSE);
	return true;
}

static int evd_irq_poll(struct irq_poll *iop, int budget)
{
	struct dat_evd *evd = container_of(iop, struct dat_evd, iop);
	int done = 0;

	while (done < budget && evd_upcall(evd))
		done++;
	if (done < budget) {
		struct ib_cq *cq;

		irq_poll_complete(iop);
		/* Softirq is an RCU read-side section: evd_unplug() waits. */
		cq = READ_ONCE(evd->cq);
		if (cq &&
		    READ_ONCE(evd->policy) == DAT_UPCALL_SINGLE_INSTANCE &&
		    ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
					 IB_CQ_REPORT_MISSED_EVENTS) > 0)
			irq_poll_sched(iop);
	}
	return done;
}

static void evd_upcall_work(struct work_struct *work)
{
	struct dat_evd *evd = container_of(work, struct dat_evd, work);

	bool atomic = evd->flags & DAT_EVD_CQ_FLAGS;
	bool more;

	/* Left over from a CQ that went with its device: softirq as before. */
	do {
		if (atomic)
			local_bh_disable();
		more = evd_upcall(evd);
		if (atomic)
			local_bh_enable();
		cond_resched();
	} while (more);
}

/**
 * dat_evd_kick - something was queued: make the upcalls that are due
 * @evd: the EVD
 *
 * Context: process or softirq.
 */
void dat_evd_kick(struct dat_evd *evd)
{
	if (READ_ONCE(evd->policy) != DAT_UPCALL_SINGLE_INSTANCE)
		return;
	/* Nothing is queued behind the back of dat_evd_upcall_stop(). */
	spin_lock_bh(&evd->lock);
	if (evd->policy != DAT_UPCALL_SINGLE_INSTANCE)
		;
	else if (evd->cq)
		irq_poll_sched(&evd->iop);
	else
		queue_work(kdapl_wq, &evd->work);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_in_upcall - is the caller an upcall that may sleep?
 *
 * Context: any.
 */
bool dat_evd_in_upcall(void)
{
	struct work_struct *work = current_work();

	return work && work->func == evd_upcall_work;
}

/**
 * dat_evd_upcall_init - make a new EVD able to make upcalls
 * @evd: the EVD
 */
void dat_evd_upcall_init(struct dat_evd *evd)
{
	evd->policy = DAT_UPCALL_DISABLE;
	irq_poll_init(&evd->iop, UPCALL_BUDGET, evd_irq_poll);
	INIT_WORK(&evd->work, evd_upcall_work);
}

/**
 * dat_evd_upcall_stop - make no more upcalls
 * @evd: the EVD
 *
 * When this returns none is running, unless it was called from one.
 * Context: process, may sleep.
 */
void dat_evd_upcall_stop(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->policy = DAT_UPCALL_DISABLE;
	spin_unlock_bh(&evd->lock);

	if (evd->cq) {
		irq_poll_disable(&evd->iop);
		irq_poll_enable(&evd->iop);
	} else if (current_work() != &evd->work) {
		cancel_work_sync(&evd->work);
	}
}

static DAT_RETURN check_upcall(DAT_UPCALL_POLICY policy,
			       const DAT_UPCALL_OBJECT *upcall)
{
	switch (policy) {
	case DAT_UPCALL_DISABLE:
	case DAT_UPCALL_TEARDOWN:
		return DAT_SUCCESS;
	case DAT_UPCALL_SINGLE_INSTANCE:
		return upcall->upcall_func ? DAT_SUCCESS :
			DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	case DAT_UPCALL_MANY:
	case DAT_UPCALL_NORIFY:
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
}

/**
 * dat_evd_modify_upcall - change the upcalls of an EVD
 * @evd_handle: the EVD
 * @upcall_policy: DAT_UPCALL_DISABLE, DAT_UPCALL_TEARDOWN (the same) or
 *	DAT_UPCALL_SINGLE_INSTANCE
 * @upcall: whom to call; DAT_UPCALL_SAME keeps what is set
 * @upcall_flag: DAT_UPCALL_INVOC_ANY makes upcalls for all events that are
 *	queued already, those without notification included;
 *	DAT_UPCALL_INVOC_NEW waits for the next one to come
 *
 * When it returns, no upcall of the former kind is running.
 *
 * Context: process, may sleep. Not from a softirq upcall.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG upcall_flag)
{
	DAT_UPCALL_OBJECT wanted;
	struct dat_object *obj;
	struct dat_evd *evd;
	DAT_RETURN ret;

	if (upcall_flag != DAT_UPCALL_INVOC_NEW &&
	    upcall_flag != DAT_UPCALL_INVOC_ANY)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);

	obj = dat_object_enter(evd_handle, DAT_HANDLE_TYPE_EVD,
			       DAT_INVALID_HANDLE1, &ret);
	if (!obj)
		return ret;
	evd = to_evd(obj);
	/* Freeing it now would stop upcalls that are about to be started. */
	if (!dat_object_use(obj)) {
		dat_object_leave(obj);
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	}

	wanted = upcall ? *upcall : evd->upcall;
	ret = check_upcall(upcall_policy, &wanted);
	if (ret)
		goto leave;

	/* Nothing to stop where nothing changes but what is delivered. */
	if (upcall || upcall_policy != evd->policy)
		dat_evd_upcall_stop(evd);
	if (upcall_policy != DAT_UPCALL_SINGLE_INSTANCE)
		goto leave;

	spin_lock_bh(&evd->lock);
	evd->upcall = wanted;
	evd->policy = upcall_policy;
	evd->deliver_silent = upcall_flag == DAT_UPCALL_INVOC_ANY;
	spin_unlock_bh(&evd->lock);
	/* An armed CQ that has completions already may not fire for them. */
	if (upcall_flag == DAT_UPCALL_INVOC_ANY)
		dat_evd_kick(evd);
	else if (evd->cq)
		ib_req_notify_cq(evd->cq, IB_CQ_NEXT_COMP);
leave:
	dat_object_unuse(obj);
	dat_object_leave(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_modify_upcall);

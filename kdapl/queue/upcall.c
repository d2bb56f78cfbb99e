// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * upcall.c - makes the upcalls of an EVD, one at a time or many
 *
 * An EVD with a CQ makes them from irq_poll, which ib_core's own CQs use as
 * well: completions are processed where the interrupt left them. One without a
 * CQ makes them from a work item, where they may sleep. Those that may run at
 * the same time as others come from more work items, called for help when
 * events are left over.
 */
#include <linux/kernel.h>
#include <linux/wait_bit.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "queue/evd.h"

#define UPCALL_BUDGET	256

/*
 * From when a work item is queued until it has run. That is not left to
 * cancel_work_sync(): an upcall may end the upcalls of another EVD, and lockdep
 * cannot tell the two apart. The reference keeps the EVD that is freed by its
 * own upcall.
 */
static void evd_work_begin(struct dat_evd *evd)
{
	kref_get(&evd->obj.ref);
	atomic_inc(&evd->works);
}

static void evd_work_end(struct dat_evd *evd)
{
	if (atomic_dec_and_test(&evd->works))
		wake_up_var(&evd->works);
	dat_object_put(&evd->obj);
}

/* One that is not busy looks after the events that are left. */
static void evd_call_helper(struct dat_evd *evd)
{
	unsigned int i;

	for (i = 0; i < DAT_EVD_HELPERS; i++) {
		struct dat_evd_helper *helper = &evd->helpers[i];

		if (test_and_set_bit(0, &helper->busy))
			continue;
		evd_work_begin(evd);
		queue_work(dat_wq(&evd->obj), &helper->work);
		return;
	}
}

/* Makes up to @max upcalls, as long as any is due; how many it has made. */
static int evd_upcalls(struct dat_evd *evd, int max)
{
	struct dat_evd_entry entry;
	DAT_UPCALL_OBJECT upcall;
	bool more, drained = false;
	DAT_EVENT event;
	int done;

	for (done = 0; done < max; done++) {
		/* What comes from now on is told of: see rearm(). */
		if (drained && likely(!dat_evd_upcall_pending(evd)))
			break;
		if (!dat_evd_pop_for_upcall(evd, &entry, &upcall, &more,
					    &drained))
			break;
		if (unlikely(READ_ONCE(evd->policy) == DAT_UPCALL_MANY) && more)
			evd_call_helper(evd);
		dat_evd_event(&entry, evd->obj.handle, &event);
		upcall.upcall_func(upcall.instance_data, &event,
				   more ? DAT_TRUE : DAT_FALSE);
	}
	return done;
}

/*
 * A completion does not tell whether its sender wanted it to be noticed; only the
 * CQ knows. So all of its streams must be of that kind.
 */
static enum ib_cq_notify_flags notify_flags(const struct dat_evd *evd)
{
	u32 streams = READ_ONCE(evd->streams);

	return streams && READ_ONCE(evd->solicited) == streams &&
	       !READ_ONCE(evd->watchers) ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP;
}

/* Is there something to do yet, that nobody will tell of? */
static bool rearm(struct dat_evd *evd, struct ib_cq *cq)
{
	bool upcalls = dat_evd_makes_upcalls(evd);

	if (!upcalls && likely(!READ_ONCE(evd->watchers)))
		return false;
	/*
	 * Who queued something in the meantime has kicked us in vain. Pairs with
	 * irq_poll_sched() in dat_evd_schedule_upcall().
	 */
	smp_mb();
	if (upcalls && unlikely(dat_evd_upcall_pending(evd)))
		return true;
	if (ib_req_notify_cq(cq, notify_flags(evd) |
				 IB_CQ_REPORT_MISSED_EVENTS) <= 0 &&
	    !(unlikely(evd->may_miss) && dat_evd_look_again(evd)))
		return false;
	/* A watcher has to wait until the consumer has made room. */
	return upcalls || !dat_evd_is_full(evd);
}

static int evd_irq_poll(struct irq_poll *iop, int budget)
{
	struct dat_evd *evd = container_of(iop, struct dat_evd, iop);
	int done;

	if (unlikely(READ_ONCE(evd->watchers)))
		dat_evd_gather(evd);
	done = evd_upcalls(evd, budget);
	if (done < budget) {
		struct ib_cq *cq;

		irq_poll_complete(iop);
		/* Softirq is an RCU read-side section: evd_unplug() waits. */
		cq = READ_ONCE(evd->cq);
		if (cq && rearm(evd, cq))
			irq_poll_sched(iop);
	}
	return done;
}

static void evd_make_upcalls(struct dat_evd *evd)
{
	bool atomic = evd->flags & DAT_EVD_CQ_FLAGS;
	int done;

	/* Helpers, and what is left of a CQ that has gone: softirq as before. */
	do {
		if (atomic)
			local_bh_disable();
		done = evd_upcalls(evd, 1);
		if (atomic)
			local_bh_enable();
		cond_resched();
	} while (done);
}

static void evd_upcall_work(struct work_struct *work)
{
	struct dat_evd *evd = container_of(work, struct dat_evd, work);

	evd_make_upcalls(evd);
	evd_work_end(evd);
}

static void evd_helper_work(struct work_struct *work)
{
	struct dat_evd_helper *helper =
		container_of(work, struct dat_evd_helper, work);
	struct dat_evd *evd = helper->evd;

	evd_make_upcalls(evd);
	clear_bit(0, &helper->busy);
	evd_work_end(evd);
}

static void evd_queue_work(struct dat_evd *evd)
{
	/* A work item that is in an upcall comes back only after it. */
	if (evd->policy == DAT_UPCALL_MANY && atomic_read(&evd->works))
		evd_call_helper(evd);
	evd_work_begin(evd);
	if (!queue_work(dat_wq(&evd->obj), &evd->work))
		evd_work_end(evd);
}

/**
 * dat_evd_schedule_upcall - something was queued: make the upcalls that are due
 * @evd: the EVD
 *
 * Context: process or softirq.
 */
void dat_evd_schedule_upcall(struct dat_evd *evd)
{
	if (!dat_evd_makes_upcalls(evd))
		return;
	/* Nothing is queued behind the back of dat_evd_upcall_stop(). */
	spin_lock_bh(&evd->lock);
	if (!dat_evd_makes_upcalls(evd))
		;
	else if (evd->cq)
		irq_poll_sched(&evd->iop);
	else
		evd_queue_work(evd);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_arm - have the CQ interrupt when the next event comes
 * @evd: the EVD, which has a CQ
 *
 * Without an EP that feeds it none can come, and how to arm it is not known.
 * Context: any.
 */
void dat_evd_arm(struct dat_evd *evd)
{
	struct ib_cq *cq;

	/* The last EP may go meanwhile, and the CQ with it: see evd_cq.c. */
	rcu_read_lock();
	cq = READ_ONCE(evd->cq);
	if (cq && READ_ONCE(evd->streams))
		ib_req_notify_cq(cq, notify_flags(evd));
	rcu_read_unlock();
}

/**
 * dat_evd_add_stream - an EP feeds an EVD with completions from now on
 * @evd: the EVD, which has a CQ
 * @solicited: those of receives, with DAT_COMPLETION_SOLICITED_WAIT_FLAG
 *
 * Context: process.
 */
void dat_evd_add_stream(struct dat_evd *evd, bool solicited)
{
	spin_lock_bh(&evd->lock);
	evd->solicited += solicited;
	evd->streams++;
	spin_unlock_bh(&evd->lock);
	if (evd->cq && dat_evd_makes_upcalls(evd))
		dat_evd_arm(evd);
}

/**
 * dat_evd_remove_stream - the reverse of dat_evd_add_stream()
 * @evd: the EVD
 * @solicited: as for dat_evd_add_stream()
 *
 * Context: process.
 */
void dat_evd_remove_stream(struct dat_evd *evd, bool solicited)
{
	spin_lock_bh(&evd->lock);
	evd->streams--;
	evd->solicited -= solicited;
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_watch - process completions as they come, even without upcalls
 * @evd: the EVD, which has a CQ
 *
 * For dat_watermarks_took(), which counts what the consumer has not dequeued.
 *
 * Context: process.
 */
void dat_evd_watch(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->watchers++;
	if (evd->cq)
		irq_poll_sched(&evd->iop);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_unwatch - the reverse of dat_evd_watch()
 * @evd: the EVD
 *
 * Context: process.
 */
void dat_evd_unwatch(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->watchers--;
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

	return work && (work->func == evd_upcall_work ||
			work->func == evd_helper_work);
}

/**
 * dat_evd_upcall_init - make a new EVD able to make upcalls
 * @evd: the EVD
 */
void dat_evd_upcall_init(struct dat_evd *evd)
{
	unsigned int i;

	evd->policy = DAT_UPCALL_DISABLE;
	irq_poll_init(&evd->iop, UPCALL_BUDGET, evd_irq_poll);
	INIT_WORK(&evd->work, evd_upcall_work);
	for (i = 0; i < DAT_EVD_HELPERS; i++) {
		evd->helpers[i].evd = evd;
		INIT_WORK(&evd->helpers[i].work, evd_helper_work);
	}
}

static bool is_upcall_of(struct dat_evd *evd)
{
	struct work_struct *work = current_work();
	unsigned int i;

	for (i = 0; i < DAT_EVD_HELPERS; i++)
		if (work == &evd->helpers[i].work)
			return true;
	return work == &evd->work;
}

/* Two upcalls that wait for each other would wait for ever. */
static void evd_wait_for_upcalls(struct dat_evd *evd)
{
	if (is_upcall_of(evd))
		return;
	if (evd->cq) {
		irq_poll_disable(&evd->iop);
		irq_poll_enable(&evd->iop);
		/*
		 * An interrupt of the CQ in between has scheduled nothing, and there
		 * is no other until the CQ is armed again.
		 */
		if (READ_ONCE(evd->watchers))
			irq_poll_sched(&evd->iop);
	}
	wait_var_event(&evd->works, !atomic_read(&evd->works));
}

/**
 * dat_evd_upcall_stop - make no more upcalls
 * @evd: the EVD; the caller has a reference
 *
 * When this returns none is running, unless it was called from one.
 * Context: process, may sleep.
 */
void dat_evd_upcall_stop(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->policy = DAT_UPCALL_DISABLE;
	spin_unlock_bh(&evd->lock);
	evd_wait_for_upcalls(evd);
}

/**
 * dat_evd_flush_upcalls - wait for the upcalls of what is queued by now
 * @evd_handle: the EVD; one that takes no completions of DTOs or binds
 *
 * What has been queued by the time of the call has made its upcalls when it
 * returns, if the EVD makes any. From an upcall nothing is waited for. It works
 * when the device is removed, too. No specification has it.
 *
 * Context: process, may sleep; with no lock that upcalls want.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_MODEL_NOT_SUPPORTED (the EVD takes
 * completions, whose upcalls come from softirq).
 */
DAT_RETURN dat_evd_flush_upcalls(DAT_EVD_HANDLE evd_handle)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct dat_object *obj;
	struct dat_evd *evd;
	unsigned int i;

	might_sleep();
	obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	evd = to_evd(obj);
	if (evd->flags & DAT_EVD_CQ_FLAGS) {
		ret = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	} else if (!dat_evd_in_upcall()) {
		/* Not until there are no works: of a stream there is no end. */
		flush_work(&evd->work);
		/* It has found nothing left: the rest is in these hands. */
		for (i = 0; i < DAT_EVD_HELPERS; i++)
			flush_work(&evd->helpers[i].work);
	}
	dat_object_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_flush_upcalls);

/**
 * dat_evd_check_upcall - can an EVD make such upcalls?
 * @policy: the policy
 * @upcall: whom to call; may be NULL
 * @bad_policy: subtype of DAT_INVALID_PARAMETER for @policy
 * @bad_upcall: subtype of DAT_INVALID_PARAMETER for @upcall
 *
 * Notification alone, without the event, is what nobody has ever specified.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_evd_check_upcall(DAT_UPCALL_POLICY policy,
				const DAT_UPCALL_OBJECT *upcall,
				DAT_RETURN_SUBTYPE bad_policy,
				DAT_RETURN_SUBTYPE bad_upcall)
{
	switch (policy) {
	case DAT_UPCALL_DISABLE:
	case DAT_UPCALL_TEARDOWN:
		return DAT_SUCCESS;
	case DAT_UPCALL_SINGLE_INSTANCE:
	case DAT_UPCALL_MANY:
		return upcall && upcall->upcall_func ? DAT_SUCCESS :
			DAT_ERROR(DAT_INVALID_PARAMETER, bad_upcall);
	case DAT_UPCALL_NORIFY:
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INVALID_PARAMETER, bad_policy);
	}
}

/*
 * If there were upcalls before, an event may have come while they were stopped: it is
 * looked for, as its interrupt was for nothing.
 */
static void evd_set_upcall(struct dat_evd *evd, DAT_UPCALL_POLICY policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_UPCALL_FLAG flag, bool were_upcalls)
{
	spin_lock_bh(&evd->lock);
	evd->upcall = *upcall;
	evd->policy = policy;
	evd->deliver_silent = flag == DAT_UPCALL_INVOC_ANY;
	spin_unlock_bh(&evd->lock);
	/* An armed CQ that has completions already may not fire for them. */
	if (flag == DAT_UPCALL_INVOC_ANY || were_upcalls)
		dat_evd_schedule_upcall(evd);
	else if (evd->cq)
		dat_evd_arm(evd);
}

/* Off again, should somebody else have set another meanwhile. */
static void evd_forget_upcall(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->policy = DAT_UPCALL_DISABLE;
	evd->upcall = DAT_UPCALL_NULL;
	spin_unlock_bh(&evd->lock);
}

/* Only a flag: this is what an upcall in softirq can do. */
static DAT_RETURN evd_disable_upcall(DAT_EVD_HANDLE evd_handle)
{
	struct dat_object *obj;

	obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	spin_lock_bh(&to_evd(obj)->lock);
	to_evd(obj)->policy = DAT_UPCALL_DISABLE;
	spin_unlock_bh(&to_evd(obj)->lock);
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_evd_modify_upcall - change the upcalls of an EVD
 * @evd_handle: the EVD
 * @upcall_policy: DAT_UPCALL_DISABLE: no upcall begins from now on;
 *	DAT_UPCALL_TEARDOWN: nor is one running when this returns, and the EVD
 *	has forgotten whom to call;
 *	DAT_UPCALL_SINGLE_INSTANCE: one at a time;
 *	DAT_UPCALL_MANY: several may run at once, on several CPUs: each begins
 *	in the order of the events, and that is all the order there is
 * @upcall: whom to call; DAT_UPCALL_SAME keeps what is set. Ignored unless
 *	there are to be upcalls.
 * @upcall_flag: DAT_UPCALL_INVOC_ANY makes upcalls for all events that are
 *	queued already, those without notification included;
 *	DAT_UPCALL_INVOC_NEW waits for the next one to come
 *
 * Unless @upcall_policy is DAT_UPCALL_DISABLE, no upcall of the former kind is
 * running when this returns. From an upcall of the same EVD nothing is waited
 * for. Specification: dat_evd_modify_upcall(), kDAPL.
 *
 * Context: process, may sleep; with DAT_UPCALL_DISABLE softirq as well.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				   DAT_UPCALL_POLICY upcall_policy,
				   const DAT_UPCALL_OBJECT *upcall,
				   DAT_UPCALL_FLAG upcall_flag)
{
	DAT_UPCALL_OBJECT wanted;
	struct dat_object *obj;
	struct dat_evd *evd;
	bool were_upcalls;
	DAT_RETURN ret;

	if (upcall_flag != DAT_UPCALL_INVOC_NEW &&
	    upcall_flag != DAT_UPCALL_INVOC_ANY)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (upcall_policy == DAT_UPCALL_DISABLE)
		return evd_disable_upcall(evd_handle);

	might_sleep();
	obj = dat_object_get_live(evd_handle, DAT_HANDLE_TYPE_EVD,
				  DAT_INVALID_HANDLE1, &ret);
	if (!obj)
		return ret;
	evd = to_evd(obj);
	/* Freeing it now would stop upcalls that are about to be started. */
	if (!dat_object_use_get(obj)) {
		dat_object_put_live(obj);
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	}

	spin_lock_bh(&evd->lock);
	wanted = upcall ? *upcall : evd->upcall;
	spin_unlock_bh(&evd->lock);
	ret = dat_evd_check_upcall(upcall_policy, &wanted, DAT_INVALID_ARG2,
				   DAT_INVALID_ARG3);
	if (ret)
		goto leave;

	were_upcalls = dat_evd_makes_upcalls(evd);
	/* Nothing to stop where nothing changes but what is delivered. */
	if (upcall || upcall_policy != evd->policy)
		dat_evd_upcall_stop(evd);
	if (upcall_policy == DAT_UPCALL_TEARDOWN)
		evd_forget_upcall(evd);
	else
		evd_set_upcall(evd, upcall_policy, &wanted, upcall_flag,
			       were_upcalls);
leave:
	dat_object_use_put(obj);
	dat_object_put_live(obj);
	return ret;
}

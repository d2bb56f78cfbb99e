// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * upcall.c - runs the upcalls of an EVD, one at a time or several in parallel
 *
 * An EVD that takes completions runs upcalls from irq_poll, as ib_core does for its own CQs:
 * completions are processed on the CPU of the interrupt. Another EVD runs upcalls from a work
 * item, where they may sleep. With DAT_UPCALL_MANY up to DAT_EVD_HELPERS more
 * work items run upcalls in parallel while events are left over.
 */
#include <linux/kernel.h>
#include <linux/rculist.h>
#include <linux/wait_bit.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "queue/evd.h"

#define UPCALL_BUDGET	256

/*
 * evd_work_begin() to evd_work_end(): a work item is queued or running. evd->works counts
 * them instead of cancel_work_sync(): an upcall may stop the upcalls of another EVD, and
 * lockdep cannot distinguish the two. The reference keeps an EVD that its own upcall
 * frees.
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

/* Queues an idle helper for the events that are left. */
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

/* Runs up to @max upcalls while any is due. Returns their number. */
static int evd_upcalls(struct dat_evd *evd, int max)
{
	struct dat_evd_entry entry;
	DAT_UPCALL_OBJECT upcall;
	bool more, drained = false;
	DAT_EVENT event;
	int done, taken;
	bool popped;

	for (done = 0; done < max; done += taken + popped) {
		/* rearm() arms the CQs, so later completions cause an interrupt. */
		if (drained && likely(!dat_evd_upcall_pending(evd)))
			break;
		popped = dat_evd_pop_for_upcall(evd, &entry, &upcall, &more,
						&drained, &taken);
		if (!popped && !taken)
			break;
		if (!popped)
			continue;
		if (unlikely(READ_ONCE(evd->policy) == DAT_UPCALL_MANY) && more)
			evd_call_helper(evd);
		dat_evd_event(&entry, evd->obj.handle, &event);
		upcall.upcall_func(upcall.instance_data, &event,
				   more ? DAT_TRUE : DAT_FALSE);
	}
	return done;
}

/*
 * A work completion does not show whether its sender solicited an event; only the CQ has
 * this information. So IB_CQ_SOLICITED requires that all streams are solicited.
 */
static enum ib_cq_notify_flags notify_flags(const struct dat_evd *evd)
{
	u32 streams = READ_ONCE(evd->streams);

	return streams && READ_ONCE(evd->solicited) == streams &&
	       !READ_ONCE(evd->watchers) ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP;
}

/* Arms all CQs. Returns true if one has completions that may cause no interrupt. */
static __always_inline bool arm(struct dat_evd *evd, enum ib_cq_notify_flags flags)
{
	struct dat_cq *cq;
	bool missed = false;

	/* No CQ is destroyed meanwhile. */
	atomic_inc(&evd->arming);
	/* Pairs with wait_for_arming(): it sees the count, or the list lacks its CQ. */
	smp_mb__after_atomic();
	list_for_each_entry_rcu(cq, &evd->cqs, node, true)
		missed |= ib_req_notify_cq(cq->cq, flags) > 0;
	/* Pairs with atomic_read_acquire() there. */
	smp_mb__before_atomic();
	atomic_dec(&evd->arming);
	return missed;
}

/* Arms the CQs. Returns true if events are waiting that cause no interrupt. */
static bool rearm(struct dat_evd *evd)
{
	bool upcalls = dat_evd_makes_upcalls(evd);

	if (!upcalls && likely(!READ_ONCE(evd->watchers)))
		return false;
	/*
	 * Until dat_poll_complete() a call of dat_poll_sched() has no effect, so events
	 * queued meanwhile have scheduled nothing. Pairs with dat_poll_sched() in
	 * dat_evd_schedule_upcall().
	 */
	smp_mb();
	if (upcalls && unlikely(dat_evd_upcall_pending(evd)))
		return true;
	if (!arm(evd, notify_flags(evd) | IB_CQ_REPORT_MISSED_EVENTS) &&
	    !(unlikely(evd->may_miss) && dat_evd_look_again(evd)))
		return false;
	/* For a watcher alone: wait until the consumer has made room. */
	return upcalls || !dat_evd_is_full(evd);
}

static int evd_poll(struct dat_poll *poll, int budget)
{
	struct dat_evd *evd = container_of(poll, struct dat_evd, poll);
	int done;

	if (unlikely(READ_ONCE(evd->watchers)))
		dat_evd_gather(evd);
	done = evd_upcalls(evd, budget);
	if (done < budget) {
		dat_poll_complete(poll);
		if (rearm(evd))
			dat_poll_sched(poll);
	}
	return done;
}

static void evd_make_upcalls(struct dat_evd *evd)
{
	bool atomic = evd->flags & DAT_EVD_CQ_FLAGS;
	int done;

	/* Helpers, and events that a removed device has left: upcalls expect softirq. */
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
	/* A work item that runs an upcall processes no event until the upcall returns. */
	if (evd->policy == DAT_UPCALL_MANY && atomic_read(&evd->works))
		evd_call_helper(evd);
	evd_work_begin(evd);
	if (!queue_work(dat_wq(&evd->obj), &evd->work))
		evd_work_end(evd);
}

/**
 * dat_evd_schedule_upcall - schedule the upcalls that are due after queueing an event
 * @evd: the EVD
 *
 * Context: process or softirq.
 */
void dat_evd_schedule_upcall(struct dat_evd *evd)
{
	if (!dat_evd_makes_upcalls(evd))
		return;
	/* Under the lock: dat_evd_upcall_stop() must not miss a work item. */
	spin_lock_bh(&evd->lock);
	if (!dat_evd_makes_upcalls(evd))
		;
	else if (evd->polls)
		dat_poll_sched(&evd->poll);
	else
		evd_queue_work(evd);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_arm - request an interrupt of the CQs for the next event
 * @evd: the EVD
 *
 * Without an EP that feeds the EVD no completion can arrive, and notify_flags() has no
 * stream to derive the flags from.
 * Context: process or softirq.
 */
void dat_evd_arm(struct dat_evd *evd)
{
	if (READ_ONCE(evd->streams))
		arm(evd, notify_flags(evd));
}

/**
 * dat_evd_add_stream - add a stream of completions of an EP to an EVD
 * @evd: the EVD, which takes completions
 * @solicited: receives, with DAT_COMPLETION_SOLICITED_WAIT_FLAG
 *
 * Context: process.
 */
void dat_evd_add_stream(struct dat_evd *evd, bool solicited)
{
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->solicited, evd->solicited + solicited);
	WRITE_ONCE(evd->streams, evd->streams + 1);
	spin_unlock_bh(&evd->lock);
	if (dat_evd_makes_upcalls(evd))
		dat_evd_arm(evd);
}

/**
 * dat_evd_remove_stream - undo dat_evd_add_stream()
 * @evd: the EVD
 * @solicited: the value passed to dat_evd_add_stream()
 *
 * Context: process.
 */
void dat_evd_remove_stream(struct dat_evd *evd, bool solicited)
{
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->streams, evd->streams - 1);
	WRITE_ONCE(evd->solicited, evd->solicited - solicited);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_watch - process completions on arrival, even without upcalls
 * @evd: the EVD, which takes completions
 *
 * For dat_watermarks_took(), which counts receives that are not dequeued.
 *
 * Context: process.
 */
void dat_evd_watch(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->watchers, evd->watchers + 1);
	if (evd->polls)
		dat_poll_sched(&evd->poll);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_unwatch - undo dat_evd_watch()
 * @evd: the EVD
 *
 * Context: process.
 */
void dat_evd_unwatch(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->watchers, evd->watchers - 1);
	spin_unlock_bh(&evd->lock);
}

/**
 * dat_evd_in_upcall - is the caller an upcall that may sleep?
 *
 * Context: any.
 * Return: true if so.
 */
bool dat_evd_in_upcall(void)
{
	struct work_struct *work = current_work();

	return work && (work->func == evd_upcall_work ||
			work->func == evd_helper_work);
}

/**
 * dat_evd_upcall_init - initialise the upcalls of a new EVD
 * @evd: the EVD
 *
 * Context: process.
 */
void dat_evd_upcall_init(struct dat_evd *evd)
{
	unsigned int i;

	evd->policy = DAT_UPCALL_DISABLE;
	dat_poll_init(&evd->poll, UPCALL_BUDGET, evd_poll);
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

/* From an upcall of the same EVD, waiting would deadlock. */
static void evd_wait_for_upcalls(struct dat_evd *evd)
{
	if (is_upcall_of(evd))
		return;
	if (READ_ONCE(evd->polls)) {
		dat_poll_disable(&evd->poll);
		dat_poll_enable(&evd->poll);
		/*
		 * An interrupt of a CQ with the poller disabled has scheduled nothing,
		 * and no other follows until the CQ is armed again.
		 */
		if (READ_ONCE(evd->watchers))
			dat_poll_sched(&evd->poll);
	}
	wait_var_event(&evd->works, !atomic_read(&evd->works));
}

/**
 * dat_evd_upcall_stop - stop the upcalls of an EVD
 * @evd: the EVD; the caller has a reference
 *
 * When this returns no upcall is running, unless an upcall of @evd made the call.
 * Context: process, may sleep.
 */
void dat_evd_upcall_stop(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->policy, DAT_UPCALL_DISABLE);
	spin_unlock_bh(&evd->lock);
	evd_wait_for_upcalls(evd);
}

/*
 * Runs the upcalls of what the ring and the CQs hold, in place of the poller, which may wait
 * for ksoftirqd. No more than can be there: a steady stream of events would never end. Under
 * size_lock, because dat_evd_unplug() disables the poller for good.
 */
static void evd_flush_poller(struct dat_evd *evd)
{
	u32 left, done;

	mutex_lock(&evd->size_lock);
	if (!evd->polls)
		goto unlock;
	dat_poll_disable(&evd->poll);
	for (left = evd->poll_limit + evd->mask + 1; left; left -= done) {
		local_bh_disable();
		done = evd_upcalls(evd, min_t(u32, left, UPCALL_BUDGET));
		local_bh_enable();
		if (!done)
			break;
		cond_resched();
	}
	dat_poll_enable(&evd->poll);
	/* An interrupt of a CQ meanwhile has scheduled nothing. The softirq runs here. */
	local_bh_disable();
	dat_poll_sched(&evd->poll);
	local_bh_enable();
unlock:
	mutex_unlock(&evd->size_lock);
}

/**
 * dat_evd_flush_upcalls - wait for the upcalls of all queued events
 * @evd_handle: the EVD
 *
 * When the call returns, the upcalls of all events that were queued before the call have
 * returned, if the EVD has upcalls and none of the events is unsignalled. In an upcall the
 * call does not wait. It also works after the device is removed. Extension of kdapl, in no
 * specification.
 *
 * Context: process, may sleep; the caller holds no lock that upcalls take.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_flush_upcalls(DAT_EVD_HANDLE evd_handle)
{
	struct dat_object *obj;
	struct dat_evd *evd;
	unsigned int i;

	might_sleep();
	obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	evd = to_evd(obj);
	if (!dat_evd_in_upcall()) {
		if (dat_evd_makes_upcalls(evd))
			evd_flush_poller(evd);
		/* Not until works is 0: a steady stream of events would never end. */
		flush_work(&evd->work);
		/* No event was left for @work: the helpers have the remaining ones. */
		for (i = 0; i < DAT_EVD_HELPERS; i++)
			flush_work(&evd->helpers[i].work);
	}
	dat_object_put(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_evd_flush_upcalls);

/**
 * dat_evd_set_completion - let a function take completions instead of the upcall
 * @evd_handle: the EVD, which no EP feeds yet
 * @func: the function
 *
 * The function takes completions of DTOs that have succeeded, in their order, when an upcall
 * would be due. It saves the event, and the look-up of the EP's context. The upcall still
 * gets all other events, and completions that kdapl has to look at more closely. Extension
 * of kdapl, in no specification.
 *
 * Context: any; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_set_completion(DAT_EVD_HANDLE evd_handle, DAT_COMPLETION_FUNC func)
{
	struct dat_object *obj;

	obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	spin_lock_bh(&to_evd(obj)->lock);
	to_evd(obj)->completion = func;
	spin_unlock_bh(&to_evd(obj)->lock);
	dat_object_put(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_evd_set_completion);

/**
 * dat_evd_check_upcall - check the upcall parameters of an EVD
 * @policy: the policy
 * @upcall: function to call; may be NULL
 * @bad_policy: subtype of DAT_INVALID_PARAMETER for @policy
 * @bad_upcall: subtype of DAT_INVALID_PARAMETER for @upcall
 *
 * DAT_UPCALL_NORIFY, a notification without an event, is not supported: no
 * specification defines it.
 *
 * Context: any.
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
 * If the EVD had upcalls before, an event may have arrived while they were stopped, and
 * its interrupt had no effect. So schedule a check. It may run late: an unsignalled event
 * that arrives until then must not be taken for a queued one.
 *
 * Returns the use of the EVD before an upcall can run: the first may free the EVD.
 */
static void evd_set_upcall(struct dat_evd *evd, DAT_UPCALL_POLICY policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_UPCALL_FLAG flag, bool were_upcalls)
{
	spin_lock_bh(&evd->lock);
	evd->upcall = *upcall;
	WRITE_ONCE(evd->policy, policy);
	WRITE_ONCE(evd->deliver_unsignalled,
		   flag == DAT_UPCALL_INVOC_ANY && dat_evd_has_events(evd));
	dat_object_use_put(&evd->obj);
	spin_unlock_bh(&evd->lock);
	/* An armed CQ may not interrupt for completions that it already has. */
	if (flag == DAT_UPCALL_INVOC_ANY || were_upcalls)
		dat_evd_schedule_upcall(evd);
	else
		dat_evd_arm(evd);
}

/* Disables again, because another task may have set an upcall meanwhile. */
static void evd_forget_upcall(struct dat_evd *evd)
{
	spin_lock_bh(&evd->lock);
	WRITE_ONCE(evd->policy, DAT_UPCALL_DISABLE);
	evd->upcall = DAT_UPCALL_NULL;
	spin_unlock_bh(&evd->lock);
}

/* Sets only the policy, so that an upcall in softirq can call it. */
static DAT_RETURN evd_disable_upcall(DAT_EVD_HANDLE evd_handle)
{
	struct dat_object *obj;

	obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	spin_lock_bh(&to_evd(obj)->lock);
	WRITE_ONCE(to_evd(obj)->policy, DAT_UPCALL_DISABLE);
	spin_unlock_bh(&to_evd(obj)->lock);
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_evd_modify_upcall - change the upcalls of an EVD
 * @evd_handle: the EVD
 * @upcall_policy: DAT_UPCALL_DISABLE: no upcall begins from now on;
 *	DAT_UPCALL_TEARDOWN: in addition, no upcall is running when the call returns,
 *	and the EVD has no upcall function any more;
 *	DAT_UPCALL_SINGLE_INSTANCE: one at a time;
 *	DAT_UPCALL_MANY: several may run at once, on several CPUs: they begin in the
 *	order of the events, and there is no other order
 * @upcall: function to call; DAT_UPCALL_SAME keeps the current one. Ignored with
 *	DAT_UPCALL_DISABLE and DAT_UPCALL_TEARDOWN.
 * @upcall_flag: DAT_UPCALL_INVOC_ANY runs upcalls for all events that are already
 *	queued, including unsignalled ones;
 *	DAT_UPCALL_INVOC_NEW waits for the next event
 *
 * Unless @upcall_policy is DAT_UPCALL_DISABLE, no upcall of the previous kind is
 * running when the call returns. In an upcall of the same EVD the call does not wait.
 * Specification: dat_evd_modify_upcall(), kDAPL.
 *
 * Context: process, may sleep; with DAT_UPCALL_DISABLE also softirq.
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
	/* The use keeps kdapl_evd_free() from running before the policy is set. */
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
		goto unuse;

	were_upcalls = dat_evd_makes_upcalls(evd);
	/* Do not stop upcalls if only the delivery of queued events changes. */
	if (upcall || upcall_policy != READ_ONCE(evd->policy))
		dat_evd_upcall_stop(evd);
	if (upcall_policy != DAT_UPCALL_TEARDOWN) {
		evd_set_upcall(evd, upcall_policy, &wanted, upcall_flag, were_upcalls);
		goto leave;
	}
	evd_forget_upcall(evd);
unuse:
	dat_object_use_put(obj);
leave:
	dat_object_put_live(obj);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * quiesce.c - live references: serialise calls against the end of their IA
 *
 * Every call that may sleep takes a live reference to its IA. dat_ia_close() and the
 * removal of the device call dat_ia_quiesce(), which waits for all live references;
 * then they own the objects. While an IA is being closed, new references fail instead
 * of waiting: upcalls also call the API, and dat_ia_close() waits for upcalls.
 *
 * A call that holds a live reference must not wait for a work that takes one: the work,
 * the call and dat_ia_quiesce() would deadlock. A work must not wait for a live
 * reference either. It would occupy a worker, and dat_ia_quiesce() waits for upcalls,
 * which need workers. Works call dat_ia_get_or_defer().
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "base/user.h"
#include "dev/device.h"
#include "dev/quiesce.h"
#include "dev/ia.h"

/* Takes a live reference, unless there is none: dat_ia_quiesce() has succeeded. */
static bool live_inc(struct dat_ia *ia)
{
	if (!refcount_inc_not_zero(&ia->num_live))
		return false;
	/*
	 * The increment does not order later loads. Pairs with smp_wmb() in
	 * dat_ia_resume(): the holder sees ia->unplugged.
	 */
	smp_acquire__after_ctrl_dep();
	return true;
}

/*
 * Takes a live reference, even after the removal of the device. Sleeps. Returns false if
 * the IA is being closed.
 */
static bool ia_get_open(struct dat_ia *ia)
{
	for (;;) {
		/* Pairs with dat_ia_resume(). */
		enum dat_ia_live_state state = smp_load_acquire(&ia->live_state);

		/*
		 * Refuse new references as soon as dat_ia_quiesce() begins, although
		 * calls still hold some: otherwise a stream of calls would delay it for
		 * ever. Upcalls are the exception, because a call that holds a
		 * reference may wait for one.
		 */
		if ((state == DAT_IA_OPEN || ia->ops->in_upcall()) &&
		    live_inc(ia))
			return true;
		if (state == DAT_IA_CLOSING)
			return false;
		/*
		 * dat_ia_resume() may have run, and the next dat_ia_quiesce() begun, before
		 * this thread does. A call that holds a reference may then wait for an
		 * upcall, so the upcall must not wait for the end of that quiesce.
		 */
		wait_event(ia->live_wq,
			   READ_ONCE(ia->live_state) != DAT_IA_UNPLUGGING ||
			   (ia->ops->in_upcall() && refcount_read(&ia->num_live)));
	}
}

/**
 * dat_ia_tryget_live - take a live reference without waiting
 * @ia: the IA
 *
 * For a caller that holds a live reference to another IA.
 *
 * Context: any.
 * Return: false if the IA is quiesced, being quiesced or closed, or its device is
 * removed.
 */
bool dat_ia_tryget_live(struct dat_ia *ia)
{
	/* Pairs with dat_ia_resume(). */
	if (smp_load_acquire(&ia->live_state) != DAT_IA_OPEN ||
	    !live_inc(ia))
		return false;
	if (!ia->unplugged)
		return true;
	dat_ia_put_live(ia);
	return false;
}

/**
 * dat_ia_get_or_defer - take a live reference from a work
 * @ia: the IA
 * @deferred: names the work; not in use
 *
 * The call also succeeds after the removal of the device. It never waits: after
 * DAT_IA_DEFERRED the work returns. dat_ia_resume(), dat_ia_kill() or a
 * dat_ia_quiesce() for DAT_IA_CLOSING queues the work again.
 *
 * Context: process.
 * Return: DAT_IA_GOT, for dat_ia_put_live(); DAT_IA_REFUSED if the IA is being closed;
 * DAT_IA_DEFERRED, then the work may already be running again.
 */
enum dat_ia_get_result dat_ia_get_or_defer(struct dat_ia *ia,
					   struct dat_ia_deferred *deferred)
{
	for (;;) {
		bool wait;

		/* Pairs with dat_ia_resume(). */
		switch (smp_load_acquire(&ia->live_state)) {
		case DAT_IA_OPEN:
			if (live_inc(ia))
				return DAT_IA_GOT;
			break;
		case DAT_IA_CLOSING:
			return DAT_IA_REFUSED;
		case DAT_IA_UNPLUGGING:
			break;
		}
		spin_lock_bh(&ia->owner.lock);
		/* release_deferred() takes the lock after live_state has changed. */
		wait = READ_ONCE(ia->live_state) == DAT_IA_UNPLUGGING;
		if (wait)
			list_add_tail(&deferred->node, &ia->deferred);
		spin_unlock_bh(&ia->owner.lock);
		if (wait)
			return DAT_IA_DEFERRED;
	}
}

static void release_deferred(struct dat_ia *ia)
{
	struct dat_ia_deferred *deferred, *next;
	LIST_HEAD(ready);

	spin_lock_bh(&ia->owner.lock);
	list_splice_init(&ia->deferred, &ready);
	spin_unlock_bh(&ia->owner.lock);
	/* The memory of a work may be freed as soon as it is queued. */
	list_for_each_entry_safe(deferred, next, &ready, node)
		queue_work(ia->owner.user->wq, deferred->work);
}

/**
 * dat_ia_put_live - return a live reference
 * @ia: the IA
 *
 * Context: any.
 */
void dat_ia_put_live(struct dat_ia *ia)
{
	if (refcount_dec_and_test(&ia->num_live))
		wake_up_all(&ia->live_wq);
}

/**
 * dat_ia_live_init - initialise the live reference count
 * @ia: the IA
 */
void dat_ia_live_init(struct dat_ia *ia)
{
	ia->live_state = DAT_IA_OPEN;
	refcount_set(&ia->num_live, 1);
	init_waitqueue_head(&ia->live_wq);
	INIT_LIST_HEAD(&ia->deferred);
	INIT_LIST_HEAD(&ia->pinners);
}

/**
 * dat_ia_pin_begin - begin a section that may wait for a page of the calling process
 * @ia: the IA; the caller holds a live reference to it
 * @pinner: filled in; for dat_ia_pin_end()
 *
 * Context: process.
 */
void dat_ia_pin_begin(struct dat_ia *ia, struct dat_ia_pinner *pinner)
{
	pinner->task = current;
	pinner->since = jiffies;
	spin_lock_bh(&ia->owner.lock);
	list_add_tail(&pinner->node, &ia->pinners);
	spin_unlock_bh(&ia->owner.lock);
}

/**
 * dat_ia_pin_end - end the section that dat_ia_pin_begin() began
 * @ia: the IA
 * @pinner: from dat_ia_pin_begin()
 *
 * Context: process.
 */
void dat_ia_pin_end(struct dat_ia *ia, struct dat_ia_pinner *pinner)
{
	spin_lock_bh(&ia->owner.lock);
	list_del(&pinner->node);
	spin_unlock_bh(&ia->owner.lock);
}

/* In jiffies. Swap-in takes less time, except on a host that barely runs at all. */
#define PIN_PATIENCE	(10 * HZ)

/*
 * A process decides when a page arrives, if its userfaultfd(2) or its file system is
 * behind the mapping. The removal of a device must not wait for that, and only a fatal
 * signal ends the wait. All pages were pinned before the call took its live reference.
 * The signal therefore kills only a process that has unmapped them meanwhile.
 */
static void kill_pinners(struct dat_ia *ia)
{
	struct dat_ia_pinner *pinner;

	spin_lock_bh(&ia->owner.lock);
	list_for_each_entry(pinner, &ia->pinners, node) {
		if (time_before(jiffies, pinner->since + PIN_PATIENCE))
			continue;
		pr_warn_ratelimited("kdapl: %s: killed %s[%d], which does not provide the memory that it registers\n",
				    ia->owner.name, pinner->task->comm,
				    task_pid_nr(pinner->task));
		send_sig(SIGKILL, pinner->task, 1);
	}
	spin_unlock_bh(&ia->owner.lock);
}

/**
 * dat_ia_quiesce - refuse new live references and wait for the existing ones
 * @ia: the IA
 * @why: DAT_IA_UNPLUGGING or DAT_IA_CLOSING
 *
 * Context: process, may sleep; the caller ensures that no other thread quiesces or
 * resumes the IA meanwhile.
 */
void dat_ia_quiesce(struct dat_ia *ia, enum dat_ia_live_state why)
{
	WRITE_ONCE(ia->live_state, why);
	dat_ia_put_live(ia);
	while (!wait_event_timeout(ia->live_wq,
				   refcount_read(&ia->num_live) == 0,
				   PIN_PATIENCE))
		kill_pinners(ia);
	/*
	 * Pairs with the release in dat_ia_put_live(): the effects of all calls are
	 * visible.
	 */
	smp_acquire__after_ctrl_dep();
	if (why == DAT_IA_CLOSING)
		release_deferred(ia);
}

/**
 * dat_ia_kill - make live references fail for good, after dat_ia_quiesce()
 * @ia: the IA, from dat_ia_quiesce(); calls that wait for a live reference fail
 *
 * Context: process.
 */
void dat_ia_kill(struct dat_ia *ia)
{
	WRITE_ONCE(ia->live_state, DAT_IA_CLOSING);
	wake_up_all(&ia->live_wq);
	release_deferred(ia);
}

/**
 * dat_ia_resume - allow live references again
 * @ia: the IA, from dat_ia_quiesce()
 */
void dat_ia_resume(struct dat_ia *ia)
{
	/* Pairs with live_inc(). */
	smp_wmb();
	refcount_set(&ia->num_live, 1);
	/* A thread that sees DAT_IA_OPEN also sees the new count. */
	smp_store_release(&ia->live_state, DAT_IA_OPEN);
	wake_up_all(&ia->live_wq);
	release_deferred(ia);
}

/**
 * dat_object_get_open - look up a handle and take a live reference to its IA
 * @handle: handle from the consumer; any value
 * @type: the type that the object must have
 * @subtype: subtype of DAT_INVALID_HANDLE
 * @ret: out: DAT_SUCCESS, or DAT_INVALID_HANDLE if there is no such object
 *
 * The call also succeeds after the removal of the device.
 *
 * Context: process, may sleep.
 * Return: the object, for dat_object_put_live(), or NULL.
 */
struct dat_object *dat_object_get_open(DAT_HANDLE handle,
				       DAT_HANDLE_TYPE type,
				       DAT_RETURN_SUBTYPE subtype,
				       DAT_RETURN *ret)
{
	struct dat_object *obj = dat_object_get(handle, type);

	*ret = DAT_ERROR(DAT_INVALID_HANDLE, subtype);
	if (!obj)
		return NULL;
	if (!ia_get_open(obj->ia))
		goto put;
	if (atomic_read(&obj->users) < 0)
		goto leave;
	*ret = DAT_SUCCESS;
	return obj;

leave:
	dat_ia_put_live(obj->ia);
put:
	dat_object_put(obj);
	return NULL;
}

/**
 * dat_object_get_live - look up a handle and take a live reference to its IA
 * @handle: handle from the consumer; any value
 * @type: the type that the object must have
 * @subtype: subtype of DAT_INVALID_HANDLE
 * @ret: out: DAT_SUCCESS, DAT_INVALID_HANDLE if there is no such object, or
 *	DAT_INTERNAL_ERROR if its device is removed
 *
 * Context: process, may sleep.
 * Return: the object, for dat_object_put_live(), or NULL.
 */
struct dat_object *dat_object_get_live(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
				       DAT_RETURN_SUBTYPE subtype,
				       DAT_RETURN *ret)
{
	struct dat_object *obj;

	obj = dat_object_get_open(handle, type, subtype, ret);
	if (obj && obj->ia->unplugged) {
		dat_object_put_live(obj);
		*ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
		return NULL;
	}
	return obj;
}

/**
 * dat_object_put_live - return the object and its live reference
 * @obj: the object, from dat_object_get_live() or dat_object_get_open()
 *
 * Context: any.
 */
void dat_object_put_live(struct dat_object *obj)
{
	dat_ia_put_live(obj->ia);
	dat_object_put(obj);
}

/**
 * dat_object_free - the common body of most free calls
 * @handle: handle from the consumer; any value
 * @type: the type that the object must have
 * @bad_handle: subtype of DAT_INVALID_HANDLE
 * @in_use: subtype of DAT_INVALID_STATE
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, or DAT_INVALID_STATE if another object uses
 * this one.
 */
DAT_RETURN dat_object_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
			   DAT_RETURN_SUBTYPE bad_handle,
			   DAT_RETURN_SUBTYPE in_use)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	obj = dat_object_get_open(handle, type, bad_handle, &ret);
	if (!obj)
		return ret;

	if (dat_object_claim(obj))
		dat_object_retire(obj);
	else if (atomic_read(&obj->users) < 0)
		ret = DAT_ERROR(DAT_INVALID_HANDLE, bad_handle);
	else
		ret = DAT_ERROR(DAT_INVALID_STATE, in_use);

	dat_object_put_live(obj);
	return ret;
}

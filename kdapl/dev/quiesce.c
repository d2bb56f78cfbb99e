// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * quiesce.c - keeps calls on an IA's objects apart from the IA's end
 *
 * Every call that may sleep passes the gate of its IA. dat_ia_close() and the
 * removal of the device close the gate, wait until the calls inside have left,
 * and then have the objects for themselves. A closed gate never makes a call
 * wait for dat_ia_close(): upcalls make calls too, and dat_ia_close() waits
 * for upcalls.
 *
 * A call inside must not wait for a work that passes the gate: the work, the call and
 * the closer of the gate would wait for each other. A work must not wait at the gate
 * either. It would occupy a worker, and the closer waits for upcalls, which need
 * workers. Works use dat_ia_get_or_defer().
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "base/user.h"
#include "dev/device.h"
#include "dev/quiesce.h"
#include "dev/ia.h"

/**
 * dat_ia_get_open - take a live reference, even after the removal of the device
 * @ia: the IA
 *
 * Context: process, may sleep.
 * Return: false if the IA is being closed.
 */
bool dat_ia_get_open(struct dat_ia *ia)
{
	for (;;) {
		/* Pairs with dat_ia_resume(). */
		enum dat_ia_live_state state = smp_load_acquire(&ia->live_state);

		/*
		 * A closed gate is closed even while calls are inside, or a
		 * stream of them would keep it open. But a call inside may be
		 * waiting for an upcall, and that one must not wait.
		 */
		if ((state == DAT_IA_OPEN || ia->ops->in_upcall()) &&
		    refcount_inc_not_zero(&ia->num_live))
			return true;
		if (state == DAT_IA_CLOSING)
			return false;
		wait_event(ia->live_wq,
			   READ_ONCE(ia->live_state) != DAT_IA_UNPLUGGING);
	}
}

/**
 * dat_ia_get_live - take a live reference
 * @ia: the IA
 *
 * Context: process, may sleep.
 * Return: false if the IA is being closed or its device has gone.
 */
bool dat_ia_get_live(struct dat_ia *ia)
{
	if (!dat_ia_get_open(ia))
		return false;
	if (!ia->unplugged)
		return true;
	dat_ia_put_live(ia);
	return false;
}

/**
 * dat_ia_tryget_live - take a live reference without waiting
 * @ia: the IA
 *
 * For who is behind the gate of another IA. Context: any.
 * Return: false if it is not.
 */
bool dat_ia_tryget_live(struct dat_ia *ia)
{
	/* Pairs with dat_ia_resume(). */
	if (smp_load_acquire(&ia->live_state) != DAT_IA_OPEN ||
	    !refcount_inc_not_zero(&ia->num_live))
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
 * Like dat_ia_get_open(), but the caller never waits: after DAT_IA_DEFERRED the
 * work returns. It is queued again when the gate has been opened or closed for good.
 *
 * Context: process.
 * Return: DAT_IA_GOT, for dat_ia_put_live(); DAT_IA_REFUSED; or DAT_IA_DEFERRED,
 * and then the work may be running again already.
 */
enum dat_ia_get_result dat_ia_get_or_defer(struct dat_ia *ia,
					   struct dat_ia_deferred *deferred)
{
	for (;;) {
		bool wait;

		/* Pairs with dat_ia_resume(). */
		switch (smp_load_acquire(&ia->live_state)) {
		case DAT_IA_OPEN:
			if (refcount_inc_not_zero(&ia->num_live))
				return DAT_IA_GOT;
			break;
		case DAT_IA_CLOSING:
			return DAT_IA_REFUSED;
		case DAT_IA_UNPLUGGING:
			break;
		}
		spin_lock_bh(&ia->owner.lock);
		/* The gate changes before release_deferred() takes the lock. */
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
	/* Once it is queued, its memory may go. */
	list_for_each_entry_safe(deferred, next, &ready, node)
		queue_work(ia->owner.user->wq, deferred->work);
}

/**
 * dat_ia_put_live - the reverse of the calls above
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
 * dat_ia_pin_begin - what follows may wait for a page of the calling process
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
 * dat_ia_pin_end - the reverse of dat_ia_pin_begin()
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

/* In jiffies. Swapped-out memory takes less, unless the machine is all but dead. */
#define PIN_PATIENCE	(10 * HZ)

/*
 * A process decides when a page arrives, if its userfaultfd(2) or its file system
 * is behind the mapping. The removal of a device must not wait for that. All pages
 * were pinned before the call entered the gate, so only a process that unmaps them
 * meanwhile is killed. Only a fatal signal ends the wait for a page.
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
 * dat_ia_quiesce - wait until calls have returned their live references
 * @ia: the IA
 * @why: DAT_IA_UNPLUGGING or DAT_IA_CLOSING
 *
 * Context: process, may sleep; the caller makes sure that nobody else closes
 * or opens it meanwhile.
 */
void dat_ia_quiesce(struct dat_ia *ia, enum dat_ia_live_state why)
{
	WRITE_ONCE(ia->live_state, why);
	dat_ia_put_live(ia);
	while (!wait_event_timeout(ia->live_wq,
				   refcount_read(&ia->num_live) == 0,
				   PIN_PATIENCE))
		kill_pinners(ia);
	/* Pairs with the release of dat_ia_put_live(): all that calls did is visible. */
	smp_acquire__after_ctrl_dep();
	if (why == DAT_IA_CLOSING)
		release_deferred(ia);
}

/**
 * dat_ia_kill - make live references fail for good, after dat_ia_quiesce()
 * @ia: the IA, from dat_ia_quiesce(); calls that wait fail
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
 * dat_ia_resume - hand out live references again
 * @ia: the IA, from dat_ia_quiesce()
 */
void dat_ia_resume(struct dat_ia *ia)
{
	refcount_set(&ia->num_live, 1);
	/* Whoever sees the gate open finds the count raised. */
	smp_store_release(&ia->live_state, DAT_IA_OPEN);
	wake_up_all(&ia->live_wq);
	release_deferred(ia);
}

/**
 * dat_object_get_open - look up a handle and take a live reference to its IA
 * @handle: what the consumer passed
 * @type: the type it must have
 * @subtype: subtype of DAT_INVALID_HANDLE
 * @ret: DAT_INVALID_HANDLE if there is no such object
 *
 * Works when the device has gone, too. Context: process, may sleep.
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
	if (!dat_ia_get_open(obj->ia))
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
 * @handle: what the consumer passed
 * @type: the type it must have
 * @subtype: subtype of DAT_INVALID_HANDLE
 * @ret: DAT_INVALID_HANDLE if there is no such object, DAT_INTERNAL_ERROR if
 *	its device has gone
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
 * dat_object_put_live - the reverse of dat_object_get_live()
 * @obj: the object
 *
 * Context: any.
 */
void dat_object_put_live(struct dat_object *obj)
{
	dat_ia_put_live(obj->ia);
	dat_object_put(obj);
}

/**
 * dat_object_free - the body of most free calls
 * @handle: what the consumer passed
 * @type: the type it must have
 * @bad_handle: subtype of DAT_INVALID_HANDLE
 * @in_use: subtype of DAT_INVALID_STATE
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, or DAT_INVALID_STATE if another
 * object makes use of this one.
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

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ucno.c - CNOs of processes
 *
 * EVDs trigger a CNO. Threads, poll() and one agent wait for the trigger. The kernel API
 * has no CNOs, so all of their state is here. Triggers come from upcalls in process
 * context or softirq; all other calls run in process context.
 */
#include <linux/hrtimer.h>
#include <linux/poll.h>

#include "ucno.h"
#include "usimple.h"

/**
 * dat_ucno_use - reference the CNO that an EVD will trigger
 * @file: the file
 * @handle: user handle of the CNO
 * @ia: the IA of the EVD
 *
 * Context: any.
 * Return: the CNO, for dat_ucno_unuse(); NULL if @ia has no CNO with this
 * handle.
 */
struct dat_ucno *dat_ucno_use(struct dat_file *file, u32 handle,
			      const struct dat_uia *ia)
{
	struct dat_uobj *uobj = dat_uobj_get(file, handle, DAT_UOBJ_CNO);
	struct dat_ucno *cno;
	bool ok;

	if (!uobj)
		return NULL;
	cno = to_ucno(uobj);
	spin_lock_bh(&cno->lock);
	ok = !cno->is_dead && uobj->ia == ia;
	if (ok)
		cno->evds++;
	spin_unlock_bh(&cno->lock);
	if (ok)
		return cno;
	dat_uobj_put(uobj);
	return NULL;
}

static void wake(struct dat_ucno *cno)
{
	wake_up_interruptible_poll(&cno->wq, EPOLLIN | EPOLLRDNORM);
}

/* Notifies the agent once. take_as_agent() then removes the agent. */
static void tell_agent(struct dat_ucno *cno, u32 evd)
{
	if (!cno->agent || cno->is_agent_due)
		return;
	cno->is_agent_due = true;
	cno->agent_evd = evd;
}

/**
 * dat_ucno_unuse - reverse dat_ucno_use()
 * @cno: the CNO
 * @is_end: the EVD has been freed; if it was the last one, all waiters return
 *
 * Context: process.
 */
void dat_ucno_unuse(struct dat_ucno *cno, bool is_end)
{
	spin_lock_bh(&cno->lock);
	if (!--cno->evds && is_end) {
		cno->deserted++;
		tell_agent(cno, 0);
	}
	spin_unlock_bh(&cno->lock);
	wake(cno);
	dat_uobj_put(&cno->uobj);
}

/**
 * dat_ucno_trigger - wake one waiter, or the next one to wait
 * @cno: the CNO
 * @evd: user handle of the EVD that has an event
 *
 * Context: any; the EVD's lock is held.
 */
void dat_ucno_trigger(struct dat_ucno *cno, u32 evd)
{
	spin_lock_bh(&cno->lock);
	if (!cno->is_triggered) {
		cno->is_triggered = true;
		cno->evd = evd;
	}
	tell_agent(cno, evd);
	spin_unlock_bh(&cno->lock);
	wake(cno);
}

/**
 * dat_ucno_kill - wake all waiters because the CNO or its IA has been freed
 * @cno: the CNO
 *
 * Context: process.
 */
void dat_ucno_kill(struct dat_ucno *cno)
{
	spin_lock_bh(&cno->lock);
	cno->is_dead = true;
	tell_agent(cno, 0);
	spin_unlock_bh(&cno->lock);
	wake_up_interruptible_poll(&cno->wq, EPOLLHUP);
}

/* dat_cno_create() */
int dat_ioctl_cno_create(struct dat_file *file, void *arg)
{
	struct dat_dev_cno_create *p = arg;
	struct dat_ucno *cno;
	struct dat_uobj *ia;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	cno = dat_usimple_alloc(file, sizeof(*cno), DAT_UOBJ_CNO, to_uia(ia));
	if (cno) {
		spin_lock_init(&cno->lock);
		init_waitqueue_head(&cno->wq);
		p->cno = cno->uobj.handle;
		p->result = DAT_SUCCESS;
		dat_usimple_finish(&cno->uobj, DAT_SUCCESS, DAT_HANDLE_NULL);
	}
	dat_uobj_put(ia);
	return 0;
}

static struct dat_ucno *cno_get(struct dat_file *file, u32 handle)
{
	struct dat_uobj *uobj = dat_uobj_get(file, handle, DAT_UOBJ_CNO);

	return uobj ? to_ucno(uobj) : NULL;
}

static DAT_RETURN bad_cno(void)
{
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
}

/* dat_cno_query() */
int dat_ioctl_cno_query(struct dat_file *file, void *arg)
{
	struct dat_dev_cno_create *p = arg;
	struct dat_ucno *cno = cno_get(file, p->cno);

	p->result = bad_cno();
	if (!cno)
		return 0;
	p->ia = cno->uobj.ia->uobj.handle;
	p->result = DAT_SUCCESS;
	dat_uobj_put(&cno->uobj);
	return 0;
}

/* One waiter takes the trigger. A freed CNO or last EVD ends the wait of all waiters. */
static bool take(struct dat_ucno *cno, u32 deserted, u32 *evd)
{
	bool is_over = true;

	spin_lock_bh(&cno->lock);
	if (cno->is_triggered) {
		cno->is_triggered = false;
		*evd = cno->evd;
	} else if (cno->is_dead || cno->deserted != deserted) {
		*evd = 0;
	} else {
		is_over = false;
	}
	spin_unlock_bh(&cno->lock);
	return is_over;
}

static DAT_RETURN wait_for_trigger(struct dat_ucno *cno, u32 timeout, u32 *evd)
{
	ktime_t limit = timeout == DAT_TIMEOUT_INFINITE ?
				KTIME_MAX :
				ns_to_ktime((u64)timeout * NSEC_PER_USEC);
	u32 deserted;
	long err;

	spin_lock_bh(&cno->lock);
	if (cno->is_dead) {
		spin_unlock_bh(&cno->lock);
		return bad_cno();
	}
	cno->waiters++;
	deserted = cno->deserted;
	spin_unlock_bh(&cno->lock);

	err = wait_event_interruptible_hrtimeout(cno->wq,
						 take(cno, deserted, evd),
						 limit);
	spin_lock_bh(&cno->lock);
	cno->waiters--;
	spin_unlock_bh(&cno->lock);
	if (!err)
		return DAT_SUCCESS;
	return err == -ETIME ? DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE) :
			       DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
}

static bool take_as_agent(struct dat_ucno *cno, u32 agent, u32 *evd,
			  DAT_RETURN *ret)
{
	bool is_over = true;

	spin_lock_bh(&cno->lock);
	if (cno->agent != agent) {
		*ret = DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	} else if (cno->is_agent_due) {
		*ret = DAT_SUCCESS;
		*evd = cno->agent_evd;
		cno->agent = 0;
		cno->is_agent_due = false;
	} else {
		is_over = false;
	}
	spin_unlock_bh(&cno->lock);
	return is_over;
}

static DAT_RETURN wait_as_agent(struct dat_ucno *cno, u32 agent, u32 *evd)
{
	DAT_RETURN ret;

	if (wait_event_interruptible(cno->wq,
				     take_as_agent(cno, agent, evd, &ret)))
		return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	return ret;
}

/* dat_cno_wait() */
int dat_ioctl_cno_wait(struct dat_file *file, void *arg)
{
	struct dat_dev_cno_wait *p = arg;
	struct dat_ucno *cno = cno_get(file, p->cno);

	p->result = bad_cno();
	if (!cno)
		return 0;
	p->evd = 0;
	p->result = p->agent ? wait_as_agent(cno, p->agent, &p->evd) :
			       wait_for_trigger(cno, p->timeout, &p->evd);
	dat_uobj_put(&cno->uobj);
	return 0;
}

/* dat_cno_create(), dat_cno_modify_agent() */
int dat_ioctl_cno_set_agent(struct dat_file *file, void *arg)
{
	struct dat_dev_cno_set_agent *p = arg;
	struct dat_ucno *cno = cno_get(file, p->cno);

	p->result = bad_cno();
	if (!cno)
		return 0;
	spin_lock_bh(&cno->lock);
	if (!cno->is_dead) {
		cno->agent = p->agent;
		cno->is_agent_due = false;
		p->result = DAT_SUCCESS;
	}
	spin_unlock_bh(&cno->lock);
	/* Wakes the previous agent, which returns. */
	wake(cno);
	dat_uobj_put(&cno->uobj);
	return 0;
}

/* dat_cno_free() */
int dat_ioctl_cno_free(struct dat_file *file, void *arg)
{
	struct dat_dev_free *p = arg;
	struct dat_ucno *cno;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = bad_cno();
	cno = cno_get(file, p->handle);
	if (!cno)
		return 0;
	spin_lock_bh(&cno->lock);
	if (cno->evds || cno->waiters) {
		p->result = DAT_ERROR(DAT_INVALID_STATE,
				      DAT_INVALID_STATE_CNO_IN_USE);
	} else if (!cno->is_dead) {
		cno->is_dead = true;
		cno->agent = 0;
		p->result = DAT_SUCCESS;
	}
	spin_unlock_bh(&cno->lock);
	if (!p->result) {
		dat_ucno_kill(cno);
		dat_uobj_remove(&cno->uobj);
	}
	dat_uobj_put(&cno->uobj);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ucno.c - CNOs of processes, and file descriptors of EVDs and CNOs for poll()
 *
 * EVDs trigger a CNO. Threads, poll() and one agent wait for the trigger. The kernel API
 * has no CNOs, so all of their state is here. Triggers come from upcalls in process
 * context or softirq; all other calls run in process context.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "ucno.h"
#include "uevd.h"

/**
 * dat_ucno_attach - reference the CNO that an EVD will trigger
 * @file: the file
 * @handle: user handle of the CNO
 * @ia: the IA of the EVD
 *
 * Context: any.
 * Return: the CNO, for dat_ucno_detach(); NULL if @ia has no CNO with this
 * handle.
 */
struct dat_ucno *dat_ucno_attach(struct dat_file *file, u32 handle,
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

/* Notifies the agent once. take_agent_trigger() then removes the agent. */
static void trigger_agent(struct dat_ucno *cno, u32 evd)
{
	if (!cno->agent || cno->is_agent_due)
		return;
	cno->is_agent_due = true;
	cno->agent_evd = evd;
}

/**
 * dat_ucno_detach - reverse dat_ucno_attach()
 * @cno: the CNO
 * @is_end: the EVD has been freed; if it was the last one, all waiters return
 *
 * Context: process.
 */
void dat_ucno_detach(struct dat_ucno *cno, bool is_end)
{
	spin_lock_bh(&cno->lock);
	if (!--cno->evds && is_end) {
		cno->last_evd_frees++;
		trigger_agent(cno, 0);
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
	trigger_agent(cno, evd);
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
	trigger_agent(cno, 0);
	spin_unlock_bh(&cno->lock);
	wake_up_interruptible_poll(&cno->wq, EPOLLHUP);
}

/* dat_cno_create() */
DAT_RETURN dat_ioctl_cno_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_cno_create *p = arg;
	struct dat_ucno *cno = dat_uobj_create(to_uia(ia), sizeof(*cno), DAT_UOBJ_CNO,
					       GFP_KERNEL);

	if (!cno)
		return dat_uobj_no_memory();
	spin_lock_init(&cno->lock);
	init_waitqueue_head(&cno->wq);
	return dat_uobj_finalize(&cno->uobj, DAT_SUCCESS, &p->cno);
}

/* dat_cno_query() */
DAT_RETURN dat_ioctl_cno_query(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_cno_create *p = arg;

	p->ia = uobj->ia->uobj.handle;
	return DAT_SUCCESS;
}

/* One waiter takes the trigger. A freed CNO or last EVD ends the wait of all. */
static bool take_trigger(struct dat_ucno *cno, u32 last_evd_frees, u32 *evd)
{
	bool is_over = true;

	spin_lock_bh(&cno->lock);
	if (cno->is_triggered) {
		cno->is_triggered = false;
		*evd = cno->evd;
	} else if (cno->is_dead || cno->last_evd_frees != last_evd_frees) {
		*evd = 0;
	} else {
		is_over = false;
	}
	spin_unlock_bh(&cno->lock);
	return is_over;
}

static DAT_RETURN wait_for_trigger(struct dat_ucno *cno, u32 timeout, u32 *evd)
{
	u32 last_evd_frees;
	long err;

	spin_lock_bh(&cno->lock);
	if (cno->is_dead) {
		spin_unlock_bh(&cno->lock);
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	}
	cno->waiters++;
	last_evd_frees = cno->last_evd_frees;
	spin_unlock_bh(&cno->lock);

	err = wait_event_interruptible_hrtimeout(cno->wq,
						 take_trigger(cno, last_evd_frees, evd),
						 dat_timeout_to_ktime(timeout));
	spin_lock_bh(&cno->lock);
	cno->waiters--;
	spin_unlock_bh(&cno->lock);
	if (!err)
		return DAT_SUCCESS;
	/* Without a class: programs compare with the bare value. */
	return err == -ETIME ? DAT_QUEUE_EMPTY :
			       DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
}

static bool take_agent_trigger(struct dat_ucno *cno, u32 agent, u32 *evd,
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
				     take_agent_trigger(cno, agent, evd, &ret)))
		return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	return ret;
}

/* dat_cno_wait() */
DAT_RETURN dat_ioctl_cno_wait(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_cno_wait *p = arg;
	struct dat_ucno *cno = to_ucno(uobj);

	p->evd = 0;
	return p->agent ? wait_as_agent(cno, p->agent, &p->evd) :
			  wait_for_trigger(cno, p->timeout, &p->evd);
}

/* dat_cno_create(), dat_cno_modify_agent() */
DAT_RETURN dat_ioctl_cno_set_agent(struct dat_uobj *uobj, void *arg)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	struct dat_dev_cno_set_agent *p = arg;
	struct dat_ucno *cno = to_ucno(uobj);

	spin_lock_bh(&cno->lock);
	if (!cno->is_dead) {
		cno->agent = p->agent;
		cno->is_agent_due = false;
		ret = DAT_SUCCESS;
	}
	spin_unlock_bh(&cno->lock);
	/* Wakes the previous agent, which returns. */
	wake(cno);
	return ret;
}

/* dat_cno_free() */
DAT_RETURN dat_ioctl_cno_free(struct dat_uobj *uobj, void *arg)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	struct dat_ucno *cno = to_ucno(uobj);

	spin_lock_bh(&cno->lock);
	if (cno->evds || cno->waiters) {
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	} else if (!cno->is_dead) {
		cno->is_dead = true;
		cno->agent = 0;
		ret = DAT_SUCCESS;
	}
	spin_unlock_bh(&cno->lock);
	if (!ret) {
		dat_ucno_kill(cno);
		dat_uobj_remove(uobj);
	}
	return ret;
}

static __poll_t evd_poll(struct file *filp, poll_table *table)
{
	struct dat_uevd *evd = to_uevd(filp->private_data);
	__poll_t mask = 0;

	poll_wait(filp, &evd->poll_wq, table);
	spin_lock_bh(&evd->lock);
	if (dat_uevd_used(evd))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (evd->is_dead)
		mask |= EPOLLHUP;
	spin_unlock_bh(&evd->lock);
	return mask;
}

static __poll_t cno_poll(struct file *filp, poll_table *table)
{
	struct dat_ucno *cno = to_ucno(filp->private_data);
	__poll_t mask = 0;

	poll_wait(filp, &cno->wq, table);
	spin_lock_bh(&cno->lock);
	if (cno->is_triggered)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (cno->is_dead)
		mask |= EPOLLHUP;
	spin_unlock_bh(&cno->lock);
	return mask;
}

static int fd_release(struct inode *inode, struct file *filp)
{
	struct dat_uobj *uobj = filp->private_data;
	struct dat_file *file = uobj->file;

	dat_uobj_put(uobj);
	dat_file_put(file);
	return 0;
}

static const struct file_operations evd_fops = {
	.owner		= THIS_MODULE,
	.poll		= evd_poll,
	.release	= fd_release,
	.llseek		= noop_llseek,
};

static const struct file_operations cno_fops = {
	.owner		= THIS_MODULE,
	.poll		= cno_poll,
	.release	= fd_release,
	.llseek		= noop_llseek,
};

/*
 * The descriptor references the memory of the object and of the file, not the open file. Both
 * references precede the descriptor, which another thread may close at once.
 */
static int get_fd(struct dat_uobj *uobj)
{
	bool is_evd = uobj->type == DAT_HANDLE_TYPE_EVD;
	int fd;

	kref_get(&uobj->ref);
	kref_get(&uobj->file->ref);
	fd = anon_inode_getfd(is_evd ? "[dat-evd]" : "[dat-cno]",
			      is_evd ? &evd_fops : &cno_fops, uobj,
			      O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		dat_file_put(uobj->file);
		dat_uobj_put(uobj);
	}
	return fd;
}

/* Returns a file descriptor for polling an EVD or a CNO. */
DAT_RETURN dat_ioctl_fd(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_fd *p = arg;
	int fd;

	if (uobj->type != DAT_HANDLE_TYPE_EVD && uobj->type != DAT_UOBJ_CNO)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	fd = get_fd(uobj);
	if (fd < 0)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 fd == -ENOMEM ? DAT_RESOURCE_MEMORY :
						 DAT_RESOURCE_DEVICE);
	p->fd = fd;
	return DAT_SUCCESS;
}

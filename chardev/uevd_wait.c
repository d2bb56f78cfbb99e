// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uevd_wait.c - ioctls that wait for events in an EVD's ring
 */
#include <linux/hrtimer.h>

#include "uevd.h"

/* Set the threshold. Events that are already in the ring count. */
static DAT_RETURN begin_wait(struct dat_uevd *evd, u32 threshold)
{
	DAT_RETURN ret = DAT_SUCCESS;

	spin_lock_bh(&evd->lock);
	if (!threshold || threshold > evd->qlen) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	} else if (evd->state & DAT_DEV_EVD_UNWAITABLE) {
		ret = DAT_ERROR(DAT_INVALID_STATE,
				DAT_INVALID_STATE_EVD_UNWAITABLE);
	} else if (evd->threshold) {
		ret = DAT_ERROR(DAT_INVALID_STATE,
				DAT_INVALID_STATE_EVD_WAITER);
	} else {
		evd->threshold = threshold;
		WRITE_ONCE(evd->ring->mem->waiting, 1);
	}
	spin_unlock_bh(&evd->lock);
	return ret;
}

static void end_wait(struct dat_uevd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->threshold = 0;
	WRITE_ONCE(evd->ring->mem->waiting, 0);
	spin_unlock_bh(&evd->lock);
}

/* DAT_SUCCESS while the wait has to continue. */
static DAT_RETURN state_error(const struct dat_uevd *evd)
{
	if (evd->is_dead)
		return DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE);
	if (evd->state & DAT_DEV_EVD_UNWAITABLE)
		return DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_EVD_UNWAITABLE);
	return DAT_SUCCESS;
}

static bool wait_is_over(struct dat_uevd *evd, u32 threshold)
{
	bool is_over;

	spin_lock_bh(&evd->lock);
	is_over = dat_uevd_used(evd) >= threshold || state_error(evd);
	spin_unlock_bh(&evd->lock);
	return is_over;
}

static DAT_RETURN wait_result(struct dat_uevd *evd, u32 threshold, long err)
{
	DAT_RETURN ret;
	bool is_full;

	spin_lock_bh(&evd->lock);
	is_full = dat_uevd_used(evd) >= threshold;
	ret = state_error(evd);
	spin_unlock_bh(&evd->lock);
	if (is_full)
		return DAT_SUCCESS;
	if (ret)
		return ret;
	if (err == -ETIME)
		return DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
}

/* dat_evd_wait(), for a ring that holds fewer events than the threshold */
int dat_ioctl_evd_wait(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_wait *p = arg;
	struct dat_uobj *uobj;
	struct dat_uevd *evd;
	ktime_t timeout;
	long err;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	uobj = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return 0;
	evd = to_uevd(uobj);
	p->result = begin_wait(evd, p->threshold);
	if (p->result)
		goto put;

	timeout = p->timeout == DAT_TIMEOUT_INFINITE ?
			  KTIME_MAX : ns_to_ktime((u64)p->timeout * NSEC_PER_USEC);
	err = wait_event_interruptible_hrtimeout(evd->wq,
						 wait_is_over(evd, p->threshold),
						 timeout);
	p->result = wait_result(evd, p->threshold, err);
	end_wait(evd);
put:
	dat_uobj_put(uobj);
	return 0;
}

/*
 * Completions without notification have caused no upcall. Dequeue them without upcalls,
 * so that no later event overtakes them.
 */
static DAT_RETURN pull(struct dat_uevd *evd)
{
	const DAT_UPCALL_OBJECT upcall = {
		.instance_data = evd,
		.upcall_func = dat_uevd_upcall,
	};
	DAT_EVD_HANDLE kevd = evd->uobj.khandle;
	DAT_EVENT event;
	DAT_RETURN ret;

	ret = dat_evd_modify_upcall(kevd, DAT_UPCALL_TEARDOWN, NULL,
				    DAT_UPCALL_INVOC_NEW);
	if (ret)
		return ret;
	while (!dat_evd_dequeue(kevd, &event))
		dat_uevd_upcall(evd, &event, DAT_FALSE);
	return dat_evd_modify_upcall(kevd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				     DAT_UPCALL_INVOC_ANY);
}

/* When the call returns, the ring holds all events that preceded the call. */
int dat_ioctl_evd_pull(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_wait *p = arg;
	struct dat_uobj *uobj;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	uobj = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return 0;
	mutex_lock(&to_uevd(uobj)->mutex);
	p->result = pull(to_uevd(uobj));
	mutex_unlock(&to_uevd(uobj)->mutex);
	dat_uobj_put(uobj);
	return 0;
}

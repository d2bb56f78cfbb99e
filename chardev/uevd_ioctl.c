// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uevd_ioctl.c - ioctls of EVDs; uevd.c has their rings
 */
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>

#include "ucno.h"
#include "uevd.h"

static DAT_RETURN no_room(int err)
{
	return err == -ENOSPC ? DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					  DAT_RESOURCE_TEVD) :
				dat_uobj_no_memory();
}

static bool is_qlen_valid(u32 qlen)
{
	return qlen && qlen <= INT_MAX;
}

/* Looks up the new CNO of an EVD. DAT_HANDLE_NULL means no CNO. */
static DAT_RETURN attach_cno(struct dat_file *file, u32 handle, struct dat_uia *ia,
			     struct dat_ucno **cno)
{
	*cno = NULL;
	if (!handle)
		return DAT_SUCCESS;
	*cno = dat_ucno_attach(file, handle, ia);
	return *cno ? DAT_SUCCESS :
		      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
}

/* Allocates, reserves the handle and creates the kernel's EVD. The caller publishes. */
static DAT_RETURN create_evd(struct dat_dev_evd_create *p, struct dat_uobj *ia,
			     struct dat_uevd **evdp)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = dat_uevd_upcall };
	struct dat_uevd *evd;
	DAT_RETURN result;
	int ret;

	evd = dat_uevd_alloc(ia->file, to_uia(ia), p->min_qlen, &ret);
	if (!evd)
		return no_room(ret);
	ret = dat_uobj_reserve(&evd->uobj, GFP_KERNEL);
	if (ret) {
		dat_uobj_put(&evd->uobj);
		return no_room(ret);
	}
	evd->flags = p->flags;
	upcall.instance_data = evd;
	result = dat_evd_kcreate(ia->khandle, p->min_qlen,
				 DAT_UPCALL_SINGLE_INSTANCE, &upcall, p->flags,
				 &evd->uobj.khandle);
	if (result)
		dat_uobj_unreserve(&evd->uobj);
	else
		dat_evd_set_completion(evd->uobj.khandle, dat_uevd_completion);
	*evdp = evd;
	return result;
}

/* dat_evd_create() */
DAT_RETURN dat_ioctl_evd_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_evd_create *p = arg;
	struct dat_ucno *cno;
	struct dat_uevd *evd;
	DAT_RETURN ret;

	if (!is_qlen_valid(p->min_qlen))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = attach_cno(ia->file, p->cno, to_uia(ia), &cno);
	if (ret)
		return ret;
	ret = create_evd(p, ia, &evd);
	if (ret) {
		if (cno)
			dat_ucno_detach(cno, false);
		return ret;
	}
	p->ring_entries = evd->ring->entries;
	if (cno)
		dat_uevd_set_cno(evd, cno, false);
	return dat_uobj_finalize(&evd->uobj, DAT_SUCCESS, &p->evd);
}

/* dat_evd_query() */
DAT_RETURN dat_ioctl_evd_query(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_evd_query *p = arg;
	struct dat_uevd *evd = to_uevd(uobj);

	spin_lock_bh(&evd->lock);
	p->ia = uobj->ia->uobj.handle;
	p->qlen = evd->qlen;
	p->flags = evd->flags;
	p->cno = evd->cno ? evd->cno->uobj.handle : 0;
	p->state = evd->state;
	p->ring_entries = evd->ring->entries;
	spin_unlock_bh(&evd->lock);
	return DAT_SUCCESS;
}

/* Resize the kernel's EVD first: it must hold as many events as the ring. */
static DAT_RETURN resize(struct dat_uevd *evd, u32 qlen, struct dat_uring *ring)
{
	u32 before = evd->qlen;
	struct dat_uring *old;
	DAT_RETURN ret;

	ret = dat_evd_resize(evd->uobj.khandle, qlen);
	if (ret) {
		dat_uring_put(ring);
		return ret;
	}
	old = dat_uevd_swap_ring(evd, ring, qlen);
	if (old == ring) {
		dat_evd_resize(evd->uobj.khandle, before);
		ret = DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	}
	dat_uring_put(old);
	return ret;
}

/* dat_evd_resize() */
DAT_RETURN dat_ioctl_evd_resize(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_evd_resize *p = arg;
	struct dat_uevd *evd = to_uevd(uobj);
	struct dat_uring *ring;
	DAT_RETURN result;
	int ret;

	if (!is_qlen_valid(p->min_qlen))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ring = dat_uring_alloc(uobj->file, p->min_qlen, &ret);
	if (!ring)
		return no_room(ret);
	p->ring_entries = ring->entries;
	mutex_lock(&evd->mutex);
	result = resize(evd, p->min_qlen, ring);
	mutex_unlock(&evd->mutex);
	return result;
}

/* dat_evd_post_se() */
DAT_RETURN dat_ioctl_evd_post_se(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_evd_post_se *p = arg;
	struct dat_dev_event event = {
		.number = DAT_SOFTWARE_EVENT,
		.cookie = p->pointer,
	};

	if (!(to_uevd(uobj)->flags & DAT_EVD_SOFTWARE_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!dat_uevd_try_push(to_uevd(uobj), &event))
		return DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/* dat_evd_enable(), _disable(), _set_unwaitable(), _clear_unwaitable() */
int dat_ioctl_evd_set(struct dat_file *file, void *arg)
{
	const u32 known = DAT_DEV_EVD_DISABLED | DAT_DEV_EVD_UNWAITABLE;
	struct dat_dev_evd_set *p = arg;
	struct dat_uobj *uobj;

	if (p->mask & ~known || p->state & ~p->mask)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	uobj = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return 0;
	dat_uevd_set_state(to_uevd(uobj), p->mask, p->state);
	p->result = DAT_SUCCESS;
	dat_uobj_put(uobj);
	return 0;
}

/* dat_evd_modify_cno() */
DAT_RETURN dat_ioctl_evd_modify_cno(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_evd_modify_cno *p = arg;
	struct dat_ucno *cno;
	DAT_RETURN ret;

	ret = attach_cno(uobj->file, p->cno, uobj->ia, &cno);
	if (!ret)
		dat_uevd_set_cno(to_uevd(uobj), cno, false);
	return ret;
}

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

static DAT_RETURN wait_for_events(struct dat_uevd *evd, u32 threshold, u32 timeout)
{
	DAT_RETURN ret;
	long err;

	ret = begin_wait(evd, threshold);
	if (ret)
		return ret;
	err = wait_event_interruptible_hrtimeout(evd->wq, wait_is_over(evd, threshold),
						 dat_timeout_to_ktime(timeout));
	ret = wait_result(evd, threshold, err);
	end_wait(evd);
	return ret;
}

/* Posts the DTOs of a wait. */
static int post_first(struct dat_file *file, struct dat_dev_evd_wait *p)
{
	struct dat_dev_post post = {
		.dtos = p->dtos,
		.num_dtos = p->num_dtos,
		.dto_size = p->dto_size,
	};
	int ret;

	if (!p->num_dtos)
		return 0;
	ret = dat_ioctl_post(file, &post);
	p->posted = post.posted;
	p->result = post.result;
	return ret;
}

/* dat_evd_wait(), for a ring that holds fewer events than the threshold, or with DTOs */
int dat_ioctl_evd_wait(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_wait *p = arg;
	struct dat_uobj *uobj;
	int ret;

	p->posted = 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	uobj = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return 0;
	p->result = DAT_SUCCESS;
	ret = post_first(file, p);
	if (!ret && !p->result)
		p->result = wait_for_events(to_uevd(uobj), p->threshold, p->timeout);
	dat_uobj_put(uobj);
	return ret;
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
	/* They may arrive as fast as they are dequeued. */
	while (!fatal_signal_pending(current) && !dat_evd_dequeue(kevd, &event)) {
		dat_uevd_upcall(evd, &event, DAT_FALSE);
		cond_resched();
	}
	return dat_evd_modify_upcall(kevd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				     DAT_UPCALL_INVOC_ANY);
}

/* When the call returns, the ring holds all events that preceded the call. */
DAT_RETURN dat_ioctl_evd_pull(struct dat_uobj *uobj, void *arg)
{
	struct dat_uevd *evd = to_uevd(uobj);
	DAT_RETURN ret;

	mutex_lock(&evd->mutex);
	ret = pull(evd);
	mutex_unlock(&evd->mutex);
	return ret;
}

/* dat_evd_free() */
DAT_RETURN dat_ioctl_evd_free(struct dat_uobj *uobj, void *arg)
{
	struct dat_uevd *evd = to_uevd(uobj);
	DAT_RETURN ret;

	/* The IA's asynchronous EVD is freed with the IA. */
	if (uobj->ia && evd == uobj->ia->async_evd)
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	ret = dat_evd_free(uobj->khandle);
	if (!ret) {
		dat_uevd_kill(evd);
		dat_uobj_remove(uobj);
	}
	return ret;
}

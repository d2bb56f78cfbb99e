// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uevd_ioctl.c - ioctls of EVDs, except waiting (uevd_wait.c)
 */
#include "ucno.h"
#include "uevd.h"

static DAT_RETURN invalid_handle(void)
{
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

static DAT_RETURN no_room(int err)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, err == -ENOSPC ?
			 DAT_RESOURCE_TEVD : DAT_RESOURCE_MEMORY);
}

static struct dat_uevd *evd_get(struct dat_file *file, u32 handle)
{
	struct dat_uobj *uobj = dat_uobj_get(file, handle, DAT_HANDLE_TYPE_EVD);

	return uobj ? to_uevd(uobj) : NULL;
}

/* Look up the new CNO of an EVD. DAT_HANDLE_NULL means no CNO. */
static DAT_RETURN use_cno(struct dat_file *file, u32 handle, struct dat_uia *ia,
			  struct dat_ucno **cno)
{
	*cno = NULL;
	if (!handle)
		return DAT_SUCCESS;
	*cno = dat_ucno_use(file, handle, ia);
	return *cno ? DAT_SUCCESS :
		      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
}

/* Allocates, reserves the handle and creates the kernel's EVD. The caller publishes. */
static DAT_RETURN create(struct dat_dev_evd_create *p, struct dat_uobj *ia,
			 struct dat_uevd **evdp, DAT_EVD_HANDLE *khandle)
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
				 khandle);
	if (result)
		dat_uobj_unreserve(&evd->uobj);
	*evdp = evd;
	return result;
}

/* dat_evd_create() */
int dat_ioctl_evd_create(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_create *p = arg;
	struct dat_ucno *cno;
	DAT_EVD_HANDLE khandle;
	struct dat_uevd *evd;
	struct dat_uobj *ia;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!p->min_qlen || p->min_qlen > INT_MAX)
		goto put_ia;
	p->result = use_cno(file, p->cno, to_uia(ia), &cno);
	if (p->result)
		goto put_ia;
	p->result = create(p, ia, &evd, &khandle);
	if (p->result) {
		if (cno)
			dat_ucno_unuse(cno, false);
		goto put_ia;
	}
	p->evd = evd->uobj.handle;
	p->ring_entries = evd->ring->entries;
	if (cno)
		dat_uevd_set_cno(evd, cno, false);
	dat_uobj_publish(&evd->uobj, khandle);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_evd_query() */
int dat_ioctl_evd_query(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_query *p = arg;
	struct dat_uevd *evd;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = invalid_handle();
	evd = evd_get(file, p->evd);
	if (!evd)
		return 0;
	spin_lock_bh(&evd->lock);
	p->ia = evd->uobj.ia->uobj.handle;
	p->qlen = evd->qlen;
	p->flags = evd->flags;
	p->cno = evd->cno ? evd->cno->uobj.handle : 0;
	p->state = evd->state;
	p->ring_entries = evd->ring->entries;
	spin_unlock_bh(&evd->lock);
	p->result = DAT_SUCCESS;
	dat_uobj_put(&evd->uobj);
	return 0;
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
int dat_ioctl_evd_resize(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_resize *p = arg;
	struct dat_uring *ring;
	struct dat_uevd *evd;
	int ret;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = invalid_handle();
	evd = evd_get(file, p->evd);
	if (!evd)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!p->min_qlen || p->min_qlen > INT_MAX)
		goto put;
	ring = dat_uring_alloc(file, p->min_qlen, &ret);
	if (!ring) {
		p->result = no_room(ret);
		goto put;
	}
	p->ring_entries = ring->entries;
	mutex_lock(&evd->mutex);
	p->result = resize(evd, p->min_qlen, ring);
	mutex_unlock(&evd->mutex);
put:
	dat_uobj_put(&evd->uobj);
	return 0;
}

/* dat_evd_post_se() */
int dat_ioctl_evd_post_se(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_post_se *p = arg;
	struct dat_dev_event event = {
		.number = DAT_SOFTWARE_EVENT,
		.cookie = p->pointer,
	};
	struct dat_uevd *evd;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = invalid_handle();
	evd = evd_get(file, p->evd);
	if (!evd)
		return 0;
	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	else if (dat_uevd_try_push(evd, &event))
		p->result = DAT_SUCCESS;
	else
		p->result = DAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	dat_uobj_put(&evd->uobj);
	return 0;
}

/* dat_evd_enable(), _disable(), _set_unwaitable(), _clear_unwaitable() */
int dat_ioctl_evd_set(struct dat_file *file, void *arg)
{
	const u32 known = DAT_DEV_EVD_DISABLED | DAT_DEV_EVD_UNWAITABLE;
	struct dat_dev_evd_set *p = arg;
	struct dat_uevd *evd;

	if (p->__reserved || p->mask & ~known || p->state & ~p->mask)
		return -EOPNOTSUPP;
	p->result = invalid_handle();
	evd = evd_get(file, p->evd);
	if (!evd)
		return 0;
	dat_uevd_set_state(evd, p->mask, p->state);
	p->result = DAT_SUCCESS;
	dat_uobj_put(&evd->uobj);
	return 0;
}

/* dat_evd_modify_cno() */
int dat_ioctl_evd_modify_cno(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_modify_cno *p = arg;
	struct dat_ucno *cno;
	struct dat_uevd *evd;

	p->result = invalid_handle();
	evd = evd_get(file, p->evd);
	if (!evd)
		return 0;
	p->result = use_cno(file, p->cno, evd->uobj.ia, &cno);
	if (!p->result)
		dat_uevd_set_cno(evd, cno, false);
	dat_uobj_put(&evd->uobj);
	return 0;
}

/* dat_evd_free() */
int dat_ioctl_evd_free(struct dat_file *file, void *arg)
{
	struct dat_dev_free *p = arg;
	struct dat_uevd *evd;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = invalid_handle();
	evd = evd_get(file, p->handle);
	if (!evd)
		return 0;
	/* The IA's asynchronous EVD is freed with the IA. */
	if (evd->uobj.ia && evd == evd->uobj.ia->async_evd)
		p->result = DAT_ERROR(DAT_INVALID_STATE,
				      DAT_INVALID_STATE_EVD_IN_USE);
	else
		p->result = dat_evd_free(evd->uobj.khandle);
	if (!p->result) {
		dat_uevd_kill(evd);
		dat_uobj_remove(&evd->uobj);
	}
	dat_uobj_put(&evd->uobj);
	return 0;
}

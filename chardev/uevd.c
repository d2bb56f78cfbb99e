// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uevd.c - EVDs of processes: the ring, and waiting for it to fill
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "uevd.h"

static u32 ring_used(const struct dat_uevd *evd)
{
	/* Pairs with the process's release: it has read what it gives back. */
	u32 used = evd->tail - smp_load_acquire(&evd->ring->head);

	/* More than there can be: the process has scribbled over its head. */
	return min(used, evd->entries);
}

static void report_overflow(struct dat_uevd *evd)
{
	struct dat_uia *ia = evd->uobj.ia;
	struct dat_dev_event event = {
		.number = DAT_ASYNC_ERROR_EVD_OVERFLOW,
		.status = DAT_EVD_OVERFLOW_ERROR,
		.handle = evd->uobj.handle,
	};

	if (ia && ia->async_evd && ia->async_evd != evd)
		dat_uevd_push(ia->async_evd, &event);
}

/**
 * dat_uevd_push - put an event into the ring of a process
 * @evd: the EVD
 * @event: the event
 *
 * Context: process or softirq.
 * Return: false if the ring is full; that is reported on the IA's asynchronous
 * EVD.
 */
bool dat_uevd_push(struct dat_uevd *evd, const struct dat_dev_event *event)
{
	bool ok, first_loss = false, wake = false;
	u32 used;

	spin_lock_bh(&evd->lock);
	used = ring_used(evd);
	ok = used < evd->entries;
	if (ok) {
		evd->ring->events[evd->tail & (evd->entries - 1)] = *event;
		evd->tail++;
		evd->overflown = false;
		/* The process reads the event after it has seen the tail. */
		smp_store_release(&evd->ring->tail, evd->tail);
		wake = evd->threshold && used + 1 >= evd->threshold;
	} else if (!evd->overflown) {
		evd->overflown = true;
		first_loss = true;
	}
	spin_unlock_bh(&evd->lock);

	if (wake)
		wake_up_interruptible(&evd->wq);
	if (first_loss)
		report_overflow(evd);
	return ok;
}

static void uevd_release(struct dat_uobj *uobj)
{
	struct dat_uevd *evd = to_uevd(uobj);

	vfree(evd->ring);
	atomic_long_sub(evd->bytes, &uobj->file->ring_bytes);
}

/**
 * dat_uevd_alloc - allocate an EVD that has no handle yet
 * @file: the file
 * @ia: its IA, or NULL if that comes later
 * @qlen: events that it must hold, at least 1
 * @ret: out: -ENOSPC beyond a limit, -ENOMEM
 *
 * Context: process, may sleep.
 * Return: the EVD, or NULL.
 */
struct dat_uevd *dat_uevd_alloc(struct dat_file *file, struct dat_uia *ia,
				u32 qlen, int *ret)
{
	struct dat_uevd *evd;

	*ret = -ENOSPC;
	if (qlen > DAT_FILE_MAX_RING_BYTES / sizeof(struct dat_dev_event))
		return NULL;
	*ret = -ENOMEM;
	evd = dat_uobj_alloc(file, sizeof(*evd), DAT_HANDLE_TYPE_EVD, ia,
			     GFP_KERNEL);
	if (!evd)
		return NULL;
	spin_lock_init(&evd->lock);
	init_waitqueue_head(&evd->wq);
	INIT_LIST_HEAD(&evd->psps);
	evd->qlen = qlen;
	evd->entries = roundup_pow_of_two(qlen);
	evd->bytes = PAGE_ALIGN(struct_size(evd->ring, events, evd->entries));
	evd->uobj.release = uevd_release;

	if (atomic_long_add_return(evd->bytes, &file->ring_bytes) >
	    DAT_FILE_MAX_RING_BYTES) {
		*ret = -ENOSPC;
		goto put;
	}
	evd->ring = __vmalloc(evd->bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					  __GFP_NOWARN);
	if (evd->ring)
		return evd;
put:
	dat_uobj_put(&evd->uobj);
	return NULL;
}

/**
 * dat_uevd_kill - the EVD or its IA has been freed: nobody waits for it now
 * @evd: the EVD
 *
 * Context: process.
 */
void dat_uevd_kill(struct dat_uevd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->is_dead = true;
	spin_unlock_bh(&evd->lock);
	wake_up_interruptible(&evd->wq);
}

/**
 * dat_uevd_mmap - map the ring of an EVD
 * @file: the file
 * @vma: where; its offset is the handle times the page size
 *
 * The pages live as long as the mapping, whatever becomes of the EVD.
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (no such EVD, not its whole ring, not shared), or what
 * vm_insert_page() returns.
 */
int dat_uevd_mmap(struct dat_file *file, struct vm_area_struct *vma)
{
	unsigned long offset, size = vma->vm_end - vma->vm_start;
	struct dat_uobj *uobj;
	struct dat_uevd *evd;
	int ret = -EINVAL;

	if (vma->vm_pgoff > U32_MAX || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	uobj = dat_uobj_get(file, vma->vm_pgoff, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return -EINVAL;
	evd = to_uevd(uobj);
	if (size != evd->bytes || vma->vm_flags & VM_EXEC)
		goto put;
	vm_flags_clear(vma, VM_MAYEXEC);
	for (offset = 0; offset < size; offset += PAGE_SIZE) {
		ret = vm_insert_page(vma, vma->vm_start + offset,
				     vmalloc_to_page((void *)evd->ring +
						     offset));
		if (ret)
			break;
	}
put:
	dat_uobj_put(uobj);
	return ret;
}

static DAT_RETURN invalid_handle(void)
{
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

static DAT_RETURN no_room(int err)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, err == -ENOSPC ?
			 DAT_RESOURCE_TEVD : DAT_RESOURCE_MEMORY);
}

/* dat_evd_create() */
int dat_ioctl_evd_create(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_create *p = arg;
	DAT_UPCALL_OBJECT upcall;
	DAT_EVD_HANDLE khandle;
	struct dat_uobj *ia;
	struct dat_uevd *evd;
	int ret;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!p->min_qlen || p->min_qlen > INT_MAX)
		goto put_ia;

	evd = dat_uevd_alloc(file, to_uia(ia), p->min_qlen, &ret);
	if (!evd) {
		p->result = no_room(ret);
		goto put_ia;
	}
	ret = dat_uobj_reserve(&evd->uobj, GFP_KERNEL);
	if (ret) {
		p->result = no_room(ret);
		dat_uobj_put(&evd->uobj);
		goto put_ia;
	}
	upcall.instance_data = evd;
	upcall.upcall_func = dat_uevd_upcall;
	p->result = dat_evd_kcreate(ia->khandle, p->min_qlen,
				    DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    p->flags, &khandle);
	if (p->result) {
		dat_uobj_unreserve(&evd->uobj);
		goto put_ia;
	}
	p->evd = evd->uobj.handle;
	p->ring_entries = evd->entries;
	dat_uobj_publish(&evd->uobj, khandle);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* The threshold takes effect, and events that came before it count. */
static DAT_RETURN begin_wait(struct dat_uevd *evd, u32 threshold)
{
	DAT_RETURN ret = DAT_SUCCESS;

	spin_lock_bh(&evd->lock);
	if (evd->threshold) {
		ret = DAT_ERROR(DAT_INVALID_STATE,
				DAT_INVALID_STATE_EVD_WAITER);
	} else {
		evd->threshold = threshold;
		WRITE_ONCE(evd->ring->waiting, 1);
	}
	spin_unlock_bh(&evd->lock);
	return ret;
}

static void end_wait(struct dat_uevd *evd)
{
	spin_lock_bh(&evd->lock);
	evd->threshold = 0;
	WRITE_ONCE(evd->ring->waiting, 0);
	spin_unlock_bh(&evd->lock);
}

static bool wait_is_over(struct dat_uevd *evd, u32 threshold)
{
	return ring_used(evd) >= threshold || READ_ONCE(evd->is_dead);
}

static DAT_RETURN wait_result(struct dat_uevd *evd, u32 threshold, long err)
{
	if (ring_used(evd) >= threshold)
		return DAT_SUCCESS;
	if (READ_ONCE(evd->is_dead))
		return DAT_ERROR(DAT_ABORT, DAT_NO_SUBTYPE);
	if (err == -ETIME)
		return DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
}

/* dat_evd_wait(), when the ring does not hold enough */
int dat_ioctl_evd_wait(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_wait *p = arg;
	struct dat_uobj *uobj;
	struct dat_uevd *evd;
	ktime_t timeout;
	long err;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = invalid_handle();
	uobj = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return 0;
	evd = to_uevd(uobj);
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!p->threshold || p->threshold > evd->qlen)
		goto put;
	p->result = begin_wait(evd, p->threshold);
	if (p->result)
		goto put;

	timeout = p->timeout == DAT_TIMEOUT_INFINITE ?
			  KTIME_MAX : ns_to_ktime((u64)p->timeout * NSEC_PER_USEC);
	err = wait_event_interruptible_hrtimeout(evd->wq,
						 wait_is_over(evd, p->threshold),
						 timeout);
	end_wait(evd);
	p->result = wait_result(evd, p->threshold, err);
put:
	dat_uobj_put(uobj);
	return 0;
}

/* Events that came without notification have made no upcall until now. */
int dat_ioctl_evd_pull(struct dat_file *file, void *arg)
{
	struct dat_dev_evd_wait *p = arg;
	DAT_EVD_HANDLE khandle;

	if (p->__reserved)
		return -EOPNOTSUPP;
	khandle = dat_uobj_khandle(file, p->evd, DAT_HANDLE_TYPE_EVD);
	p->result = dat_evd_modify_upcall(khandle, DAT_UPCALL_SINGLE_INSTANCE,
					  DAT_UPCALL_SAME,
					  DAT_UPCALL_INVOC_ANY);
	return 0;
}

/* dat_evd_free() */
int dat_ioctl_evd_free(struct dat_file *file, void *arg)
{
	struct dat_dev_free *p = arg;
	struct dat_uobj *uobj;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = invalid_handle();
	uobj = dat_uobj_get(file, p->handle, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return 0;
	/* The IA's own goes with the IA. */
	if (uobj->ia && to_uevd(uobj) == uobj->ia->async_evd)
		p->result = DAT_ERROR(DAT_INVALID_STATE,
				      DAT_INVALID_STATE_EVD_IN_USE);
	else
		p->result = dat_evd_free(uobj->khandle);
	if (!p->result) {
		dat_uevd_kill(to_uevd(uobj));
		dat_uobj_remove(uobj);
	}
	dat_uobj_put(uobj);
	return 0;
}

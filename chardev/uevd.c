// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uevd.c - EVDs of processes: events go in, and somebody is told
 */
#include <linux/mm.h>
#include <linux/poll.h>

#include "ucno.h"
#include "uevd.h"
#include "ustats.h"

/**
 * dat_uevd_used - how many events wait in the ring
 * @evd: the EVD, whose lock is held
 *
 * Context: any.
 * Return: the number.
 */
u32 dat_uevd_used(const struct dat_uevd *evd)
{
	/* Pairs with the process's release: it has read what it gives back. */
	u32 used = evd->tail - smp_load_acquire(&evd->ring->mem->head);

	/* More than there can be: the process has scribbled over its head. */
	return min(used, evd->ring->entries);
}

static void report_overflow(struct dat_uevd *evd)
{
	struct dat_uia *ia = evd->uobj.ia;
	struct dat_dev_event event = {
		.number = DAT_ASYNC_ERROR_EVD_OVERFLOW,
		.status = DAT_EVD_OVERFLOW_ERROR,
		.handle = evd->uobj.handle,
	};

	dat_ustats_overflow(evd);
	if (ia && ia->async_evd && ia->async_evd != evd)
		dat_uevd_push(ia->async_evd, &event);
}

/* There are events; the lock is held. A waiter has the EVD to itself. */
static void trigger_cno(struct dat_uevd *evd)
{
	if (evd->cno && !evd->threshold && !(evd->state & DAT_DEV_EVD_DISABLED))
		dat_ucno_trigger(evd->cno, evd->uobj.handle);
}

static bool push_locked(struct dat_uevd *evd, const struct dat_dev_event *event)
{
	struct dat_uring *ring = evd->ring;
	u32 used = dat_uevd_used(evd);

	if (used >= ring->entries)
		return false;
	ring->mem->events[evd->tail & (ring->entries - 1)] = *event;
	evd->tail++;
	evd->overflown = false;
	/* The process reads the event after it has seen the tail. */
	smp_store_release(&ring->mem->tail, evd->tail);
	if (evd->threshold && used + 1 >= evd->threshold)
		wake_up_interruptible(&evd->wq);
	if (wq_has_sleeper(&evd->poll_wq))
		wake_up_interruptible_poll(&evd->poll_wq, EPOLLIN | EPOLLRDNORM);
	trigger_cno(evd);
	return true;
}

/**
 * dat_uevd_try_push - put an event into the ring of a process, if there is room
 * @evd: the EVD
 * @event: the event
 *
 * Context: process or softirq.
 * Return: false if the ring is full.
 */
bool dat_uevd_try_push(struct dat_uevd *evd, const struct dat_dev_event *event)
{
	bool ok;

	spin_lock_bh(&evd->lock);
	ok = push_locked(evd, event);
	spin_unlock_bh(&evd->lock);
	return ok;
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
	bool ok, first_loss = false;

	spin_lock_bh(&evd->lock);
	ok = push_locked(evd, event);
	if (!ok && !evd->overflown) {
		evd->overflown = true;
		first_loss = true;
	}
	spin_unlock_bh(&evd->lock);
	if (first_loss)
		report_overflow(evd);
	return ok;
}

static void uevd_release(struct dat_uobj *uobj)
{
	struct dat_uevd *evd = to_uevd(uobj);

	dat_uevd_set_cno(evd, NULL, true);
	dat_uring_put(evd->ring);
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
	struct dat_uring *ring = dat_uring_alloc(file, qlen, ret);
	struct dat_uevd *evd;

	if (!ring)
		return NULL;
	evd = dat_uobj_alloc(file, sizeof(*evd), DAT_HANDLE_TYPE_EVD, ia,
			     GFP_KERNEL);
	if (!evd) {
		*ret = -ENOMEM;
		dat_uring_put(ring);
		return NULL;
	}
	mutex_init(&evd->mutex);
	spin_lock_init(&evd->lock);
	init_waitqueue_head(&evd->wq);
	init_waitqueue_head(&evd->poll_wq);
	INIT_LIST_HEAD(&evd->sps);
	evd->qlen = qlen;
	evd->ring = ring;
	evd->uobj.release = uevd_release;
	return evd;
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
	wake_up_interruptible_poll(&evd->poll_wq, EPOLLHUP);
	dat_uevd_set_cno(evd, NULL, true);
}

/**
 * dat_uevd_set_cno - give an EVD another CNO
 * @evd: the EVD
 * @cno: the CNO, from dat_ucno_use(), or NULL
 * @is_end: the EVD has been freed; nothing else sets its CNO any more
 *
 * Context: process.
 */
void dat_uevd_set_cno(struct dat_uevd *evd, struct dat_ucno *cno, bool is_end)
{
	struct dat_ucno *old;

	spin_lock_bh(&evd->lock);
	old = cno;
	if (is_end || !evd->is_dead)
		swap(old, evd->cno);
	if (evd->cno && dat_uevd_used(evd))
		trigger_cno(evd);
	spin_unlock_bh(&evd->lock);
	if (old)
		dat_ucno_unuse(old, is_end);
}

/**
 * dat_uevd_set_state - enable or disable an EVD, make it waitable or not
 * @evd: the EVD
 * @mask: DAT_DEV_EVD_DISABLED, DAT_DEV_EVD_UNWAITABLE: what changes
 * @state: the same: what it shall be
 *
 * Context: process.
 */
void dat_uevd_set_state(struct dat_uevd *evd, u32 mask, u32 state)
{
	u32 old;

	spin_lock_bh(&evd->lock);
	old = evd->state;
	evd->state = (old & ~mask) | state;
	WRITE_ONCE(evd->ring->mem->state, evd->state);
	/* What has come meanwhile would not be told of by anybody else. */
	if (old & ~evd->state & DAT_DEV_EVD_DISABLED && dat_uevd_used(evd))
		trigger_cno(evd);
	spin_unlock_bh(&evd->lock);
	if (evd->state & DAT_DEV_EVD_UNWAITABLE)
		wake_up_interruptible(&evd->wq);
}

/* Events that are moved at once, with bottom halves off: some 10 us. */
#define SWAP_BATCH	256

/*
 * Copies some of the @used events that wait, from event @from on if that still waits,
 * or from the first. The process can move its head as it likes: then it finds in the
 * new ring what it deserves, but nothing of others. Returns up to which event it has
 * come.
 */
static u32 copy_some(const struct dat_uevd *evd, struct dat_uring *ring,
		     u32 used, u32 from)
{
	const struct dat_uring *old = evd->ring;
	u32 num, i;

	if (evd->tail - from > used)
		from = evd->tail - used;
	num = min_t(u32, evd->tail - from, SWAP_BATCH);
	for (i = from; i != from + num; i++)
		ring->mem->events[i & (ring->entries - 1)] =
			old->mem->events[i & (old->entries - 1)];
	return i;
}

/**
 * dat_uevd_swap_ring - exchange the ring of an EVD
 * @evd: the EVD
 * @ring: the new ring, empty
 * @qlen: events that the process wants it to hold
 *
 * The events move in batches, between which others may come and be taken out.
 *
 * Context: process, may sleep; the caller holds evd->mutex.
 * Return: the old ring, to be put; @ring if too many events are queued, or
 * waited for.
 */
struct dat_uring *dat_uevd_swap_ring(struct dat_uevd *evd,
				     struct dat_uring *ring, u32 qlen)
{
	struct dat_uring *old;
	u32 used, copied;

	spin_lock_bh(&evd->lock);
	old = evd->ring;
	copied = evd->tail - dat_uevd_used(evd);
	for (;;) {
		used = dat_uevd_used(evd);
		/* No waiter may ask for more events than the new ring holds. */
		if (used > qlen || evd->threshold > qlen) {
			spin_unlock_bh(&evd->lock);
			return ring;
		}
		copied = copy_some(evd, ring, used, copied);
		if (copied == evd->tail)
			break;
		spin_unlock_bh(&evd->lock);
		cond_resched();
		spin_lock_bh(&evd->lock);
	}
	ring->mem->head = evd->tail - used;
	ring->mem->tail = evd->tail;
	ring->mem->waiting = !!evd->threshold;
	ring->mem->state = evd->state;
	evd->ring = ring;
	evd->qlen = qlen;
	/* Whoever still looks at it shall find nothing there. */
	WRITE_ONCE(old->mem->tail, READ_ONCE(old->mem->head));
	/* Whoever sees this asks for the new ring, which is there by then. */
	smp_store_release(&old->mem->is_old, 1);
	spin_unlock_bh(&evd->lock);
	return old;
}

/**
 * dat_uevd_mmap - map the ring of an EVD
 * @file: the file
 * @vma: where; its offset is the handle times the page size
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (no such EVD, not its whole ring, not shared), or what
 * vm_insert_page() returns.
 */
int dat_uevd_mmap(struct dat_file *file, struct vm_area_struct *vma)
{
	struct dat_uring *ring;
	struct dat_uobj *uobj;
	int ret;

	if (vma->vm_pgoff > U32_MAX || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	uobj = dat_uobj_get(file, vma->vm_pgoff, DAT_HANDLE_TYPE_EVD);
	if (!uobj)
		return -EINVAL;
	spin_lock_bh(&to_uevd(uobj)->lock);
	ring = to_uevd(uobj)->ring;
	kref_get(&ring->ref);
	spin_unlock_bh(&to_uevd(uobj)->lock);

	ret = dat_uring_mmap(ring, vma);
	dat_uring_put(ring);
	dat_uobj_put(uobj);
	return ret;
}

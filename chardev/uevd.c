// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uevd.c - EVDs of processes: the ring of events and its waiters
 *
 * Upcalls push events into a ring that the process maps, in process context or softirq,
 * and then wake the waiter, pollers or the CNO. The process can write to the whole ring,
 * so nothing that is read from it is trusted. Resize and mmap run in process context.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/poll.h>

#include "ucno.h"
#include "uevd.h"

/**
 * dat_uevd_used - count the events in the ring
 * @evd: the EVD, whose lock is held
 *
 * Context: any.
 * Return: the number of events, at most the entries of the ring.
 */
u32 dat_uevd_used(const struct dat_uevd *evd)
{
	/* Pairs with the process's release: the process has read the slots it frees. */
	u32 used = evd->tail - smp_load_acquire(&evd->ring->mem->head);

	/* The process may have overwritten its head. */
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

/* The ring has events and the lock is held. While a thread waits, the CNO is not used. */
static void trigger_cno(struct dat_uevd *evd)
{
	if (evd->cno && !evd->threshold && !(evd->state & DAT_DEV_EVD_DISABLED))
		dat_ucno_trigger(evd->cno, evd->uobj.handle);
}

/* The place of the next event; NULL if the ring, with @used events, is full. */
static struct dat_dev_event *next_event(struct dat_uevd *evd, u32 used)
{
	struct dat_uring *ring = evd->ring;

	if (unlikely(used >= ring->entries))
		return NULL;
	return &ring->mem->events[evd->tail & (ring->entries - 1)];
}

/* Makes the event at next_event() visible. */
static void push_next(struct dat_uevd *evd, u32 used)
{
	evd->tail++;
	evd->overflown = false;
	/* Release: the process reads the event only after it has read the tail. */
	smp_store_release(&evd->ring->mem->tail, evd->tail);
	if (evd->threshold && used + 1 >= evd->threshold)
		wake_up_interruptible(&evd->wq);
	if (wq_has_sleeper(&evd->poll_wq))
		wake_up_interruptible_poll(&evd->poll_wq, EPOLLIN | EPOLLRDNORM);
	trigger_cno(evd);
}

static bool push_locked(struct dat_uevd *evd, const struct dat_dev_event *event)
{
	u32 used = dat_uevd_used(evd);
	struct dat_dev_event *next = next_event(evd, used);

	if (!next)
		return false;
	*next = *event;
	push_next(evd, used);
	return true;
}

/* Records the loss of an event. Returns true if it is the first since an event was pushed. */
static bool note_loss(struct dat_uevd *evd)
{
	bool is_first = !evd->overflown;

	evd->overflown = true;
	return is_first;
}

/**
 * dat_uevd_try_push - push an event to the ring if it has room
 * @evd: the EVD
 * @event: the event
 *
 * Context: process or softirq.
 * Return: true; false if the ring is full.
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
 * dat_uevd_push - push an event to the ring or report the overflow
 * @evd: the EVD
 * @event: the event
 *
 * Context: process or softirq.
 * Return: true; false if the ring is full, which is reported on the IA's asynchronous
 * EVD.
 */
bool dat_uevd_push(struct dat_uevd *evd, const struct dat_dev_event *event)
{
	bool ok, first_loss = false;

	spin_lock_bh(&evd->lock);
	ok = push_locked(evd, event);
	if (!ok)
		first_loss = note_loss(evd);
	spin_unlock_bh(&evd->lock);
	if (first_loss)
		report_overflow(evd);
	return ok;
}

/**
 * dat_uevd_completion - push a completion that succeeded to the ring
 * @instance_data: the &struct dat_uevd
 * @completion: the completion
 *
 * The user handle of an EP is its consumer context in the kernel.
 *
 * Context: as DAT_COMPLETION_FUNC.
 */
void dat_uevd_completion(DAT_PVOID instance_data, const struct dat_completion *completion)
{
	struct dat_uevd *evd = instance_data;
	struct dat_dev_event *next;
	bool first_loss = false;
	u32 used;

	/* Bottom halves are off. */
	spin_lock(&evd->lock);
	used = dat_uevd_used(evd);
	next = next_event(evd, used);
	if (likely(next)) {
		*next = (struct dat_dev_event){
			.number = completion->number,
			.status = DAT_DTO_SUCCESS,
			.handle = completion->ep_context.as_64,
			.cookie = completion->user_cookie.as_64,
			.length = completion->transfered_length,
			.operation = completion->operation,
			.rmr_context = completion->rmr_context,
		};
		push_next(evd, used);
	} else {
		first_loss = note_loss(evd);
	}
	spin_unlock(&evd->lock);
	if (unlikely(first_loss))
		report_overflow(evd);
}

static void uevd_release(struct dat_uobj *uobj)
{
	struct dat_uevd *evd = to_uevd(uobj);

	dat_uevd_set_cno(evd, NULL, true);
	dat_uring_put(evd->ring);
}

/**
 * dat_uevd_alloc - allocate an EVD without a handle
 * @file: the file
 * @ia: the IA, or NULL if the caller sets it later
 * @qlen: minimum number of events in the ring, at least 1
 * @ret: out, on failure: -ENOSPC beyond a limit, -ENOMEM
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
 * dat_uevd_kill - wake all waiters because the EVD or its IA has been freed
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
 * dat_uevd_set_cno - replace the CNO of an EVD
 * @evd: the EVD
 * @cno: the new CNO, from dat_ucno_attach(), or NULL
 * @is_end: the EVD has been freed; no later call sets its CNO
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
		dat_ucno_detach(old, is_end);
}

/**
 * dat_uevd_set_state - enable or disable an EVD, set or clear its unwaitable state
 * @evd: the EVD
 * @mask: bits to change, of DAT_DEV_EVD_DISABLED and DAT_DEV_EVD_UNWAITABLE
 * @state: new values of the bits in @mask
 *
 * Context: process.
 */
void dat_uevd_set_state(struct dat_uevd *evd, u32 mask, u32 state)
{
	u32 old, new;

	spin_lock_bh(&evd->lock);
	old = evd->state;
	new = (old & ~mask) | state;
	evd->state = new;
	WRITE_ONCE(evd->ring->mem->state, new);
	/* Events that came while the EVD was disabled have not triggered the CNO. */
	if (old & ~new & DAT_DEV_EVD_DISABLED && dat_uevd_used(evd))
		trigger_cno(evd);
	spin_unlock_bh(&evd->lock);
	if (new & DAT_DEV_EVD_UNWAITABLE)
		wake_up_interruptible(&evd->wq);
}

/* Events moved with bottom halves disabled: about 10 us. */
#define SWAP_BATCH	256

/*
 * Copies some of the @used queued events, from event @from if it is still queued, or from
 * the first one. A process that overwrites its head gets wrong events of its own ring,
 * but no data of other processes. Returns the index after the last copied event.
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
 * dat_uevd_swap_ring - replace the ring of an EVD
 * @evd: the EVD
 * @ring: the new ring, empty
 * @qlen: events that the process wants the new ring to hold
 *
 * Moves the events in batches. Between batches, events may be pushed and taken.
 *
 * Context: process, may sleep; the caller holds evd->mutex.
 * Return: the old ring, to be put by the caller; @ring if more than @qlen events are
 * queued or a thread waits for more.
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
		/* A waiter's threshold must fit into the new ring. */
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
	/* A thread that still reads the old ring must find it empty. */
	WRITE_ONCE(old->mem->tail, READ_ONCE(old->mem->head));
	/* Release: a process that reads is_old can map the new ring. */
	smp_store_release(&old->mem->is_old, 1);
	spin_unlock_bh(&evd->lock);
	return old;
}

/**
 * dat_uevd_mmap - map the ring of an EVD
 * @filp: the open /dev/dat
 * @vma: the mapping; its offset is the user handle times the page size
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (no such EVD, not its whole ring, not shared), or an error of
 * vm_insert_page() returns.
 */
int dat_uevd_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct dat_uring *ring;
	struct dat_uobj *uobj;
	int ret;

	if (vma->vm_pgoff > U32_MAX || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	uobj = dat_uobj_get(filp->private_data, vma->vm_pgoff, DAT_HANDLE_TYPE_EVD);
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

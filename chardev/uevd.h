/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * uevd.h - EVDs of processes: a ring that the process maps
 */
#ifndef _CHARDEV_UEVD_H
#define _CHARDEV_UEVD_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "file.h"

struct dat_ucharge;
struct dat_ucno;
struct vm_area_struct;

/**
 * struct dat_uring - a ring
 * @ref: one for the EVD, one for each mapping
 * @charge: counters charged for the ring, referenced
 * @entries: capacity in events, a power of two
 * @bytes: size of @mem
 * @mem: the mapped memory; the process can write to all of it, so nothing that is
 *	read from it is trusted
 */
struct dat_uring {
	struct kref ref;
	struct dat_ucharge *charge;
	u32 entries;
	unsigned long bytes;
	struct dat_dev_ring *mem;
};

/**
 * struct dat_uevd - an EVD
 * @uobj: base object
 * @flags: event streams that may feed the EVD
 * @mutex: held while the EVD is resized, while a thread pulls, and while the kernel
 *	chooses the qualifier of a PSP of this EVD
 * @lock: guards all fields below; upcalls take it, outside the lock of a CNO
 * @qlen: events that the process asked the EVD to hold
 * @ring: the ring
 * @tail: events produced
 * @threshold: events that the waiter wants; 0 without a waiter
 * @state: DAT_DEV_EVD_DISABLED, DAT_DEV_EVD_UNWAITABLE
 * @is_dead: the EVD or its IA has been freed
 * @overflown: an overflow has been reported and no event pushed since
 * @cno: the CNO that the EVD triggers, from dat_ucno_attach(); or NULL
 * @wq: the waiting thread
 * @poll_wq: threads that poll the EVD's file descriptors
 * @sps: service points that report requests on the EVD
 */
struct dat_uevd {
	struct dat_uobj uobj;
	u32 flags;
	struct mutex mutex;
	spinlock_t lock;
	u32 qlen;
	struct dat_uring *ring;
	u32 tail;
	u32 threshold;
	u32 state;
	bool is_dead;
	bool overflown;
	struct dat_ucno *cno;
	wait_queue_head_t wq;
	wait_queue_head_t poll_wq;
	struct list_head sps;
};

static inline struct dat_uevd *to_uevd(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_uevd, uobj);
}

/* uevd.c */
struct dat_uevd *dat_uevd_alloc(struct dat_file *file, struct dat_uia *ia,
				u32 qlen, int *ret);
void dat_uevd_kill(struct dat_uevd *evd);
int dat_uevd_mmap(struct file *filp, struct vm_area_struct *vma);
u32 dat_uevd_used(const struct dat_uevd *evd);
bool dat_uevd_push(struct dat_uevd *evd, const struct dat_dev_event *event);
void dat_uevd_completion(DAT_PVOID instance_data, const struct dat_completion *completion);
bool dat_uevd_try_push(struct dat_uevd *evd, const struct dat_dev_event *event);
void dat_uevd_set_cno(struct dat_uevd *evd, struct dat_ucno *cno, bool is_end);
struct dat_uring *dat_uevd_swap_ring(struct dat_uevd *evd,
				     struct dat_uring *ring, u32 qlen);
void dat_uevd_set_state(struct dat_uevd *evd, u32 mask, u32 state);

/* uring.c */
struct dat_uring *dat_uring_alloc(struct dat_file *file, u32 qlen, int *ret);
void dat_uring_put(struct dat_uring *ring);
int dat_uring_mmap(struct dat_uring *ring, struct vm_area_struct *vma);

/* event.c */
void dat_uevd_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		     DAT_BOOLEAN more_events);

#endif /* _CHARDEV_UEVD_H */

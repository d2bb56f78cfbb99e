/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * uevd.h - an EVD of a process: a ring that the process maps
 */
#ifndef _CHARDEV_UEVD_H
#define _CHARDEV_UEVD_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "file.h"

struct vm_area_struct;

/**
 * struct dat_uevd - an EVD
 * @uobj: head
 * @qlen: events that the process asked it to hold
 * @entries: events that the ring can hold
 * @ring: the ring; the process can write to all of it, so nothing that is read
 *	from it is trusted
 * @bytes: size of the ring
 * @lock: guards all below; taken from upcalls
 * @tail: events produced
 * @threshold: events that the waiter wants; 0 if nobody waits
 * @is_dead: the EVD or its IA has been freed
 * @overflown: an event was lost, and reported, since the last that was not
 * @wq: the waiter
 * @psps: PSPs that it serves
 */
struct dat_uevd {
	struct dat_uobj uobj;
	u32 qlen;
	u32 entries;
	struct dat_dev_ring *ring;
	unsigned long bytes;
	spinlock_t lock;
	u32 tail;
	u32 threshold;
	bool is_dead;
	bool overflown;
	wait_queue_head_t wq;
	struct list_head psps;
};

/**
 * struct dat_upsp - a PSP
 * @uobj: head
 * @evd: its EVD, referenced
 * @node: in evd->psps, from before the first request can come
 * @conn_qual: its connection qualifier, by which requests find it
 */
struct dat_upsp {
	struct dat_uobj uobj;
	struct dat_uevd *evd;
	struct list_head node;
	u64 conn_qual;
};

static inline struct dat_uevd *to_uevd(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_uevd, uobj);
}

static inline struct dat_upsp *to_upsp(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_upsp, uobj);
}

/* uevd.c */
struct dat_uevd *dat_uevd_alloc(struct dat_file *file, struct dat_uia *ia,
				u32 qlen, int *ret);
void dat_uevd_kill(struct dat_uevd *evd);
int dat_uevd_mmap(struct dat_file *file, struct vm_area_struct *vma);
bool dat_uevd_push(struct dat_uevd *evd, const struct dat_dev_event *event);

/* chardev.c */
extern struct workqueue_struct *dat_chardev_wq;

/* event.c */
void dat_uevd_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		     DAT_BOOLEAN more_events);

#endif /* _CHARDEV_UEVD_H */

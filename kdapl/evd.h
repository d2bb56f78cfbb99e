/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * evd.h - event dispatchers
 */
#ifndef _KDAPL_EVD_H
#define _KDAPL_EVD_H

#include <linux/list.h>
#include <linux/irq_poll.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "object.h"

/**
 * struct dat_evd_entry - an event in the making, or in the ring of an EVD
 * @number: what happened
 * @silent: comes without notification
 * @data: the details
 */
struct dat_evd_entry {
	DAT_EVENT_NUMBER number;
	bool silent;
	DAT_EVENT_DATA data;
};

/**
 * struct dat_evd - an event dispatcher
 * @obj: head
 * @qlen: events that the consumer asked it to hold
 * @flags: event streams that may feed it
 * @cq: completions of DTOs and binds; NULL if it takes none
 * @expected: completions that there can be at once, of all its EPs
 * @lock: guards all below, and the order of events
 * @head: next entry of @ring to take out
 * @tail: next entry of @ring to fill
 * @mask: entries in @ring - 1
 * @notify: entries in @ring that are not silent
 * @overflown: an event was lost, and reported, since the last was taken out
 * @deliver_silent: make upcalls for silent events too, until there is none left
 * @policy: whether events make upcalls
 * @upcall: whom they call
 * @iop: makes the upcalls of an EVD with a CQ
 * @work: makes the upcalls of an EVD without
 * @overflow_work: reports an overflow
 * @ring: events that do not wait in the CQ
 */
struct dat_evd {
	struct dat_object obj;
	DAT_COUNT qlen;
	DAT_EVD_FLAGS flags;
	struct ib_cq *cq;
	atomic_t expected;

	spinlock_t lock;
	u32 head;
	u32 tail;
	u32 mask;
	u32 notify;
	bool overflown;
	bool deliver_silent;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT upcall;
	struct irq_poll iop;
	struct work_struct work;
	struct work_struct overflow_work;
	struct dat_evd_entry *ring;
};

#define DAT_EVD_CQ_FLAGS	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)

/* Keeps one EVD from taking all memory, and sizes from overflowing. */
#define DAT_MAX_EVD_QLEN	65536

static inline struct dat_evd *to_evd(struct dat_object *obj)
{
	return container_of(obj, struct dat_evd, obj);
}

/* evd.c */
DAT_RETURN dat_evd_new(struct dat_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		       struct dat_evd **evdp);
void dat_evd_drop(struct dat_evd *evd);
void dat_evd_overflow(struct dat_evd *evd);
int dat_evd_expect(struct dat_evd *evd, u32 completions);
void dat_evd_unexpect(struct dat_evd *evd, u32 completions);

/* evd_queue.c */
bool dat_evd_post(struct dat_evd *evd, DAT_EVENT_NUMBER number,
		  const DAT_EVENT_DATA *data);
void dat_evd_collect(struct dat_evd *evd);
void dat_evd_drain(struct dat_evd *evd);
bool dat_evd_pop(struct dat_evd *evd, struct dat_evd_entry *entry);
bool dat_evd_pop_for_upcall(struct dat_evd *evd, struct dat_evd_entry *entry,
			    bool *more);
bool dat_evd_is_full(struct dat_evd *evd);

/* upcall.c */
void dat_evd_upcall_init(struct dat_evd *evd);
void dat_evd_upcall_stop(struct dat_evd *evd);
void dat_evd_kick(struct dat_evd *evd);
bool dat_evd_in_upcall(void);

#endif /* _KDAPL_EVD_H */

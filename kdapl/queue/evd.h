/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * evd.h - event dispatchers
 */
#ifndef _KDAPL_EVD_H
#define _KDAPL_EVD_H

#include <linux/irq_poll.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_ib_extensions.h>

#include "base/object.h"

/**
 * struct dat_evd_entry - an event in the making, or in the ring of an EVD
 * @number: what happened
 * @silent: comes without notification
 * @shared: is a receive from an SRQ
 * @data: the details
 */
struct dat_evd_entry {
	DAT_EVENT_NUMBER number;
	bool silent;
	bool shared;
	DAT_EVENT_DATA data;
};

/* Upcalls of DAT_UPCALL_MANY that can run at once, beside the first. */
#define DAT_EVD_HELPERS	3

/**
 * struct dat_evd_helper - makes upcalls while others are being made
 * @evd: the EVD
 * @busy: bit 0: @work is queued or running
 * @work: makes them
 */
struct dat_evd_helper {
	struct dat_evd *evd;
	unsigned long busy;
	struct work_struct work;
};

/**
 * struct dat_evd - an event dispatcher
 * @obj: head
 * @qlen: events that the consumer asked it to hold
 * @flags: event streams that may feed it
 * @cq_bytes: what its CQ is charged for
 * @cq: completions of DTOs and binds; NULL if it takes none
 * @expected: completions that there can be at once, of all its EPs; at most
 *	cq->cqe
 * @may_miss: of DAT_QUIRK_MISSED_EVENTS
 * @size_lock: serialises changes of size, of the ring and of @cq
 * @lock: guards all below, and the order of events
 * @head: next entry of @ring to take out
 * @tail: next entry of @ring to fill
 * @mask: entries in @ring - 1
 * @spare: entries that only the word of a loss may take: see ring_overflow()
 * @notify: entries in @ring that are not silent
 * @overflown: an event was lost, and reported, since the last was taken out
 * @deliver_silent: make upcalls for silent events too, until there is none left
 * @watchers: EPs that want to know at once what has completed, see
 *	dat_evd_watch()
 * @streams: of DTOs that EPs feed it with
 * @solicited: those among them that are notified of only if the sender wants
 * @policy: whether events make upcalls
 * @upcall: whom they call
 * @iop: makes the upcalls of an EVD with a CQ
 * @irq_work: schedules @iop from an interrupt
 * @work: makes the upcalls of an EVD without
 * @helpers: make upcalls as well, if the policy is DAT_UPCALL_MANY
 * @works: how many of @work and @helpers are queued or running
 * @overflow_work: reports an overflow
 * @ring: events that do not wait in the CQ
 * @wcs: completions that were taken out of the CQ together, of which those from
 *	@next_wc up to @end_wc wait: behind @ring, in front of the CQ
 * @next_wc: index into @wcs
 * @end_wc: likewise
 * @popped: the event on its way through dat_evd_dequeue(), for which no stack is cleared
 */
struct dat_evd {
	struct dat_object obj;
	DAT_COUNT qlen;
	DAT_EVD_FLAGS flags;
	size_t cq_bytes;
	struct ib_cq *cq;
	atomic_t expected;
	bool may_miss;
	struct mutex size_lock;

	spinlock_t lock;
	u32 head;
	u32 tail;
	u32 mask;
	u32 spare;
	u32 notify;
	bool overflown;
	bool deliver_silent;
	u32 watchers;
	u32 streams;
	u32 solicited;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT upcall;
	struct irq_poll iop;
	struct irq_work irq_work;
	struct work_struct work;
	struct dat_evd_helper helpers[DAT_EVD_HELPERS];
	atomic_t works;
	struct work_struct overflow_work;
	struct dat_evd_entry *ring;
	struct ib_wc *wcs;
	u32 next_wc;
	u32 end_wc;
	struct dat_evd_entry popped;
};

/* How many completions upcalls take out of the CQ at once. */
#define DAT_EVD_BATCH	16

#define DAT_EVD_CQ_FLAGS	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)

/* Keeps one EVD from taking all memory, and sizes from overflowing. */
#define DAT_MAX_EVD_QLEN	65536

static inline struct dat_evd *to_evd(struct dat_object *obj)
{
	return container_of(obj, struct dat_evd, obj);
}

/* Does an event make an upcall? Under evd->lock the answer stays true. */
static inline bool dat_evd_makes_upcalls(const struct dat_evd *evd)
{
	return READ_ONCE(evd->policy) > DAT_UPCALL_DISABLE;
}

/*
 * A request makes up to two completions, and an EP one more. One less, because
 * drivers keep an entry free and round up to a power of two.
 */
static inline u32 dat_evd_cq_size(DAT_COUNT qlen)
{
	return max(3 * qlen, 256) - 1;
}

/* evd.c */
DAT_RETURN dat_evd_new(struct dat_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		       u32 completions, struct dat_evd **evdp);
void dat_evd_drop(struct dat_evd *evd);
void dat_evd_overflow(struct dat_evd *evd);
struct dat_evd_entry *dat_evd_alloc_ring(struct dat_evd *evd, DAT_COUNT qlen,
					 u32 *entries);
void dat_evd_free_ring(struct dat_evd *evd, struct dat_evd_entry *ring,
		       u32 entries);

/* evd_cq.c */
DAT_RETURN dat_evd_cq_create(struct dat_evd *evd, u32 completions);
void dat_evd_cq_destroy(struct dat_evd *evd);
DAT_RETURN dat_evd_cq_resize(struct dat_evd *evd, DAT_COUNT qlen);
DAT_RETURN dat_evd_expect(struct dat_evd *evd, u32 completions, u32 more);
void dat_evd_unexpect(struct dat_evd *evd, u32 completions);

/* evd_queue.c */
bool dat_evd_post(struct dat_evd *evd, DAT_EVENT_NUMBER number,
		  const DAT_EVENT_DATA *data);
void dat_evd_gather(struct dat_evd *evd);
void dat_evd_collect(struct dat_evd *evd);
void dat_evd_drain(struct dat_evd *evd);
bool dat_evd_pop_for_upcall(struct dat_evd *evd, struct dat_evd_entry *entry,
			    DAT_UPCALL_OBJECT *upcall, bool *more,
			    bool *drained);
bool dat_evd_look_again(struct dat_evd *evd);
bool dat_evd_post_unless_full(struct dat_evd *evd, DAT_EVENT_NUMBER number,
			      const DAT_EVENT_DATA *data);
struct dat_evd_entry *dat_evd_swap_ring(struct dat_evd *evd,
					struct dat_evd_entry *ring,
					u32 entries, DAT_COUNT qlen);
bool dat_evd_upcall_pending(const struct dat_evd *evd);
bool dat_evd_is_full(struct dat_evd *evd);

/* evd_event.c */
void dat_evd_extend(DAT_EVENT *event);

/* An event as its consumer gets it */
static inline void dat_evd_event(const struct dat_evd_entry *entry,
				 DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	event->event_number = entry->number;
	event->evd_handle = handle;
	event->event_data = entry->data;
	if (unlikely(entry->number == DAT_IB_DTO_EVENT))
		dat_evd_extend(event);
}

/* upcall.c */
void dat_evd_upcall_init(struct dat_evd *evd);
DAT_RETURN dat_evd_check_upcall(DAT_UPCALL_POLICY policy,
				const DAT_UPCALL_OBJECT *upcall,
				DAT_RETURN_SUBTYPE bad_policy,
				DAT_RETURN_SUBTYPE bad_upcall);
void dat_evd_upcall_stop(struct dat_evd *evd);
void dat_evd_arm(struct dat_evd *evd);
void dat_evd_add_stream(struct dat_evd *evd, bool solicited);
void dat_evd_remove_stream(struct dat_evd *evd, bool solicited);
void dat_evd_watch(struct dat_evd *evd);
void dat_evd_unwatch(struct dat_evd *evd);
void dat_evd_schedule_upcall(struct dat_evd *evd);
bool dat_evd_in_upcall(void);

#endif /* _KDAPL_EVD_H */

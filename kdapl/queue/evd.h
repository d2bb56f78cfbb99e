/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * evd.h - event dispatchers: a ring of events, CQs and upcalls
 *
 * See evd.c for creation, evd_cq.c for the CQs, evd_queue.c for the ring and upcall.c for
 * upcalls.
 */
#ifndef _KDAPL_EVD_H
#define _KDAPL_EVD_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_ib_extensions.h>
#include <dat/kdat_linux.h>

#include "base/object.h"
#include "queue/poll.h"

struct dat_srq;

/**
 * struct dat_evd_entry - an event that is being built, or in the ring of an EVD
 * @number: event number
 * @unsignalled: the event causes no notification
 * @shared: the event is a receive from an SRQ
 * @data: event data
 */
struct dat_evd_entry {
	DAT_EVENT_NUMBER number;
	bool unsignalled;
	bool shared;
	DAT_EVENT_DATA data;
};

/* Upcalls of DAT_UPCALL_MANY that can run at once, in addition to the first. */
#define DAT_EVD_HELPERS	3

/**
 * struct dat_evd_helper - runs upcalls of DAT_UPCALL_MANY in parallel to others
 * @evd: the EVD
 * @busy: bit 0: @work is queued or running
 * @work: runs the upcalls
 */
struct dat_evd_helper {
	struct dat_evd *evd;
	unsigned long busy;
	struct work_struct work;
};

/**
 * struct dat_cq - a CQ of an EVD
 * @obj: carries the charges; it has no handle
 * @evd: the EVD
 * @node: in evd->cqs
 * @cq: the CQ
 * @expected: completions of its EPs that may wait at once; at most cq->cqe
 * @users: queues of EPs that complete here; a QP with both queues here counts once
 */
struct dat_cq {
	struct dat_object obj;
	struct dat_evd *evd;
	struct list_head node;
	struct ib_cq *cq;
	u32 expected;
	u32 users;
};

/**
 * struct dat_evd - an event dispatcher
 * @obj: object head
 * @qlen: events that the consumer requested
 * @flags: event streams that may feed the EVD
 * @binds: requests of its EPs may be binds, or registrations of a driver, all of them
 * @may_miss: DAT_QUIRK_MISSED_EVENTS
 * @arming: how many arm the CQs at this moment, without @lock; no CQ is destroyed until none does
 * @size_lock: serialises changes of size, of the ring and of the CQs
 * @lock: guards all fields below, and the order of events. WRITE_ONCE() marks changes of
 *	fields that are also read without the lock.
 * @polls: @poll runs the upcalls, not @work: the EVD takes completions, and the device is
 *	present
 * @cqs: its CQs, the last is the newest; changes under @size_lock too
 * @cq: the CQ to poll next; NULL if there is none
 * @num_cqs: CQs in @cqs
 * @poll_limit: after so many completions, polls have taken all that the CQs hold now
 * @polled: completions that the last polls took from @cq, if there are several CQs
 * @head: next entry of @ring to take out
 * @tail: next entry of @ring to fill
 * @mask: entries in @ring - 1
 * @spare: entries reserved for the report of a loss: see ring_overflow()
 * @notify: entries in @ring that notify
 * @overflown: an event was lost, and reported, since the last dequeue
 * @deliver_unsignalled: run upcalls also for unsignalled events, until the EVD is empty
 * @watchers: EPs that need their completions processed at once, see
 *	dat_evd_watch()
 * @streams: DTO streams of the EPs that feed the EVD
 * @solicited: streams that notify only for solicited receives
 * @policy: upcall policy
 * @upcall: function to call
 * @completion: takes most completions instead of @upcall, see dat_evd_set_completion(); or NULL
 * @poll: runs the upcalls if @polls
 * @irq_work: schedules @poll from an interrupt
 * @work: runs the upcalls if not @polls
 * @helpers: run further upcalls, if the policy is DAT_UPCALL_MANY
 * @works: how many of @work and @helpers are queued or running
 * @overflow_work: reports an overflow
 * @ring: events that do not wait in a CQ
 * @wcs: completions of one poll; NULL without CQs. Entries from @next_wc to
 *	@end_wc - 1 wait: behind @ring, in front of the CQs.
 * @next_wc: index into @wcs
 * @end_wc: index into @wcs
 * @popped: scratch entry of dat_evd_dequeue(), which avoids clearing stack memory
 */
struct dat_evd {
	struct dat_object obj;
	DAT_COUNT qlen;
	DAT_EVD_FLAGS flags;
	bool binds;
	bool may_miss;
	atomic_t arming;
	struct mutex size_lock;

	spinlock_t lock;
	bool polls;
	struct list_head cqs;
	struct dat_cq *cq;
	u32 num_cqs;
	u32 poll_limit;
	u32 polled;
	u32 head;
	u32 tail;
	u32 mask;
	u32 spare;
	u32 notify;
	bool overflown;
	bool deliver_unsignalled;
	u32 watchers;
	u32 streams;
	u32 solicited;
	DAT_UPCALL_POLICY policy;
	DAT_UPCALL_OBJECT upcall;
	DAT_COMPLETION_FUNC completion;
	struct dat_poll poll;
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

/*
 * Completions that one poll of a CQ takes for upcalls, and that the EVD takes from one CQ before
 * it turns to the next.
 */
#define DAT_EVD_BATCH	16

#define DAT_EVD_CQ_FLAGS	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)

/* As many CQEs as any device has. Keeps size computations from overflowing. */
#define DAT_MAX_EVD_QLEN	(4 * 1024 * 1024)

static inline struct dat_evd *to_evd(struct dat_object *obj)
{
	return container_of(obj, struct dat_evd, obj);
}

/* Do events of the EVD run upcalls? Under evd->lock the answer remains valid. */
static inline bool dat_evd_makes_upcalls(const struct dat_evd *evd)
{
	return READ_ONCE(evd->policy) > DAT_UPCALL_DISABLE;
}

/* Work requests of an EP that does not bind, besides its requests: one is a bind after all. */
#define DAT_EVD_FEW_BINDS	2U

/* Turns to the next CQ; under evd->lock. */
static inline void dat_evd_next_cq(struct dat_evd *evd)
{
	evd->cq = list_is_last(&evd->cq->node, &evd->cqs) ?
		  list_first_entry(&evd->cqs, struct dat_cq, node) :
		  list_next_entry(evd->cq, node);
	evd->polled = 0;
}

/* evd.c */
DAT_RETURN dat_evd_new(struct dat_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		       struct dat_evd **evdp);
void dat_evd_drop(struct dat_evd *evd);
void dat_evd_overflow(struct dat_evd *evd);
struct dat_evd_entry *dat_evd_alloc_ring(struct dat_evd *evd, DAT_COUNT qlen,
					 u32 *entries);
void dat_evd_free_ring(struct dat_evd *evd, struct dat_evd_entry *ring,
		       u32 entries);

/* evd_cq.c */
DAT_RETURN dat_cq_join(struct dat_evd *evd, u32 completions, struct dat_srq *srq,
		       struct dat_cq **cqp);
void dat_cq_leave(struct dat_cq *cq, u32 completions, struct dat_srq *srq);
bool dat_cq_grow(struct dat_cq *cq, u32 completions);
void dat_evd_unplug(struct dat_evd *evd);

/* evd_queue.c */
bool dat_evd_post(struct dat_evd *evd, DAT_EVENT_NUMBER number,
		  const DAT_EVENT_DATA *data);
bool dat_evd_has_events(struct dat_evd *evd);
void dat_evd_gather(struct dat_evd *evd);
void dat_evd_collect(struct dat_evd *evd);
void dat_evd_drain(struct dat_evd *evd);
bool dat_evd_pop_for_upcall(struct dat_evd *evd, struct dat_evd_entry *entry,
			    DAT_UPCALL_OBJECT *upcall, bool *more,
			    bool *drained, int *taken);
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

/* Converts an entry to the event that the consumer receives. */
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

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * srq.h - shared receive queues, and the EPs that receive from them
 *
 * See srq.c, srq_post.c, srq_ep.c, srq_reclaim.c and srq_resize.c.
 */
#ifndef _KDAPL_SRQ_H
#define _KDAPL_SRQ_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "base/account.h"
#include "base/object.h"
#include "queue/dto.h"

struct dat_cq;
struct dat_evd;
struct dat_evd_entry;
struct dat_ia;
struct dat_pz;

/*
 * DAT defines no event number for events of an SRQ, nor for a soft high watermark. The
 * consumer distinguishes them by the type of the handle and by the reason.
 */
#define DAT_SRQ_EVENT	DAT_ASYNC_ERROR_EP_BROKEN

#define DAT_SRQ_HASH_BITS	6

enum dat_srq_flag {
	DAT_SRQ_LW_ARMED,	/* the low watermark is to be reported */
	DAT_SRQ_LW_REACHED,	/* event_work must report the low watermark */
	DAT_SRQ_FAILED,		/* event_work must report the failure */
	DAT_SRQ_MISSING,	/* event_work must look for lost buffers */
};

/**
 * struct dat_srq_slot - a slot for one buffer
 * @dto: the DTO that dat_dto_complete() finds; its queue is that of the SRQ
 * @node: in srq->free or srq->posted
 * @number: running number of the buffer among all buffers ever posted
 */
struct dat_srq_slot {
	struct dat_dto dto;
	struct list_head node;
	u32 number;
};

/**
 * struct dat_srq_chunk - slots of one allocation
 * @next: the chunk allocated before
 * @slots: the slots; work requests hold their addresses, so a chunk never moves
 */
struct dat_srq_chunk {
	struct dat_srq_chunk *next;
	struct dat_srq_slot slots[];
};

/**
 * struct dat_srq_feed - a CQ that EPs of an SRQ report their receives to
 * @node: in srq->feeds
 * @cq: the CQ, which the EPs have joined
 * @room: completions for which @cq has room; at least the buffers of the SRQ
 * @eps: number of these EPs
 */
struct dat_srq_feed {
	struct list_head node;
	struct dat_cq *cq;
	u32 room;
	u32 eps;
};

/**
 * struct dat_srq - a shared receive queue
 * @obj: object head
 * @pz: its PZ, used
 * @wq: the queue that its slots name. Only its lock is used: the lock guards the fields
 *	up to @mutex, and the @ringed counts of the EPs
 * @srq: the SRQ of the device; NULL after it is destroyed
 * @state: DAT_SRQ_STATE_ERROR once it has failed
 * @max: buffers that may be posted at once
 * @max_iov: segments of one buffer
 * @all_memory_lkey: lkey that gives the buffers of the SRQ access to all of memory
 * @low_watermark: while armed, fewer buffers than this cause an event
 * @num_posted: buffers that have not completed
 * @num_ringed: buffers that have completed, and wait in an EVD for the consumer
 * @num_slots: allocated slots, the capacity of @srq
 * @free: slots that are not in use
 * @posted: slots of posted buffers, in the order of posting
 * @chunks: all slots
 * @forgetful: DAT_QUIRK_SRQ_FORGETS
 * @missing: an EP has ended, and buffers taken before have yet to complete
 * @next_number: number of the buffer that is posted next
 * @num_taken: all buffers with a lower number have been taken
 * @inexact: @num_taken may count buffers that the device has not reported yet
 * @lost_ep: EP that ended last while @missing
 * @lost_evd: receive EVD of @lost_ep, referenced
 * @eps: EPs, hashed by their QP; they change under @mutex, too
 * @mutex: serialises changes of size, of @eps and of @feeds
 * @feeds: CQs of its EPs
 * @flags: bits of enum dat_srq_flag
 * @event_work: reports events to the consumer
 */
struct dat_srq {
	struct dat_object obj;
	struct dat_pz *pz;

	struct dat_workq wq;
	struct ib_srq *srq;
	DAT_SRQ_STATE state;
	u32 max;
	u32 max_iov;
	u32 all_memory_lkey;
	u32 low_watermark;
	u32 num_posted;
	u32 num_ringed;
	u32 num_slots;
	struct list_head free;
	struct list_head posted;
	struct dat_srq_chunk *chunks;
	bool forgetful;
	bool missing;
	bool inexact;
	u32 next_number;
	u32 num_taken;
	DAT_EP_HANDLE lost_ep;
	struct dat_evd *lost_evd;
	struct hlist_head eps[BIT(DAT_SRQ_HASH_BITS)];

	struct mutex mutex;
	struct list_head feeds;

	unsigned long flags;
	struct work_struct event_work;
};

/**
 * struct dat_srq_ep - the attachment of an EP to its SRQ
 * @node: in srq->eps, by @qp
 * @srq: the SRQ, used; NULL if the EP was never attached
 * @wq: receive queue of the EP, which names the EP and its functions
 * @evd: EVD that @qp reports receives to, referenced while attached
 * @qp: the QP; NULL while it has no completions
 * @number: the next buffer that the QP takes has at least this number
 * @ringed: receives of the EP that wait in the ring of @evd
 * @may_receive: the QP has been ready to receive
 * @last_wqe: the QP takes no more buffers, and has completed all that it took
 */
struct dat_srq_ep {
	struct hlist_node node;
	struct dat_srq *srq;
	struct dat_workq *wq;
	struct dat_evd *evd;
	struct ib_qp *qp;
	u32 number;
	u32 ringed;
	bool may_receive;
	bool last_wqe;
};

static inline struct dat_srq *to_srq(struct dat_object *obj)
{
	return container_of(obj, struct dat_srq, obj);
}

/* Bytes of the queue of an SRQ, including the slots of kdapl. */
static inline size_t dat_srq_bytes(const struct dat_srq *srq, u32 num)
{
	return dat_bytes_queue(num, srq->max_iov, DAT_BYTES_RECV_WQE) +
	       num * sizeof(struct dat_srq_slot);
}

/* srq.c */
u32 dat_srq_max_dtos(const struct ib_device *ibdev);
void dat_srq_raise(struct dat_srq *srq, enum dat_srq_flag flag);

/* srq_post.c */
int dat_srq_add_slots(struct dat_srq *srq, u32 num);
void dat_srq_free_slots(struct dat_srq *srq);
struct dat_workq *dat_srq_complete(struct dat_dto *dto, struct ib_qp *qp);

/* srq_reclaim.c */
void dat_srq_arm_limit(struct dat_srq *srq);
void dat_srq_limit_reached(struct dat_srq *srq);
void dat_srq_note_completion(struct dat_srq *srq, struct dat_srq_ep *at, u32 number);
void dat_srq_reclaim(struct dat_srq *srq);
void dat_srq_ep_ended(struct dat_srq_ep *at);

/* srq_ep.c */
bool dat_srq_feeds(const struct dat_srq *srq, const struct dat_cq *cq);
bool dat_srq_feed(struct dat_srq *srq, struct dat_cq *cq, u32 room);
u32 dat_srq_unfeed(struct dat_srq *srq, struct dat_cq *cq);
void dat_srq_attach(struct dat_srq_ep *at, struct dat_srq *srq,
		    struct dat_workq *wq, struct dat_evd *evd, struct ib_qp *qp);
void dat_srq_detach(struct dat_srq_ep *at);
struct dat_srq_ep *dat_srq_find_ep(struct dat_srq *srq, const struct ib_qp *qp);
void dat_srq_ringed(const struct dat_evd_entry *entry, int num);
void dat_srq_collect(struct dat_srq *srq);

#endif /* _KDAPL_SRQ_H */

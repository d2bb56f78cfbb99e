/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dto.h - DTOs and binds that are posted on an EP or an SRQ
 *
 * A work queue owns a ring of slots, one for each outstanding DTO or bind. ep/ posts
 * under the lock of the queue. dto.c frees slots when completions are processed.
 */
#ifndef _KDAPL_DTO_H
#define _KDAPL_DTO_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "base/object.h"

struct dat_completion;
struct dat_evd;
struct dat_evd_entry;
struct dat_lmr;
struct dat_rmr;
struct dat_workq;

/**
 * struct dat_dto - a slot for one posted DTO or bind
 * @wq: the queue of the slot
 * @cookie: the consumer's cookie
 * @rmr: the RMR of a bind, referenced; NULL for a request without RMR or LMR
 * @lmr: the LMR of a DAT_DTO_LMR_FMR or _INVALIDATE, referenced
 * @length: bytes of all segments
 * @context: of a receive: LMR context of its first segment
 * @op: operation, DAT_DTOS or DAT_IB_DTO_*
 * @suppress: no event if the request succeeds
 * @unsignalled: the event causes no notification
 * @drain: the request of dat_post_drain(), which has no event
 * @done: has completed before a request that was posted earlier
 * @bind: the windows of a bind, for dat_rmr_bound(); the slot of an LMR, for
 *	dat_fmr_done()
 * @first_status: how the work requests in front of the last one ended
 * @extra: work requests in front of the last one
 */
struct dat_dto {
	struct dat_workq *wq;
	DAT_CONTEXT cookie;
	union {
		struct dat_rmr *rmr;
		struct dat_lmr *lmr;
	};
	u32 length;
	u32 context;
	u8 op;
	bool suppress : 1;
	bool unsignalled : 1;
	bool drain : 1;
	bool done : 1;
	u8 bind;
	u8 first_status;
	u8 extra;
};

/* Flag in wr_id, beside the address of the slot: not the last work request of the DTO. */
#define DAT_DTO_WR_FIRST	BIT(0)

/**
 * struct dat_workq_ops - functions of the EP of a queue
 * @failed: a request has failed; the EP must break the connection
 * @heard: a receive has completed before the connection was established
 * @took: a message took a buffer of the SRQ
 * @drained: nothing is outstanding on a queue whose @waited is set
 *
 * Called with the lock of the EVD held.
 */
struct dat_workq_ops {
	void (*failed)(struct dat_object *ep, enum ib_wc_status status);
	void (*heard)(struct dat_object *ep);
	void (*took)(struct dat_object *ep);
	void (*drained)(struct dat_object *ep);
};

/**
 * struct dat_workq - the send or the receive queue of an EP
 * @ep: the EP; NULL for the queue of an SRQ
 * @state: state of the EP
 * @ops: functions of the EP
 * @lock: serialises posts
 * @qp: the QP; NULL when the EP can no longer post
 * @slots: the ring of slots
 * @mask: slots in the ring - 1
 * @max: slots that may be in use at once
 * @head: slots ever taken; written under @lock
 * @tail: slots ever freed; written under the lock of the EVD, by the task or softirq that
 *	processes completions
 * @max_extra: work requests that the slots in use may have besides one each
 * @extra_head: such work requests ever posted; written under @lock
 * @extra_tail: such work requests whose slots are free; written as @tail
 * @unordered: DAT_QUIRK_UNORDERED, or @shared
 * @shared: queue of an SRQ instead of an EP, see struct dat_srq
 * @hides_length: DAT_QUIRK_LENGTH_IS_QP_ERROR
 * @close_fails: DAT_QUIRK_CLOSE_FAILS_REQUEST
 * @closed: the peer has disconnected while a request was being sent, for @close_fails
 * @waited: call ops->drained() when nothing is outstanding
 * @since_signaled: work requests since the last that is sure to complete
 */
struct dat_workq {
	struct dat_object *ep;
	const DAT_EP_STATE *state;
	const struct dat_workq_ops *ops;
	spinlock_t lock;
	struct ib_qp *qp;
	struct dat_dto *slots;
	u32 mask;
	u32 max;
	u32 head;
	u32 tail;
	u32 since_signaled;
	u32 max_extra;
	u32 extra_head;
	u32 extra_tail;
	bool unordered;
	bool shared;
	bool hides_length;
	bool close_fails;
	bool closed;
	bool waited;
};

struct dat_dto *dat_workq_alloc(u32 max);
void dat_workq_set(struct dat_workq *wq, struct dat_dto *slots, u32 max);
int dat_workq_init(struct dat_workq *wq, struct dat_object *ep,
		   const DAT_EP_STATE *state, const struct dat_workq_ops *ops,
		   u32 max);
void dat_workq_destroy(struct dat_workq *wq);
u32 dat_workq_reap(struct dat_workq *wq, struct dat_evd *evd);
void dat_workq_keep(struct dat_workq *wq);
void dat_workq_exit(void);
bool dat_dto_complete(const struct ib_wc *wc, struct dat_evd_entry *entry);
bool dat_dto_complete_plain(const struct ib_wc *wc, struct dat_completion *completion);

/**
 * dat_workq_slot - the slot of the next DTO
 * @wq: the queue; its lock is held
 *
 * The caller takes the slot by raising wq->head after the post.
 *
 * Context: any.
 * Return: the slot, flags cleared, other fields stale; NULL if the queue is full.
 */
static inline struct dat_dto *dat_workq_slot(struct dat_workq *wq)
{
	struct dat_dto *dto;

	/* Pairs with workq_advance(): the slot has been read for the last time. */
	if (unlikely(wq->head - smp_load_acquire(&wq->tail) >= wq->max))
		return NULL;
	dto = &wq->slots[wq->head & wq->mask];
	dto->wq = wq;
	dto->rmr = NULL;
	dto->suppress = false;
	dto->unsignalled = false;
	dto->drain = false;
	dto->done = false;
	dto->first_status = IB_WC_SUCCESS;
	dto->extra = 0;
	return dto;
}

/**
 * dat_workq_has_extra - does the device have room for a DTO of several work requests?
 * @wq: the queue; its lock is held, and a slot is free
 * @extra: work requests besides one
 *
 * An EP can have so many requests outstanding that the device has room for few of more
 * than one work request.
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool dat_workq_has_extra(const struct dat_workq *wq, u32 extra)
{
	return wq->extra_head - READ_ONCE(wq->extra_tail) + extra <= wq->max_extra;
}

/**
 * dat_workq_is_idle - is nothing outstanding?
 * @wq: the queue
 *
 * Context: any.
 * Return: true if every DTO has completed, as far as completions have been
 * processed.
 */
static inline bool dat_workq_is_idle(const struct dat_workq *wq)
{
	/* Pairs with the release of the slots: the completion path has read them last. */
	return READ_ONCE(wq->head) == smp_load_acquire(&wq->tail);
}

/**
 * dat_dto_wr_id - the wr_id of the last work request of a DTO
 * @dto: the slot
 *
 * Context: any.
 * Return: the wr_id.
 */
static inline u64 dat_dto_wr_id(const struct dat_dto *dto)
{
	return (uintptr_t)dto;
}

#endif /* _KDAPL_DTO_H */

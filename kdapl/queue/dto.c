// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dto.c - work queues of an EP: slots of posted DTOs, and their completions
 *
 * A slot of struct dat_workq holds one DTO or bind; wr_id is its address. This file
 * allocates the slots, maps a work completion to its slot, builds the event and frees the
 * slot. ep/ and the SRQ create the queues in process context. evd_queue.c calls
 * dat_dto_complete() for each work completion, under the lock of the EVD.
 */
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <dat/dat_ib_extensions.h>
#include <dat/kdat_linux.h>

#include "mem/fmr.h"
#include "mem/rmr.h"
#include "queue/dto.h"
#include "queue/evd.h"
#include "queue/srq.h"

/**
 * dat_workq_alloc - allocate the slots of a queue
 * @max: DTOs that may be outstanding at once
 *
 * Context: process, may sleep.
 * Return: the slots, for dat_workq_set(), or NULL.
 */
struct dat_dto *dat_workq_alloc(u32 max)
{
	return kvcalloc(roundup_pow_of_two(max), sizeof(struct dat_dto),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

/**
 * dat_workq_set - replace the slots of a queue
 * @wq: the queue; nothing is outstanding, and it has no QP
 * @slots: from dat_workq_alloc()
 * @max: DTOs that may be outstanding at once; the value passed to dat_workq_alloc()
 *
 * Context: process, may sleep.
 */
void dat_workq_set(struct dat_workq *wq, struct dat_dto *slots, u32 max)
{
	struct dat_dto *old;

	spin_lock_bh(&wq->lock);
	old = wq->slots;
	wq->slots = slots;
	wq->max = max;
	wq->mask = roundup_pow_of_two(max) - 1;
	wq->since_signaled = 0;
	wq->extra_head = 0;
	wq->extra_tail = 0;
	spin_unlock_bh(&wq->lock);
	kvfree(old);
}

/**
 * dat_workq_init - initialise a queue
 * @wq: the queue, zeroed
 * @ep: the EP of the queue
 * @state: the state of @ep
 * @ops: functions of @ep
 * @max: DTOs that may be outstanding at once; 0 if the caller calls dat_workq_set() later
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int dat_workq_init(struct dat_workq *wq, struct dat_object *ep,
		   const DAT_EP_STATE *state, const struct dat_workq_ops *ops,
		   u32 max)
{
	struct dat_dto *slots;

	spin_lock_init(&wq->lock);
	wq->ep = ep;
	wq->state = state;
	wq->ops = ops;
	wq->slots = NULL;
	if (!max)
		return 0;
	slots = dat_workq_alloc(max);
	if (!slots)
		return -ENOMEM;
	dat_workq_set(wq, slots, max);
	return 0;
}

/**
 * dat_workq_destroy - free the slots of a queue
 * @wq: the queue; nothing is outstanding; it may have no slots
 *
 * Context: process, may sleep.
 */
void dat_workq_destroy(struct dat_workq *wq)
{
	kvfree(wq->slots);
	wq->slots = NULL;
}

/* Slots that a device may still name in a completion. Freed after the last CQ. */
struct kept_slots {
	struct list_head node;
	struct dat_dto *slots;
};

static LIST_HEAD(kept_slots);
static DEFINE_SPINLOCK(kept_lock);

/* The queue of all kept slots. Nothing is outstanding on it. */
static struct dat_workq no_queue = {
	.lock = __SPIN_LOCK_UNLOCKED(no_queue.lock),
	.unordered = true,
};

/**
 * dat_workq_keep - take the slots from a queue, and keep them until module unload
 * @wq: the queue, reaped; its QP was destroyed before all requests had completed
 *
 * A late completion of such a slot is ignored.
 *
 * Context: process, may sleep.
 */
void dat_workq_keep(struct dat_workq *wq)
{
	struct kept_slots *kept = kmalloc(sizeof(*kept), GFP_KERNEL);
	u32 i;

	spin_lock_bh(&wq->lock);
	for (i = 0; i <= wq->mask; i++)
		wq->slots[i].wq = &no_queue;
	if (kept)
		kept->slots = wq->slots;
	wq->slots = NULL;
	spin_unlock_bh(&wq->lock);
	/* Without a list entry the slots leak: a CQE may name them. */
	if (!kept)
		return;
	spin_lock(&kept_lock);
	list_add(&kept->node, &kept_slots);
	spin_unlock(&kept_lock);
}

/**
 * dat_workq_exit - free the slots that dat_workq_keep() kept
 *
 * Context: process, may sleep; there are no CQs any more.
 */
void dat_workq_exit(void)
{
	struct kept_slots *kept, *next;

	list_for_each_entry_safe(kept, next, &kept_slots, node) {
		kvfree(kept->slots);
		kfree(kept);
	}
	INIT_LIST_HEAD(&kept_slots);
}

/* Report the end of a request to the RMR or LMR that the request changed. */
static void dto_settle(struct dat_dto *dto, enum ib_wc_status status)
{
	if (dto->op == DAT_DTO_BIND_MW)
		dat_rmr_bound(dto->rmr, dto->bind, status);
	else
		dat_fmr_done(dto->lmr, dto->bind, dto->op, status);
	dto->rmr = NULL;
}

static const u8 dto_status[] = {
	[IB_WC_SUCCESS]			= DAT_DTO_SUCCESS,
	[IB_WC_LOC_LEN_ERR]		= DAT_DTO_ERR_LOCAL_LENGTH,
	[IB_WC_LOC_QP_OP_ERR]		= DAT_DTO_ERR_LOCAL_EP,
	[IB_WC_LOC_EEC_OP_ERR]		= DAT_DTO_ERR_TRANSPORT,
	[IB_WC_LOC_PROT_ERR]		= DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_WR_FLUSH_ERR]		= DAT_DTO_ERR_FLUSHED,
	[IB_WC_MW_BIND_ERR]		= DAT_RMR_OPERATION_FAILED,
	[IB_WC_BAD_RESP_ERR]		= DAT_DTO_ERR_BAD_RESPONSE,
	[IB_WC_LOC_ACCESS_ERR]		= DAT_DTO_ERR_LOCAL_PROTECTION,
	[IB_WC_REM_INV_REQ_ERR]		= DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_REM_ACCESS_ERR]		= DAT_DTO_ERR_REMOTE_ACCESS,
	[IB_WC_REM_OP_ERR]		= DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_RETRY_EXC_ERR]		= DAT_DTO_ERR_TRANSPORT,
	[IB_WC_RNR_RETRY_EXC_ERR]	= DAT_DTO_ERR_RECEIVER_NOT_READY,
	[IB_WC_LOC_RDD_VIOL_ERR]	= DAT_DTO_ERR_LOCAL_EP,
	[IB_WC_REM_INV_RD_REQ_ERR]	= DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_REM_ABORT_ERR]		= DAT_DTO_ERR_REMOTE_RESPONDER,
	[IB_WC_INV_EECN_ERR]		= DAT_DTO_ERR_TRANSPORT,
	[IB_WC_INV_EEC_STATE_ERR]	= DAT_DTO_ERR_TRANSPORT,
	[IB_WC_FATAL_ERR]		= DAT_DTO_ERR_TRANSPORT,
	[IB_WC_RESP_TIMEOUT_ERR]	= DAT_DTO_ERR_TRANSPORT,
	[IB_WC_GENERAL_ERR]		= DAT_DTO_ERR_TRANSPORT,
};

static DAT_DTO_COMPLETION_STATUS to_dto_status(enum ib_wc_status status)
{
	if (status < ARRAY_SIZE(dto_status))
		return dto_status[status];
	return DAT_DTO_ERR_TRANSPORT;
}

/*
 * Status of a request in place of the one that the driver reports. Sets apart a receive that is
 * too short and one whose LMR was freed; of several LMRs it asks for the first. Registrations
 * and invalidations are not sent, and fail for reasons of their own.
 */
static enum ib_wc_status true_status(struct dat_workq *wq, const struct dat_dto *dto,
				     enum ib_wc_status status)
{
	if (likely(status != IB_WC_LOC_QP_OP_ERR))
		return status;
	if (wq->close_fails && !dto->rmr) {
		WRITE_ONCE(wq->closed, true);
		return IB_WC_WR_FLUSH_ERR;
	}
	if (dto->op != DAT_DTO_RECEIVE || !wq->hides_length)
		return status;
	if (dto->length && !dat_lmr_exists(wq->ep->ia, dto->context))
		return IB_WC_LOC_PROT_ERR;
	return IB_WC_LOC_LEN_ERR;
}

/* Status of a registration or invalidation. Devices differ in their failure codes. */
static DAT_DTO_COMPLETION_STATUS to_mm_status(enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS || status == IB_WC_WR_FLUSH_ERR)
		return dto_status[status];
	return DAT_DTO_ERR_LOCAL_MM_ERROR;
}

/*
 * Frees the slots up to that of @dto. The requests before @dto were not signalled. They
 * succeeded, because a failed request always completes. A request with an RMR or LMR is
 * always signalled: before @dto, the device has lost its completion.
 */
static void workq_advance(struct dat_workq *wq, struct dat_dto *dto)
{
	u32 tail = wq->tail, extra = wq->extra_tail;

	for (;;) {
		struct dat_dto *done = &wq->slots[tail++ & wq->mask];

		extra += done->extra;
		if (done == dto)
			break;
		if (done->rmr)
			dto_settle(done, IB_WC_WR_FLUSH_ERR);
	}
	WRITE_ONCE(wq->extra_tail, extra);
	/* After the last look at the slots; pairs with dat_workq_slot(). */
	smp_store_release(&wq->tail, tail);
}

static void make_bind_entry(const struct dat_dto *dto,
			    enum ib_wc_status status,
			    struct dat_evd_entry *entry)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
		&entry->data.rmr_completion_event_data;

	entry->number = DAT_RMR_BIND_COMPLETION_EVENT;
	data->rmr_handle = dat_rmr_handle(dto->rmr);
	data->user_cookie = dto->cookie;
	data->status = to_dto_status(status);
}

/* Does the request register or invalidate memory? */
static bool is_registration(const struct dat_dto *dto)
{
	return dto->op == DAT_DTO_LMR_FMR || dto->op == DAT_DTO_LMR_INVALIDATE;
}

/* What a receive reports beyond its request. */
static __always_inline void make_receive(const struct dat_workq *wq, const struct ib_wc *wc,
					 struct dat_completion *c)
{
	c->transfered_length = wc->byte_len;
	if (unlikely(READ_ONCE(*wq->state) == DAT_EP_STATE_COMPLETION_PENDING))
		wq->ops->heard(wq->ep);
	if (unlikely(wc->wc_flags & IB_WC_WITH_IMM)) {
		c->number = DAT_IB_DTO_EVENT;
		c->operation = wc->opcode == IB_WC_RECV ? DAT_IB_DTO_RECV_MSG_IMMED :
							  DAT_IB_DTO_RECV_IMMED;
		/* The only free field, see dat_evd_extend(). */
		c->rmr_context = (__force u32)wc->ex.imm_data;
	}
	if (unlikely(wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		c->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		c->rmr_context = wc->ex.invalidate_rkey;
		dat_context_revoked(wq->ep->ia, c->rmr_context);
	}
}

static __always_inline void make_completion(const struct dat_workq *wq, const struct dat_dto *dto,
					    const struct ib_wc *wc, struct dat_completion *c)
{
	c->number = dto->op < DAT_IB_DTO_RDMA_WRITE_IMMED ? DAT_DTO_COMPLETION_EVENT :
							    DAT_IB_DTO_EVENT;
	c->operation = dto->op;
	c->transfered_length = dto->length;
	c->rmr_context = 0;
	/* The consumer may change it at any time. */
	c->ep_context.as_64 = READ_ONCE(wq->ep->context.as_64);
	c->user_cookie = dto->cookie;
	if (dto->op == DAT_DTO_RECEIVE && wc->status == IB_WC_SUCCESS)
		make_receive(wq, wc, c);
}

static __always_inline void
make_dto_entry(const struct dat_workq *wq, const struct dat_dto *dto,
	       const struct ib_wc *wc, enum ib_wc_status status,
	       struct dat_evd_entry *entry)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data =
		&entry->data.dto_completion_event_data;
	struct dat_completion c;

	make_completion(wq, dto, wc, &c);
	entry->number = c.number;
	data->ep_handle = wq->ep->handle;
	data->user_cookie = c.user_cookie;
	data->status = likely(!is_registration(dto)) ? to_dto_status(status) :
						       to_mm_status(status);
	data->operation = c.operation;
	data->transfered_length = c.transfered_length;
	data->rmr_context = c.rmr_context;
}

/* A DTO ends with an event, also if the device has lost its completion. */
static void report_lost(struct dat_workq *wq, const struct dat_dto *dto, struct dat_evd *evd)
{
	const struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };
	struct dat_evd_entry entry = {};

	if (dto->drain)
		return;
	if (dto->op == DAT_DTO_BIND_MW)
		make_bind_entry(dto, wc.status, &entry);
	else
		make_dto_entry(wq, dto, &wc, wc.status, &entry);
	dat_evd_post(evd, entry.number, &entry.data);
}

/**
 * dat_workq_reap - report the requests that will never complete, and free their slots
 * @wq: the queue; its QP is destroyed
 * @evd: the EVD of its completions, drained
 *
 * Context: process.
 * Return: the number of completions that the device has lost.
 */
u32 dat_workq_reap(struct dat_workq *wq, struct dat_evd *evd)
{
	u32 tail, lost = 0;

	/* A device may complete more than was posted. */
	for (tail = wq->tail; (s32)(wq->head - tail) > 0; tail++) {
		struct dat_dto *dto = &wq->slots[tail & wq->mask];

		if (dto->done)
			continue;
		report_lost(wq, dto, evd);
		lost++;
	}
	spin_lock_bh(&evd->lock);
	for (tail = wq->tail; (s32)(wq->head - tail) > 0; tail++) {
		struct dat_dto *dto = &wq->slots[tail & wq->mask];

		if (dto->rmr)
			dto_settle(dto, IB_WC_WR_FLUSH_ERR);
	}
	WRITE_ONCE(wq->extra_tail, wq->extra_head);
	/* After the last look at the slots; pairs with dat_workq_slot(). */
	smp_store_release(&wq->tail, wq->head);
	spin_unlock_bh(&evd->lock);
	return lost;
}

/*
 * Drops what a device completes a second time, out of order, or although it has refused the
 * post. The poster raises the head before it releases the lock.
 */
static bool is_outstanding(struct dat_workq *wq, const struct dat_dto *dto)
{
	u32 before = ((dto - wq->slots) - wq->tail) & wq->mask;
	u32 num;

	spin_lock(&wq->lock);
	num = wq->head - wq->tail;
	spin_unlock(&wq->lock);
	return before < num && !dto->done;
}

/* Frees the slot of @dto once all slots in front of it have completed. */
static void workq_advance_unordered(struct dat_workq *wq, struct dat_dto *dto)
{
	u32 head, tail = wq->tail, extra = wq->extra_tail;

	dto->done = true;
	spin_lock(&wq->lock);
	head = wq->head;
	spin_unlock(&wq->lock);
	while (tail != head && wq->slots[tail & wq->mask].done)
		extra += wq->slots[tail++ & wq->mask].extra;
	WRITE_ONCE(wq->extra_tail, extra);
	/* After the last look at the slots; pairs with dat_workq_slot(). */
	smp_store_release(&wq->tail, tail);
}

/* Only the completion names the EP that took the buffer. */
static bool complete_shared(struct dat_dto *dto, const struct ib_wc *wc,
			    struct dat_evd_entry *entry)
{
	enum ib_wc_status status = wc->status;
	struct dat_workq *shared = dto->wq;
	struct dat_workq *wq;

	spin_lock(&shared->lock);
	wq = dat_srq_complete(dto, wc->qp);
	if (!WARN_ON_ONCE(!wq)) {
		status = true_status(wq, dto, status);
		make_dto_entry(wq, dto, wc, status, entry);
	}
	spin_unlock(&shared->lock);
	if (!wq)
		return false;
	entry->unsignalled = false;
	entry->shared = true;
	if (unlikely(status != IB_WC_SUCCESS))
		wq->ops->failed(wq->ep, status);
	wq->ops->took(wq->ep);
	return true;
}

static noinline bool complete_any(struct dat_workq *wq, struct dat_dto *dto,
				  const struct ib_wc *wc,
				  struct dat_evd_entry *entry)
{
	enum ib_wc_status status = wc->status;
	bool has_object = dto->rmr;
	bool wanted;

	if (unlikely(wq->shared))
		return complete_shared(dto, wc, entry);
	if ((wq->unordered || status != IB_WC_SUCCESS ||
	     dto != &wq->slots[wq->tail & wq->mask]) && !is_outstanding(wq, dto))
		return false;
	status = true_status(wq, dto, status);
	if (unlikely(status != IB_WC_SUCCESS))
		wq->ops->failed(wq->ep, status);

	if (unlikely(wc->wr_id & DAT_DTO_WR_FIRST)) {
		/* If the first of two fails, the second is flushed. */
		if (dto->first_status == IB_WC_SUCCESS)
			dto->first_status = status;
		return false;
	}
	if (unlikely(dto->first_status != IB_WC_SUCCESS))
		status = dto->first_status;

	wanted = !dto->drain && !(dto->suppress && status == IB_WC_SUCCESS);
	if (likely(wanted)) {
		if (unlikely(has_object) && dto->op == DAT_DTO_BIND_MW)
			make_bind_entry(dto, status, entry);
		else
			make_dto_entry(wq, dto, wc, status, entry);
		entry->unsignalled = dto->unsignalled && status == IB_WC_SUCCESS;
		entry->shared = false;
	}
	if (unlikely(has_object))
		dto_settle(dto, status);
	if (unlikely(wq->unordered))
		workq_advance_unordered(wq, dto);
	else
		workq_advance(wq, dto);
	if (unlikely(READ_ONCE(wq->waited)) && dat_workq_is_idle(wq))
		wq->ops->drained(wq->ep);
	return wanted;
}

/* The first request of an EP's queue has succeeded, and only an event is to be built. */
static bool is_plain(const struct dat_workq *wq, const struct dat_dto *dto,
		     const struct ib_wc *wc)
{
	return !wq->unordered && !READ_ONCE(wq->waited) &&
	       dto == &wq->slots[wq->tail & wq->mask] &&
	       wc->status == IB_WC_SUCCESS &&
	       !(wc->wr_id & DAT_DTO_WR_FIRST) &&
	       dto->first_status == IB_WC_SUCCESS && !dto->rmr &&
	       !dto->suppress && !dto->drain;
}

/**
 * dat_dto_complete - process a completion
 * @wc: the completion
 * @entry: out: the event of the completion
 *
 * Context: any; the lock of the EVD is held, which keeps completions in order.
 * Return: false if the completion has no event.
 */
bool dat_dto_complete(const struct ib_wc *wc, struct dat_evd_entry *entry)
{
	struct dat_dto *dto =
		(void *)(uintptr_t)(wc->wr_id & ~(u64)DAT_DTO_WR_FIRST);
	struct dat_workq *wq = dto->wq;

	if (unlikely(!is_plain(wq, dto, wc)))
		return complete_any(wq, dto, wc, entry);
	make_dto_entry(wq, dto, wc, IB_WC_SUCCESS, entry);
	entry->unsignalled = dto->unsignalled;
	entry->shared = false;
	/* After the last look at the slot; pairs with dat_workq_slot(). */
	smp_store_release(&wq->tail, wq->tail + 1);
	return true;
}

/**
 * dat_dto_complete_plain - process a completion, if it is of the most common kind
 * @wc: the completion
 * @completion: out: what it reports
 *
 * Context: as dat_dto_complete().
 * Return: true; false, without an effect, if dat_dto_complete() must process it: a failed
 * request, one that is not the first of its queue, one without a notification or an event,
 * a bind.
 */
bool dat_dto_complete_plain(const struct ib_wc *wc, struct dat_completion *completion)
{
	struct dat_dto *dto =
		(void *)(uintptr_t)(wc->wr_id & ~(u64)DAT_DTO_WR_FIRST);
	struct dat_workq *wq = dto->wq;

	if (unlikely(!is_plain(wq, dto, wc) || dto->unsignalled))
		return false;
	make_completion(wq, dto, wc, completion);
	/* After the last look at the slot; pairs with dat_workq_slot(). */
	smp_store_release(&wq->tail, wq->tail + 1);
	return true;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_post.c - the buffers of a shared receive queue, from post to completion
 *
 * Buffers complete in any order, on all EVDs of the EPs. Consumers post in process or
 * softirq context. dat_dto_complete() reports completions under the lock of the EVD. The
 * lock of the SRQ guards the slots.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "mem/iov.h"
#include "mem/post_wr.h"
#include "queue/evd.h"
#include "queue/srq.h"

/**
 * dat_srq_add_slots - allocate slots
 * @srq: the SRQ
 * @num: number of slots, at least 1
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int dat_srq_add_slots(struct dat_srq *srq, u32 num)
{
	struct dat_srq_chunk *chunk;
	u32 i;

	chunk = kvzalloc(struct_size(chunk, slots, num),
			 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!chunk)
		return -ENOMEM;
	for (i = 0; i < num; i++) {
		chunk->slots[i].dto.wq = &srq->wq;
		chunk->slots[i].dto.op = DAT_DTO_RECEIVE;
	}

	spin_lock_bh(&srq->wq.lock);
	chunk->next = srq->chunks;
	srq->chunks = chunk;
	/* dat_srq_arm_limit() reads it without the lock. */
	WRITE_ONCE(srq->num_slots, srq->num_slots + num);
	for (i = 0; i < num; i++)
		list_add_tail(&chunk->slots[i].node, &srq->free);
	spin_unlock_bh(&srq->wq.lock);
	return 0;
}

/**
 * dat_srq_free_slots - free all slots
 * @srq: the SRQ, which no other task refers to any more
 *
 * Context: any.
 */
void dat_srq_free_slots(struct dat_srq *srq)
{
	struct dat_srq_chunk *chunk, *next;

	for (chunk = srq->chunks; chunk; chunk = next) {
		next = chunk->next;
		kvfree(chunk);
	}
}

/**
 * dat_srq_complete - free the slot of a completed buffer
 * @dto: in the slot; remains valid while the lock of the SRQ is held
 * @qp: the QP that took it
 *
 * Context: any; the locks of the SRQ and of the EVD are held.
 * Return: the receive queue of the EP that took it, or NULL.
 */
struct dat_workq *dat_srq_complete(struct dat_dto *dto, struct ib_qp *qp)
{
	struct dat_srq *srq = container_of(dto->wq, struct dat_srq, wq);
	struct dat_srq_slot *slot = container_of(dto, struct dat_srq_slot, dto);
	struct dat_srq_ep *at;

	lockdep_assert_held(&srq->wq.lock);
	/* Reuse the slot first: it is still in the CPU cache. */
	list_move(&slot->node, &srq->free);
	srq->num_posted--;
	/* The device may have reported this, or may be unable to. */
	if (unlikely(srq->num_posted < READ_ONCE(srq->low_watermark)))
		dat_srq_raise(srq, DAT_SRQ_LW_REACHED);
	at = dat_srq_find_ep(srq, qp);
	if (srq->forgetful && at)
		dat_srq_note_completion(srq, at, slot->number);
	return at ? at->wq : NULL;
}

static DAT_RETURN post_recv(struct dat_srq *srq, struct ib_recv_wr *wr,
			    DAT_DTO_COOKIE user_cookie, u32 length)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct dat_srq_slot *slot;

	spin_lock_bh(&srq->wq.lock);
	if (unlikely(!srq->srq)) {
		ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
		goto unlock;
	}
	if (unlikely(srq->num_posted + srq->num_ringed >= srq->max)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
		goto unlock;
	}
	slot = list_first_entry(&srq->free, struct dat_srq_slot, node);
	slot->dto.cookie = user_cookie;
	slot->dto.length = length;
	slot->dto.context = wr->num_sge ? wr->sg_list->lkey : 0;
	wr->wr_id = dat_dto_wr_id(&slot->dto);
	if (unlikely(dat_wr_post_srq_recv(srq->srq, wr))) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
		goto unlock;
	}
	list_move_tail(&slot->node, &srq->posted);
	slot->number = srq->next_number++;
	srq->num_posted++;
unlock:
	spin_unlock_bh(&srq->wq.lock);
	return ret;
}

static noinline DAT_RETURN post_copied(struct dat_srq *srq,
				       struct ib_recv_wr *wr,
				       DAT_DTO_COOKIE user_cookie, u32 length)
{
	struct ib_sge *iov;
	DAT_RETURN ret;

	iov = dat_iov_copy(srq->all_memory_lkey, wr->sg_list, &wr->num_sge);
	if (!iov)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	wr->sg_list = iov;
	ret = post_recv(srq, wr, user_cookie, length);
	kfree(iov);
	return ret;
}

/**
 * kdapl_srq_post_recv - post a buffer for a message to any EP of an SRQ
 * @srq_handle: the SRQ, in any state
 * @num_segments: segments in @local_iov, at most max_recv_iov
 * @local_iov: the buffer; the caller may reuse the array when the call returns
 * @user_cookie: reported in the completion event, on the receive EVD of the EP that
 *	takes the buffer
 *
 * Specification: dat_srq_post_recv().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: a
 * segment is outside its LMR), DAT_PROTECTION_VIOLATION (a context is of no LMR
 * of the IA, or its LMR not of the SRQ's PZ), DAT_PRIVILEGES_VIOLATION,
 * DAT_INSUFFICIENT_RESOURCES (queue full, with completions not dequeued),
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_srq_post_recv(DAT_SRQ_HANDLE srq_handle,
			       DAT_COUNT num_segments,
			       DAT_LMR_TRIPLET *local_iov,
			       DAT_DTO_COOKIE user_cookie)
{
	const struct dat_iov iov = {
		.num = num_segments,
		.segments = local_iov,
		.privilege = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	};
	struct ib_recv_wr wr = {
		.sg_list = (struct ib_sge *)local_iov,
		.num_sge = num_segments,
	};
	struct dat_object *obj;
	u32 length = 0;
	DAT_RETURN ret;

	rcu_read_lock();
	obj = dat_object_lookup(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (likely(obj))
		ret = dat_iov_check(obj->ia, to_srq(obj)->pz, &iov,
				    to_srq(obj)->max_iov, U32_MAX, &length);
	else
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (!ret)
		ret = post_recv(to_srq(obj), &wr, user_cookie, length);
	else if (dat_iov_needs_copy(ret))
		ret = post_copied(to_srq(obj), &wr, user_cookie, length);
	rcu_read_unlock();
	return ret;
}

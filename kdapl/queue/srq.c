// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq.c - creates, queries and frees shared receive queues
 *
 * An SRQ owns a device SRQ, the slots of its buffers and a low watermark. Consumers call
 * the kdapl_*() functions in process context. Device events arrive in any context; a work
 * item reports them on the asynchronous EVD of the IA.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "base/compat.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/pz.h"
#include "queue/evd.h"
#include "queue/srq.h"

/**
 * dat_srq_max_dtos - the number of buffers that an SRQ can hold
 * @ibdev: the device
 *
 * All buffers may complete on one EVD, so the size of a CQ limits their number.
 *
 * Context: any.
 * Return: the limit; 0 if the device has no SRQs.
 */
u32 dat_srq_max_dtos(const struct ib_device *ibdev)
{
	const struct ib_device_attr *attr = &ibdev->attrs;

	if (dat_dev_quirks(ibdev) & DAT_QUIRK_NO_SRQ ||
	    !ibdev->ops.create_srq || !dat_limit(attr->max_srq) ||
	    !dat_limit(attr->max_srq_sge))
		return 0;
	return min3((u32)dat_limit(attr->max_srq_wr), dat_dev_max_cqe(ibdev),
		    (u32)DAT_MAX_EVD_QLEN);
}

/**
 * dat_srq_raise - queue the work item that handles a condition of an SRQ
 * @srq: the SRQ
 * @flag: DAT_SRQ_LW_REACHED, DAT_SRQ_FAILED or DAT_SRQ_MISSING
 *
 * Context: any, also with interrupts off.
 */
void dat_srq_raise(struct dat_srq *srq, enum dat_srq_flag flag)
{
	if (flag == DAT_SRQ_LW_REACHED &&
	    !test_and_clear_bit(DAT_SRQ_LW_ARMED, &srq->flags))
		return;
	set_bit(flag, &srq->flags);
	kref_get(&srq->obj.ref);
	if (!queue_work(dat_wq(&srq->obj), &srq->event_work))
		dat_object_put(&srq->obj);
}

static void srq_event_work(struct work_struct *work)
{
	struct dat_srq *srq = container_of(work, struct dat_srq, event_work);

	if (test_and_clear_bit(DAT_SRQ_LW_REACHED, &srq->flags))
		dat_ia_async_event(srq->obj.ia, DAT_SRQ_EVENT, srq->obj.handle,
				   DAT_SRQ_LOW_WATERMARK_EVENT);
	if (test_and_clear_bit(DAT_SRQ_MISSING, &srq->flags))
		dat_srq_reclaim(srq);
	if (test_and_clear_bit(DAT_SRQ_FAILED, &srq->flags))
		dat_ia_async_event(srq->obj.ia, DAT_SRQ_EVENT, srq->obj.handle,
				   DAT_SRQ_TRANSFER_TO_ERROR);
	dat_object_put(&srq->obj);
}

static void srq_event(struct ib_event *event, void *context)
{
	struct dat_srq *srq = context;

	switch (event->event) {
	case IB_EVENT_SRQ_LIMIT_REACHED:
		if (srq->forgetful)
			dat_srq_limit_reached(srq);
		else
			dat_srq_raise(srq, DAT_SRQ_LW_REACHED);
		break;
	case IB_EVENT_SRQ_ERR:
		WRITE_ONCE(srq->state, DAT_SRQ_STATE_ERROR);
		dat_srq_raise(srq, DAT_SRQ_FAILED);
		break;
	default:
		break;
	}
}

/* The EPs of the SRQ are down, so no EP takes a buffer any more. */
static void srq_shutdown(struct dat_object *obj)
{
	struct dat_srq *srq = to_srq(obj);
	struct ib_srq *ibsrq = NULL;

	spin_lock_bh(&srq->wq.lock);
	swap(ibsrq, srq->srq);
	/* The buffers belong to the consumer again; take_lost() must not find them. */
	INIT_LIST_HEAD(&srq->posted);
	srq->num_posted = 0;
	spin_unlock_bh(&srq->wq.lock);
	if (ibsrq)
		ib_destroy_srq(ibsrq);
	dat_object_use_put(&srq->pz->obj);
}

static void srq_release(struct dat_object *obj)
{
	struct dat_srq *srq = to_srq(obj);

	dat_srq_free_slots(srq);
	if (srq->lost_evd)
		dat_object_put(&srq->lost_evd->obj);
	dat_object_put(&srq->pz->obj);
	kfree(srq);
}

static const char *srq_state(struct dat_object *obj)
{
	return READ_ONCE(to_srq(obj)->state) == DAT_SRQ_STATE_ERROR ?
		       "ERROR" : "OPERATIONAL";
}

static const struct dat_object_ops srq_ops = {
	.shutdown = srq_shutdown,
	.release = srq_release,
	.state = srq_state,
};

static DAT_RETURN check_attr(struct dat_ia *ia, const DAT_SRQ_ATTR *attr)
{
	const struct ib_device *ibdev = dat_ia_ibdev(ia);
	u32 max_dtos = dat_srq_max_dtos(ibdev);

	if (!max_dtos)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (attr->max_recv_dtos < 1 || attr->max_recv_dtos > max_dtos ||
	    attr->max_recv_iov < 1 ||
	    attr->max_recv_iov > dat_limit(ibdev->attrs.max_srq_sge) ||
	    attr->low_watermark < 0 ||
	    attr->low_watermark > attr->max_recv_dtos)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

static DAT_RETURN srq_get_pz(struct dat_srq *srq, struct dat_ia *ia,
			     DAT_PZ_HANDLE handle)
{
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_PZ);

	if (obj && obj->ia == ia && dat_object_use_get(obj)) {
		srq->pz = to_pz(obj);
		return DAT_SUCCESS;
	}
	if (obj)
		dat_object_put(obj);
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
}

static DAT_RETURN srq_make(struct dat_srq *srq)
{
	struct ib_srq_init_attr init = {
		.event_handler = srq_event,
		.srq_context = srq,
		.attr = {
			.max_wr = srq->max,
			.max_sge = srq->max_iov,
		},
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *ibsrq;

	if (!dat_object_charge(&srq->obj,
			       sizeof(*srq) + DAT_BYTES_SRQ + DAT_BYTES_HANDLE +
			       dat_srq_bytes(srq, srq->max)) ||
	    dat_srq_add_slots(srq, srq->max))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	if (!dat_object_charge_hca(&srq->obj, DAT_HCA_OBJECT, 1))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	ibsrq = ib_create_srq(srq->pz->pd, &init);
	if (IS_ERR(ibsrq))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	srq->srq = ibsrq;
	srq->all_memory_lkey = ibsrq->pd->local_dma_lkey;
	srq->forgetful = dat_dev_quirks(ibsrq->device) & DAT_QUIRK_SRQ_FORGETS;
	if (srq->forgetful)
		dat_srq_arm_limit(srq);
	return DAT_SUCCESS;
}

/*
 * Arms the SRQ for the low watermark. A device reports only that an EP takes a buffer
 * below the watermark. kdapl must check whether the SRQ is already below it. For a
 * device that does not report it, dat_srq_complete() checks.
 */
static void arm_lw(struct dat_srq *srq, u32 low_watermark)
{
	struct ib_srq_attr attr = { .srq_limit = low_watermark };
	bool is_below;

	lockdep_assert_held(&srq->mutex);
	WRITE_ONCE(srq->low_watermark, low_watermark);
	if (low_watermark)
		set_bit(DAT_SRQ_LW_ARMED, &srq->flags);
	else
		clear_bit(DAT_SRQ_LW_ARMED, &srq->flags);
	if (!srq->forgetful)
		ib_modify_srq(srq->srq, &attr, IB_SRQ_LIMIT);
	dat_srq_collect(srq);
	spin_lock_bh(&srq->wq.lock);
	is_below = srq->num_posted < low_watermark;
	spin_unlock_bh(&srq->wq.lock);
	if (is_below)
		dat_srq_raise(srq, DAT_SRQ_LW_REACHED);
}

static struct dat_srq *srq_alloc(const DAT_SRQ_ATTR *attr)
{
	struct dat_srq *srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);

	if (!srq)
		return NULL;
	spin_lock_init(&srq->wq.lock);
	srq->wq.unordered = true;
	srq->wq.shared = true;
	INIT_LIST_HEAD(&srq->free);
	INIT_LIST_HEAD(&srq->posted);
	mutex_init(&srq->mutex);
	INIT_LIST_HEAD(&srq->feeds);
	INIT_WORK(&srq->event_work, srq_event_work);
	srq->state = DAT_SRQ_STATE_OPERATIONAL;
	srq->max = attr->max_recv_dtos;
	srq->max_iov = attr->max_recv_iov;
	return srq;
}

/**
 * kdapl_srq_create - create a shared receive queue
 * @ia_handle: the IA
 * @pz_handle: PZ of the SRQ; buffers must be in LMRs of this PZ
 * @srq_attr: max_recv_dtos: buffers that the SRQ can hold, at least 1;
 *	max_recv_iov: segments of one buffer, at least 1; low_watermark:
 *	DAT_SRQ_LW_DEFAULT, or a value as for dat_srq_set_lw()
 * @srq_handle: out: the handle
 *
 * Specification: dat_srq_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED (the device has no SRQs),
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_srq_create(DAT_IA_HANDLE ia_handle,
			    DAT_PZ_HANDLE pz_handle,
			    DAT_SRQ_ATTR *srq_attr,
			    DAT_SRQ_HANDLE *srq_handle)
{
	struct dat_object *ia_obj;
	struct dat_srq *srq;
	DAT_RETURN ret;

	might_sleep();
	if (!srq_attr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!srq_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;

	ret = check_attr(to_ia(ia_obj), srq_attr);
	if (ret)
		goto leave;
	srq = srq_alloc(srq_attr);
	if (!srq) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto leave;
	}
	ret = srq_get_pz(srq, to_ia(ia_obj), pz_handle);
	if (ret) {
		kfree(srq);
		goto leave;
	}

	/* From here dat_object_shutdown() and dat_object_put() destroy the SRQ. */
	dat_object_init(&srq->obj, DAT_HANDLE_TYPE_SRQ, ia_obj->owner,
			&srq_ops);
	ret = srq_make(srq);
	/* The use keeps a consumer that guesses the handle from freeing the SRQ. */
	dat_object_use_get(&srq->obj);
	if (!ret)
		ret = dat_object_publish(&srq->obj);
	if (ret) {
		dat_object_shutdown(&srq->obj);
		dat_object_put(&srq->obj);
		goto leave;
	}
	*srq_handle = srq->obj.handle;
	mutex_lock(&srq->mutex);
	if (srq_attr->low_watermark)
		arm_lw(srq, srq_attr->low_watermark);
	mutex_unlock(&srq->mutex);
	dat_object_use_put(&srq->obj);
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

/**
 * kdapl_srq_query - query the parameters of an SRQ
 * @srq_handle: the SRQ
 * @srq_param_mask: DAT_SRQ_FIELD_*; kdapl fills in all fields
 * @srq_param: out: the parameters. available_dto_count is the number of buffers
 *	that EPs can take. outstanding_dto_count is the number of buffers whose
 *	completion has not been dequeued. A buffer that a message is just arriving
 *	into counts as available.
 *
 * Specification: dat_srq_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_srq_query(DAT_SRQ_HANDLE srq_handle,
			   DAT_SRQ_PARAM_MASK srq_param_mask,
			   DAT_SRQ_PARAM *srq_param)
{
	struct dat_object *obj;
	struct dat_srq *srq;
	DAT_RETURN ret;

	might_sleep();
	if (srq_param_mask & ~DAT_SRQ_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!srq_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(srq_handle, DAT_HANDLE_TYPE_SRQ,
				  DAT_INVALID_HANDLE_SRQ, &ret);
	if (!obj)
		return ret;
	srq = to_srq(obj);

	mutex_lock(&srq->mutex);
	dat_srq_collect(srq);
	spin_lock_bh(&srq->wq.lock);
	*srq_param = (DAT_SRQ_PARAM){
		.ia_handle = obj->ia->obj.handle,
		.srq_state = READ_ONCE(srq->state),
		.pz_handle = srq->pz->obj.handle,
		.max_recv_dtos = srq->max,
		.max_recv_iov = srq->max_iov,
		.low_watermark = srq->low_watermark,
		.available_dto_count = srq->num_posted,
		.outstanding_dto_count = srq->num_posted + srq->num_ringed,
	};
	spin_unlock_bh(&srq->wq.lock);
	mutex_unlock(&srq->mutex);
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_srq_set_lw - set the low watermark of an SRQ
 * @srq_handle: the SRQ
 * @low_watermark: from 0 to max_recv_dtos. kdapl reports an event once, when the SRQ
 *	has fewer buffers than this; at once if it already has.
 *	DAT_SRQ_LW_DEFAULT (0) requests no event.
 *
 * The event is DAT_ASYNC_ERROR_EP_BROKEN on the asynchronous EVD, with the
 * handle of the SRQ and the reason DAT_SRQ_LOW_WATERMARK_EVENT. Specification:
 * dat_srq_set_lw().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (more than
 * max_recv_dtos), DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_srq_set_lw(DAT_SRQ_HANDLE srq_handle,
			    DAT_COUNT low_watermark)
{
	struct dat_object *obj;
	struct dat_srq *srq;
	DAT_RETURN ret;

	might_sleep();
	obj = dat_object_get_live(srq_handle, DAT_HANDLE_TYPE_SRQ,
				  DAT_INVALID_HANDLE_SRQ, &ret);
	if (!obj)
		return ret;
	srq = to_srq(obj);
	mutex_lock(&srq->mutex);
	if (low_watermark < 0 || low_watermark > srq->max)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else
		arm_lw(srq, low_watermark);
	mutex_unlock(&srq->mutex);
	dat_object_put_live(obj);
	return ret;
}

/**
 * kdapl_srq_free - free an SRQ
 * @srq_handle: the SRQ
 *
 * Buffers in the SRQ belong to the consumer again, without an event.
 * Specification: dat_srq_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE (an EP uses it).
 */
DAT_RETURN kdapl_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	might_sleep();
	return dat_object_free(srq_handle, DAT_HANDLE_TYPE_SRQ,
			       DAT_INVALID_HANDLE_SRQ,
			       DAT_INVALID_STATE_SRQ_IN_USE);
}

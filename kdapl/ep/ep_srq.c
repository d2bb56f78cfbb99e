// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_srq.c - EPs that receive from an SRQ: creation, and the flush of their QPs
 *
 * Consumers create the EPs in process context. Before ep_qp.c destroys a QP it waits
 * until the QP has completed all buffers that it took from the SRQ.
 */
#include <linux/kernel.h>

#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "mem/pz.h"
#include "queue/srq.h"

/*
 * Time in milliseconds that a QP in the error state may need to complete the buffers that
 * it has taken. For devices that do not report the last one.
 */
#define QUIET_MS	5

/**
 * dat_ep_srq_suits - can EPs of this PZ receive from an SRQ?
 * @srq: the SRQ
 * @pz: the PZ
 *
 * Context: any.
 * Return: false if the device requires both to be of the same PZ.
 */
bool dat_ep_srq_suits(const struct dat_srq *srq, const struct dat_pz *pz)
{
	return srq->pz == pz ||
	       !(dat_dev_quirks(pz->pd->device) & DAT_QUIRK_SRQ_SAME_PZ);
}

/**
 * dat_ep_srq_join - look up the SRQ of a new EP, and use it
 * @ia: the IA
 * @p: PZ and attributes of the EP; out: @p->srq, used and referenced; not set if the
 *	call fails
 * @handle: the consumer's handle
 *
 * Context: any.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (the device
 * requires the SRQ to be of the EP's PZ).
 */
DAT_RETURN dat_ep_srq_join(struct dat_ia *ia, struct dat_ep_parts *p,
			   DAT_SRQ_HANDLE handle)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_SRQ);

	if (!obj)
		return ret;
	if (obj->ia != ia || !dat_object_use_get(obj))
		goto put;
	if (!dat_ep_srq_suits(to_srq(obj), p->pz)) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		goto unuse;
	}
	p->srq = to_srq(obj);
	p->attr.max_recv_iov = p->srq->max_iov;
	return DAT_SUCCESS;

unuse:
	dat_object_use_put(obj);
put:
	dat_object_put(obj);
	return ret;
}

/**
 * dat_ep_srq_is_quiet - has a QP completed all buffers that it has taken?
 * @ep: the EP; its QP is in the error state
 * @waited_ms: time since the QP entered the error state, in milliseconds
 *
 * Context: any.
 * Return: true if no more buffers will complete.
 */
bool dat_ep_srq_is_quiet(const struct dat_ep *ep, unsigned int waited_ms)
{
	if (!ep->srq || !READ_ONCE(ep->srq_ep.may_receive) ||
	    READ_ONCE(ep->srq_ep.last_wqe))
		return true;
	return dat_dev_quirks(ep->srq->pz->pd->device) &
	       DAT_QUIRK_NO_LAST_WQE && waited_ms >= QUIET_MS;
}

/**
 * kdapl_ep_create_with_srq - create an endpoint that receives from an SRQ
 * @ia_handle: the IA
 * @pz_handle: PZ of the EP; on rxe that of the SRQ, on other devices any
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for completions of all other requests, or
 *	DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @srq_handle: the SRQ
 * @ep_attributes: requested attributes, see dat_ep_attr_check(), not NULL;
 *	max_recv_iov has no effect. srq_soft_hw is the soft high watermark, 0 and
 *	DAT_HW_DEFAULT for none.
 * @ep_handle: out: the handle; the EP is UNCONNECTED
 *
 * Specification: dat_ep_create_with_srq().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: the PZ
 * is not that of the SRQ, and the device does not support this),
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the
 * device is removed).
 */
DAT_RETURN kdapl_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				    DAT_PZ_HANDLE pz_handle,
				    DAT_EVD_HANDLE recv_evd_handle,
				    DAT_EVD_HANDLE request_evd_handle,
				    DAT_EVD_HANDLE connect_evd_handle,
				    DAT_SRQ_HANDLE srq_handle,
				    const DAT_EP_ATTR *ep_attributes,
				    DAT_EP_HANDLE *ep_handle)
{
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	might_sleep();
	if (!ep_attributes)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (!ep_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	attr = *ep_attributes;
	/* max_recv_iov of the receives is a property of the SRQ. */
	attr.max_recv_iov = 0;
	if (!attr.srq_soft_hw)
		attr.srq_soft_hw = DAT_HW_DEFAULT;
	if (!dat_watermark_is_valid(attr.srq_soft_hw))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	ret = dat_ep_make(ia_handle, pz_handle, recv_evd_handle,
			  request_evd_handle, connect_evd_handle, &srq_handle,
			  &attr, ep_handle);
	/* The attributes are argument 6 of dat_ep_create(), and argument 7 here. */
	if (ret == DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6))
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cr_handoff.c - hands a connection request off to another service point
 *
 * The service point may belong to another IA on the same port. The request gets a new CR
 * there. Consumers call kdapl_cr_handoff() in process context.
 */
#include <linux/kernel.h>

#include "base/calls.h"
#include "cm/cm.h"
#include "dev/ia.h"
#include "queue/evd.h"

/* Moves the id, so that rdma_cm reports later events to the new CR. */
static void move_id(struct dat_cr *from, struct dat_cr *to)
{
	struct rdma_cm_id *id = from->id;

	rdma_lock_handler(id);
	to->id = id;
	from->id = NULL;
	id->context = &to->obj;
	rdma_unlock_handler(id);
}

static DAT_RETURN evd_full(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
}

/* Reports the request again, for @sp. The IA of @sp is held by a live reference. */
static DAT_RETURN hand_to(struct dat_cr *cr, struct dat_sp *sp)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				   DAT_RESOURCE_MEMORY);
	struct dat_cr *new;

	if (dat_evd_is_full(sp->evd))
		return evd_full();
	new = dat_cr_new(sp->obj.ia, cr->data, cr->data_len);
	if (!new)
		return ret;
	new->responder_resources = cr->responder_resources;
	new->initiator_depth = cr->initiator_depth;
	new->remote_addr = cr->remote_addr;
	if (dat_object_publish(&new->obj)) {
		dat_object_put(&new->obj);
		return ret;
	}
	move_id(cr, new);
	if (dat_cr_report(new, sp))
		return DAT_SUCCESS;

	move_id(new, cr);
	if (dat_object_claim(&new->obj))
		dat_object_retire(&new->obj);
	return evd_full();
}

/* The use of the EVD keeps the EVD even if the service point is freed meanwhile. */
static DAT_RETURN try_hand_to(struct dat_cr *cr, struct dat_sp *sp)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	bool is_other = sp->obj.ia != cr->obj.ia;

	/* Do not wait: two hand-offs in opposite directions would deadlock. */
	if (is_other && !dat_ia_tryget_live(sp->obj.ia))
		return ret;
	if (dat_object_use_get(&sp->evd->obj)) {
		if (atomic_read(&sp->obj.users) >= 0)
			ret = hand_to(cr, sp);
		dat_object_use_put(&sp->evd->obj);
	}
	if (is_other)
		dat_ia_put_live(sp->obj.ia);
	return ret;
}

/**
 * kdapl_cr_handoff - hand a connection request off to another service point
 * @cr_handle: the CR; destroyed if the call succeeds
 * @handoff: connection qualifier, 1 to 65535, of a PSP, RSP or CSP on the same port of
 *	the same device and in the same network namespace; its consumer may be another
 *
 * The request arrives there as if the peer had named that qualifier. The EP of the CR is
 * released or freed as by dat_cr_reject().
 * Specification: dat_cr_handoff().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (no service point
 * listens there), DAT_INSUFFICIENT_RESOURCES (the EVD there is full),
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_cr_handoff(DAT_CR_HANDLE cr_handle,
			    DAT_CONN_QUAL handoff)
{
	struct dat_object *obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	might_sleep();
	if (!handoff || handoff > U16_MAX)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	obj = dat_object_get_live(cr_handle, DAT_HANDLE_TYPE_CR,
				  DAT_INVALID_HANDLE_CR, &ret);
	if (!obj)
		return ret;
	if (!dat_object_claim(obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
		goto leave;
	}
	ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	sp = dat_sp_find(obj->ia, handoff);
	if (sp) {
		ret = try_hand_to(to_cr(obj), sp);
		dat_object_put(&sp->obj);
	}
	if (ret)
		atomic_set(&obj->users, 0);
	else
		dat_cr_end(to_cr(obj));
leave:
	dat_object_put_live(obj);
	return ret;
}

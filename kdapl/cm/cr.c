// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cr.c - queries, accepts, rejects and hands off connection requests
 *
 * The caller that claims a CR answers it. Accepting moves the id from the CR to the EP.
 * A hand-off moves the id to a new CR of another service point, which may belong to
 * another IA on the same port. Consumers call these functions in process context; a
 * query also works in softirq.
 */
#include <linux/kernel.h>
#include <rdma/ib_cm.h>

#include "base/calls.h"
#include "cm/cm.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "queue/evd.h"

/**
 * dat_cr_end - free a CR that was answered or could not be reported
 * @cr: the CR, claimed
 *
 * If the CR has an EP and was not accepted: an EP of the consumer is released, an EP of
 * dat_ep_provide() is destroyed.
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 */
void dat_cr_end(struct dat_cr *cr)
{
	struct dat_ep *ep = cr->ep;
	bool ep_is_ours = cr->ep_is_ours;

	/* Freeing the CR may put the last reference to its EP, so take another. */
	if (ep)
		kref_get(&ep->obj.ref);
	dat_object_retire(&cr->obj);
	if (ep) {
		dat_ep_unreserve(ep, ep_is_ours);
		dat_object_put(&ep->obj);
	}
}

/**
 * dat_cr_refuse - reject a connection request, and free it
 * @cr: the CR
 * @size: bytes of @data
 * @data: private data for the peer
 * @reason: why, IB_CM_REJ_*
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 * Return: false if another caller has claimed the CR.
 */
bool dat_cr_refuse(struct dat_cr *cr, u8 size, const void *data, u8 reason)
{
	if (!dat_object_claim(&cr->obj))
		return false;
	if (cr->id)
		rdma_reject(cr->id, data, size, reason);
	dat_cr_end(cr);
	return true;
}

/**
 * kdapl_cr_query - query the parameters of a connection request
 * @cr_handle: the CR
 * @cr_param_mask: DAT_CR_FIELD_*; kdapl fills in all fields
 * @cr_param: out: the parameters; the pointers are valid until the CR is accepted,
 *	rejected or handed off
 *
 * Zeroes may follow the private data of the peer, because transports do not carry the
 * length. local_ep_handle is the EP of the RSP, or the EP that a PSP with
 * DAT_PSP_PROVIDER_FLAG has created. Specification: dat_cr_query().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_cr_query(DAT_CR_HANDLE cr_handle,
			  DAT_CR_PARAM_MASK cr_param_mask,
			  DAT_CR_PARAM *cr_param)
{
	struct dat_object *obj;
	struct dat_cr *cr;

	if (cr_param_mask & ~DAT_CR_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!cr_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get(cr_handle, DAT_HANDLE_TYPE_CR);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	cr = to_cr(obj);
	*cr_param = (struct dat_cr_param){
		.remote_ia_address_ptr = (DAT_SOCK_ADDR *)&cr->remote_addr,
		.remote_port_qual = dat_addr_port(&cr->remote_addr),
		.private_data_size = cr->data_len,
		.private_data = cr->data,
		.local_ep_handle = cr->ep ? cr->ep->obj.handle : DAT_HANDLE_NULL,
	};
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/*
 * Moves the id to the EP and accepts. The handler lock is held: earlier events
 * are handled for the CR, later events for the EP.
 */
static int cr_accept_locked(struct dat_cr *cr, struct dat_ep *ep,
			    const void *data, u8 data_size)
{
	struct rdma_cm_id *id = cr->id;
	int ret;

	memcpy(ep->out_data, data, data_size);
	ep->passive = true;
	ep->conn = (struct rdma_conn_param){
		.private_data = ep->out_data,
		.private_data_len = data_size,
		.responder_resources = min_t(u32, ep->attr.max_rdma_read_in,
					     cr->responder_resources),
		.initiator_depth = min_t(u32, ep->attr.max_rdma_read_out,
					 cr->initiator_depth),
		.flow_control = 1,
		.rnr_retry_count = 7,
		.srq = !!ep->srq,
		.qp_num = ep->qp->qp_num,
	};
	id->context = &ep->obj;
	ret = dat_ep_qp_connect(ep, id);
	/* If rdma_accept() fails it rejects by itself. */
	if (ret)
		rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
	else
		ret = rdma_accept(id, &ep->conn);
	if (!ret)
		dat_ep_owe_linger(ep);
	return ret;
}

/* If the call succeeds it has returned the uses of the EP by the caller and by the CR. */
static DAT_RETURN cr_accept(struct dat_cr *cr, struct dat_ep *ep,
			    const void *data, u8 data_size)
{
	unsigned int from = EP_IN(UNCONNECTED);
	int ret;

	if (cr->ep)
		from = EP_IN(PASSIVE_CONNECTION_PENDING) |
		       EP_IN(TENTATIVE_CONNECTION_PENDING);
	mutex_lock(&ep->mutex);
	if (!dat_ep_move(ep, from, DAT_EP_STATE_COMPLETION_PENDING)) {
		mutex_unlock(&ep->mutex);
		return dat_ep_state_error(dat_ep_state(ep));
	}
	WRITE_ONCE(ep->cm_id, cr->id);
	rdma_lock_handler(cr->id);
	ret = cr_accept_locked(cr, ep, data, data_size);
	/*
	 * An upcall may free the EP as soon as the handler reports an event. The free waits
	 * for the mutex.
	 */
	dat_object_use_put(&ep->obj);
	if (cr->ep)
		dat_object_use_put(&ep->obj);
	rdma_unlock_handler(cr->id);
	cr->id = NULL;
	/* A peer that has disappeared is not an error of the call: post an event. */
	if (ret)
		dat_ep_disconnected(ep, EP_IN(COMPLETION_PENDING),
				    DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	mutex_unlock(&ep->mutex);
	return DAT_SUCCESS;
}

/* Looks up the EP to accept with, used and referenced; @cr is claimed. */
static DAT_RETURN lookup_ep(struct dat_cr *cr, DAT_EP_HANDLE handle,
			    struct dat_object **objp)
{
	struct dat_object *obj;

	if (cr->ep) {
		if (handle && handle != cr->ep->obj.handle)
			return DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG2);
		handle = cr->ep->obj.handle;
	}
	obj = dat_object_get(handle, DAT_HANDLE_TYPE_EP);
	if (obj && obj->ia == cr->obj.ia && dat_object_use_get(obj)) {
		*objp = obj;
		return DAT_SUCCESS;
	}
	if (obj)
		dat_object_put(obj);
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

/**
 * kdapl_cr_accept - accept a connection request
 * @cr_handle: the CR; destroyed if the call succeeds
 * @ep_handle: the EP to connect, UNCONNECTED, of the same IA; DAT_HANDLE_NULL
 *	if the request has an EP, which is PASSIVE_ or
 *	TENTATIVE_CONNECTION_PENDING
 * @private_data_size: bytes of @private_data, from 0 to 56
 * @private_data: passed to the peer unchanged
 *
 * kdapl reports the outcome on the EP's connect EVD. Receives may complete before this
 * event, and the consumer may answer them. Specification: dat_cr_accept().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: the
 * request has another EP), DAT_INVALID_STATE (of the EP), DAT_INTERNAL_ERROR
 * (the device is removed).
 */
DAT_RETURN kdapl_cr_accept(DAT_CR_HANDLE cr_handle,
			   DAT_EP_HANDLE ep_handle,
			   DAT_COUNT private_data_size,
			   const void *private_data)
{
	struct dat_object *obj, *ep_obj;
	struct dat_cr *cr;
	DAT_RETURN ret;

	might_sleep();
	if (private_data_size < 0 || private_data_size > DAT_MAX_PRIVATE_DATA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (private_data_size && !private_data)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	obj = dat_object_get_live(cr_handle, DAT_HANDLE_TYPE_CR,
				  DAT_INVALID_HANDLE_CR, &ret);
	if (!obj)
		return ret;
	cr = to_cr(obj);
	/* The caller that claims the CR answers it. */
	if (!dat_object_claim(obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
		goto leave;
	}
	ret = lookup_ep(cr, ep_handle, &ep_obj);
	if (!ret) {
		ret = cr_accept(cr, to_ep(ep_obj), private_data,
				private_data_size);
		if (ret)
			dat_object_use_put(ep_obj);
		dat_object_put(ep_obj);
	}
	if (ret)
		atomic_set(&obj->users, 0);
	else
		dat_object_retire(obj);
leave:
	dat_object_put_live(obj);
	return ret;
}

/**
 * kdapl_cr_reject - reject a connection request
 * @cr_handle: the CR; the call destroys it
 * @private_data_size: bytes of @private_data, from 0 to 56
 * @private_data: passed to the peer unchanged
 *
 * The EP of an RSP is UNCONNECTED again. An EP that kdapl created for the request or for
 * its RSP is freed. Specification: dat_cr_reject(), DAT 2.0.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_cr_reject(DAT_CR_HANDLE cr_handle,
			   DAT_COUNT private_data_size,
			   const void *private_data)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	might_sleep();
	if (private_data_size < 0 || private_data_size > DAT_MAX_PRIVATE_DATA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (private_data_size && !private_data)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_open(cr_handle, DAT_HANDLE_TYPE_CR,
				  DAT_INVALID_HANDLE_CR, &ret);
	if (!obj)
		return ret;
	if (!dat_cr_refuse(to_cr(obj), private_data_size, private_data,
			   IB_CM_REJ_CONSUMER_DEFINED))
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	dat_object_put_live(obj);
	return ret;
}

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
static DAT_RETURN handoff_to(struct dat_cr *cr, struct dat_sp *sp)
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
static DAT_RETURN try_handoff(struct dat_cr *cr, struct dat_sp *sp)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	bool is_other = sp->obj.ia != cr->obj.ia;

	/* Do not wait: two hand-offs in opposite directions would deadlock. */
	if (is_other && !dat_ia_tryget_live(sp->obj.ia))
		return ret;
	if (dat_object_use_get(&sp->evd->obj)) {
		if (atomic_read(&sp->obj.users) >= 0)
			ret = handoff_to(cr, sp);
		dat_object_use_put(&sp->evd->obj);
	}
	if (is_other)
		dat_ia_put_live(sp->obj.ia);
	return ret;
}

static struct dat_sp *find_sp_in(struct dat_ia *ia, DAT_HANDLE_TYPE type,
				 const struct sockaddr_storage *addr)
{
	struct dat_sp *found = NULL;
	struct dat_object *obj;

	spin_lock_bh(&ia->owner.lock);
	list_for_each_entry(obj, &ia->owner.objects[type], node) {
		if (to_sp(obj)->conn_qual && dat_addr_is_equal(&to_sp(obj)->addr, addr) &&
		    !test_bit(DAT_RSP_SPENT, &to_sp(obj)->spent) &&
		    atomic_read(&obj->users) >= 0 &&
		    kref_get_unless_zero(&obj->ref)) {
			found = to_sp(obj);
			break;
		}
	}
	spin_unlock_bh(&ia->owner.lock);
	return found;
}

/*
 * Looks up the service point of an address and port, referenced. It may belong to another IA
 * and another process, but not to another user.
 */
static struct dat_sp *find_sp(struct dat_ia *ia, const struct sockaddr_storage *addr)
{
	struct dat_sp *found = NULL;
	struct dat_ia *other;

	mutex_lock(&ia->dev->lock);
	list_for_each_entry(other, &ia->dev->ias, dev_node) {
		if (other->port != ia->port || other->net != ia->net ||
		    !uid_eq(other->uid, ia->uid))
			continue;
		found = find_sp_in(other, DAT_HANDLE_TYPE_PSP, addr) ?:
			find_sp_in(other, DAT_HANDLE_TYPE_RSP, addr) ?:
			find_sp_in(other, DAT_HANDLE_TYPE_CSP, addr);
		if (found)
			break;
	}
	mutex_unlock(&ia->dev->lock);
	return found;
}

/*
 * A port may have service points on several addresses. The peer has named one of them; else it
 * is the address of the IA, on which PSPs and RSPs listen.
 */
static struct dat_sp *find_target(struct dat_cr *cr, u16 port)
{
	struct sockaddr_storage addr = {};
	struct dat_sp *sp = NULL;

	if (cr->id) {
		addr = cr->id->route.addr.src_addr;
		dat_addr_set_port(&addr, port);
		sp = find_sp(cr->obj.ia, &addr);
	}
	if (!sp) {
		addr = *dat_addr(cr->obj.ia);
		dat_addr_set_port(&addr, port);
		sp = find_sp(cr->obj.ia, &addr);
	}
	return sp;
}

/**
 * kdapl_cr_handoff - hand a connection request off to another service point
 * @cr_handle: the CR; destroyed if the call succeeds
 * @handoff: connection qualifier, not 0, of a PSP, RSP or CSP on the same port of
 *	the same device, in the same network namespace, of the same user. The one on the
 *	address that the peer connected to comes first, then the one on the address of
 *	the IA.
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
	if (!handoff)
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
	sp = find_target(to_cr(obj), dat_qual_port(handoff));
	if (sp) {
		ret = try_handoff(to_cr(obj), sp);
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

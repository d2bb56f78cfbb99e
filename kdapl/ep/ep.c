// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep.c - creates, queries and frees endpoints
 *
 * An EP owns a QP, its queue slots, at most one connection, and uses of its PZ,
 * EVDs and SRQ. Consumers create and free EPs in process context and may query the status
 * in softirq. The removal of a device shuts EPs down.
 */
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/addr.h"
#include "dev/linger.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "mem/pz.h"
#include "queue/evd.h"
#include "queue/srq.h"

/* dat_ep_modify() replaces EVDs. A caller without the mutex may have found the old one. */
static void drain_evd(struct dat_evd *const *evdp)
{
	struct dat_evd *evd;

	rcu_read_lock();
	evd = READ_ONCE(*evdp);
	if (!kref_get_unless_zero(&evd->obj.ref))
		evd = NULL;
	rcu_read_unlock();
	if (!evd)
		return;
	dat_evd_drain(evd);
	dat_object_put(&evd->obj);
}

/**
 * dat_ep_drain - process all completions of an EP, even if events are lost
 * @ep: the EP, which has EVDs of DTOs
 *
 * Context: process, may sleep.
 */
void dat_ep_drain(struct dat_ep *ep)
{
	drain_evd(&ep->request_evd);
	if (READ_ONCE(ep->recv_evd) != READ_ONCE(ep->request_evd))
		drain_evd(&ep->recv_evd);
}

/**
 * dat_ep_collect - process the completions of an EP that are in its CQs
 * @ep: the EP, which has EVDs of DTOs
 *
 * Context: process.
 */
void dat_ep_collect(struct dat_ep *ep)
{
	struct dat_evd *request, *recv;

	/* As in drain_evd(). The memory of an EVD is freed after an RCU grace period. */
	rcu_read_lock();
	request = READ_ONCE(ep->request_evd);
	recv = READ_ONCE(ep->recv_evd);
	dat_evd_collect(request);
	if (recv != request)
		dat_evd_collect(recv);
	rcu_read_unlock();
}

/**
 * dat_ep_is_full - has one of the EVDs of DTOs no room for another event?
 * @ep: the EP, which has EVDs of DTOs
 *
 * Context: process or softirq.
 * Return: true if so.
 */
bool dat_ep_is_full(struct dat_ep *ep)
{
	bool full;

	rcu_read_lock();
	full = dat_evd_is_full(READ_ONCE(ep->request_evd)) ||
	       dat_evd_is_full(READ_ONCE(ep->recv_evd));
	rcu_read_unlock();
	return full;
}

static void ep_shutdown(struct dat_object *obj)
{
	struct dat_ep *ep = to_ep(obj);
	struct rdma_cm_id *id = NULL;
	bool connected, connecting;
	struct dat_ep_parts parts;

	/* With the mutex held no other task queues the work items cancelled below. */
	mutex_lock(&ep->mutex);
	/* In this order: a pending connection may be established meanwhile. */
	connecting = dat_ep_move(ep, EP_IN(ACTIVE_CONNECTION_PENDING) |
				     EP_IN(COMPLETION_PENDING),
				 DAT_EP_STATE_DISCONNECTED);
	connected = dat_ep_move(ep, EP_IN(CONNECTED) |
				    EP_IN(DISCONNECT_PENDING),
				DAT_EP_STATE_DISCONNECTED);
	mutex_unlock(&ep->mutex);
	/* An event is needed when the device is removed, not when the EP is freed. */
	if (obj->ia->unplugged && connected)
		dat_ep_connect_event(ep, DAT_CONNECTION_EVENT_BROKEN);
	if (obj->ia->unplugged && connecting)
		dat_ep_connect_event(ep, ep->passive ?
			DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR :
			DAT_CONNECTION_EVENT_UNREACHABLE);
	dat_ep_disconnect_cancel(ep);

	mutex_lock(&ep->mutex);
	swap(id, ep->cm_id);
	if (id && connected) {
		/* Fail the QP first: a disconnect lets siw drop outstanding reads. */
		dat_ep_fail_qp(ep);
		rdma_disconnect(id);
	}
	if (id)
		dat_linger(id, ep->obj.owner->user, &ep->linger_owed,
			   ep->dreq_owed);
	dat_ep_move(ep, ~0U, DAT_EP_STATE_DISCONNECTED);
	mutex_unlock(&ep->mutex);

	/* From here no handler and no work item can end the connection. */
	dat_ep_wait_disconnected(ep);
	dat_ep_poll_stop(ep);
	dat_ep_qp_destroy(ep);
	/* A lingering connection may keep the EP; free the slots and their charge now. */
	dat_workq_destroy(&ep->sq);
	dat_workq_destroy(&ep->rq);
	dat_object_uncharge(&ep->obj, ep->qp_bytes + ep->slot_bytes);
	dat_watermarks_end(ep);
	dat_ep_disconnect_cancel(ep);
	parts = dat_ep_parts(ep);
	dat_ep_remove_streams(&parts);
	dat_ep_unexpect(&parts);
	dat_ep_release_evd(ep->recv_evd, ep->recv_evd_is_private);
	dat_ep_release_evd(ep->request_evd, ep->request_evd_is_private);
	dat_ep_release_evd(ep->connect_evd, false);
	if (ep->srq)
		dat_object_use_put(&ep->srq->obj);
	if (ep->pz)
		dat_object_use_put(&ep->pz->obj);
}

static void put_if_any(struct dat_object *obj)
{
	if (obj)
		dat_object_put(obj);
}

static void ep_release(struct dat_object *obj)
{
	struct dat_ep *ep = to_ep(obj);

	dat_workq_destroy(&ep->sq);
	dat_workq_destroy(&ep->rq);
	put_if_any(ep->recv_evd ? &ep->recv_evd->obj : NULL);
	put_if_any(ep->request_evd ? &ep->request_evd->obj : NULL);
	put_if_any(ep->connect_evd ? &ep->connect_evd->obj : NULL);
	put_if_any(ep->srq ? &ep->srq->obj : NULL);
	put_if_any(ep->pz ? &ep->pz->obj : NULL);
	kfree(ep);
}

static const char *ep_state(struct dat_object *obj)
{
	return dat_ep_state_name(dat_ep_state(to_ep(obj)));
}

static struct dat_srq_ep *ep_srq_ep(struct dat_object *obj)
{
	return &to_ep(obj)->srq_ep;
}

static const struct dat_object_ops ep_ops = {
	.shutdown = ep_shutdown,
	.release = ep_release,
	.progress = dat_ep_progress,
	.srq_ep = ep_srq_ep,
	.state = ep_state,
};

static const struct dat_workq_ops ep_workq_ops = {
	.failed = dat_ep_dto_failed,
	.heard = dat_ep_heard,
	.took = dat_watermarks_took,
	.drained = dat_ep_drained,
};

/**
 * dat_ep_new - allocate an EP without PZ, EVDs, QP and handle
 * @ia: the IA
 *
 * Context: process, may sleep.
 * Return: the EP, UNCONNECTED, for dat_object_publish() or dat_object_put();
 * or NULL.
 */
struct dat_ep *dat_ep_new(struct dat_ia *ia)
{
	struct dat_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);

	if (!ep)
		return NULL;
	mutex_init(&ep->reset_mutex);
	mutex_init(&ep->mutex);
	spin_lock_init(&ep->state_lock);
	dat_workq_init(&ep->sq, &ep->obj, &ep->state, &ep_workq_ops, 0);
	dat_workq_init(&ep->rq, &ep->obj, &ep->state, &ep_workq_ops, 0);
	dat_ep_disconnect_init(ep);
	dat_watermarks_init(ep);
	ep->state = DAT_EP_STATE_UNCONNECTED;
	dat_object_init(&ep->obj, DAT_HANDLE_TYPE_EP, &ia->owner, &ep_ops);
	if (dat_object_charge(&ep->obj, sizeof(*ep) + DAT_BYTES_CM_ID +
					DAT_BYTES_HANDLE))
		return ep;
	dat_object_put(&ep->obj);
	return NULL;
}

/**
 * dat_ep_get_pz - look up the PZ that a consumer passes, and use it
 * @ia: the IA of the EP; the PZ must belong to it
 * @handle: the consumer's handle
 * @pzp: out: the PZ, used and referenced
 *
 * Context: process.
 * Return: DAT_SUCCESS or DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_ep_get_pz(struct dat_ia *ia, DAT_PZ_HANDLE handle,
			 struct dat_pz **pzp)
{
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_PZ);

	if (obj && obj->ia == ia && dat_object_use_get(obj)) {
		*pzp = to_pz(obj);
		return DAT_SUCCESS;
	}
	if (obj)
		dat_object_put(obj);
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
}

/**
 * dat_ep_make - common part of dat_ep_create() and dat_ep_create_with_srq()
 * @ia_handle: the IA
 * @pz_handle: PZ of the EP
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for completions of requests, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @srq_handle: the SRQ; NULL for none
 * @ep_attributes: requested attributes, see dat_ep_attr_check(); or NULL
 * @ep_handle: out: the handle
 *
 * Context: process, may sleep.
 * Return: as dat_ep_create().
 */
DAT_RETURN dat_ep_make(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
		       DAT_EVD_HANDLE recv_evd_handle,
		       DAT_EVD_HANDLE request_evd_handle,
		       DAT_EVD_HANDLE connect_evd_handle,
		       const DAT_SRQ_HANDLE *srq_handle,
		       const DAT_EP_ATTR *ep_attributes,
		       DAT_EP_HANDLE *ep_handle)
{
	struct dat_ep_parts parts = {};
	struct dat_object *ia_obj;
	struct dat_ia *ia;
	struct dat_ep *ep;
	DAT_RETURN ret;

	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ia = to_ia(ia_obj);

	ret = dat_ep_attr_check(ia, ep_attributes, &parts.attr);
	if (ret)
		goto leave;
	ret = dat_ep_get_pz(ia, pz_handle, &parts.pz);
	if (ret)
		goto leave;
	if (srq_handle)
		ret = dat_ep_srq_join(ia, &parts, *srq_handle);
	if (ret)
		goto unget_pz;
	ret = dat_ep_get_recv_evd(ia, &parts, recv_evd_handle);
	if (!ret)
		ret = dat_ep_get_request_evd(ia, &parts, request_evd_handle);
	if (!ret)
		ret = dat_ep_get_connect_evd(ia, &parts, connect_evd_handle);
	if (!ret)
		ret = dat_ep_expect(&parts);
	if (ret)
		goto unget;
	ep = dat_ep_new(ia);
	if (!ep) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto take_back;
	}

	/* From here dat_object_shutdown() and dat_object_put() destroy the EP. */
	dat_ep_set_parts(ep, &parts);
	dat_ep_add_streams(&parts);
	if (srq_handle)
		dat_watermarks_preset(ep, parts.attr.srq_soft_hw);
	ret = dat_ep_qp_create(ep, &parts);
	if (!ret) {
		dat_ep_qp_start(ep);
		ret = dat_object_publish(&ep->obj);
	}
	if (ret) {
		dat_object_shutdown(&ep->obj);
		dat_object_put(&ep->obj);
		goto leave;
	}
	*ep_handle = ep->obj.handle;
	goto leave;

take_back:
	dat_ep_unexpect(&parts);
unget:
	dat_ep_put_evd(parts.recv_evd, parts.recv_evd_is_private);
	dat_ep_put_evd(parts.request_evd, parts.request_evd_is_private);
	dat_ep_put_evd(parts.connect_evd, false);
	if (parts.srq) {
		dat_object_use_put(&parts.srq->obj);
		dat_object_put(&parts.srq->obj);
	}
unget_pz:
	dat_object_use_put(&parts.pz->obj);
	dat_object_put(&parts.pz->obj);
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

/**
 * kdapl_ep_create - create an endpoint
 * @ia_handle: the IA
 * @pz_handle: PZ of the EP
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for completions of all other requests, or
 *	DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @ep_attributes: requested attributes, see dat_ep_attr_check(); or NULL
 * @ep_handle: out: the handle; the EP is UNCONNECTED
 *
 * An EVD takes any number of EPs, whatever its length: its CQs get the room for all that the
 * EPs can have outstanding. Specification: dat_ep_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES (DAT_RESOURCE_TEVD: the device, or the rdma cgroup, has no CQ
 * for it; DAT_RESOURCE_TEP: no QP; DAT_RESOURCE_MEMORY: no memory, or the account is full),
 * DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ep_create(DAT_IA_HANDLE ia_handle,
			   DAT_PZ_HANDLE pz_handle,
			   DAT_EVD_HANDLE recv_evd_handle,
			   DAT_EVD_HANDLE request_evd_handle,
			   DAT_EVD_HANDLE connect_evd_handle,
			   const DAT_EP_ATTR *ep_attributes,
			   DAT_EP_HANDLE *ep_handle)
{
	might_sleep();
	if (!ep_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	return dat_ep_make(ia_handle, pz_handle, recv_evd_handle,
			   request_evd_handle, connect_evd_handle, NULL,
			   ep_attributes, ep_handle);
}

static DAT_EVD_HANDLE evd_handle(struct dat_evd *evd)
{
	return evd ? evd->obj.handle : DAT_HANDLE_NULL;
}

/**
 * kdapl_ep_query - query the parameters of an EP
 * @ep_handle: the EP
 * @ep_param_mask: DAT_EP_FIELD_*; kdapl fills in all fields
 * @ep_param: out: the parameters. The pointers are valid until the EP is freed. The
 *	pointer to the local address is valid until the IA is closed, and does not
 *	change even if the IA gets another address.
 *
 * Specification: dat_ep_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ep_query(DAT_EP_HANDLE ep_handle,
			  DAT_EP_PARAM_MASK ep_param_mask,
			  DAT_EP_PARAM *ep_param)
{
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;

	might_sleep();
	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ep_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);

	/* If the look-up fails, the previous address remains. */
	dat_addr_find(obj->ia);
	mutex_lock(&ep->mutex);
	*ep_param = (struct dat_ep_param){
		.ia_handle = obj->ia->obj.handle,
		.ep_state = dat_ep_state(ep),
		.comm = ep->comm,
		.local_ia_address_ptr = (DAT_SOCK_ADDR *)dat_addr(obj->ia),
		.pz_handle = ep->pz ? ep->pz->obj.handle : DAT_HANDLE_NULL,
		.recv_evd_handle = evd_handle(ep->recv_evd),
		.request_evd_handle = evd_handle(ep->request_evd),
		.connect_evd_handle = evd_handle(ep->connect_evd),
		.srq_handle = ep->srq ? ep->srq->obj.handle : DAT_HANDLE_NULL,
		.ep_attr = ep->attr,
	};
	ep_param->local_port_qual = ep->local_port;
	if (ep->cm_id) {
		struct rdma_addr *addr = &ep->cm_id->route.addr;

		ep_param->local_port_qual = dat_addr_port(&addr->src_addr);
		ep->remote_addr = addr->dst_addr;
	}
	ep_param->remote_port_qual = dat_addr_port(&ep->remote_addr);
	mutex_unlock(&ep->mutex);
	ep_param->remote_ia_address_ptr = (DAT_SOCK_ADDR *)&ep->remote_addr;
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_get_status - query the state of an EP
 * @ep_handle: the EP
 * @ep_state: out: state of the EP; may be NULL
 * @recv_idle: out: true if no receive is outstanding; may be NULL
 * @request_idle: out: true if no request is outstanding; may be NULL
 *
 * A request counts as outstanding until its event is dequeued or reported.
 * Specification: dat_ep_get_status().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_ep_get_status(DAT_EP_HANDLE ep_handle,
			       DAT_EP_STATE *ep_state,
			       DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle)
{
	struct dat_object *obj;
	struct dat_ep *ep;

	obj = dat_object_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ep = to_ep(obj);
	if (ep_state)
		*ep_state = dat_ep_state(ep);
	if (recv_idle)
		*recv_idle = dat_workq_is_idle(&ep->rq);
	if (request_idle)
		*request_idle = dat_workq_is_idle(&ep->sq);
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_free - free an EP
 * @ep_handle: the EP; neither RESERVED nor PASSIVE_ or
 *	TENTATIVE_CONNECTION_PENDING
 *
 * kdapl disconnects a connection abruptly and flushes all posted requests. When the call
 * returns, the device no longer accesses the memory. Completions are dequeued as usual.
 * Specification: dat_ep_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE (a service point
 * or a connection request uses it).
 */
DAT_RETURN kdapl_ep_free(DAT_EP_HANDLE ep_handle)
{
	DAT_EP_STATE state = DAT_EP_STATE_RESERVED;
	struct dat_object *obj;
	DAT_RETURN in_use;

	might_sleep();
	/* The subtype: a reserved state if there is one, else a call uses the EP. */
	obj = dat_object_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (obj) {
		state = dat_ep_state(to_ep(obj));
		dat_object_put(obj);
	}
	if (!(BIT(state) & DAT_EP_RESERVED_STATES))
		state = DAT_EP_STATE_RESERVED;
	in_use = dat_ep_state_error(state);
	return dat_object_free(ep_handle, DAT_HANDLE_TYPE_EP,
			       DAT_INVALID_HANDLE_EP, DAT_GET_SUBTYPE(in_use));
}

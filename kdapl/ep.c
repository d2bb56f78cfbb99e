// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep.c - making, querying and freeing endpoints
 */
#include <linux/slab.h>

#include "addr.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "kdapl.h"
#include "pz.h"

/**
 * dat_ep_drain - process all completions of an EP, even if events are lost
 * @ep: the EP
 *
 * Context: process.
 */
void dat_ep_drain(struct dat_ep *ep)
{
	dat_evd_drain(ep->request_evd);
	if (ep->recv_evd != ep->request_evd)
		dat_evd_drain(ep->recv_evd);
}

/**
 * dat_ep_collect - process the completions of an EP that are there by now
 * @ep: the EP
 *
 * Context: process.
 */
void dat_ep_collect(struct dat_ep *ep)
{
	dat_evd_collect(ep->request_evd);
	if (ep->recv_evd != ep->request_evd)
		dat_evd_collect(ep->recv_evd);
}

/* The memory stays: calls that found the EP before look at its EVDs yet. */
static void leave_evd(struct dat_evd *evd, bool is_private)
{
	if (!evd)
		return;
	if (is_private)
		dat_object_shutdown(&evd->obj);
	else
		dat_object_unuse(&evd->obj);
}

static u32 request_completions(const struct dat_ep *ep)
{
	return 2 * ep->attr.max_request_dtos + 1;
}

static DAT_RETURN ep_expect(struct dat_ep *ep)
{
	if (dat_evd_expect(ep->recv_evd, ep->attr.max_recv_dtos))
		goto no_memory;
	if (dat_evd_expect(ep->request_evd, request_completions(ep)))
		goto take_back;
	return DAT_SUCCESS;

take_back:
	dat_evd_unexpect(ep->recv_evd, ep->attr.max_recv_dtos);
no_memory:
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

static void ep_unexpect(struct dat_ep *ep)
{
	dat_evd_unexpect(ep->recv_evd, ep->attr.max_recv_dtos);
	dat_evd_unexpect(ep->request_evd, request_completions(ep));
}

static void ep_shutdown(struct dat_object *obj)
{
	struct dat_ep *ep = to_ep(obj);
	struct rdma_cm_id *id = NULL;
	bool connected, connecting;

	/* Under the mutex nobody is about to queue the works cancelled below. */
	mutex_lock(&ep->mutex);
	connected = dat_ep_move(ep, EP_IN(CONNECTED) |
				    EP_IN(DISCONNECT_PENDING),
				DAT_EP_STATE_DISCONNECTED);
	connecting = dat_ep_move(ep, EP_IN(ACTIVE_CONNECTION_PENDING) |
				     EP_IN(COMPLETION_PENDING),
				 DAT_EP_STATE_DISCONNECTED);
	mutex_unlock(&ep->mutex);
	/* Who frees the EP needs no event; who loses the device does. */
	if (obj->ia->unplugged && connected)
		dat_ep_connect_event(ep, DAT_CONNECTION_EVENT_BROKEN);
	if (obj->ia->unplugged && connecting)
		dat_ep_connect_event(ep, ep->passive ?
			DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR :
			DAT_CONNECTION_EVENT_UNREACHABLE);
	dat_ep_end_cancel(ep);

	mutex_lock(&ep->mutex);
	swap(id, ep->cm_id);
	if (id && connected)
		rdma_disconnect(id);
	if (id)
		rdma_destroy_id(id);
	WRITE_ONCE(ep->state, DAT_EP_STATE_DISCONNECTED);
	mutex_unlock(&ep->mutex);

	dat_ep_qp_destroy(ep);
	dat_ep_end_cancel(ep);
	ep_unexpect(ep);
	leave_evd(ep->recv_evd, ep->recv_evd_is_private);
	leave_evd(ep->request_evd, ep->request_evd_is_private);
	leave_evd(ep->connect_evd, false);
	dat_object_unuse(&ep->pz->obj);
}

static void ep_release(struct dat_object *obj)
{
	struct dat_ep *ep = to_ep(obj);

	dat_workq_destroy(&ep->sq);
	dat_workq_destroy(&ep->rq);
	dat_object_put(&ep->recv_evd->obj);
	dat_object_put(&ep->request_evd->obj);
	if (ep->connect_evd)
		dat_object_put(&ep->connect_evd->obj);
	dat_object_put(&ep->pz->obj);
	kfree(ep);
}

static const struct dat_object_ops ep_ops = {
	.shutdown = ep_shutdown,
	.release = ep_release,
};

static void drop_event(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
}

/* Completions that nobody wants must leave the CQ all the same. */
static DAT_RETURN make_private_evd(struct dat_ia *ia, DAT_COUNT qlen,
				   struct dat_evd **evdp)
{
	DAT_RETURN ret = dat_evd_new(ia, qlen, DAT_EVD_DTO_FLAG, evdp);

	if (ret)
		return ret;
	(*evdp)->upcall.upcall_func = drop_event;
	(*evdp)->policy = DAT_UPCALL_SINGLE_INSTANCE;
	ib_req_notify_cq((*evdp)->cq, IB_CQ_NEXT_COMP);
	return DAT_SUCCESS;
}

static DAT_RETURN use_evd(struct dat_ia *ia, DAT_EVD_HANDLE handle,
			  DAT_EVD_FLAGS flag, DAT_RETURN_SUBTYPE subtype,
			  struct dat_evd **evdp)
{
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_EVD);

	if (obj && obj->ia == ia && to_evd(obj)->flags & flag &&
	    dat_object_use(obj)) {
		*evdp = to_evd(obj);
		return DAT_SUCCESS;
	}
	if (obj)
		dat_object_put(obj);
	return DAT_ERROR(DAT_INVALID_HANDLE, subtype);
}

static void unuse_evd(struct dat_evd *evd, bool is_private)
{
	if (!evd)
		return;
	leave_evd(evd, is_private);
	dat_object_put(&evd->obj);
}

static DAT_RETURN ep_get_evds(struct dat_ep *ep, struct dat_ia *ia,
			      DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			      DAT_EVD_HANDLE connect)
{
	DAT_RETURN ret;

	if (recv) {
		ret = use_evd(ia, recv, DAT_EVD_DTO_FLAG,
			      DAT_INVALID_HANDLE_EVD_RECV, &ep->recv_evd);
	} else {
		ep->recv_evd_is_private = true;
		ret = make_private_evd(ia, ep->attr.max_recv_dtos,
				       &ep->recv_evd);
	}
	if (ret)
		return ret;

	if (request) {
		ret = use_evd(ia, request, DAT_EVD_DTO_FLAG,
			      DAT_INVALID_HANDLE_EVD_REQUEST,
			      &ep->request_evd);
	} else {
		ep->request_evd_is_private = true;
		ret = make_private_evd(ia, ep->attr.max_request_dtos,
				       &ep->request_evd);
	}
	if (ret)
		return ret;

	if (connect)
		ret = use_evd(ia, connect, DAT_EVD_CONNECTION_FLAG,
			      DAT_INVALID_HANDLE_EVD_CONN, &ep->connect_evd);
	return ret;
}

static void ep_unget_evds(struct dat_ep *ep)
{
	unuse_evd(ep->recv_evd, ep->recv_evd_is_private);
	unuse_evd(ep->request_evd, ep->request_evd_is_private);
	unuse_evd(ep->connect_evd, false);
}

static DAT_RETURN ep_get_pz(struct dat_ep *ep, struct dat_ia *ia,
			    DAT_PZ_HANDLE handle)
{
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_PZ);

	if (obj && obj->ia == ia && dat_object_use(obj)) {
		ep->pz = to_pz(obj);
		return DAT_SUCCESS;
	}
	if (obj)
		dat_object_put(obj);
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
}

/**
 * dat_ep_create - make an endpoint
 * @ia_handle: the IA
 * @pz_handle: its PZ
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for completions of all else that is posted, or
 *	DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @ep_attributes: wishes, see dat_ep_attr_check(); or NULL
 * @ep_handle: out: the handle; the EP is UNCONNECTED
 *
 * Specification: dat_ep_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the
 * device has gone).
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle,
			 DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle,
			 DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	struct dat_object *ia_obj;
	struct dat_ia *ia;
	struct dat_ep *ep;
	DAT_RETURN ret;

	if (!ep_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	ia_obj = dat_object_enter(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ia = to_ia(ia_obj);

	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto leave;
	}
	mutex_init(&ep->mutex);
	spin_lock_init(&ep->state_lock);
	dat_ep_end_init(ep);
	ep->state = DAT_EP_STATE_UNCONNECTED;

	ret = dat_ep_attr_check(ia, ep_attributes, &ep->attr);
	if (ret)
		goto free;
	ret = ep_get_pz(ep, ia, pz_handle);
	if (ret)
		goto free;
	ret = ep_get_evds(ep, ia, recv_evd_handle, request_evd_handle,
			  connect_evd_handle);
	if (!ret)
		ret = ep_expect(ep);
	if (ret)
		goto unget;

	/* From here on the EP ends as any other does. */
	dat_object_init(&ep->obj, DAT_HANDLE_TYPE_EP, ia, &ep_ops);
	ret = dat_ep_qp_create(ep);
	if (!ret)
		ret = dat_object_publish(&ep->obj);
	if (ret) {
		dat_object_shutdown(&ep->obj);
		dat_object_put(&ep->obj);
		goto leave;
	}
	*ep_handle = ep->obj.handle;
	goto leave;

unget:
	ep_unget_evds(ep);
	dat_object_unuse(&ep->pz->obj);
	dat_object_put(&ep->pz->obj);
free:
	kfree(ep);
leave:
	dat_object_leave(ia_obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_create);

/**
 * dat_ep_query - the parameters of an EP
 * @ep_handle: the EP
 * @ep_param_mask: DAT_EP_FIELD_*; all are filled in
 * @ep_param: out: the parameters; its pointers are valid until the EP is freed
 *
 * Specification: dat_ep_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
			DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;

	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ep_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_enter(ep_handle, DAT_HANDLE_TYPE_EP,
			       DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);

	*ep_param = (struct dat_ep_param){
		.ia_handle = obj->ia->obj.handle,
		.ep_state = dat_ep_state(ep),
		.local_ia_address_ptr = (DAT_SOCK_ADDR *)&obj->ia->addr,
		.pz_handle = ep->pz->obj.handle,
		.recv_evd_handle = ep->recv_evd->obj.handle,
		.request_evd_handle = ep->request_evd->obj.handle,
		.connect_evd_handle = ep->connect_evd ?
			ep->connect_evd->obj.handle : DAT_HANDLE_NULL,
		.ep_attr = ep->attr,
	};
	mutex_lock(&ep->mutex);
	if (ep->cm_id) {
		struct rdma_addr *addr = &ep->cm_id->route.addr;

		ep_param->local_port_qual = dat_addr_port(&addr->src_addr);
		ep->remote_addr = addr->dst_addr;
	}
	mutex_unlock(&ep->mutex);
	ep_param->remote_port_qual = dat_addr_port(&ep->remote_addr);
	ep_param->remote_ia_address_ptr = (DAT_SOCK_ADDR *)&ep->remote_addr;
	dat_object_leave(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ep_query);

/**
 * dat_ep_get_status - the state of an EP
 * @ep_handle: the EP
 * @ep_state: out: its state; may be NULL
 * @recv_idle: out: no receive is outstanding; may be NULL
 * @request_idle: out: nothing else is outstanding; may be NULL
 *
 * What has completed is known when its event has been dequeued or reported.
 * Specification: dat_ep_get_status().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle,
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
EXPORT_SYMBOL_GPL(dat_ep_get_status);

/**
 * dat_ep_free - free an EP
 * @ep_handle: the EP
 *
 * A connection is ended abruptly. What was posted is flushed: when it returns,
 * the device no longer touches the memory. Completions are dequeued as usual.
 * Specification: dat_ep_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	return dat_object_free(ep_handle, DAT_HANDLE_TYPE_EP,
			       DAT_INVALID_HANDLE_EP,
			       DAT_INVALID_STATE_EP_RESERVED);
}
EXPORT_SYMBOL_GPL(dat_ep_free);

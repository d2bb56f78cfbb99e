// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cr.c - connection requests: how they arrive and are answered
 */
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "addr.h"
#include "cm.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"

static void cr_shutdown(struct dat_object *obj)
{
	struct dat_cr *cr = to_cr(obj);

	/* Destroying an id that nobody has answered rejects the request. */
	if (cr->id)
		rdma_destroy_id(cr->id);
	cr->id = NULL;
}

static void cr_release(struct dat_object *obj)
{
	kfree(to_cr(obj));
}

static const struct dat_object_ops cr_ops = {
	.shutdown = cr_shutdown,
	.release = cr_release,
};

/**
 * dat_cr_arrived - a peer wants to connect to a PSP
 * @psp: the PSP
 * @id: the connection to be
 * @event: the request
 *
 * Context: process, with the handler lock of @id.
 * Return: 0, or a negative errno to have the request rejected.
 */
int dat_cr_arrived(struct dat_psp *psp, struct rdma_cm_id *id,
		   struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	u8 data_len = conn->private_data ? conn->private_data_len : 0;
	struct dat_ia *ia = psp->obj.ia;
	DAT_EVENT_DATA data = {};
	struct dat_cr *cr;

	/* The length of the EVD is the backlog. */
	if (dat_evd_is_full(psp->evd))
		goto reject;
	cr = kzalloc(struct_size(cr, data, data_len), GFP_KERNEL);
	if (!cr)
		goto reject;
	cr->responder_resources = conn->responder_resources;
	cr->initiator_depth = conn->initiator_depth;
	cr->remote_addr = id->route.addr.dst_addr;
	cr->data_len = data_len;
	memcpy(cr->data, conn->private_data, data_len);

	dat_object_init(&cr->obj, DAT_HANDLE_TYPE_CR, ia, &cr_ops);
	cr->id = id;
	id->context = &cr->obj;
	if (dat_object_publish(&cr->obj))
		goto drop;

	data.cr_arrival_event_data = (struct dat_cr_arrival_event_data){
		.sp_handle.psp_handle = psp->obj.handle,
		.local_ia_address_ptr = (DAT_SOCK_ADDR *)&ia->addr,
		.conn_qual = psp->conn_qual,
		.cr_handle = cr->obj.handle,
	};
	if (dat_evd_post(psp->evd, DAT_CONNECTION_REQUEST_EVENT, &data))
		return 0;

	cr->id = NULL;
	if (dat_object_claim(&cr->obj))
		dat_object_retire(&cr->obj);
	goto reject;

drop:
	cr->id = NULL;
	dat_object_put(&cr->obj);
reject:
	/* Else it would look as if the consumer had rejected it. */
	rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
	return -ECONNREFUSED;
}

/**
 * dat_cr_query - who wants to connect
 * @cr_handle: the CR
 * @cr_param_mask: DAT_CR_FIELD_*; all are filled in
 * @cr_param: out: the parameters; its pointers are valid until the CR is
 *	accepted or rejected
 *
 * Private data may come with zeroes behind it: transports do not carry its
 * length. Specification: dat_cr_query().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
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
		.local_ep_handle = DAT_HANDLE_NULL,
	};
	dat_object_put(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_cr_query);

/*
 * Hands the connection over to the EP and answers. The handler lock is held:
 * events are for the CR until then, and for the EP afterwards.
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
		.qp_num = ep->qp->qp_num,
	};
	id->context = &ep->obj;
	ret = dat_ep_qp_connect(ep, id);
	/* rdma_accept() tells the peer of a failure itself. */
	if (ret)
		rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
	else
		ret = rdma_accept(id, &ep->conn);
	return ret;
}

static DAT_RETURN cr_accept(struct dat_cr *cr, struct dat_ep *ep,
			    const void *data, u8 data_size)
{
	int ret;

	mutex_lock(&ep->mutex);
	if (!dat_ep_move(ep, EP_IN(UNCONNECTED),
			 DAT_EP_STATE_COMPLETION_PENDING)) {
		mutex_unlock(&ep->mutex);
		return dat_ep_state_error(dat_ep_state(ep));
	}
	WRITE_ONCE(ep->cm_id, cr->id);
	rdma_lock_handler(cr->id);
	ret = cr_accept_locked(cr, ep, data, data_size);
	rdma_unlock_handler(cr->id);
	cr->id = NULL;
	/* The call was right, the peer has gone: that is an event. */
	if (ret)
		dat_ep_end(ep, EP_IN(COMPLETION_PENDING),
			   DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	mutex_unlock(&ep->mutex);
	return DAT_SUCCESS;
}

/**
 * dat_cr_accept - accept a connection request
 * @cr_handle: the CR; it is gone if the call succeeds
 * @ep_handle: the EP to connect, UNCONNECTED, of the same IA
 * @private_data_size: bytes of @private_data, at most 56
 * @private_data: goes to the peer as it is
 *
 * The outcome is an event on the EP's connect EVD. Specification:
 * dat_cr_accept().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE (of the EP), DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle,
			 DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const void *private_data)
{
	struct dat_object *cr_obj, *ep_obj;
	DAT_RETURN ret;

	if (private_data_size < 0 || private_data_size > DAT_MAX_PRIVATE_DATA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (private_data_size && !private_data)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	cr_obj = dat_object_enter(cr_handle, DAT_HANDLE_TYPE_CR,
				  DAT_INVALID_HANDLE_CR, &ret);
	if (!cr_obj)
		return ret;
	ep_obj = dat_object_get(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!ep_obj || ep_obj->ia != cr_obj->ia ||
	    !dat_object_use(ep_obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		goto put_ep;
	}
	/* Whoever claims it answers it. */
	if (!dat_object_claim(cr_obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
		goto unuse_ep;
	}
	ret = cr_accept(to_cr(cr_obj), to_ep(ep_obj), private_data,
			private_data_size);
	if (ret)
		atomic_set(&cr_obj->users, 0);
	else
		dat_object_retire(cr_obj);
unuse_ep:
	dat_object_unuse(ep_obj);
put_ep:
	if (ep_obj)
		dat_object_put(ep_obj);
	dat_object_leave(cr_obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_cr_accept);

/**
 * dat_cr_reject - reject a connection request
 * @cr_handle: the CR; it is gone afterwards
 *
 * Specification: dat_cr_reject().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	struct dat_object *obj;
	struct dat_cr *cr;
	DAT_RETURN ret;

	obj = dat_object_enter_for_free(cr_handle, DAT_HANDLE_TYPE_CR,
					DAT_INVALID_HANDLE_CR, &ret);
	if (!obj)
		return ret;
	cr = to_cr(obj);
	if (dat_object_claim(obj)) {
		if (cr->id)
			rdma_reject(cr->id, NULL, 0,
				    IB_CM_REJ_CONSUMER_DEFINED);
		dat_object_retire(obj);
	} else {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	}
	dat_object_leave(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_cr_reject);

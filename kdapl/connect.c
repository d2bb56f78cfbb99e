// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * connect.c - the life of an EP's connection
 */
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "addr.h"
#include "cm.h"
#include "ep.h"
#include "ia.h"
#include "kdapl.h"

#define RESOLVE_TIMEOUT_MS	2000

#define ESTABLISHING	(EP_IN(ACTIVE_CONNECTION_PENDING) | \
			 EP_IN(COMPLETION_PENDING))

static void save_private_data(struct dat_ep *ep, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;

	ep->in_data_len = conn->private_data ? conn->private_data_len : 0;
	memcpy(ep->in_data, conn->private_data, ep->in_data_len);
}

static void established(struct dat_ep *ep)
{
	if (!dat_ep_move(ep, ESTABLISHING, DAT_EP_STATE_CONNECTED))
		return;
	cancel_delayed_work(&ep->timeout_work);
	dat_ep_connect_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	/* A receive may have failed before the last message of the set-up. */
	if (READ_ONCE(ep->failed))
		queue_work(kdapl_wq, &ep->error_work);
}

/* The consumer may have called it off meanwhile. */
static bool is_connecting(struct dat_ep *ep)
{
	return dat_ep_state(ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
}

/* The passive side learns of every failure by the same event. */
static void failed(struct dat_ep *ep, DAT_EVENT_NUMBER number)
{
	if (ep->passive)
		number = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	cancel_delayed_work(&ep->timeout_work);
	dat_ep_end(ep, ESTABLISHING, number);
}

/* The peer has accepted; the active side of InfiniBand has the last word. */
static void accepted_by_peer(struct dat_ep *ep, struct rdma_cm_id *id,
			     struct rdma_cm_event *event)
{
	if (!is_connecting(ep)) {
		rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		return;
	}
	save_private_data(ep, event);
	if (dat_ep_qp_connect(ep, id)) {
		rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		failed(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	} else if (rdma_accept(id, NULL)) {
		failed(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	} else {
		established(ep);
	}
}

/*
 * A QP that went to the error state before the peer took leave tells that the
 * connection broke: at our end, by an access that was refused, say. On iWARP,
 * where no message takes leave, it is in that state in any case, and events of
 * the QP or failed DTOs tell.
 */
static bool qp_has_failed(struct dat_ep *ep)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ep->iwarp)
		return READ_ONCE(ep->failed);
	return !ib_query_qp(ep->qp, &attr, IB_QP_STATE, &init) &&
	       attr.qp_state == IB_QPS_ERR;
}

/* No longer connected, or it never came to that. */
static void ended(struct dat_ep *ep, DAT_EVENT_NUMBER if_connecting)
{
	DAT_EVENT_NUMBER number = qp_has_failed(ep) ?
		DAT_CONNECTION_EVENT_BROKEN :
		DAT_CONNECTION_EVENT_DISCONNECTED;

	failed(ep, if_connecting);
	dat_ep_end(ep, EP_IN(CONNECTED) | EP_IN(DISCONNECT_PENDING), number);
}

static void disconnected(struct dat_ep *ep, struct rdma_cm_id *id)
{
	ended(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* The peer waits for an answer. */
	rdma_disconnect(id);
}

/*
 * On InfiniBand the active side is connected before the passive side knows. A
 * peer that accepts and then goes before it knows takes leave with a rejection.
 */
static void rejected(struct dat_ep *ep, struct rdma_cm_id *id,
		     struct rdma_cm_event *event)
{
	bool by_peer;

	if (rdma_cap_ib_cm(id->device, id->port_num))
		by_peer = event->status == IB_CM_REJ_CONSUMER_DEFINED;
	else
		/* Who refuses, or resets, is the peer: it had answered TCP. */
		by_peer = event->status == -ECONNREFUSED ||
			  event->status == -ECONNRESET;
	if (by_peer && is_connecting(ep))
		save_private_data(ep, event);
	ended(ep, by_peer ? DAT_CONNECTION_EVENT_PEER_REJECTED :
			    DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void resolve_route(struct dat_ep *ep, struct rdma_cm_id *id)
{
	if (!is_connecting(ep))
		return;
	if (id->device != dat_ia_ibdev(ep->obj.ia) ||
	    id->port_num != ep->obj.ia->port ||
	    rdma_resolve_route(id, RESOLVE_TIMEOUT_MS))
		failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* On iWARP it may be a TCP connection that fails. */
static bool is_unreachable(int err)
{
	return err == -ETIMEDOUT || err == -EHOSTUNREACH ||
	       err == -ENETUNREACH;
}

static void request(struct dat_ep *ep, struct rdma_cm_id *id)
{
	int ret;

	if (!is_connecting(ep))
		return;
	ret = rdma_connect_locked(id, &ep->conn);
	if (ret)
		failed(ep, is_unreachable(ret) ?
			       DAT_CONNECTION_EVENT_UNREACHABLE :
			       DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/**
 * dat_connect_event - something happened to the connection of an EP
 * @ep: the EP
 * @id: its connection
 * @event: what happened
 *
 * Context: process, with the handler lock of @id.
 */
void dat_connect_event(struct dat_ep *ep, struct rdma_cm_id *id,
		       struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		resolve_route(ep, id);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		request(ep, id);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		accepted_by_peer(ep, id, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		/* On InfiniBand the passive side; on iWARP both. */
		if (!ep->passive)
			save_private_data(ep, event);
		established(ep);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		failed(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rejected(ep, id, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		disconnected(ep, id);
		break;
	default:
		break;
	}
}

static DAT_RETURN check_connect(DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual,
				DAT_TIMEOUT timeout, DAT_COUNT data_size,
				const void *data, DAT_QOS qos,
				DAT_CONNECT_FLAGS flags)
{
	if (!addr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!dat_addr_is_valid(addr))
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (!qual || qual > U16_MAX)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!timeout)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (data_size < 0 || data_size > DAT_MAX_PRIVATE_DATA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (data_size && !data)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (qos != DAT_QOS_BEST_EFFORT)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (flags & ~(DAT_CONNECT_MULTIPATH_REQUESTED_FLAG |
		      DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	if (flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/* The id that begins to look for the peer, from the IA's own address. */
static struct rdma_cm_id *start(struct dat_ep *ep, DAT_IA_ADDRESS_PTR addr,
				DAT_CONN_QUAL qual)
{
	struct sockaddr_storage src = ep->obj.ia->addr, dst = {};
	struct rdma_cm_id *id;
	int ret;

	memcpy(&dst, addr, dat_addr_size(addr));
	dat_addr_set_port(&dst, qual);

	id = rdma_create_id(ep->obj.ia->net, dat_cm_handler, &ep->obj,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	ret = rdma_resolve_addr(id, src.ss_family == dst.ss_family ?
					    (struct sockaddr *)&src : NULL,
				(struct sockaddr *)&dst, RESOLVE_TIMEOUT_MS);
	if (ret) {
		rdma_destroy_id(id);
		return ERR_PTR(ret);
	}
	return id;
}

static DAT_RETURN start_error(int err)
{
	switch (err) {
	case -ENOMEM:
	case -ENOBUFS:	/* what the routing code calls it */
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_TEP);
	default:
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_UNREACHABLE);
	}
}

/**
 * dat_ep_connect - connect an EP to a remote service point
 * @ep_handle: the EP, UNCONNECTED
 * @remote_ia_address: address of the remote IA, IPv4 or IPv6
 * @remote_conn_qual: connection qualifier of the service point: a port of
 *	RDMA_PS_TCP, 1 to 65535
 * @timeout: microseconds until it is given up, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes of @private_data, at most 56
 * @private_data: goes to the peer as it is
 * @qos: DAT_QOS_BEST_EFFORT
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG, or a wish for several paths, of
 *	which there is one
 *
 * The outcome is an event on the EP's connect EVD. Specification:
 * dat_ep_connect().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_ADDRESS, DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
			  DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual,
			  DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size,
			  const void *private_data,
			  DAT_QOS qos, DAT_CONNECT_FLAGS connect_flags)
{
	struct dat_object *obj;
	struct rdma_cm_id *id;
	struct dat_ep *ep;
	DAT_RETURN ret;

	ret = check_connect(remote_ia_address, remote_conn_qual, timeout,
			    private_data_size, private_data, qos,
			    connect_flags);
	if (ret)
		return ret;
	obj = dat_object_enter(ep_handle, DAT_HANDLE_TYPE_EP,
			       DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);
	if (obj->ia->addr.ss_family == AF_UNSPEC)
		dat_addr_find(obj->ia);

	mutex_lock(&ep->mutex);
	if (!dat_ep_move(ep, EP_IN(UNCONNECTED),
			 DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)) {
		ret = dat_ep_state_error(dat_ep_state(ep));
		goto unlock;
	}
	memcpy(ep->out_data, private_data, private_data_size);
	ep->passive = false;
	ep->conn = (struct rdma_conn_param){
		.private_data = ep->out_data,
		.private_data_len = private_data_size,
		.responder_resources = ep->attr.max_rdma_read_in,
		.initiator_depth = ep->attr.max_rdma_read_out,
		.flow_control = 1,
		.retry_count = DAT_EP_RETRIES,
		.rnr_retry_count = 7,
		.qp_num = ep->qp->qp_num,
	};

	id = start(ep, remote_ia_address, remote_conn_qual);
	if (IS_ERR(id)) {
		dat_ep_move(ep, EP_IN(ACTIVE_CONNECTION_PENDING),
			    DAT_EP_STATE_UNCONNECTED);
		ret = start_error(PTR_ERR(id));
		goto unlock;
	}
	WRITE_ONCE(ep->cm_id, id);
	if (timeout != DAT_TIMEOUT_INFINITE)
		queue_delayed_work(kdapl_wq, &ep->timeout_work,
				   usecs_to_jiffies(timeout));
unlock:
	mutex_unlock(&ep->mutex);
	dat_object_leave(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_connect);

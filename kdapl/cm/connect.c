// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * connect.c - handles the events of rdma_cm
 *
 * Every rdma_cm_id of kdapl has the handler in this file. Its context is the object
 * that owns the id: a service point, a CR or an EP. For an EP the handler moves the EP
 * through its states, connects the QP and reports connection events. rdma_cm calls the
 * handler in process context, with the handler lock of the id.
 */
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "cm/cm.h"
#include "dev/addr.h"
#include "dev/ia.h"
#include "ep/ep.h"

#define ESTABLISHING	(EP_IN(ACTIVE_CONNECTION_PENDING) | \
			 EP_IN(COMPLETION_PENDING))

static void save_private_data(struct dat_ep *ep, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;

	ep->in_data_len = conn->private_data ? conn->private_data_len : 0;
	memcpy(ep->in_data, conn->private_data, ep->in_data_len);
}

static void established(struct dat_ep *ep, struct rdma_cm_id *id)
{
	if (!dat_ep_move(ep, ESTABLISHING, DAT_EP_STATE_CONNECTED)) {
		/* The consumer has disconnected before the peer could be notified. */
		rdma_disconnect(id);
		return;
	}
	dat_ep_owe_linger(ep);
	cancel_delayed_work(&ep->timeout_work);
	dat_ep_connect_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	/* A receive may have failed before the last message of the set-up arrived. */
	if (dat_ep_has_failed(ep) || dat_watermarks_exceeded(ep))
		dat_ep_break_soon(ep);
}

/* False if the consumer has disconnected meanwhile. */
static bool is_connecting(struct dat_ep *ep)
{
	return dat_ep_state(ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
}

/* The passive side reports every failure by the same event. */
static void failed(struct dat_ep *ep, DAT_EVENT_NUMBER number)
{
	if (ep->passive)
		number = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	/* A change of the peer's address makes a connected peer unreachable, for rdma_cm. */
	if (BIT(dat_ep_state(ep)) & ESTABLISHING)
		ep->linger_owed = false;
	cancel_delayed_work(&ep->timeout_work);
	dat_ep_disconnected(ep, ESTABLISHING, number);
}

/* The peer has accepted. On InfiniBand the active side sends the last message. */
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
		established(ep, id);
	}
}

/* Handles the end of a connection, or of an attempt to connect. */
static void ended(struct dat_ep *ep, DAT_EVENT_NUMBER if_connecting)
{
	failed(ep, if_connecting);
	ep->linger_owed = false;
	dat_ep_disconnected(ep, EP_IN(CONNECTED) | EP_IN(DISCONNECT_PENDING),
			    DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void disconnected(struct dat_ep *ep, struct rdma_cm_id *id)
{
	/*
	 * Only a connected peer sends a DREQ. The message that the peer is connected may
	 * arrive after the DREQ: ib_cm has a work queue for each processor.
	 */
	if (!ep->iwarp && dat_ep_state(ep) == DAT_EP_STATE_COMPLETION_PENDING)
		established(ep, id);
	/* On iWARP a peer rejects by closing TCP instead of answering. */
	ended(ep, ep->iwarp ? DAT_CONNECTION_EVENT_PEER_REJECTED :
			      DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* The peer waits for the answer to its disconnect. */
	rdma_disconnect(id);
}

/*
 * On InfiniBand the active side is connected before the passive side. A peer that accepts
 * and disconnects before it is connected sends a rejection.
 */
static void rejected(struct dat_ep *ep, struct rdma_cm_id *id,
		     struct rdma_cm_event *event)
{
	bool by_peer;

	if (rdma_cap_ib_cm(id->device, id->port_num))
		by_peer = event->status == IB_CM_REJ_CONSUMER_DEFINED;
	else
		/* The peer has accepted TCP, so it is the peer that refuses or resets. */
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
	    rdma_resolve_route(id, DAT_RESOLVE_TIMEOUT_MS))
		failed(ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* Converts an error of rdma_connect(). On iWARP the error may be one of TCP. */
static DAT_EVENT_NUMBER failed_request(int err)
{
	switch (err) {
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return DAT_CONNECTION_EVENT_UNREACHABLE;
	case -ECONNREFUSED:
	case -ECONNRESET:
		return DAT_CONNECTION_EVENT_PEER_REJECTED;
	default:
		return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	}
}

/* Lets a work item of the user do the next step. Once the EP is DISCONNECTED, none does. */
static void queue_step(struct dat_ep *ep, void (*step)(struct dat_ep *ep))
{
	ep->connect_step = step;
	queue_work(dat_wq(&ep->obj), &ep->connect_work);
}

static void request(struct dat_ep *ep, struct rdma_cm_id *id)
{
	int ret;

	if (!is_connecting(ep))
		return;
	ret = rdma_connect_locked(id, &ep->conn);
	if (ret == -EADDRINUSE && ep->iwarp && ep->port_tries++ < DAT_PORT_TRIES)
		queue_step(ep, dat_ep_connect_again);
	else if (ret)
		failed(ep, failed_request(ret));
}

/*
 * All that destroy the id cancel this work first. The lock of the handler is held as in a
 * handler, so that none runs meanwhile.
 */
static void request_unhurried(struct dat_ep *ep)
{
	struct rdma_cm_id *id;

	mutex_lock(&ep->mutex);
	id = is_connecting(ep) ? ep->cm_id : NULL;
	if (id)
		rdma_lock_handler(id);
	mutex_unlock(&ep->mutex);
	if (!id)
		return;
	request(ep, id);
	rdma_unlock_handler(id);
}

/*
 * A driver of iWARP may wait until TCP is connected. Handlers run in the only worker of
 * rdma_cm, where the connections of all users would wait with it.
 */
static void route_resolved(struct dat_ep *ep, struct rdma_cm_id *id)
{
	if (!ep->iwarp)
		request(ep, id);
	else if (is_connecting(ep))
		queue_step(ep, request_unhurried);
}

static void connect_event(struct dat_ep *ep, struct rdma_cm_id *id,
			  struct rdma_cm_event *event)
{
	/* See ep_notify_work(). */
	WRITE_ONCE(ep->cm_event, true);
	wake_up_all(&ep->idle_wq);

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		resolve_route(ep, id);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		route_resolved(ep, id);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		accepted_by_peer(ep, id, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		/* On InfiniBand only the passive side gets this event, on iWARP both. */
		if (!ep->passive)
			save_private_data(ep, event);
		established(ep, id);
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

/* The handler must not take an EP's mutex: ids are destroyed under that mutex. */
static int cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dat_object *obj = id->context;

	switch (obj->type) {
	case DAT_HANDLE_TYPE_PSP:
	case DAT_HANDLE_TYPE_RSP:
	case DAT_HANDLE_TYPE_CSP:
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			return dat_cr_request(to_sp(obj), id, event);
		break;
	case DAT_HANDLE_TYPE_EP:
		connect_event(to_ep(obj), id, event);
		break;
	default:
		/* If the peer has given up, dat_cr_accept() reports it. */
		break;
	}
	return 0;
}

/**
 * dat_cm_create_id - create an id of rdma_cm
 * @ia: the IA
 * @obj: head of the service point or EP that owns the id, allocated
 *
 * Context: process, may sleep.
 * Return: the id, for rdma_destroy_id(), or an ERR_PTR().
 */
struct rdma_cm_id *dat_cm_create_id(struct dat_ia *ia, struct dat_object *obj)
{
	return rdma_create_id(ia->net, cm_handler, obj, RDMA_PS_TCP, IB_QPT_RC);
}

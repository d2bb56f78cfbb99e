// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * connect.c - handles events of rdma_cm for the connection of an EP
 *
 * Moves the EP through its states, connects the QP and reports connection events.
 * dat_cm_handler() calls it in process context, with the handler lock of the id.
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
	if (READ_ONCE(ep->failed) || dat_watermarks_exceeded(ep))
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

static void request(struct dat_ep *ep, struct rdma_cm_id *id)
{
	int ret;

	if (!is_connecting(ep))
		return;
	ret = rdma_connect_locked(id, &ep->conn);
	if (ret == -EADDRINUSE && ep->iwarp &&
	    ep->port_tries++ < DAT_PORT_TRIES) {
		ep->connect_again = dat_ep_connect_again;
		queue_work(dat_wq(&ep->obj), &ep->again_work);
	} else if (ret) {
		failed(ep, failed_request(ret));
	}
}

/**
 * dat_connect_event - handle an event of rdma_cm for the connection of an EP
 * @ep: the EP
 * @id: id of the connection
 * @event: the event of rdma_cm
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

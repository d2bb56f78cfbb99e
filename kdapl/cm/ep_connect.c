// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_connect.c - starts the connection of an EP to a remote service point
 *
 * Creates the id, from the address of the IA, and resolves the remote address; connect.c
 * handles the events that follow. Consumers call these functions in process context.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <rdma/rdma_cm.h>

#include "base/calls.h"
#include "cm/cm.h"
#include "dev/addr.h"
#include "dev/ia.h"
#include "ep/ep.h"

/**
 * struct peer - remote service point, and how to connect
 * @addr: address and port
 * @timeout: as for dat_ep_connect()
 * @data_size: as @private_data_size of dat_ep_connect()
 * @data: as @private_data of dat_ep_connect()
 * @tos: type of service; 0 for the quality of service of the EP's attributes
 */
struct peer {
	struct sockaddr_storage addr;
	u8 tos;
	DAT_TIMEOUT timeout;
	DAT_COUNT data_size;
	const void *data;
};

/* Creates an id and starts resolving @dst, from the IA's own address. */
static struct rdma_cm_id *start(struct dat_ep *ep, struct sockaddr_storage *dst)
{
	struct sockaddr_storage src = *dat_addr(ep->obj.ia);
	struct rdma_cm_id *id;
	int ret;

	id = dat_cm_create_id(ep->obj.ia, &ep->obj);
	if (IS_ERR(id))
		return id;
	rdma_set_service_type(id, ep->tos);
	ret = rdma_resolve_addr(id, src.ss_family == dst->ss_family ?
					    (struct sockaddr *)&src : NULL,
				(struct sockaddr *)dst, DAT_RESOLVE_TIMEOUT_MS);
	if (ret) {
		rdma_destroy_id(id);
		return ERR_PTR(ret);
	}
	return id;
}

/**
 * dat_ep_connect_again - retry a connection with another local port
 * @ep: the EP
 *
 * rdma_cm chooses ports without asking TCP, so another socket may use the port.
 *
 * Context: process, may sleep.
 */
void dat_ep_connect_again(struct dat_ep *ep)
{
	struct rdma_cm_id *id, *old;

	mutex_lock(&ep->mutex);
	/* The consumer may have disconnected meanwhile. */
	if (dat_ep_state(ep) != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		goto unlock;
	old = ep->cm_id;
	id = start(ep, &old->route.addr.dst_addr);
	if (IS_ERR(id)) {
		dat_ep_disconnected(ep, EP_IN(ACTIVE_CONNECTION_PENDING),
				    DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		goto unlock;
	}
	WRITE_ONCE(ep->cm_id, id);
	rdma_destroy_id(old);
unlock:
	mutex_unlock(&ep->mutex);
}

static DAT_RETURN start_error(int err)
{
	switch (err) {
	case -ENOMEM:
	case -ENOBUFS:	/* the routing code's error for lack of memory */
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

/* Starts to connect. The mutex is held. */
static DAT_RETURN begin(struct dat_ep *ep, struct peer *peer)
{
	struct rdma_cm_id *id;

	if (!dat_ep_move(ep, EP_IN(UNCONNECTED),
			 DAT_EP_STATE_ACTIVE_CONNECTION_PENDING))
		return dat_ep_state_error(dat_ep_state(ep));
	memcpy(ep->out_data, peer->data, peer->data_size);
	ep->port_tries = 0;
	ep->tos = peer->tos;
	if (!ep->tos)
		dat_qos_tos(ep->attr.qos, &ep->tos);
	ep->passive = false;
	ep->conn = (struct rdma_conn_param){
		.private_data = ep->out_data,
		.private_data_len = peer->data_size,
		.responder_resources = ep->attr.max_rdma_read_in,
		.initiator_depth = ep->attr.max_rdma_read_out,
		.flow_control = 1,
		.retry_count = DAT_EP_RETRIES,
		.rnr_retry_count = 7,
		.srq = !!ep->srq,
		.qp_num = ep->qp->qp_num,
	};

	id = start(ep, &peer->addr);
	if (IS_ERR(id)) {
		dat_ep_move(ep, EP_IN(ACTIVE_CONNECTION_PENDING),
			    DAT_EP_STATE_UNCONNECTED);
		return start_error(PTR_ERR(id));
	}
	WRITE_ONCE(ep->cm_id, id);
	if (peer->timeout != DAT_TIMEOUT_INFINITE)
		queue_delayed_work(dat_wq(&ep->obj), &ep->timeout_work,
				   usecs_to_jiffies(peer->timeout));
	return DAT_SUCCESS;
}

static DAT_RETURN connect_ep(DAT_EP_HANDLE ep_handle, struct peer *peer)
{
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;

	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);
	dat_addr_find(obj->ia);
	mutex_lock(&ep->mutex);
	ret = begin(ep, peer);
	mutex_unlock(&ep->mutex);
	dat_object_put_live(obj);
	return ret;
}

/* Checks the common arguments; @arg is the position of the timeout in the call. */
static DAT_RETURN check_common(const struct peer *peer, int arg)
{
	if (!peer->timeout)
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg - 1);
	if (peer->data_size < 0 || peer->data_size > DAT_MAX_PRIVATE_DATA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + arg);
	if (peer->data_size && !peer->data)
		return DAT_ERROR(DAT_INVALID_PARAMETER,
				 DAT_INVALID_ARG1 + arg + 1);
	return DAT_SUCCESS;
}

static DAT_RETURN set_qos(struct peer *peer, DAT_QOS qos)
{
	if (!dat_qos_tos(qos, &peer->tos))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static DAT_RETURN check_flags(DAT_CONNECT_FLAGS flags)
{
	if (flags & ~(DAT_CONNECT_MULTIPATH_REQUESTED_FLAG |
		      DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	if (flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static DAT_RETURN set_addr(struct peer *peer, DAT_IA_ADDRESS_PTR addr)
{
	if (!addr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!dat_addr_is_valid(addr))
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_UNSUPPORTED);
	memcpy(&peer->addr, addr, dat_addr_size(addr));
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_connect - connect an EP to a remote service point
 * @ep_handle: the EP, UNCONNECTED
 * @remote_ia_address: address of the remote IA, IPv4 or IPv6
 * @remote_conn_qual: connection qualifier of the service point, not 0
 * @timeout: microseconds until kdapl gives up, at least 1, or DAT_TIMEOUT_INFINITE
 * @private_data_size: bytes of @private_data, from 0 to 56
 * @private_data: passed to the peer unchanged
 * @qos: DAT_QOS_*: sets the DSCP of the packets; the network decides how to treat
 *	them. DAT_QOS_BEST_EFFORT for the quality of the EP's attributes.
 * @connect_flags: DAT_CONNECT_DEFAULT_FLAG; DAT_CONNECT_MULTIPATH_REQUESTED_FLAG has no
 *	effect, because there is only one path; DAT_CONNECT_MULTIPATH_REQUIRED_FLAG fails
 *
 * kdapl reports the outcome on the EP's connect EVD. Specification:
 * dat_ep_connect().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_ADDRESS, DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ep_connect(DAT_EP_HANDLE ep_handle,
			    DAT_IA_ADDRESS_PTR remote_ia_address,
			    DAT_CONN_QUAL remote_conn_qual,
			    DAT_TIMEOUT timeout,
			    DAT_COUNT private_data_size,
			    const void *private_data,
			    DAT_QOS qos, DAT_CONNECT_FLAGS connect_flags)
{
	struct peer peer = {
		.timeout = timeout,
		.data_size = private_data_size,
		.data = private_data,
	};
	DAT_RETURN ret;

	might_sleep();
	ret = set_addr(&peer, remote_ia_address);
	if (ret)
		return ret;
	if (!remote_conn_qual)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = check_common(&peer, 4);
	if (!ret)
		ret = set_qos(&peer, qos);
	if (!ret)
		ret = check_flags(connect_flags);
	if (ret)
		return ret;
	dat_addr_set_port(&peer.addr, dat_qual_port(remote_conn_qual));
	return connect_ep(ep_handle, &peer);
}

/**
 * kdapl_ep_common_connect - connect an EP to an address and port, as a socket does
 * @ep_handle: the EP, UNCONNECTED
 * @remote_ia_address: address of the remote IA, IPv4 or IPv6, and the port of a CSP or
 *	PSP
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 *
 * Specification: dat_ep_common_connect(), DAT 2.0.
 *
 * Context: process, may sleep.
 * Return: as dat_ep_connect().
 */
DAT_RETURN kdapl_ep_common_connect(DAT_EP_HANDLE ep_handle,
				   DAT_IA_ADDRESS_PTR remote_ia_address,
				   DAT_TIMEOUT timeout,
				   DAT_COUNT private_data_size,
				   const void *private_data)
{
	struct peer peer = {
		.timeout = timeout,
		.data_size = private_data_size,
		.data = private_data,
	};
	DAT_RETURN ret;

	might_sleep();
	ret = set_addr(&peer, remote_ia_address);
	if (ret)
		return ret;
	if (!dat_addr_port(&peer.addr))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = check_common(&peer, 3);
	if (ret)
		return ret;
	return connect_ep(ep_handle, &peer);
}

/* Gets the address that a connected EP was connected to. */
static DAT_RETURN find_other_end(struct dat_ep *ep, struct peer *peer)
{
	DAT_EP_STATE state;

	mutex_lock(&ep->mutex);
	state = dat_ep_state(ep);
	if (state == DAT_EP_STATE_CONNECTED)
		peer->addr = ep->cm_id->route.addr.dst_addr;
	mutex_unlock(&ep->mutex);
	return state == DAT_EP_STATE_CONNECTED ? DAT_SUCCESS :
						 dat_ep_state_error(state);
}

/**
 * kdapl_ep_dup_connect - connect an EP to the peer of another EP
 * @ep_handle: the EP, UNCONNECTED
 * @ep_dup_handle: an EP of the same IA, CONNECTED
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 * @qos: as for dat_ep_connect()
 *
 * kdapl connects to the address and connection qualifier of the other end. If the other
 * end was the active side, no service point listens there, and the request is rejected.
 * Specification: dat_ep_dup_connect().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE (of either), DAT_INVALID_ADDRESS, DAT_MODEL_NOT_SUPPORTED,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ep_dup_connect(DAT_EP_HANDLE ep_handle,
				DAT_EP_HANDLE ep_dup_handle,
				DAT_TIMEOUT timeout,
				DAT_COUNT private_data_size,
				const void *private_data, DAT_QOS qos)
{
	struct peer peer = {
		.timeout = timeout,
		.data_size = private_data_size,
		.data = private_data,
	};
	struct dat_object *obj, *dup;
	DAT_RETURN ret;

	might_sleep();
	ret = check_common(&peer, 3);
	if (!ret)
		ret = set_qos(&peer, qos);
	if (ret)
		return ret;
	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	dup = dat_object_get(ep_dup_handle, DAT_HANDLE_TYPE_EP);
	if (dup && dup->ia == obj->ia)
		ret = find_other_end(to_ep(dup), &peer);
	else
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (dup)
		dat_object_put(dup);
	dat_object_put_live(obj);
	return ret ?: connect_ep(ep_handle, &peer);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_reserve.c - EPs that a service point or a connection request uses
 *
 * A service point reserves a consumer's EP or creates one for the consumer. The request
 * takes the EP over, and accept or reject releases it. cm/ calls these in process
 * context.
 */
#include "dev/ia.h"
#include "ep/ep.h"

/**
 * dat_ep_reserve - reserve a consumer's EP for a service point
 * @ia: the IA of the service point; the EP must belong to it
 * @handle: the consumer's handle
 * @epp: out: the EP, RESERVED, used and referenced, for dat_ep_unreserve()
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE (it is not
 * UNCONNECTED).
 */
DAT_RETURN dat_ep_reserve(struct dat_ia *ia, DAT_EP_HANDLE handle,
			  struct dat_ep **epp)
{
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_EP);
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	struct dat_ep *ep;

	if (!obj)
		return ret;
	if (obj->ia != ia || !dat_object_use_get(obj))
		goto put;
	ep = to_ep(obj);
	mutex_lock(&ep->mutex);
	ret = DAT_SUCCESS;
	if (!dat_ep_move(ep, EP_IN(UNCONNECTED), DAT_EP_STATE_RESERVED))
		ret = dat_ep_state_error(dat_ep_state(ep));
	mutex_unlock(&ep->mutex);
	if (ret)
		goto unuse;
	*epp = ep;
	return DAT_SUCCESS;

unuse:
	dat_object_use_put(obj);
put:
	dat_object_put(obj);
	return ret;
}

/**
 * dat_ep_provide - create an EP for a consumer that passes none
 * @ia: the IA
 * @state: UNCONFIGURED_RESERVED or UNCONFIGURED_TENTATIVE
 * @reads_in: RDMA reads that the peer requests to have outstanding
 * @reads_out: RDMA reads that the peer can serve
 * @epp: out: the EP, used and referenced, for dat_ep_unreserve()
 *
 * The EP has neither PZ nor EVDs: the consumer sets them with dat_ep_modify().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR.
 */
DAT_RETURN dat_ep_provide(struct dat_ia *ia, DAT_EP_STATE state, u8 reads_in,
			  u8 reads_out, struct dat_ep **epp)
{
	const struct ib_device_attr *dev = &dat_ia_ibdev(ia)->attrs;
	DAT_EP_ATTR wanted = {
		.max_rdma_read_in = min_t(int, reads_in, dev->max_qp_rd_atom),
		.max_rdma_read_out = min_t(int, reads_out,
					   dev->max_qp_init_rd_atom),
	};
	struct dat_ep *ep = dat_ep_new(ia);
	DAT_RETURN ret;

	if (!ep)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	ep->state = state;
	ret = dat_ep_attr_check(ia, &wanted, &ep->attr);
	if (ret)
		goto put;
	/* Before the EP is published: then a consumer can try to free it. */
	dat_object_use_get(&ep->obj);
	kref_get(&ep->obj.ref);
	ret = dat_object_publish(&ep->obj);
	if (ret)
		goto put_twice;
	*epp = ep;
	return DAT_SUCCESS;

put_twice:
	dat_object_put(&ep->obj);
put:
	dat_object_put(&ep->obj);
	return ret;
}

/**
 * dat_ep_set_peer - set the address of the peer that requests a connection
 * @ep: the EP, whose mutex the caller holds
 * @peer: address of the peer; NULL if there is none any more
 * @port: port of the service point
 *
 * Once the EP has an id, dat_ep_query() reads the address from the id. Context: process.
 */
void dat_ep_set_peer(struct dat_ep *ep, const struct sockaddr_storage *peer,
		     u16 port)
{
	lockdep_assert_held(&ep->mutex);
	if (peer)
		ep->remote_addr = *peer;
	else
		memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
	ep->local_port = port;
}

/**
 * dat_ep_now_pending - move a reserved EP to the pending state when its request arrives
 * @ep: the EP of an RSP
 * @peer: address of the peer
 * @port: port of the RSP
 *
 * Context: process, may sleep.
 * Return: false if the EP is no longer reserved.
 */
bool dat_ep_now_pending(struct dat_ep *ep, const struct sockaddr_storage *peer,
			u16 port)
{
	bool ok;

	/* Under the mutex, because dat_ep_modify() may be configuring the EP. */
	mutex_lock(&ep->mutex);
	ok = dat_ep_move(ep, EP_IN(RESERVED),
			 DAT_EP_STATE_PASSIVE_CONNECTION_PENDING) ||
	     dat_ep_move(ep, EP_IN(UNCONFIGURED_RESERVED),
			 DAT_EP_STATE_UNCONFIGURED_PASSIVE);
	if (ok)
		dat_ep_set_peer(ep, peer, port);
	mutex_unlock(&ep->mutex);
	return ok;
}

/**
 * dat_ep_unreserve - end the use of an EP by a service point or connection request
 * @ep: the EP; the reference remains the caller's
 * @is_ours: the EP came from dat_ep_provide(), and is destroyed
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 */
void dat_ep_unreserve(struct dat_ep *ep, bool is_ours)
{
	mutex_lock(&ep->mutex);
	if (!is_ours && dat_ep_move(ep, EP_IN(RESERVED) |
					EP_IN(PASSIVE_CONNECTION_PENDING),
				    DAT_EP_STATE_UNCONNECTED))
		dat_ep_set_peer(ep, NULL, 0);
	mutex_unlock(&ep->mutex);
	dat_object_use_put(&ep->obj);
	if (is_ours && dat_object_claim(&ep->obj))
		dat_object_retire(&ep->obj);
}

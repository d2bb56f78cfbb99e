// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sp.c - the common part of PSPs, RSPs and CSPs
 *
 * A service point owns a listening id and a use of the EVD for its requests. psp.c, rsp.c
 * and csp.c call these functions in process context. The handler of rdma_cm runs for the
 * id until dat_sp_stop() returns.
 */
#include <linux/slab.h>
#include <rdma/ib_addr.h>

#include "base/account.h"
#include "cm/cm.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "queue/evd.h"

#define BACKLOG		128

/**
 * dat_sp_stop - stop listening
 * @sp: the service point
 *
 * Waits for the handler of rdma_cm: no request arrives after the call.
 * Context: process, may sleep; not the handler.
 */
void dat_sp_stop(struct dat_sp *sp)
{
	struct rdma_cm_id *id = xchg(&sp->id, NULL);

	if (id)
		rdma_destroy_id(id);
}

static void sp_shutdown(struct dat_object *obj)
{
	struct dat_sp *sp = to_sp(obj);

	dat_sp_stop(sp);
	dat_object_use_put(&sp->evd->obj);
}

static void sp_release(struct dat_object *obj)
{
	struct dat_sp *sp = to_sp(obj);

	if (sp->cr)
		dat_object_put(&sp->cr->obj);
	if (sp->ep)
		dat_object_put(&sp->ep->obj);
	dat_object_put(&sp->evd->obj);
	kfree(sp);
}

static const struct dat_object_ops sp_ops = {
	.shutdown = sp_shutdown,
	.release = sp_release,
};

/**
 * dat_sp_new - create a service point, with a handle, that does not listen yet
 * @ia: the IA
 * @type: DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP or DAT_HANDLE_TYPE_CSP
 * @evd_handle: EVD for connection requests
 * @spp: out: the service point, with a reference for the caller
 *
 * Requests name the handle, so the handle exists before the first request. A consumer
 * that gets the first request may free the service point while the caller still uses it.
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_sp_new(struct dat_ia *ia, DAT_HANDLE_TYPE type,
		      DAT_EVD_HANDLE evd_handle, struct dat_sp **spp)
{
	struct dat_object *evd_obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	evd_obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd_obj || evd_obj->ia != ia ||
	    !(to_evd(evd_obj)->flags & DAT_EVD_CR_FLAG) ||
	    !dat_object_use_get(evd_obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
		goto put_evd;
	}
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	sp = kzalloc(sizeof(*sp), GFP_KERNEL_ACCOUNT);
	if (!sp)
		goto unuse_evd;
	sp->id = rdma_create_id(ia->net, dat_cm_handler, &sp->obj,
				RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(sp->id)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_DEVICE);
		goto free;
	}
	sp->evd = to_evd(evd_obj);

	/* From here dat_object_shutdown() and dat_object_put() destroy @sp. */
	dat_object_init(&sp->obj, type, &ia->owner, &sp_ops);
	kref_get(&sp->obj.ref);
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (dat_object_charge(&sp->obj, sizeof(*sp) + DAT_BYTES_CM_ID +
					DAT_BYTES_HANDLE))
		ret = dat_object_publish(&sp->obj);
	if (ret) {
		dat_object_shutdown(&sp->obj);
		dat_object_put(&sp->obj);
		dat_object_put(&sp->obj);
		return ret;
	}
	*spp = sp;
	return DAT_SUCCESS;

free:
	kfree(sp);
unuse_evd:
	dat_object_use_put(evd_obj);
put_evd:
	if (evd_obj)
		dat_object_put(evd_obj);
	return ret;
}

/* Replaces the id, because an id that failed to listen cannot be bound again. */
static int renew_id(struct dat_sp *sp)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(sp->obj.ia->net, dat_cm_handler, &sp->obj,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	rdma_destroy_id(sp->id);
	sp->id = id;
	return 0;
}

/* Does the address still exist? If so, it has no free port. */
static bool is_there(struct dat_sp *sp, const struct sockaddr_storage *addr)
{
	struct rdma_dev_addr dev_addr = { .net = sp->obj.ia->net };

	return !rdma_translate_ip((const struct sockaddr *)addr, &dev_addr);
}

static int bind_and_listen(struct dat_sp *sp,
			   const struct sockaddr_storage *addr)
{
	int ret;

	sp->addr = *addr;
	ret = rdma_bind_addr(sp->id, (struct sockaddr *)&sp->addr);
	if (ret)
		return ret;
	if (sp->id->device != dat_ia_ibdev(sp->obj.ia) ||
	    sp->id->port_num != sp->obj.ia->port)
		return -ENODEV;
	/* Set before the first request, whose event reports them. */
	sp->addr = sp->id->route.addr.src_addr;
	sp->conn_qual = dat_addr_port(&sp->addr);
	return rdma_listen(sp->id, BACKLOG);
}

/**
 * dat_sp_listen - start listening
 * @sp: the service point, from dat_sp_new()
 * @addr: address of the IA, and port; port 0 for a free one
 *
 * Only rdma_cm checks whether the caller may use a privileged port.
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 * Return: DAT_SUCCESS, DAT_CONN_QUAL_IN_USE, DAT_CONN_QUAL_UNAVAILABLE,
 * DAT_INVALID_ADDRESS (it is not the IA's), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_sp_listen(struct dat_sp *sp,
			 const struct sockaddr_storage *addr)
{
	bool any = !dat_addr_port(addr);
	int tries, ret;

	for (tries = 1; ; tries++) {
		ret = bind_and_listen(sp, addr);
		if (ret != -EADDRINUSE || !any || tries == DAT_PORT_TRIES)
			break;
		ret = renew_id(sp);
		if (ret)
			break;
	}
	switch (ret) {
	case 0:
		return DAT_SUCCESS;
	case -EADDRINUSE:
		if (any)
			goto unavailable;
		return DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case -EADDRNOTAVAIL:
		if (any && is_there(sp, addr))
			goto unavailable;
		fallthrough;
	case -ENODEV:
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_UNSUPPORTED);
	case -EACCES:
		goto unavailable;
	default:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_DEVICE);
	}

unavailable:
	return DAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
}

/**
 * dat_sp_listen_qual - start listening on the IA's own address
 * @sp: the service point, from dat_sp_new()
 * @qual: the connection qualifier, at most 65535; 0 for a free one
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 * Return: DAT_SUCCESS, DAT_CONN_QUAL_IN_USE, DAT_CONN_QUAL_UNAVAILABLE,
 * DAT_INSUFFICIENT_RESOURCES (also: the IA has no address).
 */
DAT_RETURN dat_sp_listen_qual(struct dat_sp *sp, DAT_CONN_QUAL qual)
{
	struct sockaddr_storage addr;
	DAT_RETURN ret;

	dat_addr_find(sp->obj.ia);
	addr = *dat_addr(sp->obj.ia);
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	if (addr.ss_family == AF_UNSPEC)
		return ret;
	dat_addr_set_port(&addr, qual);
	/* A removed address is not an error of the consumer. */
	switch (DAT_GET_TYPE(dat_sp_listen(sp, &addr))) {
	case DAT_SUCCESS:
		return DAT_SUCCESS;
	case DAT_CONN_QUAL_IN_USE:
		return DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case DAT_CONN_QUAL_UNAVAILABLE:
		return DAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	default:
		return ret;
	}
}

/**
 * dat_sp_drop - free a service point after an error of its creation
 * @sp: the service point, which does not listen
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 */
void dat_sp_drop(struct dat_sp *sp)
{
	if (dat_object_claim(&sp->obj))
		dat_object_retire(&sp->obj);
}

static struct dat_sp *find_in(struct dat_ia *ia, DAT_HANDLE_TYPE type,
			      DAT_CONN_QUAL qual)
{
	struct dat_sp *found = NULL;
	struct dat_object *obj;

	spin_lock_bh(&ia->owner.lock);
	list_for_each_entry(obj, &ia->owner.objects[type], node) {
		if (to_sp(obj)->conn_qual == qual &&
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

/**
 * dat_sp_find - look up the service point of a connection qualifier
 * @ia: an IA of the same port and network namespace
 * @qual: the connection qualifier
 *
 * The service point may belong to another IA and another consumer.
 *
 * Context: process, may sleep.
 * Return: the service point, referenced; or NULL.
 */
struct dat_sp *dat_sp_find(struct dat_ia *ia, DAT_CONN_QUAL qual)
{
	static const DAT_HANDLE_TYPE types[] = {
		DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_CSP,
	};
	struct dat_sp *found = NULL;
	struct dat_ia *other;
	size_t i;

	mutex_lock(&ia->dev->lock);
	list_for_each_entry(other, &ia->dev->ias, dev_node) {
		if (other->port != ia->port || other->net != ia->net)
			continue;
		for (i = 0; i < ARRAY_SIZE(types) && !found; i++)
			found = find_in(other, types[i], qual);
		if (found)
			break;
	}
	mutex_unlock(&ia->dev->lock);
	return found;
}

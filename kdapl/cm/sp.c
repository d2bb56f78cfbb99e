// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sp.c - service points: PSPs, RSPs and CSPs
 *
 * A service point owns a listening id and a use of the EVD for its requests. A PSP or a
 * CSP listens for any number of requests. An RSP listens for one, and uses an EP until the
 * request arrives. Consumers call these functions in process context. cr_request.c
 * handles the requests. The handler of rdma_cm runs for the id until dat_sp_stop()
 * returns.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/ib_addr.h>

#include "base/account.h"
#include "base/calls.h"
#include "cm/cm.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "queue/evd.h"

#define BACKLOG		128

/* RDMA reads in and out of a provided EP: the peer's limits are not known yet. */
#define PROVIDED_READS	4

/**
 * struct sp_param - parameters of a new service point
 * @type: DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP or DAT_HANDLE_TYPE_CSP
 * @evd_handle: EVD for connection requests
 * @qual: of a PSP or RSP: in: the connection qualifier, 0 for a free one; out: the
 *	actual one
 * @flags: of a PSP: as for dat_psp_create()
 * @ep_handle: of an RSP: as for dat_rsp_create()
 * @comm: of a CSP: as for dat_csp_create()
 * @address: of a CSP: address and port
 */
struct sp_param {
	DAT_HANDLE_TYPE type;
	DAT_EVD_HANDLE evd_handle;
	DAT_CONN_QUAL qual;
	DAT_PSP_FLAGS flags;
	DAT_EP_HANDLE ep_handle;
	const DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address;
};

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

/*
 * Creates a service point, with a handle, that does not listen yet. Requests name the
 * handle, so the handle exists before the first request. A consumer that gets the first
 * request may free the service point, so the caller gets a reference.
 */
static DAT_RETURN sp_new(struct dat_ia *ia, const struct sp_param *param,
			 struct dat_sp **spp)
{
	struct dat_object *evd_obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	evd_obj = dat_object_get(param->evd_handle, DAT_HANDLE_TYPE_EVD);
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
	sp->id = dat_cm_create_id(ia, &sp->obj);
	if (IS_ERR(sp->id)) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_DEVICE);
		goto free;
	}
	sp->evd = to_evd(evd_obj);
	sp->flags = param->flags;

	/* From here dat_object_shutdown() and dat_object_put() destroy @sp. */
	dat_object_init(&sp->obj, param->type, &ia->owner, &sp_ops);
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
	struct rdma_cm_id *id = dat_cm_create_id(sp->obj.ia, &sp->obj);

	if (IS_ERR(id))
		return PTR_ERR(id);
	rdma_destroy_id(sp->id);
	sp->id = id;
	return 0;
}

/* Does the address still exist? If so, it has no free port. */
static bool address_exists(struct dat_sp *sp, const struct sockaddr_storage *addr)
{
	struct rdma_dev_addr dev_addr = { .net = sp->obj.ia->net };

	return !rdma_translate_ip((const struct sockaddr *)addr, &dev_addr);
}

static int bind_and_listen(struct dat_sp *sp, const struct sockaddr_storage *addr,
			   DAT_CONN_QUAL qual)
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
	sp->conn_qual = qual ?: dat_addr_port(&sp->addr);
	return rdma_listen(sp->id, BACKLOG);
}

/*
 * Listens on an address of the IA; port 0 for a free one. Events report @qual, or the port if
 * @qual is 0. Only rdma_cm checks whether the caller may use a privileged port.
 */
static DAT_RETURN listen_on(struct dat_sp *sp, const struct sockaddr_storage *addr,
			    DAT_CONN_QUAL qual)
{
	bool any = !dat_addr_port(addr);
	int tries, ret;

	for (tries = 1; ; tries++) {
		ret = bind_and_listen(sp, addr, qual);
		if (ret != -EADDRINUSE || !any || tries == DAT_PORT_TRIES)
			break;
		ret = renew_id(sp);
		if (ret)
			break;
	}
	if (ret == -EADDRNOTAVAIL && !(any && address_exists(sp, addr)))
		ret = -ENODEV;
	switch (ret) {
	case 0:
		return DAT_SUCCESS;
	case -EADDRINUSE:
		if (!any)
			return DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
		fallthrough;
	case -EADDRNOTAVAIL:
	case -EACCES:
		return DAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	case -ENODEV:
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_UNSUPPORTED);
	default:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_DEVICE);
	}
}

/* Listens on a connection qualifier of the IA's own address. */
static DAT_RETURN listen_on_qual(struct dat_sp *sp, DAT_CONN_QUAL qual)
{
	DAT_RETURN ret = DAT_ERROR(DAT_INVALID_ADDRESS, DAT_NO_SUBTYPE);
	struct sockaddr_storage addr;

	dat_addr_find(sp->obj.ia);
	addr = *dat_addr(sp->obj.ia);
	if (addr.ss_family != AF_UNSPEC) {
		dat_addr_set_port(&addr, dat_qual_port(qual));
		ret = listen_on(sp, &addr, qual);
	}
	/* An address that is missing or removed is not an error of the consumer. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_ADDRESS)
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_DEVICE);
	return ret;
}

/* Listens on an address and port. A CSP reports a connection qualifier as a port. */
static DAT_RETURN listen_as_socket(struct dat_sp *sp, const struct sp_param *param)
{
	struct sockaddr_storage addr = {};
	DAT_RETURN ret;

	sp->comm = *param->comm;
	memcpy(&addr, param->address, dat_addr_size(param->address));
	ret = listen_on(sp, &addr, 0);
	if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ||
	    DAT_GET_TYPE(ret) == DAT_CONN_QUAL_UNAVAILABLE)
		ret = DAT_ERROR(DAT_PORT_IN_USE, DAT_NO_SUBTYPE);
	return ret;
}

static DAT_RETURN rsp_get_ep(struct dat_sp *sp, DAT_EP_HANDLE ep_handle)
{
	if (ep_handle)
		return dat_ep_reserve(sp->obj.ia, ep_handle, &sp->ep);
	sp->ep_is_ours = true;
	return dat_ep_provide(sp->obj.ia, DAT_EP_STATE_UNCONFIGURED_RESERVED,
			      PROVIDED_READS, PROVIDED_READS, &sp->ep);
}

/* The common body of the create calls. */
static DAT_RETURN sp_create(DAT_IA_HANDLE ia_handle, struct sp_param *param,
			    DAT_HANDLE *handle)
{
	struct dat_object *ia_obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ret = sp_new(to_ia(ia_obj), param, &sp);
	if (ret)
		goto put_ia;
	if (param->type == DAT_HANDLE_TYPE_RSP)
		ret = rsp_get_ep(sp, param->ep_handle);
	if (ret)
		goto retire;
	/* A consumer can free a service point that listens at any time: listen last. */
	if (param->type == DAT_HANDLE_TYPE_CSP)
		ret = listen_as_socket(sp, param);
	else
		ret = listen_on_qual(sp, param->qual);
	if (ret)
		goto unreserve;
	param->qual = sp->conn_qual;
	*handle = sp->obj.handle;
	goto put_sp;

unreserve:
	if (sp->ep)
		dat_ep_unreserve(sp->ep, sp->ep_is_ours);
retire:
	if (dat_object_claim(&sp->obj))
		dat_object_retire(&sp->obj);
put_sp:
	dat_object_put(&sp->obj);
put_ia:
	dat_object_put_live(ia_obj);
	return ret;
}

static DAT_RETURN psp_create(DAT_IA_HANDLE ia_handle, struct sp_param *param,
			     DAT_PSP_HANDLE *psp_handle)
{
	if (param->flags != DAT_PSP_CONSUMER_FLAG &&
	    param->flags != DAT_PSP_PROVIDER_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!psp_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	return sp_create(ia_handle, param, psp_handle);
}

/**
 * kdapl_psp_create - listen on a connection qualifier
 * @ia_handle: the IA
 * @conn_qual: the connection qualifier, not 0: dat_qual_port() is a port of RDMA_PS_TCP on
 *	the IA's address
 * @evd_handle: EVD for connection requests; while it is full kdapl rejects requests
 * @psp_flags: DAT_PSP_CONSUMER_FLAG, or DAT_PSP_PROVIDER_FLAG to let kdapl create an EP
 *	for each request, see dat_cr_query()
 * @psp_handle: out: the handle
 *
 * An EP that kdapl creates for a request has neither PZ nor EVDs. The EP is
 * UNCONFIGURED_TENTATIVE. When dat_ep_modify() sets its PZ the EP is
 * TENTATIVE_CONNECTION_PENDING. Specification: dat_psp_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_CONN_QUAL_IN_USE, DAT_CONN_QUAL_UNAVAILABLE,
 * DAT_INSUFFICIENT_RESOURCES (also: the IA has no address),
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_psp_create(DAT_IA_HANDLE ia_handle,
			    DAT_CONN_QUAL conn_qual,
			    DAT_EVD_HANDLE evd_handle,
			    DAT_PSP_FLAGS psp_flags,
			    DAT_PSP_HANDLE *psp_handle)
{
	struct sp_param param = {
		.type = DAT_HANDLE_TYPE_PSP,
		.evd_handle = evd_handle,
		.qual = conn_qual,
		.flags = psp_flags,
	};

	might_sleep();
	if (!conn_qual)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return psp_create(ia_handle, &param, psp_handle);
}

/**
 * kdapl_psp_create_any - listen on a free connection qualifier
 * @ia_handle: the IA
 * @conn_qual: out: the connection qualifier, not a privileged port
 * @evd_handle: as for dat_psp_create()
 * @psp_flags: as for dat_psp_create()
 * @psp_handle: out: the handle
 *
 * Specification: dat_psp_create_any().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_CONN_QUAL_UNAVAILABLE (none is free), DAT_INSUFFICIENT_RESOURCES (also:
 * the IA has no address), DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_psp_create_any(DAT_IA_HANDLE ia_handle,
				DAT_CONN_QUAL *conn_qual,
				DAT_EVD_HANDLE evd_handle,
				DAT_PSP_FLAGS psp_flags,
				DAT_PSP_HANDLE *psp_handle)
{
	struct sp_param param = {
		.type = DAT_HANDLE_TYPE_PSP,
		.evd_handle = evd_handle,
		.flags = psp_flags,
	};
	DAT_RETURN ret;

	might_sleep();
	if (!conn_qual)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = psp_create(ia_handle, &param, psp_handle);
	if (!ret)
		*conn_qual = param.qual;
	return ret;
}

/**
 * kdapl_psp_query - query the parameters of a PSP
 * @psp_handle: the PSP
 * @psp_param_mask: DAT_PSP_FIELD_*; kdapl fills in all fields
 * @psp_param: out: the parameters
 *
 * Specification: dat_psp_query().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_psp_query(DAT_PSP_HANDLE psp_handle,
			   DAT_PSP_PARAM_MASK psp_param_mask,
			   DAT_PSP_PARAM *psp_param)
{
	struct dat_object *obj;
	struct dat_sp *sp;

	if (psp_param_mask & ~DAT_PSP_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!psp_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get(psp_handle, DAT_HANDLE_TYPE_PSP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	sp = to_sp(obj);
	*psp_param = (struct dat_psp_param){
		.ia_handle = obj->ia->obj.handle,
		.conn_qual = sp->conn_qual,
		.evd_handle = sp->evd->obj.handle,
		.psp_flags = sp->flags,
	};
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_psp_free - stop listening, and free the PSP
 * @psp_handle: the PSP
 *
 * The consumer can still answer requests that have arrived. Their events are queued when
 * the call returns; in an upcall the call does not wait for those of a PSP with
 * DAT_PSP_PROVIDER_FLAG. Specification: dat_psp_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_psp_free(DAT_PSP_HANDLE psp_handle)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	might_sleep();
	obj = dat_object_get(psp_handle, DAT_HANDLE_TYPE_PSP);
	ret = dat_object_free(psp_handle, DAT_HANDLE_TYPE_PSP,
			      DAT_INVALID_HANDLE_PSP, DAT_NO_SUBTYPE);
	/*
	 * A work item may wait until the IA is no longer quiesced. So wait without a live
	 * reference, and not in an upcall: a task that quiesces the IA waits for both.
	 */
	if (!ret && obj && !dat_evd_in_upcall())
		wait_var_event(&to_sp(obj)->reports, !atomic_read(&to_sp(obj)->reports));
	if (obj)
		dat_object_put(obj);
	return ret;
}

/**
 * kdapl_rsp_create - listen for one request that one EP can accept
 * @ia_handle: the IA
 * @conn_qual: the connection qualifier, not 0: dat_qual_port() is a port of RDMA_PS_TCP on
 *	the IA's address
 * @ep_handle: the EP, UNCONNECTED; the call makes it RESERVED. With DAT_HANDLE_NULL kdapl
 *	creates an EP, which dat_rsp_query() returns. That EP is UNCONFIGURED_RESERVED
 *	until dat_ep_modify() sets its PZ.
 * @evd_handle: EVD for the connection request
 * @rsp_handle: out: the handle
 *
 * When the request arrives the RSP stops listening. The EP is then
 * PASSIVE_CONNECTION_PENDING or UNCONFIGURED_PASSIVE, and the answer to the request
 * determines its next state. The RSP no longer affects the EP, and the consumer must free
 * the RSP. Other requests are rejected as if no service point listened.
 * Specification: dat_rsp_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE (of the EP), DAT_CONN_QUAL_IN_USE,
 * DAT_CONN_QUAL_UNAVAILABLE, DAT_INSUFFICIENT_RESOURCES (also: the IA has no
 * address), DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_rsp_create(DAT_IA_HANDLE ia_handle,
			    DAT_CONN_QUAL conn_qual,
			    DAT_EP_HANDLE ep_handle,
			    DAT_EVD_HANDLE evd_handle,
			    DAT_RSP_HANDLE *rsp_handle)
{
	struct sp_param param = {
		.type = DAT_HANDLE_TYPE_RSP,
		.evd_handle = evd_handle,
		.qual = conn_qual,
		.ep_handle = ep_handle,
	};

	might_sleep();
	if (!conn_qual)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!rsp_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	return sp_create(ia_handle, &param, rsp_handle);
}

/**
 * kdapl_rsp_query - query the parameters of an RSP
 * @rsp_handle: the RSP
 * @rsp_param_mask: DAT_RSP_FIELD_*; kdapl fills in all fields
 * @rsp_param: out: the parameters
 *
 * Specification: dat_rsp_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_rsp_query(DAT_RSP_HANDLE rsp_handle,
			   DAT_RSP_PARAM_MASK rsp_param_mask,
			   DAT_RSP_PARAM *rsp_param)
{
	struct dat_object *obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	might_sleep();
	if (rsp_param_mask & ~DAT_RSP_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!rsp_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_open(rsp_handle, DAT_HANDLE_TYPE_RSP,
				  DAT_INVALID_HANDLE_RSP, &ret);
	if (!obj)
		return ret;
	sp = to_sp(obj);
	*rsp_param = (struct dat_rsp_param){
		.ia_handle = obj->ia->obj.handle,
		.conn_qual = sp->conn_qual,
		.evd_handle = sp->evd->obj.handle,
		.ep_handle = sp->ep->obj.handle,
	};
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_rsp_free - stop listening, and free the RSP
 * @rsp_handle: the RSP
 *
 * If no request has arrived, an EP of the consumer is UNCONNECTED again, and an EP that
 * kdapl created is freed. If a request has arrived, the request and its EP remain. A
 * request may arrive during the call: its event is queued when the call returns, or the
 * request is never reported. Specification: dat_rsp_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	struct dat_object *obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	might_sleep();
	obj = dat_object_get_open(rsp_handle, DAT_HANDLE_TYPE_RSP,
				  DAT_INVALID_HANDLE_RSP, &ret);
	if (!obj)
		return ret;
	sp = to_sp(obj);
	if (dat_object_claim(obj)) {
		dat_object_retire(obj);
		if (test_and_set_bit(DAT_RSP_SPENT, &sp->spent))
			dat_rsp_finish(sp);
		else
			dat_ep_unreserve(sp->ep, sp->ep_is_ours);
	} else {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	}
	dat_object_put_live(obj);
	return ret;
}

static DAT_RETURN csp_check(const DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			    const DAT_CSP_HANDLE *csp_handle)
{
	DAT_RETURN ret;

	if (!comm)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!address)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!csp_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ret = dat_comm_check(comm);
	if (ret)
		return ret;
	if (address->sa_family != comm->domain || !dat_addr_is_valid(address))
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_UNSUPPORTED);
	return DAT_SUCCESS;
}

/**
 * kdapl_csp_create - listen on an address and port, as a socket does
 * @ia_handle: the IA
 * @comm: the kind of socket: AF_INET or AF_INET6, SOCK_STREAM, 0 or
 *	IPPROTO_TCP
 * @address: an address that leads to the IA's port, of the family of @comm, and the
 *	port to listen on; port 0 for a free one
 * @evd_handle: EVD for connection requests; while it is full kdapl rejects requests
 * @csp_handle: out: the handle
 *
 * Peers connect to this address and port with dat_ep_common_connect() or
 * dat_ep_connect(). Specification: dat_csp_create(), DAT 2.0.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_ADDRESS (the address does not lead to the IA), DAT_PORT_IN_USE,
 * DAT_COMM_NOT_SUPPORTED, DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the
 * device is removed).
 */
DAT_RETURN kdapl_csp_create(DAT_IA_HANDLE ia_handle,
			    DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			    DAT_EVD_HANDLE evd_handle,
			    DAT_CSP_HANDLE *csp_handle)
{
	struct sp_param param = {
		.type = DAT_HANDLE_TYPE_CSP,
		.evd_handle = evd_handle,
		.comm = comm,
		.address = address,
	};
	DAT_RETURN ret;

	might_sleep();
	ret = csp_check(comm, address, csp_handle);
	return ret ?: sp_create(ia_handle, &param, csp_handle);
}

/**
 * kdapl_csp_query - query the parameters of a CSP
 * @csp_handle: the CSP
 * @csp_param_mask: DAT_CSP_FIELD_*; kdapl fills in all fields
 * @csp_param: out: the parameters; the pointers are valid until the CSP is
 *	freed
 *
 * The address includes the port, also if dat_csp_create() chose the port.
 * Specification: dat_csp_query(), DAT 2.0.
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_csp_query(DAT_CSP_HANDLE csp_handle,
			   DAT_CSP_PARAM_MASK csp_param_mask,
			   DAT_CSP_PARAM *csp_param)
{
	struct dat_object *obj;
	struct dat_sp *sp;

	if (csp_param_mask & ~DAT_CSP_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!csp_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get(csp_handle, DAT_HANDLE_TYPE_CSP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP);
	sp = to_sp(obj);
	*csp_param = (struct dat_csp_param){
		.ia_handle = obj->ia->obj.handle,
		.comm = &sp->comm,
		.address_ptr = (DAT_SOCK_ADDR *)&sp->addr,
		.evd_handle = sp->evd->obj.handle,
	};
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_csp_free - stop listening, and free the CSP
 * @csp_handle: the CSP
 *
 * The consumer can still answer requests that have arrived. Specification:
 * dat_csp_free(), DAT 2.0.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_csp_free(DAT_CSP_HANDLE csp_handle)
{
	might_sleep();
	return dat_object_free(csp_handle, DAT_HANDLE_TYPE_CSP,
			       DAT_INVALID_HANDLE_CSP, DAT_NO_SUBTYPE);
}

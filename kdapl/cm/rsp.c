// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rsp.c - reserved service points: listen for one request, for one EP
 *
 * An RSP uses its EP until the request arrives. Consumers call these functions in process
 * context. sp.c has the parts shared with PSPs and CSPs.
 */
#include <linux/kernel.h>

#include "base/calls.h"
#include "cm/cm.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "queue/evd.h"

/* RDMA reads in and out of a provided EP: the peer's limits are not known yet. */
#define PROVIDED_READS	4

static DAT_RETURN rsp_get_ep(struct dat_sp *sp, DAT_EP_HANDLE ep_handle)
{
	if (ep_handle)
		return dat_ep_reserve(sp->obj.ia, ep_handle, &sp->ep);
	sp->ep_is_ours = true;
	return dat_ep_provide(sp->obj.ia, DAT_EP_STATE_UNCONFIGURED_RESERVED,
			      PROVIDED_READS, PROVIDED_READS, &sp->ep);
}

/**
 * kdapl_rsp_create - listen for one request that one EP can accept
 * @ia_handle: the IA
 * @conn_qual: the connection qualifier: a port of RDMA_PS_TCP, 1 to 65535, on
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
	struct dat_object *ia_obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	might_sleep();
	if (!conn_qual || conn_qual > U16_MAX)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!rsp_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ret = dat_sp_new(to_ia(ia_obj), DAT_HANDLE_TYPE_RSP, evd_handle, &sp);
	if (ret)
		goto leave;
	ret = rsp_get_ep(sp, ep_handle);
	if (ret)
		goto drop;
	/* Once the RSP listens, a consumer can free it at any time: listen last. */
	ret = dat_sp_listen_qual(sp, conn_qual);
	if (ret)
		goto unreserve;
	*rsp_handle = sp->obj.handle;
	goto put;

unreserve:
	dat_ep_unreserve(sp->ep, sp->ep_is_ours);
drop:
	dat_sp_drop(sp);
put:
	dat_object_put(&sp->obj);
leave:
	dat_object_put_live(ia_obj);
	return ret;
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

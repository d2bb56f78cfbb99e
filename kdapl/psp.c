// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * psp.c - public service points: listening for connection requests
 */
#include <linux/slab.h>

#include "addr.h"
#include "cm.h"
#include "evd.h"
#include "ia.h"

#define BACKLOG	128

static void psp_shutdown(struct dat_object *obj)
{
	struct dat_psp *psp = to_psp(obj);

	/* Waits for the handler: no request arrives after this. */
	rdma_destroy_id(psp->id);
	dat_object_unuse(&psp->evd->obj);
}

static void psp_release(struct dat_object *obj)
{
	struct dat_psp *psp = to_psp(obj);

	dat_object_put(&psp->evd->obj);
	kfree(psp);
}

static const struct dat_object_ops psp_ops = {
	.shutdown = psp_shutdown,
	.release = psp_release,
};

/* rdma_cm's privileged ports are not for everybody; it does not check. */
static DAT_RETURN psp_bind(struct dat_psp *psp)
{
	struct sockaddr_storage addr = psp->obj.ia->addr;
	int ret;

	if (addr.ss_family == AF_UNSPEC)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_DEVICE);
	dat_addr_set_port(&addr, psp->conn_qual);
	ret = rdma_bind_addr(psp->id, (struct sockaddr *)&addr);
	if (!ret)
		ret = rdma_listen(psp->id, BACKLOG);
	switch (ret) {
	case 0:
		return DAT_SUCCESS;
	case -EADDRINUSE:
		return DAT_ERROR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case -EACCES:
		return DAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_DEVICE);
	}
}

/**
 * dat_psp_create - listen on a connection qualifier
 * @ia_handle: the IA
 * @conn_qual: the connection qualifier: a port of RDMA_PS_TCP, 1 to 65535, on
 *	the IA's address
 * @evd_handle: EVD for connection requests; when it is full they are rejected
 * @psp_flags: DAT_PSP_CONSUMER_FLAG
 * @psp_handle: out: the handle
 *
 * Specification: dat_psp_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_CONN_QUAL_IN_USE, DAT_CONN_QUAL_UNAVAILABLE,
 * DAT_INSUFFICIENT_RESOURCES (also: the IA has no address),
 * DAT_MODEL_NOT_SUPPORTED, DAT_INTERNAL_ERROR (the device has gone).
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle,
			  DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle,
			  DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	struct dat_object *ia_obj, *evd_obj;
	struct dat_psp *psp;
	struct dat_ia *ia;
	DAT_RETURN ret;

	if (!conn_qual || conn_qual > U16_MAX)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (psp_flags == DAT_PSP_PROVIDER_FLAG)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (psp_flags != DAT_PSP_CONSUMER_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!psp_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);

	ia_obj = dat_object_enter(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ia = to_ia(ia_obj);
	if (ia->addr.ss_family == AF_UNSPEC)
		dat_addr_find(ia);

	evd_obj = dat_object_get(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd_obj || evd_obj->ia != ia ||
	    !(to_evd(evd_obj)->flags & DAT_EVD_CR_FLAG) ||
	    !dat_object_use(evd_obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
		goto put_evd;
	}

	psp = kzalloc(sizeof(*psp), GFP_KERNEL_ACCOUNT);
	if (!psp) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto unuse_evd;
	}
	psp->id = rdma_create_id(ia->net, dat_cm_handler, &psp->obj,
				 RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(psp->id)) {
		kfree(psp);
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_DEVICE);
		goto unuse_evd;
	}

	/* From here on the PSP ends as any other does. */
	psp->evd = to_evd(evd_obj);
	psp->conn_qual = conn_qual;
	dat_object_init(&psp->obj, DAT_HANDLE_TYPE_PSP, ia, &psp_ops);
	ret = dat_object_publish(&psp->obj);
	if (ret) {
		dat_object_shutdown(&psp->obj);
		dat_object_put(&psp->obj);
		goto leave;
	}
	/* Requests name the handle, so it has to be there before the first. */
	ret = psp_bind(psp);
	if (ret) {
		dat_object_claim(&psp->obj);
		dat_object_retire(&psp->obj);
		goto leave;
	}
	*psp_handle = psp->obj.handle;
	goto leave;

unuse_evd:
	dat_object_unuse(evd_obj);
put_evd:
	if (evd_obj)
		dat_object_put(evd_obj);
leave:
	dat_object_leave(ia_obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_psp_create);

/**
 * dat_psp_free - stop to listen
 * @psp_handle: the PSP
 *
 * Requests that have arrived can still be answered. Specification:
 * dat_psp_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	return dat_object_free(psp_handle, DAT_HANDLE_TYPE_PSP,
			       DAT_INVALID_HANDLE_PSP, DAT_NO_SUBTYPE);
}
EXPORT_SYMBOL_GPL(dat_psp_free);

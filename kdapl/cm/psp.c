// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * psp.c - public service points: listen for any number of requests
 *
 * Consumers create and free PSPs in process context; a query also works in softirq. sp.c
 * has the parts shared with RSPs and CSPs.
 */
#include <linux/kernel.h>

#include "base/calls.h"
#include "cm/cm.h"
#include "dev/ia.h"
#include "queue/evd.h"

static DAT_RETURN check_flags(DAT_PSP_FLAGS flags, const DAT_PSP_HANDLE *psp)
{
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!psp)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	return DAT_SUCCESS;
}

/* Creates a PSP. @qual: in: 0 for any free qualifier; out: the actual one. */
static DAT_RETURN create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual,
			 DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			 DAT_PSP_HANDLE *psp_handle)
{
	struct dat_object *ia_obj;
	struct dat_sp *sp;
	DAT_RETURN ret;

	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;
	ret = dat_sp_new(to_ia(ia_obj), DAT_HANDLE_TYPE_PSP, evd_handle, &sp);
	if (ret)
		goto leave;
	sp->flags = flags;
	ret = dat_sp_listen_qual(sp, *qual);
	if (ret) {
		dat_sp_drop(sp);
		goto put;
	}
	*qual = sp->conn_qual;
	*psp_handle = sp->obj.handle;
put:
	dat_object_put(&sp->obj);
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

/**
 * kdapl_psp_create - listen on a connection qualifier
 * @ia_handle: the IA
 * @conn_qual: the connection qualifier: a port of RDMA_PS_TCP, 1 to 65535, on
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
	DAT_CONN_QUAL qual = conn_qual;
	DAT_RETURN ret;

	might_sleep();
	if (!conn_qual || conn_qual > U16_MAX)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = check_flags(psp_flags, psp_handle);
	if (ret)
		return ret;
	ret = create(ia_handle, &qual, evd_handle, psp_flags, psp_handle);
	return ret;
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
	DAT_CONN_QUAL qual = 0;
	DAT_RETURN ret;

	might_sleep();
	if (!conn_qual)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = check_flags(psp_flags, psp_handle);
	if (ret)
		return ret;
	ret = create(ia_handle, &qual, evd_handle, psp_flags, psp_handle);
	if (!ret) {
		*conn_qual = qual;
		return ret;
	}
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
 * The consumer can still answer requests that have arrived. Specification:
 * dat_psp_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_psp_free(DAT_PSP_HANDLE psp_handle)
{
	might_sleep();
	return dat_object_free(psp_handle, DAT_HANDLE_TYPE_PSP,
			       DAT_INVALID_HANDLE_PSP, DAT_NO_SUBTYPE);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pz.c - creates, queries and frees protection zones
 *
 * Implements dat_pz_*(). Owns the PD of a PZ and the hidden QP that registers the
 * memory of its LMRs. dat_pz_query() can be called from any context; the other calls
 * may sleep.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/ia.h"
#include "mem/pz.h"

static void pz_shutdown(struct dat_object *obj)
{
	struct dat_pz *pz = to_pz(obj);

	dat_regqp_destroy(&pz->reg);
	ib_dealloc_pd(pz->pd);
}

static void pz_release(struct dat_object *obj)
{
	kfree(to_pz(obj));
}

static const struct dat_object_ops pz_ops = {
	.shutdown = pz_shutdown,
	.release = pz_release,
};

static int num_qps(struct dat_ia *ia)
{
	return dat_regqp_num_qps(dat_ia_ibdev(ia), ia->port);
}

/* Includes the hidden QP and its CQ; on iWARP also the second QP and the connection. */
static size_t pz_bytes(struct dat_ia *ia)
{
	size_t qps = num_qps(ia) * (DAT_BYTES_QP + 2 * PAGE_SIZE);

	return sizeof(struct dat_pz) + DAT_BYTES_HANDLE + DAT_BYTES_PD +
	       DAT_BYTES_CQ + PAGE_SIZE +
	       qps + (num_qps(ia) > 1 ? 3 * DAT_BYTES_CM_ID : 0);
}

/* Charge the maximum at once, so that no later registration fails for lack of charge. */
static DAT_RETURN pz_make(struct dat_pz *pz, struct dat_ia *ia)
{
	if (!dat_object_charge(&pz->obj, pz_bytes(ia)))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	/* The PD, the CQ and the QPs */
	if (!dat_object_charge_hca(&pz->obj, DAT_HCA_OBJECT, 2 + num_qps(ia)))
		goto no_pd;
	pz->pd = ib_alloc_pd(dat_ia_ibdev(ia), 0);
	if (!IS_ERR(pz->pd)) {
		dat_regqp_init(&pz->reg, ia, pz->pd);
		return DAT_SUCCESS;
	}
	dat_object_uncharge_hca(&pz->obj);
no_pd:
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			 DAT_RESOURCE_PROTECTION_DOMAIN);
}

/**
 * kdapl_pz_create - create a protection zone
 * @ia_handle: the IA
 * @pz_handle: out: the handle
 *
 * Specification: dat_pz_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_pz_create(DAT_IA_HANDLE ia_handle,
			   DAT_PZ_HANDLE *pz_handle)
{
	struct dat_object *ia_obj;
	struct dat_pz *pz;
	DAT_RETURN ret;

	might_sleep();
	if (!pz_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ia_obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				     DAT_INVALID_HANDLE_IA, &ret);
	if (!ia_obj)
		return ret;

	pz = kzalloc(sizeof(*pz), GFP_KERNEL_ACCOUNT);
	if (!pz) {
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto leave;
	}
	dat_object_init(&pz->obj, DAT_HANDLE_TYPE_PZ, ia_obj->owner, &pz_ops);
	ret = pz_make(pz, to_ia(ia_obj));
	if (ret) {
		dat_object_put(&pz->obj);
		goto leave;
	}

	ret = dat_object_publish(&pz->obj);
	if (ret) {
		dat_object_shutdown(&pz->obj);
		dat_object_put(&pz->obj);
		goto leave;
	}
	*pz_handle = pz->obj.handle;
leave:
	dat_object_put_live(ia_obj);
	return ret;
}

/**
 * kdapl_pz_query - report the parameters of a protection zone
 * @pz_handle: the PZ
 * @pz_param_mask: DAT_PZ_FIELD_*; all parameters are filled in
 * @pz_param: out: the parameters
 *
 * Specification: dat_pz_query().
 *
 * Context: any; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_pz_query(DAT_PZ_HANDLE pz_handle,
			  DAT_PZ_PARAM_MASK pz_param_mask,
			  DAT_PZ_PARAM *pz_param)
{
	struct dat_object *obj;

	if (pz_param_mask & ~DAT_PZ_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!pz_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);

	obj = dat_object_get(pz_handle, DAT_HANDLE_TYPE_PZ);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	pz_param->ia_handle = obj->ia->obj.handle;
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * kdapl_pz_free - free a protection zone
 * @pz_handle: the PZ
 *
 * Specification: dat_pz_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE (an LMR, RMR or EP is in
 * it).
 */
DAT_RETURN kdapl_pz_free(DAT_PZ_HANDLE pz_handle)
{
	might_sleep();
	return dat_object_free(pz_handle, DAT_HANDLE_TYPE_PZ,
			       DAT_INVALID_HANDLE_PZ,
			       DAT_INVALID_STATE_PZ_IN_USE);
}

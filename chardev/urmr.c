// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * urmr.c - ioctls of RMRs, except binding (upost.c)
 */
#include "usimple.h"

static int create(struct dat_file *file, struct dat_dev_rmr_create *p,
		  DAT_RETURN (*make)(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr))
{
	struct dat_uobj *pz, *rmr;
	DAT_RMR_HANDLE khandle;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	pz = dat_uobj_get(file, p->pz, DAT_HANDLE_TYPE_PZ);
	if (!pz)
		return 0;
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rmr = dat_usimple_alloc(file, sizeof(*rmr), DAT_HANDLE_TYPE_RMR,
				pz->ia);
	if (!rmr)
		goto put_pz;
	p->result = make(pz->khandle, &khandle);
	if (!p->result)
		p->rmr = rmr->handle;
	dat_usimple_finish(rmr, p->result, khandle);
put_pz:
	dat_uobj_put(pz);
	return 0;
}

/* dat_rmr_create() */
int dat_ioctl_rmr_create(struct dat_file *file, void *arg)
{
	return create(file, arg, dat_rmr_create);
}

/* dat_rmr_create_for_ep() */
int dat_ioctl_rmr_create_for_ep(struct dat_file *file, void *arg)
{
	return create(file, arg, dat_rmr_create_for_ep);
}

/* dat_rmr_query() */
int dat_ioctl_rmr_query(struct dat_file *file, void *arg)
{
	struct dat_dev_rmr_create *p = arg;
	DAT_RMR_PARAM param;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = dat_rmr_query(dat_uobj_khandle(file, p->rmr,
						   DAT_HANDLE_TYPE_RMR),
				  DAT_RMR_FIELD_ALL, &param);
	if (p->result)
		return 0;
	p->pz = dat_uobj_user_handle(param.pz_handle);
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->privileges = param.mem_priv;
	if (param.va_type == DAT_VA_TYPE_ZB)
		p->privileges |= DAT_DEV_PRIV_ZERO_BASED;
	if (param.rmr_scope == DAT_RMR_SCOPE_EP)
		p->privileges |= DAT_DEV_PRIV_FOR_EP;
	p->segment.virtual_address = param.lmr_triplet.virtual_address;
	p->segment.length = param.lmr_triplet.segment_length;
	p->segment.lmr_context = param.lmr_triplet.lmr_context;
	p->rmr_context = param.rmr_context;
	return 0;
}

/* dat_rmr_free() */
int dat_ioctl_rmr_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_RMR, dat_rmr_free);
}

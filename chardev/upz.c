// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * upz.c - ioctls of PZs
 */
#include "usimple.h"

/* dat_pz_create() */
int dat_ioctl_pz_create(struct dat_file *file, void *arg)
{
	struct dat_dev_pz_create *p = arg;
	struct dat_uobj *ia, *pz;
	DAT_PZ_HANDLE khandle;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	pz = dat_usimple_alloc(file, sizeof(*pz), DAT_HANDLE_TYPE_PZ,
			       to_uia(ia));
	if (!pz)
		goto put_ia;
	p->result = dat_pz_create(ia->khandle, &khandle);
	if (!p->result)
		p->pz = pz->handle;
	dat_usimple_finish(pz, p->result, khandle);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_pz_query() */
int dat_ioctl_pz_query(struct dat_file *file, void *arg)
{
	struct dat_dev_pz_create *p = arg;
	DAT_PZ_PARAM param;

	p->result = dat_pz_query(dat_uobj_khandle(file, p->pz,
						  DAT_HANDLE_TYPE_PZ),
				 DAT_PZ_FIELD_ALL, &param);
	if (!p->result)
		p->ia = dat_uobj_user_handle(param.ia_handle);
	return 0;
}

/* dat_pz_free() */
int dat_ioctl_pz_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_PZ, dat_pz_free);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ucm.c - the ioctls of PSPs and CRs
 */
#include "uaddr.h"
#include "uevd.h"
#include "usimple.h"

static void upsp_release(struct dat_uobj *uobj)
{
	struct dat_upsp *psp = to_upsp(uobj);

	spin_lock_bh(&psp->evd->lock);
	list_del(&psp->node);
	spin_unlock_bh(&psp->evd->lock);
	dat_uobj_put(&psp->evd->uobj);
}

/* dat_psp_create() */
int dat_ioctl_psp_create(struct dat_file *file, void *arg)
{
	struct dat_dev_psp_create *p = arg;
	struct dat_uobj *ia, *evd;
	DAT_PSP_HANDLE khandle;
	struct dat_upsp *psp;

	/* The EPs would be objects that this file knows nothing of. */
	p->result = DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (p->flags == DAT_PSP_PROVIDER_FLAG)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	evd = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		goto put_ia;
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	psp = dat_usimple_alloc(file, sizeof(*psp), DAT_HANDLE_TYPE_PSP,
				to_uia(ia));
	if (!psp)
		goto put_evd;
	/* The EVD has to know it before the first request comes. */
	psp->evd = to_uevd(evd);
	psp->conn_qual = p->conn_qual;
	psp->uobj.release = upsp_release;
	spin_lock_bh(&psp->evd->lock);
	list_add_tail(&psp->node, &psp->evd->psps);
	spin_unlock_bh(&psp->evd->lock);
	kref_get(&evd->ref);

	p->result = dat_psp_create(ia->khandle, p->conn_qual, evd->khandle,
				   p->flags, &khandle);
	if (!p->result)
		p->psp = psp->uobj.handle;
	dat_usimple_finish(&psp->uobj, p->result, khandle);
put_evd:
	dat_uobj_put(evd);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_psp_free() */
int dat_ioctl_psp_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_PSP, dat_psp_free);
}

/* dat_cr_query() */
int dat_ioctl_cr_query(struct dat_file *file, void *arg)
{
	struct dat_dev_cr_query *p = arg;
	DAT_CR_PARAM param;

	/* The parameters' memory may go with the CR, but not before this. */
	rcu_read_lock();
	p->result = dat_cr_query(dat_uobj_khandle(file, p->cr,
						  DAT_HANDLE_TYPE_CR),
				 DAT_CR_FIELD_ALL, &param);
	if (!p->result) {
		p->private_data_size = min_t(u32, param.private_data_size,
					     sizeof(p->private_data));
		memcpy(p->private_data, param.private_data,
		       p->private_data_size);
		p->remote_port = param.remote_port_qual;
		dat_uaddr_to_user(param.remote_ia_address_ptr,
				  &p->remote_address);
	}
	rcu_read_unlock();
	return 0;
}

/* dat_cr_accept() */
int dat_ioctl_cr_accept(struct dat_file *file, void *arg)
{
	struct dat_dev_cr_accept *p = arg;
	struct dat_uobj *cr;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (p->private_data_size > sizeof(p->private_data))
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	cr = dat_uobj_get(file, p->cr, DAT_HANDLE_TYPE_CR);
	if (!cr)
		return 0;
	p->result = dat_cr_accept(cr->khandle,
				  dat_uobj_khandle(file, p->ep,
						   DAT_HANDLE_TYPE_EP),
				  p->private_data_size, p->private_data);
	if (!p->result)
		dat_uobj_remove(cr);
	dat_uobj_put(cr);
	return 0;
}

static DAT_RETURN reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr, 0, NULL);
}

/* dat_cr_reject() */
int dat_ioctl_cr_reject(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_CR, reject);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ucr.c - ioctls of CRs: query, accept, hand off, reject
 *
 * event.c publishes a CR when its request arrives. These ioctls answer the request and
 * remove the handle. They run in process context.
 */
#include "uaddr.h"
#include "usimple.h"
#include "usp.h"

/**
 * dat_ucr_remove_ep - remove the EP that came with a request that has ended
 * @cr: the CR, referenced
 *
 * Context: process or softirq.
 */
void dat_ucr_remove_ep(struct dat_ucr *cr)
{
	struct dat_uobj *ep;

	if (!cr->ep)
		return;
	ep = dat_uobj_get(cr->uobj.file, cr->ep, DAT_HANDLE_TYPE_EP);
	if (ep) {
		dat_uobj_remove(ep);
		dat_uobj_put(ep);
	}
}

/* dat_cr_query() */
int dat_ioctl_cr_query(struct dat_file *file, void *arg)
{
	struct dat_dev_cr_query *p = arg;
	DAT_CR_PARAM param;

	if (p->__reserved)
		return -EOPNOTSUPP;
	/* RCU keeps the memory of the parameters until they are copied. */
	rcu_read_lock();
	p->result = dat_cr_query(dat_uobj_khandle(file, p->cr,
						  DAT_HANDLE_TYPE_CR),
				 DAT_CR_FIELD_ALL, &param);
	if (!p->result) {
		p->private_data_size = min_t(u32, param.private_data_size,
					     sizeof(p->private_data));
		memcpy(p->private_data, param.private_data,
		       p->private_data_size);
		p->ep = dat_uobj_user_handle(param.local_ep_handle);
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

static void remove_cr(struct dat_uobj *cr)
{
	dat_ucr_remove_ep(to_ucr(cr));
	dat_uobj_remove(cr);
}

/* dat_cr_handoff() */
int dat_ioctl_cr_handoff(struct dat_file *file, void *arg)
{
	struct dat_dev_cr_handoff *p = arg;
	struct dat_uobj *cr;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	cr = dat_uobj_get(file, p->cr, DAT_HANDLE_TYPE_CR);
	if (!cr)
		return 0;
	p->result = dat_cr_handoff(cr->khandle, p->conn_qual);
	if (!p->result)
		remove_cr(cr);
	dat_uobj_put(cr);
	return 0;
}

static DAT_RETURN reject(struct dat_file *file, u32 handle, u32 data_size,
			 const void *data)
{
	struct dat_uobj *cr = dat_uobj_get(file, handle, DAT_HANDLE_TYPE_CR);
	DAT_RETURN ret;

	if (!cr)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	ret = dat_cr_reject(cr->khandle, data_size, data);
	if (!ret)
		remove_cr(cr);
	dat_uobj_put(cr);
	return ret;
}

/* dat_cr_reject() */
int dat_ioctl_cr_reject(struct dat_file *file, void *arg)
{
	struct dat_dev_free *p = arg;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = reject(file, p->handle, 0, NULL);
	return 0;
}

/* dat_cr_reject() of DAT 2.0, with private data */
int dat_ioctl_cr_reject_with_data(struct dat_file *file, void *arg)
{
	struct dat_dev_cr_accept *p = arg;

	if (p->__reserved || p->ep)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (p->private_data_size > sizeof(p->private_data))
		return 0;
	p->result = reject(file, p->cr, p->private_data_size, p->private_data);
	return 0;
}

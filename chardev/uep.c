// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uep.c - ioctls of EPs, except connect and disconnect (uep_connect.c)
 *
 * Also allocates a handle for an EP that the kernel created for a request
 * (dat_uep_made(), from upcalls).
 */
#include "uaddr.h"
#include "uep_attr.h"
#include "usimple.h"

/**
 * dat_uep_made - publish an EP that the kernel created for a request
 * @file: the file
 * @ia: the IA of the EP
 * @khandle: the EP, which has no user handle
 *
 * The EP has no queues yet. Context: process or softirq.
 * Return: the user handle; 0 without memory or beyond a limit.
 */
u32 dat_uep_made(struct dat_file *file, struct dat_uia *ia,
		 DAT_EP_HANDLE khandle)
{
	struct dat_uep *ep = dat_uobj_alloc(file, sizeof(*ep),
					    DAT_HANDLE_TYPE_EP, ia, GFP_ATOMIC);
	u32 handle;

	if (!ep)
		return 0;
	if (dat_uobj_reserve(&ep->uobj, GFP_ATOMIC)) {
		dat_uobj_put(&ep->uobj);
		return 0;
	}
	handle = ep->uobj.handle;
	dat_uobj_publish(&ep->uobj, khandle);
	return handle;
}

static DAT_RETURN create(struct dat_file *file, struct dat_dev_ep_create *p,
			 DAT_IA_HANDLE kia, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *khandle)
{
	DAT_PZ_HANDLE pz = dat_uobj_khandle(file, p->pz, DAT_HANDLE_TYPE_PZ);
	DAT_EVD_HANDLE recv = dat_uobj_khandle(file, p->recv_evd,
					       DAT_HANDLE_TYPE_EVD);
	DAT_EVD_HANDLE request = dat_uobj_khandle(file, p->request_evd,
						  DAT_HANDLE_TYPE_EVD);
	DAT_EVD_HANDLE connect = dat_uobj_khandle(file, p->connect_evd,
						  DAT_HANDLE_TYPE_EVD);

	if (!p->srq)
		return dat_ep_create(kia, pz, recv, request, connect, attr,
				     khandle);
	return dat_ep_create_with_srq(kia, pz, recv, request, connect,
				      dat_uobj_khandle(file, p->srq,
						       DAT_HANDLE_TYPE_SRQ),
				      attr, khandle);
}

/* dat_ep_create(), dat_ep_create_with_srq() */
int dat_ioctl_ep_create(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_create *p = arg;
	DAT_EP_HANDLE khandle;
	struct dat_uobj *ia;
	struct dat_uep *ep;
	DAT_EP_ATTR attr;

	if (p->attr.__reserved || p->has_attr > 1)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ep = dat_usimple_alloc(file, sizeof(*ep), DAT_HANDLE_TYPE_EP,
			       to_uia(ia));
	if (!ep)
		goto put_ia;
	dat_uep_attr_from_user(&p->attr, &attr);
	p->result = create(file, p, ia->khandle, p->has_attr ? &attr : NULL,
			   &khandle);
	if (!p->result)
		p->ep = ep->uobj.handle;
	dat_usimple_finish(&ep->uobj, p->result, khandle);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_ep_modify() */
int dat_ioctl_ep_modify(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_modify *p = arg;
	DAT_EP_PARAM param = {
		.pz_handle = dat_uobj_khandle(file, p->pz, DAT_HANDLE_TYPE_PZ),
		.recv_evd_handle = dat_uobj_khandle(file, p->recv_evd,
						    DAT_HANDLE_TYPE_EVD),
		.request_evd_handle = dat_uobj_khandle(file, p->request_evd,
						       DAT_HANDLE_TYPE_EVD),
		.connect_evd_handle = dat_uobj_khandle(file, p->connect_evd,
						       DAT_HANDLE_TYPE_EVD),
	};
	struct dat_uobj *uobj;

	if (p->__reserved || p->attr.__reserved)
		return -EOPNOTSUPP;
	/* The structure has no room for the address, and DAT 1.2 has no such field. */
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (p->mask & DAT_EP_FIELD_COMM)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	uobj = dat_uobj_get(file, p->ep, DAT_HANDLE_TYPE_EP);
	if (!uobj)
		return 0;
	dat_uep_attr_from_user(&p->attr, &param.ep_attr);
	p->result = dat_ep_modify(uobj->khandle, p->mask, &param);
	dat_uobj_put(uobj);
	return 0;
}

/* dat_ep_query() */
int dat_ioctl_ep_query(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_query *p = arg;
	struct dat_uobj *uobj;
	DAT_EP_PARAM param;
	struct dat_uep *ep;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	uobj = dat_uobj_get(file, p->ep, DAT_HANDLE_TYPE_EP);
	if (!uobj)
		return 0;
	ep = to_uep(uobj);
	p->result = dat_ep_query(uobj->khandle, DAT_EP_FIELD_ALL, &param);
	if (p->result)
		goto put;
	p->state = param.ep_state;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->pz = dat_uobj_user_handle(param.pz_handle);
	p->recv_evd = dat_uobj_user_handle(param.recv_evd_handle);
	p->request_evd = dat_uobj_user_handle(param.request_evd_handle);
	p->connect_evd = dat_uobj_user_handle(param.connect_evd_handle);
	p->srq = dat_uobj_user_handle(param.srq_handle);
	p->local_port = param.local_port_qual;
	p->remote_port = param.remote_port_qual;
	dat_uep_attr_to_user(&param.ep_attr, &p->attr);
	p->private_data_size = ep->private_data_len;
	memcpy(p->private_data, ep->private_data, sizeof(p->private_data));

	rcu_read_lock();
	if (dat_uobj_user_handle(uobj->khandle)) {
		dat_uaddr_to_user(param.local_ia_address_ptr,
				  &p->local_address);
		dat_uaddr_to_user(param.remote_ia_address_ptr,
				  &p->remote_address);
	}
	rcu_read_unlock();
put:
	dat_uobj_put(uobj);
	return 0;
}

/* dat_ep_get_status() */
int dat_ioctl_ep_get_status(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_status *p = arg;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	p->result = dat_ep_get_status(dat_uobj_khandle(file, p->ep,
						       DAT_HANDLE_TYPE_EP),
				      &state, &recv_idle, &request_idle);
	if (!p->result) {
		p->state = state;
		p->recv_idle = recv_idle;
		p->request_idle = request_idle;
	}
	return 0;
}

/* dat_ep_recv_query() */
int dat_ioctl_ep_recv_query(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_recv_query *p = arg;
	DAT_COUNT nbufs, span;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = dat_ep_recv_query(dat_uobj_khandle(file, p->ep,
						       DAT_HANDLE_TYPE_EP),
				      &nbufs, &span);
	if (!p->result) {
		p->nbufs_allocated = nbufs;
		p->bufs_alloc_span = span;
	}
	return 0;
}

/* dat_ep_set_watermark() */
int dat_ioctl_ep_set_watermark(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_set_watermark *p = arg;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = dat_ep_set_watermark(dat_uobj_khandle(file, p->ep,
							  DAT_HANDLE_TYPE_EP),
					 p->soft, p->hard);
	return 0;
}

/* dat_ep_reset() */
int dat_ioctl_ep_reset(struct dat_file *file, void *arg)
{
	struct dat_dev_free *p = arg;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = dat_ep_reset(dat_uobj_khandle(file, p->handle,
						  DAT_HANDLE_TYPE_EP));
	return 0;
}

/*
 * dat_ep_free(): connection events that precede the call are pushed before, while the
 * handle is valid. After the call returns none is added, except to an EVD that also
 * carries completions: its upcalls run in softirq and may come later.
 */
int dat_ioctl_ep_free(struct dat_file *file, void *arg)
{
	struct dat_dev_free *p = arg;
	DAT_EP_HANDLE ep = dat_uobj_khandle(file, p->handle,
					    DAT_HANDLE_TYPE_EP);
	DAT_EP_PARAM param = {};
	int ret;

	dat_ep_query(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param);
	dat_evd_flush_upcalls(param.connect_evd_handle);
	ret = dat_usimple_free(file, p, DAT_HANDLE_TYPE_EP, dat_ep_free);
	dat_evd_flush_upcalls(param.connect_evd_handle);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uep.c - ioctls of EPs and SRQs, except posting (upost.c)
 *
 * Also allocates a handle for an EP that the kernel created for a request
 * (dat_uep_publish(), from upcalls).
 */
#include "file.h"

static struct dat_uep *uep_create(struct dat_uia *ia, gfp_t gfp)
{
	struct dat_uep *ep = dat_uobj_create(ia, sizeof(*ep), DAT_HANDLE_TYPE_EP, gfp);

	if (ep)
		spin_lock_init(&ep->lock);
	return ep;
}

/**
 * dat_uep_publish - publish an EP that the kernel created for a request
 * @ia: the IA of the EP
 * @khandle: the EP, which has no user handle
 *
 * The EP has no queues yet. Context: process or softirq.
 * Return: the user handle; 0 without memory or beyond a limit.
 */
u32 dat_uep_publish(struct dat_uia *ia, DAT_EP_HANDLE khandle)
{
	struct dat_uep *ep = uep_create(ia, GFP_ATOMIC);
	u32 handle = 0;

	if (ep) {
		ep->uobj.khandle = khandle;
		dat_uobj_finalize(&ep->uobj, DAT_SUCCESS, &handle);
	}
	return handle;
}

static void ep_attr_from_user(const struct dat_dev_ep_attr *u, DAT_EP_ATTR *k)
{
	memset(k, 0, sizeof(*k));
#define VALUE(_value)	(_value)
#define LENGTH(_value)	(_value)
#define COUNT(_value)	dat_to_count(_value)
#define EP_ATTR(_bit, _field, _kind)	k->_field = _kind(u->_field);
#include "dat_attrs.def"
#undef VALUE
#undef LENGTH
#undef COUNT
}

static void ep_attr_to_user(const DAT_EP_ATTR *k, struct dat_dev_ep_attr *u)
{
	memset(u, 0, sizeof(*u));
#define EP_ATTR(_bit, _field, _kind)	u->_field = k->_field;
#include "dat_attrs.def"
}

static DAT_RETURN create_ep(struct dat_uobj *ia, struct dat_dev_ep_create *p,
			    DAT_EP_HANDLE *khandle)
{
	struct dat_file *file = ia->file;
	DAT_PZ_HANDLE pz = dat_uobj_khandle(file, p->pz, DAT_HANDLE_TYPE_PZ);
	DAT_EVD_HANDLE recv = dat_uobj_khandle(file, p->recv_evd,
					       DAT_HANDLE_TYPE_EVD);
	DAT_EVD_HANDLE request = dat_uobj_khandle(file, p->request_evd,
						  DAT_HANDLE_TYPE_EVD);
	DAT_EVD_HANDLE connect = dat_uobj_khandle(file, p->connect_evd,
						  DAT_HANDLE_TYPE_EVD);
	DAT_EP_ATTR attr, *kattr = p->has_attr ? &attr : NULL;

	ep_attr_from_user(&p->attr, &attr);
	if (!p->srq)
		return dat_ep_create(ia->khandle, pz, recv, request, connect, kattr,
				     khandle);
	return dat_ep_create_with_srq(ia->khandle, pz, recv, request, connect,
				      dat_uobj_khandle(file, p->srq,
						       DAT_HANDLE_TYPE_SRQ),
				      kattr, khandle);
}

/* dat_ep_create(), dat_ep_create_with_srq() */
DAT_RETURN dat_ioctl_ep_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_ep_create *p = arg;
	struct dat_uep *ep = uep_create(to_uia(ia), GFP_KERNEL);

	if (!ep)
		return dat_uobj_no_memory();
	return dat_uobj_finalize(&ep->uobj, create_ep(ia, p, &ep->uobj.khandle),
				 &p->ep);
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

	/* The structure has no room for the address, and DAT 1.2 has no such field. */
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (p->mask & DAT_EP_FIELD_COMM)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	uobj = dat_uobj_get(file, p->ep, DAT_HANDLE_TYPE_EP);
	if (!uobj)
		return 0;
	ep_attr_from_user(&p->attr, &param.ep_attr);
	p->result = dat_ep_modify(uobj->khandle, p->mask, &param);
	dat_uobj_put(uobj);
	return 0;
}

/* dat_ep_query() */
DAT_RETURN dat_ioctl_ep_query(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_ep_query *p = arg;
	struct dat_uep *ep = to_uep(uobj);
	DAT_EP_PARAM param;
	DAT_RETURN ret;

	ret = dat_ep_query(uobj->khandle, DAT_EP_FIELD_ALL, &param);
	if (ret)
		return ret;
	p->state = param.ep_state;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->pz = dat_uobj_user_handle(param.pz_handle);
	p->recv_evd = dat_uobj_user_handle(param.recv_evd_handle);
	p->request_evd = dat_uobj_user_handle(param.request_evd_handle);
	p->connect_evd = dat_uobj_user_handle(param.connect_evd_handle);
	p->srq = dat_uobj_user_handle(param.srq_handle);
	p->local_port = param.local_port_qual;
	p->remote_port = param.remote_port_qual;
	ep_attr_to_user(&param.ep_attr, &p->attr);
	spin_lock_bh(&ep->lock);
	p->private_data_size = ep->private_data_len;
	memcpy(p->private_data, ep->private_data, sizeof(p->private_data));
	spin_unlock_bh(&ep->lock);

	rcu_read_lock();
	if (dat_uobj_user_handle(uobj->khandle)) {
		dat_addr_to_user(param.local_ia_address_ptr, &p->local_address);
		dat_addr_to_user(param.remote_ia_address_ptr, &p->remote_address);
	}
	rcu_read_unlock();
	return DAT_SUCCESS;
}

/* dat_ep_get_status() */
DAT_RETURN dat_ioctl_ep_get_status(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_ep_status *p = arg;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_RETURN ret;

	ret = dat_ep_get_status(khandle, &state, &recv_idle, &request_idle);
	if (ret)
		return ret;
	p->state = state;
	p->recv_idle = recv_idle;
	p->request_idle = request_idle;
	return DAT_SUCCESS;
}

/* dat_ep_recv_query() */
DAT_RETURN dat_ioctl_ep_recv_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_ep_recv_query *p = arg;
	DAT_COUNT nbufs, span;
	DAT_RETURN ret = dat_ep_recv_query(khandle, &nbufs, &span);

	if (ret)
		return ret;
	p->nbufs_allocated = nbufs;
	p->bufs_alloc_span = span;
	return DAT_SUCCESS;
}

/* dat_ep_set_watermark() */
DAT_RETURN dat_ioctl_ep_set_watermark(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_ep_set_watermark *p = arg;

	return dat_ep_set_watermark(khandle, p->soft, p->hard);
}

/* dat_ep_connect() */
DAT_RETURN dat_ioctl_ep_connect(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_ep_connect *p = arg;

	return dat_ep_connect(khandle, (DAT_IA_ADDRESS_PTR)p->remote_address.bytes,
			      p->conn_qual, p->timeout, p->private_data_size,
			      p->private_data, p->qos, p->flags);
}

/* dat_ep_common_connect() */
DAT_RETURN dat_ioctl_ep_common_connect(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_ep_connect *p = arg;

	return dat_ep_common_connect(khandle,
				     (DAT_IA_ADDRESS_PTR)p->remote_address.bytes,
				     p->timeout, p->private_data_size,
				     p->private_data);
}

/* dat_ep_dup_connect() */
int dat_ioctl_ep_dup_connect(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_dup_connect *p = arg;

	p->result = dat_ep_dup_connect(dat_uobj_khandle(file, p->ep,
							DAT_HANDLE_TYPE_EP),
				       dat_uobj_khandle(file, p->dup,
							DAT_HANDLE_TYPE_EP),
				       p->timeout, p->private_data_size,
				       p->private_data, p->qos);
	return 0;
}

/* dat_ep_disconnect() */
DAT_RETURN dat_ioctl_ep_disconnect(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_ep_disconnect *p = arg;

	return dat_ep_disconnect(khandle, p->flags);
}

/* Moves the events of an EP to the rings. Softirq, which does so, may be late. */
static void flush_evds(const DAT_EP_PARAM *param)
{
	dat_evd_flush_upcalls(param->connect_evd_handle);
	dat_evd_flush_upcalls(param->request_evd_handle);
	if (param->recv_evd_handle != param->request_evd_handle)
		dat_evd_flush_upcalls(param->recv_evd_handle);
}

/* dat_ep_reset() */
DAT_RETURN dat_ioctl_ep_reset(DAT_HANDLE khandle, void *arg)
{
	DAT_EP_PARAM param = {};
	DAT_RETURN ret;

	dat_ep_query(khandle, DAT_EP_FIELD_ALL, &param);
	ret = dat_ep_reset(khandle);
	flush_evds(&param);
	return ret;
}

/*
 * dat_ep_free(): connection events that precede the call are pushed before, while the
 * handle is valid. When the call returns all flushed requests are in the rings, and no
 * event is added.
 */
DAT_RETURN dat_ioctl_ep_free(struct dat_uobj *uobj, void *arg)
{
	DAT_EP_PARAM param = {};
	DAT_RETURN ret;

	dat_ep_query(uobj->khandle, DAT_EP_FIELD_ALL, &param);
	dat_evd_flush_upcalls(param.connect_evd_handle);
	ret = dat_ep_free(uobj->khandle);
	if (!ret)
		dat_uobj_remove(uobj);
	flush_evds(&param);
	return ret;
}

/* dat_srq_create() */
DAT_RETURN dat_ioctl_srq_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_srq_create *p = arg;
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = dat_to_count(p->max_recv_dtos),
		.max_recv_iov = dat_to_count(p->max_recv_iov),
		.low_watermark = dat_to_count(p->low_watermark),
	};
	DAT_PZ_HANDLE kpz = dat_uobj_khandle(ia->file, p->pz, DAT_HANDLE_TYPE_PZ);
	DAT_COUNT low_watermark = attr.low_watermark;
	DAT_SRQ_HANDLE khandle = DAT_HANDLE_NULL;
	struct dat_uobj *srq;
	DAT_RETURN ret;

	srq = dat_uobj_create(to_uia(ia), sizeof(*srq), DAT_HANDLE_TYPE_SRQ,
			      GFP_KERNEL);
	if (!srq)
		return dat_uobj_no_memory();
	/* The event contains the SRQ's handle: set the mark after it is published. */
	if (low_watermark > 0 && low_watermark <= attr.max_recv_dtos)
		attr.low_watermark = DAT_SRQ_LW_DEFAULT;
	ret = dat_srq_create(ia->khandle, kpz, &attr, &khandle);
	srq->khandle = khandle;
	ret = dat_uobj_finalize(srq, ret, &p->srq);
	if (!ret && low_watermark != attr.low_watermark)
		dat_srq_set_lw(khandle, low_watermark);
	return ret;
}

/* dat_srq_query() */
DAT_RETURN dat_ioctl_srq_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_srq_query *p = arg;
	DAT_SRQ_PARAM param;
	DAT_RETURN ret = dat_srq_query(khandle, DAT_SRQ_FIELD_ALL, &param);

	if (ret)
		return ret;
	p->state = param.srq_state;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->pz = dat_uobj_user_handle(param.pz_handle);
	p->max_recv_dtos = param.max_recv_dtos;
	p->max_recv_iov = param.max_recv_iov;
	p->low_watermark = param.low_watermark;
	p->available = param.available_dto_count;
	p->outstanding = param.outstanding_dto_count;
	return DAT_SUCCESS;
}

/* dat_srq_resize() */
DAT_RETURN dat_ioctl_srq_resize(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_srq_set *p = arg;

	return dat_srq_resize(khandle, dat_to_count(p->value));
}

/* dat_srq_set_lw() */
DAT_RETURN dat_ioctl_srq_set_lw(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_srq_set *p = arg;

	return dat_srq_set_lw(khandle, dat_to_count(p->value));
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uep.c - the ioctls of EPs
 */
#include <linux/minmax.h>

#include "uaddr.h"
#include "usimple.h"

/* What does not fit into a DAT_COUNT is refused as too much, not as negative. */
static DAT_COUNT to_count(u32 value)
{
	return min_t(u32, value, INT_MAX);
}

static void attr_from_user(const struct dat_dev_ep_attr *u, DAT_EP_ATTR *k)
{
	*k = (DAT_EP_ATTR){
		.service_type = u->service_type,
		.max_message_size = u->max_message_size,
		.max_rdma_size = u->max_rdma_size,
		.qos = u->qos,
		.recv_completion_flags = u->recv_completion_flags,
		.request_completion_flags = u->request_completion_flags,
		.max_recv_dtos = to_count(u->max_recv_dtos),
		.max_request_dtos = to_count(u->max_request_dtos),
		.max_recv_iov = to_count(u->max_recv_iov),
		.max_request_iov = to_count(u->max_request_iov),
		.max_rdma_read_in = to_count(u->max_rdma_read_in),
		.max_rdma_read_out = to_count(u->max_rdma_read_out),
		.max_rdma_read_iov = to_count(u->max_rdma_read_iov),
		.max_rdma_write_iov = to_count(u->max_rdma_write_iov),
	};
}

static void attr_to_user(const DAT_EP_ATTR *k, struct dat_dev_ep_attr *u)
{
	*u = (struct dat_dev_ep_attr){
		.service_type = k->service_type,
		.max_message_size = k->max_message_size,
		.max_rdma_size = k->max_rdma_size,
		.qos = k->qos,
		.recv_completion_flags = k->recv_completion_flags,
		.request_completion_flags = k->request_completion_flags,
		.max_recv_dtos = k->max_recv_dtos,
		.max_request_dtos = k->max_request_dtos,
		.max_recv_iov = k->max_recv_iov,
		.max_request_iov = k->max_request_iov,
		.max_rdma_read_in = k->max_rdma_read_in,
		.max_rdma_read_out = k->max_rdma_read_out,
		.max_rdma_read_iov = k->max_rdma_read_iov,
		.max_rdma_write_iov = k->max_rdma_write_iov,
	};
}

static void uep_release(struct dat_uobj *uobj)
{
	atomic_long_sub(to_uep(uobj)->queue_entries,
			&uobj->file->queue_entries);
}

/* Queues are large and not charged to anybody: bounded for each file. */
static bool charge_queues(struct dat_uep *ep, bool has_attr,
			  const DAT_EP_ATTR *attr)
{
	const long max_charge = 65536;
	const long preset = 64;
	long recv = preset, request = preset;

	if (has_attr && attr->max_recv_dtos)
		recv = attr->max_recv_dtos;
	if (has_attr && attr->max_request_dtos)
		request = attr->max_request_dtos;
	/* What is more than a device can do is refused with another error. */
	ep->queue_entries = min(recv, max_charge) + min(request, max_charge);
	ep->uobj.release = uep_release;
	return atomic_long_add_return(ep->queue_entries,
				      &ep->uobj.file->queue_entries) <=
	       DAT_FILE_MAX_QUEUE;
}

/* dat_ep_create() */
int dat_ioctl_ep_create(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_create *p = arg;
	DAT_EVD_HANDLE recv, request, connect;
	DAT_EP_HANDLE khandle;
	struct dat_uobj *ia;
	struct dat_uep *ep;
	DAT_EP_ATTR attr;
	DAT_PZ_HANDLE pz;

	if (p->__reserved || p->has_attr > 1)
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
	attr_from_user(&p->attr, &attr);
	if (!charge_queues(ep, p->has_attr, &attr)) {
		dat_uobj_unreserve(&ep->uobj);
		goto put_ia;
	}
	pz = dat_uobj_khandle(file, p->pz, DAT_HANDLE_TYPE_PZ);
	recv = dat_uobj_khandle(file, p->recv_evd, DAT_HANDLE_TYPE_EVD);
	request = dat_uobj_khandle(file, p->request_evd, DAT_HANDLE_TYPE_EVD);
	connect = dat_uobj_khandle(file, p->connect_evd, DAT_HANDLE_TYPE_EVD);
	p->result = dat_ep_create(ia->khandle, pz, recv, request, connect,
				  p->has_attr ? &attr : NULL, &khandle);
	if (!p->result)
		p->ep = ep->uobj.handle;
	dat_usimple_finish(&ep->uobj, p->result, khandle);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_ep_query() */
int dat_ioctl_ep_query(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_query *p = arg;
	struct dat_uobj *uobj;
	DAT_EP_PARAM param;
	struct dat_uep *ep;

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
	p->local_port = param.local_port_qual;
	p->remote_port = param.remote_port_qual;
	attr_to_user(&param.ep_attr, &p->attr);
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

/* dat_ep_connect() */
int dat_ioctl_ep_connect(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_connect *p = arg;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (p->private_data_size > sizeof(p->private_data))
		return 0;
	p->result = dat_ep_connect(dat_uobj_khandle(file, p->ep,
						    DAT_HANDLE_TYPE_EP),
				   (DAT_IA_ADDRESS_PTR)p->remote_address.bytes,
				   p->conn_qual, p->timeout,
				   p->private_data_size, p->private_data,
				   p->qos, p->flags);
	return 0;
}

/* dat_ep_disconnect() */
int dat_ioctl_ep_disconnect(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_disconnect *p = arg;

	p->result = dat_ep_disconnect(dat_uobj_khandle(file, p->ep,
						       DAT_HANDLE_TYPE_EP),
				      p->flags);
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

/* dat_ep_free() */
int dat_ioctl_ep_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_EP, dat_ep_free);
}

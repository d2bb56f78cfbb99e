// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uep_connect.c - ioctls that connect and disconnect EPs
 */
#include "file.h"

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

/* dat_ep_common_connect() */
int dat_ioctl_ep_common_connect(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_connect *p = arg;

	if (p->__reserved || p->conn_qual || p->qos || p->flags)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (p->private_data_size > sizeof(p->private_data))
		return 0;
	p->result = dat_ep_common_connect(dat_uobj_khandle(file, p->ep,
							   DAT_HANDLE_TYPE_EP),
			(DAT_IA_ADDRESS_PTR)p->remote_address.bytes,
			p->timeout, p->private_data_size, p->private_data);
	return 0;
}

/* dat_ep_dup_connect() */
int dat_ioctl_ep_dup_connect(struct dat_file *file, void *arg)
{
	struct dat_dev_ep_dup_connect *p = arg;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (p->private_data_size > sizeof(p->private_data))
		return 0;
	p->result = dat_ep_dup_connect(dat_uobj_khandle(file, p->ep,
							DAT_HANDLE_TYPE_EP),
				       dat_uobj_khandle(file, p->dup,
							DAT_HANDLE_TYPE_EP),
				       p->timeout, p->private_data_size,
				       p->private_data, p->qos);
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

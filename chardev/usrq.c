// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * usrq.c - ioctls of SRQs, except posting (upost.c)
 */
#include "uep_attr.h"
#include "usimple.h"

/* dat_srq_create() */
int dat_ioctl_srq_create(struct dat_file *file, void *arg)
{
	struct dat_dev_srq_create *p = arg;
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = dat_to_count(p->max_recv_dtos),
		.max_recv_iov = dat_to_count(p->max_recv_iov),
		.low_watermark = dat_to_count(p->low_watermark),
	};
	DAT_COUNT low_watermark = attr.low_watermark;
	DAT_SRQ_HANDLE khandle;
	struct dat_uobj *ia, *srq;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	srq = dat_usimple_alloc(file, sizeof(*srq), DAT_HANDLE_TYPE_SRQ,
				to_uia(ia));
	if (!srq)
		goto put_ia;
	/* The event contains the SRQ's handle, so set the mark after it is published. */
	if (low_watermark > 0 && low_watermark <= attr.max_recv_dtos)
		attr.low_watermark = DAT_SRQ_LW_DEFAULT;
	p->result = dat_srq_create(ia->khandle,
				   dat_uobj_khandle(file, p->pz,
						    DAT_HANDLE_TYPE_PZ),
				   &attr, &khandle);
	if (!p->result)
		p->srq = srq->handle;
	dat_usimple_finish(srq, p->result, khandle);
	if (!p->result && low_watermark != attr.low_watermark)
		dat_srq_set_lw(khandle, low_watermark);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_srq_query() */
int dat_ioctl_srq_query(struct dat_file *file, void *arg)
{
	struct dat_dev_srq_query *p = arg;
	DAT_SRQ_PARAM param;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = dat_srq_query(dat_uobj_khandle(file, p->srq,
						   DAT_HANDLE_TYPE_SRQ),
				  DAT_SRQ_FIELD_ALL, &param);
	if (p->result)
		return 0;
	p->state = param.srq_state;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->pz = dat_uobj_user_handle(param.pz_handle);
	p->max_recv_dtos = param.max_recv_dtos;
	p->max_recv_iov = param.max_recv_iov;
	p->low_watermark = param.low_watermark;
	p->available = param.available_dto_count;
	p->outstanding = param.outstanding_dto_count;
	return 0;
}

/* dat_srq_resize() */
int dat_ioctl_srq_resize(struct dat_file *file, void *arg)
{
	struct dat_dev_srq_set *p = arg;

	p->result = dat_srq_resize(dat_uobj_khandle(file, p->srq,
						    DAT_HANDLE_TYPE_SRQ),
				   dat_to_count(p->value));
	return 0;
}

/* dat_srq_set_lw() */
int dat_ioctl_srq_set_lw(struct dat_file *file, void *arg)
{
	struct dat_dev_srq_set *p = arg;

	p->result = dat_srq_set_lw(dat_uobj_khandle(file, p->srq,
						    DAT_HANDLE_TYPE_SRQ),
				   dat_to_count(p->value));
	return 0;
}

/* dat_srq_free() */
int dat_ioctl_srq_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_SRQ, dat_srq_free);
}

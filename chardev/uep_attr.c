// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uep_attr.c - converts EP attributes between the ioctl and the kernel API
 */
#include "uep_attr.h"

/**
 * dat_uep_attr_from_user - convert EP attributes to the kernel's form
 * @u: attributes in the ioctl's form
 * @k: out: attributes in the kernel's form
 *
 * Context: any.
 */
void dat_uep_attr_from_user(const struct dat_dev_ep_attr *u, DAT_EP_ATTR *k)
{
	*k = (DAT_EP_ATTR){
		.service_type = u->service_type,
		.max_message_size = u->max_message_size,
		.max_rdma_size = u->max_rdma_size,
		.qos = u->qos,
		.recv_completion_flags = u->recv_completion_flags,
		.request_completion_flags = u->request_completion_flags,
		.max_recv_dtos = dat_to_count(u->max_recv_dtos),
		.max_request_dtos = dat_to_count(u->max_request_dtos),
		.max_recv_iov = dat_to_count(u->max_recv_iov),
		.max_request_iov = dat_to_count(u->max_request_iov),
		.max_rdma_read_in = dat_to_count(u->max_rdma_read_in),
		.max_rdma_read_out = dat_to_count(u->max_rdma_read_out),
		/* Signed: a negative value means no limit. */
		.srq_soft_hw = u->srq_soft_hw,
		.max_rdma_read_iov = dat_to_count(u->max_rdma_read_iov),
		.max_rdma_write_iov = dat_to_count(u->max_rdma_write_iov),
	};
}

/**
 * dat_uep_attr_to_user - reverse dat_uep_attr_from_user()
 * @k: attributes in the kernel's form
 * @u: out: attributes in the ioctl's form
 *
 * Context: any.
 */
void dat_uep_attr_to_user(const DAT_EP_ATTR *k, struct dat_dev_ep_attr *u)
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
		.srq_soft_hw = k->srq_soft_hw,
		.max_rdma_read_iov = k->max_rdma_read_iov,
		.max_rdma_write_iov = k->max_rdma_write_iov,
	};
}

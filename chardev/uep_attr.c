// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uep_attr.c - the attributes of EPs of processes, and who is charged for queues
 */
#include "limits.h"
#include "uep_attr.h"

/**
 * dat_uep_attr_from_user - the kernel's form of attributes
 * @u: the process's
 * @k: out
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
		/* Signed: there is no limit below zero. */
		.srq_soft_hw = u->srq_soft_hw,
		.max_rdma_read_iov = dat_to_count(u->max_rdma_read_iov),
		.max_rdma_write_iov = dat_to_count(u->max_rdma_write_iov),
	};
}

/**
 * dat_uep_attr_to_user - the reverse of dat_uep_attr_from_user()
 * @k: the kernel's
 * @u: out
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

/**
 * dat_uep_queue_size - what a queue costs
 * @wanted: DTOs that it shall take, 0 for the default
 *
 * Context: any.
 * Return: entries to charge.
 */
long dat_uep_queue_size(DAT_COUNT wanted)
{
	const long preset = 64, most = 65536;

	/* What is more than a device can do is refused with another error. */
	return wanted ? min_t(long, wanted, most) : preset;
}

/**
 * dat_charge_queue - charge a file for the queues of an object
 * @file: the file
 * @charged: what it has been charged for the object so far; updated
 * @entries: what it is to be from now on
 *
 * Queues are large, and nobody else counts them: they are bounded for each
 * file. To give back never fails. Context: any.
 * Return: false if that is too much; nothing has changed then.
 */
bool dat_charge_queue(struct dat_file *file, long *charged, long entries)
{
	long before = xchg(charged, entries);
	long sum = atomic_long_add_return(entries - before,
					  &file->queue_entries);

	if (sum <= dat_limit(DAT_LIMIT_QUEUE_ENTRIES) || entries <= before)
		return true;
	/* Another thread may have changed it meanwhile. */
	entries = xchg(charged, before);
	atomic_long_sub(entries - before, &file->queue_entries);
	return false;
}

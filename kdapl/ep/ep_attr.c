// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_attr.c - checks requested EP attributes against the limits of the device
 *
 * Used when an EP is created or modified, in process context. Owns no state.
 */
#include <linux/in.h>
#include <linux/net.h>
#include <linux/socket.h>

#include "base/compat.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"

#define DEFAULT_DTOS	64
#define DEFAULT_IOV	4
#define DEFAULT_READS	4

/* Drivers allocate queues without charging the user, so limit their size. */
#define MAX_DTOS	16384

/**
 * dat_ep_max_dtos - the number of DTOs that an EP can have outstanding
 * @ibdev: the device
 *
 * Context: any.
 * Return: the limit, for requests and for receives each.
 */
u32 dat_ep_max_dtos(const struct ib_device *ibdev)
{
	/*
	 * A bind needs two work requests, a graceful disconnect one, and all of
	 * them may complete on one EVD.
	 */
	int entries = min(dat_limit(ibdev->attrs.max_qp_wr),
			  dat_limit(ibdev->attrs.max_cqe));

	return clamp((entries - 1) / 2, 0, MAX_DTOS);
}

/* Picks @wanted, or @preset if @wanted is 0; false if the result is not in 1..@max. */
static bool pick(DAT_COUNT wanted, DAT_COUNT preset, DAT_COUNT max,
		 DAT_COUNT *picked)
{
	*picked = wanted ?: min(preset, max);
	return *picked >= 1 && *picked <= max;
}

static DAT_SEG_LENGTH pick_size(DAT_SEG_LENGTH wanted, DAT_SEG_LENGTH max)
{
	return wanted ?: max;
}

/**
 * dat_ep_attr_check - derive EP attributes from those that a consumer requests
 * @ia: the IA
 * @wanted: the requested attributes; 0 means the default, except in max_rdma_read_in
 *	and _out, where 0 means none. NULL means all defaults.
 * @attr: out: the attributes
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_attr_check(struct dat_ia *ia, const DAT_EP_ATTR *wanted,
			     DAT_EP_ATTR *attr)
{
	static const DAT_EP_ATTR defaults = {
		.max_rdma_read_in = DEFAULT_READS,
		.max_rdma_read_out = DEFAULT_READS,
	};
	struct ib_device *ibdev = dat_ia_ibdev(ia);
	DAT_COUNT max_dtos = dat_ep_max_dtos(ibdev);
	DAT_COUNT max_sge = dat_dev_max_send_sge(ibdev);
	DAT_COUNT max_read_sge = dat_limit(ibdev->attrs.max_sge_rd) ?: max_sge;
	u32 max_message = ia->dev->max_message;
	u8 tos;
	const DAT_EP_ATTR *w = wanted ?: &defaults;

	if (w->service_type != DAT_SERVICE_TYPE_RC ||
	    !dat_qos_tos(w->qos, &tos))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (w->request_completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG ||
	    (w->recv_completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG &&
	     dat_dev_quirks(ibdev) & DAT_QUIRK_NO_SOLICITED))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (w->recv_completion_flags & ~(DAT_COMPLETION_UNSIGNALLED_FLAG |
					 DAT_COMPLETION_SOLICITED_WAIT_FLAG |
					 DAT_COMPLETION_EVD_THRESHOLD_FLAG) ||
	    w->request_completion_flags & ~(DAT_COMPLETION_UNSIGNALLED_FLAG |
					    DAT_COMPLETION_SUPPRESS_FLAG |
					    DAT_COMPLETION_EVD_THRESHOLD_FLAG))
		goto invalid;

	*attr = *w;
	attr->max_message_size = pick_size(w->max_message_size, max_message);
	attr->max_rdma_size = pick_size(w->max_rdma_size, max_message);
	if (attr->max_message_size > max_message ||
	    attr->max_rdma_size > max_message)
		goto invalid;
	if (!pick(w->max_recv_dtos, DEFAULT_DTOS, max_dtos,
		  &attr->max_recv_dtos) ||
	    !pick(w->max_request_dtos, DEFAULT_DTOS, max_dtos,
		  &attr->max_request_dtos) ||
	    !pick(w->max_recv_iov, DEFAULT_IOV,
		  dat_limit(ibdev->attrs.max_recv_sge), &attr->max_recv_iov) ||
	    !pick(w->max_request_iov, DEFAULT_IOV, max_sge,
		  &attr->max_request_iov) ||
	    !pick(w->max_rdma_read_iov, min(attr->max_request_iov,
					    max_read_sge),
		  max_read_sge, &attr->max_rdma_read_iov) ||
	    !pick(w->max_rdma_write_iov, attr->max_request_iov, max_sge,
		  &attr->max_rdma_write_iov))
		goto invalid;
	if (w->max_rdma_read_in < 0 || w->max_rdma_read_out < 0 ||
	    w->max_rdma_read_in > dat_limit(ibdev->attrs.max_qp_rd_atom) ||
	    w->max_rdma_read_out > dat_limit(ibdev->attrs.max_qp_init_rd_atom))
		goto invalid;
	/* kdapl has no such attributes, and the pointers are the consumer's. */
	attr->ep_transport_specific_count = 0;
	attr->ep_transport_specific = NULL;
	attr->ep_provider_specific_count = 0;
	attr->ep_provider_specific = NULL;
	return DAT_SUCCESS;

invalid:
	return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
}

/**
 * dat_comm_check - does kdapl support a kind of socket?
 * @comm: arguments of socket()
 *
 * Context: any.
 * Return: DAT_SUCCESS if it is a stream over IPv4 or IPv6, as RDMA_PS_TCP is;
 * DAT_COMM_NOT_SUPPORTED.
 */
DAT_RETURN dat_comm_check(const DAT_COMM *comm)
{
	if ((comm->domain == AF_INET || comm->domain == AF_INET6) &&
	    comm->type == SOCK_STREAM &&
	    (!comm->protocol || comm->protocol == IPPROTO_TCP))
		return DAT_SUCCESS;
	return DAT_ERROR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

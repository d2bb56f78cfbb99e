// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_attr.c - attributes of an EP, its PZ, EVDs and SRQ, and the room that the EVDs reserve
 *
 * Creation, modification and shutdown of an EP call these functions in process context.
 * They check requested attributes against the limits of the device, take and release uses
 * of EVDs, create private EVDs, and reserve room for the completions in the CQs.
 */
#include <linux/in.h>
#include <linux/net.h>
#include <linux/socket.h>

#include "base/compat.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "mem/pz.h"
#include "queue/evd.h"
#include "queue/srq.h"

#define DEFAULT_DTOS	64
#define DEFAULT_IOV	4
#define DEFAULT_READS	4

/*
 * A bind needs an invalidation and a registration. A request that carries the fence of an
 * invalidation comes in addition, one for a registration takes the place of an invalidation.
 */
static u32 wrs_per_bind(const struct ib_device *ibdev)
{
	return dat_dev_no_fence(ibdev) & DAT_FENCE_INV ? 3 : 2;
}

/* All work requests may complete on one EVD. */
static u32 max_wrs(const struct ib_device *ibdev)
{
	return min_t(u32, dat_limit(ibdev->attrs.max_qp_wr), dat_dev_max_cqe(ibdev));
}

/*
 * All requests may be binds, as far as the device has room. A graceful disconnect needs one
 * more than all requests.
 */
static u32 wrs_to_bind(const struct ib_device *ibdev, const DAT_EP_ATTR *attr)
{
	u64 wanted = (u64)wrs_per_bind(ibdev) * attr->max_request_dtos + 1;

	return min_t(u64, wanted, max_wrs(ibdev));
}

/**
 * dat_ep_min_wrs - the least number of work requests for the requests of an EP
 * @ibdev: the device
 * @attr: attributes of the EP
 *
 * One request may be a bind.
 *
 * Context: any.
 * Return: the number.
 */
u32 dat_ep_min_wrs(const struct ib_device *ibdev, const DAT_EP_ATTR *attr)
{
	return min(attr->max_request_dtos + wrs_per_bind(ibdev), wrs_to_bind(ibdev, attr));
}

/**
 * dat_ep_max_wrs - the number of work requests for the requests of an EP
 * @p: parts of the EP, with PZ and EVDs
 *
 * Without binds there is room for one at a time, without fence.
 *
 * Context: any.
 * Return: the number, also of completions if all fail.
 */
u32 dat_ep_max_wrs(const struct dat_ep_parts *p)
{
	u32 most = wrs_to_bind(p->pz->pd->device, &p->attr);

	return p->request_evd->binds ? most :
				       min(most, p->attr.max_request_dtos + DAT_EVD_FEW_BINDS);
}

/**
 * dat_ep_max_dtos - the number of DTOs that an EP can have outstanding
 * @ibdev: the device
 *
 * Context: any.
 * Return: the limit, for requests and for receives each. One of the requests may be a bind.
 */
u32 dat_ep_max_dtos(const struct ib_device *ibdev)
{
	u32 max = max_wrs(ibdev), spare = wrs_per_bind(ibdev);

	return max > spare ? min_t(u32, max - spare, DAT_MAX_EVD_QLEN) : 0;
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

/**
 * dat_ep_parts - copy the parts of an EP
 * @ep: the EP; its mutex is held, or it has no handle yet
 *
 * Context: process.
 * Return: a copy; the EP keeps the references.
 */
struct dat_ep_parts dat_ep_parts(const struct dat_ep *ep)
{
	return (struct dat_ep_parts){
		.pz = ep->pz,
		.recv_evd = ep->recv_evd,
		.request_evd = ep->request_evd,
		.connect_evd = ep->connect_evd,
		.recv_evd_is_private = ep->recv_evd_is_private,
		.request_evd_is_private = ep->request_evd_is_private,
		.recv_cq = ep->recv_cq,
		.request_cq = ep->request_cq,
		.srq = ep->srq,
		.attr = ep->attr,
		.flushing = ep->flushing,
	};
}

/**
 * dat_ep_set_parts - set the parts of an EP
 * @ep: the EP; its mutex is held, or it has no handle yet
 * @p: the parts; their references pass to the EP
 *
 * Context: process.
 */
void dat_ep_set_parts(struct dat_ep *ep, const struct dat_ep_parts *p)
{
	/* Calls that post read these fields without the mutex. */
	WRITE_ONCE(ep->pz, p->pz);
	WRITE_ONCE(ep->recv_evd, p->recv_evd);
	WRITE_ONCE(ep->request_evd, p->request_evd);
	ep->connect_evd = p->connect_evd;
	ep->recv_evd_is_private = p->recv_evd_is_private;
	ep->request_evd_is_private = p->request_evd_is_private;
	ep->recv_cq = p->recv_cq;
	ep->request_cq = p->request_cq;
	ep->srq = p->srq;
	ep->attr = p->attr;
}

/**
 * dat_ep_release_evd - end the use of an EVD by an EP
 * @evd: the EVD, or NULL
 * @is_private: the EVD belongs to the EP alone; it is shut down
 *
 * The reference remains: calls that found the EP before may still read its EVDs.
 *
 * Context: process, may sleep.
 */
void dat_ep_release_evd(struct dat_evd *evd, bool is_private)
{
	if (!evd)
		return;
	if (is_private)
		dat_object_shutdown(&evd->obj);
	else
		dat_object_use_put(&evd->obj);
}

/**
 * dat_ep_put_evd - dat_ep_release_evd(), and put the reference
 * @evd: the EVD, or NULL
 * @is_private: the EVD belongs to the EP alone
 *
 * Context: process, may sleep.
 */
void dat_ep_put_evd(struct dat_evd *evd, bool is_private)
{
	if (!evd)
		return;
	dat_ep_release_evd(evd, is_private);
	dat_object_put(&evd->obj);
}

static void drop_event(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
}

/* Completions must leave the CQ even if the consumer passed no EVD: drop their events. */
static DAT_RETURN make_private_evd(struct dat_ia *ia, DAT_COUNT qlen, struct dat_evd **evdp)
{
	DAT_RETURN ret = dat_evd_new(ia, qlen, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, evdp);

	if (ret)
		return ret;
	(*evdp)->upcall.upcall_func = drop_event;
	(*evdp)->policy = DAT_UPCALL_SINGLE_INSTANCE;
	return DAT_SUCCESS;
}

static DAT_RETURN use_evd(struct dat_ia *ia, DAT_EVD_HANDLE handle,
			  DAT_EVD_FLAGS flag, DAT_RETURN_SUBTYPE subtype,
			  struct dat_evd **evdp)
{
	struct dat_object *obj = dat_object_get(handle, DAT_HANDLE_TYPE_EVD);

	if (obj && obj->ia == ia && to_evd(obj)->flags & flag &&
	    dat_object_use_get(obj)) {
		*evdp = to_evd(obj);
		return DAT_SUCCESS;
	}
	if (obj)
		dat_object_put(obj);
	return DAT_ERROR(DAT_INVALID_HANDLE, subtype);
}

/**
 * dat_ep_get_recv_evd - set the EVD of receives
 * @ia: the IA
 * @p: out: @p->recv_evd, used and referenced; not set if the call fails
 * @handle: the consumer's handle; DAT_HANDLE_NULL for a private EVD
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ep_get_recv_evd(struct dat_ia *ia, struct dat_ep_parts *p,
			       DAT_EVD_HANDLE handle)
{
	p->recv_evd_is_private = !handle;
	if (handle)
		return use_evd(ia, handle, DAT_EVD_DTO_FLAG,
			       DAT_INVALID_HANDLE_EVD_RECV, &p->recv_evd);
	return make_private_evd(ia, p->attr.max_recv_dtos, &p->recv_evd);
}

/**
 * dat_ep_get_request_evd - set the EVD of all other requests
 * @ia: the IA
 * @p: out: @p->request_evd, used and referenced; not set if the call fails
 * @handle: the consumer's handle; DAT_HANDLE_NULL for a private EVD
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ep_get_request_evd(struct dat_ia *ia, struct dat_ep_parts *p,
				  DAT_EVD_HANDLE handle)
{
	p->request_evd_is_private = !handle;
	if (handle)
		return use_evd(ia, handle, DAT_EVD_DTO_FLAG,
			       DAT_INVALID_HANDLE_EVD_REQUEST,
			       &p->request_evd);
	return make_private_evd(ia, p->attr.max_request_dtos, &p->request_evd);
}

/**
 * dat_ep_get_connect_evd - set the EVD of connection events
 * @ia: the IA
 * @p: out: @p->connect_evd, used and referenced; not set if the call fails
 * @handle: the consumer's handle; DAT_HANDLE_NULL for none
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_ep_get_connect_evd(struct dat_ia *ia, struct dat_ep_parts *p,
				  DAT_EVD_HANDLE handle)
{
	if (!handle)
		return DAT_SUCCESS;
	return use_evd(ia, handle, DAT_EVD_CONNECTION_FLAG,
		       DAT_INVALID_HANDLE_EVD_CONN, &p->connect_evd);
}

static bool is_solicited(const struct dat_ep_parts *p)
{
	return p->attr.recv_completion_flags &
		       DAT_COMPLETION_SOLICITED_WAIT_FLAG && !p->flushing;
}

/**
 * dat_ep_add_streams - add the streams of an EP to its EVDs of DTOs
 * @p: the EVDs and the completion flags; no effect for an unconfigured EP
 *
 * Context: process.
 */
void dat_ep_add_streams(const struct dat_ep_parts *p)
{
	if (!p->pz)
		return;
	dat_evd_add_stream(p->recv_evd, is_solicited(p));
	dat_evd_add_stream(p->request_evd, false);
}

/**
 * dat_ep_remove_streams - undo dat_ep_add_streams()
 * @p: the value passed to dat_ep_add_streams()
 *
 * Context: process.
 */
void dat_ep_remove_streams(const struct dat_ep_parts *p)
{
	if (!p->pz)
		return;
	dat_evd_remove_stream(p->request_evd, false);
	dat_evd_remove_stream(p->recv_evd, is_solicited(p));
}

/**
 * dat_ep_begin_flush - let all receives notify before the QP is failed
 * @ep: the EP, configured; only the task that ended its connection calls this
 *
 * The peer does not solicit flushed receives, and not all devices notify for them.
 *
 * Context: process.
 */
void dat_ep_begin_flush(struct dat_ep *ep)
{
	struct dat_ep_parts parts = dat_ep_parts(ep);

	if (!is_solicited(&parts))
		return;
	dat_evd_add_stream(ep->recv_evd, false);
	dat_evd_remove_stream(ep->recv_evd, true);
	ep->flushing = true;
	/* Run the upcalls of receives that arrived unsolicited before. */
	dat_evd_schedule_upcall(ep->recv_evd);
}

/**
 * dat_ep_end_flush - undo dat_ep_begin_flush() for a new QP
 * @ep: the EP, after dat_ep_begin_flush() or not
 *
 * Context: process.
 */
void dat_ep_end_flush(struct dat_ep *ep)
{
	if (!ep->flushing)
		return;
	ep->flushing = false;
	dat_evd_remove_stream(ep->recv_evd, false);
	dat_evd_add_stream(ep->recv_evd, true);
}

static u32 num_receives(const struct dat_ep_parts *p)
{
	return p->srq ? 0 : p->attr.max_recv_dtos;
}

/**
 * dat_ep_expect - reserve room on the EVDs of DTOs for the completions of an EP
 * @p: the EVDs, the SRQ, and the queue limits; out: the CQs, for dat_ep_unexpect()
 *
 * Both queues use the same CQ if they have the same EVD: what the device orders stays ordered.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, or DAT_INSUFFICIENT_RESOURCES as dat_cq_join().
 */
DAT_RETURN dat_ep_expect(struct dat_ep_parts *p)
{
	u32 requests = dat_ep_max_wrs(p);
	DAT_RETURN ret;

	if (p->recv_evd == p->request_evd) {
		ret = dat_cq_join(p->recv_evd, requests + num_receives(p), p->srq, &p->recv_cq);
		p->request_cq = p->recv_cq;
		return ret;
	}
	ret = dat_cq_join(p->recv_evd, num_receives(p), p->srq, &p->recv_cq);
	if (ret)
		return ret;
	ret = dat_cq_join(p->request_evd, requests, NULL, &p->request_cq);
	if (ret)
		dat_cq_leave(p->recv_cq, num_receives(p), p->srq);
	return ret;
}

/**
 * dat_ep_unexpect - undo dat_ep_expect()
 * @p: the value that dat_ep_expect() filled in, and no QP; no effect for an unconfigured EP
 *
 * Context: process, may sleep.
 */
void dat_ep_unexpect(const struct dat_ep_parts *p)
{
	u32 requests;

	if (!p->pz)
		return;
	requests = dat_ep_max_wrs(p);
	if (p->recv_evd == p->request_evd) {
		dat_cq_leave(p->recv_cq, requests + num_receives(p), p->srq);
		return;
	}
	dat_cq_leave(p->recv_cq, num_receives(p), p->srq);
	dat_cq_leave(p->request_cq, requests, NULL);
}

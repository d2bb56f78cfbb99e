// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_modify.c - changes the parameters of an EP that has no connection
 *
 * A change of PZ, EVDs or queue limits replaces the QP. Consumers call it in
 * process context; ep->mutex serialises it with connect and accept. Either all changes
 * take effect or none.
 */
#include <linux/build_bug.h>
#include <linux/kernel.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "mem/pz.h"
#include "queue/evd.h"
#include "queue/srq.h"

#define FIELD(name)	DAT_EP_FIELD_##name
#define ATTR(name)	DAT_EP_FIELD_EP_ATTR_##name

#define PZ_FIELDS	FIELD(PZ_HANDLE)
#define EVD_FIELDS	(FIELD(RECV_EVD_HANDLE) | FIELD(REQUEST_EVD_HANDLE) | \
			 FIELD(CONNECT_EVD_HANDLE))
#define SPECIFIC_FIELDS	(ATTR(NUM_TRANSPORT_ATTR) | \
			 ATTR(TRANSPORT_SPECIFIC_ATTR) | \
			 ATTR(NUM_PROVIDER_ATTR) | \
			 ATTR(PROVIDER_SPECIFIC_ATTR))
#define ATTR_FIELDS	(FIELD(EP_ATTR_ALL) & ~SPECIFIC_FIELDS & \
			 ~ATTR(SRQ_SOFT_HW))
#define ALL_FIELDS	(PZ_FIELDS | EVD_FIELDS | ATTR_FIELDS | \
			 SPECIFIC_FIELDS | FIELD(COMM))

/* States before a connect request, or before a request is accepted. */
#define EARLY_STATES	(EP_IN(UNCONNECTED) | EP_IN(RESERVED) | \
			 EP_IN(PASSIVE_CONNECTION_PENDING) | \
			 EP_IN(TENTATIVE_CONNECTION_PENDING) | \
			 DAT_EP_UNCONFIGURED)
/* An EP without a PZ must be able to get one, even if a service point uses the EP. */
#define PZ_STATES	(EP_IN(UNCONNECTED) | \
			 EP_IN(TENTATIVE_CONNECTION_PENDING) | \
			 DAT_EP_UNCONFIGURED)
#define SPECIFIC_STATES	(EP_IN(UNCONNECTED) | EP_IN(UNCONFIGURED_UNCONNECTED))

static DAT_RETURN check_state(struct dat_ep *ep, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_STATE state = dat_ep_state(ep);
	unsigned int allowed = EARLY_STATES;

	if (mask & PZ_FIELDS)
		allowed &= PZ_STATES;
	if (mask & SPECIFIC_FIELDS)
		allowed &= SPECIFIC_STATES;
	/* Receives posted before and after the change would have different flags. */
	if (!(BIT(state) & allowed) ||
	    (mask & ATTR(RECV_COMPLETION_FLAGS) &&
	     !dat_workq_is_idle(&ep->rq)))
		return dat_ep_state_error(state);
	return DAT_SUCCESS;
}

static const struct {
	DAT_EP_PARAM_MASK bit;
	size_t offset;
} attrs[] = {
#define EP_ATTR(bit, field, kind)	{ ATTR(bit), offsetof(DAT_EP_ATTR, field) },
#include "dat_attrs.def"
};

/* merge_attr() copies each field as a u32. */
static_assert(sizeof(DAT_QOS) == sizeof(u32) &&
	      sizeof(DAT_COMPLETION_FLAGS) == sizeof(u32) &&
	      sizeof(DAT_SEG_LENGTH) == sizeof(u32) &&
	      sizeof(DAT_COUNT) == sizeof(u32));

static DAT_RETURN merge_attr(struct dat_ep *ep, DAT_EP_PARAM_MASK mask,
			     const DAT_EP_ATTR *from, DAT_EP_ATTR *attr)
{
	DAT_EP_ATTR wanted = ep->attr;
	DAT_RETURN ret;
	size_t i;

	if (!(mask & ATTR_FIELDS))
		return DAT_SUCCESS;
	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		if (mask & attrs[i].bit)
			memcpy((void *)&wanted + attrs[i].offset,
			       (const void *)from + attrs[i].offset,
			       sizeof(u32));
	/* max_recv_iov of the receives is a property of the SRQ. */
	if (ep->srq && mask & ATTR(MAX_RECV_IOV) && from->max_recv_iov &&
	    from->max_recv_iov != ep->srq->max_iov)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (ep->srq)
		wanted.max_recv_iov = 0;
	ret = dat_ep_attr_check(ep->obj.ia, &wanted, attr);
	if (ep->srq)
		attr->max_recv_iov = ep->srq->max_iov;
	/* dat_ep_create() has the attributes as argument 6, this call as argument 3. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return ret;
}

/* kdapl defines no transport-specific and no provider-specific attributes. */
static DAT_RETURN check_specific(DAT_EP_PARAM_MASK mask,
				 const DAT_EP_ATTR *attr)
{
	if ((mask & ATTR(NUM_TRANSPORT_ATTR) &&
	     attr->ep_transport_specific_count) ||
	    (mask & ATTR(NUM_PROVIDER_ATTR) &&
	     attr->ep_provider_specific_count))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

static bool needs_new_qp(const struct dat_ep_parts *old, const struct dat_ep_parts *new)
{
	const DAT_EP_ATTR *a = &old->attr, *b = &new->attr;

	return new->pz != old->pz || new->recv_evd != old->recv_evd ||
	       new->request_evd != old->request_evd ||
	       b->max_recv_dtos != a->max_recv_dtos ||
	       b->max_request_dtos != a->max_request_dtos ||
	       b->max_recv_iov != a->max_recv_iov ||
	       b->max_request_iov != a->max_request_iov ||
	       b->max_rdma_read_iov != a->max_rdma_read_iov ||
	       b->max_rdma_write_iov != a->max_rdma_write_iov;
}

/* Releases the objects of @p that are not in @than. */
static void unget_parts(const struct dat_ep_parts *p,
			const struct dat_ep_parts *than)
{
	if (p->recv_evd != than->recv_evd)
		dat_ep_put_evd(p->recv_evd, p->recv_evd_is_private);
	if (p->request_evd != than->request_evd)
		dat_ep_put_evd(p->request_evd, p->request_evd_is_private);
	if (p->connect_evd != than->connect_evd)
		dat_ep_put_evd(p->connect_evd, false);
	if (p->pz && p->pz != than->pz) {
		dat_object_use_put(&p->pz->obj);
		dat_object_put(&p->pz->obj);
	}
}

/* A private EVD has handle 0, and so matches DAT_HANDLE_NULL in @param. */
static bool is_another(const struct dat_evd *evd, DAT_EVD_HANDLE handle)
{
	return !evd || evd->obj.handle != handle;
}

static DAT_RETURN get_evds(struct dat_ia *ia, DAT_EP_PARAM_MASK mask,
			   const DAT_EP_PARAM *param, const DAT_EP_ATTR *old,
			   struct dat_ep_parts *p)
{
	DAT_EVD_HANDLE recv = DAT_HANDLE_NULL, request = DAT_HANDLE_NULL;
	bool new_recv = p->pz && !p->recv_evd;
	bool new_request = p->pz && !p->request_evd;
	DAT_RETURN ret = DAT_SUCCESS;

	if (mask & FIELD(CONNECT_EVD_HANDLE) &&
	    is_another(p->connect_evd, param->connect_evd_handle)) {
		p->connect_evd = NULL;
		ret = dat_ep_get_connect_evd(ia, p, param->connect_evd_handle);
	}
	/* A private EVD is sized for one EP, so other limits need another EVD. */
	if (p->recv_evd_is_private &&
	    p->attr.max_recv_dtos != old->max_recv_dtos)
		new_recv = true;
	if (mask & FIELD(RECV_EVD_HANDLE)) {
		recv = param->recv_evd_handle;
		new_recv |= is_another(p->recv_evd, recv);
	}
	if (!ret && new_recv) {
		p->recv_evd = NULL;
		ret = dat_ep_get_recv_evd(ia, p, recv);
	}
	if (p->request_evd_is_private &&
	    p->attr.max_request_dtos != old->max_request_dtos)
		new_request = true;
	if (mask & FIELD(REQUEST_EVD_HANDLE)) {
		request = param->request_evd_handle;
		new_request |= is_another(p->request_evd, request);
	}
	if (!ret && new_request) {
		p->request_evd = NULL;
		ret = dat_ep_get_request_evd(ia, p, request);
	}
	return ret;
}

/*
 * Gets the objects that @param names; unchanged objects are not referenced again. @old are the
 * attributes before the change.
 */
static DAT_RETURN get_parts(struct dat_ia *ia, DAT_EP_PARAM_MASK mask,
			    const DAT_EP_PARAM *param, const DAT_EP_ATTR *old,
			    struct dat_ep_parts *p)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (mask & FIELD(PZ_HANDLE) &&
	    !(p->pz && p->pz->obj.handle == param->pz_handle)) {
		p->pz = NULL;
		ret = dat_ep_get_pz(ia, param->pz_handle, &p->pz);
	}
	if (!ret && p->srq && !dat_ep_srq_suits(p->srq, p->pz))
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return ret ?: get_evds(ia, mask, param, old, p);
}

/* No device can move receives from one queue to another. */
static DAT_RETURN remake_qp(struct dat_ep *ep, const struct dat_ep_parts *old,
			    struct dat_ep_parts *new)
{
	DAT_RETURN ret;

	if (!dat_workq_is_idle(&ep->rq))
		return dat_ep_state_error(dat_ep_state(ep));
	ret = dat_ep_expect(new);
	if (ret)
		return ret;
	ret = dat_ep_qp_create(ep, new);
	dat_ep_unexpect(ret ? new : old);
	return ret;
}

/* With a PZ an unconfigured EP enters the corresponding configured state. */
static void now_configured(struct dat_ep *ep)
{
	static const DAT_EP_STATE from_to[][2] = {
		{ DAT_EP_STATE_UNCONFIGURED_UNCONNECTED,
		  DAT_EP_STATE_UNCONNECTED },
		{ DAT_EP_STATE_UNCONFIGURED_RESERVED,
		  DAT_EP_STATE_RESERVED },
		{ DAT_EP_STATE_UNCONFIGURED_PASSIVE,
		  DAT_EP_STATE_PASSIVE_CONNECTION_PENDING },
		{ DAT_EP_STATE_UNCONFIGURED_TENTATIVE,
		  DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(from_to); i++)
		if (dat_ep_move(ep, BIT(from_to[i][0]), from_to[i][1]))
			break;
}

static DAT_RETURN modify(struct dat_ep *ep, DAT_EP_PARAM_MASK mask,
			 const DAT_EP_PARAM *param)
{
	struct dat_ep_parts new = dat_ep_parts(ep), old = new;
	DAT_RETURN ret;
	bool new_qp;

	ret = check_state(ep, mask);
	if (!ret && mask & FIELD(COMM))
		ret = dat_comm_check(&param->comm);
	if (!ret)
		ret = check_specific(mask, &param->ep_attr);
	if (!ret)
		ret = merge_attr(ep, mask, &param->ep_attr, &new.attr);
	if (ret)
		return ret;
	ret = get_parts(ep->obj.ia, mask, param, &old.attr, &new);
	new_qp = new.pz && needs_new_qp(&old, &new);
	if (!ret && new_qp)
		ret = remake_qp(ep, &old, &new);
	if (ret) {
		unget_parts(&new, &old);
		return ret;
	}

	dat_ep_add_streams(&new);
	dat_ep_remove_streams(&old);
	if (!new_qp)
		dat_ep_set_parts(ep, &new);
	if (mask & FIELD(COMM))
		ep->comm = param->comm;
	if (new.pz)
		now_configured(ep);
	if (new_qp)
		dat_ep_qp_start(ep);
	unget_parts(&old, &new);
	return DAT_SUCCESS;
}

/**
 * kdapl_ep_modify - change parameters of an EP
 * @ep_handle: the EP
 * @ep_param_mask: DAT_EP_FIELD_* of the parameters to change: PZ, EVDs, COMM,
 *	attributes
 * @ep_param: the new values; 0 in an attribute has the meaning that it has for
 *	dat_ep_create()
 *
 * State of the EP and the parameters that may change:
 *
 * - UNCONNECTED: all.
 * - RESERVED, PASSIVE_CONNECTION_PENDING: all except the PZ and transport-specific and
 *   provider-specific attributes.
 * - TENTATIVE_CONNECTION_PENDING: all except transport-specific and provider-specific
 *   attributes.
 *
 * The provider creates unconfigured EPs. Setting the PZ configures such an EP. An EVD
 * that is not set by then is DAT_HANDLE_NULL.
 *
 * An EP with posted receives keeps its PZ, its EVDs of DTOs, its completion flags of
 * receives and the limits of its queues: no device moves receives to another queue.
 *
 * The SRQ never changes, nor does max_recv_iov with an SRQ, nor on rxe the PZ
 * (DAT_INVALID_PARAMETER). The buffers of the SRQ stay posted. Use
 * dat_ep_set_watermark() for the soft high watermark.
 *
 * Either all changes take effect or none. Specification: dat_ep_modify().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE (also: of a PZ or EVD in @ep_param),
 * DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED,
 * DAT_COMM_NOT_SUPPORTED, DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the
 * device is removed).
 */
DAT_RETURN kdapl_ep_modify(DAT_EP_HANDLE ep_handle,
			   DAT_EP_PARAM_MASK ep_param_mask,
			   const DAT_EP_PARAM *ep_param)
{
	struct dat_object *obj;
	struct dat_ep *ep;
	DAT_RETURN ret;

	might_sleep();
	if (ep_param_mask & ~ALL_FIELDS)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ep_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(ep_handle, DAT_HANDLE_TYPE_EP,
				  DAT_INVALID_HANDLE_EP, &ret);
	if (!obj)
		return ret;
	ep = to_ep(obj);
	mutex_lock(&ep->mutex);
	ret = modify(ep, ep_param_mask, ep_param);
	mutex_unlock(&ep->mutex);
	dat_object_put_live(obj);
	return ret;
}

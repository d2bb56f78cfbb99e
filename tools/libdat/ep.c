// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep.c - endpoints
 */
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/* What feeds the EVDs of an EP without notification: told of a change. */
static void count_unnotified(const struct libdat_ep *ep, int count)
{
	libdat_evd_unnotified(ep->recv_evd, ep->recv_flags, count);
	libdat_evd_unnotified(ep->request_evd, ep->request_flags, count);
}

static void set_evds(struct libdat_ep *ep, __u32 recv_evd, __u32 request_evd,
		     const struct dat_dev_ep_attr *attr)
{
	ep->recv_evd = recv_evd;
	ep->recv_flags = attr->recv_completion_flags;
	ep->request_evd = request_evd;
	ep->request_flags = attr->request_completion_flags &
			    DAT_COMPLETION_UNSIGNALLED_FLAG;
}

static DAT_RETURN create(struct dat_dev_ep_create *arg,
			 DAT_EP_HANDLE *ep_handle)
{
	struct libdat_ep *ep = libdat_object_alloc(LIBDAT_EP);
	DAT_RETURN ret;

	if (!ep)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	ret = libdat_call(DAT_DEV_EP_CREATE, arg);
	if (ret != DAT_SUCCESS) {
		libdat_object_discard(&ep->object);
		return ret;
	}
	set_evds(ep, arg->recv_evd, arg->request_evd, &arg->attr);
	count_unnotified(ep, 1);
	/* Last: from now on another thread may free it. */
	libdat_object_add(&ep->object, arg->ep, arg->ia);
	*ep_handle = libdat_handle_out(arg->ep);
	return DAT_SUCCESS;
}

/* The handles of @mask in @param must be of the same provider as @foreign. */
static void check_param(struct libdat_foreign *foreign, DAT_EP_PARAM_MASK mask,
			const DAT_EP_PARAM *param)
{
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		libdat_foreign_beside(foreign, param->pz_handle,
				      DAT_HANDLE_TYPE_PZ,
				      DAT_INVALID_HANDLE_PZ);
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		libdat_foreign_beside(foreign, param->recv_evd_handle,
				      DAT_HANDLE_TYPE_EVD,
				      DAT_INVALID_HANDLE_EVD_RECV);
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		libdat_foreign_beside(foreign, param->request_evd_handle,
				      DAT_HANDLE_TYPE_EVD,
				      DAT_INVALID_HANDLE_EVD_REQUEST);
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		libdat_foreign_beside(foreign, param->connect_evd_handle,
				      DAT_HANDLE_TYPE_EVD,
				      DAT_INVALID_HANDLE_EVD_CONN);
	if (mask & DAT_EP_FIELD_SRQ_HANDLE)
		libdat_foreign_beside(foreign, param->srq_handle,
				      DAT_HANDLE_TYPE_SRQ,
				      DAT_INVALID_HANDLE_SRQ);
}

#define PARTS	(DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | \
		 DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
		 DAT_EP_FIELD_CONNECT_EVD_HANDLE)

/**
 * dat_ep_create - make an EP
 * @ia_handle: the IA
 * @pz_handle: the PZ
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for all other completions, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @ep_attributes: wishes, or NULL; 0 in a field asks for the default
 * @ep_handle: out
 *
 * Thread safe. See dat_ep_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle,
			 DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.pz = libdat_handle_in(pz_handle),
		.recv_evd = libdat_handle_in(recv_evd_handle),
		.request_evd = libdat_handle_in(request_evd_handle),
		.connect_evd = libdat_handle_in(connect_evd_handle),
		.has_attr = ep_attributes ? 1 : 0,
	};
	const DAT_EP_PARAM param = {
		.pz_handle = pz_handle,
		.recv_evd_handle = recv_evd_handle,
		.request_evd_handle = request_evd_handle,
		.connect_evd_handle = connect_evd_handle,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		check_param(&foreign, PARTS, &param);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_EP, ep_handle,
				    ep_create_func, ia_handle, pz_handle,
				    recv_evd_handle, request_evd_handle,
				    connect_evd_handle, ep_attributes,
				    ep_handle);
	}
	if (ep_attributes && !libdat_ep_attr_in(&arg.attr, ep_attributes))
		return BAD_ARG(6);
	if (!ep_handle)
		return BAD_ARG(7);
	return create(&arg, ep_handle);
}

/**
 * dat_ep_create_with_srq - make an EP whose receives come from an SRQ
 * @ia_handle: the IA
 * @pz_handle: the PZ
 * @recv_evd_handle: EVD for completions of receives, or DAT_HANDLE_NULL
 * @request_evd_handle: EVD for all other completions, or DAT_HANDLE_NULL
 * @connect_evd_handle: EVD for connection events, or DAT_HANDLE_NULL
 * @srq_handle: the SRQ
 * @ep_attributes: wishes, or NULL; 0 in a field asks for the default
 * @ep_handle: out
 *
 * Thread safe. See dat_ep_create_with_srq(3DAT).
 *
 * Return: as dat_ep_create().
 */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes,
				  DAT_EP_HANDLE *ep_handle)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
		.pz = libdat_handle_in(pz_handle),
		.recv_evd = libdat_handle_in(recv_evd_handle),
		.request_evd = libdat_handle_in(request_evd_handle),
		.connect_evd = libdat_handle_in(connect_evd_handle),
		.has_attr = ep_attributes ? 1 : 0,
		.srq = libdat_handle_in(srq_handle),
	};
	const DAT_EP_PARAM param = {
		.pz_handle = pz_handle,
		.recv_evd_handle = recv_evd_handle,
		.request_evd_handle = request_evd_handle,
		.connect_evd_handle = connect_evd_handle,
		.srq_handle = srq_handle,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA)) {
		check_param(&foreign, PARTS | DAT_EP_FIELD_SRQ_HANDLE,
			    &param);
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_EP, ep_handle,
				    ep_create_with_srq_func, ia_handle,
				    pz_handle, recv_evd_handle,
				    request_evd_handle, connect_evd_handle,
				    srq_handle, ep_attributes, ep_handle);
	}
	/* To the kernel 0 means that there is none. */
	if (srq_handle == DAT_HANDLE_NULL)
		arg.srq = BAD_HANDLE;
	if (ep_attributes && !libdat_ep_attr_in(&arg.attr, ep_attributes))
		return BAD_ARG(7);
	if (!ep_handle)
		return BAD_ARG(8);
	return create(&arg, ep_handle);
}

/*
 * The memory of an EP, locked. One that the kernel made for a connection
 * request gets it now; the EP is known to exist.
 */
static struct libdat_ep *remember(__u32 handle, __u32 ia)
{
	struct libdat_ep *ep = libdat_object_lock(handle, LIBDAT_EP);

	if (ep)
		return ep;
	ep = libdat_object_alloc(LIBDAT_EP);
	if (!ep)
		return NULL;
	libdat_object_add(&ep->object, handle, ia);
	return libdat_object_lock(handle, LIBDAT_EP);
}

/**
 * dat_ep_query - everything about an EP
 * @ep_handle: the EP
 * @ep_param_mask: what is wanted; all is filled in
 * @ep_param: out; the addresses are good until the EP is freed or the IA closed
 *
 * Thread safe. See dat_ep_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
			DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	struct dat_dev_ep_query arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
	};
	struct libdat_foreign foreign;
	struct libdat_ep *ep;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_query_func, ep_handle,
				    ep_param_mask, ep_param);
	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return BAD_ARG(2);
	if (!ep_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_EP_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	memset(ep_param, 0, sizeof(*ep_param));
	ep_param->ia_handle = libdat_handle_out(arg.ia);
	ep_param->ep_state = (DAT_EP_STATE)arg.state;
	ep_param->local_port_qual = arg.local_port;
	ep_param->remote_port_qual = arg.remote_port;
	ep_param->pz_handle = libdat_handle_out(arg.pz);
	ep_param->recv_evd_handle = libdat_handle_out(arg.recv_evd);
	ep_param->request_evd_handle = libdat_handle_out(arg.request_evd);
	ep_param->connect_evd_handle = libdat_handle_out(arg.connect_evd);
	ep_param->srq_handle = libdat_handle_out(arg.srq);
	libdat_ep_attr_out(&ep_param->ep_attr, &arg.attr);

	ep = remember(arg.ep, arg.ia);
	if (ep) {
		ep->local.dev = arg.local_address;
		ep->remote.dev = arg.remote_address;
		ep_param->local_ia_address_ptr = &ep->local.generic;
		ep_param->remote_ia_address_ptr = &ep->remote.generic;
		libdat_object_unlock(arg.ep);
	}
	return DAT_SUCCESS;
}

/* Which fields of the program's attributes count; others may be anything */
static void pick_attr(DAT_EP_ATTR *out, DAT_EP_PARAM_MASK mask,
		      const DAT_EP_ATTR *in)
{
#define PICK(name, field)						\
	do {								\
		if (mask & DAT_EP_FIELD_EP_ATTR_ ## name)		\
			out->field = in->field;				\
	} while (0)

	memset(out, 0, sizeof(*out));
	PICK(SERVICE_TYPE, service_type);
	PICK(MAX_MESSAGE_SIZE, max_message_size);
	PICK(MAX_RDMA_SIZE, max_rdma_size);
	PICK(QOS, qos);
	PICK(RECV_COMPLETION_FLAGS, recv_completion_flags);
	PICK(REQUEST_COMPLETION_FLAGS, request_completion_flags);
	PICK(MAX_RECV_DTOS, max_recv_dtos);
	PICK(MAX_REQUEST_DTOS, max_request_dtos);
	PICK(MAX_RECV_IOV, max_recv_iov);
	PICK(MAX_REQUEST_IOV, max_request_iov);
	PICK(MAX_RDMA_READ_IN, max_rdma_read_in);
	PICK(MAX_RDMA_READ_OUT, max_rdma_read_out);
	PICK(SRQ_SOFT_HW, srq_soft_hw);
	PICK(MAX_RDMA_READ_IOV, max_rdma_read_iov);
	PICK(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
	PICK(NUM_TRANSPORT_ATTR, ep_transport_specific_count);
	PICK(NUM_PROVIDER_ATTR, ep_provider_specific_count);
#undef PICK
}

/* DAT 2.0, and so the kernel, has put a field in between, behind the state. */
static __u64 mask_in(DAT_EP_PARAM_MASK mask)
{
	const DAT_EP_PARAM_MASK first = DAT_EP_FIELD_IA_HANDLE |
					DAT_EP_FIELD_EP_STATE;
	const DAT_EP_PARAM_MASK moved =
		DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR |
		DAT_EP_FIELD_LOCAL_PORT_QUAL |
		DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR |
		DAT_EP_FIELD_REMOTE_PORT_QUAL | DAT_EP_FIELD_PZ_HANDLE |
		DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
		DAT_EP_FIELD_CONNECT_EVD_HANDLE | DAT_EP_FIELD_SRQ_HANDLE;

	return (mask & first) | (mask & moved) << (DAT_VERSION_MAJOR < 2) |
	       (mask & DAT_EP_FIELD_EP_ATTR_ALL);
}

/* The EP feeds other EVDs now, or with other flags. */
static void refresh(__u32 handle)
{
	struct dat_dev_ep_query arg = { .size = sizeof(arg), .ep = handle };
	struct libdat_ep *ep, old, new;

	if (libdat_call(DAT_DEV_EP_QUERY, &arg) != DAT_SUCCESS)
		return;
	ep = remember(handle, arg.ia);
	if (!ep)
		return;
	old = *ep;
	set_evds(ep, arg.recv_evd, arg.request_evd, &arg.attr);
	new = *ep;
	libdat_object_unlock(handle);
	count_unnotified(&new, 1);
	count_unnotified(&old, -1);
}

/**
 * dat_ep_modify - change the parameters of an EP
 * @ep_handle: the EP
 * @ep_param_mask: which of @ep_param count: PZ, EVDs, attributes
 * @ep_param: the new values
 *
 * Thread safe. See dat_ep_modify(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES; unless it is DAT_SUCCESS
 * nothing has changed.
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	struct dat_dev_ep_modify arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
		.mask = mask_in(ep_param_mask),
	};
	struct libdat_foreign foreign;
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP)) {
		if (ep_param)
			check_param(&foreign, ep_param_mask, ep_param);
		return FOREIGN_CALL(&foreign, ep_modify_func, ep_handle,
				    ep_param_mask, ep_param);
	}
	if (ep_param_mask & ~DAT_EP_FIELD_ALL)
		return BAD_ARG(2);
	if (!ep_param)
		return BAD_ARG(3);
	arg.pz = libdat_handle_in(ep_param->pz_handle);
	arg.recv_evd = libdat_handle_in(ep_param->recv_evd_handle);
	arg.request_evd = libdat_handle_in(ep_param->request_evd_handle);
	arg.connect_evd = libdat_handle_in(ep_param->connect_evd_handle);
	pick_attr(&attr, ep_param_mask, &ep_param->ep_attr);
	if (!libdat_ep_attr_in(&arg.attr, &attr))
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_EP_MODIFY, &arg);
	if (ret == DAT_SUCCESS)
		refresh(arg.ep);
	return ret;
}

/**
 * dat_ep_get_status - the state of an EP
 * @ep_handle: the EP
 * @ep_state: out
 * @recv_idle: out: DAT_TRUE if no receive is outstanding
 * @request_idle: out: DAT_TRUE if no other DTO or bind is outstanding
 *
 * Thread safe. See dat_ep_get_status(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	struct dat_dev_ep_status arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_get_status_func, ep_handle,
				    ep_state, recv_idle, request_idle);
	if (!ep_state)
		return BAD_ARG(2);
	if (!recv_idle)
		return BAD_ARG(3);
	if (!request_idle)
		return BAD_ARG(4);

	ret = libdat_call(DAT_DEV_EP_GET_STATUS, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	*ep_state = (DAT_EP_STATE)arg.state;
	*recv_idle = arg.recv_idle ? DAT_TRUE : DAT_FALSE;
	*request_idle = arg.request_idle ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

/**
 * dat_ep_recv_query - how many receive buffers an EP has
 * @ep_handle: the EP
 * @nbufs_allocated: out: those that have not completed; may be NULL
 * @bufs_alloc_span: out: messages that can be received into them; may be NULL
 *
 * Both are DAT_VALUE_UNKNOWN for a connected EP with an SRQ. Thread safe. See
 * dat_ep_recv_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	struct dat_dev_ep_recv_query arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_recv_query_func, ep_handle,
				    nbufs_allocated, bufs_alloc_span);

	ret = libdat_call(DAT_DEV_EP_RECV_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	if (nbufs_allocated)
		*nbufs_allocated = (DAT_COUNT)arg.nbufs_allocated;
	if (bufs_alloc_span)
		*bufs_alloc_span = (DAT_COUNT)arg.bufs_alloc_span;
	return DAT_SUCCESS;
}

/**
 * dat_ep_set_watermark - ask to be told when an EP has many receive buffers
 * @ep_handle: the EP
 * @soft_high_watermark: more than these are an event, once
 * @hard_high_watermark: more than these end the connection
 *
 * DAT_WATERMARK_INFINITE sets no limit. Thread safe. See
 * dat_ep_set_watermark(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	struct dat_dev_ep_set_watermark arg = {
		.size = sizeof(arg),
		.ep = libdat_handle_in(ep_handle),
		.soft = (__u32)soft_high_watermark,
		.hard = (__u32)hard_high_watermark,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_set_watermark_func, ep_handle,
				    soft_high_watermark, hard_high_watermark);
	return libdat_call(DAT_DEV_EP_SET_WATERMARK, &arg);
}

/**
 * dat_ep_reset - make a disconnected EP fit for another connection
 * @ep_handle: the EP
 *
 * What pointers from its connection events point to means nothing afterwards.
 * Thread safe. See dat_ep_reset(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_CALL(&foreign, ep_reset_func, ep_handle);
	return libdat_free_call(DAT_DEV_EP_RESET, ep_handle);
}

/* The EP has gone, and with it what fed EVDs without notification. */
static void forget(__u32 handle)
{
	struct libdat_ep copy, *ep = libdat_object_lock(handle, LIBDAT_EP);

	if (!ep)
		return;
	copy = *ep;
	libdat_object_unlock(handle);
	libdat_object_drop(handle, LIBDAT_EP);
	count_unnotified(&copy, -1);
}

/**
 * libdat_ep_forget_if_gone - a connection request has gone, perhaps with its EP
 * @handle: the kernel's handle of the EP that it had, or NO_HANDLE
 *
 * An EP that the kernel made goes, one of the program's stays. Thread safe.
 */
void libdat_ep_forget_if_gone(__u32 handle)
{
	struct dat_dev_ep_status arg = { .size = sizeof(arg), .ep = handle };

	if (handle != NO_HANDLE &&
	    libdat_call(DAT_DEV_EP_GET_STATUS, &arg) != DAT_SUCCESS)
		forget(handle);
}

/**
 * dat_ep_free - free an EP
 * @ep_handle: the EP; a connection is broken
 *
 * What pointers from dat_ep_query() and from connection events point to is gone
 * afterwards. Thread safe. See dat_ep_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ep_handle, DAT_HANDLE_TYPE_EP))
		return FOREIGN_FREE(&foreign, ep_free_func, ep_handle);
	ret = libdat_free_call(DAT_DEV_EP_FREE, ep_handle);
	if (ret == DAT_SUCCESS)
		forget(libdat_handle_in(ep_handle));
	return ret;
}

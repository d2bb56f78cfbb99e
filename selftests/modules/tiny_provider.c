// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tiny_provider.c - a provider that only counts calls, for the registry tests
 *
 * Its handles are pointers, which it dereferences without a check. An invalid handle
 * that kdapl forwards is counted in tiny.bad, or causes an oops.
 */
#include <linux/export.h>
#include <linux/slab.h>

#include "tiny_provider.h"

struct tiny tiny;
EXPORT_SYMBOL_GPL(tiny);

/* Freed objects are kept for detection. A new object never gets an old address. */
struct tiny_obj {
	const DAT_PROVIDER *provider;
	DAT_HANDLE_TYPE type;
	bool dead;
	DAT_CONTEXT context;
};

static struct tiny_obj objs[64];
static unsigned int num_objs;

static DAT_HANDLE make(DAT_HANDLE_TYPE type)
{
	struct tiny_obj *obj = &objs[num_objs++ % ARRAY_SIZE(objs)];

	*obj = (struct tiny_obj){ .provider = &tiny_provider, .type = type };
	tiny.live++;
	return obj;
}

static DAT_RETURN use(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct tiny_obj *obj = handle;

	tiny.calls++;
	if (obj->provider == &tiny_provider && !obj->dead && obj->type == type)
		return DAT_SUCCESS;
	tiny.bad++;
	return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

static DAT_RETURN drop(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	DAT_RETURN ret = use(handle, type);

	if (ret)
		return ret;
	if (tiny.busy)
		return DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	((struct tiny_obj *)handle)->dead = true;
	tiny.live--;
	return DAT_SUCCESS;
}

DAT_CR_HANDLE tiny_request(void)
{
	DAT_CR_HANDLE cr = make(DAT_HANDLE_TYPE_CR);

	tiny.next.event_number = DAT_CONNECTION_REQUEST_EVENT;
	tiny.next.event_data.cr_arrival_event_data.cr_handle = cr;
	return cr;
}
EXPORT_SYMBOL_GPL(tiny_request);

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	tiny.calls++;
	*ia = make(DAT_HANDLE_TYPE_IA);
	*async_evd = make(DAT_HANDLE_TYPE_EVD);
	return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN ret = drop(ia, DAT_HANDLE_TYPE_IA);
	unsigned int i;

	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(objs); i++)
		objs[i].dead = true;
	tiny.live = 0;
	return DAT_SUCCESS;
}

/* Fills in few fields, and some wrongly, as a bad provider may. */
static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
			   DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			   DAT_UINT64 mask, DAT_PROVIDER_ATTR *attr)
{
	if (ia_attr) {
		memset(ia_attr->adapter_name, 'a',
		       sizeof(ia_attr->adapter_name));
		ia_attr->num_transport_attr = 3;
	}
	if (attr) {
		memset(attr->provider_name, 'p', sizeof(attr->provider_name));
		attr->num_provider_specific_attr = 3;
	}
	return use(ia, DAT_HANDLE_TYPE_IA);
}

static DAT_RETURN rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask,
			    DAT_RMR_PARAM *param)
{
	return use(rmr, DAT_HANDLE_TYPE_RMR);
}

static DAT_RETURN set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	((struct tiny_obj *)handle)->context = context;
	return DAT_SUCCESS;
}

static DAT_RETURN get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	*context = ((struct tiny_obj *)handle)->context;
	return DAT_SUCCESS;
}

static DAT_RETURN get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	*type = ((struct tiny_obj *)handle)->type;
	return DAT_SUCCESS;
}

static DAT_RETURN pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	DAT_RETURN ret = use(ia, DAT_HANDLE_TYPE_IA);

	*pz = make(DAT_HANDLE_TYPE_PZ);
	if (tiny.closes)
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

static DAT_RETURN pz_free(DAT_PZ_HANDLE pz)
{
	return drop(pz, DAT_HANDLE_TYPE_PZ);
}

static DAT_RETURN evd_kcreate(DAT_IA_HANDLE ia, DAT_COUNT qlen,
			      DAT_UPCALL_POLICY policy,
			      const DAT_UPCALL_OBJECT *upcall,
			      DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN ret = use(ia, DAT_HANDLE_TYPE_IA);

	if (upcall)
		tiny.upcall = *upcall;
	*evd = make(DAT_HANDLE_TYPE_EVD);
	return ret;
}

static DAT_RETURN evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask,
			    DAT_EVD_PARAM *param)
{
	param->upcall = tiny.upcall;
	return use(evd, DAT_HANDLE_TYPE_EVD);
}

static DAT_RETURN evd_modify_upcall(DAT_EVD_HANDLE evd,
				    DAT_UPCALL_POLICY policy,
				    const DAT_UPCALL_OBJECT *upcall,
				    DAT_UPCALL_FLAG flag)
{
	if (upcall)
		tiny.upcall = *upcall;
	return use(evd, DAT_HANDLE_TYPE_EVD);
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	*event = tiny.next;
	return use(evd, DAT_HANDLE_TYPE_EVD);
}

static DAT_RETURN evd_free(DAT_EVD_HANDLE evd)
{
	return drop(evd, DAT_HANDLE_TYPE_EVD);
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			    DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			    DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			    DAT_EP_HANDLE *ep)
{
	DAT_RETURN ret = use(pz, DAT_HANDLE_TYPE_PZ) ?:
			 use(request, DAT_HANDLE_TYPE_EVD);

	*ep = make(DAT_HANDLE_TYPE_EP);
	return ret;
}

static DAT_RETURN ep_post(DAT_EP_HANDLE ep, DAT_COUNT num_segments,
			  DAT_LMR_TRIPLET *local_iov,
			  DAT_DTO_COOKIE user_cookie,
			  DAT_COMPLETION_FLAGS completion_flags)
{
	tiny.next = (DAT_EVENT){
		.event_number = DAT_DTO_COMPLETION_EVENT,
		.event_data.dto_completion_event_data = {
			.ep_handle = ep,
			.user_cookie = user_cookie,
		},
	};
	return use(ep, DAT_HANDLE_TYPE_EP);
}

static DAT_RETURN ep_post_rdma(DAT_EP_HANDLE ep, DAT_COUNT num_segments,
			       DAT_LMR_TRIPLET *local_iov,
			       DAT_DTO_COOKIE user_cookie,
			       const DAT_RMR_TRIPLET *remote,
			       DAT_COMPLETION_FLAGS completion_flags)
{
	return ep_post(ep, num_segments, local_iov, user_cookie,
		       completion_flags);
}

static DAT_RETURN ep_free(DAT_EP_HANDLE ep)
{
	return drop(ep, DAT_HANDLE_TYPE_EP);
}

static DAT_RETURN cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep,
			    DAT_COUNT size, const void *data)
{
	return use(ep, DAT_HANDLE_TYPE_EP) ?: drop(cr, DAT_HANDLE_TYPE_CR);
}

static DAT_RETURN cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const void *data)
{
	return drop(cr, DAT_HANDLE_TYPE_CR);
}

static DAT_RETURN srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
			     DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq)
{
	DAT_RETURN ret = use(ia, DAT_HANDLE_TYPE_IA) ?:
			 use(pz, DAT_HANDLE_TYPE_PZ);

	*srq = make(DAT_HANDLE_TYPE_SRQ);
	return ret;
}

static DAT_RETURN srq_free(DAT_SRQ_HANDLE srq)
{
	return drop(srq, DAT_HANDLE_TYPE_SRQ);
}

static DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT num_segments,
				DAT_LMR_TRIPLET *local_iov,
				DAT_DTO_COOKIE user_cookie)
{
	tiny.next.event_data.dto_completion_event_data.user_cookie =
		user_cookie;
	return use(srq, DAT_HANDLE_TYPE_SRQ);
}

static DAT_RETURN ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
				     DAT_EVD_HANDLE recv,
				     DAT_EVD_HANDLE request,
				     DAT_EVD_HANDLE connect, DAT_SRQ_HANDLE srq,
				     const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return use(srq, DAT_HANDLE_TYPE_SRQ) ?:
	       ep_create(ia, pz, recv, request, connect, attr, ep);
}

static DAT_RETURN rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	DAT_RETURN ret = use(pz, DAT_HANDLE_TYPE_PZ);

	*rmr = make(DAT_HANDLE_TYPE_RMR);
	return ret;
}

static DAT_RETURN rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
			   const DAT_LMR_TRIPLET *triplet,
			   DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			   DAT_EP_HANDLE ep, DAT_RMR_COOKIE user_cookie,
			   DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	*context = va_type;
	return use(rmr, DAT_HANDLE_TYPE_RMR) ?: use(ep, DAT_HANDLE_TYPE_EP);
}

static DAT_RETURN rmr_free(DAT_RMR_HANDLE rmr)
{
	return drop(rmr, DAT_HANDLE_TYPE_RMR);
}

const DAT_PROVIDER tiny_provider = {
	.device_name			= "tiny",
	.ia_open_func			= ia_open,
	.ia_close_func			= ia_close,
	.ia_query_func			= ia_query,
	.set_consumer_context_func	= set_context,
	.get_consumer_context_func	= get_context,
	.get_handle_type_func		= get_type,
	.cr_accept_func			= cr_accept,
	.cr_reject_func			= cr_reject,
	.evd_kcreate_func		= evd_kcreate,
	.evd_query_func			= evd_query,
	.evd_modify_upcall_func		= evd_modify_upcall,
	.evd_dequeue_func		= evd_dequeue,
	.evd_free_func			= evd_free,
	.ep_create_func			= ep_create,
	.ep_post_send_func		= ep_post,
	.ep_post_recv_func		= ep_post,
	.ep_post_rdma_read_func		= ep_post_rdma,
	.ep_post_rdma_write_func	= ep_post_rdma,
	.ep_free_func			= ep_free,
	.pz_create_func			= pz_create,
	.pz_free_func			= pz_free,
	.ep_create_with_srq_func	= ep_create_with_srq,
	.srq_create_func		= srq_create,
	.srq_free_func			= srq_free,
	.srq_post_recv_func		= srq_post_recv,
	.rmr_create_func		= rmr_create,
	.rmr_bind_func			= rmr_bind,
	.rmr_query_func			= rmr_query,
	.rmr_free_func			= rmr_free,
};
EXPORT_SYMBOL_GPL(tiny_provider);

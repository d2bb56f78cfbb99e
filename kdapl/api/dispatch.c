// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dispatch.c - the exported calls: kdapl's own, or those of an external provider
 *
 * One row of the table below defines and exports dat_NAME(). dat_NAME() calls
 * kdapl_NAME(). If that returns DAT_INVALID_HANDLE, the first argument may be a handle of
 * an external provider; dat_NAME() then looks it up in ext.c and calls the provider.
 * ext_evd.c defines the calls of EVDs that carry connection requests, registry.c those
 * that open and close an IA. Context and return values are those of kdapl_NAME() and of
 * the provider's function.
 */
#include <linux/export.h>
#include <linux/string.h>

#include "api/ext.h"
#include "base/calls.h"

#define ARGS(...)	(__VA_ARGS__)
#define PASS(...)	(__VA_ARGS__)
#define FIRST(handle, ...)	handle

/* The further handles of a call must be of the same provider. */
#define SAME(handle, type)	\
	dat_ext_is_same(ext, handle, DAT_HANDLE_TYPE_##type)

/*
 * The body of dat_NAME() up to the look-up. Data transfers succeed most of the time, so
 * success is marked as likely.
 */
#define OWN_CALL_OR_EXT(name, pass, lookup)				\
	DAT_RETURN ret = kdapl_##name pass;				\
	struct dat_ext *ext;						\
									\
	if (likely(DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE))		\
		return ret;						\
	ext = lookup;							\
	if (!ext)							\
		return ret

#define BY_TYPE(type, pass)	\
	dat_ext_get_type(FIRST pass, DAT_HANDLE_TYPE_##type)

/**
 * CALL - define a call that neither creates nor frees an object
 * @name: the call, without dat_
 * @type: type of the first argument, without DAT_HANDLE_TYPE_
 * @valid: condition on the other arguments, in terms of "ext", the provider's entry
 * @args: the parameters
 * @pass: their names
 */
#define CALL(name, type, valid, args, pass)				\
DAT_RETURN dat_##name args						\
{									\
	OWN_CALL_OR_EXT(name, pass, BY_TYPE(type, pass));		\
									\
	if (valid)							\
		ret = dat_ext_call(ext, name##_func, pass);		\
	dat_ext_put(ext);						\
	return ret;							\
}									\
EXPORT_SYMBOL_GPL(dat_##name)

/* The same for a first argument of any type. */
#define ANY_TYPE(name, args, pass)					\
DAT_RETURN dat_##name args						\
{									\
	OWN_CALL_OR_EXT(name, pass, dat_ext_get(FIRST pass));		\
									\
	ret = dat_ext_call(ext, name##_func, pass);			\
	dat_ext_put(ext);						\
	return ret;							\
}									\
EXPORT_SYMBOL_GPL(dat_##name)

/* The same for a query. Fields that the provider does not set are 0 in @param. */
#define QUERY(name, type, param, args, pass)				\
	CALL(name, type, (memset(param, 0, sizeof(*(param))), true), args, pass)

/* The same for a call that returns the handle of a new object in @new_handle. */
#define CREATE(name, type, new_type, new_handle, valid, args, pass)	\
DAT_RETURN dat_##name args						\
{									\
	OWN_CALL_OR_EXT(name, pass, BY_TYPE(type, pass));		\
									\
	if (valid) {							\
		struct dat_ext *new = dat_ext_alloc(ext->reg, GFP_KERNEL); \
									\
		ret = new ? dat_ext_call(ext, name##_func, pass) :	\
			    DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,	\
				      DAT_RESOURCE_MEMORY);		\
		if (!ret)						\
			dat_ext_add(new, *(new_handle),			\
				    DAT_HANDLE_TYPE_##new_type, ext->ia); \
		else if (new)						\
			dat_ext_drop(new);				\
	}								\
	dat_ext_put(ext);						\
	return ret;							\
}									\
EXPORT_SYMBOL_GPL(dat_##name)

/* The same for a call that frees the object of the first argument. */
#define FREE(name, type, valid, args, pass)				\
DAT_RETURN dat_##name args						\
{									\
	OWN_CALL_OR_EXT(name, pass, BY_TYPE(type, pass));		\
									\
	if ((valid) && dat_ext_hide(ext)) {				\
		ret = dat_ext_call(ext, name##_func, pass);		\
		if (ret)						\
			dat_ext_unhide(ext);				\
		else							\
			dat_ext_remove(ext);				\
	}								\
	dat_ext_put(ext);						\
	return ret;							\
}									\
EXPORT_SYMBOL_GPL(dat_##name)

/* A region of DAT_MEM_TYPE_LMR is an LMR of the same provider. */
static bool same_region(const struct dat_ext *ext, DAT_MEM_TYPE type,
			const DAT_REGION_DESCRIPTION *region)
{
	return type != DAT_MEM_TYPE_LMR || SAME(region->for_lmr_handle, LMR);
}

/* The PZ and the EVDs that dat_ep_modify() changes are of the same provider. */
static bool same_parts(const struct dat_ext *ext, DAT_EP_PARAM_MASK mask,
		       const DAT_EP_PARAM *param)
{
	return (!(mask & DAT_EP_FIELD_PZ_HANDLE) ||
		SAME(param->pz_handle, PZ)) &&
	       (!(mask & DAT_EP_FIELD_RECV_EVD_HANDLE) ||
		SAME(param->recv_evd_handle, EVD)) &&
	       (!(mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE) ||
		SAME(param->request_evd_handle, EVD)) &&
	       (!(mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE) ||
		SAME(param->connect_evd_handle, EVD));
}

ANY_TYPE(get_handle_type,
	ARGS(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type),
	PASS(dat_handle, handle_type));
ANY_TYPE(get_consumer_context,
	ARGS(DAT_HANDLE dat_handle, DAT_CONTEXT *context),
	PASS(dat_handle, context));
ANY_TYPE(set_consumer_context,
	ARGS(DAT_HANDLE dat_handle, DAT_CONTEXT context),
	PASS(dat_handle, context));

CALL(ia_memtype_hint, IA, true,
	ARGS(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type, DAT_VLEN length,
	     DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
	     DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment),
	PASS(ia_handle, mem_type, length, mem_optimization, preferred_length,
	     preferred_alignment));
CREATE(ia_reserved_lmr, IA, LMR, lmr_handle, true,
	ARGS(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *lmr_handle,
	     DAT_LMR_CONTEXT *lmr_context),
	PASS(ia_handle, lmr_handle, lmr_context));

CREATE(pz_create, IA, PZ, pz_handle, true,
	ARGS(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle),
	PASS(ia_handle, pz_handle));
QUERY(pz_query, PZ, pz_param,
	ARGS(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
	     DAT_PZ_PARAM *pz_param),
	PASS(pz_handle, pz_param_mask, pz_param));
FREE(pz_free, PZ, true,
	ARGS(DAT_PZ_HANDLE pz_handle),
	PASS(pz_handle));

CREATE(lmr_allocate, IA, LMR, lmr_handle, SAME(pz_handle, PZ),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
	     DAT_COUNT num_pages, DAT_LMR_SCOPE lmr_scope,
	     DAT_LMR_HANDLE *lmr_handle),
	PASS(ia_handle, pz_handle, num_pages, lmr_scope, lmr_handle));
CREATE(lmr_kcreate, IA, LMR, lmr_handle,
	SAME(pz_handle, PZ) &&
	same_region(ext, mem_type, &region_description),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
	     DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
	     DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_privileges,
	     DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
	     DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
	     DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_size,
	     DAT_VADDR *registered_address),
	PASS(ia_handle, mem_type, region_description, length, pz_handle,
	     mem_privileges, va_type, mem_optimization, lmr_handle, lmr_context,
	     rmr_context, registered_size, registered_address));
CALL(lmr_sync_rdma_read, IA, true,
	ARGS(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
	     DAT_VLEN num_segments),
	PASS(ia_handle, local_segments, num_segments));
CALL(lmr_sync_rdma_write, IA, true,
	ARGS(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
	     DAT_VLEN num_segments),
	PASS(ia_handle, local_segments, num_segments));
QUERY(lmr_query, LMR, lmr_param,
	ARGS(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
	     DAT_LMR_PARAM *lmr_param),
	PASS(lmr_handle, lmr_param_mask, lmr_param));
FREE(lmr_free, LMR, true,
	ARGS(DAT_LMR_HANDLE lmr_handle),
	PASS(lmr_handle));
CALL(lmr_fmr, LMR, SAME(ep_handle, EP),
	ARGS(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE mem_type,
	     DAT_REGION_DESCRIPTION region_description, DAT_VLEN num_pages,
	     DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
	     DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE user_cookie,
	     DAT_COMPLETION_FLAGS completion_flags,
	     DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context),
	PASS(lmr_handle, mem_type, region_description, num_pages,
	     mem_privileges, va_type, ep_handle, user_cookie, completion_flags,
	     lmr_context, rmr_context));
CALL(lmr_invalidate, LMR, SAME(ep_handle, EP),
	ARGS(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
	     DAT_LMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags),
	PASS(lmr_handle, ep_handle, user_cookie, completion_flags));

CREATE(rmr_create, PZ, RMR, rmr_handle, true,
	ARGS(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle),
	PASS(pz_handle, rmr_handle));
CREATE(rmr_create_for_ep, PZ, RMR, rmr_handle, true,
	ARGS(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle),
	PASS(pz_handle, rmr_handle));
QUERY(rmr_query, RMR, rmr_param,
	ARGS(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
	     DAT_RMR_PARAM *rmr_param),
	PASS(rmr_handle, rmr_param_mask, rmr_param));
FREE(rmr_free, RMR, true,
	ARGS(DAT_RMR_HANDLE rmr_handle),
	PASS(rmr_handle));
CALL(rmr_bind, RMR,
	SAME(ep_handle, EP) && SAME(lmr_handle, LMR) &&
	(lmr_handle || !lmr_triplet || !lmr_triplet->segment_length),
	ARGS(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
	     const DAT_LMR_TRIPLET *lmr_triplet,
	     DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
	     DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
	     DAT_COMPLETION_FLAGS completion_flags,
	     DAT_RMR_CONTEXT *rmr_context),
	PASS(rmr_handle, lmr_handle, lmr_triplet, mem_privileges, va_type,
	     ep_handle, user_cookie, completion_flags, rmr_context));

CALL(evd_post_se, EVD, true,
	ARGS(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event),
	PASS(evd_handle, event));
FREE(evd_free, EVD, true,
	ARGS(DAT_EVD_HANDLE evd_handle),
	PASS(evd_handle));
CALL(evd_resize, EVD, true,
	ARGS(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen),
	PASS(evd_handle, evd_min_qlen));

CREATE(ep_create, IA, EP, ep_handle,
	SAME(pz_handle, PZ) && SAME(recv_evd_handle, EVD) &&
	SAME(request_evd_handle, EVD) && SAME(connect_evd_handle, EVD),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
	     DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
	     DAT_EVD_HANDLE connect_evd_handle,
	     const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle),
	PASS(ia_handle, pz_handle, recv_evd_handle, request_evd_handle,
	     connect_evd_handle, ep_attributes, ep_handle));
CREATE(ep_create_with_srq, IA, EP, ep_handle,
	SAME(pz_handle, PZ) && SAME(recv_evd_handle, EVD) &&
	SAME(request_evd_handle, EVD) && SAME(connect_evd_handle, EVD) &&
	SAME(srq_handle, SRQ),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
	     DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
	     DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
	     const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle),
	PASS(ia_handle, pz_handle, recv_evd_handle, request_evd_handle,
	     connect_evd_handle, srq_handle, ep_attributes, ep_handle));
QUERY(ep_query, EP, ep_param,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
	     DAT_EP_PARAM *ep_param),
	PASS(ep_handle, ep_param_mask, ep_param));
CALL(ep_get_status, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
	     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle),
	PASS(ep_handle, ep_state, recv_idle, request_idle));
FREE(ep_free, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle),
	PASS(ep_handle));
CALL(ep_connect, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
	     DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
	     DAT_COUNT private_data_size, const void *private_data, DAT_QOS qos,
	     DAT_CONNECT_FLAGS connect_flags),
	PASS(ep_handle, remote_ia_address, remote_conn_qual, timeout,
	     private_data_size, private_data, qos, connect_flags));
CALL(ep_common_connect, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
	     DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
	     const void *private_data),
	PASS(ep_handle, remote_ia_address, timeout, private_data_size,
	     private_data));
CALL(ep_dup_connect, EP, SAME(ep_dup_handle, EP),
	ARGS(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE ep_dup_handle,
	     DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
	     const void *private_data, DAT_QOS qos),
	PASS(ep_handle, ep_dup_handle, timeout, private_data_size, private_data,
	     qos));
CALL(ep_disconnect, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags),
	PASS(ep_handle, disconnect_flags));
CALL(ep_modify, EP, same_parts(ext, ep_param_mask, ep_param),
	ARGS(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
	     const DAT_EP_PARAM *ep_param),
	PASS(ep_handle, ep_param_mask, ep_param));
CALL(ep_reset, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle),
	PASS(ep_handle));
CALL(ep_set_watermark, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
	     DAT_COUNT hard_high_watermark),
	PASS(ep_handle, soft_high_watermark, hard_high_watermark));
CALL(ep_recv_query, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
	     DAT_COUNT *bufs_alloc_span),
	PASS(ep_handle, nbufs_allocated, bufs_alloc_span));
CALL(ep_post_send, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	     DAT_COMPLETION_FLAGS completion_flags),
	PASS(ep_handle, num_segments, local_iov, user_cookie, completion_flags));
CALL(ep_post_send_with_invalidate, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	     DAT_COMPLETION_FLAGS completion_flags, DAT_BOOLEAN invalidate_flag,
	     DAT_RMR_CONTEXT rmr_context),
	PASS(ep_handle, num_segments, local_iov, user_cookie, completion_flags,
	     invalidate_flag, rmr_context));
CALL(ep_post_rdma_read, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	     const DAT_RMR_TRIPLET *remote_buffer,
	     DAT_COMPLETION_FLAGS completion_flags),
	PASS(ep_handle, num_segments, local_iov, user_cookie, remote_buffer,
	     completion_flags));
CALL(ep_post_rdma_write, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	     const DAT_RMR_TRIPLET *remote_buffer,
	     DAT_COMPLETION_FLAGS completion_flags),
	PASS(ep_handle, num_segments, local_iov, user_cookie, remote_buffer,
	     completion_flags));
CALL(ep_post_recv, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
	     DAT_COMPLETION_FLAGS completion_flags),
	PASS(ep_handle, num_segments, local_iov, user_cookie, completion_flags));
CALL(ep_post_rdma_read_to_rmr, EP, true,
	ARGS(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
	     DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_buffer,
	     DAT_COMPLETION_FLAGS completion_flags),
	PASS(ep_handle, local_iov, user_cookie, remote_buffer,
	     completion_flags));

CREATE(srq_create, IA, SRQ, srq_handle, SAME(pz_handle, PZ),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
	     DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle),
	PASS(ia_handle, pz_handle, srq_attr, srq_handle));
QUERY(srq_query, SRQ, srq_param,
	ARGS(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
	     DAT_SRQ_PARAM *srq_param),
	PASS(srq_handle, srq_param_mask, srq_param));
CALL(srq_set_lw, SRQ, true,
	ARGS(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark),
	PASS(srq_handle, low_watermark));
FREE(srq_free, SRQ, true,
	ARGS(DAT_SRQ_HANDLE srq_handle),
	PASS(srq_handle));
CALL(srq_post_recv, SRQ, true,
	ARGS(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
	     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie),
	PASS(srq_handle, num_segments, local_iov, user_cookie));
CALL(srq_resize, SRQ, true,
	ARGS(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto),
	PASS(srq_handle, srq_max_recv_dto));

CREATE(psp_create, IA, PSP, psp_handle, SAME(evd_handle, EVD),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
	     DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
	     DAT_PSP_HANDLE *psp_handle),
	PASS(ia_handle, conn_qual, evd_handle, psp_flags, psp_handle));
CREATE(psp_create_any, IA, PSP, psp_handle, SAME(evd_handle, EVD),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
	     DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
	     DAT_PSP_HANDLE *psp_handle),
	PASS(ia_handle, conn_qual, evd_handle, psp_flags, psp_handle));
QUERY(psp_query, PSP, psp_param,
	ARGS(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
	     DAT_PSP_PARAM *psp_param),
	PASS(psp_handle, psp_param_mask, psp_param));
FREE(psp_free, PSP, true,
	ARGS(DAT_PSP_HANDLE psp_handle),
	PASS(psp_handle));

CREATE(rsp_create, IA, RSP, rsp_handle,
	SAME(ep_handle, EP) && SAME(evd_handle, EVD),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
	     DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
	     DAT_RSP_HANDLE *rsp_handle),
	PASS(ia_handle, conn_qual, ep_handle, evd_handle, rsp_handle));
QUERY(rsp_query, RSP, rsp_param,
	ARGS(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
	     DAT_RSP_PARAM *rsp_param),
	PASS(rsp_handle, rsp_param_mask, rsp_param));
FREE(rsp_free, RSP, true,
	ARGS(DAT_RSP_HANDLE rsp_handle),
	PASS(rsp_handle));

CREATE(csp_create, IA, CSP, csp_handle, SAME(evd_handle, EVD),
	ARGS(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
	     DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd_handle,
	     DAT_CSP_HANDLE *csp_handle),
	PASS(ia_handle, comm, address, evd_handle, csp_handle));
QUERY(csp_query, CSP, csp_param,
	ARGS(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK csp_param_mask,
	     DAT_CSP_PARAM *csp_param),
	PASS(csp_handle, csp_param_mask, csp_param));
FREE(csp_free, CSP, true,
	ARGS(DAT_CSP_HANDLE csp_handle),
	PASS(csp_handle));

QUERY(cr_query, CR, cr_param,
	ARGS(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
	     DAT_CR_PARAM *cr_param),
	PASS(cr_handle, cr_param_mask, cr_param));
FREE(cr_accept, CR, SAME(ep_handle, EP),
	ARGS(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
	     DAT_COUNT private_data_size, const void *private_data),
	PASS(cr_handle, ep_handle, private_data_size, private_data));
FREE(cr_reject, CR, true,
	ARGS(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
	     const void *private_data),
	PASS(cr_handle, private_data_size, private_data));
FREE(cr_handoff, CR, true,
	ARGS(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff),
	PASS(cr_handle, handoff));

/* Terminates the two strings and clears the counts of attribute lists that are NULL. */
static void finish_attrs(DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *provider_attr)
{
	if (ia_attr) {
		ia_attr->adapter_name[sizeof(ia_attr->adapter_name) - 1] = 0;
		ia_attr->vendor_name[sizeof(ia_attr->vendor_name) - 1] = 0;
		if (!ia_attr->transport_attr)
			ia_attr->num_transport_attr = 0;
		if (!ia_attr->vendor_attr)
			ia_attr->num_vendor_attr = 0;
	}
	if (provider_attr) {
		provider_attr->provider_name[sizeof(provider_attr->provider_name) - 1] = 0;
		if (!provider_attr->provider_specific_attr)
			provider_attr->num_provider_specific_attr = 0;
	}
}

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_UINT64 provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr)
{
	OWN_CALL_OR_EXT(ia_query,
			(ia_handle, async_evd_handle, ia_attr_mask, ia_attr,
			 provider_attr_mask, provider_attr),
			dat_ext_get_type(ia_handle, DAT_HANDLE_TYPE_IA));

	if (!ia_attr_mask)
		ia_attr = NULL;
	if (!provider_attr_mask)
		provider_attr = NULL;
	if (ia_attr)
		memset(ia_attr, 0, sizeof(*ia_attr));
	if (provider_attr)
		memset(provider_attr, 0, sizeof(*provider_attr));
	ret = dat_ext_call(ext, ia_query_func,
			   (ia_handle, async_evd_handle, ia_attr_mask, ia_attr,
			    provider_attr_mask, provider_attr));
	if (!ret)
		finish_attrs(ia_attr, provider_attr);
	dat_ext_put(ext);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_query);

/* Providers have the function of DAT 2.0, whose LMR handle the call of 1.2 lacks. */
DAT_RETURN dat_rmr_bind_1_2(DAT_RMR_HANDLE rmr_handle,
			    const DAT_LMR_TRIPLET *lmr_triplet,
			    DAT_MEM_PRIV_FLAGS mem_privileges,
			    DAT_EP_HANDLE ep_handle,
			    DAT_RMR_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags,
			    DAT_RMR_CONTEXT *rmr_context)
{
	OWN_CALL_OR_EXT(rmr_bind_1_2,
			(rmr_handle, lmr_triplet, mem_privileges, ep_handle,
			 user_cookie, completion_flags, rmr_context),
			dat_ext_get_type(rmr_handle, DAT_HANDLE_TYPE_RMR));

	if (SAME(ep_handle, EP))
		ret = dat_ext_call(ext, rmr_bind_func,
				   (rmr_handle, DAT_HANDLE_NULL, lmr_triplet,
				    mem_privileges, DAT_VA_TYPE_VA, ep_handle,
				    user_cookie, completion_flags,
				    rmr_context));
	dat_ext_put(ext);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rmr_bind_1_2);

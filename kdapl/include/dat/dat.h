/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat.h - types and calls that the kernel API shares with the user API of DAT 2.0
 *
 * Include <dat/kdat.h> instead: it first defines the types that differ between the two
 * APIs and then includes this header. dat_common.h has what the user API of DAT 1.2 shares.
 */
#ifndef _DAT_H_
#define _DAT_H_

#include <dat/dat_error.h>

typedef struct sockaddr	*DAT_IA_ADDRESS_PTR;
typedef DAT_UINT32	DAT_SEG_LENGTH;

typedef enum dat_dtos {
	DAT_DTO_SEND,
	DAT_DTO_RDMA_WRITE,
	DAT_DTO_RDMA_READ,
	DAT_DTO_RECEIVE,
	DAT_DTO_RECEIVE_WITH_INVALIDATE,
	DAT_DTO_BIND_MW,
	DAT_DTO_LMR_FMR,
	DAT_DTO_LMR_INVALIDATE
} DAT_DTOS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG		= 0x00,
	DAT_CONNECT_MULTIPATH_FLAG		= 0x01,
	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG	= 0x01,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG	= 0x02
} DAT_CONNECT_FLAGS;

typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR,
	DAT_SRQ_STATE_OPERATIONAL,
	DAT_SRQ_STATE_SHUTDOWN
} DAT_SRQ_STATE;

#include <dat/dat_common.h>

typedef DAT_UINT32 DAT_HA_LB;
#define DAT_HA_LB_NONE		((DAT_HA_LB)0)
#define DAT_HA_LB_INTERCOMM	((DAT_HA_LB)1)
#define DAT_HA_LB_INTRACOMM	((DAT_HA_LB)2)

typedef enum dat_lmr_param_mask		DAT_LMR_PARAM_MASK;

/* Must have the layout of the kernel's struct ib_sge. */
typedef struct dat_lmr_triplet {
	DAT_VADDR	virtual_address;
	DAT_SEG_LENGTH	segment_length;
	DAT_LMR_CONTEXT	lmr_context;
} DAT_LMR_TRIPLET;

typedef struct dat_rmr_triplet {
	DAT_VADDR	virtual_address;
	DAT_SEG_LENGTH	segment_length;
	DAT_RMR_CONTEXT	rmr_context;
} DAT_RMR_TRIPLET;

typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33
} DAT_MEM_PRIV_FLAGS;

/*
 * Not in the specification, for dat_lmr_kcreate() only: writes of a peer may become
 * visible in any order. Devices that use this are faster.
 */
#define DAT_MEM_PRIV_RELAXED_FLAG	0x200

typedef enum dat_va_type {
	DAT_VA_TYPE_VA	= 0x0,
	DAT_VA_TYPE_ZB	= 0x1
} DAT_VA_TYPE;

typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP,
	DAT_RMR_SCOPE_PZ,
	DAT_RMR_SCOPE_ANY
} DAT_RMR_SCOPE;

typedef struct dat_rmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_PZ_HANDLE		pz_handle;
	DAT_LMR_TRIPLET		lmr_triplet;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_RMR_CONTEXT		rmr_context;
	DAT_RMR_SCOPE		rmr_scope;
	DAT_VA_TYPE		va_type;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_RMR_SCOPE		= 0x20,
	DAT_RMR_FIELD_VA_TYPE		= 0x40,
	DAT_RMR_FIELD_ALL		= 0x7f
} DAT_RMR_PARAM_MASK;

typedef struct dat_ia_attr	DAT_IA_ATTR;

#define DAT_IA_FIELD_IA_ZB_SUPPORTED			UINT64_C(0x080000000)

#define DAT_EP_FIELD_IA_HANDLE				UINT64_C(0x00000001)
#define DAT_EP_FIELD_EP_STATE				UINT64_C(0x00000002)
#define DAT_EP_FIELD_COMM				UINT64_C(0x00000004)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		UINT64_C(0x00000008)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			UINT64_C(0x00000010)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		UINT64_C(0x00000020)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			UINT64_C(0x00000040)
#define DAT_EP_FIELD_PZ_HANDLE				UINT64_C(0x00000080)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			UINT64_C(0x00000100)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			UINT64_C(0x00000200)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			UINT64_C(0x00000400)
#define DAT_EP_FIELD_SRQ_HANDLE				UINT64_C(0x00000800)
#define DAT_EP_FIELD_ALL				UINT64_C(0x7fffffff)

typedef struct dat_csp_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_COMM		*comm;
	DAT_IA_ADDRESS_PTR	address_ptr;
	DAT_EVD_HANDLE		evd_handle;
} DAT_CSP_PARAM;

typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE		= 0x01,
	DAT_CSP_FIELD_COMM		= 0x02,
	DAT_CSP_FIELD_IA_ADDRESS	= 0x04,
	DAT_CSP_FIELD_EVD_HANDLE	= 0x08,
	DAT_CSP_FIELD_ALL		= 0x0f
} DAT_CSP_PARAM_MASK;

/* Calls; kdapl/ has the kernel-doc of each call at its definition. */

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name,
			DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major, DAT_UINT32 dat_minor,
			DAT_BOOLEAN thread_safety);

#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), \
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask,
			DAT_IA_ATTR *ia_attr,
			DAT_UINT64 provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr);
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle,
			DAT_CLOSE_FLAGS close_flags);

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle,
				    DAT_CONTEXT context);
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle,
				    DAT_CONTEXT *context);
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle,
			       DAT_HANDLE_TYPE *handle_type);

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
			DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param);
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle,
			 DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size,
			 const void *private_data);
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle,
			 DAT_COUNT private_data_size,
			 const void *private_data);
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle,
			  DAT_CONN_QUAL handoff);

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param);
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle,
			  DAT_COUNT evd_min_qlen);
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle,
			   const DAT_EVENT *event);
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle,
			   DAT_EVENT *event);
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle,
			 DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle,
			 DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle,
			 const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				  DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle,
				  DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes,
				  DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
			DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param);
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
			 DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param);
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
			  DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual,
			  DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size,
			  const void *private_data,
			  DAT_QOS qos, DAT_CONNECT_FLAGS connect_flags);
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			      DAT_EP_HANDLE ep_dup_handle,
			      DAT_TIMEOUT timeout,
			      DAT_COUNT private_data_size,
			      const void *private_data, DAT_QOS qos);
DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				 DAT_IA_ADDRESS_PTR remote_ia_address,
				 DAT_TIMEOUT timeout,
				 DAT_COUNT private_data_size,
				 const void *private_data);
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle,
			     DAT_CLOSE_FLAGS disconnect_flags);
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle,
			     DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle,
			     DAT_BOOLEAN *request_idle);
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
			     DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span);
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
				DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark);
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle,
			    DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN
dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 DAT_COMPLETION_FLAGS completion_flags,
				 DAT_BOOLEAN invalidate_flag,
				 DAT_RMR_CONTEXT rmr_context);
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle,
			    DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov,
			    DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				 DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov,
				 DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN
dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
			     const DAT_RMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie,
			     const DAT_RMR_TRIPLET *remote_buffer,
			     DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags);

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
				  const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments);
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
				   const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle,
			  DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				 DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			 DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param);
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			DAT_LMR_HANDLE lmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges,
			DAT_VA_TYPE va_type,
			DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat_rmr_bind_1_2(DAT_RMR_HANDLE rmr_handle,
			    const DAT_LMR_TRIPLET *lmr_triplet,
			    DAT_MEM_PRIV_FLAGS mem_privileges,
			    DAT_EP_HANDLE ep_handle,
			    DAT_RMR_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags,
			    DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle,
			  DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle,
			  DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle,
			      DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle,
			      DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
			 DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param);
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle,
			  DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle,
			  DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle);
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
			 DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param);
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

DAT_RETURN dat_csp_create(DAT_IA_HANDLE ia_handle,
			  DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			  DAT_EVD_HANDLE evd_handle,
			  DAT_CSP_HANDLE *csp_handle);
DAT_RETURN dat_csp_query(DAT_CSP_HANDLE csp_handle,
			 DAT_CSP_PARAM_MASK csp_param_mask,
			 DAT_CSP_PARAM *csp_param);
DAT_RETURN dat_csp_free(DAT_CSP_HANDLE csp_handle);

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle,
			 DAT_PZ_HANDLE *pz_handle);
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle,
			DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param);
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[]);

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle,
			  DAT_PZ_HANDLE pz_handle,
			  DAT_SRQ_ATTR *srq_attr,
			  DAT_SRQ_HANDLE *srq_handle);
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle,
			     DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie);
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
			 DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param);
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle,
			  DAT_COUNT srq_max_recv_dto);
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle,
			  DAT_COUNT low_watermark);

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message,
			const char **minor_message);

#endif /* _DAT_H_ */

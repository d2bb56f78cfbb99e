/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat.h - the part of the user API of DAT 1.2 that the kernel API also has
 *
 * Included through <dat/udat.h>, which defines the types that differ between
 * the two first. dat_common.h has what is the same in both.
 */
#ifndef _DAT_H_
#define _DAT_H_

#include <dat/dat_error.h>

typedef DAT_SOCK_ADDR	*DAT_IA_ADDRESS_PTR;
/* A name of DAT 2.0, which has 32 bits */
typedef DAT_UINT64	DAT_SEG_LENGTH;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG	= 0x00,
	DAT_CONNECT_MULTIPATH_FLAG	= 0x01
} DAT_CONNECT_FLAGS;

typedef enum dat_srq_state {
	DAT_SRQ_STATE_OPERATIONAL,
	DAT_SRQ_STATE_ERROR
} DAT_SRQ_STATE;

#include <dat/dat_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With a segment_length of 0 the other fields are ignored. */
typedef struct dat_lmr_triplet {
	DAT_LMR_CONTEXT	lmr_context;
	DAT_UINT32	pad;
	DAT_VADDR	virtual_address;
	DAT_VLEN	segment_length;
} DAT_LMR_TRIPLET;

typedef struct dat_rmr_triplet {
	DAT_RMR_CONTEXT	rmr_context;
	DAT_UINT32	pad;
	DAT_VADDR	target_address;
	DAT_VLEN	segment_length;
} DAT_RMR_TRIPLET;

/* The last flag, of Solaris, forbids relaxed ordering. */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
	DAT_MEM_PRIV_RO_DISABLE_FLAG	= 0x100
} DAT_MEM_PRIV_FLAGS;

typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x002,
	DAT_LMR_FIELD_REGION_DESC		= 0x004,
	DAT_LMR_FIELD_LENGTH			= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x020,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x040,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x080,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x100,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x200,
	DAT_LMR_FIELD_ALL			= 0x3ff
} DAT_LMR_PARAM_MASK;

typedef struct dat_rmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_PZ_HANDLE		pz_handle;
	DAT_LMR_TRIPLET		lmr_triplet;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_RMR_CONTEXT		rmr_context;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_ALL		= 0x1f
} DAT_RMR_PARAM_MASK;

/* Name of DAT 1.0 */
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP	DAT_IA_FIELD_IA_MAX_DTO_PER_EP

typedef struct dat_ia_attr {
	char			adapter_name[DAT_NAME_MAX_LENGTH];
	char			vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		hardware_version_major;
	DAT_UINT32		hardware_version_minor;
	DAT_UINT32		firmware_version_major;
	DAT_UINT32		firmware_version_minor;
	DAT_IA_ADDRESS_PTR	ia_address_ptr;
	DAT_COUNT		max_eps;
	DAT_COUNT		max_dto_per_ep;
	DAT_COUNT		max_rdma_read_per_ep_in;
	DAT_COUNT		max_rdma_read_per_ep_out;
	DAT_COUNT		max_evds;
	DAT_COUNT		max_evd_qlen;
	DAT_COUNT		max_iov_segments_per_dto;
	DAT_COUNT		max_lmrs;
	DAT_VLEN		max_lmr_block_size;
	DAT_VADDR		max_lmr_virtual_address;
	DAT_COUNT		max_pzs;
	DAT_VLEN		max_message_size;
	DAT_VLEN		max_rdma_size;
	DAT_COUNT		max_rmrs;
	DAT_VADDR		max_rmr_target_address;
	DAT_COUNT		max_srqs;
	DAT_COUNT		max_ep_per_srq;
	DAT_COUNT		max_recv_per_srq;
	DAT_COUNT		max_iov_segments_per_rdma_read;
	DAT_COUNT		max_iov_segments_per_rdma_write;
	DAT_COUNT		max_rdma_read_in;
	DAT_COUNT		max_rdma_read_out;
	DAT_BOOLEAN		max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN		max_rdma_read_per_ep_out_guaranteed;
	DAT_COUNT		num_transport_attr;
	DAT_NAMED_ATTR		*transport_attr;
	DAT_COUNT		num_vendor_attr;
	DAT_NAMED_ATTR		*vendor_attr;
} DAT_IA_ATTR;

#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		UINT64_C(0x080000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR			UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL				UINT64_C(0x7ffffffff)

#define DAT_EP_FIELD_IA_HANDLE				UINT64_C(0x00000001)
#define DAT_EP_FIELD_EP_STATE				UINT64_C(0x00000002)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		UINT64_C(0x00000004)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			UINT64_C(0x00000008)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		UINT64_C(0x00000010)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			UINT64_C(0x00000020)
#define DAT_EP_FIELD_PZ_HANDLE				UINT64_C(0x00000040)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			UINT64_C(0x00000080)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			UINT64_C(0x00000100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			UINT64_C(0x00000200)
#define DAT_EP_FIELD_SRQ_HANDLE				UINT64_C(0x00000400)
#define DAT_EP_FIELD_ALL				UINT64_C(0x7ffff7ff)

typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR
} DAT_PZ_ASYNC_ERROR_REASON;

/* Calls */

DAT_RETURN dat_ia_openv(IN const DAT_NAME_PTR ia_name_ptr,
			IN DAT_COUNT async_evd_min_qlen,
			INOUT DAT_EVD_HANDLE *async_evd_handle,
			OUT DAT_IA_HANDLE *ia_handle,
			IN DAT_UINT32 dat_major,
			IN DAT_UINT32 dat_minor,
			IN DAT_BOOLEAN thread_safety);

#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), \
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle,
			OUT DAT_EVD_HANDLE *async_evd_handle,
			IN DAT_IA_ATTR_MASK ia_attr_mask,
			OUT DAT_IA_ATTR *ia_attributes,
			IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			OUT DAT_PROVIDER_ATTR *provider_attributes);
DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle,
			IN DAT_CLOSE_FLAGS ia_flags);

DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle,
				    IN DAT_CONTEXT context);
DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle,
				    OUT DAT_CONTEXT *context);
DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle,
			       OUT DAT_HANDLE_TYPE *handle_type);

DAT_RETURN dat_cr_query(IN DAT_CR_HANDLE cr_handle,
			IN DAT_CR_PARAM_MASK cr_param_mask,
			OUT DAT_CR_PARAM *cr_param);
DAT_RETURN dat_cr_accept(IN DAT_CR_HANDLE cr_handle,
			 IN DAT_EP_HANDLE ep_handle,
			 IN DAT_COUNT private_data_size,
			 IN const DAT_PVOID private_data);
DAT_RETURN dat_cr_reject(IN DAT_CR_HANDLE cr_handle);
DAT_RETURN dat_cr_handoff(IN DAT_CR_HANDLE cr_handle,
			  IN DAT_CONN_QUAL handoff);

DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle,
			  IN DAT_COUNT evd_min_qlen);
DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle,
			   IN const DAT_EVENT *event);
DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle,
			   OUT DAT_EVENT *event);
DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle,
			 IN DAT_PZ_HANDLE pz_handle,
			 IN DAT_EVD_HANDLE recv_evd_handle,
			 IN DAT_EVD_HANDLE request_evd_handle,
			 IN DAT_EVD_HANDLE connect_evd_handle,
			 IN const DAT_EP_ATTR *ep_attributes,
			 OUT DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle,
				  IN DAT_PZ_HANDLE pz_handle,
				  IN DAT_EVD_HANDLE recv_evd_handle,
				  IN DAT_EVD_HANDLE request_evd_handle,
				  IN DAT_EVD_HANDLE connect_evd_handle,
				  IN DAT_SRQ_HANDLE srq_handle,
				  IN const DAT_EP_ATTR *ep_attributes,
				  OUT DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle,
			IN DAT_EP_PARAM_MASK ep_param_mask,
			OUT DAT_EP_PARAM *ep_param);
DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle,
			 IN DAT_EP_PARAM_MASK ep_param_mask,
			 IN const DAT_EP_PARAM *ep_param);
DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle,
			  IN DAT_IA_ADDRESS_PTR remote_ia_address,
			  IN DAT_CONN_QUAL remote_conn_qual,
			  IN DAT_TIMEOUT timeout,
			  IN DAT_COUNT private_data_size,
			  IN const DAT_PVOID private_data,
			  IN DAT_QOS qos,
			  IN DAT_CONNECT_FLAGS connect_flags);
DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle,
			      IN DAT_EP_HANDLE ep_dup_handle,
			      IN DAT_TIMEOUT timeout,
			      IN DAT_COUNT private_data_size,
			      IN const DAT_PVOID private_data,
			      IN DAT_QOS qos);
DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle,
			     IN DAT_CLOSE_FLAGS disconnect_flags);
DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle,
			     OUT DAT_EP_STATE *ep_state,
			     OUT DAT_BOOLEAN *recv_idle,
			     OUT DAT_BOOLEAN *request_idle);
DAT_RETURN dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle,
			     OUT DAT_COUNT *nbufs_allocated,
			     OUT DAT_COUNT *bufs_alloc_span);
DAT_RETURN dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle,
				IN DAT_COUNT soft_high_watermark,
				IN DAT_COUNT hard_high_watermark);
DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle);
DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle);

DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle,
			    IN DAT_COUNT num_segments,
			    IN DAT_LMR_TRIPLET *local_iov,
			    IN DAT_DTO_COOKIE user_cookie,
			    IN DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle,
			    IN DAT_COUNT num_segments,
			    IN DAT_LMR_TRIPLET *local_iov,
			    IN DAT_DTO_COOKIE user_cookie,
			    IN DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle,
				 IN DAT_COUNT num_segments,
				 IN DAT_LMR_TRIPLET *local_iov,
				 IN DAT_DTO_COOKIE user_cookie,
				 IN const DAT_RMR_TRIPLET *remote_buffer,
				 IN DAT_COMPLETION_FLAGS flags);
DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle,
				  IN DAT_COUNT num_segments,
				  IN DAT_LMR_TRIPLET *local_iov,
				  IN DAT_DTO_COOKIE user_cookie,
				  IN const DAT_RMR_TRIPLET *remote_buffer,
				  IN DAT_COMPLETION_FLAGS flags);

DAT_RETURN dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle,
			 IN DAT_LMR_PARAM_MASK lmr_param_mask,
			 OUT DAT_LMR_PARAM *lmr_param);
DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);
DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
				  IN const DAT_LMR_TRIPLET *local_segments,
				  IN DAT_VLEN num_segments);
DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
				   IN const DAT_LMR_TRIPLET *local_segments,
				   IN DAT_VLEN num_segments);

DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle,
			  OUT DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle,
			 IN DAT_RMR_PARAM_MASK rmr_param_mask,
			 OUT DAT_RMR_PARAM *rmr_param);
DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle,
			IN const DAT_LMR_TRIPLET *lmr_triplet,
			IN DAT_MEM_PRIV_FLAGS mem_privileges,
			IN DAT_EP_HANDLE ep_handle,
			IN DAT_RMR_COOKIE user_cookie,
			IN DAT_COMPLETION_FLAGS completion_flags,
			OUT DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle,
			  IN DAT_CONN_QUAL conn_qual,
			  IN DAT_EVD_HANDLE evd_handle,
			  IN DAT_PSP_FLAGS psp_flags,
			  OUT DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat_psp_create_any(IN DAT_IA_HANDLE ia_handle,
			      OUT DAT_CONN_QUAL *conn_qual,
			      IN DAT_EVD_HANDLE evd_handle,
			      IN DAT_PSP_FLAGS psp_flags,
			      OUT DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle,
			 IN DAT_PSP_PARAM_MASK psp_param_mask,
			 OUT DAT_PSP_PARAM *psp_param);
DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

DAT_RETURN dat_rsp_create(IN DAT_IA_HANDLE ia_handle,
			  IN DAT_CONN_QUAL conn_qual,
			  IN DAT_EP_HANDLE ep_handle,
			  IN DAT_EVD_HANDLE evd_handle,
			  OUT DAT_RSP_HANDLE *rsp_handle);
DAT_RETURN dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle,
			 IN DAT_RSP_PARAM_MASK rsp_param_mask,
			 OUT DAT_RSP_PARAM *rsp_param);
DAT_RETURN dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

DAT_RETURN dat_pz_create(IN DAT_IA_HANDLE ia_handle,
			 OUT DAT_PZ_HANDLE *pz_handle);
DAT_RETURN dat_pz_query(IN DAT_PZ_HANDLE pz_handle,
			IN DAT_PZ_PARAM_MASK pz_param_mask,
			OUT DAT_PZ_PARAM *pz_param);
DAT_RETURN dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle,
			  IN DAT_PZ_HANDLE pz_handle,
			  IN DAT_SRQ_ATTR *srq_attr,
			  OUT DAT_SRQ_HANDLE *srq_handle);
DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle,
			 IN DAT_SRQ_PARAM_MASK srq_param_mask,
			 OUT DAT_SRQ_PARAM *srq_param);
DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle,
			  IN DAT_COUNT srq_max_recv_dto);
DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle,
			  IN DAT_COUNT low_watermark);
DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle,
			     IN DAT_COUNT num_segments,
			     IN DAT_LMR_TRIPLET *local_iov,
			     IN DAT_DTO_COOKIE user_cookie);
DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
				       OUT DAT_COUNT *entries_returned,
				       OUT DAT_PROVIDER_INFO *dat_provider_list[]);

DAT_RETURN dat_strerror(IN DAT_RETURN value,
			OUT const char **major_message,
			OUT const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_H_ */

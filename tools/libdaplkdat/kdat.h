/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kdat.h - what the files of libdaplkdat share
 *
 * The provider is libdat, compiled with the headers of DAT 2.0, and the files of
 * this folder. They add handles that libdat2 can dereference, counters, and the
 * calls that DAT 1.2 does not have or has with other arguments.
 */
#ifndef LIBDAPLKDAT_KDAT_H
#define LIBDAPLKDAT_KDAT_H

#include <stdatomic.h>

#include "libdat.h"

/* entries.c */
extern const DAT_PROVIDER kdat_entries;

/* provider.c; libdat2 looks up the first two by name */
#define KDAT_EXPORT	__attribute__((visibility("default")))

KDAT_EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info,
				   const char *params);
KDAT_EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);
const DAT_PROVIDER *kdat_find(const char *name, DAT_BOOLEAN is_thread_safe,
			      const char **ia);
const DAT_PROVIDER_INFO *kdat_info(DAT_IA_HANDLE ia_handle);

/* Objects with counters, as dat_ib_extensions.h has them */
enum kdat_counted {
	KDAT_COUNTED_IA,
	KDAT_COUNTED_EP,
	KDAT_COUNTED_EVD,
	/* Internal: see port.c */
	KDAT_COUNTED_LAST,
	KDAT_NUM_COUNTED,
};

struct kdat_counter {
	_Atomic DAT_UINT64 value;
};

/* handles.c */

/**
 * struct kdat_handle - the target of a handle
 * @provider: the table of entries, where libdat2 expects it
 * @number: the kernel's handle, BAD_HANDLE after the object was freed
 * @key: the kernel's handle also then; NO_HANDLE while in no bucket
 * @next: chain of the bucket
 * @next_retired: chain of the retired structures
 * @counters: an array for each kind, allocated at the first count; never freed,
 *	because another thread may be counting
 * @ia: its IA, or itself for an IA; NULL before kdat_handle_set_ia()
 * @is_active: the EP requested its connection
 */
struct kdat_handle {
	const DAT_PROVIDER *provider;
	atomic_uint number;
	__u32 key;
	struct kdat_handle *next;
	struct kdat_handle *next_retired;
	struct kdat_counter *counters[KDAT_NUM_COUNTED];
	struct kdat_handle *ia;
	atomic_bool is_active;
};

struct kdat_counter *kdat_counters_make(struct kdat_handle *h,
					enum kdat_counted kind);

/**
 * kdat_counters_of - the counters of an object
 * @handle: the object
 * @kind: type of the object
 *
 * Thread safe.
 *
 * Return: an array of kdat_num_counters() counters, which is never freed; NULL
 * without memory.
 */
static inline struct kdat_counter *kdat_counters_of(DAT_HANDLE handle,
						    enum kdat_counted kind)
{
	struct kdat_handle *h = handle;
	struct kdat_counter *counters;

	counters = __atomic_load_n(&h->counters[kind], __ATOMIC_ACQUIRE);
	return counters ? counters : kdat_counters_make(h, kind);
}

static inline void kdat_counter_add(struct kdat_counter *counter, DAT_UINT64 by)
{
	atomic_fetch_add_explicit(&counter->value, by, memory_order_relaxed);
}

unsigned int kdat_num_counters(enum kdat_counted kind);
void kdat_handle_set_ia(DAT_HANDLE handle, DAT_HANDLE of);
DAT_HANDLE kdat_handle_ia(DAT_HANDLE handle);
void kdat_handle_set_active(DAT_HANDLE handle, bool is_active);
bool kdat_handle_is_active(DAT_HANDLE handle);
void kdat_handle_set_provider(DAT_HANDLE handle, const DAT_PROVIDER *provider);
void kdat_handle_remove(DAT_HANDLE handle);
void kdat_handle_remove_if_freed(DAT_HANDLE handle);
void kdat_handles_remove_freed(void);

/* counted.c */
void kdat_count(DAT_HANDLE handle, enum kdat_counted kind, unsigned int counter,
		DAT_UINT64 by);
void kdat_count_ia(DAT_HANDLE of, DAT_IA_COUNTERS counter);
DAT_RETURN kdat_count_create(DAT_RETURN ret, const DAT_HANDLE *handle,
			     DAT_HANDLE of, DAT_IA_COUNTERS counter);

/* counted.c */
void kdat_count_event(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/* counted.c */
DAT_RETURN kdat_count_listen(DAT_RETURN ret, const DAT_HANDLE *handle,
			     DAT_HANDLE ia, DAT_IA_COUNTERS counter);
DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);
DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			  DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ep_handle);
DAT_RETURN kdat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				   DAT_PZ_HANDLE pz_handle,
				   DAT_EVD_HANDLE recv_evd,
				   DAT_EVD_HANDLE request_evd,
				   DAT_EVD_HANDLE connect_evd,
				   DAT_SRQ_HANDLE srq_handle,
				   const DAT_EP_ATTR *attr,
				   DAT_EP_HANDLE *ep_handle);
DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);
DAT_RETURN kdat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			   DAT_PSP_HANDLE *psp_handle);
DAT_RETURN kdat_psp_create_any(DAT_IA_HANDLE ia_handle,
			       DAT_CONN_QUAL *conn_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			       DAT_PSP_HANDLE *psp_handle);
DAT_RETURN kdat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *rsp_handle);

/* counted.c */
DAT_RETURN kdat_count_post(DAT_RETURN ret, DAT_EP_HANDLE ep_handle,
			   DAT_EP_COUNTERS counter);
DAT_RETURN kdat_count_post_data(DAT_RETURN ret, DAT_EP_HANDLE ep_handle,
				DAT_EP_COUNTERS counter, DAT_COUNT num_segments,
				const DAT_LMR_TRIPLET *local_iov);
DAT_RETURN kdat_count_connect(DAT_RETURN ret, DAT_EP_HANDLE ep_handle);
DAT_RETURN kdat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				   DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov,
				   DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdat_ep_connect(DAT_EP_HANDLE ep_handle,
			   DAT_IA_ADDRESS_PTR remote_ia_address,
			   DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			   DAT_COUNT private_data_size,
			   const DAT_PVOID private_data, DAT_QOS quality,
			   DAT_CONNECT_FLAGS flags);
DAT_RETURN kdat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			       DAT_EP_HANDLE dup_ep_handle, DAT_TIMEOUT timeout,
			       DAT_COUNT private_data_size,
			       const DAT_PVOID private_data, DAT_QOS quality);
DAT_RETURN kdat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags);

/* counters.c */
DAT_RETURN kdat_counters_query(DAT_HANDLE handle, int counter,
			       DAT_UINT64 *values, bool reset);
DAT_RETURN kdat_counters_print(DAT_HANDLE handle, int counter, bool reset);

/* port.c */
void kdat_port_sample(DAT_IA_HANDLE ia_handle);
DAT_RETURN kdat_port_start(DAT_IA_HANDLE ia_handle, int type);
DAT_RETURN kdat_port_stop(DAT_IA_HANDLE ia_handle, int type);

/* ia.c */
DAT_RETURN kdat_ia_open(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle);
DAT_RETURN kdat_ia_open_unsafe(const DAT_NAME_PTR name,
			       DAT_COUNT async_evd_min_qlen,
			       DAT_EVD_HANDLE *async_evd_handle,
			       DAT_IA_HANDLE *ia_handle);
DAT_RETURN kdat_ia_query(DAT_IA_HANDLE ia_handle,
			 DAT_EVD_HANDLE *async_evd_handle,
			 DAT_IA_ATTR_MASK ia_attr_mask,
			 DAT_IA_ATTR *ia_attributes,
			 DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			 DAT_PROVIDER_ATTR *provider_attributes);
DAT_RETURN kdat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags);
DAT_RETURN kdat_ia_ha_related(DAT_IA_HANDLE ia_handle, const DAT_NAME_PTR name,
			      DAT_BOOLEAN *answer);

/* counted.c */
DAT_RETURN kdat_ep_free(DAT_EP_HANDLE handle);
DAT_RETURN kdat_evd_free(DAT_EVD_HANDLE handle);
DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE handle);
DAT_RETURN kdat_psp_free(DAT_PSP_HANDLE handle);
DAT_RETURN kdat_pz_free(DAT_PZ_HANDLE handle);
DAT_RETURN kdat_rmr_free(DAT_RMR_HANDLE handle);
DAT_RETURN kdat_rsp_free(DAT_RSP_HANDLE handle);
DAT_RETURN kdat_srq_free(DAT_SRQ_HANDLE handle);

/* cm.c */
DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data);
DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const DAT_PVOID private_data);
DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

/* cno.c */
DAT_RETURN kdat_cno_free(DAT_CNO_HANDLE cno_handle);
DAT_RETURN kdat_cno_query(DAT_CNO_HANDLE cno_handle,
			  DAT_CNO_PARAM_MASK cno_param_mask,
			  DAT2_CNO_PARAM *cno_param);
DAT_RETURN kdat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd,
			      DAT_CNO_HANDLE *cno_handle);
DAT_RETURN kdat_cno_trigger(DAT_CNO_HANDLE cno_handle,
			    DAT_EVD_HANDLE *evd_handle);

/* evd.c */
DAT_RETURN kdat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			   DAT_EVD_HANDLE *evd_handle);
DAT_RETURN kdat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			 DAT_COUNT threshold, DAT_EVENT *event,
			 DAT_COUNT *nmore);
DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/* memory.c */
DAT_RETURN kdat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description,
			   DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			   DAT_MEM_PRIV_FLAGS mem_privileges,
			   DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle,
			   DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *registered_size,
			   DAT_VADDR *registered_address);
DAT_RETURN kdat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			  DAT_LMR_PARAM_MASK lmr_param_mask,
			  DAT_LMR_PARAM *lmr_param);
DAT_RETURN kdat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				  DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN kdat_rmr_query(DAT_RMR_HANDLE rmr_handle,
			  DAT_RMR_PARAM_MASK rmr_param_mask,
			  DAT_RMR_PARAM *rmr_param);
DAT_RETURN kdat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *lmr_triplet,
			 DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
			 DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			 DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *rmr_context);

/* cm.c */
DAT_RETURN kdat_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm,
			   DAT_IA_ADDRESS_PTR address,
			   DAT_EVD_HANDLE evd_handle,
			   DAT_CSP_HANDLE *csp_handle);
DAT_RETURN kdat_csp_free(DAT_CSP_HANDLE csp_handle);
DAT_RETURN kdat_csp_query(DAT_CSP_HANDLE csp_handle,
			  DAT_CSP_PARAM_MASK csp_param_mask,
			  DAT_CSP_PARAM *csp_param);
DAT_RETURN kdat_ep_common_connect(DAT_EP_HANDLE ep_handle,
				  DAT_IA_ADDRESS_PTR remote_ia_address,
				  DAT_TIMEOUT timeout,
				  DAT_COUNT private_data_size,
				  const DAT_PVOID private_data);

/* dto.c */
DAT_RETURN kdat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle,
					     DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov,
					     DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context);
DAT_RETURN kdat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
					 const DAT_RMR_TRIPLET *local_buffer,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_buffer,
					 DAT_COMPLETION_FLAGS flags);

/* dto.c */
DAT_RETURN kdat_extended_op(DAT_HANDLE handle, DAT_EXTENDED_OP op,
			    va_list args);

#endif /* LIBDAPLKDAT_KDAT_H */

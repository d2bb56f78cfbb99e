/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_ib_extensions.h - InfiniBand extensions of DAT: immediate data and atomic operations
 *
 * Support depends on the device; iWARP has none. Without support the calls return
 * DAT_MODEL_NOT_SUPPORTED.
 */
#ifndef _DAT_IB_EXTENSIONS_H
#define _DAT_IB_EXTENSIONS_H

#include <dat/kdat.h>

/* Names in provider_specific_attr of DAT_PROVIDER_ATTR, present if supported */
#define DAT_IB_ATTR_IMMED_DATA		"DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_FETCH_AND_ADD	"DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_CMP_AND_SWAP	"DAT_IB_CMP_AND_SWAP"

/* An event_number; the event data are in dto_completion_event_data. */
#define DAT_IB_DTO_EVENT	((DAT_EVENT_NUMBER)0x40000)

/* Values of operation in that event */
#define DAT_IB_DTO_RDMA_WRITE_IMMED	((DAT_DTOS)8)
#define DAT_IB_DTO_RECV_IMMED		((DAT_DTOS)9)
#define DAT_IB_DTO_FETCH_ADD		((DAT_DTOS)10)
#define DAT_IB_DTO_CMP_SWAP		((DAT_DTOS)11)
#define DAT_IB_DTO_RECV_MSG_IMMED	((DAT_DTOS)12)

/* Privilege: peers may execute atomic operations where they may write. */
#define DAT_IB_MEM_PRIV_REMOTE_ATOMIC	((DAT_MEM_PRIV_FLAGS)0x40)

typedef enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD,
	DAT_IB_CMP_AND_SWAP,
	DAT_IB_RDMA_WRITE_IMMED,
	DAT_IB_RDMA_WRITE_IMMED_DATA,
	DAT_IB_RECV_IMMED_DATA
} DAT_IB_EXT_TYPE;

typedef struct dat_ib_immed_data {
	DAT_UINT32	data;
} DAT_IB_IMMED_DATA;

/* Beginning of event_extension_data of DAT_IB_DTO_EVENT */
typedef struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE			type;
	DAT_DTO_COMPLETION_STATUS	status;
	union {
		DAT_IB_IMMED_DATA	immed;
	} val;
} DAT_IB_EXTENSION_EVENT_DATA;

DAT_RETURN dat_ib_post_rdma_write_immed(DAT_EP_HANDLE ep_handle,
					DAT_COUNT num_segments,
					DAT_LMR_TRIPLET *local_iov,
					DAT_DTO_COOKIE user_cookie,
					const DAT_RMR_TRIPLET *remote_buffer,
					DAT_UINT32 immediate_data,
					DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ib_post_send_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  DAT_COMPLETION_FLAGS completion_flags,
				  DAT_UINT32 immediate_data);
DAT_RETURN dat_ib_post_fetch_and_add(DAT_EP_HANDLE ep_handle,
				     DAT_UINT64 add_value,
				     DAT_LMR_TRIPLET *local_iov,
				     DAT_DTO_COOKIE user_cookie,
				     const DAT_RMR_TRIPLET *remote_buffer,
				     DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat_ib_post_cmp_and_swap(DAT_EP_HANDLE ep_handle,
				    DAT_UINT64 compare_value,
				    DAT_UINT64 swap_value,
				    DAT_LMR_TRIPLET *local_iov,
				    DAT_DTO_COOKIE user_cookie,
				    const DAT_RMR_TRIPLET *remote_buffer,
				    DAT_COMPLETION_FLAGS completion_flags);

#endif /* _DAT_IB_EXTENSIONS_H */

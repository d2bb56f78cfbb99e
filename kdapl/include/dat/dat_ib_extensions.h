/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_ib_extensions.h - what InfiniBand has more than DAT: RDMA Write with
 * immediate data, and atomic operations
 *
 * Devices need not have it; iWARP has none of it. The calls say
 * DAT_MODEL_NOT_SUPPORTED then.
 */
#ifndef _DAT_IB_EXTENSIONS_H
#define _DAT_IB_EXTENSIONS_H

#include <dat/kdat.h>

/* Names in provider_specific_attr of DAT_PROVIDER_ATTR, if an IA has it */
#define DAT_IB_ATTR_IMMED_DATA		"DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_FETCH_AND_ADD	"DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_CMP_AND_SWAP	"DAT_IB_CMP_AND_SWAP"

/* An event_number; event_data is dto_completion_event_data. */
#define DAT_IB_DTO_EVENT	((DAT_EVENT_NUMBER)0x40000)

/* Values of operation in that event */
#define DAT_IB_DTO_RDMA_WRITE_IMMED	((DAT_DTOS)8)
#define DAT_IB_DTO_RECV_IMMED		((DAT_DTOS)9)
#define DAT_IB_DTO_FETCH_ADD		((DAT_DTOS)10)
#define DAT_IB_DTO_CMP_SWAP		((DAT_DTOS)11)
#define DAT_IB_DTO_RECV_MSG_IMMED	((DAT_DTOS)12)

/* A privilege: peers may do atomic operations, on what is theirs to write. */
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

/* What event_extension_data of DAT_IB_DTO_EVENT begins with */
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

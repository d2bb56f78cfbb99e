// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_event.c - builds the extension data of DAT_IB_DTO_EVENT
 *
 * dat_evd_event() calls dat_evd_extend() when an event leaves an EVD: in process context
 * for a dequeue, in softirq or a work item for an upcall.
 */
#include <linux/string.h>

#include "queue/evd.h"

static DAT_IB_EXT_TYPE ext_type(DAT_DTOS operation)
{
	switch ((u32)operation) {
	case DAT_IB_DTO_RDMA_WRITE_IMMED:
		return DAT_IB_RDMA_WRITE_IMMED;
	case DAT_IB_DTO_RECV_IMMED:
		return DAT_IB_RDMA_WRITE_IMMED_DATA;
	case DAT_IB_DTO_RECV_MSG_IMMED:
		return DAT_IB_RECV_IMMED_DATA;
	case DAT_IB_DTO_FETCH_ADD:
		return DAT_IB_FETCH_AND_ADD;
	default:
		return DAT_IB_CMP_AND_SWAP;
	}
}

/**
 * dat_evd_extend - fill in the extension data of a DAT_IB_DTO_EVENT
 * @event: the event, whose rmr_context is the immediate data of a receive
 *
 * Context: any.
 */
void dat_evd_extend(DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	DAT_IB_EXTENSION_EVENT_DATA ext = {
		.type = ext_type(dto->operation),
		.status = dto->status,
		.val.immed.data = dto->rmr_context,
	};

	BUILD_BUG_ON(sizeof(ext) > sizeof(event->event_extension_data));
	memset(event->event_extension_data, 0,
	       sizeof(event->event_extension_data));
	memcpy(event->event_extension_data, &ext, sizeof(ext));
}

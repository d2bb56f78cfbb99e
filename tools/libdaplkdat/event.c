// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * event.c - what DAT 2.0 has more in an event
 */
#include "kdat.h"

static DAT_IB_EXT_TYPE ext_type(__u32 operation)
{
	switch (operation) {
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
 * libdat_event_add_dat2 - add what DAT 1.2 does not have
 * @out: the program's, complete for DAT 1.2
 * @in: the kernel's
 *
 * Thread safe. See libdat_event_to_user().
 */
void libdat_event_add_dat2(DAT_EVENT *out, const struct dat_dev_event *in)
{
	DAT_IB_EXTENSION_EVENT_DATA *ext =
		(DAT_IB_EXTENSION_EVENT_DATA *)out->event_extension_data;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;

	switch (in->number) {
	case DAT_DEV_IB_DTO_EVENT:
		out->event_number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
		dto = &out->event_data.dto_completion_event_data;
		dto->operation = (DAT_DTOS)in->operation;
		ext->type = ext_type(in->operation);
		ext->status = (DAT_IB_STATUS)in->status;
		ext->val.immed.data = in->rmr_context;
		break;
	case DAT_DTO_COMPLETION_EVENT:
		dto = &out->event_data.dto_completion_event_data;
		dto->operation = (DAT_DTOS)in->operation;
		dto->rmr_context = in->rmr_context;
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		if (in->flags & DAT_DEV_EVENT_TRUNCATED)
			out->event_data.cr_arrival_event_data.truncate_flag =
				DAT_TRUE;
		break;
	default:
		break;
	}
}

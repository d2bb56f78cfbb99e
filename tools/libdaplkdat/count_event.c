// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * count_event.c - events, counted when a program takes them
 */
#include "kdat.h"

static void count_data(DAT_EP_HANDLE ep, DAT_EP_COUNTERS counter,
		       const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	kdat_count(ep, KDAT_COUNTED_EP, counter, 1);
	kdat_count(ep, KDAT_COUNTED_EP, counter + 1, dto->transfered_length);
}

static void count_dto(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	if (dto->status != DAT_DTO_SUCCESS)
		return;
	switch ((int)dto->operation) {
	case DAT_DTO_RECEIVE:
	case DAT_DTO_RECEIVE_WITH_INVALIDATE:
		count_data(dto->ep_handle, DCNT_EP_RECV, dto);
		break;
	case DAT_IB_DTO_RECV_MSG_IMMED:
		count_data(dto->ep_handle, DCNT_EP_RECV_IMM, dto);
		break;
	case DAT_IB_DTO_RECV_IMMED:
		count_data(dto->ep_handle, DCNT_EP_RECV_RDMA_IMM, dto);
		break;
	default:
		break;
	}
}

static void count_connection(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (kdat_handle_asked(data->ep_handle)) {
			kdat_count_ia(evd, DCNT_IA_CM_REP_RX);
			kdat_count_ia(evd, DCNT_IA_CM_ACTIVE_EST);
		} else {
			kdat_count_ia(evd, DCNT_IA_CM_PASSIVE_EST);
		}
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		kdat_count_ia(evd, DCNT_IA_CM_USER_REJ_RX);
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		kdat_count_ia(evd, DCNT_IA_CM_ERR_REJ_RX);
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		kdat_count_ia(evd, DCNT_IA_CM_ERR_TIMEOUT);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		kdat_count_ia(evd, DCNT_IA_CM_DREQ_RX);
		break;
	default:
		kdat_count_ia(evd, DCNT_IA_CM_ERR);
		break;
	}
}

static void count_async(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	kdat_count_ia(evd, DCNT_IA_ASYNC_ERROR);
	if (number == DAT_ASYNC_ERROR_EP_BROKEN)
		kdat_count_ia(evd, DCNT_IA_ASYNC_QP_ERROR);
	else if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
		kdat_count_ia(evd, DCNT_IA_ASYNC_CQ_ERROR);
}

static void count_request(DAT_EVD_HANDLE evd_handle,
			  const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
	kdat_handle_set_ia(cr->cr_handle, evd_handle);
	kdat_count_ia(evd_handle, DCNT_IA_SP_CR);
	kdat_count_ia(evd_handle, DCNT_IA_CM_REQ_RX);
}

/**
 * kdat_count_event - a program has taken an event
 * @evd_handle: from this EVD
 * @event: the event
 *
 * Thread safe.
 */
void kdat_count_event(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	const DAT_EVENT_DATA *data = &event->event_data;

	switch ((int)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_IB_DTO_EVENT:
		count_dto(&data->dto_completion_event_data);
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_DTO_CALLBACK,
			   1);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_DTO_CALLBACK,
			   1);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		count_request(evd_handle, &data->cr_arrival_event_data);
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_CONN_CALLBACK,
			   1);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		count_connection(evd_handle, event);
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_CONN_CALLBACK,
			   1);
		break;
	case DAT_SOFTWARE_EVENT:
		break;
	default:
		count_async(evd_handle, event->event_number);
		break;
	}
}

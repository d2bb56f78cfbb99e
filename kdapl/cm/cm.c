// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm.c - dispatches events of rdma_cm to service points and EPs
 *
 * Every rdma_cm_id of kdapl has the handler in this file. Its context is the object that
 * owns the id. rdma_cm calls the handler in process context, with the handler lock.
 */
#include "cm/cm.h"
#include "ep/ep.h"

/**
 * dat_cm_handler - the event handler of every rdma_cm_id of kdapl
 * @id: the id; its context is the object head of a service point, CR or EP
 * @event: the event of rdma_cm
 *
 * Context: process, with the handler lock of @id. The handler must not take an EP's
 * mutex, because ids are destroyed under that mutex.
 * Return: 0, or a negative errno to have @id destroyed.
 */
int dat_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dat_object *obj = id->context;

	switch (obj->type) {
	case DAT_HANDLE_TYPE_PSP:
	case DAT_HANDLE_TYPE_RSP:
	case DAT_HANDLE_TYPE_CSP:
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			return dat_cr_request(to_sp(obj), id, event);
		break;
	case DAT_HANDLE_TYPE_EP:
		dat_connect_event(to_ep(obj), id, event);
		break;
	default:
		/* If the peer has given up, dat_cr_accept() reports it. */
		break;
	}
	return 0;
}

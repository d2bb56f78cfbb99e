// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm.c - takes events of rdma_cm to the object that they concern
 */
#include "cm/cm.h"
#include "ep/ep.h"

/**
 * dat_cm_handler - the handler of every rdma_cm_id of ours
 * @id: the id; its context is the head of a service point, CR or EP
 * @event: what happened
 *
 * Context: process, with the handler lock of @id. It must not take an EP's
 * mutex, under which ids are destroyed.
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
		/* A peer that gave up is found out when the CR is accepted. */
		break;
	}
	return 0;
}

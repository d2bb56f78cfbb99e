/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * cm.h - connections, by way of rdma_cm
 */
#ifndef _KDAPL_CM_H
#define _KDAPL_CM_H

#include <rdma/rdma_cm.h>

#include "object.h"

struct dat_ep;

/**
 * struct dat_psp - a public service point
 * @obj: head
 * @evd: where connection requests go, used
 * @conn_qual: the connection qualifier
 * @id: listens
 */
struct dat_psp {
	struct dat_object obj;
	struct dat_evd *evd;
	DAT_CONN_QUAL conn_qual;
	struct rdma_cm_id *id;
};

/**
 * struct dat_cr - a connection request that waits to be answered
 * @obj: head
 * @id: the connection to be; NULL once it has been answered
 * @responder_resources: RDMA reads that the peer wants to have outstanding
 * @initiator_depth: RDMA reads that the peer can serve
 * @remote_addr: address of the peer
 * @data_len: bytes of @data
 * @data: private data from the peer
 */
struct dat_cr {
	struct dat_object obj;
	struct rdma_cm_id *id;
	u8 responder_resources;
	u8 initiator_depth;
	struct sockaddr_storage remote_addr;
	u8 data_len;
	u8 data[];
};

static inline struct dat_psp *to_psp(struct dat_object *obj)
{
	return container_of(obj, struct dat_psp, obj);
}

static inline struct dat_cr *to_cr(struct dat_object *obj)
{
	return container_of(obj, struct dat_cr, obj);
}

/* cm.c */
int dat_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);

/* connect.c */
void dat_connect_event(struct dat_ep *ep, struct rdma_cm_id *id,
		       struct rdma_cm_event *event);

/* cr.c */
int dat_cr_arrived(struct dat_psp *psp, struct rdma_cm_id *id,
		   struct rdma_cm_event *event);

#endif /* _KDAPL_CM_H */

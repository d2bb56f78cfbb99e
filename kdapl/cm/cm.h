/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * cm.h - service points, connection requests and connections, on top of rdma_cm
 *
 * See sp.c for service points, cr_request.c and cr.c for requests, ep_connect.c and
 * connect.c for connections.
 */
#ifndef _KDAPL_CM_H
#define _KDAPL_CM_H

#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "base/object.h"
#include "dev/ia.h"

struct dat_ep;

/*
 * Bits of dat_sp.spent: the RSP has its request; a thread reports the request; the
 * request has been reported, or will never be reported.
 */
#define DAT_RSP_SPENT	0
#define DAT_RSP_REPORTING	1
#define DAT_RSP_REPORTED	2

/**
 * struct dat_sp - a service point: a PSP, an RSP or a CSP
 * @obj: object head
 * @evd: EVD for connection requests, used
 * @conn_qual: the connection qualifier
 * @id: the listening id; NULL after dat_sp_stop()
 * @spent: for an RSP: DAT_RSP_SPENT, DAT_RSP_REPORTING, DAT_RSP_REPORTED
 * @cr: for an RSP: its request, referenced, once DAT_RSP_SPENT is set
 * @addr: local address and port
 * @flags: for a PSP: whether consumer or provider creates the EPs
 * @reports: for a PSP: requests that work items have to report
 * @ep: for an RSP: its EP, used and referenced
 * @ep_is_ours: for an RSP: @ep comes from dat_ep_provide()
 * @comm: for a CSP: kind of socket
 */
struct dat_sp {
	struct dat_object obj;
	struct dat_evd *evd;
	DAT_CONN_QUAL conn_qual;
	struct rdma_cm_id *id;
	unsigned long spent;
	struct dat_cr *cr;
	struct sockaddr_storage addr;
	DAT_PSP_FLAGS flags;
	atomic_t reports;
	struct dat_ep *ep;
	bool ep_is_ours;
	DAT_COMM comm;
};

/**
 * struct dat_cr - a connection request that has not been answered
 * @obj: object head
 * @id: id of the connection; NULL once the request has been answered
 * @sp: the service point, referenced, until the request has been reported
 * @report_work: reports the request, if the handler of rdma_cm cannot
 * @deferred: in the list of the IA while @report_work waits for a live reference of
 *	the IA
 * @is_rejected: dat_cr_reject_no_room() was called
 * @reject_work: rejects the request after that
 * @reject_deferred: as @deferred, for @reject_work
 * @ep: the only EP that can accept the request, used and referenced; or NULL
 * @ep_is_ours: @ep comes from dat_ep_provide()
 * @responder_resources: RDMA reads that the peer requests to have outstanding
 * @initiator_depth: RDMA reads that the peer can serve
 * @remote_addr: address of the peer
 * @data_len: bytes of @data
 * @data: private data from the peer
 */
struct dat_cr {
	struct dat_object obj;
	struct rdma_cm_id *id;
	struct dat_sp *sp;
	struct work_struct report_work;
	struct dat_ia_deferred deferred;
	unsigned long is_rejected;
	struct work_struct reject_work;
	struct dat_ia_deferred reject_deferred;
	struct dat_ep *ep;
	bool ep_is_ours;
	u8 responder_resources;
	u8 initiator_depth;
	struct sockaddr_storage remote_addr;
	u8 data_len;
	u8 data[];
};

static inline struct dat_sp *to_sp(struct dat_object *obj)
{
	return container_of(obj, struct dat_sp, obj);
}

static inline struct dat_cr *to_cr(struct dat_object *obj)
{
	return container_of(obj, struct dat_cr, obj);
}

/* connect.c */
struct rdma_cm_id *dat_cm_create_id(struct dat_ia *ia, struct dat_object *obj);

/* cr_request.c */
struct dat_cr *dat_cr_new(struct dat_ia *ia, const void *data, u8 data_len);
bool dat_cr_report(struct dat_cr *cr, struct dat_sp *sp);
void dat_rsp_finish(struct dat_sp *sp);
int dat_cr_request(struct dat_sp *sp, struct rdma_cm_id *id,
		   struct rdma_cm_event *event);

/* cr.c */
void dat_cr_end(struct dat_cr *cr);
bool dat_cr_refuse(struct dat_cr *cr, u8 size, const void *data, u8 reason);

/* ep_connect.c */
void dat_ep_connect_again(struct dat_ep *ep);

/* sp.c */
void dat_sp_stop(struct dat_sp *sp);

#endif /* _KDAPL_CM_H */

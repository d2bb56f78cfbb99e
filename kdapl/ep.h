/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ep.h - endpoints
 */
#ifndef _KDAPL_EP_H
#define _KDAPL_EP_H

#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "dto.h"
#include "object.h"

struct dat_evd;
struct dat_pz;

/* The smallest of the transports' limits, in both directions. */
#define DAT_MAX_PRIVATE_DATA	56

/*
 * How often the transport tries again before a connection is BROKEN. One less
 * than the most, as rxe takes 7 to mean for ever, and would never tell of a
 * peer that has vanished.
 */
#define DAT_EP_RETRIES	6

/* What a peer may send at most. */
#define DAT_PRIVATE_DATA_BUF	256

/**
 * struct dat_ep - an endpoint
 * @obj: head
 * @pz: its PZ, used
 * @recv_evd: EVD of receives; a private one if the consumer wants none
 * @request_evd: EVD of everything else that is posted; likewise
 * @connect_evd: EVD of connection events, or NULL
 * @recv_evd_is_private: the consumer did not give @recv_evd
 * @request_evd_is_private: the consumer did not give @request_evd
 * @attr: what the EP can do
 * @mutex: serialises connect, accept, disconnect and the EP's end
 * @state_lock: guards @state
 * @state: where in its life the EP is
 * @qp: the QP
 * @cm_id: its connection; made under @mutex
 * @sq: sends, RDMA, binds
 * @rq: receives
 * @error_work: ends a broken connection
 * @notify_work: tells rdma_cm that data has come
 * @failed: a DTO has failed
 * @qp_failed: the QP is in the error state for good
 * @drain_work: ends a connection gracefully
 * @timeout_work: ends an attempt to connect
 * @drain_deadline: when @drain_work gives up, in jiffies
 * @passive: connects by accepting
 * @iwarp: the transport is iWARP, which connects and disconnects QPs itself
 * @conn: parameters of the connection
 * @out_data: private data that goes to the peer
 * @in_data: private data that came from the peer
 * @in_data_len: bytes of @in_data
 * @remote_addr: address of the peer, once somebody has asked
 */
struct dat_ep {
	struct dat_object obj;
	struct dat_pz *pz;
	struct dat_evd *recv_evd;
	struct dat_evd *request_evd;
	struct dat_evd *connect_evd;
	bool recv_evd_is_private;
	bool request_evd_is_private;
	DAT_EP_ATTR attr;

	struct mutex mutex;
	spinlock_t state_lock;
	DAT_EP_STATE state;
	struct ib_qp *qp;
	struct rdma_cm_id *cm_id;
	struct dat_workq sq;
	struct dat_workq rq;

	struct work_struct error_work;
	struct work_struct notify_work;
	struct delayed_work drain_work;
	struct delayed_work timeout_work;
	unsigned long drain_deadline;

	bool failed;
	bool qp_failed;
	bool passive;
	bool iwarp;
	struct rdma_conn_param conn;
	u8 out_data[DAT_MAX_PRIVATE_DATA];
	u8 in_data[DAT_PRIVATE_DATA_BUF];
	u8 in_data_len;
	struct sockaddr_storage remote_addr;
};

static inline struct dat_ep *to_ep(struct dat_object *obj)
{
	return container_of(obj, struct dat_ep, obj);
}

/* ep.c */
void dat_ep_collect(struct dat_ep *ep);
void dat_ep_drain(struct dat_ep *ep);

/* ep_attr.c */
DAT_RETURN dat_ep_attr_check(struct dat_ia *ia, const DAT_EP_ATTR *wanted,
			     DAT_EP_ATTR *attr);
u32 dat_ep_max_dtos(const struct ib_device *ibdev);

/* ep_state.c */
DAT_EP_STATE dat_ep_state(struct dat_ep *ep);
bool dat_ep_move(struct dat_ep *ep, unsigned int from, DAT_EP_STATE to);
DAT_RETURN dat_ep_state_error(DAT_EP_STATE state);
#define EP_IN(state)	BIT(DAT_EP_STATE_##state)

/* ep_end.c */
void dat_ep_end_init(struct dat_ep *ep);
void dat_ep_end_cancel(struct dat_ep *ep);
void dat_ep_dto_failed(struct dat_ep *ep, enum ib_wc_status status);
void dat_ep_connect_event(struct dat_ep *ep, DAT_EVENT_NUMBER number);
void dat_ep_end(struct dat_ep *ep, unsigned int from, DAT_EVENT_NUMBER number);
void dat_ep_break(struct dat_ep *ep);
void dat_ep_fail_qp(struct dat_ep *ep);

/* ep_qp.c */
DAT_RETURN dat_ep_qp_create(struct dat_ep *ep);
void dat_ep_qp_destroy(struct dat_ep *ep);
int dat_ep_qp_connect(struct dat_ep *ep, struct rdma_cm_id *id);

#endif /* _KDAPL_EP_H */

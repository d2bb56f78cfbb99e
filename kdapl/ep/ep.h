/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ep.h - endpoints: attributes, QP, connection and their life cycle
 *
 * ep/ implements the EP up to its QP and the end of its connection; cm/ establishes
 * connections.
 */
#ifndef _KDAPL_EP_H
#define _KDAPL_EP_H

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "base/object.h"
#include "queue/dto.h"
#include "queue/srq.h"

struct dat_cq;
struct dat_evd;
struct dat_pz;
struct dat_srq;

/* The smallest of the transports' limits, in both directions. */
#define DAT_MAX_PRIVATE_DATA	56

/*
 * Transport retries before a connection is BROKEN. One less than the maximum 7: rxe
 * retries for ever with 7, and would never report that the peer has disappeared.
 */
#define DAT_EP_RETRIES	6

/* Private data that a peer may send, in bytes. */
#define DAT_PRIVATE_DATA_BUF	256

/**
 * struct dat_watermarks - limits for the receive buffers of an EP
 * @soft: more buffers cause an event, while @soft_armed
 * @hard: more buffers break the connection
 * @soft_armed: the event has not been reported since @soft was set
 * @trap: the lower of the active limits
 * @watching: the EP watches its receive EVD, see dat_evd_watch()
 * @work: reports @soft to the consumer
 *
 * Guarded by the lock of the receive EVD if the EP has an SRQ, else by that of
 * the receive queue.
 */
struct dat_watermarks {
	DAT_COUNT soft;
	DAT_COUNT hard;
	bool soft_armed;
	bool watching;
	u32 trap;
	struct work_struct work;
};

/**
 * struct dat_ep_parts - the parts of an EP that can change while it has no connection
 * @pz: its PZ, used; NULL if the EP is unconfigured
 * @recv_evd: EVD of receives; a private one if the consumer passed none
 * @request_evd: EVD of all other requests; a private one if the consumer passed none
 * @connect_evd: EVD of connection events, or NULL
 * @recv_evd_is_private: the consumer did not pass @recv_evd
 * @request_evd_is_private: the consumer did not pass @request_evd
 * @recv_cq: CQ of @recv_evd in which the EP has room
 * @request_cq: CQ of @request_evd in which the EP has room; @recv_cq if the EVD is the same
 * @srq: SRQ of the EP, used, or NULL; never changes
 * @attr: attributes of the EP
 * @flushing: all receives notify, solicited or not
 */
struct dat_ep_parts {
	struct dat_pz *pz;
	struct dat_evd *recv_evd;
	struct dat_evd *request_evd;
	struct dat_evd *connect_evd;
	bool recv_evd_is_private;
	bool request_evd_is_private;
	struct dat_cq *recv_cq;
	struct dat_cq *request_cq;
	struct dat_srq *srq;
	DAT_EP_ATTR attr;
	bool flushing;
};

/**
 * struct dat_ep - an endpoint
 * @obj: object head
 * @pz: its PZ, used; NULL if the EP is unconfigured: it then has no EVDs for
 *	DTOs and no QP
 * @recv_evd: EVD of receives; a private one if the consumer passed none
 * @request_evd: EVD of all other requests; a private one if the consumer passed none
 * @connect_evd: EVD of connection events, or NULL
 * @recv_evd_is_private: the consumer did not pass @recv_evd
 * @request_evd_is_private: the consumer did not pass @request_evd
 * @recv_cq: CQ of @recv_evd in which the EP has room
 * @request_cq: CQ of @request_evd in which the EP has room
 * @srq: SRQ that supplies the receive buffers, used; NULL if @rq does
 * @srq_ep: attachment to @srq
 * @watermarks: limits for receive buffers
 * @attr: attributes
 * @reset_mutex: serialises calls of dat_ep_reset()
 * @mutex: serialises connect, accept, disconnect, changes and shutdown of the EP
 * @state_lock: guards @state
 * @state: state of the EP
 * @qp: the QP
 * @qp_bytes: bytes charged for @qp and its queues, until @qp is destroyed
 * @slot_bytes: bytes charged for the slots of @sq and @rq
 * @cm_id: id of the connection; set under @mutex
 * @old_id: an id that @timeout_work destroys. Its handler may modify @qp until this is
 *	NULL; a change to NULL wakes up waiters of this variable.
 * @sq: sends, RDMA, binds
 * @rq: receives
 * @error_work: disconnects a broken connection; see dat_ep_break_soon()
 * @notify_work: reports to rdma_cm that data has arrived, if the set-up does not end by itself
 * @failed: a DTO has failed, or the device reported an error, before the connection
 *	ended
 * @fatal: the device has reported that the QP failed; see dat_ep_has_failed()
 * @qp_failed: kdapl has moved the QP to the error state
 * @flushing: the connection has ended: all receives notify, solicited or not
 * @connect_work: calls @connect_step
 * @connect_step: requests the connection, or tries from another local port; it may wait for
 *	TCP, and uses @cm_id without @mutex
 * @port_tries: attempts from another local port
 * @tos: type of service of the connection
 * @drain_work: completes a graceful disconnect
 * @settle_work: reports the end of a connection when its queues are flushed
 * @dreq_work: disconnects a broken connection: see DAT_QUIRK_LATE_ANSWERS
 * @idle_wq: woken up when nothing is outstanding, and when the end was reported
 * @settle_deadline: when @settle_work stops waiting for completions, in jiffies
 * @end_number: the event that @settle_work is to report; 0 for none. Guarded by
 *	@state_lock
 * @end_may_be_broken: report BROKEN instead if a DTO fails before the report
 * @ending: the connection has ended, and the end has not been reported; guarded by
 *	@state_lock
 * @watching: the EVDs of DTOs process completions at once, for @idle_wq
 * @dreq_owed: @dreq_work has yet to run; under @mutex
 * @late_answers: DAT_QUIRK_LATE_ANSWERS
 * @no_late_posts: DAT_QUIRK_NO_LATE_POSTS
 * @timeout_work: ends an attempt to connect
 * @drain_deadline: when @drain_work gives up, in jiffies
 * @linger_owed: the peer may still consider itself connected, so the id must linger
 *	until the peer is notified; changes under the handler lock of @cm_id
 * @passive: the EP connects by accepting
 * @no_reads: the peer serves neither RDMA Reads nor atomic operations
 * @heard: the peer has sent data while the EP was COMPLETION_PENDING
 * @cm_event: rdma_cm has reported an event of the connection
 * @iwarp: the transport is iWARP, which connects and disconnects QPs itself
 * @has_atomics: peers can do atomic operations on memory of the EP
 * @requests_atomics: the device can request atomic operations
 * @fences_reads: an RDMA read may have a fence
 * @reads_one_sge: an RDMA read has one segment, even of 0 bytes
 * @no_fence: requests on which the device ignores a fence, enum dat_fence
 * @max_inline: bytes of a request that carries its data; 0 if none does
 * @all_memory_lkey: lkey that gives requests on @qp access to all of memory
 * @comm: the consumer's value, for dat_ep_query()
 * @conn: parameters of the connection
 * @out_data: private data for the peer
 * @in_data: private data from the peer
 * @in_data_len: bytes of @in_data
 * @remote_addr: address of the peer, as far as it is known
 * @local_port: for a connection request: port of its service point
 */
struct dat_ep {
	struct dat_object obj;
	struct dat_pz *pz;
	struct dat_evd *recv_evd;
	struct dat_evd *request_evd;
	struct dat_evd *connect_evd;
	bool recv_evd_is_private;
	bool request_evd_is_private;
	struct dat_cq *recv_cq;
	struct dat_cq *request_cq;
	struct dat_srq *srq;
	struct dat_srq_ep srq_ep;
	struct dat_watermarks watermarks;
	DAT_EP_ATTR attr;

	struct mutex reset_mutex;
	struct mutex mutex;
	spinlock_t state_lock;
	DAT_EP_STATE state;
	struct ib_qp *qp;
	size_t qp_bytes;
	size_t slot_bytes;
	struct rdma_cm_id *cm_id;
	struct rdma_cm_id *old_id;
	struct dat_workq sq;
	struct dat_workq rq;

	struct delayed_work error_work;
	struct delayed_work notify_work;
	struct work_struct connect_work;
	void (*connect_step)(struct dat_ep *ep);
	struct delayed_work drain_work;
	struct delayed_work settle_work;
	struct delayed_work dreq_work;
	wait_queue_head_t idle_wq;
	unsigned long settle_deadline;
	DAT_EVENT_NUMBER end_number;
	bool ending;
	bool end_may_be_broken;
	unsigned long watching;
	bool dreq_owed;
	bool late_answers;
	bool no_late_posts;
	struct delayed_work timeout_work;
	unsigned long drain_deadline;

	bool failed;
	bool fatal;
	bool qp_failed;
	bool flushing;
	bool linger_owed;
	u8 port_tries;
	u8 tos;
	bool passive;
	bool no_reads;
	bool heard;
	bool cm_event;
	bool iwarp;
	bool has_atomics;
	bool requests_atomics;
	bool fences_reads;
	bool reads_one_sge;
	u8 no_fence;
	u32 max_inline;
	u32 all_memory_lkey;
	DAT_COMM comm;
	struct rdma_conn_param conn;
	u8 out_data[DAT_MAX_PRIVATE_DATA];
	u8 in_data[DAT_PRIVATE_DATA_BUF];
	u8 in_data_len;
	struct sockaddr_storage remote_addr;
	u16 local_port;
};

static inline struct dat_ep *to_ep(struct dat_object *obj)
{
	return container_of(obj, struct dat_ep, obj);
}

/* Has the EP credits for RDMA Reads and atomic operations? */
static inline bool dat_ep_may_read(const struct dat_ep *ep)
{
	return ep->attr.max_rdma_read_out && !READ_ONCE(ep->no_reads);
}

/* On iWARP TCP reports the end to the peer, so the id need not linger. */
static inline void dat_ep_owe_linger(struct dat_ep *ep)
{
	ep->linger_owed = !ep->iwarp;
}

/* ep.c */
DAT_RETURN dat_ep_make(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
		       DAT_EVD_HANDLE recv_evd_handle,
		       DAT_EVD_HANDLE request_evd_handle,
		       DAT_EVD_HANDLE connect_evd_handle,
		       const DAT_SRQ_HANDLE *srq_handle,
		       const DAT_EP_ATTR *ep_attributes,
		       DAT_EP_HANDLE *ep_handle);
void dat_ep_collect(struct dat_ep *ep);
void dat_ep_drain(struct dat_ep *ep);
bool dat_ep_is_full(struct dat_ep *ep);
struct dat_ep *dat_ep_new(struct dat_ia *ia);
DAT_RETURN dat_ep_get_pz(struct dat_ia *ia, DAT_PZ_HANDLE handle,
			 struct dat_pz **pzp);

/* ep_attr.c */
DAT_RETURN dat_ep_attr_check(struct dat_ia *ia, const DAT_EP_ATTR *wanted,
			     DAT_EP_ATTR *attr);
u32 dat_ep_max_wrs(const struct dat_ep_parts *p);
u32 dat_ep_min_wrs(const struct ib_device *ibdev, const DAT_EP_ATTR *attr);
u32 dat_ep_max_dtos(const struct ib_device *ibdev);
DAT_RETURN dat_comm_check(const DAT_COMM *comm);
DAT_RETURN dat_ep_get_recv_evd(struct dat_ia *ia, struct dat_ep_parts *p,
			       DAT_EVD_HANDLE handle);
DAT_RETURN dat_ep_get_request_evd(struct dat_ia *ia, struct dat_ep_parts *p,
				  DAT_EVD_HANDLE handle);
DAT_RETURN dat_ep_get_connect_evd(struct dat_ia *ia, struct dat_ep_parts *p,
				  DAT_EVD_HANDLE handle);
void dat_ep_release_evd(struct dat_evd *evd, bool is_private);
void dat_ep_put_evd(struct dat_evd *evd, bool is_private);
void dat_ep_add_streams(const struct dat_ep_parts *p);
void dat_ep_remove_streams(const struct dat_ep_parts *p);
void dat_ep_begin_flush(struct dat_ep *ep);
void dat_ep_end_flush(struct dat_ep *ep);
DAT_RETURN dat_ep_expect(struct dat_ep_parts *p);
void dat_ep_unexpect(const struct dat_ep_parts *p);
struct dat_ep_parts dat_ep_parts(const struct dat_ep *ep);
void dat_ep_set_parts(struct dat_ep *ep, const struct dat_ep_parts *p);

/* ep_reserve.c */
DAT_RETURN dat_ep_reserve(struct dat_ia *ia, DAT_EP_HANDLE handle,
			  struct dat_ep **epp);
DAT_RETURN dat_ep_provide(struct dat_ia *ia, DAT_EP_STATE state, u8 reads_in,
			  u8 reads_out, struct dat_ep **epp);
void dat_ep_set_peer(struct dat_ep *ep, const struct sockaddr_storage *peer,
		     u16 port);
bool dat_ep_now_pending(struct dat_ep *ep, const struct sockaddr_storage *peer,
			u16 port);
void dat_ep_unreserve(struct dat_ep *ep, bool is_ours);

/* qos.c */
bool dat_qos_tos(DAT_QOS qos, u8 *tos);

/* ep_state.c */
DAT_EP_STATE dat_ep_state(struct dat_ep *ep);
bool dat_ep_move(struct dat_ep *ep, unsigned int from, DAT_EP_STATE to);
void dat_ep_heard(struct dat_object *obj);
bool dat_ep_may_answer(const struct dat_ep *ep, DAT_EP_STATE state);
DAT_RETURN dat_ep_state_error(DAT_EP_STATE state);
const char *dat_ep_state_name(DAT_EP_STATE state);
#define EP_IN(state)	BIT(DAT_EP_STATE_##state)

#define DAT_EP_UNCONFIGURED	(EP_IN(UNCONFIGURED_UNCONNECTED) | \
				 EP_IN(UNCONFIGURED_RESERVED) | \
				 EP_IN(UNCONFIGURED_PASSIVE) | \
				 EP_IN(UNCONFIGURED_TENTATIVE))

/* A service point or a connection request uses the EP. */
#define DAT_EP_RESERVED_STATES		(EP_IN(RESERVED) | \
					 EP_IN(UNCONFIGURED_RESERVED) | \
					 EP_IN(PASSIVE_CONNECTION_PENDING) | \
					 EP_IN(UNCONFIGURED_PASSIVE) | \
					 EP_IN(TENTATIVE_CONNECTION_PENDING) | \
					 EP_IN(UNCONFIGURED_TENTATIVE))

/* ep_srq.c */
bool dat_ep_srq_suits(const struct dat_srq *srq, const struct dat_pz *pz);
DAT_RETURN dat_ep_srq_join(struct dat_ia *ia, struct dat_ep_parts *p,
			   DAT_SRQ_HANDLE handle);
bool dat_ep_srq_is_quiet(const struct dat_ep *ep, unsigned int waited_ms);

/* ep_disconnect.c */
void dat_ep_disconnect_init(struct dat_ep *ep);
void dat_ep_disconnect_cancel(struct dat_ep *ep);
void dat_ep_dto_failed(struct dat_object *obj, enum ib_wc_status status);
void dat_ep_connect_event(struct dat_ep *ep, DAT_EVENT_NUMBER number);
void dat_ep_disconnected(struct dat_ep *ep, unsigned int from, DAT_EVENT_NUMBER number);
void dat_ep_break(struct dat_ep *ep);
bool dat_ep_has_failed(struct dat_ep *ep);
void dat_ep_break_soon(struct dat_ep *ep);
void dat_ep_notify_soon(struct dat_ep *ep);
void dat_ep_drained(struct dat_object *obj);
void dat_ep_wait_disconnected(struct dat_ep *ep);
void dat_ep_poll_start(struct dat_ep *ep);
void dat_ep_poll_stop(struct dat_ep *ep);
void dat_ep_progress(struct dat_object *obj, unsigned int waited);
void dat_ep_fail_qp(struct dat_ep *ep);

/* ep_watermark.c */
bool dat_watermark_is_valid(DAT_COUNT watermark);
void dat_watermarks_init(struct dat_ep *ep);
void dat_watermarks_preset(struct dat_ep *ep, DAT_COUNT soft);
void dat_watermarks_start(struct dat_ep *ep);
void dat_watermarks_stop(struct dat_ep *ep);
void dat_watermarks_end(struct dat_ep *ep);
void dat_watermarks_took(struct dat_object *obj);
struct dat_dto *dat_watermarks_slot(struct dat_ep *ep);
bool dat_watermarks_exceeded(struct dat_ep *ep);

/* ep_qp.c */
DAT_RETURN dat_ep_qp_create(struct dat_ep *ep, const struct dat_ep_parts *p);
void dat_ep_qp_start(struct dat_ep *ep);
void dat_ep_qp_stop(struct dat_ep *ep);
bool dat_ep_is_idle(const struct dat_ep *ep);
void dat_ep_qp_destroy(struct dat_ep *ep);
int dat_ep_qp_connect(struct dat_ep *ep, struct rdma_cm_id *id);

#endif /* _KDAPL_EP_H */

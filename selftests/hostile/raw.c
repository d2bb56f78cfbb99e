// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * raw.c - a peer on plain verbs that does what its test orders, however wrong
 *
 * host.c starts it. Each connection has its own PD, CQs and event channel, so the
 * connections do not disturb each other.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "raw.h"

/* In milliseconds; of the address resolution, which is local */
#define RESOLVE_MS	60000

/* Receives and requests of a QP, and the default length of a CQ */
#define QUEUE		64

/* Numbers of QPs that no device gives away, for a flood */
#define FIRST_QPN	0x800000

/* Connections of a flood at a time */
#define WAVE		64

struct conn {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	enum ibv_mtu mtu;
	__u8 rnr_retry;
	bool has_ops;
};

static struct conn conns[RAW_CONNS];
static struct rdma_event_channel *listen_channel;
static struct rdma_cm_id *listener;
static unsigned char *memory;

/* 0, or the negative errno of a call that returned @ret */
static int error_of(int ret)
{
	return ret ? -(errno ?: EIO) : 0;
}

static bool is_iwarp(const struct rdma_cm_id *id)
{
	return id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Waits for an event of a kind. */
static int await_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	int err = 0;

	if (rdma_get_cm_event(channel, &event))
		return -errno;
	if (event->event != type) {
		fprintf(stderr, "# raw: %s, status %d\n", rdma_event_str(event->event),
			event->status);
		err = -EPROTO;
	}
	rdma_ack_cm_event(event);
	return err;
}

static int make_id(struct rdma_event_channel *channel, const struct sockaddr_in *to,
		   struct rdma_cm_id **id)
{
	int err = error_of(rdma_create_id(channel, id, NULL, RDMA_PS_TCP));

	err = err ?: error_of(rdma_resolve_addr(*id, NULL, (struct sockaddr *)to,
						RESOLVE_MS));
	err = err ?: await_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	err = err ?: error_of(rdma_resolve_route(*id, RESOLVE_MS));
	return err ?: await_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* A QP that librdmacm does not know, so that raw moves it through its states. */
static int make_own_qp(struct conn *conn, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_attr qp = { .qp_state = IBV_QPS_INIT };
	int mask;

	conn->qp = ibv_create_qp(conn->pd, attr);
	if (!conn->qp)
		return -errno;
	return error_of(rdma_init_qp_attr(conn->id, &qp, &mask)) ?:
	       error_of(ibv_modify_qp(conn->qp, &qp, mask));
}

/*
 * With these operations, the driver passes on atomics to any address. ibv_post_send() does
 * not. siw does not have them.
 */
static int make_qp_of_id(struct conn *conn, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = conn->pd,
		.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};

	conn->has_ops = !rdma_create_qp_ex(conn->id, &ex);
	if (!conn->has_ops && rdma_create_qp(conn->id, conn->pd, attr))
		return -errno;
	conn->qp = conn->id->qp;
	return 0;
}

/* The objects of a connection. Peers cannot reach the memory of raw. */
static int make_qp(struct conn *conn, const struct raw_order *order)
{
	int depth = order->depth ?: QUEUE;
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = QUEUE,
			.max_recv_wr = QUEUE,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	conn->mtu = order->mtu;
	conn->rnr_retry = order->rnr_retry;
	conn->pd = ibv_alloc_pd(conn->id->verbs);
	conn->send_cq = ibv_create_cq(conn->id->verbs, QUEUE, NULL, NULL, 0);
	conn->recv_cq = ibv_create_cq(conn->id->verbs, depth, NULL, NULL, 0);
	if (!conn->pd || !conn->send_cq || !conn->recv_cq)
		return -errno;
	conn->mr = ibv_reg_mr(conn->pd, memory + (conn - conns) * RAW_SLOT, RAW_SLOT,
			      IBV_ACCESS_LOCAL_WRITE);
	if (!conn->mr)
		return -errno;
	attr.send_cq = conn->send_cq;
	attr.recv_cq = conn->recv_cq;
	return conn->mtu ? make_own_qp(conn, &attr) : make_qp_of_id(conn, &attr);
}

static struct rdma_conn_param conn_param(const struct conn *conn, const struct raw_order *order)
{
	struct rdma_conn_param param = {
		.private_data = order->data,
		.private_data_len = order->data_len,
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = order->retries,
		.rnr_retry_count = order->rnr_retry,
		.qp_num = conn->qp ? conn->qp->qp_num : 0,
	};

	return param;
}

static int do_connect(struct conn *conn, const struct raw_order *order)
{
	struct rdma_conn_param param;
	int err;

	conn->channel = rdma_create_event_channel();
	if (!conn->channel)
		return -errno;
	err = make_id(conn->channel, &order->to, &conn->id) ?: make_qp(conn, order);
	if (err)
		return err;
	param = conn_param(conn, order);
	return error_of(rdma_connect(conn->id, &param));
}

static int move_qp(struct conn *conn, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(conn->id, &attr, &mask))
		return -errno;
	if (mask & IBV_QP_PATH_MTU)
		attr.path_mtu = conn->mtu;
	/* Otherwise the host would choose. */
	if (mask & IBV_QP_RNR_RETRY)
		attr.rnr_retry = conn->rnr_retry;
	return error_of(ibv_modify_qp(conn->qp, &attr, mask));
}

static int do_finish(struct conn *conn)
{
	return move_qp(conn, IBV_QPS_RTR) ?: move_qp(conn, IBV_QPS_RTS) ?:
	       error_of(rdma_establish(conn->id));
}

static int do_listen(struct raw_answer *answer)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int err;

	listen_channel = rdma_create_event_channel();
	if (!listen_channel)
		return -errno;
	err = error_of(rdma_create_id(listen_channel, &listener, NULL, RDMA_PS_TCP)) ?:
	      error_of(rdma_bind_addr(listener, (struct sockaddr *)&any)) ?:
	      error_of(rdma_listen(listener, RAW_CONNS));
	if (!err)
		answer->port = ntohs(rdma_get_src_port(listener));
	return err;
}

static int do_request(struct conn *conn, struct raw_answer *answer)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(listen_channel, &event))
		return -errno;
	answer->event = event->event;
	conn->id = event->id;
	rdma_ack_cm_event(event);
	if (answer->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return -EPROTO;
	conn->channel = rdma_create_event_channel();
	return conn->channel ? error_of(rdma_migrate_id(conn->id, conn->channel)) : -errno;
}

static int do_accept(struct conn *conn, const struct raw_order *order)
{
	struct rdma_conn_param param;
	int err = make_qp(conn, order);

	if (err)
		return err;
	param = conn_param(conn, order);
	return error_of(rdma_accept(conn->id, &param));
}

static int do_event(struct conn *conn, struct raw_answer *answer)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(conn->channel, &event))
		return -errno;
	if (event->event <= RDMA_CM_EVENT_DISCONNECTED)
		answer->event = event->event;
	rdma_ack_cm_event(event);
	return 0;
}

static struct ibv_sge sge_of(const struct conn *conn, const struct raw_order *order)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory + (conn - conns) * RAW_SLOT + order->offset,
		.length = order->length,
		.lkey = conn->mr->lkey,
	};

	return sge;
}

static bool is_atomic(__u32 opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static int post_atomic(struct conn *conn, const struct raw_order *order, struct ibv_sge *sge)
{
	struct ibv_qp_ex *qp = conn->has_ops ? ibv_qp_to_qp_ex(conn->qp) : NULL;

	if (!qp)
		return -EOPNOTSUPP;
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	if (order->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		ibv_wr_atomic_cmp_swp(qp, order->rkey, order->address, order->compare,
				      order->swap);
	else
		ibv_wr_atomic_fetch_add(qp, order->rkey, order->address, order->compare);
	ibv_wr_set_sge(qp, sge->lkey, sge->addr, sge->length);
	return -ibv_wr_complete(qp);
}

static int do_post(struct conn *conn, const struct raw_order *order)
{
	struct ibv_sge sge = sge_of(conn, order);
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = order->length ? 1 : 0,
		.opcode = order->opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.remote_addr = order->address,
		.wr.rdma.rkey = order->rkey,
	};

	if (is_atomic(order->opcode))
		return post_atomic(conn, order, &sge);
	if (order->opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = order->rkey;
	else
		wr.imm_data = htonl(order->imm);
	return -ibv_post_send(conn->qp, &wr, &bad);
}

static int do_recv(struct conn *conn, const struct raw_order *order)
{
	struct ibv_sge sge = sge_of(conn, order);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = order->length ? 1 : 0 };

	return -ibv_post_recv(conn->qp, &wr, &bad);
}

/* siw does not complete what a process posts when the connection has ended. */
static bool has_ended(const struct conn *conn)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return is_iwarp(conn->id) &&
	       !ibv_query_qp(conn->qp, &attr, IBV_QP_STATE, &init) &&
	       attr.qp_state != IBV_QPS_RTS;
}

/* The harness of the test ends a wait that lasts for ever. */
static int do_poll(struct conn *conn, struct ibv_cq *cq, struct raw_answer *answer)
{
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };
	bool ended = false;
	int num;

	while (!(num = ibv_poll_cq(cq, 1, &wc)) && !ended) {
		usleep(200);
		ended = has_ended(conn);
	}
	answer->status = wc.status;
	return num < 0 ? -EIO : 0;
}

static void drop_qp(struct conn *conn)
{
	if (!conn->qp)
		return;
	if (conn->id->qp)
		rdma_destroy_qp(conn->id);
	else
		ibv_destroy_qp(conn->qp);
	conn->qp = NULL;
}

static int do_close(struct conn *conn)
{
	if (conn->id) {
		drop_qp(conn);
		rdma_destroy_id(conn->id);
	}
	if (conn->mr)
		ibv_dereg_mr(conn->mr);
	if (conn->send_cq)
		ibv_destroy_cq(conn->send_cq);
	if (conn->recv_cq)
		ibv_destroy_cq(conn->recv_cq);
	if (conn->pd)
		ibv_dealloc_pd(conn->pd);
	if (conn->channel)
		rdma_destroy_event_channel(conn->channel);
	memset(conn, 0, sizeof(*conn));
	return 0;
}

/* Requests one connection of a flood. Its events do the rest. */
static int flood_begin(struct rdma_event_channel *channel, const struct raw_order *order)
{
	struct rdma_cm_id *id;

	return error_of(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) ?:
	       error_of(rdma_resolve_addr(id, NULL, (struct sockaddr *)&order->to, RESOLVE_MS));
}

/* siw wants a QP. librdmacm chooses the PD and the CQs. */
static int make_flood_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, NULL, &attr);
}

/*
 * A request needs the number of a QP, but no QP. ib_cm rejects a second request with the same
 * number, before kdapl gets it.
 */
static int flood_request(struct rdma_cm_id *id, const struct raw_order *order)
{
	static __u32 num;
	struct rdma_conn_param param = {
		.private_data = order->data,
		.private_data_len = order->data_len,
		.retry_count = 7,
		.qp_num = FIRST_QPN + num++,
	};

	if (is_iwarp(id) && make_flood_qp(id))
		return -errno;
	return error_of(rdma_connect(id, &param));
}

static int flood_end(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	return error_of(rdma_destroy_id(id));
}

/* The next event of a flood. Sets *rejected if the host has rejected a request. */
static int flood_event(struct rdma_event_channel *channel, const struct raw_order *order,
		       bool *rejected)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &event))
		return -errno;
	type = event->event;
	id = event->id;
	rdma_ack_cm_event(event);
	*rejected = type == RDMA_CM_EVENT_REJECTED;
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return error_of(rdma_resolve_route(id, RESOLVE_MS));
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return flood_request(id, order);
	case RDMA_CM_EVENT_REJECTED:
		return flood_end(id);
	default:
		fprintf(stderr, "# raw: %s during a flood\n", rdma_event_str(type));
		return -EPROTO;
	}
}

/*
 * The host keeps order->depth requests in its backlog and rejects all others. The kept ones
 * remain until raw ends.
 */
static int do_flood(const struct raw_order *order, struct raw_answer *answer)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	__u32 begun = 0;
	int err = channel ? 0 : -errno;

	while (answer->count < order->count - order->depth && !err) {
		bool rejected = false;

		if (begun < order->count && begun - answer->count < WAVE) {
			err = flood_begin(channel, order);
			begun++;
		} else {
			err = flood_event(channel, order, &rejected);
			answer->count += rejected;
		}
	}
	return err;
}

static int obey(const struct raw_order *order, struct raw_answer *answer)
{
	struct conn *conn = &conns[order->conn % RAW_CONNS];

	switch (order->op) {
	case RAW_CONNECT:
		return do_connect(conn, order);
	case RAW_FINISH:
		return do_finish(conn);
	case RAW_LISTEN:
		return do_listen(answer);
	case RAW_REQUEST:
		return do_request(conn, answer);
	case RAW_ACCEPT:
		return do_accept(conn, order);
	case RAW_REJECT:
		return error_of(rdma_reject(conn->id, order->data, order->data_len));
	case RAW_EVENT:
		return do_event(conn, answer);
	case RAW_POST:
		return do_post(conn, order);
	case RAW_RECV:
		return do_recv(conn, order);
	case RAW_SENT:
		return do_poll(conn, conn->send_cq, answer);
	case RAW_RECEIVED:
		return do_poll(conn, conn->recv_cq, answer);
	case RAW_DROP_QP:
		drop_qp(conn);
		return 0;
	case RAW_CLOSE:
		return do_close(conn);
	case RAW_FLOOD:
		return do_flood(order, answer);
	default:
		return -EINVAL;
	}
}

int main(void)
{
	struct raw_order order;

	/* Without this directory, libibverbs prints a warning. */
	mkdir("/etc/libibverbs.d", 0755);
	memory = mmap(NULL, RAW_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, RAW_MEMORY_FD, 0);
	if (memory == MAP_FAILED)
		return 1;
	while (recv(RAW_SOCKET, &order, sizeof(order), 0) == sizeof(order)) {
		struct raw_answer answer = { .event = RAW_NONE, .status = RAW_NONE };

		answer.error = -obey(&order, &answer);
		if (send(RAW_SOCKET, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			return 1;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * raw.h - orders that a test gives to the program raw, the hostile peer
 *
 * The test and raw share a socket and memory. Raw executes one order at a time and
 * answers each. It checks nothing: the test decides what is hostile.
 */
#ifndef SELFTESTS_HOSTILE_RAW_H
#define SELFTESTS_HOSTILE_RAW_H

#include <netinet/in.h>
#include <linux/types.h>

/* Connections of raw. Each has a slot of the shared memory. */
#define RAW_CONNS	16
#define RAW_SLOT	(128 * 1024)
#define RAW_MEMORY	(RAW_CONNS * RAW_SLOT)

/* Descriptors of raw */
#define RAW_SOCKET	3
#define RAW_MEMORY_FD	4

/* No event and no completion has this number. */
#define RAW_NONE	0xffff

enum raw_op {
	RAW_CONNECT,	/* request a connection; does not wait for the reply */
	RAW_FINISH,	/* finish a connection with a QP of its own, see raw_order.mtu */
	RAW_LISTEN,	/* listen on any port; the answer has the port */
	RAW_REQUEST,	/* wait for a request to the listener */
	RAW_ACCEPT,	/* accept the request of the connection */
	RAW_REJECT,	/* reject it */
	RAW_EVENT,	/* wait for the next event of the connection */
	RAW_POST,	/* post a request; does not wait */
	RAW_RECV,	/* post a receive */
	RAW_SENT,	/* wait for the completion of a request */
	RAW_RECEIVED,	/* wait for the completion of a receive */
	RAW_DROP_QP,	/* destroy the QP, say nothing to the peer */
	RAW_CLOSE,	/* destroy QP and id */
	RAW_FLOOD,	/* request many connections and count what comes of them */
};

/**
 * struct raw_order - what raw is to do
 * @op: the order
 * @conn: the connection, 0 to RAW_CONNS - 1
 * @opcode: RAW_POST: enum ibv_wr_opcode
 * @offset: RAW_POST, RAW_RECV: where in the slot of the connection
 * @length: RAW_POST, RAW_RECV: bytes
 * @address: RAW_POST: remote address
 * @rkey: RAW_POST: remote key, or the key to invalidate
 * @imm: RAW_POST: immediate data
 * @compare: RAW_POST: compare or add operand of an atomic
 * @swap: RAW_POST: swap operand of an atomic
 * @to: RAW_CONNECT, RAW_FLOOD: address and port of the host
 * @count: RAW_FLOOD: the number of requests
 * @depth: RAW_CONNECT, RAW_ACCEPT: entries of the receive CQ, 0 for the default; RAW_FLOOD:
 *	requests that the host keeps
 * @retries: RAW_CONNECT, RAW_ACCEPT: retry_count of struct rdma_conn_param, for both ends
 * @rnr_retry: RAW_CONNECT, RAW_ACCEPT: rnr_retry_count of struct rdma_conn_param, for the
 *	host; with @mtu also for raw
 * @mtu: RAW_CONNECT: enum ibv_mtu for a QP that raw sets up; 0 leaves that to librdmacm
 * @data_len: RAW_CONNECT, RAW_ACCEPT, RAW_REJECT, RAW_FLOOD: bytes of @data
 * @data: private data
 */
struct raw_order {
	__u32 op;
	__u32 conn;
	__u32 opcode;
	__u32 offset;
	__u32 length;
	__u32 rkey;
	__u64 address;
	__u64 compare;
	__u64 swap;
	struct sockaddr_in to;
	__u32 imm;
	__u32 count;
	__u32 depth;
	__u32 retries;
	__u32 rnr_retry;
	__u32 mtu;
	__u32 data_len;
	__u8 data[256];
};

/**
 * struct raw_answer - what came of an order
 * @error: errno of the call that failed, or 0
 * @event: RAW_EVENT: enum rdma_cm_event_type
 * @status: RAW_SENT, RAW_RECEIVED: enum ibv_wc_status
 * @port: RAW_LISTEN
 * @count: RAW_FLOOD: how many requests the host rejected
 */
struct raw_answer {
	__u32 error;
	__u32 event;
	__u32 status;
	__u32 port;
	__u32 count;
};

#endif /* SELFTESTS_HOSTILE_RAW_H */

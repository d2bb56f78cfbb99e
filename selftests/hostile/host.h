/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * host.h - a kdapl host under attack, its hostile peer raw, and a bystander
 *
 * The host has one PZ with an EP for each connection of raw. All memory that raw can reach
 * or must not reach lies in one arena; a shadow holds the bytes that the arena should hold.
 * The bystander is a process of another user, with a connection of its own.
 */
#ifndef SELFTESTS_HOSTILE_HOST_H
#define SELFTESTS_HOSTILE_HOST_H

#include <stdbool.h>

#include "pair.h"
#include "raw.h"

/*
 * The arena, in bytes: an LMR that is open to peers, with edges within pages; a window;
 * then the receive buffers. Only the first two are open to peers.
 */
#define OPEN_AT		(4096 + 104)
#define OPEN_LEN	(3 * 4096 + 56)
#define WINDOW_AT	(6 * 4096 + 40)
#define WINDOW_LEN	(2 * 4096 + 72)
#define INBOX_AT	(10 * 4096)

/* Receives that each EP posts before it is connected, at most, and their bytes */
#define RECVS		2
#define RECV_LEN	1024
#define ARENA_LEN	(INBOX_AT + RAW_CONNS * RECVS * RECV_LEN)

#define REMOTE_RW	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define LOCAL_RW	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/* What raw writes, unless a test says otherwise */
#define THEIRS		0x99

/* The connection that binds windows. Raw behaves well on it. */
#define GOOD		(RAW_CONNS - 1)

/**
 * struct victim - the host's end of a connection
 * @ep: the EP
 * @dto_evd: its completions
 * @conn_evd: its connection events
 */
struct victim {
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE conn_evd;
};

/**
 * struct neighbour - contexts of another process
 * @local_context: lmr_context of an LMR without privileges for peers
 * @lmr_context: of an LMR with all privileges
 * @rmr_context: of the same LMR
 * @window: of an RMR
 * @address: where the memory begins
 */
struct neighbour {
	__u32 local_context;
	__u32 lmr_context;
	__u32 rmr_context;
	__u32 window;
	__u64 address;
};

/**
 * struct host - the host, raw and the bystander
 * @pair: IA, service point and two EPs that tests may use; @pair.b.pz is the PZ of the host
 * @address: address and port of the service point
 * @victims: by connection of raw
 * @arena: the memory and an LMR over all of it, with local privileges only
 * @open: an LMR over part of the arena, with all privileges
 * @rmr: an RMR
 * @window: its context
 * @shadow: what the arena should hold
 * @shared: the memory that raw sends from and reads into
 * @raw: process id of raw
 * @raw_socket: takes orders
 * @bystander: process id of the bystander
 * @bystander_socket: takes a byte for each check
 * @other: contexts of the bystander
 * @recvs: receives that victim_open() posts, RECVS at first
 */
struct host {
	struct pair pair;
	struct sockaddr_in address;
	struct victim victims[RAW_CONNS];
	struct region arena;
	struct region open;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT window;
	unsigned char *shadow;
	unsigned char *shared;
	pid_t raw;
	int raw_socket;
	pid_t bystander;
	int bystander_socket;
	struct neighbour other;
	unsigned int recvs;
};

DAT_RETURN host_open(struct host *host);
void host_close(struct host *host);
DAT_RETURN host_bind(struct host *host, DAT_RMR_HANDLE rmr, size_t offset, size_t length,
		     DAT_MEM_PRIV_FLAGS privileges, DAT_RMR_CONTEXT *context);
bool host_unharmed(struct host *host);
unsigned char *host_slot(struct host *host, unsigned int conn);
size_t inbox_of(unsigned int conn, unsigned int recv);

bool raw_start(struct host *host);
void raw_kill(struct host *host);
DAT_RETURN raw_restart(struct host *host);
bool raw_do(struct host *host, const struct raw_order *order, struct raw_answer *answer);
bool raw_order(struct host *host, enum raw_op op, unsigned int conn);
int raw_status(struct host *host, enum raw_op op, unsigned int conn);
int raw_event(struct host *host, unsigned int conn);

DAT_RETURN victim_open(struct host *host, unsigned int conn);
DAT_RETURN victim_accept(struct host *host, unsigned int conn);
DAT_RETURN victim_connect(struct host *host, unsigned int conn);
DAT_RETURN victim_connect_as(struct host *host, const struct raw_order *how);
bool victim_broken(struct host *host, unsigned int conn);
bool victim_accept_failed(struct host *host, unsigned int conn);
bool victim_flushed(struct host *host, unsigned int conn, unsigned int first);
bool victim_close(struct host *host, unsigned int conn);

#endif /* SELFTESTS_HOSTILE_HOST_H */

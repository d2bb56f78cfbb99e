/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * two_guests.h - two guests and the link between them
 *
 * The server opens a window, an RMR, for every chunk of data. The client writes
 * the chunk into it, or reads it from there, and says so; the next chunk gets
 * a window of its own. Several chunks are on their way at a time.
 */
#ifndef SELFTESTS_TWO_GUESTS_H
#define SELFTESTS_TWO_GUESTS_H

#include "pair.h"

#define MIB		(1024UL * 1024)
/* Chunks on their way at a time. */
#define SLOTS		8
#define MAX_CHUNK	MIB
/* Around a window, to see whether anything but the window is written. */
#define GUARD		8192

/* One message for each chunk on its way, and one to begin with. */
#define RECVS		(SLOTS + 4)
#define SENDS		(2 * RECVS)

/* The bits above an index tell what a cookie is of. */
#define COOKIE_RECV	(1ULL << 56)
#define COOKIE_SEND	(2ULL << 56)
#define COOKIE_DATA	(3ULL << 56)
#define COOKIE_BIND	(4ULL << 56)
#define COOKIE_KIND(c)	((c) & (0xffULL << 56))
#define COOKIE_INDEX(c)	((c) & ~(0xffULL << 56))

enum msg_type {
	MSG_WRITE = 1,	/* client: let me write; number of chunks, their size */
	MSG_READ,	/* client: let me read; the same */
	MSG_KEEP,	/* client: one window to write and read, as often as I like */
	MSG_WINDOW,	/* server: the window of a chunk; context 0: no more */
	MSG_DONE,	/* client: the chunk has been written or read */
	MSG_NOTHING,	/* client: something to send */
	MSG_BYE,	/* client: that was all */
};

/* What the two tell each other. */
struct msg {
	DAT_UINT32 type;
	DAT_UINT32 chunk;
	DAT_UINT32 context;
	DAT_UINT32 size;
	DAT_UINT64 address;
};

/**
 * struct host - one of the two guests
 * @pair: the IA, and the EVD of the service point; its side a is the EP's
 * @msgs: messages, first those to receive, then those to send
 * @slots: the data of each chunk on its way
 * @rmrs: the server's windows on them
 * @sent: messages sent until now
 */
struct host {
	struct pair pair;
	struct region msgs;
	struct region slots[SLOTS];
	DAT_RMR_HANDLE rmrs[SLOTS];
	unsigned int sent;
};

__attribute__((format(printf, 1, 2), noreturn))
void fail(const char *fmt, ...);
void check(DAT_RETURN ret, const char *what);
double now(void);

void host_open(struct host *host);
void host_close(struct host *host);
void host_new_ep(struct host *host);
void host_post_recvs(struct host *host);
void msg_send(struct host *host, struct msg msg);
struct msg msg_take(struct host *host, unsigned int index);

void pattern_fill(void *buf, size_t len, unsigned int op, unsigned int chunk);
void pattern_verify(const void *buf, size_t len, unsigned int op,
		    unsigned int chunk);

void client_connect(struct host *host, DAT_IA_ADDRESS_PTR server,
		    DAT_CONN_QUAL qual);
void client_move(struct host *host, enum msg_type op, unsigned int chunks,
		 unsigned int size, bool apart);
void server_run(DAT_CONN_QUAL qual);
void peer_death_run(DAT_IA_ADDRESS_PTR server, DAT_CONN_QUAL qual);

#endif /* SELFTESTS_TWO_GUESTS_H */

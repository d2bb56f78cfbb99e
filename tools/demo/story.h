/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * story.h - telling what the demo does, step by step
 */
#ifndef DEMO_STORY_H
#define DEMO_STORY_H

#include <stddef.h>

#include <dat/udat.h>

#define DEMO_QUAL	4711
#define REGION_SIZE	(1024 * 1024)
#define WINDOW_SIZE	(64 * 1024)

/**
 * struct note - what the two tell each other, in Sends
 * @context: rmr_context of the window
 * @address: where it begins
 * @length: bytes
 * @sha256: of the data, in hexadecimal
 */
struct note {
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
	DAT_VLEN length;
	char sha256[65];
};

/**
 * struct peer - one end of the demo's connection
 * @who: "server" or "client"
 * @ia: the IA
 * @async_evd: its asynchronous EVD
 * @pz: the PZ
 * @dto_evd: DTOs and binds
 * @conn_evd: connection events
 * @ep: the EP
 * @buf: registered memory
 * @lmr: its LMR
 * @lmr_context: for local use
 * @note_in: a registered note, to receive
 * @note_out: a registered note, to send
 * @note_lmr: the LMR of both
 * @note_context: for local use
 */
struct peer {
	const char *who;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EP_HANDLE ep;
	unsigned char *buf;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	struct note *note_in;
	struct note *note_out;
	DAT_LMR_HANDLE note_lmr;
	DAT_LMR_CONTEXT note_context;
};

void step_begin(void);
__attribute__((format(printf, 2, 3)))
void step_done(const struct peer *peer, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
void proves(const struct peer *peer, const char *fmt, ...);
__attribute__((format(printf, 2, 3), noreturn))
void fail(const struct peer *peer, const char *fmt, ...);
void check(const struct peer *peer, DAT_RETURN ret, const char *what);

void peer_open(struct peer *peer, const char *who,
	       DAT_MEM_PRIV_FLAGS privileges);
void peer_close(struct peer *peer);
void note_post_recv(struct peer *peer);
void note_send(struct peer *peer);
void note_wait(struct peer *peer);
void wait_connection(struct peer *peer, DAT_EVENT_NUMBER number);
void wait_end(struct peer *peer);
int wait_completion(struct peer *peer, DAT_EVENT_NUMBER number,
		    unsigned long cookie);
void sha256_hex(const void *data, size_t len, char hex[65]);

#endif /* DEMO_STORY_H */

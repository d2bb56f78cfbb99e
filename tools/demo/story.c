// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * story.c - what server and client of the demo share
 */
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "story.h"

#define TIMEOUT		(30 * 1000 * 1000)
#define COOKIE_RECV	1
#define COOKIE_SEND	2

static struct timespec began;

/* One write a line: two processes tell the story to the same page. */
static void say(const char *prefix, const char *fmt, va_list args)
{
	char line[512];
	int len = snprintf(line, sizeof(line), "%s", prefix);

	len += vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);
	if (len > (int)sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	if (write(STDOUT_FILENO, line, len) != len)
		_exit(1);
}

/**
 * step_begin - the clock of the next step starts
 */
void step_begin(void)
{
	clock_gettime(CLOCK_MONOTONIC, &began);
}

/**
 * step_done - tell what was done, and how long it took
 * @peer: who did it
 * @fmt: as printf()
 */
void step_done(const struct peer *peer, const char *fmt, ...)
{
	struct timespec now;
	char prefix[64];
	va_list args;
	double ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_sec - began.tv_sec) * 1e3 +
	     (now.tv_nsec - began.tv_nsec) / 1e6;
	snprintf(prefix, sizeof(prefix), "%9.2f ms  %-7s ", ms, peer->who);
	va_start(args, fmt);
	say(prefix, fmt, args);
	va_end(args);
	step_begin();
}

/**
 * proves - tell what the last step has shown
 * @peer: who saw it
 * @fmt: as printf()
 */
void proves(const struct peer *peer, const char *fmt, ...)
{
	char prefix[64];
	va_list args;

	snprintf(prefix, sizeof(prefix), "          =>  %-7s ", peer->who);
	va_start(args, fmt);
	say(prefix, fmt, args);
	va_end(args);
}

/**
 * fail - tell what went wrong, and end
 * @peer: who saw it
 * @fmt: as printf()
 */
void fail(const struct peer *peer, const char *fmt, ...)
{
	char prefix[64];
	va_list args;

	snprintf(prefix, sizeof(prefix), "demo: %s: ", peer->who);
	va_start(args, fmt);
	say(prefix, fmt, args);
	va_end(args);
	_exit(1);
}

/**
 * check - end unless a call has succeeded
 * @peer: who made it
 * @ret: what it returned
 * @what: its name
 */
void check(const struct peer *peer, DAT_RETURN ret, const char *what)
{
	const char *major = "?", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fail(peer, "%s: %s %s", what, major, minor);
}

/* Registers fresh memory, which is zero. */
static void *allocate(struct peer *peer, size_t len,
		      DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_HANDLE *lmr,
		      DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN size;

	region.for_va = mmap(NULL, len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region.for_va == MAP_FAILED)
		fail(peer, "no memory");
	check(peer, dat_lmr_create(peer->ia, DAT_MEM_TYPE_VIRTUAL, region, len,
				   peer->pz, privileges, lmr, context,
				   &rmr_context, &size, &address),
	      "dat_lmr_create");
	return region.for_va;
}

/**
 * peer_open - open the IA, make an EP, register memory
 * @peer: to be filled in
 * @who: its name
 * @privileges: of the memory
 */
void peer_open(struct peer *peer, const char *who,
	       DAT_MEM_PRIV_FLAGS privileges)
{
	const char *ia = getenv("DAT_DEMO_IA") ?: "rxe0";

	memset(peer, 0, sizeof(*peer));
	peer->who = who;
	step_begin();
	check(peer, dat_ia_open((char *)ia, 8, &peer->async_evd, &peer->ia),
	      "dat_ia_open");
	check(peer, dat_pz_create(peer->ia, &peer->pz), "dat_pz_create");
	check(peer, dat_evd_create(peer->ia, 32, DAT_HANDLE_NULL,
				   DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				   &peer->dto_evd), "dat_evd_create");
	check(peer, dat_evd_create(peer->ia, 8, DAT_HANDLE_NULL,
				   DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
				   &peer->conn_evd), "dat_evd_create");
	check(peer, dat_ep_create(peer->ia, peer->pz, peer->dto_evd,
				  peer->dto_evd, peer->conn_evd, NULL,
				  &peer->ep), "dat_ep_create");
	step_done(peer, "opened %s, made an endpoint", ia);

	peer->note_in = allocate(peer, 2 * sizeof(struct note),
				 DAT_MEM_PRIV_LOCAL_READ_FLAG |
				 DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				 &peer->note_lmr, &peer->note_context);
	peer->note_out = peer->note_in + 1;
	step_begin();
	peer->buf = allocate(peer, REGION_SIZE, privileges, &peer->lmr,
			     &peer->lmr_context);
	step_done(peer, "registered 1 MiB of its memory (an LMR)");
}

/**
 * peer_close - free the LMRs, close the IA
 * @peer: from peer_open()
 */
void peer_close(struct peer *peer)
{
	check(peer, dat_ep_free(peer->ep), "dat_ep_free");
	check(peer, dat_lmr_free(peer->lmr), "dat_lmr_free");
	check(peer, dat_lmr_free(peer->note_lmr), "dat_lmr_free");
	check(peer, dat_ia_close(peer->ia, DAT_CLOSE_ABRUPT_FLAG),
	      "dat_ia_close");
	step_done(peer, "freed everything, closed the IA");
}

static DAT_LMR_TRIPLET note_segment(struct peer *peer, struct note *note)
{
	DAT_LMR_TRIPLET seg = {
		.lmr_context = peer->note_context,
		.virtual_address = (uintptr_t)note,
		.segment_length = sizeof(*note),
	};

	return seg;
}

/**
 * note_post_recv - be ready for a note
 * @peer: who
 */
void note_post_recv(struct peer *peer)
{
	DAT_LMR_TRIPLET seg = note_segment(peer, peer->note_in);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_RECV };

	check(peer, dat_ep_post_recv(peer->ep, 1, &seg, cookie, 0),
	      "dat_ep_post_recv");
}

/**
 * note_send - send @note_out, without an event if that succeeds
 * @peer: who
 */
void note_send(struct peer *peer)
{
	DAT_LMR_TRIPLET seg = note_segment(peer, peer->note_out);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_SEND };

	check(peer, dat_ep_post_send(peer->ep, 1, &seg, cookie,
				     DAT_COMPLETION_SUPPRESS_FLAG),
	      "dat_ep_post_send");
}

/**
 * note_wait - wait until a note is in @note_in
 * @peer: who
 */
void note_wait(struct peer *peer)
{
	if (wait_completion(peer, DAT_DTO_COMPLETION_EVENT, COOKIE_RECV))
		fail(peer, "the connection broke before a message came");
}

static DAT_EVENT_NUMBER connection_event(struct peer *peer)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	check(peer, dat_evd_wait(peer->conn_evd, TIMEOUT, 1, &event, &nmore),
	      "dat_evd_wait");
	return event.event_number;
}

/**
 * wait_connection - wait for a connection event
 * @peer: who
 * @number: the event that it must be
 */
void wait_connection(struct peer *peer, DAT_EVENT_NUMBER number)
{
	DAT_EVENT_NUMBER found = connection_event(peer);

	if (found != number)
		fail(peer, "connection event %#x instead of %#x", found, number);
}

/**
 * wait_end - wait for the end of the connection
 * @peer: who
 *
 * On the side that refused an access the disconnection may arrive first.
 */
void wait_end(struct peer *peer)
{
	DAT_EVENT_NUMBER found = connection_event(peer);

	if (found != DAT_CONNECTION_EVENT_BROKEN &&
	    found != DAT_CONNECTION_EVENT_DISCONNECTED)
		fail(peer, "connection event %#x instead of an end", found);
}

/**
 * wait_completion - wait for the completion of a DTO or bind
 * @peer: who
 * @number: DAT_DTO_COMPLETION_EVENT or DAT_RMR_BIND_COMPLETION_EVENT
 * @cookie: which
 *
 * Return: its DAT_DTO_COMPLETION_STATUS.
 */
int wait_completion(struct peer *peer, DAT_EVENT_NUMBER number,
		    unsigned long cookie)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (;;) {
		DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;
		DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
			&event.event_data.rmr_completion_event_data;

		check(peer, dat_evd_wait(peer->dto_evd, TIMEOUT, 1, &event,
					 &nmore), "dat_evd_wait");
		if (event.event_number != number)
			continue;
		if (number == DAT_DTO_COMPLETION_EVENT &&
		    dto->user_cookie.as_64 == cookie)
			return dto->status;
		if (number == DAT_RMR_BIND_COMPLETION_EVENT &&
		    bind->user_cookie.as_64 == cookie)
			return bind->status;
	}
}

/**
 * sha256_hex - SHA-256 in hexadecimal
 * @data: of what
 * @len: bytes
 * @hex: out: the text
 */
void sha256_hex(const void *data, size_t len, char hex[65])
{
	unsigned char digest[32];
	unsigned int i;

	if (!EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL))
		abort();
	for (i = 0; i < sizeof(digest); i++)
		sprintf(hex + 2 * i, "%02x", digest[i]);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * host.c - what both guests have
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "two_guests.h"

/**
 * fail - tell what went wrong, and end
 * @fmt: as printf()
 */
void fail(const char *fmt, ...)
{
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	exit(1);
}

/**
 * check - end unless a call has succeeded
 * @ret: what it returned
 * @what: its name
 */
void check(DAT_RETURN ret, const char *what)
{
	if (ret)
		fail("%s: %s", what, dat_str(ret));
}

/**
 * now - seconds since some moment
 */
double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/**
 * host_open - open the IA and make everything but a connection
 * @host: to be filled in
 */
void host_open(struct host *host)
{
	struct pair *pair = &host->pair;
	unsigned int i;

	memset(host, 0, sizeof(*host));
	check(dat_ia_open((char *)ia_name(), 8, &pair->async_evd, &pair->ia),
	      "dat_ia_open");
	check(dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
			     &pair->cr_evd), "dat_evd_create");
	check(side_open(pair, &pair->a), "side_open");
	check(region_open(pair, pair->a.pz, &host->msgs,
			  (RECVS + SENDS) * sizeof(struct msg),
			  DAT_MEM_PRIV_LOCAL_READ_FLAG |
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG), "region_open");
	for (i = 0; i < SLOTS; i++) {
		check(region_open(pair, pair->a.pz, &host->slots[i],
				  MAX_CHUNK + 2 * GUARD,
				  DAT_MEM_PRIV_LOCAL_READ_FLAG |
				  DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
		      "region_open");
		check(dat_rmr_create(pair->a.pz, &host->rmrs[i]),
		      "dat_rmr_create");
	}
}

/**
 * host_close - free it all, one by one
 * @host: from host_open()
 */
void host_close(struct host *host)
{
	struct pair *pair = &host->pair;
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		check(dat_rmr_free(host->rmrs[i]), "dat_rmr_free");
	check(dat_ep_free(pair->a.ep), "dat_ep_free");
	for (i = 0; i < SLOTS; i++)
		check(dat_lmr_free(host->slots[i].lmr), "dat_lmr_free");
	check(dat_lmr_free(host->msgs.lmr), "dat_lmr_free");
	if (pair->psp)
		check(dat_psp_free(pair->psp), "dat_psp_free");
	check(dat_evd_free(pair->cr_evd), "dat_evd_free");
	check(dat_evd_free(pair->a.dto_evd), "dat_evd_free");
	check(dat_evd_free(pair->a.conn_evd), "dat_evd_free");
	check(dat_pz_free(pair->a.pz), "dat_pz_free");
	check(dat_ia_close(pair->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
}

/**
 * host_new_ep - put a new EP in the place of one whose connection has ended
 * @host: from host_open()
 */
void host_new_ep(struct host *host)
{
	struct side *side = &host->pair.a;
	DAT_EP_PARAM param;
	DAT_EVENT event;

	check(dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &param), "dat_ep_query");
	check(dat_ep_free(side->ep), "dat_ep_free");
	while (!dat_evd_dequeue(side->dto_evd, &event))
		;
	check(dat_ep_create(host->pair.ia, side->pz, side->dto_evd,
			    side->dto_evd, side->conn_evd, &param.ep_attr,
			    &side->ep), "dat_ep_create");
}

static void post_msg_recv(struct host *host, unsigned int index)
{
	check(post_recv(host->pair.a.ep, &host->msgs,
			index * sizeof(struct msg), sizeof(struct msg),
			COOKIE_RECV | index), "dat_ep_post_recv");
}

/**
 * host_post_recvs - be ready for messages
 * @host: whose EP is new
 */
void host_post_recvs(struct host *host)
{
	unsigned int i;

	for (i = 0; i < RECVS; i++)
		post_msg_recv(host, i);
}

/**
 * msg_send - send a message
 * @host: who
 * @msg: the message
 */
void msg_send(struct host *host, struct msg msg)
{
	/* When its turn comes again, the peer has long answered. */
	unsigned int index = RECVS + host->sent++ % SENDS;

	((struct msg *)host->msgs.buf)[index] = msg;
	check(post_send(host->pair.a.ep, &host->msgs,
			index * sizeof(struct msg), sizeof(struct msg),
			COOKIE_SEND | index), "dat_ep_post_send");
}

/**
 * msg_take - take a message that has come, and be ready for another
 * @host: who
 * @index: of its cookie
 */
struct msg msg_take(struct host *host, unsigned int index)
{
	struct msg msg = ((struct msg *)host->msgs.buf)[index];

	post_msg_recv(host, index);
	return msg;
}

/* No two words alike, in a chunk or at the same place in two of them. */
static DAT_UINT64 pattern_word(unsigned int op, unsigned int chunk, size_t i)
{
	DAT_UINT64 x = ((DAT_UINT64)op << 60) + ((DAT_UINT64)chunk << 24) + i + 1;

	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

/**
 * pattern_fill - make the data of a chunk
 * @buf: where
 * @len: bytes, divisible by 8
 * @op: MSG_WRITE or MSG_READ
 * @chunk: which
 */
void pattern_fill(void *buf, size_t len, unsigned int op, unsigned int chunk)
{
	DAT_UINT64 *words = buf;
	size_t i;

	for (i = 0; i < len / sizeof(*words); i++)
		words[i] = pattern_word(op, chunk, i);
}

/**
 * pattern_verify - end unless the data is that of a chunk
 * @buf: where
 * @len: bytes, divisible by 8
 * @op: MSG_WRITE or MSG_READ
 * @chunk: which
 */
void pattern_verify(const void *buf, size_t len, unsigned int op,
		    unsigned int chunk)
{
	const DAT_UINT64 *words = buf;
	size_t i;

	for (i = 0; i < len / sizeof(*words); i++) {
		if (words[i] != pattern_word(op, chunk, i))
			fail("chunk %u %s: %#llx at offset %zu instead of %#llx",
			     chunk, op == MSG_WRITE ? "written" : "read",
			     (unsigned long long)words[i], i * sizeof(*words),
			     (unsigned long long)pattern_word(op, chunk, i));
	}
}

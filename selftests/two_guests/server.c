// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * server.c - the guest that opens windows on its memory
 */
#include <stdio.h>
#include <string.h>

#include "two_guests.h"

#define GUARD_BYTE	0xa5
/* Enough of the guard to see what a packet too many would do. */
#define GUARD_SEEN	4096

static struct host me;
/* What the client has asked for. */
static unsigned int op, chunks, size;
static unsigned int verified;

/* A window begins somewhere else each time, hardly ever at a page. */
static size_t window_offset(unsigned int chunk)
{
	return GUARD_SEEN + chunk * 40 % (GUARD - GUARD_SEEN);
}

static DAT_MEM_PRIV_FLAGS window_privileges(void)
{
	switch (op) {
	case MSG_WRITE:
		return DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	case MSG_READ:
		return DAT_MEM_PRIV_REMOTE_READ_FLAG;
	default:
		return DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
		       DAT_MEM_PRIV_REMOTE_READ_FLAG;
	}
}

static void open_window(unsigned int chunk)
{
	struct region *slot = &me.slots[chunk % SLOTS];
	size_t offset = window_offset(chunk);
	DAT_LMR_TRIPLET seg = segment(slot, offset, size);
	struct msg msg = {
		.type = MSG_WINDOW,
		.chunk = chunk,
		.address = (uintptr_t)slot->buf + offset,
	};

	if (op == MSG_READ) {
		pattern_fill(slot->buf + offset, size, op, chunk);
		check(dat_lmr_sync_rdma_read(me.pair.ia, &seg, 1),
		      "dat_lmr_sync_rdma_read");
	} else {
		memset(slot->buf + offset - GUARD_SEEN, GUARD_BYTE, GUARD_SEEN);
		memset(slot->buf + offset + size, GUARD_BYTE, GUARD_SEEN);
	}
	check(bind_window(me.rmrs[chunk % SLOTS], slot, offset, size,
			  window_privileges(), me.pair.a.ep, COOKIE_BIND | chunk,
			  DAT_COMPLETION_DEFAULT_FLAG, &msg.context),
	      "dat_rmr_bind");
	msg_send(&me, msg);
}

static void check_guard(const unsigned char *guard, unsigned int chunk)
{
	size_t i;

	for (i = 0; i < GUARD_SEEN; i++) {
		if (guard[i] != GUARD_BYTE)
			fail("chunk %u: something outside the window is written",
			     chunk);
	}
}

static void close_chunk(unsigned int chunk)
{
	struct region *slot = &me.slots[chunk % SLOTS];
	struct msg no_more = { .type = MSG_WINDOW, .chunk = chunk + SLOTS };
	size_t offset = window_offset(chunk);
	DAT_LMR_TRIPLET seg = segment(slot, offset, size);

	if (op == MSG_WRITE) {
		check(dat_lmr_sync_rdma_write(me.pair.ia, &seg, 1),
		      "dat_lmr_sync_rdma_write");
		pattern_verify(slot->buf + offset, size, op, chunk);
		check_guard(slot->buf + offset - GUARD_SEEN, chunk);
		check_guard(slot->buf + offset + size, chunk);
	}
	verified++;
	if (chunk + SLOTS < chunks)
		open_window(chunk + SLOTS);
	else
		msg_send(&me, no_more);
}

/* Returns false when that was all. */
static bool answer(struct msg msg)
{
	unsigned int i;

	switch (msg.type) {
	case MSG_WRITE:
	case MSG_READ:
	case MSG_KEEP:
		op = msg.type;
		chunks = msg.chunk;
		size = msg.size;
		if (size > MAX_CHUNK || size % 8)
			fail("chunks of %u bytes are not possible", size);
		for (i = 0; i < SLOTS && i < chunks; i++)
			open_window(i);
		break;
	case MSG_DONE:
		close_chunk(msg.chunk);
		break;
	case MSG_BYE:
		return false;
	default:
		break;
	}
	return true;
}

/* Waits for a client; false if it has lost patience. */
static bool accept_client(void)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_COUNT nmore;

	host_post_recvs(&me);
	check(dat_evd_wait(me.pair.cr_evd, DAT_TIMEOUT_INFINITE, 1, &event,
			   &nmore), "dat_evd_wait");
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	check(dat_cr_accept(cr, me.pair.a.ep, 0, NULL), "dat_cr_accept");
	check(dat_evd_wait(me.pair.a.conn_evd, DAT_TIMEOUT_INFINITE, 1, &event,
			   &nmore), "dat_evd_wait");
	return event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

/**
 * server_run - serve one client until it has all it wants
 * @qual: where to listen
 */
void server_run(DAT_CONN_QUAL qual)
{
	struct msg msg = {};
	DAT_EVENT event;
	DAT_COUNT nmore;

	host_open(&me);
	check(dat_psp_create(me.pair.ia, qual, me.pair.cr_evd,
			     DAT_PSP_CONSUMER_FLAG, &me.pair.psp),
	      "dat_psp_create");
	printf("# the server listens\n");
	while (!accept_client())
		host_new_ep(&me);
	for (;;) {
		DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		/* For ever: how patient to be is the client's to know. */
		check(dat_evd_wait(me.pair.a.dto_evd, DAT_TIMEOUT_INFINITE, 1,
				   &event, &nmore), "dat_evd_wait");
		if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
			if (event.event_data.rmr_completion_event_data.status)
				fail("a bind failed");
			continue;
		}
		if (dto->status)
			fail("a DTO ended with status %d", dto->status);
		if (COOKIE_KIND(dto->user_cookie.as_64) != COOKIE_RECV)
			continue;
		msg = msg_take(&me, COOKIE_INDEX(dto->user_cookie.as_64));
		if (!answer(msg))
			break;
	}
	/* It is repeated, if it was lost, whatever becomes of the client. */
	check(wait_number(me.pair.a.conn_evd,
			  DAT_CONNECTION_EVENT_DISCONNECTED),
	      "the farewell of the client");
	host_close(&me);
	printf("# the server has seen %u chunks written or read\n", verified);
}

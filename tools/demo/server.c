// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * server.c - the demo's server: it owns the memory and opens windows on it
 */
#include <stdio.h>
#include <string.h>

#include "story.h"

#define FIRST_OFFSET	12345
#define SECOND_OFFSET	500001
#define COOKIE_BIND	10

static struct peer me;
static DAT_RMR_HANDLE rmr;

/* Opens the window; the note to the client follows at once. */
static void open_window(size_t offset, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET part = {
		.lmr_context = me.lmr_context,
		.virtual_address = (uintptr_t)me.buf + offset,
		.segment_length = WINDOW_SIZE,
	};
	DAT_RMR_COOKIE cookie = { .as_64 = COOKIE_BIND };

	check(&me, dat_rmr_bind(rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG |
				DAT_MEM_PRIV_REMOTE_WRITE_FLAG, me.ep, cookie,
				flags, &me.note_out->context), "dat_rmr_bind");
	me.note_out->address = part.virtual_address;
	me.note_out->length = WINDOW_SIZE;
}

static void accept_client(void)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_COUNT nmore;

	check(&me, dat_psp_create(me.ia, DEMO_QUAL, me.conn_evd,
				  DAT_PSP_CONSUMER_FLAG, &psp),
	      "dat_psp_create");
	note_post_recv(&me);
	/* The client starts when this is on the page. */
	step_done(&me, "listens on connection qualifier %d", DEMO_QUAL);
	check(&me, dat_evd_wait(me.conn_evd, 60 * 1000 * 1000, 1, &event,
				&nmore), "dat_evd_wait");
	step_begin();
	check(&me, dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				 me.ep, 0, NULL), "dat_cr_accept");
	wait_connection(&me, DAT_CONNECTION_EVENT_ESTABLISHED);
	step_done(&me, "accepted the client's connection");
}

/* What the client wrote must be here, and nowhere else. */
static void compare(size_t offset)
{
	DAT_LMR_TRIPLET part = {
		.lmr_context = me.lmr_context,
		.virtual_address = (uintptr_t)me.buf + offset,
		.segment_length = WINDOW_SIZE,
	};
	char hex[65];
	size_t i;

	step_begin();
	check(&me, dat_lmr_sync_rdma_write(me.ia, &part, 1),
	      "dat_lmr_sync_rdma_write");
	sha256_hex(me.buf + offset, WINDOW_SIZE, hex);
	step_done(&me, "synchronised the range, SHA-256 %.16s...", hex);
	if (strcmp(hex, me.note_in->sha256))
		fail(&me, "the client wrote %.16s...", me.note_in->sha256);
	for (i = 0; i < REGION_SIZE; i++)
		if (me.buf[i] && i - offset >= WINDOW_SIZE)
			fail(&me, "byte %zu outside the window has changed", i);
	proves(&me, "the client's data arrived whole, and not a byte outside the window");
}

int main(void)
{
	char before[65], after[65];

	/* No remote privileges: only a window lets anybody in. */
	peer_open(&me, "server", DAT_MEM_PRIV_LOCAL_READ_FLAG |
				 DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	accept_client();

	check(&me, dat_rmr_create(me.pz, &rmr), "dat_rmr_create");
	step_begin();
	open_window(FIRST_OFFSET, DAT_COMPLETION_SUPPRESS_FLAG);
	note_send(&me);
	step_done(&me, "bound a window of 64 KiB at offset %d and sent its rmr_context %#x",
		  FIRST_OFFSET, me.note_out->context);
	proves(&me, "no wait between bind and Send: the Send starts after the bind");

	note_wait(&me);
	compare(FIRST_OFFSET);

	memset(me.buf, 0, REGION_SIZE);
	note_post_recv(&me);
	step_begin();
	open_window(SECOND_OFFSET, DAT_COMPLETION_DEFAULT_FLAG);
	if (wait_completion(&me, DAT_RMR_BIND_COMPLETION_EVENT, COOKIE_BIND))
		fail(&me, "the bind failed");
	note_send(&me);
	step_done(&me, "moved the window to offset %d, new rmr_context %#x",
		  SECOND_OFFSET, me.note_out->context);
	note_wait(&me);
	compare(SECOND_OFFSET);

	sha256_hex(me.buf, REGION_SIZE, before);
	step_begin();
	wait_end(&me);
	step_done(&me, "saw its connection end");
	sha256_hex(me.buf, REGION_SIZE, after);
	if (strcmp(before, after))
		fail(&me, "the old rmr_context changed memory");
	proves(&me, "the old rmr_context is dead: its use cost the connection, changed nothing");

	step_begin();
	check(&me, dat_rmr_free(rmr), "dat_rmr_free");
	peer_close(&me);
	return 0;
}

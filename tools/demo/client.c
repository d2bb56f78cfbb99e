// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * client.c - the demo's client: it uses the windows that the server opens
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "story.h"

#define COOKIE_WRITE	20
#define COOKIE_READ	21

static struct peer me;

/* Half of the region is what is written, the other where it is read back. */
static unsigned char *data_out(void)
{
	return me.buf;
}

static unsigned char *data_in(void)
{
	return me.buf + REGION_SIZE / 2;
}

static int rdma(const struct note *window, unsigned char *local, int cookie)
{
	DAT_LMR_TRIPLET seg = {
		.lmr_context = me.lmr_context,
		.virtual_address = (uintptr_t)local,
		.segment_length = window->length,
	};
	DAT_RMR_TRIPLET remote = {
		.rmr_context = window->context,
		.target_address = window->address,
		.segment_length = window->length,
	};
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	if (cookie == COOKIE_WRITE)
		check(&me, dat_ep_post_rdma_write(me.ep, 1, &seg, c, &remote, 0),
		      "dat_ep_post_rdma_write");
	else
		check(&me, dat_ep_post_rdma_read(me.ep, 1, &seg, c, &remote, 0),
		      "dat_ep_post_rdma_read");
	return wait_completion(&me, DAT_DTO_COMPLETION_EVENT, cookie);
}

static void connect_server(void)
{
	DAT_IA_ATTR attr;

	check(&me, dat_ia_query(me.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
				0, NULL), "dat_ia_query");
	note_post_recv(&me);
	step_begin();
	check(&me, dat_ep_connect(me.ep, attr.ia_address_ptr, DEMO_QUAL,
				  30 * 1000 * 1000, 0, NULL,
				  DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	wait_connection(&me, DAT_CONNECTION_EVENT_ESTABLISHED);
	step_done(&me, "connected to the server");
}

/* Fills the window with new random data and looks at it from afar. */
static void use_window(const struct note *window)
{
	char hex[65];
	size_t i;

	for (i = 0; i < window->length; i += 256)
		if (getrandom(data_out() + i, 256, 0) != 256)
			fail(&me, "no random data");
	sha256_hex(data_out(), window->length, me.note_out->sha256);
	step_begin();
	if (rdma(window, data_out(), COOKIE_WRITE))
		fail(&me, "RDMA write through the window failed");
	step_done(&me, "RDMA-wrote 64 KiB through rmr_context %#x, SHA-256 %.16s...",
		  window->context, me.note_out->sha256);
	if (rdma(window, data_in(), COOKIE_READ))
		fail(&me, "RDMA read through the window failed");
	step_done(&me, "RDMA-read them back");
	sha256_hex(data_in(), window->length, hex);
	if (strcmp(hex, me.note_out->sha256))
		fail(&me, "read back %.16s...", hex);
	proves(&me, "what comes back is what was written");
}

int main(void)
{
	struct note first;
	int status;

	peer_open(&me, "client", DAT_MEM_PRIV_LOCAL_READ_FLAG |
				 DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	connect_server();

	note_wait(&me);
	first = *me.note_in;
	use_window(&first);
	note_post_recv(&me);
	note_send(&me);

	note_wait(&me);
	use_window(me.note_in);
	note_send(&me);

	step_begin();
	status = rdma(&first, data_out(), COOKIE_WRITE);
	step_done(&me, "tried the old rmr_context %#x: %s", first.context,
		  status == DAT_DTO_ERR_REMOTE_ACCESS ?
			  "DAT_DTO_ERR_REMOTE_ACCESS" : "not refused");
	if (status != DAT_DTO_ERR_REMOTE_ACCESS)
		fail(&me, "status %d instead of DAT_DTO_ERR_REMOTE_ACCESS",
		     status);
	wait_connection(&me, DAT_CONNECTION_EVENT_BROKEN);
	proves(&me, "a window that has moved cannot be reached where it was");
	step_begin();
	peer_close(&me);
	return 0;
}

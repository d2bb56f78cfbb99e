// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * client.c - the guest that writes and reads
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "two_guests.h"

/* The server may have to boot first. */
#define CONNECT_TIMEOUT	180
/* Longer than any transport retries. */
#define EVENT_TIMEOUT	(60 * 1000 * 1000)
/* Microseconds; much longer than two-guests.sh's bad link delays anything. */
#define QUIET		(20 * 1000)

static bool try_connect(struct host *host, DAT_IA_ADDRESS_PTR server,
			DAT_CONN_QUAL qual)
{
	struct side *side = &host->pair.a;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret;

	host_post_recvs(host);
	ret = dat_ep_connect(side->ep, server, qual, PAIR_TIMEOUT, 0, NULL,
			     DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (ret)
		return false;
	check(dat_evd_wait(side->conn_evd, EVENT_TIMEOUT, 1, &event, &nmore),
	      "dat_evd_wait");
	return event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

/**
 * client_connect - connect to the server, as soon as it is there
 * @host: from host_open()
 * @server: its address
 * @qual: where it listens
 */
void client_connect(struct host *host, DAT_IA_ADDRESS_PTR server,
		    DAT_CONN_QUAL qual)
{
	double deadline = now() + CONNECT_TIMEOUT;

	while (!try_connect(host, server, qual)) {
		if (now() > deadline)
			fail("the server cannot be reached");
		usleep(200 * 1000);
		host_new_ep(host);
	}
}

/**
 * struct mover - how far a client has come
 * @host: the client
 * @op: MSG_WRITE or MSG_READ
 * @chunks: how many there are
 * @size: bytes in each
 * @apart: see client_move()
 * @windows: those that it has and does not use yet, if @apart
 * @num_windows: how many
 * @moving: chunks on their way
 * @moved: chunks that have been
 * @told: of those, how many the server has been told of
 * @answered: of those, how many it has answered for
 * @sends: messages on their way
 */
struct mover {
	struct host *host;
	enum msg_type op;
	unsigned int chunks;
	unsigned int size;
	bool apart;
	struct msg windows[SLOTS];
	unsigned int num_windows;
	unsigned int moving;
	unsigned int moved;
	unsigned int told;
	unsigned int answered;
	unsigned int sends;
};

static void tell(struct mover *mover, struct msg msg)
{
	msg_send(mover->host, msg);
	mover->sends++;
}

static void use_window(struct mover *mover, const struct msg *window)
{
	struct host *host = mover->host;
	struct region *slot = &host->slots[window->chunk % SLOTS];
	const void *there = (void *)(uintptr_t)window->address;
	DAT_UINT64 cookie = COOKIE_DATA | window->chunk;

	if (mover->op == MSG_WRITE) {
		pattern_fill(slot->buf, mover->size, mover->op, window->chunk);
		check(post_write(host->pair.a.ep, slot, 0, mover->size,
				 window->context, there, cookie),
		      "dat_ep_post_rdma_write");
	} else {
		check(post_read(host->pair.a.ep, slot, 0, mover->size,
				window->context, there, cookie),
		      "dat_ep_post_rdma_read");
	}
	mover->moving++;
}

/* Goes on when all windows are there and no message is on its way. */
static void use_windows(struct mover *mover)
{
	unsigned int left = mover->chunks - mover->moved, i;

	if (mover->sends || mover->moving ||
	    mover->num_windows < (left < SLOTS ? left : SLOTS))
		return;
	/* By then delayed and doubled packets have arrived. */
	usleep(QUIET);
	for (i = 0; i < mover->num_windows; i++)
		use_window(mover, &mover->windows[i]);
	mover->num_windows = 0;
}

static void got_message(struct mover *mover, struct msg msg)
{
	if (msg.chunk >= SLOTS)
		mover->answered++;
	if (!msg.context)
		return;
	if (mover->apart)
		mover->windows[mover->num_windows++] = msg;
	else
		use_window(mover, &msg);
}

static void has_moved(struct mover *mover, unsigned int chunk)
{
	if (mover->op == MSG_READ)
		pattern_verify(mover->host->slots[chunk % SLOTS].buf,
			       mover->size, mover->op, chunk);
	mover->moving--;
	mover->moved++;
	/* Chunks move in the order in which their windows were opened. */
	if (mover->apart && mover->moving)
		return;
	while (mover->told < mover->moved) {
		struct msg msg = { .type = MSG_DONE, .chunk = mover->told++ };

		tell(mover, msg);
	}
}

/**
 * client_move - write into or read from the server's memory
 * @host: connected
 * @op: MSG_WRITE or MSG_READ
 * @chunks: how many
 * @size: bytes in each
 * @apart: let no message be on its way while data is
 *
 * Both ends compare what arrives with what it must be.
 */
void client_move(struct host *host, enum msg_type op, unsigned int chunks,
		 unsigned int size, bool apart)
{
	struct mover mover = {
		.host = host,
		.op = op,
		.chunks = chunks,
		.size = size,
		.apart = apart,
	};
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	unsigned int index;
	DAT_EVENT event;
	DAT_COUNT nmore;

	tell(&mover, (struct msg){ .type = op, .chunk = chunks, .size = size });
	while (mover.answered < chunks) {
		check(dat_evd_wait(host->pair.a.dto_evd, EVENT_TIMEOUT, 1,
				   &event, &nmore), "dat_evd_wait");
		dto = &event.event_data.dto_completion_event_data;
		index = COOKIE_INDEX(dto->user_cookie.as_64);
		if (dto->status)
			fail("a DTO ended with status %d after %u chunks",
			     dto->status, mover.moved);
		switch (COOKIE_KIND(dto->user_cookie.as_64)) {
		case COOKIE_DATA:
			if (index != mover.moved)
				fail("chunk %u instead of %u", index,
				     mover.moved);
			has_moved(&mover, index);
			break;
		case COOKIE_RECV:
			got_message(&mover, msg_take(host, index));
			break;
		default:
			mover.sends--;
			break;
		}
		if (mover.num_windows)
			use_windows(&mover);
	}
	/* Else the next to move data would take them for its own. */
	while (mover.sends--)
		check(wait_event(host->pair.a.dto_evd, &event), "a send");
}

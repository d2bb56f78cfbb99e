// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * line.c - one end of a connection between two children: its objects, messages and end
 *
 * A peer may be killed at any moment, so a connection may end in each of these functions. They
 * return false then and set failed. line_end() ends what is left, and requires that each posted
 * receive completes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "process.h"
#include "soak.h"

/* Cookies: the index of a buffer; BIND for binds */
#define HEAD		offsetof(struct message, data)

static bool open_range(struct line *l)
{
	/* One in sixteen is large. */
	enum memory_type type = random_below(16) ? random_below(LARGE) : LARGE;

	return memory_open(l->worker, l->pz, type, 4096 + 8 * random_below(8192), &l->range);
}

/**
 * line_open - create the objects of one end
 * @w: the child
 * @l: out
 * @with_srq: whether the EP takes its receives from an SRQ
 */
bool line_open(struct worker *w, struct line *l, bool with_srq)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = RECV_SLOTS,
		.max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};

	*l = (struct line){ .worker = w, .srq = DAT_HANDLE_NULL };
	TRY(w, dat_pz_create(w->ia, &l->pz));
	if (!queue_open(w, &l->requests, 32, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG) ||
	    !queue_open(w, &l->receives, 2 * RECV_SLOTS, DAT_EVD_DTO_FLAG) ||
	    !queue_open(w, &l->connection, 8, DAT_EVD_CONNECTION_FLAG))
		return false;
	if (with_srq)
		TRY(w, dat_srq_create(w->ia, l->pz, &attr, &l->srq));
	return memory_open(w, l->pz, PRIVATE, (RECV_SLOTS + SEND_SLOTS) * MESSAGE,
			   &l->messages) &&
	       open_range(l) && line_open_ep(l) && line_post_receives(l);
}

/**
 * line_open_ep - create the EP
 * @l: everything else has been created
 */
bool line_open_ep(struct line *l)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.max_recv_dtos = l->srq ? 0 : RECV_SLOTS,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 2,
		.max_rdma_read_out = 2,
	};
	struct worker *w = l->worker;

	if (l->srq)
		TRY(w, dat_ep_create_with_srq(w->ia, l->pz, l->receives.evd, l->requests.evd,
					      l->connection.evd, l->srq, &attr, &l->ep));
	else
		TRY(w, dat_ep_create(w->ia, l->pz, l->receives.evd, l->requests.evd,
				     l->connection.evd, &attr, &l->ep));
	return true;
}

/* A post fails with this type if the connection has ended. */
static bool posted(struct line *l, DAT_RETURN ret, const char *call)
{
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		l->failed = true;
	else
		try_call(l->worker, ret, call);
	return !ret;
}

static bool post_receive(struct line *l, unsigned int i)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = l->messages.lmr_context,
		.virtual_address = ADDR(l->messages.buf) + i * MESSAGE,
		.segment_length = MESSAGE,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = i };
	bool ok;

	if (l->srq)
		ok = posted(l, dat_srq_post_recv(l->srq, 1, &segment, cookie), "dat_srq_post_recv");
	else
		ok = posted(l, dat_ep_post_recv(l->ep, 1, &segment, cookie,
						DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_recv");
	l->posted += ok;
	return ok;
}

/**
 * line_post_receives - post all receives
 * @l: not connected yet
 */
bool line_post_receives(struct line *l)
{
	unsigned int i;

	for (i = 0; i < RECV_SLOTS; i++)
		if (!post_receive(l, i))
			return false;
	return true;
}

/**
 * line_await - wait for the next connection event
 * @l: the line; it is connecting or ending
 * @number: out: the event
 */
bool line_await(struct line *l, DAT_EVENT_NUMBER *number)
{
	DAT_EVENT event;

	if (!queue_take(l->worker, &l->connection, &event, LIMIT)) {
		if (!is_lost(l->worker))
			complain(l->worker, "no connection event in %d s, mode %d", LIMIT,
				 l->worker->mode);
		return false;
	}
	*number = event.event_number;
	return true;
}

static struct message *message_at(struct line *l, unsigned int i)
{
	return (struct message *)(l->messages.buf + i * MESSAGE);
}

static bool is_connected(struct line *l)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return !dat_ep_get_status(l->ep, &state, &recv_idle, &request_idle) &&
	       state == DAT_EP_STATE_CONNECTED;
}

/* The end of a connection flushes the receives of an EP, but none of an SRQ. */
static bool take_receive(struct line *l, DAT_EVENT *event, double limit)
{
	double end = seconds() + limit;

	if (!l->srq)
		return queue_take(l->worker, &l->receives, event, limit);
	while (!queue_take(l->worker, &l->receives, event, 1)) {
		if (!is_connected(l))
			return queue_take(l->worker, &l->receives, event, 0);
		if (seconds() > end)
			return false;
	}
	return true;
}

/**
 * line_receive - wait for the next message
 * @l: connected
 * @limit: seconds to wait at most
 *
 * Return: the message, to be passed to line_repost(); NULL if the connection has ended or the
 * peer sends nothing.
 */
struct message *line_receive(struct line *l, double limit)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	struct message *m;
	DAT_EVENT event;

	if (!take_receive(l, &event, limit))
		return NULL;
	d = &event.event_data.dto_completion_event_data;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT || d->user_cookie.as_64 >= RECV_SLOTS)
		complain(l->worker, "event %#x with cookie %#llx instead of a receive",
			 event.event_number, (unsigned long long)d->user_cookie.as_64);
	l->posted--;
	if (d->status != DAT_DTO_SUCCESS) {
		l->failed = true;
		return NULL;
	}
	m = message_at(l, d->user_cookie.as_64);
	if (d->transfered_length < HEAD ||
	    (d->transfered_length > HEAD && d->transfered_length != HEAD + m->length))
		complain(l->worker, "message %#x of %llu bytes, %u of data", m->type,
			 (unsigned long long)d->transfered_length, m->length);
	return m;
}

/**
 * line_repost - post the buffer of a message again
 * @l: the line
 * @m: from line_receive()
 */
bool line_repost(struct line *l, struct message *m)
{
	return post_receive(l, ((unsigned char *)m - l->messages.buf) / MESSAGE);
}

/**
 * line_outgoing - a buffer for a message
 * @l: the line
 * @i: below SEND_SLOTS
 */
struct message *line_outgoing(struct line *l, unsigned int i)
{
	return message_at(l, RECV_SLOTS + i);
}

/**
 * line_send - post a Send
 * @l: connected
 * @m: from line_outgoing(); its index is the cookie. ECHO and ANSWER have data.
 */
bool line_send(struct line *l, struct message *m)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = l->messages.lmr_context,
		.virtual_address = ADDR(m),
		.segment_length = HEAD,
	};
	DAT_DTO_COOKIE cookie = {
		.as_64 = ((unsigned char *)m - l->messages.buf) / MESSAGE,
	};

	if (m->type == ECHO || m->type == ANSWER)
		segment.segment_length += m->length;
	return posted(l, dat_ep_post_send(l->ep, 1, &segment, cookie,
					  DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send");
}

/**
 * line_complete - wait until a request or bind has completed
 * @l: the line
 * @cookie: of the request; requests complete in order
 * @length: that the completion must report, or 0 for any
 */
bool line_complete(struct line *l, DAT_UINT64 cookie, DAT_VLEN length)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *b;
	struct worker *w = l->worker;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_UINT64 found;
	DAT_EVENT event;

	if (!queue_take(w, &l->requests, &event, LIMIT)) {
		if (!is_lost(w))
			complain(w, "request %#llx does not complete in %d s, mode %d",
				 (unsigned long long)cookie, LIMIT, w->mode);
		return false;
	}
	d = &event.event_data.dto_completion_event_data;
	b = &event.event_data.rmr_completion_event_data;
	if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		found = b->user_cookie.as_64;
		status = b->status;
	} else {
		found = d->user_cookie.as_64;
		status = d->status;
	}
	if (found != cookie)
		complain(w, "request %#llx completes instead of %#llx", (unsigned long long)found,
			 (unsigned long long)cookie);
	if (status != DAT_DTO_SUCCESS) {
		l->failed = true;
		return false;
	}
	if (length && d->transfered_length != length)
		complain(w, "request %#llx has moved %llu bytes instead of %llu",
			 (unsigned long long)cookie, (unsigned long long)d->transfered_length,
			 (unsigned long long)length);
	return true;
}

/**
 * line_disconnect - disconnect, gracefully or not
 * @l: connected, or no longer
 */
bool line_disconnect(struct line *l)
{
	return posted(l, dat_ep_disconnect(l->ep, random_below(2) ? DAT_CLOSE_GRACEFUL_FLAG :
								    DAT_CLOSE_ABRUPT_FLAG),
		      "dat_ep_disconnect");
}

/**
 * line_end - end the connection and wait until nothing of it is left
 * @l: has been connected
 *
 * Return: false if the device is lost.
 */
bool line_end(struct line *l)
{
	struct worker *w = l->worker;
	DAT_EVENT_NUMBER number;

	line_disconnect(l);
	if (!line_await(l, &number))
		return false;
	if (number != DAT_CONNECTION_EVENT_DISCONNECTED && number != DAT_CONNECTION_EVENT_BROKEN)
		complain(w, "event %#x instead of the end of a connection", number);
	/* What an SRQ holds stays there. */
	while (l->posted && !l->srq) {
		unsigned int before = l->posted;

		line_receive(l, LIMIT);
		if (before == l->posted) {
			if (!is_lost(w))
				complain(w, "%u receives are not flushed, mode %d", before,
					 w->mode);
			return false;
		}
	}
	return true;
}

/**
 * line_close - free everything
 * @l: from line_open(); requests have completed
 */
void line_close(struct line *l)
{
	struct worker *w = l->worker;

	try_call(w, dat_ep_free(l->ep), "dat_ep_free");
	if (l->srq)
		try_call(w, dat_srq_free(l->srq), "dat_srq_free");
	memory_close(w, &l->range);
	memory_close(w, &l->messages);
	queue_close(w, &l->requests);
	queue_close(w, &l->receives);
	queue_close(w, &l->connection);
	try_call(w, dat_pz_free(l->pz), "dat_pz_free");
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * serve.c - a scenario: a service point, one connection, and a range that the visitor may use
 *
 * The visitor asks for a range and gets the context of an LMR or of an RMR that was bound to
 * it. It writes there and reads, and lets this side compare the data.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "process.h"
#include "soak.h"

/* Seconds without a request, or without a message, after which this side gives up */
#define PATIENCE	60

/* Numbers of service points of each slot, below those that the kernel assigns */
#define FIRST_QUAL	10000
#define QUALS_EACH	16

#define BIND		0x1000

/**
 * struct service - the service point and its connection
 * @line: the connection
 * @requests: connection requests
 * @sp: the PSP or RSP
 * @is_rsp: whether @sp is an RSP
 * @rmr: DAT_HANDLE_NULL if the visitor gets the context of the LMR
 * @context: of the range
 * @offset: of the range in line.range
 * @size: bytes of the range
 */
struct service {
	struct line line;
	struct queue requests;
	DAT_HANDLE sp;
	bool is_rsp;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
	size_t offset;
	size_t size;
};

static DAT_RETURN create_sp(struct worker *w, struct service *s, DAT_CONN_QUAL qual)
{
	if (s->is_rsp)
		return dat_rsp_create(w->ia, qual, s->line.ep, s->requests.evd, &s->sp);
	return dat_psp_create(w->ia, qual, s->requests.evd, DAT_PSP_CONSUMER_FLAG, &s->sp);
}

/* A number may belong for a while to a child that was killed. */
static bool listen_somewhere(struct worker *w, struct service *s)
{
	struct listener *listener = &board->listeners[w->slot];
	unsigned int qual = 0, i, first = random_below(QUALS_EACH);
	DAT_RETURN ret = DAT_CONN_QUAL_IN_USE;

	for (i = 0; i < QUALS_EACH && DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE; i++) {
		qual = FIRST_QUAL + w->slot * QUALS_EACH + (first + i) % QUALS_EACH;
		ret = create_sp(w, s, qual);
	}
	if (ret && !may_fail(w, ret))
		complain(w, "service point, RSP %d: %s", s->is_rsp, dat_str(ret));
	if (ret)
		return false;
	listener->ia = w->ia_index;
	__atomic_store_n(&listener->qual, qual, __ATOMIC_RELEASE);
	return true;
}

static void unlist(struct worker *w)
{
	__atomic_store_n(&board->listeners[w->slot].qual, 0, __ATOMIC_RELEASE);
}

/* The next request, or DAT_HANDLE_NULL */
static DAT_CR_HANDLE next_request(struct worker *w, struct service *s, double limit)
{
	double end = seconds() + limit;
	DAT_EVENT event;

	while (!queue_take(w, &s->requests, &event, 1))
		if (seconds() > end || is_stopping() || is_lost(w))
			return DAT_HANDLE_NULL;
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		complain(w, "event %#x instead of a request", event.event_number);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

static bool free_sp(struct worker *w, struct service *s)
{
	DAT_EVENT event;

	unlist(w);
	if (s->is_rsp)
		TRY(w, dat_rsp_free(s->sp));
	else
		TRY(w, dat_psp_free(s->sp));
	/* Requests that have arrived remain. */
	while (!dat_evd_dequeue(s->requests.evd, &event))
		TRY(w, dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	queue_close(w, &s->requests);
	return true;
}

/* Binds the RMR to a new range and fills the range. */
static bool open_range(struct service *s, DAT_UINT32 seed)
{
	struct line *l = &s->line;
	DAT_LMR_TRIPLET segment = { .lmr_context = l->range.lmr_context };
	DAT_RMR_COOKIE cookie = { .as_64 = BIND };
	DAT_RETURN ret;

	s->offset = 8 * random_below(l->range.len / 16);
	s->size = 8 * (1 + random_below(l->range.len / 16 - 1));
	s->context = l->range.rmr_context;
	fill(l->range.buf + s->offset, s->size, seed);
	if (!s->rmr)
		return true;
	segment.virtual_address = ADDR(l->range.buf) + s->offset;
	segment.segment_length = s->size;
	ret = dat_rmr_bind(s->rmr, &segment,
			   DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, l->ep,
			   cookie, DAT_COMPLETION_DEFAULT_FLAG, &s->context);
	if (ret) {
		l->failed = true;
		if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
			try_call(l->worker, ret, "dat_rmr_bind");
		return false;
	}
	if (!line_complete(l, BIND, 0))
		return false;
	count(BINDS, 1);
	return true;
}

/* Returns false if there is nothing to answer, or no connection any more. */
static bool answer(struct service *s, const struct message *m, struct message *reply)
{
	struct line *l = &s->line;
	size_t offset;

	*reply = (struct message){ .seed = m->seed + 1 };
	switch (m->type) {
	case ASK:
		if (!open_range(s, m->seed))
			return false;
		reply->type = HELLO;
		reply->context = s->context;
		reply->address = ADDR(l->range.buf) + s->offset;
		reply->size = s->size;
		return true;
	case ECHO:
		if (!is_filled(m->data, m->length, m->seed))
			complain(l->worker, "a message of %u bytes arrived with other data",
				 m->length);
		reply->type = ANSWER;
		reply->length = m->length;
		fill(reply->data, reply->length, reply->seed);
		return true;
	case CHECK:
		offset = m->address - ADDR(l->range.buf);
		if (offset < s->offset || offset + m->length > s->offset + s->size)
			complain(l->worker, "a check of %u bytes at %#zx", m->length, offset);
		if (!is_filled(l->range.buf + offset, m->length, m->seed))
			complain(l->worker, "an RDMA Write of %u bytes at %#zx is not there, %s",
				 m->length, offset, s->rmr ? "RMR" : "LMR");
		reply->type = CHECKED;
		return true;
	case BYE:
		return false;
	default:
		complain(l->worker, "message of type %#x", m->type);
	}
}

static void serve(struct service *s)
{
	struct line *l = &s->line;
	struct message *reply = line_outgoing(l, 0), *m;
	bool more;

	while (!l->failed && !is_lost(l->worker)) {
		m = line_receive(l, PATIENCE);
		if (!m)
			return;
		more = answer(s, m, reply);
		if (!line_repost(l, m) || !more || !line_send(l, reply) ||
		    !line_complete(l, RECV_SLOTS, 0))
			return;
	}
}

/* Returns false if the device is lost. */
static bool accept_one(struct worker *w, struct service *s, DAT_CR_HANDLE cr)
{
	struct line *l = &s->line;
	DAT_EVENT_NUMBER number;
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	TRY(w, dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	if (param.private_data_size < (DAT_COUNT)sizeof(DAT_UINT32) ||
	    memcmp(param.private_data, "soak", 4))
		complain(w, "private data of %d bytes", param.private_data_size);
	if (!random_below(16))
		return try_call(w, dat_cr_reject(cr), "dat_cr_reject");
	ret = dat_cr_accept(cr, s->is_rsp ? DAT_HANDLE_NULL : l->ep, 4, "SOAK");
	/* The peer may have given up. */
	if (ret) {
		if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE && !may_fail(w, ret))
			complain(w, "dat_cr_accept, RSP %d: %s", s->is_rsp, dat_str(ret));
		return false;
	}
	if (!line_await(l, &number))
		return false;
	if (number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return true;
	serve(s);
	return line_end(l);
}

/**
 * serve_run - serve one visitor
 * @w: the child
 */
bool serve_run(struct worker *w)
{
	struct service s = { .rmr = DAT_HANDLE_NULL };
	bool with_srq = !random_below(3), ok = false;
	DAT_CR_HANDLE cr;

	s.is_rsp = !random_below(3);
	if (!line_open(w, &s.line, with_srq) ||
	    !queue_open(w, &s.requests, 8, DAT_EVD_CR_FLAG))
		goto unmap;
	if (random_below(2) && !try_call(w, dat_rmr_create(s.line.pz, &s.rmr), "dat_rmr_create"))
		goto unmap;
	if (!listen_somewhere(w, &s))
		goto unmap;
	cr = next_request(w, &s, PATIENCE);
	if (cr && !accept_one(w, &s, cr))
		goto unmap;
	if (!free_sp(w, &s))
		goto unmap;
	if (s.rmr && !try_call(w, dat_rmr_free(s.rmr), "dat_rmr_free"))
		goto unmap;
	line_close(&s.line);
	ok = true;
unmap:
	unlist(w);
	/* After a failure the abrupt close of the IA frees the objects. */
	memory_unmap(&s.line.range);
	memory_unmap(&s.line.messages);
	return ok;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * visit.c - a scenario: connect to another child, exchange messages, write and read its memory
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "process.h"
#include "soak.h"

/* Exchanges of one connection */
#define MAX_STEPS	16

/*
 * So many children connect at a time. ib_cm takes requests one by one; if all children of a slow
 * host ask at once, each request is old when its turn comes, and no connection succeeds.
 */
#define MAX_VISITS	24

#define WRITE		0x2000
#define READ		0x3000
#define CHUNKS		3

/* The range of the peer that this side may use */
struct target {
	DAT_RMR_CONTEXT context;
	DAT_UINT64 address;
	size_t size;
};

/* Mostly a service point that no other child connects to at the moment. */
static const struct listener *choose(struct worker *w, bool *is_mine)
{
	unsigned int first = random_below(board->num_slots), i;
	bool any = !random_below(8);

	for (i = 0; i < board->num_slots; i++) {
		struct listener *l = &board->listeners[(first + i) % board->num_slots];
		unsigned int none = 0;

		if (!__atomic_load_n(&l->qual, __ATOMIC_ACQUIRE))
			continue;
		*is_mine = __atomic_compare_exchange_n(&l->visitor, &none, w->slot + 1, false,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		if (*is_mine || any)
			return l;
	}
	return NULL;
}

static unsigned int num_visits(void)
{
	unsigned int num = 0, i;

	for (i = 0; i < board->num_slots; i++)
		num += __atomic_load_n(&board->listeners[i].visits, __ATOMIC_RELAXED);
	return num;
}

/* Waits for its turn. Returns false if the child is to end, or the device is lost. */
static bool begin_visit(struct worker *w)
{
	while (num_visits() >= MAX_VISITS) {
		if (is_stopping() || is_lost(w))
			return false;
		usleep(100 * 1000 + random_below(200 * 1000));
	}
	__atomic_store_n(&board->listeners[w->slot].visits, true, __ATOMIC_RELAXED);
	return true;
}

static void end_visit(struct worker *w)
{
	__atomic_store_n(&board->listeners[w->slot].visits, false, __ATOMIC_RELAXED);
}

/* Returns false if there is no connection. */
static bool connect_to_listener(struct line *l, unsigned int ia, unsigned int qual)
{
	struct worker *w = l->worker;
	struct sockaddr_in address = { .sin_family = AF_INET };
	DAT_EVENT_NUMBER number;

	inet_pton(AF_INET, device_address(ia), &address.sin_addr);
	TRY(w, dat_ep_connect(l->ep, (DAT_IA_ADDRESS_PTR)&address, qual,
			      (20 + random_below(100)) * 1000 * 1000, 8, "soakdata",
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	if (!line_await(l, &number))
		return false;
	switch (number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		count(CONNECTED, 1);
		return true;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		count(REJECTED, 1);
		return false;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		count(UNANSWERED, 1);
		return false;
	default:
		complain(w, "event %#x after dat_ep_connect()", number);
	}
}

/* A peer may be busy, but its answer comes, or the connection ends. */
static struct message *await_reply(struct line *l, enum message_type type)
{
	struct message *m = line_receive(l, LIMIT);

	if (m && m->type != type)
		complain(l->worker, "message %#x instead of %#x", m->type, type);
	return m;
}

static bool echo(struct line *l)
{
	unsigned int num = 1 + random_below(SEND_SLOTS), i;
	DAT_UINT32 seed = random_below(1 << 30);

	for (i = 0; i < num; i++) {
		struct message *m = line_outgoing(l, i);

		m->type = ECHO;
		m->seed = seed + 2 * i;
		m->length = random_below(sizeof(m->data) + 1);
		fill(m->data, m->length, m->seed);
		if (!line_send(l, m))
			return false;
	}
	for (i = 0; i < num; i++)
		if (!line_complete(l, RECV_SLOTS + i, 0))
			return false;
	for (i = 0; i < num; i++) {
		struct message *m = await_reply(l, ANSWER);

		if (!m)
			return false;
		if (m->seed != seed + 2 * i + 1 || m->length != line_outgoing(l, i)->length ||
		    !is_filled(m->data, m->length, m->seed))
			complain(l->worker, "answer %u of %u has other data", i, num);
		count(MESSAGES, 2);
		count(BYTES, 2 * m->length);
		if (!line_repost(l, m))
			return false;
	}
	return true;
}

static bool move(struct line *l, const struct target *t, size_t offset, size_t len, bool is_read,
		 unsigned int i)
{
	DAT_LMR_TRIPLET segment = {
		.lmr_context = l->range.lmr_context,
		.virtual_address = ADDR(l->range.buf) + offset,
		.segment_length = len,
	};
	DAT_RMR_TRIPLET remote = {
		.rmr_context = t->context,
		.target_address = t->address + offset,
		.segment_length = len,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = (is_read ? READ : WRITE) + i };
	DAT_RETURN ret;

	if (is_read)
		ret = dat_ep_post_rdma_read(l->ep, 1, &segment, cookie, &remote,
					    DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_rdma_write(l->ep, 1, &segment, cookie, &remote,
					     DAT_COMPLETION_DEFAULT_FLAG);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		l->failed = true;
	else
		try_call(l->worker, ret, "dat_ep_post_rdma_*");
	return !ret;
}

/* Moves a range as several requests in flight at a time. */
static bool move_all(struct line *l, const struct target *t, size_t offset, size_t len,
		     bool is_read)
{
	size_t chunk = (len / CHUNKS + 8) & ~7UL, done;
	unsigned int num = 0, i;

	for (done = 0; done < len; done += chunk)
		if (!move(l, t, offset + done, len - done < chunk ? len - done : chunk, is_read,
			  num++))
			return false;
	for (i = 0; i < num; i++)
		if (!line_complete(l, (is_read ? READ : WRITE) + i, 0))
			return false;
	count(is_read ? READS : WRITES, num);
	count(BYTES, len);
	return true;
}

/* Asks for a range, and reads the data that the peer has filled it with. */
static bool ask(struct line *l, struct target *t)
{
	struct message *m = line_outgoing(l, 0);
	DAT_UINT32 seed = random_below(1 << 30);

	*m = (struct message){ .type = ASK, .seed = seed };
	if (!line_send(l, m) || !line_complete(l, RECV_SLOTS, 0))
		return false;
	m = await_reply(l, HELLO);
	if (!m)
		return false;
	*t = (struct target){
		.context = m->context,
		.address = m->address,
		.size = m->size < l->range.len ? m->size : l->range.len,
	};
	if (!line_repost(l, m) || !move_all(l, t, 0, t->size, true))
		return false;
	if (!is_filled(l->range.buf, t->size, seed))
		complain(l->worker, "a range of %zu bytes has other data", t->size);
	return true;
}

/* Writes, lets the peer compare, and reads back. */
static bool write_and_read(struct line *l, const struct target *t)
{
	size_t offset = 8 * random_below(t->size / 8);
	size_t len = 1 + random_below(t->size - offset);
	DAT_UINT32 seed = random_below(1 << 30);
	struct message *m = line_outgoing(l, 0);

	fill(l->range.buf + offset, len, seed);
	if (!move_all(l, t, offset, len, false))
		return false;
	if (random_below(2)) {
		*m = (struct message){
			.type = CHECK,
			.seed = seed,
			.address = t->address + offset,
			.length = len,
		};
		if (!line_send(l, m) || !line_complete(l, RECV_SLOTS, 0))
			return false;
		m = await_reply(l, CHECKED);
		if (!m || !line_repost(l, m))
			return false;
	}
	memset(l->range.buf + offset, 0, len);
	if (!move_all(l, t, offset, len, true))
		return false;
	if (!is_filled(l->range.buf + offset, len, seed))
		complain(l->worker, "an RDMA Read of %zu bytes has other data", len);
	return true;
}

static void talk(struct line *l)
{
	unsigned int steps = 1 + random_below(MAX_STEPS);
	struct message *m = line_outgoing(l, 0);
	struct target target;

	if (!ask(l, &target))
		return;
	while (steps-- && !is_stopping() && !is_lost(l->worker)) {
		switch (random_below(5)) {
		case 0:
		case 1:
			if (!echo(l))
				return;
			break;
		case 2:
			if (!ask(l, &target))
				return;
			break;
		default:
			if (!write_and_read(l, &target))
				return;
		}
	}
	/* Some children die with an open connection, by an exit. */
	if (!random_below(20))
		_exit(0);
	if (random_below(2)) {
		*m = (struct message){ .type = BYE };
		if (line_send(l, m))
			line_complete(l, RECV_SLOTS, 0);
	}
}

/**
 * visit_run - connect to another child
 * @w: the child
 *
 * Without a service point to connect to, this is a scenario of memory.
 */
bool visit_run(struct worker *w)
{
	bool is_mine = false, is_connected, ok = false;
	const struct listener *listener;
	struct listener *mine;
	unsigned int qual, ia;
	struct line l;

	if (!begin_visit(w))
		return false;
	listener = choose(w, &is_mine);
	if (!listener) {
		end_visit(w);
		return memory_run(w);
	}
	mine = is_mine ? (struct listener *)listener : NULL;
	qual = __atomic_load_n(&listener->qual, __ATOMIC_ACQUIRE);
	ia = listener->ia;
	if (!line_open(w, &l, !random_below(4)))
		goto unmap;
	is_connected = qual && connect_to_listener(&l, ia, qual);
	if (is_connected) {
		talk(&l);
		if (l.failed)
			count(BROKEN, 1);
		if (!line_end(&l))
			goto unmap;
	}
	if (is_lost(w))
		goto unmap;
	line_close(&l);
	ok = true;
unmap:
	if (mine)
		__atomic_store_n(&mine->visitor, 0, __ATOMIC_RELAXED);
	end_visit(w);
	memory_unmap(&l.range);
	memory_unmap(&l.messages);
	return ok;
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * compat_mpi.h - the lower half of the transport of compat_mpi.c: connections and flow control
 *
 * Only compat_mpi.c includes this file, which has its types and functions. Each rank calls the
 * functions from one thread.
 *
 * Two ranks have two lanes, each with an EP: one for small messages and for requests, one for
 * the data of large messages and what must not overtake it. Each lane is connected when it is
 * used first.
 *
 * Flow control: a sender needs a credit for each message, and messages return credits. A
 * CREDIT message needs none. At most two CREDIT messages are unprocessed at a time, because
 * each returns half of all credits; the receiver has two more buffers for them.
 */
#ifndef COMPAT_MPI_H
#define COMPAT_MPI_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>

/* An error ends the process, as MPI_Abort() does. */
#define COMPAT_FAILED	_exit(1)
#include "compat.h"

/* A power of two */
#ifndef RANKS
#define RANKS		64
#endif

#define EAGER		1024
#define CREDITS		6
#define RECVS		(CREDITS + 2)
#define SENDS		8
#define MESSAGE		(sizeof(struct header) + EAGER)
#define SPINS		16
/* A request and two connection events of each lane. Each EP adds its DTOs. */
#define QLEN		(3 * LANES * RANKS)

/* In microseconds. Only a program that hangs waits as long as that. */
#define HANG		(300 * 1000000U)

enum type { DATA, RTS, CTS, FIN, CREDIT };
enum { SMALL, BULK, LANES };

/* In front of each message. The requests are those of the sender and of the receiver. */
struct header {
	DAT_UINT32 type, tag, length, credits, rmr_context, pad;
	DAT_UINT64 send_request, recv_request, address;
};

/* A send or receive of the application, with the registration of its buffer */
struct request {
	struct request *next;
	int done;
	DAT_UINT32 tag, length;
	void *buf;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_TRIPLET target;
};

/* A message in a list: not sent yet, or received before its receive was posted */
struct message {
	struct message *next;
	struct request *write;
	struct header header;
	unsigned char data[EAGER];
};

/* What a rank tells whom it asks for a connection, in network order */
struct hello {
	DAT_UINT32 rank, lane;
};

struct slot {
	struct channel *channel;
	enum { RECV, SEND, WRITE } kind;
	int busy;
	unsigned char *buf;
	struct request *write;
};

/* An EP and its buffers */
struct channel {
	struct channel *next;
	int peer, lane, outstanding, closed, connected;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	struct slot slots[RECVS + 2 * SENDS];
	unsigned char buf[RECVS + SENDS][MESSAGE];
};

struct lane {
	enum { IDLE, CONNECTING, REJECTED, ACCEPTING, UP } state;
	struct channel *channel;
	struct message *queue;
	DAT_UINT32 credits, owed;
};

struct peer {
	struct lane lanes[LANES];
	struct message *unexpected;
	struct request *posted;
};

struct rank {
	int me, closing;
	DAT_COUNT qlen;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, evd;
	DAT_PSP_HANDLE psp;
	struct channel *channels;
	struct peer peers[RANKS];
	pthread_t thread;
};

/* What mpirun distributes */
struct world {
	struct { DAT_CONN_QUAL qual; struct sockaddr_in6 address; } ranks[RANKS];
};

static struct world *world;

/* Append to, or remove from, a list that is linked by next. */
#define APPEND(list, entry) do {					\
	__typeof__(list) *_end = &(list);				\
									\
	while (*_end)							\
		_end = &(*_end)->next;					\
	*_end = (entry);						\
} while (0)

static void *allocate(size_t size)
{
	void *p = calloc(1, size);

	REQUIRE(p);
	return p;
}

static DAT_RMR_CONTEXT register_memory(struct rank *r, void *buf, DAT_VLEN length,
				       DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_HANDLE *lmr,
				       DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN size;

	region.for_va = buf;
	CALL(dat_lmr_create(r->ia, DAT_MEM_TYPE_VIRTUAL, region, length, r->pz, privileges, lmr,
			    context, &rmr_context, &size, &address));
	return rmr_context;
}

static void post(struct channel *c, struct slot *slot, void *buf, DAT_VLEN length,
		 DAT_LMR_CONTEXT context)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = slot };
	DAT_LMR_TRIPLET iov = {
		.lmr_context = context,
		.virtual_address = (DAT_VADDR)(uintptr_t)buf,
		.segment_length = length,
	};

	c->outstanding++;
	slot->busy = 1;
	if (slot->kind == RECV)
		CALL(dat_ep_post_recv(c->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	else if (slot->kind == SEND)
		CALL(dat_ep_post_send(c->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	else
		CALL(dat_ep_post_rdma_write(c->ep, 1, &iov, cookie, &slot->write->target,
					    DAT_COMPLETION_DEFAULT_FLAG));
}

static struct channel *open_channel(struct rank *r, int peer, int lane)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = RECVS,
		.max_request_dtos = 2 * SENDS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct channel *c = allocate(sizeof(*c));
	int i;

	c->peer = peer;
	c->lane = lane;
	/* Each Send can have an RDMA Write before it. */
	r->qlen += RECVS + 2 * SENDS;
	CALL(dat_evd_resize(r->evd, r->qlen));
	CALL(dat_ep_create(r->ia, r->pz, r->evd, r->evd, r->evd, &attr, &c->ep));
	register_memory(r, c->buf, sizeof(c->buf), DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &c->lmr,
			&c->context);
	for (i = 0; i < RECVS + 2 * SENDS; i++) {
		struct slot *slot = &c->slots[i];

		slot->channel = c;
		slot->kind = i < RECVS ? RECV : i < RECVS + SENDS ? SEND : WRITE;
		slot->buf = slot->kind == WRITE ? NULL : c->buf[i];
		if (slot->kind == RECV)
			post(c, slot, slot->buf, MESSAGE, c->context);
	}
	APPEND(r->channels, c);
	r->peers[peer].lanes[lane].channel = c;
	r->peers[peer].lanes[lane].credits = CREDITS;
	return c;
}

static struct slot *free_slot(struct channel *c)
{
	int i;

	for (i = RECVS; i < RECVS + SENDS; i++)
		if (!c->slots[i].busy)
			return &c->slots[i];
	return NULL;
}

/* Posts messages as far as credits and slots allow, then returns credits if many are owed. */
static void drain(struct rank *r, struct lane *l)
{
	struct message credit = { .header.type = CREDIT }, *m;
	struct channel *c = l->channel;
	struct slot *slot;
	DAT_VLEN length;

	while (l->state == UP && (slot = free_slot(c))) {
		if (l->queue && l->credits) {
			m = l->queue;
			l->queue = m->next;
			l->credits--;
		} else if (l->owed >= CREDITS / 2 && !r->closing) {
			m = &credit;
		} else {
			return;
		}
		if (m->write) {
			slot[SENDS].write = m->write;
			post(c, &slot[SENDS], m->write->buf, m->write->length,
			     m->write->context);
		}
		m->header.credits = l->owed;
		l->owed = 0;
		length = m->header.type == DATA ? m->header.length : 0;
		memcpy(slot->buf, &m->header, sizeof(m->header));
		memcpy(slot->buf + sizeof(m->header), m->data, length);
		post(c, slot, slot->buf, sizeof(m->header) + length, c->context);
		if (m != &credit)
			free(m);
	}
}

static void enqueue(struct rank *r, int peer, const struct header *header, const void *data,
		    struct request *write)
{
	int lane = header->type == FIN ? BULK : SMALL;
	struct hello hello = { .rank = htonl(r->me), .lane = htonl(lane) };
	struct lane *l = &r->peers[peer].lanes[lane];
	struct message *m = allocate(sizeof(*m));

	m->header = *header;
	m->write = write;
	if (header->type == DATA && header->length)
		memcpy(m->data, data, header->length);
	APPEND(l->queue, m);
	if (l->state == IDLE) {
		l->state = CONNECTING;
		CALL(dat_ep_connect(open_channel(r, peer, lane)->ep,
				    (DAT_IA_ADDRESS_PTR)&world->ranks[peer].address,
				    world->ranks[peer].qual, HANG, sizeof(hello), &hello,
				    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	}
	drain(r, l);
}

/* The upper half: takes a message that has arrived. */
static void on_message(struct rank *r, int peer, struct message *m);

static void on_completion(struct rank *r, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct slot *slot = dto->user_cookie.as_ptr;
	struct channel *c = slot->channel;
	struct lane *l = &r->peers[c->peer].lanes[c->lane];
	struct message *m;

	REQUIRE(dto->ep_handle == c->ep && slot->busy);
	c->outstanding--;
	slot->busy = 0;
	if (dto->status != DAT_DTO_SUCCESS) {
		REQUIRE(dto->status == DAT_DTO_ERR_FLUSHED && (r->closing || !c->connected));
		return;
	}
	if (slot->kind == WRITE)
		slot->write->done = 1;
	if (slot->kind == RECV) {
		m = allocate(sizeof(*m));
		REQUIRE(dto->transfered_length >= sizeof(m->header));
		memcpy(&m->header, slot->buf, sizeof(m->header));
		memcpy(m->data, slot->buf + sizeof(m->header),
		       dto->transfered_length - sizeof(m->header));
		l->credits += m->header.credits;
		if (m->header.type != CREDIT)
			l->owed++;
		if (l->state == ACCEPTING)
			l->state = UP;
		/* The last barrier needs no more receives. */
		if (!r->closing)
			post(c, slot, slot->buf, MESSAGE, c->context);
		on_message(r, c->peer, m);
	}
	drain(r, l);
}

/* If two ranks connect one lane to each other at once, the request of the lower rank wins. */
static void on_connection_request(struct rank *r, DAT_CR_HANDLE cr)
{
	DAT_UINT32 from, lane;
	DAT_CR_PARAM param;
	struct hello hello;
	struct lane *l;

	CALL(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	REQUIRE(param.private_data_size >= (DAT_COUNT)sizeof(hello));
	memcpy(&hello, param.private_data, sizeof(hello));
	from = ntohl(hello.rank);
	lane = ntohl(hello.lane);
	REQUIRE(from < RANKS && from != (DAT_UINT32)r->me && lane < LANES);
	l = &r->peers[from].lanes[lane];
	if (l->state == UP || l->state == ACCEPTING ||
	    (l->state == CONNECTING && from > (DAT_UINT32)r->me)) {
		CALL(dat_cr_reject(cr));
		return;
	}
	l->state = ACCEPTING;
	CALL(dat_cr_accept(cr, open_channel(r, from, lane)->ep, 0, NULL));
}

static void on_connection(struct rank *r, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep)
{
	struct channel *c = r->channels;
	struct lane *l;

	while (c && c->ep != ep)
		c = c->next;
	REQUIRE(c);
	l = &r->peers[c->peer].lanes[c->lane];
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		REQUIRE(c == l->channel && !c->connected);
		c->connected = 1;
		/* On iWARP the side that has asked must send first. It has a message. */
		if (l->state == ACCEPTING)
			return;
		l->state = UP;
		drain(r, l);
		return;
	}
	REQUIRE(!c->closed);
	c->closed = 1;
	if (number == DAT_CONNECTION_EVENT_DISCONNECTED) {
		REQUIRE(r->closing && c->connected);
		return;
	}
	/* The request of the peer arrives soon, or has arrived. */
	REQUIRE(number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
		(number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED && r->closing));
	REQUIRE(c->peer < r->me);
	if (l->channel == c)
		l->state = REJECTED;
}

static void dispatch(struct rank *r, DAT_EVENT *event)
{
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		on_completion(r, &event->event_data.dto_completion_event_data);
	else if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		on_connection_request(r, event->event_data.cr_arrival_event_data.cr_handle);
	else
		on_connection(r, event->event_number,
			      event->event_data.connect_event_data.ep_handle);
}

/* Polls for a while, then waits. */
static void progress(struct rank *r)
{
	DAT_RETURN ret = DAT_QUEUE_EMPTY;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i;

	for (i = 0; i < SPINS && ret == DAT_QUEUE_EMPTY; i++)
		ret = dat_evd_dequeue(r->evd, &event);
	if (ret == DAT_QUEUE_EMPTY)
		ret = dat_evd_wait(r->evd, HANG, 1, &event, &nmore);
	CALL(ret);
	dispatch(r, &event);
}

#endif /* COMPAT_MPI_H */

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * host.c - a kdapl host under attack, its hostile peer raw, and a bystander
 *
 * Most functions return false, or an error, after they have printed what was unexpected.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "host.h"
#include "link.h"
#include "process.h"

#define HOSTILE		"/selftests/hostile/"

/* Of the bystander: bytes of each region, and of its window */
#define REGION		8192
#define PART		512

#define ALL		(DAT_MEM_PRIV_ALL_FLAG)

/* The user that the bystander is. Its group may open /dev/dat. */
#define NOBODY		65534

static bool complain(const char *what, int number)
{
	fprintf(stderr, "# %s: %#x\n", what, number);
	return false;
}

/* Is the memory of the window's LMR as the last Write has left it? */
static bool is_as_written(const struct region *b, unsigned char mark)
{
	return is_filled_with(b->buf, PART, 0xb0) && is_filled_with(b->buf + PART, PART, mark) &&
	       is_filled_with(b->buf + 2 * PART, REGION - 2 * PART, 0xb0);
}

/*
 * Returns false unless the memory is unchanged since the last call, and a message, a Write and
 * a Read of the bystander arrive unchanged.
 */
static bool bystander_works(struct pair *pair, struct region *local, struct region *a,
			    struct region *b, DAT_RMR_CONTEXT window)
{
	static unsigned char mark = 0x10;
	unsigned char *part = b->buf + PART;

	if (mark > 0x10 && !is_as_written(b, mark))
		return false;
	if (!carries(pair, pair->a.ep, pair->b.ep, local, b))
		return false;
	memset(b->buf, 0xb0, REGION);
	memset(a->buf, ++mark, REGION);
	if (write_status(pair, a, window, part, PART) != DAT_DTO_SUCCESS ||
	    !is_as_written(b, mark))
		return false;
	memset(a->buf, 0, REGION);
	return read_status(pair, a, window, part, PART) == DAT_DTO_SUCCESS &&
	       is_filled_with(a->buf, PART, mark);
}

/* Answers each byte with 'y' or 'n', until the test ends. */
static void bystander_run(int socket)
{
	struct region local, a, b;
	struct neighbour other;
	DAT_RMR_HANDLE rmr;
	struct pair pair;
	char c = 0;

	if (setuid(NOBODY) || pair_open_connected(&pair) ||
	    region_open(&pair, pair.a.pz, &local, REGION, LOCAL_RW) ||
	    regions_open(&pair, &a, &b, REGION, ALL) ||
	    dat_rmr_create(pair.b.pz, &rmr) ||
	    bind_window(rmr, &b, PART, PART, REMOTE_RW, pair.b.ep, 1,
			DAT_COMPLETION_DEFAULT_FLAG, &other.window) ||
	    wait_bind(pair.b.dto_evd, 1) != DAT_DTO_SUCCESS)
		_exit(1);
	other.local_context = local.lmr_context;
	other.lmr_context = b.lmr_context;
	other.rmr_context = b.rmr_context;
	other.address = ADDR(b.buf);
	if (write(socket, &other, sizeof(other)) != sizeof(other))
		_exit(1);
	while (read(socket, &c, 1) == 1) {
		c = bystander_works(&pair, &local, &a, &b, other.window) ? 'y' : 'n';
		if (write(socket, &c, 1) != 1)
			break;
	}
	pair_close(&pair);
	_exit(0);
}

static bool bystander_start(struct host *host)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return false;
	host->bystander = fork_child();
	if (!host->bystander) {
		close(sockets[0]);
		bystander_run(sockets[1]);
	}
	close(sockets[1]);
	host->bystander_socket = sockets[0];
	return read(sockets[0], &host->other, sizeof(host->other)) == sizeof(host->other);
}

/**
 * raw_start - start raw
 * @host: the host; @shared is not NULL if raw has run before
 */
bool raw_start(struct host *host)
{
	int sockets[2], memory = memfd_create("hostile", 0);

	if (memory < 0 || ftruncate(memory, RAW_MEMORY) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return false;
	if (host->shared)
		munmap(host->shared, RAW_MEMORY);
	host->shared = mmap(NULL, RAW_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (host->shared == MAP_FAILED)
		return false;
	host->raw = fork_child();
	if (!host->raw) {
		int socket = fcntl(sockets[1], F_DUPFD, 10), mem = fcntl(memory, F_DUPFD, 10);

		dup2(socket, RAW_SOCKET);
		dup2(mem, RAW_MEMORY_FD);
		close_range(RAW_MEMORY_FD + 1, ~0U, 0);
		/* libibverbs loads the driver from here. */
		setenv("RDMAV_DRIVERS", HOSTILE "lib/librxe:" HOSTILE "lib/libsiw", 1);
		execl(HOSTILE "raw", "raw", NULL);
		_exit(127);
	}
	close(sockets[1]);
	close(memory);
	host->raw_socket = sockets[0];
	return host->raw > 0;
}

/**
 * raw_kill - end raw with SIGKILL
 */
void raw_kill(struct host *host)
{
	kill_child(host->raw);
	close(host->raw_socket);
	host->raw = 0;
}

/**
 * raw_do - give an order and wait for the answer
 *
 * Return: false if the order has failed.
 */
bool raw_do(struct host *host, const struct raw_order *order, struct raw_answer *answer)
{
	if (send(host->raw_socket, order, sizeof(*order), MSG_NOSIGNAL) != sizeof(*order))
		return complain("raw takes no order", order->op);
	if (recv(host->raw_socket, answer, sizeof(*answer), 0) != sizeof(*answer))
		return complain("raw does not answer", order->op);
	return !answer->error || complain(strerror(answer->error), order->op);
}

/**
 * raw_order - give an order that needs no more than a connection
 */
bool raw_order(struct host *host, enum raw_op op, unsigned int conn)
{
	struct raw_order order = { .op = op, .conn = conn };
	struct raw_answer answer;

	return raw_do(host, &order, &answer);
}

/**
 * raw_status - wait for a completion of raw
 * @op: RAW_SENT or RAW_RECEIVED
 *
 * Return: enum ibv_wc_status, or RAW_NONE.
 */
int raw_status(struct host *host, enum raw_op op, unsigned int conn)
{
	struct raw_order order = { .op = op, .conn = conn };
	struct raw_answer answer = { .status = RAW_NONE };

	raw_do(host, &order, &answer);
	return answer.status;
}

/**
 * raw_event - wait for an event of rdma_cm that raw gets
 *
 * Return: enum rdma_cm_event_type, or RAW_NONE.
 */
int raw_event(struct host *host, unsigned int conn)
{
	struct raw_order order = { .op = RAW_EVENT, .conn = conn };
	struct raw_answer answer = { .event = RAW_NONE };

	raw_do(host, &order, &answer);
	return answer.event;
}

/**
 * raw_restart - end raw if it runs, and start it with a new good connection
 */
DAT_RETURN raw_restart(struct host *host)
{
	if (host->raw)
		raw_kill(host);
	if (wait_number(host->victims[GOOD].conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED) ||
	    !victim_close(host, GOOD) || !raw_start(host))
		return DAT_INTERNAL_ERROR;
	return victim_connect(host, GOOD);
}

static DAT_RETURN victim_evds(struct host *host, struct victim *victim)
{
	return dat_evd_create(host->pair.ia, 256, DAT_HANDLE_NULL,
			      DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &victim->dto_evd) ?:
	       dat_evd_create(host->pair.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			      &victim->conn_evd);
}

/**
 * inbox_of - where in the arena a receive buffer is
 */
size_t inbox_of(unsigned int conn, unsigned int recv)
{
	return INBOX_AT + (conn * RECVS + recv) * RECV_LEN;
}

/**
 * host_slot - the memory that raw uses for a connection
 */
unsigned char *host_slot(struct host *host, unsigned int conn)
{
	return host->shared + conn * RAW_SLOT;
}

/**
 * victim_open - create the EP of a connection, with receives; their cookies count from 0
 */
DAT_RETURN victim_open(struct host *host, unsigned int conn)
{
	struct victim *victim = &host->victims[conn];
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int i;

	if (!victim->dto_evd)
		ret = victim_evds(host, victim);
	ret = ret ?: dat_ep_create(host->pair.ia, host->pair.b.pz, victim->dto_evd,
				   victim->dto_evd, victim->conn_evd, NULL, &victim->ep);
	for (i = 0; i < host->recvs && !ret; i++)
		ret = post_recv(victim->ep, &host->arena, inbox_of(conn, i), RECV_LEN, i);
	return ret;
}

/**
 * victim_accept - accept the next request with the EP of a connection
 */
DAT_RETURN victim_accept(struct host *host, unsigned int conn)
{
	DAT_CR_HANDLE cr;

	return next_cr(&host->pair, &cr) ?:
	       dat_cr_accept(cr, host->victims[conn].ep, 0, NULL);
}

/**
 * victim_connect_as - let raw connect to a new EP
 * @how: RAW_CONNECT, but for the address
 */
DAT_RETURN victim_connect_as(struct host *host, const struct raw_order *how)
{
	struct raw_order order = *how;
	struct raw_answer answer;
	unsigned int conn = order.conn;
	DAT_RETURN ret = victim_open(host, conn);

	order.op = RAW_CONNECT;
	order.to = host->address;
	if (ret)
		return ret;
	if (!raw_do(host, &order, &answer))
		return DAT_INTERNAL_ERROR;
	ret = victim_accept(host, conn);
	if (ret)
		return ret;
	if (order.mtu && (raw_event(host, conn) != RDMA_CM_EVENT_CONNECT_RESPONSE ||
			  !raw_order(host, RAW_FINISH, conn)))
		return DAT_INTERNAL_ERROR;
	if (!order.mtu && raw_event(host, conn) != RDMA_CM_EVENT_ESTABLISHED)
		return DAT_INTERNAL_ERROR;
	return wait_number(host->victims[conn].conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/**
 * victim_connect - let raw connect to a new EP in the usual way
 */
DAT_RETURN victim_connect(struct host *host, unsigned int conn)
{
	struct raw_order order = { .conn = conn, .retries = 7, .rnr_retry = 7 };

	return victim_connect_as(host, &order);
}

/**
 * victim_flushed - wait until the receives of an EP have been flushed
 * @first: the first receive; earlier ones have completed
 */
bool victim_flushed(struct host *host, unsigned int conn, unsigned int first)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	unsigned int i;

	for (i = first; i < host->recvs; i++) {
		if (wait_event(host->victims[conn].dto_evd, &event))
			return complain("no completion of receive", i);
		dto = &event.event_data.dto_completion_event_data;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
		    dto->user_cookie.as_64 != i)
			return complain("another event instead of receive", i);
		if (dto->status != DAT_DTO_ERR_FLUSHED)
			return complain("status of a receive", dto->status);
	}
	return true;
}

/**
 * victim_broken - wait for the end that an error brings
 *
 * Return: false unless the event is BROKEN and the state DISCONNECTED.
 */
bool victim_broken(struct host *host, unsigned int conn)
{
	struct victim *victim = &host->victims[conn];

	if (wait_broken(victim->conn_evd))
		return complain("no end of connection", conn);
	return ep_state(victim->ep) == DAT_EP_STATE_DISCONNECTED ||
	       complain("state", ep_state(victim->ep));
}

/**
 * victim_accept_failed - wait for the end of an acceptance that raw does not confirm
 *
 * On iWARP the host is connected as soon as it has accepted.
 */
bool victim_accept_failed(struct host *host, unsigned int conn)
{
	DAT_EVD_HANDLE evd = host->victims[conn].conn_evd;
	DAT_EVENT event;

	if (wait_event(evd, &event))
		return complain("no end of acceptance", conn);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED && link_is_iwarp())
		return !wait_broken(evd);
	return event.event_number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR ||
	       complain("event", event.event_number);
}

/**
 * victim_close - free an EP and let raw close its end
 *
 * Events that are left are dropped.
 */
bool victim_close(struct host *host, unsigned int conn)
{
	struct victim *victim = &host->victims[conn];
	DAT_RETURN ret = dat_ep_free(victim->ep);
	DAT_EVENT event;

	victim->ep = DAT_HANDLE_NULL;
	while (!dat_evd_dequeue(victim->dto_evd, &event))
		;
	while (!dat_evd_dequeue(victim->conn_evd, &event))
		;
	return (!ret || complain("dat_ep_free", ret)) &&
	       (!host->raw || raw_order(host, RAW_CLOSE, conn));
}

/**
 * host_bind - bind a window on the good connection and wait
 */
DAT_RETURN host_bind(struct host *host, DAT_RMR_HANDLE rmr, size_t offset, size_t length,
		     DAT_MEM_PRIV_FLAGS privileges, DAT_RMR_CONTEXT *context)
{
	DAT_RETURN ret = bind_window(rmr, &host->arena, offset, length, privileges,
				     host->victims[GOOD].ep, 0xb1,
				     DAT_COMPLETION_DEFAULT_FLAG, context);

	if (!ret && wait_bind(host->victims[GOOD].dto_evd, 0xb1) != DAT_DTO_SUCCESS)
		ret = DAT_INTERNAL_ERROR;
	return ret;
}

/* No two neighbouring bytes are alike, and none equals the fillers of tests. */
static void arena_fill(struct host *host)
{
	size_t i;

	for (i = 0; i < ARENA_LEN; i++)
		host->arena.buf[i] = 1 + i % 61;
	memcpy(host->shadow, host->arena.buf, ARENA_LEN);
}

static DAT_RETURN open_memory(struct host *host)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VADDR address;
	DAT_VLEN size;
	DAT_RETURN ret;

	ret = region_open(&host->pair, host->pair.b.pz, &host->arena, ARENA_LEN, LOCAL_RW);
	if (ret)
		return ret;
	arena_fill(host);
	host->open.buf = host->arena.buf + OPEN_AT;
	host->open.len = OPEN_LEN;
	desc.for_va = host->open.buf;
	return dat_lmr_create(host->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc, OPEN_LEN,
			      host->pair.b.pz, ALL, &host->open.lmr, &host->open.lmr_context,
			      &host->open.rmr_context, &size, &address);
}

/**
 * host_unharmed - check what an attack must not change
 *
 * Return: false if a byte of the arena differs from the shadow, the good connection has
 * ended, or the bystander's connection does not work.
 */
bool host_unharmed(struct host *host)
{
	char c = '?';
	size_t i;

	for (i = 0; i < ARENA_LEN; i++) {
		if (host->arena.buf[i] != host->shadow[i]) {
			fprintf(stderr, "# arena[%zu] is %#x, not %#x\n", i,
				host->arena.buf[i], host->shadow[i]);
			return false;
		}
	}
	if (ep_state(host->victims[GOOD].ep) != DAT_EP_STATE_CONNECTED)
		return complain("state of the good connection",
				ep_state(host->victims[GOOD].ep));
	if (write(host->bystander_socket, "?", 1) != 1 ||
	    read(host->bystander_socket, &c, 1) != 1 || c != 'y')
		return complain("the bystander", c);
	return true;
}

static DAT_RETURN open_all(struct host *host)
{
	DAT_IA_ADDRESS_PTR address;
	DAT_RETURN ret;

	memset(host, 0, sizeof(*host));
	host->recvs = RECVS;
	host->shadow = malloc(ARENA_LEN);
	if (!host->shadow || !bystander_start(host) || !raw_start(host))
		return DAT_INTERNAL_ERROR;
	ret = pair_open(&host->pair) ?: ia_address(host->pair.ia, &address) ?:
	      open_memory(host);
	if (ret)
		return ret;
	memcpy(&host->address, address, sizeof(host->address));
	host->address.sin_port = htons(host->pair.qual);
	return victim_connect(host, GOOD) ?:
	       dat_rmr_create(host->pair.b.pz, &host->rmr) ?:
	       host_bind(host, host->rmr, WINDOW_AT, WINDOW_LEN, REMOTE_RW, &host->window) ?:
	       (host_unharmed(host) ? DAT_SUCCESS : DAT_INTERNAL_ERROR);
}

/**
 * host_close - end raw, the host and the bystander
 */
void host_close(struct host *host)
{
	if (host->raw)
		raw_kill(host);
	pair_close(&host->pair);
	if (host->bystander) {
		close(host->bystander_socket);
		waitpid(host->bystander, NULL, 0);
	}
	free(host->shadow);
}

/**
 * host_open - start the bystander, raw and the host, with the good connection
 * @host: to be filled in
 *
 * Return: DAT_SUCCESS; otherwise nothing is left open.
 */
DAT_RETURN host_open(struct host *host)
{
	DAT_RETURN ret = open_all(host);

	if (ret)
		host_close(host);
	return ret;
}

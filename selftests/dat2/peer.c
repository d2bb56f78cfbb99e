// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * peer.c - one of two processes that do with each other all that connected EPs can
 *
 * peer IA ADDRESS connects to ADDRESS; without it others connect. The other side
 * may run on another provider, and in another machine. It is built for DAT 2.0, and
 * asks for nothing that one of the providers might not have.
 */
#include <endian.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>

/* Both map what is no port to the same port. */
#define QUAL		((DAT_CONN_QUAL)7 << 35 | 0x3456)
#define SIZE		(256 * 1024)
#define SLOT		64
#define TIMEOUT		(30 * 1000 * 1000)
#define NUM_EVENTS	32
#define RECV_COOKIE	1

static const char question[] = "may I?", answer[] = "do", refusal[] = "no";

/* Where to, as the first message tells it; in the byte order of the network */
struct window {
	DAT_UINT64 address;
	DAT_UINT32 context;
	DAT_UINT32 __reserved;
};

static struct peer {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE dto_evd, conn_evd, cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
} peer;

/* Messages come to its first slot, and go from the second; then there are data. */
static unsigned char mem[2 * SLOT + 2 * SIZE] __attribute__((aligned(4096)));
#define RECV_AT		0
#define SEND_AT		SLOT
#define DATA_AT		(2 * SLOT)
#define BACK_AT		(2 * SLOT + SIZE)

static void call(DAT_RETURN ret, const char *what)
{
	const char *major = "", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	printf("FAILED: %s: %s %s\n", what, major, minor);
	exit(1);
}

static void must_be(bool is_so, const char *what)
{
	if (is_so)
		return;
	printf("FAILED: %s\n", what);
	exit(1);
}

static DAT_LMR_TRIPLET part(size_t offset, size_t len)
{
	DAT_LMR_TRIPLET iov = {
		.lmr_context = peer.lmr_context,
		.virtual_address = (uintptr_t)mem + offset,
		.segment_length = len,
	};

	return iov;
}

static void next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event, const char *what)
{
	DAT_COUNT more;

	call(dat_evd_wait(evd, TIMEOUT, 1, event, &more), what);
}

static void connection_event(DAT_EVENT_NUMBER number, DAT_EVENT *event,
			     const char *what)
{
	next_event(peer.conn_evd, event, what);
	if (event->event_number != number)
		printf("event %#x, not %#x\n", event->event_number, number);
	must_be(event->event_number == number, what);
}

/* The peer disconnects when it receives the last message, maybe before it is acknowledged. */
static bool may_be_flushed;

/* The cookie of the next completion */
static DAT_UINT64 any_completion(const char *what)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	next_event(peer.dto_evd, &event, what);
	dto = &event.event_data.dto_completion_event_data;
	must_be(event.event_number == DAT_DTO_COMPLETION_EVENT, what);
	must_be(dto->status == DAT_DTO_SUCCESS ||
		(may_be_flushed && dto->status == DAT_DTO_ERR_FLUSHED), what);
	return dto->user_cookie.as_64;
}

/* An answer can be there before it is known that the question has arrived. */
static void completion(DAT_UINT64 cookie, const char *what)
{
	static bool has_answer;
	DAT_UINT64 next;

	if (cookie == RECV_COOKIE && has_answer) {
		has_answer = false;
		return;
	}
	next = any_completion(what);
	if (next == RECV_COOKIE && cookie != RECV_COOKIE && !has_answer) {
		has_answer = true;
		next = any_completion(what);
	}
	must_be(next == cookie, what);
}

static void post_recv(void)
{
	DAT_LMR_TRIPLET iov = part(RECV_AT, SLOT);
	DAT_DTO_COOKIE cookie = { .as_64 = RECV_COOKIE };

	call(dat_ep_post_recv(peer.ep, 1, &iov, cookie,
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "post of a receive");
}

static void send_message(size_t len)
{
	DAT_LMR_TRIPLET iov = part(SEND_AT, len);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	call(dat_ep_post_send(peer.ep, 1, &iov, cookie,
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "post of a send");
	completion(2, "a send");
}

/* Private data may come with bytes behind it that nobody sent. */
static bool says(const DAT_PVOID data, DAT_COUNT size, const char *what)
{
	return data && size >= (DAT_COUNT)strlen(what) &&
	       !memcmp(data, what, strlen(what));
}

static void open_all(char *name)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION desc = { .for_va = mem };
	DAT_VADDR address;
	DAT_VLEN size;

	call(dat_ia_open(name, 8, &async_evd, &peer.ia), "dat_ia_open");
	call(dat_pz_create(peer.ia, &peer.pz), "dat_pz_create");
	call(dat_evd_create(peer.ia, NUM_EVENTS, DAT_HANDLE_NULL,
			    DAT_EVD_DTO_FLAG, &peer.dto_evd),
	     "dat_evd_create");
	call(dat_evd_create(peer.ia, NUM_EVENTS, DAT_HANDLE_NULL,
			    DAT_EVD_CONNECTION_FLAG, &peer.conn_evd),
	     "dat_evd_create");
	call(dat_evd_create(peer.ia, NUM_EVENTS, DAT_HANDLE_NULL,
			    DAT_EVD_CR_FLAG, &peer.cr_evd),
	     "dat_evd_create");
	call(dat_lmr_create(peer.ia, DAT_MEM_TYPE_VIRTUAL, desc, sizeof(mem),
			    peer.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			    &peer.lmr, &peer.lmr_context, &peer.rmr_context,
			    &size, &address),
	     "dat_lmr_create");
}

static void new_ep(void)
{
	call(dat_ep_create(peer.ia, peer.pz, peer.dto_evd, peer.dto_evd,
			   peer.conn_evd, NULL, &peer.ep),
	     "dat_ep_create");
}

static void connect_to(struct sockaddr *address)
{
	call(dat_ep_connect(peer.ep, address, QUAL, TIMEOUT, sizeof(question),
			    (DAT_PVOID)question, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG),
	     "dat_ep_connect");
}

static DAT_CR_HANDLE next_request(void)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	next_event(peer.cr_evd, &event, "a request");
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	call(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	must_be(says(param.private_data, param.private_data_size, question),
		"private data of a request");
	return cr;
}

static unsigned char byte_of(size_t i)
{
	return (unsigned char)(i * 31 + i / 251);
}

/* Writes data, reads them back, and tells the peer. */
static void write_and_read(void)
{
	DAT_LMR_TRIPLET from = part(DATA_AT, SIZE), to = part(BACK_AT, SIZE);
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };
	DAT_RMR_TRIPLET there = { .segment_length = SIZE };
	struct window window;
	size_t i;

	completion(RECV_COOKIE, "the peer's window");
	memcpy(&window, mem + RECV_AT, sizeof(window));
	there.virtual_address = be64toh(window.address);
	there.rmr_context = be32toh(window.context);
	for (i = 0; i < SIZE; i++)
		mem[DATA_AT + i] = byte_of(i);
	call(dat_ep_post_rdma_write(peer.ep, 1, &from, cookie, &there,
				    DAT_COMPLETION_DEFAULT_FLAG),
	     "post of an RDMA Write");
	completion(3, "an RDMA Write");
	call(dat_ep_post_rdma_read(peer.ep, 1, &to, cookie, &there,
				   DAT_COMPLETION_DEFAULT_FLAG),
	     "post of an RDMA Read");
	completion(3, "an RDMA Read");
	must_be(!memcmp(mem + DATA_AT, mem + BACK_AT, SIZE),
		"what was read is what was written");
	post_recv();
	send_message(1);
	completion(RECV_COOKIE, "the peer's last message");
}

/* Tells the peer where to write, and looks at what it has written. */
static void be_written(void)
{
	struct window window = {
		.address = htobe64((uintptr_t)mem + DATA_AT),
		.context = htobe32(peer.rmr_context),
	};
	size_t i;

	memcpy(mem + SEND_AT, &window, sizeof(window));
	send_message(sizeof(window));
	completion(RECV_COOKIE, "the peer's message");
	for (i = 0; i < SIZE; i++)
		must_be(mem[DATA_AT + i] == byte_of(i), "what was written");
	may_be_flushed = true;
	send_message(1);
}

static void ask(const char *where)
{
	struct addrinfo *info;
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;

	must_be(!getaddrinfo(where, NULL, NULL, &info), "address");
	new_ep();
	post_recv();
	connect_to(info->ai_addr);
	connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, &event,
			 "the connection");
	data = &event.event_data.connect_event_data;
	must_be(says(data->private_data, data->private_data_size, answer),
		"private data of the answer");
	write_and_read();
	call(dat_ep_disconnect(peer.ep, DAT_CLOSE_ABRUPT_FLAG),
	     "dat_ep_disconnect");
	connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, &event,
			 "the end of the connection");
	call(dat_ep_free(peer.ep), "dat_ep_free");

	new_ep();
	connect_to(info->ai_addr);
	connection_event(DAT_CONNECTION_EVENT_PEER_REJECTED, &event,
			 "a rejection");
	freeaddrinfo(info);
}

static void be_asked(void)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	call(dat_psp_create(peer.ia, QUAL, peer.cr_evd, DAT_PSP_CONSUMER_FLAG,
			    &peer.psp),
	     "dat_psp_create");
	printf("listening\n");
	fflush(stdout);
	new_ep();
	post_recv();
	cr = next_request();
	call(dat_cr_accept(cr, peer.ep, sizeof(answer), (DAT_PVOID)answer),
	     "dat_cr_accept");
	connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, &event,
			 "the connection");
	be_written();
	connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, &event,
			 "the end of the connection");
	call(dat_ep_free(peer.ep), "dat_ep_free");

	cr = next_request();
	call(dat_cr_reject(cr, sizeof(refusal), (DAT_PVOID)refusal),
	     "dat_cr_reject");
}

int main(int argc, char **argv)
{
	must_be(argc == 2 || argc == 3, "usage: peer IA [ADDRESS]");
	open_all(argv[1]);
	if (argc == 3)
		ask(argv[2]);
	else
		be_asked();
	call(dat_ia_close(peer.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	printf("PASSED\n");
	return 0;
}

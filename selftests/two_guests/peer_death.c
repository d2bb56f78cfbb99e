// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * peer_death.c - the guest that sees the other vanish
 *
 * Its writes go on until the server is killed. Then everything that was posted
 * must come to an end, and so must the connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <kselftest.h>

#include "counts.h"
#include "process.h"
#include "two_guests.h"

/* How often kdapl has the transport try again. */
#define RETRY_COUNT	6
/* No completion for so long: the server has gone, or is about to. */
#define STALL		(400 * 1000)
/* An emulated machine may stand still for seconds where others are busy, too. */
#define SLACK		10.0
/* The server has been killed by then, or never will be. */
#define TIMEOUT		120
#define WRITES		8
/* Small, so that no ACK is late on a slow machine. */
#define SIZE		(64 * 1024)
#define MAX_POSTED	65536
/* The index of a message that says nothing. */
#define NOTHING		(RECVS + SENDS - 1)

/* What is posted, and what has become of it; the cookie is the index. */
static struct posted {
	enum { WRITE, READ, SEND, RECV, BIND, NUM_KINDS } kind;
	int completions;
	int status;
} posted[MAX_POSTED];

static const char *const kinds[] = { "write", "read", "send", "recv", "bind" };

static unsigned int num_posted;
static struct host me;
static struct msg window;
static DAT_CONN_QUAL qual;
static double last_success;

/*
 * What the transport may take to find out: the time of one try, and of all the
 * others. rdma_cm takes RoCE's packet life time for granted: 18 in Linux 6.1,
 * 16 in 6.12; the timeout is twice that. The kernel's timers may be late by one
 * eighth.
 */
static double longest_retry(void)
{
	unsigned int exponent = 1 + (kernel_is_before(6, 12) ? 18 : 16);

	return (RETRY_COUNT + 1) * 4.096e-6 * (1UL << exponent) * 9 / 8;
}

static void post(int kind)
{
	DAT_EP_HANDLE ep = me.pair.a.ep;
	const struct region *slot = &me.slots[num_posted % SLOTS];
	const void *there = (void *)(uintptr_t)window.address;
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret;

	if (num_posted == MAX_POSTED)
		fail("the server is never killed");
	posted[num_posted].kind = kind;
	switch (kind) {
	case WRITE:
		ret = post_write(ep, slot, 0, window.size, window.context,
				 there, num_posted);
		break;
	case READ:
		ret = post_read(ep, slot, 0, window.size, window.context,
				there, num_posted);
		break;
	case SEND:
		ret = post_send(ep, &me.msgs, NOTHING * sizeof(struct msg),
				sizeof(struct msg), num_posted);
		break;
	case RECV:
		ret = post_recv(ep, &me.msgs, 0, sizeof(struct msg),
				num_posted);
		break;
	default:
		ret = bind_window(me.rmrs[num_posted % SLOTS], slot, 0, SIZE,
				  DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
				  num_posted, DAT_COMPLETION_DEFAULT_FLAG,
				  &context);
		break;
	}
	check(ret, kinds[kind]);
	num_posted++;
}

/* Takes note of a completion; returns what has completed. */
static struct posted *completed(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event->event_data.rmr_completion_event_data;
	bool is_bind = event->event_number == DAT_RMR_BIND_COMPLETION_EVENT;
	DAT_UINT64 cookie = is_bind ? bind->user_cookie.as_64 :
				    dto->user_cookie.as_64;
	struct posted *p;
	bool expected;

	/* Of before this began. */
	if (COOKIE_KIND(cookie))
		return NULL;
	if (cookie >= num_posted)
		fail("a completion of nothing");
	p = &posted[cookie];
	expected = p->kind == BIND;
	if (is_bind != expected)
		fail("a completion of another kind");
	p->completions++;
	p->status = is_bind ? bind->status : dto->status;
	return p;
}

/* Asks for a window that is there for good. */
static void get_window(void)
{
	struct msg ask = { .type = MSG_KEEP, .chunk = 1, .size = SIZE };
	DAT_UINT64 cookie;
	DAT_EVENT event;

	msg_send(&me, ask);
	do {
		check(wait_event(me.pair.a.dto_evd, &event), "no window");
		cookie = event.event_data.dto_completion_event_data
				 .user_cookie.as_64;
	} while (COOKIE_KIND(cookie) != COOKIE_RECV);
	window = msg_take(&me, COOKIE_INDEX(cookie));
	window.size = ask.size;
	((struct msg *)me.msgs.buf)[NOTHING].type = MSG_NOTHING;
}

/* Returns when something has failed. */
static void write_until_killed(void)
{
	double deadline = now() + TIMEOUT;
	unsigned int i, successes = 0;
	bool stalled = false;
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (i = 0; i < WRITES; i++) {
		post(RECV);
		post(WRITE);
	}
	while (now() < deadline) {
		DAT_RETURN ret = dat_evd_wait(me.pair.a.dto_evd, STALL, 1,
					      &event, &nmore);
		struct posted *p;

		if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED) {
			/*
			 * Behind the writes, so that nothing is done with them
			 * if the server has gone. If it is merely slow, there
			 * will be another stall.
			 */
			if (!stalled && successes >= 2 * WRITES) {
				post(BIND);
				post(READ);
				post(SEND);
			}
			stalled = true;
			continue;
		}
		check(ret, "dat_evd_wait");
		p = completed(&event);
		if (!p)
			continue;
		if (p->status && successes < 2 * WRITES)
			fail("status %d before the server was killed",
			     p->status);
		if (p->status)
			return;
		last_success = now();
		stalled = false;
		if (p->kind != WRITE)
			continue;
		post(WRITE);
		if (++successes == 2 * WRITES)
			printf("# ready: the server may vanish\n");
	}
	ksft_print_msg("nothing has failed after %d s\n", TIMEOUT);
}

static void test_broken_in_time(void)
{
	double bound = longest_retry(), took = -1;
	DAT_EVENT event = {};

	write_until_killed();
	if (!wait_event(me.pair.a.conn_evd, &event))
		took = now() - last_success;
	ksft_print_msg("BROKEN %.2f s after the last success; bound %.2f s + %.0f s\n",
		       took, bound, SLACK);
	ksft_test_result(event.event_number == DAT_CONNECTION_EVENT_BROKEN &&
			 took <= bound + SLACK,
			 "peer_death.peer_that_vanishes_breaks_the_connection_in_time\n");
}

static void test_every_dto_completes(void)
{
	unsigned int count[NUM_KINDS][3] = {};
	bool ok = true;
	DAT_EVENT event;
	DAT_COUNT nmore;
	unsigned int i;

	/* The first error is the last write's; what follows was flushed. */
	while (!dat_evd_wait(me.pair.a.dto_evd, 2 * 1000 * 1000, 1, &event,
			     &nmore))
		completed(&event);
	for (i = 0; i < num_posted; i++) {
		struct posted *p = &posted[i];

		if (p->completions != 1) {
			ksft_print_msg("%s %u completed %d times\n",
				       kinds[p->kind], i, p->completions);
			ok = false;
		} else {
			count[p->kind][p->status < 2 ? p->status : 2]++;
		}
	}
	for (i = 0; i < NUM_KINDS; i++) {
		ksft_print_msg("%s: %u succeeded, %u flushed, %u failed\n",
			       kinds[i], count[i][0], count[i][1], count[i][2]);
		/* Else there was nothing to see. */
		if (count[i][1] + count[i][2] == 0)
			ok = false;
	}
	ksft_test_result(ok, "peer_death.every_dto_completes_once\n");
}

static DAT_EVENT_NUMBER connect_again(DAT_IA_ADDRESS_PTR server,
				      DAT_TIMEOUT timeout)
{
	double start = now();
	DAT_EVENT event = {};
	DAT_RETURN ret;

	ret = dat_ep_connect(me.pair.a.ep, server, qual, timeout, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (!ret)
		ret = wait_event(me.pair.a.conn_evd, &event);
	ksft_print_msg("a new connection: %s, event %#x after %.2f s\n",
		       dat_str(ret), event.event_number, now() - start);
	return event.event_number;
}

static void test_connect_again(DAT_IA_ADDRESS_PTR server)
{
	DAT_EVENT_NUMBER number;

	/* As long as its MAC address is known, nothing but the clock tells. */
	host_new_ep(&me);
	number = connect_again(server, 3 * 1000 * 1000);
	ksft_test_result(number == DAT_CONNECTION_EVENT_TIMED_OUT ||
			 number == DAT_CONNECTION_EVENT_UNREACHABLE,
			 "peer_death.connecting_to_the_dead_times_out\n");

	host_new_ep(&me);
	if (system("ip neigh flush dev eth0"))
		fail("ip neigh flush does not work");
	number = connect_again(server, DAT_TIMEOUT_INFINITE);
	ksft_test_result(number == DAT_CONNECTION_EVENT_UNREACHABLE,
			 "peer_death.dead_without_a_mac_address_are_unreachable\n");
}

/**
 * peer_death_run - keep the server busy until it is killed, then look around
 * @server: its address
 * @where: and its connection qualifier
 */
void peer_death_run(DAT_IA_ADDRESS_PTR server, DAT_CONN_QUAL where)
{
	ksft_set_plan(5);
	qual = where;
	host_open(&me);
	client_connect(&me, server, qual);
	get_window();

	test_broken_in_time();
	test_every_dto_completes();
	test_connect_again(server);

	host_close(&me);
	ksft_print_msg("%lld pages are pinned\n", pinned_pages());
	ksft_test_result(!pinned_pages(),
			 "peer_death.everything_is_freed_and_nothing_pinned\n");
	ksft_finished();
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * two_guests.c - a program for each of two guests
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <kselftest.h>

#include "counts.h"
#include "two_guests.h"

static void move(struct host *host, enum msg_type op, unsigned long kib,
		 unsigned int size, bool apart)
{
	double start = now(), took;

	client_move(host, op, kib * 1024 / size, size, apart);
	took = now() - start;
	ksft_print_msg("%lu KiB in chunks of %u: %.1f s, %.1f MiB/s\n", kib,
		       size / 1024, took, kib / 1024 / took);
	ksft_test_result_pass("client.%s_%lu_KiB_and_all_compared\n",
			      op == MSG_WRITE ? "wrote" : "read", kib);
}

static void client_run(DAT_IA_ADDRESS_PTR server, DAT_CONN_QUAL qual,
		       unsigned long kib, unsigned int size, bool apart)
{
	static struct host me;

	ksft_set_plan(3);
	host_open(&me);
	client_connect(&me, server, qual);
	move(&me, MSG_WRITE, kib, size, false);
	move(&me, MSG_READ, kib, size, apart);
	msg_send(&me, (struct msg){ .type = MSG_BYE });
	check(dat_ep_disconnect(me.pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG),
	      "dat_ep_disconnect");
	check(wait_number(me.pair.a.conn_evd,
			  DAT_CONNECTION_EVENT_DISCONNECTED), "the end");
	host_close(&me);
	ksft_test_result_pass("client.disconnected_and_freed_everything\n");
	ksft_finished();
}

/* The queue itself is there already, see stages.sh. */
static void wire_loses(unsigned int percent)
{
	char text[80];

	snprintf(text, sizeof(text),
		 "tc qdisc change dev eth0 root netem limit 4000 loss %u%%",
		 percent);
	if (system(text))
		fail("%s does not work", text);
}

/* Takes leave while nothing gets through, and is gone when something does. */
static void leaver_run(DAT_IA_ADDRESS_PTR server, DAT_CONN_QUAL qual)
{
	static struct host me;
	DAT_EVENT event;

	ksft_set_plan(1);
	host_open(&me);
	client_connect(&me, server, qual);
	msg_send(&me, (struct msg){ .type = MSG_BYE });
	check(wait_event(me.pair.a.dto_evd, &event), "a send");
	wire_loses(100);
	host_close(&me);
	usleep(500 * 1000);
	wire_loses(0);
	/* The server says whether it has heard. */
	ksft_test_result_pass("leaver.freed_everything_on_a_dead_wire\n");
	ksft_finished();
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	DAT_IA_ADDRESS_PTR server = (DAT_IA_ADDRESS_PTR)&addr;
	DAT_CONN_QUAL qual;

	/* What is said must be out when the other guest is killed. */
	setlinebuf(stdout);
	if (argc == 2 && !strcmp(argv[1], "pinned")) {
		printf("%lld\n", pinned_pages());
		return 0;
	}
	if (argc < 3)
		goto usage;
	qual = strtoul(argv[2], NULL, 0);
	if (!strcmp(argv[1], "server")) {
		server_run(qual);
		return 0;
	}
	if (argc < 4 || inet_pton(AF_INET, argv[3], &addr.sin_addr) != 1)
		goto usage;
	if (argc == 4 && !strcmp(argv[1], "peer-death"))
		peer_death_run(server, qual);
	else if (argc == 4 && !strcmp(argv[1], "leaver"))
		leaver_run(server, qual);
	else if (argc >= 6 && !strcmp(argv[1], "client"))
		client_run(server, qual, strtoul(argv[4], NULL, 0),
			   strtoul(argv[5], NULL, 0) * 1024, argc > 6);
usage:
	fprintf(stderr, "usage: two_guests server QUALIFIER\n"
			"       two_guests client QUALIFIER ADDRESS KIB KIB_PER_CHUNK [apart]\n"
			"       two_guests leaver QUALIFIER ADDRESS\n"
			"       two_guests peer-death QUALIFIER ADDRESS\n"
			"       two_guests pinned\n");
	return 2;
}

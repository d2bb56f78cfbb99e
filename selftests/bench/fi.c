// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fi.c - what messages of libfabric cost, with the provider kdapl or verbs
 *
 * fi PROVIDER ADDRESS: prints lines as bench.c does. One thread has both ends, so no figure has
 * the wait of another thread in it. "fi-pingpong-64" is a round of two messages with their
 * receives, "fi-pingpong-more-64" the same with FI_MORE for each receive, "fi-write-64-x16" a batch
 * of RDMA Writes with FI_MORE, "fi-write-1M" one Write.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fi/fi_pair.h"
#include "many.h"

#define LARGE	(1 << 20)
#define BATCH	16

static struct fi_pair pair;

static void must(ssize_t ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-ret));
	exit(1);
}

/* Takes completions of @end without a system call until there are @num. */
static void take(struct fi_end *end, ssize_t num)
{
	struct fi_cq_data_entry entries[BATCH];
	ssize_t ret;

	while (num) {
		ret = fi_cq_read(end->cq, entries, num < BATCH ? (size_t)num : BATCH);
		if (ret == -FI_EAGAIN)
			continue;
		must(ret < 0 ? ret : 0, "fi_cq_read");
		num -= ret;
	}
}

static void half(struct fi_end *from, struct fi_end *to)
{
	must(recv_to(to, 4096, 64, 1), "fi_recv");
	must(send_from(from, 0, 64, 2), "fi_send");
	take(from, 1);
	take(to, 1);
}

static void pingpong(void)
{
	half(&pair.a, &pair.b);
	half(&pair.b, &pair.a);
}

/* The receive for the answer waits for the message, so both are posted together. */
static void ask_for_answer(struct fi_end *from, struct fi_end *to)
{
	struct iovec iov = { .iov_base = from->buf + 4096, .iov_len = 64 };
	void *desc = fi_mr_desc(from->mr);
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };

	must(fi_recvmsg(from->ep, &msg, FI_MORE), "fi_recvmsg");
	must(send_from(from, 0, 64, 2), "fi_send");
	take(from, 1);
	take(to, 1);
}

static void pingpong_more(void)
{
	ask_for_answer(&pair.a, &pair.b);
	ask_for_answer(&pair.b, &pair.a);
}

static void write_some(size_t len, unsigned int num)
{
	struct iovec iov = { .iov_base = pair.a.buf, .iov_len = len };
	struct fi_rma_iov to = { (uintptr_t)pair.b.buf, len, fi_mr_key(pair.b.mr) };
	void *desc = fi_mr_desc(pair.a.mr);
	struct fi_msg_rma msg = { &iov, &desc, 1, 0, &to, 1, NULL, 0 };
	unsigned int i;

	for (i = 1; i <= num; i++)
		must(fi_writemsg(pair.a.ep, &msg, FI_COMPLETION | (i < num ? FI_MORE : 0)),
		     "fi_writemsg");
	take(&pair.a, num);
}

static void write_batch(void)
{
	write_some(64, BATCH);
}

static void write_large(void)
{
	write_some(LARGE, 1);
}

static void measure(const char *name, void (*once)(void), unsigned int times)
{
	unsigned int i;
	double start;

	if (getenv("BENCH_SMOKE"))
		times = 1;
	for (i = 0; i < times / 4 + 1; i++)
		once();
	start = many_now();
	for (i = 0; i < times; i++)
		once();
	printf("%s %.0f\n", name, 1000 * (many_now() - start) / times);
	fflush(stdout);
}

/* The endpoint that connects: the provider for verbs wants to know its peer from the start. */
static void open_active(const char *node)
{
	const struct sockaddr_in *in = (const void *)&pair.address;
	struct fi_info *info;
	char service[8];

	snprintf(service, sizeof(service), "%u", ntohs(in->sin_port));
	must(fi_getinfo(FI_VERSION(1, 17), node, service, 0, pair.hints, &info), "fi_getinfo");
	must(open_ep(&pair, &pair.a, info), "fi_endpoint");
	fi_freeinfo(info);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: fi kdapl|verbs ADDRESS\n");
		return 2;
	}
	fi_pair_provider = argv[1];
	fi_pair_node = argv[2];
	fi_pair_size = LARGE;
	pair.hints = fi_pair_hints();
	must(fi_pair_open(&pair), "fi_pair_open");
	open_active(argv[2]);
	must(fi_pair_connect(&pair), "fi_connect");
	measure("fi-pingpong-64", pingpong, 1000);
	must(recv_to(&pair.b, 4096, 64, 1), "fi_recv");
	measure("fi-pingpong-more-64", pingpong_more, 1000);
	measure("fi-write-64-x16", write_batch, 200);
	measure("fi-write-1M", write_large, 8);
	must(fi_pair_close(&pair), "fi_close");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dat-perf.c - measures latency, bandwidth and rate between two hosts
 *
 * The server does what a client asks for. A client connects once for each size.
 */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "dat-perf.h"
#ifndef DAT_PERF_DAT2
#include <dat/version.h>
#endif

#define DEFAULT_PORT	18516
#define MAX_SIZES	32

const char *const test_names[NUM_TESTS] = { "lat", "bw", "rate" };
const char *const op_names[NUM_OPS] = { "send", "write", "read" };

static const uint32_t default_sizes[NUM_TESTS] = { 64, 65536, 64 };
static const uint32_t default_iterations[NUM_TESTS] = { 1000, 1000, 10000 };
static const uint32_t default_depths[NUM_TESTS] = { 1, 16, 64 };

/**
 * struct options - the command line
 * @client: a test is named; else this is the server
 * @job: the test, with the size of none of its jobs
 * @sizes: the sizes
 * @num_sizes: how many
 * @host: the server; the client's
 * @ia: name of the IA, or NULL
 * @port: the connection qualifier
 * @plot: file for a plot, or NULL
 * @json: print JSON
 * @poll: poll for completions
 * @once: the server ends after one client
 */
struct options {
	bool client;
	struct job job;
	uint32_t sizes[MAX_SIZES];
	unsigned int num_sizes;
	const char *host;
	const char *ia;
	uint16_t port;
	const char *plot;
	bool json;
	bool poll;
	bool once;
};

static void print_usage(FILE *to)
{
	fputs("usage: dat-perf [--ia IA] [--port PORT] [--poll] [--once]     a server\n"
	      "       dat-perf lat|bw|rate [OPTION]... HOST                  a client\n"
	      "options of a client:\n"
	      "  --op send|write|read   the operation; write by default, send for lat\n"
	      "  --size BYTES,...       sizes; FROM-TO is FROM and what is twice as much, up to TO\n"
	      "  --iterations NUMBER    operations to measure, for each size\n"
	      "  --depth NUMBER         operations outstanding at once, for bw and rate\n"
	      "  --poll                 poll for completions instead of sleeping\n"
	      "  --ia IA                name of the IA; the first by default\n"
	      "  --port PORT            connection qualifier, 18516 by default\n"
	      "  --json                 print JSON instead of a table\n"
	      "  --plot FILE.svg        draw the results\n", to);
}

static void __attribute__((noreturn)) misused(const char *what, const char *value)
{
	fprintf(stderr, "dat-perf: %s: %s; see dat-perf --help\n", what, value);
	exit(2);
}

/* A number, with K or M for 1024 or its square; *@rest is what follows it. */
static uint32_t number(const char *text, char **rest, uint32_t max, const char *what)
{
	unsigned long long value;

	errno = 0;
	value = strtoull(text, rest, 10);
	if (*rest == text || errno || *text == '-')
		misused(what, text);
	if (**rest == 'K' || **rest == 'M') {
		value = value > max ? 0 : value << (**rest == 'K' ? 10 : 20);
		++*rest;
	}
	if (!value || value > max)
		misused(what, text);
	return value;
}

static uint32_t whole(const char *text, uint32_t max, const char *what)
{
	uint32_t value;
	char *rest;

	value = number(text, &rest, max, what);
	if (*rest)
		misused(what, text);
	return value;
}

static void add_sizes(struct options *o, const char *text)
{
	const char *begin = text;
	uint64_t from, to;
	char *rest;

	do {
		from = number(begin, &rest, MAX_SIZE, "--size");
		to = from;
		if (*rest == '-')
			to = number(rest + 1, &rest, MAX_SIZE, "--size");
		if ((*rest && *rest != ',') || to < from)
			misused("--size", text);
		for (; from <= to; from *= 2) {
			if (o->num_sizes == MAX_SIZES)
				misused("--size", "too many");
			o->sizes[o->num_sizes++] = from;
		}
		begin = rest + 1;
	} while (*rest);
}

/* The index of a name, or -1 */
static int find(const char *name, const char *const *names, int num)
{
	int i;

	for (i = 0; i < num; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

static void complete(struct options *o)
{
	struct job *job = &o->job;

	if (!o->num_sizes)
		o->sizes[o->num_sizes++] = default_sizes[job->test];
	if (!job->iterations)
		job->iterations = default_iterations[job->test];
	if (job->test == LAT && job->depth > 1)
		misused("--depth", "lat has one operation outstanding");
	if (!job->depth)
		job->depth = default_depths[job->test];
	if ((int)job->op < 0)
		job->op = job->test == LAT ? SEND : WRITE;
}

enum {
	OPT_OP = 1, OPT_SIZE, OPT_ITERATIONS, OPT_DEPTH, OPT_POLL, OPT_IA, OPT_PORT,
	OPT_JSON, OPT_PLOT, OPT_ONCE, OPT_VERSION,
};

static const struct option long_options[] = {
	{ "op", required_argument, NULL, OPT_OP },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "iterations", required_argument, NULL, OPT_ITERATIONS },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "poll", no_argument, NULL, OPT_POLL },
	{ "ia", required_argument, NULL, OPT_IA },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{}
};

static void take_option(struct options *o, int c)
{
	int op;

	switch (c) {
	case OPT_OP:
		op = find(optarg, op_names, NUM_OPS);
		if (op < 0)
			misused("--op", optarg);
		o->job.op = op;
		break;
	case OPT_SIZE:
		add_sizes(o, optarg);
		break;
	case OPT_ITERATIONS:
		o->job.iterations = whole(optarg, MAX_ITERATIONS, "--iterations");
		break;
	case OPT_DEPTH:
		o->job.depth = whole(optarg, MAX_DEPTH, "--depth");
		break;
	case OPT_POLL:
		o->poll = true;
		break;
	case OPT_IA:
		o->ia = optarg;
		break;
	case OPT_PORT:
		o->port = whole(optarg, UINT16_MAX, "--port");
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case OPT_PLOT:
		o->plot = optarg;
		break;
	case OPT_ONCE:
		o->once = true;
		break;
	case OPT_VERSION:
#ifdef DAT_PERF_DAT2
		puts("dat-perf for DAT 2.0");
#else
		puts("dat-perf " DAT_KDAPL_VERSION);
#endif
		exit(0);
	case 'h':
		print_usage(stdout);
		exit(0);
	default:
		print_usage(stderr);
		exit(2);
	}
}

static bool is_client_only(int c)
{
	return c != OPT_IA && c != OPT_PORT && c != OPT_POLL && c != OPT_ONCE;
}

static void parse(struct options *o, int argc, char **argv)
{
	bool only_client = false;
	int c, test;

	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		take_option(o, c);
		only_client |= is_client_only(c);
	}
	if (optind == argc) {
		if (only_client)
			misused("only a client takes this option", "name a test and a host");
		return;
	}
	test = find(argv[optind], test_names, NUM_TESTS);
	if (test < 0)
		misused("no such test", argv[optind]);
	if (optind + 2 != argc)
		misused("a client needs one host", argv[optind]);
	if (o->once)
		misused("only a server takes this option", "--once");
	o->client = true;
	o->job.test = test;
	o->host = argv[optind + 1];
	complete(o);
}

static bool resolve(const char *host, struct sockaddr_storage *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int err = getaddrinfo(host, NULL, &hints, &list);

	if (err) {
		fprintf(stderr, "dat-perf: %s: %s\n", host, gai_strerror(err));
		return false;
	}
	memcpy(address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return true;
}

static bool run_sizes(const struct options *o, struct end *end, struct result *results)
{
	struct sockaddr_storage server;
	unsigned int i;
	bool ok = true;

	if (!resolve(o->host, &server))
		return false;
	report_begin(o->json);
	for (i = 0; i < o->num_sizes && ok; i++) {
		results[i].job = o->job;
		results[i].job.size = o->sizes[i];
		ok = end_connect(end, &results[i].job, (struct sockaddr *)&server, o->port) &&
		     run_client(end, &results[i]) && end_disconnect(end);
		end_drop(end);
		if (ok)
			report_result(&results[i], o->json, !i);
	}
	report_end(o->json);
	return ok && (!o->plot || plot(o->plot, results, o->num_sizes));
}

static bool client(const struct options *o, struct end *end)
{
	static struct result results[MAX_SIZES];
	unsigned int i;
	bool ok = run_sizes(o, end, results);

	for (i = 0; i < o->num_sizes; i++)
		free(results[i].ns);
	return ok;
}

static void tell(const struct job *job, const struct sockaddr_storage *peer)
{
	char address[INET6_ADDRSTRLEN] = "?";
	const void *bytes;

	if (peer->ss_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)peer)->sin6_addr;
	else
		bytes = &((const struct sockaddr_in *)peer)->sin_addr;
	inet_ntop(peer->ss_family, bytes, address, sizeof(address));
	printf("%s %s, %u bytes, for %s\n", test_names[job->test], op_names[job->op], job->size,
	       address);
	fflush(stdout);
}

static bool serve(const struct options *o, struct end *end)
{
	struct sockaddr_storage peer;
	struct job job;
	bool ok;

	if (!end_listen(end, o->port))
		return false;
	printf("dat-perf listens on port %u\n", o->port);
	fflush(stdout);
	do {
		ok = end_accept(end, &job, &peer);
		if (ok) {
			tell(&job, &peer);
			ok = run_server(end, &job) && end_disconnect(end);
		}
		end_drop(end);
	} while (!o->once);
	return ok;
}

int main(int argc, char **argv)
{
	struct options o = { .port = DEFAULT_PORT, .job.op = -1 };
	struct end end = {};
	bool ok;

	parse(&o, argc, argv);
	end.poll = o.poll;
	ok = end_open(&end, o.ia) && (o.client ? client(&o, &end) : serve(&o, &end));
	if (end.ia)
		dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG);
	if (fflush(stdout) || ferror(stdout))
		ok = complain("the output cannot be written");
	return ok ? 0 : 1;
}

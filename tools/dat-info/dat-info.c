// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dat-info.c - shows the IAs of this machine, and who has what open
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>
#include <dat/version.h>

#include "check.h"

#define OPEN_FILES	"/sys/kernel/debug/kdapl/files"

/**
 * explain - a DAT_RETURN as text, in a buffer that the next call overwrites
 * @ret: the value
 */
const char *explain(DAT_RETURN ret)
{
	const char *major = "?", *minor = "?";
	static char text[256];

	dat_strerror(ret, &major, &minor);
	if (DAT_GET_SUBTYPE(ret) == DAT_NO_SUBTYPE)
		return major;
	snprintf(text, sizeof(text), "%s (%s)", major, minor);
	return text;
}

static void usage(FILE *to)
{
	fputs("usage: dat-info [-v] [IA...]   the IAs, with -v all of their limits\n"
	      "       dat-info --check IA     does the IA do what it should? A report to send\n"
	      "       dat-info -o             who has /dev/dat open, and what\n"
	      "       dat-info --version      the version, and the tested kernels\n",
	      to);
}

static const char *address(const struct sockaddr *sa)
{
	static char text[INET6_ADDRSTRLEN];
	const void *bytes;

	if (!sa)
		return "none";
	if (sa->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	else
		bytes = &((const struct sockaddr_in *)sa)->sin_addr;
	return inet_ntop(sa->sa_family, bytes, text, sizeof(text)) ?: "?";
}

static void number(const char *name, unsigned long long value)
{
	printf("\t%-32s %llu\n", name, value);
}

static void yes_no(const char *name, DAT_BOOLEAN value)
{
	printf("\t%-32s %s\n", name, value ? "yes" : "no");
}

/**
 * show_limits - print the limits of an IA
 * @a: its attributes
 * @p: attributes of its provider
 */
void show_limits(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p)
{
	number("max_eps", a->max_eps);
	number("max_dto_per_ep", a->max_dto_per_ep);
	number("max_rdma_read_per_ep_in", a->max_rdma_read_per_ep_in);
	number("max_rdma_read_per_ep_out", a->max_rdma_read_per_ep_out);
	number("max_evds", a->max_evds);
	number("max_evd_qlen", a->max_evd_qlen);
	number("max_iov_segments_per_dto", a->max_iov_segments_per_dto);
	number("max_iov_segments_per_rdma_read",
	       a->max_iov_segments_per_rdma_read);
	number("max_iov_segments_per_rdma_write",
	       a->max_iov_segments_per_rdma_write);
	number("max_pzs", a->max_pzs);
	number("max_lmrs", a->max_lmrs);
	number("max_lmr_block_size", a->max_lmr_block_size);
	number("max_rmrs", a->max_rmrs);
	number("max_message_size", a->max_message_size);
	number("max_rdma_size", a->max_rdma_size);
	number("max_srqs", a->max_srqs);
	number("max_recv_per_srq", a->max_recv_per_srq);
	number("max_private_data_size", p->max_private_data_size);
	number("optimal_buffer_alignment", p->optimal_buffer_alignment);
	yes_no("srq_supported", p->srq_supported);
	yes_no("srq_ep_pz_difference_supported",
	       p->srq_ep_pz_difference_supported);
	yes_no("lmr_sync_req", p->lmr_sync_req);
	yes_no("rdma_write_for_rdma_read_req", p->rdma_write_for_rdma_read_req);
}

static bool show_ia(char *name, bool verbose)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	ret = dat_ia_open(name, 8, &async_evd, &ia);
	if (ret == DAT_SUCCESS) {
		ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr,
				   DAT_PROVIDER_FIELD_ALL, &provider);
		if (ret != DAT_SUCCESS)
			dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	if (ret != DAT_SUCCESS) {
		fprintf(stderr, "dat-info: %s: %s\n", name, explain(ret));
		return false;
	}
	printf("%s\n", name);
	printf("\t%-32s %s\n", "adapter", attr.adapter_name);
	printf("\t%-32s %s\n", "vendor", attr.vendor_name);
	printf("\t%-32s %s\n", "address", address(attr.ia_address_ptr));
	printf("\t%-32s %s %u.%u\n", "provider", provider.provider_name,
	       provider.provider_version_major,
	       provider.provider_version_minor);
	if (verbose)
		show_limits(&attr, &provider);
	dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	return true;
}

/* Says why the device cannot be opened, or else what the library has returned. */
static void complain_device(DAT_RETURN ret)
{
	const char *path = getenv("DAT_DEVICE") ?: "/dev/dat";
	const char *reason = explain(ret), *hint = "";

	if (access(path, R_OK | W_OK)) {
		reason = strerror(errno);
		if (errno == ENOENT)
			hint = "; is kdapl loaded?";
		else if (errno == EACCES)
			hint = "; are you in its group?";
	}
	fprintf(stderr, "dat-info: %s: %s%s\n", path, reason, hint);
}

static DAT_PROVIDER_INFO **list_ias(DAT_COUNT *num)
{
	DAT_PROVIDER_INFO **list = NULL, *infos = NULL;
	DAT_COUNT max = 0, i;
	DAT_RETURN ret;

	/* Once to learn how many there are, and again if more have come. */
	for (;;) {
		ret = dat_registry_list_providers(max, num, list);
		if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER || *num <= max)
			break;
		max = *num;
		list = realloc(list, (size_t)max * sizeof(*list));
		infos = realloc(infos, (size_t)max * sizeof(*infos));
		if (!list || !infos) {
			fputs("dat-info: no memory\n", stderr);
			return NULL;
		}
		for (i = 0; i < max; i++)
			list[i] = &infos[i];
	}
	if (ret == DAT_SUCCESS)
		return list ?: calloc(1, sizeof(*list));
	complain_device(ret);
	return NULL;
}

static bool show_all(bool verbose)
{
	DAT_PROVIDER_INFO **list;
	DAT_COUNT num, i;
	bool ok = true;

	list = list_ias(&num);
	if (!list)
		return false;
	if (!num)
		puts("no IA: there is no RDMA device with an address");
	for (i = 0; i < num; i++)
		ok = show_ia(list[i]->ia_name, verbose) && ok;
	return ok;
}

/* The kernel's table, its columns made even. */
static bool show_open_files(void)
{
	FILE *f = fopen(OPEN_FILES, "r");
	char line[1024], *word, *rest;
	int column;

	if (!f) {
		fprintf(stderr, "dat-info: %s: %s\n", OPEN_FILES,
			strerror(errno));
		return false;
	}
	while (fgets(line, sizeof(line), f)) {
		rest = line;
		for (column = 0; (word = strsep(&rest, "\n ")); column++)
			if (*word)
				printf("%s%*s", column ? " " : "",
				       column > 11 ? 13 : column ? 5 : 7, word);
		putchar('\n');
	}
	fclose(f);
	return true;
}

/* The exit status, after all output is written */
static int end(bool ok)
{
	if (!fflush(stdout) && !ferror(stdout))
		return ok ? 0 : 1;
	fprintf(stderr, "dat-info: the output cannot be written\n");
	return 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{}
	};
	bool verbose = false, open_files = false, check = false, ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "chovV", options, NULL)) != -1) {
		switch (c) {
		case 'V':
			printf("dat-info " DAT_KDAPL_VERSION "\n"
			       "tested on Linux " DAT_KDAPL_KERNELS "\n");
			return end(true);
		case 'c':
			check = true;
			break;
		case 'h':
			usage(stdout);
			return end(true);
		case 'o':
			open_files = true;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			usage(stderr);
			return 2;
		}
	}
	if ((open_files && (verbose || check || optind < argc)) ||
	    (check && (verbose || optind + 1 != argc))) {
		usage(stderr);
		return 2;
	}
	if (open_files)
		return end(show_open_files());
	if (check)
		return end(check_ia(argv[optind]));
	if (optind == argc)
		return end(show_all(verbose));
	for (; optind < argc; optind++)
		ok = show_ia(argv[optind], verbose) && ok;
	return end(ok);
}

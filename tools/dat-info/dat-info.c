// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dat-info.c - shows the IAs of this machine, and who has what open
 */
#include <errno.h>
#include <getopt.h>
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
	fputs("usage: dat-info [-bv] [IA...]  the IAs, with -v all limits\n"
	      "       dat-info --check IA     does the IA do what it should? A report to send\n"
	      "       dat-info [-b] -o        who has /dev/dat open, and what\n"
	      "       dat-info --version      the version, and the tested kernels\n"
	      "       -b                      sizes in bytes\n",
	      to);
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
	show_device(&attr, &provider);
	show_provider(&attr, &provider);
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

#define MAX_COLUMNS	20
#define MAX_WORD	64

/* A line of the kernel's table. Its last column is a name of any length. */
struct row {
	char words[MAX_COLUMNS][MAX_WORD];
	int num;
};

/* The columns behind the counts of objects are sizes in bytes: "pinned_bytes 4096". */
static void humanize(struct row *row, const struct row *head)
{
	static const char suffix[] = "_bytes";
	int i, len;

	for (i = 0; i < row->num && i < head->num; i++) {
		len = (int)strlen(head->words[i]) - (int)strlen(suffix);
		if (len <= 0 || strcmp(head->words[i] + len, suffix))
			continue;
		if (row == head)
			row->words[i][len] = '\0';
		else
			snprintf(row->words[i], MAX_WORD, "%s",
				 size_text(strtoull(row->words[i], NULL, 0)));
	}
}

static void split(struct row *row, char *line)
{
	char *word;

	row->num = 0;
	while ((word = strsep(&line, "\n ")) && row->num < MAX_COLUMNS)
		if (*word)
			snprintf(row->words[row->num++], MAX_WORD, "%s", word);
}

/* Reads the table; the caller frees it. */
static struct row *read_rows(FILE *f, int *num)
{
	struct row *rows = NULL, *more;
	char line[1024];

	*num = 0;
	while (fgets(line, sizeof(line), f)) {
		more = realloc(rows, (size_t)(*num + 1) * sizeof(*rows));
		if (!more) {
			free(rows);
			return NULL;
		}
		rows = more;
		split(&rows[(*num)++], line);
	}
	return rows;
}

static void print_rows(struct row *rows, int num)
{
	int width[MAX_COLUMNS] = {}, i, j, len;

	/* The names of the columns last: they say which are sizes. */
	for (i = num - 1; i >= 0 && !show_bytes; i--)
		humanize(&rows[i], rows);
	for (i = 0; i < num; i++)
		for (j = 0; j < rows[i].num; j++) {
			len = (int)strlen(rows[i].words[j]);
			width[j] = len > width[j] ? len : width[j];
		}
	for (i = 0; i < num; i++) {
		for (j = 0; j < rows[i].num - 1; j++)
			printf("%*s  ", width[j], rows[i].words[j]);
		printf("%s\n", rows[i].num ? rows[i].words[j] : "");
	}
}

/* The kernel's table of open files, with columns that fit */
static bool show_open_files(void)
{
	FILE *f = fopen(OPEN_FILES, "r");
	struct row *rows;
	int num;

	if (!f) {
		fprintf(stderr, "dat-info: %s: %s\n", OPEN_FILES,
			strerror(errno));
		return false;
	}
	rows = read_rows(f, &num);
	fclose(f);
	if (!rows) {
		fprintf(stderr, "dat-info: %s: cannot be read\n", OPEN_FILES);
		return false;
	}
	print_rows(rows, num);
	free(rows);
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
		{ "bytes", no_argument, NULL, 'b' },
		{ "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{}
	};
	bool verbose = false, open_files = false, check = false, ok = true;
	int c;

	while ((c = getopt_long(argc, argv, "bchovV", options, NULL)) != -1) {
		switch (c) {
		case 'V':
			printf("dat-info " DAT_KDAPL_VERSION "\n"
			       "tested on Linux " DAT_KDAPL_KERNELS "\n");
			return end(true);
		case 'b':
			show_bytes = true;
			break;
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
		ok = show_all(verbose);
	for (; optind < argc; optind++)
		ok = show_ia(argv[optind], verbose) && ok;
	if (verbose && ok)
		show_process_limits();
	return end(ok);
}

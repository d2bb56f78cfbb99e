// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * info.c - dat-info(8), and what debugfs tells of open files
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dat/version.h>

#include "harness.h"

#include "pair.h"

#define PROGRAM		"/selftests/tools/dat-info"
#define ERRORS		"/tmp/dat_info_errors"
#define OPEN_FILES	"/sys/kernel/debug/kdapl/files"

static char text[65536];

/* What the program says, on both outputs; returns its exit status. */
static int run(const char *arguments)
{
	char command[256];
	size_t len;
	FILE *f;

	snprintf(command, sizeof(command), PROGRAM " %s 2>&1", arguments);
	f = popen(command, "r");
	if (!f)
		return -1;
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	return WEXITSTATUS(pclose(f));
}

/* As run(), but the output goes to a file, and the text is that of the standard error. */
static int run_to(const char *arguments, const char *file)
{
	char command[192];

	snprintf(command, sizeof(command), "%s 2>" ERRORS " >%s; rc=$?; cat " ERRORS "; exit $rc",
		 arguments, file);
	return run(command);
}

static int check_ia(void)
{
	char arguments[64];

	snprintf(arguments, sizeof(arguments), "--check %s", ia_name());
	return run(arguments);
}

static unsigned int lines(void)
{
	unsigned int count = 0;
	const char *at;

	for (at = text; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

/* Is there a line of this name whose value begins so? */
static bool has_line(const char *name, const char *value)
{
	char start[64];
	const char *at;

	snprintf(start, sizeof(start), "\n\t%s ", name);
	at = strstr(text, start);
	if (!at)
		return false;
	at += strlen(start);
	at += strspn(at, " ");
	if (!strncmp(at, value, strlen(value)))
		return true;
	fprintf(stderr, "# %s: %.*s\n", name, (int)strcspn(at, "\n"), at);
	return false;
}

TEST(dat_info_lists_ia_address)
{
	ASSERT_EQ(0, run(""));
	EXPECT_NE(NULL, strstr(text, ia_name()));
	EXPECT_NE(NULL, strstr(text, "10.0.2.15"));
	EXPECT_EQ(NULL, strstr(text, "max_eps"));
	/* What an administrator looks for */
	EXPECT_TRUE(has_line("driver", "software device: "));
	EXPECT_TRUE(has_line("vendor", !strncmp(ia_name(), "siw", 3) ? "0x626d74" : "none"));
	EXPECT_TRUE(has_line("firmware", "none"));
	EXPECT_TRUE(has_line("link", "ACTIVE, "));
	EXPECT_TRUE(has_line("provider", "kdapl " DAT_KDAPL_VERSION));
	ASSERT_EQ(0, run("-v"));
	EXPECT_TRUE(has_line("max_private_data_size", "56 bytes\n"));
	EXPECT_NE(NULL, strstr(text, "RLIMIT_MEMLOCK"));
	EXPECT_NE(NULL, strstr(text, "max_eps"));
	EXPECT_NE(NULL, strstr(text, "max_lmr_block_size"));
	ASSERT_EQ(0, run(ia_name()));
	EXPECT_NE(NULL, strstr(text, ia_name()));
}

TEST(dat_info_one_line_error)
{
	EXPECT_EQ(1, run("nonesuch"));
	EXPECT_EQ(0, strncmp(text, "dat-info: nonesuch: ", 20));
	EXPECT_EQ(1, lines());
	EXPECT_EQ(2, run("-o rxe0"));
	EXPECT_EQ(2, run("-x"));
	EXPECT_EQ(0, run("-h"));
	EXPECT_EQ(1, run_to("-v", "/dev/full"));
	EXPECT_EQ(1, lines());
	ASSERT_EQ(0, setenv("DAT_DEVICE", "/dev/nonesuch", 1));
	EXPECT_EQ(1, run(""));
	EXPECT_EQ(1, lines());
	EXPECT_NE(NULL, strstr(text, "/dev/nonesuch: No such file or directory; is kdapl loaded?"));
}

/* The number in front of a word of the last line: "12 ok, 0 failed, ..." */
static int count_of(const char *word)
{
	const char *last = strstr(text, " ok, "), *at = last ? strstr(last, word) : NULL;

	while (at && at > text && at[-1] != ',' && at[-1] != '\t')
		at--;
	return at ? atoi(at) : -1;
}

/* The line of the first check that has failed */
static const char *failure(void)
{
	static char line[256];
	const char *at = strstr(text, "FAILED: ");

	if (!at)
		return "no check has failed";
	while (at > text && at[-1] != '\n')
		at--;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}

TEST(dat_info_check_all_ok)
{
	ASSERT_EQ(0, check_ia()) {
		TH_LOG("%s", failure());
	}
	EXPECT_EQ(0, count_of(" failed"));
	EXPECT_EQ(0, count_of(" not run"));
	EXPECT_LE(10, atoi(strstr(text, " ok, ") - 2));
	EXPECT_NE(NULL, strstr(text, "kernel "));
	EXPECT_NE(NULL, strstr(text, "DAT_IB_TRANSPORT_MTU"));
	EXPECT_NE(NULL, strstr(text, "max_dto_per_ep"));
	EXPECT_NE(NULL, strstr(text, "RDMA write and read"));
}

#define MAX_FILE_BYTES	"/sys/module/kdapl/parameters/max_file_bytes"

TEST(dat_info_sizes_with_units)
{
	static const struct {
		const char *bytes, *text;
	} sizes[] = {
		{ "33554432", "32 MiB\n" }, { "35127296", "33.5 MiB\n" },
		{ "2147483648", "2 GiB\n" }, { "1049600", "1025 KiB\n" },
	};
	char before[32], set[96];
	unsigned int i;
	FILE *f = fopen(MAX_FILE_BYTES, "r");

	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%31s", before));
	fclose(f);
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		snprintf(set, sizeof(set), "echo %s >" MAX_FILE_BYTES, sizes[i].bytes);
		ASSERT_EQ(0, system(set));
		EXPECT_EQ(0, run("-v"));
		EXPECT_TRUE(has_line("max_file_bytes", sizes[i].text));
		EXPECT_EQ(0, run("-b -v"));
		EXPECT_TRUE(has_line("max_file_bytes", sizes[i].bytes));
	}
	snprintf(set, sizeof(set), "echo %s >" MAX_FILE_BYTES, before);
	ASSERT_EQ(0, system(set));
}

TEST(dat_info_check_reports_failure)
{
	char before[32], path[] = MAX_FILE_BYTES, arguments[64];
	FILE *f = fopen(path, "r");

	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%31s", before));
	fclose(f);
	/* Room for an IA, and for no connection */
	ASSERT_EQ(0, system("echo 40000 >" MAX_FILE_BYTES));
	EXPECT_EQ(1, check_ia());
	EXPECT_NE(NULL, strstr(text, "FAILED: "));
	snprintf(arguments, sizeof(arguments), "--check %s", ia_name());
	EXPECT_EQ(1, run_to(arguments, "/dev/null"));
	EXPECT_EQ(1, lines());
	f = fopen(path, "w");
	ASSERT_NE(NULL, f);
	fprintf(f, "%s", before);
	ASSERT_EQ(0, fclose(f));

	EXPECT_EQ(1, run("--check nonesuch"));
	EXPECT_EQ(1, lines());
	EXPECT_EQ(2, run("--check"));
	EXPECT_EQ(2, run("--check rxe0 rxe0"));
	EXPECT_EQ(2, run("-v --check rxe0"));
}

#define NR_HUGEPAGES	"/proc/sys/vm/nr_hugepages"

static unsigned int set_huge_pages(unsigned int number)
{
	FILE *f = fopen(NR_HUGEPAGES, "w");

	if (f) {
		fprintf(f, "%u", number);
		fclose(f);
	}
	f = fopen(NR_HUGEPAGES, "r");
	if (!f || fscanf(f, "%u", &number) != 1)
		number = 0;
	if (f)
		fclose(f);
	return number;
}

/* Whether a host has huge pages, and of which size, is no failure of its adapter. */
TEST(dat_info_check_few_huge_pages)
{
	unsigned int number;

	/* One is as good as none. */
	for (number = 1; number <= 2; number++) {
		bool both = set_huge_pages(number) == 2;

		EXPECT_EQ(0, check_ia()) {
			TH_LOG("%u huge pages: %s", number, failure());
		}
		EXPECT_EQ(!both, !!strstr(text, "not supported: the host has no two"));
	}
	set_huge_pages(0);
}

TEST(dat_info_version_matches_module)
{
	char of_module[64] = "", said[96];
	FILE *f = fopen("/sys/module/kdapl/version", "r");

	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%63s", of_module));
	fclose(f);
	ASSERT_EQ(0, run("--version"));
	snprintf(said, sizeof(said), "dat-info %s\n", of_module);
	EXPECT_EQ(0, strncmp(text, said, strlen(said)));
	EXPECT_NE(NULL, strstr(text, "tested on Linux " DAT_KDAPL_KERNELS));
}

TEST(debugfs_files_root_only)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(9);
		_exit(access(OPEN_FILES, R_OK) ? 0 : 1);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

static const char *size_of(unsigned long bytes)
{
	static char buf[32];

	snprintf(buf, sizeof(buf), " %lu KiB ", bytes / 1024);
	return buf;
}

/* All columns but the last one end at the same place in each line. */
static bool columns_fit(void)
{
	const char *head = text, *line, *at, *end;

	at = strchr(head + strspn(head, " "), ' ');
	for (; at && *at != '\n'; at = strpbrk(at + 1, "\n ")) {
		/* Ends of names in the first line, but for the last two spaces */
		if (at[-1] == ' ' || at > strstr(head, "command") - 3)
			continue;
		for (line = strchr(text, '\n') + 1; *line; line = end + 1) {
			end = strchr(line, '\n');
			if (line[at - head - 1] == ' ' || line[at - head] != ' ')
				return false;
		}
	}
	return true;
}

/* The line of this process: the numbers behind its process id. */
static int numbers_of(pid_t pid, long *numbers, int max, char *command)
{
	char line[1024];
	int count = 0;
	FILE *f;

	f = fopen(OPEN_FILES, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		char *word = strtok(line, "\n ");

		if (!word || atoi(word) != pid)
			continue;
		while ((word = strtok(NULL, "\n ")) && count < max)
			numbers[count++] = atol(word);
		if (word)
			snprintf(command, 64, "%s", word);
	}
	fclose(f);
	return count;
}

TEST(debugfs_files_object_counts)
{
	/* As in the first line, behind the process id. */
	enum { IA, PZ, EVD, CNO, PSP, RSP, CSP, CR, EP, SRQ, LMR, RMR,
	       PINNED, CHARGED, NUM };
	char command[64] = "";
	long n[NUM] = { 0 };
	DAT_RMR_HANDLE rmr;
	DAT_CNO_HANDLE cno;
	struct region r;
	struct pair p;
	char pid[16];

	ASSERT_DAT(pair_open(&p));
	ASSERT_DAT(region_open(&p, p.a.pz, &r, 3 * PAGE,
			       DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_rmr_create(p.a.pz, &rmr));
	ASSERT_DAT(dat_cno_create(p.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	ASSERT_EQ(NUM, numbers_of(getpid(), n, NUM, command));
	EXPECT_EQ(1, n[IA]);
	EXPECT_EQ(2, n[PZ]);
	EXPECT_EQ(6, n[EVD]);
	EXPECT_EQ(1, n[CNO]);
	EXPECT_EQ(1, n[PSP]);
	EXPECT_EQ(0, n[RSP]);
	EXPECT_EQ(0, n[CSP]);
	EXPECT_EQ(0, n[CR]);
	EXPECT_EQ(2, n[EP]);
	EXPECT_EQ(0, n[SRQ]);
	EXPECT_EQ(1, n[LMR]);
	EXPECT_EQ(1, n[RMR]);
	EXPECT_EQ(3 * PAGE, n[PINNED]);
	EXPECT_LE(6 * PAGE, n[CHARGED]);
	EXPECT_STREQ("info", command);
	ASSERT_EQ(0, run("-o"));
	snprintf(pid, sizeof(pid), "%d", getpid());
	EXPECT_NE(NULL, strstr(text, pid));
	EXPECT_NE(NULL, strstr(text, "charged"));
	EXPECT_EQ(NULL, strstr(text, "_bytes"));
	EXPECT_NE(NULL, strstr(text, size_of(3 * PAGE)));
	ASSERT_EQ(0, run("-b -o"));
	EXPECT_NE(NULL, strstr(text, "charged_bytes"));
	snprintf(pid, sizeof(pid), " %lu ", 3 * PAGE);
	EXPECT_NE(NULL, strstr(text, pid));
	EXPECT_TRUE(columns_fit());

	ASSERT_DAT(dat_lmr_free(r.lmr));
	ASSERT_DAT(dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG));
	/* Memory is freed after a grace period. */
	do {
		usleep(10000);
		ASSERT_EQ(NUM, numbers_of(getpid(), n, NUM, command));
	} while (n[CHARGED]);
	EXPECT_EQ(0, n[IA] + n[EVD] + n[CNO] + n[EP] + n[LMR] + n[PINNED]);
}

TEST_HARNESS_MAIN

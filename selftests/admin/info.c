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

static unsigned int lines(void)
{
	unsigned int count = 0;
	const char *at;

	for (at = text; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

TEST(it_shows_each_ia_and_its_address)
{
	ASSERT_EQ(0, run(""));
	EXPECT_NE(NULL, strstr(text, ia_name()));
	EXPECT_NE(NULL, strstr(text, "10.0.2.15"));
	EXPECT_EQ(NULL, strstr(text, "max_eps"));
	ASSERT_EQ(0, run("-v"));
	EXPECT_NE(NULL, strstr(text, "max_eps"));
	EXPECT_NE(NULL, strstr(text, "max_lmr_block_size"));
	ASSERT_EQ(0, run(ia_name()));
	EXPECT_NE(NULL, strstr(text, ia_name()));
}

TEST(it_says_in_a_line_what_is_wrong)
{
	EXPECT_EQ(1, run("nonesuch"));
	EXPECT_EQ(0, strncmp(text, "dat-info: nonesuch: ", 20));
	EXPECT_EQ(1, lines());
	EXPECT_EQ(2, run("-o rxe0"));
	EXPECT_EQ(2, run("-x"));
	EXPECT_EQ(0, run("-h"));
	ASSERT_EQ(0, setenv("DAT_DEVICE", "/dev/nonesuch", 1));
	EXPECT_EQ(1, run(""));
	EXPECT_EQ(1, lines());
}

TEST(its_version_is_that_of_the_module)
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

TEST(root_alone_learns_what_others_have_open)
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

TEST(what_a_process_has_open_is_counted)
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
	EXPECT_NE(NULL, strstr(text, "charged_bytes"));

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

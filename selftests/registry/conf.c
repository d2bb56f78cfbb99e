// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conf.c - the names that dat.conf(5) gives to an IA
 */
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link.h"
#include "pair.h"

#define CONF	"/tmp/dat_conf"
#define ERRORS	"/tmp/dat_conf_errors"
#define PROGRAM	"/selftests/tools/dat-info"
#define SET_UID	"/tmp/dat_conf_info"
#define NOBODY	65534
#define OURS	" u1.2 threadsafe default libdat.so.1 dapl.1.2 "
#define MAX	8

/* Each test is a process of its own: the library has not read the file yet. */
FIXTURE(conf)
{
	FILE *file;
};

FIXTURE_SETUP(conf)
{
	ASSERT_TRUE(link_is_there());
	self->file = fopen(CONF, "we");
	ASSERT_NE(NULL, self->file);
	ASSERT_EQ(0, setenv("DAT_OVERRIDE", CONF, 1));
}

FIXTURE_TEARDOWN(conf)
{
	unlink(CONF);
	unlink(ERRORS);
	unlink(SET_UID);
	if (!link_is_there())
		link_add();
}

static DAT_RETURN open_name(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_open((char *)name, 8, &evd, ia);
}

/* Can @name be opened, and is it the device under test? */
static bool is_ours(const char *name)
{
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	bool same;

	if (open_name(name, &ia))
		return false;
	same = !dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL) &&
	       !strcmp(ia_name(), attr.adapter_name);
	return !dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) && same;
}

static bool is_unknown(const char *name)
{
	DAT_IA_HANDLE ia;

	return open_name(name, &ia) ==
	       ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

/* How often @name is listed, -1 if there is no list. */
static int times_listed(const char *name)
{
	DAT_PROVIDER_INFO infos[MAX], *list[MAX];
	DAT_COUNT num, i;
	int found = 0;

	for (i = 0; i < MAX; i++)
		list[i] = &infos[i];
	if (dat_registry_list_providers(MAX, &num, list))
		return -1;
	for (i = 0; i < num; i++)
		found += !strcmp(name, infos[i].ia_name);
	return found;
}

TEST_F(conf, ia_aliases)
{
	fprintf(self->file, "# names\n\n");
	fprintf(self->file, "plain" OURS "%s \"\"\n", ia_name());
	fprintf(self->file, "\"a port\"" OURS "\"%s 1\" \"\"\n", ia_name());
	fprintf(self->file, "port0" OURS "\"%s 0\" \"\"\n", ia_name());
	fprintf(self->file, "%s" OURS "\"\" \"\"\n", ia_name());
	fprintf(self->file, "gone" OURS "nobody0 \"\"\n");
	fprintf(self->file, "OpenIB-cma u1.2 nonthreadsafe default ");
	fprintf(self->file, "libdaplcma.so.1 dapl.1.2 \"%s 0\" \"\"\n",
		ia_name());
	fprintf(self->file, "ofa-v2 u2.0 threadsafe default libdat.so.2 ");
	fprintf(self->file, "dapl.2.0 \"%s 1\" \"\"", ia_name());
	ASSERT_EQ(0, fclose(self->file));

	EXPECT_TRUE(is_ours("plain"));
	EXPECT_TRUE(is_ours("RO_AWARE_plain"));
	EXPECT_TRUE(is_ours("a port"));
	EXPECT_TRUE(is_ours("RO_AWARE_a port"));
	EXPECT_TRUE(is_ours("port0"));
	EXPECT_TRUE(is_ours(ia_name()));
	EXPECT_TRUE(is_unknown("gone"));
	EXPECT_TRUE(is_unknown("OpenIB-cma"));
	EXPECT_TRUE(is_unknown("ofa-v2"));

	EXPECT_EQ(1, times_listed("plain"));
	EXPECT_EQ(1, times_listed("a port"));
	EXPECT_EQ(1, times_listed("port0"));
	EXPECT_EQ(1, times_listed(ia_name()));
	EXPECT_EQ(0, times_listed("gone"));
	EXPECT_EQ(0, times_listed("OpenIB-cma"));
	EXPECT_EQ(0, times_listed("ofa-v2"));
}

TEST_F(conf, aliases_follow_device_removal)
{
	fprintf(self->file, "plain" OURS "%s \"\"\n", ia_name());
	ASSERT_EQ(0, fclose(self->file));

	EXPECT_EQ(1, times_listed("plain"));
	ASSERT_EQ(0, link_delete());
	EXPECT_EQ(0, times_listed("plain"));
	EXPECT_TRUE(is_unknown("plain"));
	ASSERT_EQ(0, link_add());
	EXPECT_EQ(1, times_listed("plain"));
	EXPECT_TRUE(is_ours("plain"));
}

/* What the library says when it is asked for a name that nobody has */
static const char *complaint(int *tries)
{
	static char text[1024];
	int old = dup(STDERR_FILENO);
	size_t len;
	FILE *file;

	if (!freopen(ERRORS, "we", stderr))
		return "";
	for (; *tries; --*tries)
		if (!is_unknown("nobody0") || times_listed("nobody0"))
			break;
	fflush(stderr);
	dup2(old, STDERR_FILENO);
	close(old);

	file = fopen(ERRORS, "re");
	len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[len] = '\0';
	if (file)
		fclose(file);
	return text;
}

TEST_F(conf, malformed_lines_reported_once)
{
	int tries = 2;

	fprintf(self->file, "one two\n");
	fprintf(self->file, "plain" OURS "%s \"\"\n", ia_name());
	fprintf(self->file, "quote" OURS "\"%s\n", ia_name());
	ASSERT_EQ(0, fclose(self->file));

	EXPECT_STREQ("libdat: " CONF ":1: there are not eight fields\n"
		     "libdat: " CONF ":3: a quoted field does not end\n",
		     complaint(&tries));
	EXPECT_EQ(0, tries);
	EXPECT_TRUE(is_ours("plain"));
	EXPECT_EQ(1, times_listed("plain"));
	EXPECT_TRUE(is_unknown("quote"));
	tries = 1;
	EXPECT_STREQ("", complaint(&tries));
}

TEST_F(conf, override_file_missing)
{
	int tries = 2;

	ASSERT_EQ(0, fclose(self->file));
	ASSERT_EQ(0, unlink(CONF));

	EXPECT_STREQ("libdat: " CONF ": No such file or directory\n",
		     complaint(&tries));
	EXPECT_EQ(0, tries);
	EXPECT_TRUE(is_ours(ia_name()));
}

TEST_F(conf, no_conf_file)
{
	int tries = 2;

	ASSERT_EQ(0, fclose(self->file));
	ASSERT_EQ(0, unsetenv("DAT_OVERRIDE"));
	if (!access("/etc/dat.conf", F_OK))
		SKIP(return, "this machine has /etc/dat.conf");

	EXPECT_STREQ("", complaint(&tries));
	EXPECT_EQ(0, tries);
	EXPECT_EQ(1, times_listed(ia_name()));
}

TEST_F(conf, etc_conf_file)
{
	const char *etc = "/etc/dat.conf";
	FILE *file;

	ASSERT_EQ(0, fclose(self->file));
	ASSERT_EQ(0, unsetenv("DAT_OVERRIDE"));
	if (!access(etc, F_OK))
		SKIP(return, "this machine has /etc/dat.conf");
	file = fopen(etc, "we");
	if (!file)
		SKIP(return, "/etc cannot be written");
	fprintf(file, "plain" OURS "%s \"\"\n", ia_name());
	EXPECT_EQ(0, fclose(file));
	EXPECT_TRUE(is_ours("plain"));
	EXPECT_EQ(1, times_listed("plain"));
	unlink(etc);
}

/* The exit status of the set-user-ID program when @uid has it show the IA @name */
static int show_as(uid_t uid, const char *name)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (setgid(uid) || setuid(uid) || !freopen("/dev/null", "w", stdout) ||
		    dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
			_exit(100);
		execl(SET_UID, "dat-info", name, NULL);
		_exit(101);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Who is root already gains nothing, so that root's own choice counts. */
TEST_F(conf, setuid_ignores_environment)
{
	if (geteuid())
		SKIP(return, "needs root");
	fprintf(self->file, "plain" OURS "%s \"\"\n", ia_name());
	ASSERT_EQ(0, fclose(self->file));
	ASSERT_EQ(0, system("cp " PROGRAM " " SET_UID));
	ASSERT_EQ(0, chmod(SET_UID, 04755));

	EXPECT_EQ(0, show_as(0, "plain"));
	EXPECT_EQ(0, show_as(NOBODY, ia_name()));
	EXPECT_EQ(1, show_as(NOBODY, "plain"));

	ASSERT_EQ(0, setenv("DAT_DEVICE", "/dev/nonesuch", 1));
	EXPECT_EQ(1, show_as(0, ia_name()));
	EXPECT_EQ(0, show_as(NOBODY, ia_name()));
}

TEST_HARNESS_MAIN

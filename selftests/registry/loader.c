// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * loader.c - libraries of other providers, which dat.conf(5) names
 */
#include "harness.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

#define CONF	"/tmp/dat_loader_conf"
#define ERRORS	"/tmp/dat_loader_errors"
#define LOG	"/tmp/dat_loader_log"
#define REST	" mock.1.2 \"the params\" \"\"\n"
#define MOCK	" u1.2 threadsafe default /selftests/mock/libmock.so" REST

/* Each test is a process of its own: the library has not read the file yet. */
FIXTURE(loader)
{
	FILE *file;
};

FIXTURE_SETUP(loader)
{
	unlink(LOG);
	self->file = fopen(CONF, "we");
	ASSERT_NE(NULL, self->file);
	ASSERT_EQ(0, setenv("DAT_OVERRIDE", CONF, 1));
	ASSERT_EQ(0, setenv("MOCK_LOG", LOG, 1));
}

FIXTURE_TEARDOWN(loader)
{
	unlink(CONF);
	unlink(ERRORS);
	unlink(LOG);
}

static bool file_is(const char *path, const char *expected)
{
	char text[512];
	FILE *file = fopen(path, "re");
	size_t len;

	if (!file)
		return !*expected;
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	if (!strcmp(text, expected))
		return true;
	printf("# %s: %s", path, text);
	return false;
}

static DAT_RETURN open_name(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_open((char *)name, 8, &evd, ia);
}

/* Does @name, which cannot be opened, make somebody write @why? */
static bool is_told(const char *name, const char *why)
{
	int old = dup(STDERR_FILENO);
	char text[512] = "";
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	FILE *file;

	if (!freopen(ERRORS, "w+", stderr))
		return false;
	ret = open_name(name, &ia);
	rewind(stderr);
	file = fopen(ERRORS, "re");
	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
	}
	dup2(old, STDERR_FILENO);
	close(old);
	if (ret == ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED) &&
	    !strncmp(text, "libdat: ", 8) && strstr(text, why) &&
	    strchr(text, '\n') == text + strlen(text) - 1)
		return true;
	printf("# %#x, %s\n", ret, text);
	return false;
}

TEST_F(loader, open_loads_library)
{
	DAT_IA_HANDLE ia, other;
	DAT_PZ_HANDLE pz;

	fprintf(self->file, "mock0" MOCK);
	fprintf(self->file, "unused0" MOCK);
	ASSERT_EQ(0, fclose(self->file));

	ASSERT_DAT(open_name("mock0", &ia));
	EXPECT_TRUE(file_is(LOG, "init mock0 the params\n"));
	EXPECT_DAT(dat_pz_create(ia, &pz));
	EXPECT_DAT(dat_pz_free(pz));
	/* It is there now. */
	ASSERT_DAT(open_name("RO_AWARE_mock0", &other));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_TRUE(file_is(LOG, "init mock0 the params\n"));
	EXPECT_DAT(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_TRUE(file_is(LOG, "init mock0 the params\nfini mock0 -\n"));
	/* And again. */
	ASSERT_DAT(open_name("mock0", &ia));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_TRUE(file_is(LOG, "init mock0 the params\nfini mock0 -\n"
				 "init mock0 the params\nfini mock0 -\n"));
}

TEST_F(loader, open_library_version_mismatch)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	fprintf(self->file, "old0 u1.1 nonthreadsafe default ");
	fprintf(self->file, "/selftests/mock/libmock.so" REST);
	ASSERT_EQ(0, fclose(self->file));

	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND),
		       dat_ia_openv((char *)"old0", 8, &evd, &ia, 1, 2,
				    DAT_FALSE));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND,
			     DAT_THREAD_SAFETY_NOT_FOUND),
		       dat_ia_openv((char *)"old0", 8, &evd, &ia, 1, 1,
				    DAT_TRUE));
	EXPECT_DAT(dat_ia_openv((char *)"old0", 8, &evd, &ia, 1, 1, DAT_FALSE));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(loader, ignored_lines_load_nothing)
{
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	fprintf(self->file, "%s" MOCK, ia_name());
	fprintf(self->file, "both" MOCK);
	fprintf(self->file, "both u1.2 threadsafe default libdat.so.1 ");
	fprintf(self->file, "dapl.1.2 \"%s\" \"\"\n", ia_name());
	fprintf(self->file, "not0 u1.2 threadsafe nondefault ");
	fprintf(self->file, "/selftests/mock/libmock.so" REST);
	fprintf(self->file, "not2 u2.0 threadsafe default ");
	fprintf(self->file, "/selftests/mock/libmock.so" REST);
	fprintf(self->file, "short0 u1.2 threadsafe default ");
	fprintf(self->file, "/selftests/mock/libmock.so\n");
	ASSERT_EQ(0, fclose(self->file));

	ASSERT_DAT(open_name(ia_name(), &ia));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_DAT(open_name("both", &ia));
	EXPECT_DAT(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	EXPECT_STREQ(ia_name(), attr.adapter_name);
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT_TYPE(DAT_PROVIDER_NOT_FOUND, open_name("not0", &ia));
	EXPECT_DAT_TYPE(DAT_PROVIDER_NOT_FOUND, open_name("not2", &ia));
	EXPECT_DAT_TYPE(DAT_PROVIDER_NOT_FOUND, open_name("short0", &ia));
	EXPECT_TRUE(file_is(LOG, ""));
}

TEST_F(loader, load_failure_reported)
{
	fprintf(self->file, "gone0 u1.2 threadsafe default libgone.so.1" REST);
	fprintf(self->file, "libc0 u1.2 threadsafe default libc.so.6" REST);
	ASSERT_EQ(0, fclose(self->file));

	EXPECT_TRUE(is_told("gone0", "libgone.so.1"));
	EXPECT_TRUE(is_told("libc0", "dat_provider_init"));
}

#define NUM_THREADS	4

static void *open_and_close(void *arg)
{
	DAT_IA_HANDLE ia;
	int i;

	for (i = 0; i < 200; i++)
		if (open_name("mock0", &ia) ||
		    dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG))
			return arg;
	return NULL;
}

TEST_F(loader, concurrent_open_and_close)
{
	pthread_t threads[NUM_THREADS];
	void *failed;
	int i;

	fprintf(self->file, "mock0" MOCK);
	ASSERT_EQ(0, fclose(self->file));
	ASSERT_EQ(0, setenv("MOCK_LOG", "/dev/null", 1));
	for (i = 0; i < NUM_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, open_and_close,
					    self));
	for (i = 0; i < NUM_THREADS; i++) {
		EXPECT_EQ(0, pthread_join(threads[i], &failed));
		EXPECT_EQ(NULL, failed);
	}
}

static atomic_bool has_forked;

static void *open_meanwhile(void *arg)
{
	DAT_IA_HANDLE ia;

	while (!atomic_load(&has_forked)) {
		if (open_name("mock0", &ia) ||
		    dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG))
			return arg;
		/* The locks are not fair. */
		sched_yield();
	}
	return NULL;
}

/* fork() takes the locks in the order of the calls. */
TEST_F(loader, fork_during_open)
{
	pthread_t thread;
	DAT_IA_HANDLE ia;
	void *failed;
	int i, status;
	pid_t pid;

	fprintf(self->file, "mock0" MOCK);
	ASSERT_EQ(0, fclose(self->file));
	ASSERT_EQ(0, setenv("MOCK_LOG", "/dev/null", 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, open_meanwhile, self));
	for (i = 0; i < 50; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(open_name("mock0", &ia) != DAT_SUCCESS);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	atomic_store(&has_forked, true);
	ASSERT_EQ(0, pthread_join(thread, &failed));
	EXPECT_EQ(NULL, failed);
}

TEST_HARNESS_MAIN

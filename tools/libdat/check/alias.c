// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * alias.c - checks the names of dat.conf(5), with a fake device
 *
 * This file replaces dev.c and has two IAs: fake0 and fake1:2. A process reads
 * dat.conf(5) once, so each check runs in a process of its own.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdat.h"
#include "check.h"

#define OURS	" u1.2 threadsafe default libdat.so.1 dapl.1.2 "
#define MAX	8

static const char *path, *errors;
static __thread char opened[DAT_DEV_NAME_MAX];
static struct dat_dev_ring ring;

DAT_RETURN libdat_open(void)
{
	return DAT_SUCCESS;
}

struct dat_dev_ring *libdat_map_ring(__u32 evd, __u32 entries)
{
	(void)evd;
	(void)entries;
	return &ring;
}

void libdat_unmap_ring(struct dat_dev_ring *mapped, __u32 entries)
{
	(void)entries;
	CHECK(mapped == &ring);
}

static DAT_RETURN fake_open(struct dat_dev_ia_open *arg)
{
	if (strcmp(arg->name, "fake0") && strcmp(arg->name, "fake0:1") &&
	    strcmp(arg->name, "fake1:2"))
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				 DAT_NAME_NOT_REGISTERED);
	memcpy(opened, arg->name, sizeof(opened));
	arg->async_ring_entries = 1;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_list(struct dat_dev_ia_list *arg)
{
	struct dat_dev_ia_info *infos = (void *)(uintptr_t)arg->infos;

	arg->num = 2;
	if (arg->max < arg->num)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	infos[0] = (struct dat_dev_ia_info){ .name = "fake0" };
	infos[1] = (struct dat_dev_ia_info){ .name = "fake1:2" };
	return DAT_SUCCESS;
}

DAT_RETURN libdat_call(unsigned long cmd, void *data)
{
	switch (cmd) {
	case DAT_DEV_IA_OPEN:
		return fake_open(data);
	case DAT_DEV_IA_LIST:
		return fake_list(data);
	default:
		return DAT_SUCCESS;
	}
}

static void write_conf(const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

/* What the process of a check wrote to its standard error */
static const char *said(void)
{
	static char text[4096];
	FILE *file = fopen(errors, "r");
	size_t len;

	CHECK(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	return text;
}

static void run(void (*check)(void), const char *conf, const char *expected)
{
	int status;

	CHECK(freopen(errors, "w", stderr));
	if (conf)
		setenv("DAT_OVERRIDE", conf, 1);
	else
		unsetenv("DAT_OVERRIDE");
	if (!fork()) {
		check();
		exit(0);
	}
	CHECK(wait(&status) > 0);
	if (status || strcmp(said(), expected))
		printf("expected: %s\nbut: %s\n", expected, said());
	CHECK(!status && !strcmp(said(), expected));
}

static DAT_RETURN open_name(const char *name)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	opened[0] = '\0';
	return dat_ia_open((char *)name, 8, &evd, &ia);
}

static bool opens(const char *name, const char *ia)
{
	return open_name(name) == DAT_SUCCESS && !strcmp(opened, ia);
}

static bool is_unknown(const char *name)
{
	return open_name(name) == DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
					    DAT_NAME_NOT_REGISTERED);
}

/* The listed names, with a blank after each */
static const char *listed(void)
{
	DAT_PROVIDER_INFO infos[MAX], *list[MAX];
	static char names[MAX * DAT_NAME_MAX_LENGTH];
	DAT_COUNT num, i;

	for (i = 0; i < MAX; i++)
		list[i] = &infos[i];
	CHECK(dat_registry_list_providers(MAX, &num, list) == DAT_SUCCESS);
	names[0] = '\0';
	for (i = 0; i < num; i++) {
		strcat(names, infos[i].ia_name);
		strcat(names, " ");
	}
	CHECK(!num || dat_registry_list_providers(num - 1, &i, list) ==
			      BAD_ARG(3));
	CHECK(!num || i == num);
	return names;
}

static const char sound[] =
	"one" OURS "fake0 \"\"\n"
	"two" OURS "\"fake1 2\" \"\"\n"
	"two" OURS "fake0 \"\"\n"
	"port" OURS "\"fake0 1\" \"\"\n"
	"gone" OURS "fake7 \"\"\n"
	"chain" OURS "one \"\"\n"
	"fake0" OURS "\"fake1 2\" \"\"\n"
	"fake1:2" OURS "\"\" \"\"\n"
	"theirs u2.0 threadsafe default libdaplofa.so.2 v fake0 \"\"\n";

static const char malformed[] =
	"\n"
	"one\n"
	"one" OURS "fake0 \"\"\n"
	"two" OURS "\n";

static void sound_file(void)
{
	CHECK(opens("one", "fake0"));
	CHECK(opens("RO_AWARE_one", "fake0"));
	CHECK(opens("two", "fake1:2"));
	CHECK(opens("port", "fake0:1"));
	CHECK(opens("fake0", "fake0"));
	CHECK(opens("fake1:2", "fake1:2"));
	CHECK(is_unknown("gone"));
	CHECK(is_unknown("chain"));
	CHECK(is_unknown("theirs"));
	CHECK(is_unknown("on"));
	CHECK(is_unknown(""));
	CHECK(!strcmp(listed(), "fake0 fake1:2 one two port "));
}

static void one_works(void)
{
	CHECK(opens("one", "fake0"));
	CHECK(!strcmp(listed(), "fake0 fake1:2 one "));
	CHECK(is_unknown("two"));
}

static void no_names(void)
{
	CHECK(!strcmp(listed(), "fake0 fake1:2 "));
	CHECK(is_unknown("one"));
	CHECK(opens("fake0", "fake0"));
}

static void only_the_device(void)
{
	CHECK(opens("fake0", "fake0"));
	CHECK(opens("RO_AWARE_fake0", "fake0"));
}

static void *open_one(void *unused)
{
	CHECK(opens("one", "fake0"));
	return unused;
}

static void many_threads(void)
{
	pthread_t threads[8];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK(!pthread_create(&threads[i], NULL, open_one, NULL));
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	CHECK(is_unknown("two"));
}

static void many_names(void)
{
	size_t num;

	CHECK(opens("n0", "fake0"));
	CHECK(opens("n1023", "fake0"));
	CHECK(is_unknown("n1024"));
	CHECK(libdat_aliases(&num) && num == 1024);
}

static void write_many(void)
{
	FILE *file = fopen(path, "w");
	int i;

	CHECK(file);
	for (i = 0; i < 1025; i++)
		fprintf(file, "n%d u1.2 threadsafe default libdat.so v fake0 \"\"\n",
			i);
	CHECK(!fclose(file));
}

static const char *make_file(char *template)
{
	int fd = mkstemp(template);

	CHECK(fd >= 0 && !close(fd));
	return template;
}

int main(void)
{
	char a[] = "/tmp/libdat-check-XXXXXX", b[] = "/tmp/libdat-check-XXXXXX";
	char expected[256];

	path = make_file(a);
	errors = make_file(b);

	write_conf(sound);
	run(sound_file, path, "");

	write_conf(malformed);
	run(only_the_device, path, "");
	snprintf(expected, sizeof(expected),
		 "libdat: %s:2: there are not eight fields\n"
		 "libdat: %s:4: there are not eight fields\n", path, path);
	run(one_works, path, expected);
	run(many_threads, path, expected);

	write_many();
	snprintf(expected, sizeof(expected),
		 "libdat: %s:1025: there are too many names\n", path);
	run(many_names, path, expected);

	run(no_names, "/dev/null", "");
	run(no_names, "/dev/zero", "libdat: /dev/zero: File too large\n");
	run(no_names, "/tmp", "libdat: /tmp: Is a directory\n");
	run(only_the_device, "/tmp", "");
	CHECK(!unlink(path));
	snprintf(expected, sizeof(expected),
		 "libdat: %s: No such file or directory\n", path);
	run(no_names, path, expected);
	/* The dat.conf of this machine, if any, does not have these names. */
	if (access("/etc/dat.conf", F_OK)) {
		run(no_names, NULL, "");
		run(no_names, "", "");
	}
	unlink(errors);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * alias.c - the names that dat.conf(5) gives to IAs
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdat.h"

/* DAT_OVERRIDE may name anything, such as /dev/zero. */
#define MAX_SIZE	(64 * 1024)
#define MAX_ALIASES	1024

/* Read once: the names point into the text, which is never freed. */
static struct libdat_alias aliases[MAX_ALIASES];
static size_t num_aliases;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The text, with room for a byte behind it; NULL and errno if there is none. */
static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	int err = 0;

	if (!file)
		return NULL;
	text = malloc(MAX_SIZE + 1);
	if (text)
		*size = fread(text, 1, MAX_SIZE + 1, file);
	if (!text || ferror(file))
		err = errno;
	else if (*size > MAX_SIZE)
		err = EFBIG;
	fclose(file);
	if (!err)
		return text;
	free(text);
	errno = err;
	return NULL;
}

static struct libdat_alias *find(const char *name)
{
	size_t i;

	for (i = 0; i < num_aliases; i++)
		if (!strcmp(aliases[i].name, name))
			return &aliases[i];
	return NULL;
}

/* Our own lines come before those of other libraries, wherever they stand. */
static void add(const struct libdat_alias *alias)
{
	struct libdat_alias *old = find(alias->name);

	if (!old)
		aliases[num_aliases++] = *alias;
	else if (old->library && !alias->library)
		*old = *alias;
}

static void read_conf(void)
{
	const char *path = secure_getenv("DAT_OVERRIDE");
	bool is_chosen = path && *path;
	struct libdat_conf conf = { 0 };
	size_t size;

	if (!is_chosen)
		path = "/etc/dat.conf";
	conf.text = read_file(path, &size);
	if (!conf.text) {
		/* Nobody needs to have one. */
		if (is_chosen || errno != ENOENT)
			fprintf(stderr, "libdat: %s: %m\n", path);
		return;
	}
	conf.end = conf.text + size;

	while (libdat_conf_next(&conf)) {
		if (!conf.why && num_aliases == MAX_ALIASES)
			conf.why = "there are too many names";
		if (conf.why)
			fprintf(stderr, "libdat: %s:%u: %s\n", path, conf.line,
				conf.why);
		else
			add(&conf.alias);
	}
}

/**
 * libdat_aliases - the names that dat.conf(5) gives to IAs
 * @num: out: how many there are
 *
 * What the file has that cannot be read is told on the standard error, once.
 * Thread safe.
 *
 * Return: the names, no two of them the same.
 */
const struct libdat_alias *libdat_aliases(size_t *num)
{
	pthread_once(&once, read_conf);
	*num = num_aliases;
	return aliases;
}

/**
 * libdat_alias_find - the IA that a name of dat.conf(5) stands for
 * @name: the name
 *
 * Thread safe.
 *
 * Return: what the file says of it, or NULL.
 */
const struct libdat_alias *libdat_alias_find(const char *name)
{
	pthread_once(&once, read_conf);
	return find(name);
}

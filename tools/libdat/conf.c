// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conf.c - the names that dat.conf(5) defines for IAs
 *
 * The parser yields one alias or error for each line. The list of aliases is
 * read once, when a program first lists the IAs or opens one that the kernel
 * does not have.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdat.h"

/* In the order of the file */
enum field {
	IA_NAME,
	API_VERSION,
	THREAD_SAFETY,
	IS_DEFAULT,
	LIBRARY,
	PROVIDER_VERSION,
	IA_PARAMS,
	PLATFORM_PARAMS,
	NUM_FIELDS
};

/* A file of another system may have a carriage return before each newline. */
static const char blanks[] = " \t\v\f\r";

static const char digits[] = "0123456789";

/*
 * Cut the next field off @rest. Returns NULL at the end, or with @why set if the
 * field is malformed. A field without its quotes fits in its own place.
 */
static char *next_field(char **rest, const char **why)
{
	char *in = *rest + strspn(*rest, blanks);
	char *field = in, *out = in;

	if (!*in || *in == '#')
		return NULL;
	if (*in != '"') {
		in += strcspn(in, blanks);
		*rest = *in ? in + 1 : in;
		*in = '\0';
		return field;
	}

	for (in++; *in != '"'; *out++ = *in++) {
		if (*in == '\\')
			in++;
		if (!*in) {
			*why = "a quoted field does not end";
			return NULL;
		}
	}
	in++;
	if (*in && !strchr(blanks, *in)) {
		*why = "there is no blank behind a quoted field";
		return NULL;
	}
	*rest = in;
	*out = '\0';
	return field;
}

static bool is_either(const char *field, const char *one, const char *other)
{
	return !strcmp(field, one) || !strcmp(field, other);
}

/* u1.2, u2.0; k1.2 is the kernel's API. */
static bool is_version(const char *field)
{
	size_t len;

	if (*field != 'u' && *field != 'k')
		return false;
	field++;
	len = strspn(field, digits);
	if (!len || field[len] != '.')
		return false;
	field += len + 1;
	return *field && !field[strspn(field, digits)];
}

static bool is_our_version(const char *field)
{
	return is_either(field, "u1.2", "u1.1") || !strcmp(field, "u1.0");
}

/* libdat.so, with or without a version, in any directory */
static bool is_our_library(const char *path)
{
	static const char name[] = "libdat.so";
	const char *slash = strrchr(path, '/');

	if (slash)
		path = slash + 1;
	if (strncmp(path, name, strlen(name)))
		return false;
	path += strlen(name);
	return !*path || *path == '.';
}

/*
 * Either an IA, or a device and a port as in lines for other libraries: the IA
 * is then "device:port". Port 0 means the device alone.
 */
static const char *read_ia_params(char *params, struct libdat_alias *alias)
{
	char *ia = params + strspn(params, blanks);
	char *end = ia + strcspn(ia, blanks);
	char *port = end + strspn(end, blanks);
	size_t len = strspn(port, digits);

	if (!*ia) {
		alias->ia = alias->name;
		return NULL;
	}
	if (port[len + strspn(port + len, blanks)] || (*port == '0' && len > 1))
		return "ia_params is not an IA, or a device and its port";
	port[len] = '\0';
	if (*port && *port != '0') {
		*end++ = ':';
		memmove(end, port, len + 1);
	} else {
		*end = '\0';
	}
	alias->ia = ia;
	return strlen(ia) < DAT_NAME_MAX_LENGTH ?
		       NULL : "the name in ia_params is too long";
}

/* Check the fields that all libraries have. Returns the error, or NULL. */
static const char *check_fields(char *const *field)
{
	if (!is_version(field[API_VERSION]))
		return "api_version is none, such as u1.2";
	if (!is_either(field[THREAD_SAFETY], "threadsafe", "nonthreadsafe"))
		return "neither threadsafe nor nonthreadsafe";
	if (!is_either(field[IS_DEFAULT], "default", "nondefault"))
		return "neither default nor nondefault";
	if (!*field[IA_NAME] || strlen(field[IA_NAME]) >= DAT_NAME_MAX_LENGTH)
		return "ia_name is empty or too long";
	return NULL;
}

/* Returns the error of @line, or NULL: then @alias may be defined. */
static const char *read_line(char *line, struct libdat_alias *alias)
{
	char *field[NUM_FIELDS];
	const char *why = NULL;
	unsigned int num = 0;

	while (num < NUM_FIELDS && (field[num] = next_field(&line, &why)))
		num++;
	if (num > LIBRARY && !is_our_library(field[LIBRARY]))
		alias->library = field[LIBRARY];
	if (!num || why)
		return why;
	if (num < NUM_FIELDS || next_field(&line, &why) || why)
		return "there are not eight fields";
	why = check_fields(field);
	if (why)
		return why;
	if ((alias->library && !*alias->library) ||
	    !is_our_version(field[API_VERSION]) ||
	    strcmp(field[IS_DEFAULT], "default"))
		return NULL;
	alias->name = field[IA_NAME];
	alias->minor = (unsigned int)(field[API_VERSION][3] - '0');
	alias->is_thread_safe = !strcmp(field[THREAD_SAFETY], "threadsafe");
	alias->ia = field[IA_PARAMS];
	return alias->library ? NULL : read_ia_params(field[IA_PARAMS], alias);
}

/**
 * libdat_conf_next - read up to the next line for libdat
 * @conf: the parser; the function overwrites the text
 *
 * Return: true for a line that defines an alias or that is malformed (see @why),
 * false at the end of the text.
 */
bool libdat_conf_next(struct libdat_conf *conf)
{
	char *line, *newline;

	while (conf->text < conf->end) {
		line = conf->text;
		newline = memchr(line, '\n', (size_t)(conf->end - line));
		if (!newline)
			newline = conf->end;
		*newline = '\0';
		conf->text = newline + 1;
		conf->line++;
		conf->alias.name = NULL;
		conf->alias.library = NULL;
		if (line + strlen(line) != newline)
			conf->why = "there is a zero byte";
		else
			conf->why = read_line(line, &conf->alias);
		/* Lines for other libraries may have an unknown format. */
		if (conf->alias.library)
			conf->why = NULL;
		if (conf->why || conf->alias.name)
			return true;
	}
	return false;
}

/* DAT_OVERRIDE may name anything, such as /dev/zero. */
#define MAX_SIZE	(64 * 1024)
#define MAX_ALIASES	1024

/* Read once. The names point into the text, which is never freed. */
static struct libdat_alias aliases[MAX_ALIASES];
static size_t num_aliases;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The text, in a buffer with one spare byte, or NULL and errno */
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

static struct libdat_alias *find_alias(const char *name)
{
	size_t i;

	for (i = 0; i < num_aliases; i++)
		if (!strcmp(aliases[i].name, name))
			return &aliases[i];
	return NULL;
}

/* A line for libdat overrides one for another library. */
static void add_alias(const struct libdat_alias *alias)
{
	struct libdat_alias *old = find_alias(alias->name);

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
		/* /etc/dat.conf is optional. */
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
			add_alias(&conf.alias);
	}
}

/**
 * libdat_aliases - the names that dat.conf(5) defines
 * @num: out: number of names
 *
 * The first call reads the file and prints its errors on the standard error.
 * Thread safe.
 *
 * Return: array of aliases, whose names are unique.
 */
const struct libdat_alias *libdat_aliases(size_t *num)
{
	pthread_once(&once, read_conf);
	*num = num_aliases;
	return aliases;
}

/**
 * libdat_alias_find - look up a name that dat.conf(5) defines
 * @name: the name
 *
 * Thread safe.
 *
 * Return: the alias, or NULL.
 */
const struct libdat_alias *libdat_alias_find(const char *name)
{
	pthread_once(&once, read_conf);
	return find_alias(name);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conf.c - the lines of dat.conf(5)
 */
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

/* A file from another system may have a carriage return before each newline. */
static const char blanks[] = " \t\v\f\r";

static const char digits[] = "0123456789";

/*
 * Cut the next field off @rest; NULL if there is none, or @why tells what is
 * wrong with it. Without its quotes it is shorter, so there is room for it.
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

/* libdat.so, or that with a version, in whatever directory */
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
 * An IA, or a device and a port as other libraries have it, which make an IA
 * with a colon between them. Port 0 says nothing.
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

/* What is wrong with the fields before the library's own; NULL if nothing */
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

/* What is wrong with @line; NULL if nothing, and then there may be an alias. */
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
 * libdat_conf_next - read on to the next line that says something to us
 * @conf: the file's text, which is overwritten, and where in it we are
 *
 * Return: whether there is such a line: one that gives an alias, or one that is
 * malformed, as @why tells.
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
		/* Others may have more in their lines than we know. */
		if (conf->alias.library)
			conf->why = NULL;
		if (conf->why || conf->alias.name)
			return true;
	}
	return false;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conf.c - checks the parser of dat.conf(5)
 */
#include <string.h>

#include "libdat.h"
#include "check.h"

#define OURS	" u1.2 threadsafe default libdat.so.1 dapl.1.2 "
#define LINE	"other" OURS "\"rxe0\" \"\"\n"

/* A copy without spare bytes, so that sanitizers report writes past its end */
static char *start(struct libdat_conf *conf, const char *text, size_t size)
{
	char *copy = malloc(size + 1);

	CHECK(copy);
	memcpy(copy, text, size);
	*conf = (struct libdat_conf){ .text = copy, .end = copy + size };
	return copy;
}

/* @text must have one line that counts: @name for @ia, or malformed */
static void check_one(const char *text, const char *name, const char *ia)
{
	struct libdat_conf conf;
	char *copy = start(&conf, text, strlen(text));

	if (!libdat_conf_next(&conf)) {
		fprintf(stderr, "nothing in: %s", text);
		exit(1);
	}
	if (name) {
		if (conf.why)
			fprintf(stderr, "%s: %s", conf.why, text);
		CHECK(!conf.why);
		CHECK(!strcmp(conf.alias.name, name));
		CHECK(!strcmp(conf.alias.ia, ia));
		CHECK(!conf.alias.library);
	} else {
		if (!conf.why)
			fprintf(stderr, "nothing wrong with: %s", text);
		CHECK(conf.why);
	}
	CHECK(!libdat_conf_next(&conf));
	free(copy);
}

static void check_bad(const char *text)
{
	check_one(text, NULL, NULL);
}

/* @text must have one line: for @library, with the parameters "rxe0 1" */
static void check_other(const char *text, const char *library,
			unsigned int minor, bool is_thread_safe)
{
	struct libdat_conf conf;
	char *copy = start(&conf, text, strlen(text));

	CHECK(libdat_conf_next(&conf));
	CHECK(!conf.why);
	CHECK(!strcmp(conf.alias.name, "a"));
	CHECK(!strcmp(conf.alias.library, library));
	CHECK(!strcmp(conf.alias.ia, "rxe0 1"));
	CHECK(conf.alias.minor == minor);
	CHECK(conf.alias.is_thread_safe == is_thread_safe);
	CHECK(!libdat_conf_next(&conf));
	free(copy);
}

static void check_nothing(const char *text)
{
	struct libdat_conf conf;
	char *copy = start(&conf, text, strlen(text));

	if (libdat_conf_next(&conf)) {
		fprintf(stderr, "something in: %s", text);
		exit(1);
	}
	free(copy);
}

static void check_fields(void)
{
	check_one(LINE, "other", "rxe0");
	check_one("other" OURS "rxe0 x", "other", "rxe0");
	check_one("  other\t" OURS "\trxe0 \"\" \t", "other", "rxe0");
	check_one("other" OURS "rxe0 \"\"\r\n", "other", "rxe0");
	check_one("\r\n\n\t\n" LINE "\n\r\n", "other", "rxe0");
	check_one("other" OURS "rxe0 \"\" # not a field", "other", "rxe0");
	check_one("other" OURS "rxe0 \"\" #", "other", "rxe0");
	check_one("a#b" OURS "rxe0 c#d", "a#b", "rxe0");
	check_one("\"o\" \"u1.1\" \"nonthreadsafe\" \"default\" \"libdat.so\" \"v\" \"rxe0\" \"\"",
		  "o", "rxe0");
	check_one("\"a b\"" OURS "\" rxe0 \" \"\"", "a b", "rxe0");
	check_one("\"a\\\"\\\\\\b#\"" OURS "rxe0 \"\"", "a\"\\b#", "rxe0");
	check_one("a\"b\\" OURS "rxe0 \"\"", "a\"b\\", "rxe0");

	check_bad("other\n");
	check_bad("\"\"\n");
	check_bad("other u1.2 threadsafe default # libdat.so.1 v rxe0 \"\"\n");
	check_bad("other" OURS "\n");
	check_bad("other" OURS "rxe0\n");
	check_bad("other" OURS "rxe0 \"\" more\n");
	check_bad("other" OURS "rxe0 \"\" \"\"\n");
	check_bad("other" OURS "rxe0 \"\" \"\n");
	check_bad("other" OURS "rxe0 \"\n");
	check_bad("other" OURS "rxe0 \"");
	check_bad("other" OURS "rxe0 \"\\");
	check_bad("other" OURS "rxe0 \"\\\"\n");
	check_bad("other" OURS "\"rxe0\"\"\"\n");
	check_bad("other" OURS "\"rxe0\"# \"\"\n");
	check_bad("\"other" OURS "rxe0 \"\"\n");
	check_bad("\"\"" OURS "rxe0 \"\"\n");

	check_nothing("");
	check_nothing("\n");
	check_nothing(" \t\r\v\f");
	check_nothing("# comment");
	check_nothing("  # comment \"\n#\n");
}

static void check_versions(void)
{
	static const char *const other[] = {
		"u2.0", "u1.3", "u0.9", "u1.20", "u11.2", "u01.2", "k1.2",
		"u4294967297.2",
	};
	static const char *const bad[] = {
		"1.2", "u1", "u1.", "u.2", "u", "\"\"", "u1.2.3", "u1.2b", "U1.2",
		"u-1.2",
	};
	char line[256];
	size_t i;

	for (i = 0; i < 3; i++) {
		snprintf(line, sizeof(line),
			 "a u1.%zu threadsafe default libdat.so v rxe0 \"\"", i);
		check_one(line, "a", "rxe0");
	}
	for (i = 0; i < ARRAY_SIZE(other); i++) {
		snprintf(line, sizeof(line),
			 "a %s threadsafe default libdat.so.1 v rxe0 \"\"",
			 other[i]);
		check_nothing(line);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line),
			 "a %s threadsafe default libdat.so.1 v rxe0 \"\"",
			 bad[i]);
		check_bad(line);
	}
	check_bad("a u1.2 threadsafety default libdat.so v rxe0 \"\"\n");
	check_bad("a u1.2 Threadsafe default libdat.so v rxe0 \"\"\n");
	check_bad("a u1.2 threadsafe defaults libdat.so v rxe0 \"\"\n");
	check_nothing("a u1.2 threadsafe nondefault libdat.so v rxe0 \"\"\n");
}

static void check_libraries(void)
{
	static const char *const ours[] = {
		"libdat.so", "libdat.so.1", "libdat.so.1.2.3", "/libdat.so.1",
		"/usr/lib/x86_64-linux-gnu/libdat.so.1", "./libdat.so",
		"\"/a b/libdat.so.1\"",
	};
	static const char *const theirs[] = {
		"libdat2.so.2", "libdat.so1", "libdat.s", "libdat", "libdat.so/",
		"/libdat.so/other.so", "xlibdat.so.1", "libdaplkdat.so.1",
		"libdaplcma.so.1", "/usr/lib/libdaplofa.so.2",
	};
	char line[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++) {
		snprintf(line, sizeof(line),
			 "a u1.2 threadsafe default %s v rxe0 \"\"", ours[i]);
		check_one(line, "a", "rxe0");
	}
	for (i = 0; i < ARRAY_SIZE(theirs); i++) {
		snprintf(line, sizeof(line),
			 "a u1.2 threadsafe default %s v \"rxe0 1\" \"\"",
			 theirs[i]);
		check_other(line, theirs[i], 2, true);
	}
	check_other("a u1.0 nonthreadsafe default \"x y\" v \"rxe0 1\" \"\"",
		    "x y", 0, false);
	check_nothing("a u1.2 threadsafe default \"\" v rxe0 \"\"\n");
	check_nothing("a u2.0 threadsafe default libofa.so v rxe0 \"\"\n");
	check_nothing("a u1.2 threadsafe nondefault libofa.so v rxe0 \"\"\n");
	/* libdat ignores errors in lines of other libraries. */
	check_nothing("a u1.2 maybe default libofa.so v rxe0 \"\"\n");
	check_nothing("a u1.2 threadsafe default libofa.so v rxe0\n");
	check_nothing("a u1.2 threadsafe default libofa.so v rxe0 \"\" x\n");
	check_nothing("a b c d libdaplcma.so.1\n");
	check_nothing("a b c d libdaplcma.so.1 \"\n");
	check_nothing("a b c d libdaplcma.so.1 e f g h i j k\n");
}

static void check_ia_params(void)
{
	check_one("rxe0" OURS "\"\" \"\"\n", "rxe0", "rxe0");
	check_one("rxe0" OURS "\" \t\" \"\"\n", "rxe0", "rxe0");
	check_one("a" OURS "mlx5_0:2 \"\"\n", "a", "mlx5_0:2");
	check_one("a" OURS "\"rxe0 1\" \"\"\n", "a", "rxe0:1");
	check_one("a" OURS "\"\trxe0 \t 12 \t\" \"\"\n", "a", "rxe0:12");
	check_one("a" OURS "\"r 1\" \"\"\n", "a", "r:1");
	check_one("a" OURS "\"rxe0 0\" \"\"\n", "a", "rxe0");
	check_one("a" OURS "\"rxe0  0 \" \"\"\n", "a", "rxe0");

	check_bad("a" OURS "\"rxe0 01\" \"\"\n");
	check_bad("a" OURS "\"rxe0 00\" \"\"\n");
	check_bad("a" OURS "\"rxe0 one\" \"\"\n");
	check_bad("a" OURS "\"rxe0 1a\" \"\"\n");
	check_bad("a" OURS "\"rxe0 -1\" \"\"\n");
	check_bad("a" OURS "\"rxe0 1 2\" \"\"\n");
	check_bad("a" OURS "\"rxe0 0 x\" \"\"\n");
}

static void check_lengths(void)
{
	char x[5000], line[6000];
	int len;

	memset(x, 'x', sizeof(x));
	for (len = DAT_NAME_MAX_LENGTH - 3; len < 5000;
	     len += len < DAT_NAME_MAX_LENGTH + 3 ? 1 : 1000) {
		bool fits = len < DAT_NAME_MAX_LENGTH;
		char name[5001] = "";

		memcpy(name, x, (size_t)len);
		snprintf(line, sizeof(line), "%s" OURS "rxe0 \"\"\n", name);
		check_one(line, fits ? name : NULL, "rxe0");
		snprintf(line, sizeof(line), "a" OURS "%s \"\"\n", name);
		check_one(line, fits ? "a" : NULL, name);
		snprintf(line, sizeof(line), "a" OURS "rxe0 %s", name);
		check_one(line, "a", "rxe0");
		snprintf(line, sizeof(line), "# %s\n\t#\n" LINE, name);
		check_one(line, "other", "rxe0");
		snprintf(line, sizeof(line), "a" OURS "\"%.*s 1\" \"\"\n",
			 len - 2, name);
		memcpy(name + len - 2, ":1", 3);
		check_one(line, fits ? "a" : NULL, name);
	}
}

static void check_many_lines(void)
{
	static const char text[] =
		"# one\n"
		"two\n"
		"three" OURS "rxe0 \"\"\n"
		"four u2.0 threadsafe default libdaplkdat.so.2 v rxe0 \"\"\n"
		"\n"
		"six" OURS "rxe0 \0 \"\"\n"
		"seven" OURS "rxe1 \"\"";
	struct libdat_conf conf;
	char *copy = start(&conf, text, sizeof(text) - 1);

	CHECK(libdat_conf_next(&conf) && conf.line == 2 && conf.why);
	CHECK(libdat_conf_next(&conf) && conf.line == 3 && !conf.why);
	CHECK(!strcmp(conf.alias.name, "three"));
	CHECK(libdat_conf_next(&conf) && conf.line == 6 && conf.why);
	CHECK(libdat_conf_next(&conf) && conf.line == 7 && !conf.why);
	CHECK(!strcmp(conf.alias.name, "seven"));
	CHECK(!strcmp(conf.alias.ia, "rxe1"));
	CHECK(!libdat_conf_next(&conf));
	CHECK(!libdat_conf_next(&conf));
	free(copy);
}

int main(void)
{
	check_fields();
	check_versions();
	check_libraries();
	check_ia_params();
	check_lengths();
	check_many_lines();
	return 0;
}

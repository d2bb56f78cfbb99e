/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * compat.h - what the programs do with return values
 *
 * A program defines COMPAT_FAILED before, the statement that follows a failure: it leaves
 * the function with 1, or ends the process.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include <stdio.h>
#include <dat/udat.h>

static void say_failure(const char *file, int line, const char *what, DAT_RETURN ret)
{
	const char *major = "", *minor = "";

	if (dat_strerror(ret, &major, &minor) != DAT_SUCCESS)
		major = "unknown return value";
	fprintf(stderr, "# %s:%d: %s: %#x %s %s\n", file, line, what, ret, major, minor);
}

#define CALL(call) do {							\
	DAT_RETURN _ret = (call);					\
									\
	if (_ret != DAT_SUCCESS) {					\
		say_failure(__FILE__, __LINE__, #call, _ret);		\
		COMPAT_FAILED;						\
	}								\
} while (0)

#define REQUIRE(condition) do {						\
	if (!(condition)) {						\
		say_failure(__FILE__, __LINE__, #condition, DAT_SUCCESS);	\
		COMPAT_FAILED;						\
	}								\
} while (0)

#endif /* COMPAT_H */

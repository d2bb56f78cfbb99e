/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * report.h - results of a test module, as a file in debugfs
 */
#ifndef SELFTESTS_REPORT_H
#define SELFTESTS_REPORT_H

#include <linux/types.h>

#include "base/error.h"

/**
 * struct ktest - a test
 * @name: behaviour that the test checks
 * @fn: runs the test; returns false, after a report with the reason, on failure
 */
struct ktest {
	const char *name;
	bool (*fn)(void);
};

int report_open(const char *module);
void report_close(void);
__printf(1, 2) void report(const char *fmt, ...);
void report_run(const char *suite, const struct ktest *tests, unsigned int num);

/* Checks for tests. They report the expression, the expected and the actual value. */
#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			report("# %s:%d: not true: %s\n", __func__,	\
			       __LINE__, #cond);			\
			return false;					\
		}							\
	} while (0)

#define CHECK_EQ(expected, seen)					\
	do {								\
		u64 __e = (u64)(expected), __s = (u64)(seen);		\
									\
		if (__e != __s) {					\
			report("# %s:%d: %s is %#llx, not %s (%#llx)\n", \
			       __func__, __LINE__, #seen, __s,		\
			       #expected, __e);				\
			return false;					\
		}							\
	} while (0)

/* A DAT_RETURN without its class bits: type and subtype. */
#define CHECK_RET(type, subtype, seen) \
	CHECK_EQ(DAT_ERROR(type, subtype), seen)

#endif /* SELFTESTS_REPORT_H */

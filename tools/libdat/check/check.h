/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * check.h - an assertion that NDEBUG does not turn off
 */
#ifndef _LIBDAT_CHECK_CHECK_H
#define _LIBDAT_CHECK_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s:%d: %s\n", __FILE__,	\
				__LINE__, #condition);			\
			exit(1);					\
		}							\
	} while (0)

#endif /* _LIBDAT_CHECK_CHECK_H */

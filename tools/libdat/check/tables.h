/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * tables.h - what tables.c and tables-kernel.c share
 *
 * Two files, because DAT 1.2 and DAT 2.0 have the same names for other numbers.
 */
#ifndef _LIBDAT_CHECK_TABLES_H
#define _LIBDAT_CHECK_TABLES_H

/**
 * struct number - one constant of the kernel's <dat/dat_error.h>
 * @value: the value
 * @name: the name; NULL ends the table
 */
struct number {
	unsigned int value;
	const char *name;
};

extern const struct number kernel_types[];
extern const struct number kernel_subtypes[];

#endif /* _LIBDAT_CHECK_TABLES_H */

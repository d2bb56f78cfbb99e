/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * sparse.h - definitions that Debian's sparse needs for the headers of Linux 7.x
 *
 * sparse-gcc passes it to sparse with -include. No compiler reads it.
 */
#define __typeof_unqual__	__typeof__
/* The headers use it in static assertions about string constants. */
#define __builtin_strlen(s)	(sizeof(s) - 1)

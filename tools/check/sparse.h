/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * sparse.h - what the headers of Linux 7.x ask for and Debian's sparse does not know
 *
 * It is read before everything else, by sparse alone.
 */
#define __typeof_unqual__	__typeof__
/* In assertions about string constants; sparse only looks at types. */
#define __builtin_strlen(s)	(sizeof(s) - 1)

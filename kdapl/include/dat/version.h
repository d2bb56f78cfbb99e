/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * version.h - which kdapl this is, and which kernels it is tested on
 *
 * For modinfo and `dat-info --version`. `make check` compares it with tools/vm/kernels
 * and README.md.
 */
#ifndef _DAT_VERSION_H
#define _DAT_VERSION_H

#define DAT_KDAPL_VERSION	"1.3.0"
#define DAT_KDAPL_KERNELS	"6.1, 6.12, 7.3 (x86-64); 6.12 (arm64, 16 KiB pages)"

#endif /* _DAT_VERSION_H */

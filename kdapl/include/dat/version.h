/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * version.h - version of kdapl, and the kernels on which it is tested
 *
 * modinfo and `dat-info --version` print both. `make check` compares the kernels with
 * tools/vm/kernels.
 */
#ifndef _DAT_VERSION_H
#define _DAT_VERSION_H

#define DAT_KDAPL_VERSION	"1.1.0"
#define DAT_KDAPL_KERNELS	\
	"6.1, 6.12, 7.3 (x86-64); 6.12 (arm64, 16 KiB pages); 7.3 (x86-64, PREEMPT_RT)"

#endif /* _DAT_VERSION_H */

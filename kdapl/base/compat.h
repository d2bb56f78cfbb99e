/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * compat.h - differences between the kernels that the module builds for
 *
 * Each entry names the kernel version in which the behaviour or the type changed.
 */
#ifndef _KDAPL_COMPAT_H
#define _KDAPL_COMPAT_H

#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/version.h>

/*
 * After a copy up to the end of an MR, rxe before Linux 6.3 reads one entry past a full
 * page list.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define DAT_RXE_SPARE_PAGES	1
#else
#define DAT_RXE_SPARE_PAGES	0
#endif

/*
 * FOLL flags of ib_umem for read-only memory. Before Linux 6.2 ib_umem breaks
 * copy-on-write sharing first.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define DAT_UMEM_TO_READ	(FOLL_WRITE | FOLL_FORCE)
#else
#define DAT_UMEM_TO_READ	0
#endif

/*
 * Softirqs of one processor may preempt one another: PREEMPT_RT without
 * PREEMPT_RT_NEEDS_BH_LOCK, since Linux 6.18. disable_work_sync() is of Linux 6.10.
 */
#define DAT_SOFTIRQS_NEST	(IS_ENABLED(CONFIG_PREEMPT_RT) && \
				 LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0))

/* ionic is in Linux since 6.18. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define DAT_HAS_IONIC
#endif

/**
 * dat_limit - a limit of struct ib_device_attr, as a count
 * @limit: as the driver reports it: int in Linux 6.x, u32 in Linux 7.3
 *
 * Return: the limit, from 0 to INT_MAX.
 */
static inline int dat_limit(s64 limit)
{
	return clamp_t(s64, limit, 0, INT_MAX);
}

#endif /* _KDAPL_COMPAT_H */

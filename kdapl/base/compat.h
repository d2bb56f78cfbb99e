/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * compat.h - what differs between the kernels that the module builds for
 */
#ifndef _KDAPL_COMPAT_H
#define _KDAPL_COMPAT_H

#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/version.h>

/*
 * rxe before 6.3, when it has copied up to the end of an MR whose list of pages is
 * full, looks at what comes behind the list.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define DAT_RXE_SPARE_PAGES	1
#else
#define DAT_RXE_SPARE_PAGES	0
#endif

/* How ib_umem pins what will only be read: before 6.2 it breaks the sharing first. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define DAT_UMEM_TO_READ	(FOLL_WRITE | FOLL_FORCE)
#else
#define DAT_UMEM_TO_READ	0
#endif

/**
 * dat_limit - a limit of struct ib_device_attr, as a count
 * @limit: as the driver reports it: int in 6.x, u32 in 7.3
 *
 * Return: the limit, from 0 to INT_MAX.
 */
static inline int dat_limit(s64 limit)
{
	return clamp_t(s64, limit, 0, INT_MAX);
}

#endif /* _KDAPL_COMPAT_H */

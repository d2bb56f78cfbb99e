/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * compat.h - differences between the supported kernels
 */
#ifndef _CHARDEV_COMPAT_H
#define _CHARDEV_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

/*
 * Before Linux 6.2 a read-only pin of untouched memory pins the zero page or the page
 * cache. After the process writes, the device still reads the old page. A forced write
 * pin breaks the sharing first, as ib_umem did.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define DAT_PIN_TO_READ		(FOLL_WRITE | FOLL_FORCE)
#else
#define DAT_PIN_TO_READ		0
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags |= set;
	vma->vm_flags &= ~clear;
}
#endif

/* The bytes of a request that belong to the driver. The process may change them. */
static inline const void *dat_uring_payload(const struct io_uring_cmd *cmd)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return cmd->cmd;
#else
	return cmd->sqe->cmd;
#endif
}

#endif /* _CHARDEV_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * uring.h - memory of an EVD's ring
 */
#ifndef _CHARDEV_URING_H
#define _CHARDEV_URING_H

#include <linux/kref.h>

#include "file.h"

struct dat_ucharge;
struct vm_area_struct;

/**
 * struct dat_uring - a ring
 * @ref: one for the EVD, one for each mapping
 * @charge: counters charged for the ring, referenced
 * @entries: capacity in events, a power of two
 * @bytes: size of @mem
 * @mem: the mapped memory; the process can write to all of it, so nothing that is
 *	read from it is trusted
 */
struct dat_uring {
	struct kref ref;
	struct dat_ucharge *charge;
	u32 entries;
	unsigned long bytes;
	struct dat_dev_ring *mem;
};

struct dat_uring *dat_uring_alloc(struct dat_file *file, u32 qlen, int *ret);
void dat_uring_put(struct dat_uring *ring);
int dat_uring_mmap(struct dat_uring *ring, struct vm_area_struct *vma);

#endif /* _CHARDEV_URING_H */

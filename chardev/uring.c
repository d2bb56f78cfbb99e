// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uring.c - memory of an EVD's ring: allocate, charge, map
 *
 * Called in process context when an EVD is created, resized, mapped or freed. A ring is
 * freed when its EVD and its last mapping are.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "charge.h"
#include "compat.h"
#include "uevd.h"

static void uring_release(struct kref *ref)
{
	struct dat_uring *ring = container_of(ref, struct dat_uring, ref);

	vfree(ring->mem);
	dat_uncharge(ring->charge, ring->bytes);
	dat_ucharge_put(ring->charge);
	kfree(ring);
}

/**
 * dat_uring_alloc - allocate a ring
 * @file: the file to charge
 * @qlen: minimum number of events, at least 1
 * @ret: out, on failure: -ENOSPC beyond a limit, -ENOMEM
 *
 * Context: process, may sleep.
 * Return: the ring, zeroed, for dat_uring_put(), or NULL.
 */
struct dat_uring *dat_uring_alloc(struct dat_file *file, u32 qlen, int *ret)
{
	struct dat_uring *ring;
	unsigned long entries = roundup_pow_of_two((unsigned long)qlen);
	size_t bytes = PAGE_ALIGN(struct_size(ring->mem, events, entries));

	*ret = -ENOSPC;
	if (entries > U32_MAX / 2 || !dat_charge(file->charge, bytes, GFP_KERNEL))
		return NULL;
	*ret = -ENOMEM;
	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring) {
		dat_uncharge(file->charge, bytes);
		return NULL;
	}
	kref_init(&ring->ref);
	dat_ucharge_get(file->charge);
	ring->charge = file->charge;
	ring->entries = entries;
	ring->bytes = bytes;
	ring->mem = __vmalloc(ring->bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					   __GFP_NOWARN);
	if (ring->mem)
		return ring;
	dat_uring_put(ring);
	return NULL;
}

/**
 * dat_uring_put - drop a reference
 * @ring: the ring
 *
 * The pages remain, and stay charged, while they are mapped. Context: process, may
 * sleep.
 */
void dat_uring_put(struct dat_uring *ring)
{
	kref_put(&ring->ref, uring_release);
}

static void uring_vm_open(struct vm_area_struct *vma)
{
	struct dat_uring *ring = vma->vm_private_data;

	kref_get(&ring->ref);
}

static void uring_vm_close(struct vm_area_struct *vma)
{
	dat_uring_put(vma->vm_private_data);
}

/* Each mapping references the ring, also a partial or moved mapping. */
static const struct vm_operations_struct uring_vm_ops = {
	.open = uring_vm_open,
	.close = uring_vm_close,
};

/**
 * dat_uring_mmap - map a ring
 * @ring: the ring
 * @vma: the mapping, which references the open file: a child of fork() does not inherit it
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL (not the whole ring, or executable), or an error of
 * vm_insert_page().
 */
int dat_uring_mmap(struct dat_uring *ring, struct vm_area_struct *vma)
{
	unsigned long offset;
	int ret = 0;

	if (vma->vm_end - vma->vm_start != ring->bytes ||
	    vma->vm_flags & VM_EXEC)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTCOPY, VM_MAYEXEC);
	for (offset = 0; offset < ring->bytes && !ret; offset += PAGE_SIZE)
		ret = vm_insert_page(vma, vma->vm_start + offset,
				     vmalloc_to_page((void *)ring->mem +
						     offset));
	if (ret)
		return ret;
	kref_get(&ring->ref);
	vma->vm_private_data = ring;
	vma->vm_ops = &uring_vm_ops;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pin.c - pins memory of a process and charges it
 *
 * Charges mm->pinned_vm up to RLIMIT_MEMLOCK, as ib_umem does for verbs. A user must not
 * get more memory by starting more processes, so payers.c charges the users of the process
 * up to the same limit. The ioctls of LMRs call it, in process context.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "compat.h"
#include "payers.h"
#include "pin.h"

static bool charge_mm(struct mm_struct *mm, unsigned long num_pages,
		      unsigned long limit)
{
	if (atomic64_add_return(num_pages, &mm->pinned_vm) <= limit)
		return true;
	atomic64_sub(num_pages, &mm->pinned_vm);
	return false;
}

static void uncharge_users(struct dat_pin *pin)
{
	if (pin->payers)
		dat_payers_unpin(pin->payers, pin->num_pages);
}

/* With CAP_IPC_LOCK no limit applies and no user is charged. */
static bool charge(struct dat_pin *pin, struct dat_payers *opener)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	pin->payers = NULL;
	if (capable(CAP_IPC_LOCK))
		return charge_mm(pin->mm, pin->num_pages, ULONG_MAX);
	pin->payers = dat_payers_pin(opener, pin->num_pages, limit);
	if (!pin->payers)
		return false;
	if (charge_mm(pin->mm, pin->num_pages, limit))
		return true;
	uncharge_users(pin);
	return false;
}

/* As many page pointers as fit into one page. */
#define BATCH		(PAGE_SIZE / sizeof(struct page *))

/* Every driver that registers memory accepts segments of 1 GiB. */
#define MAX_SEGMENT	(SZ_1G - BATCH * PAGE_SIZE)

/* Shorter runs, and some longer ones, are merged by the sg table code. */
#define LONG_RUN	16

/* Returns the number of pinned pages, which may be less than @num, or an errno. */
static int pin_some(unsigned long start, unsigned long num, unsigned int *flags,
		    bool writable, struct page **pages)
{
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	ret = pin_user_pages_fast(start, num, *flags, pages);
	if (ret == -EFAULT && !writable && *flags & DAT_PIN_TO_READ) {
		/* Shared and read-only: there is no copy-on-write to break. */
		*flags = FOLL_LONGTERM;
		ret = pin_user_pages_fast(start, num, *flags, pages);
	}
	return ret ?: -EFAULT;
}

/* Whether one segment may hold all pages. Some memory types and models forbid it. */
static bool is_one_piece(struct page *first, unsigned int num)
{
	return !is_zone_device_page(first) &&
	       !is_zone_device_page(first + num - 1) &&
	       page_to_pfn(first + num - 1) == page_to_pfn(first) + num - 1;
}

/*
 * Returns the number of pages before the first long run, and its length in @follow.
 * Searches in steps of a long run, so that scattered pages add little work.
 */
static unsigned int find_run(struct page **pages, unsigned int num,
			     unsigned int *follow)
{
	unsigned int n, run;

	for (n = 0; n + LONG_RUN <= num; n += LONG_RUN) {
		if (pages[n + LONG_RUN - 1] != pages[n] + LONG_RUN - 1)
			continue;
		for (run = 1; n + run < num; run++)
			if (pages[n + run] != pages[n] + run)
				break;
		if (!is_one_piece(pages[n], run))
			continue;
		*follow = run - 1;
		return n + 1;
	}
	*follow = 0;
	return num;
}

/*
 * Appends pages to the table. @left more pages will follow. Unpins the pages on error.
 * For a long run appends its first page only and extends the segment by the others.
 */
static int append_pages(struct dat_pin *pin, struct page **pages,
			unsigned int num, unsigned long left)
{
	unsigned int n, follow;
	int err;

	for (; num; num -= n + follow, pages += n + follow) {
		n = find_run(pages, num, &follow);
		/* The table counts the remaining pages in unsigned int. */
		err = sg_alloc_append_table_from_pages(&pin->table, pages, n, 0,
						       (unsigned long)n
								  << PAGE_SHIFT,
						       MAX_SEGMENT,
						       min(num - n - follow +
								   left, BATCH),
						       GFP_KERNEL_ACCOUNT);
		if (err) {
			unpin_user_pages(pages, num);
			return err;
		}
		pin->table.prv->length += follow << PAGE_SHIFT;
	}
	return 0;
}

static int pin_all(struct dat_pin *pin, unsigned long start, struct page **pages)
{
	unsigned int flags = FOLL_LONGTERM |
			     (pin->writable ? FOLL_WRITE : DAT_PIN_TO_READ);
	unsigned long left = pin->num_pages;
	int ret, err;

	while (left) {
		ret = pin_some(start, min(left, BATCH), &flags, pin->writable,
			       pages);
		if (ret < 0)
			return ret;
		left -= ret;
		start += (unsigned long)ret << PAGE_SHIFT;
		err = append_pages(pin, pages, ret, left);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

static void unpin_all(struct dat_pin *pin, bool dirty)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&pin->table.sgt, sg, i)
		unpin_user_page_range_dirty_lock(sg_page(sg),
						 PFN_UP(sg->offset + sg->length),
						 dirty);
	sg_free_append_table(&pin->table);
}

/* Trims the table from whole pages to the requested range. */
static void cut_ends(struct dat_pin *pin, u64 address, u64 length)
{
	struct scatterlist *first = pin->table.sgt.sgl, *last = pin->table.prv;
	unsigned int before = offset_in_page(address);

	last->length -= ((u64)pin->num_pages << PAGE_SHIFT) - before - length;
	first->offset += before;
	first->length -= before;
}

/**
 * dat_pin - pin memory of the current process
 * @pin: out: the pinned range
 * @opener: the users of the process that opened the file, most likely those to charge
 * @address: user address of the first byte
 * @length: bytes, not 0; the range must not wrap around
 * @writable: the device will write to the memory
 *
 * Context: process, may sleep.
 * Return: 0, -EFAULT (part of the range is not mapped or not writable), -EDQUOT
 * (RLIMIT_MEMLOCK of the process or of a charged user), -ENOMEM, -EINTR, or
 * another error of pin_user_pages_fast().
 */
int dat_pin(struct dat_pin *pin, struct dat_payers *opener, u64 address,
	    u64 length, bool writable)
{
	unsigned long start, num_pages;
	struct page **pages;
	int ret;

	start = untagged_addr((unsigned long)address) & PAGE_MASK;
	num_pages = PFN_UP(offset_in_page(address) + length);
	pin->mm = current->mm;
	pin->num_pages = num_pages;
	pin->writable = writable;
	pin->is_charged = true;
	/* Tables count pages in int. */
	if (num_pages > INT_MAX)
		return -ENOMEM;
	if (!charge(pin, opener))
		return -EDQUOT;
	ret = -EFAULT;
	/* A forced pin does not check that the process may read the memory. */
	if (!writable && DAT_PIN_TO_READ &&
	    fault_in_readable(u64_to_user_ptr(address), length))
		goto uncharge;
	ret = -ENOMEM;
	pages = kmalloc_array(min(num_pages, BATCH), sizeof(*pages), GFP_KERNEL);
	if (!pages)
		goto uncharge;
	memset(&pin->table, 0, sizeof(pin->table));
	ret = pin_all(pin, start, pages);
	kfree(pages);
	if (ret)
		goto unpin;
	cut_ends(pin, address, length);
	mmgrab(pin->mm);
	return 0;

unpin:
	unpin_all(pin, false);
uncharge:
	dat_pin_uncharge(pin);
	uncharge_users(pin);
	return ret;
}

/**
 * dat_pin_uncharge - stop charging the process because the device charges it
 * @pin: filled in by dat_pin()
 *
 * The users stay charged.
 * Context: any.
 */
void dat_pin_uncharge(struct dat_pin *pin)
{
	if (pin->is_charged)
		atomic64_sub(pin->num_pages, &pin->mm->pinned_vm);
	pin->is_charged = false;
}

/**
 * dat_unpin - reverse dat_pin(); any process may call it
 * @pin: filled in by dat_pin()
 *
 * Context: process, may sleep.
 */
void dat_unpin(struct dat_pin *pin)
{
	unpin_all(pin, pin->writable);
	dat_pin_uncharge(pin);
	uncharge_users(pin);
	mmdrop(pin->mm);
}

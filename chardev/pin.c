// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pin.c - pins memory of a process and charges it for that
 *
 * The charge goes to mm->pinned_vm and is held against RLIMIT_MEMLOCK, as
 * ib_umem does for memory that is registered by way of verbs. Who has many
 * processes shall not have many times as much: it goes to the user as well,
 * beside what io_uring and others count there.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "compat.h"
#include "pin.h"

static bool charge_mm(struct mm_struct *mm, unsigned long num_pages,
		      unsigned long limit)
{
	if (atomic64_add_return(num_pages, &mm->pinned_vm) <= limit)
		return true;
	atomic64_sub(num_pages, &mm->pinned_vm);
	return false;
}

static bool charge_user(struct user_struct *user, unsigned long num_pages,
			unsigned long limit)
{
	if (atomic_long_add_return(num_pages, &user->locked_vm) <= limit)
		return true;
	atomic_long_sub(num_pages, &user->locked_vm);
	return false;
}

/* Whoever may exceed the limit costs no user anything. */
static bool charge(struct dat_pin *pin)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	pin->cred = NULL;
	if (capable(CAP_IPC_LOCK))
		return charge_mm(pin->mm, pin->num_pages, ULONG_MAX);
	if (!charge_user(current_user(), pin->num_pages, limit))
		return false;
	if (!charge_mm(pin->mm, pin->num_pages, limit)) {
		atomic_long_sub(pin->num_pages, &current_user()->locked_vm);
		return false;
	}
	pin->cred = get_current_cred();
	return true;
}

static void uncharge_user(struct dat_pin *pin)
{
	if (!pin->cred)
		return;
	atomic_long_sub(pin->num_pages, &pin->cred->user->locked_vm);
	put_cred(pin->cred);
}

/* As many as a page has room for. */
#define BATCH		(PAGE_SIZE / sizeof(struct page *))

/* No driver of a device that registers memory takes less than a GiB. */
#define MAX_SEGMENT	(SZ_1G - BATCH * PAGE_SIZE)

/* Shorter runs of pages, and some longer ones, are left for the table's code. */
#define LONG_RUN	16

/* How many have been pinned, which may be fewer than were asked for, or an errno. */
static int pin_some(unsigned long start, unsigned long num, unsigned int *flags,
		    bool writable, struct page **pages)
{
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	ret = pin_user_pages_fast(start, num, *flags, pages);
	if (ret == -EFAULT && !writable && *flags & DAT_PIN_TO_READ) {
		/* Shared and read-only: there is no sharing to break. */
		*flags = FOLL_LONGTERM;
		ret = pin_user_pages_fast(start, num, *flags, pages);
	}
	return ret ?: -EFAULT;
}

/* May all be in one segment? There are kinds of memory, and models, where not. */
static bool is_one_piece(struct page *first, unsigned int num)
{
	return !is_zone_device_page(first) &&
	       !is_zone_device_page(first + num - 1) &&
	       page_to_pfn(first + num - 1) == page_to_pfn(first) + num - 1;
}

/*
 * How many pages there are up to the first of a long run, and how many follow it.
 * Looks in steps of a long run, so that what is scattered costs next to nothing.
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
 * Adds pages to the table, behind which @left more will come; unpins them if that
 * fails. In a huge page nothing has to look at each of them: its first page is
 * added, and the segment grows by the rest.
 */
static int append_pages(struct dat_pin *pin, struct page **pages,
			unsigned int num, unsigned long left)
{
	unsigned int n, follow;
	int err;

	for (; num; num -= n + follow, pages += n + follow) {
		n = find_run(pages, num, &follow);
		/* It counts in unsigned int how much room will be needed. */
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

/* From whole pages to what was asked for. */
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
 * @pin: to be filled in
 * @address: where it begins
 * @length: bytes, not 0; it does not wrap around
 * @writable: it will be written to
 *
 * Context: process, may sleep.
 * Return: 0, -EFAULT (not all of it is memory, or not writable), -EDQUOT
 * (RLIMIT_MEMLOCK, for the process or for its user), -ENOMEM, -EINTR, or
 * another of pin_user_pages_fast().
 */
int dat_pin(struct dat_pin *pin, u64 address, u64 length, bool writable)
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
	/* What tables count in. */
	if (num_pages > INT_MAX)
		return -ENOMEM;
	if (!charge(pin))
		return -EDQUOT;
	ret = -EFAULT;
	/* To force a pin is not to overlook that it must not be read. */
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
	uncharge_user(pin);
	return ret;
}

/**
 * dat_pin_uncharge - somebody else charges the process for these pages
 * @pin: as dat_pin() left it
 *
 * Its user goes on being charged.
 * Context: any.
 */
void dat_pin_uncharge(struct dat_pin *pin)
{
	if (pin->is_charged)
		atomic64_sub(pin->num_pages, &pin->mm->pinned_vm);
	pin->is_charged = false;
}

/**
 * dat_unpin - the reverse of dat_pin(), by whatever process
 * @pin: as dat_pin() left it
 *
 * Context: process, may sleep.
 */
void dat_unpin(struct dat_pin *pin)
{
	unpin_all(pin, pin->writable);
	dat_pin_uncharge(pin);
	uncharge_user(pin);
	mmdrop(pin->mm);
}

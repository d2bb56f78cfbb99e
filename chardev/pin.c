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
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

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

	pin->user = NULL;
	if (capable(CAP_IPC_LOCK))
		return charge_mm(pin->mm, pin->num_pages, ULONG_MAX);
	if (!charge_user(current_user(), pin->num_pages, limit))
		return false;
	if (!charge_mm(pin->mm, pin->num_pages, limit)) {
		atomic_long_sub(pin->num_pages, &current_user()->locked_vm);
		return false;
	}
	pin->user = get_uid(current_user());
	return true;
}

static void uncharge_user(struct dat_pin *pin)
{
	if (!pin->user)
		return;
	atomic_long_sub(pin->num_pages, &pin->user->locked_vm);
	free_uid(pin->user);
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
	unsigned int flags = FOLL_LONGTERM |
			     (writable ? FOLL_WRITE : DAT_PIN_TO_READ);
	unsigned long start, num_pages, done = 0;
	int ret;

	start = untagged_addr((unsigned long)address) & PAGE_MASK;
	num_pages = PFN_UP(offset_in_page(address) + length);
	pin->mm = current->mm;
	pin->num_pages = num_pages;
	pin->writable = writable;
	pin->is_charged = true;
	/* Before the list, which can be large, too. */
	if (!charge(pin))
		return -EDQUOT;
	ret = -EFAULT;
	/* To force a pin is not to overlook that it must not be read. */
	if (!writable && DAT_PIN_TO_READ &&
	    fault_in_readable(u64_to_user_ptr(address), length))
		goto uncharge;
	ret = -ENOMEM;
	pin->pages = kvmalloc_array(num_pages, sizeof(*pin->pages),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pin->pages)
		goto uncharge;

	while (done < num_pages) {
		ret = fatal_signal_pending(current) ? -EINTR :
			pin_user_pages_fast(start + done * PAGE_SIZE,
					    min_t(unsigned long,
						  num_pages - done, INT_MAX),
					    flags, pin->pages + done);
		if (ret == -EFAULT && !writable && flags & DAT_PIN_TO_READ) {
			/* Shared and read-only: there is no sharing to break. */
			flags = FOLL_LONGTERM;
			continue;
		}
		if (ret <= 0)
			goto unpin;
		done += ret;
		cond_resched();
	}
	mmgrab(pin->mm);
	return 0;

unpin:
	unpin_user_pages(pin->pages, done);
	kvfree(pin->pages);
	ret = ret ?: -EFAULT;
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
	unpin_user_pages_dirty_lock(pin->pages, pin->num_pages, pin->writable);
	dat_pin_uncharge(pin);
	uncharge_user(pin);
	mmdrop(pin->mm);
	kvfree(pin->pages);
}

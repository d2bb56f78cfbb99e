// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_user.c - registers memory of a process that the device pins itself
 *
 * ib_reg_user_mr() takes an address and looks up the pages again. The process can have
 * mapped other pages there since the LMR, or its base, was created. Those pages would
 * not be charged to the user, and the LMR would consist of two sets of pages. An LMR is
 * one set of pages from creation to free. This file keeps a registration only if the
 * device has pinned the pages of the LMR's own table. It compares the pages first. An
 * MMU notifier reports whether the mapping changed between the comparison and the end
 * of ib_reg_user_mr(). dat_lmr_register() calls it in process context.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "base/compat.h"
#include "dev/device.h"
#include "dev/quiesce.h"
#include "mem/lmr.h"
#include "mem/pz.h"

#ifdef CONFIG_MMU_NOTIFIER

/* The number of page pointers that fit into one page. */
#define BATCH		(PAGE_SIZE / sizeof(struct page *))

/* Number of attempts. A mapping that changes during all of them changes on purpose. */
#define MAX_TRIES	16

/**
 * struct watch - observes changes of the mapping in the address range of an LMR
 * @notifier: the MMU notifier
 * @lock: orders the callback and the read of @notifier's sequence number
 */
struct watch {
	struct mmu_interval_notifier notifier;
	spinlock_t lock;
};

static bool watch_invalidate(struct mmu_interval_notifier *notifier,
			     const struct mmu_notifier_range *range,
			     unsigned long seq)
{
	struct watch *watch = container_of(notifier, struct watch, notifier);

	/*
	 * fork(), mprotect() and NUMA hints do not move the pages. If they counted,
	 * registrations of a process that forks often would fail.
	 */
	if (range->event == MMU_NOTIFY_PROTECTION_VMA ||
	    range->event == MMU_NOTIFY_PROTECTION_PAGE ||
	    range->event == MMU_NOTIFY_SOFT_DIRTY)
		return true;
	spin_lock(&watch->lock);
	mmu_interval_set_seq(notifier, seq);
	spin_unlock(&watch->lock);
	return true;
}

static const struct mmu_interval_notifier_ops watch_ops = {
	.invalidate = watch_invalidate,
};

static bool watch_has_changed(struct watch *watch, unsigned long seq)
{
	bool changed;

	spin_lock(&watch->lock);
	changed = mmu_interval_read_retry(&watch->notifier, seq);
	spin_unlock(&watch->lock);
	return changed;
}

/* Pin as ib_umem does, so that the pages are the same. */
static int pin_some(unsigned long start, int num, unsigned int *flags,
		    struct page **pages)
{
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	ret = pin_user_pages_fast(start, num, *flags, pages);
	if (ret == -EFAULT && *flags & FOLL_FORCE) {
		/*
		 * A shared read-only mapping: retry without FOLL_WRITE, as
		 * chardev/pin.c does.
		 */
		*flags = FOLL_LONGTERM;
		ret = pin_user_pages_fast(start, num, *flags, pages);
	}
	return ret && ret != -EFAULT ? ret : -ESTALE;
}

static bool are_next_pages(struct sg_page_iter *iter, struct page **pages,
			   int num)
{
	int i;

	for (i = 0; i < num; i++)
		if (!__sg_page_iter_next(iter) ||
		    sg_page_iter_page(iter) != pages[i])
			return false;
	return true;
}

/* Does the process have the LMR's pages mapped in the range of the LMR? */
static int compare_pages(const struct dat_lmr *lmr, unsigned long start,
			 unsigned long num, struct page **pages)
{
	unsigned int flags = FOLL_LONGTERM |
			     (lmr->privileges & DAT_MEM_PRIV_WRITE_FLAG ?
			      FOLL_WRITE : DAT_UMEM_TO_READ);
	struct sg_page_iter iter;
	bool same = true;
	int ret;

	__sg_page_iter_start(&iter, lmr->sgt.sgl, lmr->sgt.orig_nents, 0);
	while (num && same) {
		ret = pin_some(start, min(num, BATCH), &flags, pages);
		if (ret < 0)
			return ret;
		same = are_next_pages(&iter, pages, ret);
		unpin_user_pages(pages, ret);
		start += (unsigned long)ret << PAGE_SHIFT;
		num -= ret;
		cond_resched();
	}
	return same ? 0 : -ESTALE;
}

/* The consumer has charged the process for the pages. ib_umem charges it instead. */
static void uncharge(const struct dat_lmr *lmr)
{
	struct dat_platform_region *p = lmr->region.for_platform;

	if (lmr->mem_type == DAT_MEM_TYPE_PLATFORM && p->uncharge)
		p->uncharge(p);
}

/*
 * Uncharge the process just before ib_umem charges it. If the registration fails, the
 * LMR is not created, and the consumer does not uncharge the process again.
 */
static struct ib_mr *register_same(const struct dat_lmr *lmr,
				   struct watch *watch, unsigned long start,
				   unsigned long num, struct page **pages)
{
	unsigned int tries;
	struct ib_mr *mr;
	unsigned long seq;
	int ret;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		seq = mmu_interval_read_begin(&watch->notifier);
		ret = compare_pages(lmr, start, num, pages);
		if (ret)
			return ERR_PTR(ret);
		uncharge(lmr);
		mr = ib_reg_user_mr(lmr->pz->pd, lmr->start, lmr->length,
				    lmr->address,
				    dat_lmr_access(lmr->privileges));
		if (!watch_has_changed(watch, seq))
			return mr;
		if (!IS_ERR(mr))
			ib_dereg_mr(mr);
	}
	return ERR_PTR(-ESTALE);
}

/*
 * The first notifier of a process takes all locks of its mm, and fails if a signal is
 * pending. With a periodic timer signal no call would ever succeed. All signals except
 * SIGKILL are therefore blocked during the insertion.
 */
static int watch_start(struct watch *watch, unsigned long start,
		       unsigned long num)
{
	sigset_t all, old;
	int ret;

	spin_lock_init(&watch->lock);
	siginitsetinv(&all, sigmask(SIGKILL));
	sigprocmask(SIG_BLOCK, &all, &old);
	ret = mmu_interval_notifier_insert(&watch->notifier, current->mm, start,
					   num << PAGE_SHIFT, &watch_ops);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}

static struct ib_mr *register_watched(struct dat_lmr *lmr, struct page **pages)
{
	unsigned long start = untagged_addr((unsigned long)lmr->start) &
			      PAGE_MASK;
	unsigned long num = PFN_UP(offset_in_page(lmr->start) + lmr->length);
	struct dat_ia_pinner pinner;
	struct ib_mr *mr;
	struct watch watch;
	int ret;

	ret = watch_start(&watch, start, num);
	if (ret)
		return ERR_PTR(ret);
	dat_ia_pin_begin(lmr->obj.ia, &pinner);
	mr = register_same(lmr, &watch, start, num, pages);
	dat_ia_pin_end(lmr->obj.ia, &pinner);
	mmu_interval_notifier_remove(&watch.notifier);
	return mr;
}

/**
 * dat_lmr_reg_user_mr - register memory of the calling process by its address
 * @lmr: the LMR, from dat_lmr_map()
 *
 * The pages can have any number and any physical addresses.
 *
 * Context: process, may sleep.
 * Return: the MR, or an ERR_PTR(): -E2BIG (the memory does not belong to the caller, or
 * the device cannot register it); -ESTALE (other pages are mapped there now); -EINTR (a
 * signal arrived first); another errno.
 */
struct ib_mr *dat_lmr_reg_user_mr(struct dat_lmr *lmr)
{
	struct page **pages;
	struct ib_mr *mr;

	/*
	 * A new mm may have the same address by now. The comparison of pages detects
	 * that.
	 */
	if (!lmr->user_mm || lmr->user_mm != current->mm ||
	    lmr->length > dat_dev_max_user_mr(lmr->pz->pd->device))
		return ERR_PTR(-E2BIG);
	pages = kmalloc_array(BATCH, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	mr = register_watched(lmr, pages);
	kfree(pages);
	return mr;
}

#else

/* Without MMU notifiers a change of the mapping cannot be detected. */
struct ib_mr *dat_lmr_reg_user_mr(struct dat_lmr *lmr)
{
	return ERR_PTR(-E2BIG);
}

#endif /* CONFIG_MMU_NOTIFIER */

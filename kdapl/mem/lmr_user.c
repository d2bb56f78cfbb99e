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
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
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

/*
 * A removal of the device waits, and may have to kill the process. A process that waits for a
 * page of FUSE cannot be killed, so only faults of memory are permitted. Pages of files are
 * there already: the LMR, or its base, has pinned them.
 */
static bool may_fault(unsigned long addr)
{
	struct vm_area_struct *vma;
	unsigned long magic;
	bool ok = false;

	if (mmap_read_lock_killable(current->mm))
		return false;
	vma = vma_lookup(current->mm, addr);
	if (vma && vma->vm_file) {
		magic = file_inode(vma->vm_file)->i_sb->s_magic;
		ok = magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC;
	} else if (vma) {
		ok = vma_is_anonymous(vma);
	}
	mmap_read_unlock(current->mm);
	return ok;
}

/*
 * Pin as ib_umem does, so that the pages are the same. A shared read-only mapping needs a
 * retry without FOLL_WRITE, as in chardev/pin.c.
 */
static int pin_as_umem(unsigned long start, int num, unsigned int *flags, unsigned int more,
		       struct page **pages)
{
	int ret = pin_user_pages_fast(start, num, *flags | more, pages);

	if (ret != -EFAULT || !(*flags & FOLL_FORCE))
		return ret;
	ret = pin_user_pages_fast(start, num, FOLL_LONGTERM | more, pages);
	if (ret > 0)
		*flags = FOLL_LONGTERM;
	return ret;
}

static int pin_some(unsigned long start, int num, unsigned int *flags,
		    struct page **pages)
{
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	ret = pin_as_umem(start, num, flags, FOLL_NOFAULT, pages);
	if (ret <= 0 && may_fault(start))
		ret = pin_as_umem(start, 1, flags, 0, pages);
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

/*
 * The process is charged for the pages: by the consumer, or for the LMR that this one is over.
 * ib_umem is about to charge it again.
 */
static void uncharge(struct dat_lmr *lmr, unsigned long num)
{
	struct dat_platform_region *p = lmr->region.for_platform;

	if (lmr->mem_type == DAT_MEM_TYPE_LMR) {
		atomic64_sub(num, &current->mm->pinned_vm);
		mmgrab(current->mm);
		lmr->uncharged_mm = current->mm;
		lmr->uncharged = num;
	} else if (lmr->mem_type == DAT_MEM_TYPE_PLATFORM && p->uncharge) {
		p->uncharge(p);
	}
}

/**
 * dat_lmr_recharge - charge a process again for the LMR that an LMR is over
 * @lmr: the LMR; no effect if dat_lmr_reg_user_mr() has not registered it
 *
 * ib_umem uncharges the process when the region of @lmr ends, which is next.
 *
 * Context: process.
 */
void dat_lmr_recharge(struct dat_lmr *lmr)
{
	if (!lmr->uncharged_mm)
		return;
	atomic64_add(lmr->uncharged, &lmr->uncharged_mm->pinned_vm);
	mmdrop(lmr->uncharged_mm);
	lmr->uncharged_mm = NULL;
}

/*
 * Uncharge the process just before ib_umem charges it. If the registration fails, the
 * LMR is not created, and the consumer does not uncharge the process again.
 */
static struct ib_mr *register_same(struct dat_lmr *lmr,
				   struct watch *watch, unsigned long start,
				   unsigned long num, struct page **pages)
{
	unsigned int tries;
	struct ib_mr *mr;
	unsigned long seq;
	bool has_changed;
	int ret;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		seq = mmu_interval_read_begin(&watch->notifier);
		ret = compare_pages(lmr, start, num, pages);
		if (ret)
			return ERR_PTR(ret);
		uncharge(lmr, num);
		mr = ib_reg_user_mr(lmr->pz->pd, lmr->start, lmr->length,
				    lmr->address,
				    dat_lmr_access(lmr->privileges));
		has_changed = watch_has_changed(watch, seq);
		if (IS_ERR(mr) || has_changed)
			dat_lmr_recharge(lmr);
		if (!has_changed)
			return mr;
		if (!IS_ERR(mr))
			ib_dereg_mr(mr);
	}
	return ERR_PTR(-ESTALE);
}

/*
 * The first interval notifier of an mm waits for its lock, which another thread may hold while
 * it waits for a page of FUSE. So wait where the process can be killed; no later notifier
 * waits. While the IA has the mm grabbed, no other mm has its address.
 */
static int allow_notifiers(struct dat_ia *ia)
{
	struct mm_struct *old;
	int ret;

	if (READ_ONCE(ia->watched_mm) == current->mm)
		return 0;
	if (mmap_write_lock_killable(current->mm))
		return -EINTR;
	ret = __mmu_notifier_register(NULL, current->mm);
	mmap_write_unlock(current->mm);
	if (ret)
		return ret;
	mmgrab(current->mm);
	old = xchg(&ia->watched_mm, current->mm);
	if (old)
		mmdrop(old);
	return 0;
}

/*
 * The first notifier of a process takes all locks of its mm, and fails if a signal is
 * pending. With a periodic timer signal no call would ever succeed. All signals except
 * SIGKILL are therefore blocked during the insertion.
 */
static int watch_start(struct watch *watch, struct dat_ia *ia, unsigned long start,
		       unsigned long num)
{
	sigset_t all, old;
	int ret;

	spin_lock_init(&watch->lock);
	siginitsetinv(&all, sigmask(SIGKILL));
	sigprocmask(SIG_BLOCK, &all, &old);
	ret = allow_notifiers(ia) ?:
	      mmu_interval_notifier_insert(&watch->notifier, current->mm, start,
					   num << PAGE_SHIFT, &watch_ops);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret;
}

static struct ib_mr *register_watched(struct dat_lmr *lmr, struct page **pages)
{
	unsigned long start = untagged_addr((unsigned long)lmr->start) &
			      PAGE_MASK;
	unsigned long num = PFN_UP(offset_in_page(lmr->start) + lmr->length);
	struct dat_ia *ia = lmr->obj.ia;
	struct dat_ia_pinner pinner;
	struct watch watch;
	struct ib_mr *mr;
	int ret;

	dat_ia_pin_begin(ia, &pinner);
	ret = watch_start(&watch, ia, start, num);
	mr = ret ? ERR_PTR(ret) : register_same(lmr, &watch, start, num, pages);
	dat_ia_pin_end(ia, &pinner);
	if (!ret)
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
	    lmr->length > dat_dev_max_user_mr(lmr->pz->pd->device) ||
	    !dat_dev_user_mr_fits(lmr->pz->pd->device, lmr->start, lmr->address))
		return ERR_PTR(-E2BIG);
	pages = kmalloc_array(BATCH, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	mr = register_watched(lmr, pages);
	kfree(pages);
	return mr;
}

#else

void dat_lmr_recharge(struct dat_lmr *lmr)
{
}

/* Without MMU notifiers a change of the mapping cannot be detected. */
struct ib_mr *dat_lmr_reg_user_mr(struct dat_lmr *lmr)
{
	return ERR_PTR(-E2BIG);
}

#endif /* CONFIG_MMU_NOTIFIER */

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * payers.c - the users who are charged for a process
 *
 * A user can map thousands of subordinate ids into a user namespace, and each id is a user
 * of its own. So the user of a process is charged, and the owner of each user namespace that
 * the process is in, as the kernel does for RLIMIT_MEMLOCK. Root owns the namespaces of
 * many containers. Root is not charged for them, or they would share one limit.
 *
 * Owns the table of all charged users. charge.c charges bytes, pin.c charges pages.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/refcount.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "payers.h"

/**
 * struct dat_payer - a charged user
 * @node: in the table
 * @ref: number of struct dat_payers that contain the user; guarded by table_lock
 * @uid: the user's id
 * @bytes: bytes of kernel and device memory
 * @pinned: pinned pages
 */
struct dat_payer {
	struct hlist_node node;
	unsigned int ref;
	kuid_t uid;
	atomic_long_t bytes;
	atomic_long_t pinned;
};

/**
 * struct dat_payers - the users who are charged for a process
 * @ref: one for each open file, and one for each pinned range
 * @cred: referenced credentials of the process. Early 6.1 kernels do not export free_uid(),
 *	so the user itself cannot be referenced.
 * @num: number of users
 * @level: the user of the process, then the owners, from the inner namespace outwards
 * @level.payer: the user; no user occurs twice
 * @level.max_pages: pages that the user's namespaces can pin: RLIMIT_MEMLOCK of the processes
 *	that created the namespaces
 */
struct dat_payers {
	refcount_t ref;
	const struct cred *cred;
	unsigned int num;
	struct {
		struct dat_payer *payer;
		unsigned long max_pages;
	} level[];
};

/* A user with 65,536 ids must not make long lists. */
static DEFINE_HASHTABLE(table, 10);
static DEFINE_SPINLOCK(table_lock);

static struct dat_payer *lookup(kuid_t uid)
{
	struct dat_payer *payer;

	hash_for_each_possible(table, payer, node, __kuid_val(uid))
		if (uid_eq(payer->uid, uid))
			return payer;
	return NULL;
}

static struct dat_payer *payer_get(kuid_t uid)
{
	struct dat_payer *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	struct dat_payer *payer;

	if (!new)
		return NULL;
	new->uid = uid;
	spin_lock_bh(&table_lock);
	payer = lookup(uid);
	if (!payer) {
		swap(payer, new);
		hash_add(table, &payer->node, __kuid_val(uid));
	}
	payer->ref++;
	spin_unlock_bh(&table_lock);
	kfree(new);
	return payer;
}

static void payer_put(struct dat_payer *payer)
{
	bool last;

	spin_lock_bh(&table_lock);
	last = !--payer->ref;
	if (last)
		hash_del(&payer->node);
	spin_unlock_bh(&table_lock);
	if (!last)
		return;
	WARN_ON_ONCE(atomic_long_read(&payer->bytes) ||
		     atomic_long_read(&payer->pinned));
	kfree(payer);
}

static bool add_level(struct dat_payers *payers, kuid_t uid,
		      unsigned long max_pages)
{
	struct dat_payer *payer;
	unsigned int i;

	for (i = 0; i < payers->num; i++)
		if (uid_eq(payers->level[i].payer->uid, uid)) {
			payers->level[i].max_pages =
				min(payers->level[i].max_pages, max_pages);
			return true;
		}
	payer = payer_get(uid);
	if (!payer)
		return false;
	payers->level[i].payer = payer;
	payers->level[i].max_pages = max_pages;
	payers->num++;
	return true;
}

static bool add_levels(struct dat_payers *payers)
{
	struct user_namespace *ns;
	unsigned long limit;

	if (!add_level(payers, current_uid(), ULONG_MAX))
		return false;
	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent) {
		if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
			continue;
		limit = get_userns_rlimit_max(ns, UCOUNT_RLIMIT_MEMLOCK);
		if (!add_level(payers, ns->owner, limit >> PAGE_SHIFT))
			return false;
	}
	return true;
}

/**
 * dat_payers_open - find the users who are charged for the current process
 *
 * Context: process, may sleep.
 * Return: the users, for dat_payers_put(), or NULL without memory.
 */
struct dat_payers *dat_payers_open(void)
{
	struct dat_payers *payers;

	payers = kzalloc(struct_size(payers, level, current_user_ns()->level + 1),
			 GFP_KERNEL_ACCOUNT);
	if (!payers)
		return NULL;
	refcount_set(&payers->ref, 1);
	payers->cred = get_current_cred();
	if (add_levels(payers))
		return payers;
	dat_payers_put(payers);
	return NULL;
}

/**
 * dat_payers_put - drop a reference
 * @payers: the users
 *
 * Context: process or softirq.
 */
void dat_payers_put(struct dat_payers *payers)
{
	unsigned int i;

	if (!refcount_dec_and_test(&payers->ref))
		return;
	for (i = 0; i < payers->num; i++)
		payer_put(payers->level[i].payer);
	put_cred(payers->cred);
	kfree(payers);
}

static void sub_bytes(struct dat_payers *payers, size_t bytes, unsigned int num)
{
	while (num--)
		atomic_long_sub(bytes, &payers->level[num].payer->bytes);
}

/**
 * dat_payers_charge - charge users for memory of the kernel or of a device
 * @payers: the users
 * @bytes: bytes to charge, at most LONG_MAX / 2
 * @limit: bytes that each user can have
 *
 * Context: any.
 * Return: true; false if one of the users is beyond the limit, then none is charged.
 */
bool dat_payers_charge(struct dat_payers *payers, size_t bytes,
		       unsigned long limit)
{
	unsigned int i;

	for (i = 0; i < payers->num; i++)
		if (!dat_add_within(&payers->level[i].payer->bytes, bytes,
				    limit)) {
			sub_bytes(payers, bytes, i);
			return false;
		}
	return true;
}

/**
 * dat_payers_uncharge - reverse dat_payers_charge()
 * @payers: the users
 * @bytes: bytes to uncharge
 *
 * Context: any.
 */
void dat_payers_uncharge(struct dat_payers *payers, size_t bytes)
{
	sub_bytes(payers, bytes, payers->num);
}

/*
 * The users of the current process. The process that opened the file rarely has
 * others, so most calls allocate nothing.
 */
static struct dat_payers *current_payers(struct dat_payers *known)
{
	if (current_user() != known->cred->user ||
	    current_user_ns() != known->cred->user_ns)
		return dat_payers_open();
	refcount_inc(&known->ref);
	return known;
}

static void unpin_levels(struct dat_payers *payers, unsigned long num_pages,
			 unsigned int num)
{
	while (num--)
		atomic_long_sub(num_pages, &payers->level[num].payer->pinned);
}

static bool pin_levels(struct dat_payers *payers, unsigned long num_pages,
		       unsigned long limit)
{
	unsigned int i;

	for (i = 0; i < payers->num; i++) {
		if (!dat_add_within(&payers->level[i].payer->pinned, num_pages,
				    min(payers->level[i].max_pages, limit))) {
			unpin_levels(payers, num_pages, i);
			return false;
		}
		/* RLIMIT_MEMLOCK of the process limits its own user only. */
		limit = ULONG_MAX;
	}
	return true;
}

/**
 * dat_payers_pin - charge the users of the current process for pages that it pins
 * @known: the users of the process that opened the file
 * @num_pages: pages to charge, at most INT_MAX
 * @limit: RLIMIT_MEMLOCK of the process, in pages
 *
 * The counter of io_uring and others, user->locked_vm, is charged up to the same limit.
 * It exists for the user of the process only.
 *
 * Context: process, may sleep.
 * Return: the charged users, for dat_payers_unpin(); NULL if one of them is beyond the
 * limit, or without memory.
 */
struct dat_payers *dat_payers_pin(struct dat_payers *known,
				  unsigned long num_pages, unsigned long limit)
{
	struct dat_payers *payers = current_payers(known);

	if (!payers)
		return NULL;
	if (!dat_add_within(&payers->cred->user->locked_vm, num_pages, limit))
		goto put;
	if (!pin_levels(payers, num_pages, limit))
		goto uncharge;
	return payers;

uncharge:
	atomic_long_sub(num_pages, &payers->cred->user->locked_vm);
put:
	dat_payers_put(payers);
	return NULL;
}

/**
 * dat_payers_unpin - reverse dat_payers_pin(); any process may call it
 * @payers: the users that were charged
 * @num_pages: the pages
 *
 * Context: process or softirq.
 */
void dat_payers_unpin(struct dat_payers *payers, unsigned long num_pages)
{
	unpin_levels(payers, num_pages, payers->num);
	atomic_long_sub(num_pages, &payers->cred->user->locked_vm);
	dat_payers_put(payers);
}

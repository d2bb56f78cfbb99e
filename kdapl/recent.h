/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * recent.h - finds entries of a table that are in use without walking it
 *
 * A DTO looks up its EP, its LMRs and its EVD, and to walk an xarray takes longer
 * than all else that is looked at. The table stays what says what there is: nothing
 * is here that is not there, because both are written under the table's lock.
 */
#ifndef _KDAPL_RECENT_H
#define _KDAPL_RECENT_H

#include <linux/rcupdate.h>

struct xarray;

#define DAT_RECENT_SLOTS	256

/**
 * struct dat_recent - entries of a table that were stored, or looked up, lately
 * @slots: for each value of the low bits of the index
 */
struct dat_recent {
	void __rcu *slots[DAT_RECENT_SLOTS];
};

/**
 * dat_recent_find - an entry that may be the one
 * @recent: what is found at once
 * @index: of the entry
 *
 * Context: any; in an RCU read-side section, be it rcu_read_lock_bh(), to which the
 * entry's memory is tied.
 * Return: an entry of the table, which may have another index; or NULL.
 */
static inline void *dat_recent_find(const struct dat_recent *recent,
				    unsigned long index)
{
	return rcu_dereference_check(recent->slots[index % DAT_RECENT_SLOTS],
				     rcu_read_lock_bh_held());
}

/**
 * dat_recent_add - an entry has been stored
 * @recent: what is found at once
 * @index: of the entry
 * @entry: the entry
 *
 * Context: any; the lock of the table has been held since it was stored.
 */
static inline void dat_recent_add(struct dat_recent *recent,
				  unsigned long index, void *entry)
{
	rcu_assign_pointer(recent->slots[index % DAT_RECENT_SLOTS], entry);
}

/**
 * dat_recent_remove - an entry has been erased
 * @recent: what is found at once
 * @index: of the entry
 * @entry: the entry
 *
 * Context: any; the lock of the table has been held since it was erased.
 */
static inline void dat_recent_remove(struct dat_recent *recent,
				     unsigned long index, const void *entry)
{
	void __rcu **slot = &recent->slots[index % DAT_RECENT_SLOTS];

	if (rcu_access_pointer(*slot) == entry)
		RCU_INIT_POINTER(*slot, NULL);
}

/* recent.c */
void dat_recent_walked(struct dat_recent *recent, struct xarray *table,
		       unsigned long index, void *entry);

#endif /* _KDAPL_RECENT_H */

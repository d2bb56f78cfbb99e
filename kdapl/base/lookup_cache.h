/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * lookup_cache.h - a direct-mapped cache in front of an xarray
 *
 * A DTO looks up its EP, its LMRs and its EVD. The walk of an xarray is the most
 * expensive part of that. The xarray remains authoritative: both are written under its
 * lock, so that every entry of the cache is in the xarray.
 */
#ifndef _KDAPL_RECENT_H
#define _KDAPL_RECENT_H

#include <linux/bottom_half.h>
#include <linux/irqflags.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#define DAT_LOOKUP_CACHE_SLOTS	256

/**
 * struct dat_lookup_cache - entries of a table that were stored, or looked up, lately
 * @slots: for each value of the low bits of the index
 * @walks: walks of the table, modulo 2^32
 */
struct dat_lookup_cache {
	void __rcu *slots[DAT_LOOKUP_CACHE_SLOTS];
	unsigned int walks;
};

/**
 * dat_lookup_cache_find - an entry that may be the one
 * @recent: what is found at once
 * @index: of the entry
 *
 * Context: any; in an RCU read-side section, be it rcu_read_lock_bh(), to which the
 * entry's memory is tied.
 * Return: an entry of the table, which may have another index; or NULL.
 */
static inline void *dat_lookup_cache_find(const struct dat_lookup_cache *recent,
					  unsigned long index)
{
	return rcu_dereference_check(recent->slots[index % DAT_LOOKUP_CACHE_SLOTS],
				     rcu_read_lock_bh_held());
}

/**
 * dat_lookup_cache_add - an entry has been stored
 * @recent: what is found at once
 * @index: of the entry
 * @entry: the entry
 *
 * Context: any; the lock of the table has been held since it was stored.
 */
static inline void dat_lookup_cache_add(struct dat_lookup_cache *recent,
					unsigned long index, void *entry)
{
	rcu_assign_pointer(recent->slots[index % DAT_LOOKUP_CACHE_SLOTS], entry);
}

/**
 * dat_lookup_cache_remove - an entry has been erased
 * @recent: what is found at once
 * @index: of the entry
 * @entry: the entry
 *
 * Context: any; the lock of the table has been held since it was erased.
 */
static inline void dat_lookup_cache_remove(struct dat_lookup_cache *recent,
					   unsigned long index, const void *entry)
{
	void __rcu **slot = &recent->slots[index % DAT_LOOKUP_CACHE_SLOTS];

	if (rcu_access_pointer(*slot) == entry)
		RCU_INIT_POINTER(*slot, NULL);
}

/* A walk in so many refills the slot: two entries of one slot may be looked up in turn. */
#define DAT_LOOKUP_CACHE_REFILL	16

/**
 * dat_lookup_cache_refill - refill the cache after a walk of the table
 * @recent: the cache
 * @table: the table
 * @index: index of the entry
 * @entry: the entry that the walk found
 *
 * Context: any; in an RCU read-side section, to which the entry's memory is tied.
 */
static inline void dat_lookup_cache_refill(struct dat_lookup_cache *recent,
					   struct xarray *table, unsigned long index,
					   void *entry)
{
	/* A lost increment does no harm. */
	if (data_race(++recent->walks) % DAT_LOOKUP_CACHE_REFILL || irqs_disabled())
		return;
	local_bh_disable();
	if (xa_trylock(table)) {
		/* The entry may have been erased meanwhile. */
		if (xa_load(table, index) == entry)
			dat_lookup_cache_add(recent, index, entry);
		xa_unlock(table);
	}
	local_bh_enable();
}

#endif /* _KDAPL_RECENT_H */

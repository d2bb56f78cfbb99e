/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * lookup_cache.h - a direct-mapped cache in front of an xarray
 *
 * A DTO looks up its EP, its LMRs and its EVD. The walk of an xarray is the most
 * expensive part of the lookup. The xarray remains authoritative: both are written
 * under its lock, so every entry of the cache is in the xarray.
 */
#ifndef _LOOKUP_CACHE_H
#define _LOOKUP_CACHE_H

#include <linux/bottom_half.h>
#include <linux/irqflags.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#define DAT_LOOKUP_CACHE_SLOTS	256

/**
 * struct dat_lookup_cache - entries of an xarray that were stored or looked up lately
 * @slots: one entry for each value of the low bits of the index
 * @walks: number of walks of the xarray, modulo 2^32
 */
struct dat_lookup_cache {
	void __rcu *slots[DAT_LOOKUP_CACHE_SLOTS];
	unsigned int walks;
};

/**
 * dat_lookup_cache_find - look up an index in the cache
 * @cache: the cache
 * @index: index of the wanted entry
 *
 * Context: any; in an RCU read-side section that protects the memory of the entry;
 * rcu_read_lock_bh() suffices.
 * Return: an entry of the xarray, or NULL. The caller must compare its index: the entry
 * may have another one.
 */
static inline void *dat_lookup_cache_find(const struct dat_lookup_cache *cache,
					  unsigned long index)
{
	return rcu_dereference_check(cache->slots[index % DAT_LOOKUP_CACHE_SLOTS],
				     rcu_read_lock_bh_held());
}

/**
 * dat_lookup_cache_add - add an entry that was stored in the xarray
 * @cache: the cache
 * @index: index of the entry
 * @entry: the entry
 *
 * Context: any; the caller has held the lock of the xarray since it stored the entry.
 */
static inline void dat_lookup_cache_add(struct dat_lookup_cache *cache,
					unsigned long index, void *entry)
{
	rcu_assign_pointer(cache->slots[index % DAT_LOOKUP_CACHE_SLOTS], entry);
}

/**
 * dat_lookup_cache_remove - remove an entry that was erased from the xarray
 * @cache: the cache
 * @index: index of the entry
 * @entry: the entry
 *
 * Context: any; the caller has held the lock of the xarray since it erased the entry.
 */
static inline void dat_lookup_cache_remove(struct dat_lookup_cache *cache,
					   unsigned long index, const void *entry)
{
	void __rcu **slot = &cache->slots[index % DAT_LOOKUP_CACHE_SLOTS];

	if (rcu_access_pointer(*slot) == entry)
		RCU_INIT_POINTER(*slot, NULL);
}

/*
 * One walk in 16 refills the slot, because lookups may alternate between two entries of
 * one slot.
 */
#define DAT_LOOKUP_CACHE_REFILL	16

/**
 * dat_lookup_cache_refill - refill the cache after a walk of the xarray
 * @cache: the cache
 * @table: the xarray
 * @index: index of the entry
 * @entry: the entry that the walk found
 *
 * Context: any; in an RCU read-side section that protects the memory of the entry.
 */
static inline void dat_lookup_cache_refill(struct dat_lookup_cache *cache,
					   struct xarray *table, unsigned long index,
					   void *entry)
{
	/* A lost increment only delays a refill. */
	if (data_race(++cache->walks) % DAT_LOOKUP_CACHE_REFILL || irqs_disabled())
		return;
	local_bh_disable();
	if (xa_trylock(table)) {
		/* Another CPU may have erased the entry since the walk. */
		if (xa_load(table, index) == entry)
			dat_lookup_cache_add(cache, index, entry);
		xa_unlock(table);
	}
	local_bh_enable();
}

#endif /* _LOOKUP_CACHE_H */

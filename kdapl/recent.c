// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * recent.c - what is looked up often comes back among what is found at once
 */
#include <linux/bottom_half.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/xarray.h>

#include "recent.h"

/* Two that share a slot, and are looked up in turn, shall not cost much more. */
#define WALKS_FOR_A_PLACE	16

static DEFINE_PER_CPU(unsigned int, num_walks);

/**
 * dat_recent_walked - an entry was not found at once, but in the table
 * @recent: what is found at once
 * @table: the table
 * @index: of the entry
 * @entry: the entry
 *
 * Once in some times it takes the place of the one that was in the way.
 *
 * Context: any; in an RCU read-side section, to which the entry's memory is tied.
 */
void dat_recent_walked(struct dat_recent *recent, struct xarray *table,
		       unsigned long index, void *entry)
{
	if (this_cpu_inc_return(num_walks) % WALKS_FOR_A_PLACE ||
	    irqs_disabled())
		return;
	local_bh_disable();
	if (xa_trylock(table)) {
		/* It may have been erased by now. */
		if (xa_load(table, index) == entry)
			dat_recent_add(recent, index, entry);
		xa_unlock(table);
	}
	local_bh_enable();
}

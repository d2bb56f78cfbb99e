/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * payers.h - the users who are charged for a process
 */
#ifndef _CHARDEV_PAYERS_H
#define _CHARDEV_PAYERS_H

#include <linux/atomic.h>
#include <linux/types.h>

struct dat_payers;

/* Adds to a counter, or returns false if the sum would exceed the limit. */
static inline bool dat_add_within(atomic_long_t *counter, unsigned long num,
				  unsigned long limit)
{
	if (atomic_long_add_return(num, counter) <= limit)
		return true;
	atomic_long_sub(num, counter);
	return false;
}

struct dat_payers *dat_payers_open(void);
void dat_payers_put(struct dat_payers *payers);
bool dat_payers_charge(struct dat_payers *payers, size_t bytes,
		       unsigned long limit);
void dat_payers_uncharge(struct dat_payers *payers, size_t bytes);
struct dat_payers *dat_payers_pin(struct dat_payers *known,
				  unsigned long num_pages, unsigned long limit);
void dat_payers_unpin(struct dat_payers *payers, unsigned long num_pages);

#endif /* _CHARDEV_PAYERS_H */

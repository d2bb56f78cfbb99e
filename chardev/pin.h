/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * pin.h - pinned memory of a process
 */
#ifndef _CHARDEV_PIN_H
#define _CHARDEV_PIN_H

#include <linux/scatterlist.h>

struct mm_struct;
struct dat_payers;

/**
 * struct dat_pin - a pinned range
 * @mm: the charged address space; its structure is referenced
 * @payers: the charged users, referenced; NULL if no limit applies
 * @table: the pages, in order, from the first byte to the last
 * @num_pages: number of pages
 * @writable: the device may have written to the pages
 * @is_charged: @mm is charged for the pages
 */
struct dat_pin {
	struct mm_struct *mm;
	struct dat_payers *payers;
	struct sg_append_table table;
	unsigned long num_pages;
	bool writable;
	bool is_charged;
};

int dat_pin(struct dat_pin *pin, struct dat_payers *opener, u64 address,
	    u64 length, bool writable);
void dat_pin_uncharge(struct dat_pin *pin);
void dat_unpin(struct dat_pin *pin);

#endif /* _CHARDEV_PIN_H */

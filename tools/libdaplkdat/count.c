// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * count.c - counting what happens to objects
 */
#include "kdat.h"

/**
 * kdat_count - an object's counter grows
 * @handle: the object, or DAT_HANDLE_NULL
 * @kind: what it is
 * @counter: number of the counter
 * @by: how much
 *
 * Thread safe. Without memory for counters nothing is counted.
 */
void kdat_count(DAT_HANDLE handle, enum kdat_counted kind, unsigned int counter,
		DAT_UINT64 by)
{
	struct kdat_counter *counters;

	counters = handle ? kdat_counters_of(handle, kind) : NULL;
	if (counters)
		kdat_counter_add(&counters[counter], by);
}

/**
 * kdat_count_ia - a counter of an object's IA grows by one
 * @of: the object
 * @counter: number of the counter
 *
 * Thread safe.
 */
void kdat_count_ia(DAT_HANDLE of, DAT_IA_COUNTERS counter)
{
	kdat_count(kdat_handle_ia(of), KDAT_COUNTED_IA, counter, 1);
}

/**
 * kdat_count_made - an object has been made, or not
 * @ret: what the call says that makes it
 * @handle: where it has put the handle
 * @of: the IA, or another object of it
 * @counter: which counter of the IA tells of such objects
 *
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN kdat_count_made(DAT_RETURN ret, const DAT_HANDLE *handle,
			   DAT_HANDLE of, DAT_IA_COUNTERS counter)
{
	if (ret == DAT_SUCCESS) {
		kdat_handle_set_ia(*handle, of);
		kdat_count_ia(*handle, counter);
	}
	return ret;
}

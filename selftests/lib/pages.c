// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pages.c - LMRs of memory whose neighbouring pages are none in the machine
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "pages.h"

/**
 * touch_scattered - writes the first byte of each page of LEN bytes
 *
 * It touches every second page first, so that neighbours are none in the machine's memory.
 */
void touch_scattered(unsigned char *buf, int value)
{
	size_t i;

	madvise(buf, LEN, MADV_NOHUGEPAGE);
	for (i = 0; i < LEN; i += 2 * PAGE)
		buf[i] = value;
	for (i = PAGE; i < LEN; i += 2 * PAGE)
		buf[i] = value;
}

/**
 * map_scattered - maps LEN bytes and touches them
 *
 * Return: the memory, zeroed; it never fails
 */
unsigned char *map_scattered(void)
{
	unsigned char *buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		abort();
	touch_scattered(buf, 0);
	return buf;
}

/**
 * lift_limit - lets the process lock all memory
 *
 * siw does not ask whether the process may exceed RLIMIT_MEMLOCK.
 *
 * Return: whether that succeeded
 */
bool lift_limit(void)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	return !setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

/**
 * create_lmr - creates an LMR of LEN bytes
 *
 * Return: what dat_lmr_create() returns
 */
DAT_RETURN create_lmr(struct pair *p, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
		      DAT_MEM_PRIV_FLAGS priv, struct region *r)
{
	DAT_VADDR address = 0;
	DAT_VLEN size = 0;
	DAT_RETURN ret;

	ret = dat_lmr_create(p->ia, type, desc, LEN, p->b.pz, priv, &r->lmr,
			     &r->lmr_context, &r->rmr_context, &size, &address);
	r->buf = (unsigned char *)(uintptr_t)address;
	r->len = size;
	return ret;
}

/**
 * create_base - creates an LMR of LEN bytes of memory, with all privileges
 *
 * Return: what dat_lmr_create() returns
 */
DAT_RETURN create_base(struct pair *p, void *buf, struct region *r)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = buf };

	return create_lmr(p, DAT_MEM_TYPE_VIRTUAL, desc, ALL, r);
}

/**
 * create_over - creates an LMR over another
 *
 * Return: what dat_lmr_create() returns
 */
DAT_RETURN create_over(struct pair *p, const struct region *base,
		       DAT_MEM_PRIV_FLAGS priv, struct region *r)
{
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = base->lmr };

	return create_lmr(p, DAT_MEM_TYPE_LMR, desc, priv, r);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * pages.h - LMRs of memory whose neighbouring pages are none in the machine
 */
#ifndef SELFTESTS_PAGES_H
#define SELFTESTS_PAGES_H

#include "pair.h"

/* More pages than one fast registration of a software device holds. */
#define LEN		(1024 * PAGE)
#define ALL		DAT_MEM_PRIV_ALL_FLAG

void touch_scattered(unsigned char *buf, int value);
unsigned char *map_scattered(void);
bool lift_limit(void);

DAT_RETURN create_lmr(struct pair *p, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
		      DAT_MEM_PRIV_FLAGS priv, struct region *r);
DAT_RETURN create_base(struct pair *p, void *buf, struct region *r);
DAT_RETURN create_over(struct pair *p, const struct region *base,
		       DAT_MEM_PRIV_FLAGS priv, struct region *r);

#endif /* SELFTESTS_PAGES_H */

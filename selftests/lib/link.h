/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * link.h - the software device under test, as rdma(8) makes and removes it
 */
#ifndef SELFTESTS_LINK_H
#define SELFTESTS_LINK_H

#include <stdbool.h>

bool link_is_iwarp(void);
bool link_checks_reads(void);
bool link_ends_reads(void);
bool link_carries_data(void);
bool link_is_there(void);
int link_add(void);
int link_delete(void);

#endif /* SELFTESTS_LINK_H */

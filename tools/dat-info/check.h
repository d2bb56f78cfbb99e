/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * check.h - dat-info --check: does the IA do what kdapl promises?
 */
#ifndef DAT_INFO_CHECK_H
#define DAT_INFO_CHECK_H

#include <stdbool.h>

#include <dat/udat.h>

const char *explain(DAT_RETURN ret);
void show_limits(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p);
bool check_ia(const char *name);

#endif /* DAT_INFO_CHECK_H */

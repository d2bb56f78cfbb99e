/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * check.h - what the files of dat-info share
 */
#ifndef DAT_INFO_CHECK_H
#define DAT_INFO_CHECK_H

#include <stdbool.h>

#include <dat/udat.h>

/* dat-info.c */
const char *explain(DAT_RETURN ret);

/* show.c */
extern bool show_bytes;
void show(const char *name, const char *value);
const char *size_text(unsigned long long size);
void show_device(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p);
void show_provider(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p);
void show_limits(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p);
void show_process_limits(void);

/* check.c */
bool check_ia(const char *name);

#endif /* DAT_INFO_CHECK_H */

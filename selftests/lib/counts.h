/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * counts.h - numbers that the kernel tells in files
 */
#ifndef SELFTESTS_COUNTS_H
#define SELFTESTS_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

long long number_in(const char *path, const char *name);
long long pinned_pages(void);
long long charged_pages(void);
long long charged_bytes(pid_t pid);
long long settled_charge(void);
void stock_take(char *text, size_t size);
bool stock_returns_to(const char *before);

#endif /* SELFTESTS_COUNTS_H */

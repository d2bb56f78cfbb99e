/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * harness.h - kselftest_harness.h, with time for kernels that look at everything
 */
#ifndef DAT_SELFTESTS_HARNESS_H
#define DAT_SELFTESTS_HARNESS_H

#include <unistd.h>

#include <kselftest_harness.h>

/* The page size of this kernel, and the largest of any kernel, in bytes */
#define PAGE		((unsigned long)sysconf(_SC_PAGESIZE))
#define MAX_PAGE	65536

/*
 * In seconds. Under KASAN, without KVM and beside another guest a test takes
 * fifty times as long, and one that hangs is not found sooner by being in a
 * hurry.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	120

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * compat.h - differences between the kernels that the test modules are built for
 */
#ifndef SELFTESTS_COMPAT_H
#define SELFTESTS_COMPAT_H

#include <linux/timer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
static inline void timer_destroy_on_stack(struct timer_list *timer)
{
	destroy_timer_on_stack(timer);
}
#endif

/* Since Linux 6.17 reg_user_mr() has a DMA handle before its last argument. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define DMAH_ARGUMENT
#define DMAH_VALUE
#else
#define DMAH_ARGUMENT	struct ib_dmah *dmah,
#define DMAH_VALUE	dmah,
#endif

/* rxe before Linux 6.12 does not survive some faults: see fail_nth_engine.h. */
#define KERNEL_HAS_OLD_RXE	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0))

#endif /* SELFTESTS_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kevd.h - EVDs and events for in-kernel tests
 */
#ifndef SELFTESTS_KEVD_H
#define SELFTESTS_KEVD_H

#include "kpair.h"

DAT_RETURN kevd_make(struct kpair *pair, DAT_COUNT qlen, DAT_UPCALL_FUNC func,
		     DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN kpost_se(DAT_EVD_HANDLE evd, uintptr_t value);
long knext_se(DAT_EVD_HANDLE evd);
bool ksilent(DAT_EVD_HANDLE evd);

#endif /* SELFTESTS_KEVD_H */

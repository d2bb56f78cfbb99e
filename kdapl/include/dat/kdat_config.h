/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kdat_config.h - version of the kernel API that these headers implement
 */
#ifndef _KDAT_CONFIG_H_
#define _KDAT_CONFIG_H_

#define DAT_VERSION_MAJOR	1
#define DAT_VERSION_MINOR	2

/* Several threads may execute any call at once; see Documentation/. */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_TRUE
#endif

#endif /* _KDAT_CONFIG_H_ */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * udat_config.h - the version of uDAPL of these headers
 */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

#define DAT_VERSION_MAJOR	1
#define DAT_VERSION_MINOR	2

/*
 * The argument thread_safety of dat_ia_open(). libdat is always thread safe. A
 * program may define another value before it includes <dat/udat.h>.
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_TRUE
#endif

#endif /* _UDAT_CONFIG_H_ */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * udat_config.h - the version of uDAPL that this header set speaks
 */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

#define DAT_VERSION_MAJOR	1
#define DAT_VERSION_MINOR	2

/*
 * What dat_ia_open() asks for. libdat is thread safe either way; a program
 * that wants to say otherwise defines this before it includes <dat/udat.h>.
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_TRUE
#endif

#endif /* _UDAT_CONFIG_H_ */

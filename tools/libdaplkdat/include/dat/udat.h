/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * udat.h - DAT 2.0, as the sources of libdat see it
 *
 * The sources of libdat use the types of DAT 1.2. Nearly all have the same name in
 * DAT 2.0. Where DAT 2.0 has another form, this header defines the form of DAT 1.2
 * under the name, and names the form of DAT 2.0 DAT2_*.
 */
#ifndef LIBDAPLKDAT_DAT_UDAT_H
#define LIBDAPLKDAT_DAT_UDAT_H

#include <netinet/in.h>
#include <stdint.h>

#define DAT_CNO_PARAM		DAT2_CNO_PARAM

#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>

#undef DAT_CNO_PARAM

/* DAT 1.2's name of a field of DAT_RMR_TRIPLET */
#define target_address		virtual_address

/* Values that only DAT 1.2 has, and that no program of DAT 2.0 can pass */
#define DAT_MEM_TYPE_SO_VIRTUAL		(DAT_MEM_TYPE_SHARED_VIRTUAL + 1)
#define DAT_MEM_PRIV_RO_DISABLE_FLAG	0

/* A named attribute that the library adds to the kernel's */
#define LIBDAT_OWN_ATTR		DAT_IB_ATTR_COUNTERS

typedef struct {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
} DAT_CNO_PARAM;

#endif /* LIBDAPLKDAT_DAT_UDAT_H */

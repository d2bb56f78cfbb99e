/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * udat_vendor_specific.h - additions to the user API
 *
 * The standard names this header; there is nothing to add.
 */
#ifndef _UDAT_VENDOR_SPECIFIC_H_
#define _UDAT_VENDOR_SPECIFIC_H_

#include <dat/dat_vendor_specific.h>

#endif /* _UDAT_VENDOR_SPECIFIC_H_ */

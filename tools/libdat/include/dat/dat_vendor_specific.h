/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_vendor_specific.h - additions to the part that both DAT APIs share
 *
 * The standard names this header; there is nothing to add.
 */
#ifndef _DAT_VENDOR_SPECIFIC_H_
#define _DAT_VENDOR_SPECIFIC_H_

#endif /* _DAT_VENDOR_SPECIFIC_H_ */

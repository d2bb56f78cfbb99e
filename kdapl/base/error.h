/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * error.h - makes a DAT_RETURN
 *
 * Not in <dat/dat_error.h>: consumers define DAT_ERROR() for themselves.
 */
#ifndef _KDAPL_ERROR_H
#define _KDAPL_ERROR_H

#include <dat/kdat_linux.h>

#define DAT_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#endif /* _KDAPL_ERROR_H */

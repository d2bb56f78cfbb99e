/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_error.h - DAT_RETURN, the return value of every call
 *
 * A DAT_RETURN has three parts: the class in bits 31-30, the type in bits
 * 29-16, and the subtype, which narrows the type down, in bits 15-0. Compare
 * DAT_GET_TYPE() of a value, not the value; dat_strerror() returns the names.
 * The numbers are those of DAT 1.2.
 */
#ifndef _DAT_ERROR_H_
#define _DAT_ERROR_H_

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_CLASS_ERROR		0x80000000
#define DAT_CLASS_WARNING	0x40000000
#define DAT_CLASS_SUCCESS	0x00000000

#define DAT_TYPE_MASK		0x3fff0000
#define DAT_SUBTYPE_MASK	0x0000ffff

#define DAT_IS_WARNING(status)	((DAT_UINT32)(status) & DAT_CLASS_WARNING)
#define DAT_GET_TYPE(status)	((DAT_UINT32)(status) & DAT_TYPE_MASK)
#define DAT_GET_SUBTYPE(status)	((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)

/* The types, shifted into place; see dat_errors.def */
typedef enum dat_return_type {
#define DAT_TYPE(name, dat_1_2, dat_2_0)	name = (dat_1_2) << 16,
#include <dat/dat_errors.def>
} DAT_RETURN_TYPE;

typedef DAT_UINT32 DAT_RETURN;

/* Name of DAT 1.0 */
#define DAT_NAME_NOT_FOUND	DAT_PROVIDER_NOT_FOUND

typedef enum dat_return_subtype {
#define DAT_SUBTYPE(name)	name,
#define DAT_SUBTYPE_1_2(name)	name,
#include <dat/dat_errors.def>
} DAT_RETURN_SUBTYPE;

#ifdef __cplusplus
}
#endif

#endif /* _DAT_ERROR_H_ */

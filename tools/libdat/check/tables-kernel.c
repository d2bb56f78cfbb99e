// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tables-kernel.c - the types and subtypes of the kernel's DAT_RETURN
 */
typedef unsigned int DAT_UINT32;

#include "../../../kdapl/include/dat/dat_error.h"

#include "tables.h"

#define NUMBER(value)	{ value, #value }

const struct number kernel_types[] = {
#define DAT_TYPE(name, dat_1_2, dat_2_0)	NUMBER(name),
#define DAT_TYPE_2_0(name, dat_2_0, nearest)	NUMBER(name),
#include <dat/dat_errors.def>
	{ 0, 0 }
};

const struct number kernel_subtypes[] = {
#define DAT_SUBTYPE(name)	NUMBER(name),
#define DAT_SUBTYPE_2_0(name)	NUMBER(name),
#include <dat/dat_errors.def>
	{ 0, 0 }
};

/* Numbers of DAT 2.0 around the types and subtypes that DAT 1.2 lacks */
_Static_assert(DAT_CONN_QUAL_UNAVAILABLE == 0x140000, "last common type");
_Static_assert(DAT_NOT_IMPLEMENTED == 0x3fff0000, "last type");
_Static_assert(DAT_INVALID_HANDLE_SRQ == 25, "before the first addition");
_Static_assert(DAT_INVALID_HANDLE1 == 27, "after the first addition");
_Static_assert(DAT_INVALID_STATE_SRQ_IN_USE == 87, "before the second addition");
_Static_assert(DAT_PRIVILEGES_READ == 89, "after the second addition");
_Static_assert(DAT_THREAD_SAFETY_NOT_FOUND == 103, "last subtype");

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * error.c - what the kernel answers, as a DAT_RETURN of DAT 1.2
 *
 * The kernel speaks DAT 2.0, which put two subtypes into the middle of the
 * list and gave DAT_NOT_IMPLEMENTED another number.
 */
#include <assert.h>

#include "libdat.h"

/* DAT 2.0's numbers, where they are not DAT 1.2's */
#define DAT2_RESERVED_LMR		0x00150000
#define DAT2_PORT_IN_USE		0x00160000
#define DAT2_COMM_NOT_SUPPORTED		0x00170000
#define DAT2_NOT_IMPLEMENTED		0x3fff0000
#define DAT2_INVALID_HANDLE_CSP		26
#define DAT2_INVALID_STATE_SRQ_SHUTDOWN	88
#define DAT2_THREAD_SAFETY_NOT_FOUND	103

/* Behind the first addition the lists are 1 apart, behind the second 2. */
static_assert(DAT2_INVALID_HANDLE_CSP - DAT_INVALID_HANDLE_SRQ == 1,
	      "first addition");
static_assert(DAT2_INVALID_STATE_SRQ_SHUTDOWN -
	      DAT_INVALID_STATE_SRQ_IN_USE == 2, "second addition");
static_assert(DAT2_THREAD_SAFETY_NOT_FOUND - DAT_THREAD_SAFETY_NOT_FOUND == 2,
	      "end of the list");

static __u32 type_in(__u32 type)
{
	switch (type) {
	case DAT2_RESERVED_LMR:
		return DAT_INVALID_PARAMETER;
	case DAT2_PORT_IN_USE:
		return DAT_CONN_QUAL_IN_USE;
	case DAT2_COMM_NOT_SUPPORTED:
		return DAT_MODEL_NOT_SUPPORTED;
	case DAT2_NOT_IMPLEMENTED:
		return DAT_NOT_IMPLEMENTED;
	default:
		return type;
	}
}

static __u32 subtype_in(__u32 subtype)
{
	if (subtype < DAT2_INVALID_HANDLE_CSP)
		return subtype;
	if (subtype == DAT2_INVALID_HANDLE_CSP ||
	    subtype == DAT2_INVALID_STATE_SRQ_SHUTDOWN ||
	    subtype > DAT2_THREAD_SAFETY_NOT_FOUND)
		return DAT_NO_SUBTYPE;
	return subtype < DAT2_INVALID_STATE_SRQ_SHUTDOWN ? subtype - 1 :
							   subtype - 2;
}

/**
 * libdat_return_in - translate a DAT_RETURN from the kernel
 * @kernel: in DAT 2.0's numbers
 *
 * Thread safe.
 *
 * Return: the same in DAT 1.2's numbers. What DAT 1.2 has no word for becomes
 * its nearest type, or loses its subtype.
 */
DAT_RETURN libdat_return_in(__u32 kernel)
{
	if (kernel == DAT_SUCCESS)
		return DAT_SUCCESS;
	return (kernel & ~(__u32)(DAT_TYPE_MASK | DAT_SUBTYPE_MASK)) |
	       type_in(DAT_GET_TYPE(kernel)) |
	       subtype_in(DAT_GET_SUBTYPE(kernel));
}

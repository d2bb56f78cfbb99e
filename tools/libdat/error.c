// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * error.c - DAT_RETURN: from the kernel's numbers, and into words
 *
 * The kernel uses the numbers of DAT 2.0. <dat/dat_errors.def> has the numbers
 * of both versions; everything here comes from that table. libdaplkdat is built
 * without this file, because its programs use DAT 2.0.
 */
#include <assert.h>

#include "libdat.h"

/* The type of DAT 1.2 for a type of DAT 2.0 */
static __u32 type_from_kernel(__u32 type)
{
	switch (type >> 16) {
#define DAT_TYPE(name, dat_1_2, dat_2_0)	case dat_2_0: return name;
#define DAT_TYPE_2_0(name, dat_2_0, nearest)	case dat_2_0: return nearest;
#include <dat/dat_errors.def>
	default:
		return type;
	}
}

/* The subtypes of DAT 1.2 in the order of DAT 2.0 */
static const __u16 subtypes_from_kernel[] = {
#define DAT_SUBTYPE(name)	name,
#define DAT_SUBTYPE_2_0(name)	DAT_NO_SUBTYPE,
#include <dat/dat_errors.def>
};

/**
 * libdat_return_from_kernel - translate a DAT_RETURN of the kernel
 * @kernel: in the numbers of DAT 2.0
 *
 * Thread safe.
 *
 * Return: @kernel in the numbers of DAT 1.2. A type that only DAT 2.0 has
 * becomes the nearest of DAT 1.2, such a subtype DAT_NO_SUBTYPE.
 */
DAT_RETURN libdat_return_from_kernel(__u32 kernel)
{
	__u32 subtype = DAT_GET_SUBTYPE(kernel);

	if (kernel == DAT_SUCCESS)
		return DAT_SUCCESS;
	return (kernel & ~(__u32)(DAT_TYPE_MASK | DAT_SUBTYPE_MASK)) |
	       type_from_kernel(DAT_GET_TYPE(kernel)) |
	       (subtype < ARRAY_SIZE(subtypes_from_kernel) ?
		subtypes_from_kernel[subtype] : DAT_NO_SUBTYPE);
}

static const char *type_name(__u32 type)
{
	switch (type) {
#define DAT_TYPE(name, dat_1_2, dat_2_0)	case name: return #name;
#include <dat/dat_errors.def>
	default:
		return NULL;
	}
}

static const char *const subtype_names[] = {
#define DAT_SUBTYPE(name)	[name] = #name,
#define DAT_SUBTYPE_1_2(name)	[name] = #name,
#include <dat/dat_errors.def>
};

static_assert(ARRAY_SIZE(subtype_names) == DAT_INVALID_RO_COOKIE + 1,
	      "every subtype of DAT 1.2 has a name");

/**
 * dat_strerror - the names of a DAT_RETURN
 * @value: what a call returned
 * @major_message: out: name of its type, such as "DAT_INVALID_HANDLE"
 * @minor_message: out: name of its subtype, such as "DAT_INVALID_HANDLE_LMR";
 *	"" for DAT_NO_SUBTYPE
 *
 * The strings are constants. Thread safe. See dat_strerror(3DAT).
 *
 * Return: DAT_SUCCESS, or DAT_INVALID_PARAMETER if DAT 1.2 has no such type or
 * subtype.
 */
DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message,
			const char **minor_message)
{
	const char *major = type_name(DAT_GET_TYPE(value));
	__u32 subtype = DAT_GET_SUBTYPE(value);

	if (!major || subtype >= ARRAY_SIZE(subtype_names))
		return BAD_ARG(1);
	if (!major_message)
		return BAD_ARG(2);
	if (!minor_message)
		return BAD_ARG(3);

	*major_message = major;
	*minor_message = subtype == DAT_NO_SUBTYPE ? "" :
						     subtype_names[subtype];
	return DAT_SUCCESS;
}

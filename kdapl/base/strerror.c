// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * strerror.c - the names of DAT_RETURN values
 *
 * Implements dat_strerror() from <dat/dat_errors.def>. Any context can call it.
 */
#include <linux/export.h>
#include <linux/kernel.h>

#include "base/error.h"

static const char *type_name(DAT_UINT32 type)
{
	switch (type) {
#define DAT_TYPE(name, dat_1_2, dat_2_0)	case name: return #name;
#define DAT_TYPE_2_0(name, dat_2_0, nearest)	case name: return #name;
#include <dat/dat_errors.def>
	default:
		return NULL;
	}
}

static const char *const subtype_names[] = {
#define DAT_SUBTYPE(name)	[name] = #name,
#define DAT_SUBTYPE_2_0(name)	[name] = #name,
#include <dat/dat_errors.def>
};

/**
 * dat_strerror - report the names of a DAT_RETURN value
 * @value: the return value of a call
 * @major_message: out: the name of the type
 * @minor_message: out: the name of the subtype, "" for none
 *
 * Specification: dat_strerror().
 *
 * Context: any; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (also: DAT 2.0 does not have the type or
 * the subtype of @value).
 */
DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message,
			const char **minor_message)
{
	const char *major = type_name(DAT_GET_TYPE(value));
	DAT_UINT32 subtype = DAT_GET_SUBTYPE(value);

	if (!major_message)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!minor_message)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!major || subtype >= ARRAY_SIZE(subtype_names))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);

	*major_message = major;
	*minor_message = subtype == DAT_NO_SUBTYPE ? "" : subtype_names[subtype];
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_strerror);

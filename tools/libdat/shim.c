// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * shim.c - the calls that only carry arguments to the kernel and back
 *
 * Each SHIM and VIA of calls.def becomes a libdat_<name>() here: check the arguments,
 * call the kernel, copy the result. The functions are thread safe: they use no
 * data but their arguments. dispatch.c calls them, and the table of entries of
 * libdaplkdat.
 */
#include <string.h>

#include "libdat.h"

/* Numbers of DAT 2.0, which the kernel uses, that differ from those of DAT 1.2 */
#define DAT2_HANDLE_TYPE_SRQ		9
#define DAT2_HANDLE_TYPE_CSP		10
#define DAT2_SRQ_STATE_OPERATIONAL	1

static DAT_RETURN handle_type_to_user(DAT_HANDLE_TYPE *out, __u32 type)
{
	if (type <= DAT_HANDLE_TYPE_RSP)
		*out = (DAT_HANDLE_TYPE)type;
	else if (type == DAT2_HANDLE_TYPE_SRQ)
		*out = DAT_HANDLE_TYPE_SRQ;
	else if (type == DAT_DEV_HANDLE_TYPE_CNO)
		*out = DAT_HANDLE_TYPE_CNO;
#if DAT_VERSION_MAJOR >= 2
	else if (type == DAT2_HANDLE_TYPE_CSP)
		*out = DAT_HANDLE_TYPE_CSP;
#endif
	else
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	return DAT_SUCCESS;
}

/* Vocabulary of calls.def: the fields, and the statements before the ioctl */
#define SET(...)	__VA_ARGS__
#define INVALID(number, condition)					\
	do {								\
		if (condition)						\
			return BAD_ARG(number);				\
	} while (0)
#define TRY(expression)							\
	do {								\
		ret = expression;					\
		if (ret != DAT_SUCCESS)					\
			return ret;					\
	} while (0)
#define PRIVATE_DATA(number)						\
	libdat_private_data_to_kernel(arg.private_data, private_data_size, \
				      private_data, BAD_ARG(number))

#define CALL(...)
#define VIA(name, type, parameters, arguments, external, expression)	\
DAT_RETURN libdat_ ## name parameters					\
{									\
	return expression;						\
}

#define SHIM(name, type, parameters, arguments, external, cmd, structure, \
	     fields, before, after)					\
DAT_RETURN libdat_ ## name parameters					\
{									\
	structure arg = { .size = sizeof(arg), fields };		\
	DAT_RETURN ret;							\
									\
	before;								\
	ret = libdat_call(cmd, &arg);					\
	if (ret == DAT_SUCCESS) {					\
		after;							\
	}								\
	return ret;							\
}

#include "calls.def"

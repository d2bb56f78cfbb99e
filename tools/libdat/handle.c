// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handle.c - what can be done with any handle
 */
#include "libdat.h"
#include "foreign.h"

/* The kernel's type numbers, where they are not DAT 1.2's */
#define DAT2_HANDLE_TYPE_SRQ	9
#define DAT2_HANDLE_TYPE_CSP	10

/**
 * dat_get_handle_type - what type of object a handle names
 * @dat_handle: the handle
 * @handle_type: out
 *
 * Thread safe. See dat_get_handle_type(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle,
			       DAT_HANDLE_TYPE *handle_type)
{
	struct dat_dev_handle_query arg = {
		.size = sizeof(arg),
		.handle = libdat_handle_in(dat_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, dat_handle, LIBDAT_ANY_TYPE))
		return FOREIGN_CALL(&foreign, get_handle_type_func, dat_handle,
				    handle_type);
	if (!handle_type)
		return BAD_ARG(2);

	ret = libdat_call(DAT_DEV_HANDLE_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	if (arg.type <= DAT_HANDLE_TYPE_RSP)
		*handle_type = (DAT_HANDLE_TYPE)arg.type;
	else if (arg.type == DAT2_HANDLE_TYPE_SRQ)
		*handle_type = DAT_HANDLE_TYPE_SRQ;
	else if (arg.type == DAT_DEV_HANDLE_TYPE_CNO)
		*handle_type = DAT_HANDLE_TYPE_CNO;
#if DAT_VERSION_MAJOR >= 2
	else if (arg.type == DAT2_HANDLE_TYPE_CSP)
		*handle_type = DAT_HANDLE_TYPE_CSP;
#endif
	else
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	return DAT_SUCCESS;
}

/**
 * dat_set_consumer_context - tie 64 bits of the program's to an object
 * @dat_handle: the object
 * @context: the bits
 *
 * Thread safe. See dat_set_consumer_context(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	struct dat_dev_context arg = {
		.size = sizeof(arg),
		.handle = libdat_handle_in(dat_handle),
		.set = 1,
		.context = context.as_64,
	};
	struct libdat_foreign foreign;

	if (libdat_is_foreign(&foreign, dat_handle, LIBDAT_ANY_TYPE))
		return FOREIGN_CALL(&foreign, set_consumer_context_func,
				    dat_handle, context);
	return libdat_call(DAT_DEV_CONTEXT, &arg);
}

/**
 * dat_get_consumer_context - what dat_set_consumer_context() was given
 * @dat_handle: the object
 * @context: out; 0 at first
 *
 * Thread safe. See dat_get_consumer_context(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	struct dat_dev_context arg = {
		.size = sizeof(arg),
		.handle = libdat_handle_in(dat_handle),
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, dat_handle, LIBDAT_ANY_TYPE))
		return FOREIGN_CALL(&foreign, get_consumer_context_func,
				    dat_handle, context);
	if (!context)
		return BAD_ARG(2);

	ret = libdat_call(DAT_DEV_CONTEXT, &arg);
	if (ret == DAT_SUCCESS)
		context->as_64 = arg.context;
	return ret;
}

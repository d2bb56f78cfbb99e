// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * context.c - calls that accept a handle of any type
 *
 * Implements dat_get_handle_type(), dat_set_consumer_context() and
 * dat_get_consumer_context(). The calls look up the handle under RCU and never sleep,
 * so consumers can call them from any context.
 */
#include "base/calls.h"
#include "base/object.h"

/**
 * kdapl_get_handle_type - report the type of an object
 * @dat_handle: the handle of the object
 * @handle_type: out: the type
 *
 * Specification: dat_get_handle_type().
 *
 * Context: any; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_get_handle_type(DAT_HANDLE dat_handle,
				 DAT_HANDLE_TYPE *handle_type)
{
	struct dat_object *obj;

	if (!handle_type)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rcu_read_lock();
	obj = dat_object_lookup_any(dat_handle);
	if (obj)
		*handle_type = obj->type;
	rcu_read_unlock();
	return obj ? DAT_SUCCESS :
		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/**
 * kdapl_set_consumer_context - attach a value to an object
 * @dat_handle: the handle of the object, of any type
 * @context: the value
 *
 * Specification: dat_set_consumer_context().
 *
 * Context: any; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_set_consumer_context(DAT_HANDLE dat_handle,
				      DAT_CONTEXT context)
{
	struct dat_object *obj;

	rcu_read_lock();
	obj = dat_object_lookup_any(dat_handle);
	if (obj)
		WRITE_ONCE(obj->context.as_64, context.as_64);
	rcu_read_unlock();
	return obj ? DAT_SUCCESS :
		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/**
 * kdapl_get_consumer_context - report the value attached to an object
 * @dat_handle: the handle of the object, of any type
 * @context: out: the value, 0 if none was attached
 *
 * Specification: dat_get_consumer_context().
 *
 * Context: any; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_get_consumer_context(DAT_HANDLE dat_handle,
				      DAT_CONTEXT *context)
{
	struct dat_object *obj;

	if (!context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rcu_read_lock();
	obj = dat_object_lookup_any(dat_handle);
	if (obj)
		context->as_64 = READ_ONCE(obj->context.as_64);
	rcu_read_unlock();
	return obj ? DAT_SUCCESS :
		DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * usimple.c - helpers of the ioctls that create and free objects
 */
#include "usimple.h"

/**
 * dat_usimple_alloc - allocate an object and reserve its handle
 * @file: the file
 * @size: bytes of the structure that begins with a &struct dat_uobj
 * @type: type of the object
 * @ia: the object's IA
 *
 * Context: process, may sleep.
 * Return: the object, for dat_usimple_finish(), or NULL.
 */
void *dat_usimple_alloc(struct dat_file *file, size_t size,
			DAT_HANDLE_TYPE type, struct dat_uia *ia)
{
	struct dat_uobj *uobj = dat_uobj_alloc(file, size, type, ia,
					       GFP_KERNEL);

	if (uobj && dat_uobj_reserve(uobj, GFP_KERNEL)) {
		dat_uobj_put(uobj);
		uobj = NULL;
	}
	return uobj;
}

/**
 * dat_usimple_finish - publish an object, or free it after a failure
 * @uobj: the object
 * @result: what the kernel API returned
 * @khandle: the kernel's handle, valid if @result is DAT_SUCCESS
 *
 * Context: process, may sleep.
 */
void dat_usimple_finish(struct dat_uobj *uobj, DAT_RETURN result,
			DAT_HANDLE khandle)
{
	if (result)
		dat_uobj_unreserve(uobj);
	else
		dat_uobj_publish(uobj, khandle);
}

/* The subtype that the kernel API returns for an invalid handle of this type. */
static DAT_RETURN_SUBTYPE bad_handle(DAT_HANDLE_TYPE type)
{
	switch (type) {
	case DAT_HANDLE_TYPE_CR:
		return DAT_INVALID_HANDLE_CR;
	case DAT_HANDLE_TYPE_CSP:
		return DAT_INVALID_HANDLE_CSP;
	case DAT_HANDLE_TYPE_EP:
		return DAT_INVALID_HANDLE_EP;
	case DAT_HANDLE_TYPE_LMR:
		return DAT_INVALID_HANDLE_LMR;
	case DAT_HANDLE_TYPE_PSP:
		return DAT_INVALID_HANDLE_PSP;
	case DAT_HANDLE_TYPE_PZ:
		return DAT_INVALID_HANDLE_PZ;
	case DAT_HANDLE_TYPE_RMR:
		return DAT_INVALID_HANDLE_RMR;
	case DAT_HANDLE_TYPE_RSP:
		return DAT_INVALID_HANDLE_RSP;
	case DAT_HANDLE_TYPE_SRQ:
		return DAT_INVALID_HANDLE_SRQ;
	default:
		return DAT_INVALID_HANDLE1;
	}
}

/**
 * dat_usimple_free - common part of the ioctls that free an object
 * @file: the file
 * @p: the ioctl's structure
 * @type: required type of the handle
 * @free: function of the kernel API that frees the object
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dat_usimple_free(struct dat_file *file, struct dat_dev_free *p,
		     DAT_HANDLE_TYPE type, DAT_RETURN (*free)(DAT_HANDLE))
{
	struct dat_uobj *uobj;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, bad_handle(type));
	uobj = dat_uobj_get(file, p->handle, type);
	if (!uobj)
		return 0;
	p->result = free(uobj->khandle);
	if (!p->result)
		dat_uobj_remove(uobj);
	dat_uobj_put(uobj);
	return 0;
}

/* dat_get_handle_type() */
int dat_ioctl_handle_query(struct dat_file *file, void *arg)
{
	struct dat_dev_handle_query *p = arg;
	struct dat_uobj *uobj = dat_uobj_get_any(file, p->handle);

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (uobj) {
		p->type = uobj->type;
		p->result = DAT_SUCCESS;
		dat_uobj_put(uobj);
	}
	return 0;
}

/* dat_set_consumer_context(), dat_get_consumer_context() */
int dat_ioctl_context(struct dat_file *file, void *arg)
{
	struct dat_dev_context *p = arg;
	struct dat_uobj *uobj;

	if (p->set > 1)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	uobj = dat_uobj_get_any(file, p->handle);
	if (!uobj)
		return 0;
	if (p->set)
		WRITE_ONCE(uobj->context, p->context);
	else
		p->context = READ_ONCE(uobj->context);
	p->result = DAT_SUCCESS;
	dat_uobj_put(uobj);
	return 0;
}

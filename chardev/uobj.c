// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uobj.c - table of handles of an open file
 *
 * Maps user handles to objects and counts references. Ioctls call it in process
 * context, upcalls in softirq. Handles are allocated cyclically from 2^31 values, so
 * that a freed handle is not reused soon. The ioctls for handles of any type are at the
 * end.
 */
#include <linux/slab.h>

#include "charge.h"
#include "file.h"

/* Memory of one handle in the xarray, whose nodes have 64 slots. */
#define HANDLE_BYTES	64

/* DAT 1.2 reserves the handle values 1 and 2. */
#define HANDLE_LIMIT	XA_LIMIT(16, INT_MAX)

static void uobj_free(struct dat_uobj *uobj)
{
	struct dat_uia *ia = uobj->ia;

	dat_uncharge(uobj->file->charge, uobj->bytes);
	kfree_rcu(uobj, rcu);
	if (ia)
		dat_uobj_put(&ia->uobj);
}

static void uobj_release(struct kref *ref)
{
	struct dat_uobj *uobj = container_of(ref, struct dat_uobj, ref);

	if (uobj->release)
		uobj->release(uobj);
	uobj_free(uobj);
}

/**
 * dat_uobj_alloc - allocate an object without a handle
 * @file: the file
 * @size: bytes of the structure that begins with a &struct dat_uobj
 * @type: type of the object
 * @ia: the object's IA, or NULL
 * @gfp: allocation flags
 *
 * Context: depends on @gfp.
 * Return: the object, for dat_uobj_put(), or NULL.
 */
void *dat_uobj_alloc(struct dat_file *file, size_t size, DAT_HANDLE_TYPE type,
		     struct dat_uia *ia, gfp_t gfp)
{
	struct dat_uobj *uobj;

	if (!dat_charge(file->charge, size + HANDLE_BYTES, gfp))
		return NULL;
	uobj = kzalloc(size, gfp | __GFP_ACCOUNT);
	if (!uobj) {
		dat_uncharge(file->charge, size + HANDLE_BYTES);
		return NULL;
	}
	uobj->bytes = size + HANDLE_BYTES;
	kref_init(&uobj->ref);
	uobj->type = type;
	uobj->file = file;
	uobj->ia = ia;
	if (ia)
		kref_get(&ia->uobj.ref);
	return uobj;
}

/**
 * dat_uobj_reserve - reserve a free handle
 * @uobj: the object
 * @gfp: allocation flags
 *
 * Context: depends on @gfp.
 * Return: 0 or a negative errno.
 */
int dat_uobj_reserve(struct dat_uobj *uobj, gfp_t gfp)
{
	struct dat_file *file = uobj->file;
	int ret;

	if (atomic_inc_return(&file->num_objects) >
	    dat_limit_value(DAT_LIMIT_OBJECTS)) {
		atomic_dec(&file->num_objects);
		return -ENOSPC;
	}
	ret = xa_alloc_cyclic_bh(&file->objects, &uobj->handle, XA_ZERO_ENTRY,
				 HANDLE_LIMIT, &file->next_handle,
				 gfp | __GFP_ACCOUNT);
	if (ret < 0) {
		atomic_dec(&file->num_objects);
		return ret;
	}
	return 0;
}

/**
 * dat_uobj_publish - store an object under its reserved handle
 * @uobj: the object, with a reserved handle; the caller's reference passes to
 *	the table
 * @khandle: the kernel's handle of the object
 *
 * Context: process or softirq.
 */
void dat_uobj_publish(struct dat_uobj *uobj, DAT_HANDLE khandle)
{
	DAT_CONTEXT context = { .as_64 = uobj->handle };
	struct dat_file *file = uobj->file;

	uobj->khandle = khandle;
	if (khandle)
		dat_set_consumer_context(khandle, context);
	xa_lock_bh(&file->objects);
	/* The reserved slot exists, so the store allocates no memory. */
	__xa_store(&file->objects, uobj->handle, uobj, GFP_ATOMIC);
	dat_lookup_cache_add(&file->cache, uobj->handle, uobj);
	xa_unlock_bh(&file->objects);
}

/**
 * dat_uobj_unreserve - release a reserved handle and put its object
 * @uobj: the object, which was not published
 *
 * Context: process, may sleep.
 */
void dat_uobj_unreserve(struct dat_uobj *uobj)
{
	xa_erase_bh(&uobj->file->objects, uobj->handle);
	atomic_dec(&uobj->file->num_objects);
	dat_uobj_put(uobj);
}

/**
 * dat_uobj_create - allocate an object and reserve its handle
 * @ia: the object's IA
 * @size: bytes of the structure that begins with a &struct dat_uobj
 * @type: type of the object
 * @gfp: allocation flags
 *
 * Context: depends on @gfp.
 * Return: the object, for dat_uobj_finalize(), or NULL.
 */
void *dat_uobj_create(struct dat_uia *ia, size_t size, DAT_HANDLE_TYPE type,
		      gfp_t gfp)
{
	struct dat_uobj *uobj = dat_uobj_alloc(ia->uobj.file, size, type, ia, gfp);

	if (uobj && dat_uobj_reserve(uobj, gfp)) {
		dat_uobj_put(uobj);
		uobj = NULL;
	}
	return uobj;
}

/**
 * dat_uobj_finalize - publish a created object, or free it after a failure
 * @uobj: the object; its khandle is set if @result is DAT_SUCCESS
 * @result: what the kernel API returned
 * @handle: out, if @result is DAT_SUCCESS: the user handle
 *
 * Context: process, may sleep.
 * Return: @result.
 */
DAT_RETURN dat_uobj_finalize(struct dat_uobj *uobj, DAT_RETURN result, u32 *handle)
{
	if (result) {
		dat_uobj_unreserve(uobj);
		return result;
	}
	*handle = uobj->handle;
	dat_uobj_publish(uobj, uobj->khandle);
	return DAT_SUCCESS;
}

static struct dat_uobj *lookup_any(struct dat_file *file, u32 handle)
{
	struct dat_uobj *uobj = dat_lookup_cache_find(&file->cache, handle);

	if (likely(uobj && uobj->handle == handle))
		return uobj;
	uobj = xa_load(&file->objects, handle);
	if (uobj)
		dat_lookup_cache_refill(&file->cache, &file->objects, handle, uobj);
	return uobj;
}

/**
 * dat_uobj_lookup - look a handle up
 * @file: the file
 * @handle: user handle, as passed by the process
 * @type: required type
 *
 * Context: any; the caller is in an RCU read-side section, which keeps the
 * memory of the object.
 * Return: the object, or NULL.
 */
struct dat_uobj *dat_uobj_lookup(struct dat_file *file, u32 handle,
				 DAT_HANDLE_TYPE type)
{
	struct dat_uobj *uobj = lookup_any(file, handle);

	return uobj && uobj->type == type ? uobj : NULL;
}

/**
 * dat_uobj_get_any - look up a handle of any type and take a reference
 * @file: the file
 * @handle: user handle, as passed by the process
 *
 * Context: any.
 * Return: the object, for dat_uobj_put(), or NULL.
 */
struct dat_uobj *dat_uobj_get_any(struct dat_file *file, u32 handle)
{
	struct dat_uobj *uobj;

	rcu_read_lock();
	uobj = lookup_any(file, handle);
	if (uobj && !kref_get_unless_zero(&uobj->ref))
		uobj = NULL;
	rcu_read_unlock();
	return uobj;
}

/**
 * dat_uobj_get - look up a handle and take a reference
 * @file: the file
 * @handle: user handle, as passed by the process
 * @type: required type
 *
 * Context: process, may sleep.
 * Return: the object, for dat_uobj_put(), or NULL.
 */
struct dat_uobj *dat_uobj_get(struct dat_file *file, u32 handle,
			      DAT_HANDLE_TYPE type)
{
	struct dat_uobj *uobj = dat_uobj_get_any(file, handle);

	if (uobj && uobj->type != type) {
		dat_uobj_put(uobj);
		uobj = NULL;
	}
	return uobj;
}

/**
 * dat_uobj_next - return the object with the lowest handle at or above @index
 * @file: the file
 * @index: in: lowest handle to consider; out: the handle found
 *
 * For dat_for_each_uobj(). Context: any.
 * Return: the object, for dat_uobj_put(), or NULL.
 */
struct dat_uobj *dat_uobj_next(struct dat_file *file, unsigned long *index)
{
	struct dat_uobj *uobj;

	rcu_read_lock();
	do
		uobj = xa_find(&file->objects, index, INT_MAX, XA_PRESENT);
	while (uobj && !kref_get_unless_zero(&uobj->ref) && ++*index);
	rcu_read_unlock();
	return uobj;
}

/**
 * dat_uobj_put - drop a reference
 * @uobj: the object
 *
 * Context: process, may sleep.
 */
void dat_uobj_put(struct dat_uobj *uobj)
{
	kref_put(&uobj->ref, uobj_release);
}

/*
 * Keeps the slot until the next handle is withdrawn. Handles increase, so a new object
 * mostly uses the same nodes of the xarray. Keeping the slot avoids freeing and
 * allocating these nodes.
 */
static bool erase(struct dat_uobj *uobj)
{
	struct dat_file *file = uobj->file;
	XA_STATE(xas, &file->objects, uobj->handle);
	bool found;

	xas_lock_bh(&xas);
	found = xas_load(&xas) == uobj;
	if (found) {
		/* Runs in softirq also. Replacing an entry allocates no memory. */
		xas_store(&xas, XA_ZERO_ENTRY);
		if (file->kept_handle)
			__xa_erase(&file->objects, file->kept_handle);
		file->kept_handle = uobj->handle;
		dat_lookup_cache_remove(&file->cache, uobj->handle, uobj);
	}
	xas_unlock_bh(&xas);
	return found;
}

/**
 * dat_uobj_remove - withdraw a handle
 * @uobj: the object; the caller has a reference
 *
 * Only the first call for an object has an effect. Context: process, may sleep; for a
 * CR also softirq.
 */
void dat_uobj_remove(struct dat_uobj *uobj)
{
	if (!erase(uobj))
		return;
	atomic_dec(&uobj->file->num_objects);
	dat_uobj_put(uobj);
}

/**
 * dat_uobj_remove_all - withdraw the handles of an IA and of its objects
 * @file: the file; no other thread adds objects of @ia
 * @ia: the IA, closed; NULL for all objects of the file
 *
 * Context: process, may sleep.
 */
void dat_uobj_remove_all(struct dat_file *file, struct dat_uia *ia)
{
	struct dat_uobj *uobj;
	unsigned long index;

	dat_for_each_uobj(file, index, uobj) {
		if (!ia || uobj->ia == ia || uobj == &ia->uobj)
			dat_uobj_remove(uobj);
		dat_uobj_put(uobj);
	}
}

/**
 * dat_uobj_khandle - translate a user handle to the kernel's handle
 * @file: the file
 * @handle: user handle, as passed by the process
 * @type: required type
 *
 * Context: any.
 * Return: the kernel's handle; DAT_HANDLE_NULL for 0; for an invalid @handle a value
 * that the kernel API rejects as invalid.
 */
DAT_HANDLE dat_uobj_khandle(struct dat_file *file, u32 handle,
			    DAT_HANDLE_TYPE type)
{
	DAT_HANDLE khandle = (DAT_HANDLE)-1L;
	struct dat_uobj *uobj;

	if (!handle)
		return DAT_HANDLE_NULL;
	rcu_read_lock();
	uobj = dat_uobj_lookup(file, handle, type);
	if (uobj)
		khandle = uobj->khandle;
	rcu_read_unlock();
	return khandle;
}

/**
 * dat_uobj_user_handle - translate a kernel's handle to the user handle
 * @khandle: the handle, of an object created through /dev/dat
 *
 * Context: any.
 * Return: the user handle; 0 if the object has been freed.
 */
u32 dat_uobj_user_handle(DAT_HANDLE khandle)
{
	DAT_CONTEXT context;

	if (!khandle || dat_get_consumer_context(khandle, &context))
		return 0;
	return context.as_64;
}

/* dat_get_handle_type() */
DAT_RETURN dat_ioctl_handle_query(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_handle_query *p = arg;

	p->type = uobj->type;
	return DAT_SUCCESS;
}

/* dat_set_consumer_context(), dat_get_consumer_context() */
DAT_RETURN dat_ioctl_context(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_context *p = arg;

	if (p->set)
		WRITE_ONCE(uobj->context, p->context);
	else
		p->context = READ_ONCE(uobj->context);
	return DAT_SUCCESS;
}

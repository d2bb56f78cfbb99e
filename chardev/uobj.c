// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uobj.c - the handles of an open file
 *
 * Handles are given out in a cycle of two thousand million, so that one that
 * was freed does not soon name something else.
 */
#include <linux/slab.h>

#include "charge.h"
#include "file.h"
#include "limits.h"

/* A handle's place in the table, of a node of 64. */
#define HANDLE_BYTES	64

/* DAT 1.2 uses 1 and 2 as handles with a meaning of their own. */
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
 * dat_uobj_alloc - allocate an object that has no handle yet
 * @file: the file
 * @size: of the structure that begins with a &struct dat_uobj
 * @type: its type
 * @ia: the IA it belongs to, or NULL
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
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
 * dat_uobj_reserve - choose a handle that names nothing yet
 * @uobj: the object
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: 0 or a negative errno.
 */
int dat_uobj_reserve(struct dat_uobj *uobj, gfp_t gfp)
{
	struct dat_file *file = uobj->file;
	int ret;

	if (atomic_inc_return(&file->num_objects) >
	    dat_limit(DAT_LIMIT_OBJECTS)) {
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
 * dat_uobj_publish - let the handle name the object
 * @uobj: the object, with a reserved handle; the caller's reference passes to
 *	the table
 * @khandle: the kernel's handle
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
	/* Into a reserved slot: no memory is needed. */
	__xa_store(&file->objects, uobj->handle, uobj, GFP_ATOMIC);
	dat_lookup_cache_add(&file->recent, uobj->handle, uobj);
	xa_unlock_bh(&file->objects);
}

/**
 * dat_uobj_unreserve - give a reserved handle back
 * @uobj: the object, which was not published; it is put
 *
 * Context: process, may sleep.
 */
void dat_uobj_unreserve(struct dat_uobj *uobj)
{
	xa_erase_bh(&uobj->file->objects, uobj->handle);
	atomic_dec(&uobj->file->num_objects);
	dat_uobj_put(uobj);
}

static struct dat_uobj *peek_any(struct dat_file *file, u32 handle)
{
	struct dat_uobj *uobj = dat_lookup_cache_find(&file->recent, handle);

	if (likely(uobj && uobj->handle == handle))
		return uobj;
	uobj = xa_load(&file->objects, handle);
	if (uobj)
		dat_lookup_cache_refill(&file->recent, &file->objects, handle, uobj);
	return uobj;
}

/**
 * dat_uobj_peek - look a handle up
 * @file: the file
 * @handle: what the process passed
 * @type: the type it must have
 *
 * Context: any; the caller is in an RCU read-side section, to which the
 * object's memory is tied.
 * Return: the object, or NULL.
 */
struct dat_uobj *dat_uobj_peek(struct dat_file *file, u32 handle,
			       DAT_HANDLE_TYPE type)
{
	struct dat_uobj *uobj = peek_any(file, handle);

	return uobj && uobj->type == type ? uobj : NULL;
}

/**
 * dat_uobj_get_any - look a handle up, whatever its type, and take a reference
 * @file: the file
 * @handle: what the process passed
 *
 * Context: any.
 * Return: the object, for dat_uobj_put(), or NULL.
 */
struct dat_uobj *dat_uobj_get_any(struct dat_file *file, u32 handle)
{
	struct dat_uobj *uobj;

	rcu_read_lock();
	uobj = peek_any(file, handle);
	if (uobj && !kref_get_unless_zero(&uobj->ref))
		uobj = NULL;
	rcu_read_unlock();
	return uobj;
}

/**
 * dat_uobj_get - look a handle up and take a reference
 * @file: the file
 * @handle: what the process passed
 * @type: the type it must have
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
 * dat_uobj_next - the object with the lowest handle from a given one on
 * @file: the file
 * @index: in: where to begin; out: the handle
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
 * dat_uobj_put - give a reference back
 * @uobj: the object
 *
 * Context: process, may sleep.
 */
void dat_uobj_put(struct dat_uobj *uobj)
{
	kref_put(&uobj->ref, uobj_release);
}

/*
 * The slot is kept until the next one is withdrawn. Handles go up, so that what is
 * made after something was freed is mostly in the same nodes of the table, and
 * these need not be freed and allocated again.
 */
static bool withdraw(struct dat_uobj *uobj)
{
	struct dat_file *file = uobj->file;
	XA_STATE(xas, &file->objects, uobj->handle);
	bool found;

	xas_lock_bh(&xas);
	found = xas_load(&xas) == uobj;
	if (found) {
		/* Upcalls in softirq do this; no memory is needed. */
		xas_store(&xas, XA_ZERO_ENTRY);
		if (file->kept_handle)
			__xa_erase(&file->objects, file->kept_handle);
		file->kept_handle = uobj->handle;
		dat_lookup_cache_remove(&file->recent, uobj->handle, uobj);
	}
	xas_unlock_bh(&xas);
	return found;
}

/**
 * dat_uobj_remove - withdraw a handle
 * @uobj: the object; the caller has a reference
 *
 * Works once, however many try. Context: process, may sleep; for a CR also
 * softirq.
 */
void dat_uobj_remove(struct dat_uobj *uobj)
{
	if (!withdraw(uobj))
		return;
	atomic_dec(&uobj->file->num_objects);
	dat_uobj_put(uobj);
}

/**
 * dat_uobj_remove_all - withdraw the handles of an IA and of what belongs to it
 * @file: the file; nobody adds objects of that IA
 * @ia: the IA, closed; NULL for all that there is
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
 * dat_uobj_khandle - from a process's handle to the kernel's
 * @file: the file
 * @handle: what the process passed
 * @type: the type it must have
 *
 * Context: any.
 * Return: the handle; one that the kernel knows to be invalid if the process's
 * is, and DAT_HANDLE_NULL for 0.
 */
DAT_HANDLE dat_uobj_khandle(struct dat_file *file, u32 handle,
			    DAT_HANDLE_TYPE type)
{
	DAT_HANDLE khandle = (DAT_HANDLE)-1L;
	struct dat_uobj *uobj;

	if (!handle)
		return DAT_HANDLE_NULL;
	rcu_read_lock();
	uobj = dat_uobj_peek(file, handle, type);
	if (uobj)
		khandle = uobj->khandle;
	rcu_read_unlock();
	return khandle;
}

/**
 * dat_uobj_user_handle - from a kernel's handle to the process's
 * @khandle: the handle, of an object that a file of ours made
 *
 * Context: any.
 * Return: the handle, 0 if the object has gone.
 */
u32 dat_uobj_user_handle(DAT_HANDLE khandle)
{
	DAT_CONTEXT context;

	if (!khandle || dat_get_consumer_context(khandle, &context))
		return 0;
	return context.as_64;
}

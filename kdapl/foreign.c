// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * foreign.c - knows the handles that the providers of other modules give out
 *
 * A handle gets into the table when a call, or an event, hands it to the
 * consumer, and leaves it when it is freed, or its IA is closed. Only what is
 * in the table is passed on to its provider, so that one can be sure that its
 * handles are its own, alive, and of the right type.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "registry.h"

static DEFINE_HASHTABLE(foreign_table, 8);
/* Guards the table, and what can change of its entries. */
static DEFINE_SPINLOCK(foreign_lock);

static void foreign_release_rcu(struct rcu_head *rcu)
{
	struct dat_foreign *obj = container_of(rcu, struct dat_foreign, rcu);

	/* Nobody has ever seen it. */
	if (obj->spare) {
		dat_registration_put(obj->spare->reg);
		kfree(obj->spare);
	}
	dat_registration_put(obj->reg);
	kfree(obj);
}

static void foreign_release(struct kref *ref)
{
	struct dat_foreign *obj = container_of(ref, struct dat_foreign, ref);

	call_rcu(&obj->rcu, foreign_release_rcu);
}

static struct dat_foreign *foreign_find(DAT_HANDLE handle)
{
	struct dat_foreign *obj;

	hash_for_each_possible_rcu(foreign_table, obj, node,
				   (unsigned long)handle)
		if (obj->handle == handle)
			return obj;
	return NULL;
}

/**
 * dat_foreign_get - look a foreign handle up
 * @handle: what a consumer passed
 *
 * Takes a reference, and one of the provider's module. Context: any.
 * Return: its entry, for dat_foreign_end(), or NULL.
 */
struct dat_foreign *dat_foreign_get(DAT_HANDLE handle)
{
	struct dat_foreign *obj;

	rcu_read_lock();
	obj = foreign_find(handle);
	if (obj && (READ_ONCE(obj->hidden) ||
		    !kref_get_unless_zero(&obj->ref)))
		obj = NULL;
	/* It is held by the open IA, if that has not been closed just now. */
	if (obj && !try_module_get(obj->reg->owner)) {
		kref_put(&obj->ref, foreign_release);
		obj = NULL;
	}
	rcu_read_unlock();
	return obj;
}

/**
 * dat_foreign_begin - look a foreign handle up
 * @handle: what a consumer passed
 * @type: the type it must have
 *
 * Context: any.
 * Return: its entry, for dat_foreign_end(), or NULL.
 */
struct dat_foreign *dat_foreign_begin(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct dat_foreign *obj = dat_foreign_get(handle);

	if (!obj || obj->type == type)
		return obj;
	dat_foreign_end(obj);
	return NULL;
}

/**
 * dat_foreign_end - the reverse of dat_foreign_begin()
 * @obj: the entry
 *
 * Context: any.
 */
void dat_foreign_end(struct dat_foreign *obj)
{
	module_put(obj->reg->owner);
	kref_put(&obj->ref, foreign_release);
}

/**
 * dat_foreign_is - is this a handle of the same provider?
 * @obj: an entry of the provider
 * @handle: what a consumer passed beside it; may be DAT_HANDLE_NULL
 * @type: the type that @handle must have
 *
 * Context: any.
 */
bool dat_foreign_is(const struct dat_foreign *obj, DAT_HANDLE handle,
		    DAT_HANDLE_TYPE type)
{
	struct dat_foreign *other;
	bool same;

	if (!handle)
		return true;
	other = dat_foreign_begin(handle, type);
	same = other && other->reg == obj->reg;
	if (other)
		dat_foreign_end(other);
	return same;
}

/**
 * dat_foreign_alloc - make an entry, before the handle is known
 * @reg: whose it will be
 * @gfp: as for kmalloc()
 *
 * Return: the entry, for dat_foreign_add() or dat_foreign_drop(), or NULL.
 */
struct dat_foreign *dat_foreign_alloc(struct dat_registration *reg, gfp_t gfp)
{
	struct dat_foreign *obj = kzalloc(sizeof(*obj), gfp);

	if (!obj)
		return NULL;
	kref_init(&obj->ref);
	kref_get(&reg->ref);
	obj->reg = reg;
	return obj;
}

static void foreign_unlink(struct dat_foreign *obj)
{
	lockdep_assert_held(&foreign_lock);
	hash_del_rcu(&obj->node);
	kref_put(&obj->ref, foreign_release);
}

/**
 * dat_foreign_add - from now on the handle is known
 * @obj: the entry
 * @handle: the handle
 * @type: its type
 * @ia: handle of its IA
 *
 * A provider may give out a handle again when it has freed the object on its
 * own account: what was known of it before is forgotten. Context: any.
 */
void dat_foreign_add(struct dat_foreign *obj, DAT_HANDLE handle,
		     DAT_HANDLE_TYPE type, DAT_IA_HANDLE ia)
{
	struct dat_foreign *old;

	obj->handle = handle;
	obj->type = type;
	obj->ia = ia;
	spin_lock_bh(&foreign_lock);
	old = foreign_find(handle);
	if (old)
		foreign_unlink(old);
	hash_add_rcu(foreign_table, &obj->node, (unsigned long)handle);
	spin_unlock_bh(&foreign_lock);
}

/**
 * dat_foreign_drop - the end of an entry that never got a handle
 * @obj: the entry
 */
void dat_foreign_drop(struct dat_foreign *obj)
{
	kref_put(&obj->ref, foreign_release);
}

/**
 * dat_foreign_hide - win the right to free an object
 * @obj: its entry
 *
 * Context: any.
 * Return: false if somebody else is about to.
 */
bool dat_foreign_hide(struct dat_foreign *obj)
{
	bool won;

	spin_lock_bh(&foreign_lock);
	won = !obj->hidden;
	WRITE_ONCE(obj->hidden, true);
	spin_unlock_bh(&foreign_lock);
	return won;
}

/**
 * dat_foreign_unhide - an object could not be freed
 * @obj: its entry, from dat_foreign_hide()
 */
void dat_foreign_unhide(struct dat_foreign *obj)
{
	WRITE_ONCE(obj->hidden, false);
}

/**
 * dat_foreign_remove - an object was freed
 * @obj: its entry, from dat_foreign_hide(), with a reference
 *
 * Context: any.
 */
void dat_foreign_remove(struct dat_foreign *obj)
{
	spin_lock_bh(&foreign_lock);
	/* The handle may have been given out again already. */
	if (foreign_find(obj->handle) == obj)
		foreign_unlink(obj);
	spin_unlock_bh(&foreign_lock);
}

/**
 * dat_foreign_remove_all - an IA was closed
 * @ia: its entry, from dat_foreign_hide(), with a reference
 *
 * Context: process.
 */
void dat_foreign_remove_all(struct dat_foreign *ia)
{
	struct dat_foreign *obj;
	struct hlist_node *tmp;
	int bucket;

	spin_lock_bh(&foreign_lock);
	hash_for_each_safe(foreign_table, bucket, tmp, obj, node)
		if (obj->reg == ia->reg && obj->ia == ia->handle)
			foreign_unlink(obj);
	spin_unlock_bh(&foreign_lock);
}

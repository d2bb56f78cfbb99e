// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ext.c - the table of the handles of external providers
 *
 * dispatch.c, ext_evd.c and registry.c add a handle when a call or an event returns it to
 * the consumer. They remove it when the consumer frees the object or closes the IA. A
 * call reaches a provider only if the table has its handles, with the right type and of
 * that provider. Look-ups work in any context.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "api/ext.h"

static DEFINE_HASHTABLE(ext_table, 8);
/* Protects the table, and @hidden and @closed of its entries. */
static DEFINE_SPINLOCK(ext_lock);

static void ext_release_rcu(struct rcu_head *rcu)
{
	struct dat_ext *ext = container_of(rcu, struct dat_ext, rcu);

	/* The spare was never in the table. */
	if (ext->spare) {
		dat_registration_put(ext->spare->reg);
		kfree(ext->spare);
	}
	dat_registration_put(ext->reg);
	kfree(ext);
}

static void ext_release(struct kref *ref)
{
	struct dat_ext *ext = container_of(ref, struct dat_ext, ref);

	if (ext->ia)
		kref_put(&ext->ia->ref, ext_release);
	call_rcu(&ext->rcu, ext_release_rcu);
}

static struct dat_ext *ext_lookup(DAT_HANDLE handle)
{
	struct dat_ext *ext;

	hash_for_each_possible_rcu(ext_table, ext, node,
				   (unsigned long)handle)
		if (ext->handle == handle)
			return ext;
	return NULL;
}

/**
 * dat_ext_get - look up a handle of an external provider
 * @handle: the consumer's argument, any value
 * @type: the type that the handle must have, or DAT_EXT_ANY_TYPE
 *
 * Takes a reference to the entry and one to the provider's module.
 *
 * Context: any.
 * Return: the entry, for dat_ext_put(), or NULL.
 */
struct dat_ext *dat_ext_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct dat_ext *ext;

	rcu_read_lock();
	ext = ext_lookup(handle);
	if (ext && (READ_ONCE(ext->hidden) ||
		    (type != DAT_EXT_ANY_TYPE && ext->type != type) ||
		    !kref_get_unless_zero(&ext->ref)))
		ext = NULL;
	/* The open IA holds the module, unless it was closed meanwhile. */
	if (ext && !try_module_get(ext->reg->owner)) {
		kref_put(&ext->ref, ext_release);
		ext = NULL;
	}
	rcu_read_unlock();
	return ext;
}

/**
 * dat_ext_put - put the references of dat_ext_get()
 * @ext: the entry
 *
 * Context: any.
 */
void dat_ext_put(struct dat_ext *ext)
{
	module_put(ext->reg->owner);
	kref_put(&ext->ref, ext_release);
}

/**
 * dat_ext_is_same - is a further handle of the same provider?
 * @ext: an entry of the provider
 * @handle: a further argument of the consumer, any value
 * @type: the type that @handle must have
 *
 * Context: any.
 * Return: true if so, and for DAT_HANDLE_NULL.
 */
bool dat_ext_is_same(const struct dat_ext *ext, DAT_HANDLE handle,
		     DAT_HANDLE_TYPE type)
{
	struct dat_ext *other;
	bool same;

	if (!handle)
		return true;
	other = dat_ext_get(handle, type);
	same = other && other->reg == ext->reg;
	if (other)
		dat_ext_put(other);
	return same;
}

/**
 * dat_ext_alloc - allocate an entry before its handle exists
 * @reg: registration of its provider
 * @gfp: flags of kmalloc()
 *
 * Context: any that @gfp permits.
 * Return: the entry, for dat_ext_add() or dat_ext_drop(), or NULL.
 */
struct dat_ext *dat_ext_alloc(struct dat_registration *reg, gfp_t gfp)
{
	struct dat_ext *ext = kzalloc(sizeof(*ext), gfp);

	if (!ext)
		return NULL;
	kref_init(&ext->ref);
	kref_get(&reg->ref);
	ext->reg = reg;
	return ext;
}

static void ext_unlink(struct dat_ext *ext)
{
	lockdep_assert_held(&ext_lock);
	hash_del_rcu(&ext->node);
	kref_put(&ext->ref, ext_release);
}

/**
 * dat_ext_set_parent - set the IA of an entry
 * @ext: the entry; its IA is not set yet
 * @parent: entry of an object of the same IA, referenced
 *
 * Context: any.
 */
void dat_ext_set_parent(struct dat_ext *ext, struct dat_ext *parent)
{
	ext->ia = parent->ia ?: parent;
	kref_get(&ext->ia->ref);
}

/**
 * dat_ext_add - add a handle to the table
 * @ext: the entry
 * @handle: the handle
 * @type: type of its object
 * @parent: entry of an object of the same IA, referenced; NULL for an IA
 *
 * A provider may free an object without a call and return its handle again. The new entry
 * then replaces the old one. If another thread has closed the IA meanwhile, the object is
 * gone, and its handle is not added.
 *
 * Context: any.
 */
void dat_ext_add(struct dat_ext *ext, DAT_HANDLE handle, DAT_HANDLE_TYPE type,
		 struct dat_ext *parent)
{
	struct dat_ext *old;

	ext->handle = handle;
	ext->type = type;
	if (parent && !ext->ia)
		dat_ext_set_parent(ext, parent);
	spin_lock_bh(&ext_lock);
	if (ext->ia && ext->ia->closed) {
		spin_unlock_bh(&ext_lock);
		dat_ext_drop(ext);
		return;
	}
	old = ext_lookup(handle);
	if (old)
		ext_unlink(old);
	hash_add_rcu(ext_table, &ext->node, (unsigned long)handle);
	spin_unlock_bh(&ext_lock);
}

/**
 * dat_ext_drop - free an entry that was never added
 * @ext: the entry, or NULL
 *
 * Context: any.
 */
void dat_ext_drop(struct dat_ext *ext)
{
	if (ext)
		kref_put(&ext->ref, ext_release);
}

/**
 * dat_ext_hide - claim an object for freeing
 * @ext: its entry
 *
 * Look-ups of the handle fail from now on.
 *
 * Context: any.
 * Return: false if another caller has claimed it.
 */
bool dat_ext_hide(struct dat_ext *ext)
{
	bool won;

	spin_lock_bh(&ext_lock);
	won = !ext->hidden;
	WRITE_ONCE(ext->hidden, true);
	spin_unlock_bh(&ext_lock);
	return won;
}

/**
 * dat_ext_unhide - undo dat_ext_hide(), because the provider did not free the object
 * @ext: its entry, claimed by dat_ext_hide()
 *
 * Context: any.
 */
void dat_ext_unhide(struct dat_ext *ext)
{
	WRITE_ONCE(ext->hidden, false);
}

/**
 * dat_ext_remove - remove the handle of a freed object from the table
 * @ext: its entry, claimed by dat_ext_hide() and referenced
 *
 * Context: any.
 */
void dat_ext_remove(struct dat_ext *ext)
{
	spin_lock_bh(&ext_lock);
	/* The provider may already have returned the same handle for a new object. */
	if (ext_lookup(ext->handle) == ext)
		ext_unlink(ext);
	spin_unlock_bh(&ext_lock);
}

/**
 * dat_ext_remove_all - remove all handles of a closed IA from the table
 * @ia: its entry, claimed by dat_ext_hide() and referenced
 *
 * Context: process.
 */
void dat_ext_remove_all(struct dat_ext *ia)
{
	struct dat_ext *ext;
	struct hlist_node *tmp;
	int bucket;

	spin_lock_bh(&ext_lock);
	ia->closed = true;
	hash_for_each_safe(ext_table, bucket, tmp, ext, node)
		if (ext == ia || ext->ia == ia)
			ext_unlink(ext);
	spin_unlock_bh(&ext_lock);
}

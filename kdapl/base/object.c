// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * object.c - DAT handles and objects: publish, look up, retire, free
 *
 * Owns the handle table and the count of live objects. Every layer calls it, from the
 * contexts that each function documents. A handle consists of an index into the table
 * and a generation that no two objects share. A lookup of a stale or forged handle
 * finds nothing, or an object with another handle. kdapl never dereferences a handle.
 */
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "base/account.h"
#include "base/object.h"
#include "base/stats.h"
#include "lookup_cache.h"

/*
 * The index must be in the low bits: dat_object_lookup_any() hashes the handle by them.
 */
#define HANDLE_INDEX_BITS	(BITS_PER_LONG == 64 ? 24 : 16)
#define HANDLE_INDEX_MASK	(BIT(HANDLE_INDEX_BITS) - 1)

static DEFINE_XARRAY_ALLOC1(dat_objects);
struct dat_lookup_cache dat_object_cache;
static atomic_long_t dat_generation;

/* Objects whose memory is not freed yet. Each object holds a reference to its IA. */
static atomic_long_t dat_live_objects;
/* The same count by type, for the message that reports leaks */
static atomic_long_t dat_live_by_type[DAT_NUM_HANDLE_TYPES];
/* Woken up when dat_live_objects reaches 0 */
static DECLARE_WAIT_QUEUE_HEAD(dat_live_wq);

/* Interval at which module unload reports unfreed objects, in jiffies */
#define LEAK_INTERVAL	(10 * HZ)

static DAT_HANDLE make_handle(u32 index)
{
	unsigned long generation = atomic_long_inc_return(&dat_generation);

	return (DAT_HANDLE)(generation << HANDLE_INDEX_BITS | index);
}

static unsigned long handle_index(DAT_HANDLE handle)
{
	return (unsigned long)handle & HANDLE_INDEX_MASK;
}

/**
 * dat_object_init - initialise the head of a new object
 * @obj: the object, zeroed
 * @type: its type
 * @owner: the IA that it belongs to; @obj keeps the memory of the IA
 * @ops: functions of the type
 *
 * The caller holds the only reference.
 *
 * Context: any.
 */
void dat_object_init(struct dat_object *obj, DAT_HANDLE_TYPE type,
		     struct dat_owner *owner, const struct dat_object_ops *ops)
{
	atomic_long_inc(&dat_live_objects);
	atomic_long_inc(&dat_live_by_type[type]);
	kref_init(&obj->ref);
	atomic_set(&obj->users, 0);
	INIT_LIST_HEAD(&obj->node);
	obj->type = type;
	obj->owner = owner;
	obj->ia = owner->ia;
	obj->ops = ops;
	if (obj != owner->obj)
		kref_get(&owner->obj->ref);
}

/**
 * dat_owner_init - initialise the owner of objects
 * @owner: the owner, zeroed
 * @ia: the IA that contains @owner
 * @obj: the object of the IA itself
 *
 * Context: any.
 */
void dat_owner_init(struct dat_owner *owner, struct dat_ia *ia,
		    struct dat_object *obj)
{
	DAT_HANDLE_TYPE type;

	owner->ia = ia;
	owner->obj = obj;
	spin_lock_init(&owner->lock);
	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++)
		INIT_LIST_HEAD(&owner->objects[type]);
}

static void owner_add(struct dat_object *obj)
{
	struct dat_owner *owner = obj->owner;

	if (obj == owner->obj)
		return;
	spin_lock_bh(&owner->lock);
	list_add_tail(&obj->node, &owner->objects[obj->type]);
	spin_unlock_bh(&owner->lock);
}

static void owner_del(struct dat_object *obj)
{
	spin_lock_bh(&obj->owner->lock);
	list_del_init(&obj->node);
	spin_unlock_bh(&obj->owner->lock);
}

/**
 * dat_object_publish - assign a handle to an object
 * @obj: the object; no later step of its creation may fail
 *
 * On success the reference of the caller passes to the handle table, which holds it
 * until dat_object_retire().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, or DAT_INSUFFICIENT_RESOURCES; then the caller keeps its
 * reference.
 */
DAT_RETURN dat_object_publish(struct dat_object *obj)
{
	u32 index;

	/* Reserve the slot first: a lookup must not find an object without a handle. */
	if (xa_alloc(&dat_objects, &index, XA_ZERO_ENTRY,
		     XA_LIMIT(1, HANDLE_INDEX_MASK), GFP_KERNEL_ACCOUNT))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);

	obj->handle = make_handle(index);
	owner_add(obj);
	dat_stats_made(obj);
	xa_lock(&dat_objects);
	/* The slot is reserved, so the store allocates no memory. */
	__xa_store(&dat_objects, index, obj, GFP_ATOMIC);
	dat_lookup_cache_add(&dat_object_cache, index, obj);
	xa_unlock(&dat_objects);
	return DAT_SUCCESS;
}

/**
 * dat_object_lookup_slow - look up a handle in the handle table itself
 * @handle: handle from the consumer; any value
 *
 * Context: as dat_object_lookup_any().
 * Return: the object, or NULL if the handle names none.
 */
struct dat_object *dat_object_lookup_slow(DAT_HANDLE handle)
{
	unsigned long index = handle_index(handle);
	struct dat_object *obj = xa_load(&dat_objects, index);

	if (!obj || obj->handle != handle)
		return NULL;
	dat_lookup_cache_refill(&dat_object_cache, &dat_objects, index, obj);
	return obj;
}

/**
 * dat_object_get - look up a handle and take a reference
 * @handle: handle from the consumer; any value
 * @type: the type that the object must have
 *
 * Context: any.
 * Return: the object, for dat_object_put(), or NULL.
 */
struct dat_object *dat_object_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct dat_object *obj;

	rcu_read_lock();
	obj = dat_object_lookup(handle, type);
	if (obj && !kref_get_unless_zero(&obj->ref))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/**
 * dat_object_next - find the next object in the handle table
 * @index: in: first index to search; out: index of the object
 *
 * Context: any.
 * Return: the object, for dat_object_put(), or NULL.
 */
struct dat_object *dat_object_next(unsigned long *index)
{
	struct dat_object *obj;

	rcu_read_lock();
	do
		obj = xa_find(&dat_objects, index, HANDLE_INDEX_MASK,
			      XA_PRESENT);
	while (obj && !kref_get_unless_zero(&obj->ref) && ++*index);
	rcu_read_unlock();
	return obj;
}

static void object_release_rcu(struct rcu_head *rcu)
{
	struct dat_object *obj = container_of(rcu, struct dat_object, rcu);
	long charged = atomic_long_read(&obj->charged);
	DAT_HANDLE_TYPE type = obj->type;
	struct dat_owner *owner = obj->owner;
	bool is_ia = obj == owner->obj;

	if (is_ia)
		dat_owner_uncharge(owner, charged);
	obj->ops->release(obj);
	if (!is_ia) {
		dat_owner_uncharge(owner, charged);
		dat_object_put(owner->obj);
	}
	atomic_long_dec(&dat_live_by_type[type]);
	if (atomic_long_dec_and_test(&dat_live_objects))
		wake_up_all(&dat_live_wq);
}

static void object_release(struct kref *ref)
{
	struct dat_object *obj = container_of(ref, struct dat_object, ref);

	call_rcu(&obj->rcu, object_release_rcu);
}

/**
 * dat_object_put - return a reference
 * @obj: the object
 *
 * Context: any.
 */
void dat_object_put(struct dat_object *obj)
{
	kref_put(&obj->ref, object_release);
}

/**
 * dat_object_claim - acquire the sole right to free an object
 * @obj: the object
 *
 * Context: any.
 * Return: false if the object is in use, or if another thread has claimed it.
 */
bool dat_object_claim(struct dat_object *obj)
{
	return atomic_cmpxchg(&obj->users, 0, INT_MIN / 2) == 0;
}

/**
 * dat_object_shutdown - return an object's device resources, once
 * @obj: the object
 *
 * Context: process, may sleep; the caller holds a live reference to the IA, or has
 * quiesced it.
 */
void dat_object_shutdown(struct dat_object *obj)
{
	if (test_and_set_bit(0, &obj->is_down))
		return;
	obj->ops->shutdown(obj);
	dat_object_uncharge_hca(obj);
}

/**
 * dat_object_retire - withdraw a claimed object: handle, device resources, reference
 * @obj: the object, from dat_object_claim()
 *
 * Context: process, may sleep.
 */
void dat_object_retire(struct dat_object *obj)
{
	unsigned long index = handle_index(obj->handle);

	xa_lock(&dat_objects);
	__xa_erase(&dat_objects, index);
	dat_lookup_cache_remove(&dat_object_cache, index, obj);
	xa_unlock(&dat_objects);
	owner_del(obj);
	dat_stats_freed(obj);
	dat_object_shutdown(obj);
	dat_object_put(obj);
}

static void report_leaks(void)
{
	DAT_HANDLE_TYPE type;
	long num;

	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++) {
		num = atomic_long_read(&dat_live_by_type[type]);
		if (num)
			pr_err("kdapl: cannot be unloaded: %ld %s not freed\n",
			       num, dat_type_name(type));
	}
}

/**
 * dat_object_table_destroy - free the handle table at module unload
 *
 * The call waits until the memory of all objects is freed, because the module's code
 * frees it. If a reference was leaked, module unload waits for ever and logs the leak
 * every 10 seconds. A return would free the code that the holder of the reference runs.
 *
 * Context: process, may sleep.
 */
void dat_object_table_destroy(void)
{
	/*
	 * An idle wait, so that the hung-task watchdog does not report it:
	 * report_leaks() does.
	 */
	while (!wait_event_idle_timeout(dat_live_wq,
					!atomic_long_read(&dat_live_objects),
					LEAK_INTERVAL))
		report_leaks();
	/* The RCU callback of the last object may not have returned yet. */
	rcu_barrier();
	WARN_ON(!xa_empty(&dat_objects));
	xa_destroy(&dat_objects);
}

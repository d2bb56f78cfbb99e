/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * object.h - the common head of every DAT object, and the lookup of its handle
 *
 * Every object of kdapl begins with struct dat_object. The lookups are inline because
 * each DTO calls them; object.c implements the slow path and the life of an object.
 */
#ifndef _KDAPL_OBJECT_H
#define _KDAPL_OBJECT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "base/error.h"

#include "base/owner.h"
#include "lookup_cache.h"

struct dat_object;
struct dat_owner;
struct dat_srq_ep;
struct rdma_cgroup;

/**
 * struct dat_object_ops - functions of one type of objects
 * @shutdown: return all device resources. Called once: by the free call, by
 *	dat_ia_close() or by the device removal, whichever is first. May sleep.
 * @unplug: called at device removal instead of @shutdown; NULL if the type uses
 *	@shutdown there. May sleep.
 * @release: free the memory. Called one RCU grace period after the last reference is
 *	returned. Must not sleep.
 * @progress: of an EP: process completions of outstanding requests and wait for one
 *	millisecond; break the connection if @waited, the number of earlier calls, is
 *	very high. NULL for other types. May sleep.
 * @srq_ep: of an EP: return its attachment to an SRQ; NULL for other types
 * @state: return the name of the object's state; NULL if the type has no states
 */
struct dat_object_ops {
	void (*shutdown)(struct dat_object *obj);
	void (*unplug)(struct dat_object *obj);
	void (*release)(struct dat_object *obj);
	void (*progress)(struct dat_object *obj, unsigned int waited);
	struct dat_srq_ep *(*srq_ep)(struct dat_object *obj);
	const char *(*state)(struct dat_object *obj);
};

/**
 * struct dat_object - the head of every DAT object
 * @handle: handle of the consumer; DAT_HANDLE_NULL until published
 * @type: type of the object
 * @ref: references; the memory is freed after the last
 * @users: number of objects that use this one and so prevent its free; negative once it
 *	is claimed to be freed
 * @is_down: ops->shutdown() has begun
 * @owner: the part of its IA that objects need
 * @ia: its IA; the IA itself if the object is an IA
 * @node: in owner->objects[type]
 * @implicit: created with its IA, not by the consumer
 * @context: the consumer's context
 * @ops: functions of the type
 * @charged: charge to the account of its IA, in bytes
 * @cgroup: the rdma cgroup that is charged for its device resources
 * @num_hca: number of handles or objects of the device that @cgroup is charged for
 * @hca: the resource that @cgroup is charged for, of enum dat_hca
 * @rcu: for the release
 */
struct dat_object {
	DAT_HANDLE handle;
	DAT_HANDLE_TYPE type;
	struct kref ref;
	atomic_t users;
	unsigned long is_down;
	struct dat_owner *owner;
	struct dat_ia *ia;
	struct list_head node;
	bool implicit;
	DAT_CONTEXT context;
	const struct dat_object_ops *ops;
	atomic_long_t charged;
	struct rdma_cgroup *cgroup;
	unsigned int num_hca;
	u8 hca;
	struct rcu_head rcu;
};

void dat_object_init(struct dat_object *obj, DAT_HANDLE_TYPE type,
		     struct dat_owner *owner, const struct dat_object_ops *ops);
DAT_RETURN dat_object_publish(struct dat_object *obj);
struct dat_object *dat_object_lookup_slow(DAT_HANDLE handle);
struct dat_object *dat_object_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type);
struct dat_object *dat_object_next(unsigned long *index);
void dat_object_put(struct dat_object *obj);
bool dat_object_claim(struct dat_object *obj);
void dat_object_retire(struct dat_object *obj);
void dat_object_shutdown(struct dat_object *obj);
void dat_object_table_destroy(void);

/* The objects by handle. The low bits of a handle are the index. */
extern struct dat_lookup_cache dat_object_cache;

/**
 * dat_object_lookup_any - look up a handle of any type
 * @handle: handle from the consumer; any value
 *
 * Context: any; in an RCU read-side section that protects the object;
 * rcu_read_lock_bh() suffices.
 * Return: the object, or NULL if the handle names none.
 */
static inline struct dat_object *dat_object_lookup_any(DAT_HANDLE handle)
{
	struct dat_object *obj = dat_lookup_cache_find(&dat_object_cache,
						       (unsigned long)handle);

	return likely(obj && obj->handle == handle) ? obj :
						      dat_object_lookup_slow(handle);
}

/**
 * dat_object_lookup - look up a handle of one type
 * @handle: handle from the consumer; any value
 * @type: the type that the object must have
 *
 * Context: as dat_object_lookup_any().
 * Return: the object, or NULL if the handle does not name one of that type.
 */
static inline struct dat_object *dat_object_lookup(DAT_HANDLE handle,
						   DAT_HANDLE_TYPE type)
{
	struct dat_object *obj = dat_object_lookup_any(handle);

	return likely(obj && obj->type == type) ? obj : NULL;
}

/**
 * dat_object_use_get - take a use count of an object, so that it cannot be freed
 * @obj: the object
 *
 * Context: any.
 * Return: false if the object is already claimed to be freed.
 */
static inline bool dat_object_use_get(struct dat_object *obj)
{
	return atomic_inc_unless_negative(&obj->users);
}

/**
 * dat_object_use_put - return a use count from dat_object_use_get()
 * @obj: the object
 *
 * Context: any.
 */
static inline void dat_object_use_put(struct dat_object *obj)
{
	atomic_dec(&obj->users);
}

#endif /* _KDAPL_OBJECT_H */

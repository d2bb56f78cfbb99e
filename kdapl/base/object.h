/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * object.h - what every DAT object begins with, and its handle
 */
#ifndef _KDAPL_OBJECT_H
#define _KDAPL_OBJECT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include <dat/kdat.h>

#include "base/owner.h"
#include "base/lookup_cache.h"

struct dat_object;
struct dat_owner;
struct dat_srq_ep;
struct rdma_cgroup;

/**
 * struct dat_object_ops - how objects of one type end
 * @shutdown: give back everything that belongs to the device. Called once by
 *	the free call, by dat_ia_close(), or when the device goes away, whatever
 *	is first. May sleep.
 * @unplug: what to do instead of @shutdown when the device goes away; NULL for
 *	the same. May sleep.
 * @release: free the memory, after the last reference has gone and an RCU
 *	grace period has passed. Must not sleep.
 * @progress: of an EP: process completions of outstanding requests, wait for one
 *	millisecond, and break the connection if that was called very often (@waited)
 *	before; NULL for other types. May sleep.
 * @srq_ep: of an EP: its attachment to an SRQ; NULL for other types
 * @state: the name of the state that the object is in; NULL if those of the
 *	type have none
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
 * @handle: what the consumer holds; DAT_HANDLE_NULL until published
 * @type: type of the object
 * @ref: memory is kept while not 0
 * @users: objects that make use of this one, which therefore cannot be freed;
 *	negative once it has been freed
 * @is_down: ops->shutdown() has begun
 * @owner: its IA, as far as objects need it
 * @ia: its IA; that of an IA is the IA itself
 * @node: in owner->objects[type]
 * @implicit: created with its IA, not by the consumer
 * @context: the consumer's context
 * @ops: how it ends
 * @charged: bytes that its IA's account has been charged for it
 * @cgroup: the rdma cgroup that has been charged for what it has of the device
 * @num_hca: how many handles or objects of the device that is
 * @hca: which of the two, of enum dat_hca
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

/* By their handles, which end with the index. */
extern struct dat_lookup_cache dat_object_cache;

/**
 * dat_object_lookup_any - look a handle up, whatever its type
 * @handle: what a consumer passed
 *
 * Context: any; the caller is in an RCU read-side section, be it
 * rcu_read_lock_bh(), to which the object is tied.
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
 * dat_object_lookup - look a handle up
 * @handle: what a consumer passed
 * @type: the type it must have
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
 * dat_object_use_get - make use of an object, so that it cannot be freed
 * @obj: the object
 *
 * Context: any.
 * Return: false if it has been freed already.
 */
static inline bool dat_object_use_get(struct dat_object *obj)
{
	return atomic_inc_unless_negative(&obj->users);
}

/**
 * dat_object_use_put - the reverse of dat_object_use_get()
 * @obj: the object
 *
 * Context: any.
 */
static inline void dat_object_use_put(struct dat_object *obj)
{
	atomic_dec(&obj->users);
}

#endif /* _KDAPL_OBJECT_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ia.h - one consumer's open instance of an interface adapter
 *
 * Declares struct dat_ia, which ia.c owns, and the live reference. A call takes a live
 * reference for as long as it uses the IA's device: see quiesce.c.
 */
#ifndef _KDAPL_IA_H
#define _KDAPL_IA_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "base/object.h"
#include "lookup_cache.h"

struct dat_dev;
struct dat_lmr;
struct net;

/**
 * struct dat_ia_ops - functions of the layers above
 * @async_event: post an asynchronous event to an EVD; in process or softirq context
 * @in_upcall: is the caller an upcall that may sleep? In any context.
 */
struct dat_ia_ops {
	void (*async_event)(struct dat_object *evd, DAT_EVENT_NUMBER number,
			    const DAT_EVENT_DATA *data);
	bool (*in_upcall)(void);
};

enum dat_ia_live_state {
	DAT_IA_OPEN,
	DAT_IA_UNPLUGGING,	/* calls wait until the device is removed */
	DAT_IA_CLOSING,		/* calls fail */
};

/**
 * struct dat_ia_deferred - a work that waits for a live reference without a worker
 * @node: in ia->deferred
 * @work: the work; queued again by dat_ia_resume() or when the IA is closed
 */
struct dat_ia_deferred {
	struct list_head node;
	struct work_struct *work;
};

/* Result of dat_ia_get_or_defer(). */
enum dat_ia_get_result {
	DAT_IA_GOT,
	DAT_IA_REFUSED,		/* the IA is being closed */
	DAT_IA_DEFERRED,	/* the work will run again */
};

#define DAT_IA_NAMED_ATTRS	13

/**
 * struct dat_ia_named - the named attributes of an IA
 * @attrs: all that there are
 * @num: the first of @attrs, which the IA has
 * @device: name of the device
 * @node_guid: GUID of the device
 * @gid: GID of the port
 * @port: number of the port
 */
struct dat_ia_named {
	DAT_NAMED_ATTR attrs[DAT_IA_NAMED_ATTRS];
	DAT_COUNT num;
	char device[IB_DEVICE_NAME_MAX];
	char node_guid[20];
	char gid[40];
	char port[12];
};

/**
 * struct dat_ia - an open IA
 * @obj: head
 * @owner: the part that objects need; its lock also protects @deferred and @pinners
 * @ops: functions of the layers above
 * @dev: the device; valid until the last reference to the IA is returned
 * @port: port of the device, from 1
 * @net: network namespace of the opener, referenced
 * @uid: user id of the opener
 * @addr: address of the port, see dat_addr()
 * @addrs: all addresses that the IA has had; protected by @addr_lock
 * @addr_settled: no other address will replace @addr while @addr is valid; protected by
 *	@addr_lock
 * @addr_generation: generation of the host's addresses when @addr was checked; 0 if the
 *	next dat_addr_find() must check it in any case
 * @addr_lock: serialises searches for the address
 * @async_evd: the EVD for asynchronous events, referenced and used
 * @unplugged: the device is removed
 * @end_lock: serialises dat_ia_close() and the removal of the device
 * @live_state: do calls get a live reference?
 * @num_live: 1 + live references
 * @live_wq: calls wait here for dat_ia_resume(); dat_ia_quiesce() waits for calls
 * @deferred: works that wait for dat_ia_resume()
 * @pinners: tasks with a live reference that may wait for a page of their process
 * @watched_mm: an mm that can have interval notifiers, grabbed
 * @lmrs: LMRs by the index part of their lmr_context
 * @lmr_cache: lookup cache of @lmrs
 * @kept_lmr: the index in @lmrs that was released last; its slot stays reserved
 * @reserved_lmr: the LMR that covers all memory; NULL until the consumer requests it
 * @rmrs: RMRs by the index parts of their windows' contexts
 * @named: named attributes
 * @dev_node: in dev->ias
 */
struct dat_ia {
	struct dat_object obj;
	struct dat_owner owner;
	const struct dat_ia_ops *ops;
	struct dat_dev *dev;
	u32 port;
	struct net *net;
	kuid_t uid;
	const struct sockaddr_storage *addr;
	struct list_head addrs;
	bool addr_settled;
	int addr_generation;
	struct mutex addr_lock;
	struct dat_object *async_evd;
	bool unplugged;
	struct mutex end_lock;
	enum dat_ia_live_state live_state;
	refcount_t num_live;
	wait_queue_head_t live_wq;
	struct list_head deferred;
	struct list_head pinners;
	struct mm_struct *watched_mm;
	struct xarray lmrs;
	struct dat_lookup_cache lmr_cache;
	unsigned long kept_lmr;
	struct xarray rmrs;
	struct dat_lmr *reserved_lmr;
	struct dat_ia_named named;
	struct list_head dev_node;
};

static inline struct dat_ia *to_ia(struct dat_object *obj)
{
	return container_of(obj, struct dat_ia, obj);
}

struct ib_device *dat_ia_ibdev(struct dat_ia *ia);
struct dat_ia *dat_ia_alloc(struct dat_dev *dev, u32 port,
			    const struct dat_ia_ops *ops);
void dat_ia_destroy_objects(struct dat_ia *ia);

/**
 * dat_wq - return the work queue for the works of an object
 * @obj: the object
 *
 * Context: any.
 * Return: the queue of the user who opened the IA.
 */
static inline struct workqueue_struct *dat_wq(const struct dat_object *obj)
{
	return obj->owner->user->wq;
}

bool dat_ia_has_consumer_objects(struct dat_ia *ia);

bool dat_ia_tryget_live(struct dat_ia *ia);
void dat_ia_put_live(struct dat_ia *ia);
enum dat_ia_get_result dat_ia_get_or_defer(struct dat_ia *ia,
					   struct dat_ia_deferred *deferred);

struct dat_object *dat_object_get_live(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
				       DAT_RETURN_SUBTYPE subtype,
				       DAT_RETURN *ret);
struct dat_object *dat_object_get_open(DAT_HANDLE handle,
				       DAT_HANDLE_TYPE type,
				       DAT_RETURN_SUBTYPE subtype,
				       DAT_RETURN *ret);
void dat_object_put_live(struct dat_object *obj);
DAT_RETURN dat_object_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
			   DAT_RETURN_SUBTYPE bad_handle,
			   DAT_RETURN_SUBTYPE in_use);

void dat_ia_named_init(struct dat_ia *ia);
void dat_ia_named_refresh(struct dat_ia *ia);
DAT_NAMED_ATTR *dat_ia_named_transport(struct dat_ia *ia, DAT_COUNT *num);

void dat_ia_unplug(struct dat_ia *ia);
void dat_ia_async_event(struct dat_ia *ia, DAT_EVENT_NUMBER number,
			DAT_HANDLE handle, DAT_COUNT reason);

#endif /* _KDAPL_IA_H */

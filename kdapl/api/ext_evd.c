// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ext_evd.c - the exported calls of EVDs: kdapl's own, or those of an external provider
 *
 * A connection request contains the handle of a new CR, which no call of the consumer has
 * returned. So dat_evd_dequeue() adds the handle to the table. For upcalls the provider
 * calls a function of this file instead of the consumer's; the function adds the handle
 * and calls the consumer. Contexts are those of kdapl's own calls.
 */
#include <linux/export.h>
#include <linux/slab.h>

#include "api/ext.h"
#include "base/calls.h"

/* Protects the upcalls of all EVDs of external providers. */
static DEFINE_SPINLOCK(upcall_lock);

/* Allocates the entry for the handle of a request before its event is dequeued. */
static struct dat_ext *take_spare(struct dat_ext *evd)
{
	return xchg(&evd->spare, NULL) ?:
	       dat_ext_alloc(evd->reg, GFP_ATOMIC);
}

static void keep_spare(struct dat_ext *evd, struct dat_ext *new)
{
	if (new && cmpxchg(&evd->spare, NULL, new))
		dat_ext_drop(new);
}

/* Adds the handle of a connection request to the table, or keeps @new as a spare. */
static void add_request(struct dat_ext *evd, const DAT_EVENT *event,
			struct dat_ext *new)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *cr =
		&event->event_data.cr_arrival_event_data;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		keep_spare(evd, new);
	else if (new)
		dat_ext_add(new, cr->cr_handle, DAT_HANDLE_TYPE_CR, evd);
	else
		pr_warn_ratelimited("kdapl: a connection request of %s cannot be answered\n",
				    evd->reg->info.ia_name);
}

static void set_upcall(struct dat_ext *evd,
		       const DAT_UPCALL_OBJECT *upcall)
{
	spin_lock_bh(&upcall_lock);
	evd->upcall = *upcall;
	spin_unlock_bh(&upcall_lock);
}

static DAT_UPCALL_OBJECT get_upcall(struct dat_ext *evd)
{
	DAT_UPCALL_OBJECT upcall;

	spin_lock_bh(&upcall_lock);
	upcall = evd->upcall;
	spin_unlock_bh(&upcall_lock);
	return upcall;
}

/* The entry of the EVD lives longer than its upcalls. */
static void call_consumer(DAT_PVOID instance_data, const DAT_EVENT *event,
			  DAT_BOOLEAN more_events)
{
	struct dat_ext *evd = instance_data;
	DAT_UPCALL_OBJECT upcall = get_upcall(evd);

	if (evd->takes_requests) {
		add_request(evd, event, take_spare(evd));
		/* Allocate for the next request now: the next upcall may lack memory. */
		if (!READ_ONCE(evd->spare))
			keep_spare(evd, take_spare(evd));
	}
	if (upcall.upcall_func)
		upcall.upcall_func(upcall.instance_data, event, more_events);
}

DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags, DAT_EVD_HANDLE *evd_handle)
{
	DAT_UPCALL_OBJECT ours = { .upcall_func = call_consumer };
	struct dat_ext *ia, *evd;
	DAT_RETURN ret;

	ret = kdapl_evd_kcreate(ia_handle, evd_min_qlen, upcall_policy, upcall,
				evd_flags, evd_handle);
	ia = dat_ext_if_unknown(ret, ia_handle, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return ret;
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	evd = dat_ext_alloc(ia->reg, GFP_KERNEL);
	if (!evd)
		goto put_ia;
	evd->takes_requests = evd_flags & DAT_EVD_CR_FLAG;
	if (evd->takes_requests) {
		evd->spare = dat_ext_alloc(ia->reg, GFP_KERNEL);
		if (!evd->spare) {
			dat_ext_drop(evd);
			goto put_ia;
		}
	}
	/* An upcall may run before the provider's function returns. */
	dat_ext_set_parent(evd, ia);
	if (upcall)
		evd->upcall = *upcall;
	ours.instance_data = evd;
	ret = dat_ext_call(ia, evd_kcreate_func,
			   (ia_handle, evd_min_qlen, upcall_policy,
			    upcall ? &ours : NULL, evd_flags, evd_handle));
	if (ret)
		dat_ext_drop(evd);
	else
		dat_ext_add(evd, *evd_handle, DAT_HANDLE_TYPE_EVD, ia);
put_ia:
	dat_ext_put(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_kcreate);

DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG upcall_flag)
{
	DAT_UPCALL_OBJECT ours = { .upcall_func = call_consumer };
	bool disable = upcall_policy == DAT_UPCALL_DISABLE;
	DAT_UPCALL_OBJECT old;
	struct dat_ext *evd;
	DAT_RETURN ret;

	ret = kdapl_evd_modify_upcall(evd_handle, upcall_policy, upcall,
				      upcall_flag);
	evd = dat_ext_if_unknown(ret, evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		return ret;
	old = get_upcall(evd);
	if (upcall && !disable)
		set_upcall(evd, upcall);
	ours.instance_data = evd;
	ret = dat_ext_call(evd, evd_modify_upcall_func,
			   (evd_handle, upcall_policy, upcall ? &ours : NULL,
			    upcall_flag));
	if (ret)
		set_upcall(evd, &old);
	dat_ext_put(evd);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_modify_upcall);

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
			 DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	struct dat_ext *evd;
	DAT_RETURN ret;

	ret = kdapl_evd_query(evd_handle, evd_param_mask, evd_param);
	evd = dat_ext_if_unknown(ret, evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		return ret;
	memset(evd_param, 0, sizeof(*evd_param));
	ret = dat_ext_call(evd, evd_query_func,
			   (evd_handle, evd_param_mask, evd_param));
	if (!ret && evd_param->upcall.upcall_func == call_consumer)
		evd_param->upcall = get_upcall(evd);
	dat_ext_put(evd);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_query);

/* Without memory for the handle of a CR, the connection request stays in the EVD. */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct dat_ext *evd, *new = NULL;
	DAT_RETURN ret;

	ret = kdapl_evd_dequeue(evd_handle, event);
	evd = dat_ext_if_unknown(ret, evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		return ret;
	ret = DAT_QUEUE_EMPTY;
	if (evd->takes_requests) {
		new = take_spare(evd);
		if (!new)
			goto put_evd;
	}
	ret = dat_ext_call(evd, evd_dequeue_func, (evd_handle, event));
	if (ret)
		keep_spare(evd, new);
	else if (evd->takes_requests)
		add_request(evd, event, new);
put_evd:
	dat_ext_put(evd);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_dequeue);

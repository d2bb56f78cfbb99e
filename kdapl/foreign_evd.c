// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * foreign_evd.c - calls on the EVDs of foreign providers
 *
 * Events bring handles that the consumer has never asked for: connection
 * requests. So the consumer's upcall is called by one of ours, which has seen
 * the event first.
 */
#include <linux/slab.h>

#include "registry.h"

/* Guards the upcalls of all foreign EVDs. */
static DEFINE_SPINLOCK(upcall_lock);

/* An entry for the handle of a request, before its event is taken. */
static struct dat_foreign *take_spare(struct dat_foreign *evd)
{
	return xchg(&evd->spare, NULL) ?:
	       dat_foreign_alloc(evd->reg, GFP_ATOMIC);
}

static void keep_spare(struct dat_foreign *evd, struct dat_foreign *obj)
{
	if (obj && cmpxchg(&evd->spare, NULL, obj))
		dat_foreign_drop(obj);
}

/* Uses @obj for what the event brings, or keeps it. */
static void learn(struct dat_foreign *evd, const DAT_EVENT *event,
		  struct dat_foreign *obj)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *cr =
		&event->event_data.cr_arrival_event_data;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		keep_spare(evd, obj);
	else if (obj)
		dat_foreign_add(obj, cr->cr_handle, DAT_HANDLE_TYPE_CR,
				evd->ia);
	else
		pr_warn_ratelimited("kdapl: a connection request of %s cannot be answered\n",
				    evd->reg->info.ia_name);
}

static void set_upcall(struct dat_foreign *evd,
		       const DAT_UPCALL_OBJECT *upcall)
{
	spin_lock_bh(&upcall_lock);
	evd->upcall = *upcall;
	spin_unlock_bh(&upcall_lock);
}

static DAT_UPCALL_OBJECT get_upcall(struct dat_foreign *evd)
{
	DAT_UPCALL_OBJECT upcall;

	spin_lock_bh(&upcall_lock);
	upcall = evd->upcall;
	spin_unlock_bh(&upcall_lock);
	return upcall;
}

/* The entry of the EVD outlives its upcalls. */
static void call_consumer(DAT_PVOID instance_data, const DAT_EVENT *event,
			  DAT_BOOLEAN more_events)
{
	struct dat_foreign *evd = instance_data;
	DAT_UPCALL_OBJECT upcall = get_upcall(evd);

	if (evd->takes_requests) {
		learn(evd, event, take_spare(evd));
		/* The next one finds one even if there is no memory then. */
		if (!READ_ONCE(evd->spare))
			keep_spare(evd, take_spare(evd));
	}
	if (upcall.upcall_func)
		upcall.upcall_func(upcall.instance_data, event, more_events);
}

/**
 * dat_foreign_evd_kcreate - dat_evd_kcreate() on a foreign IA
 * @ret: what to return if it is none
 * @ia_handle: as for dat_evd_kcreate()
 * @evd_min_qlen: likewise
 * @upcall_policy: likewise
 * @upcall: likewise
 * @evd_flags: likewise
 * @evd_handle: likewise
 *
 * Context: process, may sleep.
 * Return: what the provider returns, or @ret.
 */
DAT_RETURN dat_foreign_evd_kcreate(DAT_RETURN ret, DAT_IA_HANDLE ia_handle,
				   DAT_COUNT evd_min_qlen,
				   DAT_UPCALL_POLICY upcall_policy,
				   const DAT_UPCALL_OBJECT *upcall,
				   DAT_EVD_FLAGS evd_flags,
				   DAT_EVD_HANDLE *evd_handle)
{
	DAT_UPCALL_OBJECT ours = { .upcall_func = call_consumer };
	struct dat_foreign *ia, *evd;

	ia = dat_foreign_try(ret, ia_handle, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return ret;
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	evd = dat_foreign_alloc(ia->reg, GFP_KERNEL);
	if (!evd)
		goto end;
	evd->takes_requests = evd_flags & DAT_EVD_CR_FLAG;
	if (evd->takes_requests) {
		evd->spare = dat_foreign_alloc(ia->reg, GFP_KERNEL);
		if (!evd->spare) {
			dat_foreign_drop(evd);
			goto end;
		}
	}
	/* An upcall may come before the call returns. */
	evd->ia = ia_handle;
	if (upcall)
		evd->upcall = *upcall;
	ours.instance_data = evd;
	ret = dat_foreign_call(ia, evd_kcreate_func, ia_handle, evd_min_qlen,
			       upcall_policy, upcall ? &ours : NULL, evd_flags,
			       evd_handle);
	if (ret)
		dat_foreign_drop(evd);
	else
		dat_foreign_add(evd, *evd_handle, DAT_HANDLE_TYPE_EVD,
				ia_handle);
end:
	dat_foreign_end(ia);
	return ret;
}

/**
 * dat_foreign_evd_modify_upcall - dat_evd_modify_upcall() on a foreign EVD
 * @ret: what to return if it is none
 * @evd_handle: as for dat_evd_modify_upcall()
 * @upcall_policy: likewise
 * @upcall: likewise
 * @upcall_flag: likewise
 *
 * Context: as the provider has it.
 * Return: what the provider returns, or @ret.
 */
DAT_RETURN dat_foreign_evd_modify_upcall(DAT_RETURN ret,
					 DAT_EVD_HANDLE evd_handle,
					 DAT_UPCALL_POLICY upcall_policy,
					 const DAT_UPCALL_OBJECT *upcall,
					 DAT_UPCALL_FLAG upcall_flag)
{
	DAT_UPCALL_OBJECT ours = { .upcall_func = call_consumer };
	DAT_UPCALL_OBJECT old;
	struct dat_foreign *evd;

	evd = dat_foreign_try(ret, evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		return ret;
	old = get_upcall(evd);
	if (upcall)
		set_upcall(evd, upcall);
	ours.instance_data = evd;
	ret = dat_foreign_call(evd, evd_modify_upcall_func, evd_handle,
			       upcall_policy, upcall ? &ours : NULL,
			       upcall_flag);
	if (ret)
		set_upcall(evd, &old);
	dat_foreign_end(evd);
	return ret;
}

/**
 * dat_foreign_evd_query - dat_evd_query() on a foreign EVD
 * @ret: what to return if it is none
 * @evd_handle: as for dat_evd_query()
 * @evd_param_mask: likewise
 * @evd_param: likewise
 *
 * Context: as the provider has it.
 * Return: what the provider returns, or @ret.
 */
DAT_RETURN dat_foreign_evd_query(DAT_RETURN ret, DAT_EVD_HANDLE evd_handle,
				 DAT_EVD_PARAM_MASK evd_param_mask,
				 DAT_EVD_PARAM *evd_param)
{
	struct dat_foreign *evd;

	evd = dat_foreign_try(ret, evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		return ret;
	memset(evd_param, 0, sizeof(*evd_param));
	ret = dat_foreign_call(evd, evd_query_func, evd_handle, evd_param_mask,
			       evd_param);
	if (!ret && evd_param->upcall.upcall_func == call_consumer)
		evd_param->upcall = get_upcall(evd);
	dat_foreign_end(evd);
	return ret;
}

/**
 * dat_foreign_evd_dequeue - dat_evd_dequeue() on a foreign EVD
 * @evd_handle: as for dat_evd_dequeue()
 * @event: likewise
 *
 * A connection request that nobody could answer stays where it is.
 *
 * Context: process or softirq.
 * Return: what the provider returns, or DAT_INVALID_HANDLE, DAT_QUEUE_EMPTY (no
 * memory for the handle of a request).
 */
DAT_RETURN dat_foreign_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct dat_foreign *evd, *obj = NULL;
	DAT_RETURN ret;

	evd = dat_foreign_begin(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ret = DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	if (evd->takes_requests) {
		obj = take_spare(evd);
		if (!obj)
			goto end;
	}
	ret = dat_foreign_call(evd, evd_dequeue_func, evd_handle, event);
	if (ret)
		keep_spare(evd, obj);
	else if (evd->takes_requests)
		learn(evd, event, obj);
end:
	dat_foreign_end(evd);
	return ret;
}

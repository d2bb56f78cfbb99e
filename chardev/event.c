// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * event.c - converts events of the kernel API to events of a process's ring
 *
 * dat_uevd_upcall() is the upcall of every EVD of /dev/dat. It runs in process context
 * or softirq, replaces kernel handles by user handles and pushes the event to the ring.
 * Most completions do not pass here: see dat_uevd_completion().
 */
#include <dat/dat_ib_extensions.h>

#include "usp.h"

static void dto_event_to_user(const DAT_DTO_COMPLETION_EVENT_DATA *data,
			      struct dat_dev_event *event)
{
	event->handle = dat_uobj_user_handle(data->ep_handle);
	event->status = data->status;
	event->cookie = data->user_cookie.as_64;
	event->length = data->transfered_length;
	event->operation = data->operation;
	event->rmr_context = data->rmr_context;
}

static void bind_event_to_user(const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data,
			       struct dat_dev_event *event)
{
	event->handle = dat_uobj_user_handle(data->rmr_handle);
	event->status = data->status;
	event->cookie = data->user_cookie.as_64;
}

/*
 * The private data is copied here because the kernel frees it with the EP. Returns false
 * if the EP is freed: freeing the EP has ended this stream of events.
 */
static bool connection_event_to_user(struct dat_uevd *evd,
				     const DAT_CONNECTION_EVENT_DATA *data,
				     struct dat_dev_event *event)
{
	struct dat_uobj *uobj;

	rcu_read_lock();
	event->handle = dat_uobj_user_handle(data->ep_handle);
	uobj = dat_uobj_lookup(evd->uobj.file, event->handle,
			       DAT_HANDLE_TYPE_EP);
	if (uobj && data->private_data_size) {
		struct dat_uep *ep = to_uep(uobj);
		u32 len = min_t(u32, data->private_data_size,
				sizeof(ep->private_data));

		spin_lock_bh(&ep->lock);
		memcpy(ep->private_data, data->private_data, len);
		ep->private_data_len = len;
		spin_unlock_bh(&ep->lock);
		event->length = len;
	}
	rcu_read_unlock();
	return event->handle;
}

/*
 * Allocates a user handle for the EP that the kernel created for the request, unless the
 * process has one. Returns false if that fails.
 */
static bool publish_ep(struct dat_uevd *evd, DAT_CR_HANDLE kcr,
		       struct dat_ucr *cr)
{
	DAT_CR_PARAM param;

	if (dat_cr_query(kcr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param) ||
	    !param.local_ep_handle ||
	    dat_uobj_user_handle(param.local_ep_handle))
		return true;
	cr->ep = dat_uep_publish(evd->uobj.ia, param.local_ep_handle);
	return cr->ep;
}

static void push_cr_event(struct dat_uevd *evd,
			  const DAT_CR_ARRIVAL_EVENT_DATA *data,
			  struct dat_dev_event *event)
{
	struct dat_uobj *uobj;
	struct dat_ucr *cr;

	cr = dat_uobj_alloc(evd->uobj.file, sizeof(*cr), DAT_HANDLE_TYPE_CR,
			    evd->uobj.ia, GFP_ATOMIC);
	if (!cr)
		goto reject;
	if (!publish_ep(evd, data->cr_handle, cr) ||
	    dat_uobj_reserve(&cr->uobj, GFP_ATOMIC)) {
		dat_ucr_remove_ep(cr);
		dat_uobj_put(&cr->uobj);
		goto reject;
	}
	event->handle = dat_usp_handle(evd, data->conn_qual);
	event->cr = cr->uobj.handle;
	event->cookie = data->conn_qual;
	if (data->truncate_flag)
		event->flags |= DAT_DEV_EVENT_TRUNCATED;
	dat_uobj_publish(&cr->uobj, data->cr_handle);
	/* Publish first: the process may answer as soon as it sees the event. */
	if (dat_uevd_push(evd, event))
		return;
	uobj = dat_uobj_get(evd->uobj.file, event->cr, DAT_HANDLE_TYPE_CR);
	if (uobj) {
		dat_ucr_remove_ep(to_ucr(uobj));
		dat_uobj_remove(uobj);
		dat_uobj_put(uobj);
	}
reject:
	dat_cr_reject_no_room(data->cr_handle);
}

/**
 * dat_uevd_upcall - the upcall of every EVD of a process
 * @instance_data: the &struct dat_uevd
 * @kevent: the event
 * @more_events: ignored
 *
 * Context: process or softirq.
 */
void dat_uevd_upcall(DAT_PVOID instance_data, const DAT_EVENT *kevent,
		     DAT_BOOLEAN more_events)
{
	const DAT_EVENT_DATA *data = &kevent->event_data;
	const DAT_ASYNCH_ERROR_EVENT_DATA *async = &data->asynch_error_event_data;
	struct dat_dev_event event = { .number = kevent->event_number };
	struct dat_uevd *evd = instance_data;

	switch ((u32)kevent->event_number) {
	case DAT_IB_DTO_EVENT:
		BUILD_BUG_ON(DAT_DEV_IB_DTO_EVENT != DAT_IB_DTO_EVENT);
		BUILD_BUG_ON(DAT_DEV_RECV_IMMED != DAT_IB_DTO_RECV_IMMED);
		BUILD_BUG_ON(DAT_DEV_RECV_MSG_IMMED != DAT_IB_DTO_RECV_MSG_IMMED);
		fallthrough;
	case DAT_DTO_COMPLETION_EVENT:
		dto_event_to_user(&data->dto_completion_event_data, &event);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		bind_event_to_user(&data->rmr_completion_event_data, &event);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		push_cr_event(evd, &data->cr_arrival_event_data, &event);
		return;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
	case DAT_ASYNC_ERROR_EP_BROKEN:
	case DAT_ASYNC_ERROR_TIMED_OUT:
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
		event.handle = dat_uobj_user_handle(async->dat_handle);
		event.status = async->reason;
		break;
	default:
		if (!connection_event_to_user(evd, &data->connect_event_data,
					      &event))
			return;
		break;
	}
	dat_uevd_push(evd, &event);
}

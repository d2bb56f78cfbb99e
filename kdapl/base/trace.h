/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * trace.h - tracepoints of the life of objects and of errors
 *
 * Traces objects that are created or freed, asynchronous events and broken connections.
 * stats.c emits them. The data path has no tracepoint.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdapl

#if !defined(_KDAPL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KDAPL_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "base/object.h"
#include "base/stats.h"

/* Names are stored in arrays, because __assign_str() differs between kernels. */

DECLARE_EVENT_CLASS(dat_object,
	TP_PROTO(const struct dat_object *obj),

	TP_ARGS(obj),

	TP_STRUCT__entry(
		__array(char, type, 4)
		__field(unsigned long, handle)
		__array(char, ia, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		strscpy_pad(__entry->type, dat_type_name(obj->type),
			    sizeof(__entry->type));
		__entry->handle = (unsigned long)obj->handle;
		strscpy_pad(__entry->ia, obj->owner->name, sizeof(__entry->ia));
	),

	TP_printk("type=%s handle=%#lx ia=%s", __entry->type, __entry->handle,
		  __entry->ia)
);

DEFINE_EVENT(dat_object, dat_object_made,
	TP_PROTO(const struct dat_object *obj),
	TP_ARGS(obj)
);

DEFINE_EVENT(dat_object, dat_object_freed,
	TP_PROTO(const struct dat_object *obj),
	TP_ARGS(obj)
);

DEFINE_EVENT(dat_object, dat_connection_broken,
	TP_PROTO(const struct dat_object *obj),
	TP_ARGS(obj)
);

TRACE_EVENT(dat_async_event,
	TP_PROTO(const struct dat_owner *owner, DAT_EVENT_NUMBER number,
		 DAT_HANDLE handle, DAT_COUNT reason),

	TP_ARGS(owner, number, handle, reason),

	TP_STRUCT__entry(
		__field(unsigned int, number)
		__field(unsigned long, handle)
		__field(int, reason)
		__array(char, ia, IB_DEVICE_NAME_MAX)
	),

	TP_fast_assign(
		__entry->number = number;
		__entry->handle = (unsigned long)handle;
		__entry->reason = reason;
		strscpy_pad(__entry->ia, owner->name, sizeof(__entry->ia));
	),

	TP_printk("event=%#x handle=%#lx reason=%d ia=%s", __entry->number,
		  __entry->handle, __entry->reason, __entry->ia)
);

#endif /* _KDAPL_TRACE_H */

/* Relative to the top of the module's tree, which is in the include path. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH kdapl/base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

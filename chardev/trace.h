/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * trace.h - tracepoints of /dev/dat: failed ioctls and ring overflows
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdapl

#if !defined(_CHARDEV_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _CHARDEV_TRACE_H

#include <linux/tracepoint.h>

#include "uevd.h"

TRACE_EVENT(dat_ioctl_error,
	TP_PROTO(const char *name, int err, DAT_RETURN result,
		 const char *type, const char *subtype),

	TP_ARGS(name, err, result, type, subtype),

	TP_STRUCT__entry(
		__array(char, name, 24)
		__field(int, err)
		__field(unsigned int, result)
		__array(char, type, 40)
		__array(char, subtype, 40)
	),

	TP_fast_assign(
		strscpy_pad(__entry->name, name, sizeof(__entry->name));
		__entry->err = err;
		__entry->result = result;
		strscpy_pad(__entry->type, type, sizeof(__entry->type));
		strscpy_pad(__entry->subtype, subtype,
			    sizeof(__entry->subtype));
	),

	TP_printk("ioctl=%s errno=%d result=%#x %s %s", __entry->name,
		  __entry->err, __entry->result, __entry->type,
		  __entry->subtype)
);

TRACE_EVENT(dat_ring_overflow,
	TP_PROTO(const struct dat_uevd *evd),

	TP_ARGS(evd),

	TP_STRUCT__entry(
		__field(int, owner)
		__field(unsigned int, evd)
		__field(unsigned int, entries)
	),

	TP_fast_assign(
		__entry->owner = evd->uobj.file->pid;
		__entry->evd = evd->uobj.handle;
		__entry->entries = READ_ONCE(evd->qlen);
	),

	TP_printk("owner=%d evd=%u entries=%u", __entry->owner, __entry->evd,
		  __entry->entries)
);

#endif /* _CHARDEV_TRACE_H */

/* Relative to the top of the module's tree, which is an include directory. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH chardev
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

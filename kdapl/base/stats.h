/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * stats.h - counters of objects, asynchronous events and broken connections
 *
 * Each dat_stats_*() call counts an event and emits a tracepoint of trace.h. Callers
 * are in process or softirq context.
 */
#ifndef _KDAPL_STATS_H
#define _KDAPL_STATS_H

#include <dat/kdat.h>

struct dat_object;
struct dat_owner;
struct seq_file;

const char *dat_type_name(DAT_HANDLE_TYPE type);
void dat_stats_made(const struct dat_object *obj);
void dat_stats_freed(const struct dat_object *obj);
void dat_stats_async_event(const struct dat_owner *owner,
			   DAT_EVENT_NUMBER number, DAT_HANDLE handle,
			   DAT_COUNT reason);
void dat_stats_broken(const struct dat_object *ep);
void dat_stats_show(struct seq_file *m);

#endif /* _KDAPL_STATS_H */

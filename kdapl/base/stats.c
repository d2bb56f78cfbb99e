// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * stats.c - counts and traces objects, asynchronous events and broken connections
 *
 * Owns the counters of the module and defines the tracepoints of trace.h. object.c and
 * ia.c call it, as does the code that detects broken connections, in process or softirq
 * context. dat_stats_show() prints the counters.
 */
#include <linux/atomic.h>
#include <linux/seq_file.h>

#include "base/object.h"
#include "base/stats.h"

#define CREATE_TRACE_POINTS
#include "base/trace.h"

static atomic_long_t made[DAT_NUM_HANDLE_TYPES];
static atomic_long_t freed[DAT_NUM_HANDLE_TYPES];
static atomic_long_t async_events;
static atomic_long_t connections_broken;

static const char *const type_names[DAT_NUM_HANDLE_TYPES] = {
	[DAT_HANDLE_TYPE_CR] = "cr",
	[DAT_HANDLE_TYPE_EP] = "ep",
	[DAT_HANDLE_TYPE_EVD] = "evd",
	[DAT_HANDLE_TYPE_IA] = "ia",
	[DAT_HANDLE_TYPE_LMR] = "lmr",
	[DAT_HANDLE_TYPE_PSP] = "psp",
	[DAT_HANDLE_TYPE_PZ] = "pz",
	[DAT_HANDLE_TYPE_RMR] = "rmr",
	[DAT_HANDLE_TYPE_RSP] = "rsp",
	[DAT_HANDLE_TYPE_SRQ] = "srq",
	[DAT_HANDLE_TYPE_CSP] = "csp",
};

/**
 * dat_type_name - return the name of a type of objects
 * @type: the type
 *
 * Context: any.
 * Return: the name, of at most three letters.
 */
const char *dat_type_name(DAT_HANDLE_TYPE type)
{
	return type_names[type];
}

/**
 * dat_stats_made - count and trace an object that receives its handle
 * @obj: the object
 *
 * Context: any.
 */
void dat_stats_made(const struct dat_object *obj)
{
	atomic_long_inc(&made[obj->type]);
	trace_dat_object_made(obj);
}

/**
 * dat_stats_freed - count and trace an object that has lost its handle
 * @obj: the object
 *
 * Context: any.
 */
void dat_stats_freed(const struct dat_object *obj)
{
	atomic_long_inc_return_release(&freed[obj->type]);
	trace_dat_object_freed(obj);
}

/**
 * dat_stats_async_event - count and trace an asynchronous event of an IA
 * @owner: the IA
 * @number: the event number
 * @handle: the object that the event concerns
 * @reason: the reason code of the event
 *
 * Context: process or softirq.
 */
void dat_stats_async_event(const struct dat_owner *owner,
			   DAT_EVENT_NUMBER number, DAT_HANDLE handle,
			   DAT_COUNT reason)
{
	atomic_long_inc(&async_events);
	trace_dat_async_event(owner, number, handle, reason);
}

/**
 * dat_stats_broken - count and trace a broken connection
 * @ep: the EP
 *
 * Context: process or softirq.
 */
void dat_stats_broken(const struct dat_object *ep)
{
	atomic_long_inc(&connections_broken);
	trace_dat_connection_broken(ep);
}

/**
 * dat_stats_show - print the counters, one per line
 * @m: the file to print to
 *
 * Context: process, may sleep.
 */
void dat_stats_show(struct seq_file *m)
{
	unsigned int type;
	long born, dead;

	seq_puts(m, "object made freed live\n");
	for (type = 0; type < DAT_NUM_HANDLE_TYPES; type++) {
		/*
		 * Pairs with dat_stats_freed(), so that no type has more objects freed
		 * than made.
		 */
		dead = atomic_long_read_acquire(&freed[type]);
		born = atomic_long_read(&made[type]);
		seq_printf(m, "%s %ld %ld %ld\n", type_names[type], born, dead,
			   born - dead);
	}
	seq_puts(m, "event count\n");
	seq_printf(m, "async_event %ld\n", atomic_long_read(&async_events));
	seq_printf(m, "connection_broken %ld\n",
		   atomic_long_read(&connections_broken));
}

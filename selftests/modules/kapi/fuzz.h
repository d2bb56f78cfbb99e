/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fuzz.h - kdapl_fuzz.ko: what its files share
 */
#ifndef SELFTESTS_KAPI_FUZZ_H
#define SELFTESTS_KAPI_FUZZ_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include <dat/dat_ib_extensions.h>
#include <dat/dat_registry.h>
#include <dat/kdat_linux.h>

#include "base/error.h"
#include "kapi.h"

/* Pages that a list of physical pages or a platform region has at most */
#define MAX_PAGES	64
#define MAX_INFOS	4
/* Connection requests that one file remembers */
#define MAX_REQUESTS	16

enum kapi_context { IN_TASK, IN_SLEEP, IN_ANY };

/**
 * struct slot - an upcall
 * @lock: guards @pending and @num_pending
 * @pending: calls that wait for the upcall
 * @num_pending: number of @pending
 * @evd: EVD that had this upcall last
 * @file: the file
 */
struct slot {
	spinlock_t lock;
	struct list_head pending;
	unsigned int num_pending;
	DAT_EVD_HANDLE evd;
	struct file_state *file;
};

/**
 * struct file_state - an open file. It is never freed: upcalls may outlive the file.
 * @node: in the list of free states
 * @slots: its upcalls
 * @lock: guards @requests and @num_requests
 * @requests: connection requests that upcalls have received
 * @num_requests: number of @requests
 */
struct file_state {
	struct list_head node;
	struct slot slots[KAPI_SLOTS];
	spinlock_t lock;
	DAT_CR_HANDLE requests[MAX_REQUESTS];
	unsigned int num_requests;
};

/**
 * struct kapi - a call in progress
 * @c: its arguments and results
 * @file: the file
 * @event: event of the upcall that makes the call, or NULL
 * @node: in slot->pending
 * @tasklet: makes the call in softirq
 * @done: the call has returned
 * @forget: the caller does not wait: the upcall frees it
 * @segments: the triplets
 * @pages: pages of a platform region
 * @addresses: physical addresses
 * @platform: a platform region
 * @infos: list of IAs
 * @info_list: pointers to @infos
 * @u: parameters and results of some calls
 */
struct kapi {
	struct kapi_call c;
	struct file_state *file;
	const DAT_EVENT *event;
	struct list_head node;
	struct tasklet_struct tasklet;
	struct completion done;
	bool forget;
	DAT_LMR_TRIPLET segments[KAPI_SEGMENTS];
	struct page *pages[MAX_PAGES];
	DAT_PADDR addresses[MAX_PAGES];
	struct dat_platform_region platform;
	DAT_PROVIDER_INFO infos[MAX_INFOS];
	DAT_PROVIDER_INFO *info_list[MAX_INFOS];
	union {
		DAT_EP_ATTR ep_attr;
		DAT_EP_PARAM ep_param;
		DAT_EVD_PARAM evd_param;
		DAT_EVENT event;
		DAT_LMR_PARAM lmr_param;
		DAT_RMR_PARAM rmr_param;
		DAT_SRQ_PARAM srq_param;
		DAT_CR_PARAM cr_param;
		DAT_PZ_PARAM pz_param;
		DAT_PSP_PARAM psp_param;
		DAT_RSP_PARAM rsp_param;
		DAT_CSP_PARAM csp_param;
		struct {
			DAT_IA_ATTR ia_attr;
			DAT_PROVIDER_ATTR provider_attr;
		};
	} u;
};

typedef DAT_RETURN kapi_func(struct kapi *k);

/* The functions of calls.def: kapi_NAME() makes the call dat_NAME(). */
#define KAPI(name, context)	kapi_func kapi_##name;
#include "calls.def"

#define ARG(i)		(k->c.arg[i])
#define HANDLE(i)	kapi_handle(k, i)
#define COOKIE(i)	((DAT_CONTEXT){ .as_64 = ARG(i) })
/* The pointer, or NULL if the call asks for NULL in place of its @n-th pointer. */
#define PTR(n, pointer)	(ARG(KAPI_NULL) & (1ULL << (n)) ? NULL : (pointer))

/* fuzz.c: handles that a call returns, and handles that it takes */
static inline DAT_HANDLE kapi_handle(const struct kapi *k, unsigned int i)
{
	const DAT_EVENT_DATA *d = k->event ? &k->event->event_data : NULL;

	if (ARG(i) != KAPI_EVENT_HANDLE || !d)
		return (DAT_HANDLE)(uintptr_t)ARG(i);
	switch (k->event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		return d->cr_arrival_event_data.cr_handle;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return d->rmr_completion_event_data.rmr_handle;
	default:
		return d->dto_completion_event_data.ep_handle;
	}
}

/* A pointer, because the compiler may read a handle before the call that sets it. */
static inline DAT_RETURN kapi_made(struct kapi *k, DAT_RETURN ret, const DAT_HANDLE *handle)
{
	if (!ret)
		k->c.out[0] = (uintptr_t)*handle;
	return ret;
}

void kapi_own_ia(struct file_state *file, DAT_IA_HANDLE ia);
void kapi_disown_ia(DAT_IA_HANDLE ia);

/* upcall.c */
bool kapi_may_call(const struct kapi *k);
DAT_RETURN kapi_make(struct kapi *k);
struct slot *kapi_slot(struct kapi *k, u64 number);
DAT_UPCALL_OBJECT kapi_upcall(struct slot *slot);
DAT_UPCALL_POLICY kapi_policy(u64 number);
bool kapi_run_in_upcall(struct kapi *k);
void kapi_drop_pending(struct file_state *file);

/* memory.c */
int kapi_memory_init(void);
void kapi_memory_exit(void);
void *kapi_arena(void);
void kapi_fix_segments(struct kapi *k, const struct kapi_segment *from);

/* objects.c, provider.c */
void kapi_check_accounts(void);
void kapi_remove_providers(void);
extern const DAT_PROVIDER kapi_provider;
const char *kapi_provider_name(u64 number);

#endif /* SELFTESTS_KAPI_FUZZ_H */

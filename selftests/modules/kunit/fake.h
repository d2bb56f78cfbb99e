/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fake.h - replacements for the functions that the tested sources call
 *
 * Each source is included by one file here, so that tests reach its static functions and
 * run the shipped code. The sources call each other. fake.c replaces every other function
 * they call and counts the calls.
 */
#ifndef SELFTESTS_KUNIT_FAKE_H
#define SELFTESTS_KUNIT_FAKE_H

#include <linux/export.h>
#include <rdma/ib_verbs.h>

#include <dat/kdat.h>

/* kdapl.ko, which is also loaded, exports the same names. */
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(sym)

struct dat_object;
struct dat_owner;
struct dat_uevd;
struct dat_workq_ops;

#define FAKE_MOST_CHARGED	(64L << 20)
#define FAKE_MAX_SEGMENTS	8
#define FAKE_MAX_COMPLETIONS	16
#define FAKE_MAX_EVENTS		4

/**
 * struct fake - recorded calls of the sources, and values returned to them
 * @ibdev: a device
 * @quirks: quirks of the device
 * @list_page: return value of dat_dev_page_size()
 * @overflows: calls of dat_evd_overflow()
 * @kicks: calls of dat_evd_schedule_upcall()
 * @breaks: calls of dat_ep_break_soon()
 * @drains: calls of dat_ep_drained()
 * @failures: calls of dat_ep_dto_failed()
 * @failure: status passed to the last of them
 * @added: called by dat_stats_made() if not NULL
 * @live: objects that are counted as having a handle
 * @completions: completions in the CQ
 * @num_completions: number of @completions
 * @next_completion: index of the completion that is polled next
 * @polls: number of polls of the CQ
 * @keeps_pages: return value of dat_dev_keeps_pages()
 * @maps: calls of ib_map_mr_sg()
 * @segments: segments passed to ib_map_mr_sg()
 * @num_segments: number of @segments
 * @map_result: return value of ib_map_mr_sg() if not 0
 * @page_size: page size passed to ib_map_mr_sg()
 * @mr_pages: maximum number of pages of the last MR
 * @freed_mrs: number of MRs that have been freed
 * @registrations: calls of dat_regqp_register()
 * @register_result: return value of dat_regqp_register()
 * @settled: calls of dat_fmr_done()
 * @settled_status: status passed to the last of them
 * @revoked: context of the last dat_context_revoked()
 * @rejects: calls of dat_cr_reject_no_room()
 * @local_ep: EP of every request, or NULL
 * @published_ep: return value of dat_uep_publish()
 * @sp: return value of dat_usp_handle()
 * @triggers: calls of dat_ucno_trigger()
 * @trigger: EVD passed to the last of them
 * @detaches: calls of dat_ucno_detach()
 * @losses: calls of dat_ustats_overflow()
 * @refuses: dat_object_try_charge() refuses the charge
 * @charged: bytes charged by dat_charge() and not yet uncharged
 * @events: connection events, from dat_ep_connect_event() and dat_ep_disconnected()
 * @num_events: number of @events
 */
struct fake {
	struct ib_device ibdev;
	u32 quirks;
	u32 list_page;
	unsigned int overflows;
	unsigned int kicks;
	unsigned int breaks;
	unsigned int drains;
	unsigned int failures;
	enum ib_wc_status failure;
	void (*added)(struct dat_object *obj);
	int live;
	struct ib_wc completions[FAKE_MAX_COMPLETIONS];
	unsigned int num_completions;
	unsigned int next_completion;
	unsigned int polls;
	bool keeps_pages;
	unsigned int maps;
	struct ib_sge segments[FAKE_MAX_SEGMENTS];
	unsigned int num_segments;
	int map_result;
	unsigned int page_size;
	u32 mr_pages;
	unsigned int freed_mrs;
	unsigned int registrations;
	int register_result;
	unsigned int settled;
	enum ib_wc_status settled_status;
	DAT_RMR_CONTEXT revoked;
	unsigned int rejects;
	DAT_EP_HANDLE local_ep;
	u32 published_ep;
	u32 sp;
	unsigned int triggers;
	u32 trigger;
	unsigned int detaches;
	unsigned int losses;
	bool refuses;
	long charged;
	DAT_EVENT_NUMBER events[FAKE_MAX_EVENTS];
	unsigned int num_events;
};

extern struct fake fake;
/* Owner of every EP: its works run in system_wq. */
extern struct dat_owner fake_owner;
extern const struct dat_workq_ops fake_workq_ops;

struct ib_mr *fake_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 num);
void fake_reset(void);
void fake_complete(u64 wr_id, enum ib_wc_status status);

#endif /* SELFTESTS_KUNIT_FAKE_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fake.h - what surrounds the sources under test
 *
 * Each source is included by one file here, so that its static functions can be
 * reached and the tests run what is shipped and not a copy. The sources call
 * each other; whatever else they call is in fake.c, and remembers its caller.
 */
#ifndef SELFTESTS_KUNIT_FAKE_H
#define SELFTESTS_KUNIT_FAKE_H

#include <linux/export.h>
#include <rdma/ib_verbs.h>

#include <dat/kdat.h>

/* kdapl.ko, which is loaded as well, exports the same names. */
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
 * struct fake - what the sources have asked of their surroundings
 * @ibdev: a device, for whatever needs one
 * @quirks: its defects
 * @list_page: what dat_dev_page_size() returns
 * @overflows: calls of dat_evd_overflow()
 * @kicks: calls of dat_evd_schedule_upcall()
 * @breaks: calls of dat_ep_break_soon()
 * @drains: calls of dat_ep_drained()
 * @failures: calls of dat_ep_dto_failed()
 * @failure: status that the last of them had
 * @added: called by dat_stats_made() if not NULL
 * @live: objects that are counted as having a handle
 * @completions: what the CQ holds
 * @num_completions: how many there are
 * @next_completion: the one that is polled next
 * @polls: how often it was polled
 * @keeps_pages: what dat_dev_keeps_pages() returns
 * @maps: calls of ib_map_mr_sg()
 * @segments: what ib_map_mr_sg() was given
 * @num_segments: how many there were
 * @map_result: what it returns if not 0
 * @page_size: the page size it was given
 * @mr_pages: for how many pages the last MR was made
 * @freed_mrs: MRs that are no more
 * @registrations: calls of dat_regqp_register()
 * @register_result: what it returns
 * @settled: calls of dat_fmr_done()
 * @settled_status: status that the last of them had
 * @revoked: context of the last dat_context_revoked()
 * @rejects: calls of dat_cr_reject_no_room()
 * @local_ep: EP of every request, or NULL
 * @made_ep: what dat_uep_made() returns
 * @sp: what dat_usp_handle() returns
 * @triggers: calls of dat_ucno_trigger()
 * @trigger: EVD of the last of them
 * @unuses: calls of dat_ucno_unuse()
 * @losses: calls of dat_ustats_overflow()
 * @charged: what dat_charge() has been asked for, and dat_uncharge() has not got
 * @events: of connections, from dat_ep_connect_event() and dat_ep_disconnected()
 * @num_events: how many there were
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
	u32 made_ep;
	u32 sp;
	unsigned int triggers;
	u32 trigger;
	unsigned int unuses;
	unsigned int losses;
	long charged;
	DAT_EVENT_NUMBER events[FAKE_MAX_EVENTS];
	unsigned int num_events;
};

extern struct fake fake;
/* Of every EP: its works run in system_wq. */
extern struct dat_owner fake_owner;
extern const struct dat_workq_ops fake_workq_ops;

struct ib_mr *fake_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 num);
void fake_reset(void);
void fake_complete(u64 wr_id, enum ib_wc_status status);

#endif /* SELFTESTS_KUNIT_FAKE_H */

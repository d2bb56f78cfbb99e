/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ep_test.h - shared declarations of the EP tests
 */
#ifndef SELFTESTS_EP_TEST_H
#define SELFTESTS_EP_TEST_H

#include "kpair.h"

/**
 * struct evds - EVDs of an EP, each for one purpose
 * @recv: completions of receives
 * @request: completions of all other requests
 * @connect: connection events
 */
struct evds {
	DAT_EVD_HANDLE recv;
	DAT_EVD_HANDLE request;
	DAT_EVD_HANDLE connect;
};

extern struct kpair pair;
extern struct kregion a, b;
extern DAT_IA_ATTR ia_attr;

bool with_attr(const DAT_EP_ATTR *attr);
bool fresh(void);
bool connected(void);
bool is_empty(DAT_EVD_HANDLE evd);
bool has_attr(DAT_EP_HANDLE ep, const DAT_EP_ATTR *attr);
bool three_evds(struct evds *evds);
bool all_events_come_where_they_should(const struct evds *evds);
bool next_bad_attr(DAT_EP_ATTR *attr, unsigned int n);

/* ep_marks.c */
bool watermark_replaces_previous(void);
bool watermark_already_exceeded(void);

/* ep_modify.c */
bool ep_modify_limits(void);
bool ep_modify_completion_flags(void);

/* ep_solicited.c */
bool solicited_only_notification(void);

/* ep_srq.c */
bool srq_ep_create_attributes(void);
bool srq_ep_create_bad_arguments(void);
bool srq_ep_separate_evds(void);
bool srq_receives_signalled(void);

#endif /* SELFTESTS_EP_TEST_H */

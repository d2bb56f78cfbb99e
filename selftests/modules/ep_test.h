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
bool a_watermark_takes_the_place_of_the_one_before(void);
bool watermarks_below_what_there_is_tell_at_once(void);

/* ep_modify.c */
bool modified_limits_hold(void);
bool modified_flags_hold(void);

/* ep_solicited.c */
bool only_solicited_messages_are_notified_of(void);

/* ep_srq.c */
bool an_ep_with_an_srq_is_what_was_asked_for(void);
bool an_ep_with_an_srq_needs_what_there_is(void);
bool an_ep_with_an_srq_tells_each_evd(void);
bool receives_from_an_srq_are_signalled(void);

#endif /* SELFTESTS_EP_TEST_H */

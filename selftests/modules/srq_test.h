/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * srq_test.h - shared declarations of the tests of shared receive queues
 */
#ifndef SELFTESTS_SRQ_TEST_H
#define SELFTESTS_SRQ_TEST_H

#include "kpair.h"

#define SRQ_MAX		10	/* buffers of the SRQ */
#define SRQ_BUF		64	/* bytes of each */
#define SRQ_LINKS	3
#define SRQ_LONG	(512 * 1024)

/**
 * struct slink - a connection whose passive side receives from the SRQ
 * @a: the EP that sends
 * @b: the EP with the SRQ
 * @evd: a receive EVD of @b alone, or DAT_HANDLE_NULL
 */
struct slink {
	DAT_EP_HANDLE a;
	DAT_EP_HANDLE b;
	DAT_EVD_HANDLE evd;
};

extern struct kpair srq_pair;
extern struct kregion srq_out, srq_in;
extern DAT_SRQ_HANDLE srq;
extern struct slink srq_links[SRQ_LINKS];

DAT_EVD_HANDLE srq_evd(int i);
DAT_RETURN srq_post(u64 cookie);
bool srq_send(int i, u32 word);
bool srq_send_last(int i, u32 word);
bool srq_receive(int i, u32 *word, u64 *cookie);
bool srq_counts(DAT_COUNT available, DAT_COUNT outstanding);
bool srq_connect(int i);
bool srq_link_open(int i);
bool srq_link_close(int i);

/* srq_changes.c */
bool an_ep_can_be_reset(void);
bool an_ep_can_be_changed(void);
bool watermarks_of_an_ep_outlive_its_queue(void);

/* srq_marks.c */
bool srq_told(DAT_HANDLE handle, DAT_COUNT reason);
bool srq_not_told(void);
bool srq_can_be_resized(void);
bool low_watermark_comes_once(void);
bool high_watermarks_of_an_srq(void);
bool high_watermarks_of_an_ep(void);

/* srq_posts.c */
bool segments_of_an_srq_are_filled_in_order(void);
bool a_message_of_zero_size_needs_no_segment(void);
bool cookies_of_an_srq_are_opaque(void);
bool memory_of_an_srq_must_be_writable(void);
bool a_message_waits_for_a_buffer(void);
bool each_parameter_of_an_srq_can_be_asked_for_alone(void);
bool a_refused_resize_changes_nothing(void);
bool a_new_srq_is_silent_unless_it_has_a_watermark(void);
bool the_handle_of_a_freed_srq_does_not_come_back(void);
bool unsignalled_eps_are_notified_of_shared_buffers(void);

/* srq_ends.c */
bool buffers_outlive_eps(void);
bool half_a_message_loses_no_buffer(void);
bool upcalls_can_post(void);
bool abrupt_close_takes_all(void);

#endif /* SELFTESTS_SRQ_TEST_H */

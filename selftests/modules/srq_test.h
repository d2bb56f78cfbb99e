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
bool ep_reset_keeps_srq(void);
bool ep_modify_keeps_srq(void);
bool ep_modify_keeps_watermark(void);

/* srq_marks.c */
bool srq_told(DAT_HANDLE handle, DAT_COUNT reason);
bool srq_not_told(void);
bool srq_resize_shrink_and_grow(void);
bool srq_low_watermark_fires_once(void);
bool srq_high_watermarks(void);
bool ep_high_watermarks(void);

/* srq_posts.c */
bool srq_segments_filled_in_order(void);
bool srq_zero_length_message(void);
bool srq_opaque_cookies(void);
bool srq_post_read_only_memory(void);
bool srq_send_waits_for_buffer(void);
bool srq_query_single_fields(void);
bool srq_failed_resize_no_effect(void);
bool srq_create_low_watermark_event(void);
bool freed_srq_handle_not_reused(void);
bool srq_recv_notifies_unsignalled_ep(void);

/* srq_disconnect.c */
bool ep_free_keeps_srq_buffers(void);
bool srq_disconnect_mid_message(void);
bool srq_post_in_upcall(void);
bool ia_abrupt_close_frees_srq(void);

#endif /* SELFTESTS_SRQ_TEST_H */

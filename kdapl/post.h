/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * post.h - putting work requests on the queues of an EP
 */
#ifndef _KDAPL_POST_H
#define _KDAPL_POST_H

#include "object.h"

struct dat_ep;
struct dat_rmr;
struct ib_send_wr;

/**
 * struct dat_post - what is posted, apart from the work requests
 * @op: what it is
 * @flags: as the consumer gave them
 * @cookie: the consumer's
 * @length: bytes of all segments
 * @rmr: of a bind, or NULL
 * @bind: of a bind, for dat_rmr_bound()
 */
struct dat_post {
	DAT_DTOS op;
	DAT_COMPLETION_FLAGS flags;
	DAT_CONTEXT cookie;
	u32 length;
	struct dat_rmr *rmr;
	u8 bind;
};

DAT_RETURN dat_post_check_state(struct dat_ep *ep);
DAT_RETURN dat_post_send_queue(struct dat_ep *ep, const struct dat_post *post,
			       struct ib_send_wr *first,
			       struct ib_send_wr *last);
bool dat_post_marker(struct dat_ep *ep);

#endif /* _KDAPL_POST_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * post.h - putting work requests on the queues of an EP
 */
#ifndef _KDAPL_POST_H
#define _KDAPL_POST_H

#include "base/object.h"
#include "mem/iov.h"

struct dat_ep;
struct dat_lmr;
struct dat_rmr;
struct ib_recv_wr;
struct ib_send_wr;

/**
 * struct dat_post - what is posted, apart from the work requests
 * @op: what it is
 * @flags: as the consumer gave them
 * @cookie: the consumer's
 * @length: bytes of all segments
 * @rmr: of a bind, or NULL
 * @lmr: of a DAT_DTO_LMR_FMR or _INVALIDATE
 * @bind: as in &struct dat_dto
 */
struct dat_post {
	DAT_DTOS op;
	DAT_COMPLETION_FLAGS flags;
	DAT_CONTEXT cookie;
	u32 length;
	union {
		struct dat_rmr *rmr;
		struct dat_lmr *lmr;
	};
	u8 bind;
};

/* post.c */
DAT_RETURN dat_post_copied(struct dat_ep *ep, const struct dat_post *post,
			   struct ib_send_wr *wr);

/* post_queue.c */
DAT_RETURN dat_post_check_state(struct dat_ep *ep);
bool dat_post_allows(const struct dat_ep *ep, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dat_post_send_queue(struct dat_ep *ep, const struct dat_post *post,
			       struct ib_send_wr *first,
			       struct ib_send_wr *last);
DAT_RETURN dat_post_dto(struct dat_ep *ep, const struct dat_post *post,
			struct ib_send_wr *wr);
bool dat_post_drain(struct dat_ep *ep);
DAT_RETURN dat_post_recv_queue(struct dat_ep *ep, struct ib_recv_wr *wr,
			       DAT_DTO_COOKIE user_cookie,
			       DAT_COMPLETION_FLAGS completion_flags,
			       u32 length);

#endif /* _KDAPL_POST_H */

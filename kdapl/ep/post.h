/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * post.h - posting of work requests to the queues of an EP
 *
 * post.c, lmr_fmr.c and rmr_bind.c build work requests; post_queue.c posts them.
 */
#ifndef _KDAPL_POST_H
#define _KDAPL_POST_H

#include "base/object.h"
#include "mem/iov.h"

struct dat_ep;
struct dat_lmr;
struct dat_rmr;
struct ib_send_wr;

/**
 * struct dat_post - a request, apart from its work requests
 * @op: operation, DAT_DTOS or DAT_IB_DTO_*
 * @flags: the consumer's completion flags
 * @cookie: the consumer's cookie
 * @length: bytes of all segments
 * @rmr: the RMR of a bind, or NULL
 * @lmr: the LMR of a DAT_DTO_LMR_FMR or _INVALIDATE
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

/* post_queue.c */
DAT_RETURN dat_post_check_state(struct dat_ep *ep);
bool dat_post_allows(const struct dat_ep *ep, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dat_post_send_queue(struct dat_ep *ep, const struct dat_post *post,
			       struct ib_send_wr *first,
			       struct ib_send_wr *last);
DAT_RETURN dat_post_dto(struct dat_ep *ep, const struct dat_post *post,
			struct ib_send_wr *wr);
bool dat_post_drain(struct dat_ep *ep);

#endif /* _KDAPL_POST_H */

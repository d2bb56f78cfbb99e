/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * post_wr.h - the only callers of ib_post_*() in the engine
 *
 * A work request may contain a segment of a consumer on two conditions: lmr_find.c has
 * looked up its context, and its length is not 0, because some devices read a length of
 * 0 as 2 GiB. Kernels with debugging check the length here for every request, just
 * before the device receives it. A request without segments has no list either: some
 * devices read the first segment of a list of none. Callers are in any context.
 */
#ifndef _KDAPL_POST_WR_H
#define _KDAPL_POST_WR_H

#include <linux/bug.h>
#include <rdma/ib_verbs.h>

#define DAT_DEBUG	(IS_ENABLED(CONFIG_KASAN) || \
			 IS_ENABLED(CONFIG_PROVE_LOCKING) || \
			 IS_ENABLED(CONFIG_KCSAN))

/* An RDMA read of 0 bytes has an empty segment of kdapl if the device needs one. */
static inline bool dat_sge_is_ours(const struct ib_sge *sge)
{
	return !sge->addr && !sge->length && !sge->lkey;
}

static inline void dat_wr_check(const struct ib_sge *sgl, int num)
{
	int i;

	WARN_ONCE(DAT_DEBUG && !num && sgl, "kdapl: segments behind the last one\n");
	for (i = 0; DAT_DEBUG && i < num; i++)
		WARN_ONCE(!sgl[i].length && !dat_sge_is_ours(&sgl[i]),
			  "kdapl: segment %d of %d has no bytes\n", i, num);
}

/* Only the first request of a chain has segments of a consumer. */
static inline int dat_wr_post_send(struct ib_qp *qp, struct ib_send_wr *wr,
				   const struct ib_send_wr **bad)
{
	const struct ib_send_wr *w;

	if (unlikely(!wr->num_sge))
		wr->sg_list = NULL;
	for (w = wr; DAT_DEBUG && w; w = w->next)
		dat_wr_check(w->sg_list, w->num_sge);
	return ib_post_send(qp, wr, bad);
}

static inline int dat_wr_post_recv(struct ib_qp *qp, struct ib_recv_wr *wr)
{
	if (unlikely(!wr->num_sge))
		wr->sg_list = NULL;
	dat_wr_check(wr->sg_list, wr->num_sge);
	return ib_post_recv(qp, wr, NULL);
}

static inline int dat_wr_post_srq_recv(struct ib_srq *srq,
				       struct ib_recv_wr *wr)
{
	if (unlikely(!wr->num_sge))
		wr->sg_list = NULL;
	dat_wr_check(wr->sg_list, wr->num_sge);
	return ib_post_srq_recv(srq, wr, NULL);
}

#endif /* _KDAPL_POST_WR_H */

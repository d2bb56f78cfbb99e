/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fail.h - makes calls to ib_core and rdma_cm fail, for tests
 *
 * A test build only: with KDAPL_FAIL=1 Kbuild includes this file in front of every source
 * file. It redefines calls of verbs and of the connection manager as the same calls that
 * may return an error first. The software devices hardly ever fail; adapters do.
 *
 * The errors are an attribute of the kernel's fault injection: /proc/self/fail-nth counts
 * them among the points of a call, and /sys/kernel/debug/kdapl/fail_verbs also lets them hit
 * work items and handlers.
 *
 * Left out: calls that free, as kdapl must and does ignore their errors, and
 * ib_req_notify_cq(), which fails in no driver.
 */
#ifndef _KDAPL_FAIL_H
#define _KDAPL_FAIL_H

#include <linux/err.h>
#include <linux/types.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

struct dentry;

bool dat_fail_verbs(void);
void dat_fail_init(struct dentry *dir);

/* Macros of the kernel: a macro cannot call its earlier definition. */
static inline struct ib_pd *dat_fail_alloc_pd(struct ib_device *ibdev, unsigned int flags)
{
	return ib_alloc_pd(ibdev, flags);
}

static inline struct ib_cq *dat_fail_create_cq(struct ib_device *ibdev, ib_comp_handler done,
					       void (*event)(struct ib_event *, void *),
					       void *context, const struct ib_cq_init_attr *attr)
{
	return ib_create_cq(ibdev, done, event, context, attr);
}

static inline struct rdma_cm_id *dat_fail_create_id(struct net *net, rdma_cm_event_handler handler,
						    void *context, enum rdma_ucm_port_space ps,
						    enum ib_qp_type type)
{
	return rdma_create_id(net, handler, context, ps, type);
}

/* None of the list is posted. */
static inline int dat_fail_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
				     const struct ib_send_wr **bad)
{
	if (!dat_fail_verbs())
		return ib_post_send(qp, wr, bad);
	if (bad)
		*bad = wr;
	return -ENOMEM;
}

static inline int dat_fail_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
				     const struct ib_recv_wr **bad)
{
	if (!dat_fail_verbs())
		return ib_post_recv(qp, wr, bad);
	if (bad)
		*bad = wr;
	return -ENOMEM;
}

static inline int dat_fail_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
					 const struct ib_recv_wr **bad)
{
	if (!dat_fail_verbs())
		return ib_post_srq_recv(srq, wr, bad);
	if (bad)
		*bad = wr;
	return -ENOMEM;
}

/* The real one, too, rejects if it fails. */
static inline int dat_fail_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (!dat_fail_verbs())
		return rdma_accept(id, param);
	rdma_reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
	return -ENOMEM;
}

#undef ib_alloc_pd
#undef ib_create_cq
#undef rdma_create_id

#define dat_fail_int(_call) \
	(dat_fail_verbs() ? -ENOMEM : (_call))
#define dat_fail_ptr(_call) \
	(dat_fail_verbs() ? ERR_PTR(-ENOMEM) : (_call))

#define ib_alloc_pd(...)	dat_fail_ptr(dat_fail_alloc_pd(__VA_ARGS__))
#define ib_create_cq(...)	dat_fail_ptr(dat_fail_create_cq(__VA_ARGS__))
#define ib_create_qp(...)	dat_fail_ptr(ib_create_qp(__VA_ARGS__))
#define ib_create_srq(...)	dat_fail_ptr(ib_create_srq(__VA_ARGS__))
#define ib_alloc_mr(...)	dat_fail_ptr(ib_alloc_mr(__VA_ARGS__))
#define ib_reg_user_mr(...)	dat_fail_ptr(ib_reg_user_mr(__VA_ARGS__))
#define ib_modify_qp(...)	dat_fail_int(ib_modify_qp(__VA_ARGS__))
#define ib_query_qp(...)	dat_fail_int(ib_query_qp(__VA_ARGS__))
#define ib_modify_srq(...)	dat_fail_int(ib_modify_srq(__VA_ARGS__))
#define ib_query_port(...)	dat_fail_int(ib_query_port(__VA_ARGS__))
#define ib_map_mr_sg(...)	dat_fail_int(ib_map_mr_sg(__VA_ARGS__))
#define ib_dma_map_sgtable_attrs(...) \
	dat_fail_int(ib_dma_map_sgtable_attrs(__VA_ARGS__))
#define ib_dma_mapping_error(...) \
	dat_fail_int(ib_dma_mapping_error(__VA_ARGS__))

#define ib_post_send		dat_fail_post_send
#define ib_post_recv		dat_fail_post_recv
#define ib_post_srq_recv	dat_fail_post_srq_recv

#define rdma_create_id(...)	dat_fail_ptr(dat_fail_create_id(__VA_ARGS__))
#define rdma_bind_addr(...)	dat_fail_int(rdma_bind_addr(__VA_ARGS__))
#define rdma_listen(...)	dat_fail_int(rdma_listen(__VA_ARGS__))
#define rdma_resolve_addr(...)	dat_fail_int(rdma_resolve_addr(__VA_ARGS__))
#define rdma_resolve_route(...)	dat_fail_int(rdma_resolve_route(__VA_ARGS__))
#define rdma_translate_ip(...)	dat_fail_int(rdma_translate_ip(__VA_ARGS__))
#define rdma_init_qp_attr(...)	dat_fail_int(rdma_init_qp_attr(__VA_ARGS__))
#define rdma_connect(...)	dat_fail_int(rdma_connect(__VA_ARGS__))
#define rdma_connect_locked(...) \
	dat_fail_int(rdma_connect_locked(__VA_ARGS__))
#define rdma_accept		dat_fail_accept
#define rdma_reject(...)	dat_fail_int(rdma_reject(__VA_ARGS__))
#define rdma_disconnect(...)	dat_fail_int(rdma_disconnect(__VA_ARGS__))

/* ib_pack.h is not part of the interface; files of kdapl have another. */
#undef RESERVED

#endif /* _KDAPL_FAIL_H */

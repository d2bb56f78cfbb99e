/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * account.h - the cost of an IA's objects, and the functions that charge it
 *
 * The estimates are in bytes. They are at least what rxe allocates in Linux 6.1 and
 * 6.12. rxe rounds both the number of entries of a queue and the size of an entry up to
 * a power of two. The sizes come from rdma_user_rxe.h and rxe_verbs.h.
 * selftests/admin/charge.c measures how much of a guest's memory a set of objects takes.
 */
#ifndef _KDAPL_ACCOUNT_H
#define _KDAPL_ACCOUNT_H

#include <linux/log2.h>
#include <linux/math.h>
#include <linux/types.h>

struct dat_object;
struct dat_owner;

/* struct ib_wc: rxe fills CQs with it. mlx5's CQE has the same size. */
#define DAT_BYTES_CQE		64
/* A work request without its segments; one segment. */
#define DAT_BYTES_SEND_WQE	208
#define DAT_BYTES_RECV_WQE	40
#define DAT_BYTES_SEGMENT	16
/* A page in the page list of an MR; what rxe of Linux 6.1 allocates such a list in. */
#define DAT_BYTES_MR_PAGE	16
#define DAT_BYTES_MR_LIST	4096
/* A page in a scatterlist. */
#define DAT_BYTES_SG		32
/* The structure of each object, including its socket if it has one. */
#define DAT_BYTES_CQ		4096
#define DAT_BYTES_QP		12288
#define DAT_BYTES_SRQ		4096
#define DAT_BYTES_MR		1024
#define DAT_BYTES_PD		512
#define DAT_BYTES_CM_ID		4096
/* The entry of an object in the handle tables. */
#define DAT_BYTES_HANDLE	64

static inline size_t dat_bytes_cq(u32 cqe)
{
	return DAT_BYTES_CQ + roundup_pow_of_two((size_t)cqe + 1) * DAT_BYTES_CQE;
}

static inline size_t dat_bytes_queue(u32 entries, u32 segments, size_t wqe)
{
	return roundup_pow_of_two((size_t)entries + 1) *
	       roundup_pow_of_two(wqe + segments * DAT_BYTES_SEGMENT);
}

static inline size_t dat_bytes_mr(u64 pages)
{
	return DAT_BYTES_MR + round_up(pages * DAT_BYTES_MR_PAGE, DAT_BYTES_MR_LIST);
}

/**
 * enum dat_hca - resources that are charged to the rdma cgroup
 * @DAT_HCA_HANDLE: an IA
 * @DAT_HCA_OBJECT: a PD, CQ, QP, MR or SRQ
 */
enum dat_hca {
	DAT_HCA_HANDLE,
	DAT_HCA_OBJECT,
};

/* The maximum of one object: a PZ on iWARP, which has two hidden QPs. */
#define DAT_MAX_HCA	4

bool dat_object_charge(struct dat_object *obj, size_t bytes);
bool dat_object_try_charge(struct dat_object *obj, size_t bytes);
void dat_object_uncharge(struct dat_object *obj, size_t bytes);
void dat_owner_uncharge(struct dat_owner *owner, long bytes);
bool dat_object_charge_hca(struct dat_object *obj, enum dat_hca what,
			   unsigned int num);
void dat_object_uncharge_hca(struct dat_object *obj);
void dat_owner_put_account(struct dat_owner *owner);

#endif /* _KDAPL_ACCOUNT_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * account.h - what the objects of an IA cost, and who is charged for them
 *
 * The estimates are in bytes and not less than what rxe takes (Linux 6.1 and
 * 6.12): its queues have a power of two of entries, each of a power of two of
 * bytes. Sizes in rdma_user_rxe.h and rxe_verbs.h; what a set of objects takes of
 * a guest's memory is measured by selftests/charge.c.
 */
#ifndef _KDAPL_ACCOUNT_H
#define _KDAPL_ACCOUNT_H

#include <linux/log2.h>
#include <linux/math.h>
#include <linux/types.h>

struct dat_object;
struct dat_owner;

/* struct ib_wc, with which rxe fills a CQ; mlx5's is as large. */
#define DAT_BYTES_CQE		64
/* A work request without its segments, and a segment. */
#define DAT_BYTES_SEND_WQE	256
#define DAT_BYTES_RECV_WQE	64
#define DAT_BYTES_SEGMENT	16
/* A page in the list of an MR, and in a scatterlist. */
#define DAT_BYTES_MR_PAGE	16
#define DAT_BYTES_SG		32
/* The structure of each object, with its socket if it has one. */
#define DAT_BYTES_CQ		4096
#define DAT_BYTES_QP		12288
#define DAT_BYTES_SRQ		4096
#define DAT_BYTES_MR		1024
#define DAT_BYTES_PD		512
#define DAT_BYTES_CM_ID		4096
/* An object's place in the tables of handles. */
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
	return DAT_BYTES_MR + pages * DAT_BYTES_MR_PAGE;
}

/**
 * enum dat_hca - what is charged to the rdma cgroup
 * @DAT_HCA_HANDLE: an IA
 * @DAT_HCA_OBJECT: a PD, CQ, QP, MR or SRQ
 */
enum dat_hca {
	DAT_HCA_HANDLE,
	DAT_HCA_OBJECT,
};

/* The most that one object has: a PZ on iWARP, with two hidden QPs. */
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

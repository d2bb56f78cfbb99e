/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * regqp.h - the hidden queue pair through which a PZ registers memory
 *
 * The PZ initialises and destroys it. lmr_register.c registers memory through it, in
 * process context.
 */
#ifndef _KDAPL_REGQP_H
#define _KDAPL_REGQP_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct dat_ia;
struct dat_loopback;

/**
 * struct dat_regqp - a QP that is connected to its own host
 * @lock: serialises registrations
 * @ia: the IA
 * @pd: the PD of the QP
 * @cq: CQ of the QP; NULL without QP
 * @done: completed when @cq receives a completion
 * @qp: the QP; NULL until the first registration, after a failure, and when idle
 * @far_qp: the QP that @qp is connected to on iWARP; else NULL
 * @loopback: the connection to @far_qp
 * @last_use: when @qp was last used, in jiffies
 * @idle_work: destroys @qp when it has been idle; pending while there is a QP
 */
struct dat_regqp {
	struct mutex lock;
	struct dat_ia *ia;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct completion done;
	struct ib_qp *qp;
	struct ib_qp *far_qp;
	struct dat_loopback *loopback;
	unsigned long last_use;
	struct delayed_work idle_work;
};

/* On iWARP the QP is connected to a second one. */
static inline int dat_regqp_num_qps(const struct ib_device *ibdev, u32 port)
{
	return rdma_protocol_iwarp(ibdev, port) ? 2 : 1;
}

void dat_regqp_init(struct dat_regqp *reg, struct dat_ia *ia, struct ib_pd *pd);
void dat_regqp_destroy(struct dat_regqp *reg);
int dat_regqp_register(struct dat_regqp *reg, struct ib_mr *mr, int access);

#endif /* _KDAPL_REGQP_H */

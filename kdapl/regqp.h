/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * regqp.h - the queue pair through which a PZ registers memory
 */
#ifndef _KDAPL_REGQP_H
#define _KDAPL_REGQP_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

/**
 * struct dat_regqp - a QP that is connected to itself
 * @lock: one registration at a time
 * @pd: the PD that it serves
 * @port: the port that it sits on
 * @cq: its completions; NULL until the first registration
 * @qp: the QP; NULL until the first registration, and after it has failed
 */
struct dat_regqp {
	struct mutex lock;
	struct ib_pd *pd;
	u32 port;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

void dat_regqp_init(struct dat_regqp *reg, struct ib_pd *pd, u32 port);
void dat_regqp_destroy(struct dat_regqp *reg);
int dat_regqp_register(struct dat_regqp *reg, struct ib_mr *mr, int access);

#endif /* _KDAPL_REGQP_H */

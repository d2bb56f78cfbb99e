/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * loopback.h - a connection of the host to itself, for QPs that need rdma_cm
 *
 * regqp.c uses it on iWARP, in process context.
 */
#ifndef _KDAPL_LOOPBACK_H
#define _KDAPL_LOOPBACK_H

struct dat_ia;
struct dat_loopback;
struct ib_qp;

struct dat_loopback *dat_loopback_make(struct dat_ia *ia, struct ib_qp *near,
				       struct ib_qp *far);
void dat_loopback_drop(struct dat_loopback *lb);

#endif /* _KDAPL_LOOPBACK_H */

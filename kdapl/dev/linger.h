/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * linger.h - keeps ended connections until the peer has acknowledged the disconnect
 *
 * EPs call dat_linger() in process context to destroy the id of an ended connection.
 * Module exit calls dat_linger_exit().
 */
#ifndef _KDAPL_LINGER_H
#define _KDAPL_LINGER_H

#include <rdma/rdma_cm.h>

struct dat_user;

void dat_linger(struct rdma_cm_id *id, struct dat_user *user,
		const bool *owed, bool leave);
void dat_linger_exit(void);

#endif /* _KDAPL_LINGER_H */

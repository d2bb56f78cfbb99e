/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * workqueue.h - the work queues of the module
 *
 * The works of an object run in the queue of its user: see dat_wq().
 */
#ifndef _KDAPL_WORKQUEUE_H
#define _KDAPL_WORKQUEUE_H

struct workqueue_struct;

/* Works that belong to no single user. Module unload flushes the queue. */
extern struct workqueue_struct *kdapl_wq;

/*
 * Works that replace MRs of RMRs and of LMRs from dat_lmr_allocate(), and on PREEMPT_RT
 * those that poll the CQs of EVDs (queue/poll.h). They wait only for the device. Their
 * priority is high because binds may fail until they have run.
 */
extern struct workqueue_struct *kdapl_mr_wq;

int dat_workqueue_init(void);
void dat_workqueue_exit(void);

#endif /* _KDAPL_WORKQUEUE_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * workqueue.h - the work queues of the module
 *
 * Works of an object run in the queue of its user, dat_wq().
 */
#ifndef _KDAPL_WORKQUEUE_H
#define _KDAPL_WORKQUEUE_H

struct workqueue_struct;

/* Works of no single user; flushed at unload. */
extern struct workqueue_struct *kdapl_wq;

/*
 * Works that replace MRs of RMRs and of LMRs of dat_lmr_allocate(). They wait for the
 * device only. Their priority is high: binds may fail until they have run.
 */
extern struct workqueue_struct *kdapl_mr_wq;

int dat_workqueue_init(void);
void dat_workqueue_exit(void);

#endif /* _KDAPL_WORKQUEUE_H */

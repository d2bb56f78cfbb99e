/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kdapl.h - what the module has once
 */
#ifndef _KDAPL_KDAPL_H
#define _KDAPL_KDAPL_H

struct workqueue_struct;

/*
 * Runs what belongs to the module as a whole and must wait for something; flushed at
 * unload. The works of objects run in the queue of their user: dat_wq().
 */
extern struct workqueue_struct *kdapl_wq;

/*
 * Replaces MRs of RMRs and of LMRs of dat_lmr_allocate(). Its works wait for the device
 * only. Their priority is high, as binds may be refused until they have run.
 */
extern struct workqueue_struct *kdapl_mr_wq;

#endif /* _KDAPL_KDAPL_H */

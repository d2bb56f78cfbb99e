// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * workqueue.c - the work queues of the module
 *
 * Owns kdapl_wq and kdapl_mr_wq; workqueue.h describes the works of each. Module
 * initialisation and exit call this file. user.c allocates the queue of each user.
 */
#include <linux/errno.h>
#include <linux/workqueue.h>

#include "base/workqueue.h"

struct workqueue_struct *kdapl_wq;
struct workqueue_struct *kdapl_mr_wq;

/**
 * dat_workqueue_init - allocate the work queues
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int dat_workqueue_init(void)
{
	kdapl_wq = alloc_workqueue("kdapl", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kdapl_wq)
		return -ENOMEM;
	kdapl_mr_wq = alloc_workqueue("kdapl_mr", WQ_UNBOUND | WQ_HIGHPRI |
				      WQ_MEM_RECLAIM, 0);
	if (kdapl_mr_wq)
		return 0;
	destroy_workqueue(kdapl_wq);
	return -ENOMEM;
}

/**
 * dat_workqueue_exit - destroy the work queues
 *
 * Context: process, may sleep; no caller queues works any more.
 */
void dat_workqueue_exit(void)
{
	destroy_workqueue(kdapl_mr_wq);
	destroy_workqueue(kdapl_wq);
}

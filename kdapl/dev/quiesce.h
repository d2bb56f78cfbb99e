/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * quiesce.h - quiesces and resumes an IA
 *
 * ia.c and the code of dat_ia_close() include it. ia.h declares the functions that take
 * and return live references.
 */
#ifndef _KDAPL_QUIESCE_H
#define _KDAPL_QUIESCE_H

#include "dev/ia.h"

/**
 * struct dat_ia_pinner - a task that may be waiting for a page of its process
 * @node: in ia->pinners
 * @task: the task
 * @since: begin of the wait, in jiffies
 */
struct dat_ia_pinner {
	struct list_head node;
	struct task_struct *task;
	unsigned long since;
};

void dat_ia_pin_begin(struct dat_ia *ia, struct dat_ia_pinner *pinner);
void dat_ia_pin_end(struct dat_ia *ia, struct dat_ia_pinner *pinner);
void dat_ia_live_init(struct dat_ia *ia);
void dat_ia_quiesce(struct dat_ia *ia, enum dat_ia_live_state why);
void dat_ia_kill(struct dat_ia *ia);
void dat_ia_resume(struct dat_ia *ia);

#endif /* _KDAPL_QUIESCE_H */

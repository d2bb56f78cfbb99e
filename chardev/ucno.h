/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ucno.h - CNOs of processes: wait for several EVDs at once
 */
#ifndef _CHARDEV_UCNO_H
#define _CHARDEV_UCNO_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include "file.h"

/**
 * struct dat_ucno - a CNO
 * @uobj: base object
 * @lock: guards all fields below; upcalls take it inside the lock of an EVD
 * @is_triggered: no waiter has taken the last trigger yet
 * @is_agent_due: the agent has not taken its trigger yet
 * @is_dead: the CNO or its IA has been freed
 * @evd: user handle of the EVD that triggered; 0 if all EVDs have been freed
 * @agent_evd: as @evd, for the agent
 * @agent: the agent's number; 0 without an agent
 * @evds: number of EVDs that trigger the CNO
 * @waiters: number of waiting threads
 * @last_evd_frees: how many times the last EVD has been freed
 * @wq: threads that wait or poll, and the agent
 */
struct dat_ucno {
	struct dat_uobj uobj;
	spinlock_t lock;
	bool is_triggered;
	bool is_agent_due;
	bool is_dead;
	u32 evd;
	u32 agent_evd;
	u32 agent;
	u32 evds;
	u32 waiters;
	u32 last_evd_frees;
	wait_queue_head_t wq;
};

static inline struct dat_ucno *to_ucno(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_ucno, uobj);
}

struct dat_ucno *dat_ucno_attach(struct dat_file *file, u32 handle,
				 const struct dat_uia *ia);
void dat_ucno_detach(struct dat_ucno *cno, bool is_end);
void dat_ucno_trigger(struct dat_ucno *cno, u32 evd);
void dat_ucno_kill(struct dat_ucno *cno);

#endif /* _CHARDEV_UCNO_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * poll.h - irq_poll, or on PREEMPT_RT the same with a work item
 *
 * The functions are those of <linux/irq_poll.h>. Where DAT_SOFTIRQS_NEST is set, a softirq
 * may preempt another on its processor, and both would poll the first entry of irq_poll's
 * list. A work item runs the poller there, with bottom halves off.
 */
#ifndef _KDAPL_POLL_H
#define _KDAPL_POLL_H

#include "base/compat.h"

#if DAT_SOFTIRQS_NEST

#include <linux/bottom_half.h>
#include <linux/workqueue.h>

#include "base/workqueue.h"

struct dat_poll {
	struct work_struct work;
	int weight;
	int (*poll)(struct dat_poll *poll, int budget);
};

static inline void dat_poll_sched(struct dat_poll *poll)
{
	queue_work(kdapl_mr_wq, &poll->work);
}

static inline void dat_poll_work(struct work_struct *work)
{
	struct dat_poll *poll = container_of(work, struct dat_poll, work);
	int done;

	local_bh_disable();
	done = poll->poll(poll, poll->weight);
	local_bh_enable();
	if (done >= poll->weight)
		dat_poll_sched(poll);
}

static inline void dat_poll_init(struct dat_poll *poll, int weight,
				 int (*fn)(struct dat_poll *, int))
{
	INIT_WORK(&poll->work, dat_poll_work);
	poll->weight = weight;
	poll->poll = fn;
}

/* dat_poll_sched() has an effect even while the poller runs. */
static inline void dat_poll_complete(struct dat_poll *poll)
{
}

static inline void dat_poll_disable(struct dat_poll *poll)
{
	disable_work_sync(&poll->work);
}

static inline void dat_poll_enable(struct dat_poll *poll)
{
	enable_work(&poll->work);
}

#else

#include <linux/irq_poll.h>

#define dat_poll		irq_poll
#define dat_poll_sched		irq_poll_sched
#define dat_poll_init		irq_poll_init
#define dat_poll_complete	irq_poll_complete
#define dat_poll_disable	irq_poll_disable
#define dat_poll_enable		irq_poll_enable

#endif

#endif /* _KDAPL_POLL_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * shake.h - random delays at locks, references and work items, to find wrong orders
 *
 * A test build only: with KDAPL_SHAKE=1 Kbuild includes this file in front of every source
 * file. It redefines calls as the same calls with a delay before them, after them or both.
 * A delay makes a window between two critical sections, which mostly lasts nanoseconds, as
 * long as other threads need to step in. Delays sleep only where the caller may.
 */
#ifndef _KDAPL_SHAKE_H
#define _KDAPL_SHAKE_H

#include <linux/delay.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/* One call in so many is delayed. */
#define DAT_SHAKE_RARITY	32
/* Microseconds at most, without and with sleep */
#define DAT_SHAKE_SPIN_US	20
#define DAT_SHAKE_SLEEP_US	500

/* A thread that is about to wait must not sleep for another reason. */
static inline bool dat_shake_may_sleep(void)
{
	return preemptible() && get_current_state() == TASK_RUNNING;
}

static inline void dat_shake(void)
{
	u32 random = get_random_u32();
	u32 more = random >> 8;

	if (likely(random % DAT_SHAKE_RARITY))
		return;
	if (!dat_shake_may_sleep())
		udelay(more % DAT_SHAKE_SPIN_US);
	else if (more & 1)
		usleep_range(more % DAT_SHAKE_SLEEP_US, DAT_SHAKE_SLEEP_US);
	else
		cond_resched();
}

/* Macros of the kernel: a macro cannot call its earlier definition. */
static inline void dat_shake_mutex_lock(struct mutex *lock)
{
	mutex_lock(lock);
}

static inline void dat_shake_wake_up_all(struct wait_queue_head *wq)
{
	wake_up_all(wq);
}

#define dat_shake_before(_call) \
	do { dat_shake(); _call; } while (0)
#define dat_shake_after(_call) \
	do { _call; dat_shake(); } while (0)
#define dat_shake_around(_call) \
	do { dat_shake(); _call; dat_shake(); } while (0)

#undef mutex_lock
#undef wake_up_all

/* The delay behind a lock and in front of an unlock keeps others out for longer. */
#define mutex_lock(_lock)	dat_shake_around(dat_shake_mutex_lock(_lock))
#define mutex_unlock(_lock)	dat_shake_around(mutex_unlock(_lock))
#define spin_lock(_lock)	dat_shake_around(spin_lock(_lock))
#define spin_unlock(_lock)	dat_shake_around(spin_unlock(_lock))
#define spin_lock_bh(_lock)	dat_shake_around(spin_lock_bh(_lock))
#define spin_unlock_bh(_lock)	dat_shake_around(spin_unlock_bh(_lock))
#define rcu_read_lock()		dat_shake_after(rcu_read_lock())
#define rcu_read_unlock()	dat_shake_around(rcu_read_unlock())
#define rcu_read_lock_bh()	dat_shake_after(rcu_read_lock_bh())
#define rcu_read_unlock_bh()	dat_shake_around(rcu_read_unlock_bh())
#define kref_get(_ref)		dat_shake_before(kref_get(_ref))
#define wake_up_all(_wq)	dat_shake_around(dat_shake_wake_up_all(_wq))

#define dat_shake_result(_call) \
	({ dat_shake(); typeof(_call) _result = _call; dat_shake(); _result; })

#define kref_put(_ref, _release) \
	dat_shake_result(kref_put(_ref, _release))
#define kref_get_unless_zero(_ref) \
	dat_shake_result(kref_get_unless_zero(_ref))
#define refcount_dec_and_test(_ref) \
	dat_shake_result(refcount_dec_and_test(_ref))
#define refcount_inc_not_zero(_ref) \
	dat_shake_result(refcount_inc_not_zero(_ref))
#define atomic_dec_and_test(_count) \
	dat_shake_result(atomic_dec_and_test(_count))
#define queue_work(_wq, _work) \
	dat_shake_result(queue_work(_wq, _work))
#define queue_delayed_work(_wq, _work, _delay) \
	dat_shake_result(queue_delayed_work(_wq, _work, _delay))
#define mod_delayed_work(_wq, _work, _delay) \
	dat_shake_result(mod_delayed_work(_wq, _work, _delay))

#endif /* _KDAPL_SHAKE_H */

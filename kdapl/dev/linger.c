// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * linger.c - keeps connections that end until the peer has heard of it
 *
 * The message that takes leave is repeated until the peer answers, but only for
 * as long as its rdma_cm_id lives. EPs may be freed at once, and processes die:
 * so the id is kept here.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "base/workqueue.h"
#include "base/user.h"
#include "dev/linger.h"

/* For DAT_QUIRK_LATE_ANSWERS: the DREQ must not overtake the answer of the QP. */
#define DREQ_DELAY	msecs_to_jiffies(100)
/* The message is repeated every six seconds. */
#define LINGER_TIME	(30 * HZ)
/*
 * Connections that are kept for peers that do not answer: of all users except root, and
 * of one user. Root has LINGER_MAX besides.
 */
#define LINGER_MAX		1024
#define LINGER_MAX_USER	256

/**
 * struct linger_id - a connection whose peer may not know yet that it has ended
 * @entry: on the list of them, the oldest first
 * @id: the connection
 * @user: whose it was, referenced
 * @deadline: in jiffies; then the peer need not know
 * @answered: it does
 * @dreq_work: sends the DREQ after DREQ_DELAY
 */
struct linger_id {
	struct list_head entry;
	struct rdma_cm_id *id;
	struct dat_user *user;
	unsigned long deadline;
	bool answered;
	struct delayed_work dreq_work;
};

static LIST_HEAD(lingering);
/* Of all users but root. */
static unsigned int count;
static DEFINE_SPINLOCK(lock);

static void linger_worker(struct work_struct *work);
static DECLARE_DELAYED_WORK(linger_work, linger_worker);

static bool is_root(const struct dat_user *user)
{
	return uid_eq(user->uid, GLOBAL_ROOT_UID);
}

/* Whether there is room for one more of the user's; if so, it is taken. */
static bool charge(struct dat_user *user)
{
	lockdep_assert_held(&lock);
	if (is_root(user) ? user->lingering >= LINGER_MAX :
			    user->lingering >= LINGER_MAX_USER ||
			    count >= LINGER_MAX)
		return false;
	user->lingering++;
	count += !is_root(user);
	return true;
}

static void uncharge(struct dat_user *user)
{
	lockdep_assert_held(&lock);
	user->lingering--;
	count -= !is_root(user);
}

static void destroy(struct list_head *over)
{
	struct linger_id *f, *next;

	list_for_each_entry_safe(f, next, over, entry) {
		cancel_delayed_work_sync(&f->dreq_work);
		/* Waits for the handler, which is the last to use it. */
		rdma_destroy_id(f->id);
		dat_user_put(f->user);
		kfree(f);
	}
}

static void linger_worker(struct work_struct *work)
{
	struct linger_id *f, *next;
	LIST_HEAD(over);

	spin_lock(&lock);
	list_for_each_entry_safe(f, next, &lingering, entry) {
		if (!READ_ONCE(f->answered) && time_before(jiffies, f->deadline))
			continue;
		list_move_tail(&f->entry, &over);
		uncharge(f->user);
	}
	f = list_first_entry_or_null(&lingering, struct linger_id, entry);
	/* An answer that comes meanwhile is not lost: it queues at once. */
	if (f)
		queue_delayed_work(kdapl_wq, &linger_work,
				   f->deadline - jiffies + 1);
	spin_unlock(&lock);
	destroy(&over);
}

/* Not by its return value: at unload nobody would wait for the handler. */
static int linger_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct linger_id *f = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		/* Only now can it be told. */
		rdma_disconnect(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		WRITE_ONCE(f->answered, true);
		mod_delayed_work(kdapl_wq, &linger_work, 0);
		break;
	default:
		break;
	}
	return 0;
}

static void dreq_worker(struct work_struct *work)
{
	struct linger_id *f = container_of(to_delayed_work(work),
					struct linger_id, dreq_work);

	rdma_disconnect(f->id);
}

static struct linger_id *linger_new(struct rdma_cm_id *id,
				 struct dat_user *user)
{
	struct linger_id *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	f->id = id;
	f->user = user;
	f->deadline = jiffies + LINGER_TIME;
	INIT_DELAYED_WORK(&f->dreq_work, dreq_worker);
	return f;
}

static bool linger_add(struct linger_id *f, bool leave)
{
	bool added = false;

	spin_lock(&lock);
	if (charge(f->user)) {
		dat_user_get(f->user);
		list_add_tail(&f->entry, &lingering);
		queue_delayed_work(kdapl_wq, &linger_work, LINGER_TIME);
		if (leave)
			queue_delayed_work(kdapl_wq, &f->dreq_work,
					   DREQ_DELAY);
		added = true;
	}
	spin_unlock(&lock);
	return added;
}

/**
 * dat_linger - destroy an id when its peer need no longer be told
 * @id: a connection that has ended, or never was; no longer the caller's
 * @user: whose it was
 * @owed: whether the peer has yet to hear or to tell of the end; changes under
 *	the handler lock of @id, and is not looked at after the call
 * @leave: the DREQ has not been sent, and must be sent after DREQ_DELAY: see
 *	DAT_QUIRK_LATE_ANSWERS
 *
 * A peer that does not answer within some seconds, or that is one too many for the
 * user or for all of them, is left alone.
 *
 * Context: process, may sleep; not from a handler of rdma_cm.
 */
void dat_linger(struct rdma_cm_id *id, struct dat_user *user,
		const bool *owed, bool leave)
{
	struct linger_id *f = linger_new(id, user);
	bool added = false;

	rdma_lock_handler(id);
	if (f && *owed && linger_add(f, leave)) {
		id->context = f;
		id->event_handler = linger_handler;
		added = true;
	}
	rdma_unlock_handler(id);
	if (added)
		return;
	kfree(f);
	if (leave)
		rdma_disconnect(id);
	rdma_destroy_id(id);
}

/**
 * dat_linger_exit - whoever has not answered by now is left alone
 *
 * Nobody calls dat_linger() any more. Context: process, may sleep.
 */
void dat_linger_exit(void)
{
	struct linger_id *f;
	LIST_HEAD(over);

	cancel_delayed_work_sync(&linger_work);
	spin_lock(&lock);
	list_for_each_entry(f, &lingering, entry)
		uncharge(f->user);
	list_splice_init(&lingering, &over);
	spin_unlock(&lock);
	destroy(&over);
	/* Handlers may have queued it until the last of them was gone. */
	cancel_delayed_work_sync(&linger_work);
}

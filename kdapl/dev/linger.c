// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * linger.c - keeps ended connections until the peer has acknowledged the disconnect
 *
 * The CM retransmits DREQ until it receives DREP, but only while the rdma_cm_id exists.
 * Consumers may free an EP at once, and processes may die. EPs therefore pass the id to
 * dat_linger(), in process context, instead of destroying it. This file owns such ids
 * and destroys each after the answer or after LINGER_TIME. The number of ids is limited
 * per user and in total.
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
/* The CM retransmits the message every six seconds. */
#define LINGER_TIME	(30 * HZ)
/*
 * Limits on connections that are kept for peers that do not answer: LINGER_MAX for all
 * users except root together, LINGER_MAX_USER for one user. Root has LINGER_MAX more.
 */
#define LINGER_MAX		1024
#define LINGER_MAX_USER	256

/**
 * struct linger_id - an ended connection whose peer may not know that it has ended
 * @entry: in the list of such connections, the oldest first
 * @id: the connection
 * @user: user of the connection, referenced
 * @deadline: when @id is destroyed even without an answer, in jiffies
 * @answered: the peer has answered
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
/* Number of lingering connections of all users except root. */
static unsigned int count;
static DEFINE_SPINLOCK(lock);

static void linger_worker(struct work_struct *work);
static DECLARE_DELAYED_WORK(linger_work, linger_worker);

static bool is_root(const struct dat_user *user)
{
	return uid_eq(user->uid, GLOBAL_ROOT_UID);
}

/* Count one more connection of the user. Return false if the limit is reached. */
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
		/* Waits for the handler, which may still use the linger_id. */
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
	/*
	 * An answer that arrives meanwhile is not lost: its handler queues the work at
	 * once.
	 */
	if (f)
		queue_delayed_work(kdapl_wq, &linger_work,
				   f->deadline - jiffies + 1);
	spin_unlock(&lock);
	destroy(&over);
}

/*
 * Do not destroy the id by a non-zero return: module unload would not wait for the
 * handler.
 */
static int linger_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct linger_id *f = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		/* rdma_cm can send a disconnect only from now on. */
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
	bool added;

	spin_lock(&lock);
	added = charge(f->user);
	if (added) {
		dat_user_get(f->user);
		list_add_tail(&f->entry, &lingering);
		queue_delayed_work(kdapl_wq, &linger_work, LINGER_TIME);
		if (leave)
			queue_delayed_work(kdapl_wq, &f->dreq_work,
					   DREQ_DELAY);
	}
	spin_unlock(&lock);
	return added;
}

/**
 * dat_linger - destroy an id after its peer has received the disconnect
 * @id: a connection that has ended or was never established; passes to this function
 * @user: user of the connection
 * @owed: true while the peer has yet to receive or to send the disconnect; changes
 *	under the handler lock of @id, and is not read after the call returns
 * @leave: the DREQ has not been sent; dat_linger() sends it after DREQ_DELAY: see
 *	DAT_QUIRK_LATE_ANSWERS
 *
 * The id is destroyed without an answer after LINGER_TIME. It is destroyed at once if
 * the user, or all users together, have reached their limit.
 *
 * Context: process, may sleep; not from a handler of rdma_cm.
 */
void dat_linger(struct rdma_cm_id *id, struct dat_user *user,
		const bool *owed, bool leave)
{
	struct linger_id *f = linger_new(id, user);
	bool added;

	rdma_lock_handler(id);
	added = f && *owed && linger_add(f, leave);
	if (added) {
		id->context = f;
		id->event_handler = linger_handler;
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
 * dat_linger_exit - destroy all lingering ids at module unload
 *
 * The caller ensures that no thread calls dat_linger() any more.
 *
 * Context: process, may sleep.
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
	/* Handlers may have queued the work again until the last id was destroyed. */
	cancel_delayed_work_sync(&linger_work);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * upcall.c - kdapl_fuzz.ko: makes calls, in upcalls also, and checks their context
 *
 * A call that must not be made in a context would be a bug of the caller, so it is refused
 * before it reaches kdapl. A call for an upcall waits in the slot of that upcall.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "fuzz.h"

/* Calls that one upcall makes */
#define CALLS_PER_UPCALL	4
#define MAX_PENDING		16
#define UPCALL_TIMEOUT		(HZ / 10)

#define KAPI(name, context)	[KAPI_##name] = { kapi_##name, IN_##context },
static const struct {
	kapi_func *func;
	enum kapi_context context;
} calls[] = {
#include "calls.def"
};

/*
 * No upcall may wait for another that may wait for it. One upcall at a time makes the calls
 * that wait for upcalls; in another one they are refused.
 */
static atomic_t waits_for_upcalls = ATOMIC_INIT(0);

static bool may_wait(u32 number)
{
	return number == KAPI_evd_free || number == KAPI_evd_modify_upcall;
}

static bool is_disable(const struct kapi *k)
{
	return k->c.number == KAPI_evd_modify_upcall &&
	       kapi_policy(ARG(1)) == DAT_UPCALL_DISABLE;
}

/**
 * kapi_may_call - whether a call is allowed in this context
 * @k: the call
 */
bool kapi_may_call(const struct kapi *k)
{
	if (in_softirq() || irqs_disabled())
		return calls[k->c.number].context == IN_ANY || is_disable(k);
	return !k->event || calls[k->c.number].context != IN_TASK;
}

/**
 * kapi_make - make a call
 * @k: the call
 *
 * Context: any; calls that are not allowed in it are refused.
 * Return: the result of the call, or KAPI_REFUSED.
 */
DAT_RETURN kapi_make(struct kapi *k)
{
	bool waits = k->event && may_wait(k->c.number) && !is_disable(k);
	DAT_RETURN ret;

	if (!kapi_may_call(k) || (waits && atomic_xchg(&waits_for_upcalls, 1)))
		return KAPI_REFUSED;
	ret = calls[k->c.number].func(k);
	if (waits)
		atomic_set(&waits_for_upcalls, 0);
	return ret;
}

static struct kapi *take_pending(struct slot *slot)
{
	struct kapi *k;

	spin_lock_bh(&slot->lock);
	k = list_first_entry_or_null(&slot->pending, struct kapi, node);
	if (k) {
		list_del_init(&k->node);
		slot->num_pending--;
	}
	spin_unlock_bh(&slot->lock);
	return k;
}

static void keep_request(struct file_state *file, const DAT_EVENT *event)
{
	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	spin_lock_bh(&file->lock);
	if (file->num_requests < MAX_REQUESTS)
		file->requests[file->num_requests++] =
			event->event_data.cr_arrival_event_data.cr_handle;
	spin_unlock_bh(&file->lock);
}

static void upcall(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	struct slot *slot = instance_data;
	unsigned int i;

	keep_request(slot->file, event);
	for (i = 0; i < CALLS_PER_UPCALL; i++) {
		struct kapi *k = take_pending(slot);

		if (!k)
			break;
		k->event = event;
		k->c.result = kapi_make(k);
		k->event = NULL;
		if (k->forget)
			kfree(k);
		else
			complete(&k->done);
	}
}

/**
 * kapi_slot - the slot of a number
 * @k: a call of its file
 * @number: any number
 */
struct slot *kapi_slot(struct kapi *k, u64 number)
{
	return &k->file->slots[number % KAPI_SLOTS];
}

/**
 * kapi_upcall - the upcall of a slot
 * @slot: the slot
 */
DAT_UPCALL_OBJECT kapi_upcall(struct slot *slot)
{
	return (DAT_UPCALL_OBJECT){ slot, upcall };
}

/**
 * kapi_policy - the policy of a number
 * @number: any number
 */
DAT_UPCALL_POLICY kapi_policy(u64 number)
{
	static const DAT_UPCALL_POLICY policies[] = {
		DAT_UPCALL_DISABLE, DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_MANY,
		DAT_UPCALL_TEARDOWN, DAT_UPCALL_NORIFY,
	};

	return number < ARRAY_SIZE(policies) ? policies[number] :
					       (DAT_UPCALL_POLICY)number;
}

static bool add_pending(struct slot *slot, struct kapi *k)
{
	bool added = false;

	spin_lock_bh(&slot->lock);
	if (slot->num_pending < MAX_PENDING) {
		list_add_tail(&k->node, &slot->pending);
		slot->num_pending++;
		added = true;
	}
	spin_unlock_bh(&slot->lock);
	return added;
}

static bool remove_pending(struct slot *slot, struct kapi *k)
{
	bool removed = false;

	spin_lock_bh(&slot->lock);
	if (!list_empty(&k->node)) {
		list_del_init(&k->node);
		slot->num_pending--;
		removed = true;
	}
	spin_unlock_bh(&slot->lock);
	return removed;
}

/**
 * kapi_run_in_upcall - let an upcall make a call
 * @k: the call
 *
 * A software event causes the upcall, if the EVD takes software events. Otherwise the call
 * waits for another event, for at most a tenth of a second.
 *
 * Context: process, may sleep.
 * Return: false if @k belongs to the upcall.
 */
bool kapi_run_in_upcall(struct kapi *k)
{
	static const DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct slot *slot = kapi_slot(k, k->c.where);
	DAT_EVD_HANDLE evd = READ_ONCE(slot->evd);
	bool forget = k->c.where & KAPI_WHERE_ASYNC;

	k->c.result = KAPI_NOT_MADE;
	k->forget = forget;
	INIT_LIST_HEAD(&k->node);
	if (!add_pending(slot, k))
		return true;
	/* From here on @k may be freed, if it is to be forgotten. */
	dat_evd_post_se(evd, &event);
	if (forget)
		return false;
	if (!wait_for_completion_timeout(&k->done, UPCALL_TIMEOUT) && !remove_pending(slot, k))
		wait_for_completion(&k->done);
	return true;
}

/**
 * kapi_drop_pending - free the calls that wait for upcalls
 * @file: the file, which is not used any more
 */
void kapi_drop_pending(struct file_state *file)
{
	unsigned int i;

	for (i = 0; i < KAPI_SLOTS; i++) {
		struct kapi *k;

		while ((k = take_pending(&file->slots[i])) != NULL)
			kfree(k);
		WRITE_ONCE(file->slots[i].evd, DAT_HANDLE_NULL);
	}
}

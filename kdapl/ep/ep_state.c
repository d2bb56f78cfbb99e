// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_state.c - reads and changes the state of an EP
 *
 * ep->state_lock serialises changes. Posts read the state without the lock. ep/ and
 * cm/ call these functions, in any context.
 */
#include "dev/ia.h"
#include "ep/ep.h"

/**
 * dat_ep_state - read the state of an EP
 * @ep: the EP
 *
 * Context: any.
 * Return: the state.
 */
DAT_EP_STATE dat_ep_state(struct dat_ep *ep)
{
	return READ_ONCE(ep->state);
}

/**
 * dat_ep_move - move an EP to another state
 * @ep: the EP
 * @from: EP_IN() of the states that it may be in
 * @to: the new state
 *
 * Context: process or softirq.
 * Return: false if the EP is in none of @from; nothing has changed then.
 */
bool dat_ep_move(struct dat_ep *ep, unsigned int from, DAT_EP_STATE to)
{
	bool ok;

	spin_lock_bh(&ep->state_lock);
	ok = from & BIT(ep->state);
	if (ok)
		WRITE_ONCE(ep->state, to);
	spin_unlock_bh(&ep->state_lock);
	return ok;
}

/*
 * The last message of the set-up is lost if it does not follow the first data of the peer
 * within this time. ib_cm repeats its own last message after 4 seconds.
 */
#define NOTIFY_DELAY	msecs_to_jiffies(500)

/**
 * dat_ep_notify_soon - queue the work item that reports the peer's data to rdma_cm
 * @ep: the EP
 *
 * Data often overtakes the last message of the set-up, which then is not lost. The work
 * item gives it NOTIFY_DELAY.
 *
 * Context: any.
 */
void dat_ep_notify_soon(struct dat_ep *ep)
{
	queue_delayed_work(dat_wq(&ep->obj), &ep->notify_work, NOTIFY_DELAY);
}

/**
 * dat_ep_heard - handle a receive that completes while the EP is COMPLETION_PENDING
 * @obj: the EP
 *
 * A peer that sends is connected, but its last message of the set-up may arrive later or
 * be lost. In that case a work item reports the receive to rdma_cm. Meanwhile the consumer
 * may post requests.
 *
 * Context: any.
 */
void dat_ep_heard(struct dat_object *obj)
{
	struct dat_ep *ep = to_ep(obj);

	spin_lock_bh(&ep->state_lock);
	/* After that state no work may be queued: see dat_ep_disconnect_cancel(). */
	if (ep->state == DAT_EP_STATE_COMPLETION_PENDING && !ep->heard) {
		WRITE_ONCE(ep->heard, true);
		dat_ep_notify_soon(ep);
	}
	spin_unlock_bh(&ep->state_lock);
}

/**
 * dat_ep_may_answer - may requests be posted in a state that does not allow it?
 * @ep: the EP
 * @state: its state, neither CONNECTED nor DISCONNECTED
 *
 * Context: any.
 * Return: true if only the last message of the set-up is missing.
 */
bool dat_ep_may_answer(const struct dat_ep *ep, DAT_EP_STATE state)
{
	return state == DAT_EP_STATE_COMPLETION_PENDING && READ_ONCE(ep->heard);
}

static const u8 state_subtype[] = {
	[DAT_EP_STATE_UNCONNECTED] = DAT_INVALID_STATE_EP_UNCONNECTED,
	[DAT_EP_STATE_UNCONFIGURED_UNCONNECTED] =
		DAT_INVALID_STATE_EP_UNCONFIGURED,
	[DAT_EP_STATE_RESERVED] = DAT_INVALID_STATE_EP_RESERVED,
	[DAT_EP_STATE_UNCONFIGURED_RESERVED] =
		DAT_INVALID_STATE_EP_UNCONFRESERVED,
	[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] =
		DAT_INVALID_STATE_EP_PASSCONNPENDING,
	[DAT_EP_STATE_UNCONFIGURED_PASSIVE] =
		DAT_INVALID_STATE_EP_UNCONFPASSIVE,
	[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] =
		DAT_INVALID_STATE_EP_ACTCONNPENDING,
	[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] =
		DAT_INVALID_STATE_EP_TENTCONNPENDING,
	[DAT_EP_STATE_UNCONFIGURED_TENTATIVE] =
		DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
	[DAT_EP_STATE_CONNECTED] = DAT_INVALID_STATE_EP_CONNECTED,
	[DAT_EP_STATE_DISCONNECT_PENDING] = DAT_INVALID_STATE_EP_DISCPENDING,
	[DAT_EP_STATE_DISCONNECTED] = DAT_INVALID_STATE_EP_DISCONNECTED,
	[DAT_EP_STATE_COMPLETION_PENDING] = DAT_INVALID_STATE_EP_COMPLPENDING,
};

/**
 * dat_ep_state_error - the return value of a call that a state does not allow
 * @state: the state
 *
 * Context: any.
 * Return: DAT_INVALID_STATE, with the state as subtype.
 */
DAT_RETURN dat_ep_state_error(DAT_EP_STATE state)
{
	return DAT_ERROR(DAT_INVALID_STATE, state_subtype[state]);
}

#define NAME(state) \
	[DAT_EP_STATE_##state] = #state

static const char *const state_names[] = {
	NAME(UNCONNECTED),
	NAME(UNCONFIGURED_UNCONNECTED),
	NAME(RESERVED),
	NAME(UNCONFIGURED_RESERVED),
	NAME(PASSIVE_CONNECTION_PENDING),
	NAME(UNCONFIGURED_PASSIVE),
	NAME(ACTIVE_CONNECTION_PENDING),
	NAME(TENTATIVE_CONNECTION_PENDING),
	NAME(UNCONFIGURED_TENTATIVE),
	NAME(CONNECTED),
	NAME(DISCONNECT_PENDING),
	NAME(DISCONNECTED),
	NAME(COMPLETION_PENDING),
};

/**
 * dat_ep_state_name - the name of a state
 * @state: the state
 *
 * Context: any.
 * Return: its name.
 */
const char *dat_ep_state_name(DAT_EP_STATE state)
{
	return state_names[state];
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_bind.c - binding an RMR: the life of its two windows
 *
 * A bind invalidates the open window and then registers the idle one, both on
 * the EP's send queue. What is posted after it starts after it; a peer that
 * learns the new context from a Send finds the window open.
 */
#include "device.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "kdapl.h"
#include "lmr.h"
#include "post.h"
#include "pz.h"
#include "rmr.h"

#define BIND_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

static void rmr_repair_later(struct dat_rmr *rmr)
{
	kref_get(&rmr->obj.ref);
	if (!queue_work(kdapl_wq, &rmr->repair_work))
		dat_object_put(&rmr->obj);
}

/* In dto->bind: the window being bound, and above it the one being unbound. */
#define BIND_NEW(bind)		((bind) & 3)
#define BIND_OLD(bind)		((bind) >> 2)
#define BIND(new, old)		((new) | (old) << 2)

/**
 * dat_window_clear - let go of a window's LMR
 * @window: the window, dead to peers
 *
 * Context: any.
 */
void dat_window_clear(struct dat_window *window)
{
	struct dat_lmr *lmr = window->lmr;

	window->lmr = NULL;
	memset(&window->triplet, 0, sizeof(window->triplet));
	window->privileges = DAT_MEM_PRIV_NONE_FLAG;
	if (lmr) {
		dat_object_unuse(&lmr->obj);
		dat_object_put(&lmr->obj);
	}
}

static void window_retire(struct dat_window *window)
{
	dat_window_clear(window);
	window->state = DAT_WINDOW_IDLE;
}

static void window_break(struct dat_rmr *rmr, struct dat_window *window)
{
	window->state = DAT_WINDOW_BROKEN;
	if (window->lmr)
		atomic_inc(&window->lmr->broken);
	rmr_repair_later(rmr);
}

static unsigned int rmr_open_window(const struct dat_rmr *rmr)
{
	unsigned int i, found = DAT_RMR_NO_WINDOW;

	for (i = 0; i < DAT_RMR_WINDOWS; i++)
		if (rmr->windows[i].state == DAT_WINDOW_BINDING ||
		    (rmr->windows[i].state == DAT_WINDOW_BOUND &&
		     found == DAT_RMR_NO_WINDOW))
			found = i;
	return found;
}

/*
 * The connection is gone, and what was flushed may have been carried out all
 * the same: rxe for one flushes what it has done already. So neither window is
 * trusted; both are closed for certain, by way of new MRs.
 */
static void rmr_bind_failed(struct dat_rmr *rmr, const struct dat_dto *dto)
{
	unsigned int new = BIND_NEW(dto->bind), old = BIND_OLD(dto->bind);

	/* It is broken already if the bind that should have opened it failed. */
	if (old != DAT_RMR_NO_WINDOW &&
	    rmr->windows[old].state == DAT_WINDOW_UNBINDING)
		window_break(rmr, &rmr->windows[old]);
	if (new != DAT_RMR_NO_WINDOW)
		window_break(rmr, &rmr->windows[new]);
	rmr->current_window = rmr_open_window(rmr);
}

/**
 * dat_rmr_bound - a bind has completed
 * @dto: its slot
 * @status: how
 *
 * Context: any; the lock of the EVD is held.
 */
void dat_rmr_bound(struct dat_dto *dto, enum ib_wc_status status)
{
	struct dat_rmr *rmr = dto->rmr;
	struct dat_ep *ep = NULL;

	spin_lock_bh(&rmr->lock);
	if (status != IB_WC_SUCCESS) {
		rmr_bind_failed(rmr, dto);
	} else {
		unsigned int new = BIND_NEW(dto->bind);
		unsigned int old = BIND_OLD(dto->bind);

		/* The next bind may have begun to unbind it already. */
		if (new != DAT_RMR_NO_WINDOW &&
		    rmr->windows[new].state == DAT_WINDOW_BINDING)
			rmr->windows[new].state = DAT_WINDOW_BOUND;
		if (old != DAT_RMR_NO_WINDOW &&
		    rmr->windows[old].state == DAT_WINDOW_UNBINDING)
			window_retire(&rmr->windows[old]);
	}
	if (!--rmr->outstanding)
		swap(ep, rmr->bind_ep);
	spin_unlock_bh(&rmr->lock);

	dto->rmr = NULL;
	if (ep)
		dat_object_put(&ep->obj);
	dat_object_put(&rmr->obj);
}

static int window_access(DAT_MEM_PRIV_FLAGS privileges)
{
	int access = 0;

	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	return access;
}

/* A peer may do to a window what the consumer may do to the LMR. */
static DAT_RETURN check_privileges(const struct dat_lmr *lmr,
				   DAT_MEM_PRIV_FLAGS privileges)
{
	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG &&
	    !(lmr->privileges & DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 DAT_PRIVILEGES_RDMA_READ);
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	    !(lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 DAT_PRIVILEGES_RDMA_WRITE);
	return DAT_SUCCESS;
}

static DAT_RETURN find_lmr(struct dat_rmr *rmr, const DAT_LMR_TRIPLET *triplet,
			   DAT_MEM_PRIV_FLAGS privileges, struct dat_lmr **lmrp)
{
	struct dat_lmr *lmr = dat_lmr_find(rmr->obj.ia, triplet->lmr_context);

	if (!lmr || !dat_lmr_covers(lmr, triplet->virtual_address,
				    triplet->segment_length))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (lmr->pz != rmr->pz)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	*lmrp = lmr;
	return check_privileges(lmr, privileges);
}

/* The window for the next bind; the other must not be needed any more. */
static unsigned int rmr_idle_window(struct dat_rmr *rmr)
{
	unsigned int i;

	for (i = 0; i < DAT_RMR_WINDOWS; i++) {
		if (rmr->windows[i].state == DAT_WINDOW_IDLE)
			break;
		/* There was no memory for its new MR; there may be now. */
		if (rmr->windows[i].state == DAT_WINDOW_BROKEN)
			rmr_repair_later(rmr);
	}
	return i;
}

static DAT_RETURN no_window(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			 DAT_RESOURCE_MEMORY_REGION);
}

/*
 * Posts the bind @new, the unbind @old, or both. rmr->lock is held.
 *
 * The invalidation goes first, for the sake of DAT_QUIRK_INVALIDATE_FIRST. With
 * nothing to invalidate such a device is given the dead key of the window that
 * is to be bound; others would not like that.
 */
static DAT_RETURN post_bind(struct dat_rmr *rmr, struct dat_ep *ep,
			    unsigned int new, unsigned int old,
			    DAT_MEM_PRIV_FLAGS privileges,
			    DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	bool inv_first = dat_dev_quirks(rmr->pz->pd->device) &
			 DAT_QUIRK_INVALIDATE_FIRST;
	struct ib_reg_wr reg = { .wr.opcode = IB_WR_REG_MR };
	struct ib_send_wr inv = { .opcode = IB_WR_LOCAL_INV };
	/* Nothing is bound and nothing shall be: writes no byte to nowhere. */
	struct ib_rdma_wr nop = { .wr.opcode = IB_WR_RDMA_WRITE };
	struct ib_send_wr *last = &nop.wr, *first = &nop.wr;
	struct dat_post post = {
		.op = DAT_DTO_BIND_MW,
		.cookie = cookie,
		.flags = flags,
		.rmr = rmr,
		.bind = BIND(new, old),
	};

	if (new != DAT_RMR_NO_WINDOW) {
		reg.mr = rmr->windows[new].mr;
		reg.key = reg.mr->rkey;
		reg.access = window_access(privileges);
		first = &reg.wr;
		last = &reg.wr;
	}
	if (old != DAT_RMR_NO_WINDOW) {
		inv.ex.invalidate_rkey = rmr->windows[old].mr->rkey;
		first = &inv;
	} else if (new != DAT_RMR_NO_WINDOW && inv_first) {
		inv.ex.invalidate_rkey = rmr->windows[new].dead_key;
		first = &inv;
	}
	if (new != DAT_RMR_NO_WINDOW)
		inv.next = &reg.wr;
	else if (first == &inv)
		last = &inv;
	return dat_post_send_queue(ep, &post, first, last);
}

static DAT_RETURN rmr_bind(struct dat_rmr *rmr, struct dat_ep *ep,
			   struct dat_lmr *lmr, const DAT_LMR_TRIPLET *triplet,
			   DAT_MEM_PRIV_FLAGS privileges,
			   DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			   DAT_RMR_CONTEXT *context)
{
	unsigned int new = DAT_RMR_NO_WINDOW, old = rmr->current_window;
	bool flushed = READ_ONCE(ep->qp_failed);
	struct dat_window *w = NULL;
	DAT_RETURN ret;

	/* Only one send queue puts this bind behind the one before. */
	if (rmr->outstanding && rmr->bind_ep != ep)
		return no_window();
	/* A QP in the error state does nothing, so no window is touched. */
	if (flushed) {
		*context = 0;
		lmr = NULL;
		old = DAT_RMR_NO_WINDOW;
	}
	if (lmr) {
		new = rmr_idle_window(rmr);
		if (new == DAT_RMR_NO_WINDOW)
			return no_window();
		w = &rmr->windows[new];
		if (!dat_object_use(&lmr->obj))
			return DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG2);
		if (dat_lmr_map_mr(lmr, w->mr, triplet->virtual_address,
				   triplet->segment_length)) {
			ret = no_window();
			goto unuse;
		}
	}

	ret = post_bind(rmr, ep, new, old, privileges, cookie, flags);
	if (ret)
		goto unuse;

	if (!rmr->outstanding++) {
		kref_get(&ep->obj.ref);
		rmr->bind_ep = ep;
	}
	kref_get(&rmr->obj.ref);
	if (flushed)
		return DAT_SUCCESS;
	if (old != DAT_RMR_NO_WINDOW)
		rmr->windows[old].state = DAT_WINDOW_UNBINDING;
	if (w) {
		kref_get(&lmr->obj.ref);
		w->lmr = lmr;
		w->triplet = *triplet;
		w->privileges = privileges & DAT_MEM_PRIV_REMOTE_FLAGS;
		w->state = DAT_WINDOW_BINDING;
		w->dead_key = w->mr->rkey;
		*context = w->mr->rkey;
	}
	rmr->current_window = new;
	return DAT_SUCCESS;

unuse:
	if (w)
		dat_object_unuse(&lmr->obj);
	return ret;
}

static DAT_RETURN try_bind(struct dat_rmr *rmr, struct dat_ep *ep,
			   struct dat_lmr *lmr, const DAT_LMR_TRIPLET *triplet,
			   DAT_MEM_PRIV_FLAGS privileges,
			   DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			   DAT_RMR_CONTEXT *context)
{
	DAT_RETURN ret;

	spin_lock_bh(&rmr->lock);
	/* A freed RMR has been claimed; it may have no MRs any more. */
	if (atomic_read(&rmr->obj.users) < 0)
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	else if (rmr->obj.is_down)
		ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	else
		ret = rmr_bind(rmr, ep, lmr, triplet, privileges, cookie,
			       flags, context);
	spin_unlock_bh(&rmr->lock);
	return ret;
}

/**
 * dat_rmr_bind - open a part of an LMR to peers
 * @rmr_handle: the RMR
 * @lmr_triplet: the part; a segment_length of 0 unbinds the RMR
 * @mem_privileges: DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
 *	the local flags have no effect
 * @ep_handle: the EP to post it on, CONNECTED or DISCONNECTED
 * @user_cookie: comes back in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG,
 *	DAT_COMPLETION_UNSIGNALLED_FLAG (if the EP has it in its request
 *	completion flags), DAT_COMPLETION_BARRIER_FENCE_FLAG
 * @rmr_context: out: the new context, undefined after an unbind
 *
 * Posts the bind; its completion is an event on the EP's request EVD, after
 * which the former context is dead. What is posted on the EP after it does not
 * start before it has completed.
 *
 * On a DISCONNECTED EP the bind is flushed at once and changes nothing. If one
 * fails that was posted before the connection broke, the RMR is bound to
 * nothing and its former context is dead as well.
 *
 * An RMR has two windows. One bind can be under way behind another, if both go
 * to the same EP; a further one finds no window until the device has carried
 * out the first.
 *
 * Specification: dat_rmr_bind().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: the
 * range is not within an LMR), DAT_INVALID_STATE, DAT_PRIVILEGES_VIOLATION,
 * DAT_PROTECTION_VIOLATION (RMR, LMR and EP are not in the same PZ),
 * DAT_INSUFFICIENT_RESOURCES (the send queue is full, or both windows busy).
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges,
			DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	struct dat_object *rmr_obj, *ep_obj;
	struct dat_lmr *lmr = NULL;
	struct dat_rmr *rmr;
	struct dat_ep *ep;
	DAT_RETURN ret;

	if (!lmr_triplet)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (mem_privileges & ~DAT_MEM_PRIV_ALL_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (completion_flags & ~BIND_FLAGS)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!rmr_context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);

	rcu_read_lock();
	rmr_obj = dat_object_peek(rmr_handle, DAT_HANDLE_TYPE_RMR);
	if (!rmr_obj) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
		goto unlock_rcu;
	}
	ep_obj = dat_object_peek(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!ep_obj) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		goto unlock_rcu;
	}
	rmr = to_rmr(rmr_obj);
	ep = to_ep(ep_obj);
	ret = dat_post_check_state(ep);
	if (ret)
		goto unlock_rcu;
	if (ep->pz != rmr->pz) {
		ret = DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
		goto unlock_rcu;
	}
	if (lmr_triplet->segment_length) {
		ret = find_lmr(rmr, lmr_triplet, mem_privileges, &lmr);
		if (ret)
			goto unlock_rcu;
	}

	ret = try_bind(rmr, ep, lmr, lmr_triplet, mem_privileges, user_cookie,
		       completion_flags, rmr_context);
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
		/* What was posted before may be done, and nobody have looked. */
		dat_ep_collect(ep);
		ret = try_bind(rmr, ep, lmr, lmr_triplet, mem_privileges,
			       user_cookie, completion_flags, rmr_context);
	}
unlock_rcu:
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rmr_bind);

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_bind.c - binds an RMR to a part of an LMR
 *
 * A bind invalidates the open window and registers the idle one, both on the EP's send
 * queue. Requests posted later start later, so a peer that learns the new context from a
 * Send finds the window open. Consumers bind in process or softirq context. The lock of
 * rmr->pair guards the windows.
 */
#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/lmr.h"
#include "mem/pz.h"
#include "mem/rmr.h"
#include "queue/evd.h"

#define BIND_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

#define PRIV_FLAGS	(DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/**
 * struct bind - arguments of a bind
 * @lmr: the LMR; DAT_HANDLE_NULL for the LMR that the triplet names
 * @triplet: the part of the LMR; segment_length 0 to unbind
 * @privileges: permitted accesses of peers
 * @va_type: how peers address the window, DAT_VA_TYPE_*
 * @cookie: reported in the event
 * @flags: completion flags, DAT_COMPLETION_*
 */
struct bind {
	DAT_LMR_HANDLE lmr;
	const DAT_LMR_TRIPLET *triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_VA_TYPE va_type;
	DAT_RMR_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
};

static int window_access(DAT_MEM_PRIV_FLAGS privileges)
{
	return dat_lmr_access(privileges & DAT_MEM_PRIV_REMOTE_FLAGS);
}

/* A window may permit a peer only what the LMR permits locally: always to read. */
static DAT_RETURN check_privileges(const struct dat_lmr *lmr,
				   DAT_MEM_PRIV_FLAGS privileges)
{
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
	    !(lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 DAT_PRIVILEGES_RDMA_WRITE);
	return DAT_SUCCESS;
}

static DAT_RETURN find_lmr(struct dat_rmr *rmr, const struct dat_ep *ep,
			   const struct bind *bind, struct dat_lmr **lmrp)
{
	struct dat_ia *ia = rmr->obj.ia;
	struct dat_lmr *lmr;

	if (bind->lmr && !dat_object_lookup(bind->lmr, DAT_HANDLE_TYPE_LMR))
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	lmr = dat_lmr_find_range(ia, rmr->pz, bind->triplet);
	if (!lmr && READ_ONCE(ia->unplugged))
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	if (!lmr && dat_lmr_find_range(ia, NULL, bind->triplet))
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (!lmr || (bind->lmr && bind->lmr != lmr->obj.handle))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (bind->privileges & DAT_IB_MEM_PRIV_REMOTE_ATOMIC && !ep->has_atomics)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	*lmrp = lmr;
	return check_privileges(lmr, bind->privileges);
}

/*
 * Posts the bind @new, the unbind @old, or both. rmr->pair.lock is held.
 *
 * The invalidation precedes the registration, for DAT_QUIRK_INVALIDATE_FIRST. If there is
 * nothing to invalidate, such a device gets the dead key of the window to be bound. Other
 * devices would fail such an invalidation.
 */
static DAT_RETURN post_bind(struct dat_rmr *rmr, struct dat_ep *ep,
			    unsigned int new, unsigned int old,
			    const struct bind *bind)
{
	bool inv_first = dat_dev_quirks(rmr->pz->pd->device) &
			 DAT_QUIRK_INVALIDATE_FIRST;
	struct ib_reg_wr reg = { .wr.opcode = IB_WR_REG_MR };
	struct ib_send_wr inv = { .opcode = IB_WR_LOCAL_INV };
	/* Unbinding an unbound RMR: a zero-length Write is a NOP with a completion. */
	struct ib_rdma_wr nop = { .wr.opcode = IB_WR_RDMA_WRITE };
	struct ib_send_wr *last = &nop.wr, *first = &nop.wr;
	struct dat_post post = {
		.op = DAT_DTO_BIND_MW,
		.cookie = bind->cookie,
		.flags = bind->flags,
		.rmr = rmr,
		.bind = DAT_BIND(new, old),
	};

	if (new != DAT_FRMR_NONE) {
		reg.mr = rmr->windows[new].frmr.mr;
		reg.key = reg.mr->rkey;
		reg.access = window_access(bind->privileges);
		first = &reg.wr;
		last = &reg.wr;
	}
	if (old != DAT_FRMR_NONE) {
		inv.ex.invalidate_rkey = rmr->windows[old].frmr.mr->rkey;
		first = &inv;
	} else if (new != DAT_FRMR_NONE && inv_first) {
		inv.ex.invalidate_rkey = rmr->windows[new].frmr.dead_key;
		first = &inv;
	}
	if (new != DAT_FRMR_NONE)
		inv.next = &reg.wr;
	else if (first == &inv)
		last = &inv;
	return dat_post_send_queue(ep, &post, first, last);
}

/* A fast registration may have been invalidated since the look-up of the LMR. */
static bool use_lmr(struct dat_lmr *lmr, const DAT_LMR_TRIPLET *triplet)
{
	if (!dat_object_use_get(&lmr->obj))
		return false;
	/* Pairs with show_memory(), which publishes the memory of a new registration. */
	if (smp_load_acquire(&lmr->lkey) == triplet->lmr_context &&
	    dat_lmr_covers(lmr, triplet->virtual_address,
			   triplet->segment_length))
		return true;
	dat_object_use_put(&lmr->obj);
	return false;
}

/* The scope of an RMR ends with the connection of the EP that it is bound on. */
static bool is_bound_elsewhere(const struct dat_rmr *rmr,
			       const struct dat_ep *ep)
{
	struct dat_object *obj;

	if (rmr->scope != DAT_RMR_SCOPE_EP || rmr->scope_ep == ep->obj.handle ||
	    rmr->pair.current_frmr == DAT_FRMR_NONE)
		return false;
	obj = dat_object_lookup(rmr->scope_ep, DAT_HANDLE_TYPE_EP);
	return obj && dat_ep_state(to_ep(obj)) == DAT_EP_STATE_CONNECTED;
}

/* The address by which peers access the first byte of the window. */
static u64 window_address(const struct bind *bind)
{
	return bind->va_type == DAT_VA_TYPE_ZB ? 0 :
						 bind->triplet->virtual_address;
}

static DAT_RETURN map_window(struct dat_rmr *rmr, struct dat_window *w,
			     const struct dat_lmr *lmr, const struct bind *bind)
{
	u64 iova = window_address(bind);
	DAT_RETURN ret;

	ret = dat_window_make_room(rmr, w, iova, bind->triplet->segment_length);
	if (unlikely(ret))
		return ret;
	switch (dat_window_map(w, lmr, bind->triplet, iova)) {
	case 0:
		return DAT_SUCCESS;
	case -E2BIG:
	case -EINVAL:
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return dat_no_mr();
	}
}

static DAT_RETURN rmr_bind(struct dat_rmr *rmr, struct dat_ep *ep,
			   struct dat_lmr *lmr, const struct bind *bind,
			   DAT_RMR_CONTEXT *context)
{
	unsigned int new = DAT_FRMR_NONE, old = rmr->pair.current_frmr;
	bool flushed = READ_ONCE(ep->qp_failed);
	struct dat_window *w = NULL;
	DAT_RETURN ret;

	if (unlikely(is_bound_elsewhere(rmr, ep)))
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	/* Only on the same send queue is this bind ordered behind the previous one. */
	if (rmr->windows[0].frmr.ep && rmr->windows[0].frmr.ep != &ep->obj)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	/* A QP in the error state executes nothing, so the windows remain. */
	if (flushed) {
		*context = 0;
		lmr = NULL;
		old = DAT_FRMR_NONE;
	}
	if (lmr) {
		new = dat_frmr_idle(&rmr->pair);
		if (new == DAT_FRMR_NONE)
			return dat_no_mr();
		w = &rmr->windows[new];
		if (!use_lmr(lmr, bind->triplet))
			return DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG2);
		ret = map_window(rmr, w, lmr, bind);
		if (ret)
			goto unuse;
	}

	ret = post_bind(rmr, ep, new, old, bind);
	if (ret)
		goto unuse;

	dat_frmr_posted(&rmr->pair, &rmr->windows[0].frmr, &ep->obj);
	if (flushed)
		return DAT_SUCCESS;
	if (old != DAT_FRMR_NONE)
		rmr->windows[old].frmr.state = DAT_FRMR_INVALIDATING;
	if (w) {
		kref_get(&lmr->obj.ref);
		w->lmr = lmr;
		w->triplet = *bind->triplet;
		w->address = window_address(bind);
		/* A window of a zero-based LMR is always zero-based for peers. */
		w->va_type = bind->va_type == DAT_VA_TYPE_ZB ? DAT_VA_TYPE_ZB :
							       lmr->va_type;
		w->privileges = bind->privileges & DAT_MEM_PRIV_REMOTE_FLAGS;
		w->frmr.state = DAT_FRMR_POSTED;
		w->frmr.dead_key = w->frmr.mr->rkey;
		*context = w->frmr.mr->rkey;
	}
	rmr->pair.current_frmr = new;
	rmr->scope_ep = ep->obj.handle;
	return DAT_SUCCESS;

unuse:
	if (w)
		dat_object_use_put(&lmr->obj);
	return ret;
}

static DAT_RETURN try_bind(struct dat_rmr *rmr, struct dat_ep *ep,
			   struct dat_lmr *lmr, const struct bind *bind,
			   DAT_RMR_CONTEXT *context)
{
	DAT_RETURN ret;

	spin_lock_bh(&rmr->pair.lock);
	/* A freed RMR has been claimed; its MRs may be destroyed. */
	if (atomic_read(&rmr->obj.users) < 0)
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	else if (rmr->obj.is_down)
		ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	else
		ret = rmr_bind(rmr, ep, lmr, bind, context);
	spin_unlock_bh(&rmr->pair.lock);
	return ret;
}

/* Looks up EP and LMR, and binds. In an RCU read-side section. */
static DAT_RETURN bind_peeked(struct dat_rmr *rmr, DAT_EP_HANDLE ep_handle,
			      const struct bind *bind, DAT_RMR_CONTEXT *context)
{
	struct dat_lmr *lmr = NULL;
	struct dat_object *ep_obj;
	struct dat_ep *ep;
	DAT_RETURN ret;

	ep_obj = dat_object_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!ep_obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ep = to_ep(ep_obj);
	ret = dat_post_check_state(ep);
	if (ret)
		return ret;
	if (ep->pz != rmr->pz)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (bind->triplet->segment_length) {
		ret = find_lmr(rmr, ep, bind, &lmr);
		if (ret)
			return ret;
	}

	ret = try_bind(rmr, ep, lmr, bind, context);
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
		/* Earlier requests may have completed: process their completions. */
		dat_ep_collect(ep);
		ret = try_bind(rmr, ep, lmr, bind, context);
	}
	return ret;
}

static DAT_RETURN do_bind(DAT_RMR_HANDLE rmr_handle, DAT_EP_HANDLE ep_handle,
			  const struct bind *bind, DAT_RMR_CONTEXT *context)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	if (!bind->triplet)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (bind->privileges & ~PRIV_FLAGS ||
	    !dat_lmr_priv_agree(bind->privileges))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (bind->flags & ~BIND_FLAGS)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);

	rcu_read_lock();
	obj = dat_object_lookup(rmr_handle, DAT_HANDLE_TYPE_RMR);
	ret = obj ? bind_peeked(to_rmr(obj), ep_handle, bind, context) :
		    DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	rcu_read_unlock();
	return ret;
}

/*
 * Converts argument numbers of the call of DAT 1.2 to those of DAT 2.0, which has one
 * more argument before the triplet, and another before the EP.
 */
static DAT_RETURN later_argument(DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER)
		return ret;
	return ret + (DAT_GET_SUBTYPE(ret) <= DAT_INVALID_ARG3 ? 1 : 2);
}

/**
 * kdapl_rmr_bind - bind an RMR to a part of an LMR
 * @rmr_handle: the RMR
 * @lmr_handle: the LMR that @lmr_triplet names; ignored by an unbind
 * @lmr_triplet: the part; a segment_length of 0 unbinds the RMR
 * @mem_privileges: DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
 *	the local flags have no effect
 * @va_type: DAT_VA_TYPE_VA: peers use the addresses of triplets; DAT_VA_TYPE_ZB:
 *	peers use offsets from the first byte, which must begin a page
 * @ep_handle: the EP to post on, CONNECTED or DISCONNECTED
 * @user_cookie: reported in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG,
 *	DAT_COMPLETION_UNSIGNALLED_FLAG (if the EP has it in its request
 *	completion flags), DAT_COMPLETION_BARRIER_FENCE_FLAG
 * @rmr_context: out: the new context, undefined after an unbind
 *
 * Posts the bind. Its completion is an event on the EP's request EVD. After the event the
 * previous context is invalid for good. Requests posted later on the EP start after the
 * bind has completed. A bind or unbind of the destination of an earlier
 * dat_ep_post_rdma_read_to_rmr() needs DAT_COMPLETION_BARRIER_FENCE_FLAG. Without the
 * flag the window may close before the data arrive, and the read fails.
 *
 * On a DISCONNECTED EP the bind is flushed at once and changes nothing. If a bind fails
 * that was posted before the connection broke, the RMR is unbound. A work item then
 * replaces the MRs of both windows. Until it has, a peer on another connection of the PZ
 * may be able to use the previous context.
 *
 * An RMR has two windows. One bind can be outstanding behind another, if both are posted
 * on the same EP. A third bind finds no window until the device has executed the first.
 * A bind also finds no window while its contexts are yet to be renewed, see
 * dat_rmr_renew().
 *
 * In DAT 1.2 the call has neither @lmr_handle nor @va_type: with seven arguments
 * it is dat_rmr_bind_1_2(). Specification: dat_rmr_bind(), DAT 2.0.
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (also: the
 * range is not within that LMR), DAT_INVALID_STATE, DAT_PRIVILEGES_VIOLATION,
 * DAT_PROTECTION_VIOLATION (RMR, LMR and EP are not in the same PZ, or the RMR
 * is of dat_rmr_create_for_ep() and bound on another EP that is connected),
 * DAT_INSUFFICIENT_RESOURCES (the send queue is full, or both windows busy),
 * DAT_MODEL_NOT_SUPPORTED (DAT_VA_TYPE_ZB in the middle of a page),
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			  DAT_LMR_HANDLE lmr_handle,
			  const DAT_LMR_TRIPLET *lmr_triplet,
			  DAT_MEM_PRIV_FLAGS mem_privileges,
			  DAT_VA_TYPE va_type,
			  DAT_EP_HANDLE ep_handle,
			  DAT_RMR_COOKIE user_cookie,
			  DAT_COMPLETION_FLAGS completion_flags,
			  DAT_RMR_CONTEXT *rmr_context)
{
	const struct bind bind = {
		.lmr = lmr_handle,
		.triplet = lmr_triplet,
		.privileges = mem_privileges,
		.va_type = va_type,
		.cookie = user_cookie,
		.flags = completion_flags,
	};

	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!lmr_handle && lmr_triplet && lmr_triplet->segment_length)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	return later_argument(do_bind(rmr_handle, ep_handle, &bind,
				      rmr_context));
}

/**
 * kdapl_rmr_bind_1_2 - bind an RMR with the arguments of DAT 1.2
 * @rmr_handle: the RMR
 * @lmr_triplet: the part of the LMR that its lmr_context names
 * @mem_privileges: as for dat_rmr_bind()
 * @ep_handle: the EP to post on, as for dat_rmr_bind()
 * @user_cookie: reported in the completion event
 * @completion_flags: as for dat_rmr_bind()
 * @rmr_context: out: the new context, undefined after an unbind
 *
 * Consumers call this function as dat_rmr_bind(). Peers use the addresses of triplets. A
 * foreign provider gets DAT_HANDLE_NULL for the LMR. Specification: dat_rmr_bind(),
 * DAT 1.2.
 *
 * Context: process or softirq; does not sleep.
 * Return: as dat_rmr_bind().
 */
DAT_RETURN kdapl_rmr_bind_1_2(DAT_RMR_HANDLE rmr_handle,
			      const DAT_LMR_TRIPLET *lmr_triplet,
			      DAT_MEM_PRIV_FLAGS mem_privileges,
			      DAT_EP_HANDLE ep_handle,
			      DAT_RMR_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags,
			      DAT_RMR_CONTEXT *rmr_context)
{
	const struct bind bind = {
		.lmr = DAT_HANDLE_NULL,
		.triplet = lmr_triplet,
		.privileges = mem_privileges,
		.va_type = DAT_VA_TYPE_VA,
		.cookie = user_cookie,
		.flags = completion_flags,
	};

	return do_bind(rmr_handle, ep_handle, &bind, rmr_context);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr.c - creates, looks up, queries and frees remote memory regions
 *
 * Implements dat_rmr_create(), dat_rmr_query(), dat_rmr_renew() and dat_rmr_free().
 * frmr.c owns the MRs of an RMR and calls this file when it replaces one, in process
 * context. rmr_window.c changes the state of the windows.
 *
 * Each open IA has its own table of RMRs, as it has of LMRs. Both keys of an MR have
 * one index, so the table of LMRs also serves their rmr_contexts. DTOs and completions
 * look up the memory that an rmr_context opens to peers, in any context.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/fmr.h"
#include "mem/lmr.h"
#include "mem/pz.h"
#include "mem/rmr.h"

static DECLARE_WAIT_QUEUE_HEAD(repair_wq);

/* 256 KiB in pages of 4 KiB, at any offset */
#define FEW_PAGES	66

/**
 * dat_rmr_wait_for_repair - wait until no broken window shows an LMR
 * @lmr: the LMR
 *
 * dat_lmr_free() must not fail because of a bind that failed.
 *
 * Context: process, sleeps.
 */
void dat_rmr_wait_for_repair(struct dat_lmr *lmr)
{
	wait_event(repair_wq, !atomic_read(&lmr->broken));
}

static int rmr_insert_mr(struct dat_object *obj, const struct ib_mr *mr)
{
	return xa_insert_bh(&obj->ia->rmrs, dat_key_index(mr->rkey), to_rmr(obj),
			    GFP_KERNEL_ACCOUNT);
}

static void rmr_remove_mr(struct dat_object *obj, const struct ib_mr *mr)
{
	xa_erase_bh(&obj->ia->rmrs, dat_key_index(mr->rkey));
}

/* Only the caller uses the window, which has no MR any more. */
static void window_release(struct dat_frmr_pair *pair, struct dat_frmr *frmr)
{
	struct dat_window *w = container_of(frmr, struct dat_window, frmr);
	struct dat_lmr *lmr = w->lmr;
	bool broken = lmr && frmr->state == DAT_FRMR_BROKEN;

	if (broken)
		kref_get(&lmr->obj.ref);
	dat_window_clear(w);
	if (broken) {
		if (atomic_dec_and_test(&lmr->broken))
			wake_up_all(&repair_wq);
		dat_object_put(&lmr->obj);
	}
}

static const struct dat_frmr_ops rmr_frmr_ops = {
	.insert_mr = rmr_insert_mr,
	.remove_mr = rmr_remove_mr,
	.release = window_release,
};

static void rmr_shutdown(struct dat_object *obj)
{
	struct dat_rmr *rmr = to_rmr(obj);

	dat_frmr_stop(&rmr->pair);
	spin_lock_bh(&rmr->pair.lock);
	rmr->pair.current_frmr = DAT_FRMR_NONE;
	spin_unlock_bh(&rmr->pair.lock);
	dat_frmr_destroy(&rmr->pair);
	dat_object_use_put(&rmr->pz->obj);
}

static void rmr_release(struct dat_object *obj)
{
	struct dat_rmr *rmr = to_rmr(obj);

	dat_object_put(&rmr->pz->obj);
	kfree(rmr);
}

static const struct dat_object_ops rmr_ops = {
	.shutdown = rmr_shutdown,
	.release = rmr_release,
};

/*
 * A bind may not sleep to allocate an MR. A consumer that can sleep between two attempts
 * sets @renews, and gets no more than it binds.
 */
static void init_pair(struct dat_rmr *rmr)
{
	const struct dat_account *account = rmr->obj.owner->account;
	struct ib_pd *pd = rmr->pz->pd;

	rmr->pair = (struct dat_frmr_pair){
		.obj = &rmr->obj,
		.ops = &rmr_frmr_ops,
		.pd = pd,
		.renews = account && account->ops->renews,
		.list_len = dat_dev_max_pages(pd->device),
		.frmr = { &rmr->windows[0].frmr, &rmr->windows[1].frmr },
	};
	if (rmr->pair.renews)
		rmr->pair.list_len = min_t(u32, rmr->pair.list_len, FEW_PAGES);
	dat_frmr_init(&rmr->pair);
}

static DAT_RETURN rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_SCOPE scope,
			     DAT_RMR_HANDLE *rmr_handle)
{
	struct dat_object *pz_obj;
	struct dat_rmr *rmr;
	DAT_RETURN ret;

	if (!rmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pz_obj = dat_object_get_live(pz_handle, DAT_HANDLE_TYPE_PZ,
				     DAT_INVALID_HANDLE_PZ, &ret);
	if (!pz_obj)
		return ret;
	if (!dat_object_use_get(pz_obj)) {
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
		goto leave;
	}

	rmr = kzalloc(sizeof(*rmr), GFP_KERNEL_ACCOUNT);
	if (!rmr) {
		dat_object_use_put(pz_obj);
		ret = dat_no_memory();
		goto leave;
	}
	dat_object_init(&rmr->obj, DAT_HANDLE_TYPE_RMR, pz_obj->owner, &rmr_ops);
	kref_get(&pz_obj->ref);
	rmr->pz = to_pz(pz_obj);
	rmr->scope = scope;
	init_pair(rmr);
	ret = dat_frmr_create(&rmr->pair, sizeof(*rmr) + DAT_BYTES_HANDLE) ?:
	      dat_object_publish(&rmr->obj);
	if (ret) {
		dat_object_shutdown(&rmr->obj);
		dat_object_put(&rmr->obj);
		goto leave;
	}
	*rmr_handle = rmr->obj.handle;
leave:
	dat_object_put_live(pz_obj);
	return ret;
}

/**
 * kdapl_rmr_create - create an RMR that is not bound
 * @pz_handle: its PZ
 * @rmr_handle: out: the handle
 *
 * Specification: dat_rmr_create().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_rmr_create(DAT_PZ_HANDLE pz_handle,
			    DAT_RMR_HANDLE *rmr_handle)
{
	might_sleep();
	return rmr_create(pz_handle, DAT_RMR_SCOPE_PZ, rmr_handle);
}

/**
 * kdapl_rmr_create_for_ep - create an RMR that is bound on one EP at a time
 * @pz_handle: its PZ
 * @rmr_handle: out: the handle
 *
 * While the RMR is bound on a connected EP, no other EP can bind or unbind it. Verbs
 * have no memory window for kernel consumers that belongs to a connection, so the
 * device checks peers as for any RMR: by its PZ. A consumer whose peers might use each
 * other's contexts needs a separate PZ for each EP.
 *
 * Specification: dat_rmr_create_for_ep(), DAT 2.0.
 *
 * Context: process, may sleep.
 * Return: as dat_rmr_create().
 */
DAT_RETURN kdapl_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
				   DAT_RMR_HANDLE *rmr_handle)
{
	might_sleep();
	return rmr_create(pz_handle, DAT_RMR_SCOPE_EP, rmr_handle);
}

/**
 * kdapl_rmr_query - report the parameters of an RMR
 * @rmr_handle: the RMR
 * @rmr_param_mask: DAT_RMR_FIELD_*; all parameters are filled in
 * @rmr_param: out: the parameters; segment_length is 0 if the RMR is not bound
 *
 * Specification: dat_rmr_query().
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdapl_rmr_query(DAT_RMR_HANDLE rmr_handle,
			   DAT_RMR_PARAM_MASK rmr_param_mask,
			   DAT_RMR_PARAM *rmr_param)
{
	struct dat_object *obj;
	struct dat_window *w;
	struct dat_rmr *rmr;

	if (rmr_param_mask & ~DAT_RMR_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!rmr_param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get(rmr_handle, DAT_HANDLE_TYPE_RMR);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);

	rmr = to_rmr(obj);
	*rmr_param = (struct dat_rmr_param){
		.ia_handle = obj->ia->obj.handle,
		.pz_handle = rmr->pz->obj.handle,
		.rmr_scope = rmr->scope,
		.va_type = DAT_VA_TYPE_VA,
	};
	spin_lock_bh(&rmr->pair.lock);
	w = dat_rmr_window(rmr);
	if (w) {
		rmr_param->lmr_triplet = w->triplet;
		rmr_param->va_type = w->va_type;
		rmr_param->mem_priv = w->privileges;
		rmr_param->rmr_context = w->frmr.mr->rkey;
	}
	spin_unlock_bh(&rmr->pair.lock);
	dat_object_put(obj);
	return DAT_SUCCESS;
}

/**
 * dat_rmr_renew - wait for the MRs that the next bind of an RMR needs
 * @rmr_handle: the RMR
 *
 * A context is never used twice, so kdapl replaces the MRs of an RMR after some
 * hundreds of binds. dat_rmr_bind() cannot sleep: if binds follow each other too fast,
 * it returns DAT_INSUFFICIENT_RESOURCES with DAT_RESOURCE_MEMORY_REGION. After this
 * call it does so only if two binds are outstanding, or if there is no memory. The call
 * does not wait for outstanding binds. No specification has this call.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_rmr_renew(DAT_RMR_HANDLE rmr_handle)
{
	struct dat_object *obj;

	might_sleep();
	obj = dat_object_get(rmr_handle, DAT_HANDLE_TYPE_RMR);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	flush_work(&to_rmr(obj)->pair.repair_work);
	dat_object_put(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_rmr_renew);

/**
 * kdapl_rmr_free - free an RMR
 * @rmr_handle: the RMR, bound or not
 *
 * After the call returns, no context that the RMR ever had permits access. The call
 * waits for outstanding binds. If a bind does not complete within seconds, because the
 * peer does not answer, the call breaks its connection. Specification: dat_rmr_free().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdapl_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	might_sleep();
	return dat_object_free(rmr_handle, DAT_HANDLE_TYPE_RMR,
			       DAT_INVALID_HANDLE_RMR, DAT_NO_SUBTYPE);
}

static struct dat_lmr *find_lmr(struct dat_ia *ia, DAT_RMR_CONTEXT context)
{
	struct dat_lmr *lmr = xa_load(&ia->lmrs, dat_key_index(context));

	return lmr && READ_ONCE(lmr->rkey) == context ? lmr : NULL;
}

static struct dat_rmr *find_rmr(struct dat_ia *ia, DAT_RMR_CONTEXT context)
{
	return xa_load(&ia->rmrs, dat_key_index(context));
}

/**
 * dat_context_revoked - process the invalidation of a context by a peer
 * @ia: the IA
 * @context: the rmr_context of an LMR or an RMR
 *
 * Context: any.
 */
void dat_context_revoked(struct dat_ia *ia, DAT_RMR_CONTEXT context)
{
	struct dat_lmr *lmr;
	struct dat_rmr *rmr;

	rcu_read_lock();
	lmr = find_lmr(ia, context);
	rmr = find_rmr(ia, context);
	if (rmr)
		dat_rmr_revoke(rmr, context);
	else if (lmr && lmr->fmr)
		dat_fmr_revoke(lmr, context);
	else if (lmr)
		/*
		 * The device rejects its lmr_context from now on, like the rmr_context.
		 */
		dat_lmr_remove_key(lmr, lmr->lkey);
	rcu_read_unlock();
}

/* Do not add the address and the length: the sum may overflow. */
static bool window_covers(const struct dat_window *w,
			  const DAT_RMR_TRIPLET *triplet)
{
	u64 offset = triplet->virtual_address - w->address;
	u64 length = w->triplet.segment_length;

	return triplet->virtual_address >= w->address && offset <= length &&
	       triplet->segment_length <= length - offset;
}

/* Is the range within the open window? */
static DAT_RETURN check_rmr(struct dat_rmr *rmr, const DAT_RMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS privilege, u32 *lkey)
{
	struct dat_window *w;
	DAT_RETURN ret;

	spin_lock_bh(&rmr->pair.lock);
	w = dat_rmr_window(rmr);
	if (rmr->obj.is_down || !w ||
	    w->frmr.dead_key != triplet->rmr_context) {
		ret = DAT_ERROR(DAT_PROTECTION_VIOLATION,
				DAT_PROTECTION_RDMA_WRITE);
	} else if (!window_covers(w, triplet)) {
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	} else if (!(w->privileges & privilege)) {
		ret = DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				DAT_PRIVILEGES_RDMA_WRITE);
	} else {
		*lkey = w->frmr.mr->lkey;
		ret = DAT_SUCCESS;
	}
	spin_unlock_bh(&rmr->pair.lock);
	return ret;
}

static DAT_RETURN check_lmr(const struct dat_lmr *lmr, const struct dat_pz *pz,
			    const DAT_RMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS privilege)
{
	if (lmr->pz != pz)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION,
				 DAT_PROTECTION_RDMA_WRITE);
	if (!dat_lmr_covers(lmr, triplet->virtual_address,
			    triplet->segment_length))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!(lmr->privileges & privilege))
		return DAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				 DAT_PRIVILEGES_RDMA_WRITE);
	return DAT_SUCCESS;
}

/**
 * dat_remote_check - may a DTO use memory that is open to peers?
 * @ia: the IA
 * @pz: PZ of the EP
 * @triplet: the memory; its context is that of an RMR, or of an LMR with remote
 *	privileges
 * @privilege: the privilege that the memory must have
 * @lkey: out: key for a work request
 *
 * Context: any; in an RCU read-side section.
 * Return: DAT_SUCCESS, DAT_PROTECTION_VIOLATION (the context belongs to no memory of
 * this PZ), DAT_INVALID_PARAMETER (outside), DAT_PRIVILEGES_VIOLATION.
 */
DAT_RETURN dat_remote_check(struct dat_ia *ia, const struct dat_pz *pz,
			    const DAT_RMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS privilege, u32 *lkey)
{
	struct dat_rmr *rmr = find_rmr(ia, triplet->rmr_context);
	struct dat_lmr *lmr;

	if (rmr && rmr->pz == pz)
		return check_rmr(rmr, triplet, privilege, lkey);
	lmr = find_lmr(ia, triplet->rmr_context);
	if (!lmr)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION,
				 DAT_PROTECTION_RDMA_WRITE);
	*lkey = lmr->lkey;
	return check_lmr(lmr, pz, triplet, privilege);
}

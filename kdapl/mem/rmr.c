// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr.c - creates, queries, repairs and frees remote memory regions
 *
 * Implements dat_rmr_create(), dat_rmr_query(), dat_rmr_renew() and dat_rmr_free().
 * Owns the MRs of an RMR: create, free and the repair work allocate and destroy them in
 * process context. rmr_window.c changes the state of the windows.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/account.h"
#include "base/calls.h"
#include "base/workqueue.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "mem/lmr.h"
#include "mem/pz.h"
#include "mem/rmr.h"

/**
 * dat_rmr_handle - return the handle of an RMR
 * @rmr: the RMR
 */
DAT_HANDLE dat_rmr_handle(const struct dat_rmr *rmr)
{
	return rmr->obj.handle;
}

static struct ib_mr *rmr_alloc_mr(struct dat_rmr *rmr)
{
	struct ib_mr *mr =
		dat_dev_alloc_mr(rmr->pz->pd,
				 dat_dev_max_pages(rmr->pz->pd->device));

	if (IS_ERR(mr) || !dat_rmr_insert_key(rmr, mr->rkey))
		return mr;
	ib_dereg_mr(mr);
	return ERR_PTR(-ENOMEM);
}

/*
 * Remove the key first: the next MR may receive the index once this MR is deregistered.
 */
static void rmr_free_mr(struct dat_rmr *rmr, struct ib_mr *mr)
{
	if (!mr)
		return;
	dat_rmr_remove_key(rmr, mr->rkey);
	dat_dev_dereg_mr(mr);
}

/* Free all MRs of a window. The caller has exclusive use of the window. */
static void window_free_mrs(struct dat_rmr *rmr, struct dat_window *w)
{
	rmr_free_mr(rmr, w->mr);
	rmr_free_mr(rmr, w->keys.spare);
	rmr_free_mr(rmr, w->keys.old);
	w->mr = NULL;
	memset(&w->keys, 0, sizeof(w->keys));
	w->shown.pages = 0;
}

/* Deregister the used-up MR, and allocate the next spare before it is needed. */
static void window_renew_spare(struct dat_rmr *rmr, struct dat_window *w)
{
	struct ib_mr *old = NULL, *spare;
	bool wanted;

	spin_lock_bh(&rmr->lock);
	swap(old, w->keys.old);
	wanted = dat_frmr_wants_spare(&w->keys);
	spin_unlock_bh(&rmr->lock);
	rmr_free_mr(rmr, old);
	if (!wanted)
		return;
	spare = rmr_alloc_mr(rmr);
	if (IS_ERR(spare))
		return;
	/* Only this work sets the spare. */
	spin_lock_bh(&rmr->lock);
	w->keys.spare = spare;
	spin_unlock_bh(&rmr->lock);
}

static DECLARE_WAIT_QUEUE_HEAD(repair_wq);

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

/* The window has no MR any more, so its LMR can be released. */
static void window_close(struct dat_window *w)
{
	struct dat_lmr *lmr = w->lmr;
	bool broken = lmr && w->state == DAT_WINDOW_BROKEN;

	if (broken)
		kref_get(&lmr->obj.ref);
	dat_window_clear(w);
	if (broken) {
		if (atomic_dec_and_test(&lmr->broken))
			wake_up_all(&repair_wq);
		dat_object_put(&lmr->obj);
	}
}

static void rmr_repair(struct work_struct *work)
{
	struct dat_rmr *rmr = container_of(work, struct dat_rmr, repair_work);
	unsigned int i;

	/* The device still exists: rmr_shutdown() waits for this work. */
	for (i = 0; i < DAT_RMR_WINDOWS; i++) {
		struct dat_window *w = &rmr->windows[i];
		struct ib_mr *mr;

		/* Only this work uses a broken window. */
		if (READ_ONCE(w->state) != DAT_WINDOW_BROKEN) {
			window_renew_spare(rmr, w);
			continue;
		}
		window_free_mrs(rmr, w);
		window_close(w);
		mr = rmr_alloc_mr(rmr);
		if (IS_ERR(mr))
			continue;
		spin_lock_bh(&rmr->lock);
		w->mr = mr;
		w->dead_key = mr->rkey;
		w->state = DAT_WINDOW_IDLE;
		spin_unlock_bh(&rmr->lock);
	}
	dat_object_put(&rmr->obj);
}

static unsigned int rmr_outstanding(struct dat_rmr *rmr,
				    struct dat_object **ep)
{
	unsigned int outstanding;

	spin_lock_bh(&rmr->lock);
	outstanding = rmr->outstanding;
	*ep = outstanding ? rmr->bind_ep : NULL;
	if (*ep)
		kref_get(&(*ep)->ref);
	spin_unlock_bh(&rmr->lock);
	return outstanding;
}

/*
 * An MR must not be destroyed while a queued work request names it. Binds complete by
 * themselves. If they do not, ops->progress() breaks their connection.
 */
static void rmr_wait_for_binds(struct dat_rmr *rmr)
{
	unsigned int waited;
	struct dat_object *ep;

	for (waited = 0; rmr_outstanding(rmr, &ep); waited++) {
		ep->ops->progress(ep, waited);
		dat_object_put(ep);
	}
}

static void rmr_shutdown(struct dat_object *obj)
{
	struct dat_rmr *rmr = to_rmr(obj);
	unsigned int i;

	/* Binds that hold the lock complete; later binds see is_down. */
	spin_lock_bh(&rmr->lock);
	spin_unlock_bh(&rmr->lock);
	rmr_wait_for_binds(rmr);
	if (cancel_work_sync(&rmr->repair_work))
		dat_object_put(obj);
	spin_lock_bh(&rmr->lock);
	rmr->current_window = DAT_RMR_NO_WINDOW;
	spin_unlock_bh(&rmr->lock);
	for (i = 0; i < DAT_RMR_WINDOWS; i++) {
		struct dat_window *w = &rmr->windows[i];

		window_free_mrs(rmr, w);
		window_close(w);
		w->state = DAT_WINDOW_BROKEN;
	}
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

static DAT_RETURN rmr_charge(struct dat_rmr *rmr)
{
	u32 pages = dat_dev_max_pages(rmr->pz->pd->device);

	if (!dat_object_charge(&rmr->obj,
			       sizeof(*rmr) + DAT_BYTES_HANDLE +
			       DAT_RMR_WINDOWS * DAT_FRMR_MRS *
			       dat_bytes_mr(pages)))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	if (!dat_object_charge_hca(&rmr->obj, DAT_HCA_OBJECT,
				   DAT_RMR_WINDOWS * DAT_FRMR_MRS))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY_REGION);
	return DAT_SUCCESS;
}

static DAT_RETURN rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_SCOPE scope,
			     DAT_RMR_HANDLE *rmr_handle)
{
	struct dat_object *pz_obj;
	struct dat_rmr *rmr;
	DAT_RETURN ret;
	unsigned int i;

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
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
		goto leave;
	}
	dat_object_init(&rmr->obj, DAT_HANDLE_TYPE_RMR, pz_obj->owner, &rmr_ops);
	kref_get(&pz_obj->ref);
	rmr->pz = to_pz(pz_obj);
	rmr->scope = scope;
	rmr->current_window = DAT_RMR_NO_WINDOW;
	spin_lock_init(&rmr->lock);
	INIT_WORK(&rmr->repair_work, rmr_repair);

	ret = rmr_charge(rmr);
	if (ret)
		goto down;
	for (i = 0; i < DAT_RMR_WINDOWS; i++) {
		struct ib_mr *mr = rmr_alloc_mr(rmr);

		if (IS_ERR(mr)) {
			ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					DAT_RESOURCE_MEMORY_REGION);
			goto down;
		}
		rmr->windows[i].mr = mr;
		rmr->windows[i].dead_key = mr->rkey;
	}
	ret = dat_object_publish(&rmr->obj);
	if (ret)
		goto down;
	*rmr_handle = rmr->obj.handle;
	goto leave;

down:
	dat_object_shutdown(&rmr->obj);
	dat_object_put(&rmr->obj);
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
	DAT_RETURN ret = rmr_create(pz_handle, DAT_RMR_SCOPE_PZ, rmr_handle);

	might_sleep();
	return ret;
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
	DAT_RETURN ret = rmr_create(pz_handle, DAT_RMR_SCOPE_EP, rmr_handle);

	might_sleep();
	return ret;
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
	spin_lock_bh(&rmr->lock);
	if (rmr->current_window != DAT_RMR_NO_WINDOW) {
		struct dat_window *w = &rmr->windows[rmr->current_window];

		rmr_param->lmr_triplet = w->triplet;
		rmr_param->va_type = w->va_type;
		rmr_param->mem_priv = w->privileges;
		rmr_param->rmr_context = w->mr->rkey;
	}
	spin_unlock_bh(&rmr->lock);
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
	flush_work(&to_rmr(obj)->repair_work);
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

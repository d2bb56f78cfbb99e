// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_find.c - looks up the memory that an rmr_context opens to peers
 *
 * Each open IA has its own table of RMRs, as it has of LMRs. Both keys of an MR have
 * one index, so the table of LMRs also serves their rmr_contexts. Create and free calls
 * change the table in process context; DTOs and completions look it up in any context.
 */
#include "dev/ia.h"
#include "mem/fmr.h"
#include "mem/lmr.h"
#include "mem/rmr.h"

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

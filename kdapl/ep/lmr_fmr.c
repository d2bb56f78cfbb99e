// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_fmr.c - posts fast registrations and invalidations of LMRs on an EP
 *
 * An LMR of dat_lmr_allocate() has two slots with one MR each, see mem/fmr.h. The lock of
 * their pair guards them. Consumers post in process or softirq context.
 */
#include "base/calls.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "ep/post.h"
#include "mem/fmr.h"
#include "mem/lmr.h"
#include "mem/pz.h"

#define FMR_FLAGS		(DAT_COMPLETION_SUPPRESS_FLAG | \
				 DAT_COMPLETION_UNSIGNALLED_FLAG | \
				 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define INVALIDATE_FLAGS	(FMR_FLAGS | \
				 DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

/* The QP only flushes: post a zero-length Write as a NOP, to generate a completion. */
static DAT_RETURN post_nop(struct dat_ep *ep, struct dat_post *post)
{
	struct ib_rdma_wr nop = { .wr.opcode = IB_WR_RDMA_WRITE };
	DAT_RETURN ret;

	post->bind = DAT_FRMR_NONE;
	ret = dat_post_send_queue(ep, post, &nop.wr, &nop.wr);
	if (!ret)
		kref_get(&post->lmr->obj.ref);
	return ret;
}

/*
 * With DAT_QUIRK_INVALIDATE_FIRST an invalidation of the dead key precedes the
 * registration.
 */
static DAT_RETURN post_fmr(struct dat_ep *ep, struct dat_post *post,
			   const struct dat_fmr_slot *slot, int access)
{
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = slot->frmr.mr,
		.key = slot->frmr.mr->rkey,
		.access = dat_dev_reg_access(slot->frmr.mr->device, access),
	};
	struct ib_send_wr inv = {
		.next = &reg.wr,
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = slot->frmr.dead_key,
	};
	bool inv_first = dat_dev_quirks(slot->frmr.mr->device) &
			 DAT_QUIRK_INVALIDATE_FIRST;

	return dat_post_send_queue(ep, post, inv_first ? &inv : &reg.wr,
				   &reg.wr);
}

/*
 * A verbs fence waits for RDMA reads, but not for other requests. A peer answers a read
 * after it has executed all earlier requests. So a fenced invalidation behind a
 * zero-length read waits for all of them. iWARP begins a request when the previous one no
 * longer uses the memory. Devices with DAT_QUIRK_INVALIDATE_FIRST fence all
 * invalidations. Both need no read. Where an invalidation ignores its fence, a fenced
 * write of 0 bytes stands between the read and the invalidation.
 */
static DAT_RETURN post_invalidate(struct dat_ep *ep, struct dat_post *post,
				  const struct dat_fmr_slot *slot)
{
	bool ignored = ep->no_fence & DAT_FENCE_INV;
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = slot->frmr.mr->rkey,
	};
	struct ib_rdma_wr write = {
		.wr.next = &inv,
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_FENCE,
	};
	static struct ib_sge nothing;
	struct ib_rdma_wr read = {
		.wr.next = ignored ? &write.wr : &inv,
		.wr.opcode = IB_WR_RDMA_READ,
		.wr.sg_list = &nothing,
		.wr.num_sge = ep->reads_one_sge,
	};
	bool fence = post->flags & DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	bool needs_read = fence && !ep->iwarp &&
			  (ignored || !(dat_dev_quirks(slot->frmr.mr->device) &
					DAT_QUIRK_INVALIDATE_FIRST));

	if (fence && ignored && ep->no_fence & DAT_FENCE_WRITE)
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (fence && !ignored)
		inv.send_flags = IB_SEND_FENCE;
	if (needs_read && !dat_ep_may_read(ep))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_CREDITS);
	return dat_post_send_queue(ep, post, needs_read ? &read.wr : &inv,
				   &inv);
}

static void show_memory(struct dat_fmr *fmr, unsigned int i,
			struct dat_fmr_memory *mem)
{
	struct dat_fmr_slot *slot = &fmr->slots[i];
	struct dat_lmr *lmr = &fmr->lmr;

	slot->frmr.state = DAT_FRMR_POSTED;
	slot->frmr.dead_key = slot->frmr.mr->rkey;
	fmr->pair.current_frmr = i;
	lmr->mem_type = mem->mem_type;
	lmr->region = *mem->region;
	lmr->address = mem->address;
	lmr->length = mem->length;
	lmr->region_length = mem->num_pages;
	lmr->va_type = mem->va_type;
	lmr->privileges = mem->privileges;
	lmr->sgt = slot->sgt;
	lmr->dma_dir = slot->dma_dir;
	lmr->pages = dat_lmr_new_pages();
	mem->lkey = slot->frmr.mr->lkey;
	mem->rkey = slot->frmr.mr->rkey;
	WRITE_ONCE(lmr->rkey, mem->rkey);
	/* A reader that sees the new lkey must see the memory; pairs with use_lmr(). */
	smp_store_release(&lmr->lkey, mem->lkey);
}

static DAT_RETURN in_use(void)
{
	return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
}

/* Registers @mem. fmr->pair.lock is held. */
static DAT_RETURN register_memory(struct dat_fmr *fmr, struct dat_ep *ep,
				  struct dat_fmr_memory *mem,
				  struct dat_post *post)
{
	struct dat_fmr_slot *slot;
	DAT_RETURN ret;

	/* Also refuse while RMRs are bound to the previous memory. */
	if (fmr->pair.current_frmr != DAT_FRMR_NONE ||
	    atomic_read(&fmr->lmr.obj.users) > 0)
		return in_use();
	if (READ_ONCE(ep->qp_failed))
		return post_nop(ep, post);
	post->bind = dat_fmr_idle(fmr);
	if (post->bind == DAT_FRMR_NONE)
		return dat_no_mr();
	slot = &fmr->slots[post->bind];
	ret = dat_fmr_map(fmr, slot, mem);
	if (ret)
		return ret;
	ret = post_fmr(ep, post, slot, dat_lmr_access(mem->privileges));
	if (ret) {
		dat_fmr_unmap(fmr, slot);
		return ret;
	}
	dat_frmr_posted(&fmr->pair, &slot->frmr, &ep->obj);
	show_memory(fmr, post->bind, mem);
	return DAT_SUCCESS;
}

/* Invalidates the registration. fmr->pair.lock is held. */
static DAT_RETURN invalidate_memory(struct dat_fmr *fmr, struct dat_ep *ep,
				    struct dat_post *post)
{
	struct dat_lmr *lmr = &fmr->lmr;
	struct dat_fmr_slot *slot;
	DAT_RETURN ret;
	u32 lkey = lmr->lkey;

	if (fmr->pair.current_frmr == DAT_FRMR_NONE)
		return DAT_ERROR(DAT_INVALID_STATE,
				 DAT_INVALID_STATE_LMR_FREE);
	slot = &fmr->slots[fmr->pair.current_frmr];
	/* Only on the same send queue is it ordered behind the registration. */
	if (atomic_read(&lmr->obj.users) > 0 ||
	    (slot->frmr.pending && slot->frmr.ep != &ep->obj))
		return in_use();
	if (READ_ONCE(ep->qp_failed))
		return post_nop(ep, post);

	WRITE_ONCE(lmr->lkey, 0);
	/* Either a bind sees lkey 0, or this function sees the use of the bind. */
	smp_mb();
	post->bind = fmr->pair.current_frmr;
	ret = atomic_read(&lmr->obj.users) > 0 ?
		      in_use() : post_invalidate(ep, post, slot);
	if (ret) {
		WRITE_ONCE(lmr->lkey, lkey);
		return ret;
	}
	dat_frmr_posted(&fmr->pair, &slot->frmr, &ep->obj);
	slot->frmr.state = DAT_FRMR_INVALIDATING;
	dat_fmr_forget(fmr);
	return DAT_SUCCESS;
}

/* Registers the LMR if @mem is not NULL, else invalidates it. */
static DAT_RETURN try_post(struct dat_lmr *lmr, struct dat_ep *ep,
			   struct dat_fmr_memory *mem, struct dat_post *post)
{
	DAT_RETURN ret;

	spin_lock_bh(&lmr->fmr->pair.lock);
	/* A freed LMR has been claimed; its MRs may be destroyed. */
	if (atomic_read(&lmr->obj.users) < 0)
		ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	else if (lmr->obj.is_down)
		ret = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	else if (mem)
		ret = register_memory(lmr->fmr, ep, mem, post);
	else
		ret = invalidate_memory(lmr->fmr, ep, post);
	spin_unlock_bh(&lmr->fmr->pair.lock);
	return ret;
}

static DAT_RETURN find_both(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
			    struct dat_lmr **lmrp, struct dat_ep **epp)
{
	struct dat_object *obj;

	obj = dat_object_lookup(lmr_handle, DAT_HANDLE_TYPE_LMR);
	if (!obj || !to_lmr(obj)->fmr)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	*lmrp = to_lmr(obj);
	obj = dat_object_lookup(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	*epp = to_ep(obj);
	if ((*epp)->pz != (*lmrp)->pz)
		return DAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	return dat_post_check_state(*epp);
}

static DAT_RETURN post_on_ep(DAT_LMR_HANDLE lmr_handle,
			     DAT_EP_HANDLE ep_handle,
			     struct dat_fmr_memory *mem, struct dat_post *post,
			     DAT_RETURN bad_flags)
{
	struct dat_lmr *lmr;
	struct dat_ep *ep;
	DAT_RETURN ret;

	rcu_read_lock();
	ret = find_both(lmr_handle, ep_handle, &lmr, &ep);
	if (!ret && !dat_post_allows(ep, post->flags))
		ret = bad_flags;
	if (ret)
		goto unlock_rcu;

	post->lmr = lmr;
	ret = try_post(lmr, ep, mem, post);
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
		/* Earlier requests may have completed: process their completions. */
		dat_ep_collect(ep);
		ret = try_post(lmr, ep, mem, post);
	}
unlock_rcu:
	rcu_read_unlock();
	return ret;
}

/**
 * kdapl_lmr_fmr - post a fast registration of memory
 * @lmr_handle: an LMR from dat_lmr_allocate() without memory: new or invalidated
 * @mem_type: DAT_MEM_TYPE_VIRTUAL: kmalloc() or vmalloc() memory, from for_va
 *	to the end of the last page; DAT_MEM_TYPE_PLATFORM: the same of a
 *	&struct dat_platform_region, or to the end of its table;
 *	DAT_MEM_TYPE_PHYSICAL: for_physical are the
 *	physical addresses of pages; DAT_MEM_TYPE_PHYSICAL_VAR_PAGES: for_array
 *	are those of larger pages; DAT_MEM_TYPE_IA: for_ia is a DMA address
 * @region_description: the memory
 * @num_pages: pages of the memory, or at least those of a table; at most the number that
 *	the LMR was allocated for
 * @mem_privileges: permitted accesses, DAT_MEM_PRIV_*
 * @va_type: DAT_VA_TYPE_VA: triplets use the consumer's addresses, or the address of
 *	the first page for memory that has no other;
 *	DAT_VA_TYPE_ZB: triplets use offsets from the first byte, which begins a page
 * @ep_handle: the EP to post on, CONNECTED or DISCONNECTED; of the same PZ
 * @user_cookie: reported in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG
 * @lmr_context: out: for local buffers of DTOs, and for binds
 * @rmr_context: out: for a peer; 0 without remote privileges; may be NULL
 *
 * Requests posted later on the same EP can use the contexts at once. All other uses must
 * wait for the completion: a DTO event with the operation DAT_DTO_LMR_FMR on the EP's
 * request EVD. The memory must remain allocated until the invalidation of the LMR has
 * completed successfully, or dat_lmr_free() has returned. If the registration fails, the
 * LMR has no memory.
 *
 * On a DISCONNECTED EP the registration is flushed at once and changes nothing.
 *
 * An LMR can be registered behind its own invalidation. Two registrations or
 * invalidations of an LMR can be outstanding; a third finds no MR.
 *
 * Specification: dat_lmr_fmr(), kDAPL. kdat.h of DAT 2.0 does not declare the contexts
 * as pointers; kdat_redirection.h does.
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE (also: the LMR is not from
 * dat_lmr_allocate()), DAT_INVALID_PARAMETER, DAT_INVALID_STATE (of the EP, or
 * the LMR has memory, or RMRs are bound to its previous memory),
 * DAT_PROTECTION_VIOLATION (LMR and EP are not in the same PZ),
 * DAT_MODEL_NOT_SUPPORTED, DAT_INSUFFICIENT_RESOURCES (the send queue is full,
 * or both MRs busy), DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_lmr_fmr(DAT_LMR_HANDLE lmr_handle,
			 DAT_MEM_TYPE mem_type,
			 DAT_REGION_DESCRIPTION region_description,
			 DAT_VLEN num_pages,
			 DAT_MEM_PRIV_FLAGS mem_privileges,
			 DAT_VA_TYPE va_type,
			 DAT_EP_HANDLE ep_handle,
			 DAT_LMR_COOKIE user_cookie,
			 DAT_COMPLETION_FLAGS completion_flags,
			 DAT_LMR_CONTEXT *lmr_context,
			 DAT_RMR_CONTEXT *rmr_context)
{
	DAT_RETURN bad_flags = DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG9);
	struct dat_fmr_memory mem = {
		.mem_type = mem_type,
		.region = &region_description,
		.num_pages = num_pages,
		.privileges = mem_privileges,
		.va_type = va_type,
	};
	struct dat_post p = {
		.op = DAT_DTO_LMR_FMR,
		.flags = completion_flags,
		.cookie = user_cookie,
	};
	DAT_RETURN ret;

	if (mem_privileges & ~DAT_MEM_PRIV_ALL_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (completion_flags & ~FMR_FLAGS)
		return bad_flags;
	if (!lmr_context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG10);

	ret = post_on_ep(lmr_handle, ep_handle, &mem, &p, bad_flags);
	if (unlikely(ret))
		return ret;
	*lmr_context = mem.lkey;
	if (rmr_context)
		*rmr_context = mem_privileges & DAT_MEM_PRIV_REMOTE_FLAGS ?
				       mem.rkey : 0;
	return DAT_SUCCESS;
}

/**
 * kdapl_lmr_invalidate - post an invalidation of a fast registration
 * @lmr_handle: an LMR that dat_lmr_fmr() has registered
 * @ep_handle: the EP to post on, CONNECTED or DISCONNECTED; of the same PZ. If the
 *	registration has not completed: the EP of the registration.
 * @user_cookie: reported in the completion event
 * @completion_flags: DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG,
 *	_BARRIER_FENCE_FLAG; _LMR_INVALIDATE_FENCE_FLAG to wait until all
 *	requests that were posted on the EP before have completed
 *
 * Without the last flag the invalidation may overtake earlier requests on some devices,
 * and these requests fail.
 *
 * From the call on the lmr_context cannot be posted. The completion is a DTO event with
 * the operation DAT_DTO_LMR_INVALIDATE. After the completion peers cannot use the
 * rmr_context, and the memory belongs to the consumer again. If the invalidation fails,
 * this holds only after dat_lmr_free().
 *
 * On a DISCONNECTED EP the invalidation is flushed at once and changes nothing. Use
 * another EP of the PZ, or dat_lmr_free().
 *
 * Specification: dat_lmr_invalidate(), kDAPL.
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE (also: the LMR is not from
 * dat_lmr_allocate()), DAT_INVALID_PARAMETER, DAT_INVALID_STATE (of the EP;
 * DAT_INVALID_STATE_LMR_FREE: the LMR has no memory, or a peer has invalidated
 * it; DAT_INVALID_STATE_LMR_IN_USE: an RMR is bound to it, or its registration
 * is outstanding on another EP), DAT_PROTECTION_VIOLATION (LMR and EP are not in
 * the same PZ), DAT_INSUFFICIENT_RESOURCES (the send queue is full, or a fence
 * needs an RDMA read and the EP has max_rdma_read_out 0), DAT_INTERNAL_ERROR (the
 * device is removed).
 */
DAT_RETURN kdapl_lmr_invalidate(DAT_LMR_HANDLE lmr_handle,
				DAT_EP_HANDLE ep_handle,
				DAT_LMR_COOKIE user_cookie,
				DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_RETURN bad_flags = DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG4);
	struct dat_post p = {
		.op = DAT_DTO_LMR_INVALIDATE,
		.flags = completion_flags,
		.cookie = user_cookie,
	};

	if (completion_flags & ~INVALIDATE_FLAGS)
		return bad_flags;
	return post_on_ep(lmr_handle, ep_handle, NULL, &p, bad_flags);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * umem.c - ioctls of PZs, LMRs and RMRs, except binding an RMR (upost.c)
 *
 * For an LMR pins memory (pin.c), joins shared regions (ushare.c) and registers them
 * through the kernel API. Process context; freeing an LMR unpins its memory.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <dat/dat_ib_extensions.h>

#include "charge.h"
#include "file.h"
#include "pin.h"

/* dat_pz_create() */
DAT_RETURN dat_ioctl_pz_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_pz_create *p = arg;
	struct dat_uobj *pz = dat_uobj_create(to_uia(ia), sizeof(*pz),
					      DAT_HANDLE_TYPE_PZ, GFP_KERNEL);

	if (!pz)
		return dat_uobj_no_memory();
	return dat_uobj_finalize(pz, dat_pz_create(ia->khandle, &pz->khandle), &p->pz);
}

/* dat_pz_query() */
DAT_RETURN dat_ioctl_pz_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_pz_create *p = arg;
	DAT_PZ_PARAM param;
	DAT_RETURN ret = dat_pz_query(khandle, DAT_PZ_FIELD_ALL, &param);

	if (!ret)
		p->ia = dat_uobj_user_handle(param.ia_handle);
	return ret;
}

/**
 * struct dat_ulmr - an LMR of a process
 * @uobj: base object
 * @base: referenced LMR whose memory this LMR also registers; or NULL
 * @pin: the pinned memory, without @base
 * @table_bytes: bytes charged to the file for the table of @pin
 * @share: the shared region of the LMR, or NULL
 * @mem_type: memory type, as passed by the process
 * @address: address of the memory, as passed by the process
 * @length: bytes of the memory, as passed by the process
 * @cookie: cookie of a shared region, as passed by the process
 */
struct dat_ulmr {
	struct dat_uobj uobj;
	struct dat_ulmr *base;
	struct dat_pin pin;
	size_t table_bytes;
	struct dat_ushare *share;
	u32 mem_type;
	u64 address;
	u64 length;
	u8 cookie[DAT_DEV_COOKIE_SIZE];
};

static struct dat_ulmr *to_ulmr(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_ulmr, uobj);
}

static void ulmr_release(struct dat_uobj *uobj)
{
	struct dat_ulmr *lmr = to_ulmr(uobj);

	if (lmr->base)
		dat_uobj_put(&lmr->base->uobj);
	if (lmr->pin.num_pages) {
		atomic_long_sub(lmr->pin.num_pages << PAGE_SHIFT,
				&uobj->file->pinned_bytes);
		dat_unpin(&lmr->pin);
		dat_uncharge(uobj->file->charge, lmr->table_bytes);
	}
	if (lmr->share)
		dat_ushare_put(lmr->share);
}

static DAT_RETURN pin_error(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EDQUOT:
		return dat_uobj_no_memory();
	case -EINTR:
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
}

/*
 * Reject invalid arguments before memory is pinned. No later code checks for a range
 * that wraps around, or on 32 bit for an address that is too large.
 */
static DAT_RETURN check_create(const struct dat_dev_lmr_create *p)
{
	u64 end;

	if (p->mem_type > DAT_DEV_MEM_SHARED)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (p->privileges & ~(DAT_MEM_PRIV_ALL_FLAG | DAT_DEV_PRIV_RELAXED |
			      DAT_DEV_PRIV_ZERO_BASED | DAT_DEV_PRIV_ATOMIC))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (p->mem_type == DAT_DEV_MEM_LMR)
		return DAT_SUCCESS;
	if (!p->length || check_add_overflow(p->address, p->length, &end) ||
	    end > ULONG_MAX)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return DAT_SUCCESS;
}

static DAT_RETURN kcreate(struct dat_dev_lmr_create *p, struct dat_ulmr *lmr,
			  DAT_PZ_HANDLE kpz, DAT_MEM_TYPE type,
			  DAT_REGION_DESCRIPTION desc)
{
	bool zero_based = p->privileges & DAT_DEV_PRIV_ZERO_BASED;

	BUILD_BUG_ON(DAT_DEV_PRIV_RELAXED != DAT_MEM_PRIV_RELAXED_FLAG);
	BUILD_BUG_ON(DAT_DEV_PRIV_ATOMIC != DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
	return dat_lmr_kcreate(lmr->uobj.ia->uobj.khandle, type, desc,
			       p->length, kpz,
			       p->privileges & ~DAT_DEV_PRIV_ZERO_BASED,
			       zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &lmr->uobj.khandle,
			       &p->lmr_context, &p->rmr_context,
			       &p->registered_size, &p->registered_address);
}

static DAT_RETURN create_over_lmr(struct dat_dev_lmr_create *p,
				  struct dat_ulmr *lmr, DAT_PZ_HANDLE kpz)
{
	DAT_REGION_DESCRIPTION desc = {};
	struct dat_uobj *base = dat_uobj_get(lmr->uobj.file, p->base,
					     DAT_HANDLE_TYPE_LMR);

	if (!base)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	lmr->base = to_ulmr(base);
	desc.for_lmr_handle = base->khandle;
	return kcreate(p, lmr, kpz, DAT_MEM_TYPE_LMR, desc);
}

static bool charge_table(struct dat_ulmr *lmr)
{
	size_t bytes = lmr->pin.table.sgt.orig_nents *
		       sizeof(struct scatterlist);

	if (!dat_charge(lmr->uobj.file->charge, bytes, GFP_KERNEL))
		return false;
	lmr->table_bytes = bytes;
	return true;
}

struct pinned_region {
	struct dat_platform_region platform;
	struct dat_pin *pin;
};

/*
 * The device pins memory that is too large for a fast registration a second time and
 * charges the process for it. It pins the same pages, or the call fails, so the user
 * stays charged once. If the call fails later, dat_unpin() does not uncharge the process
 * again.
 */
static void uncharge(struct dat_platform_region *region)
{
	dat_pin_uncharge(container_of(region, struct pinned_region,
				      platform)->pin);
}

static DAT_RETURN create_over_memory(struct dat_dev_lmr_create *p,
				     struct dat_ulmr *lmr, DAT_PZ_HANDLE kpz)
{
	struct pinned_region region = {
		.platform.first_offset = offset_in_page(p->address),
		.platform.virtual_address = p->address,
		.platform.is_user = DAT_TRUE,
		.platform.is_whole = DAT_TRUE,
		.platform.uncharge = uncharge,
		.pin = &lmr->pin,
	};
	DAT_REGION_DESCRIPTION desc = { .for_platform = &region.platform };
	int err;

	err = dat_pin(&lmr->pin, lmr->uobj.file->charge->payers, p->address,
		      p->length, p->privileges & DAT_MEM_PRIV_WRITE_FLAG);
	if (err) {
		lmr->pin.num_pages = 0;
		return pin_error(err);
	}
	atomic_long_add(lmr->pin.num_pages << PAGE_SHIFT,
			&lmr->uobj.file->pinned_bytes);
	if (!charge_table(lmr))
		return pin_error(-ENOMEM);
	region.platform.table = &lmr->pin.table.sgt;
	return kcreate(p, lmr, kpz, DAT_MEM_TYPE_PLATFORM, desc);
}

static DAT_RETURN create_lmr(struct dat_dev_lmr_create *p, struct dat_ulmr *lmr,
			     DAT_PZ_HANDLE kpz)
{
	DAT_RETURN ret = DAT_SUCCESS;

	lmr->uobj.release = ulmr_release;
	lmr->mem_type = p->mem_type;
	lmr->address = p->address;
	lmr->length = p->length;
	memcpy(lmr->cookie, p->cookie, sizeof(lmr->cookie));
	if (p->mem_type == DAT_DEV_MEM_LMR)
		return create_over_lmr(p, lmr, kpz);
	if (p->mem_type == DAT_DEV_MEM_SHARED)
		ret = dat_ushare_get(p, &lmr->share);
	return ret ?: create_over_memory(p, lmr, kpz);
}

static DAT_RETURN create_on_ia(struct dat_uobj *ia, struct dat_dev_lmr_create *p)
{
	DAT_RETURN ret = check_create(p);
	struct dat_ulmr *lmr;
	DAT_PZ_HANDLE kpz;

	if (ret)
		return ret;
	kpz = dat_uobj_khandle(ia->file, p->pz, DAT_HANDLE_TYPE_PZ);
	lmr = dat_uobj_create(to_uia(ia), sizeof(*lmr), DAT_HANDLE_TYPE_LMR,
			      GFP_KERNEL);
	if (!lmr)
		return dat_uobj_no_memory();
	return dat_uobj_finalize(&lmr->uobj, create_lmr(p, lmr, kpz), &p->lmr);
}

/* dat_lmr_create() */
int dat_ioctl_lmr_create(struct dat_file *file, void *arg)
{
	struct dat_dev_lmr_create *p = arg;
	struct dat_uobj *ia;

	if (p->base && p->mem_type != DAT_DEV_MEM_LMR)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = create_on_ia(ia, p);
	dat_uobj_put(ia);
	/* Nothing has been done yet: restart the call after the signal handler. */
	if (DAT_GET_TYPE(p->result) == DAT_INTERRUPTED_CALL && signal_pending(current))
		return -ERESTARTNOINTR;
	return 0;
}

/* dat_lmr_query() */
DAT_RETURN dat_ioctl_lmr_query(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_lmr_create *p = arg;
	struct dat_ulmr *lmr = to_ulmr(uobj);
	DAT_LMR_PARAM param;
	DAT_RETURN ret;

	ret = dat_lmr_query(uobj->khandle, DAT_LMR_FIELD_ALL, &param);
	if (ret)
		return ret;
	p->ia = uobj->ia->uobj.handle;
	p->pz = dat_uobj_user_handle(param.pz_handle);
	p->mem_type = lmr->mem_type;
	p->privileges = param.mem_priv;
	if (param.va_type == DAT_VA_TYPE_ZB)
		p->privileges |= DAT_DEV_PRIV_ZERO_BASED;
	p->address = lmr->address;
	p->length = lmr->length;
	p->base = lmr->base ? lmr->base->uobj.handle : 0;
	p->lmr_context = param.lmr_context;
	p->rmr_context = param.rmr_context;
	p->registered_address = param.registered_address;
	p->registered_size = param.registered_size;
	memcpy(p->cookie, lmr->cookie, sizeof(p->cookie));
	return DAT_SUCCESS;
}

/* Segments that a sync copies from the process at once. */
#define SYNC_BATCH	64

static DAT_RETURN sync_batch(struct dat_dev_lmr_sync *p, DAT_IA_HANDLE kia,
			     const DAT_LMR_TRIPLET *segments, u64 num)
{
	if (p->direction == DAT_DEV_SYNC_READ)
		return dat_lmr_sync_rdma_read(kia, segments, num);
	return dat_lmr_sync_rdma_write(kia, segments, num);
}

/* dat_lmr_sync_rdma_read(), dat_lmr_sync_rdma_write() */
int dat_ioctl_lmr_sync(struct dat_file *file, void *arg)
{
	const struct dat_dev_segment __user *usegments;
	struct dat_dev_lmr_sync *p = arg;
	DAT_LMR_TRIPLET *segments;
	DAT_IA_HANDLE kia;
	u64 done = 0;
	int ret = 0;

	/* A process's segment has the layout of the kernel's triplet. */
	BUILD_BUG_ON(sizeof(*segments) != sizeof(*usegments));
	kia = dat_uobj_khandle(file, p->ia, DAT_HANDLE_TYPE_IA);
	usegments = u64_to_user_ptr(p->segments);
	segments = kmalloc_array(SYNC_BATCH, sizeof(*segments), GFP_KERNEL);
	if (!segments)
		return -ENOMEM;
	do {
		u64 num = min_t(u64, p->num_segments - done, SYNC_BATCH);

		if (copy_from_user(segments, usegments + done,
				   num * sizeof(*segments))) {
			ret = -EFAULT;
			break;
		}
		p->result = sync_batch(p, kia, segments, num);
		done += num;
		cond_resched();
	} while (!p->result && done < p->num_segments &&
		 !fatal_signal_pending(current));
	kfree(segments);
	return ret;
}

static DAT_RETURN create_rmr(struct dat_uobj *pz, struct dat_dev_rmr_create *p,
			     DAT_RETURN (*create)(DAT_PZ_HANDLE, DAT_RMR_HANDLE *))
{
	struct dat_uobj *rmr = dat_uobj_create(pz->ia, sizeof(*rmr),
					       DAT_HANDLE_TYPE_RMR, GFP_KERNEL);

	if (!rmr)
		return dat_uobj_no_memory();
	return dat_uobj_finalize(rmr, create(pz->khandle, &rmr->khandle), &p->rmr);
}

/* dat_rmr_create() */
DAT_RETURN dat_ioctl_rmr_create(struct dat_uobj *pz, void *arg)
{
	return create_rmr(pz, arg, dat_rmr_create);
}

/* dat_rmr_create_for_ep() */
DAT_RETURN dat_ioctl_rmr_create_for_ep(struct dat_uobj *pz, void *arg)
{
	return create_rmr(pz, arg, dat_rmr_create_for_ep);
}

/* dat_rmr_query() */
DAT_RETURN dat_ioctl_rmr_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_rmr_create *p = arg;
	DAT_RMR_PARAM param;
	DAT_RETURN ret = dat_rmr_query(khandle, DAT_RMR_FIELD_ALL, &param);

	if (ret)
		return ret;
	p->pz = dat_uobj_user_handle(param.pz_handle);
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->privileges = param.mem_priv;
	if (param.va_type == DAT_VA_TYPE_ZB)
		p->privileges |= DAT_DEV_PRIV_ZERO_BASED;
	if (param.rmr_scope == DAT_RMR_SCOPE_EP)
		p->privileges |= DAT_DEV_PRIV_FOR_EP;
	p->segment.virtual_address = param.lmr_triplet.virtual_address;
	p->segment.length = param.lmr_triplet.segment_length;
	p->segment.lmr_context = param.lmr_triplet.lmr_context;
	p->rmr_context = param.rmr_context;
	return DAT_SUCCESS;
}

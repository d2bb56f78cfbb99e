// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ulmr.c - ioctls of LMRs, except dat_lmr_sync_*() (ulmr_sync.c)
 *
 * Pins memory (pin.c), joins shared regions (ushare.c) and registers them through the
 * kernel API. Process context; freeing an LMR unpins its memory.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>

#include <dat/dat_ib_extensions.h>

#include "charge.h"
#include "pin.h"
#include "ushare.h"
#include "usimple.h"

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
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
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
			  DAT_REGION_DESCRIPTION desc, DAT_LMR_HANDLE *khandle)
{
	bool zero_based = p->privileges & DAT_DEV_PRIV_ZERO_BASED;

	BUILD_BUG_ON(DAT_DEV_PRIV_RELAXED != DAT_MEM_PRIV_RELAXED_FLAG);
	BUILD_BUG_ON(DAT_DEV_PRIV_ATOMIC != DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
	return dat_lmr_kcreate(lmr->uobj.ia->uobj.khandle, type, desc,
			       p->length, kpz,
			       p->privileges & ~DAT_DEV_PRIV_ZERO_BASED,
			       zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, khandle,
			       &p->lmr_context, &p->rmr_context,
			       &p->registered_size, &p->registered_address);
}

static DAT_RETURN create_over_lmr(struct dat_dev_lmr_create *p,
				  struct dat_ulmr *lmr, DAT_PZ_HANDLE kpz,
				  DAT_LMR_HANDLE *khandle)
{
	DAT_REGION_DESCRIPTION desc = {};
	struct dat_uobj *base = dat_uobj_get(lmr->uobj.file, p->base,
					     DAT_HANDLE_TYPE_LMR);

	if (!base)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	lmr->base = to_ulmr(base);
	desc.for_lmr_handle = base->khandle;
	return kcreate(p, lmr, kpz, DAT_MEM_TYPE_LMR, desc, khandle);
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
				     struct dat_ulmr *lmr, DAT_PZ_HANDLE kpz,
				     DAT_LMR_HANDLE *khandle)
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

	err = dat_pin(&lmr->pin, p->address, p->length,
		      p->privileges & DAT_MEM_PRIV_WRITE_FLAG);
	if (err) {
		lmr->pin.num_pages = 0;
		return pin_error(err);
	}
	atomic_long_add(lmr->pin.num_pages << PAGE_SHIFT,
			&lmr->uobj.file->pinned_bytes);
	if (!charge_table(lmr))
		return pin_error(-ENOMEM);
	region.platform.table = &lmr->pin.table.sgt;
	return kcreate(p, lmr, kpz, DAT_MEM_TYPE_PLATFORM, desc, khandle);
}

static DAT_RETURN create(struct dat_dev_lmr_create *p, struct dat_ulmr *lmr,
			 DAT_PZ_HANDLE kpz, DAT_LMR_HANDLE *khandle)
{
	DAT_RETURN ret = DAT_SUCCESS;

	lmr->uobj.release = ulmr_release;
	lmr->mem_type = p->mem_type;
	lmr->address = p->address;
	lmr->length = p->length;
	memcpy(lmr->cookie, p->cookie, sizeof(lmr->cookie));
	if (p->mem_type == DAT_DEV_MEM_LMR)
		return create_over_lmr(p, lmr, kpz, khandle);
	if (p->mem_type == DAT_DEV_MEM_SHARED)
		ret = dat_ushare_get(p, &lmr->share);
	return ret ?: create_over_memory(p, lmr, kpz, khandle);
}

/* dat_lmr_create() */
int dat_ioctl_lmr_create(struct dat_file *file, void *arg)
{
	struct dat_dev_lmr_create *p = arg;
	DAT_LMR_HANDLE khandle;
	struct dat_ulmr *lmr;
	struct dat_uobj *ia;
	DAT_PZ_HANDLE kpz;
	int ret = 0;

	if (p->base && p->mem_type != DAT_DEV_MEM_LMR)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = check_create(p);
	if (p->result)
		goto put_ia;
	kpz = dat_uobj_khandle(file, p->pz, DAT_HANDLE_TYPE_PZ);
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	lmr = dat_usimple_alloc(file, sizeof(*lmr), DAT_HANDLE_TYPE_LMR,
				to_uia(ia));
	if (!lmr)
		goto put_ia;
	p->result = create(p, lmr, kpz, &khandle);
	if (!p->result)
		p->lmr = lmr->uobj.handle;
	dat_usimple_finish(&lmr->uobj, p->result, khandle);
	/* Nothing has been done yet: restart the call after the signal handler. */
	if (DAT_GET_TYPE(p->result) == DAT_INTERRUPTED_CALL &&
	    signal_pending(current))
		ret = -ERESTARTNOINTR;
put_ia:
	dat_uobj_put(ia);
	return ret;
}

/* dat_lmr_query() */
int dat_ioctl_lmr_query(struct dat_file *file, void *arg)
{
	struct dat_dev_lmr_create *p = arg;
	struct dat_ulmr *lmr;
	struct dat_uobj *uobj;
	DAT_LMR_PARAM param;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	uobj = dat_uobj_get(file, p->lmr, DAT_HANDLE_TYPE_LMR);
	if (!uobj)
		return 0;
	lmr = to_ulmr(uobj);
	p->result = dat_lmr_query(uobj->khandle, DAT_LMR_FIELD_ALL, &param);
	if (!p->result) {
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
	}
	dat_uobj_put(uobj);
	return 0;
}

/* dat_lmr_free() */
int dat_ioctl_lmr_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_LMR, dat_lmr_free);
}

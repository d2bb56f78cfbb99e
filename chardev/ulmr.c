// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ulmr.c - the ioctls of LMRs
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "pin.h"
#include "usimple.h"

/**
 * struct dat_ulmr - an LMR of a process
 * @uobj: head
 * @pin: its memory
 */
struct dat_ulmr {
	struct dat_uobj uobj;
	struct dat_pin pin;
};

static struct dat_ulmr *to_ulmr(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_ulmr, uobj);
}

static void ulmr_release(struct dat_uobj *uobj)
{
	dat_unpin(&to_ulmr(uobj)->pin);
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

/* What the kernel API would refuse is refused before it costs anything. */
static DAT_RETURN check_create(const struct dat_dev_lmr_create *p)
{
	u64 end;

	switch (p->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		break;
	case DAT_MEM_TYPE_LMR:
	case 2:		/* DAT_MEM_TYPE_SHARED_VIRTUAL, of user space only */
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	if (p->privileges & ~DAT_MEM_PRIV_ALL_FLAG)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!p->length || check_add_overflow(p->address, p->length, &end))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return DAT_SUCCESS;
}

static DAT_RETURN register_lmr(struct dat_dev_lmr_create *p,
			       struct dat_uobj *ia, struct dat_ulmr *lmr,
			       DAT_PZ_HANDLE kpz, DAT_LMR_HANDLE *khandle)
{
	struct dat_platform_region region = {
		.pages = lmr->pin.pages,
		.first_offset = offset_in_page(p->address),
		.virtual_address = p->address,
	};
	DAT_REGION_DESCRIPTION desc = { .for_platform = &region };

	return dat_lmr_kcreate(ia->khandle, DAT_MEM_TYPE_PLATFORM, desc,
			       p->length, kpz, p->privileges, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, khandle,
			       &p->lmr_context, &p->rmr_context,
			       &p->registered_size, &p->registered_address);
}

/* dat_lmr_create() */
int dat_ioctl_lmr_create(struct dat_file *file, void *arg)
{
	struct dat_dev_lmr_create *p = arg;
	DAT_LMR_HANDLE khandle;
	struct dat_ulmr *lmr;
	struct dat_uobj *ia;
	DAT_PZ_HANDLE kpz;
	int ret;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = check_create(p);
	if (p->result)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	kpz = dat_uobj_khandle(file, p->pz, DAT_HANDLE_TYPE_PZ);

	/* If it is well aligned one page more will do; more never will. */
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
			      DAT_RESOURCE_MEMORY_REGION);
	if (p->length > to_uia(ia)->max_lmr + PAGE_SIZE)
		goto put_ia;

	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	lmr = dat_usimple_alloc(file, sizeof(*lmr), DAT_HANDLE_TYPE_LMR,
				to_uia(ia));
	if (!lmr)
		goto put_ia;
	ret = dat_pin(&lmr->pin, p->address, p->length,
		      p->privileges & DAT_MEM_PRIV_WRITE_FLAG);
	if (ret) {
		p->result = pin_error(ret);
		dat_uobj_unreserve(&lmr->uobj);
		goto put_ia;
	}
	lmr->uobj.release = ulmr_release;

	p->result = register_lmr(p, ia, lmr, kpz, &khandle);
	if (!p->result)
		p->lmr = lmr->uobj.handle;
	dat_usimple_finish(&lmr->uobj, p->result, khandle);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_lmr_query() */
int dat_ioctl_lmr_query(struct dat_file *file, void *arg)
{
	struct dat_dev_lmr_create *p = arg;
	struct dat_uobj *uobj;
	DAT_LMR_PARAM param;

	if (p->__reserved)
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	uobj = dat_uobj_get(file, p->lmr, DAT_HANDLE_TYPE_LMR);
	if (!uobj)
		return 0;
	p->result = dat_lmr_query(uobj->khandle, DAT_LMR_FIELD_ALL, &param);
	if (!p->result) {
		p->ia = uobj->ia->uobj.handle;
		p->pz = dat_uobj_user_handle(param.pz_handle);
		p->mem_type = DAT_MEM_TYPE_VIRTUAL;
		p->privileges = param.mem_priv;
		p->address = param.registered_address;
		p->length = param.length;
		p->lmr_context = param.lmr_context;
		p->rmr_context = param.rmr_context;
		p->registered_address = param.registered_address;
		p->registered_size = param.registered_size;
	}
	dat_uobj_put(uobj);
	return 0;
}

/* dat_lmr_free() */
int dat_ioctl_lmr_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_LMR, dat_lmr_free);
}

/* Segments copied in at once by a sync. */
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

	/* The process's segments are the kernel's triplets. */
	BUILD_BUG_ON(sizeof(*segments) != sizeof(*usegments));
	if (p->direction > DAT_DEV_SYNC_WRITE)
		return -EOPNOTSUPP;
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

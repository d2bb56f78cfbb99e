// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_reserved.c - the reserved LMR: all memory, addressed by DMA addresses
 *
 * Implements dat_ia_reserved_lmr(), in process context. The context of the reserved LMR
 * is not a key of the device. On some devices the key that opens all memory depends on
 * the PZ. dat_iov_copy() inserts that key when a request is posted.
 */
#include <linux/kernel.h>
#include <linux/slab.h>

#include "base/calls.h"
#include "dev/ia.h"
#include "mem/lmr.h"

static void reserved_shutdown(struct dat_object *obj)
{
	WRITE_ONCE(obj->ia->reserved_lmr, NULL);
}

static void reserved_release(struct dat_object *obj)
{
	kfree(to_lmr(obj));
}

static const struct dat_object_ops reserved_ops = {
	.shutdown = reserved_shutdown,
	.release = reserved_release,
};

static DAT_RETURN reserved_create(struct dat_ia *ia)
{
	struct dat_lmr *lmr = kzalloc(sizeof(*lmr), GFP_KERNEL_ACCOUNT);
	DAT_RETURN ret;

	if (!lmr)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	dat_object_init(&lmr->obj, DAT_HANDLE_TYPE_LMR, &ia->owner,
			&reserved_ops);
	lmr->obj.implicit = true;
	lmr->mem_type = DAT_MEM_TYPE_IA;
	lmr->length = U64_MAX;
	lmr->privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG |
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	lmr->lkey = DAT_RESERVED_CONTEXT;
	ret = dat_object_publish(&lmr->obj);
	if (ret)
		dat_object_put(&lmr->obj);
	else
		WRITE_ONCE(ia->reserved_lmr, lmr);
	return ret;
}

/**
 * kdapl_ia_reserved_lmr - report the LMR that covers all memory
 * @ia_handle: the IA
 * @lmr_handle: out: its handle; only dat_ia_close() frees it
 * @lmr_context: out: context for local buffers of DTOs on any EP of the IA
 *
 * A triplet with this context has a DMA address of the device as virtual_address. The
 * consumer has mapped it; kdapl does not check it. No RMR can be bound to the reserved
 * LMR, and peers cannot access it. On iWARP no RDMA read can use it as a buffer,
 * because the peer would learn the key.
 *
 * Specification: dat_ia_reserved_lmr(), kDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ia_reserved_lmr(DAT_IA_HANDLE ia_handle,
				 DAT_LMR_HANDLE *lmr_handle,
				 DAT_LMR_CONTEXT *lmr_context)
{
	static DEFINE_MUTEX(lock);
	struct dat_object *obj;
	struct dat_ia *ia;
	DAT_RETURN ret;

	might_sleep();
	if (!lmr_handle)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!lmr_context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!obj)
		return ret;
	ia = to_ia(obj);

	mutex_lock(&lock);
	if (!ia->reserved_lmr)
		ret = reserved_create(ia);
	if (!ret) {
		*lmr_handle = ia->reserved_lmr->obj.handle;
		*lmr_context = DAT_RESERVED_CONTEXT;
	}
	mutex_unlock(&lock);
	dat_object_put_live(obj);
	return ret;
}

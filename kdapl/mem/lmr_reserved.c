// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_reserved.c - the reserved LMR: all memory, by DMA addresses
 *
 * Its context is no key of a device: which key opens all memory depends on the
 * PZ on some devices. It is put in when something is posted.
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
 * kdapl_ia_reserved_lmr - the LMR that is all memory
 * @ia_handle: the IA
 * @lmr_handle: out: its handle; it cannot be freed, and goes with the IA
 * @lmr_context: out: for local buffers of DTOs on any EP of the IA
 *
 * A triplet with that context has a DMA address of the device for a
 * virtual_address, which the consumer has mapped; what is there is not checked.
 * Nobody can bind an RMR to it, and a peer cannot reach it. On iWARP no RDMA
 * read can fill it, for the peer would get to know the key.
 *
 * Specification: dat_ia_reserved_lmr(), kDAPL.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR (the device has gone).
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

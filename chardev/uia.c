// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uia.c - ioctls of IAs: open, close, query
 */
#include <linux/slab.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>

#include "charge.h"
#include "uaddr.h"
#include "ucno.h"
#include "uevd.h"

static DAT_RETURN open_kernel_ia(struct dat_dev_ia_open *p, struct dat_uia *ia,
				 struct dat_uevd *evd, DAT_IA_HANDLE *kia,
				 DAT_EVD_HANDLE *kevd)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = evd,
		.upcall_func = dat_uevd_upcall,
	};
	DAT_RETURN ret;

	*kevd = DAT_HANDLE_NULL;
	ret = dat_ia_openv(p->name, p->async_evd_qlen, kevd, kia, p->dat_major,
			   p->dat_minor, DAT_TRUE);
	if (ret)
		return ret;
	ret = dat_ia_set_account(*kia, &ia->uobj.file->charge->account);
	if (!ret)
		ret = dat_evd_modify_upcall(*kevd, DAT_UPCALL_SINGLE_INSTANCE,
					    &upcall, DAT_UPCALL_INVOC_ANY);
	if (!ret)
		ret = dat_ia_max_user_lmr(*kia, &ia->max_lmr);
	if (ret)
		dat_ia_close(*kia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

/* dat_ia_open() */
int dat_ioctl_ia_open(struct dat_file *file, void *arg)
{
	struct dat_dev_ia_open *p = arg;
	DAT_EVD_HANDLE kevd;
	struct dat_uevd *evd;
	DAT_IA_HANDLE kia;
	struct dat_uia *ia;
	int ret;

	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (strnlen(p->name, sizeof(p->name)) == sizeof(p->name))
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!p->async_evd_qlen || p->async_evd_qlen > INT_MAX)
		return 0;

	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ia = dat_uobj_alloc(file, sizeof(*ia), DAT_HANDLE_TYPE_IA, NULL,
			    GFP_KERNEL);
	if (!ia)
		return 0;
	evd = dat_uevd_alloc(file, ia, p->async_evd_qlen, &ret);
	if (!evd)
		goto put_ia;
	if (dat_uobj_reserve(&ia->uobj, GFP_KERNEL))
		goto put_evd;
	if (dat_uobj_reserve(&evd->uobj, GFP_KERNEL))
		goto unreserve_ia;

	p->result = open_kernel_ia(p, ia, evd, &kia, &kevd);
	if (p->result)
		goto unreserve_evd;
	p->ia = ia->uobj.handle;
	p->async_evd = evd->uobj.handle;
	p->async_ring_entries = evd->ring->entries;
	evd->flags = DAT_EVD_ASYNC_FLAG;
	ia->async_evd = evd;
	dat_uobj_publish(&evd->uobj, kevd);
	dat_uobj_publish(&ia->uobj, kia);
	return 0;

unreserve_evd:
	dat_uobj_unreserve(&evd->uobj);
	dat_uobj_unreserve(&ia->uobj);
	return 0;
unreserve_ia:
	dat_uobj_put(&evd->uobj);
	dat_uobj_unreserve(&ia->uobj);
	return 0;
put_evd:
	dat_uobj_put(&evd->uobj);
put_ia:
	dat_uobj_put(&ia->uobj);
	return 0;
}

static bool has_cnos(const struct dat_uia *ia)
{
	struct dat_uobj *other;
	unsigned long index;
	bool found = false;

	dat_for_each_uobj(ia->uobj.file, index, other) {
		found = found || (other->type == DAT_UOBJ_CNO &&
				  other->ia == ia);
		dat_uobj_put(other);
	}
	return found;
}

/* dat_ia_close() */
int dat_ioctl_ia_close(struct dat_file *file, void *arg)
{
	struct dat_dev_ia_close *p = arg;
	struct dat_uobj *uobj, *other;
	unsigned long index;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	uobj = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!uobj)
		return 0;
	/* The kernel API has no CNOs, so a graceful close has to check them here. */
	if (p->flags == DAT_CLOSE_GRACEFUL_FLAG && has_cnos(to_uia(uobj))) {
		p->result = DAT_ERROR(DAT_INVALID_STATE,
				      DAT_INVALID_STATE_IA_IN_USE);
		goto put;
	}
	p->result = dat_ia_close(uobj->khandle, p->flags);
	if (p->result)
		goto put;

	dat_for_each_uobj(file, index, other) {
		if (other->type == DAT_HANDLE_TYPE_EVD &&
		    other->ia == to_uia(uobj))
			dat_uevd_kill(to_uevd(other));
		if (other->type == DAT_UOBJ_CNO && other->ia == to_uia(uobj))
			dat_ucno_kill(to_ucno(other));
		dat_uobj_put(other);
	}
	to_uia(uobj)->async_evd = NULL;
	dat_uobj_remove_all(file, to_uia(uobj));
put:
	dat_uobj_put(uobj);
	return 0;
}

static u32 extensions(const DAT_PROVIDER_ATTR *attr)
{
	static const struct {
		const char *name;
		u32 bit;
	} known[] = {
		{ DAT_IB_ATTR_IMMED_DATA, DAT_DEV_EXT_WRITE_IMMED },
		{ DAT_IB_ATTR_FETCH_AND_ADD, DAT_DEV_EXT_FETCH_ADD },
		{ DAT_IB_ATTR_CMP_AND_SWAP, DAT_DEV_EXT_CMP_SWAP },
	};
	u32 bits = 0;
	int i, j;

	for (i = 0; i < attr->num_provider_specific_attr; i++)
		for (j = 0; j < ARRAY_SIZE(known); j++)
			if (!strcmp(attr->provider_specific_attr[i].name,
				    known[j].name))
				bits |= known[j].bit;
	return bits;
}

static void fill_ia_query(struct dat_dev_ia_query *p, const DAT_IA_ATTR *ia,
			  const DAT_PROVIDER_ATTR *pr)
{
	const DAT_BOOLEAN *merging = &pr->evd_stream_merging_supported[0][0];
	unsigned int i;

	memcpy(p->adapter_name, ia->adapter_name, sizeof(p->adapter_name));
	memcpy(p->vendor_name, ia->vendor_name, sizeof(p->vendor_name));
	dat_uaddr_to_user(ia->ia_address_ptr, &p->ia_address);
	p->max_lmr_virtual_address = ia->max_lmr_virtual_address;
	p->max_rmr_target_address = ia->max_rmr_target_address;
	p->evd_merging = 0;
	for (i = 0; i < 36; i++)
		if (merging[i])
			p->evd_merging |= BIT_ULL(i);
	p->hardware_version_major = ia->hardware_version_major;
	p->hardware_version_minor = ia->hardware_version_minor;
	p->firmware_version_major = ia->firmware_version_major;
	p->firmware_version_minor = ia->firmware_version_minor;
	p->max_eps = ia->max_eps;
	p->max_dto_per_ep = ia->max_dto_per_ep;
	p->max_rdma_read_per_ep_in = ia->max_rdma_read_per_ep_in;
	p->max_rdma_read_per_ep_out = ia->max_rdma_read_per_ep_out;
	p->max_evds = ia->max_evds;
	p->max_evd_qlen = ia->max_evd_qlen;
	p->max_iov_segments_per_dto = ia->max_iov_segments_per_dto;
	p->max_lmrs = ia->max_lmrs;
	p->max_pzs = ia->max_pzs;
	p->max_message_size = ia->max_message_size;
	p->max_rdma_size = ia->max_rdma_size;
	p->max_rmrs = ia->max_rmrs;
	p->max_iov_segments_per_rdma_read = ia->max_iov_segments_per_rdma_read;
	p->max_iov_segments_per_rdma_write =
		ia->max_iov_segments_per_rdma_write;
	p->max_rdma_read_in = ia->max_rdma_read_in;
	p->max_rdma_read_out = ia->max_rdma_read_out;
	p->provider_version_major = pr->provider_version_major;
	p->provider_version_minor = pr->provider_version_minor;
	p->completion_flags_supported = pr->completion_flags_supported;
	p->max_private_data_size = pr->max_private_data_size;
	p->optimal_buffer_alignment = pr->optimal_buffer_alignment;
	p->lmr_sync_req = pr->lmr_sync_req;
	p->max_srqs = ia->max_srqs;
	p->max_ep_per_srq = ia->max_ep_per_srq;
	p->max_recv_per_srq = ia->max_recv_per_srq;
	p->dat_qos_supported = pr->dat_qos_supported;
	p->ep_creator = pr->ep_creator;
	p->srq_supported = pr->srq_supported;
	p->srq_watermarks_supported = pr->srq_watermarks_supported;
	p->srq_ep_pz_difference_supported = pr->srq_ep_pz_difference_supported;
	p->srq_info_supported = pr->srq_info_supported;
	p->ep_recv_info_supported = pr->ep_recv_info_supported;
	p->dto_async_return_guaranteed = pr->dto_async_return_guaranteed;
	p->rdma_write_for_rdma_read_req = pr->rdma_write_for_rdma_read_req;
	p->extensions = extensions(pr);
}

/* dat_ia_query() */
int dat_ioctl_ia_query(struct dat_file *file, void *arg)
{
	struct dat_dev_ia_query *p = arg;
	DAT_PROVIDER_ATTR *provider_attr;
	DAT_EVD_HANDLE async_evd;
	struct dat_uobj *uobj;
	DAT_IA_ATTR *ia_attr;
	int ret = -ENOMEM;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	uobj = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!uobj)
		return 0;
	ia_attr = kzalloc(sizeof(*ia_attr), GFP_KERNEL);
	provider_attr = kzalloc(sizeof(*provider_attr), GFP_KERNEL);
	if (!ia_attr || !provider_attr)
		goto free;

	ret = 0;
	p->result = dat_ia_query(uobj->khandle, &async_evd, DAT_IA_FIELD_ALL,
				 ia_attr, DAT_PROVIDER_FIELD_ALL,
				 provider_attr);
	if (!p->result) {
		p->async_evd = dat_uobj_user_handle(async_evd);
		fill_ia_query(p, ia_attr, provider_attr);
		/* Limit for memory of a process. */
		p->max_lmr_block_size = to_uia(uobj)->max_lmr;
	}
free:
	kfree(provider_attr);
	kfree(ia_attr);
	dat_uobj_put(uobj);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia_query.c - queries the attributes and limits of an IA and its provider
 *
 * Derives them from the attributes of the RDMA device. Consumers call these functions in
 * process context. The file owns no state.
 */
#include <linux/kernel.h>
#include <linux/limits.h>

#include <dat/version.h>

#include "base/calls.h"
#include "base/compat.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "mem/regqp.h"
#include "queue/evd.h"
#include "queue/srq.h"

/* The specification does not name these bits: one digit for each feature. */
#define SRQ_ALL_WATERMARKS	0x111	/* low, soft high, hard high */
#define SRQ_ALL_COUNTS		0x11	/* available, outstanding */

/* Bytes of a region that fits in any LMR, independent of alignment and contiguity. */
static u64 any_lmr_fits(const struct ib_device *ibdev)
{
	return (u64)(dat_dev_max_lmr_pages(ibdev) - 1) *
	       dat_dev_page_size(ibdev);
}

static void fill_ia_attr(struct dat_ia *ia, DAT_IA_ATTR *attr)
{
	struct ib_device *ibdev = dat_ia_ibdev(ia);
	const struct ib_device_attr *dev = &ibdev->attrs;
	int max_sge = dat_dev_max_send_sge(ibdev);

	memset(attr, 0, sizeof(*attr));
	dat_dev_ia_name(ia->dev, ia->port, attr->adapter_name);
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "0x%06x",
		 dev->vendor_id);
	attr->hardware_version_major = dev->hw_ver;
	attr->firmware_version_major = dev->fw_ver >> 32;
	attr->firmware_version_minor = lower_32_bits(dev->fw_ver);
	/* If the look-up fails, the previous address remains. */
	dat_addr_find(ia);
	attr->ia_address_ptr = (DAT_SOCK_ADDR *)dat_addr(ia);
	/* Memory cannot be registered without the QPs of a PZ. */
	attr->max_eps = max(dat_limit(dev->max_qp) -
			    dat_regqp_num_qps(ibdev, ia->port), 0);
	attr->max_dto_per_ep = dat_ep_max_dtos(ibdev);
	attr->max_rdma_read_per_ep_in = dat_limit(dev->max_qp_rd_atom);
	attr->max_rdma_read_per_ep_out = dat_limit(dev->max_qp_init_rd_atom);
	attr->max_evds = dat_limit(dev->max_cq);
	attr->max_evd_qlen = DAT_MAX_EVD_QLEN;
	attr->max_iov_segments_per_dto = min(max_sge, dat_limit(dev->max_recv_sge));
	attr->max_lmrs = dat_limit(dev->max_mr);
	attr->max_lmr_block_size =
		min_t(u64, any_lmr_fits(ibdev), U32_MAX & PAGE_MASK);
	attr->max_lmr_virtual_address = U64_MAX;
	attr->max_pzs = dat_limit(dev->max_pd);
	attr->max_message_size = ia->dev->max_message;
	attr->max_rdma_size = ia->dev->max_message;
	attr->max_rmrs = dat_limit(dev->max_mr) / 2;
	attr->max_rmr_target_address = U64_MAX;
	attr->max_recv_per_srq = dat_srq_max_dtos(ibdev);
	if (attr->max_recv_per_srq) {
		attr->max_srqs = dat_limit(dev->max_srq);
		attr->max_ep_per_srq = dat_limit(dev->max_qp);
	}
	attr->max_iov_segments_per_rdma_read =
		dat_limit(dev->max_sge_rd) ?: max_sge;
	attr->max_iov_segments_per_rdma_write = max_sge;
	attr->max_rdma_read_in =
		dat_limit(dev->max_res_rd_atom) ?: attr->max_rdma_read_per_ep_in;
	attr->max_rdma_read_out = dat_limit(dev->max_qp_init_rd_atom);
	attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	attr->zb_supported = DAT_TRUE;
	attr->reserved_lmr_supported = DAT_TRUE;
	dat_ia_named_refresh(ia);
	attr->transport_attr = dat_ia_named_transport(ia, &attr->num_transport_attr);
}

static void fill_provider_attr(struct dat_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	memset(attr, 0, sizeof(*attr));
	strscpy(attr->provider_name, "kdapl", sizeof(attr->provider_name));
	WARN_ON_ONCE(sscanf(DAT_KDAPL_VERSION, "%u.%u", &attr->provider_version_major,
			    &attr->provider_version_minor) != 2);
	attr->dapl_version_major = DAT_VERSION_MAJOR;
	attr->dapl_version_minor = DAT_VERSION_MINOR;
	attr->lmr_mem_types_supported =
		DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
		DAT_MEM_TYPE_PHYSICAL | DAT_MEM_TYPE_PLATFORM |
		DAT_MEM_TYPE_IA | DAT_MEM_TYPE_BYPASS |
		DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
	attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
	attr->dat_qos_supported =
		DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY |
		DAT_QOS_ECONOMY | DAT_QOS_PREMIUM;
	attr->completion_flags_supported =
		DAT_COMPLETION_SUPPRESS_FLAG |
		DAT_COMPLETION_UNSIGNALLED_FLAG |
		DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	if (!(dat_dev_no_fence(dat_ia_ibdev(ia)) & DAT_FENCE_SEND))
		attr->completion_flags_supported |=
			DAT_COMPLETION_BARRIER_FENCE_FLAG |
			DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	if (!(dat_dev_quirks(dat_ia_ibdev(ia)) & DAT_QUIRK_NO_SOLICITED))
		attr->completion_flags_supported |=
			DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	attr->is_thread_safe = DAT_TRUE;
	attr->max_private_data_size = DAT_MAX_PRIVATE_DATA;
	attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	attr->upcall_policy = DAT_UPCALL_MANY;
	attr->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
	/* All event streams may share one EVD. */
	memset32((u32 *)attr->evd_stream_merging_supported, DAT_TRUE,
		 sizeof(attr->evd_stream_merging_supported) / sizeof(u32));
	if (dat_srq_max_dtos(dat_ia_ibdev(ia))) {
		attr->srq_supported = DAT_TRUE;
		attr->srq_watermarks_supported = SRQ_ALL_WATERMARKS;
		attr->srq_info_supported = SRQ_ALL_COUNTS;
		attr->srq_ep_pz_difference_supported =
			!(dat_dev_quirks(dat_ia_ibdev(ia)) &
			  DAT_QUIRK_SRQ_SAME_PZ);
	}
	attr->lmr_sync_req = ia->dev->needs_sync;
	attr->dto_async_return_guaranteed = DAT_TRUE;
	attr->rdma_write_for_rdma_read_req =
		rdma_protocol_iwarp(dat_ia_ibdev(ia), ia->port);
	attr->rmr_scope_supported = DAT_RMR_SCOPE_ANY;
	/* On iWARP a read request names the memory that the data goes to. */
	attr->rdma_read_lmr_rmr_context_exposure =
		attr->rdma_write_for_rdma_read_req;
	/* Every device that kdapl offers as an IA has fast registrations. */
	attr->fmr_supported = DAT_TRUE;
	attr->lmr_for_fmr_scope_supported = DAT_LMR_SCOPE_PZ;
	dat_ia_named_refresh(ia);
	attr->num_provider_specific_attr = ia->named.num;
	attr->provider_specific_attr = ia->named.attrs;
}

/**
 * kdapl_ia_query - query the attributes of an IA and its provider
 * @ia_handle: the IA
 * @async_evd_handle: out: its asynchronous EVD; may be NULL
 * @ia_attr_mask: DAT_IA_FIELD_*; unless 0, kdapl fills in all fields
 * @ia_attr: out: attributes of the IA; the pointers are valid until the IA is
 *	closed
 * @provider_attr_mask: DAT_PROVIDER_FIELD_*; unless 0, kdapl fills in all fields
 * @provider_attr: out: attributes of the provider
 *
 * Specification: dat_ia_query().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN kdapl_ia_query(DAT_IA_HANDLE ia_handle,
			  DAT_EVD_HANDLE *async_evd_handle,
			  DAT_IA_ATTR_MASK ia_attr_mask,
			  DAT_IA_ATTR *ia_attr,
			  DAT_UINT64 provider_attr_mask,
			  DAT_PROVIDER_ATTR *provider_attr)
{
	struct dat_object *obj;
	DAT_RETURN ret;

	might_sleep();
	if (ia_attr_mask & ~DAT_IA_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (ia_attr_mask && !ia_attr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (provider_attr_mask & ~DAT_PROVIDER_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (provider_attr_mask && !provider_attr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);

	obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!obj)
		return ret;
	if (async_evd_handle)
		*async_evd_handle = to_ia(obj)->async_evd->handle;
	if (ia_attr_mask)
		fill_ia_attr(to_ia(obj), ia_attr);
	if (provider_attr_mask)
		fill_provider_attr(to_ia(obj), provider_attr);
	dat_object_put_live(obj);
	return ret;
}

/**
 * dat_ia_max_user_lmr - query the maximum size of a region of user memory
 * @ia_handle: the IA
 * @max_length: out: bytes. A region of this size can always be registered, if &struct
 *	dat_platform_region marks its memory as is_user. max_lmr_block_size, which is
 *	often less, is for any memory.
 *
 * Extension of kdapl, in no specification.
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INTERNAL_ERROR (the device is removed).
 */
DAT_RETURN dat_ia_max_user_lmr(DAT_IA_HANDLE ia_handle, DAT_VLEN *max_length)
{
	struct dat_object *obj;
	struct ib_device *ibdev;
	DAT_RETURN ret;

	might_sleep();
	if (!max_length)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	obj = dat_object_get_live(ia_handle, DAT_HANDLE_TYPE_IA,
				  DAT_INVALID_HANDLE_IA, &ret);
	if (!obj)
		return ret;
	ibdev = dat_ia_ibdev(to_ia(obj));
	*max_length = max(any_lmr_fits(ibdev), dat_dev_max_user_mr(ibdev));
	dat_object_put_live(obj);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ia_max_user_lmr);

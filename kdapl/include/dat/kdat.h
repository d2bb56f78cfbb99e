/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kdat.h - the kernel Direct Access Transport API, for in-kernel consumers
 *
 * kDAPL 1.2 with the triplets, numbers and additions of DAT 2.0. A consumer, such as a
 * storage driver, includes this header only and links with the symbols of kdapl.ko.
 */
#ifndef _KDAT_H_
#define _KDAT_H_

#include <linux/mm_types.h>
#include <dat/kdat_config.h>
#include <dat/dat_platform_specific.h>

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0x00,
	DAT_MEM_TYPE_LMR		= 0x01,
	DAT_MEM_TYPE_PHYSICAL		= 0x10,
	DAT_MEM_TYPE_PLATFORM		= 0x20,
	DAT_MEM_TYPE_IA			= 0x40,
	DAT_MEM_TYPE_BYPASS		= 0x80,
	DAT_MEM_TYPE_PHYSICAL_VAR_PAGES	= 0x100
} DAT_MEM_TYPE;

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR,
	DAT_HANDLE_TYPE_EP,
	DAT_HANDLE_TYPE_EVD,
	DAT_HANDLE_TYPE_IA,
	DAT_HANDLE_TYPE_LMR,
	DAT_HANDLE_TYPE_PSP,
	DAT_HANDLE_TYPE_PZ,
	DAT_HANDLE_TYPE_RMR,
	DAT_HANDLE_TYPE_RSP,
	DAT_HANDLE_TYPE_SRQ,
	DAT_HANDLE_TYPE_CSP
} DAT_HANDLE_TYPE;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE		= 0x01,
	DAT_EVD_FIELD_EVD_QLEN		= 0x02,
	DAT_EVD_FIELD_UPCALL_POLICY	= 0x04,
	DAT_EVD_FIELD_UPCALL		= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS		= 0x10,
	DAT_EVD_FIELD_ALL		= 0x1f
} DAT_EVD_PARAM_MASK;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

#include <dat/dat.h>

typedef DAT_CONTEXT DAT_LMR_COOKIE;

/* Upcalls */

typedef enum dat_upcall_policy {
	DAT_UPCALL_TEARDOWN		= -1,
	DAT_UPCALL_DISABLE		= 0,
	DAT_UPCALL_SINGLE_INSTANCE	= 1,
	DAT_UPCALL_NORIFY		= 2,	/* spelled like this in DAT 2.0 */
	DAT_UPCALL_MANY			= 100
} DAT_UPCALL_POLICY;

/*
 * An upcall gets the event and a hint whether more events are queued behind it.
 *
 * - On an EVD that carries DTO or RMR_BIND events it runs in softirq and must not
 *   sleep. It may post DTOs, binds and software events, dequeue, and disable itself
 *   (DAT_UPCALL_DISABLE).
 * - On any other EVD it runs in process context and may sleep. It may also disconnect,
 *   and free objects that are not in use, also its own EVD.
 *
 * No upcall may close its IA. No upcall may wait for another upcall that might wait for
 * it.
 */
typedef void (*DAT_UPCALL_FUNC)(DAT_PVOID instance_data,
				const DAT_EVENT *event,
				DAT_BOOLEAN more_events);

typedef struct dat_upcall_object {
	DAT_PVOID	instance_data;
	DAT_UPCALL_FUNC	upcall_func;
} DAT_UPCALL_OBJECT;

#define DAT_UPCALL_NULL		((struct dat_upcall_object){ NULL, NULL })
#define DAT_UPCALL_SAME		((DAT_UPCALL_OBJECT *)NULL)

typedef enum dat_upcall_flag {
	DAT_UPCALL_INVOC_NEW	= 0,
	DAT_UPCALL_INVOC_ANY	= 1
} DAT_UPCALL_FLAG;

struct dat_evd_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_COUNT		evd_qlen;
	DAT_UPCALL_POLICY	upcall_policy;
	DAT_UPCALL_OBJECT	upcall;
	DAT_EVD_FLAGS		evd_flags;
};

/* Memory */

typedef enum dat_mem_optimize_flags {
	DAT_MEM_OPTIMIZE_DONT_CARE	= 0x00,
	DAT_MEM_OPTIMIZE_IA		= 0x01,
	DAT_MEM_OPTIMIZE_MIN_EXPOSURE	= 0x02,
	DAT_MEM_OPTIMIZE_EXACT_EXPOSURE	= 0x04
} DAT_MEM_OPTIMIZE_FLAGS;

#define DAT_MEM_OPT		DAT_MEM_OPTIMIZE_FLAGS

/**
 * struct dat_physical_var_pages - a list of pages, type of for_array
 * @page_size:	bytes, a multiple of PAGE_SIZE
 * @pages:	an array of DAT_PADDR, the physical addresses of the pages; not used
 *		after the call
 */
typedef struct dat_physical_var_pages {
	DAT_VLEN	page_size;
	void		*pages;
} DAT_PHYSICAL_VAR_PAGES;

struct sg_table;

/**
 * struct dat_platform_region - a region on Linux, type of for_platform
 * @pages:	the pages of the region, in order, pinned by the caller until
 *		after dat_lmr_free(). The array is not used after dat_lmr_kcreate()
 *		has returned. NULL with a @table
 * @table:	the pages as a scatter table. All segments except the first begin
 *		at a page boundary, and all except the last end at one. No segment
 *		is longer than ib_dma_max_seg_size() of the device. Until after
 *		dat_lmr_free() the table belongs to the LMR, which maps it for the
 *		device. dat_lmr_fmr() only reads it: the table of a block request
 *		can be registered as it is. NULL with @pages
 * @is_whole:	the caller guarantees that the segments of @table meet these
 *		conditions; dat_lmr_kcreate() does not check them
 * @first_offset: bytes before the region in the first page
 * @virtual_address: the address that triplets use for the first byte; never
 *		dereferenced, unless @is_user. Its offset within a page must be
 *		@first_offset.
 * @is_user:	the calling process has mapped the pages at @virtual_address. If
 *		one fast registration cannot hold all pages, ib_reg_user_mr()
 *		registers them. It pins them a second time and charges the process.
 *		This also applies to an LMR over the region.
 * @uncharge:	called before ib_reg_user_mr(), so that a caller that has charged
 *		the process already can uncharge it; may be NULL
 *
 * The length argument of dat_lmr_kcreate() is the length of the region. dat_lmr_fmr() has
 * no such argument: its region ends with the last page, or where @table ends.
 */
struct dat_platform_region {
	struct page	**pages;
	struct sg_table	*table;
	DAT_BOOLEAN	is_whole;
	unsigned int	first_offset;
	DAT_VADDR	virtual_address;
	DAT_BOOLEAN	is_user;
	void		(*uncharge)(struct dat_platform_region *region);
};

/* for_ia is also for DAT_MEM_TYPE_BYPASS: an address for the device. */
typedef union dat_region_description {
	DAT_PVOID		for_va;
	DAT_LMR_HANDLE		for_lmr_handle;
	void			*for_platform;
	DAT_PHYSICAL_VAR_PAGES	for_array;
	DAT_PADDR		*for_physical;
	DAT_PADDR		for_ia;
} DAT_REGION_DESCRIPTION;

typedef struct dat_lmr_state {
	DAT_BOOLEAN	fmr_support;
	DAT_BOOLEAN	bound;
} DAT_LMR_STATE;

struct dat_lmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_MEM_TYPE		mem_type;
	DAT_REGION_DESCRIPTION	region_desc;
	DAT_VLEN		length;
	DAT_PZ_HANDLE		pz_handle;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_VA_TYPE		va_type;
	DAT_LMR_CONTEXT		lmr_context;
	DAT_RMR_CONTEXT		rmr_context;
	DAT_VLEN		registered_size;
	DAT_VADDR		registered_address;
	DAT_LMR_STATE		lmr_state;
};

enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x002,
	DAT_LMR_FIELD_REGION_DESC		= 0x004,
	DAT_LMR_FIELD_LENGTH			= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x020,
	DAT_LMR_FIELD_VA_TYPE			= 0x040,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x080,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x400,
	DAT_LMR_FIELD_LMR_STATE			= 0x800,
	DAT_LMR_FIELD_ALL			= 0xfff
};

typedef enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP,
	DAT_LMR_SCOPE_PZ,
	DAT_LMR_SCOPE_ANY
} DAT_LMR_SCOPE;

/* Attributes of the IA and of the provider */

struct dat_ia_attr {
	char			adapter_name[DAT_NAME_MAX_LENGTH];
	char			vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		hardware_version_major;
	DAT_UINT32		hardware_version_minor;
	DAT_UINT32		firmware_version_major;
	DAT_UINT32		firmware_version_minor;
	DAT_IA_ADDRESS_PTR	ia_address_ptr;
	DAT_COUNT		max_eps;
	DAT_COUNT		max_dto_per_ep;
	DAT_COUNT		max_rdma_read_per_ep_in;
	DAT_COUNT		max_rdma_read_per_ep_out;
	DAT_COUNT		max_evds;
	DAT_COUNT		max_evd_qlen;
	DAT_COUNT		max_iov_segments_per_dto;
	DAT_COUNT		max_lmrs;
	DAT_SEG_LENGTH		max_lmr_block_size;
	DAT_VADDR		max_lmr_virtual_address;
	DAT_COUNT		max_pzs;
	DAT_SEG_LENGTH		max_message_size;
	DAT_SEG_LENGTH		max_rdma_size;
	DAT_COUNT		max_rmrs;
	DAT_VADDR		max_rmr_target_address;
	DAT_COUNT		max_srqs;
	DAT_COUNT		max_ep_per_srq;
	DAT_COUNT		max_recv_per_srq;
	DAT_COUNT		max_iov_segments_per_rdma_read;
	DAT_COUNT		max_iov_segments_per_rdma_write;
	DAT_COUNT		max_rdma_read_in;
	DAT_COUNT		max_rdma_read_out;
	DAT_BOOLEAN		max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN		max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN		zb_supported;
	DAT_BOOLEAN		reserved_lmr_supported;
	DAT_COUNT		num_transport_attr;
	DAT_NAMED_ATTR		*transport_attr;
	DAT_COUNT		num_vendor_attr;
	DAT_NAMED_ATTR		*vendor_attr;
};

#define DAT_IA_FIELD_IA_RESERVED_LMR_SUPPORTED	UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR	UINT64_C(0x800000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR		UINT64_C(0x1000000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR		UINT64_C(0x2000000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR		UINT64_C(0x4000000000)
#define DAT_IA_FIELD_ALL			UINT64_C(0x7fffffffff)

struct dat_provider_attr {
	char			provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		provider_version_major;
	DAT_UINT32		provider_version_minor;
	DAT_UINT32		dapl_version_major;
	DAT_UINT32		dapl_version_minor;
	DAT_MEM_TYPE		lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP	iov_ownership_on_return;
	DAT_QOS			dat_qos_supported;
	DAT_COMPLETION_FLAGS	completion_flags_supported;
	DAT_BOOLEAN		is_thread_safe;
	DAT_COUNT		max_private_data_size;
	DAT_BOOLEAN		supports_multipath;
	DAT_EP_CREATOR_FOR_PSP	ep_creator;
	DAT_UPCALL_POLICY	upcall_policy;
	DAT_UINT32		optimal_buffer_alignment;
	DAT_BOOLEAN		evd_stream_merging_supported[6][6];
	DAT_BOOLEAN		srq_supported;
	DAT_COUNT		srq_watermarks_supported;
	DAT_BOOLEAN		srq_ep_pz_difference_supported;
	DAT_COUNT		srq_info_supported;
	DAT_COUNT		ep_recv_info_supported;
	DAT_BOOLEAN		lmr_sync_req;
	DAT_BOOLEAN		dto_async_return_guaranteed;
	DAT_BOOLEAN		rdma_write_for_rdma_read_req;
	DAT_BOOLEAN		rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE		rmr_scope_supported;
	DAT_BOOLEAN		is_interrupt_safe;
	DAT_BOOLEAN		fmr_supported;
	DAT_LMR_SCOPE		lmr_for_fmr_scope_supported;
	DAT_BOOLEAN		ha_supported;
	DAT_HA_LB		ha_loadbalancing;
	DAT_COUNT		num_provider_specific_attr;
	DAT_NAMED_ATTR		*provider_specific_attr;
};

#define DAT_PROVIDER_FIELD_ALL	UINT64_C(0x1ffffffff)
#define DAT_PROVIDER_FIELD_NONE	UINT64_C(0x0)

/* Calls of the kernel API only */

DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia_handle,
			   DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description,
			   DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			   DAT_MEM_PRIV_FLAGS mem_privileges,
			   DAT_VA_TYPE va_type,
			   DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			   DAT_LMR_HANDLE *lmr_handle,
			   DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *registered_size,
			   DAT_VADDR *registered_address);
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia_handle,
			       DAT_MEM_TYPE mem_type, DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
			       DAT_VLEN *preferred_length,
			       DAT_VADDR *preferred_alignment);
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
			 DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param);

DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia_handle,
			       DAT_LMR_HANDLE *lmr_handle,
			       DAT_LMR_CONTEXT *lmr_context);
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			    DAT_COUNT num_pages, DAT_LMR_SCOPE lmr_scope,
			    DAT_LMR_HANDLE *lmr_handle);
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr_handle,
		       DAT_MEM_TYPE mem_type,
		       DAT_REGION_DESCRIPTION region_description,
		       DAT_VLEN num_pages,
		       DAT_MEM_PRIV_FLAGS mem_privileges,
		       DAT_VA_TYPE va_type,
		       DAT_EP_HANDLE ep_handle,
		       DAT_LMR_COOKIE user_cookie,
		       DAT_COMPLETION_FLAGS completion_flags,
		       DAT_LMR_CONTEXT *lmr_context,
		       DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr_handle,
			      DAT_EP_HANDLE ep_handle,
			      DAT_LMR_COOKIE user_cookie,
			      DAT_COMPLETION_FLAGS completion_flags);

DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia_handle,
			   DAT_COUNT evd_min_qlen,
			   DAT_UPCALL_POLICY upcall_policy,
			   const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS evd_flags,
			   DAT_EVD_HANDLE *evd_handle);
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG upcall_flag);

/*
 * Calls with the same name and different arguments in DAT 1.2 and DAT 2.0. DAT 2.0 adds
 * a va_type, and for a bind the handle of the LMR. The number of arguments selects the
 * version.
 */

static inline DAT_RETURN
dat_lmr_kcreate_1_2(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
		    DAT_REGION_DESCRIPTION region_description,
		    DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
		    DAT_MEM_PRIV_FLAGS mem_privileges,
		    DAT_MEM_OPTIMIZE_FLAGS mem_optimization,
		    DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
		    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_size,
		    DAT_VADDR *registered_address)
{
	return dat_lmr_kcreate(ia_handle, mem_type, region_description, length,
			       pz_handle, mem_privileges, DAT_VA_TYPE_VA,
			       mem_optimization, lmr_handle, lmr_context,
			       rmr_context, registered_size,
			       registered_address);
}

#define __dat_10th(a, b, c, d, e, f, g, h, i, tenth, ...)	tenth
#define __dat_14th(a, b, c, d, e, f, g, h, i, j, k, l, m, fourteenth, ...) \
	fourteenth

#define dat_rmr_bind(...) \
	__dat_10th(__VA_ARGS__, dat_rmr_bind, 8, dat_rmr_bind_1_2, 6) \
		(__VA_ARGS__)
#define dat_lmr_kcreate(...) \
	__dat_14th(__VA_ARGS__, dat_lmr_kcreate, dat_lmr_kcreate_1_2, 11) \
		(__VA_ARGS__)

#endif /* _KDAT_H_ */

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia.c - interface adapters
 */
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/* Solaris: the program copes with relaxed ordering. */
static const char ro_aware[] = "RO_AWARE_";

static const char provider_name[] = "kdapl";

static DAT_RETURN query(__u32 ia, struct dat_dev_ia_query *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	arg->ia = ia;
	return libdat_call(DAT_DEV_IA_QUERY, arg);
}

static DAT_RETURN close_ia(__u32 ia, DAT_CLOSE_FLAGS flags)
{
	struct dat_dev_ia_close arg = {
		.size = sizeof(arg),
		.ia = ia,
		.flags = flags,
	};

	return libdat_call(DAT_DEV_IA_CLOSE, &arg);
}

/* Open @arg, and remember it in @ia and @evd; without an @evd nobody gets it */
static DAT_RETURN open_ia(struct dat_dev_ia_open *arg, struct libdat_ia *ia,
			  struct libdat_evd *evd)
{
	struct dat_dev_ia_query attr;
	DAT_RETURN ret;

	ret = libdat_call(DAT_DEV_IA_OPEN, arg);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = query(arg->ia, &attr);
	if (ret != DAT_SUCCESS)
		goto close;
	if (evd)
		ret = libdat_evd_add(evd, arg->async_evd, arg->ia,
				     arg->async_ring_entries,
				     (DAT_COUNT)arg->async_evd_qlen);
	if (ret != DAT_SUCCESS)
		goto close;

	ia->addr.dev = attr.ia_address;
	libdat_object_add(&ia->object, arg->ia, arg->ia);
	return DAT_SUCCESS;

close:
	close_ia(arg->ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

/* What is no name of an IA may be one that dat.conf(5) gives to it. */
static DAT_RETURN open_name(struct dat_dev_ia_open *arg, struct libdat_ia *ia,
			    struct libdat_evd *evd)
{
	DAT_RETURN ret = open_ia(arg, ia, evd);
	const struct libdat_alias *other;

	if (ret != DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED))
		return ret;
	other = libdat_alias_find(arg->name);
	if (!other || other->library)
		return ret;
	memcpy(arg->name, other->ia, strlen(other->ia) + 1);
	return open_ia(arg, ia, evd);
}

/* Open an IA of the kernel's; the arguments are checked but for the EVD. */
static DAT_RETURN open_ours(struct dat_dev_ia_open *arg, bool is_ro_aware,
			    DAT_EVD_HANDLE *async_evd_handle,
			    DAT_IA_HANDLE *ia_handle)
{
	bool has_no_evd = *async_evd_handle == DAT_EVD_ASYNC_EXISTS;
	struct libdat_evd *evd;
	struct libdat_ia *ia;
	DAT_RETURN ret;

	if (has_no_evd)
		arg->async_evd_qlen = 1;
	else if ((DAT_COUNT)arg->async_evd_qlen < 0)
		return BAD_ARG(2);
	else if (*async_evd_handle != DAT_HANDLE_NULL)
		return DAT_ERROR(DAT_INVALID_HANDLE,
				 DAT_INVALID_HANDLE_EVD_ASYNC);

	ret = libdat_open();
	if (ret != DAT_SUCCESS)
		return ret;

	ia = libdat_object_alloc(LIBDAT_IA);
	evd = has_no_evd ? NULL : libdat_object_alloc(LIBDAT_EVD);
	if (ia) {
		ia->is_ro_aware = is_ro_aware;
		ia->has_no_evd = has_no_evd;
	}
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (ia && (evd || has_no_evd))
		ret = open_name(arg, ia, evd);
	if (ret != DAT_SUCCESS) {
		libdat_object_discard(&evd->object);
		libdat_object_discard(&ia->object);
		return ret;
	}

	*async_evd_handle = has_no_evd ? DAT_EVD_OUT_OF_SCOPE :
					 libdat_handle_out(arg->async_evd);
	*ia_handle = libdat_handle_out(arg->ia);
	return DAT_SUCCESS;
}

/**
 * dat_ia_openv - open an IA; behind the macro dat_ia_open()
 * @ia_name_ptr: its name, or one that dat.conf(5) gives it; with a prefix of
 *	RO_AWARE_ memory of DAT_MEM_TYPE_VIRTUAL is registered with relaxed
 *	ordering
 * @async_evd_min_qlen: minimum queue length of its asynchronous EVD
 * @async_evd_handle: in: DAT_HANDLE_NULL, out: the asynchronous EVD. Or in:
 *	DAT_EVD_ASYNC_EXISTS if somebody else looks after asynchronous events,
 *	out: DAT_EVD_OUT_OF_SCOPE. Instances cannot share an EVD: that of another
 *	is answered with DAT_INVALID_HANDLE_EVD_ASYNC.
 * @ia_handle: out
 * @dat_major: version of DAT that the program was written for
 * @dat_minor: the same
 * @thread_safety: whether the program asks for it; it gets it anyway
 *
 * An IA of another provider is asked for first. Thread safe. See
 * dat_ia_open(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_PROVIDER_NOT_FOUND, with DAT_NAME_NOT_REGISTERED
 * if there is no such IA or no /dev/dat, without subtype if the process may not
 * open /dev/dat.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name_ptr,
			DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_major,
			DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety)
{
	struct dat_dev_ia_open arg = {
		.size = sizeof(arg),
		.dat_major = dat_major,
		.dat_minor = dat_minor,
		.async_evd_qlen = (__u32)async_evd_min_qlen,
	};
	const char *name = ia_name_ptr;
	bool is_ro_aware;
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	if (!async_evd_handle)
		return BAD_ARG(3);
	if (!ia_handle)
		return BAD_ARG(4);

	is_ro_aware = !strncmp(name, ro_aware, strlen(ro_aware));
	if (is_ro_aware)
		name += strlen(ro_aware);
	if (strlen(name) >= sizeof(arg.name))
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				 DAT_NAME_NOT_REGISTERED);
	memcpy(arg.name, name, strlen(name));

	if (libdat_provider_open(&ret, name, async_evd_min_qlen,
				 async_evd_handle, ia_handle, dat_major,
				 dat_minor, thread_safety))
		return ret;
	ret = open_ours(&arg, is_ro_aware, async_evd_handle, ia_handle);
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		libdat_provider_load(&ret, name, async_evd_min_qlen,
				     async_evd_handle, ia_handle, dat_major,
				     dat_minor, thread_safety);
	return ret;
}

/**
 * dat_ia_close - close an IA
 * @ia_handle: the IA
 * @ia_flags: DAT_CLOSE_ABRUPT_FLAG frees all its objects with it
 *
 * What pointers from dat_ia_query(), dat_ep_query(), dat_cr_query() and events
 * of this IA point to is gone afterwards. Thread safe. See dat_ia_close(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE if it was to be graceful and there are objects left.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	__u32 ia = libdat_handle_in(ia_handle);
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA))
		return libdat_provider_close(&foreign, ia_flags);
	ret = close_ia(ia, ia_flags);
	if (ret == DAT_SUCCESS)
		libdat_object_drop_ia(ia);
	return ret;
}

static void name_out(char out[DAT_NAME_MAX_LENGTH],
		     const char in[DAT_DEV_NAME_MAX])
{
	memcpy(out, in, DAT_NAME_MAX_LENGTH);
	out[DAT_NAME_MAX_LENGTH - 1] = '\0';
}

/*
 * The address may have changed since it was last asked for. If not, others may be
 * looking at it.
 */
static DAT_IA_ADDRESS_PTR addr_out(const struct dat_dev_ia_query *in)
{
	struct libdat_ia *ia = libdat_object_lock(in->ia, LIBDAT_IA);

	if (!ia)
		return NULL;
	if (memcmp(&ia->addr.dev, &in->ia_address, sizeof(in->ia_address)))
		ia->addr.dev = in->ia_address;
	libdat_object_unlock(in->ia);
	return &ia->addr.generic;
}

/* The kernel has one for each instance, but the program may not know of it. */
static DAT_EVD_HANDLE async_evd_out(const struct dat_dev_ia_query *in)
{
	struct libdat_ia *ia = libdat_object_lock(in->ia, LIBDAT_IA);
	bool has_no_evd = ia && ia->has_no_evd;

	if (ia)
		libdat_object_unlock(in->ia);
	return has_no_evd ? DAT_EVD_OUT_OF_SCOPE :
			    libdat_handle_out(in->async_evd);
}

static void ia_attr_out(DAT_IA_ATTR *out, const struct dat_dev_ia_query *in)
{
	memset(out, 0, sizeof(*out));
	name_out(out->adapter_name, in->adapter_name);
	name_out(out->vendor_name, in->vendor_name);
	out->hardware_version_major = in->hardware_version_major;
	out->hardware_version_minor = in->hardware_version_minor;
	out->firmware_version_major = in->firmware_version_major;
	out->firmware_version_minor = in->firmware_version_minor;
	out->ia_address_ptr = addr_out(in);
	out->max_eps = libdat_count_out(in->max_eps);
	out->max_dto_per_ep = libdat_count_out(in->max_dto_per_ep);
	out->max_rdma_read_per_ep_in =
		libdat_count_out(in->max_rdma_read_per_ep_in);
	out->max_rdma_read_per_ep_out =
		libdat_count_out(in->max_rdma_read_per_ep_out);
	out->max_evds = libdat_count_out(in->max_evds);
	out->max_evd_qlen = libdat_count_out(in->max_evd_qlen);
	out->max_iov_segments_per_dto =
		libdat_count_out(in->max_iov_segments_per_dto);
	out->max_lmrs = libdat_count_out(in->max_lmrs);
	out->max_lmr_block_size = in->max_lmr_block_size;
	out->max_lmr_virtual_address = in->max_lmr_virtual_address;
	out->max_pzs = libdat_count_out(in->max_pzs);
	out->max_message_size = in->max_message_size;
	out->max_rdma_size = in->max_rdma_size;
	out->max_rmrs = libdat_count_out(in->max_rmrs);
	out->max_rmr_target_address = in->max_rmr_target_address;
	out->max_srqs = libdat_count_out(in->max_srqs);
	out->max_ep_per_srq = libdat_count_out(in->max_ep_per_srq);
	out->max_recv_per_srq = libdat_count_out(in->max_recv_per_srq);
	out->max_iov_segments_per_rdma_read =
		libdat_count_out(in->max_iov_segments_per_rdma_read);
	out->max_iov_segments_per_rdma_write =
		libdat_count_out(in->max_iov_segments_per_rdma_write);
	out->max_rdma_read_in = libdat_count_out(in->max_rdma_read_in);
	out->max_rdma_read_out = libdat_count_out(in->max_rdma_read_out);
}

static DAT_BOOLEAN bool_out(__u32 value)
{
	return value ? DAT_TRUE : DAT_FALSE;
}

static void provider_attr_out(DAT_PROVIDER_ATTR *out,
			      const struct dat_dev_ia_query *in)
{
	const __u32 flags_of_1_2 = DAT_COMPLETION_SUPPRESS_FLAG |
				      DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				      DAT_COMPLETION_UNSIGNALLED_FLAG |
				      DAT_COMPLETION_BARRIER_FENCE_FLAG |
				      DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	DAT_BOOLEAN merging[6][6];
	int i;

	memset(out, 0, sizeof(*out));
	memcpy(out->provider_name, provider_name, sizeof(provider_name));
	out->provider_version_major = in->provider_version_major;
	out->provider_version_minor = in->provider_version_minor;
	out->dapl_version_major = DAT_VERSION_MAJOR;
	out->dapl_version_minor = DAT_VERSION_MINOR;
	/* DAT_MEM_TYPE_VIRTUAL is 0: it is always there. */
	out->lmr_mem_types_supported =
		(DAT_MEM_TYPE)(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
	out->iov_ownership_on_return = DAT_IOV_CONSUMER;
	out->dat_qos_supported = (DAT_QOS)in->dat_qos_supported;
	out->completion_flags_supported =
		(DAT_COMPLETION_FLAGS)(in->completion_flags_supported &
				       flags_of_1_2);
	out->is_thread_safe = DAT_TRUE;
	out->max_private_data_size =
		libdat_count_out(in->max_private_data_size);
	out->ep_creator = (DAT_EP_CREATOR_FOR_PSP)in->ep_creator;
	out->pz_support = DAT_PZ_UNIQUE;
	out->optimal_buffer_alignment = in->optimal_buffer_alignment;
	out->srq_supported = bool_out(in->srq_supported);
	out->srq_watermarks_supported =
		libdat_count_out(in->srq_watermarks_supported);
	out->srq_ep_pz_difference_supported =
		bool_out(in->srq_ep_pz_difference_supported);
	out->srq_info_supported = libdat_count_out(in->srq_info_supported);
	out->ep_recv_info_supported =
		libdat_count_out(in->ep_recv_info_supported);
	out->lmr_sync_req = bool_out(in->lmr_sync_req);
	out->dto_async_return_guaranteed =
		bool_out(in->dto_async_return_guaranteed);
	out->rdma_write_for_rdma_read_req =
		bool_out(in->rdma_write_for_rdma_read_req);

	/* The standard has the array const, and us fill it in. */
	for (i = 0; i < 36; i++)
		merging[i / 6][i % 6] =
			bool_out(in->evd_merging >> i & 1);
	memcpy((void *)out->evd_stream_merging_supported, merging,
	       sizeof(merging));
}

/**
 * dat_ia_query - what an IA can do
 * @ia_handle: the IA
 * @async_evd_handle: out: its asynchronous EVD, or DAT_EVD_OUT_OF_SCOPE; may be
 *	NULL
 * @ia_attr_mask: which of @ia_attributes are wanted; all are filled in
 * @ia_attributes: out; may be NULL if @ia_attr_mask is 0. ia_address_ptr is
 *	good until the IA is closed.
 * @provider_attr_mask: which of @provider_attributes are wanted; all are
 *	filled in
 * @provider_attributes: out; may be NULL if @provider_attr_mask is 0
 *
 * Thread safe. See dat_ia_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask,
			DAT_IA_ATTR *ia_attributes,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attributes)
{
	struct libdat_foreign foreign;
	struct dat_dev_ia_query arg;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA))
		return FOREIGN_CALL(&foreign, ia_query_func, ia_handle,
				    async_evd_handle, ia_attr_mask,
				    ia_attributes, provider_attr_mask,
				    provider_attributes);
	if (ia_attr_mask & ~DAT_IA_FIELD_ALL)
		return BAD_ARG(3);
	if (ia_attr_mask && !ia_attributes)
		return BAD_ARG(4);
	if (provider_attr_mask & ~DAT_PROVIDER_FIELD_ALL)
		return BAD_ARG(5);
	if (provider_attr_mask && !provider_attributes)
		return BAD_ARG(6);

	ret = query(libdat_handle_in(ia_handle), &arg);
	if (ret != DAT_SUCCESS)
		return ret;

	if (async_evd_handle)
		*async_evd_handle = async_evd_out(&arg);
	if (ia_attr_mask)
		ia_attr_out(ia_attributes, &arg);
	if (provider_attr_mask)
		provider_attr_out(provider_attributes, &arg);
	return DAT_SUCCESS;
}

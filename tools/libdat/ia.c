// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia.c - IAs of the kernel: open, close, and query
 *
 * An open IA has an entry in the table, with the memory of ia_address_ptr and
 * the options of its name. Its asynchronous EVD has an entry of its own.
 */
#include <string.h>

#include "libdat.h"

/* Solaris: the program allows relaxed ordering. */
static const char ro_aware[] = "RO_AWARE_";

static const char provider_name[] = "kdapl";

/* The name of the named attribute that is also an attribute of the transport */
static const char transport_attr[] = "DAT_IB_TRANSPORT_MTU";

static DAT_RETURN query(__u32 ia, struct dat_dev_ia_query *arg, char *named,
			size_t size)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	arg->ia = ia;
	arg->named_attrs = (uintptr_t)named;
	arg->named_attrs_size = (__u32)size;
	return libdat_call(DAT_DEV_IA_QUERY, arg);
}

static void add_named(struct libdat_ia *ia, const char *name, const char *value)
{
	if (ia->num_named == LIBDAT_MAX_NAMED)
		return;
	ia->named[ia->num_named].name = name;
	ia->named[ia->num_named].value = value;
	ia->num_named++;
}

/* Find the named attributes in ia->strings, which was zeroed before the kernel wrote. */
static void parse_named(struct libdat_ia *ia)
{
	const char *end = ia->strings + sizeof(ia->strings) - 1;
	const char *name, *value;

	for (name = ia->strings; name < end && *name;
	     name = value + strlen(value) + 1) {
		value = name + strlen(name) + 1;
		if (value >= end)
			break;
		add_named(ia, name, value);
	}
#ifdef LIBDAT_OWN_ATTR
	add_named(ia, LIBDAT_OWN_ATTR, "TRUE");
#endif
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

/* Open the IA of @arg, and add @ia and @evd to the table. @evd may be NULL. */
static DAT_RETURN open_ia(struct dat_dev_ia_open *arg, struct libdat_ia *ia,
			  struct libdat_evd *evd)
{
	struct dat_dev_ia_query attr;
	DAT_RETURN ret;

	ret = libdat_call(DAT_DEV_IA_OPEN, arg);
	if (ret != DAT_SUCCESS)
		return ret;
	/* The last byte remains 0. */
	ret = query(arg->ia, &attr, ia->strings, sizeof(ia->strings) - 1);
	if (ret != DAT_SUCCESS)
		goto close;
	parse_named(ia);
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

/* Try the name itself first, then the name as an alias of dat.conf(5). */
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

/* Open the IA of @arg, whose arguments are checked but for those of the EVD. */
static DAT_RETURN open_checked(struct dat_dev_ia_open *arg, bool is_ro_aware,
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
	ret = NO_MEMORY;
	if (ia && (evd || has_no_evd))
		ret = open_name(arg, ia, evd);
	if (ret != DAT_SUCCESS) {
		libdat_object_destroy(&evd->object);
		libdat_object_destroy(&ia->object);
		return ret;
	}

	*async_evd_handle = has_no_evd ? DAT_EVD_OUT_OF_SCOPE :
					 libdat_to_user(arg->async_evd);
	*ia_handle = libdat_to_user(arg->ia);
	return DAT_SUCCESS;
}

/**
 * libdat_ro_aware_prefix - length of the prefix RO_AWARE_ of a name of an IA
 * @name: the name
 *
 * Return: the length, 0 if @name has no such prefix.
 */
size_t libdat_ro_aware_prefix(const char *name)
{
	return strncmp(name, ro_aware, strlen(ro_aware)) ? 0 : strlen(ro_aware);
}

/**
 * libdat_ia_openv - open an IA of the kernel
 * @name: as for dat_ia_openv(), like all other parameters
 * @qlen: minimum queue length of the asynchronous EVD
 * @async_evd: in and out: the asynchronous EVD
 * @ia: out: the IA
 * @major: major version of DAT that the program uses
 * @minor: minor version of DAT that the program uses
 * @thread_safety: ignored: libdat is thread safe
 *
 * Thread safe.
 *
 * Return: as dat_ia_openv().
 */
DAT_RETURN libdat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen,
			   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			   DAT_UINT32 major, DAT_UINT32 minor,
			   DAT_BOOLEAN thread_safety)
{
	struct dat_dev_ia_open arg = {
		.size = sizeof(arg),
		.dat_major = major,
		.dat_minor = minor,
		.async_evd_qlen = (__u32)qlen,
	};
	size_t prefix;

	(void)thread_safety;
	if (!name)
		return BAD_ARG(1);
	if (!async_evd)
		return BAD_ARG(3);
	if (!ia)
		return BAD_ARG(4);

	prefix = libdat_ro_aware_prefix(name);
	if (strlen(name + prefix) >= sizeof(arg.name))
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				 DAT_NAME_NOT_REGISTERED);
	memcpy(arg.name, name + prefix, strlen(name + prefix));
	return open_checked(&arg, prefix, async_evd, ia);
}

DAT_RETURN libdat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	__u32 ia = libdat_to_kernel(ia_handle);
	DAT_RETURN ret = close_ia(ia, ia_flags);

	if (ret == DAT_SUCCESS)
		libdat_object_remove_ia(ia);
	return ret;
}

static void name_to_user(char out[DAT_NAME_MAX_LENGTH],
			 const char in[DAT_DEV_NAME_MAX])
{
	memcpy(out, in, DAT_NAME_MAX_LENGTH);
	out[DAT_NAME_MAX_LENGTH - 1] = '\0';
}

/* Write the address only if it changed: other threads may be reading it. */
static void addr_to_user(struct libdat_ia *ia, const struct dat_dev_ia_query *in,
			 DAT_IA_ATTR *out)
{
	if (memcmp(&ia->addr.dev, &in->ia_address, sizeof(in->ia_address)))
		ia->addr.dev = in->ia_address;
	out->ia_address_ptr = &ia->addr.generic;
}

static void transport_to_user(struct libdat_ia *ia, DAT_IA_ATTR *out)
{
	DAT_COUNT i;

	for (i = 0; i < ia->num_named; i++)
		if (!strcmp(ia->named[i].name, transport_attr)) {
			out->transport_attr = &ia->named[i];
			out->num_transport_attr = 1;
		}
}

/* The pointers of the attributes lead into the entry of the IA. */
static void pointers_to_user(const struct dat_dev_ia_query *in, DAT_IA_ATTR *ia_attr,
			     DAT_PROVIDER_ATTR *provider_attr)
{
	struct libdat_ia *ia = libdat_object_lock(in->ia, LIBDAT_IA);

	if (!ia)
		return;
	if (ia_attr) {
		addr_to_user(ia, in, ia_attr);
		transport_to_user(ia, ia_attr);
	}
	if (provider_attr) {
		provider_attr->provider_specific_attr = ia->named;
		provider_attr->num_provider_specific_attr = ia->num_named;
	}
	libdat_object_unlock(in->ia);
}

/* The kernel has one for each instance, also if the program wants none. */
static DAT_EVD_HANDLE async_evd_to_user(const struct dat_dev_ia_query *in)
{
	struct libdat_ia *ia = libdat_object_lock(in->ia, LIBDAT_IA);
	bool has_no_evd = ia && ia->has_no_evd;

	if (ia)
		libdat_object_unlock(in->ia);
	return has_no_evd ? DAT_EVD_OUT_OF_SCOPE :
			    libdat_to_user(in->async_evd);
}

static void ia_attr_to_user(DAT_IA_ATTR *out, const struct dat_dev_ia_query *in)
{
	memset(out, 0, sizeof(*out));
	name_to_user(out->adapter_name, in->adapter_name);
	name_to_user(out->vendor_name, in->vendor_name);
	out->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	out->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
#define IA_ATTR(field, kind)		COPY_TO_USER(kind, field);
#include "../../kdapl/include/dat_attrs.def"
}

static void provider_attr_to_user(DAT_PROVIDER_ATTR *out,
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
	out->dapl_version_major = DAT_VERSION_MAJOR;
	out->dapl_version_minor = DAT_VERSION_MINOR;
	/* DAT_MEM_TYPE_VIRTUAL is 0: always supported. */
	out->lmr_mem_types_supported =
		(DAT_MEM_TYPE)(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
	out->iov_ownership_on_return = DAT_IOV_CONSUMER;
	out->is_thread_safe = DAT_TRUE;
	out->pz_support = DAT_PZ_UNIQUE;
#define PROVIDER_ATTR(field, kind)	COPY_TO_USER(kind, field);
#include "../../kdapl/include/dat_attrs.def"
	out->completion_flags_supported &= flags_of_1_2;

	/* The standard declares the array const. */
	for (i = 0; i < 36; i++)
		merging[i / 6][i % 6] = BOOL_TO_USER(in->evd_merging >> i & 1);
	memcpy((void *)out->evd_stream_merging_supported, merging,
	       sizeof(merging));
}

DAT_RETURN libdat_ia_query(DAT_IA_HANDLE ia_handle,
			   DAT_EVD_HANDLE *async_evd_handle,
			   DAT_IA_ATTR_MASK ia_attr_mask,
			   DAT_IA_ATTR *ia_attributes,
			   DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			   DAT_PROVIDER_ATTR *provider_attributes)
{
	struct dat_dev_ia_query arg;
	DAT_RETURN ret;

	if (ia_attr_mask & ~DAT_IA_FIELD_ALL)
		return BAD_ARG(3);
	if (ia_attr_mask && !ia_attributes)
		return BAD_ARG(4);
	if (provider_attr_mask & ~DAT_PROVIDER_FIELD_ALL)
		return BAD_ARG(5);
	if (provider_attr_mask && !provider_attributes)
		return BAD_ARG(6);

	ret = query(libdat_to_kernel(ia_handle), &arg, NULL, 0);
	if (ret != DAT_SUCCESS)
		return ret;

	if (async_evd_handle)
		*async_evd_handle = async_evd_to_user(&arg);
	if (ia_attr_mask)
		ia_attr_to_user(ia_attributes, &arg);
	if (provider_attr_mask)
		provider_attr_to_user(provider_attributes, &arg);
	pointers_to_user(&arg, ia_attr_mask ? ia_attributes : NULL,
			 provider_attr_mask ? provider_attributes : NULL);
	return DAT_SUCCESS;
}

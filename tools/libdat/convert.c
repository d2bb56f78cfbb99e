// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * convert.c - translate structures between programs and the kernel
 *
 * The kernel has fixed-width fields and the triplets of DAT 2.0. The functions
 * check what does not fit, and allocate memory for long iovs only.
 */
#include <stdlib.h>
#include <string.h>

#include "libdat.h"

/**
 * libdat_segment_to_kernel - translate one triplet
 * @segment: out: the kernel's segment
 * @triplet: the program's triplet
 *
 * Thread safe.
 *
 * Return: false if its length does not fit in 32 bits.
 */
bool libdat_segment_to_kernel(struct dat_dev_segment *segment,
			      const DAT_LMR_TRIPLET *triplet)
{
	if (triplet->segment_length > UINT32_MAX)
		return false;
	segment->virtual_address = triplet->virtual_address;
	segment->length = (__u32)triplet->segment_length;
	segment->lmr_context = triplet->lmr_context;
	return true;
}

/**
 * libdat_iov_to_kernel - translate the iov of a DTO
 * @iov: out; on success, the caller frees it by libdat_iov_free()
 * @triplet: the program's iov; argument 3 of the call
 * @count: entries of @triplet; argument 2 of the call
 *
 * Skips triplets of length 0, whose other fields may have any value. Thread
 * safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER with the argument's number, or
 * DAT_INSUFFICIENT_RESOURCES. See dat_ep_post_send(3DAT).
 */
DAT_RETURN libdat_iov_to_kernel(struct libdat_iov *iov,
				const DAT_LMR_TRIPLET *triplet, DAT_COUNT count)
{
	DAT_COUNT i;

	if (count < 0 || count > LIBDAT_MAX_IOV)
		return BAD_ARG(2);
	if (!triplet && count)
		return BAD_ARG(3);

	iov->count = 0;
	iov->segments = iov->inline_segments;
	if ((size_t)count > ARRAY_SIZE(iov->inline_segments)) {
		iov->segments = malloc((size_t)count * sizeof(*iov->segments));
		if (!iov->segments)
			return NO_MEMORY;
	}

	for (i = 0; i < count; i++) {
		if (!triplet[i].segment_length)
			continue;
		if (!libdat_segment_to_kernel(&iov->segments[iov->count],
					      &triplet[i])) {
			libdat_iov_free(iov);
			return BAD_ARG(3);
		}
		iov->count++;
	}
	return DAT_SUCCESS;
}

/**
 * libdat_iov_free - free the array of an iov
 * @iov: return value of libdat_iov_to_kernel()
 *
 * Thread safe.
 */
void libdat_iov_free(struct libdat_iov *iov)
{
	if (iov->segments != iov->inline_segments)
		free(iov->segments);
}

/* Kinds of fields of an EP's attributes. These return whether the value fits. */
static bool value_to_kernel(__u32 *out, __u64 in)
{
	*out = (__u32)in;
	return true;
}

static bool length_to_kernel(__u32 *out, DAT_VLEN in)
{
	*out = (__u32)in;
	return in <= UINT32_MAX;
}

static bool count_to_kernel(__u32 *out, DAT_COUNT in)
{
	*out = (__u32)in;
	return in >= 0;
}

/* All fields but the named attributes, which no EP of the kernel has */
#define EP_ATTR(FIELD)							\
	FIELD(SERVICE_TYPE, service_type, value, VALUE);		\
	FIELD(MAX_MESSAGE_SIZE, max_message_size, length, VALUE);	\
	FIELD(MAX_RDMA_SIZE, max_rdma_size, length, VALUE);		\
	FIELD(QOS, qos, value, VALUE);					\
	FIELD(RECV_COMPLETION_FLAGS, recv_completion_flags, value, VALUE); \
	FIELD(REQUEST_COMPLETION_FLAGS, request_completion_flags, value, \
	      VALUE);							\
	FIELD(MAX_RECV_DTOS, max_recv_dtos, count, COUNT);		\
	FIELD(MAX_REQUEST_DTOS, max_request_dtos, count, COUNT);	\
	FIELD(MAX_RECV_IOV, max_recv_iov, count, COUNT);		\
	FIELD(MAX_REQUEST_IOV, max_request_iov, count, COUNT);		\
	FIELD(MAX_RDMA_READ_IN, max_rdma_read_in, count, COUNT);	\
	FIELD(MAX_RDMA_READ_OUT, max_rdma_read_out, count, COUNT);	\
	FIELD(SRQ_SOFT_HW, srq_soft_hw, value, VALUE);			\
	FIELD(MAX_RDMA_READ_IOV, max_rdma_read_iov, count, COUNT);	\
	FIELD(MAX_RDMA_WRITE_IOV, max_rdma_write_iov, count, COUNT)

/**
 * libdat_ep_attr_to_kernel - translate the attributes of an EP
 * @out: the kernel's attributes, zeroed
 * @in: the program's attributes
 * @mask: the fields to copy; the other fields may have any value
 *
 * Thread safe.
 *
 * Return: false if a field has a negative count, a size over 32 bits, or named
 * attributes. See dat_ep_create(3DAT).
 */
bool libdat_ep_attr_to_kernel(struct dat_dev_ep_attr *out,
			      const DAT_EP_ATTR *in, DAT_EP_PARAM_MASK mask)
{
	bool fits = true;

#define TO_KERNEL(bit, field, kind, user_kind)				\
	fits &= !(mask & DAT_EP_FIELD_EP_ATTR_ ## bit) ||		\
		kind ## _to_kernel(&out->field, in->field)
	EP_ATTR(TO_KERNEL);
#undef TO_KERNEL
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR)
		fits &= !in->ep_transport_specific_count;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR)
		fits &= !in->ep_provider_specific_count;
	return fits;
}

/**
 * libdat_ep_attr_to_user - translate the attributes of an EP
 * @out: the program's attributes, zeroed
 * @in: the kernel's attributes
 *
 * Thread safe. See dat_ep_query(3DAT).
 */
void libdat_ep_attr_to_user(DAT_EP_ATTR *out, const struct dat_dev_ep_attr *in)
{
#define TO_USER(bit, field, kind, user_kind)	COPY_TO_USER(user_kind, field)
	EP_ATTR(TO_USER);
#undef TO_USER
}

/**
 * libdat_private_data_to_kernel - copy private data into an ioctl structure
 * @out: array of DAT_DEV_PRIVATE_DATA_MAX bytes
 * @size: bytes of @data
 * @data: the private data; may be NULL if @size is 0
 * @bad_size: what a call returns for a bad @size; @data is its next argument
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER with the number of the argument.
 */
DAT_RETURN libdat_private_data_to_kernel(__u8 *out, DAT_COUNT size,
					 const void *data, DAT_RETURN bad_size)
{
	if (size < 0 || size > DAT_DEV_PRIVATE_DATA_MAX)
		return bad_size;
	if (size && !data)
		return bad_size + 1;
	if (size)
		memcpy(out, data, (size_t)size);
	return DAT_SUCCESS;
}

/**
 * libdat_addr_to_kernel - translate the address of an IA
 * @out: the kernel's address, zeroed
 * @in: the program's address, not NULL
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, or DAT_INVALID_ADDRESS if @in is neither IPv4 nor IPv6.
 * See dat_ep_connect(3DAT).
 */
DAT_RETURN libdat_addr_to_kernel(struct dat_dev_addr *out,
				 const DAT_SOCK_ADDR *in)
{
	switch (in->sa_family) {
	case AF_INET:
		memcpy(out->bytes, in, sizeof(struct sockaddr_in));
		return DAT_SUCCESS;
	case AF_INET6:
		memcpy(out->bytes, in, sizeof(struct sockaddr_in6));
		return DAT_SUCCESS;
	default:
		return DAT_ERROR(DAT_INVALID_ADDRESS,
				 DAT_INVALID_ADDRESS_MALFORMED);
	}
}

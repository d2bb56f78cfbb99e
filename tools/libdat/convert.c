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

/* Whether a value of a kind of dat_attrs.def fits in the kernel's field */
#define VALUE_FITS(value)	true
#define LENGTH_FITS(value)	((value) <= UINT32_MAX)
#define COUNT_FITS(value)	((value) >= 0)

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

#define EP_ATTR(bit, field, kind)			\
	if (mask & DAT_EP_FIELD_EP_ATTR_ ## bit) {	\
		out->field = (__u32)in->field;		\
		fits &= kind ## _FITS(in->field);	\
	}
#include "../../kdapl/include/dat_attrs.def"
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
#define EP_ATTR(bit, field, kind)	COPY_TO_USER(kind, field);
#include "../../kdapl/include/dat_attrs.def"
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

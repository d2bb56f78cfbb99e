// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * convert.c - structures of DAT 1.2 into the kernel's, and back
 */
#include <stdlib.h>
#include <string.h>

#include "libdat.h"

/**
 * libdat_segment_in - translate one triplet
 * @segment: out
 * @triplet: in
 *
 * Thread safe.
 *
 * Return: false if its length does not fit in 32 bits.
 */
bool libdat_segment_in(struct dat_dev_segment *segment,
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
 * libdat_iov_in - translate the iov of a DTO
 * @iov: out; on success, free it with libdat_iov_free()
 * @triplet: in; argument 3 of the call
 * @count: how many; argument 2 of the call
 *
 * Triplets with a length of 0 are left out: their other fields may be
 * anything, and must not be looked up. Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER with the argument's number, or
 * DAT_INSUFFICIENT_RESOURCES. See dat_ep_post_send(3DAT).
 */
DAT_RETURN libdat_iov_in(struct libdat_iov *iov, const DAT_LMR_TRIPLET *triplet,
			 DAT_COUNT count)
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
			return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					 DAT_RESOURCE_MEMORY);
	}

	for (i = 0; i < count; i++) {
		if (!triplet[i].segment_length)
			continue;
		if (!libdat_segment_in(&iov->segments[iov->count],
				       &triplet[i])) {
			libdat_iov_free(iov);
			return BAD_ARG(3);
		}
		iov->count++;
	}
	return DAT_SUCCESS;
}

/**
 * libdat_iov_free - the reverse of libdat_iov_in()
 * @iov: the iov
 *
 * Thread safe.
 */
void libdat_iov_free(struct libdat_iov *iov)
{
	if (iov->segments != iov->inline_segments)
		free(iov->segments);
}

/* A DAT_COUNT that the kernel takes as unsigned */
static bool count_in(__u32 *out, DAT_COUNT in)
{
	*out = (__u32)in;
	return in >= 0;
}

static bool length_in(__u32 *out, DAT_VLEN in)
{
	*out = (__u32)in;
	return in <= UINT32_MAX;
}

/**
 * libdat_ep_attr_in - translate the attributes of an EP
 * @out: the kernel's
 * @in: the program's
 *
 * Thread safe.
 *
 * Return: false if a value cannot be: a negative count, a size over 32 bits, or
 * named attributes, of which there are none. See dat_ep_create(3DAT).
 */
bool libdat_ep_attr_in(struct dat_dev_ep_attr *out, const DAT_EP_ATTR *in)
{
	out->service_type = in->service_type;
	out->qos = in->qos;
	out->recv_completion_flags = in->recv_completion_flags;
	out->request_completion_flags = in->request_completion_flags;
	out->srq_soft_hw = (__u32)in->srq_soft_hw;

	return length_in(&out->max_message_size, in->max_message_size) &&
	       length_in(&out->max_rdma_size, in->max_rdma_size) &&
	       count_in(&out->max_recv_dtos, in->max_recv_dtos) &&
	       count_in(&out->max_request_dtos, in->max_request_dtos) &&
	       count_in(&out->max_recv_iov, in->max_recv_iov) &&
	       count_in(&out->max_request_iov, in->max_request_iov) &&
	       count_in(&out->max_rdma_read_in, in->max_rdma_read_in) &&
	       count_in(&out->max_rdma_read_out, in->max_rdma_read_out) &&
	       count_in(&out->max_rdma_read_iov, in->max_rdma_read_iov) &&
	       count_in(&out->max_rdma_write_iov, in->max_rdma_write_iov) &&
	       !in->ep_transport_specific_count &&
	       !in->ep_provider_specific_count;
}

/**
 * libdat_ep_attr_out - translate the attributes of an EP back
 * @out: the program's, zeroed
 * @in: the kernel's
 *
 * Thread safe. See dat_ep_query(3DAT).
 */
void libdat_ep_attr_out(DAT_EP_ATTR *out, const struct dat_dev_ep_attr *in)
{
	out->service_type = (DAT_SERVICE_TYPE)in->service_type;
	out->max_message_size = in->max_message_size;
	out->max_rdma_size = in->max_rdma_size;
	out->qos = (DAT_QOS)in->qos;
	out->recv_completion_flags =
		(DAT_COMPLETION_FLAGS)in->recv_completion_flags;
	out->request_completion_flags =
		(DAT_COMPLETION_FLAGS)in->request_completion_flags;
	out->max_recv_dtos = libdat_count_out(in->max_recv_dtos);
	out->max_request_dtos = libdat_count_out(in->max_request_dtos);
	out->max_recv_iov = libdat_count_out(in->max_recv_iov);
	out->max_request_iov = libdat_count_out(in->max_request_iov);
	out->max_rdma_read_in = libdat_count_out(in->max_rdma_read_in);
	out->max_rdma_read_out = libdat_count_out(in->max_rdma_read_out);
	out->srq_soft_hw = (DAT_COUNT)in->srq_soft_hw;
	out->max_rdma_read_iov = libdat_count_out(in->max_rdma_read_iov);
	out->max_rdma_write_iov = libdat_count_out(in->max_rdma_write_iov);
}

/**
 * libdat_addr_in - translate the address of an IA
 * @out: the kernel's, zeroed
 * @in: the program's, not NULL
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, or DAT_INVALID_ADDRESS if it is neither IPv4 nor IPv6.
 * See dat_ep_connect(3DAT).
 */
DAT_RETURN libdat_addr_in(struct dat_dev_addr *out, const DAT_SOCK_ADDR *in)
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

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_modify.c - limits and flags of an EP after dat_ep_modify()
 */
#include "ep_test.h"
#include "report.h"

#define ATTR(name)	DAT_EP_FIELD_EP_ATTR_##name

static DAT_CONTEXT cookie(u64 value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

static DAT_RETURN rdma(bool write, int num, u32 len, u64 id)
{
	DAT_LMR_TRIPLET iov[] = { ksegment(&a, 0, len), ksegment(&a, 4096, 1) };
	DAT_RMR_TRIPLET there = {
		.virtual_address = (uintptr_t)b.buf,
		.segment_length = len,
		.rmr_context = b.rmr_context,
	};

	if (write)
		return dat_ep_post_rdma_write(pair.a.ep, num, iov, cookie(id),
					      &there, 0);
	return dat_ep_post_rdma_read(pair.a.ep, num, iov, cookie(id), &there,
				     0);
}

static bool segments_are_limited(void)
{
	DAT_LMR_TRIPLET iov[] = { ksegment(&a, 0, 1), ksegment(&a, 1, 1) };

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ep_post_send(pair.a.ep, 2, iov, cookie(1), 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ep_post_recv(pair.a.ep, 2, iov, cookie(1), 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  rdma(true, 2, 1, 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  rdma(false, 2, 1, 1));
	return true;
}

static bool requests_are_limited(void)
{
	int i;

	/* On siw a message does not wait for a receive, so none stays outstanding. */
	if (!strncmp(kpair_ia, "siw", 3))
		return true;
	for (i = 0; i < 2; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, i));
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP,
		  kpost_send(pair.a.ep, &a, 0, 8, i));
	for (i = 0; i < 2; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, i));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
	return true;
}

/* The new limits differ from the previous limits and from the defaults. */
bool ep_modify_limits(void)
{
	DAT_EP_PARAM before, param = {
		.ep_attr = {
			.max_message_size = 100,
			.max_rdma_size = 200,
			.max_recv_dtos = 3,
			.max_request_dtos = 2,
			.max_recv_iov = 1,
			.max_request_iov = 1,
			.max_rdma_read_in = 2,
			.max_rdma_read_out = 1,
			.max_rdma_read_iov = 1,
			.max_rdma_write_iov = 1,
		},
	};
	int i;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL,
					   &before));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_modify(pair.a.ep, ATTR(MAX_MESSAGE_SIZE) |
			       ATTR(MAX_RDMA_SIZE) | ATTR(MAX_RECV_DTOS) |
			       ATTR(MAX_REQUEST_DTOS) | ATTR(MAX_RECV_IOV) |
			       ATTR(MAX_REQUEST_IOV) | ATTR(MAX_RDMA_READ_IN) |
			       ATTR(MAX_RDMA_READ_OUT) |
			       ATTR(MAX_RDMA_READ_IOV) |
			       ATTR(MAX_RDMA_WRITE_IOV), &param));
	param.ep_attr.recv_completion_flags =
		before.ep_attr.recv_completion_flags;
	param.ep_attr.request_completion_flags =
		before.ep_attr.request_completion_flags;
	CHECK(has_attr(pair.a.ep, &param.ep_attr));
	for (i = 0; i < 3; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 8, i));
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP,
		  kpost_recv(pair.a.ep, &a, 0, 8, i));
	CHECK(kpair_connect(&pair));
	CHECK(has_attr(pair.a.ep, &param.ep_attr));
	CHECK(segments_are_limited());
	CHECK_RET(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE,
		  kpost_send(pair.a.ep, &a, 0, 101, 1));
	CHECK_RET(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE, rdma(true, 1, 201, 1));
	CHECK_RET(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE, rdma(false, 1, 201, 1));
	CHECK_EQ(DAT_SUCCESS, rdma(true, 1, 200, 5));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 5));
	CHECK_EQ(DAT_SUCCESS, rdma(false, 1, 200, 6));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 6));
	return requests_are_limited();
}

static DAT_RETURN set_flags(DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_PARAM param = {
		.ep_attr.recv_completion_flags = flags,
		.ep_attr.request_completion_flags = flags,
	};

	return dat_ep_modify(pair.a.ep, ATTR(RECV_COMPLETION_FLAGS) |
			     ATTR(REQUEST_COMPLETION_FLAGS), &param);
}

static DAT_RETURN send(unsigned int flags, u64 id)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);

	return dat_ep_post_send(pair.a.ep, 1, &seg, cookie(id), flags);
}

static DAT_RETURN recv(unsigned int flags)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);

	return dat_ep_post_recv(pair.a.ep, 1, &seg, cookie(99), flags);
}

/* Flags for requests only do not apply to receives. */
static bool flags_of_requests_are_always_there(void)
{
	static const unsigned int flags[] = {
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_BARRIER_FENCE_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, i));
		CHECK_EQ(DAT_SUCCESS, send(flags[i], i));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, i));
		if (flags[i] != DAT_COMPLETION_SUPPRESS_FLAG)
			CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd,
							    i));
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
			  recv(flags[i]));
	}
	return true;
}

bool ep_modify_completion_flags(void)
{
	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, set_flags(DAT_COMPLETION_UNSIGNALLED_FLAG));
	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_SUCCESS, recv(DAT_COMPLETION_UNSIGNALLED_FLAG));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 1));
	CHECK_EQ(DAT_SUCCESS, send(DAT_COMPLETION_UNSIGNALLED_FLAG, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 1));
	CHECK(flags_of_requests_are_always_there());

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, set_flags(DAT_COMPLETION_UNSIGNALLED_FLAG));
	CHECK_EQ(DAT_SUCCESS, set_flags(DAT_COMPLETION_EVD_THRESHOLD_FLAG));
	CHECK(kpair_connect(&pair));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  recv(DAT_COMPLETION_UNSIGNALLED_FLAG));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  send(DAT_COMPLETION_UNSIGNALLED_FLAG, 2));
	return flags_of_requests_are_always_there();
}

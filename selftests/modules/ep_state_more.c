// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_state_more.c - tested calls that try many values, in any EP state
 */
#include <linux/in.h>

#include "ep_state.h"
#include "report.h"

#define ATTR(name)	DAT_EP_FIELD_EP_ATTR_##name

/* Tries each mask in turn. All must have the same result. */
static DAT_RETURN modify_each(const DAT_EP_PARAM_MASK *masks, size_t num,
			      const DAT_EP_PARAM *param)
{
	DAT_RETURN first = dat_ep_modify(ep, masks[0], param);
	size_t i;

	for (i = 1; i < num; i++) {
		DAT_RETURN ret = dat_ep_modify(ep, masks[i], param);

		if (ret != first) {
			report("# attribute %zu: %#x, not %#x\n", i, ret,
			       first);
			return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
		}
	}
	return first;
}

DAT_RETURN modify_each_attribute(void)
{
	static const DAT_EP_PARAM_MASK attrs[] = {
		ATTR(SERVICE_TYPE), ATTR(MAX_MESSAGE_SIZE),
		ATTR(MAX_RDMA_SIZE), ATTR(QOS), ATTR(RECV_COMPLETION_FLAGS),
		ATTR(REQUEST_COMPLETION_FLAGS), ATTR(MAX_RECV_DTOS),
		ATTR(MAX_REQUEST_DTOS), ATTR(MAX_RECV_IOV),
		ATTR(MAX_REQUEST_IOV), ATTR(MAX_RDMA_READ_IN),
		ATTR(MAX_RDMA_READ_OUT), ATTR(MAX_RDMA_READ_IOV),
		ATTR(MAX_RDMA_WRITE_IOV),
	};
	const DAT_EP_PARAM param = {
		.ep_attr = {
			.max_message_size = 1000,
			.max_rdma_size = 2000,
			.recv_completion_flags =
				DAT_COMPLETION_UNSIGNALLED_FLAG,
			.request_completion_flags =
				DAT_COMPLETION_UNSIGNALLED_FLAG,
			.max_recv_dtos = 9,
			.max_request_dtos = 8,
			.max_recv_iov = 1,
			.max_request_iov = 1,
			.max_rdma_read_in = 1,
			.max_rdma_read_out = 2,
			.max_rdma_read_iov = 1,
			.max_rdma_write_iov = 1,
		},
	};

	return modify_each(attrs, ARRAY_SIZE(attrs), &param);
}

DAT_RETURN modify_each_specific(void)
{
	static const DAT_EP_PARAM_MASK attrs[] = {
		ATTR(NUM_TRANSPORT_ATTR), ATTR(TRANSPORT_SPECIFIC_ATTR),
		ATTR(NUM_PROVIDER_ATTR), ATTR(PROVIDER_SPECIFIC_ATTR),
	};
	const DAT_EP_PARAM none = {};

	return modify_each(attrs, ARRAY_SIZE(attrs), &none);
}

DAT_RETURN recv_query(void)
{
	DAT_COUNT num, span;

	return dat_ep_recv_query(ep, &num, &span);
}

DAT_RETURN set_watermark(void)
{
	return dat_ep_set_watermark(ep, 1000, 1000);
}

static bool has_a_peer(DAT_EP_STATE state, DAT_CONN_QUAL local,
		       DAT_CONN_QUAL remote)
{
	struct sockaddr_in *there, *here = (struct sockaddr_in *)address;
	DAT_EP_PARAM param;

	CHECK(enter_state(state));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	there = (struct sockaddr_in *)param.remote_ia_address_ptr;
	CHECK_EQ(here->sin_family, there->sin_family);
	CHECK(here->sin_addr.s_addr == there->sin_addr.s_addr);
	CHECK(param.local_port_qual && param.remote_port_qual);
	if (local)
		CHECK_EQ(local, param.local_port_qual);
	if (remote)
		CHECK_EQ(remote, param.remote_port_qual);
	return true;
}

bool ep_query_peer_address(void)
{
	CHECK(has_a_peer(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, 0,
			 KPAIR_QUAL));
	CHECK(has_a_peer(DAT_EP_STATE_CONNECTED, 0, KPAIR_QUAL));
	CHECK(has_a_peer(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
			 KPAIR_QUAL + 1, 0));
	CHECK(has_a_peer(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, 0, 0));
	/* siw has no such states. */
	if (kpair_is_siw())
		return true;
	CHECK(has_a_peer(DAT_EP_STATE_COMPLETION_PENDING, KPAIR_QUAL, 0));
	CHECK(has_a_peer(DAT_EP_STATE_DISCONNECT_PENDING, 0, KPAIR_QUAL));
	return true;
}

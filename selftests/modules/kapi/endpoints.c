// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * endpoints.c - kdapl_fuzz.ko: calls of EPs and SRQs, and posts
 */
#include "fuzz.h"

/* Attributes of an EP from the arguments that begin with @i */
static void fill_attr(struct kapi *k, DAT_EP_ATTR *attr, unsigned int i)
{
	*attr = (DAT_EP_ATTR){
		.max_message_size = ARG(i),
		.max_rdma_size = ARG(i + 1),
		.qos = ARG(i + 2),
		.recv_completion_flags = ARG(i + 3),
		.request_completion_flags = ARG(i + 4),
		.max_recv_dtos = ARG(i + 5),
		.max_request_dtos = ARG(i + 6),
		.max_recv_iov = ARG(i + 7),
		.max_request_iov = ARG(i + 8),
		.max_rdma_read_in = ARG(i + 9),
		.max_rdma_read_out = ARG(i + 10),
		.srq_soft_hw = ARG(i + 11),
		.max_rdma_read_iov = ARG(i + 12),
		.max_rdma_write_iov = ARG(i + 13),
	};
}

DAT_RETURN kapi_ep_create(struct kapi *k)
{
	DAT_EP_HANDLE ep = NULL;

	fill_attr(k, &k->u.ep_attr, 6);
	return kapi_made(k, dat_ep_create(HANDLE(0), HANDLE(1), HANDLE(2), HANDLE(3), HANDLE(4),
					  PTR(0, &k->u.ep_attr), PTR(1, &ep)), &ep);
}

DAT_RETURN kapi_ep_create_with_srq(struct kapi *k)
{
	DAT_EP_HANDLE ep = NULL;

	fill_attr(k, &k->u.ep_attr, 6);
	return kapi_made(k, dat_ep_create_with_srq(HANDLE(0), HANDLE(1), HANDLE(2), HANDLE(3),
						   HANDLE(4), HANDLE(5), PTR(0, &k->u.ep_attr),
						   PTR(1, &ep)), &ep);
}

DAT_RETURN kapi_ep_modify(struct kapi *k)
{
	k->u.ep_param.pz_handle = HANDLE(1);
	k->u.ep_param.recv_evd_handle = HANDLE(2);
	k->u.ep_param.request_evd_handle = HANDLE(3);
	k->u.ep_param.connect_evd_handle = HANDLE(4);
	fill_attr(k, &k->u.ep_param.ep_attr, 6);
	return dat_ep_modify(HANDLE(0), ARG(5), PTR(0, &k->u.ep_param));
}

DAT_RETURN kapi_ep_query(struct kapi *k)
{
	return dat_ep_query(HANDLE(0), ARG(1), PTR(0, &k->u.ep_param));
}

DAT_RETURN kapi_ep_get_status(struct kapi *k)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state = 0;
	DAT_RETURN ret = dat_ep_get_status(HANDLE(0), PTR(0, &state), PTR(1, &recv_idle),
					   PTR(2, &request_idle));

	k->c.out[1] = state;
	return ret;
}

DAT_RETURN kapi_ep_recv_query(struct kapi *k)
{
	DAT_COUNT allocated, span;

	return dat_ep_recv_query(HANDLE(0), PTR(0, &allocated), PTR(1, &span));
}

DAT_RETURN kapi_ep_set_watermark(struct kapi *k)
{
	return dat_ep_set_watermark(HANDLE(0), ARG(1), ARG(2));
}

DAT_RETURN kapi_ep_reset(struct kapi *k)
{
	return dat_ep_reset(HANDLE(0));
}

DAT_RETURN kapi_ep_free(struct kapi *k)
{
	return dat_ep_free(HANDLE(0));
}

DAT_RETURN kapi_ep_disconnect(struct kapi *k)
{
	return dat_ep_disconnect(HANDLE(0), ARG(1));
}

/* More segments than there are would be the caller's bug; kdapl rejects other numbers. */
static DAT_COUNT num_segments(struct kapi *k)
{
	DAT_COUNT num = ARG(1);

	return num > 0 && num <= KAPI_SEGMENTS ? min_t(u32, num, k->c.num_segments) : num;
}

static DAT_RMR_TRIPLET remote(struct kapi *k)
{
	return (DAT_RMR_TRIPLET){ ARG(4), ARG(5), ARG(6) };
}

DAT_RETURN kapi_ep_post_send(struct kapi *k)
{
	return dat_ep_post_send(HANDLE(0), num_segments(k), k->segments, COOKIE(2), ARG(3));
}

DAT_RETURN kapi_ep_post_send_with_invalidate(struct kapi *k)
{
	return dat_ep_post_send_with_invalidate(HANDLE(0), num_segments(k), k->segments,
						COOKIE(2), ARG(3), ARG(7), ARG(6));
}

DAT_RETURN kapi_ep_post_recv(struct kapi *k)
{
	return dat_ep_post_recv(HANDLE(0), num_segments(k), k->segments, COOKIE(2), ARG(3));
}

DAT_RETURN kapi_ep_post_rdma_read(struct kapi *k)
{
	DAT_RMR_TRIPLET buffer = remote(k);

	return dat_ep_post_rdma_read(HANDLE(0), num_segments(k), k->segments, COOKIE(2),
				     PTR(0, &buffer), ARG(3));
}

DAT_RETURN kapi_ep_post_rdma_read_to_rmr(struct kapi *k)
{
	const DAT_LMR_TRIPLET *s = &k->segments[0];
	DAT_RMR_TRIPLET buffer = remote(k), local = {
		s->virtual_address, s->segment_length, s->lmr_context
	};

	return dat_ep_post_rdma_read_to_rmr(HANDLE(0), PTR(0, &local), COOKIE(2),
					    PTR(1, &buffer), ARG(3));
}

DAT_RETURN kapi_ep_post_rdma_write(struct kapi *k)
{
	DAT_RMR_TRIPLET buffer = remote(k);

	return dat_ep_post_rdma_write(HANDLE(0), num_segments(k), k->segments, COOKIE(2),
				      PTR(0, &buffer), ARG(3));
}

DAT_RETURN kapi_ib_post_rdma_write_immed(struct kapi *k)
{
	DAT_RMR_TRIPLET buffer = remote(k);

	return dat_ib_post_rdma_write_immed(HANDLE(0), num_segments(k), k->segments, COOKIE(2),
					    PTR(0, &buffer), ARG(7), ARG(3));
}

DAT_RETURN kapi_ib_post_send_immed(struct kapi *k)
{
	return dat_ib_post_send_immed(HANDLE(0), num_segments(k), k->segments, COOKIE(2), ARG(3),
				      ARG(7));
}

DAT_RETURN kapi_ib_post_fetch_and_add(struct kapi *k)
{
	DAT_RMR_TRIPLET buffer = remote(k);

	return dat_ib_post_fetch_and_add(HANDLE(0), ARG(7), PTR(0, k->segments), COOKIE(2),
					 PTR(1, &buffer), ARG(3));
}

DAT_RETURN kapi_ib_post_cmp_and_swap(struct kapi *k)
{
	DAT_RMR_TRIPLET buffer = remote(k);

	return dat_ib_post_cmp_and_swap(HANDLE(0), ARG(7), ARG(8), PTR(0, k->segments), COOKIE(2),
					PTR(1, &buffer), ARG(3));
}

DAT_RETURN kapi_srq_create(struct kapi *k)
{
	DAT_SRQ_ATTR attr = { ARG(2), ARG(3), ARG(4) };
	DAT_SRQ_HANDLE srq = NULL;

	return kapi_made(k, dat_srq_create(HANDLE(0), HANDLE(1), PTR(0, &attr), PTR(1, &srq)),
			 &srq);
}

DAT_RETURN kapi_srq_post_recv(struct kapi *k)
{
	return dat_srq_post_recv(HANDLE(0), num_segments(k), k->segments, COOKIE(2));
}

DAT_RETURN kapi_srq_query(struct kapi *k)
{
	return dat_srq_query(HANDLE(0), ARG(1), PTR(0, &k->u.srq_param));
}

DAT_RETURN kapi_srq_resize(struct kapi *k)
{
	return dat_srq_resize(HANDLE(0), ARG(1));
}

DAT_RETURN kapi_srq_set_lw(struct kapi *k)
{
	return dat_srq_set_lw(HANDLE(0), ARG(1));
}

DAT_RETURN kapi_srq_free(struct kapi *k)
{
	return dat_srq_free(HANDLE(0));
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * calls.c - calls of DAT 2.0 that DAT 1.2 does not have
 */
#include <arpa/inet.h>
#include <string.h>

#include "harness.h"

#include "link.h"
#include "pair.h"

#undef dat_cr_reject
#undef dat_lmr_create
#undef dat_rmr_bind

#include <dat2/dat_registry.h>

/* What libdat2 has no call for, although providers have it, is in their table. */
static const DAT_PROVIDER *table(DAT_HANDLE handle)
{
	return DAT_HANDLE_TO_PROVIDER(handle);
}

static DAT_RETURN send_with_invalidate(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *iov,
				       DAT_DTO_COOKIE cookie,
				       DAT_BOOLEAN invalidate,
				       DAT_RMR_CONTEXT context)
{
	return table(ep)->ep_post_send_with_invalidate_func(ep, 1, iov, cookie,
							    0, invalidate,
							    context);
}

static DAT_RETURN read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *to,
			      DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from)
{
	return table(ep)->ep_post_rdma_read_to_rmr_func(ep, to, cookie, from,
							0);
}

static DAT_RETURN common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address,
				 DAT_TIMEOUT timeout, DAT_COUNT size,
				 const DAT_PVOID data)
{
	return table(ep)->ep_common_connect_func(ep, address, timeout, size,
						 data);
}

static DAT_RETURN rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return table(pz)->rmr_create_for_ep_func(pz, rmr);
}

static DAT_RETURN csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm,
			     DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd,
			     DAT_CSP_HANDLE *csp)
{
	return table(ia)->csp_create_func(ia, comm, address, evd, csp);
}

static DAT_RETURN csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask,
			    DAT_CSP_PARAM *param)
{
	return table(csp)->csp_query_func(csp, mask, param);
}

static DAT_RETURN csp_free(DAT_CSP_HANDLE csp)
{
	return table(csp)->csp_free_func(csp);
}

#define REGION	(4 * PAGE)
#define RW	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

PAIR_FIXTURE(calls, pair_open, REGION)

/* A window of side b onto a part of its region; 0 if it cannot be had. */
static DAT_RMR_CONTEXT window(struct pair *pair, const struct region *b,
			      DAT_RMR_HANDLE rmr, size_t offset, size_t len,
			      DAT_VA_TYPE va_type)
{
	DAT_LMR_TRIPLET triplet = segment(b, offset, len);
	DAT_RMR_COOKIE cookie = { .as_64 = 77 };
	DAT_RMR_CONTEXT context;

	if (dat_rmr_bind(rmr, b->lmr, &triplet, RW, va_type, pair->b.ep, cookie,
			 DAT_COMPLETION_DEFAULT_FLAG, &context) ||
	    wait_bind(pair->b.dto_evd, 77))
		return 0;
	return context;
}

TEST_F(calls, send_with_invalidate_unbinds_rmr)
{
	struct pair *pair = &self->pair;
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_RMR_PARAM param;
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET triplet;
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_rmr_create(pair->b.pz, &rmr));
	context = window(pair, &self->b, rmr, 0, PAGE, DAT_VA_TYPE_VA);
	ASSERT_NE(0, context);
	ASSERT_EQ(DAT_DTO_SUCCESS,
		  write_status(pair, &self->a, context, self->b.buf, PAGE));

	triplet = segment(&self->a, 0, 64);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		       send_with_invalidate(pair->a.ep, &triplet, cookie, 2,
					    context));
	ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 64, 1));
	ASSERT_DAT(send_with_invalidate(pair->a.ep, &triplet, cookie, DAT_TRUE,
					context));
	ASSERT_DAT(wait_event(pair->b.dto_evd, &event));
	d = &event.event_data.dto_completion_event_data;
	EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
	EXPECT_EQ(DAT_DTO_RECEIVE_WITH_INVALIDATE, d->operation);
	EXPECT_EQ(context, d->rmr_context);
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->a.dto_evd, 2));

	ASSERT_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(0, param.lmr_triplet.segment_length);
	EXPECT_NE(DAT_DTO_SUCCESS,
		  write_status(pair, &self->a, context, self->b.buf, PAGE));
}

TEST_F(calls, send_with_invalidate_flag_false)
{
	struct pair *pair = &self->pair;
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_LMR_TRIPLET triplet = segment(&self->a, 0, 64);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_rmr_create(pair->b.pz, &rmr));
	context = window(pair, &self->b, rmr, 0, PAGE, DAT_VA_TYPE_VA);
	ASSERT_NE(0, context);
	ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 64, 1));
	ASSERT_DAT(send_with_invalidate(pair->a.ep, &triplet, cookie, DAT_FALSE,
					context));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->a.dto_evd, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(pair, &self->a, context, self->b.buf, PAGE));
}

TEST_F(calls, read_to_rmr_fills_window)
{
	struct pair *pair = &self->pair;
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };
	DAT_RMR_TRIPLET from, to;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	memset(self->a.buf, 0xaa, REGION);
	memset(self->b.buf, 0xbb, REGION);
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_rmr_create(pair->b.pz, &rmr));
	context = window(pair, &self->b, rmr, PAGE, PAGE, DAT_VA_TYPE_VA);
	ASSERT_NE(0, context);
	to = remote(context, self->b.buf + PAGE, PAGE);
	from = remote(self->a.rmr_context, self->a.buf, PAGE);
	ASSERT_DAT(read_to_rmr(pair->b.ep, &to, cookie, &from));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, 3));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + PAGE, PAGE));
	EXPECT_EQ(0xbb, self->b.buf[PAGE - 1]);
	EXPECT_EQ(0xbb, self->b.buf[2 * PAGE]);
	/* Not a byte behind the window. */
	to = remote(context, self->b.buf + PAGE, PAGE + 1);
	EXPECT_NE(DAT_SUCCESS,
		  read_to_rmr(pair->b.ep, &to, cookie, &from));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       read_to_rmr(pair->b.ep, NULL, cookie, &from));
}

TEST_F(calls, rmr_create_for_ep_scope)
{
	struct pair *pair = &self->pair;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE any, ep;
	DAT_RMR_PARAM param;

	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_rmr_create(pair->b.pz, &any));
	ASSERT_DAT(rmr_create_for_ep(pair->b.pz, &ep));
	ASSERT_DAT(dat_rmr_query(any, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(DAT_RMR_SCOPE_PZ, param.rmr_scope);
	ASSERT_DAT(dat_rmr_query(ep, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(DAT_RMR_SCOPE_EP, param.rmr_scope);
	context = window(pair, &self->b, ep, 0, PAGE, DAT_VA_TYPE_VA);
	ASSERT_NE(0, context);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(pair, &self->a, context, self->b.buf, PAGE));
	EXPECT_DAT(dat_rmr_free(ep));
	EXPECT_DAT(dat_rmr_free(any));
}

TEST_F(calls, zero_based_rmr_remote_offset)
{
	struct pair *pair = &self->pair;
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	memset(self->a.buf, 0xaa, REGION);
	memset(self->b.buf, 0xbb, REGION);
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_rmr_create(pair->b.pz, &rmr));
	context = window(pair, &self->b, rmr, PAGE, PAGE, DAT_VA_TYPE_ZB);
	ASSERT_NE(0, context);
	ASSERT_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(DAT_VA_TYPE_ZB, param.va_type);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(pair, &self->a, context, (void *)8, PAGE - 8));
	EXPECT_EQ(0xbb, self->b.buf[PAGE + 7]);
	EXPECT_EQ(0xaa, self->b.buf[PAGE + 8]);
	EXPECT_EQ(0xaa, self->b.buf[2 * PAGE - 1]);
	EXPECT_EQ(0xbb, self->b.buf[2 * PAGE]);
}

TEST_F(calls, zero_based_lmr_remote_offset)
{
	struct pair *pair = &self->pair;
	DAT_REGION_DESCRIPTION region = { .for_va = self->b.buf };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;
	DAT_VLEN size;

	ASSERT_DAT(dat_lmr_create(pair->ia, DAT_MEM_TYPE_VIRTUAL, region,
				  REGION, pair->b.pz, DAT_MEM_PRIV_ALL_FLAG,
				  DAT_VA_TYPE_ZB, &lmr, &lmr_context,
				  &rmr_context, &size, &address));
	EXPECT_EQ(0, address);
	EXPECT_EQ(REGION, size);
	ASSERT_DAT(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	EXPECT_EQ(DAT_VA_TYPE_ZB, param.va_type);
	memset(self->a.buf, 0xaa, REGION);
	ASSERT_DAT(pair_connect(pair));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(pair, &self->a, rmr_context, NULL, 16));
	EXPECT_EQ(0xaa, self->b.buf[15]);
	EXPECT_EQ(0, self->b.buf[16]);
	EXPECT_DAT(dat_lmr_free(lmr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		       dat_lmr_create(pair->ia, DAT_MEM_TYPE_VIRTUAL, region,
				      REGION, pair->b.pz, DAT_MEM_PRIV_ALL_FLAG,
				      2, &lmr, &lmr_context, &rmr_context,
				      &size, &address));
}

TEST_F(calls, reject_private_data)
{
	struct pair *pair = &self->pair;
	char why[] = "not today";
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_DAT(connect_to(pair, pair->a.ep, pair->qual));
	ASSERT_DAT(next_cr(pair, &cr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_reject(cr, -1, why));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_cr_reject(cr, 4, NULL));
	ASSERT_DAT(dat_cr_reject(cr, sizeof(why), why));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
			dat_cr_reject(cr, sizeof(why), why));
	ASSERT_DAT(wait_for(pair->a.conn_evd,
			    DAT_CONNECTION_EVENT_PEER_REJECTED, &event));
	d = &event.event_data.connect_event_data;
	ASSERT_LE(sizeof(why), d->private_data_size);
	EXPECT_EQ(0, memcmp(d->private_data, why, sizeof(why)));
}

TEST_F(calls, csp_connect_by_port)
{
	struct pair *pair = &self->pair;
	DAT_COMM comm = { .domain = AF_INET, .type = SOCK_STREAM };
	struct sockaddr_in *in;
	DAT_IA_ATTR ia_attr;
	DAT_SOCK_ADDR6 address;
	DAT_PZ_PARAM pz_param;
	DAT_CSP_PARAM param;
	DAT_CSP_HANDLE csp;
	DAT_CR_HANDLE cr;

	/* libdat2 keeps the provider's handle of the IA to itself. */
	ASSERT_DAT(dat_pz_query(pair->a.pz, DAT_PZ_FIELD_ALL, &pz_param));
	ASSERT_DAT(dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0,
				NULL));
	memcpy(&address, ia_attr.ia_address_ptr, sizeof(struct sockaddr_in));
	in = (struct sockaddr_in *)&address;
	in->sin_port = 0;
	ASSERT_DAT(csp_create(pz_param.ia_handle, &comm, (DAT_IA_ADDRESS_PTR)in,
			      pair->cr_evd, &csp));
	ASSERT_DAT(csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	EXPECT_EQ(AF_INET, param.comm->domain);
	EXPECT_EQ(pair->cr_evd, param.evd_handle);
	memcpy(in, param.address_ptr, sizeof(*in));
	EXPECT_NE(0, in->sin_port);

	ASSERT_DAT(common_connect(pair->a.ep, (DAT_IA_ADDRESS_PTR)in,
				  PAIR_TIMEOUT, 0, NULL));
	ASSERT_DAT(next_cr(pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, pair->b.ep, 0, NULL));
	EXPECT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(pair, pair->a.ep, pair->b.ep, &self->a, &self->b));
	EXPECT_DAT(csp_free(csp));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, csp_free(csp));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
			csp_query(csp, DAT_CSP_FIELD_ALL, &param));
}

TEST_F(calls, ep_modify_comm_rejected)
{
	DAT_EP_PARAM param = {};

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_ep_modify(self->pair.a.ep, DAT_EP_FIELD_COMM, &param));
}

TEST_HARNESS_MAIN

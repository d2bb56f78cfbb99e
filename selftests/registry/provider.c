// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * provider.c - a provider beside kdapl: registered, called, gone
 */
#include "harness.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mock.h"
#include "pair.h"

#define BAD(object)	ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_ ## object)
#define MAX_IAS	16

/* What no call returns by itself */
#define ODD	ERROR(DAT_ABORT, 0x1234)

static const DAT_PROVIDER_INFO mock_info = {
	.ia_name = "mock0",
	.dapl_version_major = 1,
	.dapl_version_minor = 2,
	.is_thread_safe = DAT_TRUE,
};

/* One object of each type; the functions return ODD from now on. */
FIXTURE(provider)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_EVD_HANDLE evd2;
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_EP_HANDLE ep2;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	bool is_closed;
};

static DAT_RETURN open_mock(const char *name, DAT_EVD_HANDLE *async_evd,
			    DAT_IA_HANDLE *ia)
{
	*async_evd = DAT_HANDLE_NULL;
	return dat_ia_open((char *)name, 8, async_evd, ia);
}

/* A connection request, as it comes to the program */
static DAT_CR_HANDLE take_cr(DAT_EVD_HANDLE evd)
{
	DAT_CR_ARRIVAL_EVENT_DATA *arrival =
		&mock.event.event_data.cr_arrival_event_data;
	DAT_RETURN ret = mock.ret;
	DAT_EVENT event;

	mock.event.event_number = DAT_CONNECTION_REQUEST_EVENT;
	arrival->cr_handle = mock_make();
	mock.ret = DAT_SUCCESS;
	if (dat_evd_dequeue(evd, &event))
		return DAT_HANDLE_NULL;
	mock.ret = ret;
	memset(&mock.event, 0, sizeof(mock.event));
	mock.calls = 0;
	return event.event_data.cr_arrival_event_data.cr_handle;
}

FIXTURE_SETUP(provider)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_REGION_DESCRIPTION region = { .for_va = self };
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1 };
	DAT_LMR_CONTEXT context;

	ASSERT_DAT(dat_registry_add_provider(&mock_provider, &mock_info));
	ASSERT_DAT(open_mock("mock0", &self->async_evd, &self->ia));
	ASSERT_DAT(dat_cno_create(self->ia, agent, &self->cno));
	ASSERT_DAT(dat_evd_create(self->ia, 8, self->cno, DAT_EVD_DEFAULT_FLAG,
				  &self->evd));
	ASSERT_DAT(dat_evd_create(self->ia, 8, DAT_HANDLE_NULL,
				  DAT_EVD_DEFAULT_FLAG, &self->evd2));
	ASSERT_DAT(dat_pz_create(self->ia, &self->pz));
	ASSERT_DAT(dat_srq_create(self->ia, self->pz, &attr, &self->srq));
	ASSERT_DAT(dat_ep_create(self->ia, self->pz, self->evd, self->evd,
				 self->evd, NULL, &self->ep));
	ASSERT_DAT(dat_ep_create_with_srq(self->ia, self->pz, self->evd,
					  self->evd, self->evd, self->srq, NULL,
					  &self->ep2));
	ASSERT_DAT(dat_lmr_create(self->ia, DAT_MEM_TYPE_VIRTUAL, region, 8,
				  self->pz, DAT_MEM_PRIV_ALL_FLAG, &self->lmr,
				  &context, NULL, NULL, NULL));
	ASSERT_DAT(dat_rmr_create(self->pz, &self->rmr));
	ASSERT_DAT(dat_psp_create(self->ia, 1, self->evd, DAT_PSP_PROVIDER_FLAG,
				  &self->psp));
	ASSERT_DAT(dat_rsp_create(self->ia, 1, self->ep, self->evd,
				  &self->rsp));
	self->cr = take_cr(self->evd);
	ASSERT_NE(DAT_HANDLE_NULL, self->cr);
	mock.ret = ODD;
}

FIXTURE_TEARDOWN(provider)
{
	mock.ret = DAT_SUCCESS;
	if (!self->is_closed)
		EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &mock_info));
}

/* The call comes to the provider with its arguments, and its answer back. */
#define PASSES(call, ...)						\
	do {								\
		mock.calls = 0;						\
		EXPECT_EQ(mock.ret, dat_ ## call(__VA_ARGS__));		\
		EXPECT_TRUE(mock_saw(MOCK_CALL(#call, __VA_ARGS__)));	\
	} while (0)

/* The provider is not asked. */
#define STAYS_HERE(expected, call, ...)					\
	do {								\
		mock.calls = 0;						\
		EXPECT_EQ((DAT_RETURN)(expected),			\
			  dat_ ## call(__VA_ARGS__));			\
		EXPECT_EQ(0, mock.calls);				\
	} while (0)

TEST_F(provider, forward_ia_calls)
{
	DAT_PROVIDER_ATTR provider_attr;
	const DAT_LMR_TRIPLET triplets[2] = { }, *range = triplets;
	DAT_VLEN two = 2;
	DAT_IA_ATTR attr;
	DAT_EVD_HANDLE evd;

	PASSES(ia_query, self->ia, &evd, DAT_IA_FIELD_IA_MAX_EPS, &attr,
	       DAT_PROVIDER_FIELD_PROVIDER_NAME, &provider_attr);
	/* Whatever we would say of it. */
	PASSES(ia_query, self->ia, NULL, ~DAT_IA_FIELD_NONE, NULL,
	       ~DAT_PROVIDER_FIELD_NONE, NULL);
	PASSES(lmr_sync_rdma_read, self->ia, range, two);
	PASSES(lmr_sync_rdma_write, self->ia, range, two);
	PASSES(ia_close, self->ia, DAT_CLOSE_GRACEFUL_FLAG);
	/* It could not be closed. */
	PASSES(ia_close, self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

TEST_F(provider, forward_common_calls)
{
	const DAT_HANDLE handles[] = {
		self->ia, self->async_evd, self->cno, self->evd, self->pz,
		self->srq, self->ep, self->ep2, self->lmr, self->rmr,
		self->psp, self->rsp, self->cr,
	};
	DAT_CONTEXT context = { .as_64 = 0x123456789abcdef0 };
	DAT_HANDLE_TYPE type;
	size_t i;

	for (i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
		PASSES(get_handle_type, handles[i], &type);
		PASSES(set_consumer_context, handles[i], context);
		PASSES(get_consumer_context, handles[i], &context);
	}
}

static void agent_func(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
	(void)instance_data;
	(void)evd;
}

TEST_F(provider, forward_cno_calls)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { self, agent_func };
	DAT_TIMEOUT timeout = DAT_TIMEOUT_INFINITE;
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM param;
	DAT_EVD_HANDLE evd;

	PASSES(cno_create, self->ia, agent, &cno);
	PASSES(cno_modify_agent, self->cno, agent);
	PASSES(cno_query, self->cno, DAT_CNO_FIELD_AGENT, &param);
	PASSES(cno_wait, self->cno, timeout, &evd);
	PASSES(cno_free, self->cno);
}

TEST_F(provider, forward_evd_calls)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_TIMEOUT timeout = 77;
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_COUNT nmore;

	PASSES(evd_create, self->ia, -3, self->cno, DAT_EVD_CR_FLAG, &evd);
	PASSES(evd_create, self->ia, 3, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd);
	PASSES(evd_query, self->evd, DAT_EVD_FIELD_CNO, &param);
	PASSES(evd_modify_cno, self->evd, self->cno);
	PASSES(evd_modify_cno, self->evd, DAT_HANDLE_NULL);
	PASSES(evd_enable, self->evd);
	PASSES(evd_disable, self->evd);
	PASSES(evd_set_unwaitable, self->evd);
	PASSES(evd_clear_unwaitable, self->evd);
	PASSES(evd_resize, self->evd, 99);
	PASSES(evd_post_se, self->evd, &event);
	PASSES(evd_dequeue, self->evd, &event);
	PASSES(evd_dequeue, self->async_evd, &event);
	PASSES(evd_wait, self->evd, timeout, 5, &event, &nmore);
	PASSES(evd_free, self->evd);
}

TEST_F(provider, forward_ep_calls)
{
	DAT_EP_PARAM param = { .pz_handle = self->pz };
	DAT_PVOID data = &param;
	DAT_IA_ADDRESS_PTR address = data;
	DAT_TIMEOUT timeout = 12345;
	DAT_CONN_QUAL qual = 0x123456789;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_COUNT allocated, span;
	DAT_EP_ATTR attr = { };
	DAT_EP_STATE state;
	DAT_EP_HANDLE ep;

	PASSES(ep_create, self->ia, self->pz, self->evd, self->evd2,
	       DAT_HANDLE_NULL, &attr, &ep);
	PASSES(ep_create_with_srq, self->ia, self->pz, DAT_HANDLE_NULL,
	       self->evd, self->evd2, self->srq, &attr, &ep);
	PASSES(ep_query, self->ep, DAT_EP_FIELD_ALL, &param);
	PASSES(ep_modify, self->ep, DAT_EP_FIELD_PZ_HANDLE, &param);
	PASSES(ep_connect, self->ep, address, qual, timeout, 5, data,
	       DAT_QOS_LOW_LATENCY, DAT_CONNECT_MULTIPATH_FLAG);
	PASSES(ep_dup_connect, self->ep, self->ep2, timeout, 5, data,
	       DAT_QOS_ECONOMY);
	PASSES(ep_disconnect, self->ep, DAT_CLOSE_GRACEFUL_FLAG);
	PASSES(ep_get_status, self->ep, &state, &recv_idle, &request_idle);
	PASSES(ep_recv_query, self->ep, &allocated, &span);
	PASSES(ep_set_watermark, self->ep, 7, 8);
	PASSES(ep_reset, self->ep);
	PASSES(ep_free, self->ep);
}

TEST_F(provider, forward_post_calls)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0x8877665544332211 };
	DAT_LMR_TRIPLET iov[2] = { { .segment_length = 1 } };
	DAT_RMR_TRIPLET remote = { .segment_length = 1 };
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET *local = iov;
	const DAT_LMR_TRIPLET *range = iov;

	PASSES(ep_post_send, self->ep, 2, local, cookie,
	       DAT_COMPLETION_SUPPRESS_FLAG);
	PASSES(ep_post_recv, self->ep, 2, local, cookie,
	       DAT_COMPLETION_UNSIGNALLED_FLAG);
	PASSES(ep_post_rdma_read, self->ep, 2, local, cookie, &remote,
	       DAT_COMPLETION_BARRIER_FENCE_FLAG);
	PASSES(ep_post_rdma_write, self->ep, -1, local, cookie, &remote,
	       DAT_COMPLETION_DEFAULT_FLAG);
	PASSES(srq_post_recv, self->srq, 2, local, cookie);
	PASSES(rmr_bind, self->rmr, range, DAT_MEM_PRIV_REMOTE_READ_FLAG,
	       self->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &context);
}

TEST_F(provider, forward_memory_calls)
{
	DAT_REGION_DESCRIPTION region = { .for_va = self };
	DAT_VLEN length = 0x123456789, size;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_PZ_PARAM pz_param;
	DAT_LMR_PARAM param;
	DAT_RMR_PARAM rmr_param;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_VADDR address;
	DAT_PZ_HANDLE pz;

	PASSES(pz_create, self->ia, &pz);
	PASSES(pz_query, self->pz, DAT_PZ_FIELD_ALL, &pz_param);
	PASSES(lmr_create, self->ia, DAT_MEM_TYPE_VIRTUAL, region, length,
	       self->pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context,
	       &rmr_context, &size, &address);
	region.for_lmr_handle = self->lmr;
	PASSES(lmr_create, self->ia, DAT_MEM_TYPE_LMR, region, length,
	       self->pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context,
	       &rmr_context, &size, &address);
	PASSES(lmr_query, self->lmr, DAT_LMR_FIELD_LENGTH, &param);
	PASSES(lmr_free, self->lmr);
	PASSES(rmr_create, self->pz, &rmr);
	PASSES(rmr_query, self->rmr, DAT_RMR_FIELD_ALL, &rmr_param);
	PASSES(rmr_free, self->rmr);
	PASSES(pz_free, self->pz);
}

TEST_F(provider, forward_srq_calls)
{
	DAT_SRQ_ATTR attr;
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;

	PASSES(srq_create, self->ia, self->pz, &attr, &srq);
	PASSES(srq_query, self->srq, DAT_SRQ_FIELD_ALL, &param);
	PASSES(srq_resize, self->srq, 32);
	PASSES(srq_set_lw, self->srq, 4);
	PASSES(srq_free, self->srq);
}

TEST_F(provider, forward_sp_and_cr_calls)
{
	DAT_CONN_QUAL qual = 0x123456789;
	DAT_PVOID data = self;
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_CR_PARAM cr_param;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;

	PASSES(psp_create, self->ia, qual, self->evd, DAT_PSP_CONSUMER_FLAG,
	       &psp);
	PASSES(psp_create_any, self->ia, &qual, self->evd,
	       DAT_PSP_PROVIDER_FLAG, &psp);
	PASSES(psp_query, self->psp, DAT_PSP_FIELD_ALL, &psp_param);
	PASSES(psp_free, self->psp);
	PASSES(rsp_create, self->ia, qual, self->ep, self->evd, &rsp);
	PASSES(rsp_query, self->rsp, DAT_RSP_FIELD_ALL, &rsp_param);
	PASSES(rsp_free, self->rsp);
	PASSES(cr_query, self->cr, DAT_CR_FIELD_ALL, &cr_param);
	PASSES(cr_accept, self->cr, self->ep, 5, data);
	PASSES(cr_handoff, self->cr, qual);
	PASSES(cr_reject, self->cr);
}

TEST_F(provider, freed_handles_rejected)
{
	DAT_EVENT event;

	mock.ret = DAT_SUCCESS;
	PASSES(rsp_free, self->rsp);
	PASSES(psp_free, self->psp);
	PASSES(cr_reject, self->cr);
	PASSES(rmr_free, self->rmr);
	PASSES(lmr_free, self->lmr);
	PASSES(ep_free, self->ep);
	PASSES(srq_free, self->srq);
	PASSES(pz_free, self->pz);
	PASSES(evd_free, self->evd);
	PASSES(cno_free, self->cno);
	STAYS_HERE(BAD(RSP), rsp_free, self->rsp);
	STAYS_HERE(BAD(PSP), psp_free, self->psp);
	STAYS_HERE(BAD(CR), cr_reject, self->cr);
	STAYS_HERE(BAD(RMR), rmr_free, self->rmr);
	STAYS_HERE(BAD(LMR), lmr_free, self->lmr);
	STAYS_HERE(BAD(EP), ep_reset, self->ep);
	STAYS_HERE(BAD(SRQ), srq_set_lw, self->srq, 1);
	STAYS_HERE(BAD(PZ), pz_free, self->pz);
	STAYS_HERE(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), evd_dequeue,
		   self->evd, &event);
	STAYS_HERE(BAD(CNO), cno_free, self->cno);
	PASSES(ep_free, self->ep2);
	PASSES(ia_close, self->ia, DAT_CLOSE_ABRUPT_FLAG);
	self->is_closed = true;
	STAYS_HERE(BAD(IA), ia_close, self->ia, DAT_CLOSE_ABRUPT_FLAG);
	/* It went with the IA. */
	STAYS_HERE(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), evd_dequeue,
		   self->async_evd, &event);
}

TEST_F(provider, bad_handles_rejected)
{
	const DAT_HANDLE forged[] = {
		DAT_HANDLE_NULL, (DAT_HANDLE)1, (DAT_HANDLE)17,
		(DAT_HANDLE)UINT32_MAX, (DAT_HANDLE)HIGH_BIT,
		(DAT_HANDLE)UINTPTR_MAX, self, (char *)self->ep + 1,
		(char *)self->ep - 1, self->evd, self->ia,
	};
	DAT_HANDLE_TYPE type;
	size_t i;

	for (i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		STAYS_HERE(BAD(EP), ep_free, forged[i]);
		STAYS_HERE(BAD(LMR), lmr_free, forged[i]);
	}
	for (i = 0; i < 9; i++) {
		mock.calls = 0;
		EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
				dat_get_handle_type(forged[i], &type));
		EXPECT_EQ(0, mock.calls);
	}
}

TEST_F(provider, bad_second_handles_rejected)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = self->ep };
	DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_LMR_TRIPLET triplet = { .segment_length = 0 };
	DAT_EP_PARAM param = {
		.pz_handle = self->evd,
		.recv_evd_handle = self->pz,
		.request_evd_handle = self->pz,
		.connect_evd_handle = self->pz,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_HANDLE out, bad = self;
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1 };
	DAT_LMR_CONTEXT context;
	DAT_CONN_QUAL qual = 1;

	STAYS_HERE(BAD(CNO), evd_create, self->ia, 1, bad, DAT_EVD_CR_FLAG,
		   &out);
	STAYS_HERE(BAD(CNO), evd_modify_cno, self->evd, self->evd);
	STAYS_HERE(BAD(PZ), ep_create, self->ia, bad, self->evd, self->evd,
		   self->evd, NULL, &out);
	STAYS_HERE(BAD(EVD_RECV), ep_create, self->ia, self->pz, bad,
		   self->evd, self->evd, NULL, &out);
	STAYS_HERE(BAD(EVD_REQUEST), ep_create, self->ia, self->pz, self->evd,
		   bad, self->evd, NULL, &out);
	STAYS_HERE(BAD(EVD_CONN), ep_create, self->ia, self->pz, self->evd,
		   self->evd, bad, NULL, &out);
	STAYS_HERE(BAD(SRQ), ep_create_with_srq, self->ia, self->pz, self->evd,
		   self->evd, self->evd, bad, NULL, &out);
	STAYS_HERE(BAD(PZ), ep_modify, self->ep, DAT_EP_FIELD_PZ_HANDLE,
		   &param);
	STAYS_HERE(BAD(EVD_RECV), ep_modify, self->ep,
		   DAT_EP_FIELD_RECV_EVD_HANDLE, &param);
	STAYS_HERE(BAD(EVD_REQUEST), ep_modify, self->ep,
		   DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param);
	STAYS_HERE(BAD(EVD_CONN), ep_modify, self->ep,
		   DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param);
	/* Only what is to be modified is looked at. */
	PASSES(ep_modify, self->ep, DAT_EP_FIELD_EP_ATTR_QOS, &param);
	STAYS_HERE(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE2),
		   ep_dup_connect, self->ep, bad, 0, 0, NULL,
		   DAT_QOS_BEST_EFFORT);
	STAYS_HERE(BAD(EP), cr_accept, self->cr, bad, 0, NULL);
	STAYS_HERE(BAD(PZ), lmr_create, self->ia, DAT_MEM_TYPE_VIRTUAL, region,
		   1, bad, DAT_MEM_PRIV_ALL_FLAG, &out, &context, NULL, NULL,
		   NULL);
	STAYS_HERE(BAD(LMR), lmr_create, self->ia, DAT_MEM_TYPE_LMR, region, 1,
		   self->pz, DAT_MEM_PRIV_ALL_FLAG, &out, &context, NULL, NULL,
		   NULL);
	STAYS_HERE(BAD(EP), rmr_bind, self->rmr, &triplet,
		   DAT_MEM_PRIV_ALL_FLAG, bad, cookie, flags, &context);
	STAYS_HERE(BAD(EVD_CR), psp_create, self->ia, qual, bad,
		   DAT_PSP_CONSUMER_FLAG, &out);
	STAYS_HERE(BAD(EVD_CR), psp_create_any, self->ia, &qual, bad,
		   DAT_PSP_CONSUMER_FLAG, &out);
	STAYS_HERE(BAD(EP), rsp_create, self->ia, qual, bad, self->evd, &out);
	STAYS_HERE(BAD(EVD_CR), rsp_create, self->ia, qual, self->ep, bad,
		   &out);
	STAYS_HERE(BAD(PZ), srq_create, self->ia, bad, &attr, &out);
}

TEST_F(provider, failed_free_keeps_handle)
{
	DAT_EVENT event;

	PASSES(evd_free, self->evd);
	PASSES(evd_dequeue, self->evd, &event);
	PASSES(cr_accept, self->cr, self->ep, 0, NULL);
	mock.ret = DAT_SUCCESS;
	PASSES(cr_accept, self->cr, self->ep, 0, NULL);
	STAYS_HERE(BAD(CR), cr_reject, self->cr);
}

TEST_F(provider, ep_from_cr_and_rsp)
{
	DAT_CR_PARAM param = { .local_ep_handle = self };
	DAT_RSP_PARAM rsp_param;
	DAT_CR_HANDLE second = take_cr(self->evd);
	DAT_CR_HANDLE third = take_cr(self->evd);
	DAT_EP_HANDLE ep;

	/* Told by a query, and gone with the request */
	mock.ret = DAT_SUCCESS;
	ep = mock_make();
	mock.ep = ep;
	STAYS_HERE(BAD(EP), ep_reset, ep);
	PASSES(cr_query, self->cr, DAT_CR_FIELD_PRIVATE_DATA, &param);
	EXPECT_EQ(self, param.local_ep_handle);
	STAYS_HERE(BAD(EP), ep_reset, ep);
	PASSES(cr_query, self->cr, DAT_CR_FIELD_ALL, &param);
	EXPECT_EQ(ep, param.local_ep_handle);
	PASSES(ep_reset, ep);
	PASSES(cr_reject, self->cr);
	STAYS_HERE(BAD(EP), ep_reset, ep);
	/* The program's own stays. */
	mock.ep = self->ep;
	PASSES(cr_query, second, DAT_CR_FIELD_ALL, &param);
	PASSES(cr_handoff, second, (DAT_CONN_QUAL)1);
	PASSES(ep_reset, self->ep);
	/* Never asked for, but connected from now on */
	ep = mock_make();
	mock.ep = ep;
	EXPECT_DAT(dat_cr_accept(third, DAT_HANDLE_NULL, 0, NULL));
	EXPECT_STREQ("cr_accept", mock.last.func);
	EXPECT_EQ(0, mock.last.args[1]);
	PASSES(ep_reset, ep);
	PASSES(ep_free, ep);
	/* That of an RSP */
	ep = mock_make();
	mock.ep = ep;
	PASSES(rsp_query, self->rsp, DAT_RSP_FIELD_ALL, &rsp_param);
	EXPECT_EQ(ep, rsp_param.ep_handle);
	PASSES(ep_reset, ep);
	PASSES(rsp_free, self->rsp);
	PASSES(ep_reset, ep);
}

TEST_F(provider, cr_from_evd_wait)
{
	DAT_TIMEOUT timeout = 0;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_CR_HANDLE cr;

	cr = mock_make();
	mock.event.event_number = DAT_CONNECTION_REQUEST_EVENT;
	mock.event.event_data.cr_arrival_event_data.cr_handle = cr;
	/* There is no event, whatever stands there. */
	PASSES(evd_wait, self->evd, timeout, 1, &event, &nmore);
	STAYS_HERE(BAD(CR), cr_reject, cr);
	mock.ret = DAT_SUCCESS;
	PASSES(evd_wait, self->evd, timeout, 1, &event, &nmore);
	EXPECT_EQ(cr, event.event_data.cr_arrival_event_data.cr_handle);
	PASSES(cr_reject, cr);
	STAYS_HERE(BAD(CR), cr_reject, cr);
}

TEST_F(provider, provider_reuses_handle)
{
	DAT_EVD_HANDLE evd = self->evd;
	DAT_EVENT event;

	/* It has freed the EVD by itself, and makes a request of its memory. */
	mock.ret = DAT_SUCCESS;
	mock.event.event_number = DAT_CONNECTION_REQUEST_EVENT;
	mock.event.event_data.cr_arrival_event_data.cr_handle = evd;
	PASSES(evd_dequeue, self->evd2, &event);
	STAYS_HERE(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1), evd_dequeue,
		   evd, &event);
	PASSES(cr_reject, evd);
}

TEST_F(provider, open_several_times)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia, other;
	DAT_PZ_HANDLE pz;
	char name[] = "mock0";

	mock.ret = DAT_SUCCESS;
	EXPECT_DAT(dat_ia_open(name, 8, &evd, &ia));
	EXPECT_EQ(DAT_EVD_ASYNC_EXISTS, evd);
	evd = self->async_evd;
	EXPECT_DAT(dat_ia_open(name, 8, &evd, &other));
	EXPECT_EQ(self->async_evd, evd);
	evd = self->pz;
	mock.calls = 0;
	EXPECT_EQ(BAD(EVD_ASYNC), dat_ia_open(name, 8, &evd, &other));
	EXPECT_EQ(0, mock.calls);
	EXPECT_DAT(dat_pz_create(ia, &pz));
	PASSES(ia_close, self->ia, DAT_CLOSE_ABRUPT_FLAG);
	self->is_closed = true;
	PASSES(pz_free, pz);
	STAYS_HERE(BAD(PZ), pz_free, self->pz);
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE),
		       dat_registry_remove_provider(&mock_provider,
						    &mock_info));
	PASSES(ia_close, ia, DAT_CLOSE_ABRUPT_FLAG);
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE),
		       dat_registry_remove_provider(&mock_provider,
						    &mock_info));
	PASSES(ia_close, other, DAT_CLOSE_ABRUPT_FLAG);
}

TEST_F(provider, call_after_fork)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		mock.calls = 0;
		_exit(dat_ep_reset(self->ep) != ODD || mock.calls != 1 ||
		      dat_registry_add_provider(&mock_provider, &mock_info) !=
		      ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Every function is missing but the two that must be there. */
TEST_F(provider, missing_functions_not_implemented)
{
	DAT_PROVIDER bare = {
		.ia_open_func = mock_provider.ia_open_func,
		.ia_close_func = mock_provider.ia_close_func,
	};
	DAT_PROVIDER_INFO info = mock_info;
	DAT_PROVIDER **table;
	DAT_RSP_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	memcpy(info.ia_name, "bare0", sizeof("bare0"));
	mock.ret = DAT_SUCCESS;
	EXPECT_DAT(dat_registry_add_provider(&bare, &info));
	EXPECT_DAT(open_mock("bare0", &evd, &ia));
	/* The object says which functions it has, not who opened it. */
	EXPECT_DAT(dat_pz_create(ia, &pz));
	table = (DAT_PROVIDER **)mock_make();
	*table = &bare;
	mock.ep = table;
	PASSES(rsp_query, self->rsp, DAT_RSP_FIELD_ALL, &param);
	STAYS_HERE(ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE), ep_reset, table);
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT(dat_registry_remove_provider(&bare, &info));
}

static bool is_listed(const char *name)
{
	DAT_PROVIDER_INFO infos[MAX_IAS], *list[MAX_IAS];
	DAT_COUNT num, i;

	for (i = 0; i < MAX_IAS; i++)
		list[i] = &infos[i];
	if (dat_registry_list_providers(MAX_IAS, &num, list))
		return false;
	for (i = 0; i < num; i++)
		if (!strcmp(infos[i].ia_name, name))
			return true;
	return false;
}

TEST(add_provider_bad_or_duplicate)
{
	DAT_PROVIDER bad = mock_provider;
	DAT_PROVIDER_INFO info = mock_info;

	EXPECT_FALSE(is_listed("mock0"));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_registry_add_provider(NULL, &info));
	bad.ia_open_func = NULL;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_registry_add_provider(&bad, &info));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_registry_add_provider(&mock_provider, NULL));
	info.ia_name[0] = '\0';
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_registry_add_provider(&mock_provider, &info));
	memset(info.ia_name, 'x', sizeof(info.ia_name));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_registry_add_provider(&mock_provider, &info));
	info = mock_info;
	EXPECT_DAT(dat_registry_add_provider(&mock_provider, &info));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE),
		       dat_registry_add_provider(&mock_provider, &info));
	EXPECT_TRUE(is_listed("mock0"));
	/* One provider can have several. */
	memcpy(info.ia_name, "mock1", sizeof("mock1"));
	EXPECT_DAT(dat_registry_add_provider(&mock_provider, &info));
	EXPECT_TRUE(is_listed("mock0"));
	EXPECT_TRUE(is_listed("mock1"));
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &info));
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &mock_info));
	EXPECT_FALSE(is_listed("mock0"));
}

TEST(remove_provider_not_registered)
{
	DAT_PROVIDER other = mock_provider;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_registry_remove_provider(&mock_provider,
						    &mock_info));
	ASSERT_DAT(dat_registry_add_provider(&mock_provider, &mock_info));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_registry_remove_provider(&other, &mock_info));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_registry_remove_provider(NULL, &mock_info));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_registry_remove_provider(&mock_provider, NULL));
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &mock_info));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_registry_remove_provider(&mock_provider,
						    &mock_info));
}

TEST(open_version_mismatch)
{
	DAT_PROVIDER_INFO info = mock_info;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;

#define OPEN(name, major, minor, is_safe) \
	(evd = DAT_HANDLE_NULL, \
	 dat_ia_openv(name, 8, &evd, &ia, major, minor, is_safe))
#define NOT_FOUND(why)	ERROR(DAT_PROVIDER_NOT_FOUND, why)
	info.is_thread_safe = DAT_FALSE;
	ASSERT_DAT(dat_registry_add_provider(&mock_provider, &info));
	EXPECT_EQ(NOT_FOUND(DAT_MAJOR_NOT_FOUND),
		  OPEN(info.ia_name, 2, 0, DAT_FALSE));
	EXPECT_EQ(NOT_FOUND(DAT_MINOR_NOT_FOUND),
		  OPEN(info.ia_name, 1, 3, DAT_FALSE));
	EXPECT_EQ(NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND),
		  OPEN(info.ia_name, 1, 2, DAT_TRUE));
	EXPECT_EQ(0, mock.calls);
	/* The provider does not want to, and is not in use then. */
	mock.ret = ODD;
	EXPECT_EQ(ODD, OPEN(info.ia_name, 1, 1, DAT_FALSE));
	EXPECT_TRUE(mock_saw(MOCK_CALL("ia_open", 'm', 8, &evd, &ia)) ||
		    mock.last.args[0] == 'm');
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &info));
	ASSERT_DAT(dat_registry_add_provider(&mock_provider, &info));
	mock.ret = DAT_SUCCESS;
	EXPECT_DAT(OPEN((char *)"RO_AWARE_mock0", 1, 0, DAT_FALSE));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE),
		       dat_registry_remove_provider(&mock_provider, &info));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &info));
#undef NOT_FOUND
#undef OPEN
}

#define NUM_THREADS	4
#define NUM_ROUNDS	2000

/* Makes and frees objects of an IA that all threads share. */
static void *worker(void *arg)
{
	DAT_IA_HANDLE ia = arg;
	DAT_PZ_HANDLE pz;
	DAT_RMR_HANDLE rmr;
	int i;

	for (i = 0; i < NUM_ROUNDS; i++)
		if (dat_pz_create(ia, &pz) || dat_rmr_create(pz, &rmr) ||
		    dat_rmr_free(rmr) || dat_pz_free(pz) ||
		    DAT_GET_TYPE(dat_pz_free(pz)) != DAT_INVALID_HANDLE)
			return arg;
	return NULL;
}

TEST(concurrent_calls)
{
	pthread_t threads[NUM_THREADS];
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	void *failed;
	int i;

	ASSERT_DAT(dat_registry_add_provider(&mock_provider, &mock_info));
	ASSERT_DAT(open_mock("mock0", &evd, &ia));
	for (i = 0; i < NUM_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, worker, ia));
	for (i = 0; i < NUM_THREADS; i++) {
		EXPECT_EQ(0, pthread_join(threads[i], &failed));
		EXPECT_EQ(NULL, failed);
	}
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &mock_info));
}

/* Beside an IA of kdapl's */
FIXTURE(beside)
{
	struct pair pair;
	DAT_EVD_HANDLE async_evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
};

FIXTURE_SETUP(beside)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(dat_registry_add_provider(&mock_provider, &mock_info));
	ASSERT_DAT(open_mock("mock0", &self->async_evd, &self->ia));
	ASSERT_DAT(dat_pz_create(self->ia, &self->pz));
	ASSERT_DAT(dat_evd_create(self->ia, 8, DAT_HANDLE_NULL,
				  DAT_EVD_DEFAULT_FLAG, &self->evd));
}

FIXTURE_TEARDOWN(beside)
{
	EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT(dat_registry_remove_provider(&mock_provider, &mock_info));
	pair_close(&self->pair);
}

TEST_F(beside, two_providers_work)
{
	struct pair *pair = &self->pair;
	struct region a, b;

	EXPECT_TRUE(is_listed("mock0"));
	EXPECT_TRUE(is_listed(ia_name()));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(regions_open(pair, &a, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	mock.calls = 0;
	EXPECT_TRUE(carries(pair, pair->a.ep, pair->b.ep, &a, &b));
	EXPECT_EQ(0, mock.calls);
	mock.ret = ODD;
	PASSES(pz_free, self->pz);
	mock.ret = DAT_SUCCESS;
	PASSES(pz_free, self->pz);
	region_close(&a);
	region_close(&b);
}

TEST_F(beside, handles_of_other_provider)
{
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE ep;

	STAYS_HERE(BAD(PZ), ep_create, self->ia, pair->a.pz, self->evd,
		   self->evd, self->evd, NULL, &ep);
	STAYS_HERE(BAD(EVD_RECV), ep_create, self->ia, self->pz,
		   pair->a.dto_evd, self->evd, self->evd, NULL, &ep);
	STAYS_HERE(BAD(PZ), ep_create, pair->ia, self->pz, pair->a.dto_evd,
		   pair->a.dto_evd, pair->a.conn_evd, NULL, &ep);
	STAYS_HERE(BAD(EVD_RECV), ep_create, pair->ia, pair->a.pz, self->evd,
		   pair->a.dto_evd, pair->a.conn_evd, NULL, &ep);
	STAYS_HERE(BAD(EP), ep_free, self->evd);
}

TEST_F(beside, add_provider_device_name)
{
	DAT_PROVIDER_INFO info = mock_info;

	snprintf(info.ia_name, sizeof(info.ia_name), "%s", ia_name());
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE),
		       dat_registry_add_provider(&mock_provider, &info));
}

TEST_HARNESS_MAIN

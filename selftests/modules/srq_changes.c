// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_changes.c - shared receive queues: modify and reset of EPs
 */
#include "report.h"
#include "srq_test.h"

static bool is_unconnected(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	CHECK_EQ(DAT_SUCCESS, dat_ep_get_status(ep, &state, NULL, NULL));
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state);
	return true;
}

static bool disconnect_and_reset(int i)
{
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(srq_links[i].b,
						DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(srq_pair.b.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(kwait_number(srq_pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(srq_links[i].a));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(srq_links[i].b));
	return is_unconnected(srq_links[i].b);
}

/* The EP keeps its SRQ and watermarks. Buffers and other EPs are not affected. */
bool ep_reset_keeps_srq(void)
{
	DAT_EP_PARAM param;
	DAT_COUNT num;
	u64 cookie;
	u32 word;
	int i;

	for (i = 0; i < 6; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(srq_links[0].b, 1,
						   DAT_WATERMARK_INFINITE));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED,
		  dat_ep_reset(srq_links[0].b));
	CHECK(srq_send(0, 1));
	CHECK(srq_counts(5, 6));
	CHECK(disconnect_and_reset(0));
	/* The buffer whose completion was not dequeued is no longer counted. */
	CHECK(srq_counts(5, 5));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_query(srq_links[0].b, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(srq, param.srq_handle);
	CHECK_EQ(1, param.ep_attr.srq_soft_hw);
	CHECK_EQ(DAT_SUCCESS, dat_ep_recv_query(srq_links[0].b, &num, NULL));
	CHECK_EQ(0, num);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE,
		  kpost_recv(srq_links[0].b, &srq_in, 0, 64, 1));
	CHECK(srq_receive(0, &word, &cookie));
	CHECK_EQ(1, word);
	CHECK(srq_send(1, 2));
	CHECK(srq_receive(1, &word, &cookie));
	CHECK_EQ(2, word);

	CHECK(srq_connect(0));
	CHECK(srq_send(0, 3));
	CHECK(srq_not_told());
	CHECK(srq_send(0, 4));
	CHECK(srq_told(srq_links[0].b, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	CHECK(srq_counts(2, 4));
	for (i = 3; i < 5; i++) {
		CHECK(srq_receive(0, &word, &cookie));
		CHECK_EQ(i, word);
	}
	/* Twice: state left by the first reset would make the second fail. */
	CHECK(disconnect_and_reset(0));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(srq_links[0].b));
	CHECK(srq_connect(0));
	for (i = 0; i < 2; i++) {
		CHECK(srq_send(0, 5));
		CHECK(srq_receive(0, &word, &cookie));
	}
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(srq_links[0].b,
						   DAT_WATERMARK_INFINITE,
						   DAT_WATERMARK_INFINITE));
	return srq_counts(0, 0);
}

static DAT_RETURN modify(DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	return dat_ep_modify(srq_links[1].b, mask, param);
}

static bool what_is_of_the_srq_stays(void)
{
	DAT_EP_PARAM param = { .srq_handle = srq, .pz_handle = srq_pair.a.pz };
	DAT_PROVIDER_ATTR provider;
	DAT_RETURN ret;

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  modify(DAT_EP_FIELD_SRQ_HANDLE, &param));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  modify(DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
	param.ep_attr.max_recv_iov = 1;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  modify(DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	param.ep_attr.max_recv_iov = 2;
	CHECK_EQ(DAT_SUCCESS,
		 modify(DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(srq_pair.ia, NULL, 0, NULL,
			      DAT_PROVIDER_FIELD_ALL, &provider));
	ret = modify(DAT_EP_FIELD_PZ_HANDLE, &param);
	if (!provider.srq_ep_pz_difference_supported) {
		CHECK_EQ(DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			 ret);
		return true;
	}
	CHECK_EQ(DAT_SUCCESS, ret);
	param.pz_handle = srq_pair.b.pz;
	CHECK_EQ(DAT_SUCCESS, modify(DAT_EP_FIELD_PZ_HANDLE, &param));
	return true;
}

/* Its receives complete on another EVD, and its watermark events with them. */
bool ep_modify_keeps_srq(void)
{
	DAT_EP_PARAM param = {
		.recv_evd_handle = srq_links[2].evd,
		.ep_attr = { .max_recv_dtos = 3, .max_request_dtos = 5 },
	};
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EP_PARAM now;
	DAT_EVENT event;
	u64 cookie;
	u32 word;
	int i;

	for (i = 0; i < 4; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK(disconnect_and_reset(1));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(srq_links[1].b, 1,
						   DAT_WATERMARK_INFINITE));
	CHECK(what_is_of_the_srq_stays());
	CHECK_EQ(DAT_SUCCESS,
		 modify(DAT_EP_FIELD_RECV_EVD_HANDLE |
			DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_query(srq_links[1].b, DAT_EP_FIELD_ALL, &now));
	CHECK_EQ(srq, now.srq_handle);
	CHECK_EQ(srq_links[2].evd, now.recv_evd_handle);
	CHECK_EQ(2, now.ep_attr.max_recv_iov);
	CHECK_EQ(3, now.ep_attr.max_recv_dtos);
	CHECK_EQ(5, now.ep_attr.max_request_dtos);
	CHECK_EQ(1, now.ep_attr.srq_soft_hw);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE,
		  kpost_recv(srq_links[1].b, &srq_in, 0, 64, 1));
	CHECK(srq_counts(4, 4));

	CHECK(srq_connect(1));
	CHECK(srq_send(1, 1));
	CHECK(srq_send(1, 2));
	CHECK(srq_told(srq_links[1].b, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	CHECK(srq_counts(2, 4));
	d = &event.event_data.dto_completion_event_data;
	for (i = 0; i < 2; i++) {
		CHECK(kwait_event(srq_links[2].evd, &event));
		CHECK_EQ(srq_links[1].b, d->ep_handle);
		CHECK_EQ(DAT_DTO_SUCCESS, d->status);
	}
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(srq_evd(1), &event));
	CHECK(srq_counts(2, 2));

	/* Change it back, so that the EVD without EPs of the SRQ can be freed. */
	CHECK(disconnect_and_reset(1));
	param.recv_evd_handle = srq_pair.b.dto_evd;
	CHECK_EQ(DAT_SUCCESS, modify(DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(srq_links[1].b,
						   DAT_WATERMARK_INFINITE,
						   DAT_WATERMARK_INFINITE));
	CHECK(srq_connect(1));
	for (i = 0; i < 2; i++) {
		CHECK(srq_send(i + 1, 7 + i));
		CHECK(srq_receive(i + 1, &word, &cookie));
		CHECK_EQ(7 + i, word);
	}
	return srq_counts(0, 0);
}

/* An EP that the provider created has no EVD at first. */
bool ep_modify_keeps_watermark(void)
{
	DAT_EP_PARAM param = {
		.pz_handle = srq_pair.b.pz,
		.ep_attr.max_recv_dtos = 5,
	};
	DAT_RSP_PARAM rsp_param;
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;
	DAT_COUNT num = 7;
	int i;

	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(srq_pair.ia, KPAIR_QUAL + 1,
					     DAT_HANDLE_NULL, srq_pair.cr_evd,
					     &rsp));
	CHECK_EQ(DAT_SUCCESS,
		 dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param));
	ep = rsp_param.ep_handle;
	CHECK_EQ(DAT_SUCCESS, dat_ep_recv_query(ep, &num, NULL));
	CHECK_EQ(0, num);
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_set_watermark(ep, 2, DAT_WATERMARK_INFINITE));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	for (i = 0; i < 2; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, i));
	CHECK(srq_not_told());
	CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, i));
	CHECK(srq_told(ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	return true;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_srq.c - EPs with an SRQ: attributes and EVDs
 */
#include <linux/completion.h>

#include "ep_test.h"
#include "report.h"

static DAT_SRQ_HANDLE srq;

static bool make_srq(void)
{
	DAT_SRQ_ATTR attr = { 4, 2, DAT_SRQ_LW_DEFAULT };

	CHECK_EQ(DAT_SUCCESS, dat_srq_create(pair.ia, pair.b.pz, &attr, &srq));
	return true;
}

static DAT_RETURN make(const DAT_EP_ATTR *attr, const struct evds *evds,
		       DAT_EP_HANDLE *ep)
{
	return dat_ep_create_with_srq(pair.ia, pair.b.pz, evds->recv,
				      evds->request, evds->connect, srq, attr,
				      ep);
}

static DAT_RETURN post(u64 cookie)
{
	DAT_LMR_TRIPLET seg = ksegment(&b, 0, 8);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_srq_post_recv(srq, 1, &seg, c);
}

bool srq_ep_create_attributes(void)
{
	const struct evds evds = {
		pair.b.dto_evd, pair.b.dto_evd, pair.b.conn_evd,
	};
	DAT_EP_ATTR attr = {
		.max_message_size = 5000,
		.max_rdma_size = 6000,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.max_recv_dtos = 7,
		.max_request_dtos = 9,
		/* Ignored with an SRQ. */
		.max_recv_iov = 77777,
		.max_request_iov = 1,
		.max_rdma_read_in = 3,
		.max_rdma_read_out = 2,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_EP_PARAM param;

	CHECK(fresh());
	CHECK(make_srq());
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, make(&attr, &evds, &pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.b.ep, DAT_EP_FIELD_ALL,
					   &param));
	CHECK_EQ(pair.ia, param.ia_handle);
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, param.ep_state);
	CHECK_EQ(pair.b.pz, param.pz_handle);
	CHECK_EQ(pair.b.dto_evd, param.recv_evd_handle);
	CHECK_EQ(pair.b.conn_evd, param.connect_evd_handle);
	CHECK_EQ(srq, param.srq_handle);
	attr.max_recv_iov = param.ep_attr.max_recv_iov;
	CHECK(has_attr(pair.b.ep, &attr));
	CHECK(kpair_connect(&pair));
	CHECK(has_attr(pair.b.ep, &attr));

	/* Attributes that are not set have defaults. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	memset(&attr, 0, sizeof(attr));
	attr.max_request_dtos = 3;
	CHECK_EQ(DAT_SUCCESS, make(&attr, &evds, &pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.b.ep, DAT_EP_FIELD_ALL,
					   &param));
	CHECK_EQ(3, param.ep_attr.max_request_dtos);
	CHECK(param.ep_attr.max_request_iov > 0);
	CHECK(param.ep_attr.max_message_size > 0);
	CHECK(param.ep_attr.max_rdma_size > 0);
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(srq));
	return true;
}

bool srq_ep_create_bad_arguments(void)
{
	const struct evds good = {
		pair.b.dto_evd, pair.b.dto_evd, pair.b.conn_evd,
	};
	struct evds bad = good;
	DAT_EP_ATTR attr = {};
	DAT_EP_HANDLE ep;
	unsigned int n;

	CHECK(make_srq());
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_ep_create_with_srq(pair.b.pz, pair.b.pz, good.recv,
					 good.request, good.connect, srq,
					 &attr, &ep));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  dat_ep_create_with_srq(pair.ia, srq, good.recv,
					 good.request, good.connect, srq,
					 &attr, &ep));
	bad.recv = pair.cr_evd;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV,
		  make(&attr, &bad, &ep));
	bad.recv = good.recv;
	bad.request = pair.b.pz;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST,
		  make(&attr, &bad, &ep));
	bad.request = good.request;
	bad.connect = pair.b.dto_evd;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN,
		  make(&attr, &bad, &ep));
	for (n = 0; next_bad_attr(&attr, n); n++)
		if (make(&attr, &good, &ep) !=
		    DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7)) {
			report("# bad attribute %u is taken\n", n);
			return false;
		}
	memset(&attr, 0, sizeof(attr));
	attr.qos = 2 * DAT_QOS_PREMIUM;
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  make(&attr, &good, &ep));
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.service_type = DAT_SERVICE_TYPE_RC + 1;
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  make(&attr, &good, &ep));
	/* The rejected calls have left no reference to the SRQ. */
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(srq));
	return true;
}

bool srq_ep_separate_evds(void)
{
	DAT_EP_ATTR attr = { .max_rdma_read_in = 2, .max_rdma_read_out = 2 };
	struct evds evds;

	CHECK(fresh());
	CHECK(make_srq());
	CHECK(three_evds(&evds));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, make(&attr, &evds, &pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, post(1));
	CHECK(all_events_come_where_they_should(&evds));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(srq));
	return true;
}

static struct completion received;

static void on_receive(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	if (!event->event_data.dto_completion_event_data.status)
		complete(&received);
}

/* Regardless of the flags of the EP: a buffer of an SRQ is posted without flags. */
bool srq_receives_signalled(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = on_receive };
	DAT_EP_ATTR attr = {
		.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	struct evds evds = {
		DAT_HANDLE_NULL, pair.b.dto_evd, pair.b.conn_evd,
	};

	CHECK(fresh());
	CHECK(make_srq());
	init_completion(&received);
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 16, DAT_UPCALL_SINGLE_INSTANCE,
				 &upcall, DAT_EVD_DTO_FLAG, &evds.recv));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, make(&attr, &evds, &pair.b.ep));
	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_SUCCESS, post(1));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, 2));
	CHECK(wait_for_completion_timeout(&received, 20 * HZ));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evds.recv));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(srq));
	return true;
}

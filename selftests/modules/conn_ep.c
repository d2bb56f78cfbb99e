// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conn_ep.c - changes of EPs between connections: modify and reset
 */
#include <linux/completion.h>

#include "conn.h"
#include "kevd.h"

#define TRANSPORT_FIELDS (DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | \
			  DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR)

bool ep_modify_pz(void)
{
	DAT_EP_PARAM param = {}, seen;
	struct kregion r;
	DAT_PZ_HANDLE pz;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(pair.ia, &pz));
	CHECK(kregion_open(&pair, pz, &r, 4096, DAT_MEM_PRIV_ALL_FLAG));
	param.pz_handle = pz;
	CHECK_EQ(DAT_SUCCESS, dat_ep_modify(pair.b.ep, DAT_EP_FIELD_PZ_HANDLE,
					    &param));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.b.ep, DAT_EP_FIELD_ALL, &seen));
	CHECK_EQ(pz, seen.pz_handle);
	CHECK_EQ(pair.b.dto_evd, seen.recv_evd_handle);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE,
		  dat_pz_free(pz));
	CHECK(kpair_connect(&pair));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE,
		  kpost_recv(pair.b.ep, &b, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &r, 0, 64, 1));
	memset(a.buf, 0x5a, 64);
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 64, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 1));
	CHECK(!memcmp(r.buf, a.buf, 64));
	/* The peer can reach memory of the new PZ. */
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 64, r.rmr_context, r.buf + 100));
	CHECK(!memcmp(r.buf + 100, a.buf, 64));
	CHECK(fresh());
	kregion_close(&r);
	CHECK_EQ(DAT_SUCCESS, dat_pz_free(pz));
	return true;
}

bool ep_modify_evds(void)
{
	DAT_EP_PARAM param = {}, seen;
	DAT_EVD_HANDLE recv, request, conn;
	DAT_EP_HANDLE ep;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 64, DAT_UPCALL_DISABLE,
					      NULL, DAT_EVD_DTO_FLAG, &recv));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 64, DAT_UPCALL_DISABLE,
					      NULL, DAT_EVD_DTO_FLAG,
					      &request));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_DISABLE,
					      NULL, DAT_EVD_CONNECTION_FLAG,
					      &conn));
	/* An EP without EVDs. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, pair.b.pz,
					    DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					    DAT_HANDLE_NULL, NULL, &ep));
	swap(ep, pair.b.ep);
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	param.recv_evd_handle = recv;
	param.request_evd_handle = request;
	param.connect_evd_handle = conn;
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_modify(pair.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
			       DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			       DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.b.ep, DAT_EP_FIELD_ALL, &seen));
	CHECK_EQ(recv, seen.recv_evd_handle);
	CHECK_EQ(request, seen.request_evd_handle);
	CHECK_EQ(conn, seen.connect_evd_handle);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE,
		  dat_evd_free(recv));
	swap(conn, pair.b.conn_evd);
	CHECK(kpair_connect(&pair));
	swap(conn, pair.b.conn_evd);
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 64, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(recv, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 64, 3));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.b.ep, &b, 0, 64, 4));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(request, 4));
	CHECK(is_empty(pair.b.dto_evd));

	/* Remove the EVDs again: the EP no longer uses them. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(pair.b.ep, 0));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
	memset(&param, 0, sizeof(param));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_modify(pair.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
			       DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			       DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(recv));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(request));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(conn));
	return true;
}

#define ATTRS	(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | \
		 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS | \
		 DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)

bool ep_modify_attributes(void)
{
	DAT_EP_PARAM param = {
		.comm = { AF_INET, SOCK_STREAM, 0 },
		.ep_attr = {
			.max_recv_dtos = 3,
			.max_request_dtos = 2,
			.max_message_size = 100,
			/* Not in the mask. */
			.max_recv_iov = 12345,
		},
	}, seen;
	int i;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_ep_modify(pair.a.ep,
					    ATTRS | DAT_EP_FIELD_COMM, &param));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, &seen));
	CHECK_EQ(3, seen.ep_attr.max_recv_dtos);
	CHECK_EQ(2, seen.ep_attr.max_request_dtos);
	CHECK_EQ(100, seen.ep_attr.max_message_size);
	CHECK_EQ(4, seen.ep_attr.max_recv_iov);
	CHECK_EQ(AF_INET, seen.comm.domain);
	for (i = 0; i < 3; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 64, i));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(kpost_recv(pair.a.ep, &a, 0, 64, i)));
	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_LENGTH_ERROR,
		 DAT_GET_TYPE(kpost_send(pair.a.ep, &a, 0, 101, 5)));
	CHECK(talks(pair.a.ep, pair.b.ep));
	/* Receives posted before the connection. */
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.b.ep, &b, 0, 64, 6));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 0));

	/* 0 selects the default, as for dat_ep_create(). */
	CHECK(fresh());
	memset(&param, 0, sizeof(param));
	CHECK_EQ(DAT_SUCCESS, dat_ep_modify(pair.a.ep, ATTRS, &param));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, &seen));
	CHECK_EQ(64, seen.ep_attr.max_recv_dtos);
	return true;
}

static DAT_RETURN modify(DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	return dat_ep_modify(pair.a.ep, mask, param);
}

/* A rejected modify changes nothing, even if some of its values are valid. */
bool ep_modify_bad_arguments(void)
{
	static const DAT_EP_PARAM_MASK cannot[] = {
		DAT_EP_FIELD_IA_HANDLE, DAT_EP_FIELD_EP_STATE,
		DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
		DAT_EP_FIELD_LOCAL_PORT_QUAL,
		DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
		DAT_EP_FIELD_REMOTE_PORT_QUAL, DAT_EP_FIELD_SRQ_HANDLE,
		DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, 1ULL << 31, 1ULL << 63,
	};
	DAT_HANDLE bad[] = { FORGED, pair.cr_evd, pair.a.ep };
	DAT_EP_PARAM before, param, after;
	DAT_PZ_HANDLE pz;
	size_t i;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(pair.ia, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL,
					   &before));
	param = before;
	for (i = 0; i < ARRAY_SIZE(cannot); i++)
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
			  modify(cannot[i] | DAT_EP_FIELD_PZ_HANDLE, &param));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  modify(DAT_EP_FIELD_PZ_HANDLE, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_modify(FORGED, DAT_EP_FIELD_PZ_HANDLE, &param));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_modify(pair.a.pz, DAT_EP_FIELD_PZ_HANDLE, &param));
	param.pz_handle = pz;
	param.ep_attr.max_recv_dtos = 7;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		param.recv_evd_handle = bad[i];
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV,
			  modify(DAT_EP_FIELD_PZ_HANDLE | ATTRS |
				 DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
		param.request_evd_handle = bad[i];
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST,
			  modify(DAT_EP_FIELD_PZ_HANDLE |
				 DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
		param.connect_evd_handle = bad[i];
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN,
			  modify(DAT_EP_FIELD_PZ_HANDLE |
				 DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
		param.pz_handle = bad[i];
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
			  modify(DAT_EP_FIELD_PZ_HANDLE, &param));
		param.pz_handle = pz;
	}
	param.pz_handle = DAT_HANDLE_NULL;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  modify(DAT_EP_FIELD_PZ_HANDLE, &param));
	param = before;
	param.ep_attr.max_recv_dtos = 1 << 30;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  modify(ATTRS, &param));
	param.ep_attr.max_recv_dtos = -1;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  modify(ATTRS, &param));
	param.ep_attr.ep_transport_specific_count = 1;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  modify(TRANSPORT_FIELDS, &param));
	param.ep_attr.qos = 2 * DAT_QOS_PREMIUM;
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  modify(DAT_EP_FIELD_EP_ATTR_QOS, &param));
	param.comm.domain = AF_UNIX;
	CHECK_RET(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  modify(DAT_EP_FIELD_COMM, &param));

	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL,
					   &after));
	CHECK(!memcmp(&before, &after, sizeof(before)));
	CHECK_EQ(DAT_SUCCESS, dat_pz_free(pz));
	return kpair_connect(&pair) && talks(pair.a.ep, pair.b.ep);
}

bool ep_modify_with_posted_receives(void)
{
	DAT_EP_PARAM param = {};
	DAT_PZ_HANDLE pz;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(pair.ia, &pz));
	param.pz_handle = pz;
	param.connect_evd_handle = pair.b.conn_evd;
	param.ep_attr.max_recv_dtos = 7;
	param.ep_attr.max_message_size = 64;
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 1));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED,
		  dat_ep_modify(pair.b.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED,
		  dat_ep_modify(pair.b.ep, ATTRS, &param));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED,
		  dat_ep_modify(pair.b.ep,
				DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
				&param));
	/* Parameters that do not depend on posted receives can change. */
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_modify(pair.b.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			       DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &param));
	/* An UNCONNECTED EP that is reset also keeps its receives. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 64, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 1));
	CHECK_EQ(DAT_SUCCESS, dat_pz_free(pz));
	return true;
}

static bool window_opens(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 64, KREMOTE_ALL, pair.b.ep,
				    0x61, 0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 0x61));
	CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, 64, context, b.buf));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 0, 0, pair.b.ep, 0x62, 0,
				    &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 0x62));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

bool ep_reset_and_reconnect(void)
{
	int i;

	CHECK(connected());
	for (i = 0; i < 10; i++) {
		CHECK(talks(pair.a.ep, pair.b.ep));
		CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(pair.a.ep, 0));
		CHECK(kwait_number(pair.a.conn_evd,
				   DAT_CONNECTION_EVENT_DISCONNECTED));
		CHECK(kwait_number(pair.b.conn_evd,
				   DAT_CONNECTION_EVENT_DISCONNECTED));
		CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
		CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
		CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.a.ep));
		CHECK(kpair_connect(&pair));
	}
	/* A broken EP can also be reset, immediately. */
	CHECK(kwrite(&pair, &a, 0, 64, b.rmr_context ^ 0xff00, b.buf) !=
	      DAT_DTO_SUCCESS);
	CHECK(becomes(pair.a.ep, DAT_EP_STATE_DISCONNECTED));
	CHECK(becomes(pair.b.ep, DAT_EP_STATE_DISCONNECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
	CHECK(kwait_refusal(&pair));
	CHECK(kpair_connect(&pair));
	CHECK(talks(pair.a.ep, pair.b.ep));
	CHECK(window_opens());
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_reset(FORGED));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_reset(DAT_HANDLE_NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_reset(pair.a.pz));
	return true;
}

bool ep_reset_flushes_receives(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EVENT event;
	int i;

	CHECK(connected());
	for (i = 0; i < 5; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 10 + i));
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(pair.b.ep, 0));
	CHECK(becomes(pair.b.ep, DAT_EP_STATE_DISCONNECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_get_status(pair.b.ep, NULL, &recv_idle,
						&request_idle));
	CHECK(recv_idle && request_idle);
	/* The call queues the flushed completions before it returns. */
	for (i = 0; i < 5; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA *d =
			&event.event_data.dto_completion_event_data;

		CHECK_EQ(DAT_SUCCESS, dat_evd_dequeue(pair.b.dto_evd, &event));
		CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
		CHECK_EQ(10 + i, d->user_cookie.as_64);
		CHECK_EQ(DAT_DTO_ERR_FLUSHED, d->status);
		CHECK_EQ(pair.b.ep, d->ep_handle);
	}
	CHECK(is_empty(pair.b.dto_evd));
	/* Receives for the next connection. */
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 20));
	CHECK(kwait_number(pair.b.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 64, 21));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 20));
	return true;
}

bool dup_connect_same_service_point(void)
{
	DAT_EP_HANDLE dup, passive, bad[] = { NULL, FORGED, pair.a.pz };
	DAT_EP_PARAM first, second;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	size_t i;

	CHECK(connected());
	dup = new_ep(&pair.a);
	passive = new_ep(&pair.b);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
			  dat_ep_dup_connect(bad[i], pair.a.ep,
					     DAT_TIMEOUT_INFINITE, 0, NULL,
					     DAT_QOS_BEST_EFFORT));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
			  dat_ep_dup_connect(dup, bad[i], DAT_TIMEOUT_INFINITE,
					     0, NULL, DAT_QOS_BEST_EFFORT));
	}
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED,
		  dat_ep_dup_connect(dup, passive, DAT_TIMEOUT_INFINITE, 0,
				     NULL, DAT_QOS_BEST_EFFORT));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED,
		  dat_ep_dup_connect(pair.a.ep, pair.a.ep,
				     DAT_TIMEOUT_INFINITE, 0, NULL,
				     DAT_QOS_BEST_EFFORT));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_ep_dup_connect(dup, pair.a.ep, 0, 0, NULL,
				     DAT_QOS_BEST_EFFORT));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_ep_dup_connect(dup, pair.a.ep, 1000, 57, "x",
				     DAT_QOS_BEST_EFFORT));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_ep_dup_connect(dup, pair.a.ep, 1000, 1, NULL,
				     DAT_QOS_BEST_EFFORT));
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  dat_ep_dup_connect(dup, pair.a.ep, 1000, 0, NULL,
				     2 * DAT_QOS_PREMIUM));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_dup_connect(dup, pair.a.ep, DAT_TIMEOUT_INFINITE, 5,
				    "again", DAT_QOS_BEST_EFFORT));
	CHECK(kwait_event(pair.cr_evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle,
			      DAT_CR_FIELD_ALL, &param));
	CHECK(!memcmp(param.private_data, "again", 5));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       passive, 0, NULL));
	CHECK(both_established());
	CHECK(talks(dup, passive));
	CHECK(talks(pair.a.ep, pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL,
					   &first));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(dup, DAT_EP_FIELD_ALL, &second));
	CHECK_EQ(KPAIR_QUAL, second.remote_port_qual);
	CHECK(first.local_port_qual != second.local_port_qual);
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(dup));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(passive));
	return true;
}

/* The result of the upcall below. */
static struct {
	struct completion done;
	DAT_RETURN ret;
} freed;

static void free_established(DAT_PVOID instance_data, const DAT_EVENT *event,
			     DAT_BOOLEAN more_events)
{
	if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return;
	freed.ret = dat_ep_free(event->event_data.connect_event_data.ep_handle);
	complete(&freed.done);
}

/* The upcall may run before dat_cr_accept() returns. */
bool ep_free_in_established_upcall(void)
{
	struct kside side = pair.b;
	DAT_EP_HANDLE from, to;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	unsigned int i;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, kevd_make(&pair, 8, free_established,
					DAT_EVD_CONNECTION_FLAG, &side.conn_evd));
	for (i = 0; i < 30; i++) {
		init_completion(&freed.done);
		from = new_ep(&pair.a);
		to = new_ep(&side);
		cr = request(from, KPAIR_QUAL);
		CHECK(cr);
		CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, to, 0, NULL));
		CHECK(wait_for_completion_timeout(&freed.done, 20 * HZ));
		CHECK_EQ(DAT_SUCCESS, freed.ret);
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(from));
		while (!dat_evd_dequeue(pair.a.conn_evd, &event))
			;
	}
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(side.conn_evd));
	return true;
}

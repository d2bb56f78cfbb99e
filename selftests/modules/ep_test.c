// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_test.c - EPs: attributes, queries, status and EVDs
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/timer.h>

#include "ep_test.h"
#include "report.h"

struct kpair pair;
struct kregion a, b;
DAT_IA_ATTR ia_attr;

bool is_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY;
}

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(evd, &event))
		;
}

static DAT_RETURN make(const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(pair.ia, pair.a.pz, pair.a.dto_evd,
			     pair.a.dto_evd, pair.a.conn_evd, attr, ep);
}

/* Creates two new EPs, side a's with @attr, and removes events of the old EPs. */
bool with_attr(const DAT_EP_ATTR *attr)
{
	dat_ep_free(pair.a.ep);
	dat_ep_free(pair.b.ep);
	drain(pair.a.dto_evd);
	drain(pair.b.dto_evd);
	drain(pair.a.conn_evd);
	drain(pair.b.conn_evd);
	CHECK_EQ(DAT_SUCCESS, make(attr, &pair.a.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(pair.ia, pair.b.pz, pair.b.dto_evd,
			       pair.b.dto_evd, pair.b.conn_evd, NULL,
			       &pair.b.ep));
	return true;
}

bool fresh(void)
{
	return with_attr(NULL);
}

bool connected(void)
{
	return fresh() && kpair_connect(&pair);
}

/* Compares all numbers except the watermark, which another call sets. */
bool has_attr(DAT_EP_HANDLE ep, const DAT_EP_ATTR *attr)
{
	const size_t num = offsetof(DAT_EP_ATTR, ep_transport_specific_count) /
			   sizeof(u32);
	const u32 *wanted = (const u32 *)attr, *seen;
	DAT_EP_PARAM param;
	size_t i;

	CHECK_EQ(DAT_SUCCESS, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	seen = (const u32 *)&param.ep_attr;
	for (i = 0; i < num; i++)
		if (i != offsetof(DAT_EP_ATTR, srq_soft_hw) / sizeof(u32))
			CHECK_EQ(wanted[i], seen[i]);
	return true;
}

static bool ep_create_attributes(void)
{
	const DAT_EP_ATTR attr = {
		.max_message_size = 5000,
		.max_rdma_size = 6000,
		.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = 7,
		.max_request_dtos = 9,
		.max_recv_iov = 2,
		.max_request_iov = 1,
		.max_rdma_read_in = 3,
		.max_rdma_read_out = 2,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_EP_PARAM param;

	CHECK(with_attr(&attr));
	memset(&param, 0xff, sizeof(param));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL,
					   &param));
	CHECK_EQ(pair.ia, param.ia_handle);
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, param.ep_state);
	CHECK_EQ(pair.a.pz, param.pz_handle);
	CHECK_EQ(pair.a.dto_evd, param.recv_evd_handle);
	CHECK_EQ(pair.a.dto_evd, param.request_evd_handle);
	CHECK_EQ(pair.a.conn_evd, param.connect_evd_handle);
	CHECK_EQ(DAT_HANDLE_NULL, param.srq_handle);
	CHECK(!memcmp(ia_attr.ia_address_ptr, param.local_ia_address_ptr,
		      sizeof(*param.local_ia_address_ptr)));
	CHECK(has_attr(pair.a.ep, &attr));
	/* Connecting does not change the attributes, even if the peer supports less. */
	CHECK(kpair_connect(&pair));
	return has_attr(pair.a.ep, &attr);
}

/* Also one field at a time: every field in the mask is returned. */
static bool ep_query_each_field(void)
{
	DAT_EP_PARAM all, one;
	int bit;

	CHECK(connected());
	memset(&all, 0xff, sizeof(all));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, &all));
	for (bit = 0; bit < 64; bit++) {
		if (!(DAT_EP_FIELD_ALL >> bit & 1)) {
			CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
				  dat_ep_query(pair.a.ep, 1ULL << bit, &one));
			continue;
		}
		memset(&one, 0xff, sizeof(one));
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_query(pair.a.ep, 1ULL << bit, &one));
		/* Fields outside the mask may be filled in. */
		CHECK(!memcmp(&all, &one, sizeof(all)));
	}
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_query(pair.a.pz, DAT_EP_FIELD_ALL, &all));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_query(DAT_HANDLE_NULL, DAT_EP_FIELD_ALL, &all));
	return true;
}

static bool ep_create_default_attributes(void)
{
	DAT_EP_PARAM param;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL,
					   &param));
	CHECK_EQ(DAT_SERVICE_TYPE_RC, param.ep_attr.service_type);
	CHECK_EQ(DAT_QOS_BEST_EFFORT, param.ep_attr.qos);
	CHECK(param.ep_attr.max_message_size >= 4096);
	CHECK(param.ep_attr.max_rdma_size >= 4096);
	CHECK(param.ep_attr.max_recv_dtos > 1);
	CHECK(param.ep_attr.max_request_dtos > 1);
	CHECK(param.ep_attr.max_recv_iov > 0);
	CHECK(param.ep_attr.max_request_iov > 0);
	CHECK(param.ep_attr.max_rdma_read_in > 0);
	CHECK(param.ep_attr.max_rdma_read_out > 0);
	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 4096, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 4096, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kread(&pair, &a, 0, 4096, b.rmr_context,
					b.buf));
	return true;
}

/* Sets one attribute to a value that is too large, too small, or unknown. */
bool next_bad_attr(DAT_EP_ATTR *attr, unsigned int n)
{
	static const size_t counts[] = {
#define COUNT(field)	offsetof(DAT_EP_ATTR, field)
		COUNT(max_recv_dtos), COUNT(max_request_dtos),
		COUNT(max_request_iov), COUNT(max_rdma_read_in),
		COUNT(max_rdma_read_out), COUNT(max_rdma_read_iov),
		COUNT(max_rdma_write_iov),
	};
	const struct {
		size_t offset;
		u32 value;
	} others[] = {
#define OTHER(field, value)	{ offsetof(DAT_EP_ATTR, field), value }
		OTHER(max_recv_dtos, ia_attr.max_dto_per_ep + 1),
		OTHER(max_request_dtos, ia_attr.max_dto_per_ep + 1),
		OTHER(max_rdma_read_in, ia_attr.max_rdma_read_per_ep_in + 1),
		OTHER(max_rdma_read_out, ia_attr.max_rdma_read_per_ep_out + 1),
		OTHER(max_rdma_read_iov,
		      ia_attr.max_iov_segments_per_rdma_read + 1),
		OTHER(max_rdma_write_iov,
		      ia_attr.max_iov_segments_per_rdma_write + 1),
		OTHER(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG),
		OTHER(recv_completion_flags, DAT_COMPLETION_BARRIER_FENCE_FLAG),
		OTHER(recv_completion_flags, 0x40),
		OTHER(request_completion_flags,
		      DAT_COMPLETION_BARRIER_FENCE_FLAG),
		OTHER(request_completion_flags, 0x40),
#undef OTHER
	};

	memset(attr, 0, sizeof(*attr));
	if (n < 2 * ARRAY_SIZE(counts)) {
		DAT_COUNT *count = (void *)attr + counts[n / 2];

		*count = n & 1 ? INT_MAX : -1;
		return true;
	}
	n -= 2 * ARRAY_SIZE(counts);
	if (n >= ARRAY_SIZE(others))
		return false;
	*(u32 *)((void *)attr + others[n].offset) = others[n].value;
	return true;
}

static bool ep_create_bad_attributes(void)
{
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	unsigned int n;

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7, make(NULL, NULL));
	for (n = 0; next_bad_attr(&attr, n); n++)
		if (make(&attr, &ep) !=
		    DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6)) {
			report("# bad attribute %u is taken\n", n);
			return false;
		}
	memset(&attr, 0, sizeof(attr));
	if (ia_attr.max_message_size < U32_MAX) {
		attr.max_message_size = ia_attr.max_message_size + 1;
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
			  make(&attr, &ep));
		attr.max_message_size = 0;
	}
	if (ia_attr.max_rdma_size < U32_MAX) {
		attr.max_rdma_size = ia_attr.max_rdma_size + 1;
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
			  make(&attr, &ep));
		attr.max_rdma_size = 0;
	}
	attr.service_type = DAT_SERVICE_TYPE_RC + 1;
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE, make(&attr, &ep));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.request_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE, make(&attr, &ep));
	return true;
}

bool three_evds(struct evds *evds)
{
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 64, DAT_UPCALL_DISABLE, NULL,
				 DAT_EVD_DTO_FLAG, &evds->recv));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 64, DAT_UPCALL_DISABLE, NULL,
				 DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				 &evds->request));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_DISABLE, NULL,
				 DAT_EVD_CONNECTION_FLAG, &evds->connect));
	return true;
}

/* Checks the EVDs of side b's EP, which has @evds and a receive with cookie 1. */
bool all_events_come_where_they_should(const struct evds *evds)
{
	DAT_LMR_TRIPLET seg = ksegment(&b, 0, 8);
	DAT_RMR_TRIPLET there = { (uintptr_t)a.buf, 8, a.rmr_context };
	DAT_CONTEXT cookie = { .as_64 = 3 };
	DAT_EVD_HANDLE conn_evd = pair.b.conn_evd;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	bool ok;

	pair.b.conn_evd = evds->connect;
	ok = kpair_connect(&pair);
	pair.b.conn_evd = conn_evd;
	CHECK(ok);
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, 10));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(evds->recv, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 8, 11));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.b.ep, &b, 0, 8, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(evds->request, 2));
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(pair.b.ep, 1, &seg, cookie,
						     &there, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(evds->request, 3));
	cookie.as_64 = 4;
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(pair.b.ep, 1, &seg, cookie,
						    &there, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(evds->request, 4));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 8, KREMOTE_ALL, pair.b.ep, 5,
				    0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(evds->request, 5));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK(is_empty(evds->recv));
	CHECK(is_empty(evds->request));
	CHECK(is_empty(evds->connect));
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(pair.b.ep,
						DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(evds->connect, DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(is_empty(pair.b.dto_evd));
	CHECK(is_empty(pair.b.conn_evd));

	/* The freed EP no longer uses them. */
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE,
		  dat_evd_free(evds->recv));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evds->recv));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evds->request));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evds->connect));
	return true;
}

static bool ep_separate_evds(void)
{
	struct evds evds;

	CHECK(fresh());
	CHECK(three_evds(&evds));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(pair.ia, pair.b.pz, evds.recv, evds.request,
			       evds.connect, NULL, &pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 1));
	return all_events_come_where_they_should(&evds);
}

static bool becomes(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	unsigned long deadline = jiffies + 20 * HZ;
	DAT_EP_STATE seen;

	do {
		usleep_range(100, 200);
		CHECK_EQ(DAT_SUCCESS, dat_ep_get_status(ep, &seen, NULL, NULL));
	} while (seen != state && time_before(jiffies, deadline));
	CHECK_EQ(state, seen);
	return true;
}

/* Without an EVD the events of an EP are dropped and use no room in another EVD. */
static bool ep_without_evds(void)
{
	DAT_EVENT event;
	int i;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(pair.ia, pair.b.pz, DAT_HANDLE_NULL,
			       DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
			       &pair.b.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_connect(pair.a.ep, ia_attr.ia_address_ptr, KPAIR_QUAL,
				DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	CHECK(kwait_event(pair.cr_evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       pair.b.ep, 0, NULL));
	CHECK(kwait_number(pair.a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	CHECK(becomes(pair.b.ep, DAT_EP_STATE_CONNECTED));
	/* More than the queues and EVDs hold. */
	for (i = 0; i < 500; i++) {
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 1));
		CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, i));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, i));
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 8, i));
		CHECK_EQ(DAT_SUCCESS, kpost_send(pair.b.ep, &b, 0, 8, 1));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, i));
	}
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(pair.b.ep,
						DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(is_empty(pair.async_evd));
	CHECK(is_empty(pair.b.conn_evd));
	CHECK(is_empty(pair.b.dto_evd));
	return true;
}

static bool idle_flags_are(bool recv, bool request)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	CHECK_EQ(DAT_SUCCESS, dat_ep_get_status(pair.a.ep, &state, &recv_idle,
						&request_idle));
	CHECK_EQ(DAT_EP_STATE_CONNECTED, state);
	CHECK_EQ(recv ? DAT_TRUE : DAT_FALSE, recv_idle);
	CHECK_EQ(request ? DAT_TRUE : DAT_FALSE, request_idle);
	return true;
}

/* A request is outstanding until its completion is dequeued; there is no upcall. */
static bool ep_get_status_idle_flags(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_RMR_TRIPLET there = { (uintptr_t)b.buf, 8, b.rmr_context };
	DAT_CONTEXT cookie = { .as_64 = 3 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	CHECK(connected());
	CHECK(idle_flags_are(true, true));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, 3));
	CHECK(idle_flags_are(true, false));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	CHECK(idle_flags_are(true, true));
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_rdma_write(pair.a.ep, 1, &seg, cookie,
						     &there, 0));
	CHECK(idle_flags_are(true, false));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	CHECK(idle_flags_are(true, true));
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_rdma_read(pair.a.ep, 1, &seg, cookie,
						    &there, 0));
	CHECK(idle_flags_are(true, false));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	CHECK(idle_flags_are(true, true));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &a, 0, 8, KREMOTE_ALL, pair.a.ep, 3,
				    0, &context));
	CHECK(idle_flags_are(true, false));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.a.dto_evd, 3));
	CHECK(idle_flags_are(true, true));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 8, 4));
	return idle_flags_are(false, true);
}

static struct shot {
	struct timer_list timer;
	struct completion done;
	DAT_RETURN write, read;
} shot;

static void shoot(struct timer_list *timer)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_RMR_TRIPLET there = { (uintptr_t)b.buf, 8, b.rmr_context };
	DAT_CONTEXT cookie = { .as_64 = 1 };

	shot.write = dat_ep_post_rdma_write(pair.a.ep, 1, &seg, cookie, &there,
					    0);
	cookie.as_64 = 2;
	seg = ksegment(&a, 8, 8);
	shot.read = dat_ep_post_rdma_read(pair.a.ep, 1, &seg, cookie, &there,
					  0);
	complete(&shot.done);
}

static bool post_rdma_in_softirq(void)
{
	CHECK(connected());
	memset(a.buf, 0x77, 8);
	memset(a.buf + 8, 0, 8);
	init_completion(&shot.done);
	timer_setup(&shot.timer, shoot, 0);
	mod_timer(&shot.timer, jiffies + 1);
	wait_for_completion(&shot.done);
	timer_delete_sync(&shot.timer);
	CHECK_EQ(DAT_SUCCESS, shot.write);
	CHECK_EQ(DAT_SUCCESS, shot.read);
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 2));
	CHECK(!memcmp(a.buf, b.buf, 8));
	CHECK(!memcmp(a.buf, a.buf + 8, 8));
	return true;
}

static bool has_buffers(DAT_EP_HANDLE ep, DAT_COUNT expected)
{
	DAT_COUNT num = -7, span = -7;

	CHECK_EQ(DAT_SUCCESS, dat_ep_recv_query(ep, &num, &span));
	CHECK_EQ(expected, num);
	CHECK_EQ(expected, span);
	CHECK_EQ(DAT_SUCCESS, dat_ep_recv_query(ep, NULL, NULL));
	return true;
}

static bool recv_query_counts_outstanding(void)
{
	int i;

	CHECK(fresh());
	CHECK(has_buffers(pair.b.ep, 0));
	for (i = 0; i < 3; i++) {
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, i));
		CHECK(has_buffers(pair.b.ep, i + 1));
	}
	CHECK(kpair_connect(&pair));
	CHECK(has_buffers(pair.b.ep, 3));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, 10));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 0));
	CHECK(has_buffers(pair.b.ep, 2));
	/* Each of them must complete. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(pair.b.ep,
						DAT_CLOSE_ABRUPT_FLAG));
	for (i = 1; i < 3; i++)
		CHECK_EQ(DAT_DTO_ERR_FLUSHED, kwait_dto(pair.b.dto_evd, i));
	CHECK(has_buffers(pair.b.ep, 0));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_recv_query(pair.b.pz, &i, &i));
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(ep_create_attributes),
	TEST(ep_query_each_field),
	TEST(ep_create_default_attributes),
	TEST(ep_create_bad_attributes),
	TEST(ep_separate_evds),
	TEST(ep_without_evds),
	TEST(ep_get_status_idle_flags),
	TEST(post_rdma_in_softirq),
	TEST(recv_query_counts_outstanding),
	TEST(watermark_replaces_previous),
	TEST(watermark_already_exceeded),
	TEST(ep_modify_limits),
	TEST(ep_modify_completion_flags),
	TEST(solicited_only_notification),
	TEST(srq_ep_create_attributes),
	TEST(srq_ep_create_bad_arguments),
	TEST(srq_ep_separate_evds),
	TEST(srq_receives_signalled),
};

static int __init ep_test_init(void)
{
	int ret = report_open("kdapl_ep_test");

	if (ret)
		return ret;
	if (kpair_open(&pair) &&
	    kregion_open(&pair, pair.a.pz, &a, 8192, DAT_MEM_PRIV_ALL_FLAG) &&
	    kregion_open(&pair, pair.b.pz, &b, 8192, DAT_MEM_PRIV_ALL_FLAG) &&
	    !dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0, NULL))
		report_run("kdapl_ep_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_ep_test.setup\n");
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return 0;
}

static void __exit ep_test_exit(void)
{
	report_close();
}

module_init(ep_test_init);
module_exit(ep_test_exit);
MODULE_DESCRIPTION("Tests EPs of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conn_test.c - connections of in-kernel consumers: events, data, limits
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

#include "conn.h"

struct kpair pair;
DAT_IA_ADDRESS_PTR address;
struct kregion a, b;

static DAT_IA_ATTR ia_attr;

/* On iWARP a refused TCP connection is a reject by the peer. */
DAT_EVENT_NUMBER no_listener(void)
{
	return kpair_is_siw() ? DAT_CONNECTION_EVENT_PEER_REJECTED :
			  DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
}

DAT_EP_STATE state_of(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = -1;

	dat_ep_get_status(ep, &state, NULL, NULL);
	return state;
}

/* Waits until an EP reaches a state. */
bool becomes(DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	unsigned long deadline = jiffies + 20 * HZ;

	while (state_of(ep) != state) {
		if (time_after(jiffies, deadline)) {
			report("# state %d instead of %d\n", state_of(ep),
			       state);
			return false;
		}
		usleep_range(100, 200);
	}
	return true;
}

DAT_EP_HANDLE new_ep(const struct kside *side)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	if (dat_ep_create(pair.ia, side->pz, side->dto_evd, side->dto_evd,
			  side->conn_evd, NULL, &ep))
		report("# no EP\n");
	return ep;
}

DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual,
		      DAT_TIMEOUT timeout)
{
	return dat_ep_connect(ep, address, qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Connects an EP and waits for its request. */
DAT_CR_HANDLE request(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	DAT_EVENT event;

	if (connect_to(ep, qual, DAT_TIMEOUT_INFINITE) ||
	    !kwait_event(pair.cr_evd, &event))
		return DAT_HANDLE_NULL;
	return event.event_data.cr_arrival_event_data.cr_handle;
}

bool both_established(void)
{
	return kwait_number(pair.a.conn_evd,
			    DAT_CONNECTION_EVENT_ESTABLISHED) &&
	       kwait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Sends a message from an EP of side a to an EP of side b. */
bool talks(DAT_EP_HANDLE from, DAT_EP_HANDLE to)
{
	static u8 round;

	memset(a.buf, ++round, 64);
	memset(b.buf, 0, 64);
	CHECK_EQ(DAT_SUCCESS, kpost_recv(to, &b, 0, 64, 0x51));
	CHECK_EQ(DAT_SUCCESS, kpost_send(from, &a, 0, 64, 0x52));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 0x52));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 0x51));
	CHECK(!memcmp(a.buf, b.buf, 64));
	return true;
}

/* Waits for a connection event. The transport may pad the private data. */
bool wait_connection(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
		     const void *data, DAT_COUNT size)
{
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_EVENT event;

	CHECK(kwait_event(evd, &event));
	CHECK_EQ(number, event.event_number);
	d = &event.event_data.connect_event_data;
	CHECK(d->private_data_size >= size);
	CHECK(!size || !memcmp(d->private_data, data, size));
	CHECK(d->private_data_size == size ||
	      !memchr_inv(d->private_data + size, 0,
			  d->private_data_size - size));
	return true;
}

static void drain(DAT_EVD_HANDLE evd)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_EVENT event;

	arrival = &event.event_data.cr_arrival_event_data;
	while (!dat_evd_dequeue(evd, &event))
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			dat_cr_reject(arrival->cr_handle, 0, NULL);
}

bool is_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY;
}

/* Creates two new EPs and removes events of the old EPs. */
bool fresh(void)
{
	dat_ep_free(pair.a.ep);
	dat_ep_free(pair.b.ep);
	drain(pair.cr_evd);
	drain(pair.a.conn_evd);
	drain(pair.b.conn_evd);
	drain(pair.a.dto_evd);
	drain(pair.b.dto_evd);
	pair.a.ep = new_ep(&pair.a);
	pair.b.ep = new_ep(&pair.b);
	return pair.a.ep && pair.b.ep;
}

bool connected(void)
{
	return fresh() && kpair_connect(&pair);
}

static bool private_data_both_directions(void)
{
	static const DAT_COUNT sizes[] = { 0, 1, 55, 56 };
	DAT_CR_PARAM param;
	DAT_EVENT event;
	u8 data[57];
	size_t i, n;

	for (i = 0; i < sizeof(data); i++)
		data[i] = 0xa0 + i;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		n = sizes[i];
		CHECK(fresh());
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_connect(pair.a.ep, address, KPAIR_QUAL,
					DAT_TIMEOUT_INFINITE, n, data,
					DAT_QOS_BEST_EFFORT, 0));
		CHECK(kwait_event(pair.cr_evd, &event));
		CHECK(!event.event_data.cr_arrival_event_data.truncate_flag);
		CHECK_EQ(DAT_SUCCESS,
			 dat_cr_query(event.event_data.cr_arrival_event_data
				      .cr_handle, DAT_CR_FIELD_ALL, &param));
		CHECK(param.private_data_size >= n);
		CHECK(!memcmp(param.private_data, data, n));
		CHECK_EQ(DAT_HANDLE_NULL, param.local_ep_handle);
		CHECK_EQ(DAT_SUCCESS,
			 dat_cr_accept(event.event_data.cr_arrival_event_data
				       .cr_handle, pair.b.ep, n, data + 1));
		CHECK(wait_connection(pair.a.conn_evd,
				      DAT_CONNECTION_EVENT_ESTABLISHED,
				      data + 1, n));
		CHECK(kwait_number(pair.b.conn_evd,
				   DAT_CONNECTION_EVENT_ESTABLISHED));
	}
	CHECK(fresh());
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_ep_connect(pair.a.ep, address, KPAIR_QUAL,
				 DAT_TIMEOUT_INFINITE, 57, data,
				 DAT_QOS_BEST_EFFORT, 0));
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.a.ep));
	return true;
}

static bool reject_private_data(void)
{
	DAT_CR_HANDLE cr;

	CHECK(fresh());
	cr = request(pair.a.ep, KPAIR_QUAL);
	CHECK(cr);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_cr_reject(cr, 57, "x"));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_cr_reject(cr, -1, "x"));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_cr_reject(cr, 1, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_cr_reject(cr, 8, "go away!"));
	CHECK(wait_connection(pair.a.conn_evd,
			      DAT_CONNECTION_EVENT_PEER_REJECTED,
			      "go away!", 8));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(pair.a.ep));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
		  dat_cr_reject(cr, 0, NULL));
	return true;
}

static bool connect_no_listener(void)
{
	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, KPAIR_QUAL + 77, DAT_TIMEOUT_INFINITE));
	CHECK(kwait_number(pair.a.conn_evd, no_listener()));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(pair.a.ep));
	return true;
}

static bool connect_backlog_full(void)
{
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 1, DAT_UPCALL_DISABLE,
					      NULL, DAT_EVD_CR_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_psp_create_any(pair.ia, &qual, evd,
						 DAT_PSP_CONSUMER_FLAG, &psp));
	ep = new_ep(&pair.a);
	CHECK_EQ(DAT_SUCCESS, connect_to(ep, qual, DAT_TIMEOUT_INFINITE));
	/* Its request uses the only place in the EVD. */
	msleep(200);
	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, qual, DAT_TIMEOUT_INFINITE));
	CHECK(kwait_number(pair.a.conn_evd, no_listener()));
	CHECK_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, state_of(ep));
	drain(evd);
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_PEER_REJECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	return true;
}

static bool connect_unreachable(void)
{
	struct sockaddr_in sin = *(struct sockaddr_in *)address;

	if (address->sa_family != AF_INET)
		return true;
	/* An address in our network, so that the device sends to it. */
	sin.sin_addr.s_addr ^= htonl(0xfa);
	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_connect(pair.a.ep, (DAT_IA_ADDRESS_PTR)&sin, KPAIR_QUAL,
				DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT, 0));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_UNREACHABLE));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(pair.a.ep));
	return true;
}

static bool connect_times_out(void)
{
	unsigned long begin = jiffies;
	DAT_EVENT event;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, connect_to(pair.a.ep, KPAIR_QUAL, 300000));
	CHECK(kwait_event(pair.cr_evd, &event));
	CHECK(kwait_number(pair.a.conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT));
	CHECK(jiffies - begin >= msecs_to_jiffies(300));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(pair.a.ep));
	/* The call succeeds: an event reports that the peer has closed. */
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       pair.b.ep, 0, NULL));
	if (!kpair_is_siw())
		CHECK(kwait_number(pair.b.conn_evd,
				   DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR));
	CHECK(becomes(pair.b.ep, DAT_EP_STATE_DISCONNECTED));
	return true;
}

static bool no_timeout_once_connected(void)
{
	DAT_EVENT event;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, connect_to(pair.a.ep, KPAIR_QUAL, 5000000));
	CHECK(kwait_event(pair.cr_evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       pair.b.ep, 0, NULL));
	CHECK(both_established());
	msleep(5500);
	CHECK(is_empty(pair.a.conn_evd));
	return talks(pair.a.ep, pair.b.ep);
}

static bool remote_access_error_breaks_both(void)
{
	CHECK(connected());
	CHECK(kwrite(&pair, &a, 0, 64, b.rmr_context ^ 0xff00, b.buf) !=
	      DAT_DTO_SUCCESS);
	CHECK(kwait_refusal(&pair));
	return true;
}

static bool qos_values(void)
{
	static const DAT_QOS some[] = {
		DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_LOW_LATENCY, DAT_QOS_ECONOMY,
		DAT_QOS_PREMIUM,
	};
	DAT_EP_ATTR attr = {
		.qos = DAT_QOS_ECONOMY | DAT_QOS_PREMIUM,
	};
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	size_t i;

	CHECK(fresh());
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  dat_ep_connect(pair.a.ep, address, KPAIR_QUAL, 1000, 0, NULL,
				 attr.qos, 0));
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  dat_ep_create(pair.ia, pair.a.pz, pair.a.dto_evd,
				pair.a.dto_evd, pair.a.conn_evd, &attr, &ep));
	for (i = 0; i < ARRAY_SIZE(some); i++) {
		attr.qos = some[i];
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_create(pair.ia, pair.a.pz, pair.a.dto_evd,
				       pair.a.dto_evd, pair.a.conn_evd, &attr,
				       &ep));
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
		CHECK(fresh());
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_connect(pair.a.ep, address, KPAIR_QUAL,
					DAT_TIMEOUT_INFINITE, 0, NULL, some[i],
					0));
		CHECK(kwait_event(pair.cr_evd, &event));
		CHECK_EQ(DAT_SUCCESS,
			 dat_cr_accept(event.event_data.cr_arrival_event_data
								.cr_handle,
				       pair.b.ep, 0, NULL));
		CHECK(both_established());
	}
	CHECK(fresh());
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  connect_to(pair.a.ep, KPAIR_QUAL, 0));
	return true;
}

#define AT_ONCE	8

/* Each side connects to the other, all at the same time. */
static bool connect_many_concurrently(void)
{
	DAT_EP_HANDLE active[AT_ONCE], passive[AT_ONCE];
	DAT_EVENT event;
	int i;

	CHECK(fresh());
	for (i = 0; i < AT_ONCE; i++) {
		active[i] = new_ep(i & 1 ? &pair.a : &pair.b);
		passive[i] = new_ep(i & 1 ? &pair.b : &pair.a);
		CHECK(active[i] && passive[i]);
	}
	for (i = 0; i < AT_ONCE; i++)
		CHECK_EQ(DAT_SUCCESS, connect_to(active[i], KPAIR_QUAL,
						 DAT_TIMEOUT_INFINITE));
	for (i = 0; i < AT_ONCE; i++) {
		CHECK(kwait_event(pair.cr_evd, &event));
		CHECK_EQ(DAT_SUCCESS,
			 dat_cr_accept(event.event_data.cr_arrival_event_data
				       .cr_handle, passive[i], 0, NULL));
	}
	for (i = 0; i < AT_ONCE; i++) {
		CHECK(becomes(active[i], DAT_EP_STATE_CONNECTED));
		CHECK(becomes(passive[i], DAT_EP_STATE_CONNECTED));
	}
	for (i = 0; i < AT_ONCE; i++) {
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(active[i]));
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(passive[i]));
	}
	return true;
}

static const enum rdma_restrack_type counted[] = {
	RDMA_RESTRACK_PD, RDMA_RESTRACK_CQ, RDMA_RESTRACK_QP,
	RDMA_RESTRACK_MR, RDMA_RESTRACK_CM_ID,
};

static int count_of(enum rdma_restrack_type type)
{
	struct ib_device *dev = kpair_ibdev();
	int n;

	if (!dev)
		return -1;
	n = rdma_restrack_count(dev, type, true);
	ib_device_put(dev);
	return n;
}

/* Waits until the CM has finished the disconnections. */
static bool settles_at(const int *before)
{
	unsigned long deadline = jiffies + 40 * HZ;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		while (count_of(counted[i]) != before[i] &&
		       time_before(jiffies, deadline))
			msleep(20);
		CHECK_EQ(before[i], count_of(counted[i]));
	}
	return true;
}

static bool up_and_down(int i)
{
	DAT_EP_HANDLE from = i & 1 ? pair.a.ep : pair.b.ep;
	DAT_EP_HANDLE to = i & 1 ? pair.b.ep : pair.a.ep;
	DAT_CR_HANDLE cr = request(from, KPAIR_QUAL);

	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, to, 0, NULL));
	CHECK(both_established());
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(i & 2 ? from : to,
						i & 4 ? DAT_CLOSE_GRACEFUL_FLAG :
							DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(kwait_number(pair.b.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	/* Create new EPs for every tenth connection. */
	if (i % 10 == 0)
		return fresh();
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
	return true;
}

/* With sanitizers a connection takes half a second, and many find no more bugs. */
static int num_connections(void)
{
	if (IS_ENABLED(CONFIG_KASAN))
		return kpair_is_siw() ? 30 : 100;
	return kpair_thorough ? 1000 : 200;
}

static bool connections_leak_no_resources(void)
{
	int before[ARRAY_SIZE(counted)];
	int i, n;

	CHECK(fresh());
	for (i = 0; i < 20; i++)
		CHECK(up_and_down(i));
	/* Wait until the connections of earlier tests are destroyed. */
	for (i = 0; i < 2000 && count_of(RDMA_RESTRACK_CM_ID) != 1; i++)
		msleep(20);
	for (i = 0; i < ARRAY_SIZE(counted); i++)
		before[i] = count_of(counted[i]);
	for (n = 0; n < num_connections(); n++)
		CHECK(up_and_down(n));
	CHECK(fresh());
	return settles_at(before);
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(private_data_both_directions),
	TEST(reject_private_data),
	TEST(connect_no_listener),
	TEST(connect_backlog_full),
	TEST(connect_unreachable),
	TEST(connect_times_out),
	TEST(no_timeout_once_connected),
	TEST(remote_access_error_breaks_both),
	TEST(qos_values),
	TEST(psp_create_any_free_qualifier),
	TEST(psp_provider_creates_eps),
	TEST(cr_reject_frees_provider_ep),
	TEST(rsp_single_request),
	TEST(rsp_free_releases_ep),
	TEST(rsp_provider_ep),
	TEST(csp_ipv4),
	TEST(csp_ipv6),
	TEST(handoff_to_psp_and_rsp),
	TEST(handoff_to_other_ia),
	TEST(ia_close_with_pending_requests),
	TEST(sp_bad_arguments),
	TEST(ep_modify_pz),
	TEST(ep_modify_evds),
	TEST(ep_modify_attributes),
	TEST(ep_modify_bad_arguments),
	TEST(ep_modify_with_posted_receives),
	TEST(ep_free_in_established_upcall),
	TEST(ep_reset_and_reconnect),
	TEST(ep_reset_flushes_receives),
	TEST(dup_connect_same_service_point),
	TEST(dup_connect_remote_port),
	TEST(dup_connect_established),
	TEST(dup_connect_times_out),
	TEST(dup_connect_non_peer_rejected),
	TEST(dup_connect_after_handoff),
	TEST(dup_connect_no_free_port),
	TEST(sp_cr_query_every_mask),
	TEST(sp_cr_query_bad_arguments),
	TEST(rsp_free_stops_listening),
	TEST(rsp_free_races_request),
	TEST(psp_create_any_used_port),
	TEST(wide_qualifiers),
	TEST(consecutive_qualifiers),
	TEST(connect_many_concurrently),
	TEST(connections_leak_no_resources),
	TEST(sp_create_without_address),
};

static int __init conn_test_init(void)
{
	int ret = report_open("kdapl_conn_test");

	if (ret)
		return ret;
	if (kpair_open(&pair) &&
	    !dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &ia_attr,
			  0, NULL) &&
	    kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG) &&
	    kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG)) {
		address = ia_attr.ia_address_ptr;
		report_run("kdapl_conn_test", tests, ARRAY_SIZE(tests));
	} else {
		report("not ok 1 kdapl_conn_test.setup\n");
	}
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return 0;
}

static void __exit conn_test_exit(void)
{
	report_close();
}

module_init(conn_test_init);
module_exit(conn_test_exit);
MODULE_DESCRIPTION("Tests connections of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");

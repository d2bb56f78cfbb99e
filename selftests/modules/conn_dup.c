// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conn_dup.c - tests of dat_ep_dup_connect()
 */
#include <linux/delay.h>

#include "conn.h"

static DAT_RETURN dup_of_a(DAT_EP_HANDLE ep, DAT_TIMEOUT timeout)
{
	return dat_ep_dup_connect(ep, pair.a.ep, timeout, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

bool dup_connect_remote_port(void)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_EP_PARAM sender;
	DAT_CR_PARAM param;
	DAT_EP_HANDLE dup;
	DAT_EVENT event;

	CHECK(connected());
	dup = new_ep(&pair.a);
	CHECK_EQ(DAT_SUCCESS, dup_of_a(dup, DAT_TIMEOUT_INFINITE));
	CHECK_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, state_of(dup));
	CHECK(kwait_event(pair.cr_evd, &event));
	d = &event.event_data.cr_arrival_event_data;
	CHECK_EQ(KPAIR_QUAL, d->conn_qual);
	CHECK_EQ(pair.psp, d->sp_handle.psp_handle);
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(dup, DAT_EP_FIELD_ALL, &sender));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_query(d->cr_handle, DAT_CR_FIELD_ALL, &param));
	CHECK(sender.local_port_qual);
	CHECK_EQ(sender.local_port_qual, param.remote_port_qual);
	CHECK_EQ(DAT_SUCCESS, dat_cr_reject(d->cr_handle, 0, NULL));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_PEER_REJECTED));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(dup));
	/* The first connection still works. */
	CHECK(talks(pair.a.ep, pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(dup));
	return true;
}

bool dup_connect_established(void)
{
	DAT_EP_HANDLE dup, passive;
	DAT_EVENT event;

	CHECK(connected());
	dup = new_ep(&pair.a);
	passive = new_ep(&pair.b);
	CHECK_EQ(DAT_SUCCESS, dup_of_a(dup, DAT_TIMEOUT_INFINITE));
	CHECK(kwait_event(pair.cr_evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       passive, 0, NULL));
	CHECK(kwait_event(pair.a.conn_evd, &event));
	CHECK_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	CHECK_EQ(dup, event.event_data.connect_event_data.ep_handle);
	CHECK_EQ(DAT_EP_STATE_CONNECTED, state_of(dup));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(dup));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(passive));
	return true;
}

bool dup_connect_times_out(void)
{
	unsigned long begin;
	DAT_EP_HANDLE dup;

	CHECK(connected());
	dup = new_ep(&pair.a);
	begin = jiffies;
	CHECK_EQ(DAT_SUCCESS, dup_of_a(dup, 300000));
	CHECK(kwait_number(pair.a.conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT));
	CHECK(jiffies - begin >= msecs_to_jiffies(300));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(dup));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(dup));
	return true;
}

/* Side a connects to a service point whose EVD has room for one request. */
static bool connected_to(DAT_EVD_HANDLE *evd, DAT_PSP_HANDLE *psp)
{
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 1, DAT_UPCALL_DISABLE,
					      NULL, DAT_EVD_CR_FLAG, evd));
	CHECK_EQ(DAT_SUCCESS, dat_psp_create_any(pair.ia, &qual, *evd,
						 DAT_PSP_CONSUMER_FLAG, psp));
	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, qual, DAT_TIMEOUT_INFINITE));
	CHECK(kwait_event(*evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       pair.b.ep, 0, NULL));
	return both_established();
}

bool dup_connect_non_peer_rejected(void)
{
	DAT_EP_HANDLE dup[3];
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	int i;

	CHECK(connected_to(&evd, &psp));
	for (i = 0; i < 3; i++)
		dup[i] = new_ep(&pair.a);
	CHECK_EQ(DAT_SUCCESS, dup_of_a(dup[0], DAT_TIMEOUT_INFINITE));
	/* Its request uses the only place in the EVD. */
	msleep(200);
	CHECK_EQ(DAT_SUCCESS, dup_of_a(dup[1], DAT_TIMEOUT_INFINITE));
	CHECK(kwait_number(pair.a.conn_evd, no_listener()));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(dup[1]));

	CHECK(kwait_event(evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle,
			       0, NULL));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_PEER_REJECTED));
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp));
	CHECK_EQ(DAT_SUCCESS, dup_of_a(dup[2], DAT_TIMEOUT_INFINITE));
	CHECK(kwait_number(pair.a.conn_evd, no_listener()));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(dup[2]));
	for (i = 0; i < 3; i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(dup[i]));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	return true;
}

/* After a handoff, the duplicate's request goes to the service point of the handoff. */
bool dup_connect_after_handoff(void)
{
	DAT_EP_HANDLE dup, passive;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	int i;

	CHECK(fresh());
	dup = new_ep(&pair.a);
	passive = new_ep(&pair.b);
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_DISABLE,
					      NULL, DAT_EVD_CR_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_psp_create_any(pair.ia, &qual, evd,
						 DAT_PSP_CONSUMER_FLAG, &psp));
	for (i = 0; i < 2; i++) {
		if (i) {
			CHECK_EQ(DAT_SUCCESS,
				 dup_of_a(dup, DAT_TIMEOUT_INFINITE));
			CHECK(kwait_event(pair.cr_evd, &event));
			cr = event.event_data.cr_arrival_event_data.cr_handle;
		} else {
			cr = request(pair.a.ep, KPAIR_QUAL);
		}
		CHECK_EQ(DAT_SUCCESS, dat_cr_handoff(cr, qual));
		CHECK(kwait_event(evd, &event));
		CHECK_EQ(DAT_SUCCESS,
			 dat_cr_accept(event.event_data.cr_arrival_event_data
				       .cr_handle, i ? passive : pair.b.ep, 0,
				       NULL));
		CHECK(both_established());
	}
	CHECK(talks(dup, passive));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(dup));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(passive));
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	return true;
}

bool dup_connect_no_free_port(void)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EP_HANDLE dup[3];
	DAT_EVENT event;
	char before[32];
	int i, n;

	CHECK(connected());
	for (i = 0; i < 3; i++)
		dup[i] = new_ep(&pair.a);
	CHECK(get_ports(before, sizeof(before)));
	CHECK(set_ports("61000 61001"));
	for (n = 0; n < 3 && !ret; n++)
		ret = dup_of_a(dup[n], DAT_TIMEOUT_INFINITE);
	CHECK(set_ports(before));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES, DAT_GET_TYPE(ret));
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(dup[n - 1]));
	CHECK_EQ(DAT_SUCCESS, dup_of_a(dup[n - 1], DAT_TIMEOUT_INFINITE));
	/* Take all requests: a late one would reach the next test. */
	for (i = 0; i < n; i++)
		CHECK(kwait_event(pair.cr_evd, &event));
	for (i = 0; i < 3; i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(dup[i]));
	return true;
}

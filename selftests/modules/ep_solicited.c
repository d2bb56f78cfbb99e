// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_solicited.c - solicited messages, which notify the receiver
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "ep_test.h"
#include "report.h"

static atomic_t calls;

static void count(DAT_PVOID instance_data, const DAT_EVENT *event,
		  DAT_BOOLEAN more_events)
{
	atomic_inc(&calls);
}

static bool become(int wanted)
{
	unsigned long deadline = jiffies + 20 * HZ;

	while (atomic_read(&calls) != wanted && time_before(jiffies, deadline))
		usleep_range(100, 200);
	CHECK_EQ(wanted, atomic_read(&calls));
	return true;
}

static bool send(DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_post_send(pair.a.ep, 1, &seg, cookie, flags));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
	/* Acknowledged, or on iWARP sent. */
	msleep(50);
	return true;
}

static bool solicited_side(const struct evds *evds, DAT_EVD_HANDLE recv_evd)
{
	const DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	int i;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(pair.ia, pair.b.pz, recv_evd, evds->request,
			       pair.b.conn_evd, &attr, &pair.b.ep));
	atomic_set(&calls, 0);
	for (i = 0; i < 6; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, i));
	CHECK(kpair_connect(&pair));
	return true;
}

bool solicited_only_notification(void)
{
	const DAT_UPCALL_OBJECT upcall = { .upcall_func = count };
	struct evds evds;
	DAT_EVENT event;

	/* siw drops the solicited flag, and its IA reports this. */
	if (kpair_is_siw())
		return true;
	CHECK(three_evds(&evds));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evds.recv, DAT_UPCALL_SINGLE_INSTANCE,
				       &upcall, DAT_UPCALL_INVOC_NEW));
	CHECK(solicited_side(&evds, evds.recv));
	CHECK(send(DAT_COMPLETION_DEFAULT_FLAG));
	CHECK_EQ(0, atomic_read(&calls));
	CHECK_EQ(DAT_SUCCESS, dat_evd_dequeue(evds.recv, &event));
	CHECK_EQ(0, event.event_data.dto_completion_event_data
							.user_cookie.as_64);
	/* The next solicited message also delivers the messages before it. */
	CHECK(send(DAT_COMPLETION_DEFAULT_FLAG));
	CHECK_EQ(0, atomic_read(&calls));
	CHECK(send(DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	CHECK(become(2));
	CHECK(send(DAT_COMPLETION_DEFAULT_FLAG));
	CHECK_EQ(2, atomic_read(&calls));
	/* Flushed receives also notify, as no other event reports them. */
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(become(5));
	CHECK(kwait_number(pair.b.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));

	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evds.recv, DAT_UPCALL_TEARDOWN, NULL,
				       DAT_UPCALL_INVOC_NEW));

	/* If other EPs use the EVD without the flag, the flag has no effect. */
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evds.request, DAT_UPCALL_SINGLE_INSTANCE,
				       &upcall, DAT_UPCALL_INVOC_NEW));
	CHECK(solicited_side(&evds, evds.request));
	CHECK(send(DAT_COMPLETION_DEFAULT_FLAG));
	CHECK(become(1));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evds.recv));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evds.request));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evds.connect));
	return true;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_marks.c - high watermarks of EPs that are set more than once
 */
#include <linux/delay.h>

#include "ep_test.h"
#include "report.h"

static bool posts(u64 from, u64 to)
{
	for (; from <= to; from++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, from));
	return true;
}

static bool told_once(void)
{
	DAT_EVENT event;

	CHECK(kwait_event(pair.async_evd, &event));
	CHECK_EQ(pair.b.ep,
		 event.event_data.asynch_error_event_data.dat_handle);
	msleep(50);
	CHECK(is_empty(pair.async_evd));
	return true;
}

/* The first watermark has not been exceeded, and its event never comes. */
bool watermark_replaces_previous(void)
{
	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(pair.b.ep, 2,
						   DAT_WATERMARK_INFINITE));
	CHECK(posts(1, 2));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(pair.b.ep, 4,
						   DAT_WATERMARK_INFINITE));
	CHECK(posts(3, 4));
	msleep(50);
	CHECK(is_empty(pair.async_evd));
	CHECK(posts(5, 5));
	CHECK(told_once());
	/* The same for the hard watermark. */
	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(pair.b.ep,
						   DAT_WATERMARK_INFINITE, 5));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(pair.b.ep,
						   DAT_WATERMARK_INFINITE, 6));
	CHECK(posts(6, 6));
	msleep(50);
	CHECK(is_empty(pair.b.conn_evd));
	CHECK(posts(7, 7));
	CHECK(kwait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_BROKEN));
	CHECK(is_empty(pair.async_evd));
	return true;
}

/* The EP already has more receives than the watermark when the call comes. */
bool watermark_already_exceeded(void)
{
	CHECK(connected());
	CHECK(posts(1, 3));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(pair.b.ep, 2,
						   DAT_WATERMARK_INFINITE));
	CHECK(told_once());
	CHECK(is_empty(pair.b.conn_evd));
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(pair.b.ep,
						   DAT_WATERMARK_INFINITE, 2));
	CHECK(kwait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_BROKEN));
	CHECK(is_empty(pair.async_evd));
	return true;
}

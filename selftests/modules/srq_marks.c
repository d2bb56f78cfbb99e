// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_marks.c - shared receive queues: size and watermarks
 */
#include <linux/delay.h>

#include "report.h"
#include "srq_test.h"

/* Checks that the event comes, and comes once. */
bool srq_told(DAT_HANDLE handle, DAT_COUNT reason)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT event;

	CHECK(kwait_event(srq_pair.async_evd, &event));
	d = &event.event_data.asynch_error_event_data;
	CHECK_EQ(DAT_ASYNC_ERROR_EP_BROKEN, event.event_number);
	CHECK_EQ(handle, d->dat_handle);
	CHECK_EQ(reason, d->reason);
	return true;
}

bool srq_not_told(void)
{
	DAT_EVENT event;

	msleep(50);
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(srq_pair.async_evd, &event));
	return true;
}

/* Dequeues all messages sent on a link. */
static bool receive_all(int i, int num)
{
	u64 cookie;
	u32 word;

	while (num--)
		CHECK(srq_receive(i, &word, &cookie));
	return true;
}

bool srq_resize_shrink_and_grow(void)
{
	bool can_grow;
	DAT_RETURN ret;
	u64 cookie;
	u32 word;
	int i;

	for (i = 0; i < 6; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK(srq_send(0, 5));
	/* A buffer is outstanding until its completion is dequeued. */
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE,
		  dat_srq_resize(srq, 5));
	CHECK_EQ(DAT_SUCCESS, dat_srq_resize(srq, 6));
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ, srq_post(6));
	CHECK(srq_receive(0, &word, &cookie));
	CHECK_EQ(5, word);
	CHECK_EQ(DAT_SUCCESS, srq_post(cookie));
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ, srq_post(6));

	/* Resize beyond the initial size; siw rejects this. */
	ret = dat_srq_resize(srq, 200);
	can_grow = !ret;
	if (!can_grow)
		CHECK_EQ(DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				   DAT_RESOURCE_SRQ), ret);
	CHECK(can_grow || !strncmp(kpair_ia, "siw", 3));
	CHECK(srq_counts(6, 6));
	if (can_grow) {
		for (i = 6; i < 200; i++)
			CHECK_EQ(DAT_SUCCESS, srq_post(i));
		CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ,
			  srq_post(0));
		/* More than its buffers were before. */
		for (i = 0; i < 150; i++)
			CHECK(srq_send(1, i));
		CHECK(srq_counts(50, 200));
		for (i = 0; i < 150; i++) {
			CHECK(srq_receive(1, &word, &cookie));
			CHECK_EQ(i, word);
		}
	}
	for (i = can_grow ? 50 : 6; i; i--) {
		CHECK(srq_send(2, i));
		CHECK(srq_receive(2, &word, &cookie));
		CHECK_EQ(i, word);
	}
	CHECK_EQ(DAT_SUCCESS, dat_srq_resize(srq, SRQ_MAX));
	return srq_counts(0, 0);
}

bool srq_low_watermark_fires_once(void)
{
	DAT_SRQ_PARAM param;
	int i;

	/* Fewer receives are posted already. */
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 1));
	CHECK(srq_told(srq, DAT_SRQ_LOW_WATERMARK_EVENT));
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT));
	CHECK(srq_not_told());

	for (i = 0; i < 6; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 4));
	CHECK_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK_EQ(4, param.low_watermark);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE,
		  dat_srq_resize(srq, 3));
	/* Four posted receives are not below four. */
	CHECK(srq_send(0, 1));
	CHECK(srq_send(2, 2));
	CHECK(srq_not_told());
	/* Three are, although no completion has been dequeued. */
	CHECK(srq_send(0, 3));
	CHECK(srq_told(srq, DAT_SRQ_LOW_WATERMARK_EVENT));
	CHECK(srq_send(0, 4));
	CHECK(receive_all(0, 3));
	CHECK(srq_not_told());
	/* Armed again, it comes at once, because only two are posted. */
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 3));
	CHECK(srq_told(srq, DAT_SRQ_LOW_WATERMARK_EVENT));
	/* A new value replaces the old value. */
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 2));
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 1));
	CHECK(srq_send(0, 5));
	CHECK(srq_not_told());
	CHECK(srq_send(0, 6));
	CHECK(srq_told(srq, DAT_SRQ_LOW_WATERMARK_EVENT));
	CHECK(srq_not_told());
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT));
	CHECK(receive_all(0, 2));
	CHECK(receive_all(2, 1));
	return srq_counts(0, 0);
}

bool srq_high_watermarks(void)
{
	DAT_EP_HANDLE ep = srq_links[0].b;
	DAT_EP_PARAM param;
	DAT_EVENT event;
	int i;

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ep_set_watermark(ep, -3, 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_ep_set_watermark(ep, 1, -3));
	for (i = 0; i < SRQ_MAX; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_set_watermark(ep, 2, DAT_WATERMARK_INFINITE));
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(2, param.ep_attr.srq_soft_hw);
	/* Buffers of other EPs do not count, nor do dequeued buffers. */
	CHECK(srq_send(0, 1));
	CHECK(receive_all(0, 1));
	CHECK(srq_send(2, 2));
	CHECK(srq_send(2, 3));
	CHECK(srq_send(0, 4));
	CHECK(srq_send(0, 5));
	CHECK(srq_not_told());
	CHECK(srq_send(0, 6));
	CHECK(srq_told(ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	CHECK(srq_send(0, 7));
	CHECK(srq_not_told());
	/* Set again while four are outstanding. */
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_set_watermark(ep, 3, DAT_WATERMARK_INFINITE));
	CHECK(srq_told(ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_set_watermark(ep, 4, DAT_WATERMARK_INFINITE));
	CHECK(srq_not_told());
	CHECK(receive_all(0, 4));
	CHECK(receive_all(2, 2));

	/* Exceeding the hard watermark breaks this connection only. */
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_set_watermark(ep, DAT_WATERMARK_INFINITE, 1));
	CHECK(srq_send(0, 8));
	msleep(50);
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(srq_pair.b.conn_evd, &event));
	CHECK(srq_send_last(0, 9));
	CHECK(kwait_event(srq_pair.b.conn_evd, &event));
	CHECK_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
	CHECK_EQ(ep, event.event_data.connect_event_data.ep_handle);
	CHECK(srq_not_told());
	CHECK(receive_all(0, 2));
	CHECK(srq_send(1, 10));
	CHECK(receive_all(1, 1));
	CHECK(srq_counts(0, 0));
	CHECK(srq_link_close(0));
	CHECK(srq_link_open(0));
	CHECK_EQ(DAT_SUCCESS, srq_post(0));
	CHECK(srq_send(0, 11));
	CHECK(receive_all(0, 1));
	return srq_counts(0, 0);
}

/* An EP without SRQ: counts receives that are posted and not completed. */
bool ep_high_watermarks(void)
{
	struct kpair *p = &srq_pair;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr = { .max_recv_dtos = 6 };
	DAT_EVENT event;
	struct kpair q;
	int i;

	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(p->ia, p->b.pz, srq_links[2].evd, p->b.dto_evd,
			       p->b.conn_evd, &attr, &ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_set_watermark(ep, 2, DAT_WATERMARK_INFINITE));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, 2));
	CHECK(srq_not_told());
	CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, 3));
	CHECK(srq_told(ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, 4));
	CHECK(srq_not_told());
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_set_watermark(ep, 3, DAT_WATERMARK_INFINITE));
	CHECK(srq_told(ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	/* A full queue rejects a post, regardless of the watermarks. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(ep, 5, 5));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, 5));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &srq_in, 0, 64, 6));
	CHECK(srq_told(ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT));
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP,
		  kpost_recv(ep, &srq_in, 0, 64, 7));
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(p->b.conn_evd, &event));

	/* Six exceed five: the EP is BROKEN as soon as it is connected. */
	q = *p;
	q.b.ep = ep;
	CHECK(kpair_connect(&q));
	CHECK(kwait_number(p->b.conn_evd, DAT_CONNECTION_EVENT_BROKEN));
	for (i = 1; i <= 6; i++)
		CHECK_EQ(DAT_DTO_ERR_FLUSHED,
			 kwait_dto(srq_links[2].evd, i));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	CHECK(kwait_event(p->a.conn_evd, &event));
	return srq_not_told();
}

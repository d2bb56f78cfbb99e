// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_posts.c - shared receive queues: posts and their completions
 */
#include <linux/completion.h>
#include <linux/delay.h>

#include "report.h"
#include "srq_test.h"

static DAT_RETURN post(DAT_COUNT num_segments, DAT_LMR_TRIPLET *iov, u64 cookie)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_srq_post_recv(srq, num_segments, iov, c);
}

/* Checks length and cookie of the next receive on link 0. */
static bool received(u32 length, u64 cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;

	CHECK(kwait_event(srq_evd(0), &event));
	d = &event.event_data.dto_completion_event_data;
	CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	CHECK_EQ(DAT_DTO_SUCCESS, d->status);
	CHECK_EQ(DAT_DTO_RECEIVE, d->operation);
	CHECK_EQ(srq_links[0].b, d->ep_handle);
	CHECK_EQ(length, d->transfered_length);
	CHECK_EQ(cookie, d->user_cookie.as_64);
	return true;
}

static bool sent(u32 length)
{
	return !kpost_send(srq_links[0].a, &srq_out, 0, length, 5) &&
	       kwait_dto(srq_pair.a.dto_evd, 5) == DAT_DTO_SUCCESS;
}

bool srq_segments_filled_in_order(void)
{
	DAT_LMR_TRIPLET iov[2];
	int i;

	for (i = 0; i < 64; i++)
		srq_out.buf[i] = i + 1;
	memset(srq_in.buf, 0, 256);
	iov[0] = ksegment(&srq_in, 100, 10);
	iov[1] = ksegment(&srq_in, 0, 20);
	CHECK_EQ(DAT_SUCCESS, post(2, iov, 1));
	/* The consumer may change the segments after the post, but not the memory. */
	memset(iov, 0xff, sizeof(iov));
	CHECK(sent(15));
	CHECK(received(15, 1));
	CHECK(!memcmp(srq_in.buf + 100, srq_out.buf, 10));
	CHECK(!memcmp(srq_in.buf, srq_out.buf + 10, 5));
	CHECK(!memchr_inv(srq_in.buf + 5, 0, 95));
	CHECK(!memchr_inv(srq_in.buf + 110, 0, 100));
	return srq_counts(0, 0);
}

bool srq_zero_length_message(void)
{
	CHECK_EQ(DAT_SUCCESS, post(0, NULL, 77));
	CHECK(sent(0));
	CHECK(received(0, 77));
	return srq_counts(0, 0);
}

bool srq_opaque_cookies(void)
{
	static const u64 cookies[] = { 0, ~0ULL, ~0ULL, 0xdeadbeef00000001 };
	DAT_LMR_TRIPLET seg = ksegment(&srq_in, 0, SRQ_BUF);
	int i;

	for (i = 0; i < ARRAY_SIZE(cookies); i++) {
		CHECK_EQ(DAT_SUCCESS, post(1, &seg, cookies[i]));
		CHECK(sent(4));
		CHECK(received(4, cookies[i]));
	}
	CHECK_EQ(DAT_SUCCESS, post(1, &seg, 3));
	CHECK_EQ(DAT_SUCCESS, post(1, &seg, 3));
	for (i = 0; i < 2; i++) {
		CHECK(sent(4));
		CHECK(received(4, 3));
	}
	return srq_counts(0, 0);
}

bool srq_post_read_only_memory(void)
{
	DAT_LMR_TRIPLET seg;
	struct kregion r;

	CHECK(kregion_open(&srq_pair, srq_pair.b.pz, &r, 4096,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG));
	seg = ksegment(&r, 0, 8);
	CHECK_RET(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE,
		  post(1, &seg, 1));
	kregion_close(&r);
	return srq_counts(0, 0);
}

static bool is_silent(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	msleep(50);
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(evd, &event));
	return true;
}

/* As for an EP with its own buffers: the peer retries. */
bool srq_send_waits_for_buffer(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&srq_in, 0, SRQ_BUF);

	/* iWARP does not retry. */
	if (!strncmp(kpair_ia, "siw", 3))
		return true;
	CHECK_EQ(DAT_SUCCESS, kpost_send(srq_links[0].a, &srq_out, 0, 8, 5));
	CHECK(is_silent(srq_pair.a.dto_evd));
	CHECK_EQ(DAT_SUCCESS, post(1, &seg, 9));
	CHECK(received(8, 9));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(srq_pair.a.dto_evd, 5));
	return srq_counts(0, 0);
}

static bool field_is(const DAT_SRQ_PARAM *seen, const DAT_SRQ_PARAM *all,
		     DAT_SRQ_PARAM_MASK bit)
{
	switch (bit) {
	case DAT_SRQ_FIELD_IA_HANDLE:
		return seen->ia_handle == all->ia_handle;
	case DAT_SRQ_FIELD_SRQ_STATE:
		return seen->srq_state == all->srq_state;
	case DAT_SRQ_FIELD_PZ_HANDLE:
		return seen->pz_handle == all->pz_handle;
	case DAT_SRQ_FIELD_MAX_RECV_DTO:
		return seen->max_recv_dtos == all->max_recv_dtos;
	case DAT_SRQ_FIELD_MAX_RECV_IOV:
		return seen->max_recv_iov == all->max_recv_iov;
	case DAT_SRQ_FIELD_LOW_WATERMARK:
		return seen->low_watermark == all->low_watermark;
	case DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT:
		return seen->available_dto_count == all->available_dto_count;
	case DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT:
		return seen->outstanding_dto_count ==
		       all->outstanding_dto_count;
	default:
		return false;
	}
}

bool srq_query_single_fields(void)
{
	DAT_SRQ_PARAM all, seen;
	DAT_SRQ_PARAM_MASK bit;

	CHECK_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &all));
	for (bit = 1; bit & DAT_SRQ_FIELD_ALL; bit <<= 1) {
		memset(&seen, 0xa5, sizeof(seen));
		CHECK_EQ(DAT_SUCCESS, dat_srq_query(srq, bit, &seen));
		CHECK(field_is(&seen, &all, bit));
	}
	return true;
}

bool srq_failed_resize_no_effect(void)
{
	DAT_SRQ_PARAM param;
	u64 cookie;
	u32 word;
	int i;

	for (i = 0; i < 6; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK_EQ(DAT_INVALID_STATE, DAT_GET_TYPE(dat_srq_resize(srq, 5)));
	CHECK_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK_EQ(SRQ_MAX, param.max_recv_dtos);
	for (; i < SRQ_MAX; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	while (i--) {
		CHECK(srq_send(0, i));
		CHECK(srq_receive(0, &word, &cookie));
		CHECK_EQ(i, word);
	}
	/* Nor does a post below the watermark. */
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, 4));
	CHECK(srq_told(srq, DAT_SRQ_LOW_WATERMARK_EVENT));
	CHECK_EQ(DAT_INVALID_STATE, DAT_GET_TYPE(dat_srq_resize(srq, 3)));
	CHECK_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK_EQ(SRQ_MAX, param.max_recv_dtos);
	CHECK_EQ(4, param.low_watermark);
	CHECK_EQ(DAT_SUCCESS, dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT));
	return srq_counts(0, 0);
}

bool srq_create_low_watermark_event(void)
{
	DAT_SRQ_ATTR attr = { 4, 1, DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE other;

	CHECK_EQ(DAT_SUCCESS, dat_srq_create(srq_pair.ia, srq_pair.b.pz, &attr,
					     &other));
	CHECK(srq_not_told());
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(other));
	attr.low_watermark = 1;
	CHECK_EQ(DAT_SUCCESS, dat_srq_create(srq_pair.ia, srq_pair.b.pz, &attr,
					     &other));
	CHECK(srq_told(other, DAT_SRQ_LOW_WATERMARK_EVENT));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(other));
	return srq_not_told();
}

bool freed_srq_handle_not_reused(void)
{
	DAT_SRQ_ATTR attr = { 1, 1, DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE first, other;
	int i;

	CHECK_EQ(DAT_SUCCESS, dat_srq_create(srq_pair.ia, srq_pair.b.pz, &attr,
					     &first));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(first));
	for (i = 0; i < 200; i++) {
		CHECK_EQ(DAT_SUCCESS,
			 dat_srq_create(srq_pair.ia, srq_pair.b.pz, &attr,
					&other));
		CHECK((uintptr_t)other != (uintptr_t)first);
		CHECK_EQ(DAT_SUCCESS, dat_srq_free(other));
	}
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ,
		  dat_srq_free(first));
	return true;
}

static struct completion notified;

static void notify(DAT_PVOID instance_data, const DAT_EVENT *event,
		   DAT_BOOLEAN more_events)
{
	complete(&notified);
}

/* Buffers of an SRQ complete with notification, regardless of the EP's flags. */
bool srq_recv_notifies_unsignalled_ep(void)
{
	DAT_EP_ATTR attr = {
		.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	DAT_UPCALL_OBJECT upcall = { NULL, notify };
	struct kpair *p = &srq_pair;
	DAT_EVD_HANDLE evd;
	struct kpair q = *p;

	init_completion(&notified);
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(p->ia, 16, DAT_UPCALL_SINGLE_INSTANCE,
				 &upcall, DAT_EVD_DTO_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(p->ia, p->a.pz, p->a.dto_evd, p->a.dto_evd,
			       p->a.conn_evd, NULL, &q.a.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create_with_srq(p->ia, p->b.pz, evd, p->b.dto_evd,
					p->b.conn_evd, srq, &attr, &q.b.ep));
	CHECK(kpair_connect(&q));
	CHECK_EQ(DAT_SUCCESS, srq_post(0));
	CHECK_EQ(DAT_SUCCESS, kpost_send(q.a.ep, &srq_out, 0, 8, 5));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(p->a.dto_evd, 5));
	CHECK(wait_for_completion_timeout(&notified, 20 * HZ));
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(q.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(p->a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(kwait_number(p->b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(q.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(q.a.ep));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	return srq_counts(0, 0);
}

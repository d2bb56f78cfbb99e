// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_queue.c - fault session with queues: EVDs that are resized, and an SRQ
 */
#include "fail_nth_pair.h"

#define SRQ_LEN		10

static DAT_EVD_HANDLE evd;
static DAT_SRQ_HANDLE srq;

/*
 * EVDs
 */

static DAT_RETURN software_evd(void)
{
	return evd_create(DAT_EVD_SOFTWARE_FLAG, &evd);
}

static void undo_software_evd(void)
{
	MUST(dat_evd_free(evd));
}

static DAT_RETURN evd_query(void)
{
	DAT_EVD_PARAM param;

	return dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
}

/* Dequeues the event again, so that the next step finds the same queue. */
static DAT_RETURN evd_post_se(void)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.event_data.software_event_data.pointer = &evd,
	};
	DAT_RETURN ret = dat_evd_post_se(evd, &event);

	return ret ?: dat_evd_dequeue(evd, &event);
}

static DAT_COUNT qlen_of(DAT_EVD_HANDLE handle)
{
	DAT_EVD_PARAM param = {};

	MUST(dat_evd_query(handle, DAT_EVD_FIELD_ALL, &param));
	return param.evd_qlen;
}

static DAT_RETURN resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
	DAT_COUNT before = qlen_of(handle);
	DAT_RETURN ret = dat_evd_resize(handle, qlen);

	must_be(qlen_of(handle) == (ret ? before : qlen),
		"an EVD has the size that the call says");
	return ret;
}

static DAT_RETURN grow_ring(void)
{
	return resize(evd, 8 * QLEN);
}

static void undo_grow_ring(void)
{
	MUST(dat_evd_resize(evd, QLEN));
}

static DAT_RETURN shrink_ring(void)
{
	return resize(evd, QLEN);
}

static void undo_shrink_ring(void)
{
	MUST(dat_evd_resize(evd, 8 * QLEN));
}

/* Resizes the EVD while EPs use it. */
static DAT_RETURN resize_in_use(void)
{
	return resize(p.b.dto_evd, 128 * QLEN);
}

static void undo_resize_in_use(void)
{
	MUST(dat_evd_resize(p.b.dto_evd, QLEN));
}

/*
 * The SRQ, and an EP that receives from it
 */

static DAT_RETURN srq_create(void)
{
	DAT_SRQ_ATTR attr = { SRQ_LEN, 1, DAT_SRQ_LW_DEFAULT };

	return dat_srq_create(p.ia, p.b.pz, &attr, &srq);
}

static void undo_srq_create(void)
{
	MUST(dat_srq_free(srq));
}

static DAT_RETURN srq_query(void)
{
	DAT_SRQ_PARAM param;

	return dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param);
}

static DAT_COUNT srq_len(void)
{
	DAT_SRQ_PARAM param = {};

	MUST(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	return param.max_recv_dtos;
}

/* siw cannot resize an SRQ beyond its initial size. A CQ has room for twice its buffers. */
static DAT_RETURN srq_resize(void)
{
	DAT_COUNT len = kpair_is_siw() ? SRQ_LEN / 2 : 2 * SRQ_LEN;
	DAT_RETURN ret = dat_srq_resize(srq, len);

	must_be(srq_len() == (ret ? SRQ_LEN : len),
		"an SRQ has the size that the call says");
	return ret;
}

/* An SRQ does not shrink, so create a new one that can grow again. */
static void undo_srq_resize(void)
{
	MUST(dat_srq_free(srq));
	MUST(srq_create());
}

/* Fewer receives are posted, so the event comes immediately. */
static DAT_RETURN srq_set_lw(void)
{
	return dat_srq_set_lw(srq, 2);
}

static bool low_watermark_comes(void)
{
	return event_comes(p.async_evd);
}

static DAT_RETURN low_watermark(void)
{
	return low_watermark_comes() ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
}

static DAT_RETURN srq_free(void)
{
	return dat_srq_free(srq);
}

static void undo_srq_free(void)
{
	MUST(srq_create());
}

static DAT_RETURN srq_post_recv(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&b, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_srq_post_recv(srq, 1, &seg, cookie);
}

/* kdapl inserts the key of the reserved LMR for the device. No message arrives there. */
static DAT_RETURN srq_post_reserved(void)
{
	DAT_LMR_TRIPLET seg = { .segment_length = 64 };
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };
	DAT_LMR_HANDLE lmr;

	if (dat_ia_reserved_lmr(p.ia, &lmr, &seg.lmr_context))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	return dat_srq_post_recv(srq, 1, &seg, cookie);
}

static DAT_RETURN renew(void)
{
	return reset() ?: dat_srq_free(srq) ?: srq_create();
}

static DAT_RETURN ep_create_with_srq(void)
{
	DAT_EP_ATTR attr = {};

	return dat_ep_create_with_srq(p.ia, p.b.pz, p.b.dto_evd, p.b.dto_evd,
				      p.b.conn_evd, srq, &attr, &p.b.ep);
}

static void undo_ep_create_with_srq(void)
{
	MUST(dat_ep_free(p.b.ep));
}

static DAT_RETURN ep_recv_query(void)
{
	DAT_COUNT num, span;

	return dat_ep_recv_query(p.b.ep, &num, &span);
}

/* Sets a watermark that no step exceeds. */
static DAT_RETURN ep_set_watermark(void)
{
	return dat_ep_set_watermark(p.b.ep, 2, DAT_WATERMARK_INFINITE) ?:
	       dat_ep_set_watermark(p.a.ep, 2, DAT_WATERMARK_INFINITE);
}

/* The SRQ's buffers then complete on another EVD, which must hold all of them. */
static DAT_RETURN modify_with_srq(void)
{
	DAT_EP_PARAM param = { .recv_evd_handle = p.a.dto_evd };

	return dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param);
}

static void undo_modify_with_srq(void)
{
	DAT_EP_PARAM param = { .recv_evd_handle = p.b.dto_evd };

	MUST(dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
}

static DAT_RETURN modify_back(void)
{
	DAT_EP_PARAM param = { .recv_evd_handle = p.b.dto_evd };

	return dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param);
}

static void undo_modify_back(void)
{
	MUST(modify_with_srq());
}

static DAT_RETURN connect_to_srq(void)
{
	return connect_a() ?: wait_cr() ?: cr_accept() ?: established();
}

static DAT_RETURN disconnect_all(void)
{
	return disconnect_gracefully() ?: both_disconnected();
}

static DAT_RETURN reset_ep_with_srq(void)
{
	return dat_ep_reset(p.b.ep);
}

static DAT_RETURN reset_other_ep(void)
{
	return dat_ep_reset(p.a.ep);
}

static DAT_RETURN free_ep_with_srq(void)
{
	return dat_ep_free(p.b.ep);
}

static void undo_free_ep_with_srq(void)
{
	MUST(ep_create_with_srq());
}

static const struct step session[] = {
	QUIET(open_all),
	MAKE(software_evd),
	LOOK(evd_query),
	LOOK(evd_post_se),
	MAKE(grow_ring),
	MAKE(shrink_ring),

	MAKE(srq_create),
	LOOK(srq_query),
	FREE(srq_resize),
	{ "srq_set_lw", srq_set_lw, NOTHING, .outcome = low_watermark_comes,
	  .may_have_none = true },
	QUIET(low_watermark),
	FREE(srq_free),
	QUIET(srq_create),

	BEGIN(renew),
	MAKE_QP(ep_create_with_srq),
	MAKE_QP(modify_with_srq),
	MAKE_QP(modify_back),
	{ "resize_with_ep", srq_resize, DONE, .may_have_none = true },
	FREE(resize_in_use),
	QUIET(ep_create),
	LOOK(ep_recv_query),
	LOOK(ep_set_watermark),
	POST(srq_post_recv),
	POST(srq_post_recv),
	QUIET(connect_to_srq),
	POST(send_a),
	POST(completed_a),
	POST(completed_b),
	POST(srq_post_recv),
	QUIET(disconnect_all),
	{ "reset_ep_with_srq", reset_ep_with_srq, DONE, .spared = OLD_RXE },
	QUIET(reset_other_ep),
	QUIET(connect_to_srq),
	QUIET(send_a),
	QUIET(completed_a),
	QUIET(completed_b),

	BEGIN(renew),
	QUIET(ep_create_with_srq),
	FREE(free_ep_with_srq),
	POST(srq_post_reserved),
	QUIET(close_all),
};

bool queue_calls_survive(void)
{
	return survives(session, ARRAY_SIZE(session), 50);
}

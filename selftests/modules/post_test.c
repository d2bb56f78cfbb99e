// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post_test.c - posts of in-kernel consumers: requests, flags, segments
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "kevd.h"
#include "kpair.h"
#include "report.h"

#define SIZE	65536

static struct kpair pair;
static struct kregion a, b;
static u8 *kbuf;
static DAT_IA_ATTR ia_attr;
static DAT_EP_ATTR ep_attr;

static DAT_CONTEXT cookie(u64 value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

static DAT_RETURN send_inv(size_t len, u64 id, unsigned int flags,
			   DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, len);

	return dat_ep_post_send_with_invalidate(pair.a.ep, 1, &seg, cookie(id),
						flags, invalidate, context);
}

/* Side a sends and invalidates @context of side b, whose completion reports it. */
static bool invalidated(DAT_RMR_CONTEXT context)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;

	kfill(a.buf, 100, context);
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 200, 71));
	CHECK_EQ(DAT_SUCCESS, send_inv(100, 70,
				       DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				       DAT_TRUE, context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 70));
	CHECK(kwait_event(pair.b.dto_evd, &event));
	d = &event.event_data.dto_completion_event_data;
	CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	CHECK_EQ(71, d->user_cookie.as_64);
	CHECK_EQ(DAT_DTO_SUCCESS, d->status);
	CHECK_EQ(DAT_DTO_RECEIVE_WITH_INVALIDATE, d->operation);
	CHECK_EQ(context, d->rmr_context);
	CHECK_EQ(100, d->transfered_length);
	CHECK(!memcmp(a.buf, b.buf, 100));
	return true;
}

/* The requests of side b are complete when a later message has arrived. */
static bool side_b_has_done_it(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&b, 0, 1);

	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 60000, 1, 72));
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_send(pair.b.ep, 1, &seg, cookie(73),
					       DAT_COMPLETION_SUPPRESS_FLAG));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 72));
	return true;
}

static bool is_bound(DAT_RMR_HANDLE rmr, u32 length)
{
	DAT_RMR_PARAM param;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(length, param.lmr_triplet.segment_length);
	return true;
}

/* Also if the completion of the bind is suppressed. */
static bool send_invalidate_rmr(void)
{
	DAT_RMR_CONTEXT context, old = 0;
	DAT_RMR_HANDLE rmr;
	struct kregion r;
	int i;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	CHECK(kregion_open(&pair, pair.b.pz, &r, 8192, DAT_MEM_PRIV_ALL_FLAG));
	for (i = 0; i < 50; i++) {
		unsigned int flags = i & 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0;

		CHECK_EQ(DAT_SUCCESS, kbind(rmr, &r, i, 4000, KREMOTE_ALL,
					    pair.b.ep, 5, flags, &context));
		CHECK(context != old);
		if (flags)
			CHECK(side_b_has_done_it());
		else
			CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd,
							     5));
		kfill(a.buf, 4000, i);
		CHECK_EQ(DAT_DTO_SUCCESS,
			 kwrite(&pair, &a, 0, 4000, context, r.buf + i));
		CHECK(!memcmp(a.buf, r.buf + i, 4000));
		CHECK(is_bound(rmr, 4000));
		CHECK(invalidated(context));
		CHECK(is_bound(rmr, 0));
		old = context;
	}
	/* The closed window no longer uses the LMR. */
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	kregion_close(&r);
	return true;
}

/* The owner closes the window before it has seen that the peer has closed it. */
static bool rebind_after_peer_invalidate(void)
{
	DAT_RMR_CONTEXT context, next;
	DAT_RMR_HANDLE rmr;
	int i;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	for (i = 0; i < 20; i++) {
		CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 300, 4000, KREMOTE_ALL,
					    pair.b.ep, 5, 0, &context));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 5));
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 200, 71));
		CHECK_EQ(DAT_SUCCESS, send_inv(1, 70, 0, DAT_TRUE, context));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 70));
		/* On iWARP the completion only means that it has been sent. */
		msleep(20);
		CHECK_EQ(DAT_SUCCESS,
			 kbind(rmr, &b, 300, 4000, KREMOTE_ALL, pair.b.ep, 6, 0,
			       &next));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 71));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 6));
		CHECK_EQ(DAT_DTO_SUCCESS,
			 kwrite(&pair, &a, 0, 4000, next, b.buf + 300));
		CHECK(is_bound(rmr, 4000));
		CHECK(invalidated(next));
		CHECK(is_bound(rmr, 0));
	}
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

static bool send_invalidate_lmr(void)
{
	DAT_RETURN unknown = DAT_ERROR(DAT_PROTECTION_VIOLATION,
				       DAT_PROTECTION_READ);
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_TRIPLET seg;
	DAT_LMR_HANDLE lmr;
	struct kregion r;
	int i;

	CHECK(kregion_open(&pair, pair.b.pz, &r, 8192, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_allocate(pair.ia, pair.b.pz, 2,
					       DAT_LMR_SCOPE_PZ, &lmr));
	region.for_va = r.buf;
	for (i = 0; i < 20; i++) {
		CHECK_EQ(DAT_SUCCESS,
			 dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 2,
				     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				     pair.b.ep, cookie(1),
				     i & 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0,
				     &local, &remote));
		if (i & 1)
			CHECK(side_b_has_done_it());
		else
			CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 1));
		CHECK_EQ(DAT_DTO_SUCCESS,
			 kwrite(&pair, &a, 0, 8192, remote, r.buf));
		CHECK(invalidated(remote));
		seg = (DAT_LMR_TRIPLET){ (uintptr_t)r.buf, 1, local };
		CHECK_EQ(unknown, dat_ep_post_send(pair.b.ep, 1, &seg,
						   cookie(1), 0));
		CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE,
			  dat_lmr_invalidate(lmr, pair.b.ep, cookie(1), 0));
	}
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(lmr));

	/* An LMR whose registration a peer has invalidated cannot be used. */
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 8192, r.rmr_context, r.buf));
	CHECK(invalidated(r.rmr_context));
	CHECK_EQ(unknown, kpost_send(pair.b.ep, &r, 0, 1, 1));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	kregion_close(&r);
	return true;
}

/* An RMR has its own MR, so it works without the MR of its LMR. */
static bool send_invalidate_lmr_keeps_rmr(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b.buf };
	DAT_RMR_CONTEXT remote, context;
	DAT_LMR_CONTEXT local;
	DAT_LMR_TRIPLET seg;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	int i;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_allocate(pair.ia, pair.b.pz, 16,
					       DAT_LMR_SCOPE_PZ, &lmr));
	for (i = 0; i < 5; i++) {
		CHECK_EQ(DAT_SUCCESS,
			 dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 16,
				     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				     pair.b.ep, cookie(1),
				     DAT_COMPLETION_SUPPRESS_FLAG |
				     DAT_COMPLETION_UNSIGNALLED_FLAG, &local,
				     &remote));
		seg = (DAT_LMR_TRIPLET){ (uintptr_t)b.buf + 5000, 5000, local };
		CHECK_EQ(DAT_SUCCESS,
			 dat_rmr_bind(rmr, &seg, KREMOTE_ALL, pair.b.ep,
				      cookie(2), 0, &context));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 2));
		CHECK(invalidated(remote));
		kfill(a.buf, 5000, i);
		CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, 5000, context,
						 b.buf + 5000));
		CHECK(!memcmp(a.buf, b.buf + 5000, 5000));
		CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
			  dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 16, 0,
				      DAT_VA_TYPE_VA, pair.b.ep, cookie(1), 0,
				      &local, NULL));
		CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
			  dat_lmr_free(lmr));
		CHECK(invalidated(context));
	}
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(lmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

static bool send_with_invalidate_false(void)
{
	DAT_EVENT event;

	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 200, 71));
	CHECK_EQ(DAT_SUCCESS, send_inv(10, 70, 0, DAT_FALSE, b.rmr_context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 70));
	CHECK(kwait_event(pair.b.dto_evd, &event));
	CHECK_EQ(DAT_DTO_RECEIVE,
		 event.event_data.dto_completion_event_data.operation);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 10, b.rmr_context, b.buf));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
		  send_inv(10, 70, 0, 2, b.rmr_context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  send_inv(10, 70, 0x20, DAT_TRUE, b.rmr_context));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_post_send_with_invalidate(pair.a.pz, 0, NULL,
						   cookie(1), 0, DAT_TRUE, 1));
	return true;
}

static DAT_RETURN read_to(DAT_RMR_CONTEXT context, u8 *to, u32 len,
			  u8 *from, u64 id)
{
	DAT_RMR_TRIPLET local = { (uintptr_t)to, len, context };
	DAT_RMR_TRIPLET remote = { (uintptr_t)from, len, b.rmr_context };

	return dat_ep_post_rdma_read_to_rmr(pair.a.ep, &local, cookie(id),
					    &remote, 0);
}

static bool rdma_read_to_rmr(void)
{
	DAT_RMR_CONTEXT context, readable;
	DAT_RMR_TRIPLET one, none = {};
	DAT_RMR_HANDLE rmr;
	int i;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &rmr));
	for (i = 0; i < 20; i++) {
		kfill(b.buf, 9000, i);
		memset(a.buf, 0, 20000);
		CHECK_EQ(DAT_SUCCESS,
			 kbind(rmr, &a, 1000 + i, 9000, KREMOTE_ALL, pair.a.ep,
			       5, DAT_COMPLETION_SUPPRESS_FLAG, &context));
		CHECK_EQ(DAT_SUCCESS, read_to(context, a.buf + 1001 + i, 8998,
					      b.buf, 6));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 6));
		CHECK(!memcmp(a.buf + 1001 + i, b.buf, 8998));
		CHECK_EQ(0, a.buf[1000 + i]);
		CHECK_EQ(0, a.buf[1001 + i + 8998]);
	}
	i--;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  read_to(context, a.buf + 999 + i, 10, b.buf, 6));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  read_to(context, a.buf + 1000 + i, 9001, b.buf, 6));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE,
		  read_to(context ^ 1, a.buf + 1000 + i, 1, b.buf, 6));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE,
		  read_to(b.rmr_context, b.buf, 1, b.buf, 6));
	one = (DAT_RMR_TRIPLET){ (uintptr_t)a.buf + 1000 + i, 2, context };
	none.segment_length = 3;
	CHECK_RET(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE,
		  dat_ep_post_rdma_read_to_rmr(pair.a.ep, &one, cookie(6),
					       &none, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ep_post_rdma_read_to_rmr(pair.a.ep, NULL, cookie(6),
					       &none, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_ep_post_rdma_read_to_rmr(pair.a.ep, &one, cookie(6),
					       NULL, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_ep_post_rdma_read_to_rmr(pair.a.ep, &one, cookie(6),
					       &none,
					       DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_post_rdma_read_to_rmr(rmr, &one, cookie(6), &none, 0));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &a, 0, 10,
				    DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.a.ep,
				    5, DAT_COMPLETION_SUPPRESS_FLAG,
				    &readable));
	CHECK_RET(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE,
		  read_to(readable, a.buf, 1, b.buf, 6));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE,
		  read_to(context, a.buf + 1000 + i, 1, b.buf, 6));
	/* Also through the rmr_context of an LMR. */
	CHECK_EQ(DAT_SUCCESS, read_to(a.rmr_context, a.buf + 3, 5000, b.buf,
				      7));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 7));
	CHECK(!memcmp(a.buf + 3, b.buf, 5000));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

static bool read_to_rmr_address_wrap(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 4096);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS,
		 dat_rmr_bind(rmr, a.lmr, &seg, KREMOTE_ALL, DAT_VA_TYPE_ZB,
			      pair.a.ep, cookie(5), 0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.a.dto_evd, 5));
	CHECK_EQ(DAT_SUCCESS, read_to(context, NULL, 4096, b.buf, 6));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 6));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  read_to(context, (u8 *)-4L, 8, b.buf, 6));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  read_to(context, (u8 *)4096, 1, b.buf, 6));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  read_to(context, (u8 *)4095, 2, b.buf, 6));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

static DAT_RETURN rdma(bool write, int num, DAT_LMR_TRIPLET *iov, u64 id,
		       u32 len, unsigned int flags)
{
	DAT_RMR_TRIPLET remote = { (uintptr_t)b.buf, len, b.rmr_context };

	if (write)
		return dat_ep_post_rdma_write(pair.a.ep, num, iov, cookie(id),
					      &remote, flags);
	return dat_ep_post_rdma_read(pair.a.ep, num, iov, cookie(id), &remote,
				     flags);
}

static bool completion_flags_per_opcode(void)
{
	unsigned int request = DAT_COMPLETION_SUPPRESS_FLAG |
			       DAT_COMPLETION_UNSIGNALLED_FLAG |
			       DAT_COMPLETION_BARRIER_FENCE_FLAG;
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 1);
	unsigned int bit, good;

	/* Rejected flags have no effect. */
	for (bit = 0; bit < 31; bit++) {
		unsigned int flag = BIT(bit);

		if (!(flag & (request | DAT_COMPLETION_SOLICITED_WAIT_FLAG)))
			CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
				  dat_ep_post_send(pair.a.ep, 1, &seg,
						   cookie(1), flag));
		if (!(flag & request)) {
			CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
				  rdma(true, 1, &seg, 1, 1, flag));
			CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
				  rdma(false, 1, &seg, 1, 1, flag));
		}
		if (flag != DAT_COMPLETION_UNSIGNALLED_FLAG)
			CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
				  dat_ep_post_recv(pair.a.ep, 1, &seg,
						   cookie(1), flag));
	}
	/* All combinations of supported flags; only SUPPRESS suppresses the event. */
	for (good = 0; good < 16; good++) {
		bool event = !(good & DAT_COMPLETION_SUPPRESS_FLAG);

		CHECK_EQ(DAT_SUCCESS,
			 kpost_recv(pair.b.ep, &b, 0, 10, 1000 + good));
		CHECK_EQ(DAT_SUCCESS, dat_ep_post_send(pair.a.ep, 1, &seg,
						       cookie(good), good));
		CHECK_EQ(DAT_DTO_SUCCESS,
			 kwait_dto(pair.b.dto_evd, 1000 + good));
		if (event)
			CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd,
							    good));
		if (good & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			continue;
		CHECK_EQ(DAT_SUCCESS, rdma(true, 1, &seg, 100 + good, 1, good));
		if (event)
			CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd,
							    100 + good));
		CHECK_EQ(DAT_SUCCESS,
			 rdma(false, 1, &seg, 200 + good, 1, good));
		if (event)
			CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd,
							    200 + good));
	}
	CHECK_EQ(DAT_SUCCESS, rdma(true, 1, &seg, 300, 1, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 300));
	CHECK(ksilent(pair.a.dto_evd));
	return true;
}

/* Data of a Read must have arrived before a fenced request uses it. */
static bool barrier_fence_waits_for_reads(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 32768);
	int i;

	for (i = 0; i < 10; i++) {
		kfill(b.buf, 32768, i + 1);
		memset(a.buf, 0, 32768);
		memset(b.buf + 32768, 0, 32768);
		CHECK_EQ(DAT_SUCCESS,
			 kpost_recv(pair.b.ep, &b, 32768, 32768, 2));
		CHECK_EQ(DAT_SUCCESS, rdma(false, 1, &seg, 1, 32768,
					   DAT_COMPLETION_SUPPRESS_FLAG));
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_post_send(pair.a.ep, 1, &seg, cookie(3),
					  DAT_COMPLETION_BARRIER_FENCE_FLAG));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 2));
		CHECK(!memcmp(b.buf, b.buf + 32768, 32768));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	}
	return true;
}

static bool post_zero_bytes(void)
{
	DAT_LMR_TRIPLET empty = { .lmr_context = a.lmr_context };
	DAT_EVENT event;
	int num;

	for (num = 0; num < 2; num++) {
		CHECK_EQ(DAT_SUCCESS, dat_ep_post_recv(pair.b.ep, 0, NULL,
						       cookie(2), 0));
		CHECK_EQ(DAT_SUCCESS, dat_ep_post_send(pair.a.ep, num, &empty,
						       cookie(1), 0));
		CHECK(kwait_event(pair.b.dto_evd, &event));
		CHECK_EQ(DAT_DTO_SUCCESS,
			 event.event_data.dto_completion_event_data.status);
		CHECK_EQ(0, event.event_data.dto_completion_event_data
				    .transfered_length);
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
		CHECK_EQ(DAT_SUCCESS, rdma(true, num, &empty, 3, 0, 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	}
	/* siw fails on Reads of zero bytes. */
	if (!strncmp(kpair_ia, "siw", 3))
		return true;
	CHECK_EQ(DAT_SUCCESS, rdma(false, 0, NULL, 4, 0, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 4));
	CHECK_EQ(DAT_SUCCESS, read_to(0, NULL, 0, NULL, 5));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 5));
	return true;
}

/* Pieces of odd sizes, last piece of the region first. */
static u32 cut(const struct kregion *region, DAT_LMR_TRIPLET *iov, int num)
{
	size_t offset = region->len;
	u32 length = 0;
	int i;

	for (i = 0; i < num; i++) {
		u32 len = 101 + 7 * i;

		offset -= len + 50;
		iov[i] = ksegment(region, offset, len);
		length += len;
	}
	return length;
}

static bool same(const struct kregion *region, const DAT_LMR_TRIPLET *iov,
		 int num, const u8 *flat)
{
	int i;

	for (i = 0; i < num; i++) {
		CHECK(!memcmp((void *)(uintptr_t)iov[i].virtual_address, flat,
			      iov[i].segment_length));
		flat += iov[i].segment_length;
	}
	return true;
}

static bool post_max_segments(void)
{
	int dto = ia_attr.max_iov_segments_per_dto;
	int write = ia_attr.max_iov_segments_per_rdma_write;
	int read = ia_attr.max_iov_segments_per_rdma_read;
	static DAT_LMR_TRIPLET iov[64], to[64];
	u32 length;

	CHECK(dto < 64 && write < 64 && read < 64);
	kfill(a.buf, SIZE, 5);
	memset(b.buf, 0, SIZE);
	length = cut(&a, iov, dto);
	CHECK_EQ(length, cut(&b, to, dto));
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_recv(pair.b.ep, dto, to, cookie(2),
					       0));
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_send(pair.a.ep, dto, iov, cookie(1),
					       0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
	CHECK(!memcmp(a.buf + SIZE - 151, b.buf + SIZE - 151, 101));
	CHECK(!memcmp((void *)(uintptr_t)iov[dto - 1].virtual_address,
		      (void *)(uintptr_t)to[dto - 1].virtual_address,
		      to[dto - 1].segment_length));

	length = cut(&a, iov, write);
	CHECK_EQ(DAT_SUCCESS, rdma(true, write, iov, 3, length, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	msleep(20);
	CHECK(same(&a, iov, write, b.buf));

	length = cut(&a, iov, read);
	kfill(b.buf, SIZE, 6);
	CHECK_EQ(DAT_SUCCESS, rdma(false, read, iov, 4, length, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 4));
	CHECK(same(&a, iov, read, b.buf));

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ep_post_send(pair.a.ep, ep_attr.max_request_iov + 1, iov,
				   cookie(1), 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ep_post_recv(pair.a.ep, ep_attr.max_recv_iov + 1, iov,
				   cookie(1), 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  rdma(true, write + 1, iov, 1, U32_MAX, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  rdma(false, read + 1, iov, 1, U32_MAX, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ep_post_send(pair.a.ep, -1, iov, cookie(1), 0));
	return true;
}

struct shot {
	struct timer_list timer;
	struct completion done;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN recv, fmr, bind, send, invalidate;
};

static void shoot(struct timer_list *timer)
{
	struct shot *s = container_of(timer, struct shot, timer);
	DAT_REGION_DESCRIPTION region = { .for_va = a.buf };
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET seg;

	s->recv = kpost_recv(pair.b.ep, &b, 0, 8192, 11);
	s->fmr = dat_lmr_fmr(s->lmr, DAT_MEM_TYPE_VIRTUAL, region, 2,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, pair.a.ep,
			     cookie(12), 0, &seg.lmr_context, NULL);
	seg.virtual_address = (uintptr_t)a.buf;
	seg.segment_length = 8192;
	s->send = dat_ep_post_send(pair.a.ep, 1, &seg, cookie(13), 0);
	s->bind = kbind(s->rmr, &a, 0, 100, KREMOTE_ALL, pair.a.ep, 14, 0,
			&context);
	s->invalidate = dat_lmr_invalidate(s->lmr, pair.a.ep, cookie(15),
					   DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG);
	complete(&s->done);
}

static bool post_from_softirq(void)
{
	struct shot s = {};
	int i;

	init_completion(&s.done);
	CHECK_EQ(DAT_SUCCESS, dat_lmr_allocate(pair.ia, pair.a.pz, 2,
					       DAT_LMR_SCOPE_PZ, &s.lmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &s.rmr));
	for (i = 0; i < 5; i++) {
		kfill(a.buf, 8192, i);
		timer_setup_on_stack(&s.timer, shoot, 0);
		mod_timer(&s.timer, jiffies + 1);
		wait_for_completion(&s.done);
		timer_delete_sync(&s.timer);
		timer_destroy_on_stack(&s.timer);
		reinit_completion(&s.done);
		CHECK_EQ(DAT_SUCCESS, s.recv);
		CHECK_EQ(DAT_SUCCESS, s.fmr);
		CHECK_EQ(DAT_SUCCESS, s.send);
		CHECK_EQ(DAT_SUCCESS, s.bind);
		CHECK_EQ(DAT_SUCCESS, s.invalidate);
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 11));
		CHECK(!memcmp(a.buf, b.buf, 8192));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 12));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 13));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.a.dto_evd, 14));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 15));
	}
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(s.lmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(s.rmr));
	return true;
}

/* To a software device the virtual address of directly mapped memory is a DMA address. */
static bool reserved_lmr_covers_memory(void)
{
	DAT_LMR_HANDLE lmr, again;
	DAT_LMR_TRIPLET seg = { .segment_length = 3000, .lmr_context = ~0 };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT bound;
	DAT_LMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	seg.virtual_address = (uintptr_t)kbuf;
	CHECK_EQ(DAT_TRUE, ia_attr.reserved_lmr_supported);
	/* A consumer gets the reserved LMR only by a call. */
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ,
		  dat_ep_post_send(pair.a.ep, 1, &seg, cookie(1), 0));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_ia_reserved_lmr(pair.a.pz, &lmr, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ia_reserved_lmr(pair.ia, NULL, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_ia_reserved_lmr(pair.ia, &lmr, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_ia_reserved_lmr(pair.ia, &lmr, &context));
	CHECK_EQ(DAT_SUCCESS, dat_ia_reserved_lmr(pair.ia, &again, &context));
	CHECK_EQ(lmr, again);
	CHECK_EQ(DAT_SUCCESS, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(context, param.lmr_context);
	CHECK_EQ(0, param.rmr_context);

	seg.lmr_context = context;
	kfill(kbuf, 3000, 9);
	memset(b.buf, 0, 3000);
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 3000, 2));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_post_send(pair.a.ep, 1, &seg, cookie(1), 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
	CHECK(!memcmp(kbuf, b.buf, 3000));

	kfill(a.buf, 3000, 10);
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_post_recv(pair.b.ep, 1, &seg, cookie(2), 0));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 3000, 1));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
	CHECK(!memcmp(kbuf, a.buf, 3000));

	CHECK_RET(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE,
		  rdma(true, 1, &seg, 3, 2999, 0));
	CHECK_EQ(DAT_SUCCESS, rdma(true, 1, &seg, 3, 3000, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	if (strncmp(kpair_ia, "siw", 3)) {
		CHECK(!memcmp(kbuf, b.buf, 3000));
		kfill(b.buf, 3000, 11);
		CHECK_EQ(DAT_SUCCESS, rdma(false, 1, &seg, 4, 3000, 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 4));
		CHECK(!memcmp(kbuf, b.buf, 3000));
	} else {
		CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE,
			  rdma(false, 1, &seg, 4, 3000, 0));
	}

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &rmr));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_rmr_bind(rmr, &seg, KREMOTE_ALL, pair.a.ep, cookie(5), 0,
			       &bound));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK_RET(DAT_RESERVED_LMR, DAT_NO_SUBTYPE, dat_lmr_free(lmr));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  dat_lmr_invalidate(lmr, pair.a.ep, cookie(1), 0));
	return true;
}

static bool rmr_scope_single_ep(void)
{
	static DAT_PROVIDER_ATTR provider;
	DAT_EP_HANDLE other_a, other_b;
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	CHECK_EQ(DAT_SUCCESS, dat_ia_query(pair.ia, NULL, 0, NULL,
					   DAT_PROVIDER_FIELD_ALL, &provider));
	CHECK_EQ(DAT_RMR_SCOPE_ANY, provider.rmr_scope_supported);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_rmr_create_for_ep(pair.b.pz, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  dat_rmr_create_for_ep(pair.b.ep, &rmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create_for_ep(pair.b.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(DAT_RMR_SCOPE_EP, param.rmr_scope);
	CHECK(kpair_connect_more(&pair, &other_a, &other_b));

	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 100, KREMOTE_ALL, pair.b.ep, 1,
				    0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 1));
	CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, 100, context, b.buf));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE,
		  kbind(rmr, &b, 0, 100, KREMOTE_ALL, other_b, 2, 0,
			&context));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE,
		  kbind(rmr, &b, 0, 0, 0, other_b, 2, 0, &context));
	/* After an unbind any EP can bind it. */
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 0, 0, pair.b.ep, 3, 0,
				    &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 3));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 100, KREMOTE_ALL, other_b, 4,
				    0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 4));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE,
		  kbind(rmr, &b, 0, 100, KREMOTE_ALL, pair.b.ep, 5, 0,
			&context));
	/* Also after its EP has been freed. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(other_b));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 100, KREMOTE_ALL, pair.b.ep, 6,
				    0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 6));
	CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, 100, context, b.buf));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(other_a));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

/* Last, because the test breaks the connection. */
static bool write_after_peer_invalidate(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 4096, 100, KREMOTE_ALL, pair.b.ep,
				    1, 0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 1));
	CHECK(invalidated(context));
	memset(b.buf + 4096, 0, 100);
	memset(a.buf, 0xff, 100);
	CHECK_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		 kwrite(&pair, &a, 0, 100, context, b.buf + 4096));
	CHECK(!memchr_inv(b.buf + 4096, 0, 100));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(send_invalidate_rmr),
	TEST(rebind_after_peer_invalidate),
	TEST(send_invalidate_lmr),
	TEST(send_invalidate_lmr_keeps_rmr),
	TEST(send_with_invalidate_false),
	TEST(rdma_read_to_rmr),
	TEST(read_to_rmr_address_wrap),
	TEST(completion_flags_per_opcode),
	TEST(barrier_fence_waits_for_reads),
	TEST(post_zero_bytes),
	TEST(post_max_segments),
	TEST(post_from_softirq),
	TEST(reserved_lmr_covers_memory),
	TEST(rmr_scope_single_ep),
	TEST(write_after_peer_invalidate),
};

/* Opens EPs with all limits of the IA. */
static bool set_up(void)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &async_evd, &ia));
	CHECK_EQ(DAT_SUCCESS, dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &ia_attr,
					   0, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ep_attr.max_recv_dtos = 64;
	ep_attr.max_request_dtos = 64;
	ep_attr.max_recv_iov = ia_attr.max_iov_segments_per_dto;
	ep_attr.max_request_iov = ia_attr.max_iov_segments_per_dto;
	ep_attr.max_rdma_read_iov = ia_attr.max_iov_segments_per_rdma_read;
	ep_attr.max_rdma_write_iov = ia_attr.max_iov_segments_per_rdma_write;
	ep_attr.max_rdma_read_in = 4;
	ep_attr.max_rdma_read_out = 4;
	return kpair_open_attr(&pair, NULL, &ep_attr) && kpair_connect(&pair) &&
	       kregion_open(&pair, pair.a.pz, &a, SIZE,
			    DAT_MEM_PRIV_ALL_FLAG) &&
	       kregion_open(&pair, pair.b.pz, &b, SIZE,
			    DAT_MEM_PRIV_ALL_FLAG) &&
	       /* The address is valid as long as its IA is open. */
	       !dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0,
			     NULL);
}

static int __init post_test_init(void)
{
	int ret = report_open("kdapl_post_test");

	if (ret)
		return ret;
	kbuf = kzalloc(3000, GFP_KERNEL);
	if (kbuf && set_up())
		report_run("kdapl_post_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_post_test.setup\n");
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	kfree(kbuf);
	return 0;
}

static void __exit post_test_exit(void)
{
	report_close();
}

module_init(post_test_init);
module_exit(post_test_exit);
MODULE_DESCRIPTION("Tests what in-kernel consumers can post");
MODULE_LICENSE("Dual BSD/GPL");

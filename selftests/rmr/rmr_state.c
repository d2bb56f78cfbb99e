// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_state.c - dat_rmr_bind(3DAT): what it refuses, and the states of the EP
 *
 * And with it dat_rmr_query() and dat_rmr_free().
 */
#include "harness.h"

#include "link.h"
#include "pair.h"

#define REGION		65536
#define RW		(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define LOCAL		(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

/* Enough for the device to begin what was posted. */
#define BEGIN_US	(20 * 1000)

FIXTURE(rmr_state)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
};

FIXTURE_SETUP(rmr_state)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				LOCAL));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &self->rmr));
}

FIXTURE_TEARDOWN(rmr_state)
{
	pair_close(&self->pair);
}

/* A bind on side b with nothing special about it. */
static DAT_RETURN post_bind(struct pair *pair, DAT_RMR_HANDLE rmr,
			    const struct region *region, size_t offset,
			    size_t len, DAT_UINT64 cookie,
			    DAT_RMR_CONTEXT *context)
{
	return bind_window(rmr, region, offset, len, RW, pair->b.ep, cookie,
			   DAT_COMPLETION_DEFAULT_FLAG, context);
}

static int bind_b(struct pair *pair, DAT_RMR_HANDLE rmr,
		  const struct region *region, size_t offset, size_t len,
		  DAT_RMR_CONTEXT *context)
{
	if (post_bind(pair, rmr, region, offset, len, 0xb, context))
		return -1;
	return wait_bind(pair->b.dto_evd, 0xb);
}

static DAT_RETURN bind_triplet(struct pair *pair, DAT_RMR_HANDLE rmr,
			       DAT_LMR_CONTEXT lmr_context, DAT_UINT64 address,
			       DAT_UINT64 len)
{
	DAT_LMR_TRIPLET t = {
		.lmr_context = lmr_context,
		.virtual_address = address,
		.segment_length = len,
	};
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(rmr, &t, RW, pair->b.ep, cookie,
			    DAT_COMPLETION_DEFAULT_FLAG, &context);
}

/* Breaks the connection, and waits until both sides know. */
static DAT_RETURN disconnect(struct pair *pair)
{
	DAT_RETURN ret = dat_ep_disconnect(pair->b.ep, DAT_CLOSE_ABRUPT_FLAG);

	if (!ret)
		ret = wait_number(pair->b.conn_evd,
				  DAT_CONNECTION_EVENT_DISCONNECTED);
	if (!ret)
		ret = wait_number(pair->a.conn_evd,
				  DAT_CONNECTION_EVENT_DISCONNECTED);
	return ret;
}

static void expect_query(struct __test_metadata *_metadata, struct pair *pair,
			 DAT_RMR_HANDLE rmr, const struct region *region,
			 size_t offset, size_t len, DAT_RMR_CONTEXT context)
{
	DAT_RMR_PARAM param;

	memset(&param, 0x5a, sizeof(param));
	ASSERT_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(TOLD_IA(pair->ia), param.ia_handle);
	EXPECT_EQ(pair->b.pz, param.pz_handle);
	EXPECT_EQ(len, param.lmr_triplet.segment_length);
	/* The rest is not defined for an unbound RMR. */
	if (!len)
		return;
	EXPECT_EQ(region->lmr_context, param.lmr_triplet.lmr_context);
	EXPECT_EQ((uintptr_t)region->buf + offset,
		  param.lmr_triplet.virtual_address);
	EXPECT_EQ(RW, param.mem_priv);
	EXPECT_EQ(context, param.rmr_context);
}

TEST_F(rmr_state, bind_bad_handles)
{
	DAT_RMR_HANDLE freed;
	DAT_EP_HANDLE freed_ep;
	unsigned int i;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "libdat2 follows a handle to its provider");
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &freed));
	ASSERT_DAT(dat_rmr_free(freed));
	ASSERT_DAT(dat_ep_create(self->pair.ia, self->pair.b.pz,
				 self->pair.b.dto_evd, self->pair.b.dto_evd,
				 self->pair.b.conn_evd, NULL, &freed_ep));
	ASSERT_DAT(dat_ep_free(freed_ep));

	DAT_HANDLE bad_rmr[] = {
		DAT_HANDLE_NULL, freed, self->pair.b.ep, self->b.lmr,
		(DAT_HANDLE)0x7ffffff0, (DAT_HANDLE)UINTPTR_MAX,
		&freed, (char *)self->rmr + (1UL << 32),
	};
	DAT_HANDLE bad_ep[] = {
		DAT_HANDLE_NULL, freed_ep, self->rmr, self->pair.ia,
		(DAT_HANDLE)0x7ffffff0, (DAT_HANDLE)UINTPTR_MAX,
		&freed, (char *)self->pair.b.ep + (1UL << 32),
	};
	for (i = 0; i < ARRAY_LEN(bad_rmr); i++) {
		EXPECT_EQ(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
			  post_bind(&self->pair, bad_rmr[i], &self->b, 0, 100,
				    0, &self->context)) {
			TH_LOG("RMR %p", bad_rmr[i]);
		}
		EXPECT_EQ(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
			  bind_window(self->rmr, &self->b, 0, 100, RW,
				      bad_ep[i], 0,
				      DAT_COMPLETION_DEFAULT_FLAG,
				      &self->context)) {
			TH_LOG("EP %p", bad_ep[i]);
		}
	}
}

TEST_F(rmr_state, bind_null_pointers)
{
	DAT_LMR_TRIPLET t = segment(&self->b, 0, 100);
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };

	ASSERT_DAT(pair_connect(&self->pair));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_rmr_bind(self->rmr, NULL, RW, self->pair.b.ep,
				    cookie, DAT_COMPLETION_DEFAULT_FLAG,
				    &self->context));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		       dat_rmr_bind(self->rmr, &t, RW, self->pair.b.ep, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG, NULL));
}

TEST_F(rmr_state, bind_range_outside_lmr)
{
	DAT_UINT64 begin = (uintptr_t)self->b.buf;
	const struct {
		DAT_UINT64 address, len;
	} bad[] = {
		{ begin - 1, 1 },
		{ begin - 1, REGION },
		{ begin - 1, REGION + 1 },
		{ begin, REGION + 1 },
		{ begin + 1, REGION },
		{ begin + REGION, 1 },
		{ begin + REGION - 1, 2 },
		/* These end inside the LMR, once around. */
		{ begin + 1, UINT64_MAX },
		{ UINT64_MAX, 2 },
		{ UINT64_MAX - 99, 100 + begin + 1 },
		{ begin, (1ULL << 32) + 1 },
		{ begin + (1ULL << 32), 1 },
		{ 0, 1 },
		{ UINT64_MAX, 1 },
	};
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		if (IS_CUT(bad[i].len,
			   ((DAT_LMR_TRIPLET *)NULL)->segment_length))
			continue;
		EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			  bind_triplet(&self->pair, self->rmr,
				       self->b.lmr_context, bad[i].address,
				       bad[i].len)) {
			TH_LOG("%#lx bytes at %#lx", (long)bad[i].len,
			       (long)bad[i].address);
		}
	}
	/* The limits themselves are within. */
	EXPECT_DAT(bind_triplet(&self->pair, self->rmr, self->b.lmr_context,
				begin, REGION));
}

TEST_F(rmr_state, bind_bad_lmr_context)
{
	DAT_UINT64 begin = (uintptr_t)self->b.buf;
	const DAT_LMR_CONTEXT bad[] = {
		0, UINT32_MAX, self->b.lmr_context + 1,
		self->b.lmr_context ^ 0x80, self->b.lmr_context ^ 0x80000000,
		self->b.lmr_context << 8,
	};
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_EQ(DAT_INVALID_PARAMETER,
			  DAT_GET_TYPE(bind_triplet(&self->pair, self->rmr,
						    bad[i], begin, 100))) {
			TH_LOG("lmr_context %#x", bad[i]);
		}
	}
	ASSERT_DAT(dat_lmr_free(self->b.lmr));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			bind_triplet(&self->pair, self->rmr,
				     self->b.lmr_context, begin, 100));
}

TEST_F(rmr_state, bind_lmr_of_other_ia)
{
	struct region region;
	struct pair other;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(pair_open(&other));
	ASSERT_DAT(region_open(&other, other.b.pz, &region, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			post_bind(&self->pair, self->rmr, &region, 0, 100, 0,
				  &self->context));
	pair_close(&other);
}

TEST_F(rmr_state, bind_pz_mismatch)
{
	DAT_RMR_HANDLE foreign;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_rmr_create(self->pair.a.pz, &foreign));
	/* In turn the LMR, the EP, and the RMR is the odd one. */
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_bind(&self->pair, self->rmr, &self->a, 0, 100, 0,
				  &self->context));
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			bind_window(self->rmr, &self->b, 0, 100, RW,
				    self->pair.a.ep, 0,
				    DAT_COMPLETION_DEFAULT_FLAG,
				    &self->context));
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_bind(&self->pair, foreign, &self->b, 0, 100, 0,
				  &self->context));
	/* An unbind goes to an EP as well. */
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_bind(&self->pair, foreign, &self->b, 0, 0, 0,
				  &self->context));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.b.ep));
}

TEST_F(rmr_state, bind_privileges_exceed_lmr)
{
	/* Every LMR allows to read. */
	static const DAT_MEM_PRIV_FLAGS all[] = {
		DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_LOCAL_READ_FLAG,
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	};
	const DAT_MEM_PRIV_FLAGS write = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < ARRAY_LEN(all); i++) {
		bool writable = all[i] & DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
		struct region region;

		ASSERT_DAT(region_open(&self->pair, self->pair.b.pz, &region,
				       4096, all[i]));
		if (!writable) {
			EXPECT_DAT_TYPE(DAT_PRIVILEGES_VIOLATION,
					bind_window(self->rmr, &region, 0, 100,
						    write, self->pair.b.ep, 0,
						    DAT_COMPLETION_DEFAULT_FLAG,
						    &self->context));
			EXPECT_DAT_TYPE(DAT_PRIVILEGES_VIOLATION,
					bind_window(self->rmr, &region, 0, 100,
						    RW, self->pair.b.ep, 0,
						    DAT_COMPLETION_DEFAULT_FLAG,
						    &self->context));
		}
		EXPECT_DAT(bind_window(self->rmr, &region, 0, 100,
				       writable ? RW : RW & ~write,
				       self->pair.b.ep, i,
				       DAT_COMPLETION_DEFAULT_FLAG,
				       &self->context));
		EXPECT_EQ(DAT_RMR_BIND_SUCCESS,
			  wait_bind(self->pair.b.dto_evd, i));
	}
}

TEST_F(rmr_state, bind_unknown_privileges)
{
	static const unsigned int bad[] = { 0x04, 0x08, 0x40, 0x80, 1U << 31 };
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			  bind_window(self->rmr, &self->b, 0, 100, bad[i],
				      self->pair.b.ep, 0,
				      DAT_COMPLETION_DEFAULT_FLAG,
				      &self->context)) {
			TH_LOG("privileges %#x", bad[i]);
		}
	}
}

TEST_F(rmr_state, bind_unconnected_ep)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_UNCONNECTED),
		       post_bind(&self->pair, self->rmr, &self->b, 0, 100, 0,
				 &self->context));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_UNCONNECTED),
		       post_bind(&self->pair, self->rmr, &self->b, 0, 0, 0,
				 &self->context));
}

TEST_F(rmr_state, bind_connecting_ep)
{

	/* The request waits in cr_evd. */
	ASSERT_DAT(connect_to(&self->pair, self->pair.b.ep, self->pair.qual));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_ACTCONNPENDING),
		       post_bind(&self->pair, self->rmr, &self->b, 0, 100, 0,
				 &self->context));
}

TEST_F(rmr_state, bind_disconnecting_ep)
{
	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_DAT(pair_connect(&self->pair));
	/* Nobody receives it, so a graceful disconnect has to wait. */
	ASSERT_DAT(post_send(self->pair.b.ep, &self->b, 0, 8, 1));
	ASSERT_DAT(dat_ep_disconnect(self->pair.b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_DISCPENDING),
		       post_bind(&self->pair, self->rmr, &self->b, 0, 100, 0,
				 &self->context));
}

TEST_F(rmr_state, bind_disconnected_ep_flushed)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;
	DAT_COUNT nmore;
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(disconnect(&self->pair));
	/* A bind, and an unbind of what never was bound. */
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(post_bind(&self->pair, self->rmr, &self->b, 0,
				     i ? 0 : 100, 0xc00c1e + i,
				     &self->context));
		ASSERT_DAT(dat_evd_wait(self->pair.b.dto_evd, 1000 * 1000, 1,
					&event, &nmore));
		d = &event.event_data.rmr_completion_event_data;
		EXPECT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, d->status);
		EXPECT_EQ(0xc00c1e + i, d->user_cookie.as_64);
		EXPECT_EQ(self->rmr, d->rmr_handle);
	}
	/* It has not made use of the LMR. */
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
}

TEST_F(rmr_state, flushed_bind_keeps_window)
{
	DAT_RMR_CONTEXT context, junk;
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 100, 200,
			 &context));
	ASSERT_DAT(disconnect(&self->pair));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(DAT_DTO_ERR_FLUSHED,
			  bind_b(&self->pair, self->rmr, &self->b, 4096,
				 i == 1 ? 0 : 300, &junk));
		expect_query(_metadata, &self->pair, self->rmr, &self->b, 100,
			     200, context);
	}

	ASSERT_DAT(pair_reconnect(&self->pair));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, context,
			       self->b.buf + 100, 200));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, junk,
			       self->b.buf + 4096, 300));
}

TEST_F(rmr_state, bind_new_ep_after_flush)
{
	DAT_RMR_CONTEXT old, new, junk;
	unsigned int i;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 100, 200, &old));
	ASSERT_DAT(disconnect(&self->pair));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(DAT_DTO_ERR_FLUSHED,
			  bind_b(&self->pair, self->rmr, &self->b, 4096, 300,
				 &junk));
	}

	ASSERT_DAT(pair_reconnect(&self->pair));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 8192, 400, &new));
	expect_query(_metadata, &self->pair, self->rmr, &self->b, 8192, 400,
		     new);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, new,
			       self->b.buf + 8192, 400));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, old,
			       self->b.buf + 100, 200));
}

FIXTURE(interrupted)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT old, context;
	int status;
};

/* Bound before or not, the device sees two work requests or one. */
FIXTURE_VARIANT(interrupted)
{
	bool rebind;
};

FIXTURE_VARIANT_ADD(interrupted, bind)
{
	.rebind = false,
};

FIXTURE_VARIANT_ADD(interrupted, rebind)
{
	.rebind = true,
};

/*
 * A bind is posted behind a Send that nobody receives, and the connection is
 * given up. The device may well have carried out part of the bind by then;
 * it is reported as flushed nevertheless.
 */
FIXTURE_SETUP(interrupted)
{
	struct pair *pair = &self->pair;

	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	ASSERT_DAT(pair_open_connected(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION, LOCAL));
	ASSERT_DAT(dat_rmr_create(pair->b.pz, &self->rmr));
	if (variant->rebind) {
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(pair, self->rmr, &self->b, 100, 200,
				 &self->old));
	}

	ASSERT_DAT(post_send(pair->b.ep, &self->b, 0, 8, 1));
	ASSERT_DAT(post_bind(pair, self->rmr, &self->b, 4096, 300, 2,
			     &self->context));
	usleep(BEGIN_US);
	ASSERT_DAT(disconnect(pair));
	ASSERT_EQ(DAT_DTO_ERR_FLUSHED, wait_dto(pair->b.dto_evd, 1));
	self->status = wait_bind(pair->b.dto_evd, 2);
	ASSERT_EQ(DAT_DTO_ERR_FLUSHED, self->status);
	ASSERT_DAT(pair_reconnect(pair));
}

FIXTURE_TEARDOWN(interrupted)
{
	pair_close(&self->pair);
}

/*
 * The device may have carried out what it flushed. So that nobody has to guess,
 * no window is open then.
 */
TEST_F(interrupted, flushed_bind_opens_no_window)
{
	expect_query(_metadata, &self->pair, self->rmr, &self->b, 0, 0, 0);
	memset(self->a.buf, 0xaa, 300);
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, self->context,
			       self->b.buf + 4096, 300));
	EXPECT_EQ(0, self->b.buf[4096]);
}

/* While a peer can reach it, an LMR is in use. */
TEST_F(interrupted, flushed_bind_then_lmr_free)
{
	DAT_RMR_CONTEXT junk;

	if (variant->rebind)
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(&self->pair, self->rmr, &self->b, 0, 0,
				 &junk));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
	memset(self->a.buf, 0xaa, 300);
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, self->context,
			       self->b.buf + 4096, 300));
	EXPECT_EQ(0, self->b.buf[4096]);
}

TEST_F(interrupted, rebind_after_flushed_bind)
{
	DAT_RMR_CONTEXT new;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(&self->pair, self->rmr, &self->b, 8192, 400,
				 &new)) {
			TH_LOG("bind %u", i);
		}
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  write_status(&self->pair, &self->a, new,
				       self->b.buf + 8192, 400));
	}
	if (variant->rebind) {
		EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
			  write_status(&self->pair, &self->a, self->old,
				       self->b.buf + 100, 200));
	}
}

TEST_F(interrupted, free_after_flushed_bind)
{
	EXPECT_DAT(dat_rmr_free(self->rmr));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
}

TEST_F(rmr_state, query_after_bind_and_unbind)
{
	DAT_RMR_CONTEXT context;
	unsigned int i;

	expect_query(_metadata, &self->pair, self->rmr, &self->b, 0, 0, 0);
	ASSERT_DAT(pair_connect(&self->pair));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(&self->pair, self->rmr, &self->b, 100 + i,
				 200 + i, &context));
		expect_query(_metadata, &self->pair, self->rmr, &self->b,
			     100 + i, 200 + i, context);
	}
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->pair, self->rmr, &self->b, 0, 0, &context));
	expect_query(_metadata, &self->pair, self->rmr, &self->b, 0, 0, 0);
}

TEST_F(rmr_state, query_bad_arguments)
{
	DAT_RMR_PARAM param;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_rmr_query(self->rmr, DAT_RMR_FIELD_ALL + 1, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_rmr_query(self->rmr, DAT_RMR_FIELD_ALL, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
		       dat_rmr_query(self->pair.b.ep, DAT_RMR_FIELD_ALL,
				     &param));
	ASSERT_DAT(dat_rmr_free(self->rmr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
		       dat_rmr_query(self->rmr, DAT_RMR_FIELD_ALL, &param));
}

TEST_F(rmr_state, freed_rmr_invalid_handle)
{
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_rmr_free(self->rmr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
		       dat_rmr_free(self->rmr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR),
		       post_bind(&self->pair, self->rmr, &self->b, 0, 100, 0,
				 &self->context));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_rmr_free(NULL));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_rmr_free(self->pair.b.ep));
}

TEST_F(rmr_state, free_with_bind_outstanding)
{
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(post_bind(&self->pair, self->rmr, &self->b, 0, 100, 1,
			     &self->context));
	EXPECT_DAT(dat_rmr_free(self->rmr));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, self->context,
			       self->b.buf, 100));
}

TEST_F(rmr_state, pz_free_rmr_in_use)
{
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;

	ASSERT_DAT(dat_pz_create(self->pair.ia, &pz));
	ASSERT_DAT(dat_rmr_create(pz, &rmr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE),
		       dat_pz_free(pz));
	EXPECT_DAT(dat_rmr_free(rmr));
	EXPECT_DAT(dat_pz_free(pz));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handles.c - what names an object, what does not, and how objects end
 */
#include <string.h>

#include "harness.h"

#include "pair.h"

#define BAD(subtype)	(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | (subtype))
#define IN_USE(object) \
	(DAT_CLASS_ERROR | DAT_INVALID_STATE | \
	 DAT_INVALID_STATE_ ## object ## _IN_USE)

#define NUM_TYPES	(DAT_HANDLE_TYPE_RMR + 1)

/**
 * struct objects - an open IA with an object of each type
 * @pair: the IA and most of the objects
 * @region: the LMR
 * @handle: one of each type, by DAT_HANDLE_TYPE
 */
struct objects {
	struct pair pair;
	struct region region;
	DAT_HANDLE handle[NUM_TYPES];
};

static DAT_IA_ADDRESS_PTR address_of(DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR attr = { .ia_address_ptr = NULL };

	dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL);
	return attr.ia_address_ptr;
}

static DAT_RETURN make_cr(struct pair *pair, DAT_EP_HANDLE ep,
			  DAT_CR_HANDLE *cr)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	ret = dat_ep_connect(ep, address_of(pair->ia), pair->qual,
			     DAT_TIMEOUT_INFINITE, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (!ret)
		ret = wait_event(pair->cr_evd, &event);
	if (!ret)
		*cr = event.event_data.cr_arrival_event_data.cr_handle;
	return ret;
}

static DAT_RETURN objects_make(struct objects *o)
{
	struct pair *pair = &o->pair;
	DAT_RETURN ret;

	ret = pair_open(pair);
	if (!ret)
		ret = region_open(pair, pair->a.pz, &o->region, 4096,
				  DAT_MEM_PRIV_ALL_FLAG);
	if (!ret)
		ret = dat_rmr_create(pair->a.pz,
				     &o->handle[DAT_HANDLE_TYPE_RMR]);
	if (!ret)
		ret = make_cr(pair, pair->b.ep,
			      &o->handle[DAT_HANDLE_TYPE_CR]);
	o->handle[DAT_HANDLE_TYPE_EP] = pair->a.ep;
	o->handle[DAT_HANDLE_TYPE_EVD] = pair->a.dto_evd;
	o->handle[DAT_HANDLE_TYPE_IA] = pair->ia;
	o->handle[DAT_HANDLE_TYPE_LMR] = o->region.lmr;
	o->handle[DAT_HANDLE_TYPE_PSP] = pair->psp;
	o->handle[DAT_HANDLE_TYPE_PZ] = pair->a.pz;
	return ret;
}

/* Every call that takes a handle, all its other arguments being right. */

static DAT_RETURN ia_query(struct objects *o, DAT_HANDLE h)
{
	DAT_IA_ATTR attr;

	(void)o;
	return dat_ia_query(h, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL);
}

static DAT_RETURN ia_close_abrupt(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN ia_close_graceful(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_ia_close(h, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN pz_create(struct objects *o, DAT_HANDLE h)
{
	DAT_PZ_HANDLE pz;

	(void)o;
	return dat_pz_create(h, &pz);
}

static DAT_RETURN pz_query(struct objects *o, DAT_HANDLE h)
{
	DAT_PZ_PARAM param;

	(void)o;
	return dat_pz_query(h, DAT_PZ_FIELD_ALL, &param);
}

static DAT_RETURN pz_free(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_pz_free(h);
}

static DAT_RETURN evd_create(struct objects *o, DAT_HANDLE h)
{
	DAT_EVD_HANDLE evd;

	(void)o;
	return dat_evd_create(h, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd);
}

static DAT_RETURN evd_wait(struct objects *o, DAT_HANDLE h)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	(void)o;
	return dat_evd_wait(h, 0, 1, &event, &nmore);
}

static DAT_RETURN evd_dequeue(struct objects *o, DAT_HANDLE h)
{
	DAT_EVENT event;

	(void)o;
	return dat_evd_dequeue(h, &event);
}

static DAT_RETURN evd_free(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_evd_free(h);
}

static DAT_RETURN psp_create(struct objects *o, DAT_HANDLE h)
{
	DAT_PSP_HANDLE psp;

	return dat_psp_create(h, o->pair.qual + 1, o->pair.cr_evd,
			      DAT_PSP_CONSUMER_FLAG, &psp);
}

static DAT_RETURN psp_create_evd(struct objects *o, DAT_HANDLE h)
{
	DAT_PSP_HANDLE psp;

	return dat_psp_create(o->pair.ia, o->pair.qual + 1, h,
			      DAT_PSP_CONSUMER_FLAG, &psp);
}

static DAT_RETURN psp_free(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_psp_free(h);
}

static DAT_RETURN cr_query(struct objects *o, DAT_HANDLE h)
{
	DAT_CR_PARAM param;

	(void)o;
	return dat_cr_query(h, DAT_CR_FIELD_ALL, &param);
}

static DAT_RETURN cr_accept(struct objects *o, DAT_HANDLE h)
{
	return dat_cr_accept(h, o->pair.a.ep, 0, NULL);
}

static DAT_RETURN cr_accept_ep(struct objects *o, DAT_HANDLE h)
{
	return dat_cr_accept(o->handle[DAT_HANDLE_TYPE_CR], h, 0, NULL);
}

static DAT_RETURN cr_reject(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_cr_reject(h);
}

static DAT_RETURN ep_create_all(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
				DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
				DAT_EVD_HANDLE connect)
{
	DAT_EP_HANDLE ep;

	return dat_ep_create(ia, pz, recv, request, connect, NULL, &ep);
}

static DAT_RETURN ep_create(struct objects *o, DAT_HANDLE h)
{
	struct side *a = &o->pair.a;

	return ep_create_all(h, a->pz, a->dto_evd, a->dto_evd, a->conn_evd);
}

static DAT_RETURN ep_create_pz(struct objects *o, DAT_HANDLE h)
{
	struct side *a = &o->pair.a;

	return ep_create_all(o->pair.ia, h, a->dto_evd, a->dto_evd,
			     a->conn_evd);
}

static DAT_RETURN ep_create_recv(struct objects *o, DAT_HANDLE h)
{
	struct side *a = &o->pair.a;

	return ep_create_all(o->pair.ia, a->pz, h, a->dto_evd, a->conn_evd);
}

static DAT_RETURN ep_create_request(struct objects *o, DAT_HANDLE h)
{
	struct side *a = &o->pair.a;

	return ep_create_all(o->pair.ia, a->pz, a->dto_evd, h, a->conn_evd);
}

static DAT_RETURN ep_create_connect(struct objects *o, DAT_HANDLE h)
{
	struct side *a = &o->pair.a;

	return ep_create_all(o->pair.ia, a->pz, a->dto_evd, a->dto_evd, h);
}

static DAT_RETURN ep_query(struct objects *o, DAT_HANDLE h)
{
	DAT_EP_PARAM param;

	(void)o;
	return dat_ep_query(h, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN ep_connect(struct objects *o, DAT_HANDLE h)
{
	return dat_ep_connect(h, address_of(o->pair.ia), o->pair.qual,
			      DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN ep_disconnect(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN ep_get_status(struct objects *o, DAT_HANDLE h)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	(void)o;
	return dat_ep_get_status(h, &state, &recv_idle, &request_idle);
}

static DAT_RETURN ep_free(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_ep_free(h);
}

static DAT_RETURN ep_post_send(struct objects *o, DAT_HANDLE h)
{
	return post_send(h, &o->region, 0, 64, 1);
}

static DAT_RETURN ep_post_recv(struct objects *o, DAT_HANDLE h)
{
	return post_recv(h, &o->region, 0, 64, 1);
}

static DAT_RETURN ep_post_rdma_write(struct objects *o, DAT_HANDLE h)
{
	return post_write(h, &o->region, 0, 64, 1, NULL, 1);
}

static DAT_RETURN ep_post_rdma_read(struct objects *o, DAT_HANDLE h)
{
	return post_read(h, &o->region, 0, 64, 1, NULL, 1);
}

static DAT_RETURN lmr_create(struct objects *o, DAT_HANDLE ia, DAT_HANDLE pz)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = o->region.buf };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, 4096, pz,
			      DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL,
			      NULL, NULL);
}

static DAT_RETURN lmr_create_ia(struct objects *o, DAT_HANDLE h)
{
	return lmr_create(o, h, o->pair.a.pz);
}

static DAT_RETURN lmr_create_pz(struct objects *o, DAT_HANDLE h)
{
	return lmr_create(o, o->pair.ia, h);
}

static DAT_RETURN lmr_query(struct objects *o, DAT_HANDLE h)
{
	DAT_LMR_PARAM param;

	(void)o;
	return dat_lmr_query(h, DAT_LMR_FIELD_ALL, &param);
}

static DAT_RETURN lmr_free(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_lmr_free(h);
}

static DAT_RETURN lmr_sync_rdma_read(struct objects *o, DAT_HANDLE h)
{
	DAT_LMR_TRIPLET seg = segment(&o->region, 0, 64);

	return dat_lmr_sync_rdma_read(h, &seg, 1);
}

static DAT_RETURN lmr_sync_rdma_write(struct objects *o, DAT_HANDLE h)
{
	DAT_LMR_TRIPLET seg = segment(&o->region, 0, 64);

	return dat_lmr_sync_rdma_write(h, &seg, 1);
}

static DAT_RETURN rmr_create(struct objects *o, DAT_HANDLE h)
{
	DAT_RMR_HANDLE rmr;

	(void)o;
	return dat_rmr_create(h, &rmr);
}

static DAT_RETURN rmr_query(struct objects *o, DAT_HANDLE h)
{
	DAT_RMR_PARAM param;

	(void)o;
	return dat_rmr_query(h, DAT_RMR_FIELD_ALL, &param);
}

static DAT_RETURN rmr_bind_on(struct objects *o, DAT_HANDLE rmr, DAT_HANDLE ep)
{
	DAT_RMR_CONTEXT context;

	return bind_window(rmr, &o->region, 0, 64,
			   DAT_MEM_PRIV_REMOTE_READ_FLAG, ep, 1,
			   DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static DAT_RETURN rmr_bind(struct objects *o, DAT_HANDLE h)
{
	return rmr_bind_on(o, h, o->pair.a.ep);
}

static DAT_RETURN rmr_bind_ep(struct objects *o, DAT_HANDLE h)
{
	return rmr_bind_on(o, o->handle[DAT_HANDLE_TYPE_RMR], h);
}

static DAT_RETURN rmr_free(struct objects *o, DAT_HANDLE h)
{
	(void)o;
	return dat_rmr_free(h);
}

static DAT_RETURN get_handle_type(struct objects *o, DAT_HANDLE h)
{
	DAT_HANDLE_TYPE type;

	(void)o;
	return dat_get_handle_type(h, &type);
}

static DAT_RETURN set_consumer_context(struct objects *o, DAT_HANDLE h)
{
	DAT_CONTEXT context = { .as_64 = 1 };

	(void)o;
	return dat_set_consumer_context(h, context);
}

static DAT_RETURN get_consumer_context(struct objects *o, DAT_HANDLE h)
{
	DAT_CONTEXT context;

	(void)o;
	return dat_get_consumer_context(h, &context);
}

/**
 * struct call - a call, and what it says of a handle that is none
 * @name: for the log
 * @fn: the call
 * @type: type of the handle; ANY if all will do
 * @subtype: what it says
 * @optional: DAT_HANDLE_NULL has a meaning
 */
struct call {
	const char *name;
	DAT_RETURN (*fn)(struct objects *o, DAT_HANDLE h);
	int type;
	DAT_RETURN_SUBTYPE subtype;
	bool optional;
};

#define ANY	(-1)
#define CALL(_fn, _type, _subtype, ...) {				\
		.name = #_fn,						\
		.fn = _fn,						\
		.type = DAT_HANDLE_TYPE_ ## _type,			\
		.subtype = DAT_INVALID_HANDLE ## _subtype,		\
		__VA_ARGS__						\
	}
#define CALL_ANY(_fn) {							\
		.name = #_fn,						\
		.fn = _fn,						\
		.type = ANY,						\
		.subtype = DAT_INVALID_HANDLE1,				\
	}

static const struct call calls[] = {
	CALL(ia_query, IA, _IA),
	CALL(ia_close_abrupt, IA, _IA),
	CALL(ia_close_graceful, IA, _IA),
	CALL(pz_create, IA, _IA),
	CALL(evd_create, IA, _IA),
	CALL(psp_create, IA, _IA),
	CALL(ep_create, IA, _IA),
	CALL(lmr_create_ia, IA, _IA),
	CALL(lmr_sync_rdma_read, IA, _IA),
	CALL(lmr_sync_rdma_write, IA, _IA),
	CALL(pz_query, PZ, _PZ),
	CALL(pz_free, PZ, _PZ),
	CALL(ep_create_pz, PZ, _PZ),
	CALL(lmr_create_pz, PZ, _PZ),
	CALL(rmr_create, PZ, _PZ),
	CALL(evd_wait, EVD, 1),
	CALL(evd_dequeue, EVD, 1),
	CALL(evd_free, EVD, 1),
	CALL(psp_create_evd, EVD, _EVD_CR),
	CALL(ep_create_recv, EVD, _EVD_RECV, .optional = true),
	CALL(ep_create_request, EVD, _EVD_REQUEST, .optional = true),
	CALL(ep_create_connect, EVD, _EVD_CONN, .optional = true),
	CALL(psp_free, PSP, _PSP),
	CALL(cr_query, CR, _CR),
	CALL(cr_accept, CR, _CR),
	CALL(cr_reject, CR, _CR),
	CALL(cr_accept_ep, EP, _EP),
	CALL(ep_query, EP, _EP),
	CALL(ep_connect, EP, _EP),
	CALL(ep_disconnect, EP, _EP),
	CALL(ep_get_status, EP, _EP),
	CALL(ep_free, EP, _EP),
	CALL(ep_post_send, EP, _EP),
	CALL(ep_post_recv, EP, _EP),
	CALL(ep_post_rdma_write, EP, _EP),
	CALL(ep_post_rdma_read, EP, _EP),
	CALL(rmr_bind_ep, EP, _EP),
	CALL(lmr_query, LMR, _LMR),
	CALL(lmr_free, LMR, _LMR),
	CALL(rmr_query, RMR, _RMR),
	CALL(rmr_bind, RMR, _RMR),
	CALL(rmr_free, RMR, _RMR),
	CALL_ANY(get_handle_type),
	CALL_ANY(set_consumer_context),
	CALL_ANY(get_consumer_context),
};

#define NUM_CALLS	(sizeof(calls) / sizeof(calls[0]))

FIXTURE(handles)
{
	struct objects live;
};

FIXTURE_SETUP(handles)
{
	ASSERT_DAT(objects_make(&self->live));
}

/* Whatever was tried, what was there before is there still. */
FIXTURE_TEARDOWN(handles)
{
	DAT_HANDLE_TYPE i, type;

	for (i = 0; i < NUM_TYPES; i++) {
		EXPECT_DAT(dat_get_handle_type(self->live.handle[i], &type));
		EXPECT_EQ(i, type);
	}
	pair_close(&self->live.pair);
}

static void expect_bad(struct __test_metadata *_metadata, struct objects *o,
		       const struct call *call, DAT_HANDLE h)
{
	DAT_RETURN ret = call->fn(o, h);

	EXPECT_EQ(BAD(call->subtype), ret)
		TH_LOG("%s(%p) returns %s", call->name, h, dat_str(ret));
}

TEST_F(handles, null_handles_invalid)
{
	unsigned int i;

	for (i = 0; i < NUM_CALLS; i++)
		if (!calls[i].optional)
			expect_bad(_metadata, &self->live, &calls[i],
				   DAT_HANDLE_NULL);
}

TEST_F(handles, small_number_handles_invalid)
{
	uintptr_t n;
	unsigned int i;

	/* The first two mean something to dat_ia_open() and dat_ia_query(). */
	for (i = 0; i < NUM_CALLS; i++)
		for (n = 1; n < 16; n++)
			expect_bad(_metadata, &self->live, &calls[i],
				   (DAT_HANDLE)n);
}

TEST_F(handles, forged_handles_invalid)
{
	static const uintptr_t numbers[] = {
		0x5555, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		0x100000000, 0x7fffffffffffffff, 0xfffffffffffffffe,
		0xffffffffffffffff,
	};
	unsigned int i, j;

	for (i = 0; i < NUM_CALLS; i++)
		for (j = 0; j < 9; j++)
			expect_bad(_metadata, &self->live, &calls[i],
				   (DAT_HANDLE)numbers[j]);
}

TEST_F(handles, pointer_handles_invalid)
{
	DAT_HANDLE pointers[] = {
		&self->live, self->live.region.buf, (DAT_HANDLE)calls,
		(DAT_HANDLE)0xffff888000001000,
		(DAT_HANDLE)0xffffffff81000000, (DAT_HANDLE)0xdead000000000100,
	};
	unsigned int i, j;

	for (i = 0; i < NUM_CALLS; i++)
		for (j = 0; j < 6; j++)
			expect_bad(_metadata, &self->live, &calls[i],
				   pointers[j]);
}

TEST_F(handles, handles_extra_bit_invalid)
{
	unsigned int i, bit;

	for (i = 0; i < NUM_CALLS; i++) {
		DAT_HANDLE_TYPE type = calls[i].type == ANY ?
			DAT_HANDLE_TYPE_EP : calls[i].type;
		uintptr_t good = (uintptr_t)self->live.handle[type];

		for (bit = 8; bit < 64; bit++)
			expect_bad(_metadata, &self->live, &calls[i],
				   (DAT_HANDLE)(good | 1ULL << bit));
	}
}

TEST_F(handles, handles_wrong_type_invalid)
{
	unsigned int i;
	int type;

	for (i = 0; i < NUM_CALLS; i++)
		for (type = 0; type < NUM_TYPES; type++)
			if (calls[i].type != ANY && calls[i].type != type)
				expect_bad(_metadata, &self->live, &calls[i],
					   self->live.handle[type]);
}

/* Every object of @o, freed by its own call; the others go with them. */
static void free_all(struct __test_metadata *_metadata, struct objects *o)
{
	struct pair *p = &o->pair;
	DAT_IA_HANDLE ia = p->ia;
	unsigned int i;
	struct {
		DAT_RETURN (*fn)(struct objects *o, DAT_HANDLE h);
		DAT_HANDLE handle;
	} frees[] = {
		{ cr_reject, o->handle[DAT_HANDLE_TYPE_CR] },
		{ psp_free, p->psp },
		{ ep_free, p->a.ep },
		{ ep_free, p->b.ep },
		{ rmr_free, o->handle[DAT_HANDLE_TYPE_RMR] },
		{ lmr_free, o->handle[DAT_HANDLE_TYPE_LMR] },
		{ evd_free, p->cr_evd },
		{ evd_free, p->a.dto_evd },
		{ evd_free, p->a.conn_evd },
		{ evd_free, p->b.dto_evd },
		{ evd_free, p->b.conn_evd },
		{ pz_free, p->a.pz },
		{ pz_free, p->b.pz },
	};

	for (i = 0; i < sizeof(frees) / sizeof(frees[0]); i++) {
		/* As long as there is one, and none has been harmed. */
		EXPECT_EQ(IN_USE(IA),
			  dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
		EXPECT_EQ(DAT_SUCCESS, frees[i].fn(o, frees[i].handle))
			TH_LOG("object %u", i);
	}
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void expect_all_bad(struct __test_metadata *_metadata,
			   struct objects *live, struct objects *dead)
{
	unsigned int i;
	int type;

	for (i = 0; i < NUM_CALLS; i++)
		for (type = 0; type < NUM_TYPES; type++)
			if (calls[i].type == ANY || calls[i].type == type)
				expect_bad(_metadata, live, &calls[i],
					   dead->handle[type]);
}

TEST_F(handles, freed_handles_invalid)
{
	struct objects dead;

	ASSERT_DAT(objects_make(&dead));
	free_all(_metadata, &dead);
	expect_all_bad(_metadata, &self->live, &dead);
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE1),
		  dat_evd_free(dead.pair.async_evd));
}

TEST_F(handles, closed_ia_handles_invalid)
{
	struct objects dead;

	ASSERT_DAT(objects_make(&dead));
	ASSERT_DAT(dat_ia_close(dead.pair.ia, DAT_CLOSE_ABRUPT_FLAG));
	expect_all_bad(_metadata, &self->live, &dead);
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE1),
		  dat_evd_free(dead.pair.async_evd));
}

TEST_F(handles, other_instance_handles_invalid)
{
	struct objects other, *o = &self->live;

	ASSERT_DAT(objects_make(&other));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_PZ), ep_create_pz(o, other.pair.a.pz));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_PZ),
		  lmr_create_pz(o, other.pair.a.pz));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_RECV),
		  ep_create_recv(o, other.pair.a.dto_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_REQUEST),
		  ep_create_request(o, other.pair.a.dto_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_CONN),
		  ep_create_connect(o, other.pair.a.conn_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_CR),
		  psp_create_evd(o, other.pair.cr_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EP),
		  cr_accept_ep(o, other.pair.a.ep));
	pair_close(&other.pair);
}

TEST_F(handles, evd_wrong_stream_invalid)
{
	struct objects *o = &self->live;
	struct pair *p = &o->pair;

	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_RECV),
		  ep_create_recv(o, p->a.conn_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_REQUEST),
		  ep_create_request(o, p->cr_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_CONN),
		  ep_create_connect(o, p->a.dto_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_CR),
		  psp_create_evd(o, p->a.conn_evd));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_CR),
		  psp_create_evd(o, p->async_evd));
}

TEST_F(handles, unknown_cno_and_async_evd)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;

	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_CNO),
		  dat_evd_create(self->live.pair.ia, 8, (DAT_CNO_HANDLE)0x5555,
				 DAT_EVD_DTO_FLAG, &evd));
	evd = self->live.pair.async_evd;
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_ASYNC),
		  dat_ia_open((char *)ia_name(), 8, &evd, &ia));
}

TEST_F(handles, get_handle_type_of_object)
{
	DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_SRQ;

	/* Those of all objects are looked at in the teardown. */
	EXPECT_DAT(dat_get_handle_type(self->live.pair.async_evd, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_EVD, type);
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_get_handle_type(self->live.pair.ia, NULL));
}

TEST_F(handles, consumer_context_per_handle)
{
	DAT_CONTEXT context;
	unsigned int i, round;

	for (i = 0; i < NUM_TYPES; i++) {
		context.as_64 = ~0ULL;
		EXPECT_DAT(dat_get_consumer_context(self->live.handle[i],
						    &context));
		EXPECT_EQ(0, context.as_64);
	}
	for (round = 0; round < 2; round++) {
		for (i = 0; i < NUM_TYPES; i++) {
			context.as_64 = 0xfedcba9876543210 + 100 * round + i;
			EXPECT_DAT(dat_set_consumer_context(self->live.handle[i],
							    context));
		}
		for (i = 0; i < NUM_TYPES; i++) {
			EXPECT_DAT(dat_get_consumer_context(self->live.handle[i],
							    &context));
			EXPECT_EQ(0xfedcba9876543210 + 100 * round + i,
				  context.as_64);
		}
	}
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_get_consumer_context(self->live.pair.ia, NULL));
}

TEST_F(handles, ia_close_bad_flags)
{
	unsigned int flags;

	for (flags = 2; flags; flags <<= 1) {
		EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
				dat_ia_close(self->live.pair.ia, flags));
		EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
				dat_ia_close(self->live.pair.ia, flags | 1));
	}
}

/* What an object makes use of stays until the object goes. */
FIXTURE(in_use)
{
	struct pair pair;
	DAT_EVD_HANDLE recv, request, connect, cr;
	DAT_PZ_HANDLE pz;
};

FIXTURE_SETUP(in_use)
{
	struct pair *p = &self->pair;

	ASSERT_DAT(pair_open(p));
	ASSERT_DAT(dat_pz_create(p->ia, &self->pz));
	ASSERT_DAT(dat_evd_create(p->ia, 100, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &self->recv));
	ASSERT_DAT(dat_evd_create(p->ia, 100, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &self->request));
	ASSERT_DAT(dat_evd_create(p->ia, 8, DAT_HANDLE_NULL,
				  DAT_EVD_CONNECTION_FLAG, &self->connect));
	ASSERT_DAT(dat_evd_create(p->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &self->cr));
}

FIXTURE_TEARDOWN(in_use)
{
	pair_close(&self->pair);
}

TEST_F(in_use, pz_used_by_lmr)
{
	struct region r;

	ASSERT_DAT(region_open(&self->pair, self->pz, &r, 4096,
			       DAT_MEM_PRIV_ALL_FLAG));
	EXPECT_EQ(IN_USE(PZ), dat_pz_free(self->pz));
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_DAT(dat_pz_free(self->pz));
}

TEST_F(in_use, pz_used_by_rmr)
{
	DAT_RMR_HANDLE rmr;

	ASSERT_DAT(dat_rmr_create(self->pz, &rmr));
	EXPECT_EQ(IN_USE(PZ), dat_pz_free(self->pz));
	ASSERT_DAT(dat_rmr_free(rmr));
	EXPECT_DAT(dat_pz_free(self->pz));
}

TEST_F(in_use, pz_evds_used_by_ep)
{
	DAT_EP_HANDLE ep;

	ASSERT_DAT(dat_ep_create(self->pair.ia, self->pz, self->recv,
				 self->request, self->connect, NULL, &ep));
	EXPECT_EQ(IN_USE(PZ), dat_pz_free(self->pz));
	EXPECT_EQ(IN_USE(EVD), dat_evd_free(self->recv));
	EXPECT_EQ(IN_USE(EVD), dat_evd_free(self->request));
	EXPECT_EQ(IN_USE(EVD), dat_evd_free(self->connect));
	ASSERT_DAT(dat_ep_free(ep));
	EXPECT_DAT(dat_pz_free(self->pz));
	EXPECT_DAT(dat_evd_free(self->recv));
	EXPECT_DAT(dat_evd_free(self->request));
	EXPECT_DAT(dat_evd_free(self->connect));
}

TEST_F(in_use, evd_used_by_psp)
{
	DAT_PSP_HANDLE psp;

	ASSERT_DAT(dat_psp_create(self->pair.ia, self->pair.qual + 1, self->cr,
				  DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_EQ(IN_USE(EVD), dat_evd_free(self->cr));
	ASSERT_DAT(dat_psp_free(psp));
	EXPECT_DAT(dat_evd_free(self->cr));
}

TEST_F(in_use, async_evd_used_by_ia)
{
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, dat_evd_free(self->pair.async_evd));
}

TEST_F(in_use, failed_ep_create_no_reference)
{
	DAT_EP_ATTR attr = { .max_request_iov = 1 << 30 };
	DAT_EP_HANDLE ep;

	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_ep_create(self->pair.ia, self->pz, self->recv,
				      self->request, self->connect, &attr,
				      &ep));
	EXPECT_EQ(BAD(DAT_INVALID_HANDLE_EVD_CONN),
		  dat_ep_create(self->pair.ia, self->pz, self->recv,
				self->request, self->cr, NULL, &ep));
	EXPECT_DAT(dat_evd_free(self->recv));
	EXPECT_DAT(dat_evd_free(self->request));
	EXPECT_DAT(dat_evd_free(self->connect));
	EXPECT_DAT(dat_pz_free(self->pz));
}

/* An abrupt close, with everything there is under way. */
TEST(abrupt_ia_close_under_load)
{
	struct objects o;
	struct pair *p = &o.pair;
	struct pair other;
	struct region b;
	unsigned int i;

	ASSERT_DAT(pair_open(&other));
	ASSERT_DAT(pair_open_connected(p));
	ASSERT_DAT(regions_open(p, &o.region, &b, 65536,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_rmr_create(p->a.pz, &o.handle[0]));
	ASSERT_DAT(rmr_bind_on(&o, o.handle[0], p->a.ep));
	for (i = 0; i < 20; i++) {
		ASSERT_DAT(post_recv(p->b.ep, &b, 0, 64, i));
		ASSERT_DAT(post_send(p->a.ep, &o.region, 0, 64, i));
		ASSERT_DAT(post_write(p->a.ep, &o.region, 0, 65536,
				      b.rmr_context, b.buf, i));
	}
	ASSERT_DAT(rmr_bind_on(&o, o.handle[0], p->a.ep));
	EXPECT_EQ(IN_USE(IA), dat_ia_close(p->ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT(dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG));
	/* Another open instance does not notice. */
	EXPECT_DAT(pair_connect(&other));
	pair_close(&other);
}

static void expect_words(struct __test_metadata *_metadata, DAT_RETURN value,
			 const char *type, const char *subtype)
{
	const char *major = NULL, *minor = NULL;

	ASSERT_DAT(dat_strerror(value, &major, &minor));
	EXPECT_STREQ(type, major);
	EXPECT_STREQ(subtype, minor);
}

TEST(dat_strerror_type_and_subtype)
{
	DAT_RETURN error = DAT_CLASS_ERROR;

	expect_words(_metadata, DAT_SUCCESS, "DAT_SUCCESS", "");
	expect_words(_metadata, error | DAT_INVALID_HANDLE |
		     DAT_INVALID_HANDLE_LMR, "DAT_INVALID_HANDLE",
		     "DAT_INVALID_HANDLE_LMR");
	expect_words(_metadata, error | DAT_INVALID_HANDLE |
		     DAT_INVALID_HANDLE1, "DAT_INVALID_HANDLE",
		     "DAT_INVALID_HANDLE1");
	expect_words(_metadata, error | DAT_INVALID_STATE |
		     DAT_INVALID_STATE_LMR_IN_USE, "DAT_INVALID_STATE",
		     "DAT_INVALID_STATE_LMR_IN_USE");
	expect_words(_metadata, error | DAT_PROTECTION_VIOLATION |
		     DAT_PROTECTION_WRITE, "DAT_PROTECTION_VIOLATION",
		     "DAT_PROTECTION_WRITE");
	expect_words(_metadata, error | DAT_NOT_IMPLEMENTED,
		     "DAT_NOT_IMPLEMENTED", "");
	/* As a call has it. */
	expect_words(_metadata, dat_lmr_free(DAT_HANDLE_NULL),
		     "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE_LMR");
}

TEST(dat_strerror_every_code)
{
	const char *major, *minor;
	DAT_RETURN type, subtype;

	for (type = 0; type <= DAT_CONN_QUAL_UNAVAILABLE; type += 0x10000)
		EXPECT_DAT(dat_strerror(type, &major, &minor));
	for (subtype = 0; subtype <= DAT_INVALID_RO_COOKIE; subtype++)
		EXPECT_DAT(dat_strerror(DAT_INVALID_PARAMETER | subtype, &major,
					&minor));
}

TEST(dat_strerror_bad_args)
{
	const char *major, *minor;

	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_strerror(DAT_CONN_QUAL_UNAVAILABLE + 0x10000,
				     &major, &minor));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_strerror(0x3fff0000, &major, &minor));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_strerror(DAT_INVALID_PARAMETER |
					     (DAT_INVALID_RO_COOKIE + 1),
				     &major, &minor));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_strerror(DAT_ABORT | 0xffff, &major, &minor));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_strerror(DAT_ABORT, NULL, &minor));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_strerror(DAT_ABORT, &major, NULL));
}

TEST_HARNESS_MAIN

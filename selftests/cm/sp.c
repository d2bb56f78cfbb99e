// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sp.c - dat_psp_create_any(3DAT), dat_psp_query(3DAT), PSPs whose EPs the
 * provider makes, dat_rsp_create(3DAT) and its like, dat_cr_handoff(3DAT)
 *
 * Side a asks, side b is asked.
 */
#include "harness.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "link.h"
#include "pair.h"

#define REGION		4096

/* What must not happen is given this many microseconds to happen. */
#define SILENCE		(50 * 1000)

static const char hello[] = "who asks";

FIXTURE(sp)
{
	struct pair pair;
	struct region a, b;
	DAT_CONN_QUAL qual;
};

FIXTURE_SETUP(sp)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	/* Nobody listens there. */
	self->qual = self->pair.qual + 10007;
}

FIXTURE_TEARDOWN(sp)
{
	pair_close(&self->pair);
}

/* The next request, which has to be for that service point. */
static DAT_CR_HANDLE request_for(struct __test_metadata *_metadata,
				 DAT_EVD_HANDLE evd, DAT_CONN_QUAL qual,
				 DAT_HANDLE sp)
{
	DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_EVENT event = {};

	d = &event.event_data.cr_arrival_event_data;
	EXPECT_DAT(wait_for(evd, DAT_CONNECTION_REQUEST_EVENT, &event));
	EXPECT_EQ(evd, event.evd_handle);
	EXPECT_EQ(qual, d->conn_qual);
	EXPECT_EQ(sp, d->sp_handle.psp_handle);
	return d->cr_handle;
}

static DAT_EP_HANDLE ep_of(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	if (dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param))
		return DAT_HANDLE_NULL;
	return param.local_ep_handle;
}

/* An EP that the provider has made becomes one like those of a side. */
static DAT_RETURN configure(DAT_EP_HANDLE ep, const struct side *side)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	param.pz_handle = side->pz;
	param.recv_evd_handle = side->dto_evd;
	param.request_evd_handle = side->dto_evd;
	param.connect_evd_handle = side->conn_evd;
	return dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
			     DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			     DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param);
}

/* Not just unusable: there is no such handle. */
static void expect_no_ep(struct __test_metadata *_metadata, DAT_EP_HANDLE ep)
{
	DAT_HANDLE_TYPE type;
	DAT_EP_PARAM param;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_free(ep));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_get_handle_type(ep, &type));
}

/* A PSP of side b whose EPs the provider makes. */
static DAT_RETURN provider_psp(struct pair *pair, DAT_CONN_QUAL *qual,
			       DAT_PSP_HANDLE *psp)
{
	return dat_psp_create_any(pair->ia, qual, pair->cr_evd,
				  DAT_PSP_PROVIDER_FLAG, psp);
}

TEST_F(sp, psp_create_any_unused_qual)
{
	struct pair *pair = &self->pair;
	DAT_CONN_QUAL qual[5];
	DAT_PSP_HANDLE psp[5];
	DAT_PSP_PARAM param;
	DAT_CR_HANDLE cr;
	int i, j;

	for (i = 0; i < 5; i++) {
		ASSERT_DAT(dat_psp_create_any(pair->ia, &qual[i], pair->cr_evd,
					      DAT_PSP_CONSUMER_FLAG, &psp[i]));
		EXPECT_LT(1023, qual[i]);
		EXPECT_GT(65536, qual[i]);
		for (j = 0; j < i; j++) {
			EXPECT_NE(qual[j], qual[i]);
			EXPECT_NE(psp[j], psp[i]);
		}
		ASSERT_DAT(dat_psp_query(psp[i], DAT_PSP_FIELD_ALL, &param));
		EXPECT_EQ(qual[i], param.conn_qual);
	}
	EXPECT_DAT_TYPE(DAT_CONN_QUAL_IN_USE,
			dat_psp_create(pair->ia, qual[0], pair->cr_evd,
				       DAT_PSP_CONSUMER_FLAG, &psp[0]));
	ASSERT_DAT(connect_to(pair, pair->a.ep, qual[3]));
	cr = request_for(_metadata, pair->cr_evd, qual[3], psp[3]);
	EXPECT_EQ(DAT_HANDLE_NULL, ep_of(cr));
	ASSERT_DAT(dat_cr_accept(cr, pair->b.ep, 0, NULL));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	/* One that has gone is free for others. */
	ASSERT_DAT(dat_psp_free(psp[1]));
	EXPECT_DAT(dat_psp_create(pair->ia, qual[1], pair->cr_evd,
				  DAT_PSP_CONSUMER_FLAG, &psp[1]));
}

TEST_F(sp, psp_create_any_qual_unavailable)
{
	DAT_PSP_HANDLE taken = NULL, other = NULL, none = NULL;
	DAT_RETURN first, second, third;
	struct pair *pair = &self->pair;
	DAT_CONN_QUAL qual = 0, full = 77;
	char before[64];

	ASSERT_LT(0, read_ports(before, sizeof(before)));
	ASSERT_LT(0, write_ports("61010 61011"));
	first = dat_psp_create(pair->ia, 61010, pair->cr_evd,
			       DAT_PSP_CONSUMER_FLAG, &taken);
	second = dat_psp_create_any(pair->ia, &qual, pair->cr_evd,
				    DAT_PSP_CONSUMER_FLAG, &other);
	third = dat_psp_create_any(pair->ia, &full, pair->cr_evd,
				   DAT_PSP_CONSUMER_FLAG, &none);
	EXPECT_LT(0, write_ports(before));
	EXPECT_EQ(DAT_SUCCESS, first);
	EXPECT_EQ(DAT_SUCCESS, second);
	EXPECT_EQ(61011, qual);
	EXPECT_DAT_TYPE(DAT_CONN_QUAL_UNAVAILABLE, third);
	/* Where there was no PSP there is none. */
	EXPECT_EQ(77, full);
	EXPECT_EQ(NULL, none);
	EXPECT_DAT(dat_psp_free(other));
	EXPECT_DAT(dat_psp_free(taken));
}

TEST_F(sp, psp_create_any_bad_args)
{
	struct pair *pair = &self->pair;
	DAT_CONN_QUAL qual = 77;
	DAT_EVD_HANDLE freed;
	DAT_PSP_HANDLE psp = NULL;
	unsigned int i;

	ASSERT_DAT(dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &freed));
	ASSERT_DAT(dat_evd_free(freed));
	DAT_HANDLE bad[] = { NULL, pair->psp, pair->a.conn_evd, freed };

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
			       dat_psp_create_any(bad[i], &qual, pair->cr_evd,
						  0, &psp));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE,
				     DAT_INVALID_HANDLE_EVD_CR),
			       dat_psp_create_any(pair->ia, &qual, bad[i], 0,
						  &psp));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_psp_create_any(pair->ia, NULL, pair->cr_evd, 0,
					  &psp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_psp_create_any(pair->ia, &qual, pair->cr_evd,
					  (DAT_PSP_FLAGS)2, &psp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_psp_create(pair->ia, self->qual, pair->cr_evd,
				      (DAT_PSP_FLAGS)2, &psp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_psp_create_any(pair->ia, &qual, pair->cr_evd, 0,
					  NULL));
	EXPECT_EQ(77, qual);
	EXPECT_EQ(NULL, psp);
	/* None of that is in the way of the next. */
	EXPECT_DAT(dat_psp_create_any(pair->ia, &qual, pair->cr_evd, 0, &psp));
}

TEST_F(sp, psp_query_each_field)
{
	struct pair *pair = &self->pair;
	DAT_PSP_HANDLE psp[2];
	DAT_CONN_QUAL qual[2];
	DAT_PSP_PARAM param;
	unsigned int i, mask;

	ASSERT_DAT(provider_psp(pair, &qual[0], &psp[0]));
	psp[1] = pair->psp;
	qual[1] = pair->qual;
	for (i = 0; i < 2; i++) {
		for (mask = 0; mask <= DAT_PSP_FIELD_ALL; mask++) {
			memset(&param, 0xff, sizeof(param));
			ASSERT_DAT(dat_psp_query(psp[i], mask, &param));
			if (mask & DAT_PSP_FIELD_IA_HANDLE)
				EXPECT_EQ(TOLD_IA(pair->ia), param.ia_handle);
			if (mask & DAT_PSP_FIELD_CONN_QUAL)
				EXPECT_EQ(qual[i], param.conn_qual);
			if (mask & DAT_PSP_FIELD_EVD_HANDLE)
				EXPECT_EQ(pair->cr_evd, param.evd_handle);
			if (mask & DAT_PSP_FIELD_PSP_FLAGS)
				EXPECT_EQ(i ? DAT_PSP_CONSUMER_FLAG :
					      DAT_PSP_PROVIDER_FLAG,
					  param.psp_flags);
		}
	}
	for (mask = DAT_PSP_FIELD_ALL + 1; mask; mask <<= 1) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_psp_query(pair->psp, mask, &param));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_psp_query(pair->psp, DAT_PSP_FIELD_ALL, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP),
		       dat_psp_query(pair->cr_evd, DAT_PSP_FIELD_ALL, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP),
		       dat_psp_query(DAT_HANDLE_NULL, DAT_PSP_FIELD_ALL,
				     &param));
	ASSERT_DAT(dat_psp_free(psp[0]));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP),
		       dat_psp_query(psp[0], DAT_PSP_FIELD_ALL, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP),
		       dat_psp_free(psp[0]));
}

#define CREATORS	2
#define ROUNDS		16

/* What the creators have made, and whoever hears of a request must know. */
struct made {
	struct pair *pair;
	DAT_EVD_HANDLE evd;
	pthread_mutex_t lock;
	unsigned int num;
	DAT_CONN_QUAL qual[CREATORS * ROUNDS];
	DAT_PSP_HANDLE psp[CREATORS * ROUNDS];
	unsigned int failures;
};

static DAT_PSP_HANDLE made_psp(struct made *made, DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	unsigned int i;

	pthread_mutex_lock(&made->lock);
	/* A qualifier may be given away again: the last one counts. */
	for (i = 0; i < made->num; i++)
		if (made->qual[i] == qual)
			psp = made->psp[i];
	pthread_mutex_unlock(&made->lock);
	return psp;
}

/* Creates a PSP and asks it for a connection, which is refused. */
static DAT_RETURN create_and_ask(struct made *made, DAT_EP_HANDLE ep,
				 DAT_EVD_HANDLE conn_evd, DAT_PSP_HANDLE *psp)
{
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;

	ret = dat_psp_create_any(made->pair->ia, &qual, made->evd,
				 DAT_PSP_CONSUMER_FLAG, psp);
	if (ret)
		return ret;
	pthread_mutex_lock(&made->lock);
	made->qual[made->num] = qual;
	made->psp[made->num++] = *psp;
	pthread_mutex_unlock(&made->lock);
	return connect_to(made->pair, ep, qual) ?:
	       wait_number(conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED) ?:
	       dat_ep_reset(ep);
}

static void *creator(void *arg)
{
	DAT_PSP_HANDLE psp, before = DAT_HANDLE_NULL;
	struct made *made = arg;
	struct side side = {};
	DAT_RETURN ret;
	int i;

	ret = side_open(made->pair, &side);
	for (i = 0; i < ROUNDS && !ret; i++) {
		ret = create_and_ask(made, side.ep, side.conn_evd, &psp);
		if (!ret && before)
			ret = dat_psp_free(before);
		before = psp;
	}
	if (ret) {
		fprintf(stderr, "# round %d: %s\n", i, dat_str(ret));
		__atomic_add_fetch(&made->failures, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* A request may come for one while the qualifier of another is not known yet. */
TEST_F(sp, psp_create_any_concurrent)
{
	struct made made = {
		.pair = &self->pair,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	DAT_CR_ARRIVAL_EVENT_DATA *d;
	pthread_t threads[CREATORS];
	DAT_EVENT event;
	unsigned int i;

	ASSERT_DAT(dat_evd_create(self->pair.ia, 64, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG, &made.evd));
	for (i = 0; i < CREATORS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, creator,
					    &made));
	d = &event.event_data.cr_arrival_event_data;
	for (i = 0; i < CREATORS * ROUNDS; i++) {
		ASSERT_DAT(wait_event(made.evd, &event));
		EXPECT_EQ(made_psp(&made, d->conn_qual),
			  d->sp_handle.psp_handle);
		ASSERT_DAT(dat_cr_reject(d->cr_handle));
	}
	for (i = 0; i < CREATORS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, made.failures);
}

TEST_F(sp, provider_psp_ep_per_request)
{
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE ep, ep2, other;
	DAT_CR_HANDLE cr, cr2;
	DAT_HANDLE_TYPE type;
	DAT_EP_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	ASSERT_DAT(ep_like(pair, &pair->a, &other));
	ASSERT_DAT(provider_psp(pair, &qual, &psp));
	ASSERT_DAT(connect_to(pair, pair->a.ep, qual));
	cr = request_for(_metadata, pair->cr_evd, qual, psp);
	ASSERT_DAT(connect_to(pair, other, qual));
	cr2 = request_for(_metadata, pair->cr_evd, qual, psp);
	ep = ep_of(cr);
	ep2 = ep_of(cr2);
	ASSERT_NE(DAT_HANDLE_NULL, ep);
	ASSERT_NE(DAT_HANDLE_NULL, ep2);
	EXPECT_NE(ep, ep2);
	ASSERT_DAT(dat_get_handle_type(ep, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_EP, type);
	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(DAT_EP_STATE_UNCONFIGURED_TENTATIVE, param.ep_state);
	EXPECT_EQ(TOLD_IA(pair->ia), param.ia_handle);
	EXPECT_EQ(DAT_HANDLE_NULL, param.pz_handle);
	EXPECT_EQ(DAT_HANDLE_NULL, param.recv_evd_handle);
	EXPECT_EQ(DAT_HANDLE_NULL, param.request_evd_handle);
	EXPECT_EQ(DAT_HANDLE_NULL, param.connect_evd_handle);

	/* It is of no use as it is, and its place is not another's. */
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_UNCONFTENTATIVE),
		       dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_accept(cr, pair->b.ep, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_accept(cr, ep2, 0, NULL));
	ASSERT_DAT(configure(ep, &pair->b));
	EXPECT_EQ(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, ep_state(ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_TENTCONNPENDING),
		       dat_ep_free(ep));
	ASSERT_DAT(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(pair, pair->a.ep, ep, &self->a, &self->b));

	/* A request outlives its PSP, and its EP may be named. */
	ASSERT_DAT(dat_psp_free(psp));
	ASSERT_DAT(configure(ep2, &pair->b));
	ASSERT_DAT(dat_cr_accept(cr2, ep2, 0, NULL));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(pair, other, ep2, &self->a, &self->b));

	/* From now on it is the process's. */
	EXPECT_DAT(dat_ep_free(ep));
	EXPECT_DAT(wait_number(pair->a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	expect_no_ep(_metadata, ep);
}

/* The library gets to know it by that. */
TEST_F(sp, provider_ep_remote_address)
{
	struct pair *pair = &self->pair;
	DAT_IA_ATTR ia_attr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_PARAM param;
	DAT_CR_PARAM cr_param;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	ASSERT_DAT(dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0,
				NULL));
	ASSERT_DAT(provider_psp(pair, &qual, &psp));
	ASSERT_DAT(connect_to(pair, pair->a.ep, qual));
	cr = request_for(_metadata, pair->cr_evd, qual, psp);
	ASSERT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	ep = cr_param.local_ep_handle;
	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_NE(NULL, param.remote_ia_address_ptr);
	EXPECT_EQ(0, memcmp(ia_attr.ia_address_ptr->sa_data + 2,
			    param.remote_ia_address_ptr->sa_data + 2, 4));
	EXPECT_EQ(0, memcmp(ia_attr.ia_address_ptr->sa_data + 2,
			    cr_param.remote_ia_address_ptr->sa_data + 2, 4));
	EXPECT_EQ(qual, param.local_port_qual);
}

/* How a request can go without having been accepted. */
FIXTURE(gone)
{
	struct pair pair;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
};

FIXTURE_VARIANT(gone)
{
	bool handoff;
	bool configured;
};

FIXTURE_VARIANT_ADD(gone, rejected)
{
	.handoff = false,
};

FIXTURE_VARIANT_ADD(gone, handed_off)
{
	.handoff = true,
};

FIXTURE_VARIANT_ADD(gone, configured_and_rejected)
{
	.configured = true,
};

FIXTURE_VARIANT_ADD(gone, configured_and_handed_off)
{
	.handoff = true,
	.configured = true,
};

FIXTURE_SETUP(gone)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &self->evd));
	ASSERT_DAT(provider_psp(pair, &self->qual, &self->psp));
	ASSERT_DAT(connect_to(pair, pair->a.ep, self->qual));
	self->cr = request_for(_metadata, pair->cr_evd, self->qual, self->psp);
	self->ep = ep_of(self->cr);
	ASSERT_NE(DAT_HANDLE_NULL, self->ep);
	if (variant->configured)
		ASSERT_DAT(configure(self->ep, &pair->b));
}

FIXTURE_TEARDOWN(gone)
{
	pair_close(&self->pair);
}

static DAT_RETURN let_go(FIXTURE_DATA(gone) *self,
			 const FIXTURE_VARIANT(gone) *variant)
{
	return variant->handoff ? dat_cr_handoff(self->cr, self->pair.qual) :
				  dat_cr_reject(self->cr);
}

TEST_F(gone, reject_handoff_free_provider_ep)
{
	struct pair *pair = &self->pair;
	DAT_CR_HANDLE cr;

	ASSERT_DAT(let_go(self, variant));
	expect_no_ep(_metadata, self->ep);
	if (!variant->handoff) {
		EXPECT_DAT(wait_number(pair->a.conn_evd,
				       DAT_CONNECTION_EVENT_PEER_REJECTED));
		return;
	}
	cr = request_for(_metadata, pair->cr_evd, pair->qual, pair->psp);
	/* A PSP of the consumer's has none to offer. */
	EXPECT_EQ(DAT_HANDLE_NULL, ep_of(cr));
	ASSERT_DAT(dat_cr_accept(cr, pair->b.ep, 0, NULL));
	EXPECT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
}

/* Else an EVD would be told for ever that an EP does not notify it. */
TEST_F(gone, reject_handoff_clear_evd_notify)
{
	DAT_EP_PARAM param = {};
	DAT_EVENT event;
	DAT_COUNT nmore;

	param.recv_evd_handle = self->evd;
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ASSERT_DAT(dat_ep_modify(self->ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
				 DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
				 &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EVD_CONFIG_NOTIFY),
		       dat_evd_wait(self->evd, 1000, 2, &event, &nmore));
	ASSERT_DAT(let_go(self, variant));
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(self->evd, 1000, 2, &event, &nmore));
	EXPECT_DAT(dat_evd_free(self->evd));
}

TEST_F(gone, reject_handoff_invalidate_cr)
{
	DAT_CR_PARAM param;

	ASSERT_DAT(let_go(self, variant));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_query(self->cr, DAT_CR_FIELD_ALL, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_accept(self->cr, DAT_HANDLE_NULL, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_reject(self->cr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_handoff(self->cr, self->pair.qual));
}

#define MAX_PENDING	64

TEST_F(sp, provider_eps_memory_limit)
{
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE ep[MAX_PENDING];
	DAT_CR_HANDLE cr[MAX_PENDING];
	DAT_EP_PARAM param = {};
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;
	int i;

	/* Not before it has a PZ does it have queues. */
	param.pz_handle = pair->b.pz;
	param.ep_attr.max_recv_dtos = 4096;
	param.ep_attr.max_request_dtos = 4096;
	ASSERT_DAT(dat_evd_create(pair->ia, MAX_PENDING, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG, &evd));
	/* With room for so many EPs. */
	ASSERT_DAT(dat_evd_create(pair->ia, MAX_PENDING * 128, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &pair->a.dto_evd));
	ASSERT_DAT(dat_psp_create_any(pair->ia, &qual, evd,
				      DAT_PSP_PROVIDER_FLAG, &psp));
	for (i = 0; i < MAX_PENDING; i++) {
		ASSERT_DAT(ep_like(pair, &pair->a, &ep[i]));
		ASSERT_DAT(connect_to(pair, ep[i], qual));
		cr[i] = request_for(_metadata, evd, qual, psp);
		ret = dat_ep_modify(ep_of(cr[i]), DAT_EP_FIELD_PZ_HANDLE |
				    DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				    DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				    &param);
		if (ret)
			break;
	}
	ASSERT_LT(8, i);
	ASSERT_GT(MAX_PENDING, i);
	EXPECT_EQ(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY), ret);
	/* What goes makes room. */
	ASSERT_DAT(dat_cr_reject(cr[0]));
	EXPECT_DAT(dat_ep_modify(ep_of(cr[i]),
				 DAT_EP_FIELD_PZ_HANDLE |
					 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
					 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				 &param));
	/* With siw each that is left without an answer takes ten seconds. */
	while (i)
		EXPECT_DAT(dat_cr_reject(cr[i--]));
}

TEST_F(sp, rsp_accepts_one_request)
{
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE other, free_ep;
	DAT_RSP_HANDLE rsp, again;
	DAT_HANDLE_TYPE type;
	DAT_RSP_PARAM param;
	DAT_CR_HANDLE cr;

	ASSERT_DAT(ep_like(pair, &pair->a, &other));
	ASSERT_DAT(ep_like(pair, &pair->b, &free_ep));
	ASSERT_DAT(dat_rsp_create(pair->ia, self->qual, pair->b.ep,
				  pair->cr_evd, &rsp));
	EXPECT_EQ(DAT_EP_STATE_RESERVED, ep_state(pair->b.ep));
	ASSERT_DAT(dat_get_handle_type(rsp, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_RSP, type);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED),
		       dat_ep_free(pair->b.ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED),
		       dat_rsp_create(pair->ia, self->qual + 1, pair->b.ep,
				      pair->cr_evd, &again));
	EXPECT_DAT_TYPE(DAT_CONN_QUAL_IN_USE,
			dat_rsp_create(pair->ia, self->qual, free_ep,
				       pair->cr_evd, &again));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(free_ep));

	ASSERT_DAT(connect_to(pair, pair->a.ep, self->qual));
	cr = request_for(_metadata, pair->cr_evd, self->qual, rsp);
	EXPECT_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		  ep_state(pair->b.ep));
	EXPECT_EQ(pair->b.ep, ep_of(cr));
	/* Nobody listens any more. */
	ASSERT_DAT(connect_to(pair, other, self->qual));
	EXPECT_DAT(wait_number(pair->a.conn_evd, link_is_iwarp() ?
			       DAT_CONNECTION_EVENT_PEER_REJECTED :
			       DAT_CONNECTION_EVENT_NON_PEER_REJECTED));
	/* The RSP goes; the request and its EP stay. */
	ASSERT_DAT(dat_rsp_free(rsp));
	EXPECT_EQ(pair->b.ep, ep_of(cr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP),
		       dat_rsp_free(rsp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP),
		       dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_accept(cr, free_ep, 0, NULL));
	ASSERT_DAT(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(pair, pair->a.ep, pair->b.ep, &self->a, &self->b));
}

TEST_F(sp, rsp_releases_reserved_ep)
{
	struct pair *pair = &self->pair;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_DAT(dat_rsp_create(pair->ia, self->qual, pair->b.ep,
					  pair->cr_evd, &rsp));
		/* Freed; its request rejected, or handed off. */
		if (i) {
			ASSERT_DAT(connect_to(pair, pair->a.ep, self->qual));
			cr = request_for(_metadata, pair->cr_evd, self->qual,
					 rsp);
			ASSERT_DAT(i == 1 ? dat_cr_reject(cr)
					  : dat_cr_handoff(cr, pair->qual));
		}
		EXPECT_EQ(i ? DAT_EP_STATE_UNCONNECTED : DAT_EP_STATE_RESERVED,
			  ep_state(pair->b.ep));
		ASSERT_DAT(dat_rsp_free(rsp));
		EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(pair->b.ep));
		if (i == 1) {
			EXPECT_DAT(wait_number(pair->a.conn_evd,
					       DAT_CONNECTION_EVENT_PEER_REJECTED));
			ASSERT_DAT(dat_ep_reset(pair->a.ep));
		}
	}
	cr = request_for(_metadata, pair->cr_evd, pair->qual, pair->psp);
	ASSERT_DAT(dat_cr_accept(cr, pair->b.ep, 0, NULL));
	EXPECT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
}

TEST_F(sp, rsp_null_ep_provider_ep)
{
	struct pair *pair = &self->pair;
	DAT_RSP_PARAM param;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
	int i;

	/* Rejected, then accepted. */
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(dat_rsp_create(pair->ia, self->qual, DAT_HANDLE_NULL,
					  pair->cr_evd, &rsp));
		/* Its EP is known once somebody wants it. */
		ASSERT_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
		EXPECT_EQ(DAT_HANDLE_NULL, param.ep_handle);
		ASSERT_DAT(connect_to(pair, pair->a.ep, self->qual));
		cr = request_for(_metadata, pair->cr_evd, self->qual, rsp);
		ep = ep_of(cr);
		ASSERT_NE(DAT_HANDLE_NULL, ep);
		ASSERT_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
		EXPECT_EQ(ep, param.ep_handle);
		EXPECT_EQ(DAT_EP_STATE_UNCONFIGURED_PASSIVE, ep_state(ep));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
				     DAT_INVALID_STATE_EP_UNCONFPASSIVE),
			       dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
		ASSERT_DAT(configure(ep, &pair->b));
		EXPECT_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
			  ep_state(ep));
		if (i)
			break;
		ASSERT_DAT(dat_cr_reject(cr));
		expect_no_ep(_metadata, ep);
		ASSERT_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
		EXPECT_EQ(DAT_HANDLE_NULL, param.ep_handle);
		ASSERT_DAT(dat_rsp_free(rsp));
		EXPECT_DAT(wait_number(pair->a.conn_evd,
				       DAT_CONNECTION_EVENT_PEER_REJECTED));
		ASSERT_DAT(dat_ep_reset(pair->a.ep));
	}
	ASSERT_DAT(dat_rsp_free(rsp));
	ASSERT_DAT(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(pair, pair->a.ep, ep, &self->a, &self->b));
}

TEST_F(sp, rsp_free_stops_listening)
{
	struct pair *pair = &self->pair;
	DAT_RSP_HANDLE rsp;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_DAT(dat_rsp_create(pair->ia, self->qual,
					  i ? pair->b.ep : DAT_HANDLE_NULL,
					  pair->cr_evd, &rsp));
		ASSERT_DAT(dat_rsp_free(rsp));
	}
	ASSERT_DAT(connect_to(pair, pair->a.ep, self->qual));
	EXPECT_DAT(wait_number(pair->a.conn_evd, link_is_iwarp() ?
			       DAT_CONNECTION_EVENT_PEER_REJECTED :
			       DAT_CONNECTION_EVENT_NON_PEER_REJECTED));
	EXPECT_TRUE(is_empty(pair->cr_evd));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(pair->b.ep));
}

TEST_F(sp, rsp_query_each_field)
{
	struct pair *pair = &self->pair;
	DAT_RSP_PARAM param;
	DAT_RSP_HANDLE rsp;
	unsigned int mask;

	ASSERT_DAT(dat_rsp_create(pair->ia, self->qual, pair->b.ep,
				  pair->cr_evd, &rsp));
	for (mask = 0; mask <= DAT_RSP_FIELD_ALL; mask++) {
		memset(&param, 0xff, sizeof(param));
		ASSERT_DAT(dat_rsp_query(rsp, mask, &param));
		if (mask & DAT_RSP_FIELD_IA_HANDLE)
			EXPECT_EQ(TOLD_IA(pair->ia), param.ia_handle);
		if (mask & DAT_RSP_FIELD_CONN_QUAL)
			EXPECT_EQ(self->qual, param.conn_qual);
		if (mask & DAT_RSP_FIELD_EVD_HANDLE)
			EXPECT_EQ(pair->cr_evd, param.evd_handle);
		if (mask & DAT_RSP_FIELD_EP_HANDLE)
			EXPECT_EQ(pair->b.ep, param.ep_handle);
	}
	for (mask = DAT_RSP_FIELD_ALL + 1; mask; mask <<= 1) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_rsp_query(rsp, mask, &param));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP),
		       dat_rsp_query(pair->psp, DAT_RSP_FIELD_ALL, &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP),
		       dat_psp_free(rsp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP),
		       dat_rsp_free(pair->psp));
}

TEST_F(sp, rsp_create_bad_args)
{
	struct pair *pair = &self->pair;
	DAT_RSP_HANDLE rsp = NULL;
	DAT_EP_HANDLE freed;
	unsigned int i;

	ASSERT_DAT(ep_like(pair, &pair->b, &freed));
	ASSERT_DAT(dat_ep_free(freed));
	DAT_HANDLE bad[] = { freed, pair->psp, pair->a.conn_evd, NULL };

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
			       dat_rsp_create(bad[i], self->qual, pair->b.ep,
					      pair->cr_evd, &rsp));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE,
				     DAT_INVALID_HANDLE_EVD_CR),
			       dat_rsp_create(pair->ia, self->qual, pair->b.ep,
					      bad[i], &rsp));
		/* That it may be none is for this one only. */
		if (bad[i]) {
			EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE,
					     DAT_INVALID_HANDLE_EP),
				       dat_rsp_create(pair->ia, self->qual,
						      bad[i], pair->cr_evd,
						      &rsp));
		}
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_rsp_create(pair->ia, 0, pair->b.ep, pair->cr_evd,
				      &rsp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_rsp_create(pair->ia, self->qual, pair->b.ep,
				      pair->cr_evd, NULL));
	EXPECT_EQ(NULL, rsp);
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(pair->b.ep));
}

static DAT_RETURN ask_with_data(struct pair *pair, DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;

	return dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			    0, NULL) ?:
	       dat_ep_connect(pair->a.ep, attr.ia_address_ptr, qual,
			      DAT_TIMEOUT_INFINITE, sizeof(hello),
			      (DAT_PVOID)hello, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static bool has_data(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	return !dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) &&
	       param.private_data_size >= (DAT_COUNT)sizeof(hello) &&
	       !memcmp(hello, param.private_data, sizeof(hello));
}

TEST_F(sp, handoff_keeps_private_data)
{
	struct pair *pair = &self->pair;
	DAT_CR_HANDLE cr, before;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;

	ASSERT_DAT(dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &evd));
	ASSERT_DAT(dat_psp_create_any(pair->ia, &qual, evd,
				      DAT_PSP_PROVIDER_FLAG, &psp));
	ASSERT_DAT(dat_rsp_create(pair->ia, self->qual, pair->b.ep,
				  pair->cr_evd, &rsp));
	/* From a PSP to one whose EPs the provider makes, and to an RSP. */
	ASSERT_DAT(ask_with_data(pair, pair->qual));
	cr = request_for(_metadata, pair->cr_evd, pair->qual, pair->psp);
	EXPECT_TRUE(has_data(cr));
	before = cr;
	ASSERT_DAT(dat_cr_handoff(cr, qual));
	EXPECT_FALSE(has_data(cr));
	cr = request_for(_metadata, evd, qual, psp);
	EXPECT_NE(before, cr);
	EXPECT_TRUE(has_data(cr));
	ep = ep_of(cr);
	EXPECT_EQ(DAT_EP_STATE_UNCONFIGURED_TENTATIVE, ep_state(ep));
	ASSERT_DAT(dat_cr_handoff(cr, self->qual));
	expect_no_ep(_metadata, ep);
	cr = request_for(_metadata, pair->cr_evd, self->qual, rsp);
	EXPECT_TRUE(has_data(cr));
	EXPECT_EQ(pair->b.ep, ep_of(cr));
	ASSERT_DAT(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(pair, pair->a.ep, pair->b.ep, &self->a, &self->b));
	EXPECT_TRUE(is_empty(pair->cr_evd));
	EXPECT_TRUE(is_empty(evd));
}

TEST_F(sp, handoff_bad_args)
{
	struct pair *pair = &self->pair;
	DAT_CR_HANDLE cr;

	ASSERT_DAT(ask_with_data(pair, pair->qual));
	cr = request_for(_metadata, pair->cr_evd, pair->qual, pair->psp);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_handoff(cr, 0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_handoff(cr, self->qual));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_handoff(DAT_HANDLE_NULL, pair->qual));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_handoff(pair->psp, pair->qual));
	/* It is where it was, and as it was. */
	EXPECT_TRUE(has_data(cr));
	EXPECT_TRUE(is_empty(pair->cr_evd));
	ASSERT_DAT(dat_cr_accept(cr, pair->b.ep, 0, NULL));
	EXPECT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_handoff(cr, pair->qual));
}

/* Whichever way: who asks is not left without an answer. */
TEST_F(sp, handoff_full_backlog_rejected)
{
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE ep[2];
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_RETURN ret;
	int i;

	ASSERT_DAT(dat_evd_create(pair->ia, 2, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &evd));
	ASSERT_DAT(dat_psp_create_any(pair->ia, &qual, evd,
				      DAT_PSP_CONSUMER_FLAG, &psp));
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(ep_like(pair, &pair->a, &ep[i]));
		ASSERT_DAT(connect_to(pair, ep[i], pair->qual));
		ASSERT_DAT(next_cr(pair, &cr));
		ASSERT_DAT(dat_cr_handoff(cr, qual));
	}
	ASSERT_DAT(connect_to(pair, pair->a.ep, pair->qual));
	ASSERT_DAT(next_cr(pair, &cr));
	ret = dat_cr_handoff(cr, qual);
	if (ret) {
		EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, ret);
		ASSERT_DAT(dat_cr_reject(cr));
	}
	ASSERT_DAT(wait_event(pair->a.conn_evd, &event));
	EXPECT_TRUE(event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
		    event.event_number ==
			    DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	EXPECT_EQ(pair->a.ep,
		  event.event_data.connect_event_data.ep_handle);
	/* Those that found room are there. */
	for (i = 0; i < 2; i++) {
		cr = request_for(_metadata, evd, qual, psp);
		EXPECT_DAT(dat_cr_reject(cr));
	}
}

/* Says on which qualifier, accepts a request with data, and receives a message. */
static int take_over(int fd, DAT_PSP_FLAGS flags)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct region b;
	struct pair pair;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	if (pair_open(&pair) ||
	    region_open(&pair, pair.b.pz, &b, REGION, DAT_MEM_PRIV_ALL_FLAG) ||
	    dat_psp_create_any(pair.ia, &qual, pair.cr_evd, flags, &psp) ||
	    write(fd, &qual, sizeof(qual)) != sizeof(qual))
		return 1;
	if (next_cr(&pair, &cr) || !has_data(cr))
		return 2;
	ep = flags ? ep_of(cr) : pair.b.ep;
	if (flags && configure(ep, &pair.b))
		return 3;
	if (post_recv(ep, &b, 0, 64, 1) ||
	    dat_cr_accept(cr, flags ? DAT_HANDLE_NULL : ep, 0, NULL) ||
	    wait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED))
		return 4;
	if (wait_dto(pair.b.dto_evd, 1) != DAT_DTO_SUCCESS ||
	    strcmp((char *)b.buf, hello))
		return 5;
	return 0;
}

static void hand_to_a_child(struct __test_metadata *_metadata,
			    DAT_PSP_FLAGS flags)
{
	int fds[2], status;
	DAT_CONN_QUAL qual;
	struct pair pair;
	DAT_CR_HANDLE cr;
	struct region a;
	pid_t pid;

	/* Before this process has opened the device, or they would share it. */
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(take_over(fds[1], flags));
	ASSERT_EQ((ssize_t)sizeof(qual), read(fds[0], &qual, sizeof(qual)));

	ASSERT_DAT(pair_open(&pair));
	ASSERT_DAT(region_open(&pair, pair.a.pz, &a, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(ask_with_data(&pair, pair.qual));
	cr = request_for(_metadata, pair.cr_evd, pair.qual, pair.psp);
	ASSERT_DAT(dat_cr_handoff(cr, qual));
	EXPECT_FALSE(has_data(cr));
	EXPECT_DAT(wait_number(pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	memcpy(a.buf, hello, sizeof(hello));
	EXPECT_DAT(post_send(pair.a.ep, &a, 0, 64, 2));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_DAT(wait_number(pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	pair_close(&pair);
}

TEST(handoff_other_process)
{
	hand_to_a_child(_metadata, DAT_PSP_CONSUMER_FLAG);
}

TEST(handoff_other_process_provider_ep)
{
	hand_to_a_child(_metadata, DAT_PSP_PROVIDER_FLAG);
}

#define LISTENERS	4

/* Has all kinds of service points, and a request at each. */
static int collect(int fd)
{
	DAT_CONN_QUAL qual[LISTENERS];
	DAT_CR_HANDLE cr[LISTENERS];
	struct pair pair;
	DAT_HANDLE sp;
	int i;

	if (pair_open(&pair))
		return 1;
	qual[0] = pair.qual;
	qual[1] = pair.qual + 10007;
	qual[2] = pair.qual + 10008;
	if (dat_rsp_create(pair.ia, qual[1], pair.b.ep, pair.cr_evd, &sp) ||
	    dat_rsp_create(pair.ia, qual[2], DAT_HANDLE_NULL, pair.cr_evd,
			   &sp) ||
	    dat_psp_create_any(pair.ia, &qual[3], pair.cr_evd,
			       DAT_PSP_PROVIDER_FLAG, &sp) ||
	    write(fd, qual, sizeof(qual)) != sizeof(qual))
		return 2;
	for (i = 0; i < LISTENERS; i++)
		if (next_cr(&pair, &cr[i]))
			return 3;
	/* One of them has got further than the others. */
	for (i = 0; i < LISTENERS; i++)
		if (ep_of(cr[i]) && configure(ep_of(cr[i]), &pair.b) &&
		    ep_of(cr[i]) != pair.b.ep)
			return 4;
	if (write(fd, qual, 1) != 1)
		return 5;
	for (;;)
		pause();
}

/* The file is closed for it, in the middle of everything. */
TEST(kill_rejects_pending_requests)
{
	DAT_CONN_QUAL qual[LISTENERS];
	DAT_EP_HANDLE ep[LISTENERS];
	DAT_PSP_HANDLE psp;
	int fds[2], status, i;
	struct pair pair;
	DAT_EVENT event;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(collect(fds[1]));
	close(fds[1]);
	ASSERT_EQ((ssize_t)sizeof(qual), read(fds[0], qual, sizeof(qual)));
	ASSERT_DAT(pair_open(&pair));
	for (i = 0; i < LISTENERS; i++) {
		ASSERT_DAT(ep_like(&pair, &pair.a, &ep[i]));
		ASSERT_DAT(connect_to(&pair, ep[i], qual[i]));
	}
	ASSERT_EQ(1, read(fds[0], &c, 1));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	for (i = 0; i < LISTENERS; i++) {
		ASSERT_DAT(wait_event(pair.a.conn_evd, &event));
		EXPECT_NE(DAT_CONNECTION_EVENT_ESTABLISHED,
			  event.event_number);
	}
	for (i = 0; i < LISTENERS; i++) {
		EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(ep[i]));
		/* Others may listen there. */
		EXPECT_DAT(dat_psp_create(pair.ia, qual[i], pair.cr_evd,
					  DAT_PSP_CONSUMER_FLAG, &psp));
	}
	pair_close(&pair);
}

TEST_F(sp, ia_close_rejects_pending_requests)
{
	struct pair *pair = &self->pair, other;
	DAT_EP_HANDLE ep[2], made;
	DAT_CONN_QUAL qual[2];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_HANDLE sp;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(pair_open(&other));
	ASSERT_DAT(provider_psp(&other, &qual[0], &sp));
	qual[1] = self->qual;
	ASSERT_DAT(dat_rsp_create(other.ia, qual[1], DAT_HANDLE_NULL,
				  other.cr_evd, &sp));
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(ep_like(pair, &pair->a, &ep[i]));
		ASSERT_DAT(connect_to(pair, ep[i], qual[i]));
		ASSERT_DAT(next_cr(&other, &cr));
	}
	made = ep_of(cr);
	ASSERT_NE(DAT_HANDLE_NULL, made);
	ASSERT_DAT(configure(made, &other.b));
	pair_close(&other);
	expect_no_ep(_metadata, made);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
		       dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(wait_event(pair->a.conn_evd, &event));
		EXPECT_NE(DAT_CONNECTION_EVENT_ESTABLISHED,
			  event.event_number);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(ep[i]));
	/* Those of this IA go on as before. */
	EXPECT_DAT(pair_connect(pair));
}

TEST_HARNESS_MAIN

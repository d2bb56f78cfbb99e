// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * unplug.c - the device goes away under an open IA, and comes back
 */
#include "harness.h"
#include <pthread.h>
#include <stdlib.h>

#include "link.h"
#include "pair.h"
#include "software_event.h"

#define WINDOW	6000

FIXTURE(unplug)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
	pthread_t thread;
};

FIXTURE_SETUP(unplug)
{
	/* rdma(8) takes the software device away and brings it back. */
	if (!link_is_there())
		SKIP(return, "not a software device, which could be taken away");
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, 65536,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &self->rmr));
	ASSERT_DAT(bind_window(self->rmr, &self->b, 100, WINDOW,
			       DAT_MEM_PRIV_REMOTE_WRITE_FLAG, self->pair.b.ep,
			       7, DAT_COMPLETION_DEFAULT_FLAG, &self->context));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_bind(self->pair.b.dto_evd, 7));
}

FIXTURE_TEARDOWN(unplug)
{
	pair_close(&self->pair);
	if (!link_is_there())
		link_add();
}

/* Writes until it cannot: a flush, or a call that says so. */
static void *writer(void *arg)
{
	FIXTURE_DATA(unplug) *self = arg;

	while (write_status(&self->pair, &self->a, self->context,
			    self->b.buf + 100, WINDOW) == DAT_DTO_SUCCESS)
		;
	return NULL;
}

TEST_F(unplug, under_load_breaks_connections)
{
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;

	ASSERT_EQ(0, pthread_create(&self->thread, NULL, writer, self));
	usleep(100000);
	ASSERT_EQ(0, link_delete());
	pthread_join(self->thread, NULL);

	ASSERT_DAT(wait_for(self->pair.async_evd,
			    DAT_ASYNC_ERROR_IA_CATASTROPHIC, &event));
	EXPECT_EQ(self->pair.ia,
		  event.event_data.asynch_error_event_data.dat_handle);
	EXPECT_DAT(wait_broken(self->pair.a.conn_evd));
	/* The first side to go may have told the other one yet. */
	ASSERT_DAT(wait_event(self->pair.b.conn_evd, &event));
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.b.ep));

	/* What needs the device fails; what gives things back works. */
	EXPECT_DAT_TYPE(DAT_INTERNAL_ERROR, dat_pz_create(self->pair.ia, &pz));
	EXPECT_DAT_TYPE(DAT_INTERNAL_ERROR,
			dat_evd_create(self->pair.ia, 8, DAT_HANDLE_NULL,
				       DAT_EVD_DTO_FLAG, &evd));
	EXPECT_DAT_TYPE(DAT_INTERNAL_ERROR,
			post_write(self->pair.a.ep, &self->a, 0, 8,
				   self->context, self->b.buf + 100, 1));
	EXPECT_DAT_TYPE(DAT_INTERNAL_ERROR,
			bind_window(self->rmr, &self->b, 100, WINDOW,
				    DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				    self->pair.b.ep, 8,
				    DAT_COMPLETION_DEFAULT_FLAG,
				    &self->context));
	EXPECT_DAT(dat_rmr_free(self->rmr));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
	EXPECT_DAT(dat_ep_free(self->pair.b.ep));
	EXPECT_DAT(dat_pz_free(self->pair.b.pz));
}

/* Made before the device goes, for what is called after it has gone. */
static struct {
	struct pair *pair;
	struct region *a;
	DAT_IA_ADDRESS_PTR address;
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
} left;

static DAT_RETURN call_ia_query(void)
{
	DAT_IA_ATTR attr;

	return dat_ia_query(left.pair->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0,
			    NULL);
}

static DAT_RETURN call_evd_resize(void)
{
	return dat_evd_resize(left.evd, 64);
}

static DAT_RETURN call_ep_create(void)
{
	DAT_EP_HANDLE ep;

	return ep_like(left.pair, &left.pair->a, &ep);
}

static DAT_RETURN call_ep_create_with_srq(void)
{
	DAT_EP_ATTR attr = {};
	DAT_EP_HANDLE ep;

	return dat_ep_create_with_srq(left.pair->ia, left.pair->a.pz,
				      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				      DAT_HANDLE_NULL, left.srq, &attr, &ep);
}

static DAT_RETURN call_ep_query(void)
{
	DAT_EP_PARAM param;

	return dat_ep_query(left.pair->a.ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN call_ep_modify(void)
{
	DAT_EP_PARAM param = {};

	return dat_ep_modify(left.pair->a.ep,
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

static DAT_RETURN call_ep_reset(void)
{
	return dat_ep_reset(left.pair->a.ep);
}

static DAT_RETURN call_ep_recv_query(void)
{
	return dat_ep_recv_query(left.pair->a.ep, NULL, NULL);
}

static DAT_RETURN call_ep_set_watermark(void)
{
	return dat_ep_set_watermark(left.pair->a.ep, 1, 1);
}

static DAT_RETURN call_ep_connect(void)
{
	return dat_ep_connect(left.pair->a.ep, left.address, left.pair->qual,
			      DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN call_ep_dup_connect(void)
{
	return dat_ep_dup_connect(left.pair->a.ep, left.pair->b.ep,
				  DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN call_ep_disconnect(void)
{
	return dat_ep_disconnect(left.pair->a.ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN call_post_recv(void)
{
	return post_recv(left.pair->a.ep, left.a, 0, 8, 1);
}

static DAT_RETURN call_post_send(void)
{
	return post_send(left.pair->a.ep, left.a, 0, 8, 1);
}

static DAT_RETURN call_post_read(void)
{
	return post_read(left.pair->a.ep, left.a, 0, 8, left.a->rmr_context,
			 left.a->buf, 1);
}

static DAT_RETURN call_lmr_create(void)
{
	struct region fresh;

	return region_open(left.pair, left.pair->a.pz, &fresh, 4096,
			   DAT_MEM_PRIV_ALL_FLAG);
}

static DAT_RETURN call_lmr_query(void)
{
	DAT_LMR_PARAM param;

	return dat_lmr_query(left.a->lmr, DAT_LMR_FIELD_ALL, &param);
}

static DAT_RETURN call_lmr_sync_rdma_read(void)
{
	DAT_LMR_TRIPLET seg = segment(left.a, 0, 8);

	return dat_lmr_sync_rdma_read(left.pair->ia, &seg, 1);
}

static DAT_RETURN call_lmr_sync_rdma_write(void)
{
	DAT_LMR_TRIPLET seg = segment(left.a, 0, 8);

	return dat_lmr_sync_rdma_write(left.pair->ia, &seg, 1);
}

static DAT_RETURN call_rmr_create(void)
{
	DAT_RMR_HANDLE rmr;

	return dat_rmr_create(left.pair->a.pz, &rmr);
}

static DAT_RETURN call_psp_create(void)
{
	DAT_PSP_HANDLE psp;

	return dat_psp_create(left.pair->ia, left.pair->qual + 10007,
			      left.pair->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
}

static DAT_RETURN call_psp_create_any(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	return dat_psp_create_any(left.pair->ia, &qual, left.pair->cr_evd,
				  DAT_PSP_CONSUMER_FLAG, &psp);
}

static DAT_RETURN call_rsp_create(void)
{
	DAT_RSP_HANDLE rsp;

	return dat_rsp_create(left.pair->ia, left.pair->qual + 10007,
			      DAT_HANDLE_NULL, left.pair->cr_evd, &rsp);
}

static DAT_RETURN call_srq_create(void)
{
	DAT_SRQ_ATTR attr = { 4, 1, 0 };
	DAT_SRQ_HANDLE srq;

	return dat_srq_create(left.pair->ia, left.pair->a.pz, &attr, &srq);
}

static DAT_RETURN call_srq_query(void)
{
	DAT_SRQ_PARAM param;

	return dat_srq_query(left.srq, DAT_SRQ_FIELD_ALL, &param);
}

static DAT_RETURN call_srq_resize(void)
{
	return dat_srq_resize(left.srq, 2);
}

static DAT_RETURN call_srq_set_lw(void)
{
	return dat_srq_set_lw(left.srq, 1);
}

static DAT_RETURN call_srq_post_recv(void)
{
	DAT_DTO_COOKIE cookie = {};

	return dat_srq_post_recv(left.srq, 0, NULL, cookie);
}

static const struct {
	const char *name;
	DAT_RETURN (*fn)(void);
} calls[] = {
	{ "ia_query", call_ia_query },
	{ "evd_resize", call_evd_resize },
	{ "ep_create", call_ep_create },
	{ "ep_create_with_srq", call_ep_create_with_srq },
	{ "ep_query", call_ep_query },
	{ "ep_modify", call_ep_modify },
	{ "ep_reset", call_ep_reset },
	{ "ep_recv_query", call_ep_recv_query },
	{ "ep_set_watermark", call_ep_set_watermark },
	{ "ep_connect", call_ep_connect },
	{ "ep_dup_connect", call_ep_dup_connect },
	{ "ep_disconnect", call_ep_disconnect },
	{ "post_recv", call_post_recv },
	{ "post_send", call_post_send },
	{ "post_read", call_post_read },
	{ "lmr_create", call_lmr_create },
	{ "lmr_query", call_lmr_query },
	{ "lmr_sync_rdma_read", call_lmr_sync_rdma_read },
	{ "lmr_sync_rdma_write", call_lmr_sync_rdma_write },
	{ "rmr_create", call_rmr_create },
	{ "psp_create", call_psp_create },
	{ "psp_create_any", call_psp_create_any },
	{ "rsp_create", call_rsp_create },
	{ "srq_create", call_srq_create },
	{ "srq_query", call_srq_query },
	{ "srq_resize", call_srq_resize },
	{ "srq_set_lw", call_srq_set_lw },
	{ "srq_post_recv", call_srq_post_recv },
};

TEST_F(unplug, calls_after_removal_internal_error)
{
	DAT_SRQ_ATTR attr = { 4, 1, 0 };
	DAT_EVD_PARAM param;
	DAT_IA_ATTR ia_attr;
	DAT_EVENT event;
	unsigned int i;

	left.pair = &self->pair;
	left.a = &self->a;
	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL, DAT_IA_FIELD_ALL, &ia_attr,
				0, NULL));
	left.address = ia_attr.ia_address_ptr;
	ASSERT_DAT(se_create(self->pair.ia, 8, DAT_HANDLE_NULL, &left.evd));
	ASSERT_DAT(se_post(left.evd, 1));
	ASSERT_DAT(dat_srq_create(self->pair.ia, self->pair.a.pz, &attr,
				  &left.srq));
	ASSERT_EQ(0, link_delete());
	ASSERT_DAT(wait_event(self->pair.async_evd, &event));
	for (i = 0; i < ARRAY_LEN(calls); i++) {
		EXPECT_EQ(DAT_INTERNAL_ERROR, DAT_GET_TYPE(calls[i].fn())) {
			TH_LOG("%s", calls[i].name);
		}
	}
	/* An EVD does not need it for what it holds. */
	EXPECT_DAT(dat_evd_query(left.evd, DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(8, param.evd_qlen);
	EXPECT_EQ(1, se_take(left.evd));
	EXPECT_DAT(dat_srq_free(left.srq));
}

TEST_F(unplug, catastrophic_event_per_ia)
{
	DAT_EVD_HANDLE evd[2] = { self->pair.async_evd, DAT_HANDLE_NULL };
	DAT_IA_HANDLE ia[2] = { self->pair.ia };
	DAT_EVENT event;
	int i;

	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &evd[1], &ia[1]));
	ASSERT_EQ(0, link_delete());
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(wait_for(evd[i], DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				    &event));
		EXPECT_EQ(ia[i],
			  event.event_data.asynch_error_event_data.dat_handle);
		EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
				dat_evd_dequeue(evd[i], &event));
	}
	EXPECT_DAT(dat_ia_close(ia[1], DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(unplug, ia_without_async_evd)
{
	DAT_EVD_HANDLE none = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;
	DAT_PZ_HANDLE pz;

	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &none, &ia));
	ASSERT_EQ(0, link_delete());
	ASSERT_DAT(wait_for(self->pair.async_evd,
			    DAT_ASYNC_ERROR_IA_CATASTROPHIC, &event));
	EXPECT_EQ(self->pair.ia,
		  event.event_data.asynch_error_event_data.dat_handle);
	EXPECT_NE(DAT_SUCCESS, dat_pz_create(ia, &pz));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(unplug, new_device_without_reload)
{
	struct region fresh;

	ASSERT_EQ(0, link_delete());
	ASSERT_EQ(0, link_add());
	pair_close(&self->pair);
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &fresh, 4096,
			       DAT_MEM_PRIV_ALL_FLAG));
	EXPECT_DAT(post_send(self->pair.a.ep, &fresh, 0, 0, 1));
}

TEST_HARNESS_MAIN

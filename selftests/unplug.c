// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * unplug.c - the device goes away under an open IA, and comes back
 */
#include "harness.h"
#include <pthread.h>
#include <stdlib.h>

#include "link.h"
#include "pair.h"

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
	ASSERT_EQ(DAT_SUCCESS, pair_open(&self->pair));
	ASSERT_EQ(DAT_SUCCESS, pair_connect(&self->pair));
	ASSERT_EQ(DAT_SUCCESS,
		  region_open(&self->pair, self->pair.a.pz, &self->a, 65536,
			      DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_EQ(DAT_SUCCESS,
		  region_open(&self->pair, self->pair.b.pz, &self->b, 65536,
			      DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_EQ(DAT_SUCCESS, dat_rmr_create(self->pair.b.pz, &self->rmr));
	ASSERT_EQ(DAT_SUCCESS,
		  bind_window(self->rmr, &self->b, 100, WINDOW,
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

TEST_F(unplug, under_load_ends_every_connection_and_says_so)
{
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;

	ASSERT_EQ(0, pthread_create(&self->thread, NULL, writer, self));
	usleep(100000);
	ASSERT_EQ(0, link_delete());
	pthread_join(self->thread, NULL);

	ASSERT_EQ(DAT_SUCCESS, wait_event(self->pair.async_evd, &event));
	EXPECT_EQ(DAT_ASYNC_ERROR_IA_CATASTROPHIC, event.event_number);
	EXPECT_EQ(self->pair.ia,
		  event.event_data.asynch_error_event_data.dat_handle);
	EXPECT_EQ(DAT_SUCCESS, wait_broken(self->pair.a.conn_evd));
	/* The first side to go may have told the other one yet. */
	ASSERT_EQ(DAT_SUCCESS, wait_event(self->pair.b.conn_evd, &event));
	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		EXPECT_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.b.ep));

	/* What needs the device fails; what gives things back works. */
	EXPECT_EQ(DAT_INTERNAL_ERROR,
		  DAT_GET_TYPE(dat_pz_create(self->pair.ia, &pz)));
	EXPECT_EQ(DAT_INTERNAL_ERROR,
		  DAT_GET_TYPE(dat_evd_create(self->pair.ia, 8, DAT_HANDLE_NULL,
					      DAT_EVD_DTO_FLAG, &evd)));
	EXPECT_EQ(DAT_INTERNAL_ERROR,
		  DAT_GET_TYPE(post_write(self->pair.a.ep, &self->a, 0, 8,
					  self->context, self->b.buf + 100,
					  1)));
	EXPECT_EQ(DAT_INTERNAL_ERROR,
		  DAT_GET_TYPE(bind_window(self->rmr, &self->b, 100, WINDOW,
					   DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
					   self->pair.b.ep, 8,
					   DAT_COMPLETION_DEFAULT_FLAG,
					   &self->context)));
	EXPECT_EQ(DAT_SUCCESS, dat_rmr_free(self->rmr));
	EXPECT_EQ(DAT_SUCCESS, dat_lmr_free(self->b.lmr));
	EXPECT_EQ(DAT_SUCCESS, dat_ep_free(self->pair.b.ep));
	EXPECT_EQ(DAT_SUCCESS, dat_pz_free(self->pair.b.pz));
}

TEST_F(unplug, every_open_instance_is_told_on_its_own_evd)
{
	DAT_EVD_HANDLE evd[2] = { self->pair.async_evd, DAT_HANDLE_NULL };
	DAT_IA_HANDLE ia[2] = { self->pair.ia };
	DAT_EVENT event;
	int i;

	ASSERT_EQ(DAT_SUCCESS,
		  dat_ia_open((char *)ia_name(), 8, &evd[1], &ia[1]));
	ASSERT_EQ(0, link_delete());
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(DAT_SUCCESS, wait_event(evd[i], &event));
		EXPECT_EQ(DAT_ASYNC_ERROR_IA_CATASTROPHIC, event.event_number);
		EXPECT_EQ(ia[i],
			  event.event_data.asynch_error_event_data.dat_handle);
		EXPECT_EQ(DAT_QUEUE_EMPTY,
			  DAT_GET_TYPE(dat_evd_dequeue(evd[i], &event)));
	}
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia[1], DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(unplug, an_instance_without_an_evd_leaves_it_to_the_others)
{
	DAT_EVD_HANDLE none = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;
	DAT_PZ_HANDLE pz;

	ASSERT_EQ(DAT_SUCCESS, dat_ia_open((char *)ia_name(), 8, &none, &ia));
	ASSERT_EQ(0, link_delete());
	ASSERT_EQ(DAT_SUCCESS, wait_event(self->pair.async_evd, &event));
	EXPECT_EQ(DAT_ASYNC_ERROR_IA_CATASTROPHIC, event.event_number);
	EXPECT_EQ(self->pair.ia,
		  event.event_data.asynch_error_event_data.dat_handle);
	EXPECT_NE(DAT_SUCCESS, dat_pz_create(ia, &pz));
	EXPECT_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(unplug, a_new_device_works_without_reloading)
{
	struct region fresh;

	ASSERT_EQ(0, link_delete());
	ASSERT_EQ(0, link_add());
	pair_close(&self->pair);
	ASSERT_EQ(DAT_SUCCESS, pair_open(&self->pair));
	ASSERT_EQ(DAT_SUCCESS, pair_connect(&self->pair));
	ASSERT_EQ(DAT_SUCCESS,
		  region_open(&self->pair, self->pair.a.pz, &fresh, 4096,
			      DAT_MEM_PRIV_ALL_FLAG));
	EXPECT_EQ(DAT_SUCCESS, post_send(self->pair.a.ep, &fresh, 0, 0, 1));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_free.c - dat_lmr_free(3DAT), sentence by sentence
 */
#include <kselftest_harness.h>

#include "pair.h"

FIXTURE(lmr_free)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_SETUP(lmr_free)
{
	ASSERT_EQ(DAT_SUCCESS, pair_open(&self->pair));
	ASSERT_EQ(DAT_SUCCESS, pair_connect(&self->pair));
	ASSERT_EQ(DAT_SUCCESS,
		  region_open(&self->pair, self->pair.a.pz, &self->a, 65536,
			      DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_EQ(DAT_SUCCESS,
		  region_open(&self->pair, self->pair.b.pz, &self->b, 65536,
			      DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(lmr_free)
{
	pair_close(&self->pair);
}

TEST_F(lmr_free, remote_use_of_the_dead_rmr_context_breaks_the_connection)
{
	ASSERT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, self->b.rmr_context,
			       self->b.buf, 4096));
	ASSERT_EQ(DAT_SUCCESS, dat_lmr_free(self->b.lmr));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, self->b.rmr_context,
			       self->b.buf, 4096));
	EXPECT_EQ(DAT_SUCCESS, wait_number(self->pair.a.conn_evd,
					   DAT_CONNECTION_EVENT_BROKEN));
	EXPECT_EQ(DAT_SUCCESS, wait_number(self->pair.b.conn_evd,
					   DAT_CONNECTION_EVENT_BROKEN));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.b.ep));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_free.c - dat_rmr_free(3DAT), while a peer uses the window
 *
 * Side a is the peer, side b frees. Freeing without a peer is in rmr_state.c.
 */
#include "harness.h"
#include <pthread.h>
#include <sched.h>

#include "pair.h"

#define REGION		65536
#define RW		(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define LOCAL		(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

FIXTURE(rmr_free)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
};

FIXTURE_SETUP(rmr_free)
{
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				LOCAL));
}

FIXTURE_TEARDOWN(rmr_free)
{
	pair_close(&self->pair);
}

static int create_and_bind(struct pair *pair, const struct region *region,
			   DAT_RMR_HANDLE *rmr, DAT_RMR_CONTEXT *context)
{
	if (dat_rmr_create(pair->b.pz, rmr) ||
	    bind_window(*rmr, region, 0, REGION, RW, pair->b.ep, 1,
			DAT_COMPLETION_DEFAULT_FLAG, context))
		return -1;
	return wait_bind(pair->b.dto_evd, 1);
}

/* The peer, which goes on until it is not let any more. */
struct peer {
	struct pair *pair;
	struct region *local;
	DAT_RMR_CONTEXT context;
	const void *addr;
	bool write;
	unsigned int done;
	int status;
};

static void *peer_main(void *arg)
{
	struct peer *p = arg;

	do {
		if (p->write) {
			memset(p->local->buf, p->done, p->local->len);
			p->status = write_status(p->pair, p->local, p->context,
						 p->addr, p->local->len);
		} else {
			p->status = read_status(p->pair, p->local, p->context,
						p->addr, p->local->len);
		}
		__atomic_add_fetch(&p->done, 1, __ATOMIC_RELEASE);
	} while (!p->status);
	return NULL;
}

static void peer_start(struct peer *p, pthread_t *thread)
{
	pthread_create(thread, NULL, peer_main, p);
	while (__atomic_load_n(&p->done, __ATOMIC_ACQUIRE) < 3)
		sched_yield();
}

/* Both sides hear that the connection has ended. */
static DAT_RETURN wait_end(struct pair *pair)
{
	DAT_EVENT event;

	return wait_event(pair->a.conn_evd, &event) ?:
	       wait_event(pair->b.conn_evd, &event);
}

TEST_F(rmr_free, free_during_remote_writes)
{
	static unsigned char seen[REGION];
	struct pair *pair = &self->pair;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		struct peer peer = {
			.pair = pair, .local = &self->a, .addr = self->b.buf,
			.write = true,
		};
		pthread_t thread;

		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  create_and_bind(pair, &self->b, &self->rmr,
					  &peer.context));
		peer_start(&peer, &thread);
		ASSERT_DAT(dat_rmr_free(self->rmr));
		memcpy(seen, self->b.buf, REGION);
		pthread_join(thread, NULL);
		EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, peer.status);
		EXPECT_EQ(0, memcmp(seen, self->b.buf, REGION));
		ASSERT_DAT(wait_end(pair));
		EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(pair->a.ep));
		EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(pair->b.ep));
		ASSERT_DAT(pair_reconnect(pair));
	}
}

TEST_F(rmr_free, free_during_remote_reads)
{
	struct pair *pair = &self->pair;
	unsigned int i;

	/* Of one packet each, as in lmr_free.c. */
	self->a.len = 1024;
	for (i = 0; i < 6; i++) {
		struct peer peer = {
			.pair = pair, .local = &self->a, .addr = self->b.buf,
		};
		pthread_t thread;

		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  create_and_bind(pair, &self->b, &self->rmr,
					  &peer.context));
		peer_start(&peer, &thread);
		ASSERT_DAT(dat_rmr_free(self->rmr));
		pthread_join(thread, NULL);
		EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, peer.status);
		ASSERT_DAT(wait_end(pair));
		EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(pair->a.ep));
		EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(pair->b.ep));
		ASSERT_DAT(pair_reconnect(pair));
	}
}

/* Whoever may use the LMR again may as well unbind. */
TEST_F(rmr_free, free_bound_and_unbound_rmr)
{
	struct pair *pair = &self->pair;
	DAT_RMR_HANDLE unbound;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  create_and_bind(pair, &self->b, &self->rmr, &self->context));
	ASSERT_DAT(dat_rmr_create(pair->b.pz, &unbound));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, dat_lmr_free(self->b.lmr));
	EXPECT_DAT(dat_rmr_free(unbound));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, dat_lmr_free(self->b.lmr));
	EXPECT_DAT(dat_rmr_free(self->rmr));
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
	/* Nothing was posted for it, so the connection goes on. */
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(pair->b.ep));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_evds.c - EVDs that dat_ep_modify(3DAT) replaces, and that are freed at once
 *
 * What still uses such an EVD uses freed memory: the kernel complains, at the latest one with
 * KASAN, and the harness reports that.
 */
#include "harness.h"

#include <pthread.h>
#include <semaphore.h>

#include "pair.h"

#define REGION	4096
#define ROUNDS	100

PAIR_FIXTURE(ep_evds, pair_open, REGION)

static DAT_RETURN new_evd(struct pair *pair, DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL,
			      DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, evd);
}

static DAT_RETURN set_recv_evd(DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
	DAT_EP_PARAM param = { .recv_evd_handle = evd };

	return dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param);
}

static DAT_RETURN set_evds(DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
	DAT_EP_PARAM param = {
		.recv_evd_handle = evd,
		.request_evd_handle = evd,
	};

	return dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
				 DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param);
}

static DAT_RETURN new_srq(struct pair *pair, DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };

	return dat_srq_create(pair->ia, pair->b.pz, &attr, srq);
}

static DAT_RETURN ep_on(struct pair *pair, DAT_SRQ_HANDLE srq, DAT_EVD_HANDLE evd,
			DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {};

	return dat_ep_create_with_srq(pair->ia, pair->b.pz, evd, pair->b.dto_evd,
				      pair->b.conn_evd, srq, &attr, ep);
}

/* The SRQ finds the EVD of an EP by itself when the EP ends. */
TEST_F(ep_evds, an_srq_forgets_the_old_one)
{
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE first, second;
	DAT_EVD_HANDLE old, new;
	DAT_SRQ_HANDLE srq;

	ASSERT_DAT(new_srq(pair, &srq));
	ASSERT_DAT(new_evd(pair, &old));
	ASSERT_DAT(new_evd(pair, &new));
	ASSERT_DAT(ep_on(pair, srq, old, &first));
	ASSERT_DAT(set_recv_evd(first, new));
	ASSERT_DAT(dat_evd_free(old));
	ASSERT_DAT(ep_on(pair, srq, new, &second));
	EXPECT_DAT(dat_ep_free(second));
	EXPECT_DAT(dat_ep_free(first));
	EXPECT_DAT(dat_evd_free(new));
	EXPECT_DAT(dat_srq_free(srq));
}

TEST_F(ep_evds, receives_of_an_srq_arrive_in_the_new_one)
{
	struct pair link, *pair = &self->pair;
	DAT_LMR_TRIPLET seg = segment(&self->b, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVD_HANDLE old, new;
	DAT_SRQ_HANDLE srq;

	ASSERT_DAT(new_srq(pair, &srq));
	ASSERT_DAT(new_evd(pair, &old));
	ASSERT_DAT(new_evd(pair, &new));
	link = *pair;
	ASSERT_DAT(ep_on(pair, srq, old, &link.b.ep));
	ASSERT_DAT(set_recv_evd(link.b.ep, new));
	ASSERT_DAT(dat_evd_free(old));
	ASSERT_DAT(dat_srq_post_recv(srq, 1, &seg, cookie));
	ASSERT_DAT(pair_connect(&link));
	ASSERT_DAT(post_send(link.a.ep, &self->a, 0, 8, 2));
	EXPECT_EQ(0, wait_dto(pair->a.dto_evd, 2));
	EXPECT_EQ(0, wait_dto(new, 1));
	EXPECT_DAT(dat_ep_free(link.b.ep));
	EXPECT_DAT(dat_evd_free(new));
	EXPECT_DAT(dat_srq_free(srq));
}

/**
 * struct waiter - a thread that disconnects an EP on demand
 * @ep: the EP
 * @go: posted for each call
 * @done: posted after each call
 */
struct waiter {
	DAT_EP_HANDLE ep;
	sem_t go;
	sem_t done;
};

static void *disconnect_on_demand(void *arg)
{
	struct waiter *waiter = arg;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		sem_wait(&waiter->go);
		dat_ep_disconnect(waiter->ep, DAT_CLOSE_ABRUPT_FLAG);
		sem_post(&waiter->done);
	}
	return NULL;
}

/*
 * Both threads disconnect, and the first that sees the end goes on, while the other one may
 * still wait for the flush.
 */
static void end_and_replace(struct __test_metadata *_metadata, FIXTURE_DATA(ep_evds) *self,
			    struct waiter *waiter, DAT_EVD_HANDLE *evd)
{
	struct pair *pair = &self->pair;
	DAT_EVD_HANDLE old = *evd;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_DAT(post_recv(pair->a.ep, &self->a, 0, 8, i));
	sem_post(&waiter->go);
	ASSERT_DAT(dat_ep_disconnect(pair->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_any_end(pair->a.conn_evd));
	ASSERT_DAT(dat_ep_reset(pair->a.ep));
	ASSERT_DAT(new_evd(pair, evd));
	ASSERT_DAT(set_evds(pair->a.ep, *evd));
	EXPECT_DAT(dat_evd_free(old));
	sem_wait(&waiter->done);
	ASSERT_DAT(wait_any_end(pair->b.conn_evd));
	ASSERT_DAT(dat_ep_reset(pair->b.ep));
}

TEST_F(ep_evds, the_end_of_a_connection_uses_no_old_one)
{
	struct pair *pair = &self->pair;
	struct waiter waiter = { .ep = pair->a.ep };
	DAT_EVD_HANDLE evd;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, sem_init(&waiter.go, 0, 0));
	ASSERT_EQ(0, sem_init(&waiter.done, 0, 0));
	ASSERT_DAT(new_evd(pair, &evd));
	ASSERT_DAT(set_evds(pair->a.ep, evd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, disconnect_on_demand, &waiter));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_DAT(pair_connect(pair));
		end_and_replace(_metadata, self, &waiter, &evd);
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_DAT(set_evds(pair->a.ep, pair->a.dto_evd));
	EXPECT_DAT(dat_evd_free(evd));
}

TEST_HARNESS_MAIN

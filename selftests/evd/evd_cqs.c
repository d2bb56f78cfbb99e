// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_cqs.c - an EVD takes as many EPs as the device has, whatever its length
 */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "pair.h"

#define REGION	4096
#define QLEN	8
#define MANY	400
#define MORE	4096
#define PEERS	128
#define QUEUED	32

PAIR_FIXTURE(evd_cqs, pair_open, REGION)

static DAT_RETURN new_evd(struct pair *pair, DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(pair->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, evd);
}

static DAT_RETURN ep_on(struct pair *pair, const struct side *side, DAT_EVD_HANDLE evd,
			DAT_EP_HANDLE *ep)
{
	return dat_ep_create(pair->ia, side->pz, evd, evd, side->conn_evd, NULL, ep);
}

TEST_F(evd_cqs, many_eps_on_short_evd)
{
	static const int used[] = { 0, 1, MANY / 2, MANY - 1 };
	struct pair link, *pair = &self->pair;
	DAT_EP_HANDLE ep[MANY];
	DAT_EVD_HANDLE evd;
	size_t i;

	ASSERT_DAT(new_evd(pair, &evd));
	for (i = 0; i < MANY; i++)
		ASSERT_DAT(ep_on(pair, &pair->a, evd, &ep[i]));
	for (i = 0; i < ARRAY_LEN(used); i++) {
		link = *pair;
		link.a.ep = ep[used[i]];
		ASSERT_DAT(ep_on(pair, &pair->b, pair->b.dto_evd, &link.b.ep));
		ASSERT_DAT(pair_connect(&link));
		ASSERT_DAT(post_recv(link.a.ep, &self->a, 0, 64, i));
		ASSERT_DAT(post_send(link.b.ep, &self->b, 0, 8, i));
		EXPECT_EQ(0, wait_dto(pair->b.dto_evd, i));
		EXPECT_EQ(0, wait_dto(evd, i));
	}
	for (i = 0; i < MANY; i++)
		ASSERT_DAT(dat_ep_free(ep[i]));
	EXPECT_DAT(dat_evd_free(evd));
}

/* No limit of ours: small EPs, so that they fit into the account of the process. */
TEST_F(evd_cqs, thousands_of_eps_on_short_evd)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 1,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct pair link, *pair = &self->pair;
	DAT_EP_HANDLE *ep = calloc(MORE, sizeof(*ep));
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVD_HANDLE evd;
	size_t i;

	ASSERT_NE(NULL, ep);
	ASSERT_DAT(new_evd(pair, &evd));
	for (i = 0; i < MORE && !ret; i++)
		ret = dat_ep_create(pair->ia, pair->a.pz, evd, evd, pair->a.conn_evd, &attr,
				    &ep[i]);
	ASSERT_DAT(ret);
	ASSERT_EQ(MORE, i);
	link = *pair;
	link.a.ep = ep[MORE - 1];
	ASSERT_DAT(pair_connect(&link));
	ASSERT_DAT(post_recv(link.a.ep, &self->a, 0, 64, 1));
	ASSERT_DAT(post_send(link.b.ep, &self->b, 0, 8, 2));
	EXPECT_EQ(0, wait_dto(pair->b.dto_evd, 2));
	EXPECT_EQ(0, wait_dto(evd, 1));
	for (i = 0; i < MORE; i++)
		ASSERT_DAT(dat_ep_free(ep[i]));
	EXPECT_DAT(dat_evd_free(evd));
	free(ep);
}

/**
 * struct server - a server with one EVD, and its clients
 * @pair: the IA
 * @a: memory of the server
 * @b: memory of the clients
 * @evd: the EVD of the server
 * @client_evd: the EVD of the clients
 * @ep: the EPs of the server
 * @client: the EPs of the clients
 * @num: EPs that are connected
 * @over: no other client comes
 * @rounds: rounds that have carried a message from each client
 * @failed: one has not
 */
struct server {
	struct pair *pair;
	struct region *a;
	struct region *b;
	DAT_EVD_HANDLE evd;
	DAT_EVD_HANDLE client_evd;
	DAT_EP_HANDLE ep[PEERS];
	DAT_EP_HANDLE client[PEERS];
	atomic_int num;
	atomic_bool over;
	int rounds;
	bool failed;
};

/* Takes an event of each of @num EPs. */
static bool take_all(DAT_EVD_HANDLE evd, int num)
{
	bool seen[PEERS] = {};
	DAT_EVENT event;
	int i;

	for (i = 0; i < num; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA *d =
			&event.event_data.dto_completion_event_data;

		if (wait_event(evd, &event) || d->status != DAT_DTO_SUCCESS ||
		    d->user_cookie.as_64 >= (DAT_UINT64)num || seen[d->user_cookie.as_64])
			return false;
		seen[d->user_cookie.as_64] = true;
	}
	return true;
}

static bool carry(struct server *server, int num)
{
	int i;

	for (i = 0; i < num; i++)
		if (post_recv(server->ep[i], server->a, 0, 64, i))
			return false;
	for (i = 0; i < num; i++)
		if (post_send(server->client[i], server->b, 0, 8, i))
			return false;
	return take_all(server->client_evd, num) && take_all(server->evd, num);
}

static void *traffic(void *arg)
{
	struct server *server = arg;
	bool last;

	do {
		last = server->over;
		server->failed = !carry(server, server->num);
		server->rounds++;
	} while (!last && !server->failed);
	return NULL;
}

static DAT_RETURN next_client(struct server *server)
{
	struct pair link = *server->pair;
	int i = server->num;
	DAT_RETURN ret;

	/* As transports of MPI do it: room for what the next peer can add */
	ret = dat_evd_resize(server->evd, QLEN + i) ?:
	      dat_evd_resize(server->client_evd, QLEN + i) ?:
	      ep_on(&link, &link.a, server->evd, &link.a.ep) ?:
	      ep_on(&link, &link.b, server->client_evd, &link.b.ep) ?:
	      pair_connect(&link);
	if (ret)
		return ret;
	server->ep[i] = link.a.ep;
	server->client[i] = link.b.ep;
	server->num++;
	return DAT_SUCCESS;
}

TEST_F(evd_cqs, peers_come_one_by_one_under_traffic)
{
	struct server *server = calloc(1, sizeof(*server));
	DAT_RETURN ret = DAT_SUCCESS;
	pthread_t thread;
	int i;

	ASSERT_NE(NULL, server);
	server->pair = &self->pair;
	server->a = &self->a;
	server->b = &self->b;
	ASSERT_DAT(new_evd(&self->pair, &server->evd));
	ASSERT_DAT(new_evd(&self->pair, &server->client_evd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, traffic, server));
	for (i = 0; i < PEERS && !ret; i++)
		ret = next_client(server);
	server->over = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_DAT(ret);
	EXPECT_EQ(PEERS, server->num);
	EXPECT_FALSE(server->failed);
	/* More than the last round */
	EXPECT_LT(1, server->rounds);
	for (i = 0; i < server->num; i++) {
		EXPECT_DAT(dat_ep_free(server->ep[i]));
		EXPECT_DAT(dat_ep_free(server->client[i]));
	}
	EXPECT_DAT(dat_evd_free(server->evd));
	EXPECT_DAT(dat_evd_free(server->client_evd));
	free(server);
}

/* The length of an EVD that EPs feed, with events queued in it */
TEST_F(evd_cqs, resize_while_eps_feed_it)
{
	static const DAT_COUNT sizes[] = { 64, 40, 4096, 33, 100000, QUEUED };
	struct pair link, *pair = &self->pair;
	DAT_EP_HANDLE more[6];
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	size_t i;
	int j;

	ASSERT_DAT(new_evd(pair, &evd));
	link = *pair;
	for (i = 0; i < ARRAY_LEN(more); i++)
		ASSERT_DAT(ep_on(pair, &pair->a, evd, &more[i]));
	ASSERT_DAT(dat_evd_resize(evd, QUEUED));
	link.a.ep = more[5];
	ASSERT_DAT(pair_connect(&link));
	for (j = 0; j < QUEUED; j++)
		ASSERT_DAT(post_recv(link.a.ep, &self->a, 0, 64, j));
	for (j = 0; j < QUEUED; j++) {
		ASSERT_DAT(post_send(link.b.ep, &self->b, 0, 8, j));
		ASSERT_EQ(0, wait_dto(pair->b.dto_evd, j));
	}
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		ASSERT_DAT(dat_evd_resize(evd, sizes[i]));
		ASSERT_DAT(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
		EXPECT_EQ(sizes[i], param.evd_qlen);
	}
	for (j = 0; j < QUEUED; j++)
		EXPECT_EQ(0, wait_dto(evd, j));
	for (i = 0; i < ARRAY_LEN(more); i++)
		ASSERT_DAT(dat_ep_free(more[i]));
	EXPECT_DAT(dat_evd_free(evd));
}

TEST_HARNESS_MAIN

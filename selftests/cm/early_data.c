// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * early_data.c - a passive side that ends as soon as data has arrived
 *
 * The first Send of the active side often overtakes the last message of the set-up. Threads
 * keep the connection manager busy, so that this message is late.
 */
#include <pthread.h>
#include <time.h>

#include "harness.h"

#include "pair.h"

#define NUM_THREADS	6
#define SECONDS		15
/* The connection manager gives up on a lost message after 69 seconds. */
#define MAX_MS		10000

enum end {
	END_FREE,
	END_DISCONNECT,
};

struct churn {
	enum end end;
	time_t until;
	unsigned int rounds;
	long slowest_ms;
	DAT_RETURN ret;
};

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Side a connects and sends, side b ends when it has the message. */
static DAT_RETURN run_round(struct pair *p, struct region *a, struct region *b,
			    struct churn *churn)
{
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;
	long begin;

	ret = post_recv(p->b.ep, b, 0, 64, 1) ?: connect_to(p, p->a.ep, p->qual) ?:
	      next_cr(p, &cr) ?: dat_cr_accept(cr, p->b.ep, 0, NULL) ?:
	      wait_number(p->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED) ?:
	      post_send(p->a.ep, a, 0, 64, 2);
	if (ret)
		return ret;
	if (wait_dto(p->b.dto_evd, 1))
		return DAT_ABORT;

	begin = now_ms();
	if (churn->end == END_DISCONNECT)
		ret = dat_ep_disconnect(p->b.ep, DAT_CLOSE_ABRUPT_FLAG);
	dat_ep_free(p->b.ep);
	if (churn->slowest_ms < now_ms() - begin)
		churn->slowest_ms = now_ms() - begin;
	return ret;
}

/* A pair for each round: nothing of the round before is in its EVDs. */
static void *churn_thread(void *arg)
{
	struct churn *churn = arg;
	struct region a, b;
	struct pair p;

	while (!churn->ret && time(NULL) < churn->until) {
		churn->ret = pair_open(&p);
		if (churn->ret)
			break;
		churn->ret = regions_open(&p, &a, &b, 4096, DAT_MEM_PRIV_ALL_FLAG);
		if (!churn->ret) {
			churn->ret = run_round(&p, &a, &b, churn);
			region_close(&a);
			region_close(&b);
		}
		pair_close(&p);
		churn->rounds++;
	}
	return NULL;
}

static void churn_all(struct __test_metadata *_metadata, enum end end)
{
	struct churn churns[NUM_THREADS] = { };
	pthread_t ids[NUM_THREADS];
	unsigned int rounds = 0, i;
	long slowest_ms = 0;

	for (i = 0; i < NUM_THREADS; i++) {
		churns[i].end = end;
		churns[i].until = time(NULL) + SECONDS;
		ASSERT_EQ(0, pthread_create(&ids[i], NULL, churn_thread, &churns[i]));
	}
	for (i = 0; i < NUM_THREADS; i++) {
		pthread_join(ids[i], NULL);
		EXPECT_DAT(churns[i].ret);
		rounds += churns[i].rounds;
		if (slowest_ms < churns[i].slowest_ms)
			slowest_ms = churns[i].slowest_ms;
	}
	TH_LOG("%u rounds, the slowest end took %ld ms", rounds, slowest_ms);
	EXPECT_LE(NUM_THREADS, rounds);
	EXPECT_GT(MAX_MS, slowest_ms);
}

TEST(free_when_data_has_arrived)
{
	churn_all(_metadata, END_FREE);
}

TEST(disconnect_when_data_has_arrived)
{
	churn_all(_metadata, END_DISCONNECT);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * unplug_load.c - a device is removed under load, again and again
 *
 * With KDAPL_THOROUGH=1 there are many more rounds. KDAPL_SEED repeats a run.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "link.h"
#include "pair.h"
#include "process.h"

#define REGION		65536
/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		600

struct load {
	struct pair *pair;
	struct side *side;
	struct region *from;
	struct region *to;
	DAT_RMR_HANDLE rmr;
	unsigned int posted;
	unsigned int completed;
	unsigned int succeeded;
	DAT_RETURN ret;
	int status;
	bool stop;
};

static bool load_completed(struct load *l)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int status;

	if (dat_evd_wait(l->side->dto_evd, PAIR_TIMEOUT, 1, &event, &nmore))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	status = dto->status;
	if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		status = event.event_data.rmr_completion_event_data.status;
	l->completed++;
	if (!status)
		__atomic_add_fetch(&l->succeeded, 1, __ATOMIC_RELAXED);
	else if (!l->status)
		l->status = status;
	return true;
}

/* Writes, reads and binds until a call says that it is over. */
static void *load_main(void *arg)
{
	struct load *l = arg;
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret = 0;

	while (!ret && !__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
		unsigned int n = l->posted;

		if (n % 4 == 3)
			ret = bind_window(l->rmr, l->from, n % 999, 4096,
					  DAT_MEM_PRIV_REMOTE_READ_FLAG,
					  l->side->ep, n,
					  DAT_COMPLETION_DEFAULT_FLAG,
					  &context);
		else
			ret = (n & 1 ? post_read : post_write)
				(l->side->ep, l->from, 0, 8192,
				 l->to->rmr_context, l->to->buf, n);
		if (!ret)
			l->posted++;
		while (l->posted - l->completed > 8 && load_completed(l))
			;
	}
	l->ret = ret;
	/* Every posted request completes. */
	while (l->posted != l->completed && load_completed(l))
		;
	return NULL;
}

/* A new device takes a moment until connections find their way to it. */
static bool connected_again(struct pair *pair)
{
	int tries;

	if (!link_is_there() && link_add())
		return false;
	for (tries = 0; tries < 10; tries++) {
		if (!pair_open(pair) && !pair_connect(pair))
			return true;
		pair_close(pair);
		usleep(100000);
	}
	return false;
}

FIXTURE(unplugged)
{
	struct pair pair;
	struct region a, b;
	struct load load[2];
};

FIXTURE_SETUP(unplugged)
{
	if (!link_is_there())
		SKIP(return, "not a software device, which could be taken away");
}

FIXTURE_TEARDOWN(unplugged)
{
	pair_close(&self->pair);
	EXPECT_TRUE(connected_again(&self->pair));
	pair_close(&self->pair);
}

TEST_F_TIMEOUT(unplugged, unplug_under_load_repeatedly, LIMIT)
{
	struct pair *p = &self->pair;
	unsigned int seeded = random_seed();
	int count = rounds(3, 50), round, i;
	unsigned int completed = 0;
	long long pinned = pinned_pages();
	time_t begun = time(NULL);
	pthread_t thread[2];
	DAT_EVENT event;

	for (round = 0; round < count; round++) {
		bool close_first = random_below(2);

		ASSERT_TRUE(connected_again(p)) {
			TH_LOG("seed %u, round %d", seeded, round);
		}
		ASSERT_DAT(regions_open(p, &self->a, &self->b, REGION,
					DAT_MEM_PRIV_ALL_FLAG));
		for (i = 0; i < 2; i++) {
			struct load *l = &self->load[i];

			*l = (struct load){
				.pair = p,
				.side = i ? &p->b : &p->a,
				.from = i ? &self->b : &self->a,
				.to = i ? &self->a : &self->b,
			};
			ASSERT_DAT(dat_rmr_create(l->side->pz, &l->rmr));
			ASSERT_EQ(0, pthread_create(&thread[i], NULL,
						    load_main, l));
		}
		for (i = 0; i < 60000; i++) {
			if (__atomic_load_n(&self->load[0].succeeded,
					    __ATOMIC_RELAXED) > 8)
				break;
			usleep(1000);
		}
		ASSERT_GT(60000, i) {
			TH_LOG("seed %u, round %d: %s and status %d on one side",
			       seeded, round, dat_str(self->load[0].ret),
			       self->load[0].status);
			TH_LOG("%s and status %d on the other",
			       dat_str(self->load[1].ret),
			       self->load[1].status);
		}
		usleep(random_below(20000));
		ASSERT_EQ(0, link_delete());
		for (i = 0; i < 2; i++) {
			__atomic_store_n(&self->load[i].stop, true,
					 __ATOMIC_RELAXED);
			pthread_join(thread[i], NULL);
			/* Each that was posted, once. */
			EXPECT_EQ(self->load[i].posted,
				  self->load[i].completed) {
				TH_LOG("seed %u, round %d, side %d", seeded,
				       round, i);
			}
			completed += self->load[i].completed;
			EXPECT_DAT(wait_event(i ? p->b.conn_evd : p->a.conn_evd,
					      &event));
			EXPECT_EQ(DAT_EP_STATE_DISCONNECTED,
				  ep_state(self->load[i].side->ep));
		}
		EXPECT_DAT(wait_for(p->async_evd,
				    DAT_ASYNC_ERROR_IA_CATASTROPHIC, &event));
		/* The new one may come while there are remains of the old. */
		if (!close_first)
			ASSERT_EQ(0, link_add());
		pair_close(p);
		munmap(self->a.buf, REGION);
		munmap(self->b.buf, REGION);
	}
	TH_LOG("seed %u: deleted %d times, %u completions, %ld s", seeded,
	       count, completed, time(NULL) - begun);
	EXPECT_EQ(pinned, pinned_pages());
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lockless.c - checks that withdrawing an EVD waits for its readers
 */
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "../lockless.c"

/* Time in microseconds after which an event counts as not happening */
#define SILENCE	(100 * 1000)

/* Two EVDs of the same bucket */
static struct dat_dev_ring rings[2];
static struct libdat_evd evds[2];
static atomic_bool is_hidden;

static void *hide(void *arg)
{
	libdat_lockless_withdraw(arg);
	atomic_store(&is_hidden, true);
	return NULL;
}

/* A reader is in the slot while another thread withdraws @evd. */
static void check_wait(struct libdat_evd *evd)
{
	struct slot *slot = &slots[libdat_bucket_of(evd->object.handle)];
	pthread_t thread;

	atomic_store(&is_hidden, false);
	atomic_fetch_add(&slot->readers, 1);
	CHECK(!pthread_create(&thread, NULL, hide, evd));
	usleep(SILENCE);
	CHECK(!atomic_load(&is_hidden));
	/* New readers neither find the EVD nor prolong the wait. */
	CHECK(!atomic_load(&slot->evd));
	atomic_fetch_sub(&slot->readers, 1);
	pthread_join(thread, NULL);
	CHECK(atomic_load(&is_hidden));
}

int main(void)
{
	__u32 first = 1, second = 2;

	while (libdat_bucket_of(second) != libdat_bucket_of(first))
		second++;
	evds[0].object.handle = first;
	evds[0].ring = &rings[0];
	evds[1].object.handle = second;
	evds[1].ring = &rings[1];

	CHECK(!libdat_lockless_is_empty(first));
	libdat_lockless_publish(&evds[0]);
	CHECK(libdat_lockless_is_empty(first));
	CHECK(!libdat_lockless_is_empty(second));
	rings[0].tail = 1;
	CHECK(!libdat_lockless_is_empty(first));
	rings[0].tail = 0;
	evds[0].pull = true;
	CHECK(!libdat_lockless_is_empty(first));
	evds[0].pull = false;
	check_wait(&evds[0]);
	CHECK(!libdat_lockless_is_empty(first));

	/* A reader of the first may still run when the second is published. */
	libdat_lockless_publish(&evds[0]);
	libdat_lockless_publish(&evds[1]);
	CHECK(!libdat_lockless_is_empty(first));
	check_wait(&evds[0]);
	CHECK(libdat_lockless_is_empty(second));
	check_wait(&evds[1]);
	return 0;
}

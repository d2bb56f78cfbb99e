// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * hostile_flood.c - a peer requests more connections than the backlog holds
 *
 * With KDAPL_THOROUGH=1 there are 10,000 requests, but 1000 with sanitizers.
 */
#include "harness.h"
#include <stdio.h>

#include "counts.h"
#include "host.h"
#include "link.h"
#include "process.h"

static int num_requests(void)
{
	/* With sanitizers a request takes a tenth of a second. */
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		return rounds(200, 1000);
	return rounds(1000, 10000);
}

FIXTURE(hostile_flood)
{
	struct host host;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_COUNT backlog;
	struct sockaddr_in flooded;
};

FIXTURE_VARIANT(hostile_flood)
{
	DAT_PSP_FLAGS flags;
};

FIXTURE_VARIANT_ADD(hostile_flood, consumer)
{
	.flags = DAT_PSP_CONSUMER_FLAG,
};

/* The service point creates an EP for each request in the backlog. */
FIXTURE_VARIANT_ADD(hostile_flood, provider)
{
	.flags = DAT_PSP_PROVIDER_FLAG,
};

FIXTURE_SETUP(hostile_flood)
{
	struct host *host = &self->host;
	DAT_EVD_PARAM param;
	DAT_CONN_QUAL qual;

	ASSERT_DAT(host_open(host));
	ASSERT_DAT(dat_evd_create(host->pair.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &self->evd));
	ASSERT_DAT(dat_evd_query(self->evd, DAT_EVD_FIELD_ALL, &param));
	self->backlog = param.evd_qlen;
	ASSERT_LT(self->backlog, GOOD);
	ASSERT_DAT(dat_psp_create_any(host->pair.ia, &qual, self->evd, variant->flags,
				      &self->psp));
	self->flooded = host->address;
	self->flooded.sin_port = htons(qual);
}

FIXTURE_TEARDOWN(hostile_flood)
{
	EXPECT_TRUE(host_unharmed(&self->host));
	host_close(&self->host);
}

/* Returns when all requests but for those of the backlog have been rejected. */
static bool flood(FIXTURE_DATA(hostile_flood) *self, unsigned int num)
{
	struct raw_order order = {
		.op = RAW_FLOOD,
		.to = self->flooded,
		.count = num,
		.depth = self->backlog,
		.data_len = 16,
		.data = "let me in",
	};
	struct raw_answer answer;

	return raw_do(&self->host, &order, &answer) && answer.count == num - self->backlog;
}

/* Connects to the service point that was flooded. */
static DAT_RETURN connect_after_flood(FIXTURE_DATA(hostile_flood) *self)
{
	struct host *host = &self->host;
	struct sockaddr_in address = host->address;
	DAT_EVD_HANDLE evd = host->pair.cr_evd;
	DAT_RETURN ret;

	host->address = self->flooded;
	host->pair.cr_evd = self->evd;
	ret = victim_connect(host, 0);
	host->address = address;
	host->pair.cr_evd = evd;
	return ret;
}

static DAT_RETURN next_request(FIXTURE_DATA(hostile_flood) *self, DAT_CR_HANDLE *cr)
{
	return next_cr(&(struct pair){ .cr_evd = self->evd }, cr);
}

#define NUM_COUNTS	7
/* Only a host that leaks waits so long, in seconds. */
#define HANG		300

static bool count_all(int *counts)
{
	char text[512];

	stock_take(text, sizeof(text));
	return sscanf(text, "%d pages, %d references; %*d: %*s pd %d cq %d qp %d cm_id %d mr %d",
		      &counts[0], &counts[1], &counts[2], &counts[3], &counts[4], &counts[5],
		      &counts[6]) == NUM_COUNTS;
}

/*
 * Waits until no pages, references or objects of the device are left, and nothing is charged
 * for them. Fewer may remain: a PZ destroys its QP after 10 s without registrations. A
 * connection that has ended may keep its objects for 30 s.
 */
static bool wait_none_left(const int *before, long long charged)
{
	static const char * const names[] = {
		"pages", "references", "PDs", "CQs", "QPs", "ids", "MRs",
	};
	int i, tries, now[NUM_COUNTS];

	for (tries = 0; tries < HANG * 10; tries++) {
		if (!count_all(now))
			return false;
		for (i = 0; i < NUM_COUNTS && now[i] <= before[i]; i++)
			;
		if (i == NUM_COUNTS && charged_bytes(getpid()) <= charged)
			return true;
		usleep(100000);
	}
	for (i = 0; i < NUM_COUNTS; i++)
		fprintf(stderr, "# %s: %d, before: %d\n", names[i], now[i], before[i]);
	fprintf(stderr, "# bytes: %lld, before: %lld\n", charged_bytes(getpid()), charged);
	return false;
}

TEST_F_TIMEOUT(hostile_flood, requests_beyond_backlog, 1800)
{
	struct host *host = &self->host;
	int before[NUM_COUNTS];
	long long charged;
	DAT_CR_HANDLE cr;
	DAT_COUNT i;

	if (link_is_iwarp())
		SKIP(return, "a request of raw fails with EOPNOTSUPP on siw");
	/* The EVDs of a connection remain when it has ended. */
	ASSERT_DAT(victim_connect(host, 0));
	ASSERT_TRUE(victim_close(host, 0));
	charged = settled_charge();
	ASSERT_TRUE(count_all(before));
	ASSERT_TRUE(flood(self, num_requests()));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(host->victims[GOOD].ep));
	EXPECT_GT(charged_bytes(getpid()), charged);

	/* The backlog has the first requests, and none of the rejected ones. */
	for (i = 0; i < self->backlog; i++) {
		DAT_CR_PARAM param;

		ASSERT_DAT(next_request(self, &cr));
		EXPECT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		EXPECT_STREQ("let me in", param.private_data);
		EXPECT_DAT(dat_cr_reject(cr));
	}
	EXPECT_TRUE(is_empty(self->evd));
	if (variant->flags == DAT_PSP_CONSUMER_FLAG) {
		ASSERT_DAT(connect_after_flood(self));
		EXPECT_TRUE(victim_close(host, 0));
	}
	ASSERT_DAT(raw_restart(host));
	EXPECT_TRUE(wait_none_left(before, charged));
}

/* The requests of the backlog are those of a dead peer by the time the host accepts them. */
TEST_F(hostile_flood, backlog_of_the_dead)
{
	struct host *host = &self->host;
	DAT_CR_HANDLE cr;
	DAT_COUNT i;

	if (variant->flags == DAT_PSP_PROVIDER_FLAG)
		SKIP(return, "the same as with EPs of the consumer");
	ASSERT_TRUE(flood(self, self->backlog + 1));
	ASSERT_DAT(raw_restart(host));
	for (i = 0; i < self->backlog; i++) {
		ASSERT_DAT(next_request(self, &cr));
		ASSERT_DAT(victim_open(host, i));
		ASSERT_DAT(dat_cr_accept(cr, host->victims[i].ep, 0, NULL));
		EXPECT_TRUE(victim_accept_failed(host, i));
	}
	for (i = 0; i < self->backlog; i++)
		EXPECT_DAT(dat_ep_free(host->victims[i].ep));
	ASSERT_DAT(connect_after_flood(self));
	EXPECT_TRUE(victim_close(host, 0));
}

TEST_HARNESS_MAIN

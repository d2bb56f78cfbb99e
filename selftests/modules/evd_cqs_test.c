// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_cqs_test.c - an EVD that is fed by several CQs
 *
 * The first EP of an EVD gets a CQ of its size, and each further CQ has twice as many entries; a
 * device may round them up. So the EPs 0, 2, 6 and 14 of an EVD have CQs of their own.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "kevd.h"
#include "kpair.h"
#include "report.h"

#define MANY		400
#define MORE		4096
#define QLEN		8
/* The default of dat_ep_create() */
#define DTOS		64
#define SIZE		64

static struct kpair pair;
static struct kregion a, b;

static DAT_RETURN ep_on(DAT_EVD_HANDLE evd, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(pair.ia, pair.a.pz, evd, evd, pair.a.conn_evd, NULL,
			     ep);
}

static bool eps_on(DAT_EVD_HANDLE evd, DAT_EP_HANDLE *eps, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		CHECK_EQ(DAT_SUCCESS, ep_on(evd, &eps[i]));
	return true;
}

static bool open_evd(DAT_COUNT qlen, DAT_UPCALL_FUNC func, DAT_EVD_HANDLE *evd)
{
	CHECK(kpair_reopen(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, kevd_make(&pair, qlen, func, DAT_EVD_DTO_FLAG, evd));
	return true;
}

/* Connects @ep to a new EP of side b. */
static bool connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE *peer)
{
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, pair.b.pz, pair.b.dto_evd, pair.b.dto_evd,
					    pair.b.conn_evd, NULL, peer));
	return kpair_connect_eps(&pair, ep, *peer);
}

static bool close_evd(void)
{
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return true;
}

/* Lets the peer send @num messages, and waits until all of them are in the CQ of @ep. */
static bool receive(DAT_EP_HANDLE ep, DAT_EP_HANDLE peer, u64 cookie, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &a, 0, SIZE, cookie + i));
	for (i = 0; i < num; i++) {
		CHECK_EQ(DAT_SUCCESS, kpost_send(peer, &b, 0, 8, i));
		/* The device acknowledges a message that has completed. */
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, i));
	}
	return true;
}

static bool takes_receive(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, u64 cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;

	CHECK(kwait_event(evd, &event));
	d = &event.event_data.dto_completion_event_data;
	CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	CHECK_EQ((uintptr_t)ep, (uintptr_t)d->ep_handle);
	CHECK_EQ(cookie, d->user_cookie.as_64);
	CHECK_EQ(DAT_DTO_SUCCESS, d->status);
	return true;
}

static bool use_many(DAT_EVD_HANDLE evd, DAT_EP_HANDLE *eps)
{
	static const unsigned int used[] = { 0, 1, MANY / 2, MANY - 1 };
	DAT_EP_HANDLE peer;
	unsigned int i;

	CHECK(eps_on(evd, eps, MANY));
	for (i = 0; i < ARRAY_SIZE(used); i++) {
		CHECK(connect(eps[used[i]], &peer));
		CHECK(receive(eps[used[i]], peer, i, 1));
		CHECK(takes_receive(evd, eps[used[i]], i));
	}
	for (i = 0; i < MANY; i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[i]));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	return true;
}

static bool use_more(DAT_EVD_HANDLE evd, DAT_EP_HANDLE *eps)
{
	const DAT_EP_ATTR attr = { .max_recv_dtos = 1, .max_request_dtos = 1 };
	DAT_EP_HANDLE peer;
	unsigned int i;

	for (i = 0; i < MORE; i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, pair.a.pz, evd, evd,
						    pair.a.conn_evd, &attr, &eps[i]));
	CHECK(connect(eps[MORE - 1], &peer));
	CHECK(receive(eps[MORE - 1], peer, 1, 1));
	CHECK(takes_receive(evd, eps[MORE - 1], 1));
	for (i = 0; i < MORE; i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[i]));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	return true;
}

/* Calls @use with an EVD of QLEN events, and with memory for @num EPs. */
static bool on_short_evd(unsigned int num, bool (*use)(DAT_EVD_HANDLE evd, DAT_EP_HANDLE *eps))
{
	DAT_EP_HANDLE *eps = kcalloc(num, sizeof(*eps), GFP_KERNEL);
	DAT_EVD_HANDLE evd;
	bool ok;

	CHECK(eps);
	ok = open_evd(QLEN, NULL, &evd) && use(evd, eps);
	kfree(eps);
	return close_evd() && ok;
}

/* The length of an EVD limits what is left unread, not the EPs. */
static bool many_eps_on_short_evd(void)
{
	return on_short_evd(MANY, use_many);
}

/* No limit of ours */
static bool thousands_of_eps_on_short_evd(void)
{
	return on_short_evd(MORE, use_more);
}

/*
 * The first EP fills its CQ, then one message arrives for an EP of each other CQ. It must not
 * wait until the first CQ is empty.
 */
static bool no_cq_starves(void)
{
	DAT_EP_HANDLE eps[7], peers[3];
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	unsigned int i, last = 0;

	CHECK(open_evd(QLEN, NULL, &evd));
	CHECK(eps_on(evd, eps, ARRAY_SIZE(eps)));
	CHECK(connect(eps[0], &peers[0]));
	CHECK(connect(eps[2], &peers[1]));
	CHECK(connect(eps[6], &peers[2]));
	CHECK(receive(eps[0], peers[0], 0, DTOS));
	CHECK(receive(eps[2], peers[1], 1000, 1));
	CHECK(receive(eps[6], peers[2], 1000, 1));
	for (i = 1; i <= DTOS + 2; i++) {
		CHECK(kwait_event(evd, &event));
		if (event.event_data.dto_completion_event_data.user_cookie.as_64 == 1000)
			last = i;
	}
	/* 16 of each CQ at a time */
	CHECK(last <= 16 + 2);
	return close_evd();
}

#define ROUNDS	50

/* Requests and receives of each EP, as the device orders them, with EPs of three CQs. */
static bool order_within_each_ep(void)
{
	u64 next_recv[3] = {}, next_request[3] = {};
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EP_HANDLE eps[7], peers[3];
	static const unsigned int used[] = { 0, 2, 6 };
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	unsigned int i, j;

	CHECK(open_evd(QLEN, NULL, &evd));
	CHECK(eps_on(evd, eps, ARRAY_SIZE(eps)));
	for (i = 0; i < ARRAY_SIZE(used); i++)
		CHECK(connect(eps[used[i]], &peers[i]));
	for (j = 0; j < ROUNDS; j++) {
		for (i = 0; i < ARRAY_SIZE(used); i++) {
			DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
			DAT_RMR_TRIPLET to = {
				(uintptr_t)b.buf, 8, b.rmr_context
			};

			CHECK_EQ(DAT_SUCCESS, kpost_recv(eps[used[i]], &a, 0, SIZE, j));
			CHECK_EQ(DAT_SUCCESS, kpost_send(peers[i], &b, 0, 8, 0));
			CHECK_EQ(DAT_SUCCESS,
				 dat_ep_post_rdma_write(eps[used[i]], 1, &seg,
							(DAT_DTO_COOKIE){ .as_64 = j }, &to,
							DAT_COMPLETION_DEFAULT_FLAG));
		}
	}
	for (j = 0; j < 2 * ROUNDS * ARRAY_SIZE(used); j++) {
		CHECK(kwait_event(evd, &event));
		CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
		d = &event.event_data.dto_completion_event_data;
		CHECK_EQ(DAT_DTO_SUCCESS, d->status);
		for (i = 0; i < ARRAY_SIZE(used) && eps[used[i]] != d->ep_handle; i++)
			;
		CHECK(i < ARRAY_SIZE(used));
		if (d->operation == DAT_DTO_RECEIVE)
			CHECK_EQ(next_recv[i]++, d->user_cookie.as_64);
		else
			CHECK_EQ(next_request[i]++, d->user_cookie.as_64);
	}
	return close_evd();
}

static atomic_t upcalls;

static void count(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	atomic_inc(&upcalls);
}

/* Waits until as many upcalls have run. */
static bool reach(int num)
{
	unsigned int tries;

	for (tries = 0; tries < 10000 && atomic_read(&upcalls) < num; tries++)
		usleep_range(1000, 2000);
	CHECK_EQ(num, atomic_read(&upcalls));
	return true;
}

/* Each CQ is armed again: also one that was empty, and one that comes while others work. */
static bool upcalls_of_every_cq(void)
{
	DAT_EP_HANDLE eps[15], peers[4];
	static const unsigned int used[] = { 0, 2, 6, 14 };
	DAT_EVD_HANDLE evd;
	unsigned int i, j, num = 0;

	CHECK(open_evd(QLEN, count, &evd));
	atomic_set(&upcalls, 0);
	for (i = 0; i < ARRAY_SIZE(eps); i++) {
		CHECK_EQ(DAT_SUCCESS, ep_on(evd, &eps[i]));
		for (j = 0; j < ARRAY_SIZE(used) && used[j] <= i; j++) {
			if (used[j] == i)
				CHECK(connect(eps[i], &peers[j]));
			CHECK(receive(eps[used[j]], peers[j], 0, 1));
			num++;
			/* One after the other: each upcall needs an interrupt. */
			CHECK(reach(num));
		}
	}
	return close_evd();
}

/* Upcalls work on after the first CQ, and after the last, has ended. */
static bool cqs_end_with_their_eps(void)
{
	DAT_EP_HANDLE eps[7], peer;
	DAT_EVD_HANDLE evd;
	unsigned int i;

	CHECK(open_evd(QLEN, count, &evd));
	atomic_set(&upcalls, 0);
	CHECK(eps_on(evd, eps, ARRAY_SIZE(eps)));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[0]));
	for (i = 3; i < 7; i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[i]));
	CHECK(connect(eps[1], &peer));
	CHECK(receive(eps[1], peer, 0, 1));
	CHECK(reach(1));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[1]));
	CHECK(kwait_any_end(pair.b.conn_evd));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[2]));
	CHECK_EQ(DAT_SUCCESS, ep_on(evd, &eps[0]));
	CHECK(connect(eps[0], &peer));
	CHECK(receive(eps[0], peer, 0, 1));
	CHECK(reach(2));
	return close_evd();
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(many_eps_on_short_evd),
	TEST(thousands_of_eps_on_short_evd),
	TEST(no_cq_starves),
	TEST(order_within_each_ep),
	TEST(upcalls_of_every_cq),
	TEST(cqs_end_with_their_eps),
};

static int __init evd_cqs_test_init(void)
{
	int ret = report_open("kdapl_evd_cqs_test");

	if (ret)
		return ret;
	report_run("kdapl_evd_cqs_test", tests, ARRAY_SIZE(tests));
	/* Close the pair that a failed test has left open. */
	kpair_close(&pair);
	return 0;
}

static void __exit evd_cqs_test_exit(void)
{
	report_close();
}

module_init(evd_cqs_test_init);
module_exit(evd_cqs_test_exit);
MODULE_DESCRIPTION("Tests of EVDs that several CQs feed");
MODULE_LICENSE("Dual BSD/GPL");

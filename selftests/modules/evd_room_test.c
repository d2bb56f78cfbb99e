// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_room_test.c - the CQs of an EVD have room for all outstanding requests of its EPs;
 * dat_ep_create() rejects an EP that is larger than any CQ
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "kevd.h"
#include "kpair.h"
#include "report.h"

#define NO_ROOM \
	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD)

#define DTOS	1500

static const DAT_EP_ATTR large = {
	.max_recv_dtos = DTOS,
	.max_request_dtos = DTOS,
};

static struct kpair pair;
static struct kregion a;

/* Creates an EP of side b with an EVD of its own. */
static bool open_peer(DAT_EP_HANDLE *ep)
{
	DAT_EVD_HANDLE evd;

	CHECK_EQ(DAT_SUCCESS, kevd_make(&pair, 64, NULL, DAT_EVD_DTO_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(pair.ia, pair.b.pz, evd, evd, pair.b.conn_evd,
			       NULL, ep));
	return true;
}

/* Connects @ep to an EP of side b and fills its receive queue. */
static bool connect_and_fill(DAT_EP_HANDLE ep)
{
	static DAT_IA_ATTR attr;
	DAT_EP_HANDLE peer;
	DAT_EVENT event;
	unsigned int i;

	CHECK(open_peer(&peer));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			      0, NULL));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_connect(ep, attr.ia_address_ptr, KPAIR_QUAL,
				DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	CHECK(kwait_event(pair.cr_evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       peer, 0, NULL));
	CHECK(kwait_number(pair.a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	CHECK(kwait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	for (i = 0; i < DTOS; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &a, 0, 64, i));
	return true;
}

/* Posts Sends on @eps, whose connections have ended: the Sends are flushed. */
static bool post_sends(const DAT_EP_HANDLE *eps, unsigned int num)
{
	unsigned int i, j;

	for (i = 0; i < num; i++)
		for (j = 0; j < DTOS; j++)
			CHECK_EQ(DAT_SUCCESS, kpost_send(eps[i], &a, 0, 64, j));
	return true;
}

#define EPS	6

/*
 * The test dequeues nothing until all has completed. A CQ that is too small overruns:
 * completions are lost, and the QPs fail.
 */
static bool disconnect_all_no_cq_overrun(void)
{
	unsigned int i, flushed = 0;
	DAT_EP_HANDLE eps[EPS];
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	CHECK(kpair_reopen(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, kevd_make(&pair, 1, NULL, DAT_EVD_DTO_FLAG, &evd));
	for (i = 0; i < EPS; i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_create(pair.ia, pair.a.pz, evd, evd, pair.a.conn_evd, &large,
				       &eps[i]));
	for (i = 0; i < EPS; i++)
		CHECK(connect_and_fill(eps[i]));
	for (i = 0; i < EPS; i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_disconnect(eps[i], DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < EPS; i++)
		CHECK(kwait_number(pair.a.conn_evd,
				   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(post_sends(eps, EPS));
	for (; flushed < 2 * EPS * DTOS; flushed++) {
		CHECK(kwait_event(evd, &event));
		CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	}
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(pair.async_evd, &event));
	kpair_close(&pair);
	kregion_close(&a);
	return true;
}

/* Each queue has a CQ of its own if it has an EVD of its own, and then it fits. */
static bool ep_create_larger_than_any_cq(void)
{
	DAT_EP_ATTR attr = {};
	static DAT_IA_ATTR ia_attr;
	DAT_EVD_HANDLE evd, other;
	struct ib_device *ibdev;
	DAT_EP_HANDLE ep;
	int max_cqe;

	CHECK(kpair_reopen(&pair));
	ibdev = kpair_ibdev();
	CHECK(ibdev);
	max_cqe = ibdev->attrs.max_cqe;
	ib_device_put(ibdev);
	CHECK_EQ(DAT_SUCCESS, kevd_make(&pair, 1, NULL, DAT_EVD_DTO_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, kevd_make(&pair, 1, NULL, DAT_EVD_DTO_FLAG, &other));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0, NULL));
	attr.max_recv_dtos = ia_attr.max_dto_per_ep;
	attr.max_request_dtos = attr.max_recv_dtos;
	if (attr.max_recv_dtos <= max_cqe / 2)
		goto close;
	CHECK_EQ(NO_ROOM, dat_ep_create(pair.ia, pair.a.pz, evd, evd, pair.a.conn_evd, &attr,
					&ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, pair.a.pz, evd, other, pair.a.conn_evd,
					    &attr, &ep));
close:
	kpair_close(&pair);
	return true;
}

/* An EVD with the queue length of its EPs has room for all of them. */
static bool evd_qlen_fits_its_eps(void)
{
	const DAT_EP_ATTR attr = { .max_recv_dtos = 100, .max_request_dtos = 100 };
	DAT_EP_HANDLE eps[32];
	DAT_EVD_HANDLE evd;
	unsigned int i;

	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 200 * ARRAY_SIZE(eps), NULL, DAT_EVD_DTO_FLAG,
			   &evd));
	for (i = 0; i < ARRAY_SIZE(eps); i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_create(pair.ia, pair.a.pz, evd, evd,
				       pair.a.conn_evd, &attr, &eps[i]));
	kpair_close(&pair);
	return true;
}

static struct {
	DAT_EVD_HANDLE evd;
	struct completion done;
	bool over;
	DAT_RETURN ret;
} busy;

static int resizer(void *unused)
{
	unsigned int i;

	for (i = 0; !READ_ONCE(busy.over) && !busy.ret; i++)
		busy.ret = dat_evd_resize(busy.evd, i & 1 ? 4000 : 1);
	complete(&busy.done);
	return 0;
}

/* The CQ may be replaced while its size is read. */
static bool ep_create_during_cq_resize(void)
{
	struct task_struct *task;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int i;

	CHECK(kpair_reopen(&pair));
	busy.over = false;
	busy.ret = DAT_SUCCESS;
	init_completion(&busy.done);
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 1, NULL, DAT_EVD_DTO_FLAG, &busy.evd));
	task = kthread_run(resizer, NULL, "kdapl_resizer");
	CHECK(!IS_ERR(task));
	for (i = 0; i < 100 && !ret; i++) {
		ret = dat_ep_create(pair.ia, pair.a.pz, busy.evd, busy.evd,
				    pair.a.conn_evd, NULL, &ep);
		ret = ret ?: dat_ep_free(ep);
	}
	WRITE_ONCE(busy.over, true);
	wait_for_completion(&busy.done);
	CHECK_EQ(DAT_SUCCESS, ret);
	CHECK_EQ(DAT_SUCCESS, busy.ret);
	kpair_close(&pair);
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(disconnect_all_no_cq_overrun),
	TEST(ep_create_larger_than_any_cq),
	TEST(evd_qlen_fits_its_eps),
	TEST(ep_create_during_cq_resize),
};

static int __init evd_room_test_init(void)
{
	int ret = report_open("kdapl_evd_room_test");

	if (ret)
		return ret;
	report_run("kdapl_evd_room_test", tests, ARRAY_SIZE(tests));
	/* Close the pair that a failed test has left open. */
	kpair_close(&pair);
	return 0;
}

static void __exit evd_room_test_exit(void)
{
	report_close();
}

module_init(evd_room_test_init);
module_exit(evd_room_test_exit);
MODULE_DESCRIPTION("Tests that CQs do not overrun");
MODULE_LICENSE("Dual BSD/GPL");

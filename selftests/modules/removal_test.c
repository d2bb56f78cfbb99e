// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * removal_test.c - every call of an in-kernel consumer after removal of its device
 *
 * rdma(8) removes the software device and adds it again.
 */
#include <linux/kmod.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <dat/dat_ib_extensions.h>

#include "kpair.h"
#include "report.h"

#define SIZE		4096
#define FLAGS		64

static struct kpair pair;
static struct kregion a, b;
static DAT_LMR_HANDLE fmr;
static DAT_RMR_HANDLE rmr;
static DAT_SRQ_HANDLE srq;
static DAT_RSP_HANDLE rsp;
/*
 * A connected pair; an EP of a service point, without PZ and EVDs; another connected EP, in the
 * fifth CQ of its EVD.
 */
static DAT_EP_HANDLE eps[4];
static DAT_EP_HANDLE more_eps[14];
static DAT_LMR_CONTEXT reserved;

static int run(const char *command)
{
	char *argv[4] = { "/bin/sh", "-c", NULL, NULL };
	static char *envp[3] = {
		"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin",
		"LD_LIBRARY_PATH=/usr/local/lib", NULL,
	};
	int ret;

	argv[2] = kstrdup(command, GFP_KERNEL);
	if (!argv[2])
		return -ENOMEM;
	ret = call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
	kfree(argv[2]);
	return ret;
}

static int link_delete(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rdma link delete %s", kpair_ia);
	return run(command);
}

/* The device is named after its driver, with a digit. */
static int link_add(void)
{
	char command[80];

	snprintf(command, sizeof(command),
		 "rdma link add %s type %.3s netdev eth0", kpair_ia, kpair_ia);
	return run(command);
}

static DAT_CONTEXT cookie(u64 value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

/* CQs for 1, 2, 4 and 8 EPs, and one EP more. */
static bool fill_four_cqs(void)
{
	DAT_EP_HANDLE ep;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(more_eps); i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, pair.a.pz, pair.a.dto_evd,
						    pair.a.dto_evd, pair.a.conn_evd, NULL,
						    &more_eps[i]));
	return kpair_connect_more(&pair, &eps[3], &ep);
}

static bool set_up(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16, .max_recv_iov = 1 };
	DAT_LMR_HANDLE all;
	DAT_RSP_PARAM param;

	CHECK(kpair_open(&pair) && kpair_connect(&pair) && fill_four_cqs());
	CHECK(kregion_open(&pair, pair.a.pz, &a, SIZE, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, SIZE, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_allocate(pair.ia, pair.a.pz, 4,
					       DAT_LMR_SCOPE_PZ, &fmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, dat_srq_create(pair.ia, pair.a.pz, &attr, &srq));
	CHECK_EQ(DAT_SUCCESS, dat_ia_reserved_lmr(pair.ia, &all, &reserved));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, KPAIR_QUAL + 77,
					     DAT_HANDLE_NULL, pair.cr_evd,
					     &rsp));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	eps[0] = pair.a.ep;
	eps[1] = pair.b.ep;
	eps[2] = param.ep_handle;
	return true;
}

static void tear_down(void)
{
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
}

#define NUM_POSTS	13

/* Posts request @i on @ep. Every second segment is in the reserved LMR. */
static DAT_RETURN post(DAT_EP_HANDLE ep, unsigned int i,
		       DAT_COMPLETION_FLAGS flags, bool all)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_RMR_TRIPLET remote = { (uintptr_t)b.buf, 8, b.rmr_context };
	DAT_RMR_TRIPLET local = { (uintptr_t)a.buf, 8, a.rmr_context };
	const DAT_REGION_DESCRIPTION memory = { .for_va = a.buf };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT context;

	if (all)
		seg.lmr_context = reserved;
	switch (i) {
	case 0:
		return dat_ep_post_send(ep, 1, &seg, cookie(1), flags);
	case 1:
		return dat_ep_post_send_with_invalidate(ep, 1, &seg, cookie(1),
							flags, DAT_TRUE, 1);
	case 2:
		return dat_ep_post_recv(ep, 1, &seg, cookie(1), flags);
	case 3:
		return dat_ep_post_rdma_write(ep, 1, &seg, cookie(1), &remote,
					      flags);
	case 4:
		return dat_ep_post_rdma_read(ep, 1, &seg, cookie(1), &remote,
					     flags);
	case 5:
		return dat_ep_post_rdma_read_to_rmr(ep, &local, cookie(1),
						    &remote, flags);
	case 6:
		return dat_ib_post_rdma_write_immed(ep, 1, &seg, cookie(1),
						    &remote, 1, flags);
	case 7:
		return dat_ib_post_fetch_and_add(ep, 1, &seg, cookie(1),
						 &remote, flags);
	case 8:
		return dat_ib_post_cmp_and_swap(ep, 1, 2, &seg, cookie(1),
						&remote, flags);
	case 9:
		return dat_rmr_bind(rmr, a.lmr, &seg, KREMOTE_ALL |
				    DAT_IB_MEM_PRIV_REMOTE_ATOMIC,
				    DAT_VA_TYPE_VA, ep, cookie(1), flags,
				    &context);
	case 10:
		return dat_lmr_fmr(fmr, DAT_MEM_TYPE_VIRTUAL, memory, 1,
				   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep,
				   cookie(1), flags, &lmr_context, &context);
	case 11:
		return dat_lmr_invalidate(fmr, ep, cookie(1), flags);
	default:
		return dat_srq_post_recv(srq, 1, &seg, cookie(1));
	}
}

static bool post_after_removal(void)
{
	unsigned int ep, i, flags;

	CHECK(set_up());
	CHECK_EQ(0, link_delete());
	for (ep = 0; ep < ARRAY_SIZE(eps); ep++) {
		for (i = 0; i < NUM_POSTS; i++) {
			for (flags = 0; flags < FLAGS; flags++) {
				CHECK(post(eps[ep], i, flags, false));
				CHECK(post(eps[ep], i, flags, true));
			}
			if (i < 9 || i == 12)
				CHECK_EQ(DAT_INTERNAL_ERROR,
					 DAT_GET_TYPE(post(eps[ep], i, 0,
							   false)));
		}
	}
	CHECK_EQ(0, link_add());
	tear_down();
	return true;
}

static bool free_after_removal(void)
{
	DAT_EP_PARAM ep_param = {};
	DAT_EP_STATE state;
	DAT_EVENT event;
	unsigned int i;

	CHECK(set_up());
	CHECK_EQ(0, link_delete());
	CHECK_EQ(DAT_INTERNAL_ERROR,
		 DAT_GET_TYPE(dat_ep_query(eps[2], DAT_EP_FIELD_ALL,
					   &ep_param)));
	CHECK_EQ(DAT_INTERNAL_ERROR,
		 DAT_GET_TYPE(dat_ep_modify(eps[2], DAT_EP_FIELD_PZ_HANDLE,
					    &ep_param)));
	CHECK_EQ(DAT_INTERNAL_ERROR, DAT_GET_TYPE(dat_ep_reset(eps[0])));
	CHECK_EQ(DAT_INTERNAL_ERROR,
		 DAT_GET_TYPE(dat_ep_disconnect(eps[2],
						DAT_CLOSE_ABRUPT_FLAG)));
	CHECK_EQ(DAT_SUCCESS, dat_ep_get_status(eps[2], &state, NULL, NULL));
	while (!dat_evd_dequeue(pair.a.dto_evd, &event))
		;
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.a.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[3]));
	for (i = 0; i < ARRAY_SIZE(more_eps); i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(more_eps[i]));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(fmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(a.lmr));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(srq));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(pair.a.dto_evd));
	CHECK_EQ(DAT_SUCCESS, dat_pz_free(pair.a.pz));
	a.lmr = DAT_HANDLE_NULL;
	CHECK_EQ(0, link_add());
	tear_down();
	return true;
}

static int keep_posting(void *data)
{
	unsigned int i;

	for (i = 0; !kthread_should_stop(); i++) {
		post(eps[i % ARRAY_SIZE(eps)], i / 3 % NUM_POSTS,
		     i / 3 / NUM_POSTS % FLAGS, i & 1);
		cond_resched();
	}
	return 0;
}

static bool post_during_removal(void)
{
	unsigned int round, rounds = kpair_thorough ? 30 : 5;
	struct task_struct *task;

	for (round = 0; round < rounds; round++) {
		CHECK(set_up());
		task = kthread_run(keep_posting, NULL, "kdapl_posts");
		CHECK(!IS_ERR(task));
		CHECK_EQ(0, link_delete());
		kthread_stop(task);
		CHECK_EQ(0, link_add());
		tear_down();
	}
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(post_after_removal),
	TEST(free_after_removal),
	TEST(post_during_removal),
};

static int __init removal_test_init(void)
{
	int ret = report_open("kdapl_removal_test");

	if (ret)
		return ret;
	report_run("kdapl_removal_test", tests, ARRAY_SIZE(tests));
	/* Close everything that a failed test has left open. */
	tear_down();
	return 0;
}

static void __exit removal_test_exit(void)
{
	report_close();
}

module_init(removal_test_init);
module_exit(removal_test_exit);
MODULE_DESCRIPTION("Tests what can be called when the device has been removed");
MODULE_LICENSE("Dual BSD/GPL");

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sge_test.c - segments of consumers that reach the device
 *
 * The module replaces the device's post calls by functions that check every segment. Some
 * devices take a segment without bytes for 2 GiB, so no such segment may reach the device
 * with a key that a consumer chose.
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_ib_extensions.h>

#include "kpair.h"
#include "report.h"

#define SIZE	4096
#define MAX_IOV	3

static struct kpair pair;
static struct kregion a, b;
static DAT_IA_ATTR ia_attr;
static DAT_SRQ_HANDLE srq;
static struct ib_device *ibdev;
static typeof_member(struct ib_device, ops) ops;

/**
 * struct seen - work requests that the device got
 * @posts: number of work requests
 * @empty: number of segments without bytes that have a key or an address, and of lists
 *	without segments
 * @num_sge: segments of the last work request
 * @lkey: the key of the PD for all memory
 */
struct seen {
	unsigned int posts;
	unsigned int empty;
	int num_sge;
	u32 lkey;
};

static struct seen seen;

static void look(const struct ib_sge *sgl, int num, const struct ib_pd *pd)
{
	int i;

	/* Some devices read the first segment of a list even if the list has none. */
	seen.empty += !num && sgl;
	for (i = 0; i < num; i++)
		seen.empty += !sgl[i].length && (sgl[i].addr || sgl[i].lkey);
	seen.num_sge = num;
	seen.lkey = pd->local_dma_lkey;
	seen.posts++;
}

static int look_at_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad)
{
	const struct ib_send_wr *w;

	for (w = wr; w; w = w->next)
		look(w->sg_list, w->num_sge, qp->pd);
	return ops.post_send(qp, wr, bad);
}

static int look_at_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	look(wr->sg_list, wr->num_sge, qp->pd);
	return ops.post_recv(qp, wr, bad);
}

static int look_at_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad)
{
	look(wr->sg_list, wr->num_sge, ibsrq->pd);
	return ops.post_srq_recv(ibsrq, wr, bad);
}

static DAT_CONTEXT cookie(u64 value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

/* A segment that covers all memory for a device that takes 0 for 2 GiB. */
static DAT_LMR_TRIPLET empty(void)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (uintptr_t)a.buf,
		.lmr_context = seen.lkey,
	};
}

static int most(int limit)
{
	return min(limit, MAX_IOV);
}

static bool local_dma_lkey_recorded(void)
{
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 8, 1));
	CHECK(seen.posts && seen.lkey);
	return true;
}

/* @call posts the segments of iov, of which @bytes are not empty. */
#define CHECK_POST(bytes, call)						\
	do {								\
		unsigned int __posts = seen.posts;			\
									\
		CHECK_EQ(DAT_SUCCESS, (call));				\
		CHECK_EQ(__posts + 1, seen.posts);			\
		CHECK_EQ((bytes), seen.num_sge);			\
		CHECK_EQ(0, seen.empty);				\
	} while (0)

static bool empty_segments_recv(void)
{
	DAT_LMR_TRIPLET iov[MAX_IOV] = { empty(), empty(), empty() };
	int i, max = most(ia_attr.max_iov_segments_per_dto);

	for (i = 1; i <= max; i++)
		CHECK_POST(0, dat_ep_post_recv(pair.a.ep, i, iov, cookie(2), 0));
	/* Nor if the LMR is valid. */
	iov[0] = ksegment(&a, 100, 0);
	CHECK_POST(0, dat_ep_post_recv(pair.a.ep, 1, iov, cookie(2), 0));
	iov[0] = empty();
	for (i = 0; i < max; i++) {
		iov[i] = ksegment(&a, 100, 8);
		CHECK_POST(1, dat_ep_post_recv(pair.a.ep, max, iov, cookie(2),
					       0));
		iov[i] = empty();
	}
	return true;
}

static bool empty_segments_srq_recv(void)
{
	DAT_LMR_TRIPLET iov[MAX_IOV] = { empty(), empty(), empty() };
	int i;

	for (i = 1; i <= MAX_IOV; i++)
		CHECK_POST(0, dat_srq_post_recv(srq, i, iov, cookie(3)));
	for (i = 0; i < MAX_IOV; i++) {
		iov[i] = ksegment(&a, 100, 8);
		CHECK_POST(1, dat_srq_post_recv(srq, MAX_IOV, iov, cookie(3)));
		iov[i] = empty();
	}
	return true;
}

static bool empty_segments_send_and_write(void)
{
	const DAT_RMR_TRIPLET to = {
		.virtual_address = (uintptr_t)b.buf,
		.segment_length = SIZE,
		.rmr_context = b.rmr_context,
	};
	int i, max = most(ia_attr.max_iov_segments_per_rdma_write);
	DAT_LMR_TRIPLET iov[MAX_IOV] = { empty(), empty(), empty() };

	for (i = 1; i <= max; i++) {
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 4));
		CHECK_POST(0, dat_ep_post_send(pair.a.ep, i, iov, cookie(5), 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 5));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 4));
		CHECK_POST(0, dat_ep_post_rdma_write(pair.a.ep, i, iov,
						     cookie(6), &to, 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 6));
	}
	for (i = 0; i < max; i++) {
		iov[i] = ksegment(&a, 100, 8);
		memset(b.buf, 0, 8);
		kfill(a.buf + 100, 8, i + 1);
		CHECK_POST(1, dat_ep_post_rdma_write(pair.a.ep, max, iov,
						     cookie(7), &to, 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 7));
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 8));
		CHECK_POST(1, dat_ep_post_send(pair.a.ep, max, iov, cookie(9),
					       0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 9));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 8));
		CHECK(!memcmp(a.buf + 100, b.buf, 8));
		iov[i] = empty();
	}
	return true;
}

static bool empty_segments_rdma_read(void)
{
	const DAT_RMR_TRIPLET nothing = {
		.virtual_address = (uintptr_t)b.buf,
		.rmr_context = b.rmr_context,
	};
	DAT_RMR_TRIPLET from = nothing, to = {
		.virtual_address = (uintptr_t)a.buf,
		.rmr_context = a.rmr_context,
	};
	DAT_LMR_TRIPLET iov[MAX_IOV] = { empty(), empty(), empty() };
	int i, max = most(ia_attr.max_iov_segments_per_rdma_read);

	from.segment_length = 8;
	for (i = 1; i <= max; i++) {
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_post_rdma_read(pair.a.ep, i, iov, cookie(10),
					       &nothing, 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 10));
	}
	for (i = 0; i < max; i++) {
		kfill(b.buf, 8, i + 10);
		iov[i] = ksegment(&a, 200, 16);
		CHECK_POST(1, dat_ep_post_rdma_read(pair.a.ep, max, iov,
						    cookie(11), &from, 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 11));
		CHECK(!memcmp(a.buf + 200, b.buf, 8));
		iov[i] = empty();
	}
	to.segment_length = 16;
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_post_rdma_read_to_rmr(pair.a.ep, &to, cookie(12),
					      &nothing, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 12));
	CHECK_EQ(0, seen.empty);
	return true;
}

static bool empty_segments_extensions(void)
{
	const DAT_RMR_TRIPLET to = {
		.virtual_address = (uintptr_t)b.buf,
		.segment_length = SIZE,
		.rmr_context = b.rmr_context,
	};
	DAT_LMR_TRIPLET iov[MAX_IOV] = { empty(), empty(), empty() };
	DAT_RETURN ret;

	CHECK_RET(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE,
		  kpair_is_siw() ? DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE) :
			dat_ib_post_fetch_and_add(pair.a.ep, 1, iov, cookie(13),
						  &to, 0));
	if (kpair_is_siw())
		return true;
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 14));
	ret = dat_ib_post_rdma_write_immed(pair.a.ep, 1, iov, cookie(15), &to,
					   1, 0);
	CHECK_EQ(DAT_SUCCESS, ret);
	CHECK_EQ(0, seen.num_sge);
	CHECK_EQ(0, seen.empty);
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(local_dma_lkey_recorded),
	TEST(empty_segments_send_and_write),
	TEST(empty_segments_rdma_read),
	TEST(empty_segments_extensions),
	TEST(empty_segments_recv),
	TEST(empty_segments_srq_recv),
};

static bool set_up(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16, .max_recv_iov = MAX_IOV };
	DAT_EP_ATTR ep_attr = {
		.max_recv_dtos = 32,
		.max_recv_iov = MAX_IOV,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
	};

	return kpair_open_attr(&pair, NULL, &ep_attr) && kpair_connect(&pair) &&
	       kregion_open(&pair, pair.a.pz, &a, SIZE,
			    DAT_MEM_PRIV_ALL_FLAG) &&
	       kregion_open(&pair, pair.b.pz, &b, SIZE,
			    DAT_MEM_PRIV_ALL_FLAG) &&
	       !dat_srq_create(pair.ia, pair.a.pz, &attr, &srq) &&
	       !dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0,
			     NULL);
}

static int __init sge_test_init(void)
{
	int ret = report_open("kdapl_sge_test");

	if (ret)
		return ret;
	ibdev = kpair_ibdev();
	if (!ibdev) {
		report("1..0 # SKIP no such device\n");
		return 0;
	}
	ops = ibdev->ops;
	ibdev->ops.post_send = look_at_send;
	ibdev->ops.post_recv = look_at_recv;
	ibdev->ops.post_srq_recv = look_at_srq_recv;
	if (set_up())
		report_run("kdapl_sge_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_sge_test.setup\n");
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	ibdev->ops = ops;
	ib_device_put(ibdev);
	return 0;
}

static void __exit sge_test_exit(void)
{
	report_close();
}

module_init(sge_test_init);
module_exit(sge_test_exit);
MODULE_DESCRIPTION("Tests which segments reach the device");
MODULE_LICENSE("Dual BSD/GPL");

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * bench_raw.c - the measured operations, through raw verbs
 *
 * Owns two QPs of one PD, connected by modify calls without a CM, and a page that a
 * fast registration has registered.
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "bench.h"
#include "kpair.h"
#include "report.h"

#define ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ)
#define SEND_AT	BENCH_LEN
#define PEER_AT	(PAGE_SIZE / 2)

static struct {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq[2];
	struct ib_qp *qp[2];
	struct ib_mr *mr;
	void *page;
	struct scatterlist sg;
	bool is_mapped;
} raw;

static struct {
	struct completion done;
	unsigned int left;
	bool failed;
} pingpong;

static void recv_done(struct ib_cq *cq, struct ib_wc *wc);
static void send_done(struct ib_cq *cq, struct ib_wc *wc);

static struct ib_cqe recv_cqe = { .done = recv_done };
static struct ib_cqe send_cqe = { .done = send_done };

static struct ib_sge place(size_t offset)
{
	struct ib_sge sge = {
		.addr = raw.mr->iova + offset,
		.length = BENCH_LEN,
		.lkey = raw.mr->lkey,
	};

	return sge;
}

static int recv(int side)
{
	struct ib_sge sge = place(side * PEER_AT);
	struct ib_recv_wr wr = {
		.wr_cqe = &recv_cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(raw.qp[side], &wr, NULL);
}

static int send(int side)
{
	struct ib_sge sge = place(side * PEER_AT + SEND_AT);
	struct ib_send_wr wr = {
		.wr_cqe = &send_cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	return ib_post_send(raw.qp[side], &wr, NULL);
}

static void fail(void)
{
	pingpong.failed = true;
	complete(&pingpong.done);
}

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status)
		fail();
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	int side = wc->qp == raw.qp[1];

	if (wc->status) {
		fail();
		return;
	}
	if (recv(side))
		fail();
	if (!--pingpong.left)
		complete(&pingpong.done);
	else if (send(side))
		fail();
}

/* Address of the port itself: both QPs are on it. */
static int own_address(struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid;
	int i, ret;

	for (i = raw.dev->port_data[1].immutable.gid_tbl_len - 1; i >= 0; i--) {
		gid = rdma_get_gid_attr(raw.dev, 1, i);
		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP)
			break;
		rdma_put_gid_attr(gid);
	}
	if (i < 0)
		return -ENETUNREACH;
	ah->type = rdma_ah_find_type(raw.dev, 1);
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_grh(ah, (union ib_gid *)&gid->gid, 0, gid->index, 64, 0);
	ret = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
	rdma_put_gid_attr(gid);
	return ret;
}

static int connect_to(struct ib_qp *qp, u32 other)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ACCESS,
	};
	struct ib_port_attr port;
	int ret;

	ret = ib_query_port(raw.dev, 1, &port);
	if (!ret)
		ret = ib_modify_qp(qp, &attr,
				   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
					   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = other;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	ret = own_address(&attr.ah_attr);
	if (!ret)
		ret = ib_modify_qp(qp, &attr,
				   IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
					   IB_QP_DEST_QPN | IB_QP_RQ_PSN |
					   IB_QP_MAX_DEST_RD_ATOMIC |
					   IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	return ib_modify_qp(qp, &attr,
			    IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				    IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
				    IB_QP_MAX_QP_RD_ATOMIC);
}

static int make_qps(bool upcalls)
{
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.cap = {
			.max_send_wr = BENCH_QLEN,
			.max_recv_wr = BENCH_QLEN,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ib_cq *cq;
	struct ib_qp *qp;
	int i;

	for (i = 0; i < 2; i++) {
		cq = ib_alloc_cq(raw.dev, NULL, 2 * BENCH_QLEN, 0,
				 upcalls ? IB_POLL_SOFTIRQ : IB_POLL_DIRECT);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		raw.cq[i] = cq;
		init.send_cq = cq;
		init.recv_cq = cq;
		qp = ib_create_qp(raw.pd, &init);
		if (IS_ERR(qp))
			return PTR_ERR(qp);
		raw.qp[i] = qp;
	}
	return connect_to(raw.qp[0], raw.qp[1]->qp_num) ?:
	       connect_to(raw.qp[1], raw.qp[0]->qp_num);
}

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	pingpong.failed = wc->status;
	complete(&pingpong.done);
}

static bool register_page(void)
{
	struct ib_cqe cqe = { .done = reg_done };
	struct ib_reg_wr wr = {
		.wr.wr_cqe = &cqe,
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.access = ACCESS,
	};
	unsigned long end = jiffies + 10 * HZ;

	sg_init_one(&raw.sg, raw.page, PAGE_SIZE);
	if (ib_dma_map_sg(raw.dev, &raw.sg, 1, DMA_BIDIRECTIONAL) != 1)
		return false;
	raw.is_mapped = true;
	if (ib_map_mr_sg(raw.mr, &raw.sg, 1, NULL, PAGE_SIZE) != 1)
		return false;
	wr.mr = raw.mr;
	wr.key = raw.mr->rkey;
	if (ib_post_send(raw.qp[0], &wr.wr, NULL))
		return false;
	while (!try_wait_for_completion(&pingpong.done) &&
	       time_before(jiffies, end)) {
		if (raw.cq[0]->poll_ctx == IB_POLL_DIRECT)
			ib_process_cq_direct(raw.cq[0], 1);
		cond_resched();
	}
	return !pingpong.failed;
}

static bool raw_open(bool upcalls)
{
	int ret;

	init_completion(&pingpong.done);
	pingpong.failed = false;
	memset(&raw, 0, sizeof(raw));
	raw.dev = kpair_ibdev();
	raw.page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!raw.dev || !raw.page)
		return false;
	raw.pd = ib_alloc_pd(raw.dev, 0);
	if (IS_ERR(raw.pd)) {
		raw.pd = NULL;
		return false;
	}
	raw.mr = ib_alloc_mr(raw.pd, IB_MR_TYPE_MEM_REG, 2);
	if (IS_ERR(raw.mr)) {
		raw.mr = NULL;
		return false;
	}
	ret = make_qps(upcalls);
	if (ret || !register_page()) {
		report("# raw verbs: %d\n", ret);
		return false;
	}
	return !upcalls || (!recv(0) && !recv(1));
}

static void raw_close(void)
{
	int i;

	/* Flushed requests are not failures. */
	for (i = 0; i < 2; i++) {
		if (raw.qp[i])
			ib_destroy_qp(raw.qp[i]);
		if (raw.cq[i])
			ib_free_cq(raw.cq[i]);
	}
	if (raw.mr)
		ib_dereg_mr(raw.mr);
	if (raw.is_mapped)
		ib_dma_unmap_sg(raw.dev, &raw.sg, 1, DMA_BIDIRECTIONAL);
	if (raw.pd)
		ib_dealloc_pd(raw.pd);
	free_page((unsigned long)raw.page);
	if (raw.dev)
		ib_device_put(raw.dev);
}

static void fill(struct ib_rdma_wr *wr, struct ib_sge *sge, bool tells)
{
	*sge = place(0);
	*wr = (struct ib_rdma_wr){
		.wr.wr_cqe = &send_cqe,
		.wr.sg_list = sge,
		.wr.num_sge = 1,
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.send_flags = tells ? IB_SEND_SIGNALED : 0,
		.remote_addr = raw.mr->iova + PEER_AT,
		.rkey = raw.mr->rkey,
	};
}

static bool wait_for_one(void)
{
	unsigned long end = jiffies + 10 * HZ;
	struct ib_wc wc;

	while (!ib_poll_cq(raw.cq[0], 1, &wc)) {
		if (time_after(jiffies, end))
			return false;
		cond_resched();
	}
	return !wc.status;
}

static bool raw_write_one(void)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	int ret;

	fill(&wr, &sge, true);
	local_bh_disable();
	ret = ib_post_send(raw.qp[0], &wr.wr, NULL);
	local_bh_enable();
	return !ret && wait_for_one();
}

static bool raw_write_many(void)
{
	static struct ib_rdma_wr wr[BENCH_MANY];
	static struct ib_sge sge[BENCH_MANY];
	int i, ret;

	for (i = 0; i < BENCH_MANY; i++) {
		fill(&wr[i], &sge[i], i == BENCH_MANY - 1);
		wr[i].wr.next = i == BENCH_MANY - 1 ? NULL : &wr[i + 1].wr;
	}
	local_bh_disable();
	ret = ib_post_send(raw.qp[0], &wr[0].wr, NULL);
	local_bh_enable();
	return !ret && wait_for_one();
}

static bool raw_pingpong(unsigned int rounds)
{
	reinit_completion(&pingpong.done);
	pingpong.left = rounds;
	if (send(0))
		return false;
	return wait_for_completion_timeout(&pingpong.done, 60 * HZ) &&
	       !pingpong.failed;
}

const struct bench bench_raw = {
	.name = "raw",
	.open = raw_open,
	.close = raw_close,
	.write_one = raw_write_one,
	.write_many = raw_write_many,
	.pingpong = raw_pingpong,
};

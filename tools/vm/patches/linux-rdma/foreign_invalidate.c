// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * foreign_invalidate.c - invalidates a window of one PD through a connection of another
 *
 * usage: foreign_invalidate [DEVICE [GID-INDEX]]
 *
 * Two pairs of connected QPs on one device, each pair with a PD of its own. The first opens a
 * type 2 window and writes through it. Then the second sends with invalidate of the window's
 * key, and the first writes again.
 *
 * exit status: 0 the device has refused that; 1 it has closed the window; 2 something else failed
 *
 * cc -o foreign_invalidate foreign_invalidate.c -libverbs
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define FAILED		2
#define LENGTH		4096
#define PORT		1

struct link {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *from, *to;
	unsigned char buf[LENGTH];
};

static struct link owner, stranger;

static struct ibv_qp *create_qp(struct link *link)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = link->cq,
		.recv_cq = link->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(link->pd, &attr);

	if (!qp)
		err(FAILED, "ibv_create_qp");
	return qp;
}

static void connect_qp(struct ibv_qp *qp, uint32_t peer, union ibv_gid gid, int gid_index)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS) ||
	    ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER) ||
	    ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		err(FAILED, "ibv_modify_qp");
}

static void open_link(struct link *link, struct ibv_context *context, int gid_index)
{
	union ibv_gid gid;

	link->pd = ibv_alloc_pd(context);
	link->cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	if (!link->pd || !link->cq || ibv_query_gid(context, PORT, gid_index, &gid))
		err(FAILED, "the PD, the CQ or the GID");
	link->mr = ibv_reg_mr(link->pd, link->buf, LENGTH, IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	if (!link->mr)
		err(FAILED, "ibv_reg_mr");
	link->from = create_qp(link);
	link->to = create_qp(link);
	connect_qp(link->from, link->to->qp_num, gid, gid_index);
	connect_qp(link->to, link->from->qp_num, gid, gid_index);
}

/* Posts a request and returns its status; a receive may complete before it. */
static int execute(struct link *link, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_sge sge = { (uintptr_t)link->buf, 8, link->mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int num;

	wr->wr_id = 1;
	if (wr->opcode != IBV_WR_BIND_MW) {
		wr->sg_list = &sge;
		wr->num_sge = 1;
	}
	if (ibv_post_send(qp, wr, &bad))
		err(FAILED, "ibv_post_send");
	do {
		num = ibv_poll_cq(link->cq, 1, &wc);
		if (num < 0)
			errx(FAILED, "ibv_poll_cq");
	} while (!num || wc.wr_id != 1);
	return wc.status;
}

static int write_through(uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)owner.buf + LENGTH / 2, rkey },
	};

	return execute(&owner, owner.from, &wr);
}

static uint32_t open_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(owner.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };
	int status;

	if (!mw)
		err(FAILED, "ibv_alloc_mw");
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		owner.mr, (uintptr_t)owner.buf, LENGTH, IBV_ACCESS_REMOTE_WRITE,
	};
	status = execute(&owner, owner.to, &wr);
	if (status)
		errx(FAILED, "the bind: %s", ibv_wc_status_str(status));
	return wr.bind_mw.rkey;
}

static int invalidate(uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)stranger.buf, LENGTH, stranger.mr->lkey };
	struct ibv_recv_wr *bad, receive = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = rkey,
	};

	if (ibv_post_recv(stranger.to, &receive, &bad))
		err(FAILED, "ibv_post_recv");
	return execute(&stranger, stranger.from, &wr);
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i, gid_index = argc > 2 ? atoi(argv[2]) : 1;
	struct ibv_context *context = NULL;
	uint32_t rkey;
	int status;

	for (i = 0; list && list[i] && !context; i++)
		if (argc < 2 || !strcmp(argv[1], ibv_get_device_name(list[i])))
			context = ibv_open_device(list[i]);
	if (!context)
		errx(FAILED, "there is no such device");
	open_link(&owner, context, gid_index);
	open_link(&stranger, context, gid_index);

	rkey = open_window();
	status = write_through(rkey);
	if (status)
		errx(FAILED, "the first write: %s", ibv_wc_status_str(status));
	printf("the foreign Send with invalidate: %s\n", ibv_wc_status_str(invalidate(rkey)));
	status = write_through(rkey);
	printf("the owner's second write: %s\n", ibv_wc_status_str(status));
	return status ? 1 : 0;
}

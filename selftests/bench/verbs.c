// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * verbs.c - what operations of a process cost over raw verbs
 *
 * verbs DEVICE CASE...: prints lines as bench.c does; "many-N" is the cases of dequeue.c for N.
 * The queue pairs, of this process, are connected to each other by hand.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define QLEN	64
#define MANY	32
#define MIB	(1024 * 1024)
#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp[2];
/* Of the cases of dequeue.c; the first half is connected to the second. */
static struct ibv_cq *many_cq;
static struct ibv_qp **qps;
static unsigned int num_qps, next_qp;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static unsigned char *mem;
/* The case that runs, for messages */
static const char *current = "setup";

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "verbs: %s: %s: %s\n", current, what, strerror(errno));
	exit(1);
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void poll_for_one(struct ibv_cq *which)
{
	struct ibv_wc wc;
	int ret;

	do {
		ret = ibv_poll_cq(which, 1, &wc);
	} while (!ret);
	must(ret == 1 && wc.status == IBV_WC_SUCCESS, "a completion");
}

static void rdma_write(struct ibv_qp *which, size_t len, bool tells)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mem,
		.length = len,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = tells ? IBV_SEND_SIGNALED : 0,
		.wr.rdma.remote_addr = (uintptr_t)mem + MIB,
		.wr.rdma.rkey = mr->rkey,
	}, *bad;

	must(!ibv_post_send(which, &wr, &bad), "ibv_post_send");
}

static void write_64(void)
{
	rdma_write(qp[0], 64, true);
	poll_for_one(cq);
}

static void write_64_x32(void)
{
	int i;

	for (i = 1; i < MANY; i++)
		rdma_write(qp[0], 64, false);
	rdma_write(qp[0], 64, true);
	poll_for_one(cq);
}

/* A window of type 2: what it was is invalidated, then it is bound again. */
static void bind_mw(size_t len)
{
	static bool is_bound;
	unsigned int rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr inval = {
		.opcode = IBV_WR_LOCAL_INV,
		.invalidate_rkey = mw->rkey,
	}, bind = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw,
			.rkey = rkey,
			.bind_info = {
				.mr = mr,
				.addr = (uintptr_t)mem,
				.length = len,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ,
			},
		},
	}, *bad;

	inval.next = &bind;
	must(!ibv_post_send(qp[0], is_bound ? &inval : &bind, &bad),
	     "ibv_post_send");
	poll_for_one(cq);
	mw->rkey = rkey;
	is_bound = true;
}

static void bind_4k(void)
{
	bind_mw(4096);
}

static void bind_1m(void)
{
	bind_mw(MIB);
}

/* What dequeue.c measures: "u-write-N-eps", in nanoseconds of all */
static unsigned long long write_some(unsigned int count)
{
	unsigned long long start = now();
	unsigned int i;

	for (i = 0; i < count; i++) {
		rdma_write(qps[next_qp], 64, true);
		next_qp = (next_qp + 1) % (num_qps / 2);
		poll_for_one(many_cq);
	}
	return now() - start;
}

/* "u-dequeue-N-eps" */
static unsigned long long dequeue_some(unsigned int batch)
{
	unsigned long long start;
	unsigned int i;

	for (i = 0; i < batch; i++) {
		rdma_write(qps[next_qp], 64, true);
		next_qp = (next_qp + 1) % (num_qps / 2);
	}
	/* The others follow at once. */
	poll_for_one(many_cq);
	usleep(10000);
	start = now();
	for (i = 1; i < batch; i++)
		poll_for_one(many_cq);
	return now() - start;
}

static const struct bench_case {
	const char *name;
	unsigned int count;
	unsigned int per_call;
	void (*run)(void);
} cases[] = {
	{ "u-write-64", 1000, 1, write_64 },
	{ "u-write-64-x32", 50, MANY, write_64_x32 },
	{ "rmr-bind-4K", 200, 1, bind_4k },
	{ "rmr-bind-1M", 50, 1, bind_1m },
};

static void measure(const struct bench_case *c)
{
	unsigned int warm = c->count / 10 + 1, i;
	unsigned long long start;

	current = c->name;
	for (i = 0; i < warm; i++)
		c->run();
	start = now();
	for (i = 0; i < c->count; i++)
		c->run();
	printf("%s %llu\n", c->name,
	       (now() - start) / c->count / c->per_call);
	fflush(stdout);
}

/* A GID of RoCE v2 with an IPv4 address; the last of the table is one. */
static int gid_index(const struct ibv_port_attr *port)
{
	struct ibv_gid_entry entry;
	int i;

	for (i = port->gid_tbl_len - 1; i > 0; i--)
		if (!ibv_query_gid_ex(context, 1, i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			break;
	return i;
}

static void connect_to(struct ibv_qp *one, struct ibv_qp *other)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;
	int index;

	must(!ibv_query_port(context, 1, &port), "ibv_query_port");
	index = gid_index(&port);
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = ACCESS;
	must(!ibv_modify_qp(one, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS),
	     "INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = other->qp_num;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = index;
	attr.ah_attr.grh.hop_limit = 64;
	must(!ibv_query_gid(context, 1, index, &attr.ah_attr.grh.dgid),
	     "ibv_query_gid");
	must(!ibv_modify_qp(one, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	must(!ibv_modify_qp(one, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void make_qps(struct ibv_cq *on, struct ibv_qp **made, unsigned int num)
{
	struct ibv_qp_init_attr init = {
		.send_cq = on,
		.recv_cq = on,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = QLEN,
			.max_recv_wr = QLEN,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	unsigned int i;

	for (i = 0; i < num; i++) {
		made[i] = ibv_create_qp(pd, &init);
		must(made[i], "ibv_create_qp");
	}
	for (i = 0; i < num; i++)
		connect_to(made[i], made[(i + num / 2) % num]);
}

static void measure_many(unsigned int num)
{
	unsigned int batch = num / 2 < QLEN ? QLEN : num / 2;
	unsigned int rounds = getenv("BENCH_SMOKE") ? 1 : 8, i;
	unsigned long long ns = 0;

	current = "many";
	num_qps = num;
	next_qp = 0;
	qps = calloc(num, sizeof(*qps));
	must(qps, "calloc");
	many_cq = ibv_create_cq(context, 2 * batch, NULL, NULL, 0);
	must(many_cq, "ibv_create_cq");
	make_qps(many_cq, qps, num);
	write_some(batch);
	printf("u-write-%u-eps %llu\n", num, write_some(rounds * batch) / (rounds * batch));
	dequeue_some(batch);
	for (i = 0; i < rounds; i++)
		ns += dequeue_some(batch);
	printf("u-dequeue-%u-eps %llu\n", num, ns / (rounds * (batch - 1)));
	fflush(stdout);
	for (i = 0; i < num; i++)
		must(!ibv_destroy_qp(qps[i]), "ibv_destroy_qp");
	must(!ibv_destroy_cq(many_cq), "ibv_destroy_cq");
	free(qps);
}

static void open_all(const char *name)
{
	struct ibv_device **list;
	int i, num = 0;

	list = ibv_get_device_list(&num);
	for (i = 0; i < num; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			break;
	must(i < num, "no such device");
	context = ibv_open_device(list[i]);
	must(context, "ibv_open_device");
	mem = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	pd = ibv_alloc_pd(context);
	must(pd, "ibv_alloc_pd");
	mr = ibv_reg_mr(pd, mem, 2 * MIB, ACCESS);
	must(mr, "ibv_reg_mr");
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	must(mw, "ibv_alloc_mw");
	cq = ibv_create_cq(context, 4 * QLEN, NULL, NULL, 0);
	must(cq, "ibv_create_cq");
	make_qps(cq, qp, 2);
}

/* In this order: rxe warns of a QP that goes before its window. */
static void close_all(void)
{
	must(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	must(!ibv_destroy_qp(qp[0]), "ibv_destroy_qp");
	must(!ibv_destroy_qp(qp[1]), "ibv_destroy_qp");
	must(!ibv_destroy_cq(cq), "ibv_destroy_cq");
	must(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	must(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	must(!ibv_close_device(context), "ibv_close_device");
}

int main(int argc, char **argv)
{
	size_t j;
	int i;

	must(argc > 2, "usage: verbs DEVICE CASE...");
	open_all(argv[1]);
	for (i = 2; i < argc; i++) {
		if (!strncmp(argv[i], "many-", 5)) {
			measure_many(strtoul(argv[i] + 5, NULL, 10));
			continue;
		}
		for (j = 0; j < ARRAY_SIZE(cases); j++)
			if (!strcmp(cases[j].name, argv[i]))
				break;
		must(j < ARRAY_SIZE(cases), "no such case");
		measure(&cases[j]);
	}
	close_all();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * memory_verbs.c - makes what memory_dat.c makes, with verbs
 *
 * memory_verbs DEVICE 3>TRACE_MARKER
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>

#define QLEN	64
#define KIB	1024
#define MIB	(1024 * KIB)
#define LARGE	(512ULL * MIB)

#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *dto_cq;
static void *mem;
/* The case that runs, for messages */
static const char *current = "setup";

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "memory_verbs: %s: %s has failed\n", current, what);
	exit(1);
}

static void make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = dto_cq,
		.recv_cq = dto_cq,
		.cap = {
			.max_send_wr = QLEN,
			.max_recv_wr = QLEN,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	must(ibv_create_qp(pd, &init), "ibv_create_qp");
}

static void make_cq(void)
{
	must(ibv_create_cq(context, 1024, NULL, NULL, 0), "ibv_create_cq");
}

static void make_mr_small(void)
{
	must(ibv_reg_mr(pd, mem, 4 * KIB, ACCESS), "ibv_reg_mr");
}

static void make_mr_large(void)
{
	must(ibv_reg_mr(pd, mem, LARGE, ACCESS), "ibv_reg_mr");
}

static void make_mw(void)
{
	must(ibv_alloc_mw(pd, IBV_MW_TYPE_2), "ibv_alloc_mw");
}

/* As in memory_dat.c. */
static void make(const char *name, void (*one)(void))
{
	current = name;
	one();
	dprintf(3, "begin %s\n", name);
	one();
	dprintf(3, "end %s\n", name);
}

/* Its end frees what is left. */
int main(int argc, char **argv)
{
	struct ibv_device **list;
	int i, num = 0;

	must(argc == 2, "usage: memory_verbs DEVICE 3>TRACE_MARKER; this");
	list = ibv_get_device_list(&num);
	for (i = 0; i < num; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			break;
	must(i < num, "the search for the device");
	context = ibv_open_device(list[i]);
	must(context, "ibv_open_device");
	mem = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(mem != MAP_FAILED, "mmap");
	pd = ibv_alloc_pd(context);
	must(pd, "ibv_alloc_pd");
	dto_cq = ibv_create_cq(context, 4 * QLEN, NULL, NULL, 0);
	must(dto_cq, "ibv_create_cq");
	make("mem-ep", make_qp);
	make("mem-evd-1024", make_cq);
	make("mem-lmr-4K", make_mr_small);
	make("mem-lmr-512M", make_mr_large);
	make("mem-rmr", make_mw);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * memory_dat.c - makes an object of each kind, while memory.sh looks at the kernel
 *
 * memory_dat IA 3>TRACE_MARKER
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <dat2/udat.h>

#define QLEN	64
#define KIB	1024
#define MIB	(1024 * KIB)
#define LARGE	(512ULL * MIB)

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE dto_evd, conn_evd;
static void *mem;
/* The case that runs, for messages */
static const char *current = "setup";

static void must(DAT_RETURN ret, const char *what)
{
	const char *major = "", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "memory_dat: %s: %s: %s %s\n", current, what, major, minor);
	exit(1);
}

static void make_ep(void)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_mtu_size = MIB,
		.max_rdma_size = MIB,
		.max_recv_dtos = QLEN,
		.max_request_dtos = QLEN,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_EP_HANDLE ep;

	must(dat_ep_create(ia, pz, dto_evd, dto_evd, conn_evd, &attr, &ep),
	     "dat_ep_create");
}

static void make_evd(void)
{
	DAT_EVD_HANDLE evd;

	must(dat_evd_create(ia, 1024, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
	     "dat_evd_create");
}

static void make_lmr(DAT_VLEN len)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = mem };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR start;
	DAT_VLEN size;

	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, len, pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
			    &context, &remote, &size, &start),
	     "dat_lmr_create");
}

static void make_lmr_small(void)
{
	make_lmr(4 * KIB);
}

static void make_lmr_large(void)
{
	make_lmr(LARGE);
}

static void make_rmr(void)
{
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(pz, &rmr), "dat_rmr_create");
}

/* The first of its kind may bring along what all of them share. */
static void make(const char *name, void (*one)(void))
{
	current = name;
	one();
	dprintf(3, "begin %s\n", name);
	one();
	dprintf(3, "end %s\n", name);
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

	if (argc != 2) {
		fputs("usage: memory_dat IA 3>TRACE_MARKER\n", stderr);
		return 1;
	}
	mem = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED) {
		perror("memory_dat: mmap");
		return 1;
	}
	must(dat_ia_open(argv[1], 8, &async_evd, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 4 * QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			    &dto_evd),
	     "dat_evd_create");
	/* The second EP adds a CQ with room for the third, which is measured. */
	make_ep();
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &conn_evd),
	     "dat_evd_create");
	make("mem-ep", make_ep);
	make("mem-evd-1024", make_evd);
	make("mem-lmr-4K", make_lmr_small);
	make("mem-lmr-512M", make_lmr_large);
	make("mem-rmr", make_rmr);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return 0;
}

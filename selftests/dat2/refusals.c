// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * refusals.c - what the other provider of libdat2 refuses, and ours does not
 *
 * refusals OURS OTHER: opens both IAs, tries each call on both, and prints what
 * they answer. It fails if ours does not have a call, or refuses what can be
 * done without a connection; that they do what they should is for calls.c.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

#define SIZE	8192

struct provider {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd, conn_evd;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	void *mem;
};

#define TABLE(handle)	((const DAT_PROVIDER *)DAT_HANDLE_TO_PROVIDER(handle))

static DAT_RETURN create_lmr(struct provider *p, DAT_MEM_TYPE type,
			     DAT_REGION_DESCRIPTION desc, DAT_LMR_HANDLE *lmr)
{
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_create(p->ia, type, desc, SIZE, p->pz,
			      DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, lmr,
			      &p->lmr_context, &p->rmr_context, &size,
			      &address);
}

static DAT_RETURN open_all(struct provider *p, char *name)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION desc;
	DAT_RETURN ret;

	/* Not of anonymous memory, so that it can be shared. */
	p->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	desc.for_va = p->mem;
	ret = dat_ia_open(name, 8, &async_evd, &p->ia);
	if (!ret)
		ret = dat_pz_create(p->ia, &p->pz);
	if (!ret)
		ret = dat_evd_create(p->ia, 16, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				     &p->evd);
	if (!ret)
		ret = dat_evd_create(p->ia, 16, DAT_HANDLE_NULL,
				     DAT_EVD_CONNECTION_FLAG, &p->conn_evd);
	if (!ret)
		ret = dat_ep_create(p->ia, p->pz, p->evd, p->evd, p->conn_evd,
				    NULL, &p->ep);
	if (!ret)
		ret = create_lmr(p, DAT_MEM_TYPE_VIRTUAL, desc, &p->lmr);
	return ret;
}

static DAT_RETURN try_rmr_create(struct provider *p)
{
	DAT_RMR_HANDLE rmr;

	return dat_rmr_create(p->pz, &rmr);
}

static DAT_RETURN try_rmr_bind(struct provider *p)
{
	DAT_LMR_TRIPLET triplet = { (uintptr_t)p->mem, SIZE, p->lmr_context };
	DAT_RMR_COOKIE cookie = { .as_64 = 0 };
	DAT_RMR_CONTEXT context;

	return TABLE(p->pz)->rmr_bind_func(p->pz, p->lmr, &triplet,
			DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, p->ep,
			cookie, DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static DAT_RETURN try_rmr_free(struct provider *p)
{
	return TABLE(p->pz)->rmr_free_func(p->pz);
}

static DAT_RETURN try_lmr_over_lmr(struct provider *p)
{
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = p->lmr };
	DAT_LMR_HANDLE lmr;

	return create_lmr(p, DAT_MEM_TYPE_LMR, desc, &lmr);
}

static DAT_RETURN try_shared_lmr(struct provider *p)
{
	static char cookie[DAT_LMR_COOKIE_SIZE] = "refusals";
	DAT_REGION_DESCRIPTION desc = {
		.for_shared_memory = { p->mem, &cookie },
	};
	DAT_LMR_HANDLE lmr;

	return create_lmr(p, DAT_MEM_TYPE_SHARED_VIRTUAL, desc, &lmr);
}

static DAT_RETURN try_cr_handoff(struct provider *p)
{
	return TABLE(p->pz)->cr_handoff_func(p->pz, 5000);
}

static DAT_RETURN try_srq_low_watermark(struct provider *p)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;
	DAT_RETURN ret = dat_srq_create(p->ia, p->pz, &attr, &srq);

	return ret ? ret : dat_srq_set_lw(srq, 2);
}

static DAT_RETURN try_recv_query(struct provider *p)
{
	DAT_COUNT num, span;

	return dat_ep_recv_query(p->ep, &num, &span);
}

static DAT_RETURN try_set_watermark(struct provider *p)
{
	return dat_ep_set_watermark(p->ep, 4, 8);
}

static DAT_RETURN try_read_to_rmr(struct provider *p)
{
	DAT_RMR_TRIPLET remote = { (uintptr_t)p->mem, SIZE, p->rmr_context };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	return TABLE(p->ep)->ep_post_rdma_read_to_rmr_func(p->ep, &remote,
			cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN try_send_with_invalidate(struct provider *p)
{
	DAT_LMR_TRIPLET triplet = { (uintptr_t)p->mem, SIZE, p->lmr_context };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	return TABLE(p->ep)->ep_post_send_with_invalidate_func(p->ep, 1,
			&triplet, cookie, DAT_COMPLETION_DEFAULT_FLAG,
			DAT_TRUE, p->rmr_context);
}

/* @expected: what ours says: success, or what follows from how it is called. */
static const struct {
	const char *name;
	DAT_RETURN (*try)(struct provider *p);
	DAT_RETURN expected;
} calls[] = {
	{ "dat_rmr_create", try_rmr_create, DAT_SUCCESS },
	{ "dat_rmr_bind", try_rmr_bind, DAT_INVALID_HANDLE },
	{ "dat_rmr_free", try_rmr_free, DAT_INVALID_HANDLE },
	{ "dat_lmr_create, of an LMR", try_lmr_over_lmr, DAT_SUCCESS },
	{ "dat_lmr_create, shared", try_shared_lmr, DAT_SUCCESS },
	{ "dat_cr_handoff", try_cr_handoff, DAT_INVALID_HANDLE },
	{ "dat_srq_set_lw", try_srq_low_watermark, DAT_SUCCESS },
	{ "dat_ep_recv_query", try_recv_query, DAT_SUCCESS },
	{ "dat_ep_set_watermark", try_set_watermark, DAT_SUCCESS },
	{ "dat_ep_post_rdma_read_to_rmr", try_read_to_rmr, DAT_INVALID_STATE },
	{ "dat_ep_post_send_with_invalidate", try_send_with_invalidate,
	  DAT_INVALID_STATE },
};

static const char *text(DAT_RETURN ret)
{
	const char *major, *minor;

	return dat_strerror(ret, &major, &minor) ? "?" : major;
}

int main(int argc, char **argv)
{
	struct provider ours, other;
	bool failed = false;
	unsigned int i;

	if (argc != 3) {
		fprintf(stderr, "usage: refusals OURS OTHER\n");
		return 2;
	}
	if (open_all(&ours, argv[1]) || open_all(&other, argv[2])) {
		printf("# cannot open %s and %s\n", argv[1], argv[2]);
		return 1;
	}
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		DAT_RETURN from_ours = calls[i].try(&ours);
		DAT_RETURN from_other = calls[i].try(&other);
		bool bad = DAT_GET_TYPE(from_ours) != calls[i].expected;

		printf("# %s: %s %s", calls[i].name, argv[1], text(from_ours));
		printf(", %s %s%s\n", argv[2], text(from_other),
		       bad ? ": BAD" : "");
		failed |= bad;
	}
	return failed;
}

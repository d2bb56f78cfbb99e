// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mem_over.c - LMRs over LMRs, and windows
 */
#include <linux/mm.h>

#include "mem.h"

#define LOCAL_READ	DAT_MEM_PRIV_LOCAL_READ_FLAG
#define LOCAL_ALL	(LOCAL_READ | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

static DAT_RETURN create(DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			 struct kregion *r)
{
	return mem_create(pz, privileges, DAT_VA_TYPE_VA,
			  DAT_MEM_OPTIMIZE_DONT_CARE, r);
}

static DAT_RETURN create_over(const struct kregion *base, DAT_PZ_HANDLE pz,
			      DAT_MEM_PRIV_FLAGS privileges, struct kregion *r)
{
	mem_as_lmr(base->lmr);
	return create(pz, privileges, r);
}

/* Only the owner may access the base. A peer may access the LMR over it. */
bool lmr_over_lmr_other_pz(void)
{
	struct kregion base, over;

	CHECK(mem_alloc(9, 0));
	mem_as_physical();
	CHECK_EQ(DAT_SUCCESS, create(mem_pair.a.pz, LOCAL_READ, &base));
	CHECK_EQ(0, base.rmr_context);
	CHECK_EQ(DAT_SUCCESS, create_over(&base, mem_pair.b.pz,
					  DAT_MEM_PRIV_ALL_FLAG, &over));
	CHECK(base.lmr_context != over.lmr_context);
	CHECK(mem_is_target(&over));
	/* The LMR is not in the PZ of side a, and the base has no write privilege. */
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ,
		  kpost_send(mem_pair.a.ep, &over, 0, 1, 1));
	CHECK_RET(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE,
		  kpost_recv(mem_pair.a.ep, &base, 0, 1, 1));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(over.lmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(base.lmr));
	return true;
}

bool lmr_over_lmr_fewer_privileges(void)
{
	struct kregion base, over;

	CHECK(mem_alloc(1, 4));
	mem_as_virtual(345, 10 * PAGE_SIZE);
	CHECK_EQ(DAT_SUCCESS,
		 create(mem_pair.a.pz, DAT_MEM_PRIV_ALL_FLAG, &base));
	CHECK_EQ(DAT_SUCCESS,
		 create_over(&base, mem_pair.a.pz, LOCAL_READ, &over));
	CHECK_EQ(0, over.rmr_context);
	CHECK_RET(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE,
		  kpost_recv(mem_pair.a.ep, &over, 0, 1, 1));
	memset(mem.pieces[0], 0x77, 16 * PAGE_SIZE);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&mem_pair, &over, 0, over.len, mem_b.rmr_context,
			mem_b.buf));
	CHECK(!memchr_inv(mem_b.buf, 0x77, over.len));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(over.lmr));
	CHECK(mem_is_local(&base));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(base.lmr));
	return true;
}

bool free_base_lmr_in_use(void)
{
	struct kregion r[3];
	DAT_LMR_PARAM param;

	CHECK(mem_alloc(2, 0));
	mem_as_physical();
	CHECK_EQ(DAT_SUCCESS,
		 create(mem_pair.a.pz, DAT_MEM_PRIV_ALL_FLAG, &r[0]));
	CHECK_EQ(DAT_SUCCESS, create_over(&r[0], mem_pair.a.pz,
					  DAT_MEM_PRIV_ALL_FLAG, &r[1]));
	CHECK_EQ(DAT_SUCCESS, create_over(&r[1], mem_pair.b.pz,
					  DAT_MEM_PRIV_ALL_FLAG, &r[2]));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
		  dat_lmr_free(r[0].lmr));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
		  dat_lmr_free(r[1].lmr));
	CHECK_EQ(DAT_SUCCESS,
		 dat_lmr_query(r[1].lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK(!param.lmr_state.bound);
	CHECK(mem_is_local(&r[0]));
	CHECK(mem_is_local(&r[1]));
	CHECK(mem_is_target(&r[2]));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r[2].lmr));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
		  dat_lmr_free(r[0].lmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r[1].lmr));
	CHECK(mem_is_local(&r[0]));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r[0].lmr));
	return true;
}

bool lmr_over_each_mem_type(void)
{
	struct kregion base, over;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		CHECK(mem_alloc(1, i == 2 ? 0 : 2));
		if (i == 0)
			mem_as_ia(99, 2 * PAGE_SIZE);
		else if (i == 1)
			mem_as_bypass(99, 2 * PAGE_SIZE);
		else if (i == 2)
			mem_as_platform(5, 100);
		else if (i == 3)
			mem_as_var_pages();
		else
			mem_as_virtual(7, PAGE_SIZE);
		CHECK_EQ(DAT_SUCCESS,
			 create(mem_pair.a.pz, LOCAL_ALL, &base));
		CHECK_EQ(DAT_SUCCESS, create_over(&base, mem_pair.b.pz,
						  DAT_MEM_PRIV_ALL_FLAG,
						  &over));
		CHECK(mem_is_target(&over));
		CHECK_EQ(DAT_SUCCESS, dat_lmr_free(over.lmr));
		CHECK_EQ(DAT_SUCCESS, dat_lmr_free(base.lmr));
	}
	return true;
}

bool lmr_over_lmr_zero_based(void)
{
	struct kregion base, over[2];

	CHECK(mem_alloc(3, 0));
	mem_as_platform(0, 3 * PAGE_SIZE - 10);
	CHECK_EQ(DAT_SUCCESS,
		 create(mem_pair.a.pz, DAT_MEM_PRIV_ALL_FLAG, &base));
	mem_as_lmr(base.lmr);
	CHECK_EQ(DAT_SUCCESS,
		 mem_create(mem_pair.b.pz, DAT_MEM_PRIV_ALL_FLAG,
			    DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_IA, &over[0]));
	CHECK_EQ(DAT_SUCCESS, create_over(&over[0], mem_pair.b.pz,
					  DAT_MEM_PRIV_ALL_FLAG, &over[1]));
	CHECK(mem_is_target(&over[0]));
	CHECK(mem_is_target(&over[1]));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(over[1].lmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(over[0].lmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(base.lmr));
	return true;
}

/* The pages of the base may be pinned for reading only. */
bool lmr_over_read_only_lmr(void)
{
	static const DAT_MEM_PRIV_FLAGS writes[] = {
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		DAT_MEM_PRIV_ALL_FLAG,
	};
	struct kregion base, over, top;
	size_t i;

	CHECK(mem_alloc(1, 0));
	mem_as_platform(0, PAGE_SIZE);
	CHECK_EQ(DAT_SUCCESS, create(mem_pair.b.pz, LOCAL_READ, &base));
	CHECK_EQ(DAT_SUCCESS, create_over(&base, mem_pair.b.pz,
					  DAT_MEM_PRIV_READ_FLAG, &over));
	for (i = 0; i < ARRAY_SIZE(writes); i++) {
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
			  create_over(&base, mem_pair.b.pz, writes[i], &top));
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
			  create_over(&over, mem_pair.b.pz, writes[i], &top));
	}
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(over.lmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(base.lmr));
	return true;
}

bool lmr_over_bad_base(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct kregion base, r;
	DAT_LMR_HANDLE posted;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	unsigned int i;

	CHECK(mem_alloc(1, 0));
	mem_as_physical();
	CHECK_EQ(DAT_SUCCESS, create(mem_pair.a.pz, LOCAL_ALL, &base));
	for (i = 0; i < 5; i++) {
		const DAT_HANDLE bad[] = {
			DAT_HANDLE_NULL, mem_pair.ia, mem_pair.a.pz, &base,
			(DAT_HANDLE)((unsigned long)base.lmr ^ (1UL << 40)),
		};

		mem_as_lmr(bad[i]);
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
			  create(mem_pair.a.pz, LOCAL_ALL, &r));
	}

	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &async, &ia));
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	mem_as_lmr(base.lmr);
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  dat_lmr_kcreate(ia, mem.type, mem.desc, 1, pz, LOCAL_ALL,
				  DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
				  &r.lmr, &r.lmr_context, NULL, NULL, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));

	/* An LMR that is registered by posting has no memory of its own. */
	CHECK_EQ(DAT_SUCCESS, dat_lmr_allocate(mem_pair.ia, mem_pair.a.pz, 1,
					       DAT_LMR_SCOPE_PZ, &posted));
	mem_as_lmr(posted);
	CHECK_RET(DAT_INVALID_STATE, DAT_NO_SUBTYPE,
		  create(mem_pair.a.pz, LOCAL_ALL, &r));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(posted));

	/* The rejected calls have left no reference to the base. */
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(base.lmr));
	mem_as_lmr(base.lmr);
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  create(mem_pair.a.pz, LOCAL_ALL, &r));
	return true;
}

/* Closes the IA with any order of the LMRs. */
bool ia_close_lmrs_over_lmrs(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct kregion base, over;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	unsigned int i;

	CHECK(mem_alloc(2, 0));
	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &async, &ia));
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	mem_as_physical();
	CHECK_EQ(DAT_SUCCESS,
		 dat_lmr_kcreate(ia, mem.type, mem.desc, 2, pz, LOCAL_ALL,
				 DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
				 &base.lmr, &base.lmr_context, NULL, NULL,
				 NULL));
	for (i = 0; i < 3; i++) {
		mem_as_lmr(base.lmr);
		CHECK_EQ(DAT_SUCCESS,
			 dat_lmr_kcreate(ia, mem.type, mem.desc, 1, pz,
					 LOCAL_READ, DAT_VA_TYPE_VA,
					 DAT_MEM_OPTIMIZE_DONT_CARE, &over.lmr,
					 &over.lmr_context, NULL, NULL, NULL));
		base = over;
	}
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  dat_lmr_free(over.lmr));
	return true;
}

/* A window has an MR with a list of small pages. */
bool bind_large_zero_based_lmr(void)
{
	const DAT_VA_TYPE types[] = { DAT_VA_TYPE_VA, DAT_VA_TYPE_ZB };
	const size_t at = 3 * PAGE_SIZE + 5, len = 200 * PAGE_SIZE;
	DAT_RMR_CONTEXT context;
	DAT_LMR_PARAM lmr_param;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	struct kregion r;
	size_t i;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(mem_pair.b.pz, &rmr));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		CHECK(mem_alloc(1, 10));
		mem_as_virtual(0, PAGE_SIZE << 10);
		CHECK_EQ(DAT_SUCCESS,
			 mem_create(mem_pair.b.pz, LOCAL_ALL, types[i],
				    DAT_MEM_OPTIMIZE_DONT_CARE, &r));
		CHECK_EQ(DAT_SUCCESS,
			 kbind(rmr, &r, at, len, KREMOTE_ALL, mem_pair.b.ep, 5,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(mem_pair.b.dto_evd, 5));
		memset(mem_a.buf, 0x5a + i, len);
		CHECK_EQ(DAT_DTO_SUCCESS,
			 kwrite(&mem_pair, &mem_a, 0, len, context,
				r.buf + at));
		CHECK(!memcmp(mem_a.buf, mem.pieces[0] + at, len));
		CHECK(!mem.pieces[0][at - 1] && !mem.pieces[0][at + len]);
		CHECK_EQ(DAT_SUCCESS,
			 dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
		CHECK_EQ(types[i], param.va_type);
		CHECK_EQ(r.lmr_context, param.lmr_triplet.lmr_context);
		CHECK_EQ(DAT_SUCCESS, dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL,
						    &lmr_param));
		CHECK(lmr_param.lmr_state.bound);
		CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
			  dat_lmr_free(r.lmr));
		CHECK_EQ(DAT_SUCCESS,
			 kbind(rmr, &r, 0, 0, 0, mem_pair.b.ep, 6,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(mem_pair.b.dto_evd, 6));
		CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	}
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

/* Last, because the test breaks the connection. */
bool zero_based_memory_virtual_address(void)
{
	struct kregion r;

	CHECK(mem_alloc(1, 1));
	mem_as_virtual(0, 2 * PAGE_SIZE);
	CHECK_EQ(DAT_SUCCESS,
		 mem_create(mem_pair.b.pz, DAT_MEM_PRIV_ALL_FLAG,
			    DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE, &r));
	CHECK(mem_is_target(&r));
	memset(mem.pieces[0], 0x11, 2 * PAGE_SIZE);
	memset(mem_a.buf, 0xee, 16);
	CHECK_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		 kwrite(&mem_pair, &mem_a, 0, 16, r.rmr_context,
			mem.pieces[0]));
	CHECK(!memchr(mem.pieces[0], 0xee, 2 * PAGE_SIZE));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	return true;
}

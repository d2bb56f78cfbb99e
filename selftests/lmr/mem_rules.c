// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mem_rules.c - queries of LMRs, RMRs and PZs, PZs themselves, locked memory
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#include "pair.h"

#define BAD_MASK		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2)
#define BAD_POINTER		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)

FIXTURE(rules)
{
	struct pair pair;
	struct region r;
};

FIXTURE_SETUP(rules)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(region_open(&self->pair, self->pair.b.pz, &self->r, 2 * PAGE,
			       DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(rules)
{
	pair_close(&self->pair);
}

#define EXPECT_FIELD(bit, wanted, given)				\
	do {								\
		if (mask & (bit))					\
			EXPECT_EQ(wanted, given) {			\
				TH_LOG("mask %#x", mask);		\
			}						\
	} while (0)

TEST_F(rules, lmr_query_every_mask)
{
	const DAT_LMR_PARAM want = {
		.ia_handle = TOLD_IA(self->pair.ia),
		.mem_type = DAT_MEM_TYPE_VIRTUAL,
		.region_desc.for_va = self->r.buf,
		.length = 2 * PAGE,
		.pz_handle = self->pair.b.pz,
		.mem_priv = DAT_MEM_PRIV_ALL_FLAG,
		.lmr_context = self->r.lmr_context,
		.rmr_context = self->r.rmr_context,
		.registered_size = 2 * PAGE,
		.registered_address = (uintptr_t)self->r.buf,
	};
	DAT_LMR_PARAM seen;
	unsigned int mask;

	for (mask = 0; mask <= DAT_LMR_FIELD_ALL; mask++) {
		memset(&seen, 0xa5, sizeof(seen));
		ASSERT_DAT(dat_lmr_query(self->r.lmr, mask, &seen));
		EXPECT_FIELD(DAT_LMR_FIELD_IA_HANDLE, want.ia_handle,
			     seen.ia_handle);
		EXPECT_FIELD(DAT_LMR_FIELD_MEM_TYPE, want.mem_type,
			     seen.mem_type);
		EXPECT_FIELD(DAT_LMR_FIELD_REGION_DESC, want.region_desc.for_va,
			     seen.region_desc.for_va);
		EXPECT_FIELD(DAT_LMR_FIELD_LENGTH, want.length, seen.length);
		EXPECT_FIELD(DAT_LMR_FIELD_PZ_HANDLE, want.pz_handle,
			     seen.pz_handle);
		EXPECT_FIELD(DAT_LMR_FIELD_MEM_PRIV, want.mem_priv,
			     seen.mem_priv);
		EXPECT_FIELD(DAT_LMR_FIELD_LMR_CONTEXT, want.lmr_context,
			     seen.lmr_context);
		EXPECT_FIELD(DAT_LMR_FIELD_RMR_CONTEXT, want.rmr_context,
			     seen.rmr_context);
		EXPECT_FIELD(DAT_LMR_FIELD_REGISTERED_SIZE,
			     want.registered_size, seen.registered_size);
		EXPECT_FIELD(DAT_LMR_FIELD_REGISTERED_ADDRESS,
			     want.registered_address, seen.registered_address);
	}
}

TEST_F(rules, rmr_query_every_mask)
{
	DAT_RMR_PARAM seen, want = {
		.ia_handle = TOLD_IA(self->pair.ia),
		.pz_handle = self->pair.b.pz,
		.lmr_triplet = segment(&self->r, 100, 200),
		.mem_priv = DAT_MEM_PRIV_REMOTE_READ_FLAG,
	};
	DAT_RMR_HANDLE rmr;
	unsigned int mask;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &rmr));
	ASSERT_DAT(bind_window(rmr, &self->r, 100, 200,
			       DAT_MEM_PRIV_REMOTE_READ_FLAG, self->pair.b.ep,
			       1, DAT_COMPLETION_DEFAULT_FLAG,
			       &want.rmr_context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.b.dto_evd, 1));
	for (mask = 0; mask <= DAT_RMR_FIELD_ALL; mask++) {
		memset(&seen, 0xa5, sizeof(seen));
		ASSERT_DAT(dat_rmr_query(rmr, mask, &seen));
		EXPECT_FIELD(DAT_RMR_FIELD_IA_HANDLE, want.ia_handle,
			     seen.ia_handle);
		EXPECT_FIELD(DAT_RMR_FIELD_PZ_HANDLE, want.pz_handle,
			     seen.pz_handle);
		EXPECT_FIELD(DAT_RMR_FIELD_LMR_TRIPLET,
			     want.lmr_triplet.lmr_context,
			     seen.lmr_triplet.lmr_context);
		EXPECT_FIELD(DAT_RMR_FIELD_LMR_TRIPLET,
			     want.lmr_triplet.virtual_address,
			     seen.lmr_triplet.virtual_address);
		EXPECT_FIELD(DAT_RMR_FIELD_LMR_TRIPLET,
			     want.lmr_triplet.segment_length,
			     seen.lmr_triplet.segment_length);
		EXPECT_FIELD(DAT_RMR_FIELD_MEM_PRIV, want.mem_priv,
			     seen.mem_priv);
		EXPECT_FIELD(DAT_RMR_FIELD_RMR_CONTEXT, want.rmr_context,
			     seen.rmr_context);
	}
}

TEST_F(rules, pz_query_ia)
{
	DAT_PZ_PARAM param;
	struct pair other;

	ASSERT_DAT(pair_open(&other));
	memset(&param, 0xa5, sizeof(param));
	EXPECT_DAT(dat_pz_query(self->pair.a.pz, DAT_PZ_FIELD_IA_HANDLE,
				&param));
	EXPECT_EQ(TOLD_IA(self->pair.ia), param.ia_handle);
	EXPECT_DAT(dat_pz_query(other.a.pz, DAT_PZ_FIELD_ALL, &param));
	EXPECT_EQ(TOLD_IA(other.ia), param.ia_handle);
	EXPECT_DAT(dat_pz_query(other.a.pz, 0, &param));
	pair_close(&other);
}

TEST_F(rules, query_bad_mask_or_null)
{
	DAT_LMR_PARAM lmr_param;
	DAT_RMR_PARAM rmr_param;
	DAT_PZ_PARAM pz_param;
	DAT_RMR_HANDLE rmr;
	unsigned int bit;

	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &rmr));
	for (bit = 1; bit; bit <<= 1) {
		if (bit > DAT_LMR_FIELD_ALL)
			EXPECT_EQ(BAD_MASK,
				  dat_lmr_query(self->r.lmr, bit | 1,
						&lmr_param));
		if (bit > DAT_RMR_FIELD_ALL)
			EXPECT_EQ(BAD_MASK,
				  dat_rmr_query(rmr, bit | 1, &rmr_param));
		if (bit > DAT_PZ_FIELD_ALL)
			EXPECT_EQ(BAD_MASK,
				  dat_pz_query(self->pair.b.pz, bit | 1,
					       &pz_param));
	}
	EXPECT_EQ(BAD_POINTER,
		  dat_pz_query(self->pair.b.pz, DAT_PZ_FIELD_ALL, NULL));
}

TEST_F(rules, create_null_output_pointer)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_pz_create(self->pair.ia, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_rmr_create(self->pair.b.pz, NULL));
}

TEST_F(rules, pz_create_unique_handles)
{
	DAT_PZ_HANDLE pz[16];
	unsigned int i, j;

	for (i = 0; i < 16; i++) {
		DAT_HANDLE_TYPE type;

		ASSERT_DAT(dat_pz_create(self->pair.ia, &pz[i]));
		EXPECT_DAT(dat_get_handle_type(pz[i], &type));
		EXPECT_EQ(DAT_HANDLE_TYPE_PZ, type);
		for (j = 0; j < i; j++)
			EXPECT_NE(pz[i], pz[j]);
	}
	for (i = 0; i < 16; i++)
		EXPECT_DAT(dat_pz_free(pz[i]));
}

TEST_F(rules, pz_free_in_use)
{
	DAT_PZ_PARAM param;
	struct region more;
	DAT_RMR_HANDLE rmr;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE),
		       dat_pz_free(self->pair.b.pz));
	EXPECT_DAT(dat_pz_query(self->pair.b.pz, DAT_PZ_FIELD_ALL, &param));
	EXPECT_DAT(region_open(&self->pair, self->pair.b.pz, &more, 4096,
			       DAT_MEM_PRIV_ALL_FLAG));
	EXPECT_DAT(dat_rmr_create(self->pair.b.pz, &rmr));
	EXPECT_DAT(post_recv(self->pair.b.ep, &more, 0, 64, 1));
}

/* Kilobytes that this process has locked. */
static long locked(void)
{
	static char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t len = read(fd, text, sizeof(text) - 1);
	char *found;

	close(fd);
	text[len > 0 ? len : 0] = '\0';
	found = strstr(text, "\nVmLck:");
	return found ? atol(found + strlen("\nVmLck:")) : -1;
}

TEST_F(rules, lmr_free_keeps_mlock)
{
	unsigned char in_core[2] = {};

	ASSERT_EQ(0, mlock(self->r.buf, 2 * PAGE));
	ASSERT_EQ(2 * PAGE / 1024, locked());
	memset(self->r.buf, 0x5a, 2 * PAGE);
	ASSERT_DAT(dat_lmr_free(self->r.lmr));
	EXPECT_EQ(2 * PAGE / 1024, locked());
	EXPECT_EQ(0, mincore(self->r.buf, 2 * PAGE, in_core));
	EXPECT_EQ(1, in_core[0] & 1);
	EXPECT_EQ(1, in_core[1] & 1);
	EXPECT_EQ(0x5a, self->r.buf[8191]);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * synopsis.c - the synopses of four man pages, compiled, linked and called
 *
 * The first line is the first of each synopsis, the program is linked with
 * -ldat, and the declarations are the pages': the header must agree.
 */
#include <dat/udat.h>

DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle,
			  IN DAT_MEM_TYPE mem_type,
			  IN DAT_REGION_DESCRIPTION region_description,
			  IN DAT_VLEN length,
			  IN DAT_PZ_HANDLE pz_handle,
			  IN DAT_MEM_PRIV_FLAGS mem_privileges,
			  OUT DAT_LMR_HANDLE *lmr_handle,
			  OUT DAT_LMR_CONTEXT *lmr_context,
			  OUT DAT_RMR_CONTEXT *rmr_context,
			  OUT DAT_VLEN *registered_size,
			  OUT DAT_VADDR *registered_address);

DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
				   IN const DAT_LMR_TRIPLET *local_segments,
				   IN DAT_VLEN num_segments);

/* The page leaves out a const, which no caller notices. */
DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle,
			IN const DAT_LMR_TRIPLET *lmr_triplet,
			IN DAT_MEM_PRIV_FLAGS mem_privileges,
			IN DAT_EP_HANDLE ep_handle,
			IN DAT_RMR_COOKIE user_cookie,
			IN DAT_COMPLETION_FLAGS completion_flags,
			OUT DAT_RMR_CONTEXT *rmr_context);

/* Only now whatever else a program needs. */
#include "harness.h"

#include "pair.h"

#define BAD(object) \
	(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_ ## object)

static char buffer[64];

FIXTURE(synopsis)
{
	DAT_IA_HANDLE ia;
};

FIXTURE_VARIANT(synopsis)
{
	bool open;
};

/* Before the first call of dat_ia_open() there is not even a file. */
FIXTURE_VARIANT_ADD(synopsis, before_any_ia_is_open) {
	.open = false,
};

FIXTURE_VARIANT_ADD(synopsis, with_an_ia_open) {
	.open = true,
};

FIXTURE_SETUP(synopsis)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

	if (variant->open)
		ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd,
				       &self->ia));
}

FIXTURE_TEARDOWN(synopsis)
{
	if (variant->open)
		EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(synopsis, dat_lmr_create)
{
	DAT_IA_HANDLE ia_handle = (DAT_IA_HANDLE)buffer;
	DAT_MEM_TYPE mem_type = DAT_MEM_TYPE_VIRTUAL;
	DAT_REGION_DESCRIPTION region_description = { .for_va = buffer };
	DAT_VLEN length = sizeof(buffer);
	DAT_PZ_HANDLE pz_handle = DAT_HANDLE_NULL;
	DAT_MEM_PRIV_FLAGS mem_privileges = DAT_MEM_PRIV_ALL_FLAG;
	DAT_LMR_HANDLE lmr_handle;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;

	EXPECT_EQ(BAD(IA),
		  dat_lmr_create(ia_handle, mem_type, region_description,
				 length, pz_handle, mem_privileges,
				 &lmr_handle, &lmr_context, &rmr_context,
				 &registered_size, &registered_address));
}

TEST_F(synopsis, dat_lmr_free)
{
	DAT_LMR_HANDLE lmr_handle = (DAT_LMR_HANDLE)buffer;

	EXPECT_EQ(BAD(LMR), dat_lmr_free(lmr_handle));
}

TEST_F(synopsis, dat_lmr_sync_rdma_write)
{
	DAT_IA_HANDLE ia_handle = (DAT_IA_HANDLE)buffer;
	DAT_LMR_TRIPLET local_segments[2] = { { .segment_length = 1 } };
	DAT_VLEN num_segments = 2;

	EXPECT_EQ(BAD(IA), dat_lmr_sync_rdma_write(ia_handle, local_segments,
						   num_segments));
}

TEST_F(synopsis, dat_rmr_bind)
{
	DAT_RMR_HANDLE rmr_handle = (DAT_RMR_HANDLE)buffer;
	DAT_LMR_TRIPLET lmr_triplet = { .segment_length = 1 };
	DAT_MEM_PRIV_FLAGS mem_privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	DAT_EP_HANDLE ep_handle = DAT_HANDLE_NULL;
	DAT_RMR_COOKIE user_cookie = { .as_64 = 1 };
	DAT_COMPLETION_FLAGS completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_RMR_CONTEXT rmr_context;

	/* Two handles are wrong, and either may be named. */
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
			dat_rmr_bind(rmr_handle, &lmr_triplet, mem_privileges,
				     ep_handle, user_cookie, completion_flags,
				     &rmr_context));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * synopsis.c - checks the synopses of the man pages
 *
 * Compiled as C and as C++. Does not compile unless the types of the calls and
 * the layout of the structures are those of DAT 1.2 for 64 bits.
 */
#include <dat/udat.h>

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#define ASSERT(condition)	static_assert(condition, #condition)
#else
#define ASSERT(condition)	_Static_assert(condition, #condition)
#endif

ASSERT(DAT_VERSION_MAJOR == 1 && DAT_VERSION_MINOR == 2);
ASSERT(DAT_MEM_PRIV_ALL_FLAG == 0x33);
ASSERT(DAT_INVALID_HANDLE10 == 35 && DAT_INVALID_RO_COOKIE == 102);
ASSERT(sizeof(DAT_LMR_TRIPLET) == 24 && sizeof(DAT_RMR_TRIPLET) == 24);
ASSERT(offsetof(DAT_LMR_TRIPLET, virtual_address) == 8);
ASSERT(offsetof(DAT_RMR_TRIPLET, target_address) == 8);
#if __SIZEOF_POINTER__ == 8
ASSERT(sizeof(DAT_EVENT) == 48);
ASSERT(sizeof(DAT_DTO_COMPLETION_EVENT_DATA) == 32);
ASSERT(offsetof(DAT_EVENT, event_data) == 16);
ASSERT(sizeof(DAT_REGION_DESCRIPTION) == 16);
ASSERT(sizeof(DAT_EP_ATTR) == 104);
ASSERT(sizeof(DAT_EP_PARAM) == 192);
ASSERT(sizeof(DAT_LMR_PARAM) == 80);
ASSERT(sizeof(DAT_RMR_PARAM) == 48);
#endif

/* dat_lmr_create(3DAT) */
typedef DAT_RETURN lmr_create(
	IN	DAT_IA_HANDLE		ia_handle,
	IN	DAT_MEM_TYPE		mem_type,
	IN	DAT_REGION_DESCRIPTION	region_description,
	IN	DAT_VLEN		length,
	IN	DAT_PZ_HANDLE		pz_handle,
	IN	DAT_MEM_PRIV_FLAGS	mem_privileges,
	OUT	DAT_LMR_HANDLE		*lmr_handle,
	OUT	DAT_LMR_CONTEXT		*lmr_context,
	OUT	DAT_RMR_CONTEXT		*rmr_context,
	OUT	DAT_VLEN		*registered_size,
	OUT	DAT_VADDR		*registered_address
	);

/* dat_lmr_free(3DAT) */
typedef DAT_RETURN lmr_free(
	IN	DAT_LMR_HANDLE		lmr_handle
	);

/* dat_lmr_sync_rdma_write(3DAT) */
typedef DAT_RETURN lmr_sync(
	IN	DAT_IA_HANDLE		ia_handle,
	IN	const DAT_LMR_TRIPLET	*local_segments,
	IN	DAT_VLEN		num_segments
	);

/* dat_rmr_bind(3DAT), whose page forgets a const */
typedef DAT_RETURN rmr_bind(
	IN	DAT_RMR_HANDLE		rmr_handle,
	IN	const DAT_LMR_TRIPLET	*lmr_triplet,
	IN	DAT_MEM_PRIV_FLAGS	mem_privileges,
	IN	DAT_EP_HANDLE		ep_handle,
	IN	DAT_RMR_COOKIE		user_cookie,
	IN	DAT_COMPLETION_FLAGS	completion_flags,
	OUT	DAT_RMR_CONTEXT		*rmr_context
	);

static lmr_create *const create = dat_lmr_create;
static lmr_free *const free_lmr = dat_lmr_free;
static lmr_sync *const sync_read = dat_lmr_sync_rdma_read;
static lmr_sync *const sync_write = dat_lmr_sync_rdma_write;
static rmr_bind *const bind_rmr = dat_rmr_bind;

static int failed;

static void expect(const char *what, DAT_RETURN ret, DAT_RETURN_TYPE type)
{
	const char *major = "?", *minor = "?";

	dat_strerror(ret, &major, &minor);
	if (DAT_GET_TYPE(ret) == (DAT_UINT32)type)
		return;
	fprintf(stderr, "%s: %s %s\n", what, major, minor);
	failed = 1;
}

int main(void)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET triplet;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_COOKIE cookie;
	DAT_VLEN size;
	DAT_VADDR address;
	char name[] = "no such adapter";
	char buffer[64];

	memset(&region, 0, sizeof(region));
	memset(&triplet, 0, sizeof(triplet));
	region.for_va = buffer;
	cookie.as_64 = 0;

	expect("dat_ia_open", dat_ia_open(name, 8, &async_evd, &ia),
	       DAT_PROVIDER_NOT_FOUND);
	expect("dat_lmr_create",
	       create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(buffer), pz,
		      DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context,
		      &size, &address), DAT_INVALID_HANDLE);
	expect("dat_lmr_free", free_lmr(lmr), DAT_INVALID_HANDLE);
	expect("dat_lmr_sync_rdma_read", sync_read(ia, &triplet, 1),
	       DAT_INVALID_HANDLE);
	expect("dat_lmr_sync_rdma_write", sync_write(ia, &triplet, 1),
	       DAT_INVALID_HANDLE);
	expect("dat_rmr_bind",
	       bind_rmr(rmr, &triplet, DAT_MEM_PRIV_ALL_FLAG, ep, cookie,
			DAT_COMPLETION_DEFAULT_FLAG, &rmr_context),
	       DAT_INVALID_HANDLE);
	return failed;
}

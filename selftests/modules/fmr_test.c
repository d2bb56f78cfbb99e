// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fmr_test.c - LMRs of in-kernel consumers that are registered by posting
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "kevd.h"
#include "kpair.h"
#include "report.h"

#define PAGES		16
#define SIZE		(PAGES * PAGE_SIZE)

static struct kpair pair;
static struct kregion a, b;
static DAT_LMR_HANDLE lmr;
static u8 *buf, *other;

static DAT_CONTEXT cookie(u64 value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

static DAT_REGION_DESCRIPTION at(void *address)
{
	return (DAT_REGION_DESCRIPTION){ .for_va = address };
}

/* Registers pages at an address for side b. */
static DAT_RETURN fmr(DAT_LMR_HANDLE handle, void *address, DAT_VLEN pages,
		      DAT_MEM_PRIV_FLAGS privileges, u64 id, unsigned int flags,
		      DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote)
{
	return dat_lmr_fmr(handle, DAT_MEM_TYPE_VIRTUAL, at(address), pages,
			   privileges, DAT_VA_TYPE_VA, pair.b.ep, cookie(id),
			   flags, local, remote);
}

static DAT_RETURN invalidate(DAT_LMR_HANDLE handle, u64 id, unsigned int flags)
{
	return dat_lmr_invalidate(handle, pair.b.ep, cookie(id), flags);
}

static bool completes(u64 id, DAT_DTOS op)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;

	CHECK(kwait_event(pair.b.dto_evd, &event));
	d = &event.event_data.dto_completion_event_data;
	CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	CHECK_EQ(pair.b.ep, d->ep_handle);
	CHECK_EQ(id, d->user_cookie.as_64);
	CHECK_EQ(op, d->operation);
	CHECK_EQ(DAT_DTO_SUCCESS, d->status);
	return true;
}

static bool send_behind_fmr(void)
{
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_TRIPLET seg;
	DAT_LMR_PARAM p;
	int i;

	for (i = 0; i < 100; i++) {
		u8 *at_byte = buf + 33 * i;

		kfill(buf, SIZE, i);
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 9000, 1));
		CHECK_EQ(DAT_SUCCESS,
			 fmr(lmr, at_byte, 3, DAT_MEM_PRIV_ALL_FLAG, 2,
			     DAT_COMPLETION_SUPPRESS_FLAG, &local, &remote));
		CHECK(remote);
		seg = (DAT_LMR_TRIPLET){ (uintptr_t)at_byte, 8000, local };
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_post_send(pair.b.ep, 1, &seg, cookie(3), 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
		CHECK(!memcmp(a.buf, at_byte, 8000));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 3));
		kfill(a.buf, 5000, i + 1);
		CHECK_EQ(DAT_DTO_SUCCESS,
			 kwrite(&pair, &a, 0, 5000, remote, at_byte));
		CHECK(!memcmp(a.buf, at_byte, 5000));
		CHECK_EQ(DAT_SUCCESS,
			 dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &p));
		CHECK_EQ(local, p.lmr_context);
		CHECK_EQ(remote, p.rmr_context);
		CHECK_EQ((uintptr_t)at_byte, p.registered_address);
		CHECK_EQ(3 * PAGE_SIZE - offset_in_page(at_byte),
			 p.registered_size);
		CHECK_EQ(DAT_TRUE, p.lmr_state.fmr_support);
		/* Do not wait: the next registration is posted behind it. */
		CHECK_EQ(DAT_SUCCESS,
			 invalidate(lmr, 4, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	CHECK(ksilent(pair.b.dto_evd));
	return true;
}

static bool fmr_and_invalidate_events(void)
{
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote = 1;
	unsigned int fence;

	for (fence = 0; fence < 3; fence++) {
		unsigned int flags =
			fence == 0 ? 0 :
			fence == 1 ? DAT_COMPLETION_BARRIER_FENCE_FLAG :
				     DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;

		CHECK_EQ(DAT_SUCCESS,
			 fmr(lmr, buf, 1, DAT_MEM_PRIV_LOCAL_READ_FLAG, 10, 0,
			     &local, &remote));
		CHECK_EQ(0, remote);
		CHECK(completes(10, DAT_DTO_LMR_FMR));
		CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 11, flags));
		CHECK(completes(11, DAT_DTO_LMR_INVALIDATE));
	}
	return true;
}

/* Posts Sends of all the memory, then a fenced invalidation of its registration. */
static bool invalidate_fence_waits_for_sends(void)
{
	DAT_LMR_CONTEXT local;
	DAT_LMR_TRIPLET seg;
	int i, n = 16;

	kfill(buf, SIZE, 99);
	for (i = 0; i < n; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, SIZE, 1));
	CHECK_EQ(DAT_SUCCESS, fmr(lmr, buf, PAGES, DAT_MEM_PRIV_READ_FLAG, 2,
				  DAT_COMPLETION_SUPPRESS_FLAG, &local, NULL));
	seg = (DAT_LMR_TRIPLET){ (uintptr_t)buf, SIZE, local };
	for (i = 0; i < n; i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_post_send(pair.b.ep, 1, &seg, cookie(3),
					  DAT_COMPLETION_SUPPRESS_FLAG));
	CHECK_EQ(DAT_SUCCESS,
		 invalidate(lmr, 4, DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG));
	CHECK(completes(4, DAT_DTO_LMR_INVALIDATE));
	/* The consumer owns the memory again: changes must not reach the peer. */
	memset(buf, 0, SIZE);
	for (i = 0; i < n; i++)
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
	kfill(other, SIZE, 99);
	CHECK(!memcmp(a.buf, other, SIZE));
	return true;
}

static bool registered(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
		       DAT_VLEN pages, DAT_VA_TYPE va_type, u64 address,
		       u8 *memory, size_t len)
{
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;

	CHECK_EQ(DAT_SUCCESS,
		 dat_lmr_fmr(lmr, type, region, pages, DAT_MEM_PRIV_ALL_FLAG,
			     va_type, pair.b.ep, cookie(1), 0, &local,
			     &remote));
	CHECK(completes(1, DAT_DTO_LMR_FMR));
	kfill(memory, len, 1);
	memset(a.buf, 0, len);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kread(&pair, &a, 0, len, remote, (void *)(uintptr_t)address));
	CHECK(!memcmp(a.buf, memory, len));
	kfill(a.buf, len, 2);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, len, remote, (void *)(uintptr_t)address));
	CHECK(!memcmp(a.buf, memory, len));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 2, 0));
	CHECK(completes(2, DAT_DTO_LMR_INVALIDATE));
	return true;
}

static bool fmr_every_mem_type(void)
{
	struct dat_platform_region platform = {
		.first_offset = 100,
		.virtual_address = 0x123456780000 + 100,
	};
	DAT_REGION_DESCRIPTION region;
	struct page *pages[PAGES];
	DAT_PADDR physical[PAGES], large;
	unsigned int i;
	u8 *block;

	for (i = 0; i < PAGES; i++) {
		pages[i] = vmalloc_to_page(buf + i * PAGE_SIZE);
		physical[i] = page_to_phys(pages[i]);
	}
	CHECK(registered(DAT_MEM_TYPE_VIRTUAL, at(buf + 5), PAGES,
			 DAT_VA_TYPE_VA, (uintptr_t)buf + 5, buf + 5,
			 SIZE - 5));
	CHECK(registered(DAT_MEM_TYPE_VIRTUAL, at(buf), PAGES, DAT_VA_TYPE_ZB,
			 0, buf, SIZE));
	platform.pages = pages;
	region.for_platform = &platform;
	CHECK(registered(DAT_MEM_TYPE_PLATFORM, region, PAGES, DAT_VA_TYPE_VA,
			 platform.virtual_address, buf + 100, SIZE - 100));
	region.for_physical = physical;
	CHECK(registered(DAT_MEM_TYPE_PHYSICAL, region, PAGES, DAT_VA_TYPE_VA,
			 physical[0], buf, SIZE));
	CHECK(registered(DAT_MEM_TYPE_PHYSICAL, region, 3, DAT_VA_TYPE_ZB, 0,
			 buf, 3 * PAGE_SIZE));

	block = (u8 *)__get_free_pages(GFP_KERNEL, 2);
	CHECK(block);
	large = virt_to_phys(block);
	region.for_array.page_size = 4 * PAGE_SIZE;
	region.for_array.pages = &large;
	CHECK(registered(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, region, 1,
			 DAT_VA_TYPE_VA, large, block, 4 * PAGE_SIZE));
	/* To a software device a virtual address is a DMA address. */
	region.for_ia = (uintptr_t)block;
	CHECK(registered(DAT_MEM_TYPE_IA, region, 4, DAT_VA_TYPE_VA,
			 region.for_ia, block, 4 * PAGE_SIZE));
	free_pages((unsigned long)block, 2);
	return true;
}

/* A table, as of a block request: its region ends at a byte, not at a page. */
static bool fmr_table_ends_at_byte(void)
{
	struct scatterlist sgl[3];
	struct sg_table table = { .sgl = sgl, .orig_nents = 3 };
	struct dat_platform_region platform = {
		.table = &table,
		.first_offset = 100,
		.virtual_address = 100,
	};
	DAT_REGION_DESCRIPTION region = { .for_platform = &platform };
	DAT_LMR_CONTEXT local;
	unsigned int i;

	sg_init_table(sgl, 3);
	for (i = 0; i < 3; i++)
		sg_set_page(&sgl[i], vmalloc_to_page(buf + i * PAGE_SIZE), PAGE_SIZE, 0);
	sgl[0].offset = 100;
	sgl[0].length = PAGE_SIZE - 100;
	sgl[2].length = 50;
	CHECK(registered(DAT_MEM_TYPE_PLATFORM, region, 3, DAT_VA_TYPE_VA, 100, buf + 100,
			 2 * PAGE_SIZE - 50));
	/* More pages than the table has change nothing. */
	CHECK(registered(DAT_MEM_TYPE_PLATFORM, region, PAGES, DAT_VA_TYPE_VA, 100, buf + 100,
			 2 * PAGE_SIZE - 50));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 2, 0, DAT_VA_TYPE_VA,
			      pair.b.ep, cookie(1), 0, &local, NULL));
	sgl[1].length = PAGE_SIZE - 1;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 3, 0, DAT_VA_TYPE_VA,
			      pair.b.ep, cookie(1), 0, &local, NULL));
	sgl[1].length = PAGE_SIZE;
	sgl[2].offset = 1;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 3, 0, DAT_VA_TYPE_VA,
			      pair.b.ep, cookie(1), 0, &local, NULL));
	return true;
}

/* @local is the context in the segment; @expected is the result of the post. */
static bool send_of(DAT_LMR_CONTEXT local, void *address, u32 len,
		    DAT_RETURN expected)
{
	DAT_LMR_TRIPLET seg = { (uintptr_t)address, len, local };

	CHECK_EQ(expected, dat_ep_post_send(pair.b.ep, 1, &seg, cookie(9), 0));
	return true;
}

static bool context_invalid_unless_registered(void)
{
	DAT_RETURN bad = DAT_ERROR(DAT_PROTECTION_VIOLATION,
				   DAT_PROTECTION_READ);
	DAT_LMR_CONTEXT local, next;
	DAT_RMR_CONTEXT bound;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_PARAM p;

	CHECK_EQ(DAT_SUCCESS, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &p));
	CHECK_EQ(0, p.lmr_context);
	CHECK_EQ(0, p.rmr_context);
	CHECK_EQ(0, p.registered_size);
	CHECK(send_of(0, buf, 1, bad));
	CHECK_EQ(DAT_SUCCESS, fmr(lmr, buf, 2, DAT_MEM_PRIV_ALL_FLAG, 1, 0,
				  &local, NULL));
	CHECK(send_of(local, buf, 2 * PAGE_SIZE + 1,
		      DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)));
	CHECK(send_of(local ^ 1, buf, 1, bad));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 2, 0));
	CHECK(send_of(local, buf, 1, bad));
	CHECK_EQ(DAT_SUCCESS, fmr(lmr, buf, 2, DAT_MEM_PRIV_READ_FLAG, 3, 0,
				  &next, NULL));
	CHECK(local != next);
	CHECK(send_of(local, buf, 1, bad));
	seg = (DAT_LMR_TRIPLET){ (uintptr_t)buf, 1, next };
	CHECK_RET(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE,
		  dat_ep_post_recv(pair.b.ep, 1, &seg, cookie(9), 0));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	seg = (DAT_LMR_TRIPLET){ (uintptr_t)buf, 1, local };
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			       pair.b.ep, cookie(9), 0, &bound));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_lmr_sync_rdma_read(pair.ia, &seg, 1));
	seg.lmr_context = next;
	CHECK_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_read(pair.ia, &seg, 1));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 4, 0));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK(completes(1, DAT_DTO_LMR_FMR));
	CHECK(completes(2, DAT_DTO_LMR_INVALIDATE));
	CHECK(completes(3, DAT_DTO_LMR_FMR));
	CHECK(completes(4, DAT_DTO_LMR_INVALIDATE));
	return true;
}

static bool bind_rmr_to_fmr(void)
{
	DAT_RMR_CONTEXT context;
	DAT_LMR_CONTEXT local;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_HANDLE rmr;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.b.pz, &rmr));
	CHECK_EQ(DAT_SUCCESS,
		 fmr(lmr, buf, PAGES,
		     DAT_MEM_PRIV_LOCAL_READ_FLAG |
		     DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		     1, DAT_COMPLETION_SUPPRESS_FLAG, &local, NULL));
	seg = (DAT_LMR_TRIPLET){ (uintptr_t)buf + 4000, 9000, local };
	CHECK_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &seg, KREMOTE_ALL, pair.b.ep,
					   cookie(2), 0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 2));
	kfill(a.buf, 9000, 3);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 9000, context, buf + 4000));
	CHECK(!memcmp(a.buf, buf + 4000, 9000));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
		  invalidate(lmr, 3, 0));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
		  dat_lmr_free(lmr));
	seg.segment_length = 0;
	CHECK_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &seg, 0, pair.b.ep, cookie(4),
					   0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 4));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 5, 0));
	CHECK(completes(5, DAT_DTO_LMR_INVALIDATE));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	return true;
}

static bool fmr_invalid_states(void)
{
	DAT_LMR_CONTEXT local;

	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE,
		  invalidate(lmr, 1, 0));
	CHECK_EQ(DAT_SUCCESS, fmr(lmr, buf, 1, DAT_MEM_PRIV_ALL_FLAG, 1, 0,
				  &local, NULL));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
		  fmr(lmr, buf, 1, DAT_MEM_PRIV_ALL_FLAG, 1, 0, &local, NULL));
	CHECK(completes(1, DAT_DTO_LMR_FMR));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 2, 0));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE,
		  invalidate(lmr, 3, 0));
	CHECK(completes(2, DAT_DTO_LMR_INVALIDATE));
	return true;
}

static bool fmr_arg(DAT_RETURN_SUBTYPE subtype, DAT_RETURN ret)
{
	CHECK_RET(DAT_INVALID_PARAMETER, subtype, ret);
	return true;
}

static bool fmr_bad_arguments(void)
{
	struct dat_platform_region platform = { .first_offset = 1 };
	DAT_REGION_DESCRIPTION region = { .for_platform = &platform };
	DAT_LMR_HANDLE new, stale;
	DAT_LMR_CONTEXT local;

	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_lmr_allocate(pair.b.pz, pair.b.pz, 1, DAT_LMR_SCOPE_PZ,
				   &new));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  dat_lmr_allocate(pair.ia, pair.ia, 1, DAT_LMR_SCOPE_PZ,
				   &new));
	CHECK(fmr_arg(DAT_INVALID_ARG3,
		      dat_lmr_allocate(pair.ia, pair.b.pz, 0, DAT_LMR_SCOPE_PZ,
				       &new)));
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION,
		  dat_lmr_allocate(pair.ia, pair.b.pz, INT_MAX,
				   DAT_LMR_SCOPE_PZ, &new));
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  dat_lmr_allocate(pair.ia, pair.b.pz, 1, DAT_LMR_SCOPE_EP,
				   &new));
	CHECK(fmr_arg(DAT_INVALID_ARG4,
		      dat_lmr_allocate(pair.ia, pair.b.pz, 1,
				       DAT_LMR_SCOPE_ANY, &new)));
	CHECK(fmr_arg(DAT_INVALID_ARG5,
		      dat_lmr_allocate(pair.ia, pair.b.pz, 1, DAT_LMR_SCOPE_PZ,
				       NULL)));

	CHECK_EQ(DAT_SUCCESS, dat_lmr_allocate(pair.ia, pair.b.pz, 1,
					       DAT_LMR_SCOPE_PZ, &stale));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(stale));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  fmr(stale, buf, 1, 0, 1, 0, &local, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  fmr(b.lmr, buf, 1, 0, 1, 0, &local, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  fmr(DAT_HANDLE_NULL, buf, 1, 0, 1, 0, &local, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  invalidate(pair.b.ep, 1, 0));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_lmr_invalidate(lmr, lmr, cookie(1), 0));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE,
		  dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, at(buf), 1, 0,
			      DAT_VA_TYPE_VA, pair.a.ep, cookie(1), 0, &local,
			      NULL));
	CHECK(fmr_arg(DAT_INVALID_ARG2,
		      dat_lmr_fmr(lmr, 0x1234, at(buf), 1, 0, DAT_VA_TYPE_VA,
				  pair.b.ep, cookie(1), 0, &local, NULL)));
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  dat_lmr_fmr(lmr, DAT_MEM_TYPE_LMR, at(b.lmr), 1, 0,
			      DAT_VA_TYPE_VA, pair.b.ep, cookie(1), 0, &local,
			      NULL));
	CHECK(fmr_arg(DAT_INVALID_ARG3, fmr(lmr, NULL, 1, 0, 1, 0, &local,
					    NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG3,
		      dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 1, 0,
				  DAT_VA_TYPE_VA, pair.b.ep, cookie(1), 0,
				  &local, NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG3,
		      dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, at(buf + 1), 1, 0,
				  DAT_VA_TYPE_ZB, pair.b.ep, cookie(1), 0,
				  &local, NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG4, fmr(lmr, buf, 0, 0, 1, 0, &local,
					    NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG4, fmr(lmr, buf, PAGES + 1, 0, 1, 0,
					    &local, NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG4, fmr(lmr, buf, U64_MAX, 0, 1, 0, &local,
					    NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG5, fmr(lmr, buf, 1, 0x40, 1, 0, &local,
					    NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG6,
		      dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, at(buf), 1, 0, 2,
				  pair.b.ep, cookie(1), 0, &local, NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG9,
		      fmr(lmr, buf, 1, 0, 1,
			  DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG, &local,
			  NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG9,
		      fmr(lmr, buf, 1, 0, 1, DAT_COMPLETION_UNSIGNALLED_FLAG,
			  &local, NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG10, fmr(lmr, buf, 1, 0, 1, 0, NULL,
					     NULL)));
	CHECK(fmr_arg(DAT_INVALID_ARG4,
		      invalidate(lmr, 1, DAT_COMPLETION_SOLICITED_WAIT_FLAG)));
	CHECK(fmr_arg(DAT_INVALID_ARG4,
		      invalidate(lmr, 1, DAT_COMPLETION_UNSIGNALLED_FLAG)));
	/* The rejected posts have had no effect. */
	CHECK(ksilent(pair.b.dto_evd));
	CHECK_EQ(DAT_SUCCESS, fmr(lmr, buf, PAGES, DAT_MEM_PRIV_ALL_FLAG, 1, 0,
				  &local, NULL));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 2, 0));
	CHECK(completes(1, DAT_DTO_LMR_FMR));
	CHECK(completes(2, DAT_DTO_LMR_INVALIDATE));
	return true;
}

static bool fmr_provider_attributes(void)
{
	static DAT_IA_ATTR ia;
	static DAT_PROVIDER_ATTR provider;

	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL, &ia,
			      DAT_PROVIDER_FIELD_ALL, &provider));
	CHECK_EQ(DAT_TRUE, provider.fmr_supported);
	CHECK_EQ(DAT_LMR_SCOPE_PZ, provider.lmr_for_fmr_scope_supported);
	CHECK(provider.completion_flags_supported &
	      DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG);
	return true;
}

/* Frees the LMR repeatedly while posts are outstanding. */
static bool lmr_free_with_posted_fmr(void)
{
	DAT_LMR_CONTEXT local;
	DAT_LMR_HANDLE new;
	int i;

	for (i = 0; i < 50; i++) {
		CHECK_EQ(DAT_SUCCESS,
			 dat_lmr_allocate(pair.ia, pair.b.pz, PAGES,
					  DAT_LMR_SCOPE_PZ, &new));
		CHECK_EQ(DAT_SUCCESS, fmr(new, buf, PAGES,
					  DAT_MEM_PRIV_ALL_FLAG, 1,
					  DAT_COMPLETION_SUPPRESS_FLAG, &local,
					  NULL));
		if (i & 1)
			CHECK_EQ(DAT_SUCCESS,
				 invalidate(new, 2,
					    DAT_COMPLETION_SUPPRESS_FLAG));
		CHECK_EQ(DAT_SUCCESS, dat_lmr_free(new));
		CHECK(send_of(local, buf, 1,
			      DAT_ERROR(DAT_PROTECTION_VIOLATION,
					DAT_PROTECTION_READ)));
	}
	CHECK(ksilent(pair.b.dto_evd));
	return true;
}

/*
 * Requests behind a Send without a receive are flushed with it. The state of the MR in
 * the device is then unknown; the LMR must be usable again.
 */
static bool fmr_usable_after_flush(void)
{
	DAT_EP_HANDLE ep_a, ep_b;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE new;
	bool registered;
	int i;

	/* On siw the connection breaks at once, without flushing later requests. */
	if (kpair_is_siw())
		return true;
	CHECK_EQ(DAT_SUCCESS, dat_lmr_allocate(pair.ia, pair.b.pz, PAGES,
					       DAT_LMR_SCOPE_PZ, &new));
	for (i = 0; i < 6; i++) {
		registered = i & 1;
		if (registered) {
			CHECK_EQ(DAT_SUCCESS,
				 fmr(new, buf, PAGES, DAT_MEM_PRIV_ALL_FLAG, 1,
				     0, &local, &remote));
			CHECK(completes(1, DAT_DTO_LMR_FMR));
		}
		CHECK(kpair_connect_more(&pair, &ep_a, &ep_b));
		CHECK_EQ(DAT_SUCCESS, kpost_send(ep_b, &b, 0, 1, 2));
		if (registered)
			CHECK_EQ(DAT_SUCCESS,
				 dat_lmr_invalidate(new, ep_b, cookie(3), 0));
		else
			CHECK_EQ(DAT_SUCCESS,
				 dat_lmr_fmr(new, DAT_MEM_TYPE_VIRTUAL, at(buf),
					     PAGES, DAT_MEM_PRIV_ALL_FLAG,
					     DAT_VA_TYPE_VA, ep_b, cookie(3), 0,
					     &local, &remote));
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_disconnect(ep_b, DAT_CLOSE_ABRUPT_FLAG));
		CHECK_EQ(DAT_DTO_ERR_FLUSHED, kwait_dto(pair.b.dto_evd, 2));
		CHECK_EQ(DAT_DTO_ERR_FLUSHED, kwait_dto(pair.b.dto_evd, 3));
		CHECK(kwait_number(pair.b.conn_evd,
				   DAT_CONNECTION_EVENT_DISCONNECTED));
		CHECK(kwait_number(pair.a.conn_evd,
				   DAT_CONNECTION_EVENT_DISCONNECTED));
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep_a));
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep_b));
		CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE,
			  invalidate(new, 4, 0));
		CHECK(send_of(local, buf, 1,
			      DAT_ERROR(DAT_PROTECTION_VIOLATION,
					DAT_PROTECTION_READ)));
		/* Wait, so that both slots are used again. */
		msleep(20);
	}
	CHECK_EQ(DAT_SUCCESS, fmr(new, buf, PAGES, DAT_MEM_PRIV_ALL_FLAG, 1, 0,
				  &local, &remote));
	CHECK(completes(1, DAT_DTO_LMR_FMR));
	kfill(a.buf, SIZE, 77);
	CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, SIZE, remote, buf));
	CHECK(!memcmp(a.buf, buf, SIZE));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(new));
	return true;
}

/* Last but one, because the test breaks the connection. */
/* A peer can write the last byte of a table, and not the one behind it in its page. */
static bool remote_write_behind_table(void)
{
	DAT_EP_HANDLE ep_a = pair.a.ep, ep_b = pair.b.ep;
	struct scatterlist sg;
	struct sg_table table = { .sgl = &sg, .orig_nents = 1 };
	struct dat_platform_region platform = { .table = &table };
	DAT_REGION_DESCRIPTION region = { .for_platform = &platform };
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	int status;

	sg_init_table(&sg, 1);
	sg_set_page(&sg, vmalloc_to_page(buf), 100, 0);
	CHECK_EQ(DAT_SUCCESS,
		 dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 1, DAT_MEM_PRIV_ALL_FLAG,
			     DAT_VA_TYPE_VA, ep_b, cookie(1), 0, &local, &remote));
	CHECK(completes(1, DAT_DTO_LMR_FMR));
	memset(buf, 0, 101);
	memset(a.buf, 0xff, 101);
	CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, 100, remote, NULL));
	/* The write that fails ends its connection. */
	CHECK(kpair_connect_more(&pair, &pair.a.ep, &pair.b.ep));
	status = kwrite(&pair, &a, 0, 101, remote, NULL);
	swap(pair.a.ep, ep_a);
	swap(pair.b.ep, ep_b);
	CHECK_EQ(DAT_DTO_ERR_REMOTE_ACCESS, status);
	CHECK_EQ(0xff, buf[99]);
	CHECK_EQ(0, buf[100]);
	CHECK(kwait_broken(pair.a.conn_evd));
	CHECK(kwait_any_end(pair.b.conn_evd));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep_a));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep_b));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 2, 0));
	CHECK(completes(2, DAT_DTO_LMR_INVALIDATE));
	return true;
}

static bool remote_write_after_invalidate(void)
{
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;

	CHECK_EQ(DAT_SUCCESS, fmr(lmr, buf, 1, DAT_MEM_PRIV_ALL_FLAG, 1, 0,
				  &local, &remote));
	CHECK(completes(1, DAT_DTO_LMR_FMR));
	CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, 100, remote, buf));
	CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 2, 0));
	CHECK(completes(2, DAT_DTO_LMR_INVALIDATE));
	memset(buf, 0, 100);
	memset(a.buf, 0xff, 100);
	CHECK_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		 kwrite(&pair, &a, 0, 100, remote, buf));
	CHECK(!memchr_inv(buf, 0, 100));
	CHECK(kwait_broken(pair.a.conn_evd));
	CHECK(kwait_any_end(pair.b.conn_evd));
	return true;
}

#define ROUNDS	2000

static int compare(const void *a, const void *b)
{
	const DAT_RMR_CONTEXT *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool no_context_comes_twice(DAT_RMR_CONTEXT *former)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned long limit = jiffies + 100 * HZ;
		DAT_LMR_CONTEXT local;
		DAT_RETURN ret;

		/* kdapl may still have to renew contexts. */
		do {
			ret = fmr(lmr, buf, 1, DAT_MEM_PRIV_ALL_FLAG, 1, 0,
				  &local, &former[i]);
			if (!ret)
				break;
			CHECK_RET(DAT_INSUFFICIENT_RESOURCES,
				  DAT_RESOURCE_MEMORY_REGION, ret);
			usleep_range(1000, 2000);
		} while (time_before(jiffies, limit));
		CHECK_EQ(DAT_SUCCESS, ret);
		CHECK(completes(1, DAT_DTO_LMR_FMR));
		CHECK_EQ(DAT_SUCCESS, invalidate(lmr, 2, 0));
		CHECK(completes(2, DAT_DTO_LMR_INVALIDATE));
	}
	sort(former, ROUNDS, sizeof(*former), compare, NULL);
	for (i = 1; i < ROUNDS; i++)
		CHECK(former[i - 1] != former[i]);
	return true;
}

/* The key of an MR has 8 variable bits, and each registration uses another value. */
static bool fmr_contexts_not_reused(void)
{
	DAT_RMR_CONTEXT *former = kvcalloc(ROUNDS, sizeof(*former), GFP_KERNEL);
	bool ok;

	CHECK(former);
	ok = no_context_comes_twice(former);
	kvfree(former);
	return ok;
}

static bool fmr_on_disconnected_ep(void)
{
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_PARAM p;

	CHECK_EQ(DAT_SUCCESS, fmr(lmr, buf, 1, DAT_MEM_PRIV_ALL_FLAG, 3, 0,
				  &local, &remote));
	CHECK_EQ(DAT_DTO_ERR_FLUSHED, kwait_dto(pair.b.dto_evd, 3));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &p));
	CHECK_EQ(0, p.registered_size);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE,
		  invalidate(lmr, 1, 0));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(lmr));
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(send_behind_fmr),
	TEST(fmr_and_invalidate_events),
	TEST(invalidate_fence_waits_for_sends),
	TEST(fmr_every_mem_type),
	TEST(fmr_table_ends_at_byte),
	TEST(context_invalid_unless_registered),
	TEST(bind_rmr_to_fmr),
	TEST(fmr_invalid_states),
	TEST(fmr_bad_arguments),
	TEST(fmr_provider_attributes),
	TEST(lmr_free_with_posted_fmr),
	TEST(fmr_usable_after_flush),
	TEST(fmr_contexts_not_reused),
	TEST(remote_write_behind_table),
	TEST(remote_write_after_invalidate),
	TEST(fmr_on_disconnected_ep),
};

static int __init fmr_test_init(void)
{
	int ret = report_open("kdapl_fmr_test");

	if (ret)
		return ret;
	buf = vzalloc(SIZE);
	other = vzalloc(SIZE);
	if (buf && other && kpair_open(&pair) && kpair_connect(&pair) &&
	    kregion_open(&pair, pair.a.pz, &a, SIZE, DAT_MEM_PRIV_ALL_FLAG) &&
	    kregion_open(&pair, pair.b.pz, &b, SIZE, DAT_MEM_PRIV_ALL_FLAG) &&
	    !dat_lmr_allocate(pair.ia, pair.b.pz, PAGES, DAT_LMR_SCOPE_PZ,
			      &lmr))
		report_run("kdapl_fmr_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_fmr_test.setup\n");
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	vfree(buf);
	vfree(other);
	return 0;
}

static void __exit fmr_test_exit(void)
{
	report_close();
}

module_init(fmr_test_init);
module_exit(fmr_test_exit);
MODULE_DESCRIPTION("Tests LMRs of in-kernel consumers that are registered by posting");
MODULE_LICENSE("Dual BSD/GPL");

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_mem.c - fault session with every kind of memory, and windows to it
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "fail_nth_pair.h"
#include "report.h"

#define PAGES		(REGION / PAGE_SIZE)
#define LOCAL_ALL \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

static struct kregion physical, var_pages, mapped, bypass, over, posted;
static DAT_RMR_HANDLE rmr, ep_rmr;
static DAT_RMR_CONTEXT context, ep_context;
static DAT_LMR_CONTEXT reserved;
/* Contiguous memory. To a software device its virtual address is a DMA address. */
static u8 *block;

static DAT_CONTEXT cookie(u64 value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

static DAT_RETURN memtype_hint(void)
{
	DAT_VADDR alignment;
	DAT_VLEN length;

	return dat_ia_memtype_hint(p.ia, DAT_MEM_TYPE_VIRTUAL, REGION,
				   DAT_MEM_OPTIMIZE_DONT_CARE, &length,
				   &alignment);
}

/* The reserved LMR cannot be freed, so only the first call allocates. */
static DAT_RETURN reserved_lmr(void)
{
	DAT_LMR_HANDLE lmr;

	return dat_ia_reserved_lmr(p.ia, &lmr, &reserved);
}

static void get_addresses(DAT_PADDR *addresses)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		addresses[i] = page_to_phys(vmalloc_to_page(a.buf +
							    i * PAGE_SIZE));
}

static DAT_RETURN lmr_physical(void)
{
	DAT_PADDR addresses[PAGES];
	DAT_REGION_DESCRIPTION desc = { .for_physical = addresses };

	get_addresses(addresses);
	return lmr_create(&physical, DAT_MEM_TYPE_PHYSICAL, desc, PAGES,
			  DAT_MEM_PRIV_ALL_FLAG);
}

static void undo_lmr_physical(void)
{
	MUST(dat_lmr_free(physical.lmr));
}

static DAT_RETURN lmr_var_pages(void)
{
	DAT_PADDR addresses[PAGES];
	DAT_REGION_DESCRIPTION desc = {
		.for_array = { .page_size = PAGE_SIZE, .pages = addresses },
	};

	get_addresses(addresses);
	return lmr_create(&var_pages, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, desc,
			  PAGES, DAT_MEM_PRIV_ALL_FLAG);
}

static void undo_lmr_var_pages(void)
{
	MUST(dat_lmr_free(var_pages.lmr));
}

static DAT_RETURN lmr_mapped(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_ia = (uintptr_t)block };

	return lmr_create(&mapped, DAT_MEM_TYPE_IA, desc, REGION,
			  DAT_MEM_PRIV_ALL_FLAG);
}

static void undo_lmr_mapped(void)
{
	MUST(dat_lmr_free(mapped.lmr));
}

static DAT_RETURN lmr_bypass(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_ia = (uintptr_t)block };

	bypass.buf = block;
	return lmr_create(&bypass, DAT_MEM_TYPE_BYPASS, desc, REGION,
			  LOCAL_ALL);
}

static void undo_lmr_bypass(void)
{
	MUST(dat_lmr_free(bypass.lmr));
}

static DAT_RETURN lmr_over(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = a.lmr };

	return lmr_create(&over, DAT_MEM_TYPE_LMR, desc, 0,
			  DAT_MEM_PRIV_ALL_FLAG);
}

static void undo_lmr_over(void)
{
	MUST(dat_lmr_free(over.lmr));
}

static DAT_RETURN free_over(void)
{
	return dat_lmr_free(over.lmr);
}

static void undo_free_over(void)
{
	MUST(lmr_over());
}

static DAT_RETURN lmr_allocate(void)
{
	posted.buf = a.buf;
	return dat_lmr_allocate(p.ia, p.a.pz, PAGES, DAT_LMR_SCOPE_PZ,
				&posted.lmr);
}

static void undo_lmr_allocate(void)
{
	MUST(dat_lmr_free(posted.lmr));
}

static DAT_RETURN free_allocated(void)
{
	return dat_lmr_free(posted.lmr);
}

static void undo_free_allocated(void)
{
	MUST(lmr_allocate());
}

static DAT_RETURN rmr_create(void)
{
	return dat_rmr_create(p.a.pz, &rmr);
}

static DAT_RETURN rmr_create_for_ep(void)
{
	return dat_rmr_create_for_ep(p.a.pz, &ep_rmr);
}

static void undo_rmr_create_for_ep(void)
{
	MUST(dat_rmr_free(ep_rmr));
}

static DAT_RETURN free_ep_rmr(void)
{
	return dat_rmr_free(ep_rmr);
}

static void undo_free_ep_rmr(void)
{
	MUST(rmr_create_for_ep());
}

/* Resets the EPs after a bind or post that may have succeeded. */
static DAT_RETURN renew(void)
{
	return reset() ?: dat_rmr_free(rmr) ?: rmr_create() ?:
	       dat_rmr_free(ep_rmr) ?: rmr_create_for_ep() ?:
	       dat_lmr_free(posted.lmr) ?: lmr_allocate();
}

static DAT_RETURN lmr_fmr(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = posted.buf };

	return dat_lmr_fmr(posted.lmr, DAT_MEM_TYPE_VIRTUAL, desc, PAGES,
			   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, p.a.ep,
			   cookie(3), DAT_COMPLETION_DEFAULT_FLAG,
			   &posted.lmr_context, &posted.rmr_context);
}

static DAT_RETURN lmr_invalidate(void)
{
	return dat_lmr_invalidate(posted.lmr, p.a.ep, cookie(4),
				  DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG);
}

/* Binds the whole region: it has more pieces than fit on the stack. */
static DAT_RETURN bind_zero_based(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, REGION);

	return dat_rmr_bind(rmr, a.lmr, &seg, KREMOTE_ALL, DAT_VA_TYPE_ZB,
			    p.a.ep, cookie(5), DAT_COMPLETION_DEFAULT_FLAG,
			    &context);
}

static DAT_RETURN bind_on_ep(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 1, REGION - 2);

	return dat_rmr_bind(ep_rmr, a.lmr, &seg, KREMOTE_ALL, DAT_VA_TYPE_VA,
			    p.a.ep, cookie(6), DAT_COMPLETION_DEFAULT_FLAG,
			    &ep_context);
}

static DAT_RETURN read_to_rmr(void)
{
	DAT_RMR_TRIPLET to = { (uintptr_t)a.buf + 1, 64, ep_context };
	DAT_RMR_TRIPLET from = { (uintptr_t)b.buf, 64, b.rmr_context };

	return dat_ep_post_rdma_read_to_rmr(p.a.ep, &to, cookie(7), &from,
					    DAT_COMPLETION_DEFAULT_FLAG);
}

/* Closes the window of side a. */
static DAT_RETURN send_with_invalidate(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&b, 0, 64);

	return dat_ep_post_send_with_invalidate(p.b.ep, 1, &seg, cookie(8),
						DAT_COMPLETION_DEFAULT_FLAG,
						DAT_TRUE, ep_context);
}

/* kdapl inserts the key of the reserved LMR for the device. */
static DAT_RETURN send_reserved(void)
{
	DAT_LMR_TRIPLET seg = { (uintptr_t)block, 64, reserved };

	return dat_ep_post_send(p.a.ep, 1, &seg, cookie(9),
				DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN recv_reserved(void)
{
	DAT_LMR_TRIPLET seg = { (uintptr_t)block, 64, reserved };

	return dat_ep_post_recv(p.b.ep, 1, &seg, cookie(10),
				DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN send_bypass(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&bypass, 0, 64);

	return dat_ep_post_send(p.a.ep, 1, &seg, cookie(11),
				DAT_COMPLETION_DEFAULT_FLAG);
}

static const struct step session[] = {
	QUIET(open_all),
	LOOK(memtype_hint),
	{ "reserved_lmr", reserved_lmr, NOTHING },
	MAKE_MR(lmr_physical),
	MAKE_MR(lmr_var_pages),
	MAKE_MR(lmr_mapped),
	MAKE(lmr_bypass),
	MAKE_MR(lmr_over),
	FREE(free_over),
	MAKE_MR(lmr_allocate),
	FREE(free_allocated),
	QUIET(lmr_allocate),
	MAKE_MR(rmr_create_for_ep),
	FREE(free_ep_rmr),
	QUIET(rmr_create_for_ep),
	QUIET(rmr_create),

	BEGIN(renew),
	QUIET(connect_all),
	POST(lmr_fmr),
	POST(completed_a),
	POST(lmr_invalidate),
	POST(completed_a),
	POST(bind_zero_based),
	POST(completed_a),
	POST(bind_on_ep),
	POST(completed_a),
	POST(read_to_rmr),
	POST(completed_a),
	POST(recv_a),
	POST(send_with_invalidate),
	POST(completed_b),
	POST(completed_a),
	/* A closed window can be bound again. */
	POST(bind_on_ep),
	POST(completed_a),

	BEGIN(renew),
	QUIET(connect_all),
	POST(recv_reserved),
	POST(send_reserved),
	POST(completed_a),
	POST(completed_b),
	POST(recv_reserved),
	POST(send_bypass),
	POST(completed_a),
	POST(completed_b),

	QUIET(close_all),
};

bool memory_calls_survive(void)
{
	bool ok;

	block = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
				       get_order(REGION));
	CHECK(block);
	ok = survives(session, ARRAY_SIZE(session), 10);
	free_pages((unsigned long)block, get_order(REGION));
	return ok;
}

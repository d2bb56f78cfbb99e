// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * memory.c - kdapl_fuzz.ko: the memory that calls register, and the calls that do so
 *
 * One arena for all files, from module load to unload, so that no sequence frees memory
 * that is registered. Its first part is vmalloc() memory, its last part is contiguous.
 * Lengths are cut so that a region ends with its part: the length of a region is the
 * caller's promise. The device uses virtual addresses as DMA addresses, as rxe and siw do.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "fuzz.h"

#define VIRTUAL_SIZE	(768UL << 10)
#define FLAT_ORDER	get_order(256UL << 10)
#define FLAT_SIZE	(PAGE_SIZE << FLAT_ORDER)

/* The lmr_context of the reserved LMR: the caller vouches for the addresses. */
#define RESERVED_CONTEXT	U32_MAX

static u8 *virtual, *flat;

int kapi_memory_init(void)
{
	virtual = vzalloc(VIRTUAL_SIZE);
	flat = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, FLAT_ORDER);
	if (virtual && flat)
		return 0;
	kapi_memory_exit();
	return -ENOMEM;
}

void kapi_memory_exit(void)
{
	free_pages((unsigned long)flat, FLAT_ORDER);
	vfree(virtual);
}

/**
 * kapi_arena - memory for data that kdapl reads, of at least 64 KiB
 */
void *kapi_arena(void)
{
	return flat;
}

static u8 *flat_at(u64 address, u64 *left)
{
	u64 offset = (address - KAPI_ARENA) % FLAT_SIZE;

	*left = FLAT_SIZE - offset;
	return flat + offset;
}

/* The memory at an address of the fuzzer, and the bytes from there to the end of its part */
static u8 *memory_at(u64 address, u64 *left)
{
	u64 offset = (address - KAPI_ARENA) % (VIRTUAL_SIZE + FLAT_SIZE);

	if (offset >= VIRTUAL_SIZE)
		return flat_at(address - VIRTUAL_SIZE, left);
	*left = VIRTUAL_SIZE - offset;
	return virtual + offset;
}

/**
 * kapi_fix_segments - copy triplets, those of the reserved LMR with an address of our memory
 * @k: out: the call
 * @from: k->c.num_segments triplets
 */
void kapi_fix_segments(struct kapi *k, const struct kapi_segment *from)
{
	unsigned int i;

	for (i = 0; i < k->c.num_segments; i++) {
		DAT_LMR_TRIPLET *t = &k->segments[i];
		u64 left;

		t->virtual_address = from[i].virtual_address;
		t->segment_length = from[i].length;
		t->lmr_context = from[i].lmr_context;
		if (t->lmr_context != RESERVED_CONTEXT)
			continue;
		t->virtual_address = (uintptr_t)flat_at(from[i].virtual_address, &left);
		t->segment_length = min_t(u64, t->segment_length, left);
	}
}

static DAT_MEM_TYPE mem_type(u64 number)
{
	static const DAT_MEM_TYPE types[] = {
		DAT_MEM_TYPE_VIRTUAL, DAT_MEM_TYPE_LMR, DAT_MEM_TYPE_PHYSICAL,
		DAT_MEM_TYPE_PLATFORM, DAT_MEM_TYPE_IA, DAT_MEM_TYPE_BYPASS,
		DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
	};

	return number < ARRAY_SIZE(types) ? types[number] : (DAT_MEM_TYPE)number;
}

static struct page *page_at(const u8 *address)
{
	return is_vmalloc_addr(address) ? vmalloc_to_page(address) : virt_to_page(address);
}

/* Bytes of the pages that PAGE_SIZE << 0, 1, 2, or 3 pages, or no page can be */
static u64 var_page_size(u64 number)
{
	static const u64 sizes[] = { PAGE_SIZE, 2 * PAGE_SIZE, 4 * PAGE_SIZE, 3 * PAGE_SIZE,
				     PAGE_SIZE / 2, 0 };

	return sizes[number % ARRAY_SIZE(sizes)];
}

static void list_pages(struct kapi *k, const u8 *memory, u64 left, u64 step, u64 *num)
{
	u64 i, most;

	step = step ?: PAGE_SIZE;
	most = min_t(u64, left / step, MAX_PAGES);
	for (i = 0; i < most; i++) {
		k->pages[i] = page_at(memory + i * step);
		k->addresses[i] = page_to_phys(k->pages[i]);
	}
	*num = min(*num, most);
}

/*
 * The description of a region. @length, in the unit of the type, is cut to what there is. For
 * dat_lmr_fmr() it is a number of pages, whatever the type.
 */
static DAT_REGION_DESCRIPTION describe(struct kapi *k, DAT_MEM_TYPE type, u64 address,
				       u64 *length, bool in_pages)
{
	DAT_REGION_DESCRIPTION region = {};
	u64 left, pages, unit = in_pages ? PAGE_SIZE : 1;
	u8 *memory = memory_at(address, &left);

	pages = DIV_ROUND_UP(left, PAGE_SIZE);
	switch (type) {
	case DAT_MEM_TYPE_LMR:
		region.for_lmr_handle = HANDLE(8);
		break;
	case DAT_MEM_TYPE_PHYSICAL:
		memory = PTR_ALIGN_DOWN(memory, PAGE_SIZE);
		list_pages(k, memory, pages * PAGE_SIZE, PAGE_SIZE, length);
		region.for_physical = PTR(1, k->addresses);
		break;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		memory = PTR_ALIGN_DOWN(flat_at(address, &left), PAGE_SIZE);
		left = round_up(left, PAGE_SIZE);
		region.for_array.page_size = var_page_size(ARG(9));
		list_pages(k, memory, left, region.for_array.page_size, length);
		region.for_array.pages = PTR(1, k->addresses);
		break;
	case DAT_MEM_TYPE_PLATFORM:
		pages = min_t(u64, pages, MAX_PAGES);
		left = min_t(u64, left, pages * PAGE_SIZE - offset_in_page(memory));
		k->platform.first_offset = offset_in_page(memory);
		k->platform.virtual_address = address;
		if (!(ARG(9) & 1))
			k->platform.virtual_address = (uintptr_t)memory;
		list_pages(k, PTR_ALIGN_DOWN(memory, PAGE_SIZE), pages * PAGE_SIZE, PAGE_SIZE,
			   &pages);
		k->platform.pages = k->pages;
		region.for_platform = PTR(1, &k->platform);
		*length = min(*length, in_pages ? pages : left);
		break;
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
		region.for_ia = (uintptr_t)flat_at(address, &left);
		*length = min(*length, DIV_ROUND_UP(left, unit));
		break;
	default:
		region.for_va = memory;
		*length = min(*length, DIV_ROUND_UP(left, unit));
	}
	return region;
}

DAT_RETURN kapi_lmr_kcreate(struct kapi *k)
{
	DAT_MEM_TYPE type = mem_type(ARG(1));
	DAT_LMR_CONTEXT lmr_context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr = NULL;
	u64 length = ARG(3);
	DAT_VADDR address = 0;
	DAT_VLEN size = 0;
	DAT_RETURN ret;

	region = describe(k, type, ARG(2), &length, false);
	ret = dat_lmr_kcreate(HANDLE(0), type, region, length, HANDLE(4), ARG(5), ARG(6), ARG(7),
			      PTR(0, &lmr), PTR(2, &lmr_context), PTR(3, &rmr_context),
			      PTR(4, &size), PTR(5, &address));
	k->c.out[1] = lmr_context;
	k->c.out[2] = rmr_context;
	k->c.out[3] = size;
	k->c.out[4] = address;
	return kapi_made(k, ret, &lmr);
}

DAT_RETURN kapi_lmr_allocate(struct kapi *k)
{
	DAT_LMR_HANDLE lmr = NULL;

	return kapi_made(k, dat_lmr_allocate(HANDLE(0), HANDLE(1), ARG(2), ARG(3), PTR(0, &lmr)),
			 &lmr);
}

/* The context of the call's results is that of the fuzzer's LMR, as for dat_lmr_kcreate(). */
DAT_RETURN kapi_lmr_fmr(struct kapi *k)
{
	DAT_MEM_TYPE type = mem_type(ARG(1));
	DAT_LMR_CONTEXT lmr_context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_REGION_DESCRIPTION region;
	u64 pages = ARG(3);
	DAT_RETURN ret;

	region = describe(k, type, ARG(2), &pages, true);
	ret = dat_lmr_fmr(HANDLE(0), type, region, pages, ARG(4), ARG(5), HANDLE(6), COOKIE(7),
			  ARG(10), PTR(0, &lmr_context), PTR(2, &rmr_context));
	k->c.out[1] = lmr_context;
	k->c.out[2] = rmr_context;
	k->c.out[3] = pages * PAGE_SIZE;
	if (ARG(5) == DAT_VA_TYPE_ZB)
		return ret;
	if (type == DAT_MEM_TYPE_PHYSICAL || type == DAT_MEM_TYPE_PHYSICAL_VAR_PAGES)
		k->c.out[4] = k->addresses[0];
	else if (type == DAT_MEM_TYPE_PLATFORM)
		k->c.out[4] = k->platform.virtual_address;
	else
		k->c.out[4] = (uintptr_t)region.for_va;
	return ret;
}

DAT_RETURN kapi_lmr_invalidate(struct kapi *k)
{
	return dat_lmr_invalidate(HANDLE(0), HANDLE(1), COOKIE(2), ARG(3));
}

DAT_RETURN kapi_lmr_query(struct kapi *k)
{
	return dat_lmr_query(HANDLE(0), ARG(1), PTR(0, &k->u.lmr_param));
}

DAT_RETURN kapi_lmr_free(struct kapi *k)
{
	return dat_lmr_free(HANDLE(0));
}

DAT_RETURN kapi_lmr_sync_rdma_read(struct kapi *k)
{
	return dat_lmr_sync_rdma_read(HANDLE(0), k->segments,
				      min_t(u64, ARG(1), KAPI_SEGMENTS));
}

DAT_RETURN kapi_lmr_sync_rdma_write(struct kapi *k)
{
	return dat_lmr_sync_rdma_write(HANDLE(0), k->segments,
				       min_t(u64, ARG(1), KAPI_SEGMENTS));
}

DAT_RETURN kapi_ia_memtype_hint(struct kapi *k)
{
	DAT_VADDR alignment;
	DAT_VLEN length;

	return dat_ia_memtype_hint(HANDLE(0), mem_type(ARG(1)), ARG(2), ARG(3), &length,
				   &alignment);
}

DAT_RETURN kapi_ia_reserved_lmr(struct kapi *k)
{
	DAT_LMR_HANDLE lmr = NULL;
	DAT_LMR_CONTEXT context = 0;
	DAT_RETURN ret = dat_ia_reserved_lmr(HANDLE(0), PTR(0, &lmr), PTR(1, &context));

	k->c.out[1] = context;
	k->c.out[4] = KAPI_ARENA;
	return kapi_made(k, ret, &lmr);
}

DAT_RETURN kapi_rmr_create(struct kapi *k)
{
	DAT_RMR_HANDLE rmr = NULL;

	return kapi_made(k, dat_rmr_create(HANDLE(0), PTR(0, &rmr)), &rmr);
}

DAT_RETURN kapi_rmr_create_for_ep(struct kapi *k)
{
	DAT_RMR_HANDLE rmr = NULL;

	return kapi_made(k, dat_rmr_create_for_ep(HANDLE(0), PTR(0, &rmr)), &rmr);
}

DAT_RETURN kapi_rmr_query(struct kapi *k)
{
	return dat_rmr_query(HANDLE(0), ARG(1), PTR(0, &k->u.rmr_param));
}

DAT_RETURN kapi_rmr_renew(struct kapi *k)
{
	return dat_rmr_renew(HANDLE(0));
}

DAT_RETURN kapi_rmr_free(struct kapi *k)
{
	return dat_rmr_free(HANDLE(0));
}

DAT_RETURN kapi_rmr_bind(struct kapi *k)
{
	DAT_RMR_CONTEXT context = 0;
	DAT_RETURN ret;

	ret = dat_rmr_bind(HANDLE(0), HANDLE(1), PTR(0, &k->segments[0]), ARG(2), ARG(3),
			   HANDLE(4), COOKIE(5), ARG(6), PTR(1, &context));
	k->c.out[2] = context;
	return ret;
}

DAT_RETURN kapi_rmr_bind_1_2(struct kapi *k)
{
	DAT_RMR_CONTEXT context = 0;
	DAT_RETURN ret;

	ret = dat_rmr_bind(HANDLE(0), PTR(0, &k->segments[0]), ARG(2), HANDLE(4), COOKIE(5),
			   ARG(6), PTR(1, &context));
	k->c.out[2] = context;
	return ret;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mem_types.c - registration of every memory type
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "mem.h"

#define BAD_REGION	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)
#define BAD_LENGTH	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4)
#define TOO_LARGE	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, \
				  DAT_RESOURCE_MEMORY_REGION)

static DAT_RETURN create_as(DAT_MEM_PRIV_FLAGS privileges,
			    DAT_VA_TYPE va_type, struct kregion *r)
{
	return mem_create(mem_pair.b.pz, privileges, va_type,
			  DAT_MEM_OPTIMIZE_DONT_CARE, r);
}

static DAT_RETURN create(struct kregion *r)
{
	return create_as(DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, r);
}

bool virtual_memory(void)
{
	CHECK(mem_alloc(1, 2));
	mem_as_virtual(33, 3 * PAGE_SIZE);
	CHECK(mem_works());
	CHECK(!mem.pieces[0][32] && !mem.pieces[0][33 + 3 * PAGE_SIZE]);
	return true;
}

/* Contiguous pages, more than one registration holds. */
bool virtual_memory_high_order(void)
{
	const size_t len = PAGE_SIZE << 10;

	CHECK(mem_alloc(1, 10));
	mem_as_virtual(0, len);
	CHECK(mem_works());
	mem_as_virtual(PAGE_SIZE - 3, len - PAGE_SIZE);
	CHECK(mem_works());
	mem_as_virtual(0x2345, len - 0x2345 - 7);
	CHECK(mem_works_as(DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_IA));
	return true;
}

static DAT_RETURN create_at(const void *address, size_t len)
{
	struct kregion r;

	mem.type = DAT_MEM_TYPE_VIRTUAL;
	mem.desc.for_va = (void *)address;
	mem.desc_len = len;
	return create(&r);
}

bool virtual_memory_bad_addresses(void)
{
	u8 on_stack[16] = {};
	void __iomem *regs;
	void *hole;

	CHECK_EQ(BAD_REGION, create_at(on_stack, sizeof(on_stack)));
	/* On arm64 modules lie in the vmalloc() area, so their text is accepted. */
	if (!is_vmalloc_addr(create_at))
		CHECK_EQ(BAD_REGION, create_at(create_at, 16));
	CHECK_EQ(BAD_REGION, create_at((void *)16, 16));
	CHECK_EQ(BAD_REGION, create_at(NULL, PAGE_SIZE));
	CHECK_EQ(BAD_LENGTH, create_at((void *)-16L, 17));
	CHECK_EQ(BAD_LENGTH, create_at(mem_a.buf, 0));
	CHECK_EQ(TOO_LARGE, create_at(mem_a.buf, 1ULL << 32));
	/* The guard page behind the allocation is not memory. */
	hole = vmalloc(PAGE_SIZE);
	CHECK(hole);
	CHECK_EQ(BAD_REGION, create_at(hole, PAGE_SIZE + 1));
	vfree(hole);
	/* Device registers: the local APIC of every PC. */
	regs = ioremap(0xfee00000, PAGE_SIZE);
	CHECK(regs);
	CHECK_EQ(BAD_REGION, create_at((__force void *)regs, 16));
	iounmap(regs);
	return true;
}

bool physical_pages(void)
{
	CHECK(mem_alloc(7, 0));
	mem_as_physical();
	CHECK(mem_works());
	mem_as_physical();
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_IA));
	return true;
}

bool physical_pages_bad_desc(void)
{
	struct kregion r;

	CHECK(mem_alloc(3, 0));
	mem_as_physical();
	mem.addresses[2] += 512;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.addresses[2] = 1ULL << 51;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.desc_len = 0;
	CHECK_EQ(BAD_LENGTH, create(&r));
	mem.desc_len = 1ULL << 52;
	CHECK_EQ(BAD_LENGTH, create(&r));
	mem.desc_len = 3;
	mem.desc.for_physical = NULL;
	CHECK_EQ(BAD_REGION, create(&r));
	return true;
}

bool physical_var_pages(void)
{
	CHECK(mem_alloc(5, 2));
	mem_as_var_pages();
	CHECK(mem_works());
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_IA));
	return true;
}

/* 2048 pages of PAGE_SIZE. */
bool physical_var_pages_beyond_list(void)
{
	CHECK(mem_alloc(2, 10));
	mem_as_var_pages();
	CHECK(mem_works());
	return true;
}

bool physical_var_pages_bad_desc(void)
{
	static const size_t bad[] = { 0, 512, 6000, PAGE_SIZE + 1 };
	struct kregion r;
	size_t i;

	CHECK(mem_alloc(2, 1));
	mem_as_var_pages();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		mem.desc.for_array.page_size = bad[i];
		CHECK_EQ(BAD_REGION, create(&r));
	}
	mem_as_var_pages();
	mem.desc.for_array.pages = NULL;
	CHECK_EQ(BAD_REGION, create(&r));
	mem_as_var_pages();
	mem.addresses[1] += 8;
	CHECK_EQ(BAD_REGION, create(&r));
	return true;
}

bool platform_pages(void)
{
	struct kregion r;

	CHECK(mem_alloc(6, 0));
	mem_as_platform(100, 5 * PAGE_SIZE);
	CHECK(mem_works());
	mem_as_platform(0, 6 * PAGE_SIZE);
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE));
	mem.pages[3] = NULL;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.platform.virtual_address++;
	CHECK_EQ(BAD_REGION, create(&r));
	return true;
}

bool platform_sg_table(void)
{
	struct scatterlist *second;
	struct kregion r;
	struct page *page;

	CHECK(mem_alloc(6, 1));
	CHECK(mem_as_table(100, 5 * mem.piece_len));
	CHECK(mem_works());
	/* Freeing the LMR has not changed the table. */
	CHECK(mem_works());
	CHECK(mem_as_table(PAGE_SIZE - 1, PAGE_SIZE + 1 + PAGE_SIZE + 1));
	CHECK(mem_works());
	CHECK(mem_as_table(17, 5));
	CHECK(mem_works());
	CHECK(mem_as_table(0, 6 * mem.piece_len));
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE));

	/* Pages and a table exclude each other. */
	mem.platform.pages = mem.pages;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.platform.pages = NULL;
	mem.platform.table = NULL;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.platform.table = &mem.table;
	/* The table is longer or shorter than the region. */
	mem.desc_len++;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.desc_len -= 2;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.desc_len++;
	/* The first segment begins at another offset in its page. */
	mem.table.sgl->offset = 1;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.table.sgl->offset = 0;
	/* There is a gap before or after the second segment. */
	second = sg_next(mem.table.sgl);
	second->offset = 1;
	CHECK_EQ(BAD_REGION, create(&r));
	second->offset = 0;
	second->length--;
	mem.desc_len--;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.desc_len++;
	/* One segment has no page, or no length. */
	second->length++;
	page = sg_page(second);
	sg_assign_page(second, NULL);
	CHECK_EQ(BAD_REGION, create(&r));
	sg_assign_page(second, page);
	mem.desc_len -= second->length;
	second->length = 0;
	CHECK_EQ(BAD_REGION, create(&r));
	return true;
}

/* No two segments are contiguous, and two have only one byte. */
bool scattered_pages_max_size(void)
{
	unsigned int num = mem_attr.max_lmr_block_size / PAGE_SIZE;

	CHECK(num >= 64 && num + 3 < MEM_MAX_PIECES);
	CHECK(mem_alloc(num + 1, 0));
	mem_as_platform(PAGE_SIZE - 1, mem_attr.max_lmr_block_size);
	CHECK(mem_works());
	return true;
}

bool scattered_pages_beyond_one_list(void)
{
	unsigned int num = mem_attr.max_lmr_block_size / PAGE_SIZE + 2;
	struct kregion r;

	CHECK(mem_alloc(num, 0));
	mem_as_physical();
	CHECK_EQ(TOO_LARGE, create(&r));
	return true;
}

bool ia_mapped_memory(void)
{
	struct kregion r;

	CHECK(mem_alloc(1, 3));
	mem_as_ia(0, 8 * PAGE_SIZE);
	CHECK(mem_works());
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE));
	mem_as_ia(77, 5 * PAGE_SIZE);
	CHECK(mem_works());
	mem.desc.for_ia = 0x1000;
	CHECK_EQ(BAD_REGION, create(&r));
	mem.desc.for_ia = -16ULL;
	CHECK_EQ(BAD_LENGTH, create(&r));
	return true;
}

static bool create_bypass(size_t first, size_t len,
			  DAT_MEM_PRIV_FLAGS privileges, struct kregion *r)
{
	mem_as_bypass(first, len);
	CHECK_EQ(DAT_SUCCESS,
		 mem_create(mem_pair.a.pz, privileges, DAT_VA_TYPE_VA,
			    DAT_MEM_OPTIMIZE_DONT_CARE, r));
	CHECK_EQ(0, r->rmr_context);
	return true;
}

#define LOCAL_ALL (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

bool bypass_memory(void)
{
	struct kregion r;

	CHECK(mem_alloc(1, 10));
	CHECK(create_bypass(55, (PAGE_SIZE << 10) - 111, LOCAL_ALL, &r));
	CHECK(mem_is_local(&r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  kpost_send(mem_pair.a.ep, &r, r.len, 1, 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  kpost_send(mem_pair.a.ep, &r, -1, 1, 1));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ,
		  kpost_send(mem_pair.a.ep, &r, 0, 1, 1));
	return true;
}

/* Without a registration nothing limits a peer, so remote privileges are rejected. */
bool bypass_remote_privileges_rejected(void)
{
	struct kregion r;

	CHECK(mem_alloc(1, 0));
	mem_as_bypass(0, PAGE_SIZE);
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  create_as(DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, &r));
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  create_as(DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &r));
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  create_as(LOCAL_ALL, DAT_VA_TYPE_ZB, &r));
	mem.desc.for_ia = 0x1000;
	CHECK_EQ(BAD_REGION,
		 create_as(LOCAL_ALL, DAT_VA_TYPE_VA, &r));
	return true;
}

/* The LMRs share one context, and each has its own extent and privileges. */
bool bypass_several_lmrs(void)
{
	struct kregion r[3];

	CHECK(mem_alloc(1, 2));
	CHECK(create_bypass(0, 1000, LOCAL_ALL, &r[0]));
	CHECK(create_bypass(2000, 1000, DAT_MEM_PRIV_LOCAL_READ_FLAG, &r[1]));
	CHECK(create_bypass(4000, 1000, LOCAL_ALL, &r[2]));
	CHECK_EQ(r[0].lmr_context, r[1].lmr_context);
	CHECK_EQ(r[0].lmr_context, r[2].lmr_context);
	CHECK(mem_is_local(&r[2]));
	mem_as_bypass(0, 1000);
	CHECK(mem_is_local(&r[0]));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  kpost_send(mem_pair.a.ep, &r[0], 1000, 1, 1));
	CHECK(kpost_recv(mem_pair.a.ep, &r[1], 0, 1, 1) != DAT_SUCCESS);
	/* Free the middle one, the first, the last. */
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r[1].lmr));
	CHECK(kpost_send(mem_pair.a.ep, &r[1], 0, 1, 1) != DAT_SUCCESS);
	CHECK(mem_is_local(&r[0]));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r[0].lmr));
	CHECK(kpost_send(mem_pair.a.ep, &r[0], 0, 1, 1) != DAT_SUCCESS);
	mem_as_bypass(4000, 1000);
	CHECK(mem_is_local(&r[2]));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r[2].lmr));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ,
		  kpost_send(mem_pair.a.ep, &r[2], 0, 1, 1));
	return true;
}

bool zero_based_memory_alignment(void)
{
	struct kregion r;

	CHECK(mem_attr.zb_supported);
	CHECK(mem_alloc(1, 10));
	mem_as_virtual(0, 5000);
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE));
	mem_as_virtual(PAGE_SIZE, (PAGE_SIZE << 10) / 4);
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE));
	mem_as_virtual(0, PAGE_SIZE << 10);
	CHECK(mem_works_as(DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE));
	mem_as_virtual(1, 5000);
	CHECK_RET(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  create_as(DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7,
		  create_as(DAT_MEM_PRIV_ALL_FLAG, 2, &r));
	return true;
}

/* Neither the virtual address of the memory nor an offset behind it is valid. */
bool zero_based_memory_range(void)
{
	DAT_LMR_TRIPLET seg = { .segment_length = 1 };
	struct kregion r;

	CHECK(mem_alloc(1, 1));
	mem_as_virtual(0, 5000);
	CHECK_EQ(DAT_SUCCESS,
		 mem_create(mem_pair.a.pz, DAT_MEM_PRIV_ALL_FLAG,
			    DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_DONT_CARE, &r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  kpost_send(mem_pair.a.ep, &r, 5000, 1, 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  kpost_send(mem_pair.a.ep, &r, mem.start, 1, 1));
	seg.lmr_context = r.lmr_context;
	seg.virtual_address = 4999;
	CHECK_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_write(mem_pair.ia, &seg, 1));
	seg.virtual_address = 5000;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_lmr_sync_rdma_write(mem_pair.ia, &seg, 1));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	return true;
}

bool lmr_mem_types(void)
{
	struct kregion r;

	CHECK_EQ(DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
		 DAT_MEM_TYPE_PHYSICAL | DAT_MEM_TYPE_PLATFORM |
		 DAT_MEM_TYPE_IA | DAT_MEM_TYPE_BYPASS |
		 DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
		 mem_provider.lmr_mem_types_supported);
	CHECK(mem_alloc(1, 0));
	mem_as_virtual(0, 10);
	mem.type = DAT_MEM_TYPE_PHYSICAL | DAT_MEM_TYPE_IA;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2, create(&r));
	mem.type = 0x200;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2, create(&r));
	return true;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mem_hint.c - queries, hints and optimization flags of LMRs
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "mem.h"

#define LOCAL_ALL \
	(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

bool lmr_query_all_fields(void)
{
	DAT_LMR_PARAM p = {};
	struct kregion r;

	CHECK(mem_alloc(4, 1));
	mem_as_var_pages();
	CHECK_EQ(DAT_SUCCESS,
		 mem_create(mem_pair.b.pz, DAT_MEM_PRIV_READ_FLAG,
			    DAT_VA_TYPE_ZB, DAT_MEM_OPTIMIZE_IA, &r));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &p));
	CHECK_EQ((uintptr_t)mem_pair.ia, (uintptr_t)p.ia_handle);
	CHECK_EQ(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, p.mem_type);
	CHECK_EQ(mem.piece_len, p.region_desc.for_array.page_size);
	CHECK_EQ((uintptr_t)mem.addresses,
		 (uintptr_t)p.region_desc.for_array.pages);
	CHECK_EQ(4, p.length);
	CHECK_EQ((uintptr_t)mem_pair.b.pz, (uintptr_t)p.pz_handle);
	CHECK_EQ(DAT_MEM_PRIV_READ_FLAG, p.mem_priv);
	CHECK_EQ(DAT_VA_TYPE_ZB, p.va_type);
	CHECK_EQ(r.lmr_context, p.lmr_context);
	CHECK_EQ(r.rmr_context, p.rmr_context);
	CHECK_EQ(8 * PAGE_SIZE, p.registered_size);
	CHECK_EQ(0, p.registered_address);
	CHECK(!p.lmr_state.fmr_support && !p.lmr_state.bound);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_lmr_query(r.lmr, 0x1000, &p));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &p));
	return true;
}

bool optimization_flags(void)
{
	struct kregion r;
	unsigned int i;

	CHECK(mem_alloc(1, 9));
	mem_as_virtual(3, (PAGE_SIZE << 9) - 7);
	for (i = 0; i < 8; i++)
		CHECK(mem_works_as(DAT_VA_TYPE_VA, i));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8,
		  mem_create(mem_pair.a.pz, LOCAL_ALL, DAT_VA_TYPE_VA, 8, &r));
	return true;
}

static DAT_RETURN hint(DAT_MEM_TYPE type, DAT_VLEN length,
		       DAT_MEM_OPTIMIZE_FLAGS flags, DAT_VLEN *preferred,
		       DAT_VADDR *alignment)
{
	*preferred = 0;
	*alignment = 0;
	return dat_ia_memtype_hint(mem_pair.ia, type, length, flags, preferred,
				   alignment);
}

bool memtype_hint_values(void)
{
	const DAT_VLEN block = mem_attr.max_lmr_block_size;
	DAT_VADDR align;
	DAT_VLEN len;

	CHECK_EQ(DAT_SUCCESS, hint(DAT_MEM_TYPE_VIRTUAL, PAGE_SIZE + 900,
				   DAT_MEM_OPTIMIZE_DONT_CARE, &len, &align));
	CHECK_EQ(2 * PAGE_SIZE, len);
	CHECK_EQ(PAGE_SIZE, align);
	CHECK_EQ(DAT_SUCCESS, hint(DAT_MEM_TYPE_PLATFORM, block,
				   DAT_MEM_OPTIMIZE_EXACT_EXPOSURE, &len,
				   &align));
	CHECK_EQ(block, len);
	CHECK_EQ(1, align);
	CHECK_EQ(DAT_SUCCESS, hint(DAT_MEM_TYPE_PHYSICAL, 3,
				   DAT_MEM_OPTIMIZE_MIN_EXPOSURE, &len,
				   &align));
	CHECK_EQ(3, len);
	CHECK_EQ(PAGE_SIZE, align);
	CHECK_EQ(DAT_SUCCESS, hint(DAT_MEM_TYPE_BYPASS, 12345,
				   DAT_MEM_OPTIMIZE_IA, &len, &align));
	CHECK_EQ(12345, len);
	CHECK_EQ(1, align);
	CHECK_EQ(DAT_SUCCESS, hint(DAT_MEM_TYPE_LMR, 1,
				   DAT_MEM_OPTIMIZE_IA, &len, &align));
	CHECK_EQ(1, len);
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION,
		  hint(DAT_MEM_TYPE_VIRTUAL, 1ULL << 32,
		       DAT_MEM_OPTIMIZE_IA, &len, &align));
	return true;
}

/* Memory whose layout follows the hint can be registered. */
bool memtype_hint_beyond_block_size(void)
{
	DAT_VADDR align;
	DAT_VLEN len;

	CHECK_EQ(DAT_SUCCESS, hint(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
				   8 * SZ_1M / PAGE_SIZE,
				   DAT_MEM_OPTIMIZE_IA, &len, &align));
	CHECK_EQ(8 * SZ_1M, len * PAGE_SIZE);
	CHECK(is_power_of_2(align) && align >= PAGE_SIZE);
	CHECK(mem_alloc(DIV_ROUND_UP(8 * SZ_1M, align), get_order(align)));
	mem_as_var_pages();
	CHECK(mem_works());
	return true;
}

bool memtype_hint_bad_parameters(void)
{
	DAT_VADDR align;
	DAT_VLEN len;

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  hint(0x11, 1, DAT_MEM_OPTIMIZE_IA, &len, &align));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  hint(2, 1, DAT_MEM_OPTIMIZE_IA, &len, &align));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  hint(DAT_MEM_TYPE_VIRTUAL, 0, DAT_MEM_OPTIMIZE_IA, &len,
		       &align));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  hint(DAT_MEM_TYPE_VIRTUAL, 1, 8, &len, &align));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_ia_memtype_hint(mem_pair.ia, DAT_MEM_TYPE_VIRTUAL, 1,
				      DAT_MEM_OPTIMIZE_IA, NULL, &align));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
		  dat_ia_memtype_hint(mem_pair.ia, DAT_MEM_TYPE_VIRTUAL, 1,
				      DAT_MEM_OPTIMIZE_IA, &len, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_ia_memtype_hint(mem_pair.a.pz, DAT_MEM_TYPE_VIRTUAL, 1,
				      DAT_MEM_OPTIMIZE_IA, &len, &align));
	return true;
}

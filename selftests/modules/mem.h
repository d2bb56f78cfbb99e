/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mem.h - memory of every type, for the tests of its registration
 */
#ifndef SELFTESTS_MEM_H
#define SELFTESTS_MEM_H

#include <linux/scatterlist.h>

#include "kpair.h"
#include "report.h"

#define MEM_MAX_PIECES	1024

/**
 * struct mem - memory and its description for dat_lmr_kcreate()
 * @type: memory type
 * @desc: description, as @type requires
 * @desc_len: length of the description, in the unit of @type
 * @start: address that triplets use for the first byte
 * @len: bytes
 * @pieces: kernel addresses of the pieces
 * @piece_len: bytes of each piece
 * @order: order of the allocation of each piece
 * @num: number of pieces
 * @first: bytes before the memory in the first piece
 * @addresses: physical addresses of the pieces
 * @pages: pages of the pieces
 * @platform: for DAT_MEM_TYPE_PLATFORM with pages
 * @table: for DAT_MEM_TYPE_PLATFORM with a table
 */
struct mem {
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_VLEN desc_len;
	DAT_VADDR start;
	size_t len;
	u8 *pieces[MEM_MAX_PIECES];
	size_t piece_len;
	unsigned int order;
	unsigned int num;
	size_t first;
	DAT_PADDR addresses[MEM_MAX_PIECES];
	struct page *pages[MEM_MAX_PIECES];
	struct dat_platform_region platform;
	struct sg_table table;
};

extern struct kpair mem_pair;
extern struct kregion mem_a, mem_b;
extern struct mem mem;
extern DAT_IA_ATTR mem_attr;
extern DAT_PROVIDER_ATTR mem_provider;

bool mem_alloc(unsigned int num, unsigned int order);
void mem_free(void);
void mem_as_virtual(size_t first, size_t len);
void mem_as_physical(void);
void mem_as_var_pages(void);
void mem_as_platform(size_t first, size_t len);
bool mem_as_table(size_t first, size_t len);
void mem_as_ia(size_t first, size_t len);
void mem_as_bypass(size_t first, size_t len);
void mem_as_lmr(DAT_LMR_HANDLE base);

DAT_RETURN mem_create(DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
		      DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS optimization,
		      struct kregion *region);
bool mem_is_target(struct kregion *region);
bool mem_is_local(struct kregion *region);
bool mem_works_as(DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS optimization);
bool mem_works(void);

/* mem_types.c */
bool lmr_mem_types(void);
bool virtual_memory(void);
bool virtual_memory_high_order(void);
bool virtual_memory_bad_addresses(void);
bool physical_pages(void);
bool physical_pages_bad_desc(void);
bool physical_var_pages(void);
bool physical_var_pages_beyond_list(void);
bool physical_var_pages_bad_desc(void);
bool platform_pages(void);
bool platform_sg_table(void);
bool scattered_pages_max_size(void);
bool scattered_pages_beyond_one_list(void);
bool ia_mapped_memory(void);
bool bypass_memory(void);
bool bypass_remote_privileges_rejected(void);
bool bypass_several_lmrs(void);
bool zero_based_memory_alignment(void);
bool zero_based_memory_range(void);

/* mem_over.c */
bool lmr_over_lmr_other_pz(void);
bool lmr_over_lmr_fewer_privileges(void);
bool free_base_lmr_in_use(void);
bool lmr_over_each_mem_type(void);
bool lmr_over_lmr_zero_based(void);
bool lmr_over_read_only_lmr(void);
bool lmr_over_bad_base(void);
bool ia_close_lmrs_over_lmrs(void);
bool bind_large_zero_based_lmr(void);
bool zero_based_memory_virtual_address(void);

/* mem_hint.c */
bool lmr_query_all_fields(void);
bool optimization_flags(void);
bool memtype_hint_values(void);
bool memtype_hint_beyond_block_size(void);
bool memtype_hint_bad_parameters(void);

#endif /* SELFTESTS_MEM_H */

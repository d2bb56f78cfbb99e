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
bool every_type_is_supported(void);
bool virtual_memory(void);
bool virtual_memory_of_high_order(void);
bool no_stack_module_or_register_is_memory(void);
bool physical_pages(void);
bool physical_pages_that_are_none(void);
bool larger_pages(void);
bool larger_pages_beyond_one_list_of_small_ones(void);
bool larger_pages_that_are_none(void);
bool platform_pages(void);
bool a_table_of_pages(void);
bool scattered_pages_of_max_lmr_block_size(void);
bool scattered_pages_beyond_one_list_are_refused(void);
bool memory_that_is_mapped_already(void);
bool memory_that_is_not_registered(void);
bool what_is_not_registered_is_not_for_peers(void);
bool several_that_are_not_registered(void);
bool zero_based_memory_begins_with_a_page(void);
bool zero_based_memory_ends(void);

/* mem_over.c */
bool over_with_another_pz_and_more_privileges(void);
bool over_with_fewer_privileges(void);
bool a_base_cannot_be_freed(void);
bool over_a_region_of_each_type(void);
bool over_and_zero_based(void);
bool pages_of_others_become_no_more_writable(void);
bool only_an_lmr_of_this_ia_is_a_base(void);
bool an_ia_is_closed_with_lmrs_over_lmrs(void);
bool windows_over_large_and_zero_based_memory(void);
bool no_peer_reaches_zero_based_memory_by_its_address(void);

/* mem_hint.c */
bool all_of_a_query(void);
bool optimization_flags(void);
bool hints_tell_what_is_registered(void);
bool hints_lead_beyond_max_lmr_block_size(void);
bool bad_questions_get_no_hint(void);

#endif /* SELFTESTS_MEM_H */

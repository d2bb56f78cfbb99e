// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mem_test.c - shared functions of the tests of memory registration
 *
 * Owns the memory: pieces that are seldom contiguous. The mem_as_*() functions describe
 * it for each memory type.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "mem.h"

struct kpair mem_pair;
struct kregion mem_a, mem_b;
struct mem mem;
DAT_IA_ATTR mem_attr;
DAT_PROVIDER_ATTR mem_provider;

/* Frees the memory of mem_alloc(). */
void mem_free(void)
{
	unsigned int i;

	sg_free_table(&mem.table);
	for (i = 0; i < mem.num; i++)
		free_pages((unsigned long)mem.pieces[i], mem.order);
	memset(&mem, 0, sizeof(mem));
}

static int the_higher_first(const void *a, const void *b)
{
	return *(u8 *const *)a > *(u8 *const *)b ? -1 : 1;
}

/* Allocates @num pieces, of which no two are contiguous. */
bool mem_alloc(unsigned int num, unsigned int order)
{
	unsigned int i;

	mem_free();
	if (num > MEM_MAX_PIECES)
		return false;
	mem.order = order;
	mem.piece_len = PAGE_SIZE << order;
	for (i = 0; i < num; i++) {
		unsigned long piece = __get_free_pages(GFP_KERNEL | __GFP_ZERO,
						       order);

		if (!piece)
			return false;
		mem.pieces[i] = (u8 *)piece;
		mem.num = i + 1;
	}
	sort(mem.pieces, num, sizeof(*mem.pieces), the_higher_first, NULL);
	for (i = 0; i < num; i++) {
		mem.addresses[i] = virt_to_phys(mem.pieces[i]);
		mem.pages[i] = virt_to_page(mem.pieces[i]);
	}
	mem.len = num * mem.piece_len;
	return true;
}

/* Requires one piece. The region begins @first bytes after its start. */
void mem_as_virtual(size_t first, size_t len)
{
	mem.type = DAT_MEM_TYPE_VIRTUAL;
	mem.first = first;
	mem.len = len;
	mem.desc.for_va = mem.pieces[0] + first;
	mem.desc_len = len;
	mem.start = (uintptr_t)mem.desc.for_va;
}

/* Requires pieces of one page. */
void mem_as_physical(void)
{
	mem.type = DAT_MEM_TYPE_PHYSICAL;
	mem.first = 0;
	mem.len = mem.num * mem.piece_len;
	mem.desc.for_physical = mem.addresses;
	mem.desc_len = mem.num;
	mem.start = mem.addresses[0];
}

void mem_as_var_pages(void)
{
	mem_as_physical();
	mem.type = DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
	mem.desc.for_array.page_size = mem.piece_len;
	mem.desc.for_array.pages = mem.addresses;
}

/* Requires pieces of one page. */
void mem_as_platform(size_t first, size_t len)
{
	mem.type = DAT_MEM_TYPE_PLATFORM;
	mem.first = first;
	mem.len = len;
	mem.start = 0x7000000000000000ULL + first;
	mem.platform.pages = mem.pages;
	mem.platform.first_offset = first;
	mem.platform.virtual_address = mem.start;
	mem.desc.for_platform = &mem.platform;
	mem.desc_len = len;
}

/* Each piece is a segment. The table stays until mem_free(). */
bool mem_as_table(size_t first, size_t len)
{
	struct scatterlist *sg;
	unsigned int i;

	mem_as_platform(first, len);
	mem.platform.pages = NULL;
	mem.platform.table = &mem.table;
	sg_free_table(&mem.table);
	if (sg_alloc_table(&mem.table, DIV_ROUND_UP(first + len, mem.piece_len),
			   GFP_KERNEL))
		return false;
	for_each_sgtable_sg(&mem.table, sg, i) {
		size_t n = min(len, mem.piece_len - first);

		sg_set_page(sg, mem.pages[i], n, first);
		len -= n;
		first = 0;
	}
	return true;
}

/* Requires one piece. To a software device a virtual address is a DMA address. */
void mem_as_ia(size_t first, size_t len)
{
	mem_as_virtual(first, len);
	mem.type = DAT_MEM_TYPE_IA;
	mem.desc.for_ia = mem.start;
}

void mem_as_bypass(size_t first, size_t len)
{
	mem_as_ia(first, len);
	mem.type = DAT_MEM_TYPE_BYPASS;
}

/* The previous description must be that of the base, so that data can be compared. */
void mem_as_lmr(DAT_LMR_HANDLE base)
{
	mem.type = DAT_MEM_TYPE_LMR;
	mem.desc.for_lmr_handle = base;
	mem.desc_len = 0xdead0000beefULL;
}

/**
 * mem_create - register the memory
 * @pz: the PZ
 * @privileges: privileges of the LMR
 * @va_type: type of addresses in triplets
 * @optimization: optimization flags of dat_lmr_kcreate()
 * @region: out: the LMR
 *
 * Return: the return value of dat_lmr_kcreate(), or DAT_INTERNAL_ERROR, after a
 * report, if one of its outputs is wrong.
 */
DAT_RETURN mem_create(DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
		      DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS optimization,
		      struct kregion *region)
{
	DAT_VADDR expected = va_type == DAT_VA_TYPE_ZB ? 0 : mem.start;
	DAT_VADDR address = ~0ULL;
	DAT_VLEN size = 0;
	DAT_RETURN ret;

	memset(region, 0, sizeof(*region));
	ret = dat_lmr_kcreate(mem_pair.ia, mem.type, mem.desc, mem.desc_len, pz,
			      privileges, va_type, optimization, &region->lmr,
			      &region->lmr_context, &region->rmr_context,
			      &size, &address);
	if (ret)
		return ret;
	region->buf = (u8 *)(uintptr_t)address;
	region->len = size;
	if (size == mem.len && address == expected)
		return DAT_SUCCESS;
	report("# %#llx bytes at %#llx instead of %#zx at %#llx\n", size,
	       address, mem.len, expected);
	dat_lmr_free(region->lmr);
	return DAT_INTERNAL_ERROR;
}

static u8 *byte_at(size_t i)
{
	size_t at = mem.first + i;

	/* Shifts, because emulators divide slowly and each byte needs this. */
	return &mem.pieces[at >> __ffs(mem.piece_len)][at &
						       (mem.piece_len - 1)];
}

static u8 pattern(size_t i, u8 seed)
{
	return (i * 7 + (i >> 8) * 13 + (i >> 16)) ^ seed;
}

static u8 new_seed(void)
{
	static u8 seed;

	return seed += 29;
}

/* Fills a buffer with the pattern of the region from byte @from on. */
static void fill(u8 *buf, size_t from, size_t len, u8 seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = pattern(from + i, seed);
}

static bool arrived(const u8 *buf, size_t from, size_t len, u8 seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (buf[i] == pattern(from + i, seed))
			continue;
		report("# byte %#zx is another\n", from + i);
		return false;
	}
	return true;
}

/*
 * Sanitizers need minutes for megabytes, so of a large region test the ends and some
 * parts between them, one buffer at a time.
 */
#define PART	((size_t)(IS_ENABLED(CONFIG_KASAN) ? 64 : 960) << 10)

static bool is_tried(size_t at)
{
	size_t part = at / PART, last = (mem.len - 1) / PART;

	return !IS_ENABLED(CONFIG_KASAN) || part < 2 || part + 1 >= last ||
	       part % 8 == 3;
}

static void fill_mem(u8 seed)
{
	size_t i;

	for (i = 0; i < mem.len; i++)
		if (is_tried(i))
			*byte_at(i) = pattern(i, seed);
}

static bool mem_has(u8 seed)
{
	size_t i;

	for (i = 0; i < mem.len; i++) {
		if (!is_tried(i) || *byte_at(i) == pattern(i, seed))
			continue;
		report("# byte %#zx of the memory is another\n", i);
		return false;
	}
	return true;
}

/* Moves the tested parts through a buffer that may be smaller than the region. */
static bool each_part(struct kregion *region, const u8 *buf, u8 seed,
		      bool (*move)(struct kregion *region, size_t from,
				   size_t len, u8 seed))
{
	size_t from, len;

	for (from = 0; from < region->len; from += len) {
		len = min(region->len - from, PART);
		if (is_tried(from) && !move(region, from, len, seed))
			return false;
	}
	return true;
}

static bool write_part(struct kregion *region, size_t from, size_t len, u8 seed)
{
	fill(mem_a.buf, from, len, seed);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&mem_pair, &mem_a, 0, len, region->rmr_context,
			region->buf + from));
	return true;
}

static bool read_part(struct kregion *region, size_t from, size_t len, u8 seed)
{
	memset(mem_a.buf, 0, len);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kread(&mem_pair, &mem_a, 0, len, region->rmr_context,
		       region->buf + from));
	return arrived(mem_a.buf, from, len, seed);
}

/* The peer writes all of the memory and reads it. */
bool mem_is_target(struct kregion *region)
{
	u8 seed = new_seed();

	CHECK(each_part(region, mem_a.buf, seed, write_part));
	CHECK(mem_has(seed));
	seed = new_seed();
	fill_mem(seed);
	CHECK(each_part(region, mem_a.buf, seed, read_part));
	return true;
}

static bool send_part(struct kregion *region, size_t from, size_t len, u8 seed)
{
	memset(mem_b.buf, 0, len);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&mem_pair, region, from, len, mem_b.rmr_context,
			mem_b.buf));
	return arrived(mem_b.buf, from, len, seed);
}

static bool fetch_part(struct kregion *region, size_t from, size_t len, u8 seed)
{
	fill(mem_b.buf, from, len, seed);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kread(&mem_pair, region, from, len, mem_b.rmr_context,
		       mem_b.buf));
	return true;
}

/* RDMA reads from all of the memory and writes to it locally. */
bool mem_is_local(struct kregion *region)
{
	u8 seed = new_seed();

	fill_mem(seed);
	CHECK(each_part(region, mem_b.buf, seed, send_part));
	seed = new_seed();
	CHECK(each_part(region, mem_b.buf, seed, fetch_part));
	CHECK(mem_has(seed));
	return true;
}

/* Registers the memory on either side and transfers data. */
bool mem_works_as(DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS optimization)
{
	struct kregion r;

	CHECK_EQ(DAT_SUCCESS,
		 mem_create(mem_pair.b.pz, DAT_MEM_PRIV_ALL_FLAG, va_type,
			    optimization, &r));
	CHECK(mem_is_target(&r));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	CHECK_EQ(DAT_SUCCESS,
		 mem_create(mem_pair.a.pz, DAT_MEM_PRIV_ALL_FLAG, va_type,
			    optimization, &r));
	CHECK(mem_is_local(&r));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	return true;
}

bool mem_works(void)
{
	return mem_works_as(DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE);
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(lmr_mem_types),
	TEST(virtual_memory),
	TEST(virtual_memory_high_order),
	TEST(virtual_memory_bad_addresses),
	TEST(physical_pages),
	TEST(physical_pages_bad_desc),
	TEST(physical_var_pages),
	TEST(physical_var_pages_beyond_list),
	TEST(physical_var_pages_bad_desc),
	TEST(platform_pages),
	TEST(platform_sg_table),
	TEST(scattered_pages_max_size),
	TEST(scattered_pages_beyond_one_list),
	TEST(ia_mapped_memory),
	TEST(bypass_memory),
	TEST(bypass_remote_privileges_rejected),
	TEST(bypass_several_lmrs),
	TEST(zero_based_memory_alignment),
	TEST(zero_based_memory_range),
	TEST(lmr_over_lmr_other_pz),
	TEST(lmr_over_lmr_fewer_privileges),
	TEST(free_base_lmr_in_use),
	TEST(lmr_over_each_mem_type),
	TEST(lmr_over_lmr_zero_based),
	TEST(lmr_over_read_only_lmr),
	TEST(lmr_over_bad_base),
	TEST(ia_close_lmrs_over_lmrs),
	TEST(bind_large_zero_based_lmr),
	TEST(lmr_query_all_fields),
	TEST(optimization_flags),
	TEST(memtype_hint_values),
	TEST(memtype_hint_beyond_block_size),
	TEST(memtype_hint_bad_parameters),
	TEST(zero_based_memory_virtual_address),
};

static int __init mem_test_init(void)
{
	int ret = report_open("kdapl_mem_test");

	if (ret)
		return ret;
	if (kpair_open(&mem_pair) && kpair_connect(&mem_pair) &&
	    !dat_ia_query(mem_pair.ia, NULL, DAT_IA_FIELD_ALL, &mem_attr,
			  DAT_PROVIDER_FIELD_ALL, &mem_provider) &&
	    kregion_open(&mem_pair, mem_pair.a.pz, &mem_a, 240 * PAGE_SIZE,
			 DAT_MEM_PRIV_ALL_FLAG) &&
	    kregion_open(&mem_pair, mem_pair.b.pz, &mem_b, 240 * PAGE_SIZE,
			 DAT_MEM_PRIV_ALL_FLAG))
		report_run("kdapl_mem_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_mem_test.setup\n");
	kpair_close(&mem_pair);
	kregion_close(&mem_a);
	kregion_close(&mem_b);
	mem_free();
	return 0;
}

static void __exit mem_test_exit(void)
{
	report_close();
}

module_init(mem_test_init);
module_exit(mem_test_exit);
MODULE_DESCRIPTION("Tests the registration of memory of every kind");
MODULE_LICENSE("Dual BSD/GPL");

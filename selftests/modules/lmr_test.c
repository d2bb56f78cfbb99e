// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_test.c - LMRs of in-kernel consumers
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kpair.h"
#include "report.h"

static struct kpair pair;
static struct kregion a, b;

static DAT_RETURN create(DAT_MEM_TYPE type, void *desc, size_t len,
			 DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			 struct kregion *region)
{
	DAT_REGION_DESCRIPTION region_desc = { .for_va = desc };
	DAT_VLEN size;
	DAT_VADDR address;
	DAT_RETURN ret;

	region->buf = type == DAT_MEM_TYPE_VIRTUAL ? desc : NULL;
	region->len = len;
	ret = dat_lmr_kcreate(pair.ia, type, region_desc, len, pz, privileges,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			      &region->lmr, &region->lmr_context,
			      &region->rmr_context, &size, &address);
	if (!ret && type == DAT_MEM_TYPE_VIRTUAL &&
	    (size != len || address != (uintptr_t)desc))
		return DAT_INTERNAL_ERROR;
	return ret;
}

/* The peer fills the region; compares every byte. */
static bool moves_data(struct kregion *to)
{
	size_t len = min(to->len, a.len), i;

	for (i = 0; i < len; i++)
		a.buf[i] = i * 7 + 3;
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, len, to->rmr_context, to->buf));
	CHECK(!memcmp(a.buf, to->buf, len));
	memset(a.buf, 0, len);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kread(&pair, &a, 0, len, to->rmr_context, to->buf));
	CHECK(!memcmp(a.buf, to->buf, len));
	/*
	 * After a timeout rxe repeats the Read, also if the first answer is only late. The
	 * peer executes the repeated Read before this Write. Without the Write the caller
	 * could free the LMR first, which breaks the connection.
	 */
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 1, to->rmr_context, to->buf));
	return true;
}

static bool kmalloc_memory(void)
{
	struct kregion r;
	u8 *mem = kzalloc(20000, GFP_KERNEL);
	bool good;

	CHECK(mem);
	good = !create(DAT_MEM_TYPE_VIRTUAL, mem + 33, 19000, pair.b.pz,
		       DAT_MEM_PRIV_ALL_FLAG, &r) && moves_data(&r);
	good = good && !mem[32] && !mem[19033] && !dat_lmr_free(r.lmr);
	kfree(mem);
	return good;
}

static bool vmalloc_max_lmr_block_size(void)
{
	static DAT_IA_ATTR attr;
	struct kregion r;
	u8 *mem;
	bool good;

	CHECK_EQ(DAT_SUCCESS, dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL,
					   &attr, 0, NULL));
	mem = vzalloc(attr.max_lmr_block_size + PAGE_SIZE);
	CHECK(mem);
	good = !create(DAT_MEM_TYPE_VIRTUAL, mem + PAGE_SIZE - 1,
		       attr.max_lmr_block_size, pair.b.pz,
		       DAT_MEM_PRIV_ALL_FLAG, &r) &&
	       moves_data(&r) && !dat_lmr_free(r.lmr);
	vfree(mem);
	return good;
}

static bool platform_pages_out_of_order(void)
{
	struct page *pages[5] = {}, *swap;
	struct dat_platform_region region = {
		.pages = pages,
		.first_offset = 100,
		.virtual_address = 0x7000000000000000ULL + 100,
	};
	const size_t len = 4 * PAGE_SIZE;
	struct kregion r;
	bool good = true;
	int i;

	for (i = 0; i < 5; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		good = good && pages[i];
	}
	swap = pages[0];
	pages[0] = pages[3];
	pages[3] = swap;
	good = good && !create(DAT_MEM_TYPE_PLATFORM, &region, len, pair.b.pz,
			       DAT_MEM_PRIV_ALL_FLAG, &r);
	for (i = 0; i < len; i++)
		a.buf[i] = i * 5 + 1;
	good = good && kwrite(&pair, &a, 0, len, r.rmr_context,
			      (void *)(uintptr_t)region.virtual_address) ==
			       DAT_DTO_SUCCESS;
	for (i = 0; good && i < len; i++) {
		size_t at = 100 + i;
		u8 *page = page_address(pages[at / PAGE_SIZE]);

		good = page[at % PAGE_SIZE] == a.buf[i];
	}
	good = good && !dat_lmr_free(r.lmr);
	for (i = 0; i < 5; i++)
		if (pages[i])
			__free_page(pages[i]);
	return good;
}

static bool create_invalid_memory(void)
{
	struct kregion r;
	void *freed = vmalloc(PAGE_SIZE);

	vfree(freed);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  create(DAT_MEM_TYPE_VIRTUAL, (void *)0x1000, 10, pair.b.pz,
			 DAT_MEM_PRIV_ALL_FLAG, &r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  create(DAT_MEM_TYPE_VIRTUAL, freed, 10, pair.b.pz,
			 DAT_MEM_PRIV_ALL_FLAG, &r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  create(DAT_MEM_TYPE_PLATFORM, NULL, 10, pair.b.pz,
			 DAT_MEM_PRIV_ALL_FLAG, &r));
	return true;
}

/* DAT 1.2 passes twelve arguments instead of thirteen. */
static bool kcreate_dat_1_2_arguments(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = b.buf };
	struct kregion r = { .buf = b.buf, .len = 5000 };
	DAT_LMR_PARAM param;
	DAT_VADDR address;
	DAT_VLEN size;

	CHECK_EQ(DAT_SUCCESS,
		 dat_lmr_kcreate(pair.ia, DAT_MEM_TYPE_VIRTUAL, desc, r.len,
				 pair.b.pz, DAT_MEM_PRIV_ALL_FLAG,
				 DAT_MEM_OPTIMIZE_DONT_CARE, &r.lmr,
				 &r.lmr_context, &r.rmr_context, &size,
				 &address));
	CHECK_EQ(5000, size);
	CHECK_EQ((uintptr_t)b.buf, address);
	CHECK_EQ(DAT_SUCCESS, dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(DAT_VA_TYPE_VA, param.va_type);
	CHECK(moves_data(&r));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	return true;
}

static bool create_bad_parameters(void)
{
	struct kregion r;

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  create(DAT_MEM_TYPE_VIRTUAL, a.buf, 0, pair.b.pz,
			 DAT_MEM_PRIV_ALL_FLAG, &r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  create(DAT_MEM_TYPE_VIRTUAL, (void *)-10L, 100, pair.b.pz,
			 DAT_MEM_PRIV_ALL_FLAG, &r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
		  create(DAT_MEM_TYPE_VIRTUAL, a.buf, 10, pair.b.pz, 0x40,
			 &r));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  create(0x33, a.buf, 10, pair.b.pz, DAT_MEM_PRIV_ALL_FLAG,
			 &r));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  create(DAT_MEM_TYPE_VIRTUAL, a.buf, 10, pair.ia,
			 DAT_MEM_PRIV_ALL_FLAG, &r));
	return true;
}

static bool privilege_flag_values(void)
{
	CHECK_EQ(0x00, DAT_MEM_PRIV_NONE_FLAG);
	CHECK_EQ(0x01, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	CHECK_EQ(0x02, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	CHECK_EQ(0x10, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	CHECK_EQ(0x20, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	CHECK_EQ(0x33, DAT_MEM_PRIV_ALL_FLAG);
	return true;
}

static bool rmr_context_only_for_remote_privileges(void)
{
	DAT_MEM_PRIV_FLAGS remote = KREMOTE_ALL;
	unsigned int priv;

	for (priv = 0; priv <= DAT_MEM_PRIV_ALL_FLAG; priv++) {
		struct kregion r;

		if (priv & ~DAT_MEM_PRIV_ALL_FLAG)
			continue;
		CHECK_EQ(DAT_SUCCESS,
			 create(DAT_MEM_TYPE_VIRTUAL, b.buf, 4096, pair.b.pz,
				priv, &r));
		CHECK_EQ(!!(priv & remote), !!r.rmr_context);
		CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	}
	return true;
}

static bool freed_lmr_invalid_handle(void)
{
	DAT_LMR_PARAM param;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;
	struct kregion r;

	CHECK(kregion_open(&pair, pair.b.pz, &r, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(r.lmr_context, param.lmr_context);
	CHECK_EQ(r.rmr_context, param.rmr_context);
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  dat_lmr_free(r.lmr));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	CHECK_EQ(DAT_INVALID_HANDLE,
		 DAT_GET_TYPE(dat_get_consumer_context(r.lmr, &context)));
	CHECK_EQ(DAT_INVALID_HANDLE,
		 DAT_GET_TYPE(dat_get_handle_type(r.lmr, &type)));
	kregion_close(&r);
	return true;
}

/* The owner of the memory has allocated and pinned it, and must free and unpin it. */
static bool lmr_free_keeps_caller_pages(void)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct dat_platform_region region = {
		.pages = &page,
		.virtual_address = 0x7000000000000000ULL,
	};
	struct kregion r;
	bool good;
	int count;

	CHECK(page);
	/* Count references the way FOLL_PIN does. */
	get_page(page);
	count = page_count(page);
	good = !create(DAT_MEM_TYPE_PLATFORM, &region, PAGE_SIZE, pair.b.pz,
		       DAT_MEM_PRIV_ALL_FLAG, &r);
	memset(a.buf, 0x5a, PAGE_SIZE);
	good = good &&
	       kwrite(&pair, &a, 0, PAGE_SIZE, r.rmr_context,
		      (void *)(uintptr_t)region.virtual_address) ==
	       DAT_DTO_SUCCESS;
	good = good && !dat_lmr_free(r.lmr);
	good = good && page_count(page) == count &&
	       !memchr_inv(page_address(page), 0x5a, PAGE_SIZE);
	put_page(page);
	put_page(page);
	CHECK(good);

	CHECK(kregion_open(&pair, pair.b.pz, &r, 8192, DAT_MEM_PRIV_ALL_FLAG));
	memset(r.buf, 0xa5, 8192);
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	CHECK(!memchr_inv(r.buf, 0xa5, 8192));
	memset(r.buf, 0x5a, 8192);
	kregion_close(&r);
	return true;
}

static bool pz_query_and_free(void)
{
	DAT_PZ_PARAM param = {};
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	struct kregion r;

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_pz_create(pair.ia, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_pz_create(pair.a.pz, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(pair.ia, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	CHECK_EQ((uintptr_t)pair.ia, (uintptr_t)param.ia_handle);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_pz_query(pz, DAT_PZ_FIELD_ALL << 1, &param));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL));

	CHECK(kregion_open(&pair, pz, &r, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pz, &rmr));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE,
		  dat_pz_free(pz));
	kregion_close(&r);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE,
		  dat_pz_free(pz));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE,
		  dat_pz_free(pair.a.pz));

	CHECK_EQ(DAT_SUCCESS, dat_pz_free(pz));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ, dat_pz_free(pz));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  dat_rmr_create(pz, &rmr));
	return true;
}

static bool lmr_free_bad_handles(void)
{
	DAT_HANDLE bad[] = {
		DAT_HANDLE_NULL, (DAT_HANDLE)1, (DAT_HANDLE)-1L, &pair,
		pair.ia, pair.a.pz, pair.a.ep, pair.cr_evd, pair.psp,
		(DAT_HANDLE)((unsigned long)a.lmr ^ (1UL << 40)),
		(DAT_HANDLE)((unsigned long)a.lmr ^ 1),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
			  dat_lmr_free(bad[i]));
	return true;
}

static bool sync_several_lmrs_and_pzs(void)
{
	DAT_LMR_TRIPLET segs[] = {
		ksegment(&a, 0, a.len), ksegment(&b, 5000, 3),
		ksegment(&a, a.len - 1, 1),
		{ .virtual_address = 1, .lmr_context = 0xdead },
	};

	CHECK_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_read(pair.ia, segs, 4));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_write(pair.ia, segs, 4));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_sync_rdma_write(pair.ia, NULL, 0));
	segs[2].segment_length = 2;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_lmr_sync_rdma_write(pair.ia, segs, 4));
	segs[2] = ksegment(&a, 0, 1);
	segs[2].lmr_context ^= 1;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_lmr_sync_rdma_read(pair.ia, segs, 4));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_lmr_sync_rdma_read(pair.a.pz, segs, 1));
	return true;
}

static bool dto_freed_lmr_context(void)
{
	struct kregion r;

	CHECK(kregion_open(&pair, pair.a.pz, &r, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ,
		  kpost_send(pair.a.ep, &r, 0, 64, 1));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE,
		  kpost_recv(pair.a.ep, &r, 0, 64, 1));
	kregion_close(&r);
	return true;
}

static bool dto_bad_range_privileges_pz(void)
{
	struct kregion r;

	CHECK(kregion_open(&pair, pair.a.pz, &r, 4096,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  kpost_send(pair.a.ep, &r, 4095, 2, 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  kpost_send(pair.a.ep, &r, SIZE_MAX, 2, 1));
	CHECK_RET(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE,
		  kpost_recv(pair.a.ep, &r, 0, 64, 1));
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ,
		  kpost_send(pair.b.ep, &r, 0, 64, 1));
	kregion_close(&r);
	return true;
}

static bool strerror_return_names(void)
{
	const char *major = NULL, *minor = NULL;

	CHECK_EQ(DAT_SUCCESS, dat_strerror(dat_lmr_free(DAT_HANDLE_NULL),
					   &major, &minor));
	CHECK(!strcmp(major, "DAT_INVALID_HANDLE"));
	CHECK(!strcmp(minor, "DAT_INVALID_HANDLE_LMR"));
	CHECK_EQ(DAT_SUCCESS, dat_strerror(DAT_SUCCESS, &major, &minor));
	CHECK(!strcmp(major, "DAT_SUCCESS"));
	CHECK(!strcmp(minor, ""));
	CHECK_EQ(DAT_SUCCESS, dat_strerror(DAT_ERROR(DAT_NOT_IMPLEMENTED,
						     DAT_NO_SUBTYPE),
					   &major, &minor));
	CHECK(!strcmp(major, "DAT_NOT_IMPLEMENTED"));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1,
		  dat_strerror(0x0fff0000, &major, &minor));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1,
		  dat_strerror(0xffff, &major, &minor));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_strerror(DAT_SUCCESS, NULL, &minor));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_strerror(DAT_SUCCESS, &major, NULL));
	return true;
}

/* Two instances of an IA can report to one EVD, which is freed before either of them. */
static bool ias_share_async_evd(void)
{
	DAT_EVD_HANDLE evd = pair.async_evd, other = pair.a.conn_evd;
	DAT_EVD_HANDLE seen = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &evd, &ia));
	CHECK_EQ(pair.async_evd, evd);
	CHECK_EQ(DAT_SUCCESS, dat_ia_query(ia, &seen, 0, NULL, 0, NULL));
	CHECK_EQ(pair.async_evd, seen);
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	/* Reject a handle that is not an EVD, or an EVD for other events. */
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC,
		  dat_ia_open(kpair_ia, 8, &other, &ia));
	other = a.lmr;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC,
		  dat_ia_open(kpair_ia, 8, &other, &ia));
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(kmalloc_memory),
	TEST(vmalloc_max_lmr_block_size),
	TEST(platform_pages_out_of_order),
	TEST(create_invalid_memory),
	TEST(kcreate_dat_1_2_arguments),
	TEST(create_bad_parameters),
	TEST(privilege_flag_values),
	TEST(rmr_context_only_for_remote_privileges),
	TEST(freed_lmr_invalid_handle),
	TEST(lmr_free_keeps_caller_pages),
	TEST(pz_query_and_free),
	TEST(lmr_free_bad_handles),
	TEST(sync_several_lmrs_and_pzs),
	TEST(dto_freed_lmr_context),
	TEST(dto_bad_range_privileges_pz),
	TEST(strerror_return_names),
	TEST(ias_share_async_evd),
};

static int __init lmr_test_init(void)
{
	int ret = report_open("kdapl_lmr_test");

	if (ret)
		return ret;
	if (kpair_open(&pair) && kpair_connect(&pair) &&
	    kregion_open(&pair, pair.a.pz, &a, 960 << 10,
			 DAT_MEM_PRIV_ALL_FLAG) &&
	    kregion_open(&pair, pair.b.pz, &b, 960 << 10,
			 DAT_MEM_PRIV_ALL_FLAG))
		report_run("kdapl_lmr_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_lmr_test.setup\n");
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return 0;
}

static void __exit lmr_test_exit(void)
{
	report_close();
}

module_init(lmr_test_init);
module_exit(lmr_test_exit);
MODULE_DESCRIPTION("Tests LMRs of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");

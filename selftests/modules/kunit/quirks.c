// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * quirks.c - quirks and limits of devices
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "fake.h"

/* For the other sources, fake.c has functions with these names. */
#define dat_dev_quirks		real_quirks
#define dat_dev_max_pages	real_max_pages
#define dat_dev_max_lmr_pages	real_max_lmr_pages
#define dat_dev_page_size	real_page_size
#define dat_dev_max_user_mr	real_max_user_mr
#define dat_dev_keeps_pages	real_keeps_pages
#define dat_dev_alloc_mr	real_alloc_mr
#include "../../../kdapl/dev/quirks.c"

static struct ib_device dev;

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				 u64 virt_addr, int flags,
				 struct ib_udata *udata)
{
	return ERR_PTR(-EIO);
}

static int quirks_test_init(struct kunit *test)
{
	memset(&dev, 0, sizeof(dev));
	dev.attrs.max_mr_size = SZ_1G;
	/* Never called; its prototype depends on the kernel version. */
	dev.ops.reg_user_mr = (void *)reg_user_mr;
	return 0;
}

static void it_pins_only_where_that_has_been_looked_at(struct kunit *test)
{
	static const enum rdma_driver_id bad[] = {
		RDMA_DRIVER_UNKNOWN, RDMA_DRIVER_IRDMA, RDMA_DRIVER_MTHCA,
		RDMA_DRIVER_HNS, 1000,
	};
	static const enum rdma_driver_id good[] = {
		RDMA_DRIVER_MLX5, RDMA_DRIVER_MLX4, RDMA_DRIVER_BNXT_RE,
		RDMA_DRIVER_RXE, RDMA_DRIVER_SIW,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		dev.ops.driver_id = bad[i];
		KUNIT_EXPECT_EQ(test, 0, dat_dev_max_user_mr(&dev));
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		dev.ops.driver_id = good[i];
		KUNIT_EXPECT_GT(test, dat_dev_max_user_mr(&dev), SZ_512M);
	}
	dev.ops.reg_user_mr = NULL;
	KUNIT_EXPECT_EQ(test, 0, dat_dev_max_user_mr(&dev));
}

static void a_list_is_kept_only_where_that_has_been_looked_at(struct kunit *test)
{
	static const enum rdma_driver_id bad[] = {
		RDMA_DRIVER_UNKNOWN, RDMA_DRIVER_CXGB4, RDMA_DRIVER_HNS, 1000,
	};
	static const enum rdma_driver_id good[] = {
		RDMA_DRIVER_MLX5, RDMA_DRIVER_MLX4, RDMA_DRIVER_BNXT_RE,
		RDMA_DRIVER_IRDMA, RDMA_DRIVER_ERDMA, RDMA_DRIVER_RXE,
		RDMA_DRIVER_SIW,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		dev.ops.driver_id = bad[i];
		KUNIT_EXPECT_FALSE(test, dat_dev_keeps_pages(&dev));
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		dev.ops.driver_id = good[i];
		KUNIT_EXPECT_TRUE(test, dat_dev_keeps_pages(&dev));
	}
}

static void a_page_is_left_for_where_it_begins(struct kunit *test)
{
	dev.ops.driver_id = RDMA_DRIVER_MLX5;
	KUNIT_EXPECT_EQ(test, SZ_1G - PAGE_SIZE, dat_dev_max_user_mr(&dev));
	dev.attrs.max_mr_size = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, 0, dat_dev_max_user_mr(&dev));
}

static void a_list_of_pages_has_one_to_spare(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, dat_dev_max_lmr_pages(&dev));
	dev.attrs.max_fast_reg_page_list_len = 256;
	KUNIT_EXPECT_EQ(test, 0, dat_dev_max_lmr_pages(&dev));
	dev.attrs.device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	KUNIT_EXPECT_EQ(test, 255, dat_dev_max_lmr_pages(&dev));
	KUNIT_EXPECT_EQ(test, 255, real_max_pages(&dev));
	dev.attrs.max_fast_reg_page_list_len = U32_MAX;
	KUNIT_EXPECT_EQ(test, DAT_MAX_LMR_PAGES, dat_dev_max_lmr_pages(&dev));
	KUNIT_EXPECT_EQ(test, DAT_MAX_FRWR_PAGES, real_max_pages(&dev));
}

static void a_list_is_made_of_pages_that_the_device_has(struct kunit *test)
{
	/* The device reports no page size. */
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, real_page_size(&dev));
	dev.attrs.page_size_cap = ~(u64)(PAGE_SIZE / 4 - 1);
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, real_page_size(&dev));
	/* For example, the kernel's pages have 16 KiB and the device's 4 KiB. */
	dev.attrs.page_size_cap = PAGE_SIZE / 4;
	KUNIT_EXPECT_EQ(test, PAGE_SIZE / 4, real_page_size(&dev));
	dev.attrs.page_size_cap = PAGE_SIZE / 4 | SZ_2M;
	KUNIT_EXPECT_EQ(test, PAGE_SIZE / 4, real_page_size(&dev));
	dev.attrs.page_size_cap = SZ_2M | SZ_1G;
	KUNIT_EXPECT_EQ(test, SZ_2M, real_page_size(&dev));
}

static struct kunit_case quirks_cases[] = {
	KUNIT_CASE(it_pins_only_where_that_has_been_looked_at),
	KUNIT_CASE(a_list_is_kept_only_where_that_has_been_looked_at),
	KUNIT_CASE(a_page_is_left_for_where_it_begins),
	KUNIT_CASE(a_list_of_pages_has_one_to_spare),
	KUNIT_CASE(a_list_is_made_of_pages_that_the_device_has),
	{}
};

static struct kunit_suite quirks_suite = {
	.name = "kdapl_quirks",
	.init = quirks_test_init,
	.test_cases = quirks_cases,
};

kunit_test_suite(quirks_suite);

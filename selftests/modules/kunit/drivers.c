// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * drivers.c - the table of drivers, and limits of devices
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "fake.h"

/* For the other sources, fake.c has functions with these names. */
#define dat_dev_quirks		real_quirks
#define dat_dev_max_pages	real_max_pages
#define dat_dev_max_lmr_pages	real_max_lmr_pages
#define dat_dev_page_size	real_page_size
#define dat_dev_page_sizes	real_page_sizes
#define dat_dev_no_fence	real_no_fence
#define dat_dev_max_user_mr	real_max_user_mr
#define dat_dev_keeps_pages	real_keeps_pages
#define dat_dev_alloc_mr	real_alloc_mr
#include "../../../kdapl/dev/drivers.c"

static struct ib_device dev;

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				 u64 virt_addr, int flags,
				 struct ib_udata *udata)
{
	return ERR_PTR(-EIO);
}

static int drivers_test_init(struct kunit *test)
{
	memset(&dev, 0, sizeof(dev));
	dev.attrs.max_mr_size = SZ_1G;
	dev.attrs.device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	dev.attrs.max_fast_reg_page_list_len = U32_MAX;
	dev.ops.driver_id = RDMA_DRIVER_MLX4;
	/* Never called; its prototype depends on the kernel version. */
	dev.ops.reg_user_mr = (void *)reg_user_mr;
	return 0;
}

static void max_user_mr_known_drivers(struct kunit *test)
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

static void keeps_pages_known_drivers(struct kunit *test)
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

static void max_user_mr_reserves_page(struct kunit *test)
{
	dev.ops.driver_id = RDMA_DRIVER_MLX5;
	KUNIT_EXPECT_EQ(test, SZ_1G - PAGE_SIZE, dat_dev_max_user_mr(&dev));
	dev.attrs.max_mr_size = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, 0, dat_dev_max_user_mr(&dev));
}

static void max_pages_reserve_one_entry(struct kunit *test)
{
	dev.attrs.max_fast_reg_page_list_len = 256;
	dev.attrs.device_cap_flags = 0;
	KUNIT_EXPECT_EQ(test, 0, dat_dev_max_lmr_pages(&dev));
	dev.attrs.device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS;
	KUNIT_EXPECT_EQ(test, 255, dat_dev_max_lmr_pages(&dev));
	KUNIT_EXPECT_EQ(test, 255, real_max_pages(&dev));
	dev.attrs.max_fast_reg_page_list_len = U32_MAX;
	KUNIT_EXPECT_EQ(test, DAT_MAX_LMR_PAGES, dat_dev_max_lmr_pages(&dev));
	KUNIT_EXPECT_EQ(test, DAT_MAX_FRWR_PAGES, real_max_pages(&dev));
}

static void page_size_from_caps(struct kunit *test)
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

/* Longer lists than these corrupt memory, or the device takes them for others. */
static void max_list_of_driver(struct kunit *test)
{
	static const struct {
		enum rdma_driver_id id;
		u32 max;
	} lists[] = {
		{ RDMA_DRIVER_IRDMA, 512 },
		{ RDMA_DRIVER_BNXT_RE, 512 },
		{ RDMA_DRIVER_ERDMA, 512 },
		{ RDMA_DRIVER_QEDR, 8192 },
		{ RDMA_DRIVER_VMW_PVRDMA, 128 },
		{ RDMA_DRIVER_MLX5, 65532 },
		{ RDMA_DRIVER_UNKNOWN, 256 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		dev.ops.driver_id = lists[i].id;
		KUNIT_EXPECT_EQ(test, lists[i].max - 1, dat_dev_max_lmr_pages(&dev));
	}
}

static void page_sizes_of_driver(struct kunit *test)
{
	static const enum rdma_driver_id only[] = {
		RDMA_DRIVER_ERDMA, RDMA_DRIVER_VMW_PVRDMA, RDMA_DRIVER_UNKNOWN,
	};
	int i;

	dev.attrs.page_size_cap = SZ_2G - SZ_4K;
	KUNIT_EXPECT_EQ(test, SZ_2G - SZ_4K, dat_dev_page_sizes(&dev));
	for (i = 0; i < ARRAY_SIZE(only); i++) {
		dev.ops.driver_id = only[i];
		KUNIT_EXPECT_EQ(test, PAGE_SIZE, dat_dev_page_sizes(&dev));
		KUNIT_EXPECT_EQ(test, PAGE_SIZE, real_page_size(&dev));
	}
}

static void refused_drivers(struct kunit *test)
{
	static const enum rdma_driver_id bad[] = {
		RDMA_DRIVER_HNS, RDMA_DRIVER_OCRDMA, RDMA_DRIVER_HFI1,
	};
	int i;

	dev.attrs.page_size_cap = SZ_2G - SZ_4K;
	KUNIT_EXPECT_NULL(test, dat_dev_refusal(&dev));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		dev.ops.driver_id = bad[i];
		KUNIT_EXPECT_NOT_NULL(test, dat_dev_refusal(&dev));
	}
	/* Without pages of the kernel's size nothing can be assumed. */
	dev.ops.driver_id = RDMA_DRIVER_UNKNOWN;
	KUNIT_EXPECT_NULL(test, dat_dev_refusal(&dev));
	dev.attrs.page_size_cap = 2 * PAGE_SIZE;
	KUNIT_EXPECT_NOT_NULL(test, dat_dev_refusal(&dev));
	dev.ops.driver_id = RDMA_DRIVER_MLX5;
	KUNIT_EXPECT_NULL(test, dat_dev_refusal(&dev));
	dev.attrs.device_cap_flags = 0;
	KUNIT_EXPECT_NOT_NULL(test, dat_dev_refusal(&dev));
}

static void user_mr_keeps_page_offset(struct kunit *test)
{
	u64 start = 0x7f0000001234;

	dev.ops.driver_id = RDMA_DRIVER_MLX5;
	KUNIT_EXPECT_TRUE(test, dat_dev_user_mr_fits(&dev, start, start));
	KUNIT_EXPECT_TRUE(test, dat_dev_user_mr_fits(&dev, start, offset_in_page(start)));
	KUNIT_EXPECT_FALSE(test, dat_dev_user_mr_fits(&dev, start, 0));
	dev.ops.driver_id = RDMA_DRIVER_SIW;
	KUNIT_EXPECT_TRUE(test, dat_dev_user_mr_fits(&dev, start, start));
	KUNIT_EXPECT_FALSE(test, dat_dev_user_mr_fits(&dev, start, offset_in_page(start)));
}

static void unknown_driver_assumes_nothing(struct kunit *test)
{
	dev.ops.driver_id = 1000;
	KUNIT_EXPECT_TRUE(test, real_quirks(&dev) & DAT_QUIRK_UNKNOWN_DRIVER);
	KUNIT_EXPECT_EQ(test, DAT_FENCE_SEND | DAT_FENCE_WRITE | DAT_FENCE_ATOMIC |
			      DAT_FENCE_INV | DAT_FENCE_REG, real_no_fence(&dev));
	KUNIT_EXPECT_EQ(test, 0, dat_dev_max_user_mr(&dev));
	KUNIT_EXPECT_FALSE(test, dat_dev_keeps_pages(&dev));
	dev.ops.driver_id = RDMA_DRIVER_MLX5;
	KUNIT_EXPECT_FALSE(test, real_quirks(&dev) & DAT_QUIRK_UNKNOWN_DRIVER);
	KUNIT_EXPECT_EQ(test, DAT_FENCE_REG, real_no_fence(&dev));
}

/* A model has the defects of both drivers, and no other device has them. */
static void model_adds_defects(struct kunit *test)
{
	dev.ops.driver_id = RDMA_DRIVER_RXE;
	model = "none";
	KUNIT_EXPECT_EQ(test, -EINVAL, dat_dev_model_init());
	KUNIT_EXPECT_TRUE(test, dat_dev_keeps_pages(&dev));
	model = "qedr";
	KUNIT_EXPECT_EQ(test, 0, dat_dev_model_init());
	KUNIT_EXPECT_FALSE(test, dat_dev_keeps_pages(&dev));
	KUNIT_EXPECT_EQ(test, 8191, dat_dev_max_lmr_pages(&dev));
	KUNIT_EXPECT_TRUE(test, real_quirks(&dev) & DAT_QUIRK_INVALIDATE_FIRST);
	model = "vmw_pvrdma";
	KUNIT_EXPECT_EQ(test, 0, dat_dev_model_init());
	KUNIT_EXPECT_TRUE(test, real_quirks(&dev) & DAT_QUIRK_NO_SRQ);
	KUNIT_EXPECT_FALSE(test, dat_dev_user_mr_fits(&dev, SZ_1M, SZ_2M));
	model = "hns";
	KUNIT_EXPECT_EQ(test, 0, dat_dev_model_init());
	KUNIT_EXPECT_NOT_NULL(test, dat_dev_refusal(&dev));
	dev.ops.driver_id = RDMA_DRIVER_MLX5;
	KUNIT_EXPECT_NULL(test, dat_dev_refusal(&dev));
	model = NULL;
	memset(&modelled, 0, sizeof(modelled));
}

static struct kunit_case drivers_cases[] = {
	KUNIT_CASE(max_user_mr_known_drivers),
	KUNIT_CASE(keeps_pages_known_drivers),
	KUNIT_CASE(max_user_mr_reserves_page),
	KUNIT_CASE(max_pages_reserve_one_entry),
	KUNIT_CASE(page_size_from_caps),
	KUNIT_CASE(max_list_of_driver),
	KUNIT_CASE(page_sizes_of_driver),
	KUNIT_CASE(refused_drivers),
	KUNIT_CASE(user_mr_keeps_page_offset),
	KUNIT_CASE(unknown_driver_assumes_nothing),
	KUNIT_CASE(model_adds_defects),
	{}
};

static struct kunit_suite drivers_suite = {
	.name = "kdapl_drivers",
	.init = drivers_test_init,
	.test_cases = drivers_cases,
};

kunit_test_suite(drivers_suite);

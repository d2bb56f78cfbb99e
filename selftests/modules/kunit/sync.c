// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * sync.c - cache maintenance, on devices that need it
 */
#include <kunit/test.h>

#include "fake.h"

static void sync_for_cpu(struct ib_device *ibdev, u64 addr, size_t size,
			 enum dma_data_direction dir);
static void sync_for_device(struct ib_device *ibdev, u64 addr, size_t size,
			    enum dma_data_direction dir);

/* Simulated results of the DMA API, because there is no device. */
static struct dma_says {
	bool coherent;
	bool need_sync;
	bool limited;
	bool map_fails;
	int mapped;
} says;

static u64 fake_map(struct ib_device *ibdev, void *cpu, size_t size,
		    enum dma_data_direction dir)
{
	if (says.map_fails)
		return ~0ULL;
	says.mapped++;
	return 0x4000;
}

static void fake_unmap(struct ib_device *ibdev, u64 addr, size_t size,
		       enum dma_data_direction dir)
{
	says.mapped--;
}

#include <linux/dma-map-ops.h>

#define ib_dma_sync_single_for_cpu	sync_for_cpu
#define ib_dma_sync_single_for_device	sync_for_device
#define ib_dma_map_single		fake_map
#define ib_dma_unmap_single		fake_unmap
#define ib_dma_mapping_error(ibdev, addr)	((void)(ibdev), (addr) == ~0ULL)
#define dev_is_dma_coherent(dev)	((void)(dev), says.coherent)
#define dma_need_sync(dev, addr)	((void)(dev), (void)(addr), says.need_sync)
#define dma_addressing_limited(dev)	((void)(dev), says.limited)

#include "../../../kdapl/dev/coherence.c"
#include "../../../kdapl/mem/sync.c"

#define ADDRESS		0x7f1200000123ULL
#define KEY		0x00abcd12u
#define OTHER_ADDRESS	0x10000ULL
#define OTHER_KEY	0x00123456u
#define LENGTH		0x3000u

enum whose { NOBODY, CPU, DEVICE };

/* Recorded operations, in order. */
static struct done {
	enum whose whose;
	u64 addr;
	size_t size;
	enum dma_data_direction dir;
} done[8];

static unsigned int num_done;

static struct device dma_device;
static struct dat_ia ia;
static struct dat_lmr lmr, other;
static struct scatterlist sgl[3], other_sgl[1];

static void remember(enum whose whose, u64 addr, size_t size,
		     enum dma_data_direction dir)
{
	if (num_done < ARRAY_SIZE(done))
		done[num_done] = (struct done){ whose, addr, size, dir };
	num_done++;
}

static void sync_for_cpu(struct ib_device *ibdev, u64 addr, size_t size,
			 enum dma_data_direction dir)
{
	remember(ibdev == &fake.ibdev ? CPU : NOBODY, addr, size, dir);
}

static void sync_for_device(struct ib_device *ibdev, u64 addr, size_t size,
			    enum dma_data_direction dir)
{
	remember(ibdev == &fake.ibdev ? DEVICE : NOBODY, addr, size, dir);
}

static int make_lmr(struct dat_lmr *new, u64 address, u32 key,
		    struct scatterlist *segments, unsigned int num)
{
	memset(new, 0, sizeof(*new));
	kref_init(&new->obj.ref);
	new->obj.ia = &ia;
	new->address = address;
	new->length = LENGTH;
	new->lkey = key;
	new->dma_dir = DMA_BIDIRECTIONAL;
	new->sgt.sgl = segments;
	new->sgt.nents = num;
	return dat_lmr_insert(new);
}

static int sync_test_init(struct kunit *test)
{
	unsigned int i;
	int ret;

	fake_reset();
	num_done = 0;
	fake.ibdev.dma_device = &dma_device;
	says = (struct dma_says){ .coherent = true };
	memset(done, 0, sizeof(done));
	memset(&ia, 0, sizeof(ia));
	xa_init_flags(&ia.lmrs, XA_FLAGS_LOCK_BH);
	sg_init_table(sgl, ARRAY_SIZE(sgl));
	for (i = 0; i < ARRAY_SIZE(sgl); i++) {
		sg_dma_address(&sgl[i]) = 0x100000 * (i + 1);
		sg_dma_len(&sgl[i]) = 0x1000;
	}
	sg_init_table(other_sgl, 1);
	sg_dma_address(other_sgl) = 0x900000;
	sg_dma_len(other_sgl) = LENGTH;
	ret = make_lmr(&lmr, ADDRESS, KEY, sgl, ARRAY_SIZE(sgl));
	return ret ?: make_lmr(&other, OTHER_ADDRESS, OTHER_KEY, other_sgl, 1);
}

static void sync_test_exit(struct kunit *test)
{
	dat_lmr_remove(&lmr);
	dat_lmr_remove(&other);
	xa_destroy(&ia.lmrs);
}

static void expect_done(struct kunit *test, unsigned int i, enum whose whose,
			u64 addr, size_t size, enum dma_data_direction dir)
{
	KUNIT_EXPECT_EQ(test, whose, done[i].whose);
	KUNIT_EXPECT_EQ(test, addr, done[i].addr);
	KUNIT_EXPECT_EQ(test, size, done[i].size);
	KUNIT_EXPECT_EQ(test, dir, done[i].dir);
}

/* From the middle of the first piece to the middle of the last piece. */
static const DAT_LMR_TRIPLET across = {
	.virtual_address = ADDRESS + 0x800,
	.segment_length = 0x1900,
	.lmr_context = KEY,
};

static void sync_write_for_cpu(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			kdapl_lmr_sync_rdma_write(&ia.obj, &across, 1));
	KUNIT_EXPECT_EQ(test, 3, num_done);
	expect_done(test, 0, CPU, 0x100800, 0x800, DMA_FROM_DEVICE);
	expect_done(test, 1, CPU, 0x200000, 0x1000, DMA_FROM_DEVICE);
	expect_done(test, 2, CPU, 0x300000, 0x100, DMA_FROM_DEVICE);
}

/*
 * Cached data of the CPU must be written back before the peer writes. Otherwise a later
 * write-back would overwrite the peer's data, and an invalidation would discard it
 * unread.
 */
static void sync_write_noncoherent_cpu(struct kunit *test)
{
	says.coherent = false;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			kdapl_lmr_sync_rdma_write(&ia.obj, &across, 1));
	KUNIT_EXPECT_EQ(test, 6, num_done);
	expect_done(test, 0, DEVICE, 0x100800, 0x800, DMA_TO_DEVICE);
	expect_done(test, 1, CPU, 0x100800, 0x800, DMA_FROM_DEVICE);
	expect_done(test, 2, DEVICE, 0x200000, 0x1000, DMA_TO_DEVICE);
	expect_done(test, 3, CPU, 0x200000, 0x1000, DMA_FROM_DEVICE);
	expect_done(test, 4, DEVICE, 0x300000, 0x100, DMA_TO_DEVICE);
	expect_done(test, 5, CPU, 0x300000, 0x100, DMA_FROM_DEVICE);
}

static void sync_write_read_only_lmr(struct kunit *test)
{
	says.coherent = false;
	lmr.dma_dir = DMA_TO_DEVICE;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			kdapl_lmr_sync_rdma_write(&ia.obj, &across, 1));
	KUNIT_EXPECT_EQ(test, 0, num_done);
}

static void needs_sync_conditions(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, dat_dev_needs_sync(&fake.ibdev));
	/* Non-coherent caches, or bounce buffers for all memory. */
	says.need_sync = true;
	KUNIT_EXPECT_TRUE(test, dat_dev_needs_sync(&fake.ibdev));
	says.need_sync = false;
	/* Bounce buffers for part of the memory. */
	says.limited = true;
	KUNIT_EXPECT_TRUE(test, dat_dev_needs_sync(&fake.ibdev));
	says.limited = false;
	says.map_fails = true;
	KUNIT_EXPECT_TRUE(test, dat_dev_needs_sync(&fake.ibdev));
	KUNIT_EXPECT_EQ(test, 0, says.mapped);
	/* A software device is coherent with the CPU. */
	says.need_sync = true;
	says.limited = true;
	fake.ibdev.dma_device = NULL;
	KUNIT_EXPECT_FALSE(test, dat_dev_needs_sync(&fake.ibdev));
}

static void sync_read_for_device(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			kdapl_lmr_sync_rdma_read(&ia.obj, &across, 1));
	KUNIT_EXPECT_EQ(test, 3, num_done);
	expect_done(test, 0, DEVICE, 0x100800, 0x800, DMA_TO_DEVICE);
	expect_done(test, 1, DEVICE, 0x200000, 0x1000, DMA_TO_DEVICE);
	expect_done(test, 2, DEVICE, 0x300000, 0x100, DMA_TO_DEVICE);
}

static void sync_multiple_segments(struct kunit *test)
{
	const DAT_LMR_TRIPLET segs[] = {
		{ .virtual_address = OTHER_ADDRESS + 5, .segment_length = 7,
		  .lmr_context = OTHER_KEY },
		{ .virtual_address = 1, .segment_length = 0,
		  .lmr_context = 0xdead },
		{ .virtual_address = ADDRESS + LENGTH - 1, .segment_length = 1,
		  .lmr_context = KEY },
	};

	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			kdapl_lmr_sync_rdma_read(&ia.obj, segs,
						 ARRAY_SIZE(segs)));
	KUNIT_EXPECT_EQ(test, 2, num_done);
	expect_done(test, 0, DEVICE, 0x900005, 7, DMA_TO_DEVICE);
	expect_done(test, 1, DEVICE, 0x300fff, 1, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			kdapl_lmr_sync_rdma_write(&ia.obj, segs,
						  ARRAY_SIZE(segs)));
	KUNIT_EXPECT_EQ(test, 4, num_done);
	expect_done(test, 2, CPU, 0x900005, 7, DMA_FROM_DEVICE);
	expect_done(test, 3, CPU, 0x300fff, 1, DMA_FROM_DEVICE);
}

/* An IOMMU has joined pages that are no neighbours in memory. */
static void sync_joined_pages(struct kunit *test)
{
	const DAT_LMR_TRIPLET joined = {
		.virtual_address = OTHER_ADDRESS + 0x800,
		.segment_length = 0x1900,
		.lmr_context = OTHER_KEY,
	};

	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, kdapl_lmr_sync_rdma_write(&ia.obj, &joined, 1));
	KUNIT_EXPECT_EQ(test, 3, num_done);
	expect_done(test, 0, CPU, 0x900800, 0x800, DMA_FROM_DEVICE);
	expect_done(test, 1, CPU, 0x901000, 0x1000, DMA_FROM_DEVICE);
	expect_done(test, 2, CPU, 0x902000, 0x100, DMA_FROM_DEVICE);
}

static void sync_bad_segment_no_effect(struct kunit *test)
{
	const DAT_RETURN bad = DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG2);
	DAT_LMR_TRIPLET segs[] = { across, across };

	segs[1].segment_length = LENGTH;
	KUNIT_EXPECT_EQ(test, bad,
			kdapl_lmr_sync_rdma_write(&ia.obj, segs, 2));
	KUNIT_EXPECT_EQ(test, bad, kdapl_lmr_sync_rdma_read(&ia.obj, segs, 2));
	segs[1] = across;
	segs[1].lmr_context ^= 1;
	KUNIT_EXPECT_EQ(test, bad,
			kdapl_lmr_sync_rdma_write(&ia.obj, segs, 2));
	KUNIT_EXPECT_EQ(test, bad, kdapl_lmr_sync_rdma_read(&ia.obj, segs, 2));
	KUNIT_EXPECT_EQ(test, 0, num_done);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&lmr.accesses));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&lmr.obj.ref));
}

/* A removal of the device claims nothing, but ends the mapping. */
static void access_after_shutdown(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, dat_lmr_access_get(&lmr));
	dat_lmr_access_put(&lmr);
	lmr.obj.is_down = 1;
	KUNIT_EXPECT_FALSE(test, dat_lmr_access_get(&lmr));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&lmr.accesses));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			kdapl_lmr_sync_rdma_read(&ia.obj, &across, 1));
	lmr.obj.is_down = 0;
}

static struct kunit_case sync_cases[] = {
	KUNIT_CASE(sync_write_for_cpu),
	KUNIT_CASE(sync_read_for_device),
	KUNIT_CASE(sync_write_noncoherent_cpu),
	KUNIT_CASE(sync_write_read_only_lmr),
	KUNIT_CASE(needs_sync_conditions),
	KUNIT_CASE(sync_multiple_segments),
	KUNIT_CASE(sync_joined_pages),
	KUNIT_CASE(sync_bad_segment_no_effect),
	KUNIT_CASE(access_after_shutdown),
	{}
};

static struct kunit_suite sync_suite = {
	.name = "kdapl_sync",
	.init = sync_test_init,
	.exit = sync_test_exit,
	.test_cases = sync_cases,
};

kunit_test_suite(sync_suite);

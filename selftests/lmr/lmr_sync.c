// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_sync.c - dat_lmr_sync_rdma_write(3DAT), and its sister for reads
 */
#include <pthread.h>
#include <string.h>

#include "harness.h"

#include "pair.h"

#define BAD_IA \
	(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA)

typedef DAT_RETURN sync_call(DAT_IA_HANDLE ia_handle,
			     const DAT_LMR_TRIPLET *local_segments,
			     DAT_VLEN num_segments);

FIXTURE(lmr_sync)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_VARIANT(lmr_sync)
{
	sync_call *sync;
};

FIXTURE_VARIANT_ADD(lmr_sync, write) {
	.sync = dat_lmr_sync_rdma_write,
};

FIXTURE_VARIANT_ADD(lmr_sync, read) {
	.sync = dat_lmr_sync_rdma_read,
};

FIXTURE_SETUP(lmr_sync)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, 65536,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(lmr_sync)
{
	pair_close(&self->pair);
}

TEST_F(lmr_sync, sync_any_subrange)
{
	const struct region *a = &self->a;
	DAT_LMR_TRIPLET segs[] = {
		segment(a, 0, 65536), segment(a, 0, 1), segment(a, 65535, 1),
		segment(a, 1, 65535), segment(a, 4095, 2),
		segment(a, 12345, 23456),
	};
	unsigned int i;

	for (i = 0; i < 6; i++)
		EXPECT_DAT(variant->sync(self->pair.ia, &segs[i], 1));
	EXPECT_DAT(variant->sync(self->pair.ia, segs, 6));
}

TEST_F(lmr_sync, sync_several_lmrs_and_pzs)
{
	DAT_LMR_TRIPLET segs[16];
	struct region r[14];
	unsigned int i;

	/* Neither do they need any privileges. */
	for (i = 0; i < 14; i++) {
		ASSERT_DAT(region_open(&self->pair, i & 1 ? self->pair.a.pz :
				       self->pair.b.pz, &r[i], 8192,
				       DAT_MEM_PRIV_NONE_FLAG));
		segs[i] = segment(&r[i], 100 * i, 4096);
	}
	segs[14] = segment(&self->a, 0, 65536);
	segs[15] = segment(&self->b, 0, 65536);
	EXPECT_DAT(variant->sync(self->pair.ia, segs, 16));
}

TEST_F(lmr_sync, sync_zero_segments)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 65537);

	EXPECT_DAT(variant->sync(self->pair.ia, NULL, 0));
	EXPECT_DAT(variant->sync(self->pair.ia, &seg, 0));
	EXPECT_DAT(variant->sync(self->pair.ia, (DAT_LMR_TRIPLET *)8, 0));
}

TEST_F(lmr_sync, sync_null_segments)
{
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, NULL, 1));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, NULL, 1000));
}

TEST_F(lmr_sync, sync_outside_lmr)
{
	uintptr_t start = (uintptr_t)self->a.buf;
	const struct {
		DAT_VADDR address;
		DAT_VLEN length;
	} outside[] = {
		/* By one byte, on either side. */
		{ start - 1, 1 },
		{ start - 1, 65536 },
		{ start - 1, 65537 },
		{ start, 65537 },
		{ start + 1, 65536 },
		{ start + 65535, 2 },
		{ start + 65536, 1 },
		/* By wrapping around. */
		{ start, ~0ULL },
		{ start, ~0ULL - 1 },
		{ start + 1, -(DAT_VLEN)start },
		{ start, (1ULL << 32) + 1 },
		{ start, 0xffffffff },
		{ ~0ULL, 2 },
		{ ~0ULL - 65535, 65536 },
		/* By being elsewhere. */
		{ 0, 1 },
		{ start + (1ULL << 32), 1 },
		{ start | 1ULL << 63, 1 },
	};
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 0);
	unsigned int i;

	for (i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		seg.virtual_address = outside[i].address;
		seg.segment_length = outside[i].length;
		EXPECT_EQ(DAT_INVALID_PARAMETER,
			  DAT_GET_TYPE(variant->sync(self->pair.ia, &seg, 1)))
			TH_LOG("range %u", i);
	}
}

TEST_F(lmr_sync, sync_context_of_other_lmr)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 64);

	seg.lmr_context = self->b.lmr_context;
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, &seg, 1));
}

TEST_F(lmr_sync, sync_bad_context)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 64);
	unsigned int bit;

	seg.lmr_context = 0;
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, &seg, 1));
	seg.lmr_context = ~0U;
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, &seg, 1));
	/* One bit from a good one; that may be b's by chance. */
	for (bit = 1; bit; bit <<= 1) {
		seg.lmr_context = self->a.lmr_context ^ bit;
		EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
				variant->sync(self->pair.ia, &seg, 1));
	}
}

TEST_F(lmr_sync, sync_freed_context)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 64);

	ASSERT_DAT(variant->sync(self->pair.ia, &seg, 1));
	ASSERT_DAT(dat_lmr_free(self->a.lmr));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, &seg, 1));
}

TEST_F(lmr_sync, sync_context_of_other_ia)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 64);
	struct pair other;

	ASSERT_DAT(pair_open(&other));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(other.ia, &seg, 1));
	pair_close(&other);
}

TEST_F(lmr_sync, sync_empty_segment_not_checked)
{
	DAT_LMR_TRIPLET segs[3] = {
		{ .lmr_context = 0, .virtual_address = 0 },
		{ .lmr_context = ~0U, .virtual_address = ~0ULL, .pad = ~0U },
		segment(&self->a, 0, 64),
	};
	unsigned int i;

	for (i = 0; i < 2; i++)
		EXPECT_DAT(variant->sync(self->pair.ia, &segs[i], 1));
	EXPECT_DAT(variant->sync(self->pair.ia, segs, 3));
	/* They do not hide what comes behind. */
	segs[2].segment_length = 65537;
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, segs, 3));
}

TEST_F(lmr_sync, sync_bad_ia)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 64);
	DAT_LMR_TRIPLET wrong = segment(&self->a, 0, 65537);
	DAT_IA_HANDLE bad[6], closed;
	struct pair other;
	unsigned int i;

	ASSERT_DAT(pair_open(&other));
	closed = other.ia;
	pair_close(&other);
	bad[0] = DAT_HANDLE_NULL;
	bad[1] = (DAT_IA_HANDLE)0x5555;
	bad[2] = (DAT_IA_HANDLE)&self->pair;
	bad[3] = self->pair.a.pz;
	bad[4] = self->a.lmr;
	bad[5] = closed;
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(BAD_IA, variant->sync(bad[i], &seg, 1));
		EXPECT_EQ(BAD_IA, variant->sync(bad[i], &wrong, 1));
		EXPECT_EQ(BAD_IA, variant->sync(bad[i], NULL, 0));
	}
}

TEST_F(lmr_sync, sync_many_segments)
{
	static const unsigned int counts[] = { 64, 65, 128, 129, 1000 };
	static DAT_LMR_TRIPLET segs[1000];
	unsigned int i;

	for (i = 0; i < 1000; i++)
		segs[i] = segment(i & 1 ? &self->a : &self->b, i * 60, 60);
	for (i = 0; i < 5; i++) {
		DAT_LMR_TRIPLET *last = &segs[counts[i] - 1];

		EXPECT_DAT(variant->sync(self->pair.ia, segs, counts[i]));
		/* The last counts like any other. */
		last->virtual_address += 65536;
		EXPECT_EQ(DAT_INVALID_PARAMETER,
			  DAT_GET_TYPE(variant->sync(self->pair.ia, segs,
						     counts[i])))
			TH_LOG("%u segments", counts[i]);
		last->virtual_address -= 65536;
	}
}

TEST_F(lmr_sync, sync_too_many_segments)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 64);

	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, &seg, ~0ULL));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			variant->sync(self->pair.ia, &seg, 1ULL << 32));
}

/* A thread that synchronises an LMR that somebody else wants to free. */
struct syncer {
	sync_call *sync;
	DAT_IA_HANDLE ia;
	DAT_LMR_CONTEXT context;
	unsigned char *buf;
	unsigned int done;
	unsigned int strange;
	bool stop;
};

static void *keep_syncing(void *arg)
{
	struct syncer *s = arg;
	DAT_LMR_TRIPLET segs[64];
	unsigned int i;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		DAT_UINT32 type;

		for (i = 0; i < 64; i++) {
			segs[i].lmr_context = __atomic_load_n(&s->context,
							      __ATOMIC_RELAXED);
			segs[i].virtual_address = (uintptr_t)s->buf;
			segs[i].segment_length = 65536;
		}
		type = DAT_GET_TYPE(s->sync(s->ia, segs, 64));
		if (type != DAT_SUCCESS && type != DAT_INVALID_PARAMETER)
			s->strange++;
		__atomic_add_fetch(&s->done, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Only an RMR makes dat_lmr_free() fail, and what is freed is out of reach. */
TEST_F(lmr_sync, sync_races_lmr_free)
{
	struct syncer s = {
		.sync = variant->sync,
		.ia = self->pair.ia,
		.buf = self->a.buf,
	};
	unsigned int i, refused = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_syncing, &s));
	for (i = 0; i < 100; i++) {
		DAT_REGION_DESCRIPTION desc = { .for_va = self->a.buf };
		unsigned int before = __atomic_load_n(&s.done,
						      __ATOMIC_RELAXED);
		DAT_LMR_CONTEXT context;
		DAT_LMR_HANDLE lmr;

		ASSERT_DAT(dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_VIRTUAL,
					  desc, 65536, self->pair.a.pz,
					  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context,
					  NULL, NULL, NULL));
		__atomic_store_n(&s.context, context, __ATOMIC_RELAXED);
		/* Let it be found. */
		while (__atomic_load_n(&s.done, __ATOMIC_RELAXED) < before + 2)
			sched_yield();
		if (dat_lmr_free(lmr)) {
			refused++;
			while (dat_lmr_free(lmr))
				sched_yield();
		}
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, refused);
	EXPECT_EQ(0, s.strange);
}

/* What the calls are for. */
PAIR_FIXTURE(lmr_sync_rdma, pair_open_connected, 65536)

TEST_F(lmr_sync_rdma, sync_rdma_write_visible)
{
	struct pair *p = &self->pair;
	DAT_LMR_TRIPLET seg = segment(&self->b, 0, 65536);
	unsigned int i;

	for (i = 1; i < 5; i++) {
		/* A local write has to be told of, too. */
		memset(self->b.buf, 0xee, 65536);
		ASSERT_DAT(dat_lmr_sync_rdma_write(p->ia, &seg, 1));
		memset(self->a.buf, i, 65536);
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  write_status(p, &self->a, self->b.rmr_context,
				       self->b.buf, 65536));
		ASSERT_DAT(dat_lmr_sync_rdma_write(p->ia, &seg, 1));
		EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 65536));
	}
}

TEST_F(lmr_sync_rdma, sync_rdma_read_visible)
{
	struct pair *p = &self->pair;
	DAT_LMR_TRIPLET seg = segment(&self->b, 0, 65536);
	unsigned int i;

	for (i = 1; i < 5; i++) {
		memset(self->b.buf, i, 65536);
		ASSERT_DAT(dat_lmr_sync_rdma_read(p->ia, &seg, 1));
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  read_status(p, &self->a, self->b.rmr_context,
				      self->b.buf, 65536));
		EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 65536));
	}
}

TEST_F(lmr_sync_rdma, coherent_without_sync)
{
	struct pair *p = &self->pair;
	DAT_PROVIDER_ATTR attr;
	unsigned int i;

	ASSERT_DAT(dat_ia_query(p->ia, NULL, 0, NULL,
				DAT_PROVIDER_FIELD_LMR_SYNC_REQ, &attr));
	if (attr.lmr_sync_req)
		SKIP(return, "on this machine they are needed");
	for (i = 1; i < 20; i++) {
		memset(self->a.buf, i, 65536);
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  write_status(p, &self->a, self->b.rmr_context,
				       self->b.buf, 65536));
		EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 65536));
		memset(self->b.buf, ~i, 65536);
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  read_status(p, &self->a, self->b.rmr_context,
				      self->b.buf, 65536));
		EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 65536));
	}
}

TEST_HARNESS_MAIN

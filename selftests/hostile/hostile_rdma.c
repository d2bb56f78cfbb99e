// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * hostile_rdma.c - a peer writes and reads around the edges of LMRs and windows
 *
 * It uses contexts that are valid, that were valid once, and guesses.
 */
#include "harness.h"
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <linux/dat.h>

#include "attack.h"
#include "host.h"
#include "ioctls.h"
#include "link.h"
#include "process.h"

#define MAX_ATTACKS	256

FIXTURE(hostile_rdma)
{
	struct host host;
	struct attack attacks[MAX_ATTACKS];
	unsigned int num;
};

FIXTURE_SETUP(hostile_rdma)
{
	ASSERT_DAT(host_open(&self->host));
}

FIXTURE_TEARDOWN(hostile_rdma)
{
	host_close(&self->host);
}

/* Adds an attack at an offset of the arena. */
static void add(FIXTURE_DATA(hostile_rdma) *self, __u32 opcode, DAT_RMR_CONTEXT key,
		long long offset, __u32 length, __u32 expected)
{
	struct attack attack = {
		.opcode = opcode,
		.address = ADDR(self->host.arena.buf) + offset,
		.length = length,
		.rkey = key,
		.expected = expected,
	};

	if (self->num == MAX_ATTACKS)
		abort();
	self->attacks[self->num++] = attack;
}

static void add_both(FIXTURE_DATA(hostile_rdma) *self, DAT_RMR_CONTEXT key,
		     long long offset, __u32 length, __u32 expected)
{
	add(self, IBV_WR_RDMA_WRITE, key, offset, length, expected);
	add(self, IBV_WR_RDMA_READ, key, offset, length, expected);
}

static bool run(FIXTURE_DATA(hostile_rdma) *self)
{
	unsigned int num = self->num;

	self->num = 0;
	return attack_all(&self->host, self->attacks, num);
}

/* Ranges that cross or touch an edge of [from, from + length), by each distance */
static void add_edges(FIXTURE_DATA(hostile_rdma) *self, DAT_RMR_CONTEXT key, long long from,
		      __u32 length)
{
	static const int distances[] = { 1, 8, 63, 4096 };
	long long end = from + length;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(distances); i++) {
		int d = distances[i];

		/* Before the beginning; across it; across the end; behind it. */
		add_both(self, key, from - d, 1, REFUSED);
		add_both(self, key, from - d, d + 1, REFUSED);
		add_both(self, key, end - 1, d + 1, REFUSED);
		add_both(self, key, end + d - 1, 1, REFUSED);
		/* Inside, up to the edges */
		add_both(self, key, from, d, ATTACK_ALLOWED);
		add_both(self, key, end - d, d, ATTACK_ALLOWED);
	}
	add_both(self, key, from, length, ATTACK_ALLOWED);
	add_both(self, key, from, length + 1, REFUSED);
	add_both(self, key, from - 1, length + 1, REFUSED);
	add_both(self, key, from - 1, length + 2, REFUSED);
}

/* Addresses whose sum with the length overflows, and addresses in the kernel */
static void add_far(FIXTURE_DATA(hostile_rdma) *self, DAT_RMR_CONTEXT key)
{
	static const __u64 addresses[] = {
		0, 1, 4096, UINT64_MAX, UINT64_MAX - 63, UINT64_MAX - 4095, 1ULL << 63,
		0xffffffff00000000, 0xffff888000000000,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(addresses); i++)
		add_both(self, key, addresses[i] - ADDR(self->host.arena.buf), 64, REFUSED);
}

TEST_F(hostile_rdma, window_edges)
{
	add_edges(self, self->host.window, WINDOW_AT, WINDOW_LEN);
	EXPECT_TRUE(run(self));
}

TEST_F(hostile_rdma, lmr_edges)
{
	add_edges(self, self->host.open.rmr_context, OPEN_AT, OPEN_LEN);
	EXPECT_TRUE(run(self));
}

TEST_F(hostile_rdma, far_addresses)
{
	add_far(self, self->host.window);
	add_far(self, self->host.open.rmr_context);
	EXPECT_TRUE(run(self));
}

/* Each context that a window ever had, but for the present one, and those of freed objects */
TEST_F(hostile_rdma, former_contexts)
{
	struct host *host = &self->host;
	DAT_RMR_CONTEXT former[8], unbound, freed, now;
	struct region gone = { .buf = host->arena.buf + WINDOW_AT };
	DAT_REGION_DESCRIPTION desc = { .for_va = gone.buf };
	DAT_RMR_HANDLE rmr;
	DAT_VADDR address;
	DAT_VLEN size;
	unsigned int i;

	ASSERT_DAT(dat_rmr_create(host->pair.b.pz, &rmr));
	for (i = 0; i < ARRAY_LEN(former); i++)
		ASSERT_DAT(host_bind(host, rmr, WINDOW_AT, WINDOW_LEN, REMOTE_RW, &former[i]));
	ASSERT_DAT(host_bind(host, rmr, WINDOW_AT, WINDOW_LEN, REMOTE_RW, &unbound));
	ASSERT_DAT(host_bind(host, rmr, 0, 0, 0, &now));
	for (i = 0; i < ARRAY_LEN(former); i++)
		add_both(self, former[i], WINDOW_AT + 8, 64, REFUSED);
	add_both(self, unbound, WINDOW_AT + 8, 64, REFUSED);
	ASSERT_TRUE(run(self));

	/* The same with a window that is open now */
	ASSERT_DAT(host_bind(host, rmr, WINDOW_AT, WINDOW_LEN, REMOTE_RW, &freed));
	for (i = 0; i < ARRAY_LEN(former); i++)
		add(self, i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, former[i],
		    WINDOW_AT + 8, 64, REFUSED);
	add_both(self, unbound, WINDOW_AT + 8, 64, REFUSED);
	add_both(self, freed, WINDOW_AT + 8, 64, ATTACK_ALLOWED);
	ASSERT_TRUE(run(self));

	ASSERT_DAT(dat_rmr_free(rmr));
	ASSERT_DAT(dat_lmr_create(host->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc, WINDOW_LEN,
				  host->pair.b.pz, DAT_MEM_PRIV_ALL_FLAG, &gone.lmr,
				  &gone.lmr_context, &gone.rmr_context, &size, &address));
	ASSERT_DAT(dat_lmr_free(gone.lmr));
	add_both(self, freed, WINDOW_AT + 8, 64, REFUSED);
	add_both(self, gone.rmr_context, WINDOW_AT + 8, 64, REFUSED);
	add_both(self, gone.lmr_context, WINDOW_AT + 8, 64, REFUSED);
	EXPECT_TRUE(run(self));
}

static bool is_valid(const struct host *host, __u32 key)
{
	return key == host->window || key == host->open.rmr_context;
}

/* Contexts like @key: with another last byte or another index */
static void add_neighbours(FIXTURE_DATA(hostile_rdma) *self, __u32 key)
{
	static const int steps[] = { 1, -1, 2, -2, 128, 256, -256, 512, -512, 768, 0x10000 };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(steps); i++) {
		__u32 guess = key + steps[i];

		if (!is_valid(&self->host, guess))
			add(self, i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, guess,
			    WINDOW_AT + 8, 64, REFUSED);
	}
}

TEST_F(hostile_rdma, guessed_contexts)
{
	struct host *host = &self->host;
	unsigned int i;

	TH_LOG("KDAPL_SEED=%u", random_seed());
	add_neighbours(self, host->window);
	add_neighbours(self, host->open.rmr_context);
	add_neighbours(self, host->arena.lmr_context);
	add_both(self, 0, WINDOW_AT + 8, 64, REFUSED);
	add_both(self, UINT32_MAX, WINDOW_AT + 8, 64, REFUSED);
	for (i = 0; i < 10; i++)
		add_both(self, random() ^ (__u32)random() << 16, WINDOW_AT + 8, 64, REFUSED);
	EXPECT_TRUE(run(self));
}

/* Valid contexts, of memory that this peer may not use */
TEST_F(hostile_rdma, foreign_contexts)
{
	struct host *host = &self->host;
	long long other = host->other.address - ADDR(host->arena.buf);
	struct region a;
	long long at;

	ASSERT_DAT(region_open(&host->pair, host->pair.a.pz, &a, 8192, DAT_MEM_PRIV_ALL_FLAG));
	at = a.buf - host->arena.buf;
	/* Another PZ of the host */
	add_both(self, a.rmr_context, at, 64, REFUSED);
	add_both(self, a.lmr_context, at, 64, REFUSED);
	/* Another process */
	add_both(self, host->other.window, other + 512, 64, REFUSED);
	add_both(self, host->other.rmr_context, other, 64, REFUSED);
	add_both(self, host->other.lmr_context, other, 64, REFUSED);
	add(self, IBV_WR_RDMA_WRITE, host->arena.lmr_context, 0, 64, REFUSED);
	/* siw does not check whether a peer may read. */
	if (link_checks_reads())
		add(self, IBV_WR_RDMA_READ, host->arena.lmr_context, 0, 64, REFUSED);
	EXPECT_TRUE(run(self));
	EXPECT_TRUE(is_filled_with(a.buf, a.len, 0));
}

TEST_F(hostile_rdma, privileges_of_window)
{
	struct host *host = &self->host;
	DAT_RMR_CONTEXT readable, writable;
	DAT_RMR_HANDLE rmr;

	ASSERT_DAT(dat_rmr_create(host->pair.b.pz, &rmr));
	ASSERT_DAT(host_bind(host, rmr, WINDOW_AT, WINDOW_LEN, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			     &readable));
	add(self, IBV_WR_RDMA_READ, readable, WINDOW_AT, 64, ATTACK_ALLOWED);
	add(self, IBV_WR_RDMA_WRITE, readable, WINDOW_AT, 64, REFUSED);
	EXPECT_TRUE(run(self));

	if (!link_checks_reads())
		SKIP(return, "siw does not check whether a peer may read");
	ASSERT_DAT(host_bind(host, rmr, WINDOW_AT, WINDOW_LEN, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			     &writable));
	add(self, IBV_WR_RDMA_WRITE, writable, WINDOW_AT, 64, ATTACK_ALLOWED);
	add(self, IBV_WR_RDMA_READ, writable, WINDOW_AT, 64, REFUSED);
	EXPECT_TRUE(run(self));
}

/* Windows for atomics are those of DAT 2.0, so libdat cannot bind them. */
static DAT_UINT32 bind_atomic(struct host *host, DAT_RMR_HANDLE rmr, DAT_RMR_CONTEXT *context)
{
	struct dat_dev_segment segment = dev_segment(&host->arena, WINDOW_AT, WINDOW_LEN);
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RMR_BIND,
		.ep = handle_number(host->victims[GOOD].ep),
		.num_segments = 1,
		.segments = ADDR(&segment),
		.cookie = 0xb2,
		.rmr = handle_number(rmr),
		.privileges = REMOTE_RW | DAT_DEV_PRIV_ATOMIC,
	};
	DAT_UINT32 type = dev_post_one(library_fd(), &dto);

	*context = dto.rmr_context;
	if (!type && wait_bind(host->victims[GOOD].dto_evd, 0xb2) != DAT_DTO_SUCCESS)
		return IOCTL_FAILED;
	return type;
}

#define ADD	IBV_WR_ATOMIC_FETCH_AND_ADD
#define SWAP	IBV_WR_ATOMIC_CMP_AND_SWP

TEST_F(hostile_rdma, atomics)
{
	struct host *host = &self->host;
	DAT_RMR_CONTEXT atomic;
	DAT_RMR_HANDLE rmr;
	unsigned int i;

	if (link_is_iwarp())
		SKIP(return, "siw has no atomics");
	/* Neither LMR nor window has the privilege. */
	add(self, ADD, host->window, WINDOW_AT, 8, REFUSED);
	add(self, SWAP, host->window, WINDOW_AT + 8, 8, REFUSED);
	add(self, ADD, host->open.rmr_context, OPEN_AT, 8, REFUSED);
	add(self, SWAP, host->open.rmr_context, OPEN_AT + 8, 8, REFUSED);
	add(self, ADD, host->other.rmr_context, host->other.address - ADDR(host->arena.buf), 8,
	    REFUSED);

	ASSERT_DAT(dat_rmr_create(host->pair.b.pz, &rmr));
	ASSERT_EQ(DAT_SUCCESS, bind_atomic(host, rmr, &atomic));
	for (i = 1; i < 8; i++)
		add(self, i & 1 ? ADD : SWAP, atomic, WINDOW_AT + i, 8, IBV_WC_REM_INV_REQ_ERR);
	add(self, ADD, atomic, WINDOW_AT, 8, ATTACK_ALLOWED);
	add(self, ADD, atomic, WINDOW_AT + WINDOW_LEN - 8, 8, ATTACK_ALLOWED);
	add(self, SWAP, atomic, WINDOW_AT + 8, 8, ATTACK_ALLOWED);
	add(self, ADD, atomic, WINDOW_AT - 8, 8, REFUSED);
	add(self, SWAP, atomic, WINDOW_AT - 4, 8, REFUSED);
	add(self, ADD, atomic, WINDOW_AT + WINDOW_LEN, 8, REFUSED);
	add(self, SWAP, atomic, WINDOW_AT + WINDOW_LEN - 4, 8, REFUSED);
	add(self, ADD, atomic, -ADDR(host->arena.buf), 8, REFUSED);
	add(self, ADD, atomic + 1, WINDOW_AT, 8, REFUSED);
	EXPECT_TRUE(run(self));
}

TEST_HARNESS_MAIN

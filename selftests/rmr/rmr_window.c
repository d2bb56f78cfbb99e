// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_window.c - dat_rmr_bind(3DAT): what a peer can do through a window
 *
 * Side b binds, side a is the peer.
 */
#include "harness.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "link.h"
#include "pair.h"

#define REGION		131072
#define RW		(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* What the peer's memory is full of, and what ours is. */
#define THEIRS		0xaa
#define OURS		0xbb

/* The LMR itself is closed to peers: a window is all that opens it. */
#define LOCAL		(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

struct world {
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
};

static DAT_RETURN world_open(struct world *w)
{
	DAT_RETURN ret = pair_open(&w->pair);

	if (!ret)
		ret = pair_connect(&w->pair);
	if (!ret)
		ret = region_open(&w->pair, w->pair.a.pz, &w->a, REGION,
				  LOCAL);
	if (!ret)
		ret = region_open(&w->pair, w->pair.b.pz, &w->b, REGION,
				  LOCAL);
	if (!ret)
		ret = dat_rmr_create(w->pair.b.pz, &w->rmr);
	if (!ret) {
		memset(w->a.buf, THEIRS, REGION);
		memset(w->b.buf, OURS, REGION);
	}
	return ret;
}

/* Binds and waits. Return: the status, or -1. */
static int bind_b(struct world *w, size_t offset, size_t len,
		  DAT_MEM_PRIV_FLAGS privileges, DAT_RMR_CONTEXT *context)
{
	if (bind_window(w->rmr, &w->b, offset, len, privileges, w->pair.b.ep,
			0xb, DAT_COMPLETION_DEFAULT_FLAG, context))
		return -1;
	return wait_bind(w->pair.b.dto_evd, 0xb);
}

/* One access of the peer to our memory at @offset. Return: how it ended. */
static int use(struct world *w, bool write, DAT_RMR_CONTEXT context,
	       size_t offset, size_t len)
{
	if (write)
		return write_status(&w->pair, &w->a, context,
				    w->b.buf + offset, len);
	return read_status(&w->pair, &w->a, context, w->b.buf + offset, len);
}

/* A new connection, once both sides have heard that the old one broke. */
static DAT_RETURN recover(struct world *w)
{
	return wait_refusal(&w->pair) ?: pair_reconnect(&w->pair);
}

/*
 * The same in a race: either side may have been the first to end it, or to know.
 */
static DAT_RETURN recover_from_race(struct world *w)
{
	DAT_EVENT event;
	DAT_RETURN ret = wait_event(w->pair.a.conn_evd, &event);

	if (!ret)
		ret = wait_event(w->pair.b.conn_evd, &event);
	return ret ?: pair_reconnect(&w->pair);
}

static bool all(const unsigned char *buf, size_t len, unsigned char byte)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != byte)
			return false;
	return true;
}

FIXTURE(limits)
{
	struct world w;
	DAT_RMR_CONTEXT context;
};

/* Begin and length are odd, and beyond one packet, one page, or neither. */
FIXTURE_VARIANT(limits)
{
	bool write;
	size_t offset, len;
};

FIXTURE_VARIANT_ADD(limits, write_within_a_page)
{
	.write = true, .offset = 4096 + 13, .len = 101,
};

FIXTURE_VARIANT_ADD(limits, write_over_pages)
{
	.write = true, .offset = 8192 - 3, .len = 12289,
};

FIXTURE_VARIANT_ADD(limits, read_within_a_page)
{
	.write = false, .offset = 4096 + 13, .len = 101,
};

FIXTURE_VARIANT_ADD(limits, read_over_pages)
{
	.write = false, .offset = 8192 - 3, .len = 12289,
};

FIXTURE_SETUP(limits)
{
	ASSERT_DAT(world_open(&self->w));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->w, variant->offset, variant->len, RW,
			 &self->context));
}

FIXTURE_TEARDOWN(limits)
{
	pair_close(&self->w.pair);
}

TEST_F(limits, access_inside_window)
{
	unsigned char *b = self->w.b.buf, *a = self->w.a.buf;
	size_t offset = variant->offset, len = variant->len;

	ASSERT_EQ(DAT_DTO_SUCCESS,
		  use(&self->w, variant->write, self->context, offset, 1));
	ASSERT_EQ(DAT_DTO_SUCCESS, use(&self->w, variant->write, self->context,
				       offset + len - 1, 1));
	ASSERT_EQ(DAT_DTO_SUCCESS,
		  use(&self->w, variant->write, self->context, offset, len));
	if (variant->write) {
		EXPECT_TRUE(all(b + offset, len, THEIRS));
		EXPECT_TRUE(all(b, offset, OURS));
		EXPECT_TRUE(all(b + offset + len, REGION - offset - len,
				OURS));
	} else {
		EXPECT_TRUE(all(a, len, OURS));
		EXPECT_TRUE(all(a + len, REGION - len, THEIRS));
		EXPECT_TRUE(all(b, REGION, OURS));
	}
}

/* All of these must fail; nothing outside the window may have changed hands. */
TEST_F(limits, access_outside_window)
{
	size_t offset = variant->offset, len = variant->len;
	const struct {
		size_t offset, len;
	} tries[] = {
		{ offset - 1, 1 },
		{ offset - 1, 2 },
		{ offset - 1, len },
		{ offset + len, 1 },
		{ offset + len - 1, 2 },
		{ offset, len + 1 },
	};
	unsigned char *b = self->w.b.buf;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(tries); i++) {
		if (i)
			ASSERT_DAT(recover(&self->w));
		EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
			  use(&self->w, variant->write, self->context,
			      tries[i].offset, tries[i].len)) {
			TH_LOG("%zu bytes at %zu", tries[i].len,
			       tries[i].offset);
		}
	}
	EXPECT_TRUE(all(b, offset, OURS));
	EXPECT_TRUE(all(b + offset + len, REGION - offset - len, OURS));
	EXPECT_TRUE(all(self->w.a.buf, REGION, THEIRS));
}

FIXTURE(privileges)
{
	struct world w;
};

FIXTURE_VARIANT(privileges)
{
	DAT_MEM_PRIV_FLAGS privileges;
	bool read, write;
};

FIXTURE_VARIANT_ADD(privileges, none)
{
	.privileges = DAT_MEM_PRIV_NONE_FLAG,
};

FIXTURE_VARIANT_ADD(privileges, local_only)
{
	.privileges = LOCAL,
};

FIXTURE_VARIANT_ADD(privileges, read_only)
{
	.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG, .read = true,
};

FIXTURE_VARIANT_ADD(privileges, write_only)
{
	.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG, .write = true,
};

FIXTURE_VARIANT_ADD(privileges, all)
{
	.privileges = DAT_MEM_PRIV_ALL_FLAG, .read = true, .write = true,
};

FIXTURE_SETUP(privileges)
{
	ASSERT_DAT(world_open(&self->w));
}

FIXTURE_TEARDOWN(privileges)
{
	pair_close(&self->w.pair);
}

TEST_F(privileges, privileges_limit_peer_access)
{
	bool may_read = variant->read || !link_checks_reads();
	DAT_RMR_CONTEXT context;
	int status;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->w, 0, 4096, variant->privileges, &context));
	status = use(&self->w, false, context, 0, 4096);
	EXPECT_EQ(may_read ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_ACCESS,
		  status);
	EXPECT_TRUE(all(self->w.a.buf, 4096, may_read ? OURS : THEIRS));
	if (status)
		ASSERT_DAT(recover(&self->w));

	memset(self->w.a.buf, THEIRS, 4096);
	status = use(&self->w, true, context, 0, 4096);
	EXPECT_EQ(variant->write ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_ACCESS,
		  status);
	EXPECT_TRUE(all(self->w.b.buf, 4096, variant->write ? THEIRS : OURS));
}

FIXTURE(zone)
{
	struct world w;
};

FIXTURE_SETUP(zone)
{
	ASSERT_DAT(world_open(&self->w));
}

FIXTURE_TEARDOWN(zone)
{
	pair_close(&self->w.pair);
}

/* A second connection to the same consumer, with PZs of its own. */
TEST_F(zone, access_from_other_pz)
{
	struct world *w = &self->w;
	struct pair other = w->pair;
	DAT_RMR_CONTEXT context;
	struct region r;

	ASSERT_DAT(side_open(&w->pair, &other.a));
	ASSERT_DAT(side_open(&w->pair, &other.b));
	ASSERT_DAT(pair_connect(&other));
	ASSERT_DAT(region_open(&w->pair, other.a.pz, &r, 4096, LOCAL));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, bind_b(w, 0, 4096, RW, &context));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&other, &r, context, w->b.buf, 4096));
	EXPECT_TRUE(all(w->b.buf, REGION, OURS));
	EXPECT_EQ(DAT_DTO_SUCCESS, use(w, true, context, 0, 4096));
	EXPECT_TRUE(all(w->b.buf, 4096, THEIRS));
}

FIXTURE(old_context)
{
	struct world w;
	DAT_RMR_CONTEXT context;
};

FIXTURE_VARIANT(old_context)
{
	bool write;
};

FIXTURE_VARIANT_ADD(old_context, write)
{
	.write = true,
};

FIXTURE_VARIANT_ADD(old_context, read)
{
	.write = false,
};

FIXTURE_SETUP(old_context)
{
	ASSERT_DAT(world_open(&self->w));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->w, 0, 4096, RW, &self->context));
	/* It does work, so that what follows is no accident. */
	ASSERT_EQ(DAT_DTO_SUCCESS,
		  use(&self->w, variant->write, self->context, 0, 4096));
	memset(self->w.a.buf, THEIRS, REGION);
	memset(self->w.b.buf, OURS, REGION);
}

FIXTURE_TEARDOWN(old_context)
{
	pair_close(&self->w.pair);
}

static void expect_dead(struct __test_metadata *_metadata, struct world *w,
			bool write, DAT_RMR_CONTEXT context)
{
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, use(w, write, context, 0, 4096));
	EXPECT_TRUE(all(w->a.buf, REGION, THEIRS));
	EXPECT_TRUE(all(w->b.buf, REGION, OURS));
	EXPECT_DAT(wait_refusal(&w->pair));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(w->pair.a.ep));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(w->pair.b.ep));
}

TEST_F(old_context, rebind_invalidates_context)
{
	DAT_RMR_CONTEXT new;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->w, 8192, 4096, RW, &new));
	expect_dead(_metadata, &self->w, variant->write, self->context);
}

/* The same range again must not make the old context good again. */
TEST_F(old_context, same_range_rebind_invalidates_context)
{
	DAT_RMR_CONTEXT new;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, bind_b(&self->w, 0, 4096, RW, &new));
	expect_dead(_metadata, &self->w, variant->write, self->context);
}

TEST_F(old_context, two_rebinds_invalidate_context)
{
	DAT_RMR_CONTEXT new;

	/* This one is bound to the MR that the first one had. */
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
		  bind_b(&self->w, 8192, 4096, RW, &new));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, bind_b(&self->w, 0, 4096, RW, &new));
	expect_dead(_metadata, &self->w, variant->write, self->context);
}

TEST_F(old_context, unbind_invalidates_context)
{
	DAT_RMR_CONTEXT junk;

	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, bind_b(&self->w, 0, 0, RW, &junk));
	expect_dead(_metadata, &self->w, variant->write, self->context);
}

TEST_F(old_context, rmr_free_invalidates_context)
{
	ASSERT_DAT(dat_rmr_free(self->w.rmr));
	expect_dead(_metadata, &self->w, variant->write, self->context);
	EXPECT_DAT(dat_lmr_free(self->w.b.lmr));
}

FIXTURE(again)
{
	struct world w;
};

FIXTURE_SETUP(again)
{
	ASSERT_DAT(world_open(&self->w));
}

FIXTURE_TEARDOWN(again)
{
	pair_close(&self->w.pair);
}

/* The region has other memory now, at the same address; where the old is. */
static unsigned char *exchange_memory(struct world *w)
{
	unsigned char *old;

	old = mremap(w->b.buf, REGION, REGION, MREMAP_MAYMOVE | MREMAP_FIXED,
		     mmap(NULL, REGION, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (old == MAP_FAILED ||
	    mmap(w->b.buf, REGION, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		 0) != w->b.buf)
		return NULL;
	memset(w->b.buf, OURS, REGION);
	return old;
}

static DAT_RETURN register_again(struct world *w)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = w->b.buf };
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_create(w->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc, REGION,
			      w->pair.b.pz, LOCAL, &w->b.lmr,
			      &w->b.lmr_context, &w->b.rmr_context, &size,
			      &address);
}

#define PART		(4 * 4096)

/* Nothing but the memory is another: as many binds as both MRs have come to see. */
TEST_F(again, rebind_after_memory_change)
{
	struct world *w = &self->w;
	DAT_RMR_CONTEXT context;
	unsigned char *old;
	unsigned int i, j;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
				  bind_b(w, 4096, PART, RW, &context));
			ASSERT_EQ(DAT_DTO_SUCCESS,
				  use(w, true, context, 4096, PART));
			ASSERT_TRUE(all(w->b.buf + 4096, PART, THEIRS));
			memset(w->b.buf, OURS, REGION);
		}
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(w, 0, 0, RW, &context));
		ASSERT_DAT(dat_lmr_free(w->b.lmr));
		old = exchange_memory(w);
		ASSERT_NE(NULL, old);
		ASSERT_DAT(register_again(w));
		for (j = 0; j < 3; j++) {
			ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
				  bind_b(w, 4096, PART, RW, &context));
			ASSERT_EQ(DAT_DTO_SUCCESS,
				  use(w, true, context, 4096, PART));
			EXPECT_TRUE(all(w->b.buf + 4096, PART, THEIRS));
			EXPECT_TRUE(all(old, REGION, OURS));
			memset(w->b.buf, OURS, REGION);
		}
		munmap(old, REGION);
	}
}

/* Each of these is like the one two binds before in all but one thing. */
TEST_F(again, rebind_other_range)
{
	static const struct {
		size_t offset, len;
	} parts[] = {
		{ 4096, PART }, { 4096, PART }, { 8192, PART }, { 8192, PART },
		{ 8192, 4096 }, { 8192, 4096 }, { 8193, 4096 }, { 8193, 4096 },
		{ 8193, 4096 }, { 8193, 9000 }, { 8193, 4096 }, { 4096, PART },
	};
	struct world *w = &self->w;
	DAT_RMR_CONTEXT context;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(parts); i++) {
		size_t offset = parts[i].offset, end = offset + parts[i].len;

		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(w, offset, end - offset, RW, &context));
		memset(w->b.buf, OURS, REGION);
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  use(w, true, context, offset, end - offset));
		EXPECT_TRUE(all(w->b.buf, offset, OURS));
		EXPECT_TRUE(all(w->b.buf + offset, end - offset, THEIRS));
		EXPECT_TRUE(all(w->b.buf + end, REGION - end, OURS));
		/* As far as the window before it was open. */
		ASSERT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
			  use(w, true, context, offset, end - offset + 1));
		ASSERT_DAT(recover(w));
	}
}

TEST_F(again, rebind_fewer_privileges)
{
	struct world *w = &self->w;
	DAT_RMR_CONTEXT context;
	unsigned int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(w, 0, PART, RW, &context));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(w, 0, PART, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				 &context));
		EXPECT_EQ(DAT_DTO_SUCCESS, use(w, false, context, 0, PART));
		EXPECT_TRUE(all(w->a.buf, PART, OURS));
		ASSERT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
			  use(w, true, context, 0, PART));
		ASSERT_DAT(recover(w));
	}
}

FIXTURE(hammer)
{
	struct world w;
};

FIXTURE_VARIANT(hammer)
{
	size_t len;
};

/* One packet, and many: a message may be half-way when its window goes. */
FIXTURE_VARIANT_ADD(hammer, one_packet)
{
	.len = 512,
};

FIXTURE_VARIANT_ADD(hammer, many_packets)
{
	.len = 16384,
};

FIXTURE_SETUP(hammer)
{
	ASSERT_DAT(world_open(&self->w));
}

FIXTURE_TEARDOWN(hammer)
{
	pair_close(&self->w.pair);
}

#define DEPTH	4

/*
 * The peer's writes are numbered, and each writes its own number all over its
 * target. Numbers that were posted after the bind had completed must not turn
 * up. Those posted before may or may not: a packet that the device has in its
 * hands has been let in.
 */
struct peer {
	struct world *w;
	DAT_RMR_CONTEXT context;
	size_t len;
	bool rebound;
	unsigned int posted;
	unsigned int posted_before;
	unsigned int succeeded;
	int status;
};

static void fill(unsigned char *buf, unsigned int n, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += sizeof(n))
		memcpy(buf + i, &n, sizeof(n));
}

/* Writes into the beginning of our memory until it is not let any more. */
static void *peer_main(void *arg)
{
	struct peer *peer = arg;
	struct world *w = peer->w;
	unsigned int i, n = 0;

	do {
		for (i = 0; i < DEPTH; i++) {
			fill(w->a.buf + i * peer->len, ++n, peer->len);
			if (!__atomic_load_n(&peer->rebound, __ATOMIC_SEQ_CST))
				peer->posted_before = n;
			post_write(w->pair.a.ep, &w->a, i * peer->len,
				   peer->len, peer->context, w->b.buf, n);
			__atomic_store_n(&peer->posted, n, __ATOMIC_RELAXED);
		}
		for (i = 1; i <= DEPTH && !peer->status; i++) {
			peer->status = wait_dto(w->pair.a.dto_evd,
						n - DEPTH + i);
			if (!peer->status)
				peer->succeeded = n - DEPTH + i;
		}
	} while (!peer->status);
	return NULL;
}

TEST_F(hammer, remote_writes_during_rebind)
{
	struct world *w = &self->w;
	unsigned int round, i, n, rebound = 0;

	for (round = 0; round < 20; round++) {
		struct peer peer = { .w = w, .len = variant->len };
		DAT_RMR_CONTEXT new;
		pthread_t thread;
		DAT_EVENT event;

		if (round)
			ASSERT_DAT(recover_from_race(w));
		/* A number that none of the writes has. */
		memset(w->b.buf, 0, variant->len);
		ASSERT_EQ(DAT_RMR_BIND_SUCCESS,
			  bind_b(w, 0, variant->len, RW, &peer.context));
		ASSERT_EQ(0, pthread_create(&thread, NULL, peer_main, &peer));
		/* It is in full swing, each time somewhere else. */
		while (__atomic_load_n(&peer.posted, __ATOMIC_RELAXED) <
		       DEPTH + round)
			sched_yield();

		ASSERT_DAT(bind_window(w->rmr, &w->b, 65536, variant->len, RW,
				       w->pair.b.ep, 1,
				       DAT_COMPLETION_DEFAULT_FLAG, &new));
		/* No sleep, so that little time passes after the completion. */
		while (dat_evd_dequeue(w->pair.b.dto_evd, &event))
			;
		__atomic_store_n(&peer.rebound, true, __ATOMIC_SEQ_CST);

		ASSERT_EQ(DAT_RMR_BIND_COMPLETION_EVENT, event.event_number);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		/*
		 * A write that is refused ends the connection, and that may be
		 * before the device has done all of the bind.
		 */
		if (event.event_data.rmr_completion_event_data.status) {
			EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
				  event.event_data.rmr_completion_event_data
					  .status);
			continue;
		}
		rebound++;
		/* On iWARP nobody tells the writer which was refused. */
		if (!link_is_iwarp()) {
			EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS, peer.status);
			EXPECT_LE(peer.succeeded, peer.posted_before);
		}
		for (i = 0; i < variant->len; i += sizeof(n)) {
			memcpy(&n, w->b.buf + i, sizeof(n));
			ASSERT_LE(n, peer.posted_before) {
				TH_LOG("round %u, byte %u", round, i);
			}
		}
		/* Nor has any gone where the window is now. */
		ASSERT_TRUE(all(w->b.buf + 65536, variant->len, OURS));
	}
	EXPECT_NE(0, rebound);
}

#define BINDS	2000

FIXTURE(contexts)
{
	struct world w;
	DAT_RMR_CONTEXT former[BINDS];
};

FIXTURE_SETUP(contexts)
{
	ASSERT_DAT(world_open(&self->w));
}

FIXTURE_TEARDOWN(contexts)
{
	pair_close(&self->w.pair);
}

static int compare(const void *a, const void *b)
{
	const DAT_RMR_CONTEXT *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The key of an MR has 8 bits, and each bind takes another. */
TEST_F_TIMEOUT(contexts, former_contexts_stay_invalid, 600)
{
	unsigned int i, step = getenv("KDAPL_THOROUGH") ? 7 : 97;
	DAT_RMR_CONTEXT current;

	for (i = 0; i < BINDS; i++)
		ASSERT_EQ(DAT_DTO_SUCCESS, bind_b(&self->w, i % 64, 4096, RW,
						  &self->former[i])) {
			TH_LOG("bind %u", i);
		}
	current = self->former[BINDS - 1];
	ASSERT_EQ(DAT_DTO_SUCCESS, use(&self->w, true, current,
				       (BINDS - 1) % 64, 4096));
	memset(self->w.b.buf, OURS, REGION);
	for (i = 0; i < BINDS - 1; i += step) {
		EXPECT_NE(DAT_DTO_SUCCESS, use(&self->w, false, self->former[i],
					       i % 64, 100));
		ASSERT_DAT(recover(&self->w));
	}
	qsort(self->former, BINDS, sizeof(self->former[0]), compare);
	for (i = 1; i < BINDS; i++)
		EXPECT_NE(self->former[i - 1], self->former[i]);
	EXPECT_TRUE(all(self->w.b.buf, REGION, OURS));
}

TEST_HARNESS_MAIN

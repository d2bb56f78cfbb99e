// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi_ring.c - the rings of EVDs, mapped by a process that may write them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "ioctls.h"
#include "pair.h"

#define MAX_FILE_BYTES	"/sys/module/kdapl/parameters/max_file_bytes"

FIXTURE(ring)
{
	int fd;
	__u32 ia, pz;
	struct dat_dev_evd_create evd;
	size_t len;
};

FIXTURE_SETUP(ring)
{
	struct dat_dev_ia_open ia;

	self->fd = dev_open();
	ASSERT_LE(0, self->fd);
	ASSERT_DAT(dev_ia_open(self->fd, &ia));
	self->ia = ia.ia;
	ASSERT_DAT(dev_pz_create(self->fd, ia.ia, &self->pz));
	ASSERT_DAT(dev_evd_create(self->fd, ia.ia, 200, DAT_EVD_DTO_FLAG,
				  &self->evd));
	self->len = sizeof(struct dat_dev_ring) +
		    self->evd.ring_entries * sizeof(struct dat_dev_event);
}

FIXTURE_TEARDOWN(ring)
{
	close(self->fd);
}

TEST_F(ring, mmap_twice)
{
	struct dat_dev_ring *one, *two;

	EXPECT_LE(200, self->evd.ring_entries);
	EXPECT_EQ(0, self->evd.ring_entries & (self->evd.ring_entries - 1));
	one = dev_map_ring(self->fd, self->evd.evd, self->len,
			   PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, one);
	two = dev_map_ring(self->fd, self->evd.evd, self->len, PROT_READ,
			   MAP_SHARED);
	ASSERT_NE(MAP_FAILED, two);
	one->head = 12345;
	EXPECT_EQ(12345, two->head);
}

/* As many as a number can tell would keep a processor for minutes. */
TEST_F(ring, resize_with_corrupt_head)
{
	struct dat_dev_evd_resize resize = {
		.size = sizeof(resize),
		.evd = self->evd.evd,
		.min_qlen = 4 * self->evd.ring_entries,
	};
	struct dat_dev_ring *ring;
	time_t begun = time(NULL);

	ring = dev_map_ring(self->fd, self->evd.evd, self->len,
			    PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	ring->head = ring->tail + 1;
	EXPECT_DAT(dev_type(self->fd, DAT_DEV_EVD_RESIZE, &resize));
	EXPECT_GT(10, time(NULL) - begun);
}

TEST_F(ring, mmap_exact_length_only)
{
	size_t pages = (self->len + PAGE - 1) / PAGE, i;

	for (i = 1; i < 2 * pages; i++) {
		void *at = dev_map_ring(self->fd, self->evd.evd, i * PAGE,
				    PROT_READ, MAP_SHARED);

		EXPECT_EQ(i == pages, at != MAP_FAILED)
			TH_LOG("%zu of %zu pages", i, pages);
	}
}

TEST_F(ring, mmap_bad_offset)
{
	const off_t wrong[] = {
		0, 1, self->ia, self->pz, self->evd.evd + 1, 0x7fffffff,
		0xffffffff, 0x100000000 + self->evd.evd, 1LL << 50,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(wrong); i++) {
		EXPECT_EQ(MAP_FAILED,
			  mmap(NULL, self->len, PROT_READ, MAP_SHARED,
			       self->fd, wrong[i] * PAGE))
			TH_LOG("%#llx", (long long)wrong[i]);
	}
	ASSERT_DAT(dev_free(self->fd, DAT_DEV_EVD_FREE, self->evd.evd));
	EXPECT_EQ(MAP_FAILED, dev_map_ring(self->fd, self->evd.evd, self->len,
					   PROT_READ, MAP_SHARED));
}

TEST_F(ring, mmap_private_or_exec_rejected)
{
	void *at;

	EXPECT_EQ(MAP_FAILED, dev_map_ring(self->fd, self->evd.evd, self->len,
					   PROT_READ, MAP_PRIVATE));
	EXPECT_EQ(MAP_FAILED, dev_map_ring(self->fd, self->evd.evd, self->len,
					   PROT_READ | PROT_EXEC, MAP_SHARED));
	/* Nor does it become one. */
	at = dev_map_ring(self->fd, self->evd.evd, self->len, PROT_READ,
			  MAP_SHARED);
	ASSERT_NE(MAP_FAILED, at);
	EXPECT_NE(0, mprotect(at, self->len, PROT_READ | PROT_EXEC));
}

static unsigned int touch(void *at, size_t len)
{
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < len; i += 64) {
		sum += ((volatile unsigned char *)at)[i];
		((volatile unsigned char *)at)[i] = 0x5a;
	}
	return sum;
}

TEST_F(ring, mapping_survives_evd_and_file)
{
	struct dat_dev_ring *ring;
	unsigned int n = (self->len + 63) / 64;

	ring = dev_map_ring(self->fd, self->evd.evd, self->len,
			    PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	EXPECT_EQ(0, touch(ring, self->len));
	ASSERT_DAT(dev_free(self->fd, DAT_DEV_EVD_FREE, self->evd.evd));
	EXPECT_EQ(0x5a * n, touch(ring, self->len));
	ASSERT_DAT(dev_ia_close(self->fd, self->ia, 0));
	EXPECT_EQ(0x5a * n, touch(ring, self->len));
	close(self->fd);
	EXPECT_EQ(0x5a * n, touch(ring, self->len));
	EXPECT_EQ(0, munmap(ring, self->len));
}

/* A child does not inherit the mapping, but it can map the ring itself. */
TEST_F(ring, child_maps_ring)
{
	struct dat_dev_ring *ring;
	int status = -1;

	ring = dev_map_ring(self->fd, self->evd.evd, self->len,
			    PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	if (!fork()) {
		if (!msync(ring, self->len, MS_ASYNC))
			_exit(1);
		ring = dev_map_ring(self->fd, self->evd.evd, self->len,
				    PROT_READ | PROT_WRITE, MAP_SHARED);
		if (ring == MAP_FAILED)
			_exit(2);
		ring->head = 7;
		_exit(0);
	}
	wait(&status);
	EXPECT_EQ(0, status);
	EXPECT_EQ(7, ring->head);
}

TEST_F(ring, ring_limit_per_file)
{
	long long limit = number_in(MAX_FILE_BYTES, "") >> 20;
	struct dat_dev_evd_create evd, last = { .evd = 0 };
	unsigned int n;
	DAT_UINT32 ret;

	ASSERT_LT(16, limit);
	/* Two megabytes and a little, and what the device keeps beside them. */
	for (n = 0; n < limit; n++) {
		ret = dev_evd_create(self->fd, self->ia, 32767,
				     DAT_EVD_CONNECTION_FLAG, &evd);
		if (ret)
			break;
		last = evd;
	}
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, ret);
	EXPECT_LE(limit / 8, n);
	EXPECT_GE(limit / 2, n);
	/* A freed ring makes room for another. */
	ASSERT_DAT(dev_free(self->fd, DAT_DEV_EVD_FREE, last.evd));
	EXPECT_DAT(dev_evd_create(self->fd, self->ia, 32767,
				  DAT_EVD_CONNECTION_FLAG, &evd));
}

TEST_F(ring, register_ring_memory)
{
	struct dat_dev_lmr_create lmr;
	void *ring;

	ring = dev_map_ring(self->fd, self->evd.evd, self->len,
			    PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	ASSERT_DAT(dev_lmr_create(self->fd, self->ia, self->pz, ring, self->len,
				  &lmr));
	ASSERT_DAT(dev_free(self->fd, DAT_DEV_EVD_FREE, self->evd.evd));
	ASSERT_EQ(0, munmap(ring, self->len));
	EXPECT_DAT(dev_free(self->fd, DAT_DEV_LMR_FREE, lmr.lmr));
}

/* A shared region of a ring would keep the file of the ring open for ever. */
TEST_F(ring, register_ring_shared_rejected)
{
	struct dat_dev_lmr_create lmr = {
		.size = sizeof(lmr),
		.ia = self->ia,
		.pz = self->pz,
		.mem_type = DAT_DEV_MEM_SHARED,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.length = self->len,
		.cookie = "ring",
	};
	void *ring;

	ring = dev_map_ring(self->fd, self->evd.evd, self->len,
			    PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	lmr.address = ADDR(ring);
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			dev_type(self->fd, DAT_DEV_LMR_CREATE, &lmr));
}

/* A process that does everything right, on a file of its own. */
static int do_everything_right(void)
{
	struct region a, b;
	struct pair pair;
	unsigned int i;

	if (pair_open(&pair) || pair_connect(&pair) ||
	    region_open(&pair, pair.a.pz, &a, 8192, DAT_MEM_PRIV_ALL_FLAG) ||
	    region_open(&pair, pair.b.pz, &b, 8192, DAT_MEM_PRIV_ALL_FLAG))
		return 1;
	for (i = 0; i < 100; i++) {
		memset(a.buf, i, 8192);
		if (write_status(&pair, &a, b.rmr_context, b.buf, 8192) ||
		    memcmp(a.buf, b.buf, 8192))
			return 2;
	}
	pair_close(&pair);
	return 0;
}

static void scribble(void *at, size_t len, unsigned int *seed)
{
	unsigned int *words = at;
	size_t i;

	for (i = 0; i < len / 4; i++) {
		/* Often what could make sense, a little off. */
		*seed = *seed * 1103515245 + 12345;
		((volatile unsigned int *)words)[i] =
			*seed & 0x10000 ? *seed >> 20 : *seed;
	}
}

TEST(corrupt_rings_harm_owner_only)
{
	DAT_EVD_HANDLE evds[4];
	void *rings[4] = { NULL };
	unsigned int seed = 1, i, n;
	struct region a, b;
	struct pair pair;
	int status = -1;
	pid_t child;
	int fd;

	/* Before the library opens the file: the child has another one. */
	child = fork();
	if (!child)
		_exit(do_everything_right());

	ASSERT_DAT(pair_open_connected(&pair));
	ASSERT_DAT(regions_open(&pair, &a, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	fd = library_fd();
	evds[0] = pair.a.dto_evd;
	evds[1] = pair.b.dto_evd;
	evds[2] = pair.a.conn_evd;
	evds[3] = pair.async_evd;
	for (i = 0; i < 4; i++) {
		/* One of these sizes is right. */
		for (n = 1; n < 10 && (!rings[i] || rings[i] == MAP_FAILED);
		     n++)
			rings[i] =
				dev_map_ring(fd, handle_number(evds[i]),
					     n * PAGE, PROT_READ | PROT_WRITE,
					     MAP_SHARED);
		ASSERT_NE(MAP_FAILED, rings[i]);
	}
	while (!waitpid(child, &status, WNOHANG)) {
		DAT_EVENT event;
		DAT_COUNT nmore;

		for (i = 0; i < 4; i++)
			scribble(rings[i], PAGE, &seed);
		post_recv(pair.b.ep, &b, 0, 64, seed);
		post_send(pair.a.ep, &a, 0, 64, seed);
		post_write(pair.a.ep, &a, 0, 64, b.rmr_context, b.buf, seed);
		for (i = 0; i < 4; i++) {
			scribble(rings[i], PAGE, &seed);
			dat_evd_wait(evds[i], seed >> 22, 1 + (seed & 3),
				     &event, &nmore);
			dat_evd_dequeue(evds[i], &event);
		}
	}
	EXPECT_EQ(0, status);
	EXPECT_DAT(dat_ia_close(pair.ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST_HARNESS_MAIN

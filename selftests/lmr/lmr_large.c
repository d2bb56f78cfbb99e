// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_large.c - windows over parts of an LMR of 560 MiB, whose pages lie anywhere
 *
 * The memory is 2 MiB, mapped many times in a row.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "link.h"
#include "pair.h"

#define PIECE	(2UL << 20)
#define PIECES	280
#define SIZE	(PIECE * PIECES)

FIXTURE(large)
{
	struct pair pair;
	struct region large, small;
	DAT_RMR_HANDLE rmr;
};

/* The last page is touched first, so that they do not follow each other. */
static unsigned char *map_many(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	unsigned char *piece, *all;
	int fd = memfd_create("lmr_large", MFD_CLOEXEC);
	unsigned long i;

	if (fd < 0 || ftruncate(fd, PIECE))
		return NULL;
	piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (i = PIECE; i; i -= page)
		piece[i - 1] = i / page;
	all = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < PIECES; i++)
		if (mmap(all + i * PIECE, PIECE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return NULL;
	munmap(piece, PIECE);
	close(fd);
	return all;
}

FIXTURE_SETUP(large)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN size;

	/* siw does not ask whether the process may exceed it. */
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &unlimited));
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &self->small,
			       65536, DAT_MEM_PRIV_ALL_FLAG));
	self->large.buf = map_many();
	self->large.len = SIZE;
	ASSERT_NE(NULL, self->large.buf);
	region.for_va = self->large.buf;
	ASSERT_DAT(dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_VIRTUAL, region,
				  SIZE, self->pair.b.pz, DAT_MEM_PRIV_ALL_FLAG,
				  &self->large.lmr, &self->large.lmr_context,
				  &self->large.rmr_context, &size, &address));
	ASSERT_DAT(dat_rmr_create(self->pair.b.pz, &self->rmr));
}

FIXTURE_TEARDOWN(large)
{
	pair_close(&self->pair);
}

TEST_F(large, bind_at_many_offsets)
{
	size_t offset, step = SIZE / 37;
	DAT_RMR_CONTEXT context;

	for (offset = 4711; offset + 20000 < SIZE; offset += step) {
		ASSERT_DAT(bind_window(self->rmr, &self->large, offset, 20000,
				       DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				       self->pair.b.ep, 7,
				       DAT_COMPLETION_DEFAULT_FLAG, &context));
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_bind(self->pair.b.dto_evd, 7));
		memset(self->small.buf, offset / step + 1, 20000);
		memset(self->large.buf + offset, 0, 20000);
		ASSERT_EQ(DAT_DTO_SUCCESS,
			  write_status(&self->pair, &self->small, context,
				       self->large.buf + offset, 20000));
		/* On iWARP it has been sent, which is all that is known. */
		if (!link_is_iwarp())
			ASSERT_EQ(0, memcmp(self->small.buf,
					    self->large.buf + offset, 20000));
	}
}

/* The length after @len: three times as much, at most @most; 0 after @most */
static size_t longer(size_t len, size_t most)
{
	if (len == most)
		return 0;
	return len * 3 < most ? len * 3 : most;
}

/*
 * The page list of the longest window exceeds the largest kmalloc(), which triggers a
 * WARNING in the page allocator if the bind does not check the device's limit first.
 */
TEST_F(large, bind_longer_than_page_list)
{
	size_t len, offset;
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret;

	for (offset = 0; offset < 8192; offset += 4096 - 1) {
		for (len = 4UL << 20; len; len = longer(len, SIZE - offset)) {
			ret = bind_window(self->rmr, &self->large, offset, len,
					  DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
					  self->pair.b.ep, 7,
					  DAT_COMPLETION_DEFAULT_FLAG,
					  &context);
			ASSERT_DAT_TYPE(DAT_MODEL_NOT_SUPPORTED, ret);
		}
	}
	/* It has lost nothing. */
	ASSERT_DAT(bind_window(self->rmr, &self->large, SIZE - 100, 100,
			       DAT_MEM_PRIV_REMOTE_WRITE_FLAG, self->pair.b.ep,
			       8, DAT_COMPLETION_DEFAULT_FLAG, &context));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_bind(self->pair.b.dto_evd, 8));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi_post.c - DAT_DEV_POST: arrays of DTOs, their flags, ranges and keys
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "ioctls.h"
#include "link.h"
#include "pair.h"

FIXTURE(post)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	int fd;
};

FIXTURE_SETUP(post)
{
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, 65536,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_rmr_create(self->pair.a.pz, &self->rmr));
	self->fd = library_fd();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(post)
{
	/* Nothing that was refused has harmed the connection. */
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, self->b.rmr_context,
			       self->b.buf, 4096));
	pair_close(&self->pair);
}

/* A DTO of a's that is all right, or a bind; 64 bytes. */
static struct dat_dev_dto raw_dto(__u32 opcode, struct pair *pair,
				  const struct region *b, DAT_RMR_HANDLE rmr,
				  struct dat_dev_segment *segment,
				  __u64 cookie)
{
	struct dat_dev_dto dto = {
		.opcode = opcode,
		.ep = handle_number(pair->a.ep),
		.num_segments = 1,
		.segments = ADDR(segment),
		.cookie = cookie,
		.remote_address = ADDR(b->buf),
		.remote_length = 0xffffffff,
		.remote_context = b->rmr_context,
		.rmr = handle_number(rmr),
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG,
	};

	return dto;
}

#define DTO(_opcode, _segment, _cookie) \
	raw_dto(_opcode, &self->pair, &self->b, self->rmr, _segment, _cookie)

/* The cookies of completions, in order, until the one that is the last. */
static unsigned int completions(DAT_EVD_HANDLE evd, __u64 last,
				__u64 *cookies, unsigned int max)
{
	unsigned int n = 0;
	DAT_EVENT event;

	while (n < max && !wait_event(evd, &event)) {
		cookies[n] = event.event_data.dto_completion_event_data
				     .user_cookie.as_64;
		if (cookies[n++] == last)
			break;
	}
	return n;
}

TEST_F(post, array_posted_in_order)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	struct dat_dev_dto dtos[5];
	struct dat_dev_post post = dev_posts(dtos, 5);
	__u64 cookies[8];
	unsigned int i;

	for (i = 0; i < 5; i++)
		dtos[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, i);
	ASSERT_DAT(dev_type(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(5, post.posted);
	ASSERT_EQ(5, completions(self->pair.a.dto_evd, 4, cookies, 8));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(i, cookies[i]);
	post = dev_posts(NULL, 0);
	EXPECT_DAT(dev_type(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(0, post.posted);
}

TEST_F(post, array_stops_at_first_error)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	struct dat_dev_segment bad = dev_segment(&self->a, 65536, 1);
	struct dat_dev_dto dtos[5], third[5];
	__u64 cookies[8];
	unsigned int i, j;
	const DAT_UINT32 results[] = {
		DAT_INVALID_PARAMETER,		/* out of range */
		DAT_INVALID_PARAMETER,		/* segments not readable */
		DAT_INVALID_PARAMETER,		/* no such opcode */
		DAT_INVALID_PARAMETER,		/* reserved field */
		DAT_INVALID_HANDLE,		/* no such EP */
	};

	for (i = 0; i < 5; i++) {
		dtos[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, i);
		third[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, 2);
	}
	third[0].segments = ADDR(&bad);
	third[1].segments = 8;
	third[2].opcode = DAT_DEV_SEND_IMMED + 1;
	third[3].__reserved = 1;
	third[4].ep = handle_number(self->rmr);
	for (i = 0; i < 5; i++) {
		struct dat_dev_post post = dev_posts(dtos, 5);

		dtos[2] = third[i];
		EXPECT_EQ(results[i], dev_type(self->fd, DAT_DEV_POST, &post))
			TH_LOG("case %u", i);
		EXPECT_EQ(2, post.posted);
		/* Those in front were posted, those behind were not. */
		ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 64,
				      self->b.rmr_context, self->b.buf, 77));
		ASSERT_EQ(3, completions(self->pair.a.dto_evd, 77, cookies,
					 8));
		for (j = 0; j < 2; j++)
			EXPECT_EQ(j, cookies[j]);
	}
}

TEST_F(post, array_ends_at_unmapped_page)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	unsigned char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dat_dev_dto *dtos = (void *)(page + PAGE);
	struct dat_dev_post post;
	__u64 cookies[8];
	unsigned int i;

	ASSERT_EQ(0, munmap(page + PAGE, PAGE));
	dtos -= 3;
	for (i = 0; i < 3; i++)
		dtos[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, i);
	post = dev_posts(dtos, ~0U);
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  dev_type(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(3, post.posted);
	EXPECT_EQ(3, completions(self->pair.a.dto_evd, 2, cookies, 8));
}

TEST_F(post, first_dto_error_sets_errno)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	struct dat_dev_dto dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 1);
	struct dat_dev_post post = dev_posts(NULL, 1);

	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_POST, &post));
	post = dev_posts((void *)-4096L, ~0U);
	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_POST, &post));
	post = dev_posts(&dto, 1);
	dto.segments = ADDR(NULL);
	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_POST, &post));
	dto.segments = 0xffff888000000000;
	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_POST, &post));
	dto.segments = ADDR(&seg);
	dto.__reserved = 1;
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_POST, &post));
	dto.__reserved = 0;
	dto.opcode = DAT_DEV_SEND_IMMED + 1;
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_POST, &post));
	/* It has no flags. */
	dto.opcode = DAT_DEV_SRQ_RECV;
	dto.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(0x5555, post.posted);
}

TEST_F(post, dto_size_rules)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	struct {
		struct dat_dev_dto dto;
		__u64 more;
	} dtos[2];
	struct dat_dev_post post = dev_posts(dtos, 2);
	__u64 cookies[4];

	memset(dtos, 0, sizeof(dtos));
	dtos[0].dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 0);
	dtos[1].dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 1);
	post.dto_size = sizeof(dtos[0].dto) - 1;
	EXPECT_EQ(EINVAL, dev_errno(self->fd, DAT_DEV_POST, &post));
	post.dto_size = 0;
	EXPECT_EQ(EINVAL, dev_errno(self->fd, DAT_DEV_POST, &post));
	post.dto_size = sizeof(dtos[0]);
	EXPECT_DAT(dev_type(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(2, post.posted);
	EXPECT_EQ(2, completions(self->pair.a.dto_evd, 1, cookies, 4));
	dtos[0].more = 1ULL << 63;
	EXPECT_EQ(E2BIG, dev_errno(self->fd, DAT_DEV_POST, &post));
}

TEST_F(post, too_many_segments)
{
	struct dat_dev_segment segs[64];
	unsigned int i, opcode;

	for (i = 0; i < 64; i++)
		segs[i] = dev_segment(&self->a, i, 1);
	for (opcode = 0; opcode < 5; opcode++) {
		static const __u32 counts[] = { 33, 64, 1 << 28, ~0U };
		struct dat_dev_dto dto = DTO(opcode, segs, 1);

		for (i = 0; i < 4; i++) {
			dto.num_segments = counts[i];
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  dev_post_one(self->fd, &dto));
		}
		/* The EP takes at most four segments. */
		dto.num_segments = 5;
		EXPECT_EQ(DAT_INVALID_PARAMETER, dev_post_one(self->fd, &dto));
	}
}

TEST_F(post, bind_takes_one_segment)
{
	struct dat_dev_segment segs[2] = {
		dev_segment(&self->a, 0, 64), dev_segment(&self->a, 64, 64),
	};
	struct dat_dev_dto dto = DTO(DAT_DEV_RMR_BIND, segs, 1);

	dto.num_segments = 0;
	EXPECT_EQ(DAT_INVALID_PARAMETER, dev_post_one(self->fd, &dto));
	dto.num_segments = 2;
	EXPECT_EQ(DAT_INVALID_PARAMETER, dev_post_one(self->fd, &dto));
	dto.num_segments = 1;
	EXPECT_DAT(dev_post_one(self->fd, &dto));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.a.dto_evd, 1));
}

/* As above: "... and then nothing has happened". */
TEST_F(post, bind_efault_keeps_rmr_unbound)
{
	unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	struct dat_dev_dto *dto = (void *)page;
	struct dat_dev_post post = dev_posts(dto, 1);
	DAT_RMR_PARAM param;

	*dto = DTO(DAT_DEV_RMR_BIND, &seg, 1);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_POST, &post));
	ASSERT_DAT(dat_rmr_query(self->rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(0, param.lmr_triplet.segment_length);
	EXPECT_DAT(dat_lmr_free(self->a.lmr));
	/* For the teardown. */
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &self->a, 65536,
			       DAT_MEM_PRIV_ALL_FLAG));
}

TEST_F(post, unknown_flags_rejected)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	unsigned int opcode, flag;

	for (opcode = 0; opcode < 5; opcode++) {
		struct dat_dev_dto dto = DTO(opcode, &seg, 1);

		for (flag = 0x10; flag; flag <<= 1) {
			dto.flags = flag;
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  dev_post_one(self->fd, &dto))
				TH_LOG("opcode %u, flag %#x", opcode, flag);
		}
	}
}

TEST_F(post, range_outside_lmr)
{
	const __u64 start = ADDR(self->a.buf);
	const struct {
		__u64 address;
		__u32 length;
	} ranges[] = {
		{ start - 1, 1 },
		{ start - 1, 2 },
		{ start, 65537 },
		{ start + 1, 65536 },
		{ start + 65535, 2 },
		{ start + 65536, 1 },
		{ start, 0xffffffff },
		{ start + 65535, 0xffffffff },
		{ ~0ULL, 1 },
		{ ~0ULL, 2 },
		{ 0, 0xffffffff },
		{ start ^ 1ULL << 63, 64 },
		{ start + (1ULL << 32), 64 },
	};
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	unsigned int opcode, i;

	for (opcode = 0; opcode < 5; opcode++) {
		struct dat_dev_dto dto = DTO(opcode, &seg, 1);

		for (i = 0; i < ARRAY_LEN(ranges); i++) {
			seg.virtual_address = ranges[i].address;
			seg.length = ranges[i].length;
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  dev_post_one(self->fd, &dto))
				TH_LOG("opcode %u, range %u", opcode, i);
		}
	}
}

/* In the second of two segments it is no better. */
TEST_F(post, each_segment_checked)
{
	struct dat_dev_segment segs[2] = {
		dev_segment(&self->a, 0, 64), dev_segment(&self->a, 0, 65537),
	};
	unsigned int opcode;

	for (opcode = 0; opcode < 4; opcode++) {
		struct dat_dev_dto dto = DTO(opcode, segs, 1);

		/* siw has but one elsewhere. */
		if (link_is_iwarp() && opcode != DAT_DEV_RECV)
			continue;
		dto.num_segments = 2;
		segs[1] = dev_segment(&self->a, 65535, 2);
		EXPECT_EQ(DAT_INVALID_PARAMETER, dev_post_one(self->fd, &dto));
		segs[1] = dev_segment(&self->b, 0, 64);
		EXPECT_EQ(DAT_PROTECTION_VIOLATION, dev_post_one(self->fd, &dto));
	}
}

static bool is_ours(const struct region *a, __u32 key)
{
	return key == a->lmr_context;
}

/*
 * The kernel has keys that open all of memory. One of them belongs to the PZ of @a. The
 * device created it shortly before the LMR of @a.
 */
TEST_F(post, foreign_key_protection_violation)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	struct dat_dev_dto dtos[] = {
		DTO(DAT_DEV_SEND, &seg, 1), DTO(DAT_DEV_RECV, &seg, 1),
		DTO(DAT_DEV_RDMA_WRITE, &seg, 1),
		DTO(DAT_DEV_RDMA_READ, &seg, 1),
	};
	__u32 index = self->a.lmr_context >> 8, key;
	unsigned int i, accepted = 0;

	for (i = 0; i < 4; i++) {
		seg.lmr_context = 0;
		EXPECT_EQ(DAT_PROTECTION_VIOLATION,
			  dev_post_one(self->fd, &dtos[i]));
		seg.lmr_context = 0xffffffff;
		EXPECT_EQ(DAT_PROTECTION_VIOLATION,
			  dev_post_one(self->fd, &dtos[i]));
		for (key = 1; key <= 64; key++) {
			seg.lmr_context = key << 8;
			if (is_ours(&self->a, key << 8))
				continue;
			EXPECT_EQ(DAT_PROTECTION_VIOLATION,
				  dev_post_one(self->fd, &dtos[i]));
		}
	}
	for (key = (index - 24) << 8; key != (index + 8) << 8; key++) {
		if (is_ours(&self->a, key))
			continue;
		seg.lmr_context = key;
		accepted += dev_post_one(self->fd, &dtos[key & 3]) !=
			    DAT_PROTECTION_VIOLATION;
	}
	EXPECT_EQ(0, accepted);
}

TEST_F(post, foreign_key_bind_and_sync)
{
	struct dat_dev_segment seg = dev_segment(&self->a, 0, 64);
	struct dat_dev_dto dto = DTO(DAT_DEV_RMR_BIND, &seg, 1);
	__u32 index = self->a.lmr_context >> 8, key;
	unsigned int accepted = 0;

	for (key = (index - 24) << 8; key != (index + 8) << 8; key++) {
		struct dat_dev_lmr_sync sync = {
			.size = sizeof(sync),
			.ia = handle_number(self->pair.ia),
			.segments = ADDR(&seg),
			.num_segments = 1,
		};

		if (is_ours(&self->a, key))
			continue;
		seg.lmr_context = key;
		accepted += dev_post_one(self->fd, &dto) != DAT_INVALID_PARAMETER;
		accepted += dev_type(self->fd, DAT_DEV_LMR_SYNC, &sync) !=
			    DAT_INVALID_PARAMETER;
	}
	EXPECT_EQ(0, accepted);
}

struct swapper {
	struct dat_dev_segment *seg;
	struct dat_dev_segment good, bad;
	bool stop;
};

static void *keep_swapping(void *arg)
{
	struct swapper *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		*(volatile struct dat_dev_segment *)s->seg = s->bad;
		*(volatile struct dat_dev_segment *)s->seg = s->good;
	}
	return NULL;
}

TEST_F(post, segment_changed_during_post)
{
	struct dat_dev_segment seg;
	struct swapper s = {
		.seg = &seg,
		.good = dev_segment(&self->a, 0, 64),
		.bad = dev_segment(&self->b, 1 << 20, 1 << 20),
	};
	struct dat_dev_dto dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 1);
	unsigned int i, posted = 0, refused = 0;
	time_t end = time(NULL) + 20;
	pthread_t thread;

	seg = s.good;
	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_swapping, &s));
	/* The swapping thread may have to wait for a processor. */
	for (i = 0; i < 2000 || ((!posted || !refused) && time(NULL) < end);
	     i++) {
		if (dev_post_one(self->fd, &dto)) {
			refused++;
			continue;
		}
		posted++;
		/* The device would find the rest out, and complain. */
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_NE(0, posted);
	EXPECT_NE(0, refused);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_create.c - dat_lmr_create(3DAT), sentence by sentence
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "link.h"
#include "pair.h"

#define LOCAL_READ	DAT_MEM_PRIV_LOCAL_READ_FLAG
#define LOCAL_WRITE	DAT_MEM_PRIV_LOCAL_WRITE_FLAG
#define REMOTE_READ	DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE	DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define ALL		DAT_MEM_PRIV_ALL_FLAG

#define BAD_IA \
	(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA)
#define BAD_PZ \
	(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_PZ)

/* All sixteen sets of privileges, one after the other. */
static DAT_MEM_PRIV_FLAGS privileges_nr(unsigned int i)
{
	return (i & 3) | (i & 12) << 2;
}

static void *map(size_t len, int prot)
{
	return mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static DAT_RETURN create_full(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *buf,
			      DAT_VLEN len, DAT_MEM_PRIV_FLAGS privileges,
			      struct region *r, DAT_VLEN *size,
			      DAT_VADDR *address)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = buf };

	r->buf = buf;
	r->len = len;
	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, len, pz,
			      privileges, &r->lmr, &r->lmr_context,
			      &r->rmr_context, size, address);
}

static DAT_RETURN create(struct pair *pair, void *buf, DAT_VLEN len,
			 DAT_MEM_PRIV_FLAGS privileges, struct region *r)
{
	DAT_VADDR address;
	DAT_VLEN size;

	return create_full(pair->ia, pair->a.pz, buf, len, privileges, r,
			   &size, &address);
}

/* The type of what create() returns, for those who want nothing else. */
static DAT_UINT32 create_type(struct pair *pair, void *buf, DAT_VLEN len,
			      DAT_MEM_PRIV_FLAGS privileges)
{
	struct region r;

	return DAT_GET_TYPE(create(pair, buf, len, privileges, &r));
}

static void fill(unsigned char *buf, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1103515245 + 12345;
		buf[i] = seed >> 16;
	}
}

static bool is_all(const unsigned char *buf, size_t len, unsigned char value)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != value)
			return false;
	return true;
}

/* What takes no connection; every test must leave nothing pinned. */
FIXTURE(lmr_create)
{
	struct pair pair;
	long long pinned;
	unsigned char *buf;
};

FIXTURE_SETUP(lmr_create)
{
	self->pinned = pinned_pages();
	ASSERT_LE(0, self->pinned);
	self->buf = map(16 * PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->buf);
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_EQ(0, charged_pages());
}

FIXTURE_TEARDOWN(lmr_create)
{
	pair_close(&self->pair);
	EXPECT_EQ(0, charged_pages());
	EXPECT_EQ(self->pinned, pinned_pages());
}

TEST(privilege_flag_values)
{
	EXPECT_EQ(0x00, DAT_MEM_PRIV_NONE_FLAG);
	EXPECT_EQ(0x01, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	EXPECT_EQ(0x02, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	EXPECT_EQ(0x10, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	EXPECT_EQ(0x20, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	EXPECT_EQ(0x33, DAT_MEM_PRIV_ALL_FLAG);
}

TEST_F(lmr_create, registered_size_and_address)
{
	static const size_t offsets[] = { 0, 1, 7, 2048, 4095 };
	static const size_t lengths[] = { 1, 2, 4095, 4096, 4097, 12345 };
	unsigned int i, j;

	for (i = 0; i < 5; i++) {
		for (j = 0; j < 6; j++) {
			unsigned char *buf = self->buf + offsets[i];
			DAT_VADDR address = 0;
			DAT_VLEN size = 0;
			struct region r;

			ASSERT_DAT(create_full(self->pair.ia, self->pair.a.pz,
					       buf, lengths[j], ALL, &r, &size,
					       &address));
			EXPECT_EQ(lengths[j], size);
			EXPECT_EQ((uintptr_t)buf, address);
			EXPECT_DAT(dat_lmr_free(r.lmr));
		}
	}
}

TEST_F(lmr_create, create_pins_and_charges_pages)
{
	struct region r, again;

	/* Two bytes on either side of two whole pages. */
	ASSERT_DAT(create(&self->pair, self->buf + PAGE - 2, 2 * PAGE + 4, ALL,
			  &r));
	EXPECT_EQ(4, charged_pages());
	EXPECT_EQ(self->pinned + 4, pinned_pages());
	ASSERT_DAT(create(&self->pair, self->buf, PAGE, LOCAL_READ, &again));
	EXPECT_EQ(5, charged_pages());
	EXPECT_EQ(self->pinned + 5, pinned_pages());
}

TEST_F(lmr_create, rmr_context_needs_remote_privilege)
{
	unsigned int i;

	for (i = 0; i < 16; i++) {
		DAT_MEM_PRIV_FLAGS privileges = privileges_nr(i);
		struct region r = { .rmr_context = 0xdeadbeef };

		ASSERT_DAT(create(&self->pair, self->buf, PAGE, privileges,
				  &r));
		EXPECT_NE(0xdeadbeef, r.rmr_context);
		EXPECT_EQ(!!(privileges & (REMOTE_READ | REMOTE_WRITE)),
			  !!r.rmr_context);
		EXPECT_NE(0, r.lmr_context);
	}
}

TEST_F(lmr_create, create_bad_privileges)
{
	unsigned int bit;

	for (bit = 1; bit; bit <<= 1) {
		/* That one is Solaris's, and harmless. */
		DAT_UINT32 want = bit & (ALL | DAT_MEM_PRIV_RO_DISABLE_FLAG) ?
			DAT_SUCCESS : DAT_INVALID_PARAMETER;

		EXPECT_EQ(want, create_type(&self->pair, self->buf, PAGE, bit))
			TH_LOG("privilege %#x", bit);
		EXPECT_EQ(want, create_type(&self->pair, self->buf, PAGE,
					    bit | ALL))
			TH_LOG("privileges %#x", bit | ALL);
	}
}

TEST_F(lmr_create, create_zero_length)
{
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  create_type(&self->pair, self->buf, 0, ALL));
	EXPECT_EQ(DAT_INVALID_PARAMETER, create_type(&self->pair, NULL, 0, 0));
}

TEST_F(lmr_create, create_range_wraps)
{
	DAT_VLEN to_the_end = -(uintptr_t)self->buf;

	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  create_type(&self->pair, self->buf, ~0ULL, ALL));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  create_type(&self->pair, self->buf, to_the_end, ALL));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  create_type(&self->pair, self->buf, to_the_end + PAGE, ALL));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  create_type(&self->pair, (void *)-1L, 2, LOCAL_READ));
	EXPECT_EQ(0, charged_pages());
	EXPECT_EQ(self->pinned, pinned_pages());
}

TEST_F(lmr_create, create_unmapped_range)
{
	unsigned int i, hole;

	/* At the beginning, in the middle, at the end of four pages. */
	for (hole = 0; hole < 4; hole++) {
		unsigned char *buf = self->buf + hole * PAGE;

		ASSERT_EQ(0, munmap(self->buf + 3 * PAGE, PAGE));
		for (i = 0; i < 16; i++)
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  create_type(&self->pair, buf, 4 * PAGE,
					      privileges_nr(i)));
		EXPECT_EQ(0, charged_pages());
		EXPECT_EQ(self->pinned, pinned_pages());
	}
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  create_type(&self->pair, NULL, PAGE, LOCAL_READ));
}

TEST_F(lmr_create, create_kernel_address)
{
	/* Direct map, vmalloc area, text, the vsyscall page, the last page. */
	static const uintptr_t addresses[] = {
		0xffff888000000000, 0xffffc90000000000, 0xffffffff81000000,
		0xffffffffff600000, 0xffffffffffffe000, 0x0000800000000000,
		0x00007ffffffff000,
	};
	unsigned int i, j;

	for (i = 0; i < 7; i++)
		for (j = 0; j < 16; j++)
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  create_type(&self->pair,
					      (void *)addresses[i], PAGE,
					      privileges_nr(j)));
}

TEST_F(lmr_create, create_prot_none)
{
	void *buf = map(PAGE, PROT_NONE);
	unsigned int i;

	for (i = 0; i < 16; i++)
		EXPECT_EQ(DAT_INVALID_PARAMETER,
			  create_type(&self->pair, buf, PAGE,
				      privileges_nr(i)));
}

TEST_F(lmr_create, create_write_on_prot_read)
{
	unsigned int i;

	/* Two pages that can be written to, and one that cannot. */
	memset(self->buf, 1, 3 * PAGE);
	ASSERT_EQ(0, mprotect(self->buf + 2 * PAGE, PAGE, PROT_READ));
	for (i = 0; i < 16; i++) {
		DAT_MEM_PRIV_FLAGS privileges = privileges_nr(i);

		if (!(privileges & (LOCAL_WRITE | REMOTE_WRITE)))
			continue;
		EXPECT_EQ(DAT_INVALID_PARAMETER,
			  create_type(&self->pair, self->buf, 3 * PAGE,
				      privileges));
		EXPECT_EQ(DAT_INVALID_PARAMETER,
			  create_type(&self->pair, self->buf + 2 * PAGE, 1,
				      privileges));
	}
	EXPECT_EQ(0, charged_pages());
	EXPECT_EQ(self->pinned, pinned_pages());
}

TEST_F(lmr_create, create_bad_mem_type)
{
	/* The last five mean something in the kernel's API. */
	static const unsigned int wrong[] = {
		4, 5, 0xf, ~0U, 0x10, 0x20, 0x40, 0x80, 0x100,
	};
	DAT_REGION_DESCRIPTION desc = { .for_va = self->buf };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	unsigned int i;

	for (i = 0; i < 9; i++)
		EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
				dat_lmr_create(self->pair.ia, wrong[i], desc,
					       PAGE, self->pair.a.pz, ALL, &lmr,
					       &context, NULL, NULL, NULL));
}

TEST_F(lmr_create, create_so_virtual)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = self->buf };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_PARAM param;

	ASSERT_DAT(dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_SO_VIRTUAL, desc,
				  PAGE, self->pair.a.pz, ALL, &lmr, &context,
				  NULL, NULL, NULL));
	ASSERT_DAT(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	EXPECT_EQ(self->buf, param.region_desc.for_va);
	EXPECT_EQ(PAGE, param.length);
}

TEST_F(lmr_create, create_bad_ia)
{
	DAT_IA_HANDLE closed, bad[5];
	DAT_VADDR address;
	DAT_VLEN size;
	struct pair other;
	struct region r;
	unsigned int i;

	ASSERT_DAT(pair_open(&other));
	closed = other.ia;
	pair_close(&other);
	bad[0] = DAT_HANDLE_NULL;
	bad[1] = (DAT_IA_HANDLE)0x5555;
	bad[2] = (DAT_IA_HANDLE)self->buf;
	bad[3] = self->pair.a.pz;
	bad[4] = closed;
	for (i = 0; i < 5; i++)
		EXPECT_EQ(BAD_IA, create_full(bad[i], self->pair.a.pz,
					      self->buf, PAGE, ALL, &r, &size,
					      &address));
	EXPECT_EQ(self->pinned, pinned_pages());
}

TEST_F(lmr_create, create_bad_pz)
{
	DAT_PZ_HANDLE freed, bad[5];
	DAT_VADDR address;
	DAT_VLEN size;
	struct region r;
	unsigned int i;

	ASSERT_DAT(dat_pz_create(self->pair.ia, &freed));
	ASSERT_DAT(dat_pz_free(freed));
	bad[0] = DAT_HANDLE_NULL;
	bad[1] = (DAT_PZ_HANDLE)0x5555;
	bad[2] = (DAT_PZ_HANDLE)self->buf;
	bad[3] = self->pair.ia;
	bad[4] = freed;
	for (i = 0; i < 5; i++)
		EXPECT_EQ(BAD_PZ, create_full(self->pair.ia, bad[i], self->buf,
					      PAGE, ALL, &r, &size, &address));
	EXPECT_EQ(0, charged_pages());
	EXPECT_EQ(self->pinned, pinned_pages());
}

TEST_F(lmr_create, create_pz_of_other_ia)
{
	DAT_VADDR address;
	DAT_VLEN size;
	struct pair other;
	struct region r;

	ASSERT_DAT(pair_open(&other));
	EXPECT_EQ(BAD_PZ, create_full(self->pair.ia, other.a.pz, self->buf,
				      PAGE, ALL, &r, &size, &address));
	EXPECT_EQ(BAD_PZ, create_full(other.ia, self->pair.a.pz, self->buf,
				      PAGE, ALL, &r, &size, &address));
	pair_close(&other);
}

TEST_F(lmr_create, handles_and_contexts_unique)
{
	struct region r[64];
	unsigned int i, j;

	for (i = 0; i < 64; i++) {
		ASSERT_DAT(create(&self->pair, self->buf, PAGE, ALL, &r[i]));
		for (j = 0; j < i; j++) {
			EXPECT_NE(r[i].lmr, r[j].lmr);
			EXPECT_NE(r[i].lmr_context, r[j].lmr_context);
			EXPECT_NE(r[i].rmr_context, r[j].rmr_context);
		}
	}
}

TEST_F(lmr_create, query_matches_create)
{
	unsigned int i;

	for (i = 0; i < 16; i++) {
		DAT_MEM_PRIV_FLAGS privileges = privileges_nr(i);
		unsigned char *buf = self->buf + 17 * i;
		DAT_LMR_PARAM param;
		DAT_VADDR address;
		struct region r;
		DAT_VLEN size;

		ASSERT_DAT(create_full(self->pair.ia, self->pair.b.pz, buf,
				       5000 + i, privileges, &r, &size,
				       &address));
		memset(&param, 0xa5, sizeof(param));
		ASSERT_DAT(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
		EXPECT_EQ(self->pair.ia, param.ia_handle);
		EXPECT_EQ(DAT_MEM_TYPE_VIRTUAL, param.mem_type);
		EXPECT_EQ(buf, param.region_desc.for_va);
		EXPECT_EQ(5000 + i, param.length);
		EXPECT_EQ(self->pair.b.pz, param.pz_handle);
		EXPECT_EQ(privileges, param.mem_priv);
		EXPECT_EQ(r.lmr_context, param.lmr_context);
		EXPECT_EQ(r.rmr_context, param.rmr_context);
		EXPECT_EQ(size, param.registered_size);
		EXPECT_EQ(address, param.registered_address);
	}
}

TEST_F(lmr_create, query_bad_mask_or_null)
{
	DAT_LMR_PARAM param;
	struct region r;

	ASSERT_DAT(create(&self->pair, self->buf, PAGE, ALL, &r));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL + 1, &param));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, NULL));
	EXPECT_DAT(dat_lmr_query(r.lmr, DAT_LMR_FIELD_LENGTH, &param));
}

TEST_F(lmr_create, create_null_output_pointers)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = self->buf };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_VIRTUAL,
				       desc, PAGE, self->pair.a.pz, ALL, NULL,
				       &context, NULL, NULL, NULL));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_VIRTUAL,
				       desc, PAGE, self->pair.a.pz, ALL, &lmr,
				       NULL, NULL, NULL, NULL));
	EXPECT_EQ(self->pinned, pinned_pages());
	EXPECT_DAT(dat_lmr_create(self->pair.ia, DAT_MEM_TYPE_VIRTUAL, desc,
				  PAGE, self->pair.a.pz, ALL, &lmr, &context,
				  NULL, NULL, NULL));
}

TEST_F(lmr_create, create_over_memlock_limit)
{
	struct rlimit limit = { 8 * PAGE, 8 * PAGE };
	struct region r[2];

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	/* No capability is effective until it becomes root again. */
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES,
		  create_type(&self->pair, self->buf, 9 * PAGE, ALL));
	/* Eight pages' worth of bytes, but nine pages. */
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES,
		  create_type(&self->pair, self->buf + 1, 8 * PAGE, ALL));
	EXPECT_EQ(0, charged_pages());

	ASSERT_DAT(create(&self->pair, self->buf, 5 * PAGE, ALL, &r[0]));
	ASSERT_DAT(create(&self->pair, self->buf, 3 * PAGE, ALL, &r[1]));
	EXPECT_EQ(8, charged_pages());
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES,
		  create_type(&self->pair, self->buf, 1, LOCAL_READ));

	/* What is given back can be had again, whether or not all goes well. */
	ASSERT_DAT(dat_lmr_free(r[1].lmr));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  create_type(&self->pair, NULL, 3 * PAGE, ALL));
	EXPECT_DAT(create(&self->pair, self->buf, 3 * PAGE, ALL, &r[1]));
	ASSERT_DAT(dat_lmr_free(r[0].lmr));
	ASSERT_DAT(dat_lmr_free(r[1].lmr));
	EXPECT_DAT(create(&self->pair, self->buf, 8 * PAGE, ALL, &r[0]));
	ASSERT_EQ(0, seteuid(0));
}

TEST_F(lmr_create, cap_ipc_lock_no_limit)
{
	struct rlimit limit = { PAGE, PAGE };

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	EXPECT_DAT(create_type(&self->pair, self->buf, 16 * PAGE, ALL));
}

struct many {
	struct pair *pair;
	unsigned char *buf;
	struct region r[64];
	unsigned int made;
};

static void *create_many(void *arg)
{
	struct many *m = arg;

	while (m->made < 64 && !create(m->pair, m->buf, 2 * PAGE, ALL,
				       &m->r[m->made]))
		m->made++;
	return NULL;
}

TEST_F(lmr_create, concurrent_create)
{
	static struct many m[4];
	pthread_t threads[4];
	unsigned int i, j, k;

	for (i = 0; i < 4; i++) {
		m[i].pair = &self->pair;
		m[i].buf = self->buf;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, create_many,
					    &m[i]));
	}
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(4 * 64 * 2, charged_pages());
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(64, m[i].made);
		/* Nobody else got the same. */
		for (j = 0; j < 64; j++)
			for (k = 0; k < 64; k++) {
				struct region *r = &m[(i + 1) & 3].r[k];

				ASSERT_NE(m[i].r[j].lmr, r->lmr);
				ASSERT_NE(m[i].r[j].lmr_context,
					  r->lmr_context);
			}
	}
}

/* What takes a connection. */
FIXTURE(lmr_use)
{
	struct pair pair;
	struct region a, b;
	long long pinned;
};

FIXTURE_SETUP(lmr_use)
{
	self->pinned = pinned_pages();
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, 65536, ALL));
}

FIXTURE_TEARDOWN(lmr_use)
{
	pair_close(&self->pair);
	EXPECT_EQ(self->pinned, pinned_pages());
}

static DAT_RETURN create_in(DAT_IA_HANDLE ia, struct side *side, void *buf,
			    size_t len, DAT_MEM_PRIV_FLAGS privileges,
			    struct region *r)
{
	DAT_VADDR address;
	DAT_VLEN size;

	return create_full(ia, side->pz, buf, len, privileges, r, &size,
			   &address);
}

/* Sends a region of a's to b, and says whether it got there as it is now. */
static bool arrives(struct pair *pair, struct region *from, struct region *to)
{
	memset(to->buf, 0xee, to->len);
	return !post_recv(pair->b.ep, to, 0, to->len, 1) &&
	       !post_send(pair->a.ep, from, 0, from->len, 2) &&
	       wait_dto(pair->a.dto_evd, 2) == DAT_DTO_SUCCESS &&
	       wait_dto(pair->b.dto_evd, 1) == DAT_DTO_SUCCESS &&
	       !memcmp(from->buf, to->buf, from->len) &&
	       is_all(to->buf + from->len, to->len - from->len, 0xee);
}

TEST_F(lmr_use, lmr_context_in_dtos)
{
	struct pair *p = &self->pair;

	fill(self->a.buf, 65536, 1);
	EXPECT_TRUE(arrives(p, &self->a, &self->b));
	fill(self->a.buf, 65536, 2);
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a,
						self->b.rmr_context,
						self->b.buf, 65536));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 65536));
	fill(self->b.buf, 65536, 3);
	EXPECT_EQ(DAT_DTO_SUCCESS, read_status(p, &self->a,
					       self->b.rmr_context,
					       self->b.buf, 65536));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 65536));
}

TEST_F(lmr_use, lmr_context_in_rmr_bind)
{
	struct pair *p = &self->pair;
	unsigned char *buf = map(4 * PAGE, PROT_READ | PROT_WRITE);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct region r;

	/* Local privileges are enough for that. */
	ASSERT_DAT(create_in(p->ia, &p->b, buf, 4 * PAGE,
			     LOCAL_READ | LOCAL_WRITE, &r));
	ASSERT_EQ(0, r.rmr_context);
	ASSERT_DAT(dat_rmr_create(p->b.pz, &rmr));
	ASSERT_DAT(bind_window(rmr, &r, 3, 4 * PAGE - 3,
			       REMOTE_READ | REMOTE_WRITE, p->b.ep, 1,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(p->b.dto_evd, 1));
	fill(self->a.buf, 65536, 1);
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a, context, buf + 3,
						4 * PAGE - 3));
	EXPECT_EQ(0, memcmp(self->a.buf, buf + 3, 4 * PAGE - 3));
	EXPECT_EQ(0, buf[2]);
}

TEST_F(lmr_use, unaligned_range_byte_exact)
{
	static const size_t offsets[] = { 0, 1, 4095, 4096 + 13 };
	static const size_t lengths[] = { 1, 3, 4096, 4097, 8191 };
	unsigned int i, j;

	for (i = 0; i < 4; i++) {
		for (j = 0; j < 5; j++) {
			struct pair *p = &self->pair;
			unsigned char *buf = map(4 * PAGE,
						 PROT_READ | PROT_WRITE);
			size_t end = offsets[i] + lengths[j];
			struct region r;

			memset(buf, 0x11, 4 * PAGE);
			ASSERT_DAT(create_in(p->ia, &p->b, buf + offsets[i],
					     lengths[j], ALL, &r));
			fill(self->a.buf, lengths[j], i * 5 + j);
			EXPECT_EQ(DAT_DTO_SUCCESS,
				  write_status(p, &self->a, r.rmr_context,
					       r.buf, r.len));
			EXPECT_EQ(0, memcmp(r.buf, self->a.buf, r.len));
			EXPECT_TRUE(is_all(buf, offsets[i], 0x11));
			EXPECT_TRUE(is_all(buf + end, 4 * PAGE - end, 0x11));
		}
	}
}

/* Once the connection has broken, at both ends: a new one. */
static DAT_RETURN reconnect(struct pair *pair)
{
	/* Else the end of the old one might be taken for that of the new. */
	return wait_refusal(pair) ?: pair_reconnect(pair);
}

TEST_F(lmr_use, remote_write_outside_range)
{
	struct pair *p = &self->pair;
	struct region r;

	memset(self->b.buf, 0x11, 3 * PAGE);
	ASSERT_DAT(create_in(p->ia, &p->b, self->b.buf + PAGE + 5, 100, ALL,
			     &r));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(p, &self->a, r.rmr_context, r.buf - 1, 2));
	ASSERT_DAT(reconnect(p));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(p, &self->a, r.rmr_context, r.buf + 99, 2));
	ASSERT_DAT(reconnect(p));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(p, &self->a, r.rmr_context, r.buf + 100, 1));
	EXPECT_TRUE(is_all(self->b.buf, 3 * PAGE, 0x11));
}

TEST_F(lmr_use, local_privileges_enforced)
{
	struct pair *p = &self->pair;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		DAT_MEM_PRIV_FLAGS privileges = privileges_nr(i);
		struct region r;
		DAT_UINT32 write;

		write = privileges & LOCAL_WRITE ?
			DAT_SUCCESS : DAT_PRIVILEGES_VIOLATION;
		ASSERT_DAT(create_in(p->ia, &p->a, self->a.buf, PAGE,
				     privileges, &r));
		ASSERT_DAT(post_recv(p->b.ep, &self->b, 0, 64, i));

		EXPECT_DAT(post_send(p->a.ep, &r, 0, 64, 1));
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->a.dto_evd, 1));
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->b.dto_evd, i));

		EXPECT_EQ(write,
			  DAT_GET_TYPE(post_recv(p->a.ep, &r, 0, 64, 2)));

		EXPECT_DAT(post_write(p->a.ep, &r, 0, 64, self->b.rmr_context,
				      self->b.buf, 3));
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->a.dto_evd, 3));

		EXPECT_EQ(write,
			  DAT_GET_TYPE(post_read(p->a.ep, &r, 0, 64,
						 self->b.rmr_context,
						 self->b.buf, 4)));
		if (!write)
			EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->a.dto_evd, 4));
	}
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(p->a.ep));
}

TEST_F(lmr_use, post_lmr_of_other_pz)
{
	struct pair *p = &self->pair;

	/* The LMR of b's PZ on the EP of a's. */
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_send(p->a.ep, &self->b, 0, 64, 1));
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_recv(p->a.ep, &self->b, 0, 64, 1));
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_write(p->a.ep, &self->b, 0, 64,
				   self->b.rmr_context, self->b.buf, 1));
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_read(p->a.ep, &self->b, 0, 64, self->b.rmr_context,
				  self->b.buf, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a,
						self->b.rmr_context,
						self->b.buf, 64));
}

TEST_F(lmr_use, remote_write_other_pz)
{
	struct pair *p = &self->pair;
	DAT_VADDR address;
	DAT_PZ_HANDLE pz;
	struct region r;
	DAT_VLEN size;

	ASSERT_DAT(dat_pz_create(p->ia, &pz));
	ASSERT_DAT(create_full(p->ia, pz, self->b.buf, PAGE, ALL, &r, &size,
			       &address));
	memset(self->a.buf, 0xaa, 64);
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(p, &self->a, r.rmr_context, r.buf, 64));
	EXPECT_TRUE(is_all(self->b.buf, 64, 0));
}

TEST_F(lmr_use, post_lmr_of_other_ia)
{
	struct pair other;

	ASSERT_DAT(pair_open(&other));
	/* A receive can be posted in every state. */
	EXPECT_DAT_TYPE(DAT_PROTECTION_VIOLATION,
			post_recv(other.a.ep, &self->a, 0, 64, 1));
	EXPECT_DAT(post_recv(self->pair.a.ep, &self->a, 0, 64, 1));
	pair_close(&other);
}

TEST_F(lmr_use, overlapping_lmrs_own_privileges)
{
	struct pair *p = &self->pair;
	struct region read_only, rest;

	ASSERT_DAT(create_in(p->ia, &p->b, self->a.buf, 65536, REMOTE_READ,
			     &read_only));
	ASSERT_DAT(create_in(p->ia, &p->b, self->a.buf + 4096, 65536 - 4096,
			     REMOTE_WRITE, &rest));
	fill(self->a.buf, 65536, 1);
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a, rest.rmr_context,
						rest.buf, 4096));
	EXPECT_EQ(0, memcmp(self->a.buf, self->a.buf + 4096, 4096));
	/* The end of one is not the end of the others. */
	ASSERT_DAT(dat_lmr_free(rest.lmr));
	EXPECT_EQ(DAT_DTO_SUCCESS, read_status(p, &self->a,
					       read_only.rmr_context,
					       read_only.buf, 64));
	EXPECT_TRUE(arrives(p, &self->a, &self->b));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(p, &self->a, read_only.rmr_context,
			       read_only.buf, 64));
}

TEST_F(lmr_use, prot_read_memory_for_reading)
{
	struct pair *p = &self->pair;
	unsigned char *buf = map(4 * PAGE, PROT_READ | PROT_WRITE);
	struct region r, remote_r;

	fill(buf, 4 * PAGE, 1);
	ASSERT_EQ(0, mprotect(buf, 4 * PAGE, PROT_READ));
	ASSERT_DAT(create_in(p->ia, &p->a, buf, 4 * PAGE, LOCAL_READ, &r));
	EXPECT_TRUE(arrives(p, &r, &self->b));
	ASSERT_DAT(create_in(p->ia, &p->b, buf, 4 * PAGE, REMOTE_READ,
			     &remote_r));
	EXPECT_EQ(DAT_DTO_SUCCESS, read_status(p, &self->a,
					       remote_r.rmr_context, buf,
					       4 * PAGE));
	EXPECT_EQ(0, memcmp(buf, self->a.buf, 4 * PAGE));
}

static int memory_file(size_t len)
{
	int fd = memfd_create("lmr", 0);

	return fd < 0 || ftruncate(fd, len) ? -1 : fd;
}

TEST_F(lmr_use, read_only_file_mapping)
{
	struct pair *p = &self->pair;
	int fd = memory_file(2 * PAGE);
	unsigned char *buf, *view;
	struct region r;
	char path[32];
	int ro;

	ASSERT_LE(0, fd);
	buf = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fill(buf, 2 * PAGE, 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY);
	ASSERT_LE(0, ro);
	/* Nobody could make this one writable. */
	view = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, ro, 0);
	ASSERT_NE(MAP_FAILED, view);
	ASSERT_NE(0, mprotect(view, PAGE, PROT_READ | PROT_WRITE));
	ASSERT_DAT(create_in(p->ia, &p->a, view, 2 * PAGE, LOCAL_READ, &r));
	EXPECT_TRUE(arrives(p, &r, &self->b));
	/* What others write there is what is sent. */
	fill(buf, 2 * PAGE, 2);
	EXPECT_TRUE(arrives(p, &r, &self->b));
}

TEST_F(lmr_use, write_visible_in_shared_mapping)
{
	struct pair *p = &self->pair;
	int fd = memory_file(2 * PAGE);
	unsigned char *buf, *view;
	struct region r;

	ASSERT_LE(0, fd);
	buf = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	view = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_DAT(create_in(p->ia, &p->b, buf, 2 * PAGE, ALL, &r));
	fill(self->a.buf, 2 * PAGE, 1);
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a, r.rmr_context,
						buf, 2 * PAGE));
	EXPECT_EQ(0, memcmp(self->a.buf, view, 2 * PAGE));
}

/*
 * The consumer writes into memory after it has registered it for reading only.
 * The kernel gives the process another page then, if it has not before.
 */
TEST_F(lmr_use, anonymous_written_after_create)
{
	struct pair *p = &self->pair;
	unsigned char *buf = map(2 * PAGE, PROT_READ | PROT_WRITE);
	struct region r;

	ASSERT_DAT(create_in(p->ia, &p->a, buf, 2 * PAGE, LOCAL_READ, &r));
	fill(buf, 2 * PAGE, 1);
	EXPECT_TRUE(arrives(p, &r, &self->b));
}

TEST_F(lmr_use, private_file_written_after_create)
{
	struct pair *p = &self->pair;
	int fd = memory_file(2 * PAGE);
	unsigned char *buf;
	struct region r;

	ASSERT_LE(0, fd);
	buf = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_DAT(create_in(p->ia, &p->a, buf, 2 * PAGE, LOCAL_READ, &r));
	fill(buf, 2 * PAGE, 1);
	EXPECT_TRUE(arrives(p, &r, &self->b));
}

TEST_F(lmr_use, fork_before_create_stays_parents)
{
	struct pair *p = &self->pair;
	unsigned char *buf = map(2 * PAGE, PROT_READ | PROT_WRITE);
	struct region r;
	int fds[2];
	pid_t pid;
	char c;

	fill(buf, 2 * PAGE, 1);
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	if (!pid) {
		/* Keeps its copy of the pages until the parent is done. */
		close(fds[1]);
		_exit(read(fds[0], &c, 1));
	}
	ASSERT_DAT(create_in(p->ia, &p->a, buf, 2 * PAGE, LOCAL_READ, &r));
	fill(buf, 2 * PAGE, 2);
	EXPECT_TRUE(arrives(p, &r, &self->b));
	close(fds[1]);
	waitpid(pid, NULL, 0);
}

TEST_F(lmr_use, fork_memory_stays_parents)
{
	struct pair *p = &self->pair;
	pid_t pid;

	fill(self->a.buf, 65536, 1);
	pid = fork();
	if (!pid) {
		memset(self->a.buf, 0xcc, 65536);
		memset(self->b.buf, 0xcc, 65536);
		_exit(0);
	}
	/* Whoever writes first, the child has pages of its own. */
	fill(self->a.buf, 65536, 2);
	EXPECT_TRUE(arrives(p, &self->a, &self->b));
	waitpid(pid, NULL, 0);
	EXPECT_TRUE(arrives(p, &self->a, &self->b));
}

TEST_F(lmr_use, munmap_pages_stay_pinned)
{
	struct pair *p = &self->pair;
	unsigned char *copy = map(65536, PROT_READ | PROT_WRITE);

	fill(self->a.buf, 65536, 1);
	memcpy(copy, self->a.buf, 65536);
	ASSERT_EQ(0, munmap(self->a.buf, 65536));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a,
						self->b.rmr_context,
						self->b.buf, 65536));
	EXPECT_EQ(0, memcmp(copy, self->b.buf, 65536));
}

/* Of what is larger, lmr_types.c has tests; this is enough for one piece more. */
static DAT_VLEN max_block_size(struct pair *pair)
{
	DAT_IA_ATTR attr = { .max_lmr_block_size = 0 };
	const DAT_VLEN enough = 3 << 20;

	dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE, &attr,
		     0, NULL);
	return attr.max_lmr_block_size < enough ? attr.max_lmr_block_size :
						  enough;
}

TEST_F(lmr_use, max_lmr_block_size_unaligned)
{
	struct pair *p = &self->pair;
	size_t max = max_block_size(p);
	unsigned char *buf[2];
	struct region r[2];
	unsigned int i;

	ASSERT_LE(PAGE, max);
	for (i = 0; i < 2; i++) {
		buf[i] = map(max + PAGE, PROT_READ | PROT_WRITE);
		ASSERT_NE(MAP_FAILED, buf[i]);
		/* The last byte of a page, and the second. */
		ASSERT_DAT(create_in(p->ia, i ? &p->b : &p->a,
				     buf[i] + (i ? 1 : 4095), max, ALL, &r[i]));
	}
	fill(r[0].buf, max, 1);
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &r[0], r[1].rmr_context,
						r[1].buf, max));
	EXPECT_EQ(0, memcmp(r[0].buf, r[1].buf, max));
	EXPECT_EQ(0, buf[1][0]);
	EXPECT_TRUE(is_all(buf[1] + max + 1, PAGE - 1, 0));
}

TEST_F(lmr_use, transparent_huge_pages)
{
	struct pair *p = &self->pair;
	size_t huge = 2 << 20, len = max_block_size(p), at = huge - 400000;
	unsigned char *map4 = map(4 * huge, PROT_READ | PROT_WRITE);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	unsigned char *buf;
	struct region r;

	ASSERT_NE(MAP_FAILED, map4);
	if (len > huge)
		len = huge;
	buf = map4 + (-(uintptr_t)map4 & (huge - 1));
	/* A kernel without them has small ones, and no other result. */
	madvise(buf, 3 * huge, MADV_HUGEPAGE);
	memset(buf, 0x11, 3 * huge);
	ASSERT_DAT(create_in(p->ia, &p->b, buf + at, len, ALL, &r));
	fill(self->a.buf, 65536, 1);
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a, r.rmr_context,
						buf + huge - 100, 65536));
	EXPECT_EQ(0, memcmp(self->a.buf, buf + huge - 100, 65536));
	ASSERT_DAT(dat_rmr_create(p->b.pz, &rmr));
	ASSERT_DAT(bind_window(rmr, &r, 222222, 54321, REMOTE_WRITE, p->b.ep, 1,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(p->b.dto_evd, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(p, &self->a, context,
						r.buf + 222222, 54321));
	EXPECT_EQ(0, memcmp(self->a.buf, r.buf + 222222, 54321));
	EXPECT_TRUE(is_all(r.buf, 222222, 0x11));
	EXPECT_TRUE(is_all(r.buf + 222222 + 54321, 100000, 0x11));
}

/* What a peer may do, for each set of privileges that matters. */
FIXTURE(lmr_remote)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_CONTEXT context;
};

FIXTURE_VARIANT(lmr_remote)
{
	DAT_MEM_PRIV_FLAGS privileges;
};

FIXTURE_VARIANT_ADD(lmr_remote, none) {
	.privileges = DAT_MEM_PRIV_NONE_FLAG,
};

FIXTURE_VARIANT_ADD(lmr_remote, local) {
	.privileges = LOCAL_READ | LOCAL_WRITE,
};

FIXTURE_VARIANT_ADD(lmr_remote, read) {
	.privileges = REMOTE_READ,
};

FIXTURE_VARIANT_ADD(lmr_remote, local_and_read) {
	.privileges = LOCAL_READ | LOCAL_WRITE | REMOTE_READ,
};

FIXTURE_VARIANT_ADD(lmr_remote, write) {
	.privileges = REMOTE_WRITE,
};

FIXTURE_VARIANT_ADD(lmr_remote, local_and_write) {
	.privileges = LOCAL_READ | LOCAL_WRITE | REMOTE_WRITE,
};

FIXTURE_VARIANT_ADD(lmr_remote, read_and_write) {
	.privileges = REMOTE_READ | REMOTE_WRITE,
};

FIXTURE_VARIANT_ADD(lmr_remote, all) {
	.privileges = ALL,
};

FIXTURE_SETUP(lmr_remote)
{
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &self->a, PAGE,
			       ALL));
	ASSERT_DAT(region_open(&self->pair, self->pair.b.pz, &self->b, PAGE,
			       variant->privileges));
	memset(self->a.buf, 0xaa, PAGE);
	memset(self->b.buf, 0xbb, PAGE);
	/* Where there is none, a peer may still guess. */
	self->context = self->b.rmr_context ?: self->b.lmr_context;
}

FIXTURE_TEARDOWN(lmr_remote)
{
	pair_close(&self->pair);
}

TEST_F(lmr_remote, remote_write_needs_privilege)
{
	bool may = variant->privileges & REMOTE_WRITE;

	EXPECT_EQ(may ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(&self->pair, &self->a, self->context,
			       self->b.buf, PAGE));
	EXPECT_TRUE(is_all(self->b.buf, PAGE, may ? 0xaa : 0xbb));
	if (!may)
		EXPECT_DAT(wait_refusal(&self->pair));
}

TEST_F(lmr_remote, remote_read_needs_privilege)
{
	bool may = variant->privileges & REMOTE_READ || !link_checks_reads();

	EXPECT_EQ(may ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_ACCESS,
		  read_status(&self->pair, &self->a, self->context,
			      self->b.buf, PAGE));
	EXPECT_TRUE(is_all(self->a.buf, PAGE, may ? 0xbb : 0xaa));
	if (!may)
		EXPECT_DAT(wait_refusal(&self->pair));
}

TEST_HARNESS_MAIN

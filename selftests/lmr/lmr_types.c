// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_types.c - dat_lmr_create(3DAT): LMRs over LMRs, shared memory, large memory
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "link.h"
#include "pair.h"

#define MIB		(1UL << 20)
#define ALL		DAT_MEM_PRIV_ALL_FLAG
#define LOCAL_READ	DAT_MEM_PRIV_LOCAL_READ_FLAG
#define REMOTE_READ	DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE	DAT_MEM_PRIV_REMOTE_WRITE_FLAG

#define ERROR(type, subtype)	(DAT_CLASS_ERROR | (type) | (subtype))

static void *map(size_t len, int flags, int fd)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
}

static void *map_private(size_t len)
{
	return map(len, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static DAT_RETURN create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_MEM_TYPE type,
			 DAT_REGION_DESCRIPTION desc, DAT_VLEN len,
			 DAT_MEM_PRIV_FLAGS privileges, struct region *r)
{
	DAT_VADDR address = 0;
	DAT_VLEN size = 0;
	DAT_RETURN ret;

	ret = dat_lmr_create(ia, type, desc, len, pz, privileges, &r->lmr,
			     &r->lmr_context, &r->rmr_context, &size, &address);
	r->buf = (unsigned char *)(uintptr_t)address;
	r->len = size;
	return ret;
}

static DAT_RETURN create_over(struct pair *p, DAT_PZ_HANDLE pz,
			      DAT_LMR_HANDLE base,
			      DAT_MEM_PRIV_FLAGS privileges, struct region *r)
{
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = base };

	/* The length is ignored, whatever it is. */
	return create(p->ia, pz, DAT_MEM_TYPE_LMR, desc, ~0ULL, privileges, r);
}

static DAT_RETURN create_virtual(struct pair *p, DAT_PZ_HANDLE pz, void *buf,
				 DAT_VLEN len, DAT_MEM_PRIV_FLAGS privileges,
				 struct region *r)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = buf };

	return create(p->ia, pz, DAT_MEM_TYPE_VIRTUAL, desc, len, privileges,
		      r);
}

static DAT_RETURN create_shared(struct pair *p, void *buf, DAT_VLEN len,
				char (*cookie)[DAT_LMR_COOKIE_SIZE],
				struct region *r)
{
	DAT_REGION_DESCRIPTION desc = {
		.for_shared_memory = {
			.virtual_address = buf,
			.shared_memory_id = cookie,
		},
	};

	return create(p->ia, p->b.pz, DAT_MEM_TYPE_SHARED_VIRTUAL, desc, len,
		      ALL, r);
}

FIXTURE(over)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_SETUP(over)
{
	struct pair *p = &self->pair;

	ASSERT_DAT(pair_open_connected(p));
	ASSERT_DAT(region_open(p, p->a.pz, &self->a, 4 * PAGE, ALL));
	ASSERT_DAT(region_open(p, p->b.pz, &self->b, 4 * PAGE,
			       LOCAL_READ | DAT_MEM_PRIV_LOCAL_WRITE_FLAG));
}

FIXTURE_TEARDOWN(over)
{
	pair_close(&self->pair);
}

TEST_F(over, lmr_over_lmr_own_privileges)
{
	struct pair *p = &self->pair;
	struct region over;

	/* Side b's memory, which no peer can reach, in the PZ of side b. */
	EXPECT_EQ(0, self->b.rmr_context);
	ASSERT_DAT(create_over(p, p->b.pz, self->b.lmr, REMOTE_WRITE, &over));
	EXPECT_EQ(self->b.buf, over.buf);
	EXPECT_EQ(self->b.len, over.len);
	EXPECT_NE(self->b.lmr_context, over.lmr_context);
	ASSERT_NE(0, over.rmr_context);
	memset(self->a.buf, 0x5a, self->a.len);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(p, &self->a, over.rmr_context, over.buf + 100,
			       2 * PAGE));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + 100, 2 * PAGE));
	EXPECT_EQ(0, self->b.buf[99]);
	EXPECT_EQ(0, self->b.buf[100 + 2 * PAGE]);
	/* A peer may write there, and no more. */
	if (link_checks_reads())
		EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
			  read_status(p, &self->a, over.rmr_context, over.buf,
				      8));
}

TEST_F(over, lmr_over_lmr_other_pz)
{
	struct pair *p = &self->pair;
	struct region over;

	/* Side a's memory in the PZ of side b: there it is b's to use. */
	ASSERT_DAT(create_over(p, p->b.pz, self->a.lmr, ALL, &over));
	EXPECT_DAT_RET(ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE),
		       post_recv(p->b.ep, &self->a, 0, 8, 1));
	ASSERT_DAT(post_recv(p->b.ep, &over, 8, 8, 1));
	memcpy(self->a.buf, "message", 8);
	ASSERT_DAT(post_send(p->a.ep, &self->a, 0, 8, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->b.dto_evd, 1));
	EXPECT_EQ(0, memcmp("message", self->a.buf + 8, 8));
	EXPECT_DAT_RET(ERROR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ),
		       post_send(p->a.ep, &over, 0, 8, 3));
}

TEST_F(over, lmr_over_lmr_keeps_base)
{
	struct pair *p = &self->pair;
	long long pinned = pinned_pages(), charged = charged_pages();
	struct region over, over2;
	DAT_LMR_PARAM param;

	ASSERT_DAT(create_over(p, p->b.pz, self->b.lmr, ALL, &over));
	ASSERT_DAT(create_over(p, p->a.pz, over.lmr, REMOTE_READ, &over2));
	EXPECT_EQ(pinned, pinned_pages());
	EXPECT_EQ(charged, charged_pages());

	ASSERT_DAT(dat_lmr_query(over2.lmr, DAT_LMR_FIELD_ALL, &param));
	EXPECT_EQ(DAT_MEM_TYPE_LMR, param.mem_type);
	EXPECT_EQ(over.lmr, param.region_desc.for_lmr_handle);
	EXPECT_EQ(p->a.pz, param.pz_handle);
	EXPECT_EQ(REMOTE_READ, param.mem_priv);
	EXPECT_EQ(self->b.len, param.registered_size);
	EXPECT_EQ((uintptr_t)self->b.buf, param.registered_address);

	/* What is under another one stays until that has gone. */
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE),
		       dat_lmr_free(self->b.lmr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE),
		       dat_lmr_free(over.lmr));
	EXPECT_DAT(dat_lmr_free(over2.lmr));
	EXPECT_DAT(dat_lmr_free(over.lmr));
	EXPECT_EQ(pinned, pinned_pages());
	EXPECT_DAT(dat_lmr_free(self->b.lmr));
	EXPECT_EQ(pinned - 4, pinned_pages());
	EXPECT_EQ(charged - 4, charged_pages());
}

/* Each LMR is released by the one over it. */
TEST_F(over, lmr_over_lmr_depth)
{
	struct pair *p = &self->pair;
	DAT_LMR_HANDLE base = self->a.lmr;
	struct region over;
	DAT_RETURN ret;
	int depth;

	/* More than fit on the stack of the kernel, if there is no limit */
	for (depth = 0; depth < 2000; depth++) {
		ret = create_over(p, p->a.pz, base, ALL, &over);
		if (ret)
			break;
		base = over.lmr;
	}
	EXPECT_EQ(16, depth);
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION), ret);
	/* The process ends with all of them, bases first. */
}

TEST_F(over, rmr_on_lmr_over_lmr)
{
	struct pair *p = &self->pair;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct region over;

	ASSERT_DAT(create_over(p, p->b.pz, self->b.lmr, ALL, &over));
	ASSERT_DAT(dat_rmr_create(p->b.pz, &rmr));
	ASSERT_DAT(bind_window(rmr, &over, 100, 200, REMOTE_WRITE, p->b.ep, 1,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(p->b.dto_evd, 1));
	memset(self->a.buf, 7, 200);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(p, &self->a, context, over.buf + 100, 200));
	EXPECT_EQ(7, self->b.buf[299]);
	EXPECT_EQ(0, self->b.buf[300]);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE),
		       dat_lmr_free(over.lmr));
}

TEST_F(over, lmr_over_lmr_bad_base)
{
	struct pair *p = &self->pair;
	unsigned char *buf = map_private(PAGE);
	struct region read_only, over;
	DAT_LMR_HANDLE gone;

	ASSERT_DAT(create_virtual(p, p->a.pz, buf, PAGE, LOCAL_READ,
				  &read_only));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		       create_over(p, p->a.pz, read_only.lmr, REMOTE_WRITE,
				   &over));
	EXPECT_DAT(create_over(p, p->a.pz, read_only.lmr, REMOTE_READ, &over));
	ASSERT_DAT(dat_lmr_free(over.lmr));
	gone = over.lmr;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
		       create_over(p, p->a.pz, gone, REMOTE_READ, &over));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
		       create_over(p, p->a.pz, p->a.ep, REMOTE_READ, &over));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR),
		       create_over(p, p->a.pz, DAT_HANDLE_NULL, REMOTE_READ,
				   &over));
}

TEST_F(over, abrupt_close_frees_lmr_chain)
{
	struct pair *p = &self->pair;
	long long pinned = pinned_pages();
	struct region over;
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_DAT(create_over(p, i & 1 ? p->a.pz : p->b.pz,
				       i ? over.lmr : self->b.lmr, ALL, &over));
	ASSERT_DAT(dat_ia_close(p->ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(pinned - 8, pinned_pages());
	EXPECT_EQ(0, charged_pages());
	ASSERT_DAT(pair_open(p));
}

/* Side b's memory is shared; side a writes to it from afar. */
FIXTURE(shared)
{
	struct pair pair;
	struct region a;
	int fd;
	unsigned char *mem;
	char cookie[DAT_LMR_COOKIE_SIZE];
};

FIXTURE_SETUP(shared)
{
	struct pair *p = &self->pair;

	ASSERT_DAT(pair_open_connected(p));
	ASSERT_DAT(region_open(p, p->a.pz, &self->a, PAGE, ALL));
	self->fd = memfd_create("shared", MFD_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ftruncate(self->fd, 8 * PAGE));
	self->mem = map(8 * PAGE, MAP_SHARED, self->fd);
	ASSERT_NE(MAP_FAILED, self->mem);
	/* With bytes of 0 in it, which end no name. */
	memset(self->cookie, 0, sizeof(self->cookie));
	memcpy(self->cookie, "cookie", 6);
	self->cookie[DAT_LMR_COOKIE_SIZE - 1] = 1;
}

FIXTURE_TEARDOWN(shared)
{
	pair_close(&self->pair);
	close(self->fd);
}

/* More names than the table has room for at first. */
TEST_F(shared, shared_many_cookies)
{
	char cookies[300][DAT_LMR_COOKIE_SIZE] = {};
	struct pair *p = &self->pair;
	struct region r[300], other;
	unsigned int i;

	for (i = 0; i < 300; i++) {
		snprintf(cookies[i], sizeof(cookies[i]), "%u", i);
		ASSERT_DAT(create_shared(p, self->mem + i, 1, &cookies[i],
					 &r[i]));
	}
	for (i = 0; i < 300; i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       create_shared(p, self->mem + i + 1, 1,
					     &cookies[i], &other));
		ASSERT_DAT(dat_lmr_free(r[i].lmr));
		ASSERT_DAT(create_shared(p, self->mem + i + 1, 1, &cookies[i],
					 &other));
		ASSERT_DAT(dat_lmr_free(other.lmr));
	}
}

TEST_F(shared, shared_create_write_query)
{
	struct pair *p = &self->pair;
	DAT_SHARED_MEMORY *desc;
	DAT_LMR_PARAM param;
	struct region r;

	ASSERT_DAT(create_shared(p, self->mem + 10, 2 * PAGE, &self->cookie,
				 &r));
	EXPECT_EQ(self->mem + 10, r.buf);
	EXPECT_EQ(2 * PAGE, r.len);
	memset(self->a.buf, 3, PAGE);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(p, &self->a, r.rmr_context, r.buf + PAGE, PAGE));
	EXPECT_EQ(3, self->mem[10 + PAGE]);

	ASSERT_DAT(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
	desc = &param.region_desc.for_shared_memory;
	EXPECT_EQ(DAT_MEM_TYPE_SHARED_VIRTUAL, param.mem_type);
	EXPECT_EQ(self->mem + 10, desc->virtual_address);
	ASSERT_NE(NULL, desc->shared_memory_id);
	EXPECT_NE(&self->cookie, desc->shared_memory_id);
	EXPECT_EQ(0, memcmp(self->cookie, *desc->shared_memory_id,
			    DAT_LMR_COOKIE_SIZE));
	EXPECT_EQ(2 * PAGE, param.length);
}

/* Another process, with a file of its own: 0 if all went well. */
static int write_from_child(int fd, char (*cookie)[DAT_LMR_COOKIE_SIZE])
{
	struct region a, r;
	struct pair p;
	void *mem;

	mem = map(8 * PAGE, MAP_SHARED, fd);
	if (mem == MAP_FAILED || pair_open(&p) || pair_connect(&p) ||
	    region_open(&p, p.a.pz, &a, PAGE, ALL))
		return 1;
	/* It is elsewhere in this process, but it is the same. */
	if (create_shared(&p, mem, 8 * PAGE, cookie, &r))
		return 2;
	memset(a.buf, 9, PAGE);
	if (write_status(&p, &a, r.rmr_context, r.buf + PAGE, PAGE))
		return 3;
	pair_close(&p);
	return 0;
}

/* In a process of its own: the library opens the device once. */
static pid_t start_writer(int go, int fd, char (*cookie)[DAT_LMR_COOKIE_SIZE])
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	if (read(go, &c, 1) != 1)
		_exit(4);
	_exit(write_from_child(fd, cookie));
}

/* Forks before the library has anything open. */
TEST(shared_between_processes)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "the same in both";
	unsigned char *mem;
	struct region a, r;
	struct pair p;
	int go[2], status, fd;
	pid_t pid;

	fd = memfd_create("shared", MFD_CLOEXEC);
	ASSERT_EQ(0, ftruncate(fd, 8 * PAGE));
	mem = map(8 * PAGE, MAP_SHARED, fd);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, pipe(go));
	pid = start_writer(go[0], fd, &cookie);

	ASSERT_DAT(pair_open_connected(&p));
	ASSERT_DAT(region_open(&p, p.a.pz, &a, PAGE, ALL));
	ASSERT_DAT(create_shared(&p, mem, 8 * PAGE, &cookie, &r));
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* What came by way of its LMR is here. */
	EXPECT_EQ(9, mem[PAGE]);
	EXPECT_EQ(9, mem[2 * PAGE - 1]);
	EXPECT_EQ(0, mem[2 * PAGE]);
	/* It has gone, and this one stays. */
	memset(a.buf, 6, PAGE);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&p, &a, r.rmr_context, r.buf, PAGE));
	EXPECT_EQ(6, mem[0]);
	pair_close(&p);
}

TEST_F(shared, same_cookie_same_memory)
{
	struct pair *p = &self->pair;
	unsigned char *again = map(8 * PAGE, MAP_SHARED, self->fd);
	struct region r, r2;

	ASSERT_DAT(create_shared(p, self->mem, 8 * PAGE, &self->cookie, &r));
	ASSERT_DAT(create_shared(p, again, 8 * PAGE, &self->cookie, &r2));
	ASSERT_DAT(dat_lmr_free(r.lmr));
	memset(self->a.buf, 4, PAGE);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(p, &self->a, r2.rmr_context, again, PAGE));
	EXPECT_EQ(4, self->mem[0]);
}

TEST_F(shared, same_cookie_other_memory)
{
	struct pair *p = &self->pair;
	void *other = map(8 * PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
	char cookie[DAT_LMR_COOKIE_SIZE];
	struct region r, r2;
	unsigned int i;

	ASSERT_DAT(create_shared(p, self->mem, 4 * PAGE, &self->cookie, &r));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       create_shared(p, other, 4 * PAGE, &self->cookie, &r2));
	/* Another part of the same, and another length. */
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       create_shared(p, self->mem + PAGE, 4 * PAGE,
				     &self->cookie, &r2));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       create_shared(p, self->mem, 4 * PAGE - 1, &self->cookie,
				     &r2));
	/* Each of the forty bytes makes a difference. */
	for (i = 0; i < DAT_LMR_COOKIE_SIZE; i++) {
		memcpy(cookie, self->cookie, sizeof(cookie));
		cookie[i] ^= 0x80;
		ASSERT_DAT(create_shared(p, other, 4 * PAGE, &cookie, &r2));
		ASSERT_DAT(dat_lmr_free(r2.lmr));
	}
	/* A name that nobody uses any more is free. */
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_DAT(create_shared(p, other, 4 * PAGE, &self->cookie, &r2));
}

TEST_F(shared, same_cookie_other_user)
{
	struct pair *p = &self->pair;
	void *other = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
	struct region r, r2;

	ASSERT_DAT(create_shared(p, self->mem, PAGE, &self->cookie, &r));
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_DAT(create_shared(p, other, PAGE, &self->cookie, &r2));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       create_shared(p, other, PAGE, &self->cookie, &r2));
}

TEST_F(shared, private_memory_invalid_state)
{
	struct pair *p = &self->pair;
	long long pinned = pinned_pages();
	unsigned char *mem = map_private(3 * PAGE);
	struct region r;

	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			create_shared(p, mem, PAGE, &self->cookie, &r));
	/* A copy of what is shared is not. */
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			create_shared(p, map(PAGE, MAP_PRIVATE, self->fd), PAGE,
				      &self->cookie, &r));
	/* Nor is a part of it enough. */
	ASSERT_NE(MAP_FAILED, mmap(mem, PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_FIXED, self->fd, 0));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			create_shared(p, mem, PAGE + 1, &self->cookie, &r));
	ASSERT_EQ(0, munmap(mem + PAGE, PAGE));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       create_shared(p, mem, PAGE + 1, &self->cookie, &r));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       create_shared(p, self->mem, PAGE, NULL, &r));
	EXPECT_EQ(pinned, pinned_pages());
	/* None of them has taken the name. */
	EXPECT_DAT(create_shared(p, self->mem, PAGE, &self->cookie, &r));
}

/* Whether somebody has joined it by that name already, or not. */
TEST_F(shared, shared_range_wraps)
{
	struct pair *p = &self->pair;
	const DAT_VLEN lengths[] = {
		~0ULL,
		-(DAT_VLEN)(uintptr_t)self->mem,
		-(DAT_VLEN)(uintptr_t)self->mem + PAGE,
	};
	struct region r;
	size_t i;

	for (i = 0; i < 2 * ARRAY_LEN(lengths); i++)
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
			       create_shared(p, self->mem, lengths[i / 2],
					     &self->cookie, &r));
	ASSERT_DAT(create_shared(p, self->mem, 4 * PAGE, &self->cookie, &r));
	for (i = 0; i < ARRAY_LEN(lengths); i++)
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
			       create_shared(p, self->mem, lengths[i],
					     &self->cookie, &r));
}

TEST_F(shared, shared_mappings_contiguous)
{
	struct pair *p = &self->pair;
	unsigned char *mem = map_private(4 * PAGE);
	struct region r;

	ASSERT_NE(MAP_FAILED, mmap(mem, PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_FIXED, self->fd, 0));
	ASSERT_NE(MAP_FAILED, mmap(mem + PAGE, PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_FIXED, self->fd,
				   2 * PAGE));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			create_shared(p, mem, 2 * PAGE, &self->cookie, &r));
	ASSERT_NE(MAP_FAILED, mmap(mem + PAGE, PAGE, PROT_READ,
				   MAP_SHARED | MAP_FIXED, self->fd, PAGE));
	ASSERT_EQ(0, mprotect(mem + PAGE, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_DAT(create_shared(p, mem, 2 * PAGE, &self->cookie, &r));
}

TEST_F(shared, shared_anonymous_sysv_file)
{
	struct pair *p = &self->pair;
	char name[] = "/tmp/kdapl-shared-XXXXXX";
	void *sysv, *anonymous, *file;
	struct region r;
	int id, fd;

	anonymous = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
	ASSERT_DAT(create_shared(p, anonymous, PAGE, &self->cookie, &r));
	ASSERT_DAT(dat_lmr_free(r.lmr));

	id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	ASSERT_LE(0, id);
	sysv = shmat(id, NULL, 0);
	ASSERT_EQ(0, shmctl(id, IPC_RMID, NULL));
	ASSERT_DAT(create_shared(p, sysv, PAGE, &self->cookie, &r));
	ASSERT_DAT(dat_lmr_free(r.lmr));

	fd = mkstemp(name);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, unlink(name));
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	file = map(PAGE, MAP_SHARED, fd);
	EXPECT_DAT(create_shared(p, file, PAGE, &self->cookie, &r));
	close(fd);
}

TEST_F(shared, shared_keeps_mount_busy)
{
	char dir[] = "/tmp/kdapl-mount-XXXXXX", name[64];
	struct pair *p = &self->pair;
	struct region r;
	void *file;
	int fd;

	ASSERT_NE(NULL, mkdtemp(dir));
	ASSERT_EQ(0, mount("none", dir, "tmpfs", 0, NULL));
	snprintf(name, sizeof(name), "%s/file", dir);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	file = map(PAGE, MAP_SHARED, fd);
	ASSERT_DAT(create_shared(p, file, PAGE, &self->cookie, &r));
	ASSERT_EQ(0, munmap(file, PAGE));
	ASSERT_EQ(0, close(fd));
	EXPECT_EQ(-1, umount(dir));
	EXPECT_EQ(EBUSY, errno);
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_EQ(0, umount(dir));
	EXPECT_EQ(0, rmdir(dir));
}

/* Memory that no single fast registration holds. */
/*
 * Where the device has pinned memory for itself: siw lets go of it when it has
 * done what it was doing with it.
 */
static long long soon(long long (*count)(void), long long want)
{
	unsigned int i;

	for (i = 0; i < 500 && count() != want; i++)
		usleep(10 * 1000);
	return count();
}

FIXTURE(large)
{
	struct pair pair;
	struct region a;
	long long pinned;
};

FIXTURE_SETUP(large)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct pair *p = &self->pair;

	/* siw does not ask whether the process may exceed it. */
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &unlimited));
	ASSERT_DAT(pair_open_connected(p));
	ASSERT_DAT(region_open(p, p->a.pz, &self->a, 2 * PAGE, ALL));
	self->pinned = pinned_pages();
}

FIXTURE_TEARDOWN(large)
{
	pair_close(&self->pair);
}

/* Writes some bytes at some places in it, and reads them back. */
static bool works_at(struct pair *p, struct region *a, const struct region *r,
		     DAT_VLEN offset, unsigned int seed)
{
	size_t len = PAGE + 100, i;

	for (i = 0; i < len; i++)
		a->buf[i] = seed + i * 7;
	if (write_status(p, a, r->rmr_context, r->buf + offset, len) ||
	    memcmp(a->buf, r->buf + offset, len))
		return false;
	memset(a->buf, 0, len);
	return !read_status(p, a, r->rmr_context, r->buf + offset, len) &&
	       !memcmp(a->buf, r->buf + offset, len);
}

/* Every second page is somebody else's, so that no two are neighbours. */
static unsigned char *map_scattered(size_t len)
{
	unsigned char *buf = map_private(len);
	size_t i;

	madvise(buf, len, MADV_NOHUGEPAGE);
	for (i = 0; i < len; i += 2 * PAGE)
		buf[i] = 0;
	for (i = PAGE; i < len; i += 2 * PAGE)
		buf[i] = 0;
	return buf;
}

TEST_F(large, large_scattered_pages)
{
	struct pair *p = &self->pair;
	const size_t len = 8 * MIB;
	unsigned char *buf = map_scattered(len + PAGE);
	long long charged = charged_pages();
	struct region r;

	ASSERT_DAT(create_virtual(p, p->b.pz, buf + 123, len, ALL, &r));
	EXPECT_EQ(buf + 123, r.buf);
	EXPECT_EQ(len, r.len);
	EXPECT_EQ(charged + len / PAGE + 1, charged_pages());
	EXPECT_TRUE(works_at(p, &self->a, &r, 0, 1));
	EXPECT_TRUE(works_at(p, &self->a, &r, 3 * MIB + 5, 2));
	EXPECT_TRUE(works_at(p, &self->a, &r, len - PAGE - 100, 3));
	/* What is no part of it is not. */
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(p, &self->a, r.rmr_context, r.buf + len - 7,
			       8));
	ASSERT_DAT(pair_reconnect(p));
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_EQ(self->pinned, soon(pinned_pages, self->pinned));
	EXPECT_EQ(charged, soon(charged_pages, charged));
	EXPECT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		  write_status(p, &self->a, r.rmr_context, r.buf, 8));
}

TEST_F(large, recv_into_large_lmr)
{
	struct pair *p = &self->pair;
	const size_t len = 8 * MIB;
	unsigned char *buf = map_scattered(len);
	struct region r;

	ASSERT_DAT(create_virtual(p, p->b.pz, buf, len, ALL, &r));
	ASSERT_DAT(post_recv(p->b.ep, &r, 5 * MIB - 5, 64, 1));
	memcpy(self->a.buf, "large", 6);
	ASSERT_DAT(post_send(p->a.ep, &self->a, 0, 64, 2));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->b.dto_evd, 1));
	EXPECT_EQ(0, memcmp("large", buf + 5 * MIB - 5, 6));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       post_recv(p->b.ep, &r, len - 63, 64, 1));
}

TEST_F(large, bind_rmr_to_large_lmr)
{
	struct pair *p = &self->pair;
	const size_t len = 8 * MIB, at = 6 * MIB + 1000;
	unsigned char *buf = map_scattered(len);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct region r;

	ASSERT_DAT(create_virtual(p, p->b.pz, buf, len, ALL, &r));
	ASSERT_DAT(dat_rmr_create(p->b.pz, &rmr));
	ASSERT_DAT(bind_window(rmr, &r, at, 2 * PAGE, REMOTE_WRITE, p->b.ep, 1,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(p->b.dto_evd, 1));
	memset(self->a.buf, 8, 2 * PAGE);
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(p, &self->a, context, buf + at, 2 * PAGE));
	EXPECT_EQ(8, buf[at]);
	EXPECT_EQ(8, buf[at + 2 * PAGE - 1]);
	EXPECT_EQ(0, buf[at + 2 * PAGE]);
	EXPECT_EQ(0, buf[at - 1]);
}

TEST_F(large, lmr_over_large_lmr)
{
	struct pair *p = &self->pair;
	const size_t len = 8 * MIB;
	unsigned char *buf = map_scattered(len);
	struct region r, over;

	ASSERT_DAT(create_virtual(p, p->a.pz, buf, len, ALL, &r));
	ASSERT_DAT(create_over(p, p->b.pz, r.lmr, ALL, &over));
	EXPECT_EQ(len, over.len);
	EXPECT_TRUE(works_at(p, &self->a, &over, 5 * MIB, 1));
	ASSERT_DAT(dat_lmr_free(over.lmr));
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_EQ(self->pinned, pinned_pages());
}

TEST_F(large, large_charged_per_page)
{
	struct pair *p = &self->pair;
	const size_t len = 4 * MIB;
	struct rlimit limit = { len + 2 * PAGE, len + 2 * PAGE };
	unsigned char *buf = map_scattered(len + PAGE);
	struct region r;

	/* Two pages are side a's. */
	ASSERT_EQ(2, charged_pages());
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			create_virtual(p, p->b.pz, buf, len + 1, ALL, &r));
	EXPECT_EQ(2, charged_pages());
	ASSERT_DAT(create_virtual(p, p->b.pz, buf, len, ALL, &r));
	EXPECT_EQ(2 + len / PAGE, charged_pages());
	EXPECT_TRUE(works_at(p, &self->a, &r, 2 * MIB, 1));
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_EQ(2, soon(charged_pages, 2));
	ASSERT_DAT(create_virtual(p, p->b.pz, buf, len, ALL, &r));
	ASSERT_EQ(0, seteuid(0));
}

/* The device charges the process for each region. */
TEST_F(large, lmr_over_large_lmr_charged_once)
{
	struct pair *p = &self->pair;
	const size_t len = 4 * MIB;
	struct rlimit limit = { len + 2 * PAGE, len + 2 * PAGE };
	unsigned char *buf = map_scattered(len);
	long long charged = 2 + len / PAGE;
	struct region r, over;
	int i;

	ASSERT_EQ(2, charged_pages());
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, seteuid(65534));
	ASSERT_DAT(create_virtual(p, p->b.pz, buf, len, ALL, &r));
	for (i = 0; i < 3; i++) {
		ASSERT_DAT(create_over(p, p->b.pz, r.lmr, ALL, &over));
		EXPECT_EQ(charged, charged_pages());
		ASSERT_DAT(dat_lmr_free(over.lmr));
		EXPECT_EQ(charged, soon(charged_pages, charged));
	}
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_EQ(2, soon(charged_pages, 2));
	ASSERT_EQ(0, seteuid(0));
}

TEST_F(large, over_limit_faults_no_pages)
{
	static unsigned char in_core[16384];
	const size_t len = sizeof(in_core) * PAGE;
	struct rlimit limit = { MIB, MIB };
	unsigned int i, resident = 0;
	struct pair *p = &self->pair;
	unsigned char *buf;
	struct region r;

	buf = map(len, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	ASSERT_NE(MAP_FAILED, buf);
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			create_virtual(p, p->b.pz, buf, len, ALL, &r));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			create_virtual(p, p->b.pz, buf, len, LOCAL_READ, &r));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, mincore(buf, len, in_core));
	for (i = 0; i < sizeof(in_core); i++)
		resident += in_core[i] & 1;
	EXPECT_EQ(0, resident);
}

/*
 * Sixteen mebibytes of memory, mapped again and again one behind the other:
 * the region is as large as its addresses are, whatever is behind them.
 */
static unsigned char *map_repeatedly(size_t len)
{
	const size_t each = 16 * MIB;
	int fd = memfd_create("again", MFD_CLOEXEC);
	unsigned char *buf;
	size_t at;

	if (fd < 0 || ftruncate(fd, each))
		return MAP_FAILED;
	buf = mmap(NULL, len, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (at = 0; buf != MAP_FAILED && at < len; at += each)
		if (mmap(buf + at, each, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			buf = MAP_FAILED;
	close(fd);
	return buf;
}

static bool has_time(void)
{
	/* A million pages take minutes under a sanitizer. */
	return access("/sys/kernel/debug/kmemleak", F_OK) ||
	       getenv("KDAPL_THOROUGH");
}

TEST_F_TIMEOUT(large, create_4_gib, 900)
{
	size_t len = (has_time() ? 4096 : 256) * MIB;
	unsigned char *buf = map_repeatedly(len);
	struct pair *p = &self->pair;
	DAT_IA_ATTR attr;
	struct region r;
	DAT_RETURN ret;

	ASSERT_NE(MAP_FAILED, buf);
	ASSERT_DAT(dat_ia_query(p->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	ret = create_virtual(p, p->b.pz, buf, len, ALL, &r);
	if (ret && len > attr.max_lmr_block_size) {
		TH_LOG("this device has at most %llu bytes",
		       (unsigned long long)attr.max_lmr_block_size);
		EXPECT_EQ(2, charged_pages());
		len = attr.max_lmr_block_size;
		ret = create_virtual(p, p->b.pz, buf, len, ALL, &r);
	}
	ASSERT_DAT(ret);
	EXPECT_EQ(len, r.len);
	EXPECT_TRUE(works_at(p, &self->a, &r, 0, 1));
	EXPECT_TRUE(works_at(p, &self->a, &r, len / 2 + 77, 2));
	/*
	 * Not the very last page: rxe of 6.1 looks into its list beyond the end
	 * if that is where a part of the list ends, too. It makes no use of it.
	 */
	EXPECT_TRUE(works_at(p, &self->a, &r, len - 2 * PAGE - 100, 3));
	EXPECT_EQ(2 + len / PAGE, charged_pages());
	ASSERT_DAT(dat_lmr_free(r.lmr));
	EXPECT_EQ(self->pinned, pinned_pages());
	EXPECT_EQ(2, soon(charged_pages, 2));
}

/* Bytes of a huge page, 0 without any */
static size_t huge_page(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	size_t kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Hugepagesize: %zu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib << 10;
}

TEST_F(large, hugetlbfs_pages)
{
	const size_t huge = huge_page(), len = 2 * huge;
	struct pair *p = &self->pair;
	unsigned char *buf;
	struct region r;
	FILE *f;

	if (!huge)
		SKIP(return, "no huge pages here");

	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	if (f) {
		fputs("2", f);
		fclose(f);
	}
	buf = map(len, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	if (buf == MAP_FAILED)
		SKIP(return, "no huge pages here");
	ASSERT_DAT(create_virtual(p, p->b.pz, buf + 50, len - 50, ALL, &r));
	EXPECT_TRUE(works_at(p, &self->a, &r, huge - 1000, 1));
	ASSERT_DAT(dat_lmr_free(r.lmr));
	ASSERT_EQ(0, munmap(buf, len));
	EXPECT_EQ(self->pinned, pinned_pages());
}

TEST_F(large, mremap_keeps_lmr)
{
	const size_t len = 4 * MIB;
	struct pair *p = &self->pair;
	unsigned char *buf = map_scattered(len), *moved;
	struct region r;

	ASSERT_DAT(create_virtual(p, p->b.pz, buf, len, ALL, &r));
	moved = mremap(buf, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
		       map_private(len));
	ASSERT_NE(MAP_FAILED, moved);
	ASSERT_NE(buf, moved);
	memset(self->a.buf, 5, PAGE);
	/* Peers go on calling it what it was called when it was registered. */
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(p, &self->a, r.rmr_context, buf + 3 * MIB,
			       PAGE));
	EXPECT_EQ(5, moved[3 * MIB]);
	EXPECT_EQ(5, moved[3 * MIB + PAGE - 1]);
}

/* Solaris: who asks for it copes with writes that come in any order. */
TEST(ro_disable_flag_accepted)
{
	static const DAT_MEM_PRIV_FLAGS privileges[] = {
		ALL, (DAT_MEM_PRIV_FLAGS)(ALL | DAT_MEM_PRIV_RO_DISABLE_FLAG),
	};
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	unsigned char *buf = map_private(PAGE);
	DAT_REGION_DESCRIPTION desc = { .for_va = buf };
	DAT_LMR_PARAM param;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;
	struct region r;
	char name[300];
	unsigned int i;

	snprintf(name, sizeof(name), "RO_AWARE_%s", ia_name());
	ASSERT_DAT(dat_ia_open(name, 8, &async_evd, &ia));
	ASSERT_DAT(dat_pz_create(ia, &pz));
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(create(ia, pz,
				  i & 2 ? DAT_MEM_TYPE_SO_VIRTUAL
					: DAT_MEM_TYPE_VIRTUAL,
				  desc, PAGE, privileges[i & 1], &r));
		ASSERT_DAT(dat_lmr_query(r.lmr, DAT_LMR_FIELD_ALL, &param));
		EXPECT_EQ(ALL, param.mem_priv);
		ASSERT_DAT(dat_lmr_free(r.lmr));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		       create(ia, pz, DAT_MEM_TYPE_VIRTUAL, desc, PAGE,
			      (DAT_MEM_PRIV_FLAGS)0x200, &r));
	ASSERT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * memory.c - memory of every type with its LMR, its contents, and a scenario of LMRs
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"
#include "process.h"
#include "soak.h"

/* Bytes of an LMR of type LARGE: more than one fast registration of rxe can hold */
#define LARGE_SIZE	(3 << 20)

/**
 * fill - write a pattern
 * @buf: where
 * @len: bytes
 * @seed: determines the pattern
 */
void fill(unsigned char *buf, size_t len, DAT_UINT32 seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!(i & 3))
			seed = seed * 1664525 + 1013904223;
		buf[i] = seed >> (8 * (i & 3));
	}
}

/**
 * is_filled - whether fill() has written this
 * @buf: where
 * @len: bytes
 * @seed: determines the pattern
 */
bool is_filled(const unsigned char *buf, size_t len, DAT_UINT32 seed)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!(i & 3))
			seed = seed * 1664525 + 1013904223;
		if (buf[i] != (unsigned char)(seed >> (8 * (i & 3))))
			return false;
	}
	return true;
}

static DAT_RETURN create_lmr(struct worker *w, DAT_PZ_HANDLE pz, DAT_MEM_TYPE type,
			     DAT_REGION_DESCRIPTION desc, struct memory *m)
{
	DAT_VADDR address;
	DAT_VLEN size;
	DAT_RETURN ret;

	ret = dat_lmr_create(w->ia, type, desc, m->len, pz, ALL, &m->lmr, &m->lmr_context,
			     &m->rmr_context, &size, &address);
	if (!ret)
		count(REGIONS, 1);
	return ret;
}

/* Memory that other processes could map, under a name that is this child's alone. */
static DAT_RETURN create_shared(struct worker *w, DAT_PZ_HANDLE pz, struct memory *m)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "";
	DAT_REGION_DESCRIPTION desc = {
		.for_shared_memory = {
			.virtual_address = m->buf,
			.shared_memory_id = &cookie,
		},
	};
	static unsigned int number;

	snprintf(cookie, sizeof(cookie), "soak %d %u", getpid(), number++);
	return create_lmr(w, pz, DAT_MEM_TYPE_SHARED_VIRTUAL, desc, m);
}

static DAT_RETURN create_over(struct worker *w, DAT_PZ_HANDLE pz, struct memory *m)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = m->buf };
	DAT_RETURN ret = create_lmr(w, pz, DAT_MEM_TYPE_VIRTUAL, desc, m);

	if (ret)
		return ret;
	m->base = m->lmr;
	desc.for_lmr_handle = m->base;
	return create_lmr(w, pz, DAT_MEM_TYPE_LMR, desc, m);
}

/**
 * memory_open - map memory and create an LMR of it
 * @w: the child
 * @pz: the PZ
 * @type: the type
 * @len: bytes; type LARGE has its own
 * @m: out
 */
bool memory_open(struct worker *w, DAT_PZ_HANDLE pz, enum memory_type type, size_t len,
		 struct memory *m)
{
	size_t page = sysconf(_SC_PAGESIZE), offset = random_below(page) & ~7U;
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	DAT_REGION_DESCRIPTION desc;

	*m = (struct memory){ .type = type, .len = type == LARGE ? LARGE_SIZE : len };
	m->map_len = (m->len + offset + page - 1) / page * page;
	if (type == SHARED) {
		fd = memfd_create("soak", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, m->map_len))
			complain(w, "memfd_create: %m");
		flags = MAP_SHARED;
	}
	m->map = mmap(NULL, m->map_len, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	if (m->map == MAP_FAILED)
		complain(w, "mmap of %zu bytes: %m", m->map_len);
	m->buf = (unsigned char *)m->map + offset;
	desc.for_va = m->buf;
	switch (type) {
	case SHARED:
		TRY(w, create_shared(w, pz, m));
		break;
	case OVER:
		TRY(w, create_over(w, pz, m));
		break;
	default:
		TRY(w, create_lmr(w, pz, DAT_MEM_TYPE_VIRTUAL, desc, m));
	}
	return true;
}

/**
 * memory_unmap - unmap the memory
 * @m: from memory_open()
 */
void memory_unmap(struct memory *m)
{
	if (m->map && m->map != MAP_FAILED)
		munmap(m->map, m->map_len);
	m->map = NULL;
}

/**
 * memory_close - free the LMR and unmap the memory, in either order
 * @w: the child
 * @m: from memory_open()
 */
void memory_close(struct worker *w, struct memory *m)
{
	if (random_below(2))
		memory_unmap(m);
	try_call(w, dat_lmr_free(m->lmr), "dat_lmr_free");
	if (m->base)
		try_call(w, dat_lmr_free(m->base), "dat_lmr_free of the base");
	memory_unmap(m);
}

/* A fork must not take pinned pages from the parent. */
static void fork_once(struct worker *w)
{
	pid_t pid = fork_child();

	if (!pid)
		_exit(0);
	if (pid > 0 && waitpid(pid, NULL, 0) != pid)
		complain(w, "waitpid: %m");
}

#define REGIONS_MOST	6

static bool use_memory(struct worker *w, struct memory *m)
{
	DAT_UINT32 seed = random_below(1 << 30);
	DAT_LMR_TRIPLET segment = {
		.lmr_context = m->lmr_context,
		.virtual_address = ADDR(m->buf),
		.segment_length = m->len,
	};
	DAT_LMR_PARAM param;

	fill(m->buf, m->len, seed);
	TRY(w, dat_lmr_query(m->lmr, DAT_LMR_FIELD_ALL, &param));
	if (param.registered_address > ADDR(m->buf) ||
	    param.registered_address + param.registered_size < ADDR(m->buf) + m->len)
		complain(w, "dat_lmr_query: range %#llx + %#llx",
			 (unsigned long long)param.registered_address,
			 (unsigned long long)param.registered_size);
	TRY(w, dat_lmr_sync_rdma_read(w->ia, &segment, 1));
	TRY(w, dat_lmr_sync_rdma_write(w->ia, &segment, 1));
	if (!is_filled(m->buf, m->len, seed))
		complain(w, "memory of type %d has changed", m->type);
	return true;
}

/**
 * memory_run - create, use and free LMRs of random types
 * @w: the child
 */
bool memory_run(struct worker *w)
{
	unsigned int num = 1 + random_below(REGIONS_MOST), i, first;
	struct memory all[REGIONS_MOST] = {};
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;

	TRY(w, dat_pz_create(w->ia, &pz));
	for (i = 0; i < num; i++) {
		/* One in eight is large. */
		enum memory_type type = random_below(8) ? random_below(LARGE) : LARGE;

		if (!memory_open(w, pz, type, 8 + random_below(128 * 1024), &all[i]) ||
		    !use_memory(w, &all[i]))
			goto unmap;
	}
	if (!try_call(w, dat_rmr_create(pz, &rmr), "dat_rmr_create"))
		goto unmap;
	if (!random_below(4))
		fork_once(w);
	TRY(w, dat_rmr_free(rmr));
	first = random_below(num);
	for (i = 0; i < num; i++)
		memory_close(w, &all[(first + i) % num]);
	TRY(w, dat_pz_free(pz));
	return true;
unmap:
	/* The LMRs go with the IA. */
	for (i = 0; i < REGIONS_MOST; i++)
		memory_unmap(&all[i]);
	return false;
}

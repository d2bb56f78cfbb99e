// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tricks_mem.c - datfuzz: the memory that a sequence registers, and what happens to it
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "exec.h"

#define PAGE	4096UL
#define MAP_HERE	(MAP_FIXED | MAP_NORESERVE)

/**
 * map_arena - map the memory that a sequence registers
 *
 * Private pages come first, then shared pages, then a file that can only be read. The
 * pages at the end are not mapped. Return: false if that is impossible.
 */
bool map_arena(void)
{
	void *private = (void *)ARENA;
	void *shared = (void *)(ARENA + ARENA_SHARED * PAGE);
	void *readonly = (void *)(ARENA + ARENA_READONLY * PAGE);
	int fd = memfd_create("datfuzz", MFD_CLOEXEC);
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool ok;

	ok = fd >= 0 && self >= 0 && !ftruncate(fd, (ARENA_READONLY - ARENA_SHARED) * PAGE) &&
	     mmap(private, ARENA_SHARED * PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HERE, -1, 0) == private &&
	     mmap(shared, (ARENA_READONLY - ARENA_SHARED) * PAGE, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_HERE, fd, 0) == shared &&
	     mmap(readonly, (ARENA_HOLE - ARENA_READONLY) * PAGE, PROT_READ,
		  MAP_SHARED | MAP_HERE, self, 0) == readonly;
	close(fd);
	close(self);
	return ok;
}

/* Limits a range to the arena. */
static void *range(const struct trick *t, size_t *bytes)
{
	uint64_t page = (t->a[0] - ARENA) / PAGE % ARENA_PAGES;
	uint64_t num = t->a[1] % ARENA_PAGES;

	if (num > ARENA_PAGES - page)
		num = ARENA_PAGES - page;
	*bytes = num * PAGE;
	return (void *)(ARENA + page * PAGE);
}

/**
 * trick_munmap - unmap pages
 */
void trick_munmap(struct worker *w, void *arg)
{
	size_t bytes;
	void *addr = range(arg, &bytes);

	munmap(addr, bytes);
}

/**
 * trick_mremap - move pages to the hole at the end
 */
void trick_mremap(struct worker *w, void *arg)
{
	size_t bytes;
	void *addr = range(arg, &bytes);

	if (bytes <= (ARENA_PAGES - ARENA_HOLE) * PAGE)
		mremap(addr, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		       (void *)(ARENA + ARENA_HOLE * PAGE));
}

/**
 * trick_remap - map other memory in the place of pages
 */
void trick_remap(struct worker *w, void *arg)
{
	size_t bytes;
	void *addr = range(arg, &bytes);

	mmap(addr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HERE, -1, 0);
}

/**
 * trick_discard - discard the content of pages
 */
void trick_discard(struct worker *w, void *arg)
{
	size_t bytes;
	void *addr = range(arg, &bytes);

	madvise(addr, bytes, MADV_DONTNEED);
}

/**
 * trick_mprotect - change the protection of pages
 */
void trick_mprotect(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	size_t bytes;
	void *addr = range(arg, &bytes);

	mprotect(addr, bytes, t->a[2] & (PROT_READ | PROT_WRITE));
}

/**
 * trick_touch - write to pages
 */
void trick_touch(struct worker *w, void *arg)
{
	size_t bytes;
	void *addr = range(arg, &bytes);

	if (!sigsetjmp(w->caught, 1)) {
		w->catches = true;
		memset(addr, 0x5a, bytes);
	}
	w->catches = false;
}

/* How long a fault of a stalled page takes, in milliseconds */
static volatile unsigned int stall_ms;
/* Reports the faults, or is -1 */
static int stall_fd = -1;

static void *end_stalls(void *arg)
{
	struct uffd_msg msg;

	while (read(stall_fd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_zeropage zero = {
			.range.start = msg.arg.pagefault.address & ~(PAGE - 1),
			.range.len = PAGE,
		};

		__atomic_fetch_add(&proc.run->stalls, 1, __ATOMIC_RELAXED);
		usleep(stall_ms * 1000);
		/* A page that is no longer there has threads that wait all the same. */
		if (ioctl(stall_fd, UFFDIO_ZEROPAGE, &zero))
			ioctl(stall_fd, UFFDIO_WAKE, &zero.range);
	}
	return NULL;
}

/* The caller holds proc.lock. */
static bool can_stall(void)
{
	struct uffdio_api uffd = { .api = UFFD_API };
	pthread_t thread;
	int fd;

	if (stall_fd >= 0)
		return true;
	fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0)
		return false;
	stall_fd = fd;
	if (!ioctl(fd, UFFDIO_API, &uffd) && !pthread_create(&thread, NULL, end_stalls, NULL))
		return true;
	stall_fd = -1;
	close(fd);
	return false;
}

/**
 * trick_stall - delay the next access to pages, also the kernel's, by 0 to 32 ms
 *
 * It does nothing in a process that may not use userfaultfd(2), or if the kernel lacks it.
 */
void trick_stall(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	size_t bytes;
	void *addr = range(arg, &bytes);

	/* The thread that ends the stalls does not exist there. */
	if (proc.is_fork)
		return;
	pthread_mutex_lock(&proc.lock);
	if (can_stall() && mmap(addr, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_HERE, -1, 0) == addr) {
		reg.range.start = (uintptr_t)addr;
		reg.range.len = bytes;
		stall_ms = (1U << t->a[2] % 7) / 2;
		ioctl(stall_fd, UFFDIO_REGISTER, &reg);
	}
	pthread_mutex_unlock(&proc.lock);
}

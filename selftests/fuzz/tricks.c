// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tricks.c - datfuzz: steps that collect arrays, take events, and write to rings
 */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dat/udat.h>

#include "exec.h"

#define MAX_RING_ENTRIES	(1U << 16)

/**
 * trick_segment - collect a segment for the next DTO or ioctl
 */
void trick_segment(struct worker *w, void *arg)
{
	if (w->num_segments < MAX_SEGMENTS)
		memcpy(&w->segments[w->num_segments++], arg, sizeof(w->segments[0]));
}

/**
 * trick_dto - collect a DTO, with the segments before it, for the next post
 */
void trick_dto(struct worker *w, void *arg)
{
	struct dat_dev_dto *dto = arg;
	unsigned int i, times;

	memcpy(&times, arg + sizeof(*dto), sizeof(times));
	if (dto->segments == (uintptr_t)w->segments &&
	    w->num_pool + w->num_segments <= ARRAY_LEN(w->pool)) {
		memcpy(&w->pool[w->num_pool], w->segments,
		       w->num_segments * sizeof(w->pool[0]));
		dto->segments = (uintptr_t)&w->pool[w->num_pool];
		w->num_pool += w->num_segments;
	}
	w->num_segments = 0;
	for (i = 0; i < times && w->num_dtos < MAX_DTOS; i++)
		w->dtos[w->num_dtos++] = *dto;
}

static size_t ring_bytes(uint32_t entries)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t bytes = sizeof(struct dat_dev_ring) + entries * sizeof(struct dat_dev_event);

	return (bytes + page - 1) / page * page;
}

/* The ring of an EVD, mapped if necessary; the caller holds proc.lock. */
static struct dat_dev_ring *ring_of(struct worker *w, struct obj *evd)
{
	void *ring;

	if (evd->ring || !evd->entries || evd->entries > MAX_RING_ENTRIES)
		return evd->ring;
	ring = mmap(NULL, ring_bytes(evd->entries), PROT_READ | PROT_WRITE, MAP_SHARED,
		    proc.fds[w->file], (off_t)evd->handle * sysconf(_SC_PAGESIZE));
	evd->ring = ring == MAP_FAILED ? NULL : ring;
	return evd->ring;
}

static struct obj *lock_evd(struct worker *w, const struct trick *t)
{
	pthread_mutex_lock(&proc.lock);
	return obj_of(w->file, T_EVD, t->a[0]);
}

static void take_events(struct worker *w, struct obj *evd)
{
	struct dat_dev_ring *ring = ring_of(w, evd);
	uint32_t head, tail, i;

	if (!ring)
		return;
	if (!sigsetjmp(w->caught, 1)) {
		w->catches = true;
		head = ring->head;
		tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
		for (i = 0; head != tail && i < evd->entries; head++, i++) {
			struct dat_dev_event *e = &ring->events[head % evd->entries];

			if (e->number == DAT_CONNECTION_REQUEST_EVENT)
				add_obj(w->file, T_CR, e->cr);
		}
		__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	}
	w->catches = false;
}

/**
 * trick_harvest - take all events from an EVD, after waiting for one
 *
 * The argument "wait" is the number of waits, of half a second each. Signals end them.
 */
void trick_harvest(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	struct dat_dev_evd_wait wait = { .size = sizeof(wait), .evd = t->a[0],
					 .timeout = 500000, .threshold = 1 };
	unsigned int i;
	struct obj *evd;

	for (i = 0; i < t->a[1]; i++)
		if (!try_ioctl(proc.fds[w->file], DAT_DEV_EVD_WAIT, &wait))
			break;
	evd = lock_evd(w, t);
	if (evd)
		take_events(w, evd);
	pthread_mutex_unlock(&proc.lock);
}

/**
 * trick_scribble - write a word into a ring
 */
void trick_scribble(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	struct obj *evd = lock_evd(w, t);
	uint32_t *ring = evd ? (uint32_t *)ring_of(w, evd) : NULL;

	if (ring && !sigsetjmp(w->caught, 1)) {
		w->catches = true;
		ring[t->a[1] % (ring_bytes(evd->entries) / sizeof(*ring))] = t->a[2];
	}
	w->catches = false;
	pthread_mutex_unlock(&proc.lock);
}

/**
 * trick_map_ring - map a ring with another length or protection
 */
void trick_map_ring(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	size_t page = sysconf(_SC_PAGESIZE), bytes;
	struct obj *evd = lock_evd(w, t);
	void *ring;

	bytes = t->a[1] ? t->a[1] % 64 * page : evd ? ring_bytes(evd->entries) : page;
	pthread_mutex_unlock(&proc.lock);
	ring = mmap(NULL, bytes, t->a[2] & 7, t->a[3] ? MAP_PRIVATE : MAP_SHARED,
		    proc.fds[w->file], t->a[0] * page);
	if (ring != MAP_FAILED && t->a[1] % 2)
		munmap(ring, bytes);
}

/**
 * trick_unmap_ring - unmap the first page of a ring, or move all of it
 */
void trick_unmap_ring(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	struct obj *evd = lock_evd(w, t);

	if (evd && evd->ring && t->a[1]) {
		size_t bytes = ring_bytes(evd->entries);
		void *to = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (to != MAP_FAILED &&
		    mremap(evd->ring, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
			evd->ring = to;
	} else if (evd && evd->ring) {
		munmap(evd->ring, sysconf(_SC_PAGESIZE));
		evd->ring = NULL;
	}
	pthread_mutex_unlock(&proc.lock);
}

/**
 * trick_poll - poll the descriptor of an EVD or CNO
 */
void trick_poll(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	struct pollfd pfd = { .fd = t->a[0], .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll;

	/* Without one, the file of /dev/dat itself */
	if (!pfd.fd)
		pfd.fd = proc.fds[w->file];
	if (!t->a[2]) {
		poll(&pfd, 1, t->a[1]);
		return;
	}
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		return;
	epoll_ctl(epoll, EPOLL_CTL_ADD, pfd.fd, &event);
	epoll_wait(epoll, &event, 1, t->a[1]);
	close(epoll);
}

/**
 * trick_close_fd - close the descriptor of an EVD or CNO
 */
void trick_close_fd(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	struct obj *fd;

	pthread_mutex_lock(&proc.lock);
	fd = t->a[0] ? obj_of(w->file, T_FD, t->a[0]) : NULL;
	if (fd && !fd->dead) {
		fd->dead = true;
		close(fd->handle);
	}
	pthread_mutex_unlock(&proc.lock);
}

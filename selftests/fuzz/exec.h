/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * exec.h - datfuzz: a process that executes a sequence, and its threads
 *
 * exec.c runs the threads. values.c computes the values of fields. tricks*.c have the steps
 * that are no ioctls.
 */
#ifndef SELFTESTS_FUZZ_EXEC_H
#define SELFTESTS_FUZZ_EXEC_H

#include <pthread.h>
#include <setjmp.h>

#include <linux/dat.h>

#include "fuzz.h"

/* Exit status of a process that could not be prepared for its sequence */
#define UNPREPARED	3

/* The memory that a sequence registers, at a fixed address */
#define ARENA		0x10000000UL
#define ARENA_PAGES	256
/* From these pages on it is shared, read-only, and not mapped. */
#define ARENA_SHARED	128
#define ARENA_READONLY	192
#define ARENA_HOLE	240

enum { LIST_SEGMENTS, LIST_DTOS };

/* The structure of a trick: its arguments */
struct trick {
	uint64_t a[4];
};

/**
 * struct worker - a thread that executes steps
 * @num: its number; MAX_THREADS for the main thread
 * @thread: the thread
 * @seq: its steps
 * @at: index of the current step
 * @file: the file of the current step
 * @beats: counts steps, so that the main thread sees that it goes on
 * @done: has executed all steps
 * @caught: where a SIGSEGV of its own continues
 * @catches: @caught is valid
 * @segments: segments for the next DTO
 * @num_segments: number of @segments
 * @dtos: DTOs for the next post
 * @num_dtos: number of @dtos
 * @pool: segments of @dtos
 * @num_pool: number of entries of @pool in use
 * @in_start: executes the first steps, whose posts do not count
 * @fail_fd: its file fail-nth, or -1
 */
struct worker {
	unsigned int num;
	pthread_t thread;
	const struct seq *seq;
	unsigned int at;
	unsigned int file;
	volatile unsigned int beats;
	volatile bool done;
	sigjmp_buf caught;
	volatile bool catches;
	struct dat_dev_segment segments[MAX_SEGMENTS];
	unsigned int num_segments;
	struct dat_dev_dto dtos[MAX_DTOS];
	unsigned int num_dtos;
	struct dat_dev_segment pool[4 * MAX_SEGMENTS];
	unsigned int num_pool;
	bool in_start;
	int fail_fd;
};

/**
 * struct process - the process that executes a sequence
 * @lock: guards @objs and @num_objs
 * @objs: objects of each file, by type, the oldest first
 * @num_objs: numbers of @objs
 * @fds: files of the device
 * @workers: its threads, and the main thread
 * @num_workers: number of threads
 * @go: threads wait until it is set
 * @run: report
 * @forks: number of further processes; they share the counter
 * @is_fork: this is one of these
 */
struct process {
	pthread_mutex_t lock;
	struct obj objs[NUM_FILES][NUM_TYPES][MAX_OBJECTS];
	unsigned int num_objs[NUM_FILES][NUM_TYPES];
	int fds[NUM_FILES];
	struct worker workers[MAX_THREADS + 1];
	unsigned int num_workers;
	volatile bool go;
	struct run *run;
	unsigned int *forks;
	bool is_fork;
};

extern struct process proc;

/* exec.c */
void execute_step(struct worker *w, const struct step *step);
long try_ioctl(int fd, unsigned long cmd, void *arg);

/* kapi.c */
void trick_kapi_harvest(struct worker *w, void *arg);
void trick_kapi_await(struct worker *w, void *arg);

/* values.c */
void fill(struct worker *w, const struct step *step, void *arg);
struct obj *add_obj(unsigned int file, enum type type, uint64_t handle);
struct obj *obj_of(unsigned int file, enum type type, uint64_t handle);
const char *ia_name(void);

/* tricks.c */
void trick_segment(struct worker *w, void *arg);
void trick_dto(struct worker *w, void *arg);
void trick_harvest(struct worker *w, void *arg);
void trick_scribble(struct worker *w, void *arg);
void trick_map_ring(struct worker *w, void *arg);
void trick_unmap_ring(struct worker *w, void *arg);
void trick_poll(struct worker *w, void *arg);
void trick_close_fd(struct worker *w, void *arg);

/* tricks_mem.c */
bool map_arena(void);
void trick_munmap(struct worker *w, void *arg);
void trick_mremap(struct worker *w, void *arg);
void trick_remap(struct worker *w, void *arg);
void trick_discard(struct worker *w, void *arg);
void trick_mprotect(struct worker *w, void *arg);
void trick_touch(struct worker *w, void *arg);
void trick_stall(struct worker *w, void *arg);

/* tricks_process.c */
void trick_fork(struct worker *w, void *arg);
void trick_signal(struct worker *w, void *arg);
void trick_kill(struct worker *w, void *arg);
void trick_pass_fd(struct worker *w, void *arg);
void trick_reopen(struct worker *w, void *arg);
void trick_pause(struct worker *w, void *arg);
void trick_read_debugfs(struct worker *w, void *arg);
void trick_unplug(struct worker *w, void *arg);

#endif /* SELFTESTS_FUZZ_EXEC_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kapi.h - the calls that datfuzz asks kdapl_fuzz.ko to make
 *
 * Root opens /dev/kdapl_fuzz. An ioctl makes one exported call of kdapl, see calls.def, in
 * the context that it names. selftests/fuzz/kapi_desc.c describes the arguments of each call.
 *
 * Handles are passed as they are: kdapl promises DAT_INVALID_HANDLE for any forged value. So
 * does a post for any triplet. Pointers are trusted by kdapl: the module passes pointers to
 * memory of its own, or NULL where the page of the call allows NULL.
 */
#ifndef SELFTESTS_KAPI_H
#define SELFTESTS_KAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KAPI_DEVICE	"/dev/kdapl_fuzz"

#define KAPI(name, context)	KAPI_##name,
enum kapi_number {
#include "calls.def"
	KAPI_NUM_CALLS
};

/* Values of where: a task, a task with bottom halves off, a tasklet */
#define KAPI_WHERE_TASK		0
#define KAPI_WHERE_BH		1
#define KAPI_WHERE_SOFTIRQ	2
/* In the next upcall of the EVDs whose upcall is this one of the file's, plus 0 to 7 */
#define KAPI_WHERE_UPCALL	16
#define KAPI_SLOTS		8
/* Do not wait for that upcall. */
#define KAPI_WHERE_ASYNC	0x100

/* Instead of a handle: the EP, RMR or CR of the event of the upcall that makes the call */
#define KAPI_EVENT_HANDLE	0x6b617069

/* Values of result that are no DAT_RETURN: not allowed in that context; no upcall came */
#define KAPI_REFUSED	0xfff1
#define KAPI_NOT_MADE	0xfff2

/* Addresses of memory begin here. The module maps any number into its memory. */
#define KAPI_ARENA	0x10000000UL

#define KAPI_ARGS	24
/* Argument whose bits replace pointers by NULL, the first pointer of the call first */
#define KAPI_NULL	(KAPI_ARGS - 1)
#define KAPI_OUT	6
#define KAPI_SEGMENTS	40

struct kapi_segment {
	__u64 virtual_address;
	__u32 length;
	__u32 lmr_context;
};

/**
 * struct kapi_call - a call
 * @number: enum kapi_number
 * @where: KAPI_WHERE_*
 * @segments: address of an array of struct kapi_segment
 * @num_segments: entries of that array, at most KAPI_SEGMENTS
 * @result: out: the DAT_RETURN
 * @arg: arguments
 * @out: out: the new handle, or other results. Of an LMR: its contexts, size and address
 */
struct kapi_call {
	__u32 number;
	__u32 where;
	__u64 segments;
	__u32 num_segments;
	__u32 result;
	__u64 arg[KAPI_ARGS];
	__u64 out[KAPI_OUT];
};

/* The oldest connection request that upcalls of the file have received, or 0 */
struct kapi_request {
	__u64 cr;
};

#define KAPI_CALL		_IOWR('k', 0, struct kapi_call)
#define KAPI_TAKE_REQUEST	_IOR('k', 1, struct kapi_request)

#endif /* SELFTESTS_KAPI_H */

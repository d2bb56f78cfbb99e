/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * bench.h - the two sides of the in-kernel measurement
 */
#ifndef SELFTESTS_BENCH_H
#define SELFTESTS_BENCH_H

#include <linux/types.h>

/* How often each is done, after a tenth of it has been done unmeasured */
#define BENCH_WRITES	2000
#define BENCH_BATCHES	100
#define BENCH_MANY	32
#define BENCH_ROUNDS	1000
#define BENCH_LEN	64
/* Room for all that is on its way */
#define BENCH_QLEN	128

/**
 * struct bench - one side: kdapl, or raw verbs
 * @name: "ours" or "raw"
 * @open: connects two QPs of the device to each other; false, after a report, if
 *	that failed
 * @close: undoes it, also after a failure
 * @write_one: an RDMA Write, until its completion has been taken
 * @write_many: BENCH_MANY, of which the last has a completion
 * @pingpong: so many Sends, each an answer to the one before
 */
struct bench {
	const char *name;
	bool (*open)(bool upcalls);
	void (*close)(void);
	bool (*write_one)(void);
	bool (*write_many)(void);
	bool (*pingpong)(unsigned int rounds);
};

extern const struct bench bench_ours, bench_raw;

#endif /* SELFTESTS_BENCH_H */

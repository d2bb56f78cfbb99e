/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * bench.h - the operations that both sides of the in-kernel benchmark implement
 */
#ifndef SELFTESTS_BENCH_H
#define SELFTESTS_BENCH_H

#include <linux/types.h>

/* Repetitions of each operation, after a tenth as many that are not measured */
#define BENCH_WRITES	2000
#define BENCH_BATCHES	100
#define BENCH_MANY	32
#define BENCH_ROUNDS	1000
#define BENCH_LEN	64
/* Room for all outstanding operations */
#define BENCH_QLEN	128

/**
 * struct bench - one side: kdapl, or raw verbs
 * @name: "ours" or "raw"
 * @open: connects two QPs of the device to each other; false, after a report, on
 *	failure
 * @close: reverses @open, also after a failure
 * @write_one: posts an RDMA Write and takes its completion
 * @write_many: posts BENCH_MANY Writes, of which the last one has a completion
 * @pingpong: exchanges a number of Sends, each an answer to the previous one
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

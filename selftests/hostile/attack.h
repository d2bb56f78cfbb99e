/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * attack.h - RDMA operations of raw, each on a connection of its own
 */
#ifndef SELFTESTS_HOSTILE_ATTACK_H
#define SELFTESTS_HOSTILE_ATTACK_H

#include <stdbool.h>

#include "host.h"

/* Results of attack.expected, next to those of enum ibv_wc_status */
#define REFUSED		IBV_WC_REM_ACCESS_ERR
#define ATTACK_ALLOWED	0

/**
 * struct attack - a Write, a Read or an atomic of raw
 * @opcode: enum ibv_wr_opcode
 * @address: remote address
 * @length: bytes
 * @rkey: remote key
 * @expected: enum ibv_wc_status at raw; ATTACK_ALLOWED if the host must execute it
 */
struct attack {
	__u32 opcode;
	__u64 address;
	__u32 length;
	__u32 rkey;
	__u32 expected;
};

bool attack_all(struct host *host, const struct attack *attacks, unsigned int num);

#endif /* SELFTESTS_HOSTILE_ATTACK_H */

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * attack.c - RDMA operations of raw, each on a connection of its own
 *
 * A refused operation ends its connection, so many connections attack at a time. After each
 * round the host and the bystander must be unharmed.
 */
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "attack.h"
#include "link.h"
#include "process.h"

/* What the memory of raw holds before a Read, and from which value Writes count */
#define FILLER		0xee
#define WRITES		0x80

/* Operand of an atomic. No eight bytes of the arena equal it, so a swap changes nothing. */
#define ADDEND		1

/* Connections that attack at a time; GOOD is none of them. */
#define ROUND		GOOD

static bool fail(const struct attack *attack, const struct host *host, const char *what,
		 int number)
{
	fprintf(stderr, "# opcode %u, %u bytes at arena%+lld, key %#x: %s: %d\n", attack->opcode,
		attack->length, (long long)(attack->address - ADDR(host->arena.buf)),
		attack->rkey, what, number);
	return false;
}

static unsigned char filler(const struct attack *attack, unsigned int conn)
{
	return attack->opcode == IBV_WR_RDMA_WRITE ? WRITES + conn : FILLER;
}

static bool post(struct host *host, const struct attack *attack, unsigned int conn)
{
	struct raw_order order = {
		.op = RAW_POST,
		.conn = conn,
		.opcode = attack->opcode,
		.length = attack->length,
		.address = attack->address,
		.rkey = attack->rkey,
		.compare = ADDEND,
		.swap = 2,
	};
	struct raw_answer answer;

	memset(host_slot(host, conn), filler(attack, conn), RAW_SLOT);
	return raw_do(host, &order, &answer);
}

/*
 * On iWARP a Write succeeds when it is on its way. A Read behind it succeeds only if the
 * host has executed it. A refusal has no status of its own there: the connection ends.
 */
static int iwarp_status(struct host *host, const struct attack *attack, unsigned int conn,
			int status)
{
	struct attack read = *attack;

	if (attack->opcode == IBV_WR_RDMA_WRITE && status == IBV_WC_SUCCESS) {
		read.opcode = IBV_WR_RDMA_READ;
		read.length = 1;
		/* The connection may have ended already. */
		if (!post(host, &read, conn))
			return IBV_WC_REM_ACCESS_ERR;
		status = raw_status(host, RAW_SENT, conn);
		memset(host_slot(host, conn), filler(attack, conn), RAW_SLOT);
	}
	return status == IBV_WC_SUCCESS ? status : IBV_WC_REM_ACCESS_ERR;
}

/* The shadow gets what the host's memory should get. */
static void execute(struct host *host, const struct attack *attack, unsigned int conn)
{
	unsigned char *shadow = host->shadow + attack->address - ADDR(host->arena.buf);
	__u64 value;

	if (attack->opcode == IBV_WR_RDMA_WRITE) {
		memset(shadow, filler(attack, conn), attack->length);
	} else if (attack->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		memcpy(&value, shadow, sizeof(value));
		value += ADDEND;
		memcpy(shadow, &value, sizeof(value));
	}
}

static bool check_allowed(struct host *host, const struct attack *attack, unsigned int conn)
{
	size_t offset = attack->address - ADDR(host->arena.buf);
	unsigned char *slot = host_slot(host, conn);

	if (ep_state(host->victims[conn].ep) != DAT_EP_STATE_CONNECTED)
		return fail(attack, host, "state", ep_state(host->victims[conn].ep));
	if (attack->opcode != IBV_WR_RDMA_WRITE &&
	    memcmp(slot, host->shadow + offset, attack->length))
		return fail(attack, host, "read other bytes", 0);
	execute(host, attack, conn);
	return is_filled_with(slot + attack->length, RAW_SLOT - attack->length,
			      filler(attack, conn)) ||
	       fail(attack, host, "read too much", 0);
}

static bool check_refused(struct host *host, const struct attack *attack, unsigned int conn)
{
	if (!victim_broken(host, conn) || !victim_flushed(host, conn, 0))
		return fail(attack, host, "end of the connection", 0);
	return is_filled_with(host_slot(host, conn), RAW_SLOT, filler(attack, conn)) ||
	       fail(attack, host, "read something", 0);
}

static bool check(struct host *host, const struct attack *attack, unsigned int conn)
{
	int status = raw_status(host, RAW_SENT, conn);

	if (link_is_iwarp())
		status = iwarp_status(host, attack, conn, status);
	if (status != attack->expected)
		return fail(attack, host, "status", status);
	return status == ATTACK_ALLOWED ? check_allowed(host, attack, conn) :
					  check_refused(host, attack, conn);
}

/*
 * Allowed operations may overlap, so their order counts: each ends before the next begins.
 * Refused ones run at the same time.
 */
static bool attack_round(struct host *host, const struct attack *attacks, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++) {
		if (victim_connect(host, i) || !post(host, &attacks[i], i))
			return fail(&attacks[i], host, "cannot attack", 0);
		if (attacks[i].expected == ATTACK_ALLOWED && !check(host, &attacks[i], i))
			return false;
	}
	for (i = 0; i < num; i++) {
		if (attacks[i].expected != ATTACK_ALLOWED && !check(host, &attacks[i], i))
			return false;
	}
	for (i = 0; i < num; i++) {
		if (!victim_close(host, i))
			return false;
	}
	return host_unharmed(host);
}

/**
 * attack_all - let raw execute operations and check what comes of each
 * @host: the host
 * @attacks: the operations
 * @num: how many
 *
 * Return: false at the first that has another result than expected.
 */
bool attack_all(struct host *host, const struct attack *attacks, unsigned int num)
{
	unsigned int n;

	for (; num; num -= n, attacks += n) {
		n = num < ROUND ? num : ROUND;
		if (!attack_round(host, attacks, n))
			return false;
	}
	return true;
}

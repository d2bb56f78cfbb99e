/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * addr.h - the IP address of an IA, and helpers for socket addresses
 *
 * addr.c owns the addresses. dat_addr() can be called from any context, and
 * dat_addr_find() from process context.
 */
#ifndef _KDAPL_ADDR_H
#define _KDAPL_ADDR_H

#include <linux/in6.h>
#include <linux/socket.h>

#include <dat/kdat.h>

struct dat_ia;
struct sockaddr;
struct sockaddr_storage;

/* Timeout to resolve an address, and again to resolve a route, in ms */
#define DAT_RESOLVE_TIMEOUT_MS	2000

/*
 * rdma_cm chooses local ports without checking those of TCP. iWARP needs a port that
 * TCP does not use, so kdapl retries at most this many times. Most ports are free.
 */
#define DAT_PORT_TRIES	16

const struct sockaddr_storage *dat_addr(struct dat_ia *ia);
int dat_addr_find(struct dat_ia *ia);
void dat_addr_init(struct dat_ia *ia);
void dat_addr_destroy(struct dat_ia *ia);
int dat_addr_register(void);
void dat_addr_unregister(void);
bool dat_addr_is_valid(const struct sockaddr *addr);
size_t dat_addr_size(const struct sockaddr *addr);
void dat_addr_set_port(struct sockaddr_storage *addr, u16 port);
u16 dat_qual_port(DAT_CONN_QUAL qual);
u16 dat_addr_port(const struct sockaddr_storage *addr);
bool dat_addr_is_equal(const struct sockaddr_storage *a,
		       const struct sockaddr_storage *b);

#endif /* _KDAPL_ADDR_H */

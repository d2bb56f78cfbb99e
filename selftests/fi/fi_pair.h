/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fi_pair.h - two endpoints of libfabric's provider kdapl, in one process
 *
 * Side a connects, side b listens.
 */
#ifndef FI_PAIR_H
#define FI_PAIR_H

#include <stdint.h>
#include <sys/socket.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define FI_TIMEOUT_MS	20000

/**
 * struct fi_end - one end of a connection
 * @eq: its events
 * @cq: completions of both kinds
 * @ep: the endpoint
 * @mr: its memory
 * @buf: the memory
 * @tx_flags: FI_SELECTIVE_COMPLETION
 * @srx: where its receives come from, or NULL
 * @cntr: its counter, or NULL
 * @counts: what it counts
 * @not_seen: FI_TRANSMIT, FI_RECV: the completions only count
 */
struct fi_end {
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	unsigned char *buf;
	uint64_t tx_flags;
	struct fid_ep *srx;
	struct fid_cntr *cntr;
	uint64_t counts;
	uint64_t not_seen;
};

/**
 * struct fi_pair - both ends, on one domain
 * @hints: what the test needs
 * @info: the entry for it
 * @address: where @pep listens
 */
struct fi_pair {
	struct fi_info *hints, *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_pep *pep;
	struct sockaddr_storage address;
	struct fi_end a, b;
};

/* The provider, an address of it or NULL, and bytes of a memory; for programs that are no tests */
extern const char *fi_pair_provider;
extern const char *fi_pair_node;
extern size_t fi_pair_size;

struct fi_info *fi_pair_hints(void);
int fi_pair_domain(struct fi_pair *p);
int fi_pair_open(struct fi_pair *p);
int fi_pair_close(struct fi_pair *p);
int fi_pair_connect(struct fi_pair *p);
int open_end(struct fi_pair *p, struct fi_end *end);
int open_ep(struct fi_pair *p, struct fi_end *end, struct fi_info *info);
int ask(struct fi_pair *p, struct fi_info **info);
ssize_t next_event(struct fid_eq *eq, uint32_t *type, struct fi_eq_cm_entry *entry, void *data,
		   size_t size);
int expect_event(struct fid_eq *eq, uint32_t want, fid_t fid);
int completion(struct fi_end *end, struct fi_cq_data_entry *entry);
int failure(struct fi_end *end);
ssize_t recv_to(struct fi_end *end, size_t at, size_t len, uintptr_t context);
ssize_t send_from(struct fi_end *end, size_t at, size_t len, uintptr_t context);

#endif

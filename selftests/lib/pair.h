/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * pair.h - two connected EPs in one process, for tests
 */
#ifndef SELFTESTS_PAIR_H
#define SELFTESTS_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <dat/udat.h>

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))
#define ADDR(p)		((uintptr_t)(p))
#define ERROR(type, subtype)	(DAT_CLASS_ERROR | (type) | (subtype))

/* The page size of this kernel, and the largest of any kernel, in bytes */
#define PAGE		((unsigned long)sysconf(_SC_PAGESIZE))
#define MAX_PAGE	65536

/* What is other in DAT 2.0: see dat2/include/dat/udat.h. */
#ifndef HANDLES_ARE_POINTERS
#define HANDLES_ARE_POINTERS	0
#define TOLD_IA(ia)		(ia)
#endif

#define IS_CUT(length, field)	((length) >> 31 >> 1 && sizeof(field) == 4)

/* Long enough for an emulated machine under a sanitizer. */
#define PAIR_TIMEOUT	(20 * 1000 * 1000)

/* No handle has it, be it one of 32 bits or of 64. */
#define HIGH_BIT	(UINTPTR_MAX / 2 + 1)

/**
 * struct side - one end of a connection, with EVDs of its own
 * @pz: its PZ
 * @dto_evd: requests and receives
 * @conn_evd: connection events
 * @ep: the EP
 */
struct side {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EP_HANDLE ep;
};

/**
 * struct pair - two sides on one IA
 * @ia: the IA
 * @async_evd: its asynchronous EVD
 * @cr_evd: connection requests
 * @psp: the service point of @b
 * @qual: its connection qualifier
 * @a: the active side
 * @b: the passive side
 */
struct pair {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct side a;
	struct side b;
};

/* A region of memory of ours, and what registering it gave. */
struct region {
	unsigned char *buf;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

const char *ia_name(void);
const char *dat_str(DAT_RETURN ret);
int library_fd(void);
ssize_t read_ports(char *range, size_t size);
ssize_t write_ports(const char *range);

DAT_RETURN side_open(struct pair *pair, struct side *side);
DAT_RETURN pair_open(struct pair *pair);
DAT_RETURN pair_connect(struct pair *pair);
DAT_RETURN pair_open_connected(struct pair *pair);
DAT_RETURN pair_reconnect(struct pair *pair);
DAT_RETURN ia_address(DAT_IA_HANDLE ia, DAT_IA_ADDRESS_PTR *address);
DAT_RETURN connect_to(struct pair *pair, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual);
DAT_RETURN ep_like(struct pair *pair, struct side *side, DAT_EP_HANDLE *ep);
void pair_close(struct pair *pair);

DAT_RETURN region_open(struct pair *pair, DAT_PZ_HANDLE pz,
		       struct region *region, size_t len,
		       DAT_MEM_PRIV_FLAGS privileges);
DAT_RETURN regions_open(struct pair *pair, struct region *a, struct region *b,
			size_t len, DAT_MEM_PRIV_FLAGS privileges);
void region_close(struct region *region);

DAT_LMR_TRIPLET segment(const struct region *region, size_t offset, size_t len);
DAT_RMR_TRIPLET remote(DAT_RMR_CONTEXT context, const void *addr, size_t len);

DAT_RETURN wait_event(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
		    DAT_EVENT *event);
DAT_RETURN wait_broken(DAT_EVD_HANDLE evd);
DAT_RETURN wait_any_end(DAT_EVD_HANDLE evd);
DAT_RETURN wait_refusal(struct pair *pair);
DAT_RETURN wait_number(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
DAT_RETURN wait_both(struct pair *pair, DAT_EVENT_NUMBER number);
DAT_RETURN next_cr(struct pair *pair, DAT_CR_HANDLE *cr);
bool is_empty(DAT_EVD_HANDLE evd);
int wait_dto(DAT_EVD_HANDLE evd, uint64_t cookie);
int wait_bind(DAT_EVD_HANDLE evd, uint64_t cookie);
DAT_EP_STATE ep_state(DAT_EP_HANDLE ep);
bool carries(struct pair *pair, DAT_EP_HANDLE from, DAT_EP_HANDLE to,
	     const struct region *a, const struct region *b);

DAT_RETURN post_send(DAT_EP_HANDLE ep, const struct region *region,
		     size_t offset, size_t len, uint64_t cookie);
DAT_RETURN post_recv(DAT_EP_HANDLE ep, const struct region *region,
		     size_t offset, size_t len, uint64_t cookie);
DAT_RETURN post_write(DAT_EP_HANDLE ep, const struct region *region,
		      size_t offset, size_t len, DAT_RMR_CONTEXT context,
		      const void *addr, uint64_t cookie);
DAT_RETURN post_read(DAT_EP_HANDLE ep, const struct region *region,
		     size_t offset, size_t len, DAT_RMR_CONTEXT context,
		     const void *addr, uint64_t cookie);
int write_status(struct pair *pair, const struct region *from,
		 DAT_RMR_CONTEXT context, const void *addr, size_t len);
int read_status(struct pair *pair, const struct region *to,
		DAT_RMR_CONTEXT context, const void *addr, size_t len);
DAT_RETURN bind_window(DAT_RMR_HANDLE rmr, const struct region *region,
		       size_t offset, size_t len, DAT_MEM_PRIV_FLAGS privileges,
		       DAT_EP_HANDLE ep, uint64_t cookie,
		       DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context);

#endif /* SELFTESTS_PAIR_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kpair.h - two connected EPs on one IA, for in-kernel tests
 */
#ifndef SELFTESTS_KPAIR_H
#define SELFTESTS_KPAIR_H

#include <dat/kdat_linux.h>

struct ib_device;

/**
 * struct kside - one end of a connection
 * @pz: its PZ
 * @dto_evd: EVD for completions of requests and receives
 * @conn_evd: EVD for connection events
 * @ep: the EP
 */
struct kside {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EP_HANDLE ep;
};

/**
 * struct kpair - two sides on one IA
 * @ia: the IA
 * @async_evd: its asynchronous EVD
 * @cr_evd: EVD for connection requests
 * @psp: the service point of @b
 * @a: the active side
 * @b: the passive side
 */
struct kpair {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	struct kside a;
	struct kside b;
};

/**
 * struct kregion - registered memory
 * @buf: the memory
 * @len: bytes
 * @lmr: its LMR
 * @lmr_context: context for local use
 * @rmr_context: context for the peer
 */
struct kregion {
	u8 *buf;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

extern char *kpair_ia;
extern bool kpair_thorough;

#define KPAIR_QUAL	4712

bool kpair_is_siw(void);
bool kpair_open(struct kpair *pair);
bool kpair_open_with(struct kpair *pair, const DAT_UPCALL_OBJECT *upcall);
bool kpair_open_attr(struct kpair *pair, const DAT_UPCALL_OBJECT *upcall,
		     const DAT_EP_ATTR *attr);
bool kpair_reopen(struct kpair *pair);
bool kpair_connect(struct kpair *pair);
bool kpair_connect_eps(struct kpair *pair, DAT_EP_HANDLE a, DAT_EP_HANDLE b);
bool kpair_connect_more(struct kpair *pair, DAT_EP_HANDLE *ep_a,
			DAT_EP_HANDLE *ep_b);
void kpair_close(struct kpair *pair);

bool kregion_open(struct kpair *pair, DAT_PZ_HANDLE pz,
		  struct kregion *region, size_t len,
		  DAT_MEM_PRIV_FLAGS privileges);
void kregion_close(struct kregion *region);
void kfill(u8 *buf, size_t len, u8 seed);

DAT_LMR_TRIPLET ksegment(const struct kregion *region, size_t offset,
			 size_t len);
bool kwait_event(DAT_EVD_HANDLE evd, DAT_EVENT *event);
bool kwait_number(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
bool kwait_broken(DAT_EVD_HANDLE evd);
bool kwait_any_end(DAT_EVD_HANDLE evd);
bool kwait_refusal(struct kpair *pair);
int kwait_dto(DAT_EVD_HANDLE evd, u64 cookie);
int kwait_bind(DAT_EVD_HANDLE evd, u64 cookie);

DAT_RETURN kpost_send(DAT_EP_HANDLE ep, const struct kregion *region,
		      size_t offset, size_t len, u64 cookie);
DAT_RETURN kpost_recv(DAT_EP_HANDLE ep, const struct kregion *region,
		      size_t offset, size_t len, u64 cookie);
int kwrite(struct kpair *pair, const struct kregion *from, size_t offset,
	   size_t len, DAT_RMR_CONTEXT context, const void *addr);
int kread(struct kpair *pair, const struct kregion *to, size_t offset,
	  size_t len, DAT_RMR_CONTEXT context, const void *addr);
DAT_RETURN kbind(DAT_RMR_HANDLE rmr, const struct kregion *region,
		 size_t offset, size_t len, DAT_MEM_PRIV_FLAGS privileges,
		 DAT_EP_HANDLE ep, u64 cookie, DAT_COMPLETION_FLAGS flags,
		 DAT_RMR_CONTEXT *context);

struct ib_device *kpair_ibdev(void);

#define KREMOTE_ALL \
	(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

#endif /* SELFTESTS_KPAIR_H */

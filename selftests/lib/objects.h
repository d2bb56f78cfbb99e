/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * objects.h - one object of each type on one file, by ioctl alone
 *
 * The functions return what those of ioctls.h do.
 */
#ifndef SELFTESTS_OBJECTS_H
#define SELFTESTS_OBJECTS_H

#include <stdbool.h>

#include <dat/udat.h>
#include <linux/dat.h>

/* In bytes: the region of the LMR */
#define OBJECTS_REGION	65536

enum object { PZ, EVD, PSP, EP, LMR, RMR, NUM_OBJECTS };

/**
 * struct objects - the objects
 * @fd: the file
 * @ia: their IA
 * @pz: the PZ of EP, LMR and RMR
 * @cr_evd: connection requests of @psp
 * @dto_evd: completions of @ep and @peer_ep
 * @conn_evd: connection events of @ep and @peer_ep
 * @psp: a PSP
 * @ep: an EP
 * @peer_ep: what objects_connect() connects @ep to
 * @rmr: an RMR
 * @lmr: an LMR of OBJECTS_REGION bytes at @buf
 * @lmr_context: its lmr_context
 * @rmr_context: its rmr_context
 * @qual: the connection qualifier of @psp
 * @buf: the memory; the caller maps it
 */
struct objects {
	int fd;
	__u32 ia;
	__u32 pz;
	__u32 cr_evd, dto_evd, conn_evd;
	__u32 psp;
	__u32 ep, peer_ep;
	__u32 rmr;
	__u32 lmr;
	__u32 lmr_context, rmr_context;
	__u64 qual;
	unsigned char *buf;
};

DAT_UINT32 objects_open_ia(struct objects *r);
DAT_UINT32 objects_make(struct objects *r, enum object object);
DAT_UINT32 objects_make_all(struct objects *r, const unsigned char *order,
			    bool busy);
DAT_UINT32 objects_lmr(struct objects *r);
DAT_UINT32 objects_wait(struct objects *r, __u32 evd, __u32 threshold);
struct dat_dev_ring *objects_ring(struct objects *r, __u32 evd);
DAT_UINT32 objects_accept(struct objects *r, __u32 ep);
DAT_UINT32 objects_post(struct objects *r, __u32 opcode, __u32 len);
DAT_UINT32 objects_busy(struct objects *r);

#endif /* SELFTESTS_OBJECTS_H */

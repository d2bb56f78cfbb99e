/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * usp.h - service points and connection requests of a process
 */
#ifndef _CHARDEV_USP_H
#define _CHARDEV_USP_H

#include "uevd.h"

/**
 * struct dat_usp - a PSP, RSP or CSP
 * @uobj: base object
 * @evd: its EVD, referenced
 * @node: in evd->sps, added before the first request can arrive
 * @conn_qual: connection qualifier, by which requests are matched; 0 until the kernel
 *	has chosen one
 */
struct dat_usp {
	struct dat_uobj uobj;
	struct dat_uevd *evd;
	struct list_head node;
	u64 conn_qual;
};

/**
 * struct dat_ucr - a connection request
 * @uobj: base object
 * @ep: user handle of the EP that the kernel created for the request; 0 without such
 *	an EP
 */
struct dat_ucr {
	struct dat_uobj uobj;
	u32 ep;
};

static inline struct dat_usp *to_usp(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_usp, uobj);
}

static inline struct dat_ucr *to_ucr(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_ucr, uobj);
}

u32 dat_usp_handle(struct dat_uevd *evd, u64 conn_qual);
void dat_ucr_remove_ep(struct dat_ucr *cr);

#endif /* _CHARDEV_USP_H */

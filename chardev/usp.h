/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * usp.h - service points of a process: PSPs, RSPs and CSPs
 */
#ifndef _CHARDEV_USP_H
#define _CHARDEV_USP_H

#include "uevd.h"

/**
 * struct dat_usp - a PSP, RSP or CSP
 * @uobj: head
 * @evd: its EVD, referenced
 * @node: in evd->sps, from before the first request can come
 * @conn_qual: its connection qualifier, by which requests find it; 0 while it is
 *	not known which one the kernel has chosen
 */
struct dat_usp {
	struct dat_uobj uobj;
	struct dat_uevd *evd;
	struct list_head node;
	u64 conn_qual;
};

/**
 * struct dat_ucr - a connection request
 * @uobj: head
 * @ep: handle of the EP that came with it and that the process did not make; 0
 *	if there is none
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

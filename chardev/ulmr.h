/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ulmr.h - LMRs of processes
 */
#ifndef _CHARDEV_ULMR_H
#define _CHARDEV_ULMR_H

#include "file.h"
#include "pin.h"

/**
 * struct dat_ulmr - an LMR
 * @uobj: head
 * @pin: its memory
 * @pz: handle of its PZ
 * @context: its lmr_context
 * @privileges: what it may be used for
 * @address: where it begins
 * @length: bytes
 */
struct dat_ulmr {
	struct dat_uobj uobj;
	struct dat_pin pin;
	u32 pz;
	u32 context;
	u32 privileges;
	u64 address;
	u64 length;
};

static inline struct dat_ulmr *to_ulmr(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_ulmr, uobj);
}

DAT_RETURN dat_ulmr_check(struct dat_uep *ep, const DAT_LMR_TRIPLET *segment,
			  DAT_MEM_PRIV_FLAGS privilege, DAT_RETURN_SUBTYPE arg);

#endif /* _CHARDEV_ULMR_H */

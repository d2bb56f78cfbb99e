/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * pz.h - protection zones
 *
 * Declares struct dat_pz, which pz.c owns. LMRs, RMRs and EPs use its PD.
 */
#ifndef _KDAPL_PZ_H
#define _KDAPL_PZ_H

#include <rdma/ib_verbs.h>

#include "base/object.h"
#include "mem/regqp.h"

/**
 * struct dat_pz - a protection zone
 * @obj: head
 * @pd: its protection domain
 * @reg: registers the memory of its LMRs
 */
struct dat_pz {
	struct dat_object obj;
	struct ib_pd *pd;
	struct dat_regqp reg;
};

static inline struct dat_pz *to_pz(struct dat_object *obj)
{
	return container_of(obj, struct dat_pz, obj);
}

#endif /* _KDAPL_PZ_H */

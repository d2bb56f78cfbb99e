/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * calls.h - kdapl's implementation of the DAT calls on RDMA devices
 *
 * kdapl_NAME() has the type of dat_NAME(). Consumers call dat_NAME() in api/.
 * dat_NAME() calls kdapl_NAME() first. If kdapl has no such handle, dat_NAME() calls
 * the provider of another module. The kernel-doc of kdapl_NAME() is that of dat_NAME().
 */
#ifndef _KDAPL_CALLS_H
#define _KDAPL_CALLS_H

#include "base/error.h"

#define DAT_DECLARE(name, ...)	extern __typeof__(dat_##name) kdapl_##name;

#define DAT_CALL_ANY	DAT_DECLARE
#define DAT_CALL	DAT_DECLARE
#define DAT_QUERY	DAT_DECLARE
#define DAT_CREATE	DAT_DECLARE
#define DAT_FREE	DAT_DECLARE
#include "base/calls.def"

/* The calls that api/ defines by hand. */
DAT_DECLARE(evd_dequeue)
DAT_DECLARE(evd_kcreate)
DAT_DECLARE(evd_modify_upcall)
DAT_DECLARE(evd_query)
DAT_DECLARE(ia_close)
DAT_DECLARE(ia_openv)
DAT_DECLARE(ia_query)
DAT_DECLARE(rmr_bind_1_2)

#undef DAT_DECLARE

#endif /* _KDAPL_CALLS_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * udat.h - DAT 2.0 for tests that are written for DAT 1.2
 *
 * The same sources then test the provider of libdat2.
 */
#ifndef SELFTESTS_DAT2_UDAT_H
#define SELFTESTS_DAT2_UDAT_H

#include <netinet/in.h>
#include <stdint.h>

#include <dat2/udat.h>

/* libdat2 looks behind a handle, so that one that is none may cost the process. */
#define HANDLES_ARE_POINTERS	1

/* An IA has a number from libdat2, and what a query tells is its provider's. */
#define TOLD_IA(ia)		form_2_told_ia(ia)

DAT_IA_HANDLE form_2_told_ia(DAT_IA_HANDLE ia);

/* A field of DAT_RMR_TRIPLET */
#define target_address	virtual_address

#define dat_cr_reject		form_1_2_cr_reject
#define dat_lmr_create		form_1_2_lmr_create
#define dat_rmr_bind		form_1_2_rmr_bind

DAT_RETURN form_1_2_cr_reject(DAT_CR_HANDLE cr);
DAT_RETURN form_1_2_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
			       DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			       DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			       DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			       DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
			       DAT_VADDR *address);
DAT_RETURN form_1_2_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			     DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
			     DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			     DAT_RMR_CONTEXT *context);

#endif /* SELFTESTS_DAT2_UDAT_H */

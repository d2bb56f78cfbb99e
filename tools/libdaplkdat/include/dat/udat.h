/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * udat.h - DAT 2.0, as the sources of libdat see it
 *
 * They are written for DAT 1.2. Its names nearly all mean the same in DAT 2.0,
 * with other numbers; where a call or a structure has got another form, this
 * header keeps the old one, and the new one is called dat2_* or DAT2_*.
 */
#ifndef LIBDAPLKDAT_DAT_UDAT_H
#define LIBDAPLKDAT_DAT_UDAT_H

#include <netinet/in.h>
#include <stdint.h>

#define dat_cno_query		dat2_cno_query
#define dat_cr_reject		dat2_cr_reject
#define dat_lmr_create		dat2_lmr_create
#define dat_rmr_bind		dat2_rmr_bind
#define DAT_CNO_PARAM		DAT2_CNO_PARAM

#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>

#undef dat_cno_query
#undef dat_cr_reject
#undef dat_lmr_create
#undef dat_rmr_bind
#undef DAT_CNO_PARAM

/* What a provider returns */
#define DAT_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

/* A field of DAT_RMR_TRIPLET */
#define target_address		virtual_address

/* What only libdat has: nobody can ask for it here. */
#define DAT_MEM_TYPE_SO_VIRTUAL		(DAT_MEM_TYPE_SHARED_VIRTUAL + 1)
#define DAT_MEM_PRIV_RO_DISABLE_FLAG	0

typedef struct {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
} DAT_CNO_PARAM;

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle,
			 DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param);
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle);
DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description,
			  DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			  DAT_MEM_PRIV_FLAGS mem_privileges,
			  DAT_LMR_HANDLE *lmr_handle,
			  DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context,
			  DAT_VLEN *registered_size,
			  DAT_VADDR *registered_address);
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
			const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges,
			DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context);

#endif /* LIBDAPLKDAT_DAT_UDAT_H */

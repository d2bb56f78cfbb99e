/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fail_nth_pair.h - shared steps of the fault sessions: a pair of EPs
 */
#ifndef SELFTESTS_FAIL_NTH_PAIR_H
#define SELFTESTS_FAIL_NTH_PAIR_H

#include "fail_nth_engine.h"
#include <dat/dat_ib_extensions.h>

#include "base/error.h"
#include "kpair.h"

#define REGION		(8 * PAGE_SIZE)
#define QLEN		16
#define TIMEOUT		(20 * HZ)

/* Both sides use one PZ. */
extern struct kpair p;
/* Memory of the sides; that of side b has type PLATFORM. */
extern struct kregion a, b;
/* The last request that arrived. */
extern DAT_CR_HANDLE cr;
extern DAT_IA_ATTR ia_attr;

DAT_RETURN ia_open(void);
bool account_is_settled(void);
DAT_RETURN ia_query(void);
DAT_RETURN pz_create(void);
DAT_RETURN evd_create(DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN dto_evd_create(void);
DAT_RETURN conn_evd_create(void);
DAT_RETURN other_evds(void);
DAT_RETURN psp_create(void);
DAT_RETURN lmr_create(struct kregion *region, DAT_MEM_TYPE type,
		      DAT_REGION_DESCRIPTION desc, DAT_VLEN length,
		      DAT_MEM_PRIV_FLAGS privileges);
DAT_RETURN lmr_create_virtual(void);
DAT_RETURN lmr_create_platform(void);
DAT_RETURN side_ep(struct kside *side);
DAT_RETURN ep_create(void);
DAT_RETURN other_ep(void);
/* Open and close all of the above except EPs. */
DAT_RETURN open_all(void);
DAT_RETURN close_all(void);

DAT_RETURN connect_a(void);
bool event_comes(DAT_EVD_HANDLE evd);
bool event_comes_to_a(void);
bool request_or_event_comes(void);
bool accept_ends(void);
DAT_RETURN wait_cr(void);
DAT_RETURN cr_accept(void);
DAT_RETURN cr_reject(void);
DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
DAT_RETURN established(void);
/* Create two EPs and all objects that connecting them needs. */
DAT_RETURN connect_all(void);
DAT_RETURN rejected(void);
DAT_RETURN disconnected(void);
DAT_RETURN disconnect_gracefully(void);
DAT_RETURN both_disconnected(void);

DAT_RETURN recv_a(void);
DAT_RETURN recv_b(void);
DAT_RETURN send_a(void);
DAT_RETURN completed_a(void);
DAT_RETURN completed_b(void);

void drain(DAT_EVD_HANDLE evd);
/* Reset to no connection, no EPs and no events. */
DAT_RETURN reset(void);

bool survives(const struct step *session, unsigned int num,
	      unsigned int least);

/* The sessions. */
bool basic_calls_survive(void);
bool memory_calls_survive(void);
bool queue_calls_survive(void);
bool connection_calls_survive(void);
bool registry_calls_survive(void);

#endif /* SELFTESTS_FAIL_NTH_PAIR_H */

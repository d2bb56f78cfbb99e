/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * conn.h - shared declarations of the connection tests
 */
#ifndef SELFTESTS_CONN_H
#define SELFTESTS_CONN_H

#include <linux/in.h>
#include <linux/net.h>

#include "kpair.h"
#include "report.h"

/* A handle that was never allocated. */
#define FORGED	((DAT_HANDLE)0x123456789abcULL)

extern struct kpair pair;
extern DAT_IA_ADDRESS_PTR address;
/* Memory in the PZ of side a and in the PZ of side b. */
extern struct kregion a, b;

DAT_EVENT_NUMBER no_listener(void);
DAT_EP_STATE state_of(DAT_EP_HANDLE ep);
bool becomes(DAT_EP_HANDLE ep, DAT_EP_STATE state);
DAT_EP_HANDLE new_ep(const struct kside *side);
DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual,
		      DAT_TIMEOUT timeout);
DAT_CR_HANDLE request(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual);
bool both_established(void);
bool talks(DAT_EP_HANDLE from, DAT_EP_HANDLE to);
bool wait_connection(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
		     const void *data, DAT_COUNT size);
bool fresh(void);
bool connected(void);
bool is_empty(DAT_EVD_HANDLE evd);

/* conn_sp.c */
bool psp_create_any_free_qualifier(void);
bool psp_provider_creates_eps(void);
bool cr_reject_frees_provider_ep(void);
bool rsp_single_request(void);
bool rsp_free_releases_ep(void);
bool rsp_provider_ep(void);
bool csp_ipv4(void);
bool csp_ipv6(void);
bool handoff_to_psp_and_rsp(void);
bool handoff_to_other_ia(void);
bool ia_close_with_pending_requests(void);
bool sp_bad_arguments(void);

/* conn_ep.c */
bool ep_modify_pz(void);
bool ep_modify_evds(void);
bool ep_modify_attributes(void);
bool ep_modify_bad_arguments(void);
bool ep_modify_with_posted_receives(void);
bool ep_reset_and_reconnect(void);
bool ep_reset_flushes_receives(void);
bool dup_connect_same_service_point(void);
bool ep_free_in_established_upcall(void);

/* conn_dup.c */
bool dup_connect_remote_port(void);
bool dup_connect_established(void);
bool dup_connect_times_out(void);
bool dup_connect_non_peer_rejected(void);
bool dup_connect_after_handoff(void);
bool dup_connect_no_free_port(void);

/* conn_query.c */
bool get_ports(char *range, size_t size);
bool set_ports(const char *range);
bool sp_cr_query_every_mask(void);
bool sp_cr_query_bad_arguments(void);
bool rsp_free_stops_listening(void);
bool rsp_free_races_request(void);
bool psp_create_any_used_port(void);
bool sp_create_without_address(void);
bool wide_qualifiers(void);
bool consecutive_qualifiers(void);

#endif /* SELFTESTS_CONN_H */

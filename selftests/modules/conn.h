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
bool psp_create_any_picks_a_free_qualifier(void);
bool provider_makes_the_ep_of_each_request(void);
bool providers_ep_goes_with_the_rejected_request(void);
bool rsp_takes_one_request(void);
bool rsp_gives_its_ep_back(void);
bool rsp_with_an_ep_of_the_providers(void);
bool csp_listens_as_a_socket(void);
bool csp_and_ipv6(void);
bool handoff_to_another_service_point(void);
bool handoff_to_another_ia(void);
bool ia_can_be_closed_with_all_of_them(void);
bool service_points_refuse_what_is_wrong(void);

/* conn_ep.c */
bool modify_of_the_pz(void);
bool modify_of_the_evds(void);
bool modify_of_the_attributes(void);
bool modify_refuses_what_is_wrong(void);
bool modify_leaves_receives_alone(void);
bool reset_makes_it_fit_for_another_connection(void);
bool reset_flushes_what_was_posted(void);
bool dup_connect_goes_to_the_same_place(void);

/* conn_dup.c */
bool dup_request_names_its_sender(void);
bool dup_request_that_is_accepted_is_told(void);
bool dup_request_that_nobody_answers_times_out(void);
bool dup_request_finds_no_room_or_nobody(void);
bool dup_request_goes_the_same_way(void);
bool dup_request_without_a_port_lacks_resources(void);

/* conn_query.c */
bool get_ports(char *range, size_t size);
bool set_ports(const char *range);
bool queries_tell_each_parameter_that_is_asked_for(void);
bool queries_refuse_what_is_wrong(void);
bool rsp_that_has_gone_listens_no_more(void);
bool request_on_its_way_when_its_rsp_goes_is_told_or_refused(void);
bool qualifiers_in_use_are_not_given_away(void);
bool service_points_without_an_address_lack_resources(void);

#endif /* SELFTESTS_CONN_H */

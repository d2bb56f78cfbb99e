/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ep_state.h - shared declarations of the tests of EP states
 */
#ifndef SELFTESTS_EP_STATE_H
#define SELFTESTS_EP_STATE_H

#include "kpair.h"

/* The tested EP, and the address of its peer. */
extern DAT_EP_HANDLE ep;
extern DAT_IA_ADDRESS_PTR address;

bool enter_state(DAT_EP_STATE state);

/* ep_state_more.c */
DAT_RETURN modify_each_attribute(void);
DAT_RETURN modify_each_specific(void);
DAT_RETURN recv_query(void);
DAT_RETURN set_watermark(void);
bool ep_query_peer_address(void);

#endif /* SELFTESTS_EP_STATE_H */

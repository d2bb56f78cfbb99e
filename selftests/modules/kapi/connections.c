// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * connections.c - kdapl_fuzz.ko: calls that connect EPs, of service points and of requests
 *
 * An address takes the arguments 1 and 2: a struct sockaddr_in. More arguments follow, so a
 * longer address is still memory of the call.
 */
#include <linux/socket.h>

#include "fuzz.h"

static DAT_IA_ADDRESS_PTR address(struct kapi *k)
{
	return (struct sockaddr *)&k->c.arg[1];
}

DAT_RETURN kapi_ep_connect(struct kapi *k)
{
	return dat_ep_connect(HANDLE(0), PTR(0, address(k)), ARG(3), ARG(4), ARG(5), kapi_arena(),
			      ARG(6), ARG(7));
}

DAT_RETURN kapi_ep_common_connect(struct kapi *k)
{
	return dat_ep_common_connect(HANDLE(0), PTR(0, address(k)), ARG(4), ARG(5), kapi_arena());
}

DAT_RETURN kapi_ep_dup_connect(struct kapi *k)
{
	return dat_ep_dup_connect(HANDLE(0), HANDLE(1), ARG(4), ARG(5), kapi_arena(), ARG(6));
}

DAT_RETURN kapi_psp_create(struct kapi *k)
{
	DAT_PSP_HANDLE psp = NULL;
	DAT_RETURN ret;

	ret = dat_psp_create(HANDLE(0), ARG(1), HANDLE(2), ARG(3), PTR(0, &psp));
	k->c.out[1] = ARG(1);
	return kapi_made(k, ret, &psp);
}

DAT_RETURN kapi_psp_create_any(struct kapi *k)
{
	DAT_PSP_HANDLE psp = NULL;
	DAT_CONN_QUAL qual = 0;
	DAT_RETURN ret;

	ret = dat_psp_create_any(HANDLE(0), PTR(0, &qual), HANDLE(2), ARG(3), PTR(1, &psp));
	k->c.out[1] = qual;
	return kapi_made(k, ret, &psp);
}

DAT_RETURN kapi_psp_query(struct kapi *k)
{
	return dat_psp_query(HANDLE(0), ARG(1), PTR(0, &k->u.psp_param));
}

DAT_RETURN kapi_psp_free(struct kapi *k)
{
	return dat_psp_free(HANDLE(0));
}

DAT_RETURN kapi_rsp_create(struct kapi *k)
{
	DAT_RSP_HANDLE rsp = NULL;
	DAT_RETURN ret;

	ret = dat_rsp_create(HANDLE(0), ARG(1), HANDLE(3), HANDLE(2), PTR(0, &rsp));
	k->c.out[1] = ARG(1);
	return kapi_made(k, ret, &rsp);
}

DAT_RETURN kapi_rsp_query(struct kapi *k)
{
	return dat_rsp_query(HANDLE(0), ARG(1), PTR(0, &k->u.rsp_param));
}

DAT_RETURN kapi_rsp_free(struct kapi *k)
{
	return dat_rsp_free(HANDLE(0));
}

DAT_RETURN kapi_csp_create(struct kapi *k)
{
	DAT_COMM comm = { ARG(4), ARG(5), ARG(6) };
	DAT_CSP_HANDLE csp = NULL;
	DAT_RETURN ret;

	ret = dat_csp_create(HANDLE(0), PTR(0, &comm), PTR(1, address(k)), HANDLE(3),
			     PTR(2, &csp));
	k->c.out[1] = be16_to_cpu(((__be16 *)&k->c.arg[1])[1]);
	return kapi_made(k, ret, &csp);
}

DAT_RETURN kapi_csp_query(struct kapi *k)
{
	return dat_csp_query(HANDLE(0), ARG(1), PTR(0, &k->u.csp_param));
}

DAT_RETURN kapi_csp_free(struct kapi *k)
{
	return dat_csp_free(HANDLE(0));
}

DAT_RETURN kapi_cr_query(struct kapi *k)
{
	DAT_RETURN ret = dat_cr_query(HANDLE(0), ARG(1), PTR(0, &k->u.cr_param));

	/* An EP that kdapl has created */
	if (!ret)
		k->c.out[1] = (uintptr_t)k->u.cr_param.local_ep_handle;
	return ret;
}

DAT_RETURN kapi_cr_accept(struct kapi *k)
{
	return dat_cr_accept(HANDLE(0), HANDLE(1), ARG(2), kapi_arena());
}

DAT_RETURN kapi_cr_reject(struct kapi *k)
{
	return dat_cr_reject(HANDLE(0), ARG(1), kapi_arena());
}

DAT_RETURN kapi_cr_reject_no_room(struct kapi *k)
{
	return dat_cr_reject_no_room(HANDLE(0));
}

DAT_RETURN kapi_cr_handoff(struct kapi *k)
{
	return dat_cr_handoff(HANDLE(0), ARG(1));
}

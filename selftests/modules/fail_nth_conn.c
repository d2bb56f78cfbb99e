// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_conn.c - fault session with every way to connect, and EPs that change
 */
#include <linux/in.h>
#include <linux/net.h>
#include <linux/string.h>

#include "fail_nth_pair.h"

#define QUAL	(KPAIR_QUAL + 1)

static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL psp_qual;
static DAT_RSP_HANDLE rsp;
static DAT_CSP_HANDLE csp;
/* A second EP beside that of side a. */
static DAT_EP_HANDLE dup;

/*
 * Service points
 */

/* Creates a PSP that creates an EP for each request. */
static DAT_RETURN psp_create_any(void)
{
	return dat_psp_create_any(p.ia, &psp_qual, p.cr_evd,
				  DAT_PSP_PROVIDER_FLAG, &psp);
}

static void undo_psp_create_any(void)
{
	MUST(dat_psp_free(psp));
}

static DAT_RETURN psp_query(void)
{
	DAT_PSP_PARAM param;

	return dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param);
}

/* Creates an RSP whose EP the provider creates. */
static DAT_RETURN rsp_create(void)
{
	return dat_rsp_create(p.ia, QUAL, DAT_HANDLE_NULL, p.cr_evd, &rsp);
}

static void undo_rsp_create(void)
{
	MUST(dat_rsp_free(rsp));
}

static DAT_RETURN rsp_query(void)
{
	DAT_RSP_PARAM param;

	return dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param);
}

static DAT_RETURN rsp_free(void)
{
	return dat_rsp_free(rsp);
}

static void undo_rsp_free(void)
{
	MUST(rsp_create());
}

static DAT_EP_STATE state_of(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONFIGURED_UNCONNECTED;

	MUST(dat_ep_get_status(ep, &state, NULL, NULL));
	return state;
}

static DAT_RETURN rsp_create_with_ep(void)
{
	DAT_RETURN ret = dat_rsp_create(p.ia, QUAL, p.b.ep, p.cr_evd, &rsp);

	must_be(state_of(p.b.ep) == (ret ? DAT_EP_STATE_UNCONNECTED :
					   DAT_EP_STATE_RESERVED),
		"an EP is reserved if the call says so");
	return ret;
}

static void undo_rsp_create_with_ep(void)
{
	MUST(dat_rsp_free(rsp));
}

static DAT_RETURN rsp_free_with_ep(void)
{
	return dat_rsp_free(rsp);
}

static void undo_rsp_free_with_ep(void)
{
	MUST(rsp_create_with_ep());
}

/* Creates a CSP on any port. */
static DAT_RETURN csp_create(void)
{
	struct sockaddr_in sin = *(struct sockaddr_in *)ia_attr.ia_address_ptr;
	DAT_COMM comm = { AF_INET, SOCK_STREAM, 0 };

	sin.sin_port = 0;
	return dat_csp_create(p.ia, &comm, (DAT_IA_ADDRESS_PTR)&sin, p.cr_evd,
			      &csp);
}

static void undo_csp_create(void)
{
	MUST(dat_csp_free(csp));
}

static DAT_RETURN csp_query(void)
{
	DAT_CSP_PARAM param;

	return dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param);
}

static DAT_RETURN csp_free(void)
{
	return dat_csp_free(csp);
}

static void undo_csp_free(void)
{
	MUST(csp_create());
}

/*
 * EPs that change
 */

/* Modifies an EP. A failed call must change nothing. */
static DAT_RETURN modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			 const DAT_EP_PARAM *param)
{
	static DAT_EP_PARAM before, after;
	DAT_RETURN ret;

	MUST(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	ret = dat_ep_modify(ep, mask, param);
	MUST(dat_ep_query(ep, DAT_EP_FIELD_ALL, &after));
	must_be(!ret || !memcmp(&before, &after, sizeof(before)),
		"an EP is as it was if the call fails");
	return ret;
}

#define ATTRS	(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | \
		 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
#define EVDS	(DAT_EP_FIELD_RECV_EVD_HANDLE | \
		 DAT_EP_FIELD_REQUEST_EVD_HANDLE)

/* Modifies to a larger QP, then back. */
static DAT_RETURN modify_attr(void)
{
	static const DAT_EP_PARAM param = {
		.ep_attr = { .max_recv_dtos = 300, .max_request_dtos = 300 },
	};

	return modify(p.a.ep, ATTRS, &param);
}

static void undo_modify_attr(void)
{
	static const DAT_EP_PARAM param = {
		.ep_attr = { .max_recv_dtos = 8, .max_request_dtos = 128 },
	};

	MUST(dat_ep_modify(p.a.ep, ATTRS, &param));
}

/* Without EVDs the EP gets EVDs that the consumer does not see. */
static DAT_RETURN modify_evds(void)
{
	static const DAT_EP_PARAM param;

	return modify(p.a.ep, EVDS, &param);
}

static void undo_modify_evds(void)
{
	DAT_EP_PARAM param = {
		.recv_evd_handle = p.a.dto_evd,
		.request_evd_handle = p.a.dto_evd,
	};

	MUST(dat_ep_modify(p.a.ep, EVDS, &param));
}

static DAT_RETURN evds_back(void)
{
	DAT_EP_PARAM param = {
		.recv_evd_handle = p.a.dto_evd,
		.request_evd_handle = p.a.dto_evd,
	};

	return modify(p.a.ep, EVDS, &param);
}

static void undo_evds_back(void)
{
	MUST(modify_evds());
}

static DAT_RETURN rsp_renew(void)
{
	if (is_there(rsp))
		MUST(dat_rsp_free(rsp));
	return rsp_create();
}

/* The EP of the RSP is configured once it has a PZ. */
static DAT_RETURN modify_pz(void)
{
	DAT_EP_PARAM param = { .pz_handle = p.b.pz };
	DAT_RSP_PARAM rsp_param = {};
	DAT_RETURN ret;

	MUST(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param));
	ret = modify(rsp_param.ep_handle, DAT_EP_FIELD_PZ_HANDLE, &param);
	must_be(state_of(rsp_param.ep_handle) ==
		(ret ? DAT_EP_STATE_UNCONFIGURED_RESERVED :
		       DAT_EP_STATE_RESERVED),
		"an EP is configured if the call says so");
	return ret;
}

/*
 * Connections
 */

/* Resets all EPs. A reserved EP can be freed after its request has been answered. */
static DAT_RETURN reset_all(void)
{
	if (is_there(rsp))
		MUST(dat_rsp_free(rsp));
	if (is_there(cr))
		MUST(dat_cr_reject(cr, 0, NULL));
	drain(p.cr_evd);
	if (is_there(dup))
		MUST(dat_ep_free(dup));
	return reset();
}

static DAT_RETURN common_connect(void)
{
	DAT_CSP_PARAM param = {};

	MUST(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	return dat_ep_common_connect(p.a.ep, param.address_ptr,
				     DAT_TIMEOUT_INFINITE, 3, "csp");
}

/* Hands off from the CSP to other service points; all have one EVD. */
static DAT_RETURN cr_handoff(void)
{
	return dat_cr_handoff(cr, KPAIR_QUAL);
}

static DAT_RETURN handoff_to_provider(void)
{
	return dat_cr_handoff(cr, psp_qual);
}

static DAT_RETURN handoff_to_rsp(void)
{
	return dat_cr_handoff(cr, QUAL);
}

static DAT_RETURN connect_to_rsp(void)
{
	return dat_ep_connect(p.a.ep, ia_attr.ia_address_ptr, QUAL,
			      DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Accepts with the EP that was reserved. */
static DAT_RETURN accept_with_ep(void)
{
	return dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL);
}

static DAT_RETURN dup_ep(void)
{
	struct kside side = p.a;
	DAT_RETURN ret = side_ep(&side);

	dup = side.ep;
	return ret;
}

static DAT_RETURN dup_connect(void)
{
	return dat_ep_dup_connect(dup, p.a.ep, DAT_TIMEOUT_INFINITE, 3, "dup",
				  DAT_QOS_BEST_EFFORT);
}

/*
 * Connect again
 */

static DAT_RETURN ep_reset(void)
{
	DAT_RETURN ret = dat_ep_reset(p.a.ep);

	must_be(state_of(p.a.ep) == (ret ? DAT_EP_STATE_DISCONNECTED :
					   DAT_EP_STATE_UNCONNECTED),
		"an EP is UNCONNECTED if the call says so");
	return ret;
}

static DAT_RETURN other_ep_reset(void)
{
	return dat_ep_reset(p.b.ep);
}

static const struct step session[] = {
	QUIET(open_all),
	/* Without memory TCP reports a port in use. iWARP's backlog is long. */
	{ "psp_create_any", psp_create_any, OBJECT, undo_psp_create_any,
	  .loops = true },
	LOOK(psp_query),
	{ "rsp_create", rsp_create, OBJECT, undo_rsp_create,
	  .may_too = DAT_CONN_QUAL_IN_USE, .loops = true },
	LOOK(rsp_query),
	FREE(rsp_free),
	{ "csp_create", csp_create, OBJECT, undo_csp_create, .loops = true },
	LOOK(csp_query),

	BEGIN(reset_all),
	QUIET(ep_create),
	QUIET(other_ep),
	{ "rsp_create_with_ep", rsp_create_with_ep, OBJECT,
	  undo_rsp_create_with_ep, .may_too = DAT_CONN_QUAL_IN_USE,
	  .loops = true },
	FREE(rsp_free_with_ep),
	MAKE_QP(modify_attr),
	MAKE_QP(modify_evds),
	MAKE_QP(evds_back),
	QUIET(rsp_create_with_ep),
	DO(connect_to_rsp, request_or_event_comes),
	QUIET(wait_cr),
	/* siw_qp_readq_init() frees a queue and leaves the pointer: a double free. */
	{ "accept_with_ep", accept_with_ep, DONE, NULL, accept_ends,
	  .spared = SIW },
	QUIET(established),

	BEGIN(reset_all),
	QUIET(rsp_renew),
	{ "modify_pz", modify_pz, DONE, .spared = OLD_RXE },

	BEGIN(reset_all),
	QUIET(ep_create),
	QUIET(other_ep),
	DO(common_connect, request_or_event_comes),
	QUIET(wait_cr),
	DO(cr_handoff, request_or_event_comes),
	QUIET(wait_cr),
	QUIET(cr_accept),
	QUIET(established),
	QUIET(dup_ep),
	DO(dup_connect, request_or_event_comes),
	QUIET(wait_cr),
	QUIET(cr_reject),
	QUIET(rejected),

	BEGIN(reset_all),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(common_connect),
	QUIET(wait_cr),
	DO(handoff_to_provider, request_or_event_comes),
	QUIET(wait_cr),
	QUIET(rsp_create_with_ep),
	DO(handoff_to_rsp, request_or_event_comes),
	QUIET(wait_cr),
	QUIET(accept_with_ep),
	QUIET(established),

	BEGIN(reset_all),
	QUIET(connect_all),
	QUIET(disconnect_gracefully),
	QUIET(both_disconnected),
	{ "ep_reset", ep_reset, DONE, .spared = OLD_RXE },
	QUIET(other_ep_reset),
	QUIET(connect_a),
	QUIET(wait_cr),
	QUIET(cr_accept),
	QUIET(established),

	FREE(csp_free),
	QUIET(close_all),
};

bool connection_calls_survive(void)
{
	rsp = DAT_HANDLE_NULL;
	dup = DAT_HANDLE_NULL;
	return survives(session, ARRAY_SIZE(session), 50);
}

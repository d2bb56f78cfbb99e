// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_state_test.c - every call on an EP in every state of an EP
 *
 * Documentation/ep-states.rst documents the same table.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "ep_state.h"
#include "report.h"

#define QUAL	(KPAIR_QUAL + 1)

static struct kpair pair;
static struct kregion mem;
static DAT_IA_ATTR ia_attr;
static DAT_PZ_HANDLE other_pz;
static DAT_EVD_HANDLE other_dto, other_conn;
static DAT_RMR_HANDLE rmr;

DAT_IA_ADDRESS_PTR address;

/* The tested EP and its peer. */
DAT_EP_HANDLE ep;
static DAT_EP_HANDLE peer;
/* The request of the tested EP, a request of another EP, and its RSP. */
static DAT_CR_HANDLE cr, spare;
static DAT_RSP_HANDLE rsp;

static DAT_EP_STATE state_of(DAT_EP_HANDLE handle)
{
	DAT_EP_STATE state = -1;

	dat_ep_get_status(handle, &state, NULL, NULL);
	return state;
}

static bool becomes(DAT_EP_HANDLE handle, DAT_EP_STATE state)
{
	unsigned long deadline = jiffies + 20 * HZ;

	while (state_of(handle) != state && time_before(jiffies, deadline))
		usleep_range(100, 200);
	return state_of(handle) == state;
}

static DAT_EP_HANDLE new_ep(const struct kside *side)
{
	DAT_EP_HANDLE handle = DAT_HANDLE_NULL;

	dat_ep_create(pair.ia, side->pz, side->dto_evd, side->dto_evd,
		      side->conn_evd, NULL, &handle);
	return handle;
}

static DAT_RETURN connect_to(DAT_EP_HANDLE handle, DAT_CONN_QUAL qual)
{
	return dat_ep_connect(handle, address, qual, DAT_TIMEOUT_INFINITE, 0,
			      NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

/* Distinguishes a request from requests of EPs that have been freed meanwhile. */
static u32 tag;

static DAT_RETURN ask(DAT_EP_HANDLE handle, DAT_CONN_QUAL qual)
{
	tag++;
	return dat_ep_connect(handle, address, qual, DAT_TIMEOUT_INFINITE,
			      sizeof(tag), &tag, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static bool next_request(DAT_CR_HANDLE *handle)
{
	DAT_CR_PARAM param;
	DAT_EVENT event;

	while (kwait_event(pair.cr_evd, &event)) {
		*handle = event.event_data.cr_arrival_event_data.cr_handle;
		if (!dat_cr_query(*handle, DAT_CR_FIELD_ALL, &param) &&
		    param.private_data_size >= sizeof(tag) &&
		    !memcmp(param.private_data, &tag, sizeof(tag)))
			return true;
		dat_cr_reject(*handle, 0, NULL);
	}
	*handle = DAT_HANDLE_NULL;
	return false;
}

/*
 * A peer that requests a connection and never completes it, which no DAT consumer can
 * do. An EP that accepts its request stays COMPLETION_PENDING.
 */
static struct mute {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct completion step;
} mute;

static int mute_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	complete(&mute.step);
	return 0;
}

static void mute_close(void)
{
	if (mute.id)
		rdma_destroy_id(mute.id);
	if (mute.qp)
		ib_destroy_qp(mute.qp);
	if (mute.cq)
		ib_destroy_cq(mute.cq);
	if (mute.pd)
		ib_dealloc_pd(mute.pd);
	memset(&mute, 0, sizeof(mute));
}

static bool step(void)
{
	return wait_for_completion_timeout(&mute.step, 5 * HZ);
}

static bool mute_qp(void)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 8 };
	struct ib_qp_init_attr attr = {
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IB_QPT_RC,
	};

	mute.pd = ib_alloc_pd(mute.id->device, 0);
	if (IS_ERR(mute.pd)) {
		mute.pd = NULL;
		return false;
	}
	mute.cq = ib_create_cq(mute.id->device, NULL, NULL, NULL, &cq_attr);
	if (IS_ERR(mute.cq)) {
		mute.cq = NULL;
		return false;
	}
	attr.send_cq = mute.cq;
	attr.recv_cq = mute.cq;
	mute.qp = ib_create_qp(mute.pd, &attr);
	if (IS_ERR(mute.qp))
		mute.qp = NULL;
	return mute.qp;
}

static bool mute_connects(DAT_CONN_QUAL qual)
{
	struct sockaddr_storage dst = {};
	struct rdma_conn_param param = { .retry_count = 1 };

	init_completion(&mute.step);
	memcpy(&dst, address, sizeof(struct sockaddr_in));
	((struct sockaddr_in *)&dst)->sin_port = htons(qual);
	mute.id = rdma_create_id(&init_net, mute_handler, NULL, RDMA_PS_TCP,
				 IB_QPT_RC);
	if (IS_ERR(mute.id)) {
		mute.id = NULL;
		return false;
	}
	if (rdma_resolve_addr(mute.id, NULL, (struct sockaddr *)&dst, 2000) ||
	    !step() || rdma_resolve_route(mute.id, 2000) || !step() ||
	    !mute_qp())
		return false;
	param.qp_num = mute.qp->qp_num;
	tag++;
	param.private_data = &tag;
	param.private_data_len = sizeof(tag);
	return !rdma_connect(mute.id, &param);
}

/* Functions that bring an EP into each state, starting without an EP. */

static bool unconnected(void)
{
	ep = new_ep(&pair.a);
	return ep;
}

static bool reserved(void)
{
	return unconnected() &&
	       !dat_rsp_create(pair.ia, QUAL, ep, pair.cr_evd, &rsp);
}

static bool unconf_reserved(void)
{
	DAT_RSP_PARAM param;

	if (dat_rsp_create(pair.ia, QUAL, DAT_HANDLE_NULL, pair.cr_evd,
			   &rsp) ||
	    dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param))
		return false;
	ep = param.ep_handle;
	return true;
}

static bool request_to(DAT_CONN_QUAL qual)
{
	peer = new_ep(&pair.b);
	return !ask(peer, qual) && next_request(&cr);
}

static bool passive(void)
{
	return reserved() && request_to(QUAL);
}

static bool unconf_passive(void)
{
	return unconf_reserved() && request_to(QUAL);
}

static bool unconf_tentative(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM param;
	bool ok;

	if (dat_psp_create_any(pair.ia, &qual, pair.cr_evd,
			       DAT_PSP_PROVIDER_FLAG, &psp))
		return false;
	ok = request_to(qual) && !dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	dat_psp_free(psp);
	ep = param.local_ep_handle;
	return ok;
}

static bool tentative(void)
{
	DAT_EP_PARAM param = { .pz_handle = pair.a.pz };

	return unconf_tentative() &&
	       !dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param);
}

static bool active(void)
{
	return unconnected() && !ask(ep, KPAIR_QUAL) && next_request(&cr);
}

static bool completion_pending(void)
{
	return unconnected() && mute_connects(KPAIR_QUAL) &&
	       next_request(&cr) && !dat_cr_accept(cr, ep, 0, NULL);
}

static bool connected(void)
{
	if (!active())
		return false;
	peer = new_ep(&pair.b);
	return !dat_cr_accept(cr, peer, 0, NULL) &&
	       becomes(ep, DAT_EP_STATE_CONNECTED) &&
	       becomes(peer, DAT_EP_STATE_CONNECTED);
}

/* A message without a receive delays a graceful disconnect. */
static bool disconnect_pending(void)
{
	return connected() && !kpost_send(ep, &mem, 0, 8, 1) &&
	       !dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static bool disconnected(void)
{
	return connected() && !dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
}

static void drain(DAT_EVD_HANDLE evd)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_EVENT event;

	arrival = &event.event_data.cr_arrival_event_data;
	while (!dat_evd_dequeue(evd, &event))
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			dat_cr_reject(arrival->cr_handle, 0, NULL);
}

static void none(void)
{
	dat_rsp_free(rsp);
	dat_cr_reject(cr, 0, NULL);
	dat_ep_free(ep);
	dat_ep_free(peer);
	mute_close();
	drain(pair.cr_evd);
	drain(pair.a.conn_evd);
	drain(pair.b.conn_evd);
	drain(pair.a.dto_evd);
	drain(pair.b.dto_evd);
	drain(other_conn);
	rsp = DAT_HANDLE_NULL;
	cr = DAT_HANDLE_NULL;
	ep = DAT_HANDLE_NULL;
	peer = DAT_HANDLE_NULL;
}

static const struct {
	DAT_EP_STATE state;
	DAT_RETURN_SUBTYPE subtype;
	const char *name;
	bool (*enter)(void);
} states[] = {
#define STATE(state, subtype, enter)				\
	{ DAT_EP_STATE_##state, DAT_INVALID_STATE_EP_##subtype,	\
	  #state, enter }
	STATE(UNCONNECTED, UNCONNECTED, unconnected),
	STATE(RESERVED, RESERVED, reserved),
	STATE(UNCONFIGURED_RESERVED, UNCONFRESERVED, unconf_reserved),
	STATE(PASSIVE_CONNECTION_PENDING, PASSCONNPENDING, passive),
	STATE(UNCONFIGURED_PASSIVE, UNCONFPASSIVE, unconf_passive),
	STATE(TENTATIVE_CONNECTION_PENDING, TENTCONNPENDING, tentative),
	STATE(UNCONFIGURED_TENTATIVE, UNCONFTENTATIVE, unconf_tentative),
	STATE(ACTIVE_CONNECTION_PENDING, ACTCONNPENDING, active),
	STATE(COMPLETION_PENDING, COMPLPENDING, completion_pending),
	STATE(CONNECTED, CONNECTED, connected),
	STATE(DISCONNECT_PENDING, DISCPENDING, disconnect_pending),
	STATE(DISCONNECTED, DISCONNECTED, disconnected),
};

/* The tested calls. */

static DAT_RETURN query(void)
{
	DAT_EP_PARAM param;
	DAT_RETURN ret = dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);

	return ret ?: param.ep_state == state_of(ep) ? DAT_SUCCESS : 1;
}

static DAT_RETURN get_status(void)
{
	DAT_BOOLEAN recv, request;
	DAT_EP_STATE state;

	return dat_ep_get_status(ep, &state, &recv, &request);
}

static DAT_RETURN modify(DAT_EP_PARAM_MASK mask)
{
	const DAT_EP_PARAM param = {
		.pz_handle = other_pz,
		.recv_evd_handle = other_dto,
		.request_evd_handle = other_dto,
		.connect_evd_handle = other_conn,
		.ep_attr = { .max_recv_dtos = 9, .max_message_size = 1000 },
	};

	return dat_ep_modify(ep, mask, &param);
}

static DAT_RETURN modify_pz(void)
{
	return modify(DAT_EP_FIELD_PZ_HANDLE);
}

static DAT_RETURN modify_recv_evd(void)
{
	return modify(DAT_EP_FIELD_RECV_EVD_HANDLE);
}

static DAT_RETURN modify_request_evd(void)
{
	return modify(DAT_EP_FIELD_REQUEST_EVD_HANDLE);
}

static DAT_RETURN modify_connect_evd(void)
{
	return modify(DAT_EP_FIELD_CONNECT_EVD_HANDLE);
}

static DAT_RETURN modify_queues(void)
{
	return modify(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS);
}

static DAT_RETURN modify_sizes(void)
{
	return modify(DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE);
}

static DAT_RETURN modify_specific(void)
{
	return modify(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR);
}

static DAT_RETURN modify_ia(void)
{
	return modify(DAT_EP_FIELD_IA_HANDLE);
}

static DAT_RETURN connect(void)
{
	return connect_to(ep, KPAIR_QUAL);
}

static DAT_RETURN common_connect(void)
{
	struct sockaddr_in sin = *(struct sockaddr_in *)address;

	sin.sin_port = htons(KPAIR_QUAL);
	return dat_ep_common_connect(ep, (DAT_IA_ADDRESS_PTR)&sin,
				     DAT_TIMEOUT_INFINITE, 0, NULL);
}

static DAT_RETURN dup_connect(void)
{
	return dat_ep_dup_connect(ep, pair.a.ep, DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN dup_of_it(void)
{
	DAT_EP_HANDLE dup = new_ep(&pair.a);
	DAT_RETURN ret;

	ret = dat_ep_dup_connect(dup, ep, DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT);
	dat_ep_free(dup);
	return ret;
}

static DAT_RETURN accept(void)
{
	return dat_cr_accept(spare, ep, 0, NULL);
}

/* Accepts the request that the EP is for. */
static DAT_RETURN accept_own(void)
{
	return dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL);
}

static DAT_RETURN reserve(void)
{
	DAT_RSP_HANDLE handle;
	DAT_RETURN ret;

	ret = dat_rsp_create(pair.ia, QUAL + 1, ep, pair.cr_evd, &handle);
	if (!ret)
		dat_rsp_free(handle);
	return ret;
}

static DAT_RETURN disconnect_abruptly(void)
{
	return dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN disconnect_gracefully(void)
{
	return dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN post_recv(void)
{
	DAT_DTO_COOKIE cookie = {};

	return dat_ep_post_recv(ep, 0, NULL, cookie, 0);
}

static DAT_RETURN post_send(void)
{
	DAT_DTO_COOKIE cookie = {};

	return dat_ep_post_send(ep, 0, NULL, cookie, 0);
}

static DAT_RETURN post_rdma_write(void)
{
	DAT_DTO_COOKIE cookie = {};
	DAT_RMR_TRIPLET remote = {};

	return dat_ep_post_rdma_write(ep, 0, NULL, cookie, &remote, 0);
}

static DAT_RETURN post_rdma_read(void)
{
	DAT_DTO_COOKIE cookie = {};
	DAT_RMR_TRIPLET remote = {};

	return dat_ep_post_rdma_read(ep, 0, NULL, cookie, &remote, 0);
}

/* A zero-length bind is an unbind. */
static DAT_RETURN bind(void)
{
	DAT_RMR_CONTEXT context;

	return kbind(rmr, &mem, 0, 0, 0, ep, 1, 0, &context);
}

static DAT_RETURN reset(void)
{
	return dat_ep_reset(ep);
}

static DAT_RETURN free_ep(void)
{
	return dat_ep_free(ep);
}

/*
 * Results that the manual pages allow: one character for each state above, in that
 * order. '+' succeeds, '.' is DAT_INVALID_STATE with the state as subtype, '#' is
 * DAT_INVALID_PARAMETER, 'h' is DAT_INVALID_HANDLE, '?' is not tested.
 */
static const struct {
	const char *name;
	DAT_RETURN (*fn)(void);
	const char *in;
} calls[] = {
	/*				   URuPpTtACCDD */
	/*					  OOIS */
	{ "ep_query",		query,			"++++++++++++" },
	{ "ep_get_status",	get_status,		"++++++++++++" },
	{ "ep_modify: PZ",	modify_pz,		"+.+.+++....." },
	{ "ep_modify: recv EVD", modify_recv_evd,	"+++++++....." },
	{ "ep_modify: request EVD", modify_request_evd,	"+++++++....." },
	{ "ep_modify: connect EVD", modify_connect_evd,	"+++++++....." },
	{ "ep_modify: queues",	modify_queues,		"+++++++....." },
	{ "ep_modify: sizes",	modify_sizes,		"+++++++....." },
	{ "ep_modify: specific", modify_specific,	"+..........." },
	{ "ep_modify: IA",	modify_ia,		"############" },
	{ "ep_modify: each attribute", modify_each_attribute,
							"+++++++....." },
	{ "ep_modify: each specific", modify_each_specific,
							"+..........." },
	{ "ep_connect",		connect,		"+..........." },
	{ "ep_common_connect",	common_connect,		"+..........." },
	{ "ep_dup_connect",	dup_connect,		"+..........." },
	{ "ep_dup_connect: of it", dup_of_it,		".........+.." },
	{ "cr_accept",		accept,			"+..........." },
	{ "cr_accept: its own",	accept_own,		"hhh+.+.hhhhh" },
	{ "rsp_create",		reserve,		"+..........." },
	{ "ep_disconnect: abrupt", disconnect_abruptly,	".......+++++" },
	{ "ep_disconnect: graceful", disconnect_gracefully,
							".......+++++" },
	{ "ep_post_recv",	post_recv,		"++.+.+.+++++" },
	{ "ep_post_send",	post_send,		".........+.+" },
	{ "ep_post_rdma_write",	post_rdma_write,	".........+.+" },
	{ "ep_post_rdma_read",	post_rdma_read,		".........+.+" },
	{ "rmr_bind",		bind,			".........+.+" },
	{ "ep_set_watermark",	set_watermark,		"++++++++++++" },
	{ "ep_recv_query",	recv_query,		"++++++++++++" },
	{ "ep_reset",		reset,			"+..........+" },
	{ "ep_free",		free_ep,		"+......+++++" },
};

static bool is_as_expected(DAT_RETURN ret, char expected, unsigned int s)
{
	switch (expected) {
	case '+':
		return !ret;
	case '.':
		return ret == DAT_ERROR(DAT_INVALID_STATE, states[s].subtype);
	case '#':
		return DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER;
	case 'h':
		return DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE;
	default:
		return false;
	}
}

/* siw lacks these states: accepting connects immediately, and no Send waits. */
static bool is_reachable(unsigned int s)
{
	return !kpair_is_siw() ||
	       (states[s].state != DAT_EP_STATE_COMPLETION_PENDING &&
		states[s].state != DAT_EP_STATE_DISCONNECT_PENDING);
}

static bool enter(unsigned int s)
{
	none();
	if (states[s].enter() && becomes(ep, states[s].state))
		return true;
	report("# %s is not reached, but %d\n", states[s].name, state_of(ep));
	return false;
}

static bool spare_request(DAT_EP_HANDLE *asker)
{
	*asker = new_ep(&pair.b);
	return !ask(*asker, KPAIR_QUAL) && next_request(&spare);
}

/* A call that fails does not change the state, so the next call can be tried in it. */
static bool try_all_in(unsigned int s)
{
	bool ok = true, clean = false;
	unsigned int c;

	for (c = 0; c < ARRAY_SIZE(calls); c++) {
		DAT_EP_HANDLE asker = DAT_HANDLE_NULL;
		DAT_RETURN ret;

		if (!clean && !enter(s))
			return false;
		if (calls[c].fn == accept && !spare_request(&asker))
			return false;
		ret = calls[c].fn();
		if (!is_as_expected(ret, calls[c].in[s], s)) {
			report("# dat_%s in %s: %#x, not '%c'\n",
			       calls[c].name, states[s].name, ret,
			       calls[c].in[s]);
			ok = false;
		}
		clean = ret && state_of(ep) == states[s].state;
		if (ret && !clean) {
			report("# dat_%s in %s: moved to %d\n", calls[c].name,
			       states[s].name, state_of(ep));
			ok = false;
		}
		if (asker) {
			dat_cr_reject(spare, 0, NULL);
			dat_ep_free(asker);
		}
	}
	none();
	return ok;
}

/* Checks the state after a call that succeeds. */
static bool is_then(unsigned int s, DAT_RETURN (*call)(void),
		    DAT_EP_STATE state)
{
	if (!enter(s))
		return false;
	if (call() || !becomes(ep, state)) {
		report("# %s: then %d, not %d\n", states[s].name, state_of(ep),
		       state);
		return false;
	}
	return true;
}

static DAT_RETURN reject_own(void)
{
	return dat_cr_reject(cr, 0, NULL);
}

static DAT_RETURN unreserve(void)
{
	return dat_rsp_free(rsp);
}

static DAT_RETURN free_peer(void)
{
	return dat_ep_free(peer);
}

static unsigned int index_of(DAT_EP_STATE state)
{
	unsigned int s;

	for (s = 0; states[s].state != state; s++)
		;
	return s;
}

bool enter_state(DAT_EP_STATE state)
{
	return enter(index_of(state));
}

static bool state_transitions(void)
{
	static const struct {
		DAT_EP_STATE from;
		DAT_RETURN (*call)(void);
		DAT_EP_STATE to;
	} moves[] = {
#define MOVE(from, call, to) { DAT_EP_STATE_##from, call, DAT_EP_STATE_##to }
		MOVE(UNCONNECTED, connect, ACTIVE_CONNECTION_PENDING),
		MOVE(UNCONNECTED, reset, UNCONNECTED),
		MOVE(RESERVED, unreserve, UNCONNECTED),
		MOVE(UNCONFIGURED_RESERVED, modify_pz, RESERVED),
		MOVE(UNCONFIGURED_PASSIVE, modify_pz,
		     PASSIVE_CONNECTION_PENDING),
		MOVE(UNCONFIGURED_TENTATIVE, modify_pz,
		     TENTATIVE_CONNECTION_PENDING),
		MOVE(UNCONFIGURED_TENTATIVE, modify_recv_evd,
		     UNCONFIGURED_TENTATIVE),
		MOVE(PASSIVE_CONNECTION_PENDING, reject_own, UNCONNECTED),
		MOVE(PASSIVE_CONNECTION_PENDING, accept_own, CONNECTED),
		MOVE(TENTATIVE_CONNECTION_PENDING, accept_own, CONNECTED),
		MOVE(ACTIVE_CONNECTION_PENDING, disconnect_abruptly,
		     DISCONNECTED),
		MOVE(ACTIVE_CONNECTION_PENDING, disconnect_gracefully,
		     DISCONNECTED),
		MOVE(ACTIVE_CONNECTION_PENDING, reject_own, DISCONNECTED),
		MOVE(COMPLETION_PENDING, disconnect_abruptly, DISCONNECTED),
		MOVE(COMPLETION_PENDING, disconnect_gracefully, DISCONNECTED),
		MOVE(CONNECTED, disconnect_abruptly, DISCONNECTED),
		MOVE(CONNECTED, disconnect_gracefully, DISCONNECTED),
		MOVE(CONNECTED, free_peer, DISCONNECTED),
		MOVE(DISCONNECT_PENDING, disconnect_gracefully,
		     DISCONNECT_PENDING),
		MOVE(DISCONNECT_PENDING, disconnect_abruptly, DISCONNECTED),
		MOVE(DISCONNECTED, disconnect_abruptly, DISCONNECTED),
		MOVE(DISCONNECTED, reset, UNCONNECTED),
	};
	bool ok = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		unsigned int s = index_of(moves[i].from);

		if (is_reachable(s))
			ok &= is_then(s, moves[i].call, moves[i].to);
	}
	none();
	return ok;
}

/* Also on the passive side, while the active side does not answer. */
static bool disconnect_while_connecting_flushes(void)
{
	static const struct {
		DAT_EP_STATE state;
		DAT_CLOSE_FLAGS flags;
	} disconnects[] = {
		{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		  DAT_CLOSE_ABRUPT_FLAG },
		{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		  DAT_CLOSE_GRACEFUL_FLAG },
		{ DAT_EP_STATE_COMPLETION_PENDING, DAT_CLOSE_ABRUPT_FLAG },
		{ DAT_EP_STATE_COMPLETION_PENDING, DAT_CLOSE_GRACEFUL_FLAG },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(disconnects); i++) {
		unsigned int s = index_of(disconnects[i].state);

		if (!is_reachable(s))
			continue;
		CHECK(enter(s));
		CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &mem, 0, 8, 71));
		CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &mem, 0, 8, 72));
		CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(ep, disconnects[i].flags));
		CHECK(becomes(ep, DAT_EP_STATE_DISCONNECTED));
		CHECK_EQ(DAT_DTO_ERR_FLUSHED, kwait_dto(pair.a.dto_evd, 71));
		CHECK_EQ(DAT_DTO_ERR_FLUSHED, kwait_dto(pair.a.dto_evd, 72));
		CHECK(kwait_number(pair.a.conn_evd,
				   DAT_CONNECTION_EVENT_DISCONNECTED));
	}
	none();
	return true;
}

#define IN_STATE(name, state)						\
static bool all_calls_when_##name(void)					\
{									\
	unsigned int s = index_of(DAT_EP_STATE_##state);		\
									\
	return !is_reachable(s) || try_all_in(s);			\
}

IN_STATE(unconnected, UNCONNECTED)
IN_STATE(reserved, RESERVED)
IN_STATE(unconfigured_reserved, UNCONFIGURED_RESERVED)
IN_STATE(passive, PASSIVE_CONNECTION_PENDING)
IN_STATE(unconfigured_passive, UNCONFIGURED_PASSIVE)
IN_STATE(tentative, TENTATIVE_CONNECTION_PENDING)
IN_STATE(unconfigured_tentative, UNCONFIGURED_TENTATIVE)
IN_STATE(active, ACTIVE_CONNECTION_PENDING)
IN_STATE(completion_pending, COMPLETION_PENDING)
IN_STATE(connected, CONNECTED)
IN_STATE(disconnect_pending, DISCONNECT_PENDING)
IN_STATE(disconnected, DISCONNECTED)

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(all_calls_when_unconnected),
	TEST(all_calls_when_reserved),
	TEST(all_calls_when_unconfigured_reserved),
	TEST(all_calls_when_passive),
	TEST(all_calls_when_unconfigured_passive),
	TEST(all_calls_when_tentative),
	TEST(all_calls_when_unconfigured_tentative),
	TEST(all_calls_when_active),
	TEST(all_calls_when_completion_pending),
	TEST(all_calls_when_connected),
	TEST(all_calls_when_disconnect_pending),
	TEST(all_calls_when_disconnected),
	TEST(state_transitions),
	TEST(ep_query_peer_address),
	TEST(disconnect_while_connecting_flushes),
};

/* The EPs of the pair stay connected: dat_ep_dup_connect() needs a connected EP. */
static bool setup(void)
{
	if (!kpair_open(&pair) || !kpair_connect(&pair) ||
	    dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &ia_attr,
			 0, NULL) ||
	    dat_pz_create(pair.ia, &other_pz) ||
	    dat_rmr_create(pair.a.pz, &rmr) ||
	    dat_evd_kcreate(pair.ia, 256, DAT_UPCALL_DISABLE, NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			    &other_dto) ||
	    dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_DISABLE, NULL,
			    DAT_EVD_CONNECTION_FLAG, &other_conn) ||
	    !kregion_open(&pair, pair.a.pz, &mem, 4096,
			  DAT_MEM_PRIV_ALL_FLAG))
		return false;
	address = ia_attr.ia_address_ptr;
	return true;
}

static int __init ep_state_test_init(void)
{
	int ret = report_open("kdapl_ep_state_test");

	if (ret)
		return ret;
	if (setup())
		report_run("kdapl_ep_state_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_ep_state_test.setup\n");
	kpair_close(&pair);
	kregion_close(&mem);
	return 0;
}

static void __exit ep_state_test_exit(void)
{
	report_close();
}

module_init(ep_state_test_init);
module_exit(ep_state_test_exit);
MODULE_DESCRIPTION("Tests the states of EPs");
MODULE_LICENSE("Dual BSD/GPL");

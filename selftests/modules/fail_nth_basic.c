// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_basic.c - fault session from open to close, with the calls of most consumers
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/socket.h>

#include "fail_nth_pair.h"

static DAT_RMR_HANDLE rmr;
static DAT_RMR_CONTEXT context;
static DAT_EVD_HANDLE upcall_evd;
static struct completion called;

/*
 * Create
 */

static void undo_ia_open(void)
{
	MUST(dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static bool has_an_address(void)
{
	MUST(ia_query());
	return ia_attr.ia_address_ptr->sa_family == AF_INET;
}

static DAT_RETURN contexts(void)
{
	DAT_CONTEXT c = { .as_64 = 5 };
	DAT_RETURN ret = dat_set_consumer_context(p.ia, c);

	return ret ?: dat_get_consumer_context(p.ia, &c);
}

static void undo_pz_create(void)
{
	MUST(dat_pz_free(p.a.pz));
}

static DAT_RETURN pz_query(void)
{
	DAT_PZ_PARAM param;

	return dat_pz_query(p.a.pz, DAT_PZ_FIELD_ALL, &param);
}

static void undo_dto_evd_create(void)
{
	MUST(dat_evd_free(p.a.dto_evd));
}

static void undo_conn_evd_create(void)
{
	MUST(dat_evd_free(p.a.conn_evd));
}

static void note_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			DAT_BOOLEAN more_events)
{
	complete(&called);
}

static const DAT_UPCALL_OBJECT upcall = { .upcall_func = note_upcall };

static DAT_RETURN upcall_evd_create(void)
{
	return dat_evd_kcreate(p.ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			       DAT_EVD_DTO_FLAG, &upcall_evd);
}

static void undo_upcall_evd_create(void)
{
	MUST(dat_evd_free(upcall_evd));
}

static void undo_psp_create(void)
{
	MUST(dat_psp_free(p.psp));
}

static void undo_lmr_create_virtual(void)
{
	MUST(dat_lmr_free(a.lmr));
}

static void undo_lmr_create_platform(void)
{
	MUST(dat_lmr_free(b.lmr));
}

static DAT_RETURN lmr_query(void)
{
	DAT_LMR_PARAM param;

	return dat_lmr_query(a.lmr, DAT_LMR_FIELD_ALL, &param);
}

static DAT_RETURN lmr_sync(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, PAGE_SIZE);

	return dat_lmr_sync_rdma_read(p.ia, &seg, 1) ?:
	       dat_lmr_sync_rdma_write(p.ia, &seg, 1);
}

static DAT_RETURN evd_flush_upcalls(void)
{
	return dat_evd_flush_upcalls(p.a.conn_evd);
}

static DAT_RETURN evd_set_completion(void)
{
	return dat_evd_set_completion(p.a.conn_evd, NULL);
}

static DAT_RETURN rmr_create(void)
{
	return dat_rmr_create(p.a.pz, &rmr);
}

static void undo_rmr_create(void)
{
	MUST(dat_rmr_free(rmr));
}

static DAT_RETURN rmr_query(void)
{
	DAT_RMR_PARAM param;

	return dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param);
}

static DAT_RETURN rmr_renew(void)
{
	return dat_rmr_renew(rmr);
}

static void undo_ep_create(void)
{
	MUST(dat_ep_free(p.a.ep));
}

/* An EP without EVDs gets EVDs that the consumer does not see. */
static DAT_RETURN lonely_ep(void)
{
	return dat_ep_create(p.ia, p.a.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			     DAT_HANDLE_NULL, NULL, &p.a.ep);
}

static void undo_lonely_ep(void)
{
	undo_ep_create();
}

static DAT_EP_HANDLE second_ep;

/* The CQ of the first EP has no room for another. */
static DAT_RETURN second_cq(void)
{
	return dat_ep_create(p.ia, p.a.pz, p.a.dto_evd, p.a.dto_evd, p.a.conn_evd, NULL,
			     &second_ep);
}

static void undo_second_cq(void)
{
	MUST(dat_ep_free(second_ep));
}

static DAT_RETURN second_cq_free(void)
{
	return dat_ep_free(second_ep);
}

static void undo_second_cq_free(void)
{
	MUST(second_cq());
}

static DAT_RETURN ep_query(void)
{
	DAT_EP_PARAM param;

	return dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN ep_get_status(void)
{
	return dat_ep_get_status(p.a.ep, NULL, NULL, NULL);
}

/*
 * A connection
 */

static DAT_RETURN cr_query(void)
{
	DAT_CR_PARAM param;

	return dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
}

static DAT_RETURN disconnect_abruptly(void)
{
	return dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG);
}

/*
 * Traffic
 */

static DAT_RETURN write_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 64);
	DAT_RMR_TRIPLET to = { (uintptr_t)b.buf, 64, b.rmr_context };
	DAT_DTO_COOKIE cookie = {};

	return dat_ep_post_rdma_write(p.a.ep, 1, &seg, cookie, &to,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN read_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 64);
	DAT_RMR_TRIPLET from = { (uintptr_t)b.buf, 64, b.rmr_context };
	DAT_DTO_COOKIE cookie = {};

	return dat_ep_post_rdma_read(p.a.ep, 1, &seg, cookie, &from,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/* iWARP lacks these operations; a similar operation replaces them. */
static DAT_RETURN write_immed_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 64);
	DAT_RMR_TRIPLET to = { (uintptr_t)b.buf, 64, b.rmr_context };
	DAT_DTO_COOKIE cookie = {};

	if (kpair_is_siw())
		return send_a();
	return dat_ib_post_rdma_write_immed(p.a.ep, 1, &seg, cookie, &to, 1,
					    DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN send_immed_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 64);
	DAT_DTO_COOKIE cookie = {};

	if (kpair_is_siw())
		return send_a();
	return dat_ib_post_send_immed(p.a.ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG, 1);
}

static DAT_RETURN fetch_and_add_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_RMR_TRIPLET at = { (uintptr_t)b.buf, 8, b.rmr_context };
	DAT_DTO_COOKIE cookie = {};

	if (kpair_is_siw())
		return read_a();
	return dat_ib_post_fetch_and_add(p.a.ep, 1, &seg, cookie, &at,
					 DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN cmp_and_swap_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_RMR_TRIPLET at = { (uintptr_t)b.buf, 8, b.rmr_context };
	DAT_DTO_COOKIE cookie = {};

	if (kpair_is_siw())
		return read_a();
	return dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, &seg, cookie, &at,
					DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN bind_part(size_t offset, size_t len)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, offset, len);
	DAT_RMR_COOKIE cookie = { .as_64 = 2 };

	return dat_rmr_bind_1_2(rmr, &seg, KREMOTE_ALL, p.a.ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, &context);
}

/* Binds the whole region: it has more pieces than fit on the stack. */
static DAT_RETURN bind(void)
{
	return bind_part(1, REGION - 2);
}

static DAT_RETURN unbind(void)
{
	return bind_part(0, 0);
}

static DAT_RETURN upcalls_on(void)
{
	reinit_completion(&called);
	return dat_evd_modify_upcall(p.a.dto_evd, DAT_UPCALL_SINGLE_INSTANCE,
				     &upcall, DAT_UPCALL_INVOC_ANY);
}

static DAT_RETURN upcall_made(void)
{
	return wait_for_completion_timeout(&called, TIMEOUT) ?
		       DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
}

static DAT_RETURN upcalls_off(void)
{
	return dat_evd_modify_upcall(p.a.dto_evd, DAT_UPCALL_DISABLE,
				     DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
}

/*
 * Free
 */

static DAT_RETURN upcall_evd_free(void)
{
	return dat_evd_free(upcall_evd);
}

static void undo_upcall_evd_free(void)
{
	MUST(upcall_evd_create());
}

static DAT_RETURN rmr_free(void)
{
	return dat_rmr_free(rmr);
}

static void undo_rmr_free(void)
{
	MUST(rmr_create());
}

static DAT_RETURN lmr_free(void)
{
	return dat_lmr_free(a.lmr);
}

static void undo_lmr_free(void)
{
	MUST(lmr_create_virtual());
}

static DAT_RETURN psp_free(void)
{
	return dat_psp_free(p.psp);
}

static void undo_psp_free(void)
{
	MUST(psp_create());
}

static DAT_RETURN ep_free(void)
{
	return dat_ep_free(p.a.ep);
}

static void undo_ep_free(void)
{
	MUST(ep_create());
}

static DAT_RETURN dto_evd_free(void)
{
	return dat_evd_free(p.a.dto_evd);
}

static void undo_dto_evd_free(void)
{
	MUST(dto_evd_create());
}

static DAT_RETURN free_others(void)
{
	return dat_ep_free(p.b.ep) ?: dat_lmr_free(b.lmr) ?:
	       dat_evd_free(p.b.dto_evd) ?: dat_evd_free(p.b.conn_evd) ?:
	       dat_evd_free(p.a.conn_evd) ?: dat_evd_free(p.cr_evd);
}

static DAT_RETURN pz_free(void)
{
	return dat_pz_free(p.a.pz);
}

static void undo_pz_free(void)
{
	MUST(pz_create());
}

static DAT_RETURN close_gracefully(void)
{
	return dat_ia_close(p.ia, DAT_CLOSE_GRACEFUL_FLAG);
}

static void undo_close_gracefully(void)
{
	MUST(ia_open());
}

static DAT_RETURN close_abruptly(void)
{
	return close_all();
}

/* Sets up everything that an IA can have: a connection, outstanding work, a window. */
static DAT_RETURN everything(void)
{
	return open_all() ?: rmr_create() ?: connect_all() ?: bind() ?:
	       completed_a() ?: recv_b() ?: write_a();
}

static void undo_close_abruptly(void)
{
	MUST(everything());
}

static DAT_RETURN reset_all(void)
{
	MUST(upcalls_off());
	return reset();
}

static DAT_RETURN cr_reject_no_room(void)
{
	return dat_cr_reject_no_room(cr);
}

static DAT_RETURN turned_away(void)
{
	return event_comes_to_a() ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
}

static const struct step session[] = {
	{ "ia_open", ia_open, OBJECT, undo_ia_open, has_an_address },
	LOOK(ia_query),
	LOOK(contexts),
	MAKE(pz_create),
	LOOK(pz_query),
	MAKE(dto_evd_create),
	MAKE(conn_evd_create),
	LOOK(evd_flush_upcalls),
	LOOK(evd_set_completion),
	MAKE(upcall_evd_create),
	FREE(upcall_evd_free),
	QUIET(other_evds),
	/*
	 * Without memory TCP reports a port in use. iWARP allocates for each request
	 * of the backlog.
	 */
	{ "psp_create", psp_create, OBJECT, undo_psp_create,
	  .may_too = DAT_CONN_QUAL_IN_USE, .loops = true },
	/* The first LMR of a PZ creates a QP. */
	{ "lmr_create_virtual", lmr_create_virtual, OBJECT,
	  undo_lmr_create_virtual, .spared = SIW | OLD_RXE },
	MAKE_MR(lmr_create_platform),
	LOOK(lmr_query),
	LOOK(lmr_sync),
	MAKE_MR(rmr_create),
	LOOK(rmr_query),
	LOOK(rmr_renew),
	MAKE_QP(lonely_ep),

	BEGIN(reset_all),
	MAKE_QP(ep_create),
	MAKE_QP(second_cq),
	FREE(second_cq_free),
	QUIET(other_ep),
	LOOK(ep_query),
	LOOK(ep_get_status),
	DO(connect_a, request_or_event_comes),
	POST(wait_cr),
	LOOK(cr_query),
	/* siw_qp_readq_init() frees a queue and leaves the pointer: a double free. */
	{ "cr_accept", cr_accept, DONE, NULL, accept_ends, .spared = SIW,
	  .slow = true },
	POST(established),
	POST(recv_b),
	POST(send_a),
	POST(completed_a),
	POST(completed_b),
	POST(read_a),
	POST(completed_a),
	POST(recv_b),
	POST(write_immed_a),
	POST(completed_a),
	POST(completed_b),
	POST(recv_b),
	POST(send_immed_a),
	POST(completed_a),
	POST(completed_b),
	POST(fetch_and_add_a),
	POST(completed_a),
	POST(cmp_and_swap_a),
	POST(completed_a),
	POST(bind),
	POST(completed_a),
	POST(unbind),
	POST(completed_a),
	POST(upcalls_on),
	POST(write_a),
	POST(upcall_made),
	POST(upcalls_off),
	POST(disconnect_gracefully),
	POST(disconnected),

	BEGIN(reset_all),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(connect_a),
	QUIET(wait_cr),
	{ "cr_reject", cr_reject, DONE, NULL, request_or_event_comes,
	  .slow = true },
	POST(rejected),

	BEGIN(reset_all),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(connect_a),
	QUIET(wait_cr),
	/* A work item rejects the request. */
	{ "cr_reject_no_room", cr_reject_no_room, DONE, NULL,
	  request_or_event_comes, .may_have_none = true },
	POST(turned_away),

	BEGIN(reset_all),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(connect_a),
	QUIET(wait_cr),
	QUIET(cr_accept),
	QUIET(established),
	DO(disconnect_abruptly, event_comes_to_a),
	POST(disconnected),

	FREE(rmr_free),
	FREE(ep_free),
	FREE(lmr_free),
	FREE(psp_free),
	FREE(dto_evd_free),
	QUIET(free_others),
	FREE(pz_free),
	FREE(close_gracefully),
	QUIET(everything),
	FREE(close_abruptly),
};

bool basic_calls_survive(void)
{
	init_completion(&called);
	return survives(session, ARRAY_SIZE(session), 100);
}

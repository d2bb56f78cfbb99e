// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_ep.c - every point at which a call can fail for want of memory:
 * service points, EPs that change, SRQs, LMRs of other memory, batches
 *
 * Side a asks, side b is asked.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include <dat/dat_linux.h>

#include "counts.h"
#include "faults.h"
#include "link.h"
#include "pair.h"

#define SHARED		(8 * PAGE)
#define SRQ_LEN		64
#define COOKIE		1000

static struct session {
	struct pair p;
	struct region a, b;
	/* What service points are asked for. */
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_RMR_HANDLE rmr;
	struct region over, shared, joined;
	unsigned char *mem;
	/* Pages that the regions of both sides cost. */
	long long charged;
} s;

static const struct owned objects[] = {
	/* In the order in which they can be freed. */
	{ &s.p.psp, DAT_HANDLE_TYPE_PSP, DAT_DEV_PSP_FREE },
	{ &s.psp, DAT_HANDLE_TYPE_PSP, DAT_DEV_PSP_FREE },
	{ &s.rsp, DAT_HANDLE_TYPE_RSP, DAT_DEV_RSP_FREE },
	{ &s.p.a.ep, DAT_HANDLE_TYPE_EP, DAT_DEV_EP_FREE },
	{ &s.p.b.ep, DAT_HANDLE_TYPE_EP, DAT_DEV_EP_FREE },
	{ &s.ep, DAT_HANDLE_TYPE_EP, DAT_DEV_EP_FREE },
	{ &s.srq, DAT_HANDLE_TYPE_SRQ, DAT_DEV_SRQ_FREE },
	{ &s.a.lmr, DAT_HANDLE_TYPE_LMR, DAT_DEV_LMR_FREE },
	{ &s.b.lmr, DAT_HANDLE_TYPE_LMR, DAT_DEV_LMR_FREE },
	{ &s.over.lmr, DAT_HANDLE_TYPE_LMR, DAT_DEV_LMR_FREE },
	{ &s.shared.lmr, DAT_HANDLE_TYPE_LMR, DAT_DEV_LMR_FREE },
	{ &s.joined.lmr, DAT_HANDLE_TYPE_LMR, DAT_DEV_LMR_FREE },
};

static struct owner owner = { &s.p.ia, objects, ARRAY_LEN(objects), 0 };

static void undo(DAT_HANDLE *handle, DAT_RETURN (*free)(DAT_HANDLE handle))
{
	if (is_there(*handle))
		MUST(free(*handle));
	*handle = DAT_HANDLE_NULL;
	sweep_orphans(&owner);
}

static void close_region(struct region *region)
{
	if (region->buf)
		munmap(region->buf, region->len);
	memset(region, 0, sizeof(*region));
}

/* Everything anew. */
static DAT_RETURN begin(void)
{
	DAT_RETURN ret;

	pair_close(&s.p);
	close_region(&s.a);
	close_region(&s.b);
	ret = pair_open(&s.p);
	/* Nobody listens there. */
	s.qual = s.p.qual + 10007;
	if (!ret)
		ret = region_open(&s.p, s.p.a.pz, &s.a, PAGE,
				  DAT_MEM_PRIV_ALL_FLAG);
	if (!ret)
		ret = region_open(&s.p, s.p.b.pz, &s.b, PAGE,
				  DAT_MEM_PRIV_ALL_FLAG);
	s.charged = charged_pages();
	return ret;
}

static DAT_RETURN begin_connected(void)
{
	return begin() ?: pair_connect(&s.p);
}

static DAT_RETURN begin_disconnected(void)
{
	return begin_connected() ?:
	       dat_ep_disconnect(s.p.b.ep, DAT_CLOSE_ABRUPT_FLAG) ?:
	       wait_both(&s.p, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * The steps: service points
 */

static DAT_RETURN psp_create_any(void)
{
	return dat_psp_create_any(s.p.ia, &s.qual, s.p.cr_evd,
				  DAT_PSP_CONSUMER_FLAG, &s.psp);
}

static void undo_psp_create_any(void)
{
	undo(&s.psp, dat_psp_free);
}

static DAT_RETURN psp_query(void)
{
	DAT_PSP_PARAM param;

	return dat_psp_query(s.psp, DAT_PSP_FIELD_ALL, &param);
}

static DAT_RETURN rsp_create(void)
{
	return dat_rsp_create(s.p.ia, s.p.qual + 10007, s.p.b.ep, s.p.cr_evd,
			      &s.rsp);
}

static void undo_rsp_create(void)
{
	undo(&s.rsp, dat_rsp_free);
}

static DAT_RETURN rsp_query(void)
{
	DAT_RSP_PARAM param;

	return dat_rsp_query(s.rsp, DAT_RSP_FIELD_ALL, &param);
}

static DAT_RETURN rsp_free(void)
{
	return dat_rsp_free(s.rsp);
}

static void undo_rsp_free(void)
{
	if (!is_there(s.rsp))
		MUST(rsp_create());
}

static DAT_RETURN ask_a(void)
{
	return connect_to(&s.p, s.p.a.ep, s.p.qual);
}

static DAT_RETURN wait_cr(void)
{
	return next_cr(&s.p, &s.cr);
}

/* Either the request arrives, or who asked learns that it does not. */
static bool request_or_event_comes(void)
{
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < PAIR_TIMEOUT / 1000; i++) {
		if (!dat_evd_dequeue(s.p.a.conn_evd, &event) ||
		    !dat_evd_dequeue(s.p.cr_evd, &event))
			return true;
		usleep(1000);
	}
	return false;
}

static DAT_RETURN cr_handoff(void)
{
	return dat_cr_handoff(s.cr, s.qual);
}

/*
 * The steps: EPs that change
 */

/* More each time, as what is so already costs nothing. */
static DAT_RETURN ep_modify(void)
{
	static int times;
	DAT_EP_PARAM param = {
		.ep_attr.max_request_dtos = 64 + ++times,
	};

	return dat_ep_modify(s.p.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
			     &param);
}

static DAT_RETURN connect_both(void)
{
	return pair_connect(&s.p);
}

static DAT_RETURN ep_recv_query(void)
{
	DAT_COUNT num, span;

	return dat_ep_recv_query(s.p.b.ep, &num, &span);
}

static DAT_RETURN ep_set_watermark(void)
{
	return dat_ep_set_watermark(s.p.b.ep, 3, DAT_WATERMARK_INFINITE);
}

static DAT_RETURN other_ep(void)
{
	return ep_like(&s.p, &s.p.a, &s.ep);
}

static DAT_RETURN ep_dup_connect(void)
{
	return dat_ep_dup_connect(s.ep, s.p.a.ep, DAT_TIMEOUT_INFINITE, 5,
				  "hello", DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN ep_reset(void)
{
	return dat_ep_reset(s.p.a.ep);
}

static bool is_reset(void)
{
	return ep_state(s.p.a.ep) == DAT_EP_STATE_UNCONNECTED;
}

/*
 * The steps: SRQs
 */

static DAT_RETURN srq_create(void)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = SRQ_LEN,
		.max_recv_iov = 1,
	};

	return dat_srq_create(s.p.ia, s.p.b.pz, &attr, &s.srq);
}

static void undo_srq_create(void)
{
	undo(&s.srq, dat_srq_free);
}

static DAT_RETURN srq_query(void)
{
	DAT_SRQ_PARAM param;

	return dat_srq_query(s.srq, DAT_SRQ_FIELD_ALL, &param);
}

/* A few more of them do no harm. */
static DAT_RETURN srq_post_recv(void)
{
	DAT_LMR_TRIPLET seg = segment(&s.b, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE };

	return dat_srq_post_recv(s.srq, 1, &seg, cookie);
}

/* Larger each time, as what is so already costs nothing; siw cannot do it. */
static DAT_RETURN srq_resize(void)
{
	static int times;

	return dat_srq_resize(s.srq, SRQ_LEN + (link_is_iwarp() ? 0 :
							SRQ_LEN * ++times));
}

static DAT_RETURN srq_set_lw(void)
{
	return dat_srq_set_lw(s.srq, 1);
}

static DAT_RETURN ep_with_srq(void)
{
	DAT_EP_ATTR attr = {};

	return dat_ep_create_with_srq(s.p.ia, s.p.b.pz, s.p.b.dto_evd,
				      s.p.b.dto_evd, s.p.b.conn_evd, s.srq,
				      &attr, &s.ep);
}

static void undo_ep_with_srq(void)
{
	undo(&s.ep, dat_ep_free);
}

/* The EP of side b receives from the SRQ henceforth. */
static DAT_RETURN connect_srq(void)
{
	struct pair link = s.p;

	link.b.ep = s.ep;
	return pair_connect(&link);
}

static DAT_RETURN send_a(void)
{
	return post_send(s.p.a.ep, &s.a, 0, 64, COOKIE);
}

static DAT_RETURN received_b(void)
{
	return wait_dto(s.p.b.dto_evd, COOKIE) ? DAT_ABORT : DAT_SUCCESS;
}

static DAT_RETURN free_ep_with_srq(void)
{
	return dat_ep_free(s.ep);
}

static DAT_RETURN srq_free(void)
{
	return dat_srq_free(s.srq);
}

static void undo_srq_free(void)
{
	if (!is_there(s.srq))
		MUST(srq_create());
}

/*
 * The steps: LMRs of other memory
 */

static DAT_RETURN lmr_create(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			     struct region *region)
{
	DAT_VADDR address;
	DAT_VLEN size;

	return dat_lmr_create(s.p.ia, type, desc, SHARED, s.p.a.pz,
			      DAT_MEM_PRIV_ALL_FLAG, &region->lmr,
			      &region->lmr_context, &region->rmr_context,
			      &size, &address);
}

static bool is_charged(void)
{
	long long charged = s.charged + (is_there(s.shared.lmr) +
			    is_there(s.joined.lmr)) * (SHARED / PAGE);

	if (charged_pages() == charged)
		return true;
	printf("# charged for %lld pages, not %lld\n", charged_pages(),
	       charged);
	return false;
}

static void undo_lmr(struct region *region)
{
	undo(&region->lmr, dat_lmr_free);
	if (!is_charged())
		faults_broken = true;
}

static DAT_RETURN lmr_over(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = s.a.lmr };

	return lmr_create(DAT_MEM_TYPE_LMR, desc, &s.over);
}

static void undo_lmr_over(void)
{
	undo_lmr(&s.over);
}

static DAT_RETURN lmr_of_shared(struct region *region)
{
	static char cookie[DAT_LMR_COOKIE_SIZE] = "fail_nth";
	DAT_REGION_DESCRIPTION desc = {
		.for_shared_memory = {
			.virtual_address = s.mem,
			.shared_memory_id = &cookie,
		},
	};

	return lmr_create(DAT_MEM_TYPE_SHARED_VIRTUAL, desc, region);
}

static DAT_RETURN map_shared(void)
{
	s.mem = mmap(NULL, SHARED, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return s.mem == MAP_FAILED ? SYS(errno) : DAT_SUCCESS;
}

static DAT_RETURN lmr_shared(void)
{
	/* Not there yet: pinning has to fetch it. */
	madvise(s.mem, SHARED, MADV_REMOVE);
	return lmr_of_shared(&s.shared);
}

static void undo_lmr_shared(void)
{
	undo_lmr(&s.shared);
}

/* There is another one by that cookie. */
static DAT_RETURN lmr_joined(void)
{
	return lmr_of_shared(&s.joined);
}

static void undo_lmr_joined(void)
{
	undo_lmr(&s.joined);
}

static DAT_RETURN lmr_query(void)
{
	DAT_LMR_PARAM param;

	return dat_lmr_query(s.shared.lmr, DAT_LMR_FIELD_ALL, &param);
}

/*
 * The steps: batches
 */

static DAT_RETURN rmr_create(void)
{
	return dat_rmr_create(s.p.a.pz, &s.rmr);
}

static DAT_RETURN batch(void)
{
	DAT_LMR_TRIPLET from = segment(&s.a, 0, 64), to = segment(&s.b, 0, 64);
	DAT_LINUX_DTO dtos[] = {
		{
			.op = DAT_LINUX_RECV,
			.handle = s.p.b.ep,
			.num_segments = 1,
			.local_iov = &to,
			.user_cookie.as_64 = COOKIE,
		},
		{
			.op = DAT_LINUX_SEND,
			.handle = s.p.a.ep,
			.num_segments = 1,
			.local_iov = &from,
			.user_cookie.as_64 = COOKIE + 1,
		},
		{
			.op = DAT_LINUX_RMR_BIND,
			.handle = s.p.a.ep,
			.num_segments = 1,
			.local_iov = &from,
			.user_cookie.as_64 = COOKIE + 2,
			.rmr_handle = s.rmr,
			.mem_privileges = DAT_MEM_PRIV_ALL_FLAG,
		},
	};
	DAT_COUNT num;

	return dat_linux_post(ARRAY_LEN(dtos), dtos, &num);
}

static DAT_RETURN batch_completed(void)
{
	return wait_dto(s.p.b.dto_evd, COOKIE) ||
	       wait_dto(s.p.a.dto_evd, COOKIE + 1) ||
	       wait_bind(s.p.a.dto_evd, COOKIE + 2) ? DAT_ABORT : DAT_SUCCESS;
}

/* A fault behind the post leaves an event of the attempt before. */
static DAT_RETURN post_and_wait(void)
{
	DAT_LMR_TRIPLET from = segment(&s.a, 0, 64);
	DAT_LINUX_DTO write = {
		.op = DAT_LINUX_RDMA_WRITE,
		.handle = s.p.a.ep,
		.num_segments = 1,
		.local_iov = &from,
		.remote_buffer = remote(s.b.rmr_context, s.b.buf, 64),
		.user_cookie.as_64 = COOKIE,
	};
	DAT_COUNT num, nmore;
	DAT_EVENT event;

	return dat_linux_post_wait(1, &write, &num, s.p.a.dto_evd, PAIR_TIMEOUT, 1, &event,
				   &nmore);
}

/* What needs no memory, says the page. */
#define SET(fn)		{ #fn, fn, NOTHING }

static const struct step sps[] = {
	BEGIN(begin),
	/* TCP calls a port in use that it has no memory for. */
	{ "psp_create_any", psp_create_any, OBJECT, undo_psp_create_any, NULL,
	  MEMORY, DAT_CONN_QUAL_UNAVAILABLE, .loops = true },
	SET(psp_query),
	{ "rsp_create", rsp_create, OBJECT, undo_rsp_create, NULL, MEMORY,
	  DAT_CONN_QUAL_IN_USE, .loops = true },
	SET(rsp_query),
	{ "rsp_free", rsp_free, OBJECT, undo_rsp_free },

	BEGIN(begin),
	QUIET(psp_create_any),
	QUIET(ask_a),
	QUIET(wait_cr),
	DO(cr_handoff, request_or_event_comes),
};

static const struct step eps[] = {
	BEGIN(begin),
	{ "ep_modify", ep_modify, NOTHING, NULL, NULL, MEMORY,
	  .spared = OLD_RXE },
	QUIET(connect_both),
	SET(ep_recv_query),
	SET(ep_set_watermark),

	BEGIN(begin_connected),
	QUIET(other_ep),
	DO(ep_dup_connect, request_or_event_comes),

	BEGIN(begin_disconnected),
	{ "ep_reset", ep_reset, DONE, NULL, is_reset, MEMORY,
	  .spared = OLD_RXE },
	QUIET(begin_disconnected),
	QUIET(ep_reset),
};

static const struct step srqs[] = {
	BEGIN(begin),
	MAKE(srq_create),
	SET(srq_query),
	LOOK(srq_post_recv),
	LOOK(srq_resize),
	SET(srq_set_lw),

	/* Each attempt of srq_resize() has added buffers, more than the EVD has room for. */
	BEGIN(begin),
	QUIET(srq_create),
	QUIET(srq_post_recv),
	MAKE_QP(ep_with_srq),
	QUIET(connect_srq),
	QUIET(send_a),
	QUIET(received_b),
	QUIET(free_ep_with_srq),
	{ "srq_free", srq_free, OBJECT, undo_srq_free },
};

static const struct step lmrs[] = {
	BEGIN(begin),
	QUIET(map_shared),
	MAKE_MR(lmr_over),
	MAKE_MR(lmr_shared),
	MAKE_MR(lmr_joined),
	LOOK(lmr_query),
};

static const struct step batches[] = {
	BEGIN(begin_connected),
	QUIET(rmr_create),
	/* What is behind the first entry may be what cannot be read. */
	{ "batch", batch, DONE, NULL, NULL, MEMORY, DAT_INVALID_PARAMETER },
	QUIET(batch_completed),
	{ "post_and_wait", post_and_wait, DONE, NULL, NULL, MEMORY, DAT_INVALID_PARAMETER },
};

FAIL_NTH_FIXTURE(fail_nth)

TEST_SESSION(fail_nth, service_points_survive_every_fault, sps, 20, 40)

TEST_SESSION(fail_nth, eps_that_change_survive_every_fault, eps, 10, 20)

TEST_SESSION(fail_nth, srqs_survive_every_fault, srqs, 20, 40)

/* On siw the session creates these LMRs without faults. */
TEST_SESSION(fail_nth, lmrs_of_other_memory_survive_every_fault, lmrs, 1, 30)

TEST_SESSION(fail_nth, batches_survive_every_fault, batches, 3, 6)

TEST_HARNESS_MAIN

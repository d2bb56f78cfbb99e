// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dto.c - slots of a work queue, and how a completion changes them
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../kdapl/ep/ep.h"
#include "../../../kdapl/queue/dto.c"

/* Not a power of two, so that the ring has unused slots. */
#define MAX_DTOS	5
#define NUM_SLOTS	8

static struct dat_ep ep;
static struct dat_workq *const wq = &ep.sq;
static struct dat_evd evd;
static struct dat_evd_entry ring[NUM_SLOTS];
static struct dat_evd_entry entry;

static int dto_test_init(struct kunit *test)
{
	fake_reset();
	memset(&ep, 0, sizeof(ep));
	memset(&evd, 0, sizeof(evd));
	spin_lock_init(&evd.lock);
	evd.ring = ring;
	evd.mask = NUM_SLOTS - 1;
	evd.qlen = NUM_SLOTS;
	ep.obj.owner = &fake_owner;
	return dat_workq_init(wq, &ep.obj, &ep.state, &fake_workq_ops,
			      MAX_DTOS);
}

static void dto_test_exit(struct kunit *test)
{
	dat_workq_destroy(wq);
}

static void rewind_to(u32 count)
{
	wq->head = count;
	wq->tail = count;
}

static struct dat_dto *post(struct kunit *test)
{
	struct dat_dto *dto = dat_workq_slot(wq);

	KUNIT_ASSERT_NOT_NULL(test, dto);
	dto->op = DAT_DTO_SEND;
	dto->suppress = false;
	dto->unsignalled = false;
	dto->length = 1000;
	wq->head++;
	return dto;
}

static bool finish(struct dat_dto *dto, enum ib_wc_status status)
{
	struct ib_wc wc = { .wr_id = dat_dto_wr_id(dto), .status = status };

	memset(&entry, 0, sizeof(entry));
	return dat_dto_complete(&wc, &entry);
}

static DAT_DTO_COMPLETION_STATUS entry_status(void)
{
	return entry.data.dto_completion_event_data.status;
}

static const u32 starts[] = { 0, 1, 7, S32_MAX, U32_MAX - 4, U32_MAX };

static void workq_ring_size(struct kunit *test)
{
	static const u32 sizes[][2] = {
		{ 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 5, 8 }, { 256, 256 },
		{ 257, 512 },
	};
	struct dat_workq other = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_EQ(test, 0,
				dat_workq_init(&other, &ep.obj, &ep.state,
					       &fake_workq_ops, sizes[i][0]));
		KUNIT_EXPECT_EQ(test, sizes[i][0], other.max);
		KUNIT_EXPECT_EQ(test, sizes[i][1] - 1, other.mask);
		KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(&other));
		dat_workq_destroy(&other);
	}
}

static void workq_full_at_max(struct kunit *test)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		struct dat_dto *first = NULL;

		rewind_to(starts[i]);
		KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
		for (j = 0; j < MAX_DTOS; j++) {
			struct dat_dto *dto = post(test);

			if (!first)
				first = dto;
			KUNIT_EXPECT_FALSE(test, dat_workq_is_idle(wq));
		}
		KUNIT_EXPECT_NULL(test, dat_workq_slot(wq));
		KUNIT_EXPECT_TRUE(test, finish(first, IB_WC_SUCCESS));
		KUNIT_EXPECT_NOT_NULL(test, dat_workq_slot(wq));
		post(test);
		KUNIT_EXPECT_NULL(test, dat_workq_slot(wq));
	}
}

static void slots_in_ring_order(struct kunit *test)
{
	unsigned int i;

	rewind_to(U32_MAX - 9);
	for (i = 0; i < 20; i++) {
		struct dat_dto *dto = post(test);
		u32 expected = (U32_MAX - 9 + i) % NUM_SLOTS;

		KUNIT_ASSERT_PTR_EQ(test, &wq->slots[expected], dto);
		KUNIT_ASSERT_TRUE(test, finish(dto, IB_WC_SUCCESS));
		KUNIT_ASSERT_TRUE(test, dat_workq_is_idle(wq));
	}
	KUNIT_EXPECT_EQ(test, 10u, wq->tail);
}

/* Looking at the next slot does not use it. */
static void slot_lookup_keeps_head(struct kunit *test)
{
	struct dat_dto *dto = dat_workq_slot(wq);

	KUNIT_EXPECT_PTR_EQ(test, dto, dat_workq_slot(wq));
	KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
}

/* Requests before a signalled one have no completion and are freed with it. */
static void completion_frees_earlier_slots(struct kunit *test)
{
	struct dat_dto *dto = NULL;
	unsigned int i, j, num;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (num = 1; num < MAX_DTOS; num++) {
			rewind_to(starts[i]);
			for (j = 0; j < num; j++)
				dto = post(test);
			post(test);
			KUNIT_EXPECT_TRUE(test, finish(dto, IB_WC_SUCCESS));
			KUNIT_EXPECT_EQ(test, starts[i] + num, wq->tail);
			KUNIT_EXPECT_FALSE(test, dat_workq_is_idle(wq));
		}
	}
}

static void reap_counts_lost_dtos(struct kunit *test)
{
	unsigned int i, j, num;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (num = 0; num <= MAX_DTOS; num++) {
			rewind_to(starts[i]);
			for (j = 0; j < num; j++)
				post(test);
			evd.head = evd.tail;
			KUNIT_EXPECT_EQ(test, num, dat_workq_reap(wq, &evd));
			KUNIT_EXPECT_EQ(test, num, evd.tail - evd.head);
			KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
			KUNIT_EXPECT_EQ(test, starts[i] + num, wq->tail);
			KUNIT_EXPECT_EQ(test, 0, dat_workq_reap(wq, &evd));
		}
	}
}

static void slot_reinitialized(struct kunit *test)
{
	struct dat_dto *dto = dat_workq_slot(wq);

	dto->wq = NULL;
	dto->rmr = (void *)-1L;
	dto->drain = true;
	dto->first_status = IB_WC_LOC_PROT_ERR;
	KUNIT_EXPECT_PTR_EQ(test, dto, dat_workq_slot(wq));
	KUNIT_EXPECT_PTR_EQ(test, wq, dto->wq);
	KUNIT_EXPECT_NULL(test, dto->rmr);
	KUNIT_EXPECT_FALSE(test, dto->drain);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, dto->first_status);
}

static void send_completion_fields(struct kunit *test)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&entry.data.dto_completion_event_data;
	struct dat_dto *dto = post(test);

	ep.obj.handle = &ep;
	dto->cookie.as_64 = 0x123456789abcdefULL;
	dto->op = DAT_DTO_RDMA_WRITE;
	dto->length = U32_MAX;
	KUNIT_EXPECT_TRUE(test, finish(dto, IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, DAT_DTO_COMPLETION_EVENT, entry.number);
	KUNIT_EXPECT_PTR_EQ(test, &ep, data->ep_handle);
	KUNIT_EXPECT_EQ(test, 0x123456789abcdefULL, data->user_cookie.as_64);
	KUNIT_EXPECT_EQ(test, DAT_DTO_RDMA_WRITE, data->operation);
	KUNIT_EXPECT_EQ(test, U32_MAX, data->transfered_length);
	KUNIT_EXPECT_EQ(test, DAT_DTO_SUCCESS, data->status);
	KUNIT_EXPECT_EQ(test, 0, fake.failures);
}

/* The length of a receive is that of the message, not of the buffer. */
static void receive_completion_fields(struct kunit *test)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&entry.data.dto_completion_event_data;
	struct dat_dto *dto = post(test);
	struct ib_wc wc = {
		.wr_id = dat_dto_wr_id(dto),
		.byte_len = 7,
		.wc_flags = IB_WC_WITH_INVALIDATE,
		.ex.invalidate_rkey = 0x4711,
	};

	dto->op = DAT_DTO_RECEIVE;
	KUNIT_EXPECT_TRUE(test, dat_dto_complete(&wc, &entry));
	KUNIT_EXPECT_EQ(test, 7, data->transfered_length);
	KUNIT_EXPECT_EQ(test, DAT_DTO_RECEIVE_WITH_INVALIDATE, data->operation);
	KUNIT_EXPECT_EQ(test, 0x4711, data->rmr_context);
	KUNIT_EXPECT_EQ(test, 0x4711, fake.revoked);

	dto = post(test);
	dto->op = DAT_DTO_RECEIVE;
	wc.wr_id = dat_dto_wr_id(dto);
	wc.wc_flags = 0;
	KUNIT_EXPECT_TRUE(test, dat_dto_complete(&wc, &entry));
	KUNIT_EXPECT_EQ(test, DAT_DTO_RECEIVE, data->operation);
	KUNIT_EXPECT_EQ(test, 0, data->rmr_context);
}

static const struct {
	enum ib_wc_status from;
	DAT_DTO_COMPLETION_STATUS to;
} statuses[] = {
	{ IB_WC_SUCCESS, DAT_DTO_SUCCESS },
	{ IB_WC_WR_FLUSH_ERR, DAT_DTO_ERR_FLUSHED },
	{ IB_WC_LOC_LEN_ERR, DAT_DTO_ERR_LOCAL_LENGTH },
	{ IB_WC_LOC_QP_OP_ERR, DAT_DTO_ERR_LOCAL_EP },
	{ IB_WC_LOC_PROT_ERR, DAT_DTO_ERR_LOCAL_PROTECTION },
	{ IB_WC_LOC_ACCESS_ERR, DAT_DTO_ERR_LOCAL_PROTECTION },
	{ IB_WC_MW_BIND_ERR, DAT_RMR_OPERATION_FAILED },
	{ IB_WC_BAD_RESP_ERR, DAT_DTO_ERR_BAD_RESPONSE },
	{ IB_WC_REM_INV_REQ_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
	{ IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS },
	{ IB_WC_REM_OP_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
	{ IB_WC_RETRY_EXC_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_RNR_RETRY_EXC_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY },
	{ IB_WC_REM_ABORT_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
	{ IB_WC_FATAL_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_RESP_TIMEOUT_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_GENERAL_ERR, DAT_DTO_ERR_TRANSPORT },
	/* Values that a driver may return by mistake. */
	{ IB_WC_GENERAL_ERR + 1, DAT_DTO_ERR_TRANSPORT },
	{ 0x7fffffff, DAT_DTO_ERR_TRANSPORT },
};

static void wc_status_translation(struct kunit *test)
{
	unsigned int i, failures = 0;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		KUNIT_ASSERT_TRUE(test, finish(post(test), statuses[i].from));
		KUNIT_EXPECT_EQ_MSG(test, statuses[i].to, entry_status(),
				    "status %u", statuses[i].from);
		if (statuses[i].from == IB_WC_SUCCESS)
			continue;
		failures++;
		KUNIT_EXPECT_EQ(test, failures, fake.failures);
		KUNIT_EXPECT_EQ(test, statuses[i].from, fake.failure);
	}
}

static void close_flushes_what_is_sent(struct kunit *test)
{
	struct dat_lmr *lmr = (void *)&ep;
	struct dat_dto *dto;

	wq->close_fails = true;
	dto = post(test);
	dto->op = DAT_DTO_LMR_INVALIDATE;
	dto->lmr = lmr;
	KUNIT_ASSERT_TRUE(test, finish(dto, IB_WC_LOC_QP_OP_ERR));
	KUNIT_EXPECT_EQ(test, DAT_DTO_ERR_LOCAL_MM_ERROR, entry_status());
	KUNIT_EXPECT_EQ(test, IB_WC_LOC_QP_OP_ERR, fake.failure);
	KUNIT_ASSERT_TRUE(test, finish(post(test), IB_WC_LOC_PROT_ERR));
	KUNIT_EXPECT_EQ(test, DAT_DTO_ERR_LOCAL_PROTECTION, entry_status());
	KUNIT_EXPECT_FALSE(test, wq->closed);

	KUNIT_ASSERT_TRUE(test, finish(post(test), IB_WC_LOC_QP_OP_ERR));
	KUNIT_EXPECT_EQ(test, DAT_DTO_ERR_FLUSHED, entry_status());
	KUNIT_EXPECT_EQ(test, IB_WC_WR_FLUSH_ERR, fake.failure);
	KUNIT_EXPECT_TRUE(test, wq->closed);
}

/* For every status of the device the failure is reported as unregistered memory. */
static void fmr_failure_status(struct kunit *test)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data =
		&entry.data.dto_completion_event_data;
	struct dat_lmr *lmr = (void *)&ep;
	unsigned int status;

	for (status = 0; status <= IB_WC_GENERAL_ERR; status++) {
		struct dat_dto *dto = post(test);

		dto->op = status & 1 ? DAT_DTO_LMR_FMR :
				       DAT_DTO_LMR_INVALIDATE;
		dto->lmr = lmr;
		KUNIT_ASSERT_TRUE(test, finish(dto, status));
		KUNIT_EXPECT_EQ(test, DAT_DTO_COMPLETION_EVENT, entry.number);
		KUNIT_EXPECT_EQ(test, status & 1 ? DAT_DTO_LMR_FMR :
						   DAT_DTO_LMR_INVALIDATE,
				data->operation);
		KUNIT_EXPECT_EQ(test,
				status == IB_WC_SUCCESS ? DAT_DTO_SUCCESS :
				status == IB_WC_WR_FLUSH_ERR ?
					DAT_DTO_ERR_FLUSHED :
					DAT_DTO_ERR_LOCAL_MM_ERROR,
				data->status);
		KUNIT_EXPECT_EQ(test, status + 1, fake.settled);
		KUNIT_EXPECT_EQ(test, status, fake.settled_status);
		KUNIT_EXPECT_NULL(test, dto->lmr);
	}
}

/* An empty entry in the table of statuses would be DAT_DTO_SUCCESS. */
static void wc_error_never_success(struct kunit *test)
{
	unsigned int i;

	for (i = IB_WC_SUCCESS + 1; i < 256; i++)
		KUNIT_ASSERT_NE(test, DAT_DTO_SUCCESS, to_dto_status(i));
}

static void suppress_success_only(struct kunit *test)
{
	struct dat_dto *dto = post(test);

	dto->suppress = true;
	KUNIT_EXPECT_FALSE(test, finish(dto, IB_WC_SUCCESS));
	KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
	dto = post(test);
	dto->suppress = true;
	KUNIT_EXPECT_TRUE(test, finish(dto, IB_WC_WR_FLUSH_ERR));
	KUNIT_EXPECT_EQ(test, DAT_DTO_ERR_FLUSHED, entry_status());
}

static void unsignalled_success_only(struct kunit *test)
{
	struct dat_dto *dto = post(test);

	dto->unsignalled = true;
	KUNIT_EXPECT_TRUE(test, finish(dto, IB_WC_SUCCESS));
	KUNIT_EXPECT_TRUE(test, entry.unsignalled);
	dto = post(test);
	dto->unsignalled = true;
	KUNIT_EXPECT_TRUE(test, finish(dto, IB_WC_WR_FLUSH_ERR));
	KUNIT_EXPECT_FALSE(test, entry.unsignalled);
	KUNIT_EXPECT_TRUE(test, finish(post(test), IB_WC_SUCCESS));
	KUNIT_EXPECT_FALSE(test, entry.unsignalled);
}

static void drain_marker_no_event(struct kunit *test)
{
	struct dat_dto *dto = post(test);

	dto->drain = true;
	KUNIT_EXPECT_FALSE(test, finish(dto, IB_WC_SUCCESS));
	dto = post(test);
	dto->drain = true;
	KUNIT_EXPECT_FALSE(test, finish(dto, IB_WC_WR_FLUSH_ERR));
	KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
}

/* A bind posts two requests. The first one that fails determines the status. */
static void bind_reports_first_error(struct kunit *test)
{
	struct dat_dto *dto = post(test);
	struct ib_wc wc = {
		.wr_id = dat_dto_wr_id(dto) | DAT_DTO_WR_FIRST,
		.status = IB_WC_LOC_PROT_ERR,
	};

	KUNIT_EXPECT_FALSE(test, dat_dto_complete(&wc, &entry));
	KUNIT_EXPECT_FALSE(test, dat_workq_is_idle(wq));
	KUNIT_EXPECT_TRUE(test, finish(dto, IB_WC_WR_FLUSH_ERR));
	KUNIT_EXPECT_EQ(test, DAT_DTO_ERR_LOCAL_PROTECTION, entry_status());
	KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
}

/* dat_ep_dto_failed() then treats a bind like a DTO. */
static void bind_failure_fails_connection(struct kunit *test)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
		&entry.data.rmr_completion_event_data;
	static struct dat_rmr rmr;
	unsigned int status;

	memset(&rmr, 0, sizeof(rmr));
	kref_init(&rmr.obj.ref);
	spin_lock_init(&rmr.pair.lock);
	rmr.obj.handle = &rmr;
	rmr.pair.current_frmr = DAT_FRMR_NONE;
	/* More binds are outstanding, so the RMR keeps its EP. */
	rmr.windows[0].frmr.pending = 1000;
	for (status = IB_WC_SUCCESS; status <= IB_WC_GENERAL_ERR; status++) {
		struct dat_dto *dto = post(test);

		dto->op = DAT_DTO_BIND_MW;
		dto->rmr = &rmr;
		dto->bind = DAT_BIND(DAT_FRMR_NONE, DAT_FRMR_NONE);
		kref_get(&rmr.obj.ref);
		KUNIT_ASSERT_TRUE(test, finish(dto, status));
		KUNIT_EXPECT_EQ(test, DAT_RMR_BIND_COMPLETION_EVENT,
				entry.number);
		KUNIT_EXPECT_PTR_EQ(test, &rmr, data->rmr_handle);
		KUNIT_EXPECT_EQ(test, status == IB_WC_SUCCESS,
				data->status == DAT_RMR_BIND_SUCCESS);
		KUNIT_EXPECT_EQ(test, status, fake.failures);
		KUNIT_EXPECT_EQ(test, status, fake.failure);
	}
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
}

static void unordered_tail_waits(struct kunit *test)
{
	const u32 start = U32_MAX - 1;
	struct dat_dto *dto[3];
	int i;

	rewind_to(start);
	wq->unordered = true;
	for (i = 0; i < ARRAY_SIZE(dto); i++)
		dto[i] = post(test);

	KUNIT_EXPECT_TRUE(test, finish(dto[1], IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, start, wq->tail);
	/* A second completion causes no event and does not move the tail. */
	KUNIT_EXPECT_FALSE(test, finish(dto[1], IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, start, wq->tail);
	KUNIT_EXPECT_TRUE(test, finish(dto[0], IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, start + 2, wq->tail);
	KUNIT_EXPECT_FALSE(test, finish(dto[0], IB_WC_WR_FLUSH_ERR));
	KUNIT_EXPECT_EQ(test, start + 2, wq->tail);
	KUNIT_EXPECT_TRUE(test, finish(dto[2], IB_WC_WR_FLUSH_ERR));
	KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
}

static void ordered_tail_never_returns(struct kunit *test)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		struct dat_dto *dto[3];

		rewind_to(starts[i]);
		for (j = 0; j < ARRAY_SIZE(dto); j++)
			dto[j] = post(test);
		/* The request before it was not signalled, so far. */
		KUNIT_EXPECT_TRUE(test, finish(dto[1], IB_WC_SUCCESS));
		KUNIT_EXPECT_FALSE(test, finish(dto[0], IB_WC_WR_FLUSH_ERR));
		KUNIT_EXPECT_FALSE(test, finish(dto[1], IB_WC_WR_FLUSH_ERR));
		KUNIT_EXPECT_EQ(test, starts[i] + 2, wq->tail);
		KUNIT_EXPECT_TRUE(test, finish(dto[2], IB_WC_SUCCESS));
		KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
	}
	KUNIT_EXPECT_EQ(test, 0, fake.failures);
}

/* A driver can refuse a post although it has queued the request, and flush it later. */
static void refused_post_flushed_later(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		struct dat_dto *dto;

		rewind_to(starts[i]);
		dto = post(test);
		wq->head--;
		KUNIT_EXPECT_FALSE(test, finish(dto, IB_WC_WR_FLUSH_ERR));
		KUNIT_EXPECT_EQ(test, starts[i], wq->tail);
	}
	KUNIT_EXPECT_EQ(test, 0, fake.failures);
}

static void reap_skips_completed_slot(struct kunit *test)
{
	struct dat_dto *dto[3];
	int i;

	wq->unordered = true;
	for (i = 0; i < ARRAY_SIZE(dto); i++)
		dto[i] = post(test);
	KUNIT_EXPECT_TRUE(test, finish(dto[1], IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, 2, dat_workq_reap(wq, &evd));
	KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
}

/* A completion of a queue without requests moves the tail in front of the head. */
static void reap_after_too_many(struct kunit *test)
{
	struct dat_dto *dto;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		rewind_to(starts[i]);
		dto = post(test);
		wq->head--;
		finish(dto, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, 0, dat_workq_reap(wq, &evd));
		KUNIT_EXPECT_TRUE(test, dat_workq_is_idle(wq));
	}
}

/* The device has lost completions and delivers them later. */
static void kept_slots_ignore_completions(struct kunit *test)
{
	struct dat_dto *dto[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dto); i++)
		dto[i] = post(test);
	KUNIT_EXPECT_EQ(test, 3, dat_workq_reap(wq, &evd));
	dat_workq_keep(wq);
	KUNIT_EXPECT_NULL(test, wq->slots);
	/* The queue continues with new slots. */
	dat_workq_set(wq, dat_workq_alloc(MAX_DTOS), MAX_DTOS);
	KUNIT_ASSERT_NOT_NULL(test, wq->slots);
	post(test);
	for (i = 0; i < ARRAY_SIZE(dto); i++) {
		KUNIT_EXPECT_FALSE(test, finish(dto[i], IB_WC_WR_FLUSH_ERR));
		KUNIT_EXPECT_FALSE(test, finish(dto[i], IB_WC_SUCCESS));
	}
	KUNIT_EXPECT_EQ(test, 1, wq->head - wq->tail);
	KUNIT_EXPECT_EQ(test, 0, fake.failures);
	dat_workq_exit();
}

static void last_completion_wakes_drain(struct kunit *test)
{
	struct dat_dto *first = post(test), *last = post(test);

	KUNIT_EXPECT_TRUE(test, finish(first, IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, 0, fake.drains);
	first = post(test);
	wq->waited = true;
	KUNIT_EXPECT_TRUE(test, finish(last, IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, 0, fake.drains);
	/* Even an ordinary completion. */
	KUNIT_EXPECT_TRUE(test, finish(first, IB_WC_SUCCESS));
	KUNIT_EXPECT_EQ(test, 1, fake.drains);
	first = post(test);
	KUNIT_EXPECT_TRUE(test, finish(first, IB_WC_WR_FLUSH_ERR));
	KUNIT_EXPECT_EQ(test, 2, fake.drains);
}

static void nothing(struct work_struct *work)
{
}

static void receive_sets_heard(struct kunit *test)
{
	static const struct {
		DAT_EP_STATE state;
		DAT_DTOS op;
		enum ib_wc_status status;
		bool heard;
	} cases[] = {
		{ DAT_EP_STATE_COMPLETION_PENDING, DAT_DTO_RECEIVE,
		  IB_WC_SUCCESS, true },
		{ DAT_EP_STATE_COMPLETION_PENDING, DAT_DTO_RECEIVE,
		  IB_WC_WR_FLUSH_ERR, false },
		{ DAT_EP_STATE_COMPLETION_PENDING, DAT_DTO_SEND,
		  IB_WC_SUCCESS, false },
		{ DAT_EP_STATE_CONNECTED, DAT_DTO_RECEIVE,
		  IB_WC_SUCCESS, false },
	};
	int i;

	spin_lock_init(&ep.state_lock);
	INIT_DELAYED_WORK(&ep.notify_work, nothing);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dat_dto *dto = post(test);

		dto->op = cases[i].op;
		ep.state = cases[i].state;
		ep.heard = false;
		KUNIT_EXPECT_TRUE(test, finish(dto, cases[i].status));
		KUNIT_EXPECT_EQ(test, cases[i].heard, ep.heard);
		flush_delayed_work(&ep.notify_work);
	}
}

static struct kunit_case dto_cases[] = {
	KUNIT_CASE(receive_sets_heard),
	KUNIT_CASE(workq_ring_size),
	KUNIT_CASE(workq_full_at_max),
	KUNIT_CASE(slots_in_ring_order),
	KUNIT_CASE(slot_lookup_keeps_head),
	KUNIT_CASE(completion_frees_earlier_slots),
	KUNIT_CASE(reap_counts_lost_dtos),
	KUNIT_CASE(slot_reinitialized),
	KUNIT_CASE(send_completion_fields),
	KUNIT_CASE(receive_completion_fields),
	KUNIT_CASE(wc_status_translation),
	KUNIT_CASE(close_flushes_what_is_sent),
	KUNIT_CASE(fmr_failure_status),
	KUNIT_CASE(wc_error_never_success),
	KUNIT_CASE(suppress_success_only),
	KUNIT_CASE(unsignalled_success_only),
	KUNIT_CASE(drain_marker_no_event),
	KUNIT_CASE(bind_reports_first_error),
	KUNIT_CASE(bind_failure_fails_connection),
	KUNIT_CASE(unordered_tail_waits),
	KUNIT_CASE(ordered_tail_never_returns),
	KUNIT_CASE(refused_post_flushed_later),
	KUNIT_CASE(reap_skips_completed_slot),
	KUNIT_CASE(reap_after_too_many),
	KUNIT_CASE(kept_slots_ignore_completions),
	KUNIT_CASE(last_completion_wakes_drain),
	{}
};

static struct kunit_suite dto_suite = {
	.name = "kdapl_dto",
	.init = dto_test_init,
	.exit = dto_test_exit,
	.test_cases = dto_cases,
};

kunit_test_suite(dto_suite);
